// SPDX-License-Identifier: MIT
/*
 * With speculation everything is as without: tokens, greedy and sampled, the bits of the logits
 * they are chosen from, how often a choice is made, and what the session holds in the end. What is
 * expected comes from npu_llm_decode().
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "common/file.h"
#include "common/tmp.h"
#include "model_file.h"
#include "npu_llm.h"
#include "shared.h"
#include "tap.h"

#define MAX_NUM		600

/* A text as it is chosen token by token. */
struct run {
	uint32_t vocab, max;		/* tokens after which it ends */
	int32_t stop;			/* or this one, which is not part of it; -1: none */
	struct npu_llm_sampler *sampler;
	int32_t tokens[MAX_NUM];
	uint64_t digest[MAX_NUM];	/* of the logits */
	uint32_t num, left;		/* chosen; in the session in the end */
	bool ended, wrong;		/* asked on after its end; for another place */
	size_t before;			/* tokens of the session at the first choice */
};

static uint64_t digest(const float *logits, uint32_t num)
{
	uint64_t h = 14695981039346656037ull;
	uint32_t i, bits;

	for (i = 0; i < num; i++) {
		memcpy(&bits, &logits[i], 4);
		h = (h ^ bits) * 1099511628211ull;
	}
	return h;
}

/* @token is what is chosen from @logits. */
static int32_t take(struct run *r, int32_t token, const float *logits, const int32_t *tokens,
		    size_t num)
{
	if (!r->num)
		r->before = num;
	r->wrong |= r->ended || num != r->before + r->num ||
		    (r->num && tokens[num - 1] != r->tokens[r->num - 1]);
	r->digest[r->num] = digest(logits, r->vocab);
	r->tokens[r->num++] = token;
	r->ended = token == r->stop || r->num == r->max;
	return r->ended ? -1 : token;
}

static int32_t choose(struct run *r, const float *logits, const int32_t *tokens, size_t num)
{
	int32_t token = npu_llm_sample(r->sampler, logits, r->vocab, tokens, num);

	return take(r, token, logits, tokens, num);
}

static int32_t choose_row(void *arg, struct npu_llm_batch *b, unsigned int row,
			  const int32_t *tokens, size_t num)
{
	struct run *r = arg;
	int32_t token = npu_llm_batch_sample(b, 0, row, r->sampler, tokens, num);

	return take(r, token, npu_llm_batch_logits(b, 0, row), tokens, num);
}

struct how {
	float temperature, penalty;
	uint64_t seed;
	uint32_t max;
	int32_t stop;
};

static bool begin(struct run *r, struct npu_llm *llm, const struct how *how)
{
	struct npu_llm_sampler_options opt = NPU_INIT(opt);
	struct npu_llm_info info = NPU_INIT(info);

	npu_llm_info(llm, &info);
	npu_llm_sampler_options_init(&opt);
	opt.temperature = how->temperature;
	opt.repeat_penalty = how->penalty;
	opt.seed = how->seed;
	*r = (struct run){ .vocab = info.vocab, .max = how->max, .stop = how->stop };
	return !npu_llm_sampler_create(&opt, &r->sampler, NULL);
}

/* @speculator NULL: plainly. How it ended: 0 or an error. */
static int go_on(struct run *r, struct npu_llm_session *s, struct npu_llm_speculator *sp,
		 const int32_t *prompt, uint32_t num)
{
	const float *logits;
	struct npu_error err = { .text = "" };
	int32_t token;
	int ret = npu_llm_prefill(s, prompt, num, &logits, &err);

	token = ret ? -1 : choose(r, logits, npu_llm_session_tokens(s), npu_llm_session_length(s));
	while (token >= 0 && !ret) {
		if (sp) {
			ret = npu_llm_speculate(sp, s, token, choose_row, r, &token, &err);
			continue;
		}
		ret = npu_llm_decode(s, token, &logits, &err);
		if (!ret)
			token = choose(r, logits, npu_llm_session_tokens(s),
				       npu_llm_session_length(s));
	}
	r->left = npu_llm_session_length(s);
	npu_llm_sampler_destroy(r->sampler);
	return ret;
}

