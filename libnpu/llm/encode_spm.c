// SPDX-License-Identifier: MIT
/*
 * SentencePiece: characters are merged to tokens, the pair with the best score first; what is left
 * without a token is given byte by byte.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"
#include "llm/tokenizer.h"
#include "llm/unicode.h"
#include "llm/writer.h"

/* Order of floats as order of integers, the largest first. */
static uint32_t score_key(float score)
{
	uint32_t bits;

	score += 0.0f;		/* no -0 */
	memcpy(&bits, &score, 4);
	return bits & 0x80000000 ? bits : ~bits & 0x7fffffff;
}

static uint32_t merge(const struct encoder *e, const struct symbol *left,
		      const struct symbol *right, uint32_t *key)
{
	uint32_t id;

	if (left->size + right->size > e->t->max_size)
		return VOCAB_NONE;
	id = vocab_find(&e->t->map, e->text + left->at, left->size + right->size);
	if (id != VOCAB_NONE)
		*key = score_key(e->t->scores[id]);
	return id;
}

static int push_symbol(struct encoder *e, const struct symbol *s)
{
	uint32_t id = s->id, i;
	uint8_t byte;
	int ret = 0;

	if (id == VOCAB_NONE)
		id = vocab_find(&e->t->map, e->text + s->at, s->size);
	if (id != VOCAB_NONE)
		return encoder_push(e, id);
	for (i = 0; i < s->size && !ret; i++) {
		byte = (uint8_t)e->text[s->at + i];
		ret = encoder_push_byte(e, byte, e->t->bytes[byte]);
	}
	return ret;
}

static int finish_word(struct encoder *e)
{
	int ret = encoder_merge(e);
	uint32_t i;

	for (i = 0; i < e->num_symbols && !ret; i++)
		if (e->symbols[i].size)
			ret = push_symbol(e, &e->symbols[i]);
	e->num_symbols = 0;
	return ret;
}

static int encode_escaped(struct encoder *e, size_t size)
{
	bool space, was_space = true;
	unsigned int n;
	size_t at = 0;
	int ret = 0;

	for (; at < size && !ret; at += n) {
		/*
		 * Each byte that is no UTF-8 is by itself, lest it takes part of a space with it.
		 */
		unicode_decode(e->text + at, size - at, &n);
		space = n == VOCAB_SPACE_SIZE && !memcmp(e->text + at, VOCAB_SPACE, n);
		if (space && !was_space && e->t->cuts_words)
			ret = finish_word(e);
		was_space = space;
		if (!ret)
			ret = encoder_add(e, at, n, VOCAB_NONE);
	}
	return ret ? ret : finish_word(e);
}

static void put_space(struct writer *w)
{
	writer_put(w, VOCAB_SPACE, VOCAB_SPACE_SIZE);
}

int spm_encode(struct encoder *e, const char *text, size_t size)
{
	struct writer w = { 0 };
	size_t spaces = 1, i;
	char *escaped;
	int ret;

	for (i = 0; i < size; i++)
		spaces += text[i] == ' ';
	if (size + spaces * (VOCAB_SPACE_SIZE - 1) >= UINT32_MAX)
		return npu_error_set(e->err, -EINVAL, "a text of %zu bytes is too long", size);
	w.room = size + spaces * VOCAB_SPACE_SIZE;
	w.text = escaped = malloc(w.room);
	if (!escaped)
		return npu_error_set(e->err, -ENOMEM, "no memory for a text of %zu bytes", size);
	if (e->t->add_space && !e->more)
		put_space(&w);
	for (i = 0; i < size; i++) {
		if (text[i] == ' ')
			put_space(&w);
		else
			writer_put(&w, text + i, 1);
	}
	e->text = escaped;
	e->merge = merge;
	ret = encode_escaped(e, w.size);
	free(escaped);
	return ret;
}
