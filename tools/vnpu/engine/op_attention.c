// SPDX-License-Identifier: MIT
/*
 * ATTENTION. An item is up to 16 query rows for each of some kv heads: pairs of a row t and a head
 * of the group. The cache is gone through in chunks of 512 positions, which the formula knows, and
 * within a chunk in pieces of 32, which it does not: for many rows these are converted and turned
 * once for all of them, for few (attention_few.c) that would be most of the work.
 */
#include <math.h>
#include "attention.h"

#define ROWS	NPU_ATTENTION_ROWS
#define CHUNK	NPU_ATTENTION_CHUNK
#define PIECE	NPU_ATTENTION_PIECE

static size_t scratch_floats(const struct attention *a)
{
	npu_u32 wide = a->depth > a->v_depth ? a->depth : a->v_depth;

	return (size_t)ROWS * a->depth + ROWS * CHUNK + 2 * (size_t)PIECE * wide +
	       2 * (size_t)ROWS * a->v_depth;
}

/* Positions [j, j + n) of the item's cache as n rows of f32. */
static void load_cache(struct npu_exec *x, const struct attention *a,
		       const struct attention_item *it, unsigned int slot,
		       unsigned int scale_slot, const struct npu_elem *elem,
		       npu_u32 j, npu_u32 n, float *dst)
{
	const struct npu_operand *op = &a->op[slot], *so = &a->op[scale_slot];
	npu_u32 depth = op->dim[3], run;
	float factor;
	bool zero;

	for (; n; j += run, n -= run, dst += (size_t)run * depth) {
		npu_s64 block = a->paged ? npu_attention_block(x, a, it->b, j / a->block) :
					   (npu_s64)it->b,
			in = j % a->block;
		struct npu_elem e = *elem, se;
		struct npu_patch p = {
			.row = op->stride[1], .col = op->stride[3], .cols = depth,
		};

		if (block < 0)
			return;
		p.p = (char *)a->ptr[slot] + block * op->stride[0] + in * op->stride[1] +
		      (npu_s64)it->kv_head * op->stride[2];
		run = a->block - (npu_u32)in < n ? a->block - (npu_u32)in : n;
		if (so->dtype != NPU_NONE) {
			run = 1;
			se = npu_elem_of(so);
			a->vec->load(&e.scale, &se,
				     &(struct npu_patch){ .p = (char *)a->ptr[scale_slot] +
							       block * so->stride[0] +
							       in * so->stride[1] +
							       (npu_s64)it->kv_head * so->stride[2],
							  .rows = 1,
							  .cols = 1 });
		}
		p.rows = run;
		/* in the element 0 means that there is none */
		zero = so->dtype != NPU_NONE && e.scale == 0.0f;
		factor = e.scale;
		e.scale = zero ? 1.0f : factor;
		a->vec->load(dst, &e, &p);
		if (zero)
			a->vec->scale(dst, (size_t)run * depth, factor);
	}
}

/* Have positions [j, j + n) fetched, which are looked at next (see attention_few.c). */
static void fetch_cache(struct npu_exec *x, const struct attention *a,
			const struct attention_item *it, unsigned int slot, npu_u32 j, npu_u32 n)
{
	const struct npu_operand *op = &a->op[slot];
	npu_s64 bytes = (npu_s64)op->dim[3] * op->stride[3], block, at;
	npu_u32 left = it->seq->kv_len > j ? it->seq->kv_len - j : 0, in, run;
	const char *p;

	if (op->stride[3] * 8 != npu_dtype_bits(op->dtype))
		return;
	for (n = n < left ? n : left; n; n -= run, j += run) {
		block = a->paged ? npu_attention_block(x, a, it->b, j / a->block) : (npu_s64)it->b;
		if (block < 0)
			return;
		in = j % a->block;
		run = a->block - in < n ? a->block - in : n;
		p = (const char *)a->ptr[slot] + block * op->stride[0] + in * op->stride[1] +
		    (npu_s64)it->kv_head * op->stride[2];
		for (in = 0; in < run; in++, p += op->stride[1])
			for (at = 0; at < bytes; at += 64)
				__builtin_prefetch(p + at);
	}
}

