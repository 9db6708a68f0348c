/* SPDX-License-Identifier: MIT */
/* The matrix kernels, included by one file per instruction set behind its vf_*.h. */
#include "gemm.h"
#include "npu_math.h"

/*
 * Pointer checks of UBSan would make each of the many unrolled kernels ten times as long to
 * compile.
 */
#define KERNEL __attribute__((no_sanitize("undefined")))
#define INLINE static inline __attribute__((always_inline, unused, no_sanitize("undefined")))

INLINE vf b_load(enum npu_gemm_b type, const char *p)
{
	return type == GEMM_B_F32 ? vf_load((const float *)p) : vf_f16((const npu_u16 *)p);
}

/*
 * The compiler may not turn one pointer and multiples of lda into a pointer for each row: there are
 * not enough registers.
 */
#define OPAQUE(p) __asm__("" : "+r"(p))

/*
 * Rows come in threes: base, base + lda, base + 2 lda are one register each pair of which x86 adds
 * for free.
 */
#define A_BASES	((GEMM_MAX_ROWS + 2) / 3)

INLINE void tile_k(const char *const *pa, ptrdiff_t lda, unsigned int at, const char *b,
		   ptrdiff_t b_panel, enum npu_gemm_b type, unsigned int rows, unsigned int nv,
		   vf (*acc)[4])
{
	unsigned int r, v, size = type == GEMM_B_F32 ? 4 : 2;
	vf bv[4];

#pragma GCC unroll 4
	for (v = 0; v < nv; v++)
		bv[v] = b_load(type, b + (v * VL / 16) * b_panel + (v * VL % 16 + at * 16) * size);
#pragma GCC unroll 24
	for (r = 0; r < rows; r++) {
		vf av = vf_bcast((const float *)(pa[r / 3] + (r % 3) * lda) + at);

#pragma GCC unroll 4
		for (v = 0; v < nv; v++)
			acc[r][v] = vf_fma(av, bv[v], acc[r][v]);
	}
}

INLINE void tile(const struct npu_gemm_tile *t, enum npu_gemm_b type, unsigned int rows,
		 unsigned int nv)
{
	const unsigned int size = type == GEMM_B_F32 ? 4 : 2, unroll = 2;
	const ptrdiff_t lda = t->lda * 4, b_panel = t->b_panel;
	const struct npu_gemm_seg *seg = t->seg, *end = seg + t->num_segs;
	vf acc[GEMM_MAX_ROWS][4];
	const char *pa[A_BASES];
	unsigned int r, v, i;

#pragma GCC unroll 24
	for (r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (v = 0; v < nv; v++)
			acc[r][v] = vf_zero();
	for (; seg < end; seg++) {
		const char *b = (const char *)t->b + seg->b * 16 * (ptrdiff_t)size;
		size_t k = seg->len;

#pragma GCC unroll 8
		for (i = 0; i * 3 < rows; i++) {
			pa[i] = (const char *)(t->a + seg->a) + (ptrdiff_t)i * 3 * lda;
			OPAQUE(pa[i]);
		}
		for (; k >= unroll; k -= unroll) {
#pragma GCC unroll 4
			for (i = 0; i < unroll; i++)
				tile_k(pa, lda, i, b, b_panel, type, rows, nv, acc);
			b += unroll * 16 * size;
#pragma GCC unroll 8
			for (i = 0; i * 3 < rows; i++)
				pa[i] += unroll * 4;
		}
		if (k)
			tile_k(pa, lda, 0, b, b_panel, type, rows, nv, acc);
	}
#pragma GCC unroll 24
	for (r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (v = 0; v < nv; v++)
			vf_store(t->c + (ptrdiff_t)r * t->ldc + v * VL, acc[r][v]);
}

#define TILE_FN(rows, nv, type, tname)								\
	KERNEL static void tile_##rows##_##nv##_##tname(const struct npu_gemm_tile *t)		\
	{											\
		tile(t, type, rows, nv);							\
	}
#define TILE_FNS(rows, nv)				\
	TILE_FN(rows, nv, GEMM_B_F32, f32)		\
	TILE_FN(rows, nv, GEMM_B_F16, f16)

#define TILE_ROW(kind, rows, nv)							\
	[GEMM_B_F32][kind][rows] = tile_##rows##_##nv##_f32,				\
	[GEMM_B_F16][kind][rows] = tile_##rows##_##nv##_f16

static void load_f32(float *dst, const char *src, ptrdiff_t stride, size_t n)
{
	size_t i;

	if (stride == 4) {
		memcpy(dst, src, n * sizeof(*dst));
		return;
	}
	for (i = 0; i < n; i++, src += stride)
		memcpy(&dst[i], src, sizeof(*dst));
}

static void load_f16(float *dst, const char *src, ptrdiff_t stride, size_t n)
{
	npu_u16 h;
	size_t i = 0;

	for (; stride == 2 && i + VL <= n; i += VL)
		vf_store(dst + i, vf_f16((const npu_u16 *)(src + i * 2)));
	for (; i < n; i++) {
		memcpy(&h, src + stride * (ptrdiff_t)i, sizeof(h));
		dst[i] = npu_f16_to_f32(h);
	}
}

static void load_bf16(float *dst, const char *src, ptrdiff_t stride, size_t n)
{
	npu_u16 h;
	size_t i = 0;

	for (; stride == 2 && i + VL <= n; i += VL)
		vf_store(dst + i, vf_bf16((const npu_u16 *)(src + i * 2)));
	for (; i < n; i++) {
		memcpy(&h, src + stride * (ptrdiff_t)i, sizeof(h));
		dst[i] = npu_bf16_to_f32(h);
	}
}
