// SPDX-License-Identifier: MIT
/*
 * Operators on 8-bit codes with a scale beside the same ones on f32 and f16: one instruction each,
 * microseconds of the best run, and the quotients. Codes are a quarter of the bytes, so none of
 * them should take longer.
 *
 * usage: bench_int8 [-s portable|avx2|avx512] [-t threads] [-m seconds per point] [part of a name]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "npu_engine.h"
#include "tests/isa/sample.h"

/*
 * $T, $O: type of the inputs and of the output; $W: type of weights; $n: n elements in bytes. Text
 * behind is for floats and for codes only.
 */
struct row {
	const char *name;
	unsigned int opcode;
	const char *text, *f, *q;
};

#define BIAS(o)	"bias=f32[" #o "]", "bias=i32[" #o "] scale=f32[" #o "]"
static const struct row rows[] = {
	{ "dw3x3 16 320x320 hswish", NPU_OP_CONV,
	  "out=$O[1,320,320,16] in=$T[1,320,320,16] weight=$W[16,3,3,1]/($1,$48,$16,0) pad_top=1 "
	  "pad_left=1 groups=16 act=9 act_alpha=0.16666667 act_beta=0.5", BIAS(16) },
	{ "dw3x3 s2 32 320x320 relu", NPU_OP_CONV,
	  "out=$O[1,160,160,32] in=$T[1,320,320,32] weight=$W[32,3,3,1]/($1,$96,$32,0) pad_top=1 "
	  "pad_left=1 groups=32 stride_h=2 stride_w=2 act=1", BIAS(32) },
	{ "dw3x3 48 160x160 relu", NPU_OP_CONV,
	  "out=$O[1,160,160,48] in=$T[1,160,160,48] weight=$W[48,3,3,1]/($1,$144,$48,0) pad_top=1 "
	  "pad_left=1 groups=48 act=1", BIAS(48) },
	{ "dw3x3 96 80x80", NPU_OP_CONV,
	  "out=$O[1,80,80,96] in=$T[1,80,80,96] weight=$W[96,3,3,1]/($1,$288,$96,0) pad_top=1 "
	  "pad_left=1 groups=96", BIAS(96) },
	{ "dw5x5 192 40x40 hswish", NPU_OP_CONV,
	  "out=$O[1,40,40,192] in=$T[1,40,40,192] weight=$W[192,5,5,1]/($1,$960,$192,0) pad_top=2 "
	  "pad_left=2 groups=192 act=9 act_alpha=0.16666667 act_beta=0.5", BIAS(192) },
	{ "dw5x5 s2 192 40x40", NPU_OP_CONV,
	  "out=$O[1,20,20,192] in=$T[1,40,40,192] weight=$W[192,5,5,1]/($1,$960,$192,0) pad_top=2 "
	  "pad_left=2 groups=192 stride_h=2 stride_w=2", BIAS(192) },
	{ "dw5x5 384 20x20", NPU_OP_CONV,
	  "out=$O[1,20,20,384] in=$T[1,20,20,384] weight=$W[384,5,5,1]/($1,$1920,$384,0) pad_top=2 "
	  "pad_left=2 groups=384", BIAS(384) },
	{ "dw3x3 24 128x128", NPU_OP_CONV,
	  "out=$O[1,128,128,24] in=$T[1,128,128,24] weight=$W[24,3,3,1]/($1,$72,$24,0) pad_top=1 "
	  "pad_left=1 groups=24", BIAS(24) },
	{ "add", NPU_OP_EWISE2, "out=$O[100,4096] a=$T[100,4096] b=$T[100,4096] func=0", "", "" },
	{ "add relu", NPU_OP_EWISE2,
	  "out=$O[100,4096] a=$T[100,4096] b=$T[100,4096] func=0 act=1", "", "" },
	{ "mul", NPU_OP_EWISE2, "out=$O[100,4096] a=$T[100,4096] b=$T[100,4096] func=2", "", "" },
	{ "mul by channel (SE)", NPU_OP_EWISE2,
	  "out=$O[1,64,64,96] a=$T[1,64,64,96] b=$T[1,1,1,96] func=2", "", "" },
	{ "add by pixel", NPU_OP_EWISE2,
	  "out=$O[1,64,64,96] a=$T[1,64,64,96] b=$T[1,64,64,1] func=0", "", "" },
	{ "add scalar", NPU_OP_EWISE2,
	  "out=$O[1,64,64,96] a=$T[1,64,64,96] b=$T[1,1,1,1] func=0", "", "" },
	{ "relu", NPU_OP_EWISE1, "out=$O[100,4096] in=$T[100,4096] func=18 act=1", "", "" },
	{ "hard sigmoid", NPU_OP_EWISE1,
	  "out=$O[100,4096] in=$T[100,4096] func=18 act=8 act_alpha=0.2 act_beta=0.5", "", "" },
	{ "sigmoid", NPU_OP_EWISE1, "out=$O[100,4096] in=$T[100,4096] func=18 act=6", "", "" },
	{ "average pool, global 20x20x384", NPU_OP_POOL,
	  "out=$O[1,1,1,384] in=$T[1,20,20,384] kind=1 kernel_h=20 kernel_w=20", "", "" },
	{ "average pool 3x3 s1", NPU_OP_POOL,
	  "out=$O[1,38,38,96] in=$T[1,40,40,96] kind=1 kernel_h=3 kernel_w=3", "", "" },
	{ "max pool 3x3 s2", NPU_OP_POOL,
	  "out=$O[1,56,56,64] in=$T[1,112,112,64] kernel_h=3 kernel_w=3 stride_h=2 stride_w=2 "
	  "pad_top=1 pad_left=1", "", "" },
	{ "max pool 2x2 s2", NPU_OP_POOL,
	  "out=$O[1,56,56,64] in=$T[1,112,112,64] kernel_h=2 kernel_w=2 stride_h=2 "
	  "stride_w=2", "", "" },
	{ "resize nearest x2", NPU_OP_RESIZE,
	  "out=$O[1,80,80,96] in=$T[1,40,40,96] mode=0 coord=3 nearest=2 scale_h=2 "
	  "scale_w=2", "", "" },
	{ "resize linear x2", NPU_OP_RESIZE,
	  "out=$O[1,80,80,96] in=$T[1,40,40,96] mode=1 scale_h=2 scale_w=2", "", "" },
	{ "copy, same type", NPU_OP_COPY, "out=$O[100,4096] in=$T[100,4096]", "", "" },
	{ "concat: strided rows", NPU_OP_COPY, "out=$O[6400,24]/($96,$1) in=$T[6400,24]", "", "" },
	{ "transpose NHWC to NCHW", NPU_OP_COPY,
	  "out=$O[96,4096] in=$T[96,4096]/($1,$96)", "", "" },
	{ "copy from f32", NPU_OP_COPY, "out=$O[100,4096] in=f32[100,4096]", "", "" },
	{ "copy to f32", NPU_OP_COPY, "out=f32[100,4096] in=$T[100,4096]", "", "" },
	{ "copy from f16", NPU_OP_COPY, "out=$O[100,4096] in=f16[100,4096]", "", "" },
	{ "copy to f16", NPU_OP_COPY, "out=f16[100,4096] in=$T[100,4096]", "", "" },
	{ "planar f32 to NHWC", NPU_OP_COPY, "out=$O[4096,3] in=f32[4096,3]/(4,16384)", "", "" },
	{ "softmax 197x197", NPU_OP_SOFTMAX, "out=$O[6,197,197] in=$T[6,197,197] axis=2", "", "" },
	{ "reduce mean HW", NPU_OP_REDUCE,
	  "out=$O[1,1,1,384] in=$T[1,20,20,384] func=1 axes=6", "", "" },
	{ "reduce mean last", NPU_OP_REDUCE, "out=$O[400,1] in=$T[400,384] func=1 axes=2", "", "" },
	{ "reduce max last", NPU_OP_REDUCE, "out=$O[400,1] in=$T[400,384] func=2 axes=2", "", "" },
	{ "layer norm 384", NPU_OP_NORM,
	  "out=$O[197,384] in=$T[197,384] gamma=f32[384] beta=f32[384] eps=1e-5", "", "" },
	{ "gather rows", NPU_OP_GATHER,
	  "out=$O[1,200,384] in=$T[1,1000,384] index=i32[200]", "", "" },
	{ "pad", NPU_OP_PAD, "out=$O[1,82,82,96] in=$T[1,80,80,96] before1=1 before2=1", "", "" },
	{ "select", NPU_OP_SELECT,
	  "out=$O[100,4096] cond=bool[100,4096] a=$T[100,4096] b=$T[100,4096]", "", "" },
};

