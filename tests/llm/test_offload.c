// SPDX-License-Identifier: MIT
/*
 * A KV budget: blocks of sessions that were not run for long are in the host's memory, and the
 * logits are the bits that they are when all is on the NPU. What is compared with is an instance
 * without a budget, and with another number of threads, that does the same.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include "llm/runtime.h"
#include "model_file.h"
#include "sequence.h"
#include "tap.h"

#define SESSIONS	5

/* In place of libnpu's: memory that runs out when a test says so, and that is counted. */
static atomic_uint host_live;
static atomic_bool host_fails;

void *npu_llm_host_alloc(size_t size)
{
	void *p = atomic_load(&host_fails) ? NULL : malloc(size);

	if (p)
		memset(p, 0xff, size);	/* no numbers */
	atomic_fetch_add(&host_live, p != NULL);
	return p;
}

void npu_llm_host_free(void *p)
{
	atomic_fetch_sub(&host_live, p != NULL);
	free(p);
}

/* ---- the two instances ---- */

static struct npu_llm *whole, *part;	/* part has a budget */
static float *want, *got;
static uint64_t block_bytes;

static struct npu_llm_info info_of(struct npu_llm *llm)
{
	struct npu_llm_info info = NPU_INIT(info);

	npu_llm_info(llm, &info);
	return info;
}

static bool open_both(const char *arch, enum npu_llm_kv kv, uint32_t blocks, uint32_t pool)
{
	whole = write_job(arch, kv, FILE_Q8_0) ? open_llm("sim:threads=2", 0, 0) : NULL;
	block_bytes = whole ? info_of(whole).kv_per_token * info_of(whole).block : 0;
	part = whole ? open_llm("sim:threads=3", pool, blocks * block_bytes) : NULL;
	want = malloc(vocab * sizeof(*want));
	got = malloc(vocab * sizeof(*got));
	return part;
}

static void close_both(void)
{
	npu_llm_close(whole);
	npu_llm_close(part);
	free(want);
	free(got);
}

/* Text that is another one for each @way. */
static int32_t other(int way, int i)
{
	return (text[i % NUM] + way * (i + 1)) % (int32_t)vocab;
}

/* The next @num tokens of way @way to a session of each instance; whether logits are the same. */
static bool step_both(struct npu_llm_session *a, struct npu_llm_session *b, int way, int num)
{
	uint32_t at = npu_llm_session_length(a);
	struct npu_error err = { .text = "" };
	const float *la, *lb;
	int32_t ids[128];
	int i;

	for (i = 0; i < num; i++)
		ids[i] = other(way, (int)at + i);
	if (!npu_llm_prefill(a, ids, (size_t)num, &la, &err) &&
	    !npu_llm_prefill(b, ids, (size_t)num, &lb, &err))
		return same(la, lb);
	tap_diag("%s", err.text);
	return false;
}

/* ---- sessions take turns ---- */

