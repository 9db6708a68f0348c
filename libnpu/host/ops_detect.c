// SPDX-License-Identifier: MIT
/* What detectors end in: NonMaxSuppression, RoiAlign. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/dense.h"
#include "host/sort.h"

/* ---- NonMaxSuppression ----------------------------------------------------------------------- */

struct nms {
	const float *boxes;	/* of the batch: [boxes][4] */
	bool center;		/* boxes are centre and size, else two corners */
	float min_score, max_iou;
	int64_t most;		/* boxes per class */
};

struct box {
	float y0, x0, y1, x1;
};

static struct box nms_box(const struct nms *n, int64_t i)
{
	const float *b = n->boxes + 4 * i;

	if (n->center)
		return (struct box){ b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2,
				     b[0] + b[2] / 2 };
	/* the corners may be any two that lie opposite each other */
	return (struct box){ fminf(b[0], b[2]), fminf(b[1], b[3]), fmaxf(b[0], b[2]),
			     fmaxf(b[1], b[3]) };
}

static float overlap(struct box a, struct box b)
{
	float h = fminf(a.y1, b.y1) - fmaxf(a.y0, b.y0), w = fminf(a.x1, b.x1) - fmaxf(a.x0, b.x0);
	float both, all;

	if (!(h > 0) || !(w > 0))
		return 0;
	both = h * w;
	all = (a.y1 - a.y0) * (a.x1 - a.x0) + (b.y1 - b.y0) * (b.x1 - b.x0) - both;
	return all > 0 ? both / all : 0;
}

/* Best first; of equal ones the first. */
static int by_score(const void *ctx, int64_t a, int64_t b)
{
	const float *score = ctx;

	return score[a] > score[b] ? -1 : score[a] < score[b];
}

/*
 * Boxes of one class that stay, best first, at the front of @c, which has room for all twice;
 * *@kept is how many. 0 or -ECANCELED.
 */
static int nms_class(const struct npu_host_call *call, const struct nms *n, const float *score,
		     int64_t boxes, int64_t *c, int64_t *kept, struct npu_error *err)
{
	int64_t found = 0, i, k;
	int ret = 0;

	*kept = 0;
	for (i = 0; i < boxes; i++)
		if (score[i] > n->min_score)
			c[found++] = i;
	ret = npu_host_sort(call, c, c + boxes, found, by_score, score, err);
	for (i = 0; i < found && *kept < n->most && !ret; i++) {
		struct box box = nms_box(n, c[i]);

		for (k = 0; k < *kept && !(overlap(nms_box(n, c[k]), box) > n->max_iou); k++)
			;
		if (k == *kept)
			c[(*kept)++] = c[i];
		ret = npu_host_poll(call, err);
	}
	return ret;
}

static double optional(const struct npu_host_call *call, uint32_t i, double def)
{
	const struct npu_host_tensor *t = npu_host_in(call, i);

	return t && npu_host_elems(t) > 0 ? npu_host_get(t, 0) : def;
}

int npu_host_non_max_suppression(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *boxes = &call->in[0], *scores = &call->in[1];
	struct npu_host_tensor *out = &call->out[0];
	int64_t *to = out->data, room = out->dim[0], rows = 0, b, c, k, kept, num, classes;
	struct nms n = { .center = npu_host_int(call, "center_point_box", 0) != 0 };
	int64_t *cand;
	int ret = 0;

	if (boxes->dtype != NPU_F32 || scores->dtype != NPU_F32)
		return npu_host_bad_type(call, boxes->dtype != NPU_F32 ? boxes : scores, err);
	if (boxes->rank != 3 || scores->rank != 3 || boxes->dim[2] != 4 ||
	    boxes->dim[1] != scores->dim[2] || boxes->dim[0] != scores->dim[0])
		return npu_host_fail(call, err, -EINVAL,
				     "boxes [batch, boxes, 4] and scores [batch, classes, boxes] do not fit");
	if (out->rank != 2 || out->dim[1] != 3 || out->dtype != NPU_I64)
		return npu_host_fail(call, err, -EINVAL, "the result is not i64 [rows, 3]");
	num = boxes->dim[1];
	classes = scores->dim[1];
	n.most = (int64_t)fmin(fmax(optional(call, 2, 0), 0), (double)num);
	n.max_iou = (float)optional(call, 3, 0);
	n.min_score = (float)optional(call, 4, -INFINITY);
	cand = npu_host_alloc(call, 2 * num, sizeof(*cand), err);
	if (!cand)
		return -ENOMEM;
	for (b = 0; b < boxes->dim[0]; b++)
		for (c = 0; c < classes && !ret; c++) {
			n.boxes = (const float *)boxes->data + b * num * 4;
			ret = nms_class(call, &n,
					(const float *)scores->data + (b * classes + c) * num, num,
					cand, &kept, err);
			for (k = 0; k < kept && rows < room; k++, rows++) {
				to[3 * rows] = b;
				to[3 * rows + 1] = c;
				to[3 * rows + 2] = cand[k];
			}
		}
	free(cand);
	out->dim[0] = rows;
	return ret;
}

/* ---- RoiAlign -------------------------------------------------------------------------------- */

struct roi {
	const double *map;	/* one channel */
	int64_t h, w;
};

