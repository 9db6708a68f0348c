// SPDX-License-Identifier: GPL-2.0-only
/* Buffers and address spaces: what jobs see through what was mapped. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "npu_dev.h"
#include "npu_test.h"

#define PAGES	16u
#define SIZE	(PAGES * NPU_PAGE)
#define WAIT	30

FIXTURE(memory) {
	struct npu_dev dev;
	struct npu_buf a, b, out;
};

FIXTURE_SETUP(memory)
{
	int ret = npu_dev_open(&self->dev);

	if (ret == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_buf_create(self->dev.fd, SIZE, 0, 0, &self->a));
	ASSERT_EQ(0, npu_buf_create(self->dev.fd, SIZE, 0, 0, &self->b));
	ASSERT_EQ(0, npu_buf_create(self->dev.fd, SIZE, 0, 0, &self->out));
	ASSERT_EQ(0, npu_bind(self->dev.fd, self->dev.vm, self->out.handle, 0, NPU_VA_OUT, SIZE,
			      0));
}

FIXTURE_TEARDOWN(memory)
{
	npu_buf_destroy(self->dev.fd, &self->a);
	npu_buf_destroy(self->dev.fd, &self->b);
	npu_buf_destroy(self->dev.fd, &self->out);
	npu_dev_close(&self->dev);
}

/* Each page has a byte of its own. */
static void paint(struct npu_buf *buf, uint8_t first)
{
	uint32_t i;

	for (i = 0; i < buf->size / NPU_PAGE; i++)
		memset(buf->cpu + i * NPU_PAGE, first + i, NPU_PAGE);
}

static int copy_out(struct npu_dev *dev, uint64_t va, uint32_t size)
{
	struct npu_copy copy = { .in = va, .out = NPU_VA_OUT, .size = size };

	return npu_copy_run(dev, &copy, WAIT);
}

/* 13, 6 */
TEST_F(memory, is_zero_and_made_of_pages)
{
	struct npu_buf buf;
	uint32_t i;

	ASSERT_EQ(0, npu_buf_create(self->dev.fd, 5, 0, 0, &buf));
	EXPECT_EQ(NPU_PAGE, buf.size);
	for (i = 0; i < NPU_PAGE; i++)
		ASSERT_EQ(0, buf.cpu[i]);
	npu_buf_destroy(self->dev.fd, &buf);
	EXPECT_EQ(-EINVAL, npu_buf_create(self->dev.fd, 0, 0, 0, &buf));
	EXPECT_EQ(-EINVAL, npu_buf_create(self->dev.fd, SIZE_MAX, 0, 0, &buf));
	EXPECT_EQ(-EINVAL, npu_buf_create(self->dev.fd, SIZE_MAX - 4095, 0, 0, &buf));
}

/* 14 to 17 */
TEST_F(memory, cpu_mappings)
{
	struct drm_npu_bo_mmap_offset args = { .handle = self->a.handle };
	struct npu_buf hidden;
	uint8_t *part;

	ASSERT_EQ(0, npu_ioctl(self->dev.fd, DRM_IOCTL_NPU_BO_MMAP_OFFSET, &args));
	paint(&self->a, 1);
	part = mmap(NULL, NPU_PAGE, PROT_READ, MAP_SHARED, self->dev.fd, args.offset);
	ASSERT_NE(MAP_FAILED, part);
	EXPECT_EQ(1, part[0]);
	munmap(part, NPU_PAGE);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, SIZE + NPU_PAGE, PROT_READ, MAP_SHARED, self->dev.fd,
				   args.offset));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, self->dev.fd,
				   args.offset));
	EXPECT_EQ(EINVAL, errno);

	ASSERT_EQ(0, npu_buf_create(self->dev.fd, SIZE, DRM_NPU_BO_NO_MMAP, 0, &hidden));
	args.handle = hidden.handle;
	EXPECT_EQ(-EINVAL, npu_ioctl(self->dev.fd, DRM_IOCTL_NPU_BO_MMAP_OFFSET, &args));
	npu_buf_destroy(self->dev.fd, &hidden);
}

