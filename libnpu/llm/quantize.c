// SPDX-License-Identifier: MIT
/*
 * Float rows to codes in groups. A scale (and a minimum) is chosen for the least squared error:
 * from several starting points codes are rounded, the best factors for these codes follow by least
 * squares, are rounded as they are stored, and the codes rounded again.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "llm/ggml_blocks.h"
#include "npu_grouped.h"
#include "npu_half.h"

#define MAX_GROUP	65536u	/* of MATMUL's parameter */
#define STARTS		9	/* scales that are tried, from the widest range inwards */
#define STEP		0.03f	/* part of the range that each leaves off */

static const struct {
	const char *name;
	unsigned int bits, group;
	bool min;
} quants[NPU_NUM_WEIGHT_QUANTS] = {
#define X(name, text, bits, group, min) { text, bits, group, min },
	NPU_WEIGHT_QUANTS(X)
#undef X
};

const char *npu_weight_quant_name(unsigned int quant)
{
	return quant < NPU_NUM_WEIGHT_QUANTS ? quants[quant].name : NULL;
}

int npu_weight_quant_place(enum npu_weight_quant quant, uint32_t rows, uint32_t cols,
			   struct npu_weight_place *place)
{
	struct npu_weight_format f = { .scale = NPU_F16 };

	if ((unsigned int)quant >= NPU_NUM_WEIGHT_QUANTS)
		return -EINVAL;
	f.dtype = quants[quant].bits == 4 ? NPU_U4 : NPU_U8;
	f.group = quants[quant].group;
	if (!f.group)
		f.group = cols < MAX_GROUP ? (cols + 3) & ~3u : MAX_GROUP;
	if (quants[quant].min)
		f.min = NPU_F16;
	else
		f.zero = 1 << (quants[quant].bits - 1);
	return npu_weight_place(&f, rows, cols, place);
}

/* What one group becomes, as it is stored. */
struct group {
	float scale, min, error;
};

static float as_f16(float v)
{
	return npu_half_widen(npu_half_narrow(v));
}

/*
 * Codes of @x for w = scale * (code - zero) + min, and the squared error. Rounded to nearest even
 * by a sum whose last place is 1, without a call: this is the inner loop of the search.
 */
static float codes_round(const float *restrict x, size_t n, const struct group *g, int zero,
			 int top, uint8_t *restrict code)
{
	const float inverse = g->scale != 0 ? 1 / g->scale : 0, lo = (float)-zero,
		    hi = (float)(top - zero);
	const float whole = 0x1.8p23f, scale = g->scale, min = g->min;
	float error = 0, c, e;
	size_t i;

	for (i = 0; i < n; i++) {
		c = (x[i] - min) * inverse;
		c = c > lo ? c : lo;
		c = c < hi ? c : hi;
		c = c + whole - whole;
		code[i] = (uint8_t)((int)c + zero);
		e = scale * c + min - x[i];
		error += e * e;
	}
	return error;
}

/* Least squares: the factors that fit the codes best. */
static void factors_fit(const float *restrict x, size_t n, const uint8_t *restrict code, int zero,
			bool has_min, struct group *g)
{
	double det, scale;
	float s = 0, qs = 0;
	int q = 0, qq = 0, c;
	size_t i;

	for (i = 0; i < n; i++) {
		c = code[i] - zero;
		q += c;
		qq += c * c;
		s += x[i];
		qs += (float)c * x[i];
	}
	det = (double)n * qq - (double)q * q;
	if (has_min && det > 0) {
		scale = ((double)n * qs - (double)q * s) / det;
		g->scale = as_f16((float)scale);
		g->min = as_f16((float)((s - (double)g->scale * q) / (double)n));
	} else if (!has_min && qq > 0) {
		g->scale = as_f16((float)((double)qs / qq));
	}
}

/* The start @i of the search over a group whose values reach from @lo to @hi. */
static struct group start_of(float lo, float hi, int zero, int top, bool has_min, unsigned int i)
{
	struct group g = { 0, 0, INFINITY };
	unsigned int step = i / 2;
	float far = fabsf(lo) > fabsf(hi) ? lo : hi, part = 1 - STEP * (float)step;

	if (has_min) {
		part = 1 - STEP * (float)i;
		g.scale = as_f16((hi - lo) / (float)top * part);
		g.min = as_f16(lo + (hi - lo) * (1 - part) / 2);
		return g;
	}
	/* one end of the codes takes the value that is farthest from 0, or the other does */
	g.scale = as_f16(i % 2 ? far / (float)(top - zero) * part : far / (float)-zero * part);
	return g;
}

