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

uint64_t npu_digest(const void *data, size_t size, uint64_t seed)
{
	struct npu_xxh64 xxh;

	npu_xxh64_init(&xxh, seed);
	npu_xxh64_update(&xxh, data, size);
	return npu_xxh64_final(&xxh);
}
