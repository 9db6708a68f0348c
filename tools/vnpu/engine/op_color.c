// SPDX-License-Identifier: MIT
/*
 * COLOR. Each component of an output pixel is picked out of the bytes of a source row (with BOX
 * interpolated along W) into a row that is kept for the next output rows, rows are combined along
 * H, and the matrix is applied last: only what is sampled is converted. Where 16 pixels in a row
 * look at bytes that are near each other, these are shuffled; else what a tile of columns looks at
 * becomes f32 in one go and is gathered.
 */
#include <math.h>
#include "iter.h"

#define MAX_COLS	1024u	/* output pixels of a tile */
#define MAX_SPAN	16384	/* bytes of a source row that are loaded at once */
#define ROWS		16u	/* output rows that one item does in turn */

/* Where a component lies: at + x / 2^shift_x * step in row y / 2^shift_y of a plane. */
struct component {
	unsigned int plane, shift_x;
	npu_s64 at, step;
};

struct plane {
	const unsigned char *p;
	npu_s64 image, row;		/* strides */
	unsigned int shift_y;
	unsigned int first, count;	/* components in it */
};

struct color {
	const struct npu_vec *vec;
	const struct npu_operand *out, *in;
	struct npu_elem oe;
	char *op;
	struct component comp[3];
	struct plane plane[2];
	unsigned int num_planes;
	float m[18];			/* offset 3, matrix 9, mul 3, add 3 */
	float limit;
	bool boxed;
	float box[4];			/* of image n: y0, x0, y1, x1 */
	npu_u64 n;
	npu_u32 cols;			/* of a tile */
	npu_u64 row_tiles;		/* items are tiles, one below the other */
};

/* Two resampled rows of each plane are kept: @held of an output row is 1 + the source row. */
struct scratch {
	float strip[MAX_SPAN];
	float row[2][2][3][MAX_COLS];		/* plane, slot, component */
	npu_u64 held[2][2];
	unsigned int last[2];			/* slot that was used last */
	float mixed[3][MAX_COLS], result[3][MAX_COLS], pixels[3 * MAX_COLS];
	/* what is the same for all rows of a tile */
	npu_u32 x[2][MAX_COLS];			/* the two pixels */
	float frac[MAX_COLS];
	int index[3][2][MAX_COLS];		/* of a component in the strip */
	struct npu_near near[3][MAX_COLS / NPU_NEAR_GROUP];	/* the same */
	bool is_near[2];			/* of all components of a plane */
	npu_s64 first[2]; /* byte of a row where the strip of a plane begins */
	npu_s64 span[2];  /* its bytes; 0: too many, bytes are read one by one */
	npu_u64 ow;
	npu_u32 cols;
};

static npu_u32 clamp_index(float v, npu_u32 size)
{
	return !(v > 0.0f) ? 0 : v >= (float)(size - 1) ? size - 1 : (npu_u32)v;
}

/* The pixels that output @o of an axis (0: H, 1: W) looks at, and how much of the second. */
static float find_taps(const struct color *w, unsigned int axis, npu_u32 o, npu_u32 at[2])
{
	npu_u32 size = w->in->dim[1 + axis], first, last;
	float lo = w->box[axis], hi = w->box[2 + axis], step, v, base;
	int i;

	if (!w->boxed) {
		at[0] = at[1] = o;
		return 0.0f;
	}
	step = (hi - lo) / (float)w->out->dim[1 + axis];
	v = __builtin_fmaf((float)o + 0.5f, step, lo) - 0.5f;
	base = floorf(v);
	first = clamp_index(floorf(lo), size);
	last = clamp_index(ceilf(hi) - 1.0f, size);
	for (i = 0; i < 2; i++) {
		float t = base + (float)i;

		at[i] = !(t > (float)first) ? first :
			t >= (float)last    ? last :
					      clamp_index(t, size);
	}
	return v - base;
}

static npu_s64 byte_of(const struct component *c, npu_u32 x)
{
	return c->at + (npu_s64)(x >> c->shift_x) * c->step;
}