static bool same(const struct run *a, const struct run *b)
{
	return a->num == b->num && a->left == b->left && !a->wrong && !b->wrong &&
	       !memcmp(a->tokens, b->tokens, a->num * sizeof(*a->tokens)) &&
	       !memcmp(a->digest, b->digest, a->num * sizeof(*a->digest));
}

/* Both ways from @prompt; whether they are the same, errors included. */
static bool compare(struct npu_llm *llm, struct npu_llm_speculator *sp, const struct how *how,
		    const int32_t *prompt, uint32_t num)
{
	static struct run plain, fast;
	struct npu_llm_session *a = NULL, *b = NULL;
	bool ok = begin(&plain, llm, how) && begin(&fast, llm, how) &&
		  !npu_llm_session_create(llm, &a, NULL) && !npu_llm_session_create(llm, &b, NULL);
	int ret_a, ret_b;

	ret_a = ok ? go_on(&plain, a, NULL, prompt, num) : 0;
	npu_llm_session_destroy(a);	/* its blocks are needed in a small pool */
	ret_b = ok ? go_on(&fast, b, sp, prompt, num) : 0;
	ok = ok && ret_a == ret_b && same(&plain, &fast) && fast.num > 0;
	if (!ok)
		tap_diag("plain: %d, %u tokens, %u in the session; with drafts: %d, %u, %u%s", ret_a,
			 plain.num, plain.left, ret_b, fast.num, fast.left,
			 fast.wrong ? ", asked wrongly" : "");
	npu_llm_session_destroy(b);
	return ok;
}

static struct npu_llm_speculator *new_speculator(struct npu_llm *llm, struct npu_llm *small,
						 bool timed)
{
	struct npu_llm_speculator_options opt = NPU_INIT(opt);
	struct npu_llm_speculator *sp = NULL;
	struct npu_error err;

	opt.model = small;
	opt.untimed = timed ? 0 : 1;
	if (npu_llm_speculator_create(llm, &opt, &sp, &err))
		tap_diag("%s", err.text);
	return sp;
}

static void print_stats(const struct npu_llm_speculator *sp)
{
	struct npu_llm_speculator_stats s = NPU_INIT(s);

	npu_llm_speculator_stats(sp, &s);
	tap_diag("look-up drafted %llu, %llu right; the model %llu, %llu right; %.2f tokens a step",
		 (unsigned long long)s.drafted[0], (unsigned long long)s.accepted[0],
		 (unsigned long long)s.drafted[1], (unsigned long long)s.accepted[1],
		 (double)(s.steps + s.accepted[0] + s.accepted[1]) / (double)s.steps);
}

static uint64_t accepted(const struct npu_llm_speculator *sp, enum npu_llm_draft kind)
{
	struct npu_llm_speculator_stats s = NPU_INIT(s);

	npu_llm_speculator_stats(sp, &s);
	return s.accepted[kind];
}

/* ---- texts of trained models ---- */

struct trained {
	struct npu_llm *llm;
	int32_t *ids;			/* of a long text */
	size_t num;
};

static bool open_trained(struct trained *t, const char *gguf, const char *text_path,
			 const char *npu, uint32_t context)
{
	struct npu_llm_compile_options opt = NPU_INIT(opt);
	struct npu_tokenizer *tok = NULL;
	struct npu_error err = { .text = "" };
	size_t size;
	char *text = test_read_file(text_path, &size);
	bool ok;

	opt.context = context;
	*t = (struct trained){ .ids = calloc(size + 2, sizeof(int32_t)) };
	ok = text && t->ids && !npu_llm_compile(gguf, npu, &opt, NULL, &err) &&
	     !npu_llm_open(npu, NULL, &t->llm, &err) && !npu_tokenizer_open(gguf, &tok, &err) &&
	     !npu_tokenizer_encode(tok, text, size, 0, t->ids, size + 2, &t->num, &err);
	if (!ok)
		tap_diag("%s", err.text);
	npu_tokenizer_close(tok);
	free(text);
	return ok;
}

