// SPDX-License-Identifier: MIT
/*
 * MATMUL of float rows with codes in groups: a panel becomes f32 in the worker's scratch, and then
 * is one for the float kernels. And what takes any shape, without memory, one element after the
 * other.
 */
#include "gemm_tiles.h"
#include "grouped.h"
#include "matmul.h"
#include "npu_math.h"

#define STRIP_ROWS	128
#define MOST_BYTES	(8u << 20)	/* of rows, or of a panel */
#define MOST_NS		5e5		/* between looks at the stop flag */

struct dequant {
	struct npu_matmul *m;
	struct npu_codes_groups g;
	const struct npu_gemm *gemm;
	const struct npu_gq *gq;
	const struct npu_operand *a_scale;
	const char *a_scale_ptr;
	npu_s64 a_per;
	struct npu_matmul_batch at;
	npu_s64 row, rows;
	float *a;
};

static void dequant_init(struct dequant *w, struct npu_exec *x, struct npu_matmul *m)
{
	static const struct npu_codes_slots slots = {
		.codes = NPU_MATMUL_B, .scale = NPU_MATMUL_GROUP_SCALE, .min = NPU_MATMUL_GROUP_MIN,
		.super = NPU_MATMUL_SUPER_SCALE, .book = NPU_MATMUL_CODEBOOK,
		.group = NPU_MATMUL_P_GROUP, .super_param = NPU_MATMUL_P_SUPER,
	};

	memset(w, 0, sizeof(*w));
	npu_codes_init(&w->g, x, &slots);
	w->m = m;
	w->gemm = npu_gemm_select(x->simd);
	w->gq = npu_gq_select(x->simd, x->vnni);
	w->a_scale = &x->operand[NPU_MATMUL_A_SCALE];
	w->a_scale_ptr = x->ptr[NPU_MATMUL_A_SCALE];
	w->a_per = npu_insn_param(&x->insn, NPU_MATMUL_P_A_GROUP) / w->g.group;
}

static npu_s64 strip_rows(const struct npu_matmul *m)
{
	npu_s64 rows = MOST_BYTES / (4 * m->k);

	rows = rows < 1 ? 1 : rows > STRIP_ROWS ? STRIP_ROWS : rows;
	return rows < m->m ? rows : m->m;
}

bool npu_matmul_grouped_float_can(const struct npu_matmul *m)
{
	return m->k <= MOST_BYTES / 64 / 2;
}

size_t npu_matmul_grouped_float_bytes(const struct npu_matmul *m)
{
	return (size_t)(strip_rows(m) * m->k) * sizeof(float);
}

static void rows_widen(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
		       npu_u64 end)
{
	const struct dequant *w = arg;
	const struct npu_matmul *m = w->m;

	for (; begin < end && !npu_exec_stopped(x); begin++)
		npu_gemm_load(w->gemm, m->a->dtype, w->a + (npu_s64)begin * m->k,
			      w->at.a + (w->row + (npu_s64)begin) * m->a->stride[m->rank - 2],
			      m->a->stride[m->rank - 1], (size_t)m->k);
}

static float weight(const struct npu_codes_groups *g, npu_s64 k, npu_s64 n, float scale, float min)
{
	float code = (float)((npu_s32)npu_codes_get(g, k, n) - g->zero);

	return g->min_ptr ? npu_fma_f32(code, scale, min) : code * scale;
}

/* @codes: room for those of the panel, one byte each. Outputs beyond the last get what there is. */
static void panel_dequant(struct npu_exec *x, const struct dequant *w, npu_s64 panel, float *dst,
			  npu_u8 *codes)
{
	const struct npu_codes_groups *g = &w->g;
	npu_s64 quads = (g->k + 3) / 4, i, j, n, from;
	const npu_u8 *src = (const npu_u8 *)g->codes_ptr + panel * quads * g->bits * 8;
	enum npu_gq_kind kind = npu_codes_kind(g);
	float scale[NPU_PANEL] = { 0 }, min[NPU_PANEL] = { 0 };

	if (w->gq->unpack[kind])
		w->gq->unpack[kind](codes, src, quads, g->book);
	for (i = 0; i < g->groups && !npu_exec_stopped(x); i++) {
		from = i * g->group;
		n = g->k - from < g->group ? g->k - from : g->group;
		for (j = 0; j < NPU_PANEL && panel * NPU_PANEL + j < g->n; j++) {
			scale[j] = npu_codes_scale(g, i, panel * NPU_PANEL + j);
			min[j] = npu_codes_min(g, i, panel * NPU_PANEL + j);
		}
		w->gq->dequant(dst + from * NPU_PANEL,
			       (w->gq->unpack[kind] ? codes : src) + from * NPU_PANEL, n, g->zero,
			       scale, g->min_ptr ? min : NULL);
	}
}

