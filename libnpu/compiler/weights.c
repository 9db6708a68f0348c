// SPDX-License-Identifier: MIT
/* The weight section. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/weights.h"

struct npu_weight_blob {
	uint64_t hash;
	size_t offset, size;
};

/*
 * Multiply-xor over words: equal bytes always hash equal, and blobs are compared before they are
 * shared.
 */
static uint64_t hash_bytes(const uint8_t *p, size_t n)
{
	uint64_t h = n * 0x9e3779b97f4a7c15ull, v;

	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&v, p, 8);
		h = (h ^ v) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	v = 0;
	memcpy(&v, p, n);
	h = (h ^ v) * 0xc4ceb9fe1a85ec53ull;
	return h ^ (h >> 29);
}

static int weights_room(struct npu_weights *w, size_t size)
{
	size_t capacity = w->capacity ? w->capacity : 1 << 16, need;
	uint8_t *p;

	if (__builtin_add_overflow(w->size, size, &need) || need > SIZE_MAX / 4)
		return -EFBIG;
	while (capacity < need)
		capacity *= 2;
	if (capacity == w->capacity)
		return 0;
	p = realloc(w->data, capacity);
	if (!p)
		return -ENOMEM;
	w->data = p;
	w->capacity = capacity;
	return 0;
}

static size_t aligned(size_t size)
{
	return (size + NPU_WEIGHT_ALIGN - 1) / NPU_WEIGHT_ALIGN * NPU_WEIGHT_ALIGN;
}

void *npu_weights_reserve(struct npu_weights *w, size_t size)
{
	if (size > SIZE_MAX / 4 || weights_room(w, aligned(size)))
		return NULL;
	memset(w->data + w->size, 0, aligned(size));
	return w->data + w->size;
}

static void slot_insert(struct npu_weights *w, unsigned int index)
{
	unsigned int s = w->blob[index].hash & (w->num_slots - 1);

	while (w->slot[s])
		s = (s + 1) & (w->num_slots - 1);
	w->slot[s] = index + 1;
}

static int weights_grow_index(struct npu_weights *w)
{
	unsigned int max = w->max_blobs ? w->max_blobs * 2 : 64;
	struct npu_weight_blob *b;
	unsigned int *slot;

	if (w->num_blobs < w->max_blobs)
		return 0;
	b = realloc(w->blob, max * sizeof(*b));
	if (!b)
		return -ENOMEM;
	w->blob = b;
	slot = calloc(max * 2, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	free(w->slot);
	w->slot = slot;
	w->num_slots = max * 2;
	w->max_blobs = max;
	for (unsigned int i = 0; i < w->num_blobs; i++)
		slot_insert(w, i);
	return 0;
}

int npu_weights_add(struct npu_weights *w, const void *data, size_t size, uint64_t *offset)
{
	const bool in_place = w->data && data == w->data + w->size;
	uint64_t hash = hash_bytes(data, size);
	int err;

	for (unsigned int s = hash & (w->num_slots - 1); w->num_slots && w->slot[s];
	     s = (s + 1) & (w->num_slots - 1)) {
		const struct npu_weight_blob *b = &w->blob[w->slot[s] - 1];

		if (b->hash == hash && b->size == size &&
		    !memcmp(w->data + b->offset, data, size)) {
			*offset = b->offset;
			return 0;
		}
	}
	err = weights_grow_index(w);
	if (err)
		return err;
	if (!in_place) {
		void *room = npu_weights_reserve(w, size);

		if (!room)
			return -ENOMEM;
		memcpy(room, data, size);
	}
	w->blob[w->num_blobs] = (struct npu_weight_blob){ hash, w->size, size };
	slot_insert(w, w->num_blobs++);
	*offset = w->size;
	w->size += aligned(size);
	return 0;
}

void npu_weights_fini(struct npu_weights *w)
{
	free(w->data);
	free(w->blob);
	free(w->slot);
	memset(w, 0, sizeof(*w));
}
