// SPDX-License-Identifier: GPL-2.0-only
/* Jobs and what they wait for and signal. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "npu_dev.h"
#include "npu_test.h"

#define SIZE	4096u
#define WAIT	30

FIXTURE(jobs) {
	struct npu_dev dev;
	struct npu_buf in, out;
	struct npu_copy copy;
};

FIXTURE_SETUP(jobs)
{
	int ret = npu_dev_open(&self->dev);
	uint32_t i;

	if (ret == -ENODEV)
		SKIP(return, NPU_NO_DEVICE);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_buf_create(self->dev.fd, SIZE, 0, 0, &self->in));
	ASSERT_EQ(0, npu_buf_create(self->dev.fd, SIZE, 0, 0, &self->out));
	ASSERT_EQ(0, npu_bind(self->dev.fd, self->dev.vm, self->in.handle, 0, NPU_VA_IN, SIZE,
			      DRM_NPU_VM_BIND_OP_READONLY));
	ASSERT_EQ(0, npu_bind(self->dev.fd, self->dev.vm, self->out.handle, 0, NPU_VA_OUT, SIZE,
			      0));
	for (i = 0; i < SIZE; i++)
		self->in.cpu[i] = i * 7 + 1;
	self->copy = (struct npu_copy) { .in = NPU_VA_IN, .out = NPU_VA_OUT, .size = SIZE };
}

FIXTURE_TEARDOWN(jobs)
{
	npu_buf_destroy(self->dev.fd, &self->in);
	npu_buf_destroy(self->dev.fd, &self->out);
	npu_dev_close(&self->dev);
}

/* Makes a job of the fixture's copy that has these syncs. */
static void make_job(struct npu_dev *dev, const struct npu_copy *copy,
		     struct drm_npu_region *regions, struct drm_npu_sync_op *syncs, uint32_t count,
		     struct drm_npu_job *job)
{
	npu_copy_job(dev, copy, regions, job);
	job->syncs = (struct drm_npu_obj_array) {
		.stride = sizeof(*syncs), .count = count, .array = (uintptr_t)syncs,
	};
}

TEST_F(jobs, a_copy_arrives)
{
	ASSERT_EQ(0, npu_copy_run(&self->dev, &self->copy, WAIT));
	EXPECT_EQ(0, memcmp(self->in.cpu, self->out.cpu, SIZE));
}

TEST_F(jobs, results_are_told)
{
	struct drm_npu_queue_get_state state;
	struct drm_npu_job_get_result result;
	uint64_t id;
	uint32_t sync;

	ASSERT_EQ(0, npu_syncobj_create(self->dev.fd, &sync));
	ASSERT_EQ(0, npu_copy_submit(&self->dev, &self->copy, sync, &id));
	EXPECT_EQ(1, id);
	ASSERT_EQ(0, npu_syncobj_wait(self->dev.fd, sync, 0, WAIT));
	ASSERT_EQ(0, npu_job_result(self->dev.fd, self->dev.queue, id, &result));
	EXPECT_EQ(DRM_NPU_JOB_DONE, result.status);
	EXPECT_EQ(2, result.insns);
	EXPECT_LT(0, result.started_ns);
	EXPECT_LE(result.started_ns, result.ended_ns);
	EXPECT_EQ(-ENOENT, npu_job_result(self->dev.fd, self->dev.queue, 0, &result));
	EXPECT_EQ(-ENOENT, npu_job_result(self->dev.fd, self->dev.queue, 2, &result));
	ASSERT_EQ(0, npu_queue_state(self->dev.fd, self->dev.queue, &state));
	EXPECT_EQ(0, state.state);
	EXPECT_EQ(1, state.submitted);
	EXPECT_EQ(1, state.completed);
}

/* 37: a chain of points of one timeline, each job waiting for the one before it. */
TEST_F(jobs, chain_of_points)
{
	struct drm_npu_sync_op syncs[2];
	struct drm_npu_region regions[2];
	struct drm_npu_job job;
	uint32_t timeline, i;

	ASSERT_EQ(0, npu_syncobj_create(self->dev.fd, &timeline));
	for (i = 1; i <= 1000; i++) {
		syncs[0] = (struct drm_npu_sync_op) {
			.flags = DRM_NPU_SYNC_OP_SIGNAL | DRM_NPU_SYNC_OP_TIMELINE,
			.handle = timeline, .timeline_value = i,
		};
		syncs[1] = (struct drm_npu_sync_op) {
			.flags = DRM_NPU_SYNC_OP_WAIT | DRM_NPU_SYNC_OP_TIMELINE,
			.handle = timeline, .timeline_value = i - 1,
		};
		make_job(&self->dev, &self->copy, regions, syncs, i > 1 ? 2 : 1, &job);
		ASSERT_EQ(0, npu_submit_jobs(self->dev.fd, self->dev.queue, &job, 1, NULL));
		ASSERT_EQ(i, job.id);
	}
	EXPECT_EQ(0, npu_syncobj_wait(self->dev.fd, timeline, 1000, WAIT));
}