static void panels(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct dequant *w = arg;
	const struct npu_matmul *m = w->m;
	struct npu_gemm_seg seg = { 0, 0, (size_t)m->k };
	float *c = npu_exec_scratch(x, worker), *dense = c + GEMM_TILE_FLOATS;
	struct npu_gemm_strip s = {
		.gemm = w->gemm,
		.b_type = GEMM_B_F32,
		.a = w->a,
		.lda = m->k,
		.seg = &seg,
		.num_segs = 1,
		.b = (const char *)dense,
		.epi = &m->epi,
		.epi_fn = m->epi_fn,
	};
	npu_s64 i, r, n, cols,
		most = (npu_s64)(MOST_NS / ((double)m->k * NPU_PANEL * npu_gemm_ns(x->simd)));

	most = most < 1 ? 1 : most < GEMM_MAX_ROWS ? most : GEMM_MAX_ROWS;
	for (i = (npu_s64)begin; i < (npu_s64)end && !npu_exec_stopped(x); i++) {
		panel_dequant(x, w, i, dense, (npu_u8 *)(dense + m->k * NPU_PANEL));
		cols = m->n - i * NPU_PANEL;
		s.out0 = i * NPU_PANEL;
		for (r = 0; r < w->rows && !npu_exec_stopped(x); r += n) {
			n = w->rows - r < most ? w->rows - r : most;
			s.a = w->a + r * m->k;
			npu_matmul_place(m, &w->at, w->row + r, &s.place);
			npu_gemm_strip(&s, n, 0, cols < NPU_PANEL ? cols : NPU_PANEL, c);
		}
	}
}

int npu_matmul_grouped_float(struct npu_exec *x, struct npu_matmul *m)
{
	npu_s64 strip = strip_rows(m), batch, b;
	struct dequant w;
	double ns;
	int ret = 0;

	dequant_init(&w, x, m);
	npu_exec_path(x, NPU_PATH_MATMUL_GROUPED_FLOAT);
	npu_exec_path(x, w.gemm->path);
	/* results, a panel of weights, its codes */
	if (npu_exec_reserve(x, (GEMM_TILE_FLOATS + (size_t)m->k * NPU_PANEL) * sizeof(float) +
					(size_t)(m->k + 3) / 4 * GQ_QUAD))
		return -ENOMEM;
	w.a = (float *)(void *)m->pack_mem;
	batch = npu_matmul_batch_folds(m) ? 1 : m->batch;
	m->m *= m->batch / batch;
	for (b = 0; !ret && b < batch; b++) {
		npu_matmul_batch(m, b, &w.at);
		for (w.row = 0; !ret && w.row < m->m; w.row += strip) {
			w.rows = m->m - w.row < strip ? m->m - w.row : strip;
			ret = npu_exec_parallel(x, (npu_u64)w.rows, 20 + 0.2 * (double)m->k,
						rows_widen, &w);
			ns = (double)m->k * NPU_PANEL * (1 + (double)w.rows * npu_gemm_ns(x->simd));
			if (!ret)
				ret = npu_exec_parallel(x,
							(npu_u64)(m->n + NPU_PANEL - 1) / NPU_PANEL,
							ns, panels, &w);
		}
	}
	return ret;
}

