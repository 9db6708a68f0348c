/* SPDX-License-Identifier: MIT */
/*
 * Language models in float64, written as plainly as can be: one sequence at a time, no cache, no
 * tables. What the compiled models are held against.
 */
#ifndef TESTS_LLM_REFERENCE_H
#define TESTS_LLM_REFERENCE_H

#include "llm/gguf.h"

/*
 * Logits [num][vocab] after each of @num tokens, from malloc(); NULL when the model has something
 * that is not known here, which is printed. @long_context: more than the file's original context.
 */
double *reference_logits(const struct npu_gguf *g, const int32_t *tokens, int num,
			 bool long_context, int *vocab);

#endif
