// SPDX-License-Identifier: MIT
/*
 * RESIZE. For nearest, elements are moved. For linear and cubic, the source row of a tile is
 * interpolated along W into a row of f32 that is kept for the next output rows, then rows are
 * combined along H.
 */
#include <math.h>
#include "iter.h"
#include "raw.h"

#define TILE	4096u	/* f32 values of an output row in one tile */
#define MAX_C	512u
#define MAX_W	1024u	/* output columns of one tile */

struct resize {
	const struct npu_vec *vec;
	const struct npu_operand *out, *in;
	struct npu_elem oe, ie;
	char *op;
	const char *ip;
	unsigned int mode, coord, nearest, taps;
	float scale[2], cubic_a;
	bool exclude, raw;
	npu_u32 cols, pixels;		/* of a tile */
	npu_u64 col_tiles, pixel_tiles, row_tiles;
	npu_u32 rows;			/* output rows that one item does in turn */
	size_t row_floats;		/* of one interpolated row in scratch */
};

/* Where an output coordinate looks, and how much of each. */
struct taps {
	npu_u32 at[4];
	float weight[4];		/* linear: weight[0] is the fraction */
};

/*
 * What is the same for all rows of a tile: columns, and where their source pixels lie in the loaded
 * strip.
 */
struct tile {
	npu_u64 n, ow, c;
	npu_u32 pixels, cols;
	npu_u32 first;			/* source pixel at the start of the strip */
	npu_u32 strip;			/* source pixels in the strip */
	/* strip holds the taps of each output pixel instead of a range */
	bool packed;
	struct taps taps[MAX_W];
};

static float source_coord(const struct resize *w, int axis, npu_u32 o)
{
	npu_u32 in = w->in->dim[1 + axis], out = w->out->dim[1 + axis];
	float s = w->scale[axis];

	switch (w->coord) {
	case NPU_COORD_ASYMMETRIC:
		return (float)o / s;
	case NPU_COORD_ALIGN_CORNERS:
		return out == 1 ? 0.0f : (float)o * ((float)(in - 1) / (float)(out - 1));
	case NPU_COORD_PYTORCH_HALF_PIXEL:
		if (out == 1)
			return 0.0f;
		/* fall through */
	default:
		return ((float)o + 0.5f) / s - 0.5f;
	}
}

static npu_u32 clamp_index(float v, npu_u32 size)
{
	return !(v > 0.0f) ? 0 : v >= (float)(size - 1) ? size - 1 : (npu_u32)v;
}

static npu_u32 nearest_index(const struct resize *w, int axis, npu_u32 o)
{
	float v = source_coord(w, axis, o);

	switch (w->nearest) {
	case NPU_NEAREST_ROUND_PREFER_FLOOR:
		v = ceilf(v - 0.5f);
		break;
	case NPU_NEAREST_ROUND_PREFER_CEIL:
		v = floorf(v + 0.5f);
		break;
	case NPU_NEAREST_FLOOR:
		v = floorf(v);
		break;
	default:
		v = ceilf(v);
	}
	return clamp_index(v, w->in->dim[1 + axis]);
}

/* Keys' kernel with coefficient a, as written in numerics.md. */
static void cubic_weights(float a, float f, float weight[4])
{
	float d[4] = { 1.0f + f, f, 1.0f - f, 2.0f - f };
	int i;

	for (i = 0; i < 4; i++) {
		float x = d[i];

		if (i == 1 || i == 2)
			weight[i] = ((a + 2.0f) * x - (a + 3.0f)) * x * x + 1.0f;
		else
			weight[i] = ((a * x - 5.0f * a) * x + 8.0f * a) * x - 4.0f * a;
	}
}

static struct taps find_taps(const struct resize *w, int axis, npu_u32 o)
{
	float v = source_coord(w, axis, o), base = floorf(v), f = v - base, sum = 0;
	npu_u32 size = w->in->dim[1 + axis];
	struct taps t = { .weight = { f } };
	int i;

