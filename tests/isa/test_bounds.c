// SPDX-License-Identifier: MIT
/*
 * One instruction may be a lot of work, but while it runs the engine sees the stop flag soon, and
 * the memory that it takes beside the operands stays small. Here are the longest instructions that
 * the verifier lets pass: repeated inputs (stride 0) make them longer than any memory. Time is
 * processor time of the thread that runs, so that a busy machine does not disturb.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "../tap.h"
#include "npu_engine.h"
#include "sample.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED	1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED	1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED	0
#endif

#define REGION_BYTES	(1ull << 35)
#define STOP_AFTER_NS	20000000
#define LATENCY_MAX_MS	(SANITIZED ? 400.0 : 20.0)
#define SCRATCH_MAX	(256ull << 20)

/* The verifier's own bounds may come to refuse one of these: that is as good. */
static const struct {
	unsigned int opcode;
	const char *text;
} work[] = {
	{ NPU_OP_TOPK,
	  "values=i8[1,2000000] indices=i32[1,2000000] in=i8[1,2000000]/(0,0) axis=1" },
	{ NPU_OP_TOPK,
	  "values=i8[1,200000000] indices=i32[1,200000000] in=i8[1,200000000]/(0,0) axis=1" },
	{ NPU_OP_CUMSUM, "out=f16[1,1000000000] in=f16[1,1000000000]/(0,0) axis=1" },
	{ NPU_OP_ARG_REDUCE, "out=i64[1,1] in=f16[1,2000000000]/(0,0) axis=1" },
	{ NPU_OP_IOTA, "out=f16[2000000000] step=1" },
	{ NPU_OP_FILL, "out=i64[500000000] value_lo=5" },
	{ NPU_OP_PAD, "out=u8[2000000000] in=u8[1] before0=5" },
	{ NPU_OP_PAD, "out=u8[2000000000] in=u8[100] mode=2 before0=5" },
	{ NPU_OP_PAD, "out=u8[3,700000000] in=u8[2,700000000]/(0,0) before0=1" },
	{ NPU_OP_COPY, "out=u8[3,700000000] in=u8[3,700000000]/(0,0)" },
	{ NPU_OP_EWISE1, "out=f16[1,1000000000] in=f16[1,1000000000]/(0,0) func=2" },
	{ NPU_OP_SELECT,
	  "out=f16[1,1000000000] cond=bool[1,1] a=f16[1,1] b=f16[1,1000000000]/(0,0)" },
	{ NPU_OP_SOFTMAX, "out=f16[1,1000000000] in=f16[1,1000000000]/(0,0) axis=1" },
	{ NPU_OP_SOFTMAX, "out=f16[300000000,2] in=f16[300000000,2] axis=0" },
	{ NPU_OP_NORM,
	  "out=f16[1,1000000000] in=f16[1,1000000000]/(0,0) gamma=f16[1000000000]/(0) kind=1 "
	  "eps=1e-5" },
	{ NPU_OP_NORM, "out=f16[1,1000000000] in=f16[1,1000000000]/(0,0) kind=0 eps=1e-5" },
	{ NPU_OP_REDUCE, "out=i32[1,1,1] in=i32[4000,4000,200]/(0,0,0) func=0 axes=7" },
	{ NPU_OP_REDUCE, "out=f32[1,1,1] in=f32[40000,40000,2]/(0,8,0) func=9 axes=7" },
	{ NPU_OP_REDUCE, "out=f32[1,2] in=f32[500000000,2]/(8,4) func=0 axes=1" },
	{ NPU_OP_DYN_QUANT,
	  "out=i8[1,2000000000] scale=f32[1,1] in=f16[1,2000000000]/(0,0) group=2000000000" },
	{ NPU_OP_DYN_QUANT,
	  "out=u8[1,2000000000] scale=f32[1] zero=u8[1] in=f16[1,2000000000]/(0,0)" },
	{ NPU_OP_COUNT, "inout=i64[2] in=u8[1000000,2000]/(0,0)" },
	{ NPU_OP_COUNT, "inout=i64[2] in=u8[1000,2000000]/(0,1)" },
	{ NPU_OP_POOL,
	  "out=f16[1,1,1,1] in=f16[1,1,1000000000,1]/(0,0,0,0) kind=1 kernel_h=1 "
	  "kernel_w=1000000000" },
	{ NPU_OP_POOL, "out=f16[1,1,1,1] in=f16[1,1,1,1] kind=1 kernel_h=1000000000 kernel_w=1" },
	{ NPU_OP_POOL,
	  "out=f16[1,1,1,8] in=f16[1,20000,20000,8]/(0,0,0,2) kernel_h=20000 kernel_w=20000" },
	{ NPU_OP_RESIZE,
	  "out=u8[1,40000,40000,1] in=u8[1,8,8,1] mode=0 scale_h=5000 scale_w=5000" },
	{ NPU_OP_RESIZE,
	  "out=f16[1,20000,20000,1] in=f16[1,8,8,1] mode=2 scale_h=2500 scale_w=2500" },
	{ NPU_OP_CROP_RESIZE,
	  "out=u8[300000000,1,1,1] in=u8[1,4,4,1] boxes=f32[300000000,4]/(0,4)" },
	{ NPU_OP_CROP_RESIZE,
	  "out=u8[1,1,1,2000000000] in=u8[1,1,1,2000000000]/(0,0,0,0) boxes=f32[1,4]" },
	{ NPU_OP_GATHER, "out=i8[1,400000000,1] in=i8[1,4,1] index=i64[400000000]/(0)" },
	{ NPU_OP_GATHER, "out=f16[1,1,1000000000] in=f16[1,4,1000000000]/(0,0,0) index=i64[1]" },
	{ NPU_OP_GATHER, "out=f16[1,1,600000000] in=f32[1,4,600000000]/(0,0,0) index=i64[1]" },
	{ NPU_OP_GATHER_ELEMENTS,
	  "out=u8[1,800000000] in=u8[1,4] index=i64[1,800000000]/(0,0) axis=1" },
	{ NPU_OP_SCATTER,
	  "inout=f16[1,4,8] in=f16[1,500000000,8]/(0,0,0) index=i64[500000000]/(0)" },
	{ NPU_OP_SCATTER,
	  "inout=f16[1,4,600000000] in=f16[1,2,600000000]/(0,0,0) index=i64[2]/(0)" },
	{ NPU_OP_SCATTER_ELEMENTS,
	  "inout=f32[1,4] in=f32[1,800000000]/(0,0) index=i64[1,800000000]/(0,0) axis=1" },
	{ NPU_OP_ATTENTION,
	  "out=f16[1,1,8] q=f16[1,1,8] k=f16[4,1,1,8] v=f16[4,1,1,8] "
	  "block_table=i32[1,1000000000]/(0,0) batch=1" },
	{ NPU_OP_ATTENTION,
	  "out=f16[1,1,8] q=f16[1,1,500000000]/(0,0,0) k=f16[1,1,1,500000000]/(0,0,0,0) "
	  "v=f16[1,1,1,8] batch=1" },
	{ NPU_OP_ATTENTION,
	  "out=f16[16,1,65536] q=f16[16,1,8] k=f16[1,4000,1,8]/(0,0,0,0) "
	  "v=f16[1,4000,1,65536]/(0,0,0,0) batch=1" },
	{ NPU_OP_ATTENTION,
	  "out=f16[65536,1,8] q=f16[65536,1,8] k=f16[1,1,1,8] v=f16[1,1,1,8] "
	  "block_table=i32[65536,30000]/(0,0) batch=65536" },
	{ NPU_OP_ROPE,
	  "out=f16[1,1,1000000000] in=f16[1,1,1000000000]/(0,0,0) positions=i32[1] dims=65536 "
	  "base=10000 mscale=1" },
	{ NPU_OP_ROPE,
	  "out=f16[1,500000000,2] in=f16[1,500000000,2]/(0,0,0) positions=i32[1] dims=2 base=10000 "
	  "mscale=1" },
	{ NPU_OP_CONV,
	  "out=f16[1,1,1,2000000] in=f16[1,1,1,2000000] weight=f16[2000000,64,64,1]/(0,0,0,0) "
	  "groups=2000000" },
	{ NPU_OP_CONV,
	  "out=f16[1,1,1,100000] in=f16[1,1,1,100000] weight=f16[100000,8,8,1]/(0,0,0,0) "
	  "groups=100000" },
	{ NPU_OP_CONV,
	  "out=f16[1,1,24,65536] in=f16[1,1,26,4096] weight=f16[65536,1,3,4096]/panel16" },
	{ NPU_OP_CONV,
	  "out=f16[1,1,1,1] in=f16[1,1,1,2000000000]/(0,0,0,0) "
	  "weight=f16[1,1,1,2000000000]/(0,0,0,0)" },
	{ NPU_OP_CONV,
	  "out=f16[1,1,1,1] in=f16[1,1,1,1] weight=f16[1,1000000000,1,1]/(0,0,0,0) pad_top=65535" },
	{ NPU_OP_CONV,
	  "out=u8[1,1,1,500000000]*1:0 in=u8[1,1,1,1] weight=u8[500000000,1,1,1]/(0,0,0,0) "
	  "bias=i32[500000000]/(0) scale=f32[500000000]/(0)" },
	{ NPU_OP_CONV_TRANSPOSE,
	  "out=f32[1,1,1,1] in=f32[1,1,1,1] weight=f32[1,1,1000000000,1]/(0,0,0,0)" },
	{ NPU_OP_CONV_TRANSPOSE,
	  "out=f32[1,1,1,1] in=f32[1,1,1,1] weight=f32[1,1000000000,1,1]/(0,0,0,0)" },
	{ NPU_OP_CONV_TRANSPOSE,
	  "out=f32[1,1,100,16] in=f32[1,1,1,16] weight=f32[16,1,1,16]/panel16 stride_w=4096" },
	{ NPU_OP_CONV_TRANSPOSE,
	  "out=f32[1,1,100,16] in=f32[1,1,1,16] weight=f32[16,1000000,1,16]/panel16 "
	  "stride_h=4096" },
	{ NPU_OP_MATMUL, "out=f32[1,100000] a=f32[1,60000]/(0,0) b=f16[60000,100000]/(0,0)" },
	{ NPU_OP_MATMUL, "out=f32[1,1] a=f16[1,2000000000]/(0,0) b=f16[2000000000,1]/(0,0)" },
	{ NPU_OP_MATMUL, "out=f32[1,65536] a=f32[1,65536]/(0,0) b=f16[65536,65536]/panel16" },
	{ NPU_OP_MATMUL, "out=i32[1,60000] a=u8[1,100000]/(0,0) b=u8[100000,60000]/(0,0)" },
};

