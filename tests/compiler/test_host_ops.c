// SPDX-License-Identifier: MIT
/*
 * The host operators by themselves, without compiler and job file: every conformance test of ONNX
 * that is a single node of one of them is called as a job would, and compared with the values that
 * ship with it; then again with wrong types, shapes, counts, attributes and values, as a job file
 * may have them. With names as arguments only tests whose name contains one of them.
 */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/host.h"
#include "onnx_case.h"
#include "tap.h"

#define MAX_ATTRS	16

static struct {
	unsigned int right, wrong, other;
	unsigned int damaged, refused, unsafe;
	bool seen[512];		/* rows of the table that were called */
} count;

static uint32_t host_type(enum npu_npy_type type, int onnx)
{
	static const uint32_t map[NPU_NPY_TYPES] = {
		[NPU_NPY_F32] = NPU_F32, [NPU_NPY_F16] = NPU_F16, [NPU_NPY_F64] = NPU_HOST_F64,
		[NPU_NPY_I64] = NPU_I64, [NPU_NPY_I32] = NPU_I32, [NPU_NPY_I16] = NPU_HOST_I16,
		[NPU_NPY_I8] = NPU_I8, [NPU_NPY_U64] = NPU_HOST_U64, [NPU_NPY_U32] = NPU_HOST_U32,
		[NPU_NPY_U16] = NPU_HOST_U16, [NPU_NPY_U8] = NPU_U8, [NPU_NPY_BOOL] = NPU_BOOL,
	};

	return onnx == ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16 ? NPU_BF16 : map[type];
}

static void tensor_of(struct npu_host_tensor *t, const struct npu_npy *arr, const char *name,
		      int onnx)
{
	*t = (struct npu_host_tensor){ .name = name,
				       .dtype = host_type(arr->type, onnx),
				       .rank = (uint32_t)arr->rank,
				       .data = arr->data,
				       .present = true };
	memcpy(t->dim, arr->dims, (size_t)arr->rank * sizeof(t->dim[0]));
}

/* The bytes of a message have no end of their own. */
static char *string_of(const ProtobufCBinaryData *d)
{
	char *s = malloc(d->len + 1);

	if (s) {
		if (d->len)
			memcpy(s, d->data, d->len);
		s[d->len] = 0;
	}
	return s;
}

static bool attr_of(struct npu_host_attr *a, const Onnx__AttributeProto *p)
{
	*a = (struct npu_host_attr){ .name = p->name, .count = 1 };
	switch (p->type) {
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
		a->kind = NPU_HOST_INT;
		a->i = p->i;
		return true;
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
		a->kind = NPU_HOST_FLOAT;
		a->f = p->f;
		return true;
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
		a->kind = NPU_HOST_STRING;
		a->s = string_of(&p->s);
		return true;
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
		a->kind = NPU_HOST_INTS;
		a->count = (uint32_t)p->n_ints;
		a->ints = p->ints;
		return true;
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
		a->kind = NPU_HOST_FLOATS;
		a->count = (uint32_t)p->n_floats;
		a->floats = p->floats;
		return true;
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS: {
		const char **list = calloc(p->n_strings + 1, sizeof(*list));

		for (size_t i = 0; list && i < p->n_strings; i++)
			list[i] = string_of(&p->strings[i]);
		a->kind = NPU_HOST_STRINGS;
		a->count = (uint32_t)p->n_strings;
		a->strings = list;
		return true;
	}
	default:
		return false;
	}
}

static void attr_free(struct npu_host_attr *a)
{
	free((void *)a->s);
	for (uint32_t i = 0; a->strings && i < a->count; i++)
		free((void *)a->strings[i]);
	free((void *)a->strings);
}

/* Index of the array called @name, -1 when there is none. */
static int find(const struct named_array *list, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(list[i].name, name))
			return i;
	return -1;
}

static int onnx_type(Onnx__ValueInfoProto **info, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(info[i]->name, name))
			return info[i]->type->tensor_type->elem_type;
	return 0;
}

