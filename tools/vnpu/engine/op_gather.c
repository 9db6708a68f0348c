// SPDX-License-Identifier: MIT
/* GATHER of plain rows and of rows of codes in groups. */
#include "grouped.h"
#include "index.h"
#include "iter.h"
#include "npu_math.h"
#include "raw.h"

struct gather {
	const struct npu_vec *vec;
	const struct npu_operand *out, *in;
	struct npu_elem oe, ie;
	char *op;
	const char *ip;
	const npu_s64 *index;
	npu_u64 first, count;		/* rows of this part */
	bool raw, as_int;
};

#define STRETCH	16384u	/* elements between looks at the stop flag */

static void convert(const struct gather *w, char *dst, const char *src, npu_u64 inner)
{
	npu_s64 ds = w->out->stride[2], ss = w->in->stride[2];
	float f[NPU_BLOCK];
	npu_s64 v[NPU_BLOCK];
	npu_u64 n, i;

	for (i = 0; i < inner; i += n) {
		struct npu_patch s = { .p = (char *)src + (npu_s64)i * ss, .col = ss, .rows = 1 };
		struct npu_patch d = { .p = dst + (npu_s64)i * ds, .col = ds, .rows = 1 };

		n = inner - i < NPU_BLOCK ? inner - i : NPU_BLOCK;
		s.cols = d.cols = (npu_u32)n;
		if (w->as_int) {
			w->vec->load_int(v, &w->ie, &s);
			w->vec->store_int(v, &w->oe, &d);
		} else {
			w->vec->load(f, &w->ie, &s);
			w->vec->store(f, &w->oe, &d);
		}
	}
}

/* The inner elements of one row, by blocks when they are converted. */
static void move_row(const struct npu_exec *x, const struct gather *w, char *dst, const char *src)
{
	npu_s64 ds = w->out->stride[2], ss = w->in->stride[2];
	npu_u64 n, i, inner = w->out->dim[2];

	for (i = 0; i < inner; i += n) {
		n = inner - i < STRETCH ? inner - i : STRETCH;
		if (i && npu_exec_stopped(x))
			return;
		if (w->raw)
			npu_raw_line(dst + (npu_s64)i * ds, ds, src + (npu_s64)i * ss, ss, n,
				     w->oe.size);
		else
			convert(w, dst + (npu_s64)i * ds, src + (npu_s64)i * ss, n);
	}
}

static void run(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct gather *w = arg;

	for (; begin < end; begin++) {
		npu_s64 o = (npu_s64)(begin / w->count), i = (npu_s64)(begin % w->count);

		move_row(x, w,
			 w->op + o * w->out->stride[0] +
				 ((npu_s64)w->first + i) * w->out->stride[1],
			 w->ip + o * w->in->stride[0] + w->index[i] * w->in->stride[1]);
	}
}

/* Rows of codes in groups. */
struct rows_grouped {
	const struct npu_vec *vec;
	const struct npu_operand *out;
	struct npu_elem oe;
	struct npu_codes_groups g;
	char *op;
	const npu_s64 *index;
	npu_u64 first;			/* row of this part */
};

static void grouped_row(const struct npu_exec *x, const struct rows_grouped *w, char *dst,
			npu_s64 row)
{
	const struct npu_codes_groups *g = &w->g;
	npu_s64 k, n, i, end, step = w->out->stride[2];
	float v[NPU_BLOCK], scale, min, code;

	for (k = 0; k < g->k && !npu_exec_stopped(x); k += n) {
		/* blocks end where groups do */
		end = k - k % g->group + g->group;
		n = (end < g->k ? end : g->k) - k;
		n = n < NPU_BLOCK ? n : NPU_BLOCK;
		scale = npu_codes_scale(g, k / g->group, row);
		min = npu_codes_min(g, k / g->group, row);
		for (i = 0; i < n; i++) {
			code = (float)((npu_s32)npu_codes_get(g, k + i, row) - g->zero);
			v[i] = g->min_ptr ? npu_fma_f32(code, scale, min) : code * scale;
		}
		w->vec->store(v, &w->oe,
			      &(struct npu_patch){ .p = dst + k * step, .col = step, .rows = 1,
						   .cols = (npu_u32)n });
	}
}

static void run_grouped(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
			npu_u64 end)
{
	const struct rows_grouped *w = arg;

	for (; begin < end; begin++)
		grouped_row(x, w, w->op + (npu_s64)(w->first + begin) * w->out->stride[1],
			    w->index[begin]);
}

static int gather_grouped(struct npu_exec *x)
{
	static const struct npu_codes_slots slots = {
		.codes = NPU_GATHER_IN,
		.scale = NPU_GATHER_GROUP_SCALE,
		.min = NPU_GATHER_GROUP_MIN,
		.super = NPU_GATHER_SUPER_SCALE,
		.book = NPU_GATHER_CODEBOOK,
		.group = NPU_GATHER_P_GROUP,
		.super_param = NPU_GATHER_P_SUPER,
		.transposed = true,
	};
	const struct npu_operand *out = &x->operand[NPU_GATHER_OUT];
	struct rows_grouped w = {
		.vec = npu_vec_get(x->simd),
		.out = out,
		.oe = npu_elem_of(out),
		.op = x->ptr[NPU_GATHER_OUT],
	};
	npu_u64 count;
	int ret = 0;

	npu_codes_init(&w.g, x, &slots);
	npu_exec_path(x, NPU_PATH_GATHER_GROUPED);
	for (; !ret && w.first < out->dim[1]; w.first += count) {
		ret = npu_index_copy(x, NPU_GATHER_INDEX, w.first, (npu_u64)w.g.n, false);
		w.index = npu_exec_shared(x);
		count = out->dim[1] - w.first < NPU_INDEX_PART ? out->dim[1] - w.first :
								 NPU_INDEX_PART;
		if (!ret)
			ret = npu_exec_parallel(x, count, 20 + 4 * (double)w.g.k, run_grouped, &w);
	}
	return ret;
}

int npu_op_gather(struct npu_exec *x)
{
	const struct npu_operand *out = &x->operand[NPU_GATHER_OUT],
				 *in = &x->operand[NPU_GATHER_IN];
	struct gather w = {
		.vec = npu_vec_get(x->simd),
		.out = out,
		.in = in,
		.oe = npu_elem_of(out),
		.ie = npu_elem_of(in),
		.op = x->ptr[NPU_GATHER_OUT],
		.ip = x->ptr[NPU_GATHER_IN],
	};
	int ret = 0;

	if (x->param[NPU_GATHER_P_GROUP])
		return gather_grouped(x);
	w.raw = npu_elem_same_code(&w.oe, &w.ie);
	w.as_int = npu_elem_plain_int(&w.oe) && npu_elem_plain_int(&w.ie);
	npu_exec_path(x, w.raw ? NPU_PATH_GATHER_ROWS : NPU_PATH_GATHER_GENERIC);
	for (; !ret && w.first < out->dim[1]; w.first += w.count) {
		ret = npu_index_copy(x, NPU_GATHER_INDEX, w.first, in->dim[1], false);
		w.index = npu_exec_shared(x);
		w.count = out->dim[1] - w.first < NPU_INDEX_PART ? out->dim[1] - w.first :
								   NPU_INDEX_PART;
		if (!ret)
			ret = npu_exec_parallel(x, out->dim[0] * w.count,
						15 + out->dim[2] * (w.raw ? 0.2 : 0.6), run, &w);
	}
	return ret;
}
