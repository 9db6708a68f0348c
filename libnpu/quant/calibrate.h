/* SPDX-License-Identifier: MIT */
/*
 * Calibration: the samples, the float model at their shapes, and what its tensors look like when
 * it runs them.
 */
#ifndef NPU_QUANT_CALIBRATE_H
#define NPU_QUANT_CALIBRATE_H

#include "compiler/shape_text.h"
#include "quant/scheme.h"
#include "quant/trial.h"

/* Where a model is read from, and the shapes that it is compiled for. */
struct npu_calib_model {
	const void *data;
	size_t size;
	const char *path, *skip_passes;
	const struct npu_host_config *host;	/* what may run on the host; outlives all */
	const struct npu_shape_text *shapes;
	unsigned int num_shapes, num_variants;
};

/* The model at one shape of its inputs. */
struct npu_calib_instance {
	struct npu_graph *g;
	struct npu_scheme scheme;
	bool looked_at;			/* scheme is there */
};

struct npu_calib {
	struct npu_arena arena;
	const struct npu_calib_sample *sample;	/* one value of every input, no stacks */
	unsigned int num_samples;
	const char **input_name;
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

/* The tensor of @s for input @i of @g, or NULL. */
const struct npu_calib_tensor *npu_calib_find(const struct npu_calib_sample *s,
					      const struct npu_graph *g, unsigned int i);

/*
 * "sample 3 (page.npy), input 'x'", for messages: @v is what sample @k has for @t. Returns @text.
 */
#define NPU_CALIB_WHERE	400
const char *npu_calib_where(const struct npu_calib_tensor *v, const struct npu_gtensor *t,
			    unsigned int k, char text[NPU_CALIB_WHERE]);

/* The part that @sample is of; can part @p be left out (NPU_CALIB_ALL_PARTS: none is)? */
unsigned int npu_calib_part(const struct npu_calib *c, unsigned int sample);
bool npu_calib_can_leave_out(const struct npu_calib *c, unsigned int p);

/* Let the ranges of @now hold in all instances, and the means that belong to them. 0 or -ENOMEM. */
int npu_calib_choose(struct npu_calib *c, struct npu_qsetting now);

/* Called between runs with 0..1; nonzero ends with -ECANCELED. */
typedef int (*npu_calib_progress)(void *arg, double fraction);

/*
 * Run all samples through the float model and fill in the statistics; @like as npu_trial_build().
 */
int npu_calib_collect(struct npu_calib *c, struct npu_trial_device *d, const struct npu_lower *like,
		      npu_calib_progress progress, void *arg);

/* Outputs of a graph, and tensors that are shown beside them for a while. */
struct npu_shown {
	struct npu_gtensor **outputs, **all;
	const char **names, **all_names;
	unsigned int num, count;
	bool *was_output;
};

/*
 * How many tensors one run can show beside the inputs and outputs of @g: a region each. At least 1.
 */
unsigned int npu_shown_max(const struct npu_graph *g);

/* Make @count tensors outputs of @g, behind its own. 0 or -ENOMEM; npu_shown_hide() in any case. */
int npu_shown_show(struct npu_shown *v, struct npu_graph *g, struct npu_gtensor *const *tensor,
		   unsigned int count);
void npu_shown_hide(struct npu_shown *v, struct npu_graph *g);

/* Called behind every run with the sample's place in the list; nonzero ends with that. */
typedef int (*npu_calib_each)(void *arg, unsigned int k, const struct npu_trial *t);

/*
 * npu_calib_run - build the graph of instance @index as it is and run those of the samples
 * @list[0..@count) that have its shapes; @list NULL: all samples in their order. @like and
 * @any_order as npu_trial_build(). Returns 0, what @each returned, or as npu_trial_build().
 */
int npu_calib_run(struct npu_calib *c, struct npu_trial_device *d, unsigned int index,
		  const unsigned int *list, unsigned int count, const struct npu_lower *like,
		  bool any_order, npu_calib_each each, void *arg);

/* A way to look at tensors while samples run. */
struct npu_calib_look {
	const unsigned int *sample;	/* NULL: all in their order */
	unsigned int num_samples;
	/* with the sample's place in the list; nonzero ends with that */
	int (*each)(void *arg, unsigned int k, const struct npu_gtensor *t, const float *data,
		    bool channels_last);
	void *arg;
	npu_calib_progress progress;	/* may be NULL */
	void *progress_arg;
};

/*
 * npu_calib_look - run the float model of instance @index, show @num f32 tensors of its graph
 *
 * They are dense, in the order of their dimensions or with dimension 1 (the channels) innermost.
 * Returns 0, -ECANCELED, what ->each returned, or a negative errno with a text.
 */
int npu_calib_look(struct npu_calib *c, unsigned int index, struct npu_trial_device *d,
		   const struct npu_lower *like, struct npu_gtensor *const *tensor,
		   unsigned int num, const struct npu_calib_look *look);

#endif
