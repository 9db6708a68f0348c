// SPDX-License-Identifier: MIT
/* The run loop: budget, stop, faults, headers, scalars and terms, observer. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "run_case.h"
#include "tap.h"

static void test_steps(struct npu_engine *e)
{
	struct npu_engine_state st;
	enum npu_run_result r;
	atomic_bool stop = true;
	struct run_stream s;
	int yields = 0;

	memset(run.out, 0xff, sizeof(run.out));
	run_standard_stream(&s);
	run_state_open(e, &st, &s);
	tap_ok(npu_engine_run(e, &st, 0, &stop, NULL) == NPU_RUN_STOPPED && st.resumable &&
		       st.insn == 0,
	       "a stop that is set runs nothing");
	stop = false;
	while ((r = npu_engine_run(e, &st, 0, &stop, NULL)) == NPU_RUN_YIELD) {
		yields++;
		tap_ok(st.insn == (npu_u32)yields, "budget 0: one instruction at a time (%d)",
		       yields);
	}
	tap_ok(r == NPU_RUN_DONE && yields == RUN_STEPS && run_outputs_right(),
	       "same bits step by step");
	npu_engine_state_fini(&st);
}

static void fault_case(struct npu_engine *e, struct run_stream *s, unsigned int code, npu_u32 insn,
		       npu_u32 operand, const char *what)
{
	struct npu_engine_state st;
	enum npu_run_result r;

	if (run_state_open(e, &st, s)) {
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
	struct run_stream s;

	run_stream_begin(&s);
	run_matmul_add(&s, 0, RUN_M, NULL, 0);
	op = run_matmul_add(&s, 1, RUN_M, NULL, 0);
	op[NPU_MATMUL_A].offset = 4;
	run_stream_end(&s);
	fault_case(e, &s, NPU_FAULT_REGION, 1, NPU_MATMUL_A, "outside of the region");

	run_stream_begin(&s);
	op = run_matmul_add(&s, 0, RUN_M, NULL, 0);
	op[NPU_MATMUL_OUT].region = REGION_A;
	op[NPU_MATMUL_OUT].dim[0] = op[NPU_MATMUL_A].dim[0] = 1;
	run_stream_end(&s);
	fault_case(e, &s, NPU_FAULT_ACCESS, 0, NPU_MATMUL_OUT, "write to a read-only region");

	run_stream_begin(&s);
	op = run_matmul_add(&s, 0, RUN_M, NULL, 0);
	op[NPU_MATMUL_A].region = REGION_OUT;
	run_stream_end(&s);
	fault_case(e, &s, NPU_FAULT_OVERLAP, 0, NPU_MATMUL_OUT, "output over input");

	run_stream_begin(&s);
	op = run_matmul_add(&s, 0, RUN_M, NULL, 0);
	op[NPU_MATMUL_B].dim[0]--;
	run_stream_end(&s);
	fault_case(e, &s, NPU_FAULT_SHAPE, 0, NPU_MATMUL_B, "shapes that do not agree");

	run_stream_begin(&s);
	op = run_matmul_add(&s, 0, RUN_M, NULL, 0);
	op[NPU_MATMUL_OUT].region = REGION_SRAM;
	op[NPU_MATMUL_OUT].offset = (1 << 20) - 64;
	run_stream_end(&s);
	fault_case(e, &s, NPU_FAULT_REGION, 0, NPU_MATMUL_OUT, "outside of the SRAM region");

	run_stream_begin(&s);
	run_insn_add(&s, NPU_OP_MARKER, NULL, NULL, 0)->opcode = 0x4321;
	run_stream_end(&s);
	fault_case(e, &s, NPU_FAULT_OPCODE, 0, ~0u, "no such opcode");

	run_stream_begin(&s);
	run_insn_add(&s, NPU_OP_MARKER, NULL, NULL, 0);
	run_header(&s)->size = s.used * 4;
	fault_case(e, &s, NPU_FAULT_FETCH, 1, ~0u, "no END");

	run_stream_begin(&s);
	run_insn_add(&s, NPU_OP_MARKER, NULL, NULL, 0)->words = 4000;
	run_stream_end(&s);
	fault_case(e, &s, NPU_FAULT_ENCODING, 0, ~0u, "an instruction longer than the stream");
}

static void test_header(struct npu_engine *e)
{
	struct npu_engine_state st;
	struct run_stream s;

	run_standard_stream(&s);
	run_header(&s)->magic++;
	tap_ok(run_state_open(e, &st, &s) == -EINVAL && st.fault.code == NPU_FAULT_STREAM,
	       "magic: %s", st.fault_text);
	run_standard_stream(&s);
	run_header(&s)->isa_minor = NPU_ISA_MINOR + 1;
	tap_ok(run_state_open(e, &st, &s) == -EINVAL && st.fault.code == NPU_FAULT_STREAM,
	       "minor version: %s", st.fault_text);
	run_standard_stream(&s);
	run_header(&s)->size += 8;
	tap_ok(run_state_open(e, &st, &s) == -EINVAL, "size: %s", st.fault_text);
	run_standard_stream(&s);
	run_header(&s)->num_regions++;
	tap_ok(run_state_open(e, &st, &s) == -EINVAL, "regions: %s", st.fault_text);
	run_standard_stream(&s);
	run_header(&s)->num_scalars = 1;
	run_header(&s)->scalar[0].min = 5;
	run_header(&s)->scalar[0].max = 9;
	tap_ok(run_state_open(e, &st, &s) == -EINVAL && st.fault.code == NPU_FAULT_SCALAR &&
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
	struct run_stream s;

	run_stream_begin(&s);
	run_header(&s)->num_scalars = 1;
	run_header(&s)->scalar[0].min = 1;
	run_header(&s)->scalar[0].max = RUN_M;
	run_insn_add(&s, NPU_OP_LOAD_SCALAR, &op, &p, 0);
	op[0] = (struct npu_operand){ .region = REGION_INT, .dtype = NPU_I32 };
	p[NPU_LOAD_SCALAR_P_MIN] = 1;
	p[NPU_LOAD_SCALAR_P_MAX] = RUN_M - 1;
	base = s.used;
	op = run_matmul_add(&s, 0, RUN_M, &p, 2);
	op[NPU_MATMUL_OUT].dim[0] = op[NPU_MATMUL_A].dim[0] = 0;
	term = (struct npu_term *)(p + npu_op_desc(NPU_OP_MATMUL)->num_params);
	term[0] = (struct npu_term){ (npu_u16)(op[NPU_MATMUL_OUT].dim - (s.words + base)), 0, 0,
				     1 };
	term[1] = (struct npu_term){ (npu_u16)(op[NPU_MATMUL_A].dim - (s.words + base)), 0, 0, 1 };
	run_stream_end(&s);
	for (rows = 1; rows < RUN_M; rows += 31) {
		memset(run.out, 0xff, sizeof(run.out));
		run.number = (npu_s32)rows;
		run_state_open(e, &st, &s);
		st.scalar[0] = 0;
		npu_engine_state_fini(&st);
		memset(&st, 0, sizeof(st));
		st = (struct npu_engine_state){ .stream = s.words,
						.stream_size = s.used * 4,
						.num_regions = NUM_REGIONS,
						.regions = run.regions,
						.scalar = { RUN_M } };
		tap_ok(npu_engine_state_init(e, &st) == 0 &&
			       npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_DONE &&
			       !memcmp(run.out, run.want, rows * RUN_N * 4) &&
			       ((unsigned char *)run.out)[rows * RUN_N * 4] == 0xff,
		       "%u rows by a scalar from memory %s", rows, st.fault_text);
		npu_engine_state_fini(&st);
	}
	run.number = RUN_M;
	st = (struct npu_engine_state){ .stream = s.words,
					.stream_size = s.used * 4,
					.num_regions = NUM_REGIONS,
					.regions = run.regions,
					.scalar = { RUN_M } };
	npu_engine_state_init(e, &st);
	tap_ok(npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_FAULT &&
		       st.fault.code == NPU_FAULT_INDEX && st.fault.value == RUN_M,
	       "scalar from memory out of range: %s", st.fault_text);
	npu_engine_state_fini(&st);
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
	bool end = n == RUN_STEPS;

	w->good += w->st->insn == n && insn->header->tag == 100 + n && start >= w->last &&
		   insn->header->opcode == (end ? NPU_OP_END : NPU_OP_MATMUL) &&
		   (end || (ptr[NPU_MATMUL_OUT] == run.out[n] &&
			    !memcmp(run.out[n], run.want[n], sizeof(run.out[n]))));
	w->last = start + ns;
}

static void test_observer(struct npu_engine *e)
{
	struct npu_engine_state st;
	struct watcher w = { .st = &st };
	struct run_stream s;

	run_standard_stream(&s);
	st = (struct npu_engine_state){ .stream = s.words,
					.stream_size = s.used * 4,
					.num_regions = NUM_REGIONS,
					.regions = run.regions,
					.observer = { watcher_insn, &w } };
	memset(run.out, 0xff, sizeof(run.out));
	npu_engine_state_init(e, &st);
	tap_ok(npu_engine_run(e, &st, UINT64_MAX, NULL, NULL) == NPU_RUN_DONE &&
		       w.calls == RUN_STEPS + 1 && w.good == RUN_STEPS + 1,
	       "the observer sees each instruction behind its result: %u of %u", w.good, w.calls);
	npu_engine_state_fini(&st);
}

int main(void)
{
	struct npu_engine *two = NULL, *plain;
	struct npu_engine_config odd = { .threads = 100000 };
	struct npu_engine_counters counters;

	run_data_init();
	tap_ok(npu_engine_create(&odd, &two) == -EINVAL && !two, "too many threads are refused");
	two = run_engine_make(2, NPU_SIMD_AUTO);
	plain = run_engine_make(2, NPU_SIMD_PORTABLE);
	run_whole(two, "2 threads");
	test_steps(two);
	test_steps(plain);
	test_faults(two);
	test_header(two);
	test_scalars(two);
	test_observer(two);
	npu_engine_counters(two, &counters);
	tap_ok(counters.insns > 0 && counters.macs >= (npu_u64)RUN_M * RUN_N * RUN_K,
	       "counters: %llu instructions, %llu MACs", (unsigned long long)counters.insns,
	       (unsigned long long)counters.macs);
	npu_engine_destroy(two);
	npu_engine_destroy(plain);
	return tap_done();
}
