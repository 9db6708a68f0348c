// SPDX-License-Identifier: MIT
/*
 * Temporaries. Instructions are emitted in the order in which they run, so what is live at a point
 * is what has been made and not yet freed: places are given out as it goes, the first that is large
 * enough. They are planned for one row; every size is a multiple of 64 bytes, so that at any length
 * T a temporary lies at T times its place, and a short step touches little memory.
 */
#include <errno.h>
#include <string.h>
#include "core/error.h"
#include "llm/graph.h"

#define ROW_ALIGN 64u

static int place(struct npu_llm_rows *rows, uint32_t size, uint32_t *at)
{
	unsigned int i;
	uint32_t from = 0;

	if (rows->num_live == NPU_LLM_MAX_LIVE)
		return -ENOMEM;
	for (i = 0; i < rows->num_live; i++) {
		if (rows->live[i].at - from >= size)
			break;
		from = rows->live[i].at + rows->live[i].size;
	}
	if (size > INT32_MAX - from)
		return -ENOMEM;
	memmove(&rows->live[i + 1], &rows->live[i], (rows->num_live - i) * sizeof(rows->live[0]));
	rows->live[i].at = from;
	rows->live[i].size = size;
	rows->num_live++;
	rows->peak = from + size > rows->peak ? from + size : rows->peak;
	*at = from;
	return 0;
}

int npu_llm_act_new(struct npu_llm_graph *g, struct npu_llm_rows *rows, enum npu_dtype dtype,
		    uint32_t cols, struct npu_llm_act *act)
{
	struct npu_len dim[2] = { npu_llm_len(rows->length), npu_len(cols) };
	uint64_t bytes = ((uint64_t)cols * npu_dtype_bits(dtype) / 8 + ROW_ALIGN - 1) / ROW_ALIGN *
			 ROW_ALIGN;

	memset(act, 0, sizeof(*act));
	if (bytes > INT32_MAX || place(rows, (uint32_t)bytes, &act->at))
		return npu_error_set(g->err, -ENOMEM,
				     "no place for a temporary of %u columns beside %u others", cols,
				     rows->num_live);
	act->rows = rows;
	return npu_tensor_dense(&act->t, rows->region,
				npu_len_scalar(0, (int32_t)act->at, (unsigned int)rows->length),
				dtype, 2, dim);
}

void npu_llm_act_free(struct npu_llm_act *act)
{
	struct npu_llm_rows *rows = act->rows;
	unsigned int i;

	if (!rows)
		return;
	for (i = 0; rows->live[i].at != act->at; i++)
		;
	rows->num_live--;
	memmove(&rows->live[i], &rows->live[i + 1], (rows->num_live - i) * sizeof(rows->live[0]));
	act->rows = NULL;
}

struct npu_tensor npu_llm_act_heads(const struct npu_llm_act *act, uint32_t inner)
{
	struct npu_tensor t = act->t;

	npu_tensor_split(&t, 1, inner);
	return t;
}

struct npu_tensor npu_llm_act_outer(const struct npu_llm_act *act)
{
	struct npu_tensor t = act->t;

	npu_tensor_insert(&t, 0);
	return t;
}
