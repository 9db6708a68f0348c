// SPDX-License-Identifier: MIT
/*
 * RNN, GRU and LSTM: one direction and one sequence of the batch at a time, in double. All three
 * have X [T, B, I], W [D, G*H, I], R [D, G*H, H] and biases Wb, Rb [D, 2*G*H]; what differs is the
 * number of gates G and the step.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/dense.h"

enum rnn_kind { RNN, GRU, LSTM };

struct rnn_act {
	int func;
	double alpha, beta;
};

struct rnn {
	const struct npu_host_call *call;
	enum rnn_kind kind;
	int gates;
	int64_t time, batch, in, hidden, dirs;
	bool batch_first;
	double clip;		/* infinite: none */
	bool linear_before_reset, input_forget;
	struct rnn_act act[2][3];
	const double *x, *w, *r, *b, *h0, *c0, *p;	/* NULL: absent */
	double *y, *yh, *yc;	/* outputs, NULL: not wanted */
	double *h, *c, *xw, *hr;	/* of one sequence: state, W x + Wb, R h + Rb */
};

/* NAME(in lower case) with the defaults of alpha and beta. */
static const struct {
	const char *name;
	double alpha, beta;
} functions[] = {
	{ "Relu", 0, 0 }, { "Tanh", 0, 0 }, { "Sigmoid", 0, 0 }, { "Affine", 1, 0 },
	{ "LeakyRelu", 0.01, 0 }, { "ThresholdedRelu", 1, 0 }, { "ScaledTanh", 1, 1 },
	{ "HardSigmoid", 0.2, 0.5 }, { "Elu", 1, 0 }, { "Softsign", 0, 0 }, { "Softplus", 0, 0 },
};

static double apply(const struct rnn_act *a, double v)
{
	switch (a->func) {
	case 0: return v > 0 ? v : 0;
	case 1: return tanh(v);
	case 2: return 1 / (1 + exp(-v));
	case 3: return a->alpha * v + a->beta;
	case 4: return v < 0 ? a->alpha * v : v;
	case 5: return v >= a->alpha ? v : 0;
	case 6: return a->alpha * tanh(a->beta * v);
	case 7: return fmin(fmax(a->alpha * v + a->beta, 0), 1);
	case 8: return v >= 0 ? v : a->alpha * expm1(v);
	case 9: return v / (1 + fabs(v));
	default: return v > 0 ? v + log1p(exp(-v)) : log1p(exp(v));
	}
}

static int same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if ((*a | 32) != (*b | 32))
			return 0;
	return !*a && !*b;
}

static int rnn_activations(struct rnn *n, struct npu_error *err)
{
	static const char *const def[][3] = {
		[RNN] = { "Tanh" },
		[GRU] = { "Sigmoid", "Tanh" },
		[LSTM] = { "Sigmoid", "Tanh", "Tanh" },
	};
	static const int num[] = { [RNN] = 1, [GRU] = 2, [LSTM] = 3 };
	uint32_t names, alphas, betas, na = 0, nb = 0, i;
	const char *const *name = npu_host_strings(n->call, "activations", &names);
	const float *alpha = npu_host_floats(n->call, "activation_alpha", &alphas);
	const float *beta = npu_host_floats(n->call, "activation_beta", &betas);
	int d, k, f;

	if (names && names != (uint32_t)n->dirs * (uint32_t)num[n->kind])
		return npu_host_fail(n->call, err, -EINVAL, "%u activations, expected %d", names,
				     (int)n->dirs * num[n->kind]);
	for (d = 0; d < n->dirs; d++)
		for (k = 0; k < num[n->kind]; k++) {
			struct rnn_act *a = &n->act[d][k];
			const char *text;

			i = (uint32_t)(d * num[n->kind] + k);
			text = names ? name[i] : def[n->kind][k];
			for (f = 0; f < 11 && !same_name(functions[f].name, text); f++)
				;
			if (f == 11)
				return npu_host_fail(n->call, err, -ENOTSUP,
						     "activation '%.40s' is not known", text);
			*a = (struct rnn_act){ f, functions[f].alpha, functions[f].beta };
			/* the lists have entries for those functions only that take one */
			if (f >= 3 && f <= 8 && na < alphas)
				a->alpha = alpha[na++];
			if ((f == 3 || f == 6 || f == 7) && nb < betas)
				a->beta = beta[nb++];
		}
	return 0;
}

