// SPDX-License-Identifier: MIT
/* The int8 form of a graph, and back. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

	u->input[u->num_inputs++] = (struct npu_qundo_input){ n, i, n->inputs[i] };
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

static struct npu_gtensor *const_like(struct npu_graph *g, const struct npu_gtensor *t,
				      enum npu_gtype type, const struct npu_gquant *q)
{
	int64_t dims[NPU_GRAPH_MAX_RANK];
	struct npu_gtensor *c;

	for (int i = 0; i < t->rank; i++)
		dims[i] = t->dim[i].base;
	c = npu_graph_const(g, t->name, type, t->rank, dims, NULL);
	if (c)
		c->quant = q;
	return c;
}

/* The weight of layer @k for inputs of @in_scale. The bias is rounded when it is lowered. */
static int make_weight(struct npu_scheme *s, unsigned int k, float in_scale, struct npu_diag *diag)
{
	struct npu_gnode *n = s->node[k];
	const struct npu_gtensor *w = n->inputs[1], *b = npu_gnode_in(n, 2);
	const int axis = npu_scheme_weight_axis(n);
	const struct npu_weight_shape shape = weight_shape(w, axis);
	float *scale = npu_arena_array(&s->arena, shape.channels, sizeof(*scale));
	int8_t *code = malloc(shape.outer * shape.channels * shape.inner);
	struct npu_qcached made = { .in_scale = in_scale };
	const struct npu_gquant *q = NULL;
	int err = scale && code ? 0 : -ENOMEM;

	if (!err && b && npu_gtensor_const_elems(b) != (int64_t)shape.channels)
		err = npu_diag_node(diag, -EINVAL, n, "bias", "it has %lld elements, expected %zu",
				    (long long)npu_gtensor_const_elems(b), shape.channels);
	if (!err && npu_weight_quantize(w->data, &shape, b ? b->data : NULL, in_scale, code, scale))
		err = npu_diag_node(diag, -EINVAL, n, w->name, "a weight or bias is not finite");
	if (!err) {
		q = npu_graph_quant_axis(s->g, axis, (unsigned int)shape.channels, scale, NULL);
		made.weight = q ? const_like(s->g, w, NPU_GT_I8, q) : NULL;
		err = made.weight ? 0 : -ENOMEM;
	}
	if (!err)
		memcpy((void *)(uintptr_t)made.weight->data, code, made.weight->size);
	free(code);
	if (!err)
		s->cache[k] = made;
	return err;
}

static int quantize_layer(struct npu_scheme *s, unsigned int k, struct npu_diag *diag)
{
	struct npu_gnode *n = s->node[k];
	float in_scale = n->inputs[0]->quant->scale;
	int err = 0;

	if (!s->cache[k].weight || s->cache[k].in_scale != in_scale)
		err = make_weight(s, k, in_scale, diag);
	if (!err)
		err = change_input(s, n, 1, s->cache[k].weight);
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
	n = npu_graph_insert(s->g, NPU_GOP_Cast, like, &t, 1, t);
	if (!n)
		return NULL;
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
			err = quantize_layer(s, k, diag);
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
