// SPDX-License-Identifier: MIT
/*
 * WordPiece: the text is normalized and cut to words, and each is made of the longest tokens that
 * fit, from its beginning; a word that can not be is unknown as a whole.
 */
#include <errno.h>
#include <string.h>
#include "core/error.h"
#include "llm/tokenizer.h"
#include "llm/unicode.h"

/* BERT takes a longer word as unknown. */
#define MAX_WORD	100		/* characters */

struct word {
	char text[VOCAB_SPACE_SIZE + 4 * MAX_WORD];
	unsigned int size, chars;
	bool too_long;
};

/* Each of these is a word of its own. */
static bool is_ideograph(uint32_t c)
{
	return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
	       (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
	       (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b820 && c <= 0x2ceaf) ||
	       (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

static void begin_word(struct word *w)
{
	memcpy(w->text, VOCAB_SPACE, VOCAB_SPACE_SIZE);
	w->size = VOCAB_SPACE_SIZE;
	w->chars = 0;
	w->too_long = false;
}

/* The longest token at @at: its size, 0 for none. */
static unsigned int longest(const struct npu_tokenizer *t, const struct word *w, unsigned int at,
			    uint32_t *id)
{
	unsigned int n = w->size - at;

	if (n > t->max_size)
		n = t->max_size;
	for (; n; n--) {
		*id = vocab_find(&t->map, w->text + at, n);
		if (*id != VOCAB_NONE)
			break;
	}
	return n;
}

static int finish_word(struct encoder *e, struct word *w)
{
	size_t begin = e->out.num;
	unsigned int at, n;
	uint32_t id;
	int ret = 0;

	if (!w->chars)
		return 0;
	for (at = 0; at < w->size && !w->too_long && !ret; at += n) {
		n = longest(e->t, w, at, &id);
		if (!n)
			break;
		ret = encoder_push(e, id);
	}
	if (!ret && at < w->size) {
		e->out.num = begin;
		ret = encoder_push(e, e->t->unk);
	}
	begin_word(w);
	return ret;
}

static void add_char(struct word *w, uint32_t c)
{
	if (w->chars == MAX_WORD) {
		w->too_long = true;
		return;
	}
	w->chars++;
	w->size += unicode_encode(c, w->text + w->size);
}

static int put_char(struct encoder *e, struct word *w, uint32_t c)
{
	unsigned int group = unicode_class(c);
	int ret = 0;

	if (group & UC_SPACE)
		return finish_word(e, w);
	if (!c || c == UNICODE_BAD || group & UC_C)
		return 0;
	if (e->t->lowercase)
		c = unicode_lower(c);
	if (!(group & UC_P || (c < 0x7f && group & UC_S) || is_ideograph(c))) {
		add_char(w, c);
		return 0;
	}
	ret = finish_word(e, w);
	add_char(w, c);
	return ret ? ret : finish_word(e, w);
}

int wpm_encode(struct encoder *e, const char *text, size_t size)
{
	unsigned int length, k, n;
	uint32_t part[3];
	struct word w;
	size_t i;
	int ret = 0;

	begin_word(&w);
	for (i = 0; i < size && !ret; i += length) {
		part[0] = unicode_decode(text + i, size - i, &length);
		n = e->t->strip_accents ? unicode_base(part[0], part) : 1;
		for (k = 0; k < n && !ret; k++)
			ret = put_char(e, &w, part[k]);
	}
	return ret ? ret : finish_word(e, &w);
}
