// SPDX-License-Identifier: MIT
/*
 * Instructions with their entry in the debug map, and the matrix product with all that surrounds
 * it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"
#include "llm/graph.h"

uint32_t npu_llm_graph_tag(struct npu_llm_graph *g, int layer, const char *part, const char *op,
			   uint64_t macs)
{
	struct npu_jobfile_debug *d;
	char *name;
	uint32_t room;

	if (g->num_debug == g->room_debug) {
		room = g->room_debug ? 2 * g->room_debug : 256;
		d = realloc(g->debug, room * sizeof(*d));
		if (!d)
			return 0;
		g->debug = d;
		g->room_debug = room;
	}
	if ((layer < 0 ? asprintf(&name, "%s", part) : asprintf(&name, "blk.%d.%s", layer, part)) < 0)
		return 0;
	d = &g->debug[g->num_debug];
	*d = (struct npu_jobfile_debug){
		.tag = ++g->num_debug, .node = name, .op = op, .tensor = name, .macs = macs,
	};
	return d->tag;
}

int npu_llm_graph_check(struct npu_llm_graph *g, int ret)
{
	if (!ret)
		return 0;
	return npu_error_set(g->err, ret, "%s: %s",
			     g->num_debug ? g->debug[g->num_debug - 1].node : "graph",
			     npu_stream_error(g->b));
}

void npu_llm_input_free(struct npu_llm_input *in)
{
	unsigned int i;

	npu_llm_act_free(&in->x);
	for (i = 0; i < in->num_q; i++) {
		npu_llm_act_free(&in->q[i].codes);
		npu_llm_act_free(&in->q[i].scales);
	}
	in->num_q = 0;
}

/* The codes of @in that go with @w: index in in->q, or an error. */
static int quantize(struct npu_llm_graph *g, int layer, struct npu_llm_input *in,
		    const struct npu_llm_weight *w)
{
	uint32_t group = w->a_group;
	uint32_t cols = (uint32_t)in->x.t.dim[1].base;
	struct npu_dyn_quant_args a = { .in = &in->x.t, .group = group };
	unsigned int i;
	int ret;

	for (i = 0; i < in->num_q; i++)
		if (in->q[i].group == group && in->q[i].dtype == w->a_scale)
			return (int)i;
	if (i == NPU_LLM_MAX_CODES)
		return npu_error_set(g->err, -ENOTSUP, "more than %d kinds of codes for one input",
				     NPU_LLM_MAX_CODES);
	ret = npu_llm_act_new(g, in->x.rows, NPU_I8, cols, &in->q[i].codes);
	ret = ret ?: npu_llm_act_new(g, in->x.rows, w->a_scale, (cols + group - 1) / group,
				     &in->q[i].scales);
	if (ret)
		return ret;
	in->q[i].group = group;
	in->q[i].dtype = w->a_scale;
	in->num_q++;
	a.out = &in->q[i].codes.t;
	a.scale = &in->q[i].scales.t;
	a.tag = npu_llm_graph_tag(g, layer, "quantize", "DynamicQuantize", 0);
	ret = npu_llm_graph_check(g, a.tag ? npu_emit_dyn_quant(g->b, &a) : -ENOMEM);
	return ret ? ret : (int)i;
}

/* What belongs to b: scales of groups, and the input as codes. */
static int set_groups(struct npu_llm_graph *g, const struct npu_llm_linear_args *a,
		      const struct npu_llm_weight *w, struct npu_matmul_args *mm)
{
	int q;

	mm->a = &a->in->x.t;
	if (!w->a_group)
		return 0;
	q = quantize(g, a->layer, a->in, w);
	if (q < 0)
		return q;
	mm->a = &a->in->q[q].codes.t;
	mm->a_scale = &a->in->q[q].scales.t;
	mm->a_group = w->a_group;
	return 0;
}

int npu_llm_graph_linear_to(struct npu_llm_graph *g, const struct npu_llm_linear_args *a,
			    float post_mul, enum npu_act act2, const struct npu_tensor *to)
{
	struct npu_llm_weight own;
	const struct npu_llm_weight *w = a->placed ? a->placed : &own;
	struct npu_matmul_args mm = { .out = to };
	struct npu_tensor bias;
	int ret = a->placed ? 0 : npu_llm_weights_matrix(g->w, &a->w->w, &own, g->err);

	if (!ret && a->w->bias.tensor)
		ret = npu_llm_weights_vector(g->w, &a->w->bias, &bias, g->err);
	if (ret)
		return npu_error_prefix(g->err, ret, "%s", a->w->w.tensor->name);
	ret = set_groups(g, a, w, &mm);
	if (ret)
		return ret;
	npu_weight_matmul(&w->place, &w->t, &mm);
	mm.epilogue.bias = a->w->bias.tensor ? &bias : NULL;
	mm.epilogue.act = a->act;
	mm.epilogue.act2 = act2;
	mm.epilogue.post = post_mul != 0;
	mm.epilogue.post_mul = post_mul;
	if (a->times) {
		mm.epilogue.residual = &a->times->t;
		mm.epilogue.join = NPU_JOIN_MUL;
	}
	mm.tag = npu_llm_graph_tag(g, a->layer, a->part, "MatMul",
				   (uint64_t)g->plan->max[a->in->x.rows->length] * a->w->w.rows *
					   a->w->w.cols);
	return npu_llm_graph_check(g, mm.tag ? npu_emit_matmul(g->b, &mm) : -ENOMEM);
}

int npu_llm_graph_linear(struct npu_llm_graph *g, const struct npu_llm_linear_args *a,
			 struct npu_llm_act *out)
{
	int ret = npu_llm_act_new(g, a->in->x.rows, a->dtype, a->w->w.rows, out);

	return ret ?: npu_llm_graph_linear_to(g, a, 0, NPU_ACT_NONE, &out->t);
}
