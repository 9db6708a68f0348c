// SPDX-License-Identifier: MIT
/* Windows of signals, and Fourier transforms by their definition. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/dense.h"

/* a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n) */
static int cosine_window(const struct npu_host_call *call, double a0, double a1, double a2)
{
	struct npu_host_tensor *out = &call->out[0];
	int64_t size = npu_host_elems(out), i;
	double n = (double)(npu_host_int(call, "periodic", 1) ? size : size - 1), x;

	for (i = 0; i < size; i++) {
		x = n > 0 ? 2 * M_PI * (double)i / n : 0;
		npu_host_set(out, i, a0 - a1 * cos(x) + a2 * cos(2 * x));
	}
	return 0;
}

int npu_host_hann_window(const struct npu_host_call *call, struct npu_error *err)
{
	return cosine_window(call, 0.5, 0.5, 0);
}

int npu_host_hamming_window(const struct npu_host_call *call, struct npu_error *err)
{
	return cosine_window(call, 25.0 / 46, 21.0 / 46, 0);
}

int npu_host_blackman_window(const struct npu_host_call *call, struct npu_error *err)
{
	return cosine_window(call, 0.42, 0.5, 0.08);
}

/* ---- Fourier --------------------------------------------------------------------------------- */

struct transform {
	int64_t in, out, len;	/* samples there are, wanted, length of the transform */
	double *root;		/* cos, sin of 2 pi k / len: exact periods, small arguments */
	bool inverse;
};

static int transform_setup(const struct npu_host_call *call, struct transform *t,
			   struct npu_error *err)
{
	int64_t k;

	/*
	 * a real one of n samples has n / 2 + 1 values; so the length is one that memory was made
	 * for
	 */
	if (t->len < 1 || (t->len > t->in && t->len / 2 > t->out))
		return npu_host_fail(call, err, -EINVAL,
				     "a transform of length %lld of %lld samples",
				     (long long)t->len, (long long)t->in);
	t->root = npu_host_alloc(call, 2 * t->len, sizeof(*t->root), err);
	for (k = 0; t->root && k < t->len; k++) {
		t->root[2 * k] = cos(2 * M_PI * (double)k / (double)t->len);
		t->root[2 * k + 1] = sin(2 * M_PI * (double)k / (double)t->len);
	}
	return t->root ? 0 : -ENOMEM;
}

/* One line: complex sample i is at in[2 * i]; what is missing is zero. */
static int transform_line(const struct npu_host_call *call, const struct transform *t,
			  const double *in, double *out, struct npu_error *err)
{
	int64_t samples = t->in < t->len ? t->in : t->len, i, k, at;

	for (k = 0; k < t->out; k++) {
		double re = 0, im = 0;

		if (npu_host_poll(call, err))
			return -ECANCELED;
		for (at = 0, i = 0; i < samples; i++, at = (at + k) % t->len) {
			double c = t->root[2 * at],
			       s = t->inverse ? t->root[2 * at + 1] : -t->root[2 * at + 1];

			re += in[2 * i] * c - in[2 * i + 1] * s;
			im += in[2 * i] * s + in[2 * i + 1] * c;
		}
		out[2 * k] = t->inverse ? re / (double)t->len : re;
		out[2 * k + 1] = t->inverse ? im / (double)t->len : im;
	}
	return 0;
}

static int dft_axis(const struct npu_host_call *call, uint32_t *axis, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0], *given = npu_host_in(call, 2);
	/* an attribute before operator set 20, then an input; the last dim holds re and im */
	int64_t v = npu_host_int(call, "axis", call->opset < 20 ? 1 : -2), value;

	if (npu_host_want_number(call, 2, err))
		return -EINVAL;
	v = value = given ? npu_host_get_int(given, 0) : v;
	if (x->rank < 2 || x->dim[x->rank - 1] < 1 || x->dim[x->rank - 1] > 2)
		return npu_host_fail(call, err, -EINVAL,
				     "expected a last dimension of 1 (real) or 2 (complex)");
	if (!npu_host_index(&v, x->rank) || v == (int64_t)x->rank - 1)
		return npu_host_fail(call, err, -EINVAL, "axis is %lld of rank %u",
				     (long long)value, x->rank);
	*axis = (uint32_t)v;
	return 0;
}

