// SPDX-License-Identifier: MIT
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_case.h"
#include "tools/common/file.h"

/* bfloat16 has no type in NumPy's files: its 16 bits are compared as they are. */
static int npy_from_onnx(int type)
{
	switch (type) {
	case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT: return NPU_NPY_F32;
	case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16: return NPU_NPY_F16;
	case ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE: return NPU_NPY_F64;
	case ONNX__TENSOR_PROTO__DATA_TYPE__INT64: return NPU_NPY_I64;
	case ONNX__TENSOR_PROTO__DATA_TYPE__INT32: return NPU_NPY_I32;
	case ONNX__TENSOR_PROTO__DATA_TYPE__INT16: return NPU_NPY_I16;
	case ONNX__TENSOR_PROTO__DATA_TYPE__INT8: return NPU_NPY_I8;
	case ONNX__TENSOR_PROTO__DATA_TYPE__UINT64: return NPU_NPY_U64;
	case ONNX__TENSOR_PROTO__DATA_TYPE__UINT32: return NPU_NPY_U32;
	case ONNX__TENSOR_PROTO__DATA_TYPE__UINT16:
	case ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16: return NPU_NPY_U16;
	case ONNX__TENSOR_PROTO__DATA_TYPE__UINT8: return NPU_NPY_U8;
	case ONNX__TENSOR_PROTO__DATA_TYPE__BOOL: return NPU_NPY_BOOL;
	default: return -1;
	}
}

/* Element @i of a tensor whose values are in a typed field. */
static void typed_element(const Onnx__TensorProto *t, size_t i, void *to, size_t size)
{
	if (i < t->n_float_data)
		memcpy(to, &t->float_data[i], sizeof(float));
	else if (i < t->n_double_data)
		memcpy(to, &t->double_data[i], sizeof(double));
	else if (i < t->n_int64_data)
		memcpy(to, &t->int64_data[i], sizeof(int64_t));
	else if (i < t->n_uint64_data)
		memcpy(to, &t->uint64_data[i], size);
	else if (i < t->n_int32_data)
		memcpy(to, &t->int32_data[i], size);
}

static const char *fill(const Onnx__TensorProto *t, struct npu_npy *arr)
{
	int64_t dims[NPU_NPY_RANK_MAX];
	int type = npy_from_onnx(t->data_type);
	size_t i, size;

	if (type < 0)
		return t->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__STRING ?
			       "a tensor of strings" : "a tensor of a type that NumPy lacks";
	if (t->n_dims > NPU_NPY_RANK_MAX)
		return "a tensor of too many dimensions";
	for (i = 0; i < t->n_dims; i++)
		dims[i] = t->dims[i];
	if (array_alloc(arr, (enum npu_npy_type)type, (int)t->n_dims, dims))
		return "no memory";
	size = npu_npy_type_size(arr->type);
	if (t->has_raw_data && t->raw_data.len == arr->count * size) {
		if (t->raw_data.len)
			memcpy(arr->data, t->raw_data.data, t->raw_data.len);
		return NULL;
	}
	if (t->has_raw_data || arr->count != t->n_float_data + t->n_double_data + t->n_int64_data +
						    t->n_uint64_data + t->n_int32_data)
		return "a tensor whose values do not fill its shape";
	for (i = 0; i < arr->count; i++)
		typed_element(t, i, (char *)arr->data + i * size, size);
	return NULL;
}

/* -ENOENT: there is no such file. Anything else that does not hold one tensor is -ENOTSUP. */
static int read_tensor(const char *path, struct npu_npy *arr, const char **why)
{
	Onnx__TensorProto *t;
	struct npu_error reason;
	uint8_t *data;
	size_t size;

	if (npu_file_read(path, 1 << 28, &data, &size, &reason))
		return -ENOENT;
	t = onnx__tensor_proto__unpack(NULL, size, data);
	free(data);
	*why = !t ? "not a tensor" : fill(t, arr);
	if (t)
		onnx__tensor_proto__free_unpacked(t, NULL);
	return *why ? -ENOTSUP : 0;
}

static bool is_initializer(const Onnx__GraphProto *g, const char *name)
{
	for (size_t i = 0; i < g->n_initializer; i++)
		if (g->initializer[i]->name && !strcmp(g->initializer[i]->name, name))
			return true;
	return false;
}

static bool is_tensor(const Onnx__ValueInfoProto *info)
{
	return !info->type || info->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
	       info->type->value_case == ONNX__TYPE_PROTO__VALUE__NOT_SET;
}

/* input_0.pb, input_1.pb, ... in the order of the model's inputs; the same for outputs. */
static int read_set(struct onnx_case *c, const char *dir, const char *what,
		    Onnx__ValueInfoProto **info, size_t n, struct named_array *out)
{
	int count = 0, file = 0;

	for (size_t i = 0; i < n && count < CASE_IO_MAX; i++) {
		const char *why = NULL;
		char path[1100];
		int err;

		if (is_initializer(c->model->graph, info[i]->name))
			continue;
		snprintf(path, sizeof(path), "%s/test_data_set_0/%s_%d.pb", dir, what, file++);
		snprintf(out[count].name, sizeof(out[count].name), "%s", info[i]->name);
		if (!is_tensor(info[i]))
			why = "not a tensor but a sequence or an optional value";
		err = why ? -ENOTSUP : read_tensor(path, &out[count].arr, &why);
		if (err == -ENOENT)
			continue;
		if (err && !*c->incomparable)
			snprintf(c->incomparable, sizeof(c->incomparable), "%s %d is %s", what,
				 file - 1, why);
		count++;
	}
	return count;
}