static double clipped(const struct rnn *n, double v)
{
	return v > n->clip ? n->clip : v < -n->clip ? -n->clip : v;
}

/* out[rows] = m[rows][cols] v + bias */
/* Stopped, any result will do: the caller looks. */
static void product(const struct npu_host_call *call, const double *m, const double *v,
		    const double *bias, int64_t rows, int64_t cols, double *out)
{
	int64_t i, k;

	for (i = 0; i < rows && !npu_host_stopped(call); i++) {
		double sum = bias ? bias[i] : 0;

		for (k = 0; k < cols; k++)
			sum += m[i * cols + k] * v[k];
		out[i] = sum;
	}
}

static void step_rnn(const struct rnn *n, const struct rnn_act *f)
{
	int64_t i;

	for (i = 0; i < n->hidden; i++)
		n->h[i] = apply(f, clipped(n, n->xw[i] + n->hr[i]));
}

/* Gates z, r, h. */
static void step_gru(const struct rnn *n, const struct rnn_act *f, const double *r,
		     const double *rb)
{
	int64_t hs = n->hidden, i, k;
	double *reset = n->c, *cand = n->hr + 2 * hs;

	for (i = 0; i < hs; i++)
		reset[i] = apply(&f[0], clipped(n, n->xw[hs + i] + n->hr[hs + i]));
	for (i = 0; i < hs && !n->linear_before_reset && !npu_host_stopped(n->call); i++) {
		double sum = rb ? rb[2 * hs + i] : 0;

		for (k = 0; k < hs; k++)
			sum += r[(2 * hs + i) * hs + k] * reset[k] * n->h[k];
		cand[i] = sum;
	}
	for (i = 0; i < hs; i++) {
		double z = apply(&f[0], clipped(n, n->xw[i] + n->hr[i]));
		double back = n->linear_before_reset ? reset[i] * cand[i] : cand[i];
		double g = apply(&f[1], clipped(n, n->xw[2 * hs + i] + back));

		/* h is read by all sums above, so it is written in a place of its own */
		n->hr[i] = (1 - z) * g + z * n->h[i];
	}
	memcpy(n->h, n->hr, (size_t)hs * sizeof(*n->h));
}

/* Gates i, o, f, c; peepholes i, o, f. */
static void step_lstm(const struct rnn *n, const struct rnn_act *f, const double *p)
{
	int64_t hs = n->hidden, i;

	for (i = 0; i < hs; i++) {
		double in = n->xw[i] + n->hr[i], out = n->xw[hs + i] + n->hr[hs + i];
		double forget = n->xw[2 * hs + i] + n->hr[2 * hs + i], g, c;

		in = apply(&f[0], clipped(n, in + (p ? p[i] * n->c[i] : 0)));
		forget = n->input_forget ? 1 - in :
			 apply(&f[0], clipped(n, forget + (p ? p[2 * hs + i] * n->c[i] : 0)));
		g = apply(&f[1], clipped(n, n->xw[3 * hs + i] + n->hr[3 * hs + i]));
		c = forget * n->c[i] + in * g;
		out = apply(&f[0], clipped(n, out + (p ? p[hs + i] * c : 0)));
		n->c[i] = c;
		n->h[i] = out * apply(&f[2], clipped(n, c));
	}
}

/* Offsets into X [T, B, I] or [B, T, I] and Y [T, D, B, H] or [B, T, D, H]. */
static int64_t at_x(const struct rnn *n, int64_t t, int64_t b)
{
	return (n->batch_first ? b * n->time + t : t * n->batch + b) * n->in;
}

static int64_t at_y(const struct rnn *n, int64_t t, int64_t d, int64_t b)
{
	return (n->batch_first ? (b * n->time + t) * n->dirs + d
			       : (t * n->dirs + d) * n->batch + b) *
	       n->hidden;
}

static int64_t at_h(const struct rnn *n, int64_t d, int64_t b)
{
	return (n->batch_first ? b * n->dirs + d : d * n->batch + b) * n->hidden;
}

