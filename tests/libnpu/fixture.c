// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fixture.h"

const float tiny_w[TINY_COLS] = { 1.5f, -2.25f, 0.1f, 1000.0f };

static void add_words(struct asm_stream *s, const void *data, size_t words)
{
	if (s->num_words + words > s->room) {
		s->room = (s->num_words + words) * 2;
		s->words = realloc(s->words, s->room * 4);
		if (!s->words)
			abort();
	}
	if (words)
		memcpy(s->words + s->num_words, data, words * 4);
	s->num_words += words;
}

void asm_begin(struct asm_stream *s)
{
	static const struct npu_stream_header header;

	memset(s, 0, sizeof(*s));
	add_words(s, &header, sizeof(header) / 4);
}

void asm_insn(struct asm_stream *s, unsigned int opcode, const struct npu_operand *ops,
	      const npu_u32 *params, const struct npu_term *terms, unsigned int num_terms,
	      npu_u32 tag)
{
	const struct npu_op_desc *desc = npu_op_desc(opcode);
	struct npu_insn_header header = { .opcode = opcode,
					  .num_operands = desc->num_slots,
					  .num_params = desc->num_params,
					  .num_terms = num_terms,
					  .tag = tag };
	size_t words = sizeof(header) / 4 + desc->num_slots * sizeof(*ops) / 4 + desc->num_params +
		       2 * num_terms;
	static const npu_u32 zero;

	header.words = (words + 1) / 2 * 2;
	add_words(s, &header, sizeof(header) / 4);
	add_words(s, ops, desc->num_slots * sizeof(*ops) / 4);
	add_words(s, params, desc->num_params);
	add_words(s, terms, 2 * num_terms);
	add_words(s, &zero, words % 2);
	s->num_insns++;
}

void asm_end(struct asm_stream *s, unsigned int num_regions, unsigned int num_scalars,
	     const npu_u32 (*bounds)[2])
{
	struct npu_stream_header header = { .magic = NPU_STREAM_MAGIC, .isa_major = NPU_ISA_MAJOR,
					    .isa_minor = NPU_ISA_MINOR, .num_regions = num_regions,
					    .num_scalars = num_scalars };
	unsigned int i;

	asm_insn(s, NPU_OP_END, NULL, NULL, NULL, 0, 0);
	header.size = asm_size(s);
	header.num_insns = s->num_insns;
	for (i = 0; i < num_scalars; i++) {
		header.scalar[i].min = bounds[i][0];
		header.scalar[i].max = bounds[i][1];
	}
	memcpy(s->words, &header, sizeof(header));
}

size_t asm_size(const struct asm_stream *s)
{
	return s->num_words * 4;
}

void asm_free(struct asm_stream *s)
{
	free(s->words);
	s->words = NULL;
}

struct npu_operand asm_f32(unsigned int region, npu_u64 offset, npu_u32 rows, npu_u32 cols)
{
	return (struct npu_operand){ .region = region,
				     .dtype = NPU_F32,
				     .rank = 2,
				     .offset = offset,
				     .dim = { rows, cols },
				     .stride = { 4 * (npu_s64)cols, 4 } };
}

npu_u32 asm_float(float f)
{
	npu_u32 u;

	memcpy(&u, &f, 4);
	return u;
}

void asm_ewise2(struct asm_stream *s, unsigned int func, unsigned int act,
		const struct npu_operand *out, const struct npu_operand *a,
		const struct npu_operand *b, const struct npu_term *terms, unsigned int num_terms,
		npu_u32 tag)
{
	struct npu_operand ops[NPU_EWISE2_NUM_SLOTS] = { *out, *a, *b };
	npu_u32 params[NPU_EWISE2_NUM_PARAMS] = { [NPU_EWISE2_P_FUNC] = func,
						  [NPU_EWISE2_P_ACT] = act,
						  [NPU_EWISE2_P_POST_MUL] = asm_float(1) };

	asm_insn(s, NPU_OP_EWISE2, ops, params, terms, num_terms, tag);
}

