// SPDX-License-Identifier: MIT
/* Matrices of floats, vectors, and the section that all weights lie in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"
#include "llm/weights.h"
#include "npu_half.h"

#define PLACE_ALIGN	64u

/* ggml's numbers of float types. */
enum { GGML_F32 = 0, GGML_F16 = 1, GGML_BF16 = 30 };

static enum npu_dtype float_type(uint32_t type)
{
	switch (type) {
	case GGML_F32:
		return NPU_F32;
	case GGML_F16:
		return NPU_F16;
	case GGML_BF16:
		return NPU_BF16;
	default:
		return NPU_NONE;
	}
}

/* @bytes more at a multiple of 64; *@at is its offset. NULL: no memory. */
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
	memset(w->data + w->size, 0, from - w->size);
	w->size = end;
	*at = from;
	return w->data + from;
}

static int no_memory(const struct npu_llm_weights *w, struct npu_error *err)
{
	return npu_error_set(err, -ENOMEM, "no memory for weights beyond %llu MiB",
			     (unsigned long long)w->size >> 20);
}

/* Bytes of the first of @m's rows, of @elem bytes an element. */
static const uint8_t *row_at(const struct npu_llm_matrix *m, unsigned int elem)
{
	return (const uint8_t *)m->tensor->data + (uint64_t)m->first * m->cols * elem;
}

static int float_matrix(struct npu_llm_weights *w, const struct npu_llm_matrix *m,
			enum npu_dtype from, struct npu_llm_weight *out, struct npu_error *err)
{
	enum npu_dtype to = w->quant == NPU_LLM_QUANT_F16 ? NPU_F16 : from;
	unsigned int elem = npu_dtype_bits(from) / 8;
	const uint32_t dim[2] = { m->cols, m->rows };
	struct npu_pack_shape shape;
	uint64_t at;
	size_t bytes;
	uint8_t *p;
	int ret;

	npu_pack_nk(&shape, 1, m->rows, m->cols);
	ret = npu_pack_size(NPU_LAYOUT_PANEL16, to, &shape, &bytes);
	p = ret ? NULL : append(w, bytes, &at);
	if (!p)
		return ret ? ret : no_memory(w, err);
	ret = npu_pack_weights(NPU_LAYOUT_PANEL16, &shape, from, row_at(m, elem),
			       (size_t)m->rows * m->cols * elem, to, p, bytes);
	return ret ?: npu_tensor_weight(&out->b, w->region, at, to, NPU_LAYOUT_PANEL16, 2, dim);
}

static int unknown_type(const struct npu_llm_matrix *m, struct npu_error *err)
{
	const char *name = npu_gguf_type_name(m->tensor->type);

	return npu_error_set(err, -ENOTSUP, "tensor '%s' is of type %s, which is not supported",
			     m->tensor->name, name ? name : "unknown");
}

int npu_llm_weights_matrix(struct npu_llm_weights *w, const struct npu_llm_matrix *m,
			   struct npu_llm_weight *out, struct npu_error *err)
{
	enum npu_dtype type = float_type(m->tensor->type);
	int ret;

	memset(out, 0, sizeof(*out));
	w->parameters += (uint64_t)m->rows * m->cols;
	if (type == NPU_NONE)
		return unknown_type(m, err);
	ret = float_matrix(w, m, type, out, err);
	return ret ? npu_error_prefix(err, ret, "tensor '%s'", m->tensor->name) : 0;
}

int npu_llm_weights_rows(struct npu_llm_weights *w, const struct npu_llm_matrix *m,
			 const struct npu_llm_weight *same, struct npu_llm_weight *out,
			 struct npu_error *err)
{
	const uint32_t dim[3] = { 1, m->rows, m->cols };
	enum npu_dtype type = float_type(m->tensor->type);
	unsigned int elem = npu_dtype_bits(type) / 8;
	uint64_t bytes = (uint64_t)m->rows * m->cols * elem, at;
	uint8_t *p;

	memset(out, 0, sizeof(*out));
	w->parameters += same ? 0 : (uint64_t)m->rows * m->cols;
	if (type == NPU_NONE)
		return unknown_type(m, err);
	p = append(w, bytes, &at);
	if (!p)
		return no_memory(w, err);
	memcpy(p, row_at(m, elem), bytes);
	return npu_tensor_fixed(&out->b, w->region, at, type, 3, dim);
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
	enum npu_dtype type = float_type(m->tensor->type);
	unsigned int elem = npu_dtype_bits(type) / 8;
	const uint8_t *src;
	npu_u16 half = 0;
	uint64_t at;
	uint32_t i;
	float v;
	uint8_t *p;

	if (type == NPU_NONE)
		return unknown_type(m, err);
	/* a vector's first is an element, not a row */
	src = (const uint8_t *)m->tensor->data + (uint64_t)m->first * elem;
	p = append(w, m->cols * sizeof(float), &at);
	if (!p)
		return no_memory(w, err);
	w->parameters += m->cols;
	for (i = 0; i < m->cols; i++) {
		memcpy(type == NPU_F32 ? (void *)&v : (void *)&half, src + (size_t)i * elem, elem);
		if (type != NPU_F32)
			v = type == NPU_F16 ? npu_half_widen(half) : npu_bfloat_widen(half);
		memcpy(p + i * sizeof(v), &v, sizeof(v));
	}
	return npu_tensor_fixed(out, w->region, at, NPU_F32, 1, &m->cols);
}

void npu_llm_weights_fini(struct npu_llm_weights *w)
{
	free(w->data);
	w->data = NULL;
}
