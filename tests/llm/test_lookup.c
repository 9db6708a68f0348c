// SPDX-License-Identifier: MIT
/*
 * Drafts by look-up, held against a plain search that tries every length at every place; and how
 * long drafts get, and how seldom, by how the last ones did.
 */
#include <errno.h>
#include "common/tmp.h"
#include "llm/speculate.h"
#include "model_file.h"
#include "tap.h"

#define MAX_NUM		40
#define MAX_DRAFT	24

/* ---- look-up ---- */

/* The longest end that is found again, at its last place; where what follows it begins, or -1. */
static int search(const int32_t *tokens, int num, int *size)
{
	int at;

	for (*size = NPU_LLM_LOOKUP_MATCH; *size; --*size)
		for (at = num - 1; at >= *size; at--)
			if (!memcmp(tokens + at - *size, tokens + num - *size,
				    (size_t)*size * sizeof(*tokens)))
				return at;
	return -1;
}

/* Faults of one look-up. */
static bool is_wrong(const int32_t *tokens, int num, int min, int max, int *found)
{
	int32_t long_text[MAX_NUM + MAX_DRAFT], draft[MAX_DRAFT + 1];
	uint32_t match = 77, n;
	int size = 0, at = search(tokens, num, &size), i;
	bool wrong;

	draft[max] = -5;
	n = npu_llm_lookup(tokens, (size_t)num, (uint32_t)min, (uint32_t)max, draft, &match);
	wrong = match != (uint32_t)size || draft[max] != -5;
	if (at < 0 || size < min)
		return wrong || n;
	/* A text that is written on by reading it from there. */
	memcpy(long_text, tokens, (size_t)num * sizeof(*tokens));
	for (i = 0; i < max; i++)
		long_text[num + i] = long_text[at + i];
	++*found;
	return wrong || n != (uint32_t)max || memcmp(draft, long_text + num, n * sizeof(*draft));
}

static void check_lookup(void)
{
	int rounds = tap_long() ? 2000000 : 100000, i, k, wrong = 0, found = 0, num;
	int32_t tokens[MAX_NUM];

	srand(3);
	for (i = 0; i < rounds; i++) {
		int kinds = 1 + rand() % 6, period = rand() % 4 ? MAX_NUM : 1 + rand() % 20;

		num = rand() % (MAX_NUM + 1);
		for (k = 0; k < num; k++)
			tokens[k] = k < period ? rand() % kinds : tokens[k - period];
		wrong += is_wrong(tokens, num, 1 + rand() % 6, 1 + rand() % MAX_DRAFT, &found);
	}
	tap_ok(!wrong && found > rounds / 2, "%d look-ups, %d of which find something: %d are wrong",
	       rounds, found, wrong);
	wrong = is_wrong(tokens, 0, 1, 3, &found) + is_wrong(tokens, 1, 1, 3, &found);
	tap_ok(!wrong, "no token, and one");
}

/* ---- how long drafts get ---- */

static struct npu_llm *open_small(void)
{
	struct npu_llm_compile_options opt = NPU_INIT(opt);
	struct model_spec spec = model_spec_of("llama");
	struct npu_error err = { .text = "" };
	struct npu_llm *llm = NULL;

	opt.context = 64;
	if (!model_write(&spec, tmp_path("m.gguf")) ||
	    npu_llm_compile(tmp_path("m.gguf"), tmp_path("m.npu"), &opt, NULL, &err) ||
	    npu_llm_open(tmp_path("m.npu"), NULL, &llm, &err))
		tap_diag("%s", err.text);
	return llm;
}

static struct npu_llm_speculator *new_speculator(struct npu_llm *llm, uint32_t max)
{
	struct npu_llm_speculator_options opt = NPU_INIT(opt);
	struct npu_llm_speculator *sp = NULL;

	opt.max_draft = max;
	npu_llm_speculator_create(llm, &opt, &sp, NULL);
	return sp;
}

/* A text that repeats itself: there is always something to draft. */
static const int32_t again[] = { 5, 6, 7, 5, 6, 7, 5, 6, 7 };

/* The number of tokens of the next draft, of which @accept are right at most. */
static int draft(struct npu_llm_speculator *sp, uint32_t accept)
{
	int32_t out[64];
	int n = npu_llm_speculator_draft(sp, again, 9, 60, out, NULL);

	if (n > 0)
		npu_llm_speculator_report(sp, (uint32_t)n,
					  accept < (uint32_t)n ? accept : (uint32_t)n);
	return n;
}

