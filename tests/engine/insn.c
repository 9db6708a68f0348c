// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "insn.h"

uint32_t test_rand(struct test_rng *rng)
{
	uint64_t s = rng->state ? rng->state : 88172645463325252ull;

	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	rng->state = s;
	return (uint32_t)(s >> 16);
}

uint32_t test_below(struct test_rng *rng, uint32_t n)
{
	return (uint32_t)((uint64_t)test_rand(rng) * n >> 32);
}

static size_t elem_size(unsigned int dtype)
{
	return npu_dtype_bits(dtype) / 8;
}

struct test_tensor test_tensor_make(struct test_rng *rng, unsigned int dtype, unsigned int rank,
				    const uint32_t *dim, enum test_layout layout)
{
	struct test_tensor t = { .op = { .dtype = (npu_u8)dtype, .rank = (npu_u8)rank } };
	unsigned int order[NPU_MAX_RANK], i, j, swap;
	int64_t step = (int64_t)elem_size(dtype);

	for (i = 0; i < rank; i++) {
		t.op.dim[i] = dim[i];
		order[i] = i;
	}
	if (layout == TEST_CHANNEL_FIRST && rank > 2) {
		for (i = rank - 1; i > 1; i--)
			order[i] = i - 1;
		order[1] = rank - 1;
	}
	for (i = rank; layout == TEST_SHUFFLED && i > 1; i--) {
		j = test_below(rng, i);
		swap = order[i - 1];
		order[i - 1] = order[j];
		order[j] = swap;
	}
	for (i = rank; i-- > 0;) {
		t.op.stride[order[i]] = step;
		step *= dim[order[i]];
		if (layout == TEST_GAPS || layout == TEST_SHUFFLED)
			step += (int64_t)elem_size(dtype) * test_below(rng, 4);
	}
	t.size = (size_t)step;
	t.mem = aligned_alloc(64, (t.size + 127) & ~(size_t)63);
	if (!t.mem) {
		printf("Bail out! no memory\n");
		exit(1);
	}
	memset(t.mem, 0, t.size);
	return t;
}

void test_tensor_free(struct test_tensor *t)
{
	free(t->mem);
	t->mem = NULL;
}

static float random_float(struct test_rng *rng, float range, bool wild)
{
	static const float special[] = { 0.0f,	    -0.0f,	INFINITY, -INFINITY, NAN,
					 0x1p-149f, -0x1p-130f, 1.0f,	  65504.0f,  0x1p100f };

	if (wild && !test_below(rng, 24))
		return special[test_below(rng, sizeof(special) / sizeof(*special))];
	return ((float)test_below(rng, 1u << 24) / (float)(1u << 23) - 1.0f) * range;
}

static uint16_t to_half(float f)
{
	_Static_assert(sizeof(float) == 4, "binary32");
	uint32_t u;
	int e;
	double m;

	if (f != f)
		return 0x7e01;
	memcpy(&u, &f, sizeof(u));
	if (isinf(f) || fabsf(f) >= 65520)
		return (uint16_t)(u >> 16 & 0x8000) | 0x7c00;
	frexp(fabsf(f), &e);
	if (e < -13)
		return (uint16_t)((u >> 16 & 0x8000) | (uint32_t)rint(ldexp(fabsf(f), 24)));
	m = rint(ldexp(fabsf(f), 11 - e));
	return (uint16_t)((u >> 16 & 0x8000) | ((uint32_t)(e + 14) * 1024 + (uint32_t)m - 1024));
}

