/* SPDX-License-Identifier: MIT */
#ifndef TESTS_GUEST_SHARE_ODD_H
#define TESTS_GUEST_SHARE_ODD_H

#include "npu.h"

/* What is no dma-buf, or is not imported so: an error for each, and nothing is left. */
void test_mistakes(struct npu_device *dev);
/* What no decent driver exports, and memory that its exporter moves. */
void test_odd(struct npu_device *dev, struct npu_queue *queue);
/* A kernel that copies all that the device reads or writes says so. */
void test_bounced(const char *uri);

#endif
