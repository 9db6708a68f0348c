// SPDX-License-Identifier: MIT
/* Kinds of GGUF values and ggml's tensor types: names and sizes. */
#include <errno.h>
#include "llm/ggml_types.h"
#include "llm/gguf_priv.h"

static const struct {
	const char *name;
	uint8_t size;
} kinds[NPU_GGUF_NUM_KINDS] = {
	[NPU_GGUF_U8] = { "u8", 1 },
	[NPU_GGUF_I8] = { "i8", 1 },
	[NPU_GGUF_U16] = { "u16", 2 },
	[NPU_GGUF_I16] = { "i16", 2 },
	[NPU_GGUF_U32] = { "u32", 4 },
	[NPU_GGUF_I32] = { "i32", 4 },
	[NPU_GGUF_F32] = { "f32", 4 },
	[NPU_GGUF_BOOL] = { "bool", 1 },
	[NPU_GGUF_STRING] = { "string", 0 },
	[NPU_GGUF_ARRAY] = { "array", 0 },
	[NPU_GGUF_U64] = { "u64", 8 },
	[NPU_GGUF_I64] = { "i64", 8 },
	[NPU_GGUF_F64] = { "f64", 8 },
};

/*
 * By ggml's number: elements and bytes of a block. Those that the NPU does not multiply with have a
 * name too, so that a file can be read and refused for the tensor that needs one. Numbers that ggml
 * has given up are unknown.
 */
static const struct {
	const char *name;
	uint16_t block, bytes;
} types[] = {
#define X(name, number, block, bytes) [number] = { #name, block, bytes },
	NPU_GGML_TYPES(X)
#undef X
	[9] = { "Q8_1", 32, 36 },
	[10] = { "Q2_K", 256, 84 },
	[11] = { "Q3_K", 256, 110 },
	[15] = { "Q8_K", 256, 292 },
	[16] = { "IQ2_XXS", 256, 66 },
	[17] = { "IQ2_XS", 256, 74 },
	[18] = { "IQ3_XXS", 256, 98 },
	[19] = { "IQ1_S", 256, 50 },
	[21] = { "IQ3_S", 256, 110 },
	[22] = { "IQ2_S", 256, 82 },
	[23] = { "IQ4_XS", 256, 136 },
	[24] = { "I8", 1, 1 },
	[25] = { "I16", 1, 2 },
	[26] = { "I32", 1, 4 },
	[27] = { "I64", 1, 8 },
	[28] = { "F64", 1, 8 },
	[29] = { "IQ1_M", 256, 56 },
	[34] = { "TQ1_0", 256, 54 },
	[35] = { "TQ2_0", 256, 66 },
	[39] = { "MXFP4", 32, 17 },
};

#define NUM_TYPES	(sizeof(types) / sizeof(types[0]))

uint32_t npu_gguf_kind_size(uint32_t kind)
{
	return kind < NPU_GGUF_NUM_KINDS ? kinds[kind].size : 0;
}

const char *npu_gguf_kind_name(int kind)
{
	return kind >= 0 && kind < NPU_GGUF_NUM_KINDS ? kinds[kind].name : "?";
}

const char *npu_gguf_type_name(uint32_t type)
{
	return type < NUM_TYPES ? types[type].name : NULL;
}

uint32_t npu_gguf_type_block(uint32_t type)
{
	return types[type].block;
}

int npu_gguf_type_bytes(uint32_t type, uint64_t row, uint64_t elems, uint64_t *bytes)
{
	if (!npu_gguf_type_name(type))
		return -ENOENT;
	if (row % types[type].block)
		return -EINVAL;
	if (__builtin_mul_overflow(elems / types[type].block, (uint64_t)types[type].bytes, bytes))
		return -EOVERFLOW;
	return 0;
}