/* What a row starts from: with a sink its weight, which no value belongs to. */
static void row_start(const struct attention *a, struct attention_row *row)
{
	const struct npu_operand *s = &a->op[NPU_ATTENTION_SINKS];
	float sink;

	row->max = -__builtin_inff();
	row->sum = 0;
	if (s->dtype == NPU_NONE)
		return;
	memcpy(&sink,
	       (char *)a->ptr[NPU_ATTENTION_SINKS] +
		       (s->dim[0] == 1 ? 0 : row->head * s->stride[0]),
	       sizeof(sink));
	sink *= ATTN_LOG2E;
	row->max = ceilf(sink);
	if (sink > -__builtin_inff()) {
		a->vec->exp2_scaled(&sink, 1, row->max, 1.0f);
		row->sum = sink;
	}
}

/* Row @i of the item, the @first th of its sequence and kv head on: what it sees, and its q. */
static void row_begin(const struct attention *a, struct attention_item *it, npu_u32 i,
		      npu_u64 first)
{
	const struct npu_operand *q = &a->op[NPU_ATTENTION_Q];
	npu_s64 pos, q_len = it->seq->q_end - it->seq->q_begin;
	struct attention_row *row = &it->row[i];
	npu_u64 pair = first + i % it->num_rows;

	row->t = it->seq->q_begin + (npu_u32)(pair / a->group);
	row->head = (it->kv_head + i / it->num_rows) * a->group + (npu_u32)(pair % a->group);
	pos = a->position ? a->position[row->t] :
			    (npu_s64)it->seq->kv_len - q_len + (row->t - it->seq->q_begin);
	row->hi = it->seq->kv_len;
	if (a->causal && pos + 1 < row->hi)
		row->hi = pos + 1 > 0 ? (npu_u32)(pos + 1) : 0;
	row->lo = a->window && pos - (npu_s64)a->window + 1 > 0 ?
			  (npu_u32)(pos - (npu_s64)a->window + 1) :
			  0;
	row_start(a, row);
	a->vec->load(it->q + (size_t)i * a->depth, &a->qe,
		     &(struct npu_patch){ .p = (char *)a->ptr[NPU_ATTENTION_Q] +
					       row->t * q->stride[0] + row->head * q->stride[1],
					  .col = q->stride[2],
					  .rows = 1,
					  .cols = a->depth });
}

bool npu_attention_span(const struct attention_row *row, npu_u32 start, npu_u32 *lo, npu_u32 *hi)
{
	npu_u32 end = row->hi < start + CHUNK ? row->hi : start + CHUNK;

	*lo = row->lo > start ? row->lo - start : 0;
	*hi = end > start ? end - start : 0;
	return *lo < *hi;
}

/* score[r][j] = dot16(q, k) for the chunk's keys [lo, hi). */
static void scores(struct npu_exec *x, const struct attention *a, struct attention_item *it,
		   npu_u32 start, npu_u32 lo, npu_u32 hi)
{
	npu_u32 j, n, r, a0, b0;

	for (j = lo / PIECE * PIECE; j < hi && !npu_exec_stopped(x); j += PIECE) {
		n = it->seq->kv_len - (start + j) < PIECE ? it->seq->kv_len - (start + j) : PIECE;
		load_cache(x, a, it, NPU_ATTENTION_K, NPU_ATTENTION_K_SCALE, &a->ke, start + j, n,
			   it->piece);
		fetch_cache(x, a, it, NPU_ATTENTION_K, start + j + n, PIECE);
		if (n < PIECE)
			memset(it->piece + (size_t)n * a->depth, 0,
			       (size_t)(PIECE - n) * a->depth * sizeof(float));
		a->vec->transpose((char *)it->turned, PIECE * 4, (char *)it->piece,
				  (npu_s64)a->depth * 4, PIECE, a->depth, 4);
		for (r = 0; r < it->num_rows; r++)
			if (npu_attention_span(&it->row[r], start, &a0, &b0) && a0 < j + PIECE &&
			    b0 > j)
				a->vec->dot16_cols(it->score + r * CHUNK + j,
						   it->q + (size_t)r * a->depth, it->turned,
						   a->depth, PIECE, PIECE);
	}
}

