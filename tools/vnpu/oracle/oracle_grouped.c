// SPDX-License-Identifier: MIT
/* Codes in groups: one code, one scale, one minimum at a time. */
#include <math.h>
#include "oracle.h"

struct oracle_groups oracle_groups_matmul(const struct npu_insn *insn,
					  const struct oracle_memory *mem)
{
	struct oracle_groups g = {
		.code = oracle_view(insn, mem, NPU_MATMUL_B),
		.scale = oracle_view(insn, mem, NPU_MATMUL_GROUP_SCALE),
		.min = oracle_view(insn, mem, NPU_MATMUL_GROUP_MIN),
		.super = oracle_view(insn, mem, NPU_MATMUL_SUPER_SCALE),
		.book = oracle_view(insn, mem, NPU_MATMUL_CODEBOOK),
		.group = insn->param[NPU_MATMUL_P_GROUP],
		.per_super = insn->param[NPU_MATMUL_P_SUPER],
	};

	g.k = g.code.op->dim[g.code.op->rank - 2];
	g.n = g.code.op->dim[g.code.op->rank - 1];
	return g;
}

struct oracle_groups oracle_groups_gather(const struct npu_insn *insn,
					  const struct oracle_memory *mem)
{
	struct oracle_groups g = {
		.code = oracle_view(insn, mem, NPU_GATHER_IN),
		.scale = oracle_view(insn, mem, NPU_GATHER_GROUP_SCALE),
		.min = oracle_view(insn, mem, NPU_GATHER_GROUP_MIN),
		.super = oracle_view(insn, mem, NPU_GATHER_SUPER_SCALE),
		.book = oracle_view(insn, mem, NPU_GATHER_CODEBOOK),
		.group = insn->param[NPU_GATHER_P_GROUP],
		.per_super = insn->param[NPU_GATHER_P_SUPER],
		.rows_first = true,
	};

	g.n = g.code.op->dim[1];
	g.k = g.code.op->dim[2];
	return g;
}

/* Bit number @at of a string of bytes. */
static unsigned int bit(const unsigned char *base, npu_u64 at)
{
	return base[at / 8] >> at % 8 & 1;
}

/* The bits of code @i of a quad, from the lowest, in the order in which uapi/npu_isa.h has them. */
static unsigned int quad_code(const unsigned char *quad, unsigned int bits, unsigned int i)
{
	unsigned int code = 0;

	if (bits == 8)
		return quad[i];
	for (unsigned int b = 0; b < 4; b++)
		code += bit(quad, 8ull * (i % 32) + (i < 32 ? 0 : 4) + b) << b;
	if (bits == 5)
		code += 16 * bit(quad + 32, i);
	if (bits == 6)
		for (unsigned int b = 0; b < 2; b++)
			code += (16u << b) * bit(quad + 32, 8ull * (i % 16) + 2 * (i / 16) + b);
	return code;
}

npu_s64 oracle_group_code(const struct oracle_groups *g, npu_u32 k, npu_u32 n)
{
	unsigned int bits = npu_dtype_bits(g->code.op->dtype), code = 0;
	npu_u64 panel = n / 16, quads = (g->k + 3ull) / 4;

	if (g->code.op->layout == NPU_LAYOUT_GROUPED16) {
		code = quad_code(g->code.base + (panel * quads + k / 4) * bits * 8, bits,
				 n % 16 * 4 + k % 4);
	} else {
		const unsigned char *row = g->code.base + (npu_s64)n * g->code.op->stride[1];

		if (bits == 8)
			return row[(npu_s64)k * g->code.op->stride[2]] - g->code.op->zero_point;
		for (unsigned int b = 0; b < bits; b++)
			code += bit(row, (npu_u64)k * bits + b) << b;
	}
	if (oracle_present(g->book))
		return oracle_load_int(g->book, oracle_at(g->book, &code));
	return (npu_s64)code - g->code.op->zero_point;
}

/* Element of factors [K'][N], or [N][K'] with the rows first; @skip matrices come before it. */
static float factor(const struct oracle_groups *g, struct oracle_view v, npu_u32 skip,
		    npu_u32 count, npu_u32 k, npu_u32 n)
{
	unsigned int rank = v.op->rank, bytes = npu_dtype_bits(v.op->dtype) / 8;
	npu_u32 index[3] = { skip };
	npu_u64 panels = (g->n + 15ull) / 16;

	index[rank - 2] = g->rows_first ? n : k;
	index[rank - 1] = g->rows_first ? k : n;
	if (v.op->layout == NPU_LAYOUT_PANEL16)
		return oracle_load_real(v, v.base + (((skip * panels + n / 16) * count + k) * 16 +
						     n % 16) * bytes);
	return oracle_load_real(v, oracle_at(v, index));
}

static float leveled(const struct oracle_groups *g, struct oracle_view v, npu_u32 which,
		     npu_u32 group, npu_u32 n)
{
	npu_u32 groups = (g->k + g->group - 1) / g->group, supers;
	float f = factor(g, v, 0, groups, group, n);

	if (!g->per_super)
		return f;
	supers = (g->k + g->per_super - 1) / g->per_super;
	return f * factor(g, g->super, which, supers,
			  (npu_u32)((npu_u64)group * g->group / g->per_super), n);
}

float oracle_group_scale(const struct oracle_groups *g, npu_u32 group, npu_u32 n)
{
	return leveled(g, g->scale, 0, group, n);
}

float oracle_group_min(const struct oracle_groups *g, npu_u32 group, npu_u32 n)
{
	return leveled(g, g->min, 1, group, n);
}

float oracle_group_weight(const struct oracle_groups *g, npu_u32 k, npu_u32 n)
{
	float code = (float)oracle_group_code(g, k, n),
	      scale = oracle_group_scale(g, k / g->group, n);

	if (oracle_present(g->min))
		return fmaf(code, scale, oracle_group_min(g, k / g->group, n));
	return code * scale;
}
