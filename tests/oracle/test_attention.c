// SPDX-License-Identifier: MIT
/* ATTENTION, ROPE, DYN_QUANT, COLOR and COUNT against the oracle. */
#include <string.h>
#include "../tap.h"
#include "harness.h"

static void index_list(struct tcase *c, unsigned int slot, npu_u32 n)
{
	case_dense(c, slot, NPU_I32, 1, &n, CONTENTS_TAME);
}

/* Keys or values of @type, or codes with a scale for each position and head. */
static void case_cache(struct tcase *c, unsigned int slot, unsigned int scale, unsigned int type,
		       const npu_u32 dim[4])
{
	if (!rng_chance(4)) {
		case_tensor(c, slot, type, 4, dim, CONTENTS_TAME);
		return;
	}
	case_tensor(c, slot, NPU_I8, 4, dim, CONTENTS_TAME);
	c->operand[slot].zero_point = (npu_s32)rng_below(9) - 4;
	case_tensor(c, scale, NPU_F32, 3, dim, CONTENTS_TAME);
	for (npu_u64 i = 0; i + 4 <= c->size[scale]; i += 4) {
		float s;

		memcpy(&s, c->data[scale] + i, 4);
		s *= 0x1p-6f;
		memcpy(c->data[scale] + i, &s, 4);
	}
}

/* Lengths, starts and positions of a ragged batch; the cache is plain or in blocks. */
static void make_attention(struct tcase *c)
{
	npu_u32 batch = rng_range(1, 3), kv_heads = rng_range(1, 2),
		heads = kv_heads * rng_range(1, 3);
	bool even = rng_chance(2);
	npu_u32 depth = even ? 16 * rng_range(1, 5) : rng_range(1, rng_chance(3) ? 64 : 20),
		depth_v = rng_chance(3) ? (even ? 16 * rng_range(1, 3) : rng_range(1, 30)) : depth;
	npu_u32 blocked = rng_below(2), block = blocked ? rng_range(1, 9) : rng_range(1, 40);
	npu_u32 max_blocks = blocked ? rng_range(1, 6) : 1, length = block * max_blocks, rows = 0;
	npu_u32 kv_len[3], q_len[3], mask[4], table[2] = { batch, max_blocks };
	unsigned int type = rng_chance(2) ? NPU_F32 : NPU_F16;

	case_init(c, NPU_OP_ATTENTION);
	c->tolerance = 3e-5;
	for (npu_u32 b = 0; b < batch; b++) {
		kv_len[b] = rng_range(1, length);
		q_len[b] = rng_range(1, kv_len[b] < 5 ? kv_len[b] : 5);
		rows += q_len[b];
	}
	{
		npu_u32 out[3] = { rows, heads, depth_v }, q[3] = { rows, heads, depth };
		npu_u32 k[4] = { blocked ? batch * max_blocks + 1 : batch, block, kv_heads, depth };
		npu_u32 v[4] = { k[0], block, kv_heads, depth_v };

		case_tensor(c, NPU_ATTENTION_OUT, type, 3, out, CONTENTS_TAME);
		case_tensor(c, NPU_ATTENTION_Q, type, 3, q, CONTENTS_TAME);
		case_cache(c, NPU_ATTENTION_K, NPU_ATTENTION_K_SCALE, type, k);
		case_cache(c, NPU_ATTENTION_V, NPU_ATTENTION_V_SCALE, type, v);
	}
	index_list(c, NPU_ATTENTION_Q_START, batch + 1);
	index_list(c, NPU_ATTENTION_KV_LEN, batch);
	for (npu_u32 b = 0, at = 0; b <= batch; at += b < batch ? q_len[b] : 0, b++)
		case_index(c, NPU_ATTENTION_Q_START, b, at);
	for (npu_u32 b = 0; b < batch; b++)
		case_index(c, NPU_ATTENTION_KV_LEN, b, kv_len[b]);
	if (blocked) {
		case_dense(c, NPU_ATTENTION_BLOCK_TABLE, NPU_I32, 2, table, CONTENTS_TAME);
		for (npu_u32 i = 0; i < batch * max_blocks; i++) {
			npu_s32 v = (npu_s32)((i * 7 + 3) % (batch * max_blocks + 1));

			memcpy(c->data[NPU_ATTENTION_BLOCK_TABLE] +
				       c->operand[NPU_ATTENTION_BLOCK_TABLE].offset + i * 4,
			       &v, 4);
		}
	}
	if (rng_chance(3)) {
		mask[0] = rng_chance(2) ? 1 : batch;
		mask[1] = rng_chance(2) ? 1 : heads;
		mask[2] = 1;
		mask[3] = length;
		case_tensor(c, NPU_ATTENTION_MASK, NPU_F32, 4, mask, CONTENTS_TAME);
	}
	if (rng_chance(4))
		case_dense(c, NPU_ATTENTION_SINKS, NPU_F32, 1, &heads, CONTENTS_TAME);
	c->param[NPU_ATTENTION_P_BATCH] = batch;
	case_param_f32(c, NPU_ATTENTION_P_SCALE, 0.25f);
	c->param[NPU_ATTENTION_P_CAUSAL] = rng_below(2);
	c->param[NPU_ATTENTION_P_WINDOW] = rng_chance(3) ? rng_range(1, 20) : 0;
	case_param_f32(c, NPU_ATTENTION_P_SOFT_CAP, rng_chance(4) ? 5 : 0);
}