static void close_trained(struct trained *t)
{
	npu_llm_close(t->llm);
	free(t->ids);
}

/* @num prompts of some tokens to some hundred, out of the text; how many go on the same. */
static int same_prompts(const struct trained *t, struct npu_llm_speculator *sp, int num,
			uint32_t max, float temperature)
{
	int i, ok = 0;

	for (i = 0; i < num; i++) {
		uint32_t size = 1 + (uint32_t)i * 7 % 60 + (i % 10 == 9 ? 130 : 0);
		size_t at = (size_t)i * (t->num - size) / (size_t)num;
		struct how how = { temperature, i % 3 ? 1 : 1.1f, (uint64_t)i, max, -1 };

		ok += compare(t->llm, sp, &how, t->ids + at, size);
	}
	return ok;
}

static void check_prompts(const struct trained *t, struct npu_llm *small, const char *name)
{
	int num = (int)tap_cases(100);
	struct npu_llm_speculator *sp = new_speculator(t->llm, small, false);
	int ok = same_prompts(t, sp, num, 60, 0);

	tap_ok(ok == num, "%s: %d of %d prompts go on as without, greedily", name, ok, num);
	tap_ok(accepted(sp, small ? NPU_LLM_DRAFT_MODEL : NPU_LLM_DRAFT_LOOKUP) > (unsigned int)num,
	       "%s: drafts were accepted", name);
	print_stats(sp);
	npu_llm_speculator_destroy(sp);
	sp = new_speculator(t->llm, small, true);
	ok = same_prompts(t, sp, num, 40, 0.7f);
	tap_ok(ok == num, "%s: %d of %d, sampled with a seed", name, ok, num);
	npu_llm_speculator_destroy(sp);
}

/* Alone, and with @small, which is compiled for a context of @context. */
static void check_model(const char *name, const char *gguf, const char *small, const char *text,
			uint32_t context)
{
	struct trained t = { .llm = NULL }, s = { .llm = NULL };
	char with[64];

	snprintf(with, sizeof(with), "%s with a model that drafts", name);
	if (tap_ok(open_trained(&t, gguf, text, tmp_path("big.npu"), 0) &&
		   open_trained(&s, small, text, tmp_path("small.npu"), context), "%s", name)) {
		check_prompts(&t, NULL, name);
		check_prompts(&t, s.llm, with);
	}
	close_trained(&s);
	close_trained(&t);
}

static void check_trained(void)
{
	const char *kjv = "models/kjv/kjv-Q8_0.gguf";
	char f32[4200], q4[4200];

	check_model("kjv", kjv, kjv, "models/kjv/val.txt", 96);
	snprintf(f32, sizeof(f32), "%s", shared_path("stories260K-f32.gguf"));
	snprintf(q4, sizeof(q4), "%s", shared_path("stories260K-Q4_0.gguf"));
	if (access(f32, R_OK) || access(q4, R_OK))
		tap_skip("stories260K", "the model is not there");
	else
		check_model("stories260K, f32", f32, q4, "models/kjv/README.md", 0);
}

/* ---- bounds, with a model of random weights ---- */

static const int32_t prompt[] = { 1, 9, 17, 9, 17, 40, 9, 17 };

static bool write_model(const char *gguf, uint32_t vocab, bool tokenizer)
{
	struct model_spec spec = model_spec_of("llama");

	spec.tokenizer = tokenizer;
	spec.vocab = vocab ? vocab : spec.vocab;
	return model_write(&spec, gguf);
}

/* Bytes of @blocks blocks of the cache. */
static uint64_t block_bytes(const char *npu, uint32_t blocks)
{
	struct npu_llm_info info = NPU_INIT(info);
	struct npu_llm *llm;

	if (!blocks || npu_llm_open(npu, NULL, &llm, NULL))
		return 0;
	npu_llm_info(llm, &info);
	npu_llm_close(llm);
	return blocks * info.kv_per_token * info.block;
}