	if (w->mode == NPU_RESIZE_LINEAR) {
		t.at[0] = clamp_index(base, size);
		t.at[1] = clamp_index(base + 1.0f, size);
		return t;
	}
	cubic_weights(w->cubic_a, f, t.weight);
	for (i = 0; i < 4; i++) {
		float at = base + (float)(i - 1);

		t.at[i] = clamp_index(at, size);
		if (w->exclude && (at < 0.0f || at > (float)(size - 1)))
			t.weight[i] = 0.0f;
		sum += t.weight[i];
	}
	for (i = 0; w->exclude && i < 4; i++)
		t.weight[i] /= sum;
	return t;
}

static const char *source_pixel(const struct resize *w, const struct tile *t, npu_u32 ih,
				npu_u32 iw)
{
	const npu_s64 *s = w->in->stride;

	return w->ip + (npu_s64)t->n * s[0] + (npu_s64)ih * s[1] + (npu_s64)iw * s[2] +
	       (npu_s64)t->c * s[3];
}

static char *dest_pixel(const struct resize *w, const struct tile *t, npu_u64 oh)
{
	const npu_s64 *s = w->out->stride;

	return w->op + (npu_s64)t->n * s[0] + (npu_s64)oh * s[1] + (npu_s64)t->ow * s[2] +
	       (npu_s64)t->c * s[3];
}

static void tile_prepare(const struct resize *w, struct tile *t)
{
	npu_u32 lo = ~0u, hi = 0, i, k;

	for (i = 0; i < t->pixels; i++) {
		t->taps[i] = find_taps(w, 1, (npu_u32)t->ow + i);
		for (k = 0; k < w->taps; k++) {
			lo = t->taps[i].at[k] < lo ? t->taps[i].at[k] : lo;
			hi = t->taps[i].at[k] > hi ? t->taps[i].at[k] : hi;
		}
	}
	t->first = lo;
	t->packed = hi - lo >= w->taps * t->pixels;
	t->strip = t->packed ? w->taps * t->pixels : hi - lo + 1;
	for (i = 0; i < t->pixels; i++)
		for (k = 0; !t->packed && k < w->taps; k++)
			t->taps[i].at[k] -= lo;
}

static void load_strip(const struct resize *w, const struct tile *t, npu_u32 ih, float *strip)
{
	npu_u32 i, k;

	if (!t->packed) {
		w->vec->load(strip, &w->ie,
			     &(struct npu_patch){ .p = (char *)source_pixel(w, t, ih, t->first),
						  .row = w->in->stride[2],
						  .col = w->in->stride[3],
						  .rows = t->strip,
						  .cols = t->cols });
		return;
	}
	for (i = 0; i < t->pixels; i++)
		for (k = 0; k < w->taps; k++)
			w->vec->load(strip + ((size_t)i * w->taps + k) * t->cols, &w->ie,
				     &(struct npu_patch){
					     .p = (char *)source_pixel(w, t, ih, t->taps[i].at[k]),
					     .col = w->in->stride[3],
					     .rows = 1,
					     .cols = t->cols });
}

/* Source row @ih interpolated along W to t->pixels x t->cols values. */
static void make_row(const struct resize *w, const struct tile *t, npu_u32 ih, float *strip,
		     float *row)
{
	npu_u32 i, k;

	load_strip(w, t, ih, strip);
	for (i = 0; i < t->pixels; i++) {
		float *dst = row + (size_t)i * t->cols;
		const float *src[4];

		for (k = 0; k < w->taps; k++)
			src[k] = strip +
				 (t->packed ? i * w->taps + k : t->taps[i].at[k]) * (size_t)t->cols;
		if (w->mode == NPU_RESIZE_LINEAR) {
			w->vec->lerp(dst, src[0], src[1], t->cols, t->taps[i].weight[0]);
			continue;
		}
		memset(dst, 0, t->cols * sizeof(*dst));
		for (k = 0; k < 4; k++)
			w->vec->axpy(dst, src[k], t->cols, t->taps[i].weight[k]);
	}
}

