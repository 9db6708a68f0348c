/* SPDX-License-Identifier: GPL-2.0-only */
/* Recovery of the device. */
#ifndef NPU_RESET_H
#define NPU_RESET_H

#include <linux/ktime.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct npu_device;

/**
 * struct npu_reset - recovery
 * @lock: protects @closed, the setting of @pending and @cause, and that nothing is queued on @wq
 *	behind @closed. Taken in hard interrupt context, inside of all others
 * @closed: the device is being taken from its driver: there is no @wq any more, or soon
 * @wq: ordered: timeouts and resets come one at a time
 * @work: resets the device
 * @tdr: looks at jobs while there are any
 * @unplug: takes a device that is beyond recovery from its users
 * @pending: a reset has been asked for and has not begun
 * @cause: of it, a text that stays
 * @look_ms: how often @tdr runs, see npu_debugfs.c
 * @timeout_ms: how long a job may be without progress, see npu_debugfs.c
 * @count: of resets of the device, function level resets and system sleep among them
 * @engine_resets: of engines
 * @aborts: of queues
 * @heartbeat: of the firmware, last seen; touched by @tdr only, as what follows
 * @looked: when it was last looked at
 * @alive: when it had moved
 * @still_ns: looked at for so long and it has not moved
 * @tdr_idle: there were no jobs the last time
 */
struct npu_reset {
	/* Protects what stands above. */
	spinlock_t lock;
	bool closed;
	struct workqueue_struct *wq;
	struct work_struct work;
	struct delayed_work tdr;
	struct work_struct unplug;
	bool pending;
	const char *cause;
	u32 look_ms;
	u32 timeout_ms;
	u32 count;
	u32 engine_resets;
	u32 aborts;
	u32 heartbeat;
	ktime_t looked;
	ktime_t alive;
	u64 still_ns;
	bool tdr_idle;
};

int npu_reset_init(struct npu_device *npu);
void npu_reset_fini(struct npu_device *npu);

void npu_reset_request(struct npu_device *npu, const char *cause);
void npu_reset_look(struct npu_device *npu, unsigned long delay, bool sooner);
void npu_reset_wait(struct npu_device *npu);
bool npu_reset_is_coming(struct npu_device *npu);

int npu_device_start_patiently(struct npu_device *npu);
void npu_device_stop(struct npu_device *npu);
int npu_device_resume(struct npu_device *npu);
int npu_device_restart(struct npu_device *npu);

#endif
