// SPDX-License-Identifier: MIT
/* From a GGUF file to a job file: what it is compiled for, and what goes into the file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/object.h"
#include "llm/graph.h"
#include "llm/metadata.h"

#define BLOCK		32u
#define MAX_CONTEXT	(1u << 24)
#define MAX_BATCH	1024u
#define MAX_CHUNK	8192u
#define MAX_TOP		64u	/* largest logits of a row */

static const char *const quant_names[NPU_LLM_NUM_QUANTS] = {
	[NPU_LLM_QUANT_KEEP] = "keep", [NPU_LLM_QUANT_F16] = "f16",
	[NPU_LLM_QUANT_W8G32] = "w8g32", [NPU_LLM_QUANT_W8] = "w8",
	[NPU_LLM_QUANT_W4G32] = "w4g32", [NPU_LLM_QUANT_W4G64] = "w4g64",
	[NPU_LLM_QUANT_W4G128] = "w4g128",
};

static const char *const kv_names[NPU_LLM_NUM_KVS] = {
	[NPU_LLM_KV_F16] = "f16", [NPU_LLM_KV_I8] = "int8", [NPU_LLM_KV_F32] = "f32",
};

const char *npu_llm_quant_name(enum npu_llm_quant quant)
{
	return (unsigned int)quant < NPU_LLM_NUM_QUANTS ? quant_names[quant] : NULL;
}

static const char *const activation_names[NPU_LLM_NUM_ACTS] = {
	[NPU_LLM_ACT_AUTO] = "auto", [NPU_LLM_ACT_I8] = "int8", [NPU_LLM_ACT_F32] = "f32",
};

const char *npu_llm_activation_name(enum npu_llm_activation act)
{
	return (unsigned int)act < NPU_LLM_NUM_ACTS ? activation_names[act] : NULL;
}

const char *npu_llm_kv_name(enum npu_llm_kv kv)
{
	return (unsigned int)kv < NPU_LLM_NUM_KVS ? kv_names[kv] : NULL;
}

static int check_option(const char *name, uint32_t v, uint32_t max, struct npu_error *err)
{
	if (v && v <= max)
		return 0;
	return npu_error_set(err, -EINVAL, "%s is %u, expected 1 to %u", name, v, max);
}

/* Options with their defaults filled in. */
static int resolve_options(struct npu_llm_compile_options *o, const struct npu_llm_model *m,
			   struct npu_error *err)
{
	uint64_t pool;

	if (!o->context)
		o->context = m->trained_context < 4096 ? m->trained_context : 4096;
	o->batch = o->batch ? o->batch : 16;
	o->chunk = o->chunk ? o->chunk : 512;
	pool = o->pool ? o->pool : (uint64_t)o->batch * o->context;
	o->pool = pool < UINT32_MAX ? (uint32_t)pool : UINT32_MAX;
	if (o->quant >= NPU_LLM_NUM_QUANTS || o->kv >= NPU_LLM_NUM_KVS ||
	    o->activations >= NPU_LLM_NUM_ACTS)
		return npu_error_set(err, -EINVAL,
				     "quant is %u, kv %u and activations %u, expected below %d, %d and %d",
				     o->quant, o->kv, o->activations, NPU_LLM_NUM_QUANTS,
				     NPU_LLM_NUM_KVS, NPU_LLM_NUM_ACTS);
	return check_option("context", o->context, MAX_CONTEXT, err) ?:
	       check_option("batch", o->batch, MAX_BATCH, err)	     ?:
	       check_option("chunk", o->chunk, MAX_CHUNK, err);
}

static uint32_t at_most(uint32_t v, uint64_t limit)
{
	return v < limit ? v : limit ? (uint32_t)limit : 1;
}

/*
 * Bytes of an element of the cache, as far as bounds go: int8 has a scale for each head beside it,
 * in a tensor of its own.
 */
static unsigned int kv_bytes(const struct npu_llm_compile_options *o)
{
	return o->kv == NPU_LLM_KV_F32 ? 4 : o->kv == NPU_LLM_KV_F16 ? 2 : 1;
}

