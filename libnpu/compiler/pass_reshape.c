// SPDX-License-Identifier: MIT
/*
 * Reshape and Transpose: neighbours merge, inverse ones cancel, a transpose that only moves
 * dimensions of 1 is a reshape, and transposes sink through element-wise operators so that they can
 * meet their inverse.
 */
#include <errno.h>
#include <string.h>

#include "compiler/fold.h"
#include "compiler/pass.h"

static bool identity_perm(const int64_t *perm, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (perm[i] != (int64_t)i)
			return false;
	return true;
}

static int bypass(struct npu_graph *g, struct npu_gnode *n)
{
	int err = npu_graph_replace(g, n->outputs[0], n->inputs[0]);

	if (!err)
		npu_graph_remove(g, n);
	return err ? err : 1;
}

/* Reshape of a reshape reads the first one's input; one that changes nothing goes. */
static int merge_reshape(struct npu_graph *g, struct npu_gnode *n)
{
	struct npu_gnode *p = n->inputs[0]->producer;
	int err;

	if (npu_gtensor_same_shape(n->inputs[0], n->outputs[0]))
		return bypass(g, n);
	if (!p || p->op != NPU_GOP_Reshape)
		return 0;
	err = npu_gnode_take_sources(g, n, p);
	if (!err)
		err = npu_gnode_set_input(g, n, 0, p->inputs[0]);
	return err ? err : 1;
}

/* True when the dimensions other than 1 keep their order. */
static bool moves_ones_only(const struct npu_gnode *n, const int64_t *perm, size_t count)
{
	int64_t last = -1;
	size_t i;

	for (i = 0; i < count; i++) {
		if (npu_dim_equal(n->inputs[0]->dim[perm[i]], npu_dim_const(1)))
			continue;
		if (perm[i] < last)
			return false;
		last = perm[i];
	}
	return true;
}

static int merge_transpose(struct npu_graph *g, struct npu_gnode *n)
{
	struct npu_gnode *p = n->inputs[0]->producer;
	int64_t both[NPU_GRAPH_MAX_RANK];
	size_t count, i;
	const int64_t *perm = npu_gnode_ints(n, "perm", &count), *first;
	int err;

	if (identity_perm(perm, count))
		return bypass(g, n);
	if (moves_ones_only(n, perm, count)) {
		n->op = NPU_GOP_Reshape;
		n->num_attrs = 0;
		return 1;
	}
	if (!p || p->op != NPU_GOP_Transpose)
		return 0;
	first = npu_gnode_ints(p, "perm", &count);
	for (i = 0; i < count; i++)
		both[i] = first[perm[i]];
	err = npu_gnode_set_ints(g, n, "perm", both, count);
	if (!err)
		err = npu_gnode_take_sources(g, n, p);
	if (!err)
		err = npu_gnode_set_input(g, n, 0, p->inputs[0]);
	return err ? err : 1;
}

static bool sinks_unary(const struct npu_gnode *n)
{
	if (n->op == NPU_GOP_Activation)
		return n->ep.act.kind != NPU_GA_PRELU;
	return npu_gnode_info(n)->family == NPU_GF_UNARY && n->num_inputs == 1 &&
	       npu_gnode_plain(n);
}

static bool sinks_binary(const struct npu_gnode *n)
{
	return (npu_gnode_info(n)->family == NPU_GF_BINARY ||
		npu_gnode_info(n)->family == NPU_GF_VARIADIC) &&
	       n->num_inputs == 2 && npu_gnode_plain(n);
}

/* f(T(x)) -> T(f(x)): @n computes before the transpose, whose result takes the place of @n's. */
static int swap(struct npu_graph *g, struct npu_gnode *n, const struct npu_gnode *t,
		const int64_t *perm, size_t count)
{
	struct npu_gtensor *y = n->outputs[0], *mid = npu_graph_tensor(g, NULL, y->name, y->type);
	struct npu_gnode *after;
	size_t i;

	if (!mid)
		return -ENOMEM;
	mid->rank = (int)count;
	for (i = 0; i < count; i++)
		mid->dim[perm[i]] = y->dim[i];
	n->outputs[0] = mid;
	mid->producer = n;
	after = npu_graph_node(g, NPU_GOP_Transpose, NULL, &mid, 1, &y, 1);
	if (!after || npu_gnode_set_ints(g, after, "perm", perm, count) ||
	    npu_gnode_take_sources(g, after, t))
		return -ENOMEM;
	after->model_op = t->model_op;
	return 1;
}

