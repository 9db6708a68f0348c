// SPDX-License-Identifier: MIT
/*
 * The run loop: budget, stop, resume, faults, scalars and terms, address space, SRAM, threads,
 * fork.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif
#include "npu_engine.h"
#include "npu_isa_desc.h"
#include "../tap.h"

#define MAX_WORDS	4096
#define M		64
#define K		96
#define N		80
#define STEPS		4

enum { REGION_A, REGION_B, REGION_OUT, REGION_SRAM, REGION_INT, NUM_REGIONS };

struct stream {
	npu_u32 words[MAX_WORDS];
	npu_u32 used;			/* words */
};

static float a[M * K], b[K * N], out[STEPS][M * N], want[STEPS][M * N];
static npu_s32 number;
static struct npu_region regions[NUM_REGIONS];

static struct npu_stream_header *header(struct stream *s)
{
	return (void *)s->words;
}

static void stream_begin(struct stream *s)
{
	memset(s, 0, sizeof(*s));
	s->used = sizeof(struct npu_stream_header) / 4;
	*header(s) = (struct npu_stream_header){ .magic = NPU_STREAM_MAGIC,
						 .isa_major = NPU_ISA_MAJOR,
						 .isa_minor = NPU_ISA_MINOR,
						 .num_regions = NUM_REGIONS };
}

static struct npu_insn_header *insn_add(struct stream *s, unsigned int opcode,
					struct npu_operand **op, npu_u32 **param,
					unsigned int num_terms)
{
	const struct npu_op_desc *desc = npu_op_desc(opcode);
	struct npu_insn_header *h = (void *)(s->words + s->used);
	npu_u32 words = (npu_u32)(sizeof(*h) + desc->num_slots * sizeof(**op)) / 4 +
			desc->num_params + 2 * num_terms;

	words += words % 2;
	*h = (struct npu_insn_header){ .opcode = (npu_u16)opcode,
				       .words = (npu_u16)words,
				       .num_operands = desc->num_slots,
				       .num_params = desc->num_params,
				       .num_terms = (npu_u8)num_terms,
				       .tag = 100 + header(s)->num_insns };
	if (op)
		*op = (void *)(h + 1);
	if (param)
		*param = s->words + s->used + (sizeof(*h) + desc->num_slots * sizeof(**op)) / 4;
	s->used += words;
	header(s)->num_insns++;
	return h;
}

static void stream_end(struct stream *s)
{
	insn_add(s, NPU_OP_END, NULL, NULL, 0);
	header(s)->size = s->used * 4;
}

static void matrix(struct npu_operand *op, unsigned int region, npu_u64 offset, npu_u32 rows,
		   npu_u32 cols)
{
	*op = (struct npu_operand){ .region = (npu_u8)region, .dtype = NPU_F32, .rank = 2,
				    .offset = offset,
				    .dim = { rows, cols }, .stride = { (npu_s64)cols * 4, 4 } };
}

/* out[step] = a x b, rows of it */
static struct npu_operand *matmul_add(struct stream *s, unsigned int step, npu_u32 rows,
				      npu_u32 **param, unsigned int terms)
{
	struct npu_operand *op;
	npu_u32 *p;
	float one = 1;

	insn_add(s, NPU_OP_MATMUL, &op, &p, terms);
	matrix(&op[NPU_MATMUL_OUT], REGION_OUT, step * sizeof(out[0]), rows, N);
	matrix(&op[NPU_MATMUL_A], REGION_A, 0, rows, K);
	matrix(&op[NPU_MATMUL_B], REGION_B, 0, K, N);
	memcpy(&p[NPU_MATMUL_P_POST_MUL], &one, 4);
	p[NPU_MATMUL_P_ACT] = step % 2 ? NPU_ACT_RELU : NPU_ACT_NONE;
	if (param)
		*param = p;
	return op;
}

static void standard_stream(struct stream *s)
{
	unsigned int i;

	stream_begin(s);
	for (i = 0; i < STEPS; i++)
		matmul_add(s, i, M, NULL, 0);
	stream_end(s);
}