static void check_turns(const char *arch, enum npu_llm_kv kv, uint32_t blocks, uint32_t pool)
{
	struct npu_llm_session *a[SESSIONS], *b[SESSIONS];
	struct npu_llm_info info;
	int i, turn, wrong = 0;

	if (!tap_ok(open_both(arch, kv, blocks, pool), "%s, cache %s, a budget of %u blocks", arch,
		    npu_llm_kv_name(kv), blocks))
		return;
	for (i = 0; i < SESSIONS; i++) {
		a[i] = new_session(whole);
		b[i] = new_session(part);
	}
	for (turn = 0; turn < 12; turn++)
		for (i = 0; i < SESSIONS; i++)
			wrong += !step_both(a[i], b[i], i, (turn * 5 + i * 3) % 13 + 1);
	tap_ok(!wrong, "%d sessions take turns: the same logits (%d are others)", SESSIONS, wrong);
	info = info_of(part);
	/* codes and scales are buffers of whole pages */
	tap_ok(info.npu_blocks == blocks && info.kv - blocks * block_bytes < 2 * 4096 &&
	       info.num_blocks - info.free_blocks == info.host_blocks + info.npu_blocks,
	       "%u blocks on the NPU, %u in the host's memory", info.npu_blocks, info.host_blocks);
	tap_ok(info.blocks_out > 50 && info.blocks_in > 50 && info.bytes_in > info.bytes_out &&
	       info.bytes_in <= info.blocks_in * block_bytes,
	       "%llu blocks out, %llu in; %llu bytes out, %llu in",
	       (unsigned long long)info.blocks_out, (unsigned long long)info.blocks_in,
	       (unsigned long long)info.bytes_out, (unsigned long long)info.bytes_in);
	tap_ok(info.kv_host == atomic_load(&host_live) * block_bytes, "%llu bytes of the host's",
	       (unsigned long long)info.kv_host);
	info = info_of(whole);
	tap_ok(!info.host_blocks && !info.blocks_out && !info.blocks_in && !info.kv_host,
	       "without a budget nothing moves");
	for (i = 0; i < SESSIONS; i++) {
		npu_llm_session_destroy(a[i]);
		npu_llm_session_destroy(b[i]);
	}
	info = info_of(part);
	tap_ok(info.free_blocks == info.num_blocks && !atomic_load(&host_live),
	       "all blocks are free, and the host's memory");
	close_both();
}

/* ---- forks, cuts, states ---- */

/* A session that needs all of a budget of four blocks. */
static struct npu_llm_session *push_out(void)
{
	struct npu_llm_session *s = new_session(part);
	int32_t ids[128] = { 0 };
	int ret = 0, i;

	for (i = 0; i < 2 && !ret; i++)
		ret = npu_llm_prefill(s, ids, 64, NULL, NULL);
	if (!ret)
		return s;
	npu_llm_session_destroy(s);
	return NULL;
}

/* Four sessions with 70 tokens in common: two blocks, and six positions of a third. */
static void check_forks(void)
{
	struct npu_llm_session *a[4] = { new_session(whole) }, *b[4] = { new_session(part) }, *all;
	struct npu_llm_info before = info_of(part), after;
	bool ok = step_both(a[0], b[0], 0, 60) && step_both(a[0], b[0], 0, 10);
	int i;

	for (i = 1; i < 4; i++)
		ok = ok && !npu_llm_session_fork(a[0], &a[i], NULL) &&
		     !npu_llm_session_fork(b[0], &b[i], NULL);
	all = push_out();
	after = info_of(part);
	tap_ok(ok && all && after.blocks_out - before.blocks_out == 3 &&
	       after.bytes_out - before.bytes_out == 70 * block_bytes / 32,
	       "what four sessions share leaves once, without what is not used: %llu blocks, %llu bytes",
	       (unsigned long long)(after.blocks_out - before.blocks_out),
	       (unsigned long long)(after.bytes_out - before.bytes_out));
	before = after;
	ok = ok && step_both(a[2], b[2], 2, 3);	/* another way than the others, in a copy */
	after = info_of(part);
	tap_ok(ok && after.blocks_in - before.blocks_in == 2,
	       "a fork comes back, and goes on in a copy of the third block that is not brought");
	npu_llm_session_destroy(all);
	for (i = 0; i < 4; i++)
		ok = ok && step_both(a[i], b[i], i, 25);
	for (i = 0; i < 4; i++)
		ok = ok && step_both(a[i], b[i], i, 4);
	tap_ok(ok, "all four go on, each its way");
	for (i = 0; i < 4; i++) {
		npu_llm_session_destroy(a[i]);
		npu_llm_session_destroy(b[i]);
	}
}

