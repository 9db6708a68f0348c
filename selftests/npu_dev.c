// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <linux/sync_file.h>
#include "npu_dev.h"
#include "npu_isa_desc.h"
#include "npu_test.h"

#define NUM_SLOTS	64

/* As many instructions as fit into a page. */
#define MAX_TIMES	16

uint64_t npu_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static int map_cpu(int fd, struct npu_buf *buf)
{
	struct drm_npu_bo_mmap_offset args = { .handle = buf->handle };
	int ret = npu_ioctl(fd, DRM_IOCTL_NPU_BO_MMAP_OFFSET, &args);

	if (ret)
		return ret;
	buf->cpu = mmap(NULL, buf->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, args.offset);
	if (buf->cpu == MAP_FAILED) {
		buf->cpu = NULL;
		return -errno;
	}
	return 0;
}

int npu_buf_create(int fd, size_t size, uint32_t flags, uint32_t vm, struct npu_buf *buf)
{
	struct drm_npu_bo_create args = { .size = size, .flags = flags, .exclusive_vm_id = vm };
	int ret = npu_ioctl(fd, DRM_IOCTL_NPU_BO_CREATE, &args);

	memset(buf, 0, sizeof(*buf));
	if (ret)
		return ret;
	buf->handle = args.handle;
	buf->size = args.size;
	if (!(flags & DRM_NPU_BO_NO_MMAP)) {
		ret = map_cpu(fd, buf);
		if (ret)
			npu_buf_destroy(fd, buf);
	}
	return ret;
}

void npu_buf_destroy(int fd, struct npu_buf *buf)
{
	struct drm_gem_close args = { .handle = buf->handle };

	if (buf->cpu)
		munmap(buf->cpu, buf->size);
	if (buf->handle)
		npu_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &args);
	memset(buf, 0, sizeof(*buf));
}

static int bind_op(int fd, uint32_t vm, struct drm_npu_vm_bind_op *op)
{
	struct drm_npu_vm_bind args = { .vm_id = vm, .ops = DRM_NPU_OBJ_ARRAY(1, op) };

	return npu_ioctl(fd, DRM_IOCTL_NPU_VM_BIND, &args);
}

int npu_bind(int fd, uint32_t vm, uint32_t handle, uint64_t offset, uint64_t va, uint64_t size,
	     uint32_t flags)
{
	struct drm_npu_vm_bind_op op = {
		.flags = DRM_NPU_VM_BIND_OP_TYPE_MAP | flags, .bo_handle = handle,
		.bo_offset = offset, .va = va, .size = size,
	};

	return bind_op(fd, vm, &op);
}

int npu_unbind(int fd, uint32_t vm, uint64_t va, uint64_t size)
{
	struct drm_npu_vm_bind_op op = {
		.flags = DRM_NPU_VM_BIND_OP_TYPE_UNMAP, .va = va, .size = size,
	};

	return bind_op(fd, vm, &op);
}

int npu_vm_create(int fd, uint32_t *vm)
{
	struct drm_npu_vm_create args = {};
	int ret = npu_ioctl(fd, DRM_IOCTL_NPU_VM_CREATE, &args);

	*vm = args.id;
	return ret;
}

int npu_queue_create(int fd, uint32_t vm, uint32_t priority, uint32_t depth, uint32_t *queue)
{
	struct drm_npu_queue_create args = { .vm_id = vm, .priority = priority, .depth = depth };
	int ret = npu_ioctl(fd, DRM_IOCTL_NPU_QUEUE_CREATE, &args);

	*queue = args.id;
	return ret;
}

int npu_queue_destroy(int fd, uint32_t queue)
{
	struct drm_npu_queue_destroy args = { .id = queue };

	return npu_ioctl(fd, DRM_IOCTL_NPU_QUEUE_DESTROY, &args);
}

int npu_queue_state(int fd, uint32_t queue, struct drm_npu_queue_get_state *state)
{
	memset(state, 0, sizeof(*state));
	state->id = queue;
	return npu_ioctl(fd, DRM_IOCTL_NPU_QUEUE_GET_STATE, state);
}