/* The rows kept in scratch: taps of them, found by their source row. */
struct row_cache {
	float *row[4];
	npu_u32 ih[4];
	npu_u32 used[4];		/* output row that last wanted it */
};

static const float *cached_row(const struct resize *w, const struct tile *t, struct row_cache *c,
			       npu_u32 ih, npu_u32 stamp, float *strip)
{
	unsigned int i, old = 0;

	for (i = 0; i < w->taps; i++) {
		if (c->ih[i] == ih && c->used[i]) {
			c->used[i] = stamp;
			return c->row[i];
		}
		if (c->used[i] < c->used[old])
			old = i;
	}
	make_row(w, t, ih, strip, c->row[old]);
	c->ih[old] = ih;
	c->used[old] = stamp;
	return c->row[old];
}

static void tile_row(const struct resize *w, const struct tile *t, npu_u32 oh, struct row_cache *c,
		     npu_u32 stamp, float *strip, float *acc)
{
	struct taps h = find_taps(w, 0, oh);
	size_t n = (size_t)t->pixels * t->cols;
	const float *row[4];
	npu_u32 k;

	/*
	 * rows that are still wanted are marked first, so that none of them makes room for another
	 */
	for (k = 0; k < w->taps; k++) {
		unsigned int i;

		for (i = 0; i < w->taps; i++)
			if (c->used[i] && c->ih[i] == h.at[k])
				c->used[i] = stamp;
	}
	for (k = 0; k < w->taps; k++)
		row[k] = cached_row(w, t, c, h.at[k], stamp, strip);
	if (w->mode == NPU_RESIZE_LINEAR) {
		w->vec->lerp(acc, row[0], row[1], n, h.weight[0]);
	} else {
		memset(acc, 0, n * sizeof(*acc));
		for (k = 0; k < 4; k++)
			w->vec->axpy(acc, row[k], n, h.weight[k]);
	}
	w->vec->store(acc, &w->oe,
		      &(struct npu_patch){ .p = dest_pixel(w, t, oh),
					   .row = w->out->stride[2],
					   .col = w->out->stride[3],
					   .rows = t->pixels,
					   .cols = t->cols });
}

/* Item @index: a tile of columns and channels, and some rows of it. */
static void item_decode(const struct resize *w, npu_u64 index, struct tile *t, npu_u64 *oh)
{
	npu_u64 left;

	t->c = index % w->col_tiles * w->cols;
	index /= w->col_tiles;
	t->ow = index % w->pixel_tiles * w->pixels;
	index /= w->pixel_tiles;
	*oh = index % w->row_tiles * w->rows;
	t->n = index / w->row_tiles;
	left = w->out->dim[3] - t->c;
	t->cols = left < w->cols ? (npu_u32)left : w->cols;
	left = w->out->dim[2] - t->ow;
	t->pixels = left < w->pixels ? (npu_u32)left : w->pixels;
}

static void run_taps(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct resize *w = arg;
	float *mem = npu_exec_scratch(x, worker);
	struct tile t;

	for (; begin < end; begin++) {
		struct row_cache c = { .used = { 0 } };
		npu_u64 oh, last;
		unsigned int k;

		for (k = 0; k < w->taps; k++)
			c.row[k] = mem + k * w->row_floats;
		item_decode(w, begin, &t, &oh);
		tile_prepare(w, &t);
		last = oh + w->rows < w->out->dim[1] ? oh + w->rows : w->out->dim[1];
		for (k = 1; oh < last; oh++, k++)
			tile_row(w, &t, (npu_u32)oh, &c, k, mem + 5 * w->row_floats,
				 mem + 4 * w->row_floats);
	}
}