/* A term on dim @d of operand @slot. */
static struct npu_term dim_term(unsigned int slot, unsigned int d, unsigned int scalar, int factor)
{
	return (struct npu_term){
		.word = (sizeof(struct npu_insn_header) + slot * sizeof(struct npu_operand) +
			 offsetof(struct npu_operand, dim) + 4 * d) / 4,
		.scalar = scalar, .factor = factor,
	};
}

static struct npu_jobfile_expr linear(npu_s64 base, npu_s64 factor, unsigned int sym)
{
	return (struct npu_jobfile_expr){ .base = base, .factor = { factor }, .sym = { sym } };
}

static void add_region(struct fixture *f, npu_u32 i, const char *name, npu_u32 role,
		       struct npu_jobfile_expr size)
{
	static const npu_u32 access[] = {
		[NPU_REGION_WEIGHTS] = NPU_ACCESS_READ,
		[NPU_REGION_SCRATCH] = NPU_ACCESS_READ | NPU_ACCESS_WRITE,
		[NPU_REGION_SRAM] = NPU_ACCESS_READ | NPU_ACCESS_WRITE | NPU_ACCESS_SRAM,
		[NPU_REGION_INPUT] = NPU_ACCESS_READ,
		[NPU_REGION_OUTPUT] = NPU_ACCESS_WRITE,
		[NPU_REGION_STATE] = NPU_ACCESS_READ | NPU_ACCESS_WRITE,
	};

	f->regions[i] = (struct npu_jobfile_region){
		.name = name, .role = role, .access = access[role], .size = size, .align = 16
	};
}

static void finish(struct fixture *f, npu_u32 num_symbols, npu_u32 num_regions, npu_u32 num_tensors,
		   npu_u32 num_debug)
{
	f->programs[0] = (struct npu_jobfile_program){
		.name = "main",
		.symbols = f->symbols,
		.num_symbols = num_symbols,
		.regions = f->regions,
		.num_regions = num_regions,
		.tensors = f->tensors,
		.num_tensors = num_tensors,
		.debug = f->debug,
		.num_debug = num_debug,
		.stream = f->stream.words,
		.stream_size = asm_size(&f->stream),
	};
	f->records[0] = (struct npu_jobfile_record){ "model", "made by hand" };
	f->records[1] = (struct npu_jobfile_record){ "options", "none" };
	f->job = (struct npu_jobfile){ .compiler = "fixture 1",
				       .weights = f->weights,
				       .weights_size = sizeof(f->weights),
				       .programs = f->programs,
				       .num_programs = 1,
				       .report = "{}",
				       .records = f->records,
				       .num_records = 2 };
}

float tiny_ref(float x, unsigned int col)
{
	volatile float p = x * tiny_w[col];
	volatile float s = p + x;

	return s < 0 ? 0 : s;
}

