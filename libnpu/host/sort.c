// SPDX-License-Identifier: MIT
/* Merge sort from the bottom up: the C library's can not be stopped. */
#include "host/sort.h"

#include <errno.h>
#include <string.h>

#include "host/dense.h"

struct sort {
	const struct npu_host_call *call;
	npu_host_compare compare;
	const void *ctx;
	int64_t steps;			/* comparisons so far */
	struct npu_error *err;
};

static void move(int64_t *to, const int64_t *from, int64_t count)
{
	memcpy(to, from, (size_t)count * sizeof(*to));
}

/* The sorted parts [low, mid) and [mid, high) of @from into @to. */
static int merge(struct sort *s, const int64_t *from, int64_t *to, int64_t low, int64_t mid,
		 int64_t high)
{
	int64_t a = low, b = mid;

	if (NPU_HOST_NOW_AND_THEN(s->steps++, s->call, s->err))
		return -ECANCELED;
	if (mid == high || s->compare(s->ctx, from[mid - 1], from[mid]) <= 0) {
		move(to + low, from + low, high - low);
		return 0;
	}
	for (to += low; a < mid && b < high; to++) {
		if (NPU_HOST_NOW_AND_THEN(s->steps++, s->call, s->err))
			return -ECANCELED;
		*to = s->compare(s->ctx, from[a], from[b]) <= 0 ? from[a++] : from[b++];
	}
	move(to, from + a, mid - a);
	move(to + mid - a, from + b, high - b);
	return 0;
}

int npu_host_sort(const struct npu_host_call *call, int64_t *list, int64_t *scratch, int64_t count,
		  npu_host_compare compare, const void *ctx, struct npu_error *err)
{
	struct sort s = { .call = call, .compare = compare, .ctx = ctx, .err = err };
	int64_t *from = list, *to = scratch, *swap, width, low;

	for (width = 1; width < count; width *= 2) {
		for (low = 0; low < count; low += 2 * width) {
			int64_t mid = low + width < count ? low + width : count;

			if (merge(&s, from, to, low, mid,
				  mid + width < count ? mid + width : count))
				return -ECANCELED;
		}
		swap = from;
		from = to;
		to = swap;
	}
	if (from != list)
		move(list, from, count);
	return 0;
}
