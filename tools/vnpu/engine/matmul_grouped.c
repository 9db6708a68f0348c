// SPDX-License-Identifier: MIT
/*
 * MATMUL of rows of i8 codes with codes in groups. A strip of rows is made ready once: copied where
 * its codes do not lie in whole quads side by side, summed by groups, its scales spread out. Then
 * panels are items: a few rows meet the codes as they lie, many rows find a panel's unpacked by the
 * first of them.
 */
#include <stdint.h>
#include "grouped.h"
#include "matmul.h"

#define STRIP_ROWS	256
#define STRIP_BYTES	(4u << 20)
#define MOST_BYTES	(4u << 20)	/* of a panel, unpacked: else one element after the other */
#define MOST_NS		5e5		/* between looks at the stop flag */
#define WIDE_PANELS	4		/* whose results the epilogue takes together */
/*
 * Bytes of weights ahead that are fetched while products with many rows are made, as the
 * processor's own fetching does not keep up with these; and of a matrix that may not be in a cache.
 */
#define AHEAD		4096
#define AHEAD_MIN	(1 << 18)
#define CACHED		(1 << 20)	/* bytes of a matrix that may still be there from before */

struct grouped {
	struct npu_matmul *m;
	struct npu_codes_groups g;
	const struct npu_gq *gq;
	enum npu_gq_kind kind;
	npu_s64 quads, panel_bytes, panels;
	const struct npu_operand *a_scale;
	const char *a_scale_ptr;
	npu_s64 a_per;			/* groups that share a scale of a; 0: all */
	/* the strip in hand */
	struct npu_matmul_batch at;
	npu_s64 batch, row, rows;
	bool direct;
	const npu_u8 *a;
	ptrdiff_t lda;
	npu_u8 *copy;
	npu_s32 *start;
	float *row_scale, *sum;
};

static npu_s64 round64(npu_s64 v)
{
	return (v + 63) & ~(npu_s64)63;
}

/* Of a strip: what is kept of each row. */
static npu_s64 row_bytes(const struct grouped *w)
{
	return (w->direct ? 0 : round64(w->quads * 4)) + w->g.groups * 12;
}

/* Scratch of a worker: results, scales and minimums of a panel, its codes unpacked. */
static npu_s64 scratch_bytes(const struct grouped *w)
{
	return (npu_s64)sizeof(float) * NPU_PANEL *
		       (GQ_MAX_ROWS * WIDE_PANELS + 2 * w->g.groups + w->g.supers) +
	       (w->kind == GQ_U8 ? 0 : w->quads * GQ_QUAD);
}

static float a_scale_at(const struct grouped *w, npu_s64 row, npu_s64 a_group)
{
	const struct npu_operand *op = w->a_scale, *out = w->m->out;
	npu_s64 batch = w->batch, i;
	const char *p = w->a_scale_ptr;
	unsigned int lead = w->m->rank - 2;

	if (!p)
		return w->m->a->scale;
	/* rows of a folded batch count on through the dims before them */
	for (i = lead; i >= 0; i--) {
		npu_s64 rest = i == (npu_s64)lead ? row : batch, dim = out->dim[i], at;

		at = rest % dim;
		if (i == (npu_s64)lead)
			batch += rest / dim;
		else
			batch = rest / dim;
		if (op->dim[i] > 1)
			p += at * op->stride[i];
	}
	if (w->a_per && op->dim[lead + 1] > 1)
		p += a_group * op->stride[lead + 1];
	return npu_elem_load(op, p);
}

static void row_copy(const struct grouped *w, npu_u8 *dst, const char *a)
{
	npu_s64 step = w->m->a->stride[w->m->rank - 1], k;

	if (step == 1 || w->m->k == 1) {
		memcpy(dst, a, (size_t)w->m->k);
	} else {
		for (k = 0; k < w->m->k; k++)
			dst[k] = (npu_u8)a[k * step];
	}
	for (k = w->m->k; k < w->quads * 4; k++)
		dst[k] = 0;
}

