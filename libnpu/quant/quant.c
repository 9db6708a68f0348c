// SPDX-License-Identifier: MIT
/* From samples to a choice, and the choice onto graphs. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/quant_priv.h"

void npu_quant_options_init(struct npu_quant_options *options)
{
	memset(options, 0, sizeof(*options));
	options->size = sizeof(*options);
}

static int check_values(const struct npu_quant_options *o, struct npu_diag *diag)
{
	if (!o->num_samples || !o->samples)
		return npu_diag_add(
			diag, -EINVAL, "calib",
			"int8 needs the ranges of activations: give calibration samples (--calib)");
	if ((unsigned int)o->method >= NPU_NUM_CALIB_METHODS)
		return npu_diag_add(diag, -EINVAL, "calib_method", "%d is none", (int)o->method);
	if (o->percentile != 0 && !(o->percentile >= 50 && o->percentile <= 100))
		return npu_diag_add(diag, -EINVAL, "percentile", "%g, expected 50 to 100",
				    o->percentile);
	if ((unsigned int)o->budget > NPU_BUDGET_SPEED)
		return npu_diag_add(diag, -EINVAL, "budget", "%d is none", (int)o->budget);
	if (o->budget != NPU_BUDGET_DEFAULT && !(o->budget_value >= 0 && o->budget_value <= 1))
		return npu_diag_add(diag, -EINVAL, "budget", "%g, expected 0 to 1",
				    o->budget_value);
	if (o->num_float_nodes && !o->float_nodes)
		return npu_diag_add(diag, -EINVAL, "float_nodes", "NULL with num_float_nodes %u",
				    o->num_float_nodes);
	return 0;
}

int npu_quant_options_check(const struct npu_quant_options *in, struct npu_quant_options *out,
			    struct npu_diag *diag)
{
	npu_quant_options_init(out);
	if (in->size != sizeof(*in))
		return npu_diag_add(diag, -EINVAL, "quant options",
				    "size is %zu, expected %zu: use npu_quant_options_init()",
				    in->size, sizeof(*in));
	*out = *in;
	return check_values(out, diag);
}

/* ---- making ---------------------------------------------------------------------------------- */

struct stage {
	const struct npu_quant_setup *setup;
	const char *name;
};

static int stage_progress(void *arg, double fraction)
{
	const struct stage *s = arg;

	return s->setup->progress ? s->setup->progress(s->setup->progress_arg, s->name, fraction) :
				    0;
}

/* Is @name one of the model's nodes that graph node @n stands for? */
static bool stands_for(const struct npu_gnode *n, const char *name)
{
	for (unsigned int i = 0; i < n->num_sources; i++)
		if (!strcmp(n->sources[i], name))
			return true;
	return !strcmp(n->name, name);
}

static int keep_float(struct npu_quant *q)
{
	struct npu_qlayers *all = &q->calib.layers;
	const struct npu_scheme *s = &q->calib.instance[0].scheme;

	for (unsigned int i = 0; i < q->setup.options.num_float_nodes; i++) {
		const char *name = q->setup.options.float_nodes[i];
		bool found = false;

		for (unsigned int k = 0; k < all->num; k++) {
			if (!s->node[k] || !stands_for(s->node[k], name))
				continue;
			all->layer[k].fixed_float = found = true;
			all->layer[k].why = "as the options say";
		}
		if (!found)
			return npu_diag_add(q->setup.diag, -EINVAL, "float_nodes",
					    "there is no convolution or matrix product '%.80s'",
					    name);
	}
	return 0;
}

static uint64_t graph_macs(const struct npu_graph *g)
{
	int64_t scalars[NPU_GRAPH_MAX_SYMS] = { 0 };
	uint64_t macs = 0;

	for (unsigned int i = 0; i < g->num_nodes; i++)
		macs += (uint64_t)npu_gnode_macs(g->nodes[i], scalars);
	return macs;
}

/* How many layers read a range of each method: "minmax 12, mse 3". */
static const char *method_counts(struct npu_quant *q)
{
	const struct npu_qlayers *all = &q->calib.layers;
	const char *text = "";

	for (int m = NPU_CALIB_MINMAX; m < NPU_NUM_CALIB_METHODS && text; m++) {
		unsigned int count = 0;

		for (unsigned int k = 0; k < all->num; k++)
			count += !all->layer[k].fixed_float && (int)all->layer[k].method == m;
		if (count)
			text = npu_arena_printf(&q->calib.arena, "%s%s%s %u", text,
						*text ? ", " : "",
						npu_calib_method_name((enum npu_calib_method)m),
						count);
	}
	return text;
}

