// SPDX-License-Identifier: MIT
/*
 * AttributeProto: every attribute is checked against the operator table, so that none is ignored
 * silently.
 */
#include <errno.h>
#include <string.h>

#include "compiler/onnx_import.h"

/* Letter that the operator table uses for a type of attribute; 0 when no operator here takes it. */
static char attr_letter(const Onnx__AttributeProto *a)
{
	static const char letters[] = { 0, 'f', 'i', 's', 't', 0, 'F', 'I', 'S' };

	if (a->has_type && a->type)
		return (unsigned int)a->type < sizeof(letters) ? letters[a->type] : 0;
	/* files of the first IR versions have no type field */
	if (a->has_f)
		return 'f';
	if (a->has_i)
		return 'i';
	if (a->has_s)
		return 's';
	if (a->t)
		return 't';
	if (a->n_floats)
		return 'F';
	if (a->n_ints)
		return 'I';
	return a->n_strings ? 'S' : 0;
}

static const char *letter_name(char c)
{
	switch (c) {
	case 'f': return "a float";
	case 'i': return "an int";
	case 's': return "a string";
	case 't': return "a tensor";
	case 'F': return "floats";
	case 'I': return "ints";
	case 'S': return "strings";
	default: return "a graph or type";
	}
}

/* Expected letter of attribute @name in a table string "name:t name:t", 0 when it is not listed. */
static char attr_expected(const char *table, const char *name)
{
	size_t len = strlen(name);
	const char *p;

	for (p = table; *p; p++) {
		if ((p == table || p[-1] == ' ') && !strncmp(p, name, len) && p[len] == ':')
			return p[len + 1];
	}
	return 0;
}

static int attr_strings(struct npu_onnx_ctx *ctx, const Onnx__AttributeProto *a,
			struct npu_gnode *n)
{
	const char **list = npu_arena_array(&ctx->g->arena, a->n_strings + 1, sizeof(*list));
	size_t i;

	for (i = 0; list && i < a->n_strings; i++) {
		list[i] = npu_arena_strndup(&ctx->g->arena, (const char *)a->strings[i].data,
					    a->strings[i].len);
		if (!list[i])
			return -ENOMEM;
	}
	return list ? npu_gnode_set_strings(ctx->g, n, a->name, list, a->n_strings) : -ENOMEM;
}

static int attr_tensor(struct npu_onnx_ctx *ctx, const Onnx__AttributeProto *a, struct npu_gnode *n)
{
	struct npu_gtensor *t;
	int err;

	if (!a->t)
		return npu_diag_node(ctx->diag, -EINVAL, n, a->name, "the tensor is missing");
	t = npu_graph_tensor(ctx->g, NULL, n->name, NPU_GT_NONE);
	if (!t)
		return -ENOMEM;
	err = npu_onnx_tensor(ctx, a->t, t, n->name);
	return err ? err : npu_gnode_set_tensor(ctx->g, n, a->name, t);
}

static int attr_copy(struct npu_onnx_ctx *ctx, const Onnx__AttributeProto *a, char letter,
		     struct npu_gnode *n)
{
	struct npu_graph *g = ctx->g;
	char *s;

	switch (letter) {
	case 'f':
		return npu_gnode_set_float(g, n, a->name, a->f);
	case 'i':
		return npu_gnode_set_int(g, n, a->name, a->i);
	case 's':
		s = npu_arena_strndup(&g->arena, (const char *)a->s.data, a->has_s ? a->s.len : 0);
		return s ? npu_gnode_set_string(g, n, a->name, s) : -ENOMEM;
	case 't':
		return attr_tensor(ctx, a, n);
	case 'F':
		return npu_gnode_set_floats(g, n, a->name, a->floats, a->n_floats);
	case 'I':
		return npu_gnode_set_ints(g, n, a->name, a->ints, a->n_ints);
	default:
		return attr_strings(ctx, a, n);
	}
}

int npu_onnx_attrs(struct npu_onnx_ctx *ctx, const Onnx__NodeProto *proto, struct npu_gnode *n)
{
	const char *table = npu_gnode_info(n)->attrs;
	int err, first = 0;
	char want, have;
	size_t i;

	for (i = 0; i < proto->n_attribute; i++) {
		const Onnx__AttributeProto *a = proto->attribute[i];

		if (!a->name || !*a->name) {
			err = npu_diag_node(ctx->diag, -EINVAL, n, NULL,
					    "attribute %zu has no name", i);
		} else if (npu_gnode_attr(n, a->name)) {
			err = npu_diag_node(ctx->diag, -EINVAL, n, a->name,
					    "attribute given twice");
		} else if (n->host && !strchr("ifstFIS", attr_letter(a) ? attr_letter(a) : 'g')) {
			err = npu_diag_node(ctx->diag, -EOPNOTSUPP, n, a->name,
					    "host operators get no %s",
					    letter_name(attr_letter(a)));
		} else if (!(want = n->host ? attr_letter(a) : attr_expected(table, a->name))) {
			err = npu_diag_node(ctx->diag, -EOPNOTSUPP, n, a->name,
					    "unknown attribute (known: %s)",
					    *table ? table : "none");
		} else if ((have = attr_letter(a)) != want) {
			/* an empty list in a file without type fields carries no type at all */
			if (!have && !a->has_type)
				continue;
			err = npu_diag_node(ctx->diag, -EINVAL, n, a->name,
					    "expected %s, the model has %s", letter_name(want),
					    letter_name(have));
		} else {
			err = attr_copy(ctx, a, want, n);
		}
		first = first ? first : err;
	}
	return first;
}
