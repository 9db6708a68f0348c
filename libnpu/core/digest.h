/* SPDX-License-Identifier: MIT */
/* SHA-256 (FIPS 180-4) for files; XXH64, for the digests of tensors, comes from the engine. */
#ifndef NPU_CORE_DIGEST_H
#define NPU_CORE_DIGEST_H

#include <stddef.h>
#include "npu_isa.h"
#include "xxh64.h"

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

#endif
