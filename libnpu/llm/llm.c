// SPDX-License-Identifier: MIT
/*
 * Opening a compiled language model: its job, the pool of its KV cache, and what it tells of
 * itself.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "llm/runtime.h"

/* Dims of the cache: blocks, layers, keys and values, positions, heads, elements. */
enum { KV_BLOCKS, KV_LAYERS, KV_TWO, KV_BLOCK, KV_HEADS, KV_DIM, KV_RANK };

struct npu_llm *npu_llm_get(struct npu_llm *llm)
{
	npu_ref_take(&llm->refs);
	return llm;
}

void npu_llm_put(struct npu_llm *llm)
{
	if (!llm || !npu_ref_drop(&llm->refs))
		return;
	npu_run_destroy(llm->run);
	npu_llm_pool_fini(&llm->pool);
	npu_queue_destroy(llm->queue);
	npu_job_unload(llm->job);
	npu_device_close(llm->dev);
	pthread_mutex_destroy(&llm->run_lock);
	pthread_mutex_destroy(&llm->fence_lock);
	free(llm);
}

void npu_llm_close(struct npu_llm *llm)
{
	npu_llm_put(llm);
}

int npu_llm_find_tensor(const struct npu_llm *llm, const char *name, struct npu_tensor_info *t,
			struct npu_error *err)
{
	unsigned int i;

	*t = (struct npu_tensor_info)NPU_INIT(*t);
	for (i = 0; !npu_job_tensor(llm->job, 0, i, t); i++)
		if (!strcmp(t->name, name))
			return 0;
	return npu_error_set(err, -EINVAL,
			     "%s: not a language model: it has no tensor '%s' (npu-compile makes one from a GGUF file)",
			     llm->job->path, name);
}

/* The largest length that symbol @symbol gives. */
static uint32_t symbol_max(const struct npu_llm *llm, int symbol)
{
	struct npu_symbol_info s = NPU_INIT(s);

	return symbol >= 0 && !npu_job_symbol(llm->job, 0, (unsigned int)symbol, &s) ? s.max : 1;
}

static const char *record(const struct npu_llm *llm, const char *key)
{
	const char *k, *v;
	unsigned int i;

	for (i = 0; !npu_job_record(llm->job, i, &k, &v); i++)
		if (!strcmp(k, key))
			return v;
	return "";
}

/* What a step takes and gives, but for the cache: the first dim is a length, others are fixed. */
static const struct {
	const char *name;
	uint32_t role, dtype, rank;
} expected[] = {
	{ NPU_LLM_T_TOKENS, NPU_TENSOR_INPUT, NPU_I32, 1 },
	{ NPU_LLM_T_POSITIONS, NPU_TENSOR_INPUT, NPU_I32, 1 },
	{ NPU_LLM_T_SLOTS, NPU_TENSOR_INPUT, NPU_I32, 1 },
	{ NPU_LLM_T_Q_START, NPU_TENSOR_INPUT, NPU_I32, 1 },
	{ NPU_LLM_T_KV_LEN, NPU_TENSOR_INPUT, NPU_I32, 1 },
	{ NPU_LLM_T_TABLE, NPU_TENSOR_INPUT, NPU_I32, 2 },
	{ NPU_LLM_T_ROWS, NPU_TENSOR_INPUT, NPU_I32, 1 },
	{ NPU_LLM_T_LOGITS, NPU_TENSOR_OUTPUT, NPU_F32, 2 },
	{ NPU_LLM_T_ARGMAX, NPU_TENSOR_OUTPUT, NPU_I32, 1 },
};

static int check_tensors(const struct npu_llm *llm, struct npu_error *err)
{
	struct npu_tensor_info t;
	unsigned int i;
	int ret;

	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		ret = npu_llm_find_tensor(llm, expected[i].name, &t, err);
		if (ret)
			return ret;
		if (t.role != expected[i].role || t.dtype != expected[i].dtype ||
		    t.rank != expected[i].rank || t.symbol[0] < 0 ||
		    (t.rank == 2 && (t.symbol[1] >= 0 || t.max_dim[1] > INT32_MAX)))
			return npu_error_set(err, -EINVAL,
					     "%s: its tensor '%s' is not that of a language model",
					     llm->job->path, t.name);
	}
	return 0;
}

static int check_kv(struct npu_llm *llm, const struct npu_tensor_info *kv, bool scaled,
		    struct npu_error *err)
{
	struct npu_llm_info *info = &llm->info;
	uint64_t row, slots;
	int d;

