// SPDX-License-Identifier: MIT
/*
 * The step program as the job file describes it: lengths, regions, tensors. One table has them all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"
#include "llm/graph.h"
#include "llm/runtime.h"

static const char *const length_names[NPU_LLM_NUM_LENGTHS] = {
	[NPU_LLM_LEN_ROWS] = "rows",
	[NPU_LLM_LEN_SEQUENCES] = "sequences",
	[NPU_LLM_LEN_LOGITS] = "logits_rows",
	[NPU_LLM_LEN_BLOCKS] = "blocks",
	[NPU_LLM_LEN_TOP_ROWS] = "top_rows",
	[NPU_LLM_LEN_TOP] = "top",
};

/* Regions that no user sees come first. */
enum { REGION_WEIGHTS, REGION_TOKENS_SCRATCH, REGION_OUTS_SCRATCH, REGION_IO };

struct io {
	const char *name, *node;
	npu_u32 role;			/* of the tensor */
	enum npu_llm_length length;	/* of the first dim */
	unsigned int base;		/* that is added to it */
};

#define IO(name, node, role, length, base) \
	[NPU_LLM_IO_##name] = { NPU_LLM_T_##name, node, NPU_TENSOR_##role, NPU_LLM_LEN_##length, \
				base }
static const struct io ios[NPU_LLM_NUM_IO] = {
	IO(TOKENS, "token_embd", INPUT, ROWS, 0),
	IO(POSITIONS, "rope", INPUT, ROWS, 0),
	IO(SLOTS, "store", INPUT, ROWS, 0),
	IO(Q_START, "attn", INPUT, SEQUENCES, 1),
	IO(KV_LEN, "attn", INPUT, SEQUENCES, 0),
	IO(TABLE, "attn", INPUT, SEQUENCES, 0),
	IO(ROWS, "rows", INPUT, LOGITS, 0),
	IO(KV, "store", STATE, BLOCKS, 0),
	IO(KV_SCALE, "store", STATE, BLOCKS, 0),
	IO(LOGITS, "output", OUTPUT, LOGITS, 0),
	IO(ARGMAX, "argmax", OUTPUT, LOGITS, 0),
	IO(TOP_VALUES, "top", OUTPUT, TOP_ROWS, 0),
	IO(TOP_TOKENS, "top", OUTPUT, TOP_ROWS, 0),
};
#undef IO

static const enum npu_dtype kv_types[NPU_LLM_NUM_KVS] = {
	[NPU_LLM_KV_F16] = NPU_F16, [NPU_LLM_KV_I8] = NPU_I8, [NPU_LLM_KV_F32] = NPU_F32,
};

struct npu_len npu_llm_len(enum npu_llm_length length)
{
	return npu_len_scalar(0, 1, (unsigned int)length);
}

/* Dims behind the first: how many, and which. */
static unsigned int inner_dims(const struct npu_llm_graph *g, enum npu_llm_io io, uint32_t dim[5],
			       enum npu_dtype *dtype)
{
	const struct npu_llm_model *m = g->m;

	*dtype = NPU_I32;
	switch (io) {
	case NPU_LLM_IO_TABLE:
		dim[0] = g->plan->table;
		return 1;
	case NPU_LLM_IO_LOGITS:
		*dtype = NPU_F32;
		dim[0] = m->vocab;
		return 1;
	case NPU_LLM_IO_TOP_VALUES:
	case NPU_LLM_IO_TOP_TOKENS:
		*dtype = io == NPU_LLM_IO_TOP_VALUES ? NPU_F32 : NPU_I32;
		dim[0] = g->plan->max[NPU_LLM_LEN_TOP];
		return 1;
	case NPU_LLM_IO_KV:
	case NPU_LLM_IO_KV_SCALE:
		dim[0] = m->num_layers;
		dim[1] = 2;
		dim[2] = g->plan->block;
		dim[3] = m->kv_heads;
		dim[4] = m->head_dim;
		*dtype = io == NPU_LLM_IO_KV ? kv_types[g->plan->kv] : NPU_F32;
		return io == NPU_LLM_IO_KV ? 5 : 4;
	default:
		return 0;
	}
}

static struct npu_jobfile_expr linear(npu_s64 base, npu_s64 factor, enum npu_llm_length length)
{
	return (struct npu_jobfile_expr){ .base = base, .factor = { factor },
					  .sym = { (npu_u8)length } };
}

static unsigned int add_region(struct npu_llm_graph *g, const char *name, npu_u32 role,
			       struct npu_jobfile_expr size)
{
	npu_u32 access = role == NPU_REGION_WEIGHTS || role == NPU_REGION_INPUT ?
				 NPU_ACCESS_READ :
				 NPU_ACCESS_READ | NPU_ACCESS_WRITE;

	g->regions[g->num_regions] = (struct npu_jobfile_region){
		.name = name, .role = role, .access = access, .size = size, .align = 64,
	};
	return g->num_regions++;
}

