// SPDX-License-Identifier: MIT
/* Batches: rows of several sequences in one run of the step program. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "llm/runtime.h"

struct entry {
	struct npu_llm_session *session;
	uint32_t first, num;		/* rows of the batch */
	uint32_t length;		/* of the session when it was added */
	uint32_t first_out, num_out;	/* rows with logits */
};

struct npu_llm_batch {
	struct npu_llm *llm;
	struct entry *entries;		/* [max_sequences] */
	uint32_t num_entries, num_rows, num_out;
	bool done;			/* it has run, and logits are those of its entries */
	/* What the step program takes, i32. */
	int32_t *tokens, *positions, *slots;	/* [max_rows] */
	int32_t *q_start, *kv_len, *table;	/* [max_sequences (+ 1)], table [..][table_width] */
	int32_t *out_rows, *argmax;		/* [max_logits] */
	struct npu_buffer *out;		/* logits lie in it: [room][vocab], room 0: none */
	const float *logits;		/* the host's view of it */
	bool synced;			/* which is what the device wrote */
	uint32_t room;
	/*
	 * Largest logits of the first rows: what samplers wanted in runs before, and what there is.
	 */
	uint32_t want_top, num_top, top_rows;
	float *top_values;		/* [top_rows][num_top], room for the most */
	int32_t *top_tokens;
};

int npu_llm_batch_create(struct npu_llm *llm, struct npu_llm_batch **batch, struct npu_error *err)
{
	const struct npu_llm_info *info = &llm->info;
	struct npu_llm_batch *b;

	if (!batch)
		return npu_error_set(err, -EINVAL, "npu_llm_batch_create: batch is NULL");
	*batch = NULL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return npu_error_set(err, -ENOMEM, "no memory for a batch");
	b->llm = npu_llm_get(llm);
	b->entries = calloc(info->max_sequences, sizeof(*b->entries));
	b->tokens = calloc(info->max_rows, sizeof(int32_t));
	b->positions = calloc(info->max_rows, sizeof(int32_t));
	b->slots = calloc(info->max_rows, sizeof(int32_t));
	b->q_start = calloc(info->max_sequences + 1, sizeof(int32_t));
	b->kv_len = calloc(info->max_sequences, sizeof(int32_t));
	b->table = calloc((size_t)info->max_sequences * llm->table_width, sizeof(int32_t));
	b->out_rows = calloc(info->max_logits, sizeof(int32_t));
	b->argmax = calloc(info->max_logits, sizeof(int32_t));
	b->top_values = calloc((size_t)llm->max_top_rows * llm->max_top + 1, sizeof(float));
	b->top_tokens = calloc((size_t)llm->max_top_rows * llm->max_top + 1, sizeof(int32_t));
	if (!b->entries || !b->tokens || !b->positions || !b->slots || !b->q_start || !b->kv_len ||
	    !b->table || !b->out_rows || !b->argmax || !b->top_values || !b->top_tokens) {
		npu_llm_batch_destroy(b);
		return npu_error_set(err, -ENOMEM, "no memory for a batch");
	}
	*batch = b;
	return 0;
}

uint64_t npu_llm_batch_bytes(const struct npu_llm *llm)
{
	const struct npu_llm_info *info = &llm->info;

	return sizeof(struct npu_llm_batch) +
	       info->max_sequences * (sizeof(struct entry) + 2 * sizeof(int32_t)) +
	       (uint64_t)info->max_sequences * llm->table_width * sizeof(int32_t) +
	       3ull * info->max_rows * sizeof(int32_t) + 2ull * info->max_logits * sizeof(int32_t) +
	       (uint64_t)llm->max_top_rows * llm->max_top * (sizeof(float) + sizeof(int32_t));
}

void npu_llm_batch_destroy(struct npu_llm_batch *b)
{
	if (!b)
		return;
	npu_llm_batch_clear(b);
	free(b->entries);
	free(b->tokens);
	free(b->positions);
	free(b->slots);
	free(b->q_start);
	free(b->kv_len);
	free(b->table);
	free(b->out_rows);
	free(b->argmax);
	free(b->top_values);
	free(b->top_tokens);
	npu_buffer_put(b->out);
	npu_llm_put(b->llm);
	free(b);
}

void npu_llm_batch_clear(struct npu_llm_batch *b)
{
	uint32_t i;

	for (i = 0; i < b->num_entries; i++)
		if (b->entries[i].session->batch == b)
			b->entries[i].session->batch = NULL;
	b->num_entries = b->num_rows = b->num_out = b->num_top = 0;
	b->done = false;
}

