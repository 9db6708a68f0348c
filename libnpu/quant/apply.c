// SPDX-License-Identifier: MIT
/* The int8 form of a graph, and back. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/means.h"
#include "quant/scheme_priv.h"
#include "quant/weight.h"

static int undo_reserve(struct npu_scheme *s)
{
	struct npu_qundo *u = s->undo;
	size_t inputs = 3 * (size_t)s->num_layers + 1;

	if (u->input)
		return 0;
	u->input = calloc(inputs, sizeof(*u->input));
	u->retyped = calloc((size_t)s->num_tensors + 1, sizeof(*u->retyped));
	u->copy = calloc((size_t)s->num_layers + 1, sizeof(*u->copy));
	return u->input && u->retyped && u->copy ? 0 : -ENOMEM;
}

/* Replace an input of a layer so that it can be put back. */
static int change_input(struct npu_scheme *s, struct npu_gnode *n, unsigned int i,
			struct npu_gtensor *t)
{
	struct npu_qundo *u = s->undo;

	u->input[u->num_inputs++] = (struct npu_qundo_input){ n, i, npu_gnode_in(n, i) };
	return npu_gnode_set_input(s->g, n, i, t);
}

/* ---- weights --------------------------------------------------------------------------------- */

static struct npu_weight_shape weight_shape(const struct npu_gtensor *w, int axis)
{
	struct npu_weight_shape shape = { 1, (size_t)w->dim[axis].base, 1 };

	for (int i = 0; i < w->rank; i++)
		*(i < axis ? &shape.outer : &shape.inner) *= i == axis ? 1 : (size_t)w->dim[i].base;
	return shape;
}

/* Room for the codes of weight @w and their scales. */
static int reserve_weight(struct npu_scheme *s, struct npu_qcached *c, const struct npu_gtensor *w,
			  int axis, size_t channels)
{
	int64_t dims[NPU_GRAPH_MAX_RANK];

	if (c->weight)
		return 0;
	for (int i = 0; i < w->rank; i++)
		dims[i] = w->dim[i].base;
	c->scale = npu_arena_array(&s->arena, channels, sizeof(*c->scale));
	c->weight = c->scale ? npu_graph_const(s->g, w->name, NPU_GT_I8, w->rank, dims, NULL) :
			       NULL;
	if (!c->weight)
		return -ENOMEM;
	c->quant = (struct npu_gquant){ .axis = axis, .count = (unsigned int)channels,
					.ch_scale = c->scale };
	c->weight->quant = &c->quant;
	return 0;
}

/* The scales of layer @l's weight by itself: looked for once for all graphs. */
static int layer_scales(const struct npu_qlayers *layers, struct npu_qlayer *l,
			const struct npu_gtensor *w, const struct npu_weight_shape *shape)
{
	float *scale;

	if (l->weight_scale && l->weight_channels == shape->channels)
		return 0;
	scale = npu_arena_array(layers->arena, shape->channels, sizeof(*scale));
	if (!scale)
		return -ENOMEM;
	if (npu_weight_scales(w->data, shape, scale))
		return -EINVAL;
	l->weight_scale = scale;
	l->weight_channels = shape->channels;
	return 0;
}

static int make_weight(struct npu_scheme *s, unsigned int k, float in_scale,
		       const struct npu_qlayers *layers, struct npu_diag *diag)
{
	struct npu_gnode *n = s->node[k];
	struct npu_qlayer *l = &layers->layer[k];
	const struct npu_gtensor *w = n->inputs[1], *b = npu_gnode_in(n, 2);
	const int axis = npu_scheme_weight_axis(n);
	const struct npu_weight_shape shape = weight_shape(w, axis);
	struct npu_qcached *c = &s->cache[k];
	int err;

	if (b && npu_gtensor_const_elems(b) != (int64_t)shape.channels)
		return npu_diag_node(diag, -EINVAL, n, "bias", "it has %lld elements, expected %zu",
				     (long long)npu_gtensor_const_elems(b), shape.channels);
	err = reserve_weight(s, c, w, axis, shape.channels);
	if (!err)
		err = layer_scales(layers, l, w, &shape);
	if (!err)
		err = npu_weight_quantize(w->data, &shape, l->weight_scale, b ? b->data : NULL,
					  in_scale, (int8_t *)(uintptr_t)c->weight->data, c->scale);
	return err == -EINVAL ? npu_diag_node(diag, err, n, w->name,
					      "a weight or bias is not finite") :
				err;
}

/* The bias of layer @k, corrected by what the codes do to the means; rounded when it is lowered. */
static int make_bias(struct npu_scheme *s, unsigned int k, const struct npu_qlayers *layers)
{
	struct npu_gnode *n = s->node[k];
	const struct npu_gtensor *b = npu_gnode_in(n, 2);
	struct npu_qcached *c = &s->cache[k];
	const struct npu_channel_means m = npu_means_of(&layers->layer[k], layers->now);
	const int64_t dim = c->quant.count;
	double *shift;
	float *value;

	if (!m.plain)
		return 0;
	shift = calloc((size_t)dim + 1, sizeof(*shift));
	if (!shift)
		return -ENOMEM;
	if (npu_means_shift(n, c->weight->data, c->scale, &m, shift) && !c->bias) {
		c->bias = npu_graph_const(s->g, b ? b->name : n->name, NPU_GT_F32, 1, &dim, NULL);
		if (!c->bias) {
			free(shift);
			return -ENOMEM;
		}
	}
	value = c->bias ? (float *)(uintptr_t)c->bias->data : NULL;
	for (int64_t i = 0; value && i < dim; i++)
		value[i] = (float)((b ? (double)((const float *)b->data)[i] : 0) + shift[i]);
	free(shift);
	return 0;
}