void tiny_make(struct fixture *f)
{
	static const npu_u32 bounds[1][2] = { { 1, TINY_ROWS } };
	struct npu_operand x = asm_f32(3, 0, 0, TINY_COLS), y = asm_f32(4, 0, 0, TINY_COLS);
	struct npu_operand t = asm_f32(2, 64, 0, TINY_COLS), w = asm_f32(0, 256, 1, TINY_COLS);
	struct npu_term mul[2] = { dim_term(NPU_EWISE2_OUT, 0, 0, 1),
				   dim_term(NPU_EWISE2_A, 0, 0, 1) };
	struct npu_term add[3] = { dim_term(NPU_EWISE2_OUT, 0, 0, 1),
				   dim_term(NPU_EWISE2_A, 0, 0, 1),
				   dim_term(NPU_EWISE2_B, 0, 0, 1) };

	memset(f, 0, sizeof(*f));
	memcpy(f->weights + 64, tiny_w, sizeof(tiny_w));
	asm_begin(&f->stream);
	asm_ewise2(&f->stream, NPU_BINARY_MUL, NPU_ACT_NONE, &t, &x, &w, mul, 2, 10);
	asm_ewise2(&f->stream, NPU_BINARY_ADD, NPU_ACT_RELU, &y, &t, &x, add, 3, 11);
	asm_end(&f->stream, 5, 1, bounds);
	f->symbols[0] = (struct npu_jobfile_symbol){
		.name = "rows", .min = 1, .max = TINY_ROWS, .step = 1
	};
	add_region(f, 0, "", NPU_REGION_WEIGHTS, NPU_JOBFILE_CONST(sizeof(f->weights)));
	add_region(f, 1, "", NPU_REGION_SCRATCH, linear(256, 64, 0));
	add_region(f, 2, "", NPU_REGION_SRAM, NPU_JOBFILE_CONST(64 + 16 * TINY_ROWS));
	add_region(f, 3, "x", NPU_REGION_INPUT, linear(0, 16, 0));
	add_region(f, 4, "y", NPU_REGION_OUTPUT, linear(0, 16, 0));
	f->tensors[0] = (struct npu_jobfile_tensor){ .name = "x",
						     .node = "Mul_0",
						     .role = NPU_TENSOR_INPUT,
						     .dtype = NPU_F32,
						     .rank = 2,
						     .region = 3,
						     .dim = { linear(0, 1, 0),
							      NPU_JOBFILE_CONST(TINY_COLS) },
						     .flags = NPU_JOBFILE_DENSE };
	f->tensors[1] = (struct npu_jobfile_tensor){
		.name = "y",
		.node = "Relu_2",
		.role = NPU_TENSOR_OUTPUT,
		.dtype = NPU_F32,
		.rank = 2,
		.region = 4,
		.dim = { linear(0, 1, 0), NPU_JOBFILE_CONST(TINY_COLS) },
		.stride = { NPU_JOBFILE_CONST(16), NPU_JOBFILE_CONST(4) }
	};
	f->debug[0] = (struct npu_jobfile_debug){ .tag = 10,
						  .slot = 0,
						  .node = "Mul_0",
						  .op = "Mul",
						  .tensor = "t",
						  .macs = 0,
						  .bytes = 784 };
	f->debug[1] = (struct npu_jobfile_debug){ .tag = 11,
						  .slot = 0,
						  .node = "Add_1 + Relu_2",
						  .op = "Add + Relu",
						  .tensor = "y",
						  .bytes = 768 };
	finish(f, 1, 5, 2, 2);
}

struct npu_run *tiny_run(struct npu_job *job, const float x[TINY_COLS])
{
	struct npu_run *run;
	struct npu_error err;

	if (npu_run_create(job, &run, &err) ||
	    npu_run_set_shape(run, "x", 2, (int64_t[]){ 1, TINY_COLS }, &err) ||
	    npu_run_write(run, "x", x, sizeof(float[TINY_COLS]), &err))
		abort();
	return run;
}

/* ---- host steps ---- */

void (*fixture_scale_hook)(int64_t rows);
int fixture_scale_status;
unsigned int fixture_scale_stops;

/* y = x * factor; refuses NaN. */
static int scale_run(const struct npu_host_call *call, struct npu_error *e)
{
	const struct npu_host_tensor *in = call->in;
	double factor = npu_host_float(call, "factor", 0);
	uint32_t n;
	int64_t i;

	if (call->num_in != 1 || call->num_out != 1 || !in->present || !call->out->present ||
	    in->dtype != NPU_F32 || call->out->dtype != NPU_F32 ||
	    npu_host_elems(in) != npu_host_elems(call->out))
		return npu_host_fail(call, e, -EINVAL,
				     "Scale wants one f32 tensor and one like it");
	if (fixture_scale_hook) {
		fixture_scale_hook(in->dim[0]);
		if (npu_host_stopped(call))
			fixture_scale_stops++;
	}
	if (fixture_scale_status)
		return npu_host_fail(call, e, fixture_scale_status, "as the test said");
	for (i = 0; i < npu_host_elems(in); i++) {
		float v = ((const float *)in->data)[i];

		if (v != v)
			return npu_host_fail(call, e, -EDOM, "element %lld is not a number",
					     (long long)i);
		((float *)call->out->data)[i] = (float)(v * factor);
	}
	npu_host_ints(call, "ints", &n);
	npu_host_strings(call, "strings", &n);
	return 0;
}

