// SPDX-License-Identifier: MIT
/*
 * Perspective maps, and the bicubic warp with OpenCV's fixed-point tables (see image_scale.c for
 * why).
 */
#include "tools/common/image.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WARP_BITS	5			/* positions are rounded to 1/32 pixel */
#define WARP_STEPS	(1 << WARP_BITS)
#define WARP_ONE	(1 << 15)		/* sum of the 16 weights of a position */

struct warp_table {
	int16_t weight[WARP_STEPS][WARP_STEPS][4][4];	/* fraction of y, of x, row, column */
};

/* Gauss with partial pivoting on 8 equations; @a is 8 x 9 and is used up. */
static int solve8(double a[8][9], double x[8])
{
	int col, row, k, best;

	for (col = 0; col < 8; col++) {
		best = col;
		for (row = col + 1; row < 8; row++)
			if (fabs(a[row][col]) > fabs(a[best][col]))
				best = row;
		if (fabs(a[best][col]) < 1e-12)
			return -EDOM;
		for (k = 0; k < 9; k++) {
			double t = a[col][k];

			a[col][k] = a[best][k];
			a[best][k] = t;
		}
		for (row = col + 1; row < 8; row++) {
			double f = a[row][col] / a[col][col];

			for (k = col; k < 9; k++)
				a[row][k] -= f * a[col][k];
		}
	}
	for (row = 7; row >= 0; row--) {
		x[row] = a[row][8];
		for (k = row + 1; k < 8; k++)
			x[row] -= a[row][k] * x[k];
		x[row] /= a[row][row];
	}
	return 0;
}

int npu_homography(const struct npu_point *from, const struct npu_point *to, double *m)
{
	double a[8][9] = { { 0 } };
	int i, err;

	for (i = 0; i < 4; i++) {
		double x = from[i].x, y = from[i].y, u = to[i].x, v = to[i].y;
		double eu[9] = { x, y, 1, 0, 0, 0, -x * u, -y * u, u };
		double ev[9] = { 0, 0, 0, x, y, 1, -x * v, -y * v, v };

		memcpy(a[i], eu, sizeof(eu));
		memcpy(a[i + 4], ev, sizeof(ev));
	}
	err = solve8(a, m);
	m[8] = 1;
	return err;
}

static void cubic_weights(float x, float w[4])
{
	const float a = -0.75f;

	w[0] = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a;
	w[1] = ((a + 2) * x - (a + 3)) * x * x + 1;
	w[2] = ((a + 2) * (1 - x) - (a + 3)) * (1 - x) * (1 - x) + 1;
	w[3] = 1.f - w[0] - w[1] - w[2];
}

/*
 * Rounding leaves the sum a little off; OpenCV gives the rest to the largest or smallest of the
 * inner four.
 */
static void fix_sum(int16_t w[4][4])
{
	int i, j, sum = 0, lo = 5, hi = 5, diff;

	for (i = 0; i < 16; i++)
		sum += w[i / 4][i % 4];
	diff = sum - WARP_ONE;
	if (!diff)
		return;
	lo = hi = 2 * 4 + 2;
	for (i = 2; i < 4; i++)
		for (j = 2; j < 4; j++) {
			if (w[i][j] < w[lo / 4][lo % 4])
				lo = i * 4 + j;
			else if (w[i][j] > w[hi / 4][hi % 4])
				hi = i * 4 + j;
		}
	if (diff < 0)
		w[hi / 4][hi % 4] = (int16_t)(w[hi / 4][hi % 4] - diff);
	else
		w[lo / 4][lo % 4] = (int16_t)(w[lo / 4][lo % 4] - diff);
}

static void warp_table_fill(struct warp_table *t)
{
	float axis[WARP_STEPS][4];
	int y, x, i, j;

	for (x = 0; x < WARP_STEPS; x++)
		cubic_weights((float)x / WARP_STEPS, axis[x]);
	for (y = 0; y < WARP_STEPS; y++)
		for (x = 0; x < WARP_STEPS; x++) {
			for (i = 0; i < 4; i++)
				for (j = 0; j < 4; j++) {
					long v = lrintf(axis[y][i] * axis[x][j] * WARP_ONE);

					v = v > SHRT_MAX ? SHRT_MAX : v < SHRT_MIN ? SHRT_MIN : v;
					t->weight[y][x][i][j] = (int16_t)v;
				}
			fix_sum(t->weight[y][x]);
		}
}

static int clamp_to(int v, int hi)
{
	return v < 0 ? 0 : v > hi ? hi : v;
}

static void warp_pixel(const struct npu_image *src, const struct warp_table *t, int fx, int fy,
		       uint8_t *out)
{
	int x0 = (fx >> WARP_BITS) - 1, y0 = (fy >> WARP_BITS) - 1, sum[3] = { 0 }, i, j, c, v;
	const int16_t (*w)[4] = t->weight[fy & (WARP_STEPS - 1)][fx & (WARP_STEPS - 1)];
	int inside = x0 >= 0 && x0 + 3 < src->width;

	for (i = 0; i < 4; i++) {
		const uint8_t *row = src->rgb + (size_t)clamp_to(y0 + i, src->height - 1) *
							(size_t)src->width * 3;

		for (j = 0; j < 4; j++) {
			const uint8_t *p = row +
					   3 * (size_t)(inside ? x0 + j :
								 clamp_to(x0 + j, src->width - 1));

			for (c = 0; c < 3; c++)
				sum[c] += p[c] * w[i][j];
		}
	}
	for (c = 0; c < 3; c++) {
		v = (sum[c] + WARP_ONE / 2) >> 15;
		out[c] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
	}
}

/* A position in 1/32 pixels. Far outside, all that matters is which edge is repeated. */
static int warp_round(double v)
{
	const double far = (double)(NPU_IMAGE_SIDE_MAX + 16) * WARP_STEPS;

	if (!(v > -far))	/* also takes NaN */
		return (int)-far;
	return v < far ? (int)lrint(v) : (int)far;
}

int npu_image_warp(const struct npu_image *src, const double m[9], int width, int height,
		   struct npu_image *dst, struct npu_error *why)
{
	struct warp_table *t;
	int x, y, err;
	uint8_t *out;

	err = npu_image_alloc(dst, width, height, 0, why);
	if (err)
		return err;
	t = malloc(sizeof(*t));
	if (!t) {
		npu_image_free(dst);
		return npu_error_set(why, -ENOMEM, "no memory for the weights of a warp");
	}
	warp_table_fill(t);
	out = dst->rgb;
	for (y = 0; y < height; y++)
		for (x = 0; x < width; x++, out += 3) {
			double w = m[6] * x + m[7] * y + m[8];

			w = w != 0 ? WARP_STEPS / w : 0;
			warp_pixel(src, t, warp_round((m[0] * x + m[1] * y + m[2]) * w),
				   warp_round((m[3] * x + m[4] * y + m[5]) * w), out);
		}
	free(t);
	return 0;
}
