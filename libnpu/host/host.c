// SPDX-License-Identifier: MIT
/* Host operators: the table, attributes, element types. */
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "core/error.h"
#include "host/host.h"
#include "npu_isa_desc.h"

/* How many arguments each row's function relies on, and the function. */
static const struct {
	uint32_t in_min, in_max, out_min, out_max;
	const char *same;		/* which inputs have one type */
	int (*run)(const struct npu_host_call *call, struct npu_error *err);
} needs[] = {
#define NPU_HOST_OP(domain, name, since, in_min, in_max, out_min, out_max, same, flags, types,	\
		    limits, fn)								\
	{ in_min, (uint32_t)(in_max), out_min, (uint32_t)(out_max), same, fn },
#include "host/host_ops.def"
#undef NPU_HOST_OP
};

static int guarded_run(const struct npu_host_call *call, struct npu_error *err);

/* Every row is called through the guard, which knows it by its place. */
static const struct npu_host_op table[] = {
#define NPU_HOST_OP(domain, name, since, in_min, in_max, out_min, out_max, same, flags, types,	\
		    limits, fn)								\
	{ domain, #name, since, flags, types, limits, guarded_run, NULL },
#include "host/host_ops.def"
#undef NPU_HOST_OP
};

#define NUM_OPS	(sizeof(table) / sizeof(table[0]))

/* The letter of input @i; '.': any type. */
static char type_letter(const char *same, uint32_t i)
{
	size_t len = strlen(same);

	if (i < len && same[i] != '+')
		return same[i];
	return len > 1 && same[len - 1] == '+' ? same[len - 2] : '.';
}

bool npu_host_same_types(const struct npu_host_op *op, uint32_t count,
			 uint32_t (*dtype)(const void *ctx, uint32_t i), const void *ctx,
			 uint32_t *a, uint32_t *b)
{
	uint32_t first[128] = { 0 }, i;	/* by letter: 1 + the first input of it */
	const char *same;
	unsigned char letter;

	if (op < table || op >= table + NUM_OPS)
		return true;
	same = needs[op - table].same;
	for (i = 0; i < count; i++) {
		letter = (unsigned char)type_letter(same, i) & 127;
		if (letter == '.' || !dtype(ctx, i))
			continue;
		if (!first[letter])
			first[letter] = i + 1;
		*a = first[letter] - 1;
		*b = i;
		if (dtype(ctx, *a) != dtype(ctx, i))
			return false;
	}
	return true;
}

static uint32_t call_dtype(const void *ctx, uint32_t i)
{
	const struct npu_host_call *call = ctx;

	return call->in[i].present ? call->in[i].dtype : 0;
}

static int check_types(const struct npu_host_call *call, struct npu_error *err)
{
	uint32_t a, b;

	if (npu_host_same_types(call->op, call->num_in, call_dtype, call, &a, &b))
		return 0;
	return npu_host_fail(call, err, -EINVAL,
			     "inputs '%.60s' (%s) and '%.60s' (%s) have to be of one type",
			     call->in[a].name, npu_host_dtype_name(call->in[a].dtype),
			     call->in[b].name, npu_host_dtype_name(call->in[b].dtype));
}

/* A job file may leave out what an operator can not do without. */
static int guarded_run(const struct npu_host_call *call, struct npu_error *err)
{
	uint32_t i;
	size_t row;
	int ret;

	if (call->op < table || call->op >= table + NUM_OPS)
		return npu_host_fail(call, err, -EINVAL, "the operator is none of libnpu's");
	row = (size_t)(call->op - table);
	if (call->num_in < needs[row].in_min || call->num_in > needs[row].in_max ||
	    call->num_out < needs[row].out_min || call->num_out > needs[row].out_max)
		return npu_host_fail(call, err, -EINVAL, "%u inputs and %u outputs", call->num_in,
				     call->num_out);
	/* of any number all are used */
	for (i = 0; i < (needs[row].in_max == UINT32_MAX ? call->num_in : needs[row].in_min); i++)
		if (!call->in[i].present)
			return npu_host_fail(call, err, -EINVAL, "input %u is missing", i);
	for (i = 0; i < needs[row].out_min; i++)
		if (!call->out[i].present)
			return npu_host_fail(call, err, -EINVAL, "output %u is missing", i);
	ret = check_types(call, err);
	if (!ret)
		ret = needs[row].run(call, err);
	/* what went wrong on the way out does not matter */
	return ret && npu_host_stopped(call) ? npu_host_fail(call, err, -ECANCELED, "cancelled")
					     : ret;
}

