// SPDX-License-Identifier: MIT
/* POOL: a tile of output pixels and channels takes one window element after the other. */
#include "iter.h"
#include "raw.h"

struct pool {
	const struct npu_vec *vec;
	const struct npu_operand *out, *in;
	struct npu_elem oe, ie;
	char *op;
	const char *ip;
	bool avg, include_pad;
	bool codes;			/* the maximum of 8-bit codes is the code of the maximum */
	npu_s64 kernel[2], stride[2], dil[2], pad[2], pad_end[2];	/* h, w */
	npu_u32 cols, pixels;		/* channels and output columns in a tile */
	npu_u64 col_tiles, pixel_tiles;
	/* f32 values of the strip of max_tile, 0: pool_tile does it */
	size_t strip;
};

#define STRIP_MAX	8192u
#define TILE_MAX	2048u
#define WINDOW_PART	32768u		/* elements between looks at the stop flag */

/*
 * The part of [o, o + n) whose tap k lies inside of [0, size): its first and its end, relative to
 * o.
 */
static void taps_inside(const struct pool *w, int axis, npu_s64 k, npu_s64 o, npu_u32 n,
			npu_s64 size, npu_u32 *first, npu_u32 *end)
{
	npu_s64 at = o * w->stride[axis] - w->pad[axis] + k * w->dil[axis], s = w->stride[axis];
	npu_s64 a = at < 0 ? (-at + s - 1) / s : 0, b = size > at ? (size - at + s - 1) / s : 0;

	*first = (npu_u32)(a < n ? a : n);
	*end = (npu_u32)(b < n ? b : n);
	if (*end < *first)
		*end = *first;
}

/* The taps of output coordinate @o that lie inside of [0, size). */
static void taps_range(const struct pool *w, int axis, npu_s64 o, npu_s64 size, npu_s64 *first,
		       npu_s64 *end)
{
	npu_s64 at = o * w->stride[axis] - w->pad[axis], d = w->dil[axis];

	*first = at < 0 ? (-at + d - 1) / d : 0;
	*end = size > at ? (size - at + d - 1) / d : 0;
	*end = *end < w->kernel[axis] ? *end : w->kernel[axis];
}

/* Taps of output coordinate @o that count for the average. */
static npu_s64 taps_counted(const struct pool *w, int axis, npu_s64 o, npu_s64 size)
{
	npu_s64 lo = w->include_pad ? -w->pad[axis] : 0,
		hi = w->include_pad ? size + w->pad_end[axis] : size;
	npu_s64 at = o * w->stride[axis] - w->pad[axis], d = w->dil[axis];
	npu_s64 a = at < lo ? (lo - at + d - 1) / d : 0, b = hi > at ? (hi - at + d - 1) / d : 0;

	b = b < w->kernel[axis] ? b : w->kernel[axis];
	return b > a ? b - a : 0;
}

static void divide(const struct pool *w, float *acc, npu_s64 oh, npu_s64 ow, npu_u32 pixels,
		   npu_u32 cols)
{
	npu_s64 h = taps_counted(w, 0, oh, w->in->dim[1]);
	npu_u32 i, j;

	for (i = 0; i < pixels; i = j) {
		npu_s64 n = taps_counted(w, 1, ow + i, w->in->dim[2]) * h;

		for (j = i + 1; j < pixels && taps_counted(w, 1, ow + j, w->in->dim[2]) * h == n;
		     j++)
			;
		if (n)
			w->vec->div(acc + (size_t)i * cols, (size_t)(j - i) * cols, (float)n);
	}
}

static void store_tile(const struct pool *w, const float *acc, npu_u64 n, npu_s64 oh, npu_s64 ow,
		       npu_u64 c, npu_u32 pixels, npu_u32 cols)
{
	const npu_s64 *os = w->out->stride;

	w->vec->store(acc, &w->oe, &(struct npu_patch){
		.p = w->op + (npu_s64)n * os[0] + oh * os[1] + ow * os[2] + (npu_s64)c * os[3],
		.row = os[2], .col = os[3], .rows = pixels, .cols = cols,
	});
}

/*
 * Maximum of windows that overlap along W: first down the columns of the strip that the tile sees,
 * then along. Which order does not matter to a maximum. The strip is in scratch.
 */
