// SPDX-License-Identifier: MIT
/*
 * A sequence's logits are the same bits alone and in company, however its prompt was cut, forked,
 * cut back, saved and loaded, and with any number of threads; and sessions account for their
 * blocks.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include "model_file.h"
#include "sequence.h"
#include "tap.h"

static void check_chunks(struct npu_llm *llm, const float *want, float *got)
{
	static const int pieces[] = { 1, 2, 7, 31, 32, 33, 64, 75 };
	unsigned int i;

	for (i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct npu_llm_session *s = new_session(llm);

		tap_ok(feed(s, 0, NUM, pieces[i], got) && same(got, want),
		       "prompt in pieces of %d", pieces[i]);
		npu_llm_session_destroy(s);
	}
}

/* The sequence among others that are at other places of other texts, some in prefill. */
static void check_neighbours(struct npu_llm *llm, const float *want)
{
	struct npu_llm_session *s[6];
	struct npu_llm_batch *b = NULL;
	struct npu_error err = { .text = "" };
	int at[6] = { 0 }, step, i, me = 3, entry, mine = 0;
	bool ok = true;

	for (i = 0; i < 6; i++)
		s[i] = new_session(llm);
	npu_llm_batch_create(llm, &b, NULL);
	for (step = 0; ok && at[me] < NUM; step++) {
		npu_llm_batch_clear(b);
		for (i = 0; i < 6; i++) {
			int n = (step * 5 + i * 3) % 11 + 1, max = i == me ? NUM : NUM - 10 * i;

			if ((step + i) % 4 == 0 && i != me)
				continue;	/* not in this one */
			n = n < max - at[i] ? n : max - at[i];
			if (n <= 0)
				continue;
			/* others have other texts */
			entry = npu_llm_batch_add(
				b, s[i], i == me ? text + at[i] : text + NUM - 1 - at[i] - (n - 1),
				(uint32_t)n, NPU_LLM_WANT_LAST, &err);
			ok = ok && entry >= 0;
			mine = i == me ? entry : mine;
			at[i] += n;
		}
		ok = ok && !npu_llm_batch_run(b, &err);
	}
	tap_ok(ok && same(npu_llm_batch_logits(b, (unsigned int)mine, 0), want),
	       "in a batch of six, with neighbours in prefill and decode, %d steps%s%s", step,
	       *err.text ? ": " : "", err.text);
	npu_llm_batch_destroy(b);
	for (i = 0; i < 6; i++)
		npu_llm_session_destroy(s[i]);
}

/* Three sessions that share all of their @used blocks, and nobody else has any. */
static void check_count(struct npu_llm *llm, uint32_t used, struct npu_llm_session *s[3])
{
	struct npu_llm_session *gaps[3] = { s[0], NULL, s[2] };
	uint32_t all, own;

	npu_llm_sessions_blocks(llm, s, 3, &all, &own);
	tap_ok(used && all == used && own == used,
	       "three that share %u blocks have %u, %u their own", used, all, own);
	npu_llm_sessions_blocks(llm, gaps, 3, &all, &own);
	tap_ok(all == used && !own, "two of them have %u, none their own", all);
	npu_llm_sessions_blocks(llm, gaps + 1, 1, &all, &own);
	tap_ok(!all && !own, "no session has none");
}

static void check_fork(struct npu_llm *llm, const float *want, float *got)
{
	struct npu_llm_session *a = new_session(llm), *b = NULL, *c = NULL;
	struct npu_llm_info before = NPU_INIT(before), after = NPU_INIT(after);
	float *other = malloc(vocab * sizeof(*other));
	bool ok = feed(a, 0, 40, 40, got);

	npu_llm_info(llm, &before);
	ok = ok && !npu_llm_session_fork(a, &b, NULL) && !npu_llm_session_fork(a, &c, NULL);
	npu_llm_info(llm, &after);
	tap_ok(ok && before.free_blocks == after.free_blocks, "a fork takes no blocks");
	check_count(llm, before.num_blocks - before.free_blocks,
		    (struct npu_llm_session *[]){ a, b, c });
	/* All three go on from the middle of a shared block; b on another way. */
	ok = !npu_llm_prefill(b, text, 30, NULL, NULL) && feed(a, 40, NUM, 9, got);
	tap_ok(ok && same(got, want), "the forked one goes on");
	ok = feed(c, 40, NUM, 35, other);
	tap_ok(ok && same(other, want), "the fork goes on, after its origin and a sibling wrote theirs");
	npu_llm_session_destroy(a);
	ok = !npu_llm_session_truncate(b, 40, NULL) && feed(b, 40, NUM, 35, other);
	tap_ok(ok && same(other, want), "a fork that went another way is cut back");
	npu_llm_session_destroy(b);
	npu_llm_session_destroy(c);
	npu_llm_info(llm, &after);
	tap_ok(after.free_blocks == after.num_blocks, "all blocks are free again");
	free(other);
}