/* @code becomes the codes of the @n values at @x; @tried is room for as many. */
static struct group group_search(const float *x, size_t n, int zero, int top, bool has_min,
				 uint8_t *code, uint8_t *tried)
{
	unsigned int i, pass, starts = top > 15 ? 1 : STARTS;
	struct group best = { 0, 0, INFINITY }, g;
	float lo = x[0], hi = x[0];
	size_t k;

	for (k = 1; k < n; k++) {
		lo = x[k] < lo ? x[k] : lo;
		hi = x[k] > hi ? x[k] : hi;
	}
	for (i = 0; i < starts; i++) {
		g = start_of(lo, hi, zero, top, has_min, i);
		for (pass = 0; starts > 1 && pass < 2; pass++) {
			codes_round(x, n, &g, zero, top, tried);
			factors_fit(x, n, tried, zero, has_min, &g);
		}
		g.error = codes_round(x, n, &g, zero, top, tried);
		if (i && !(g.error < best.error))
			continue;
		best = g;
		memcpy(code, tried, n);
	}
	return best;
}

struct rows {
	const struct npu_weight_place *p;
	uint8_t *dst, *codes, *tried;
	size_t step, groups;
};

static bool all_finite(const float *x, size_t n)
{
	while (n && isfinite(x[n - 1]))
		n--;
	return !n;
}

static int row_quantize(const struct rows *w, const float *x, size_t row)
{
	const struct npu_weight_format *f = &w->p->format;
	int top = (1 << npu_dtype_bits(f->dtype)) - 1;
	uint8_t *code = w->codes + row % NPU_PANEL * w->step;
	size_t g, from, n, index;
	struct group best;

	if (!all_finite(x, w->p->cols))
		return -ERANGE;
	for (g = 0; g < w->groups; g++) {
		from = g * f->group;
		n = w->p->cols - from < f->group ? w->p->cols - from : f->group;
		best = group_search(x + from, n, f->zero, top, f->min != NPU_NONE, code + from,
				    w->tried);
		if (!isfinite(best.scale) || !isfinite(best.min))
			return -ERANGE;
		index = (row / NPU_PANEL * w->groups + g) * NPU_PANEL + row % NPU_PANEL;
		npu_weight_factor(w->dst + w->p->scale, NPU_F16, index,
				  npu_half_narrow(best.scale));
		if (f->min != NPU_NONE)
			npu_weight_factor(w->dst + w->p->min, NPU_F16, index,
					  npu_half_narrow(best.min));
	}
	return 0;
}

static int panel_quantize(const struct rows *w, const float *src, size_t panel, unsigned int rows)
{
	unsigned int bits = npu_dtype_bits(w->p->format.dtype), i;
	size_t quads = ((size_t)w->p->cols + 3) / 4;
	int ret = 0;

	for (i = 0; !ret && i < rows; i++)
		ret = row_quantize(w, src + i * (size_t)w->p->cols, panel * NPU_PANEL + i);
	if (!ret)
		npu_weight_panel(w->dst + w->p->codes +
					 panel * quads * npu_grouped_quad_bytes(bits),
				 bits, w->codes, w->step, rows, w->p->cols);
	return ret;
}

/* What npu_weight_quant_place() makes. */
static bool is_quant(const struct npu_weight_format *f)
{
	return f->group && !f->super && !f->book && f->scale == NPU_F16 &&
	       (f->min == NPU_NONE || f->min == NPU_F16) &&
	       (f->dtype == NPU_U4 || f->dtype == NPU_U8);
}

int npu_weight_quantize_rows(const struct npu_weight_place *p, uint32_t first, uint32_t count,
			const float *src, void *dst, size_t dst_size)
{
	struct rows w = { .p = p, .dst = dst };
	uint32_t i, n;
	int ret = 0;

	if (!is_quant(&p->format) || first % NPU_PANEL || first > p->rows ||
	    count > p->rows - first || (count % NPU_PANEL && first + count != p->rows) ||
	    dst_size != p->size)
		return -EINVAL;
	w.step = ((size_t)p->cols + 3) & ~(size_t)3;
	w.groups = (p->cols + (size_t)p->format.group - 1) / p->format.group;
	w.codes = malloc(w.step * NPU_PANEL + p->format.group);
	if (!w.codes)
		return -ENOMEM;
	w.tried = w.codes + w.step * NPU_PANEL;
	for (i = 0; !ret && i < count; i += n) {
		n = count - i < NPU_PANEL ? count - i : NPU_PANEL;
		ret = panel_quantize(&w, src + (size_t)i * p->cols, (first + i) / NPU_PANEL, n);
	}
	free(w.codes);
	return ret;
}
