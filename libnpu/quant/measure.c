// SPDX-License-Identifier: MIT
/* Comparison of outputs. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/measure.h"

/* Sums that cosines are made of, over several samples. */
struct sums {
	double ab, aa, bb;
	uint64_t same, places;		/* of maxima, or of integers */
};

static double cosine_of(const struct sums *s)
{
	if (!s->aa && !s->bb)
		return 1;
	return s->aa > 0 && s->bb > 0 && isfinite(s->ab) && isfinite(s->aa) ?
		       s->ab / sqrt(s->aa) / sqrt(s->bb) :
		       0;
}

static void add_floats(struct sums *s, const float *a, const float *b, size_t count)
{
	/* in blocks, so that sums of millions keep their digits */
	for (size_t from = 0; from < count; from += 4096) {
		size_t to = from + 4096 < count ? from + 4096 : count;
		double ab = 0, aa = 0, bb = 0;

		for (size_t i = from; i < to; i++) {
			ab += (double)a[i] * (double)b[i];
			aa += (double)a[i] * (double)a[i];
			bb += (double)b[i] * (double)b[i];
		}
		s->ab += ab;
		s->aa += aa;
		s->bb += bb;
	}
}

static size_t place_of_max(const float *v, size_t n)
{
	size_t at = 0;

	for (size_t i = 1; i < n; i++)
		at = v[i] > v[at] ? i : at;
	return at;
}

/* Rows of the last dimension whose largest element is at the same place. */
static void add_places(struct sums *s, const float *a, const float *b, size_t count, size_t row)
{
	for (size_t i = 0; i + row <= count; i += row) {
		s->same += place_of_max(a + i, row) == place_of_max(b + i, row);
		s->places++;
	}
}

/* The scores of classes: their largest is what counts. */
static bool is_scores(const struct npu_gtensor *t)
{
	const struct npu_gnode *n = t->producer;

	while (n && (n->op == NPU_GOP_Identity || n->op == NPU_GOP_Reshape))
		n = n->inputs[0]->producer;
	return n && t->rank > 0 && (n->op == NPU_GOP_Softmax || n->op == NPU_GOP_LogSoftmax) &&
	       t->dim[t->rank - 1].base > 1;
}

/* The input of the softmax that makes output @t, when it has the same shape; else NULL. */
static struct npu_gtensor *before_softmax(const struct npu_gtensor *t)
{
	struct npu_gtensor *in =
		t->producer && t->producer->op == NPU_GOP_Softmax ? t->producer->inputs[0] : NULL;

	return in && !npu_gtensor_is_const(in) && in->producer && !in->is_output &&
			       in->rank == t->rank && in->type == NPU_GT_F32 ?
		       in :
		       NULL;
}

/* Outputs of a softmax give way to its input, and come back. */
static int swap_scores(struct npu_graph *g, struct npu_gtensor ***outputs)
{
	struct npu_gtensor **other =
		npu_arena_array(&g->arena, g->num_outputs + 1, sizeof(struct npu_gtensor *));

	*outputs = g->outputs;
	if (!other)
		return -ENOMEM;
	for (unsigned int i = 0; i < g->num_outputs; i++) {
		struct npu_gtensor *in = before_softmax(g->outputs[i]);

		other[i] = in ? in : g->outputs[i];
	}
	for (unsigned int i = 0; i < g->num_outputs; i++)
		g->outputs[i]->is_output = false;
	for (unsigned int i = 0; i < g->num_outputs; i++)
		other[i]->is_output = true;
	g->outputs = other;
	return 0;
}

static void swap_back(struct npu_graph *g, struct npu_gtensor **outputs)
{
	for (unsigned int i = 0; i < g->num_outputs; i++)
		g->outputs[i]->is_output = false;
	g->outputs = outputs;
	for (unsigned int i = 0; i < g->num_outputs; i++)
		g->outputs[i]->is_output = true;
}

