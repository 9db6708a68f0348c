// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile program: processes of several threads that share a file make calls that are half
 * right, with handles that may be stale, counts, strides, pointers and offsets that may be
 * anything, and take the file away below each other; a process is killed in the middle. Then
 * nothing may be left behind, the kernel must not have complained, and a job must still run.
 *
 * NPU_FUZZ_SEED repeats a run, as far as threads repeat; NPU_FUZZ_SECONDS is how long, else 5,
 * or 60 with NPU_TEST_LONG.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <npu_isa.h>
#include <npu_isa_desc.h>
#include "kselftest_harness.h"
#include "npu_sys.h"
#include "npu_test.h"

#define PROCESSES	3
#define THREADS		3
#define SLOTS		4
#define PAGE		4096u
#define STREAM_VA	(16 * PAGE)
#define OUT_VA		(32 * PAGE)
#define PATIENCE_MS	10000

/* A stream that writes the time to region 0, in the layout of the instruction set. */
struct stream {
	struct npu_stream_header header;
	struct npu_insn_header stamp;
	struct npu_operand out;
	struct npu_insn_header end;
};

/* What the threads of a process share, without a lock: races are the point. */
struct shared {
	int fd;
	volatile __u32 vm[SLOTS], bo[SLOTS], queue[SLOTS], sync[SLOTS];
	time_t end;
	unsigned char *hole, *page;
};

struct thread {
	struct shared *shared;
	__u64 random;
	pthread_t id;
};

static __u64 rnd(struct thread *t)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return t->random;
}

static __u32 below(struct thread *t, __u32 limit)
{
	return (rnd(t) >> 16) % limit;
}

static int one_in(struct thread *t, __u32 n)
{
	return !below(t, n);
}

/* A number at which something may overflow. */
static __u64 odd(struct thread *t)
{
	switch (below(t, 6)) {
	case 0:		return 1ull << below(t, 64);
	case 1:		return (1ull << below(t, 64)) - 1;
	case 2:		return -(__u64)below(t, 2 * PAGE);
	case 3:		return below(t, 70);
	case 4:		return (__u64)below(t, 64) * PAGE;
	default:	return rnd(t);
	}
}

static __u64 maybe(struct thread *t, __u64 good)
{
	return one_in(t, 12) ? odd(t) : good;
}

static __u32 some(struct thread *t, volatile __u32 *slots)
{
	return maybe(t, slots[below(t, SLOTS)]);
}

static __u64 pointer(struct thread *t, const void *good)
{
	switch (below(t, 40)) {
	case 0:		return 0;
	case 1:		return (uintptr_t)t->shared->hole;
	case 2:		return (uintptr_t)t->shared->hole - 8;
	case 3:		return odd(t);
	default:	return (uintptr_t)good;
	}
}

static struct drm_npu_obj_array array(struct thread *t, __u32 count, __u32 stride, const void *at)
{
	struct drm_npu_obj_array a = { .stride = stride, .count = count, .array = pointer(t, at) };

	if (one_in(t, 20))
		a.stride = odd(t);
	if (one_in(t, 20))
		a.count = odd(t);
	return a;
}

static int call(struct thread *t, unsigned long request, void *arg)
{
	return ioctl(t->shared->fd, request, arg) ? -errno : 0;
}

/* --- calls --- */

static void do_vm_create(struct thread *t)
{
	struct drm_npu_vm_create vm = { .user_va_range = one_in(t, 8) ? odd(t) : 0 };

	if (!call(t, DRM_IOCTL_NPU_VM_CREATE, &vm))
		t->shared->vm[below(t, SLOTS)] = vm.id;
}

static void do_vm_destroy(struct thread *t)
{
	struct drm_npu_vm_destroy vm = { .id = some(t, t->shared->vm) };

	call(t, DRM_IOCTL_NPU_VM_DESTROY, &vm);
}