/* With a cache of @pool positions; @blocks: that are on the NPU at once, or 0. */
static struct npu_llm *open_in(const char *gguf, uint32_t context, uint32_t chunk, uint32_t pool,
			       uint32_t blocks)
{
	struct npu_llm_compile_options copt = NPU_INIT(copt);
	struct npu_llm_options opt = NPU_INIT(opt);
	struct npu_error err = { .text = "" };
	struct npu_llm *llm = NULL;
	static int number;
	char npu[256];

	snprintf(npu, sizeof(npu), "%s-%d.npu", gguf, ++number);
	copt.context = context;
	copt.chunk = chunk;
	opt.pool = pool;
	if (!npu_llm_compile(gguf, npu, &copt, NULL, &err)) {
		opt.kv_budget = block_bytes(npu, blocks);
		npu_llm_open(npu, &opt, &llm, &err);
	}
	if (!llm)
		tap_diag("%s", err.text);
	return llm;
}

static struct npu_llm *open_random(const char *gguf, uint32_t context)
{
	return open_in(gguf, context, 0, 0, 0);
}

/* @max tokens; both ways end the same, by an error too. @small_pool: of a model that drafts. */
static void check_random(const char *what, uint32_t context, uint32_t chunk, uint32_t pool,
			 uint32_t blocks, uint32_t max, uint32_t small_pool)
{
	struct npu_llm *llm = open_in(tmp_path("t.gguf"), context, chunk, pool, blocks),
		       *small = NULL;
	struct npu_llm_speculator *sp;
	struct how how = { 0, 1, 0, max, -1 };
	bool ok = true;
	uint32_t num;

	if (small_pool)
		small = open_in(tmp_path("t.gguf"), 128, 0, small_pool, 0);
	sp = llm ? new_speculator(llm, small, false) : NULL;
	/* so that drafts end at, before and beyond what a bound is */
	for (num = 2; sp && num <= 8; num++)
		ok = compare(llm, sp, &how, prompt, num) && ok;
	tap_ok(sp && ok, "%s", what);
	if (sp && chunk != 1) {
		tap_ok(accepted(sp, NPU_LLM_DRAFT_LOOKUP) + accepted(sp, NPU_LLM_DRAFT_MODEL) > 10,
		       "drafts were accepted");
		print_stats(sp);
	}
	npu_llm_speculator_destroy(sp);
	npu_llm_close(small);
	npu_llm_close(llm);
}

/* Each token of the text once as the end: it must end there, wherever in a draft that is. */
static void check_ends(void)
{
	struct npu_llm *llm = open_random(tmp_path("t.gguf"), 128);
	struct npu_llm_speculator *sp = new_speculator(llm, NULL, false);
	int ok = 0, i, all = 0;

	for (i = 1; i <= 100; i++) {
		struct how how = { 0, 1, 0, (uint32_t)i, -1 };

		ok += compare(llm, sp, &how, prompt, 8);
	}
	tap_ok(ok == 100 && accepted(sp, 0) > 1000, "a text of every length up to 100: %d the same",
	       ok);
	for (i = 0; i < 160; i++, all++) {
		struct how how = { 0.3f, 1, (uint64_t)i % 3, 60, i };

		ok += compare(llm, sp, &how, prompt, 8);
	}
	tap_ok(ok == 100 + all, "every token as the end of a sampled text: %d of %d", ok - 100,
	       all);
	npu_llm_speculator_destroy(sp);
	npu_llm_close(llm);
}

