// SPDX-License-Identifier: MIT
/*
 * ATTENTION of few query rows, as when sequences are decoded: keys and values are read where they
 * lie in the cache. The heads of an item take turns on each piece, as they lie side by side there.
 */
#include "attention.h"

#define CHUNK	NPU_ATTENTION_CHUNK
#define PIECE	NPU_ATTENTION_PIECE

/* Positions that lie a step apart in the cache, @n from @in on of a block; 0: there are no more. */
struct place {
	npu_s64 block;
	npu_u32 in, n;
};

/* Those from @j on up to @end, both of the sequence; none after a fault. */
static struct place locate(struct npu_exec *x, const struct attention *a,
			   const struct attention_item *it, npu_u32 j, npu_u32 end)
{
	npu_u32 i = j / a->block, left = end - j;
	struct place at = { .in = j - i * a->block };

	if (j >= end)
		return at;
	at.block = a->paged ? npu_attention_block(x, a, it->b, i) : (npu_s64)it->b;
	if (at.block < 0)
		return at;
	at.n = a->block - at.in < PIECE ? a->block - at.in : PIECE;
	at.n = at.n < left ? at.n : left;
	return at;
}

static const char *address(const struct attention *a, unsigned int slot, const struct place *at,
			   npu_u32 head)
{
	const struct npu_operand *op = &a->op[slot];

	return (const char *)a->ptr[slot] + at->block * op->stride[0] +
	       (npu_s64)at->in * op->stride[1] + (npu_s64)head * op->stride[2];
}

/* Keys or values of kv head @head at @at; @scale: room for the scales of codes. */
static struct npu_attn_run run_of(const struct attention *a, unsigned int slot,
				  unsigned int scale_slot, const struct place *at, npu_u32 head,
				  float scale[PIECE])
{
	const struct npu_operand *op = &a->op[slot], *so = &a->op[scale_slot];
	struct npu_attn_run run = {
		.p = address(a, slot, at, head), .step = op->stride[1], .n = at->n,
		.zero = op->zero_point, .scale = scale,
	};
	struct npu_elem e;

	if (so->dtype == NPU_NONE)
		return run;
	e = npu_elem_of(so);
	a->vec->load(scale, &e,
		     &(struct npu_patch){ .p = (char *)address(a, scale_slot, at, head),
					  .col = so->stride[1],
					  .rows = 1,
					  .cols = at->n });
	return run;
}

/*
 * While head @h of the item is worked on, its share of what is next is fetched, of all heads: a
 * head's part of a position is short, and its next one a row of the cache away, which no processor
 * guesses. Heads that lie side by side are as one; between others there may be all of the cache.
 */
static void fetch_share(const struct attention *a, const struct attention_item *it,
			unsigned int slot, const struct place *next, npu_u32 h)
{
	const struct npu_operand *op = &a->op[slot];
	npu_s64 bytes = (npu_s64)op->dim[3] * op->stride[3], i;
	npu_u32 from = h * next->n / it->num_heads, to = (h + 1) * next->n / it->num_heads;
	npu_u32 heads = it->num_heads, k;
	const char *p = address(a, slot, next, it->kv_head) + (npu_s64)from * op->stride[1];

	/* gcc takes what only prefetches for what does nothing, and leaves calls of it out */
	__asm__ volatile("");
	if (op->stride[2] == bytes) {
		bytes *= heads;
		heads = 1;
	}
	for (; from < to; from++, p += op->stride[1])
		for (k = 0; k < heads; k++)
			for (i = 0; i < bytes; i += 64)
				__builtin_prefetch(p + k * op->stride[2] + i);
}

/* Rows of one kernel when @left are left. */
static npu_u32 tile_rows(const struct npu_attn *attn, npu_u32 left)
{
	npu_u32 rows = left < ATTN_MAX_ROWS ? left : ATTN_MAX_ROWS;

	while (!attn->dots[ATTN_F32][rows])
		rows--;
	return rows;
}

/* What the rows of an item see of a chunk: those of each kv head the same. */
struct spans {
	npu_u32 lo[NPU_ATTENTION_FEW], hi[NPU_ATTENTION_FEW], min, max;
	bool live[NPU_ATTENTION_ROWS];
};

/* Scores of one kv head's rows for the keys at @at, @j in the chunk. */
static void score_head(const struct attention *a, struct attention_item *it, const struct spans *s,
		       npu_u32 h, npu_u32 j, const struct place *at)
{
	npu_u32 rows, r, i;
	float scale[PIECE];
	struct npu_attn_run run = run_of(a, NPU_ATTENTION_K, NPU_ATTENTION_K_SCALE, at,
					 it->kv_head + h, scale);

	for (r = 0; r < it->num_rows; r += rows) {
		rows = tile_rows(a->attn, it->num_rows - r);
		i = h * it->num_rows + r;
		a->attn->dots[a->k_type][rows](it->score + (size_t)i * CHUNK + j, CHUNK,
					       it->q + (size_t)i * a->depth, a->depth, &run);
	}
}

