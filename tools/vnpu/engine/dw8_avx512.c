// SPDX-License-Identifier: MIT
#include <immintrin.h>
#include "dw8.h"
#include "npu_act.h"
#include "vec_codes.h"

#define VNNI		__attribute__((target("avx512vnni")))
#define VNNI_INLINE	static inline __attribute__((always_inline, target("avx512vnni")))

#define BLOCK_MAX	12	/* accumulators in registers */
#define QUADS_MAX	10	/* 5 x 5: weights in registers beside them */

VNNI_INLINE void block(const struct npu_dw8_tile *t, const npu_u32 *quad, npu_s32 *c, unsigned int n,
		       unsigned int rows, unsigned int cols, const __m512i *w)
{
	__m512i acc[BLOCK_MAX], start = _mm512_loadu_si512(t->start);
	unsigned int i, q, k;

#pragma GCC unroll 12
	for (i = 0; i < n; i++)
		acc[i] = start;
#pragma GCC unroll 2
	for (q = 0; q < rows; q++) {
#pragma GCC unroll 5
		for (k = 0; k < cols; k++) {
			const npu_u32 *p = quad + q * t->quad_row + k * t->quad_col;

#pragma GCC unroll 12
			for (i = 0; i < n; i++)
				acc[i] = _mm512_dpbusd_epi32(acc[i],
							     _mm512_loadu_si512(p + i * t->step),
							     w[q * cols + k]);
		}
	}
#pragma GCC unroll 12
	for (i = 0; i < n; i++)
		_mm512_storeu_si512(c + i * DW8_LANES, acc[i]);
}

/* Kernels of a known size, their weights in registers. */
VNNI_INLINE void tile_known(const struct npu_dw8_tile *t, unsigned int rows, unsigned int cols)
{
	const npu_u32 *quad = t->quad;
	npu_s32 *c = t->c;
	unsigned int i;
	__m512i w[QUADS_MAX];

#pragma GCC unroll 10
	for (i = 0; i < rows * cols; i++)
		w[i] = _mm512_loadu_si512(t->w + i * t->w_step);
	for (i = 0; i + 8 <= t->count; i += 8)
		block(t, quad + i * t->step, c + i * DW8_LANES, 8, rows, cols, w);
	if (i + 4 <= t->count) {
		block(t, quad + i * t->step, c + i * DW8_LANES, 4, rows, cols, w);
		i += 4;
	}
	for (; i < t->count; i++)
		block(t, quad + i * t->step, c + i * DW8_LANES, 1, rows, cols, w);
}

VNNI_INLINE void block_any(const struct npu_dw8_tile *t, unsigned int first, unsigned int n)
{
	__m512i acc[BLOCK_MAX], start = _mm512_loadu_si512(t->start), w;
	const npu_u32 *next = t->w;
	unsigned int i, q, k;

#pragma GCC unroll 12
	for (i = 0; i < n; i++)
		acc[i] = start;
	for (q = 0; q < t->rows; q++) {
		for (k = 0; k < t->cols; k++, next += t->w_step) {
			const npu_u32 *p = t->quad + q * t->quad_row + k * t->quad_col + first * t->step;

			w = _mm512_loadu_si512(next);
#pragma GCC unroll 12
			for (i = 0; i < n; i++)
				acc[i] = _mm512_dpbusd_epi32(acc[i],
							     _mm512_loadu_si512(p + i * t->step), w);
		}
	}
#pragma GCC unroll 12
	for (i = 0; i < n; i++)
		_mm512_storeu_si512(t->c + (first + i) * DW8_LANES, acc[i]);
}

VNNI static void tile(const struct npu_dw8_tile *t)
{
	unsigned int i = 0;

	if (t->rows == 1 && t->cols == 3) {
		tile_known(t, 1, 3);
	} else if (t->rows == 2 && t->cols == 5) {
		tile_known(t, 2, 5);
	} else {
		for (; i + BLOCK_MAX <= t->count; i += BLOCK_MAX)
			block_any(t, i, BLOCK_MAX);
		for (; i + 4 <= t->count; i += 4)
			block_any(t, i, 4);
		for (; i < t->count; i++)
			block_any(t, i, 1);
	}
}

