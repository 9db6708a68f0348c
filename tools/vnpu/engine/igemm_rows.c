// SPDX-License-Identifier: MIT
/*
 * As gemm_rows.c for codes: a strip of rows, read in place where it is dense and unsigned and else
 * copied with its highest bits flipped, is multiplied with one group of panels after the other.
 */
#include "igemm_rows.h"

#define STRIP_BYTES	(64u << 10)
#define STRIP_MAX	(8 * 13)
#define ITEMS_PER_WORKER	12
#define ITEM_MIN_NS	4e3

static npu_s64 ceil_div(npu_s64 a, npu_s64 b)
{
	return (a + b - 1) / b;
}

size_t npu_igemm_cols_bytes(npu_s64 n, npu_s64 matrices)
{
	size_t bytes;

	if (__builtin_mul_overflow((size_t)npu_igemm_cols_stride(n) * sizeof(npu_s32),
				   (size_t)matrices, &bytes))
		return SIZE_MAX;
	return bytes;
}

static void row_load(const struct npu_igemm_rows *g, npu_u8 *dst, const char *a)
{
	npu_s64 k;

	if (g->a_k == 1 || g->k == 1) {
		g->gemm->copy(dst, (const npu_u8 *)a, (size_t)g->k, g->a_flip);
	} else {
		for (k = 0; k < g->k; k++)
			dst[k] = (npu_u8)a[k * g->a_k] ^ g->a_flip;
	}
	for (k = g->k; k < npu_igemm_quads(g->k) * 4; k++)
		dst[k] = 0;
}

/* Rows that lie side by side, k apart: planar pixels. */
static void columns_load(const struct npu_igemm_rows *g, npu_u8 *dst, const char *a, npu_s64 rows)
{
	npu_s64 k, r;

	for (k = 0; k < npu_igemm_quads(g->k) * 4; k++)
		for (r = 0; r < rows; r++)
			dst[r * g->lda + k] =
				k < g->k ? (npu_u8)a[k * g->a_k + r] ^ g->a_flip : 0;
}

static void strip_load(const struct npu_igemm_rows *g, npu_u8 *dst, const char *a, npu_s64 rows)
{
	npu_s64 r;

	if (g->a_k == 1 && g->a_row == g->k && g->lda == g->k) {
		g->gemm->copy(dst, (const npu_u8 *)a, (size_t)(rows * g->k), g->a_flip);
	} else if (g->a_row == 1 && g->a_k != 1) {
		columns_load(g, dst, a, rows);
	} else {
		for (r = 0; r < rows; r++)
			row_load(g, dst + r * g->lda, a + r * g->a_row);
	}
	if (g->zero_row) {
		memset(dst + rows * g->lda, g->x_zero, (size_t)g->k);
		memset(dst + rows * g->lda + g->k, 0, (size_t)(npu_igemm_quads(g->k) * 4 - g->k));
	}
}

/* Scratch of a worker: the tile, the sums of the rows, widened codes, the strip. */
struct scratch {
	npu_s32 *tile, *row_sum;
	void *wide;
	npu_u8 *copy;
};

static struct scratch scratch_of(const struct npu_igemm_rows *g, void *mem)
{
	struct scratch s;

	s.tile = mem;
	s.row_sum = s.tile + IGEMM_TILE_WORDS;
	s.wide = s.row_sum + ((g->strip + 15) & ~(npu_s64)15);
	s.copy = (npu_u8 *)s.wide + npu_igemm_wide_bytes(g->gemm, npu_igemm_quads(g->k));
	if (s.copy == s.wide)
		s.wide = NULL;
	return s;
}

static void strip_begin(const struct npu_igemm_rows *g, const struct scratch *mem, npu_s64 at_strip,
			struct npu_epi *epi, struct npu_igemm_strip *s)
{
	npu_s64 row = at_strip % g->num_strips * g->strip;
	npu_s64 rows = g->m - row < g->strip ? g->m - row : g->strip;
	struct npu_igemm_tile t;
	struct npu_igemm_at at;