static void regions_set(void)
{
	const npu_u32 rw = NPU_ACCESS_READ | NPU_ACCESS_WRITE;

	regions[REGION_A] = (struct npu_region){ (npu_u64)(uintptr_t)a, sizeof(a), NPU_ACCESS_READ,
						 0 };
	regions[REGION_B] = (struct npu_region){ (npu_u64)(uintptr_t)b, sizeof(b), NPU_ACCESS_READ,
						 0 };
	regions[REGION_OUT] = (struct npu_region){ (npu_u64)(uintptr_t)out, sizeof(out), rw, 0 };
	regions[REGION_SRAM] = (struct npu_region){ 0, 1 << 20, rw | NPU_ACCESS_SRAM, 0 };
	regions[REGION_INT] = (struct npu_region){ (npu_u64)(uintptr_t)&number, sizeof(number),
						   NPU_ACCESS_READ, 0 };
}

/*
 * Plain C kernels are so slow that even the small products here are shared out among the threads.
 */
static struct npu_engine *engine_make(unsigned int threads, enum npu_simd simd)
{
	struct npu_engine_config config = { .threads = threads, .simd = simd };
	struct npu_engine *e = NULL;

	if (npu_engine_create(&config, &e)) {
		printf("Bail out! no engine\n");
		exit(1);
	}
	return e;
}

static int state_open(struct npu_engine *e, struct npu_engine_state *st, struct stream *s)
{
	memset(st, 0, sizeof(*st));
	st->stream = s->words;
	st->stream_size = s->used * 4;
	st->num_regions = NUM_REGIONS;
	st->regions = regions;
	return npu_engine_state_init(e, st);
}

static bool outputs_right(void)
{
	return !memcmp(out, want, sizeof(out));
}

/* The plain chain of fused multiply-adds that the architecture defines. */
static void expectation(void)
{
	int step, i, j, k;

	for (step = 0; step < STEPS; step++) {
		for (i = 0; i < M; i++) {
			for (j = 0; j < N; j++) {
				float acc = 0;

				for (k = 0; k < K; k++)
					acc = __builtin_fmaf(a[i * K + k], b[k * N + j], acc);
				want[step][i * N + j] = step % 2 && acc < 0 ? 0 : acc;
			}
		}
	}
}

static void test_whole(struct npu_engine *e, const char *what)
{
	struct npu_engine_state st;
	atomic_ullong progress = 0;
	struct stream s;

	memset(out, 0xff, sizeof(out));
	standard_stream(&s);
	tap_ok(state_open(e, &st, &s) == 0 &&
		       npu_engine_run(e, &st, UINT64_MAX, NULL, &progress) == NPU_RUN_DONE &&
		       outputs_right() && progress >= STEPS,
	       "%s: done, right, progress %llu", what, (unsigned long long)progress);
	tap_ok(npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_DONE,
	       "%s: done stays done", what);
	npu_engine_state_fini(&st);
}

static void test_steps(struct npu_engine *e)
{
	struct npu_engine_state st;
	enum npu_run_result r;
	atomic_bool stop = true;
	struct stream s;
	int yields = 0;

	memset(out, 0xff, sizeof(out));
	standard_stream(&s);
	state_open(e, &st, &s);
	tap_ok(npu_engine_run(e, &st, 0, &stop, NULL) == NPU_RUN_STOPPED && st.resumable &&
		       st.insn == 0,
	       "a stop that is set runs nothing");
	stop = false;
	while ((r = npu_engine_run(e, &st, 0, &stop, NULL)) == NPU_RUN_YIELD) {
		yields++;
		tap_ok(st.insn == (npu_u32)yields, "budget 0: one instruction at a time (%d)",
		       yields);
	}
	tap_ok(r == NPU_RUN_DONE && yields == STEPS && outputs_right(), "same bits step by step");
	npu_engine_state_fini(&st);
}

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
	struct stream s;
	double late;
	int i, stops = 0;

	for (i = 0; i < 2 * BIG * BIG; i++)
		x[i] = (float)(i % 17) - 8;
	stream_begin(&s);
	op = matmul_add(&s, 0, M, NULL, 0);
	matrix(&op[0], REGION_OUT, 2 * BIG * BIG * 4, BIG, BIG);
	matrix(&op[1], REGION_OUT, 0, BIG, BIG);
	matrix(&op[2], REGION_OUT, BIG * BIG * 4, BIG, BIG);
	stream_end(&s);
	regions[REGION_OUT].base = (npu_u64)(uintptr_t)x;
	regions[REGION_OUT].size = 3ull * BIG * BIG * 4;
	state_open(e, &st, &s);
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
	state_open(e, &st, &s);
	tap_ok(r == NPU_RUN_DONE &&
		       npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_DONE &&
		       !memcmp(first, x + 2 * BIG * BIG, BIG * BIG * 4),
	       "repeated after %d stop(s): the same bits", stops);
	npu_engine_state_fini(&st);
	regions_set();
	free(first);
	free(x);
}