/* An empty session, and one that is cut back, forked and left for another between two calls. */
static void check_sessions(void)
{
	struct npu_llm *llm = open_random(tmp_path("t.gguf"), 128);
	struct npu_llm_speculator *sp = new_speculator(llm, llm, false);
	struct npu_llm_session *s = NULL, *fork = NULL;
	struct how how = { 0, 1, 0, 50, -1 };
	static struct run want, got, again;
	int32_t next = -1;
	bool ok = !npu_llm_session_create(llm, &s, NULL) && begin(&want, llm, &how) &&
		  !go_on(&want, s, NULL, prompt, 8);

	npu_llm_session_destroy(s);
	ok = ok && !npu_llm_session_create(llm, &s, NULL) && begin(&got, llm, &how) &&
	     !npu_llm_speculate(sp, s, prompt[0], choose_row, &got, &next, NULL);
	tap_ok(ok && got.num && next == got.tokens[got.num - 1] &&
	       npu_llm_session_length(s) == got.num, "an empty session");
	npu_llm_sampler_destroy(got.sampler);
	ok = begin(&got, llm, &how) && !npu_llm_session_truncate(s, 0, NULL) &&
	     !go_on(&got, s, sp, prompt, 8);
	tap_ok(ok && same(&want, &got), "emptied, and on");
	ok = !npu_llm_session_fork(s, &fork, NULL) && begin(&again, llm, &how) &&
	     !npu_llm_session_truncate(fork, 5, NULL) && !go_on(&again, fork, sp, prompt + 5, 3);
	tap_ok(ok && same(&want, &again), "a fork, cut back, by the same speculator");
	ok = begin(&again, llm, &how) && !npu_llm_session_truncate(s, 8 - 1, NULL) &&
	     !go_on(&again, s, sp, prompt + 7, 1);
	tap_ok(ok && same(&want, &again), "and its origin");
	npu_llm_session_destroy(s);
	npu_llm_session_destroy(fork);
	npu_llm_speculator_destroy(sp);
	npu_llm_close(llm);
}

static void check_mistakes(void)
{
	struct npu_llm *llm = open_random(tmp_path("t.gguf"), 64),
		       *other = open_random(tmp_path("t.gguf"), 64);
	struct npu_llm_speculator *sp = new_speculator(llm, llm, false);
	struct npu_llm_session *s = NULL, *t = NULL;
	struct how how = { 0, 1, 0, 10, -1 };
	static struct run r;
	struct npu_error err;
	int32_t next = 4;
	int i, bad = 0;

	npu_llm_session_create(llm, &s, NULL);
	npu_llm_session_create(other, &t, NULL);
	begin(&r, llm, &how);
	for (i = 0; i < 4; i++)		/* some steps in, a draft would be made for it */
		npu_llm_speculate(sp, s, next, choose_row, &r, &next, NULL);
	for (i = 0; i < 3; i++)
		bad += npu_llm_speculate(sp, s, i ? 160 : -1, choose_row, &r, &next, &err) ==
		       -EINVAL;
	tap_ok(bad == 3, "tokens outside: %s", err.text);
	tap_ok(npu_llm_speculate(sp, t, 1, choose_row, &r, &next, &err) == -EINVAL, "%s", err.text);
	tap_ok(npu_llm_speculate(sp, s, 1, NULL, &r, &next, &err) == -EINVAL, "%s", err.text);
	tap_ok(!npu_llm_speculate(sp, s, 1, choose_row, &r, &next, &err),
	       "it goes on all the same");
	npu_llm_sampler_destroy(r.sampler);
	npu_llm_session_destroy(s);
	npu_llm_session_destroy(t);
	npu_llm_speculator_destroy(sp);
	npu_llm_close(llm);
	npu_llm_close(other);
}

/* ---- cancels ---- */

static atomic_bool cancelled_enough;

/* Until one was met, however long the other thread is not run. */
static void *cancel_soon(void *llm)
{
	struct timespec t = { 0, 300000 };

	while (!atomic_load(&cancelled_enough)) {
		npu_llm_cancel(llm);
		nanosleep(&t, NULL);
	}
	return NULL;
}

