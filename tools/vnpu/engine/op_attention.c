// SPDX-License-Identifier: MIT
/*
 * ATTENTION. An item is up to 16 query rows that share a kv head: pairs of a row t and a head of
 * the group. The cache is gone through in chunks of 512 positions, which the formula knows, and
 * within a chunk in pieces of 32 that are converted once for all rows, which it does not.
 */
#include <math.h>
#include "attention.h"

#define ROWS	NPU_ATTENTION_ROWS
#define CHUNK	512u
#define PIECE	32u
#define LOG2E	1.44269504f

/* A query row in work. */
struct row {
	npu_u32 t, head;
	npu_u32 lo, hi;			/* keys that it sees */
	float max;			/* n, an integer or -inf */
	float sum;
};

struct item {
	const struct attention_seq *seq;
	npu_u32 b, kv_head, num_rows;
	struct row row[ROWS];
	float *q, *score, *piece, *turned, *acc, *part;
};

static size_t scratch_floats(const struct attention *a)
{
	npu_u32 wide = a->depth > a->v_depth ? a->depth : a->v_depth;

	return (size_t)ROWS * a->depth + ROWS * CHUNK + 2 * (size_t)PIECE * wide +
	       2 * (size_t)ROWS * a->v_depth;
}

/* Positions [j, j + n) of the item's cache as n rows of f32. */
static void load_cache(struct npu_exec *x, const struct attention *a, const struct item *it,
		       unsigned int slot, unsigned int scale_slot, const struct npu_elem *elem,
		       npu_u32 j, npu_u32 n, float *dst)
{
	const struct npu_operand *op = &a->op[slot], *so = &a->op[scale_slot];
	npu_u32 depth = op->dim[3], run;

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
		if (so->dtype != NPU_NONE && e.scale == 0.0f)
			memset(dst, 0, depth * sizeof(*dst));
		else
			a->vec->load(dst, &e, &p);
	}
}

/*
 * Have positions [j, j + n) fetched, which are looked at next: a head's part of a position is short,
 * and its next one a row of the cache away, which no processor guesses.
 */
static void fetch_cache(struct npu_exec *x, const struct attention *a, const struct item *it,
			unsigned int slot, npu_u32 j, npu_u32 n)
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

static void rows_begin(const struct attention *a, struct item *it, npu_u64 first)
{
	const struct npu_operand *q = &a->op[NPU_ATTENTION_Q];
	npu_u64 total = (npu_u64)(it->seq->q_end - it->seq->q_begin) * a->group;
	npu_u32 r;

	it->num_rows = total - first < ROWS ? (npu_u32)(total - first) : ROWS;
	for (r = 0; r < it->num_rows; r++) {
		struct row *row = &it->row[r];
		npu_s64 pos, q_len = it->seq->q_end - it->seq->q_begin;

		row->t = it->seq->q_begin + (npu_u32)((first + r) / a->group);
		row->head = it->kv_head * a->group + (npu_u32)((first + r) % a->group);
		pos = a->position ? a->position[row->t] :
				    (npu_s64)it->seq->kv_len - q_len + (row->t - it->seq->q_begin);
		row->hi = it->seq->kv_len;
		if (a->causal && pos + 1 < row->hi)
			row->hi = pos + 1 > 0 ? (npu_u32)(pos + 1) : 0;
		row->lo = a->window && pos - (npu_s64)a->window + 1 > 0 ?
				  (npu_u32)(pos - (npu_s64)a->window + 1) :
				  0;
		row->max = -__builtin_inff();
		row->sum = 0;
		if (a->op[NPU_ATTENTION_SINKS].dtype != NPU_NONE) {
			const struct npu_operand *s = &a->op[NPU_ATTENTION_SINKS];
			float sink;

			memcpy(&sink,
			       (char *)a->ptr[NPU_ATTENTION_SINKS] +
				       (s->dim[0] == 1 ? 0 : row->head * s->stride[0]),
			       sizeof(sink));
			sink *= LOG2E;
			row->max = ceilf(sink);
			if (sink > -__builtin_inff())
				a->vec->exp2_scaled(&sink, 1, row->max, 1.0f);
			row->sum = sink > -__builtin_inff() ? sink : 0.0f;
		}
		a->vec->load(it->q + (size_t)r * a->depth, &a->qe,
			     &(struct npu_patch){ .p = (char *)a->ptr[NPU_ATTENTION_Q] +
						       row->t * q->stride[0] +
						       row->head * q->stride[1],
						  .col = q->stride[2],
						  .rows = 1,
						  .cols = a->depth });
	}
	memset(it->acc, 0, (size_t)it->num_rows * a->v_depth * sizeof(float));
}

/* Keys of the chunk at @start that row sees, relative to it. */
static bool row_span(const struct row *row, npu_u32 start, npu_u32 *lo, npu_u32 *hi)
{
	npu_u32 end = row->hi < start + CHUNK ? row->hi : start + CHUNK;

	*lo = row->lo > start ? row->lo - start : 0;
	*hi = end > start ? end - start : 0;
	return *lo < *hi;
}