static void add_output(struct sums *s, const struct npu_gtensor *t, const void *got,
		       const void *want)
{
	size_t count = (size_t)npu_gtensor_const_elems(t), size = npu_gtype_size(t->type);

	if (t->type != NPU_GT_F32) {
		for (size_t i = 0; i < count; i++)
			s->same += !memcmp((const char *)got + i * size,
					   (const char *)want + i * size, size);
		s->places += count;
		return;
	}
	add_floats(s, got, want, count);
	if (is_scores(t))
		add_places(s, got, want, count, (size_t)t->dim[t->rank - 1].base);
}

/* ---- the float model ------------------------------------------------------------------------- */

static size_t output_bytes(const struct npu_gtensor *t)
{
	return (size_t)npu_gtensor_const_elems(t) * npu_gtype_size(t->type);
}

static int each_want(void *arg, unsigned int k, const struct npu_trial *t)
{
	const struct npu_graph *g = t->g;
	void ***want = arg;

	want[k] = calloc((size_t)g->num_outputs + 1, sizeof(**want));
	if (!want[k])
		return -ENOMEM;
	for (unsigned int o = 0; o < g->num_outputs; o++) {
		size_t bytes = output_bytes(g->outputs[o]);
		const void *p = npu_trial_output(t, o);

		want[k][o] = malloc(bytes ? bytes : 1);
		if (!want[k][o] || !p)
			return -ENOMEM;
		memcpy(want[k][o], p, bytes);
	}
	return 0;
}

/* Build the instance's graph as it is and run the compared samples of it. */
static int run_instance(struct npu_measure *m, unsigned int index, unsigned int samples,
			const struct npu_lower *like, npu_calib_each each, void *arg)
{
	return npu_calib_run(m->c, m->d, index, m->sample, samples, like, false, each, arg);
}

static bool has_samples(const struct npu_measure *m, unsigned int index, unsigned int samples)
{
	for (unsigned int k = 0; k < samples; k++)
		if (m->c->instance_of[m->sample[k]] == index)
			return true;
	return false;
}

/* Run the compared samples of instance @index, whose outputs may be scores. */
static int run_outputs(struct npu_measure *m, unsigned int index, unsigned int samples,
		       const struct npu_lower *like, bool scores, npu_calib_each each, void *arg)
{
	struct npu_graph *g = m->c->instance[index].g;
	struct npu_gtensor **outputs;
	int err;

	if (!scores)
		return run_instance(m, index, samples, like, each, arg);
	err = swap_scores(g, &outputs);
	if (!err)
		err = run_instance(m, index, samples, like, each, arg);
	if (g->outputs != outputs)
		swap_back(g, outputs);
	return err;
}

static bool has_scores(const struct npu_graph *g)
{
	for (unsigned int i = 0; i < g->num_outputs; i++)
		if (before_softmax(g->outputs[i]))
			return true;
	return false;
}

int npu_measure_init(struct npu_measure *m, struct npu_calib *c, struct npu_trial_device *d,
		     const struct npu_lower *like, unsigned int max)
{
	struct npu_lower plain = { .precision = NPU_PRECISION_F32 };
	unsigned int n = c->num_samples < max ? c->num_samples : max;
	bool scores;
	int err = 0;

	*m = (struct npu_measure){ .c = c, .d = d, .like = *like, .num_samples = n };
	m->sample = calloc(n, sizeof(*m->sample));
	m->want = calloc(n, sizeof(*m->want));
	m->want_scores = calloc(n, sizeof(*m->want_scores));
	if (!m->sample || !m->want || !m->want_scores)
		return -ENOMEM;
	for (unsigned int k = 0; k < n; k++)
		m->sample[k] = (unsigned int)((uint64_t)k * c->num_samples / n);
	for (unsigned int i = 0; i < c->num_instances && !err; i++)
		if (has_samples(m, i, n))
			err = run_outputs(m, i, n, &plain, false, each_want, m->want);
	/* of all samples or of none, which is what npu_measure_scores() relies on */
	scores = n && has_scores(c->instance[c->instance_of[m->sample[0]]].g);
	for (unsigned int i = 0; i < c->num_instances && !err; i++)
		if (scores && has_samples(m, i, n))
			err = run_outputs(m, i, n, &plain, true, each_want, m->want_scores);
	return err;
}

