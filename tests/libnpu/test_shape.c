// SPDX-License-Identifier: MIT
/*
 * Lengths in two dims and their product, several programs in one job, strided tensors, state
 * between submits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/run.h"
#include "fixture.h"
#include "tap.h"

static struct npu_error err;

static struct npu_jobfile_expr lin(npu_s64 base, npu_s64 factor, unsigned int sym)
{
	return (struct npu_jobfile_expr){ .base = base, .factor = { factor }, .sym = { sym } };
}

#define C(v)	NPU_JOBFILE_CONST(v)

static unsigned int op_word(unsigned int slot, size_t field)
{
	return (sizeof(struct npu_insn_header) + slot * sizeof(struct npu_operand) + field) / 4;
}

/*
 * Program 0: x [1, 2, H, W] to y [1, H, W, 2], H = 4 s0 in 8 .. 32, W = 2 s1 in 2 .. 64, s2 = s0
 * s1. The plane's stride, 4 H W bytes, is 32 s2.
 */
static void transpose_make(struct fixture *f)
{
	struct npu_operand ops[NPU_COPY_NUM_SLOTS] = {
		[NPU_COPY_OUT] = { .region = 2,
				   .dtype = NPU_F32,
				   .rank = 3,
				   .dim = { 0, 0, 2 },
				   .stride = { 0, 8, 4 } },
		[NPU_COPY_IN] = { .region = 1,
				  .dtype = NPU_F32,
				  .rank = 3,
				  .dim = { 0, 0, 2 },
				  .stride = { 0, 4, 0 } },
	};
	const size_t dim = offsetof(struct npu_operand, dim),
		     stride = offsetof(struct npu_operand, stride);
	struct npu_term terms[] = {
		{ op_word(NPU_COPY_OUT, dim), 0, 0, 4 },
		{ op_word(NPU_COPY_OUT, dim + 4), 1, 0, 2 },
		{ op_word(NPU_COPY_OUT, stride), 1, 1, 16 },
		{ op_word(NPU_COPY_IN, dim), 0, 0, 4 },
		{ op_word(NPU_COPY_IN, dim + 4), 1, 0, 2 },
		{ op_word(NPU_COPY_IN, stride), 1, 1, 8 },
		{ op_word(NPU_COPY_IN, stride + 16), 2, 1, 32 },
	};
	static const npu_u32 bounds[3][2] = { { 2, 8 }, { 1, 32 }, { 2, 256 } };

	memset(f, 0, sizeof(*f));
	asm_begin(&f->stream);
	asm_insn(&f->stream, NPU_OP_COPY, ops, NULL, terms, 7, 1);
	asm_end(&f->stream, 3, 3, bounds);
}

/* Program 1: x [1, 3, 5, 5] copied to y [1, 3, 5, 5], which lies with a gap after each row. */
static void fixed_make(struct asm_stream *s)
{
	struct npu_operand ops[NPU_COPY_NUM_SLOTS] = {
		[NPU_COPY_OUT] = { .region = 2,
				   .dtype = NPU_F32,
				   .rank = 2,
				   .dim = { 15, 5 },
				   .stride = { 32, 4 } },
		[NPU_COPY_IN] = { .region = 1,
				  .dtype = NPU_F32,
				  .rank = 2,
				  .dim = { 15, 5 },
				  .stride = { 20, 4 } },
	};

	asm_begin(s);
	asm_insn(s, NPU_OP_COPY, ops, NULL, NULL, 0, 1);
	asm_end(s, 3, 0, NULL);
}

