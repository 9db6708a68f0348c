// SPDX-License-Identifier: MIT
/*
 * Memory orders and places, chosen before lowering so that as little as possible is copied:
 *
 *  1. tensors of image operators (convolution, pooling, resize) and what is computed element by
 *     element between them lie channels-last, everything else in its logical order;
 *  2. model outputs and the parts of a Concat are written in place by their producers, also through
 *     Reshape and Transpose, which are undone on the way back;
 *  3. the same for a Reshape that would copy because of its input's memory order: the producer
 *     writes in the order of the result, when nobody else reads it. (Heads of attention, joined
 *     again; the last feature map before a classifier.)
 */
#include <errno.h>
#include <string.h>

#include "compiler/lower.h"

const int *npu_layout_channels_last(int rank)
{
	static const int cl4[] = { 0, 2, 3, 1 }, cl3[] = { 0, 2, 1 };

	return rank == 4 ? cl4 : rank == 3 ? cl3 : NULL;
}

static bool image_rank(const struct npu_gtensor *t)
{
	return t && (t->rank == 4 || t->rank == 3) && !npu_gtensor_is_const(t);
}

/* Rank 3 counts as an image [N, C, L] only beside one-dimensional image operators. */
static void want_image(struct npu_lower *l, const struct npu_gtensor *t)
{
	if (image_rank(t) && !t->is_input)
		l->value[t->id].channels_last = true;
}

static bool is_image(const struct npu_lower *l, const struct npu_gtensor *t)
{
	return image_rank(t) && l->value[t->id].channels_last;
}

static const struct npu_op_rule *rule_of(const struct npu_gnode *n)
{
	const struct npu_op_rule *r = n ? npu_op_rule(n->op) : NULL;

	return r && r->lower ? r : NULL;
}

static bool any_image_like(const struct npu_lower *l, struct npu_gtensor **t, unsigned int n,
			   int rank)
{
	for (unsigned int i = 0; i < n; i++)
		if (t[i] && t[i]->rank == rank && is_image(l, t[i]))
			return true;
	return false;
}

static void choose_orders(struct npu_lower *l)
{
	struct npu_graph *g = l->g;

	for (unsigned int i = 0; i < g->num_nodes; i++) {
		const struct npu_gnode *n = g->nodes[i];
		const struct npu_op_rule *r = rule_of(n);

		if (!r || r->layout != NPU_OL_IMAGE)
			continue;
		want_image(l, npu_gnode_in(n, 0));
		for (unsigned int k = 0; k < n->num_outputs; k++)
			want_image(l, n->outputs[k]);
	}
	for (unsigned int i = 0; i < g->num_nodes; i++) {
		const struct npu_gnode *n = g->nodes[i];
		const struct npu_op_rule *r = rule_of(n);

		if (r && r->layout == NPU_OL_ANY && n->outputs[0] &&
		    any_image_like(l, n->inputs, n->num_inputs, n->outputs[0]->rank))
			for (unsigned int k = 0; k < n->num_outputs; k++)
				want_image(l, n->outputs[k]);
	}
	for (unsigned int i = g->num_nodes; i-- > 0;) {
		const struct npu_gnode *n = g->nodes[i];
		const struct npu_op_rule *r = rule_of(n);

		if (!r || r->layout != NPU_OL_ANY || !is_image(l, n->outputs[0]))
			continue;
		for (unsigned int k = 0; k < n->num_inputs; k++) {
			const struct npu_op_rule *p = n->inputs[k] ?
							      rule_of(n->inputs[k]->producer) :
							      NULL;

			if (p && p->layout == NPU_OL_ANY &&
			    n->inputs[k]->rank == n->outputs[0]->rank)
				want_image(l, n->inputs[k]);
		}
	}
}

/* What a tensor's own buffer will look like, for trying a reshape before it exists. */
static int preview(const struct npu_lower *l, const struct npu_gtensor *t, bool channels_last,
		   struct npu_lview *v)
{
	npu_lview_of(t, npu_lower_dtype(l, t), v);
	return npu_lview_dense(l, v, channels_last ? npu_layout_channels_last(t->rank) : NULL,
			       true);
}

static bool place(struct npu_lower *l, struct npu_gtensor *t, const struct npu_lview *v);