/* Between queues: the second copies what the first has written. */
TEST_F(jobs, queues_wait_for_each_other)
{
	struct drm_npu_sync_op sync = { .flags = DRM_NPU_SYNC_OP_SIGNAL }, syncs[2];
	struct npu_copy back = {
		.in = NPU_VA_OUT, .out = NPU_VA_IN + SIZE, .size = SIZE, .slot = 1,
	};
	struct drm_npu_region regions[2];
	struct drm_npu_job job;
	struct npu_buf third;
	uint32_t queue, done;

	ASSERT_EQ(0, npu_buf_create(self->dev.fd, SIZE, 0, 0, &third));
	ASSERT_EQ(0, npu_bind(self->dev.fd, self->dev.vm, third.handle, 0, back.out, SIZE, 0));
	ASSERT_EQ(0, npu_queue_create(self->dev.fd, self->dev.vm, 1, 0, &queue));
	ASSERT_EQ(0, npu_syncobj_create(self->dev.fd, &sync.handle));
	ASSERT_EQ(0, npu_syncobj_create(self->dev.fd, &done));

	self->copy.times = 8;
	make_job(&self->dev, &self->copy, regions, &sync, 1, &job);
	ASSERT_EQ(0, npu_submit_jobs(self->dev.fd, self->dev.queue, &job, 1, NULL));
	syncs[0] = (struct drm_npu_sync_op) { DRM_NPU_SYNC_OP_WAIT, sync.handle, 0 };
	syncs[1] = (struct drm_npu_sync_op) { DRM_NPU_SYNC_OP_SIGNAL, done, 0 };
	make_job(&self->dev, &back, regions, syncs, 2, &job);
	ASSERT_EQ(0, npu_submit_jobs(self->dev.fd, queue, &job, 1, NULL));
	ASSERT_EQ(0, npu_syncobj_wait(self->dev.fd, done, 0, WAIT));
	EXPECT_EQ(0, memcmp(self->in.cpu, third.cpu, SIZE));
	npu_buf_destroy(self->dev.fd, &third);
}

/* 38: a job can not wait for what nobody has promised. */
TEST_F(jobs, wait_before_signal_is_refused)
{
	struct drm_npu_sync_op sync = { .flags = DRM_NPU_SYNC_OP_WAIT };
	struct drm_npu_region regions[2];
	struct drm_npu_job job;

	ASSERT_EQ(0, npu_syncobj_create(self->dev.fd, &sync.handle));
	make_job(&self->dev, &self->copy, regions, &sync, 1, &job);
	EXPECT_EQ(-EINVAL, npu_submit_jobs(self->dev.fd, self->dev.queue, &job, 1, NULL));
	sync.handle += 1000;
	EXPECT_EQ(-ENOENT, npu_submit_jobs(self->dev.fd, self->dev.queue, &job, 1, NULL));
}

