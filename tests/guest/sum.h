/* SPDX-License-Identifier: MIT */
/* Jobs of one instruction on bytes of a buffer. */
#ifndef TESTS_GUEST_SUM_H
#define TESTS_GUEST_SUM_H

#include "npu.h"

/* Sums of @rows rows of @cols bytes, @stride apart; waits. 0 or a negative errno. */
int sum_rows(struct npu_device *dev, struct npu_queue *queue, struct npu_buffer *buf,
	     uint64_t offset, uint32_t rows, uint32_t cols, uint32_t stride, float *sums,
	     struct npu_error *err);

/* Write @value to @bytes bytes; waits. */
int fill_bytes(struct npu_queue *queue, struct npu_buffer *buf, uint64_t offset, uint32_t bytes,
	       uint8_t value, struct npu_error *err);
/* The same, submitted with @options. */
int submit_fill(struct npu_queue *queue, struct npu_buffer *buf, uint64_t offset, uint32_t bytes,
		uint8_t value, const struct npu_submit_options *options, struct npu_fence **fence,
		struct npu_error *err);

#endif
