// SPDX-License-Identifier: MIT
/* GATHER, GATHER_ELEMENTS, SCATTER and SCATTER_ELEMENTS. */
#include <errno.h>
#include <math.h>
#include "oracle.h"

/* Index @i of @v counted from the end when negative; -1 when outside of 0 .. rows - 1. */
static npu_s64 wrapped(struct oracle_view v, const unsigned char *at, npu_u32 rows)
{
	npu_s64 i = oracle_load_int(v, at);

	if (i < 0)
		i += rows;
	return i < 0 || i >= rows ? -1 : i;
}

int oracle_gather(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_GATHER_OUT),
			   in = oracle_view(insn, mem, NPU_GATHER_IN);
	struct oracle_view list = oracle_view(insn, mem, NPU_GATHER_INDEX);
	npu_u32 index[3] = { 0 };
	struct oracle_groups g;

	if (insn->param[NPU_GATHER_P_GROUP])
		g = oracle_groups_gather(insn, mem);
	do {
		npu_s64 row = wrapped(list, oracle_at(list, &index[1]), in.op->dim[1]);
		npu_u32 from[3] = { index[0], (npu_u32)row, index[2] };

		if (row < 0)
			return -ERANGE;
		if (insn->param[NPU_GATHER_P_GROUP])
			oracle_store_real(out, oracle_at(out, index),
					  oracle_group_weight(&g, index[2], (npu_u32)row));
		else
			oracle_move(out, oracle_at(out, index), in, oracle_at(in, from));
	} while (oracle_next(index, out.op->dim, 3));
	return 0;
}

int oracle_gather_elements(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_GATHER_ELEMENTS_OUT);
	struct oracle_view in = oracle_view(insn, mem, NPU_GATHER_ELEMENTS_IN);
	struct oracle_view list = oracle_view(insn, mem, NPU_GATHER_ELEMENTS_INDEX);
	npu_u32 index[NPU_MAX_RANK] = { 0 }, from[NPU_MAX_RANK],
		axis = insn->param[NPU_GATHER_ELEMENTS_P_AXIS];

	do {
		npu_s64 row = wrapped(list, oracle_at(list, index), in.op->dim[axis]);

		if (row < 0)
			return -ERANGE;
		for (unsigned int i = 0; i < out.op->rank; i++)
			from[i] = i == axis ? (npu_u32)row : index[i];
		oracle_move(out, oracle_at(out, index), in, oracle_at(in, from));
	} while (oracle_next(index, out.op->dim, out.op->rank));
	return 0;
}

static void join_real(struct oracle_view io, unsigned char *to, float v, unsigned int join)
{
	float old = oracle_load_real(io, to);

	switch (join) {
	case NPU_SCATTER_ADD:
		v = old + v;
		break;
	case NPU_SCATTER_MUL:
		v = old * v;
		break;
	case NPU_SCATTER_MIN:
		v = oracle_min(old, v);
		break;
	case NPU_SCATTER_MAX:
		v = oracle_max(old, v);
		break;
	default:
		break;
	}
	oracle_store_real(io, to, v);
}

static void join_int(struct oracle_view io, unsigned char *to, npu_s64 v, unsigned int join)
{
	npu_s64 old = oracle_load_int(io, to);

	switch (join) {
	case NPU_SCATTER_ADD:
		v = (npu_s64)((npu_u64)old + (npu_u64)v);
		break;
	case NPU_SCATTER_MUL:
		v = (npu_s64)((npu_u64)old * (npu_u64)v);
		break;
	case NPU_SCATTER_MIN:
		v = old < v ? old : v;
		break;
	case NPU_SCATTER_MAX:
		v = old > v ? old : v;
		break;
	default:
		break;
	}
	oracle_store_int(io, to, v);
}

static void join(struct oracle_view io, unsigned char *to, struct oracle_view in,
		 const unsigned char *from, unsigned int how)
{
	if (oracle_is_real(io) || oracle_is_real(in))
		join_real(io, to, oracle_load_real(in, from), how);
	else
		join_int(io, to, oracle_load_int(in, from), how);
}

int oracle_scatter(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view io = oracle_view(insn, mem, NPU_SCATTER_INOUT),
			   in = oracle_view(insn, mem, NPU_SCATTER_IN);
	struct oracle_view list = oracle_view(insn, mem, NPU_SCATTER_INDEX);

	for (npu_u32 i = 0; i < in.op->dim[1]; i++) {
		npu_s64 row = oracle_load_int(list, oracle_at(list, &i));

		if (row == -1 && insn->param[NPU_SCATTER_P_SKIP])
			continue;
		row = wrapped(list, oracle_at(list, &i), io.op->dim[1]);
		if (row < 0)
			return -ERANGE;
		for (npu_u32 o = 0; o < in.op->dim[0]; o++) {
			for (npu_u32 n = 0; n < in.op->dim[2]; n++) {
				npu_u32 to[3] = { o, (npu_u32)row, n }, from[3] = { o, i, n };

				join(io, oracle_at(io, to), in, oracle_at(in, from),
				     insn->param[NPU_SCATTER_P_JOIN]);
			}
		}
	}
	return 0;
}

int oracle_scatter_elements(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view io = oracle_view(insn, mem, NPU_SCATTER_ELEMENTS_INOUT);
	struct oracle_view in = oracle_view(insn, mem, NPU_SCATTER_ELEMENTS_IN);
	struct oracle_view list = oracle_view(insn, mem, NPU_SCATTER_ELEMENTS_INDEX);
	npu_u32 index[NPU_MAX_RANK] = { 0 }, to[NPU_MAX_RANK],
		axis = insn->param[NPU_SCATTER_ELEMENTS_P_AXIS];

	do {
		npu_s64 row = wrapped(list, oracle_at(list, index), io.op->dim[axis]);

		if (row < 0)
			return -ERANGE;
		for (unsigned int i = 0; i < in.op->rank; i++)
			to[i] = i == axis ? (npu_u32)row : index[i];
		join(io, oracle_at(io, to), in, oracle_at(in, index),
		     insn->param[NPU_SCATTER_ELEMENTS_P_JOIN]);
	} while (oracle_next(index, in.op->dim, in.op->rank));
	return 0;
}
