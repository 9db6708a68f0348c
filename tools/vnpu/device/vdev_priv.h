/* SPDX-License-Identifier: MIT */
/* The transport: what its files share. The worker's state; what outlives it is in vdev_shared.h. */
#ifndef NPU_VDEV_PRIV_H
#define NPU_VDEV_PRIV_H

#include <pthread.h>
#include "dma_index.h"
#include "vdev_serve.h"
#include "vdev_shared.h"

/* Guest memory. */
struct vdev_dma {
	/*
	 * Protects index, base and bus_master: look-ups read, mapping and unmapping write. Prefers
	 * writers, so that the transport never waits for long.
	 */
	pthread_rwlock_t lock;
	struct dma_index index;
	npu_u8 *base[VDEV_MAX_FILES];	/* where files are mapped here */
	npu_u32 maps_of[VDEV_MAX_FILES];
	bool read_only[VDEV_MAX_FILES];
	bool bus_master;
	npu_u32 *free_slot;		/* stack of free struct vdev_map */
	npu_u32 num_free;
	npu_u64 bytes;			/* of all mappings */
	/* Protects the list of pins. Taken inside of lock. */
	pthread_mutex_t pin_lock;
	struct npu_vdev_pin *pins;
};

/* A wait for DMA to end, before the message that asked for it is answered. */
struct vdev_barrier {
	bool active;
	npu_u64 first, last;
	npu_u64 start_us;
	unsigned int late_looks;
	void (*done)(struct npu_vdev *dev);	/* may be NULL */
};

#define VDEV_MAX_REPORTS	8u

/* Requests to the client that make the guest's IOMMU see a fault. */
struct vdev_report {
	npu_u64 iova;
	npu_u32 access;
	npu_u16 id;
	bool used, sent;
};

#define VDEV_MAX_CTL		4u
#define VDEV_CTL_LINE		256u

struct vdev_ctl_client {
	int fd;				/* -1: none */
	npu_u32 len;
	char line[VDEV_CTL_LINE];
};

struct npu_vdev {
	struct npu_vdev_options opt;
	const struct npu_vdev_core_ops *ops;
	struct npu_vdev_core *core;	/* the worker's */
	struct vdev_shared *sh;
	int listener, ctl_listener;	/* ctl_listener -1: no control socket */
	int stop_fd;			/* eventfd: leave the loop */
	int kick_fd;			/* eventfd: look again; the worker's */
	pid_t worker;			/* the supervisor's */
	int reply_error;		/* of the message in sh->rx, when it has been carried out */
	npu_u32 reply_size;
	bool next_waits;		/* a client comes while the one before is about to go */
	bool closing;			/* the client is gone, its DMA has not ended yet */

	struct vdev_dma dma;
	struct vdev_barrier barrier;
	atomic_bool barrier_waits;	/* a pin that goes kicks the loop */
	struct vdev_ctl_client ctl[VDEV_MAX_CTL];

	/* Protects the interrupt: irq_fd, irq_pending and irq_masked in sh, and irq_due. */
	pthread_mutex_t irq_lock;
	npu_u64 irq_last_us, irq_due_us;	/* irq_due_us 0: none is held back */

	/* Protects report[]. */
	pthread_mutex_t report_lock;
	struct vdev_report report[VDEV_MAX_REPORTS];
	npu_u16 report_id;

	/* Protects the two that bound the log's rate. */
	pthread_mutex_t log_lock;
	npu_u64 log_second;
	npu_u32 log_lines;
};

#define VDEV_EXIT_START	3	/* a worker's exit status: it could not start, see sh->why */

/*
 * vdev_serve.c: make the worker's part of @dev, with what it goes on with when one has died; undo
 * it. 0, or a negative errno and @why.
 */
int vdev_worker_start(struct npu_vdev *dev, char *why, size_t size);
void vdev_worker_end(struct npu_vdev *dev);

/* vdev.c */
npu_u64 vdev_now_us(void);
void vdev_count(struct npu_vdev *dev, enum vdev_counter c);
/* Whether the fault "surprise removal" lasts. */
bool vdev_removed(struct npu_vdev *dev);
void vdev_kick(struct npu_vdev *dev);

