// SPDX-License-Identifier: MIT
/*
 * Sensitivity and budget. Errors of layers add up roughly, so the layers are ordered by the error
 * that each one brings per multiply-accumulate, and stay float from the worst one on; how many of
 * them is found by bisection on the job itself.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/search.h"

#define DEFAULT_PERCENTILE	99.99
/* Samples that each layer is tried with. */
#define SENSITIVITY_SAMPLES	2
/* Share of the work from which on a layer is worth another try. */
#define WORTH_SHARE		0.01
/* Layers that are also tried as the only float one. */
#define SPARED_LAYERS		12

static const char *const methods[NPU_NUM_CALIB_METHODS] = {
	[NPU_CALIB_AUTO] = "auto", [NPU_CALIB_MINMAX] = "minmax",
	[NPU_CALIB_PERCENTILE] = "percentile", [NPU_CALIB_MSE] = "mse", [NPU_CALIB_KL] = "kl",
};

const char *npu_calib_method_name(enum npu_calib_method method)
{
	return (unsigned int)method < NPU_NUM_CALIB_METHODS ? methods[method] : "?";
}

static int advance(struct npu_search *s, double fraction)
{
	return s->progress && s->progress(s->progress_arg, fraction) ? -ECANCELED : 0;
}

static struct npu_qlayers *layers(struct npu_search *s)
{
	return &s->m->c->layers;
}

static void set_all(struct npu_search *s, bool int8)
{
	for (unsigned int i = 0; i < layers(s)->num; i++)
		layers(s)->layer[i].int8 = int8 && !layers(s)->layer[i].fixed_float;
}

/* The first @count of the order float, the others int8. */
static void set_prefix(struct npu_search *s, unsigned int count)
{
	set_all(s, true);
	for (unsigned int i = 0; i < count; i++)
		layers(s)->layer[s->order[i]].int8 = false;
}

static int set_ranges(struct npu_search *s, enum npu_calib_method method, double percentile)
{
	struct npu_calib *c = s->m->c;
	int err = npu_scheme_ranges(&c->instance[0].scheme, &c->stats, method, percentile);

	for (unsigned int i = 1; i < c->num_instances && !err; i++)
		err = npu_scheme_take_ranges(&c->instance[i].scheme, &c->stats);
	return err;
}

/* All layers int8, by every method: the closest wins. */
static int choose_method(struct npu_search *s, const struct npu_quant_options *o)
{
	struct npu_closeness best = { -1, 0 }, now;
	int err = 0;

	s->percentile = o->percentile > 0 ? o->percentile : DEFAULT_PERCENTILE;
	s->method = o->method;
	set_all(s, true);
	for (int i = NPU_CALIB_MINMAX;
	     o->method == NPU_CALIB_AUTO && i < NPU_NUM_CALIB_METHODS && !err; i++) {
		err = set_ranges(s, (enum npu_calib_method)i, s->percentile);
		if (!err)
			err = npu_measure_layers(s->m, s->m->num_samples, &now);
		if (!err && now.cosine > best.cosine) {
			best = now;
			s->method = (enum npu_calib_method)i;
		}
		if (!err)
			err = advance(s, 0.05 * i);
	}
	if (!err)
		err = set_ranges(s, s->method, s->percentile);
	return err ? err : npu_measure_layers(s->m, s->m->num_samples, &s->all_int8);
}

static int measure_alone(struct npu_search *s)
{
	struct npu_qlayers *all = layers(s);
	struct npu_closeness now;
	int err = 0;

	for (unsigned int i = 0; i < all->num && !err; i++) {
		if (all->layer[i].fixed_float)
			continue;
		set_all(s, false);
		all->layer[i].int8 = true;
		err = npu_measure_scores(s->m, SENSITIVITY_SAMPLES, &now);
		s->layer[i].alone = fmax(1 - now.cosine, 0);
		if (!err)
			err = advance(s, 0.2 + 0.5 * i / all->num);
	}
	return err;
}

/* ---- the order ------------------------------------------------------------------------------- */

struct ranked {
	double gain;
	unsigned int layer;
};

static int by_gain(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->gain > y->gain ? -1 : x->gain < y->gain ? 1 : x->layer < y->layer ? -1 : 1;
}

static int rank_layers(struct npu_search *s)
{
	const struct npu_qlayers *all = layers(s);
	struct ranked *r = calloc((size_t)all->num + 1, sizeof(*r));
	unsigned int n = 0;

	s->order = calloc((size_t)all->num + 1, sizeof(*s->order));
	if (!r || !s->order) {
		free(r);
		return -ENOMEM;
	}
	for (unsigned int i = 0; i < all->num; i++) {
		if (!all->layer[i].fixed_float)
			r[n++] = (struct ranked){
				s->layer[i].alone / (double)(all->layer[i].macs + 1), i
			};
	}
	qsort(r, n, sizeof(*r), by_gain);
	for (unsigned int i = 0; i < n; i++)
		s->order[i] = r[i].layer;
	s->num_order = n;
	free(r);
	return 0;
}

/*
 * The other way round, for the first of the order: all int8 but one. It says less, because errors
 * of many layers hide one another, and is shown only.
 */
