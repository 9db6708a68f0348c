// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: invalidation
 *
 * Translations are forgotten by writing a sequence number to a register; the device stores it in
 * the events page when no access by an old translation is left. That may take as long as the
 * instruction that uses the range. Memory is freed only then, or after a reset of the device, or
 * when the device can not reach memory any more. What is only made valid needs none of this, as the
 * device keeps no entry that is not valid.
 */
#include <linux/dmapool.h>

#include <drm/drm_print.h>

#include "npu_device.h"
#include "npu_hw.h"
#include "npu_job.h"
#include "npu_mmu.h"
#include "npu_reset.h"

/* A job that uses the range is stopped after NPU_JOB_LIMIT_MS at the latest. */
#define NPU_MMU_INV_MS		(NPU_JOB_LIMIT_MS + 5000)
/* No engine runs. */
#define NPU_MMU_INV_IDLE_MS	1000
/* In case the interrupt got lost. */
#define NPU_MMU_INV_POLL_MS	100

int npu_mmu_init(struct npu_device *npu)
{
	mutex_init(&npu->mmu.inv_lock);
	mutex_init(&npu->mmu.ctx_lock);
	__set_bit(NPU_KERNEL_CONTEXT, npu->mmu.ctx_used);
	npu->mmu.pool = dma_pool_create("npu-pt", npu->base.dev, SZ_4K, SZ_4K, 0);

	return npu->mmu.pool ? 0 : -ENOMEM;
}

void npu_mmu_fini(struct npu_device *npu)
{
	dma_pool_destroy(npu->mmu.pool);
	npu->mmu.pool = NULL;
}

/**
 * npu_mmu_context_alloc() - reserve a context
 * @npu: device
 * @vm: whose
 *
 * Return: its number, or -ENOSPC.
 */
int npu_mmu_context_alloc(struct npu_device *npu, struct npu_vm *vm)
{
	unsigned long context;

	guard(mutex)(&npu->mmu.ctx_lock);
	context = find_first_zero_bit(npu->mmu.ctx_used, npu->caps.num_contexts);
	if (context >= npu->caps.num_contexts)
		return -ENOSPC;

	__set_bit(context, npu->mmu.ctx_used);
	npu->mmu.vms[context] = vm;

	return context;
}

void npu_mmu_context_free(struct npu_device *npu, u32 context)
{
	guard(mutex)(&npu->mmu.ctx_lock);
	npu->mmu.vms[context] = NULL;
	__clear_bit(context, npu->mmu.ctx_used);
}

static void npu_mmu_inv_write(struct npu_device *npu, u32 context, u64 va, u64 size)
{
	npu_hw_write64(npu, NPU_REG_INV_VA, va);
	npu_hw_write64(npu, NPU_REG_INV_SIZE, size);
	npu_hw_write(npu, NPU_REG_INV_CONTEXT, context);
	npu_hw_write(npu, NPU_REG_INV_SEQ, npu->mmu.inv_seq);
}

static bool npu_mmu_inv_done(struct npu_device *npu)
{
	return READ_ONCE(npu->hw.events->inv_seq) == npu->mmu.inv_seq;
}

/* Looks are counted, as in npu_fw_ctl_wait(). */
static int npu_mmu_inv_wait(struct npu_device *npu, unsigned int timeout_ms)
{
	unsigned int looks = DIV_ROUND_UP(timeout_ms, NPU_MMU_INV_POLL_MS);

	while (!npu_mmu_inv_done(npu)) {
		wait_event_timeout(npu->irq.wait,
				   npu_mmu_inv_done(npu) || npu_reset_is_coming(npu),
				   msecs_to_jiffies(NPU_MMU_INV_POLL_MS));
		if (npu_mmu_inv_done(npu))
			break;
		/* A reset does the same. */
		if (npu_reset_is_coming(npu))
			return -EAGAIN;
		if (!--looks)
			return -ETIMEDOUT;
	}
	dma_rmb();

	return 0;
}

static int npu_mmu_invalidate_locked(struct npu_device *npu, u32 context, u64 va, u64 size,
				     unsigned int timeout_ms)
{
	lockdep_assert_held(&npu->hw.lock);

	guard(mutex)(&npu->mmu.inv_lock);
	npu->mmu.inv_seq++;
	npu_mmu_inv_write(npu, context, va, size);

	return npu_mmu_inv_wait(npu, timeout_ms);
}

/**
 * npu_mmu_invalidate() - forget translations, and wait until no access by them is under way
 * @npu: device
 * @context: number
 * @va: first address
 * @size: bytes, 0: all of the context
 *
 * Does not fail: a device that does not answer is reset, one that can not be reset can not reach
 * memory any more.
 */
void npu_mmu_invalidate(struct npu_device *npu, u32 context, u64 va, u64 size)
{
	int ret = 0;

	down_read(&npu->hw.lock);
	if (npu->hw.online)
		ret = npu_mmu_invalidate_locked(npu, context, va, size, NPU_MMU_INV_MS);
	up_read(&npu->hw.lock);
	if (!ret)
		return;

	/* -EAGAIN: one is coming already. */
	if (ret == -ETIMEDOUT)
		npu_reset_request(npu, "invalidation is not acknowledged");
	npu_reset_wait(npu);
}

static void npu_mmu_write_root(struct npu_device *npu, u32 context)
{
	npu_hw_write64(npu, NPU_REG_ROOT(context), npu->hw.roots[context]);
}

/**
 * npu_mmu_set_root() - give a context its page tables, or take them away
 * @npu: device
 * @context: number
 * @root: npu_pt_root(), or 0
 *
 * Takes effect before it returns.
 */
void npu_mmu_set_root(struct npu_device *npu, u32 context, u64 root)
{
	down_read(&npu->hw.lock);
	WRITE_ONCE(npu->hw.roots[context], root);
	if (npu->hw.online)
		npu_mmu_write_root(npu, context);
	up_read(&npu->hw.lock);

	npu_mmu_invalidate(npu, context, 0, 0);
}

/**
 * npu_mmu_start() - tell the device about all contexts, after a reset
 * @npu: device
 *
 * Return: 0, or -ETIMEDOUT when an invalidation is not acknowledged.
 */
int npu_mmu_start(struct npu_device *npu)
{
	u32 context;
	int ret;

	lockdep_assert_held_write(&npu->hw.lock);

	for (context = 0; context < npu->caps.num_contexts; context++) {
		if (!npu->hw.roots[context])
			continue;
		npu_mmu_write_root(npu, context);
		ret = npu_mmu_invalidate_locked(npu, context, 0, 0, NPU_MMU_INV_IDLE_MS);
		if (ret) {
			drm_err(&npu->base, "context %u: invalidation is not acknowledged\n",
				context);
			return ret;
		}
	}

	return 0;
}
