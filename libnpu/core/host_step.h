/* SPDX-License-Identifier: MIT */
/* Running one host step: what is needed for it, whoever runs the program. */
#ifndef NPU_CORE_HOST_STEP_H
#define NPU_CORE_HOST_STEP_H

#include "core/backend.h"
#include "core/jobfile.h"

/* Where the tensors of a program lie, and how long they are, while its steps run. */
struct npu_host_frame {
	const char *path;		/* of the job, for messages */
	const struct npu_jobfile_program *program;
	const npu_u32 *scalar;
	const struct npu_region *region;	/* their sizes */
	struct npu_buffer *const *buf;	/* by region; NULL: none that the host sees */
	const npu_u64 *offset;		/* in buf, by region */
	int64_t (*dims)[NPU_TENSOR_MAX_RANK];	/* by tensor: begins with the bounds */
	const void *stop;		/* an atomic_bool, or NULL */
};

/*
 * npu_host_frame_run - build the arguments of @step, call @op, keep in f->dims what it found out
 *
 * *@bytes grows by what was read and written. Returns 0 or a negative errno with a text that names
 * the node; -ECANCELED when f->stop was set.
 */
int npu_host_frame_run(const struct npu_host_frame *f, const struct npu_jobfile_step *step,
		       const struct npu_host_op *op, uint64_t *bytes, struct npu_error *err);

#endif
