// SPDX-License-Identifier: MIT
/* Matrices of ggml's blocks into the operands of a weight. */
#include <errno.h>
#include <string.h>
#include "llm/ggml_blocks.h"
#include "npu_grouped.h"

int npu_ggml_place(uint32_t type, uint32_t rows, uint32_t cols, struct npu_weight_place *place)
{
	const struct npu_ggml_traits *t = npu_ggml_traits(type);

	if (!t)
		return -ENOTSUP;
	if (cols % t->block)
		return -EINVAL;
	return npu_weight_place(&t->format, rows, cols, place);
}

/* A matrix on its way. */
struct pack {
	const struct npu_ggml_traits *t;
	const struct npu_weight_place *p;
	const uint8_t *src;
	uint8_t *dst;
	size_t groups, supers, panels;
};

/* The factors of block @at of @lane of a panel. */
static void factors_put(const struct pack *w, size_t panel, unsigned int lane, size_t at,
			const struct npu_ggml_block *b)
{
	const struct npu_weight_format *f = &w->t->format;
	size_t per = w->t->block / f->group, g, index;

	for (g = 0; g < per; g++) {
		index = (panel * w->groups + at * per + g) * NPU_PANEL + lane;
		npu_weight_factor(w->dst + w->p->scale, f->scale, index, b->scale[g]);
		if (f->min)
			npu_weight_factor(w->dst + w->p->min, f->min, index, b->min[g]);
	}
	if (!f->super)
		return;
	index = (panel * w->supers + at) * NPU_PANEL + lane;
	npu_weight_factor(w->dst + w->p->super_scale, f->super_scale, index, b->super[0]);
	if (f->min)
		npu_weight_factor(w->dst + w->p->super_scale, f->super_scale,
				  index + w->panels * w->supers * NPU_PANEL, b->super[1]);
}

/* One block of each row of a panel. */
static void panel_block(const struct pack *w, size_t panel, unsigned int rows, size_t at)
{
	unsigned int bits = npu_dtype_bits(w->t->format.dtype), quad = npu_grouped_quad_bytes(bits),
		     lane;
	size_t row_bytes = (size_t)w->p->cols / w->t->block * w->t->bytes;
	const uint8_t *src = w->src + panel * NPU_PANEL * row_bytes + at * w->t->bytes;
	uint8_t codes[NPU_PANEL][GGML_BLOCK];
	struct npu_ggml_block b;

	for (lane = 0; lane < rows; lane++, src += row_bytes) {
		npu_ggml_block_read(w->t, src, &b);
		memcpy(codes[lane], b.code, w->t->block);
		factors_put(w, panel, lane, at, &b);
	}
	npu_weight_panel(w->dst + w->p->codes +
				 (panel * (w->p->cols / 4) + at * (w->t->block / 4)) * quad,
			 bits, codes[0], GGML_BLOCK, rows, w->t->block);
}

static void groups_pack(struct pack *w)
{
	const struct npu_weight_format *f = &w->t->format;
	size_t panel, at;
	uint32_t left;

	memset(w->dst, 0, w->p->size);
	w->groups = w->p->cols / f->group;
	w->supers = f->super ? w->p->cols / f->super : 0;
	w->panels = ((size_t)w->p->rows + NPU_PANEL - 1) / NPU_PANEL;
	for (panel = 0; panel < w->panels; panel++) {
		left = w->p->rows - (uint32_t)(panel * NPU_PANEL);
		for (at = 0; at < w->p->cols / w->t->block; at++)
			panel_block(w, panel, left < NPU_PANEL ? left : NPU_PANEL, at);
	}
	if (f->book)
		memcpy(w->dst + w->p->book, f->book, 16);
}

static bool same_format(const struct npu_weight_format *a, const struct npu_weight_format *b)
{
	return a->dtype == b->dtype && a->group == b->group && a->super == b->super &&
	       a->zero == b->zero && a->scale == b->scale && a->min == b->min &&
	       a->super_scale == b->super_scale && a->book == b->book;
}

int npu_ggml_pack(uint32_t type, const struct npu_weight_place *p, const void *src, size_t src_size,
		  void *dst, size_t dst_size)
{
	const struct npu_ggml_traits *t = npu_ggml_traits(type);
	struct pack w = { .t = t, .p = p, .src = src, .dst = dst };
	struct npu_weight_place want;
	struct npu_pack_shape shape;
	uint64_t bytes;
	int ret = npu_ggml_place(type, p->rows, p->cols, &want);

	if (ret)
		return ret;
	if (__builtin_mul_overflow((uint64_t)(p->cols / t->block) * p->rows, t->bytes, &bytes) ||
	    bytes > src_size || dst_size != p->size)
		return -EINVAL;
	if (!t->format.group && !p->format.group) {
		npu_pack_nk(&shape, 1, p->rows, p->cols);
		if (npu_pack_size(NPU_LAYOUT_PANEL16, p->format.dtype, &shape, &want.size) ||
		    want.size > dst_size)
			return -EINVAL;
		memset((uint8_t *)dst + want.size, 0, dst_size - want.size);
		return npu_pack_weights(NPU_LAYOUT_PANEL16, &shape, t->format.dtype, src, bytes,
					p->format.dtype, dst, want.size);
	}
	if (!same_format(&p->format, &t->format) || p->size != want.size)
		return -EINVAL;
	groups_pack(&w);
	return 0;
}