/* Storing rows counts the pool that they go to twice, and the rows with their places once. */
static uint64_t pool_bytes(uint64_t rows, uint64_t row_bytes)
{
	uint64_t stored = rows * (row_bytes + sizeof(int32_t));

	return stored < NPU_MAX_INSN_BYTES ? (NPU_MAX_INSN_BYTES - stored) / 2 : 0;
}

/* Rows that an instruction may have by its bound of work, for the widest of the model. */
static void make_plan(const struct npu_llm_model *m, const struct npu_llm_compile_options *o,
		      struct npu_llm_plan *p)
{
	uint64_t wide = (uint64_t)m->dim *
			(m->ff > m->heads * m->head_dim ? m->ff : m->heads * m->head_dim);
	uint64_t scores, slots = m->num_layers * 2ull * BLOCK,
		 row = (uint64_t)m->kv_heads * m->head_dim * kv_bytes(o);

	p->block = BLOCK;
	p->kv = o->kv;
	p->table = (o->context + BLOCK - 1) / BLOCK;
	scores = (uint64_t)m->heads * m->head_dim * 2 * p->table * BLOCK;
	p->max[NPU_LLM_LEN_ROWS] = at_most(at_most(o->chunk, NPU_MAX_INSN_MACS / wide),
					   NPU_MAX_INSN_MACS / scores);
	p->max[NPU_LLM_LEN_SEQUENCES] = at_most(o->batch, p->max[NPU_LLM_LEN_ROWS]);
	p->max[NPU_LLM_LEN_LOGITS] = at_most(
		at_most(p->max[NPU_LLM_LEN_ROWS],
			NPU_MAX_INSN_MACS / ((uint64_t)m->dim * m->vocab)),
		NPU_MAX_INSN_BYTES / 8 / m->vocab);
	p->max[NPU_LLM_LEN_TOP_ROWS] = at_most(o->batch, p->max[NPU_LLM_LEN_LOGITS]);
	p->max[NPU_LLM_LEN_TOP] = at_most(MAX_TOP, m->vocab);
	p->max[NPU_LLM_LEN_BLOCKS] =
		at_most(at_most(o->pool / BLOCK + (o->pool % BLOCK != 0),
				pool_bytes(p->max[NPU_LLM_LEN_ROWS], row) / (slots * row)),
			INT32_MAX / slots);
}

/* A pool that was asked for is made whole or refused; without a wish it is what there can be. */
static int check_pool(const struct npu_llm_plan *p, uint32_t wish, uint64_t position,
		      struct npu_error *err)
{
	uint64_t most = (uint64_t)p->max[NPU_LLM_LEN_BLOCKS] * p->block;
	const double gib = 1 << 30;

	if (wish <= most)
		return 0;
	return npu_error_set(err, -E2BIG,
			     "a pool of %u positions of %llu bytes is %.1f GiB, and an instruction reaches no more than %.1f GiB of it, %llu positions: ask for fewer (--pool) or for a smaller type (--kv int8); more of them are in the host's memory when the model is run with a KV budget (npu-llm --kv-budget, --pool)",
			     wish, (unsigned long long)position,
			     (double)wish * (double)position / gib,
			     (double)most * (double)position / gib, (unsigned long long)most);
}

#define MAX_RECORDS 8

struct records {
	struct npu_jobfile_record r[MAX_RECORDS];
	char text[MAX_RECORDS][32];
	unsigned int num;
};

static void add_record(struct records *r, const char *key, const char *value)
{
	r->r[r->num++] = (struct npu_jobfile_record){ key, value };
}

static void add_number(struct records *r, const char *key, uint32_t v)
{
	snprintf(r->text[r->num], sizeof(r->text[0]), "%u", v);
	add_record(r, key, r->text[r->num]);
}