static void max_tile(const struct npu_exec *x, const struct pool *w, npu_u64 n, npu_s64 oh,
		     npu_s64 ow, npu_u64 c, npu_u32 pixels, npu_u32 cols, float *strip)
{
	const npu_s64 *is = w->in->stride;
	npu_s64 first = ow * w->stride[1] - w->pad[1], last = (ow + pixels - 1) * w->stride[1] -
							      w->pad[1] +
							      (w->kernel[1] - 1) * w->dil[1] + 1;
	float *acc = strip + w->strip;
	npu_s64 kh, kw, ih;
	size_t i, len;

	first = first < 0 ? 0 : first;
	last = last > w->in->dim[2] ? w->in->dim[2] : last;
	len = last > first ? (size_t)(last - first) * cols : 0;
	for (i = 0; i < len; i++)
		strip[i] = -__builtin_inff();
	for (i = 0; i < (size_t)pixels * cols; i++)
		acc[i] = -__builtin_inff();
	for (kh = 0; len && kh < w->kernel[0] && !npu_exec_stopped(x); kh++) {
		ih = oh * w->stride[0] - w->pad[0] + kh * w->dil[0];
		if (ih < 0 || ih >= w->in->dim[1])
			continue;
		w->vec->load_fold(strip, &w->ie,
				  &(struct npu_patch){ .p = (char *)w->ip + (npu_s64)n * is[0] +
							    ih * is[1] + first * is[2] +
							    (npu_s64)c * is[3],
						       .row = is[2],
						       .col = is[3],
						       .rows = (npu_u32)(last - first),
						       .cols = cols },
				  NPU_FOLD_MAX);
	}
	for (kw = 0; len && kw < w->kernel[1]; kw++) {
		const float *from;
		npu_u32 a, b;

		taps_inside(w, 1, kw, ow, pixels, w->in->dim[2], &a, &b);
		if (a == b)
			continue;
		from = strip +
		       (size_t)((ow + a) * w->stride[1] - w->pad[1] + kw * w->dil[1] - first) *
			       cols;
		if (w->stride[1] == 1)
			w->vec->fold(acc + (size_t)a * cols, from, (size_t)(b - a) * cols,
				     NPU_FOLD_MAX);
		else
			for (; a < b; a++, from += (size_t)w->stride[1] * cols)
				w->vec->fold(acc + (size_t)a * cols, from, cols, NPU_FOLD_MAX);
	}
	store_tile(w, acc, n, oh, ow, c, pixels, cols);
}

/*
 * Fold windows to @acc by parts, between which the stop flag is looked at: a global window may be
 * long.
 */
static bool window_fold(const struct npu_exec *x, const struct pool *w, float *acc,
			const struct npu_window *all)
{
	npu_u64 per = (npu_u64)all->pixels * all->cols, part;
	struct npu_window p = *all;
	npu_u32 ny, nx, iy, ix;

	part = WINDOW_PART / per + 1;
	nx = part < all->taps[1] ? (npu_u32)part : all->taps[1];
	part = nx < all->taps[1] ? 1 : WINDOW_PART / (per * nx) + 1;
	ny = part < all->taps[0] ? (npu_u32)part : all->taps[0];
	for (iy = 0; iy < all->taps[0]; iy += p.taps[0]) {
		p.taps[0] = all->taps[0] - iy < ny ? all->taps[0] - iy : ny;
		for (ix = 0; ix < all->taps[1]; ix += p.taps[1]) {
			if (npu_exec_stopped(x))
				return false;
			p.taps[1] = all->taps[1] - ix < nx ? all->taps[1] - ix : nx;
			p.p = all->p + iy * all->step[0] + ix * all->step[1];
			p.begin = !iy && !ix;
			w->vec->fold_window(acc, &w->ie, &p, w->avg ? NPU_FOLD_SUM : NPU_FOLD_MAX);
		}
	}
	return true;
}

/*
 * Of @pixels output pixels from @o on, how many have the same taps along W as the first one: those
 * whose window is whole.
 */
static npu_u32 same_taps(const struct pool *w, npu_s64 o, npu_u32 pixels, npu_s64 first,
			 npu_s64 end)
{
	npu_s64 last;

	if (first || end < w->kernel[1])
		return 1;
	/* The last pixel with a whole window, which there is. */
	last = (w->in->dim[2] - 1 - (w->kernel[1] - 1) * w->dil[1] + w->pad[1]) / w->stride[1];
	return last - o < pixels ? (npu_u32)(last - o + 1) : pixels;
}