/* The bytes that the tile needs of each row of plane @p, and where in them its components are. */
static void plane_prepare(const struct color *w, struct scratch *s, unsigned int p)
{
	npu_s64 lo = INT64_MAX, hi = 0, b;
	npu_u32 c, i, k;

	for (c = w->plane[p].first; c < w->plane[p].first + w->plane[p].count; c++)
		for (k = 0; k < 2; k++)
			for (i = 0; i < s->cols; i++) {
				b = byte_of(&w->comp[c], s->x[k][i]);
				lo = b < lo ? b : lo;
				hi = b > hi ? b : hi;
			}
	s->first[p] = lo;
	s->span[p] = hi - lo < MAX_SPAN ? hi - lo + 1 : 0;
	for (c = w->plane[p].first; s->span[p] && c < w->plane[p].first + w->plane[p].count; c++)
		for (k = 0; k < 2; k++)
			for (i = 0; i < s->cols; i++)
				s->index[c][k][i] = (int)(byte_of(&w->comp[c], s->x[k][i]) - lo);
}

/* Are the bytes of each group of pixels of component @c near enough? Then they are noted. */
static bool near_prepare(struct scratch *s, unsigned int c)
{
	npu_u32 i, end;
	struct npu_near *near = s->near[c];

	for (i = 0; i < s->cols; i = end, near++) {
		const int *at = s->index[c][0], *next = s->index[c][1];
		int lo = at[i], hi = at[i];
		npu_u32 k;

		end = i + NPU_NEAR_GROUP < s->cols ? i + NPU_NEAR_GROUP : s->cols;
		for (k = i; k < end; k++) {
			lo = at[k] < lo ? at[k] : lo;
			lo = next[k] < lo ? next[k] : lo;
			hi = at[k] > hi ? at[k] : hi;
			hi = next[k] > hi ? next[k] : hi;
		}
		if (hi - lo >= NPU_NEAR_BYTES)
			return false;
		*near = (struct npu_near){ .base = (npu_u32)lo };
		for (k = i; k < end; k++) {
			near->at[k - i] = (npu_u8)(at[k] - lo);
			near->at[NPU_NEAR_GROUP + k - i] = (npu_u8)(next[k] - lo);
		}
	}
	return true;
}

static void tile_prepare(const struct color *w, struct scratch *s)
{
	npu_u32 i, at[2], p, c;

	for (i = 0; i < s->cols; i++) {
		s->frac[i] = find_taps(w, 1, (npu_u32)s->ow + i, at);
		s->x[0][i] = at[0];
		s->x[1][i] = at[1];
	}
	for (p = 0; p < w->num_planes; p++) {
		plane_prepare(w, s, p);
		s->is_near[p] = s->span[p] && w->vec->pick_near_fast();
		for (c = w->plane[p].first; c < w->plane[p].first + w->plane[p].count; c++)
			s->is_near[p] = s->is_near[p] && near_prepare(s, c);
	}
	memset(s->held, 0, sizeof(s->held));
}

/* Row @y of plane @p, its components at the tile's columns. */
static void make_row(const struct color *w, struct scratch *s, unsigned int p, npu_u64 y,
		     float row[3][MAX_COLS])
{
	static const struct npu_elem byte = { .dtype = NPU_U8, .size = 1 };
	const struct plane *plane = &w->plane[p];
	npu_u64 n = w->in->dim[0] == 1 ? 0 : w->n;
	const unsigned char *at = plane->p + (npu_s64)n * plane->image + (npu_s64)y * plane->row;
	npu_u32 c, i;

	if (s->span[p] && !s->is_near[p])
		w->vec->load(s->strip, &byte, &(struct npu_patch){
			.p = (char *)at + s->first[p], .col = 1, .rows = 1,
			.cols = (npu_u32)s->span[p] });
	for (c = plane->first; c < plane->first + plane->count; c++) {
		if (s->is_near[p]) {
			w->vec->pick_near(row[c], at + s->first[p], (size_t)s->span[p], s->near[c],
					  w->boxed ? s->frac : NULL, s->cols);
			continue;
		}
		if (s->span[p]) {
			w->vec->pick(row[c], s->strip, s->index[c][0], s->index[c][1],
				     w->boxed ? s->frac : NULL, s->cols);
			continue;
		}
		for (i = 0; i < s->cols; i++) {
			float a = at[byte_of(&w->comp[c], s->x[0][i])];
			float b = at[byte_of(&w->comp[c], s->x[1][i])];

			row[c][i] = __builtin_fmaf(b - a, s->frac[i], a);
		}
	}
}

