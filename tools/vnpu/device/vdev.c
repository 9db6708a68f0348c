// SPDX-License-Identifier: MIT
/* The device as a whole: configuration, faults, log, what is kept. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "vdev_priv.h"

#define LOG_LINES_PER_SECOND	200u

npu_u64 vdev_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (npu_u64)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static const struct { const char *name; npu_u32 min, max; } config_range[] = {
#define X(name, min, max) { #name, min, max },
	NPU_VDEV_CONFIG_RANGES(X)
#undef X
};

int npu_vdev_config_check(const struct npu_vdev_config *config, char *why, size_t size)
{
	const npu_u32 value[] = {
#define X(name, min, max) config->name,
		NPU_VDEV_CONFIG_RANGES(X)
#undef X
	};
	unsigned int i;

	for (i = 0; i < sizeof(value) / sizeof(*value); i++) {
		if (value[i] >= config_range[i].min && value[i] <= config_range[i].max)
			continue;
		snprintf(why, size, "%s is %u, it must be %u to %u", config_range[i].name, value[i],
			 config_range[i].min, config_range[i].max);
		return -EINVAL;
	}
	if (config->sram_size % 4096) {
		snprintf(why, size, "sram_size is %u, it must be a multiple of 4096",
			 config->sram_size);
		return -EINVAL;
	}
	return 0;
}

void vdev_count(struct npu_vdev *dev, enum vdev_counter c)
{
	atomic_fetch_add_explicit(&dev->sh->counter[c], 1, memory_order_relaxed);
}

bool npu_vdev_fault_armed(struct npu_vdev *dev, enum npu_vdev_fault id)
{
	return atomic_load_explicit(&dev->sh->armed[id], memory_order_relaxed) != 0;
}

bool npu_vdev_fault_take(struct npu_vdev *dev, enum npu_vdev_fault id)
{
	_Atomic int *armed = &dev->sh->armed[id];
	int n = atomic_load_explicit(armed, memory_order_relaxed);

	while (n > 0 && !atomic_compare_exchange_weak(armed, &n, n - 1))
		;
	if (!n)
		return false;
	atomic_fetch_add_explicit(&dev->sh->taken[id], 1, memory_order_relaxed);
	return true;
}

bool vdev_removed(struct npu_vdev *dev)
{
	return npu_vdev_fault_armed(dev, NPU_VDEV_FAULT_REMOVAL);
}

void *npu_vdev_keep(struct npu_vdev *dev)
{
	return dev->sh->keep;
}

void vdev_kick(struct npu_vdev *dev)
{
	npu_u64 one = 1;

	/* Not to be written to any more: then it is read soon anyway. */
	if (write(dev->kick_fd, &one, sizeof(one)) < 0)
		return;
}

void npu_vdev_dma_kick(struct npu_vdev *dev)
{
	vdev_kick(dev);
}

/* So many lines a second at most: what a guest does must not fill a disk. */
static bool log_allowed(struct npu_vdev *dev, npu_u64 now_us)
{
	bool ok;

	pthread_mutex_lock(&dev->log_lock);
	if (dev->log_second != now_us / 1000000) {
		dev->log_second = now_us / 1000000;
		dev->log_lines = 0;
	}
	ok = dev->log_lines++ < LOG_LINES_PER_SECOND;
	pthread_mutex_unlock(&dev->log_lock);
	return ok;
}

void npu_vdev_log(struct npu_vdev *dev, const char *fmt, ...)
{
	npu_u64 now = vdev_now_us();
	char line[512];
	va_list ap;
	int n, m, i;

	if (dev->opt.log_fd < 0)
		return;
	if (!log_allowed(dev, now)) {
		vdev_count(dev, VDEV_COUNT_LOG_LOST);
		return;
	}
	n = snprintf(line, sizeof(line), "[%5llu.%06llu] ", (unsigned long long)(now / 1000000),
		     (unsigned long long)(now % 1000000));
	va_start(ap, fmt);
	m = vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	va_end(ap);
	n += m < (int)sizeof(line) - n - 1 ? m : (int)sizeof(line) - n - 2;
	/* What a client sent may stand in it. */
	for (i = 0; i < n; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	line[n++] = '\n';
	/* A log that can not be written is no reason to stop. */
	if (write(dev->opt.log_fd, line, n) < 0)
		return;
}
