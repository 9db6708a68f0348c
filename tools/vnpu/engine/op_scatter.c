// SPDX-License-Identifier: MIT
/*
 * SCATTER: rows in order; threads share out the outer index and stretches of the inner one, so each
 * place has one writer.
 */
#include "ewise_int.h"
#include "index.h"
#include "iter.h"
#include "raw.h"
#include "scatter.h"

#define STRETCH	1024u

static const unsigned int binary_of[NPU_NUM_SCATTERS] = {
	[NPU_SCATTER_ADD] = NPU_BINARY_ADD,
	[NPU_SCATTER_MUL] = NPU_BINARY_MUL,
	[NPU_SCATTER_MIN] = NPU_BINARY_MIN,
	[NPU_SCATTER_MAX] = NPU_BINARY_MAX,
};

static void join_block(const struct npu_vec *vec, unsigned int join, const struct npu_elem *de,
		       const struct npu_patch *d, const struct npu_elem *se,
		       const struct npu_patch *s)
{
	npu_s64 ia[NPU_BLOCK], ib[NPU_BLOCK];
	float fa[NPU_BLOCK], fb[NPU_BLOCK];

	if (npu_elem_plain_int(de) && npu_elem_plain_int(se)) {
		vec->load_int(ia, de, d);
		vec->load_int(ib, se, s);
		npu_ewise_int_binary(ia, ib, d->cols, binary_of[join]);
		vec->store_int(ia, de, d);
		return;
	}
	vec->load(fb, se, s);
	if (join == NPU_SCATTER_NONE) {
		vec->store(fb, de, d);
		return;
	}
	vec->load(fa, de, d);
	vec->binary(fa, fb, d->cols, binary_of[join]);
	vec->store(fa, de, d);
}

void npu_scatter_line(const struct npu_vec *vec, unsigned int join, const struct npu_elem *de,
		      char *dst, npu_s64 dst_step, const struct npu_elem *se, const char *src,
		      npu_s64 src_step, npu_u64 n)
{
	npu_u64 i, m;

	if (join == NPU_SCATTER_NONE && npu_elem_same_code(de, se)) {
		npu_raw_line(dst, dst_step, src, src_step, n, de->size);
		return;
	}
	for (i = 0; i < n; i += m) {
		struct npu_patch d = { .p = dst + (npu_s64)i * dst_step,
				       .col = dst_step,
				       .rows = 1 };
		struct npu_patch s = { .p = (char *)src + (npu_s64)i * src_step,
				       .col = src_step,
				       .rows = 1 };

		m = n - i < NPU_BLOCK ? n - i : NPU_BLOCK;
		d.cols = s.cols = (npu_u32)m;
		join_block(vec, join, de, &d, se, &s);
	}
}

struct scatter {
	const struct npu_vec *vec;
	const struct npu_operand *data, *in;
	struct npu_elem de, ie;
	char *dp;
	const char *ip;
	const npu_s64 *index;
	npu_u64 first, count;		/* rows of this part */
	npu_u64 stretches;
	unsigned int join;
};

static void run(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct scatter *w = arg;
	npu_u64 i;

	for (; begin < end; begin++) {
		npu_s64 o = (npu_s64)(begin / w->stretches),
			n0 = (npu_s64)(begin % w->stretches * STRETCH);
		npu_u64 n = w->in->dim[2] - (npu_u64)n0 < STRETCH ? w->in->dim[2] - (npu_u64)n0 :
								    STRETCH;
		char *dst = w->dp + o * w->data->stride[0] + n0 * w->data->stride[2];
		const char *src = w->ip + o * w->in->stride[0] + n0 * w->in->stride[2] +
				  (npu_s64)w->first * w->in->stride[1];

		for (i = 0; i < w->count; i++) {
			if (!(i & 0xff) && npu_exec_stopped(x))
				return;
			if (w->index[i] >= 0)
				npu_scatter_line(w->vec, w->join, &w->de,
						 dst + w->index[i] * w->data->stride[1],
						 w->data->stride[2], &w->ie,
						 src + (npu_s64)i * w->in->stride[1],
						 w->in->stride[2], n);
		}
	}
}

int npu_op_scatter(struct npu_exec *x)
{
	const struct npu_operand *data = &x->operand[NPU_SCATTER_INOUT],
				 *in = &x->operand[NPU_SCATTER_IN];
	struct scatter w = {
		.vec = npu_vec_get(x->simd),
		.data = data,
		.in = in,
		.de = npu_elem_of(data),
		.ie = npu_elem_of(in),
		.dp = x->ptr[NPU_SCATTER_INOUT],
		.ip = x->ptr[NPU_SCATTER_IN],
		.stretches = (in->dim[2] + STRETCH - 1) / STRETCH,
		.join = x->param[NPU_SCATTER_P_JOIN],
	};
	npu_u64 n = in->dim[2] < STRETCH ? in->dim[2] : STRETCH;
	int ret = 0;

	for (; !ret && w.first < in->dim[1]; w.first += w.count) {
		ret = npu_index_copy(x, NPU_SCATTER_INDEX, w.first, data->dim[1],
				     x->param[NPU_SCATTER_P_SKIP]);
		w.index = npu_exec_shared(x);
		w.count = in->dim[1] - w.first < NPU_INDEX_PART ? in->dim[1] - w.first :
								  NPU_INDEX_PART;
		if (!ret)
			ret = npu_exec_parallel(x, in->dim[0] * w.stretches,
						(double)w.count * (15 + (double)n * 0.3), run, &w);
	}
	return ret;
}
