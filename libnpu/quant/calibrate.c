// SPDX-License-Identifier: MIT
/* Samples, and the float runs over them. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/dims.h"
#include "compiler/host_place.h"
#include "quant/calibrate.h"
#include "quant/outputs.h"
#include "quant/stack.h"

/* What one run shows takes at most this much memory, or is one tensor. */
#define MAX_SHOWN_BYTES	(512ll << 20)

/* ---- samples --------------------------------------------------------------------------------- */

const struct npu_calib_tensor *npu_calib_find(const struct npu_calib_sample *s,
					      const struct npu_graph *g, unsigned int i)
{
	for (unsigned int k = 0; k < s->num_tensors; k++) {
		const char *name = s->tensors[k].name;

		if (name && *name ? !strcmp(name, g->inputs[i]->name) :
				    g->num_inputs == 1 && s->num_tensors == 1)
			return &s->tensors[k];
	}
	return NULL;
}

const char *npu_calib_where(const struct npu_calib_tensor *v, const struct npu_gtensor *t,
			    unsigned int k, char text[NPU_CALIB_WHERE])
{
	const char *source = v->source ? v->source : "";

	snprintf(text, NPU_CALIB_WHERE, "sample %u%s%.200s%s, input '%.100s'", k,
		 *source ? " (" : "", source, *source ? ")" : "", t->name);
	return text;
}

static int check_finite(const struct npu_calib_tensor *v, const struct npu_gtensor *t,
			unsigned int k, struct npu_diag *diag)
{
	char where[NPU_CALIB_WHERE];
	const float *f = v->data;
	size_t count = 1;

	for (int i = 0; i < v->rank; i++)
		count *= (size_t)v->dims[i];
	if (v->dtype != NPU_F32)
		return 0;
	for (size_t i = 0; i < count; i++)
		if (!(fabsf(f[i]) <= FLT_MAX))
			return npu_diag_add(diag, -EINVAL, "calib", "%s: element %zu is %s",
					    npu_calib_where(v, t, k, where), i,
					    isnan(f[i]) ? "NaN" : "infinite");
	return 0;
}

static const char *shape_text(const struct npu_calib_tensor *v, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = 0;
	for (int i = 0; i < v->rank && n + 24 < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%s%lld", i ? "," : "",
				      (long long)v->dims[i]);
	return buf;
}

static int check_tensor(const struct npu_graph *g, const struct npu_calib_tensor *v,
			const struct npu_gtensor *t, unsigned int k, struct npu_diag *diag)
{
	char want[160], have[160], where[NPU_CALIB_WHERE];
	int64_t count = 1;
	bool fits = t->rank < 0 || t->rank == v->rank;

	npu_calib_where(v, t, k, where);
	if (v->rank < 0 || v->rank > NPU_GRAPH_MAX_RANK || (v->rank && !v->dims) || !v->data)
		return npu_diag_add(diag, -EINVAL, "calib", "%s: rank %d, or no data", where,
				    v->rank);
	if (v->dtype <= 0 || (uint32_t)v->dtype != npu_host_dtype_of(t->type))
		return npu_diag_add(diag, -EINVAL, "calib", "%s: type %s, expected %s", where,
				    npu_dtype_name((enum npu_dtype)v->dtype),
				    npu_gtype_name(t->type));
	for (int i = 0; i < v->rank; i++) {
		if (v->dims[i] < 1 || __builtin_mul_overflow(count, v->dims[i], &count) ||
		    count > (int64_t)(SIZE_MAX / 16))
			return npu_diag_add(diag, -EINVAL, "calib", "%s: dimension %d is %lld",
					    where, i, (long long)v->dims[i]);
		if (fits && t->rank >= 0 && npu_dim_is_const(t->dim[i]))
			fits = t->dim[i].base == v->dims[i];
	}
	if (!fits)
		return npu_diag_add(diag, -EINVAL, "calib", "%s: shape [%s], expected %s", where,
				    shape_text(v, have, sizeof(have)),
				    npu_shape_text(g, t, want, sizeof(want)));
	return check_finite(v, t, k, diag);
}

/* Every sample has a tensor for every input. */
static int check_names(struct npu_calib *c, const struct npu_graph *g)
{
	c->input_name = npu_arena_array(&c->arena, g->num_inputs + 1, sizeof(*c->input_name));
	for (unsigned int i = 0; c->input_name && i < g->num_inputs; i++) {
		c->input_name[i] = npu_arena_strdup(&c->arena, g->inputs[i]->name);
		if (!c->input_name[i])
			return -ENOMEM;
	}
	for (unsigned int k = 0; k < c->num_samples; k++) {
		const struct npu_calib_sample *s = &c->sample[k];

		if (s->num_tensors != g->num_inputs || !s->tensors)
			return npu_diag_add(c->diag, -EINVAL, "calib",
					    "sample %u has %u tensors, the model has %u inputs", k,
					    s->num_tensors, g->num_inputs);
		for (unsigned int i = 0; i < g->num_inputs; i++)
			if (!npu_calib_find(s, g, i))
				return npu_diag_add(c->diag, -EINVAL, "calib",
						    "sample %u has nothing for input '%s'", k,
						    g->inputs[i]->name);
	}
	return c->input_name ? 0 : -ENOMEM;
}

