/* SPDX-License-Identifier: GPL-2.0-only */
/* DRM driver. */
#ifndef NPU_DRV_H
#define NPU_DRV_H

#include <drm/drm_drv.h>

extern const struct drm_driver npu_drm_driver;

#endif
