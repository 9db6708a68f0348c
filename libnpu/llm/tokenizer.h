/* SPDX-License-Identifier: MIT */
/* What the kinds of tokenizers share while they encode. */
#ifndef NPU_LLM_TOKENIZER_H
#define NPU_LLM_TOKENIZER_H

#include "llm/vocab.h"

/* Tokens so far. */
struct token_list {
	int32_t *ids;
	size_t num, room;
};

/* A piece of a text that merges make longer. */
struct symbol {
	uint32_t at, size;		/* of the text; size 0: merged into the one before */
	uint32_t id;			/* its string's number, VOCAB_NONE: none */
	uint32_t prev, next;		/* VOCAB_NONE at the ends */
};

/* Two neighbours that can become one. */
struct candidate {
	uint64_t key;			/* the lowest goes first */
	uint32_t left, right;		/* symbols */
	uint32_t left_size, right_size;	/* what they were then */
	uint32_t result;
};

/* One call's memory: grows, and is used for one piece of text after the other. */
struct encoder {
	const struct npu_tokenizer *t;
	struct npu_error *err;
	struct token_list out;
	bool more;			/* text comes before what is encoded: no space is added */
	const char *text;		/* what symbols are of */
	struct symbol *symbols;
	uint32_t num_symbols;
	size_t room_symbols;
	struct candidate *heap;
	size_t num_heap, room_heap;
	/*
	 * Whether two symbols can be merged: the string's number that they become, and in *@key the
	 * upper half of the key; VOCAB_NONE: they can not.
	 */
	uint32_t (*merge)(const struct encoder *e, const struct symbol *left,
			  const struct symbol *right, uint32_t *key);
};

/* All return 0, -ENOMEM or -EINVAL with the reason. */
int encoder_push(struct encoder *e, int32_t id);
/* Begin a word: no symbols. Add one. Merge them all; those of size 0 are gone then. */
int encoder_add(struct encoder *e, uint32_t at, uint32_t size, uint32_t id);
int encoder_merge(struct encoder *e);
/* The token for @byte, by @id (VOCAB_NONE: none): unknown where there is none. */
int encoder_push_byte(struct encoder *e, uint8_t byte, uint32_t id);
/* @array of *@room elements of @size bytes, moved if need be so that it holds @need; NULL. */
void *encoder_grow(struct encoder *e, void *array, size_t *room, size_t need, size_t size);

/*
 * npu_tokenizer_encode(). @plain, or NULL: a bit for each byte of the text, set where no control
 * token may be.
 */
int tokenizer_encode(const struct npu_tokenizer *t, const char *text, size_t size,
		     unsigned int flags, const uint8_t *plain, int32_t *ids, size_t room,
		     size_t *num, struct npu_error *err);

/* Tokens of the text between two special ones, or an end. */
int spm_encode(struct encoder *e, const char *text, size_t size);
int bpe_encode(struct encoder *e, const char *text, size_t size);
int wpm_encode(struct encoder *e, const char *text, size_t size);

#endif
