// SPDX-License-Identifier: MIT
/*
 * CROP_RESIZE: each output pixel looks at four places of its image; a place outside has the value
 * FILL.
 */
#include <math.h>
#include "index.h"
#include "iter.h"

struct crop {
	const struct npu_vec *vec;
	const struct npu_operand *out, *in;
	struct npu_elem oe, ie;
	char *op;
	const char *ip;
	float fill;
	npu_u64 first, count;		/* boxes of this part */
};

#define BOXES	4096u	/* that are read at once */

struct box {
	float y, x, step_y, step_x;
	npu_s64 image;
};

/* Channels [c, c + n) at (y, x). */
static void tap(const struct crop *w, const struct box *b, float y, float x, npu_u64 c, npu_u32 n,
		float *v)
{
	const npu_s64 *s = w->in->stride;
	npu_u32 i;

	/* in double: the last index as a float may be rounded up, and out of the image */
	if (!(y >= 0.0f && y <= (double)(w->in->dim[1] - 1) && x >= 0.0f &&
	      x <= (double)(w->in->dim[2] - 1))) {
		for (i = 0; i < n; i++)
			v[i] = w->fill;
		return;
	}
	w->vec->load(v, &w->ie,
		     &(struct npu_patch){ .p = (char *)w->ip + b->image * s[0] + (npu_s64)y * s[1] +
					       (npu_s64)x * s[2] + (npu_s64)c * s[3],
					  .col = s[3],
					  .rows = 1,
					  .cols = n });
}

static void pixel(const struct npu_exec *exec, const struct crop *w, const struct box *b,
		  npu_u64 oh, npu_u64 ow, char *dst)
{
	float y = __builtin_fmaf((float)oh + 0.5f, b->step_y, b->y) - 0.5f, fy = floorf(y);
	float x = __builtin_fmaf((float)ow + 0.5f, b->step_x, b->x) - 0.5f, fx = floorf(x);
	float v[2][NPU_BLOCK], t[NPU_BLOCK];
	npu_u64 c, channels = w->out->dim[3];
	npu_s64 os = w->out->stride[3];
	npu_u32 n;
	int i;

	for (c = 0; c < channels && !npu_exec_stopped(exec); c += n) {
		n = channels - c < NPU_BLOCK ? (npu_u32)(channels - c) : NPU_BLOCK;
		for (i = 0; i < 2; i++) {
			tap(w, b, fy + (float)i, fx, c, n, v[i]);
			tap(w, b, fy + (float)i, fx + 1.0f, c, n, t);
			w->vec->lerp(v[i], v[i], t, n, x - fx);
		}
		w->vec->lerp(v[0], v[0], v[1], n, y - fy);
		w->vec->store(v[0], &w->oe, &(struct npu_patch){
			.p = dst + (npu_s64)c * os, .col = os, .rows = 1, .cols = n });
	}
}

static void run(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct crop *w = arg;
	const struct box *boxes = npu_exec_shared(x);
	const npu_u32 *d = w->out->dim;
	const npu_s64 *s = w->out->stride;

	for (; begin < end; begin++) {
		npu_u64 ow = begin % d[2], oh = begin / d[2] % d[1], r = begin / d[2] / d[1];

		pixel(x, w, &boxes[r], oh, ow,
		      w->op + (npu_s64)(w->first + r) * s[0] + (npu_s64)oh * s[1] +
			      (npu_s64)ow * s[2]);
	}
}

/* Each box is read once. */
static int read_boxes(struct npu_exec *x, const struct crop *w, struct box *boxes)
{
	const struct npu_operand *op = &x->operand[NPU_CROP_RESIZE_BOXES];
	npu_u64 r, end = w->first + w->count;
	npu_u32 k;

	for (r = w->first; r < end; r++) {
		struct box *b = &boxes[r - w->first];
		float v[4];

		for (k = 0; k < 4; k++)
			memcpy(&v[k],
			       (char *)x->ptr[NPU_CROP_RESIZE_BOXES] +
				       (op->dim[0] == 1 ? 0 : (npu_s64)r * op->stride[0]) +
				       k * op->stride[1],
			       sizeof(float));
		*b = (struct box){
			.y = v[0], .x = v[1], .step_y = (v[2] - v[0]) / (float)w->out->dim[1],
			.step_x = (v[3] - v[1]) / (float)w->out->dim[2],
		};
		if (!npu_exec_present(x, NPU_CROP_RESIZE_BATCH))
			continue;
		b->image = npu_index_read(&x->operand[NPU_CROP_RESIZE_BATCH],
					  x->ptr[NPU_CROP_RESIZE_BATCH], r);
		if (b->image < 0 || b->image >= w->in->dim[0])
			return npu_exec_fault(
				x, r, NPU_FAULT_INDEX, NPU_CROP_RESIZE_BATCH, ~0u, b->image,
				"crop_resize: box %llu is of image %lld, there are %u",
				(unsigned long long)r, (long long)b->image, w->in->dim[0]);
	}
	return 0;
}

int npu_op_crop_resize(struct npu_exec *x)
{
	const struct npu_operand *out = &x->operand[NPU_CROP_RESIZE_OUT],
				 *in = &x->operand[NPU_CROP_RESIZE_IN];
	struct crop w = {
		.vec = npu_vec_get(x->simd),
		.out = out,
		.in = in,
		.oe = npu_elem_of(out),
		.ie = npu_elem_of(in),
		.op = x->ptr[NPU_CROP_RESIZE_OUT],
		.ip = x->ptr[NPU_CROP_RESIZE_IN],
		.fill = npu_exec_param_f32(x, NPU_CROP_RESIZE_P_FILL),
	};
	int ret = 0;

	if (npu_exec_reserve_shared(x, BOXES * sizeof(struct box)))
		return -ENOMEM;
	for (; !ret && w.first < out->dim[0]; w.first += w.count) {
		w.count = out->dim[0] - w.first < BOXES ? out->dim[0] - w.first : BOXES;
		ret = read_boxes(x, &w, npu_exec_shared(x));
		if (!ret)
			ret = npu_exec_parallel(x, w.count * out->dim[1] * out->dim[2],
						60 + out->dim[3] * 1.0, run, &w);
	}
	return ret;
}
