/* SPDX-License-Identifier: MIT */
/* Compile a model and run the job in process, for tests. */
#ifndef RUN_JOB_H
#define RUN_JOB_H

#include "npu.h"
#include "npu_compiler.h"
#include "tools/common/npy.h"

struct named_array {
	char name[256];
	struct npu_npy arr;
};

/* Set @arr up as zeros. */
int array_alloc(struct npu_npy *arr, enum npu_npy_type type, int rank, const int64_t *dims);
/* Reproducible values in [low, high) from @seed. */
void array_random(struct npu_npy *arr, unsigned int seed, float low, float high);

struct runner {
	struct npu_queue *queue;
	struct npu_job *job;
	struct npu_run *run;
	char why[2048];		/* after a failure */
};

/* Load @job; returns 0 or a negative errno with runner->why. */
int runner_open(struct runner *r, const void *job, size_t size);
/*
 * Run once: every output is allocated into @out (room for @max). Returns their number or a negative
 * errno.
 */
int runner_run(struct runner *r, const struct named_array *in, int num_in, struct named_array *out,
	       int max);
void runner_close(struct runner *r);

/*
 * Differences: largest, root of the mean square; and the largest |want|. NaN in one only counts as
 * infinite.
 */
struct difference {
	double max, rms, top;
};

void array_compare(const struct npu_npy *got, const struct npu_npy *want, struct difference *d);
double array_at(const struct npu_npy *arr, size_t i);

#endif
