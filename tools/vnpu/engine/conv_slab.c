// SPDX-License-Identifier: MIT
/*
 * Float convolution, dense or grouped, and transposed convolution, as a matrix product without
 * im2col: the matrix kernels walk over the slab (slab.h) tap by tap.
 */
#include "gemm_tiles.h"
#include "slab.h"

#define SEGS_MAX	(1u << 20)
#define STRIP_MACS	(16 << 20)	/* between looks at the stop flag */

struct plan {
	struct npu_slab slab;
	const struct npu_conv *c;
	int b_type;
	npu_s64 segs;			/* at most */
	ptrdiff_t b_panel;
};

struct worker {
	struct npu_slab_ring ring;
	float *tile;
	struct npu_gemm_seg *seg;
};

static size_t worker_bytes(const struct plan *p)
{
	return GEMM_TILE_FLOATS * sizeof(float) + npu_slab_bytes(&p->slab) +
	       (size_t)p->segs * sizeof(struct npu_gemm_seg);
}

static void worker_init(const struct plan *p, struct worker *w, void *mem)
{
	w->tile = mem;
	npu_slab_ring_init(&p->slab, &w->ring, w->tile + GEMM_TILE_FLOATS);
	w->seg = (struct npu_gemm_seg *)(void *)((char *)(w->tile + GEMM_TILE_FLOATS) +
						 npu_slab_bytes(&p->slab));
}

/*
 * Segments of @taps taps side by side: @col is the first one's slab column for the first pixel.
 * Returns how many.
 */
static size_t tap_segs(const struct plan *p, npu_s64 row, npu_s64 col, npu_s64 kh, npu_s64 kw,
		       npu_s64 taps, struct npu_gemm_seg *seg)
{
	const struct npu_conv *c = p->c;
	npu_s64 k = (kh * c->kw + kw) * c->cg, ch;

	if (!p->slab.planar) {
		*seg = (struct npu_gemm_seg){ row + col * c->c, k, (size_t)(taps * c->cg) };
		return 1;
	}
	for (ch = 0; ch < c->cg; ch++)
		seg[ch] = (struct npu_gemm_seg){ row + ch * p->slab.cols + col, k + ch, 1 };
	return (size_t)c->cg;
}

/* Output columns x0, x0 + step, ... of a row, which have the same taps. */
struct run {
	npu_s64 x0, step, count;
};

/* Outputs are cut so that the stop flag does not wait for a wide layer. */
static void run_compute(struct npu_exec *x, const struct plan *p, struct worker *w, size_t num_segs,
			const struct run *r, npu_s64 oh)
{
	const struct npu_conv *c = p->c;
	npu_s64 panels = (c->og + NPU_PANEL - 1) / NPU_PANEL, k = c->kh * c->kw * c->cg, wide, g, o;
	npu_s64 step_in = c->transposed ? 1 : c->stride_w;
	bool planar = p->slab.planar;
	struct npu_gemm_strip strip = {
		.gemm = p->slab.gemm,
		.b_type = p->b_type,
		.lda = step_in * (planar ? 1 : c->c),
		.seg = w->seg,
		.num_segs = num_segs,
		.b_panel = p->b_panel,
		.epi = &c->epi,
		.epi_fn = c->epi_fn,
	};

	npu_conv_place(c, w->ring.n, oh, r->x0, &strip.place);
	strip.place.out_step *= r->step;
	strip.place.res_step *= r->step;
	wide = STRIP_MACS / (k * r->count + 1) / GEMM_MAX_COLS * GEMM_MAX_COLS;
	wide = wide < GEMM_MAX_COLS ? GEMM_MAX_COLS : wide;
	for (g = 0; g < c->groups && !npu_exec_stopped(x); g++) {
		strip.a = w->ring.rows + g * c->cg * (planar ? p->slab.cols : 1);
		strip.b = c->w_ptr + g * panels * p->b_panel;
		strip.out0 = g * c->og;
		for (o = 0; o < c->og && !npu_exec_stopped(x); o += wide)
			npu_gemm_strip(&strip, r->count, o, c->og - o < wide ? c->og - o : wide,
				       w->tile);
	}
}

static void conv_row(struct npu_exec *x, const struct plan *p, struct worker *w, npu_s64 oh)
{
	const struct npu_conv *c = p->c;
	bool merge = !p->slab.planar && c->groups == 1 && c->dil_w == 1;
	struct run run = { w->ring.x0, 1, w->ring.x1 - w->ring.x0 };
	npu_s64 kh, kw, row;
	size_t segs = 0;

	for (kh = 0; kh < c->kh; kh++) {
		row = npu_slab_row(&p->slab, &w->ring,
				   oh * c->stride_h - c->pad_top + kh * c->dil_h);
		if (merge) {
			segs += tap_segs(p, row, 0, kh, 0, c->kw, w->seg + segs);
			continue;
		}
		for (kw = 0; kw < c->kw; kw++)
			segs += tap_segs(p, row, kw * c->dil_w, kh, kw, 1, w->seg + segs);
	}
	run_compute(x, p, w, segs, &run, oh);
}