/* @g: with the shapes of the model alone. */
static int check_tensors(const struct npu_calib *c, const struct npu_graph *g)
{
	int err = 0;

	for (unsigned int k = 0; k < c->num_samples; k++)
		for (unsigned int i = 0; i < g->num_inputs && !err; i++)
			err = check_tensor(g, npu_calib_find(&c->sample[k], g, i), g->inputs[i], k,
					   c->diag);
	return err;
}

static bool same_shapes(const struct npu_calib_sample *a, const struct npu_calib_sample *b,
			const struct npu_graph *g)
{
	for (unsigned int i = 0; i < g->num_inputs; i++) {
		const struct npu_calib_tensor *x = npu_calib_find(a, g, i),
					      *y = npu_calib_find(b, g, i);

		if (x->rank != y->rank ||
		    (x->rank && memcmp(x->dims, y->dims, (size_t)x->rank * sizeof(*x->dims))))
			return false;
	}
	return true;
}

/* The data of @sample for every input of its instance's graph, in that order. */
static void sample_inputs(const struct npu_calib *c, unsigned int sample, const void **input)
{
	const struct npu_graph *g = c->instance[c->instance_of[sample]].g;

	for (unsigned int i = 0; i < g->num_inputs; i++)
		input[i] = npu_calib_find(&c->sample[sample], g, i)->data;
}

/* ---- instances ------------------------------------------------------------------------------- */

/* The optimized graph for the shapes of @s. */
static int read_instance(struct npu_calib *c, const struct npu_calib_model *m,
			 const struct npu_calib_sample *s, struct npu_graph **out)
{
	const struct npu_pass_options options = { .skip = m->skip_passes };
	struct npu_graph *g = npu_onnx_import_host(m->data, m->size, m->path, m->host, c->diag);
	int err = g ? 0 : npu_onnx_import_error(c->diag);

	*out = g;
	for (unsigned int i = 0; !err && i < g->num_inputs; i++) {
		const struct npu_calib_tensor *v = npu_calib_find(s, g, i);
		struct npu_dim dim[NPU_GRAPH_MAX_RANK];

		for (int d = 0; d < v->rank; d++)
			dim[d] = npu_dim_const(v->dims[d]);
		err = npu_graph_bind_shape(g, g->inputs[i]->name, dim, v->rank, c->diag);
	}
	if (!err)
		err = npu_graph_optimize(g, &options, c->diag);
	if (!err)
		err = npu_outputs_before_host(g, c->diag);
	return err;
}

/* Samples of other shapes are compared with the same outputs. */
static int check_outputs(const struct npu_calib *c, const struct npu_graph *g, unsigned int k)
{
	const struct npu_graph *first = c->instance[0].g;
	bool same = g->num_outputs == first->num_outputs;

	for (unsigned int i = 0; i < g->num_outputs && same; i++)
		same = g->outputs[i]->type == first->outputs[i]->type &&
		       !strcmp(g->outputs[i]->name, first->outputs[i]->name);
	return same ? 0 :
		      npu_diag_add(c->diag, -EINVAL, "calib",
				   "at the shape of sample %u other nodes run on the host than "
				   "at that of sample 0: calibrate with samples of one shape", k);
}

static int add_instance(struct npu_calib *c, const struct npu_calib_model *m, unsigned int k)
{
	struct npu_calib_instance *n = &c->instance[c->num_instances++];
	int err;

	c->instance_of[k] = c->num_instances - 1;
	err = read_instance(c, m, &c->sample[k], &n->g);
	if (!err)
		err = check_outputs(c, n->g, k);
	if (!err && k == 0)
		err = npu_scheme_layers(n->g, &c->arena, &c->layers);
	if (!err) {
		n->looked_at = true;
		err = npu_scheme_init(&n->scheme, n->g, &c->layers);
	}
	return err;
}

static int add_instances(struct npu_calib *c, const struct npu_calib_model *m)
{
	int err = 0;

	for (unsigned int k = 0; k < c->num_samples && !err; k++) {
		unsigned int i = 0;

		while (i < k && !same_shapes(&c->sample[i], &c->sample[k], c->instance[0].g))
			i++;
		if (i < k)
			c->instance_of[k] = c->instance_of[i];
		else
			err = add_instance(c, m, k);
	}
	return err;
}