static int check_tokens(const struct npu_llm *llm, const int32_t *tokens, uint32_t num,
			struct npu_error *err)
{
	uint32_t i;

	if (!num || !tokens)
		return npu_error_set(err, -EINVAL, "npu_llm_batch_add: no tokens");
	for (i = 0; i < num; i++)
		if (tokens[i] < 0 || (uint32_t)tokens[i] >= llm->info.vocab)
			return npu_error_set(err, -EINVAL,
					     "token %u of %u is %d, the vocabulary has %u", i, num,
					     tokens[i], llm->info.vocab);
	return 0;
}

int npu_llm_batch_add(struct npu_llm_batch *b, struct npu_llm_session *s, const int32_t *tokens,
		      uint32_t num, enum npu_llm_want want, struct npu_error *err)
{
	const struct npu_llm_info *info = &b->llm->info;
	uint32_t outs = want == NPU_LLM_WANT_ALL ? num : want == NPU_LLM_WANT_LAST;
	struct entry *e;
	int ret;

	if (s->llm != b->llm || s->batch)
		return npu_error_set(err, -EINVAL, "npu_llm_batch_add: the session is %s",
				     s->batch ? "in a batch already" : "of another model");
	ret = check_tokens(b->llm, tokens, num, err);
	if (ret)
		return ret;
	if (num > info->context - s->length)
		return npu_error_set(err, -EINVAL,
				     "%u tokens after %u: the context was compiled for %u", num,
				     s->length, info->context);
	if (b->num_entries == info->max_sequences || num > info->max_rows - b->num_rows ||
	    outs > info->max_logits - b->num_out)
		return npu_error_set(err, -E2BIG,
				     "a run takes %u sequences, %u rows and %u with logits; there are %u, %u and %u, and now 1, %u and %u",
				     info->max_sequences, info->max_rows, info->max_logits,
				     b->num_entries, b->num_rows, b->num_out, num, outs);
	e = &b->entries[b->num_entries];
	*e = (struct entry){ s, b->num_rows, num, s->length, b->num_out, outs };
	memcpy(b->tokens + b->num_rows, tokens, num * sizeof(*tokens));
	b->num_rows += num;
	b->num_out += outs;
	b->done = false;
	s->batch = b;
	return (int)b->num_entries++;
}

/* Memory for @rows of logits: the batch's own, as others run before these are read. */
static int reserve_logits(struct npu_llm_batch *b, uint32_t rows, struct npu_error *err)
{
	struct npu_buffer *out;
	void *map;
	int ret;

	if (rows <= b->room)
		return 0;
	ret = npu_buffer_create(b->llm->dev, (uint64_t)rows * b->llm->info.vocab * sizeof(float), 0,
				&out, err);
	if (ret)
		return npu_error_prefix(err, ret, "%u rows of logits", rows);
	ret = npu_buffer_map(out, &map, err);
	if (ret) {
		npu_buffer_put(out);
		return ret;
	}
	npu_buffer_put(b->out);
	b->out = out;
	b->logits = map;
	b->room = rows;
	return 0;
}

/* What the sessions have, and whether all that the run needs has room. */
static int check_entries(struct npu_llm_batch *b, struct npu_error *err)
{
	struct npu_llm_demand demand = { 0, 0 };
	uint32_t i;

	npu_llm_pool_begin_step(&b->llm->pool);
	for (i = 0; i < b->num_entries; i++) {
		struct npu_llm_session *s = b->entries[i].session;

		if (s->length != b->entries[i].length)
			return npu_error_set(err, -EINVAL,
					     "entry %u: the session has %u tokens, it had %u when it was added",
					     i, s->length, b->entries[i].length);
		npu_llm_session_demand(s, b->entries[i].num, &demand);
	}
	return npu_llm_session_check(b->llm, &demand, b->num_entries, err);
}

/* Memory for all that the run will write, before it writes anything. */
static int prepare(struct npu_llm_batch *b, struct npu_error *err)
{
	int ret = check_entries(b, err);
	uint32_t i;

	for (i = 0; i < b->num_entries && !ret; i++) {
		struct npu_llm_session *s = b->entries[i].session;

		ret = npu_llm_session_reserve(s, b->entries[i].num, err);
		ret = ret ?: npu_llm_session_grow(s, b->entries[i].num, err);
	}
	return ret ?: reserve_logits(b, b->num_out ? b->num_out : 1, err);
}

