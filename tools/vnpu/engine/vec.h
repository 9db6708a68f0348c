/* SPDX-License-Identifier: MIT */
/*
 * Block kernels: what the operators do to a block of some hundred values in the first-level cache.
 * The operators themselves are written once, in plain C, over these; only the block kernels are
 * compiled per instruction set (vec_portable.c, vec_avx2.c, vec_avx512.c from vec_kernel.h), and
 * all give the same bits.
 */
#ifndef NPU_VEC_H
#define NPU_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include "npu_isa.h"
#include "npu_engine.h"

/* values in a block: 2 KiB as f32, a few of them stay in a 32 KiB cache */
#define NPU_BLOCK	512

/* How an element is stored. */
struct npu_elem {
	npu_u32 dtype;
	npu_u32 size;		/* bytes */
	float scale;		/* integers: 0 is plain */
	npu_s32 zero;
};

/* rows x cols elements; strides in bytes, 0 repeats. */
struct npu_patch {
	char *p;
	npu_s64 row, col;
	npu_u32 rows, cols;
};

/*
 * The same window of @taps of each of @pixels: tap (y, x) of pixel i begins at p + i * pixel + y *
 * step[0] + x * step[1].
 */
struct npu_window {
	const char *p;
	npu_s64 pixel, step[2], col;	/* bytes */
	npu_u32 pixels, cols, taps[2];
	bool begin;			/* what was in the accumulators does not count */
};

enum npu_fold_kind {
	NPU_FOLD_SUM,		/* a + x */
	NPU_FOLD_ABS,		/* a + |x| */
	NPU_FOLD_SQUARE,	/* fma(x, x, a) */
	NPU_FOLD_MAX,
	NPU_FOLD_MIN,
	NPU_FOLD_PROD,
};

/* Of 8-bit operands with a scale each. */
struct npu_codes_binary {
	struct npu_elem out, a, b;
	unsigned int func;	/* enum npu_binary */
	float lo, hi;		/* min(max(v, lo), hi) by single comparisons, as in activations */
	bool b_same;		/* one b for all of a row */
};

/*
 * One colour out of three components: fma(clamp(sum of (component - offset) * weight), mul, add).
 */
struct npu_mix3 {
	const float *offset, *weight;	/* 3 each */
	float limit;			/* what the sum is clamped to from 0 on; 0: it is not */
	float mul, add;
};

/*
 * Where so many values in a row come from: each is made of two bytes, at[i] and
 * at[NPU_NEAR_GROUP + i] bytes behind @base, which are less than NPU_NEAR_BYTES.
 */
#define NPU_NEAR_GROUP	16
#define NPU_NEAR_BYTES	128
struct npu_near {
	npu_u32 base;
	npu_u8 at[2 * NPU_NEAR_GROUP];
};

struct npu_vec {
	/* Memory to f32 (dense, row-major) and back, with conversion. */
	void (*load)(float *dst, const struct npu_elem *e, const struct npu_patch *src);
	void (*store)(const float *src, const struct npu_elem *e, const struct npu_patch *dst);
	/* Plain integers to i64 and back modulo 2^bits. */
	void (*load_int)(npu_s64 *dst, const struct npu_elem *e, const struct npu_patch *src);
	void (*store_int)(const npu_s64 *src, const struct npu_elem *e,
			  const struct npu_patch *dst);

	void (*unary)(float *v, size_t n, unsigned int func);		/* enum npu_unary */
	/* enum npu_binary, into a */
	void (*binary)(float *a, const float *b, size_t n, unsigned int func);
	void (*act)(float *v, size_t n, unsigned int act, float alpha, float beta,
		    const float *slope);
	void (*muladd)(float *v, size_t n, float mul, float add);	/* fma(v, mul, add) */

	/* acc[i] = fold(acc[i], x[i]) */
	void (*fold)(float *acc, const float *x, size_t n, enum npu_fold_kind kind);
	/* load, then fold: acc[i] = fold(acc[i], element i of the patch) */
	void (*load_fold)(float *acc, const struct npu_elem *e, const struct npu_patch *src,
			  enum npu_fold_kind kind);
	/*
	 * acc[i * cols + c] = fold of it (or of npu_fold_start()) and column c of the taps of pixel
	 * i, in order
	 */
	void (*fold_window)(float *acc, const struct npu_elem *e, const struct npu_window *w,
			    enum npu_fold_kind kind);
	/* lane[i % 16] = fold(lane[i % 16], x[i]) in rising i */
	void (*fold16)(float lane[16], const float *x, size_t n, enum npu_fold_kind kind);

