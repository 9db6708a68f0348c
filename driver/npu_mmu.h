/* SPDX-License-Identifier: GPL-2.0-only */
/* Contexts: their page-table roots, and invalidation of translations. */
#ifndef NPU_MMU_H
#define NPU_MMU_H

#include <linux/types.h>

struct npu_device;
struct npu_vm;

int npu_mmu_init(struct npu_device *npu);
void npu_mmu_fini(struct npu_device *npu);

int npu_mmu_context_alloc(struct npu_device *npu, struct npu_vm *vm);
void npu_mmu_context_free(struct npu_device *npu, u32 context);

void npu_mmu_set_root(struct npu_device *npu, u32 context, u64 root);
int npu_mmu_start(struct npu_device *npu);
void npu_mmu_invalidate(struct npu_device *npu, u32 context, u64 va, u64 size);

#endif
