// SPDX-License-Identifier: MIT
/*
 * Tokens chosen among the largest logits that the NPU found are those chosen among all of them:
 * every kind of sampler, batches of several sequences, rows that have none. Once the NPU finds them
 * nothing else is looked at: the logits are overwritten before.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/tmp.h"
#include "llm/runtime.h"
#include "model_file.h"
#include "tap.h"

#define SEQUENCES	5
#define STEPS		40

static const struct kind {
	const char *name;
	uint32_t top_k;
	float temperature, top_p, min_p, penalty;
	bool few;			/* the largest are enough */
} kinds[] = {
	{ "top-k 40", 40, 0.8f, 0.95f, 0.05f, 1, true },
	{ "top-k 64, hot", 64, 2.5f, 1, 0, 1, true },
	{ "top-k 1", 1, 1, 1, 0, 1, true },
	{ "top-k 7, top-p 0.5", 7, 1, 0.5f, 0, 1, true },
	{ "greedy", 40, 0, 1, 0, 1, true },
	{ "greedy of all", 0, 0, 1, 0, 1, true },
	{ "top-k 65", 65, 1, 1, 0, 1, false },
	{ "of all", 0, 1, 0.9f, 0, 1, false },
	{ "penalty", 40, 0.8f, 1, 0, 1.3f, false },
	{ "greedy with a penalty", 0, 0, 1, 0, 1.3f, false },
};

static struct npu_error err;

static struct npu_llm *open_model(uint32_t batch, uint32_t vocab)
{
	struct npu_llm_compile_options opt = NPU_INIT(opt);
	struct npu_llm_options open = NPU_INIT(open);
	struct model_spec spec = model_spec_of("llama");
	char gguf[512], npu[512];
	struct npu_llm *llm = NULL;

	snprintf(gguf, sizeof(gguf), "%s", tmp_path("top.gguf"));
	snprintf(npu, sizeof(npu), "%s", tmp_path("top.npu"));
	spec.vocab = vocab;
	opt.context = 128;
	opt.batch = batch;
	opt.chunk = 64;
	open.device = "sim:threads=2";
	if (!model_write(&spec, gguf) || npu_llm_compile(gguf, npu, &opt, NULL, &err) ||
	    npu_llm_open(npu, &open, &llm, &err))
		tap_diag("%s", err.text);
	return llm;
}

static struct npu_llm_sampler *new_sampler(const struct kind *k, uint64_t seed)
{
	struct npu_llm_sampler_options o;
	struct npu_llm_sampler *s = NULL;

	npu_llm_sampler_options_init(&o);
	o.top_k = k->top_k;
	o.temperature = k->temperature;
	o.top_p = k->top_p;
	o.min_p = k->min_p;
	o.repeat_penalty = k->penalty;
	o.seed = seed;
	npu_llm_sampler_create(&o, &s, &err);
	return s;
}

struct sequence {
	struct npu_llm_session *s;
	struct npu_llm_sampler *few, *all;
	int32_t token;
	int entry;
};

/*
 * The token of @q from its row, and from all logits. With @poison these are no numbers when the
 * first is chosen.
 */
static bool choose(struct npu_llm_batch *b, struct npu_llm *llm, struct sequence *q, bool poison)
{
	const int32_t *recent = npu_llm_session_tokens(q->s);
	size_t num = npu_llm_session_length(q->s), bytes = llm->info.vocab * sizeof(float);
	float *logits = (float *)(uintptr_t)npu_llm_batch_logits(b, (unsigned int)q->entry, 0);
	int32_t want = npu_llm_sample(q->all, logits, llm->info.vocab, recent, num);

	if (poison)
		memset(logits, 0xff, bytes);
	q->token = npu_llm_batch_sample(b, (unsigned int)q->entry, 0, q->few, recent, num);
	return want >= 0 && q->token == want;
}

static void check_kind(struct npu_llm *llm, const struct kind *k)
{
	struct sequence q[SEQUENCES];
	struct npu_llm_batch *b = NULL;
	unsigned int step, i, good = 0;
	bool ok = !npu_llm_batch_create(llm, &b, &err);

	for (i = 0; i < SEQUENCES; i++) {
		q[i] = (struct sequence){ .few = new_sampler(k, i), .all = new_sampler(k, i),
					  .token = (int32_t)i };
		ok = ok && !npu_llm_session_create(llm, &q[i].s, &err);
	}
	for (step = 0; step < STEPS && ok; step++) {
		unsigned int n = step % SEQUENCES + 1;	/* so many of them, the others wait */

		npu_llm_batch_clear(b);
		for (i = 0; i < n; i++)
			q[i].entry = npu_llm_batch_add(b, q[i].s, &q[i].token, 1, NPU_LLM_WANT_LAST,
						       &err);
		ok = !npu_llm_batch_run(b, &err);
		for (i = 0; i < n && ok; i++)
			good += ok = choose(b, llm, &q[i], k->few && step);
	}
	tap_ok(ok, "%s: %u tokens of %d sequences%s%s", k->name, good, SEQUENCES,
	       k->few ? ", all other logits being no numbers" : "", ok ? "" : " (wrong)");
	npu_llm_batch_destroy(b);
	for (i = 0; i < SEQUENCES; i++) {
		npu_llm_session_destroy(q[i].s);
		npu_llm_sampler_destroy(q[i].few);
		npu_llm_sampler_destroy(q[i].all);
	}
}

