// SPDX-License-Identifier: MIT
/*
 * COPY: moves bytes where type and quantization stay, else converts by blocks. When the inner
 * dimension of the two sides is not the same, tiles are transposed in the cache, so that both sides
 * are touched along their lines.
 */
#include <string.h>
#include "codes.h"
#include "raw.h"

#define ROW_BYTES	65536u	/* of a tile of plain rows */
#define TILE		4096u	/* elements of a tile that is converted, 16 KiB as f32 */
#define TILE_BYTES	16384u	/* of one that is transposed */
#define LINE_BYTES	256u	/* of its rows in the output */
#define CROWDED		1024	/* rows a multiple of this apart share a few lines of the cache */

struct copy {
	struct npu_iter it;
	const struct npu_vec *vec;
	bool as_int;
};

static void copy_rows(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
		      npu_u64 end)
{
	const struct copy *w = arg;
	npu_u32 size = w->it.op[0].elem.size, r;
	struct npu_tile t;

	for (; begin < end; begin++) {
		const struct npu_patch *d = &t.patch[0], *s = &t.patch[1];

		npu_iter_tile(&w->it, begin, &t);
		for (r = 0; r < d->rows; r++) {
			char *dp = d->p + (npu_s64)r * d->row, *sp = s->p + (npu_s64)r * s->row;

			npu_raw_line(dp, d->col, sp, s->col, d->cols, size);
		}
	}
}

/* @n lines of @bytes. */
static void move_lines(char *dst, npu_s64 dst_row, const char *src, npu_s64 src_row, npu_u32 n,
		       size_t bytes)
{
	npu_u32 i;

	for (i = 0; i < n; i++)
		memcpy(dst + (npu_s64)i * dst_row, src + (npu_s64)i * src_row, bytes);
}

/* Longer than what a few pieces touch of it, and in the way of each other. */
static bool is_crowded(npu_s64 row, npu_u32 rows)
{
	return rows > 8 && row && row % CROWDED == 0;
}

/*
 * Rows of a tile are dense in the input, its columns in the output. A side whose lines are in each
 * other's way is touched whole lines at a time, by way of a dense tile.
 */
static void copy_transposed(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
			    npu_u64 end)
{
	const struct copy *w = arg;
	npu_u32 size = w->it.op[0].elem.size;
	char dense[TILE_BYTES] __attribute__((aligned(64)));
	struct npu_tile t;

	for (; begin < end; begin++) {
		const struct npu_patch *d = &t.patch[0], *s = &t.patch[1];

		npu_iter_tile(&w->it, begin, &t);
		if (is_crowded(s->col, d->cols)) {
			move_lines(dense, (npu_s64)d->rows * size, s->p, s->col, d->cols,
				   (size_t)d->rows * size);
			w->vec->transpose(d->p, d->row, dense, (npu_s64)d->rows * size, d->cols,
					  d->rows, size);
		} else if (is_crowded(d->row, d->rows)) {
			w->vec->transpose(dense, (npu_s64)d->cols * size, s->p, s->col, d->cols,
					  d->rows, size);
			move_lines(d->p, d->row, dense, (npu_s64)d->cols * size, d->rows,
				   (size_t)d->cols * size);
		} else {
			w->vec->transpose(d->p, d->row, s->p, s->col, d->cols, d->rows, size);
		}
	}
}

static void convert_transposed(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
			       npu_u64 end)
{
	const struct copy *w = arg;
	float in[TILE], out[TILE];
	struct npu_patch s;
	struct npu_tile t;

	for (; begin < end; begin++) {
		npu_iter_tile(&w->it, begin, &t);
		s = (struct npu_patch){
			.p = t.patch[1].p, .row = t.patch[1].col, .col = t.patch[1].row,
			.rows = t.patch[1].cols, .cols = t.patch[1].rows,
		};
		w->vec->load(in, &w->it.op[1].elem, &s);
		w->vec->transpose((char *)out, (npu_s64)s.rows * 4, (const char *)in,
				  (npu_s64)s.cols * 4, s.rows, s.cols, 4);
		w->vec->store(out, &w->it.op[0].elem, &t.patch[0]);
	}
}

/* What lies in memory as a block does. */
static bool is_block(const struct npu_patch *p, const struct npu_elem *e)
{
	return e->dtype == NPU_F32 && p->col == 4 &&
	       (p->rows == 1 || p->row == 4 * (npu_s64)p->cols);
}