TEST_F(memory, cpu_mapping_outlives_the_handle)
{
	struct drm_gem_close args = { .handle = self->a.handle };

	paint(&self->a, 1);
	ASSERT_EQ(0, npu_ioctl(self->dev.fd, DRM_IOCTL_GEM_CLOSE, &args));
	self->a.handle = 0;
	EXPECT_EQ(1, self->a.cpu[0]);
	EXPECT_EQ(PAGES, self->a.cpu[SIZE - 1]);
}

/*
 * 18: b is mapped into a in each way; then a job reads all of it. model[] is what each page has to
 * be, 0: not mapped.
 */
static void check(struct __test_metadata *_metadata, struct npu_dev *dev, struct npu_buf *out,
		  const uint8_t *model, uint32_t first, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		ASSERT_EQ(0, copy_out(dev, NPU_VA_IN + (first + i) * NPU_PAGE, NPU_PAGE));
		EXPECT_EQ(model[first + i], out->cpu[0]);
		EXPECT_EQ(model[first + i], out->cpu[NPU_PAGE - 1]);
	}
}

TEST_F(memory, overlaps)
{
	static const struct { uint32_t at, count; } cut[] = {
		{ 0, PAGES }, { 0, 4 }, { 12, 4 }, { 6, 3 }, { 1, 1 }, { 14, 2 },
	};
	uint32_t c, i, fd = self->dev.fd, vm = self->dev.vm;
	uint8_t model[PAGES];

	paint(&self->a, 1);
	paint(&self->b, 101);
	for (c = 0; c < sizeof(cut) / sizeof(cut[0]); c++) {
		ASSERT_EQ(0, npu_bind(fd, vm, self->a.handle, 0, NPU_VA_IN, SIZE, 0));
		for (i = 0; i < PAGES; i++)
			model[i] = 1 + i;
		ASSERT_EQ(0, npu_bind(fd, vm, self->b.handle, 0, NPU_VA_IN + cut[c].at * NPU_PAGE,
				      cut[c].count * NPU_PAGE, 0));
		for (i = 0; i < cut[c].count; i++)
			model[cut[c].at + i] = 101 + i;
		check(_metadata, &self->dev, &self->out, model, 0, PAGES);
	}
	/* A hole, then one superset over all of it. */
	ASSERT_EQ(0, npu_unbind(fd, vm, NPU_VA_IN + 2 * NPU_PAGE, 3 * NPU_PAGE));
	check(_metadata, &self->dev, &self->out, model, 0, 2);
	check(_metadata, &self->dev, &self->out, model, 5, PAGES - 5);
	ASSERT_EQ(0, npu_bind(fd, vm, self->b.handle, 0, NPU_VA_IN, SIZE, 0));
	ASSERT_EQ(0, copy_out(&self->dev, NPU_VA_IN, SIZE));
	EXPECT_EQ(0, memcmp(self->b.cpu, self->out.cpu, SIZE));
	/* What is not mapped is no error. */
	EXPECT_EQ(0, npu_unbind(fd, vm, NPU_VA_IN, 1ull << 30));
	EXPECT_EQ(0, npu_unbind(fd, vm, NPU_VA_IN, SIZE));
	EXPECT_EQ(-EIO, copy_out(&self->dev, NPU_VA_IN, NPU_PAGE));
}

