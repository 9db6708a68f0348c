// SPDX-License-Identifier: MIT
/* ATTENTION and ROPE, in double: textbook softmax over the keys that a row may see. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "oracle.h"

struct attention {
	struct oracle_view out, q, k, v, mask, positions, q_start, kv_len, table, sinks, k_scale,
		v_scale;
	npu_u32 batch, heads, kv_heads, depth, depth_v, length, block;
	const struct npu_insn *insn;
};

static npu_s64 load_index(struct oracle_view v, npu_u32 i)
{
	return oracle_load_int(v, oracle_at(v, &i));
}

/* Element of the cache at position @j of sequence @b; NAN when the block table points outside. */
static double cached(const struct attention *a, struct oracle_view v, struct oracle_view scale,
		     npu_u32 b, npu_u32 j, npu_u32 head, npu_u32 d)
{
	npu_u32 at[4] = { b, j, head, d };
	npu_u32 entry[2] = { b, j / a->block };
	npu_s64 block;

	if (oracle_present(a->table)) {
		block = oracle_load_int(a->table, oracle_at(a->table, entry));
		if (block < 0 || block >= v.op->dim[0])
			return NAN;
		at[0] = (npu_u32)block;
		at[1] = j % a->block;
	}
	if (oracle_present(scale))
		return (double)(oracle_load_int(v, oracle_at(v, at)) - v.op->zero_point) *
		       oracle_load_real(scale, oracle_at(scale, at));
	return oracle_load_real(v, oracle_at(v, at));
}

static double score(const struct attention *a, npu_u32 b, npu_u32 t, npu_u32 tq, npu_u32 h,
		    npu_u32 j)
{
	double s = 0, cap = oracle_param_f32(a->insn, NPU_ATTENTION_P_SOFT_CAP);
	npu_u32 kv = h / (a->heads / a->kv_heads), m[4] = { b, h, tq, j };

	for (npu_u32 d = 0; d < a->depth; d++) {
		npu_u32 at[3] = { t, h, d };

		s += (double)oracle_load_real(a->q, oracle_at(a->q, at)) *
		     cached(a, a->k, a->k_scale, b, j, kv, d);
	}
	s *= oracle_param_f32(a->insn, NPU_ATTENTION_P_SCALE);
	if (cap != 0)
		s = cap * tanh(s / cap);
	if (oracle_present(a->mask))
		s += oracle_load_real(a->mask, oracle_at_broadcast(a->mask, m, 4));
	return s;
}

static void attend(const struct attention *a, npu_u32 b, npu_u32 t, npu_u32 tq, npu_u32 q_len,
		   npu_u32 h, double *s)
{
	npu_s64 kv_len = oracle_present(a->kv_len) ? load_index(a->kv_len, b) : a->length;
	npu_s64 p = oracle_present(a->positions) ? load_index(a->positions, t) :
						   kv_len - q_len + tq;
	npu_s64 window = a->insn->param[NPU_ATTENTION_P_WINDOW],
		first = window && p - window + 1 > 0 ? p - window + 1 : 0;
	npu_s64 last = a->insn->param[NPU_ATTENTION_P_CAUSAL] && p + 1 < kv_len ? p + 1 : kv_len;
	npu_u32 kv = h / (a->heads / a->kv_heads);
	double max = -INFINITY, sum = 0, sink = -INFINITY;

	if (oracle_present(a->sinks))
		max = sink = oracle_load_real(a->sinks, oracle_at(a->sinks, &h));
	for (npu_s64 j = first; j < last; j++) {
		s[j] = score(a, b, t, tq, h, (npu_u32)j);
		max = fmax(max, s[j]);
	}
	for (npu_s64 j = first; j < last; j++)
		sum += s[j] = exp(s[j] - max);
	sum += exp(sink - max);
	for (npu_u32 d = 0; d < a->depth_v; d++) {
		npu_u32 at[3] = { t, h, d };
		double o = 0;

		for (npu_s64 j = first; j < last; j++)
			o += s[j] * cached(a, a->v, a->v_scale, b, (npu_u32)j, kv, d);
		oracle_store_real(a->out, oracle_at(a->out, at),
				  first < last ? (float)(o / sum) : 0);
	}
}

