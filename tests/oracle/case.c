// SPDX-License-Identifier: MIT
/* What is tried: operands, parameters and contents, at random. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "harness.h"
#include "npu_half.h"
#include "tools/vnpu/oracle/oracle.h"

void case_init(struct tcase *c, unsigned int opcode)
{
	memset(c, 0, sizeof(*c));
	c->opcode = opcode;
	c->tolerance = 4e-6;
}

void case_free(struct tcase *c)
{
	for (int i = 0; i < NPU_MAX_OPERANDS; i++)
		free(c->data[i]);
}

void case_param_f32(struct tcase *c, unsigned int param, float value)
{
	memcpy(&c->param[param], &value, sizeof(value));
}

static float wild_float(void)
{
	switch (rng_below(8)) {
	case 0:
		return INFINITY;
	case 1:
		return -INFINITY;
	case 2:
		return NAN;
	case 3:
		return 1e-41f * (float)((int)rng_below(1000) - 500);
	case 4:
		return 3e38f;
	case 5:
		return -0.0f;
	case 6:
		return (float)ldexp(rng_float(), (int)rng_below(60) - 30);
	default:
		return 65520.0f;
	}
}

static void random_element(unsigned char *at, unsigned int dtype, enum contents contents)
{
	float f = contents == CONTENTS_WILD && rng_chance(6) ? wild_float() : rng_float();
	npu_u16 h = npu_half_narrow(f);
	uint64_t i64;
	uint32_t bits;

	switch (dtype) {
	case NPU_F32:
		memcpy(at, &f, sizeof(f));
		break;
	case NPU_F16:
		memcpy(at, &h, sizeof(h));
		break;
	case NPU_BF16:
		memcpy(&bits, &f, sizeof(bits));
		at[0] = bits >> 16 & 0xff;
		at[1] = bits >> 24;
		break;
	case NPU_I8:
	case NPU_U8:
		*at = rng_chance(8) ? (rng_chance(2) ? 0x80 : rng_chance(2) ? 0xff : 0x7f) :
				      rng() & 0xff;
		break;
	case NPU_BOOL:
		*at = rng() & 1;
		break;
	case NPU_I32:
		bits = contents == CONTENTS_WILD && rng_chance(6) ? rng() : rng_below(2000) - 1000;
		memcpy(at, &bits, sizeof(bits));
		break;
	default:
		i64 = contents == CONTENTS_WILD && rng_chance(6) ?
			      (uint64_t)rng() << 32 | rng() :
			      (uint64_t)(int64_t)((int)rng_below(2000) - 1000);
		memcpy(at, &i64, sizeof(i64));
	}
}

static void allocate(struct tcase *c, unsigned int slot, npu_u64 bytes)
{
	c->size[slot] = bytes + 2 * CASE_GUARD;
	free(c->data[slot]);
	c->data[slot] = malloc(c->size[slot]);
	for (npu_u64 i = 0; i < c->size[slot]; i++)
		c->data[slot][i] = rng() & 0xff;
}

static void fill_tensor(struct tcase *c, unsigned int slot, enum contents contents)
{
	const struct npu_operand *op = &c->operand[slot];
	npu_u32 index[NPU_MAX_RANK] = { 0 };
	struct oracle_view v = { op, c->data[slot] + op->offset };

	do {
		random_element(oracle_at(v, index), op->dtype, contents);
	} while (oracle_next(index, op->dim, op->rank));
}

/* Strides of dims in the memory order @order (innermost last), with gaps when @gaps. */
static npu_u64 make_strides(struct npu_operand *op, const unsigned int *order, int gaps)
{
	npu_u64 size = npu_dtype_bits(op->dtype) / 8, step = size;

	for (unsigned int i = op->rank; i-- > 0;) {
		op->stride[order[i]] = (npu_s64)step;
		step *= op->dim[order[i]];
		if (gaps && rng_chance(2))
			step += size * rng_below(5);
	}
	return step;
}

static void make_tensor(struct tcase *c, unsigned int slot, unsigned int dtype, unsigned int rank,
			const npu_u32 *dim, enum contents contents, int shuffle, int gaps)
{
	struct npu_operand *op = &c->operand[slot];
	unsigned int order[NPU_MAX_RANK];
	npu_u64 bytes;

	memset(op, 0, sizeof(*op));
	op->region = slot;
	op->dtype = dtype;
	op->rank = rank;
	op->offset = CASE_GUARD;
	for (unsigned int i = 0; i < rank; i++) {
		op->dim[i] = dim[i];
		order[i] = i;
	}
	for (unsigned int i = rank; shuffle && i > 1; i--) {
		unsigned int j = rng_below(i), t = order[i - 1];

		order[i - 1] = order[j];
		order[j] = t;
	}
	bytes = make_strides(op, order, gaps);
	if (gaps) {
		npu_u64 shift = rng_below(4) * (npu_dtype_bits(dtype) / 8);

		op->offset += shift;
		bytes += shift;
	}
	allocate(c, slot, bytes);
	fill_tensor(c, slot, contents);
}

void case_tensor(struct tcase *c, unsigned int slot, unsigned int dtype, unsigned int rank,
		 const npu_u32 *dim, enum contents contents)
{
	make_tensor(c, slot, dtype, rank, dim, contents, rng_chance(4), rng_chance(2));
}

