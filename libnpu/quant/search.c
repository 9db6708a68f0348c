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

#include "quant/means.h"
#include "quant/search.h"

#define DEFAULT_PERCENTILE	99.99
/* Samples that each layer is tried with, and, once more, those that may matter. */
#define FEW_SAMPLES		4
#define MANY_SAMPLES		8
/* Steps that the float share of a speed budget is dealt out in. */
#define ROOM_STEPS		4096
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

/*
 * How far away outputs are: all samples together, or half of what the worst of them is: others like
 * it will come.
 */
static double distance(const struct npu_closeness *c)
{
	return fmax(1 - c->pooled, (1 - c->cosine) / 2);
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

/* The first @count layers of the order. */
static int measure_alone(struct npu_search *s, unsigned int count, unsigned int samples,
			 double progress, double part)
{
	struct npu_closeness now;
	int err = 0;

	for (unsigned int i = 0; i < count && !err; i++) {
		const unsigned int k = s->order[i];

		set_all(s, false);
		layers(s)->layer[k].int8 = true;
		err = npu_measure_alone(s->m, samples, &now);
		s->layer[k].alone = fmax(distance(&now), 0);
		if (!err)
			err = advance(s, progress + part * i / count);
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

	if (!r)
		return -ENOMEM;
	for (unsigned int i = 0; i < s->num_order; i++) {
		unsigned int k = s->order[i];

		r[i].gain = s->layer[k].alone / (double)(all->layer[k].macs + 1);
		r[i].layer = k;
	}
	qsort(r, s->num_order, sizeof(*r), by_gain);
	for (unsigned int i = 0; i < s->num_order; i++)
		s->order[i] = r[i].layer;
	free(r);
	return 0;
}

/* ---- the method ------------------------------------------------------------------------------ */

static int set_method(struct npu_search *s, enum npu_calib_method method)
{
	return npu_calib_choose(s->m->c, (struct npu_qsetting){ method, NPU_CALIB_ALL_PARTS });
}

/* May the ranges of a tensor be by @method? */
static bool is_tried(const struct npu_search *s, enum npu_calib_method method)
{
	if (s->method == NPU_CALIB_AUTO)
		return method == NPU_CALIB_MINMAX || method == NPU_CALIB_MSE;
	return method == s->method;
}

/*
 * Ranges and means of channels. With a single sample nothing can tell methods apart: then nothing
 * that it shows is clipped.
 */
static int prepare_methods(struct npu_search *s, const struct npu_quant_options *o)
{
	const struct npu_lower plain = { .precision = NPU_PRECISION_F32 };
	struct npu_calib *c = s->m->c;
	unsigned int tried = 0;
	int err = 0;

	s->percentile = o->percentile > 0 ? o->percentile : DEFAULT_PERCENTILE;
	s->method = o->method == NPU_CALIB_AUTO && c->stats.parts < 2 ? NPU_CALIB_MINMAX :
									o->method;
	for (int m = NPU_CALIB_MINMAX; m < NPU_NUM_CALIB_METHODS && !err; m++) {
		if (!is_tried(s, (enum npu_calib_method)m))
			continue;
		tried |= 1u << m;
		err = npu_scheme_ranges(&c->instance[0].scheme, &c->stats, (enum npu_calib_method)m,
					s->percentile);
	}
	for (unsigned int k = 0; k < layers(s)->num; k++)
		layers(s)->layer[k].method = s->method;
	if (!err)
		err = npu_means_collect(c, s->m->d, &plain, tried);
	return err || s->method == NPU_CALIB_AUTO ? err : set_method(s, s->method);
}

/*
 * Each layer is tried by itself with either method, on samples that the ranges are not from, or the
 * method that follows the samples most closely would look best; its tensor gets the best one.
 */
static int choose_methods(struct npu_search *s)
{
	struct npu_calib *c = s->m->c;
	double(*error)[NPU_NUM_CALIB_METHODS] = calloc((size_t)layers(s)->num + 1, sizeof(*error));
	int err = error ? 0 : -ENOMEM;

	for (int m = NPU_CALIB_MINMAX; m < NPU_NUM_CALIB_METHODS && !err; m++) {
		if (!is_tried(s, (enum npu_calib_method)m))
			continue;
		err = set_method(s, (enum npu_calib_method)m);
		if (!err)
			err = measure_alone(s, s->num_order, FEW_SAMPLES, 0.1 * m, 0.2);
		for (unsigned int k = 0; k < layers(s)->num; k++)
			error[k][m] = s->layer[k].alone;
	}
	if (!err) {
		npu_scheme_methods(&c->instance[0].scheme, &c->stats, layers(s), error);
		err = set_method(s, NPU_CALIB_AUTO);
	}
	for (unsigned int k = 0; k < layers(s)->num && !err; k++)
		s->layer[k].alone = error[k][layers(s)->layer[k].method];
	free(error);
	return err;
}

/* Every layer whose type is free is tried by itself, those that may have to be float more often. */
static int order_layers(struct npu_search *s)
{
	int err = s->method == NPU_CALIB_AUTO ?
			  choose_methods(s) :
			  measure_alone(s, s->num_order, FEW_SAMPLES, 0.1, 0.4);

	if (!err)
		err = rank_layers(s);
	if (!err && s->m->num_samples > FEW_SAMPLES)
		err = measure_alone(s, (s->num_order + 1) / 2, MANY_SAMPLES, 0.5, 0.2);
	return err ? err : rank_layers(s);
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
	err = npu_measure_alone(s->m, FEW_SAMPLES, &base);
	for (unsigned int i = 0; i < s->num_order && i < SPARED_LAYERS && !err; i++) {
		unsigned int k = s->order[i];

		set_all(s, true);
		layers(s)->layer[k].int8 = false;
		err = npu_measure_alone(s->m, FEW_SAMPLES, &now);
		s->layer[k].spared = now.pooled - base.pooled;
		if (!err)
			err = advance(s, 0.75 + 0.01 * i);
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

static bool near_enough(const struct npu_closeness *c, double target)
{
	return distance(c) <= 1 - target;
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
		if (!err && near_enough(&now, target))
			s->chosen = now;
		else
			all->layer[most].int8 = false;
	}
	return err;
}

static int by_accuracy(struct npu_search *s, double target)
{
	/* high floats are enough, or all there are */
	unsigned int low = 0, high = s->num_order, mid;
	int err = 0;

	if (near_enough(&s->all_int8, target)) {
		set_prefix(s, 0);
		s->chosen = s->all_int8;
		return 0;
	}
	while (low + 1 < high && !err) {
		struct npu_closeness now;

		mid = low + (high - low) / 2;
		set_prefix(s, mid);
		err = npu_measure_layers(s->m, s->m->num_samples, &now);
		*(near_enough(&now, target) ? &high : &low) = mid;
		if (!err)
			err = advance(s, 0.92);
	}
	set_prefix(s, high);
	if (!err)
		err = npu_measure_layers(s->m, s->m->num_samples, &s->chosen);
	return err || !near_enough(&s->chosen, target) ? err : take_back(s, target);
}

/*
 * Float layers of at most @room multiply-accumulates that take most of the error away: for every
 * step of room the best that the layers so far can do, and then the way back.
 */
static int fill_room(struct npu_search *s, double room)
{
	bool(*taken)[ROOM_STEPS + 1] = calloc((size_t)s->num_order + 1, sizeof(*taken));
	double *best = calloc(ROOM_STEPS + 1, sizeof(*best));
	const double step = room / ROOM_STEPS;
	unsigned int at = ROOM_STEPS;

	for (unsigned int i = 0; taken && best && i < s->num_order; i++) {
		double steps = ceil((double)layers(s)->layer[s->order[i]].macs / step);
		double gain = s->layer[s->order[i]].alone;

		for (unsigned int u = ROOM_STEPS; gain > 0 && (double)u >= steps; u--)
			if (best[u - (unsigned int)steps] + gain > best[u]) {
				best[u] = best[u - (unsigned int)steps] + gain;
				taken[i][u] = true;
			}
	}
	for (unsigned int i = s->num_order; taken && best && i-- > 0;) {
		struct npu_qlayer *l = &layers(s)->layer[s->order[i]];

		if (!taken[i][at])
			continue;
		l->int8 = false;
		at -= (unsigned int)ceil((double)l->macs / step);
	}
	free(best);
	free(taken);
	return taken && best ? 0 : -ENOMEM;
}

static int by_speed(struct npu_search *s, double share)
{
	double room = (double)s->macs * (1 - share);
	int err = 0;

	for (unsigned int i = 0; i < layers(s)->num; i++)
		if (layers(s)->layer[i].fixed_float)
			room -= (double)layers(s)->layer[i].macs;
	set_all(s, true);
	if (room > 0)
		err = fill_room(s, room);
	return err ? err : npu_measure_layers(s->m, s->m->num_samples, &s->chosen);
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

static int list_layers(struct npu_search *s)
{
	s->layer = calloc((size_t)layers(s)->num + 1, sizeof(*s->layer));
	s->order = calloc((size_t)layers(s)->num + 1, sizeof(*s->order));
	if (!s->layer || !s->order)
		return -ENOMEM;
	for (unsigned int i = 0; i < layers(s)->num; i++) {
		s->layer[i].inside = s->layer[i].spared = NAN;
		if (!layers(s)->layer[i].fixed_float)
			s->order[s->num_order++] = i;
	}
	return 0;
}

int npu_search_run(struct npu_search *s, const struct npu_quant_options *o, uint64_t macs)
{
	double value = o->budget == NPU_BUDGET_DEFAULT ? NPU_QUANT_ACCURACY : o->budget_value;
	int err;

	s->macs = macs;
	err = list_layers(s);
	if (!err)
		err = prepare_methods(s, o);
	if (!err)
		err = order_layers(s);
	set_all(s, true);
	if (!err)
		err = npu_measure_layers(s->m, s->m->num_samples, &s->all_int8);
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