static void fault_case(struct npu_engine *e, struct stream *s, unsigned int code, npu_u32 insn,
		       npu_u32 operand, const char *what)
{
	struct npu_engine_state st;
	enum npu_run_result r;

	if (state_open(e, &st, s)) {
		tap_ok(0, "%s: refused at init: %s", what, st.fault_text);
		return;
	}
	r = npu_engine_run(e, &st, UINT64_MAX, NULL, NULL);
	tap_ok(r == NPU_RUN_FAULT && st.fault.code == code && st.fault.insn == insn &&
		       st.fault.operand == operand && st.fault_text[0],
	       "%s: fault %u, instruction %u, operand %d: %s", what, st.fault.code, st.fault.insn,
	       (int)st.fault.operand, st.fault_text);
	tap_ok(npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_FAULT, "%s: a fault stays",
	       what);
	npu_engine_state_fini(&st);
}

static void test_faults(struct npu_engine *e)
{
	struct npu_operand *op;
	struct stream s;

	stream_begin(&s);
	matmul_add(&s, 0, M, NULL, 0);
	op = matmul_add(&s, 1, M, NULL, 0);
	op[NPU_MATMUL_A].offset = 4;
	stream_end(&s);
	fault_case(e, &s, NPU_FAULT_REGION, 1, NPU_MATMUL_A, "outside of the region");

	stream_begin(&s);
	op = matmul_add(&s, 0, M, NULL, 0);
	op[NPU_MATMUL_OUT].region = REGION_A;
	op[NPU_MATMUL_OUT].dim[0] = op[NPU_MATMUL_A].dim[0] = 1;
	stream_end(&s);
	fault_case(e, &s, NPU_FAULT_ACCESS, 0, NPU_MATMUL_OUT, "write to a read-only region");

	stream_begin(&s);
	op = matmul_add(&s, 0, M, NULL, 0);
	op[NPU_MATMUL_A].region = REGION_OUT;
	stream_end(&s);
	fault_case(e, &s, NPU_FAULT_OVERLAP, 0, NPU_MATMUL_OUT, "output over input");

	stream_begin(&s);
	op = matmul_add(&s, 0, M, NULL, 0);
	op[NPU_MATMUL_B].dim[0]--;
	stream_end(&s);
	fault_case(e, &s, NPU_FAULT_SHAPE, 0, NPU_MATMUL_B, "shapes that do not agree");

	stream_begin(&s);
	op = matmul_add(&s, 0, M, NULL, 0);
	op[NPU_MATMUL_OUT].region = REGION_SRAM;
	op[NPU_MATMUL_OUT].offset = (1 << 20) - 64;
	stream_end(&s);
	fault_case(e, &s, NPU_FAULT_REGION, 0, NPU_MATMUL_OUT, "outside of the SRAM region");

	stream_begin(&s);
	insn_add(&s, NPU_OP_MARKER, NULL, NULL, 0)->opcode = 0x4321;
	stream_end(&s);
	fault_case(e, &s, NPU_FAULT_OPCODE, 0, ~0u, "no such opcode");

	stream_begin(&s);
	insn_add(&s, NPU_OP_MARKER, NULL, NULL, 0);
	header(&s)->size = s.used * 4;
	fault_case(e, &s, NPU_FAULT_FETCH, 1, ~0u, "no END");

	stream_begin(&s);
	insn_add(&s, NPU_OP_MARKER, NULL, NULL, 0)->words = 4000;
	stream_end(&s);
	fault_case(e, &s, NPU_FAULT_ENCODING, 0, ~0u, "an instruction longer than the stream");
}

