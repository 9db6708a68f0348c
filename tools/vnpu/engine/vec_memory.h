/* SPDX-License-Identifier: MIT */
/* Part of vec_kernel.h: elements in memory to blocks and back. */

/* One line of n elements; steps in bytes on the memory side and in elements on the block's. */
#define LOAD_LINE(name, type, dtype, expr)							\
static inline void load_##name(dtype *restrict dst, size_t dstep, const char *restrict src,	\
			       npu_s64 step, size_t n, const struct npu_elem *e)		\
{												\
	size_t i;										\
												\
	if (dstep == 1 && step == (npu_s64)sizeof(type)) {					\
		for (i = 0; i < n; i++) {							\
			type c;									\
												\
			memcpy(&c, src + i * sizeof(type), sizeof(c));				\
			dst[i] = (expr);							\
		}										\
		return;										\
	}											\
	if (dstep == 1 && step == 0 && n) {							\
		type c;										\
		dtype v;									\
												\
		memcpy(&c, src, sizeof(c));							\
		v = (expr);									\
		for (i = 0; i < n; i++)								\
			dst[i] = v;								\
		return;										\
	}											\
	for (i = 0; i < n; i++) {								\
		type c;										\
												\
		memcpy(&c, src + (npu_s64)i * step, sizeof(c));					\
		dst[i * dstep] = (expr);							\
	}											\
}

/* 8-bit codes are small, so the difference is exact; of i32 it is taken in 64 bits and rounded. */
#define DEQUANT8(c)	((float)(int32_t)((uint32_t)(int32_t)(c) - (uint32_t)e->zero) * e->scale)
LOAD_LINE(f32, float, float, c)
LOAD_LINE(f16_slow, uint16_t, float, npu_f16_to_f32(c))
LOAD_LINE(bf16, uint16_t, float, npu_bf16_to_f32(c))
LOAD_LINE(i8_slow, int8_t, float, (float)c)
LOAD_LINE(u8_slow, uint8_t, float, (float)c)
LOAD_LINE(i32, int32_t, float, (float)c)
LOAD_LINE(i64, int64_t, float, (float)c)
LOAD_LINE(truth, uint8_t, float, (float)(c != 0))
LOAD_LINE(q8_slow, int8_t, float, DEQUANT8(c))
LOAD_LINE(qu8_slow, uint8_t, float, DEQUANT8(c))
LOAD_LINE(q32, int32_t, float, (float)((int64_t)c - e->zero) * e->scale)
LOAD_LINE(int_i8, int8_t, npu_s64, c)
LOAD_LINE(int_u8, uint8_t, npu_s64, c)
LOAD_LINE(int_i32, int32_t, npu_s64, c)
LOAD_LINE(int_i64, int64_t, npu_s64, c)
LOAD_LINE(int_truth, uint8_t, npu_s64, c != 0)

#define STORE_LINE(name, type, dtype, expr)							\
static inline void store_##name(const dtype *restrict src, size_t sstep, char *restrict dst,	\
				npu_s64 step, size_t n, const struct npu_elem *e)		\
{												\
	size_t i;										\
												\
	if (sstep == 1 && step == (npu_s64)sizeof(type)) {					\
		for (i = 0; i < n; i++) {							\
			dtype v = src[i];							\
			type c = (type)(expr);							\
												\
			memcpy(dst + i * sizeof(type), &c, sizeof(c));				\
		}										\
		return;										\
	}											\
	for (i = 0; i < n; i++) {								\
		dtype v = src[i * sstep];							\
		type c = (type)(expr);								\
												\
		memcpy(dst + (npu_s64)i * step, &c, sizeof(c));					\
	}											\
}

/* Truncation towards zero within [lo, hi], NaN gives 0. */
static inline int32_t trunc8(float v, float lo, float hi)
{
	float c = v < lo ? lo : v > hi ? hi : v;

	return (int32_t)(c != c ? 0.0f : c);
}

static inline int32_t trunc32(float v)
{
	float c = v < -0x1p31f ? -0x1p31f : v >= 0x1p31f ? 0x1.fffffep30f : v;
	int32_t i = (int32_t)(c != c ? 0.0f : c);

	return v >= 0x1p31f ? INT32_MAX : i;
}

static inline int64_t trunc64(float v)
{
	float c = v < -0x1p63f ? -0x1p63f : v >= 0x1p63f ? 0x1.fffffep62f : v;
	int64_t i = (int64_t)(c != c ? 0.0f : c);

	return v >= 0x1p63f ? INT64_MAX : i;
}

