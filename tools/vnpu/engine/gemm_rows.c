// SPDX-License-Identifier: MIT
/*
 * A strip of rows of A, widened to f32 in the worker's scratch where it stays in the L2 cache, is
 * multiplied with one panel group after the other, which pass through the L1 cache.
 */
#include "gemm_rows.h"

#define STRIP_BYTES	(128u << 10)
#define STRIP_MAX	(8 * 14)
/*
 * Pieces of work for each worker: enough to even out what the other processes of the machine take
 * away.
 */
#define ITEMS_PER_WORKER	12
#define ITEM_MIN_NS	4e3

static npu_s64 ceil_div(npu_s64 a, npu_s64 b)
{
	return (a + b - 1) / b;
}

static void strip_load(const struct npu_gemm_rows *g, float *dst, const char *a, npu_s64 rows)
{
	npu_s64 r;

	if (g->a_k * g->k == g->a_row && g->lda == g->k) {
		npu_gemm_load(g->gemm, g->a_type, dst, a, g->a_k, (size_t)(rows * g->k));
		return;
	}
	for (r = 0; r < rows; r++, a += g->a_row, dst += g->lda)
		npu_gemm_load(g->gemm, g->a_type, dst, a, g->a_k, (size_t)g->k);
}

/*
 * Items are (batch, strip, block of columns); the blocks of a strip come one after the other and
 * share its copy.
 */
static void chunk(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct npu_gemm_rows *g = arg;
	struct npu_gemm_seg seg = { 0, 0, (size_t)g->k };
	struct npu_gemm_strip s = {
		.gemm = g->gemm,
		.b_type = g->b_type,
		.lda = g->lda,
		.seg = &seg,
		.num_segs = 1,
		.epi = g->epi,
		.epi_fn = g->epi_fn,
		.b_panel = g->k * NPU_PANEL * (g->b_type == GEMM_B_F32 ? 4 : 2),
	};
	float *tile = npu_exec_scratch(x, worker), *copy = tile + GEMM_TILE_FLOATS;
	npu_s64 i, held = -1, at_strip, row, rows, col;
	struct npu_gemm_at at;

	for (i = (npu_s64)begin; i < (npu_s64)end; i++) {
		if (npu_exec_stopped(x))
			return;
		at_strip = i / g->num_blocks;
		row = at_strip % g->num_strips * g->strip;
		rows = g->m - row < g->strip ? g->m - row : g->strip;
		col = i % g->num_blocks * g->block;
		if (held != at_strip) {
			held = at_strip;
			g->at(g, at_strip / g->num_strips, &at);
			at.a += row * g->a_row;
			at.place.out += row * at.place.out_step;
			if (at.place.res)
				at.place.res += row * at.place.res_step;
			if (!g->direct)
				strip_load(g, copy, at.a, rows);
		}
		s.a = g->direct ? (const float *)(const void *)at.a : copy;
		s.b = at.b;
		s.place = at.place;
		npu_gemm_strip(&s, rows, col, g->n - col < g->block ? g->n - col : g->block, tile);
	}
}

/* f32 rows with their elements side by side need no copy. */
static bool can_read_direct(const struct npu_gemm_rows *g)
{
	struct npu_gemm_at at;
	npu_s64 i;

	if (g->a_type != NPU_F32 || (g->a_k != 4 && g->k > 1) || g->a_row % 4)
		return false;
	for (i = 0; i < g->batch && i < 4; i++) {
		g->at(g, i, &at);
		if ((uintptr_t)at.a % 4)
			return false;
	}
	return g->batch <= 4;
}

/*
 * An odd number of cache lines from row to row, so that the rows of a tile do not meet in one set
 * of the L1 cache.
 */
static ptrdiff_t padded_lda(npu_s64 k)
{
	if (k < 128 || k % 16)
		return k;
	return k / 16 % 2 ? k : k + 16;
}

/* An estimate of the time of @rows rows by @cols columns. */
static double part_ns(const struct npu_exec *x, const struct npu_gemm_rows *g, npu_s64 rows,
		      npu_s64 cols)
{
	double weights = (double)g->k * (double)cols;

	return npu_exec_weights_ns((double)rows * weights * npu_gemm_ns(x->simd),
				   weights * (g->b_type == GEMM_B_F32 ? 4 : 2));
}

static void plan(const struct npu_exec *x, struct npu_gemm_rows *g)
{
	npu_s64 most = g->gemm->rows[GEMM_16] > g->gemm->rows[GEMM_32] ? g->gemm->rows[GEMM_16] :
									 g->gemm->rows[GEMM_32];
	npu_s64 want = ITEMS_PER_WORKER * x->num_workers, groups = ceil_div(g->n, 2 * NPU_PANEL);
	double ns = part_ns(x, g, g->m, g->n) * (double)g->batch;

	g->direct = can_read_direct(g);
	g->lda = g->direct ? g->a_row / 4 : padded_lda(g->k);
	g->strip = STRIP_BYTES / 4 / (g->k + 1);
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

int npu_gemm_rows_run(struct npu_exec *x, struct npu_gemm_rows *g)
{
	size_t bytes;
	double ns;

	g->gemm = npu_gemm_select(x->simd);
	plan(x, g);
	bytes = GEMM_TILE_FLOATS * sizeof(float) +
		(g->direct ? 0 : (size_t)g->strip * (size_t)g->lda * sizeof(float));
	if (npu_exec_reserve(x, bytes))
		return -ENOMEM;
	npu_exec_path(x, g->gemm->path);
	ns = 100.0 + part_ns(x, g, g->strip, g->block);
	return npu_exec_parallel(x, (npu_u64)(g->batch * g->num_strips * g->num_blocks), ns, chunk,
				 g);
}