int npu_npu_info(int fd, struct drm_npu_npu_info *info)
{
	struct drm_npu_dev_query args = {
		.type = DRM_NPU_DEV_QUERY_NPU_INFO, .size = sizeof(*info),
		.pointer = (uintptr_t)info,
	};

	memset(info, 0, sizeof(*info));
	return npu_ioctl(fd, DRM_IOCTL_NPU_DEV_QUERY, &args);
}

int npu_job_result(int fd, uint32_t queue, uint64_t job, struct drm_npu_job_get_result *result)
{
	memset(result, 0, sizeof(*result));
	result->queue_id = queue;
	result->job_id = job;
	return npu_ioctl(fd, DRM_IOCTL_NPU_JOB_GET_RESULT, result);
}

int npu_job_cancel(int fd, uint32_t queue, uint64_t job)
{
	struct drm_npu_job_cancel args = { .queue_id = queue, .job_id = job };

	return npu_ioctl(fd, DRM_IOCTL_NPU_JOB_CANCEL, &args);
}

int npu_dev_open(struct npu_dev *dev)
{
	int ret;

	memset(dev, 0, sizeof(*dev));
	dev->fd = npu_open();
	if (dev->fd < 0)
		return dev->fd;
	ret = npu_vm_create(dev->fd, &dev->vm);
	if (!ret)
		ret = npu_buf_create(dev->fd, NUM_SLOTS * NPU_PAGE, 0, 0, &dev->stream);
	if (!ret)
		ret = npu_bind(dev->fd, dev->vm, dev->stream.handle, 0, NPU_VA_STREAM,
			       dev->stream.size, DRM_NPU_VM_BIND_OP_EXEC);
	if (!ret)
		ret = npu_queue_create(dev->fd, dev->vm, DRM_NPU_PRIORITY_NORMAL, 0, &dev->queue);
	if (ret)
		npu_dev_close(dev);
	return ret;
}

int npu_dev_open_paged(struct npu_dev *dev, struct npu_copy *copy)
{
	int ret = npu_dev_open(dev);

	if (ret)
		return ret;
	ret = npu_bind(dev->fd, dev->vm, dev->stream.handle, NPU_DATA_IN * NPU_PAGE, NPU_VA_IN,
		       2 * NPU_PAGE, 0);
	if (ret)
		npu_dev_close(dev);
	if (copy)
		*copy = (struct npu_copy) {
			.in = NPU_VA_IN, .out = NPU_VA_IN + NPU_PAGE, .size = NPU_PAGE,
		};
	return ret;
}

int npu_dev_open_buf(struct npu_dev *dev, uint32_t size, struct npu_buf *data,
		     struct npu_copy *copy)
{
	int ret = npu_dev_open(dev);

	if (ret)
		return ret;
	*copy = (struct npu_copy) {
		.in = NPU_VA_IN, .out = NPU_VA_IN + size, .size = size, .times = 4,
	};
	ret = npu_buf_create(dev->fd, 2 * size, 0, 0, data);
	if (ret)
		goto err_close;
	ret = npu_bind(dev->fd, dev->vm, data->handle, 0, NPU_VA_IN, 2 * size, 0);
	if (ret)
		goto err_destroy;
	return 0;

err_destroy:
	npu_buf_destroy(dev->fd, data);
err_close:
	npu_dev_close(dev);
	return ret;
}

void npu_dev_close(struct npu_dev *dev)
{
	npu_buf_destroy(dev->fd, &dev->stream);
	close(dev->fd);
	memset(dev, 0, sizeof(*dev));
	dev->fd = -1;
}

static void fill_operand(struct npu_operand *operand, uint8_t region, uint64_t offset,
			 uint32_t size)
{
	operand->region = region;
	operand->offset = offset;
	operand->dtype = NPU_U8;
	operand->rank = 1;
	operand->dim[0] = size;
	operand->stride[0] = 1;
}

struct copy_insn {
	struct npu_insn_header header;
	struct npu_operand operand[NPU_COPY_NUM_SLOTS];
};

