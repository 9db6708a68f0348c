/* SPDX-License-Identifier: MIT */
/* One block of a ggml type taken apart, and panels of codes put together. */
#ifndef NPU_LLM_GGML_BLOCKS_H
#define NPU_LLM_GGML_BLOCKS_H

#include "llm/ggml_types.h"

#define GGML_BLOCK	256	/* elements of the largest block */

/* A block's contents as the format's operands have them. */
struct npu_ggml_block {
	uint8_t code[GGML_BLOCK];
	/* of each group: factors of two levels as bytes; of one level the bits of an f16 */
	uint16_t scale[GGML_BLOCK / 16], min[GGML_BLOCK / 16];
	uint16_t super[2];		/* bits of f16; of minimums to be added */
};

/* @src: one block of quantized type @t. */
void npu_ggml_block_read(const struct npu_ggml_traits *t, const uint8_t *src,
			 struct npu_ggml_block *b);

/*
 * Put @cols codes of up to 16 rows, @step apart, into a panel of GROUPED16 from @panel on; @cols is
 * a multiple of 4, or the panel ends with them.
 */
void npu_weight_panel(uint8_t *panel, unsigned int bits, const uint8_t *codes, size_t step,
		      unsigned int rows, uint32_t cols);

/* Store @bits, as wide as @type, as element @index of a panel of factors. */
void npu_weight_factor(uint8_t *at, enum npu_dtype type, size_t index, uint32_t bits);

#endif
