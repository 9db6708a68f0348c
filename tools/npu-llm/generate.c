// SPDX-License-Identifier: MIT
/* Tokens one after the other, as text, up to one of the ends that there can be. */
#include <errno.h>
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
	reply_restart(&g->reply);
	g->shown = 0;
}

static void show(struct generation *g)
{
	const struct reply *r = &g->reply;

	if (r->ready <= g->shown)
		return;
	fwrite(r->text + g->shown, 1, r->ready - g->shown, g->out);
	fflush(g->out);
	g->shown = r->ready;
}

/* The text of @token; END_STOP when it completes a stop string, 0 to go on. */
static int put_token(struct generation *g, int32_t token, struct npu_error *err)
{
	int ret = reply_put(&g->reply, g->m, token, err);

	if (ret < 0)
		return ret;
	show(g);
	return ret ? END_STOP : 0;
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
	reply_end(&g->reply);
	show(g);
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
