/* SPDX-License-Identifier: MIT */
/* Byte-level BPE: the merges of a vocabulary. */
#ifndef NPU_LLM_BPE_H
#define NPU_LLM_BPE_H

#include "llm/vocab.h"

/* A pair of strings and what they become, by hash. */
struct bpe_merge {
	uint32_t left, right;	/* numbers in the vocabulary's map */
	uint32_t rank;		/* the lowest is merged first */
	uint32_t result;	/* VOCAB_NONE: the slot is empty */
};

struct bpe_merges {
	struct bpe_merge *slots;
	uint32_t mask;
	/* Strings that stand for single bytes, VOCAB_NONE where the vocabulary has none. */
	uint32_t bytes[256];
};

int bpe_read(struct npu_tokenizer *t, const struct npu_gguf *g, struct npu_error *err);
void bpe_free(struct bpe_merges *merges);

/* The merge of two strings, or NULL. */
const struct bpe_merge *bpe_find(const struct bpe_merges *merges, uint32_t left, uint32_t right);

/* The character that stands for @byte in tokens, and back; -1: @c stands for none. */
uint32_t bpe_char(uint8_t byte);
int bpe_byte(uint32_t c);

#endif
