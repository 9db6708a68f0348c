// SPDX-License-Identifier: MIT
/*
 * Sampling against distributions that are computed here, plainly and over the whole vocabulary:
 * what may come never comes too often or too seldom, what was cut never comes.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "npu_llm.h"
#include "tap.h"

#define VOCAB	200
#define DRAWS	40000

static float logits[VOCAB];

/* Rank of token i: how many come before it. */
static int rank(const double *v, int i)
{
	int k, n = 0;

	for (k = 0; k < VOCAB; k++)
		n += v[k] > v[i] || (v[k] == v[i] && k < i);
	return n;
}

static void normalize(double *p)
{
	double sum = 0;
	int i;

	for (i = 0; i < VOCAB; i++)
		sum += p[i];
	for (i = 0; i < VOCAB; i++)
		p[i] /= sum;
}

/* Probabilities of all tokens, 0 of those that are cut, as the header describes it. */
static void expected(const struct npu_llm_sampler_options *o, const int32_t *recent, int num,
		     double *p)
{
	double v[VOCAB], e[VOCAB], above, max = -INFINITY;
	int i, k, from = num > (int)o->repeat_last ? num - (int)o->repeat_last : 0;
	bool keep[VOCAB];

	for (i = 0; i < VOCAB; i++) {
		bool seen = false;

		for (k = from; k < num; k++)
			seen |= recent[k] == i;
		v[i] = !seen	     ? (double)logits[i] :
		       logits[i] > 0 ? (double)(logits[i] / o->repeat_penalty) :
				       (double)(logits[i] * o->repeat_penalty);
		max = v[i] > max ? v[i] : max;
	}
	for (i = 0; i < VOCAB; i++)
		e[i] = !o->top_k || rank(v, i) < (int)o->top_k ? exp(v[i] - max) : 0;
	normalize(e);
	for (i = 0; i < VOCAB; i++) {
		above = 0;	/* of those before it */
		for (k = 0; k < VOCAB; k++)
			above += rank(v, k) < rank(v, i) ? e[k] : 0;
		keep[i] = e[i] > 0 && (o->top_p >= 1 || above < (double)o->top_p);
	}
	above = 0;
	for (i = 0; i < VOCAB; i++)
		above = e[i] > above ? e[i] : above;
	for (i = 0; i < VOCAB; i++)
		p[i] = keep[i] && e[i] >= (double)o->min_p * above ?
			       exp((v[i] - max) / (double)o->temperature) : 0;
	normalize(p);
}

static void check(const char *what, struct npu_llm_sampler_options o, const int32_t *recent,
		  int num)
{
	unsigned int count[VOCAB] = { 0 }, outside = 0;
	struct npu_llm_sampler *s = NULL;
	double p[VOCAB], chi = 0, rest = 0, rest_p = 0;
	int i, freedom = 0, kept = 0;

	expected(&o, recent, num, p);
	if (!tap_ok(!npu_llm_sampler_create(&o, &s, NULL), "%s: a sampler", what))
		return;
	for (i = 0; i < DRAWS; i++) {
		int32_t t = npu_llm_sample(s, logits, VOCAB, recent, (size_t)num);

		if (t < 0 || t >= VOCAB || p[t] == 0)
			outside++;
		else
			count[t]++;
	}
	for (i = 0; i < VOCAB; i++) {
		kept += p[i] > 0;
		if (p[i] * DRAWS < 10) {	/* too rare by itself */
			rest += count[i];
			rest_p += p[i];
			continue;
		}
		chi += pow(count[i] - p[i] * DRAWS, 2) / (p[i] * DRAWS);
		freedom++;
	}
	if (rest_p * DRAWS >= 10) {
		chi += pow(rest - rest_p * DRAWS, 2) / (rest_p * DRAWS);
		freedom++;
	}
	/* five standard deviations of the distribution of chi squared */
	tap_ok(!outside && chi < freedom - 1 + 5 * sqrt(2.0 * freedom) + 5,
	       "%s: %d tokens kept, %u outside, chi squared %.1f of %d", what, kept, outside, chi,
	       freedom);
	npu_llm_sampler_destroy(s);
}

static struct npu_llm_sampler_options plain(void)
{
	struct npu_llm_sampler_options o;

	npu_llm_sampler_options_init(&o);
	o.top_k = 0;
	o.top_p = 1;
	o.min_p = 0;
	o.temperature = 1;
	o.seed = 12345;
	return o;
}