static void check_cut(struct npu_llm *llm, const float *want, float *got)
{
	struct npu_llm_session *s = new_session(llm);
	int32_t wrong[5] = { 1, 2, 3, 4, 5 };
	bool ok = feed(s, 0, 50, 50, got) && !npu_llm_prefill(s, wrong, 5, NULL, NULL) &&
		  !npu_llm_session_truncate(s, 50, NULL) && feed(s, 50, NUM, 25, got);

	tap_ok(ok && same(got, want), "five tokens taken back");
	tap_ok(npu_llm_session_length(s) == NUM &&
	       !memcmp(npu_llm_session_tokens(s), text, sizeof(text)), "the session knows its tokens");
	tap_ok(npu_llm_session_truncate(s, NUM + 1, NULL) == -EINVAL, "no cut beyond the end");
	npu_llm_session_destroy(s);
}

static void check_damage(struct npu_llm *llm, uint8_t *data, size_t size)
{
	struct npu_llm_session *s = NULL;
	struct npu_error err;
	unsigned int bad = 0, i;
	size_t at;

	for (i = 0; i < 400; i++) {
		at = i < 64 ? i : (size_t)i * 7919 % size;
		data[at] ^= 0x10;
		err.text[0] = 0;
		if (!npu_llm_session_load(llm, data, size, &s, &err) || s || !*err.text)
			bad++;
		data[at] ^= 0x10;
	}
	for (i = 0; i < 100; i++) {
		at = (size_t)i * size / 100;
		if (!npu_llm_session_load(llm, data, at, &s, &err) || s)
			bad++;
	}
	tap_ok(!bad, "400 damaged and 100 truncated states are refused (%u were not)", bad);
}

static void check_state(struct npu_llm *llm, const float *want, float *got)
{
	struct npu_llm_session *a = new_session(llm), *b = NULL;
	struct npu_llm *again;
	void *data = NULL, *twice = NULL;
	size_t size = 0, size2 = 0;
	bool ok = feed(a, 0, 45, 45, got) && !npu_llm_session_save(a, &data, &size, NULL);

	npu_llm_session_destroy(a);
	ok = ok && !npu_llm_session_load(llm, data, size, &b, NULL) &&
	     npu_llm_session_length(b) == 45 && !npu_llm_session_save(b, &twice, &size2, NULL);
	tap_ok(ok && size == size2 && !memcmp(data, twice, size), "a loaded state saves as the same bytes");
	tap_ok(ok && feed(b, 45, NUM, 7, got) && same(got, want), "saved, loaded, and on");
	npu_llm_session_destroy(b);
	again = open_llm("sim:threads=1", 0, 0);
	ok = again && !npu_llm_session_load(again, data, size, &b, NULL) &&
	     feed(b, 45, NUM, 30, got);
	tap_ok(ok && same(got, want), "loaded by another instance with another number of threads");
	npu_llm_session_destroy(b);
	npu_llm_close(again);
	check_damage(llm, data, size);
	free(data);
	free(twice);
}

static void check_threads(const float *want, float *got)
{
	static const char *const devices[] = { "sim:threads=1", "sim:threads=3",
					       "sim:threads=2,simd=portable" };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		struct npu_llm *llm = open_llm(devices[i], 0, 0);
		struct npu_llm_session *s = llm ? new_session(llm) : NULL;

		tap_ok(s && feed(s, 0, NUM, 20, got) && same(got, want), "%s", devices[i]);
		npu_llm_session_destroy(s);
		npu_llm_close(llm);
	}
}

