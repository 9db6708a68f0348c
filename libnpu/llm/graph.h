/* SPDX-License-Identifier: MIT */
/*
 * The step program: one command stream that takes any mix of prompts and single tokens, emitted
 * with the operator builders.
 */
#ifndef NPU_LLM_GRAPH_H
#define NPU_LLM_GRAPH_H

#include "core/jobfile.h"
#include "llm/weights.h"

/* Lengths of the step program, in the order of its symbols and scalars. */
enum npu_llm_length {
	NPU_LLM_LEN_ROWS,		/* T: tokens of all sequences */
	NPU_LLM_LEN_SEQUENCES,		/* B */
	NPU_LLM_LEN_LOGITS,		/* R: rows whose logits are wanted */
	NPU_LLM_LEN_BLOCKS,		/* N: of the pool */
	/* S: the first of the R rows, whose largest logits are wanted */
	NPU_LLM_LEN_TOP_ROWS,
	NPU_LLM_LEN_TOP,		/* K: how many of them */
	NPU_LLM_NUM_LENGTHS
};

/* What a program is compiled for. */
struct npu_llm_plan {
	uint32_t max[NPU_LLM_NUM_LENGTHS];	/* each is at least 1 */
	uint32_t block;			/* positions of a block */
	uint32_t table;			/* blocks of a sequence at most */
	enum npu_llm_kv kv;
};

/*
 * Temporaries of rows of one length: planned for one row, an offset is that many times the length.
 */
#define NPU_LLM_MAX_LIVE 32

struct npu_llm_rows {
	unsigned int region;
	enum npu_llm_length length;
	struct {
		uint32_t at, size;
	} live[NPU_LLM_MAX_LIVE];	/* by place */
	unsigned int num_live;
	uint32_t peak;			/* bytes of a row */
};

/* A temporary: [length, cols]. */
struct npu_llm_act {
	struct npu_llm_rows *rows;	/* NULL: none */
	struct npu_tensor t;
	uint32_t at;
};

#define NPU_LLM_MAX_REGIONS	16
#define NPU_LLM_MAX_TENSORS	16

struct npu_llm_graph {
	const struct npu_llm_model *m;
	const struct npu_llm_plan *plan;
	struct npu_llm_weights *w;
	struct npu_error *err;
	struct npu_stream_builder *b;
	struct npu_llm_rows tokens, outs;	/* rows of T, rows of R */
	struct npu_tensor in[NPU_LLM_MAX_TENSORS];	/* operands of the program's tensors */
	struct npu_tensor factors;	/* of RoPE */
	uint64_t row_bytes, scale_row;	/* of keys or values of one position of a layer */
	/* of the job file */
	struct npu_jobfile_symbol symbols[NPU_LLM_NUM_LENGTHS];
	struct npu_jobfile_region regions[NPU_LLM_MAX_REGIONS];
	struct npu_jobfile_tensor tensors[NPU_LLM_MAX_TENSORS];
	struct npu_jobfile_debug *debug;
	uint32_t num_regions, num_tensors, num_debug, room_debug;
	struct npu_jobfile_program program;
};

/*
 * Build the program of @m and place its weights in @w; g->program is ready for the job file, and
 * valid until npu_llm_graph_fini(), which is called after an error, too. Returns 0 or what weights
 * and builders said, with the part of the model in front.
 */
int npu_llm_graph_build(struct npu_llm_graph *g, const struct npu_llm_model *m,
			const struct npu_llm_plan *plan, struct npu_llm_weights *w,
			struct npu_error *err);
void npu_llm_graph_fini(struct npu_llm_graph *g);

/* ---- graph_rows.c: temporaries ---- */

/* A row of @cols elements of @dtype. -ENOMEM: too many at a time, or too wide. */
int npu_llm_act_new(struct npu_llm_graph *g, struct npu_llm_rows *rows, enum npu_dtype dtype,
		    uint32_t cols, struct npu_llm_act *act);
void npu_llm_act_free(struct npu_llm_act *act);
/* [length, cols] as [length, cols / inner, inner]. */
struct npu_tensor npu_llm_act_heads(const struct npu_llm_act *act, uint32_t inner);
/* The same as [1, length, cols]. */
struct npu_tensor npu_llm_act_outer(const struct npu_llm_act *act);

/* ---- graph_op.c: instructions ---- */

/*
 * The tag of the next instruction, which is of the node "blk.<layer>.<part>" (layer < 0: "<part>");
 * 0: no memory. @macs at the largest lengths.
 */
uint32_t npu_llm_graph_tag(struct npu_llm_graph *g, int layer, const char *part, const char *op,
			   uint64_t macs);
/* What an emitter returned: 0, or the error with the node of the last tag in front. */
int npu_llm_graph_check(struct npu_llm_graph *g, int ret);

/* The input of matrix products: floats, and their codes by groups, made when first wanted. */
#define NPU_LLM_MAX_CODES 4

struct npu_llm_input {
	struct npu_llm_act x;
	struct {
		uint32_t group;
		enum npu_dtype dtype;		/* of the scales */
		struct npu_llm_act codes, scales;
	} q[NPU_LLM_MAX_CODES];
	unsigned int num_q;
};

void npu_llm_input_free(struct npu_llm_input *in);

struct npu_llm_linear_args {
	int layer;
	const char *part;		/* "attn_q" */
	struct npu_llm_input *in;
	const struct npu_llm_linear *w;
	const struct npu_llm_weight *placed;	/* NULL: place it now */
	enum npu_dtype dtype;		/* of the result */
	enum npu_act act;
	const struct npu_llm_act *times;	/* multiply the result by this, or NULL */
};

/* @out = in * w + bias, then act, then times; @out is new, of the rows of @in. */
int npu_llm_graph_linear(struct npu_llm_graph *g, const struct npu_llm_linear_args *a,
			 struct npu_llm_act *out);
/* The same into @to, [rows, N]; post_mul before act when it is not 0. */
int npu_llm_graph_linear_to(struct npu_llm_graph *g, const struct npu_llm_linear_args *a,
			    float post_mul, enum npu_act act2, const struct npu_tensor *to);

/* ---- graph_io.c: what the job file says of the program ---- */

enum npu_llm_io {
	NPU_LLM_IO_TOKENS, NPU_LLM_IO_POSITIONS, NPU_LLM_IO_SLOTS, NPU_LLM_IO_Q_START,
	NPU_LLM_IO_KV_LEN, NPU_LLM_IO_TABLE, NPU_LLM_IO_ROWS, NPU_LLM_IO_KV, NPU_LLM_IO_KV_SCALE,
	NPU_LLM_IO_LOGITS, NPU_LLM_IO_ARGMAX, NPU_LLM_IO_TOP_VALUES, NPU_LLM_IO_TOP_TOKENS,
	NPU_LLM_NUM_IO
};

/* Regions, tensors and symbols; g->in[NPU_LLM_IO_*] are their operands. */
int npu_llm_graph_describe(struct npu_llm_graph *g);
/* Sizes that are known at the end, the stream, and g->program. */
int npu_llm_graph_finish(struct npu_llm_graph *g);
struct npu_len npu_llm_len(enum npu_llm_length length);

#endif
