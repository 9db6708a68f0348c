// SPDX-License-Identifier: MIT
/*
 * Depthwise convolution of 8-bit data by the four-way dot product. For every output row the rows of
 * input that it needs are interleaved to quads (dw8.h), one column after the other, as much of the
 * row and of its channels at a time as stays in the first-level cache; then a vector of channels
 * takes a quad of weights per column of the kernel. As in conv_depthwise.c channels that fill their
 * vectors badly are taken together with those of the next pixels.
 *
 * Everything is exact, so sums may wrap on the way: sum (x - zx) wd = sum x wd - zx sum wd.
 */
#include "conv.h"
#include "dw8.h"

#define QUAD_BYTES	(80u << 10)
#define CHANNELS	64	/* a block of channels is a multiple of it, or all of them */
#define TILE_MIN	16
#define SLACK		64	/* quads that interleaving may write past the end */
#define TAPS_MAX	1024
#define PACK_MAX	(1 << 20)

struct plan {
	const struct npu_conv *c;
	const struct npu_dw8 *k;
	struct npu_epi epi;		/* with vectors repeated as the weights are */
	npu_s64 period, pixels;		/* channels of the weights; pixels in them */
	npu_s64 quads;			/* of a column of the kernel */
	npu_s64 block;			/* channels at a time */
	npu_s64 tile_w, num_tiles, cols;	/* output columns, and the input's for them */
	npu_s64 quad_row;		/* quads from one of a column to the next */
	npu_u8 flip;
	bool finish;
	npu_u32 *w;			/* [quads][kw][period] */
	npu_s32 *start;			/* [period] */
	npu_u8 *padding;		/* cols * block times the input's zero point */
};

const struct npu_dw8 *npu_dw8_select(enum npu_simd simd, bool vnni)
{
#if defined(__x86_64__)
	if (simd == NPU_SIMD_AVX512 && vnni)
		return &npu_dw8_avx512;
#endif
	return NULL;
}

/* Part of an input row's columns [x, x + n) and channels to quads; NULL rows are padding. */
static void columns(const struct plan *p, npu_u32 *dst, const npu_u8 *const row[4], npu_s64 x,
		    npu_s64 n, npu_s64 channels)
{
	const struct npu_conv *c = p->c;
	bool dense = p->block == c->c && c->in->stride[2] == c->c;
	npu_s64 steps = dense ? 1 : n, size = dense ? n * c->c : channels, i;
	const npu_u8 *src[4];
	int r;

	for (i = 0; i < steps; i++, dst += p->block) {
		for (r = 0; r < 4; r++)
			src[r] = row[r] ? row[r] + (x + i) * c->in->stride[2] : p->padding;
		p->k->interleave(dst, src, (size_t)size, p->flip);
	}
}

/* The quads of one row of them for output row @oh, columns [x0, ..) of the tile. */
static void quads_fill(const struct plan *p, npu_u32 *dst, npu_s64 n, npu_s64 oh, npu_s64 x0,
		       npu_s64 q, npu_s64 cols, npu_s64 first_channel)
{
	const struct npu_conv *c = p->c;
	npu_s64 first = x0 * c->stride_w - c->pad_left, ih, kh, left, right;
	npu_s64 channels = c->c - first_channel < p->block ? c->c - first_channel : p->block;
	const npu_u8 *const none[4] = { p->padding, p->padding, p->padding, p->padding };
	const npu_u8 *row[4];
	int r;

	for (r = 0; r < 4; r++) {
		kh = 4 * q + r;
		ih = oh * c->stride_h - c->pad_top + kh * c->dil_h;
		row[r] = kh < c->kh && ih >= 0 && ih < c->h ?
				 (const npu_u8 *)c->in_ptr + n * c->in->stride[0] +
					 ih * c->in->stride[1] + first_channel :
				 NULL;
	}
	left = first < 0 ? (-first < cols ? -first : cols) : 0;
	right = first + cols > c->w ? c->w - first : cols;
	right = right < left ? left : right;
	if (left)
		p->k->interleave(dst, none, (size_t)(left * p->block), p->flip);
	if (right > left)
		columns(p, dst + left * p->block, row, first + left, right - left, channels);
	if (cols > right)
		p->k->interleave(dst + right * p->block, none, (size_t)((cols - right) * p->block),
				 p->flip);
}

