// SPDX-License-Identifier: MIT
/* Empty jobs by the driver's ioctls: latency, throughput, and recovery. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xf86drm.h>
#include "drm/npu_drm.h"
#include "guest_bench.h"
#include "npu_kernels.h"

#define NODE		"/dev/accel/accel0"
#define FLOOR		"/sys/kernel/debug/npu_floor/"
#define STREAM_VA	0x10000
#define MAX_DEPTH	64
#define MAX_BATCH	32u	/* jobs in one call */

struct noop {
	int fd;
	uint32_t vm, bo, queue;
	uint32_t stream_size;
	uint32_t sync[MAX_DEPTH];	/* one for each job in flight */
};

static int noop_ioctl(struct noop *n, unsigned long request, void *arg, const char *what)
{
	return drmIoctl(n->fd, request, arg) ? fail("%s: %s", what, strerror(errno)) : 0;
}

/* Put the stream of no instruction but END into the buffer. */
static int noop_write_stream(struct noop *n)
{
	struct drm_npu_bo_mmap_offset map = { .handle = n->bo };
	struct npu_stream_builder *s = NULL;
	const void *data;
	size_t size;
	void *at;
	int ret = 1;

	if (npu_stream_create(0, &s) || npu_stream_finish(s, &data, &size))
		fail("no memory");
	else if (!noop_ioctl(n, DRM_IOCTL_NPU_BO_MMAP_OFFSET, &map, "BO_MMAP_OFFSET")) {
		at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, n->fd, map.offset);
		if (at == MAP_FAILED) {
			fail("mmap: %s", strerror(errno));
		} else {
			memcpy(at, data, size);
			munmap(at, 4096);
			n->stream_size = size;
			ret = 0;
		}
	}
	npu_stream_destroy(s);
	return ret;
}

static int noop_make_memory(struct noop *n)
{
	struct drm_npu_vm_create vm = { 0 };
	struct drm_npu_bo_create bo = { .size = 4096 };
	struct drm_npu_vm_bind_op op = {
		.flags = DRM_NPU_VM_BIND_OP_EXEC,
		.va = STREAM_VA,
		.size = 4096,
	};
	struct drm_npu_vm_bind bind = { .ops = DRM_NPU_OBJ_ARRAY(1, &op) };

	if (noop_ioctl(n, DRM_IOCTL_NPU_VM_CREATE, &vm, "VM_CREATE"))
		return 1;
	n->vm = bind.vm_id = bo.exclusive_vm_id = vm.id;
	if (noop_ioctl(n, DRM_IOCTL_NPU_BO_CREATE, &bo, "BO_CREATE"))
		return 1;
	n->bo = op.bo_handle = bo.handle;
	return noop_write_stream(n) || noop_ioctl(n, DRM_IOCTL_NPU_VM_BIND, &bind, "VM_BIND");
}

static int noop_make_queue(struct noop *n)
{
	struct drm_npu_queue_create create = {
		.vm_id = n->vm,
		.priority = DRM_NPU_PRIORITY_NORMAL,
	};

	if (drmIoctl(n->fd, DRM_IOCTL_NPU_QUEUE_CREATE, &create))
		return -errno;
	n->queue = create.id;
	return 0;
}

static int noop_open(struct noop *n)
{
	unsigned int i;
	int ret;

	n->fd = open(NODE, O_RDWR | O_CLOEXEC);
	if (n->fd < 0)
		return fail(NODE ": %s", strerror(errno));
	if (noop_make_memory(n))
		return 1;
	ret = noop_make_queue(n);
	if (ret)
		return fail("QUEUE_CREATE: %s", strerror(-ret));
	for (i = 0; i < MAX_DEPTH; i++)
		if (drmSyncobjCreate(n->fd, 0, &n->sync[i]))
			return fail("no syncobj");
	return 0;
}

/*
 * @count jobs by one call, of which the last signals @slot; its number goes to @id. Returns 0 or a
 * negative errno.
 */
static int noop_submit_many(struct noop *n, unsigned int slot, unsigned int count, uint64_t *id)
{
	struct drm_npu_sync_op sync = { .flags = DRM_NPU_SYNC_OP_SIGNAL, .handle = n->sync[slot] };
	struct drm_npu_job jobs[MAX_BATCH] = { 0 };
	struct drm_npu_submit submit = {
		.queue_id = n->queue,
		.jobs = DRM_NPU_OBJ_ARRAY(count, jobs),
	};
	unsigned int i;

	for (i = 0; i < count; i++) {
		jobs[i].stream = STREAM_VA;
		jobs[i].stream_size = n->stream_size;
	}
	jobs[count - 1].syncs = (struct drm_npu_obj_array)DRM_NPU_OBJ_ARRAY(1, &sync);
	if (drmIoctl(n->fd, DRM_IOCTL_NPU_SUBMIT, &submit))
		return -errno;
	*id = jobs[count - 1].id;
	return 0;
}

