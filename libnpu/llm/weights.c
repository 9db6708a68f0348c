// SPDX-License-Identifier: MIT
/* Weights of the file into the section that all weights lie in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"
#include "llm/weights.h"

#define PLACE_ALIGN	64u
#define MIN_A_GROUP	32u	/* of activations: shorter groups cost more than they are worth */
#define SHORT_ROW	256u	/* of elements */
#define QUANT_ROWS	256u	/* that are floats at a time; a multiple of 16 */

/* @bytes of zeros more at a multiple of 64; *@at is their offset. NULL: no memory. */
static uint8_t *append(struct npu_llm_weights *w, uint64_t bytes, uint64_t *at)
{
	uint64_t from = (w->size + PLACE_ALIGN - 1) / PLACE_ALIGN * PLACE_ALIGN, end, room;
	uint8_t *p;

	if (__builtin_add_overflow(from, bytes, &end))
		return NULL;
	if (end > w->room) {
		room = end + end / 2;
		p = realloc(w->data, room);
		if (!p)
			return NULL;
		w->data = p;
		w->room = room;
	}
	memset(w->data + w->size, 0, end - w->size);
	w->size = end;
	*at = from;
	return w->data + from;
}

static int no_memory(const struct npu_llm_weights *w, struct npu_error *err)
{
	return npu_error_set(err, -ENOMEM, "no memory for weights beyond %llu MiB",
			     (unsigned long long)w->size >> 20);
}

/* Rows of @m from its @first on: where they are, and bytes of one. */
static const uint8_t *rows_at(const struct npu_llm_matrix *m, const struct npu_ggml_traits *t,
			      uint32_t first, size_t *row)
{
	*row = (size_t)m->cols / t->block * t->bytes;
	return (const uint8_t *)m->tensor->data + ((size_t)m->first + first) * *row;
}

static bool is_float(const struct npu_ggml_traits *t)
{
	return !t->format.group;
}

/* How a matrix is stored: as it is, or as the user wants floats to be. */
static int choose_place(const struct npu_llm_weights *w, const struct npu_llm_matrix *m,
			const struct npu_ggml_traits *t, struct npu_weight_place *place)
{
	static const enum npu_weight_quant quants[NPU_LLM_NUM_QUANTS] = {
		[NPU_LLM_QUANT_W8G32] = NPU_WEIGHT_W8G32, [NPU_LLM_QUANT_W8] = NPU_WEIGHT_W8,
		[NPU_LLM_QUANT_W4G32] = NPU_WEIGHT_W4G32, [NPU_LLM_QUANT_W4G64] = NPU_WEIGHT_W4G64,
		[NPU_LLM_QUANT_W4G128] = NPU_WEIGHT_W4G128,
	};
	const struct npu_weight_format half = { .dtype = NPU_F16 };

	if (!is_float(t) || w->quant == NPU_LLM_QUANT_KEEP)
		return npu_ggml_place(t->type, m->rows, m->cols, place);
	if (w->quant == NPU_LLM_QUANT_F16)
		return npu_weight_place(&half, m->rows, m->cols, place);
	/* a few bits of all weights, and the most is lost with those that touch the vocabulary */
	return npu_weight_quant_place(m->end && w->quant != NPU_LLM_QUANT_W8 ? NPU_WEIGHT_W8G32 :
									       quants[w->quant],
				      m->rows, m->cols, place);
}

/* Float rows to codes, some at a time. */
static int quantize(const struct npu_llm_matrix *m, const struct npu_ggml_traits *t,
		    const struct npu_weight_place *place, uint8_t *dst)
{
	float *rows = malloc((size_t)QUANT_ROWS * m->cols * sizeof(*rows));
	uint32_t first, count;
	const uint8_t *src;
	size_t row;
	int ret = rows ? 0 : -ENOMEM;

	for (first = 0; first < m->rows && !ret; first += count) {
		count = m->rows - first < QUANT_ROWS ? m->rows - first : QUANT_ROWS;
		src = rows_at(m, t, first, &row);
		ret = npu_ggml_dequantize(t->type, src, count * row, rows, (size_t)count * m->cols);
		ret = ret ?: npu_weight_quantize_rows(place, first, count, rows, dst, place->size);
	}
	free(rows);
	return ret;
}

static int fill(const struct npu_llm_matrix *m, const struct npu_ggml_traits *t,
		const struct npu_weight_place *place, uint8_t *dst)
{
	const uint8_t *src;
	size_t row;

	if (is_float(t) && place->format.group)
		return quantize(m, t, place, dst);
	src = rows_at(m, t, 0, &row);
	return npu_ggml_pack(t->type, place, src, m->rows * row, dst, place->size);
}

static const struct npu_ggml_traits *find_type(const struct npu_llm_matrix *m,
					       struct npu_error *err)
{
	const struct npu_ggml_traits *t = npu_ggml_traits(m->tensor->type);
	const char *name = npu_gguf_type_name(m->tensor->type);

	if (!t)
		npu_error_set(err, -ENOTSUP, "tensor '%s' is of type %s, which is not supported",
			      m->tensor->name, name ? name : "unknown");
	return t;
}