/* @count pixels from @x on (in units of a period's), channels [col, ..) of the block's. */
static void vectors(const struct plan *p, const npu_u32 *quad, npu_s64 x, npu_s64 count,
		    npu_s64 first_channel, npu_s64 channels, const struct npu_epi_place *place,
		    npu_s32 *acc)
{
	const struct npu_conv *c = p->c;
	struct npu_dw8_tile t = {
		.quad_row = p->quad_row,
		.quad_col = c->dil_w * p->block,
		.step = p->pixels > 1 ? p->pixels * c->c : c->stride_w * p->block,
		.w_step = p->period,
		.rows = (unsigned int)p->quads,
		.cols = (unsigned int)c->kw,
		.c = acc,
		.count = (unsigned int)count,
	};
	npu_s64 col;

	for (col = 0; col < channels; col += DW8_LANES) {
		unsigned int n = (unsigned int)(channels - col < DW8_LANES ? channels - col :
									     DW8_LANES);
		npu_u32 o = (npu_u32)(first_channel + col);

		t.quad = quad + x * t.step + col;
		t.w = p->w + o;
		t.start = p->start + o;
		p->k->tile(&t);
		if (p->finish)
			p->k->finish(&p->epi, acc, t.count, o, n, place);
		else
			c->epi_fn(&p->epi, (float *)(void *)acc, DW8_LANES, t.count, o, n, place);
	}
}

static void block_run(const struct plan *p, npu_u32 *quad, npu_s64 n, npu_s64 oh, npu_s64 x0,
		      npu_s64 first_channel, npu_s32 *acc)
{
	const struct npu_conv *c = p->c;
	npu_s64 width = c->ow - x0 < p->tile_w ? c->ow - x0 : p->tile_w, x, m, q;
	npu_s64 cols = (width - 1) * c->stride_w + (c->kw - 1) * c->dil_w + 1;
	npu_s64 count = width / p->pixels, rest = width % p->pixels;
	npu_s64 channels = c->c - first_channel < p->block ? c->c - first_channel : p->block;
	struct npu_epi_place place;

	for (q = 0; q < p->quads; q++)
		quads_fill(p, quad + q * p->quad_row, n, oh, x0, q, cols, first_channel);
	npu_conv_place(c, n, oh, x0, &place);
	place.out_step *= p->pixels;
	place.res_step *= p->pixels;
	for (x = 0; x < count; x += m) {
		m = count - x < DW8_PIXELS ? count - x : DW8_PIXELS;
		vectors(p, quad, x, m, first_channel, channels * p->pixels, &place, acc);
		place.out += m * place.out_step;
		if (place.res)
			place.res += m * place.res_step;
	}
	if (rest)
		vectors(p, quad, count, 1, first_channel, rest * c->c, &place, acc);
}

/* Items are (batch, output row, tile of columns). */
static void chunk(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct plan *p = arg;
	const struct npu_conv *c = p->c;
	npu_s32 *acc = npu_exec_scratch(x, worker);
	npu_u32 *quad = (npu_u32 *)acc + DW8_PIXELS * DW8_LANES;
	npu_s64 i, tile, oh, ch;

	for (i = (npu_s64)begin; i < (npu_s64)end; i++) {
		if (npu_exec_stopped(x))
			return;
		tile = i % p->num_tiles;
		oh = i / p->num_tiles % c->oh;
		for (ch = 0; ch < c->c; ch += p->block)
			block_run(p, quad, i / p->num_tiles / c->oh, oh, tile * p->tile_w, ch, acc);
	}
}

/* How much of a row at a time. */
static void cut(struct plan *p)
{
	const struct npu_conv *c = p->c;

	p->block = c->c;
	p->tile_w = c->ow;
	for (;;) {
		p->cols = (p->tile_w - 1) * c->stride_w + (c->kw - 1) * c->dil_w + 1;
		if (p->quads * p->cols * p->block * 4 <= QUAD_BYTES)
			break;
		if (p->pixels == 1 && p->block > CHANNELS)
			p->block = (p->block / 2 + CHANNELS - 1) / CHANNELS * CHANNELS;
		else if (p->tile_w > TILE_MIN * p->pixels)
			p->tile_w = (p->tile_w / 2 + p->pixels - 1) / p->pixels * p->pixels;
		else
			break;
	}
	p->num_tiles = (c->ow + p->tile_w - 1) / p->tile_w;
	/* Vectors read past the last pixel's channels, in a rest up to the end of the period. */
	p->quad_row = p->cols * p->block + p->period + SLACK;
}