static int save(const struct npu_gguf *g, const struct npu_llm_graph *graph,
		const struct npu_llm_compile_options *o, const char *path, struct npu_error *err)
{
	struct records records = { .num = 0 };
	struct npu_jobfile job = {
		.compiler = "npu-compile " NPU_VERSION, .weights = graph->w->data,
		.weights_size = graph->w->size, .programs = &graph->program, .num_programs = 1,
		.records = records.r,
	};
	void *metadata;
	size_t size;
	int ret = npu_llm_metadata_write(g, &metadata, &size, err);

	if (ret)
		return ret;
	add_record(&records, "llm.arch", graph->m->arch->name);
	add_record(&records, "llm.name", graph->m->name);
	add_record(&records, "llm.quant", quant_names[o->quant]);
	add_record(&records, "llm.kv", kv_names[o->kv]);
	add_record(&records, "llm.activations", activation_names[o->activations]);
	add_number(&records, "llm.context", o->context);
	job.num_records = records.num;
	job.metadata = metadata;
	job.metadata_size = size;
	ret = npu_jobfile_save(&job, path, err);
	free(metadata);
	return ret;
}

static void summarize(const struct npu_llm_graph *g, struct npu_llm_compile_summary *out)
{
	const struct npu_llm_plan *p = g->plan;
	struct npu_llm_compile_summary s = NPU_INIT(s);

	s.chunk = p->max[NPU_LLM_LEN_ROWS];
	s.insns = npu_stream_num_insns(g->b);
	s.parameters = g->w->parameters;
	s.weights = g->w->size;
	s.scratch = (uint64_t)g->tokens.peak * p->max[NPU_LLM_LEN_ROWS] +
		    (uint64_t)g->outs.peak * p->max[NPU_LLM_LEN_LOGITS];
	s.kv_per_token = g->m->num_layers * 2ull * (g->row_bytes + g->scale_row);
	s.pool = s.kv_per_token * p->block * p->max[NPU_LLM_LEN_BLOCKS];
	npu_struct_write(out, out->size, &s, sizeof(s));
}

static int compile_model(const struct npu_gguf *g, struct npu_llm_model *m,
			 struct npu_llm_compile_options *o, const char *out,
			 struct npu_llm_compile_summary *summary, struct npu_error *err)
{
	struct npu_llm_weights weights = { .quant = o->quant, .act = o->activations };
	struct npu_llm_graph graph;
	struct npu_llm_plan plan;
	uint32_t wish = o->pool;
	int ret = resolve_options(o, m, err);

	if (ret)
		return ret;
	make_plan(m, o, &plan);
	ret = check_pool(&plan, wish,
			 m->num_layers * 2ull * m->kv_heads * m->head_dim * kv_bytes(o), err);
	if (ret)
		return ret;
	ret = npu_llm_graph_build(&graph, m, &plan, &weights, err);
	ret = ret ?: save(g, &graph, o, out, err);
	if (!ret && summary)
		summarize(&graph, summary);
	npu_llm_graph_fini(&graph);
	npu_llm_weights_fini(&weights);
	return ret;
}

int npu_llm_compile(const char *path, const char *out,
		    const struct npu_llm_compile_options *options,
		    struct npu_llm_compile_summary *summary, struct npu_error *err)
{
	struct npu_llm_compile_options o = NPU_INIT(o);
	struct npu_llm_model m;
	struct npu_gguf *g;
	int ret = 0;

	if (!path || !out || (summary && summary->size < sizeof(summary->size)))
		return npu_error_set(err, -EINVAL, "npu_llm_compile: %s",
				     path ? out ? "summary has no size" : "out is NULL" :
					    "path is NULL");
	if (options)
		ret = npu_struct_read(&o, sizeof(o), options, options->size,
				      "npu_llm_compile_options", err);
	ret = ret ?: npu_gguf_open(path, &g, err);
	if (ret)
		return ret;
	ret = npu_llm_model_init(&m, g, o.context, err);
	ret = ret ? ret : compile_model(g, &m, &o, out, summary, err);
	npu_llm_model_fini(&m);
	npu_gguf_close(g);
	return ret;
}