/* Large pages are split and joined. */
TEST_F(memory, large_pages)
{
	uint64_t size = 3 * NPU_LARGE, va = NPU_VA_IN, i;
	struct npu_buf big;
	int fd = self->dev.fd;

	ASSERT_EQ(0, npu_buf_create(fd, size, 0, 0, &big));
	for (i = 0; i < size; i += NPU_PAGE)
		big.cpu[i] = i / NPU_PAGE % 251 + 1;
	ASSERT_EQ(0, npu_bind(fd, self->dev.vm, big.handle, 0, va, size, 0));
	ASSERT_EQ(0, copy_out(&self->dev, va + NPU_LARGE - NPU_PAGE, 2 * NPU_PAGE));
	EXPECT_EQ(511 % 251 + 1, self->out.cpu[0]);
	EXPECT_EQ(512 % 251 + 1, self->out.cpu[NPU_PAGE]);
	/* A page in the middle of the second one goes, its neighbours stay. */
	ASSERT_EQ(0, npu_unbind(fd, self->dev.vm, va + NPU_LARGE + 8 * NPU_PAGE, NPU_PAGE));
	ASSERT_EQ(0, copy_out(&self->dev, va + NPU_LARGE + 7 * NPU_PAGE, NPU_PAGE));
	EXPECT_EQ(519 % 251 + 1, self->out.cpu[0]);
	ASSERT_EQ(0, copy_out(&self->dev, va + NPU_LARGE + 9 * NPU_PAGE, NPU_PAGE));
	EXPECT_EQ(521 % 251 + 1, self->out.cpu[0]);
	/* Mapped again at an odd place: small pages; and at an even one. */
	ASSERT_EQ(0, npu_bind(fd, self->dev.vm, big.handle, NPU_PAGE, va, size - NPU_PAGE, 0));
	ASSERT_EQ(0, copy_out(&self->dev, va, NPU_PAGE));
	EXPECT_EQ(2, self->out.cpu[0]);
	ASSERT_EQ(0, npu_bind(fd, self->dev.vm, big.handle, 0, va, size, 0));
	ASSERT_EQ(0, copy_out(&self->dev, va + size - NPU_PAGE, NPU_PAGE));
	EXPECT_EQ(1535 % 251 + 1, self->out.cpu[0]);
	ASSERT_EQ(0, npu_unbind(fd, self->dev.vm, va, size));
	npu_buf_destroy(fd, &big);
}

/* 7, 19 */
TEST_F(memory, bad_ranges_are_refused)
{
	struct drm_npu_mmu_info info = {};
	struct drm_npu_dev_query query = {
		.type = DRM_NPU_DEV_QUERY_MMU_INFO, .size = sizeof(info),
		.pointer = (uintptr_t)&info,
	};
	const struct { uint64_t offset, va, size; } bad[] = {
		{ 0, NPU_VA_IN, 0 }, { 0, NPU_VA_IN + 1, NPU_PAGE }, { 1, NPU_VA_IN, NPU_PAGE },
		{ 0, NPU_VA_IN, NPU_PAGE - 1 }, { SIZE, NPU_VA_IN, NPU_PAGE },
		{ NPU_PAGE, NPU_VA_IN, SIZE }, { -(uint64_t)NPU_PAGE, NPU_VA_IN, 2 * NPU_PAGE },
		{ 0, -(uint64_t)NPU_PAGE, NPU_PAGE }, { 0, -(uint64_t)NPU_PAGE, 2 * NPU_PAGE },
	};
	uint32_t i, fd = self->dev.fd, vm = self->dev.vm;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EXPECT_EQ(-EINVAL, npu_bind(fd, vm, self->a.handle, bad[i].offset, bad[i].va,
					    bad[i].size, 0));
	ASSERT_EQ(0, npu_ioctl(fd, DRM_IOCTL_NPU_DEV_QUERY, &query));
	EXPECT_EQ(-EINVAL, npu_bind(fd, vm, self->a.handle, 0, info.user_va_end, NPU_PAGE, 0));
	EXPECT_EQ(-EINVAL, npu_bind(fd, vm, self->a.handle, 0, info.user_va_end - NPU_PAGE,
				    2 * NPU_PAGE, 0));
	EXPECT_EQ(0, npu_bind(fd, vm, self->a.handle, 0, info.user_va_end - NPU_PAGE, NPU_PAGE, 0));
	EXPECT_EQ(-ENOENT, npu_bind(fd, vm, self->a.handle + 1000, 0, NPU_VA_IN, NPU_PAGE, 0));
}

/* 20, and code can not be read or written, nor data fetched. */
static void expect_fault(struct __test_metadata *_metadata, const struct npu_copy *copy,
			 uint32_t flags, uint32_t access)
{
	struct drm_npu_queue_get_state state;
	struct npu_dev dev;
	struct npu_buf buf;

	ASSERT_EQ(0, npu_dev_open(&dev));
	ASSERT_EQ(0, npu_buf_create(dev.fd, 2 * SIZE, 0, 0, &buf));
	ASSERT_EQ(0, npu_bind(dev.fd, dev.vm, buf.handle, 0, NPU_VA_IN, SIZE, flags));
	ASSERT_EQ(0, npu_bind(dev.fd, dev.vm, buf.handle, SIZE, NPU_VA_OUT, SIZE, 0));
	EXPECT_EQ(-EIO, npu_copy_run(&dev, copy, WAIT));
	ASSERT_EQ(0, npu_queue_state(dev.fd, dev.queue, &state));
	EXPECT_EQ(11, state.fault.code);	/* NPU_FAULT_MMU */
	EXPECT_EQ(access, state.fault.access);
	EXPECT_EQ(NPU_VA_IN, state.fault.address);
	npu_buf_destroy(dev.fd, &buf);
	npu_dev_close(&dev);
}