static void free_want(struct npu_measure *m, void ***want)
{
	for (unsigned int k = 0; want && k < m->num_samples; k++) {
		const struct npu_graph *g = m->c->instance[m->c->instance_of[m->sample[k]]].g;

		for (unsigned int o = 0; want[k] && o < g->num_outputs; o++)
			free(want[k][o]);
		free(want[k]);
	}
	free(want);
}

void npu_measure_fini(struct npu_measure *m)
{
	free_want(m, m->want);
	free_want(m, m->want_scores);
	free(m->sample);
	memset(m, 0, sizeof(*m));
}

/* ---- a choice of layers ---------------------------------------------------------------------- */

/* What each_compare works on. */
struct comparison {
	void ***want;
	bool scores;
	struct sums *s;			/* by output */
};

/* Scores before a softmax mean the same when all of a row are moved. */
static int add_centred(struct sums *s, const float *a, const float *b, size_t count, size_t row)
{
	float *x = malloc(2 * row * sizeof(*x)), *y = x + row;

	if (!x)
		return -ENOMEM;
	for (size_t i = 0; i + row <= count; i += row) {
		double ma = 0, mb = 0;

		for (size_t k = 0; k < row; k++) {
			ma += (double)a[i + k] / (double)row;
			mb += (double)b[i + k] / (double)row;
		}
		for (size_t k = 0; k < row; k++) {
			x[k] = a[i + k] - (float)ma;
			y[k] = b[i + k] - (float)mb;
		}
		add_floats(s, x, y, row);
	}
	free(x);
	return 0;
}

static int each_compare(void *arg, unsigned int k, const struct npu_trial *t)
{
	const struct comparison *c = arg;
	int err = 0;

	for (unsigned int o = 0; o < t->g->num_outputs && !err; o++) {
		const struct npu_gtensor *g = t->g->outputs[o];
		const void *got = npu_trial_output(t, o);

		if (!got)
			return -EIO;
		if (c->scores && g->type == NPU_GT_F32 && g->rank > 0 && g->num_consumers &&
		    g->consumer[0]->op == NPU_GOP_Softmax)
			err = add_centred(&c->s[o], got, c->want[k][o],
					  (size_t)npu_gtensor_const_elems(g),
					  (size_t)g->dim[g->rank - 1].base);
		else
			add_output(&c->s[o], g, got, c->want[k][o]);
	}
	return err;
}

static int measure(struct npu_measure *m, unsigned int samples, const struct npu_lower *like,
		   bool scores, struct npu_closeness *out)
{
	struct npu_calib *c = m->c;
	unsigned int outputs = c->instance[0].g->num_outputs;
	struct sums *s = calloc((size_t)outputs + 1, sizeof(*s));
	struct comparison cmp = { scores ? m->want_scores : m->want, scores, s };
	int err = s ? 0 : -ENOMEM, ret;

	samples = samples < m->num_samples ? samples : m->num_samples;
	for (unsigned int i = 0; i < c->num_instances && !err; i++) {
		if (!has_samples(m, i, samples))
			continue;
		err = npu_scheme_apply(&c->instance[i].scheme, &c->layers, c->diag);
		if (!err)
			err = run_outputs(m, i, samples, like, scores, each_compare, &cmp);
		ret = npu_scheme_restore(&c->instance[i].scheme, c->diag);
		err = err ? err : ret;
	}
	m->trials++;
	*out = (struct npu_closeness){ 1, 1 };
	for (unsigned int o = 0; o < outputs && !err; o++) {
		if (c->instance[0].g->outputs[o]->type == NPU_GT_F32)
			out->cosine = fmin(out->cosine, cosine_of(&s[o]));
		if (s[o].places)
			out->agree = fmin(out->agree, (double)s[o].same / (double)s[o].places);
	}
	free(s);
	return err;
}

int npu_measure_layers(struct npu_measure *m, unsigned int samples, struct npu_closeness *out)
{
	return measure(m, samples, &m->like, false, out);
}

