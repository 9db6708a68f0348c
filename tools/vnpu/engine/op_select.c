// SPDX-License-Identifier: MIT
/*
 * SELECT: bits are moved when a, b and out are of one kind, else both sides are converted and one
 * is stored.
 */
#include "iter.h"
#include "raw.h"

#define LINE	8192u	/* elements of a tile whose bits are moved */

enum { OUT, COND, A, B };

struct select {
	struct npu_iter it;
	const struct npu_vec *vec;
};

/* Whether @step is that of dense elements, or of one that repeats. */
static bool plain_step(npu_s64 step, npu_u32 size)
{
	return step == 0 || step == (npu_s64)size;
}

static void line_raw(const struct npu_vec *vec, const struct npu_patch p[4], npu_u32 r,
		     npu_u32 size)
{
	char *d = p[OUT].p + (npu_s64)r * p[OUT].row, *c = p[COND].p + (npu_s64)r * p[COND].row;
	char *a = p[A].p + (npu_s64)r * p[A].row, *b = p[B].p + (npu_s64)r * p[B].row;
	npu_s64 ds = p[OUT].col, cs = p[COND].col, as = p[A].col, bs = p[B].col;
	npu_u32 i, n = p[OUT].cols;

	if (!cs) {
		npu_raw_line(d, ds, *c ? a : b, *c ? as : bs, n, size);
		return;
	}
	if (cs == 1 && ds == (npu_s64)size && plain_step(as, size) && plain_step(bs, size)) {
		vec->select(d, c, a, as != 0, b, bs != 0, n, size);
		return;
	}
	switch (size) {
#define ROW(bytes)								\
	case bytes:								\
		for (i = 0; i < n; i++, d += ds, c += cs, a += as, b += bs)	\
			memcpy(d, *c ? a : b, bytes);				\
		return
	ROW(1);
	ROW(2);
	ROW(4);
	ROW(8);
#undef ROW
	}
}

static void run_raw(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct select *w = arg;
	struct npu_tile t;
	npu_u32 r;

	for (; begin < end; begin++) {
		npu_iter_tile(&w->it, begin, &t);
		for (r = 0; r < t.patch[0].rows; r++)
			line_raw(w->vec, t.patch, r, w->it.op[OUT].elem.size);
	}
}

static void run_float(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
		      npu_u64 end)
{
	const struct select *w = arg;
	float c[NPU_BLOCK], a[NPU_BLOCK], b[NPU_BLOCK];
	struct npu_tile t;
	size_t i;

	for (; begin < end; begin++) {
		npu_iter_tile(&w->it, begin, &t);
		w->vec->load(c, &w->it.op[COND].elem, &t.patch[COND]);
		w->vec->load(a, &w->it.op[A].elem, &t.patch[A]);
		w->vec->load(b, &w->it.op[B].elem, &t.patch[B]);
		for (i = 0; i < t.count; i++)
			a[i] = c[i] != 0.0f ? a[i] : b[i];
		w->vec->store(a, &w->it.op[OUT].elem, &t.patch[OUT]);
	}
}

static void run_int(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct select *w = arg;
	npu_s64 c[NPU_BLOCK], a[NPU_BLOCK], b[NPU_BLOCK];
	struct npu_tile t;
	size_t i;

	for (; begin < end; begin++) {
		npu_iter_tile(&w->it, begin, &t);
		w->vec->load_int(c, &w->it.op[COND].elem, &t.patch[COND]);
		w->vec->load_int(a, &w->it.op[A].elem, &t.patch[A]);
		w->vec->load_int(b, &w->it.op[B].elem, &t.patch[B]);
		for (i = 0; i < t.count; i++)
			a[i] = c[i] ? a[i] : b[i];
		w->vec->store_int(a, &w->it.op[OUT].elem, &t.patch[OUT]);
	}
}

int npu_op_select(struct npu_exec *x)
{
	static const unsigned int slots[4] = { NPU_SELECT_OUT, NPU_SELECT_COND, NPU_SELECT_A,
					       NPU_SELECT_B };
	struct select w = { .vec = npu_vec_get(x->simd) };
	const struct npu_iter_operand *op = w.it.op;
	npu_chunk_fn fn = run_float;
	unsigned int i;

	npu_iter_begin(&w.it, &x->operand[NPU_SELECT_OUT]);
	for (i = 0; i < 4; i++)
		npu_iter_add(&w.it, &x->operand[slots[i]], x->ptr[slots[i]]);
	npu_iter_finish(&w.it, NPU_BLOCK);
	if (npu_elem_same_code(&op[OUT].elem, &op[A].elem) &&
	    npu_elem_same_code(&op[OUT].elem, &op[B].elem))
		fn = run_raw;
	else if (npu_elem_plain_int(&op[OUT].elem) && npu_elem_plain_int(&op[A].elem) &&
		 npu_elem_plain_int(&op[B].elem))
		fn = run_int;
	if (fn == run_raw) {
		npu_u64 row = w.it.dim[w.it.rank - 1];

		npu_iter_cut(&w.it, row < LINE ? LINE / (npu_u32)row : 1, LINE);
	}
	npu_exec_path(x, fn == run_raw ? NPU_PATH_EWISE_FAST : NPU_PATH_EWISE_GENERIC);
	return npu_exec_parallel(x, w.it.num_tiles,
				 (double)w.it.rows * w.it.cols * (fn == run_raw ? 0.3 : 1.4), fn,
				 &w);
}