TEST_F(memory, permissions)
{
	const struct npu_copy read = { .in = NPU_VA_IN, .out = NPU_VA_OUT, .size = NPU_PAGE };
	const struct npu_copy write = { .in = NPU_VA_OUT, .out = NPU_VA_IN, .size = NPU_PAGE };

	expect_fault(_metadata, &write, DRM_NPU_VM_BIND_OP_READONLY, DRM_NPU_ACCESS_WRITE);
	expect_fault(_metadata, &write, DRM_NPU_VM_BIND_OP_EXEC, DRM_NPU_ACCESS_WRITE);
	expect_fault(_metadata, &read, DRM_NPU_VM_BIND_OP_EXEC, DRM_NPU_ACCESS_READ);
	EXPECT_EQ(-EINVAL, npu_bind(self->dev.fd, self->dev.vm, self->a.handle, 0, NPU_VA_IN, SIZE,
				    DRM_NPU_VM_BIND_OP_EXEC | DRM_NPU_VM_BIND_OP_READONLY));
}

/* 21: the same addresses, other memory. */
TEST_F(memory, vms_are_apart)
{
	struct npu_buf out, data;
	struct npu_dev other;
	uint32_t i;

	paint(&self->a, 1);
	ASSERT_EQ(0, npu_bind(self->dev.fd, self->dev.vm, self->a.handle, 0, NPU_VA_IN, SIZE, 0));
	ASSERT_EQ(0, npu_dev_open(&other));
	ASSERT_EQ(0, npu_buf_create(other.fd, SIZE, 0, 0, &out));
	ASSERT_EQ(0, npu_bind(other.fd, other.vm, out.handle, 0, NPU_VA_OUT, SIZE, 0));
	EXPECT_EQ(0, copy_out(&self->dev, NPU_VA_IN, SIZE));
	EXPECT_EQ(0, memcmp(self->a.cpu, self->out.cpu, SIZE));
	EXPECT_EQ(-EIO, copy_out(&other, NPU_VA_IN, SIZE));
	EXPECT_EQ(0, out.cpu[0]);

	/* And with other data there, by turns. */
	ASSERT_EQ(0, npu_queue_destroy(other.fd, other.queue));
	ASSERT_EQ(0, npu_queue_create(other.fd, other.vm, 1, 0, &other.queue));
	ASSERT_EQ(0, npu_buf_create(other.fd, SIZE, 0, 0, &data));
	ASSERT_EQ(0, npu_bind(other.fd, other.vm, data.handle, 0, NPU_VA_IN, SIZE, 0));
	paint(&data, 101);
	for (i = 0; i < 8; i++) {
		memset(self->out.cpu, 0, SIZE);
		memset(out.cpu, 0, SIZE);
		EXPECT_EQ(0, copy_out(&other, NPU_VA_IN, SIZE));
		EXPECT_EQ(0, memcmp(data.cpu, out.cpu, SIZE));
		EXPECT_EQ(0, copy_out(&self->dev, NPU_VA_IN, SIZE));
		EXPECT_EQ(0, memcmp(self->a.cpu, self->out.cpu, SIZE));
	}
	npu_buf_destroy(other.fd, &data);
	npu_buf_destroy(other.fd, &out);
	npu_dev_close(&other);
}

/* 22 */
TEST_F(memory, exclusive_buffers)
{
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC };
	uint32_t other, fd = self->dev.fd;
	struct npu_buf buf;

	ASSERT_EQ(0, npu_vm_create(fd, &other));
	ASSERT_EQ(0, npu_buf_create(fd, SIZE, 0, self->dev.vm, &buf));
	EXPECT_EQ(-EINVAL, npu_bind(fd, other, buf.handle, 0, NPU_VA_IN, SIZE, 0));
	EXPECT_EQ(0, npu_bind(fd, self->dev.vm, buf.handle, 0, NPU_VA_IN, SIZE, 0));
	paint(&buf, 7);
	EXPECT_EQ(0, copy_out(&self->dev, NPU_VA_IN, SIZE));
	EXPECT_EQ(0, memcmp(buf.cpu, self->out.cpu, SIZE));
	prime.handle = buf.handle;
	EXPECT_EQ(-EINVAL, npu_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	npu_buf_destroy(fd, &buf);
}

