// SPDX-License-Identifier: MIT
/*
 * Sampling. Candidates are pairs of an id and a logit, sorted by logit, then id, as far as needed;
 * probabilities come from the engine's own exp and plain sums in order, so that a seed gives the
 * same tokens on every machine.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "llm/runtime.h"
#include "npu_math.h"

struct candidate {
	int32_t id;
	float logit;
	double p;
};

struct npu_llm_sampler {
	struct npu_llm_sampler_options opt;
	uint64_t state;
	struct candidate *list;
	size_t room;
	/* a bit for each token of the vocabulary; zero between calls */
	uint8_t *seen;
	size_t seen_bits;
};

void npu_llm_sampler_options_init(struct npu_llm_sampler_options *o)
{
	*o = (struct npu_llm_sampler_options){
		.size = sizeof(*o), .top_k = 40, .temperature = 0.8f, .top_p = 0.95f,
		.min_p = 0.05f, .repeat_penalty = 1.0f, .repeat_last = 64,
	};
}

static int check_options(const struct npu_llm_sampler_options *o, struct npu_error *err)
{
	if (!(o->temperature >= 0) || isinf(o->temperature))
		return npu_error_set(err, -EINVAL, "temperature is %g, expected 0 or more",
				     (double)o->temperature);
	if (!(o->top_p > 0 && o->top_p <= 1))
		return npu_error_set(err, -EINVAL, "top_p is %g, expected more than 0 and at most 1",
				     (double)o->top_p);
	if (!(o->min_p >= 0 && o->min_p <= 1))
		return npu_error_set(err, -EINVAL, "min_p is %g, expected 0 to 1", (double)o->min_p);
	if (!(o->repeat_penalty > 0) || isinf(o->repeat_penalty))
		return npu_error_set(err, -EINVAL, "repeat_penalty is %g, expected more than 0",
				     (double)o->repeat_penalty);
	return 0;
}

int npu_llm_sampler_create(const struct npu_llm_sampler_options *options,
			   struct npu_llm_sampler **sampler, struct npu_error *err)
{
	struct npu_llm_sampler_options opt;
	struct npu_llm_sampler *s;
	int ret;

	if (!sampler)
		return npu_error_set(err, -EINVAL, "npu_llm_sampler_create: sampler is NULL");
	*sampler = NULL;
	npu_llm_sampler_options_init(&opt);
	ret = options ? npu_struct_read(&opt, sizeof(opt), options, options->size,
					"npu_llm_sampler_options", err) : 0;
	if (!ret)
		ret = check_options(&opt, err);
	if (ret)
		return ret;
	s = calloc(1, sizeof(*s));
	if (!s)
		return npu_error_set(err, -ENOMEM, "no memory for a sampler");
	s->opt = opt;
	s->state = opt.seed;
	*sampler = s;
	return 0;
}

void npu_llm_sampler_destroy(struct npu_llm_sampler *s)
{
	if (!s)
		return;
	free(s->list);
	free(s->seen);
	free(s);
}

/* A generator of 64 bits of state whose output passes for random: any seed will do, 0 too. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* Larger logits first, of equals the smaller id. */
static int before(const struct candidate *a, const struct candidate *b)
{
	return a->logit > b->logit || (a->logit == b->logit && a->id < b->id);
}

static int compare(const void *a, const void *b)
{
	return before(a, b) ? -1 : 1;	/* no two are equal */
}

static int reserve(struct npu_llm_sampler *s, uint32_t vocab)
{
	void *p;

	if (vocab > s->room) {
		p = realloc(s->list, vocab * sizeof(*s->list));
		if (!p)
			return -ENOMEM;
		s->list = p;
		s->room = vocab;
	}
	if (vocab > s->seen_bits) {
		p = calloc(vocab / 8 + 1, 1);
		if (!p)
			return -ENOMEM;
		free(s->seen);
		s->seen = p;
		s->seen_bits = vocab;
	}
	return 0;
}

static void penalize(struct npu_llm_sampler *s, size_t n, const int32_t *recent, size_t num)
{
	float penalty = s->opt.repeat_penalty;
	size_t i;

	if (penalty == 1.0f)
		return;
	if (num > s->opt.repeat_last) {
		recent += num - s->opt.repeat_last;
		num = s->opt.repeat_last;
	}
	for (i = 0; i < num; i++)
		if (recent[i] >= 0 && (size_t)recent[i] < s->seen_bits)
			s->seen[recent[i] / 8] |= (uint8_t)(1 << recent[i] % 8);
	for (i = 0; i < n; i++) {
		struct candidate *c = &s->list[i];

		if (s->seen[c->id / 8] >> c->id % 8 & 1)
			c->logit = c->logit > 0 ? c->logit / penalty : c->logit * penalty;
	}
	for (i = 0; i < num; i++)
		if (recent[i] >= 0 && (size_t)recent[i] < s->seen_bits)
			s->seen[recent[i] / 8] = 0;
}

