/* SPDX-License-Identifier: GPL-2.0-only */
/* Arrays and structures of growing size, to and from programs. */
#ifndef NPU_UOBJ_H
#define NPU_UOBJ_H

#include <linux/types.h>

struct drm_npu_obj_array;

int npu_uobj_array_copy(void *out, const struct drm_npu_obj_array *in, u32 size, u32 min_size);
void *npu_uobj_array_get(const struct drm_npu_obj_array *in, u32 size, u32 min_size);
int npu_uobj_put(u64 pointer, u32 *user_size, const void *obj, u32 size);

#endif