/* What a job waits for holds up those behind it, which wait for nothing; not the reverse. */
TEST_F(jobs, jobs_behind_one_that_waits)
{
	struct drm_npu_sync_op sync[3] = {
		{ .flags = DRM_NPU_SYNC_OP_SIGNAL },
		{ .flags = DRM_NPU_SYNC_OP_WAIT },
		{ .flags = DRM_NPU_SYNC_OP_SIGNAL },
	};
	struct drm_npu_job_get_result first, result[3];
	struct drm_npu_region regions[2][2];
	struct npu_copy often = self->copy;
	struct drm_npu_job slow, jobs[3];
	uint32_t other, i;

	often.slot = 1;
	often.times = 16;
	ASSERT_EQ(0, npu_queue_create(self->dev.fd, self->dev.vm, DRM_NPU_PRIORITY_NORMAL, 0,
				      &other));
	ASSERT_EQ(0, npu_syncobj_create(self->dev.fd, &sync[0].handle));
	ASSERT_EQ(0, npu_syncobj_create(self->dev.fd, &sync[2].handle));
	sync[1].handle = sync[0].handle;
	make_job(&self->dev, &self->copy, regions[0], NULL, 0, &jobs[0]);
	make_job(&self->dev, &self->copy, regions[0], &sync[1], 1, &jobs[1]);
	make_job(&self->dev, &self->copy, regions[0], &sync[2], 1, &jobs[2]);
	make_job(&self->dev, &often, regions[1], &sync[0], 1, &slow);
	ASSERT_EQ(0, npu_submit_jobs(self->dev.fd, other, &slow, 1, NULL));
	ASSERT_EQ(0, npu_submit_jobs(self->dev.fd, self->dev.queue, jobs, 3, NULL));
	EXPECT_EQ(jobs[0].id + 2, jobs[2].id);
	ASSERT_EQ(0, npu_syncobj_wait(self->dev.fd, sync[2].handle, 0, WAIT));
	ASSERT_EQ(0, npu_job_result(self->dev.fd, other, slow.id, &first));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, npu_job_result(self->dev.fd, self->dev.queue, jobs[i].id, &result[i]));
		EXPECT_EQ(DRM_NPU_JOB_DONE, result[i].status);
	}
	EXPECT_LE(first.ended_ns, result[1].started_ns);
	EXPECT_LE(result[0].ended_ns, result[1].started_ns);
	EXPECT_LE(result[1].ended_ns, result[2].started_ns);
}

/* 39: nothing behind the bad job runs, what is in front does. */
TEST_F(jobs, array_that_fails_in_the_middle)
{
	struct drm_npu_sync_op sync[5];
	struct drm_npu_region regions[5][2];
	struct drm_npu_job jobs[5];
	uint32_t bad, i, done;

	for (bad = 0; bad < 5; bad += 2) {
		for (i = 0; i < 5; i++) {
			sync[i] = (struct drm_npu_sync_op) { .flags = DRM_NPU_SYNC_OP_SIGNAL };
			ASSERT_EQ(0, npu_syncobj_create(self->dev.fd, &sync[i].handle));
			make_job(&self->dev, &self->copy, regions[i], &sync[i], 1, &jobs[i]);
		}
		regions[bad][1].access = 1u << 31;
		EXPECT_EQ(-EINVAL, npu_submit_jobs(self->dev.fd, self->dev.queue, jobs, 5, &done));
		EXPECT_EQ(bad, done);
		for (i = 0; i < 5; i++)
			EXPECT_EQ(i < bad ? 0 : -ETIME,
				  npu_syncobj_wait(self->dev.fd, sync[i].handle, 0,
						   i < bad ? WAIT : 0));
		for (i = 0; i < 5; i++)
			npu_syncobj_destroy(self->dev.fd, sync[i].handle);
	}
	EXPECT_EQ(0, npu_copy_run(&self->dev, &self->copy, WAIT));
}

/* 40 */
TEST_F(jobs, numbers_of_jobs)
{
	struct drm_npu_queue_info info = {};
	struct drm_npu_dev_query query = {
		.type = DRM_NPU_DEV_QUERY_QUEUE_INFO, .size = sizeof(info),
		.pointer = (uintptr_t)&info,
	};
	struct drm_npu_job *jobs;
	struct drm_npu_region regions[2];
	uint32_t i, done, rounds;

	ASSERT_EQ(0, npu_ioctl(self->dev.fd, DRM_IOCTL_NPU_DEV_QUERY, &query));
	ASSERT_LT(0, info.max_jobs);
	jobs = calloc(info.max_jobs + 1, sizeof(*jobs));
	ASSERT_NE(NULL, jobs);
	npu_copy_job(&self->dev, &self->copy, regions, &jobs[0]);
	for (i = 1; i <= info.max_jobs; i++)
		jobs[i] = jobs[0];

	EXPECT_EQ(-EINVAL, npu_submit_jobs(self->dev.fd, self->dev.queue, jobs, 0, &done));
	EXPECT_EQ(-EINVAL, npu_submit_jobs(self->dev.fd, self->dev.queue, jobs, info.max_jobs + 1,
					   &done));
	EXPECT_EQ(0, done);
	for (rounds = 0; rounds < 4; rounds++)
		EXPECT_EQ(0, npu_submit_jobs(self->dev.fd, self->dev.queue, jobs, info.max_jobs,
					     &done));
	EXPECT_EQ(info.max_jobs, done);
	EXPECT_EQ(4 * info.max_jobs, jobs[info.max_jobs - 1].id);
	EXPECT_EQ(0, npu_copy_run(&self->dev, &self->copy, 4 * WAIT));
	free(jobs);
}

