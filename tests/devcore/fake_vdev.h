/* SPDX-License-Identifier: MIT */
/*
 * A transport for tests of the core: guest memory in a memfd, a table of DMA addresses page by
 * page, interrupts that are counted. Stands in for the functions of vdev.h.
 */
#ifndef TESTS_DEVICE_FAKE_VDEV_H
#define TESTS_DEVICE_FAKE_VDEV_H

#include <pthread.h>
#include <stdatomic.h>
#include "vdev.h"

#define FAKE_PAGES	(1u << 17)		/* of guest memory: 512 MiB, most of it not used */
#define FAKE_IOVA_PAGES	(1u << 18)
#define FAKE_IOVA_BASE	0x100000000ull		/* of page 0: nothing is below */

typedef void (*fake_on_log)(struct npu_vdev *dev, void *ctx);

struct npu_vdev {
	int fd;
	unsigned char *mem;
	/* Protects map, writable and num_pins. */
	pthread_mutex_t lock;
	npu_u32 map[FAKE_IOVA_PAGES];		/* page of guest memory + 1; 0: not mapped */
	unsigned char writable[FAKE_IOVA_PAGES];
	atomic_bool bus_master;
	atomic_int num_pins;
	atomic_uint irqs, kicks, reports, no_fd;
	atomic_int armed[NPU_VDEV_NUM_FAULTS];	/* times; below 0: always */
	npu_u64 keep[NPU_VDEV_KEEP_SIZE / 8];
	bool loud;				/* logs are shown */
	atomic_uint logs;
	/* Called once, by whoever logs next. */
	_Atomic(fake_on_log) on_log;
	void *on_log_ctx;
};

struct npu_vdev *fake_create(void);
void fake_destroy(struct npu_vdev *dev);
/* Map DMA page @iova_page to page @page of guest memory. */
void fake_map(struct npu_vdev *dev, npu_u32 iova_page, npu_u32 page, bool writable);
/* As the client does it: look-ups fail at once, the core is asked until it has let go. */
void fake_unmap(struct npu_vdev *dev, struct npu_vdev_core *core, npu_u32 iova_page, npu_u32 n);

#endif