const struct npu_host_op fixture_ops[FIXTURE_OPS] = {
	{ .domain = "test", .name = "Scale", .since = 1, .types = "f32", .limits = "",
	  .run = scale_run },
};

static struct npu_jobfile_tensor rows_tensor(const char *name, npu_u32 role, npu_u32 region)
{
	return (struct npu_jobfile_tensor){ .name = name, .node = "N", .role = role,
					    .dtype = NPU_F32,
					    .rank = 2, .region = region, .flags = NPU_JOBFILE_DENSE,
					    .dim = { linear(0, 1, 0),
						     NPU_JOBFILE_CONST(TINY_COLS) } };
}

static void host_streams(struct fixture *f)
{
	static const npu_u32 bounds[1][2] = { { 1, TINY_ROWS } };
	struct npu_operand x = asm_f32(3, 0, 0, TINY_COLS), y = asm_f32(4, 0, 0, TINY_COLS);
	struct npu_operand t = asm_f32(1, 64, 0, TINY_COLS), w = asm_f32(0, 256, 1, TINY_COLS);
	struct npu_operand u = asm_f32(1, 512, 0, TINY_COLS);
	struct npu_term mul[2] = { dim_term(NPU_EWISE2_OUT, 0, 0, 1),
				   dim_term(NPU_EWISE2_A, 0, 0, 1) };
	struct npu_term add[3] = { dim_term(NPU_EWISE2_OUT, 0, 0, 1),
				   dim_term(NPU_EWISE2_A, 0, 0, 1),
				   dim_term(NPU_EWISE2_B, 0, 0, 1) };

	asm_begin(&f->stream);
	asm_ewise2(&f->stream, NPU_BINARY_MUL, NPU_ACT_RELU, &t, &x, &w, mul, 2, 10);
	asm_end(&f->stream, 6, 1, bounds);
	asm_begin(&f->second);
	asm_ewise2(&f->second, NPU_BINARY_ADD, NPU_ACT_NONE, &y, &u, &x, add, 3, 13);
	asm_end(&f->second, 6, 1, bounds);
}

static void host_steps(struct fixture *f)
{
	static const int64_t ints[] = { 1, -2, 3 };
	static const float floats[] = { 0.5f, 2 };
	static const char *const strings[] = { "one", "two" };
	static const struct npu_host_attr attrs[] = {
		{ .name = "factor", .kind = NPU_HOST_FLOAT, .count = 1, .f = FIXTURE_FACTOR },
		{ .name = "int", .kind = NPU_HOST_INT, .count = 1, .i = -7 },
		{ .name = "string", .kind = NPU_HOST_STRING, .count = 1, .s = "text" },
		{ .name = "ints", .kind = NPU_HOST_INTS, .count = 3, .ints = ints },
		{ .name = "floats", .kind = NPU_HOST_FLOATS, .count = 2, .floats = floats },
		{ .name = "strings", .kind = NPU_HOST_STRINGS, .count = 2, .strings = strings },
	};
	npu_u32 *a = f->args;

	memcpy(a, (npu_u32[]){ 3, 2, 3, 4 }, 4 * sizeof(*a));
	f->steps[0] = (struct npu_jobfile_step){ .kind = NPU_STEP_STREAM, .stream = f->stream.words,
						 .stream_size = asm_size(&f->stream) };
	f->steps[1] = (struct npu_jobfile_step){ .kind = NPU_STEP_HOST, .domain = "",
						 .op = "NonZero", .node = "NonZero_1", .opset = 13,
						 .tag = 11, .num_in = 1, .num_out = 1, .in = a,
						 .out = a + 1 };
	f->steps[2] = (struct npu_jobfile_step){ .kind = NPU_STEP_HOST, .domain = "test",
						 .op = "Scale", .node = "Scale_2", .opset = 1,
						 .tag = 12, .num_in = 1, .num_out = 1,
						 .num_attr = 6, .in = a + 2, .out = a + 3,
						 .attr = attrs };
	f->steps[3] = (struct npu_jobfile_step){ .kind = NPU_STEP_STREAM, .stream = f->second.words,
						 .stream_size = asm_size(&f->second) };
}

