/* SPDX-License-Identifier: MIT */
/* Sorting that ends when the job is cancelled. */
#ifndef NPU_HOST_SORT_H
#define NPU_HOST_SORT_H

#include "host/host.h"

/* Less than, equal to or greater than 0; equal ones keep their order. */
typedef int (*npu_host_compare)(const void *ctx, int64_t a, int64_t b);

/*
 * npu_host_sort - sort @count numbers, indices as a rule, by @compare
 * @scratch: room for as many, not used before and after
 *
 * 0, or -ECANCELED (reported) with the list in any order.
 */
int npu_host_sort(const struct npu_host_call *call, int64_t *list, int64_t *scratch, int64_t count,
		  npu_host_compare compare, const void *ctx, struct npu_error *err);

#endif