/* Put @c[@at] where it belongs below it in a heap of @k whose root is the last in the order. */
static void sift(struct candidate *c, size_t k, size_t at)
{
	struct candidate t = c[at];
	size_t child;

	for (; (child = 2 * at + 1) < k; at = child) {
		if (child + 1 < k && before(&c[child], &c[child + 1]))
			child++;
		if (!before(&t, &c[child]))
			break;
		c[at] = c[child];
	}
	c[at] = t;
}

/* The k first of the order into front. */
static void select_top(struct candidate *c, size_t n, size_t k)
{
	size_t i;

	for (i = k / 2; i-- > 0;)
		sift(c, k, i);
	for (i = k; i < n; i++) {
		if (!before(&c[i], &c[0]))
			continue;
		c[0] = c[i];
		sift(c, k, 0);
	}
}

/* p of the @n candidates, which are sorted, at @temperature; they add up to 1 */
static void probabilities(struct candidate *c, size_t n, double temperature)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		double x = ((double)c[i].logit - (double)c[0].logit) / temperature;

		c[i].p = i && !(x > -700) ? 0 : npu_exp_f64(i ? x : 0);
		sum += c[i].p;
	}
	for (i = 0; i < n; i++)
		c[i].p /= sum;
}

static size_t cut(const struct npu_llm_sampler_options *o, struct candidate *c, size_t n)
{
	double sum = 0;
	size_t i;

	if (o->top_p < 1) {
		for (i = 0; i < n && sum < (double)o->top_p; i++)
			sum += c[i].p;
		n = i;
	}
	for (i = 1; i < n && c[i].p >= (double)o->min_p * c[0].p; i++)
		;
	return i < n ? i : n;
}

static int32_t draw(struct npu_llm_sampler *s, const struct candidate *c, size_t n)
{
	double u = (double)(next_random(&s->state) >> 11) * 0x1p-53;
	size_t i;

	for (i = 0; i + 1 < n; i++) {
		if (u < c[i].p)
			break;
		u -= c[i].p;
	}
	return c[i].id;
}

static int32_t largest(const struct candidate *c, size_t n)
{
	size_t i, best = 0;

	for (i = 1; i < n; i++)
		if (before(&c[i], &c[best]))
			best = i;
	return c[best].id;
}

/* The first @k candidates are those that top-k leaves, in order: the rest of the way. */
static int32_t choose(struct npu_llm_sampler *s, size_t k)
{
	probabilities(s->list, k, 1);
	k = cut(&s->opt, s->list, k);
	probabilities(s->list, k, (double)s->opt.temperature);
	return draw(s, s->list, k);
}

uint32_t npu_llm_sampler_top(const struct npu_llm_sampler *s)
{
	if (s->opt.repeat_penalty != 1.0f)
		return 0;
	return s->opt.temperature == 0 ? 1 : s->opt.top_k;
}

int32_t npu_llm_sample_top(struct npu_llm_sampler *s, const float *values, const int32_t *tokens)
{
	uint32_t k = npu_llm_sampler_top(s), i;

	if (reserve(s, k))
		return -ENOMEM;
	for (i = 0; i < k; i++) {
		if (!(values[i] > -INFINITY) || tokens[i] < 0)
			return -EAGAIN;
		s->list[i] = (struct candidate){ tokens[i], values[i], 0 };
	}
	return s->opt.temperature == 0 ? s->list[0].id : choose(s, k);
}

int32_t npu_llm_sample(struct npu_llm_sampler *s, const float *logits, uint32_t vocab,
		       const int32_t *recent, size_t num_recent)
{
	const struct npu_llm_sampler_options *o = &s->opt;
	size_t n = 0, k;
	uint32_t i;

	if (!logits || (!recent && num_recent))
		return -EINVAL;
	if (reserve(s, vocab))
		return -ENOMEM;
	for (i = 0; i < vocab; i++)
		if (logits[i] > -INFINITY)	/* no NaN either */
			s->list[n++] = (struct candidate){ (int32_t)i, logits[i], 0 };
	if (!n)
		return -EINVAL;
	penalize(s, n, recent, num_recent);
	if (o->temperature == 0)
		return largest(s->list, n);
	k = o->top_k && o->top_k < n ? o->top_k : n;
	if (k < n)
		select_top(s->list, n, k);
	qsort(s->list, k, sizeof(*s->list), compare);
	return choose(s, k);
}
