// SPDX-License-Identifier: MIT
#include "ocr.h"

#include <math.h>
#include <stdlib.h>

static int point_cmp(const void *va, const void *vb)
{
	const struct npu_point *a = va, *b = vb;

	if (a->x != b->x)
		return a->x < b->x ? -1 : 1;
	return a->y < b->y ? -1 : a->y > b->y;
}

static double cross(struct npu_point o, struct npu_point a, struct npu_point b)
{
	return (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);
}

/* Andrew's monotone chain: along the sorted points and back. */
size_t ocr_hull(struct npu_point *pts, size_t n)
{
	struct npu_point *hull;
	size_t i, k = 0, low;

	qsort(pts, n, sizeof(*pts), point_cmp);
	for (i = 0; i < n; i++)
		if (!k || point_cmp(&pts[k - 1], &pts[i]))
			pts[k++] = pts[i];
	n = k;
	if (n < 3)
		return n;
	hull = malloc((n + 1) * sizeof(*hull));
	if (!hull)
		return 0;
	for (k = 0, i = 0; i < n; i++) {
		while (k >= 2 && cross(hull[k - 2], hull[k - 1], pts[i]) <= 0)
			k--;
		hull[k++] = pts[i];
	}
	for (low = k + 1, i = n - 1; i-- > 0;) {
		while (k >= low && cross(hull[k - 2], hull[k - 1], pts[i]) <= 0)
			k--;
		hull[k++] = pts[i];
	}
	k--;		/* the first point again */
	for (i = 0; i < k; i++)
		pts[i] = hull[i];
	free(hull);
	return k;
}

/* A corner within this of a whole pixel is that pixel: what follows truncates. */
static double snap(double v)
{
	double r = round(v);

	return fabs(v - r) < 1e-6 ? r : v;
}

/* Corners sorted as the reference does it: by x, then each pair by y. */
static void rect_order(const struct npu_point c[4], struct ocr_rect *rect)
{
	struct npu_point s[4];
	int i, j;

	for (i = 0; i < 4; i++) {
		for (j = i; j > 0 && s[j - 1].x > c[i].x; j--)
			s[j] = s[j - 1];
		s[j] = c[i];
	}
	i = s[1].y > s[0].y;
	j = s[3].y > s[2].y;
	rect->p[0] = s[i ? 0 : 1];
	rect->p[3] = s[i ? 1 : 0];
	rect->p[1] = s[j ? 2 : 3];
	rect->p[2] = s[j ? 3 : 2];
}

void ocr_min_rect(const struct npu_point *hull, size_t n, struct ocr_rect *rect)
{
	double best = INFINITY, w = 0, h = 0;
	struct npu_point corner[4];
	size_t i, j;

	for (i = 0; i < 4; i++)
		corner[i] = hull[0];
	/* Some side of the smallest rectangle lies on an edge of the hull. */
	for (i = 0; i < n && n > 1; i++) {
		struct npu_point a = hull[i], b = hull[(i + 1) % n];
		double len = hypot(b.x - a.x, b.y - a.y), ux = (b.x - a.x) / len,
		       uy = (b.y - a.y) / len;
		double lo = 0, hi = 0, nlo = 0, nhi = 0;

		for (j = 0; j < n; j++) {
			double dx = hull[j].x - a.x, dy = hull[j].y - a.y;
			double along = dx * ux + dy * uy, off = dy * ux - dx * uy;

			lo = fmin(lo, along);
			hi = fmax(hi, along);
			nlo = fmin(nlo, off);
			nhi = fmax(nhi, off);
		}
		/* Strictly smaller by more than rounding, so that ties go to the first edge. */
		if ((hi - lo) * (nhi - nlo) > best - 1e-7)
			continue;
		w = hi - lo;
		h = nhi - nlo;
		best = w * h;
		for (j = 0; j < 4; j++) {
			double t = j == 0 || j == 3 ? lo : hi, s = j < 2 ? nlo : nhi;

			corner[j].x = snap(a.x + ux * t - uy * s);
			corner[j].y = snap(a.y + uy * t + ux * s);
		}
	}
	rect_order(corner, rect);
	rect->short_side = fmin(w, h);
}

struct unclip_out {
	struct npu_point *at;
	size_t n, room;
	int full;
};

/* Outlines are on whole pixels, as in the integer polygon library of the reference. */
static void unclip_put(struct unclip_out *o, double x, double y)
{
	if (o->n == o->room) {
		o->full = 1;
		return;
	}
	o->at[o->n].x = round(x);
	o->at[o->n++].y = round(y);
}

/*
 * Round the corner @p from the normal @from to the normal @to in steps that stay within 1/4 pixel
 * of the arc.
 */
static void unclip_corner(struct unclip_out *o, struct npu_point p, struct npu_point from,
			  struct npu_point to, double distance)
{
	double dot = from.x * to.x + from.y * to.y,
	       turn = atan2(from.x * to.y - from.y * to.x, dot);
	double steps = M_PI / acos(1 - fmin(0.25, distance * 0.25) / distance);
	double step, x = from.x, y = from.y, t;
	long i, n;

	if (fabs(from.x * to.y - from.y * to.x) * distance < 1 && dot > 0) {
		unclip_put(o, p.x + from.x * distance, p.y + from.y * distance);
		return;
	}
	steps = fmin(steps, distance * M_PI);
	step = 2 * M_PI / steps;
	n = lround(fabs(turn) / step);
	for (i = 0; i < (n > 1 ? n : 1); i++) {
		unclip_put(o, p.x + x * distance, p.y + y * distance);
		t = x;
		x = x * cos(step) - y * sin(step);
		y = t * sin(step) + y * cos(step);
	}
	unclip_put(o, p.x + to.x * distance, p.y + to.y * distance);
}

size_t ocr_unclip(const struct npu_point quad[4], double distance, struct npu_point *out,
		  size_t room)
{
	struct unclip_out o = { .at = out, .room = room };
	struct npu_point q[4], normal[4];
	int i, n = 0;

	/* Whole pixels first, and equal neighbours are one corner. */
	for (i = 0; i < 4; i++) {
		struct npu_point p = { trunc(quad[i].x), trunc(quad[i].y) };

		if (!n || p.x != q[n - 1].x || p.y != q[n - 1].y)
			q[n++] = p;
	}
	if (n > 1 && q[0].x == q[n - 1].x && q[0].y == q[n - 1].y)
		n--;
	if (n < 3 || !(distance > 0))
		return 0;
	for (i = 0; i < n; i++) {
		struct npu_point a = q[i], b = q[(i + 1) % n];
		double len = hypot(b.x - a.x, b.y - a.y);

		/*
		 * Clockwise on the screen: the outside is to the left of the direction of travel.
		 */
		normal[i].x = (b.y - a.y) / len;
		normal[i].y = -(b.x - a.x) / len;
	}
	for (i = 0; i < n; i++)
		unclip_corner(&o, q[i], normal[(i + n - 1) % n], normal[i], distance);
	return o.full ? 0 : o.n;
}
