/* SPDX-License-Identifier: MIT */
/*
 * The kernels of codes in groups, included by one file per instruction set, which has defined
 *
 *	vi, vf		16 / NV sums in i32, as many f32
 *	NV		vectors of a panel of 16 outputs, and of a quad of 64 codes
 *	vi_set1(v), vi_bcast(p)		one number, four codes of a row, for all lanes
 *	vf_zero(), vf_set1(v), vf_load(p), vf_store(p, v), vf_mul(a, b), vf_fma(a, b, c), vf_of(vi)
 *	vi_u8(p), vi_i8(p)		bytes
 *	codes_load(w, p, kind, packed, book)	a quad: NV vectors of bytes
 *	VNNI: vi_dot(sum, w, a); else:
 *	vs_dot(w, a)	sums of two products in i16, which codes of up to 6 bits can not overflow
 *	vs_add(a, b), vi_pairs(sum, s)	and on to i32
 *	w_even(w), w_odd(w), a_even(a), a_odd(a), vi_wide(sum, w, a)	the same for codes of 8 bits
 */
#include "grouped.h"

#define KERNEL __attribute__((no_sanitize("undefined")))
#define INLINE static inline __attribute__((always_inline, unused, no_sanitize("undefined")))

#include "grouped_common.h"

/* Bytes of a quad as it lies in a panel. */
INLINE unsigned int quad_bytes(enum npu_gq_kind kind, bool packed)
{
	return !packed || kind == GQ_U8 ? 64 : kind == GQ_U5 ? 40 : kind == GQ_U6 ? 48 : 32;
}

#ifdef VNNI

INLINE void quads_dot(const npu_u8 *w, const npu_u8 *a, ptrdiff_t lda, npu_s64 quads, vi (*sum)[NV],
		      unsigned int rows, enum npu_gq_kind kind, bool packed, const npu_u8 *book)
{
	unsigned int r, v, bytes = quad_bytes(kind, packed);
	vi code[NV];
	npu_s64 q;

#pragma GCC unroll 2
	for (q = 0; q < quads; q++, w += bytes, a += 4) {
		codes_load(code, w, kind, packed, book);
#pragma GCC unroll 16
		for (r = 0; r < rows; r++)
#pragma GCC unroll 2
			for (v = 0; v < NV; v++)
				sum[r][v] = vi_dot(sum[r][v], code[v], vi_bcast(a + r * lda));
	}
}

#else

/* Quads whose sums of two products stay in i16: 15, 31 or 63 times 128, twice, as often. */
INLINE unsigned int quads_in_i16(enum npu_gq_kind kind)
{
	return kind == GQ_U4 ? 8 : kind == GQ_U5 ? 4 : 2;
}

INLINE void quads_small(const npu_u8 *w, const npu_u8 *a, ptrdiff_t lda, npu_s64 quads,
			vi (*sum)[NV], unsigned int rows, enum npu_gq_kind kind, bool packed,
			const npu_u8 *book)
{
	unsigned int r, v, bytes = quad_bytes(kind, packed);
	vi code[NV], s[GQ_MAX_ROWS][NV], p;
	npu_s64 q, n;

	for (; quads > 0; quads -= n) {
		n = quads < quads_in_i16(kind) ? quads : quads_in_i16(kind);
#pragma GCC unroll 16
		for (r = 0; r < rows; r++)
#pragma GCC unroll 2
			for (v = 0; v < NV; v++)
				s[r][v] = vi_set1(0);
		for (q = 0; q < n; q++, w += bytes, a += 4) {
			codes_load(code, w, kind, packed, book);
#pragma GCC unroll 16
			for (r = 0; r < rows; r++) {
				p = vi_bcast(a + r * lda);
#pragma GCC unroll 2
				for (v = 0; v < NV; v++)
					s[r][v] = vs_add(s[r][v], vs_dot(code[v], p));
			}
		}
#pragma GCC unroll 16
		for (r = 0; r < rows; r++)
#pragma GCC unroll 2
			for (v = 0; v < NV; v++)
				sum[r][v] = vi_pairs(sum[r][v], s[r][v]);
	}
}

