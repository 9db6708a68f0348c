/* SPDX-License-Identifier: MIT */
/*
 * Compile a graph of fixed shapes and run it on the engine in process, with its host steps: what
 * calibration looks at and what sensitivity is measured with is the job itself, not a model of it.
 */
#ifndef NPU_QUANT_TRIAL_H
#define NPU_QUANT_TRIAL_H

#include "compiler/emit.h"
#include "compiler/weights.h"
#include "npu.h"

/* The device, and buffers that trials use one after the other. */
struct npu_trial_device {
	struct npu_device *dev;
	struct npu_queue *queue;
	struct npu_buffer *scratch, *weights;	/* grow */
};

/* Returns 0 or a negative errno with a text in @diag. */
int npu_trial_open(struct npu_trial_device *d, struct npu_diag *diag);
void npu_trial_close(struct npu_trial_device *d);

struct npu_trial {
	struct npu_trial_device *d;
	struct npu_graph *g;
	const char *path;	/* of the model, for messages */
	struct npu_arena arena;
	struct npu_weights weights;
	struct npu_lower lower;
	struct npu_plan plan;
	struct npu_emitted emitted;
	struct npu_buffer **io; /* inputs, then outputs, then the counters of clipped values */
};

/**
 * npu_trial_build - compile @g; a trial starts zeroed and ends with npu_trial_free() in any case
 * @like: precision, all_f16, count_clips and count_all_clips are taken from here
 * @any_order: outputs may lie in any order of their elements (what is counted needs no address)
 *
 * One trial of a device at a time. Returns 0 or a negative errno with a text in @diag.
 */
int npu_trial_build(struct npu_trial *t, struct npu_trial_device *d, struct npu_graph *g,
		    const struct npu_lower *like, bool any_order, struct npu_diag *diag);

/*
 * Run with @input[i] for the graph's input i. *@output(i) is its output i, dense, valid until the
 * next run or npu_trial_free().
 */
int npu_trial_run(struct npu_trial *t, const void *const *input, struct npu_diag *diag);
const void *npu_trial_output(const struct npu_trial *t, unsigned int i);

/* Does output @i lie with its channels (dimension 1) innermost? Only with any_order. */
bool npu_trial_channels_last(const struct npu_trial *t, unsigned int i);

/*
 * After a run: counter @i of clipped values, three numbers, and its name; NULL past the last.
 */
const int64_t *npu_trial_clip(const struct npu_trial *t, unsigned int i,
			      const struct npu_lclip **clip);
void npu_trial_free(struct npu_trial *t);

#endif
