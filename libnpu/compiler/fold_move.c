// SPDX-License-Identifier: MIT
/*
 * Evaluates operators that move elements, on constants. Parameters are in their resolved form
 * (shape.h).
 */
#include <string.h>

#include "compiler/fold.h"

static void copy_elem(struct npu_gtensor *out, size_t to, const struct npu_gtensor *x, size_t from)
{
	size_t size = npu_gtype_size(out->type);

	memcpy((char *)out->data + to * size, (const char *)x->data + from * size, size);
}

static void row_major(const struct npu_gtensor *t, int64_t *stride)
{
	int64_t step = 1;
	int i;

	for (i = t->rank - 1; i >= 0; i--) {
		stride[i] = step;
		step *= t->dim[i].base;
	}
}

/* Output element at[] comes from input element base + sum at[i] * stride[i]. */
static void copy_strided(struct npu_gtensor *out, const struct npu_gtensor *x, int64_t base,
			 const int64_t *stride)
{
	int64_t count = npu_gtensor_const_elems(out), i;
	struct npu_fold_walk w;

	npu_fold_walk_init(&w, out);
	w.operands = 1;
	memcpy(w.stride[0], stride, sizeof(w.stride[0]));
	for (i = 0; i < count; i++, npu_fold_walk_next(&w))
		copy_elem(out, (size_t)i, x, (size_t)(base + w.index[0]));
}

static bool fold_transpose(const struct npu_gnode *n, struct npu_gtensor *out)
{
	int64_t in[NPU_GRAPH_MAX_RANK], stride[NPU_GRAPH_MAX_RANK] = { 0 };
	size_t count, i;
	const int64_t *perm = npu_gnode_ints(n, "perm", &count);

	row_major(n->inputs[0], in);
	for (i = 0; i < count; i++)
		stride[i] = in[perm[i]];
	copy_strided(out, n->inputs[0], 0, stride);
	return true;
}

static bool fold_slice(const struct npu_gnode *n, struct npu_gtensor *out)
{
	int64_t stride[NPU_GRAPH_MAX_RANK] = { 0 }, base = 0;
	size_t count, same, i;
	const struct npu_dim *start = npu_gnode_dims(n, "starts", &count);
	const int64_t *step = npu_gnode_ints(n, "steps", &same);

	row_major(n->inputs[0], stride);
	for (i = 0; i < count && i < same; i++) {
		if (!npu_dim_is_const(start[i]))
			return false;
		base += start[i].base * stride[i];
		stride[i] *= step[i];
	}
	copy_strided(out, n->inputs[0], base, stride);
	return true;
}

static bool fold_split(const struct npu_gnode *n, struct npu_gtensor *const *outs)
{
	int64_t stride[NPU_GRAPH_MAX_RANK] = { 0 }, axis = npu_gnode_int(n, "axis", 0), base = 0;
	unsigned int i;

	row_major(n->inputs[0], stride);
	for (i = 0; i < n->num_outputs; i++) {
		if (!outs[i])
			return false;
		copy_strided(outs[i], n->inputs[0], base, stride);
		base += outs[i]->dim[axis].base * stride[axis];
	}
	return true;
}

static bool fold_expand(const struct npu_gnode *n, struct npu_gtensor *out)
{
	struct npu_fold_walk w;

	npu_fold_walk_init(&w, out);
	npu_fold_walk_operand(&w, n->inputs[0]);
	copy_strided(out, n->inputs[0], 0, w.stride[0]);
	return true;
}

static bool fold_tile(const struct npu_gnode *n, struct npu_gtensor *out)
{
	const struct npu_gtensor *x = n->inputs[0];
	int64_t stride[NPU_GRAPH_MAX_RANK], count = npu_gtensor_const_elems(out), i, from;
	struct npu_fold_walk w;
	int k;

	row_major(x, stride);
	npu_fold_walk_init(&w, out);
	for (i = 0; i < count; i++, npu_fold_walk_next(&w)) {
		for (from = 0, k = 0; k < x->rank; k++)
			from += w.at[k] % x->dim[k].base * stride[k];
		copy_elem(out, (size_t)i, x, (size_t)from);
	}
	return true;
}

