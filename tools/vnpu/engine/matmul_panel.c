// SPDX-License-Identifier: MIT
/* Float MATMUL. A weight comes in panels; two activations have b packed into panels first. */
#include "gemm_rows.h"
#include "matmul.h"

/* bytes; b may repeat one element, and be longer than any memory */
#define PACK_MAX	(128u << 20)

struct pack {
	const struct npu_matmul *m;
	const struct npu_gemm *gemm;
	float *panels;
	npu_s64 num_panels;
};

npu_s64 npu_matmul_b_count(const struct npu_matmul *m)
{
	npu_s64 count = 1;
	unsigned int i;

	for (i = 0; i + 2 < m->rank; i++)
		count *= m->b->dim[i];
	return count;
}

static size_t panels_bytes(const struct npu_matmul *m)
{
	npu_u64 bytes;

	if (__builtin_mul_overflow((npu_u64)((m->n + 15) / 16 * npu_matmul_b_count(m)),
				   (npu_u64)m->k * NPU_PANEL * sizeof(float), &bytes))
		return SIZE_MAX / 2;
	return bytes;
}

bool npu_matmul_panel_can(const struct npu_matmul *m)
{
	if (m->integer || m->grouped)
		return false;
	if (m->b->layout == NPU_LAYOUT_STRIDED)
		return panels_bytes(m) <= PACK_MAX;
	return npu_gemm_b_type(m->b->dtype) >= 0;
}

const char *npu_matmul_b_matrix(const struct npu_matmul *m, npu_s64 index)
{
	const char *p = m->b_ptr;
	npu_s64 i;

	for (i = (npu_s64)m->rank - 3; i >= 0; i--) {
		if (m->b->dim[i] > 1)
			p += index % m->b->dim[i] * m->b->stride[i];
		index /= m->b->dim[i];
	}
	return p;
}

static void panel_pack(const struct pack *p, float *dst, const char *src, npu_s64 cols)
{
	const struct npu_matmul *m = p->m;
	npu_s64 sk = m->b->stride[m->rank - 2], sn = m->b->stride[m->rank - 1], k, j, i, n;
	float run[256];

	if (cols < NPU_PANEL)
		memset(dst, 0, (size_t)m->k * NPU_PANEL * sizeof(float));
	if (sn == npu_dtype_bits(m->b->dtype) / 8 || m->k == 1) {
		for (k = 0; k < m->k; k++, src += sk)
			npu_gemm_load(p->gemm, m->b->dtype, dst + k * NPU_PANEL, src, sn,
				      (size_t)cols);
		return;
	}
	/* Columns: read along k, where a transposed matrix is dense. */
	for (j = 0; j < cols; j++, src += sn) {
		for (k = 0; k < m->k; k += n) {
			n = m->k - k < 256 ? m->k - k : 256;
			npu_gemm_load(p->gemm, m->b->dtype, run, src + k * sk, sk, (size_t)n);
			for (i = 0; i < n; i++)
				dst[(k + i) * NPU_PANEL + j] = run[i];
		}
	}
}

static void pack_chunk(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
		       npu_u64 end)
{
	const struct pack *p = arg;
	const struct npu_matmul *m = p->m;
	npu_s64 i, col;

	for (i = (npu_s64)begin; i < (npu_s64)end; i++) {
		if (npu_exec_stopped(x))
			return;
		col = i % p->num_panels * NPU_PANEL;
		panel_pack(p, p->panels + i * m->k * NPU_PANEL,
			   npu_matmul_b_matrix(m, i / p->num_panels) +
				   col * m->b->stride[m->rank - 1],
			   m->n - col < NPU_PANEL ? m->n - col : NPU_PANEL);
	}
}

static void at(const struct npu_gemm_rows *g, npu_s64 batch, struct npu_gemm_at *at)
{
	const struct npu_matmul *m = g->arg;
	npu_s64 panel = g->k * NPU_PANEL * (g->b_type == GEMM_B_F32 ? 4 : 2);
	struct npu_matmul_batch b;

	npu_matmul_batch(m, batch, &b);
	at->a = b.a;
	at->b = (m->packed ? m->packed : m->b_ptr) + b.b_index * ((m->n + 15) / 16) * panel;
	npu_matmul_place(m, &b, 0, &at->place);
}

bool npu_matmul_batch_folds(const struct npu_matmul *m)
{
	npu_s64 d, rows = m->m, a = m->a->stride[m->rank - 2], out = m->out->stride[m->rank - 2];
	npu_s64 res = npu_epi_res_stride(&m->epi, m->rank - 2);

	if (m->m == 1 && m->batch > 1)
		return false;
	for (d = (npu_s64)m->rank - 3; d >= 0; d--) {
		if (m->out->dim[d] == 1)
			continue;
		if (m->b->dim[d] > 1 || m->a->dim[d] != m->out->dim[d])
			return false;
		if (m->a->stride[d] != rows * a || m->out->stride[d] != rows * out ||
		    npu_epi_res_stride(&m->epi, (unsigned int)d) != rows * res)
			return false;
		rows *= m->out->dim[d];
	}
	return true;
}

static int multiply(struct npu_exec *x, struct npu_matmul *m)
{
	struct npu_gemm_rows g = {
		.m = m->m,
		.k = m->k,
		.n = m->n,
		.batch = m->batch,
		.a_type = m->a->dtype,
		.a_row = m->a->stride[m->rank - 2],
		.a_k = m->a->stride[m->rank - 1],
		.b_type = m->packed ? GEMM_B_F32 : npu_gemm_b_type(m->b->dtype),
		.epi = &m->epi,
		.epi_fn = m->epi_fn,
		.at = at,
		.arg = m,
	};

	if (npu_matmul_batch_folds(m)) {
		g.m *= m->batch;
		g.batch = 1;
	}
	return npu_gemm_rows_run(x, &g);
}

int npu_matmul_panel(struct npu_exec *x, struct npu_matmul *m)
{
	npu_exec_path(x, m->m * m->batch == 1 ? NPU_PATH_MATMUL_GEMV : NPU_PATH_MATMUL_PANEL);
	return multiply(x, m);
}

/* @m's packed panels lie behind the epilogue's vectors in the shared memory. */
int npu_matmul_strided(struct npu_exec *x, struct npu_matmul *m)
{
	struct pack p = { .m = m,
			  .gemm = npu_gemm_select(x->simd),
			  .num_panels = (m->n + 15) / 16 };
	int ret;

	npu_exec_path(x, NPU_PATH_MATMUL_STRIDED);
	p.panels = (float *)(void *)m->pack_mem;
	ret = npu_exec_parallel(x, (npu_u64)(p.num_panels * npu_matmul_b_count(m)),
				50.0 + (double)m->k * 16, pack_chunk, &p);
	if (ret)
		return ret;
	m->packed = m->pack_mem;
	return multiply(x, m);
}

size_t npu_matmul_pack_bytes(const struct npu_matmul *m)
{
	return npu_matmul_panel_can(m) && m->b->layout == NPU_LAYOUT_STRIDED ? panels_bytes(m) : 0;
}
