/* SPDX-License-Identifier: MIT */
/*
 * Walks several operands of one index space together, for operators that treat every element alike.
 * The dimensions are put into the order of the first operand's memory (the output) and merged where
 * all operands allow it, so most tensors become one row; the walk then goes in tiles of up to
 * NPU_BLOCK elements of the last two dimensions.
 */
#ifndef NPU_ITER_H
#define NPU_ITER_H

#include "npu_op.h"
#include "vec.h"

#define NPU_ITER_MAX	5

struct npu_iter_operand {
	char *base;
	npu_s64 stride[NPU_MAX_RANK];	/* bytes; 0 where it repeats */
	struct npu_elem elem;
};

struct npu_iter {
	unsigned int num;		/* operands */
	unsigned int rank;		/* at least 2 */
	npu_u64 dim[NPU_MAX_RANK];
	struct npu_iter_operand op[NPU_ITER_MAX];
	/* tiles */
	npu_u32 rows, cols;		/* of a full tile */
	npu_u64 row_tiles, col_tiles, num_tiles;
};

/* One tile: where each operand's piece lies. */
struct npu_tile {
	struct npu_patch patch[NPU_ITER_MAX];
	size_t count;			/* elements */
};

struct npu_elem npu_elem_of(const struct npu_operand *op);

/* True for i8, u8, i32 without a scale, i64 and bool: computed exactly, in i64. */
static inline bool npu_elem_plain_int(const struct npu_elem *e)
{
	return !npu_dtype_is_float(e->dtype) && e->scale == 0.0f;
}

/*
 * Start with an empty set of operands over the index space of @shape (whose dims may be 0 by a 0 of
 * rank).
 */
void npu_iter_begin(struct npu_iter *it, const struct npu_operand *shape);

/* Add an operand of the same rank that broadcasts to the index space. Returns its number. */
unsigned int npu_iter_add(struct npu_iter *it, const struct npu_operand *op, void *base);

/* Add a vector along dimension @dim of the index space. */
unsigned int npu_iter_add_vector(struct npu_iter *it, const struct npu_operand *op, void *base,
				 unsigned int dim);

/* Order and merge dimensions, and cut into tiles of at most @block elements. */
void npu_iter_finish(struct npu_iter *it, npu_u32 block);

/* Cut anew: tiles of @rows x @cols of the last two dimensions, where those are as long. */
void npu_iter_cut(struct npu_iter *it, npu_u32 rows, npu_u32 cols);

/* Move dimension @d to place @to, the ones between move up or down by one. */
void npu_iter_move_dim(struct npu_iter *it, unsigned int d, unsigned int to);

/* Tile @index of it->num_tiles. */
void npu_iter_tile(const struct npu_iter *it, npu_u64 index, struct npu_tile *tile);

#endif