static void check_distributions(void)
{
	struct npu_llm_sampler_options o = plain();
	int32_t recent[90];
	int i;

	for (i = 0; i < 90; i++)
		recent[i] = i * 7 % VOCAB;
	check("all", o, NULL, 0);
	o.temperature = 0.6f;
	check("temperature 0.6", o, NULL, 0);
	o.temperature = 1.7f;
	o.top_k = 12;
	check("temperature 1.7, top-k 12", o, NULL, 0);
	o = plain();
	o.top_p = 0.8f;
	check("top-p 0.8", o, NULL, 0);
	o = plain();
	o.min_p = 0.1f;
	check("min-p 0.1", o, NULL, 0);
	o = plain();
	o.repeat_penalty = 1.6f;
	check("penalty 1.6 of 64 tokens", o, recent, 90);
	o.repeat_last = 5;
	check("penalty of 5 tokens", o, recent, 90);
	npu_llm_sampler_options_init(&o);
	o.repeat_penalty = 1.2f;
	check("all together", o, recent, 90);
}

static int32_t once(struct npu_llm_sampler_options o, const float *v, const int32_t *recent,
		    int num)
{
	struct npu_llm_sampler *s;
	int32_t t;

	if (npu_llm_sampler_create(&o, &s, NULL))
		return -1000;
	t = npu_llm_sample(s, v, VOCAB, recent, (size_t)num);
	npu_llm_sampler_destroy(s);
	return t;
}

static void check_greedy(void)
{
	struct npu_llm_sampler_options o = plain();
	float v[VOCAB];
	int32_t recent[1] = { 77 };
	int i;

	o.temperature = 0;
	for (i = 0; i < VOCAB; i++)
		v[i] = i == 77 || i == 140 ? 5 : -1;
	tap_ok(once(o, v, NULL, 0) == 77, "greedy takes the first of equals");
	o.repeat_penalty = 1.1f;
	tap_ok(once(o, v, recent, 1) == 140, "but for the penalty");
	v[3] = NAN;
	tap_ok(once(o, v, NULL, 0) == 77, "no number is not chosen");
	for (i = 0; i < VOCAB; i++)
		v[i] = i % 2 ? NAN : -INFINITY;
	tap_ok(once(o, v, NULL, 0) == -EINVAL && once(plain(), v, NULL, 0) == -EINVAL,
	       "nothing to choose from");
	v[9] = -3;
	tap_ok(once(plain(), v, NULL, 0) == 9, "one to choose from");
	for (i = 0; i < VOCAB; i++)
		v[i] = i;
	o = plain();
	o.top_k = 1;
	tap_ok(once(o, v, NULL, 0) == VOCAB - 1, "top-k 1 is greedy");
}

static void check_seeds(void)
{
	struct npu_llm_sampler_options o = plain();
	struct npu_llm_sampler *a, *b, *c;
	int i, equal = 0, differ = 0;

	npu_llm_sampler_create(&o, &a, NULL);
	npu_llm_sampler_create(&o, &b, NULL);
	o.seed++;
	npu_llm_sampler_create(&o, &c, NULL);
	for (i = 0; i < 100; i++) {
		int32_t x = npu_llm_sample(a, logits, VOCAB, NULL, 0);

		equal += x == npu_llm_sample(b, logits, VOCAB, NULL, 0);
		differ += x != npu_llm_sample(c, logits, VOCAB, NULL, 0);
	}
	tap_ok(equal == 100 && differ > 50, "a seed repeats, another does not (%d of 100 differ)", differ);
	npu_llm_sampler_destroy(a);
	npu_llm_sampler_destroy(b);
	npu_llm_sampler_destroy(c);
}

static void check_refused(const char *name, struct npu_llm_sampler_options o)
{
	struct npu_error err = { .text = "" };
	struct npu_llm_sampler *s;

	tap_ok(npu_llm_sampler_create(&o, &s, &err) == -EINVAL && !s && strstr(err.text, name),
	       "refused: %s", err.text);
}

static void check_options(void)
{
	struct npu_llm_sampler_options o = plain();

	o.temperature = -0.1f;
	check_refused("temperature", o);
	o.temperature = NAN;
	check_refused("temperature", o);
	o = plain();
	o.top_p = 0;
	check_refused("top_p", o);
	o.top_p = 1.01f;
	check_refused("top_p", o);
	o = plain();
	o.min_p = 2;
	check_refused("min_p", o);
	o = plain();
	o.repeat_penalty = 0;
	check_refused("repeat_penalty", o);
}

int main(void)
{
	uint32_t state = 7;
	int i;

	for (i = 0; i < VOCAB; i++) {
		state = state * 1664525 + 1013904223;
		logits[i] = (float)(int)(state >> 20) / 512.0f - 3;
	}
	logits[50] = logits[20];	/* equal ones */
	check_distributions();
	check_greedy();
	check_seeds();
	check_options();
	return tap_done();
}