void host_make(struct fixture *f)
{
	unsigned int i;

	memset(f, 0, sizeof(*f));
	memcpy(f->weights + 64, tiny_w, sizeof(tiny_w));
	host_streams(f);
	host_steps(f);
	f->symbols[0] = (struct npu_jobfile_symbol){
		.name = "rows", .min = 1, .max = TINY_ROWS, .step = 1
	};
	add_region(f, 0, "", NPU_REGION_WEIGHTS, NPU_JOBFILE_CONST(272));
	add_region(f, 1, "", NPU_REGION_SCRATCH, NPU_JOBFILE_CONST(1024));
	add_region(f, 2, "", NPU_REGION_SRAM, NPU_JOBFILE_CONST(0));
	add_region(f, 3, "x", NPU_REGION_INPUT, linear(0, 16, 0));
	add_region(f, 4, "y", NPU_REGION_OUTPUT, linear(0, 16, 0));
	add_region(f, 5, "where", NPU_REGION_OUTPUT, linear(0, 64, 0));
	for (i = 0; i < 6; i++)
		f->regions[i].align = 64;
	f->tensors[0] = rows_tensor("x", NPU_TENSOR_INPUT, 3);
	f->tensors[1] = rows_tensor("y", NPU_TENSOR_OUTPUT, 4);
	f->tensors[2] = rows_tensor("where", NPU_TENSOR_OUTPUT, 5);
	f->tensors[2].dtype = NPU_I64;
	f->tensors[2].flags |= NPU_JOBFILE_BOUNDED;
	f->tensors[2].dim[0] = NPU_JOBFILE_CONST(2);
	f->tensors[2].dim[1] = linear(0, 4, 0);
	f->tensors[3] = rows_tensor("t", NPU_TENSOR_INTERNAL, 1);
	f->tensors[3].offset = NPU_JOBFILE_CONST(64);
	f->tensors[4] = rows_tensor("u", NPU_TENSOR_INTERNAL, 1);
	f->tensors[4].offset = NPU_JOBFILE_CONST(512);
	for (i = 0; i < 4; i++)
		f->debug[i] = (struct npu_jobfile_debug){
			.tag = 10 + i, .node = "N", .op = "O", .tensor = "t"
		};
	f->debug[1].node = "NonZero_1";
	f->debug[2].node = "Scale_2";
	finish(f, 1, 6, 5, 4);
	f->job.weights_size = 272;
	f->programs[0].stream = NULL;
	f->programs[0].stream_size = 0;
	f->programs[0].steps = f->steps;
	f->programs[0].num_steps = 4;
}

