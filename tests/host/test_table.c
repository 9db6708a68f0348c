// SPDX-License-Identifier: MIT
/* The table of host operators, what they are called with, and elements of every type. */
#include <errno.h>
#include <math.h>
#include "host/host.h"
#include "tap.h"

static struct npu_error err;

static void table(void)
{
	const struct npu_host_op *op;
	unsigned int i, bad = 0;

	for (i = 0; (op = npu_host_op(i)); i++)
		bad += !op->run || !*op->name || !*op->types || !op->since ||
		       npu_host_op_find(op->domain, op->name) != op;
	tap_ok(i > 0 && !bad, "every one of %u rows is found by its name and complete", i);
	tap_ok(!npu_host_op_find("", "Nothing") && !npu_host_op_find("com.example", "Det"),
	       "what is not there is not found");
	tap_ok(npu_host_op_find("ai.onnx", "Det") == npu_host_op_find("", "Det"),
	       "ai.onnx is the empty domain");
}

static void own_first(void)
{
	static const struct npu_host_op own[] = {
		{ .domain = "", .name = "Det", .types = "f32" },
		{ .domain = "com.example", .name = "Det", .types = "f32" },
	};

	tap_ok(npu_host_op_find_in(own, 2, "", "Det") == &own[0] &&
	       npu_host_op_find_in(own, 2, "com.example", "Det") == &own[1] &&
	       npu_host_op_find_in(own, 2, "", "NonZero") == npu_host_op_find("", "NonZero"),
	       "operators of the application come first");
}

static void attributes(void)
{
	static const int64_t ints[] = { 1, 2, 3 };
	const struct npu_host_attr attr[] = {
		{ .name = "i", .kind = NPU_HOST_INT, .count = 1, .i = 7 },
		{ .name = "f", .kind = NPU_HOST_FLOAT, .count = 1, .f = 0.5 },
		{ .name = "s", .kind = NPU_HOST_STRING, .count = 1, .s = "text" },
		{ .name = "I", .kind = NPU_HOST_INTS, .count = 3, .ints = ints },
	};
	const struct npu_host_call call = { .attr = attr, .num_attr = 4 };
	uint32_t n = 9;

	tap_ok(npu_host_int(&call, "i", 0) == 7 && npu_host_int(&call, "f", 5) == 5 &&
	       npu_host_float(&call, "f", 0) == 0.5 && npu_host_float(&call, "none", 2) == 2 &&
	       !strcmp(npu_host_string(&call, "s", ""), "text"),
	       "attributes by name, the default when absent or of another kind");
	tap_ok(npu_host_ints(&call, "I", &n) == ints && n == 3 &&
		       !npu_host_floats(&call, "I", &n) && !n,
	       "lists");
}

/* -3, 0, 200 as each type takes them. */
static void elements(void)
{
	static const struct { uint32_t dtype; double low, high; size_t size; } types[] = {
		{ NPU_F32, -3, 200, 4 }, { NPU_F16, -3, 200, 2 }, { NPU_BF16, -3, 200, 2 },
		{ NPU_I8, -3, 127, 1 }, { NPU_U8, 0, 200, 1 }, { NPU_I32, -3, 200, 4 },
		{ NPU_I64, -3, 200, 8 }, { NPU_BOOL, 1, 1, 1 }, { NPU_HOST_F64, -3, 200, 8 },
		{ NPU_HOST_I16, -3, 200, 2 }, { NPU_HOST_U16, 0, 200, 2 },
		{ NPU_HOST_U32, 0, 200, 4 }, { NPU_HOST_U64, 0, 200, 8 },
	};
	uint64_t data[4];

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct npu_host_tensor t = { .dtype = types[i].dtype, .rank = 1, .dim = { 3 },
					     .data = data };

		npu_host_set(&t, 0, -3);
		npu_host_set(&t, 1, NAN);
		npu_host_set(&t, 2, 200);
		tap_ok(npu_host_get(&t, 0) == types[i].low &&
			       npu_host_get_int(&t, 2) == (int64_t)types[i].high &&
			       npu_host_dtype_size(t.dtype) == types[i].size,
		       "%s: elements are stored within its range", npu_host_dtype_name(t.dtype));
	}
	tap_ok(!npu_host_dtype_size(NPU_U4) && !npu_host_dtype_size(NPU_HOST_DTYPES_END) &&
	       !npu_host_dtype_size(~0u) && !strcmp(npu_host_dtype_name(~0u), "?"),
	       "no size for packed and unknown types");
}

