// SPDX-License-Identifier: MIT
/*
 * ATTENTION of few query rows, as when sequences are decoded: keys and values are read where they
 * lie in the cache. The heads of an item take turns on each piece, as they lie side by side there.
 */
#include "attention.h"

#define CHUNK	NPU_ATTENTION_CHUNK
#define PIECE	NPU_ATTENTION_PIECE

/* One side of the cache, keys or values. */
struct side {
	unsigned int slot, scale_slot;
	int type;			/* enum npu_attn_type */
};

/* The first of positions [j, j + run->n) of kv head @head that lie a step apart; false: a fault. */
static bool find_run(struct npu_exec *x, const struct attention *a, const struct attention_item *it,
		     const struct side *side, npu_u32 head, npu_u32 j, struct npu_attn_run *run,
		     float *scale)
{
	const struct npu_operand *op = &a->op[side->slot], *so = &a->op[side->scale_slot];
	npu_s64 block = a->paged ? npu_attention_block(x, a, it->b, j / a->block) : (npu_s64)it->b,
		in = j % a->block;
	struct npu_elem e;

	if (block < 0)
		return false;
	run->p = (char *)a->ptr[side->slot] + block * op->stride[0] + in * op->stride[1] +
		 (npu_s64)head * op->stride[2];
	run->step = op->stride[1];
	run->n = a->block - (npu_u32)in < run->n ? a->block - (npu_u32)in : run->n;
	run->zero = op->zero_point;
	run->scale = scale;
	if (side->type != ATTN_I8)
		return true;
	e = npu_elem_of(so);
	a->vec->load(scale, &e,
		     &(struct npu_patch){ .p = (char *)a->ptr[side->scale_slot] +
					       block * so->stride[0] + in * so->stride[1] +
					       (npu_s64)head * so->stride[2],
					  .col = so->stride[1],
					  .rows = 1,
					  .cols = run->n });
	return true;
}

/* Rows of one kernel when @left are left. */
static npu_u32 tile_rows(const struct npu_attn *attn, npu_u32 left)
{
	npu_u32 rows = left < ATTN_MAX_ROWS ? left : ATTN_MAX_ROWS;

	while (!attn->dots[ATTN_F32][rows])
		rows--;
	return rows;
}

/* Scores of one kv head's rows for positions [j, j + n) of the chunk at @start. */
static void score_piece(struct npu_exec *x, const struct attention *a, struct attention_item *it,
			npu_u32 h, npu_u32 start, npu_u32 j, npu_u32 n)
{
	const struct side side = { NPU_ATTENTION_K, NPU_ATTENTION_K_SCALE, a->k_type };
	npu_u32 end = j + n, rows, r, i;
	float scale[PIECE];
	struct npu_attn_run run;

	for (; j < end; j += run.n) {
		run.n = end - j;
		if (!find_run(x, a, it, &side, it->kv_head + h, start + j, &run, scale))
			return;
		for (r = 0; r < it->num_rows; r += rows) {
			rows = tile_rows(a->attn, it->num_rows - r);
			i = h * it->num_rows + r;
			a->attn->dots[side.type][rows](it->score + (size_t)i * CHUNK + j, CHUNK,
						       it->q + (size_t)i * a->depth, a->depth,
						       &run);
		}
	}
}

/* What the rows of an item see of a chunk: those of each kv head the same. */
struct spans {
	npu_u32 lo[NPU_ATTENTION_FEW], hi[NPU_ATTENTION_FEW], min, max;
	bool live[NPU_ATTENTION_ROWS];
};

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

static void sum_piece(struct npu_exec *x, const struct attention *a, struct attention_item *it,
		      const struct spans *s, npu_u32 h, npu_u32 start, npu_u32 j, npu_u32 n)
{
	const struct side side = { NPU_ATTENTION_V, NPU_ATTENTION_V_SCALE, a->v_type };
	npu_u32 end = j + n, r;
	float scale[PIECE];
	struct npu_attn_run run;

	for (; j < end; j += run.n) {
		run.n = end - j;
		if (!find_run(x, a, it, &side, it->kv_head + h, start + j, &run, scale))
			return;
		for (r = 0; r < it->num_rows; r += sum_rows(a, it, s, h, r, j, &run))
			;
	}
}

/* Pieces end where blocks of a usual size do. */
static npu_u32 piece_at(const struct spans *s, npu_u32 j)
{
	npu_u32 end = (j / PIECE + 1) * PIECE;

	return (end < s->max ? end : s->max) - j;
}

void npu_attention_few(struct npu_exec *x, const struct attention *a, struct attention_item *it,
		       npu_u32 start)
{
	struct spans s = { .min = CHUNK, .max = 0 };
	npu_u32 all = it->num_heads * it->num_rows, r, h, j, n;

	for (r = 0; r < it->num_rows; r++) {
		s.live[r] = npu_attention_span(&it->row[r], start, &s.lo[r], &s.hi[r]);
		if (!s.live[r])
			continue;
		s.min = s.lo[r] < s.min ? s.lo[r] : s.min;
		s.max = s.hi[r] > s.max ? s.hi[r] : s.max;
	}
	if (s.min >= s.max)
		return;
	for (j = s.min; j < s.max && !npu_exec_stopped(x); j += n) {
		n = piece_at(&s, j);
		for (h = 0; h < it->num_heads; h++) {
			npu_attention_fetch(x, a, it, NPU_ATTENTION_K, it->kv_head + h,
					    start + j + n, PIECE);
			score_piece(x, a, it, h, start, j, n);
		}
	}
	for (h = 0; h < it->num_heads; h++)
		npu_attention_fetch(x, a, it, NPU_ATTENTION_V, it->kv_head + h, start + s.min,
				    PIECE);
	for (r = all; r-- > 0;)
		s.live[r] = s.live[r % it->num_rows] &&
			    npu_attention_weights(a, it, r, start, s.lo[r % it->num_rows],
						  s.hi[r % it->num_rows]);
	memset(it->part, 0, (size_t)all * a->v_depth * sizeof(float));
	for (j = s.min; j < s.max && !npu_exec_stopped(x); j += n) {
		n = piece_at(&s, j);
		for (h = 0; h < it->num_heads; h++) {
			npu_attention_fetch(x, a, it, NPU_ATTENTION_V, it->kv_head + h,
					    start + j + n, PIECE);
			sum_piece(x, a, it, &s, h, start, j, n);
		}
	}
	for (r = 0; r < all; r++)
		if (s.live[r])
			a->vec->fold(it->acc + (size_t)r * a->v_depth,
				     it->part + (size_t)r * a->v_depth, a->v_depth, NPU_FOLD_SUM);
}