/* f32, f16, codes, and codes whose output has scale 1. */
static const char *const in_types[] = { "f32", "f16", "u8", "u8" };
static const char *const in_suffix[] = { "", "", "*0.0507:100", "*0.0507:100" };
static const char *const out_suffix[] = { "", "", "*0.1131:120", "*1:120" };

static double min_seconds = 0.02;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static bool is_moved(const struct row *r)
{
	return r->opcode == NPU_OP_GATHER || r->opcode == NPU_OP_PAD ||
	       r->opcode == NPU_OP_SELECT ||
	       (r->opcode == NPU_OP_RESIZE && strstr(r->text, "mode=0")) ||
	       (r->opcode == NPU_OP_POOL && !strstr(r->text, "kind=1")) ||
	       (r->opcode == NPU_OP_COPY && !strstr(r->text, "f32[") && !strstr(r->text, "f16["));
}

/* The text of the row for one kind. Operands get their quantization behind their dims. */
static void expand(const struct row *r, unsigned int kind, char *to)
{
	const char *p, *suffix = "";
	unsigned int size = kind == 0 ? 4 : kind == 1 ? 2 : 1;

	for (p = r->text; *p; p++) {
		if (*p == ']') {
			to += sprintf(to, "]%s", suffix);
			suffix = "";
		} else if (*p != '$') {
			*to++ = *p;
		} else if (p[1] == 'T' || p[1] == 'O' || p[1] == 'W') {
			to += sprintf(to, "%s", kind > 1 && p[1] == 'W' ? "i8" : in_types[kind]);
			suffix = kind < 2		      ? "" :
				 p[1] == 'W'		      ? "*1:0" :
				 p[1] == 'T' || is_moved(r) ? in_suffix[kind] :
							      out_suffix[kind];
			p++;
		} else {
			char *end;

			to += sprintf(to, "%lu", strtoul(p + 1, &end, 10) * size);
			p = end - 1;
		}
	}
	sprintf(to, " %s", kind < 2 ? r->f : r->q);
}

