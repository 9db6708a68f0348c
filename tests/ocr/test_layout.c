// SPDX-License-Identifier: MIT
/*
 * Sizes and orders: what detection looks at, the recogniser's width, reading order, corners of
 * boxes.
 */
#include "tap.h"

#include <math.h>

#include "tools/npu-ocr/ocr.h"

static void plan(int w, int h, int limit, int pw, int ph, int ww, int wh)
{
	struct ocr_detect_plan p;

	ocr_detect_plan(w, h, limit, &p);
	tap_ok(p.width == pw && p.height == ph && p.piece_width == ww && p.piece_height == wh,
	       "%d x %d, limit %d: seen as %d x %d in pieces of %d x %d", w, h, limit, p.width,
	       p.height, p.piece_width, p.piece_height);
}

/*
 * Whole pictures: PaddleOCR's rule, worked out by hand; int(side * ratio), then round(side / 32) *
 * 32, at least 32.
 */
static void test_plans(void)
{
	plan(556, 257, 960, 544, 256, 544, 256);
	plan(640, 480, 960, 640, 480, 640, 480);
	plan(1920, 1080, 960, 960, 544, 960, 544);
	/* 719.99 is cut to 719, 22.47 rounds to 22 */
	plan(3000, 4000, 960, 704, 960, 704, 960);
	plan(1, 1, 960, 32, 32, 32, 32);
	/* 1.5 and 2.5 both round to 2: half to even */
	plan(48, 80, 960, 64, 64, 64, 64);
	plan(1000, 700, 970, 960, 672, 960, 672);	/* 970 would round down to 960 anyway */
	plan(1000, 1000, 1000, 992, 992, 992, 992);	/* 31.25 */
	/* 31.56 rounds up to 1024, past the limit */
	plan(1010, 1010, 1010, 992, 992, 992, 992);
	/* Strips. */
	plan(10000, 200, 960, 9984, 192, 960, 192);
	plan(200, 10000, 960, 192, 9984, 192, 960);
	plan(4000, 1000, 960, 1696, 416, 960, 416);	/* ratio 960 / 2250: 1706 and 426 */
	plan(65500, 1, 32, 65504, 32, 32, 32);
}

/* Pieces must cover the length without gaps, end at its end, and stay on multiples of 32. */
static void test_pieces(void)
{
	int length, piece, at, next, bad = 0, runs = 0, steps;

	for (length = 32; length <= 4096; length += 32)
		for (piece = 32; piece <= length && piece <= 1280; piece += 32, runs++)
			for (at = 0, steps = 0; at < length; at = next, steps++) {
				next = ocr_detect_next(at, length, piece);
				bad += at % 32 || at + piece > length || next <= at ||
				       (next < length && next > at + piece) ||
				       (next >= length) != (at + piece == length) || steps > 300;
			}
	tap_ok(!bad, "%d ways to cut a length into pieces, %d faults", runs, bad);
}

static void width(int w, int h, int min, int net, int text)
{
	int n, t;

	ocr_recognize_width(w, h, min, &n, &t);
	tap_ok(n == net && t == text, "a crop of %d x %d is read at %d, %d of it text", w, h, n, t);
}

static void test_widths(void)
{
	width(320, 14, 320, 1208, 1207);	/* 1.1 * 48 * 320 / 14 = 1206.86 */
	width(10, 10, 320, 320, 53);
	width(10, 10, 16, 56, 53);
	width(1, 1000, 16, 16, 1);
	width(100000, 10, 320, 3200, 3200);
}

static struct ocr_box box(double x, double y, double w, double h)
{
	return (struct ocr_box){ { { { x, y }, { x + w, y }, { x + w, y + h }, { x, y + h } } },
				 1 };
}

/* Two columns of three lines with a little slant; what comes back is named by its score. */
static void test_order(void)
{
	static const int expect[6] = { 1, 2, 3, 4, 5, 6 };
	struct ocr_boxes boxes = { 0 };
	struct ocr_lines lines = { 0 };
	int i, ok = 1, turn, k;

	for (i = 5; i >= 0; i--) {
		int y = i / 2 * 30 + (i % 2 ? 0 : 4);
		struct ocr_box b = box(i % 2 ? 200 : 10, y, 150, 20);

		b.score = (float)(i + 1);
		ocr_boxes_add(&boxes, &b);
	}
	tap_ok(!ocr_boxes_sort(&boxes, NULL), "sort six boxes");
	for (i = 0; i < 6; i++)
		ok &= (int)boxes.box[i].score == expect[i];
	tap_ok(ok, "left before right on a line although it is lower by 4 pixels");
	/*
	 * The same page on its side and head: corners turned clockwise by quarters, lines say how
	 * they were read.
	 */
	for (turn = 1; turn < 4; turn++) {
		lines.line = calloc(6, sizeof(*lines.line));
		lines.count = 6;
		for (i = 0; i < 6; i++) {
			struct ocr_line *l = &lines.line[(i * 5 + 2) % 6];

			l->box = boxes.box[i];
			l->turned = turn & 1;
			l->flipped = turn >> 1;
			for (k = 0; k < 4 * turn; k++) {
				struct npu_point *p = &l->box.quad.p[k % 4];

				*p = (struct npu_point){ -p->y, p->x };
			}
			ocr_quad_order(&l->box.quad);
		}
		ok = !ocr_lines_sort(&lines, NULL);
		for (i = 0; i < 6; i++)
			ok &= (int)lines.line[i].box.score == expect[i];
		tap_ok(ok, "reading order of a page turned by %d degrees", turn * 90);
		ocr_lines_free(&lines);
	}
	ocr_boxes_free(&boxes);
}

static void test_quads(void)
{
	static const int order[4][4] = {
		{ 0, 1, 2, 3 }, { 2, 3, 0, 1 }, { 3, 2, 1, 0 }, { 1, 3, 0, 2 }
	};
	const struct npu_point corner[4] = { { 10, 8 }, { 90, 20 }, { 88, 34 }, { 8, 22 } };
	struct ocr_quad q;
	int i, k, ok = 1;

	for (i = 0; i < 4; i++) {
		for (k = 0; k < 4; k++)
			q.p[k] = corner[order[i][k]];
		ok &= ocr_quad_clean(&q, 200, 100);
		for (k = 0; k < 4; k++)
			ok &= q.p[k].x == corner[k].x && q.p[k].y == corner[k].y;
	}
	tap_ok(ok, "corners come out clockwise from the top left however they go in");
	q = box(-5, -5, 30, 20).quad;
	tap_ok(ocr_quad_clean(&q, 100, 100) && q.p[0].x == 0 && q.p[0].y == 0 && q.p[2].x == 25,
	       "clipped to the picture");
	q = box(-50, -5, 52, 20).quad;
	tap_ok(!ocr_quad_clean(&q, 100, 100), "what is left of it is too narrow");
	q = box(10, 10, 3.9, 20).quad;
	tap_ok(!ocr_quad_clean(&q, 100, 100), "three pixels are no text");
	q = (struct ocr_quad){ { { 10, 10 }, { 90, 90 }, { 50, 50 }, { 20, 20 } } };
	tap_ok(!ocr_quad_clean(&q, 100, 100), "corners on one line are no box");
	q = (struct ocr_quad){ { { 5, 5 }, { 5, 5 }, { 5, 5 }, { 5, 5 } } };
	tap_ok(!ocr_quad_clean(&q, 100, 100), "nor is a point");
}

int main(void)
{
	test_plans();
	test_pieces();
	test_widths();
	test_order();
	test_quads();
	return tap_done();
}