static void add_mask(const struct attention *a, const struct attention_item *it,
		     const struct attention_row *row, npu_u32 j, npu_u32 n, float *s)
{
	const struct npu_operand *m = &a->op[NPU_ATTENTION_MASK];
	npu_u32 t = a->op[NPU_ATTENTION_Q_START].dtype != NPU_NONE ? row->t :
								     row->t - it->seq->q_begin;
	float v[CHUNK];

	a->vec->load(v, &a->me,
		     &(struct npu_patch){ .p = (char *)a->ptr[NPU_ATTENTION_MASK] +
					       (m->dim[0] == 1 ? 0 : it->b * m->stride[0]) +
					       (m->dim[1] == 1 ? 0 : row->head * m->stride[1]) +
					       (m->dim[2] == 1 ? 0 : t * m->stride[2]) +
					       (m->dim[3] == 1 ? 0 : j * m->stride[3]),
					  .col = m->stride[3],
					  .rows = 1,
					  .cols = n });
	a->vec->binary(s, v, n, NPU_BINARY_ADD);
}

/* The scores of keys [lo, lo + n) of the chunk at @start from dot products; the largest of them. */
static float finish_scores(const struct attention *a, const struct attention_item *it,
			   const struct attention_row *row, npu_u32 start, npu_u32 lo, npu_u32 n,
			   float *s)
{
	float lane[16];
	unsigned int i;

	if (a->cap == 0.0f && a->op[NPU_ATTENTION_MASK].dtype == NPU_NONE)
		return a->attn->scale_max(s, n, a->scale);
	a->vec->scale(s, n, a->scale);
	if (a->cap != 0.0f) {
		a->vec->div(s, n, a->cap);
		a->vec->act(s, n, NPU_ACT_TANH, 0, 0, NULL);
		a->vec->scale(s, n, a->cap);
	}
	if (a->op[NPU_ATTENTION_MASK].dtype != NPU_NONE)
		add_mask(a, it, row, start + lo, n, s);
	a->vec->scale(s, n, ATTN_LOG2E);
	for (i = 0; i < 16; i++)
		lane[i] = -__builtin_inff();
	a->vec->fold16(lane, s, n, NPU_FOLD_MAX);
	return npu_lanes_join(lane, NPU_FOLD_MAX);
}

bool npu_attention_weights(const struct attention *a, struct attention_item *it, npu_u32 r,
			   npu_u32 start, npu_u32 lo, npu_u32 hi)
{
	struct attention_row *row = &it->row[r];
	float *s = it->score + (size_t)r * CHUNK, m, f;
	npu_u32 first = lo & ~15u;

	m = ceilf(finish_scores(a, it, row, start, lo, hi - lo, s + lo));
	if (m == -__builtin_inff())
		return false;
	if (!(m <= row->max)) {
		if (row->max > -__builtin_inff()) {
			f = row->max;
			a->vec->exp2_scaled(&f, 1, m, 1.0f);
			row->sum *= f;
			a->vec->scale(it->acc + (size_t)r * a->v_depth, a->v_depth, f);
		}
		row->max = m;
	}
	row->sum += a->attn->exp2_sum(s + first, hi - first, lo - first, row->max);
	return true;
}

static void chunk(struct npu_exec *x, const struct attention *a, struct attention_item *it,
		  npu_u32 start)
{
	npu_u32 lo[ROWS], hi[ROWS], min = CHUNK, max = 0, r, j, n;
	bool live[ROWS];

	for (r = 0; r < it->num_rows; r++) {
		live[r] = npu_attention_span(&it->row[r], start, &lo[r], &hi[r]);
		if (!live[r])
			continue;
		min = lo[r] < min ? lo[r] : min;
		max = hi[r] > max ? hi[r] : max;
	}
	if (min >= max)
		return;
	scores(x, a, it, start, min, max);
	fetch_cache(x, a, it, NPU_ATTENTION_V, start + min, PIECE);
	for (r = 0; r < it->num_rows; r++)
		live[r] = live[r] && npu_attention_weights(a, it, r, start, lo[r], hi[r]);
	memset(it->part, 0, (size_t)it->num_rows * a->v_depth * sizeof(float));
	for (j = min; j < max && !npu_exec_stopped(x); j += n) {
		n = max - j < PIECE ? max - j : PIECE;
		load_cache(x, a, it, NPU_ATTENTION_V, NPU_ATTENTION_V_SCALE, &a->ve, start + j, n,
			   it->piece);
		fetch_cache(x, a, it, NPU_ATTENTION_V, start + j + n, PIECE);
		for (r = 0; r < it->num_rows; r++) {
			npu_u32 from = lo[r] > j ? lo[r] : j, to = hi[r] < j + n ? hi[r] : j + n;

			if (live[r] && from < to)
				a->vec->axpy_rows(it->part + (size_t)r * a->v_depth,
						  it->score + r * CHUNK + from,
						  it->piece + (size_t)(from - j) * a->v_depth,
						  to - from, a->v_depth);
		}
	}
	for (r = 0; r < it->num_rows; r++)
		if (live[r])
			a->vec->fold(it->acc + (size_t)r * a->v_depth,
				     it->part + (size_t)r * a->v_depth, a->v_depth, NPU_FOLD_SUM);
}

