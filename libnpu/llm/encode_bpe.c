// SPDX-License-Identifier: MIT
/*
 * Byte-level BPE: the pre-tokenizer cuts the text to words, and in each the bytes are merged, the
 * pair that was learnt first before the others.
 */
#include <errno.h>
#include <stdlib.h>
#include "core/error.h"
#include "llm/bpe.h"
#include "llm/pretokenizer.h"
#include "llm/tokenizer.h"
#include "llm/unicode.h"

/* A text as characters. */
struct chars {
	uint32_t *c;
	uint16_t *group;
	uint32_t *at;			/* bytes; one more than characters */
	uint8_t *cut;
	size_t num;
};

static uint32_t merge(const struct encoder *e, const struct symbol *left,
		      const struct symbol *right, uint32_t *key)
{
	const struct bpe_merge *m;

	if (left->id == VOCAB_NONE || right->id == VOCAB_NONE)
		return VOCAB_NONE;
	m = bpe_find(e->t->merges, left->id, right->id);
	if (!m)
		return VOCAB_NONE;
	*key = m->rank;
	return m->result;
}

static int push_symbol(struct encoder *e, const struct symbol *s)
{
	uint32_t i;
	uint8_t byte;
	int ret = 0;

	if (s->id < e->t->num_tokens)
		return encoder_push(e, s->id);
	for (i = 0; i < s->size && !ret; i++) {
		byte = (uint8_t)e->text[s->at + i];
		ret = encoder_push_byte(e, byte, e->t->merges->bytes[byte]);
	}
	return ret;
}

/* The token that a word is as a whole, or VOCAB_NONE. */
static uint32_t find_word(const struct npu_tokenizer *t, const char *text, size_t size)
{
	char encoded[2 * VOCAB_MAX_TOKEN];
	size_t i, n = 0;
	uint32_t id;

	/* Each byte is a character of one or two. */
	if (size > t->max_size)
		return VOCAB_NONE;
	for (i = 0; i < size; i++)
		n += unicode_encode(bpe_char((uint8_t)text[i]), encoded + n);
	id = vocab_find(&t->map, encoded, n);
	return id < t->num_tokens ? id : VOCAB_NONE;
}

static int encode_word(struct encoder *e, size_t at, size_t size)
{
	uint32_t id = e->t->pre->whole_words ? find_word(e->t, e->text + at, size) : VOCAB_NONE;
	size_t i;
	int ret = 0;

	if (id != VOCAB_NONE)
		return encoder_push(e, id);
	e->num_symbols = 0;
	for (i = at; i < at + size && !ret; i++)
		ret = encoder_add(e, i, 1, e->t->merges->bytes[(uint8_t)e->text[i]]);
	if (!ret)
		ret = encoder_merge(e);
	for (i = 0; i < e->num_symbols && !ret; i++)
		if (e->symbols[i].size)
			ret = push_symbol(e, &e->symbols[i]);
	return ret;
}

static void free_chars(struct chars *s)
{
	free(s->c);
	free(s->group);
	free(s->at);
	free(s->cut);
}

static int make_chars(struct encoder *e, struct chars *s, const char *text, size_t size)
{
	unsigned int length;
	size_t i;

	s->c = reallocarray(NULL, size, sizeof(*s->c));
	s->group = reallocarray(NULL, size, sizeof(*s->group));
	s->at = reallocarray(NULL, size + 1, sizeof(*s->at));
	s->cut = calloc(size, 1);
	if (!s->c || !s->group || !s->at || !s->cut)
		return npu_error_set(e->err, -ENOMEM, "no memory for a text of %zu bytes", size);
	for (i = 0; i < size; i += length) {
		s->at[s->num] = i;
		s->c[s->num] = unicode_decode(text + i, size - i, &length);
		s->group[s->num] = unicode_class(s->c[s->num]);
		s->num++;
	}
	s->at[s->num] = size;
	return 0;
}

int bpe_encode(struct encoder *e, const char *text, size_t size)
{
	struct chars s = { 0 };
	struct pre_text pre;
	size_t i, end;
	int ret = make_chars(e, &s, text, size);

	if (ret)
		goto out;
	pre.c = s.c;
	pre.group = s.group;
	pretokenizer_cut(e->t->pre, &pre, s.num, s.cut);
	e->text = text;
	e->merge = merge;
	for (i = 0; i < s.num && !ret; i = end) {
		for (end = i + 1; end < s.num && !s.cut[end]; end++)
			;
		ret = encode_word(e, s.at[i], s.at[end] - s.at[i]);
	}
out:
	free_chars(&s);
	return ret;
}