/* The slot that has row @y of plane @p. The other one stays as it is. */
static unsigned int get_row(const struct color *w, struct scratch *s, unsigned int p, npu_u64 y)
{
	unsigned int slot;

	for (slot = 0; slot < 2; slot++)
		if (s->held[p][slot] == y + 1)
			return s->last[p] = slot;
	slot = !s->last[p];
	make_row(w, s, p, y, s->row[p][slot]);
	s->held[p][slot] = y + 1;
	return s->last[p] = slot;
}

/* v: the three components of the tile's pixels of output row @oh. */
static void resample_row(const struct color *w, struct scratch *s, npu_u32 oh, const float *v[3])
{
	npu_u32 y[2], p, c;
	float f = find_taps(w, 0, oh, y);

	for (p = 0; p < w->num_planes; p++) {
		npu_u64 a = y[0] >> w->plane[p].shift_y, b = y[1] >> w->plane[p].shift_y;
		unsigned int first = get_row(w, s, p, a), second = first;

		/* nothing of the second row, or it is the same: fma() gives the first as it is */
		if (f != 0.0f && (a != b || f != f))
			second = get_row(w, s, p, b);
		for (c = w->plane[p].first; c < w->plane[p].first + w->plane[p].count; c++) {
			v[c] = s->row[p][first][c];
			if (f == 0.0f || (a == b && f == f))
				continue;
			w->vec->lerp(s->mixed[c], v[c], s->row[p][second][c], s->cols, f);
			v[c] = s->mixed[c];
		}
	}
}

/* The three channels of a row: pixel by pixel where they lie so, else channel by channel. */
static void store_row(const struct color *w, struct scratch *s, npu_u64 oh,
		      const float *const channel[3])
{
	const npu_s64 *os = w->out->stride;
	struct npu_patch to = {
		.p = w->op + (npu_s64)w->n * os[0] + (npu_s64)oh * os[1] + (npu_s64)s->ow * os[2],
		.col = os[2], .rows = 1, .cols = s->cols };
	unsigned int i;

	if (os[3] == w->oe.size && os[2] == 3 * os[3]) {
		w->vec->interleave3(s->pixels, channel, s->cols);
		to.col = os[3];
		to.cols *= 3;
		w->vec->store(s->pixels, &w->oe, &to);
		return;
	}
	for (i = 0; i < 3; i++, to.p += os[3])
		w->vec->store(channel[i], &w->oe, &to);
}

static void tile_row(const struct color *w, struct scratch *s, npu_u64 oh)
{
	const float *v[3], *channel[3] = { s->result[0], s->result[1], s->result[2] };
	unsigned int i;

	resample_row(w, s, (npu_u32)oh, v);
	for (i = 0; i < 3; i++) {
		const struct npu_mix3 mix = {
			.offset = w->m, .weight = w->m + 3 + 3 * i, .limit = w->limit,
			.mul = w->m[12 + i], .add = w->m[15 + i],
		};

		w->vec->mix3(s->result[i], v, s->cols, &mix);
	}
	store_row(w, s, oh, channel);
}

static void run(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct color *w = arg;
	struct scratch *s = npu_exec_scratch(x, worker);
	npu_u64 ready = ~0ull;		/* the tile that is prepared */

	for (; begin < end && !npu_exec_stopped(x); begin++) {
		npu_u64 oh = begin % w->row_tiles * ROWS, last = oh + ROWS, left;
		npu_u64 tile = begin / w->row_tiles;

		s->ow = tile * w->cols;
		left = w->out->dim[2] - s->ow;
		s->cols = left < w->cols ? (npu_u32)left : w->cols;
		if (tile != ready) {
			tile_prepare(w, s);
			npu_exec_path(x, s->is_near[0] ? NPU_PATH_COLOR_NEAR :
							 NPU_PATH_COLOR_GATHER);
			ready = tile;
		}
		for (; oh < last && oh < w->out->dim[1] && !npu_exec_stopped(x); oh++)
			tile_row(w, s, oh);
	}
}

static void set_plane(struct color *w, unsigned int p, const void *ptr,
		      const struct npu_operand *op, unsigned int shift_y, unsigned int first,
		      unsigned int count)
{
	w->plane[p] = (struct plane){ .p = ptr, .image = op->stride[0], .row = op->stride[1],
				      .shift_y = shift_y, .first = first, .count = count };
	w->num_planes = p + 1;
}

