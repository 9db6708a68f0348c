// SPDX-License-Identifier: MIT
/* The text of a reply as its tokens come, and where a stop string ends it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"
#include "llm.h"

void reply_restart(struct reply *r)
{
	r->size = r->ready = 0;
	r->stopped = false;
	memset(&r->stream, 0, sizeof(r->stream));
}

/* Bytes at the end of the text that may be the beginning of a stop string. */
static size_t held_back(const struct reply *r)
{
	size_t most = 0, n, len;
	unsigned int i;

	for (i = 0; i < r->num_stop; i++) {
		len = strlen(r->stop[i]);
		for (n = len - 1 < r->size ? len - 1 : r->size; n > most; n--)
			if (!memcmp(r->text + r->size - n, r->stop[i], n))
				most = n;
	}
	return most;
}

/* Where the first stop string begins that ends behind @from; ~0: none. */
static size_t find_stop(const struct reply *r, size_t from)
{
	size_t best = SIZE_MAX, at, len;
	unsigned int i;
	char *p;

	for (i = 0; i < r->num_stop; i++) {
		len = strlen(r->stop[i]);
		at = from > len ? from - len : 0;
		p = memmem(r->text + at, r->size - at, r->stop[i], len);
		if (p && (size_t)(p - r->text) < best)
			best = (size_t)(p - r->text);
	}
	return best;
}

static int room_for(struct reply *r, size_t more, struct npu_error *err)
{
	size_t room;
	char *p;

	if (r->room - r->size >= more)
		return 0;
	room = 2 * (r->size + more);
	p = realloc(r->text, room);
	if (!p)
		return npu_error_set(err, -ENOMEM, "no memory for %zu bytes of text", room);
	r->text = p;
	r->room = room;
	return 0;
}

int reply_put(struct reply *r, const struct model *m, int32_t token, struct npu_error *err)
{
	size_t room = NPU_TOKEN_STREAM_ROOM(m->vocab.max_piece), n, before = r->size, stop;
	int ret = room_for(r, room, err);

	ret = ret ?: npu_token_stream_put(m->tok, &r->stream, token, 0, r->text + r->size, room, &n,
					  err);
	if (ret)
		return ret;
	r->size += n;
	stop = find_stop(r, before);
	if (stop != SIZE_MAX) {
		r->size = r->ready = stop;
		r->stopped = true;
		return 1;
	}
	r->ready = r->size - held_back(r);
	return 0;
}

void reply_end(struct reply *r)
{
	if (!r->stopped && !room_for(r, 3, NULL))
		r->size += npu_token_stream_end(&r->stream, r->text + r->size);
	r->ready = r->size;
}

void reply_free(struct reply *r)
{
	free(r->text);
	r->text = NULL;
	r->size = r->room = r->ready = 0;
}
