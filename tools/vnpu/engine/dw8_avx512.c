// SPDX-License-Identifier: MIT
#include <immintrin.h>
#include "dw8.h"
#include "npu_act.h"
#include "vec_codes.h"

#define VNNI		__attribute__((target("avx512vnni")))
#define VNNI_INLINE	static inline __attribute__((always_inline, target("avx512vnni")))

#define BLOCK_MAX	12	/* accumulators in registers */
#define QUADS_MAX	10	/* 5 x 5: weights in registers beside them */

VNNI_INLINE void block(const struct npu_dw8_tile *t, const npu_u32 *quad, npu_s32 *c,
		       unsigned int n, unsigned int rows, unsigned int cols, const __m512i *w)
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
			const npu_u32 *p = t->quad + q * t->quad_row + k * t->quad_col +
					   first * t->step;

			w = _mm512_loadu_si512(next);
#pragma GCC unroll 12
			for (i = 0; i < n; i++)
				acc[i] = _mm512_dpbusd_epi32(acc[i],
							     _mm512_loadu_si512(p + i * t->step),
							     w);
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
	__m512i lo01 = _mm512_unpacklo_epi8(row[0], row[1]),
		hi01 = _mm512_unpackhi_epi8(row[0], row[1]);
	__m512i lo23 = _mm512_unpacklo_epi8(row[2], row[3]),
		hi23 = _mm512_unpackhi_epi8(row[2], row[3]);

	_mm512_storeu_si512(quad, _mm512_unpacklo_epi16(lo01, lo23));
	_mm512_storeu_si512(quad + 16, _mm512_unpackhi_epi16(lo01, lo23));
	_mm512_storeu_si512(quad + 32, _mm512_unpacklo_epi16(hi01, hi23));
	_mm512_storeu_si512(quad + 48, _mm512_unpackhi_epi16(hi01, hi23));
}

static void interleave(npu_u32 *quad, const npu_u8 *const row[4], size_t n, npu_u8 flip)
{
	const __m512i spread = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11,
						 15);
	const __m512i bit = _mm512_set1_epi8((char)flip);
	__m512i v[4];
	size_t i;
	int r;

	for (i = 0; i < n; i += 64) {
		__mmask64 m = n - i >= 64 ? ~0ull : (1ull << (n - i)) - 1;

		for (r = 0; r < 4; r++)
			v[r] = _mm512_permutexvar_epi32(
				spread,
				_mm512_xor_si512(_mm512_maskz_loadu_epi8(m, row[r] + i), bit));
		interleave64(quad + i, v);
	}
}

/* Activations of a few operations in registers; the others in a pass of their own. */
static bool act_in_registers(npu_u32 act)
{
	return act == NPU_ACT_NONE || act == NPU_ACT_RELU || act == NPU_ACT_RELU6 ||
	       act == NPU_ACT_CLIP || act == NPU_ACT_HARD_SWISH;
}

CODES_INLINE __m512 act_v(__m512 v, npu_u32 act, __m512 a, __m512 b)
{
	const __m512 zero = _mm512_setzero_ps(), one = _mm512_set1_ps(1.0f);
	__m512 s;

	switch (act) {
	case NPU_ACT_RELU:
		return _mm512_max_ps(zero, v);
	case NPU_ACT_CLIP:
		return _mm512_min_ps(b, _mm512_max_ps(a, v));
	case NPU_ACT_HARD_SWISH:
		s = _mm512_fmadd_ps(v, a, b);
		return _mm512_mul_ps(v, _mm512_min_ps(one, _mm512_max_ps(zero, s)));
	default:
		return v;
	}
}

/* One vector of channels of all pixels. */
struct column {
	const struct npu_epi *e;
	const npu_s32 *c;
	unsigned int count, n;
	npu_u32 o;
	char *out;
	ptrdiff_t step;
	float a, b;	/* of the activation */
	bool real;	/* c holds the values, as f32, already */
};

struct column_v {
	struct codes_q q;
	__m512 scale, a, b;
	__m512i bias;
	bool is_signed;
};

CODES_INLINE void codes_part(char *out, __m512i r, bool is_signed, unsigned int n)
{
	char code[DW8_LANES];

	codes_put(code, r, is_signed);
	_mm_mask_storeu_epi8(out, (__mmask16)((1u << n) - 1u),
			     _mm_loadu_si128((const __m128i *)code));
}

/* f32 or f16, as npu_canon_f32() and npu_f32_to_f16() give them. */
CODES_INLINE void real_put(char *out, __m512 v, npu_u32 dtype, unsigned int n)
{
	const __mmask16 m = (__mmask16)((1u << n) - 1u);
	const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);

	v = _mm512_castsi512_ps(_mm512_mask_set1_epi32(_mm512_castps_si512(v), nan, 0x7fc00000));
	if (dtype == NPU_F32)
		_mm512_mask_storeu_ps(out, m, v);
	else
		_mm256_mask_storeu_epi16(out, m, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT |
								    _MM_FROUND_NO_EXC));
}

CODES_INLINE __m512 column_value(const struct column *k, __m512i r, const struct column_v *x,
				 npu_u32 act)
{
	__m512 v = k->real ? _mm512_castsi512_ps(r) :
			     _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_add_epi32(r, x->bias)),
					   x->scale);

	return act_v(v, act, x->a, x->b);
}