static void do_bo_create(struct thread *t)
{
	static const __u64 sizes[] = { 1, PAGE, 3 * PAGE, 64 * PAGE, 2 << 20, 5 << 20 };
	struct drm_npu_bo_create bo = { .size = sizes[below(t, 6)], .flags = one_in(t, 8) };

	/* More than any machine has, not merely much: that would only be slow. */
	if (one_in(t, 10))
		bo.size = odd(t) << 44;
	if (one_in(t, 3))
		bo.exclusive_vm_id = some(t, t->shared->vm);
	if (!call(t, DRM_IOCTL_NPU_BO_CREATE, &bo))
		t->shared->bo[below(t, SLOTS)] = bo.handle;
}

static void do_bo_close(struct thread *t)
{
	struct drm_gem_close bo = { .handle = some(t, t->shared->bo) };

	call(t, DRM_IOCTL_GEM_CLOSE, &bo);
}

static void do_bo_calls(struct thread *t)
{
	struct drm_npu_bo_sync_op op[2] = {
		{ .handle = some(t, t->shared->bo), .type = below(t, 3), .size = maybe(t, PAGE) },
		{ .handle = some(t, t->shared->bo), .offset = odd(t), .size = odd(t) },
	};
	struct drm_npu_bo_sync sync = { .ops = array(t, 1 + one_in(t, 2), sizeof(op[0]), op) };
	struct drm_npu_bo_query_info info = { .handle = some(t, t->shared->bo) };
	struct drm_npu_bo_set_label label = { .handle = info.handle, .label = pointer(t, "fuzz") };

	call(t, DRM_IOCTL_NPU_BO_SYNC, &sync);
	call(t, DRM_IOCTL_NPU_BO_QUERY_INFO, &info);
	call(t, DRM_IOCTL_NPU_BO_SET_LABEL, &label);
}

static void do_mmap(struct thread *t)
{
	struct drm_npu_bo_mmap_offset arg = { .handle = some(t, t->shared->bo) };
	size_t size = PAGE * (1 + below(t, 4));
	char *map;

	call(t, DRM_IOCTL_NPU_BO_MMAP_OFFSET, &arg);
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, one_in(t, 6) ? MAP_PRIVATE : MAP_SHARED,
		   t->shared->fd, maybe(t, arg.offset) & ~(__u64)(PAGE - 1));
	if (map == MAP_FAILED)
		return;
	do_bo_close(t);
	/* What is mapped is within the buffer, and keeps it. */
	map[below(t, size)] = 1;
	/* Cuts it: a hole could be another thread's by the time the rest goes. */
	mprotect(map + PAGE * below(t, size / PAGE), PAGE, PROT_READ);
	munmap(map, size);
}

static void do_prime(struct thread *t)
{
	struct drm_prime_handle prime = { .handle = some(t, t->shared->bo),
					  .flags = O_RDWR | O_CLOEXEC };
	int other;

	if (call(t, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime))
		return;
	do_bo_close(t);
	if (!call(t, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime))
		t->shared->bo[below(t, SLOTS)] = prime.handle;
	other = one_in(t, 4) ? npu_open() : -1;
	if (other >= 0) {
		npu_ioctl(other, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime);
		close(other);
	}
	close(prime.fd);
}

static void do_bind(struct thread *t)
{
	struct drm_npu_vm_bind_op ops[16];
	struct drm_npu_vm_bind bind = { .vm_id = some(t, t->shared->vm) };
	unsigned int i, count = 1 + below(t, 16);

	memset(ops, 0, sizeof(ops));
	for (i = 0; i < count; i++) {
		ops[i].va = maybe(t, (one_in(t, 3) ? below(t, 3) * (2ull << 20) : 0) +
				  below(t, 64) * (__u64)PAGE);
		ops[i].size = maybe(t, one_in(t, 5) ? 2 << 20 : PAGE * (1 + below(t, 8)));
		if (one_in(t, 3)) {
			ops[i].flags = DRM_NPU_VM_BIND_OP_TYPE_UNMAP;
			continue;
		}
		ops[i].flags = maybe(t, below(t, 3));
		ops[i].bo_handle = some(t, t->shared->bo);
		ops[i].bo_offset = one_in(t, 3) ? maybe(t, PAGE) : 0;
	}
	bind.ops = array(t, count, sizeof(ops[0]), ops);
	call(t, DRM_IOCTL_NPU_VM_BIND, &bind);
}

