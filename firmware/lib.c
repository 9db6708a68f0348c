// SPDX-License-Identifier: MIT
/* What the compiler expects to find, and division of 64-bit numbers, which the MCU has not. */
#include "fw.h"

npu_u64 fw_div(npu_u64 n, npu_u32 d, npu_u32 *rem)
{
	npu_u64 quotient = 0, r = 0;
	int i;

	if (!(n >> 32)) {
		*rem = (npu_u32)n % d;
		return (npu_u32)n / d;
	}
	for (i = 63; i >= 0; i--) {
		r = r << 1 | (n >> i & 1);
		if (r >= d) {
			r -= d;
			quotient |= 1ull << i;
		}
	}
	*rem = (npu_u32)r;
	return quotient;
}

#ifndef FW_HOST

void *memset(void *to, int c, size_t n);
void *memcpy(void *to, const void *from, size_t n);

/* Nearly all that is set and copied is structures: words while both are aligned. */
static bool words(const void *a, const void *b)
{
	return !(((npu_u32)a | (npu_u32)b) & 3);
}

void *memset(void *to, int c, size_t n)
{
	npu_u32 word = (npu_u8)c * 0x01010101u, *w = to;
	npu_u8 *p;

	for (; words(w, NULL) && n >= 16; n -= 16, w += 4)
		w[0] = w[1] = w[2] = w[3] = word;
	for (; words(w, NULL) && n >= 4; n -= 4)
		*w++ = word;
	for (p = (npu_u8 *)w; n; n--)
		*p++ = (npu_u8)c;
	return to;
}

void *memcpy(void *to, const void *from, size_t n)
{
	const npu_u32 *v = from;
	npu_u32 *w = to;
	const npu_u8 *q;
	npu_u8 *p;

	for (; words(v, w) && n >= 16; n -= 16, v += 4, w += 4) {
		w[0] = v[0];
		w[1] = v[1];
		w[2] = v[2];
		w[3] = v[3];
	}
	for (; words(v, w) && n >= 4; n -= 4)
		*w++ = *v++;
	for (p = (npu_u8 *)w, q = (const npu_u8 *)v; n; n--)
		*p++ = *q++;
	return to;
}

#endif
