// SPDX-License-Identifier: MIT
/*
 * ggml's blocks: values worked out from the published formats, element by element in double
 * (reference_tensor.c), against npu_ggml_dequantize() and against what GATHER and MATMUL make of
 * the packed weight. And the project's own quantizers: their error, their bounds and what they
 * refuse.
 *
 * For test_llama_ggml.sh: --scramble FILE NEW writes a copy whose quantized blocks are random,
 * --same QUANTIZED FLOATS compares the values of one file's tensors with the floats of the other's.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "llm/ggml_types.h"
#include "llm/gguf.h"
#include "npu_engine.h"
#include "npu_half.h"
#include "reference_tensor.h"
#include "shared.h"
#include "tap.h"

static uint64_t rng_state = 0x853c49e6748fea9bull;

static uint32_t rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return (uint32_t)(rng_state >> 16);
}

/* ---- the formats ----------------------------------------------------------------------------- */

/* Where blocks have numbers of 16 bits, which may be any but infinite and NaN. */
static void tame(const struct npu_ggml_traits *t, uint8_t *s)
{
	unsigned int at = t->type == NPU_GGML_Q6_K ? 208 : 0, i;

	for (i = 0; i < 2; i++)
		if ((s[at + 2 * i + 1] & 0x7c) == 0x7c)
			s[at + 2 * i + 1] ^= 0x40;
}

static uint8_t *blocks_make(const struct npu_ggml_traits *t, uint32_t rows, uint32_t cols,
			    size_t *size)
{
	size_t blocks = (size_t)rows * cols / t->block, i, j;
	uint8_t *data;

	*size = blocks * t->bytes;
	data = malloc(*size + 2);
	for (i = 0; i < blocks; i++) {
		uint8_t *s = data + i * t->bytes;

		for (j = 0; j < t->bytes; j++)
			s[j] = i % 7 == 3 ? 0xff : i % 7 == 5 ? 0 : (uint8_t)rng();
		if (t->type == NPU_GGML_F32)
			s[3] = 0x3c + (s[3] & 0x83);
		else if (t->type == NPU_GGML_BF16)
			s[1] = 0x3c + (s[1] & 0x83);
		else
			tame(t, s);
	}
	return data;
}

/* ---- through the instructions ---------------------------------------------------------------- */

static struct npu_engine *engine;

/* Run what was emitted; regions 0 and 1 are out and the weight, 2 the rest. */
static bool stream_run(struct npu_stream_builder *b, void *out, size_t out_size, void *weight,
		       size_t weight_size, void *in, size_t in_size)
{
	struct npu_region region[3] = {
		{ (uintptr_t)out, out_size, NPU_ACCESS_WRITE, 0 },
		{ (uintptr_t)weight, weight_size, NPU_ACCESS_READ, 0 },
		{ (uintptr_t)in, in_size, NPU_ACCESS_READ, 0 },
	};
	struct npu_engine_state state = { .num_regions = 3, .regions = region };
	enum npu_run_result r = NPU_RUN_FAULT;
	const void *data;
	size_t size;

	if (npu_stream_finish(b, &data, &size))
		return false;
	state.stream = data;
	state.stream_size = (npu_u32)size;
	if (!npu_engine_state_init(engine, &state))
		r = npu_engine_run(engine, &state, UINT64_MAX, NULL, NULL);
	if (r != NPU_RUN_DONE)
		tap_diag("%s", state.fault_text);
	npu_engine_state_fini(&state);
	return r == NPU_RUN_DONE;
}

/* Rows of the weight by GATHER, in another order. */
static bool gather_rows(const struct npu_weight_place *p, void *weight, float *out)
{
	const uint32_t dim[3] = { 1, p->rows, p->cols };
	struct npu_tensor to, index;
	struct npu_gather_args a = { .out = &to, .index = &index };
	struct npu_weight_tensors t;
	struct npu_stream_builder *b;
	int32_t *list = malloc(p->rows * sizeof(*list));
	uint32_t i;
	bool ok;

	for (i = 0; i < p->rows; i++)
		list[i] = (int32_t)(p->rows - 1 - i);
	npu_tensor_fixed(&to, 0, 0, NPU_F32, 3, dim);
	npu_tensor_fixed(&index, 2, 0, NPU_I32, 1, &p->rows);
	if (npu_stream_create(3, &b))
		exit(2);
	ok = !npu_weight_tensors(p, true, 1, 0, &t);
	npu_weight_gather(p, &t, &a);
	if (npu_emit_gather(b, &a)) {
		tap_diag("%s", npu_stream_error(b));
		ok = false;
	}
	ok = ok && stream_run(b, out, (size_t)p->rows * p->cols * 4, weight, p->size, list,
			      p->rows * sizeof(*list));
	npu_stream_destroy(b);
	free(list);
	return ok;
}

