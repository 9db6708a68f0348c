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

static int prefill(struct generation *g, const int32_t *ids, size_t num, int32_t *next,
		   struct npu_error *err)
{
	double start = seconds();
	int ret = npu_llm_next(g->s, ids, num, g->sampler, next, err);

	g->stats.prompt_tokens += num;
	g->stats.prefill += seconds() - start;
	return ret;
}

/* How the text ends with @token, which has @num others before it; END_NONE, or an error. */
static int take(struct generation *g, int32_t token, size_t num)
{
	int ret;

	if (!g->num++)
		g->stats.first = g->stats.prefill;
	g->last = -1;
	if (!g->o->ignore_end && npu_tokenizer_attr(g->m->tok, token) & NPU_TOKEN_END)
		return END_TOKEN;
	ret = put_token(g, token, g->err);
	if (ret >= 0)
		g->last = token;
	if (ret)
		return ret;
	if (g->num == g->max)
		return END_LENGTH;
	if (num == g->m->info.context)
		return END_CONTEXT;
	return interrupt_pending() ? END_INTERRUPT : END_NONE;
}

/* @token after @num others, which the text goes on with; or -1 with the reason in g->ending. */
static int32_t accept(struct generation *g, int32_t token, size_t num)
{
	double start = seconds();

	g->ending = take(g, token, num);
	g->choosing += seconds() - start;
	return g->ending == END_NONE ? token : -1;
}

/* The token after the @num ones at @tokens, as accept(). */
static int32_t choose(void *arg, struct npu_llm_batch *b, unsigned int row, const int32_t *tokens,
		      size_t num)
{
	struct generation *g = arg;
	int32_t token = npu_llm_batch_sample(b, 0, row, g->sampler, tokens, num);

	if (token >= 0)
		return accept(g, token, num);
	g->ending = npu_error_set(g->err, token, "no token can be chosen: %s", strerror(-token));
	return -1;
}

/* Run @token, and with a speculator what was rightly drafted behind it; the next one in *@next. */
static int step(struct generation *g, int32_t token, int32_t *next, struct npu_error *err)
{
	uint32_t before = npu_llm_session_length(g->s);
	double start = seconds(), other = g->choosing;
	int ret;

	if (g->speculator) {
		ret = npu_llm_speculate(g->speculator, g->s, token, choose, g, next, err);
	} else {
		ret = npu_llm_next(g->s, &token, 1, g->sampler, next, err);
		if (!ret)
			*next = accept(g, *next, npu_llm_session_length(g->s));
	}
	if (ret)
		return ret;
	g->stats.tokens += npu_llm_session_length(g->s) - before;
	g->stats.decode += seconds() - start - (g->choosing - other);
	return 0;
}

/* From the token after the prompt on. */
static int go_on(struct generation *g, int32_t token, struct npu_error *err)
{
	int ret = 0;

	token = accept(g, token, npu_llm_session_length(g->s));
	while (token >= 0 && !ret)
		ret = step(g, token, &token, err);
	return ret ?: g->ending;
}

int generate(struct generation *g, const int32_t *ids, size_t num, uint32_t max,
	     struct npu_error *err)
{
	int32_t token = -1;
	int ret = prefill(g, ids, num, &token, err);

	g->last = -1;
	g->begin = npu_llm_session_length(g->s);
	g->begun = g->reply.stream.begun;
	g->num = 0;
	g->max = max;
	g->err = err;
	ret = ret ?: go_on(g, token, err);
	reply_end(&g->reply);
	show(g);
	return ret == -ECANCELED && interrupt_pending() ? END_INTERRUPT : ret;
}

static double mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

/* What left the NPU, when there is a budget. */
static void print_moves(const struct model *m)
{
	struct npu_llm_info info = NPU_INIT(info);

	npu_llm_info(m->llm, &info);
	if (info.npu_blocks == info.num_blocks)
		return;
	fprintf(stderr, "KV budget: %u of %u blocks on the NPU; %llu left it (%.1f MiB copied), %llu came back (%.1f MiB)\n",
		info.npu_blocks, info.num_blocks, (unsigned long long)info.blocks_out,
		mib(info.bytes_out), (unsigned long long)info.blocks_in, mib(info.bytes_in));
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

/* Against steps without drafts of the same run, as far as there were any. */
static void print_speculation(const struct npu_llm_speculator *sp)
{
	static const char *const names[NPU_LLM_NUM_DRAFTS] = { "look-up", "model" };
	struct npu_llm_speculator_stats s = NPU_INIT(s);
	double tokens;
	unsigned int i;

	npu_llm_speculator_stats(sp, &s);
	tokens = (double)s.steps;
	fputs("speculation: ", stderr);
	for (i = 0; i < NPU_LLM_NUM_DRAFTS; i++) {
		tokens += (double)s.accepted[i];
		if (s.drafted[i] || !i)
			fprintf(stderr, "%s drafted %llu tokens, %llu right (%.0f %%); ", names[i],
				(unsigned long long)s.drafted[i], (unsigned long long)s.accepted[i],
				100 * ratio((double)s.accepted[i], (double)s.drafted[i]));
	}
	fprintf(stderr, "%.2f tokens a step", ratio(tokens, (double)s.steps));
	if (s.plain_steps)
		fprintf(stderr, "; %.2f times as fast as the %llu steps without drafts",
			ratio(tokens, s.seconds) *
				ratio(s.plain_seconds, (double)s.plain_steps),
			(unsigned long long)s.plain_steps);
	fputc('\n', stderr);
}

void stats_print(const struct generation *g)
{
	const struct model *m = g->m;
	const struct stats *s = &g->stats;

	fprintf(stderr, "\nfirst token after %.1f ms", 1e3 * s->first);
	fprintf(stderr, "; prompt %llu tokens, %.1f tokens/s", (unsigned long long)s->prompt_tokens,
		ratio((double)s->prompt_tokens, s->prefill));
	fprintf(stderr, "; generated %llu more, %.1f tokens/s\n", (unsigned long long)s->tokens,
		ratio((double)s->tokens, s->decode));
	if (g->speculator)
		print_speculation(g->speculator);
	fprintf(stderr, "memory: weights %.1f MiB, KV cache %.1f MiB (%u tokens, %.1f KiB each), "
			"scratch up to %.1f MiB\n",
		mib(m->info.weights), mib(m->info.kv), m->info.npu_blocks * m->info.block,
		(double)m->info.kv_per_token / 1024, mib(m->info.scratch));
	print_moves(m);
}
