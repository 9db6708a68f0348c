// SPDX-License-Identifier: MIT
/*
 * Boxes out of text maps. Maps are painted here by a half-plane test per pixel, so the corners are
 * known; the rectangles of least area, and the grown outlines, are those of OpenCV 4.5.2
 * (minAreaRect) and Clipper 6.4.2 (JavaScript).
 */
#include "tap.h"

#include <errno.h>
#include <math.h>

#include "tools/npu-ocr/ocr.h"

#define MAP_W	320
#define MAP_H	160

static float map[MAP_H][MAP_W];

/* A rectangle about (cx, cy), @w x @h, turned by @angle; pixels inside get @p. */
static void paint(double cx, double cy, double w, double h, double angle, float p)
{
	double c = cos(angle), s = sin(angle);
	int x, y;

	for (y = 0; y < MAP_H; y++)
		for (x = 0; x < MAP_W; x++) {
			double u = (x - cx) * c + (y - cy) * s, v = (y - cy) * c - (x - cx) * s;

			if (fabs(u) <= w / 2 && fabs(v) <= h / 2)
				map[y][x] = p;
		}
}

static size_t boxes_of(struct ocr_boxes *boxes)
{
	memset(boxes, 0, sizeof(*boxes));
	if (ocr_db_boxes(&map[0][0], MAP_W, MAP_H, MAP_W, MAP_H, NULL, boxes, NULL))
		return 9999;
	return boxes->count;
}

/*
 * The corners grow outwards by area * 1.5 / perimeter; pixels and the cut to whole ones blur that a
 * little.
 */
static void test_turned(double w, double h, double angle)
{
	double d = w * h * 1.5 / (2 * (w + h)), gw = w / 2 + d, gh = h / 2 + d, worst = 0,
	       c = cos(angle), s = sin(angle);
	double sign[4][2] = { { -1, -1 }, { 1, -1 }, { 1, 1 }, { -1, 1 } };
	struct ocr_boxes boxes;
	size_t n;
	int i;

	memset(map, 0, sizeof(map));
	paint(160, 80, w, h, angle, 0.8f);
	n = boxes_of(&boxes);
	for (i = 0; n == 1 && i < 4; i++) {
		double x = 160 + sign[i][0] * gw * c - sign[i][1] * gh * s;
		double y = 80 + sign[i][0] * gw * s + sign[i][1] * gh * c;

		x = fmin(fmax(x, 0), MAP_W - 1);
		y = fmin(fmax(y, 0), MAP_H - 1);
		worst = fmax(worst,
			     hypot(boxes.box[0].quad.p[i].x - x, boxes.box[0].quad.p[i].y - y));
	}
	tap_ok(n == 1 && worst < 3, "%g x %g at %.2f rad: %zu box, corners within %.2f pixels", w,
	       h, angle, n, worst);
	/* The box runs through pixel centres, so it may take in a few pixels of zero. */
	tap_ok(n == 1 && boxes.box[0].score > 0.7f && boxes.box[0].score <= 0.8001f,
	       "its score is %.3f, painted with 0.8", n == 1 ? (double)boxes.box[0].score : 0);
	ocr_boxes_free(&boxes);
}

static void test_axis(void)
{
	struct ocr_boxes boxes;
	size_t n;

	/*
	 * 101 x 11 pixels, 100 x 10 between centres: grows by 1000 * 1.5 / 220 = 6.8, corners to
	 * whole pixels.
	 */
	memset(map, 0, sizeof(map));
	paint(150, 60, 100, 10, 0, 1);
	n = boxes_of(&boxes);
	tap_ok(n == 1 && boxes.box[0].score == 1, "a clean rectangle has a score of 1");
	tap_ok(n == 1 && boxes.box[0].quad.p[0].x == 93 && boxes.box[0].quad.p[0].y == 48 &&
		       boxes.box[0].quad.p[2].x == 207 && boxes.box[0].quad.p[2].y == 72,
	       "and grows by 7: %g,%g %g,%g", boxes.box[0].quad.p[0].x, boxes.box[0].quad.p[0].y,
	       boxes.box[0].quad.p[2].x, boxes.box[0].quad.p[2].y);
	ocr_boxes_free(&boxes);
	/* Scaled to a picture twice as wide and half as high. */
	memset(&boxes, 0, sizeof(boxes));
	ocr_db_boxes(&map[0][0], MAP_W, MAP_H, MAP_W * 2, MAP_H / 2, NULL, &boxes, NULL);
	tap_ok(boxes.count == 1 && boxes.box[0].quad.p[0].x == 186 &&
		       boxes.box[0].quad.p[0].y == 24 && boxes.box[0].quad.p[2].x == 414 &&
		       boxes.box[0].quad.p[2].y == 36,
	       "scales to the picture's size");
	ocr_boxes_free(&boxes);
}

