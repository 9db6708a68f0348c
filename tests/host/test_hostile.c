// SPDX-License-Identifier: MIT
/*
 * What a hostile job file can do to host operators: every row of the table is called with random
 * counts, types, shapes, values and attributes, in memory of exactly the size that the shapes say.
 * A sanitizer sees what goes beyond; here the operator must return, with a reason when it refuses,
 * and leave the bytes behind its outputs alone.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "host/host.h"
#include "tap.h"

#define MAX_ARGS	6
#define GUARD		64

static unsigned long long state = 88172645463325252ull;

static unsigned int rnd(unsigned int n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned int)(state >> 33) % n;
}

static const uint32_t types[] = { NPU_F32,	NPU_F32,      NPU_F32,	    NPU_F16,
				  NPU_BF16,	NPU_I8,	      NPU_U8,	    NPU_I32,
				  NPU_I64,	NPU_I64,      NPU_BOOL,	    NPU_HOST_F64,
				  NPU_HOST_I16, NPU_HOST_U16, NPU_HOST_U32, NPU_HOST_U64 };

static void fill(struct npu_host_tensor *t, size_t bytes)
{
	int64_t n = npu_host_elems(t), i;
	unsigned int how = rnd(4);

	memset(t->data, 0xa5, bytes + GUARD);
	for (i = 0; i < n; i++)
		if (how == 0)
			((unsigned char *)t->data)[i] = (unsigned char)rnd(256);
		else
			npu_host_set_int(t, i,
					 how == 1   ? (int)rnd(3)
					 : how == 2 ? (int)rnd(9) - 4
						    : (int)rnd(2000) - 1000);
	/* Extreme numbers now and then. */
	if (n && !rnd(4) && npu_host_dtype_size(t->dtype) >= 4)
		npu_host_set(t, rnd((unsigned int)n), rnd(2) ? 1e30 : -1e30);
}

/* Shapes that often fit together: dims from a small pool of this call. */
static size_t make_tensor(struct npu_host_tensor *t, const int64_t pool[4], uint32_t type)
{
	size_t bytes;
	uint32_t d;

	memset(t, 0, sizeof(*t));
	t->name = "t";
	if (!rnd(12))
		return 0;
	t->present = true;
	t->dtype = rnd(3) ? type : types[rnd(sizeof(types) / sizeof(types[0]))];
	t->rank = rnd(8) ? rnd(5) : rnd(NPU_TENSOR_MAX_RANK + 1);
	for (d = 0; d < t->rank; d++)
		t->dim[d] = rnd(30) ? pool[rnd(4)] : 0;
	bytes = (size_t)npu_host_elems(t) * npu_host_dtype_size(t->dtype);
	if (posix_memalign(&t->data, 64, bytes + GUARD))
		abort();
	fill(t, bytes);
	return bytes;
}

static void make_attrs(struct npu_host_attr *attr, uint32_t n)
{
	static const char *const names[] = { "axis", "axes", "kernel_shape", "pads", "strides",
					     "dilations", "mode", "batch_dims", "equation",
					     "hidden_size", "direction", "keepdims", "sorted",
					     "largest", "group", "reduction", "p", "alpha", "k",
					     "layout", "spatial_scale", "output_height",
					     "output_width", "sampling_ratio", "align_corners",
					     "fmod", "to", "dtype", "center_point_box", "perm",
					     "blocksize", "storage_order" };
	static const char *const texts[] = {
		"",	     "linear",	 "bilinear",	"nearest", "cubic",   "sum",
		"avg",	     "max",	 "none",	"forward", "reverse", "bidirectional",
		"ij,jk->ik", "bij->bji", "...ii->...i", "LEFT",	   "reflect", "a"
	};
	static const int64_t ints[] = { 1, 2, 0, -1, 3, 1LL << 40, INT64_MIN, 2 };
	static const float floats[] = { 1, 0.5f, -2, 1e30f };

	for (uint32_t i = 0; i < n; i++) {
		attr[i] = (struct npu_host_attr){
			.name = names[rnd(sizeof(names) / sizeof(names[0]))],
			.kind = rnd(NPU_NUM_HOST_ATTRS), .count = 1,
			.i = rnd(4) ? (int)rnd(5) - 1 : ints[rnd(8)], .f = floats[rnd(4)],
			.s = texts[rnd(sizeof(texts) / sizeof(texts[0]))]
		};
		if (attr[i].kind < NPU_HOST_INTS)
			continue;
		attr[i].count = rnd(5);
		attr[i].ints = attr[i].kind == NPU_HOST_INTS ? ints + rnd(4) : NULL;
		attr[i].floats = attr[i].kind == NPU_HOST_FLOATS ? floats : NULL;
		attr[i].strings = attr[i].kind == NPU_HOST_STRINGS ? texts + rnd(9) : NULL;
	}
}