	if (kv->rank != KV_RANK || kv->role != NPU_TENSOR_STATE || kv->max_dim[KV_TWO] != 2 ||
	    kv->symbol[KV_BLOCKS] < 0 || scaled != (kv->dtype == NPU_I8))
		return npu_error_set(err, -EINVAL, "%s: its tensor 'kv' is not a KV cache",
				     llm->job->path);
	for (d = 0; d < KV_RANK; d++)
		if (kv->max_dim[d] > INT32_MAX || (d && kv->symbol[d] >= 0))
			return npu_error_set(err, -EINVAL, "%s: its tensor 'kv' varies in dim %d",
					     llm->job->path, d);
	info->num_layers = (uint32_t)kv->max_dim[KV_LAYERS];
	info->block = (uint32_t)kv->max_dim[KV_BLOCK];
	info->kv_heads = (uint32_t)kv->max_dim[KV_HEADS];
	info->head_dim = (uint32_t)kv->max_dim[KV_DIM];
	info->num_blocks = (uint32_t)kv->max_dim[KV_BLOCKS];
	info->kv_type = kv->dtype == NPU_I8 ? "int8" : npu_host_dtype_name(kv->dtype);
	row = (uint64_t)info->kv_heads * info->head_dim;
	if (__builtin_mul_overflow(info->num_layers * 2ull, info->block, &slots) ||
	    __builtin_mul_overflow(slots, info->num_blocks, &slots) || slots > INT32_MAX ||
	    __builtin_mul_overflow(row, slots * 8, &row))
		return npu_error_set(err, -EINVAL, "%s: its KV cache is too large", llm->job->path);
	llm->slots_per_block = info->num_layers * 2 * info->block;
	row = (uint64_t)info->kv_heads * info->head_dim * npu_host_dtype_size(kv->dtype);
	llm->pool.block_bytes = llm->slots_per_block * row;
	llm->pool.scale_bytes = scaled ? (uint64_t)llm->slots_per_block * info->kv_heads * 4 : 0;
	info->kv_per_token = (llm->pool.block_bytes + llm->pool.scale_bytes) / info->block;
	return 0;
}

/* The largest logits of a row, whose lengths follow from nothing else; jobs of before have none. */
static int check_top(struct npu_llm *llm, struct npu_error *err)
{
	struct npu_tensor_info values, tokens;
	int ret, d;

	if (npu_llm_find_tensor(llm, NPU_LLM_T_TOP_VALUES, &values, NULL) &&
	    npu_llm_find_tensor(llm, NPU_LLM_T_TOP_TOKENS, &tokens, NULL))
		return 0;
	ret = npu_llm_find_tensor(llm, NPU_LLM_T_TOP_VALUES, &values, err);
	ret = ret ?: npu_llm_find_tensor(llm, NPU_LLM_T_TOP_TOKENS, &tokens, err);
	if (ret)
		return ret;
	for (d = 0; d < 2; d++)
		if (values.rank != 2 || tokens.rank != 2 || values.symbol[d] < 0 ||
		    values.symbol[d] != tokens.symbol[d])
			return npu_error_set(err, -EINVAL,
					     "%s: its tensors '%s' and '%s' are not those of a language model",
					     llm->job->path, values.name, tokens.name);
	if (values.dtype != NPU_F32 || tokens.dtype != NPU_I32 ||
	    values.role != NPU_TENSOR_OUTPUT || tokens.role != NPU_TENSOR_OUTPUT)
		return npu_error_set(err, -EINVAL, "%s: its tensors '%s' and '%s' are of other types",
				     llm->job->path, values.name, tokens.name);
	llm->max_top_rows = symbol_max(llm, values.symbol[0]);
	llm->max_top = symbol_max(llm, values.symbol[1]);
	return 0;
}

/* What the job can do, from the shapes of its tensors. */
static int read_job(struct npu_llm *llm, struct npu_error *err)
{
	struct npu_job_info job = NPU_INIT(job);
	struct npu_tensor_info t;
	struct npu_llm_info *info = &llm->info;
	bool scaled = !npu_llm_find_tensor(llm, NPU_LLM_T_KV_SCALE, &t, NULL);
	int ret;

	npu_job_info(llm->job, &job);
	info->weights = job.weights;
	ret = check_tensors(llm, err);
	ret = ret ?: npu_llm_find_tensor(llm, NPU_LLM_T_KV, &t, err);
	ret = ret ?: check_kv(llm, &t, scaled, err);
	ret = ret ?: npu_llm_find_tensor(llm, NPU_LLM_T_TOKENS, &t, err);
	info->max_rows = ret ? 0 : symbol_max(llm, t.symbol[0]);
	ret = ret ?: npu_llm_find_tensor(llm, NPU_LLM_T_TABLE, &t, err);
	info->max_sequences = ret ? 0 : symbol_max(llm, t.symbol[0]);
	llm->table_width = ret ? 0 : (uint32_t)t.max_dim[1];
	ret = ret ?: npu_llm_find_tensor(llm, NPU_LLM_T_LOGITS, &t, err);
	info->max_logits = ret ? 0 : symbol_max(llm, t.symbol[0]);
	info->vocab = ret ? 0 : (uint32_t)t.max_dim[1];
	if (!ret && (uint64_t)llm->table_width * info->block > INT32_MAX)
		ret = npu_error_set(err, -EINVAL, "%s: its block table is too wide", llm->job->path);
	ret = ret ?: check_top(llm, err);
	info->context = llm->table_width * info->block;
	info->name = record(llm, "llm.name");
	info->arch = record(llm, "llm.arch");
	if (atoi(record(llm, "llm.context")) > 0 &&
	    (uint32_t)atoi(record(llm, "llm.context")) < info->context)
		info->context = (uint32_t)atoi(record(llm, "llm.context"));
	return ret;
}