	g->at(g, at_strip / g->num_strips, &at);
	at.a += row * g->a_row;
	at.place.out += row * at.place.out_step;
	if (at.place.res)
		at.place.res += row * at.place.res_step;
	if (!g->direct)
		strip_load(g, mem->copy, at.a, rows);
	s->a = g->direct ? (const npu_u8 *)at.a : mem->copy;
	s->b = at.b;
	s->place = at.place;
	if (g->use_cols)
		epi->ibias = g->cols + at.b_index * npu_igemm_cols_stride(g->n);
	if (!g->w_zero)
		return;
	t = (struct npu_igemm_tile){ .a = s->a, .lda = s->lda, .seg = s->seg, .num_segs = 1 };
	g->gemm->row_sums(&t, rows, mem->row_sum);
	s->row_sum = mem->row_sum;
}

/*
 * Items are (batch, strip, block of columns); the blocks of a strip come one after the other and
 * share its copy.
 */
static void chunk(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct npu_igemm_rows *g = arg;
	struct scratch mem = scratch_of(g, npu_exec_scratch(x, worker));
	struct npu_igemm_seg seg = { 0, 0, (size_t)npu_igemm_quads(g->k), (size_t)g->k };
	struct npu_epi epi = *g->epi;
	struct npu_igemm_strip s = {
		.gemm = g->gemm,
		.lda = g->lda,
		.seg = &seg,
		.num_segs = 1,
		.b_panel = npu_igemm_quads(g->k) * IGEMM_QUAD_BYTES,
		.b_flip = g->b_flip,
		.wide = mem.wide,
		.w_zero = g->w_zero,
		.zero_row = g->zero_row,
		.k_zero = (npu_u32)g->k * (npu_u32)g->x_zero,
		.epi = &epi,
		.epi_fn = g->epi_fn,
	};
	npu_s64 i, held = -1, at_strip, rows, col;

	for (i = (npu_s64)begin; i < (npu_s64)end; i++) {
		if (npu_exec_stopped(x))
			return;
		at_strip = i / g->num_blocks;
		rows = g->m - at_strip % g->num_strips * g->strip;
		rows = rows < g->strip ? rows : g->strip;
		col = i % g->num_blocks * g->block;
		if (held != at_strip)
			strip_begin(g, &mem, at_strip, &epi, &s);
		held = at_strip;
		npu_igemm_strip(&s, rows, col, g->n - col < g->block ? g->n - col : g->block,
				mem.tile);
	}
}

/* Items are the panels of all matrices: bias - zx sum w + K zx zw of their columns. */
static void cols_chunk(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
		       npu_u64 end)
{
	const struct npu_igemm_rows *g = arg;
	npu_s64 panels = ceil_div(g->n, NPU_PANEL), i, col, j;
	npu_u32 k_zero = (npu_u32)g->k * (npu_u32)g->x_zero, v;
	npu_s32 sum[NPU_PANEL], *dst;

	for (i = (npu_s64)begin; i < (npu_s64)end && !npu_exec_stopped(x); i++) {
		col = i % panels * NPU_PANEL;
		dst = g->cols + i / panels * npu_igemm_cols_stride(g->n) + col;
		g->gemm->col_sums(g->b + i * npu_igemm_quads(g->k) * IGEMM_QUAD_BYTES, (size_t)g->k,
				  g->b_flip, sum);
		for (j = 0; j < NPU_PANEL; j++) {
			v = col + j < g->n && g->epi->ibias ? (npu_u32)g->epi->ibias[col + j] : 0;
			v -= (npu_u32)g->x_zero * (npu_u32)sum[j];
			if (g->w_zero)
				v += k_zero * (npu_u32)g->w_zero[col + j];
			dst[j] = (npu_s32)v;
		}
	}
}

/*
 * An odd number of cache lines from row to row, so that the rows of a tile do not meet in one set
 * of the L1 cache.
 */