CODES_INLINE void column_real(const struct column *k, npu_u32 act, npu_u32 dtype)
{
	const struct column_v x = {
		.scale = _mm512_loadu_ps(k->e->scale + k->o),
		.bias = k->e->ibias ? _mm512_loadu_si512(k->e->ibias + k->o) :
				      _mm512_setzero_si512(),
		.a = _mm512_set1_ps(k->a),
		.b = _mm512_set1_ps(k->b),
	};
	char *out = k->out;
	unsigned int i;

	for (i = 0; i < k->count; i++, out += k->step)
		real_put(out, column_value(k, _mm512_loadu_si512(k->c + i * DW8_LANES), &x, act),
			 dtype, k->n);
}

/* @m pixels, a constant where this is expanded. */
CODES_INLINE void column_pixels(const struct column *k, const npu_s32 *c, char *out, unsigned int m,
				const struct column_v *x, npu_u32 act, enum codes_way way)
{
	__m512i r[4];
	__m512 v[4];
	unsigned int j;

#pragma GCC unroll 4
	for (j = 0; j < m; j++) {
		r[j] = _mm512_loadu_si512(c + j * DW8_LANES);
		v[j] = column_value(k, r[j], x, act);
	}
	codes_of(r, v, m, way, &x->q);
#pragma GCC unroll 4
	for (j = 0; j < m; j++, out += k->step) {
		if (k->n == DW8_LANES)
			codes_put(out, r[j], x->is_signed);
		else
			codes_part(out, r[j], x->is_signed, k->n);
	}
}

CODES_INLINE void column_way(const struct column *k, npu_u32 act, enum codes_way way)
{
	const struct npu_elem elem = { k->e->out->dtype, 1, k->e->out->scale,
				       k->e->out->zero_point };
	const struct column_v x = {
		.q = codes_q_of(&elem, way),
		.scale = _mm512_loadu_ps(k->e->scale + k->o),
		.bias = k->e->ibias ? _mm512_loadu_si512(k->e->ibias + k->o) :
				      _mm512_setzero_si512(),
		.a = _mm512_set1_ps(k->a),
		.b = _mm512_set1_ps(k->b),
		.is_signed = elem.dtype == NPU_I8,
	};
	const npu_s32 *c = k->c;
	char *out = k->out;
	unsigned int i;

	for (i = 0; i + 4 <= k->count; i += 4, c += 4 * DW8_LANES, out += 4 * k->step)
		column_pixels(k, c, out, 4, &x, act, way);
	for (; i < k->count; i++, c += DW8_LANES, out += k->step)
		column_pixels(k, c, out, 1, &x, act, way);
}

CODES_INLINE void column_act(const struct column *k, npu_u32 act)
{
	if (k->e->out->dtype == NPU_F32) {
		column_real(k, act, NPU_F32);
		return;
	}
	if (k->e->out->dtype == NPU_F16) {
		column_real(k, act, NPU_F16);
		return;
	}
	switch (codes_way_of(k->e->out->scale)) {
	case CODES_ONE:
		column_way(k, act, CODES_ONE);
		break;
	case CODES_PRODUCT:
		column_way(k, act, CODES_PRODUCT);
		break;
	default:
		column_way(k, act, CODES_QUOTIENT);
	}
}

/* Bias, scale, activation and what comes behind it, in place. */
static void to_real(const struct npu_epi *e, npu_s32 *c, unsigned int count, npu_u32 o)
{
	float slope[DW8_PIXELS * DW8_LANES], *v = (float *)(void *)c;
	unsigned int i, j;
	npu_u32 a;

	for (i = 0; i < count; i++) {
		for (j = 0; j < DW8_LANES; j++) {
			memcpy(&a, v + i * DW8_LANES + j, sizeof(a));
			a += e->ibias ? (npu_u32)e->ibias[o + j] : 0;
			v[i * DW8_LANES + j] = (float)(npu_s32)a * e->scale[o + j];
		}
	}
	for (i = 0; e->slope && i < count; i++)
		memcpy(slope + i * DW8_LANES, e->slope + o, DW8_LANES * sizeof(*slope));
	npu_act_block(v, (size_t)count * DW8_LANES, e->act, e->alpha, e->beta, slope);
	for (i = 0; e->post && i < count * DW8_LANES; i++)
		v[i] = npu_fma_f32(v[i], e->post_mul, e->post_add);
}

static void finish(const struct npu_epi *e, npu_s32 *c, unsigned int count, npu_u32 o,
		   unsigned int n, const struct npu_epi_place *place)
{
	struct column k = { .e = e, .c = c, .count = count, .n = n, .o = o,
			    .out = place->out + o * e->out_chan, .step = place->out_step,
			    .a = e->alpha, .b = e->beta };

	if (!act_in_registers(e->act) || e->post) {
		to_real(e, c, count, o);
		k.real = true;
		column_act(&k, NPU_ACT_NONE);
		return;
	}
	switch (e->act) {
	case NPU_ACT_RELU:
		column_act(&k, NPU_ACT_RELU);
		break;
	case NPU_ACT_RELU6:
		k.a = 0.0f;
		k.b = 6.0f;
		column_act(&k, NPU_ACT_CLIP);
		break;
	case NPU_ACT_CLIP:
		column_act(&k, NPU_ACT_CLIP);
		break;
	case NPU_ACT_HARD_SWISH:
		column_act(&k, NPU_ACT_HARD_SWISH);
		break;
	default:
		column_act(&k, NPU_ACT_NONE);
	}
}

const struct npu_dw8 npu_dw8_avx512 = {
	.tile = tile,
	.interleave = interleave,
	.finish = finish,
};