static void fill_copy(struct copy_insn *insn, const struct npu_line *line)
{
	insn->header.opcode = NPU_OP_COPY;
	insn->header.words = sizeof(*insn) / 4;
	insn->header.num_operands = NPU_COPY_NUM_SLOTS;
	fill_operand(&insn->operand[NPU_COPY_OUT], line->out, line->to, line->size);
	fill_operand(&insn->operand[NPU_COPY_IN], line->in, line->from, line->size);
}

uint32_t npu_lines_stream(void *memory, const struct npu_line *lines, uint32_t count,
			  uint32_t num_regions)
{
	struct npu_stream_header *header = memory;
	struct copy_insn *insn = (struct copy_insn *)(header + 1);
	struct npu_insn_header *end = (struct npu_insn_header *)&insn[count];
	uint32_t i;

	for (i = 0; i < count; i++)
		fill_copy(&insn[i], &lines[i]);
	end->opcode = NPU_OP_END;
	end->words = sizeof(*end) / 4;

	header->magic = NPU_STREAM_MAGIC;
	header->isa_major = NPU_ISA_MAJOR;
	header->isa_minor = 0;
	header->size = (uint8_t *)(end + 1) - (uint8_t *)memory;
	header->num_insns = count + 1;
	header->num_regions = num_regions;
	return header->size;
}

uint32_t npu_copy_stream(void *page, const struct npu_copy *copy)
{
	uint32_t times = copy->times ? copy->times : 1, i;
	struct npu_line lines[MAX_TIMES];

	for (i = 0; i < times; i++)
		lines[i] = (struct npu_line){ .out = 1, .in = 0, .size = copy->size };
	memset(page, 0, NPU_PAGE);
	return npu_lines_stream(page, lines, times, 2);
}

static void fill_job(const struct npu_copy *copy, uint64_t stream, uint32_t size,
		     struct drm_npu_region regions[2], struct drm_npu_job *job)
{
	regions[0] = (struct drm_npu_region) {
		.base = copy->in, .size = copy->size, .access = DRM_NPU_ACCESS_READ,
	};
	regions[1] = (struct drm_npu_region) {
		.base = copy->out, .size = copy->size, .access = DRM_NPU_ACCESS_WRITE,
	};
	*job = (struct drm_npu_job) {
		.stream = stream,
		.stream_size = size,
		.regions = DRM_NPU_OBJ_ARRAY(2, regions),
	};
}

void npu_copy_job(struct npu_dev *dev, const struct npu_copy *copy,
		  struct drm_npu_region regions[2], struct drm_npu_job *job)
{
	uint64_t offset = (uint64_t)copy->slot * NPU_PAGE;
	uint8_t page[NPU_PAGE];
	uint32_t size = npu_copy_stream(page, copy);

	/* A stream that jobs in flight may be reading stays as it is. */
	if (memcmp(dev->stream.cpu + offset, page, NPU_PAGE))
		memcpy(dev->stream.cpu + offset, page, NPU_PAGE);
	fill_job(copy, NPU_VA_STREAM + offset, size, regions, job);
}

void npu_long_copy_job(struct npu_dev *dev, const struct npu_copy *copy,
		       struct drm_npu_region regions[2], struct drm_npu_job *job)
{
	const uint32_t offset = NPU_LONG_SLOT * NPU_PAGE;
	struct npu_line lines[NPU_LONG_TIMES];
	uint32_t i, size;

	for (i = 0; i < copy->times; i++)
		lines[i] = (struct npu_line){ .out = 1, .in = 0, .size = copy->size };
	memset(dev->stream.cpu + offset, 0, dev->stream.size - offset);
	size = npu_lines_stream(dev->stream.cpu + offset, lines, copy->times, 2);
	fill_job(copy, NPU_VA_STREAM + offset, size, regions, job);
}

int npu_submit_jobs(int fd, uint32_t queue, struct drm_npu_job *jobs, uint32_t count,
		    uint32_t *done)
{
	struct drm_npu_submit args = { .queue_id = queue, .jobs = DRM_NPU_OBJ_ARRAY(count, jobs) };
	int ret = npu_ioctl(fd, DRM_IOCTL_NPU_SUBMIT, &args);

	if (done)
		*done = args.done;
	return ret;
}

