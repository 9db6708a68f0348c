// SPDX-License-Identifier: MIT
/* Weights of an integer convolution: which units, their copy in panels, their sums. */
#include "conv_int.h"

#define PACK_MAX	(128u << 20)	/* bytes; strided weights may repeat one element */

static npu_s64 total_panels(const struct npu_conv_units *u)
{
	return u->num_panels * u->c->groups;
}

static npu_u64 pack_bytes(const struct npu_conv_units *u)
{
	return u->packed ? (npu_u64)total_panels(u) * (npu_u64)u->b_panel : 0;
}

static npu_u64 cols_bytes(const struct npu_conv_units *u)
{
	return u->x_zero ? (npu_u64)(u->per_unit ? u->num : 1) * (npu_u64)u->cols_stride * 4 : 0;
}

bool npu_conv_units_init(struct npu_conv_units *u, const struct npu_exec *x,
			 const struct npu_conv *c, bool pointwise)
{
	if (!c->integer || c->kh * c->kw > PACK_MAX / IGEMM_QUAD_BYTES)
		return false;
	memset(u, 0, sizeof(*u));
	u->c = c;
	u->gemm = npu_igemm_select(x->simd, x->vnni);
	u->rows = !c->transposed && c->groups == 1 && c->dil_w == 1;
	u->num = u->rows ? c->kh : c->kh * c->kw;
	u->bytes = u->rows ? c->kw * c->cg : c->cg;
	u->quads = npu_igemm_quads(u->bytes);
	u->num_panels = (c->og + NPU_PANEL - 1) / NPU_PANEL;
	u->a_flip = npu_igemm_a_flip(c->in->dtype);
	u->b_flip = npu_igemm_b_flip(c->weight->dtype);
	u->x_zero = c->x_zero + u->a_flip;
	u->pointwise = pointwise;
	/*
	 * A last quad may read what lies behind in the row: harmless beside a zero. In panels the
	 * only one filled up is that at the end, with the code 0.
	 */
	u->packed = c->weight->layout == NPU_LAYOUT_STRIDED ||
		    (!pointwise && u->bytes % 4 && (u->num > 1 || u->b_flip));
	u->per_unit = c->transposed;
	u->b_panel = u->num * u->quads * IGEMM_QUAD_BYTES;
	u->cols_stride = npu_igemm_cols_stride(c->o);
	return (npu_u64)u->b_panel <= PACK_MAX &&
	       (npu_u64)total_panels(u) <=
		       PACK_MAX / (npu_u64)u->b_panel * (u->packed ? 1 : 1024) &&
	       cols_bytes(u) <= PACK_MAX;
}

/* Code @i of unit @unit of the column's 16 neighbours, @cols of which there are. */
static void codes_pack(const struct npu_conv_units *u, npu_u8 *dst, npu_s64 panel, npu_s64 unit,
		       npu_s64 i, npu_s64 cols)
{
	const struct npu_conv *c = u->c;
	npu_s64 k = unit * u->bytes + i, tap = k / c->cg, o, j, step = 4;
	npu_u8 flip = npu_igemm_b_flip(c->weight->dtype);
	const char *src;

	if (c->weight->layout == NPU_LAYOUT_STRIDED) {
		o = panel / u->num_panels * c->og + panel % u->num_panels * NPU_PANEL;
		src = npu_conv_weight_at(c, o, tap / c->kw, tap % c->kw, k % c->cg);
		step = c->weight->stride[0];
	} else {
		src = c->w_ptr + panel * npu_igemm_quads(c->kh * c->kw * c->cg) * IGEMM_QUAD_BYTES +
		      k / 4 * IGEMM_QUAD_BYTES + k % 4;
	}
	for (j = 0; j < cols; j++)
		dst[4 * j] = (npu_u8)src[j * step] ^ flip;
}

struct make {
	struct npu_conv_units *u;
	npu_u8 *panels;
};

