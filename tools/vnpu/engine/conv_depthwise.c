// SPDX-License-Identifier: MIT
/*
 * Depthwise convolution: vectors lie along the channels. Two ways: the slab holds vectors of
 * channels, each with all its columns side by side, and every load is of one whole cache line. When
 * channels fill their vectors badly, stride is 1 and pixels are dense, a row is one long vector of
 * (pixel, channel) instead, and weights are repeated until their period is whole vectors, so that
 * no lane is idle.
 *
 * Rows of padding are not multiplied as long as weights are finite: at the start 0 * w + +0 is the
 * +0 that is there, and at the end all that they can do is to make -0 +0 (npu_dw.rest).
 *
 * Of 8-bit data the same kernels multiply code - zero point as f32: every product and every sum is
 * a whole number below 2^24, so they are exact.
 */
#include "dw.h"
#include "slab.h"

#define TILE_PIXELS   48
#define FULL_QUARTERS 3 /* lanes in use that make vectors of channels worth it */
#define TAPS_MAX      4096
#define PERIOD_MAX    4096
#define EXACT_TAPS    258 /* 258 * 255 * 255 < 2^24 */
#define PACK_MAX      (4 << 20) /* weights: they may be one that repeats, longer than any memory */

struct plan {
	struct npu_slab slab;
	const struct npu_conv *c;
	const struct npu_dw *dw;
	struct npu_epi epi; /* with vectors repeated as the weights are */
	npu_s64 period;	    /* floats: of the weights, a multiple of the vector */
	npu_s64 pixels;	    /* in a period */
	float *w;	    /* [tap][period] */
	float *rest;	    /* [kh][period]; NULL: rows of padding count */
};

/* Repeat a vector of @n words up to @period, zeros behind the last whole copy. */
static const void *repeat(float **mem, const void *src, npu_s64 n, npu_s64 period, npu_s64 copies)
{
	float *dst = *mem;
	npu_s64 i;

	if (!src)
		return NULL;
	for (i = 0; i < copies; i++)
		memcpy(dst + i * n, src, (size_t)n * sizeof(float));
	memset(dst + copies * n, 0, (size_t)(period + 16 - copies * n) * sizeof(float));
	*mem += period + 16;
	return dst;
}

static bool weights_dense(const struct npu_conv *c)
{
	npu_u32 type = c->weight->dtype;

	return !c->integer && c->weight->layout == NPU_LAYOUT_STRIDED &&
	       (type == NPU_F32 || type == NPU_F16 || type == NPU_BF16) &&
	       c->weight->stride[0] == npu_dtype_bits(type) / 8;
}

/* Weights of one tap of all channels. */
static void tap_load(const struct plan *p, npu_s64 kh, npu_s64 kw, float *dst)
{
	const struct npu_conv *c = p->c;
	const struct npu_operand *w = c->weight;
	const char *first = npu_conv_weight_at(c, 0, kh, kw, 0);
	npu_s64 o;

	if (weights_dense(c)) {
		npu_gemm_load(p->slab.gemm, w->dtype, dst, first, npu_dtype_bits(w->dtype) / 8,
			      (size_t)c->o);
		return;
	}
	if (!c->integer) {
		for (o = 0; o < c->o; o++)
			dst[o] = npu_elem_load(w, npu_conv_weight_at(c, o, kh, kw, 0));
		return;
	}
	if (w->layout == NPU_LAYOUT_STRIDED)
		p->dw->codes(dst, first, w->stride[0], (size_t)c->o, w->dtype, 0);
	else
		for (o = 0; o < c->o; o++)
			p->dw->codes(dst + o, npu_conv_weight_at(c, o, kh, kw, 0), 1, 1, w->dtype,
				     0);
	for (o = 0; o < c->o; o++)
		dst[o] -= (float)c->w_zero[o];
}

static int weights_pack(struct npu_exec *x, const struct plan *p)
{
	const struct npu_conv *c = p->c;
	npu_s64 kh, kw, i;
	float *dst = p->w;

	for (kh = 0; kh < c->kh; kh++) {
		for (kw = 0; kw < c->kw; kw++, dst += p->period) {
			if (npu_exec_stopped(x))
				return -EINTR;
			memset(dst + p->pixels * c->o, 0,
			       (size_t)(p->period - p->pixels * c->o) * sizeof(float));
			tap_load(p, kh, kw, dst);
			for (i = 1; i < p->pixels; i++)
				memcpy(dst + i * c->o, dst, (size_t)c->o * sizeof(float));
		}
	}
	return 0;
}

