/* SPDX-License-Identifier: GPL-2.0-only */
/* Files for those who debug. */
#ifndef NPU_DEBUGFS_H
#define NPU_DEBUGFS_H

struct drm_minor;

void npu_debugfs_init(struct drm_minor *minor);

#endif