static void check_cut(void)
{
	struct npu_llm_session *a = new_session(whole), *b = new_session(part), *all;
	bool ok = step_both(a, b, 0, 60) && step_both(a, b, 0, 10);

	all = push_out();
	ok = ok && all && step_both(a, b, 0, 1);	/* the host keeps its copy */
	npu_llm_session_destroy(all);
	ok = ok && !npu_llm_session_truncate(a, 40, NULL) &&
	     !npu_llm_session_truncate(b, 40, NULL) && step_both(a, b, 1, 24);
	all = push_out();
	tap_ok(ok && all && step_both(a, b, 1, 5),
	       "cut back and gone on another way, then away and back");
	npu_llm_session_destroy(all);
	all = push_out();
	ok = ok && all && !npu_llm_session_truncate(a, 33, NULL) &&
	     !npu_llm_session_truncate(b, 33, NULL) && step_both(a, b, 3, 20);
	tap_ok(ok, "cut back while it is away");
	npu_llm_session_destroy(a);
	npu_llm_session_destroy(b);
	npu_llm_session_destroy(all);
}

static void check_states(void)
{
	struct npu_llm_session *a = new_session(whole), *b = new_session(part), *all, *c = NULL;
	size_t size[2] = { 0, 0 };
	void *data[2] = { NULL, NULL };
	bool ok = step_both(a, b, 0, 60) && step_both(a, b, 0, 10);

	all = push_out();
	ok = ok && all && !npu_llm_session_save(a, &data[0], &size[0], NULL) &&
	     !npu_llm_session_save(b, &data[1], &size[1], NULL);
	tap_ok(ok && info_of(part).host_blocks == 3 && size[0] == size[1] &&
	       !memcmp(data[0], data[1], size[0]), "a session that is away has the same state");
	npu_llm_session_destroy(b);
	tap_ok(ok && !npu_llm_session_load(part, data[0], size[0], &b, NULL) &&
		       info_of(part).host_blocks == 3 &&
		       !npu_llm_session_load(part, data[0], size[0], &c, NULL),
	       "one is loaded while the NPU has no room");
	tap_ok(ok && b && step_both(a, b, 0, 9), "and goes on");
	npu_llm_session_destroy(all);
	free(data[1]);
	data[1] = NULL;
	ok = ok && c && !npu_llm_session_save(c, &data[1], &size[1], NULL);
	tap_ok(ok && size[0] == size[1] && !memcmp(data[0], data[1], size[0]),
	       "saved again before it ever ran: the same bytes");
	npu_llm_session_destroy(a);
	npu_llm_session_destroy(b);
	npu_llm_session_destroy(c);
	free(data[0]);
	free(data[1]);
}

/* ---- batches: sessions of one step ---- */

static void check_batch(void)
{
	struct npu_llm_session *a[3], *b[3];
	struct npu_llm_batch *batch = NULL;
	struct npu_error err = { .text = "" };
	bool ok = !npu_llm_batch_create(part, &batch, NULL);
	int32_t one[3];
	uint64_t moved;
	int i, ret;

	for (i = 0; i < 3; i++) {
		a[i] = new_session(whole);
		b[i] = new_session(part);
		ok = ok && step_both(a[i], b[i], i, 40);
	}
	moved = info_of(part).blocks_out;
	for (i = 0; i < 3; i++) {
		one[i] = other(i, 40);
		ok = ok && npu_llm_batch_add(batch, b[i], &one[i], 1, NPU_LLM_WANT_LAST, &err) == i;
	}
	ret = npu_llm_batch_run(batch, &err);
	tap_ok(ok && ret == -E2BIG && strstr(err.text, "a step of 3 sessions needs 6 blocks") &&
	       strstr(err.text, "holds 4 ("), "a step beyond the budget: %s", err.text);
	tap_ok(info_of(part).blocks_out == moved && npu_llm_session_length(b[0]) == 40,
	       "nothing has moved for it");
	npu_llm_batch_clear(batch);
	for (i = 0; i < 2; i++)
		npu_llm_batch_add(batch, b[i], &one[i], 1, NPU_LLM_WANT_LAST, &err);
	ok = ok && !npu_llm_batch_run(batch, &err);
	for (i = 0; i < 2; i++) {
		const float *logits;

		ok = ok && !npu_llm_decode(a[i], one[i], &logits, NULL) &&
		     same(logits, npu_llm_batch_logits(batch, (unsigned int)i, 0));
	}
	tap_ok(ok, "two of them run together");
	tap_ok(step_both(a[2], b[2], 2, 5), "then the third");
	for (i = 0; i < 3; i++)
		npu_llm_session_destroy(a[i]);
	npu_llm_batch_destroy(batch);
	for (i = 0; i < 3; i++)
		npu_llm_session_destroy(b[i]);
}

