// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>
#include "reference_tensor.h"

/* ggml's numbers of types. */
enum {
	F32 = 0, F16 = 1, Q4_0 = 2, Q4_1 = 3, Q5_0 = 6, Q5_1 = 7, Q8_0 = 8, Q4_K = 12, Q5_K = 13,
	Q6_K = 14, IQ4_NL = 20, BF16 = 30,
};

static double half(const uint8_t *p)
{
	int u = p[0] | p[1] << 8, exp = u >> 10 & 31, man = u & 1023;
	double v = exp ? ldexp(1024 + man, exp - 25) : ldexp(man, -24);

	return u & 0x8000 ? -v : v;
}

double reference_half(double v)
{
	uint64_t u;

	if (fabs(v) < 0x1p-14)
		return rint(v * 0x1p24) * 0x1p-24;
	/* 10 of the 52 bits behind the point stay; a carry goes into the exponent */
	memcpy(&u, &v, 8);
	u += (1ull << 41) - 1 + (u >> 42 & 1);
	u &= ~0ull << 42;
	memcpy(&v, &u, 8);
	return v;
}

/* Blocks of 32: code @i of 4 bits, the first 16 in the low halves. */
static int low_four(const uint8_t *p, int i)
{
	return p[i % 16] >> 4 * (i / 16) & 15;
}

static int bit(const uint8_t *p, int i)
{
	return p[i / 8] >> i % 8 & 1;
}

static double iq4_nl(const uint8_t *p, int i)
{
	static const int8_t level[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
					  1, 13, 25, 38, 53, 69, 89, 113 };

	return half(p) * level[low_four(p + 2, i)];
}

/* Factor @j of a block of Q4_K, or with @min its minimum: of 6 bits each, eight of both. */
static int packed_six(const uint8_t *p, int j, bool min)
{
	p += min ? 4 : 0;
	if (j < 4)
		return p[j] & 63;
	return (min ? p[j] >> 4 : p[j + 4] & 15) | p[j - 4] >> 6 << 4;
}

/* Q4_K, and Q5_K with a fifth bit of each code at @high. */
static double q45_k(const uint8_t *p, const uint8_t *low, const uint8_t *high, int i)
{
	int part = i / 32, code = low[32 * (part / 2) + i % 32] >> 4 * (part % 2) & 15;

	if (high)
		code |= (high[i % 32] >> part & 1) << 4;
	return half(p) * packed_six(p + 4, part, false) * code -
	       half(p + 2) * packed_six(p + 4, part, true);
}

static double q6_k(const uint8_t *p, int i)
{
	const uint8_t *high = p + 128 + i / 128 * 32;
	int in = i % 128, code = p[i / 128 * 64 + in % 64] >> 4 * (in / 64) & 15;

	code |= (high[in % 32] >> 2 * (in / 32) & 3) << 4;
	return half(p + 208) * (int8_t)p[192 + i / 16] * (code - 32);
}

static double bits(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return (double)f;
}

/* Element @k of a block at @p. */
static double in_block(uint32_t type, const uint8_t *p, int k)
{
	switch (type) {
	case Q8_0:
		return half(p) * (int8_t)p[2 + k];
	case Q4_0:
		return half(p) * (low_four(p + 2, k) - 8);
	case Q4_1:
		return half(p) * low_four(p + 4, k) + half(p + 2);
	case Q5_0:
		return half(p) * ((low_four(p + 6, k) | bit(p + 2, k) << 4) - 16);
	case Q5_1:
		return half(p) * (low_four(p + 8, k) | bit(p + 4, k) << 4) + half(p + 2);
	case IQ4_NL:
		return iq4_nl(p, k);
	case Q4_K:
		return q45_k(p, p + 16, NULL, k);
	case Q5_K:
		return q45_k(p, p + 48, p + 16, k);
	default:
		return q6_k(p, k);
	}
}

static int block_bytes(uint32_t type)
{
	static const uint8_t bytes[] = {
		[Q8_0] = 34, [Q4_0] = 18, [Q4_1] = 20, [Q5_0] = 22, [Q5_1] = 24, [IQ4_NL] = 18,
		[Q4_K] = 144, [Q5_K] = 176, [Q6_K] = 210,
	};

	return type < sizeof(bytes) ? bytes[type] : 0;
}

int reference_block(const struct npu_gguf_tensor *t)
{
	if (t->type == F16)
		return 1;
	if (!block_bytes(t->type))
		return 0;
	return t->type == Q4_K || t->type == Q5_K || t->type == Q6_K ? 256 : 32;
}

double reference_element(const struct npu_gguf_tensor *t, uint64_t i)
{
	const uint8_t *p = t->data;
	uint64_t block;
	uint32_t u;

	switch (t->type) {
	case F32:
		memcpy(&u, p + 4 * i, 4);
		return bits(u);
	case F16:
		return half(p + 2 * i);
	case BF16:
		return bits((uint32_t)(p[2 * i] | p[2 * i + 1] << 8) << 16);
	}
	if (!block_bytes(t->type))
		return NAN;
	block = (uint64_t)reference_block(t);
	return in_block(t->type, p + i / block * (uint64_t)block_bytes(t->type), (int)(i % block));
}
