// SPDX-License-Identifier: MIT
/* GridSample: pixels at positions that are data, -1..1 over the picture. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/dense.h"

enum grid_mode { GRID_LINEAR, GRID_NEAREST, GRID_CUBIC };
enum grid_padding { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION };

struct grid {
	enum grid_mode mode;
	enum grid_padding padding;
	bool align;		/* -1 and 1 are the centres of corner pixels, else their edges */
	int64_t h, w;
};

/* Mirrored at the two ends, as often as it takes. */
static double reflect(double x, double low, double high)
{
	double span = high - low, over, turns;

	if (!(span > 0))
		return 0;
	over = fabs(x - low);
	turns = floor(over / span);
	over -= turns * span;
	return fmod(turns, 2) != 0 ? high - over : low + over;
}

/* Bring a coordinate inside, for the modes that do; one that is no number stays outside. */
static double inside(const struct grid *g, double x, int64_t size)
{
	if (g->padding == PAD_REFLECTION)
		x = g->align ? reflect(x, 0, (double)(size - 1))
			     : reflect(x, -0.5, (double)size - 0.5);
	if (g->padding != PAD_ZEROS)
		x = fmin(fmax(x, 0), (double)(size - 1));
	return x;
}

static double pixel(const struct grid *g, const double *plane, double y, double x)
{
	y = inside(g, y, g->h);
	x = inside(g, x, g->w);
	if (!(y >= 0 && y < (double)g->h && x >= 0 && x < (double)g->w))
		return 0;
	return plane[(int64_t)y * g->w + (int64_t)x];
}

static double weight(enum grid_mode mode, double t)
{
	const double a = -0.75;

	t = fabs(t);
	if (mode == GRID_LINEAR)
		return t < 1 ? 1 - t : 0;
	if (t <= 1)
		return ((a + 2) * t - (a + 3)) * t * t + 1;
	return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

static double sample(const struct grid *g, const double *plane, double y, double x)
{
	int reach = g->mode == GRID_CUBIC ? 2 : 1, i, k;
	double y0, x0, sum = 0;

	if (g->mode != GRID_CUBIC) {
		y = inside(g, y, g->h);
		x = inside(g, x, g->w);
	}
	if (g->mode == GRID_NEAREST)
		return pixel(g, plane, nearbyint(y), nearbyint(x));
	y0 = floor(y);
	x0 = floor(x);
	for (i = 1 - reach; i <= reach; i++)
		for (k = 1 - reach; k <= reach; k++)
			sum += weight(g->mode, y0 + i - y) * weight(g->mode, x0 + k - x) *
			       pixel(g, plane, y0 + i, x0 + k);
	return sum;
}

static double denormalize(const struct grid *g, double v, int64_t size)
{
	return g->align ? (v + 1) / 2 * (double)(size - 1) : ((v + 1) * (double)size - 1) / 2;
}

static int grid_modes(const struct npu_host_call *call, struct grid *g, struct npu_error *err)
{
	const char *mode = npu_host_string(call, "mode", "linear");
	const char *padding = npu_host_string(call, "padding_mode", "zeros");

	if (!strcmp(mode, "linear") || !strcmp(mode, "bilinear"))
		g->mode = GRID_LINEAR;
	else if (!strcmp(mode, "nearest"))
		g->mode = GRID_NEAREST;
	else if (!strcmp(mode, "cubic") || !strcmp(mode, "bicubic"))
		g->mode = GRID_CUBIC;
	else
		return npu_host_fail(call, err, -ENOTSUP, "mode '%.20s'", mode);
	if (!strcmp(padding, "zeros"))
		g->padding = PAD_ZEROS;
	else if (!strcmp(padding, "border"))
		g->padding = PAD_BORDER;
	else if (!strcmp(padding, "reflection"))
		g->padding = PAD_REFLECTION;
	else
		return npu_host_fail(call, err, -ENOTSUP, "padding_mode '%.20s'", padding);
	g->align = npu_host_int(call, "align_corners", 0) != 0;
	return 0;
}

int npu_host_grid_sample(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0], *at = &call->in[1];
	int64_t n, c, i, points;
	struct grid g = { .h = 0 };
	double *map;
	int ret = grid_modes(call, &g, err);

	if (ret)
		return ret;
	if (x->rank != 4 || at->rank != 4 || at->dim[3] != 2 || at->dim[0] != x->dim[0])
		return npu_host_fail(call, err, -EINVAL,
				     "expected X [N, C, H, W] and a grid [N, H, W, 2]");
	ret = npu_host_want(call, &call->out[0], 0, 4,
			    (const int64_t[]){ x->dim[0], x->dim[1], at->dim[1], at->dim[2] }, err);
	if (ret)
		return ret;
	g.h = x->dim[2];
	g.w = x->dim[3];
	points = at->dim[1] * at->dim[2];
	map = npu_host_doubles(call, x, err);
	if (!map)
		return -ENOMEM;
	for (n = 0; n < x->dim[0]; n++)
		for (c = 0; c < x->dim[1]; c++)
			for (i = 0; i < points && !ret; i++) {
				ret = NPU_HOST_NOW_AND_THEN(i, call, err);
				double gx = npu_host_get(at, 2 * (n * points + i));
				double gy = npu_host_get(at, 2 * (n * points + i) + 1);

				npu_host_set(&call->out[0], (n * x->dim[1] + c) * points + i,
					     sample(&g, map + (n * x->dim[1] + c) * g.h * g.w,
						    denormalize(&g, gy, g.h),
						    denormalize(&g, gx, g.w)));
			}
	free(map);
	return ret;
}