static struct npu_job *two_programs(struct npu_device *dev)
{
	static const struct npu_jobfile_symbol symbols[3] = {
		{ .name = "height", .min = 8, .max = 32, .step = 4 },
		{ .name = "width", .min = 2, .max = 64, .step = 2 },
		{ .name = "plane", .kind = NPU_SYMBOL_PRODUCT, .a = 0, .b = 1 },
	};
	struct npu_jobfile_region r0[3] = {
		{ .role = NPU_REGION_SCRATCH, .access = 3, .size = C(0), .align = 1 },
		{ .role = NPU_REGION_INPUT, .access = 1, .size = lin(0, 64, 2), .align = 4 },
		{ .role = NPU_REGION_OUTPUT, .access = 2, .size = lin(0, 64, 2), .align = 4 },
	};
	struct npu_jobfile_region r1[3] = { r0[0], r0[1], r0[2] };
	struct npu_jobfile_tensor t0[2] = {
		{ .name = "x",
		  .role = NPU_TENSOR_INPUT,
		  .dtype = NPU_F32,
		  .rank = 4,
		  .region = 1,
		  .flags = NPU_JOBFILE_DENSE,
		  .dim = { C(1), C(2), lin(0, 4, 0), lin(0, 2, 1) } },
		{ .name = "y",
		  .role = NPU_TENSOR_OUTPUT,
		  .dtype = NPU_F32,
		  .rank = 4,
		  .region = 2,
		  .flags = NPU_JOBFILE_DENSE,
		  .dim = { C(1), lin(0, 4, 0), lin(0, 2, 1), C(2) } },
	};
	struct npu_jobfile_tensor t1[2] = {
		{ .name = "x",
		  .role = NPU_TENSOR_INPUT,
		  .dtype = NPU_F32,
		  .rank = 4,
		  .region = 1,
		  .flags = NPU_JOBFILE_DENSE,
		  .dim = { C(1), C(3), C(5), C(5) } },
		{ .name = "y",
		  .role = NPU_TENSOR_OUTPUT,
		  .dtype = NPU_F32,
		  .rank = 4,
		  .region = 2,
		  .dim = { C(1), C(3), C(5), C(5) },
		  .stride = { C(480), C(160), C(32), C(4) } },
	};
	struct npu_jobfile_program programs[2];
	struct asm_stream fixed;
	struct npu_job *job;
	struct fixture f;

	transpose_make(&f);
	fixed_make(&fixed);
	r1[1].size = C(300);
	r1[2].size = C(480);
	programs[0] = (struct npu_jobfile_program){
		.name = "planes", .symbols = symbols, .regions = r0, .tensors = t0,
		.num_symbols = 3, .num_regions = 3, .num_tensors = 2, .stream = f.stream.words,
		.stream_size = asm_size(&f.stream)
	};
	programs[1] = (struct npu_jobfile_program){
		.name = "fixed", .regions = r1, .tensors = t1, .num_regions = 3, .num_tensors = 2,
		.stream = fixed.words, .stream_size = asm_size(&fixed)
	};
	f.job = (struct npu_jobfile){ .compiler = "test", .programs = programs, .num_programs = 2 };
	job = fixture_load(dev, &f, "two.npu");
	asm_free(&fixed);
	fixture_free(&f);
	return job;
}

static int run_planes(struct npu_queue *queue, struct npu_run *run, unsigned int h, unsigned int w)
{
	size_t n = (size_t)2 * h * w, i, bad = 0;
	float *x = malloc(n * 4), *y = malloc(n * 4);
	int64_t dims[8] = { 1, 2, h, w };
	unsigned int rank, c, p;
	int ret;

	for (i = 0; i < n; i++)
		x[i] = i;
	ret = npu_run_set_shape(run, "x", 4, dims, &err) || npu_run_program(run, &p, NULL, &err) ||
	      p || npu_run_write(run, "x", x, n * 4, &err) ||
	      run_and_wait(queue, run, &err) ||
	      npu_run_get_shape(run, "y", &rank, dims, &err) || rank != 4 || dims[1] != h ||
	      dims[2] != w || dims[3] != 2 || npu_run_read(run, "y", y, n * 4, &err);
	for (c = 0; c < 2 && !ret; c++)
		for (i = 0; i < (size_t)h * w; i++)
			bad += y[2 * i + c] != (float)(c * h * w + i);
	free(x);
	free(y);
	return !ret && !bad;
}