/*
 * Rounded to even through the sum with 1.5 * 2^23; whatever is beyond 2^21 is clamped anyway. NaN
 * is the value 0.
 */
static inline int32_t quant8(float v, float scale, int32_t zero, int32_t lo, int32_t hi)
{
	float t = v / scale, c = t < -0x1p21f ? -0x1p21f : t > 0x1p21f ? 0x1p21f : t;
	int32_t r = (int32_t)(npu_bits_f32((c != c ? 0.0f : c) + NPU_ROUND_F32) -
			      npu_bits_f32(NPU_ROUND_F32)) +
		    zero;

	return r < lo ? lo : r > hi ? hi : r;
}

static inline int32_t quant32(float v, float scale, int32_t zero)
{
	float t = v / scale, c = t < -0x1p40f ? -0x1p40f : t > 0x1p40f ? 0x1p40f : t;
	int64_t r = (int64_t)__builtin_rintf(c != c ? 0.0f : c) + zero;

	return (int32_t)(r < INT32_MIN ? INT32_MIN : r > INT32_MAX ? INT32_MAX : r);
}

STORE_LINE(f32, float, float, npu_canon_f32(v))
STORE_LINE(f16_slow, uint16_t, float, npu_f32_to_f16(v))
STORE_LINE(bf16, uint16_t, float, npu_f32_to_bf16(v))
STORE_LINE(i8_slow, int8_t, float, trunc8(v, -128.0f, 127.0f))
STORE_LINE(u8_slow, uint8_t, float, trunc8(v, 0.0f, 255.0f))
STORE_LINE(i32, int32_t, float, trunc32(v))
STORE_LINE(i64, int64_t, float, trunc64(v))
STORE_LINE(truth, uint8_t, float, v != 0.0f)
STORE_LINE(q8_slow, int8_t, float, quant8(v, e->scale, e->zero, -128, 127))
STORE_LINE(qu8_slow, uint8_t, float, quant8(v, e->scale, e->zero, 0, 255))
STORE_LINE(q32, int32_t, float, quant32(v, e->scale, e->zero))
STORE_LINE(int_i8, int8_t, npu_s64, v)
STORE_LINE(int_u8, uint8_t, npu_s64, v)
STORE_LINE(int_i32, int32_t, npu_s64, v)
STORE_LINE(int_i64, int64_t, npu_s64, v)
STORE_LINE(int_truth, uint8_t, npu_s64, v != 0)

#if defined(__AVX2__)
#define CODES_LINES(name, is_signed)								\
static inline void load_##name(float *dst, size_t dstep, const char *src, npu_s64 step, size_t n, \
			       const struct npu_elem *e)					\
{												\
	if (dstep == 1 && step == 1)								\
		load_codes(dst, src, n, e, is_signed);						\
	else											\
		load_##name##_slow(dst, dstep, src, step, n, e);				\
}												\
												\
static inline void store_##name(const float *src, size_t sstep, char *dst, npu_s64 step, size_t n, \
				const struct npu_elem *e)					\
{												\
	if (sstep == 1 && step == 1)								\
		store_codes(src, dst, n, e, is_signed);						\
	else											\
		store_##name##_slow(src, sstep, dst, step, n, e);				\
}
#else
#define CODES_LINES(name, is_signed)								\
static inline void load_##name(float *dst, size_t dstep, const char *src, npu_s64 step, size_t n, \
			       const struct npu_elem *e)					\
{												\
	load_##name##_slow(dst, dstep, src, step, n, e);					\
}												\
												\
static inline void store_##name(const float *src, size_t sstep, char *dst, npu_s64 step, size_t n, \
				const struct npu_elem *e)					\
{												\
	store_##name##_slow(src, sstep, dst, step, n, e);					\
}
#endif

CODES_LINES(i8, true)
CODES_LINES(u8, false)
CODES_LINES(q8, true)
CODES_LINES(qu8, false)

#if defined(__AVX512F__)
static inline void load_f16_dense(float *dst, const char *src, size_t n)
{
	size_t i;

	for (i = 0; i + 16 <= n; i += 16)
		_mm512_storeu_ps(dst + i, _mm512_cvtph_ps(_mm256_loadu_si256(
						  (const __m256i *)(src + 2 * i))));
	if (i < n) {
		__mmask16 m = (__mmask16)((1u << (n - i)) - 1u);
		__m256i h = _mm256_maskz_loadu_epi16(m, src + 2 * i);

		_mm512_mask_storeu_ps(dst + i, m, _mm512_cvtph_ps(h));
	}
}

