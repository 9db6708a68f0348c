// SPDX-License-Identifier: MIT
#include "core.h"

static void copy_do(struct npu_vdev_core *core, const struct npu_service_copy *copy)
{
	bool ok = npu_mcu_load(&core->mcu, copy->src, copy->dst, copy->size);

	npu_reg_set(&core->regs, NPU_REG_FW_COPY, ok ? NPU_FW_COPY_DONE : NPU_FW_COPY_ERROR);
}

static void inv_do(struct npu_vdev_core *core, const struct npu_service_inv *inv)
{
	npu_mmu_invalidate(&core->mmu, inv->context, inv->va, inv->size);
	/* Nobody waits for it any more. */
	if (atomic_load(&core->service.resets) & NPU_RESET_DEVICE)
		return;
	npu_events_invalidated(core, inv->seq);
}

static void resets_do(struct npu_vdev_core *core, npu_u32 which)
{
	struct npu_service *s = &core->service;
	unsigned int i;

	if (which & NPU_RESET_DEVICE) {
		npu_reset_finish(core);
		which |= atomic_load(&s->resets);
	} else {
		for (i = 0; i < core->config.engines; i++)
			if (which & NPU_RESET_ENGINE(i))
				npu_unit_reset_finish(&core->unit[i]);
	}
	pthread_mutex_lock(&s->lock);
	/* What was asked for again meanwhile goes on. */
	which &= ~(s->todo | s->starting);
	if (which & NPU_RESET_DEVICE)
		atomic_store(&core->mmu.frozen, false);
	atomic_fetch_and(&s->resets, ~which);
	pthread_mutex_unlock(&s->lock);
}

/* One thing to do. Called with the lock, which is dropped meanwhile. */
static void serve(struct npu_vdev_core *core)
{
	struct npu_service *s = &core->service;
	struct npu_service_copy copy = s->copy;
	struct npu_service_inv inv = s->inv;
	npu_u32 todo = s->todo;

	if (todo) {
		s->todo = 0;
		pthread_mutex_unlock(&s->lock);
		resets_do(core, todo);
		pthread_mutex_lock(&s->lock);
	} else if (s->copy_todo) {
		s->copy_todo = false;
		pthread_mutex_unlock(&s->lock);
		copy_do(core, &copy);
		pthread_mutex_lock(&s->lock);
		s->copy_busy = false;
	} else if (s->sweep_todo && !s->inv_todo) {
		s->sweep_todo = false;
		pthread_mutex_unlock(&s->lock);
		npu_mmu_sweep(&core->mmu);
		pthread_mutex_lock(&s->lock);
	} else {
		/* The driver may ask for the next one as soon as it hears of this one's end. */
		s->inv_todo = false;
		s->sweep_todo = true;
		pthread_mutex_unlock(&s->lock);
		inv_do(core, &inv);
		pthread_mutex_lock(&s->lock);
	}
}

static void *service_run(void *arg)
{
	struct npu_vdev_core *core = arg;
	struct npu_service *s = &core->service;

	pthread_mutex_lock(&s->lock);
	while (!s->quit) {
		if (s->todo || s->copy_todo || s->inv_todo || s->sweep_todo)
			serve(core);
		else
			pthread_cond_wait(&s->wake, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int npu_service_init(struct npu_vdev_core *core)
{
	struct npu_service *s = &core->service;
	int ret;

	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	ret = -pthread_create(&s->thread, NULL, service_run, core);
	if (ret) {
		pthread_cond_destroy(&s->wake);
		pthread_mutex_destroy(&s->lock);
	}
	return ret;
}

void npu_service_fini(struct npu_vdev_core *core)
{
	struct npu_service *s = &core->service;

	pthread_mutex_lock(&s->lock);
	s->quit = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
}

void npu_service_reset_start(struct npu_vdev_core *core, npu_u32 which)
{
	struct npu_service *s = &core->service;

	/* Not apart from each other: one that ends now would call the device READY. */
	pthread_mutex_lock(&s->lock);
	s->starting |= which;
	atomic_fetch_or(&s->resets, which);
	pthread_mutex_unlock(&s->lock);
}

void npu_service_reset(struct npu_vdev_core *core, npu_u32 which)
{
	struct npu_service *s = &core->service;

	pthread_mutex_lock(&s->lock);
	s->starting &= ~which;
	s->todo |= which;
	if (which & NPU_RESET_DEVICE)
		s->inv_todo = s->copy_todo = s->copy_busy = false;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
}

bool npu_service_invalidate(struct npu_vdev_core *core, const struct npu_service_inv *inv)
{
	struct npu_service *s = &core->service;
	bool ok;

	pthread_mutex_lock(&s->lock);
	ok = !s->inv_todo;
	if (ok) {
		s->inv = *inv;
		s->inv_todo = true;
		pthread_cond_signal(&s->wake);
	}
	pthread_mutex_unlock(&s->lock);
	return ok;
}

void npu_service_sweep(struct npu_vdev_core *core)
{
	struct npu_service *s = &core->service;

	pthread_mutex_lock(&s->lock);
	s->sweep_todo = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
}

bool npu_service_copy(struct npu_vdev_core *core, const struct npu_service_copy *copy)
{
	struct npu_service *s = &core->service;
	bool ok;

	pthread_mutex_lock(&s->lock);
	ok = !s->copy_busy;
	if (ok) {
		s->copy = *copy;
		s->copy_todo = s->copy_busy = true;
		npu_reg_set(&core->regs, NPU_REG_FW_COPY, NPU_FW_COPY_BUSY);
		pthread_cond_signal(&s->wake);
	}
	pthread_mutex_unlock(&s->lock);
	return ok;
}