static void rows_ready(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
		       npu_u64 end)
{
	const struct grouped *w = arg;
	npu_s64 groups = w->g.groups, r, g;
	const npu_u8 *a;
	npu_s32 *start;
	float s = 0;

	for (r = (npu_s64)begin; r < (npu_s64)end && !npu_exec_stopped(x); r++) {
		if (!w->direct)
			row_copy(w, w->copy + r * w->lda,
				 w->at.a + (w->row + r) * w->m->a->stride[w->m->rank - 2]);
		a = w->a + r * w->lda;
		start = w->start + r * groups;
		w->gq->sums(start, a, w->m->k, w->g.group);
		for (g = 0; g < groups; g++) {
			if (w->a_per ? g % w->a_per == 0 : g == 0)
				s = a_scale_at(w, w->row + r, w->a_per ? g / w->a_per : 0);
			w->row_scale[r * groups + g] = s;
			w->sum[r * groups + g] = (float)start[g];
			start[g] = -w->g.zero * start[g];
		}
	}
}

/* What one worker holds. */
struct scratch {
	float *c, *scale, *min, *super;
	npu_u8 *codes;
};

/* Panel @panel of factors [matrices][count][n], the first matrix or the second, to f32. */
static void floats_load(const struct grouped *w, const struct npu_operand *op, const char *p,
			npu_s64 panel, npu_s64 count, float *dst)
{
	npu_s64 bytes = npu_dtype_bits(op->dtype) / 8;

	npu_gemm_load(w->g.gemm, op->dtype, dst, p + panel * count * NPU_PANEL * bytes, bytes,
		      (size_t)(count * NPU_PANEL));
}

/* Scales (0) or minimums (1) that lie as the codes do are loaded whole. */
static void factors_load(const struct grouped *w, npu_s64 panel, unsigned int which, float *super,
			 float *dst)
{
	const struct npu_codes_groups *g = &w->g;
	const struct npu_operand *op = which ? g->min : g->scale;
	const char *p = which ? g->min_ptr : g->scale_ptr;

	if (!g->per_super) {
		floats_load(w, op, p, panel, g->groups, dst);
		return;
	}
	floats_load(w, g->super, g->super_ptr, which * w->panels + panel, g->supers, super);
	w->gq->two_level(dst, (const npu_u8 *)p + panel * g->groups * NPU_PANEL,
			 op->dtype == NPU_I8, super, g->groups, g->per_super);
}

static void panel_factors(const struct grouped *w, npu_s64 panel, const struct scratch *mem)
{
	const struct npu_codes_groups *g = &w->g;

	if (g->scale->layout == NPU_LAYOUT_STRIDED ||
	    (mem->min && g->min->layout == NPU_LAYOUT_STRIDED) ||
	    (g->per_super && g->super->layout == NPU_LAYOUT_STRIDED)) {
		npu_codes_panel_scales(g, panel, mem->scale, mem->min);
		return;
	}
	factors_load(w, panel, 0, mem->super, mem->scale);
	if (mem->min)
		factors_load(w, panel, 1, mem->super, mem->min);
}

/* Rows of the next tile: as many as there is a kernel for, and time. */
static unsigned int tile_rows(const struct grouped *w, const npu_gq_fn *fn, npu_s64 left,
			      unsigned int most)
{
	double row_ns = (double)w->m->k * NPU_PANEL * w->gq->ns;
	unsigned int n;

	if (MOST_NS < most * row_ns)
		most = MOST_NS < row_ns ? 1 : (unsigned int)(MOST_NS / row_ns);
	while (!fn[most])
		most--;
	/* two even parts rather than a full tile and a rest */
	n = left < 2 * most && left > most ? (unsigned int)(left + 1) / 2 :
	    left < most			    ? (unsigned int)left :
					      most;
	while (!fn[n])
		n--;
	return n;
}

/* Few rows, whose results stay side by side: all of the strip's times up to WIDE_PANELS panels. */
static void panels_few(const struct grouped *w, const struct scratch *mem, npu_s64 panel,
		       npu_s64 count, struct npu_gq_tile *t)
{
	const npu_gq_fn *fn = w->gq->few[w->kind];
	struct npu_epi_place place;
	npu_s64 i, r, n;

	t->ldc = WIDE_PANELS * NPU_PANEL;
	for (i = 0; i < count; i++) {
		panel_factors(w, panel + i, mem);
		t->w = (const npu_u8 *)w->m->b_ptr + (panel + i) * w->panel_bytes;
		for (r = 0; r < w->rows; r += n) {
			n = tile_rows(w, fn, w->rows - r, GQ_FEW_ROWS);
			t->a = w->a + r * w->lda;
			t->start = w->start + r * t->step;
			t->a_scale = w->row_scale + r * t->step;
			t->a_sum = w->sum + r * t->step;
			t->c = mem->c + r * t->ldc + i * NPU_PANEL;
			fn[n](t);
		}
	}
	n = w->m->n - panel * NPU_PANEL;
	npu_matmul_place(w->m, &w->at, w->row, &place);
	w->m->epi_fn(&w->m->epi, mem->c, (size_t)t->ldc, (unsigned int)w->rows,
		     (npu_u32)(panel * NPU_PANEL),
		     (unsigned int)(n < count * NPU_PANEL ? n : count * NPU_PANEL), &place);
}

