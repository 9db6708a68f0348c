/* SPDX-License-Identifier: MIT */
/*
 * Bump allocator: everything that belongs to one graph is freed in one go, so that passes may drop
 * nodes and constants without bookkeeping. Not thread-safe; one arena belongs to one graph.
 */
#ifndef NPU_COMPILER_ARENA_H
#define NPU_COMPILER_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct npu_arena_block;

struct npu_arena {
	struct npu_arena_block *head;
	size_t total;	/* bytes handed out */
	size_t limit;	/* refuse beyond this many bytes; 0 = no limit */
};

/**
 * npu_arena_alloc - @size zeroed bytes, aligned to 64 (so that constants can be read by vector
 * code)
 *
 * Returns NULL when memory is short or the arena's limit is passed. Freed by npu_arena_fini() only.
 */
void *npu_arena_alloc(struct npu_arena *arena, size_t size);

/** npu_arena_array - @count * @size zeroed bytes; NULL also when the product overflows */
void *npu_arena_array(struct npu_arena *arena, size_t count, size_t size);

/**
 * npu_arena_strndup - copy of @len bytes of @s with a terminating zero (a NULL @s with @len 0 gives
 * "")
 */
char *npu_arena_strndup(struct npu_arena *arena, const char *s, size_t len);
char *npu_arena_strdup(struct npu_arena *arena, const char *s);

__attribute__((format(printf, 2, 3)))
char *npu_arena_printf(struct npu_arena *arena, const char *fmt, ...);

void npu_arena_fini(struct npu_arena *arena);

#endif