static int sink_unary(struct npu_graph *g, struct npu_gnode *n)
{
	struct npu_gnode *t = n->inputs[0]->producer;
	size_t count;
	const int64_t *perm;

	if (!t || t->op != NPU_GOP_Transpose || npu_gtensor_only_consumer(n->inputs[0]) != n)
		return 0;
	perm = npu_gnode_ints(t, "perm", &count);
	if (npu_gnode_set_input(g, n, 0, t->inputs[0]))
		return -ENOMEM;
	return swap(g, n, t, perm, count);
}

static bool same_perm(const struct npu_gnode *a, const struct npu_gnode *b)
{
	size_t na, nb;
	const int64_t *pa = npu_gnode_ints(a, "perm", &na), *pb = npu_gnode_ints(b, "perm", &nb);

	return na == nb && !memcmp(pa, pb, na * sizeof(*pa));
}

static struct npu_gnode *own_transpose(const struct npu_gnode *n, unsigned int i)
{
	struct npu_gnode *t = n->inputs[i]->producer;

	return t && t->op == NPU_GOP_Transpose && npu_gtensor_only_consumer(n->inputs[i]) == n ?
		       t :
		       NULL;
}

/* Both operands are transposed alike, or the other one is a single constant. */
static int sink_binary(struct npu_graph *g, struct npu_gnode *n)
{
	struct npu_gnode *a = own_transpose(n, 0), *b = own_transpose(n, 1), *t = a ? a : b;
	bool scalar_a = npu_gtensor_is_const(n->inputs[0]) &&
			npu_gtensor_const_elems(n->inputs[0]) == 1;
	bool scalar_b = npu_gtensor_is_const(n->inputs[1]) &&
			npu_gtensor_const_elems(n->inputs[1]) == 1;
	size_t count;
	const int64_t *perm;

	if (!t || !((a && b && same_perm(a, b)) || (a && scalar_b) || (b && scalar_a)) ||
	    n->outputs[0]->rank != t->outputs[0]->rank)
		return 0;
	perm = npu_gnode_ints(t, "perm", &count);
	if ((a && npu_gnode_set_input(g, n, 0, a->inputs[0])) ||
	    (b && npu_gnode_set_input(g, n, 1, b->inputs[0])))
		return -ENOMEM;
	return swap(g, n, t, perm, count);
}

static int sink_concat(struct npu_graph *g, struct npu_gnode *n)
{
	int64_t axis = npu_gnode_int(n, "axis", 0);
	struct npu_gnode *t = own_transpose(n, 0), *other;
	size_t count;
	const int64_t *perm;
	unsigned int i;

	for (i = 0; i < n->num_inputs; i++) {
		other = own_transpose(n, i);
		if (!t || !other || !same_perm(t, other))
			return 0;
	}
	perm = npu_gnode_ints(t, "perm", &count);
	for (i = 0; i < n->num_inputs; i++)
		if (npu_gnode_set_input(g, n, i, n->inputs[i]->producer->inputs[0]))
			return -ENOMEM;
	if (npu_gnode_set_int(g, n, "axis", perm[axis]))
		return -ENOMEM;
	return swap(g, n, t, perm, count);
}

static int step(struct npu_graph *g, struct npu_gnode *n)
{
	if (n->op == NPU_GOP_Reshape)
		return merge_reshape(g, n);
	if (n->op == NPU_GOP_Transpose)
		return merge_transpose(g, n);
	if (n->op == NPU_GOP_Concat)
		return sink_concat(g, n);
	if (sinks_unary(n))
		return sink_unary(g, n);
	return sinks_binary(n) ? sink_binary(g, n) : 0;
}

int npu_pass_reshape(struct npu_graph *g, struct npu_diag *diag)
{
	unsigned int i, round;
	int did, any = 1, err;

	/*
	 * each round moves transposes past what follows them; the number of rounds is bounded by
	 * the chain's length
	 */
	for (round = 0; any && round < 1000; round++) {
		any = 0;
		for (i = 0; i < g->num_nodes; i++) {
			if (g->nodes[i]->dead)
				continue;
			did = step(g, g->nodes[i]);
			if (did < 0)
				return did;
			any |= did;
		}
		err = npu_graph_sort(g, diag);
		if (err)
			return err;
		npu_graph_sweep(g);
	}
	return 0;
}
