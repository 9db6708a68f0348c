// SPDX-License-Identifier: MIT
/* Means of input channels, and the bias that corrects a layer. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/channels.h"
#include "quant/means.h"
#include "quant/scheme_priv.h"

/* More samples than these say nothing new about a mean. */
#define MAX_SAMPLES	16

/* ---- means ----------------------------------------------------------------------------------- */

/* Channels whose sums are made at a time; values of each that f32 adds up, double the rest. */
#define LANES	64
#define BLOCK	256

/* Added to a float below 2^22 and taken away again, it leaves the nearest integer. */
#define ROUND	12582912.0f

/* What stands for a value in a sum: itself, or @q's code of it less the zero point. */
struct stand_in {
	const struct npu_gquant *q;	/* NULL: itself */
	float inverse, lo, hi;
};

static struct stand_in stand_in(const struct npu_gquant *q)
{
	if (!q)
		return (struct stand_in){ NULL, 1, 0, 0 };
	return (struct stand_in){ q, 1 / q->scale, (float)-q->zero, (float)(255 - q->zero) };
}

static float code_of(const struct stand_in *s, float v)
{
	float c = v * s->inverse;

	c = c < s->lo ? s->lo : c;
	c = c > s->hi ? s->hi : c;
	return (c + ROUND) - ROUND;
}

static void add_row(const struct stand_in *s, const float *v, size_t lanes, float *part)
{
	if (!s->q)
		for (size_t k = 0; k < lanes; k++)
			part[k] += v[k];
	else if (lanes < LANES)
		for (size_t k = 0; k < lanes; k++)
			part[k] += code_of(s, v[k]);
	else	/* so many that the compiler knows: vectors */
		for (size_t k = 0; k < LANES; k++)
			part[k] += code_of(s, v[k]);
}

/* Add @rows rows of up to LANES values, @step apart, to @sum. */
static void add_rows(const struct stand_in *s, const float *v, size_t rows, size_t step,
		     size_t lanes, double *sum)
{
	for (size_t from = 0; from < rows; from += BLOCK) {
		size_t to = from + BLOCK < rows ? from + BLOCK : rows;
		float part[LANES] = { 0 };

		for (size_t r = from; r < to; r++)
			add_row(s, v + r * step, lanes, part);
		for (size_t k = 0; k < lanes; k++)
			sum[k] += (double)part[k] * (s->q ? (double)s->q->scale : 1);
	}
}

/* The values of one channel in a row: as rows of LANES whose sums are added up. */
static void add_run(const struct stand_in *s, const float *v, size_t count, double *sum)
{
	double lane[LANES] = { 0 };

	add_rows(s, v, count / LANES, LANES, LANES, lane);
	add_rows(s, v + count / LANES * LANES, count % LANES, 1, 1, lane);
	for (size_t k = 0; k < LANES; k++)
		*sum += lane[k];
}

static void add_sums(const struct npu_channels *c, const float *v, const struct npu_gquant *q,
		     double *sum)
{
	const struct stand_in s = stand_in(q);

	for (size_t ch = 0; c->inner == 1 && ch < c->channels; ch += LANES)
		add_rows(&s, v + ch, c->outer, c->channels,
			 c->channels - ch < LANES ? c->channels - ch : LANES, sum + ch);
	for (size_t o = 0; c->inner > 1 && o < c->outer; o++)
		for (size_t ch = 0; ch < c->channels; ch++)
			add_run(&s, v + (o * c->channels + ch) * c->inner, c->inner, sum + ch);
}

/* What each_tensor works on. */
struct looking {
	struct npu_calib *c;
	const unsigned int *sample;
	unsigned int num_samples, index;
	unsigned int methods;		/* a bit for each that is looked at */
	/* by layer: the codes of its input */
	const struct npu_gquant *(*quant)[NPU_NUM_CALIB_METHODS][NPU_NUM_LEFT_OUT];
};

/* The values of layer @k's input on a sample of @part. */
static void add_layer(const struct looking *l, unsigned int k, const struct npu_channels *c,
		      unsigned int part, const float *v)
{
	struct npu_qmeans *m = l->c->layers.layer[k].means;

	for (unsigned int p = 0; p < NPU_NUM_LEFT_OUT; p++) {
		if (p == part || !m->plain[p])
			continue;
		m->count[p] += c->outer * c->inner;
		add_sums(c, v, NULL, m->plain[p]);
		for (int i = 0; i < NPU_NUM_CALIB_METHODS; i++)
			if (l->quant[k][i][p])
				add_sums(c, v, l->quant[k][i][p], m->coded[i][p]);
	}
}