/*
 * vfu_server.c: the loop. vdev_transfer_*() account for what the kernel moved when the one that
 * asked for it died.
 */
void vdev_loop(struct npu_vdev *dev);
void vdev_transfer_settle_in(struct vdev_shared *sh);
void vdev_transfer_settle_out(struct vdev_shared *sh);
/* Close the client's connection without a reset at its other end: shut down, drain, close. */
void vdev_connection_end(struct vdev_shared *sh);
/* Go on where the last worker died. */
void vdev_resume(struct npu_vdev *dev);
/* Wait until no access to [first, last] is left, then done(). */
void vdev_barrier_start(struct npu_vdev *dev, npu_u64 first, npu_u64 last,
			void (*done)(struct npu_vdev *dev));

/*
 * vfu_message.c: carry out the request in sh->rx. Returns the errno to answer with, 0 with
 * *@reply_size bytes of payload in @reply (VFU_MAX_MESSAGE - a header bytes of room).
 */
int vdev_message_handle(struct npu_vdev *dev, const struct vfu_header *hdr, const npu_u8 *payload,
			npu_u32 size, npu_u8 *reply, npu_u32 *reply_size);
/* A reset of @kind, with the barrier behind it. */
void vdev_reset(struct npu_vdev *dev, enum npu_vdev_reset kind);

/* vfu_region.c: registers and config space. 0 or an errno. */
int vdev_region_access(struct npu_vdev *dev, npu_u32 region, npu_u64 offset, npu_u8 *data,
		       npu_u32 count, bool write);

/* vfu_irq.c */
void vdev_irq_init(struct npu_vdev *dev);
/* SET_IRQS; takes files out of sh->fds. 0 or an errno. */
int vdev_irq_set(struct npu_vdev *dev, const struct vfu_set_irqs *set, const npu_u8 *bools,
		 npu_u32 num_bools);
/* Masks changed, or time has come: send what is due. Returns us until the next call, or -1. */
npu_s64 vdev_irq_update(struct npu_vdev *dev);
void vdev_irq_disconnect(struct npu_vdev *dev);

/* vfu_report.c */
void vdev_report_init(struct npu_vdev *dev);
/* Puts a request into sh->tx if there is one to send. */
void vdev_report_next(struct npu_vdev *dev);
/* The client's reply to one. */
void vdev_report_reply(struct npu_vdev *dev, const struct vfu_header *hdr);
void vdev_report_clear(struct npu_vdev *dev);

/* vfu_dma.c. The first returns 0 or -ENOMEM, the next three 0 or an errno. */
int vdev_dma_init(struct npu_vdev *dev);
void vdev_dma_fini(struct npu_vdev *dev);
int vdev_dma_restore(struct npu_vdev *dev);
int vdev_dma_map(struct npu_vdev *dev, const struct vfu_dma_map *map);
int vdev_dma_unmap(struct npu_vdev *dev, npu_u64 first, npu_u64 last);
void vdev_dma_bus_master(struct npu_vdev *dev, bool on);
/* Whether a pin touches [first, last]. */
bool vdev_dma_pinned(struct npu_vdev *dev, npu_u64 first, npu_u64 last);
/*
 * What the guest's IOMMU allows at @iova, NPU_ACCESS_*, and with NPU_ACCESS_READ the byte that is
 * there. What is mapped but not reachable counts as all rights: there is no fault to show.
 */
npu_u32 vdev_dma_rights(struct npu_vdev *dev, npu_u64 iova, npu_u8 *byte);
/* Everything of the connection goes; nothing may be pinned. */
void vdev_dma_clear(struct npu_vdev *dev);

/* control.c: one line each way. */
void vdev_ctl_init(struct npu_vdev *dev);
void vdev_ctl_accept(struct npu_vdev *dev);
void vdev_ctl_input(struct npu_vdev *dev, struct vdev_ctl_client *c);

#endif
