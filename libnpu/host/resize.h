/* SPDX-License-Identifier: MIT */
/* One axis of a Resize as a table; the compiler makes instructions of the same tables. */
#ifndef NPU_HOST_RESIZE_H
#define NPU_HOST_RESIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "npu_isa.h"

/**
 * struct npu_resize_axis - what a Resize says about one axis
 * @coordinates, @nearest: ONNX's coordinate_transformation_mode and nearest_mode
 * @in, @out: sizes, 1 and more
 * @scale: out over in, finite and above 0
 * @start, @end: the region of tf_crop_and_resize
 */
struct npu_resize_axis {
	enum npu_resize mode;
	const char *coordinates, *nearest;
	double cubic_a;
	bool exclude_outside, antialias;
	int64_t in, out;
	double scale, start, end;
};

/* Every output is a sum over @taps weighted inputs; outside: it is the extrapolation value. */
struct npu_resize_table {
	int64_t taps;
	int64_t *index;		/* [out][taps] */
	double *weight;		/* [out][taps] */
	bool *outside;		/* [out] */
};

/* 0 or -ENOMEM; free it in either case. */
int npu_resize_table_make(const struct npu_resize_axis *a, struct npu_resize_table *t);
void npu_resize_table_free(struct npu_resize_table *t);

#endif
