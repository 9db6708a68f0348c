// SPDX-License-Identifier: MIT
/* Jobs on the engine's threads, on the caller's, several at once, in a fork; and one stopped. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif
#include "run_case.h"
#include "tap.h"

struct stopper {
	atomic_bool *stop;
	unsigned int after_us;
	struct timespec at;
};

static void *stopper_run(void *arg)
{
	struct stopper *s = arg;

	usleep(s->after_us);
	clock_gettime(CLOCK_MONOTONIC, &s->at);
	atomic_store(s->stop, true);
	return NULL;
}

/* One long instruction, stopped from another thread and repeated. */
static void test_stop_inside(struct npu_engine *e)
{
	enum { BIG = 1600 };
	float *x = calloc(3 * BIG * BIG, 4), *first = malloc(BIG * BIG * 4);
	struct npu_engine_state st;
	struct npu_operand *op;
	enum npu_run_result r;
	struct timespec end;
	atomic_bool stop = false;
	struct stopper stopper = { .stop = &stop, .after_us = 5000 };
	pthread_t thread;
	struct run_stream s;
	double late;
	int i, stops = 0;

	for (i = 0; i < 2 * BIG * BIG; i++)
		x[i] = (float)(i % 17) - 8;
	run_stream_begin(&s);
	op = run_matmul_add(&s, 0, RUN_M, NULL, 0);
	run_matrix(&op[0], REGION_OUT, 2 * BIG * BIG * 4, BIG, BIG);
	run_matrix(&op[1], REGION_OUT, 0, BIG, BIG);
	run_matrix(&op[2], REGION_OUT, BIG * BIG * 4, BIG, BIG);
	run_stream_end(&s);
	run.regions[REGION_OUT].base = (npu_u64)(uintptr_t)x;
	run.regions[REGION_OUT].size = 3ull * BIG * BIG * 4;
	run_state_open(e, &st, &s);
	pthread_create(&thread, NULL, stopper_run, &stopper);
	r = npu_engine_run(e, &st, UINT64_MAX, &stop, NULL);
	clock_gettime(CLOCK_MONOTONIC, &end);
	pthread_join(thread, NULL);
	late = (double)(end.tv_sec - stopper.at.tv_sec) * 1e3 +
	       (double)(end.tv_nsec - stopper.at.tv_nsec) * 1e-6;
	stops = r == NPU_RUN_STOPPED;
	tap_diag("stopped %.2f ms after the flag was set", late);
	tap_ok(r == NPU_RUN_DONE || (st.resumable && st.insn == 0 && late < 3000),
	       "a long instruction can be stopped");
	stop = false;
	r = npu_engine_run(e, &st, UINT64_MAX, &stop, NULL);
	memcpy(first, x + 2 * BIG * BIG, BIG * BIG * 4);
	npu_engine_state_fini(&st);
	memset(x + 2 * BIG * BIG, 0, BIG * BIG * 4);
	run_state_open(e, &st, &s);
	tap_ok(r == NPU_RUN_DONE &&
		       npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_DONE &&
		       !memcmp(first, x + 2 * BIG * BIG, BIG * BIG * 4),
	       "repeated after %d stop(s): the same bits", stops);
	npu_engine_state_fini(&st);
	run_regions_set();
	free(first);
	free(x);
}

static void backwards(void *ctx, unsigned int n, void (*fn)(void *arg, unsigned int i), void *arg)
{
	*(int *)ctx += 1;
	while (n--)
		fn(arg, n);
}

static void test_foreign_pool(void)
{
	int calls = 0;
	struct npu_engine_config config = { .threads = 3,
					    .simd = NPU_SIMD_PORTABLE,
					    .parallel_for = backwards,
					    .parallel_ctx = &calls };
	struct npu_engine *e;

	tap_ok(npu_engine_create(&config, &e) == 0, "engine with the caller's threads");
	run_whole(e, "the caller's parallel_for");
	tap_ok(calls >= RUN_STEPS, "parallel_for was called %d times", calls);
	npu_engine_destroy(e);
}