static void test_header(struct npu_engine *e)
{
	struct npu_engine_state st;
	struct stream s;

	standard_stream(&s);
	header(&s)->magic++;
	tap_ok(state_open(e, &st, &s) == -EINVAL && st.fault.code == NPU_FAULT_STREAM, "magic: %s",
	       st.fault_text);
	standard_stream(&s);
	header(&s)->isa_minor = NPU_ISA_MINOR + 1;
	tap_ok(state_open(e, &st, &s) == -EINVAL && st.fault.code == NPU_FAULT_STREAM,
	       "minor version: %s", st.fault_text);
	standard_stream(&s);
	header(&s)->size += 8;
	tap_ok(state_open(e, &st, &s) == -EINVAL, "size: %s", st.fault_text);
	standard_stream(&s);
	header(&s)->num_regions++;
	tap_ok(state_open(e, &st, &s) == -EINVAL, "regions: %s", st.fault_text);
	standard_stream(&s);
	header(&s)->num_scalars = 1;
	header(&s)->scalar[0].min = 5;
	header(&s)->scalar[0].max = 9;
	tap_ok(state_open(e, &st, &s) == -EINVAL && st.fault.code == NPU_FAULT_SCALAR &&
		       st.fault.field == 0,
	       "scalar: %s", st.fault_text);
	npu_engine_state_fini(&st);
}

/* Rows of a matmul = scalar 0, which an instruction before takes from memory. */
static void test_scalars(struct npu_engine *e)
{
	struct npu_engine_state st;
	struct npu_operand *op;
	struct npu_term *term;
	npu_u32 base, *p, rows;
	struct stream s;

	stream_begin(&s);
	header(&s)->num_scalars = 1;
	header(&s)->scalar[0].min = 1;
	header(&s)->scalar[0].max = M;
	insn_add(&s, NPU_OP_LOAD_SCALAR, &op, &p, 0);
	op[0] = (struct npu_operand){ .region = REGION_INT, .dtype = NPU_I32 };
	p[NPU_LOAD_SCALAR_P_MIN] = 1;
	p[NPU_LOAD_SCALAR_P_MAX] = M - 1;
	base = s.used;
	op = matmul_add(&s, 0, M, &p, 2);
	op[NPU_MATMUL_OUT].dim[0] = op[NPU_MATMUL_A].dim[0] = 0;
	term = (struct npu_term *)(p + npu_op_desc(NPU_OP_MATMUL)->num_params);
	term[0] = (struct npu_term){ (npu_u16)(op[NPU_MATMUL_OUT].dim - (s.words + base)), 0, 0,
				     1 };
	term[1] = (struct npu_term){ (npu_u16)(op[NPU_MATMUL_A].dim - (s.words + base)), 0, 0, 1 };
	stream_end(&s);
	for (rows = 1; rows < M; rows += 31) {
		memset(out, 0xff, sizeof(out));
		number = (npu_s32)rows;
		state_open(e, &st, &s);
		st.scalar[0] = 0;
		npu_engine_state_fini(&st);
		memset(&st, 0, sizeof(st));
		st = (struct npu_engine_state){ .stream = s.words,
						.stream_size = s.used * 4,
						.num_regions = NUM_REGIONS,
						.regions = regions,
						.scalar = { M } };
		tap_ok(npu_engine_state_init(e, &st) == 0 &&
			       npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_DONE &&
			       !memcmp(out, want, rows * N * 4) &&
			       ((unsigned char *)out)[rows * N * 4] == 0xff,
		       "%u rows by a scalar from memory %s", rows, st.fault_text);
		npu_engine_state_fini(&st);
	}
	number = M;
	st = (struct npu_engine_state){ .stream = s.words,
					.stream_size = s.used * 4,
					.num_regions = NUM_REGIONS,
					.regions = regions,
					.scalar = { M } };
	npu_engine_state_init(e, &st);
	tap_ok(npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_FAULT &&
		       st.fault.code == NPU_FAULT_INDEX && st.fault.value == M,
	       "scalar from memory out of range: %s", st.fault_text);
	npu_engine_state_fini(&st);
}

struct space {
	int held, calls;
	bool refuse_write;
};

static void *space_resolve(void *ctx, npu_u64 va, npu_u64 size, npu_u32 access, npu_u64 *bad)
{
	struct space *sp = ctx;

	sp->calls++;
	if (sp->refuse_write && access & NPU_ACCESS_WRITE) {
		*bad = va + 4096;
		return NULL;
	}
	sp->held++;
	return (void *)(uintptr_t)va;
}

