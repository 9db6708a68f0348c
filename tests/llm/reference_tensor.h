/* SPDX-License-Identifier: MIT */
/* Tensors of a GGUF file as numbers, for the reference. */
#ifndef TESTS_LLM_REFERENCE_TENSOR_H
#define TESTS_LLM_REFERENCE_TENSOR_H

#include "llm/gguf.h"

/* Element @i; NAN: of a type that is not known here. */
double reference_element(const struct npu_gguf_tensor *t, uint64_t i);

/* Activations beside it that share a scale; 0: they stay floats, 1: they become f16. */
int reference_block(const struct npu_gguf_tensor *t);

/* To the nearest f16, ties to even; what is too large stays as it is. */
double reference_half(double v);

#endif