/* Anything: @row is one of the batch that @at is. */
static float a_scale_of(const struct dequant *w, npu_s64 batch, npu_s64 row, npu_s64 group)
{
	const struct npu_operand *op = w->a_scale, *out = w->m->out;
	unsigned int lead = w->m->rank - 2, i;
	const char *p = w->a_scale_ptr;

	if (!p)
		return w->m->a->scale;
	if (op->dim[lead] > 1)
		p += row * op->stride[lead];
	if (w->a_per && op->dim[lead + 1] > 1)
		p += group / w->a_per * op->stride[lead + 1];
	for (i = lead; i-- > 0; batch /= out->dim[i])
		if (op->dim[i] > 1)
			p += batch % out->dim[i] * op->stride[i];
	return npu_elem_load(op, p);
}

static float dot_codes(struct npu_exec *x, const struct dequant *w, npu_s64 batch, npu_s64 row,
		       const char *a, npu_s64 n)
{
	const struct npu_codes_groups *g = &w->g;
	npu_s64 i, k, end, step = w->m->a->stride[w->m->rank - 1], s, sum;
	float acc = 0, as;

	for (i = 0; i < g->groups && !npu_exec_stopped(x); i++) {
		end = (i + 1) * g->group < g->k ? (i + 1) * g->group : g->k;
		for (k = i * g->group, s = sum = 0; k < end; k++) {
			npu_s64 code = *(const signed char *)(a + k * step);

			sum += code;
			s += code * ((npu_s64)npu_codes_get(g, k, n) - g->zero);
		}
		as = a_scale_of(w, batch, row, i);
		acc = npu_fma_f32((float)s, as * npu_codes_scale(g, i, n), acc);
		if (g->min_ptr)
			acc = npu_fma_f32((float)sum, as * npu_codes_min(g, i, n), acc);
	}
	return acc;
}

static float dot_floats(struct npu_exec *x, const struct dequant *w, const char *a, npu_s64 n)
{
	const struct npu_codes_groups *g = &w->g;
	npu_s64 i, k, end, step = w->m->a->stride[w->m->rank - 1];
	float acc = 0, scale, min;

	for (i = 0; i < g->groups && !npu_exec_stopped(x); i++) {
		end = (i + 1) * g->group < g->k ? (i + 1) * g->group : g->k;
		scale = npu_codes_scale(g, i, n);
		min = npu_codes_min(g, i, n);
		for (k = i * g->group; k < end; k++)
			acc = npu_fma_f32(npu_elem_load(w->m->a, a + k * step),
					  weight(g, k, n, scale, min), acc);
	}
	return acc;
}

/* Items are (row, panel). */
static void elements(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct dequant *w = arg;
	const struct npu_matmul *m = w->m;
	npu_s64 panels = (m->n + NPU_PANEL - 1) / NPU_PANEL, row, n0, batch, n, j;
	struct npu_matmul_batch at;
	struct npu_epi_place place;
	float acc[NPU_PANEL] = { 0 };
	const char *a;

	for (; begin < end; begin++) {
		n0 = (npu_s64)begin % panels * NPU_PANEL;
		n = m->n - n0 < NPU_PANEL ? m->n - n0 : NPU_PANEL;
		row = (npu_s64)begin / panels % m->m;
		batch = (npu_s64)begin / panels / m->m;
		npu_matmul_batch(m, batch, &at);
		a = at.a + row * m->a->stride[m->rank - 2];
		for (j = 0; j < n && !npu_exec_stopped(x); j++)
			acc[j] = m->a->dtype == NPU_I8 ? dot_codes(x, w, batch, row, a, n0 + j) :
							 dot_floats(x, w, a, n0 + j);
		if (npu_exec_stopped(x))
			return;
		npu_matmul_place(m, &at, row, &place);
		m->epi_fn(&m->epi, acc, NPU_PANEL, 1, (npu_u32)n0, (unsigned int)n, &place);
	}
}

int npu_matmul_grouped_generic(struct npu_exec *x, struct npu_matmul *m)
{
	struct dequant w;

	dequant_init(&w, x, m);
	npu_exec_path(x, NPU_PATH_MATMUL_GROUPED_GENERIC);
	return npu_exec_parallel(x,
				 (npu_u64)m->batch * (npu_u64)m->m *
					 (npu_u64)((m->n + NPU_PANEL - 1) / NPU_PANEL),
				 (double)m->k * NPU_PANEL * 6, elements, &w);
}
