// SPDX-License-Identifier: MIT
/* The sort of the host operators: against counting, in all small lengths, stable, and stopped. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "host/sort.h"
#include "tap.h"

static const struct npu_host_op op = { .domain = "", .name = "Sort" };
static atomic_bool stop;
static struct npu_error err;

struct keys {
	int64_t *key;
	int64_t compared, stop_at;
};

static int by_key(const void *ctx, int64_t a, int64_t b)
{
	struct keys *k = (struct keys *)(uintptr_t)ctx;

	if (++k->compared == k->stop_at)
		atomic_store(&stop, true);
	return (k->key[a] > k->key[b]) - (k->key[a] < k->key[b]);
}

static int sort(struct keys *k, int64_t *list, int64_t count)
{
	const struct npu_host_call call = { .op = &op, .node = "n", .stop = &stop };
	int64_t *scratch = calloc((size_t)count + 1, sizeof(*scratch));
	int ret = npu_host_sort(&call, list, scratch, count, by_key, k, &err);

	free(scratch);
	return ret;
}

/* Where element @i belongs: behind all that are less, and the equal ones before it. */
static int64_t place(const int64_t *key, int64_t count, int64_t i)
{
	int64_t at = 0, k;

	for (k = 0; k < count; k++)
		at += key[k] < key[i] || (key[k] == key[i] && k < i);
	return at;
}

/* 0..count-1 by random keys of @kinds values; how many are not where they belong. */
static int64_t wrong(int64_t count, uint32_t kinds, uint32_t *seed)
{
	int64_t *key = calloc((size_t)count + 1, sizeof(*key)), bad = 0, i;
	int64_t *list = calloc((size_t)count + 1, sizeof(*list));
	struct keys k = { key, 0, -1 };

	for (i = 0; i < count; i++) {
		*seed = *seed * 1664525 + 1013904223;
		key[i] = (*seed >> 8) % kinds;
		list[i] = i;
	}
	bad = sort(&k, list, count) != 0;
	for (i = 0; i < count; i++)
		bad += list[place(key, count, i)] != i;
	free(key);
	free(list);
	return bad;
}

static void test_stop(void)
{
	enum { COUNT = 1 << 18 };
	int64_t *key = calloc(COUNT, sizeof(*key)), *list = calloc(COUNT, sizeof(*list)), i;
	struct keys k = { key, 0, 300000 };
	int ret;

	for (i = 0; i < COUNT; i++) {
		key[i] = (int64_t)((uint32_t)i * 2654435761u);
		list[i] = i;
	}
	ret = sort(&k, list, COUNT);
	tap_ok(ret == -ECANCELED && k.compared >= 300000 && k.compared < 300000 + 3 * 4096,
	       "stopped %lld comparisons after it was asked to: %s",
	       (long long)(k.compared - 300000), err.text);
	free(key);
	free(list);
}

int main(void)
{
	int64_t bad = 0, count;
	uint32_t seed = 1, kinds[] = { 1, 3, 50, 1 << 20 };

	for (int i = 0; i < 4; i++)
		for (count = 0; count < 130; count++)
			bad += wrong(count, kinds[i], &seed);
	for (int i = 0; i < 4; i++)
		bad += wrong(5000, kinds[i], &seed);
	tap_ok(!bad, "520 lists of 0 to 129 numbers and 4 of 5000: %lld are not where they belong",
	       (long long)bad);
	test_stop();
	return tap_done();
}
