// SPDX-License-Identifier: MIT
/*
 * Types, shapes and constants in one walk: a shape may depend on a folded constant and a fold on a shape, so each
 * node is inferred and, when everything it reads is known, evaluated before the next one is looked at.
 */
#include <errno.h>
#include <string.h>

#include "compiler/fold.h"
#include "compiler/pass.h"
#include "compiler/shape.h"

static int check_inputs(struct npu_graph *g, struct npu_diag *diag)
{
	unsigned int i;
	int k, err = 0;
	double elems;

	for (i = 0; i < g->num_inputs; i++) {
		const struct npu_gtensor *t = g->inputs[i];

		for (elems = 1, k = 0; k < t->rank; k++)
			elems *= (double)npu_dim_high(g, t->dim[k]);
		if (elems > NPU_SHAPE_ELEMS_MAX)
			err = npu_diag_add(diag, -EOPNOTSUPP, t->name, "input of up to %.3g elements, at most %.3g are supported",
					   elems, NPU_SHAPE_ELEMS_MAX);
		if (t->rank < 0)
			err = npu_diag_add(diag, -EINVAL, t->name, "the model gives this input no shape: bind one");
		for (k = 0; k < t->rank; k++)
			if (t->dim[k].sym == NPU_DIM_UNKNOWN)
				err = npu_diag_add(diag, -EINVAL, t->name,
						   "dimension %d is dynamic in the model: bind a size or a symbol with bounds", k);
	}
	return err;
}

/* Followed values that turned out constant become data. */
static int materialize(struct npu_graph *g, struct npu_gnode *n)
{
	struct npu_gtensor *t;
	unsigned int k, made = 0;
	size_t i;

	for (k = 0; k < n->num_outputs; k++) {
		t = n->outputs[k];
		if (!t)
			continue;
		for (i = 0; t->value && i < t->num_values && npu_dim_is_const(t->value[i]); i++)
			;
		if (!t->data && t->value && i == t->num_values && npu_gtype_size(t->type)) {
			t->size = i * npu_gtype_size(t->type);
			t->data = npu_arena_alloc(&g->arena, t->size ? t->size : 1);
			if (!t->data)
				return -ENOMEM;
			for (i = 0; i < t->num_values; i++)
				npu_fold_put_int(t, i, t->value[i].base);
		}
		made += t->data != NULL;
	}
	if (made == n->num_outputs)
		npu_graph_remove(g, n);
	return 0;
}

static bool inputs_known(const struct npu_gnode *n)
{
	unsigned int i;

	for (i = 0; i < n->num_inputs; i++)
		if (n->inputs[i] && (n->inputs[i]->rank < 0 || n->inputs[i]->type == NPU_GT_NONE))
			return false;
	return true;
}

static int infer_node(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag)
{
	struct npu_shape s = { g, diag, n };
	int err;

	/* what follows from a refused node is no news */
	if (!inputs_known(n))
		return 0;
	err = npu_shape_node(&s);
	if (err)
		return err;
	err = npu_value_node(&s);
	if (!err)
		err = materialize(g, n);
	if (!err && !n->dead)
		err = npu_fold_node(g, n);
	return err < 0 ? err : 0;
}

int npu_pass_infer(struct npu_graph *g, struct npu_diag *diag)
{
	unsigned int i;
	int err, first;

	first = check_inputs(g, diag);
	for (i = 0; i < g->num_nodes && !first; i++)
		if (!g->nodes[i]->num_outputs)
			npu_graph_remove(g, g->nodes[i]);
	if (first)
		return first;
	for (i = 0; i < g->num_nodes; i++) {
		err = g->nodes[i]->dead ? 0 : infer_node(g, g->nodes[i], diag);
		first = first ? first : err;
		if (err == -ENOMEM)
			break;
	}
	return first;
}
