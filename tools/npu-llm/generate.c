// SPDX-License-Identifier: MIT
/* Tokens one after the other, as text, up to one of the ends that there can be. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "core/error.h"
#include "llm.h"

double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void generate_restart(struct generation *g)
{
	g->size = g->shown = 0;
	memset(&g->stream, 0, sizeof(g->stream));
}

static void show(struct generation *g, size_t upto)
{
	if (upto <= g->shown)
		return;
	fwrite(g->text + g->shown, 1, upto - g->shown, g->out);
	fflush(g->out);
	g->shown = upto;
}

/* Bytes at the end of the text that may be the beginning of a stop string. */
static size_t held_back(const struct generation *g)
{
	size_t most = 0, n, len;
	unsigned int i;

	for (i = 0; i < g->o->num_stop; i++) {
		len = strlen(g->o->stop[i]);
		for (n = len - 1 < g->size ? len - 1 : g->size; n > most; n--)
			if (!memcmp(g->text + g->size - n, g->o->stop[i], n))
				most = n;
	}
	return most;
}

/* Where the first stop string begins that ends behind @from; ~0: none. */
static size_t find_stop(const struct generation *g, size_t from)
{
	size_t best = SIZE_MAX, at, len;
	unsigned int i;
	char *p;

	for (i = 0; i < g->o->num_stop; i++) {
		len = strlen(g->o->stop[i]);
		at = from > len ? from - len : 0;
		p = memmem(g->text + at, g->size - at, g->o->stop[i], len);
		if (p && (size_t)(p - g->text) < best)
			best = (size_t)(p - g->text);
	}
	return best;
}

static int room_for(struct generation *g, size_t more, struct npu_error *err)
{
	size_t room;
	char *p;

	if (g->room - g->size >= more)
		return 0;
	room = 2 * (g->size + more);
	p = realloc(g->text, room);
	if (!p)
		return npu_error_set(err, -ENOMEM, "no memory for %zu bytes of text", room);
	g->text = p;
	g->room = room;
	return 0;
}

/* The text of @token; END_STOP when it completes a stop string, 0 to go on. */
static int put_token(struct generation *g, int32_t token, struct npu_error *err)
{
	size_t room = NPU_TOKEN_STREAM_ROOM(g->m->vocab.max_piece), n, before = g->size, stop;
	int ret = room_for(g, room, err);

	ret = ret ?: npu_token_stream_put(g->m->tok, &g->stream, token, g->decode_flags,
					  g->text + g->size, room, &n, err);
	if (ret)
		return ret;
	g->size += n;
	stop = find_stop(g, before);
	if (stop != SIZE_MAX) {
		g->size = stop;
		show(g, stop);
		return END_STOP;
	}
	show(g, g->size - held_back(g));
	return 0;
}

/* What was held back, and the end of a character that did not come. */
static void flush_text(struct generation *g)
{
	if (!room_for(g, 3, NULL))
		g->size += npu_token_stream_end(&g->stream, g->text + g->size);
	show(g, g->size);
}

static int prefill(struct generation *g, const int32_t *ids, size_t num, const float **logits,
		   struct npu_error *err)
{
	double start = seconds();
	int ret = npu_llm_prefill(g->s, ids, num, logits, err);

	g->stats.prompt_tokens += num;
	g->stats.prefill += seconds() - start;
	return ret;
}

static int32_t choose(const struct generation *g, const float *logits)
{
	return npu_llm_sample(g->sampler, logits, g->m->info.vocab, npu_llm_session_tokens(g->s),
			      npu_llm_session_length(g->s));
}

static int decode(struct generation *g, int32_t token, const float **logits, struct npu_error *err)
{
	double start = seconds();
	int ret = npu_llm_decode(g->s, token, logits, err);

	if (!ret) {
		g->stats.tokens++;
		g->stats.decode += seconds() - start;
	}
	return ret;
}

/* From the logits after the prompt on. */
static int go_on(struct generation *g, const float *logits, uint32_t max, struct npu_error *err)
{
	int32_t token;
	uint32_t i;
	int ret;

	for (i = 0;; i++) {
		token = choose(g, logits);
		if (token < 0)
			return npu_error_set(err, token, "no token can be chosen: %s",
					     strerror(-token));
		if (!i)
			g->stats.first = g->stats.prefill;
		if (!g->o->ignore_end &&
		    npu_tokenizer_attr(g->m->tok, token) & NPU_TOKEN_END)
			return END_TOKEN;
		ret = put_token(g, token, err);
		if (ret)
			return ret;
		if (i + 1 == max)
			return END_LENGTH;
		if (npu_llm_session_length(g->s) == g->m->info.context)
			return END_CONTEXT;
		if (interrupt_pending())
			return END_INTERRUPT;
		ret = decode(g, token, &logits, err);
		if (ret)
			return ret;
	}
}

int generate(struct generation *g, const int32_t *ids, size_t num, uint32_t max,
	     struct npu_error *err)
{
	const float *logits = NULL;
	int ret = prefill(g, ids, num, &logits, err);

	ret = ret ?: go_on(g, logits, max, err);
	flush_text(g);
	return ret == -ECANCELED && interrupt_pending() ? END_INTERRUPT : ret;
}

static double mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

void stats_print(const struct model *m, const struct stats *s)
{
	fprintf(stderr, "\nfirst token after %.1f ms", 1e3 * s->first);
	fprintf(stderr, "; prompt %llu tokens, %.1f tokens/s", (unsigned long long)s->prompt_tokens,
		s->prefill > 0 ? (double)s->prompt_tokens / s->prefill : 0);
	fprintf(stderr, "; generated %llu more, %.1f tokens/s\n", (unsigned long long)s->tokens,
		s->decode > 0 ? (double)s->tokens / s->decode : 0);
	fprintf(stderr, "memory: weights %.1f MiB, KV cache %.1f MiB (%u tokens, %.1f KiB each), "
			"scratch up to %.1f MiB\n",
		mib(m->info.weights), mib(m->info.kv), m->info.num_blocks * m->info.block,
		(double)m->info.kv_per_token / 1024, mib(m->info.scratch));
}