static void test_thresholds(void)
{
	struct ocr_boxes boxes;

	memset(map, 0, sizeof(map));
	paint(80, 40, 100, 8, 0, 0.59f);
	tap_ok(boxes_of(&boxes) == 0, "a mean of 0.59 is no text");
	ocr_boxes_free(&boxes);
	paint(80, 40, 100, 8, 0, 0.61f);
	tap_ok(boxes_of(&boxes) == 1, "a mean of 0.61 is");
	ocr_boxes_free(&boxes);
	memset(map, 0, sizeof(map));
	paint(80, 40, 100, 2, 0, 1);
	tap_ok(boxes_of(&boxes) == 0, "three rows of pixels (2 between centres) are noise");
	ocr_boxes_free(&boxes);
	paint(80, 40.5, 100, 3, 0, 1);
	tap_ok(boxes_of(&boxes) == 1, "four rows are text");
	ocr_boxes_free(&boxes);
	memset(map, 0, sizeof(map));
	tap_ok(boxes_of(&boxes) == 0, "nothing on an empty map");
	ocr_boxes_free(&boxes);
	paint(160, 80, 400, 400, 0, 1);
	tap_ok(boxes_of(&boxes) == 1 && boxes.box[0].quad.p[0].x == 0 &&
		       boxes.box[0].quad.p[2].x == MAP_W - 1 &&
		       boxes.box[0].quad.p[2].y == MAP_H - 1,
	       "a full map is one box, clipped to the picture");
	ocr_boxes_free(&boxes);
}

static void test_groups(void)
{
	struct ocr_db_options half;
	struct ocr_boxes boxes;
	int i;

	memset(map, 0, sizeof(map));
	for (i = 0; i < 4; i++)
		paint(100, 20 + 30 * i, 120, 9, 0, 0.9f);
	paint(250, 80, 9, 100, 0, 0.9f);
	tap_ok(boxes_of(&boxes) == 5, "five groups, five boxes (%zu)", boxes.count);
	ocr_boxes_free(&boxes);
	/* Two bars that touch only over a corner are one group; a pixel apart they are two. */
	memset(map, 0, sizeof(map));
	paint(69.5, 40, 60, 8, 0, 1);
	paint(129.5, 49, 60, 8, 0, 1);
	ocr_db_options_default(&half);
	half.box_thresh = 0.4f;		/* a box around both is half empty */
	memset(&boxes, 0, sizeof(boxes));
	ocr_db_boxes(&map[0][0], MAP_W, MAP_H, MAP_W, MAP_H, &half, &boxes, NULL);
	tap_ok(boxes.count == 1, "groups join over a corner (%zu)", boxes.count);
	ocr_boxes_free(&boxes);
	paint(100, 45, 400, 1, 0, 0);
	ocr_db_boxes(&map[0][0], MAP_W, MAP_H, MAP_W, MAP_H, &half, &boxes, NULL);
	tap_ok(boxes.count == 2, "a row of background parts them (%zu)", boxes.count);
	ocr_boxes_free(&boxes);
	/*
	 * A thick frame with a lightly shaded inside: the rim of the hole is an outline, but not
	 * text enough.
	 */
	memset(map, 0, sizeof(map));
	paint(160, 80, 200, 100, 0, 0.9f);
	paint(160, 80, 160, 60, 0, 0.1f);
	tap_ok(boxes_of(&boxes) <= 1, "the hole of a frame is no text (%zu)", boxes.count);
	ocr_boxes_free(&boxes);
	/* A hole that is a thin slit: what surrounds it is text, as in the reference. */
	memset(map, 0, sizeof(map));
	paint(160, 80, 200, 60, 0, 0.9f);
	paint(160, 80, 40, 3, 0, 0.25f);
	tap_ok(boxes_of(&boxes) == 1, "a slit is thinner than its rim's score lets through (%zu)",
	       boxes.count);
	ocr_boxes_free(&boxes);
}

/* Worst case for the grouping: a checkerboard, a comb, and noise. */
static void test_stress(void)
{
	struct ocr_boxes boxes;
	uint32_t seed = 3;
	int x, y, k;

	for (k = 0; k < 6; k++) {
		for (y = 0; y < MAP_H; y++)
			for (x = 0; x < MAP_W; x++) {
				seed = seed * 1664525u + 1013904223u;
				map[y][x] = k == 0 ? (float)((x ^ y) & 1) :
					    k == 1 ? (float)(y && (x & 1)) :
						     (float)(seed >> 8) / 16777216.0f *
							     (k == 2 ? 1 :
							      k == 3 ? 0.4f :
								       4);
			}
		if (k == 5)
			map[5][5] = NAN;
		tap_ok(boxes_of(&boxes) != 9999, "map of kind %d gives %zu boxes", k, boxes.count);
		ocr_boxes_free(&boxes);
	}
	memset(&boxes, 0, sizeof(boxes));
	tap_ok(ocr_db_boxes(&map[0][0], 0, 5, 5, 5, NULL, &boxes, NULL) == -EINVAL,
	       "a map without pixels is refused");
	for (k = 1; k <= 3; k++)
		tap_ok(!ocr_db_boxes(&map[0][0], 1, k, 5, 5, NULL, &boxes, NULL) && !boxes.count,
		       "1 x %d", k);
	ocr_boxes_free(&boxes);
}