static void test_fork(struct npu_engine *e)
{
	struct npu_engine_state st;
	struct run_stream s;
	int status = -1;
	pid_t pid;

	run_standard_stream(&s);
	run_state_open(e, &st, &s);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		enum npu_run_result r = npu_engine_run(e, &st, UINT64_MAX, NULL, NULL);
		struct npu_engine_config config = { .threads = 2 };
		struct npu_engine_state mine;
		struct npu_engine *own;
		bool ok;

		ok = r == NPU_RUN_FAULT && st.fault.code == NPU_FAULT_INTERNAL &&
		     run_state_open(e, &mine, &s) == -ECHILD;
		npu_engine_state_fini(&st);
		npu_engine_destroy(e);
		ok = ok && !npu_engine_create(&config, &own) && !run_state_open(own, &mine, &s) &&
		     npu_engine_run(own, &mine, UINT64_MAX, NULL, NULL) == NPU_RUN_DONE &&
		     run_outputs_right();
		_exit(ok ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	tap_ok(WIFEXITED(status) && !WEXITSTATUS(status),
	       "a fork's child is told, and may make an engine of its own");
	tap_ok(npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_DONE,
	       "the parent goes on");
	npu_engine_state_fini(&st);
}

#if defined(__x86_64__)
static void test_rounding(struct npu_engine *e)
{
	struct npu_engine_state st;
	unsigned int before = _mm_getcsr(), mine = (before & ~0x6000u) | 0x4000u | 0x8040u;
	struct run_stream s;
	bool right;

	/* Round up, flush to zero, subnormals are zero: none of it may show. */
	run.a[0] = 1e-42f;
	run_expectation();
	run_standard_stream(&s);
	run_state_open(e, &st, &s);
	_mm_setcsr(mine);
	right = npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_DONE;
	right = right && (_mm_getcsr() & ~0x3fu) == (mine & ~0x3fu);
	_mm_setcsr(before);
	tap_ok(right && run_outputs_right(),
	       "the caller's rounding mode does not matter and comes back");
	npu_engine_state_fini(&st);
}
#endif

struct runner {
	struct npu_engine *e;
	int bad;
};

static void *runner_run(void *arg)
{
	struct runner *r = arg;
	struct npu_region mine[NUM_REGIONS];
	float *result = malloc(sizeof(run.out));
	struct npu_engine_state st;
	struct run_stream s;
	int i;

	memcpy(mine, run.regions, sizeof(mine));
	mine[REGION_OUT].base = (npu_u64)(uintptr_t)result;
	run_standard_stream(&s);
	for (i = 0; i < 50; i++) {
		memset(result, 0xff, sizeof(run.out));
		memset(&st, 0, sizeof(st));
		st.stream = s.words;
		st.stream_size = s.used * 4;
		st.num_regions = NUM_REGIONS;
		st.regions = mine;
		if (npu_engine_state_init(r->e, &st) ||
		    npu_engine_run(r->e, &st, UINT64_MAX, NULL, NULL) != NPU_RUN_DONE ||
		    memcmp(result, run.want, sizeof(run.want)))
			r->bad++;
		npu_engine_state_fini(&st);
	}
	free(result);
	return NULL;
}

static void test_concurrent(struct npu_engine *e)
{
	struct runner r[4] = { 0 };
	pthread_t thread[4];
	int i, bad = 0;

	for (i = 0; i < 4; i++) {
		r[i].e = e;
		pthread_create(&thread[i], NULL, runner_run, &r[i]);
	}
	for (i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		bad += r[i].bad;
	}
	tap_ok(!bad, "four threads run 50 jobs each on one engine: %d wrong", bad);
}

int main(void)
{
	struct npu_engine *one, *two, *plain;

	run_data_init();
	one = run_engine_make(1, NPU_SIMD_AUTO);
	two = run_engine_make(2, NPU_SIMD_AUTO);
	plain = run_engine_make(2, NPU_SIMD_PORTABLE);
	run_whole(one, "1 thread");
	run_whole(two, "2 threads");
	run_whole(plain, "2 threads, plain C");
	test_stop_inside(one);
	test_stop_inside(two);
	test_foreign_pool();
	test_concurrent(two);
	test_concurrent(plain);
	test_fork(two);
#if defined(__x86_64__)
	test_rounding(two);
#endif
	npu_engine_destroy(one);
	npu_engine_destroy(two);
	npu_engine_destroy(plain);
	return tap_done();
}
