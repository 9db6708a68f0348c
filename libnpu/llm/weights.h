/* SPDX-License-Identifier: MIT */
/*
 * The weight section of a compiled language model: matrices and vectors of the file, in the layouts
 * that instructions take. Quantized matrices are kept bit for bit; a matrix that is both embedding
 * and output lies there once when both instructions can read it.
 */
#ifndef NPU_LLM_WEIGHTS_H
#define NPU_LLM_WEIGHTS_H

#include "llm/ggml_types.h"
#include "llm/model.h"
#include "npu_llm.h"

struct npu_llm_weights {
	unsigned int region;		/* of operands */
	enum npu_llm_quant quant;
	enum npu_llm_activation act;
	uint8_t *data;
	uint64_t size, room;
	uint64_t parameters;		/* elements of the file's tensors that were placed */
};

/* A matrix in the section. */
struct npu_llm_weight {
	uint64_t offset;
	struct npu_weight_place place;
	struct npu_weight_tensors t;
	/* activations are quantized by groups of that many; 0: not */
	uint32_t a_group;
	enum npu_dtype a_scale;		/* the type of their scales */
};

/*
 * Append [@m->rows][@m->cols] of the file as b of MATMUL, [cols][rows]. Returns 0, -ENOTSUP (a type
 * that is not known, by the tensor's name), -EINVAL or -ENOMEM.
 */
int npu_llm_weights_matrix(struct npu_llm_weights *w, const struct npu_llm_matrix *m,
			   struct npu_llm_weight *out, struct npu_error *err);
/*
 * The same as rows of GATHER, [1][rows][cols]; @same: the matrix as it was placed for MATMUL, or
 * NULL, is used when GATHER can read it.
 */
int npu_llm_weights_rows(struct npu_llm_weights *w, const struct npu_llm_matrix *m,
			 const struct npu_llm_weight *same, struct npu_llm_weight *out,
			 struct npu_error *err);
/* Append one row as [cols] of f32. */
int npu_llm_weights_vector(struct npu_llm_weights *w, const struct npu_llm_matrix *m,
			   struct npu_tensor *out, struct npu_error *err);
/* Append @num floats of the compiler's own. */
int npu_llm_weights_floats(struct npu_llm_weights *w, const float *v, uint32_t num,
			   struct npu_tensor *out, struct npu_error *err);

void npu_llm_weights_fini(struct npu_llm_weights *w);

#endif