/*
 * 23: mapping and unmapping under a running queue; jobs end well or fault, and nothing else does.
 */
TEST_F(memory, unmap_under_jobs)
{
	struct npu_copy copy = { .in = NPU_VA_IN, .out = NPU_VA_OUT, .size = SIZE, .times = 8 };
	uint32_t i, fd = self->dev.fd, vm = self->dev.vm, good = 0, bad = 0, sync;
	int status;

	ASSERT_EQ(0, npu_syncobj_create(fd, &sync));
	for (i = 0; i < 60; i++) {
		ASSERT_EQ(0, npu_bind(fd, vm, self->a.handle, 0, NPU_VA_IN, SIZE, 0));
		ASSERT_EQ(0, npu_copy_submit(&self->dev, &copy, sync, NULL));
		if (i % 2)
			ASSERT_EQ(0, npu_unbind(fd, vm, NPU_VA_IN, SIZE));
		ASSERT_EQ(0, npu_syncobj_wait(fd, sync, 0, WAIT));
		status = npu_syncobj_status(fd, sync);
		good += status == 1;
		bad += status == -EIO;
		if (status == 1)
			continue;
		ASSERT_EQ(0, npu_queue_destroy(fd, self->dev.queue));
		ASSERT_EQ(0, npu_queue_create(fd, vm, DRM_NPU_PRIORITY_NORMAL, 0,
					      &self->dev.queue));
	}
	TH_LOG("%u jobs ended well, %u faulted", good, bad);
	EXPECT_EQ(60, good + bad);
}

/*
 * 23: what was unmapped is not written any more, though the job that writes it has not ended: it
 * faults.
 */
TEST_F_TIMEOUT(memory, nothing_is_written_behind_an_unmap, 60)
{
	const uint64_t va = 2 * NPU_VA_OUT;
	/* So many that it lasts, however slow this processor is. */
	const struct npu_copy copy = {
		.in = NPU_VA_IN, .out = va, .size = NPU_LARGE, .times = NPU_LONG_TIMES,
	};
	uint32_t i, fd = self->dev.fd, vm = self->dev.vm, faulted = 0;
	struct drm_npu_sync_op sync = { .flags = DRM_NPU_SYNC_OP_SIGNAL };
	struct drm_npu_region regions[2];
	struct drm_npu_job job;
	struct npu_buf in, out;
	int status;

	npu_long_copy_job(&self->dev, &copy, regions, &job);
	ASSERT_EQ(0, npu_syncobj_create(fd, &sync.handle));
	job.syncs = (struct drm_npu_obj_array)DRM_NPU_OBJ_ARRAY(1, &sync);
	ASSERT_EQ(0, npu_buf_create(fd, NPU_LARGE, 0, 0, &in));
	ASSERT_EQ(0, npu_buf_create(fd, NPU_LARGE, 0, 0, &out));
	ASSERT_EQ(0, npu_bind(fd, vm, in.handle, 0, NPU_VA_IN, NPU_LARGE, 0));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, npu_bind(fd, vm, out.handle, 0, va, NPU_LARGE, 0));
		ASSERT_EQ(0, npu_submit_jobs(fd, self->dev.queue, &job, 1, NULL));
		usleep(i * 200);
		ASSERT_EQ(0, npu_unbind(fd, vm, va, NPU_LARGE));
		memset(out.cpu, 0xee, NPU_LARGE);
		ASSERT_EQ(0, npu_syncobj_wait(fd, sync.handle, 0, WAIT));
		ASSERT_EQ(0xee, out.cpu[0]);
		ASSERT_EQ(0, memcmp(out.cpu, out.cpu + 1, NPU_LARGE - 1));
		status = npu_syncobj_status(fd, sync.handle);
		ASSERT_TRUE(status == 1 || status == -EIO);
		if (status == 1)
			continue;
		faulted++;
		ASSERT_EQ(0, npu_queue_destroy(fd, self->dev.queue));
		ASSERT_EQ(0, npu_queue_create(fd, vm, DRM_NPU_PRIORITY_NORMAL, 0,
					      &self->dev.queue));
	}
	TH_LOG("%u of %u jobs had not ended", faulted, i);
	EXPECT_LT(0, faulted);
	npu_buf_destroy(fd, &in);
	npu_buf_destroy(fd, &out);
}

