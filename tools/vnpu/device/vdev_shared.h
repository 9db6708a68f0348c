/* SPDX-License-Identifier: MIT */
/*
 * What outlives a worker process, in memory shared with the supervisor: the connection with the
 * message that is being received, handled or answered, the config space, guest memory's table, the
 * interrupt, armed faults, counters. File descriptors are numbers in a table that supervisor and
 * workers share as well (CLONE_FILES).
 *
 * A worker may die between any two instructions. So each change of state is one store that takes
 * effect at once (_Atomic below), and before it nothing is lost when the change is done anew.
 * Receiving and sending go through recvmmsg() and sendmmsg() with their struct mmsghdr in here: the
 * kernel itself writes down how much was moved, and no signal gets in between.
 */
#ifndef NPU_VDEV_SHARED_H
#define NPU_VDEV_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>
#include "vdev.h"
#include "vdev_counters.h"
#include "vfu_proto.h"

#define VDEV_MAX_FILES		64u
#define VDEV_MAX_MAPS		(1u << 17)
#define VDEV_CONFIG_SIZE	4096u

/* A file that guest memory lies in. */
struct vdev_file {
	_Atomic int fd;			/* -1: free. Set last, and first on the way out */
	dev_t dev;
	ino_t ino;
	npu_u64 size;			/* what is mapped of it: all */
};

/* A mapping by the client's IOMMU. */
struct vdev_map {
	_Atomic npu_u32 valid;		/* set last */
	npu_u32 access;			/* NPU_ACCESS_* */
	npu_s32 file;			/* index of a struct vdev_file; -1: not reachable */
	npu_u32 reserved;
	npu_u64 first;
	_Atomic npu_u64 last;
	npu_u64 offset;			/* of @first in the file */
};

/* Part of a message on its way in or out. */
struct vdev_transfer {
	npu_u8 buf[VFU_MAX_MESSAGE];
	_Atomic npu_u32 len;		/* in: bytes here; out: bytes to send, 0: nothing */
	_Atomic npu_u32 done;		/* out: bytes sent */
	_Atomic bool open;		/* mm was given to the kernel and not accounted for yet */
	npu_u32 base, base_fds;		/* len or done, and num_fds, before that */
	struct mmsghdr mm;
	struct iovec iov;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(VFU_MAX_FDS * sizeof(int))];
};

/* What is being done with the message in rx. */
enum vdev_stage {
	VDEV_RECEIVING,
	VDEV_HANDLING			/* complete; ends when tx has the reply, or without one */
};

struct vdev_shared {
	_Atomic int conn;		/* -1: no client */
	_Atomic bool negotiated;	/* VERSION has been answered */
	_Atomic npu_u32 stage;		/* enum vdev_stage */
	_Atomic npu_u32 retries;	/* of the message in rx */
	_Atomic npu_u32 num_fds;
	int fds[VFU_MAX_FDS];		/* that came with it; -1: taken */
	struct vdev_transfer rx, tx;

	npu_u8 config[VDEV_CONFIG_SIZE];
	_Atomic int irq_fd;		/* -1: none */
	_Atomic bool irq_pending;
	_Atomic bool irq_masked;	/* by SET_IRQS; the guest's mask is in config */

	/* CLOCK_MONOTONIC in ms since when the worker has been in one call; 0: it waits */
	_Atomic npu_u64 busy_since;
	_Atomic bool restarted;		/* the next worker goes on where one has died */
	_Atomic int armed[NPU_VDEV_NUM_FAULTS];		/* occurrences; -1: for ever */
	_Atomic npu_u64 taken[NPU_VDEV_NUM_FAULTS];
	_Atomic npu_u64 counter[VDEV_NUM_COUNTERS];

	char why[256];			/* why a worker could not start */

	_Alignas(64) npu_u8 keep[NPU_VDEV_KEEP_SIZE];
	struct vdev_file files[VDEV_MAX_FILES];
	struct vdev_map maps[VDEV_MAX_MAPS];
};

#endif
