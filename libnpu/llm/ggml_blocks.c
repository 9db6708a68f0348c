// SPDX-License-Identifier: MIT
/*
 * Blocks of ggml's types. Bits are as the files have them; numbers in a block lie lowest byte first
 * at any address.
 */
#include <errno.h>
#include <string.h>
#include "llm/ggml_blocks.h"
#include "npu_grouped.h"
#include "npu_half.h"

static uint16_t le16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

/* 16 bytes: lower halves are elements 0-15, upper ones 16-31. */
static void nibbles32(uint8_t *code, const uint8_t *q)
{
	unsigned int i;

	for (i = 0; i < 16; i++) {
		code[i] = q[i] & 15;
		code[16 + i] = q[i] >> 4;
	}
}

/* Fifth bits of 32 elements, in order. */
static void fifth32(uint8_t *code, const uint8_t *h)
{
	unsigned int i;

	for (i = 0; i < 32; i++)
		code[i] |= (uint8_t)((h[i / 8] >> i % 8 & 1) << 4);
}

/* Eight scales and eight minimums of 6 bits in 12 bytes. */
static void factors_k(const uint8_t *s, struct npu_ggml_block *b)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		b->scale[i] = s[i] & 63;
		b->min[i] = s[i + 4] & 63;
		b->scale[i + 4] = (s[i + 8] & 15) | s[i] >> 6 << 4;
		b->min[i + 4] = s[i + 8] >> 4 | s[i + 4] >> 6 << 4;
	}
}

/* 32 bytes for each 64 elements, lower halves first. @high: a bit plane for each 32 elements. */
static void codes_k(uint8_t *code, const uint8_t *q, const uint8_t *high)
{
	unsigned int i, c;

	for (c = 0; c < 8; c++) {
		for (i = 0; i < 32; i++) {
			code[c * 32 + i] = q[c / 2 * 32 + i] >> c % 2 * 4 & 15;
			if (high)
				code[c * 32 + i] |= (high[i] >> c & 1) << 4;
		}
	}
}

/* @ql: four bits, 64 bytes for each 128 elements; @qh: two bits, 32 bytes. */
static void codes_6k(uint8_t *code, const uint8_t *ql, const uint8_t *qh)
{
	unsigned int half, part, i;

	for (half = 0; half < 2; half++, ql += 64, qh += 32, code += 128) {
		for (part = 0; part < 4; part++) {
			for (i = 0; i < 32; i++)
				code[part * 32 + i] =
					(uint8_t)((ql[part % 2 * 32 + i] >> part / 2 * 4 & 15) |
						  (qh[i] >> part * 2 & 3) << 4);
		}
	}
}

static void read_k(const uint8_t *s, struct npu_ggml_block *b, bool five)
{
	b->super[0] = le16(s);
	/* the block's minimums are subtracted, the instruction's added */
	b->super[1] = le16(s + 2) ^ 0x8000;
	factors_k(s + 4, b);
	codes_k(b->code, s + (five ? 48 : 16), five ? s + 16 : NULL);
}

static void read_6k(const uint8_t *s, struct npu_ggml_block *b)
{
	unsigned int i;

	codes_6k(b->code, s, s + 128);
	for (i = 0; i < 16; i++)
		b->scale[i] = s[192 + i];
	b->super[0] = le16(s + 208);
}

void npu_ggml_block_read(const struct npu_ggml_traits *t, const uint8_t *s,
			 struct npu_ggml_block *b)
{
	unsigned int i;

	b->scale[0] = le16(s);
	switch (t->type) {
	case NPU_GGML_Q4_0:
	case NPU_GGML_IQ4_NL:
		nibbles32(b->code, s + 2);
		return;
	case NPU_GGML_Q4_1:
		b->min[0] = le16(s + 2);
		nibbles32(b->code, s + 4);
		return;
	case NPU_GGML_Q5_0:
		nibbles32(b->code, s + 6);
		fifth32(b->code, s + 2);
		return;
	case NPU_GGML_Q5_1:
		b->min[0] = le16(s + 2);
		nibbles32(b->code, s + 8);
		fifth32(b->code, s + 4);
		return;
	case NPU_GGML_Q8_0:
		for (i = 0; i < 32; i++)
			b->code[i] = s[2 + i] ^ 0x80;
		return;
	case NPU_GGML_Q4_K:
	case NPU_GGML_Q5_K:
		read_k(s, b, t->type == NPU_GGML_Q5_K);
		return;
	default:
		read_6k(s, b);
	}
}

