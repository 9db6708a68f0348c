// SPDX-License-Identifier: MIT
/*
 * Integer convolution as a matrix product without im2col. The input rows that an output row needs
 * are copied once, shifted and with their padding, into a ring in the worker's scratch; the next
 * output row finds most of them there. Padding is the zero point, so that it adds nothing.
 */
#include "conv_int.h"
#include "igemm_rows.h"
#include "slab.h"
#include "vec.h"

#define RING_TARGET	(192u << 10)	/* bytes: part of a small L2 cache */
#define RING_BYTES_MAX	(64u << 20)
#define RING_MAX	(1u << 20)	/* rows */
#define STRIP_MACS	(64 << 20)	/* between looks at the stop flag */
#define SLACK		64		/* bytes that a last quad may read past a row */

struct plan {
	struct npu_conv_units u;
	const struct npu_conv *c;
	const struct npu_vec *vec;
	npu_s64 ring, tile_w, num_tiles, row_bytes;
};

struct worker {
	npu_s32 *tile, *row_sum, *cols;
	void *wide;
	struct npu_igemm_seg *seg;
	npu_s64 *unit;			/* of each segment */
	npu_s64 *loaded;		/* input row in each slot of the ring, or -1 */
	npu_u8 *rows;			/* ring + 1 rows, the last one all padding */
	npu_s64 n, t, x0, x1, col0;	/* batch, tile, its output columns, first input column */
	struct npu_epi epi;
};

static size_t round64(size_t n)
{
	return (n + 63) & ~(size_t)63;
}

static size_t worker_bytes(const struct plan *p)
{
	const struct npu_conv_units *u = &p->u;

	return IGEMM_TILE_WORDS * 4 + npu_igemm_wide_bytes(u->gemm, u->num * u->quads) +
	       round64((size_t)p->tile_w * 4) + round64((size_t)u->cols_stride * 4) +
	       round64((size_t)u->num * sizeof(struct npu_igemm_seg)) +
	       round64((size_t)u->num * sizeof(npu_s64)) +
	       round64((size_t)p->ring * sizeof(npu_s64)) + (size_t)((p->ring + 1) * p->row_bytes);
}

static void worker_init(const struct plan *p, struct worker *w, char *mem)
{
	const struct npu_conv_units *u = &p->u;
	size_t wide = npu_igemm_wide_bytes(u->gemm, u->num * u->quads);
	npu_s64 i;

	w->tile = (npu_s32 *)(void *)mem;
	mem += IGEMM_TILE_WORDS * 4;
	w->wide = wide ? mem : NULL;
	mem += wide;
	w->row_sum = (npu_s32 *)(void *)mem;
	mem += round64((size_t)p->tile_w * 4);
	w->cols = (npu_s32 *)(void *)mem;
	mem += round64((size_t)u->cols_stride * 4);
	w->seg = (struct npu_igemm_seg *)(void *)mem;
	mem += round64((size_t)u->num * sizeof(struct npu_igemm_seg));
	w->unit = (npu_s64 *)(void *)mem;
	mem += round64((size_t)u->num * sizeof(npu_s64));
	w->loaded = (npu_s64 *)(void *)mem;
	w->rows = (npu_u8 *)mem + round64((size_t)p->ring * sizeof(npu_s64));
	w->n = w->t = -1;
	w->epi = p->c->epi;
	if (u->cols && !u->per_unit)
		w->epi.ibias = u->cols;
	for (i = 0; i < p->ring; i++)
		memset(w->rows + (i + 1) * p->row_bytes - SLACK, 0, SLACK);
	memset(w->rows + p->ring * p->row_bytes, u->x_zero, (size_t)p->row_bytes);
}

/* Turn to a tile; forgets the rows when it is another one. */
static void worker_move(const struct plan *p, struct worker *w, npu_s64 n, npu_s64 t)
{
	npu_s64 i, count;

	if (w->n == n && w->t == t)
		return;
	w->n = n;
	w->t = t;
	w->x0 = t * p->tile_w;
	w->x1 = w->x0 + p->tile_w < p->c->ow ? w->x0 + p->tile_w : p->c->ow;
	npu_slab_tile_cols(p->c, w->x0, w->x1, &w->col0, &count);
	for (i = 0; i < p->ring; i++)
		w->loaded[i] = -1;
}

