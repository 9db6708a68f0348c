// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include "npu_kernels.h"
#include "sum.h"

/* Submit what was built, with region 0 in @buf and region 1, if there is one, in @out. */
static int submit(struct npu_queue *queue, struct npu_stream_builder *b, struct npu_buffer *buf,
		  struct npu_buffer *out, const struct npu_submit_options *options,
		  struct npu_fence **fence, struct npu_error *err)
{
	struct npu_stream_region regions[2] = {
		{ .buf = buf, .bytes = npu_buffer_size(buf),
		  .access = out ? NPU_ACCESS_READ : NPU_ACCESS_WRITE },
		{ .buf = out, .bytes = out ? npu_buffer_size(out) : 0,
		  .access = out ? NPU_ACCESS_WRITE : 0 },
	};
	struct npu_stream_submit s = NPU_INIT(s);

	s.num_regions = out ? 2 : 1;
	s.regions = regions;
	if (npu_stream_finish(b, &s.stream, &s.stream_size))
		abort();
	return npu_queue_submit_stream(queue, &s, options, fence, err);
}

static struct npu_stream_builder *builder(unsigned int regions)
{
	struct npu_stream_builder *b;

	if (npu_stream_create(regions, &b))
		abort();
	return b;
}

int sum_rows(struct npu_device *dev, struct npu_queue *queue, struct npu_buffer *buf,
	     uint64_t offset, uint32_t rows, uint32_t cols, uint32_t stride, float *sums,
	     struct npu_error *err)
{
	struct npu_stream_builder *b = builder(2);
	struct npu_tensor in, out;
	struct npu_reduce_args args = { .out = &out, .in = &in, .func = NPU_REDUCE_SUM, .axes = 2 };
	struct npu_buffer *result;
	struct npu_fence *fence;
	int ret;

	npu_tensor_fixed(&in, 0, offset, NPU_U8, 2, (uint32_t[]){ rows, cols });
	in.stride[0] = npu_len(stride);
	npu_tensor_fixed(&out, 1, 0, NPU_F32, 2, (uint32_t[]){ rows, 1 });
	if (npu_emit_reduce(b, &args) ||
	    npu_buffer_create(dev, rows * 4, 0, &result, err))
		abort();
	ret = submit(queue, b, buf, result, NULL, &fence, err);
	if (!ret) {
		ret = npu_fence_wait(fence, NPU_FOREVER, err);
		npu_fence_put(fence);
	}
	if (!ret)
		ret = npu_buffer_read(result, 0, sums, rows * 4, err);
	npu_buffer_put(result);
	npu_stream_destroy(b);
	return ret;
}

int submit_fill(struct npu_queue *queue, struct npu_buffer *buf, uint64_t offset, uint32_t bytes,
		uint8_t value, const struct npu_submit_options *options, struct npu_fence **fence,
		struct npu_error *err)
{
	struct npu_stream_builder *b = builder(1);
	struct npu_tensor out;
	struct npu_fill_args args = { .out = &out, .bits = value };
	int ret;

	npu_tensor_fixed(&out, 0, offset, NPU_U8, 1, &bytes);
	if (npu_emit_fill(b, &args))
		abort();
	ret = submit(queue, b, buf, NULL, options, fence, err);
	npu_stream_destroy(b);
	return ret;
}

int fill_bytes(struct npu_queue *queue, struct npu_buffer *buf, uint64_t offset, uint32_t bytes,
	       uint8_t value, struct npu_error *err)
{
	struct npu_fence *fence;
	int ret = submit_fill(queue, buf, offset, bytes, value, NULL, &fence, err);

	if (ret)
		return ret;
	ret = npu_fence_wait(fence, NPU_FOREVER, err);
	npu_fence_put(fence);
	return ret;
}