/* score[r][j] = dot16(q, k) for the chunk's keys [lo, hi). */
static void scores(struct npu_exec *x, const struct attention *a, struct item *it, npu_u32 start,
		   npu_u32 lo, npu_u32 hi)
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
			if (row_span(&it->row[r], start, &a0, &b0) && a0 < j + PIECE && b0 > j)
				a->vec->dot16_cols(it->score + r * CHUNK + j,
						   it->q + (size_t)r * a->depth, it->turned,
						   a->depth, PIECE, PIECE);
	}
}

static void add_mask(const struct attention *a, const struct item *it, const struct row *row,
		     npu_u32 j, npu_u32 n, float *s)
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

/*
 * From the dot products of a chunk to weights, 0 for keys that are not seen; updates n and the sum,
 * and rescales what was summed before by a power of two. Returns false when no key has any weight.
 */
static bool weights(const struct attention *a, struct item *it, npu_u32 r, npu_u32 start,
		    npu_u32 lo, npu_u32 hi)
{
	struct row *row = &it->row[r];
	float *s = it->score + (size_t)r * CHUNK, lane[16], m, f;
	npu_u32 first = lo & ~15u, i, n = hi - lo;

	a->vec->scale(s + lo, n, a->scale);
	if (a->cap != 0.0f) {
		a->vec->div(s + lo, n, a->cap);
		a->vec->act(s + lo, n, NPU_ACT_TANH, 0, 0, NULL);
		a->vec->scale(s + lo, n, a->cap);
	}
	if (a->op[NPU_ATTENTION_MASK].dtype != NPU_NONE)
		add_mask(a, it, row, start + lo, n, s + lo);
	a->vec->scale(s + lo, n, LOG2E);
	for (i = 0; i < 16; i++)
		lane[i] = -__builtin_inff();
	a->vec->fold16(lane, s + lo, n, NPU_FOLD_MAX);
	m = ceilf(npu_lanes_join(lane, NPU_FOLD_MAX));
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
	for (i = first; i < lo; i++)
		s[i] = 0.0f;
	a->vec->exp2_scaled(s + lo, n, row->max, 1.0f);
	memset(lane, 0, sizeof(lane));
	a->vec->fold16(lane, s + first, hi - first, NPU_FOLD_SUM);
	row->sum += npu_lanes_join(lane, NPU_FOLD_SUM);
	return true;
}

static void chunk(struct npu_exec *x, const struct attention *a, struct item *it, npu_u32 start)
{
	npu_u32 lo[ROWS], hi[ROWS], min = CHUNK, max = 0, r, j, n;
	bool live[ROWS];

	for (r = 0; r < it->num_rows; r++) {
		live[r] = row_span(&it->row[r], start, &lo[r], &hi[r]);
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
		live[r] = live[r] && weights(a, it, r, start, lo[r], hi[r]);
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

static void rows_end(const struct attention *a, struct item *it)
{
	const struct npu_operand *out = &a->op[NPU_ATTENTION_OUT];
	npu_u32 r;

	for (r = 0; r < it->num_rows; r++) {
		float *acc = it->acc + (size_t)r * a->v_depth;
		const struct row *row = &it->row[r];

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

static void run(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct attention *a = arg;
	npu_u32 wide = a->depth > a->v_depth ? a->depth : a->v_depth, r, start;
	struct item it;

	it.q = npu_exec_scratch(x, worker);
	it.score = it.q + (size_t)ROWS * a->depth;
	it.piece = it.score + ROWS * CHUNK;
	it.turned = it.piece + (size_t)PIECE * wide;
	it.acc = it.turned + (size_t)PIECE * wide;
	it.part = it.acc + (size_t)ROWS * a->v_depth;
	for (; begin < end; begin++) {
		npu_u64 in_head = begin % a->items_per_head;
		npu_u32 b = a->batch - 1, lo = ~0u, hi = 0;

		it.kv_head = (npu_u32)(begin / a->items_per_head);
		while (a->seq[b].first_item > in_head || a->seq[b].q_begin == a->seq[b].q_end)
			b--;
		it.b = b;
		it.seq = &a->seq[b];
		rows_begin(a, &it, (in_head - it.seq->first_item) * ROWS);
		for (r = 0; r < it.num_rows; r++) {
			lo = it.row[r].lo < lo ? it.row[r].lo : lo;
			hi = it.row[r].hi > hi ? it.row[r].hi : hi;
		}
		for (start = lo / CHUNK * CHUNK; start < hi; start += CHUNK) {
			if (npu_exec_stopped(x))
				return;
			chunk(x, a, &it, start);
		}
		rows_end(a, &it);
	}
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
	};
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
	npu_exec_path(x, a.v_depth % 16 || a.depth % 16 ? NPU_PATH_ATTENTION_GENERIC :
							  NPU_PATH_ATTENTION_FAST);
	return npu_exec_parallel(x, a.items_per_head * a.kv_heads,
				 500 + ROWS * (double)a.len * (a.depth + a.v_depth) * 0.03, run,
				 &a);
}
