// SPDX-License-Identifier: MIT
#include "slab.h"

#define SLAB_TARGET	(256u << 10)	/* bytes: half of a small L2 cache */
#define SLAB_MAX	(64u << 20)
#define RING_MAX	(1u << 20)

size_t npu_slab_bytes(const struct npu_slab *s)
{
	return ((size_t)(s->ring + 1) * (size_t)s->row_floats * sizeof(float) + 63) / 64 * 64 +
	       ((size_t)s->ring * sizeof(npu_s64) + 63) / 64 * 64;
}

void npu_slab_ring_init(const struct npu_slab *s, struct npu_slab_ring *r, void *mem)
{
	r->loaded = mem;
	r->rows =
		(float *)(void *)((char *)mem + ((size_t)s->ring * sizeof(npu_s64) + 63) / 64 * 64);
	r->n = r->t = -1;
	r->zeroed = false;
}

/* Input columns that the output columns [x0, x1) need. */
static void tile_cols(const struct npu_conv *c, npu_s64 x0, npu_s64 x1, npu_s64 *first,
		      npu_s64 *count)
{
	npu_s64 last;

	if (!c->transposed) {
		*first = x0 * c->stride_w - c->pad_left;
		*count = (x1 - 1 - x0) * c->stride_w + (c->kw - 1) * c->dil_w + 1;
		return;
	}
	*first = npu_ceil_div(x0 + c->pad_left - (c->kw - 1) * c->dil_w, c->stride_w);
	last = npu_floor_div(x1 - 1 + c->pad_left, c->stride_w);
	*first = *first < 0 ? 0 : *first;
	last = last >= c->w ? c->w - 1 : last;
	*count = last >= *first ? last - *first + 1 : 0;
}

void npu_slab_move(const struct npu_slab *s, struct npu_slab_ring *r, npu_s64 n, npu_s64 t)
{
	npu_s64 i, count;

	if (r->n == n && r->t == t)
		return;
	r->n = n;
	r->t = t;
	r->x0 = t * s->tile_w;
	r->x1 = r->x0 + s->tile_w < s->c->ow ? r->x0 + s->tile_w : s->c->ow;
	tile_cols(s->c, r->x0, r->x1, &r->col0, &count);
	for (i = 0; i < s->ring; i++)
		r->loaded[i] = -1;
}

/* The columns [x0, x1) of @count from memory, zeros beside them. */
static void vectors_load(const struct npu_slab *s, float *dst, const char *src, npu_s64 x0,
			 npu_s64 x1, npu_s64 count)
{
	const struct npu_conv *c = s->c;
	npu_s64 lanes = s->dw->lanes, ld = s->cols * lanes, ch;

	for (ch = 0; ch < c->c; ch += lanes) {
		memset(dst + ch / lanes * ld, 0, (size_t)(x0 * lanes) * sizeof(float));
		memset(dst + ch / lanes * ld + x1 * lanes, 0,
		       (size_t)((count - x1) * lanes) * sizeof(float));
	}
	s->dw->load(dst + x0 * lanes, ld,
		    &(struct npu_dw_pixels){ .p = src,
					     .step = c->in->stride[2],
					     .dtype = c->in->dtype,
					     .zero = c->x_zero,
					     .count = (size_t)(x1 - x0),
					     .channels = (size_t)c->c });
}

/* A line of elements to f32, zero points taken off. */
static void line_load(const struct npu_slab *s, float *dst, const char *src, npu_s64 step, size_t n)
{
	const struct npu_conv *c = s->c;

	if (c->integer)
		s->codes(dst, src, step, n, c->in->dtype, c->x_zero);
	else
		npu_gemm_load(s->gemm, c->in->dtype, dst, src, step, n);
}