static inline __m256i half16(__m512 v)
{
	__mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);

	v = _mm512_mask_mov_ps(v, nan, _mm512_castsi512_ps(_mm512_set1_epi32((int)NPU_QNAN_BITS)));
	return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline void store_f16_dense(const float *src, char *dst, size_t n)
{
	size_t i;

	for (i = 0; i + 16 <= n; i += 16)
		_mm256_storeu_si256((__m256i *)(dst + 2 * i), half16(_mm512_loadu_ps(src + i)));
	if (i < n) {
		__mmask16 m = (__mmask16)((1u << (n - i)) - 1u);

		_mm256_mask_storeu_epi16(dst + 2 * i, m, half16(_mm512_maskz_loadu_ps(m, src + i)));
	}
}
#elif defined(__AVX2__)
static inline void load_f16_dense(float *dst, const char *src, size_t n)
{
	size_t i;

	for (i = 0; i + 8 <= n; i += 8)
		_mm256_storeu_ps(dst + i,
				 _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(src + 2 * i))));
	for (; i < n; i++) {
		uint16_t h;

		memcpy(&h, src + 2 * i, sizeof(h));
		dst[i] = npu_f16_to_f32(h);
	}
}

static inline void store_f16_dense(const float *src, char *dst, size_t n)
{
	const __m256 qnan = _mm256_castsi256_ps(_mm256_set1_epi32((int)NPU_QNAN_BITS));
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		__m256 v = _mm256_loadu_ps(src + i);

		v = _mm256_blendv_ps(v, qnan, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
		_mm_storeu_si128((__m128i *)(dst + 2 * i),
				 _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
	}
	for (; i < n; i++) {
		uint16_t h = npu_f32_to_f16(src[i]);

		memcpy(dst + 2 * i, &h, sizeof(h));
	}
}
#else
static inline void load_f16_dense(float *dst, const char *src, size_t n)
{
	load_f16_slow(dst, 1, src, 2, n, NULL);
}

static inline void store_f16_dense(const float *src, char *dst, size_t n)
{
	store_f16_slow(src, 1, dst, 2, n, NULL);
}
#endif

static inline void load_f16(float *dst, size_t dstep, const char *src, npu_s64 step, size_t n,
			    const struct npu_elem *e)
{
	if (dstep == 1 && step == 2)
		load_f16_dense(dst, src, n);
	else
		load_f16_slow(dst, dstep, src, step, n, e);
}

static inline void store_f16(const float *src, size_t sstep, char *dst, npu_s64 step, size_t n,
			     const struct npu_elem *e)
{
	if (sstep == 1 && step == 2)
		store_f16_dense(src, dst, n);
	else
		store_f16_slow(src, sstep, dst, step, n, e);
}

/*
 * A patch line by line: as one line where rows follow each other, along the rows where those are
 * dense in memory.
 */
#define LOAD_PATCH(name, dtype)									\
static void patch_load_##name(dtype *dst, const struct npu_elem *e, const struct npu_patch *s)	\
{												\
	size_t r, c;										\
												\
	if (s->rows == 1 || s->row == s->col * (npu_s64)s->cols) {				\
		load_##name(dst, 1, s->p, s->col, (size_t)s->rows * s->cols, e);		\
	} else if (s->row == (npu_s64)e->size && s->col != s->row) {				\
		for (c = 0; c < s->cols; c++)							\
			load_##name(dst + c, s->cols, s->p + (npu_s64)c * s->col, s->row,	\
				    s->rows, e);						\
	} else {										\
		for (r = 0; r < s->rows; r++)							\
			load_##name(dst + r * s->cols, 1, s->p + (npu_s64)r * s->row, s->col,	\
				    s->cols, e);						\
	}											\
}

#define STORE_PATCH(name, dtype)								\
static void patch_store_##name(const dtype *src, const struct npu_elem *e,			\
			       const struct npu_patch *d)					\
{												\
	size_t r, c;										\
												\
	if (d->rows == 1 || d->row == d->col * (npu_s64)d->cols) {				\
		store_##name(src, 1, d->p, d->col, (size_t)d->rows * d->cols, e);		\
	} else if (d->row == (npu_s64)e->size && d->col != d->row) {				\
		for (c = 0; c < d->cols; c++)							\
			store_##name(src + c, d->cols, d->p + (npu_s64)c * d->col, d->row,	\
				     d->rows, e);						\
	} else {										\
		for (r = 0; r < d->rows; r++)							\
			store_##name(src + r * d->cols, 1, d->p + (npu_s64)r * d->row, d->col,	\
				     d->cols, e);						\
	}											\
}

