// SPDX-License-Identifier: MIT
/* One instruction as one line of text. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include "npu_isa_priv.h"

struct line {
	char *buf;
	size_t size, len;		/* len: wanted so far */
};

static void put(struct line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct line *l, const char *fmt, ...)
{
	size_t room = l->len < l->size ? l->size - l->len : 0;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(room ? l->buf + l->len : NULL, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		l->len += n;
}

/* A length with what terms add to it: "12+8*s0". */
static void put_length(struct line *l, const struct npu_insn *insn, const void *at, npu_s64 base)
{
	unsigned int word = (const npu_u32 *)at - (const npu_u32 *)insn->header, i;
	bool first = true;

	for (i = 0; i < insn->header->num_terms; i++) {
		const struct npu_term *t = &insn->term[i];

		if (t->word != word)
			continue;
		if (first && base)
			put(l, "%" PRId64, base);
		put(l, "%s%" PRId32 "*s%u",
		    first && !base ? "" :
		    t->factor < 0  ? "" :
				     "+",
		    t->factor, t->scalar);
		first = false;
	}
	if (first)
		put(l, "%" PRId64, base);
}

static void put_operand(struct line *l, const struct npu_insn *insn, unsigned int slot)
{
	const struct npu_operand *op = &insn->operand[slot];
	unsigned int i;

	put(l, " %s=%s[", insn->desc->slots[slot].name, npu_dtype_name(op->dtype));
	for (i = 0; i < op->rank; i++) {
		put(l, "%s", i ? "," : "");
		put_length(l, insn, &op->dim[i], (npu_s32)op->dim[i]);
	}
	put(l, "]@r%u+", op->region);
	put_length(l, insn, &op->offset, op->offset);
	if (op->layout != NPU_LAYOUT_STRIDED) {
		put(l, "/%s", npu_layout_name(op->layout));
	} else if (op->rank) {
		put(l, "/(");
		for (i = 0; i < op->rank; i++) {
			put(l, "%s", i ? "," : "");
			put_length(l, insn, &op->stride[i], op->stride[i]);
		}
		put(l, ")");
	}
	if (op->scale != 0 || op->zero_point)
		put(l, "*%.9g:%" PRId32, (double)op->scale, op->zero_point);
}

/* The table says in a parameter's text which enumeration it is. */
static const char *param_text(const struct npu_param_desc *d, npu_u32 v)
{
	static const struct {
		const char *type;
		const char *(*name)(unsigned int);
	} lists[] = {
		{ "enum npu_act", npu_act_name }, { "enum npu_unary", npu_unary_name },
		{ "enum npu_binary", npu_binary_name }, { "enum npu_reduce", npu_reduce_name },
	};
	unsigned int i;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (!strncmp(d->doc, lists[i].type, strlen(lists[i].type)))
			return lists[i].name(v);
	return NULL;
}

static void put_param(struct line *l, const struct npu_insn *insn, unsigned int i)
{
	const struct npu_param_desc *d = &insn->desc->params[i];
	npu_u32 v = insn->param[i];
	const char *text = param_text(d, v);

	put(l, " %s=", d->name);
	if (text)
		put(l, "%s", text);
	else if (d->kind == NPU_PARAM_F32)
		put(l, "%.9g", (double)npu_param_f32(v));
	else if (d->kind == NPU_PARAM_MASK)
		put(l, "0x%" PRIx32, v);
	else if (d->kind == NPU_PARAM_U32)
		put(l, "%" PRIu32, v);
	else
		put_length(l, insn, &insn->param[i], (npu_s32)v);
}

int npu_insn_disassemble(const struct npu_insn *insn, char *buf, size_t size)
{
	struct line l = { buf, size, 0 };
	unsigned int i;

	if (size)
		buf[0] = '\0';
	put(&l, "%s", insn->desc->mnemonic);
	for (i = 0; i < insn->desc->num_slots; i++)
		if (npu_is_present(&insn->operand[i]))
			put_operand(&l, insn, i);
	for (i = 0; i < insn->desc->num_params; i++)
		put_param(&l, insn, i);
	return l.len;
}