static int quantize_layer(struct npu_scheme *s, unsigned int k, const struct npu_qlayers *layers,
			  struct npu_diag *diag)
{
	struct npu_gnode *n = s->node[k];
	const struct npu_gquant *in = n->inputs[0]->quant;
	struct npu_qcached *c = &s->cache[k];
	int err = 0;

	if (c->in != in) {
		c->in = NULL;
		err = make_weight(s, k, in->scale, layers, diag);
		if (!err)
			err = make_bias(s, k, layers);
		if (!err)
			c->in = in;
	}
	if (!err)
		err = change_input(s, n, 1, c->weight);
	if (!err && c->bias)
		err = change_input(s, n, 2, c->bias);
	return err;
}

/* ---- activations ----------------------------------------------------------------------------- */

static void mark_groups(struct npu_scheme *s, const struct npu_qlayers *layers)
{
	for (unsigned int i = 0; i < s->num_tensors; i++)
		s->group[i].coded = s->group[i].float_reader = false;
	for (unsigned int k = 0; k < s->num_layers; k++) {
		struct npu_qgroup *q =
			s->node[k] ? &s->group[s->group_of[s->node[k]->inputs[0]->id]] : NULL;

		if (q && layers->layer[k].int8)
			q->coded = true;
		else if (q)
			q->float_reader = true;
	}
}

static void retype_groups(struct npu_scheme *s)
{
	for (unsigned int i = 0; i < s->num_watch; i++) {
		struct npu_gtensor *t = s->watch[i];
		const struct npu_qgroup *q = &s->group[s->group_of[t->id]];

		if (!q->coded || !q->capable || q->float_reader || !q->quant)
			continue;
		t->type = NPU_GT_U8;
		t->quant = q->quant;
		s->undo->retyped[s->undo->num_retyped++] = t;
	}
}

/* The 8-bit copy of float tensor @t. */
static struct npu_gtensor *code_copy(struct npu_scheme *s, struct npu_gtensor *t,
				     const struct npu_gnode *like)
{
	struct npu_qundo *u = s->undo;
	struct npu_gnode *n;

	for (unsigned int i = 0; i < u->num_copies; i++)
		if (u->copy[i]->inputs[0] == t)
			return u->copy[i]->outputs[0];
	n = s->copy[t->id];
	if (!n)
		n = npu_graph_insert(s->g, NPU_GOP_Cast, like, &t, 1, t);
	else if (npu_graph_revive(s->g, n, &t, 1))
		n = NULL;
	if (!n)
		return NULL;
	s->copy[t->id] = n;
	n->outputs[0]->type = NPU_GT_U8;
	n->outputs[0]->quant = s->group[s->group_of[t->id]].quant;
	/* what it stands for is the layer's: the report counts it there */
	u->copy[u->num_copies++] = n;
	return n->outputs[0];
}

int npu_scheme_apply(struct npu_scheme *s, const struct npu_qlayers *layers, struct npu_diag *diag)
{
	int err = undo_reserve(s);

	if (err)
		return err;
	mark_groups(s, layers);
	retype_groups(s);
	for (unsigned int k = 0; k < s->num_layers && !err; k++) {
		struct npu_gnode *n = s->node[k];
		struct npu_gtensor *x = n ? n->inputs[0] : NULL;

		if (!n || !layers->layer[k].int8 || !s->group[s->group_of[x->id]].quant)
			continue;
		if (!x->quant) {
			x = code_copy(s, x, n);
			err = x ? change_input(s, n, 0, x) : -ENOMEM;
		}
		if (!err)
			err = quantize_layer(s, k, layers, diag);
	}
	return err ? err : npu_graph_sort(s->g, diag);
}

int npu_scheme_restore(struct npu_scheme *s, struct npu_diag *diag)
{
	struct npu_qundo *u = s->undo;
	int err = 0;

	while (u->num_inputs) {
		const struct npu_qundo_input *i = &u->input[--u->num_inputs];

		if (!err)
			err = npu_gnode_set_input(s->g, i->node, i->index, i->old);
	}
	while (u->num_retyped) {
		struct npu_gtensor *t = u->retyped[--u->num_retyped];

		t->type = NPU_GT_F32;
		t->quant = NULL;
	}
	while (u->num_copies)
		npu_graph_remove(s->g, u->copy[--u->num_copies]);
	return err ? err : npu_graph_sort(s->g, diag);
}

bool npu_scheme_range(const struct npu_scheme *s, const struct npu_gtensor *t,
		      struct npu_qrange *range)
{
	if (t->id >= s->num_tensors)	/* a copy */
		t = t->producer ? t->producer->inputs[0] : NULL;
	if (!t || t->data || t->id >= s->num_tensors || !s->group[s->group_of[t->id]].quant)
		return false;
	*range = s->group[s->group_of[t->id]].range;
	return true;
}