const struct npu_host_op *npu_host_op(unsigned int i)
{
	return i < NUM_OPS ? &table[i] : NULL;
}

const struct npu_host_op *npu_host_op_find_in(const struct npu_host_op *own, unsigned int num_own,
					      const char *domain, const char *name)
{
	unsigned int i;

	if (!strcmp(domain, "ai.onnx"))
		domain = "";
	for (i = 0; i < num_own; i++)
		if (!strcmp(own[i].name, name) && !strcmp(own[i].domain, domain))
			return &own[i];
	for (i = 0; i < NUM_OPS; i++)
		if (!strcmp(table[i].name, name) && !strcmp(table[i].domain, domain))
			return &table[i];
	return NULL;
}

const struct npu_host_op *npu_host_op_find(const char *domain, const char *name)
{
	return npu_host_op_find_in(NULL, 0, domain, name);
}

/* ---- element types --------------------------------------------------------------------------- */

#define HOST_TYPE(dtype, bytes, text)	[(dtype) - NPU_HOST_F64] = { bytes, text }

static const struct {
	size_t size;
	const char *name;
} host_types[] = {
	HOST_TYPE(NPU_HOST_F64, 8, "f64"), HOST_TYPE(NPU_HOST_I16, 2, "i16"),
	HOST_TYPE(NPU_HOST_U16, 2, "u16"), HOST_TYPE(NPU_HOST_U32, 4, "u32"),
	HOST_TYPE(NPU_HOST_U64, 8, "u64"),
};

size_t npu_host_dtype_size(uint32_t dtype)
{
	if (dtype >= NPU_HOST_F64)
		return dtype < NPU_HOST_DTYPES_END ? host_types[dtype - NPU_HOST_F64].size : 0;
	if (dtype >= NPU_NUM_DTYPES || npu_dtype_bits(dtype) % 8)
		return 0;
	return npu_dtype_bits(dtype) / 8;
}