/* The table is at byte @at of @size bytes of weights. */
static void gather_at(struct fixture *f, npu_u64 at, npu_u64 size)
{
	struct npu_operand ops[NPU_GATHER_NUM_SLOTS] = {
		[NPU_GATHER_OUT] = { .region = 4,
				     .dtype = NPU_F32,
				     .rank = 3,
				     .dim = { 1, 3, 4 },
				     .stride = { 48, 16, 4 } },
		[NPU_GATHER_IN] = { .region = 0,
				    .offset = at,
				    .dtype = NPU_F32,
				    .rank = 3,
				    .dim = { 1, 8, 4 },
				    .stride = { 128, 16, 4 } },
		[NPU_GATHER_INDEX] = { .region = 3,
				       .dtype = NPU_I32,
				       .rank = 1,
				       .dim = { 3 },
				       .stride = { 4 } },
	};
	static const npu_u32 params[NPU_GATHER_NUM_PARAMS];
	int i;

	memset(f, 0, sizeof(*f));
	for (i = 0; i < 32; i++)
		f->weights[i] = i;
	asm_begin(&f->stream);
	asm_insn(&f->stream, NPU_OP_GATHER, ops, params, NULL, 0, 7);
	asm_end(&f->stream, 5, 0, NULL);
	add_region(f, 0, "", NPU_REGION_WEIGHTS, NPU_JOBFILE_CONST((npu_s64)size));
	add_region(f, 1, "", NPU_REGION_SCRATCH, NPU_JOBFILE_CONST(0));
	add_region(f, 2, "", NPU_REGION_SRAM, NPU_JOBFILE_CONST(0));
	add_region(f, 3, "idx", NPU_REGION_INPUT, NPU_JOBFILE_CONST(12));
	add_region(f, 4, "y", NPU_REGION_OUTPUT, NPU_JOBFILE_CONST(48));
	f->tensors[0] = (struct npu_jobfile_tensor){ .name = "idx",
						     .node = "Gather_0",
						     .role = NPU_TENSOR_INPUT,
						     .dtype = NPU_I32,
						     .rank = 1,
						     .region = 3,
						     .dim = { NPU_JOBFILE_CONST(3) },
						     .flags = NPU_JOBFILE_DENSE };
	f->tensors[1] =
		(struct npu_jobfile_tensor){ .name = "y",
					     .node = "Gather_0",
					     .role = NPU_TENSOR_OUTPUT,
					     .dtype = NPU_F32,
					     .rank = 2,
					     .region = 4,
					     .dim = { NPU_JOBFILE_CONST(3), NPU_JOBFILE_CONST(4) },
					     .flags = NPU_JOBFILE_DENSE };
	f->debug[0] = (struct npu_jobfile_debug){
		.tag = 7, .slot = 0, .node = "Gather_0", .op = "Gather", .tensor = "y"
	};
	finish(f, 0, 5, 2, 1);
}

void gather_make(struct fixture *f)
{
	gather_at(f, 0, 128);
}

void gather_far_make(struct fixture *f, char *weights, npu_u64 size, npu_u64 at)
{
	gather_at(f, at, size);
	memcpy(weights + at, f->weights, 128);
	f->job.weights = weights;
	f->job.weights_size = size;
}

void gather_host_make(struct fixture *f)
{
	gather_make(f);
	((struct npu_stream_header *)f->stream.words)->num_regions = 6;
	add_region(f, 5, "nz", NPU_REGION_OUTPUT, NPU_JOBFILE_CONST(24));
	f->regions[3].align = f->regions[5].align = 64;
	f->tensors[2] = f->tensors[0];
	f->tensors[2].name = "nz";
	f->tensors[2].role = NPU_TENSOR_OUTPUT;
	f->tensors[2].dtype = NPU_I64;
	f->tensors[2].rank = 2;
	f->tensors[2].region = 5;
	f->tensors[2].flags |= NPU_JOBFILE_BOUNDED;
	f->tensors[2].dim[0] = NPU_JOBFILE_CONST(1);
	f->tensors[2].dim[1] = NPU_JOBFILE_CONST(3);
	f->args[0] = 0;
	f->args[1] = 2;
	f->steps[0] = (struct npu_jobfile_step){ .kind = NPU_STEP_HOST, .domain = "",
						 .op = "NonZero", .node = "NonZero_1", .opset = 13,
						 .tag = 11, .num_in = 1, .num_out = 1,
						 .in = f->args, .out = f->args + 1 };
	f->steps[1] = (struct npu_jobfile_step){ .kind = NPU_STEP_STREAM, .stream = f->stream.words,
						 .stream_size = asm_size(&f->stream) };
	finish(f, 0, 6, 3, 1);
	f->programs[0].stream = NULL;
	f->programs[0].stream_size = 0;
	f->programs[0].steps = f->steps;
	f->programs[0].num_steps = 2;
}

