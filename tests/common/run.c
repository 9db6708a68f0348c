// SPDX-License-Identifier: MIT
#include "run.h"

int run_and_wait(struct npu_queue *queue, struct npu_run *run, struct npu_error *err)
{
	struct npu_fence *fence = NULL;
	int ret = npu_queue_submit(queue, run, NULL, &fence, err);

	if (!ret)
		ret = npu_fence_wait(fence, NPU_FOREVER, err);
	npu_fence_put(fence);
	return ret;
}
