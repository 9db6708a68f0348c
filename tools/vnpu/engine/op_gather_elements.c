// SPDX-License-Identifier: MIT
/* GATHER_ELEMENTS and SCATTER_ELEMENTS: one element per index along an axis. */
#include "index.h"
#include "iter.h"
#include "raw.h"
#include "scatter.h"

struct elements {
	const struct npu_vec *vec;
	/* other: out of a gather, in of a scatter */
	const struct npu_operand *data, *index, *other;
	struct npu_elem de, oe;
	char *dp, *op;
	const char *xp;
	unsigned int axis, join;
	bool raw, as_int;
};

/*
 * Element @i (row-major) of the index: its index is read and checked; gives the data's and the
 * other's address. Returns false after a fault.
 */
static bool locate(struct npu_exec *x, const struct elements *w, npu_u64 i, unsigned int slot,
		   char **data, char **other)
{
	const struct npu_operand *ix = w->index;
	npu_u64 rest = i, rows = w->data->dim[w->axis];
	npu_s64 xo = 0, v;
	npu_s32 narrow;
	unsigned int d;

	*data = w->dp;
	*other = w->op;
	for (d = ix->rank; d-- > 0; rest /= ix->dim[d]) {
		npu_s64 at = (npu_s64)(rest % ix->dim[d]);

		xo += at * ix->stride[d];
		*other += at * w->other->stride[d];
		if (d != w->axis)
			*data += at * w->data->stride[d];
	}
	if (ix->dtype == NPU_I64) {
		memcpy(&v, w->xp + xo, sizeof(v));
	} else {
		memcpy(&narrow, w->xp + xo, sizeof(narrow));
		v = narrow;
	}
	if (v >= (npu_s64)rows || v < -(npu_s64)rows) {
		npu_exec_fault(x, i, NPU_FAULT_INDEX, slot, ~0u, v,
			       "%s: index %lld at element %llu is outside of %llu",
			       x->insn.desc->mnemonic, (long long)v, (unsigned long long)i,
			       (unsigned long long)rows);
		return false;
	}
	*data += (v < 0 ? v + (npu_s64)rows : v) * w->data->stride[w->axis];
	return true;
}

static void convert_one(const struct elements *w, char *dst, const char *src)
{
	struct npu_patch s = { .p = (char *)src, .rows = 1, .cols = 1 },
			 d = { .p = dst, .rows = 1, .cols = 1 };
	float f;

	w->vec->load(&f, &w->de, &s);
	w->vec->store(&f, &w->oe, &d);
}

static void gather(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct elements *w = arg;
	char *data, *other;

	for (; begin < end && locate(x, w, begin, NPU_GATHER_ELEMENTS_INDEX, &data, &other);
	     begin++) {
		if (w->raw)
			npu_raw_line(other, 0, data, 0, 1, w->oe.size);
		else
			convert_one(w, other, data);
	}
}

int npu_op_gather_elements(struct npu_exec *x)
{
	const struct npu_operand *op = x->operand;
	struct elements w = {
		.vec = npu_vec_get(x->simd),
		.data = &op[NPU_GATHER_ELEMENTS_IN],
		.index = &op[NPU_GATHER_ELEMENTS_INDEX],
		.other = &op[NPU_GATHER_ELEMENTS_OUT],
		.de = npu_elem_of(&op[NPU_GATHER_ELEMENTS_IN]),
		.oe = npu_elem_of(&op[NPU_GATHER_ELEMENTS_OUT]),
		.dp = x->ptr[NPU_GATHER_ELEMENTS_IN],
		.op = x->ptr[NPU_GATHER_ELEMENTS_OUT],
		.xp = x->ptr[NPU_GATHER_ELEMENTS_INDEX],
		.axis = x->param[NPU_GATHER_ELEMENTS_P_AXIS],
	};
	npu_u64 n = 1;
	unsigned int d;

	for (d = 0; d < w.index->rank; d++)
		n *= w.index->dim[d];
	w.raw = npu_elem_same_code(&w.de, &w.oe);
	npu_exec_path(x, NPU_PATH_GATHER_GENERIC);
	return npu_exec_parallel(x, n, 10, gather, &w);
}

/* In order, so on one thread: later elements may join earlier ones. */
static void scatter(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct elements *w = arg;
	char *data, *other;

	for (; begin < end; begin++) {
		if (!(begin & 0xfff) && npu_exec_stopped(x))
			return;
		if (!locate(x, w, begin, NPU_SCATTER_ELEMENTS_INDEX, &data, &other))
			return;
		npu_scatter_line(w->vec, w->join, &w->de, data, 0, &w->oe, other, 0, 1);
	}
}

int npu_op_scatter_elements(struct npu_exec *x)
{
	const struct npu_operand *op = x->operand;
	struct elements w = {
		.vec = npu_vec_get(x->simd),
		.data = &op[NPU_SCATTER_ELEMENTS_INOUT],
		.index = &op[NPU_SCATTER_ELEMENTS_INDEX],
		.other = &op[NPU_SCATTER_ELEMENTS_IN],
		.de = npu_elem_of(&op[NPU_SCATTER_ELEMENTS_INOUT]),
		.oe = npu_elem_of(&op[NPU_SCATTER_ELEMENTS_IN]),
		.dp = x->ptr[NPU_SCATTER_ELEMENTS_INOUT],
		.op = x->ptr[NPU_SCATTER_ELEMENTS_IN],
		.xp = x->ptr[NPU_SCATTER_ELEMENTS_INDEX],
		.axis = x->param[NPU_SCATTER_ELEMENTS_P_AXIS],
		.join = x->param[NPU_SCATTER_ELEMENTS_P_JOIN],
	};
	npu_u64 n = 1;
	unsigned int d;

	for (d = 0; d < w.index->rank; d++)
		n *= w.index->dim[d];
	return npu_exec_parallel_aligned(x, n, n, 30, scatter, &w);
}
