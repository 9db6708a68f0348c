// SPDX-License-Identifier: MIT
/* POOL, RESIZE and CROP_RESIZE. */
#include <errno.h>
#include <math.h>
#include "oracle.h"

static float pool_one(const struct npu_insn *insn, struct oracle_view out, struct oracle_view in,
		      const npu_u32 *o)
{
	const npu_u32 *p = insn->param;
	npu_s64 h0 = (npu_s64)o[1] * p[NPU_POOL_P_STRIDE_H] - p[NPU_POOL_P_PAD_TOP];
	npu_s64 w0 = (npu_s64)o[2] * p[NPU_POOL_P_STRIDE_W] - p[NPU_POOL_P_PAD_LEFT];
	npu_s64 height = in.op->dim[1], width = in.op->dim[2];
	float sum = 0, max = -INFINITY;
	npu_u64 inside = 0, padded = 0;

	(void)out;
	for (npu_u32 kh = 0; kh < p[NPU_POOL_P_KERNEL_H]; kh++) {
		for (npu_u32 kw = 0; kw < p[NPU_POOL_P_KERNEL_W]; kw++) {
			npu_s64 h = h0 + (npu_s64)kh * p[NPU_POOL_P_DIL_H],
				w = w0 + (npu_s64)kw * p[NPU_POOL_P_DIL_W];
			npu_u32 at[4] = { o[0], (npu_u32)h, (npu_u32)w, o[3] };
			float v;

			if (h < height + p[NPU_POOL_P_PAD_BOTTOM] &&
			    w < width + p[NPU_POOL_P_PAD_RIGHT])
				padded++;
			if (h < 0 || h >= height || w < 0 || w >= width)
				continue;
			v = oracle_load_real(in, oracle_at(in, at));
			inside++;
			sum += v;
			max = oracle_max(max, v);
		}
	}
	if (p[NPU_POOL_P_KIND] == NPU_POOL_MAX)
		return max;
	if (p[NPU_POOL_P_INCLUDE_PAD])
		return padded ? sum / (float)padded : 0;
	return inside ? sum / (float)inside : 0;
}

int oracle_pool(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_POOL_OUT),
			   in = oracle_view(insn, mem, NPU_POOL_IN);
	npu_u32 index[4] = { 0 };

	do {
		oracle_store_real(out, oracle_at(out, index), pool_one(insn, out, in, index));
	} while (oracle_next(index, out.op->dim, 4));
	return 0;
}

static float coordinate(unsigned int coord, npu_u32 o, float scale, npu_u32 in, npu_u32 out)
{
	switch (coord) {
	case NPU_COORD_HALF_PIXEL:
		return ((float)o + 0.5f) / scale - 0.5f;
	case NPU_COORD_PYTORCH_HALF_PIXEL:
		return out == 1 ? 0 : ((float)o + 0.5f) / scale - 0.5f;
	case NPU_COORD_ALIGN_CORNERS:
		return out == 1 ? 0 : (float)o * ((float)(in - 1) / (float)(out - 1));
	default:
		return (float)o / scale;
	}
}

static npu_u32 clamp_index(float v, npu_u32 size)
{
	return v < 0 ? 0 : v > (float)(size - 1) ? size - 1 : (npu_u32)v;
}

static npu_u32 nearest(unsigned int mode, float x, npu_u32 size)
{
	float low = floorf(x), frac = x - low;

	switch (mode) {
	case NPU_NEAREST_ROUND_PREFER_FLOOR:
		return clamp_index(frac > 0.5f ? low + 1 : low, size);
	case NPU_NEAREST_ROUND_PREFER_CEIL:
		return clamp_index(frac >= 0.5f ? low + 1 : low, size);
	case NPU_NEAREST_FLOOR:
		return clamp_index(low, size);
	default:
		return clamp_index(ceilf(x), size);
	}
}

/* Taps and weights of one axis. */
struct taps {
	npu_u32 at[4];
	float weight[4];
	float frac;
	unsigned int n;
};

static void cubic_taps(struct taps *t, float x, npu_u32 size, float a, bool exclude)
{
	float low = floorf(x), f = x - low, sum = 0;
	float d[4] = { 1 + f, f, 1 - f, 2 - f };

	t->n = 4;
	for (int i = 0; i < 4; i++) {
		float c = d[i];

		if (i == 1 || i == 2)
			t->weight[i] = ((a + 2) * c - (a + 3)) * c * c + 1;
		else
			t->weight[i] = ((a * c - 5 * a) * c + 8 * a) * c - 4 * a;
		t->at[i] = clamp_index(low - 1 + (float)i, size);
		if (exclude && (low - 1 + (float)i < 0 || low - 1 + (float)i > (float)(size - 1)))
			t->weight[i] = 0;
		sum += t->weight[i];
	}
	for (int i = 0; exclude && i < 4; i++)
		t->weight[i] /= sum;
}