/* The samples themselves, before the model is run for them. */
static int take_samples(struct npu_calib *c, const struct npu_calib_model *model)
{
	struct npu_graph *g = npu_onnx_import_host(model->data, model->size, model->path,
						   model->host, c->diag);
	int err;

	if (!g)
		return npu_onnx_import_error(c->diag);
	err = check_names(c, g);
	if (!err)
		err = npu_calib_unstack(c, model);
	if (!err)
		err = check_tensors(c, g);
	npu_graph_free(g);
	return err;
}

int npu_calib_init(struct npu_calib *c, const struct npu_calib_model *model,
		   const struct npu_calib_sample *sample, unsigned int num_samples,
		   struct npu_diag *diag)
{
	int err;

	*c = (struct npu_calib){ .sample = sample, .num_samples = num_samples, .diag = diag };
	err = take_samples(c, model);
	if (err)
		return err;
	c->instance = npu_arena_array(&c->arena, c->num_samples, sizeof(*c->instance));
	c->instance_of = npu_arena_array(&c->arena, c->num_samples, sizeof(*c->instance_of));
	return c->instance && c->instance_of ? add_instances(c, model) : -ENOMEM;
}

void npu_calib_fini(struct npu_calib *c)
{
	for (unsigned int i = 0; i < c->num_instances; i++) {
		if (c->instance[i].looked_at)
			npu_scheme_fini(&c->instance[i].scheme);
		npu_graph_free(c->instance[i].g);
	}
	free(c->stats.stat);
	npu_arena_fini(&c->arena);
	memset(c, 0, sizeof(*c));
}

/* ---- statistics ------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct npu_qstat *)a)->name, ((const struct npu_qstat *)b)->name);
}

static int list_stats(struct npu_calib *c)
{
	const struct npu_scheme *s = &c->instance[0].scheme;

	c->stats.stat = calloc((size_t)s->num_watch + 1, sizeof(*c->stats.stat));
	if (!c->stats.stat)
		return -ENOMEM;
	for (unsigned int i = 0; i < s->num_watch; i++)
		c->stats.stat[i].name = s->watch[i]->name;
	c->stats.num = s->num_watch;
	c->stats.parts = c->num_samples < NPU_CALIB_PARTS ? c->num_samples : NPU_CALIB_PARTS;
	qsort(c->stats.stat, c->stats.num, sizeof(*c->stats.stat), by_name);
	return 0;
}

unsigned int npu_calib_part(const struct npu_calib *c, unsigned int sample)
{
	return (unsigned int)((uint64_t)sample * c->stats.parts / c->num_samples);
}

bool npu_calib_can_leave_out(const struct npu_calib *c, unsigned int p)
{
	return p == NPU_CALIB_ALL_PARTS || (c->stats.parts > 1 && p < c->stats.parts);
}

int npu_calib_choose(struct npu_calib *c, struct npu_qsetting now)
{
	int err = 0;

	c->layers.now = now;
	for (unsigned int i = 0; i < c->num_instances && !err; i++)
		err = npu_scheme_take_ranges(&c->instance[i].scheme, &c->stats, now);
	return err;
}

unsigned int npu_shown_max(const struct npu_graph *g)
{
	unsigned int used = NPU_REGION_ID_IO + g->num_inputs + g->num_outputs;

	return used < NPU_MAX_REGIONS ? NPU_MAX_REGIONS - used : 1;
}

int npu_shown_show(struct npu_shown *v, struct npu_graph *g, struct npu_gtensor *const *tensor,
		   unsigned int count)
{
	*v = (struct npu_shown){ .outputs = g->outputs,
				 .names = g->output_names,
				 .num = g->num_outputs };
	v->all = calloc((size_t)g->num_outputs + count + 1, sizeof(*v->all));
	v->all_names = calloc((size_t)g->num_outputs + count + 1, sizeof(*v->all_names));
	v->was_output = calloc((size_t)count + 1, sizeof(*v->was_output));
	if (!v->all || !v->all_names || !v->was_output)
		return -ENOMEM;
	for (unsigned int i = 0; i < v->num; i++) {
		v->all[i] = g->outputs[i];
		v->all_names[i] = g->output_names[i];
	}
	for (unsigned int i = 0; i < count; i++) {
		v->all[v->num + i] = tensor[i];
		v->all_names[v->num + i] = tensor[i]->name;
		v->was_output[i] = tensor[i]->is_output;
		tensor[i]->is_output = true;
	}
	v->count = count;
	g->outputs = v->all;
	g->output_names = v->all_names;
	g->num_outputs = v->num + count;
	return 0;
}

void npu_shown_hide(struct npu_shown *v, struct npu_graph *g)
{
	for (unsigned int i = v->count; i-- > 0;)
		v->all[v->num + i]->is_output = v->was_output[i];
	g->outputs = v->outputs;
	g->output_names = v->names;
	g->num_outputs = v->num;
	free(v->all);
	free(v->all_names);
	free(v->was_output);
	memset(v, 0, sizeof(*v));
}

/* As many of @count tensors of @g as one run shows. */
static unsigned int how_many(const struct npu_graph *g, struct npu_gtensor *const *tensor,
			     unsigned int count)
{
	int64_t bytes = 0;
	unsigned int n = 0;

	while (n < npu_shown_max(g) && n < count) {
		bytes += 4 * npu_gtensor_const_elems(tensor[n]);
		if (n && bytes > MAX_SHOWN_BYTES)
			break;
		n++;
	}
	return n;
}

