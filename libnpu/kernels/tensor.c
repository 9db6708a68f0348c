// SPDX-License-Identifier: MIT
/* Tensors and views of them. */
#include <errno.h>
#include <string.h>
#include "npu_kernels.h"

int npu_tensor_dense(struct npu_tensor *t, unsigned int region, struct npu_len offset,
		     enum npu_dtype dtype, unsigned int rank, const struct npu_len *dim)
{
	unsigned int bits = npu_dtype_bits(dtype), i;
	struct npu_len step;
	int ret;

	if (rank > NPU_MAX_RANK || bits < 8)
		return -EINVAL;
	memset(t, 0, sizeof(*t));
	t->dtype = dtype;
	t->region = region;
	t->rank = rank;
	t->offset = offset;
	step = npu_len(bits / 8);
	for (i = rank; i--;) {
		t->dim[i] = dim[i];
		t->stride[i] = step;
		/*
		 * What lies outside of the last dim that is not 1 needs no stride, so its product
		 * may be anything.
		 */
		if (npu_len_is_const(&dim[i]) && dim[i].base == 1)
			continue;
		ret = npu_len_product(&step, &dim[i], &step);
		if (ret) {
			while (i && npu_len_is_const(&dim[i - 1]) && dim[i - 1].base == 1) {
				i--;
				t->dim[i] = dim[i];
			}
			return i ? ret : 0;
		}
	}
	return 0;
}

int npu_tensor_fixed(struct npu_tensor *t, unsigned int region, uint64_t offset,
		     enum npu_dtype dtype, unsigned int rank, const uint32_t *dim)
{
	struct npu_len len[NPU_MAX_RANK];
	unsigned int i;

	if (rank > NPU_MAX_RANK || offset > INT64_MAX)
		return -EINVAL;
	for (i = 0; i < rank; i++)
		len[i] = npu_len(dim[i]);
	return npu_tensor_dense(t, region, npu_len(offset), dtype, rank, len);
}

int npu_tensor_weight(struct npu_tensor *t, unsigned int region, uint64_t offset,
		      enum npu_dtype dtype, enum npu_layout layout, unsigned int rank,
		      const uint32_t *dim)
{
	unsigned int i;

	if (rank > NPU_MAX_RANK || offset > INT64_MAX || layout == NPU_LAYOUT_STRIDED ||
	    (unsigned int)layout >= NPU_NUM_LAYOUTS)
		return -EINVAL;
	memset(t, 0, sizeof(*t));
	t->dtype = dtype;
	t->layout = layout;
	t->region = region;
	t->rank = rank;
	t->offset = npu_len(offset);
	for (i = 0; i < rank; i++)
		t->dim[i] = npu_len(dim[i]);
	return 0;
}

void npu_tensor_quant(struct npu_tensor *t, float scale, int32_t zero_point)
{
	t->scale = scale;
	t->zero_point = zero_point;
}

static bool axis_is_bad(const struct npu_tensor *t, unsigned int axis)
{
	return axis >= t->rank || t->layout != NPU_LAYOUT_STRIDED;
}

static bool is_one(const struct npu_len *len)
{
	return npu_len_is_const(len) && len->base == 1;
}

int npu_tensor_slice(struct npu_tensor *t, unsigned int axis, struct npu_len start,
		     struct npu_len count, uint32_t step)
{
	struct npu_len skip, stride;
	int ret;

	if (axis_is_bad(t, axis) || !step)
		return -EINVAL;
	ret = npu_len_product(&start, &t->stride[axis], &skip);
	if (!ret)
		ret = npu_len_add(&t->offset, &skip, &skip);
	if (!ret)
		ret = npu_len_mul(&t->stride[axis], step, &stride);
	if (ret)
		return ret;
	t->offset = skip;
	t->stride[axis] = stride;
	t->dim[axis] = count;
	return 0;
}

int npu_tensor_transpose(struct npu_tensor *t, const unsigned int *order)
{
	struct npu_tensor old = *t;
	unsigned int seen = 0, i;

	if (t->layout != NPU_LAYOUT_STRIDED)
		return -EINVAL;
	for (i = 0; i < t->rank; i++)
		if (order[i] < t->rank)
			seen |= 1u << order[i];
	if (seen != (1u << t->rank) - 1)
		return -EINVAL;
	for (i = 0; i < t->rank; i++) {
		t->dim[i] = old.dim[order[i]];
		t->stride[i] = old.stride[order[i]];
	}
	return 0;
}

int npu_tensor_broadcast(struct npu_tensor *t, unsigned int axis, struct npu_len size)
{
	if (axis_is_bad(t, axis) || !is_one(&t->dim[axis]))
		return -EINVAL;
	t->dim[axis] = size;
	t->stride[axis] = npu_len(0);
	return 0;
}

int npu_tensor_insert(struct npu_tensor *t, unsigned int axis)
{
	unsigned int i;

	if (axis > t->rank || t->rank == NPU_MAX_RANK || t->layout != NPU_LAYOUT_STRIDED)
		return -EINVAL;
	for (i = t->rank++; i > axis; i--) {
		t->dim[i] = t->dim[i - 1];
		t->stride[i] = t->stride[i - 1];
	}
	t->dim[axis] = npu_len(1);
	t->stride[axis] = npu_len(0);
	return 0;
}

int npu_tensor_remove(struct npu_tensor *t, unsigned int axis)
{
	unsigned int i;

	if (axis_is_bad(t, axis) || !is_one(&t->dim[axis]))
		return -EINVAL;
	t->rank--;
	for (i = axis; i < t->rank; i++) {
		t->dim[i] = t->dim[i + 1];
		t->stride[i] = t->stride[i + 1];
	}
	t->dim[t->rank] = t->stride[t->rank] = npu_len(0);
	return 0;
}

int npu_tensor_split(struct npu_tensor *t, unsigned int axis, uint32_t inner)
{
	struct npu_len stride, size;
	int ret;

	if (axis_is_bad(t, axis) || !inner || !npu_len_is_const(&t->dim[axis]) ||
	    t->dim[axis].base % inner)
		return -EINVAL;
	size = t->dim[axis];
	ret = npu_len_mul(&t->stride[axis], inner, &stride);
	if (ret)
		return ret;
	/* The new dim of size 1 comes before the axis and becomes its outer part. */
	ret = npu_tensor_insert(t, axis);
	if (ret)
		return ret;
	t->dim[axis] = npu_len(size.base / inner);
	t->stride[axis] = stride;
	t->dim[axis + 1] = npu_len(inner);
	return 0;
}
