// SPDX-License-Identifier: MIT
/* Texts and their numbers: a table that is looked up by hash, at most half full. */
#include <stdlib.h>
#include <string.h>
#include "llm/vocab.h"

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 32;
}

static uint32_t hash(const char *text, size_t size)
{
	uint64_t h = size, v;

	for (; size >= 8; text += 8, size -= 8) {
		memcpy(&v, text, 8);
		h = mix(h, v);
	}
	v = 0;
	memcpy(&v, text, size);
	return (uint32_t)mix(h, v);
}

/* The slot that has the text, or the empty one where it would be. */
static uint32_t find_slot(const struct vocab_map *map, const char *text, size_t size)
{
	uint32_t i = hash(text, size) & map->mask, at;

	for (; map->slots[i]; i = (i + 1) & map->mask) {
		at = map->slots[i] - 1;
		if (map->strings[at].size == size && !memcmp(map->strings[at].text, text, size))
			break;
	}
	return i;
}

uint32_t vocab_find(const struct vocab_map *map, const char *text, size_t size)
{
	/* 0 - 1 is VOCAB_NONE. */
	return map->slots ? map->slots[find_slot(map, text, size)] - 1 : VOCAB_NONE;
}

static bool grow(struct vocab_map *map)
{
	uint32_t room = map->room ? 2 * map->room : 512, i;
	struct vocab_string *strings = realloc(map->strings, room * sizeof(*strings));

	if (!strings)
		return false;
	map->strings = strings;
	free(map->slots);
	map->room = map->mask = 0;
	map->slots = calloc(2 * (size_t)room, sizeof(*map->slots));
	if (!map->slots)
		return false;
	map->room = room;
	map->mask = 2 * room - 1;
	for (i = 0; i < map->num; i++)
		map->slots[find_slot(map, strings[i].text, strings[i].size)] = i + 1;
	return true;
}

uint32_t vocab_add(struct vocab_map *map, const char *text, uint32_t size)
{
	uint32_t slot;

	if (map->num == map->room && (map->room > UINT32_MAX / 8 || !grow(map)))
		return VOCAB_NONE;
	slot = find_slot(map, text, size);
	if (!map->slots[slot]) {
		map->strings[map->num].text = text;
		map->strings[map->num].size = size;
		map->slots[slot] = ++map->num;
	}
	return map->slots[slot] - 1;
}
