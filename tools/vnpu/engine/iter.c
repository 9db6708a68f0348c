// SPDX-License-Identifier: MIT
#include "iter.h"

struct npu_elem npu_elem_of(const struct npu_operand *op)
{
	struct npu_elem e = {
		.dtype = op->dtype,
		.size = npu_dtype_bits(op->dtype) / 8,
		.scale = op->scale,
		.zero = op->zero_point,
	};

	if (op->dtype == NPU_I64 || op->dtype == NPU_BOOL || npu_dtype_is_float(op->dtype))
		e.scale = 0.0f;
	return e;
}

void npu_iter_begin(struct npu_iter *it, const struct npu_operand *shape)
{
	unsigned int i;

	memset(it, 0, sizeof(*it));
	it->rank = shape->rank;
	for (i = 0; i < it->rank; i++)
		it->dim[i] = shape->dim[i];
}

unsigned int npu_iter_add(struct npu_iter *it, const struct npu_operand *op, void *base)
{
	struct npu_iter_operand *o = &it->op[it->num];
	unsigned int i;

	o->base = base;
	o->elem = npu_elem_of(op);
	for (i = 0; i < it->rank; i++)
		o->stride[i] = op->dim[i] == 1 ? 0 : op->stride[i];
	return it->num++;
}

unsigned int npu_iter_add_vector(struct npu_iter *it, const struct npu_operand *op, void *base,
				 unsigned int dim)
{
	struct npu_iter_operand *o = &it->op[it->num];

	o->base = base;
	o->elem = npu_elem_of(op);
	if (it->rank)
		o->stride[dim] = op->dim[0] == 1 ? 0 : op->stride[0];
	return it->num++;
}

static void swap_dims(struct npu_iter *it, unsigned int a, unsigned int b)
{
	npu_u64 d = it->dim[a];
	unsigned int i;

	it->dim[a] = it->dim[b];
	it->dim[b] = d;
	for (i = 0; i < it->num; i++) {
		npu_s64 s = it->op[i].stride[a];

		it->op[i].stride[a] = it->op[i].stride[b];
		it->op[i].stride[b] = s;
	}
}

static void drop_dim(struct npu_iter *it, unsigned int d)
{
	unsigned int i;

	it->rank--;
	for (; d < it->rank; d++) {
		it->dim[d] = it->dim[d + 1];
		for (i = 0; i < it->num; i++)
			it->op[i].stride[d] = it->op[i].stride[d + 1];
	}
}

/*
 * Dim d and the next are one when every operand steps from one to the next as along the inner one.
 */
static bool can_merge(const struct npu_iter *it, unsigned int d)
{
	unsigned int i;

	for (i = 0; i < it->num; i++)
		if (it->op[i].stride[d] != it->op[i].stride[d + 1] * (npu_s64)it->dim[d + 1])
			return false;
	return true;
}

static void append_one(struct npu_iter *it)
{
	unsigned int i, d;

	for (d = it->rank++; d > 0; d--) {
		it->dim[d] = it->dim[d - 1];
		for (i = 0; i < it->num; i++)
			it->op[i].stride[d] = it->op[i].stride[d - 1];
	}
	it->dim[0] = 1;
	for (i = 0; i < it->num; i++)
		it->op[i].stride[0] = 0;
}

void npu_iter_cut(struct npu_iter *it, npu_u32 rows, npu_u32 cols)
{
	npu_u64 all_rows = it->dim[it->rank - 2], all_cols = it->dim[it->rank - 1];
	unsigned int d;

	it->rows = all_rows < rows ? (npu_u32)all_rows : rows;
	it->cols = all_cols < cols ? (npu_u32)all_cols : cols;
	it->row_tiles = it->rows ? (all_rows + it->rows - 1) / it->rows : 0;
	it->col_tiles = it->cols ? (all_cols + it->cols - 1) / it->cols : 0;
	it->num_tiles = it->row_tiles * it->col_tiles;
	for (d = 0; d + 2 < it->rank; d++)
		it->num_tiles *= it->dim[d];
}

void npu_iter_move_dim(struct npu_iter *it, unsigned int d, unsigned int to)
{
	for (; d < to; d++)
		swap_dims(it, d, d + 1);
	for (; d > to; d--)
		swap_dims(it, d, d - 1);
}

void npu_iter_finish(struct npu_iter *it, npu_u32 block)
{
	unsigned int i, j, d;
	npu_u64 cols;

	for (d = it->rank; d-- > 0;)
		if (it->dim[d] == 1)
			drop_dim(it, d);
	/* stable, widest step of the output outermost */
	for (i = 1; i < it->rank; i++)
		for (j = i; j > 0 && it->op[0].stride[j - 1] < it->op[0].stride[j]; j--)
			swap_dims(it, j - 1, j);
	for (d = it->rank; d-- > 1;) {
		if (can_merge(it, d - 1)) {
			it->dim[d] *= it->dim[d - 1];
			drop_dim(it, d - 1);
		}
	}
	while (it->rank < 2)
		append_one(it);
	cols = it->dim[it->rank - 1];
	npu_iter_cut(it, cols && cols < block ? (npu_u32)(block / cols) : 1, block);
}

void npu_iter_tile(const struct npu_iter *it, npu_u64 index, struct npu_tile *tile)
{
	unsigned int rd = it->rank - 2, cd = it->rank - 1, d, i;
	npu_u64 c0 = index % it->col_tiles * it->cols, rest = index / it->col_tiles;
	npu_u64 r0 = rest % it->row_tiles * it->rows, pos[NPU_MAX_RANK];
	npu_u32 rows = (npu_u32)(it->dim[rd] - r0 < it->rows ? it->dim[rd] - r0 : it->rows);
	npu_u32 cols = (npu_u32)(it->dim[cd] - c0 < it->cols ? it->dim[cd] - c0 : it->cols);

	rest /= it->row_tiles;
	for (d = rd; d-- > 0;) {
		pos[d] = rest % it->dim[d];
		rest /= it->dim[d];
	}
	tile->count = (size_t)rows * cols;
	for (i = 0; i < it->num; i++) {
		const struct npu_iter_operand *o = &it->op[i];
		npu_s64 off = (npu_s64)r0 * o->stride[rd] + (npu_s64)c0 * o->stride[cd];

		for (d = 0; d < rd; d++)
			off += (npu_s64)pos[d] * o->stride[d];
		tile->patch[i] = (struct npu_patch){
			.p = o->base + off,
			.row = o->stride[rd],
			.col = o->stride[cd],
			.rows = rows,
			.cols = cols,
		};
	}
}