static void operators(void)
{
	float m[2][2][2] = { { { 1, 2 }, { 3, 4 } }, { { 0, 2 }, { 3, 0 } } }, det[2] = { 0 };
	struct npu_host_tensor in = { "x", NPU_F32, 3, { 2, 2, 2 }, m, true };
	struct npu_host_tensor out = { "y", NPU_F32, 1, { 2 }, det, true };
	struct npu_host_call call = { npu_host_op_find("", "Det"), 11, 1, 1, 0, "n", &in, &out,
				      NULL, NULL };
	int64_t where[3 * 8];
	struct npu_host_tensor at = { "i", NPU_I64, 2, { 3, 8 }, where, true };

	call.op->run(&call, &err);
	tap_ok(fabsf(det[0] + 2) < 1e-6f && fabsf(det[1] + 6) < 1e-6f,
	       "Det of [[1,2],[3,4]] and [[0,2],[3,0]]: %g %g", (double)det[0], (double)det[1]);
	in.dim[2] = 1;
	tap_ok(call.op->run(&call, &err) == -EINVAL && strstr(err.text, "not square"), "Det: %s",
	       err.text);
	in.dim[2] = 2;
	in.dtype = NPU_I32;
	tap_ok(call.op->run(&call, &err) == -ENOTSUP && strstr(err.text, "i32"), "Det: %s",
	       err.text);
	in.dtype = NPU_F32;
	call.op = npu_host_op_find("", "NonZero");
	call.out = &at;
	tap_ok(!call.op->run(&call, &err) && at.dim[0] == 3 && at.dim[1] == 6 && where[4] == 1 &&
		       where[6 + 4] == 0 && where[12 + 4] == 1 && where[5] == 1 && where[11] == 1 &&
		       where[17] == 0,
	       "NonZero: 6 of 8, the last at 1, 1, 0");
}

/* Which inputs have one type says the standard; the names are in the order of the letters. */
static void mixed_types(void)
{
	static const struct {
		const char *op;
		uint32_t num_in, dtype[5], a, b;	/* a == b: they fit */
	} cases[] = {
		{ "Add", 2, { NPU_F32, NPU_I64 }, 0, 1 },
		{ "Add", 2, { NPU_F32, NPU_F32 }, 0, 0 },
		{ "Mod", 2, { NPU_HOST_I16, NPU_HOST_U16 }, 0, 1 },
		{ "Pow", 2, { NPU_F32, NPU_I64 }, 0, 0 },
		{ "Concat", 4, { NPU_F16, NPU_F16, NPU_F16, NPU_F32 }, 0, 3 },
		{ "Max", 3, { NPU_F32, NPU_F32, NPU_HOST_F64 }, 0, 2 },
		{ "Where", 3, { NPU_BOOL, NPU_F32, NPU_F32 }, 0, 0 },
		{ "Where", 3, { NPU_BOOL, NPU_F32, NPU_I32 }, 1, 2 },
		{ "Slice", 5, { NPU_F32, NPU_I64, NPU_I64, NPU_I64, NPU_I64 }, 0, 0 },
		{ "Slice", 5, { NPU_F32, NPU_I64, NPU_I32, NPU_I64, NPU_I64 }, 1, 2 },
		{ "Slice", 5, { NPU_F32, NPU_I64, NPU_I64, 0, NPU_I32 }, 1, 4 },
		{ "ScatterND", 3, { NPU_F32, NPU_I64, NPU_F16 }, 0, 2 },
		{ "LSTM", 5, { NPU_F32, NPU_F32, NPU_F32, 0, NPU_I32 }, 0, 0 },
		{ "LSTM", 4, { NPU_F32, NPU_F32, NPU_F32, NPU_HOST_F64 }, 0, 3 },
		{ "Conv", 3, { NPU_F32, NPU_F16, NPU_F32 }, 0, 1 },
		{ "Resize", 4, { NPU_U8, 0, NPU_F32, NPU_I64 }, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static const char *const names[] = { "in0", "in1", "in2", "in3", "in4" };
		uint64_t data[16] = { 0 };
		struct npu_host_tensor in[5] = { 0 }, out = { "y", NPU_F32, 0, { 0 }, data, true };
		struct npu_host_call call = { npu_host_op_find("", cases[i].op), 17,
					      cases[i].num_in, 1, 0, "n", in, &out, NULL, NULL };
		char want[2][40];
		bool fit = cases[i].a == cases[i].b, named;

		for (uint32_t k = 0; k < cases[i].num_in; k++)
			in[k] = (struct npu_host_tensor){ names[k], cases[i].dtype[k], 0, { 0 },
							  data, cases[i].dtype[k] != 0 };
		snprintf(want[0], sizeof(want[0]), "'in%u' (%s)", cases[i].a,
			 npu_host_dtype_name(cases[i].dtype[cases[i].a]));
		snprintf(want[1], sizeof(want[1]), "'in%u' (%s)", cases[i].b,
			 npu_host_dtype_name(cases[i].dtype[cases[i].b]));
		err.text[0] = 0;
		named = call.op->run(&call, &err) == -EINVAL && strstr(err.text, "of one type") &&
			strstr(err.text, want[0]) && strstr(err.text, want[1]);
		tap_ok(fit ? !strstr(err.text, "of one type") : named, "%s: %s", cases[i].op,
		       fit ? "types that fit" : err.text);
	}
}

int main(void)
{
	table();
	own_first();
	attributes();
	elements();
	operators();
	mixed_types();
	return tap_done();
}
