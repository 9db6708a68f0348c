// SPDX-License-Identifier: MIT
#include "quant/outputs.h"

#include <errno.h>

#include "compiler/pass.h"

struct found {
	struct npu_gtensor **tensor;	/* each once, in the order that they were found in */
	unsigned int num;
	bool *seen;			/* by tensor id */
};

static bool is_comparable(const struct npu_gtensor *t)
{
	return !t->bounded && (t->type == NPU_GT_F32 || !t->producer || !t->producer->host);
}

/* The tensors of @t's making that can be compared; @list is a stack with room for all tensors. */
static void look_behind(struct found *f, struct npu_gtensor *t, struct npu_gtensor **list)
{
	unsigned int depth = 0;

	list[depth++] = t;
	while (depth) {
		const struct npu_gnode *n = list[--depth]->producer;

		for (unsigned int i = n ? n->num_inputs : 0; i-- > 0;) {
			struct npu_gtensor *in = n->inputs[i];

			if (!in || npu_gtensor_is_const(in) || in->is_input || f->seen[in->id])
				continue;
			f->seen[in->id] = true;
			if (in->type == NPU_GT_F32 && !in->bounded)
				f->tensor[f->num++] = in;
			else
				list[depth++] = in;
		}
	}
}

static int take(struct npu_graph *g, const struct found *f, struct npu_diag *diag)
{
	const char **names = npu_arena_array(&g->arena, f->num, sizeof(*names));

	if (!names)
		return -ENOMEM;
	for (unsigned int i = 0; i < g->num_outputs; i++)
		g->outputs[i]->is_output = false;
	for (unsigned int i = 0; i < f->num; i++) {
		f->tensor[i]->is_output = true;
		names[i] = f->tensor[i]->name;
	}
	g->outputs = f->tensor;
	g->output_names = names;
	g->num_outputs = f->num;
	npu_graph_sweep(g);
	return npu_graph_sort(g, diag);
}

int npu_outputs_before_host(struct npu_graph *g, struct npu_diag *diag)
{
	struct found f = { npu_arena_array(&g->arena, g->num_tensors + 1, sizeof(*f.tensor)), 0,
			   npu_arena_array(&g->arena, g->num_tensors + 1, sizeof(*f.seen)) };
	struct npu_gtensor **list = npu_arena_array(&g->arena, g->num_tensors + 1, sizeof(*list));
	bool all = true;

	if (!f.tensor || !f.seen || !list)
		return -ENOMEM;
	for (unsigned int i = 0; i < g->num_outputs; i++) {
		struct npu_gtensor *t = g->outputs[i];

		all &= is_comparable(t);
		if (!is_comparable(t) || f.seen[t->id])
			continue;
		f.seen[t->id] = true;
		f.tensor[f.num++] = t;
	}
	for (unsigned int i = 0; i < g->num_outputs; i++)
		if (!is_comparable(g->outputs[i]))
			look_behind(&f, g->outputs[i], list);
	/* without any there is no layer either */
	return all || !f.num ? 0 : take(g, &f, diag);
}
