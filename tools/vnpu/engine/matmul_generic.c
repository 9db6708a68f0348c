// SPDX-License-Identifier: MIT
/*
 * Matrix product of anything: any types, layouts and strides, one k at a time, 16 columns at a
 * time.
 */
#include "matmul.h"
#include "npu_math.h"

static const char *b_at(const struct npu_matmul *m, const struct npu_matmul_batch *at, npu_s64 k,
			npu_s64 n)
{
	npu_s64 bytes = npu_dtype_bits(m->b->dtype) / 8, panels = (m->n + 15) / 16, ksize = m->k;

	switch (m->b->layout) {
	case NPU_LAYOUT_PANEL16:
		return at->b +
		       (((at->b_index * panels + n / 16) * ksize + k) * 16 + n % 16) * bytes;
	case NPU_LAYOUT_PANEL16K4:
		ksize = (ksize + 3) / 4 * 4;
		return at->b + (at->b_index * panels + n / 16) * ksize * 16 + k / 4 * 64 +
		       n % 16 * 4 + k % 4;
	default:
		return at->b + k * m->b->stride[m->rank - 2] + n * m->b->stride[m->rank - 1];
	}
}

static npu_s32 code(const struct npu_operand *op, const char *p)
{
	return op->dtype == NPU_I8 ? *(const signed char *)p : *(const unsigned char *)p;
}

static void block(struct npu_exec *x, const struct npu_matmul *m, const struct npu_matmul_batch *at,
		  npu_s64 row, npu_s64 n0, unsigned int n)
{
	const char *a = at->a + row * m->a->stride[m->rank - 2];
	struct npu_epi_place place;
	npu_u32 iacc[16] = { 0 };
	float acc[16] = { 0 };
	unsigned int j;
	npu_s64 k;

	for (k = 0; k < m->k; k++, a += m->a->stride[m->rank - 1]) {
		npu_s32 xi = m->integer ? code(m->a, a) - m->a_zero : 0;
		float xf = m->integer ? 0.0f : npu_elem_load(m->a, a);

		for (j = 0; j < n; j++) {
			const char *b = b_at(m, at, k, n0 + j);

			if (m->integer)
				iacc[j] += (npu_u32)(xi * (code(m->b, b) - m->b_zero[n0 + j]));
			else
				acc[j] = npu_fma_f32(xf, npu_elem_load(m->b, b), acc[j]);
		}
		if (k % 1024 == 1023 && npu_exec_stopped(x))
			return;
	}
	if (m->integer)
		memcpy(acc, iacc, sizeof(acc));
	npu_matmul_place(m, at, row, &place);
	m->epi_fn(&m->epi, acc, 16, 1, (npu_u32)n0, n, &place);
}

/* Items are (row, block of 16 columns). */
static void chunk(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct npu_matmul *m = arg;
	npu_u64 blocks = (npu_u64)(m->n + 15) / 16, i;
	struct npu_matmul_batch at;

	for (i = begin; i < end; i++) {
		npu_s64 n0 = (npu_s64)(i % blocks) * 16, row = (npu_s64)(i / blocks);

		npu_matmul_batch(m, row / m->m, &at);
		block(x, m, &at, row % m->m, n0, (unsigned int)(m->n - n0 < 16 ? m->n - n0 : 16));
	}
}

int npu_matmul_generic(struct npu_exec *x, struct npu_matmul *m)
{
	npu_u64 items = (npu_u64)m->batch * (npu_u64)m->m * (npu_u64)((m->n + 15) / 16);

	npu_exec_path(x, NPU_PATH_MATMUL_STRIDED);
	return npu_exec_parallel(x, items, (double)m->k * 16 * 8, chunk, m);
}
