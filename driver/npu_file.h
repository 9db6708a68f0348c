/* SPDX-License-Identifier: GPL-2.0-only */
/* What belongs to an open file. */
#ifndef NPU_FILE_H
#define NPU_FILE_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/slab.h>
#include <linux/xarray.h>

struct npu_device;
struct npu_queue;
struct npu_user;
struct npu_vm;

/**
 * struct npu_stats - what jobs of a file have used; queues may live longer than it
 * @ref: the file's, and one of each queue
 * @busy_ns: engine time
 * @jobs: that have ended
 */
struct npu_stats {
	struct kref ref;
	atomic64_t busy_ns;
	atomic64_t jobs;
};

static inline void npu_stats_free(struct kref *ref)
{
	kfree(container_of(ref, struct npu_stats, ref));
}

static inline struct npu_stats *npu_stats_get(struct npu_stats *stats)
{
	kref_get(&stats->ref);

	return stats;
}

static inline void npu_stats_put(struct npu_stats *stats)
{
	kref_put(&stats->ref, npu_stats_free);
}

static inline void npu_stats_add(struct npu_stats *stats, u64 busy_ns)
{
	atomic64_add(busy_ns, &stats->busy_ns);
	atomic64_inc(&stats->jobs);
}

/**
 * struct npu_file - private data of a struct drm_file
 * @npu: device
 * @user: who opened it
 * @stats: for fdinfo
 * @vms: by id; the xarray's lock protects look-up against removal
 * @queues: by id, likewise
 */
struct npu_file {
	struct npu_device *npu;
	struct npu_user *user;
	struct npu_stats *stats;
	struct xarray vms;
	struct xarray queues;
};

struct npu_vm *npu_file_get_vm(struct npu_file *file, u32 id);
struct npu_queue *npu_file_get_queue(struct npu_file *file, u32 id);

#endif