static void do_queue_create(struct thread *t)
{
	struct drm_npu_queue_create queue = {
		.vm_id = some(t, t->shared->vm), .priority = maybe(t, below(t, 4)),
		.depth = maybe(t, below(t, 16)),
	};

	if (!call(t, DRM_IOCTL_NPU_QUEUE_CREATE, &queue))
		t->shared->queue[below(t, SLOTS)] = queue.id;
}

static void do_queue_destroy(struct thread *t)
{
	struct drm_npu_queue_destroy queue = { .id = some(t, t->shared->queue) };

	call(t, DRM_IOCTL_NPU_QUEUE_DESTROY, &queue);
}

static void do_queue_calls(struct thread *t)
{
	struct drm_npu_queue_get_state state = { .id = some(t, t->shared->queue) };
	struct drm_npu_job_get_result result = { .queue_id = state.id, .job_id = odd(t) };
	struct drm_npu_job_cancel cancel = {
		.queue_id = some(t, t->shared->queue), .flags = maybe(t, 0),
		.job_id = one_in(t, 4) ? odd(t) : 1 + below(t, 64),
	};
	struct drm_npu_vm_get_state vm = { .vm_id = some(t, t->shared->vm) };

	call(t, DRM_IOCTL_NPU_QUEUE_GET_STATE, &state);
	call(t, DRM_IOCTL_NPU_JOB_GET_RESULT, &result);
	call(t, DRM_IOCTL_NPU_JOB_CANCEL, &cancel);
	call(t, DRM_IOCTL_NPU_VM_GET_STATE, &vm);
}

static void do_submit(struct thread *t)
{
	struct drm_npu_region regions[2] = { { .base = maybe(t, OUT_VA), .size = maybe(t, PAGE),
					       .access = maybe(t, DRM_NPU_ACCESS_WRITE) } };
	__u64 scalars[2] = { odd(t), odd(t) };
	struct drm_npu_submit submit = { .queue_id = some(t, t->shared->queue) };
	struct drm_npu_sync_op syncs[3];
	struct drm_npu_job jobs[4];
	unsigned int i;

	memset(jobs, 0, sizeof(jobs));
	for (i = 0; i < 3; i++) {
		syncs[i].flags = maybe(t, 2u << below(t, 2) | one_in(t, 2));
		syncs[i].handle = some(t, t->shared->sync);
		syncs[i].timeline_value = syncs[i].flags & 1 ? maybe(t, 1 + below(t, 9)) : 0;
	}
	for (i = 0; i < 4; i++) {
		jobs[i].stream = maybe(t, STREAM_VA);
		jobs[i].stream_size = maybe(t, sizeof(struct stream));
		jobs[i].regions = array(t, one_in(t, 5) ? 2 : 1, sizeof(regions[0]), regions);
		jobs[i].scalars = array(t, one_in(t, 5) ? 2 : 0, 8, scalars);
		jobs[i].syncs = array(t, one_in(t, 3) ? 3 : 0, sizeof(syncs[0]), syncs);
		if (one_in(t, 9))
			jobs[i].flags = below(t, 8);
	}
	submit.jobs = array(t, 1 + below(t, 4), sizeof(jobs[0]), jobs);
	call(t, DRM_IOCTL_NPU_SUBMIT, &submit);
}

static void do_syncobj(struct thread *t)
{
	__u32 handle = some(t, t->shared->sync);
	struct drm_syncobj_destroy destroy = { .handle = handle };
	struct drm_syncobj_create create = { .flags = one_in(t, 2) };
	struct drm_syncobj_array reset = { .handles = (uintptr_t)&handle, .count_handles = 1 };
	struct drm_syncobj_wait wait = { .handles = (uintptr_t)&handle, .count_handles = 1 };

	switch (below(t, 4)) {
	case 0:
		if (!call(t, DRM_IOCTL_SYNCOBJ_CREATE, &create))
			t->shared->sync[below(t, SLOTS)] = create.handle;
		break;
	case 1:
		call(t, one_in(t, 2) ? DRM_IOCTL_SYNCOBJ_RESET : DRM_IOCTL_SYNCOBJ_SIGNAL, &reset);
		break;
	case 2:
		call(t, DRM_IOCTL_SYNCOBJ_WAIT, &wait);
		break;
	default:
		call(t, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy);
	}
}