/*
 * Forks that go on in a block which both have: the last one keeps it, so one new block is enough.
 */
static void check_writers(void)
{
	struct npu_llm_session *s = new_session(part), *fork = NULL, *ref = new_session(whole);
	struct npu_llm_batch *batch = NULL;
	int32_t ids[2] = { other(0, 70), other(1, 70) };
	const float *logits;
	bool ok = step_both(ref, s, 0, 60) && step_both(ref, s, 0, 10) &&
		  !npu_llm_session_fork(s, &fork, NULL) &&
		  !npu_llm_batch_create(part, &batch, NULL) &&
		  !npu_llm_batch_add(batch, s, &ids[1], 1, NPU_LLM_WANT_LAST, NULL) &&
		  npu_llm_batch_add(batch, fork, &ids[0], 1, NPU_LLM_WANT_LAST, NULL) == 1 &&
		  !npu_llm_batch_run(batch, NULL) && !npu_llm_decode(ref, ids[0], &logits, NULL);

	tap_ok(ok && same(logits, npu_llm_batch_logits(batch, 1, 0)) && !info_of(part).host_blocks,
	       "two forks part ways in a step that just fits");
	npu_llm_batch_destroy(batch);
	npu_llm_session_destroy(s);
	npu_llm_session_destroy(fork);
	npu_llm_session_destroy(ref);
}

/* A session of 70 tokens and its fork, and a step of both; its result. */
static int step_forks(struct npu_llm *llm, struct npu_llm_session *s[2], struct npu_error *err)
{
	struct npu_llm_batch *batch = NULL;
	int32_t ids[128] = { 0 };
	int i, ret = 0;

	s[0] = new_session(llm);
	s[1] = NULL;
	err->text[0] = 0;
	if (npu_llm_prefill(s[0], ids, 60, NULL, err) ||
	    npu_llm_prefill(s[0], ids, 10, NULL, err) || npu_llm_session_fork(s[0], &s[1], err) ||
	    npu_llm_batch_create(llm, &batch, err))
		return 1;
	for (i = 0; i < 2 && !ret; i++)
		ret = npu_llm_batch_add(batch, s[i], ids, 1, NPU_LLM_WANT_LAST, err) != i;
	ret = ret ?: npu_llm_batch_run(batch, err);
	npu_llm_batch_destroy(batch);
	return ret;
}

/* It takes one block more, and has four on the NPU: two in common, and two more. */
static void check_copies_fit(void)
{
	struct npu_llm *llm = open_llm("sim:threads=1", 0, 3 * block_bytes);
	struct npu_llm_session *s[2];
	struct npu_error err;
	int ret = step_forks(llm, s, &err);

	tap_ok(ret == -E2BIG && strstr(err.text, "needs 4 blocks"),
	       "a step of forks that needs a copy more than the budget: %s", err.text);
	tap_ok(!npu_llm_decode(s[1], 1, NULL, NULL) && !npu_llm_decode(s[0], 1, NULL, NULL) &&
	       info_of(llm).blocks_out && info_of(llm).blocks_in, "each of them fits");
	npu_llm_session_destroy(s[0]);
	npu_llm_session_destroy(s[1]);
	npu_llm_close(llm);

	llm = open_llm("sim:threads=1", 4 * 32, 0);
	ret = step_forks(llm, s, &err);
	tap_ok(!ret && !info_of(llm).free_blocks, "the same in a pool of four blocks: %s",
	       ret ? err.text : "it fits");
	npu_llm_session_destroy(s[0]);
	npu_llm_session_destroy(s[1]);
	npu_llm_close(llm);
}