int npu_calib_run(struct npu_calib *c, struct npu_trial_device *d, unsigned int index,
		  const unsigned int *list, unsigned int count, const struct npu_lower *like,
		  bool any_order, npu_calib_each each, void *arg)
{
	struct npu_graph *g = c->instance[index].g;
	const void **input = calloc((size_t)g->num_inputs + 1, sizeof(*input));
	struct npu_trial t = { 0 };
	int err = input ? npu_trial_build(&t, d, g, like, any_order, c->diag) : -ENOMEM;

	for (unsigned int k = 0; k < count && !err; k++) {
		unsigned int sample = list ? list[k] : k;

		if (c->instance_of[sample] != index)
			continue;
		sample_inputs(c, sample, input);
		err = npu_trial_run(&t, input, c->diag);
		if (!err)
			err = each(arg, k, &t);
	}
	npu_trial_free(&t);
	free(input);
	return err;
}

/* What each_shown works on. */
struct showing {
	const struct npu_calib_look *look;
	const struct npu_shown *shown;
};

static int each_shown(void *arg, unsigned int k, const struct npu_trial *t)
{
	const struct showing *s = arg;
	const struct npu_shown *v = s->shown;
	int err = 0;

	for (unsigned int i = 0; i < v->count && !err; i++) {
		const float *data = npu_trial_output(t, v->num + i);

		err = data ? s->look->each(s->look->arg, k, v->all[v->num + i], data,
					   npu_trial_channels_last(t, v->num + i)) :
			     -EIO;
	}
	return err;
}

static bool has_samples(const struct npu_calib *c, unsigned int index,
			const struct npu_calib_look *look)
{
	for (unsigned int k = 0; k < look->num_samples; k++)
		if (c->instance_of[look->sample ? look->sample[k] : k] == index)
			return true;
	return false;
}

int npu_calib_look(struct npu_calib *c, unsigned int index, struct npu_trial_device *d,
		   const struct npu_lower *like, struct npu_gtensor *const *tensor,
		   unsigned int num, const struct npu_calib_look *look)
{
	struct npu_graph *g = c->instance[index].g;
	unsigned int count;
	int err = 0;

	if (!has_samples(c, index, look))
		return 0;
	for (unsigned int from = 0; from < num && !err; from += count) {
		struct npu_shown v;
		struct showing s = { look, &v };

		count = how_many(g, tensor + from, num - from);
		if (look->progress &&
		    look->progress(look->progress_arg,
				   (index + (double)from / num) / c->num_instances))
			return -ECANCELED;
		err = npu_shown_show(&v, g, tensor + from, count);
		if (!err)
			err = npu_calib_run(c, d, index, look->sample, look->num_samples, like,
					    true, each_shown, &s);
		npu_shown_hide(&v, g);
	}
	return err;
}

static int count_values(void *arg, unsigned int k, const struct npu_gtensor *t, const float *data,
			bool channels_last)
{
	struct npu_calib *c = arg;
	struct npu_qstat *st = npu_qstats_find(&c->stats, t->name);
	struct npu_histogram *h = st ? &st->h[npu_calib_part(c, k)] : NULL;

	(void)channels_last;
	if (!h)
		return 0;
	npu_histogram_add(h, data, (size_t)npu_gtensor_const_elems(t));
	if (h->not_finite)
		return npu_diag_add(
			c->diag, -EINVAL, "calib",
			"tensor '%s' is not finite when the float model runs the samples", t->name);
	return 0;
}

int npu_calib_collect(struct npu_calib *c, struct npu_trial_device *d, const struct npu_lower *like,
		      npu_calib_progress progress, void *arg)
{
	const struct npu_calib_look look = { .num_samples = c->num_samples, .each = count_values,
					     .arg = c, .progress = progress,
					     .progress_arg = arg };
	int err = list_stats(c);

	for (unsigned int i = 0; i < c->num_instances && !err; i++) {
		const struct npu_scheme *s = &c->instance[i].scheme;

		err = npu_calib_look(c, i, d, like, s->watch, s->num_watch, &look);
	}
	return err;
}