/* Undo a view operator: where its input must lie for its output to lie at @v. */
static bool place_through(struct npu_lower *l, struct npu_gnode *n, const struct npu_lview *v)
{
	struct npu_gtensor *in = n->inputs[0];
	struct npu_lview back;

	if (in->num_consumers != 1 || in->is_output)
		return false;
	if (n->op == NPU_GOP_Reshape) {
		if (npu_lview_reshape(l, v, in->dim, in->rank, &back))
			return false;
	} else {
		size_t count;
		const int64_t *perm = npu_gnode_ints(n, "perm", &count);
		int inverse[NPU_GRAPH_MAX_RANK];

		if (!perm || count != (size_t)v->rank)
			return false;
		for (int i = 0; i < v->rank; i++)
			inverse[perm[i]] = i;
		npu_lview_permute(v, inverse, &back);
	}
	return place(l, in, &back);
}

/*
 * A cast on the way out is free only for instructions that convert when they store. A tensor that
 * is quantized keeps its own codes: others would be a second rounding.
 */
static bool type_fits(const struct npu_lower *l, const struct npu_gtensor *t,
		      const struct npu_op_rule *r, const struct npu_lview *v)
{
	struct npu_lview own;

	npu_lview_of(t,
		     t->producer && t->producer->host ? npu_lower_user_dtype(l, t) :
							npu_lower_dtype(l, t),
		     &own);
	return npu_lview_same_elem(&own, v) ||
	       (r->retypes && npu_dtype_is_float(own.dtype) && npu_lview_is_real(v));
}

static bool place(struct npu_lower *l, struct npu_gtensor *t, const struct npu_lview *v)
{
	struct npu_lvalue *val = &l->value[t->id];
	const struct npu_op_rule *r = rule_of(t->producer);

	if (val->placed || val->ready || !r || npu_gtensor_is_const(t))
		return false;
	if (t->is_output && v->buf->kind != NPU_LBUF_OUTPUT)
		return false;
	if (v->buf->kind == NPU_LBUF_OUTPUT && t->num_consumers && t->is_output &&
	    npu_lower_dtype(l, t) != v->dtype)
		return false;	/* others read it: rather from on-device memory in its own type */
	if (t->producer->op == NPU_GOP_Reshape || t->producer->op == NPU_GOP_Transpose) {
		if (!place_through(l, t->producer, v))
			return false;
	} else if (r->layout == NPU_OL_VIEW || !type_fits(l, t, r, v)) {
		return false;
	}
	val->placed = true;
	val->view = *v;
	return true;
}

static int place_outputs(struct npu_lower *l)
{
	for (unsigned int i = 0; i < l->g->num_outputs; i++) {
		struct npu_gtensor *t = l->g->outputs[i];
		const int *order = NULL;
		struct npu_lview v;

		npu_lview_of(t, npu_lower_user_dtype(l, t), &v);
		v.buf = l->output_buf[i];
		if (l->any_order && is_image(l, t))
			order = npu_layout_channels_last(t->rank);
		if (npu_lview_dense(l, &v, order, true))
			return -EINVAL;
		place(l, t, &v);
	}
	return 0;
}

int npu_layout_part(const struct npu_gnode *n, const struct npu_lview *whole, unsigned int k,
		    struct npu_dim *at, struct npu_lview *out)
{
	struct npu_dim start[NPU_GRAPH_MAX_RANK];
	int axis = (int)npu_gnode_int(n, "axis", 0);

	if (at->sym == NPU_DIM_UNKNOWN)
		return -EDOM;
	for (int i = 0; i < whole->rank; i++)
		start[i] = i == axis ? *at : npu_dim_const(0);
	if (npu_dim_add(*at, n->inputs[k]->dim[axis], at))
		at->sym = NPU_DIM_UNKNOWN;
	return npu_lview_slice(whole, start, NULL, n->inputs[k]->dim, out);
}

bool npu_layout_pad_part(const struct npu_gnode *n, const struct npu_lview *whole,
			 struct npu_lview *out)
{
	size_t count;
	const int64_t *pads = npu_gnode_ints(n, "pads", &count);
	struct npu_dim start[NPU_GRAPH_MAX_RANK];
	int axes = 0;

	if (!pads || count != 2 * (size_t)whole->rank ||
	    strcmp(npu_gnode_string(n, "mode", "constant"), "constant"))
		return false;
	for (int i = 0; i < whole->rank; i++) {
		if (pads[i] < 0 || pads[i + whole->rank] < 0)
			return false;
		axes += pads[i] || pads[i + whole->rank];
		start[i] = npu_dim_const(pads[i]);
	}
	return axes == 1 && !npu_lview_slice(whole, start, NULL, n->inputs[0]->dim, out);
}

