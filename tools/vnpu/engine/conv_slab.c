// SPDX-License-Identifier: MIT
/*
 * Float convolution, dense or grouped, and transposed convolution, as a matrix product without im2col: the input rows that an
 * output row needs are widened to f32 once, with their padding, into a ring of rows (the slab) in the worker's
 * scratch, and the matrix kernels walk over it tap by tap. The next output row finds most rows in the ring.
 */
#include "conv.h"
#include "gemm_tiles.h"

#define SLAB_TARGET	(256u << 10)	/* bytes: half of a small L2 cache */
#define SLAB_MAX	(64u << 20)
#define SEGS_MAX	(1u << 20)

struct slab {
	struct npu_conv *c;
	const struct npu_gemm *gemm;
	int b_type;
	npu_s64 ring;			/* rows */
	npu_s64 tile_w, num_tiles;	/* output columns of a tile */
	npu_s64 cols;			/* input columns of a tile, padding included */
	npu_s64 row_floats;
	bool planar;			/* [channel][column] instead of [column][channel] */
	npu_s64 segs;			/* at most */
	ptrdiff_t b_panel;
};

/* A worker's part, laid out in its scratch. */
struct slab_worker {
	float *rows;			/* ring + 1 rows; the last one is all zero */
	float *tile;
	struct npu_gemm_seg *seg;
	npu_s64 *loaded;		/* input row in each slot, or -1 */
	npu_s64 n, t;			/* batch and tile that the ring holds, or -1 */
	npu_s64 col0;			/* input column of the slab's first */
};