	void (*add)(float *v, size_t n, float c);			/* v + c */
	void (*scale)(float *v, size_t n, float c);			/* v * c */
	void (*div)(float *v, size_t n, float c);			/* v / c */
	void (*exp2_scaled)(float *v, size_t n, float sub, float mul);	/* exp2((v - sub) * mul) */
	/* v = fma(b - a, f, a) */
	void (*lerp)(float *v, const float *a, const float *b, size_t n, float f);
	/*
	 * v[i] = fma(b - a, f[i], a), a = src[at[i]], b = src[next[i]]; without f src[at[i]]
	 */
	void (*pick)(float *v, const float *src, const int *at, const int *next, const float *f,
		     size_t n);
	/*
	 * The same out of bytes: group i / NPU_NEAR_GROUP of @near says where, in @size bytes at
	 * @src. @v and @f have room for whole groups. NULL where it is not fast.
	 */
	void (*pick_near)(float *v, const npu_u8 *src, size_t size, const struct npu_near *near,
			  const float *f, size_t n);
	/* Does that cost less than loading the bytes as f32 first? */
	bool (*pick_near_fast)(void);
	/* the sum begins at +0, by fma in the order of the components */
	void (*mix3)(float *v, const float *const component[3], size_t n,
		     const struct npu_mix3 *mix);
	/* v[3 * i + c] = channel[c][i] */
	void (*interleave3)(float *v, const float *const channel[3], size_t n);
	/* acc = fma(x, c, acc) */
	void (*axpy)(float *acc, const float *x, size_t n, float c);
	/* y = v * mul; v = fma(y, g, b), y * g without b, y + b without g, y with neither */
	void (*affine)(float *v, float mul, const float *g, const float *b, size_t n);
	/*
	 * s[j] = dot16(q, k column j) for n columns (a multiple of 16) of kt[d][stride]: element d
	 * of the product goes to lane d % 16 by fma from +0, then the fixed tree.
	 */
	void (*dot16_cols)(float *s, const float *q, const float *kt, npu_u32 depth, npu_u32 stride,
			   npu_u32 n);
	/* acc[d] = fma(w[j], v[j][d], acc[d]) for j in order */
	void (*axpy_rows)(float *acc, const float *w, const float *v, npu_u32 n, npu_u32 depth);
	/* v[i] = exp2((v[i] - sub[i]) * mul) */
	void (*exp2_scaled_cols)(float *v, const float *sub, size_t n, float mul);
	/* dst[i] = table[src[i]]; dst may be src */
	void (*look_up)(npu_u8 *dst, const npu_u8 *src, size_t n, const npu_u8 table[256]);
	/* whether that is faster than any arithmetic */
	bool (*look_up_fast)(void);
	/*
	 * Of three patches of one size, columns one byte apart: p[0] = q(clip(func(p[1], p[2]))),
	 * func add, sub or mul. NULL: there is none.
	 */
	void (*binary_codes)(const struct npu_patch p[3], const struct npu_codes_binary *f);
	/* acc[i] = the larger one of it and code i of the patch, both of type @dtype, i8 or u8 */
	void (*max_codes)(npu_u8 *acc, unsigned int dtype, const struct npu_patch *src);
	/* found[i] += bytes of the n at @p that are code[i] */
	void (*count8)(npu_u64 found[2], const char *p, size_t n, const npu_u8 code[2]);
	/*
	 * dst[c][r] = src[r][c] of 1-, 2-, 4- or 8-byte elements; strides in bytes, columns dense
	 * on both sides
	 */
	void (*transpose)(char *dst, npu_s64 dst_row, const char *src, npu_s64 src_row,
			  npu_u32 rows, npu_u32 cols, npu_u32 size);
	/*
	 * dst[i] = cond[i] ? a[i] : b[i] of 1-, 2-, 4- or 8-byte elements, all dense; with a step
	 * of 0 a[0] or b[0] is for all
	 */
	void (*select)(char *dst, const char *cond, const char *a, int a_step, const char *b,
		       int b_step, size_t n, npu_u32 size);
};

extern const struct npu_vec npu_vec_portable;
#if defined(__x86_64__)
extern const struct npu_vec npu_vec_avx2, npu_vec_avx512;
#endif

static inline const struct npu_vec *npu_vec_get(enum npu_simd simd)
{
#if defined(__x86_64__)
	if (simd == NPU_SIMD_AVX512)
		return &npu_vec_avx512;
	if (simd == NPU_SIMD_AVX2)
		return &npu_vec_avx2;
#endif
	return &npu_vec_portable;
}

/* The fixed end of a 16-lane reduction. */
float npu_lanes_join(float lane[16], enum npu_fold_kind kind);

/* What a lane or an accumulator starts from. */
float npu_fold_start(enum npu_fold_kind kind);

#endif
