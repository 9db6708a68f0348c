// SPDX-License-Identifier: MIT
/* Layers, groups of tensors that share codes, and the ranges of those; apply.c uses them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/scheme_priv.h"

/* Terms of a sum: with bias and zero points far inside of i32. */
#define MAX_TERMS	32768

/* Layers of one row (the gates of squeeze and excitation) below this share of the work stay float.
 */
#define SMALL_SHARE	0.001

/* What a method that clips may leave of the error of one that does not. */
#define WORTH_CLIPPING	0.5

/* ---- statistics ------------------------------------------------------------------------------ */

static int compare_stat(const void *key, const void *stat)
{
	return strcmp(key, ((const struct npu_qstat *)stat)->name);
}

struct npu_qstat *npu_qstats_find(const struct npu_qstats *s, const char *name)
{
	return s->num ? bsearch(name, s->stat, s->num, sizeof(*s->stat), compare_stat) : NULL;
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* The dimension of the weight along which outputs differ. */
int npu_scheme_weight_axis(const struct npu_gnode *n)
{
	switch (n->op) {
	case NPU_GOP_Conv:
		return 0;
	case NPU_GOP_ConvTranspose:
		return 1;
	default:
		return n->inputs[1]->rank - (npu_gnode_int(n, "transB", 0) ? 2 : 1);
	}
}

/* True when @n could be a layer; *@why says why not when it nearly is one. */
static bool is_layer(const struct npu_gnode *n, const char **why)
{
	const struct npu_gtensor *x = npu_gnode_in(n, 0), *w = npu_gnode_in(n, 1),
				 *b = npu_gnode_in(n, 2),
				 *y = n->num_outputs ? n->outputs[0] : NULL;
	int64_t count;

	*why = "";
	if (n->op != NPU_GOP_Conv && n->op != NPU_GOP_ConvTranspose && n->op != NPU_GOP_MatMul)
		return false;
	if (!x || !w || !y || npu_gtensor_is_const(x) || x->type != NPU_GT_F32 || x->quant ||
	    y->type != NPU_GT_F32)
		return false;
	if (!npu_gtensor_is_const(w) || w->type != NPU_GT_F32 || w->quant) {
		*why = "its weight is computed or not f32";
		return false;
	}
	if (n->op == NPU_GOP_MatMul ? w->rank < 2 || x->rank < 2 :
				      (w->rank != 3 && w->rank != 4) || x->rank != w->rank) {
		*why = "a vector, or more than two spatial dimensions";
		return false;
	}
	if (n->op == NPU_GOP_ConvTranspose && npu_gnode_int(n, "group", 1) != 1) {
		*why = "a transposed convolution in groups";
		return false;
	}
	if (b && (!npu_gtensor_is_const(b) || b->type != NPU_GT_F32 || b->quant)) {
		*why = "its bias is computed or not f32";
		return false;
	}
	count = npu_gtensor_const_elems(w);
	if (count <= 0 || count / w->dim[npu_scheme_weight_axis(n)].base > MAX_TERMS) {
		*why = "its sums have too many terms for i32";
		return false;
	}
	return true;
}

/* One output position: all the work is reading the weights. */
static bool one_row(const struct npu_gnode *n)
{
	const struct npu_gtensor *y = n->outputs[0];
	int64_t rows = 1;

	for (int i = 0; i < y->rank; i++)
		if (i != (n->op == NPU_GOP_MatMul ? y->rank - 1 : 1))
			rows *= npu_dim_is_const(y->dim[i]) ? y->dim[i].base : 2;
	return rows == 1;
}

int npu_scheme_layers(const struct npu_graph *g, struct npu_arena *arena, struct npu_qlayers *out)
{
	int64_t high[NPU_GRAPH_MAX_SYMS] = { 0 };
	uint64_t total = 0;
	unsigned int k = 0;

	for (unsigned int i = 0; i < g->num_syms; i++)
		high[i] = g->syms[i].smax;
	*out = (struct npu_qlayers){
		.layer = npu_arena_array(arena, g->num_nodes + 1, sizeof(*out->layer)),
		.arena = arena,
	};
	if (!out->layer)
		return -ENOMEM;
	for (unsigned int i = 0; i < g->num_nodes; i++) {
		const struct npu_gnode *n = g->nodes[i];
		struct npu_qlayer *l = &out->layer[out->num];
		const char *why;

		total += (uint64_t)npu_gnode_macs(n, high);
		if (!is_layer(n, &why) && !*why)
			continue;
		*l = (struct npu_qlayer){ .name = npu_arena_strdup(arena, n->name),
					  .op = npu_gnode_info(n)->name,
					  .macs = (uint64_t)npu_gnode_macs(n, high),
					  .fixed_float = *why, .why = why };
		if (!l->name)
			return -ENOMEM;
		out->num++;
	}
	for (unsigned int i = 0; i < g->num_nodes && k < out->num; i++) {
		struct npu_qlayer *l = &out->layer[k];

		if (strcmp(l->name, g->nodes[i]->name))
			continue;
		k++;
		if (l->fixed_float || !one_row(g->nodes[i]) ||
		    (double)l->macs >= SMALL_SHARE * (double)total)
			continue;
		l->fixed_float = true;
		l->why = "one row and little work: float costs nothing";
	}
	return 0;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* The result has values of its input and no others. */
static bool keeps_values(const struct npu_gnode *n)
{
	if (n->ep.act.kind || n->ep.has_affine || n->ep.res_op)
		return false;
	switch (n->op) {
	case NPU_GOP_Reshape:
	case NPU_GOP_Transpose:
	case NPU_GOP_Slice:
	case NPU_GOP_Identity:
	case NPU_GOP_Concat:
	case NPU_GOP_MaxPool:
	case NPU_GOP_GlobalMaxPool:
	case NPU_GOP_DepthToSpace:
	case NPU_GOP_SpaceToDepth:
		return n->num_outputs == 1 || !n->outputs[1];
	case NPU_GOP_Resize:
		return !strcmp(npu_gnode_string(n, "mode", "nearest"), "nearest");
	default:
		return false;
	}
}

/* Operators that take and give codes; beside others the tensor stays float. */
static bool takes_codes(const struct npu_gnode *n)
{
	switch (n->op) {
	case NPU_GOP_Conv:
	case NPU_GOP_ConvTranspose:
	case NPU_GOP_MatMul:
	case NPU_GOP_Activation:
	case NPU_GOP_Add:
	case NPU_GOP_Sub:
	case NPU_GOP_Mul:
	case NPU_GOP_Div:
	case NPU_GOP_Max:
	case NPU_GOP_Min:
	case NPU_GOP_AveragePool:
	case NPU_GOP_GlobalAveragePool:
	case NPU_GOP_Resize:
	case NPU_GOP_ReduceMean:
	case NPU_GOP_LayerNormalization:
	case NPU_GOP_Softmax:
		return true;
	default:
		return keeps_values(n);
	}
}

static unsigned int find(unsigned int *of, unsigned int i)
{
	while (of[i] != i)
		i = of[i] = of[of[i]];
	return i;
}

static bool is_float_value(const struct npu_gtensor *t)
{
	return t && !npu_gtensor_is_const(t) && t->type == NPU_GT_F32 && !t->quant;
}

static void join_groups(struct npu_scheme *s)
{
	for (unsigned int i = 0; i < s->g->num_nodes; i++) {
		const struct npu_gnode *n = s->g->nodes[i];

		if (!keeps_values(n) || !is_float_value(n->outputs[0]))
			continue;
		for (unsigned int k = 0; k < (n->op == NPU_GOP_Concat ? n->num_inputs : 1); k++) {
			const struct npu_gtensor *t = n->inputs[k];

			/* a part that others read keeps a range of its own */
			if (!is_float_value(t) || (n->op == NPU_GOP_Concat && t->num_consumers > 1))
				continue;
			s->group_of[find(s->group_of, t->id)] =
				find(s->group_of, n->outputs[0]->id);
		}
	}
}

static bool tensor_capable(const struct npu_gtensor *t)
{
	if (t->is_input || t->is_output || !t->producer || !takes_codes(t->producer))
		return false;
	for (unsigned int i = 0; i < t->num_consumers; i++)
		if (!takes_codes(t->consumer[i]))
			return false;
	return true;
}

static void fill_groups(struct npu_scheme *s)
{
	for (unsigned int i = 0; i < s->num_tensors; i++)
		s->group[i].capable = true;
	for (unsigned int i = 0; i < s->num_tensors; i++) {
		struct npu_gtensor *t = s->g->tensors[i];

		s->group_of[i] = find(s->group_of, i);
		if (is_float_value(t) && (t->producer || t->is_input))
			s->group[s->group_of[i]].capable &= tensor_capable(t);
	}
	for (unsigned int i = 0; i < s->num_layers; i++)
		if (s->node[i])
			s->group[s->group_of[s->node[i]->inputs[0]->id]].wanted = true;
	for (unsigned int i = 0; i < s->num_tensors; i++) {
		struct npu_gtensor *t = s->g->tensors[i];

		if (is_float_value(t) && s->group[s->group_of[i]].wanted &&
		    (t->producer || t->is_input))
			s->watch[s->num_watch++] = t;
	}
}

/*
 * At other shapes a node may be another thing, a weight computed for example: then it is no layer
 * of this graph.
 */
static void find_nodes(struct npu_scheme *s, const struct npu_qlayers *layers)
{
	const char *why;

	for (unsigned int i = 0; i < s->g->num_nodes; i++)
		for (unsigned int k = 0; k < layers->num; k++) {
			struct npu_gnode *n = s->g->nodes[i];

			if (!strcmp(layers->layer[k].name, n->name) &&
			    (is_layer(n, &why) || layers->layer[k].fixed_float))
				s->node[k] = n;
		}
}

int npu_scheme_init(struct npu_scheme *s, struct npu_graph *g, const struct npu_qlayers *layers)
{
	memset(s, 0, sizeof(*s));
	s->g = g;
	s->num_layers = layers->num;
	s->num_tensors = g->num_tensors;
	s->node = npu_arena_array(&s->arena, layers->num + 1, sizeof(*s->node));
	s->cache = npu_arena_array(&s->arena, layers->num + 1, sizeof(*s->cache));
	s->group_of = npu_arena_array(&s->arena, g->num_tensors + 1, sizeof(*s->group_of));
	s->group = npu_arena_array(&s->arena, g->num_tensors + 1, sizeof(*s->group));
	s->watch = npu_arena_array(&s->arena, g->num_tensors + 1, sizeof(*s->watch));
	s->copy = npu_arena_array(&s->arena, g->num_tensors + 1, sizeof(*s->copy));
	s->undo = npu_arena_alloc(&s->arena, sizeof(*s->undo));
	if (!s->node || !s->cache || !s->group_of || !s->group || !s->watch || !s->copy || !s->undo)
		return -ENOMEM;
	for (unsigned int i = 0; i < g->num_tensors; i++)
		s->group_of[i] = i;
	find_nodes(s, layers);
	join_groups(s);
	fill_groups(s);
	return 0;
}

void npu_scheme_fini(struct npu_scheme *s)
{
	if (s->undo) {
		free(s->undo->input);
		free(s->undo->retyped);
		free(s->undo->copy);
	}
	npu_arena_fini(&s->arena);
	memset(s, 0, sizeof(*s));
}

/* ---- ranges ---------------------------------------------------------------------------------- */

const struct npu_gquant *npu_scheme_quant(const struct npu_scheme *s, const struct npu_gtensor *t)
{
	return t->id < s->num_tensors ? s->group[s->group_of[t->id]].quant : NULL;
}

/* Codes of group @q for @range. */
static int set_codes(struct npu_scheme *s, struct npu_qgroup *q, struct npu_qrange range,
		     const struct npu_gquant **made)
{
	int32_t zero;
	float scale;

	if (!*made) {
		npu_range_code(range, 0, &scale, &zero);
		*made = npu_graph_quant_chosen(s->g, scale, zero);
	}
	q->range = range;
	q->quant = *made;
	return q->quant ? 0 : -ENOMEM;
}

/* Has @st seen values in a part other than @left_out? */
static bool saw_values(const struct npu_qstat *st, unsigned int left_out)
{
	for (unsigned int p = 0; p < NPU_CALIB_PARTS; p++)
		if (p != left_out && st->h[p].count)
			return true;
	return false;
}

int npu_scheme_take_ranges(struct npu_scheme *s, const struct npu_qstats *stats,
			   struct npu_qsetting now)
{
	for (unsigned int i = 0; i < s->num_tensors; i++)
		s->group[i].quant = NULL;
	for (unsigned int i = 0; i < s->num_watch; i++) {
		const struct npu_qstat *st = npu_qstats_find(stats, s->watch[i]->name);
		struct npu_qgroup *q = &s->group[s->group_of[s->watch[i]->id]];
		enum npu_calib_method method;

		if (!st || !saw_values(st, now.left_out) || q->quant)
			continue;
		method = now.method == NPU_CALIB_AUTO ? st->method : now.method;
		if (set_codes(s, q, st->range[method][now.left_out],
			      &q->made[method][now.left_out]))
			return -ENOMEM;
	}
	return 0;
}

/* The better method by the errors of all layers that read group @group. */
static enum npu_calib_method group_method(const struct npu_scheme *s, unsigned int group,
					  const struct npu_qlayers *layers,
					  double (*error)[NPU_NUM_CALIB_METHODS])
{
	double sum[NPU_NUM_CALIB_METHODS] = { 0 };

	for (unsigned int k = 0; k < s->num_layers; k++)
		for (int m = 0; m < NPU_NUM_CALIB_METHODS; m++)
			if (s->node[k] && !layers->layer[k].fixed_float &&
			    s->group_of[s->node[k]->inputs[0]->id] == group)
				sum[m] += error[k][m];
	return sum[NPU_CALIB_MSE] < WORTH_CLIPPING * sum[NPU_CALIB_MINMAX] ? NPU_CALIB_MSE :
									     NPU_CALIB_MINMAX;
}

void npu_scheme_methods(const struct npu_scheme *s, struct npu_qstats *stats,
			struct npu_qlayers *layers, double (*error)[NPU_NUM_CALIB_METHODS])
{
	for (unsigned int i = 0; i < s->num_watch; i++) {
		struct npu_qstat *st = npu_qstats_find(stats, s->watch[i]->name);

		if (st)
			st->method = group_method(s, s->group_of[s->watch[i]->id], layers, error);
	}
	for (unsigned int k = 0; k < s->num_layers; k++)
		if (s->node[k])
			layers->layer[k].method =
				group_method(s, s->group_of[s->node[k]->inputs[0]->id], layers,
					     error);
}

/* The ranges of one setting; @sum is room for a histogram by tensor. */
static void choose_ranges(struct npu_scheme *s, struct npu_qstats *stats, struct npu_qsetting now,
			  double percentile, struct npu_histogram *sum)
{
	memset(sum, 0, s->num_tensors * sizeof(*sum));
	for (unsigned int i = 0; i < s->num_watch; i++) {
		const struct npu_qstat *st = npu_qstats_find(stats, s->watch[i]->name);

		for (unsigned int p = 0; st && p < stats->parts; p++)
			if (p != now.left_out)
				npu_histogram_merge(&sum[s->group_of[s->watch[i]->id]], &st->h[p]);
	}
	for (unsigned int i = 0; i < s->num_tensors; i++)
		if (s->group[i].wanted && s->group_of[i] == i)
			s->group[i].range = npu_range_choose(&sum[i], now.method, percentile);
	for (unsigned int i = 0; i < s->num_watch; i++) {
		struct npu_qstat *st = npu_qstats_find(stats, s->watch[i]->name);

		if (st)
			st->range[now.method][now.left_out] =
				s->group[s->group_of[s->watch[i]->id]].range;
	}
}

int npu_scheme_ranges(struct npu_scheme *s, struct npu_qstats *stats, enum npu_calib_method method,
		      double percentile)
{
	struct npu_histogram *sum = calloc(s->num_tensors + 1, sizeof(*sum));

	if (!sum)
		return -ENOMEM;
	for (unsigned int p = 0; p < stats->parts && stats->parts > 1; p++)
		choose_ranges(s, stats, (struct npu_qsetting){ method, p }, percentile, sum);
	choose_ranges(s, stats, (struct npu_qsetting){ method, NPU_CALIB_ALL_PARTS }, percentile,
		      sum);
	free(sum);
	return 0;
}
