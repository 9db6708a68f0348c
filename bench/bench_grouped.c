// SPDX-License-Identifier: MIT
/*
 * Products with codes in groups: one row with weights that no cache holds, against what the memory
 * gives by itself, and many rows. Others may share the machine: each figure is that of the best
 * run, and with one thread in the time that this thread was on a processor.
 *
 * usage: bench_grouped [-s portable|avx2|avx512|avx-vnni|avx512-vnni] [-t threads]
 *		[-m seconds per point] [part of a type]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "llm/ggml_types.h"
#include "npu_engine.h"

#define COLD_BYTES	(192u << 20)	/* of weights in turn: more than a cache has */

static double min_seconds = 0.2;

static clockid_t clock_used = CLOCK_THREAD_CPUTIME_ID;

static double now(void)
{
	struct timespec ts;

	clock_gettime(clock_used, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* One product: its stream and memory. */
struct job {
	struct npu_stream_builder *b;
	const void *stream;
	size_t stream_size, copies;
	struct npu_weight_place p;
	char *weight, *a, *out;
	uint32_t m;
};

static void *memory(size_t bytes)
{
	void *p = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);

	if (!p)
		exit(1);
	return p;
}

/* Random codes; factors of a size that keeps results finite. */
static void weight_fill(const struct npu_weight_place *p, char *w)
{
	/* 1/64 and 1/256 in f16 */
	static const unsigned char scale[] = { 0x00, 0x24 }, super[] = { 0x00, 0x1c };
	size_t i;

	for (i = 0; i < p->size; i++)
		w[i] = (char)(rand() >> 7);
	for (i = p->scale; i < p->size; i += 2)
		if (p->format.scale != NPU_U8 && p->format.scale != NPU_I8)
			memcpy(w + i, scale, sizeof(scale));
	for (i = p->super_scale; p->format.super && i < p->size; i += 2)
		memcpy(w + i, super, sizeof(super));
	if (p->format.book)
		memcpy(w + p->book, p->format.book, 16);
}

static int job_make(struct job *j, const struct npu_weight_format *f, uint32_t m, uint32_t k,
		    uint32_t n)
{
	uint32_t dim_a[2] = { m, k }, dim_out[2] = { m, n },
		 a_group = f->group < 32 ? 32 : f->group;
	uint32_t dim_s[2] = { m, (k + a_group - 1) / a_group };
	struct npu_tensor a, out, scale;
	struct npu_matmul_args mm = { .out = &out, .a = &a, .a_scale = &scale, .a_group = a_group };
	size_t a_bytes = ((size_t)m * k + 63) & ~(size_t)63, s_bytes = (size_t)m * dim_s[1] * 4, i;
	struct npu_weight_tensors t;
	float one = 0.01f;

	memset(j, 0, sizeof(*j));
	j->m = m;
	if (npu_weight_place(f, n, k, &j->p) || npu_weight_tensors(&j->p, false, 1, 0, &t) ||
	    npu_stream_create(3, &j->b))
		return -1;
	j->copies = m < 16 ? COLD_BYTES / j->p.size + 1 : 1;
	j->weight = memory(j->p.size * j->copies);
	for (i = 0; i < j->copies; i++) {
		if (!i)
			weight_fill(&j->p, j->weight);
		else
			memcpy(j->weight + i * j->p.size, j->weight, j->p.size);
	}
	j->a = memory(a_bytes + s_bytes);
	for (i = 0; i < a_bytes; i++)
		j->a[i] = (char)(rand() >> 7);
	for (i = 0; i < s_bytes; i += 4)
		memcpy(j->a + a_bytes + i, &one, 4);
	j->out = memory((size_t)m * n * 4);
	npu_tensor_fixed(&a, 2, 0, NPU_I8, 2, dim_a);
	npu_tensor_fixed(&scale, 2, a_bytes, NPU_F32, 2, dim_s);
	npu_tensor_fixed(&out, 0, 0, NPU_F32, 2, dim_out);
	npu_weight_matmul(&j->p, &t, &mm);
	if (npu_emit_matmul(j->b, &mm) || npu_stream_finish(j->b, &j->stream, &j->stream_size)) {
		fprintf(stderr, "%s\n", npu_stream_error(j->b));
		return -1;
	}
	return 0;
}

static void job_free(struct job *j)
{
	npu_stream_destroy(j->b);
	free(j->weight);
	free(j->a);
	free(j->out);
}

static void job_run(struct npu_engine *e, const struct job *j, size_t copy)
{
	struct npu_region region[3] = {
		{ (uintptr_t)j->out, 1ull << 32, NPU_ACCESS_WRITE, 0 },
		{ (uintptr_t)(j->weight + copy * j->p.size), j->p.size, NPU_ACCESS_READ, 0 },
		{ (uintptr_t)j->a, 1ull << 32, NPU_ACCESS_READ, 0 },
	};
	struct npu_engine_state state = {
		.stream = j->stream, .stream_size = (npu_u32)j->stream_size, .num_regions = 3,
		.regions = region,
	};

	/* regions tell of no bound that matters here, but may not lie on each other */
	region[0].size = (npu_u64)j->m * j->p.rows * 4;
	region[2].size = (((npu_u64)j->m * j->p.cols + 63) & ~63ull) +
			 (npu_u64)j->m * ((j->p.cols + 31) / 32) * 4;
	if (npu_engine_state_init(e, &state) ||
	    npu_engine_run(e, &state, UINT64_MAX, NULL, NULL) != NPU_RUN_DONE) {
		fprintf(stderr, "%s\n", state.fault_text);
		exit(1);
	}
	npu_engine_state_fini(&state);
}

static double job_time(struct npu_engine *e, const struct job *j)
{
	double begin = now(), best = 1e9, t;
	unsigned int n;

	job_run(e, j, 0);
	for (n = 0; n < 3 || now() - begin < min_seconds; n++) {
		t = now();
		job_run(e, j, n % j->copies);
		t = now() - t;
		best = t < best ? t : best;
	}
	return best;
}

/* Bytes per second that one thread reads, by sums of 64-bit words. */
static double memory_speed(void)
{
	size_t words = COLD_BYTES / 8, i;
	uint64_t *p = memory(COLD_BYTES), sum[8] = { 0 };
	double best = 1e9, t;
	unsigned int r, k;

	memset(p, 1, COLD_BYTES);
	for (r = 0; r < 9; r++) {
		t = now();
		for (i = 0; i < words; i += 8)
			for (k = 0; k < 8; k++)
				sum[k] += p[i + k];
		t = now() - t;
		best = t < best ? t : best;
	}
	for (k = 1; k < 8; k++)
		sum[0] += sum[k];
	if (sum[0] == 1)
		printf(" ");
	free(p);
	return COLD_BYTES / best;
}

/* The formats of files, then the project's own. */
static const char *format_of(unsigned int i, struct npu_weight_format *f)
{
	static const uint32_t types[] = {
#define X(name, number, block, bytes) number,
		NPU_GGML_TYPES(X)
#undef X
	};
	unsigned int num = sizeof(types) / sizeof(types[0]);
	struct npu_weight_place p;

	if (i < num) {
		*f = npu_ggml_traits(types[i])->format;
		return f->group ? npu_ggml_traits(types[i])->name : "";
	}
	if (npu_weight_quant_place(i - num, 16, 4096, &p))
		return NULL;
	*f = p.format;
	return npu_weight_quant_name(i - num);
}

static const struct {
	uint32_t m, k, n;
} shapes[] = { { 1, 4096, 4096 }, { 1, 768, 2048 },    { 4, 4096, 4096 },
	       { 8, 4096, 4096 }, { 512, 4096, 1024 }, { 512, 768, 2048 } };
#define NUM_SHAPES	(sizeof(shapes) / sizeof(shapes[0]))

static void row_print(struct npu_engine *e, const char *name, const struct npu_weight_format *f,
		      double limit)
{
	struct job j;
	unsigned int s;
	double t;

	printf("%-8s", name);
	for (s = 0; s < NUM_SHAPES; s++) {
		if (job_make(&j, f, shapes[s].m, shapes[s].k, shapes[s].n))
			exit(1);
		t = job_time(e, &j);
		printf(" %7.1f", 2e-9 * shapes[s].m * shapes[s].k * shapes[s].n / t);
		if (shapes[s].m == 1)
			printf(" %5.1f %3.0f%%", (double)j.p.size / t * 1e-9,
			       100 * (double)j.p.size / t / limit);
		fflush(stdout);
		job_free(&j);
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	struct npu_engine_config config = { .threads = 1, .simd = NPU_SIMD_AUTO };
	struct npu_weight_format f;
	struct npu_engine *engine;
	double limit;
	const char *name;
	unsigned int i;
	int opt;

	while ((opt = getopt(argc, argv, "s:t:m:")) != -1) {
		for (i = 0; opt == 's' && npu_simd_name(i); i++)
			if (!strcmp(optarg, npu_simd_name(i)))
				config.simd = (enum npu_simd)i;
		if (opt == 't')
			config.threads = (unsigned int)atoi(optarg);
		else if (opt == 'm')
			min_seconds = atof(optarg);
		else if (opt != 's')
			return 2;
	}
	if (npu_engine_create(&config, &engine))
		return 1;
	limit = memory_speed();
	if (config.threads != 1)
		clock_used = CLOCK_MONOTONIC;
	printf("%s, %u thread(s), GOP/s; of one row also GB/s of weights and their share of %.1f\n%-8s",
	       npu_engine_simd_name(engine), config.threads, limit * 1e-9, "");
	for (i = 0; i < NUM_SHAPES; i++)
		printf(" %ux%ux%u%s", shapes[i].m, shapes[i].k, shapes[i].n,
		       shapes[i].m == 1 ? "    " : "");
	printf("\n");
	for (i = 0; (name = format_of(i, &f)); i++)
		if (*name && (optind >= argc || strstr(name, argv[optind])))
			row_print(engine, name, &f, limit);
	npu_engine_destroy(engine);
	return 0;
}