static void check_kind(const char *arch, enum npu_llm_kv kv, uint32_t type)
{
	struct npu_llm *llm = write_job(arch, kv, type) ? open_llm("sim:threads=2", 0, 0) : NULL;
	float *want = malloc(vocab * sizeof(*want)), *got = malloc(vocab * sizeof(*got));
	struct npu_llm_session *s = llm ? new_session(llm) : NULL;

	if (tap_ok(s && feed(s, 0, NUM, NUM, want), "%s, cache %s, weights of type %u", arch,
		   npu_llm_kv_name(kv), type)) {
		check_chunks(llm, want, got);
		check_neighbours(llm, want);
		check_cut(llm, want, got);
		npu_llm_session_destroy(s);
		check_fork(llm, want, got);
		check_state(llm, want, got);
		check_threads(want, got);
	}
	npu_llm_close(llm);
	free(want);
	free(got);
}

/* ---- bounds and mistakes ---- */

static void check_full(void)
{
	struct npu_llm *llm = open_llm("sim:threads=1", 96, 0);	/* three blocks */
	struct npu_llm_session *a = new_session(llm), *b = new_session(llm);
	struct npu_llm_info info = NPU_INIT(info);
	struct npu_error err;

	tap_ok(!npu_llm_prefill(a, text, 40, NULL, NULL), "two of three blocks");
	tap_ok(npu_llm_prefill(b, text, 40, NULL, &err) == -ENOSPC && strstr(err.text, "is full"),
	       "a pool that is full: %s", err.text);
	npu_llm_info(llm, &info);
	tap_ok(info.free_blocks == 1 && !npu_llm_session_length(b), "nothing was kept of it");
	tap_ok(!npu_llm_prefill(b, text, 32, NULL, NULL), "what fits is taken");
	npu_llm_session_destroy(a);
	tap_ok(!npu_llm_prefill(b, text, 40, NULL, NULL), "blocks of a session that is gone");
	npu_llm_session_destroy(b);
	npu_llm_close(llm);
}

static void check_mistakes(struct npu_llm *llm)
{
	struct npu_llm_session *s = new_session(llm), *t = new_session(llm);
	struct npu_llm_batch *b = NULL;
	struct npu_error err;
	int32_t bad[2] = { 1, (int32_t)vocab };
	int i;

	npu_llm_batch_create(llm, &b, NULL);
	tap_ok(npu_llm_prefill(s, bad, 2, NULL, &err) == -EINVAL && strstr(err.text, "token 1 of 2"),
	       "a token outside: %s", err.text);
	bad[1] = -1;
	tap_ok(npu_llm_prefill(s, bad, 2, NULL, &err) == -EINVAL, "a negative token: %s", err.text);
	tap_ok(npu_llm_prefill(s, bad, 0, NULL, &err) == -EINVAL, "no token: %s", err.text);
	tap_ok(npu_llm_batch_run(b, &err) == -EINVAL, "an empty batch: %s", err.text);
	tap_ok(npu_llm_batch_add(b, s, text, 3, NPU_LLM_WANT_LAST, &err) == 0, "an entry");
	tap_ok(npu_llm_batch_add(b, s, text, 3, NPU_LLM_WANT_LAST, &err) == -EINVAL,
	       "a session twice: %s", err.text);
	tap_ok(npu_llm_batch_add(b, t, text, 62, NPU_LLM_WANT_LAST, &err) == -E2BIG,
	       "too many rows: %s", err.text);
	tap_ok(!npu_llm_batch_logits(b, 0, 0) && npu_llm_batch_argmax(b, 0, 0) == -1,
	       "no logits before the run");
	tap_ok(!npu_llm_batch_run(b, &err) && npu_llm_batch_logits(b, 0, 0) &&
	       !npu_llm_batch_logits(b, 0, 1) && !npu_llm_batch_logits(b, 1, 0), "one row of logits");
	tap_ok(npu_llm_batch_run(b, &err) == -EINVAL, "the same batch again: %s", err.text);
	npu_llm_batch_destroy(b);
	for (i = 0; i < 125; i += 5)
		if (npu_llm_prefill(t, text, 5, NULL, NULL))
			break;
	tap_ok(i == 125 && npu_llm_prefill(t, text, 4, NULL, &err) == -EINVAL &&
	       strstr(err.text, "compiled for 128"), "beyond the context: %s", err.text);
	tap_ok(!npu_llm_prefill(t, text, 3, NULL, NULL), "up to the context");
	npu_llm_session_destroy(s);
	npu_llm_session_destroy(t);
}

