/* SPDX-License-Identifier: MIT */
/* A device to test: in a thread of this process, or supervised in another one. */
#ifndef TEST_DEVICE_FIXTURE_H
#define TEST_DEVICE_FIXTURE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include "client.h"
#include "tools/vnpu/device/vdev_serve.h"

#define PROBE_LOG	4096

/* What the probe core was told. */
struct probe {
	npu_u32 reg[NPU_BAR0_SIZE / 4];
	atomic_uint num_writes;
	struct { npu_u32 offset, value; } write[PROBE_LOG];
	atomic_uint num_resets;
	enum npu_vdev_reset reset[PROBE_LOG];
	atomic_uint num_unmaps;
	atomic_int busy;		/* so often dma_unmap() says -EBUSY */
	atomic_bool bus_master;
};

/* One for the program: the device's core has no other way to it. */
extern struct probe probe;
extern const struct npu_vdev_core_ops probe_core;

struct fixture {
	char socket[96], control[96];
	struct npu_vdev *dev;		/* in a thread only */
	pthread_t thread;
	pid_t pid;			/* supervised only */
	int log_fd;
	char log_path[96];
};

/* A device with the probe core in a thread; @config may be NULL. */
bool fixture_thread(struct fixture *f, const struct npu_vdev_config *config);
/* A supervised one in another process, with @ops, or NULL for the device's own. */
bool fixture_process(struct fixture *f, const struct npu_vdev_config *config,
		     const struct npu_vdev_core_ops *ops);
void fixture_end(struct fixture *f);

/* Send a command to the control socket; its answer (a static text), NULL: none. */
const char *fixture_control(struct fixture *f, const char *command);
/* A number in the answer to @command, -1 when it is not there. */
long long fixture_number(struct fixture *f, const char *command, const char *name);

/* A memfd of @size bytes, page p filled with p + @seed. */
int memory_make(npu_u64 size, unsigned int seed);
/* Turn memory space and bus mastering on. */
void client_enable(struct client *c);

#endif