static uint32_t slot_of(const struct npu_llm_session *s, uint32_t i)
{
	return s->llm->pool.blocks[s->blocks[i]].slot;
}

static void fill_entry(struct npu_llm_batch *b, uint32_t i)
{
	const struct entry *e = &b->entries[i];
	const struct npu_llm_session *s = e->session;
	uint32_t block = b->llm->info.block, k, pos;

	for (k = 0; k < e->num; k++) {
		pos = e->length + k;
		b->positions[e->first + k] = (int32_t)pos;
		b->slots[e->first + k] =
			(int32_t)(slot_of(s, pos / block) * b->llm->slots_per_block + pos % block);
	}
	for (k = 0; k < e->num_out; k++)
		b->out_rows[e->first_out + k] = (int32_t)(e->first + e->num - e->num_out + k);
	b->q_start[i + 1] = (int32_t)(e->first + e->num);
	b->kv_len[i] = (int32_t)(e->length + e->num);
	for (k = 0; k < b->llm->table_width; k++)
		b->table[(size_t)i * b->llm->table_width + k] =
			k < s->num_blocks ? (int32_t)slot_of(s, k) : 0;
}

/*
 * How many of the largest logits this run finds: as many as samplers wanted, if all rows can have
 * them.
 */
static int bind_top(struct npu_llm_batch *b, struct npu_error *err)
{
	bool want = b->want_top && b->num_out && b->num_out <= b->llm->max_top_rows;
	int64_t dims[2] = { want ? b->num_out : 1, want ? b->want_top : 1 };

	b->num_top = want ? b->want_top : 0;
	b->top_rows = want ? b->num_out : 0;
	if (!b->llm->max_top)
		return 0;
	return npu_run_set_shape(b->llm->run, NPU_LLM_T_TOP_VALUES, 2, dims, err);
}

static int read_top(struct npu_llm_batch *b, struct npu_error *err)
{
	size_t bytes = (size_t)b->top_rows * b->num_top * sizeof(float);
	int ret = npu_run_read(b->llm->run, NPU_LLM_T_TOP_VALUES, b->top_values, bytes, err);

	return ret ?: npu_run_read(b->llm->run, NPU_LLM_T_TOP_TOKENS, b->top_tokens, bytes, err);
}

/* The host's view of the logits becomes what the device wrote. */
static int sync_logits(struct npu_llm_batch *b, struct npu_error *err)
{
	int ret = npu_buffer_sync(b->out, 0,
				  (uint64_t)b->num_out * b->llm->info.vocab * sizeof(float),
				  NPU_SYNC_FROM_DEVICE, err);

	b->synced = !ret;
	return ret;
}

/* The lengths first, all of them: what is written lies where they say. */
static int bind(struct npu_llm_batch *b, uint32_t outs, struct npu_error *err)
{
	const struct {
		const char *name;
		const int32_t *data;
		uint32_t rows, cols;
	} in[] = {
		{ NPU_LLM_T_TOKENS, b->tokens, b->num_rows, 0 },
		{ NPU_LLM_T_POSITIONS, b->positions, b->num_rows, 0 },
		{ NPU_LLM_T_SLOTS, b->slots, b->num_rows, 0 },
		{ NPU_LLM_T_Q_START, b->q_start, b->num_entries + 1, 0 },
		{ NPU_LLM_T_KV_LEN, b->kv_len, b->num_entries, 0 },
		{ NPU_LLM_T_TABLE, b->table, b->num_entries, b->llm->table_width },
		{ NPU_LLM_T_ROWS, b->out_rows, outs, 0 },
	};
	size_t n = sizeof(in) / sizeof(in[0]), i;
	int ret = 0;

	for (i = 0; i < n && !ret; i++) {
		const int64_t dims[2] = { in[i].rows, in[i].cols };

		ret = npu_run_set_shape(b->llm->run, in[i].name, in[i].cols ? 2 : 1, dims, err);
	}
	for (i = 0; i < n && !ret; i++)
		ret = npu_run_write(b->llm->run, in[i].name, in[i].data,
				    (size_t)in[i].rows * (in[i].cols ? in[i].cols : 1) *
					    sizeof(int32_t), err);
	return ret;
}

