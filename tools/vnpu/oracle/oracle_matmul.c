// SPDX-License-Identifier: MIT
/* MATMUL: batched product of two activations, or of an activation and a weight. */
#include <errno.h>
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

	if (p.b.op->layout == NPU_LAYOUT_GROUPED16 || oracle_present(p.a_scale))
		return -ENOTSUP;
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