#define FLOAT_TYPES(X) X(f32) X(f16) X(bf16) X(i8) X(u8) X(i32) X(i64) X(truth) X(q8) X(qu8) X(q32)
#define INT_TYPES(X) X(int_i8) X(int_u8) X(int_i32) X(int_i64) X(int_truth)
#define F_PATCH(name) LOAD_PATCH(name, float) STORE_PATCH(name, float)
#define I_PATCH(name) LOAD_PATCH(name, npu_s64) STORE_PATCH(name, npu_s64)
FLOAT_TYPES(F_PATCH)
INT_TYPES(I_PATCH)

#define FLOAT_SWITCH(what)									\
	switch (e->dtype) {									\
	case NPU_F32:	what(f32);								\
	case NPU_F16:	what(f16);								\
	case NPU_BF16:	what(bf16);								\
	case NPU_I8:	if (e->scale != 0.0f) what(q8); what(i8);				\
	case NPU_U8:	if (e->scale != 0.0f) what(qu8); what(u8);				\
	case NPU_I32:	if (e->scale != 0.0f) what(q32); what(i32);				\
	case NPU_I64:	what(i64);								\
	case NPU_BOOL:	what(truth);								\
	}

static void vec_load(float *dst, const struct npu_elem *e, const struct npu_patch *src)
{
#define CALL(name) do { patch_load_##name(dst, e, src); return; } while (0)
	FLOAT_SWITCH(CALL)
#undef CALL
}

static void vec_store(const float *src, const struct npu_elem *e, const struct npu_patch *dst)
{
#define CALL(name) do { patch_store_##name(src, e, dst); return; } while (0)
	FLOAT_SWITCH(CALL)
#undef CALL
}

#define INT_SWITCH(what)									\
	switch (e->dtype) {									\
	case NPU_I8:	what(int_i8);								\
	case NPU_U8:	what(int_u8);								\
	case NPU_I32:	what(int_i32);								\
	case NPU_I64:	what(int_i64);								\
	case NPU_BOOL:	what(int_truth);							\
	}

static void vec_load_int(npu_s64 *dst, const struct npu_elem *e, const struct npu_patch *src)
{
#define CALL(name) do { patch_load_##name(dst, e, src); return; } while (0)
	INT_SWITCH(CALL)
#undef CALL
}

static void vec_store_int(const npu_s64 *src, const struct npu_elem *e, const struct npu_patch *dst)
{
#define CALL(name) do { patch_store_##name(src, e, dst); return; } while (0)
	INT_SWITCH(CALL)
#undef CALL
}