static uint64_t block_size(const struct npu_llm *llm)
{
	return llm->pool.block_bytes + llm->pool.scale_bytes;
}

/* Blocks that all sessions may have together, of which the job can have @most on the NPU. */
static int choose_blocks(struct npu_llm *llm, const struct npu_llm_options *opt,
			 const struct npu_memory_room *room, uint32_t most, struct npu_error *err)
{
	struct npu_llm_info *info = &llm->info;
	uint64_t fit = room->bytes / 2;

	fit = (fit > opt->kv_budget ? fit - opt->kv_budget : 0) / block_size(llm);
	info->num_blocks = most;
	if (opt->pool) {
		info->num_blocks = opt->pool / info->block + (opt->pool % info->block != 0);
		if (info->num_blocks > most && !opt->kv_budget)
			return npu_error_set(err, -EINVAL,
					     "%s: a pool of %u blocks of %u positions was asked for, it was compiled for at most %u; more needs a KV budget",
					     llm->job->path, info->num_blocks, info->block, most);
	} else if (room->bytes != NPU_MEMORY_UNKNOWN && fit < most) {
		/* one sequence is to fit, as far as the job has room for it */
		info->num_blocks = fit > llm->table_width ? (uint32_t)fit : llm->table_width;
		info->num_blocks = info->num_blocks < most ? info->num_blocks : most;
	}
	info->npu_blocks = info->num_blocks < most ? info->num_blocks : most;
	if (!opt->kv_budget)
		return 0;
	if (opt->kv_budget < block_size(llm))
		return npu_error_set(err, -EINVAL,
				     "%s: a KV budget of %llu bytes is less than one block of %u positions, which has %llu",
				     llm->job->path, (unsigned long long)opt->kv_budget,
				     info->block, (unsigned long long)block_size(llm));
	if (opt->kv_budget / block_size(llm) < info->npu_blocks)
		info->npu_blocks = (uint32_t)(opt->kv_budget / block_size(llm));
	return 0;
}

/* How many blocks the pool gets; an error when what is needed is not there. */
static int size_pool(struct npu_llm *llm, const struct npu_llm_options *opt, struct npu_error *err)
{
	struct npu_llm_info *info = &llm->info;
	struct npu_llm_memory m = NPU_INIT(m);
	struct npu_memory_room room;
	int ret;

	npu_memory_room("", &room);
	ret = choose_blocks(llm, opt, &room, info->num_blocks, err);
	if (ret)
		return ret;
	npu_llm_memory(llm, &m);
	info->kv = m.kv;
	info->scratch = m.scratch;
	return opt->flags & NPU_LLM_LOOK ? 0 : npu_llm_check_memory(llm, &room, err);
}

/* The state's shape is set once; the others get a first one, so that all lengths are known. */
static int first_shapes(struct npu_llm *llm, struct npu_error *err)
{
	const struct npu_llm_info *i = &llm->info;
	const int64_t kv[KV_RANK] = { i->npu_blocks, i->num_layers, 2, i->block, i->kv_heads,
				      i->head_dim };
	const int64_t one = 1, two = 2, ones[2] = { 1, 1 }, table[2] = { 1, llm->table_width };
	const struct {
		const char *name;
		unsigned int rank;
		const int64_t *dims;
		bool absent;
	} shapes[] = {
		{ NPU_LLM_T_KV, KV_RANK, kv, false },
		{ NPU_LLM_T_KV_SCALE, KV_RANK - 1, kv, !llm->pool.scale_bytes },
		{ NPU_LLM_T_TOKENS, 1, &one, false },
		{ NPU_LLM_T_POSITIONS, 1, &one, false },
		{ NPU_LLM_T_SLOTS, 1, &one, false },
		{ NPU_LLM_T_Q_START, 1, &two, false },
		{ NPU_LLM_T_KV_LEN, 1, &one, false },
		{ NPU_LLM_T_TABLE, 2, table, false },
		{ NPU_LLM_T_ROWS, 1, &one, false },
		{ NPU_LLM_T_TOP_VALUES, 2, ones, !llm->max_top },
	};
	size_t k;
	int ret = 0;

	for (k = 0; k < sizeof(shapes) / sizeof(shapes[0]) && !ret; k++)
		if (!shapes[k].absent)
			ret = npu_run_set_shape(llm->run, shapes[k].name, shapes[k].rank,
						shapes[k].dims, err);
	return ret;
}

