// SPDX-License-Identifier: MIT
/*
 * Einsum of one tensor is a sum and a transposition; of two it is a matrix product: letters that
 * only one operand has and the result has not are summed first, then both are brought to [common,
 * own, summed] and [common, summed, own] with each group merged to one dimension.
 */
#include <errno.h>
#include <string.h>

#include "compiler/dims.h"
#include "compiler/fold.h"
#include "compiler/pass_canon.h"
#include "host/einsum.h"

struct term {
	struct npu_gtensor *t;
	int label[NPU_GRAPH_MAX_RANK];
};

struct letters {
	int label[NPU_EINSUM_LABELS];
	int count;
};

static int find_label(const int *label, int count, int wanted)
{
	int i;

	for (i = 0; i < count; i++)
		if (label[i] == wanted)
			return i;
	return -1;
}

/* A node on @in whose result has these dims; the model node is counted with the product. */
static struct npu_gtensor *view(struct npu_graph *g, const struct npu_gnode *from, enum npu_gop op,
				struct npu_gtensor *in, const struct npu_dim *dim, int rank,
				struct npu_gnode **made)
{
	struct npu_gnode *n = npu_graph_insert(g, op, from, &in, 1, in);

	if (!n)
		return NULL;
	n->num_sources = 0;
	n->outputs[0]->rank = rank;
	memcpy(n->outputs[0]->dim, dim, (size_t)rank * sizeof(*dim));
	*made = n;
	return n->outputs[0];
}

/* Sum over the letters that neither the other term nor the result has. */
static int sum_own(struct npu_graph *g, const struct npu_gnode *from, struct term *a,
		   const struct term *b, const struct letters *result)
{
	int64_t axes[NPU_GRAPH_MAX_RANK];
	struct npu_dim dim[NPU_GRAPH_MAX_RANK];
	int label[NPU_GRAPH_MAX_RANK], rank = 0, sums = 0, i;
	struct npu_gnode *made;

	for (i = 0; i < a->t->rank; i++) {
		if (find_label(result->label, result->count, a->label[i]) < 0 &&
		    (!b || find_label(b->label, b->t->rank, a->label[i]) < 0)) {
			axes[sums++] = i;
			continue;
		}
		label[rank] = a->label[i];
		dim[rank++] = a->t->dim[i];
	}
	if (!sums)
		return 0;
	a->t = view(g, from, NPU_GOP_ReduceSum, a->t, dim, rank, &made);
	if (!a->t || npu_gnode_set_ints(g, made, "axes", axes, (size_t)sums) ||
	    npu_gnode_set_int(g, made, "keepdims", 0))
		return -ENOMEM;
	memcpy(a->label, label, sizeof(label));
	return 0;
}

/* Bring the dims of @t into the order of @order; labels are those of @a. */
static struct npu_gtensor *transpose(struct npu_graph *g, const struct npu_gnode *from,
				     const struct term *a, const struct letters *order)
{
	int64_t perm[NPU_GRAPH_MAX_RANK];
	struct npu_dim dim[NPU_GRAPH_MAX_RANK];
	struct npu_gtensor *out;
	struct npu_gnode *made;
	bool same = true;
	int i;

	for (i = 0; i < order->count; i++) {
		perm[i] = find_label(a->label, a->t->rank, order->label[i]);
		dim[i] = a->t->dim[perm[i]];
		same &= perm[i] == i;
	}
	if (same)
		return a->t;
	out = view(g, from, NPU_GOP_Transpose, a->t, dim, order->count, &made);
	return out && !npu_gnode_set_ints(g, made, "perm", perm, (size_t)order->count) ? out : NULL;
}

static void add_letters(struct letters *to, const struct letters *from)
{
	int i;

	for (i = 0; i < from->count; i++)
		to->label[to->count++] = from->label[i];
}

/* Product of the dims that carry these letters; false when it is not linear in one length. */
static bool merged(const struct term *a, const struct letters *l, struct npu_dim *out)
{
	int i;

	*out = npu_dim_const(1);
	for (i = 0; i < l->count; i++)
		if (npu_dim_mul(*out, a->t->dim[find_label(a->label, a->t->rank, l->label[i])],
				out))
			return false;
	return true;
}

struct groups {
	struct letters both, own_a, own_b,
		sum; /* in both and the result; in one and it; in both only */
};

static void group(const struct term *a, const struct term *b, const struct letters *result,
		  struct groups *s)
{
	int i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < result->count; i++) {
		bool in_a = find_label(a->label, a->t->rank, result->label[i]) >= 0;
		bool in_b = find_label(b->label, b->t->rank, result->label[i]) >= 0;
		struct letters *l = in_a && in_b ? &s->both : in_a ? &s->own_a : &s->own_b;

		l->label[l->count++] = result->label[i];
	}
	for (i = 0; i < a->t->rank; i++)
		if (find_label(result->label, result->count, a->label[i]) < 0)
			s->sum.label[s->sum.count++] = a->label[i];
}