/* The product with the unit matrix: [cols][rows]. */
static bool unit_product(const struct npu_weight_place *p, void *weight, float *out)
{
	const uint32_t da[2] = { p->cols, p->cols }, dout[2] = { p->cols, p->rows };
	float *unit = calloc((size_t)p->cols * p->cols, sizeof(*unit));
	struct npu_tensor to, a;
	struct npu_matmul_args mm = { .out = &to, .a = &a };
	struct npu_weight_tensors t;
	struct npu_stream_builder *b;
	uint32_t i;
	bool ok;

	for (i = 0; i < p->cols; i++)
		unit[(size_t)i * p->cols + i] = 1;
	npu_tensor_fixed(&to, 0, 0, NPU_F32, 2, dout);
	npu_tensor_fixed(&a, 2, 0, NPU_F32, 2, da);
	if (npu_stream_create(3, &b))
		exit(2);
	ok = !npu_weight_tensors(p, false, 1, 0, &t);
	npu_weight_matmul(p, &t, &mm);
	if (npu_emit_matmul(b, &mm)) {
		tap_diag("%s", npu_stream_error(b));
		ok = false;
	}
	ok = ok && stream_run(b, out, (size_t)p->cols * p->rows * 4, weight, p->size, unit,
			      (size_t)p->cols * p->cols * 4);
	npu_stream_destroy(b);
	free(unit);
	return ok;
}

static void *pack(uint32_t type, const struct npu_weight_place *p, const void *src, size_t size)
{
	void *dst = aligned_alloc(64, (p->size + 63) & ~(size_t)63);

	memset(dst, 0x5a, p->size);
	if (npu_ggml_pack(type, p, src, size, dst, p->size)) {
		free(dst);
		return NULL;
	}
	return dst;
}

static size_t different(const float *got, const float *want, uint32_t rows, uint32_t cols,
			int mirrored, int turned)
{
	size_t wrong = 0;
	uint32_t r, c;

	for (r = 0; r < rows; r++)
		for (c = 0; c < cols; c++)
			wrong += got[turned ? (size_t)c * rows + r
					    : (size_t)(mirrored ? rows - 1 - r : r) * cols + c] !=
				 want[(size_t)r * cols + c];
	return wrong;
}

static void test_type(const struct npu_ggml_traits *t, uint32_t rows, uint32_t cols)
{
	size_t count = (size_t)rows * cols, size, i, wrong = 0;
	float *got = malloc(count * 4), *want = malloc(count * 4);
	uint8_t *blocks = blocks_make(t, rows, cols, &size);
	const struct npu_gguf_tensor tensor = { .type = t->type, .data = blocks };
	struct npu_weight_place p;
	void *weight;

	for (i = 0; i < count; i++)
		want[i] = (float)reference_element(&tensor, i);
	tap_ok(!npu_ggml_dequantize(t->type, blocks, size, got, count), "%s: dequantized", t->name);
	for (i = 0; i < count; i++)
		wrong += !(got[i] == want[i]);
	tap_ok(!wrong, "%s: %zu of %zu values differ from the format's", t->name, wrong, count);
	if (!tap_ok(!npu_ggml_place(t->type, rows, cols, &p), "%s: a place for %ux%u", t->name,
		    rows, cols))
		goto err_free;
	weight = pack(t->type, &p, blocks, size);
	if (!tap_ok(weight != NULL, "%s: packed, %zu bytes of blocks in %zu", t->name, size,
		    p.size))
		goto err_free;
	if (t->format.group)
		tap_ok(gather_rows(&p, weight, got) && !different(got, want, rows, cols, 1, 0),
		       "%s: rows by gather", t->name);
	tap_ok(unit_product(&p, weight, got) && !different(got, want, rows, cols, 0, 1),
	       "%s: a product with the unit matrix", t->name);
	tap_ok(npu_ggml_pack(t->type, &p, blocks, size - 1, weight, p.size) == -22 &&
		       npu_ggml_pack(t->type, &p, blocks, size, weight, p.size - 1) == -22 &&
		       npu_ggml_dequantize(t->type, blocks, size - 1, got, count) == -22,
	       "%s: sizes that do not fit", t->name);
	if (t->block > 1)
		tap_ok(npu_ggml_place(t->type, rows, cols + t->block / 2, &p) == -22 &&
			       npu_ggml_dequantize(t->type, blocks, size, got, count - 1) == -22,
		       "%s: half a block", t->name);
	free(weight);
err_free:
	free(blocks);
	free(got);
	free(want);
}

