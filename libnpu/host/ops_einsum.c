// SPDX-License-Identifier: MIT
/* Einsum: a sum of products over the letters of an equation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/dense.h"
#include "host/einsum.h"

#define MAX_LETTERS	NPU_EINSUM_DOTS

struct sizes {
	int64_t size[NPU_EINSUM_LABELS];
	bool used[NPU_EINSUM_LABELS];
};

static int label_of(char c)
{
	return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? c - 'A' + 26 : -1;
}

/* One term, up to a comma, an arrow or the end. @rank < 0: any (the result). */
static const char *parse_term(struct npu_einsum *e, int term, const char *p, int rank)
{
	int letters = 0, i, n = 0;
	const char *q;

	for (q = p; *q && *q != ',' && *q != '-'; q++)
		letters += label_of(*q) >= 0;
	for (; *p && *p != ',' && *p != '-'; p++) {
		if (*p == ' ')
			continue;
		if (!strncmp(p, "...", 3)) {
			int have = rank < 0 ? e->dots : rank - letters;

			if (have < 0 || have + n > NPU_EINSUM_RANK)
				return NULL;
			e->dots = have > e->dots ? have : e->dots;
			/* aligned at the last, as broadcasting is */
			for (i = 0; i < have; i++)
				e->label[term][n++] = NPU_EINSUM_DOTS + NPU_EINSUM_RANK - have + i;
			p += 2;
		} else if (label_of(*p) < 0 || n >= NPU_EINSUM_RANK) {
			return NULL;
		} else {
			e->label[term][n++] = label_of(*p);
		}
	}
	e->rank[term] = n;
	return rank < 0 || rank == n ? p : NULL;
}

/* Without an arrow the result has the dots and the letters that occur once, in order. */
static void implicit_result(struct npu_einsum *e)
{
	int count[NPU_EINSUM_LABELS] = { 0 }, t, i, n = 0;

	for (t = 0; t < e->num_terms; t++)
		for (i = 0; i < e->rank[t]; i++)
			count[e->label[t][i]]++;
	for (i = 0; i < e->dots; i++)
		e->label[NPU_EINSUM_RESULT][n++] = NPU_EINSUM_DOTS + NPU_EINSUM_RANK - e->dots + i;
	/* capitals sort before small letters */
	for (i = 0; i < MAX_LETTERS && n < NPU_EINSUM_RANK; i++)
		if (count[(i + 26) % MAX_LETTERS] == 1)
			e->label[NPU_EINSUM_RESULT][n++] = (i + 26) % MAX_LETTERS;
	e->rank[NPU_EINSUM_RESULT] = n;
}

bool npu_einsum_parse(struct npu_einsum *e, const char *p, int num_terms, const int *rank)
{
	int t;

	memset(e, 0, sizeof(*e));
	e->num_terms = num_terms;
	if (num_terms < 1 || num_terms > NPU_EINSUM_TERMS)
		return false;
	for (t = 0; t < num_terms; t++) {
		p = parse_term(e, t, p, rank[t]);
		if (!p || (t + 1 < num_terms && *p++ != ','))
			return false;
	}
	if (!*p) {
		implicit_result(e);
		return true;
	}
	if (p[0] != '-' || p[1] != '>')
		return false;
	p = parse_term(e, NPU_EINSUM_RESULT, p + 2, -1);
	return p && !*p;
}

static int find_sizes(const struct npu_einsum *e, struct sizes *s, const struct npu_host_call *call,
		      struct npu_error *err)
{
	uint32_t t, d;
	int i;

	memset(s, 0, sizeof(*s));
	for (t = 0; t < call->num_in; t++)
		for (d = 0; d < call->in[t].rank; d++) {
			int l = e->label[t][d];
			int64_t n = call->in[t].dim[d];

			if (s->used[l] && n != s->size[l] && n != 1 && s->size[l] != 1)
				return npu_host_fail(
					call, err, -EINVAL,
					"dimension %u of '%s' is %lld, the same letter elsewhere %lld",
					d, call->in[t].name, (long long)n, (long long)s->size[l]);
			if (!s->used[l] || s->size[l] == 1)
				s->size[l] = n;
			s->used[l] = true;
		}
	for (i = 0; i < e->rank[NPU_EINSUM_RESULT]; i++)
		if (!s->used[e->label[NPU_EINSUM_RESULT][i]])
			return npu_host_fail(call, err, -EINVAL,
					     "a letter of the result is in no term");
	if (e->rank[NPU_EINSUM_RESULT] != (int)call->out[0].rank)
		return npu_host_fail(call, err, -EINVAL, "the result has rank %u, the equation %d",
				     call->out[0].rank, e->rank[NPU_EINSUM_RESULT]);
	return 0;
}

