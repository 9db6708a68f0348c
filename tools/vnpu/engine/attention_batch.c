// SPDX-License-Identifier: MIT
/*
 * ATTENTION's index operands: each entry is read once and checked, before any work is shared out.
 */
#include "attention.h"
#include "index.h"

static int bad_index(struct npu_exec *x, unsigned int slot, npu_u64 i, npu_s64 v, const char *want)
{
	return npu_exec_fault(x, i, NPU_FAULT_INDEX, slot, ~0u, v,
			      "attention: %s[%llu] is %lld, expected %s",
			      x->insn.desc->slots[slot].name, (unsigned long long)i, (long long)v,
			      want);
}

static int read_rows(struct npu_exec *x, struct attention *a)
{
	const struct npu_operand *qs = &a->op[NPU_ATTENTION_Q_START],
				 *kv = &a->op[NPU_ATTENTION_KV_LEN];
	npu_u32 rows = a->op[NPU_ATTENTION_Q].dim[0], b;
	npu_s64 v, last = 0;
	npu_u64 items = 0;

	if (qs->dtype != NPU_NONE) {
		last = npu_index_read(qs, x->ptr[NPU_ATTENTION_Q_START], 0);
		if (last != 0)
			return bad_index(x, NPU_ATTENTION_Q_START, 0, last, "0");
	}
	for (b = 0; b < a->batch; b++) {
		struct attention_seq *s = &a->seq[b];

		v = qs->dtype != NPU_NONE ?
			    npu_index_read(qs, x->ptr[NPU_ATTENTION_Q_START], b + 1ull) :
			    (npu_s64)(rows / a->batch) * (b + 1ll);
		if (v < last || v > rows || (b + 1 == a->batch && v != rows))
			return bad_index(x, NPU_ATTENTION_Q_START, b + 1ull, v,
					 "at least the one before, and the rows of q at the end");
		s->q_begin = (npu_u32)last;
		s->q_end = (npu_u32)v;
		last = v;
		v = kv->dtype != NPU_NONE ? npu_index_read(kv, x->ptr[NPU_ATTENTION_KV_LEN], b) :
					    a->len;
		if (v < 0 || v > a->len)
			return bad_index(x, NPU_ATTENTION_KV_LEN, b, v,
					 "a length up to the positions of the cache");
		s->kv_len = (npu_u32)v;
		s->first_item = items;
		items += ((npu_u64)(s->q_end - s->q_begin) * a->group + NPU_ATTENTION_ROWS - 1) /
			 NPU_ATTENTION_ROWS;
	}
	a->num_items = items;
	return 0;
}

npu_s64 npu_attention_block(struct npu_exec *x, const struct attention *a, npu_u32 b, npu_u32 i)
{
	const struct npu_operand *t = &a->op[NPU_ATTENTION_BLOCK_TABLE];
	npu_s32 v;

	memcpy(&v,
	       (char *)x->ptr[NPU_ATTENTION_BLOCK_TABLE] + (t->dim[0] == 1 ? 0 : b * t->stride[0]) +
		       (t->dim[1] == 1 ? 0 : i * t->stride[1]),
	       sizeof(v));
	if (v >= 0 && (npu_u32)v < a->op[NPU_ATTENTION_K].dim[0])
		return v;
	bad_index(x, NPU_ATTENTION_BLOCK_TABLE, (npu_u64)b * a->max_blocks + i, v,
		  "a block of the cache");
	return -1;
}

static int check_table(struct npu_exec *x, const struct attention *a)
{
	npu_u32 b, i;

	for (b = 0; a->paged && b < a->batch; b++) {
		npu_u64 used = (a->seq[b].kv_len + (npu_u64)a->block - 1) / a->block;

		/* entries behind the sequence's end mean nothing */
		for (i = 0; i < used; i++) {
			if (npu_attention_block(x, a, b, i) < 0)
				return -EFAULT;
			if (!(i & 0xfff) && npu_exec_stopped(x))
				return -EINTR;
		}
	}
	return 0;
}

static int read_positions(struct npu_exec *x, struct attention *a)
{
	npu_u32 t;

	for (t = 0; a->position && t < a->op[NPU_ATTENTION_Q].dim[0]; t++) {
		npu_s64 v = npu_index_read(&a->op[NPU_ATTENTION_POSITIONS],
					   x->ptr[NPU_ATTENTION_POSITIONS], t);

		if (v < 0)
			return bad_index(x, NPU_ATTENTION_POSITIONS, t, v, "at least 0");
		a->position[t] = (npu_s32)v;
	}
	return 0;
}

int npu_attention_read(struct npu_exec *x, struct attention *a)
{
	bool positions = a->op[NPU_ATTENTION_POSITIONS].dtype != NPU_NONE;
	size_t seq = a->batch * sizeof(*a->seq);
	size_t pos = positions ? a->op[NPU_ATTENTION_Q].dim[0] * sizeof(npu_s32) : 0;
	char *mem;

	if (npu_exec_reserve_shared(x, seq + pos))
		return -ENOMEM;
	mem = npu_exec_shared(x);
	a->seq = (struct attention_seq *)mem;
	a->position = positions ? (npu_s32 *)(mem + seq) : NULL;
	return read_rows(x, a) ?: check_table(x, a) ?: read_positions(x, a);
}