/* @count pixels side by side in memory, or planar ones, or anything. */
static void pixels_load(const struct plan *p, npu_u8 *dst, const char *src, npu_s64 count)
{
	const npu_s64 *st = p->c->in->stride;
	npu_s64 c = p->c->c, i, j;
	npu_u8 flip = p->u.a_flip;

	if ((st[3] == 1 || c == 1) && (st[2] == c || count == 1)) {
		p->u.gemm->copy(dst, (const npu_u8 *)src, (size_t)(count * c), flip);
	} else if (st[3] == 1 || c == 1) {
		for (i = 0; i < count; i++)
			p->u.gemm->copy(dst + i * c, (const npu_u8 *)src + i * st[2], (size_t)c,
					flip);
	} else if (st[2] == 1 && c == 3) {
		p->u.gemm->planes3(dst, (const npu_u8 *)src, st[3], (size_t)count, flip);
	} else if (st[2] == 1) {
		p->vec->transpose((char *)dst, c, src, st[3], (npu_u32)c, (npu_u32)count, 1);
		for (i = 0; flip && i < count * c; i++)
			dst[i] ^= flip;
	} else {
		for (i = 0; i < count; i++)
			for (j = 0; j < c; j++)
				dst[i * c + j] = (npu_u8)src[i * st[2] + j * st[3]] ^ flip;
	}
}

static void row_load(const struct plan *p, const struct worker *w, npu_s64 ih, npu_u8 *dst)
{
	const struct npu_conv *c = p->c;
	const npu_s64 *st = c->in->stride;
	npu_s64 first, count, x0, x1;

	npu_slab_tile_cols(c, w->x0, w->x1, &first, &count);
	x0 = first < 0 ? -first < count ? -first : count : 0;
	x1 = first + count > c->w ? c->w - first : count;
	x1 = x1 < x0 ? x0 : x1;
	memset(dst, p->u.x_zero, (size_t)(x0 * c->c));
	memset(dst + x1 * c->c, p->u.x_zero, (size_t)((count - x1) * c->c));
	if (x1 > x0)
		pixels_load(p, dst + x0 * c->c,
			    c->in_ptr + w->n * st[0] + ih * st[1] + (first + x0) * st[2], x1 - x0);
}

/* Bytes from w->rows to input row @ih. */
static npu_s64 row_at(const struct plan *p, struct worker *w, npu_s64 ih)
{
	npu_s64 slot = ih % p->ring;

	if (ih < 0 || ih >= p->c->h)
		return p->ring * p->row_bytes;
	if (w->loaded[slot] != ih)
		row_load(p, w, ih, w->rows + slot * p->row_bytes);
	w->loaded[slot] = ih;
	return slot * p->row_bytes;
}

static void seg_add(const struct plan *p, struct worker *w, size_t *segs, npu_s64 row, npu_s64 col,
		    npu_s64 unit)
{
	w->unit[*segs] = unit;
	w->seg[(*segs)++] = (struct npu_igemm_seg){ row + col * p->c->c, unit * p->u.quads,
						    (size_t)p->u.quads, (size_t)p->u.bytes };
}

/* Output columns x0, x0 + step, ... of a row, which have the same taps. */
struct run {
	npu_s64 x0, step, count;
};

/* The constants of the units that take part in a run, with the bias. */
static void run_cols(const struct plan *p, struct worker *w, size_t num_segs)
{
	const struct npu_conv *c = p->c;
	const npu_s32 *unit;
	npu_s64 o;
	size_t i;

	if (!p->u.cols || !p->u.per_unit)
		return;
	for (o = 0; o < c->o; o++)
		w->cols[o] = c->epi.ibias ? c->epi.ibias[o] : 0;
	for (i = 0; i < num_segs; i++) {
		unit = p->u.cols + w->unit[i] * p->u.cols_stride;
		for (o = 0; o < c->o; o++)
			w->cols[o] = (npu_s32)((npu_u32)w->cols[o] + (npu_u32)unit[o]);
	}
	w->epi.ibias = w->cols;
}