static int each_tensor(void *arg, unsigned int place, const struct npu_gtensor *t,
		       const float *data, bool channels_last)
{
	const struct looking *l = arg;
	const struct npu_scheme *s = &l->c->instance[l->index].scheme;
	const unsigned int part = npu_calib_part(l->c, l->sample[place]);

	for (unsigned int k = 0; k < s->num_layers; k++) {
		const struct npu_gnode *n = s->node[k];
		struct npu_channels c;

		if (!n || n->inputs[0] != t || !l->c->layers.layer[k].means)
			continue;
		c = npu_channels_of(t, npu_channels_axis(n), channels_last);
		add_layer(l, k, &c, part, data);
	}
	return 0;
}

static int look_at_instance(struct looking *l, struct npu_trial_device *d,
			    const struct npu_lower *like)
{
	const struct npu_scheme *s = &l->c->instance[l->index].scheme;
	struct npu_gtensor **tensor = calloc((size_t)s->num_layers + 1, sizeof(*tensor));
	const struct npu_calib_look look = { .sample = l->sample, .num_samples = l->num_samples,
					     .each = each_tensor, .arg = l };
	unsigned int count = 0;
	int err;

	if (!tensor)
		return -ENOMEM;
	for (unsigned int k = 0; k < s->num_layers; k++) {
		unsigned int i = 0;

		if (!s->node[k] || l->c->layers.layer[k].fixed_float)
			continue;
		while (i < count && tensor[i] != s->node[k]->inputs[0])
			i++;
		tensor[i] = s->node[k]->inputs[0];
		count += i == count;
	}
	err = npu_calib_look(l->c, l->index, d, like, tensor, count, &look);
	free(tensor);
	return err;
}

