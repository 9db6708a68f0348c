/* SPDX-License-Identifier: MIT */
/*
 * A language model as its GGUF file describes it: hyperparameters and where its tensors are, the
 * differences between architectures resolved. One table (model_arch.c) has a row per architecture;
 * the graph builder (graph.c) looks at the resolved model alone and knows no names.
 */
#ifndef NPU_LLM_MODEL_H
#define NPU_LLM_MODEL_H

#include "llm/gguf.h"
#include "npu.h"

/* What an architecture has beside the plain decoder block. */
#define NPU_LLM_QKV_FUSED	1u	/* attn_qkv: rows of q, k and v one below the other */
#define NPU_LLM_GATE_FUSED	2u	/* ffn_up: rows of the gate, then of up */
#define NPU_LLM_QK_NORM		4u	/* RMS norm of each head's q and k */
#define NPU_LLM_POST_NORM	8u	/* norms after attention and the feed-forward part */
#define NPU_LLM_EMBED_SCALE	16u	/* embeddings times sqrt(dim) */
#define NPU_LLM_WIDE_SCALE	32u	/* scores by sqrt(dim / heads) with WIDE_LAYERS layers */
#define NPU_LLM_TIED		64u	/* no output matrix of its own is allowed for */

struct npu_llm_arch {
	const char *name;		/* general.architecture */
	enum npu_rope pairing;
	enum npu_act act;		/* of the gate */
	unsigned int has;		/* NPU_LLM_* */
	/*
	 * Layer i sees all positions when (i + 1) % period == 0, else a window; 0: all layers
	 * alike.
	 */
	unsigned int window_period;
	unsigned int wide_layers;	/* NPU_LLM_WIDE_SCALE */
	float local_base;		/* RoPE base of layers with a window; 0: the file's */
	float score_cap, logit_cap;	/* where the file does not say; 0: none */
};

/* NULL: not known. */
const struct npu_llm_arch *npu_llm_arch_find(const char *name);
/* Row @i of the table, or NULL: for texts. */
const struct npu_llm_arch *npu_llm_arch_at(unsigned int i);

/* Rows [first, first + rows) of a matrix of the file, each of K elements; tensor NULL: absent. */
struct npu_llm_matrix {
	const struct npu_gguf_tensor *tensor;
	uint32_t first, rows, cols;
	bool end;			/* embedding or output: worth more bits than others */
};

struct npu_llm_linear {
	struct npu_llm_matrix w;
	struct npu_llm_matrix bias;	/* one row of w.rows elements, f32; absent: none */
};

struct npu_llm_layer {
	struct npu_llm_matrix attn_norm, post_attn_norm, ffn_norm, post_ffn_norm;
	struct npu_llm_matrix q_norm, k_norm;
	struct npu_llm_linear q, k, v, o, gate, up, down;
	uint32_t window;		/* 0: all positions */
	float rope_base, rope_scale;	/* scale multiplies positions */
};

struct npu_llm_model {
	const struct npu_llm_arch *arch;
	const char *name;		/* general.name or "" */
	uint32_t dim, num_layers, heads, kv_heads, head_dim, ff, vocab;
	uint32_t trained_context;	/* positions the model was trained for */
	uint32_t rope_dims;
	float eps, score_scale, score_cap, logit_cap, embed_scale;
	float rope_mscale;
	float *rope_factors;		/* [rope_dims / 2], divide the frequencies; NULL: none */
	struct npu_llm_matrix embed, out_norm;
	struct npu_llm_linear out;	/* the embedding when it is tied */
	bool tied;
	struct npu_llm_layer *layers;
};

/*
 * Resolve @g, which must outlive @m, for a context of @context positions (0: as trained; some
 * scalings depend on it). Refused by name: an architecture, a tensor, a scaling of RoPE or a
 * hyperparameter that is not known, shapes that do not agree. Returns 0, -ENOTSUP (not known),
 * -EINVAL (contradicts itself) or -ENOMEM. Free with npu_llm_model_fini(), also after an error.
 */
int npu_llm_model_init(struct npu_llm_model *m, const struct npu_gguf *g, uint32_t context,
		       struct npu_error *err);
void npu_llm_model_fini(struct npu_llm_model *m);

/* RoPE of the file: fills in rope_factors, rope_mscale and the layers' base and scale. */
int npu_llm_model_rope(struct npu_llm_model *m, const struct npu_gguf *g, uint32_t context,
		       struct npu_error *err);

#endif