/* Add the values of @run at @j to rows from @r on of head @h: to one, or to some that see all. */
static npu_u32 sum_rows(const struct attention *a, struct attention_item *it, const struct spans *s,
			npu_u32 h, npu_u32 r, npu_u32 j, const struct npu_attn_run *run)
{
	npu_u32 rows = tile_rows(a->attn, it->num_rows - r);
	npu_u32 i = h * it->num_rows + r, k, from, to;
	struct npu_attn_run part = *run;

	for (k = 0; k < rows; k++)
		if (!s->live[i + k] || s->lo[r + k] > j || s->hi[r + k] < j + run->n)
			break;
	if (k < rows) {
		rows = 1;
		from = s->lo[r] > j ? s->lo[r] - j : 0;
		to = s->hi[r] < j + run->n ? s->hi[r] : j + run->n;
		if (!s->live[i] || to <= j + from)
			return 1;
		part.p += (npu_s64)from * run->step;
		part.scale += from;
		part.n = to - j - from;
		j += from;
	}
	a->attn->sums[a->v_type][rows](it->part + (size_t)i * a->v_depth,
				       it->score + (size_t)i * CHUNK + j, CHUNK, a->v_depth, &part);
	return rows;
}

static void sum_head(const struct attention *a, struct attention_item *it, const struct spans *s,
		     npu_u32 h, npu_u32 j, const struct place *at)
{
	float scale[PIECE];
	struct npu_attn_run run = run_of(a, NPU_ATTENTION_V, NPU_ATTENTION_V_SCALE, at,
					 it->kv_head + h, scale);
	npu_u32 r;

	for (r = 0; r < it->num_rows; r += sum_rows(a, it, s, h, r, j, &run))
		;
}

typedef void head_fn(const struct attention *a, struct attention_item *it, const struct spans *s,
		     npu_u32 h, npu_u32 j, const struct place *at);

/* @work on each head of each piece that @slot, keys or values, has of the chunk. */
static inline __attribute__((always_inline)) void
each_piece(struct npu_exec *x, const struct attention *a, struct attention_item *it,
	   const struct spans *s, npu_u32 start, unsigned int slot, head_fn *work)
{
	struct place at = locate(x, a, it, start + s->min, start + s->max), next;
	npu_u32 j = s->min, h;

	for (; at.n && !npu_exec_stopped(x); j += at.n, at = next) {
		next = locate(x, a, it, start + j + at.n, start + s->max);
		for (h = 0; h < it->num_heads; h++) {
			fetch_share(a, it, slot, &next, h);
			work(a, it, s, h, j, &at);
		}
	}
}

/* All of @at. */
static void fetch(const struct attention *a, const struct attention_item *it, unsigned int slot,
		  const struct place *at)
{
	npu_u32 h;

	for (h = 0; h < it->num_heads; h++)
		fetch_share(a, it, slot, at, h);
}

void npu_attention_few_begin(struct npu_exec *x, const struct attention *a,
			     const struct attention_item *it, npu_u32 lo)
{
	struct place first = locate(x, a, it, lo, it->seq->kv_len);

	fetch(a, it, NPU_ATTENTION_K, &first);
}

/* What the rows of each head see of the chunk; false: nothing. */
static bool look(const struct attention_item *it, npu_u32 start, struct spans *s)
{
	npu_u32 r;

	*s = (struct spans){ .min = CHUNK, .max = 0 };
	for (r = 0; r < it->num_rows; r++) {
		s->live[r] = npu_attention_span(&it->row[r], start, &s->lo[r], &s->hi[r]);
		if (!s->live[r])
			continue;
		s->min = s->lo[r] < s->min ? s->lo[r] : s->min;
		s->max = s->hi[r] > s->max ? s->hi[r] : s->max;
	}
	return s->min < s->max;
}

void npu_attention_few(struct npu_exec *x, const struct attention *a, struct attention_item *it,
		       npu_u32 start)
{
	npu_u32 all = it->num_heads * it->num_rows, r;
	struct place first;
	struct spans s;

	if (!look(it, start, &s))
		return;
	each_piece(x, a, it, &s, start, NPU_ATTENTION_K, score_head);
	first = locate(x, a, it, start + s.min, start + s.max);
	fetch(a, it, NPU_ATTENTION_V, &first);
	for (r = all; r-- > 0;)
		s.live[r] = s.live[r % it->num_rows] &&
			    npu_attention_weights(a, it, r, start, s.lo[r % it->num_rows],
						  s.hi[r % it->num_rows]);
	memset(it->part, 0, (size_t)all * a->v_depth * sizeof(float));
	each_piece(x, a, it, &s, start, NPU_ATTENTION_V, sum_head);
	for (r = 0; r < all; r++)
		if (s.live[r])
			a->vec->fold(it->acc + (size_t)r * a->v_depth,
				     it->part + (size_t)r * a->v_depth, a->v_depth, NPU_FOLD_SUM);
}