static void fill(unsigned char *p, npu_u64 bytes, unsigned int dtype)
{
	/* -0.4 and 0.525 in f16 */
	static const unsigned char halves[2][2] = { { 0x66, 0xb6 }, { 0x33, 0x38 } };
	npu_u64 i, n = bytes / (npu_dtype_bits(dtype) / 8);
	unsigned int rng = 1;

	for (i = 0; i < n; i++) {
		float f;

		rng = rng * 1664525 + 1013904223;
		f = (float)(rng >> 16) / 65536.0f - 0.5f;
		if (dtype == NPU_F32)
			memcpy(p + 4 * i, &f, 4);
		else if (dtype == NPU_F16)
			memcpy(p + 2 * i, halves[rng >> 16 & 1], 2);
		else if (dtype == NPU_I32)
			memcpy(p + 4 * i, &(int){ (int)(rng >> 16) % 100 }, 4);
		else
			p[i] = dtype == NPU_BOOL ? rng >> 16 & 1 : rng >> 16 & 255;
	}
}

struct job {
	npu_u32 words[NPU_MAX_INSN_WORDS + 256] __attribute__((aligned(8)));
	struct npu_region region[NPU_MAX_OPERANDS];
};

static void job_make(struct job *j, unsigned int opcode, const char *text)
{
	struct npu_stream_header *h = (void *)j->words;
	struct npu_insn insn;
	struct npu_isa_error err;
	struct sample s, end;
	unsigned int i;
	npu_u64 bytes;

	memset(j, 0, sizeof(*j));
	sample_parse(&s, opcode, text, NULL);
	sample_parse(&end, NPU_OP_END, "", NULL);
	memcpy(h + 1, s.words, s.num_words * 4);
	memcpy((npu_u32 *)(h + 1) + s.num_words, end.words, end.num_words * 4);
	*h = (struct npu_stream_header){ .magic = NPU_STREAM_MAGIC, .isa_major = NPU_ISA_MAJOR,
					 .num_insns = 2,
					 .num_regions = NPU_MAX_OPERANDS,
					 .size = (npu_u32)sizeof(*h) +
						 (s.num_words + end.num_words) * 4 };
	if (npu_insn_decode(s.words, s.num_words, &insn, &err)) {
		fprintf(stderr, "%s: %s\n", text, err.text);
		exit(1);
	}
	for (i = 0; i < insn.desc->num_slots; i++) {
		if (insn.operand[i].dtype == NPU_NONE || npu_insn_operand_extent(&insn, i, &bytes))
			continue;
		j->region[i].size = bytes;
		j->region[i].access = NPU_ACCESS_READ | NPU_ACCESS_WRITE;
		j->region[i].base = (npu_u64)(uintptr_t)aligned_alloc(4096,
								      (bytes + 8191) & ~4095ull);
		fill((unsigned char *)(uintptr_t)j->region[i].base, bytes, insn.operand[i].dtype);
	}
}