struct prepared {
	struct npu_host_tensor in[CASE_IO_MAX], out[CASE_IO_MAX];
	struct npu_host_attr attr[MAX_ATTRS];
	struct npu_npy result[CASE_IO_MAX];
	struct npu_host_call call;
};

static bool prepare(struct prepared *p, const struct onnx_case *c, const Onnx__NodeProto *node)
{
	const Onnx__GraphProto *g = c->model->graph;
	int k;

	for (size_t i = 0; i < node->n_input; i++) {
		k = find(c->in, c->num_in, node->input[i]);
		if (k < 0 && *node->input[i])
			return false;
		if (k >= 0)
			tensor_of(&p->in[i], &c->in[k].arr, node->input[i],
				  onnx_type(g->input, g->n_input, node->input[i]));
	}
	for (size_t i = 0; i < node->n_output; i++) {
		k = find(c->want, c->num_want, node->output[i]);
		if (k < 0 && *node->output[i])
			return false;
		if (k >= 0 && array_alloc(&p->result[i], c->want[k].arr.type, c->want[k].arr.rank,
					  c->want[k].arr.dims))
			return false;
		if (k >= 0)
			tensor_of(&p->out[i], &p->result[i], node->output[i],
				  onnx_type(g->output, g->n_output, node->output[i]));
	}
	for (size_t i = 0; i < node->n_attribute; i++)
		if (i == MAX_ATTRS || !attr_of(&p->attr[p->call.num_attr++], node->attribute[i]))
			return false;
	p->call.num_in = (uint32_t)node->n_input;
	p->call.num_out = (uint32_t)node->n_output;
	p->call.node = node->name ? node->name : "";
	p->call.in = p->in;
	p->call.out = p->out;
	p->call.attr = p->attr;
	return true;
}

/* The data of these were made with a short pi, or are written down with four digits. */
static double tolerance(const char *name)
{
	return strstr(name, "window") || strstr(name, "roialign") ? 1e-4 : 1e-5;
}

static void run(const char *name, const struct onnx_case *c, const Onnx__NodeProto *node,
		struct prepared *p)
{
	struct npu_error err = { 0 };
	char text[300] = "";
	bool ok = !p->call.op->run(&p->call, &err);

	if (!ok)
		tap_diag("%s: %s", name, err.text);
	for (size_t i = 0; i < node->n_output && ok; i++) {
		int k = find(c->want, c->num_want, node->output[i]);

		if (k < 0)
			continue;
		memcpy(p->result[i].dims, p->out[i].dim, sizeof(p->out[i].dim));
		p->result[i].count = (size_t)npu_host_elems(&p->out[i]);
		ok = onnx_case_same(&p->result[i], &c->want[k].arr, tolerance(name), true, text,
				    sizeof(text));
		if (!ok)
			tap_diag("%s output %s: %s", name, node->output[i], text);
	}
	count.right += ok;
	count.wrong += !ok;
}

/* ---- the same calls, damaged ----------------------------------------------------------------- */

#define DAMAGED		24	/* variants of each call */
#define GUARD		64
#define ELEMS_MAX	(1 << 14)

static unsigned long long state = 0x9e3779b97f4a7c15ull;

static unsigned int rnd(unsigned int n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned int)(state >> 33) % n;
}

static int64_t odd_number(void)
{
	static const int64_t odd[] = { -1, 0, 1, 2, 3, 7, -2, -9, 100, INT64_MAX, INT64_MIN };

	return odd[rnd(sizeof(odd) / sizeof(odd[0]))];
}

static void damage_tensor(struct npu_host_tensor *t)
{
	static const uint32_t types[] = { NPU_F32,	NPU_F16,     NPU_I8,   NPU_U8,
					  NPU_I32,	NPU_I64,     NPU_BOOL, NPU_HOST_F64,
					  NPU_HOST_I16, NPU_HOST_U64 };

	switch (rnd(7)) {
	case 0:
		t->dtype = types[rnd(sizeof(types) / sizeof(types[0]))];
		break;
	case 1:
		t->present = false;
		break;
	case 2:
		if (t->rank < NPU_TENSOR_MAX_RANK)
			t->dim[t->rank++] = rnd(3);
		break;
	case 3:
		t->rank -= t->rank > 0;
		break;
	default:
		if (t->rank)
			t->dim[rnd(t->rank)] = rnd(9);
	}
}