/*
 * By how many the activations beside @place are quantized: a multiple of the weights' group, so
 * that one product of scales serves a group; 0: they stay floats. Short rows stay so, too: the
 * product is cheap there, and few terms average out what eight bits lose.
 */
static uint32_t a_group_of(const struct npu_llm_weights *w, const struct npu_weight_place *place)
{
	const struct npu_weight_format *f = &place->format;

	if (!f->group || w->act == NPU_LLM_ACT_F32 ||
	    (w->act == NPU_LLM_ACT_AUTO && place->cols < SHORT_ROW))
		return 0;
	if (f->super)
		return f->super;
	return (MIN_A_GROUP + f->group - 1) / f->group * f->group;
}

/*
 * Beside ggml's blocks of 32 the scales of activations are f16 as llama.cpp has them: its texts are
 * the same then, unless two tokens are as good as each other.
 */
static enum npu_dtype a_scale_of(const struct npu_ggml_traits *t)
{
	return is_float(t) || t->format.super ? NPU_F32 : NPU_F16;
}

int npu_llm_weights_matrix(struct npu_llm_weights *w, const struct npu_llm_matrix *m,
			   struct npu_llm_weight *out, struct npu_error *err)
{
	const struct npu_ggml_traits *t = find_type(m, err);
	uint8_t *p;
	int ret;

	memset(out, 0, sizeof(*out));
	if (!t)
		return -ENOTSUP;
	ret = choose_place(w, m, t, &out->place);
	if (ret)
		return npu_error_set(err, ret, "tensor '%s': rows of %u elements can not be stored as %s",
				     m->tensor->name, m->cols, t->name);
	p = append(w, out->place.size, &out->offset);
	if (!p)
		return no_memory(w, err);
	ret = fill(m, t, &out->place, p);
	if (ret)
		return npu_error_set(err, ret, "tensor '%s': %s", m->tensor->name,
				     ret == -ERANGE ? "a weight is not finite, or too large to be quantized" :
						      strerror(-ret));
	w->parameters += (uint64_t)m->rows * m->cols;
	out->a_group = a_group_of(w, &out->place);
	out->a_scale = a_scale_of(t);
	return npu_weight_tensors(&out->place, false, w->region, out->offset, &out->t);
}

/* Plain rows of floats, as they are in the file. */
static int float_rows(struct npu_llm_weights *w, const struct npu_llm_matrix *m,
		      const struct npu_ggml_traits *t, struct npu_llm_weight *out,
		      struct npu_error *err)
{
	const uint32_t dim[3] = { 1, m->rows, m->cols };
	const uint8_t *src;
	size_t row;
	uint8_t *p;

	src = rows_at(m, t, 0, &row);
	p = append(w, m->rows * row, &out->offset);
	if (!p)
		return no_memory(w, err);
	memcpy(p, src, m->rows * row);
	return npu_tensor_fixed(&out->t.b, w->region, out->offset, t->format.dtype, 3, dim);
}

int npu_llm_weights_rows(struct npu_llm_weights *w, const struct npu_llm_matrix *m,
			 const struct npu_llm_weight *same, struct npu_llm_weight *out,
			 struct npu_error *err)
{
	const struct npu_ggml_traits *t = find_type(m, err);
	int ret;

	memset(out, 0, sizeof(*out));
	if (!t)
		return -ENOTSUP;
	if (same && same->place.format.group) {
		*out = *same;
	} else if (is_float(t)) {
		w->parameters += same ? 0 : (uint64_t)m->rows * m->cols;
		return float_rows(w, m, t, out, err);
	} else {
		ret = npu_llm_weights_matrix(w, m, out, err);
		if (ret)
			return ret;
	}
	return npu_weight_tensors(&out->place, true, w->region, out->offset, &out->t);
}

int npu_llm_weights_floats(struct npu_llm_weights *w, const float *v, uint32_t num,
			   struct npu_tensor *out, struct npu_error *err)
{
	uint64_t at;
	uint8_t *p = append(w, num * sizeof(float), &at);

	if (!p)
		return no_memory(w, err);
	memcpy(p, v, num * sizeof(float));
	return npu_tensor_fixed(out, w->region, at, NPU_F32, 1, &num);
}

int npu_llm_weights_vector(struct npu_llm_weights *w, const struct npu_llm_matrix *m,
			   struct npu_tensor *out, struct npu_error *err)
{
	const struct npu_ggml_traits *t = find_type(m, err);
	const uint8_t *src = m->tensor->data;
	uint64_t at;
	uint8_t *p;

	if (!t)
		return -ENOTSUP;
	if (!is_float(t))
		return npu_error_set(err, -ENOTSUP, "tensor '%s' is a vector of type %s, expected floats",
				     m->tensor->name, t->name);
	p = append(w, m->cols * sizeof(float), &at);
	if (!p)
		return no_memory(w, err);
	/* a vector's first is an element, not a row */
	npu_ggml_dequantize(t->type, src + (size_t)m->first * t->bytes, (size_t)m->cols * t->bytes,
			    (float *)(void *)p, m->cols);
	w->parameters += m->cols;
	return npu_tensor_fixed(out, w->region, at, NPU_F32, 1, &m->cols);
}

void npu_llm_weights_fini(struct npu_llm_weights *w)
{
	free(w->data);
	w->data = NULL;
}