static void test_programs(struct npu_device *dev, struct npu_queue *queue)
{
	struct npu_job *job = two_programs(dev);
	struct npu_symbol_info sym = NPU_INIT(sym);
	unsigned int h, w, good = 0, all = 0, p = 9;
	float x[75], y[75];
	struct npu_run *run;
	uint32_t scalar[16];
	uint64_t bytes = 0;
	int i, ret;

	tap_ok(!npu_job_symbol(job, 0, 2, &sym) && sym.derived && sym.min == 2 && sym.max == 256,
	       "bounds of the product: %u..%u", sym.min, sym.max);
	npu_run_create(job, &run, &err);
	for (h = 8; h <= 32; h += 4)
		for (w = 2; w <= 64; w += 6, all++)
			good += run_planes(queue, run, h, w);
	good += run_planes(queue, run, 32, 64);
	tap_ok(good == all + 1, "%u of %u heights and widths are right", good, all + 1);
	tap_ok(!npu_run_program(run, &p, scalar, &err) && p == 0 && scalar[0] == 8 &&
		       scalar[1] == 32 && scalar[2] == 256,
	       "scalars 8, 32 and 256");

	tap_ok(npu_run_set_shape(run, "x", 4, (int64_t[]){ 1, 2, 9, 8 }, &err) == -EINVAL &&
		       strstr(err.text, "none of its 2 programs") &&
		       strstr(err.text, "(8..32 in steps of 4)"),
	       "%s", err.text);
	tap_ok(npu_run_set_shape(run, "x", 4, (int64_t[]){ 1, 2, 36, 8 }, &err) == -EINVAL,
	       "beyond the bound: refused");
	tap_ok(npu_run_set_shape(run, "x", 4, (int64_t[]){ 1, 2, 8, -2 }, &err) == -EINVAL,
	       "negative: refused");
	tap_ok(npu_run_set_shape(run, "x", 4, (int64_t[]){ 1, 2, INT64_MIN, INT64_MAX }, &err) ==
		       -EINVAL,
	       "huge: refused");
	tap_ok(npu_run_program(run, &p, scalar, &err) == 0 && scalar[0] == 8,
	       "a refused shape changes nothing");

	for (i = 0; i < 75; i++)
		x[i] = 1000 + i;
	ret = npu_run_set_shape(run, "x", 4, (int64_t[]){ 1, 3, 5, 5 }, &err) ||
	      npu_run_program(run, &p, NULL, &err) || npu_run_write(run, "x", x, sizeof(x), &err) ||
	      run_and_wait(queue, run, &err) ||
	      npu_run_read(run, "y", y, sizeof(y), &err) ||
	      npu_run_tensor_size(run, "y", &bytes, &err);
	tap_ok(!ret && p == 1 && !memcmp(x, y, sizeof(x)),
	       "another shape chooses program 1; rows with gaps come out dense");
	tap_ok(bytes == 480, "its memory has the gaps: %llu bytes", (unsigned long long)bytes);
	tap_ok(run_planes(queue, run, 12, 10), "and back to program 0");
	npu_run_destroy(run);
	npu_job_unload(job);
}