/* ---- quantizers ------------------------------------------------------------------------------ */

static float normal(void)
{
	float sum = 0;
	unsigned int i;

	for (i = 0; i < 12; i++)
		sum += (float)(rng() % 65536) / 65536;
	return sum - 6;
}

/* Root of the mean squared error over that of the values. */
static double relative_error(const float *x, const float *y, size_t n)
{
	double e = 0, s = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		e += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
		s += (double)x[i] * x[i];
	}
	return sqrt(e / s);
}

/* What ggml's Q4_0 makes of a block of 32: the value farthest from 0 becomes -8. */
static void q4_0_plain(float *y, const float *x)
{
	float far = 0, d, c;
	unsigned int i;

	for (i = 0; i < 32; i++)
		far = fabsf(x[i]) > fabsf(far) ? x[i] : far;
	d = far / -8;
	for (i = 0; i < 32; i++) {
		c = d != 0 ? floorf(x[i] / d + 8.5f) : 8;
		y[i] = (fminf(fmaxf(c, 0), 15) - 8) * npu_half_widen(npu_half_narrow(d));
	}
}

/* @bound: the largest relative error that is in order for normally distributed weights. */
static void test_quant(enum npu_weight_quant quant, uint32_t rows, uint32_t cols, double bound,
		       double *error)
{
	size_t count = (size_t)rows * cols, i;
	float *x = malloc(count * 4), *got = malloc(count * 4);
	const char *name = npu_weight_quant_name(quant);
	struct npu_weight_place p;
	void *weight, *parts;

	for (i = 0; i < count; i++)
		x[i] = 0.02f * normal();
	tap_ok(!npu_weight_quant_place(quant, rows, cols, &p), "%s: a place for %ux%u", name, rows,
	       cols);
	weight = aligned_alloc(64, p.size);
	parts = aligned_alloc(64, p.size);
	memset(weight, 0, p.size);
	memset(parts, 0, p.size);
	tap_ok(!npu_weight_quantize_rows(&p, 0, rows, x, weight, p.size) &&
		       gather_rows(&p, weight, got),
	       "%s: quantized and read back", name);
	for (i = 0; i < rows / 2; i++) {
		memcpy(parts, got + i * cols, cols * 4);
		memcpy(got + i * cols, got + (rows - 1 - i) * cols, cols * 4);
		memcpy(got + (rows - 1 - i) * cols, parts, cols * 4);
	}
	*error = relative_error(x, got, count);
	tap_ok(*error < bound, "%s: relative error %.5f, expected below %.5f", name, *error, bound);
	memset(parts, 0, p.size);
	tap_ok(!npu_weight_quantize_rows(&p, 16, rows - 16, x + 16 * cols, parts, p.size) &&
		       !npu_weight_quantize_rows(&p, 0, 16, x, parts, p.size) &&
		       !memcmp(parts, weight, p.size),
	       "%s: the same in parts", name);
	x[3] = INFINITY;
	tap_ok(npu_weight_quantize_rows(&p, 0, rows, x, weight, p.size) == -34,
	       "%s: an infinite weight", name);
	x[3] = 3e38f;
	tap_ok(npu_weight_quantize_rows(&p, 0, rows, x, weight, p.size) == -34,
	       "%s: one that is too large", name);
	tap_ok(npu_weight_quantize_rows(&p, 8, 16, x, weight, p.size) == -22 &&
		       npu_weight_quantize_rows(&p, 0, rows + 1, x, weight, p.size) == -22 &&
		       npu_weight_quantize_rows(&p, 16, rows, x, weight, p.size) == -22 &&
		       npu_weight_quantize_rows(&p, 0, rows, x, weight, p.size + 1) == -22,
	       "%s: rows that are not there", name);
	free(weight);
	free(parts);
	free(x);
	free(got);
}