static void test_min_rect(void)
{
	static const struct { int n; double area, side, at[80];
	} cases[] = {
		{ 3, 114, 1.7013, { 197, 37, 130, 38, 150, 36 } },
		{ 5, 2266.824, 18.4977, { 96, 10, 165, 13, 83, 32, 45, 38, 124, 12 } },
		{ 12, 5087.698, 49.6979, { 31,	26, 71, 49, 44, 40, 48, 36, 82, 16, 38,	 54,
					   122, 27, 23, 22, 81, 31, 99, 5,  85, 23, 125, 55 } },
		{ 40, 10780, 55, { 178, 43, 175, 46, 77,  44, 53,  45, 152, 46, 148, 47, 15,  22,
				   164, 20, 26,	 1,  195, 24, 59,  56, 139, 46, 74,  34, 158, 28,
				   190, 56, 105, 21, 111, 21, 46,  6,  129, 10, 198, 20, 67,  38,
				   167, 29, 56,	 29, 170, 9,  165, 13, 47,  16, 85,  9,	 180, 14,
				   64,	10, 187, 10, 154, 52, 35,  19, 186, 53, 2,   23, 58,  48,
				   193, 1,  15,	 16, 152, 14, 152, 30, 26,  7 } },
	};
	struct npu_point pts[40], one = { 3, 4 };
	struct ocr_rect r;
	size_t i, n;
	int k;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double w, h;

		for (k = 0; k < cases[i].n; k++)
			pts[k] = (struct npu_point){ cases[i].at[2 * k], cases[i].at[2 * k + 1] };
		n = ocr_hull(pts, (size_t)cases[i].n);
		ocr_min_rect(pts, n, &r);
		w = hypot(r.p[1].x - r.p[0].x, r.p[1].y - r.p[0].y);
		h = hypot(r.p[3].x - r.p[0].x, r.p[3].y - r.p[0].y);
		tap_ok(fabs(w * h - cases[i].area) < 0.01 * cases[i].area / 100 + 0.01 &&
			       fabs(r.short_side - cases[i].side) < 1e-3,
		       "%d points: area %.3f (OpenCV %.3f), short side %.4f", cases[i].n, w * h,
		       cases[i].area, r.short_side);
	}
	ocr_min_rect(&one, ocr_hull(&one, 1), &r);
	tap_ok(r.short_side == 0 && r.p[2].x == 3 && r.p[2].y == 4,
	       "one point is a rectangle without sides");
}

static int has_point(const struct npu_point *pts, size_t n, const int *xy)
{
	size_t i;

	for (i = 0; i < n; i++)
		if ((int)pts[i].x == xy[0] && (int)pts[i].y == xy[1])
			return 1;
	return 0;
}

static void test_unclip(void)
{
	static const struct { double q[8], d; int n, at[56];
	} cases[] = {
		{ { 10, 10, 110, 10, 110, 20, 10, 20 },
		  6.8,
		  16,
		  { 114, 4,  116, 7,  117, 10, 117, 20, 116, 24, 113, 26, 110, 27, 10,	27,
		    6,	 26, 4,	  23, 3,   20, 3,   10, 4,   6,	 7,   4,  10,  3,  110, 3 } },
		{ { 5, 30, 60, 10, 66, 24, 11, 44 }, 4.3, 12, { 64, 8,	70, 22, 70, 25, 67, 28,
								12, 48, 10, 48, 7,  46, 1,  32,
								1,  29, 4,  26, 59, 6,	61, 6 } },
		{ { 0, 0, 300, 0, 300, 40, 0, 40 },
		  26.5,
		  28,
		  { 307, -26, 314, -23, 319, -18, 324, -12, 326, -5,  327, 0,	327, 40,
		    326, 47,  323, 54,	318, 59,  312, 64,  305, 66,  300, 67,	0,   67,
		    -7,	 66,  -14, 63,	-19, 58,  -24, 52,  -26, 45,  -27, 40,	-27, 0,
		    -26, -7,  -23, -14, -18, -19, -12, -24, -5,	 -26, 0,   -27, 300, -27 } },
	};
	struct npu_point q[4], out[64];
	size_t i, n;
	int k, same;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (k = 0; k < 4; k++)
			q[k] = (struct npu_point){ cases[i].q[2 * k], cases[i].q[2 * k + 1] };
		n = ocr_unclip(q, cases[i].d, out, 64);
		for (same = 0, k = 0; k < cases[i].n; k++)
			same += has_point(out, n, &cases[i].at[2 * k]);
		tap_ok(same == cases[i].n, "outline %zu: %d of Clipper's %d points", i, same,
		       cases[i].n);
	}
	tap_ok(ocr_unclip(q, cases[2].d, out, 10) == 0, "no room: nothing");
	q[1] = q[2] = q[3] = q[0];
	tap_ok(ocr_unclip(q, 5, out, 64) == 0, "no area: nothing");
}

int main(void)
{
	test_axis();
	test_turned(200, 20, 0.05);
	test_turned(200, 20, -0.17);
	test_turned(120, 30, 0.6);
	test_turned(90, 14, -0.7);
	test_turned(20, 100, 0.1);
	test_thresholds();
	test_groups();
	test_stress();
	test_min_rect();
	test_unclip();
	return tap_done();
}
