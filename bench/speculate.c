// SPDX-License-Identifier: MIT
/*
 * speculate MODEL.npu TEXT [SMALL.npu]: what drafts gain, and what they lose at worst. Plain
 * decoding and speculation run in turns, the same tokens each; figures are medians of ROUNDS turns,
 * summed over PROMPTS places of TEXT.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "npu_llm.h"
#include "tools/common/file.h"

#define ROUNDS		7
#define PROMPTS		6
#define PROMPT		100	/* tokens */
#define NUM		200	/* tokens that follow */

enum kind { GREEDY, SAMPLED, REPEAT, COPY, FORCED, NUM_KINDS };

static const char *const names[NUM_KINDS] = {
	[GREEDY] = "goes on, greedily", [SAMPLED] = "goes on, temperature 0.8",
	[REPEAT] = "a prompt of one sentence many times",
	[COPY] = "the prompt once more, whatever the model says",
	[FORCED] = "random ones of eight tokens, whatever it says",
};

struct bench {
	struct npu_llm *llm, *small;
	uint32_t vocab;
	int32_t *ids;
	size_t num;
};

struct text {
	enum kind kind;
	const int32_t *prompt;		/* of PROMPT tokens */
	struct npu_llm_sampler *sampler;
	uint32_t vocab, num;
	uint64_t state;
	int32_t out[NUM];
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const struct npu_error *err)
{
	fprintf(stderr, "speculate: %s\n", err->text);
	exit(1);
}

/* What is to come is fixed for some kinds, whatever the model says. */
static int32_t choose(void *arg, const float *logits, const int32_t *tokens, size_t num)
{
	struct text *t = arg;
	int32_t token;

	if (t->kind == FORCED) {
		t->state = t->state * 6364136223846793005ull + 1442695040888963407ull;
		token = t->prompt[t->state >> 61];
	} else if (t->kind == COPY) {
		token = t->prompt[(t->num + 3) % PROMPT];
	} else {
		token = npu_llm_sample(t->sampler, logits, t->vocab, tokens, num);
	}
	t->out[t->num++] = token;
	return token < 0 || t->num == NUM ? -1 : token;
}

static int32_t choose_row(void *arg, struct npu_llm_batch *b, unsigned int row,
			  const int32_t *tokens, size_t num)
{
	return choose(arg, npu_llm_batch_logits(b, 0, row), tokens, num);
}

/* The prompt: a piece of the text, or a sentence of it again and again. */
static void make_prompt(const struct bench *b, enum kind kind, int which, int32_t *prompt)
{
	size_t at = (b->num - PROMPT) / PROMPTS * (size_t)which;
	int i;

	for (i = 0; i < PROMPT; i++)
		prompt[i] = b->ids[at + (size_t)(kind == REPEAT ? i % 12 : i)];
	for (i = 0; kind == COPY && i < 3; i++)
		prompt[PROMPT + i] = prompt[i];
}