/* What stands for one weight less its zero point; false when that is no i8. */
static bool weight_put(const struct plan *p, npu_s64 o, npu_s64 kh, npu_s64 kw)
{
	const struct npu_conv *c = p->c;
	const char *src = npu_conv_weight_at(c, o, kh, kw, 0);
	npu_s32 v = (c->weight->dtype == NPU_I8 ? *(const signed char *)src :
						  *(const unsigned char *)src) -
		    c->w_zero[o];

	((signed char *)(p->w + (kh / 4 * c->kw + kw) * p->period + o))[kh % 4] = (signed char)v;
	return v >= -128 && v <= 127;
}

/*
 * Zero points 0 of i8, or 128 of u8, and taps of all channels side by side: bytes are interleaved.
 */
static bool weights_plain(const struct npu_conv *c)
{
	npu_s32 want = c->weight->dtype == NPU_I8 ? 0 : 128;
	npu_s64 o;

	if (c->weight->layout != NPU_LAYOUT_STRIDED || c->weight->stride[0] != 1)
		return false;
	for (o = 0; o < c->o; o++)
		if (c->w_zero[o] != want)
			return false;
	return true;
}

static bool weights_pack(struct npu_exec *x, const struct plan *p, npu_u8 *none)
{
	const struct npu_conv *c = p->c;
	npu_u8 flip = c->weight->dtype == NPU_U8 ? 0x80 : 0;
	bool plain = weights_plain(c), good = true;
	const npu_u8 *row[4];
	npu_s64 q, kw, r, o;
	npu_u32 *dst = p->w;

	memset(none, flip, (size_t)c->o);
	for (q = 0; q < p->quads; q++) {
		for (kw = 0; kw < c->kw; kw++, dst += p->period) {
			if (npu_exec_stopped(x))
				return true;
			for (r = 0; r < 4; r++)
				row[r] = 4 * q + r < c->kh ?
						 (const npu_u8 *)npu_conv_weight_at(c, 0, 4 * q + r,
										    kw, 0) :
						 none;
			if (plain)
				p->k->interleave(dst, row, (size_t)c->o, flip);
			else
				memset(dst, 0, (size_t)c->o * sizeof(*dst));
			for (o = 0; !plain && o < c->o; o++)
				for (r = 0; r < 4 && 4 * q + r < c->kh; r++)
					good &= weight_put(p, o, 4 * q + r, kw);
			for (o = 1; o < p->pixels; o++)
				memcpy(dst + o * c->o, dst, (size_t)c->o * sizeof(*dst));
			memset(dst + p->pixels * c->o, 0,
			       (size_t)(p->period - p->pixels * c->o) * sizeof(*dst));
		}
	}
	return good;
}

/* Minus the zero point times the sum of the weights, which is their product with ones. */
static void start_fill(const struct plan *p)
{
	npu_u32 ones[DW8_LANES];
	const npu_s32 none[DW8_LANES] = { 0 };
	npu_s32 zero = p->c->x_zero + (p->flip ? 128 : 0);
	npu_s64 o;
	int i;

	for (i = 0; i < DW8_LANES; i++)
		ones[i] = 0x01010101;
	for (o = 0; o < p->period; o += DW8_LANES) {
		p->k->tile(&(struct npu_dw8_tile){ .quad = ones,
						   .w = p->w + o,
						   .w_step = p->period,
						   .start = none,
						   .rows = (unsigned int)p->quads,
						   .cols = (unsigned int)p->c->kw,
						   .c = p->start + o,
						   .count = 1 });
		for (i = 0; i < DW8_LANES; i++)
			p->start[o + i] = (npu_s32)(0u - (npu_u32)zero * (npu_u32)p->start[o + i]);
	}
}

