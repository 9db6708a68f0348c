/* SPDX-License-Identifier: GPL-2.0-only */
/* Files for those who debug. */
#ifndef NPU_DEBUGFS_H
#define NPU_DEBUGFS_H

struct npu_device;

#ifdef CONFIG_DEBUG_FS
void npu_debugfs_init(struct npu_device *npu);
#else
static inline void npu_debugfs_init(struct npu_device *npu) {}
#endif

#endif