#if defined(__AVX2__)
/* 8 x 8 elements of 4 bytes. */
static inline void turn8x8_32(char *dst, npu_s64 dst_row, const char *src, npu_s64 src_row)
{
	__m256 r[8], t[8];
	int i;

	for (i = 0; i < 8; i++)
		r[i] = _mm256_loadu_ps((const float *)(src + i * src_row));
	for (i = 0; i < 8; i += 2) {
		t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
		t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
	}
	for (i = 0; i < 8; i += 4) {
		r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
		r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
		r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
		r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
	}
	for (i = 0; i < 4; i++) {
		_mm256_storeu_ps((float *)(dst + i * dst_row),
				 _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
		_mm256_storeu_ps((float *)(dst + (i + 4) * dst_row),
				 _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
	}
}

/* 8 x 8 elements of 2 bytes. */
static inline void turn8x8_16(char *dst, npu_s64 dst_row, const char *src, npu_s64 src_row)
{
	__m128i r[8], t[8];
	int i;

	for (i = 0; i < 8; i++)
		r[i] = _mm_loadu_si128((const __m128i *)(src + i * src_row));
	for (i = 0; i < 8; i += 2) {
		t[i] = _mm_unpacklo_epi16(r[i], r[i + 1]);
		t[i + 1] = _mm_unpackhi_epi16(r[i], r[i + 1]);
	}
	for (i = 0; i < 8; i += 4) {
		r[i] = _mm_unpacklo_epi32(t[i], t[i + 2]);
		r[i + 1] = _mm_unpackhi_epi32(t[i], t[i + 2]);
		r[i + 2] = _mm_unpacklo_epi32(t[i + 1], t[i + 3]);
		r[i + 3] = _mm_unpackhi_epi32(t[i + 1], t[i + 3]);
	}
	for (i = 0; i < 4; i++) {
		_mm_storeu_si128((__m128i *)(dst + 2 * i * dst_row),
				 _mm_unpacklo_epi64(r[i], r[i + 4]));
		_mm_storeu_si128((__m128i *)(dst + (2 * i + 1) * dst_row),
				 _mm_unpackhi_epi64(r[i], r[i + 4]));
	}
}

/* 16 x 16 elements of 1 byte: every step pairs rows that are twice as near in the result. */
static inline void turn16x16_8(char *dst, npu_s64 dst_row, const char *src, npu_s64 src_row)
{
	__m128i a[16], b[16];
	int i;

	for (i = 0; i < 16; i++)
		a[i] = _mm_loadu_si128((const __m128i *)(src + i * src_row));
#define STEP(to, from)								\
	for (i = 0; i < 8; i++) {						\
		to[2 * i] = _mm_unpacklo_epi8(from[i], from[i + 8]);		\
		to[2 * i + 1] = _mm_unpackhi_epi8(from[i], from[i + 8]);	\
	}
	STEP(b, a)
	STEP(a, b)
	STEP(b, a)
	STEP(a, b)
#undef STEP
	for (i = 0; i < 16; i++)
		_mm_storeu_si128((__m128i *)(dst + i * dst_row), a[i]);
}
#endif

#define TURN_SLOW(bits)										\
static inline void turn_slow##bits(char *dst, npu_s64 dst_row, const char *src, npu_s64 src_row,\
				   npu_u32 rows, npu_u32 cols)					\
{												\
	npu_u32 r, c;										\
												\
	for (c = 0; c < cols; c++)								\
		for (r = 0; r < rows; r++)							\
			memcpy(dst + (npu_s64)c * dst_row + r * (bits / 8),			\
			       src + (npu_s64)r * src_row + c * (bits / 8), bits / 8);		\
}
TURN_SLOW(8)
TURN_SLOW(16)
TURN_SLOW(32)
TURN_SLOW(64)

#if !defined(__AVX2__)
/*
 * 8 x 8 elements of 1 byte and 4 x 4 of 2 in words: halves, then quarters, then eighths change
 * sides.
 */
#define TURN_WORDS(name, bits, n)								\
static inline void name(char *dst, npu_s64 dst_row, const char *src, npu_s64 src_row)		\
{												\
	npu_u64 w[n], t, mask = ~0ull;								\
	int i, s;										\
												\
	for (i = 0; i < n; i++)									\
		memcpy(&w[i], src + i * src_row, 8);						\
	for (s = n / 2; s; s /= 2) {								\
		mask ^= mask << (s * bits);							\
		for (i = 0; i < n; i++) {							\
			if (i & s)								\
				continue;							\
			t = (w[i] >> (s * bits) ^ w[i + s]) & mask;				\
			w[i + s] ^= t;								\
			w[i] ^= t << (s * bits);						\
		}										\
	}											\
	for (i = 0; i < n; i++)									\
		memcpy(dst + i * dst_row, &w[i], 8);						\
}
TURN_WORDS(turn8x8_8, 8, 8)
TURN_WORDS(turn4x4_16, 16, 4)
#endif

/* Pieces of @side x @side in registers, the edges one by one. */
#define TRANSPOSE(bits, side)									\
static void transpose##bits(char *dst, npu_s64 dst_row, const char *src, npu_s64 src_row,	\
			    npu_u32 rows, npu_u32 cols)						\
{												\
	npu_u32 r, c, rn = rows - rows % side, cn = cols - cols % side;				\
												\
	for (r = 0; r < rn; r += side)								\
		for (c = 0; c < cn; c += side)							\
			turn##side##x##side##_##bits(dst + (npu_s64)c * dst_row + r * (bits / 8),\
						     dst_row, src + (npu_s64)r * src_row +	\
						     c * (bits / 8), src_row);			\
	if (cn < cols)										\
		turn_slow##bits(dst + (npu_s64)cn * dst_row, dst_row, src + cn * (bits / 8),	\
				src_row, rn, cols - cn);					\
	if (rn < rows)										\
		turn_slow##bits(dst + rn * (bits / 8), dst_row, src + (npu_s64)rn * src_row,	\
				src_row, rows - rn, cols);					\
}
#if defined(__AVX2__)
TRANSPOSE(8, 16)
TRANSPOSE(16, 8)
TRANSPOSE(32, 8)
#else
TRANSPOSE(8, 8)
TRANSPOSE(16, 4)
#define transpose32	turn_slow32
#endif
#define transpose64	turn_slow64

