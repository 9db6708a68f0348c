/* SPDX-License-Identifier: MIT */
#ifndef NPU_COMPILE_GGUF_H
#define NPU_COMPILE_GGUF_H

#include "npu_llm.h"

/* Options of language models. */
enum gguf_option { GGUF_QUANT, GGUF_KV, GGUF_CONTEXT, GGUF_BATCH, GGUF_CHUNK, GGUF_POOL,
		   GGUF_ACT };

/* Whether the file begins as a GGUF file does, or is named so when it can not be read. */
bool gguf_is_one(const char *path);
/* Returns 0, or -EINVAL on a mistake that was reported. */
int gguf_take_option(struct npu_llm_compile_options *o, enum gguf_option option, const char *s);
/* Compile and say what came out; errors were reported. */
int gguf_compile(const char *model, const char *output, const struct npu_llm_compile_options *o,
		 bool quiet);

#endif
