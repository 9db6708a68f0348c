// SPDX-License-Identifier: MIT
/*
 * Integer MATMUL. A weight comes in panels; b of any other layout is packed into panels first, as
 * codes of the same type.
 */
#include "igemm_rows.h"
#include "matmul.h"

/* bytes; b may repeat one element, and be longer than any memory */
#define PACK_MAX	(128u << 20)

static npu_s64 panel_bytes(const struct npu_matmul *m)
{
	return npu_igemm_quads(m->k) * IGEMM_QUAD_BYTES;
}

static npu_s64 num_panels(const struct npu_matmul *m)
{
	return (m->n + NPU_PANEL - 1) / NPU_PANEL;
}

static size_t packed_bytes(const struct npu_matmul *m)
{
	npu_u64 bytes;

	if (m->b->layout != NPU_LAYOUT_STRIDED)
		return 0;
	if (__builtin_mul_overflow((npu_u64)(num_panels(m) * npu_matmul_b_count(m)),
				   (npu_u64)panel_bytes(m), &bytes))
		return SIZE_MAX / 2;
	return (bytes + 63) & ~(size_t)63;
}

bool npu_matmul_int_can(const struct npu_matmul *m)
{
	return m->integer && packed_bytes(m) <= PACK_MAX &&
	       npu_igemm_cols_bytes(m->n, npu_matmul_b_count(m)) <= PACK_MAX;
}

/* Memory beside the vectors: b in panels, then the constants of the columns. */
size_t npu_matmul_int_bytes(const struct npu_matmul *m)
{
	return packed_bytes(m) + npu_igemm_cols_bytes(m->n, npu_matmul_b_count(m));
}

struct pack {
	const struct npu_matmul *m;
	const struct npu_igemm *gemm;
	npu_u8 *panels;
};

/* One quad of up to 16 columns, element by element. */
static void quad_pack(const struct npu_matmul *m, npu_u8 *dst, const char *src, npu_s64 depth,
		      npu_s64 cols)
{
	npu_s64 sk = m->b->stride[m->rank - 2], sn = m->b->stride[m->rank - 1], j, k;

	memset(dst, 0, IGEMM_QUAD_BYTES);
	for (j = 0; j < cols; j++)
		for (k = 0; k < depth; k++)
			dst[4 * j + k] = (npu_u8)src[j * sn + k * sk];
}

/* Columns that are dense along k, as those of a transposed matrix: words of four codes. */
static void words_pack(npu_u8 *dst, const char *src, npu_s64 quads, npu_s64 sn, npu_s64 cols)
{
	npu_s64 j, q;

	for (j = 0; j < cols; j++, src += sn)
		for (q = 0; q < quads; q++)
			memcpy(dst + q * IGEMM_QUAD_BYTES + 4 * j, src + 4 * q, 4);
}

static void panel_pack(const struct pack *p, npu_u8 *dst, const char *src, npu_s64 cols)
{
	const struct npu_matmul *m = p->m;
	npu_s64 sk = m->b->stride[m->rank - 2], sn = m->b->stride[m->rank - 1], q = 0,
		full = m->k / 4;

	if (cols == NPU_PANEL && sn == 1) {
		for (; q < full; q++)
			p->gemm->interleave(dst + q * IGEMM_QUAD_BYTES,
					    (const npu_u8 *)src + 4 * q * sk, sk);
	} else if (sk == 1) {
		if (cols < NPU_PANEL)
			memset(dst, 0, (size_t)full * IGEMM_QUAD_BYTES);
		words_pack(dst, src, full, sn, cols);
		q = full;
	}
	for (; q * 4 < m->k; q++)
		quad_pack(m, dst + q * IGEMM_QUAD_BYTES, src + 4 * q * sk,
			  m->k - 4 * q < 4 ? m->k - 4 * q : 4, cols);
}

static void pack_chunk(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
		       npu_u64 end)
{
	const struct pack *p = arg;
	const struct npu_matmul *m = p->m;
	npu_s64 i, col;

	for (i = (npu_s64)begin; i < (npu_s64)end && !npu_exec_stopped(x); i++) {
		col = i % num_panels(m) * NPU_PANEL;
		panel_pack(p, p->panels + i * panel_bytes(m),
			   npu_matmul_b_matrix(m, i / num_panels(m)) +
				   col * m->b->stride[m->rank - 1],
			   m->n - col < NPU_PANEL ? m->n - col : NPU_PANEL);
	}
}

static void at(const struct npu_igemm_rows *g, npu_s64 batch, struct npu_igemm_at *at)
{
	const struct npu_matmul *m = g->arg;
	struct npu_matmul_batch b;

	npu_matmul_batch(m, batch, &b);
	at->a = b.a;
	at->b_index = b.b_index;
	at->b = g->b + b.b_index * num_panels(m) * panel_bytes(m);
	npu_matmul_place(m, &b, 0, &at->place);
}

static int b_pack(struct npu_exec *x, const struct npu_matmul *m, const struct npu_igemm *gemm,
		  npu_u8 *panels)
{
	struct pack p = { m, gemm, panels };

	return npu_exec_parallel(x, (npu_u64)(num_panels(m) * npu_matmul_b_count(m)),
				 50.0 + (double)m->k * 4, pack_chunk, &p);
}

/* @m's b_zero is shifted in place. */
int npu_matmul_int(struct npu_exec *x, struct npu_matmul *m)
{
	npu_u8 a_flip = npu_igemm_a_flip(m->a->dtype), b_flip = npu_igemm_b_flip(m->b->dtype);
	struct npu_igemm_rows g = {
		.gemm = npu_igemm_select(x->simd, x->vnni),
		.m = m->m,
		.k = m->k,
		.n = m->n,
		.batch = m->batch,
		.a_row = m->a->stride[m->rank - 2],
		.a_k = m->a->stride[m->rank - 1],
		.a_flip = a_flip,
		.b_flip = b_flip,
		.x_zero = m->a_zero + a_flip,
		.w_zero = npu_igemm_shift_zeros(m->b_zero, m->n, b_flip),
		.b_matrices = npu_matmul_b_count(m),
		.b = (const npu_u8 *)m->b_ptr,
		.epi = &m->epi,
		.epi_fn = m->epi_fn,
		.at = at,
		.arg = m,
		.cols = (npu_s32 *)(void *)(m->pack_mem + packed_bytes(m)),
	};
	int ret;

	npu_exec_path(x, NPU_PATH_MATMUL_INT);
	if (m->b->layout == NPU_LAYOUT_STRIDED) {
		g.b = (const npu_u8 *)m->pack_mem;
		ret = b_pack(x, m, g.gemm, (npu_u8 *)m->pack_mem);
		if (ret)
			return ret;
	}
	if (npu_matmul_batch_folds(m)) {
		g.m *= m->batch;
		g.batch = 1;
	}
	return npu_igemm_rows_run(x, &g);
}