static const char *method_text(struct npu_quant *q)
{
	const char *name = npu_calib_method_name(q->search.method);
	const unsigned int samples = q->calib.num_samples;
	struct npu_arena *a = &q->calib.arena;
	const char *counts;

	if (q->search.method == NPU_CALIB_PERCENTILE)
		return npu_arena_printf(a, "%s %.6g over %u samples", name, q->search.percentile,
					samples);
	if (q->search.method != NPU_CALIB_AUTO)
		return npu_arena_printf(a, "%s over %u samples", name, samples);
	counts = method_counts(q);
	return counts ? npu_arena_printf(a, "what suits each tensor (layers: %s) over %u samples",
					 counts, samples) :
			NULL;
}

static int note_texts(struct npu_quant *q)
{
	const struct npu_quant_options *o = &q->setup.options;
	struct npu_arena *a = &q->calib.arena;

	q->method_text = method_text(q);
	q->budget_text =
		o->budget == NPU_BUDGET_DEFAULT ?
			npu_arena_printf(a, "accuracy %.6g (default)", NPU_QUANT_ACCURACY) :
			npu_arena_printf(a, "%s %.6g",
					 o->budget == NPU_BUDGET_SPEED ? "speed" : "accuracy",
					 o->budget_value);
	q->result_text = npu_arena_printf(
		a,
		"%.1f %% of MACs, cosine of the outputs to float %.5f over %u samples, worst %.5f",
		q->search.macs ? 100.0 * (double)q->search.int8_macs / (double)q->search.macs : 0,
		q->search.chosen.pooled, q->measure.num_samples, q->search.chosen.cosine);
	return q->method_text && q->budget_text && q->result_text ? 0 : -ENOMEM;
}

static int choose(struct npu_quant *q)
{
	const struct npu_quant_setup *setup = &q->setup;
	const struct npu_lower plain = { .precision = NPU_PRECISION_F32 },
			       like = { .precision = setup->precision, .all_f16 = setup->all_f16 };
	struct stage calibrate = { setup, "calibrate" }, search = { setup, "sensitivity" };
	unsigned int max = setup->options.max_compared ? setup->options.max_compared : 16;
	int err = npu_calib_collect(&q->calib, &q->device, &plain, stage_progress, &calibrate);

	if (!err)
		err = npu_measure_init(&q->measure, &q->calib, &q->device, &like, max);
	if (err)
		return err;
	q->search = (struct npu_search){ .m = &q->measure, .progress = stage_progress,
					 .progress_arg = &search };
	err = npu_search_run(&q->search, &setup->options, graph_macs(q->calib.instance[0].g));
	if (!err && !setup->options.no_clip_count)
		err = npu_quant_count_clips(q);
	return err ? err : note_texts(q);
}

int npu_quant_create(const struct npu_quant_setup *setup, struct npu_quant **out)
{
	struct npu_quant *q = calloc(1, sizeof(*q));
	int err;

	*out = q;
	if (!q)
		return -ENOMEM;
	q->setup = *setup;
	err = npu_calib_init(&q->calib, &setup->model, setup->options.samples,
			     setup->options.num_samples, setup->diag);
	if (!err)
		err = keep_float(q);
	if (!err)
		err = npu_trial_open(&q->device, setup->diag);
	if (!err)
		err = choose(q);
	if (err == -ECANCELED)
		npu_diag_add(setup->diag, err, NULL, "cancelled while calibrating");
	q->chosen = !err;
	return err;
}

void npu_quant_destroy(struct npu_quant *q)
{
	if (!q)
		return;
	for (unsigned int i = 0; i < q->num_schemes; i++) {
		npu_scheme_fini(q->scheme[i]);
		free(q->scheme[i]);
	}
	free(q->scheme);
	npu_search_fini(&q->search);
	if (q->measure.c)
		npu_measure_fini(&q->measure);
	npu_trial_close(&q->device);
	npu_calib_fini(&q->calib);
	free(q);
}

/* ---- applying -------------------------------------------------------------------------------- */

int npu_quant_apply(struct npu_quant *q, struct npu_graph *g)
{
	struct npu_scheme **grown =
		realloc(q->scheme, (q->num_schemes + 1) * sizeof(struct npu_scheme *));
	struct npu_scheme *s = calloc(1, sizeof(*s));
	int err;

	if (grown)
		q->scheme = grown;
	if (!grown || !s) {
		free(s);
		return -ENOMEM;
	}
	q->scheme[q->num_schemes++] = s;
	err = npu_scheme_init(s, g, &q->calib.layers);
	if (!err)
		err = npu_scheme_take_ranges(s, &q->calib.stats, q->calib.layers.now);
	return err ? err : npu_scheme_apply(s, &q->calib.layers, q->setup.diag);
}

const char *npu_quant_method_text(const struct npu_quant *q)
{
	return q->method_text ? q->method_text : "";
}

const char *npu_quant_budget_text(const struct npu_quant *q)
{
	return q->budget_text ? q->budget_text : "";
}

const char *npu_quant_result_text(const struct npu_quant *q)
{
	return q->result_text ? q->result_text : "";
}
