// SPDX-License-Identifier: MIT
/* PAD: row by row of the last dimension, which is padding, a stretch of the input, padding. */
#include "npu_op.h"
#include "raw.h"

struct pad {
	unsigned int rank, mode;
	npu_s64 dim[NPU_MAX_RANK], in_dim[NPU_MAX_RANK], before[NPU_MAX_RANK];
	npu_s64 stride[NPU_MAX_RANK], in_stride[NPU_MAX_RANK];
	npu_u64 pieces;			/* of a row: one may be the whole tensor */
	npu_u32 size;
	npu_u64 bits;
	char *out;
	const char *in;
};

#define PIECE	32768

/* Index into [0, n) for position @i of the padded axis, or -1 for the constant. */
static npu_s64 map_index(unsigned int mode, npu_s64 i, npu_s64 n)
{
	npu_s64 period;

	if (i >= 0 && i < n)
		return i;
	switch (mode) {
	case NPU_PAD_EDGE:
		return i < 0 ? 0 : n - 1;
	case NPU_PAD_WRAP:
		i %= n;
		return i < 0 ? i + n : i;
	case NPU_PAD_REFLECT:
		if (n == 1)
			return 0;
		period = 2 * (n - 1);
		i %= period;
		i = i < 0 ? i + period : i;
		return i < n ? i : period - i;
	default:
		return -1;
	}
}

/* Last dimension: elements [from, to) one by one. */
static void edge(const struct pad *w, char *dst, const char *src, npu_s64 from, npu_s64 to)
{
	unsigned int l = w->rank - 1;
	npu_s64 i, at;

	if (from < to && w->mode == NPU_PAD_CONSTANT) {
		npu_raw_fill(dst + from * w->stride[l], w->stride[l], w->bits, (size_t)(to - from),
			     w->size);
		return;
	}
	for (i = from; i < to; i++) {
		at = map_index(w->mode, i - w->before[l], w->in_dim[l]);
		memcpy(dst + i * w->stride[l], src + at * w->in_stride[l], w->size);
	}
}

/* Elements [lo, hi) of row @index. */
static void row(const struct pad *w, npu_u64 index, npu_s64 lo, npu_s64 hi)
{
	unsigned int l = w->rank - 1, d;
	npu_s64 a = w->before[l], b = a + w->in_dim[l], at;
	const char *src = w->in;
	char *dst = w->out;
	bool outside = false;

	for (d = l; d-- > 0; index /= (npu_u64)w->dim[d]) {
		npu_s64 i = (npu_s64)(index % (npu_u64)w->dim[d]);

		at = map_index(w->mode, i - w->before[d], w->in_dim[d]);
		dst += i * w->stride[d];
		src += at * w->in_stride[d];
		outside |= at < 0;
	}
	if (outside) {
		npu_raw_fill(dst + lo * w->stride[l], w->stride[l], w->bits, (size_t)(hi - lo),
			     w->size);
		return;
	}
	a = a < lo ? lo : a > hi ? hi : a;
	b = b < a ? a : b > hi ? hi : b;
	edge(w, dst, src, lo, a);
	if (a < b)
		npu_raw_line(dst + a * w->stride[l], w->stride[l],
			     src + (a - w->before[l]) * w->in_stride[l], w->in_stride[l],
			     (size_t)(b - a), w->size);
	edge(w, dst, src, b, hi);
}

static void run(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct pad *w = arg;
	npu_s64 n = w->dim[w->rank - 1], lo;

	for (; begin < end; begin++) {
		lo = (npu_s64)(begin % w->pieces) * PIECE;
		row(w, begin / w->pieces, lo, n - lo < PIECE ? n : lo + PIECE);
	}
}

/*
 * Padding with a constant in whole rows: an unpadded dense inner dimension joins the one before it.
 */
static void merge_inner(struct pad *w)
{
	while (w->rank > 1 && w->mode == NPU_PAD_CONSTANT) {
		unsigned int l = w->rank - 1, p = l - 1;

		if (w->before[l] || w->dim[l] != w->in_dim[l] ||
		    w->stride[p] != w->stride[l] * w->dim[l] ||
		    w->in_stride[p] != w->in_stride[l] * w->dim[l])
			return;
		w->before[p] *= w->dim[l];
		w->in_dim[p] *= w->dim[l];
		w->dim[p] *= w->dim[l];
		w->stride[p] = w->stride[l];
		w->in_stride[p] = w->in_stride[l];
		w->rank--;
	}
}

int npu_op_pad(struct npu_exec *x)
{
	const struct npu_operand *out = &x->operand[NPU_PAD_OUT], *in = &x->operand[NPU_PAD_IN];
	struct pad w = {
		.rank = out->rank,
		.mode = x->param[NPU_PAD_P_MODE],
		.size = npu_dtype_bits(out->dtype) / 8,
		.bits = x->param[NPU_PAD_P_VALUE_LO] | (npu_u64)x->param[NPU_PAD_P_VALUE_HI] << 32,
		.out = x->ptr[NPU_PAD_OUT],
		.in = x->ptr[NPU_PAD_IN],
	};
	npu_u64 rows = 1;
	unsigned int d;

	for (d = 0; d < w.rank; d++) {
		w.dim[d] = out->dim[d];
		w.in_dim[d] = in->dim[d];
		w.before[d] = npu_exec_param_i32(x, NPU_PAD_P_BEFORE0 + d);
		w.stride[d] = out->stride[d];
		w.in_stride[d] = in->stride[d];
	}
	merge_inner(&w);
	for (d = 0; d + 1 < w.rank; d++)
		rows *= (npu_u64)w.dim[d];
	d = w.rank - 1;
	w.pieces = (npu_u64)(w.dim[d] + PIECE - 1) / PIECE;
	return npu_exec_parallel(x, rows * w.pieces,
				 15 + (double)(w.dim[d] < PIECE ? w.dim[d] : PIECE) * 0.3, run, &w);
}