INLINE void quads_wide(const npu_u8 *w, const npu_u8 *a, ptrdiff_t lda, npu_s64 quads,
		       vi (*sum)[NV], unsigned int rows, enum npu_gq_kind kind, bool packed,
		       const npu_u8 *book)
{
	unsigned int r, v, bytes = quad_bytes(kind, packed);
	vi code[NV], odd[NV], even_a, odd_a;
	npu_s64 q;

	for (q = 0; q < quads; q++, w += bytes, a += 4) {
		codes_load(code, w, kind, packed, book);
#pragma GCC unroll 2
		for (v = 0; v < NV; v++) {
			odd[v] = w_odd(code[v]);
			code[v] = w_even(code[v]);
		}
#pragma GCC unroll 16
		for (r = 0; r < rows; r++) {
			odd_a = vi_bcast(a + r * lda);
			even_a = a_even(odd_a);
			odd_a = a_odd(odd_a);
#pragma GCC unroll 2
			for (v = 0; v < NV; v++)
				sum[r][v] =
					vi_wide(vi_wide(sum[r][v], code[v], even_a), odd[v], odd_a);
		}
	}
}

INLINE void quads_dot(const npu_u8 *w, const npu_u8 *a, ptrdiff_t lda, npu_s64 quads, vi (*sum)[NV],
		      unsigned int rows, enum npu_gq_kind kind, bool packed, const npu_u8 *book)
{
	if (kind == GQ_U8 || kind == GQ_BOOK)
		quads_wide(w, a, lda, quads, sum, rows, kind, packed, book);
	else
		quads_small(w, a, lda, quads, sum, rows, kind, packed, book);
}

#endif

INLINE void group_join(const struct npu_gq_tile *t, npu_s64 g, vi (*sum)[NV], vf (*acc)[NV],
		       unsigned int rows)
{
	const float *scale = t->scale + g * NPU_PANEL, *min = t->min + g * NPU_PANEL;
	unsigned int r, v;
	ptrdiff_t at;

#pragma GCC unroll 16
	for (r = 0; r < rows; r++) {
		at = (ptrdiff_t)r * t->step + g;
#pragma GCC unroll 2
		for (v = 0; v < NV; v++)
			acc[r][v] = vf_fma(vf_of(sum[r][v]),
					   vf_mul(vf_set1(t->a_scale[at]),
						  vf_load(scale + v * 16 / NV)),
					   acc[r][v]);
	}
	if (!t->min)
		return;
#pragma GCC unroll 16
	for (r = 0; r < rows; r++) {
		at = (ptrdiff_t)r * t->step + g;
#pragma GCC unroll 2
		for (v = 0; v < NV; v++)
			acc[r][v] =
				vf_fma(vf_set1(t->a_sum[at]),
				       vf_mul(vf_set1(t->a_scale[at]), vf_load(min + v * 16 / NV)),
				       acc[r][v]);
	}
}

INLINE void tile(const struct npu_gq_tile *t, unsigned int rows, enum npu_gq_kind kind, bool packed)
{
	const npu_u8 *w = t->w, *a = t->a;
	vf acc[GQ_MAX_ROWS][NV];
	vi sum[GQ_MAX_ROWS][NV];
	unsigned int r, v;
	npu_s64 g, quads, q;

#pragma GCC unroll 16
	for (r = 0; r < rows; r++)
#pragma GCC unroll 2
		for (v = 0; v < NV; v++)
			acc[r][v] = vf_zero();
	for (g = 0; g < t->groups; g++) {
		quads = g + 1 < t->groups ? t->quads : t->last;
#pragma GCC unroll 16
		for (r = 0; r < rows; r++)
#pragma GCC unroll 2
			for (v = 0; v < NV; v++)
				sum[r][v] = vi_set1(t->start[(ptrdiff_t)r * t->step + g]);
		for (q = 0; !packed && t->ahead && q < quads; q++)
			__builtin_prefetch(w + q * GQ_QUAD + t->ahead);
		quads_dot(w, a, t->lda, quads, sum, rows, kind, packed, t->book);
		w += quads * quad_bytes(kind, packed);
		a += quads * 4;
		group_join(t, g, sum, acc, rows);
	}
#pragma GCC unroll 16
	for (r = 0; r < rows; r++)
#pragma GCC unroll 2
		for (v = 0; v < NV; v++)
			vf_store(t->c + (ptrdiff_t)r * t->ldc + v * 16 / NV, acc[r][v]);
}

