/* SPDX-License-Identifier: MIT */
/* Windows that slide over the dims after the second: convolution and pooling of any rank. */
#ifndef NPU_HOST_WINDOW_H
#define NPU_HOST_WINDOW_H

#include "host/dense.h"

struct npu_host_window {
	uint32_t rank;		/* spatial dims */
	int64_t in[NPU_HOST_RANK], out[NPU_HOST_RANK];
	int64_t kernel[NPU_HOST_RANK], stride[NPU_HOST_RANK], dilation[NPU_HOST_RANK];
	int64_t pad[2 * NPU_HOST_RANK];		/* begin of all, then end of all */
	int64_t in_size, out_size, kernel_size;	/* products */
};

/*
 * From the node's attributes, the spatial sizes of @x and @y and, of convolutions, those of the
 * weight @w (NULL: kernel_shape). auto_pad is resolved; for a transposed convolution @y is the
 * input that the forward one would have. -EINVAL (reported): lists of a wrong length, values out of
 * range.
 */
int npu_host_window(const struct npu_host_call *call, const struct npu_host_tensor *x,
		    const struct npu_host_tensor *y, const struct npu_host_tensor *w,
		    struct npu_host_window *win, struct npu_error *err);

/*
 * Where tap @tap (row-major in the kernel) of the window at output @index lies in the input plane;
 * -1: in the padding. @padded: inside of input and padding (ceil_mode windows may hang over).
 */
int64_t npu_host_tap(const struct npu_host_window *win, const int64_t *index, const int64_t *tap,
		     bool *padded);

#endif