static void row_load(const struct npu_slab *s, const struct npu_slab_ring *r, npu_s64 ih,
		     float *dst)
{
	const struct npu_conv *c = s->c;
	const npu_s64 *st = c->in->stride;
	npu_s64 first, count, x0, x1, size = npu_dtype_bits(c->in->dtype) / 8, i;
	const char *src;

	tile_cols(c, r->x0, r->x1, &first, &count);
	x0 = first < 0 ? -first < count ? -first : count : 0;
	x1 = first + count > c->w ? c->w - first : count;
	x1 = x1 < x0 ? x0 : x1;
	src = c->in_ptr + r->n * st[0] + ih * st[1] + (first + x0) * st[2];
	if (s->dw) {
		vectors_load(s, dst, src, x0, x1, count);
		return;
	}
	if (s->planar) {
		for (i = 0; i < c->c; i++, dst += s->cols, src += st[3]) {
			memset(dst, 0, (size_t)x0 * sizeof(float));
			line_load(s, dst + x0, src, st[2], (size_t)(x1 - x0));
			memset(dst + x1, 0, (size_t)(count - x1) * sizeof(float));
		}
		return;
	}
	memset(dst, 0, (size_t)(x0 * c->c) * sizeof(float));
	memset(dst + x1 * c->c, 0, (size_t)((count - x1) * c->c) * sizeof(float));
	if (st[2] == c->c * size && st[3] == size) {
		line_load(s, dst + x0 * c->c, src, size, (size_t)((x1 - x0) * c->c));
		return;
	}
	for (i = x0; i < x1; i++, src += st[2])
		line_load(s, dst + i * c->c, src, st[3], (size_t)c->c);
}

npu_s64 npu_slab_row(const struct npu_slab *s, struct npu_slab_ring *r, npu_s64 ih)
{
	npu_s64 slot;

	if (ih < 0 || ih >= s->c->h) {
		if (!r->zeroed)
			memset(r->rows + s->ring * s->row_floats, 0,
			       (size_t)s->row_floats * sizeof(float));
		r->zeroed = true;
		return s->ring * s->row_floats;
	}
	slot = ih % s->ring;
	if (r->loaded[slot] != ih) {
		row_load(s, r, ih, r->rows + slot * s->row_floats);
		r->loaded[slot] = ih;
	}
	return slot * s->row_floats;
}

/*
 * Width of the tiles: the slab of one fits into the L2 cache, but a row of the kernels' tile is
 * filled.
 */
bool npu_slab_plan(struct npu_slab *s, const struct npu_conv *c, const struct npu_gemm *gemm,
		   npu_s64 slack)
{
	npu_s64 size = npu_dtype_bits(c->in->dtype) / 8, first, bytes,
		lanes = s->dw ? s->dw->lanes : 1;
	npu_s64 channels = (c->c + lanes - 1) / lanes * lanes;

	s->c = c;
	s->gemm = gemm;
	s->planar = c->in->stride[3] != size && c->c > 1;
	s->ring = c->transposed ? (c->kh - 1) * c->dil_h / c->stride_h + 2 :
				  (c->kh - 1) * c->dil_h + 1;
	if (s->ring > RING_MAX)
		return false;
	for (s->num_tiles = 1;; s->num_tiles *= 2) {
		s->tile_w = npu_ceil_div(c->ow, s->num_tiles);
		tile_cols(c, 0, s->tile_w, &first, &s->cols);
		/*
		 * An inner tile of a transposed convolution may need more columns than the first
		 * one.
		 */
		if (c->transposed)
			s->cols = (s->tile_w - 1 + (c->kw - 1) * c->dil_w) / c->stride_w + 2;
		/*
		 * An odd number: vectors of one column shall not fall into the same set of the
		 * cache.
		 */
		if (s->dw)
			s->cols |= 1;
		if (__builtin_mul_overflow(s->cols, channels, &s->row_floats) ||
		    __builtin_add_overflow(s->row_floats, slack, &s->row_floats) ||
		    __builtin_mul_overflow((s->ring + 1) * 4, s->row_floats, &bytes))
			bytes = INT64_MAX;
		if (bytes <= SLAB_TARGET ||
		    s->tile_w <= 2 * GEMM_MAX_ROWS * (c->transposed ? c->stride_w : 1))
			break;
	}
	s->num_tiles = npu_ceil_div(c->ow, s->tile_w);
	return bytes <= SLAB_MAX;
}

void npu_slab_tile_cols(const struct npu_conv *c, npu_s64 x0, npu_s64 x1, npu_s64 *first,
			npu_s64 *count)
{
	tile_cols(c, x0, x1, first, count);
}
