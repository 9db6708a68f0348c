// SPDX-License-Identifier: MIT
/*
 * Convolution and matmul layers of the networks that the project is measured by, one instruction
 * each, against the machine's multiply-add peak measured in the same run.
 *
 * usage: bench_gemm [-s set] [-t most threads] [-m seconds per point] [-d f16|f32|i8] [-c]
 *                   [part of a name]
 * -s: a set of instructions as in sim:simd=; -d i8: u8 data with a zero point, i8 weights, u8 out
 * -c: count CPU time instead of wall time, for one thread on a busy machine
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include "npu_engine.h"
#include "npu_isa_desc.h"

enum kind { CONV, DECONV, MATMUL };

struct layer {
	const char *net, *name;
	enum kind kind;
	npu_u32 h, w, c, o, k, kw, stride_h, stride_w, groups;
	unsigned int act;
	unsigned int count;		/* times in the net */
	unsigned int in_f32;		/* planar f32 input, as a model's first layer has it */
};

#define HSW NPU_ACT_HARD_SWISH
#define RELU NPU_ACT_RELU

static const struct layer layers[] = {
	{ "det", "stem 3x3 s2 3->16 640", CONV, 640, 640, 3, 16, 3, 3, 2, 2, 1, HSW, 1, 1 },
	{ "det", "dw3x3 16 320", CONV, 320, 320, 16, 16, 3, 3, 1, 1, 16, HSW, 1, 0 },
	{ "det", "pw 16->32 320", CONV, 320, 320, 16, 32, 1, 1, 1, 1, 1, HSW, 1, 0 },
	{ "det", "dw3x3 s2 32 320", CONV, 320, 320, 32, 32, 3, 3, 2, 2, 32, HSW, 1, 0 },
	{ "det", "pw 32->48 160", CONV, 160, 160, 32, 48, 1, 1, 1, 1, 1, HSW, 1, 0 },
	{ "det", "dw3x3 48 160", CONV, 160, 160, 48, 48, 3, 3, 1, 1, 48, HSW, 1, 0 },
	{ "det", "pw 48->48 160", CONV, 160, 160, 48, 48, 1, 1, 1, 1, 1, HSW, 1, 0 },
	{ "det", "dw3x3 s2 48 160", CONV, 160, 160, 48, 48, 3, 3, 2, 2, 48, HSW, 1, 0 },
	{ "det", "pw 48->96 80", CONV, 80, 80, 48, 96, 1, 1, 1, 1, 1, HSW, 1, 0 },
	{ "det", "dw3x3 96 80", CONV, 80, 80, 96, 96, 3, 3, 1, 1, 96, HSW, 1, 0 },
	{ "det", "pw 96->96 80", CONV, 80, 80, 96, 96, 1, 1, 1, 1, 1, HSW, 1, 0 },
	{ "det", "pw 96->192 40", CONV, 40, 40, 96, 192, 1, 1, 1, 1, 1, HSW, 1, 0 },
	{ "det", "dw5x5 192 40", CONV, 40, 40, 192, 192, 5, 5, 1, 1, 192, HSW, 4, 0 },
	{ "det", "pw 192->192 40", CONV, 40, 40, 192, 192, 1, 1, 1, 1, 1, HSW, 4, 0 },
	{ "det", "dw5x5 s2 192 40", CONV, 40, 40, 192, 192, 5, 5, 2, 2, 192, HSW, 1, 0 },
	{ "det", "dw5x5 384 20", CONV, 20, 20, 384, 384, 5, 5, 1, 1, 384, HSW, 3, 0 },
	{ "det", "pw 384->384 20", CONV, 20, 20, 384, 384, 1, 1, 1, 1, 1, HSW, 3, 0 },
	{ "det", "pw 12->96 160", CONV, 160, 160, 12, 96, 1, 1, 1, 1, 1, 0, 1, 0 },
	{ "det", "pw 48->12 160", CONV, 160, 160, 48, 12, 1, 1, 1, 1, 1, 0, 1, 0 },
	{ "det", "pw 18->96 80", CONV, 80, 80, 18, 96, 1, 1, 1, 1, 1, 0, 1, 0 },
	{ "det", "pw 42->96 40", CONV, 40, 40, 42, 96, 1, 1, 1, 1, 1, 0, 1, 0 },
	{ "det", "pw 360->96 20", CONV, 20, 20, 360, 96, 1, 1, 1, 1, 1, 0, 1, 0 },
	{ "det", "fpn 3x3 96->24 160", CONV, 160, 160, 96, 24, 3, 3, 1, 1, 1, RELU, 2, 0 },
	{ "det", "fpn 3x3 96->24 80", CONV, 80, 80, 96, 24, 3, 3, 1, 1, 1, 0, 1, 0 },
	{ "det", "fpn 3x3 96->24 40", CONV, 40, 40, 96, 24, 3, 3, 1, 1, 1, 0, 1, 0 },
	{ "det", "deconv 2x2 24->24 160", DECONV, 160, 160, 24, 24, 2, 2, 2, 2, 1, RELU, 1, 0 },
	{ "det", "deconv 2x2 24->1 320", DECONV, 320, 320, 24, 1, 2, 2, 2, 2, 1, NPU_ACT_SIGMOID, 1,
	  0 },
	{ "det", "pw 384->96 1x1", CONV, 1, 1, 384, 96, 1, 1, 1, 1, 1, RELU, 1, 0 },
	{ "rec", "stem 3x3 s2 3->16 48x320", CONV, 48, 320, 3, 16, 3, 3, 2, 2, 1, HSW, 1, 1 },
	{ "rec", "pw 32->64 24x160", CONV, 24, 160, 32, 64, 1, 1, 1, 1, 1, HSW, 1, 0 },
	{ "rec", "pw 128->240 12x80", CONV, 12, 80, 128, 240, 1, 1, 1, 1, 1, HSW, 1, 0 },
	{ "rec", "pw 240->240 12x80", CONV, 12, 80, 240, 240, 1, 1, 1, 1, 1, HSW, 4, 0 },
	{ "rec", "dw5x5 240 12x80", CONV, 12, 80, 240, 240, 5, 5, 1, 1, 240, HSW, 4, 0 },
	{ "rec", "dw5x5 s2x1 480 6x80", CONV, 6, 80, 480, 480, 5, 5, 2, 1, 480, HSW, 1, 0 },
	{ "rec", "pw 480->480 6x80", CONV, 6, 80, 480, 480, 1, 1, 1, 1, 1, HSW, 1, 0 },
	{ "rec", "pw 480->480 3x80", CONV, 3, 80, 480, 480, 1, 1, 1, 1, 1, HSW, 2, 0 },
	{ "rec", "conv 1x3 480->60 40", CONV, 1, 40, 480, 60, 1, 3, 1, 1, 1, NPU_ACT_SILU, 1, 0 },
	{ "rec", "matmul 40x120x360", MATMUL, 1, 40, 120, 360, 1, 1, 1, 1, 1, 0, 2, 0 },
	{ "rec", "matmul 40x120x6625", MATMUL, 1, 40, 120, 6625, 1, 1, 1, 1, 1, 0, 1, 0 },
	{ "blaze", "stem 5x5 s2 3->24 256", CONV, 256, 256, 3, 24, 5, 5, 2, 2, 1, RELU, 1, 1 },
	{ "blaze", "dw3x3 24 128", CONV, 128, 128, 24, 24, 3, 3, 1, 1, 24, 0, 7, 0 },
	{ "blaze", "pw 24->24 128", CONV, 128, 128, 24, 24, 1, 1, 1, 1, 1, RELU, 7, 0 },
	{ "blaze", "dw3x3 24 64", CONV, 64, 64, 24, 24, 3, 3, 1, 1, 24, 0, 7, 0 },
	{ "blaze", "pw 24->24 64", CONV, 64, 64, 24, 24, 1, 1, 1, 1, 1, RELU, 8, 0 },
	{ "blaze", "dw3x3 48 32", CONV, 32, 32, 48, 48, 3, 3, 1, 1, 48, 0, 7, 0 },
	{ "blaze", "pw 48->48 32", CONV, 32, 32, 48, 48, 1, 1, 1, 1, 1, RELU, 7, 0 },
	{ "blaze", "dw3x3 96 16", CONV, 16, 16, 96, 96, 3, 3, 1, 1, 96, 0, 7, 0 },
	{ "blaze", "pw 96->96 16", CONV, 16, 16, 96, 96, 1, 1, 1, 1, 1, RELU, 7, 0 },
	{ "misc", "conv 3x3 64->64 56", CONV, 56, 56, 64, 64, 3, 3, 1, 1, 1, RELU, 1, 0 },
	{ "misc", "conv 3x3 256->256 14", CONV, 14, 14, 256, 256, 3, 3, 1, 1, 1, RELU, 1, 0 },
	{ "misc", "matmul 512x512x512", MATMUL, 1, 512, 512, 512, 1, 1, 1, 1, 1, 0, 1, 0 },
	{ "misc", "matmul 1024x1024x1024", MATMUL, 1, 1024, 1024, 1024, 1, 1, 1, 1, 1, 0, 1, 0 },
	{ "misc", "gemv 4096x4096", MATMUL, 1, 1, 4096, 4096, 1, 1, 1, 1, 1, 0, 1, 0 },
};