/* The buffer of one of the cache's tensors, bound to it for good. */
static int make_cache(struct npu_llm *llm, const char *tensor, uint64_t size,
		      struct npu_buffer **buf, uint8_t **map, struct npu_error *err)
{
	void *p = NULL;
	int ret = npu_buffer_create(llm->dev, size, 0, buf, err);

	ret = ret ?: npu_buffer_map(*buf, &p, err);
	ret = ret ?: npu_run_bind(llm->run, tensor, *buf, 0, err);
	*map = p;
	return ret;
}

static int make_pool(struct npu_llm *llm, struct npu_error *err)
{
	const struct npu_llm_info *info = &llm->info;
	struct npu_llm_pool *pool = &llm->pool;
	int ret = npu_llm_pool_init(pool, info->num_blocks, info->npu_blocks, err);

	pool->positions = info->block;
	pool->planes = info->num_layers * 2;
	ret = ret ?: npu_run_create(llm->job, &llm->run, err);
	ret = ret ?: first_shapes(llm, err);
	ret = ret ?: make_cache(llm, NPU_LLM_T_KV, info->npu_blocks * pool->block_bytes, &pool->kv,
				&pool->kv_map, err);
	if (!ret && pool->scale_bytes)
		ret = make_cache(llm, NPU_LLM_T_KV_SCALE, info->npu_blocks * pool->scale_bytes,
				 &pool->scale, &pool->scale_map, err);
	return ret;
}

static int open_all(struct npu_llm *llm, const char *path, const struct npu_llm_options *opt,
		    struct npu_error *err)
{
	bool look = opt->flags & NPU_LLM_LOOK;
	int ret = npu_device_open(opt->device, opt->device_options, &llm->dev, err);

	ret = ret ?: npu_job_open(llm->dev, path, &llm->job, err);
	ret = ret ?: read_job(llm, err);
	ret = ret ?: size_pool(llm, opt, err);
	if (!ret)
		llm->info.device = llm->dev->info.name;
	if (ret || look)
		return ret;
	ret = npu_job_place_weights(llm->job, 0, err);
	ret = ret ?: make_pool(llm, err);
	return ret ?: npu_queue_create(llm->dev, NULL, &llm->queue, err);
}

int npu_llm_open(const char *path, const struct npu_llm_options *options, struct npu_llm **out,
		 struct npu_error *err)
{
	struct npu_llm_options opt = NPU_INIT(opt);
	struct npu_llm *llm;
	int ret = 0;

	if (!out || !path)
		return npu_error_set(err, -EINVAL, "npu_llm_open: %s is NULL", path ? "llm" : "path");
	*out = NULL;
	if (options)
		ret = npu_struct_read(&opt, sizeof(opt), options, options->size, "npu_llm_options",
				      err);
	if (!ret && opt.flags & ~NPU_LLM_LOOK)
		ret = npu_error_set(err, -EINVAL, "npu_llm_open: flags 0x%x are not known", opt.flags);
	if (ret)
		return ret;
	llm = calloc(1, sizeof(*llm));
	if (!llm)
		return npu_error_set(err, -ENOMEM, "%s: no memory", path);
	atomic_init(&llm->refs, 1);
	pthread_mutex_init(&llm->run_lock, NULL);
	pthread_mutex_init(&llm->fence_lock, NULL);
	ret = open_all(llm, path, &opt, err);
	if (ret)
		npu_llm_put(llm);
	else
		*out = llm;
	return ret;
}

int npu_llm_info(struct npu_llm *llm, struct npu_llm_info *info)
{
	struct npu_llm_info out = llm->info;

	if (!info)
		return -EINVAL;
	out.free_blocks = out.num_blocks;
	if (llm->run)
		npu_llm_pool_info(&llm->pool, &out);
	return npu_struct_write(info, info->size, &out, sizeof(out));
}

const void *npu_llm_metadata(const struct npu_llm *llm, size_t *size)
{
	*size = llm->job->file->metadata_size;
	return llm->job->file->metadata;
}

void npu_llm_cancel(struct npu_llm *llm)
{
	pthread_mutex_lock(&llm->fence_lock);
	if (llm->fence)
		npu_fence_cancel(llm->fence);
	pthread_mutex_unlock(&llm->fence_lock);
}