static void axis_taps(struct taps *t, const struct npu_insn *insn, npu_u32 o, float scale,
		      npu_u32 in, npu_u32 out)
{
	const npu_u32 *p = insn->param;
	float x = coordinate(p[NPU_RESIZE_P_COORD], o, scale, in, out);

	t->n = 1;
	t->weight[0] = 1;
	t->frac = 0;
	if (p[NPU_RESIZE_P_MODE] == NPU_RESIZE_NEAREST) {
		t->at[0] = nearest(p[NPU_RESIZE_P_NEAREST], x, in);
	} else if (p[NPU_RESIZE_P_MODE] == NPU_RESIZE_LINEAR) {
		t->n = 2;
		t->frac = x - floorf(x);
		t->at[0] = clamp_index(floorf(x), in);
		t->at[1] = clamp_index(floorf(x) + 1, in);
	} else {
		cubic_taps(t, x, in, oracle_param_f32(insn, NPU_RESIZE_P_CUBIC_A),
			   p[NPU_RESIZE_P_EXCLUDE_OUTSIDE]);
	}
}

static float combine(const struct taps *t, const float *v)
{
	float acc = 0;

	if (t->n == 1)
		return v[0];
	if (t->n == 2)
		return fmaf(v[1] - v[0], t->frac, v[0]);
	for (unsigned int i = 0; i < 4; i++)
		acc = fmaf(v[i], t->weight[i], acc);
	return acc;
}

static float sample(struct oracle_view in, npu_u32 n, npu_u32 c, const struct taps *h,
		    const struct taps *w)
{
	float row[4], v[4];

	for (unsigned int i = 0; i < h->n; i++) {
		for (unsigned int j = 0; j < w->n; j++) {
			npu_u32 at[4] = { n, h->at[i], w->at[j], c };

			v[j] = oracle_load_real(in, oracle_at(in, at));
		}
		row[i] = combine(w, v);
	}
	return combine(h, row);
}

int oracle_resize(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_RESIZE_OUT),
			   in = oracle_view(insn, mem, NPU_RESIZE_IN);
	float scale_h = oracle_param_f32(insn, NPU_RESIZE_P_SCALE_H),
	      scale_w = oracle_param_f32(insn, NPU_RESIZE_P_SCALE_W);
	npu_u32 index[4] = { 0 };
	struct taps h, w;

	do {
		axis_taps(&h, insn, index[1], scale_h, in.op->dim[1], out.op->dim[1]);
		axis_taps(&w, insn, index[2], scale_w, in.op->dim[2], out.op->dim[2]);
		if (insn->param[NPU_RESIZE_P_MODE] == NPU_RESIZE_NEAREST &&
		    oracle_same_code(out, in)) {
			npu_u32 at[4] = { index[0], h.at[0], w.at[0], index[3] };

			oracle_move(out, oracle_at(out, index), in, oracle_at(in, at));
			continue;
		}
		oracle_store_real(out, oracle_at(out, index),
				  sample(in, index[0], index[3], &h, &w));
	} while (oracle_next(index, out.op->dim, 4));
	return 0;
}

/* One tap of a crop: outside of the picture the value is @fill. */
static float crop_tap(struct oracle_view in, npu_u32 n, float y, float x, npu_u32 c, float fill)
{
	npu_u32 at[4] = { n, (npu_u32)y, (npu_u32)x, c };

	if (!(y >= 0) || !(x >= 0) || y > (float)(in.op->dim[1] - 1) ||
	    x > (float)(in.op->dim[2] - 1))
		return fill;
	return oracle_load_real(in, oracle_at(in, at));
}

int oracle_crop_resize(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_CROP_RESIZE_OUT),
			   in = oracle_view(insn, mem, NPU_CROP_RESIZE_IN);
	struct oracle_view boxes = oracle_view(insn, mem, NPU_CROP_RESIZE_BOXES);
	struct oracle_view batch = oracle_view(insn, mem, NPU_CROP_RESIZE_BATCH);
	float fill = oracle_param_f32(insn, NPU_CROP_RESIZE_P_FILL);
	npu_u32 index[4] = { 0 };

	do {
		npu_s64 n = oracle_present(batch) ?
				    oracle_load_int(batch, oracle_at(batch, index)) :
				    0;
		float pos[2], low[2], row[2];

		if (n < 0 || n >= in.op->dim[0])
			return -ERANGE;
		for (npu_u32 a = 0; a < 2; a++) {
			npu_u32 lo[2] = { index[0], a }, hi[2] = { index[0], a + 2 };
			float b0 = oracle_load_real(boxes, oracle_at(boxes, lo)),
			      b1 = oracle_load_real(boxes, oracle_at(boxes, hi));
			float step = (b1 - b0) / (float)out.op->dim[1 + a];

			pos[a] = fmaf((float)index[1 + a] + 0.5f, step, b0) - 0.5f;
			low[a] = floorf(pos[a]);
		}
		for (int i = 0; i < 2; i++) {
			float left = crop_tap(in, (npu_u32)n, low[0] + (float)i, low[1], index[3],
					      fill);
			float right = crop_tap(in, (npu_u32)n, low[0] + (float)i, low[1] + 1,
					       index[3], fill);

			row[i] = fmaf(right - left, pos[1] - low[1], left);
		}
		oracle_store_real(out, oracle_at(out, index),
				  fmaf(row[1] - row[0], pos[0] - low[0], row[0]));
	} while (oracle_next(index, out.op->dim, 4));
	return 0;
}