INLINE void unpack(npu_u8 *dst, const npu_u8 *src, npu_s64 quads, enum npu_gq_kind kind,
		   const npu_u8 *book)
{
	vi code[NV];
	unsigned int v;

	for (; quads; quads--, src += quad_bytes(kind, true), dst += GQ_QUAD) {
		codes_load(code, src, kind, true, book);
		for (v = 0; v < NV; v++)
			memcpy(dst + v * 64 / NV, &code[v], 64 / NV);
	}
}

KERNEL static void two_level(float *dst, const npu_u8 *src, bool is_signed, const float *super,
			     npu_s64 groups, npu_s64 per)
{
	unsigned int v;
	npu_s64 end;
	vf f[NV];

	for (; groups > 0; groups -= per, super += NPU_PANEL) {
		for (v = 0; v < NV; v++)
			f[v] = vf_load(super + v * 16 / NV);
		for (end = per < groups ? per : groups; end > 0; end--)
			for (v = 0; v < NV; v++, dst += 16 / NV, src += 16 / NV)
				vf_store(dst,
					 vf_mul(vf_of(is_signed ? vi_i8(src) : vi_u8(src)), f[v]));
	}
}

/* Codes of 8 bits lie one byte each. */
#define PACKED_KINDS(X)	X(U4) X(BOOK) X(U5) X(U6)
#define KINDS(X)	PACKED_KINDS(X) X(U8)

#define FEW(kind, rows)									\
	KERNEL static void few_##kind##_##rows(const struct npu_gq_tile *t)		\
	{										\
		tile(t, rows, GQ_##kind, true);						\
	}
#define MANY(kind, rows)								\
	KERNEL static void many_##kind##_##rows(const struct npu_gq_tile *t)		\
	{										\
		tile(t, rows, GQ_##kind, false);					\
	}
#define UNPACK(kind)									\
	KERNEL static void unpack_##kind(npu_u8 *dst, const npu_u8 *src, npu_s64 quads,	\
					 const npu_u8 *book)				\
	{										\
		unpack(dst, src, quads, GQ_##kind, book);				\
	}
PACKED_KINDS(UNPACK)

#define X(kind) FEW(kind, 1) FEW(kind, 2) FEW(kind, 3) FEW(kind, 4)
KINDS(X)
#undef X

/* Once they are bytes, codes differ by what their products may reach, or not at all. */
#ifdef VNNI
#define BYTES_U4	U8
#define BYTES_U5	U8
#define BYTES_U6	U8
#else
#define BYTES_U4	U4
#define BYTES_U5	U5
#define BYTES_U6	U6
MANY_ROWS(MANY, U4)
MANY_ROWS(MANY, U5)
MANY_ROWS(MANY, U6)
#endif
MANY_ROWS(MANY, U8)
#define BYTES_BOOK	U8
#define BYTES_U8	U8

#define FEW_ENTRY(kind)								\
	[GQ_##kind] = { NULL, few_##kind##_1, few_##kind##_2, few_##kind##_3, few_##kind##_4 },
#define MANY_ENTRY(bytes, rows)	MANY_ENTRY_OF(bytes, rows)
#define MANY_ENTRY_OF(bytes, rows)	[rows] = many_##bytes##_##rows,
#define MANY_ENTRIES(kind)	[GQ_##kind] = { MANY_ROWS(MANY_ENTRY, BYTES_##kind) },

#define GQ_KERNELS									\
	.few = { KINDS(FEW_ENTRY) },							\
	.many = { KINDS(MANY_ENTRIES) },						\
	.unpack = { [GQ_U4] = unpack_U4, [GQ_BOOK] = unpack_BOOK, [GQ_U5] = unpack_U5,	\
		    [GQ_U6] = unpack_U6 },						\
	.sums = sums, .two_level = two_level, .quantize = quantize, .dequant = dequant