/* Lists are the test's; a damaged one is shorter. */
static void damage_attr(struct npu_host_attr *a)
{
	a->i = odd_number();
	if (a->kind == NPU_HOST_FLOAT)
		a->f = rnd(2) ? (double)odd_number() : NAN;
	if (a->count)
		a->count = rnd(a->count + 1);
	if (!rnd(3))
		a->name = "other";
}

static void damage(struct npu_host_call *call, struct npu_host_tensor *in,
		   struct npu_host_tensor *out, struct npu_host_attr *attr)
{
	switch (rnd(8)) {
	case 0: case 1: case 2:
		if (call->num_in)
			damage_tensor(&in[rnd(call->num_in)]);
		break;
	case 3: case 4:
		if (call->num_out)
			damage_tensor(&out[rnd(call->num_out)]);
		break;
	case 5:
		if (call->num_attr)
			damage_attr(&attr[rnd(call->num_attr)]);
		break;
	case 6:
		if (rnd(2))
			call->num_in -= call->num_in > 0;
		else
			call->num_out -= call->num_out > 0;
		break;
	default:
		break;	/* data only */
	}
}

/*
 * Memory of exactly the tensor's size, and a guard; what there was is copied. Negative: too large.
 */
static int64_t own_memory(struct npu_host_tensor *t, const struct npu_host_tensor *old)
{
	int64_t n = npu_host_elems(t);
	size_t bytes, have;

	if (n > ELEMS_MAX)
		return -1;
	bytes = (size_t)n * npu_host_dtype_size(t->dtype);
	have = old->present ? (size_t)npu_host_elems(old) * npu_host_dtype_size(old->dtype) : 0;
	t->data = malloc(bytes + GUARD);
	if (!t->data)
		return -1;
	memset(t->data, 0xa5, bytes + GUARD);
	if (have && bytes)
		memcpy(t->data, old->data, have < bytes ? have : bytes);
	if (n && !rnd(3))
		npu_host_set_int(t, rnd((unsigned int)n), odd_number());
	return (int64_t)bytes;
}

static bool intact(const struct npu_host_tensor *t, int64_t bytes)
{
	for (int i = 0; t->data && bytes >= 0 && i < GUARD; i++)
		if (((unsigned char *)t->data)[bytes + i] != 0xa5)
			return false;
	return true;
}

/* Whatever is wrong, the operator comes back, with a reason if it refuses, and stays inside. */
static void run_damaged(const char *name, const struct prepared *p)
{
	struct npu_host_tensor in[CASE_IO_MAX], out[CASE_IO_MAX];
	struct npu_host_attr attr[MAX_ATTRS];
	struct npu_host_call call = p->call;
	struct npu_error err = { 0 };
	int64_t in_bytes[CASE_IO_MAX], out_bytes[CASE_IO_MAX];
	bool fits = true, inside = true;
	int ret;

	memcpy(in, p->in, sizeof(in));
	memcpy(out, p->out, sizeof(out));
	memcpy(attr, p->attr, sizeof(attr));
	damage(&call, in, out, attr);
	if (!rnd(3))
		damage(&call, in, out, attr);
	for (int i = 0; i < CASE_IO_MAX; i++) {
		in[i].data = out[i].data = NULL;
		in_bytes[i] = in[i].present ? own_memory(&in[i], &p->in[i]) : 0;
		out_bytes[i] = out[i].present ? own_memory(&out[i], &p->out[i]) : 0;
		fits = fits && in_bytes[i] >= 0 && out_bytes[i] >= 0;
	}
	call.in = in;
	call.out = out;
	call.attr = attr;
	if (fits) {
		ret = call.op->run(&call, &err);
		count.damaged++;
		count.refused += ret != 0;
		for (int i = 0; i < CASE_IO_MAX; i++)
			inside = inside && intact(&in[i], in_bytes[i]) &&
				 intact(&out[i], out_bytes[i]);
		if (!inside || (ret && !*err.text)) {
			tap_diag("%s, damaged: %s", name,
				 inside ? "refused without a reason" : "wrote beyond its tensors");
			count.unsafe++;
		}
	}
	for (int i = 0; i < CASE_IO_MAX; i++) {
		free(in[i].data);
		free(out[i].data);
	}
}