void slow_make(struct fixture *f, unsigned int insns)
{
	struct npu_operand ops[NPU_MATMUL_NUM_SLOTS] = { asm_f32(1, 0, 256, 256),
							 asm_f32(1, 1 << 18, 256, 256),
							 asm_f32(1, 2 << 18, 256, 256) };
	npu_u32 params[NPU_MATMUL_NUM_PARAMS] = { [NPU_MATMUL_P_POST_MUL] = asm_float(1) };
	struct npu_operand copy[NPU_COPY_NUM_SLOTS] = { asm_f32(3, 0, 1, 1), asm_f32(2, 0, 1, 1) };
	unsigned int i;

	memset(f, 0, sizeof(*f));
	asm_begin(&f->stream);
	for (i = 0; i < insns; i++)
		asm_insn(&f->stream, NPU_OP_MATMUL, ops, params, NULL, 0, i);
	asm_insn(&f->stream, NPU_OP_COPY, copy, NULL, NULL, 0, insns);
	asm_end(&f->stream, 4, 0, NULL);
	add_region(f, 0, "", NPU_REGION_WEIGHTS, NPU_JOBFILE_CONST(0));
	add_region(f, 1, "", NPU_REGION_SCRATCH, NPU_JOBFILE_CONST(3 << 18));
	add_region(f, 2, "x", NPU_REGION_INPUT, NPU_JOBFILE_CONST(4));
	add_region(f, 3, "y", NPU_REGION_OUTPUT, NPU_JOBFILE_CONST(4));
	f->tensors[0] = (struct npu_jobfile_tensor){ .name = "x",
						     .role = NPU_TENSOR_INPUT,
						     .dtype = NPU_F32,
						     .rank = 1,
						     .region = 2,
						     .dim = { NPU_JOBFILE_CONST(1) },
						     .flags = NPU_JOBFILE_DENSE };
	f->tensors[1] = (struct npu_jobfile_tensor){ .name = "y",
						     .role = NPU_TENSOR_OUTPUT,
						     .dtype = NPU_F32,
						     .rank = 1,
						     .region = 3,
						     .dim = { NPU_JOBFILE_CONST(1) },
						     .flags = NPU_JOBFILE_DENSE };
	finish(f, 0, 4, 2, 0);
	f->job.weights = NULL;
	f->job.weights_size = 0;
}

static struct npu_jobfile_expr rows_of(npu_s64 rows, npu_s64 bytes, unsigned int sym)
{
	return (struct npu_jobfile_expr){ .base = bytes, .factor = { rows - 1 }, .sym = { sym } };
}

/* Rows of a plane, @sym bytes apart when that is >= 0, to a dense copy in region @region + 3. */
static void frame_copy(struct asm_stream *s, unsigned int region, npu_u32 rows, npu_u32 bytes,
		       npu_s64 stride, int sym)
{
	const struct npu_operand plane = { .region = region, .dtype = NPU_U8, .rank = 2,
					   .dim = { rows, bytes }, .stride = { stride, 1 } };
	struct npu_operand ops[NPU_COPY_NUM_SLOTS] = { [NPU_COPY_OUT] = plane,
						       [NPU_COPY_IN] = plane };
	const size_t at = sizeof(struct npu_insn_header) +
			  NPU_COPY_IN * sizeof(struct npu_operand) +
			  offsetof(struct npu_operand, stride);
	struct npu_term term = { (npu_u16)(at / 4), (npu_u8)sym, 1, 1 };

	ops[NPU_COPY_OUT].region = region + 3;
	ops[NPU_COPY_OUT].stride[0] = bytes;
	asm_insn(s, NPU_OP_COPY, ops, NULL, &term, sym >= 0, region + 1);
}