/* Any call, with anything in it; but large buffers, which would only be slow. */
static void do_raw(struct thread *t)
{
	unsigned int nr = below(t, 17), size = 8 * below(t, 33), i;
	__u64 arg[40];

	if (nr == DRM_NPU_BO_CREATE)
		return;
	for (i = 0; i < 40; i++)
		arg[i] = one_in(t, 2) ? 0 : odd(t);
	call(t, _IOC(_IOC_READ | _IOC_WRITE, 'd', DRM_COMMAND_BASE + nr, size),
	     one_in(t, 10) ? (void *)(uintptr_t)pointer(t, arg) : arg);
}

/* The file is closed while others are in it; the number stays a file of the device. */
static void do_reopen(struct thread *t)
{
	int fd = npu_open();

	if (fd < 0)
		return;
	dup2(fd, t->shared->fd);
	close(fd);
}

static void do_fork(struct thread *t)
{
	pid_t pid = fork();

	if (!pid) {
		do_bind(t);
		do_submit(t);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static int good_vm(int fd, __u32 *vm, __u64 **out);

/* A VM where jobs run, so that not all of them fail at their first byte. */
static void do_good_vm(struct thread *t)
{
	__u32 vm;
	__u64 *out;

	if (good_vm(t->shared->fd, &vm, &out))
		return;
	munmap(out, PAGE);
	t->shared->vm[below(t, SLOTS)] = vm;
}

static const struct {
	void (*run)(struct thread *t);
	unsigned int weight;
} kinds[] = {
	{ do_vm_create, 3 }, { do_vm_destroy, 2 }, { do_bo_create, 10 }, { do_bo_close, 5 },
	{ do_bo_calls, 5 }, { do_mmap, 5 }, { do_prime, 5 }, { do_bind, 20 },
	{ do_queue_create, 6 }, { do_queue_destroy, 4 }, { do_queue_calls, 5 }, { do_submit, 25 },
	{ do_syncobj, 10 }, { do_raw, 10 }, { do_reopen, 1 }, { do_fork, 1 }, { do_good_vm, 4 },
};

#define NUM_KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static void *fuzz(void *arg)
{
	struct thread *t = arg;
	unsigned int i, at, sum = 0;

	for (i = 0; i < NUM_KINDS; i++)
		sum += kinds[i].weight;
	while (time(NULL) < t->shared->end) {
		at = below(t, sum);
		for (i = 0; at >= kinds[i].weight; i++)
			at -= kinds[i].weight;
		kinds[i].run(t);
	}
	return NULL;
}

/* One process; only its exit status is of interest. */
static void fuzz_process(__u64 seed, unsigned int seconds)
{
	struct shared shared = { .fd = npu_open(), .end = time(NULL) + seconds };
	struct thread threads[THREADS];
	unsigned int i;

	shared.page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	shared.hole = shared.page + PAGE;
	if (shared.fd < 0 || shared.page == MAP_FAILED || mprotect(shared.hole, PAGE, PROT_NONE))
		_exit(1);
	for (i = 0; i < THREADS; i++) {
		threads[i] = (struct thread){ .shared = &shared, .random = seed * 64 + i + 1 };
		if (pthread_create(&threads[i].id, NULL, fuzz, &threads[i]))
			_exit(1);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i].id, NULL);
	_exit(0);
}

/* --- what must hold afterwards --- */

static void make_stream(struct stream *s)
{
	*s = (struct stream){
		.header = { .magic = NPU_STREAM_MAGIC, .isa_major = NPU_ISA_MAJOR,
			    .size = sizeof(*s), .num_insns = 2, .num_regions = 1 },
		.stamp = { .opcode = NPU_OP_TIMESTAMP, .num_operands = 1,
			   .words = (sizeof(s->stamp) + sizeof(s->out)) / 4 },
		.out = { .dtype = NPU_I64, .rank = 1, .dim = { 1 }, .stride = { 8 } },
		.end = { .opcode = NPU_OP_END, .words = sizeof(s->end) / 4 },
	};
}

static void *make_bo(int fd, __u32 *handle)
{
	struct drm_npu_bo_create bo = { .size = PAGE };
	struct drm_npu_bo_mmap_offset offset = { 0 };

	if (npu_ioctl(fd, DRM_IOCTL_NPU_BO_CREATE, &bo))
		return MAP_FAILED;
	*handle = offset.handle = bo.handle;
	if (npu_ioctl(fd, DRM_IOCTL_NPU_BO_MMAP_OFFSET, &offset))
		return MAP_FAILED;
	return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset.offset);
}

