// SPDX-License-Identifier: MIT
/*
 * REDUCE. Element i of the reduced ones (row-major) belongs to lane i % 16 of its output. Two ways
 * to the same bits: along the lanes, when the reduced elements lie side by side, or across, with 16
 * accumulators for each of many outputs that lie side by side (the mean over H and W of NHWC data).
 */
#include "npu_math.h"
#include "reduce.h"

#define ACROSS	64u	/* outputs side by side; 16 accumulators of each make 4 KiB */

struct reduce {
	const struct npu_vec *vec;
	struct npu_elem oe, ie;
	const char *in;
	char *out;
	struct npu_axes kept, reduced;		/* other: strides of the output */
	unsigned int func;
	enum npu_fold_kind kind;
	/* across: one of the kept dims apart */
	npu_u64 width;
	npu_s64 width_in, width_out;
	npu_u64 width_tiles;
};

static const enum npu_fold_kind fold_of[NPU_NUM_REDUCES] = {
	[NPU_REDUCE_SUM] = NPU_FOLD_SUM,     [NPU_REDUCE_MEAN] = NPU_FOLD_SUM,
	[NPU_REDUCE_MAX] = NPU_FOLD_MAX,     [NPU_REDUCE_MIN] = NPU_FOLD_MIN,
	[NPU_REDUCE_PROD] = NPU_FOLD_PROD,   [NPU_REDUCE_L1] = NPU_FOLD_ABS,
	[NPU_REDUCE_L2] = NPU_FOLD_SQUARE,   [NPU_REDUCE_SUM_SQUARE] = NPU_FOLD_SQUARE,
	[NPU_REDUCE_LOG_SUM] = NPU_FOLD_SUM, [NPU_REDUCE_LOG_SUM_EXP] = NPU_FOLD_SUM,
};

/* From the joined lanes to the result. */
static float reduce_end(const struct reduce *w, float v)
{
	switch (w->func) {
	case NPU_REDUCE_MEAN:
		return v / (float)w->reduced.count;
	case NPU_REDUCE_L2:
		return __builtin_sqrtf(v);
	case NPU_REDUCE_LOG_SUM:
		return npu_log_f32(v);
	default:
		return v;
	}
}

/*
 * All reduced elements of one output by blocks; @sub is taken off and the exponential is folded
 * when @exps.
 */
static float fold_all(const struct npu_exec *x, const struct reduce *w, const char *base,
		      enum npu_fold_kind kind, bool exps, float sub)
{
	float lane[16], v[NPU_BLOCK];
	npu_u64 i, n;

	for (i = 0; i < 16; i++)
		lane[i] = npu_fold_start(kind);
	for (i = 0; i < w->reduced.count; i += n) {
		n = w->reduced.count - i < NPU_BLOCK ? w->reduced.count - i : NPU_BLOCK;
		npu_axes_load(&w->reduced, w->vec, &w->ie, base, i, n, v);
		if (exps) {
			w->vec->add(v, n, -sub);
			w->vec->unary(v, n, NPU_UNARY_EXP);
		}
		w->vec->fold16(lane, v, n, kind);
		if (!(i & 0xfff) && npu_exec_stopped(x))
			break;
	}
	return npu_lanes_join(lane, kind);
}

static float reduce_one(const struct npu_exec *x, const struct reduce *w, const char *base)
{
	float max;

	if (w->func != NPU_REDUCE_LOG_SUM_EXP)
		return reduce_end(w, fold_all(x, w, base, w->kind, false, 0));
	max = fold_all(x, w, base, NPU_FOLD_MAX, false, 0);
	if (npu_abs_f32(max) == __builtin_inff())
		return max;
	return max + npu_log_f32(fold_all(x, w, base, NPU_FOLD_SUM, true, max));
}

static void run_along(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
		      npu_u64 end)
{
	const struct reduce *w = arg;

	for (; begin < end; begin++) {
		npu_s64 oo, io = npu_axes_offset(&w->kept, begin, &oo);
		float v = reduce_one(x, w, w->in + io);

		w->vec->store(&v, &w->oe,
			      &(struct npu_patch){ .p = w->out + oo, .rows = 1, .cols = 1 });
	}
}

