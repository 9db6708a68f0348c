/* SPDX-License-Identifier: MIT */
/* Calibration samples from .npy files. One thread. */
#ifndef TOOLS_CALIB_H
#define TOOLS_CALIB_H

#include "npu_compiler.h"
#include "tools/common/npy.h"
#include "tools/common/option_table.h"

struct calib_set {
	struct npu_calib_sample *sample;
	unsigned int num_samples;
	struct npu_npy *file;		/* what samples point into */
	char **name, **path;		/* of the inputs, and where the data are from; by file */
	unsigned int num_files;
};

/*
 * Load what @count --calib options name; @path[i] is one of
 *
 *	file.npy		a sample of the model's only input
 *	input=file.npy		one input; naming an input again starts the next sample
 *	DIR			every DIR/x.npy a sample of the only input, every DIR/x/ a sample
 *				with one <input>.npy per input, in the order of their names
 *
 * A file may hold a stack of samples, which the compiler finds out (struct npu_calib_tensor).
 * Returns 0 or a negative errno with the reason; calib_free() in any case.
 */
int calib_load(struct calib_set *set, const char *const *path, unsigned int count,
	       struct npu_error *why);
void calib_free(struct calib_set *set);

/*
 * --calib-method ("percentile=99.9": method and, when there is a number, percentile) and --budget
 * ("accuracy=0.99", "speed=0.9") of @table's program: 0, or -EINVAL after a message.
 */
int calib_take_method(const struct option_table *table, const char *name, const char *arg,
		      struct npu_quant_options *q);
int calib_take_budget(const struct option_table *table, const char *name, const char *arg,
		      struct npu_quant_options *q);

#endif