static void sequence(const struct rnn *n, int64_t d, int64_t b, int64_t len, bool reverse)
{
	int64_t hs = n->hidden, rows = n->gates * hs, step, t;
	const double *w = n->w + d * rows * n->in, *r = n->r + d * rows * hs;
	const double *wb = n->b ? n->b + d * 2 * rows : NULL, *rb = wb ? wb + rows : NULL;
	size_t bytes = (size_t)hs * sizeof(double);

	memset(n->h, 0, bytes);
	memset(n->c, 0, bytes);
	if (n->h0)
		memcpy(n->h, n->h0 + at_h(n, d, b), bytes);
	if (n->c0)
		memcpy(n->c, n->c0 + at_h(n, d, b), bytes);
	for (step = 0; step < len && !npu_host_stopped(n->call); step++) {
		t = reverse ? len - 1 - step : step;
		product(n->call, w, n->x + at_x(n, t, b), wb, rows, n->in, n->xw);
		product(n->call, r, n->h, rb, rows, hs, n->hr);
		if (n->kind == RNN)
			step_rnn(n, n->act[d]);
		else if (n->kind == GRU)
			step_gru(n, n->act[d], r, rb);
		else
			step_lstm(n, n->act[d], n->p ? n->p + d * 3 * hs : NULL);
		if (n->y)
			memcpy(n->y + at_y(n, t, d, b), n->h, bytes);
	}
	if (n->yh)
		memcpy(n->yh + at_h(n, d, b), n->h, bytes);
	if (n->yc)
		memcpy(n->yc + at_h(n, d, b), n->c, bytes);
}

static int rnn_sizes(struct rnn *n, struct npu_error *err)
{
	const struct npu_host_call *call = n->call;
	const struct npu_host_tensor *x = &call->in[0], *w = &call->in[1], *r = &call->in[2], *t;
	int64_t rows, want[8] = { 0 };
	uint32_t i;

	if (x->rank != 3 || w->rank != 3 || r->rank != 3)
		return npu_host_fail(call, err, -EINVAL, "expected X, W and R of rank 3");
	n->batch_first = npu_host_int(call, "layout", 0) != 0;
	n->time = x->dim[n->batch_first];
	n->batch = x->dim[!n->batch_first];
	n->in = x->dim[2];
	n->dirs = w->dim[0];
	n->hidden = r->dim[2];
	if (n->hidden > INT32_MAX)
		return npu_host_fail(call, err, -EINVAL, "a hidden size of %lld",
				     (long long)n->hidden);
	rows = n->gates * n->hidden;
	if (n->dirs < 1 || n->dirs > 2 || r->dim[0] != n->dirs || w->dim[1] != rows ||
	    w->dim[2] != n->in || r->dim[1] != rows)
		return npu_host_fail(call, err, -EINVAL, "the shapes of X, W and R do not fit");
	want[3] = 2 * rows * n->dirs;
	want[4] = n->batch;
	want[5] = want[6] = n->dirs * n->batch * n->hidden;
	want[7] = 3 * n->dirs * n->hidden;
	for (i = 3; i < call->num_in && i < 8; i++) {
		t = npu_host_in(call, i);
		if (t && npu_host_elems(t) != want[i])
			return npu_host_fail(call, err, -EINVAL,
					     "'%s' has %lld elements, expected %lld", t->name,
					     (long long)npu_host_elems(t), (long long)want[i]);
	}
	want[0] = n->time * want[5];
	want[1] = want[2] = want[5];
	for (i = 0; i < call->num_out && i < 3; i++)
		if (npu_host_out(call, i) && npu_host_elems(npu_host_out(call, i)) != want[i])
			return npu_host_fail(call, err, -EINVAL,
					     "'%s' has %lld elements, expected %lld",
					     call->out[i].name,
					     (long long)npu_host_elems(&call->out[i]),
					     (long long)want[i]);
	return 0;
}