/* ---- bounds ---- */

static void check_bounds(void)
{
	struct npu_llm_options opt = NPU_INIT(opt);
	struct npu_llm_session *s = new_session(part);
	struct npu_llm *llm = NULL;
	struct npu_error err = { .text = "" };
	int32_t ids[128] = { 0 };

	tap_ok(!open_llm("sim:threads=1", 0, block_bytes - 1), "a budget of less than a block");
	llm = open_llm("sim:threads=1", 0, 1ull << 60);
	tap_ok(llm && info_of(llm).npu_blocks == info_of(llm).num_blocks, "one of more than all");
	npu_llm_close(llm);
	llm = open_llm("sim:threads=1", 32 * 40, block_bytes * 2);
	tap_ok(llm && info_of(llm).num_blocks == 40 && info_of(llm).npu_blocks == 2,
	       "more blocks than the job was compiled for");
	npu_llm_close(llm);
	llm = open_llm("sim:threads=1", 64, block_bytes);
	npu_llm_session_destroy(s);
	s = new_session(llm);
	tap_ok(npu_llm_prefill(s, ids, 33, NULL, &err) == -E2BIG && !npu_llm_session_length(s),
	       "a session that is longer than the budget: %s", err.text);
	tap_ok(!npu_llm_prefill(s, ids, 32, NULL, &err) &&
	       npu_llm_decode(s, 1, NULL, &err) == -E2BIG && npu_llm_session_length(s) == 32,
	       "one that becomes longer");
	npu_llm_session_destroy(s);
	npu_llm_close(llm);
}

/* ---- the host has no memory ---- */

static void check_no_memory(void)
{
	struct npu_llm_session *a[3], *b[3];
	struct npu_error err = { .text = "" };
	int32_t ids[128] = { 0 };
	bool ok = true;
	int i, ret;

	for (i = 0; i < 3; i++) {
		a[i] = new_session(whole);
		b[i] = new_session(part);
	}
	for (i = 0; i < 2; i++)
		ok = ok && step_both(a[i], b[i], i, 40);
	atomic_store(&host_fails, true);
	ret = npu_llm_prefill(b[2], ids, 40, NULL, &err);
	tap_ok(ok && ret == -ENOMEM && strstr(err.text, "no memory of the host"), "%s", err.text);
	tap_ok(!npu_llm_session_length(b[2]) && info_of(part).free_blocks ==
	       info_of(part).num_blocks - 4 && !info_of(part).host_blocks, "nothing was taken for it");
	for (i = 0; i < 2; i++)
		ok = ok && step_both(a[i], b[i], i, 2);
	tap_ok(ok, "the others go on");
	atomic_store(&host_fails, false);
	for (i = 2; i >= 0; i--)
		ok = ok && step_both(a[i], b[i], i, 9);
	tap_ok(ok, "with memory again all go on");
	/* Next 1 is to leave, of which there is no copy; that of 0 makes room for it. */
	for (i = 1; i >= 0; i--)
		ok = ok && step_both(a[i], b[i], i, 3);
	atomic_store(&host_fails, true);
	for (i = 2; i >= 0; i--)
		ok = ok && step_both(a[i], b[i], i, 4);
	atomic_store(&host_fails, false);
	tap_ok(ok, "copies of blocks that are on the NPU are given up before");
	for (i = 0; i < 6; i++)
		ok = ok && step_both(a[i % 3], b[i % 3], i % 3, 2);
	tap_ok(ok, "and made again");
	for (i = 0; i < 3; i++) {
		npu_llm_session_destroy(a[i]);
		npu_llm_session_destroy(b[i]);
	}
	tap_ok(!atomic_load(&host_live), "the host's memory is free");
}