/* A VM with the stream and a page for its output; the page is left mapped in @out. */
static int good_vm(int fd, __u32 *vm, __u64 **out)
{
	struct drm_npu_vm_create create = { 0 };
	struct drm_npu_vm_bind_op ops[2] = {
		{ .flags = DRM_NPU_VM_BIND_OP_EXEC, .va = STREAM_VA, .size = PAGE },
		{ .va = OUT_VA, .size = PAGE },
	};
	struct drm_npu_vm_bind bind = { .ops = DRM_NPU_OBJ_ARRAY(2, ops) };
	struct stream *stream = make_bo(fd, &ops[0].bo_handle);
	int ret;

	*out = MAP_FAILED;
	if (stream == MAP_FAILED)
		return -ENOMEM;
	make_stream(stream);
	munmap(stream, PAGE);
	*out = make_bo(fd, &ops[1].bo_handle);
	if (*out == MAP_FAILED)
		return -ENOMEM;
	ret = npu_ioctl(fd, DRM_IOCTL_NPU_VM_CREATE, &create);
	*vm = bind.vm_id = create.id;
	if (!ret)
		ret = npu_ioctl(fd, DRM_IOCTL_NPU_VM_BIND, &bind);
	if (ret) {
		munmap(*out, PAGE);
		*out = MAP_FAILED;
	}
	return ret;
}

/* Run the stream on a file of its own: 0 when the fence says so and the output is there. */
static int good_job(void)
{
	struct drm_npu_region region = { .base = OUT_VA, .size = PAGE,
					 .access = DRM_NPU_ACCESS_WRITE };
	struct drm_syncobj_create sync = { 0 };
	struct drm_npu_queue_create queue = { .priority = DRM_NPU_PRIORITY_NORMAL };
	struct drm_npu_sync_op op = { .flags = DRM_NPU_SYNC_OP_SIGNAL };
	struct drm_npu_job job = { .stream = STREAM_VA, .stream_size = sizeof(struct stream),
				   .regions = DRM_NPU_OBJ_ARRAY(1, &region),
				   .syncs = DRM_NPU_OBJ_ARRAY(1, &op) };
	struct drm_npu_submit submit = { .jobs = DRM_NPU_OBJ_ARRAY(1, &job) };
	struct drm_syncobj_wait wait = { .handles = (uintptr_t)&op.handle, .count_handles = 1,
					 .timeout_nsec = INT64_MAX };
	struct drm_npu_job_get_result result = { .job_id = 1 };
	int fd = npu_open(), ret;
	__u64 *out;

	if (fd < 0)
		return fd;
	ret = good_vm(fd, &queue.vm_id, &out);
	if (!ret)
		ret = npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &sync);
	op.handle = sync.handle;
	if (!ret)
		ret = npu_ioctl(fd, DRM_IOCTL_NPU_QUEUE_CREATE, &queue);
	submit.queue_id = result.queue_id = queue.id;
	if (!ret)
		ret = npu_ioctl(fd, DRM_IOCTL_NPU_SUBMIT, &submit);
	if (!ret)
		ret = npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_WAIT, &wait);
	if (!ret)
		ret = npu_ioctl(fd, DRM_IOCTL_NPU_JOB_GET_RESULT, &result);
	if (!ret && (result.status != DRM_NPU_JOB_DONE || result.insns != 2 || !*out))
		ret = -EBADMSG;
	/* A mapping would keep the file, and all that is in it. */
	if (out != MAP_FAILED)
		munmap(out, PAGE);
	close(fd);
	return ret;
}

