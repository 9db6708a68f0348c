/* SPDX-License-Identifier: MIT */
/*
 * Sharing memory and fences with cameras, displays, dma-buf heaps and other devices, without
 * copies.
 *
 *	struct npu_dmabuf frame = { .size = sizeof(frame), .fd = fd,
 *				    .flags = NPU_BUFFER_READ_ONLY };
 *	npu_buffer_import(dev, &frame, &buf, &err);	// once per buffer, not per frame
 *	npu_run_bind(run, "image", buf, 0, &err);
 *	npu_buffer_get_fence(buf, NPU_ACCESS_READ, &ready, &err);
 *	options.wait = &ready, options.num_wait = 1;
 *	npu_queue_submit(queue, run, &options, &fence, &err);
 *	npu_buffer_add_fence(buf, NPU_ACCESS_READ, fence, &err);
 *
 * Order is explicit: a job waits for the fences that it is given and for nothing else, and nobody
 * else waits for a job unless its fence is handed over, with npu_buffer_add_fence() or as a
 * descriptor. Documentation/sharing.md says which of a buffer's users waits for what.
 *
 * Errors, threads and lifetime are as in npu.h.
 */
#ifndef NPU_SHARE_H
#define NPU_SHARE_H

#include "npu.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- memory ---- */

/* A dma-buf, or a part of one. */
struct npu_dmabuf {
	uint32_t size;			/* sizeof, see NPU_INIT() */
	int32_t fd;			/* stays the caller's */
	uint64_t offset;		/* first byte that is wanted, any */
	uint64_t bytes;			/* how many; 0: all that there are behind @offset */
	/*
	 * 0 or NPU_BUFFER_READ_ONLY: neither jobs nor the host will write to it. A descriptor that
	 * is open for reading only is taken only so.
	 */
	uint32_t flags;
	uint32_t reserved;
};

/*
 * Use the memory of a dma-buf as a buffer: byte 0 of the buffer is byte @from->offset. Importing is
 * what costs (the device's page tables are written), so it is done once for each buffer of a
 * pipeline. The same dma-buf may be imported several times, in parts and with several devices.
 *
 * In process the host maps the memory, if its exporter lets it; each job's access is bracketed then
 * as npu_buffer_begin_access() does.
 *
 * Errors, each with its reason: -EBADF (not open), -EINVAL (not a dma-buf; of 0 bytes; not of whole
 * pages; offset and bytes are outside it; @from), -E2BIG (more than info.max_buffer), -EACCES (open
 * for reading only), -EADDRNOTAVAIL (its pieces are not pages), -EBADMSG (its exporter has mapped
 * less than it says), -EOPNOTSUPP (its exporter wants to be able to take it back), -ENOTSUP (in
 * process: can not be mapped), -ENOMEM, -ENODEV (device gone), and what the exporter says.
 */
int npu_buffer_import(struct npu_device *dev, const struct npu_dmabuf *from,
		      struct npu_buffer **buf, struct npu_error *err);

struct npu_buffer_info {
	uint32_t size;
	uint32_t flags;			/* NPU_BUFFER_* */
	uint64_t bytes;			/* as npu_buffer_size() */
	uint32_t imported;		/* 1: the memory is another's */
	/*
	 * 1: the kernel copies between this memory and what the device sees, because the device can
	 * not reach it (swiotlb). Then the device sees of an import only what was there when it was
	 * imported, and after each npu_buffer_end_access() if its exporter cares; not what another
	 * device writes.
	 */
	uint32_t bounced;
};

/* Asks the driver. Errors: -EINVAL (size), -ENODEV. */
int npu_buffer_info(struct npu_buffer *buf, struct npu_buffer_info *info, struct npu_error *err);

/*
 * Between these two calls the host may look at (NPU_ACCESS_READ) and change (NPU_ACCESS_WRITE) the
 * bytes at npu_buffer_map(). Of a dma-buf, the first waits for the fences that are on it: for those
 * of writers, and with NPU_ACCESS_WRITE for all. Of a buffer of npu_buffer_create(), it is the
 * caller who waits for jobs. @access of both calls must be the same. Buffers are safe from many
 * threads at once, but their bytes are not. Errors: -EINVAL (access), -EACCES (writing to
 * READ_ONLY), -ENODEV, and what the exporter says.
 */
int npu_buffer_begin_access(struct npu_buffer *buf, uint32_t access, struct npu_error *err);
int npu_buffer_end_access(struct npu_buffer *buf, uint32_t access, struct npu_error *err);

/* ---- fences ---- */

/*
 * A fence of the kernel's as one for npu_submit_options.wait, npu_fence_wait() and so on. @fd: a
 * sync_file; stays the caller's. A kernel device waits for it by itself; in process, and in front
 * of jobs with host steps, a thread of libnpu's does. Errors: -EBADF, -EINVAL (not a sync_file),
 * -ENOMEM, -ENODEV.
 */
int npu_fence_import(struct npu_device *dev, int fd, struct npu_fence **fence,
		     struct npu_error *err);

/*
 * A job's fence as a sync_file, which other devices and processes can wait for. *@fd is the
 * caller's, -1 when the job has ended and done its work: there is nothing to wait for then. Errors:
 * -ENOTSUP (only libnpu knows when this job ends: it runs in process, has host steps, or comes
 * behind one that has), -ENODEV, -EMFILE, or the job's own error when it has failed.
 */
int npu_fence_export(struct npu_fence *fence, int *fd, struct npu_error *err);

/*
 * A descriptor that becomes readable (POLLIN) when npu_fence_status() is no longer -EINPROGRESS,
 * for event loops. Of any fence of any device. *@fd is the caller's, to be polled and closed, not
 * read. Errors: -EMFILE, -ENOMEM, -ENODEV (after fork).
 */
int npu_fence_pollable(struct npu_fence *fence, int *fd, struct npu_error *err);

/*
 * What a job that accesses @buf so (NPU_ACCESS_READ, NPU_ACCESS_WRITE or both) has to wait for: the
 * fences that other users of the dma-buf have put on it, as one; of a buffer that was never shared,
 * a fence that has signalled. The reference is the caller's. Errors: -EINVAL (access), -ENOTSUP (in
 * process, or larger than info.max_object), -EACCES (read-only memory of the host's), -ENOMEM,
 * -ENODEV, -EMFILE.
 */
int npu_buffer_get_fence(struct npu_buffer *buf, uint32_t access, struct npu_fence **fence,
			 struct npu_error *err);

/*
 * Put a fence on the dma-buf, for other users to wait for: with NPU_ACCESS_WRITE, all who access
 * it; with NPU_ACCESS_READ alone, those who will write to it. @fence is one of npu_fence_import(),
 * or that of a job as in npu_fence_export(). poll() on the dma-buf waits for it as well. Errors: as
 * of npu_buffer_get_fence() and npu_fence_export().
 */
int npu_buffer_add_fence(struct npu_buffer *buf, uint32_t access, struct npu_fence *fence,
			 struct npu_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
