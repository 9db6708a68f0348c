// SPDX-License-Identifier: MIT
/* FILL */
#include "iter.h"
#include "raw.h"

#define TILE_BYTES	65536u

struct fill {
	struct npu_iter it;
	npu_u64 bits;
};

static void run(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct fill *w = arg;
	struct npu_tile t;
	npu_u32 r;

	for (; begin < end; begin++) {
		npu_iter_tile(&w->it, begin, &t);
		for (r = 0; r < t.patch[0].rows; r++)
			npu_raw_fill(t.patch[0].p + (npu_s64)r * t.patch[0].row, t.patch[0].col,
				     w->bits, t.patch[0].cols, w->it.op[0].elem.size);
	}
}

int npu_op_fill(struct npu_exec *x)
{
	struct fill w = {
		.bits = x->param[NPU_FILL_P_VALUE_LO] | (npu_u64)x->param[NPU_FILL_P_VALUE_HI]
								<< 32,
	};

	npu_iter_begin(&w.it, &x->operand[NPU_FILL_OUT]);
	npu_iter_add(&w.it, &x->operand[NPU_FILL_OUT], x->ptr[NPU_FILL_OUT]);
	npu_iter_finish(&w.it, TILE_BYTES / w.it.op[0].elem.size);
	return npu_exec_parallel(x, w.it.num_tiles, (double)w.it.rows * w.it.cols * 0.3, run, &w);
}