/* Items are panels of all groups. */
static void pack_chunk(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
		       npu_u64 end)
{
	const struct make *m = arg;
	const struct npu_conv_units *u = m->u;
	npu_s64 p, unit, i, left;
	npu_u8 *dst;

	for (p = (npu_s64)begin; p < (npu_s64)end && !npu_exec_stopped(x); p++) {
		left = u->c->og - p % u->num_panels * NPU_PANEL;
		dst = m->panels + p * u->b_panel;
		memset(dst, 0, (size_t)u->b_panel);
		for (unit = 0; unit < u->num && !npu_exec_stopped(x); unit++)
			for (i = 0; i < u->bytes; i++)
				codes_pack(u,
					   dst + (unit * u->quads + i / 4) * IGEMM_QUAD_BYTES +
						   i % 4,
					   p, unit, i, left < NPU_PANEL ? left : NPU_PANEL);
	}
}

/* The constants of one panel's columns for @k codes from @b on. */
static void cols_make(const struct npu_conv_units *u, const npu_u8 *b, npu_s64 codes, npu_s64 k,
		      npu_s64 panel, npu_s32 *dst)
{
	const struct npu_conv *c = u->c;
	npu_s64 in_group = panel % u->num_panels * NPU_PANEL, j, o;
	npu_s32 sum[NPU_PANEL];
	npu_u32 v;

	u->gemm->col_sums(b, (size_t)codes, u->b_flip, sum);
	for (j = 0; j < NPU_PANEL && in_group + j < c->og; j++) {
		o = panel / u->num_panels * c->og + in_group + j;
		v = u->per_unit || !c->epi.ibias ? 0 : (npu_u32)c->epi.ibias[o];
		v -= (npu_u32)u->x_zero * (npu_u32)sum[j];
		if (u->w_zero)
			v += (npu_u32)k * (npu_u32)u->x_zero * (npu_u32)u->w_zero[o];
		dst[o] = (npu_s32)v;
	}
}

static void cols_chunk(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
		       npu_u64 end)
{
	const struct npu_conv_units *u = arg;
	npu_s64 p, unit, all = u->num * u->bytes;
	const npu_u8 *b;

	for (p = (npu_s64)begin; p < (npu_s64)end && !npu_exec_stopped(x); p++) {
		b = u->panels + p * u->b_panel;
		if (!u->per_unit) {
			/* what a copy is filled up with is 0 */
			cols_make(u, b, u->packed ? u->num * u->quads * 4 : all, all, p, u->cols);
			continue;
		}
		for (unit = 0; unit < u->num; unit++)
			cols_make(u, b + unit * u->quads * IGEMM_QUAD_BYTES, u->bytes, u->bytes, p,
				  u->cols + unit * u->cols_stride);
	}
}

int npu_conv_units_make(struct npu_exec *x, struct npu_conv *c, struct npu_conv_units *u)
{
	size_t pack = (pack_bytes(u) + 63) & ~(size_t)63;
	npu_u64 panels = (npu_u64)total_panels(u);
	double ns = (double)u->b_panel / 16;
	struct make m = { .u = u };
	int ret = 0;

	m.panels = npu_conv_extra(x, c, pack + cols_bytes(u));
	if (!m.panels)
		return -ENOMEM;
	u->w_zero = npu_igemm_shift_zeros(c->w_zero, c->o, u->b_flip);
	u->panels = u->packed ? m.panels : (const npu_u8 *)c->w_ptr;
	if (u->packed) {
		u->b_flip = 0;
		ret = npu_exec_parallel(x, panels, 50.0 + ns * 20, pack_chunk, &m);
	}
	if (ret || !u->x_zero)
		return ret;
	u->cols = (npu_s32 *)(void *)(m.panels + pack);
	if (u->pointwise)
		return 0;
	memset(u->cols, 0, cols_bytes(u));
	return npu_exec_parallel(x, panels, 20.0 + ns * 16 * u->gemm->ns, cols_chunk, u);
}
