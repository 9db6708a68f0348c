/* SPDX-License-Identifier: MIT */
/* A vocabulary out of a GGUF file: tokens by id and by text, and what the file says of them. */
#ifndef NPU_LLM_VOCAB_H
#define NPU_LLM_VOCAB_H

#include "llm/gguf.h"
#include "npu_llm.h"

#define VOCAB_MAX_TOKENS	(1u << 24)
#define VOCAB_MAX_TOKEN		4096	/* bytes of a token */
#define VOCAB_NONE		UINT32_MAX

enum vocab_model { VOCAB_SPM, VOCAB_BPE, VOCAB_WPM };

struct vocab_string {
	const char *text;
	uint32_t size;
};

struct vocab_extra {
	struct vocab_extra *next;
	char text[];
};

/* Text to number, every text once. Numbers are given in the order of the texts. */
struct vocab_map {
	struct vocab_string *strings;
	uint32_t num, room;
	uint32_t *slots;		/* number + 1; 0 is empty */
	uint32_t mask;
};

struct npu_tokenizer {
	enum vocab_model model;
	const struct pretokenizer *pre;	/* BPE */
	char *texts;			/* what the tokens' strings point into */
	struct vocab_extra *extras;	/* and those of other strings */
	char *model_name, *pre_name, *chat_template;

	/* The tokens are the first num_tokens strings; BPE's merges may add more. */
	struct vocab_map map;
	uint32_t num_tokens, max_size;
	float *scores;			/* SPM */
	uint8_t *attrs;			/* enum npu_token_attr */
	bool *strip;			/* spaces after the token go with it; or NULL */

	int32_t bos, eos, eot, unk, sep, pad, mask;
	bool add_bos, add_eos, add_sep, add_space;
	bool lowercase, strip_accents;	/* WPM */

	/* Control, user-defined and unknown tokens, the longest first, and the sizes that occur. */
	uint32_t *specials, num_specials;
	uint16_t *special_sizes, num_special_sizes;
	bool special_first[256];	/* one of them begins so */
	uint32_t bytes[256];		/* byte tokens, VOCAB_NONE where there is none */
	bool cuts_words;		/* SPM: no token goes over the beginning of a word */
	struct bpe_merges *merges;	/* BPE */
};

/* "▁", what stands for a space in SPM and WPM. */
#define VOCAB_SPACE		"\xe2\x96\x81"
#define VOCAB_SPACE_SIZE	3

/* The number of @size bytes at @text, or VOCAB_NONE. */
uint32_t vocab_find(const struct vocab_map *map, const char *text, size_t size);
/*
 * The same for a text that is added when it is not there; @text must stay. VOCAB_NONE: out of
 * memory.
 */
uint32_t vocab_add(struct vocab_map *map, const char *text, uint32_t size);

/* The byte that a token like "<0x0A>" stands for, digits in any case; -1 for others. */
int vocab_byte(const struct vocab_string *s);

/* Read all of it; what was filled in is npu_tokenizer_close()'s to free. */
int vocab_read(struct npu_tokenizer *t, const struct npu_gguf *g, struct npu_error *err);

static inline const struct vocab_string *vocab_token(const struct npu_tokenizer *t, uint32_t id)
{
	return &t->map.strings[id];
}

#endif