static ptrdiff_t padded_lda(npu_s64 k)
{
	k = npu_igemm_quads(k) * 4;
	if (k < 512 || k % 64)
		return k;
	return k / 64 % 2 ? k : k + 64;
}

/* An estimate of the time of @rows rows by @cols columns. */
static double part_ns(const struct npu_igemm_rows *g, npu_s64 rows, npu_s64 cols)
{
	double weights = (double)g->k * (double)cols;

	return npu_exec_weights_ns((double)rows * weights * g->gemm->ns, weights);
}

static void plan(const struct npu_exec *x, struct npu_igemm_rows *g)
{
	npu_s64 most = g->gemm->rows[1] > g->gemm->rows[2] ? g->gemm->rows[1] : g->gemm->rows[2];
	npu_s64 want = ITEMS_PER_WORKER * x->num_workers, groups = ceil_div(g->n, 2 * NPU_PANEL);
	double ns = part_ns(g, g->m, g->n) * (double)g->batch;
	unsigned int few = npu_igemm_panels(g->gemm, g->n, 2);

	g->zero_row = g->x_zero && g->m < g->gemm->rows[few];
	g->use_cols = g->x_zero && !g->zero_row;
	g->direct = !g->a_flip && !g->zero_row && g->k % 4 == 0 && g->a_k == 1;
	g->lda = g->direct ? g->a_row : padded_lda(g->k);
	g->strip = STRIP_BYTES / (g->k + 1);
	g->strip = g->strip < most ? most : g->strip > STRIP_MAX ? STRIP_MAX : g->strip;
	g->num_strips = ceil_div(g->m, g->strip);
	g->strip = ceil_div(g->m, g->num_strips);
	g->num_strips = ceil_div(g->m, g->strip);
	if (ns / ITEM_MIN_NS < (double)want)
		want = (npu_s64)(ns / ITEM_MIN_NS);
	g->num_blocks = x->num_workers > 1 ? ceil_div(want, g->batch * g->num_strips) : 1;
	/* A single strip with a wide matrix is cut further, or the stop flag would wait for it. */
	if ((double)g->num_blocks < ns / (double)(g->batch * g->num_strips) / 2e5)
		g->num_blocks = (npu_s64)(ns / (double)(g->batch * g->num_strips) / 2e5) + 1;
	g->num_blocks = g->num_blocks < 1 ? 1 : g->num_blocks > groups ? groups : g->num_blocks;
	g->block = ceil_div(groups, g->num_blocks) * 2 * NPU_PANEL;
	g->num_blocks = ceil_div(g->n, g->block);
}

int npu_igemm_rows_run(struct npu_exec *x, struct npu_igemm_rows *g)
{
	npu_s64 panels = ceil_div(g->n, NPU_PANEL) * g->b_matrices;
	size_t bytes;
	double ns;
	int ret;

	plan(x, g);
	bytes = ((size_t)IGEMM_TILE_WORDS + (((size_t)g->strip + 15) & ~(size_t)15)) * 4 +
		npu_igemm_wide_bytes(g->gemm, npu_igemm_quads(g->k)) +
		(g->direct ? 0 : ((size_t)g->strip + 1) * (size_t)g->lda);
	if (npu_exec_reserve(x, bytes))
		return -ENOMEM;
	npu_exec_path(x, g->gemm->path);
	if (!g->zero_row && npu_igemm_widens(g->gemm, npu_igemm_quads(g->k), g->strip))
		npu_exec_path(x, NPU_PATH_IGEMM_WIDE);
	if (g->use_cols) {
		ret = npu_exec_parallel(x, (npu_u64)panels, 20.0 + (double)g->k * g->gemm->ns * 16,
					cols_chunk, g);
		if (ret)
			return ret;
	}
	ns = 100.0 + part_ns(g, g->strip, g->block);
	return npu_exec_parallel(x, (npu_u64)(g->batch * g->num_strips * g->num_blocks), ns, chunk,
				 g);
}
