/* SPDX-License-Identifier: MIT */
/*
 * What cuts a text to words before BPE merges within them. Each family of models has its own rules,
 * which were written as regular expressions; here they are matchers over groups of characters.
 */
#ifndef NPU_LLM_PRETOKENIZER_H
#define NPU_LLM_PRETOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Characters and their groups (unicode_class()). */
struct pre_text {
	const uint32_t *c;
	const uint16_t *group;
};

/* How many characters from @at on, up to @end, make a word; 0: none does. */
typedef size_t (*pre_match)(const struct pre_text *t, size_t at, size_t end);

struct pretokenizer {
	const char *name;	/* as tokenizer.ggml.pre has it */
	/* One after the other, each within the words of those before; NULL ends them. */
	pre_match stages[4];
	bool whole_words;	/* a word that is a token is not merged from its parts */
	bool add_bos;		/* unless the file says */
};

/* The pre-tokenizer of that name, "" is the default one; NULL: not known. */
const struct pretokenizer *pretokenizer_find(const char *name);
/* The table, for tests: NULL beyond the end. */
const struct pretokenizer *pretokenizer_at(size_t i);

/* Set cut[i], i < @num, where a word begins; cut is zeroed before, and cut[0] is set. */
void pretokenizer_cut(const struct pretokenizer *pre, const struct pre_text *t, size_t num,
		      uint8_t *cut);

#endif