static int rnn_run(struct rnn *n, struct npu_error *err)
{
	const char *dir = npu_host_string(n->call, "direction", "forward");
	const struct npu_host_tensor *lens = npu_host_in(n->call, 4);
	int64_t d, b, len;

	for (d = 0; d < n->dirs; d++)
		for (b = 0; b < n->batch; b++) {
			len = lens ? npu_host_get_int(lens, b) : n->time;
			if (len < 0 || len > n->time)
				return npu_host_fail(
					n->call, err, -EINVAL,
					"sequence %lld has the length %lld, expected 0 to %lld",
					(long long)b, (long long)len, (long long)n->time);
			sequence(n, d, b, len, d ? true : !strcmp(dir, "reverse"));
			if (npu_host_poll(n->call, err))
				return -ECANCELED;
		}
	return 0;
}

/* Copy doubles to an output, and free them. */
static void store(const struct npu_host_call *call, uint32_t out, double *v)
{
	struct npu_host_tensor *t = npu_host_out(call, out);
	int64_t i;

	for (i = 0; t && v && i < npu_host_elems(t) && !npu_host_stopped(call); i++)
		npu_host_set(t, i, v[i]);
	free(v);
}

static double *room(const struct rnn *n, uint32_t i, struct npu_error *err, int *ret)
{
	struct npu_host_tensor *t = npu_host_out(n->call, i);
	double *v = t ? npu_host_alloc(n->call, npu_host_elems(t), sizeof(*v), err) : NULL;

	if (t && !v)
		*ret = -ENOMEM;
	return v;
}

static const double *load(const struct rnn *n, uint32_t i, struct npu_error *err, int *ret)
{
	const struct npu_host_tensor *t = npu_host_in(n->call, i);
	double *v = npu_host_doubles(n->call, t, err);

	if (t && !v)
		*ret = -ENOMEM;
	return v;
}

static int recurrent(const struct npu_host_call *call, enum rnn_kind kind, int gates,
		     struct npu_error *err)
{
	struct rnn n = { .call = call, .kind = kind, .gates = gates };
	double *memory;
	int ret = rnn_sizes(&n, err);

	if (!ret)
		ret = rnn_activations(&n, err);
	if (ret)
		return ret;
	n.clip = npu_host_float(call, "clip", INFINITY);
	n.linear_before_reset = npu_host_int(call, "linear_before_reset", 0) != 0;
	n.input_forget = npu_host_int(call, "input_forget", 0) != 0;
	n.x = load(&n, 0, err, &ret);
	n.w = load(&n, 1, err, &ret);
	n.r = load(&n, 2, err, &ret);
	n.b = load(&n, 3, err, &ret);
	n.h0 = load(&n, 5, err, &ret);
	n.c0 = kind == LSTM ? load(&n, 6, err, &ret) : NULL;
	n.p = kind == LSTM ? load(&n, 7, err, &ret) : NULL;
	n.y = room(&n, 0, err, &ret);
	n.yh = room(&n, 1, err, &ret);
	n.yc = kind == LSTM ? room(&n, 2, err, &ret) : NULL;
	memory = npu_host_alloc(call, n.hidden * (2 + 2 * gates), sizeof(*memory), err);
	if (memory) {
		n.h = memory;
		n.c = memory + n.hidden;
		n.xw = memory + 2 * n.hidden;
		n.hr = memory + (2 + gates) * n.hidden;
	} else {
		ret = -ENOMEM;
	}
	if (!ret)
		ret = rnn_run(&n, err);
	free(memory);
	free((void *)n.x);
	free((void *)n.w);
	free((void *)n.r);
	free((void *)n.b);
	free((void *)n.h0);
	free((void *)n.c0);
	free((void *)n.p);
	store(call, 0, n.y);
	store(call, 1, n.yh);
	if (kind == LSTM)
		store(call, 2, n.yc);
	return ret ? ret : npu_host_poll(call, err);
}

int npu_host_rnn(const struct npu_host_call *call, struct npu_error *err)
{
	return recurrent(call, RNN, 1, err);
}

int npu_host_gru(const struct npu_host_call *call, struct npu_error *err)
{
	return recurrent(call, GRU, 3, err);
}

int npu_host_lstm(const struct npu_host_call *call, struct npu_error *err)
{
	return recurrent(call, LSTM, 4, err);
}
