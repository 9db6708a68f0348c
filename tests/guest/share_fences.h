/* SPDX-License-Identifier: MIT */
#ifndef TESTS_GUEST_SHARE_FENCES_H
#define TESTS_GUEST_SHARE_FENCES_H

#include <stdbool.h>
#include "npu.h"

/* Fences that others put on buffers and jobs wait for, and the other way round. */
void test_fences(struct npu_device *dev, bool in_process);

#endif
