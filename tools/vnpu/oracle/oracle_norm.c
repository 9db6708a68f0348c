// SPDX-License-Identifier: MIT
/* SOFTMAX and NORM. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "oracle.h"

static void softmax_row(float *x, npu_u32 n, bool log_form)
{
	float m = x[0], s, *e = malloc(n * sizeof(*e));

	for (npu_u32 i = 0; i < n; i++)
		m = x[i] > m || isnan(x[i]) ? x[i] : m;
	for (npu_u32 i = 0; i < n; i++)
		e[i] = (float)exp2((x[i] - m) * 1.44269504f);
	s = oracle_sum16(e, n);
	for (npu_u32 i = 0; i < n; i++)
		x[i] = log_form ? (x[i] - m) - (float)log(s) : e[i] / s;
	free(e);
}

int oracle_softmax(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_SOFTMAX_OUT),
			   in = oracle_view(insn, mem, NPU_SOFTMAX_IN);
	npu_u32 axis = insn->param[NPU_SOFTMAX_P_AXIS], index[NPU_MAX_RANK] = { 0 },
		dim[NPU_MAX_RANK] = { 0 };
	npu_u32 n = in.op->dim[axis];
	float *x = malloc(n * sizeof(*x));

	if (!x)
		return -ENOMEM;
	for (unsigned int i = 0; i < in.op->rank; i++)
		dim[i] = i == axis ? 1 : in.op->dim[i];
	do {
		for (index[axis] = 0; index[axis] < n; index[axis]++)
			x[index[axis]] = oracle_load_real(in, oracle_at(in, index));
		softmax_row(x, n, insn->param[NPU_SOFTMAX_P_LOG]);
		for (index[axis] = 0; index[axis] < n; index[axis]++)
			oracle_store_real(out, oracle_at(out, index), x[index[axis]]);
		index[axis] = 0;
	} while (oracle_next(index, dim, in.op->rank));
	free(x);
	return 0;
}

static float square_sum(const float *x, npu_u32 n)
{
	float lane[16] = { 0 };

	for (npu_u32 i = 0; i < n; i++)
		lane[i % 16] = fmaf(x[i], x[i], lane[i % 16]);
	return oracle_sum16(lane, 16);
}

static void norm_row(float *x, npu_u32 n, unsigned int kind, float eps)
{
	float mean = 0, scale;

	if (kind == NPU_NORM_LAYER)
		mean = oracle_sum16(x, n) / (float)n;
	for (npu_u32 i = 0; i < n && kind == NPU_NORM_LAYER; i++)
		x[i] -= mean;
	scale = 1 / sqrtf(square_sum(x, n) / (float)n + eps);
	for (npu_u32 i = 0; i < n; i++)
		x[i] *= scale;
}

int oracle_norm(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_NORM_OUT),
			   in = oracle_view(insn, mem, NPU_NORM_IN);
	struct oracle_view gamma = oracle_view(insn, mem, NPU_NORM_GAMMA),
			   beta = oracle_view(insn, mem, NPU_NORM_BETA);
	struct oracle_view addend = oracle_view(insn, mem, NPU_NORM_ADDEND),
			   sum = oracle_view(insn, mem, NPU_NORM_SUM);
	unsigned int last = in.op->rank - 1;
	npu_u32 index[NPU_MAX_RANK] = { 0 }, dim[NPU_MAX_RANK] = { 0 }, n = in.op->dim[last],
		*i = &index[last];
	float *x = malloc(n * sizeof(*x));

	if (!x)
		return -ENOMEM;
	for (unsigned int d = 0; d < last; d++)
		dim[d] = in.op->dim[d];
	dim[last] = 1;
	do {
		for (*i = 0; *i < n; (*i)++) {
			x[*i] = oracle_load_real(in, oracle_at(in, index));
			if (oracle_present(addend))
				x[*i] += oracle_load_real(addend, oracle_at(addend, index));
			if (oracle_present(sum))
				oracle_store_real(sum, oracle_at(sum, index), x[*i]);
		}
		norm_row(x, n, insn->param[NPU_NORM_P_KIND],
			 oracle_param_f32(insn, NPU_NORM_P_EPS));
		for (*i = 0; *i < n; (*i)++) {
			float y = x[*i], g = oracle_present(gamma) ?
						     oracle_load_real(gamma, oracle_at(gamma, i)) :
						     1;

			y = oracle_present(beta) ?
				    fmaf(y, g, oracle_load_real(beta, oracle_at(beta, i))) :
				    y * g;
			oracle_store_real(out, oracle_at(out, index), y);
		}
		*i = 0;
	} while (oracle_next(index, dim, in.op->rank));
	free(x);
	return 0;
}