static void make_rope(struct tcase *c)
{
	npu_u32 half = rng_range(1, 20), dim[3] = { rng_range(1, 6), rng_range(1, 4), 0 };
	unsigned int type = rng_chance(2) ? NPU_F32 : NPU_F16;

	case_init(c, NPU_OP_ROPE);
	c->tolerance = 4e-5;
	dim[2] = 2 * half + rng_below(4);
	case_tensor(c, NPU_ROPE_OUT, type, 3, dim, CONTENTS_TAME);
	case_tensor(c, NPU_ROPE_IN, type, 3, dim, CONTENTS_TAME);
	index_list(c, NPU_ROPE_POSITIONS, dim[0]);
	for (npu_u32 i = 0; i < dim[0]; i++)
		case_index(c, NPU_ROPE_POSITIONS, i, rng_below(200));
	if (rng_chance(2)) {
		npu_u32 table[2] = { 200, half };

		case_tensor(c, NPU_ROPE_COS_TABLE, NPU_F32, 2, table, CONTENTS_TAME);
		case_tensor(c, NPU_ROPE_SIN_TABLE, NPU_F32, 2, table, CONTENTS_TAME);
	}
	c->param[NPU_ROPE_P_DIMS] = 2 * half;
	c->param[NPU_ROPE_P_PAIRING] = rng_below(2);
	case_param_f32(c, NPU_ROPE_P_BASE, 10000);
	case_param_f32(c, NPU_ROPE_P_POS_SCALE, 1);
	case_param_f32(c, NPU_ROPE_P_MSCALE, 1);
}

/* Nothing but zeros of both signs, or what is so small that a 255th of it is zero or subnormal. */
static void make_small(struct tcase *c, unsigned int slot)
{
	bool wide = c->operand[slot].dtype == NPU_F32;
	npu_u32 most = rng_chance(2) ? 1 : wide ? 700 : 3, word;
	npu_u64 i;

	for (i = 0; i + 4 <= c->size[slot]; i += wide ? 4 : 2) {
		word = rng_below(most) | (npu_u32)rng_below(2) << (wide ? 31 : 15);
		memcpy(c->data[slot] + i, &word, wide ? 4 : 2);
	}
}

static void make_dyn_quant(struct tcase *c)
{
	npu_u32 dim[3] = { rng_range(1, 4), rng_range(1, 5),
			   rng_range(1, rng_chance(6) ? 1500 : 70) },
		scale[3] = { dim[0], dim[1], 1 };
	int grouped = rng_below(2);
	npu_u32 group = rng_range(1, rng_chance(6) ? 700 : 40);

	case_init(c, NPU_OP_DYN_QUANT);
	case_tensor(c, NPU_DYN_QUANT_IN, rng_chance(2) ? NPU_F32 : NPU_F16, 3, dim,
		    grouped && rng_chance(4) ? CONTENTS_WILD : CONTENTS_TAME);
	if (rng_chance(4))
		make_small(c, NPU_DYN_QUANT_IN);
	case_tensor(c, NPU_DYN_QUANT_OUT, grouped ? NPU_I8 : NPU_U8, 3, dim, CONTENTS_TAME);
	if (grouped) {
		scale[2] = (dim[2] + group - 1) / group;
		case_tensor(c, NPU_DYN_QUANT_SCALE, rng_chance(2) ? NPU_F32 : NPU_F16, 3, scale,
			    CONTENTS_TAME);
		c->param[NPU_DYN_QUANT_P_GROUP] = group;
	} else {
		case_dense(c, NPU_DYN_QUANT_SCALE, NPU_F32, 0, scale, CONTENTS_TAME);
		case_dense(c, NPU_DYN_QUANT_ZERO, NPU_U8, 0, scale, CONTENTS_TAME);
	}
}