static npu_s64 floor_div(npu_s64 a, npu_s64 b)
{
	return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static npu_s64 ceil_div(npu_s64 a, npu_s64 b)
{
	return -floor_div(-a, b);
}

static size_t worker_bytes(const struct slab *s)
{
	return ((size_t)(s->ring + 1) * (size_t)s->row_floats + GEMM_TILE_FLOATS) * sizeof(float) +
	       (size_t)s->segs * sizeof(struct npu_gemm_seg) + (size_t)s->ring * sizeof(npu_s64) + 256;
}

static void worker_init(const struct slab *s, struct slab_worker *w, void *mem)
{
	w->tile = mem;
	w->rows = w->tile + GEMM_TILE_FLOATS;
	w->seg = (struct npu_gemm_seg *)(w->rows + (s->ring + 1) * s->row_floats);
	w->loaded = (npu_s64 *)(w->seg + s->segs);
	w->n = w->t = -1;
	memset(w->rows + s->ring * s->row_floats, 0, (size_t)s->row_floats * sizeof(float));
}

/* Input columns that the output columns of a tile need. */
static void tile_cols(const struct slab *s, npu_s64 t, npu_s64 *first, npu_s64 *count)
{
	const struct npu_conv *c = s->c;
	npu_s64 x0 = t * s->tile_w, x1 = x0 + s->tile_w < c->ow ? x0 + s->tile_w : c->ow, last;

	if (!c->transposed) {
		*first = x0 * c->stride_w - c->pad_left;
		*count = (x1 - 1 - x0) * c->stride_w + (c->kw - 1) * c->dil_w + 1;
		return;
	}
	*first = ceil_div(x0 + c->pad_left - (c->kw - 1) * c->dil_w, c->stride_w);
	last = floor_div(x1 - 1 + c->pad_left, c->stride_w);
	*first = *first < 0 ? 0 : *first;
	last = last >= c->w ? c->w - 1 : last;
	*count = last >= *first ? last - *first + 1 : 0;
}

static void row_load(const struct slab *s, struct slab_worker *w, npu_s64 n, npu_s64 ih, float *dst)
{
	const struct npu_conv *c = s->c;
	const npu_s64 *st = c->in->stride;
	npu_s64 first, count, x0, x1, size = npu_dtype_bits(c->in->dtype) / 8, i;
	const char *src;

	tile_cols(s, w->t, &first, &count);
	x0 = first < 0 ? -first < count ? -first : count : 0;
	x1 = first + count > c->w ? c->w - first : count;
	x1 = x1 < x0 ? x0 : x1;
	src = c->in_ptr + n * st[0] + ih * st[1] + (first + x0) * st[2];
	if (s->planar) {
		for (i = 0; i < c->c; i++, dst += s->cols, src += st[3]) {
			memset(dst, 0, (size_t)x0 * sizeof(float));
			npu_gemm_load(s->gemm, c->in->dtype, dst + x0, src, st[2], (size_t)(x1 - x0));
			memset(dst + x1, 0, (size_t)(count - x1) * sizeof(float));
		}
		return;
	}
	memset(dst, 0, (size_t)(x0 * c->c) * sizeof(float));
	memset(dst + x1 * c->c, 0, (size_t)((count - x1) * c->c) * sizeof(float));
	if (st[2] == c->c * size && st[3] == size) {
		npu_gemm_load(s->gemm, c->in->dtype, dst + x0 * c->c, src, size, (size_t)((x1 - x0) * c->c));
		return;
	}
	for (i = x0; i < x1; i++, src += st[2])
		npu_gemm_load(s->gemm, c->in->dtype, dst + i * c->c, src, st[3], (size_t)c->c);
}

/* Floats from the slab's start to input row @ih: loaded when it is not there yet, the row of zeros when it is padding. */
static npu_s64 row_offset(const struct slab *s, struct slab_worker *w, npu_s64 n, npu_s64 ih)
{
	npu_s64 slot;

	if (ih < 0 || ih >= s->c->h)
		return s->ring * s->row_floats;
	slot = ih % s->ring;
	if (w->loaded[slot] != ih) {
		row_load(s, w, n, ih, w->rows + slot * s->row_floats);
		w->loaded[slot] = ih;
	}
	return slot * s->row_floats;
}

/* Segments of one tap: @col is its slab column for the first pixel. Returns how many. */
static size_t tap_segs(const struct slab *s, npu_s64 row, npu_s64 col, npu_s64 kh, npu_s64 kw, npu_s64 taps,
		       struct npu_gemm_seg *seg)
{
	const struct npu_conv *c = s->c;
	npu_s64 k = (kh * c->kw + kw) * c->cg, ch;

	if (!s->planar) {
		*seg = (struct npu_gemm_seg){ row + col * c->c, k, (size_t)(taps * c->cg) };
		return 1;
	}
	for (ch = 0; ch < c->cg; ch++)
		seg[ch] = (struct npu_gemm_seg){ row + ch * s->cols + col, k + ch, 1 };
	return (size_t)c->cg;
}

/* Output columns x0, x0 + step, ... of a row, which have the same taps. */
struct run {
	npu_s64 x0, step, count;
};

static void run_compute(const struct slab *s, struct slab_worker *w, size_t num_segs, const struct run *r, npu_s64 n,
			npu_s64 oh)
{
	const struct npu_conv *c = s->c;
	npu_s64 panels = (c->og + NPU_PANEL - 1) / NPU_PANEL, g;
	npu_s64 step_in = c->transposed ? 1 : c->stride_w;
	struct npu_gemm_strip strip = {
		.gemm = s->gemm, .b_type = s->b_type, .lda = step_in * (s->planar ? 1 : c->c), .seg = w->seg,
		.num_segs = num_segs, .b_panel = s->b_panel, .epi = &c->epi, .epi_fn = c->epi_fn,
	};

	npu_conv_place(c, n, oh, r->x0, &strip.place);
	strip.place.out_step *= r->step;
	strip.place.res_step *= r->step;
	for (g = 0; g < c->groups; g++) {
		strip.a = w->rows + g * c->cg * (s->planar ? s->cols : 1);
		strip.b = c->w_ptr + g * panels * s->b_panel;
		strip.out0 = g * c->og;
		npu_gemm_strip(&strip, r->count, 0, c->og, w->tile);
	}
}

static void conv_row(const struct slab *s, struct slab_worker *w, npu_s64 n, npu_s64 oh, npu_s64 x0, npu_s64 x1)
{
	const struct npu_conv *c = s->c;
	bool merge = !s->planar && c->groups == 1 && c->dil_w == 1;
	struct run run = { x0, 1, x1 - x0 };
	npu_s64 kh, kw, row;
	size_t segs = 0;

	for (kh = 0; kh < c->kh; kh++) {
		row = row_offset(s, w, n, oh * c->stride_h - c->pad_top + kh * c->dil_h);
		if (merge) {
			segs += tap_segs(s, row, 0, kh, 0, c->kw, w->seg + segs);
			continue;
		}
		for (kw = 0; kw < c->kw; kw++)
			segs += tap_segs(s, row, kw * c->dil_w, kh, kw, 1, w->seg + segs);
	}
	run_compute(s, w, segs, &run, n, oh);
}

/* Transposed: from @x on every stride_w-th column up to @x1 has the same taps until one of them leaves the input. */
static npu_s64 deconv_run(const struct slab *s, struct slab_worker *w, npu_s64 n, npu_s64 oh, npu_s64 x, npu_s64 x1)
{
	const struct npu_conv *c = s->c;
	npu_s64 count = ceil_div(x1 - x, c->stride_w), kh, kw, at, iw, row;
	struct run run = { x, c->stride_w, 0 };
	size_t segs = 0;

	for (kw = 0; kw < c->kw; kw++) {
		at = x + c->pad_left - kw * c->dil_w;
		if (floor_div(at, c->stride_w) * c->stride_w != at)
			continue;
		iw = floor_div(at, c->stride_w);
		if (iw < 0 && -iw < count)
			count = -iw;
		else if (iw >= 0 && iw < c->w && c->w - iw < count)
			count = c->w - iw;
	}
	for (kh = 0; kh < c->kh; kh++) {
		at = oh + c->pad_top - kh * c->dil_h;
		if (at < 0 || at % c->stride_h || at / c->stride_h >= c->h)
			continue;
		row = row_offset(s, w, n, at / c->stride_h);
		for (kw = 0; kw < c->kw; kw++) {
			at = x + c->pad_left - kw * c->dil_w;
			iw = at / c->stride_w;
			if (at < 0 || at % c->stride_w || iw >= c->w)
				continue;
			segs += tap_segs(s, row, iw - w->col0, kh, kw, 1, w->seg + segs);
		}
	}
	run.count = count;
	run_compute(s, w, segs, &run, n, oh);
	return x + count * c->stride_w;
}

static void row(const struct slab *s, struct slab_worker *w, npu_s64 n, npu_s64 t, npu_s64 oh)
{
	const struct npu_conv *c = s->c;
	npu_s64 x0 = t * s->tile_w, x1 = x0 + s->tile_w < c->ow ? x0 + s->tile_w : c->ow, i, x, count;

	if (w->n != n || w->t != t) {
		w->n = n;
		w->t = t;
		for (i = 0; i < s->ring; i++)
			w->loaded[i] = -1;
		tile_cols(s, t, &w->col0, &count);
	}
	if (!c->transposed) {
		conv_row(s, w, n, oh, x0, x1);
		return;
	}
	for (i = 0; i < c->stride_w; i++)
		for (x = x0 + i; x < x1; )
			x = deconv_run(s, w, n, oh, x, x1);
}

/* Items are (batch, tile of columns, output row). */
static void chunk(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct slab *s = arg;
	const struct npu_conv *c = s->c;
	struct slab_worker w;
	npu_s64 i;

	worker_init(s, &w, npu_exec_scratch(x, worker));
	for (i = (npu_s64)begin; i < (npu_s64)end; i++) {
		if (npu_exec_stopped(x))
			return;
		row(s, &w, i / c->oh / s->num_tiles, i / c->oh % s->num_tiles, i % c->oh);
	}
}

/* Width of the tiles: the slab of one fits into the L2 cache, but a row of the kernels' tile is filled. */
static bool slab_plan(struct slab *s)
{
	struct npu_conv *c = s->c;
	npu_s64 size = npu_dtype_bits(c->in->dtype) / 8, first, bytes;

	s->planar = c->in->stride[3] != size && c->c > 1;
	s->ring = c->transposed ? (c->kh - 1) * c->dil_h / c->stride_h + 2 : (c->kh - 1) * c->dil_h + 1;
	s->segs = c->kh * c->kw * (s->planar ? c->cg : 1);
	if (s->segs > SEGS_MAX || s->ring > SEGS_MAX)
		return false;
	for (s->num_tiles = 1;; s->num_tiles *= 2) {
		s->tile_w = ceil_div(c->ow, s->num_tiles);
		tile_cols(s, 0, &first, &s->cols);
		/* An inner tile of a transposed convolution may need more columns than the first one. */
		if (c->transposed)
			s->cols = (s->tile_w - 1 + (c->kw - 1) * c->dil_w) / c->stride_w + 2;
		if (__builtin_mul_overflow(s->cols, c->c, &s->row_floats) ||
		    __builtin_mul_overflow((s->ring + 1) * 4, s->row_floats, &bytes))
			bytes = INT64_MAX;
		if (bytes <= SLAB_TARGET || s->tile_w <= 2 * GEMM_MAX_ROWS * (c->transposed ? c->stride_w : 1))
			break;
	}
	s->num_tiles = ceil_div(c->ow, s->tile_w);
	return bytes <= SLAB_MAX;
}

bool npu_conv_slab_can(const struct npu_conv *c)
{
	return !c->integer && c->weight->layout == NPU_LAYOUT_PANEL16 && npu_gemm_b_type(c->weight->dtype) >= 0;
}

int npu_conv_slab(struct npu_exec *x, struct npu_conv *c)
{
	struct slab s = { .c = c, .gemm = npu_gemm_select(x->simd), .b_type = npu_gemm_b_type(c->weight->dtype) };
	double macs;

	if (!slab_plan(&s))
		return npu_conv_generic(x, c);
	s.b_panel = c->kh * c->kw * c->cg * NPU_PANEL * (npu_dtype_bits(c->weight->dtype) / 8);
	if (npu_exec_reserve(x, worker_bytes(&s)))
		return -ENOMEM;
	npu_exec_path(x, c->transposed ? NPU_PATH_DECONV_PHASE : s.planar ? NPU_PATH_CONV_STRIDED : NPU_PATH_CONV_DENSE);
	npu_exec_path(x, s.gemm->path);
	macs = (double)s.tile_w * (double)c->o * (double)(c->kh * c->kw * c->cg);
	if (c->transposed)
		macs /= (double)(c->stride_h * c->stride_w);
	return npu_exec_parallel(x, (npu_u64)(c->n * s.num_tiles * c->oh), 100.0 + macs * npu_gemm_ns(x->simd), chunk, &s);
}
