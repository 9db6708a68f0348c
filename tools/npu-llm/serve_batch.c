// SPDX-License-Identifier: MIT
/*
 * The thread of a server that runs the model. Between two steps it looks at the list again: who has
 * come, who has gone, who does not read. A request is a sequence of tokens of which the cache may
 * lack some at the end: a whole prompt, one token that was just generated, or all of it when the
 * cache was needed for an older request. A step runs some of what is lacking, of all at once; the
 * logits are the same however that is cut.
 */
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"
#include "serve.h"

#define OUT_LIMIT	(16u << 10)	/* bytes that a client may leave unread */
#define CHECK_INTERVAL	0.02		/* seconds between two looks at the sockets */
#define WAIT_MS		50		/* while there are only requests that wait for something */

struct batcher {
	struct server *s;
	struct npu_llm_batch *batch;	/* s->batch */
	struct request **chosen;	/* s->chosen, oldest first */
	uint32_t num_chosen;
	struct npu_llm_session **sessions;	/* s->sessions: of older requests of the step */
	uint32_t num_sessions, grown;	/* of which @grown blocks are new in it */
	uint32_t free_blocks;		/* that the step leaves, and the NPU has room for */
	double checked;			/* when the sockets were looked at */
};

const char *const outcome_names[NUM_OUTCOMES] = {
	[OUT_NONE] = "none", [OUT_STOP] = "stop", [OUT_LENGTH] = "length", [OUT_GONE] = "gone",
	[OUT_SLOW] = "slow", [OUT_SHUTDOWN] = "shutdown", [OUT_ERROR] = "error",
};

/* ---- requests come and go; all of it under s->lock ---- */

void request_destroy(struct request *r)
{
	unsigned int i;

	if (!r)
		return;
	npu_llm_session_destroy(r->session);
	npu_llm_sampler_destroy(r->sampler);
	npu_llm_speculator_destroy(r->speculator);
	reply_free(&r->reply);
	for (i = 0; i < MAX_STOPS; i++)
		free(r->stops[i]);
	free(r->ids);
	free(r->out);
	free(r->head);
	free(r);
}

static void put(struct request *r)
{
	if (!--r->refs)
		request_destroy(r);
}

int serve_submit(struct server *s, struct request *r)
{
	struct request **p = &s->list;
	int ret = 0;

	pthread_mutex_lock(&s->lock);
	if (s->draining) {
		ret = -ESHUTDOWN;
	} else if (s->num_requests >= s->width + s->o->queue) {
		s->metrics.refused++;
		ret = -EBUSY;
	} else {
		while (*p)
			p = &(*p)->next;
		*p = r;
		s->num_requests++;
		r->refs = 2;
		r->arrived = seconds();
		pthread_cond_signal(&s->work);
	}
	pthread_mutex_unlock(&s->lock);
	return ret;
}

void serve_detach(struct server *s, struct request *r)
{
	pthread_mutex_lock(&s->lock);
	r->conn = NULL;
	r->suspended = false;
	pthread_cond_signal(&s->work);
	put(r);
	pthread_mutex_unlock(&s->lock);
}

static void wake(struct request *r)
{
	if (!r->suspended)
		return;
	r->suspended = false;
	MHD_resume_connection(r->conn);
}

/* Text that is new since the last time goes to the client of a stream. */
static int publish(struct server *s, struct request *r)
{
	size_t from = r->sent;
	int ret;

	if (!r->stream || r->reply.ready == from)
		return 0;
	ret = api_chunk(s, r, r->reply.text + from, r->reply.ready - from);
	r->sent = r->reply.ready;
	return ret;
}

/* Out of the list; its cache is kept for others as long as there is room. */
static void finish(struct server *s, struct request *r, enum outcome outcome)
{
	struct request **p = &s->list;

	while (*p != r)
		p = &(*p)->next;
	*p = r->next;
	s->num_requests--;
	s->metrics.outcomes[outcome]++;
	r->outcome = outcome;
	prefix_keep(s, r->session);
	r->session = NULL;
	if (r->stream && outcome != OUT_GONE)
		api_stream_end(s, r);	/* without memory the stream just ends */
	wake(r);
	put(r);
	if (!s->list)
		pthread_cond_broadcast(&s->idle);
}