static int measure_spared(struct npu_search *s)
{
	struct npu_closeness base, now;
	int err;

	set_all(s, true);
	err = npu_measure_scores(s->m, SENSITIVITY_SAMPLES, &base);
	for (unsigned int i = 0; i < s->num_order && i < SPARED_LAYERS && !err; i++) {
		unsigned int k = s->order[i];

		set_all(s, true);
		layers(s)->layer[k].int8 = false;
		err = npu_measure_scores(s->m, SENSITIVITY_SAMPLES, &now);
		s->layer[k].spared = now.cosine - base.cosine;
		if (!err)
			err = advance(s, 0.7 + 0.01 * i);
	}
	return err;
}

/* ---- budgets --------------------------------------------------------------------------------- */

static uint64_t int8_macs(struct npu_search *s)
{
	uint64_t macs = 0;

	for (unsigned int i = 0; i < layers(s)->num; i++)
		macs += layers(s)->layer[i].int8 ? layers(s)->layer[i].macs : 0;
	return macs;
}

/*
 * From the float layer with most work on: int8 after all where the target allows it. Small ones
 * stay as they are: they cost next to nothing, and what the samples show has its limits.
 */
static int take_back(struct npu_search *s, double target)
{
	struct npu_qlayers *all = layers(s);
	struct npu_closeness now;
	int err = 0;

	for (unsigned int tries = 0; tries < 8 && !err; tries++) {
		unsigned int most = all->num;

		for (unsigned int i = 0; i < all->num; i++)
			if (!all->layer[i].int8 && !all->layer[i].fixed_float &&
			    !all->layer[i].tried &&
			    (double)all->layer[i].macs >= WORTH_SHARE * (double)s->macs &&
			    (most == all->num || all->layer[i].macs > all->layer[most].macs))
				most = i;
		if (most == all->num)
			break;
		all->layer[most].int8 = all->layer[most].tried = true;
		err = npu_measure_layers(s->m, s->m->num_samples, &now);
		if (!err && now.cosine >= target)
			s->chosen = now;
		else
			all->layer[most].int8 = false;
	}
	return err;
}

static int by_accuracy(struct npu_search *s, double target)
{
	unsigned int low = 0, high = s->num_order,
		     mid; /* high floats are enough, or all there are */
	int err = 0;

	if (s->all_int8.cosine >= target) {
		set_prefix(s, 0);
		s->chosen = s->all_int8;
		return 0;
	}
	while (low + 1 < high && !err) {
		struct npu_closeness now;

		mid = low + (high - low) / 2;
		set_prefix(s, mid);
		err = npu_measure_layers(s->m, s->m->num_samples, &now);
		*(now.cosine >= target ? &high : &low) = mid;
		if (!err)
			err = advance(s, 0.92);
	}
	set_prefix(s, high);
	if (!err)
		err = npu_measure_layers(s->m, s->m->num_samples, &s->chosen);
	return err || s->chosen.cosine < target ? err : take_back(s, target);
}

static int by_speed(struct npu_search *s, double share)
{
	double room = (double)s->macs * (1 - share);

	for (unsigned int i = 0; i < layers(s)->num; i++)
		if (layers(s)->layer[i].fixed_float)
			room -= (double)layers(s)->layer[i].macs;
	set_all(s, true);
	for (unsigned int i = 0; i < s->num_order; i++) {
		struct npu_qlayer *l = &layers(s)->layer[s->order[i]];

		if ((double)l->macs > room || s->layer[s->order[i]].alone <= 0)
			continue;
		l->int8 = false;
		room -= (double)l->macs;
	}
	return npu_measure_layers(s->m, s->m->num_samples, &s->chosen);
}

static int measure_inside(struct npu_search *s)
{
	double *error = calloc((size_t)layers(s)->num + 1, sizeof(*error));
	int err = error ? 0 : -ENOMEM;

	for (unsigned int i = 0; i < layers(s)->num && !err; i++)
		error[i] = NAN;
	if (!err)
		err = npu_measure_inside(s->m, error);
	for (unsigned int i = 0; i < layers(s)->num && !err; i++)
		s->layer[i].inside = error[i];
	free(error);
	return err;
}

int npu_search_run(struct npu_search *s, const struct npu_quant_options *o, uint64_t macs)
{
	double value = o->budget == NPU_BUDGET_DEFAULT ? NPU_QUANT_ACCURACY : o->budget_value;
	int err;

	s->macs = macs;
	s->layer = calloc((size_t)layers(s)->num + 1, sizeof(*s->layer));
	if (!s->layer)
		return -ENOMEM;
	for (unsigned int i = 0; i < layers(s)->num; i++)
		s->layer[i].inside = s->layer[i].spared = NAN;
	err = choose_method(s, o);
	if (!err)
		err = measure_alone(s);
	if (!err)
		err = rank_layers(s);
	if (!err)
		err = measure_spared(s);
	if (!err)
		err = o->budget == NPU_BUDGET_SPEED ? by_speed(s, value) : by_accuracy(s, value);
	s->int8_macs = int8_macs(s);
	return err ? err : measure_inside(s);
}

void npu_search_fini(struct npu_search *s)
{
	free(s->layer);
	free(s->order);
	memset(s, 0, sizeof(*s));
}
