/* SPDX-License-Identifier: MIT */
/*
 * Translations of a context, in chunks of 2 MiB of its address space. All functions are called with
 * the context's lock.
 */
#ifndef NPU_TLB_H
#define NPU_TLB_H

#include "mmu.h"

#define NPU_CHUNK_SHIFT		NPU_MMU_LARGE_SHIFT
#define NPU_CHUNK_SIZE		(1ull << NPU_CHUNK_SHIFT)
#define NPU_PAGE_SIZE		(1ull << NPU_MMU_PAGE_SHIFT)
#define NPU_CHUNK_PAGES		512u

/* In npu_tlb_page.entry beside NPU_PTE_*: the guest's IOMMU allows writing, too. */
#define NPU_TLB_HOST_WRITE	0x20ull

/* entry 0: no translation is known. */
struct npu_tlb_page {
	npu_u64 entry;			/* DMA address | NPU_PTE_* | NPU_TLB_HOST_WRITE */
	char *host;
};

/* A bit per page. */
struct npu_chunk_bits {
	npu_u64 word[NPU_CHUNK_PAGES / 64];
};

struct npu_tlb_chunk {
	npu_u64 tag;			/* address >> NPU_CHUNK_SHIFT */
	struct npu_tlb_chunk *next;	/* in the bucket */
	npu_u64 first, last;		/* bounds of the DMA addresses in it */
	bool large;			/* whole is one translation, page is not looked at */
	/* in page[] are parts of one that was large in the tables */
	bool split;
	struct npu_tlb_page whole;
	struct npu_tlb_page *page;	/* NPU_CHUNK_PAGES, or NULL */
	/*
	 * Of the mirror windows that show it (mirror.c): where the present translation is mapped,
	 * and where an old one still is, because a doomed hold uses it or nobody has swept yet.
	 */
	struct npu_chunk_bits mapped[2], stale[2];
};

static inline bool npu_bit_get(const struct npu_chunk_bits *b, unsigned int i)
{
	return b->word[i / 64] >> (i % 64) & 1;
}

static inline void npu_bit_put(struct npu_chunk_bits *b, unsigned int i, bool on)
{
	b->word[i / 64] = (b->word[i / 64] & ~(1ull << (i % 64))) | (npu_u64)on << (i % 64);
}

struct npu_tlb_chunk *npu_tlb_find(struct npu_mmu_context *c, npu_u64 tag);
/* Page @i of @chunk; entry 0 where none is known. */
struct npu_tlb_page npu_tlb_page(const struct npu_tlb_chunk *chunk, unsigned int i);
/* Are the pages of @chunk parts of one translation, which goes as a whole? */
static inline bool npu_tlb_is_one(const struct npu_tlb_chunk *chunk)
{
	return chunk->large || chunk->split;
}
/* Whether a translation allows NPU_ACCESS_*. */
bool npu_tlb_allows(struct npu_mmu *mmu, npu_u64 entry, npu_u32 access);

/*
 * Walk the tables for pages @first to @last of the chunk with @tag that are not known. Pages that
 * have no translation stay unknown. Returns the chunk, or NULL when there is no memory for it or no
 * table for any of it. Counts walks into *@walks.
 */
struct npu_tlb_chunk *npu_tlb_fill(struct npu_mmu *mmu, struct npu_mmu_context *c, npu_u64 tag,
				   unsigned int first, unsigned int last, npu_u64 *walks);

/*
 * Forget what touches [va, va + size), or what leads to DMA addresses [first, last]; the latter
 * dooms the holds that use it. Mirrors of it become stale.
 */
void npu_tlb_drop_va(struct npu_mmu *mmu, struct npu_mmu_context *c, npu_u64 va, npu_u64 size);
void npu_tlb_drop_dma(struct npu_mmu *mmu, struct npu_mmu_context *c, npu_u64 first, npu_u64 last);
/*
 * Unmap what is stale and not in use any more, and free chunks of which nothing is left. Without
 * the lock, which is taken for a bucket at a time.
 */
void npu_tlb_sweep(struct npu_mmu *mmu, struct npu_mmu_context *c);
/* Everything; there are no holds. */
void npu_tlb_free_all(struct npu_mmu *mmu, struct npu_mmu_context *c);

/* mmu.c: does a hold of a client in @c cover a part of [va, va + size); only doomed ones? */
bool npu_mmu_held(struct npu_mmu *mmu, const struct npu_mmu_context *c, npu_u64 va, npu_u64 size,
		  bool doomed);
/* mmu.c: doom the holds that do. */
void npu_mmu_doom(struct npu_mmu *mmu, struct npu_mmu_context *c, npu_u64 va, npu_u64 size,
		  npu_u32 why);

/* ---- mirror.c ---- */

/*
 * Map [va, va + size), all pages of which are known, into the window of @start. False: there can be
 * no view of it.
 */
bool npu_mirror_map(struct npu_mmu *mmu, struct npu_mmu_context *c, npu_u64 start, npu_u64 va,
		    npu_u64 size);
/* The view of [va, va + size) if all of it is mapped, or NULL. */
char *npu_mirror_find(struct npu_mmu_context *c, npu_u64 va, npu_u64 size);
/* Pages @first to @last of @chunk have no translation any more; mmu->stale asks for the sweep. */
void npu_mirror_drop(struct npu_mmu *mmu, struct npu_mmu_context *c, struct npu_tlb_chunk *chunk,
		     unsigned int first, unsigned int last);
/* Take down windows that were mapped in and unmapped so often that nobody knows what is left. */
void npu_mirror_renew(struct npu_mmu *mmu, struct npu_mmu_context *c);
/* Unmap what is stale in @chunk and not in use. */
void npu_mirror_sweep(struct npu_mmu *mmu, struct npu_mmu_context *c, struct npu_tlb_chunk *chunk);
/* Take the windows away, with the lock, and free them, without. */
struct npu_mirror_window *npu_mirror_detach(struct npu_mmu_context *c);
void npu_mirror_free(struct npu_mmu *mmu, struct npu_mirror_window *list);

#endif
