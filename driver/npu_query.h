/* SPDX-License-Identifier: GPL-2.0-only */
/* DEV_QUERY: what programs want to know about the device. */
#ifndef NPU_QUERY_H
#define NPU_QUERY_H

#include <linux/types.h>

struct drm_npu_dev_query;
struct npu_device;

int npu_query(struct npu_device *npu, struct drm_npu_dev_query *args);
u64 npu_query_user_va_end(const struct npu_device *npu);
bool npu_query_may_priority(u32 priority);

#endif
