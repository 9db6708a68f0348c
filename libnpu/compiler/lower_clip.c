// SPDX-License-Identifier: MIT
/*
 * Counters of clipped values: behind every instruction that rounds into an 8-bit activation, one
 * that counts the codes at both ends of the range, over a sixteenth of the elements. The counters
 * are a state tensor of the job, which sets them to zero itself.
 */
#include <errno.h>
#include <string.h>

#include "compiler/lower.h"

/* Of each of two dimensions every fourth element, or of one every sixteenth. */
#define STEP_TWO	4
#define STEP_ONE	16

/* Does node @n round into its results, rather than pass codes on? */
static bool rounds(const struct npu_gnode *n)
{
	const struct npu_op_rule *r = npu_op_rule(n->op);

	if (!r || r->layout == NPU_OL_VIEW)
		return false;
	switch (n->op) {
	case NPU_GOP_Concat:
	case NPU_GOP_MaxPool:
	case NPU_GOP_GlobalMaxPool:
	case NPU_GOP_DepthToSpace:
	case NPU_GOP_SpaceToDepth:
		return false;
	default:
		return true;
	}
}

static bool counted(const struct npu_gnode *n, const struct npu_gtensor *t)
{
	return t && t->quant && (t->type == NPU_GT_U8 || t->type == NPU_GT_I8) && rounds(n);
}

/* One row of i64: at the lowest code, at the highest, looked at. */
static void counter_view(const struct npu_lower *l, unsigned int first, unsigned int rows,
			 struct npu_lview *v)
{
	memset(v, 0, sizeof(*v));
	v->buf = l->clip_buf;
	v->dtype = NPU_I64;
	v->rank = 1;
	v->dim[0] = npu_dim_const(3 * (int64_t)rows);
	v->stride[0] = npu_poly_const(8);
	v->offset = npu_poly_const(24 * (int64_t)first);
}

int npu_lower_clip_begin(struct npu_lower *l)
{
	unsigned int count = 0;
	struct npu_lview v;

	for (unsigned int i = 0; l->count_clips && i < l->g->num_nodes; i++)
		for (unsigned int o = 0; o < l->g->nodes[i]->num_outputs; o++)
			count += counted(l->g->nodes[i], l->g->nodes[i]->outputs[o]);
	if (!count)
		return 0;
	l->clip = npu_arena_array(l->arena, count, sizeof(*l->clip));
	l->clip_buf = npu_lower_buf(l, NPU_LBUF_STATE, 24 * (uint64_t)count,
				    "counters of clipped values");
	if (!l->clip || !l->clip_buf)
		return -ENOMEM;
	l->max_clips = count;
	counter_view(l, 0, count, &v);
	return npu_lower_fill(l, &v, 0);
}

/* Which elements stand for the tensor: all channels of some positions. */
static int sample(struct npu_lower *l, const struct npu_lview *v, bool image, struct npu_lview *out)
{
	struct npu_dim start[NPU_GRAPH_MAX_RANK], dim[NPU_GRAPH_MAX_RANK];
	int64_t step[NPU_GRAPH_MAX_RANK];
	int longest = -1, from = image ? 2 : 0, to = image ? v->rank : v->rank - 1;

	for (int i = 0; i < v->rank; i++) {
		start[i] = npu_dim_const(0);
		dim[i] = v->dim[i];
		step[i] = 1;
		if (i >= from && i < to &&
		    (longest < 0 ||
		     npu_dim_high(l->g, v->dim[i]) > npu_dim_high(l->g, v->dim[longest])))
			longest = i;
	}
	for (int i = from; i < to; i++) {
		int64_t s = image && v->rank == 4 ? STEP_TWO : i == longest ? STEP_ONE : 1;

		/* where the number of steps is no linear form of the length, all of them count */
		if (npu_dim_high(l->g, v->dim[i]) < 2 * s ||
		    npu_dim_div_ceil(l->g, v->dim[i], s, &dim[i]))
			continue;
		step[i] = s;
	}
	return npu_lview_slice(v, start, step, dim, out);
}

static const char *clip_name(const struct npu_gnode *n, const struct npu_gtensor *t)
{
	return n->op == NPU_GOP_Cast ? n->inputs[0]->name : t->name;
}

int npu_lower_clip(struct npu_lower *l, const struct npu_gnode *n)
{
	for (unsigned int o = 0; o < n->num_outputs; o++) {
		struct npu_gtensor *t = n->outputs[o];
		struct npu_lview v, some, counter;
		struct npu_lview *one[] = { &some };
		struct npu_linsn *insn;
		int err;

		if (l->num_clips == l->max_clips || !counted(n, t) || !l->value[t->id].ready)
			continue;
		v = l->value[t->id].view;
		err = sample(l, &v, l->value[t->id].channels_last && v.rank > 2, &some);
		if (err)
			return err == -ENOMEM ? err : 0;
		npu_lview_canonical(l, one, 1, -1);
		if (some.rank > 6)
			continue;
		insn = npu_lower_insn(l, NPU_OP_COUNT);
		if (!insn)
			return -ENOMEM;
		counter_view(l, l->num_clips, 1, &counter);
		err = npu_linsn_operand(l, insn, NPU_COUNT_INOUT, &counter);
		if (!err)
			err = npu_linsn_operand(l, insn, NPU_COUNT_IN, &some);
		if (err)
			return err;
		l->clip[l->num_clips++] = (struct npu_lclip){ clip_name(n, t), t, n };
	}
	return 0;
}