/* The corner with weight in @y, @x between pixels; nothing from more than a pixel outside. */
static void roi_corners(const struct roi *r, double y, double x, int64_t at[4], double weight[4])
{
	int64_t y0, x0, y1, x1;
	double fy, fx;

	memset(at, 0, 4 * sizeof(*at));
	memset(weight, 0, 4 * sizeof(*weight));
	if (!(y >= -1 && y <= (double)r->h && x >= -1 && x <= (double)r->w))
		return;
	y = y < 0 ? 0 : y;
	x = x < 0 ? 0 : x;
	y0 = (int64_t)y;
	x0 = (int64_t)x;
	if (y0 >= r->h - 1)
		y = (double)(y0 = r->h - 1);
	if (x0 >= r->w - 1)
		x = (double)(x0 = r->w - 1);
	y1 = y0 + (y0 < r->h - 1);
	x1 = x0 + (x0 < r->w - 1);
	fy = y - (double)y0;
	fx = x - (double)x0;
	at[0] = y0 * r->w + x0, weight[0] = (1 - fy) * (1 - fx);
	at[1] = y0 * r->w + x1, weight[1] = (1 - fy) * fx;
	at[2] = y1 * r->w + x0, weight[2] = fy * (1 - fx);
	at[3] = y1 * r->w + x1, weight[3] = fy * fx;
}

struct roi_bin {
	double y, x, h, w;	/* of the whole box, in pixels */
	int64_t rows, cols;	/* bins */
	int64_t ny, nx;		/* samples per bin */
	bool max;
};

/* Stopped, any result will do. */
static double roi_pool(const struct npu_host_call *call, const struct roi *r,
		       const struct roi_bin *b, int64_t i, int64_t k)
{
	double bh = b->h / (double)b->rows, bw = b->w / (double)b->cols, sum = 0, v, weight[4];
	bool first = true;
	int64_t sy, sx, at[4];
	int c;

	for (sy = 0; sy < b->ny && !npu_host_stopped(call); sy++)
		for (sx = 0; sx < b->nx; sx++) {
			roi_corners(r, b->y + bh * ((double)i + ((double)sy + 0.5) / (double)b->ny),
				    b->x + bw * ((double)k + ((double)sx + 0.5) / (double)b->nx),
				    at, weight);
			for (c = 0; c < 4; c++) {
				v = weight[c] * r->map[at[c]];
				if (!b->max)
					sum += v;
				else if (first || v > sum)
					sum = v;
				first = false;
			}
		}
	return b->max ? sum : sum / (double)(b->ny * b->nx > 0 ? b->ny * b->nx : 1);
}

/* Samples per bin: as given, else one per pixel that the bin covers; bounded, boxes are data. */
static int64_t roi_samples(int64_t given, double size, int64_t bins)
{
	double n = given > 0 ? (double)given : ceil(size / (double)bins);

	return n >= 1 && n < 4096 ? (int64_t)n : n >= 4096 ? 4096 : given > 0 ? 1 : 0;
}

static int roi_box(const struct npu_host_call *call, int64_t i, struct roi_bin *b,
		   struct npu_error *err)
{
	double scale = npu_host_float(call, "spatial_scale", 1);
	/* before operator set 16 there was no half-pixel shift */
	bool half = call->opset >= 16 &&
		    strcmp(npu_host_string(call, "coordinate_transformation_mode", "half_pixel"),
			   "output_half_pixel") != 0;
	double v[4], shift = half ? 0.5 : 0;
	int k;

	for (k = 0; k < 4; k++) {
		v[k] = npu_host_get(&call->in[1], 4 * i + k) * scale - shift;
		if (!isfinite(v[k]))
			return npu_host_fail(call, err, -EINVAL, "box %lld is not finite",
					     (long long)i);
	}
	b->x = v[0];
	b->y = v[1];
	b->w = v[2] - v[0];
	b->h = v[3] - v[1];
	if (!half) {
		b->w = fmax(b->w, 1);
		b->h = fmax(b->h, 1);
	}
	b->ny = roi_samples(npu_host_int(call, "sampling_ratio", 0), b->h, b->rows);
	b->nx = roi_samples(npu_host_int(call, "sampling_ratio", 0), b->w, b->cols);
	return 0;
}

int npu_host_roi_align(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0], *rois = &call->in[1], *batch = &call->in[2];
	struct npu_host_tensor *out = &call->out[0];
	int64_t n, c, i, k, at = 0, picture;
	struct roi_bin b = { .max = !strcmp(npu_host_string(call, "mode", "avg"), "max") };
	struct roi r;
	double *map;
	int ret = 0;

	if (x->rank != 4 || rois->rank != 2 || rois->dim[1] != 4 ||
	    npu_host_elems(batch) != rois->dim[0])
		return npu_host_fail(call, err, -EINVAL,
				     "expected X [N, C, H, W], rois [R, 4] and R indices");
	if (out->rank != 4 || out->dim[0] != rois->dim[0] || out->dim[1] != x->dim[1])
		return npu_host_fail(call, err, -EINVAL, "the result is not [R, C, height, width]");
	r.h = x->dim[2];
	r.w = x->dim[3];
	b.rows = out->dim[2];
	b.cols = out->dim[3];
	map = npu_host_doubles(call, x, err);
	if (!map)
		return -ENOMEM;
	for (n = 0; n < rois->dim[0] && !ret; n++) {
		picture = npu_host_get_int(batch, n);
		if (picture < 0 || picture >= x->dim[0])
			ret = npu_host_fail(call, err, -EINVAL, "batch index %lld, there are %lld",
					    (long long)picture, (long long)x->dim[0]);
		else
			ret = roi_box(call, n, &b, err);
		for (c = 0; c < x->dim[1] && !ret; c++) {
			r.map = map + (picture * x->dim[1] + c) * r.h * r.w;
			for (i = 0; i < b.rows; i++)
				for (k = 0; k < b.cols && !ret; k++) {
					ret = npu_host_poll(call, err);
					npu_host_set(out, at++,
						     r.h && r.w ? roi_pool(call, &r, &b, i, k) : 0);
				}
		}
	}
	free(map);
	return ret;
}