/* 24 */
TEST_F(memory, many_buffers)
{
	struct npu_buf buf;
	uint32_t i;

	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(0, npu_buf_create(self->dev.fd, NPU_PAGE << i % 4, 0, 0, &buf));
		if (!(i % 10)) {
			ASSERT_EQ(0, npu_bind(self->dev.fd, self->dev.vm, buf.handle, 0, NPU_VA_IN,
					      buf.size, 0));
			ASSERT_EQ(0, npu_unbind(self->dev.fd, self->dev.vm, NPU_VA_IN, buf.size));
		}
		npu_buf_destroy(self->dev.fd, &buf);
	}
}

/* 16: a mapping does not grow beyond its buffer, and a child has the same memory, not a copy. */
TEST_F(memory, cpu_mappings_of_other_shapes)
{
	struct drm_npu_bo_mmap_offset args = { .handle = self->a.handle };
	volatile uint8_t *map;
	void *grown;
	int status;
	pid_t pid;

	ASSERT_EQ(0, npu_ioctl(self->dev.fd, DRM_IOCTL_NPU_BO_MMAP_OFFSET, &args));
	map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, self->dev.fd, args.offset);
	ASSERT_NE(MAP_FAILED, map);
	grown = mremap((void *)map, SIZE, 2 * SIZE, MREMAP_MAYMOVE);
	EXPECT_EQ(MAP_FAILED, grown);
	map[0] = 1;
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		/* The file of its own is the parent's: a job of the child's sees what it writes. */
		map[0]++;
		_exit(map[0] != 2);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(2, map[0]);
	munmap((void *)map, SIZE);
}

struct closer {
	int fd;
	volatile uint32_t next;		/* the handle that was made last */
	volatile bool quit;
};

static void *close_next(void *arg)
{
	struct closer *c = arg;
	struct drm_gem_close args = {};

	while (!c->quit) {
		args.handle = c->next;
		npu_ioctl(c->fd, DRM_IOCTL_GEM_CLOSE, &args);
		args.handle++;
		npu_ioctl(c->fd, DRM_IOCTL_GEM_CLOSE, &args);
	}
	return NULL;
}

/* 25: a handle is guessed and closed while its buffer is being made, and used. */
TEST_F(memory, handles_that_others_close)
{
	struct closer closer = { .fd = self->dev.fd };
	struct drm_npu_bo_create bo;
	uint32_t i, lost = 0;
	pthread_t thread;
	int ret;

	ASSERT_EQ(0, npu_buf_create(self->dev.fd, NPU_PAGE, 0, 0, &self->b));
	closer.next = self->b.handle + 1;
	ASSERT_EQ(0, pthread_create(&thread, NULL, close_next, &closer));
	for (i = 0; i < 500; i++) {
		bo = (struct drm_npu_bo_create) { .size = NPU_PAGE };
		ASSERT_EQ(0, npu_ioctl(self->dev.fd, DRM_IOCTL_NPU_BO_CREATE, &bo));
		closer.next = bo.handle;
		/* On one processor, too. */
		if (i % 2)
			sched_yield();
		ret = npu_bind(self->dev.fd, self->dev.vm, bo.handle, 0, NPU_VA_IN, NPU_PAGE, 0);
		lost += ret == -ENOENT;
		ASSERT_TRUE(!ret || ret == -ENOENT);
	}
	closer.quit = true;
	pthread_join(thread, NULL);
	TH_LOG("%u of %u were closed before they were mapped", lost, i);
	EXPECT_LT(0, lost);
	/* What is mapped lives on without its handle. */
	EXPECT_EQ(0, copy_out(&self->dev, NPU_VA_IN, NPU_PAGE));
}

TEST_HARNESS_MAIN
