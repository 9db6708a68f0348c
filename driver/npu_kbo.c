// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel buffers: rings, logs, save areas. They are made of as few contiguous pieces as there are
 * to be had: large pages are cheap to map and to translate, small ones can always be found.
 */
#include <linux/dma-mapping.h>
#include <linux/log2.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>

#include "npu_device.h"
#include "npu_kbo.h"
#include "npu_mmu.h"
#include "npu_pt.h"

int npu_kbo_init(struct npu_device *npu)
{
	int ret;

	mutex_init(&npu->kernel.lock);
	ret = npu_pt_init(&npu->kernel.pt, npu, NPU_KERNEL_CONTEXT);
	if (ret)
		return ret;

	drm_mm_init(&npu->kernel.mm, NPU_KERNEL_VA_START, NPU_KERNEL_VA_END - NPU_KERNEL_VA_START);
	npu_mmu_set_root(npu, NPU_KERNEL_CONTEXT, npu_pt_root(&npu->kernel.pt));

	return 0;
}

void npu_kbo_fini(struct npu_device *npu)
{
	npu_mmu_set_root(npu, NPU_KERNEL_CONTEXT, 0);
	drm_mm_takedown(&npu->kernel.mm);
	npu_pt_fini(&npu->kernel.pt);
}

static void npu_kbo_free(struct npu_device *npu, struct npu_kbo *kbo)
{
	u32 i;

	for (i = 0; i < kbo->num_chunks && kbo->chunk[i].cpu; i++)
		dma_free_coherent(npu->base.dev, 1ul << kbo->chunk_shift, kbo->chunk[i].cpu,
				  kbo->chunk[i].dma);
	kfree(kbo);
}

static struct npu_kbo *npu_kbo_alloc(struct npu_device *npu, u64 size, u32 chunk_shift)
{
	u32 i, num_chunks = DIV_ROUND_UP_ULL(size, 1ull << chunk_shift);
	struct npu_kbo *kbo;

	kbo = kzalloc(struct_size(kbo, chunk, num_chunks), GFP_KERNEL);
	if (!kbo)
		return NULL;

	kbo->num_chunks = num_chunks;
	kbo->chunk_shift = chunk_shift;
	kbo->size = (u64)num_chunks << chunk_shift;
	for (i = 0; i < num_chunks; i++) {
		kbo->chunk[i].cpu = dma_alloc_coherent(npu->base.dev, 1ul << chunk_shift,
						       &kbo->chunk[i].dma,
						       GFP_KERNEL | __GFP_NOWARN);
		if (!kbo->chunk[i].cpu) {
			npu_kbo_free(npu, kbo);
			return NULL;
		}
	}

	return kbo;
}

static int npu_kbo_map_chunk(struct npu_device *npu, struct npu_kbo *kbo, u32 i, bool prepare,
			     struct npu_pt_gather *gather)
{
	u64 size = 1ull << kbo->chunk_shift, va = kbo->node.start + i * size;
	struct scatterlist sg;
	struct sg_table sgt = { .sgl = &sg, .nents = 1, .orig_nents = 1 };

	sg_init_table(&sg, 1);
	sg_dma_address(&sg) = kbo->chunk[i].dma;
	sg_dma_len(&sg) = size;
	if (prepare)
		return npu_pt_prepare(&npu->kernel.pt, va, size, &sgt, 0);

	npu_pt_map(&npu->kernel.pt, va, size, &sgt, 0, NPU_PTE_READ | NPU_PTE_WRITE, gather);

	return 0;
}

static int npu_kbo_map(struct npu_device *npu, struct npu_kbo *kbo)
{
	struct npu_pt *pt = &npu->kernel.pt;
	struct npu_pt_gather gather;
	int ret = 0;
	u32 i;

	guard(mutex)(&npu->kernel.lock);
	ret = drm_mm_insert_node_generic(&npu->kernel.mm, &kbo->node, kbo->size,
					 1ull << kbo->chunk_shift, 0, DRM_MM_INSERT_BEST);
	if (ret)
		return ret;

	npu_pt_gather_init(&gather);
	for (i = 0; i < kbo->num_chunks && !ret; i++)
		ret = npu_kbo_map_chunk(npu, kbo, i, true, &gather);
	for (i = 0; i < kbo->num_chunks && !ret; i++)
		ret = npu_kbo_map_chunk(npu, kbo, i, false, &gather);
	if (ret) {
		npu_pt_prune(pt, kbo->node.start, kbo->size, &gather);
		drm_mm_remove_node(&kbo->node);
	}
	npu_pt_gather_flush(pt, &gather);

	return ret;
}

/**
 * npu_kbo_create() - allocate memory and map it in context 0
 * @npu: device
 * @size: bytes
 * @contiguous: pieces of so many bytes must be contiguous, a power of two
 *
 * The memory is zero.
 *
 * Return: it, or an error pointer (-ENOMEM, -ENOSPC).
 */
struct npu_kbo *npu_kbo_create(struct npu_device *npu, u64 size, u64 contiguous)
{
	static const u64 sizes[] = { SZ_2M, SZ_64K, SZ_4K };
	u64 want = roundup_pow_of_two(max_t(u64, size, PAGE_SIZE)), last = 0, chunk;
	struct npu_kbo *kbo = NULL;
	int i, ret;

	contiguous = max_t(u64, contiguous, PAGE_SIZE);
	for (i = 0; i < ARRAY_SIZE(sizes) && !kbo; i++) {
		chunk = max(min(want, sizes[i]), contiguous);
		if (chunk == last)
			continue;
		last = chunk;
		kbo = npu_kbo_alloc(npu, size, ilog2(chunk));
	}
	if (!kbo)
		return ERR_PTR(-ENOMEM);

	ret = npu_kbo_map(npu, kbo);
	if (ret) {
		npu_kbo_free(npu, kbo);
		return ERR_PTR(ret);
	}

	return kbo;
}

/**
 * npu_kbo_destroy() - unmap and free it
 * @npu: device
 * @kbo: of npu_kbo_create(), or NULL, or an error pointer
 */
void npu_kbo_destroy(struct npu_device *npu, struct npu_kbo *kbo)
{
	struct npu_pt_gather gather;

	if (IS_ERR_OR_NULL(kbo))
		return;

	scoped_guard(mutex, &npu->kernel.lock) {
		npu_pt_gather_init(&gather);
		npu_pt_unmap(&npu->kernel.pt, kbo->node.start, kbo->size, &gather);
		npu_pt_prune(&npu->kernel.pt, kbo->node.start, kbo->size, &gather);
		npu_pt_gather_flush(&npu->kernel.pt, &gather);
		drm_mm_remove_node(&kbo->node);
	}
	npu_kbo_free(npu, kbo);
}
