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

/* Samples whose output has less than this share of the mean square do not count on their own. */
#define QUIET_SHARE	0.1

/* The worst of @n samples' sums, @step apart; those of all into *@pooled. */
static double worst_cosine(const struct sums *s, unsigned int n, unsigned int step, double *pooled)
{
	struct sums all = { 0 };
	double worst;

	for (unsigned int k = 0; k < n; k++) {
		all.ab += s[(size_t)k * step].ab;
		all.aa += s[(size_t)k * step].aa;
		all.bb += s[(size_t)k * step].bb;
	}
	worst = *pooled = cosine_of(&all);
	for (unsigned int k = 0; k < n; k++) {
		const struct sums *one = &s[(size_t)k * step];

		if (!(one->bb < QUIET_SHARE * all.bb / n))
			worst = fmin(worst, cosine_of(one));
	}
	return worst;
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

/* Is @t, now an output, one that swap_scores() put in the place of another? */
static bool is_before_softmax(const struct npu_gtensor *t)
{
	return t->type == NPU_GT_F32 && t->num_consumers &&
	       t->consumer[0]->op == NPU_GOP_Softmax &&
	       !npu_gtensor_is_const(t) && t->rank > 0 &&
	       t->consumer[0]->outputs[0]->rank == t->rank;
}

/* Outputs of a softmax give way to its input, and come back. */
static int swap_scores(struct npu_graph *g, struct npu_gtensor ***outputs)
{
	struct npu_gtensor **other = calloc((size_t)g->num_outputs + 1, sizeof(*other));

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
	free(g->outputs);
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

static bool has_samples(const struct npu_measure *m, unsigned int index, const unsigned int *sample,
			unsigned int count)
{
	for (unsigned int k = 0; k < count; k++)
		if (m->c->instance_of[sample[k]] == index)
			return true;
	return false;
}

/* Run the samples that are of instance @index; scores are as they are before their softmax. */
static int run_outputs(struct npu_measure *m, unsigned int index, const unsigned int *sample,
		       unsigned int count, const struct npu_lower *like, npu_calib_each each,
		       void *arg)
{
	struct npu_graph *g = m->c->instance[index].g;
	struct npu_gtensor **outputs;
	int err = swap_scores(g, &outputs);

	if (!err)
		err = npu_calib_run(m->c, m->d, index, sample, count, like, false, each, arg);
	if (g->outputs != outputs)
		swap_back(g, outputs);
	return err;
}

/* Steps around a ring of @n that meet each place once, and the first few far from each other. */
static unsigned int stride_of(unsigned int n)
{
	unsigned int step = n * 5 / 8 + 1, a, b;

	for (;; step++) {
		for (a = n, b = step; b;) {
			unsigned int rest = a % b;

			a = b;
			b = rest;
		}
		if (a == 1)
			return step;
	}
}

int npu_measure_init(struct npu_measure *m, struct npu_calib *c, struct npu_trial_device *d,
		     const struct npu_lower *like, unsigned int max)
{
	struct npu_lower plain = { .precision = NPU_PRECISION_F32 };
	unsigned int n = c->num_samples < max ? c->num_samples : max;
	int err = 0;

	*m = (struct npu_measure){ .c = c, .d = d, .like = *like, .num_samples = n };
	m->sample = calloc(n, sizeof(*m->sample));
	m->want = calloc(n, sizeof(*m->want));
	if (!m->sample || !m->want)
		return -ENOMEM;
	for (unsigned int k = 0; k < n; k++)
		m->sample[k] = (unsigned int)((uint64_t)k * stride_of(n) % n * c->num_samples / n);
	for (unsigned int i = 0; i < c->num_instances && !err; i++)
		if (has_samples(m, i, m->sample, n))
			err = run_outputs(m, i, m->sample, n, &plain, each_want, m->want);
	return err;
}

void npu_measure_fini(struct npu_measure *m)
{
	for (unsigned int k = 0; m->want && k < m->num_samples; k++) {
		const struct npu_graph *g = m->c->instance[m->c->instance_of[m->sample[k]]].g;

		for (unsigned int o = 0; m->want[k] && o < g->num_outputs; o++)
			free(m->want[k][o]);
		free(m->want[k]);
	}
	free(m->want);
	free(m->sample);
	memset(m, 0, sizeof(*m));
}

/* ---- a choice of layers ---------------------------------------------------------------------- */

/* What each_compare works on. */
struct comparison {
	void ***want;
	struct sums *s;			/* [sample][output] */
	const unsigned int *place;	/* of each that is run, among all that are compared */
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
	add_places(s, a, b, count, row);
	free(x);
	return 0;
}

static int each_compare(void *arg, unsigned int k, const struct npu_trial *t)
{
	const struct comparison *c = arg;
	const unsigned int place = c->place[k];
	struct sums *s = c->s + (size_t)place * t->g->num_outputs;
	int err = 0;

	for (unsigned int o = 0; o < t->g->num_outputs && !err; o++) {
		const struct npu_gtensor *g = t->g->outputs[o];
		const void *got = npu_trial_output(t, o), *want = c->want[place][o];

		if (!got)
			return -EIO;
		if (is_before_softmax(g))
			err = add_centred(&s[o], got, want, (size_t)npu_gtensor_const_elems(g),
					  (size_t)g->dim[g->rank - 1].base);
		else
			add_output(&s[o], g, got, want);
	}
	return err;
}

/* Output @t, whose sums of @n samples are @step apart, may be the worst one. */
static void judge_output(const struct npu_gtensor *t, const struct sums *s, unsigned int n,
			 unsigned int step, struct npu_closeness *out)
{
	uint64_t same = 0, places = 0;
	double pooled;

	if (t->type == NPU_GT_F32) {
		double worst = worst_cosine(s, n, step, &pooled);

		/* a single tie between classes looks bad on a short sample and means nothing */
		out->cosine = fmin(out->cosine, is_scores(t) ? pooled : worst);
		out->pooled = fmin(out->pooled, pooled);
	}
	for (unsigned int k = 0; k < n; k++) {
		same += s[(size_t)k * step].same;
		places += s[(size_t)k * step].places;
	}
	if (places)
		out->agree = fmin(out->agree, (double)same / (double)places);
}

/* Run @count samples with the choice of layers and compare. */
static int compare_samples(struct npu_measure *m, const unsigned int *sample, unsigned int count,
			   const struct npu_lower *like, struct comparison *cmp)
{
	struct npu_calib *c = m->c;
	int err = 0, ret;

	for (unsigned int i = 0; i < c->num_instances && !err; i++) {
		if (!has_samples(m, i, sample, count))
			continue;
		err = npu_scheme_apply(&c->instance[i].scheme, &c->layers, c->diag);
		if (!err)
			err = run_outputs(m, i, sample, count, like, each_compare, cmp);
		ret = npu_scheme_restore(&c->instance[i].scheme, c->diag);
		err = err ? err : ret;
	}
	return err;
}

/* The first @samples of those that are compared and of @part (NPU_CALIB_ALL_PARTS: of any). */
static int compare_part(struct npu_measure *m, unsigned int samples, unsigned int part,
			const struct npu_lower *like, struct comparison *cmp)
{
	unsigned int *sample = calloc(2 * (size_t)samples + 1, sizeof(*sample));
	unsigned int *place = sample + samples, count = 0;
	int err;

	if (!sample)
		return -ENOMEM;
	for (unsigned int k = 0; k < samples; k++) {
		if (part != NPU_CALIB_ALL_PARTS && npu_calib_part(m->c, m->sample[k]) != part)
			continue;
		sample[count] = m->sample[k];
		place[count++] = k;
	}
	cmp->place = place;
	err = compare_samples(m, sample, count, like, cmp);
	free(sample);
	return err;
}

/* Each part with ranges that are not from it. */
static int compare_unseen(struct npu_measure *m, unsigned int samples, const struct npu_lower *like,
			  struct comparison *cmp)
{
	const struct npu_qsetting now = m->c->layers.now;
	int err = 0, ret;

	for (unsigned int p = 0; p < m->c->stats.parts && !err; p++) {
		err = npu_calib_choose(m->c, (struct npu_qsetting){ now.method, p });
		if (!err)
			err = compare_part(m, samples, p, like, cmp);
	}
	ret = npu_calib_choose(m->c, now);
	return err ? err : ret;
}

static int measure(struct npu_measure *m, unsigned int samples, const struct npu_lower *like,
		   bool unseen, struct npu_closeness *out)
{
	const struct npu_graph *g = m->c->instance[0].g;
	struct sums *s = calloc((size_t)g->num_outputs * m->num_samples + 1, sizeof(*s));
	struct comparison cmp = { .want = m->want, .s = s };
	int err = -ENOMEM;

	samples = samples < m->num_samples ? samples : m->num_samples;
	if (s)
		err = unseen ? compare_unseen(m, samples, like, &cmp) :
			       compare_part(m, samples, NPU_CALIB_ALL_PARTS, like, &cmp);
	m->trials++;
	*out = (struct npu_closeness){ 1, 1, 1 };
	for (unsigned int o = 0; o < g->num_outputs && !err; o++)
		judge_output(g->outputs[o], s + o, samples, g->num_outputs, out);
	free(s);
	return err;
}

int npu_measure_layers(struct npu_measure *m, unsigned int samples, struct npu_closeness *out)
{
	return measure(m, samples, &m->like, m->c->stats.parts > 1, out);
}

int npu_measure_alone(struct npu_measure *m, unsigned int samples, struct npu_closeness *out)
{
	const struct npu_lower plain = { .precision = NPU_PRECISION_F32 };

	return measure(m, samples, &plain, m->c->stats.parts > 1, out);
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
	int err = npu_calib_run(m->c, m->d, index, m->sample, 1, &plain, false, each_inside, in),
	    ret;

	if (err)
		return err;
	err = npu_scheme_apply(&n->scheme, &m->c->layers, m->c->diag);
	if (!err)
		err = npu_calib_run(m->c, m->d, index, m->sample, 1, &m->like, false, each_inside,
				    in);
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