bool onnx_case_read(struct onnx_case *c, const char *dir)
{
	struct npu_error why;
	Onnx__GraphProto *g;
	char path[1100];

	memset(c, 0, sizeof(*c));
	snprintf(path, sizeof(path), "%s/model.onnx", dir);
	if (npu_file_read(path, 1 << 28, &c->data, &c->size, &why))
		return false;
	c->model = onnx__model_proto__unpack(NULL, c->size, c->data);
	g = c->model ? c->model->graph : NULL;
	if (g) {
		c->num_in = read_set(c, dir, "input", g->input, g->n_input, c->in);
		c->num_want = read_set(c, dir, "output", g->output, g->n_output, c->want);
	}
	if (!c->num_want && !*c->incomparable)
		snprintf(c->incomparable, sizeof(c->incomparable), "there are no expected values");
	return true;
}

void onnx_case_free(struct onnx_case *c)
{
	for (int i = 0; i < CASE_IO_MAX; i++) {
		npu_npy_free(&c->in[i].arr);
		npu_npy_free(&c->want[i].arr);
	}
	if (c->model)
		onnx__model_proto__free_unpacked(c->model, NULL);
	free(c->data);
}

static int onnx_type_of(const struct onnx_case *c, const char *name)
{
	const Onnx__GraphProto *g = c->model->graph;

	for (size_t i = 0; i < g->n_input; i++)
		if (!strcmp(g->input[i]->name, name) && g->input[i]->type &&
		    g->input[i]->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
			return g->input[i]->type->tensor_type->elem_type;
	return 0;
}

uint8_t *onnx_case_constants(const struct onnx_case *c, int keep, size_t *size)
{
	Onnx__GraphProto *g = c->model->graph;
	Onnx__TensorProto tensor[CASE_IO_MAX], **old = g->initializer, **list;
	size_t n = g->n_initializer, num_old = n;
	uint8_t *data;

	if (c->num_in < (keep < 0 ? 1 : 2) || keep >= c->num_in)
		return NULL;
	list = calloc(n + CASE_IO_MAX, sizeof(*list));
	for (size_t i = 0; list && i < n; i++)
		list[i] = old[i];
	for (int i = 0; list && i < c->num_in; i++) {
		if (i == keep)
			continue;
		onnx__tensor_proto__init(&tensor[i]);
		tensor[i].name = (char *)c->in[i].name;
		tensor[i].n_dims = (size_t)c->in[i].arr.rank;
		tensor[i].dims = (int64_t *)c->in[i].arr.dims;
		tensor[i].has_data_type = 1;
		tensor[i].data_type = onnx_type_of(c, c->in[i].name);
		tensor[i].has_raw_data = 1;
		tensor[i].raw_data.data = c->in[i].arr.data;
		tensor[i].raw_data.len = c->in[i].arr.count * npu_npy_type_size(c->in[i].arr.type);
		list[n++] = &tensor[i];
	}
	if (!list)
		return NULL;
	g->initializer = list;
	g->n_initializer = n;
	*size = onnx__model_proto__get_packed_size(c->model);
	data = malloc(*size + 1);
	if (data)
		onnx__model_proto__pack(c->model, data);
	g->initializer = old;
	g->n_initializer = num_old;
	free(list);
	return data;
}

static bool is_float(enum npu_npy_type type)
{
	return type == NPU_NPY_F32 || type == NPU_NPY_F16 || type == NPU_NPY_F64;
}

bool onnx_case_same(const struct npu_npy *got, const struct npu_npy *want, double limit,
		    bool relative_to_top, char *text, size_t size)
{
	double top = 1;

	if (got->type != want->type || got->rank != want->rank || got->count != want->count ||
	    memcmp(got->dims, want->dims, (size_t)want->rank * sizeof(want->dims[0]))) {
		snprintf(text, size,
			 "type %s rank %d with %zu elements, expected %s rank %d with %zu",
			 npu_npy_type_name(got->type), got->rank, got->count,
			 npu_npy_type_name(want->type), want->rank, want->count);
		return false;
	}
	if (!is_float(want->type)) {
		if (!want->count ||
		    !memcmp(got->data, want->data, want->count * npu_npy_type_size(want->type)))
			return true;
		snprintf(text, size, "integers differ");
		for (size_t i = 0; i < want->count; i++)
			if (array_at(got, i) != array_at(want, i)) {
				snprintf(text, size, "element %zu is %.20g, expected %.20g", i,
					 array_at(got, i), array_at(want, i));
				break;
			}
		return false;
	}
	if (want->type == NPU_NPY_F16 && limit < 4e-3)
		limit = 4e-3;
	for (size_t i = 0; i < want->count && relative_to_top; i++)
		if (isfinite(array_at(want, i)) && fabs(array_at(want, i)) > top)
			top = fabs(array_at(want, i));
	for (size_t i = 0; i < got->count; i++) {
		double a = array_at(got, i), b = array_at(want, i);

		if (a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= limit * (top + fabs(b)))
			continue;
		snprintf(text, size, "element %zu is %.9g, expected %.9g", i, a, b);
		return false;
	}
	return true;
}
