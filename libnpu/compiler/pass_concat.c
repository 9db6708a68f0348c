// SPDX-License-Identifier: MIT
/*
 * Concat of Concat along one axis is one Concat, an empty part of one is dropped, Slice of Slice is
 * one Slice.
 */
#include <errno.h>

#include "compiler/dims.h"
#include "compiler/pass.h"

static bool empty_part(const struct npu_gtensor *t, int64_t axis)
{
	return npu_dim_equal(t->dim[axis], npu_dim_const(0));
}

static bool nested(const struct npu_gnode *n, const struct npu_gtensor *t, int64_t axis)
{
	const struct npu_gnode *p = t->producer;

	return p && p->op == NPU_GOP_Concat && npu_gnode_int(p, "axis", 0) == axis &&
	       npu_gtensor_only_consumer(t) == n;
}

static unsigned int flat_inputs(const struct npu_gnode *n, struct npu_gtensor **list)
{
	int64_t axis = npu_gnode_int(n, "axis", 0);
	unsigned int i, k, count = 0;

	for (i = 0; i < n->num_inputs; i++) {
		const struct npu_gnode *p = n->inputs[i]->producer;
		bool deep = nested(n, n->inputs[i], axis);

		for (k = 0; k < (deep ? p->num_inputs : 1); k++) {
			struct npu_gtensor *t = deep ? p->inputs[k] : n->inputs[i];

			if (empty_part(t, axis))
				continue;
			if (list)
				list[count] = t;
			count++;
		}
	}
	return count;
}

/* Inner ones come first in execution order and are flat already when the outer one is looked at. */
static int merge_concat(struct npu_graph *g, struct npu_gnode *n)
{
	int64_t axis = npu_gnode_int(n, "axis", 0);
	unsigned int count = flat_inputs(n, NULL), i;
	struct npu_gtensor **list;
	struct npu_gnode *made;
	bool changed = count != n->num_inputs;

	for (i = 0; i < n->num_inputs; i++)
		changed |= nested(n, n->inputs[i], axis);
	if (!changed || !count)
		return 0;
	list = npu_arena_array(&g->arena, count, sizeof(*list));
	if (!list)
		return -ENOMEM;
	flat_inputs(n, list);
	if (count == 1) {
		if (npu_graph_replace(g, n->outputs[0], list[0]))
			return -ENOMEM;
		npu_graph_remove(g, n);
		return 0;
	}
	made = npu_graph_insert(g, NPU_GOP_Concat, n, list, count, n->outputs[0]);
	if (!made || npu_gnode_set_int(g, made, "axis", axis))
		return -ENOMEM;
	for (i = 0; i < n->num_inputs; i++)
		if (nested(n, n->inputs[i], axis) &&
		    npu_gnode_take_sources(g, made, n->inputs[i]->producer))
			return -ENOMEM;
	return npu_graph_substitute(g, n, made);
}

/* x[a : : s][b : : t] = x[a + b * s : : s * t] */
static int merge_slice(struct npu_graph *g, struct npu_gnode *n)
{
	struct npu_gnode *p = n->inputs[0]->producer;
	struct npu_dim start[NPU_GRAPH_MAX_RANK], off;
	int64_t step[NPU_GRAPH_MAX_RANK];
	const struct npu_dim *a, *b;
	const int64_t *s, *t;
	unsigned int backwards = 0;
	size_t rank, i;

	if (!p || p->op != NPU_GOP_Slice)
		return 0;
	a = npu_gnode_dims(p, "starts", &rank);
	b = npu_gnode_dims(n, "starts", &rank);
	s = npu_gnode_ints(p, "steps", &rank);
	t = npu_gnode_ints(n, "steps", &rank);
	for (i = 0; i < rank; i++)
		if (npu_dim_scale(b[i], s[i], &off) || npu_dim_add(a[i], off, &start[i]) ||
		    __builtin_mul_overflow(s[i], t[i], &step[i]) || step[i] > INT32_MAX ||
		    step[i] < -INT32_MAX)
			return 0;
	/* the canon pass took these apart: an instruction runs backwards along one */
	for (i = 0; i < rank; i++)
		backwards += step[i] < 0 && !npu_dim_equal(n->outputs[0]->dim[i], npu_dim_const(1));
	if (backwards > 1)
		return 0;
	if (npu_gnode_set_dims(g, n, "starts", start, rank) ||
	    npu_gnode_set_ints(g, n, "steps", step, rank) || npu_gnode_take_sources(g, n, p))
		return -ENOMEM;
	return npu_gnode_set_input(g, n, 0, p->inputs[0]);
}

int npu_pass_concat(struct npu_graph *g, struct npu_diag *diag)
{
	unsigned int i, count = g->num_nodes;
	int err = 0;

	for (i = 0; i < count && !err; i++) {
		struct npu_gnode *n = g->nodes[i];

		if (!n->dead && n->op == NPU_GOP_Concat)
			err = merge_concat(g, n);
		else if (!n->dead && n->op == NPU_GOP_Slice)
			err = merge_slice(g, n);
	}
	if (!err)
		err = npu_graph_sort(g, diag);
	if (!err)
		npu_graph_sweep(g);
	return err;
}
