/* SPDX-License-Identifier: MIT */
#ifndef NPU_LLM_METADATA_H
#define NPU_LLM_METADATA_H

#include "llm/gguf.h"

/*
 * All keys of @g as a GGUF file without tensors: what a compiled model carries of its tokenizer,
 * chat template and origin. *@data is freed by the caller with free(). Returns 0 or -ENOMEM.
 */
int npu_llm_metadata_write(const struct npu_gguf *g, void **data, size_t *size,
			   struct npu_error *err);

#endif