/* What one step along each loop means for a tensor: dims with the same letter add up. */
static void term_strides(const struct npu_einsum *e, int term, const struct npu_host_tensor *t,
			 const int *loop, uint32_t loops, int64_t *stride)
{
	int64_t own[NPU_HOST_RANK];
	uint32_t l;
	int d;

	npu_host_strides(t, own);
	for (l = 0; l < loops; l++)
		for (stride[l] = 0, d = 0; d < e->rank[term]; d++)
			if (e->label[term][d] == loop[l] && t->dim[d] != 1)
				stride[l] += own[d];
}

/* Loops: the result's letters, then the summed ones. Returns how many; @outer: of the result. */
static uint32_t loops_of(const struct npu_einsum *e, const struct sizes *s, int *loop, int64_t *dim,
			 uint32_t *outer)
{
	bool done[NPU_EINSUM_LABELS] = { false };
	uint32_t n = 0;
	int i;

	for (i = 0; i < e->rank[NPU_EINSUM_RESULT]; i++) {
		loop[n] = e->label[NPU_EINSUM_RESULT][i];
		done[loop[n++]] = true;
	}
	*outer = n;
	for (i = 0; i < NPU_EINSUM_LABELS; i++)
		if (s->used[i] && !done[i])
			loop[n++] = i;
	for (i = 0; i < (int)n; i++)
		dim[i] = s->size[loop[i]];
	return n;
}

int npu_host_einsum(const struct npu_host_call *call, struct npu_error *err)
{
	const char *equation = npu_host_string(call, "equation", "");
	int64_t dim[NPU_EINSUM_LABELS], stride[NPU_EINSUM_TERMS][NPU_EINSUM_LABELS],
		index[NPU_EINSUM_LABELS] = { 0 }, sums = 1, i, k;
	int loop[NPU_EINSUM_LABELS], rank[NPU_EINSUM_TERMS] = { 0 }, ret;
	uint32_t loops, outer, t;
	struct npu_einsum e;
	struct sizes s;
	bool whole = !npu_host_is_float(call->out[0].dtype);

	for (t = 0; t < call->num_in && t < NPU_EINSUM_TERMS; t++)
		rank[t] = (int)call->in[t].rank;
	if (!npu_einsum_parse(&e, equation, (int)call->num_in, rank))
		return npu_host_fail(call, err, -EINVAL,
				     "equation '%.100s' does not fit its inputs", equation);
	ret = find_sizes(&e, &s, call, err);
	if (ret)
		return ret;
	loops = loops_of(&e, &s, loop, dim, &outer);
	ret = npu_host_want(call, &call->out[0], 0, outer, dim, err);
	if (ret)
		return ret;
	for (t = 0; t < call->num_in; t++)
		term_strides(&e, (int)t, &call->in[t], loop, loops, stride[t]);
	for (i = outer; i < loops; i++)
		sums *= dim[i];
	for (i = 0; i < npu_host_elems(&call->out[0]) && !ret; i++) {
		double sum = 0;
		uint64_t isum = 0;

		ret = NPU_HOST_NOW_AND_THEN(i, call, err);
		for (k = 0; k < sums && !ret; k++) {
			double v = 1;
			uint64_t iv = 1;

			for (t = 0; t < call->num_in; t++) {
				int64_t at = npu_host_offset(loops, index, stride[t]);

				if (whole)
					iv *= (uint64_t)npu_host_get_int(&call->in[t], at);
				else
					v *= npu_host_get(&call->in[t], at);
			}
			ret = NPU_HOST_NOW_AND_THEN(k + 1, call, err);
			sum += v;
			isum += iv;
			npu_host_next(loops, dim, index);
		}
		if (!sums)
			npu_host_next(outer, dim, index);
		if (whole)
			npu_host_set_int(&call->out[0], i, (int64_t)isum);
		else
			npu_host_set(&call->out[0], i, sum);
	}
	return ret;
}