int oracle_attention(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct attention a = {
		.out = oracle_view(insn, mem, NPU_ATTENTION_OUT),
		.q = oracle_view(insn, mem, NPU_ATTENTION_Q),
		.k = oracle_view(insn, mem, NPU_ATTENTION_K),
		.v = oracle_view(insn, mem, NPU_ATTENTION_V),
		.mask = oracle_view(insn, mem, NPU_ATTENTION_MASK),
		.positions = oracle_view(insn, mem, NPU_ATTENTION_POSITIONS),
		.q_start = oracle_view(insn, mem, NPU_ATTENTION_Q_START),
		.kv_len = oracle_view(insn, mem, NPU_ATTENTION_KV_LEN),
		.table = oracle_view(insn, mem, NPU_ATTENTION_BLOCK_TABLE),
		.sinks = oracle_view(insn, mem, NPU_ATTENTION_SINKS),
		.k_scale = oracle_view(insn, mem, NPU_ATTENTION_K_SCALE),
		.v_scale = oracle_view(insn, mem, NPU_ATTENTION_V_SCALE),
		.batch = insn->param[NPU_ATTENTION_P_BATCH],
		.insn = insn,
	};
	double *s;

	a.heads = a.q.op->dim[1];
	a.depth = a.q.op->dim[2];
	a.kv_heads = a.k.op->dim[2];
	a.depth_v = a.v.op->dim[3];
	a.block = a.k.op->dim[1];
	a.length = oracle_present(a.table) ? a.block * a.table.op->dim[1] : a.block;
	s = malloc((a.length + 1) * sizeof(*s));
	if (!s)
		return -ENOMEM;
	for (npu_u32 b = 0; b < a.batch; b++) {
		npu_u32 rows = a.q.op->dim[0] / a.batch;
		npu_s64 start = oracle_present(a.q_start) ? load_index(a.q_start, b) :
							    (npu_s64)b * rows;
		npu_s64 end = oracle_present(a.q_start) ? load_index(a.q_start, b + 1) :
							  (npu_s64)(b + 1) * rows;

		for (npu_s64 t = start; t < end; t++)
			for (npu_u32 h = 0; h < a.heads; h++)
				attend(&a, b, (npu_u32)t, (npu_u32)(t - start),
				       (npu_u32)(end - start), h, s);
	}
	free(s);
	return 0;
}

int oracle_rope(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_ROPE_OUT),
			   in = oracle_view(insn, mem, NPU_ROPE_IN);
	struct oracle_view pos = oracle_view(insn, mem, NPU_ROPE_POSITIONS),
			   factors = oracle_view(insn, mem, NPU_ROPE_FACTORS);
	struct oracle_view cosines = oracle_view(insn, mem, NPU_ROPE_COS_TABLE),
			   sines = oracle_view(insn, mem, NPU_ROPE_SIN_TABLE);
	npu_u32 index[3] = { 0 }, dims = insn->param[NPU_ROPE_P_DIMS];
	float mscale = oracle_param_f32(insn, NPU_ROPE_P_MSCALE);

	do {
		npu_u32 d = index[2], pair, x_at[3] = { index[0], index[1], 0 },
			y_at[3] = { index[0], index[1], 0 };
		npu_s64 p = load_index(pos, index[0]);
		bool halves = insn->param[NPU_ROPE_P_PAIRING] == NPU_ROPE_HALVES, second;
		double c, s, x, y;

		if (d >= dims) {
			oracle_store_real(out, oracle_at(out, index),
					  oracle_load_real(in, oracle_at(in, index)));
			continue;
		}
		pair = halves ? d % (dims / 2) : d / 2;
		second = halves ? d >= dims / 2 : d % 2;
		x_at[2] = halves ? pair : pair * 2;
		y_at[2] = halves ? pair + dims / 2 : pair * 2 + 1;
		if (oracle_present(cosines)) {
			npu_u32 at[2] = { (npu_u32)p, pair };

			if (p < 0 || p >= cosines.op->dim[0])
				return -ERANGE;
			c = oracle_load_real(cosines, oracle_at(cosines, at));
			s = oracle_load_real(sines, oracle_at(sines, at));
		} else {
			double f = oracle_present(factors) ?
					   oracle_load_real(factors, oracle_at(factors, &pair)) :
					   1;
			double angle = (double)p * oracle_param_f32(insn, NPU_ROPE_P_POS_SCALE) *
				       pow(oracle_param_f32(insn, NPU_ROPE_P_BASE),
					   -2.0 * pair / dims) /
				       f;

			c = cos(angle);
			s = sin(angle);
		}
		x = oracle_load_real(in, oracle_at(in, x_at));
		y = oracle_load_real(in, oracle_at(in, y_at));
		oracle_store_real(out, oracle_at(out, index),
				  (float)((second ? x * s + y * c : x * c - y * s) * mscale));
	} while (oracle_next(index, out.op->dim, 3));
	return 0;
}