/*
 * Fold rows of @p, which are elements i, i + 1, ... of each of cols outputs, into acc[16][cols].
 * Rows up to the next multiple of 16 are one stretch of accumulators.
 */
static void fold_rows(const struct reduce *w, float *acc, struct npu_patch p, npu_u64 i)
{
	npu_u32 rows = p.rows;

	while (rows) {
		npu_u32 lane = (npu_u32)(i % 16);

		p.rows = 16 - lane < rows ? 16 - lane : rows;
		w->vec->load_fold(acc + (size_t)lane * p.cols, &w->ie, &p, w->kind);
		p.p += (npu_s64)p.rows * p.row;
		i += p.rows;
		rows -= p.rows;
	}
}

static void run_across(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
		       npu_u64 end)
{
	const struct reduce *w = arg;
	float acc[16 * ACROSS];
	npu_u64 inner = w->reduced.rank ? w->reduced.dim[w->reduced.rank - 1] : 1;
	npu_s64 step = w->reduced.rank ? w->reduced.stride[w->reduced.rank - 1] : 0;

	for (; begin < end; begin++) {
		npu_u64 c = begin % w->width_tiles * ACROSS, i, n;
		npu_u32 cols = (npu_u32)(w->width - c < ACROSS ? w->width - c : ACROSS), j, l, half;
		npu_s64 oo, io = npu_axes_offset(&w->kept, begin / w->width_tiles, &oo);
		const char *base = w->in + io + (npu_s64)c * w->width_in;

		for (j = 0; j < 16 * cols; j++)
			acc[j] = npu_fold_start(w->kind);
		for (i = 0; i < w->reduced.count && !npu_exec_stopped(x); i += n) {
			n = inner - i % inner < 16 ? inner - i % inner : 16;
			fold_rows(w, acc,
				  (struct npu_patch){ .p = (char *)base +
							   npu_axes_offset(&w->reduced, i, NULL),
						      .row = step,
						      .col = w->width_in,
						      .rows = (npu_u32)n,
						      .cols = cols },
				  i);
		}
		for (half = 8; half; half >>= 1)
			w->vec->fold(acc, acc + (size_t)half * cols, (size_t)half * cols,
				     w->kind == NPU_FOLD_ABS || w->kind == NPU_FOLD_SQUARE ?
					     NPU_FOLD_SUM :
					     w->kind);
		for (l = 0; l < cols; l++)
			acc[l] = reduce_end(w, acc[l]);
		w->vec->store(acc, &w->oe,
			      &(struct npu_patch){ .p = w->out + oo + (npu_s64)c * w->width_out,
						   .col = w->width_out,
						   .rows = 1,
						   .cols = cols });
	}
}

static npu_s64 int_fold(npu_s64 a, npu_s64 v, unsigned int func)
{
	npu_u64 ua = (npu_u64)a, uv = (npu_u64)v;

	switch (func) {
	case NPU_REDUCE_MAX:
		return v > a ? v : a;
	case NPU_REDUCE_MIN:
		return v < a ? v : a;
	case NPU_REDUCE_PROD:
		return (npu_s64)(ua * uv);
	case NPU_REDUCE_L1:
		return (npu_s64)(ua + (v < 0 ? 0u - uv : uv));
	case NPU_REDUCE_SUM_SQUARE:
		return (npu_s64)(ua + uv * uv);
	default:
		return (npu_s64)(ua + uv);
	}
}

static void run_int(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct reduce *w = arg;
	npu_s64 one;

	for (; begin < end; begin++) {
		npu_s64 oo, io = npu_axes_offset(&w->kept, begin, &oo),
			    a = w->func == NPU_REDUCE_PROD;
		struct npu_patch p = { .rows = 1, .cols = 1 };
		npu_u64 i;

		for (i = 0; i < w->reduced.count; i++) {
			p.p = (char *)w->in + io + npu_axes_offset(&w->reduced, i, NULL);
			w->vec->load_int(&one, &w->ie, &p);
			a = !i && (w->func == NPU_REDUCE_MAX || w->func == NPU_REDUCE_MIN) ? one :
			    int_fold(a, one, w->func);
			if (!(i & 0xfff) && npu_exec_stopped(x))
				return;
		}
		if (w->func == NPU_REDUCE_MEAN)
			a /= (npu_s64)w->reduced.count;
		p.p = w->out + oo;
		if (npu_elem_plain_int(&w->oe)) {
			w->vec->store_int(&a, &w->oe, &p);
		} else {
			float f = (float)a;

			w->vec->store(&f, &w->oe, &p);
		}
	}
}

