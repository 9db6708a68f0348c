// SPDX-License-Identifier: MIT
/*
 * Resize, warp, turn. The digests are those of OpenCV 4.5.2 (resize INTER_LINEAR, warpPerspective
 * INTER_CUBIC with BORDER_REPLICATE) on the same pixels; the homographies are checked by what they
 * do to points.
 */
#include "tap.h"

#include <errno.h>
#include <math.h>

#include "pattern.h"
#include "tools/npu-ocr/ocr.h"

static void test_resize(void)
{
	static const struct { int w, h, dw, dh; uint64_t digest; } cases[] = {
		{ 7, 5, 7, 5, 0x5201d6b2001edfeeull },
		{ 7, 5, 20, 11, 0x2d9aa6438a75a43full },
		{ 20, 11, 7, 5, 0xc9059d021ae8ca6eull },
		{ 16, 10, 8, 5, 0xed308a3af5c79dc6ull },
		{ 1, 1, 5, 3, 0x9eff30956978876cull },
		{ 3, 1, 9, 1, 0xff812d744d2948f1ull },
		{ 100, 37, 48, 48, 0x5cc4687b1b0a60c1ull },
		{ 31, 17, 92, 48, 0xced87e20807047bdull },
		{ 64, 64, 63, 65, 0x50e0834a09788037ull },
		{ 2, 9, 1, 3, 0x7fcb2969009f0326ull },
		{ 40, 30, 200, 15, 0x9f2ff650ecca1b5eull },
		{ 17, 48, 192, 48, 0x81bc1f4237e7c41full },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct npu_image src = pattern_image(cases[i].w, cases[i].h,
						     (uint32_t)(cases[i].w * 1000 + cases[i].h)),
				 dst;
		int err = npu_image_resize(&src, cases[i].dw, cases[i].dh, &dst, NULL);

		tap_ok(!err && pattern_digest(&dst) == cases[i].digest,
		       "resize %dx%d to %dx%d as OpenCV does", cases[i].w, cases[i].h, cases[i].dw,
		       cases[i].dh);
		npu_image_free(&src);
		npu_image_free(&dst);
	}
}

static void test_crop(void)
{
	static const struct { double q[8]; int w, h; uint64_t digest; } cases[] = {
		{ { 2, 3, 40, 5, 41, 20, 1, 18 }, 40, 15, 0x0381f12454967a18ull },
		{ { 0, 0, 29, 0, 29, 19, 0, 19 }, 29, 19, 0x01c5c7c646e7ef11ull },
		{ { 5, 1, 30, 10, 26, 20, 1, 11 }, 26, 10, 0xde67d667711ff28bull },
		{ { -6, -4, 50, 2, 55, 30, -3, 28 }, 58, 32, 0x75c5c5adb1a988edull },
		{ { 10.5, 4.25, 33.75, 2, 35, 15.5, 9, 17.25 }, 26, 13, 0x58f67f063045b80full },
	};
	size_t i;
	int k;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct npu_image src = pattern_image(60, 33, 77), crop;
		struct ocr_quad quad;
		int turned, err;

		for (k = 0; k < 4; k++)
			quad.p[k] = (struct npu_point){ cases[i].q[2 * k], cases[i].q[2 * k + 1] };
		err = ocr_crop(&src, &quad, &crop, &turned, NULL);
		tap_ok(!err && !turned && crop.width == cases[i].w && crop.height == cases[i].h,
		       "crop %zu is %dx%d", i, cases[i].w, cases[i].h);
		tap_ok(!err && pattern_digest(&crop) == cases[i].digest, "crop %zu as OpenCV does",
		       i);
		npu_image_free(&src);
		npu_image_free(&crop);
	}
}

/* A box that is taller than wide by half is turned so that what was its right side is on top. */
static void test_tall_crop(void)
{
	struct npu_image src = pattern_image(30, 60, 5), crop, turned_src;
	struct ocr_quad quad = { { { 4, 6 }, { 14, 6 }, { 14, 46 }, { 4, 46 } } };
	int turned, ok = 1, x, y;

	ok = !ocr_crop(&src, &quad, &crop, &turned, NULL) && turned && crop.width == 40 &&
	     crop.height == 10;
	for (y = 0; ok && y < 10; y++)
		for (x = 0; x < 40; x++)
			ok &= !memcmp(crop.rgb + (y * 40 + x) * 3,
				      src.rgb + ((6 + x) * 30 + 13 - y) * 3, 3);
	tap_ok(ok, "a tall box is turned counter-clockwise, pixel by pixel");
	npu_image_free(&crop);
	for (x = 30; x <= 31; x++) {
		quad.p[1].x = quad.p[2].x = x;
		ok = !ocr_crop(&src, &quad, &crop, &turned, NULL) && turned == (x == 30);
		tap_ok(ok, "%d x 40 is %s", x - 4, x == 30 ? "turned" : "not turned");
		npu_image_free(&crop);
	}
	ok = !npu_image_rotate(&src, -3, &turned_src, NULL) && turned_src.width == 60;
	for (y = 0; ok && y < 30; y++)
		for (x = 0; x < 60; x++)
			ok &= !memcmp(turned_src.rgb + (y * 60 + x) * 3,
				      src.rgb + (x * 30 + 29 - y) * 3, 3);
	tap_ok(ok, "-3 quarters are 1 quarter");
	npu_image_free(&turned_src);
	npu_image_free(&src);
}