/* Operand @a as [both, first, second]. */
static struct npu_gtensor *operand(struct npu_graph *g, const struct npu_gnode *from,
				   const struct term *a, const struct letters *both,
				   const struct letters *first, const struct letters *second,
				   int *err)
{
	struct letters order = { .count = 0 };
	struct npu_dim dim[3];
	struct npu_gtensor *t;
	struct npu_gnode *made;

	*err = -EDOM;
	if (!merged(a, both, &dim[0]) || !merged(a, first, &dim[1]) || !merged(a, second, &dim[2]))
		return NULL;
	*err = -ENOMEM;
	add_letters(&order, both);
	add_letters(&order, first);
	add_letters(&order, second);
	t = transpose(g, from, a, &order);
	t = t ? view(g, from, NPU_GOP_Reshape, t, dim, 3, &made) : NULL;
	*err = t ? 0 : -ENOMEM;
	return t;
}

/* The product's result, [both, own_a, own_b], in the order of the equation. */
static int finish(struct npu_graph *g, struct npu_gnode *n, struct npu_gtensor *t,
		  const struct groups *s, const struct letters *result)
{
	struct term whole = { .t = t };
	struct letters order = { .count = 0 };
	struct npu_dim dim[NPU_GRAPH_MAX_RANK];
	struct npu_gnode *made;
	int i;

	add_letters(&order, &s->both);
	add_letters(&order, &s->own_a);
	add_letters(&order, &s->own_b);
	for (i = 0; i < order.count; i++) {
		whole.label[i] = order.label[i];
		dim[i] = n->outputs[0]
				 ->dim[find_label(result->label, result->count, order.label[i])];
	}
	whole.t = view(g, n, NPU_GOP_Reshape, t, dim, order.count, &made);
	whole.t = whole.t ? transpose(g, n, &whole, result) : NULL;
	return whole.t ? npu_graph_substitute(g, n, whole.t->producer) : -ENOMEM;
}

static int product(struct npu_graph *g, struct npu_gnode *n, struct term *a, struct term *b,
		   const struct letters *result, struct npu_diag *diag)
{
	struct npu_gtensor *in[2];
	struct npu_gnode *mm;
	struct groups s;
	int err;

	group(a, b, result, &s);
	in[0] = operand(g, n, a, &s.both, &s.own_a, &s.sum, &err);
	in[1] = err ? NULL : operand(g, n, b, &s.both, &s.sum, &s.own_b, &err);
	if (err == -EDOM)
		return npu_diag_node(diag, -EOPNOTSUPP, n, "equation",
				     "a merged dimension mixes run-time lengths");
	mm = err ? NULL : npu_graph_insert(g, NPU_GOP_MatMul, n, in, 2, in[0]);
	if (!mm)
		return -ENOMEM;
	mm->outputs[0]->dim[2] = in[1]->dim[2];
	return finish(g, n, mm->outputs[0], &s, result);
}

/* Diagonals and sizes of 1 that stand for any are no product of matrices. */
static const char *beyond(const struct npu_gnode *n, const struct npu_einsum *e)
{
	struct npu_dim size[NPU_EINSUM_LABELS];
	bool seen[NPU_EINSUM_LABELS] = { false };
	int i, k;

	if (n->num_inputs > 2)
		return "more than two inputs";
	if (!npu_fold_is_float(n->inputs[0]->type))
		return "integers";
	for (i = 0; i <= e->num_terms; i++) {
		int term = i < e->num_terms ? i : NPU_EINSUM_RESULT;

		for (k = 0; k < e->rank[term]; k++) {
			int l = e->label[term][k];
			struct npu_dim d =
				i < e->num_terms ? n->inputs[i]->dim[k] : n->outputs[0]->dim[k];

			if (find_label(e->label[term], k, l) >= 0)
				return "a letter twice in one term";
			if (seen[l] && !npu_dim_equal(d, size[l]))
				return "a size of 1 stands for another";
			size[l] = d;
			seen[l] = true;
		}
	}
	return NULL;
}

int npu_canon_einsum(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag)
{
	int rank[NPU_EINSUM_TERMS] = { 0 }, err = 0;
	struct letters result = { .count = 0 };
	struct term term[2] = { { .t = NULL } };
	struct npu_einsum e;
	const char *why;
	unsigned int i;

	for (i = 0; i < n->num_inputs && i < NPU_EINSUM_TERMS; i++)
		rank[i] = n->inputs[i]->rank;
	if (!npu_einsum_parse(&e, npu_gnode_string(n, "equation", ""), (int)n->num_inputs, rank))
		return npu_diag_node(diag, -EINVAL, n, "equation", "it does not fit the inputs");
	why = beyond(n, &e);
	if (why)
		return npu_diag_node(diag, -EOPNOTSUPP, n, "equation", "%s", why);
	result.count = e.rank[NPU_EINSUM_RESULT];
	memcpy(result.label, e.label[NPU_EINSUM_RESULT], sizeof(e.label[0]));
	for (i = 0; i < n->num_inputs; i++) {
		term[i].t = n->inputs[i];
		memcpy(term[i].label, e.label[i], sizeof(e.label[0]));
	}
	for (i = 0; i < n->num_inputs && !err; i++)
		err = sum_own(g, n, &term[i], n->num_inputs > 1 ? &term[1 - i] : NULL, &result);
	if (err)
		return err;
	if (n->num_inputs == 2)
		return product(g, n, &term[0], &term[1], &result, diag);
	term[0].t = transpose(g, n, &term[0], &result);
	if (!term[0].t)
		return -ENOMEM;
	err = npu_graph_replace(g, n->outputs[0], term[0].t);
	if (!err)
		npu_graph_remove(g, n);
	return err;
}
