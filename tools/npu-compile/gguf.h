/* SPDX-License-Identifier: MIT */
#ifndef NPU_COMPILE_GGUF_H
#define NPU_COMPILE_GGUF_H

#include "npu_llm.h"

/* Whether the file begins as a GGUF file does, or is named so when it can not be read. */
bool gguf_is_one(const char *path);
/* Compile and say what came out; errors were reported. */
int gguf_compile(const char *model, const char *output, const struct npu_llm_compile_options *o,
		 bool quiet);

#endif
