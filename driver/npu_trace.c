// SPDX-License-Identifier: GPL-2.0-only
#include "npu_device.h"
#include "npu_job.h"
#include "npu_queue.h"

#define CREATE_TRACE_POINTS
#include "npu_trace.h"
