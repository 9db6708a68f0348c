// SPDX-License-Identifier: MIT
/* Where a job's memory and stream are: address spaces, SRAM, the caller's memory, another state. */
#include <errno.h>
#include <string.h>
#include "run_case.h"
#include "tap.h"

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
	struct run_stream s;

	run_standard_stream(&s);
	st = (struct npu_engine_state){ .stream = s.words,
					.stream_size = s.used * 4,
					.num_regions = NUM_REGIONS,
					.regions = run.regions,
					.space = { .resolve = space_resolve,
						   .release = space_release,
						   .ctx = &sp } };
	npu_engine_state_init(e, &st);
	tap_ok(npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_DONE &&
		       sp.calls == 3 * RUN_STEPS && !sp.held,
	       "every operand resolved and released");
	npu_engine_state_fini(&st);
	sp.refuse_write = true;
	memset(run.out, 0xff, sizeof(run.out));
	npu_engine_state_init(e, &st);
	tap_ok(npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_FAULT &&
		       st.fault.code == NPU_FAULT_MMU &&
		       st.fault.address == run.regions[REGION_OUT].base + 4096 && !sp.held &&
		       ((unsigned char *)run.out)[0] == 0xff,
	       "address that is not mapped: %s", st.fault_text);
	npu_engine_state_fini(&st);
}

static void test_sram(struct npu_engine *e)
{
	struct npu_engine_state st;
	struct npu_operand *op;
	struct run_stream s;
	bool written;
	size_t i;

	run_stream_begin(&s);
	op = run_matmul_add(&s, 0, RUN_M, NULL, 0);
	op[NPU_MATMUL_OUT].region = REGION_SRAM;
	op[NPU_MATMUL_OUT].offset = 4096;
	run_stream_end(&s);
	run_state_open(e, &st, &s);
	written = npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_DONE &&
		  !memcmp((char *)st.sram + 4096, run.want[0], sizeof(run.want[0]));
	npu_engine_state_fini(&st);
	run_state_open(e, &st, &s);
	for (i = 0; i < st.sram_size && !((char *)st.sram)[i]; i++)
		;
	tap_ok(written && i == st.sram_size, "SRAM holds a result and is zero for the next job");
	npu_engine_state_fini(&st);
}

struct fetcher {
	const char *bytes;
	npu_u32 limit;			/* from here on nothing can be fetched */
	unsigned int seen[RUN_MAX_WORDS * 4];
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
	struct run_stream s;
	npu_u32 i;

	run_standard_stream(&s);
	f.bytes = (const char *)s.words;
	f.limit = s.used * 4;
	st = (struct npu_engine_state){ .stream_va = STREAM_VA,
					.stream_size = s.used * 4,
					.num_regions = NUM_REGIONS,
					.regions = run.regions,
					.space = { .fetch = fetcher_fetch, .ctx = &f } };
	memset(run.out, 0xff, sizeof(run.out));
	npu_engine_state_init(e, &st);
	tap_ok(npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_DONE &&
		       run_outputs_right(),
	       "a stream that is fetched piece by piece");
	for (i = 0; i < s.used * 4 && f.seen[i] == 1; i++)
		;
	tap_ok(i == s.used * 4, "each of its %u bytes was fetched once", s.used * 4);
	npu_engine_state_fini(&st);
	f.limit = run_header(&s)->size - 100;
	npu_engine_state_init(e, &st);
	tap_ok(npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_FAULT &&
		       st.fault.code == NPU_FAULT_FETCH && st.insn == RUN_STEPS - 1 &&
		       st.fault.address == STREAM_VA + f.limit &&
		       st.fault.access == NPU_ACCESS_EXEC,
	       "a stream whose end can not be fetched: %s", st.fault_text);
	npu_engine_state_fini(&st);
	f.limit = 8;
	tap_ok(npu_engine_state_init(e, &st) == -EINVAL && st.fault.code == NPU_FAULT_FETCH,
	       "nor its header: %s", st.fault_text);
}

/* On-chip memory of the caller's, and a job that goes on in another state. */
static void test_resume(struct npu_engine *e)
{
	static _Alignas(64) char sram[2][1 << 17];
	struct npu_engine_state st[2];
	struct npu_operand *op;
	const float keep = 1;
	npu_u32 *param;
	struct run_stream s;
	int i;

	run_stream_begin(&s);
	op = run_matmul_add(&s, 0, RUN_M, NULL, 0);
	op[NPU_MATMUL_OUT].region = REGION_SRAM;
	op[NPU_MATMUL_OUT].offset = 4096;
	run_insn_add(&s, NPU_OP_EWISE1, &op, &param, 0);
	run_matrix(&op[NPU_EWISE1_OUT], REGION_OUT, 0, RUN_M, RUN_N);
	run_matrix(&op[NPU_EWISE1_IN], REGION_SRAM, 4096, RUN_M, RUN_N);
	param[NPU_EWISE1_P_FUNC] = NPU_UNARY_COPY;
	memcpy(&param[NPU_EWISE1_P_POST_MUL], &keep, 4);
	run_stream_end(&s);
	memset(run.out, 0xff, sizeof(run.out));
	for (i = 0; i < 2; i++) {
		st[i] = (struct npu_engine_state){ .stream = s.words,
						   .stream_size = s.used * 4,
						   .num_regions = NUM_REGIONS,
						   .regions = run.regions,
						   .sram = sram[i],
						   .sram_size = sizeof(sram[i]) };
		npu_engine_state_init(e, &st[i]);
	}
	tap_ok(npu_engine_run(e, &st[0], 0, NULL, NULL) == NPU_RUN_YIELD &&
		       !memcmp(sram[0] + 4096, run.want[0], sizeof(run.want[0])) &&
		       st[0].sram_used == 4096 + sizeof(run.want[0]),
	       "on-chip memory of the caller's, %llu bytes used",
	       (unsigned long long)st[0].sram_used);
	memcpy(sram[1], sram[0], st[0].sram_used);
	st[1].sram_used = st[0].sram_used;
	st[1].offset = st[0].offset;
	st[1].insn = st[0].insn;
	npu_engine_state_fini(&st[0]);
	tap_ok(npu_engine_run(e, &st[1], UINT64_MAX, NULL, NULL) == NPU_RUN_DONE &&
		       !memcmp(run.out[0], run.want[0], sizeof(run.want[0])),
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

int main(void)
{
	struct npu_engine *two;

	run_data_init();
	two = run_engine_make(2, NPU_SIMD_AUTO);
	test_space(two);
	test_sram(two);
	test_fetch(two);
	test_resume(two);
	npu_engine_destroy(two);
	return tap_done();
}
