// SPDX-License-Identifier: MIT
/* Packing lifetimes into memory: first fit over several orders. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/plan.h"

static bool alive_together(const struct npu_plan_item *a, const struct npu_plan_item *b)
{
	return a->first <= b->last && b->first <= a->last;
}

static uint64_t aligned(uint64_t v)
{
	return (v + NPU_PLAN_ALIGN - 1) / NPU_PLAN_ALIGN * NPU_PLAN_ALIGN;
}

/*
 * Where the item would go: the lowest gap between those placed (sorted by offset) that are alive
 * with it.
 */
static uint64_t lowest_gap(const struct npu_plan_item *it, const struct npu_plan_item **placed,
			   unsigned int count)
{
	uint64_t at = 0;

	for (unsigned int i = 0; i < count; i++) {
		if (!alive_together(it, placed[i]))
			continue;
		if (placed[i]->offset >= at + aligned(it->size))
			break;
		if (placed[i]->offset + aligned(placed[i]->size) > at)
			at = placed[i]->offset + aligned(placed[i]->size);
	}
	return at;
}

static void insert_placed(const struct npu_plan_item **placed, unsigned int *count,
			  const struct npu_plan_item *it)
{
	unsigned int i = (*count)++;

	while (i > 0 && placed[i - 1]->offset > it->offset) {
		placed[i] = placed[i - 1];
		i--;
	}
	placed[i] = it;
}

/* Orders to try; each is total, so that the result does not depend on the sort. */
enum order { BY_SIZE, BY_AREA, BY_START, NUM_ORDERS };

static uint64_t sort_key(const struct npu_plan_item *it, enum order order)
{
	uint64_t area;

	switch (order) {
	case BY_SIZE:
		return it->size;
	case BY_AREA:
		return __builtin_mul_overflow(it->size, (uint64_t)(it->last - it->first + 1),
					      &area) ?
			       UINT64_MAX :
			       area;
	default:
		return UINT64_MAX - (uint64_t)it->first;
	}
}

struct keyed {
	uint64_t key;
	unsigned int index;
};

static int by_key(const void *x, const void *y)
{
	const struct keyed *a = x, *b = y;

	if (a->key != b->key)
		return a->key < b->key ? 1 : -1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static uint64_t pack_in_order(struct npu_plan_item *item, const struct keyed *sorted,
			      unsigned int count, const struct npu_plan_item **placed)
{
	unsigned int num_placed = 0;
	uint64_t total = 0;

	for (unsigned int i = 0; i < count; i++) {
		struct npu_plan_item *it = &item[sorted[i].index];

		it->offset = lowest_gap(it, placed, num_placed);
		insert_placed(placed, &num_placed, it);
		if (it->offset + it->size > total)
			total = it->offset + it->size;
	}
	return total;
}

int npu_plan_pack(struct npu_plan_item *item, unsigned int count, uint64_t *total)
{
	struct keyed *sorted = calloc(count + 1, sizeof(*sorted));
	const struct npu_plan_item **placed = calloc(count + 1, sizeof(*placed));
	uint64_t *best = calloc(count + 1, sizeof(*best));
	unsigned int n = 0;
	int err = -ENOMEM;

	if (!sorted || !placed || !best)
		goto out;
	*total = UINT64_MAX;
	for (unsigned int o = 0; o < NUM_ORDERS; o++) {
		uint64_t t;

		n = 0;
		for (unsigned int i = 0; i < count; i++)
			if (!item[i].chosen)
				sorted[n++] = (struct keyed){ sort_key(&item[i], (enum order)o),
							      i };
		qsort(sorted, n, sizeof(*sorted), by_key);
		t = pack_in_order(item, sorted, n, placed);
		if (t >= *total)
			continue;
		*total = t;
		for (unsigned int i = 0; i < count; i++)
			best[i] = item[i].offset;
	}
	for (unsigned int i = 0; i < count; i++) {
		if (item[i].chosen)
			continue;
		item[i].offset = best[i];
		item[i].chosen = true;
	}
	err = 0;
out:
	free(sorted);
	free(placed);
	free(best);
	return err;
}

struct scored {
	double score;
	unsigned int index;
};

static int by_score(const void *x, const void *y)
{
	const struct scored *a = x, *b = y;

	if (a->score != b->score)
		return a->score < b->score ? 1 : -1;
	return a->index < b->index ? -1 : a->index > b->index;
}

int npu_plan_select(struct npu_plan_item *item, unsigned int count, uint64_t capacity,
		    uint64_t *used)
{
	struct scored *s = calloc(count + 1, sizeof(*s));
	const struct npu_plan_item **placed = calloc(count + 1, sizeof(*placed));
	unsigned int num_placed = 0, n = 0;
	int err = -ENOMEM;

	*used = 0;
	if (!s || !placed)
		goto out;
	for (unsigned int i = 0; i < count; i++)
		if (!item[i].chosen && !item[i].off_chip && item[i].size &&
		    item[i].size <= capacity)
			s[n++] = (struct scored){ (double)item[i].weight / (double)item[i].size /
						  (double)(item[i].last - item[i].first + 1), i };
	qsort(s, n, sizeof(*s), by_score);
	for (unsigned int i = 0; i < n; i++) {
		struct npu_plan_item *it = &item[s[i].index];
		uint64_t at = lowest_gap(it, placed, num_placed);

		if (at + it->size > capacity)
			continue;
		it->offset = at;
		it->chosen = true;
		insert_placed(placed, &num_placed, it);
		if (at + it->size > *used)
			*used = at + it->size;
	}
	err = 0;
out:
	free(s);
	free(placed);
	return err;
}

uint64_t npu_plan_lower_bound(const struct npu_plan_item *item, unsigned int count)
{
	uint64_t most = 0;

	/* The most is reached where some item begins. */
	for (unsigned int i = 0; i < count; i++) {
		uint64_t sum = 0;

		for (unsigned int k = 0; k < count && !item[i].chosen; k++)
			if (!item[k].chosen && item[k].first <= item[i].first &&
			    item[k].last >= item[i].first)
				sum += item[k].size;
		most = sum > most ? sum : most;
	}
	return most;
}