/* Outputs are cut so that the stop flag does not wait for a wide layer. */
static void run_compute(struct npu_exec *x, const struct plan *p, struct worker *w, size_t num_segs,
			const struct run *r, npu_s64 oh)
{
	const struct npu_conv *c = p->c;
	npu_s64 k = c->kh * c->kw * c->cg, wide, g, o;
	struct npu_igemm_strip strip = {
		.gemm = p->u.gemm,
		.lda = (c->transposed ? 1 : c->stride_w) * c->c,
		.seg = w->seg,
		.num_segs = num_segs,
		.b_panel = p->u.b_panel,
		.b_flip = p->u.b_flip,
		.wide = w->wide,
		.w_zero = p->u.w_zero,
		.row_sum = p->u.w_zero ? w->row_sum : NULL,
		.epi = &w->epi,
		.epi_fn = c->epi_fn,
	};

	run_cols(p, w, num_segs);
	npu_conv_place(c, w->n, oh, r->x0, &strip.place);
	strip.place.out_step *= r->step;
	strip.place.res_step *= r->step;
	wide = STRIP_MACS / (k * r->count + 1) / 64 * 64;
	wide = wide < 64 ? 64 : wide;
	for (g = 0; g < c->groups && !npu_exec_stopped(x); g++) {
		strip.a = w->rows + g * c->cg;
		strip.b = p->u.panels + g * p->u.num_panels * p->u.b_panel;
		strip.out0 = g * c->og;
		if (strip.row_sum)
			p->u.gemm->row_sums(&(struct npu_igemm_tile){ .a = strip.a,
								      .lda = strip.lda,
								      .seg = w->seg,
								      .num_segs = num_segs },
					    r->count, w->row_sum);
		for (o = 0; o < c->og && !npu_exec_stopped(x); o += wide)
			npu_igemm_strip(&strip, r->count, o, c->og - o < wide ? c->og - o : wide,
					w->tile);
	}
}

static void conv_row(struct npu_exec *x, const struct plan *p, struct worker *w, npu_s64 oh)
{
	const struct npu_conv *c = p->c;
	struct run run = { w->x0, 1, w->x1 - w->x0 };
	npu_s64 kh, kw, row;
	size_t segs = 0;

	for (kh = 0; kh < c->kh; kh++) {
		row = row_at(p, w, oh * c->stride_h - c->pad_top + kh * c->dil_h);
		for (kw = 0; kw < (p->u.rows ? 1 : c->kw); kw++)
			seg_add(p, w, &segs, row, kw * c->dil_w, p->u.rows ? kh : kh * c->kw + kw);
	}
	run_compute(x, p, w, segs, &run, oh);
}

/* From column @x0 on as far as the taps are the same. Returns the next column of this phase. */
static npu_s64 deconv_run(struct npu_exec *x, const struct plan *p, struct worker *w, npu_s64 oh,
			  npu_s64 x0)
{
	const struct npu_conv *c = p->c;
	struct run run = { x0, c->stride_w, npu_deconv_count(c, x0, w->x1) };
	npu_s64 kh, kw, ih, iw, row;
	size_t segs = 0;

	for (kh = 0; kh < c->kh; kh++) {
		if (!npu_deconv_tap(oh, kh, c->pad_top, c->dil_h, c->stride_h, c->h, &ih))
			continue;
		row = row_at(p, w, ih);
		for (kw = 0; kw < c->kw; kw++)
			if (npu_deconv_tap(x0, kw, c->pad_left, c->dil_w, c->stride_w, c->w, &iw))
				seg_add(p, w, &segs, row, iw - w->col0, kh * c->kw + kw);
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
		worker_move(p, &w, i / c->oh / p->num_tiles, i / c->oh % p->num_tiles);
		oh = i % c->oh;
		if (!c->transposed) {
			conv_row(x, p, &w, oh);
			continue;
		}
		for (phase = 0; phase < c->stride_w && w.x0 + phase < w.x1; phase++)
			for (col = w.x0 + phase; col < w.x1 && !npu_exec_stopped(x); )
				col = deconv_run(x, p, &w, oh, col);
	}
}

/*
 * Width of the tiles: the rows of one fit into the L2 cache, but a tile of the kernels is filled.
 */