/* 64 bytes of each row. Unpacking works within 128 bits, so dwords are spread over them first. */
static inline void interleave64(npu_u32 *quad, const __m512i *row)
{
	__m512i lo01 = _mm512_unpacklo_epi8(row[0], row[1]), hi01 = _mm512_unpackhi_epi8(row[0], row[1]);
	__m512i lo23 = _mm512_unpacklo_epi8(row[2], row[3]), hi23 = _mm512_unpackhi_epi8(row[2], row[3]);

	_mm512_storeu_si512(quad, _mm512_unpacklo_epi16(lo01, lo23));
	_mm512_storeu_si512(quad + 16, _mm512_unpackhi_epi16(lo01, lo23));
	_mm512_storeu_si512(quad + 32, _mm512_unpacklo_epi16(hi01, hi23));
	_mm512_storeu_si512(quad + 48, _mm512_unpackhi_epi16(hi01, hi23));
}

static void interleave(npu_u32 *quad, const npu_u8 *const row[4], size_t n, npu_u8 flip)
{
	const __m512i spread = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
	const __m512i bit = _mm512_set1_epi8((char)flip);
	__m512i v[4];
	size_t i;
	int r;

	for (i = 0; i < n; i += 64) {
		__mmask64 m = n - i >= 64 ? ~0ull : (1ull << (n - i)) - 1;

		for (r = 0; r < 4; r++)
			v[r] = _mm512_permutexvar_epi32(
				spread, _mm512_xor_si512(_mm512_maskz_loadu_epi8(m, row[r] + i), bit));
		interleave64(quad + i, v);
	}
}

static void to_real(const struct npu_epi *e, npu_s32 *c, unsigned int count, npu_u32 o)
{
	__m512 scale = _mm512_loadu_ps(e->scale + o);
	__m512i bias = e->ibias ? _mm512_loadu_si512(e->ibias + o) : _mm512_setzero_si512();
	unsigned int i;

	for (i = 0; i < count; i++, c += DW8_LANES)
		_mm512_storeu_ps(c, _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_loadu_si512(c), bias)),
						  scale));
}

CODES_INLINE void to_codes(const struct npu_epi *e, const float *v, unsigned int count,
			   unsigned int n, char *out, ptrdiff_t step, enum codes_way way)
{
	const struct npu_elem elem = { e->out->dtype, 1, e->out->scale, e->out->zero_point };
	const struct codes_q q = codes_q_of(&elem, way);
	const __mmask16 m = (__mmask16)((1u << n) - 1u);
	bool is_signed = elem.dtype == NPU_I8;
	unsigned int i, j, k;
	char code[16];
	__m512 f[4];
	__m512i r[4];

	for (i = 0; i < count; i += k) {
		k = count - i < 4 ? 1 : 4;
		for (j = 0; j < k; j++)
			f[j] = _mm512_loadu_ps(v + (i + j) * DW8_LANES);
		if (k == 4)
			codes_of(r, f, 4, way, &q);
		else
			codes_of(r, f, 1, way, &q);
		for (j = 0; j < k; j++, out += step) {
			if (n == DW8_LANES) {
				codes_put(out, r[j], is_signed);
			} else {
				codes_put(code, r[j], is_signed);
				_mm_mask_storeu_epi8(out, m, _mm_loadu_si128((const __m128i *)code));
			}
		}
	}
}

static void finish(const struct npu_epi *e, npu_s32 *c, unsigned int count, npu_u32 o,
		   unsigned int n, const struct npu_epi_place *place)
{
	float slope[DW8_PIXELS * DW8_LANES], *v = (float *)(void *)c;
	char *out = place->out + o;
	unsigned int i;

	to_real(e, c, count, o);
	for (i = 0; e->slope && i < count; i++)
		memcpy(slope + i * DW8_LANES, e->slope + o, DW8_LANES * sizeof(*slope));
	npu_act_block(v, (size_t)count * DW8_LANES, e->act, e->alpha, e->beta, slope);
	for (i = 0; e->post && i < count * DW8_LANES; i++)
		v[i] = npu_fma_f32(v[i], e->post_mul, e->post_add);
	switch (codes_way_of(e->out->scale)) {
	case CODES_ONE:
		to_codes(e, v, count, n, out, place->out_step, CODES_ONE);
		break;
	case CODES_PRODUCT:
		to_codes(e, v, count, n, out, place->out_step, CODES_PRODUCT);
		break;
	default:
		to_codes(e, v, count, n, out, place->out_step, CODES_QUOTIENT);
	}
}

const struct npu_dw8 npu_dw8_avx512 = {
	.tile = tile,
	.interleave = interleave,
	.finish = finish,
};
