// SPDX-License-Identifier: MIT
/*
 * Beginnings that requests have in common: a system prompt, a conversation that goes on. The
 * sessions of the last requests that ended are kept; a new request begins with a fork of the one,
 * kept or running, that has most of its tokens, and so with keys and values that need not be run.
 * Only whole blocks are shared: they do not change, so nobody ever copies one. All of this is of
 * the thread that runs the model.
 */
#include <stdlib.h>
#include <string.h>
#include "serve.h"

/* Tokens of whole blocks at the beginning of @ids that @have has, too. */
static uint32_t common(const struct server *s, const struct npu_llm_session *have,
		       const int32_t *ids, uint32_t num)
{
	const int32_t *tokens = npu_llm_session_tokens(have);
	uint32_t len = npu_llm_session_length(have), n = 0;

	len = len < num ? len : num;
	while (n < len && tokens[n] == ids[n])
		n++;
	return n - n % s->m->info.block;
}

/* The last one that was of use is the last. */
static void move_to_end(struct server *s, uint32_t i)
{
	struct npu_llm_session *session = s->kept[i];

	memmove(s->kept + i, s->kept + i + 1, (s->num_kept - i - 1) * sizeof(*s->kept));
	s->kept[s->num_kept - 1] = session;
}

static void drop(struct server *s, uint32_t i)
{
	move_to_end(s, i);
	npu_llm_session_destroy(s->kept[--s->num_kept]);
	s->metrics.kept = s->num_kept;
}

bool prefix_drop(struct server *s)
{
	if (!s->num_kept)
		return false;
	drop(s, 0);
	return true;
}

uint32_t prefix_blocks(struct server *s)
{
	uint32_t all, own;

	npu_llm_sessions_blocks(s->m->llm, s->kept, s->num_kept, &all, &own);
	return own;
}

void prefix_free(struct server *s)
{
	while (prefix_drop(s))
		;
	free(s->kept);
}

void prefix_keep(struct server *s, struct npu_llm_session *session)
{
	uint32_t len = session ? npu_llm_session_length(session) : 0, i;
	const int32_t *ids = session ? npu_llm_session_tokens(session) : NULL;

	len -= len % s->m->info.block;
	if (!len || !s->o->prefixes) {
		npu_llm_session_destroy(session);
		return;
	}
	npu_llm_session_truncate(session, len, NULL);
	for (i = 0; i < s->num_kept; i++) {
		uint32_t n = common(s, s->kept[i], ids, len);

		if (n == len) {		/* that one has all of it */
			move_to_end(s, i);
			npu_llm_session_destroy(session);
			return;
		}
		if (n == npu_llm_session_length(s->kept[i]))
			drop(s, i--);
	}
	if (s->num_kept == s->o->prefixes)
		prefix_drop(s);
	s->kept[s->num_kept++] = session;
	s->metrics.kept = s->num_kept;
}

/* Who has most of what @r begins with, and how much; its last token has to be run. */
static const struct npu_llm_session *find(struct server *s, const struct request *r, uint32_t *most)
{
	const struct npu_llm_session *found = NULL;
	const struct request *v;
	uint32_t i, n, at = 0;

	*most = 0;
	for (v = s->list; v; v = v->next) {
		n = v != r && v->session ? common(s, v->session, r->ids, r->num - 1) : 0;
		if (n > *most) {
			*most = n;
			found = v->session;
		}
	}
	for (i = 0; i < s->num_kept; i++) {
		n = common(s, s->kept[i], r->ids, r->num - 1);
		if (n && n >= *most) {
			*most = n;
			found = s->kept[at = i];
		}
	}
	if (s->num_kept && found == s->kept[at])
		move_to_end(s, at);
	return found;
}

void prefix_begin(struct server *s, struct request *r)
{
	struct npu_llm_session *fork;
	uint32_t n;
	const struct npu_llm_session *from = s->o->prefixes ? find(s, r, &n) : NULL;

	if (!from || npu_llm_session_fork(from, &fork, NULL))
		return;		/* without memory for that, all of it is run */
	npu_llm_session_truncate(fork, n, NULL);
	npu_llm_session_destroy(r->session);
	r->session = fork;
}
