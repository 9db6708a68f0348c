// SPDX-License-Identifier: GPL-2.0-only
/* Arrays and structures of growing size, to and from programs. */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>

#include "../uapi/drm/npu_drm.h"

#include "npu_uobj.h"

/* No structure will be larger. Looking for what is not zero, and zeroing, takes its time. */
#define NPU_UOBJ_MAX	SZ_4K

/**
 * npu_uobj_array_copy() - copy an array of structures from a program
 * @out: where to, of in->count structures
 * @in: where it is; the caller has checked the count
 * @size: of the structure that this driver knows
 * @min_size: of the first one there was
 *
 * Shorter structures are filled with zeros, longer ones must be zero in what is not known.
 *
 * Return: 0, -EINVAL, -E2BIG, or -EFAULT.
 */
int npu_uobj_array_copy(void *out, const struct drm_npu_obj_array *in, u32 size, u32 min_size)
{
	void __user *user = u64_to_user_ptr(in->array);
	int ret = 0;
	u32 i;

	if (!in->count)
		return 0;
	if (in->stride < min_size || in->stride % 8)
		return -EINVAL;
	if (in->stride > NPU_UOBJ_MAX)
		return -E2BIG;
	if (in->stride == size)
		return copy_from_user(out, user, (size_t)in->count * size) ? -EFAULT : 0;

	for (i = 0; i < in->count && !ret; i++)
		ret = copy_struct_from_user(out + (size_t)i * size, size,
					    user + (size_t)i * in->stride, in->stride);

	return ret;
}

/**
 * npu_uobj_array_get() - allocate memory for an array of structures, and copy it from a program
 * @in: where it is; the caller has checked the count
 * @size: of the structure that this driver knows
 * @min_size: of the first one there was
 *
 * See npu_uobj_array_copy().
 *
 * Return: array for kvfree(), NULL when it is empty; or an error pointer: -EINVAL, -E2BIG, -EFAULT,
 * -ENOMEM.
 */
void *npu_uobj_array_get(const struct drm_npu_obj_array *in, u32 size, u32 min_size)
{
	void *out;
	int ret;

	if (!in->count)
		return NULL;

	out = kvmalloc_array(in->count, size, GFP_KERNEL_ACCOUNT);
	if (!out)
		return ERR_PTR(-ENOMEM);

	ret = npu_uobj_array_copy(out, in, size, min_size);
	if (ret) {
		kvfree(out);
		return ERR_PTR(ret);
	}

	return out;
}

/**
 * npu_uobj_put() - copy a structure to a program
 * @pointer: where to, 0: only *@user_size is set
 * @user_size: in: bytes that there are; out: @size
 * @obj: structure
 * @size: of it
 *
 * What the program has room for beyond the structure is zeroed.
 *
 * Return: 0, -E2BIG for more room than any structure will need, or -EFAULT.
 */
int npu_uobj_put(u64 pointer, u32 *user_size, const void *obj, u32 size)
{
	void __user *user = u64_to_user_ptr(pointer);
	u32 room = *user_size, count = min(room, size);

	if (pointer && room > NPU_UOBJ_MAX)
		return -E2BIG;
	*user_size = size;
	if (!pointer)
		return 0;
	if (copy_to_user(user, obj, count) || clear_user(user + count, room - count))
		return -EFAULT;

	return 0;
}
