/* SPDX-License-Identifier: MIT */
/* XXH64, fed piece by piece: what a tensor's digest is made with. */
#ifndef NPU_XXH64_H
#define NPU_XXH64_H

#include <stddef.h>
#include "npu_isa.h"

struct npu_xxh64 {
	npu_u64 acc[4], seed;
	npu_u64 len;
	npu_u8 block[32];
};

void npu_xxh64_init(struct npu_xxh64 *xxh, npu_u64 seed);
void npu_xxh64_update(struct npu_xxh64 *xxh, const void *data, size_t size);
npu_u64 npu_xxh64_final(const struct npu_xxh64 *xxh);

#endif
