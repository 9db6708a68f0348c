// SPDX-License-Identifier: MIT
/* MATMUL: batched product of two activations, or of an activation and a weight. */
#include <math.h>
#include "oracle.h"

struct product {
	struct oracle_view a, b, b_zero, a_scale;
	npu_u32 m, k, n;
};

static float b_real(const struct product *p, const npu_u32 *at, npu_u64 batch, npu_u32 k, npu_u32 n)
{
	npu_u64 panels = (p->n + 15) / 16;

	if (p->b.op->layout == NPU_LAYOUT_STRIDED)
		return oracle_load_real(p->b, oracle_at_broadcast(p->b, at, p->b.op->rank));
	return oracle_weight_real(p->b, (npu_u32)(batch * panels * 16 + n), k,
				  (npu_u32)(panels * 16), p->k);
}

static npu_s64 b_int(const struct product *p, const npu_u32 *at, npu_u64 batch, npu_u32 k,
		     npu_u32 n)
{
	npu_u64 panels = (p->n + 15) / 16;
	npu_s64 zero = p->b.op->zero_point;

	if (oracle_present(p->b_zero))
		zero = oracle_load_int(p->b_zero, oracle_at(p->b_zero, &n));
	if (p->b.op->layout == NPU_LAYOUT_STRIDED)
		return oracle_load_int(p->b, oracle_at_broadcast(p->b, at, p->b.op->rank)) - zero;
	return oracle_weight_int(p->b, (npu_u32)(batch * panels * 16 + n), k,
				 (npu_u32)(panels * 16), p->k) -
	       zero;
}

/* Which matrix of the weight belongs to this batch: dims of size 1 are shared. */
static npu_u64 b_batch(const struct product *p, const npu_u32 *index)
{
	npu_u64 batch = 0;

	for (unsigned int i = 0; i + 2 < p->b.op->rank; i++)
		batch = batch * p->b.op->dim[i] + (p->b.op->dim[i] == 1 ? 0 : index[i]);
	return batch;
}

/* Row @at_a of codes with output @n: integer sums of groups, joined in order. */
static float grouped_codes(const struct npu_insn *insn, const struct product *p,
			   const struct oracle_groups *g, npu_u32 *at_a, npu_u32 n)
{
	npu_u32 a_group = npu_insn_param(insn, NPU_MATMUL_P_A_GROUP), rank = p->a.op->rank;
	npu_u32 at_scale[NPU_MAX_RANK];
	float acc = 0, s = p->a.op->scale;

	for (npu_u32 first = 0; first < g->k; first += g->group) {
		npu_s64 dot = 0, sum = 0;

		for (npu_u32 k = first; k < g->k && k - first < g->group; k++) {
			npu_s64 a;

			at_a[rank - 1] = k;
			a = oracle_load_int(p->a, oracle_at_broadcast(p->a, at_a, rank));
			dot += a * oracle_group_code(g, k, n);
			sum += a;
		}
		for (npu_u32 i = 0; i < rank; i++)
			at_scale[i] = i + 1 < rank ? at_a[i] : a_group ? first / a_group : 0;
		if (oracle_present(p->a_scale))
			s = oracle_load_real(p->a_scale,
					     oracle_at_broadcast(p->a_scale, at_scale,
								 p->a_scale.op->rank));
		acc = fmaf((float)dot, s * oracle_group_scale(g, first / g->group, n), acc);
		if (oracle_present(g->min))
			acc = fmaf((float)sum, s * oracle_group_min(g, first / g->group, n), acc);
	}
	return acc;
}

static float grouped_floats(const struct product *p, const struct oracle_groups *g, npu_u32 *at_a,
			    npu_u32 n)
{
	npu_u32 rank = p->a.op->rank;
	float acc = 0;

	for (npu_u32 k = 0; k < g->k; k++) {
		at_a[rank - 1] = k;
		acc = fmaf(oracle_load_real(p->a, oracle_at_broadcast(p->a, at_a, rank)),
			   oracle_group_weight(g, k, n), acc);
	}
	return acc;
}

static int grouped(const struct npu_insn *insn, const struct oracle_memory *mem,
		   const struct product *p)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_MATMUL_OUT);
	struct oracle_groups g = oracle_groups_matmul(insn, mem);
	npu_u32 index[NPU_MAX_RANK] = { 0 };
	struct oracle_epilogue e;
	npu_u64 number = 0;

	oracle_epilogue_init(&e, insn, mem, NPU_MATMUL_BIAS, NPU_MATMUL_P_ACT);
	do {
		npu_u32 at_a[NPU_MAX_RANK], n = index[out.op->rank - 1];

		if (!oracle_wanted(mem, number++))
			continue;
		for (unsigned int i = 0; i < out.op->rank; i++)
			at_a[i] = index[i];
		oracle_epilogue_float(&e, out, index, n,
				      p->a.op->dtype == NPU_I8 ? grouped_codes(insn, p, &g, at_a, n)
							       : grouped_floats(p, &g, at_a, n));
	} while (oracle_next(index, out.op->dim, out.op->rank));
	return 0;
}

int oracle_matmul(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_MATMUL_OUT);
	struct product p = {
		.a = oracle_view(insn, mem, NPU_MATMUL_A),
		.b = oracle_view(insn, mem, NPU_MATMUL_B),
		.b_zero = oracle_view(insn, mem, NPU_MATMUL_B_ZERO),
		.a_scale = oracle_view(insn, mem, NPU_MATMUL_A_SCALE),
	};
	unsigned int rank = out.op->rank;
	npu_u32 index[NPU_MAX_RANK] = { 0 };
	npu_u64 number = 0;
	struct oracle_epilogue e;
	bool integer = p.a.op->dtype == NPU_I8 || p.a.op->dtype == NPU_U8;
	npu_s64 a_zero = oracle_zero(insn, mem, NPU_MATMUL_A, NPU_MATMUL_A_ZERO);

	if (p.b.op->layout == NPU_LAYOUT_GROUPED16)
		return grouped(insn, mem, &p);
	p.k = p.a.op->dim[rank - 1];
	p.n = out.op->dim[rank - 1];
	oracle_epilogue_init(&e, insn, mem, NPU_MATMUL_BIAS, NPU_MATMUL_P_ACT);
	do {
		npu_u32 at_a[NPU_MAX_RANK], at_b[NPU_MAX_RANK], n = index[rank - 1];
		npu_u64 batch = b_batch(&p, index);
		npu_s64 iacc = 0;
		float facc = 0;

		if (!oracle_wanted(mem, number++))
			continue;
		for (unsigned int i = 0; i < rank; i++)
			at_a[i] = at_b[i] = index[i];
		for (npu_u32 k = 0; k < p.k; k++) {
			const unsigned char *a;

			at_a[rank - 1] = k;
			at_b[rank - 2] = k;
			a = oracle_at_broadcast(p.a, at_a, rank);
			if (integer)
				iacc += (oracle_load_int(p.a, a) - a_zero) *
					b_int(&p, at_b, batch, k, n);
			else
				facc = fmaf(oracle_load_real(p.a, a), b_real(&p, at_b, batch, k, n),
					    facc);
		}
		if (integer)
			oracle_epilogue_int(&e, out, index, n, iacc);
		else
			oracle_epilogue_float(&e, out, index, n, facc);
	} while (oracle_next(index, out.op->dim, rank));
	return 0;
}