static int add_io(struct npu_llm_graph *g, enum npu_llm_io i)
{
	static const npu_u32 region_role[] = {
		[NPU_TENSOR_INPUT] = NPU_REGION_INPUT, [NPU_TENSOR_OUTPUT] = NPU_REGION_OUTPUT,
		[NPU_TENSOR_STATE] = NPU_REGION_STATE,
	};
	const struct io *io = &ios[i];
	struct npu_jobfile_tensor *t = &g->tensors[g->num_tensors++];
	struct npu_len dim[NPU_MAX_RANK];
	uint32_t inner[5];
	enum npu_dtype dtype;
	unsigned int n = inner_dims(g, i, inner, &dtype), d, region;
	int64_t row = npu_dtype_bits(dtype) / 8;

	*t = (struct npu_jobfile_tensor){
		.name = io->name, .node = io->node, .role = io->role, .dtype = dtype, .rank = n + 1,
		.flags = NPU_JOBFILE_DENSE,
	};
	t->dim[0] = linear(io->base, 1, io->length);
	dim[0] = npu_len_scalar(io->base, 1, (unsigned int)io->length);
	for (d = 0; d < n; d++) {
		t->dim[d + 1] = NPU_JOBFILE_CONST(inner[d]);
		dim[d + 1] = npu_len(inner[d]);
		row *= inner[d];
	}
	/* Of a row of room for the most, so many as the length says. */
	if (i == NPU_LLM_IO_TOP_VALUES || i == NPU_LLM_IO_TOP_TOKENS) {
		t->flags = 0;
		t->dim[1] = linear(0, 1, NPU_LLM_LEN_TOP);
		t->stride[0] = NPU_JOBFILE_CONST(row);
		t->stride[1] = NPU_JOBFILE_CONST(npu_dtype_bits(dtype) / 8);
	}
	region = add_region(g, io->name, region_role[io->role],
			    linear(io->base * row, row, io->length));
	t->region = region;
	return npu_tensor_dense(&g->in[i], region, npu_len(0), dtype, n + 1, dim);
}

int npu_llm_graph_describe(struct npu_llm_graph *g)
{
	const struct npu_llm_plan *p = g->plan;
	unsigned int i;
	int ret = 0;

	add_region(g, "weights", NPU_REGION_WEIGHTS, NPU_JOBFILE_CONST(0));
	add_region(g, "scratch", NPU_REGION_SCRATCH, NPU_JOBFILE_CONST(0));
	add_region(g, "scratch of rows with logits", NPU_REGION_SCRATCH, NPU_JOBFILE_CONST(0));
	g->w->region = REGION_WEIGHTS;
	g->tokens = (struct npu_llm_rows){ .region = REGION_TOKENS_SCRATCH,
					   .length = NPU_LLM_LEN_ROWS };
	g->outs = (struct npu_llm_rows){ .region = REGION_OUTS_SCRATCH,
					 .length = NPU_LLM_LEN_LOGITS };
	g->row_bytes = (uint64_t)g->m->kv_heads * g->m->head_dim *
		       npu_dtype_bits(kv_types[p->kv]) / 8;
	g->scale_row = p->kv == NPU_LLM_KV_I8 ? g->m->kv_heads * 4ull : 0;
	for (i = 0; i < NPU_LLM_NUM_IO && !ret; i++)
		if (i != NPU_LLM_IO_KV_SCALE || g->scale_row)
			ret = add_io(g, i);
	if (ret)
		return npu_error_set(g->err, ret, "a tensor of the program is too large");
	ret = npu_stream_create(g->num_regions, &g->b);
	for (i = 0; i < NPU_LLM_NUM_LENGTHS && !ret; i++) {
		g->symbols[i] = (struct npu_jobfile_symbol){
			.name = length_names[i], .kind = NPU_SYMBOL_FREE,
			.min = 1, .max = p->max[i],
			.step = 1,
		};
		ret = npu_stream_scalar(g->b, 1, p->max[i]) < 0 ? -EINVAL : 0;
	}
	return ret ? npu_error_set(g->err, ret, "lengths of the program: %s",
				   g->b ? npu_stream_error(g->b) : strerror(-ret)) : 0;
}

int npu_llm_graph_finish(struct npu_llm_graph *g)
{
	const void *stream;
	size_t size;
	int ret = npu_stream_finish(g->b, &stream, &size);

	if (ret)
		return npu_error_set(g->err, ret, "stream: %s", npu_stream_error(g->b));
	g->regions[REGION_WEIGHTS].size = NPU_JOBFILE_CONST((npu_s64)g->w->size);
	g->regions[REGION_TOKENS_SCRATCH].size = linear(0, g->tokens.peak, NPU_LLM_LEN_ROWS);
	g->regions[REGION_OUTS_SCRATCH].size = linear(0, g->outs.peak, NPU_LLM_LEN_LOGITS);
	g->program = (struct npu_jobfile_program){
		.name = "step", .symbols = g->symbols, .num_symbols = NPU_LLM_NUM_LENGTHS,
		.regions = g->regions, .num_regions = g->num_regions, .tensors = g->tensors,
		.num_tensors = g->num_tensors, .debug = g->debug, .num_debug = g->num_debug,
		.stream = stream, .stream_size = (npu_u32)size,
	};
	return 0;
}

void npu_llm_graph_fini(struct npu_llm_graph *g)
{
	uint32_t i;

	npu_stream_destroy(g->b);
	for (i = 0; i < g->num_debug; i++)
		free((char *)g->debug[i].node);
	free(g->debug);
}
