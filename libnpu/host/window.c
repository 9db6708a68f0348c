// SPDX-License-Identifier: MIT
/* Windows of convolution and pooling. */
#include <errno.h>
#include <string.h>

#include "host/window.h"

#define WINDOW_MAX	(1ll << 24)	/* of every size, so that sums of products fit */

static int list(const struct npu_host_call *call, const char *name, uint32_t count, int64_t min,
		int64_t def, int64_t *to, struct npu_error *err)
{
	const int64_t *v;
	uint32_t have, i;

	v = npu_host_ints(call, name, &have);
	if (have && have != count)
		return npu_host_fail(call, err, -EINVAL, "%s has %u entries, expected %u", name,
				     have, count);
	for (i = 0; i < count; i++) {
		to[i] = have ? v[i] : def;
		if (to[i] < min || to[i] > WINDOW_MAX)
			return npu_host_fail(call, err, -EINVAL, "%s[%u] is %lld", name, i,
					     (long long)to[i]);
	}
	return 0;
}

/* SAME: as much padding as the output needs, the odd one at the end (UPPER) or the beginning. */
static void same_pads(struct npu_host_window *w, bool upper)
{
	uint32_t i;

	for (i = 0; i < w->rank; i++) {
		int64_t total = (w->out[i] - 1) * w->stride[i] +
				(w->kernel[i] - 1) * w->dilation[i] + 1 - w->in[i];

		total = total < 0 ? 0 : total;
		w->pad[i] = upper ? total / 2 : total - total / 2;
		w->pad[w->rank + i] = total - w->pad[i];
	}
}

int npu_host_window(const struct npu_host_call *call, const struct npu_host_tensor *x,
		    const struct npu_host_tensor *y, const struct npu_host_tensor *w,
		    struct npu_host_window *win, struct npu_error *err)
{
	const char *mode = npu_host_string(call, "auto_pad", "NOTSET");
	uint32_t i;
	int ret;

	memset(win, 0, sizeof(*win));
	if (x->rank < 3 || y->rank != x->rank || (w && w->rank != x->rank))
		return npu_host_fail(call, err, -EINVAL, "expected tensors of one rank, 3 or more");
	win->rank = x->rank - 2;
	ret = list(call, "kernel_shape", win->rank, 1, w ? 1 : 0, win->kernel, err);
	if (!ret)
		ret = list(call, "strides", win->rank, 1, 1, win->stride, err);
	if (!ret)
		ret = list(call, "dilations", win->rank, 1, 1, win->dilation, err);
	if (!ret)
		ret = list(call, "pads", 2 * win->rank, 0, 0, win->pad, err);
	win->in_size = win->out_size = win->kernel_size = 1;
	for (i = 0; i < win->rank && !ret; i++) {
		win->in[i] = x->dim[i + 2];
		win->out[i] = y->dim[i + 2];
		if (w)
			win->kernel[i] = w->dim[i + 2];
		win->in_size *= win->in[i];
		win->out_size *= win->out[i];
		if (win->kernel[i] < 1 || win->kernel[i] > WINDOW_MAX ||
		    __builtin_mul_overflow(win->kernel_size, win->kernel[i], &win->kernel_size))
			ret = npu_host_fail(call, err, -EINVAL, "the kernel's size %u is %lld", i,
					    (long long)win->kernel[i]);
	}
	if (!strcmp(mode, "SAME_UPPER") || !strcmp(mode, "SAME_LOWER"))
		same_pads(win, !strcmp(mode, "SAME_UPPER"));
	else if (!strcmp(mode, "VALID"))
		memset(win->pad, 0, sizeof(win->pad));
	return ret;
}

int64_t npu_host_tap(const struct npu_host_window *win, const int64_t *index, const int64_t *tap,
		     bool *padded)
{
	int64_t at = 0;
	bool inside = true;
	uint32_t i;

	*padded = true;
	for (i = 0; i < win->rank; i++) {
		int64_t p = index[i] * win->stride[i] + tap[i] * win->dilation[i] - win->pad[i];

		inside = inside && p >= 0 && p < win->in[i];
		*padded = *padded && p < win->in[i] + win->pad[win->rank + i];
		at = at * win->in[i] + p;
	}
	return inside ? at : -1;
}
