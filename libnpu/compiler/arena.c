// SPDX-License-Identifier: MIT
/* Bump allocator of the compiler's graph. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/arena.h"

#define ARENA_ALIGN	64
#define ARENA_BLOCK	(64 * 1024)

struct npu_arena_block {
	struct npu_arena_block *next;
	size_t used, size;
	_Alignas(ARENA_ALIGN) unsigned char data[];
};

static struct npu_arena_block *arena_grow(struct npu_arena *arena, size_t size)
{
	size_t want = size > ARENA_BLOCK ? size : ARENA_BLOCK;
	struct npu_arena_block *block;
	size_t bytes;

	if (__builtin_add_overflow(want, sizeof(*block) + ARENA_ALIGN, &bytes))
		return NULL;
	bytes -= bytes % ARENA_ALIGN;
	block = aligned_alloc(ARENA_ALIGN, bytes);
	if (!block)
		return NULL;
	block->used = 0;
	block->size = want;
	/*
	 * A big block goes behind the current one, so that small requests go on filling the latter.
	 */
	if (arena->head && size > ARENA_BLOCK / 4) {
		block->next = arena->head->next;
		arena->head->next = block;
	} else {
		block->next = arena->head;
		arena->head = block;
	}
	return block;
}

void *npu_arena_alloc(struct npu_arena *arena, size_t size)
{
	struct npu_arena_block *block = arena->head;
	size_t rounded, total;
	void *p;

	/* Small objects need no vector alignment; constants do. */
	if (__builtin_add_overflow(size, size < 256 ? 15 : ARENA_ALIGN - 1, &rounded))
		return NULL;
	rounded -= rounded % (size < 256 ? 16 : ARENA_ALIGN);
	if (__builtin_add_overflow(arena->total, rounded, &total) ||
	    (arena->limit && total > arena->limit))
		return NULL;
	if (block && size >= 256)
		block->used = (block->used + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	if (!block || block->used > block->size || block->size - block->used < rounded) {
		block = arena_grow(arena, rounded);
		if (!block)
			return NULL;
	}
	p = block->data + block->used;
	block->used += rounded;
	arena->total = total;
	return memset(p, 0, size);
}

void *npu_arena_array(struct npu_arena *arena, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	return npu_arena_alloc(arena, bytes);
}

char *npu_arena_strndup(struct npu_arena *arena, const char *s, size_t len)
{
	char *p = len < SIZE_MAX ? npu_arena_alloc(arena, len + 1) : NULL;

	if (p && len)
		memcpy(p, s, len);
	return p;
}

char *npu_arena_strdup(struct npu_arena *arena, const char *s)
{
	return npu_arena_strndup(arena, s, strlen(s));
}

char *npu_arena_printf(struct npu_arena *arena, const char *fmt, ...)
{
	va_list ap, again;
	char *p = NULL;
	int len;

	va_start(ap, fmt);
	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, ap);
	if (len >= 0)
		p = npu_arena_alloc(arena, (size_t)len + 1);
	if (p)
		vsnprintf(p, (size_t)len + 1, fmt, again);
	va_end(again);
	va_end(ap);
	return p;
}

void npu_arena_fini(struct npu_arena *arena)
{
	struct npu_arena_block *block = arena->head, *next;

	for (; block; block = next) {
		next = block->next;
		free(block);
	}
	memset(arena, 0, sizeof(*arena));
}