static void test_quants(void)
{
	double error[NPU_NUM_WEIGHT_QUANTS], plain;
	float x[32 * 512], y[32 * 512];
	unsigned int i;

	test_quant(NPU_WEIGHT_W4G32, 40, 256, 0.087, &error[NPU_WEIGHT_W4G32]);
	test_quant(NPU_WEIGHT_W4G64, 40, 256, 0.095, &error[NPU_WEIGHT_W4G64]);
	test_quant(NPU_WEIGHT_W4G128, 33, 260, 0.105, &error[NPU_WEIGHT_W4G128]);
	test_quant(NPU_WEIGHT_W8G32, 40, 70, 0.0065, &error[NPU_WEIGHT_W8G32]);
	test_quant(NPU_WEIGHT_W8, 40, 301, 0.01, &error[NPU_WEIGHT_W8]);
	for (i = 0; i < 32 * 512; i++)
		x[i] = 0.02f * normal();
	for (i = 0; i < 32 * 512; i += 32)
		q4_0_plain(y + i, x + i);
	plain = relative_error(x, y, 32 * 512);
	tap_ok(error[NPU_WEIGHT_W4G32] < 0.97 * plain, "w4g32 has %.2f of the error of Q4_0",
	       error[NPU_WEIGHT_W4G32] / plain);
}

/* ---- files ----------------------------------------------------------------------------------- */

static struct npu_gguf *file_open(const char *path)
{
	struct npu_gguf *g;
	struct npu_error err;

	if (!npu_gguf_open(path, &g, &err))
		return g;
	tap_diag("%s", err.text);
	return NULL;
}

static float *tensor_values(const struct npu_gguf_tensor *t, size_t *count)
{
	float *v;

	*count = t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3];
	v = malloc(*count * sizeof(*v));
	if (!npu_ggml_dequantize(t->type, t->data, t->size, v, *count))
		return v;
	free(v);
	return NULL;
}

/* The matrices of @path are those of @floats, @bound apart. */
static void test_file(const char *path, const char *floats, double bound)
{
	struct npu_gguf *q = file_open(path), *f = file_open(floats);
	double worst = 0, error;
	uint32_t i, matrices = 0;
	size_t count, n;

	for (i = 0; q && f && i < npu_gguf_num_tensors(q); i++) {
		const struct npu_gguf_tensor *t = npu_gguf_tensor(q, i),
					     *o = npu_gguf_find_tensor(f, t->name);
		float *a = tensor_values(t, &count), *b = o ? tensor_values(o, &n) : NULL;

		if (a && b && n == count && t->rank > 1) {
			error = relative_error(b, a, n);
			worst = error > worst ? error : worst;
			matrices++;
		}
		free(a);
		free(b);
	}
	tap_ok(matrices > 10 && worst < bound && worst > 0,
	       "%s: %u matrices, the worst %.4f from %s, expected below %.4f", path, matrices,
	       worst, floats, bound);
	npu_gguf_close(q);
	npu_gguf_close(f);
}

static void test_files(void)
{
	static const struct {
		const char *quantized, *floats;
		double bound;
	} files[] = {
		{ "stories260K-Q8_0.gguf", "stories260K-f32.gguf", 0.009 },
		{ "stories260K-Q4_0.gguf", "stories260K-f32.gguf", 0.13 },
		{ "stories260K-Q4_1.gguf", "stories260K-f32.gguf", 0.13 },
		{ "stories260K-Q4_K_M.gguf", "stories260K-f32.gguf", 0.13 },
		{ "kjv/kjv-Q8_0.gguf", "kjv/kjv-f16.gguf", 0.009 },
		{ "kjv/kjv-Q4_0.gguf", "kjv/kjv-f16.gguf", 0.13 },
		{ "kjv/kjv-Q4_K_M.gguf", "kjv/kjv-f16.gguf", 0.1 },
	};
	unsigned int i;
	char *floats;
	FILE *f;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		floats = strdup(shared_path(files[i].floats));
		f = fopen(floats, "rb");
		if (f) {
			fclose(f);
			test_file(shared_path(files[i].quantized), floats, files[i].bound);
		} else {
			tap_skip(files[i].quantized, "the file is not there");
		}
		free(floats);
	}
}