/* The taps of an output row: rows [first, end) of the kernel. */
struct taps {
	const float **tap;
	npu_s64 first, end;
};

/* Columns [x, x + count) of a row, in units of a period's pixels, one vector after the other. */
static void tile(const struct plan *p, const struct taps *taps, npu_s64 first, npu_s64 count,
		 npu_s64 channels, const struct npu_epi_place *place, float *acc)
{
	const struct npu_conv *c = p->c;
	npu_s64 lanes = p->dw->lanes, step = p->slab.dw ? c->stride_w * lanes : p->pixels * c->c,
		col;
	npu_s64 vector = p->slab.dw ? p->slab.cols * lanes : lanes;
	const float *w = p->w + taps->first * c->kw * p->period;
	struct npu_dw_tile t = {
		.tap = taps->tap,
		.num_taps = (size_t)((taps->end - taps->first) * c->kw),
		.step = step,
		.w_tap = p->period,
		.row_taps = p->slab.dw && c->stride_w == 1 && c->dil_w == 1 ? (size_t)c->kw : 1,
		.c = acc,
		.count = (size_t)count,
	};

	for (col = 0; col < channels; col += lanes) {
		t.offset = (size_t)(first * step + col / lanes * vector);
		t.w = w + col;
		t.w_zero = taps->end < c->kh && !c->integer ?
				   p->rest + taps->end * p->period + col : NULL;
		p->dw->tile(&t);
		if (c->integer)
			p->dw->to_int(acc, (size_t)(count * lanes));
		p->c->epi_fn(&p->epi, acc, (size_t)lanes, (unsigned int)count, (npu_u32)col,
			     (unsigned int)(channels - col < lanes ? channels - col : lanes),
			     place);
	}
}

static void taps_find(const struct plan *p, struct npu_slab_ring *r, npu_s64 oh, struct taps *t)
{
	const struct npu_conv *c = p->c;
	npu_s64 top = oh * c->stride_h - c->pad_top, column = p->slab.dw ? p->dw->lanes : c->c, kh,
		kw, at;
	const float **tap = t->tap;

	t->first = 0;
	t->end = c->kh;
	if (p->rest) {
		t->first = top < 0 ? npu_ceil_div(-top, c->dil_h) : 0;
		t->end = top < c->h ? npu_ceil_div(c->h - top, c->dil_h) : 0;
		t->end = t->end > c->kh ? c->kh : t->end;
		/* All of it is padding, and what is left of it comes from the end. */
		t->first = t->first > t->end ? t->end : t->first;
	}
	for (kh = t->first; kh < t->end; kh++) {
		at = npu_slab_row(&p->slab, r, top + kh * c->dil_h);
		for (kw = 0; kw < c->kw; kw++)
			*tap++ = r->rows + at + kw * c->dil_w * column;
	}
}

static void row(const struct plan *p, struct npu_slab_ring *r, npu_s64 oh, const float **tap,
		float *acc)
{
	const struct npu_conv *c = p->c;
	npu_s64 x, n, count = (r->x1 - r->x0) / p->pixels, rest = (r->x1 - r->x0) % p->pixels;
	struct taps taps = { .tap = tap };
	struct npu_epi_place place;

	taps_find(p, r, oh, &taps);
	npu_conv_place(c, r->n, oh, r->x0, &place);
	place.out_step *= p->pixels;
	place.res_step *= p->pixels;
	for (x = 0; x < count; x += n) {
		n = count - x < TILE_PIXELS ? count - x : TILE_PIXELS;
		tile(p, &taps, x, n, p->pixels * c->o, &place, acc);
		place.out += n * place.out_step;
		if (place.res)
			place.res += n * place.res_step;
	}
	if (rest)
		tile(p, &taps, count, 1, rest * c->o, &place, acc);
}

/* Pointers to taps: whole cache lines of them. */
static npu_s64 taps_room(const struct npu_conv *c)
{
	return (c->kh * c->kw + 7) / 8 * 8;
}

