// SPDX-License-Identifier: MIT
/* Views: the same bytes under other dimensions. */
#include <errno.h>
#include <string.h>

#include "compiler/lower.h"

static bool is_one(struct npu_dim d)
{
	return d.sym == NPU_DIM_CONST && d.base == 1;
}

void npu_lview_permute(const struct npu_lview *v, const int *perm, struct npu_lview *out)
{
	struct npu_lview r = *v;

	for (int i = 0; i < v->rank; i++) {
		r.dim[i] = v->dim[perm[i]];
		r.stride[i] = v->stride[perm[i]];
	}
	*out = r;
}

void npu_lview_insert(struct npu_lview *v, int at)
{
	for (int i = v->rank; i > at; i--) {
		v->dim[i] = v->dim[i - 1];
		v->stride[i] = v->stride[i - 1];
	}
	v->dim[at] = npu_dim_const(1);
	v->stride[at] = npu_poly_const(0);
	v->rank++;
}

void npu_lview_drop(struct npu_lview *v, int at)
{
	v->rank--;
	for (int i = at; i < v->rank; i++) {
		v->dim[i] = v->dim[i + 1];
		v->stride[i] = v->stride[i + 1];
	}
}

void npu_lview_extend(const struct npu_lview *v, int rank, struct npu_lview *out)
{
	struct npu_lview r = *v;

	while (r.rank < rank)
		npu_lview_insert(&r, 0);
	*out = r;
}

int npu_lview_expand(const struct npu_lview *v, const struct npu_dim *dim, int rank,
		     struct npu_lview *out)
{
	struct npu_lview r;

	npu_lview_extend(v, rank, &r);
	for (int i = 0; i < rank; i++) {
		if (npu_dim_equal(r.dim[i], dim[i]))
			continue;
		if (!is_one(r.dim[i]))
			return -EINVAL;
		r.dim[i] = dim[i];
		r.stride[i] = npu_poly_const(0);
	}
	*out = r;
	return 0;
}

int npu_lview_dense(const struct npu_lower *l, struct npu_lview *v, const int *order, bool pad)
{
	struct npu_poly s = npu_poly_const(npu_dtype_bits(v->dtype) / 8);
	/* multiplied in when a larger stride is needed */
	struct npu_dim pending = npu_dim_const(1);

	for (int i = v->rank - 1; i >= 0; i--) {
		int d = order ? order[i] : i, err;
		bool product = false;

		v->stride[d] = npu_poly_const(0);
		if (is_one(v->dim[d]))
			continue;
		err = npu_poly_mul_dim(&s, pending, &s);
		if (err)
			return err;
		for (unsigned int k = 0; k < s.num_terms; k++)
			product |= s.term[k].b >= 0;
		if (product && pad)
			s = npu_poly_const(npu_poly_high(l->g, &s));
		v->stride[d] = s;
		pending = v->dim[d];
	}
	return 0;
}

bool npu_lview_same_elem(const struct npu_lview *a, const struct npu_lview *b)
{
	return a->dtype == b->dtype && a->scale == b->scale && a->zero_point == b->zero_point;
}

bool npu_lview_same_place(const struct npu_lview *a, const struct npu_lview *b)
{
	if (a->buf != b->buf || !npu_lview_same_elem(a, b) || a->rank != b->rank ||
	    a->layout != b->layout || !npu_poly_equal(&a->offset, &b->offset))
		return false;
	for (int i = 0; i < a->rank; i++) {
		if (!npu_dim_equal(a->dim[i], b->dim[i]))
			return false;
		if (!is_one(a->dim[i]) && !npu_poly_equal(&a->stride[i], &b->stride[i]))
			return false;
	}
	return true;
}

int64_t npu_lview_bytes(const struct npu_lower *l, const struct npu_lview *v)
{
	int64_t n = npu_dtype_bits(v->dtype) / 8;

	for (int i = 0; i < v->rank; i++)
		if (__builtin_mul_overflow(n, npu_dim_high(l->g, v->dim[i]), &n))
			return INT64_MAX;
	return n;
}

int npu_lview_slice(const struct npu_lview *v, const struct npu_dim *start, const int64_t *step,
		    const struct npu_dim *dim, struct npu_lview *out)
{
	struct npu_lview r = *v;
	int err = 0;

	for (int i = 0; i < v->rank && !err; i++) {
		struct npu_poly skip;

		r.dim[i] = dim[i];
		if (step && step[i] < 1)
			return -EDOM;
		err = npu_poly_mul_dim(&v->stride[i], start[i], &skip);
		if (!err)
			err = npu_poly_add(&r.offset, &skip, &r.offset);
		if (!err && step)
			err = npu_poly_scale(&v->stride[i], step[i], &r.stride[i]);
	}
	if (!err)
		*out = r;
	return err;
}

/* Product of the dims of one group, as a polynomial. */
static int group_mul(struct npu_poly *p, struct npu_dim d)
{
	return npu_poly_mul_dim(p, d, p);
}

/* The dimensions [i0, i1) of @v lie one behind the other without gaps. */
static bool group_contiguous(const struct npu_lview *v, int i0, int i1)
{
	for (int i = i0; i + 1 < i1; i++) {
		struct npu_poly s;

		if (npu_poly_mul_dim(&v->stride[i + 1], v->dim[i + 1], &s) ||
		    !npu_poly_equal(&s, &v->stride[i]))
			return false;
	}
	return true;
}

/* Dimensions [j0, j1) of @out, which hold the elements whose innermost stride is @inner. */
static int group_split(struct npu_lview *out, int j0, int j1, struct npu_poly inner)
{
	for (int j = j1 - 1; j >= j0; j--) {
		int err;

		out->stride[j] = inner;
		err = j > j0 ? group_mul(&inner, out->dim[j]) : 0;
		if (err)
			return err;
	}
	return 0;
}