static int make_means(struct looking *l, unsigned int k)
{
	struct npu_calib *c = l->c;
	const struct npu_gnode *n = c->instance[0].scheme.node[k];
	struct npu_qmeans *m = npu_arena_alloc(&c->arena, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->channels = (size_t)n->inputs[0]->dim[npu_channels_axis(n)].base;
	for (unsigned int p = 0; p < NPU_NUM_LEFT_OUT; p++) {
		if (!npu_calib_can_leave_out(c, p))
			continue;
		m->plain[p] = npu_arena_array(&c->arena, m->channels, sizeof(double));
		for (int i = 0; i < NPU_NUM_CALIB_METHODS; i++) {
			if (!(l->methods >> i & 1))
				continue;
			m->coded[i][p] = npu_arena_array(&c->arena, m->channels, sizeof(double));
			if (!m->coded[i][p])
				return -ENOMEM;
		}
		if (!m->plain[p])
			return -ENOMEM;
	}
	c->layers.layer[k].means = m;
	return 0;
}

/* Sums become means. */
static void divide(struct npu_qmeans *m)
{
	for (unsigned int p = 0; p < NPU_NUM_LEFT_OUT; p++)
		for (size_t ch = 0; m->plain[p] && ch < m->channels && m->count[p]; ch++) {
			m->plain[p][ch] /= (double)m->count[p];
			for (int i = 0; i < NPU_NUM_CALIB_METHODS; i++)
				if (m->coded[i][p])
					m->coded[i][p][ch] /= (double)m->count[p];
		}
}

/* The codes of every layer's input, by setting. */
static int note_codes(struct looking *l)
{
	struct npu_calib *c = l->c;
	const struct npu_scheme *s = &c->instance[0].scheme;
	int err = 0;

	for (int i = 0; i < NPU_NUM_CALIB_METHODS; i++)
		for (unsigned int p = 0; p < NPU_NUM_LEFT_OUT && !err; p++) {
			if (!(l->methods >> i & 1) || !npu_calib_can_leave_out(c, p))
				continue;
			err = npu_calib_choose(
				c, (struct npu_qsetting){ (enum npu_calib_method)i, p });
			for (unsigned int k = 0; k < c->layers.num && !err; k++)
				if (c->layers.layer[k].means)
					l->quant[k][i][p] =
						npu_scheme_quant(s, s->node[k]->inputs[0]);
		}
	return err;
}

int npu_means_collect(struct npu_calib *c, struct npu_trial_device *d, const struct npu_lower *like,
		      unsigned int methods)
{
	unsigned int n = c->num_samples < MAX_SAMPLES ? c->num_samples : MAX_SAMPLES;
	unsigned int sample[MAX_SAMPLES];
	struct looking l = { .c = c, .sample = sample, .num_samples = n, .methods = methods };
	int err = 0;

	for (unsigned int k = 0; k < n; k++)
		sample[k] = (unsigned int)((uint64_t)k * c->num_samples / n);
	l.quant = calloc((size_t)c->layers.num + 1, sizeof(*l.quant));
	if (!l.quant)
		return -ENOMEM;
	for (unsigned int k = 0; k < c->layers.num && !err; k++)
		if (c->instance[0].scheme.node[k] && !c->layers.layer[k].fixed_float)
			err = make_means(&l, k);
	if (!err)
		err = note_codes(&l);
	for (; l.index < c->num_instances && !err; l.index++)
		err = look_at_instance(&l, d, like);
	for (unsigned int k = 0; k < c->layers.num && !err; k++)
		if (c->layers.layer[k].means)
			divide(c->layers.layer[k].means);
	free(l.quant);
	return err;
}

struct npu_channel_means npu_means_of(const struct npu_qlayer *layer, struct npu_qsetting now)
{
	const struct npu_qmeans *m = layer->means;
	enum npu_calib_method method = now.method == NPU_CALIB_AUTO ? layer->method : now.method;

	if (!m || !m->count[now.left_out] || !m->coded[method][now.left_out])
		return (struct npu_channel_means){ 0 };
	return (struct npu_channel_means){ m->channels, m->plain[now.left_out],
					   m->coded[method][now.left_out] };
}

/* ---- the shift ------------------------------------------------------------------------------- */

/* How the sums of a layer run over its weight: element (output o, term k, tap t). */
struct terms {
	size_t outs, ins, taps;		/* of each output: inputs, and weights of each */
	size_t out_step, in_step, tap_step;
	size_t outs_per_group;		/* outputs that read the same inputs */
	double phases;			/* outputs of which each tap reaches one */
};

static double phases(const struct npu_gnode *n)
{
	size_t count = 0;
	const int64_t *stride = npu_gnode_ints(n, "strides", &count);
	double p = 1;

	for (size_t i = 0; stride && i < count; i++)
		p *= (double)stride[i];
	return p;
}

static bool terms_of(const struct npu_gnode *n, size_t channels, struct terms *t)
{
	const struct npu_gtensor *w = n->inputs[1];
	const size_t a = (size_t)w->dim[0].base, b = (size_t)w->dim[1].base;
	const int64_t group = npu_gnode_int(n, "group", 1);

	*t = (struct terms){ .taps = 1, .tap_step = 1, .phases = 1 };
	for (int i = 2; n->op != NPU_GOP_MatMul && i < w->rank; i++)
		t->taps *= (size_t)w->dim[i].base;
	if (n->op == NPU_GOP_Conv) {
		t->outs = a;
		t->ins = b;
		t->in_step = t->taps;
		t->out_step = b * t->taps;
		t->outs_per_group = a / (size_t)group;
		return group > 0 && b * (size_t)group == channels;
	}
	/* [inputs, outputs, taps] from here on, or turned */
	t->outs = t->outs_per_group = b;
	t->ins = a;
	t->out_step = t->taps;
	t->in_step = b * t->taps;
	if (n->op == NPU_GOP_ConvTranspose) {
		t->phases = phases(n);
		return a == channels;
	}
	if (npu_gnode_int(n, "transB", 0)) {
		t->outs = t->outs_per_group = a;
		t->ins = b;
		t->out_step = b;
		t->in_step = 1;
	}
	return w->rank == 2 && t->ins == channels;
}

bool npu_means_shift(const struct npu_gnode *n, const int8_t *code, const float *scale,
		     const struct npu_channel_means *m, double *shift)
{
	const float *w = n->inputs[1]->data;
	struct terms t;

	if (!terms_of(n, m->channels, &t))
		return false;
	for (size_t o = 0; o < t.outs; o++) {
		const size_t first = o / t.outs_per_group * t.ins;
		double sum = 0;

		for (size_t k = 0; k < t.ins; k++) {
			double plain = 0, coded = 0;

			for (size_t i = 0; i < t.taps; i++) {
				size_t at = o * t.out_step + k * t.in_step + i * t.tap_step;

				plain += (double)w[at];
				coded += (double)code[at];
			}
			sum += plain * m->plain[first + k] -
			       coded * (double)scale[o] * m->coded[first + k];
		}
		shift[o] = sum / t.phases;
	}
	return true;
}
