// SPDX-License-Identifier: MIT
/* Opening a tokenizer, and texts to tokens: what is special first, the rest by kind. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"
#include "core/object.h"
#include "llm/bpe.h"
#include "llm/tokenizer.h"

/* ---- open and close ---- */

static int make(struct npu_gguf *g, struct npu_tokenizer **out, struct npu_error *err)
{
	struct npu_tokenizer *t = calloc(1, sizeof(*t));
	int ret;

	if (!t)
		return npu_error_set(err, -ENOMEM, "no memory for the tokenizer");
	ret = vocab_read(t, g, err);
	if (ret) {
		npu_tokenizer_close(t);
		return ret;
	}
	*out = t;
	return 0;
}

int npu_tokenizer_open(const char *path, struct npu_tokenizer **tokenizer, struct npu_error *err)
{
	struct npu_gguf *g;
	int ret;

	if (!path || !tokenizer)
		return npu_error_set(err, -EINVAL, "npu_tokenizer_open: NULL argument");
	ret = npu_gguf_open(path, &g, err);
	if (ret)
		return ret;
	ret = make(g, tokenizer, err);
	npu_gguf_close(g);
	return ret;
}

int npu_tokenizer_parse(const void *data, size_t size, const char *name,
			struct npu_tokenizer **tokenizer, struct npu_error *err)
{
	struct npu_gguf *g;
	int ret;

	if (!data || !name || !tokenizer)
		return npu_error_set(err, -EINVAL, "npu_tokenizer_parse: NULL argument");
	ret = npu_gguf_parse(data, size, name, &g, err);
	if (ret)
		return ret;
	ret = make(g, tokenizer, err);
	npu_gguf_close(g);
	return ret;
}

void npu_tokenizer_close(struct npu_tokenizer *t)
{
	struct vocab_extra *extra;

	if (!t)
		return;
	while (t->extras) {
		extra = t->extras;
		t->extras = extra->next;
		free(extra);
	}
	bpe_free(t->merges);
	free(t->texts);
	free(t->map.strings);
	free(t->map.slots);
	free(t->scores);
	free(t->attrs);
	free(t->strip);
	free(t->specials);
	free(t->special_sizes);
	free(t->model_name);
	free(t->pre_name);
	free(t->chat_template);
	free(t);
}

/* ---- special tokens in a text ---- */

struct found {
	size_t at, end;			/* bytes of the text */
	uint32_t id;
};

struct search {
	struct encoder *e;
	const char *text;
	size_t size;
	bool control;			/* control tokens are looked for */
	const uint8_t *plain;		/* but not where a bit is set; or NULL */
	uint8_t *taken;			/* a bit for each byte */
	bool *present;			/* tokens that are in the text at all */
	struct found *found;
	size_t num, room;
};

static bool is_taken(const struct search *s, size_t at)
{
	return s->taken[at / 8] >> at % 8 & 1;
}

static bool is_wanted(const struct search *s, uint32_t id)
{
	unsigned int attr = s->e->t->attrs[id];

	return attr & (NPU_TOKEN_CONTROL | NPU_TOKEN_UNKNOWN) ? s->control
							      : !!(attr & NPU_TOKEN_USER);
}

static int make_marks(struct search *s)
{
	s->taken = calloc(s->size / 8 + 1, 1);
	s->present = calloc(s->e->t->num_tokens, sizeof(*s->present));
	if (!s->taken || !s->present)
		return npu_error_set(s->e->err, -ENOMEM, "no memory for a text of %zu bytes",
				     s->size);
	return 0;
}

/* Mark the tokens that are in the text, so that the others need not be looked for. */
static int find_present(struct search *s)
{
	const struct npu_tokenizer *t = s->e->t;
	size_t at;
	uint32_t i, id;

	for (at = 0; at < s->size; at++) {
		if (!t->special_first[(uint8_t)s->text[at]])
			continue;
		for (i = 0; i < t->num_special_sizes; i++) {
			if (t->special_sizes[i] > s->size - at)
				continue;
			id = vocab_find(&t->map, s->text + at, t->special_sizes[i]);
			if (id >= t->num_tokens || !is_wanted(s, id))
				continue;
			if (!s->present && make_marks(s))
				return -ENOMEM;
			s->present[id] = true;
		}
	}
	return 0;
}

static int take(struct search *s, size_t at, size_t size, uint32_t id)
{
	size_t end = at + size, i;
	struct found *found;

	if (s->e->t->strip && s->e->t->strip[id])
		while (end < s->size && !is_taken(s, end) && isspace((uint8_t)s->text[end]))
			end++;
	found = encoder_grow(s->e, s->found, &s->room, s->num + 1, sizeof(*found));
	if (!found)
		return -ENOMEM;
	s->found = found;
	found[s->num++] = (struct found){ at, end, id };
	for (i = at; i < end; i++)
		s->taken[i / 8] |= 1u << i % 8;
	return 0;
}

/* Is any of it where control tokens are none? */
static bool is_plain(const struct search *s, size_t at, size_t size, uint32_t id)
{
	size_t i;

	if (!s->plain || s->e->t->attrs[id] & NPU_TOKEN_USER)
		return false;
	for (i = at; i < at + size; i++)
		if (s->plain[i / 8] >> i % 8 & 1)
			return true;
	return false;
}

/* All places of one token in what is left; longer tokens had theirs before. */
static int find_token(struct search *s, uint32_t id)
{
	const struct vocab_string *token = vocab_token(s->e->t, id);
	const char *p = s->text, *end = s->text + s->size;
	size_t at;

	while ((p = memmem(p, end - p, token->text, token->size))) {
		at = p - s->text;
		/* A longer token that covers a part covers an end. */
		if (is_taken(s, at) || is_taken(s, at + token->size - 1) ||
		    is_plain(s, at, token->size, id)) {
			p++;
			continue;
		}
		if (take(s, at, token->size, id))
			return -ENOMEM;
		p += token->size;
	}
	return 0;
}