static void frame_tensor(struct fixture *f, unsigned int i, const char *name, npu_s64 rows,
			 npu_s64 bytes, struct npu_jobfile_expr stride,
			 struct npu_jobfile_expr size)
{
	f->regions[i] = (struct npu_jobfile_region){
		.name = name, .role = i < 3 ? NPU_REGION_INPUT : NPU_REGION_OUTPUT,
		.access = i < 3 ? NPU_ACCESS_READ : NPU_ACCESS_WRITE, .size = size, .align = 1,
	};
	f->tensors[i] = (struct npu_jobfile_tensor){
		.name = name, .role = i < 3 ? NPU_TENSOR_INPUT : NPU_TENSOR_OUTPUT,
		.dtype = NPU_U8, .rank = 2, .region = i,
		.dim = { NPU_JOBFILE_CONST(rows), NPU_JOBFILE_CONST(bytes) },
		.stride = { stride, NPU_JOBFILE_CONST(1) },
	};
}

void frame_make(struct fixture *f)
{
	static const struct npu_jobfile_expr by[2] = {
		{ .factor = { 1 }, .sym = { 0 } }, { .factor = { 1 }, .sym = { 1 } } };
	static const npu_u32 bounds[2][2] = { { 8, 64 }, { 8, 64 } };

	memset(f, 0, sizeof(*f));
	asm_begin(&f->stream);
	frame_copy(&f->stream, 0, 4, 8, 0, 0);
	frame_copy(&f->stream, 1, 2, 8, 0, 1);
	frame_copy(&f->stream, 2, 2, 12, 16, -1);
	asm_end(&f->stream, 6, 2, bounds);
	frame_tensor(f, 0, "cam", 4, 8, by[0], rows_of(4, 8, 0));
	frame_tensor(f, 1, "cam.uv", 2, 8, by[1], rows_of(2, 8, 1));
	frame_tensor(f, 2, "rgb", 2, 12, NPU_JOBFILE_CONST(16), NPU_JOBFILE_CONST(28));
	frame_tensor(f, 3, "y", 4, 8, NPU_JOBFILE_CONST(8), NPU_JOBFILE_CONST(32));
	frame_tensor(f, 4, "uv", 2, 8, NPU_JOBFILE_CONST(8), NPU_JOBFILE_CONST(16));
	frame_tensor(f, 5, "p", 2, 12, NPU_JOBFILE_CONST(12), NPU_JOBFILE_CONST(24));
	f->symbols[0] = (struct npu_jobfile_symbol){ "cam.stride", NPU_SYMBOL_STRIDE, 8, 64, 1, 0,
						     0 };
	f->symbols[1] = f->symbols[0];
	f->symbols[1].name = "cam.uv.stride";
	f->images[0] = (struct npu_jobfile_image){ "cam", "nv12:8x4", 0x3231564e, 8, 4, 2,
						   { 0, 1 } };
	f->images[1] = (struct npu_jobfile_image){ "rgb", "rgb24:4x2", 0x33424752, 4, 2, 1, { 2 } };
	f->programs[0] = (struct npu_jobfile_program){
		.symbols = f->symbols, .num_symbols = 2, .regions = f->regions, .num_regions = 6,
		.tensors = f->tensors, .num_tensors = 6, .images = f->images, .num_images = 2,
		.stream = f->stream.words, .stream_size = asm_size(&f->stream),
	};
	f->job = (struct npu_jobfile){ .compiler = "test", .programs = f->programs,
				       .num_programs = 1 };
}

void fixture_free(struct fixture *f)
{
	asm_free(&f->stream);
	asm_free(&f->second);
}

void *fixture_encode(const struct fixture *f, size_t *size)
{
	struct npu_error err;
	void *data;

	if (npu_jobfile_encode(&f->job, &data, size, &err)) {
		fprintf(stderr, "writer: %s\n", err.text);
		abort();
	}
	return data;
}

struct npu_job *fixture_load(struct npu_device *dev, const struct fixture *f, const char *name)
{
	struct npu_error err;
	struct npu_job *job;
	size_t size;
	void *data = fixture_encode(f, &size);

	if (npu_job_load_memory(dev, data, size, name, 0, &job, &err)) {
		fprintf(stderr, "load: %s\n", err.text);
		abort();
	}
	free(data);
	return job;
}