/* ---- clients ---- */

/*
 * Nobody looks at the socket of a connection that is suspended, so this does. Bytes of a request
 * that comes next may lie in front of the end.
 */
static bool hung_up(const struct request *r)
{
	struct pollfd p = { .fd = r->fd, .events = POLLRDHUP };

	return r->suspended && poll(&p, 1, 0) > 0;
}

/* Whether the client has too much to read before it may get more. */
static bool is_stalled(const struct server *s, struct request *r, double now)
{
	bool stalled = r->out_size > OUT_LIMIT;

	if (stalled && r->stalled == 0)
		r->stalled = now;
	if (!stalled && r->stalled != 0) {
		r->waited += now - r->stalled;
		r->stalled = 0;
	}
	return stalled && r->waited + now - r->stalled <= s->o->client_timeout;
}

/* Requests that are over for other reasons than their text. */
static void sweep(struct batcher *b)
{
	struct server *s = b->s;
	double now = seconds();
	bool check = now - b->checked >= CHECK_INTERVAL;
	struct request *r, *next;

	if (check)
		b->checked = now;
	s->metrics.stalled = 0;
	for (r = s->list; r; r = next) {
		next = r->next;
		if (!r->conn || (check && hung_up(r)))
			finish(s, r, OUT_GONE);
		else if (s->abandon)
			finish(s, r, OUT_SHUTDOWN);
		else if (is_stalled(s, r, now))
			s->metrics.stalled++;
		else if (r->stalled != 0)
			finish(s, r, OUT_SLOW);
	}
}

/* ---- what a step consists of ---- */