/* 64 codes, a byte each, as a quad of the panel. */
static void quad_put(uint8_t *dst, const uint8_t *c, unsigned int bits)
{
	unsigned int i, j;

	if (bits == 8) {
		memcpy(dst, c, 64);
		return;
	}
	for (i = 0; i < 32; i++)
		dst[i] = (uint8_t)((c[i] & 15) | c[32 + i] << 4);
	if (bits == 6)
		for (i = 0; i < 16; i++)
			dst[32 + i] = (uint8_t)(c[i] >> 4 | c[16 + i] >> 4 << 2 |
						c[32 + i] >> 4 << 4 | c[48 + i] >> 4 << 6);
	for (i = 0; bits == 5 && i < 8; i++)
		for (j = 0, dst[32 + i] = 0; j < 8; j++)
			dst[32 + i] |= (uint8_t)(c[8 * i + j] >> 4 << j);
}

void npu_weight_panel(uint8_t *panel, unsigned int bits, const uint8_t *codes, size_t step,
		      unsigned int rows, uint32_t cols)
{
	unsigned int quad = npu_grouped_quad_bytes(bits), lane, n;
	uint8_t c[64];
	uint32_t k;

	for (k = 0; k < cols; k += 4, panel += quad) {
		n = cols - k < 4 ? cols - k : 4;
		memset(c, 0, sizeof(c));
		for (lane = 0; lane < rows; lane++)
			memcpy(c + 4 * lane, codes + lane * step + k, n);
		quad_put(panel, c, bits);
	}
}

void npu_weight_factor(uint8_t *at, enum npu_dtype type, size_t index, uint32_t bits)
{
	unsigned int bytes = npu_dtype_bits(type) / 8, i;

	for (i = 0; i < bytes; i++)
		at[index * bytes + i] = (uint8_t)(bits >> 8 * i);
}

/* A block to f32, as the instructions have it: each product is exact but for the last rounding. */
static void block_values(const struct npu_ggml_traits *t, const struct npu_ggml_block *b,
			 float *dst)
{
	const struct npu_weight_format *f = &t->format;
	float scale, min = 0, code;
	unsigned int i, g;

	for (i = 0; i < t->block; i++) {
		g = i / f->group;
		if (f->super) {
			scale = npu_half_widen(b->super[0]) *
				(float)(f->scale == NPU_I8 ? (int8_t)b->scale[g] : b->scale[g]);
			min = f->min ? npu_half_widen(b->super[1]) * (float)b->min[g] : 0;
		} else {
			scale = npu_half_widen(b->scale[g]);
			min = f->min ? npu_half_widen(b->min[g]) : 0;
		}
		code = (float)(f->book ? f->book[b->code[i]] : (int)b->code[i] - f->zero);
		dst[i] = f->min ? __builtin_fmaf(code, scale, min) : code * scale;
	}
}

static void floats_read(const struct npu_ggml_traits *t, const uint8_t *s, float *dst, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++, s += t->bytes) {
		if (t->type == NPU_GGML_F32)
			dst[i] = npu_half_f32(le16(s) | (npu_u32)le16(s + 2) << 16);
		else if (t->type == NPU_GGML_F16)
			dst[i] = npu_half_widen(le16(s));
		else
			dst[i] = npu_bfloat_widen(le16(s));
	}
}

int npu_ggml_dequantize(uint32_t type, const void *src, size_t src_size, float *dst, size_t count)
{
	const struct npu_ggml_traits *t = npu_ggml_traits(type);
	const uint8_t *s = src;
	struct npu_ggml_block b;
	size_t i;

	if (!t)
		return -ENOTSUP;
	if (count % t->block || count / t->block > src_size / t->bytes)
		return -EINVAL;
	if (!t->format.group) {
		floats_read(t, s, dst, count);
		return 0;
	}
	for (i = 0; i < count; i += t->block, s += t->bytes) {
		npu_ggml_block_read(t, s, &b);
		block_values(t, &b, dst + i);
	}
	return 0;
}