static int compare_found(const void *a, const void *b)
{
	size_t x = ((const struct found *)a)->at, y = ((const struct found *)b)->at;

	return (x > y) - (x < y);
}

static int find_specials(struct search *s)
{
	const struct npu_tokenizer *t = s->e->t;
	uint32_t i;
	int ret = find_present(s);

	for (i = 0; i < t->num_specials && s->present && !ret; i++)
		if (s->present[t->specials[i]])
			ret = find_token(s, t->specials[i]);
	if (s->num)
		qsort(s->found, s->num, sizeof(*s->found), compare_found);
	return ret;
}

/* ---- encoding ---- */

static int encode_text(struct encoder *e, const char *text, size_t size)
{
	if (!size)
		return 0;
	switch (e->t->model) {
	case VOCAB_SPM:
		return spm_encode(e, text, size);
	case VOCAB_BPE:
		return bpe_encode(e, text, size);
	default:
		return wpm_encode(e, text, size);
	}
}

static int encode_all(struct search *s, unsigned int flags)
{
	struct encoder *e = s->e;
	size_t at = 0, i;
	int ret = 0;

	if (flags & NPU_TOKENIZE_ADD && e->t->add_bos)
		ret = encoder_push(e, e->t->bos);
	for (i = 0; i < s->num && !ret; i++) {
		ret = encode_text(e, s->text + at, s->found[i].at - at);
		if (!ret)
			ret = encoder_push(e, s->found[i].id);
		e->more = false;
		at = s->found[i].end;
	}
	if (!ret)
		ret = encode_text(e, s->text + at, s->size - at);
	if (!ret && flags & NPU_TOKENIZE_ADD && e->t->add_sep)
		ret = encoder_push(e, e->t->sep);
	if (!ret && flags & NPU_TOKENIZE_ADD && e->t->add_eos)
		ret = encoder_push(e, e->t->eos);
	return ret;
}

static int give(const struct encoder *e, int32_t *ids, size_t room, size_t *num)
{
	*num = e->out.num;
	if (e->out.num > room)
		return npu_error_set(e->err, -ENOSPC, "%zu tokens, there is room for %zu",
				     e->out.num, room);
	if (e->out.num)
		memcpy(ids, e->out.ids, e->out.num * sizeof(*ids));
	return 0;
}

int npu_tokenizer_encode(const struct npu_tokenizer *t, const char *text, size_t size,
			 unsigned int flags, int32_t *ids, size_t room, size_t *num,
			 struct npu_error *err)
{
	return tokenizer_encode(t, text, size, flags, NULL, ids, room, num, err);
}

int tokenizer_encode(const struct npu_tokenizer *t, const char *text, size_t size,
		     unsigned int flags, const uint8_t *plain, int32_t *ids, size_t room,
		     size_t *num, struct npu_error *err)
{
	struct encoder e = { .t = t, .err = err, .more = flags & NPU_TOKENIZE_MORE };
	struct search s = { .e = &e, .text = text, .size = size,
			    .control = flags & NPU_TOKENIZE_SPECIAL, .plain = plain };
	int ret;

	if ((!text && size) || (!ids && room) || !num)
		return npu_error_set(err, -EINVAL, "npu_tokenizer_encode: NULL argument");
	if (flags & ~(NPU_TOKENIZE_ADD | NPU_TOKENIZE_SPECIAL | NPU_TOKENIZE_MORE))
		return npu_error_set(err, -EINVAL, "npu_tokenizer_encode: flags 0x%x are not known",
				     flags);
	if (flags & NPU_TOKENIZE_ADD && flags & NPU_TOKENIZE_MORE)
		return npu_error_set(err, -EINVAL,
				     "npu_tokenizer_encode: a text begins, or it goes on from another");
	if (size > INT32_MAX)
		return npu_error_set(err, -EINVAL, "a text of %zu bytes is too long", size);
	ret = find_specials(&s);
	if (!ret)
		ret = encode_all(&s, flags);
	if (!ret)
		ret = give(&e, ids, room, num);
	free(s.taken);
	free(s.present);
	free(s.found);
	free(e.out.ids);
	free(e.symbols);
	free(e.heap);
	return ret;
}

/* ---- what is in it ---- */

int npu_tokenizer_info(const struct npu_tokenizer *t, struct npu_tokenizer_info *info)
{
	const struct npu_tokenizer_info known = {
		.size = sizeof(known),
		.vocab = t->num_tokens,
		.bos = t->bos,
		.eos = t->eos,
		.eot = t->eot,
		.unk = t->unk,
		.sep = t->sep,
		.pad = t->pad,
		.mask = t->mask,
		.max_piece = t->max_size,
		.add_bos = t->add_bos,
		.add_eos = t->add_eos || t->add_sep,
		.add_space = t->add_space,
		.has_chat = *t->chat_template,
		.model = t->model_name,
		.pre = t->pre_name,
		.chat_template = t->chat_template,
	};

	return info && !npu_struct_write(info, info->size, &known, sizeof(known)) ? 0 : -EINVAL;
}

unsigned int npu_tokenizer_attr(const struct npu_tokenizer *t, int32_t id)
{
	return id >= 0 && (uint32_t)id < t->num_tokens ? t->attrs[id] : 0;
}

int32_t npu_tokenizer_find(const struct npu_tokenizer *t, const char *text)
{
	uint32_t id = text ? vocab_find(&t->map, text, strlen(text)) : VOCAB_NONE;

	return id < t->num_tokens ? (int32_t)id : -ENOENT;
}