/* s += x; y = s */
static void test_state(struct npu_device *dev, struct npu_queue *queue)
{
	struct npu_operand s = asm_f32(0, 0, 1, 1), x = asm_f32(1, 0, 1, 1),
			   y = asm_f32(2, 0, 1, 1);
	struct npu_operand copy[NPU_COPY_NUM_SLOTS] = { y, s };
	struct npu_jobfile_region regions[3] = {
		{ .role = NPU_REGION_STATE, .access = 3, .size = C(4), .align = 4 },
		{ .role = NPU_REGION_INPUT, .access = 1, .size = C(4), .align = 4 },
		{ .role = NPU_REGION_OUTPUT, .access = 2, .size = C(4), .align = 4 },
	};
	struct npu_jobfile_tensor tensors[3] = {
		{ .name = "s",
		  .role = NPU_TENSOR_STATE,
		  .dtype = NPU_F32,
		  .region = 0,
		  .flags = NPU_JOBFILE_DENSE },
		{ .name = "x",
		  .role = NPU_TENSOR_INPUT,
		  .dtype = NPU_F32,
		  .region = 1,
		  .flags = NPU_JOBFILE_DENSE },
		{ .name = "y",
		  .role = NPU_TENSOR_OUTPUT,
		  .dtype = NPU_F32,
		  .region = 2,
		  .flags = NPU_JOBFILE_DENSE },
	};
	struct npu_jobfile_program program = {
		.regions = regions, .num_regions = 3, .tensors = tensors, .num_tensors = 3
	};
	struct npu_run *run, *second;
	struct npu_job *job;
	struct fixture f;
	float v, sum = 0;
	int i, good = 0;

	memset(&f, 0, sizeof(f));
	asm_begin(&f.stream);
	asm_ewise2(&f.stream, NPU_BINARY_ADD, NPU_ACT_NONE, &s, &s, &x, NULL, 0, 0);
	asm_insn(&f.stream, NPU_OP_COPY, copy, NULL, NULL, 0, 0);
	asm_end(&f.stream, 3, 0, NULL);
	program.stream = f.stream.words;
	program.stream_size = asm_size(&f.stream);
	f.job = (struct npu_jobfile){ .programs = &program, .num_programs = 1 };
	job = fixture_load(dev, &f, "state.npu");
	npu_run_create(job, &run, &err);
	npu_run_create(job, &second, &err);
	for (i = 1; i <= 10; i++) {
		v = i;
		sum += v;
		npu_run_write(run, "x", &v, 4, &err);
		npu_queue_submit(queue, run, NULL, NULL, &err);
		npu_queue_wait(queue, NPU_FOREVER, &err);
		good += !npu_run_read(run, "y", &v, 4, &err) && v == sum;
	}
	tap_ok(good == 10, "state lives on between submits: %d of 10 sums", good);
	npu_queue_submit(queue, second, NULL, NULL, &err);
	npu_queue_wait(queue, NPU_FOREVER, &err);
	tap_ok(!npu_run_read(second, "s", &v, 4, &err) && v == 0, "another run has its own");
	tap_ok(!npu_run_reset_state(run, &err) && !npu_run_read(run, "s", &v, 4, &err) && v == 0,
	       "reset");
	v = 5;
	tap_ok(!npu_run_write(run, "s", &v, 4, &err), "state can be written");
	v = 2;
	npu_run_write(run, "x", &v, 4, &err);
	npu_queue_submit(queue, run, NULL, NULL, &err);
	npu_queue_wait(queue, NPU_FOREVER, &err);
	tap_ok(!npu_run_read(run, "y", &v, 4, &err) && v == 7, "and is used");
	npu_run_destroy(run);
	npu_run_destroy(second);
	npu_job_unload(job);
	fixture_free(&f);
}

/*
 * x [a], z [b] and p [a b] with a, b = 1 .. 10. The region of x has 2 a + 2 b bytes: right at the
 * smallest and the largest lengths, which is where files are verified, and too small for a > b.
 */
