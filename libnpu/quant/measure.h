/* SPDX-License-Identifier: MIT */
/* How close the outputs of a job are to those of the float model: the job is compiled and run. */
#ifndef NPU_QUANT_MEASURE_H
#define NPU_QUANT_MEASURE_H

#include "quant/calibrate.h"

struct npu_closeness {
	/*
	 * Of the worst sample, least over the model's outputs; NaN anywhere counts as 0. A sample
	 * on which an output is next to nothing says nothing about it.
	 */
	double cosine;
	double pooled;		/* the same over all samples taken as one */
	/* least share of equal places of the maximum, or equal integers; 1: none such */
	double agree;
};

struct npu_measure {
	struct npu_calib *c;
	struct npu_trial_device *d;
	struct npu_lower like;		/* precision of what is not int8 */
	unsigned int *sample; /* those that are compared; the first few are spread evenly, too */
	unsigned int num_samples;
	void ***want;			/* [sample][output]: of the float model */
	unsigned int trials;		/* so far */
};

/*
 * npu_measure_init - run the float model over up to @max samples, evenly spread
 *
 * Returns 0 or a negative errno with a text in the calibration's diag; npu_measure_fini() in any
 * case.
 */
int npu_measure_init(struct npu_measure *m, struct npu_calib *c, struct npu_trial_device *d,
		     const struct npu_lower *like, unsigned int max);
void npu_measure_fini(struct npu_measure *m);

/*
 * npu_measure_layers - compile with the choice in the calibration's layers and compare
 *
 * Every sample runs with ranges that are not from its part of the samples, where there are parts.
 *
 * npu_measure_alone - the same for telling layers apart: what is not int8 is f32
 *
 * Outputs of a softmax are compared before it, less their mean: behind it two classes that are
 * nearly equal change places at the least error, and all choices look alike.
 * @samples: how many of the samples that are compared, at least 1
 */
int npu_measure_layers(struct npu_measure *m, unsigned int samples, struct npu_closeness *out);
int npu_measure_alone(struct npu_measure *m, unsigned int samples, struct npu_closeness *out);

/*
 * npu_measure_inside - with that choice, the error (1 - cosine) of every layer's own result on the
 * first sample, into @error by layer; NAN where the layer has no result of its own in the graph
 */
int npu_measure_inside(struct npu_measure *m, double *error);

#endif