/* Images: three planes of 4-byte elements to one row of triples, and back. */
typedef uint32_t __attribute__((may_alias)) any32;

static void interleave3(char *dst, const char *src, npu_s64 src_row, npu_u32 n)
{
	const any32 *restrict a = (const any32 *)src, *restrict b = (const any32 *)(src + src_row);
	const any32 *restrict c = (const any32 *)(src + 2 * src_row);
	any32 *restrict d = (any32 *)dst;
	npu_u32 i;

	for (i = 0; i < n; i++) {
		d[3 * i] = a[i];
		d[3 * i + 1] = b[i];
		d[3 * i + 2] = c[i];
	}
}

static void separate3(char *dst, npu_s64 dst_row, const char *src, npu_u32 n)
{
	any32 *restrict a = (any32 *)dst, *restrict b = (any32 *)(dst + dst_row),
			*restrict c = (any32 *)(dst + 2 * dst_row);
	const any32 *restrict s = (const any32 *)src;
	npu_u32 i;

	for (i = 0; i < n; i++) {
		a[i] = s[3 * i];
		b[i] = s[3 * i + 1];
		c[i] = s[3 * i + 2];
	}
}

static inline int aligned4(const char *dst, npu_s64 dst_row, const char *src, npu_s64 src_row)
{
	return !(((uintptr_t)dst | (uintptr_t)src | (uintptr_t)dst_row | (uintptr_t)src_row) & 3);
}

static void vec_transpose(char *dst, npu_s64 dst_row, const char *src, npu_s64 src_row,
			  npu_u32 rows, npu_u32 cols, npu_u32 size)
{
	switch (size) {
	case 1:
		transpose8(dst, dst_row, src, src_row, rows, cols);
		break;
	case 2:
		transpose16(dst, dst_row, src, src_row, rows, cols);
		break;
	case 4:
		if (rows == 3 && dst_row == 12 && aligned4(dst, dst_row, src, src_row))
			interleave3(dst, src, src_row, cols);
		else if (cols == 3 && src_row == 12 && aligned4(dst, dst_row, src, src_row))
			separate3(dst, dst_row, src, rows);
		else
			transpose32(dst, dst_row, src, src_row, rows, cols);
		break;
	case 8:
		transpose64(dst, dst_row, src, src_row, rows, cols);
		break;
	}
}

/* d[i] = c[i] ? a[i] : b[i], where a or b may be one element for all of the line. */
#define SELECT(bits)										\
typedef uint##bits##_t __attribute__((may_alias, aligned(1))) any_##bits;			\
static inline void select_line##bits(char *dst, const unsigned char *restrict c, const char *pa,\
				     int a_step, const char *pb, int b_step, size_t n)		\
{												\
	const any_##bits *restrict a = (const any_##bits *)pa;					\
	const any_##bits *restrict b = (const any_##bits *)pb;					\
	any_##bits *restrict d = (any_##bits *)dst;						\
	size_t i;										\
												\
	for (i = 0; i < n; i++) {								\
		uint##bits##_t m = (uint##bits##_t)-(uint##bits##_t)(c[i] != 0);		\
												\
		d[i] = (uint##bits##_t)((a[a_step ? i : 0] & m) | (b[b_step ? i : 0] & ~m));	\
	}											\
}												\
static void select##bits(char *d, const unsigned char *c, const char *a, int a_step, const char *b,\
			 int b_step, size_t n)							\
{												\
	if (a_step && b_step)									\
		select_line##bits(d, c, a, 1, b, 1, n);						\
	else if (a_step)									\
		select_line##bits(d, c, a, 1, b, 0, n);						\
	else if (b_step)									\
		select_line##bits(d, c, a, 0, b, 1, n);						\
	else											\
		select_line##bits(d, c, a, 0, b, 0, n);						\
}
SELECT(8)
SELECT(16)
SELECT(32)
SELECT(64)

static void vec_select(char *dst, const char *cond, const char *a, int a_step, const char *b,
		       int b_step, size_t n, npu_u32 size)
{
	const unsigned char *c = (const unsigned char *)cond;

	switch (size) {
	case 1: select8(dst, c, a, a_step, b, b_step, n); break;
	case 2: select16(dst, c, a, a_step, b, b_step, n); break;
	case 4: select32(dst, c, a, a_step, b, b_step, n); break;
	case 8: select64(dst, c, a, a_step, b, b_step, n); break;
	}
}
