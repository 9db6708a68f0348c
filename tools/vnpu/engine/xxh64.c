// SPDX-License-Identifier: MIT
#include <string.h>
#include "xxh64.h"

#define XXH_P1	0x9e3779b185ebca87ull
#define XXH_P2	0xc2b2ae3d27d4eb4full
#define XXH_P3	0x165667b19e3779f9ull
#define XXH_P4	0x85ebca77c2b2ae63ull
#define XXH_P5	0x27d4eb2f165667c5ull

static npu_u64 rol64(npu_u64 v, int n)
{
	return v << n | v >> (64 - n);
}

static npu_u64 xxh_round(npu_u64 acc, npu_u64 v)
{
	return rol64(acc + v * XXH_P2, 31) * XXH_P1;
}

static void xxh_block(struct npu_xxh64 *xxh, const npu_u8 *p)
{
	npu_u64 v[4];
	int i;

	memcpy(v, p, sizeof(v));
	for (i = 0; i < 4; i++)
		xxh->acc[i] = xxh_round(xxh->acc[i], v[i]);
}

void npu_xxh64_init(struct npu_xxh64 *xxh, npu_u64 seed)
{
	*xxh = (struct npu_xxh64){ .seed = seed,
				   .acc = { seed + XXH_P1 + XXH_P2, seed + XXH_P2, seed,
					    seed - XXH_P1 } };
}

void npu_xxh64_update(struct npu_xxh64 *xxh, const void *data, size_t size)
{
	size_t fill = xxh->len % 32, n;
	const npu_u8 *p = data;

	if (!size)
		return;
	xxh->len += size;
	if (fill) {
		n = size < 32 - fill ? size : 32 - fill;
		memcpy(xxh->block + fill, p, n);
		if (fill + n < 32)
			return;
		xxh_block(xxh, xxh->block);
		p += n;
		size -= n;
	}
	for (; size >= 32; p += 32, size -= 32)
		xxh_block(xxh, p);
	memcpy(xxh->block, p, size);
}

npu_u64 npu_xxh64_final(const struct npu_xxh64 *xxh)
{
	const npu_u8 *p = xxh->block, *end = p + xxh->len % 32;
	npu_u64 h = xxh->seed + XXH_P5, v;
	npu_u32 w;
	int i;

	if (xxh->len >= 32) {
		h = rol64(xxh->acc[0], 1) + rol64(xxh->acc[1], 7) + rol64(xxh->acc[2], 12) +
		    rol64(xxh->acc[3], 18);
		for (i = 0; i < 4; i++)
			h = (h ^ xxh_round(0, xxh->acc[i])) * XXH_P1 + XXH_P4;
	}
	h += xxh->len;
	for (; end - p >= 8; p += 8) {
		memcpy(&v, p, 8);
		h = rol64(h ^ xxh_round(0, v), 27) * XXH_P1 + XXH_P4;
	}
	for (; end - p >= 4; p += 4) {
		memcpy(&w, p, 4);
		h = rol64(h ^ w * XXH_P1, 23) * XXH_P2 + XXH_P3;
	}
	for (; p < end; p++)
		h = rol64(h ^ *p * XXH_P5, 11) * XXH_P1;
	h = (h ^ h >> 33) * XXH_P2;
	h = (h ^ h >> 29) * XXH_P3;
	return h ^ h >> 32;
}