void test_tensor_fill(struct test_rng *rng, struct test_tensor *t, float range, bool wild)
{
	size_t i, size = elem_size(t->op.dtype), n = t->size / size;

	for (i = 0; i < n; i++) {
		float f = random_float(rng, range, wild);
		uint32_t u;
		uint64_t w;

		memcpy(&u, &f, sizeof(u));
		switch (t->op.dtype) {
		case NPU_F16:
			u = to_half(f);
			break;
		case NPU_BF16:
			u >>= 16;
			break;
		case NPU_I32:
			u = wild ? test_rand(rng) : test_below(rng, 200) - 100;
			break;
		case NPU_BOOL:
			u = test_below(rng, 2);
			break;
		case NPU_I8:
		case NPU_U8:
			u = test_rand(rng);
			break;
		}
		w = u;
		if (t->op.dtype == NPU_I64)
			w = wild ? (uint64_t)test_rand(rng) << 32 | test_rand(rng) :
				   (uint64_t)((int64_t)test_below(rng, 200) - 100);
		memcpy(t->mem + i * size, &w, size);
	}
}

void *test_element(const struct test_tensor *t, const uint32_t *index)
{
	int64_t off = 0;
	unsigned int i;

	for (i = 0; i < t->op.rank; i++)
		off += (int64_t)index[i] * t->op.stride[i];
	return t->mem + off;
}

uint32_t test_f32(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

/* One region for each tensor; a tensor that occurs twice keeps its first. */
static size_t encode(uint32_t *words, unsigned int opcode, struct test_tensor *const *slots,
		     const uint32_t *params, struct npu_region *region, unsigned int *num_regions)
{
	const struct npu_op_desc *desc = npu_op_desc(opcode);
	struct npu_insn_header h = { .opcode = (npu_u16)opcode,
				     .num_operands = desc->num_slots,
				     .num_params = desc->num_params };
	size_t pos = sizeof(h) / 4;
	unsigned int i, j;

	for (i = 0; i < desc->num_slots; i++) {
		struct npu_operand op = { 0 };

		if (slots[i]) {
			for (j = 0; j < i && slots[j] != slots[i]; j++)
				;
			op = slots[i]->op;
			op.region = (npu_u8)j;
			region[i] = (struct npu_region){ .base = (uintptr_t)slots[i]->mem,
							 .size = slots[i]->size,
							 .access = NPU_ACCESS_READ |
								   NPU_ACCESS_WRITE };
		}
		memcpy(words + pos, &op, sizeof(op));
		pos += sizeof(op) / 4;
	}
	*num_regions = desc->num_slots;
	if (desc->num_params)
		memcpy(words + pos, params, desc->num_params * 4u);
	pos += desc->num_params;
	if (pos % 2)
		words[pos++] = 0;
	h.words = (npu_u16)pos;
	memcpy(words, &h, sizeof(h));
	return pos;
}

enum npu_run_result test_insn_run(struct npu_engine *engine, unsigned int opcode,
				  struct test_tensor *const *slots, const uint32_t *params,
				  struct npu_fault *fault, char *text)
{
	uint32_t stream[1024] = { 0 };
	struct npu_stream_header header = { .magic = NPU_STREAM_MAGIC,
					    .isa_major = NPU_ISA_MAJOR,
					    .isa_minor = NPU_ISA_MINOR };
	struct npu_insn_header end = { .opcode = NPU_OP_END, .words = sizeof(end) / 4 };
	struct npu_region region[NPU_MAX_OPERANDS] = { { 0 } };
	struct npu_engine_state state = { 0 };
	unsigned int num_regions;
	enum npu_run_result result = NPU_RUN_FAULT;
	size_t pos = sizeof(header) / 4;

	pos += encode(stream + pos, opcode, slots, params, region, &num_regions);
	memcpy(stream + pos, &end, sizeof(end));
	pos += sizeof(end) / 4;
	header.size = (npu_u32)pos * 4;
	header.num_insns = 2;
	header.num_regions = (npu_u16)num_regions;
	memcpy(stream, &header, sizeof(header));
	state.stream = stream;
	state.stream_size = header.size;
	state.regions = region;
	state.num_regions = num_regions;
	if (!npu_engine_state_init(engine, &state))
		result = npu_engine_run(engine, &state, UINT64_MAX, NULL, NULL);
	if (fault)
		*fault = state.fault;
	if (text)
		memcpy(text, state.fault_text, sizeof(state.fault_text));
	npu_engine_state_fini(&state);
	return result;
}
