// SPDX-License-Identifier: MIT
/*
 * DYN_QUANT: u8 by the range of the whole tensor, or i8 by the largest magnitude of each group of
 * the last dimension.
 */
#include "grouped.h"
#include "iter.h"
#include "npu_half.h"
#include "npu_math.h"
#include "reduce.h"

/* Per tensor. */
struct whole {
	struct npu_iter it;		/* out, in */
	const struct npu_vec *vec;
	/* of each worker: 16 lanes of the minimum, 16 of the maximum */
	float *bounds;
};

static void find_range(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
		       npu_u64 end)
{
	const struct whole *w = arg;
	float v[NPU_BLOCK], *lo = w->bounds + 32 * (size_t)worker, *hi = lo + 16;
	struct npu_tile t;

	for (; begin < end; begin++) {
		npu_iter_tile(&w->it, begin, &t);
		w->vec->load(v, &w->it.op[1].elem, &t.patch[1]);
		w->vec->fold16(lo, v, t.count, NPU_FOLD_MIN);
		w->vec->fold16(hi, v, t.count, NPU_FOLD_MAX);
	}
}

static void quantize(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct whole *w = arg;
	float v[NPU_BLOCK];
	struct npu_tile t;

	for (; begin < end; begin++) {
		npu_iter_tile(&w->it, begin, &t);
		w->vec->load(v, &w->it.op[1].elem, &t.patch[1]);
		w->vec->store(v, &w->it.op[0].elem, &t.patch[0]);
	}
}

static int run_whole(struct npu_exec *x)
{
	const struct npu_operand *op = x->operand;
	struct whole w = { .vec = npu_vec_get(x->simd) };
	float lo = 0, hi = 0, scale, zero;
	npu_u8 code;
	unsigned int i;
	int ret;

	if (npu_exec_reserve_shared(x, x->num_workers * 32 * sizeof(float)))
		return -ENOMEM;
	w.bounds = npu_exec_shared(x);
	/* the range always has 0 in it */
	memset(w.bounds, 0, x->num_workers * 32 * sizeof(float));
	npu_iter_begin(&w.it, &op[NPU_DYN_QUANT_OUT]);
	npu_iter_add(&w.it, &op[NPU_DYN_QUANT_OUT], x->ptr[NPU_DYN_QUANT_OUT]);
	npu_iter_add(&w.it, &op[NPU_DYN_QUANT_IN], x->ptr[NPU_DYN_QUANT_IN]);
	npu_iter_finish(&w.it, NPU_BLOCK);
	ret = npu_exec_parallel(x, w.it.num_tiles, 150, find_range, &w);
	if (ret)
		return ret;
	for (i = 0; i < x->num_workers * 16; i++) {
		const float *b = w.bounds + i / 16 * 32 + i % 16;

		lo = npu_min_f32(lo, b[0]);
		hi = npu_max_f32(hi, b[16]);
	}
	/* nothing but zeros, or so close to zero that the division leaves none of it */
	scale = (hi - lo) / 255.0f;
	scale = scale == 0.0f ? 1.0f : scale;
	zero = 0.0f - lo / scale;
	zero = __builtin_rintf(zero < 0.0f ? 0.0f : zero > 255.0f ? 255.0f : zero);
	code = zero == zero ? (npu_u8)zero : 0;
	w.it.op[0].elem.scale = scale;
	w.it.op[0].elem.zero = code;
	ret = npu_exec_parallel(x, w.it.num_tiles, 200, quantize, &w);
	if (ret)
		return ret;
	scale = npu_canon_f32(scale);
	memcpy(x->ptr[NPU_DYN_QUANT_SCALE], &scale, sizeof(scale));
	memcpy(x->ptr[NPU_DYN_QUANT_ZERO], &code, sizeof(code));
	return 0;
}

/* By groups. */
struct groups {
	const struct npu_vec *vec;
	const struct npu_gq *gq;	/* NULL: codes do not lie side by side */
	const struct npu_operand *op;
	struct npu_elem oe, ie;
	char *out, *scale;
	const char *in;
	npu_u64 group, per_row, len;
};

static npu_s64 row_offset(const struct npu_operand *op, npu_u64 row)
{
	npu_s64 off = 0;
	unsigned int d;

	for (d = op->rank - 1; d-- > 0; row /= op->dim[d])
		off += (npu_s64)(row % op->dim[d]) * op->stride[d];
	return off;
}

/* The scale of a group, in its type. */
static void put_scale(const struct groups *w, npu_u64 row, npu_u64 g, float scale)
{
	const struct npu_operand *sc = &w->op[NPU_DYN_QUANT_SCALE];
	char *p = w->scale + row_offset(sc, row) + (npu_s64)g * sc->stride[sc->rank - 1];
	npu_u16 half;

	if (sc->dtype == NPU_F16) {
		half = npu_half_narrow_bits(npu_bits_f32(scale));
		memcpy(p, &half, sizeof(half));
	} else {
		scale = npu_canon_f32(scale);
		memcpy(p, &scale, sizeof(scale));
	}
}

