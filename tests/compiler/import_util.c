// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "import_util.h"

struct npu_graph *import_built(struct ob *b, const char *path, struct npu_diag *diag)
{
	struct npu_graph *g;
	size_t size;
	uint8_t *data = ob_finish(b, &size);

	g = npu_onnx_import(data, size, path, diag);
	free(data);
	return g;
}

bool diag_says(struct npu_diag *diag, ...)
{
	const char *text = npu_diag_text(diag), *word;
	bool all = diag->errors > 0;
	va_list ap;

	va_start(ap, diag);
	while ((word = va_arg(ap, const char *)))
		all &= strstr(text, word) != NULL;
	va_end(ap);
	return all;
}

unsigned int count_op(const struct npu_graph *g, enum npu_gop op)
{
	unsigned int i, n = 0;

	for (i = 0; i < g->num_nodes; i++)
		n += !g->nodes[i]->dead && g->nodes[i]->op == op;
	return n;
}

unsigned int count_act(const struct npu_graph *g, enum npu_act_kind kind)
{
	unsigned int i, n = 0;

	for (i = 0; i < g->num_nodes; i++)
		n += !g->nodes[i]->dead &&
		     (g->nodes[i]->ep.act.kind == kind || g->nodes[i]->ep.act2.kind == kind);
	return n;
}

const struct npu_gnode *first_op(const struct npu_graph *g, enum npu_gop op)
{
	unsigned int i;

	for (i = 0; i < g->num_nodes; i++)
		if (!g->nodes[i]->dead && g->nodes[i]->op == op)
			return g->nodes[i];
	return NULL;
}

struct value random_input(const struct npu_graph *g, unsigned int i, const int64_t *scalars)
{
	const struct npu_gtensor *t = g->inputs[i];
	struct value x = { .rank = t->rank };
	int64_t k;
	int d;

	for (d = 0; d < t->rank; d++)
		x.dim[d] = npu_dim_eval(t->dim[d], scalars);
	x.v = calloc((size_t)value_count(&x) + 1, sizeof(*x.v));
	if (!x.v)
		abort();
	for (k = 0; k < value_count(&x); k++)
		x.v[k] = 4 * (double)ob_noise(99 + i, (uint32_t)k);
	return x;
}
