// SPDX-License-Identifier: MIT
/*
 * Float depthwise convolution: vectors lie along the channels. With stride 1 and dense pixels a row is one long vector of
 * (pixel, channel), and weights are repeated until their period is whole vectors, so that no lane is idle
 * whatever the number of channels.
 */
#include "dw.h"
#include "slab.h"

#define TILE_PIXELS	48
#define TAPS_MAX	4096
#define PERIOD_MAX	4096
#define PACK_MAX	(4 << 20)	/* weights: they may be one that repeats, longer than any memory */

struct plan {
	struct npu_slab slab;
	const struct npu_conv *c;
	const struct npu_dw *dw;
	struct npu_epi epi;		/* with vectors repeated as the weights are */
	npu_s64 period;			/* floats: of the weights, a multiple of the vector */
	npu_s64 pixels;			/* in a period */
	float *w;			/* [tap][period] */
};

/* Repeat a vector of @n words up to @period, zeros behind the last whole copy. */
static const float *repeat(float **mem, const float *src, npu_s64 n, npu_s64 period, npu_s64 copies)
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

static int weights_pack(struct npu_exec *x, const struct plan *p)
{
	const struct npu_conv *c = p->c;
	npu_s64 kh, kw, o, i;
	float *dst = p->w;

	for (kh = 0; kh < c->kh; kh++) {
		for (kw = 0; kw < c->kw; kw++, dst += p->period) {
			if (npu_exec_stopped(x))
				return -EINTR;
			memset(dst, 0, (size_t)p->period * sizeof(float));
			for (o = 0; o < c->o; o++)
				dst[o] = npu_elem_load(c->weight, npu_conv_weight_at(c, o, kh, kw, 0));
			for (i = 1; i < p->pixels; i++)
				memcpy(dst + i * c->o, dst, (size_t)c->o * sizeof(float));
		}
	}
	return 0;
}

/* Columns [x, x + count) of a row, in units of a period's pixels, as one vector column after the other. */
static void tile(const struct plan *p, const float *const *tap, npu_s64 first, npu_s64 count, npu_s64 channels,
		 const struct npu_epi_place *place, float *acc)
{
	npu_s64 lanes = p->dw->lanes, step = p->pixels > 1 ? p->pixels * p->c->c : p->c->stride_w * p->c->c, col;
	struct npu_dw_tile t = {
		.tap = tap, .num_taps = (size_t)(p->c->kh * p->c->kw), .step = step, .w_tap = p->period, .c = acc,
		.count = (size_t)count,
	};

	for (col = 0; col < channels; col += lanes) {
		t.offset = (size_t)(first * step + col);
		t.w = p->w + col;
		p->dw->tile(&t);
		p->c->epi_fn(&p->epi, acc, (size_t)lanes, (unsigned int)count, (npu_u32)col,
			     (unsigned int)(channels - col < lanes ? channels - col : lanes), place);
	}
}

static void row(const struct plan *p, struct npu_slab_ring *r, npu_s64 oh, const float **tap, float *acc)
{
	const struct npu_conv *c = p->c;
	npu_s64 kh, kw, x, n, count = (r->x1 - r->x0) / p->pixels, rest = (r->x1 - r->x0) % p->pixels;
	struct npu_epi_place place;
	size_t taps = 0;

	for (kh = 0; kh < c->kh; kh++) {
		npu_s64 at = npu_slab_row(&p->slab, r, oh * c->stride_h - c->pad_top + kh * c->dil_h);

		for (kw = 0; kw < c->kw; kw++)
			tap[taps++] = r->rows + at + kw * c->dil_w * c->c;
	}
	npu_conv_place(c, r->n, oh, r->x0, &place);
	place.out_step *= p->pixels;
	place.res_step *= p->pixels;
	for (x = 0; x < count; x += n) {
		n = count - x < TILE_PIXELS ? count - x : TILE_PIXELS;
		tile(p, tap, x, n, p->pixels * c->o, &place, acc);
		place.out += n * place.out_step;
		if (place.res)
			place.res += n * place.res_step;
	}
	if (rest)
		tile(p, tap, count, 1, rest * c->o, &place, acc);
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

	npu_slab_ring_init(&p->slab, &r, tap + c->kh * c->kw + (c->kh * c->kw) % 2);
	for (i = (npu_s64)begin; i < (npu_s64)end; i++) {
		if (npu_exec_stopped(x))
			return;
		npu_slab_move(&p->slab, &r, i / c->oh / p->slab.num_tiles, i / c->oh % p->slab.num_tiles);
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

	return !c->integer && !c->transposed && c->cg == 1 && c->og == 1 && (c->in->stride[3] == size || c->c == 1) &&
	       c->kh * c->kw <= TAPS_MAX && c->kh * c->kw * c->o <= PACK_MAX;
}

int npu_conv_depthwise(struct npu_exec *x, struct npu_conv *c)
{
	struct plan p = { .c = c, .dw = npu_dw_select(x->simd), .epi = c->epi };
	npu_s64 lanes = p.dw->lanes, taps = c->kh * c->kw;
	float *mem;
	size_t bytes;

	p.pixels = row_is_flat(c) ? lanes / gcd(lanes, c->o) : 1;
	if (p.pixels * c->o > PERIOD_MAX)
		p.pixels = 1;
	p.period = (p.pixels * c->o + lanes - 1) / lanes * lanes;
	/* Kernels read whole vectors, and in a rest whole periods, past the last pixel. */
	if (!npu_slab_plan(&p.slab, c, npu_gemm_select(x->simd), p.period + 2 * NPU_PANEL))
		return npu_conv_generic(x, c);
	bytes = (TILE_PIXELS * NPU_PANEL * sizeof(float)) + (size_t)(taps + 1) * sizeof(float *) + npu_slab_bytes(&p.slab);
	if (npu_exec_reserve(x, bytes))
		return -ENOMEM;
	/* The shared memory holds the epilogue's vectors; what is repeated here comes behind them. */
	mem = npu_conv_extra(x, c, ((size_t)(taps + 4) * (size_t)(p.period + 16)) * sizeof(float));
	if (!mem)
		return -ENOMEM;
	p.epi = c->epi;
	p.epi.bias = repeat(&mem, c->epi.bias, c->o, p.period, p.pixels);
	p.epi.slope = repeat(&mem, c->epi.slope, c->o, p.period, p.pixels);
	p.w = mem;
	if (weights_pack(x, &p))
		return -EINTR;
	npu_exec_path(x, NPU_PATH_CONV_DEPTHWISE);
	return npu_exec_parallel(x, (npu_u64)(c->n * p.slab.num_tiles * c->oh),
				 50.0 + (double)(p.slab.tile_w * c->o) * (double)(taps + 8) * 3 * npu_gemm_ns(x->simd), chunk,
				 &p);
}
