// SPDX-License-Identifier: MIT
/* COUNT: how many codes lie at the ends of their range, added to counters in memory. */
#include "iter.h"

#define TILE_BYTES	65536u
#define LINE		4096u	/* elements that are gathered before they are counted */

struct count {
	struct npu_iter it;		/* in */
	const struct npu_vec *vec;
	npu_u8 code[2];			/* lowest, highest */
	_Atomic npu_u64 found[2];	/* each chunk adds what it found once */
};

static void count_line(const struct count *w, npu_u64 found[2], const struct npu_patch *p,
		       npu_u32 row)
{
	const char *src = p->p + (npu_s64)row * p->row;
	char line[LINE];
	npu_u32 c, i, n;

	if (p->col == 1) {
		w->vec->count8(found, src, p->cols, w->code);
		return;
	}
	for (c = 0; c < p->cols; c += n) {
		n = p->cols - c < LINE ? p->cols - c : LINE;
		for (i = 0; i < n; i++)
			line[i] = src[(npu_s64)(c + i) * p->col];
		w->vec->count8(found, line, n, w->code);
	}
}

static void count_tiles(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
			npu_u64 end)
{
	struct count *w = arg;
	npu_u64 found[2] = { 0 };
	struct npu_tile t;
	npu_u32 r;

	for (; begin < end; begin++) {
		npu_iter_tile(&w->it, begin, &t);
		for (r = 0; r < t.patch[0].rows; r++)
			count_line(w, found, &t.patch[0], r);
	}
	atomic_fetch_add_explicit(&w->found[0], found[0], memory_order_relaxed);
	atomic_fetch_add_explicit(&w->found[1], found[1], memory_order_relaxed);
}

int npu_op_count(struct npu_exec *x)
{
	const struct npu_operand *io = &x->operand[NPU_COUNT_INOUT],
				 *in = &x->operand[NPU_COUNT_IN];
	struct count w = { .vec = npu_vec_get(x->simd) };
	npu_u64 found[3] = { 0, 0, 1 }, total, cols;
	unsigned int d;
	npu_u32 i;
	int ret;

	w.code[0] = in->dtype == NPU_I8 ? 0x80 : 0;
	w.code[1] = in->dtype == NPU_I8 ? 0x7f : 0xff;
	for (d = 0; d < in->rank; d++)
		found[2] *= in->dim[d];
	npu_iter_begin(&w.it, in);
	npu_iter_add(&w.it, in, x->ptr[NPU_COUNT_IN]);
	npu_iter_finish(&w.it, TILE_BYTES);
	cols = w.it.dim[w.it.rank - 1];
	/* rows shorter than a vector, and elements apart, are looked at one by one */
	ret = npu_exec_parallel(x, w.it.num_tiles,
				(double)w.it.rows * w.it.cols *
					(w.it.op[0].stride[w.it.rank - 1] == 1 && cols >= 64 ?
						 0.03 : 1.0),
				count_tiles, &w);
	if (ret)
		return ret;
	found[0] = w.found[0];
	found[1] = w.found[1];
	for (i = 0; i < io->dim[0]; i++) {
		char *p = (char *)x->ptr[NPU_COUNT_INOUT] + (npu_s64)i * io->stride[0];

		memcpy(&total, p, sizeof(total));
		total += found[i];
		memcpy(p, &total, sizeof(total));
	}
	return 0;
}