static struct npu_job *mixed_make(struct npu_device *dev)
{
	static const struct npu_jobfile_symbol symbols[3] = {
		{ .name = "a", .min = 1, .max = 10, .step = 1 },
		{ .name = "b", .min = 1, .max = 10, .step = 1 },
		{ .name = "c", .kind = NPU_SYMBOL_PRODUCT, .a = 0, .b = 1 },
	};
	static const npu_u32 bounds[3][2] = { { 1, 10 }, { 1, 10 }, { 1, 100 } };
	static const char *const names[3] = { "x", "z", "p" };
	struct npu_jobfile_region regions[3];
	struct npu_jobfile_tensor tensors[3];
	struct npu_jobfile_program program = { .symbols = symbols, .regions = regions,
					       .tensors = tensors, .num_symbols = 3,
					       .num_regions = 3, .num_tensors = 3 };
	struct npu_job *job;
	struct fixture f;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		regions[i] = (struct npu_jobfile_region){ .role = NPU_REGION_INPUT, .access = 1,
							  .size = lin(0, 4, i), .align = 4 };
		tensors[i] = (struct npu_jobfile_tensor){ .name = names[i], .dtype = NPU_F32,
							  .role = NPU_TENSOR_INPUT, .rank = 1,
							  .region = i, .flags = NPU_JOBFILE_DENSE,
							  .dim = { lin(0, 1, i) } };
	}
	regions[0].size = (struct npu_jobfile_expr){ .factor = { 2, 2 }, .sym = { 0, 1 } };
	memset(&f, 0, sizeof(f));
	asm_begin(&f.stream);
	asm_end(&f.stream, 3, 3, bounds);
	program.stream = f.stream.words;
	program.stream_size = asm_size(&f.stream);
	f.job = (struct npu_jobfile){ .programs = &program, .num_programs = 1 };
	job = fixture_load(dev, &f, "mixed.npu");
	fixture_free(&f);
	return job;
}

static int set_length(struct npu_run *run, const char *tensor, int64_t n)
{
	return npu_run_set_shape(run, tensor, 1, &n, &err);
}

static void test_mixed(struct npu_device *dev)
{
	struct npu_job *job = mixed_make(dev);
	struct npu_run *run;
	float x[10] = { 0 };

	npu_run_create(job, &run, &err);
	tap_ok(!set_length(run, "x", 3) && !set_length(run, "z", 5), "two free lengths");
	tap_ok(!set_length(run, "p", 12) && npu_run_program(run, NULL, NULL, &err) == -EINVAL &&
		       strstr(err.text, "'p' is 12, but the other shapes make its dim 0 15"),
	       "%s", err.text);
	tap_ok(!set_length(run, "p", 15) && !npu_run_program(run, NULL, NULL, &err),
	       "the product of the lengths is taken");
	tap_ok(!set_length(run, "x", 4) && npu_run_program(run, NULL, NULL, &err) == -EINVAL,
	       "no length that contradicts it: %s", err.text);
	tap_ok(!set_length(run, "p", 20) && !npu_run_program(run, NULL, NULL, &err),
	       "until all are changed, one by one");
	set_length(run, "x", 3);
	set_length(run, "p", 15);
	tap_ok(!npu_run_write(run, "x", x, 12, &err), "a tensor within its region");
	npu_run_destroy(run);

	npu_run_create(job, &run, &err);
	tap_ok(!set_length(run, "x", 10) && !set_length(run, "z", 1) &&
		       npu_run_write(run, "x", x, sizeof(x), &err) == -EINVAL,
	       "a tensor that leaves its region between the bounds is refused: %s", err.text);
	npu_run_destroy(run);
	npu_job_unload(job);
}