static bool fold_concat(const struct npu_gnode *n, struct npu_gtensor *out)
{
	int64_t axis = npu_gnode_int(n, "axis", 0), outer = 1,
		row = (int64_t)npu_gtype_size(out->type), at = 0, o;
	unsigned int k;
	int i;

	for (i = 0; i < out->rank; i++) {
		if (i < axis)
			outer *= out->dim[i].base;
		else if (i > axis)
			row *= out->dim[i].base;
	}
	for (k = 0; k < n->num_inputs; k++) {
		const struct npu_gtensor *x = n->inputs[k];
		int64_t bytes = x->dim[axis].base * row;

		for (o = 0; o < outer && bytes; o++)
			memcpy((char *)out->data + o * out->dim[axis].base * row + at,
			       (const char *)x->data + o * bytes, (size_t)bytes);
		at += bytes;
	}
	return true;
}

static bool fold_gather(const struct npu_gnode *n, struct npu_gtensor *out)
{
	const struct npu_gtensor *x = n->inputs[0], *idx = n->inputs[1];
	int64_t axis = npu_gnode_int(n, "axis", 0), outer = 1, limit = x->dim[axis].base, picks, o,
		p;
	int64_t row = (int64_t)npu_gtype_size(out->type);
	int i;

	for (i = 0; i < x->rank; i++) {
		if (i < axis)
			outer *= x->dim[i].base;
		else if (i > axis)
			row *= x->dim[i].base;
	}
	picks = npu_gtensor_const_elems(idx);
	for (o = 0; o < outer; o++) {
		for (p = 0; p < picks; p++) {
			int64_t k = npu_gtensor_elem_int(idx, (size_t)p);

			k = k < 0 ? k + limit : k;
			if (k < 0 || k >= limit)
				return false;
			memcpy((char *)out->data + (o * picks + p) * row,
			       (const char *)x->data + (o * limit + k) * row, (size_t)row);
		}
	}
	return true;
}

static bool fold_pad(const struct npu_gnode *n, struct npu_gtensor *out)
{
	const struct npu_gtensor *x = n->inputs[0];
	int64_t stride[NPU_GRAPH_MAX_RANK], count = npu_gtensor_const_elems(out), i, from, at;
	size_t num;
	const int64_t *pads = npu_gnode_ints(n, "pads", &num);
	struct npu_fold_walk w;
	int k;

	if (strcmp(npu_gnode_string(n, "mode", ""), "constant"))
		return false;
	row_major(x, stride);
	npu_fold_walk_init(&w, out);
	for (i = 0; i < count; i++, npu_fold_walk_next(&w)) {
		for (from = 0, k = 0; k < x->rank; k++) {
			at = w.at[k] - pads[k];
			if (at < 0 || at >= x->dim[k].base)
				break;
			from += at * stride[k];
		}
		if (k < x->rank)
			npu_fold_put(out, (size_t)i, (double)npu_gnode_float(n, "value", 0));
		else
			copy_elem(out, (size_t)i, x, (size_t)from);
	}
	return true;
}

static bool fold_trilu(const struct npu_gnode *n, struct npu_gtensor *out)
{
	const struct npu_gtensor *x = n->inputs[0], *kt = npu_gnode_in(n, 1);
	int64_t count = npu_gtensor_const_elems(out), i, k = kt ? npu_gtensor_elem_int(kt, 0) : 0;
	bool upper = npu_gnode_int(n, "upper", 1) != 0;
	struct npu_fold_walk w;

	if (x->rank < 2)
		return false;
	npu_fold_walk_init(&w, out);
	for (i = 0; i < count; i++, npu_fold_walk_next(&w)) {
		int64_t off = w.at[w.rank - 1] - w.at[w.rank - 2];

		/* the constant was made zeroed */
		if (upper ? off >= k : off <= k)
			copy_elem(out, (size_t)i, x, (size_t)i);
	}
	return true;
}

bool npu_fold_move(const struct npu_gnode *n, struct npu_gtensor *const *outs)
{
	struct npu_gtensor *out = outs[0];

	switch (n->op) {
	case NPU_GOP_Reshape: case NPU_GOP_Flatten: case NPU_GOP_Squeeze: case NPU_GOP_Unsqueeze:
		memcpy((void *)out->data, n->inputs[0]->data, out->size);
		return true;
	case NPU_GOP_Transpose:
		return fold_transpose(n, out);
	case NPU_GOP_Slice:
		return fold_slice(n, out);
	case NPU_GOP_Split:
		return fold_split(n, outs);
	case NPU_GOP_Expand:
		return fold_expand(n, out);
	case NPU_GOP_Tile:
		return fold_tile(n, out);
	case NPU_GOP_Concat:
		return fold_concat(n, out);
	case NPU_GOP_Gather:
		return fold_gather(n, out);
	case NPU_GOP_Pad:
		return fold_pad(n, out);
	case NPU_GOP_Trilu:
		return fold_trilu(n, out);
	default:
		return false;
	}
}
