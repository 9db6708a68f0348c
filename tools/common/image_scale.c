// SPDX-License-Identifier: MIT
/*
 * Bilinear resize of 8-bit RGB with OpenCV's arithmetic. The networks were trained on pictures that
 * OpenCV had resized, and a comparison with another pipeline wants the same bytes, so its roundings
 * are kept to the letter.
 */
#include "tools/common/image.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COEF_ONE	2048	/* weights have 11 bits */

struct scale_axis {
	int *at;		/* left (upper) source index; the other one is at[i] + 1, clamped */
	int16_t *weight;	/* two per destination index */
};

static void axis_free(struct scale_axis *a)
{
	free(a->at);
	free(a->weight);
}

/*
 * @clamp: give an index beyond the edge the whole weight (columns). Rows keep their fraction and
 * clamp the row
 * index instead: the same but for rounding.
 */
static int axis_make(struct scale_axis *a, int from, int to, int clamp)
{
	double scale = 1.0 / ((double)to / (double)from);
	int i;

	a->at = malloc((size_t)to * sizeof(*a->at));
	a->weight = malloc((size_t)to * 2 * sizeof(*a->weight));
	if (!a->at || !a->weight)
		return -ENOMEM;
	for (i = 0; i < to; i++) {
		float f = (float)((i + 0.5) * scale - 0.5);
		int s = (int)floorf(f);

		f -= (float)s;
		if (clamp && s < 0) {
			f = 0;
			s = 0;
		}
		if (clamp && s >= from - 1) {
			f = 0;
			s = from - 1;
		}
		a->at[i] = s;
		a->weight[2 * i] = (int16_t)lrintf((1.0f - f) * COEF_ONE);
		a->weight[2 * i + 1] = (int16_t)lrintf(f * COEF_ONE);
	}
	return 0;
}

static void scale_row(const uint8_t *in, int in_width, const struct scale_axis *ax, int width,
		      int *out)
{
	int x, c;

	for (x = 0; x < width; x++) {
		const uint8_t *l = in + (size_t)ax->at[x] * 3;
		const uint8_t *r = ax->at[x] + 1 < in_width ? l + 3 : l;
		int wl = ax->weight[2 * x], wr = ax->weight[2 * x + 1];

		for (c = 0; c < 3; c++)
			*out++ = l[c] * wl + r[c] * wr;
	}
}

static void blend_rows(const int *a, const int *b, int wa, int wb, int n, uint8_t *out)
{
	int i, v;

	for (i = 0; i < n; i++) {
		v = (((wa * (a[i] >> 4)) >> 16) + ((wb * (b[i] >> 4)) >> 16) + 2) >> 2;
		out[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
	}
}

static int clamp_index(int i, int n)
{
	return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* Exactly half on both sides: OpenCV takes the mean of 2x2 pixels. */
static void halve(const struct npu_image *src, struct npu_image *dst)
{
	size_t row = (size_t)src->width * 3;
	uint8_t *out = dst->rgb;
	int x, y, c;

	for (y = 0; y < dst->height; y++) {
		const uint8_t *in = src->rgb + (size_t)y * 2 * row;

		for (x = 0; x < dst->width; x++, in += 6)
			for (c = 0; c < 3; c++)
				*out++ = (uint8_t)((in[c] + in[c + 3] + in[row + (size_t)c] +
						    in[row + (size_t)c + 3] + 2) >> 2);
	}
}

static int scale_bilinear(const struct npu_image *src, struct npu_image *dst)
{
	struct scale_axis ax = { 0 }, ay = { 0 };
	int n = dst->width * 3, have[2] = { -1, -1 }, err, y, k;
	size_t row = (size_t)src->width * 3;
	int *lines[2];

	lines[0] = malloc((size_t)n * 2 * sizeof(int));
	lines[1] = lines[0] ? lines[0] + n : NULL;
	err = axis_make(&ax, src->width, dst->width, 1);
	if (!err)
		err = axis_make(&ay, src->height, dst->height, 0);
	if (!lines[0])
		err = -ENOMEM;
	for (y = 0; !err && y < dst->height; y++) {
		int *use[2];

		/* Two lines are kept, found again by the parity of their row. */
		for (k = 0; k < 2; k++) {
			int s = clamp_index(ay.at[y] + k, src->height);

			if (have[s & 1] != s)
				scale_row(src->rgb + (size_t)s * row, src->width, &ax, dst->width,
					  lines[s & 1]);
			have[s & 1] = s;
			use[k] = lines[s & 1];
		}
		blend_rows(use[0], use[1], ay.weight[2 * y], ay.weight[2 * y + 1], n,
			   dst->rgb + (size_t)y * (size_t)n);
	}
	axis_free(&ax);
	axis_free(&ay);
	free(lines[0]);
	return err;
}

int npu_image_resize(const struct npu_image *src, int width, int height, struct npu_image *dst,
		     struct npu_error *why)
{
	int err;

	err = npu_image_alloc(dst, width, height, 0, why);
	if (err)
		return err;
	if (width == src->width && height == src->height) {
		memcpy(dst->rgb, src->rgb, (size_t)width * (size_t)height * 3);
		return 0;
	}
	if (width * 2 == src->width && height * 2 == src->height) {
		halve(src, dst);
		return 0;
	}
	err = scale_bilinear(src, dst);
	if (err) {
		npu_image_free(dst);
		return npu_error_set(why, err, "no memory to resize to %d x %d pixels", width,
				     height);
	}
	return 0;
}