/* u, v and y are [a, 4] with a = 1 .. 16: they share the length (the stream adds the first row). */
static struct npu_job *shared_make(struct npu_device *dev)
{
	static const struct npu_jobfile_symbol symbol = {
		.name = "a", .min = 1, .max = 16, .step = 1
	};
	static const npu_u32 bounds[1][2] = { { 1, 16 } };
	static const char *const names[3] = { "u", "v", "y" };
	struct npu_operand op[3];
	struct npu_jobfile_region regions[3];
	struct npu_jobfile_tensor tensors[3];
	struct npu_jobfile_program program = { .symbols = &symbol, .regions = regions,
					       .tensors = tensors, .num_symbols = 1,
					       .num_regions = 3, .num_tensors = 3 };
	struct npu_job *job;
	struct fixture f;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		regions[i] = (struct npu_jobfile_region){
			.role = i < 2 ? NPU_REGION_INPUT : NPU_REGION_OUTPUT,
			.access = i < 2 ? 1 : 2, .size = lin(0, 16, 0), .align = 4 };
		tensors[i] = (struct npu_jobfile_tensor){
			.name = names[i], .dtype = NPU_F32, .rank = 2, .region = i,
			.role = i < 2 ? NPU_TENSOR_INPUT : NPU_TENSOR_OUTPUT,
			.flags = NPU_JOBFILE_DENSE, .dim = { lin(0, 1, 0), C(4) } };
		op[i] = asm_f32(i, 0, 1, 4);
	}
	memset(&f, 0, sizeof(f));
	asm_begin(&f.stream);
	asm_ewise2(&f.stream, NPU_BINARY_ADD, NPU_ACT_NONE, &op[2], &op[0], &op[1], NULL, 0, 0);
	asm_end(&f.stream, 3, 1, bounds);
	program.stream = f.stream.words;
	program.stream_size = asm_size(&f.stream);
	f.job = (struct npu_jobfile){ .programs = &program, .num_programs = 1 };
	job = fixture_load(dev, &f, "shared.npu");
	fixture_free(&f);
	return job;
}

static int set_rows(struct npu_run *run, const char *tensor, int64_t n)
{
	return npu_run_set_shape(run, tensor, 2, (int64_t[]){ n, 4 }, &err);
}

static void test_shared(struct npu_device *dev, struct npu_queue *queue)
{
	struct npu_job *job = shared_make(dev);
	float data[64] = { 0 };
	unsigned int rank;
	int64_t dims[8];
	struct npu_run *run;

	npu_run_create(job, &run, &err);
	tap_ok(!set_rows(run, "u", 3) && !set_rows(run, "v", 3) &&
		       !npu_run_get_shape(run, "y", &rank, dims, &err) && dims[0] == 3,
	       "a length that two inputs share");
	tap_ok(!set_rows(run, "u", 7), "one of them is changed: %s", err.text);
	tap_ok(npu_run_get_shape(run, "y", &rank, dims, &err) == -EINVAL &&
		       strstr(err.text,
			      "'u' is 7x4 and 'v' is 3x4: they do not agree on length 'a'"),
	       "what is needed of it now says: %s", err.text);
	tap_ok(npu_run_write(run, "u", data, 7 * 16, &err) == -EINVAL, "nothing can be written");
	tap_ok(npu_queue_submit(queue, run, NULL, NULL, &err) == -EINVAL, "nor submitted");
	tap_ok(!set_rows(run, "v", 7) && !npu_run_get_shape(run, "y", &rank, dims, &err) &&
		       dims[0] == 7 && !npu_run_write(run, "u", data, 7 * 16, &err),
	       "then the other: they agree");
	tap_ok(set_rows(run, "v", 17) == -EINVAL && strstr(err.text, "(1..16)x4"),
	       "what no length gives is refused at once: %s", err.text);
	tap_ok(!npu_run_get_shape(run, "v", &rank, dims, &err) && dims[0] == 7,
	       "and changes nothing");
	npu_run_destroy(run);
	npu_job_unload(job);
}

int main(void)
{
	struct npu_device *dev;
	struct npu_queue *queue;

	if (!tap_ok(!npu_device_open("sim:threads=2", NULL, &dev, &err) &&
			    !npu_queue_create(dev, NULL, &queue, &err),
		    "open"))
		return tap_done();
	test_programs(dev, queue);
	test_state(dev, queue);
	test_mixed(dev);
	test_shared(dev, queue);
	npu_queue_destroy(queue);
	npu_device_close(dev);
	return tap_done();
}