static bool tiles_plan(struct plan *p)
{
	const struct npu_conv *c = p->c;
	npu_s64 first, cols, bytes;

	p->ring = c->transposed ? (c->kh - 1) * c->dil_h / c->stride_h + 2 :
				  (c->kh - 1) * c->dil_h + 1;
	if (p->ring > RING_MAX)
		return false;
	for (p->num_tiles = 1;; p->num_tiles *= 2) {
		p->tile_w = npu_ceil_div(c->ow, p->num_tiles);
		npu_slab_tile_cols(c, 0, p->tile_w, &first, &cols);
		/* An inner tile of a transposed convolution may need more than the first one. */
		if (c->transposed)
			cols = (p->tile_w - 1 + (c->kw - 1) * c->dil_w) / c->stride_w + 2;
		if (__builtin_mul_overflow(cols, c->c, &p->row_bytes) ||
		    __builtin_add_overflow(p->row_bytes, 2 * SLACK, &p->row_bytes) ||
		    __builtin_mul_overflow(p->ring + 1, p->row_bytes, &bytes))
			bytes = INT64_MAX;
		if (bytes <= RING_TARGET ||
		    p->tile_w <= 4 * IGEMM_MAX_ROWS * (c->transposed ? c->stride_w : 1))
			break;
	}
	p->num_tiles = npu_ceil_div(c->ow, p->tile_w);
	return bytes <= RING_BYTES_MAX;
}

static int slab_run(struct npu_exec *x, struct plan *p)
{
	const struct npu_conv *c = p->c;
	double macs = (double)p->tile_w * (double)c->o * (double)(c->kh * c->kw * c->cg);

	if (c->transposed)
		macs /= (double)(c->stride_h * c->stride_w);
	if (npu_exec_reserve(x, worker_bytes(p)))
		return -ENOMEM;
	npu_exec_path(x, p->u.gemm->path);
	if (npu_igemm_widens(p->u.gemm, p->u.num * p->u.quads,
			     p->tile_w / (c->transposed ? c->stride_w : 1)))
		npu_exec_path(x, NPU_PATH_IGEMM_WIDE);
	return npu_exec_parallel(x, (npu_u64)(c->n * p->num_tiles * c->oh),
				 100.0 + macs * p->u.gemm->ns, chunk, p);
}

static void pointwise_at(const struct npu_igemm_rows *g, npu_s64 batch, struct npu_igemm_at *at)
{
	const struct npu_conv *c = g->arg;

	at->a = c->in_ptr;
	at->b = g->b;
	at->b_index = 0;
	npu_conv_place(c, 0, 0, 0, &at->place);
}

static int pointwise_run(struct npu_exec *x, const struct npu_conv_units *u)
{
	const struct npu_conv *c = u->c;
	struct npu_igemm_rows g = {
		.gemm = u->gemm,
		.m = c->n * c->oh * c->ow,
		.k = c->c,
		.n = c->o,
		.batch = 1,
		.a_row = c->in->stride[2],
		.a_k = c->in->stride[3],
		.a_flip = u->a_flip,
		.b_flip = u->b_flip,
		.x_zero = u->x_zero,
		.w_zero = u->w_zero,
		.b_matrices = 1,
		.b = u->panels,
		.cols = u->cols,
		.epi = &c->epi,
		.epi_fn = c->epi_fn,
		.at = pointwise_at,
		.arg = c,
	};

	return npu_igemm_rows_run(x, &g);
}

int npu_conv_int(struct npu_exec *x, struct npu_conv *c)
{
	struct plan p = { .c = c, .vec = npu_vec_get(x->simd) };
	bool pointwise = !c->transposed && npu_conv_is_pointwise(c);
	int ret;

	if (!npu_conv_units_init(&p.u, x, c, pointwise) || (!pointwise && !tiles_plan(&p)))
		return npu_conv_generic(x, c);
	ret = npu_conv_units_make(x, c, &p.u);
	if (ret)
		return ret;
	npu_exec_path(x, pointwise ? NPU_PATH_CONV_INT_POINTWISE :
			 c->transposed ? NPU_PATH_DECONV_INT : NPU_PATH_CONV_INT);
	return pointwise ? pointwise_run(x, &p.u) : slab_run(x, &p);
}
