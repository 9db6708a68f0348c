// SPDX-License-Identifier: MIT
/*
 * TOPK: a heap of the k best of each line, worst on top, then sorted. Values become integer keys
 * whose order is theirs (NaN above everything), a tie goes to the lower index, so the order is
 * total and the result unique.
 */
#include "npu_math.h"
#include "reduce.h"

#define GLANCE	16u	/* values that are looked at together */

struct entry {
	npu_u64 key;	/* larger is better */
	npu_u64 index;
};

struct topk {
	const struct npu_vec *vec;
	struct npu_elem ne, ie;
	const char *in;
	char *values, *indices;
	struct npu_axes lines, more;	/* other: strides of values; of indices */
	npu_u64 len, k;
	npu_s64 step, value_step, index_step;
	bool smallest;
};

static bool better(const struct entry *a, const struct entry *b)
{
	return a->key != b->key ? a->key > b->key : a->index < b->index;
}

static npu_u64 key_of_float(float v)
{
	npu_u32 u = npu_bits_f32(v == 0.0f ? 0.0f : npu_canon_f32(v));

	return u >> 31 ? ~u & 0xffffffffu : u | 0x80000000u;
}

static float float_of_key(npu_u32 key)
{
	return npu_f32_bits(key >> 31 ? key & 0x7fffffffu : ~key);
}

static void sift_down(struct entry *h, npu_u64 n, npu_u64 i)
{
	struct entry e = h[i];
	npu_u64 c;

	for (; (c = 2 * i + 1) < n; i = c) {
		if (c + 1 < n && better(&h[c], &h[c + 1]))
			c++;
		if (!better(&e, &h[c]))
			break;
		h[i] = h[c];
	}
	h[i] = e;
}

static void offer(const struct npu_exec *x, struct entry *h, npu_u64 *n, npu_u64 k, struct entry e)
{
	npu_u64 i;

	if (*n == k) {
		if (better(&e, &h[0])) {
			h[0] = e;
			sift_down(h, k, 0);
		}
		return;
	}
	h[(*n)++] = e;
	if (*n == k)
		for (i = k / 2; i-- > 0 && ((i & 0xfff) || !npu_exec_stopped(x));)
			sift_down(h, k, i);
}

/* The heap while a line is read. */
struct best {
	struct entry *heap;
	npu_u64 count;
};

static void offer_ints(const struct npu_exec *x, const struct topk *w, struct best *b,
		       const struct npu_patch *p, npu_u64 first)
{
	npu_s64 v[NPU_BLOCK];
	npu_u64 key;
	npu_u32 j;

	w->vec->load_int(v, &w->ie, p);
	for (j = 0; j < p->cols; j++) {
		key = (npu_u64)v[j] ^ 1ull << 63;
		offer(x, b->heap, &b->count, w->k,
		      (struct entry){ w->smallest ? ~key : key, first + j });
	}
}

/* Whether any of @n values may be better than the worst that is kept, @worst; NaN may. */
static bool may_improve(const float *v, npu_u32 n, float worst, bool smallest)
{
	int any = 0;
	npu_u32 j;

	if (smallest)
		for (j = 0; j < n; j++)
			any |= !(v[j] >= worst);
	else
		for (j = 0; j < n; j++)
			any |= !(v[j] <= worst);
	return any;
}

/* Most values of a long line are worse than all that are kept: seen by a few at a time. */
static void offer_floats(const struct npu_exec *x, const struct topk *w, struct best *b,
			 const struct npu_patch *p, npu_u64 first)
{
	float v[NPU_BLOCK];
	npu_u32 j, end;
	npu_u64 key;

	w->vec->load(v, &w->ie, p);
	for (j = 0; j < p->cols; j = end) {
		end = j + GLANCE < p->cols ? j + GLANCE : p->cols;
		if (b->count == w->k) {
			key = b->heap[0].key;
			if (!may_improve(v + j, end - j,
					 float_of_key((npu_u32)(w->smallest ? ~key : key)),
					 w->smallest))
				continue;
		}
		for (; j < end; j++) {
			key = key_of_float(v[j]);
			offer(x, b->heap, &b->count, w->k,
			      (struct entry){ w->smallest ? ~key : key, first + j });
		}
	}
}

static void line(struct npu_exec *x, const struct topk *w, npu_u64 index, struct entry *heap)
{
	npu_s64 vo, no, io = npu_axes_offset(&w->lines, index, &vo);
	struct best b = { .heap = heap };
	npu_u64 i;

	npu_axes_offset(&w->more, index, &no);
	for (i = 0; i < w->len && !npu_exec_stopped(x); i += NPU_BLOCK) {
		const struct npu_patch p = {
			.p = (char *)w->in + io + (npu_s64)i * w->step, .col = w->step, .rows = 1,
			.cols = (npu_u32)(w->len - i < NPU_BLOCK ? w->len - i : NPU_BLOCK),
		};

		if (npu_elem_plain_int(&w->ie))
			offer_ints(x, w, &b, &p, i);
		else
			offer_floats(x, w, &b, &p, i);
	}
	/* the worst of what is left goes to the end */
	for (i = b.count; i-- > 0;) {
		struct entry worst = heap[0];
		npu_s64 at = (npu_s64)worst.index;

		if (!(i & 0xfff) && npu_exec_stopped(x))
			return;
		heap[0] = heap[i];
		sift_down(heap, i, 0);
		memcpy(w->values + vo + (npu_s64)i * w->value_step, w->in + io + at * w->step,
		       w->ie.size);
		w->vec->store_int(&at, &w->ne, &(struct npu_patch){
			.p = w->indices + no + (npu_s64)i * w->index_step, .rows = 1, .cols = 1 });
	}
}

static void run(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	for (; begin < end; begin++)
		line(x, arg, begin, npu_exec_scratch(x, worker));
}

int npu_op_topk(struct npu_exec *x)
{
	const struct npu_operand *in = &x->operand[NPU_TOPK_IN],
				 *val = &x->operand[NPU_TOPK_VALUES];
	const struct npu_operand *idx = &x->operand[NPU_TOPK_INDICES];
	unsigned int axis = x->param[NPU_TOPK_P_AXIS], d;
	struct topk w = {
		.vec = npu_vec_get(x->simd),
		.ne = npu_elem_of(idx),
		.ie = npu_elem_of(in),
		.in = x->ptr[NPU_TOPK_IN],
		.values = x->ptr[NPU_TOPK_VALUES],
		.indices = x->ptr[NPU_TOPK_INDICES],
		.len = in->dim[axis],
		.k = val->dim[axis],
		.step = in->stride[axis],
		.value_step = val->stride[axis],
		.index_step = idx->stride[axis],
		.smallest = x->param[NPU_TOPK_P_SMALLEST],
	};

	w.ne.scale = 0.0f;
	if (npu_exec_reserve(x, w.k * sizeof(struct entry)))
		return -ENOMEM;
	npu_axes_add(&w.lines, 1, 0, 0);
	npu_axes_add(&w.more, 1, 0, 0);
	for (d = 0; d < in->rank; d++) {
		if (d == axis)
			continue;
		npu_axes_add(&w.lines, in->dim[d], in->stride[d], val->stride[d]);
		npu_axes_add(&w.more, in->dim[d], in->stride[d], idx->stride[d]);
	}
	return npu_exec_parallel(x, w.lines.count, 100 + 1.0 * (double)w.len, run, &w);
}
