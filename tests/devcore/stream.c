// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "stream.h"

static struct npu_stream_header *header(struct stream *s)
{
	return (void *)s->words;
}

void stream_begin(struct stream *s, unsigned int num_regions)
{
	memset(s, 0, sizeof(*s));
	s->used = sizeof(struct npu_stream_header) / 4;
	*header(s) = (struct npu_stream_header){ .magic = NPU_STREAM_MAGIC,
						 .isa_major = NPU_ISA_MAJOR,
						 .isa_minor = NPU_ISA_MINOR,
						 .num_regions = (npu_u16)num_regions };
}

static struct npu_operand *insn_add(struct stream *s, unsigned int opcode, npu_u32 **param)
{
	const struct npu_op_desc *desc = npu_op_desc(opcode);
	struct npu_insn_header *h = (void *)(s->words + s->used);
	npu_u32 words = (npu_u32)(sizeof(*h) + desc->num_slots * sizeof(struct npu_operand)) / 4;

	if (param)
		*param = s->words + s->used + words;
	words += desc->num_params;
	words += words % 2;
	if (words > STREAM_WORDS - s->used) {
		fprintf(stderr, "a test's stream has more than %u words\n", STREAM_WORDS);
		abort();
	}
	*h = (struct npu_insn_header){ .opcode = (npu_u16)opcode,
				       .words = (npu_u16)words,
				       .num_operands = desc->num_slots,
				       .num_params = desc->num_params,
				       .tag = 100 + header(s)->num_insns };
	s->used += words;
	header(s)->num_insns++;
	return (void *)(h + 1);
}

void stream_end(struct stream *s)
{
	insn_add(s, NPU_OP_END, NULL);
	header(s)->size = s->used * 4;
}

npu_u32 stream_bytes(const struct stream *s)
{
	return s->used * 4;
}

static struct npu_operand vector(unsigned int region, npu_u64 offset, npu_u32 n)
{
	return (struct npu_operand){ .region = (npu_u8)region, .dtype = NPU_U8, .rank = 1,
				     .offset = offset, .dim = { n }, .stride = { 1 } };
}

static struct npu_operand matrix(unsigned int region, unsigned int dtype, npu_u32 rows,
				 npu_u32 cols)
{
	npu_s64 size = npu_dtype_bits(dtype) / 8;

	return (struct npu_operand){ .region = (npu_u8)region, .dtype = (npu_u8)dtype, .rank = 2,
				     .dim = { rows, cols }, .stride = { cols * size, size } };
}

void stream_copy(struct stream *s, unsigned int out, npu_u64 to, unsigned int in, npu_u64 from,
		 npu_u32 n)
{
	const float one = 1;
	npu_u32 *param;
	struct npu_operand *op = insn_add(s, NPU_OP_EWISE1, &param);

	op[NPU_EWISE1_OUT] = vector(out, to, n);
	op[NPU_EWISE1_IN] = vector(in, from, n);
	param[NPU_EWISE1_P_FUNC] = NPU_UNARY_COPY;
	memcpy(&param[NPU_EWISE1_P_POST_MUL], &one, 4);
}

void stream_matmul(struct stream *s, unsigned int out, unsigned int a, unsigned int b, npu_u32 n)
{
	const float one = 1;
	npu_u32 *param;
	struct npu_operand *op = insn_add(s, NPU_OP_MATMUL, &param);

	op[NPU_MATMUL_OUT] = matrix(out, NPU_F32, n, n);
	op[NPU_MATMUL_A] = matrix(a, NPU_F32, n, n);
	op[NPU_MATMUL_B] = matrix(b, NPU_F32, n, n);
	memcpy(&param[NPU_MATMUL_P_POST_MUL], &one, 4);
}

void stream_gather(struct stream *s, unsigned int out, unsigned int data, unsigned int idx,
		   npu_u32 n, npu_u32 rows, npu_u32 cols)
{
	struct npu_operand *op = insn_add(s, NPU_OP_GATHER, NULL);

	op[NPU_GATHER_OUT] = (struct npu_operand){ .region = (npu_u8)out,
						   .dtype = NPU_U8,
						   .rank = 3,
						   .dim = { 1, n, cols },
						   .stride = { (npu_s64)n * cols, cols, 1 } };
	op[NPU_GATHER_IN] = (struct npu_operand){ .region = (npu_u8)data,
						  .dtype = NPU_U8,
						  .rank = 3,
						  .dim = { 1, rows, cols },
						  .stride = { (npu_s64)rows * cols, cols, 1 } };
	op[NPU_GATHER_INDEX] = (struct npu_operand){ .region = (npu_u8)idx, .dtype = NPU_I32,
						     .rank = 1, .dim = { n }, .stride = { 4 } };
}