/* Output pixels [ow, ow + pixels) of row oh, channels [c, c + cols). */
static void pool_tile(const struct npu_exec *x, const struct pool *w, npu_u64 n, npu_s64 oh,
		      npu_s64 ow, npu_u64 c, npu_u32 pixels, npu_u32 cols)
{
	const npu_s64 *is = w->in->stride;
	npu_s64 y0, y1, x0, x1, ih, iw;
	float acc[NPU_BLOCK];
	npu_u32 i, j, same;

	taps_range(w, 0, oh, w->in->dim[1], &y0, &y1);
	ih = oh * w->stride[0] - w->pad[0] + y0 * w->dil[0];
	for (i = 0; i < pixels; i += same) {
		struct npu_window win = { .col = is[3], .cols = cols };

		taps_range(w, 1, ow + i, w->in->dim[2], &x0, &x1);
		same = same_taps(w, ow + i, pixels - i, x0, x1);
		if (x0 >= x1 || y0 >= y1) {
			for (j = i * cols; j < (i + same) * cols; j++)
				acc[j] = w->avg ? 0.0f : -__builtin_inff();
			continue;
		}
		iw = (ow + i) * w->stride[1] - w->pad[1] + x0 * w->dil[1];
		win.p = w->ip + (npu_s64)n * is[0] + ih * is[1] + iw * is[2] + (npu_s64)c * is[3];
		win.pixels = same;
		win.pixel = same > 1 ? is[2] * w->stride[1] : 0;
		win.taps[0] = (npu_u32)(y1 - y0);
		win.taps[1] = (npu_u32)(x1 - x0);
		win.step[0] = y1 - y0 > 1 ? is[1] * w->dil[0] : 0;
		win.step[1] = x1 - x0 > 1 ? is[2] * w->dil[1] : 0;
		if (!window_fold(x, w, acc + (size_t)i * cols, &win))
			return;
	}
	if (w->avg)
		divide(w, acc, oh, ow, pixels, cols);
	store_tile(w, acc, n, oh, ow, c, pixels, cols);
}

/* As pool_tile(): the codes themselves, no matter how windows overlap. */
static void codes_tile(const struct npu_exec *x, const struct pool *w, npu_u64 n, npu_s64 oh,
		       npu_s64 ow, npu_u64 c, npu_u32 pixels, npu_u32 cols)
{
	const npu_s64 *is = w->in->stride, *os = w->out->stride;
	npu_s64 y0, y1, x0, x1, kh, kw, iw;
	npu_u8 acc[TILE_MAX];
	npu_u32 a, b, i;

	memset(acc, w->ie.dtype == NPU_I8 ? 0x80 : 0, (size_t)pixels * cols);
	taps_range(w, 0, oh, w->in->dim[1], &y0, &y1);
	for (kh = y0; kh < y1; kh++) {
		const char *row = w->ip + (npu_s64)n * is[0] + (npu_s64)c * is[3] +
				  (oh * w->stride[0] - w->pad[0] + kh * w->dil[0]) * is[1];

		/* of one pixel, those inside are known; a global window may be long */
		x0 = 0;
		x1 = w->kernel[1];
		if (pixels == 1)
			taps_range(w, 1, ow, w->in->dim[2], &x0, &x1);
		for (kw = x0; kw < x1; kw++) {
			if (!(kw & 0xff) && npu_exec_stopped(x))
				return;
			taps_inside(w, 1, kw, ow, pixels, w->in->dim[2], &a, &b);
			if (a == b)
				continue;
			iw = (ow + a) * w->stride[1] - w->pad[1] + kw * w->dil[1];
			w->vec->max_codes(acc + (size_t)a * cols, w->ie.dtype,
					  &(struct npu_patch){ .p = (char *)row + iw * is[2],
							       .row = is[2] * w->stride[1],
							       .col = is[3],
							       .rows = b - a,
							       .cols = cols });
		}
	}
	for (i = 0; i < pixels; i++)
		npu_raw_line(w->op + (npu_s64)n * os[0] + oh * os[1] + (ow + i) * os[2] +
				     (npu_s64)c * os[3],
			     os[3], (const char *)acc + (size_t)i * cols, 1, cols, 1);
}

static void pool_chunk(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
		       npu_u64 end)
{
	const struct pool *w = arg;

	for (; begin < end; begin++) {
		npu_u64 ct = begin % w->col_tiles, rest = begin / w->col_tiles, c = ct * w->cols;
		npu_u64 ow = rest % w->pixel_tiles * w->pixels, row = rest / w->pixel_tiles;
		npu_u64 left_c = w->out->dim[3] - c, left_w = w->out->dim[2] - ow,
			n = row / w->out->dim[1];
		npu_u32 pixels = left_w < w->pixels ? (npu_u32)left_w : w->pixels;
		npu_u32 cols = left_c < w->cols ? (npu_u32)left_c : w->cols;
		npu_s64 oh = (npu_s64)(row % w->out->dim[1]);
		float *strip = w->strip ? npu_exec_scratch(x, worker) : NULL;

		if (w->codes)
			codes_tile(x, w, n, oh, (npu_s64)ow, c, pixels, cols);
		else if (strip)
			max_tile(x, w, n, oh, (npu_s64)ow, c, pixels, cols, strip);
		else
			pool_tile(x, w, n, oh, (npu_s64)ow, c, pixels, cols);
	}
}

