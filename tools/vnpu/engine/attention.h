/* SPDX-License-Identifier: MIT */
/* ATTENTION: what its two files share. */
#ifndef NPU_ATTENTION_H
#define NPU_ATTENTION_H

#include "attn.h"
#include "iter.h"

#define NPU_ATTENTION_ROWS	16u	/* query rows that share a pass over the cache */
#define NPU_ATTENTION_FEW	8u	/* as many of a kv head read the cache where it lies */
#define NPU_ATTENTION_CHUNK	512u	/* positions; the formula knows them */
#define NPU_ATTENTION_PIECE	32u	/* positions that are looked at together */

/* The ragged batch, copied once and checked. */
struct attention_seq {
	npu_u32 q_begin, q_end;		/* rows of q */
	npu_u32 kv_len;
	npu_u64 first_item;		/* items of the ones before, of one group of heads */
};

struct attention {
	const struct npu_vec *vec;
	const struct npu_attn *attn;
	const struct npu_operand *op;
	void *const *ptr;
	struct npu_elem oe, qe, ke, ve, me;
	npu_u32 batch, heads, kv_heads, group, depth, v_depth, len;
	npu_u32 block, max_blocks;	/* positions in a block; block == len without a table */
	float scale, cap;
	bool causal;
	npu_u32 window;
	npu_u64 num_items;		/* of one group of heads */
	npu_u32 heads_per_item;		/* kv heads */
	bool paged;			/* with a block table */
	int k_type, v_type;		/* enum npu_attn_type, or -1 */
	/* in npu_exec_shared() */
	struct attention_seq *seq;
	npu_s32 *position;		/* [T], or NULL */
};

/* A query row in work. */
struct attention_row {
	npu_u32 t, head;
	npu_u32 lo, hi;			/* keys that it sees */
	float max;			/* n, an integer or -inf */
	float sum;
};

/*
 * Query rows of a sequence and some kv heads: for each of these @num_rows pairs of a row t and a
 * head of its group, those of one kv head behind those of another.
 */
struct attention_item {
	const struct attention_seq *seq;
	npu_u32 b, kv_head, num_heads, num_rows;
	struct attention_row row[NPU_ATTENTION_ROWS];
	float *q, *score, *piece, *turned, *acc, *part;
};

/* Whether the cache is read where it lies for all query rows of @s. */
static inline bool npu_attention_is_few(const struct attention *a, const struct attention_seq *s)
{
	return a->k_type >= 0 && a->v_type >= 0 &&
	       (npu_u64)(s->q_end - s->q_begin) * a->group <= NPU_ATTENTION_FEW;
}

/* attention_batch.c: fill in what comes from index operands. 0, -ENOMEM, -EINTR, -EFAULT. */
int npu_attention_read(struct npu_exec *x, struct attention *a);

/*
 * Entry @i of sequence @b's block table, read once. A table may be longer than any memory (stride
 * 0), so it is not copied: all entries in use were checked before, and this checks again what is
 * there now. A bad one is recorded and -1 returned.
 */
npu_s64 npu_attention_block(struct npu_exec *x, const struct attention *a, npu_u32 b, npu_u32 i);

/* op_attention.c: keys of the chunk at @start that @row sees, relative to it; false: none. */
bool npu_attention_span(const struct attention_row *row, npu_u32 start, npu_u32 *lo, npu_u32 *hi);

/*
 * From the dot products of a chunk to weights, 0 for keys that are not seen; updates n and the sum
 * of row @r, and rescales what was summed before by a power of two. Returns false when no key has
 * any weight.
 */
bool npu_attention_weights(const struct attention *a, struct attention_item *it, npu_u32 r,
			   npu_u32 start, npu_u32 lo, npu_u32 hi);

/*
 * attention_few.c: items with few rows. Have the first keys fetched, from @lo on, while the item is
 * set up; one chunk of it.
 */
void npu_attention_few_begin(struct npu_exec *x, const struct attention *a,
			     const struct attention_item *it, npu_u32 lo);
void npu_attention_few(struct npu_exec *x, const struct attention *a, struct attention_item *it,
		       npu_u32 start);

#endif