static void set_fence(struct npu_llm *llm, struct npu_fence *fence)
{
	struct npu_fence *old;

	pthread_mutex_lock(&llm->fence_lock);
	old = llm->fence;
	llm->fence = fence ? npu_fence_get(fence) : NULL;
	pthread_mutex_unlock(&llm->fence_lock);
	npu_fence_put(old);
}

static int submit(struct npu_llm_batch *b, struct npu_error *err)
{
	struct npu_llm *llm = b->llm;
	struct npu_fence *fence;
	int ret = npu_queue_submit(llm->queue, llm->run, NULL, &fence, err);

	if (ret)
		return ret;
	set_fence(llm, fence);
	ret = npu_fence_wait(fence, NPU_FOREVER, err);
	set_fence(llm, NULL);
	npu_fence_put(fence);
	if (ret || !b->num_out)
		return ret;
	b->synced = false;
	ret = b->num_top ? read_top(b, err) : sync_logits(b, err);
	return ret ?: npu_run_read(llm->run, NPU_LLM_T_ARGMAX, b->argmax,
				   b->num_out * sizeof(int32_t), err);
}

static int run_locked(struct npu_llm_batch *b, struct npu_error *err)
{
	uint32_t i;
	int ret;

	for (i = 0; i < b->num_entries; i++)
		fill_entry(b, i);
	if (!b->num_out)
		b->out_rows[0] = 0;	/* a row has to be computed, and is not looked at */
	ret = npu_run_bind(b->llm->run, NPU_LLM_T_LOGITS, b->out, 0, err);
	ret = ret ?: bind_top(b, err);
	ret = ret ?: bind(b, b->num_out ? b->num_out : 1, err);
	ret = ret ?: submit(b, err);
	npu_run_bind(b->llm->run, NPU_LLM_T_LOGITS, NULL, 0, NULL);
	return ret;
}

/* Afterwards all sessions have their tokens, or blocks that were taken for them go back. */
static void settle(struct npu_llm_batch *b, int ret)
{
	uint32_t i;

	for (i = 0; i < b->num_entries; i++) {
		struct entry *e = &b->entries[i];

		if (ret) {
			npu_llm_session_truncate(e->session, e->session->length, NULL);
			continue;
		}
		npu_llm_session_written(e->session, b->tokens + e->first, e->num);
		e->session->batch = NULL;
	}
}

int npu_llm_batch_run(struct npu_llm_batch *b, struct npu_error *err)
{
	int ret;

	b->done = false;
	if (!b->num_entries)
		return npu_error_set(err, -EINVAL, "npu_llm_batch_run: the batch is empty");
	pthread_mutex_lock(&b->llm->run_lock);
	ret = prepare(b, err);
	ret = ret ?: run_locked(b, err);
	settle(b, ret);
	pthread_mutex_unlock(&b->llm->run_lock);
	b->done = !ret;
	return ret;
}

static int out_row(const struct npu_llm_batch *b, unsigned int entry, unsigned int row)
{
	if (!b || !b->done || entry >= b->num_entries || row >= b->entries[entry].num_out)
		return -1;
	return (int)(b->entries[entry].first_out + row);
}

const float *npu_llm_batch_logits(struct npu_llm_batch *b, unsigned int entry, unsigned int row)
{
	int i = out_row(b, entry, row);

	if (i >= 0 && !b->synced && sync_logits(b, NULL))
		return NULL;
	return i < 0 ? NULL : b->logits + (size_t)i * b->llm->info.vocab;
}

int32_t npu_llm_batch_argmax(const struct npu_llm_batch *b, unsigned int entry, unsigned int row)
{
	int i = out_row(b, entry, row);

	return i < 0 ? -1 : b->argmax[i];
}

int32_t npu_llm_batch_sample(struct npu_llm_batch *b, unsigned int entry, unsigned int row,
			     struct npu_llm_sampler *sampler, const int32_t *recent,
			     size_t num_recent)
{
	uint32_t need = npu_llm_sampler_top(sampler);
	int i = out_row(b, entry, row);
	int32_t token = -EAGAIN;
	size_t at;

	if (i < 0)
		return -EINVAL;
	if (need && need <= b->llm->max_top) {
		at = (size_t)i * b->num_top;
		if (need <= b->num_top)
			token = npu_llm_sample_top(sampler, b->top_values + at, b->top_tokens + at);
		if (need > b->want_top)
			b->want_top = need;
	}
	if (token != -EAGAIN)
		return token;
	return npu_llm_sample(sampler, npu_llm_batch_logits(b, entry, row), b->llm->info.vocab,
			      recent, num_recent);
}
