/* SPDX-License-Identifier: MIT */
/* ATTENTION: what its two files share. */
#ifndef NPU_ATTENTION_H
#define NPU_ATTENTION_H

#include "iter.h"

/* The ragged batch, copied once and checked. */
struct attention_seq {
	npu_u32 q_begin, q_end;		/* rows of q */
	npu_u32 kv_len;
	npu_u64 first_item;		/* number of items (per kv head) of the sequences before */
};

struct attention {
	const struct npu_vec *vec;
	const struct npu_operand *op;
	void *const *ptr;
	struct npu_elem oe, qe, ke, ve, me;
	npu_u32 batch, heads, kv_heads, group, depth, v_depth, len;
	npu_u32 block, max_blocks;	/* positions in a block; block == len without a table */
	float scale, cap;
	bool causal;
	npu_u32 window;
	npu_u64 items_per_head;
	bool paged;			/* with a block table */
	/* in npu_exec_shared() */
	struct attention_seq *seq;
	npu_s32 *position;		/* [T], or NULL */
};

#define NPU_ATTENTION_ROWS	16u	/* query rows that share a pass over the cache */

/* attention_batch.c: fill in what comes from index operands. 0, -ENOMEM, -EINTR, -EFAULT. */
int npu_attention_read(struct npu_exec *x, struct attention *a);

/*
 * Entry @i of sequence @b's block table, read once. A table may be longer than any memory (stride
 * 0), so it is not copied: all entries in use were checked before, and this checks again what is
 * there now. A bad one is recorded and -1 returned.
 */
npu_s64 npu_attention_block(struct npu_exec *x, const struct attention *a, npu_u32 b, npu_u32 i);

#endif