int npu_copy_submit(struct npu_dev *dev, const struct npu_copy *copy, uint32_t syncobj,
		    uint64_t *id)
{
	struct drm_npu_sync_op sync = { .flags = DRM_NPU_SYNC_OP_SIGNAL, .handle = syncobj };
	struct drm_npu_region regions[2];
	struct drm_npu_job job;
	int ret;

	npu_copy_job(dev, copy, regions, &job);
	if (syncobj)
		job.syncs = (struct drm_npu_obj_array)DRM_NPU_OBJ_ARRAY(1, &sync);
	ret = npu_submit_jobs(dev->fd, dev->queue, &job, 1, NULL);
	if (id)
		*id = job.id;
	return ret;
}

int npu_long_copy_submit(struct npu_dev *dev, const struct npu_copy *copy, uint32_t syncobj)
{
	struct drm_npu_sync_op sync = { .flags = DRM_NPU_SYNC_OP_SIGNAL, .handle = syncobj };
	struct drm_npu_region regions[2];
	struct drm_npu_job job;

	npu_long_copy_job(dev, copy, regions, &job);
	job.syncs = (struct drm_npu_obj_array)DRM_NPU_OBJ_ARRAY(1, &sync);
	return npu_submit_jobs(dev->fd, dev->queue, &job, 1, NULL);
}

int npu_job_run(int fd, uint32_t queue, struct drm_npu_job *job, int seconds)
{
	struct drm_npu_sync_op sync = { .flags = DRM_NPU_SYNC_OP_SIGNAL };
	int ret;

	ret = npu_syncobj_create(fd, &sync.handle);
	if (ret)
		return ret;
	job->syncs = (struct drm_npu_obj_array)DRM_NPU_OBJ_ARRAY(1, &sync);
	ret = npu_submit_jobs(fd, queue, job, 1, NULL);
	if (!ret)
		ret = npu_syncobj_wait(fd, sync.handle, 0, seconds);
	if (!ret) {
		ret = npu_syncobj_status(fd, sync.handle);
		ret = ret == 1 ? 0 : ret ? ret : -ETIMEDOUT;
	}
	npu_syncobj_destroy(fd, sync.handle);
	return ret;
}

int npu_copy_run(struct npu_dev *dev, const struct npu_copy *copy, int seconds)
{
	struct drm_npu_region regions[2];
	struct drm_npu_job job;

	npu_copy_job(dev, copy, regions, &job);
	return npu_job_run(dev->fd, dev->queue, &job, seconds);
}

int npu_syncobj_create(int fd, uint32_t *handle)
{
	struct drm_syncobj_create args = {};
	int ret = npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &args);

	*handle = args.handle;
	return ret;
}

void npu_syncobj_destroy(int fd, uint32_t handle)
{
	struct drm_syncobj_destroy args = { .handle = handle };

	npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &args);
}

int npu_syncobj_wait(int fd, uint32_t handle, uint64_t point, double seconds)
{
	struct drm_syncobj_timeline_wait args = {
		.handles = (uintptr_t)&handle, .points = (uintptr_t)&point, .count_handles = 1,
		.timeout_nsec = npu_now_ns() + seconds * 1e9,
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
	};

	return npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &args);
}

int npu_syncobj_fence(int fd, uint32_t handle, int *file)
{
	struct drm_syncobj_handle args = {
		.handle = handle, .fd = -1,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};
	int ret = npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &args);

	*file = args.fd;
	return ret;
}

int npu_syncobj_import(int fd, uint32_t handle, int file)
{
	struct drm_syncobj_handle args = {
		.handle = handle, .fd = file,
		.flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE,
	};

	return npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &args);
}

int npu_fence_status(int file)
{
	struct sync_file_info info = {};
	int ret = npu_ioctl(file, SYNC_IOC_FILE_INFO, &info);

	return ret ? ret : info.status;
}

int npu_syncobj_status(int fd, uint32_t handle)
{
	int file, ret = npu_syncobj_fence(fd, handle, &file);

	if (ret)
		return ret;
	ret = npu_fence_status(file);
	close(file);
	return ret;
}