static struct npu_region regions[NPU_MAX_OPERANDS];
static atomic_bool stop, finished;
static pthread_t runner;
static double stopped_at;

static double thread_ms(pthread_t thread)
{
	struct timespec t;
	clockid_t clock;

	if (pthread_getcpuclockid(thread, &clock) || clock_gettime(clock, &t))
		return 0;
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Sets the flag when the runner has worked for some time. */
static void *watch(void *arg)
{
	double start = thread_ms(runner);
	const struct timespec nap = { .tv_nsec = 1000000 };

	(void)arg;
	while (!finished && thread_ms(runner) - start < STOP_AFTER_NS / 1e6)
		nanosleep(&nap, NULL);
	stopped_at = thread_ms(runner);
	stop = true;
	return NULL;
}

static size_t stream_of(unsigned int opcode, const char *text, unsigned char *buf)
{
	struct npu_stream_header h = { .magic = NPU_STREAM_MAGIC,
				       .isa_major = NPU_ISA_MAJOR,
				       .isa_minor = NPU_ISA_MINOR,
				       .num_insns = 2,
				       .num_regions = NPU_MAX_OPERANDS };
	struct sample s, end;

	sample_parse(&s, opcode, text, NULL);
	sample_parse(&end, NPU_OP_END, "", NULL);
	h.size = (npu_u32)(sizeof(h) + (s.num_words + end.num_words) * 4);
	memcpy(buf, &h, sizeof(h));
	memcpy(buf + sizeof(h), s.words, s.num_words * 4);
	memcpy(buf + sizeof(h) + s.num_words * 4, end.words, end.num_words * 4);
	return h.size;
}

/* Fresh zero pages, so that what a case wrote does not stay. */
static void map_regions(void)
{
	unsigned int i;

	for (i = 0; i < NPU_MAX_OPERANDS; i++) {
		void *want = (void *)(uintptr_t)regions[i].base;
		void *mem = mmap(want, REGION_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
					 (want ? MAP_FIXED : 0),
				 -1, 0);

		if (mem == MAP_FAILED) {
			printf("1..0 # SKIP no address space\n");
			exit(0);
		}
		regions[i] = (struct npu_region){ .base = (uintptr_t)mem, .size = REGION_BYTES,
						  .access = NPU_ACCESS_READ | NPU_ACCESS_WRITE };
	}
}

static void try_one(unsigned int opcode, const char *text)
{
	struct npu_engine_config config = { .threads = 1 };
	static unsigned char stream[sizeof(struct npu_stream_header) + 2 * sizeof(struct sample)]
		__attribute__((aligned(8)));
	size_t size = stream_of(opcode, text, stream), before, scratch;
	struct npu_engine_state state = { .stream = stream,
					  .stream_size = (npu_u32)size,
					  .regions = regions,
					  .num_regions = NPU_MAX_OPERANDS };
	const char *name = npu_op_desc(opcode)->mnemonic;
	struct npu_isa_error err = { .text = "" };
	struct npu_engine *engine;
	enum npu_run_result result;
	pthread_t watcher;
	double latency;

	if (npu_stream_verify(stream, size, regions, NPU_MAX_OPERANDS, 2u << 20, &err)) {
		tap_ok(err.fault.code == NPU_FAULT_LIMIT, "%s %s", name, text);
		tap_diag("refused: %s", err.text);
		return;
	}
	map_regions();
	before = mallinfo2().hblkhd;
	if (npu_engine_create(&config, &engine) || npu_engine_state_init(engine, &state)) {
		tap_ok(0, "%s: engine", name);
		return;
	}
	stop = finished = false;
	runner = pthread_self();
	pthread_create(&watcher, NULL, watch, NULL);
	result = npu_engine_run(engine, &state, UINT64_MAX, &stop, NULL);
	latency = thread_ms(pthread_self());
	finished = true;
	pthread_join(watcher, NULL);
	latency = latency > stopped_at ? latency - stopped_at : 0;
	scratch = mallinfo2().hblkhd - before;
	tap_ok(result != NPU_RUN_FAULT && latency <= LATENCY_MAX_MS &&
		       (SANITIZED || scratch <= SCRATCH_MAX),
	       "%s %s", name, text);
	tap_diag("result %d, %.1f ms after the stop, %zu KiB; %s", result, latency, scratch >> 10,
		 state.fault_text);
	npu_engine_state_fini(&state);
	npu_engine_destroy(engine);
}

int main(int argc, char **argv)
{
	unsigned int i;

	map_regions();
	for (i = 0; i < sizeof(work) / sizeof(work[0]); i++)
		if (argc < 2 || (unsigned int)atoi(argv[1]) == i)
			try_one(work[i].opcode, work[i].text);
	return tap_done();
}
