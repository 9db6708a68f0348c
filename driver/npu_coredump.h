/* SPDX-License-Identifier: GPL-2.0-only */
/* Dumps for user space, through the devcoredump class. */
#ifndef NPU_COREDUMP_H
#define NPU_COREDUMP_H

struct npu_device;
struct npu_queue;

int npu_coredump_init(struct npu_device *npu);
void npu_coredump_fini(struct npu_device *npu);
void npu_coredump_capture(struct npu_device *npu, const char *why, struct npu_queue *queue);

#endif