/* Whether windows overlap enough for max_tile; then the tile is larger and the strip's size set. */
static bool choose_strip(struct pool *w)
{
	npu_u64 pixels = TILE_MAX / w->cols < w->out->dim[2] ? TILE_MAX / w->cols : w->out->dim[2],
		len;

	if (w->avg || w->kernel[0] < 2 || w->kernel[1] < 3 || w->stride[1] > 2 ||
	    (w->stride[1] == 2 && w->cols < 32))
		return false;
	len = ((pixels - 1) * (npu_u64)w->stride[1] +
	       (npu_u64)(w->kernel[1] - 1) * (npu_u64)w->dil[1] + 1) *
	      w->cols;
	if (len > STRIP_MAX)
		return false;
	w->pixels = (npu_u32)pixels;
	w->strip = len;
	return true;
}

/*
 * Codes are in the order of what they stand for, and q() gives a code back when the product and the
 * quotient can not leave the range of f32.
 */
static bool choose_codes(struct pool *w)
{
	w->codes = !w->avg && w->ie.size == 1 && npu_elem_same_code(&w->oe, &w->ie) &&
		   (w->ie.scale == 0.0f || (w->ie.scale > 0x1p-100f && w->ie.scale < 0x1p100f));
	if (w->codes)
		w->pixels = TILE_MAX / w->cols < w->out->dim[2] ? TILE_MAX / w->cols :
								  w->out->dim[2];
	return w->codes;
}

int npu_op_pool(struct npu_exec *x)
{
	const npu_u32 *p = x->param;
	struct pool w = {
		.vec = npu_vec_get(x->simd),
		.out = &x->operand[NPU_POOL_OUT],
		.in = &x->operand[NPU_POOL_IN],
		.oe = npu_elem_of(&x->operand[NPU_POOL_OUT]),
		.ie = npu_elem_of(&x->operand[NPU_POOL_IN]),
		.op = x->ptr[NPU_POOL_OUT],
		.ip = x->ptr[NPU_POOL_IN],
		.avg = p[NPU_POOL_P_KIND] == NPU_POOL_AVG,
		.include_pad = p[NPU_POOL_P_INCLUDE_PAD],
		.kernel = { p[NPU_POOL_P_KERNEL_H], p[NPU_POOL_P_KERNEL_W] },
		.stride = { p[NPU_POOL_P_STRIDE_H], p[NPU_POOL_P_STRIDE_W] },
		.dil = { p[NPU_POOL_P_DIL_H], p[NPU_POOL_P_DIL_W] },
		.pad = { p[NPU_POOL_P_PAD_TOP], p[NPU_POOL_P_PAD_LEFT] },
		.pad_end = { p[NPU_POOL_P_PAD_BOTTOM], p[NPU_POOL_P_PAD_RIGHT] },
	};
	double taps = (double)w.kernel[0] * (double)w.kernel[1];

	w.cols = w.out->dim[3] < NPU_BLOCK ? w.out->dim[3] : NPU_BLOCK;
	w.pixels = NPU_BLOCK / w.cols < w.out->dim[2] ? NPU_BLOCK / w.cols : w.out->dim[2];
	if (choose_codes(&w)) {
		taps *= 0.1;
	} else if (choose_strip(&w)) {
		taps = (double)(w.kernel[0] + w.kernel[1]);
		if (npu_exec_reserve(x, (w.strip + TILE_MAX) * sizeof(float)))
			return -ENOMEM;
	}
	w.col_tiles = (w.out->dim[3] + w.cols - 1) / w.cols;
	w.pixel_tiles = (w.out->dim[2] + w.pixels - 1) / w.pixels;
	npu_exec_path(x, w.codes		       ? NPU_PATH_POOL_CODES :
			 w.in->stride[3] == w.ie.size ? NPU_PATH_POOL_FAST :
							NPU_PATH_POOL_GENERIC);
	return npu_exec_parallel(x,
				 (npu_u64)w.out->dim[0] * w.out->dim[1] * w.pixel_tiles *
					 w.col_tiles,
				 60 + taps * w.cols * w.pixels * 0.2, pool_chunk, &w);
}