/* Items are (batch, tile of columns, output row). */
static void chunk(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct plan *p = arg;
	const struct npu_conv *c = p->c;
	float *acc = npu_exec_scratch(x, worker);
	const float **tap = (const float **)(void *)(acc + TILE_PIXELS * NPU_PANEL);
	struct npu_slab_ring r;
	npu_s64 i;

	npu_slab_ring_init(&p->slab, &r, tap + taps_room(c));
	for (i = (npu_s64)begin; i < (npu_s64)end; i++) {
		if (npu_exec_stopped(x))
			return;
		npu_slab_move(&p->slab, &r, i / c->oh / p->slab.num_tiles,
			      i / c->oh % p->slab.num_tiles);
		row(p, &r, i % c->oh, tap, acc);
	}
}

/* Whether pixels and channels of a row can be seen as one dim in output and residual. */
static bool row_is_flat(const struct npu_conv *c)
{
	npu_s64 size = npu_dtype_bits(c->out->dtype) / 8, rsize;

	if (c->stride_w != 1 || c->epi.out_chan != size || c->out->stride[2] != c->o * size)
		return false;
	if (!c->epi.res)
		return true;
	rsize = npu_dtype_bits(c->epi.res->dtype) / 8;
	return c->epi.res_chan == rsize && npu_epi_res_stride(&c->epi, 2) == c->o * rsize;
}

static npu_s64 gcd(npu_s64 a, npu_s64 b)
{
	return b ? gcd(b, a % b) : a;
}

bool npu_conv_depthwise_can(const struct npu_conv *c)
{
	npu_s64 size = npu_dtype_bits(c->in->dtype) / 8;

	return (!c->integer || c->kh * c->kw <= EXACT_TAPS) && !c->transposed && c->cg == 1 &&
	       c->og == 1 && (c->in->stride[3] == size || c->c == 1) && c->kh * c->kw <= TAPS_MAX &&
	       c->kh * c->kw * c->o <= PACK_MAX;
}

int npu_conv_depthwise(struct npu_exec *x, struct npu_conv *c)
{
	struct plan p = { .c = c, .dw = npu_dw_select(x->simd), .epi = c->epi };
	npu_s64 lanes = p.dw->lanes, taps = c->kh * c->kw;
	float *mem;
	size_t bytes;

	p.period = (c->o + lanes - 1) / lanes * lanes;
	p.pixels = row_is_flat(c) && c->o * 4 < p.period * FULL_QUARTERS ? lanes / gcd(lanes, c->o)
									 : 1;
	if (p.pixels * c->o > PERIOD_MAX)
		p.pixels = 1;
	p.period = (p.pixels * c->o + lanes - 1) / lanes * lanes;
	if (p.pixels == 1)
		p.slab.dw = p.dw;
	/* Kernels read whole vectors, and in a rest whole periods, past the last pixel. */
	p.slab.codes = p.dw->codes;
	if (!npu_slab_plan(&p.slab, c, npu_gemm_select(x->simd), p.period + 2 * NPU_PANEL))
		return npu_conv_generic(x, c);
	bytes = (TILE_PIXELS * NPU_PANEL * sizeof(float)) + (size_t)taps_room(c) * sizeof(float *) +
		npu_slab_bytes(&p.slab);
	if (npu_exec_reserve(x, bytes))
		return -ENOMEM;
	/* The shared memory holds the epilogue's vectors; what is repeated comes behind them. */
	mem = npu_conv_extra(x, c,
			     ((size_t)(taps + c->kh + 4) * (size_t)(p.period + 16)) *
				     sizeof(float));
	if (!mem)
		return -ENOMEM;
	p.epi = c->epi;
	p.epi.bias = repeat(&mem, c->epi.bias, c->o, p.period, p.pixels);
	p.epi.ibias = repeat(&mem, c->epi.ibias, c->o, p.period, p.pixels);
	p.epi.scale = repeat(&mem, c->epi.scale, c->o, p.period, p.pixels);
	p.epi.slope = repeat(&mem, c->epi.slope, c->o, p.period, p.pixels);
	p.w = mem;
	if (weights_pack(x, &p))
		return -EINTR;
	p.rest = mem + taps * p.period;
	if (!p.dw->rest(p.rest, p.w, (size_t)c->kh, (size_t)c->kw, (size_t)p.period))
		p.rest = NULL;
	npu_exec_path(x, NPU_PATH_CONV_DEPTHWISE);
	return npu_exec_parallel(x, (npu_u64)(c->n * p.slab.num_tiles * c->oh),
				 50.0 + (double)(p.slab.tile_w * c->o) * (double)(taps + 8) * 1.5 *
						 npu_gemm_ns(x->simd),
				 chunk, &p);
}