static int place_parts(struct npu_lower *l, struct npu_gnode *n)
{
	struct npu_gtensor *out = n->outputs[0];
	struct npu_dim at = npu_dim_const(0);
	struct npu_lview whole, part;
	int err;

	if (n->op == NPU_GOP_Pad &&
	    (n->inputs[0]->is_output ||
	     !npu_layout_pad_part(n, &(struct npu_lview){ .rank = out->rank }, &part)))
		return 0;
	if (out->rank < 1 || npu_lower_dtype(l, out) == NPU_NONE)
		return 0;
	if (!l->value[out->id].placed) {
		err = npu_lower_out(l, out, &whole);
		if (err)
			return err;
		l->value[out->id].ready = false;
		l->value[out->id].placed = true;
	}
	whole = l->value[out->id].view;
	for (unsigned int k = 0; k < (n->op == NPU_GOP_Pad ? 1 : n->num_inputs); k++) {
		if (n->op == NPU_GOP_Pad ? !npu_layout_pad_part(n, &whole, &part) :
					   npu_layout_part(n, &whole, k, &at, &part))
			continue;
		place(l, n->inputs[k], &part);
	}
	return 0;
}

/*
 * What lowering will see as the input of Reshape @n, as far as it is known now: behind Transposes,
 * the buffer of whoever computes it. False when that is another view.
 */
static bool reshape_input(const struct npu_lower *l, const struct npu_gnode *n, struct npu_lview *v)
{
	const struct npu_gnode *transpose[4];
	const struct npu_gtensor *t = n->inputs[0];
	int count = 0;

	while (t->producer && t->producer->op == NPU_GOP_Transpose && count < 4) {
		transpose[count++] = t->producer;
		t = t->producer->inputs[0];
	}
	if (l->value[t->id].placed || l->value[t->id].ready)
		*v = l->value[t->id].view;
	else if (!rule_of(t->producer) || rule_of(t->producer)->layout == NPU_OL_VIEW ||
		 preview(l, t, is_image(l, t), v))
		return false;
	while (count-- > 0) {
		size_t rank = 0;
		const int64_t *perm = npu_gnode_ints(transpose[count], "perm", &rank);
		int order[NPU_GRAPH_MAX_RANK];

		if (!perm || rank != (size_t)v->rank)
			return false;
		for (int i = 0; i < v->rank; i++)
			order[i] = (int)perm[i];
		npu_lview_permute(v, order, v);
	}
	return true;
}

/* A Reshape that would copy: let the data be written so that it does not have to. */
static int place_reshape(struct npu_lower *l, struct npu_gnode *n)
{
	struct npu_gtensor *out = n->outputs[0];
	struct npu_lvalue *val = &l->value[out->id];
	struct npu_lview v, r;
	int err;

	if (val->placed || npu_lower_dtype(l, out) == NPU_NONE || !reshape_input(l, n, &v) ||
	    !npu_lview_reshape(l, &v, out->dim, out->rank, &r))
		return 0;
	err = npu_lower_out(l, out, &v);
	val->ready = false;
	if (!err && place_through(l, n, &v))
		val->placed = true;
	return err;
}

/* What only the host reads is written as it wants to read it. */
static int place_host_input(struct npu_lower *l, struct npu_gtensor *t, enum npu_gtype type)
{
	struct npu_lvalue *val = &l->value[t->id];
	struct npu_lview v;
	int err;

	if (!t->producer || t->producer->host || val->placed || val->ready || t->is_output ||
	    npu_gtensor_is_const(t))
		return 0;
	for (unsigned int i = 0; i < t->num_consumers; i++)
		if (!t->consumer[i]->host)
			return 0;
	err = npu_lower_temp(l, t->dim, t->rank, npu_lower_host_dtype(type), &v);
	if (!err) {
		v.buf->name = t->name;
		place(l, t, &v);
	}
	return err;
}

static int place_host(struct npu_lower *l, struct npu_gnode *n)
{
	int err = 0;

	for (unsigned int i = 0; n->host && i < n->num_inputs && !err; i++)
		if (n->inputs[i] && npu_lower_host_dtype(n->host->types[i]) != NPU_NONE)
			err = place_host_input(l, n->inputs[i], n->host->types[i]);
	return err;
}

int npu_layout_choose(struct npu_lower *l)
{
	struct npu_graph *g = l->g;
	int err;

	choose_orders(l);
	err = place_outputs(l);
	for (unsigned int i = g->num_nodes; i-- > 0 && !err;)
		if (g->nodes[i]->op == NPU_GOP_Concat || g->nodes[i]->op == NPU_GOP_Pad)
			err = place_parts(l, g->nodes[i]);
	for (unsigned int i = g->num_nodes; i-- > 0 && !err;)
		err = place_host(l, g->nodes[i]);
	for (unsigned int i = g->num_nodes; i-- > 0 && !err;)
		if (g->nodes[i]->op == NPU_GOP_Reshape)
			err = place_reshape(l, g->nodes[i]);
	return err;
}
