// SPDX-License-Identifier: MIT
/*
 * Counters of clipped values: behind instructions that round into an 8-bit activation, one that
 * counts the codes at both ends of the range, over a sixteenth of the elements or fewer. What they
 * cost is bounded: each takes about a microsecond, so a small job has few of them, the inputs' and
 * an even choice of the others. The counters are a state tensor of the job, which sets them to zero
 * itself.
 */
#include <errno.h>
#include <string.h>

#include "compiler/lower.h"

/* One element of at least so many, and no more elements of a tensor at its largest than this. */
#define STEP_MIN	16
#define SAMPLE_MAX	16384

/*
 * Multiply-accumulates that pay for one counter: some 0.2 ms of one thread, so that counters are
 * half a percent of the job.
 */
#define MACS_A_COUNTER	INT64_C(30000000)

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

static int64_t square_root(int64_t v)
{
	int64_t r = 0;

	for (int64_t bit = INT64_C(1) << 31; bit; bit >>= 1)
		if (r + bit <= v / (r + bit))
			r += bit;
	return r;
}

/* Multiply-accumulates of a run of middling size: every length at its geometric mean. */
static int64_t typical_macs(const struct npu_graph *g)
{
	int64_t s[NPU_GRAPH_MAX_SYMS] = { 0 }, total = 0, n;

	for (unsigned int i = 0; i < g->num_syms; i++) {
		int64_t low = g->syms[i].smin > 0 ? g->syms[i].smin : 1, high = g->syms[i].smax;

		s[i] = high > low && high <= INT64_MAX / low ? square_root(low * high) : high;
	}
	for (unsigned int i = 0; i < g->num_nodes; i++) {
		n = npu_gnode_macs(g->nodes[i], s);
		total = n < INT64_MAX - total ? total + n : INT64_MAX;
	}
	return total;
}

/* Is the @i-th of all activations that could be counted, a result of @n, one that is? */
static bool chosen(const struct npu_lower *l, const struct npu_gnode *n, uint64_t i)
{
	uint64_t all = l->clip_candidates, few = l->count_all_clips ? all : l->clip_budget;

	for (unsigned int k = 0; k < l->g->num_inputs; k++)
		if (n->num_inputs && n->inputs[0] == l->g->inputs[k])
			return true;
	return few >= all || !i || i * few / all != (i - 1) * few / all;
}

int npu_lower_clip_begin(struct npu_lower *l)
{
	unsigned int count = 0, seen = 0;
	struct npu_lview v;

	for (unsigned int i = 0; l->count_clips && i < l->g->num_nodes; i++)
		for (unsigned int o = 0; o < l->g->nodes[i]->num_outputs; o++)
			l->clip_candidates += counted(l->g->nodes[i], l->g->nodes[i]->outputs[o]);
	if (!l->clip_candidates)
		return 0;
	l->clip_budget = (uint64_t)(typical_macs(l->g) / MACS_A_COUNTER);
	for (unsigned int i = 0; i < l->g->num_nodes; i++)
		for (unsigned int o = 0; o < l->g->nodes[i]->num_outputs; o++)
			if (counted(l->g->nodes[i], l->g->nodes[i]->outputs[o]))
				count += chosen(l, l->g->nodes[i], seen++);
	l->clip = npu_arena_array(l->arena, count, sizeof(*l->clip));
	l->clip_buf = npu_lower_buf(l, NPU_LBUF_STATE, 24 * (uint64_t)count,
				    "counters of clipped values");
	if (!l->clip || !l->clip_buf)
		return -ENOMEM;
	l->max_clips = count;
	counter_view(l, 0, count, &v);
	return npu_lower_fill(l, &v, 0);
}

/* The longest step up to @want whose number is a linear form of the length for every length. */
static int64_t step_of(const struct npu_lower *l, struct npu_dim d, int64_t want,
		       struct npu_dim *steps)
{
	for (; want > 1; want /= 2)
		if (npu_dim_high(l->g, d) >= 2 * want &&
		    !npu_dim_div_ceil(l->g, d, want, steps))
			return want;
	*steps = d;
	return 1;
}

/* Which elements stand for the tensor: all channels of some positions. */
static int sample(struct npu_lower *l, const struct npu_lview *v, bool image, struct npu_lview *out)
{
	struct npu_dim start[NPU_GRAPH_MAX_RANK], dim[NPU_GRAPH_MAX_RANK];
	int64_t step[NPU_GRAPH_MAX_RANK], elems = 1, want = STEP_MIN, high;
	int from = image ? 2 : 0, to = image ? v->rank : v->rank - 1;

	for (int i = 0; i < v->rank; i++) {
		start[i] = npu_dim_const(0);
		dim[i] = v->dim[i];
		step[i] = 1;
		high = npu_dim_high(l->g, v->dim[i]);
		elems = high && elems > INT64_MAX / high ? INT64_MAX : elems * high;
	}
	while (want < INT64_C(1) << 24 && elems / want > SAMPLE_MAX)
		want *= 2;
	/* rows first, with what an even share of the steps leaves over for the columns */
	for (int i = from; i < to && want > 1; i++) {
		int64_t share = image && v->rank == 4 && i == 2 ? INT64_C(1) : want;

		while (share * share < want)
			share *= 2;
		step[i] = step_of(l, v->dim[i], share, &dim[i]);
		want /= step[i];
	}
	return npu_lview_slice(v, start, step, dim, out);
}

static const char *clip_name(const struct npu_gnode *n, const struct npu_gtensor *t)
{
	return n->op == NPU_GOP_Cast ? n->inputs[0]->name : n->image ? n->image->name : t->name;
}

int npu_lower_clip(struct npu_lower *l, const struct npu_gnode *n)
{
	for (unsigned int o = 0; o < n->num_outputs; o++) {
		struct npu_gtensor *t = n->outputs[o];
		struct npu_lview v, some, counter;
		struct npu_lview *one[] = { &some };
		struct npu_linsn *insn;
		int err;

		if (!counted(n, t) || !chosen(l, n, l->seen_clips++) ||
		    l->num_clips == l->max_clips || !l->value[t->id].ready)
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