static void test_homography(void)
{
	struct npu_point from[4] = { { 0, 0 }, { 100, 0 }, { 100, 40 }, { 0, 40 } };
	struct npu_point to[4] = { { 3, 7 }, { 120, -5 }, { 131, 44 }, { -2, 60 } },
			 line[4] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 0, 5 } };
	double m[9], worst = 0;
	int i;

	tap_ok(!npu_homography(from, to, m), "a homography between two quads");
	for (i = 0; i < 4; i++) {
		double w = m[6] * from[i].x + m[7] * from[i].y + m[8];

		worst = fmax(worst,
			     fabs((m[0] * from[i].x + m[1] * from[i].y + m[2]) / w - to[i].x));
		worst = fmax(worst,
			     fabs((m[3] * from[i].x + m[4] * from[i].y + m[5]) / w - to[i].y));
	}
	tap_ok(worst < 1e-9, "maps corner to corner, worst error %.2g", worst);
	/*
	 * The diagonals' crossing stays where the diagonals cross: (50, 20) -> crossing of
	 * to[0]to[2] and to[1]to[3].
	 */
	{
		double d = (to[2].x - to[0].x) * (to[3].y - to[1].y) -
			   (to[2].y - to[0].y) * (to[3].x - to[1].x);
		double t = ((to[1].x - to[0].x) * (to[3].y - to[1].y) -
			    (to[1].y - to[0].y) * (to[3].x - to[1].x)) /
			   d;
		double w = m[6] * 50 + m[7] * 20 + m[8];

		tap_ok(fabs((m[0] * 50 + m[1] * 20 + m[2]) / w -
			    (to[0].x + t * (to[2].x - to[0].x))) < 1e-9,
		       "keeps the crossing of the diagonals");
	}
	tap_ok(npu_homography(line, to, m) == -EDOM, "three corners on one line are refused");
}

static void test_shift(void)
{
	struct npu_image src = pattern_image(20, 10, 9), dst;
	double m[9] = { 1, 0, 3, 0, 1, -2, 0, 0, 1 };
	int ok, x, y;

	ok = !npu_image_warp(&src, m, 30, 14, &dst, NULL);
	for (y = 0; ok && y < 14; y++)
		for (x = 0; x < 30; x++) {
			int sx = x + 3 > 19 ? 19 : x + 3;
			int sy = y - 2 < 0 ? 0 : y - 2 > 9 ? 9 : y - 2;

			ok &= !memcmp(dst.rgb + (y * 30 + x) * 3, src.rgb + (sy * 20 + sx) * 3, 3);
		}
	tap_ok(ok, "a shift copies pixels and repeats the edge");
	npu_image_free(&dst);
	m[6] = NAN;
	tap_ok(!npu_image_warp(&src, m, 4, 4, &dst, NULL),
	       "a map of NaN gives some pixels of the edge");
	npu_image_free(&dst);
	m[6] = 0;
	m[2] = 1e300;
	tap_ok(!npu_image_warp(&src, m, 4, 4, &dst, NULL) && !memcmp(dst.rgb, src.rgb + 19 * 3, 3),
	       "far outside is the edge");
	npu_image_free(&dst);
	npu_image_free(&src);
}

static void test_tensor(void)
{
	struct npu_image img = pattern_image(3, 2, 1);
	struct npu_image_norm norm = { { 0.5f, 0.25f, 0.125f }, { 0.5f, 2, 1 }, 1 };
	float out[3 * 3 * 5];
	int c, x, y, ok = 1;

	tap_ok(!npu_image_to_nchw(&img, &norm, 3, 5, -7, out), "a picture to a tensor");
	for (c = 0; c < 3; c++)
		for (y = 0; y < 3; y++)
			for (x = 0; x < 5; x++) {
				double v = y < 2 && x < 3 ?
						   (img.rgb[(y * 3 + x) * 3 + 2 - c] / 255.0 -
						    (double)norm.mean[c]) /
							   (double)norm.std[c] :
						   -7;

				ok &= fabs((double)out[(c * 3 + y) * 5 + x] - v) < 1e-6;
			}
	tap_ok(ok,
	       "channels in order blue, green, red, each with its mean, padded right and below");
	tap_ok(npu_image_to_nchw(&img, &norm, 1, 5, 0, out) == -EINVAL,
	       "a picture larger than the tensor is refused");
	npu_image_free(&img);
}

int main(void)
{
	test_resize();
	test_crop();
	test_tall_crop();
	test_homography();
	test_shift();
	test_tensor();
	return tap_done();
}