static void rows_end(const struct attention *a, struct attention_item *it)
{
	const struct npu_operand *out = &a->op[NPU_ATTENTION_OUT];
	npu_u32 r;

	for (r = 0; r < it->num_heads * it->num_rows; r++) {
		float *acc = it->acc + (size_t)r * a->v_depth;
		const struct attention_row *row = &it->row[r];

		/* a row that sees no key at all is zero */
		if (row->sum != 0.0f)
			a->vec->div(acc, a->v_depth, row->sum);
		a->vec->store(acc, &a->oe,
			      &(struct npu_patch){ .p = (char *)a->ptr[NPU_ATTENTION_OUT] +
							row->t * out->stride[0] +
							row->head * out->stride[1],
						   .col = out->stride[2],
						   .rows = 1,
						   .cols = a->v_depth });
	}
}

/* The rows from the @first one of the sequence on, of @heads kv heads from @kv_head on. */
static void run_heads(struct npu_exec *x, const struct attention *a, struct attention_item *it,
		      npu_u64 first, npu_u32 kv_head, npu_u32 heads)
{
	bool few = npu_attention_is_few(a, it->seq);
	npu_u32 i, start, lo = ~0u, hi = 0;

	it->kv_head = kv_head;
	it->num_heads = heads;
	for (i = 0; i < heads * it->num_rows; i++) {
		row_begin(a, it, i, first);
		if (few && !i)
			npu_attention_few_begin(x, a, it, it->row[0].lo);
		lo = it->row[i].lo < lo ? it->row[i].lo : lo;
		hi = it->row[i].hi > hi ? it->row[i].hi : hi;
	}
	memset(it->acc, 0, (size_t)heads * it->num_rows * a->v_depth * sizeof(float));
	for (start = lo / CHUNK * CHUNK; start < hi; start += CHUNK) {
		if (npu_exec_stopped(x))
			return;
		if (few)
			npu_attention_few(x, a, it, start);
		else
			chunk(x, a, it, start);
	}
	/* what was left off on the way is what others had in this memory: nobody gets to see it */
	if (!npu_exec_stopped(x))
		rows_end(a, it);
}

/* Item @i: groups of heads of one tile of rows follow each other. */
static void run_item(struct npu_exec *x, const struct attention *a, struct attention_item *it,
		     npu_u64 i)
{
	npu_u32 groups = (a->kv_heads + a->heads_per_item - 1) / a->heads_per_item, n, at, end;
	npu_u64 tile = i / groups, first, total;

	it->b = a->batch - 1;
	while (a->seq[it->b].first_item > tile || a->seq[it->b].q_begin == a->seq[it->b].q_end)
		it->b--;
	it->seq = &a->seq[it->b];
	first = (tile - it->seq->first_item) * ROWS;
	total = (npu_u64)(it->seq->q_end - it->seq->q_begin) * a->group;
	it->num_rows = total - first < ROWS ? (npu_u32)(total - first) : ROWS;
	at = (npu_u32)(i % groups) * a->heads_per_item;
	end = a->kv_heads - at < a->heads_per_item ? a->kv_heads : at + a->heads_per_item;
	for (; at < end; at += n) {
		n = npu_attention_is_few(a, it->seq) ? ROWS / it->num_rows : 1;
		n = n < end - at ? n : end - at;
		run_heads(x, a, it, first, at, n);
	}
}

