// SPDX-License-Identifier: MIT
/*
 * TensorProto: element types, typed and raw data. Values stay in the unpacked model when they can.
 */
#include <errno.h>
#include <string.h>

#include "compiler/onnx_import.h"

enum npu_gtype npu_onnx_type(int data_type)
{
	static const enum npu_gtype map[] = {
		[1] = NPU_GT_F32,  [2] = NPU_GT_U8,    [3] = NPU_GT_I8,	  [4] = NPU_GT_U16,
		[5] = NPU_GT_I16,  [6] = NPU_GT_I32,   [7] = NPU_GT_I64,  [8] = NPU_GT_STRING,
		[9] = NPU_GT_BOOL, [10] = NPU_GT_F16,  [11] = NPU_GT_F64, [12] = NPU_GT_U32,
		[13] = NPU_GT_U64, [16] = NPU_GT_BF16,
	};

	if (data_type < 0 || (size_t)data_type >= sizeof(map) / sizeof(map[0]))
		return NPU_GT_NONE;
	return map[data_type];
}

const char *npu_onnx_type_name(int data_type)
{
	static const char *const names[] = {
		"undefined",	  "float",    "uint8",	      "int8",		"uint16",
		"int16",	  "int32",    "int64",	      "string",		"bool",
		"float16",	  "double",   "uint32",	      "uint64",		"complex64",
		"complex128",	  "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
		"float8e5m2fnuz", "uint4",    "int4",	      "float4e2m1",	"float8e8m0",
	};

	return data_type >= 0 && (size_t)data_type < sizeof(names) / sizeof(names[0]) ?
		       names[data_type] :
		       "unknown";
}

static int tensor_shape(struct npu_onnx_ctx *ctx, const Onnx__TensorProto *proto,
			struct npu_gtensor *t, const char *where, size_t *elems, size_t *bytes)
{
	size_t n = 1, i;

	if (proto->n_dims > NPU_GRAPH_MAX_RANK)
		return npu_diag_add(ctx->diag, -EINVAL, where,
				    "constant of rank %zu, at most %d are supported", proto->n_dims,
				    NPU_GRAPH_MAX_RANK);
	for (i = 0; i < proto->n_dims; i++) {
		if (proto->dims[i] < 0 || __builtin_mul_overflow(n, (uint64_t)proto->dims[i], &n))
			return npu_diag_add(ctx->diag, -EINVAL, where,
					    "dims[%zu] = %lld: expected a size that fits memory", i,
					    (long long)proto->dims[i]);
		t->dim[i] = npu_dim_const(proto->dims[i]);
	}
	t->rank = (int)proto->n_dims;
	*elems = n;
	if (__builtin_mul_overflow(n, npu_gtype_size(t->type), bytes))
		return npu_diag_add(ctx->diag, -EINVAL, where, "constant is too large");
	return 0;
}

/*
 * One of the typed lists: its element size in protobuf-c's array, and whether it must be narrowed.
 */
struct typed_list {
	const char *field;
	const void *data;
	size_t count, size;
};

static struct typed_list tensor_list(const Onnx__TensorProto *p, enum npu_gtype type)
{
	switch (type) {
	case NPU_GT_F32:
		return (struct typed_list){ "float_data", p->float_data, p->n_float_data, 4 };
	case NPU_GT_F64:
		return (struct typed_list){ "double_data", p->double_data, p->n_double_data, 8 };
	case NPU_GT_I64:
		return (struct typed_list){ "int64_data", p->int64_data, p->n_int64_data, 8 };
	case NPU_GT_U32: case NPU_GT_U64:
		return (struct typed_list){ "uint64_data", p->uint64_data, p->n_uint64_data, 8 };
	default:
		return (struct typed_list){ "int32_data", p->int32_data, p->n_int32_data, 4 };
	}
}

static int tensor_typed(struct npu_onnx_ctx *ctx, const Onnx__TensorProto *proto,
			struct npu_gtensor *t, const char *where, size_t elems)
{
	struct typed_list list = tensor_list(proto, t->type);
	size_t size = npu_gtype_size(t->type), i;
	unsigned char *out;

	if (list.count != elems)
		return npu_diag_add(ctx->diag, -EINVAL, where,
				    "%s holds %zu elements, its shape needs %zu", list.field,
				    list.count, elems);
	out = npu_arena_alloc(&ctx->g->arena, elems ? elems * size : 1);
	if (!out)
		return npu_diag_add(ctx->diag, -ENOMEM, where, "out of memory");
	/* little-endian host: the low bytes of a wider integer are the narrow one */
	if (size == list.size && elems)
		memcpy(out, list.data, elems * size);
	else
		for (i = 0; i < elems; i++)
			memcpy(out + i * size, (const unsigned char *)list.data + i * list.size,
			       size);
	t->data = out;
	t->size = elems * size;
	return 0;
}

static int tensor_raw(struct npu_onnx_ctx *ctx, const void *data, struct npu_gtensor *t,
		      size_t bytes)
{
	size_t size = npu_gtype_size(t->type);
	void *copy;

	if (bytes && (uintptr_t)data % size == 0) {
		t->data = data;
	} else {
		copy = npu_arena_alloc(&ctx->g->arena, bytes ? bytes : 1);
		if (!copy)
			return npu_diag_add(ctx->diag, -ENOMEM, t->name, "out of memory");
		if (bytes)
			memcpy(copy, data, bytes);
		t->data = copy;
	}
	t->size = bytes;
	return 0;
}

/*
 * Strings carry no numbers the NPU could use; they are kept as "has data" so that a report can name
 * them.
 */
static int tensor_strings(struct npu_onnx_ctx *ctx, const Onnx__TensorProto *proto,
			  struct npu_gtensor *t, const char *where, size_t elems)
{
	if (proto->n_string_data != elems)
		return npu_diag_add(ctx->diag, -EINVAL, where,
				    "string_data holds %zu elements, its shape needs %zu",
				    proto->n_string_data, elems);
	t->data = "";
	t->size = 0;
	return 0;
}

int npu_onnx_tensor(struct npu_onnx_ctx *ctx, const Onnx__TensorProto *proto, struct npu_gtensor *t,
		    const char *where)
{
	size_t elems = 0, bytes = 0;
	const void *data;
	int err;

	t->type = npu_onnx_type(proto->has_data_type ? proto->data_type : 0);
	if (t->type == NPU_GT_NONE)
		return npu_diag_add(ctx->diag, -EOPNOTSUPP, where,
				    "element type %s (%d) is not supported",
				    npu_onnx_type_name(proto->data_type), proto->data_type);
	if (proto->segment)
		return npu_diag_add(ctx->diag, -EOPNOTSUPP, where,
				    "tensors in segments are not supported");
	err = tensor_shape(ctx, proto, t, where, &elems, &bytes);
	if (err)
		return err;
	if (t->type == NPU_GT_STRING)
		return tensor_strings(ctx, proto, t, where, elems);
	if (proto->has_data_location &&
	    proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
		data = npu_onnx_external(ctx, proto, where, bytes);
		return data ? tensor_raw(ctx, data, t, bytes) : -EINVAL;
	}
	if (!proto->has_raw_data)
		return tensor_typed(ctx, proto, t, where, elems);
	if (proto->raw_data.len != bytes)
		return npu_diag_add(ctx->diag, -EINVAL, where,
				    "raw_data holds %zu bytes, its shape needs %zu",
				    proto->raw_data.len, bytes);
	return tensor_raw(ctx, proto->raw_data.data, t, bytes);
}