bool npu_deconv_tap(npu_s64 o, npu_s64 k, npu_s64 pad, npu_s64 dil, npu_s64 stride, npu_s64 size,
		    npu_s64 *i)
{
	npu_s64 at = o + pad - k * dil;

	*i = at / stride;
	return at >= 0 && at % stride == 0 && *i < size;
}

npu_s64 npu_deconv_count(const struct npu_conv *c, npu_s64 x, npu_s64 x1)
{
	npu_s64 count = npu_ceil_div(x1 - x, c->stride_w), kw, at, iw;

	for (kw = 0; kw < c->kw; kw++) {
		at = x + c->pad_left - kw * c->dil_w;
		iw = npu_floor_div(at, c->stride_w);
		if (iw * c->stride_w != at)
			continue;
		if (iw < 0 && -iw < count)
			count = -iw;
		else if (iw >= 0 && iw < c->w && c->w - iw < count)
			count = c->w - iw;
	}
	return count;
}

/* From column @x0 on as far as the taps are the same. Returns the next column of this phase. */
static npu_s64 deconv_run(struct npu_exec *x, const struct plan *p, struct worker *w, npu_s64 oh,
			  npu_s64 x0)
{
	const struct npu_conv *c = p->c;
	struct run run = { x0, c->stride_w, npu_deconv_count(c, x0, w->ring.x1) };
	npu_s64 kh, kw, ih, iw, row;
	size_t segs = 0;

	for (kh = 0; kh < c->kh; kh++) {
		if (!npu_deconv_tap(oh, kh, c->pad_top, c->dil_h, c->stride_h, c->h, &ih))
			continue;
		row = npu_slab_row(&p->slab, &w->ring, ih);
		for (kw = 0; kw < c->kw; kw++)
			if (npu_deconv_tap(x0, kw, c->pad_left, c->dil_w, c->stride_w, c->w, &iw))
				segs += tap_segs(p, row, iw - w->ring.col0, kh, kw, 1,
						 w->seg + segs);
	}
	run_compute(x, p, w, segs, &run, oh);
	return x0 + run.count * c->stride_w;
}

/* Items are (batch, tile of columns, output row). */
static void chunk(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct plan *p = arg;
	const struct npu_conv *c = p->c;
	npu_s64 i, phase, col, oh;
	struct worker w;

	worker_init(p, &w, npu_exec_scratch(x, worker));
	for (i = (npu_s64)begin; i < (npu_s64)end; i++) {
		if (npu_exec_stopped(x))
			return;
		npu_slab_move(&p->slab, &w.ring, i / c->oh / p->slab.num_tiles,
			      i / c->oh % p->slab.num_tiles);
		oh = i % c->oh;
		if (!c->transposed) {
			conv_row(x, p, &w, oh);
			continue;
		}
		for (phase = 0; phase < c->stride_w && w.ring.x0 + phase < w.ring.x1; phase++)
			for (col = w.ring.x0 + phase; col < w.ring.x1 && !npu_exec_stopped(x); )
				col = deconv_run(x, p, &w, oh, col);
	}
}

bool npu_conv_slab_can(const struct npu_conv *c)
{
	return !c->integer && c->weight->layout == NPU_LAYOUT_PANEL16 &&
	       npu_gemm_b_type(c->weight->dtype) >= 0;
}

int npu_conv_slab(struct npu_exec *x, struct npu_conv *c)
{
	struct plan p = { .c = c, .b_type = npu_gemm_b_type(c->weight->dtype) };
	double macs;

	if (!npu_slab_plan(&p.slab, c, npu_gemm_select(x->simd), 0))
		return npu_conv_generic(x, c);
	p.segs = c->kh * c->kw * (p.slab.planar ? c->cg : 1);
	if (p.segs > SEGS_MAX)
		return npu_conv_generic(x, c);
	p.b_panel = c->kh * c->kw * c->cg * NPU_PANEL * (npu_dtype_bits(c->weight->dtype) / 8);
	if (npu_exec_reserve(x, worker_bytes(&p)))
		return -ENOMEM;
	npu_exec_path(x, c->transposed ? NPU_PATH_DECONV_PHASE :
			 p.slab.planar ? NPU_PATH_CONV_STRIDED : NPU_PATH_CONV_DENSE);
	npu_exec_path(x, p.slab.gemm->path);
	macs = (double)p.slab.tile_w * (double)c->o * (double)(c->kh * c->kw * c->cg);
	if (c->transposed)
		macs /= (double)(c->stride_h * c->stride_w);
	return npu_exec_parallel(x, (npu_u64)(c->n * p.slab.num_tiles * c->oh),
				 100.0 + macs * npu_gemm_ns(x->simd), chunk, &p);
}