static void space_release(void *ctx, npu_u64 va, npu_u64 size)
{
	((struct space *)ctx)->held--;
}

static void test_space(struct npu_engine *e)
{
	struct space sp = { 0 };
	struct npu_engine_state st;
	struct stream s;

	standard_stream(&s);
	st = (struct npu_engine_state){ .stream = s.words,
					.stream_size = s.used * 4,
					.num_regions = NUM_REGIONS,
					.regions = regions,
					.space = { .resolve = space_resolve,
						   .release = space_release,
						   .ctx = &sp } };
	npu_engine_state_init(e, &st);
	tap_ok(npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_DONE &&
		       sp.calls == 3 * STEPS && !sp.held,
	       "every operand resolved and released");
	npu_engine_state_fini(&st);
	sp.refuse_write = true;
	memset(out, 0xff, sizeof(out));
	npu_engine_state_init(e, &st);
	tap_ok(npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_FAULT &&
		       st.fault.code == NPU_FAULT_MMU &&
		       st.fault.address == regions[REGION_OUT].base + 4096 && !sp.held &&
		       ((unsigned char *)out)[0] == 0xff,
	       "address that is not mapped: %s", st.fault_text);
	npu_engine_state_fini(&st);
}

static void test_sram(struct npu_engine *e)
{
	struct npu_engine_state st;
	struct npu_operand *op;
	struct stream s;
	bool written;
	size_t i;

	stream_begin(&s);
	op = matmul_add(&s, 0, M, NULL, 0);
	op[NPU_MATMUL_OUT].region = REGION_SRAM;
	op[NPU_MATMUL_OUT].offset = 4096;
	stream_end(&s);
	state_open(e, &st, &s);
	written = npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_DONE &&
		  !memcmp((char *)st.sram + 4096, want[0], sizeof(want[0]));
	npu_engine_state_fini(&st);
	state_open(e, &st, &s);
	for (i = 0; i < st.sram_size && !((char *)st.sram)[i]; i++)
		;
	tap_ok(written && i == st.sram_size, "SRAM holds a result and is zero for the next job");
	npu_engine_state_fini(&st);
}

struct fetcher {
	const char *bytes;
	npu_u32 limit;			/* from here on nothing can be fetched */
	unsigned int seen[MAX_WORDS * 4];
};

#define STREAM_VA	0x7000000000ull

static int fetcher_fetch(void *ctx, npu_u64 va, void *buf, npu_u32 size, npu_u64 *bad)
{
	struct fetcher *f = ctx;
	npu_u32 at = (npu_u32)(va - STREAM_VA), i;

	if (at + size > f->limit) {
		*bad = STREAM_VA + f->limit;
		return -EFAULT;
	}
	for (i = 0; i < size; i++)
		f->seen[at + i]++;
	memcpy(buf, f->bytes + at, size);
	return 0;
}

/* A stream that is not host memory: each byte is asked for once. */
static void test_fetch(struct npu_engine *e)
{
	static struct fetcher f;
	struct npu_engine_state st;
	struct stream s;
	npu_u32 i;

	standard_stream(&s);
	f.bytes = (const char *)s.words;
	f.limit = s.used * 4;
	st = (struct npu_engine_state){ .stream_va = STREAM_VA,
					.stream_size = s.used * 4,
					.num_regions = NUM_REGIONS,
					.regions = regions,
					.space = { .fetch = fetcher_fetch, .ctx = &f } };
	memset(out, 0xff, sizeof(out));
	npu_engine_state_init(e, &st);
	tap_ok(npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_DONE && outputs_right(),
	       "a stream that is fetched piece by piece");
	for (i = 0; i < s.used * 4 && f.seen[i] == 1; i++)
		;
	tap_ok(i == s.used * 4, "each of its %u bytes was fetched once", s.used * 4);
	npu_engine_state_fini(&st);
	f.limit = header(&s)->size - 100;
	npu_engine_state_init(e, &st);
	tap_ok(npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_FAULT &&
		       st.fault.code == NPU_FAULT_FETCH && st.insn == STEPS - 1 &&
		       st.fault.address == STREAM_VA + f.limit &&
		       st.fault.access == NPU_ACCESS_EXEC,
	       "a stream whose end can not be fetched: %s", st.fault_text);
	npu_engine_state_fini(&st);
	f.limit = 8;
	tap_ok(npu_engine_state_init(e, &st) == -EINVAL && st.fault.code == NPU_FAULT_FETCH,
	       "nor its header: %s", st.fault_text);
}

