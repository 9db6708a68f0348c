/* SPDX-License-Identifier: MIT */
#ifndef TESTS_RUN_H
#define TESTS_RUN_H

#include "npu.h"

/* Submit @run and wait until it has ended. Returns what either of both says. */
int run_and_wait(struct npu_queue *queue, struct npu_run *run, struct npu_error *err);

#endif
