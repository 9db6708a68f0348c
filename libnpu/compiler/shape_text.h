/* SPDX-License-Identifier: MIT */
/* Input shapes as a user writes them: "x=1x3x{H=32..1280:32}x{W=32..1280:32}". */
#ifndef NPU_COMPILER_SHAPE_TEXT_H
#define NPU_COMPILER_SHAPE_TEXT_H

#include "compiler/graph.h"

struct npu_shape_dim {
	char symbol[32];	/* "" for a fixed size or a length of its own */
	int64_t min, max, step;	/* min == max: fixed */
};

struct npu_shape_text {
	char *input;		/* malloc'ed */
	int rank;
	struct npu_shape_dim dim[NPU_GRAPH_MAX_RANK];
	unsigned int variant;	/* program that it belongs to */
};

/*
 * Parse @count texts; naming an input a second time starts the next variant. *@num_variants is at
 * least 1. *@shapes is freed with npu_shape_text_free(). Returns 0, -EINVAL (the text and what is
 * wrong with it are in @diag) or -ENOMEM.
 */
int npu_shape_text_parse(const char *const *text, unsigned int count,
			 struct npu_shape_text **shapes, unsigned int *num_variants,
			 struct npu_diag *diag);
void npu_shape_text_free(struct npu_shape_text *shapes, unsigned int count);

/*
 * Give the inputs of @g the shapes of variant @variant: for each input the latest text of this
 * variant or one before it. Returns 0 or a negative errno with the reason in @diag.
 */
int npu_shape_text_bind(struct npu_graph *g, const struct npu_shape_text *shapes,
			unsigned int count, unsigned int variant, struct npu_diag *diag);

#endif
