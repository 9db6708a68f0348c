/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel buffers: memory in context 0, shared with the firmware. */
#ifndef NPU_KBO_H
#define NPU_KBO_H

#include <linux/types.h>

#include <drm/drm_mm.h>

struct npu_device;

/**
 * struct npu_kbo - memory that is mapped in context 0
 * @size: bytes, a multiple of the chunk size
 * @chunk_shift: it is made of pieces of 1 << @chunk_shift bytes
 * @num_chunks: of them
 * @node: place in context 0
 * @chunk: the pieces, each of them contiguous
 */
struct npu_kbo {
	u64 size;
	u32 chunk_shift;
	u32 num_chunks;
	struct drm_mm_node node;
	struct {
		void *cpu;
		dma_addr_t dma;
	} chunk[] __counted_by(num_chunks);
};

int npu_kbo_init(struct npu_device *npu);
void npu_kbo_fini(struct npu_device *npu);

struct npu_kbo *npu_kbo_create(struct npu_device *npu, u64 size, u64 contiguous);
void npu_kbo_destroy(struct npu_device *npu, struct npu_kbo *kbo);

/* Address in context 0. */
static inline u32 npu_kbo_va(const struct npu_kbo *kbo)
{
	return kbo->node.start;
}

/* For the CPU; an object must not cross a chunk. */
static inline void *npu_kbo_at(const struct npu_kbo *kbo, u64 offset)
{
	u64 mask = (1ull << kbo->chunk_shift) - 1;

	return kbo->chunk[offset >> kbo->chunk_shift].cpu + (offset & mask);
}

#endif