static int noop_submit(struct noop *n, unsigned int slot, uint64_t *id)
{
	return noop_submit_many(n, slot, 1, id);
}

/* Returns 0 when the fence has signalled, with whatever error. */
static int noop_wait(struct noop *n, unsigned int slot)
{
	return drmSyncobjWait(n->fd, &n->sync[slot], 1, now_ns() + 30000000000ull, 0, NULL);
}

static int noop_result(struct noop *n, struct drm_npu_job_get_result *result, uint64_t id)
{
	memset(result, 0, sizeof(*result));
	result->queue_id = n->queue;
	result->job_id = id;
	return noop_ioctl(n, DRM_IOCTL_NPU_JOB_GET_RESULT, result, "JOB_GET_RESULT");
}

/* Have the module run @count empty jobs, or doorbells, and print its line. */
static int floor_round(const char *file, unsigned int count)
{
	char path[96], line[32];
	uint64_t *ns = calloc(count, sizeof(*ns));
	unsigned int got = 0;
	FILE *f;

	snprintf(path, sizeof(path), FLOOR "%s", file);
	f = fopen(path, "r+");
	if (!ns || !f || fprintf(f, "%u\n", count) < 0 || fflush(f)) {
		free(ns);
		if (f)
			fclose(f);
		return fail("%s: %s", path, strerror(errno));
	}
	rewind(f);
	while (got < count && fgets(line, sizeof(line), f))
		ns[got++] = strtoull(line, NULL, 10);
	fclose(f);
	printf("{\"what\":\"floor\",");
	print_us(file, ns, got);
	printf("}\n");
	free(ns);
	return got == count ? 0 : fail("%s: %u of %u samples", path, got, count);
}

/* One job from before the ioctl until the wait is over. */
static int noop_one(struct noop *n, uint64_t *submit, uint64_t *total,
		    struct drm_npu_job_get_result *result)
{
	uint64_t begin = now_ns(), id;
	int ret = noop_submit(n, 0, &id);

	if (ret)
		return fail("SUBMIT: %s", strerror(-ret));
	*submit = now_ns() - begin;
	if (noop_wait(n, 0))
		return fail("a job does not end");
	*total = now_ns() - begin;
	if (noop_result(n, result, id))
		return 1;
	if (result->status != DRM_NPU_JOB_DONE)
		return fail("a job ended with status %u", result->status);
	return 0;
}

static int noop_round(struct noop *n, unsigned int count)
{
	uint64_t *ns = calloc(3ul * count, sizeof(*ns));
	struct drm_npu_job_get_result result;
	unsigned int i;
	int ret = ns ? 0 : fail("no memory");

	for (i = 0; !ret && i < count; i++) {
		ret = noop_one(n, &ns[i], &ns[count + i], &result);
		ns[2 * count + i] = result.ended_ns - result.started_ns;
	}
	if (!ret) {
		printf("{\"what\":\"noop\",");
		print_us("submit", ns, count);
		printf(",");
		print_us("total", ns + count, count);
		printf(",");
		print_us("engine", ns + 2 * count, count);
		printf("}\n");
	}
	free(ns);
	return ret;
}

int bench_noop(unsigned int rounds, unsigned int count)
{
	struct noop n = { .fd = -1 };
	unsigned int i;
	int ret = noop_open(&n);

	for (i = 0; !ret && i < rounds; i++)
		ret = noop_round(&n, count) || floor_round("jobs", count) ||
		      floor_round("doorbells", count);
	close(n.fd);
	return ret;
}

/* @count jobs, up to @depth of them in flight, @batch by each call; the time of all of them. */
static int flight_round(struct noop *n, unsigned int count, unsigned int depth, unsigned int batch,
			uint64_t *ns)
{
	unsigned int slots = depth / batch, calls = count / batch, i;
	uint64_t begin = now_ns(), id;
	int ret;

	for (i = 0; i < calls + slots; i++) {
		if (i >= slots && noop_wait(n, i % slots))
			return fail("a job does not end");
		if (i >= calls)
			continue;
		ret = noop_submit_many(n, i % slots, batch, &id);
		if (ret)
			return fail("SUBMIT: %s", strerror(-ret));
	}
	*ns = now_ns() - begin;
	return 0;
}

/* Jobs per second, @depth of them in flight, by calls of so many. */
static const unsigned int batches[] = { 1, 8, 16, 32 };
#define NUM_BATCHES	(sizeof(batches) / sizeof(*batches))

