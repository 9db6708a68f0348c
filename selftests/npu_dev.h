/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An address space, a queue and jobs that copy bytes: what tests of memory, jobs and recovery
 * share.
 */
#ifndef NPU_DEV_H
#define NPU_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <drm/npu_drm.h>

#define NPU_PAGE	4096u
#define NPU_LARGE	(2u << 20)

/* Where tests map things; far from each other. */
#define NPU_VA_STREAM	0x10000000ull
#define NPU_VA_IN	0x20000000ull
#define NPU_VA_OUT	0x40000000ull

/*
 * A buffer that is mapped by the CPU. handle 0: none.
 */
struct npu_buf {
	uint32_t handle;
	size_t size;
	uint8_t *cpu;
};

/*
 * An open device with one VM and one queue in it. stream holds command streams, one a page.
 */
struct npu_dev {
	int fd;
	uint32_t vm;
	uint32_t queue;
	struct npu_buf stream;
};

/* A copy of bytes, as many times as wanted, each time the same. */
struct npu_copy {
	uint64_t in, out;	/* addresses in the VM */
	uint32_t size;		/* bytes */
	uint32_t times;		/* instructions; 0: one */
	uint32_t slot;		/* page of the stream buffer to use */
};

/* One instruction of a stream of copies: bytes of a region to another. */
struct npu_line {
	uint8_t out, in;	/* regions */
	uint32_t size;		/* bytes */
	uint64_t to, from;	/* offsets in them */
};

/* All return 0 or a negative errno, and leave nothing behind when they fail. */
int npu_dev_open(struct npu_dev *dev);
void npu_dev_close(struct npu_dev *dev);

/*
 * The same with data beside the streams: pages NPU_DATA_IN and NPU_DATA_OUT of dev->stream are
 * NPU_VA_IN and the page behind it. *copy (may be NULL) becomes that of the one to the other.
 */
#define NPU_DATA_IN	8u
#define NPU_DATA_OUT	9u
int npu_dev_open_paged(struct npu_dev *dev, struct npu_copy *copy);
/*
 * The same with a buffer of 2 * size bytes at NPU_VA_IN, which copy copies the first half of to
 * the second, four times.
 */
int npu_dev_open_buf(struct npu_dev *dev, uint32_t size, struct npu_buf *data,
		     struct npu_copy *copy);

int npu_buf_create(int fd, size_t size, uint32_t flags, uint32_t vm, struct npu_buf *buf);
void npu_buf_destroy(int fd, struct npu_buf *buf);

int npu_bind(int fd, uint32_t vm, uint32_t handle, uint64_t offset, uint64_t va, uint64_t size,
	     uint32_t flags);
int npu_unbind(int fd, uint32_t vm, uint64_t va, uint64_t size);

int npu_vm_create(int fd, uint32_t *vm);
int npu_queue_create(int fd, uint32_t vm, uint32_t priority, uint32_t depth, uint32_t *queue);
int npu_queue_destroy(int fd, uint32_t queue);
int npu_queue_state(int fd, uint32_t queue, struct drm_npu_queue_get_state *state);
int npu_npu_info(int fd, struct drm_npu_npu_info *info);
int npu_job_result(int fd, uint32_t queue, uint64_t job, struct drm_npu_job_get_result *result);
int npu_job_cancel(int fd, uint32_t queue, uint64_t job);

/* Bytes of a stream of copies in order, which is written to @memory of any size but zeroed. */
uint32_t npu_lines_stream(void *memory, const struct npu_line *lines, uint32_t count,
			  uint32_t num_regions);
/* Bytes of the stream, which is written to the CPU's view of the page. */
uint32_t npu_copy_stream(void *page, const struct npu_copy *copy);

/* Fills a job with regions[2] and the stream in dev->stream. */
void npu_copy_job(struct npu_dev *dev, const struct npu_copy *copy,
		  struct drm_npu_region regions[2], struct drm_npu_job *job);

/*
 * The same, of up to NPU_LONG_TIMES instructions: its stream has the pages of dev->stream from
 * NPU_LONG_SLOT on, and is not read any more when there is another one.
 */
#define NPU_LONG_SLOT	16u
#define NPU_LONG_TIMES	800u
void npu_long_copy_job(struct npu_dev *dev, const struct npu_copy *copy,
		       struct drm_npu_region regions[2], struct drm_npu_job *job);

int npu_submit_jobs(int fd, uint32_t queue, struct drm_npu_job *jobs, uint32_t count,
		    uint32_t *done);

/* Submit a copy; syncobj, a binary one or 0, signals when it has ended. */
int npu_copy_submit(struct npu_dev *dev, const struct npu_copy *copy, uint32_t syncobj,
		    uint64_t *id);
/* The same of npu_long_copy_job(), whose id nobody asks for. */
int npu_long_copy_submit(struct npu_dev *dev, const struct npu_copy *copy, uint32_t syncobj);
/* Submit and wait: 0, or the fence's error, or -ETIMEDOUT. The job's syncs are replaced. */
int npu_job_run(int fd, uint32_t queue, struct drm_npu_job *job, int seconds);
int npu_copy_run(struct npu_dev *dev, const struct npu_copy *copy, int seconds);

int npu_syncobj_create(int fd, uint32_t *handle);
void npu_syncobj_destroy(int fd, uint32_t handle);
/*
 * point 0: binary. 0, -ETIME when it takes longer; what the fence's error is, npu_syncobj_status()
 * says.
 */
int npu_syncobj_wait(int fd, uint32_t handle, uint64_t point, double seconds);
/* A sync file of the fence that is in it, which tells of its end even when the device has gone. */
int npu_syncobj_fence(int fd, uint32_t handle, int *file);
/* And back: what the syncobj has is the fence of the file. */
int npu_syncobj_import(int fd, uint32_t handle, int file);
/* 1 signalled, 0 not yet, or the fence's error. */
int npu_fence_status(int file);
int npu_syncobj_status(int fd, uint32_t handle);

uint64_t npu_now_ns(void);

#endif