/* Copies of @v without, and indices in @out of, the dimensions that are not 1. */
static int squeeze_dims(const struct npu_dim *dim, int rank, int *index)
{
	int n = 0;

	for (int i = 0; i < rank; i++)
		if (!is_one(dim[i]))
			index[n++] = i;
	return n;
}

int npu_lview_reshape(const struct npu_lower *l, const struct npu_lview *v,
		      const struct npu_dim *dim, int rank, struct npu_lview *out)
{
	struct npu_lview a = *v, b = *v, r = *v;
	int ia[NPU_GRAPH_MAX_RANK], ib[NPU_GRAPH_MAX_RANK];
	int na = squeeze_dims(v->dim, v->rank, ia), nb = squeeze_dims(dim, rank, ib);
	int i = 0, j = 0;

	for (int k = 0; k < na; k++) {
		a.dim[k] = v->dim[ia[k]];
		a.stride[k] = v->stride[ia[k]];
	}
	for (int k = 0; k < nb; k++)
		b.dim[k] = dim[ib[k]];
	while (i < na && j < nb) {
		struct npu_poly pa = npu_poly_dim(a.dim[i]), pb = npu_poly_dim(b.dim[j]);
		int i1 = i + 1, j1 = j + 1, err = 0;

		while (!err && !npu_poly_equal(&pa, &pb)) {
			if (npu_poly_high(l->g, &pa) < npu_poly_high(l->g, &pb))
				err = i1 < na ? group_mul(&pa, a.dim[i1++]) : -EDOM;
			else
				err = j1 < nb ? group_mul(&pb, b.dim[j1++]) : -EDOM;
		}
		if (!err && !group_contiguous(&a, i, i1))
			err = -EDOM;
		if (!err)
			err = group_split(&b, j, j1, a.stride[i1 - 1]);
		if (err)
			return err;
		i = i1;
		j = j1;
	}
	if (i < na || j < nb)
		return -EDOM;
	r.rank = rank;
	for (int k = 0; k < rank; k++) {
		r.dim[k] = dim[k];
		r.stride[k] = npu_poly_const(0);
	}
	for (int k = 0; k < nb; k++)
		r.stride[ib[k]] = b.stride[k];
	*out = r;
	return 0;
}

/* Dimensions @i and @i + 1 of every view may be one. */
static bool can_merge(struct npu_lview **view, unsigned int count, int i)
{
	for (unsigned int k = 0; k < count; k++) {
		const struct npu_lview *v = view[k];
		bool one = is_one(v->dim[i]), next_one = is_one(v->dim[i + 1]);
		struct npu_poly s;

		if (one != next_one)
			return false;	/* repeated along one of the two only */
		if (one)
			continue;
		if (!npu_dim_is_const(v->dim[i]) && !npu_dim_is_const(v->dim[i + 1]))
			return false;	/* the product would not be linear */
		if (npu_poly_mul_dim(&v->stride[i + 1], v->dim[i + 1], &s) ||
		    !npu_poly_equal(&s, &v->stride[i]))
			return false;
	}
	return true;
}

static bool all_one(struct npu_lview **view, unsigned int count, int i)
{
	for (unsigned int k = 0; k < count; k++)
		if (!is_one(view[k]->dim[i]))
			return false;
	return true;
}

static bool merge_at(struct npu_lview **view, unsigned int count, int i)
{
	struct npu_dim merged[NPU_MAX_OPERANDS];

	for (unsigned int k = 0; k < count; k++)
		if (npu_dim_mul(view[k]->dim[i], view[k]->dim[i + 1], &merged[k]))
			return false;
	for (unsigned int k = 0; k < count; k++) {
		view[k]->stride[i] = view[k]->stride[i + 1];
		view[k]->dim[i] = merged[k];
		for (int d = i + 1; d + 1 < view[k]->rank; d++) {
			view[k]->dim[d] = view[k]->dim[d + 1];
			view[k]->stride[d] = view[k]->stride[d + 1];
		}
		view[k]->rank--;
	}
	return true;
}

/* Insertion sort by falling stride, stable; sizes of 1 first, dimension @channel last. */
static void order_dims(const struct npu_lower *l, const struct npu_lview *v, int channel, int *perm)
{
	int64_t key[NPU_GRAPH_MAX_RANK];

	for (int i = 0; i < v->rank; i++) {
		int k = i;

		key[i] = i == channel	   ? -1 :
			 is_one(v->dim[i]) ? INT64_MAX :
					     npu_poly_high(l->g, &v->stride[i]);
		for (; k > 0 && key[perm[k - 1]] < key[i]; k--)
			perm[k] = perm[k - 1];
		perm[k] = i;
	}
}

void npu_lview_order(const struct npu_lower *l, const struct npu_lview *v, int *perm)
{
	order_dims(l, v, -1, perm);
}

void npu_lview_canonical(const struct npu_lower *l, struct npu_lview **view, unsigned int count,
			 int channel)
{
	int perm[NPU_GRAPH_MAX_RANK], last;

	order_dims(l, view[0], channel, perm);
	for (unsigned int k = 0; k < count; k++)
		npu_lview_permute(view[k], perm, view[k]);
	last = channel >= 0 ? 1 : 0;
	for (int i = 0; i < view[0]->rank - last;) {
		if (!all_one(view, count, i)) {
			i++;
			continue;
		}
		if (view[0]->rank == 1)
			break;
		for (unsigned int k = 0; k < count; k++)
			npu_lview_drop(view[k], i);
	}
	for (int i = 0; i + 1 < view[0]->rank - last;)
		if (!can_merge(view, count, i) || !merge_at(view, count, i))
			i++;
}
