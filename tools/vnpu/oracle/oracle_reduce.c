// SPDX-License-Identifier: MIT
/* REDUCE, ARG_REDUCE, TOPK and CUMSUM. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "oracle.h"

/* The elements that one output gathers, in row-major order. */
struct gathered {
	float *real;
	npu_s64 *integer;
	npu_u64 n;
};

static void gather(struct oracle_view in, const npu_u32 *at, npu_u32 axes, struct gathered *g)
{
	npu_u32 index[NPU_MAX_RANK], dim[NPU_MAX_RANK], sub[NPU_MAX_RANK] = { 0 };

	for (unsigned int i = 0; i < in.op->rank; i++)
		dim[i] = axes >> i & 1 ? in.op->dim[i] : 1;
	g->n = 0;
	do {
		for (unsigned int i = 0; i < in.op->rank; i++)
			index[i] = axes >> i & 1 ? sub[i] : at[i];
		if (oracle_is_real(in))
			g->real[g->n] = oracle_load_real(in, oracle_at(in, index));
		else
			g->integer[g->n] = oracle_load_int(in, oracle_at(in, index));
		g->n++;
	} while (oracle_next(sub, dim, in.op->rank));
}

static float extreme(const float *x, npu_u64 n, bool min)
{
	float m = x[0];

	for (npu_u64 i = 0; i < n; i++)
		m = min ? oracle_min(m, x[i]) : oracle_max(m, x[i]);
	return m;
}

static float square_sum(const float *x, npu_u64 n)
{
	float lane[16] = { 0 };

	for (npu_u64 i = 0; i < n; i++)
		lane[i % 16] = fmaf(x[i], x[i], lane[i % 16]);
	return oracle_sum16(lane, 16);
}

static float product(const float *x, npu_u64 n)
{
	float lane[16];

	for (unsigned int l = 0; l < 16; l++)
		lane[l] = 1;
	for (npu_u64 i = 0; i < n; i++)
		lane[i % 16] *= x[i];
	for (unsigned int step = 8; step; step /= 2)
		for (unsigned int l = 0; l < step; l++)
			lane[l] *= lane[l + step];
	return lane[0];
}

static float reduce_real(unsigned int func, float *x, npu_u64 n)
{
	float m;

	switch (func) {
	case NPU_REDUCE_SUM:
		return oracle_sum16(x, n);
	case NPU_REDUCE_MEAN:
		return oracle_sum16(x, n) / (float)n;
	case NPU_REDUCE_MAX:
		return extreme(x, n, false);
	case NPU_REDUCE_MIN:
		return extreme(x, n, true);
	case NPU_REDUCE_PROD:
		return product(x, n);
	case NPU_REDUCE_L1:
		for (npu_u64 i = 0; i < n; i++)
			x[i] = fabsf(x[i]);
		return oracle_sum16(x, n);
	case NPU_REDUCE_L2:
		return sqrtf(square_sum(x, n));
	case NPU_REDUCE_SUM_SQUARE:
		return square_sum(x, n);
	case NPU_REDUCE_LOG_SUM:
		return (float)log(oracle_sum16(x, n));
	default:
		m = extreme(x, n, false);
		for (npu_u64 i = 0; i < n; i++)
			x[i] = (float)exp((double)x[i] - m);
		return m + (float)log(oracle_sum16(x, n));
	}
}

static npu_s64 reduce_int(unsigned int func, const npu_s64 *x, npu_u64 n)
{
	npu_u64 sum = 0, abs_sum = 0, square = 0, prod = 1;
	npu_s64 lo = x[0], hi = x[0];

	for (npu_u64 i = 0; i < n; i++) {
		sum += (npu_u64)x[i];
		abs_sum += x[i] < 0 ? 0 - (npu_u64)x[i] : (npu_u64)x[i];
		square += (npu_u64)x[i] * (npu_u64)x[i];
		prod *= (npu_u64)x[i];
		lo = x[i] < lo ? x[i] : lo;
		hi = x[i] > hi ? x[i] : hi;
	}
	switch (func) {
	case NPU_REDUCE_SUM:
		return (npu_s64)sum;
	case NPU_REDUCE_MEAN:
		return (npu_s64)sum / (npu_s64)n;
	case NPU_REDUCE_MAX:
		return hi;
	case NPU_REDUCE_MIN:
		return lo;
	case NPU_REDUCE_PROD:
		return (npu_s64)prod;
	case NPU_REDUCE_L1:
		return (npu_s64)abs_sum;
	default:
		return (npu_s64)square;
	}
}

static npu_u64 count(const struct npu_operand *op, npu_u32 axes)
{
	npu_u64 n = 1;

	for (unsigned int i = 0; i < op->rank; i++)
		if (axes >> i & 1)
			n *= op->dim[i];
	return n;
}

int oracle_reduce(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_REDUCE_OUT),
			   in = oracle_view(insn, mem, NPU_REDUCE_IN);
	npu_u32 index[NPU_MAX_RANK] = { 0 }, axes = insn->param[NPU_REDUCE_P_AXES];
	npu_u64 n = count(in.op, axes);
	struct gathered g = { malloc(n * sizeof(float)), malloc(n * sizeof(npu_s64)), 0 };
	unsigned int func = insn->param[NPU_REDUCE_P_FUNC];
	int err = -ENOMEM;

	if (!g.real || !g.integer)
		goto out_free;
	do {
		gather(in, index, axes, &g);
		if (oracle_is_real(in))
			oracle_store_real(out, oracle_at(out, index), reduce_real(func, g.real, n));
		else
			oracle_store_int(out, oracle_at(out, index),
					 reduce_int(func, g.integer, n));
	} while (oracle_next(index, out.op->dim, out.op->rank));
	err = 0;