static void run_nearest(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
			npu_u64 end)
{
	const struct resize *w = arg;
	npu_u32 at[MAX_W], i;
	float v[MAX_C];
	struct tile t;

	for (; begin < end; begin++) {
		npu_u64 oh, last;

		item_decode(w, begin, &t, &oh);
		for (i = 0; i < t.pixels; i++)
			at[i] = nearest_index(w, 1, (npu_u32)t.ow + i);
		last = oh + w->rows < w->out->dim[1] ? oh + w->rows : w->out->dim[1];
		for (; oh < last; oh++) {
			npu_u32 ih = nearest_index(w, 0, (npu_u32)oh);
			char *dst = dest_pixel(w, &t, oh);

			for (i = 0; i < t.pixels; i++, dst += w->out->stride[2]) {
				const char *src = source_pixel(w, &t, ih, at[i]);
				struct npu_patch p = { .rows = 1, .cols = t.cols };

				if (w->raw) {
					npu_raw_line(dst, w->out->stride[3], src, w->in->stride[3],
						     t.cols, w->oe.size);
					continue;
				}
				p.p = (char *)src;
				p.col = w->in->stride[3];
				w->vec->load(v, &w->ie, &p);
				p.p = dst;
				p.col = w->out->stride[3];
				w->vec->store(v, &w->oe, &p);
			}
		}
	}
}

static npu_u32 min_u32(npu_u32 a, npu_u32 b)
{
	return a < b ? a : b;
}

int npu_op_resize(struct npu_exec *x)
{
	const struct npu_operand *out = &x->operand[NPU_RESIZE_OUT],
				 *in = &x->operand[NPU_RESIZE_IN];
	struct resize w = {
		.vec = npu_vec_get(x->simd),
		.out = out,
		.in = in,
		.oe = npu_elem_of(out),
		.ie = npu_elem_of(in),
		.op = x->ptr[NPU_RESIZE_OUT],
		.ip = x->ptr[NPU_RESIZE_IN],
		.mode = x->param[NPU_RESIZE_P_MODE],
		.coord = x->param[NPU_RESIZE_P_COORD],
		.nearest = x->param[NPU_RESIZE_P_NEAREST],
		.scale = { npu_exec_param_f32(x, NPU_RESIZE_P_SCALE_H),
			   npu_exec_param_f32(x, NPU_RESIZE_P_SCALE_W) },
		.cubic_a = npu_exec_param_f32(x, NPU_RESIZE_P_CUBIC_A),
		.exclude = x->param[NPU_RESIZE_P_EXCLUDE_OUTSIDE],
	};
	npu_u64 items;
	double ns;

	w.taps = w.mode == NPU_RESIZE_CUBIC ? 4 : 2;
	w.raw = npu_elem_same_code(&w.oe, &w.ie);
	w.cols = min_u32(out->dim[3], MAX_C);
	w.pixels = min_u32(min_u32(out->dim[2], TILE / w.cols), MAX_W);
	w.rows = min_u32(out->dim[1], 16);
	w.col_tiles = (out->dim[3] + w.cols - 1) / w.cols;
	w.pixel_tiles = (out->dim[2] + w.pixels - 1) / w.pixels;
	w.row_tiles = (out->dim[1] + w.rows - 1) / w.rows;
	w.row_floats = ((size_t)w.pixels * w.cols + 15) & ~(size_t)15;
	items = out->dim[0] * w.row_tiles * w.pixel_tiles * w.col_tiles;
	ns = (double)w.rows * w.pixels * (5 + w.cols * 0.3);
	npu_exec_path(x, in->stride[3] == w.ie.size && out->stride[3] == w.oe.size ?
				 NPU_PATH_RESIZE_FAST :
				 NPU_PATH_RESIZE_GENERIC);
	if (w.mode == NPU_RESIZE_NEAREST)
		return npu_exec_parallel(x, items, ns, run_nearest, &w);
	/* taps rows, one result, and a strip of at most taps pixels for each */
	if (npu_exec_reserve(x, (5 + w.taps) * w.row_floats * sizeof(float)))
		return -ENOMEM;
	return npu_exec_parallel(x, items, ns, run_taps, &w);
}
