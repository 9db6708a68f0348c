// SPDX-License-Identifier: MIT
/* Tokens to text, as a whole or one by one. */
#include <errno.h>
#include <string.h>
#include "core/error.h"
#include "llm/bpe.h"
#include "llm/unicode.h"
#include "llm/vocab.h"
#include "llm/writer.h"

#define REPLACEMENT		"\xef\xbf\xbd"
#define REPLACEMENT_SIZE	3

/* A token of SPM or WPM, from byte @at on: its sign for a space becomes one. */
static void put_spaced(struct writer *w, const struct vocab_string *s, uint32_t at)
{
	while (at < s->size) {
		if (s->size - at >= VOCAB_SPACE_SIZE &&
		    !memcmp(s->text + at, VOCAB_SPACE, VOCAB_SPACE_SIZE)) {
			writer_put(w, " ", 1);
			at += VOCAB_SPACE_SIZE;
		} else {
			writer_put(w, s->text + at++, 1);
		}
	}
}

/* A token of BPE: characters that stand for bytes. Others are text as they are. */
static void put_bytes(struct writer *w, const struct vocab_string *s)
{
	unsigned int length;
	uint32_t i;
	int byte;
	char one;

	for (i = 0; i < s->size; i += length) {
		byte = bpe_byte(unicode_decode(s->text + i, s->size - i, &length));
		one = (char)byte;
		if (byte >= 0)
			writer_put(w, &one, 1);
		else
			writer_put(w, s->text + i, length);
	}
}

static bool begins_with_space(const struct vocab_string *s)
{
	return s->size >= VOCAB_SPACE_SIZE && !memcmp(s->text, VOCAB_SPACE, VOCAB_SPACE_SIZE);
}

/* What is text in any case. *@begun: there was some, so that a space is no longer dropped. */
static void put_text(const struct npu_tokenizer *t, struct writer *w, uint32_t id, bool *begun)
{
	const struct vocab_string *s = vocab_token(t, id);
	int byte = t->attrs[id] & NPU_TOKEN_BYTE ? vocab_byte(s) : -1;
	char one = (char)byte;

	if (byte >= 0)
		writer_put(w, &one, 1);
	else if (t->attrs[id] & NPU_TOKEN_USER)
		writer_put(w, s->text, s->size);
	else if (t->model == VOCAB_BPE)
		put_bytes(w, s);
	else if (t->attrs[id] & NPU_TOKEN_NORMAL)
		put_spaced(w, s, !*begun && begins_with_space(s) ? VOCAB_SPACE_SIZE : 0);
	*begun = true;
}

/* Words of WPM have a space before them, and so has the first text of SPM where it was added. */
static bool keeps_space(const struct npu_tokenizer *t)
{
	return t->model == VOCAB_BPE || (t->model == VOCAB_SPM && !t->add_space);
}

static void put_token(const struct npu_tokenizer *t, struct writer *w, uint32_t id,
		      unsigned int flags, bool *begun)
{
	const struct vocab_string *s = vocab_token(t, id);

	if (!(t->attrs[id] & (NPU_TOKEN_CONTROL | NPU_TOKEN_UNKNOWN)))
		put_text(t, w, id, begun);
	else if (flags & NPU_DETOKENIZE_SPECIAL)
		writer_put(w, s->text, s->size);
}

static int check_id(const struct npu_tokenizer *t, int32_t id, struct npu_error *err)
{
	if (id >= 0 && (uint32_t)id < t->num_tokens)
		return 0;
	return npu_error_set(err, -EINVAL, "token %d: the vocabulary has %u tokens", id,
			     t->num_tokens);
}

static int check_flags(unsigned int flags, struct npu_error *err)
{
	if (flags & ~(NPU_DETOKENIZE_SPECIAL | NPU_DETOKENIZE_MORE))
		return npu_error_set(err, -EINVAL, "flags 0x%x are not known", flags);
	return 0;
}

int npu_tokenizer_decode(const struct npu_tokenizer *t, const int32_t *ids, size_t num,
			 unsigned int flags, char *text, size_t room, size_t *size,
			 struct npu_error *err)
{
	bool begun = flags & NPU_DETOKENIZE_MORE || keeps_space(t);
	struct writer w = { .text = text, .room = room };
	size_t i;

	if ((!ids && num) || (!text && room) || !size)
		return npu_error_set(err, -EINVAL, "npu_tokenizer_decode: NULL argument");
	if (check_flags(flags, err))
		return -EINVAL;
	for (i = 0; i < num; i++) {
		if (check_id(t, ids[i], err))
			return -EINVAL;
		put_token(t, &w, ids[i], flags, &begun);
	}
	*size = w.size;
	if (w.size > room)
		return npu_error_set(err, -ENOSPC, "%zu bytes of text, there is room for %zu",
				     w.size, room);
	return 0;
}

/* ---- one by one ---- */

/* Can @size bytes, fewer than a character's, be the beginning of one? */
static bool may_go_on(const char *text, size_t size)
{
	uint8_t lead = (uint8_t)text[0];
	size_t i;

	if (lead < 0xc2 || lead > 0xf4 || unicode_length(lead) <= size)
		return false;
	for (i = 1; i < size; i++)
		if (((uint8_t)text[i] & 0xc0) != 0x80)
			return false;
	return true;
}

/* Whole characters to @w; how many bytes are left at the end that may become one. */
static size_t put_whole(struct writer *w, const char *text, size_t size)
{
	unsigned int length;
	size_t i;

	for (i = 0; i < size; i += length) {
		if (unicode_decode(text + i, size - i, &length) != UNICODE_BAD || length > 1)
			writer_put(w, text + i, length);
		else if (may_go_on(text + i, size - i))
			break;
		else
			writer_put(w, REPLACEMENT, REPLACEMENT_SIZE);
	}
	return size - i;
}

int npu_token_stream_put(const struct npu_tokenizer *t, struct npu_token_stream *s, int32_t id,
			 unsigned int flags, char *text, size_t room, size_t *size,
			 struct npu_error *err)
{
	char bytes[sizeof(s->held) + VOCAB_MAX_TOKEN];
	struct writer piece = { .text = bytes, .size = s->num_held, .room = sizeof(bytes) };
	struct writer out = { .text = text, .room = room };
	bool begun = s->begun || flags & NPU_DETOKENIZE_MORE || keeps_space(t);

	if (!text || !size || s->num_held > sizeof(s->held))
		return npu_error_set(err, -EINVAL, "npu_token_stream_put: bad argument");
	if (check_flags(flags, err) || check_id(t, id, err))
		return -EINVAL;
	if (room < NPU_TOKEN_STREAM_ROOM(t->max_size))
		return npu_error_set(err, -ENOSPC, "room for %zu bytes of text, want %zu", room,
				     NPU_TOKEN_STREAM_ROOM(t->max_size));
	memcpy(bytes, s->held, s->num_held);
	put_token(t, &piece, id, flags, &begun);
	s->begun = begun;
	s->num_held = put_whole(&out, bytes, piece.size);
	memcpy(s->held, bytes + piece.size - s->num_held, s->num_held);
	*size = out.size;
	return 0;
}

size_t npu_token_stream_end(struct npu_token_stream *s, char text[3])
{
	struct writer w = { .text = text, .room = 3 };

	if (s->num_held)
		writer_put(&w, REPLACEMENT, REPLACEMENT_SIZE);
	s->num_held = 0;
	return w.size;
}