/*
 * More rows than the program finds the largest of, then few again; entries without logits between.
 */
static void check_rows(struct npu_llm *llm)
{
	struct sequence q = { .few = new_sampler(&kinds[0], 3), .all = new_sampler(&kinds[0], 3) };
	int32_t text[20] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
	struct npu_llm_session *other = NULL;
	struct npu_llm_batch *b = NULL;
	bool ok = !npu_llm_batch_create(llm, &b, &err) &&
		  !npu_llm_session_create(llm, &q.s, &err) &&
		  !npu_llm_session_create(llm, &other, &err);
	int step;

	for (step = 0; step < 6 && ok; step++) {
		npu_llm_batch_clear(b);
		npu_llm_batch_add(b, other, text, 3,
				  step & 1 ? NPU_LLM_WANT_ALL : NPU_LLM_WANT_NONE, &err);
		q.entry = npu_llm_batch_add(b, q.s, text, 4, NPU_LLM_WANT_LAST, &err);
		ok = !npu_llm_batch_run(b, &err) && choose(b, llm, &q, step == 2 || step == 4);
	}
	tap_ok(ok, "more rows than the NPU finds the largest of, and few again");
	npu_llm_batch_clear(b);
	tap_ok(npu_llm_batch_sample(b, 0, 0, q.few, NULL, 0) == -EINVAL, "no row");
	npu_llm_batch_destroy(b);
	npu_llm_session_destroy(q.s);
	npu_llm_session_destroy(other);
	npu_llm_sampler_destroy(q.few);
	npu_llm_sampler_destroy(q.all);
}

/* npu_llm_next() against prefill, decode and a sampler of the same seed. */
static void check_next(struct npu_llm *llm)
{
	struct npu_llm_sampler *few = new_sampler(&kinds[1], 9), *all = new_sampler(&kinds[1], 9);
	struct npu_llm_session *a = NULL, *b = NULL;
	int32_t text[70], got, want = 0;
	const float *logits;
	bool ok = !npu_llm_session_create(llm, &a, &err) && !npu_llm_session_create(llm, &b, &err);
	int i;

	for (i = 0; i < 70; i++)
		text[i] = i * 3 % 60;
	ok = ok && !npu_llm_next(a, text, 70, few, &got, &err) &&
	     !npu_llm_prefill(b, text, 70, &logits, &err);
	for (i = 0; i < 50 && ok; i++) {
		want = npu_llm_sample(all, logits, llm->info.vocab, NULL, 0);
		ok = got == want && !npu_llm_decode(b, want, &logits, &err) &&
		     !npu_llm_next(a, &got, 1, few, &got, &err);
	}
	tap_ok(ok, "npu_llm_next(): %d tokens", i);
	tap_ok(npu_llm_next(a, text, 70, few, &got, &err) == -EINVAL && strstr(err.text, "context"), "beyond: %s",
	       err.text);
	npu_llm_session_destroy(a);
	npu_llm_session_destroy(b);
	npu_llm_sampler_destroy(few);
	npu_llm_sampler_destroy(all);
}

/*
 * What the NPU finds, by hand: equal ones keep their order; what is no number has to be looked at.
 */
static void check_values(void)
{
	const struct kind two = { "", 2, 1, 1, 0, 1, true };
	struct npu_llm_sampler *s = new_sampler(&two, 0);
	const int32_t tokens[2] = { 4, 2 };
	float values[2] = { 1, -INFINITY };

	tap_ok(npu_llm_sampler_top(s) == 2, "a sampler that looks at two");
	tap_ok(npu_llm_sample_top(s, values, tokens) == -EAGAIN, "one of which is impossible");
	values[0] = values[1] = NAN;
	tap_ok(npu_llm_sample_top(s, values, tokens) == -EAGAIN, "no number");
	values[0] = 100;
	values[1] = -100;
	tap_ok(npu_llm_sample_top(s, values, tokens) == 4, "the one that there is");
	npu_llm_sampler_destroy(s);
}

int main(void)
{
	struct npu_llm *llm = open_model(SEQUENCES, 160);
	unsigned int i;

	for (i = 0; llm && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		check_kind(llm, &kinds[i]);
	npu_llm_close(llm);
	llm = open_model(2, 3000);
	if (tap_ok(llm != NULL, "a larger vocabulary, two sequences")) {
		check_rows(llm);
		check_next(llm);
	}
	npu_llm_close(llm);
	/* fewer than most samplers want: all of them, or all logits */
	llm = open_model(SEQUENCES, 20);
	for (i = 0; llm && i < 2; i++) {
		struct kind k = kinds[i];

		k.few = false;
		check_kind(llm, &k);
	}
	if (llm)
		check_kind(llm, &kinds[3]);
	npu_llm_close(llm);
	check_values();
	return tap_done();
}