/* Sort the dimensions into kept and reduced; a dense kept one is taken out for run_across. */
static void split_axes(struct npu_exec *x, struct reduce *w, bool across)
{
	const struct npu_operand *in = &x->operand[NPU_REDUCE_IN],
				 *out = &x->operand[NPU_REDUCE_OUT];
	npu_u32 axes = x->param[NPU_REDUCE_P_AXES];
	int d, wide = -1;

	for (d = 0; across && d < in->rank; d++)
		if (!(axes >> d & 1) && in->dim[d] > 1 &&
		    (wide < 0 || in->stride[d] <= in->stride[wide]))
			wide = d;
	npu_axes_add(&w->kept, 1, 0, 0);
	npu_axes_add(&w->reduced, 1, 0, 0);
	for (d = 0; d < in->rank; d++) {
		if (axes >> d & 1) {
			npu_axes_add(&w->reduced, in->dim[d], in->stride[d], 0);
		} else if (d == wide) {
			w->width = in->dim[d];
			w->width_in = in->stride[d];
			w->width_out = out->stride[d];
		} else {
			npu_axes_add(&w->kept, in->dim[d], in->stride[d], out->stride[d]);
		}
	}
	w->width_tiles = (w->width + ACROSS - 1) / ACROSS;
}

/* Across pays when there are kept elements closer together than the reduced ones. */
static bool choose_across(const struct npu_exec *x)
{
	const struct npu_operand *in = &x->operand[NPU_REDUCE_IN];
	npu_u32 axes = x->param[NPU_REDUCE_P_AXES];
	npu_s64 kept = 0, reduced = 0;
	int d;

	for (d = 0; d < in->rank; d++) {
		npu_s64 *best = axes >> d & 1 ? &reduced : &kept;

		if (in->dim[d] > 1 && (!*best || in->stride[d] < *best))
			*best = in->stride[d];
	}
	return kept && reduced && kept < reduced;
}

int npu_op_reduce(struct npu_exec *x)
{
	struct reduce w = {
		.vec = npu_vec_get(x->simd),
		.oe = npu_elem_of(&x->operand[NPU_REDUCE_OUT]),
		.ie = npu_elem_of(&x->operand[NPU_REDUCE_IN]),
		.in = x->ptr[NPU_REDUCE_IN],
		.out = x->ptr[NPU_REDUCE_OUT],
		.func = x->param[NPU_REDUCE_P_FUNC],
	};
	bool across = choose_across(x) && w.func != NPU_REDUCE_LOG_SUM_EXP;
	double ns;

	w.kind = fold_of[w.func];
	if (npu_elem_plain_int(&w.ie) && w.func != NPU_REDUCE_L2 && w.func < NPU_REDUCE_LOG_SUM) {
		split_axes(x, &w, false);
		npu_exec_path(x, NPU_PATH_REDUCE_GENERIC);
		return npu_exec_parallel(x, w.kept.count, 10.0 * (double)w.reduced.count, run_int,
					 &w);
	}
	split_axes(x, &w, across);
	ns = 30 + 0.2 * (double)w.reduced.count *
			  (across ? (double)(w.width < ACROSS ? w.width : ACROSS) : 1);
	npu_exec_path(x, across || (w.reduced.rank &&
				    w.reduced.stride[w.reduced.rank - 1] == w.ie.size) ?
				 NPU_PATH_REDUCE_FAST :
				 NPU_PATH_REDUCE_GENERIC);
	if (across)
		return npu_exec_parallel(x, w.kept.count * w.width_tiles, ns, run_across, &w);
	return npu_exec_parallel(x, w.kept.count, ns, run_along, &w);
}