struct watcher {
	struct npu_engine_state *st;
	unsigned int calls, good;
	npu_u64 last;
};

static void watcher_insn(void *ctx, const struct npu_insn *insn, void *const *ptr, npu_u64 start,
			 npu_u64 ns)
{
	struct watcher *w = ctx;
	unsigned int n = w->calls++;
	bool end = n == STEPS;

	w->good += w->st->insn == n && insn->header->tag == 100 + n && start >= w->last &&
		   insn->header->opcode == (end ? NPU_OP_END : NPU_OP_MATMUL) &&
		   (end ||
		    (ptr[NPU_MATMUL_OUT] == out[n] && !memcmp(out[n], want[n], sizeof(out[n]))));
	w->last = start + ns;
}

static void test_observer(struct npu_engine *e)
{
	struct npu_engine_state st;
	struct watcher w = { .st = &st };
	struct stream s;

	standard_stream(&s);
	st = (struct npu_engine_state){ .stream = s.words,
					.stream_size = s.used * 4,
					.num_regions = NUM_REGIONS,
					.regions = regions,
					.observer = { watcher_insn, &w } };
	memset(out, 0xff, sizeof(out));
	npu_engine_state_init(e, &st);
	tap_ok(npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_DONE &&
		       w.calls == STEPS + 1 && w.good == STEPS + 1,
	       "the observer sees each instruction behind its result: %u of %u", w.good, w.calls);
	npu_engine_state_fini(&st);
}

/* On-chip memory of the caller's, and a job that goes on in another state. */
static void test_resume(struct npu_engine *e)
{
	static _Alignas(64) char sram[2][1 << 17];
	struct npu_engine_state st[2];
	struct npu_operand *op;
	const float keep = 1;
	npu_u32 *param;
	struct stream s;
	int i;

	stream_begin(&s);
	op = matmul_add(&s, 0, M, NULL, 0);
	op[NPU_MATMUL_OUT].region = REGION_SRAM;
	op[NPU_MATMUL_OUT].offset = 4096;
	insn_add(&s, NPU_OP_EWISE1, &op, &param, 0);
	matrix(&op[NPU_EWISE1_OUT], REGION_OUT, 0, M, N);
	matrix(&op[NPU_EWISE1_IN], REGION_SRAM, 4096, M, N);
	param[NPU_EWISE1_P_FUNC] = NPU_UNARY_COPY;
	memcpy(&param[NPU_EWISE1_P_POST_MUL], &keep, 4);
	stream_end(&s);
	memset(out, 0xff, sizeof(out));
	for (i = 0; i < 2; i++) {
		st[i] = (struct npu_engine_state){ .stream = s.words,
						   .stream_size = s.used * 4,
						   .num_regions = NUM_REGIONS,
						   .regions = regions,
						   .sram = sram[i],
						   .sram_size = sizeof(sram[i]) };
		npu_engine_state_init(e, &st[i]);
	}
	tap_ok(npu_engine_run(e, &st[0], 0, NULL, NULL) == NPU_RUN_YIELD &&
		       !memcmp(sram[0] + 4096, want[0], sizeof(want[0])) &&
		       st[0].sram_used == 4096 + sizeof(want[0]),
	       "on-chip memory of the caller's, %llu bytes used",
	       (unsigned long long)st[0].sram_used);
	memcpy(sram[1], sram[0], st[0].sram_used);
	st[1].sram_used = st[0].sram_used;
	st[1].offset = st[0].offset;
	st[1].insn = st[0].insn;
	npu_engine_state_fini(&st[0]);
	tap_ok(npu_engine_run(e, &st[1], UINT64_MAX, NULL, NULL) == NPU_RUN_DONE &&
		       !memcmp(out[0], want[0], sizeof(want[0])),
	       "another state goes on behind the first instruction");
	npu_engine_state_fini(&st[1]);
	tap_ok(st[1].sram == sram[1], "the caller's memory stays his");
	npu_engine_state_init(e, &st[1]);
	st[1].offset = s.used * 4 + 8;
	tap_ok(npu_engine_run(e, &st[1], UINT64_MAX, NULL, NULL) == NPU_RUN_FAULT &&
		       st[1].fault.code == NPU_FAULT_FETCH,
	       "a resume point behind the stream: %s", st[1].fault_text);
	npu_engine_state_fini(&st[1]);
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
	test_whole(e, "the caller's parallel_for");
	tap_ok(calls >= STEPS, "parallel_for was called %d times", calls);
	npu_engine_destroy(e);
}