/* ---- for long ---- */

/*
 * What is allocated, not what is resident: that depends on when which thread is run. Sanitizers
 * have allocators of their own, which say 0.
 */
static long heap_kib(void)
{
	struct mallinfo2 m = mallinfo2();

	return (long)((m.uordblks + m.hblkhd) / 1024);
}

static void check_long(void)
{
	struct npu_llm_session *a[3], *b[3];
	uint64_t moved = info_of(part).blocks_in;
	unsigned int live = 0, most = 0;
	int i, turn, wrong = 0;
	long heap = 0;

	for (i = 0; i < 3; i++) {
		a[i] = new_session(whole);
		b[i] = new_session(part);
		wrong += !step_both(a[i], b[i], i, 40);
	}
	for (turn = 0; info_of(part).blocks_in - moved < 1100 && turn < 1000; turn++) {
		for (i = 0; i < 3; i++) {
			wrong += npu_llm_session_truncate(a[i], 36, NULL) ||
				 npu_llm_session_truncate(b[i], 36, NULL) ||
				 !step_both(a[i], b[i], i + turn, 6);
		}
		live = atomic_load(&host_live);
		most = live > most ? live : most;
		heap = turn == 20 ? heap_kib() : heap;
	}
	heap = heap_kib() - heap;
	moved = info_of(part).blocks_in - moved;
	tap_ok(!wrong && moved >= 1000, "%llu blocks came back, the logits are the same",
	       (unsigned long long)moved);
	tap_ok(most <= 6 && heap < 16, "memory is flat: %u blocks of the host, %ld KiB more", most,
	       heap);
	for (i = 0; i < 3; i++) {
		npu_llm_session_destroy(a[i]);
		npu_llm_session_destroy(b[i]);
	}
}

/* ---- sessions in threads of their own, which take the NPU's memory from each other ---- */

struct user {
	int way;
	bool ok;
};

static void *use(void *arg)
{
	struct npu_llm_session *fork = NULL;
	struct user *u = arg;
	int i, turn;

	u->ok = true;
	for (turn = 0; turn < 3 && u->ok; turn++) {
		struct npu_llm_session *a = new_session(whole), *b = new_session(part);

		for (i = 0; i < 6 && u->ok; i++)
			u->ok = step_both(a, b, u->way + turn, 11);
		u->ok = u->ok && !npu_llm_session_fork(b, &fork, NULL);
		npu_llm_session_destroy(b);
		u->ok = u->ok && step_both(a, fork, u->way, 3);
		npu_llm_session_destroy(a);
		npu_llm_session_destroy(fork);
		fork = NULL;
	}
	return NULL;
}

static void check_users(void)
{
	struct user users[4];
	pthread_t thread[4];
	bool ok = true;
	int i;

	for (i = 0; i < 4; i++) {
		users[i] = (struct user){ .way = i };
		pthread_create(&thread[i], NULL, use, &users[i]);
	}
	for (i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		ok = ok && users[i].ok;
	}
	tap_ok(ok, "four threads, each with a session");
	tap_ok(!atomic_load(&host_live), "the host's memory is free");
}

int main(void)
{
	check_turns("llama", NPU_LLM_KV_F32, 4, 0);
	check_turns("qwen3", NPU_LLM_KV_F16, 7, 0);
	check_turns("gemma3", NPU_LLM_KV_I8, 4, 0);
	check_turns("phi3", NPU_LLM_KV_I8, 9, 32 * 30);
	if (tap_ok(open_both("llama", NPU_LLM_KV_F16, 4, 0), "a budget of four blocks")) {
		check_forks();
		check_cut();
		check_states();
		check_batch();
		check_writers();
		check_copies_fit();
		check_bounds();
		check_no_memory();
		check_long();
		check_users();
	}
	close_both();
	return tap_done();
}