static double min_seconds = 0.05;
static unsigned int data_type = NPU_F16;
static clockid_t clock_id = CLOCK_MONOTONIC;

static double now(void)
{
	struct timespec ts;

	clock_gettime(clock_id, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/*
 * Multiply-adds per second of independent chains in registers, in 1e9; the best of several tries.
 */
#if defined(__x86_64__)
#define PEAK(name, isa, vec, lanes, set1, fma)						\
__attribute__((target(isa))) static double peak_##name(void)				\
{											\
	vec a[10], b = set1(0.999f), c = set1(1e-3f);					\
	double best = 0, t;								\
	float out[16] = { 0 };								\
	int i, n, rep;									\
											\
	for (i = 0; i < 10; i++)							\
		a[i] = set1(0.1f * (float)i);						\
	for (rep = 0; rep < 20; rep++) {						\
		t = now();								\
		for (n = 0; n < 300000; n++) {						\
			_Pragma("GCC unroll 10")					\
			for (i = 0; i < 10; i++)					\
				a[i] = fma(a[i], b, c);					\
		}									\
		t = now() - t;								\
		if (300000.0 * 10 * lanes / t > best)					\
			best = 300000.0 * 10 * lanes / t;				\
		for (i = 0; i < 10; i++) {						\
			memcpy(out, &a[i], sizeof(a[i]));				\
			__asm__ volatile("" : : "m"(out));				\
		}									\
	}										\
	return best * 1e-9;								\
}
PEAK(avx2, "avx2,fma", __m256, 8, _mm256_set1_ps, _mm256_fmadd_ps)
PEAK(avx512, "avx512f", __m512, 16, _mm512_set1_ps, _mm512_fmadd_ps)

/* The same of products of codes. */
#define SET1(bits)	(int)(1000 * (bits))
#define INT256(f)	_mm256_set1_epi8((char)SET1(f))
#define INT512(f)	_mm512_set1_epi8((char)SET1(f))
#define DOT256(a, b, c)	_mm256_dpbusd_avx_epi32(a, b, c)
#define DOT512(a, b, c)	_mm512_dpbusd_epi32(a, b, c)
#define MADD256(a, b, c)	_mm256_add_epi32(a, _mm256_madd_epi16(b, c))
#define MADD512(a, b, c)	_mm512_add_epi32(a, _mm512_madd_epi16(b, c))
PEAK(int_avx2, "avx2", __m256i, 16, INT256, MADD256)
PEAK(int_avxvnni, "avx2,avxvnni", __m256i, 32, INT256, DOT256)
PEAK(int_avx512, "avx512f,avx512bw", __m512i, 32, INT512, MADD512)
PEAK(int_avx512vnni, "avx512f,avx512bw,avx512vnni", __m512i, 64, INT512, DOT512)
#endif

static double peak(const char *simd)
{
#if defined(__x86_64__)
	static const struct {
		const char *simd;
		double (*real)(void), (*codes)(void);
	} peaks[] = {
		{ "avx2", peak_avx2, peak_int_avx2 },
		{ "avx-vnni", peak_avx2, peak_int_avxvnni },
		{ "avx512", peak_avx512, peak_int_avx512 },
		{ "avx512-vnni", peak_avx512, peak_int_avx512vnni },
	};
	unsigned int i;

	for (i = 0; i < sizeof(peaks) / sizeof(peaks[0]); i++)
		if (!strcmp(simd, peaks[i].simd))
			return data_type == NPU_U8 ? peaks[i].codes() : peaks[i].real();
#endif
	return 0;
}

static void operand(struct npu_operand *op, unsigned int region, unsigned int dtype,
		    unsigned int rank, const npu_u32 *dim)
{
	npu_s64 stride = npu_dtype_bits(dtype) / 8;
	int i;

	op->region = (npu_u8)region;
	op->dtype = (npu_u8)dtype;
	op->rank = (npu_u8)rank;
	for (i = (int)rank - 1; i >= 0; i--) {
		op->dim[i] = dim[i];
		op->stride[i] = stride;
		stride *= dim[i];
	}
}

struct job {
	npu_u32 words[2048];
	npu_u32 size;
	struct npu_region region[4];
};

static void *buffer(size_t size, unsigned int dtype)
{
	/* 0.5 and -0.4 in f16 */
	static const unsigned char halves[] = { 0x00, 0x38, 0x66, 0xb6 };
	unsigned char *p = aligned_alloc(4096, (size + 8191) & ~(size_t)4095);
	size_t i;

	if (!p)
		exit(1);
	for (i = 0; i < size; i += 4) {
		float f = (float)((i * 2654435761u >> 8) & 0xffff) / 65536.0f - 0.5f;

		if (dtype == NPU_F32)
			memcpy(p + i, &f, 4);
		else
			memcpy(p + i, halves, sizeof(halves));
	}
	return p;
}

static void put_f32(npu_u32 *p, float f)
{
	memcpy(p, &f, sizeof(f));
}

static void job_make(struct job *j, const struct layer *l)
{
	struct npu_stream_header *h = (void *)j->words;
	struct npu_insn_header *ih = (void *)(j->words + sizeof(*h) / 4);
	struct npu_operand *op = (void *)(ih + 1);
	unsigned int opcode = l->kind == CONV	? NPU_OP_CONV :
			      l->kind == DECONV ? NPU_OP_CONV_TRANSPOSE :
						  NPU_OP_MATMUL;
	const struct npu_op_desc *desc = npu_op_desc(opcode);
	npu_u32 *param = (npu_u32 *)(op + desc->num_slots), act = NPU_CONV_P_ACT, i, words;
	npu_u32 pad_h = l->kind == CONV ? (l->k - 1) / 2 : 0,
		pad_w = l->kind == CONV ? (l->kw - 1) / 2 : 0;
	npu_u32 oh = l->kind == DECONV ? l->h * l->stride_h :
					 (l->h + 2 * pad_h - l->k) / l->stride_h + 1;
	npu_u32 ow = l->kind == DECONV ? l->w * l->stride_w :
					 (l->w + 2 * pad_w - l->kw) / l->stride_w + 1;
	npu_u32 in[] = { 1, l->h, l->w, l->c }, out[] = { 1, oh, ow, l->o },
		wt[] = { l->o, l->k, l->kw, l->c / l->groups };
	npu_u32 a[] = { l->w, l->c }, b[] = { l->c, l->o }, c[] = { l->w, l->o };
	size_t bytes = npu_dtype_bits(data_type) / 8;
	bool codes = data_type == NPU_U8;
	unsigned int weights = codes ? NPU_I8 : data_type;

	memset(j, 0, sizeof(*j));
	if (l->kind == MATMUL) {
		operand(&op[0], 0, data_type, 2, c);
		operand(&op[1], 1, data_type, 2, a);
		operand(&op[2], 2, weights, 2, b);
		act = NPU_MATMUL_P_ACT;
	} else {
		operand(&op[0], 0, data_type, 4, out);
		operand(&op[1], 1, l->in_f32 && !codes ? NPU_F32 : data_type, 4, in);
		operand(&op[2], 2, weights, 4, wt);
		param[NPU_CONV_P_STRIDE_H] = l->stride_h;
		param[NPU_CONV_P_STRIDE_W] = l->stride_w;
		param[NPU_CONV_P_DIL_H] = param[NPU_CONV_P_DIL_W] = 1;
		param[NPU_CONV_P_PAD_TOP] = pad_h;
		param[NPU_CONV_P_PAD_LEFT] = pad_w;
		param[NPU_CONV_P_GROUPS] = l->groups;
	}
	if (l->in_f32) {
		npu_s64 one = codes ? 1 : 4, plane[] = { 0, l->w * one, one, one * l->w * l->h };

		memcpy(op[1].stride, plane, sizeof(plane));
	}
	if (l->groups == 1) {
		op[2].layout = codes ? NPU_LAYOUT_PANEL16K4 : NPU_LAYOUT_PANEL16;
		memset(op[2].stride, 0, sizeof(op[2].stride));
	} else {
		/* [KH][KW][O], as the compiler lays depthwise weights out */
		npu_s64 s[] = { (npu_s64)bytes, (npu_s64)bytes * l->o * l->kw,
				(npu_s64)bytes * l->o, 0 };

		memcpy(op[2].stride, s, sizeof(s));
	}
	operand(&op[3], 3, codes ? NPU_I32 : NPU_F32, 1, &l->o);
	if (codes) {
		operand(&op[4], 3, NPU_F32, 1, &l->o);
		op[0].scale = op[1].scale = op[2].scale = 1;
		op[0].zero_point = op[1].zero_point = 77;
	}
	param[act] = l->act;
	put_f32(&param[act + 1], 1.0f / 6);
	put_f32(&param[act + 2], 0.5f);
	put_f32(&param[act + 3], 1.0f);
	words = (npu_u32)((npu_u32 *)(param + desc->num_params) - (npu_u32 *)ih);
	words += words % 2;
	*ih = (struct npu_insn_header){ .opcode = (npu_u16)opcode, .words = (npu_u16)words,
					.num_operands = desc->num_slots,
					.num_params = desc->num_params };
	((struct npu_insn_header *)((npu_u32 *)ih + words))->words = 4;
	j->size = (npu_u32)sizeof(*h) + words * 4 + 16;
	*h = (struct npu_stream_header){ .magic = NPU_STREAM_MAGIC, .isa_major = 1, .size = j->size,
					 .num_insns = 2,
					 .num_regions = 4 };
	for (i = 0; i < 4; i++) {
		size_t size = i == 0 ? (size_t)out[1] * out[2] * l->o * bytes +
					       (size_t)l->w * l->o * bytes :
			      i == 1 ? (size_t)l->h * l->w * l->c * 4 :
			      i == 2 ? (size_t)((l->o + 15) / 16 * 16) * l->k * l->kw * (l->c + 3) *
					       bytes :
				       l->o * 4;

		j->region[i].base = (npu_u64)(uintptr_t)
			buffer(size, i == 3 || (i == 1 && l->in_f32) ? NPU_F32 : data_type);
		j->region[i].size = size;
		j->region[i].access = NPU_ACCESS_READ | NPU_ACCESS_WRITE;
	}
}

static void job_free(struct job *j)
{
	int i;

	for (i = 0; i < 4; i++)
		free((void *)(uintptr_t)j->region[i].base);
}

/* Best seconds of one run. */
static double job_time(struct npu_engine *engine, struct job *j)
{
	double best = 1e9, begin = now(), t;
	struct npu_engine_state state;

	do {
		memset(&state, 0, sizeof(state));
		state.stream = j->words;
		state.stream_size = j->size;
		state.num_regions = 4;
		state.regions = j->region;
		if (npu_engine_state_init(engine, &state)) {
			fprintf(stderr, "%s\n", state.fault_text);
			exit(1);
		}
		t = now();
		if (npu_engine_run(engine, &state, UINT64_MAX, NULL, NULL) != NPU_RUN_DONE) {
			fprintf(stderr, "%s\n", state.fault_text);
			exit(1);
		}
		t = now() - t;
		npu_engine_state_fini(&state);
		best = t < best ? t : best;
	} while (now() - begin < min_seconds);
	return best;
}

static struct npu_engine *engine_make(enum npu_simd simd, unsigned int threads)
{
	struct npu_engine_config config = { .threads = threads, .simd = simd };
	struct npu_engine *engine;
	int ret = npu_engine_create(&config, &engine);

	if (ret) {
		fprintf(stderr, "engine: %s\n", strerror(-ret));
		exit(1);
	}
	return engine;
}

static void layer_run(struct npu_engine **engine, unsigned int threads, const struct layer *l,
		      double top, double *sum)
{
	struct job j;
	double t[2] = { 0 }, macs;
	unsigned int i;

	macs = (double)l->h * l->w * l->c * l->o / l->groups * l->k * l->kw;
	if (l->kind == CONV)
		macs /= (double)l->stride_h * l->stride_w;
	job_make(&j, l);
	for (i = 0; i < threads; i++) {
		t[i] = job_time(engine[i], &j);
		sum[i] += t[i] * l->count;
	}
	job_free(&j);
	printf("%-6s%-26s%9.1f", l->net, l->name, macs * 1e-6);
	for (i = 0; i < threads; i++)
		printf("%10.3f%8.1f%6.0f%%", t[i] * 1e3, macs / t[i] * 1e-9,
		       top ? macs / t[i] * 1e-7 / top / (i + 1) : 0);
	printf("  x%u\n", l->count);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	enum npu_simd simd = NPU_SIMD_AUTO;
	struct npu_engine *engine[2];
	unsigned int threads = 2, i, n;
	double top, sum[2] = { 0 };
	const char *net = "";
	int opt;

	while ((opt = getopt(argc, argv, "s:t:m:d:c")) != -1) {
		if (opt == 's')
			for (i = 0; npu_simd_name(i); i++)
				simd = strcmp(npu_simd_name(i), optarg) ? simd : (enum npu_simd)i;
		else if (opt == 't')
			threads = atoi(optarg) == 1 ? 1 : 2;
		else if (opt == 'c')
			clock_id = CLOCK_PROCESS_CPUTIME_ID;
		else if (opt == 'm')
			min_seconds = atof(optarg);
		else if (opt == 'd')
			data_type = !strcmp(optarg, "f32") ? NPU_F32 :
				    !strcmp(optarg, "i8")  ? NPU_U8 :
							     NPU_F16;
		else
			return 2;
	}
	for (i = 0; i < threads; i++)
		engine[i] = engine_make(simd, i + 1);
	top = peak(npu_engine_simd_name(engine[0]));
	printf("%s, %s data, peak %.1f GMAC/s on one thread\n", npu_engine_simd_name(engine[0]),
	       npu_dtype_name(data_type), top);
	printf("%-32s%9s%10s%8s%7s%10s%8s%7s\n", "layer", "MMAC", "1 thr ms", "GMAC/s", "",
	       "2 thr ms", "GMAC/s", "");
	for (i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
		const struct layer *l = &layers[i];

		if (strcmp(net, l->net)) {
			if (*net && (sum[0] > 0))
				printf("%-6sall of the above, in the number they occur: %.3f / %.3f ms\n",
				       net, sum[0] * 1e3, sum[1] * 1e3);
			sum[0] = sum[1] = 0;
			net = l->net;
		}
		if (optind < argc && !strstr(l->name, argv[optind]) &&
		    !strstr(l->net, argv[optind]))
			continue;
		layer_run(engine, threads, l, top, sum);
	}
	for (n = 0; n < threads; n++)
		npu_engine_destroy(engine[n]);
	return 0;
}