int bench_flight(unsigned int rounds, unsigned int count, unsigned int depth)
{
	struct noop n = { .fd = -1 };
	unsigned int i, b;
	uint64_t ns;
	int ret;

	if (depth > MAX_DEPTH || depth % MAX_BATCH || count % depth)
		return fail("DEPTH: a multiple of %u up to %u was expected, COUNT: one of DEPTH",
			    MAX_BATCH, MAX_DEPTH);
	ret = noop_open(&n);
	for (i = 0; !ret && i < rounds; i++) {
		ret = flight_round(&n, count, 1, 1, &ns);
		if (!ret)
			printf("{\"what\":\"flight\",\"serial\":%.1f", 1e9 * count / ns);
		for (b = 0; !ret && b < NUM_BATCHES; b++) {
			ret = flight_round(&n, count, depth, batches[b], &ns);
			if (!ret)
				printf(",\"%u\":%.1f", batches[b], 1e9 * count / ns);
		}
		printf("}\n");
	}
	close(n.fd);
	return ret;
}

/*
 * What to add to the device's time to get CLOCK_MONOTONIC: from the query that was answered
 * fastest, between whose two ends the device has read its clock.
 */
static int clock_offset(struct noop *n, int64_t *offset, uint64_t *within)
{
	struct drm_npu_timestamp_info info;
	struct drm_npu_dev_query query = { .type = DRM_NPU_DEV_QUERY_TIMESTAMP,
					   .size = sizeof(info), .pointer = (uintptr_t)&info };
	uint64_t begin, took;
	unsigned int i;

	*within = UINT64_MAX;
	for (i = 0; i < 100; i++) {
		begin = now_ns();
		if (noop_ioctl(n, DRM_IOCTL_NPU_DEV_QUERY, &query, "DEV_QUERY"))
			return 1;
		took = now_ns() - begin;
		if (took >= *within)
			continue;
		*within = took;
		*offset = (int64_t)(begin + took / 2) - (int64_t)info.device;
	}
	return 0;
}

int bench_trace(unsigned int count)
{
	struct drm_npu_job_get_result result;
	struct noop n = { .fd = -1 };
	uint64_t begin, submit, total, within;
	int64_t offset = 0;
	unsigned int i;
	int ret = noop_open(&n) || clock_offset(&n, &offset, &within);

	for (i = 0; !ret && i < count; i++) {
		begin = now_ns();
		ret = noop_one(&n, &submit, &total, &result);
		if (!ret)
			printf("{\"what\":\"trace\",\"job\":%llu,\"begin\":%.1f,\"started\":%.1f,"
			       "\"ended\":%.1f,\"woken\":%.1f,\"within\":%.1f}\n",
			       (unsigned long long)result.job_id, begin / 1e3,
			       (result.started_ns + offset) / 1e3,
			       (result.ended_ns + offset) / 1e3, (begin + total) / 1e3,
			       within / 1e3);
	}
	close(n.fd);
	return ret;
}

/* Submit and wait, on new queues where one has died, until a job has ended well. */
static int until_good(struct noop *n, uint64_t deadline, unsigned int *lost)
{
	struct drm_npu_job_get_result result = { .status = DRM_NPU_JOB_PENDING };
	uint64_t id;

	while (now_ns() < deadline) {
		if (!noop_submit(n, 0, &id) && !noop_wait(n, 0)) {
			result.queue_id = n->queue;
			result.job_id = id;
			if (!drmIoctl(n->fd, DRM_IOCTL_NPU_JOB_GET_RESULT, &result) &&
			    result.status == DRM_NPU_JOB_DONE)
				return 0;
			++*lost;
		}
		noop_make_queue(n);
	}
	return fail("no job ended well any more");
}

int bench_recover(const char *fault, unsigned int rounds)
{
	static char answer[HOST_LINE];
	struct noop n = { .fd = -1 };
	char request[128];
	unsigned int i, lost = 0;
	uint64_t begin;
	int ret = noop_open(&n);

	snprintf(request, sizeof(request), "fault %s", fault);
	for (i = 0; !ret && i < rounds; i++) {
		lost = 0;
		ret = until_good(&n, now_ns() + 60000000000ull, &lost);
		lost = 0;
		if (ret || host(request, answer)) {
			ret = 1;
			break;
		}
		begin = now_ns();
		ret = until_good(&n, begin + 60000000000ull, &lost);
		if (!ret)
			printf("{\"what\":\"recover\",\"fault\":\"%s\",\"ms\":%.1f,"
			       "\"lost\":%u}\n", fault, (now_ns() - begin) / 1e6, lost);
	}
	close(n.fd);
	return ret;
}