/* Where the bytes of a pixel lie. */
static void set_format(struct color *w, const struct npu_exec *x)
{
	const struct npu_operand *chroma = npu_insn_slot(&x->insn, NPU_COLOR_CHROMA);
	const npu_s64 *s = w->in->stride;
	unsigned int format = x->param[NPU_COLOR_P_FORMAT], c;
	npu_s64 swap = npu_insn_param(&x->insn, NPU_COLOR_P_SWAP);

	if (format == NPU_COLOR_NV12) {
		set_plane(w, 0, x->ptr[NPU_COLOR_IN], w->in, 0, 0, 1);
		set_plane(w, 1, x->ptr[NPU_COLOR_CHROMA], chroma, 1, 1, 2);
		w->comp[0] = (struct component){ 0, 0, 0, s[2] };
		w->comp[1] = (struct component){ 1, 1, 0, chroma->stride[2] };
		w->comp[2] = (struct component){ 1, 1, chroma->stride[3], chroma->stride[2] };
		return;
	}
	set_plane(w, 0, x->ptr[NPU_COLOR_IN], w->in, 0, 0, 3);
	if (format == NPU_COLOR_YUYV) {
		w->comp[0] = (struct component){ 0, 0, swap * s[3], s[2] };
		w->comp[1] = (struct component){ 0, 1, (1 - swap) * s[3], 2 * s[2] };
		w->comp[2] = (struct component){ 0, 1, s[2] + (1 - swap) * s[3], 2 * s[2] };
		return;
	}
	for (c = 0; c < 3; c++)
		w->comp[c] = (struct component){
			0, 0, (format == NPU_COLOR_BGR24 ? 2 - c : c) * s[3], s[2] };
}

/* Few enough columns that what they look at fits the strip. */
static npu_u32 tile_cols(const struct color *w)
{
	npu_u32 cols = w->out->dim[2] < MAX_COLS ? w->out->dim[2] : MAX_COLS;
	float apart = w->boxed ? fabsf(w->box[3] - w->box[1]) / (float)w->out->dim[2] : 1.0f;
	float bytes = (float)cols * apart * (float)(w->comp[0].step > 0 ? w->comp[0].step : 1);

	while (cols > 64 && bytes > MAX_SPAN - 64) {
		cols /= 2;
		bytes /= 2;
	}
	return cols;
}

static void read_box(struct color *w, const struct npu_exec *x)
{
	const struct npu_operand *op = npu_insn_slot(&x->insn, NPU_COLOR_BOX);
	npu_s64 k;

	for (k = 0; k < 4; k++)
		memcpy(&w->box[k], (char *)x->ptr[NPU_COLOR_BOX] + (npu_s64)w->n * op->stride[0] +
				   k * op->stride[1], sizeof(float));
}

int npu_op_color(struct npu_exec *x)
{
	const struct npu_operand *m = &x->operand[NPU_COLOR_MATRIX];
	npu_u32 limit = npu_insn_param(&x->insn, NPU_COLOR_P_LIMIT);
	struct color w = {
		.vec = npu_vec_get(x->simd),
		.out = &x->operand[NPU_COLOR_OUT],
		.in = &x->operand[NPU_COLOR_IN],
		.oe = npu_elem_of(&x->operand[NPU_COLOR_OUT]),
		.op = x->ptr[NPU_COLOR_OUT],
		.boxed = npu_exec_present(x, NPU_COLOR_BOX),
	};
	npu_u64 col_tiles;
	int i, ret = 0;

	w.row_tiles = (w.out->dim[1] + ROWS - 1) / ROWS;
	memcpy(&w.limit, &limit, sizeof(w.limit));
	for (i = 0; i < 18; i++)
		memcpy(&w.m[i], (char *)x->ptr[NPU_COLOR_MATRIX] + i * m->stride[0], sizeof(float));
	set_format(&w, x);
	if (npu_exec_reserve(x, sizeof(struct scratch)))
		return -ENOMEM;
	for (w.n = 0; w.n < w.out->dim[0] && !ret; w.n++) {
		if (w.boxed)
			read_box(&w, x);
		w.cols = tile_cols(&w);
		col_tiles = (w.out->dim[2] + w.cols - 1) / w.cols;
		ret = npu_exec_parallel(x, w.row_tiles * col_tiles, ROWS * (double)w.cols * 2, run,
					&w);
	}
	return ret;
}