static void run(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct attention *a = arg;
	npu_u32 wide = a->depth > a->v_depth ? a->depth : a->v_depth;
	struct attention_item it;

	it.q = npu_exec_scratch(x, worker);
	it.score = it.q + (size_t)ROWS * a->depth;
	it.piece = it.score + ROWS * CHUNK;
	it.turned = it.piece + (size_t)PIECE * wide;
	it.acc = it.turned + (size_t)PIECE * wide;
	it.part = it.acc + (size_t)ROWS * a->v_depth;
	for (; begin < end && !npu_exec_stopped(x); begin++)
		run_item(x, a, &it, begin);
}

#define ITEMS	4u	/* for each worker, so that nobody waits long for the last one */

/*
 * Heads of a position lie side by side, so an item takes as many of them as leave enough items; an
 * estimate of the nanoseconds of all.
 */
static double share(struct npu_exec *x, struct attention *a)
{
	double keys = 0, few = 0;
	npu_u32 b;

	for (b = 0; b < a->batch; b++) {
		const struct attention_seq *s = &a->seq[b];
		double n = (double)(s->q_end - s->q_begin) * a->heads * s->kv_len;

		keys += n;
		few += npu_attention_is_few(a, s) ? n : 0;
	}
	if (few > 0)
		npu_exec_path(x, NPU_PATH_ATTENTION_FEW);
	if (keys > few)
		npu_exec_path(x, a->v_depth % 16 || a->depth % 16 ? NPU_PATH_ATTENTION_GENERIC :
								    NPU_PATH_ATTENTION_FAST);
	a->heads_per_item = 1;
	while (a->heads_per_item < a->kv_heads &&
	       a->num_items * a->kv_heads / (2 * a->heads_per_item) >= ITEMS * x->num_workers)
		a->heads_per_item *= 2;
	return keys * (a->depth + a->v_depth) * a->attn->ns;
}

int npu_op_attention(struct npu_exec *x)
{
	const struct npu_operand *op = x->operand, *k = &op[NPU_ATTENTION_K];
	struct attention a = {
		.vec = npu_vec_get(x->simd),
		.op = op,
		.ptr = x->ptr,
		.oe = npu_elem_of(&op[NPU_ATTENTION_OUT]),
		.qe = npu_elem_of(&op[NPU_ATTENTION_Q]),
		.ke = npu_elem_of(k),
		.ve = npu_elem_of(&op[NPU_ATTENTION_V]),
		.me = npu_elem_of(&op[NPU_ATTENTION_MASK]),
		.batch = x->param[NPU_ATTENTION_P_BATCH],
		.heads = op[NPU_ATTENTION_Q].dim[1],
		.kv_heads = k->dim[2],
		.depth = k->dim[3],
		.v_depth = op[NPU_ATTENTION_V].dim[3],
		.len = k->dim[1],
		.block = k->dim[1],
		.max_blocks = 1,
		.scale = npu_exec_param_f32(x, NPU_ATTENTION_P_SCALE),
		.cap = npu_exec_param_f32(x, NPU_ATTENTION_P_SOFT_CAP),
		.causal = x->param[NPU_ATTENTION_P_CAUSAL],
		.window = x->param[NPU_ATTENTION_P_WINDOW],
		.attn = npu_attn_select(x->simd),
		.k_type = npu_attn_type(k, &op[NPU_ATTENTION_K_SCALE]),
		.v_type = npu_attn_type(&op[NPU_ATTENTION_V], &op[NPU_ATTENTION_V_SCALE]),
	};
	npu_u64 items;
	double ns;
	int ret;

	a.group = a.heads / a.kv_heads;
	a.paged = npu_exec_present(x, NPU_ATTENTION_BLOCK_TABLE);
	if (a.paged) {
		a.max_blocks = op[NPU_ATTENTION_BLOCK_TABLE].dim[1];
		a.len = a.block * a.max_blocks;
	}
	if (npu_exec_reserve(x, scratch_floats(&a) * sizeof(float)))
		return -ENOMEM;
	ret = npu_attention_read(x, &a);
	if (ret)
		return ret;
	ns = share(x, &a);
	items = a.num_items * ((a.kv_heads + a.heads_per_item - 1) / a.heads_per_item);
	return npu_exec_parallel(x, items, 300 + ns / (double)(items + !items), run, &a);
}