static void check_pace(struct npu_llm *llm)
{
	static const int grows[] = { 1, 2, 4, 8, 16, 20, 20 };
	struct npu_llm_speculator *sp = new_speculator(llm, 20);
	struct npu_llm_speculator_stats stats = NPU_INIT(stats);
	unsigned int i, drafted = 0, waits = 0, longest = 0, most = 0;
	bool ok = true;
	int n;

	for (i = 0; i < 7; i++)
		ok = draft(sp, 60) == grows[i] && ok;
	tap_ok(ok, "while all is right, drafts double up to the bound");
	ok = draft(sp, 5) == 20 && draft(sp, 3) == 6 && draft(sp, 4) == 4 && draft(sp, 1) == 8 &&
	     draft(sp, 2) == 2;
	tap_ok(ok, "one that went wrong: the next has a token more than was right");
	npu_llm_speculator_stats(sp, &stats);
	tap_ok(stats.drafted[0] == 71 + 40 && stats.accepted[0] == 71 + 5 + 3 + 4 + 1 + 2 &&
	       !stats.drafted[1] && !stats.steps, "counts: %llu drafted, %llu accepted",
	       (unsigned long long)stats.drafted[0], (unsigned long long)stats.accepted[0]);
	for (i = 0; i < 1000; i++) {
		n = draft(sp, 0);
		drafted += (unsigned int)n;
		most = (unsigned int)n > most && i > 3 ? (unsigned int)n : most;
		waits = n ? 0 : waits + 1;
		longest = waits > longest ? waits : longest;
	}
	tap_ok(drafted < 70 && most == 1 && longest > 10 && longest < 20,
	       "nothing is ever right: %u tokens drafted in 1,000 steps, %u steps between at most",
	       drafted, longest);
	for (i = 0; i < 20 && !draft(sp, 60); i++)
		;
	tap_ok(i < 20 && draft(sp, 60) == 2 && draft(sp, 60) == 4, "it recovers within %u steps",
	       i);
	npu_llm_speculator_destroy(sp);
}

/*
 * Steps as they would take time: 1 and @row for each drafted token, which is right with probability
 * @right. How many times as fast as without drafts.
 */
static double simulate(double row, double right)
{
	double time = 0, tokens = 0;
	struct npu_llm_pace p;
	uint32_t drafted, accepted;
	int i;

	npu_llm_pace_init(&p);
	for (i = 0; i < 5000; i++) {
		drafted = npu_llm_pace_next(&p, 16);
		for (accepted = 0; accepted < drafted && rand() < right * RAND_MAX;)
			accepted++;
		time += 1 + row * drafted;
		tokens += 1 + accepted;
		if (!drafted)
			continue;
		npu_llm_pace_earn(&p, accepted - row * drafted);
		npu_llm_pace_judge(&p, drafted, accepted, 16);
	}
	return tokens / time;
}

static void check_time(void)
{
	static const double rows[] = { 0, 0.05, 0.1, 0.3, 0.6, 1, 2 },
			    right[] = { 0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1 };
	double worst = 10, speed, last, best;
	unsigned int i, k, falls = 0;

	srand(1);
	for (i = 0; i < 7; i++) {
		for (k = 0, last = 0; k < 8; k++, last = speed) {
			speed = simulate(rows[i], right[k]);
			worst = speed < worst ? speed : worst;
			falls += speed < last - 0.05;
		}
	}
	tap_ok(worst > 0.96, "whatever a row costs and however often drafts are right: %.3f at worst",
	       worst);
	tap_ok(!falls, "and never slower when they are right more often");
	best = simulate(0.1, 1);
	tap_ok(best > 6 && best <= 17 / 2.6, "always right, a row costs a tenth: %.2f times", best);
	speed = simulate(0.1, 0.7);
	tap_ok(speed > 1.5, "seven of ten right: %.2f times", speed);
}

static void check_bounds(struct npu_llm *llm)
{
	struct npu_llm_speculator *sp = new_speculator(llm, 0);
	int32_t out[3] = { -1, -1, -1 };
	int i;

	for (i = 0; i < 10; i++)
		draft(sp, 60);
	tap_ok(draft(sp, 60) == 16, "16 tokens by default");
	tap_ok(npu_llm_speculator_draft(sp, again, 9, 2, out, NULL) == 2 && out[0] == 5 &&
	       out[1] == 6 && out[2] == -1, "no more than there is room for");
	tap_ok(npu_llm_speculator_draft(sp, again, 9, 0, out, NULL) == 0 &&
	       npu_llm_speculator_draft(sp, again, 0, 3, out, NULL) == 0 &&
	       npu_llm_speculator_draft(sp, again, 1, 3, out, NULL) == 0 &&
	       npu_llm_speculator_draft(sp, again, 4, 3, out, NULL) == 0,
	       "no room, no tokens, one, and a repetition that is too short");
	npu_llm_speculator_destroy(sp);
}

static void check_options(struct npu_llm *llm)
{
	struct npu_llm_speculator_options opt = NPU_INIT(opt);
	struct npu_llm_speculator_stats stats = { .size = 0 };
	struct npu_llm_speculator *sp = NULL;
	struct npu_error err;

	opt.untimed = 2;
	tap_ok(npu_llm_speculator_create(llm, &opt, &sp, &err) == -EINVAL && !sp, "%s", err.text);
	opt.size = 2;
	tap_ok(npu_llm_speculator_create(llm, &opt, &sp, &err) == -EINVAL && !sp, "%s", err.text);
	tap_ok(npu_llm_speculator_create(llm, NULL, NULL, &err) == -EINVAL, "%s", err.text);
	tap_ok(!npu_llm_speculator_create(llm, NULL, &sp, &err) &&
	       npu_llm_speculator_stats(sp, &stats) == -EINVAL, "no options; statistics without a size");
	npu_llm_speculator_destroy(sp);
	npu_llm_speculator_destroy(NULL);
}

int main(void)
{
	struct npu_llm *llm;

	check_lookup();
	check_time();
	llm = open_small();
	if (tap_ok(llm != NULL, "a model")) {
		check_pace(llm);
		check_bounds(llm);
		check_options(llm);
	}
	npu_llm_close(llm);
	return tap_done();
}