static double job_time(struct npu_engine *engine, struct job *j)
{
	double best = 1e9, begin = now(), t;
	struct npu_engine_state state;

	do {
		memset(&state, 0, sizeof(state));
		state.stream = j->words;
		state.stream_size = ((struct npu_stream_header *)j->words)->size;
		state.num_regions = NPU_MAX_OPERANDS;
		state.regions = j->region;
		t = now();
		if (npu_engine_state_init(engine, &state) ||
		    npu_engine_run(engine, &state, UINT64_MAX, NULL, NULL) != NPU_RUN_DONE) {
			fprintf(stderr, "%s\n", state.fault_text);
			exit(1);
		}
		t = now() - t;
		npu_engine_state_fini(&state);
		best = t < best ? t : best;
	} while (now() - begin < min_seconds);
	return best;
}

int main(int argc, char **argv)
{
	struct npu_engine_config config = { .threads = 1, .simd = NPU_SIMD_AUTO };
	struct npu_engine *engine;
	unsigned int i, k, n, slower = 0;
	char text[1024];
	struct job j;
	double t[4];
	int opt;

	while ((opt = getopt(argc, argv, "s:t:m:")) != -1) {
		if (opt == 's')
			config.simd = !strcmp(optarg, "avx512") ? NPU_SIMD_AVX512 :
				      !strcmp(optarg, "avx2")	? NPU_SIMD_AVX2 :
								  NPU_SIMD_PORTABLE;
		else if (opt == 't')
			config.threads = (unsigned int)atoi(optarg);
		else if (opt == 'm')
			min_seconds = atof(optarg);
		else
			return 2;
	}
	if (npu_engine_create(&config, &engine))
		return 1;
	printf("%s, %u thread(s), us\n%-34s%9s%9s%9s%9s%10s%10s\n", npu_engine_simd_name(engine),
	       config.threads, "operator", "f32", "f16", "u8", "u8 to *1", "u8 / f32", "*1 / f16");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (optind < argc && !strstr(rows[i].name, argv[optind]))
			continue;
		for (k = 0; k < 4; k++) {
			expand(&rows[i], k, text);
			job_make(&j, rows[i].opcode, text);
			t[k] = job_time(engine, &j) * 1e6;
			for (n = 0; n < NPU_MAX_OPERANDS; n++)
				free((void *)(uintptr_t)j.region[n].base);
		}
		slower += t[2] > t[0];
		printf("%-34s%9.1f%9.1f%9.1f%9.1f%10.2f%10.2f%s\n", rows[i].name, t[0], t[1], t[2],
		       t[3], t[2] / t[0], t[3] / t[1], t[2] > t[0] ? "  slower" : "");
		fflush(stdout);
	}
	printf("%u slower than f32\n", slower);
	npu_engine_destroy(engine);
	return 0;
}