static uint32_t length(const struct request *r)
{
	return r->session ? npu_llm_session_length(r->session) : 0;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t blocks(const struct server *s, uint32_t positions)
{
	uint32_t block = s->m->info.block;

	return positions / block + (positions % block != 0);
}

/* The oldest that can run, as many as a batch takes. */
static void choose(struct batcher *b)
{
	struct server *s = b->s;
	struct request *r;
	uint32_t begun = 0;

	b->num_chosen = 0;
	for (r = s->list; r; r = r->next) {
		r->planned = 0;
		begun += r->started;
		if (r->stalled != 0 || b->num_chosen == s->width)
			continue;
		b->chosen[b->num_chosen++] = r;
		if (!length(r))
			prefix_begin(s, r);
	}
	s->metrics.running = begun;
	s->metrics.queued = s->num_requests - begun;
}

/*
 * One row for each sequence that has one token to run, and what is left for the prompts, in equal
 * parts: a short one does not wait behind a long one.
 */
static void share_rows(struct batcher *b)
{
	uint32_t left = b->s->m->info.max_rows, prompts = 0, lack, share, i;
	struct request *r;

	for (i = 0; i < b->num_chosen; i++) {
		r = b->chosen[i];
		if (r->num - length(r) > 1)
			prompts++;
		else if (left)
			left -= r->planned = 1;
	}
	for (i = 0; i < b->num_chosen && prompts; i++) {
		r = b->chosen[i];
		lack = r->num - length(r);
		if (lack <= 1)
			continue;
		share = left / prompts + (left % prompts != 0);
		r->planned = lack < share ? lack : share;
		left -= r->planned;
		prompts--;
	}
}

/* Who gives up its blocks for @r: one that waits for its client, or the youngest behind @r. */
static struct request *victim(const struct server *s, const struct request *r)
{
	struct request *v, *found = NULL;
	bool behind = false;

	for (v = s->list; v; v = v->next) {
		if (v != r && v->stalled != 0 && length(v))
			return v;
		if (behind && length(v))
			found = v;
		behind |= v == r;
	}
	return found;
}

/*
 * Blocks of the NPU for what @session (or NULL) writes, beside those that it and older requests of
 * the step have: with a KV budget a step needs all of them there at once. -1: not even these fit.
 */
static int64_t npu_room(struct batcher *b, struct npu_llm_session *session)
{
	const struct npu_llm_info *info = &b->s->m->info;
	uint32_t all, own;

	if (info->npu_blocks == info->num_blocks)
		return info->num_blocks;	/* those that are free have room */
	b->sessions[b->num_sessions] = session;
	npu_llm_sessions_blocks(b->s->m->llm, b->sessions, b->num_sessions + 1, &all, &own);
	all += b->grown;
	return all <= info->npu_blocks ? (int64_t)(info->npu_blocks - all) : -1;
}

/*
 * As many of the planned rows of @r as fit on the NPU. One that has none waits: its blocks may move
 * to the host's memory meanwhile.
 */
static void fit_on_npu(struct batcher *b, struct request *r)
{
	int64_t room = npu_room(b, r->session), fit;
	uint32_t len = length(r);

	fit = (blocks(b->s, len) + room) * b->s->m->info.block - len;
	if (room < 0 || fit <= 0)
		r->planned = 0;
	else if (r->planned > fit)
		r->planned = (uint32_t)fit;
}

/* Blocks that are free, less what older requests of the step have been promised. */
static uint32_t free_blocks(const struct server *s, uint32_t promised)
{
	struct npu_llm_info info = NPU_INIT(info);

	npu_llm_info(s->m->llm, &info);
	return info.free_blocks - promised;
}

/* Blocks for @r that others have: kept ones first. Some may be free when this returns true. */
static bool take_blocks(struct server *s, const struct request *r)
{
	struct request *v;

	if (prefix_drop(s))
		return true;
	v = victim(s, r);
	if (!v)
		return false;
	npu_llm_session_truncate(v->session, 0, NULL);
	s->metrics.preempted += v->settled;
	v->planned = 0;
	v->settled = false;
	return true;
}

/* Whether all of @r fits behind @before others that run, with a block to grow for each of them. */
static bool settle(struct batcher *b, struct request *r, uint32_t before, uint32_t promised)
{
	struct server *s = b->s;
	uint32_t all = blocks(s, r->num), need = all - blocks(s, length(r)) + before;

	/* nothing is dropped for one that has to wait all the same */
	if (need > npu_room(b, r->session) || need > free_blocks(s, promised) + prefix_blocks(s))
		return false;
	while (need > free_blocks(s, promised) && prefix_drop(s))
		;
	return need <= free_blocks(s, promised);
}

/* @r has a place in steps from now on. What it has in the cache already it has from others. */
static void begin(struct server *s, struct request *r)
{
	r->settled = true;
	s->metrics.reused += length(r);
	if (!r->started)
		r->reused = smaller(length(r), r->num_prompt);
}

/*
 * See to it that the rows of a step have room in the cache, the oldest first. One that is not
 * settled takes nothing from others that run, and waits until all of it fits; the oldest always
 * runs, so all of them do some time.
 */
static void share_blocks(struct batcher *b)
{
	uint32_t i, need, promised = 0;
	int64_t room;
	struct server *s = b->s;
	struct request *r;

	b->num_sessions = b->grown = 0;
	for (i = 0; i < b->num_chosen; i++) {
		r = b->chosen[i];
		if (i && !r->settled && !settle(b, r, i, promised))
			r->planned = 0;
		fit_on_npu(b, r);
		need = blocks(s, length(r) + r->planned) - blocks(s, length(r));
		while (r->planned && need > free_blocks(s, promised) && take_blocks(s, r))
			;
		if (r->planned && need > free_blocks(s, promised))
			r->planned = 0;
		if (r->planned && !r->settled)
			begin(s, r);
		if (!r->planned)
			continue;
		promised += need;
		b->grown += need;
		b->sessions[b->num_sessions++] = r->session;
	}
	room = npu_room(b, NULL);
	b->free_blocks = free_blocks(s, promised);
	if (room < b->free_blocks)
		b->free_blocks = room > 0 ? (uint32_t)room : 0;
}

/* Returns whether there is anything to run. */
static bool plan(struct batcher *b)
{
	uint32_t i, n = 0;

	choose(b);
	share_rows(b);
	share_blocks(b);
	for (i = 0; i < b->num_chosen; i++)
		if (b->chosen[i]->planned)
			b->chosen[n++] = b->chosen[i];
	b->num_chosen = n;
	return n;
}

/* ---- a step; without s->lock ---- */

/* Whether the step runs all that @r lacks, and so gives its next token. */
static bool is_whole(const struct request *r)
{
	return length(r) + r->planned == r->num;
}

/* Tokens that may be drafted for @r: up to its end, that of the context and that of the cache. */
static uint32_t draft_room(const struct batcher *b, const struct request *r)
{
	uint32_t left = r->max_tokens - (r->num - r->num_prompt) - 1;

	left = smaller(left, b->s->limit - r->num);
	while (left && blocks(b->s, r->num + left) - blocks(b->s, r->num) > b->free_blocks)
		left--;
	return left;
}

/* Drafts in the rows that the step has left, for those that have one token to run. */
static void draft(struct batcher *b)
{
	const struct npu_llm_info *info = &b->s->m->info;
	uint32_t rows = 0, spare, i, room;
	struct request *r;
	int n;

	for (i = 0; i < b->num_chosen; i++)
		rows += b->chosen[i]->planned;
	spare = smaller(info->max_rows, DRAFT_ROWS);
	spare = smaller(spare - smaller(spare, rows), info->max_logits - b->num_chosen);
	for (i = 0; i < b->num_chosen; i++) {
		r = b->chosen[i];
		r->drafted = r->accepted = 0;
		if (!r->speculator || r->planned != 1 || !is_whole(r))
			continue;
		room = (spare + b->num_chosen - i - 1) / (b->num_chosen - i);
		room = smaller(room, draft_room(b, r));
		r->rows[0] = r->ids[r->num - 1];
		n = npu_llm_speculator_draft(r->speculator, r->ids, r->num, room, r->rows + 1,
					     NULL);
		if (n <= 0)
			continue;
		r->drafted = (uint32_t)n;
		spare -= r->drafted;
		b->free_blocks -= blocks(b->s, r->num + r->drafted) - blocks(b->s, r->num);
	}
}

static int add(struct batcher *b, struct request *r, struct npu_error *err)
{
	if (r->drafted)
		return npu_llm_batch_add(b->batch, r->session, r->rows, 1 + r->drafted,
					 NPU_LLM_WANT_ALL, err);
	return npu_llm_batch_add(b->batch, r->session, r->ids + length(r), r->planned,
				 is_whole(r) ? NPU_LLM_WANT_LAST : NPU_LLM_WANT_NONE, err);
}

static int fill(struct batcher *b, struct npu_error *err)
{
	struct request *r;
	uint32_t i;
	int ret;

	draft(b);
	npu_llm_batch_clear(b->batch);
	for (i = 0; i < b->num_chosen; i++) {
		r = b->chosen[i];
		ret = r->session ? 0 : npu_llm_session_create(b->s->m->llm, &r->session, err);
		if (ret)
			return ret;
		r->entry = add(b, r, err);
		if (r->entry < 0)
			return r->entry;
	}
	return npu_llm_batch_run(b->batch, err);
}

/* The token after row @row of a sequence; how the request ends with it, or OUT_NONE. */
static enum outcome take(struct batcher *b, struct request *r, uint32_t row)
{
	const struct model *m = b->s->m;
	int32_t token = npu_llm_batch_sample(b->batch, (unsigned int)r->entry, row, r->sampler,
					     r->ids, r->num);
	int ret;

	if (token < 0) {
		npu_error_set(&r->why, token, "no token can be chosen: %s", strerror(-token));
		return OUT_ERROR;
	}
	if (!r->ignore_end && npu_tokenizer_attr(m->tok, token) & NPU_TOKEN_END)
		return OUT_STOP;
	r->ids[r->num++] = token;
	ret = reply_put(&r->reply, m, token, &r->why);
	if (ret)
		return ret < 0 ? OUT_ERROR : OUT_STOP;
	return r->num - r->num_prompt == r->max_tokens ? OUT_LENGTH : OUT_NONE;
}

/* The next token, and the ones after it for as long as they are what was drafted. */
static enum outcome advance(struct batcher *b, struct request *r)
{
	enum outcome ending;
	uint32_t i;

	for (i = 0;; i++) {
		ending = take(b, r, i);
		if (ending != OUT_NONE || i == r->drafted || r->ids[r->num - 1] != r->rows[i + 1])
			break;
	}
	r->accepted = i;
	if (!r->drafted)
		return ending;
	npu_llm_session_truncate(r->session,
				 ending == OUT_NONE ? r->num - 1 : smaller(r->num, length(r)),
				 NULL);
	npu_llm_speculator_report(r->speculator, ending == OUT_NONE ? r->drafted : i, i);
	return ending;
}

/* Run what was planned, and see what it means for each. */
static int step(struct batcher *b, struct npu_error *err)
{
	struct request *r;
	uint32_t i;
	int ret = fill(b, err);

	for (i = 0; i < b->num_chosen; i++) {
		r = b->chosen[i];
		r->ending = ret ? OUT_ERROR : OUT_NONE;
		if (!ret && length(r) >= r->num)
			r->ending = advance(b, r);
		if (r->ending != OUT_NONE)
			reply_end(&r->reply);
		if (ret)
			r->why = *err;
	}
	npu_llm_batch_clear(b->batch);	/* it must not know sessions that end now */
	return ret;
}

/* ---- after it ---- */

static void deliver(struct server *s, struct request *r, double now)
{
	struct metrics *m = &s->metrics;
	uint32_t had = r->run;

	r->started = true;
	r->run = r->num;
	m->tokens += r->run - had;
	if (had == r->num_prompt && (r->run > had || r->ending == OUT_STOP)) {
		m->prompt_tokens += r->num_prompt;
		m->first_sum += now - r->arrived;
		m->first_num++;
	}
	if (publish(s, r) && r->ending == OUT_NONE) {
		r->ending = OUT_ERROR;
		npu_error_set(&r->why, -ENOMEM, "no memory for the answer");
	}
	if (r->ending != OUT_NONE)
		finish(s, r, r->ending);
	else if (r->out_size)
		wake(r);
}

static void deliver_all(struct batcher *b, int ret)
{
	struct server *s = b->s;
	double now = seconds();
	uint32_t i;

	s->metrics.batch = b->num_chosen;
	s->metrics.steps++;
	s->broken |= ret == -ENODEV;
	for (i = 0; i < b->num_chosen; i++) {
		s->metrics.rows += b->chosen[i]->planned + b->chosen[i]->drafted;
		s->metrics.drafted += b->chosen[i]->drafted;
		s->metrics.accepted += b->chosen[i]->accepted;
	}
	for (i = 0; i < b->num_chosen; i++)
		if (ret != -ECANCELED)	/* else sweep() has the reason */
			deliver(s, b->chosen[i], now);
}

/* Until there may be something to do: called with s->lock. */
static void wait_for_work(struct server *s)
{
	struct timespec t;

	s->metrics.batch = 0;
	if (!s->list) {
		s->metrics.running = s->metrics.queued = 0;
		pthread_cond_wait(&s->work, &s->lock);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += WAIT_MS * 1000000L;
	t.tv_sec += t.tv_nsec / 1000000000L;
	t.tv_nsec %= 1000000000L;
	pthread_cond_timedwait(&s->work, &s->lock, &t);
}

static void run_batches(struct batcher *b)
{
	struct npu_error err = { .text = "" };
	struct server *s = b->s;
	int ret;

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		sweep(b);
		if (!plan(b)) {
			wait_for_work(s);
			continue;
		}
		pthread_mutex_unlock(&s->lock);
		ret = step(b, &err);
		pthread_mutex_lock(&s->lock);
		deliver_all(b, ret);
	}
	pthread_mutex_unlock(&s->lock);
}

void *serve_batch_thread(void *server)
{
	struct batcher b = { .s = server };

	b.batch = b.s->batch;
	b.chosen = b.s->chosen;
	b.sessions = b.s->sessions;
	run_batches(&b);
	return NULL;
}