static const void *repeat(char **mem, const void *src, const struct plan *p)
{
	npu_s64 n = p->c->o, i;
	npu_u32 *dst = (npu_u32 *)(void *)*mem;

	if (!src)
		return NULL;
	for (i = 0; i < p->pixels; i++)
		memcpy(dst + i * n, src, (size_t)n * sizeof(*dst));
	memset(dst + p->pixels * n, 0,
	       (size_t)(p->period + DW8_LANES - p->pixels * n) * sizeof(*dst));
	*mem += (p->period + DW8_LANES) * (npu_s64)sizeof(*dst);
	return dst;
}

/* Shared memory behind the epilogue's vectors. 0, -ENOMEM, or -ERANGE: a weight that is no i8. */
static int prepare(struct npu_exec *x, struct plan *p, struct npu_conv *c)
{
	size_t w = (size_t)(p->quads * c->kw * p->period + SLACK) * 4,
	       pad = (size_t)(p->cols * p->block + 64);
	size_t vector = (size_t)(p->period + DW8_LANES) * 4;
	char *mem = npu_conv_extra(x, c, w + 4 * vector + pad + (size_t)c->o);

	if (!mem)
		return -ENOMEM;
	p->w = (npu_u32 *)(void *)mem;
	p->start = (npu_s32 *)(void *)(mem + w);
	mem += w + vector;
	p->epi = c->epi;
	p->epi.ibias = repeat(&mem, c->epi.ibias, p);
	p->epi.scale = repeat(&mem, c->epi.scale, p);
	p->epi.slope = repeat(&mem, c->epi.slope, p);
	p->padding = (npu_u8 *)mem;
	memset(p->padding, c->x_zero, pad);
	if (!weights_pack(x, p, p->padding + pad))
		return -ERANGE;
	start_fill(p);
	return 0;
}

static bool row_is_flat(const struct npu_conv *c)
{
	npu_s64 size = npu_dtype_bits(c->out->dtype) / 8;

	if (c->stride_w != 1 || c->in->stride[2] != c->c || c->epi.out_chan != size ||
	    c->out->stride[2] != c->o * size)
		return false;
	return !c->epi.res || (c->epi.res_chan == npu_dtype_bits(c->epi.res->dtype) / 8 &&
			       npu_epi_res_stride(&c->epi, 2) == c->o * c->epi.res_chan);
}

static npu_s64 gcd(npu_s64 a, npu_s64 b)
{
	return b ? gcd(b, a % b) : a;
}

int npu_conv_depthwise8(struct npu_exec *x, struct npu_conv *c)
{
	struct plan p = { .c = c, .k = npu_dw8_select(x->simd, x->vnni), .pixels = 1 };
	npu_s64 used = (c->o + DW8_LANES - 1) / DW8_LANES * DW8_LANES, taps = c->kh * c->kw;
	double vectors_ns;
	int ret;

	if (!p.k || !c->integer || c->transposed || c->cg != 1 || c->og != 1 ||
	    c->in->stride[3] != 1 || taps > TAPS_MAX || taps * c->o > PACK_MAX)
		return -ERANGE;
	if (row_is_flat(c) && c->o * 4 < used * 3 && c->o < 4 * DW8_LANES)
		p.pixels = DW8_LANES / gcd(DW8_LANES, c->o);
	p.period = (p.pixels * c->o + DW8_LANES - 1) / DW8_LANES * DW8_LANES;
	p.quads = (c->kh + 3) / 4;
	p.flip = c->in->dtype == NPU_I8 ? 0x80 : 0;
	p.finish = npu_dw8_finishes(&c->epi);
	cut(&p);
	if (p.quads * p.quad_row > PACK_MAX * 4)
		return -ERANGE;
	if (npu_exec_reserve(x, (DW8_PIXELS * DW8_LANES + (size_t)(p.quads * p.quad_row)) * 4))
		return -ENOMEM;
	ret = prepare(x, &p, c);
	if (ret)
		return ret;
	npu_exec_path(x, NPU_PATH_CONV_DEPTHWISE8);
	vectors_ns = (double)(p.tile_w * c->o) / DW8_LANES;
	return npu_exec_parallel(x, (npu_u64)(c->n * p.num_tiles * c->oh),
				 50.0 + vectors_ns * (2.0 + 0.3 * (double)(p.quads * (c->kw + 2)) +
						      (p.finish ? 0.0 : 10.0)),
				 chunk, &p);
}