/* What is released is released by workers: wait for it. */
static int wait_for_left(const char *pci, int wanted)
{
	int ms, left = -1;

	for (ms = 0; ms < PATIENCE_MS; ms += 50) {
		left = npu_sys_debugfs_lines(pci);
		if (left == wanted || left < 0)
			break;
		usleep(50000);
	}
	return left;
}

/* The first line of the kernel's log since @kmsg was at its end that is a complaint; 0: none. */
static int log_complains(int kmsg, char *line, size_t size)
{
	static const char * const bad[] = {
		"BUG:", "WARNING:", "Oops", "refcount_t", "soft lockup", "hung_task",
		"breaks the protocol", "resetting", "leaked",
	};
	unsigned int i;
	ssize_t got;

	while ((got = read(kmsg, line, size - 1)) > 0 || (got < 0 && errno == EPIPE)) {
		line[got > 0 ? got : 0] = 0;
		for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
			if (strstr(line, bad[i]))
				return 1;
		}
	}
	return 0;
}

static unsigned int setting(const char *name, unsigned int otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : otherwise;
}

FIXTURE(fuzz)
{
};

FIXTURE_SETUP(fuzz)
{
}

FIXTURE_TEARDOWN(fuzz)
{
}

TEST_F_TIMEOUT(fuzz, nothing_is_left_of_a_storm, 600)
{
	unsigned int seconds = setting("NPU_FUZZ_SECONDS", npu_sys_long() ? 60 : 5);
	unsigned int seed = setting("NPU_FUZZ_SEED", time(NULL) & 0xffff);
	int fd = npu_open(), kmsg, left, status, i;
	char line[1024], pci[NPU_SYS_NAME];
	pid_t pids[PROCESSES];

	if (fd == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, npu_sys_pci(fd, pci));
	close(fd);
	ASSERT_EQ(0, good_job());
	left = wait_for_left(pci, 2);
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (kmsg >= 0)
		lseek(kmsg, 0, SEEK_END);
	TH_LOG("NPU_FUZZ_SEED=%u NPU_FUZZ_SECONDS=%u", seed, seconds);

	for (i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		ASSERT_LE(0, pids[i]);
		if (!pids[i])
			fuzz_process(seed * PROCESSES + i, seconds);
	}
	/* The first one does not come to its end. */
	usleep(seconds * 700000);
	kill(pids[0], SIGKILL);
	for (i = 0; i < PROCESSES; i++) {
		ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
		EXPECT_EQ(i ? 0 : SIGKILL, status) TH_LOG("process %d", i);
	}

	/* The two headings of the buffers. */
	EXPECT_EQ(2, left);
	EXPECT_EQ(left, wait_for_left(pci, left)) TH_LOG("something is left in debugfs");
	EXPECT_EQ(0, good_job());
	EXPECT_EQ(left, wait_for_left(pci, left));
	if (kmsg >= 0)
		EXPECT_EQ(0, log_complains(kmsg, line, sizeof(line))) TH_LOG("the log: %s", line);
}

/* An exclusive buffer outlives its VM: what it shared with it must outlive both. */
TEST_F(fuzz, exclusive_buffers_outlive_their_vm)
{
	int fd = npu_open(), i;

	if (fd == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_LE(0, fd);
	for (i = 0; i < 200; i++) {
		struct drm_npu_vm_create vm = { 0 };
		struct drm_npu_bo_create bo = { .size = PAGE };
		struct drm_npu_vm_destroy destroy = { 0 };
		struct drm_gem_close gem = { 0 };

		ASSERT_EQ(0, npu_ioctl(fd, DRM_IOCTL_NPU_VM_CREATE, &vm));
		bo.exclusive_vm_id = destroy.id = vm.id;
		ASSERT_EQ(0, npu_ioctl(fd, DRM_IOCTL_NPU_BO_CREATE, &bo));
		ASSERT_EQ(0, npu_ioctl(fd, DRM_IOCTL_NPU_VM_DESTROY, &destroy));
		gem.handle = bo.handle;
		ASSERT_EQ(0, npu_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &gem));
	}
	close(fd);
}

TEST_HARNESS_MAIN
