/* SPDX-License-Identifier: MIT */
/*
 * Language models in float64, written as plainly as can be: one sequence at a time, no cache, no
 * tables. What the compiled models are held against.
 */
#ifndef TESTS_LLM_REFERENCE_H
#define TESTS_LLM_REFERENCE_H

#include "llm/gguf.h"

/*
 * Where something is rounded on the way; all false: nowhere, but for the weights in the file. The last
 * four together are the arithmetic of llama.cpp on a processor (0.7.0, flash attention, fewer than 64
 * rows at once) in all but its roundings to f32.
 */
struct reference_how {
	bool long_context;	/* more than the file's original context */
	bool single;		/* results of norms and products to f32 */
	/* activations: f16 beside F16, else codes of 8 bits by groups of a block of the weight */
	bool codes;
	bool half_cache;	/* keys and values f16 */
	bool half_query;	/* queries too */
	bool half_sum;		/* weighted values are summed in f16, one position after the other */
};

/*
 * Logits [num][vocab] after each of @num tokens, from malloc(); NULL when the model has something
 * that is not known here, which is printed.
 */
double *reference_logits(const struct npu_gguf *g, const int32_t *tokens, int num,
			 const struct reference_how *how, int *vocab);

#endif