int npu_host_dft(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0], *length = npu_host_in(call, 1);
	struct npu_host_tensor *y = &call->out[0];
	struct transform t = { .inverse = npu_host_int(call, "inverse", 0) != 0 };
	int64_t outer, inner, parts, o, k, i, at;
	double *line, *result;
	uint32_t axis = 0, d;
	int ret = dft_axis(call, &axis, err);

	if (ret)
		return ret;
	ret = npu_host_want_number(call, 1, err);
	if (!ret && (y->rank != x->rank || y->dim[y->rank - 1] != 2))
		ret = npu_host_fail(call, err, -EINVAL,
				    "the result is not complex or has another rank");
	for (d = 0; d + 1 < x->rank && !ret; d++)
		if (d != axis && y->dim[d] != x->dim[d])
			ret = npu_host_fail(call, err, -EINVAL,
					    "dimension %u of the result differs", d);
	if (ret)
		return ret;
	parts = x->dim[x->rank - 1];
	outer = npu_host_span(x, 0, axis);
	inner = npu_host_span(x, axis + 1, x->rank - 1);
	t.in = x->dim[axis];
	t.out = y->dim[axis];
	t.len = length ? npu_host_get_int(length, 0) : t.in;
	if (t.out > t.len || y->dim[y->rank - 1] != 2)
		return npu_host_fail(call, err, -EINVAL, "the result has %lld of %lld values",
				     (long long)t.out, (long long)t.len);
	ret = transform_setup(call, &t, err);
	line = npu_host_alloc(call, 2 * t.in, sizeof(*line), err);
	result = npu_host_alloc(call, 2 * t.out, sizeof(*result), err);
	if (!line || !result)
		ret = -ENOMEM;
	for (o = 0; o < outer && !ret; o++)
		for (k = 0; k < inner && !ret; k++) {
			for (i = 0; i < t.in; i++) {
				at = ((o * t.in + i) * inner + k) * parts;
				line[2 * i] = npu_host_get(x, at);
				line[2 * i + 1] = parts == 2 ? npu_host_get(x, at + 1) : 0;
			}
			ret = transform_line(call, &t, line, result, err);
			for (i = 0; i < 2 * t.out; i++)
				npu_host_set(y, ((o * t.out + i / 2) * inner + k) * 2 + i % 2,
					     result[i]);
		}
	free(line);
	free(result);
	free(t.root);
	return ret;
}

/* signal [B, L, 1 or 2], frame_step, window, frame_length; result [B, frames, values, 2] */
int npu_host_stft(const struct npu_host_call *call, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0], *window = npu_host_in(call, 2),
				     *length = npu_host_in(call, 3);
	struct npu_host_tensor *y = &call->out[0];
	struct transform t = { 0 };
	int64_t step, parts, b, f, i, at, frame;
	double *line, *result, w;
	int ret = npu_host_want_number(call, 1, err);

	if (!ret)
		ret = npu_host_want_number(call, 3, err);
	if (ret)
		return ret;
	step = npu_host_get_int(&call->in[1], 0);
	if (x->rank < 2 || y->rank != 4 || y->dim[0] != x->dim[0] || y->dim[3] != 2 ||
	    (!length && !window))
		return npu_host_fail(call, err, -EINVAL,
				     "expected a signal, and a window or a frame_length");
	parts = x->rank == 3 ? x->dim[2] : 1;
	frame = length ? npu_host_get_int(length, 0) : npu_host_elems(window);
	t.in = t.len = frame;
	t.out = y->dim[2];
	if (step < 1 || frame < 1 || frame > x->dim[1] || parts < 1 || parts > 2 || t.out > frame ||
	    (window && npu_host_elems(window) != frame) ||
	    (y->dim[1] > 0 &&
	     (y->dim[1] - 1 > x->dim[1] / step || (y->dim[1] - 1) * step + frame > x->dim[1])))
		return npu_host_fail(call, err, -EINVAL,
				     "frames of %lld every %lld do not fit a signal of %lld",
				     (long long)frame, (long long)step, (long long)x->dim[1]);
	ret = transform_setup(call, &t, err);
	line = npu_host_alloc(call, 2 * frame, sizeof(*line), err);
	result = npu_host_alloc(call, 2 * t.out, sizeof(*result), err);
	if (!line || !result)
		ret = -ENOMEM;
	for (b = 0; b < x->dim[0] && !ret; b++)
		for (f = 0; f < y->dim[1] && !ret; f++) {
			for (i = 0; i < frame; i++) {
				at = (b * x->dim[1] + f * step + i) * parts;
				w = window ? npu_host_get(window, i) : 1;
				line[2 * i] = w * npu_host_get(x, at);
				line[2 * i + 1] = parts == 2 ? w * npu_host_get(x, at + 1) : 0;
			}
			ret = transform_line(call, &t, line, result, err);
			for (i = 0; i < 2 * t.out; i++)
				npu_host_set(y, (b * y->dim[1] + f) * 2 * t.out + i, result[i]);
		}
	free(line);
	free(result);
	free(t.root);
	return ret;
}