static int scramble(const char *from, const char *to)
{
	struct npu_gguf *g = file_open(from);
	const struct npu_ggml_traits *t;
	uint8_t *data, *blocks;
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
	uint32_t i;
	size_t size = g ? npu_gguf_size(g) : 0, n;
	int ret;

	if (!g || !in || !out)
		return 1;
	data = malloc(size);
	if (!data || fread(data, 1, size, in) != size) {
		free(data);
		return 1;
	}
	for (i = 0; i < npu_gguf_num_tensors(g); i++) {
		const struct npu_gguf_tensor *tensor = npu_gguf_tensor(g, i);

		t = npu_ggml_traits(tensor->type);
		if (!t || tensor->type == NPU_GGML_F32)
			continue;
		blocks = blocks_make(t, (uint32_t)(tensor->size / t->bytes), t->block, &n);
		memcpy(data + tensor->offset, blocks, n);
		free(blocks);
	}
	ret = fwrite(data, 1, size, out) != size;
	free(data);
	return fclose(out) || ret;
}

static int same_values(const char *quantized, const char *floats)
{
	struct npu_gguf *q = file_open(quantized), *f = file_open(floats);
	size_t count, n, k, wrong = 0, all = 0;
	uint32_t i;

	for (i = 0; q && f && i < npu_gguf_num_tensors(q); i++) {
		const struct npu_gguf_tensor *t = npu_gguf_tensor(q, i),
					     *o = npu_gguf_find_tensor(f, t->name);
		float *a = tensor_values(t, &count), *b = o ? tensor_values(o, &n) : NULL;

		if (!a || !b || n != count) {
			printf("%s has no counterpart\n", t->name);
			return 1;
		}
		for (k = 0; t->type != NPU_GGML_F32 && k < n; k++, all++)
			wrong += a[k] != b[k];
	}
	printf("%zu of %zu values differ\n", wrong, all);
	return wrong || all < 1000000;
}

static void test_refusals(void)
{
	struct npu_weight_format f = { .dtype = NPU_U4, .group = 32, .scale = NPU_F16 };
	struct npu_weight_place p;

	tap_ok(!npu_ggml_traits(4) && !npu_ggml_traits(10) &&
		       npu_ggml_place(10, 4, 256, &p) == -95 &&
		       npu_ggml_dequantize(10, "", 0, NULL, 0) == -95,
	       "types that are not read here");
	tap_ok(npu_weight_place(&f, 0, 32, &p) == -22 && npu_weight_place(&f, 4, 0, &p) == -22,
	       "no rows, no cols");
	tap_ok(npu_weight_place(&f, 0xffffffff, 0xffffffe0, &p) == -75 || sizeof(size_t) > 8 ||
		       p.size > 1ull << 60,
	       "more than there is memory");
	f.super = 100;
	f.super_scale = NPU_F16;
	tap_ok(npu_weight_place(&f, 4, 32, &p) == -22, "a second level of no whole groups");
	tap_ok(!npu_weight_quant_name(NPU_NUM_WEIGHT_QUANTS) &&
		       npu_weight_quant_place(NPU_NUM_WEIGHT_QUANTS, 4, 4, &p) == -22,
	       "no such quantizer");
}

int main(int argc, char **argv)
{
	static const uint32_t types[] = {
#define X(name, number, block, bytes) number,
		NPU_GGML_TYPES(X)
#undef X
	};
	struct npu_engine_config config = { .threads = 2 };
	unsigned int i;

	if (argc == 4)
		return !strcmp(argv[1], "--scramble") ? scramble(argv[2], argv[3]) :
							same_values(argv[2], argv[3]);
	if (npu_engine_create(&config, &engine))
		return 2;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		test_type(npu_ggml_traits(types[i]), 37, 512);
		test_type(npu_ggml_traits(types[i]), 16, 256);
	}
	test_quants();
	test_refusals();
	test_files();
	npu_engine_destroy(engine);
	return tap_done();
}