/* Seconds that the tokens take after the prompt. */
static double run(const struct bench *b, struct text *t, struct npu_llm_speculator *sp)
{
	struct npu_llm_session *s;
	const float *logits;
	struct npu_error err;
	double start;
	int32_t token;

	t->num = 0;
	t->state = 1;
	if (npu_llm_session_create(b->llm, &s, &err) ||
	    npu_llm_prefill(s, t->prompt, PROMPT + (t->kind == COPY ? 3 : 0), &logits, &err))
		fail(&err);
	token = choose(t, logits, npu_llm_session_tokens(s), npu_llm_session_length(s));
	start = now();
	while (token >= 0) {
		if (sp) {
			if (npu_llm_speculate(sp, s, token, choose_row, t, &token, &err))
				fail(&err);
			continue;
		}
		if (npu_llm_decode(s, token, &logits, &err))
			fail(&err);
		token = choose(t, logits, npu_llm_session_tokens(s), npu_llm_session_length(s));
	}
	start = now() - start;
	npu_llm_session_destroy(s);
	return start;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void new_sampler(struct text *t)
{
	struct npu_llm_sampler_options opt = NPU_INIT(opt);

	npu_llm_sampler_destroy(t->sampler);
	npu_llm_sampler_options_init(&opt);
	opt.temperature = t->kind == SAMPLED ? 0.8f : 0;
	npu_llm_sampler_create(&opt, &t->sampler, NULL);
}

/* One prompt: medians of both ways in @seconds; the last round's statistics are added to @sum. */
static void measure(const struct bench *b, struct text *t, double seconds[2],
		    struct npu_llm_speculator_stats *sum)
{
	struct npu_llm_speculator_options opt = NPU_INIT(opt);
	struct npu_llm_speculator_stats s = NPU_INIT(s);
	double time[2][ROUNDS];
	int32_t plain[NUM];
	struct npu_error err;
	int i, k;

	opt.model = b->small;
	for (i = 0; i < ROUNDS; i++) {
		struct npu_llm_speculator *sp;

		new_sampler(t);
		time[0][i] = run(b, t, NULL);
		memcpy(plain, t->out, sizeof(plain));
		if (npu_llm_speculator_create(b->llm, &opt, &sp, &err))
			fail(&err);
		new_sampler(t);
		time[1][i] = run(b, t, sp);
		if (memcmp(plain, t->out, sizeof(plain)))
			fail(&(struct npu_error){ .text = "the tokens are others" });
		npu_llm_speculator_stats(sp, &s);
		npu_llm_speculator_destroy(sp);
	}
	for (k = 0; k < 2; k++) {
		qsort(time[k], ROUNDS, sizeof(time[k][0]), compare);
		seconds[k] += time[k][ROUNDS / 2];
	}
	for (k = 0; k < NPU_LLM_NUM_DRAFTS; k++) {
		sum->drafted[k] += s.drafted[k];
		sum->accepted[k] += s.accepted[k];
	}
	sum->steps += s.steps;
}

static void bench(const struct bench *b, enum kind kind)
{
	struct text t = { .kind = kind, .vocab = b->vocab };
	struct npu_llm_speculator_stats s = NPU_INIT(s);
	double seconds[2] = { 0 }, tokens = PROMPTS * NUM, accepted, drafted;
	int32_t prompt[PROMPT + 3];
	int i;

	for (i = 0; i < PROMPTS; i++) {
		make_prompt(b, kind, i, prompt);
		t.prompt = prompt;
		measure(b, &t, seconds, &s);
	}
	npu_llm_sampler_destroy(t.sampler);
	accepted = (double)(s.accepted[0] + s.accepted[1]);
	drafted = (double)(s.drafted[0] + s.drafted[1]);
	printf("%-52s %7.0f %7.0f tokens/s: %.2f times; %.2f tokens a step, %.0f of %.0f right\n",
	       names[kind], tokens / seconds[0], tokens / seconds[1], seconds[0] / seconds[1],
	       ((double)s.steps + accepted) / (double)s.steps, accepted, drafted);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct npu_llm_info info = NPU_INIT(info);
	struct npu_tokenizer *tok = NULL;
	struct bench b = { .small = NULL };
	struct npu_error err;
	uint8_t *text = NULL;
	size_t size, meta;
	const void *data;
	unsigned int i;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: speculate MODEL.npu TEXT [SMALL.npu]\n");
		return 2;
	}
	if (npu_llm_open(argv[1], NULL, &b.llm, &err) ||
	    (argc > 3 && npu_llm_open(argv[3], NULL, &b.small, &err)) ||
	    npu_file_read(argv[2], 64u << 20, &text, &size, &err))
		fail(&err);
	data = npu_llm_metadata(b.llm, &meta);
	b.ids = calloc(size + 2, sizeof(*b.ids));
	if (npu_tokenizer_parse(data, meta, argv[1], &tok, &err) ||
	    npu_tokenizer_encode(tok, (char *)text, size, 0, b.ids, size + 2, &b.num, &err))
		fail(&err);
	npu_llm_info(b.llm, &info);
	b.vocab = info.vocab;
	if (b.num < (size_t)PROMPT * PROMPTS || info.context < PROMPT + NUM + 3)
		fail(&(struct npu_error){ .text = "the text or the model's context is too short" });
	for (i = 0; i < NUM_KINDS; i++)
		bench(&b, i);
	npu_tokenizer_close(tok);
	npu_llm_close(b.small);
	npu_llm_close(b.llm);
	free(b.ids);
	free(text);
	return 0;
}
