// SPDX-License-Identifier: MIT
#include "ocr.h"

#include <math.h>

static double clip(double v, double hi)
{
	return v < 0 ? 0 : v > hi ? hi : v;
}

static double side(const struct ocr_quad *q, int a, int b)
{
	return hypot(q->p[a].x - q->p[b].x, q->p[a].y - q->p[b].y);
}

/*
 * The top left corner has the smallest x + y, the bottom right the largest; y - x tells the other
 * two apart.
 */
void ocr_quad_order(struct ocr_quad *quad)
{
	struct npu_point p[4], rest[2];
	int i, lo = 0, hi = 0, n = 0;

	for (i = 0; i < 4; i++) {
		p[i] = quad->p[i];
		if (p[i].x + p[i].y < p[lo].x + p[lo].y)
			lo = i;
		if (p[i].x + p[i].y > p[hi].x + p[hi].y)
			hi = i;
	}
	if (lo == hi)		/* all corners in one place */
		return;
	for (i = 0; i < 4; i++)
		if (i != lo && i != hi)
			rest[n++] = p[i];
	i = rest[1].y - rest[1].x < rest[0].y - rest[0].x;
	quad->p[0] = p[lo];
	quad->p[1] = rest[i];
	quad->p[2] = p[hi];
	quad->p[3] = rest[!i];
}

/* Every corner must turn clockwise, or there is no map from the box to an upright line. */
static int is_convex(const struct ocr_quad *q)
{
	int i;

	for (i = 0; i < 4; i++) {
		struct npu_point a = q->p[i], b = q->p[(i + 1) % 4], c = q->p[(i + 2) % 4];

		if ((b.x - a.x) * (c.y - b.y) - (b.y - a.y) * (c.x - b.x) < 1)
			return 0;
	}
	return 1;
}

int ocr_quad_clean(struct ocr_quad *quad, int img_width, int img_height)
{
	int i;

	ocr_quad_order(quad);
	for (i = 0; i < 4; i++) {
		quad->p[i].x = clip(quad->p[i].x, img_width - 1);
		quad->p[i].y = clip(quad->p[i].y, img_height - 1);
	}
	return (int)side(quad, 0, 1) > 3 && (int)side(quad, 0, 3) > 3 && is_convex(quad);
}

int ocr_crop(const struct npu_image *img, const struct ocr_quad *quad, struct npu_image *crop,
	     int *turned, struct npu_error *why)
{
	int w = (int)fmax(side(quad, 0, 1), side(quad, 2, 3)),
	    h = (int)fmax(side(quad, 0, 3), side(quad, 1, 2));
	struct npu_point flat[4] = { { 0, 0 }, { w, 0 }, { w, h }, { 0, h } };
	struct npu_image side_on;
	double m[9];
	int err;

	err = npu_homography(flat, quad->p, m);
	if (err)
		return npu_error_set(why, err, "a text box has three corners on one line");
	err = npu_image_warp(img, m, w, h, crop, why);
	*turned = h >= w * 1.5;
	if (err || !*turned)
		return err;
	err = npu_image_rotate(crop, 1, &side_on, why);
	npu_image_free(crop);
	if (!err)
		*crop = side_on;
	return err;
}
