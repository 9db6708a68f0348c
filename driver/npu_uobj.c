// SPDX-License-Identifier: GPL-2.0-only
/* Arrays and structures of growing size, to and from programs. */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>

#include "../uapi/drm/npu_drm.h"

#include "npu_uobj.h"

/**
 * npu_uobj_array_get() - copy an array of structures from a program
 * @in: where it is; the caller has checked the count
 * @size: of the structure that this driver knows
 * @min_size: of the first one there was
 *
 * Shorter structures are filled with zeros, longer ones must be zero in what is not known.
 *
 * Return: array for kvfree(), NULL when it is empty; or an error pointer: -EINVAL, -E2BIG, -EFAULT,
 * -ENOMEM.
 */
void *npu_uobj_array_get(const struct drm_npu_obj_array *in, u32 size, u32 min_size)
{
	void __user *user = u64_to_user_ptr(in->array);
	void *out;
	u32 i;
	int ret;

	if (!in->count)
		return NULL;
	if (in->stride < min_size || in->stride % 8)
		return ERR_PTR(-EINVAL);
	/* No structure will be so large, and looking for what is not zero takes its time. */
	if (in->stride > SZ_4K)
		return ERR_PTR(-E2BIG);

	out = kvmalloc_array(in->count, size, GFP_KERNEL_ACCOUNT);
	if (!out)
		return ERR_PTR(-ENOMEM);

	for (i = 0; i < in->count; i++) {
		ret = copy_struct_from_user(out + (size_t)i * size, size,
					    user + (size_t)i * in->stride, in->stride);
		if (ret) {
			kvfree(out);
			return ERR_PTR(ret);
		}
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
 * Return: 0 or -EFAULT.
 */
int npu_uobj_put(u64 pointer, u32 *user_size, const void *obj, u32 size)
{
	void __user *user = u64_to_user_ptr(pointer);
	u32 room = *user_size, count = min(room, size);

	*user_size = size;
	if (!pointer)
		return 0;
	if (copy_to_user(user, obj, count) || clear_user(user + count, room - count))
		return -EFAULT;

	return 0;
}