const char *npu_host_dtype_name(uint32_t dtype)
{
	if (dtype >= NPU_HOST_F64)
		return dtype < NPU_HOST_DTYPES_END ? host_types[dtype - NPU_HOST_F64].name : "?";
	return dtype < NPU_NUM_DTYPES ? npu_dtype_name(dtype) : "?";
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool share_bytes(const struct npu_host_tensor *a, const struct npu_host_tensor *b)
{
	uintptr_t at_a = (uintptr_t)a->data, at_b = (uintptr_t)b->data;
	uint64_t size_a = (uint64_t)npu_host_elems(a) * npu_host_dtype_size(a->dtype);
	uint64_t size_b = (uint64_t)npu_host_elems(b) * npu_host_dtype_size(b->dtype);

	return a->present && b->present && at_a < at_b + size_b && at_b < at_a + size_a;
}

int npu_host_check_places(const struct npu_host_call *call, struct npu_error *err)
{
	uint32_t o, i;

	for (o = 0; o < call->num_out; o++) {
		for (i = 0; i < call->num_in; i++)
			if (share_bytes(&call->out[o], &call->in[i]))
				return npu_host_fail(call, err, -EINVAL,
						     "output '%s' shares memory with input '%s'",
						     call->out[o].name, call->in[i].name);
		for (i = 0; i < o; i++)
			if (share_bytes(&call->out[o], &call->out[i]))
				return npu_host_fail(call, err, -EINVAL,
						     "outputs '%s' and '%s' share memory",
						     call->out[o].name, call->out[i].name);
	}
	return 0;
}

const struct npu_host_tensor *npu_host_in(const struct npu_host_call *call, uint32_t i)
{
	return i < call->num_in && call->in[i].present ? &call->in[i] : NULL;
}

struct npu_host_tensor *npu_host_out(const struct npu_host_call *call, uint32_t i)
{
	return i < call->num_out && call->out[i].present ? &call->out[i] : NULL;
}

/* Only how soon it is seen matters, nothing is read because of it. */
bool npu_host_stopped(const struct npu_host_call *call)
{
	const atomic_bool *stop = call->stop;

	return stop && atomic_load_explicit(stop, memory_order_relaxed);
}

int64_t npu_host_elems(const struct npu_host_tensor *t)
{
	int64_t n = 1;
	uint32_t d;

	for (d = 0; d < t->rank; d++)
		n *= t->dim[d];
	return n;
}

int npu_host_fail(const struct npu_host_call *call, struct npu_error *err, int code,
		  const char *fmt, ...)
{
	char text[NPU_ERROR_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return npu_error_set(err, code, "node '%.100s' (%s) on the host: %s", call->node,
			     call->op->name, text);
}

int npu_host_bad_type(const struct npu_host_call *call, const struct npu_host_tensor *t,
		      struct npu_error *err)
{
	return npu_host_fail(call, err, -ENOTSUP, "'%s' has the type %s, supported: %s", t->name,
			     npu_host_dtype_name(t->dtype), call->op->types);
}

int npu_host_check(const struct npu_host_call *call, uint32_t in_min, uint32_t in_max,
		   uint32_t out_max, struct npu_error *err)
{
	uint32_t i;

	if (call->num_in < in_min || call->num_in > in_max || !call->num_out ||
	    call->num_out > out_max)
		return npu_host_fail(call, err, -EINVAL,
				     "%u inputs and %u outputs, expected %u to %u and 1 to %u",
				     call->num_in, call->num_out, in_min, in_max, out_max);
	for (i = 0; i < in_min; i++)
		if (!call->in[i].present)
			return npu_host_fail(call, err, -EINVAL, "input %u is missing", i);
	return 0;
}

int npu_host_shape(const struct npu_host_call *call, uint32_t i, uint32_t dtype, uint32_t rank,
		   const int64_t *dim, struct npu_error *err)
{
	const bool open = call->op->flags & (NPU_HOST_BOUNDED | NPU_HOST_FOLLOWS);
	struct npu_host_tensor *out = npu_host_out(call, i);
	uint32_t d;

	if (!out)
		return 0;
	if (out->dtype != dtype || out->rank != rank)
		return npu_host_fail(call, err, -EINVAL,
				     "output %u is %s of rank %u, expected %s of rank %u", i,
				     npu_host_dtype_name(out->dtype), out->rank,
				     npu_host_dtype_name(dtype), rank);
	for (d = 0; d < rank; d++)
		if (dim[d] < 0 || (open ? dim[d] > out->dim[d] : dim[d] != out->dim[d]))
			return npu_host_fail(call, err, -EINVAL,
					     "dimension %u of output %u is %lld, the inputs make it %lld",
					     d, i, (long long)out->dim[d], (long long)dim[d]);
	if (rank)
		memcpy(out->dim, dim, rank * sizeof(*dim));
	return 0;
}

const struct npu_host_attr *npu_host_attr(const struct npu_host_call *call, const char *name,
					  uint32_t kind)
{
	uint32_t i;

	for (i = 0; i < call->num_attr; i++)
		if (call->attr[i].kind == kind && !strcmp(call->attr[i].name, name))
			return &call->attr[i];
	return NULL;
}

int64_t npu_host_int(const struct npu_host_call *call, const char *name, int64_t def)
{
	const struct npu_host_attr *a = npu_host_attr(call, name, NPU_HOST_INT);

	return a ? a->i : def;
}

double npu_host_float(const struct npu_host_call *call, const char *name, double def)
{
	const struct npu_host_attr *a = npu_host_attr(call, name, NPU_HOST_FLOAT);

	return a ? a->f : def;
}

const char *npu_host_string(const struct npu_host_call *call, const char *name, const char *def)
{
	const struct npu_host_attr *a = npu_host_attr(call, name, NPU_HOST_STRING);

	return a ? a->s : def;
}

const int64_t *npu_host_ints(const struct npu_host_call *call, const char *name, uint32_t *count)
{
	const struct npu_host_attr *a = npu_host_attr(call, name, NPU_HOST_INTS);

	*count = a ? a->count : 0;
	return a ? a->ints : NULL;
}

const float *npu_host_floats(const struct npu_host_call *call, const char *name, uint32_t *count)
{
	const struct npu_host_attr *a = npu_host_attr(call, name, NPU_HOST_FLOATS);

	*count = a ? a->count : 0;
	return a ? a->floats : NULL;
}

const char *const *npu_host_strings(const struct npu_host_call *call, const char *name,
				    uint32_t *count)
{
	const struct npu_host_attr *a = npu_host_attr(call, name, NPU_HOST_STRINGS);

	*count = a ? a->count : 0;
	return a ? a->strings : NULL;
}
