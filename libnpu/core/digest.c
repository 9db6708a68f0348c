// SPDX-License-Identifier: MIT
#include <string.h>
#include "core/digest.h"
#include "npu.h"

static const npu_u32 sha_k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static npu_u32 ror32(npu_u32 v, int n)
{
	return v >> n | v << (32 - n);
}

static void sha_block(struct npu_sha256 *sha, const npu_u8 *p)
{
	npu_u32 w[64], s[8];
	int i;

	for (i = 0; i < 16; i++)
		w[i] = (npu_u32)p[4 * i] << 24 | p[4 * i + 1] << 16 | p[4 * i + 2] << 8 |
		       p[4 * i + 3];
	for (; i < 64; i++) {
		npu_u32 a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + w[i - 7] + (ror32(a, 7) ^ ror32(a, 18) ^ a >> 3) +
		       (ror32(b, 17) ^ ror32(b, 19) ^ b >> 10);
	}
	memcpy(s, sha->state, sizeof(s));
	for (i = 0; i < 64; i++) {
		npu_u32 t1 = s[7] + (ror32(s[4], 6) ^ ror32(s[4], 11) ^ ror32(s[4], 25)) +
			     ((s[4] & s[5]) ^ (~s[4] & s[6])) + sha_k[i] + w[i];
		npu_u32 t2 = (ror32(s[0], 2) ^ ror32(s[0], 13) ^ ror32(s[0], 22)) +
			     ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

		memmove(s + 1, s, 7 * sizeof(*s));
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (i = 0; i < 8; i++)
		sha->state[i] += s[i];
}

void npu_sha256_init(struct npu_sha256 *sha)
{
	*sha = (struct npu_sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void npu_sha256_update(struct npu_sha256 *sha, const void *data, size_t size)
{
	size_t fill = sha->len % 64, n;
	const npu_u8 *p = data;

	if (!size)
		return;
	sha->len += size;
	if (fill) {
		n = size < 64 - fill ? size : 64 - fill;
		memcpy(sha->block + fill, p, n);
		if (fill + n < 64)
			return;
		sha_block(sha, sha->block);
		p += n;
		size -= n;
	}
	for (; size >= 64; p += 64, size -= 64)
		sha_block(sha, p);
	memcpy(sha->block, p, size);
}

void npu_sha256_final(struct npu_sha256 *sha, npu_u8 digest[32])
{
	static const npu_u8 pad[64] = { 0x80 };
	npu_u64 bits = sha->len * 8;
	npu_u8 tail[8];
	int i;

	npu_sha256_update(sha, pad, 1 + (119 - sha->len % 64) % 64);
	for (i = 0; i < 8; i++)
		tail[i] = bits >> (56 - 8 * i);
	npu_sha256_update(sha, tail, 8);
	for (i = 0; i < 32; i++)
		digest[i] = sha->state[i / 4] >> (24 - 8 * (i % 4));
}

void npu_sha256_hex(const npu_u8 digest[32], char hex[65])
{
	static const char digits[] = "0123456789abcdef";
	int i;

	for (i = 0; i < 32; i++) {
		hex[2 * i] = digits[digest[i] >> 4];
		hex[2 * i + 1] = digits[digest[i] & 15];
	}
	hex[64] = 0;
}

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

static void xxh_seed(struct npu_xxh64 *xxh, npu_u64 seed)
{
	*xxh = (struct npu_xxh64){ .seed = seed,
				   .acc = { seed + XXH_P1 + XXH_P2, seed + XXH_P2, seed,
					    seed - XXH_P1 } };
}

void npu_xxh64_init(struct npu_xxh64 *xxh)
{
	xxh_seed(xxh, 0);
}

uint64_t npu_digest(const void *data, size_t size, uint64_t seed)
{
	struct npu_xxh64 xxh;

	xxh_seed(&xxh, seed);
	npu_xxh64_update(&xxh, data, size);
	return npu_xxh64_final(&xxh);
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