static void *cancel_soon(void *llm)
{
	struct timespec t = { 0, 200000 };
	int i;

	for (i = 0; i < 2000; i++) {
		npu_llm_cancel(llm);
		nanosleep(&t, NULL);
	}
	return NULL;
}

/* Runs that are cancelled at any moment leave the session as it was. */
static void check_cancel(struct npu_llm *llm, const float *want, float *got)
{
	struct npu_llm_session *s = new_session(llm);
	int at = 0, cancelled = 0, others = 0, n, ret;
	pthread_t thread;

	pthread_create(&thread, NULL, cancel_soon, llm);
	while (at < NUM && cancelled < 2000) {
		n = NUM - at < 25 ? NUM - at : 25;
		ret = npu_llm_prefill(s, text + at, (size_t)n, NULL, NULL);
		cancelled += ret == -ECANCELED;
		others += ret && ret != -ECANCELED;
		at = (int)npu_llm_session_length(s);
		if (at > 25 && !cancelled) {	/* too fast: once more */
			npu_llm_session_truncate(s, 25, NULL);
			at = 25;
		}
	}
	pthread_join(thread, NULL);
	tap_ok(cancelled && !others && !npu_llm_session_truncate(s, 25, NULL) &&
	       feed(s, 25, NUM, 50, got) && same(got, want), "%d runs cancelled", cancelled);
	npu_llm_session_destroy(s);
}

/* Sessions of one model in threads of their own, one of which forks and saves all the while. */
struct user {
	struct npu_llm *llm;
	const float *want;
	float *got;
	int number;
	bool ok;
};

static void *use(void *arg)
{
	struct user *u = arg;
	struct npu_llm_session *s = new_session(u->llm), *fork = NULL;
	void *data = NULL;
	size_t size;
	int i;

	u->ok = true;
	for (i = 0; i < NUM && u->ok; i += 5) {
		u->ok = feed(s, i, i + 5, u->number + 1, u->got);
		if (u->number || !u->ok)
			continue;
		u->ok = !npu_llm_session_fork(s, &fork, NULL) &&
			!npu_llm_prefill(fork, text, 3, NULL, NULL) &&
			!npu_llm_session_save(fork, &data, &size, NULL);
		npu_llm_session_destroy(fork);
		free(data);
		fork = NULL;
		data = NULL;
	}
	u->ok = u->ok && same(u->got, u->want);
	npu_llm_session_destroy(s);
	return NULL;
}

static void check_users(struct npu_llm *llm, const float *want)
{
	struct user users[4];
	pthread_t thread[4];
	bool ok = true;
	int i;

	for (i = 0; i < 4; i++) {
		users[i] = (struct user){ .llm = llm, .want = want, .number = i,
					  .got = malloc(vocab * sizeof(float)) };
		pthread_create(&thread[i], NULL, use, &users[i]);
	}
	for (i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		ok = ok && users[i].ok;
		free(users[i].got);
	}
	tap_ok(ok, "four threads, each with a session");
}

int main(void)
{
	struct npu_llm_session *s;
	struct npu_llm *llm;
	float *want, *got;

	check_kind("llama", NPU_LLM_KV_F16, FILE_F32);
	check_kind("gemma3", NPU_LLM_KV_I8, FILE_F16);
	check_kind("qwen3", NPU_LLM_KV_F16, FILE_Q8_0);
	check_kind("phi3", NPU_LLM_KV_I8, FILE_Q4_0);
	llm = open_llm("sim:threads=2", 0, 0);
	want = malloc(vocab * sizeof(*want));
	got = malloc(vocab * sizeof(*got));
	check_mistakes(llm);
	check_full();
	s = new_session(llm);
	if (tap_ok(feed(s, 0, NUM, NUM, want), "a run without cancels")) {
		check_cancel(llm, want, got);
		check_users(llm, want);
	}
	npu_llm_session_destroy(s);
	free(want);
	free(got);
	npu_llm_close(llm);
	return tap_done();
}