out_free:
	free(g.real);
	free(g.integer);
	return err;
}

/*
 * Does x come before y? @nan_first: NaN is extreme, whichever extreme is wanted; else it comes
 * last.
 */
static bool before(const struct gathered *g, bool real, npu_u64 x, npu_u64 y, bool min,
		   bool nan_first)
{
	if (!real)
		return min ? g->integer[x] < g->integer[y] : g->integer[x] > g->integer[y];
	if (isnan(g->real[x]) || isnan(g->real[y]))
		return isnan(g->real[x]) != isnan(g->real[y]) &&
		       (isnan(g->real[x]) != 0) == nan_first;
	return min ? g->real[x] < g->real[y] : g->real[x] > g->real[y];
}

int oracle_arg_reduce(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_ARG_REDUCE_OUT),
			   in = oracle_view(insn, mem, NPU_ARG_REDUCE_IN);
	npu_u32 index[NPU_MAX_RANK] = { 0 }, axes = 1u << insn->param[NPU_ARG_REDUCE_P_AXIS];
	npu_u64 n = count(in.op, axes), best;
	struct gathered g = { malloc(n * sizeof(float)), malloc(n * sizeof(npu_s64)), 0 };
	bool min = insn->param[NPU_ARG_REDUCE_P_IS_MIN], last = insn->param[NPU_ARG_REDUCE_P_LAST];
	int err = -ENOMEM;

	if (!g.real || !g.integer)
		goto out_free;
	do {
		gather(in, index, axes, &g);
		best = 0;
		for (npu_u64 i = 1; i < n; i++)
			if (last ? !before(&g, oracle_is_real(in), best, i, min, true) :
				   before(&g, oracle_is_real(in), i, best, min, true))
				best = i;
		oracle_store_int(out, oracle_at(out, index), (npu_s64)best);
	} while (oracle_next(index, out.op->dim, out.op->rank));
	err = 0;
out_free:
	free(g.real);
	free(g.integer);
	return err;
}

int oracle_topk(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view values = oracle_view(insn, mem, NPU_TOPK_VALUES),
			   indices = oracle_view(insn, mem, NPU_TOPK_INDICES);
	struct oracle_view in = oracle_view(insn, mem, NPU_TOPK_IN);
	npu_u32 axis = insn->param[NPU_TOPK_P_AXIS], index[NPU_MAX_RANK] = { 0 },
		dim[NPU_MAX_RANK] = { 0 };
	npu_u64 n = count(in.op, 1u << axis);
	struct gathered g = { malloc(n * sizeof(float)), malloc(n * sizeof(npu_s64)), 0 };
	bool *taken = malloc(n);
	int err = -ENOMEM;

	if (!g.real || !g.integer || !taken)
		goto out_free;
	for (unsigned int i = 0; i < in.op->rank; i++)
		dim[i] = i == axis ? 1 : in.op->dim[i];
	do {
		gather(in, index, 1u << axis, &g);
		for (npu_u64 i = 0; i < n; i++)
			taken[i] = false;
		for (npu_u32 k = 0; k < values.op->dim[axis]; k++) {
			bool smallest = insn->param[NPU_TOPK_P_SMALLEST];
			npu_u64 best = n;

			for (npu_u64 i = 0; i < n; i++)
				if (!taken[i] && (best == n || before(&g, oracle_is_real(in), i,
								      best, smallest, !smallest)))
					best = i;
			taken[best] = true;
			index[axis] = k;
			if (oracle_is_real(in))
				oracle_store_real(values, oracle_at(values, index), g.real[best]);
			else
				oracle_store_int(values, oracle_at(values, index), g.integer[best]);
			oracle_store_int(indices, oracle_at(indices, index), (npu_s64)best);
		}
		index[axis] = 0;
	} while (oracle_next(index, dim, in.op->rank));
	err = 0;
out_free:
	free(g.real);
	free(g.integer);
	free(taken);
	return err;
}

int oracle_cumsum(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_CUMSUM_OUT),
			   in = oracle_view(insn, mem, NPU_CUMSUM_IN);
	npu_u32 axis = insn->param[NPU_CUMSUM_P_AXIS], index[NPU_MAX_RANK] = { 0 },
		dim[NPU_MAX_RANK] = { 0 };
	npu_u32 n = in.op->dim[axis];

	for (unsigned int i = 0; i < in.op->rank; i++)
		dim[i] = i == axis ? 1 : in.op->dim[i];
	do {
		float real = 0;
		npu_u64 integer = 0;

		for (npu_u32 i = 0; i < n; i++) {
			index[axis] = insn->param[NPU_CUMSUM_P_REVERSE] ? n - 1 - i : i;
			for (int when = 0; when < 2; when++) {
				if (when == (int)insn->param[NPU_CUMSUM_P_EXCLUSIVE]) {
					real += oracle_load_real(in, oracle_at(in, index));
					if (!oracle_is_real(in))
						integer += (npu_u64)
							oracle_load_int(in, oracle_at(in, index));
				}
				if (when == 0 && oracle_is_real(in))
					oracle_store_real(out, oracle_at(out, index), real);
				else if (when == 0)
					oracle_store_int(out, oracle_at(out, index),
							 (npu_s64)integer);
			}
		}
		index[axis] = 0;
	} while (oracle_next(index, dim, in.op->rank));
	return 0;
}