static void convert(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct copy *w = arg;
	union {
		float f[NPU_BLOCK];
		npu_s64 i[NPU_BLOCK];
	} v;
	struct npu_tile t;

	for (; begin < end; begin++) {
		npu_iter_tile(&w->it, begin, &t);
		if (w->as_int) {
			w->vec->load_int(v.i, &w->it.op[1].elem, &t.patch[1]);
			w->vec->store_int(v.i, &w->it.op[0].elem, &t.patch[0]);
		} else if (is_block(&t.patch[1], &w->it.op[1].elem)) {
			w->vec->store((const float *)(void *)t.patch[1].p, &w->it.op[0].elem,
				      &t.patch[0]);
		} else if (is_block(&t.patch[0], &w->it.op[0].elem) &&
			   npu_elem_is_code(&w->it.op[1].elem)) {
			/*
			 * of a code and a finite scale nothing becomes NaN, which a store would
			 * look at
			 */
			w->vec->load((float *)(void *)t.patch[0].p, &w->it.op[1].elem, &t.patch[1]);
		} else {
			w->vec->load(v.f, &w->it.op[1].elem, &t.patch[1]);
			w->vec->store(v.f, &w->it.op[0].elem, &t.patch[0]);
		}
	}
}

/*
 * The dimension along which the input is dense, put beside the output's inner one; false when that
 * is the inner one itself, or there is none.
 */
static bool find_transpose(struct npu_iter *it)
{
	const struct npu_iter_operand *out = &it->op[0], *in = &it->op[1];
	unsigned int last = it->rank - 1, d;

	if (out->stride[last] != out->elem.size || in->stride[last] == in->elem.size)
		return false;
	for (d = 0; d < last; d++) {
		if (in->stride[d] == in->elem.size && it->dim[d] > 1) {
			npu_iter_move_dim(it, d, last - 1);
			return true;
		}
	}
	return false;
}

/*
 * Tiles of @tile elements, @side of them in a row of the output; a short side leaves more to the
 * other.
 */
static void cut_transpose(struct npu_iter *it, npu_u32 tile, npu_u32 side)
{
	npu_u64 rows = it->dim[it->rank - 2], cols = it->dim[it->rank - 1];
	npu_u32 c = cols < side ? (npu_u32)cols : side, r = tile / c;

	if (rows < r)
		c = tile / (npu_u32)rows;
	npu_iter_cut(it, r, c);
}

int npu_op_copy(struct npu_exec *x)
{
	struct copy w = { .vec = npu_vec_get(x->simd) };
	struct npu_iter *it = &w.it;
	const struct npu_elem *out = &it->op[0].elem, *in = &it->op[1].elem;
	bool raw, dense;

	npu_iter_begin(it, &x->operand[NPU_COPY_OUT]);
	npu_iter_add(it, &x->operand[NPU_COPY_OUT], x->ptr[NPU_COPY_OUT]);
	npu_iter_add(it, &x->operand[NPU_COPY_IN], x->ptr[NPU_COPY_IN]);
	npu_iter_finish(it, NPU_BLOCK);
	raw = npu_elem_same_code(out, in);
	w.as_int = npu_elem_plain_int(out) && npu_elem_plain_int(in);
	if ((raw || !w.as_int) && find_transpose(it)) {
		if (raw)
			cut_transpose(it, TILE_BYTES / out->size, LINE_BYTES / out->size);
		else
			cut_transpose(it, TILE, 64);
		npu_exec_path(x, NPU_PATH_COPY_TRANSPOSE);
		return npu_exec_parallel(x, it->num_tiles,
					 it->rows * (double)it->cols * (raw ? 0.3 : 0.5),
					 raw ? copy_transposed : convert_transposed, &w);
	}
	dense = it->op[0].stride[it->rank - 1] == out->size &&
		it->op[1].stride[it->rank - 1] == in->size;
	if (raw) {
		npu_u64 row = it->dim[it->rank - 1] * out->size;

		npu_iter_cut(it, row < ROW_BYTES ? ROW_BYTES / (npu_u32)row : 1,
			     ROW_BYTES / out->size);
		npu_exec_path(x, dense ? NPU_PATH_COPY_ROWS : NPU_PATH_COPY_GENERIC);
		return npu_exec_parallel(x, it->num_tiles,
					 (double)it->rows * it->cols *
						 (dense ? 0.1 * out->size : 0.7),
					 copy_rows, &w);
	}
	if (dense && !w.as_int && out->size == 1 && npu_elem_is_code(out) && npu_elem_is_code(in) &&
	    w.vec->look_up_fast()) {
		struct npu_codes_table t = { .it = it, .vec = w.vec };
		float v[256];

		npu_codes_table_values(&t, v);
		npu_codes_table_set(&t, v);
		return npu_codes_table_run(x, &t);
	}
	npu_exec_path(x, dense ? NPU_PATH_COPY_CAST : NPU_PATH_COPY_GENERIC);
	return npu_exec_parallel(x, it->num_tiles, (double)it->rows * it->cols * (dense ? 0.3 : 1),
				 convert, &w);
}
