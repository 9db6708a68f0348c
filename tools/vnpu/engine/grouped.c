// SPDX-License-Identifier: MIT
#include "epilogue.h"
#include "grouped.h"
#include "npu_grouped.h"

void npu_codes_init(struct npu_codes_groups *g, const struct npu_exec *x,
		    const struct npu_codes_slots *s)
{
	const struct npu_operand *op = &x->operand[s->codes], *book = &x->operand[s->book];
	npu_s64 dims[2] = { op->dim[op->rank - 2], op->dim[op->rank - 1] };
	unsigned int i;

	memset(g, 0, sizeof(*g));
	g->codes = op;
	g->scale = &x->operand[s->scale];
	g->min = &x->operand[s->min];
	g->super = &x->operand[s->super];
	g->codes_ptr = x->ptr[s->codes];
	g->scale_ptr = x->ptr[s->scale];
	g->min_ptr = x->ptr[s->min];
	g->super_ptr = x->ptr[s->super];
	g->kdim = s->transposed;
	g->ndim = !s->transposed;
	g->k = dims[g->kdim];
	g->n = dims[g->ndim];
	g->group = x->param[s->group];
	g->groups = (g->k + g->group - 1) / g->group;
	g->per_super = x->param[s->super_param] / g->group;
	g->supers = g->per_super ? (g->groups + g->per_super - 1) / g->per_super : 0;
	g->bits = npu_dtype_bits(op->dtype);
	g->zero = op->zero_point;
	g->gemm = npu_gemm_select(x->simd);
	g->has_book = x->ptr[s->book];
	if (!g->has_book)
		return;
	g->zero = 128;
	for (i = 0; i < 16; i++)
		g->book[i] = *((const npu_u8 *)x->ptr[s->book] + (npu_s64)i * book->stride[0]) ^
			     0x80;
}

enum npu_gq_kind npu_codes_kind(const struct npu_codes_groups *g)
{
	if (g->has_book)
		return GQ_BOOK;
	return g->bits == 4 ? GQ_U4 : g->bits == 5 ? GQ_U5 : g->bits == 6 ? GQ_U6 : GQ_U8;
}

static unsigned int strided_code(const struct npu_codes_groups *g, npu_s64 k, npu_s64 n)
{
	const npu_u8 *row = (const npu_u8 *)g->codes_ptr + n * g->codes->stride[g->codes->rank - 2];
	npu_s64 bit = k * (npu_s64)g->bits;
	unsigned int v;

	if (g->bits == 8)
		return row[k * g->codes->stride[g->codes->rank - 1]];
	v = row[bit / 8];
	if (bit % 8 + g->bits > 8)
		v |= (unsigned int)row[bit / 8 + 1] << 8;
	return v >> bit % 8 & ((1u << g->bits) - 1);
}

unsigned int npu_codes_get(const struct npu_codes_groups *g, npu_s64 k, npu_s64 n)
{
	unsigned int quad = npu_grouped_quad_bytes(g->bits), code;
	npu_s64 quads = (g->k + 3) / 4;

	if (g->codes->layout == NPU_LAYOUT_STRIDED)
		code = strided_code(g, k, n);
	else
		code = npu_grouped_get(
			(const npu_u8 *)g->codes_ptr + (n / NPU_PANEL * quads + k / 4) * quad,
			g->bits, (unsigned int)(n % NPU_PANEL), (unsigned int)(k % 4));
	return g->has_book ? g->book[code] : code;
}

/* Element [k, n] of the factors, whichever dim stands first. */
static float factor(const struct npu_codes_groups *g, const struct npu_operand *op, const char *p,
		    npu_s64 rows, npu_s64 k, npu_s64 n)
{
	unsigned int first = op->rank - 2;

	if (op->layout == NPU_LAYOUT_STRIDED)
		p += k * op->stride[first + g->kdim] + n * op->stride[first + g->ndim];
	else
		p += ((n / NPU_PANEL * rows + k) * NPU_PANEL + n % NPU_PANEL) *
		     (npu_dtype_bits(op->dtype) / 8);
	return npu_elem_load(op, p);
}

/* Where the second level of scales (0) or minimums (1) begins. */
static const char *super_at(const struct npu_codes_groups *g, unsigned int which)
{
	npu_s64 bytes = npu_dtype_bits(g->super->dtype) / 8;

	if (!which)
		return g->super_ptr;
	if (g->super->layout == NPU_LAYOUT_STRIDED)
		return g->super_ptr + g->super->stride[0];
	return g->super_ptr + (g->n + NPU_PANEL - 1) / NPU_PANEL * g->supers * NPU_PANEL * bytes;
}

static float two_levels(const struct npu_codes_groups *g, const struct npu_operand *op,
			const char *p, unsigned int which, npu_s64 group, npu_s64 n)
{
	float v = factor(g, op, p, g->groups, group, n);

	if (!g->per_super)
		return v;
	return v * factor(g, g->super, super_at(g, which), g->supers, group / g->per_super, n);
}

float npu_codes_scale(const struct npu_codes_groups *g, npu_s64 group, npu_s64 n)
{
	return two_levels(g, g->scale, g->scale_ptr, 0, group, n);
}

float npu_codes_min(const struct npu_codes_groups *g, npu_s64 group, npu_s64 n)
{
	return g->min_ptr ? two_levels(g, g->min, g->min_ptr, 1, group, n) : 0.0f;
}

void npu_codes_panel_scales(const struct npu_codes_groups *g, npu_s64 panel, float *scale,
			    float *min)
{
	npu_s64 n0 = panel * NPU_PANEL, i, j;

	for (i = 0; i < g->groups; i++) {
		for (j = 0; j < NPU_PANEL; j++) {
			bool there = n0 + j < g->n;

			scale[i * NPU_PANEL + j] = there ? npu_codes_scale(g, i, n0 + j) : 0.0f;
			if (min)
				min[i * NPU_PANEL + j] = there ? npu_codes_min(g, i, n0 + j) : 0.0f;
		}
	}
}