void case_dense(struct tcase *c, unsigned int slot, unsigned int dtype, unsigned int rank,
		const npu_u32 *dim, enum contents contents)
{
	make_tensor(c, slot, dtype, rank, dim, contents, 0, 0);
}

void case_quantize(struct tcase *c, unsigned int slot)
{
	struct npu_operand *op = &c->operand[slot];

	if (op->dtype != NPU_I8 && op->dtype != NPU_U8)
		return;
	op->scale = (float)rng_range(1, 1000) / 16384;
	op->zero_point = (int)rng_below(256) - (op->dtype == NPU_I8 ? 128 : 0);
}

void case_panel(struct tcase *c, unsigned int slot, unsigned int layout, npu_u32 outputs,
		npu_u64 k_size, npu_u32 groups)
{
	struct npu_operand *op = &c->operand[slot];
	npu_u64 k = layout == NPU_LAYOUT_PANEL16K4 ? (k_size + 3) / 4 * 4 : k_size,
		panels = (npu_u64)groups * ((outputs + 15) / 16);
	npu_u64 size = npu_dtype_bits(op->dtype) / 8, elements = panels * 16 * k;

	op->layout = layout;
	op->offset = CASE_GUARD;
	memset(op->stride, 0, sizeof(op->stride));
	allocate(c, slot, elements * size);
	for (npu_u64 i = 0; i < elements; i++)
		random_element(c->data[slot] + op->offset + i * size, op->dtype, CONTENTS_TAME);
	/* What fills the last panel and the last quad up is zero by definition. */
	for (npu_u64 p = 0; p < panels; p++) {
		for (npu_u64 kk = 0; kk < k; kk++) {
			for (npu_u64 o = 0; o < 16; o++) {
				npu_u64 at = layout == NPU_LAYOUT_PANEL16 ?
						     (p * k + kk) * 16 + o :
						     (p * (k / 4) + kk / 4) * 64 + o * 4 + kk % 4;

				if (p % ((outputs + 15) / 16) * 16 + o >= outputs || kk >= k_size)
					memset(c->data[slot] + op->offset + at * size, 0, size);
			}
		}
	}
}

void case_index(struct tcase *c, unsigned int slot, npu_u32 i, int64_t value)
{
	struct oracle_view v = { &c->operand[slot], c->data[slot] + c->operand[slot].offset };

	oracle_store_int(v, oracle_at(v, &i), value);
}

void case_activation(struct tcase *c, unsigned int act_param, int allow_prelu)
{
	unsigned int act = rng_chance(2) ? NPU_ACT_NONE : rng_below(NPU_NUM_ACTS);
	float a = 0.25f * (float)rng_range(1, 8), b = a + 0.25f * (float)rng_range(0, 8);

	if (act == NPU_ACT_PRELU && !allow_prelu)
		act = NPU_ACT_RELU;
	if (act == NPU_ACT_CLIP)
		a -= 2;
	if (act == NPU_ACT_HARD_SWISH || act == NPU_ACT_HARD_SIGMOID) {
		a = 1.0f / 6;
		b = 0.5f;
	}
	c->param[act_param] = act;
	case_param_f32(c, act_param + 1, a);
	case_param_f32(c, act_param + 2, b);
}

void case_epilogue(struct tcase *c, unsigned int bias_slot, unsigned int act_param, int integer)
{
	const struct npu_operand *out = &c->operand[0];
	npu_u32 o = out->dim[out->rank - 1], dim[NPU_MAX_RANK];
	int plain = integer && out->dtype == NPU_I32;

	case_param_f32(c, act_param + 3, 1);
	if (rng_chance(2))
		case_dense(c, bias_slot, integer ? NPU_I32 : NPU_F32, 1, &o, CONTENTS_TAME);
	if (plain)
		return;
	if (integer) {
		struct oracle_view v;

		case_dense(c, bias_slot + 1, NPU_F32, 1, &o, CONTENTS_TAME);
		v.op = &c->operand[bias_slot + 1];
		v.base = c->data[bias_slot + 1] + v.op->offset;
		for (npu_u32 i = 0; i < o; i++)
			oracle_store_real(v, oracle_at(v, &i), (float)rng_range(1, 1000) / 262144);
	}
	case_activation(c, act_param, 1);
	if (c->param[act_param] == NPU_ACT_PRELU)
		case_dense(c, bias_slot + 3, NPU_F32, 1, &o, CONTENTS_TAME);
	if (rng_chance(4)) {
		case_param_f32(c, act_param + 3, rng_float());
		case_param_f32(c, act_param + 4, rng_float());
	}
	if (rng_chance(3)) {
		static const unsigned char types[] = { NPU_F32, NPU_F16, NPU_BF16, NPU_I8, NPU_U8 };

		for (unsigned int i = 0; i < out->rank; i++)
			dim[i] = rng_chance(5) ? 1 : out->dim[i];
		case_tensor(c, bias_slot + 2, types[rng_below(integer ? 5 : 3)], out->rank, dim,
			    CONTENTS_TAME);
		case_quantize(c, bias_slot + 2);
		c->param[act_param + 5] = rng_chance(3) ? NPU_JOIN_MUL : NPU_JOIN_ADD;
	}
	case_activation(c, act_param + 6, 0);
}