/* One group, whatever it has and however it lies; returns 1. */
static npu_u64 one_group(const struct npu_exec *x, const struct groups *w, npu_u64 row, npu_u64 g)
{
	const struct npu_operand *in = &w->op[NPU_DYN_QUANT_IN], *out = &w->op[NPU_DYN_QUANT_OUT];
	npu_s64 is = in->stride[in->rank - 1], os = out->stride[out->rank - 1];
	npu_u64 first = g * w->group, end = first + w->group < w->len ? first + w->group : w->len,
		i, n;
	struct npu_elem oe = w->oe;
	float v[NPU_BLOCK], lane[16] = { 0 };
	unsigned int pass;

	for (pass = 0; pass < 2; pass++) {
		for (i = first; i < end && !npu_exec_stopped(x); i += n) {
			n = end - i < NPU_BLOCK ? end - i : NPU_BLOCK;
			w->vec->load(v, &w->ie,
				     &(struct npu_patch){ .p = (char *)w->in + row_offset(in, row) +
							       (npu_s64)i * is,
							  .col = is,
							  .rows = 1,
							  .cols = (npu_u32)n });
			if (!pass) {
				w->vec->unary(v, n, NPU_UNARY_ABS);
				w->vec->fold16(lane, v, n, NPU_FOLD_MAX);
				continue;
			}
			/* a group of zeros has scale 0 and codes 0 */
			if (oe.scale == 0.0f)
				memset(v, 0, n * sizeof(*v));
			w->vec->store(v, &oe,
				      &(struct npu_patch){ .p = w->out + row_offset(out, row) +
								(npu_s64)i * os,
							   .col = os,
							   .rows = 1,
							   .cols = (npu_u32)n });
		}
		if (!pass)
			oe.scale = npu_lanes_join(lane, NPU_FOLD_MAX) / 127.0f;
	}
	put_scale(w, row, g, oe.scale);
	return 1;
}

/* Up to @count groups of a row, as many as a block holds; returns how many that were. */
static npu_u64 some_groups(const struct npu_exec *x, const struct groups *w, npu_u64 row, npu_u64 g,
			   npu_u64 count)
{
	const struct npu_operand *in = &w->op[NPU_DYN_QUANT_IN];
	npu_u64 first = g * w->group, n, i, done;
	npu_s64 is = in->stride[in->rank - 1];
	char *out = w->out + row_offset(&w->op[NPU_DYN_QUANT_OUT], row) + first;
	float v[NPU_BLOCK], scale;

	count = count < NPU_BLOCK / w->group ? count : NPU_BLOCK / w->group;
	n = w->len - first < count * w->group ? w->len - first : count * w->group;
	w->vec->load(
		v, &w->ie,
		&(struct npu_patch){ .p = (char *)w->in + row_offset(in, row) + (npu_s64)first * is,
				     .col = is,
				     .rows = 1,
				     .cols = (npu_u32)n });
	for (i = done = 0; i < count; i++, done += w->group) {
		scale = w->gq->quantize((npu_u8 *)out + done, v + done,
					(npu_s64)(n - done < w->group ? n - done : w->group));
		if (npu_bits_f32(scale) >= 0x7f800000u) {
			one_group(x, w, row, g + i);
			continue;
		}
		put_scale(w, row, g + i, scale);
	}
	return count;
}

static void run_groups(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
		       npu_u64 end)
{
	const struct groups *w = arg;
	npu_u64 row, g, n;

	for (; begin < end; begin += n) {
		row = begin / w->per_row;
		g = begin % w->per_row;
		n = w->per_row - g < end - begin ? w->per_row - g : end - begin;
		n = w->gq ? some_groups(x, w, row, g, n) : one_group(x, w, row, g);
	}
}

int npu_op_dyn_quant(struct npu_exec *x)
{
	const struct npu_operand *op = x->operand, *in = &op[NPU_DYN_QUANT_IN];
	struct groups w = {
		.vec = npu_vec_get(x->simd),
		.op = op,
		.oe = npu_elem_of(&op[NPU_DYN_QUANT_OUT]),
		.ie = npu_elem_of(in),
		.out = x->ptr[NPU_DYN_QUANT_OUT],
		.scale = x->ptr[NPU_DYN_QUANT_SCALE],
		.in = x->ptr[NPU_DYN_QUANT_IN],
		.group = x->param[NPU_DYN_QUANT_P_GROUP],
		.len = in->dim[in->rank - 1],
	};
	npu_u64 rows = 1;
	unsigned int d;

	if (!w.group)
		return run_whole(x);
	w.oe.zero = 0;
	if (w.group <= NPU_BLOCK && op[NPU_DYN_QUANT_OUT].stride[in->rank - 1] == 1)
		w.gq = npu_gq_select(x->simd, x->vnni);
	w.per_row = (w.len + w.group - 1) / w.group;
	for (d = 0; d + 1 < in->rank; d++)
		rows *= in->dim[d];
	return npu_exec_parallel(x, rows * w.per_row,
				 (w.gq ? 10 : 60) +
					 (double)(w.group < w.len ? w.group : w.len) * 0.5,
				 run_groups, &w);
}
