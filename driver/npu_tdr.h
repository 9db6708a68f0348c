/* SPDX-License-Identifier: GPL-2.0-only */
/* The clock over jobs, and the ways to end one. */
#ifndef NPU_TDR_H
#define NPU_TDR_H

/* How often jobs are looked at while there are any, see npu_debugfs.c. */
#define NPU_TDR_PERIOD_MS	250u
#define NPU_TDR_PERIOD_MAX_MS	60000u

struct npu_device;
struct npu_queue;
struct work_struct;

void npu_tdr_work(struct work_struct *work);
void npu_tdr_start(struct npu_device *npu);
void npu_tdr_kick(struct npu_device *npu);
int npu_tdr_abort(struct npu_queue *queue);

#endif
