// SPDX-License-Identifier: MIT
/* Conv and ConvTranspose of any rank, summed in double. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/window.h"

struct conv {
	struct npu_host_window win;
	int64_t batch, group, in, out;	/* channels of a group */
	const double *x, *w, *b;	/* b NULL: no bias */
	double *y;
};

/*
 * One output of every filter of a group: taps outside, channels inside.
 */
static void conv_point(const struct conv *c, int64_t n, int64_t g, const int64_t *index, int64_t at)
{
	int64_t tap[NPU_HOST_RANK] = { 0 }, where, k, i, o, flat = 0;
	const struct npu_host_window *w = &c->win;
	const double *x = c->x + (n * c->group + g) * c->in * w->in_size;
	double *y = c->y + (n * c->group + g) * c->out * w->out_size + at;
	bool padded;

	for (o = 0; o < c->out; o++)
		y[o * w->out_size] = c->b ? c->b[g * c->out + o] : 0;
	do {
		where = npu_host_tap(w, index, tap, &padded);
		for (o = 0; o < c->out && where >= 0; o++) {
			const double *weight =
				c->w + (g * c->out + o) * c->in * w->kernel_size + flat;
			double sum = 0;

			for (i = 0, k = where; i < c->in; i++, k += w->in_size)
				sum += x[k] * weight[i * w->kernel_size];
			y[o * w->out_size] += sum;
		}
		flat++;
	} while (npu_host_next(w->rank, w->kernel, tap));
}

/* The same windows the other way round: @win's "in" is what is written. */
static void transpose_point(const struct conv *c, int64_t n, int64_t g, const int64_t *index,
			    int64_t at)
{
	int64_t tap[NPU_HOST_RANK] = { 0 }, where, i, o, flat = 0;
	const struct npu_host_window *w = &c->win;
	const double *x = c->x + (n * c->group + g) * c->in * w->out_size + at;
	double *y = c->y + (n * c->group + g) * c->out * w->in_size;
	bool padded;

	do {
		where = npu_host_tap(w, index, tap, &padded);
		for (o = 0; o < c->out && where >= 0; o++) {
			const double *weight =
				c->w + (g * c->in * c->out + o) * w->kernel_size + flat;
			double sum = 0;

			for (i = 0; i < c->in; i++)
				sum += x[i * w->out_size] * weight[i * c->out * w->kernel_size];
			y[o * w->in_size + where] += sum;
		}
		flat++;
	} while (npu_host_next(w->rank, w->kernel, tap));
}

static void transpose_bias(const struct conv *c)
{
	int64_t channels = c->group * c->out, n, o, i;

	for (n = 0; n < c->batch; n++)
		for (o = 0; o < channels; o++)
			for (i = 0; i < c->win.in_size; i++)
				c->y[(n * channels + o) * c->win.in_size + i] = c->b ? c->b[o] : 0;
}

static int conv_run(const struct npu_host_call *call, const struct conv *c, bool transposed,
		    struct npu_error *err)
{
	int64_t index[NPU_HOST_RANK] = { 0 }, n, g, at;

	if (transposed)
		transpose_bias(c);
	for (n = 0; n < c->batch && c->win.out_size; n++)
		for (g = 0; g < c->group; g++) {
			at = 0;
			do {
				if (npu_host_poll(call, err))
					return -ECANCELED;
				if (transposed)
					transpose_point(c, n, g, index, at++);
				else
					conv_point(c, n, g, index, at++);
			} while (npu_host_next(c->win.rank, c->win.out, index));
		}
	return 0;
}

/*
 * Padding of a transposed convolution from the shape of its result, which output_shape or SAME
 * decided: what the windows reach beyond it is cut off.
 */
static void transpose_pads(const struct npu_host_call *call, struct conv *c)
{
	const char *mode = npu_host_string(call, "auto_pad", "NOTSET");
	struct npu_host_window *w = &c->win;
	uint32_t count, i;
	const int64_t *extra;

	npu_host_ints(call, "output_shape", &count);
	if (!count && strncmp(mode, "SAME", 4))
		return;
	extra = npu_host_ints(call, "output_padding", &count);
	for (i = 0; i < w->rank; i++) {
		int64_t total = (w->out[i] - 1) * w->stride[i] +
				(w->kernel[i] - 1) * w->dilation[i] + 1 +
				(count == w->rank ? extra[i] : 0) - w->in[i];

		total = total < 0 ? 0 : total;
		w->pad[i] = !strcmp(mode, "SAME_UPPER") ? total / 2 : total - total / 2;
	}
}

static int conv_setup(const struct npu_host_call *call, struct conv *c, bool transposed,
		      struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0], *w = &call->in[1],
				     *b = npu_host_in(call, 2);
	const struct npu_host_tensor *y = &call->out[0];
	int ret = npu_host_window(call, transposed ? y : x, transposed ? x : y, w, &c->win, err);
	int64_t filters;

	if (ret)
		return ret;
	if (transposed)
		transpose_pads(call, c);
	c->group = npu_host_int(call, "group", 1);
	if (c->group < 1 || x->dim[1] % c->group || w->dim[0] % c->group)
		return npu_host_fail(call, err, -EINVAL, "group is %lld", (long long)c->group);
	c->batch = x->dim[0];
	c->in = x->dim[1] / c->group;
	c->out = transposed ? w->dim[1] : w->dim[0] / c->group;
	filters = c->out * c->group;
	if ((transposed ? w->dim[0] != x->dim[1] : w->dim[1] != c->in) || y->dim[1] != filters ||
	    y->dim[0] != c->batch || (b && npu_host_elems(b) != filters))
		return npu_host_fail(call, err, -EINVAL,
				     "the channels of '%s', '%s' and the result do not fit",
				     x->name, w->name);
	return 0;
}

static int conv(const struct npu_host_call *call, bool transposed, struct npu_error *err)
{
	struct conv c = { .b = NULL };
	int ret = conv_setup(call, &c, transposed, err);
	double *x, *w, *b;
	int64_t i;

	if (ret)
		return ret;
	x = npu_host_doubles(call, &call->in[0], err);
	w = npu_host_doubles(call, &call->in[1], err);
	b = npu_host_doubles(call, npu_host_in(call, 2), err);
	c.y = npu_host_alloc(call, npu_host_elems(&call->out[0]), sizeof(*c.y), err);
	if (x && w && c.y && (b || !npu_host_in(call, 2))) {
		c.x = x;
		c.w = w;
		c.b = b;
		ret = conv_run(call, &c, transposed, err);
		for (i = 0; !ret && i < npu_host_elems(&call->out[0]); i++) {
			ret = NPU_HOST_NOW_AND_THEN(i, call, err);
			npu_host_set(&call->out[0], i, c.y[i]);
		}
	} else {
		ret = -ENOMEM;
	}
	free(x);
	free(w);
	free(b);
	free(c.y);
	return ret;
}

int npu_host_conv(const struct npu_host_call *call, struct npu_error *err)
{
	return conv(call, false, err);
}

int npu_host_conv_transpose(const struct npu_host_call *call, struct npu_error *err)
{
	return conv(call, true, err);
}