struct count {
	unsigned int ran, refused, silent, spilled, grown;
};

static void one(const struct npu_host_op *op, struct count *c)
{
	struct npu_host_tensor t[2 * MAX_ARGS], before[MAX_ARGS];
	struct npu_host_attr attr[4];
	int64_t pool[4];
	size_t bytes[2 * MAX_ARGS] = { 0 };
	struct npu_host_call call = { .op = op, .opset = 1 + rnd(22), .num_in = rnd(MAX_ARGS),
				      .num_out = rnd(4), .num_attr = rnd(5), .node = "n", .in = t,
				      .attr = attr };
	/* most operators want their inputs of one type */
	uint32_t i, d, type = types[rnd(sizeof(types) / sizeof(types[0]))];
	struct npu_error err = { 0 };
	int ret;

	for (i = 0; i < 4; i++)
		pool[i] = 1 + rnd(i == 3 ? 9 : 4);
	for (i = 0; i < call.num_in + call.num_out; i++)
		bytes[i] = make_tensor(&t[i], pool, type);
	call.out = t + call.num_in;
	/* Most operators want outputs like their first input. */
	if (call.num_in && call.num_out && t[0].present && call.out[0].present && rnd(2)) {
		free(call.out[0].data);
		call.out[0] = t[0];
		bytes[call.num_in] = bytes[0];
		if (posix_memalign(&call.out[0].data, 64, bytes[0] + GUARD))
			abort();
		memset(call.out[0].data, 0xa5, bytes[0] + GUARD);
	}
	memcpy(before, call.out, call.num_out * sizeof(*before));
	make_attrs(attr, call.num_attr);
	ret = op->run(&call, &err);
	c->ran += !ret;
	c->refused += ret < 0;
	c->silent += ret > 0 || (ret && !*err.text);
	for (i = 0; i < call.num_in + call.num_out; i++) {
		for (d = 0; t[i].present && d < GUARD; d++)
			c->spilled += ((unsigned char *)t[i].data)[bytes[i] + d] != 0xa5;
		if (i < call.num_in)
			continue;
		for (d = 0; d < t[i].rank; d++)
			c->grown += t[i].dim[d] < 0 || t[i].dim[d] > before[i - call.num_in].dim[d];
	}
	for (i = 0; i < call.num_in + call.num_out; i++)
		free(t[i].data);
}

/* In a process of its own, so that one that crashes is a result like others. */
static void try_op(const struct npu_host_op *op, unsigned int n)
{
	struct count *c =
		mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0;
	pid_t pid;

	if (c == MAP_FAILED)
		abort();
	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(120);
		for (unsigned int k = 0; k < n; k++)
			one(op, c);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	tap_ok(!status && !c->silent && !c->spilled && !c->grown,
	       "%s%s%s: %u calls ran, %u were refused with a reason%s", op->domain,
	       *op->domain ? "." : "", op->name, c->ran, c->refused,
	       status	    ? "; then it crashed"
	       : c->silent  ? "; some without"
	       : c->spilled ? "; bytes behind a tensor were written"
	       : c->grown   ? "; an output grew"
			    : "");
	munmap(c, sizeof(*c));
}

int main(void)
{
	const struct npu_host_op *op;

	for (unsigned int i = 0; (op = npu_host_op(i)); i++)
		try_op(op, tap_cases(4000));
	return tap_done();
}