static void panel_many(struct npu_exec *x, const struct grouped *w, const struct scratch *mem,
		       npu_s64 panel, struct npu_gq_tile *t)
{
	const npu_u8 *codes = (const npu_u8 *)w->m->b_ptr + panel * w->panel_bytes;
	npu_s64 r, n, cols = w->m->n - panel * NPU_PANEL;
	struct npu_epi_place place;

	panel_factors(w, panel, mem);
	t->w = codes;
	t->ahead = AHEAD;
	if (w->gq->unpack[w->kind]) {
		w->gq->unpack[w->kind](mem->codes, codes, w->quads, w->g.book);
		t->w = mem->codes;
		t->ahead = (ptrdiff_t)((uintptr_t)(codes + w->panel_bytes) - (uintptr_t)mem->codes);
	}
	if (w->panels * w->panel_bytes < AHEAD_MIN)
		t->ahead = 0;
	t->c = mem->c;
	t->ldc = NPU_PANEL;
	for (r = 0; r < w->rows && !npu_exec_stopped(x); r += n) {
		n = tile_rows(w, w->gq->many[w->kind], w->rows - r, GQ_MAX_ROWS);
		t->a = w->a + r * w->lda;
		t->start = w->start + r * t->step;
		t->a_scale = w->row_scale + r * t->step;
		t->a_sum = w->sum + r * t->step;
		w->gq->many[w->kind][n](t);
		t->ahead = 0;
		npu_matmul_place(w->m, &w->at, w->row + r, &place);
		w->m->epi_fn(&w->m->epi, mem->c, NPU_PANEL, (unsigned int)n,
			     (npu_u32)(panel * NPU_PANEL),
			     cols < NPU_PANEL ? (unsigned int)cols : NPU_PANEL, &place);
	}
}

static void chunk(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct grouped *w = arg;
	npu_s64 last = w->quads * 4 - (w->g.groups - 1) * w->g.group, i, n;
	struct scratch mem = { .c = npu_exec_scratch(x, worker) };
	struct npu_gq_tile t = {
		.lda = w->lda,
		.book = w->g.book,
		.groups = w->g.groups,
		.quads = w->g.group / 4,
		.last = last / 4,
		.step = w->g.groups,
	};

	mem.scale = mem.c + GQ_MAX_ROWS * WIDE_PANELS * NPU_PANEL;
	mem.super = mem.scale + 2 * w->g.groups * NPU_PANEL;
	mem.codes = (npu_u8 *)(mem.super + w->g.supers * NPU_PANEL);
	if (w->g.min_ptr)
		mem.min = mem.scale + w->g.groups * NPU_PANEL;
	t.scale = mem.scale;
	t.min = mem.min;
	for (i = (npu_s64)begin; i < (npu_s64)end && !npu_exec_stopped(x); i += n) {
		n = 1;
		if (w->rows > GQ_FEW_ROWS || !w->gq->few[w->kind][1]) {
			panel_many(x, w, &mem, i, &t);
			continue;
		}
		n = (npu_s64)end - i < WIDE_PANELS ? (npu_s64)end - i : WIDE_PANELS;
		panels_few(w, &mem, i, n, &t);
	}
}

/*
 * An estimate of the time of a panel: that of its products, or with few rows that of reading it,
 * which for a small matrix is out of a cache.
 */
static double panel_ns(const struct grouped *w)
{
	unsigned int factors = npu_dtype_bits(w->g.scale->dtype) + npu_dtype_bits(w->g.min->dtype);
	double bytes = (double)w->panel_bytes + (double)w->g.groups * NPU_PANEL / 8 * factors;
	double ns = (double)w->rows * (double)w->m->k * NPU_PANEL * w->gq->ns;

	if (w->panels * w->panel_bytes < CACHED)
		bytes *= 0.4;
	return 30.0 + npu_exec_weights_ns(ns, bytes);
}

