/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4) for files, XXH64 for the digests of tensors. */
#ifndef NPU_CORE_DIGEST_H
#define NPU_CORE_DIGEST_H

#include <stddef.h>
#include "npu_isa.h"

struct npu_sha256 {
	npu_u32 state[8];
	npu_u64 len;
	npu_u8 block[64];
};

void npu_sha256_init(struct npu_sha256 *sha);
void npu_sha256_update(struct npu_sha256 *sha, const void *data, size_t size);
void npu_sha256_final(struct npu_sha256 *sha, npu_u8 digest[32]);

/* @hex gets 64 digits and a NUL. */
void npu_sha256_hex(const npu_u8 digest[32], char hex[65]);

/* XXH64 with seed 0, fed piece by piece. */
struct npu_xxh64 {
	npu_u64 acc[4], seed;
	npu_u64 len;
	npu_u8 block[32];
};

void npu_xxh64_init(struct npu_xxh64 *xxh);
void npu_xxh64_update(struct npu_xxh64 *xxh, const void *data, size_t size);
npu_u64 npu_xxh64_final(const struct npu_xxh64 *xxh);

#endif