/* A box inside, across the edges, turned round, or with numbers that are none. */
static void color_box(struct tcase *c, npu_u32 n, const npu_u32 in[4])
{
	static const float odd[] = { 0, -3, 1e30f, -1e30f, 0x1p-30f, __builtin_inff(),
				     __builtin_nanf("") };
	npu_u32 dim[2] = { n, 4 }, i;
	float *box;

	case_dense(c, NPU_COLOR_BOX, NPU_F32, 2, dim, CONTENTS_TAME);
	box = (float *)c->data[NPU_COLOR_BOX];
	for (i = 0; i < 4 * n; i++) {
		float size = (float)in[1 + i % 2];

		switch (rng_below(8)) {
		case 0:
			box[i] = odd[rng_below(sizeof(odd) / sizeof(*odd))];
			break;
		case 1:
		case 2:
			box[i] = (float)rng_below(in[1 + i % 2] + 1);
			break;
		default:
			box[i] = i % 4 < 2 ? size * 0.01f * (float)rng_range(0, 40) - 1 :
					     size * 0.01f * (float)rng_range(50, 110);
		}
	}
}

static void make_color(struct tcase *c)
{
	npu_u32 n = rng_range(1, 2), h = 2 * rng_range(1, 6),
		w = 2 * rng_range(1, rng_chance(8) ? 1500 : 8), eighteen = 18, boxed = rng_below(2);
	npu_u32 out[4] = { n, h, w, 3 }, in[4] = { boxed && rng_chance(2) ? 1 : n, h, w, 3 };
	static const unsigned char types[] = { NPU_F32, NPU_F16, NPU_U8, NPU_I8 };
	static const float limits[] = { 0, 255, 1, 0x1p-20f };
	unsigned int format = rng_below(NPU_NUM_COLORS);

	case_init(c, NPU_OP_COLOR);
	c->param[NPU_COLOR_P_FORMAT] = format;
	if (boxed) {
		out[1] = rng_range(1, 12);
		out[2] = rng_range(1, rng_chance(8) ? 1200 : 20);
		color_box(c, n, in);
	}
	memcpy(&c->param[NPU_COLOR_P_LIMIT], &limits[rng_below(4)], sizeof(float));
	case_tensor(c, NPU_COLOR_OUT, types[rng_below(4)], 4, out, CONTENTS_TAME);
	case_quantize(c, NPU_COLOR_OUT);
	case_dense(c, NPU_COLOR_MATRIX, NPU_F32, 1, &eighteen, CONTENTS_TAME);
	if (format == NPU_COLOR_NV12) {
		npu_u32 chroma[4] = { in[0], h / 2, w / 2, 2 };

		case_tensor(c, NPU_COLOR_IN, NPU_U8, 3, in, CONTENTS_TAME);
		case_tensor(c, NPU_COLOR_CHROMA, NPU_U8, 4, chroma, CONTENTS_TAME);
		return;
	}
	if (format == NPU_COLOR_YUYV) {
		in[3] = 2;
		c->param[NPU_COLOR_P_SWAP] = rng_below(2);
	}
	case_tensor(c, NPU_COLOR_IN, NPU_U8, 4, in, CONTENTS_TAME);
}

/* Few codes, so that the ends are common; counters from anywhere, near the wrap too. */
static void make_count(struct tcase *c)
{
	npu_u32 dim[NPU_MAX_RANK], counters = rng_range(2, 3), rank = rng_below(NPU_MAX_RANK + 1),
				   i;
	unsigned int type = rng_chance(2) ? NPU_I8 : NPU_U8;
	npu_u64 j;

	for (i = 0; i < rank; i++)
		dim[i] = rng_range(1, i + 1 == rank ? (rng_chance(3) ? 3000 : 80) : 5);
	case_init(c, NPU_OP_COUNT);
	case_tensor(c, NPU_COUNT_INOUT, NPU_I64, 1, &counters, CONTENTS_WILD);
	case_tensor(c, NPU_COUNT_IN, type, rank, dim, CONTENTS_TAME);
	case_quantize(c, NPU_COUNT_IN);
	for (j = 0; j < c->size[NPU_COUNT_IN]; j++)
		c->data[NPU_COUNT_IN][j] = (unsigned char)((rng_below(3) + 255) ^
							   (type == NPU_I8 ? 0x80 : 0));
}

int main(void)
{
	rng_seed(27);
	harness_many("attention", 1000, make_attention);
	harness_many("rope", 1000, make_rope);
	harness_many("dyn_quant", 1000, make_dyn_quant);
	harness_many("color", 2000, make_color);
	harness_many("count", 2000, make_count);
	harness_report();
	return tap_done();
}
