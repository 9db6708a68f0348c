// SPDX-License-Identifier: MIT
/* Weight packing. */
#include <errno.h>
#include <string.h>

#include "compiler/half.h"
#include "compiler/pack.h"
#include "compiler/weights.h"
#include "npu_half.h"

/* Quads of the summed index lie together, 16 outputs beside each other. */
static void pack_quads(const struct npu_pack_source *s, uint8_t *dst)
{
	int64_t panels = (s->outs + NPU_PANEL - 1) / NPU_PANEL;
	const uint8_t *codes = s->t->data;

	for (int64_t g = 0; g < s->groups; g++)
		for (int64_t p = 0; p < panels; p++) {
			int64_t k = 0, lanes = s->outs - p * NPU_PANEL;

			for (int64_t h = 0; h < s->dim[0]; h++)
				for (int64_t w = 0; w < s->dim[1]; w++)
					for (int64_t c = 0; c < s->dim[2]; c++, k++) {
						const uint8_t *from = codes + g * s->group_stride +
								      h * s->stride[0] +
								      w * s->stride[1] +
								      c * s->stride[2] +
								      p * NPU_PANEL * s->out_stride;
						uint8_t *to = dst + k / 4 * 4 * NPU_PANEL + k % 4;

						for (int64_t i = 0; i < NPU_PANEL && i < lanes; i++)
							to[i * 4] = from[i * s->out_stride];
					}
			dst += (k + 3) / 4 * 4 * NPU_PANEL;
		}
}

static void put(uint8_t *dst, size_t i, enum npu_dtype dtype, float v)
{
	uint16_t h;

	if (dtype == NPU_F32) {
		memcpy(dst + i * 4, &v, 4);
		return;
	}
	if (dtype == NPU_I8 || dtype == NPU_U8) {
		dst[i] = (uint8_t)(int)v;
		return;
	}
	h = dtype == NPU_F16 ? npu_half_narrow(v) : npu_bfloat_narrow(v);
	memcpy(dst + i * 2, &h, 2);
}

static float get(const struct npu_pack_source *s, int64_t i)
{
	float v;

	if (s->codes)
		return (float)npu_gtensor_elem_int(s->t, (size_t)i);
	if (s->t->type != NPU_GT_F32)
		return (float)npu_gtensor_elem(s->t, (size_t)i);
	memcpy(&v, (const char *)s->t->data + i * 4, 4);
	return v;
}

/* Outputs of one panel innermost; what is past the last output stays zero. */
static void pack_panels(const struct npu_pack_source *s, uint8_t *dst, enum npu_dtype dtype)
{
	int64_t panels = (s->outs + NPU_PANEL - 1) / NPU_PANEL;
	size_t at = 0;

	for (int64_t g = 0; g < s->groups; g++)
		for (int64_t p = 0; p < panels; p++)
			for (int64_t h = 0; h < s->dim[0]; h++)
				for (int64_t w = 0; w < s->dim[1]; w++)
					for (int64_t c = 0; c < s->dim[2]; c++, at += NPU_PANEL) {
						int64_t base = g * s->group_stride +
							       h * s->stride[0] + w * s->stride[1] +
							       c * s->stride[2];

						for (int64_t i = 0;
						     i < NPU_PANEL && p * NPU_PANEL + i < s->outs;
						     i++)
							put(dst, at + (size_t)i, dtype,
							    get(s, base + (p * NPU_PANEL + i) *
										   s->out_stride));
					}
}

static void pack_plain(const struct npu_pack_source *s, uint8_t *dst, enum npu_dtype dtype)
{
	size_t at = 0;

	for (int64_t h = 0; h < s->dim[0]; h++)
		for (int64_t w = 0; w < s->dim[1]; w++)
			for (int64_t c = 0; c < s->dim[2]; c++)
				for (int64_t g = 0; g < s->groups; g++)
					for (int64_t o = 0; o < s->outs; o++)
						put(dst, at++, dtype,
						    get(s, g * s->group_stride + o * s->out_stride +
								   h * s->stride[0] +
								   w * s->stride[1] +
								   c * s->stride[2]));
}

/*
 * The weight as a whole: outputs that are tiny beside the others (a normalization's scale near 0)
 * do not count.
 */
static bool weight_fits(const struct npu_gtensor *t)
{
	struct npu_half_fit fit = { 0 };
	int64_t count = npu_gtensor_const_elems(t);

	for (int64_t i = 0; i < count; i++)
		npu_half_fit_add(&fit, (float)npu_gtensor_elem(t, (size_t)i));
	return npu_half_fit_ok(&fit);
}

static enum npu_dtype weight_dtype(struct npu_lower *l, const struct npu_gtensor *t)
{
	if (t->type == NPU_GT_F16 || t->type == NPU_GT_BF16)
		return l->precision == NPU_PRECISION_F32 ? NPU_F32 :
		       t->type == NPU_GT_F16		 ? NPU_F16 :
							   NPU_BF16;
	if (npu_lower_dtype(l, t) == NPU_F32 || l->precision == NPU_PRECISION_F32)
		return NPU_F32;
	if (weight_fits(t))
		return NPU_F16;
	l->weights->f32_kept++;
	npu_lower_note(l, "weight %s stays f32: f16 would overflow or lose too much", t->name);
	return NPU_F32;
}

int npu_pack_weight(struct npu_lower *l, const struct npu_pack_source *src, bool panel,
		    struct npu_lview *view)
{
	enum npu_dtype dtype = src->codes ? npu_lower_dtype(l, src->t) : weight_dtype(l, src->t);
	const bool quads = panel && src->codes;
	int64_t k = src->dim[0] * src->dim[1] * src->dim[2];
	int64_t depth = quads ? (k + 3) / 4 * 4 : k;
	int64_t outs = panel ? (src->outs + NPU_PANEL - 1) / NPU_PANEL * NPU_PANEL : src->outs;
	size_t bytes = (size_t)(src->groups * outs * depth) * (npu_dtype_bits(dtype) / 8);
	uint64_t offset;
	uint8_t *dst = npu_weights_reserve(l->weights, bytes);
	int err;

	if (!dst)
		return -ENOMEM;
	if (quads)
		pack_quads(src, dst);
	else if (panel)
		pack_panels(src, dst, dtype);
	else
		pack_plain(src, dst, dtype);
	err = npu_weights_add(l->weights, dst, bytes, &offset);
	memset(view, 0, sizeof(*view));
	view->buf = l->weight_buf;
	view->dtype = dtype;
	view->layout = quads ? NPU_LAYOUT_PANEL16K4 :
		       panel ? NPU_LAYOUT_PANEL16 :
			       NPU_LAYOUT_STRIDED;
	view->offset = npu_poly_const((int64_t)offset);
	return err;
}