static int strip_run(struct npu_exec *x, struct grouped *w)
{
	int ret;

	w->a = w->direct ? (const npu_u8 *)w->at.a + w->row * w->lda : w->copy;
	ret = npu_exec_parallel(x, (npu_u64)w->rows,
				20.0 + (double)w->m->k * 0.1 + (double)w->g.groups * 2, rows_ready,
				w);
	return ret ? ret : npu_exec_parallel(x, (npu_u64)w->panels, panel_ns(w), chunk, w);
}

/* Rows that a strip has, and the shared memory for it behind the epilogue's. */
static npu_s64 strip_rows(const struct grouped *w)
{
	npu_s64 rows = STRIP_BYTES / (row_bytes(w) + 1);

	rows = rows < GQ_MAX_ROWS ? GQ_MAX_ROWS : rows > STRIP_ROWS ? STRIP_ROWS : rows;
	return rows < w->m->m ? rows : w->m->m;
}

static void grouped_init(struct grouped *w, struct npu_exec *x, struct npu_matmul *m)
{
	static const struct npu_codes_slots slots = {
		.codes = NPU_MATMUL_B, .scale = NPU_MATMUL_GROUP_SCALE, .min = NPU_MATMUL_GROUP_MIN,
		.super = NPU_MATMUL_SUPER_SCALE, .book = NPU_MATMUL_CODEBOOK,
		.group = NPU_MATMUL_P_GROUP, .super_param = NPU_MATMUL_P_SUPER,
	};

	memset(w, 0, sizeof(*w));
	npu_codes_init(&w->g, x, &slots);
	w->m = m;
	w->gq = npu_gq_select(x->simd, x->vnni);
	w->kind = npu_codes_kind(&w->g);
	w->quads = (m->k + 3) / 4;
	w->panel_bytes = w->quads * w->g.bits * 8;
	w->panels = (m->n + NPU_PANEL - 1) / NPU_PANEL;
	w->a_scale = &x->operand[NPU_MATMUL_A_SCALE];
	w->a_scale_ptr = x->ptr[NPU_MATMUL_A_SCALE];
	w->a_per = npu_insn_param(&x->insn, NPU_MATMUL_P_A_GROUP) / w->g.group;
	w->direct = m->k % 4 == 0 && (m->a->stride[m->rank - 1] == 1);
	w->lda = w->direct ? m->a->stride[m->rank - 2] : round64(w->quads * 4);
}

bool npu_matmul_grouped_can(struct npu_exec *x, struct npu_matmul *m)
{
	struct grouped w;

	grouped_init(&w, x, m);
	return row_bytes(&w) * GQ_MAX_ROWS <= 16 * (npu_s64)MOST_BYTES &&
	       scratch_bytes(&w) <= MOST_BYTES && (double)m->k * NPU_PANEL * w.gq->ns <= MOST_NS;
}

size_t npu_matmul_grouped_bytes(struct npu_exec *x, struct npu_matmul *m)
{
	struct grouped w;

	grouped_init(&w, x, m);
	return (size_t)(strip_rows(&w) * row_bytes(&w)) + 64;
}

int npu_matmul_grouped(struct npu_exec *x, struct npu_matmul *m)
{
	struct grouped w;
	npu_s64 strip, batch = m->batch;
	int ret = 0;

	grouped_init(&w, x, m);
	npu_exec_path(x, NPU_PATH_MATMUL_GROUPED);
	npu_exec_path(x, w.gq->path);
	strip = strip_rows(&w);
	if (npu_exec_reserve(x, (size_t)scratch_bytes(&w)))
		return -ENOMEM;
	w.copy = (npu_u8 *)m->pack_mem;
	w.start = (npu_s32 *)(void *)(m->pack_mem + (w.direct ? 0 : strip * w.lda));
	w.row_scale = (float *)(w.start + strip * w.g.groups);
	w.sum = w.row_scale + strip * w.g.groups;
	if (npu_matmul_batch_folds(m)) {
		m->m *= batch;
		batch = 1;
	}
	for (w.batch = 0; !ret && w.batch < batch; w.batch++) {
		npu_matmul_batch(m, w.batch, &w.at);
		for (w.row = 0; !ret && w.row < m->m; w.row += strip) {
			w.rows = m->m - w.row < strip ? m->m - w.row : strip;
			ret = strip_run(x, &w);
		}
	}
	return ret;
}