/* A step that was cancelled is run again with the same token. */
static void check_cancel(void)
{
	struct npu_llm *llm = open_random(tmp_path("t.gguf"), 512);
	struct npu_llm_speculator *sp = new_speculator(llm, NULL, false);
	struct npu_llm_session *s = NULL;
	struct how how = { 0, 1, 0, 450, -1 };
	static struct run want, got;
	int32_t token = prompt[7];
	int rounds, ret, cancelled = 0, others = 0;
	pthread_t thread;
	bool ok = begin(&want, llm, &how) && !npu_llm_session_create(llm, &s, NULL) &&
		  !go_on(&want, s, NULL, prompt, 8);

	pthread_create(&thread, NULL, cancel_soon, llm);
	for (rounds = 0; ok && rounds < 200 && !cancelled; rounds++) {
		ok = begin(&got, llm, &how) && !npu_llm_session_truncate(s, 7, NULL);
		for (token = prompt[7]; ok && token >= 0;) {
			ret = npu_llm_speculate(sp, s, token, choose_row, &got, &token, NULL);
			cancelled += ret == -ECANCELED;
			others += ret && ret != -ECANCELED;
			ok = !others;
		}
		got.left = npu_llm_session_length(s);
		ok = ok && same(&want, &got);
		npu_llm_sampler_destroy(got.sampler);
	}
	atomic_store(&cancelled_enough, true);
	pthread_join(thread, NULL);
	tap_ok(ok && cancelled, "%d steps cancelled", cancelled);
	npu_llm_session_destroy(s);
	npu_llm_speculator_destroy(sp);
	npu_llm_close(llm);
}

/* ---- vocabularies ---- */

static void refused(struct npu_llm *llm, struct npu_llm *small, const char *name, const char *want,
		    int code)
{
	struct npu_llm_speculator_options opt = NPU_INIT(opt);
	struct npu_llm_speculator *sp = NULL;
	struct npu_error err = { .text = "it was taken" };
	int ret;

	opt.model = small;
	ret = npu_llm_speculator_create(llm, &opt, &sp, &err);
	tap_ok(small && ret == code && !sp && strstr(err.text, name) &&
	       strstr(err.text, want), "refused: %s", err.text);
	npu_llm_close(small);
}

/* The same file but for one letter of one token. */
static bool change_token(const char *from, const char *to)
{
	size_t size;
	uint8_t *data = test_read_file(from, &size), *p;
	bool ok = false;
	FILE *f;

	p = data ? memmem(data, size, "\2\0\0\0\0\0\0\0at", 10) : NULL;
	if (!p) {
		free(data);
		return false;
	}
	p[9] = '#';
	f = fopen(to, "w");
	if (f) {
		ok = fwrite(data, 1, size, f) == size;
		ok = !fclose(f) && ok;
	}
	free(data);
	return ok;
}

static void check_vocabularies(void)
{
	struct npu_llm *llm = open_random(tmp_path("t.gguf"), 64);
	struct npu_llm_speculator *sp;

	if (tap_ok(write_model(tmp_path("more.gguf"), 170, true), "more tokens"))
		refused(llm, open_random(tmp_path("more.gguf"), 64),
			"more.gguf-", "has 170 tokens, the other one 160", -EINVAL);
	if (tap_ok(change_token(tmp_path("t.gguf"), tmp_path("other.gguf")), "another token"))
		refused(llm, open_random(tmp_path("other.gguf"), 64),
			"other.gguf-", "'a#', the other one's 'at'", -EINVAL);
	if (tap_ok(write_model(tmp_path("none.gguf"), 0, false), "no tokenizer"))
		refused(llm, open_random(tmp_path("none.gguf"), 64), "none.gguf-", "vocabulary",
			-ENOENT);
	sp = new_speculator(llm, llm, false);
	tap_ok(sp != NULL, "the same one is taken");
	npu_llm_close(llm);		/* the speculator keeps it */
	npu_llm_speculator_destroy(sp);
}

int main(void)
{
	if (!tap_ok(write_model(tmp_path("t.gguf"), 0, true), "a model"))
		return tap_done();
	check_random("until the context is full, and an error beyond it", 128, 0, 0, 0, 500, 0);
	check_random("the same with drafts by the model itself", 128, 0, 0, 0, 500, 128);
	check_random("steps of at most 4 rows", 128, 4, 0, 0, 90, 0);
	check_random("steps of one row", 128, 1, 0, 0, 60, 0);
	check_random("until the cache is full: 3 blocks", 128, 0, 96, 0, 500, 0);
	check_random("until the NPU's part of the cache is full", 128, 0, 0, 3, 500, 0);
	check_random("beyond what the drafting model's cache holds", 256, 0, 0, 0, 200, 32);
	check_ends();
	check_sessions();
	check_mistakes();
	check_cancel();
	check_vocabularies();
	check_trained();
	return tap_done();
}