int npu_measure_scores(struct npu_measure *m, unsigned int samples, struct npu_closeness *out)
{
	const struct npu_lower plain = { .precision = NPU_PRECISION_F32 };

	return measure(m, samples, &plain, m->want_scores[0], out);
}

/* ---- inside ---------------------------------------------------------------------------------- */

/* The layers' results on the first sample. */
struct inside {
	struct npu_shown shown;
	float **want;			/* by tensor that is shown */
	double *error;
};

/* Elements of a shown tensor as real numbers, malloc'ed. */
static float *shown_values(const struct npu_trial *t, const struct npu_gtensor *g,
			   unsigned int output)
{
	size_t count = (size_t)npu_gtensor_const_elems(g);
	const void *p = npu_trial_output(t, output);
	float *v = p ? malloc((count + 1) * sizeof(*v)) : NULL;

	if (!v)
		return NULL;
	if (g->type == NPU_GT_F32)
		memcpy(v, p, count * sizeof(*v));
	for (size_t i = 0; i < count && g->type == NPU_GT_U8; i++)
		v[i] = (float)(((const uint8_t *)p)[i] - g->quant->zero) * g->quant->scale;
	return v;
}

static int each_inside(void *arg, unsigned int k, const struct npu_trial *t)
{
	struct inside *in = arg;

	(void)k;
	for (unsigned int i = 0; i < in->shown.count; i++) {
		const struct npu_gtensor *g = in->shown.all[in->shown.num + i];
		float *v = shown_values(t, g, in->shown.num + i);
		struct sums s = { 0 };

		if (!v)
			return -ENOMEM;
		if (!in->want[i]) {
			in->want[i] = v;
			continue;
		}
		add_floats(&s, v, in->want[i], (size_t)npu_gtensor_const_elems(g));
		in->error[i] = fmax(1 - cosine_of(&s), 0);
		free(v);
	}
	return 0;
}

/* Once as float, then with the choice of layers. */
static int look_inside(struct npu_measure *m, unsigned int index, struct inside *in)
{
	const struct npu_lower plain = { .precision = NPU_PRECISION_F32 };
	struct npu_calib_instance *n = &m->c->instance[index];
	/* in one order, which is the model's: the two runs need not choose the same */
	int err = run_instance(m, index, 1, &plain, each_inside, in), ret;

	if (err)
		return err;
	err = npu_scheme_apply(&n->scheme, &m->c->layers, m->c->diag);
	if (!err)
		err = run_instance(m, index, 1, &m->like, each_inside, in);
	ret = npu_scheme_restore(&n->scheme, m->c->diag);
	return err ? err : ret;
}

int npu_measure_inside(struct npu_measure *m, double *error)
{
	unsigned int index = m->c->instance_of[m->sample[0]], layers = m->c->layers.num, count = 0;
	struct npu_calib_instance *n = &m->c->instance[index];
	struct npu_gtensor **tensor = calloc((size_t)layers + 1, sizeof(struct npu_gtensor *));
	unsigned int *layer = calloc((size_t)layers + 1, sizeof(*layer));
	struct inside in = { .want = calloc((size_t)layers + 1, sizeof(float *)),
			     .error = calloc((size_t)layers + 1, sizeof(*in.error)) };
	int err = tensor && layer && in.want && in.error ? 0 : -ENOMEM;

	for (unsigned int i = 0; i < layers && !err; i++) {
		if (!n->scheme.node[i] || count == npu_shown_max(n->g))
			continue;
		layer[count] = i;
		tensor[count++] = n->scheme.node[i]->outputs[0];
	}
	if (!err) {
		err = npu_shown_show(&in.shown, n->g, tensor, count);
		if (!err)
			err = look_inside(m, index, &in);
		for (unsigned int i = 0; i < count; i++) {
			error[layer[i]] = in.error[i];
			free(in.want[i]);
		}
		npu_shown_hide(&in.shown, n->g);
	}
	free(in.want);
	free(in.error);
	free(layer);
	free(tensor);
	return err;
}