static void check_case(const char *name, const struct onnx_case *c)
{
	const Onnx__GraphProto *g = c->model->graph;
	const Onnx__NodeProto *node = g->n_node == 1 ? g->node[0] : NULL;
	const struct npu_host_op *op = NULL;
	struct prepared p;
	int64_t opset = 0;

	memset(&p, 0, sizeof(p));
	for (size_t i = 0; i < c->model->n_opset_import; i++)
		if (!c->model->opset_import[i]->domain || !*c->model->opset_import[i]->domain)
			opset = c->model->opset_import[i]->version;
	if (node && !*c->incomparable)
		op = npu_host_op_find(node->domain ? node->domain : "", node->op_type);
	p.call.op = op;
	p.call.opset = (uint32_t)opset;
	if (op && opset >= op->since && node->n_input <= CASE_IO_MAX &&
	    node->n_output <= CASE_IO_MAX && prepare(&p, c, node)) {
		run(name, c, node, &p);
		for (int i = 0; i < DAMAGED; i++)
			run_damaged(name, &p);
		for (unsigned int i = 0; npu_host_op(i); i++)
			count.seen[i] |= npu_host_op(i) == op;
	} else {
		count.other++;
	}
	for (uint32_t i = 0; i < p.call.num_attr; i++)
		attr_free(&p.attr[i]);
	for (int i = 0; i < CASE_IO_MAX; i++)
		npu_npy_free(&p.result[i]);
}

static bool wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strstr(name, argv[i]))
			return true;
	return argc < 2;
}

/*
 * Expected values that are other than what the operator's text says: see test_onnx_node.c. Ours
 * stand beside ONNX Runtime's.
 */
static bool known_bad(const char *name)
{
	return strstr(name, "resize_downsample_scales_cubic_align_corners") ||
	       strstr(name, "resize_downsample_scales_linear_align_corners") ||
	       strstr(name, "BFLOAT16");
}

int main(int argc, char **argv)
{
	const char *models = getenv("NPU_MODELS");
	struct dirent **entry;
	char base[300], dir[600];
	unsigned int rows, seen = 0;
	int n;

	snprintf(base, sizeof(base), "%s/onnx-tests/node", models ? models : "build/models");
	n = scandir(base, &entry, NULL, alphasort);
	if (n < 0) {
		tap_skip("host operators",
			 "no test data; scripts/models.sh onnx-tests fetches them");
		return tap_done();
	}
	for (int i = 0; i < n; i++) {
		struct onnx_case c;

		snprintf(dir, sizeof(dir), "%s/%s", base, entry[i]->d_name);
		if (*entry[i]->d_name != '.' && wanted(entry[i]->d_name, argc, argv) &&
		    !known_bad(entry[i]->d_name)) {
			if (onnx_case_read(&c, dir) && c.model && c.model->graph)
				check_case(entry[i]->d_name, &c);
			onnx_case_free(&c);
		}
		free(entry[i]);
	}
	free(entry);
	for (rows = 0; npu_host_op(rows); rows++) {
		seen += count.seen[rows];
		if (!count.seen[rows] && argc < 2)
			tap_diag("%s is in no test", npu_host_op(rows)->name);
	}
	tap_diag(
		"%u tests of %u of %u host operators are right, %u wrong; %u are not single nodes of one",
		count.right, seen, rows, count.wrong, count.other);
	tap_ok(!count.wrong, "no host operator computes a conformance test wrongly");
	tap_ok(!count.unsafe,
	       "of %u damaged calls %u are refused with a reason, and all stay inside their tensors",
	       count.damaged, count.refused);
	if (argc < 2)
		tap_ok(count.right >= 560, "at least 560 tests reach host operators (%u)",
		       count.right);
	return tap_done();
}
