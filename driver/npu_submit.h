/* SPDX-License-Identifier: GPL-2.0-only */
/* SUBMIT: from a program's description of jobs to the scheduler. */
#ifndef NPU_SUBMIT_H
#define NPU_SUBMIT_H

struct drm_file;
struct drm_npu_submit;
struct npu_queue;

/* Limits of one call. */
#define NPU_SUBMIT_MAX_JOBS	1024
#define NPU_SUBMIT_MAX_SYNCS	256

int npu_submit(struct npu_queue *queue, struct drm_file *file, struct drm_npu_submit *args);

#endif