/* 43: all of them signal, in order, those that had not ended with -ECANCELED. */
TEST_F(jobs, queue_destroyed_under_its_jobs)
{
	uint32_t sync[32], i, canceled = 0;
	int status;

	self->copy.times = 16;
	for (i = 0; i < 32; i++) {
		ASSERT_EQ(0, npu_syncobj_create(self->dev.fd, &sync[i]));
		ASSERT_EQ(0, npu_copy_submit(&self->dev, &self->copy, sync[i], NULL));
	}
	ASSERT_EQ(0, npu_queue_destroy(self->dev.fd, self->dev.queue));
	for (i = 0; i < 32; i++) {
		ASSERT_EQ(0, npu_syncobj_wait(self->dev.fd, sync[i], 0, WAIT));
		status = npu_syncobj_status(self->dev.fd, sync[i]);
		canceled += status == -ECANCELED;
		EXPECT_TRUE(status == -ECANCELED || (status == 1 && !canceled));
	}
	TH_LOG("%u of 32 jobs were canceled", canceled);
	EXPECT_EQ(-ENOENT, npu_copy_submit(&self->dev, &self->copy, 0, NULL));
}

/* 44 */
TEST_F(jobs, vm_destroyed_under_its_jobs)
{
	struct drm_npu_vm_destroy destroy = { .id = self->dev.vm };
	uint32_t sync, i;

	ASSERT_EQ(0, npu_syncobj_create(self->dev.fd, &sync));
	self->copy.times = 16;
	for (i = 0; i < 16; i++)
		ASSERT_EQ(0, npu_copy_submit(&self->dev, &self->copy, sync, NULL));
	ASSERT_EQ(0, npu_ioctl(self->dev.fd, DRM_IOCTL_NPU_VM_DESTROY, &destroy));
	EXPECT_EQ(0, npu_syncobj_wait(self->dev.fd, sync, 0, WAIT));
	EXPECT_EQ(-ENOENT, npu_copy_submit(&self->dev, &self->copy, 0, NULL));
	EXPECT_EQ(-ENOENT, npu_ioctl(self->dev.fd, DRM_IOCTL_NPU_VM_DESTROY, &destroy));
}

/* 41, 42: the file goes with jobs queued and running; the device is well afterwards. */
TEST_F(jobs, process_killed_under_its_jobs)
{
	struct npu_dev dev;
	uint32_t rounds, i;
	pid_t pid;
	int status;

	for (rounds = 0; rounds < 4; rounds++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			if (npu_dev_open(&dev) ||
			    npu_bind(dev.fd, dev.vm, dev.stream.handle, NPU_PAGE, NPU_VA_OUT,
				     2 * SIZE, 0))
				_exit(1);
			self->copy.in = NPU_VA_OUT;
			self->copy.out = NPU_VA_OUT + SIZE;
			self->copy.times = 16;
			for (i = 0; i < 100; i++)
				npu_copy_submit(&dev, &self->copy, 0, NULL);
			if (rounds % 2)
				raise(SIGKILL);
			_exit(0);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(rounds % 2 ? WIFSIGNALED(status) :
				WIFEXITED(status) && !WEXITSTATUS(status));
	}
	EXPECT_EQ(0, npu_copy_run(&self->dev, &self->copy, WAIT));
}

static volatile sig_atomic_t alarms;

static void on_alarm(int signal)
{
	alarms += signal == SIGALRM;
}