static void test_fork(struct npu_engine *e)
{
	struct npu_engine_state st;
	struct stream s;
	int status = -1;
	pid_t pid;

	standard_stream(&s);
	state_open(e, &st, &s);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		enum npu_run_result r = npu_engine_run(e, &st, UINT64_MAX, NULL, NULL);
		struct npu_engine_config config = { .threads = 2 };
		struct npu_engine_state mine;
		struct npu_engine *own;
		bool ok;

		ok = r == NPU_RUN_FAULT && st.fault.code == NPU_FAULT_INTERNAL &&
		     state_open(e, &mine, &s) == -ECHILD;
		npu_engine_state_fini(&st);
		npu_engine_destroy(e);
		ok = ok && !npu_engine_create(&config, &own) && !state_open(own, &mine, &s) &&
		     npu_engine_run(own, &mine, UINT64_MAX, NULL, NULL) == NPU_RUN_DONE &&
		     outputs_right();
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
	struct stream s;
	bool right;

	/* Round up, flush to zero, subnormals are zero: none of it may show. */
	a[0] = 1e-42f;
	expectation();
	standard_stream(&s);
	state_open(e, &st, &s);
	_mm_setcsr(mine);
	right = npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_DONE;
	right = right && (_mm_getcsr() & ~0x3fu) == (mine & ~0x3fu);
	_mm_setcsr(before);
	tap_ok(right && outputs_right(),
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
	float *result = malloc(sizeof(out));
	struct npu_engine_state st;
	struct stream s;
	int i;

	memcpy(mine, regions, sizeof(mine));
	mine[REGION_OUT].base = (npu_u64)(uintptr_t)result;
	standard_stream(&s);
	for (i = 0; i < 50; i++) {
		memset(result, 0xff, sizeof(out));
		memset(&st, 0, sizeof(st));
		st.stream = s.words;
		st.stream_size = s.used * 4;
		st.num_regions = NUM_REGIONS;
		st.regions = mine;
		if (npu_engine_state_init(r->e, &st) ||
		    npu_engine_run(r->e, &st, UINT64_MAX, NULL, NULL) != NPU_RUN_DONE ||
		    memcmp(result, want, sizeof(want)))
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
	struct npu_engine *one = engine_make(1, NPU_SIMD_AUTO), *two = NULL, *plain;
	struct npu_engine_config odd = { .threads = 100000 };
	struct npu_engine_counters counters;
	int i;

	for (i = 0; i < M * K; i++)
		a[i] = (float)((i * 37) % 101 - 50) / 37;
	for (i = 0; i < K * N; i++)
		b[i] = (float)((i * 53) % 97 - 48) / 29;
	regions_set();
	expectation();
	tap_ok(npu_engine_create(&odd, &two) == -EINVAL && !two, "too many threads are refused");
	two = engine_make(2, NPU_SIMD_AUTO);
	plain = engine_make(2, NPU_SIMD_PORTABLE);
	test_whole(one, "1 thread");
	test_whole(two, "2 threads");
	test_steps(two);
	test_stop_inside(one);
	test_stop_inside(two);
	test_faults(two);
	test_header(two);
	test_scalars(two);
	test_space(two);
	test_sram(two);
	test_fetch(two);
	test_observer(two);
	test_resume(two);
	test_foreign_pool();
	test_whole(plain, "2 threads, plain C");
	test_steps(plain);
	test_concurrent(two);
	test_concurrent(plain);
	test_fork(two);
#if defined(__x86_64__)
	test_rounding(two);
#endif
	npu_engine_counters(two, &counters);
	tap_ok(counters.insns > 0 && counters.macs >= (npu_u64)M * N * K,
	       "counters: %llu instructions, %llu MACs", (unsigned long long)counters.insns,
	       (unsigned long long)counters.macs);
	npu_engine_destroy(one);
	npu_engine_destroy(two);
	npu_engine_destroy(plain);
	return tap_done();
}
