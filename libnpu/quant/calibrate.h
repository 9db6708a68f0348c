/* SPDX-License-Identifier: MIT */
/*
 * Calibration: the samples, the float model at their shapes, and what its tensors look like when
 * it runs them.
 */
#ifndef NPU_QUANT_CALIBRATE_H
#define NPU_QUANT_CALIBRATE_H

#include "quant/scheme.h"
#include "quant/trial.h"

/* Tensors that one run shows: the regions of a stream, less what inputs and outputs need. */
#define NPU_CALIB_SHOWN	200

/* Where a model is read from. */
struct npu_calib_model {
	const void *data;
	size_t size;
	const char *path, *skip_passes;
};

/* The model at one shape of its inputs. */
struct npu_calib_instance {
	struct npu_graph *g;
	struct npu_scheme scheme;
	bool looked_at;			/* scheme is there */
};

struct npu_calib {
	struct npu_arena arena;
	const struct npu_calib_sample *sample;
	unsigned int num_samples;
	struct npu_calib_instance *instance;
	unsigned int num_instances;
	unsigned int *instance_of;	/* by sample */
	struct npu_qlayers layers;	/* of the first instance */
	struct npu_qstats stats;
	struct npu_diag *diag;
};

/*
 * npu_calib_init - check the samples, read the model once per shape of them
 *
 * Returns 0, -EINVAL (a sample does not fit the model: text in @diag), -EOPNOTSUPP (as in
 * compiling), or -ENOMEM; npu_calib_fini() in any case.
 */
int npu_calib_init(struct npu_calib *c, const struct npu_calib_model *model,
		   const struct npu_calib_sample *sample, unsigned int num_samples,
		   struct npu_diag *diag);
void npu_calib_fini(struct npu_calib *c);

/* Called between runs with 0..1; nonzero ends with -ECANCELED. */
typedef int (*npu_calib_progress)(void *arg, double fraction);

/* Run all samples through the float model and fill in the statistics; @like as npu_trial_build(). */
int npu_calib_collect(struct npu_calib *c, struct npu_trial_device *d, const struct npu_lower *like,
		      npu_calib_progress progress, void *arg);

/* Outputs of a graph, and tensors that are shown beside them for a while. */
struct npu_shown {
	struct npu_gtensor **outputs, **all;
	const char **names, **all_names;
	unsigned int num, count;
	bool *was_output;
};

/* Make @count tensors outputs of @g, behind its own. 0 or -ENOMEM; npu_shown_hide() in any case. */
int npu_shown_show(struct npu_shown *v, struct npu_graph *g, struct npu_gtensor *const *tensor,
		   unsigned int count);
void npu_shown_hide(struct npu_shown *v, struct npu_graph *g);

/*
 * The data of sample @sample for every input of the instance's graph, in its order, into @input
 * (room for as many).
 */
void npu_calib_inputs(const struct npu_calib *c, unsigned int sample, const void **input);

#endif