/* 12: calls that signals interrupt a thousand times a second do the same. */
TEST_F_TIMEOUT(jobs, signals_change_nothing, 60)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = {};
	struct drm_npu_queue_get_state state;
	struct npu_buf buf;
	uint32_t i, vm, queue;

	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &often, NULL));
	for (i = 0; i < 100; i++) {
		struct drm_npu_vm_destroy destroy = {};

		ASSERT_EQ(0, npu_vm_create(self->dev.fd, &vm));
		destroy.id = vm;
		ASSERT_EQ(0, npu_buf_create(self->dev.fd, 8 * SIZE, 0, 0, &buf));
		ASSERT_EQ(0, npu_bind(self->dev.fd, vm, buf.handle, 0, NPU_VA_IN, 8 * SIZE, 0));
		ASSERT_EQ(0, npu_queue_create(self->dev.fd, vm, 1, 0, &queue));
		self->out.cpu[0] = 0;
		ASSERT_EQ(0, npu_copy_run(&self->dev, &self->copy, WAIT));
		ASSERT_EQ(self->in.cpu[0], self->out.cpu[0]);
		ASSERT_EQ(0, npu_queue_destroy(self->dev.fd, queue));
		ASSERT_EQ(0, npu_unbind(self->dev.fd, vm, NPU_VA_IN, 8 * SIZE));
		npu_buf_destroy(self->dev.fd, &buf);
		ASSERT_EQ(0, npu_ioctl(self->dev.fd, DRM_IOCTL_NPU_VM_DESTROY, &destroy));
	}
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &never, NULL));
	signal(SIGALRM, SIG_DFL);
	TH_LOG("%d signals", (int)alarms);
	EXPECT_LT(10, alarms);
	ASSERT_EQ(0, npu_queue_state(self->dev.fd, self->dev.queue, &state));
	EXPECT_EQ(100, state.completed);
	EXPECT_EQ(0, state.state);
}

/* 45 */
TEST_F(jobs, priorities_need_the_right)
{
	uint32_t queue, priority;
	int status;
	pid_t pid;

	for (priority = 0; priority <= DRM_NPU_PRIORITY_REALTIME; priority++)
		EXPECT_EQ(0, npu_queue_create(self->dev.fd, self->dev.vm, priority, 0, &queue));
	EXPECT_EQ(-EINVAL, npu_queue_create(self->dev.fd, self->dev.vm, priority, 0, &queue));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (setuid(65534))
			_exit(1);
		_exit(npu_queue_create(self->dev.fd, self->dev.vm, 1, 0, &queue) ||
		      npu_queue_create(self->dev.fd, self->dev.vm, 2, 0, &queue) != -EACCES ||
		      npu_queue_create(self->dev.fd, self->dev.vm, 3, 0, &queue) != -EACCES);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* 46, 53: a fault is told with all that the device knows, and only the queue dies. */
TEST_F(jobs, fault_is_told)
{
	struct drm_npu_queue_get_state state;
	struct drm_npu_job_get_result result;
	struct npu_dev other;
	uint64_t id;
	uint32_t sync;

	ASSERT_EQ(0, npu_dev_open(&other));
	ASSERT_EQ(0, npu_bind(other.fd, other.vm, other.stream.handle, NPU_PAGE, NPU_VA_OUT,
			      2 * SIZE, 0));
	self->copy.in = NPU_VA_IN + 2 * SIZE;
	ASSERT_EQ(0, npu_syncobj_create(self->dev.fd, &sync));
	ASSERT_EQ(0, npu_copy_submit(&self->dev, &self->copy, sync, &id));
	ASSERT_EQ(0, npu_syncobj_wait(self->dev.fd, sync, 0, WAIT));
	EXPECT_EQ(-EIO, npu_syncobj_status(self->dev.fd, sync));
	ASSERT_EQ(0, npu_job_result(self->dev.fd, self->dev.queue, id, &result));
	EXPECT_EQ(DRM_NPU_JOB_FAULTED, result.status);
	EXPECT_EQ(11, result.fault.code);	/* NPU_FAULT_MMU */
	EXPECT_EQ(0, result.fault.insn);
	EXPECT_EQ(1, result.fault.operand);
	EXPECT_EQ(self->copy.in, result.fault.address);
	ASSERT_EQ(0, npu_queue_state(self->dev.fd, self->dev.queue, &state));
	EXPECT_EQ(DRM_NPU_QUEUE_STATE_FATAL | DRM_NPU_QUEUE_STATE_FAULTED, state.state);
	EXPECT_EQ(id, state.job_id);
	EXPECT_EQ(0, memcmp(&state.fault, &result.fault, sizeof(state.fault)));
	EXPECT_EQ(-EIO, npu_copy_submit(&self->dev, &self->copy, sync, &id));
	self->copy.in = NPU_VA_OUT;
	self->copy.out = NPU_VA_OUT + SIZE;
	EXPECT_EQ(0, npu_copy_run(&other, &self->copy, WAIT));
	npu_dev_close(&other);
}

TEST_HARNESS_MAIN
