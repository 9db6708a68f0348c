/* SPDX-License-Identifier: MIT */
/* What tokenizers ask of Unicode: groups of characters, their bases and lower case, and UTF-8. */
#ifndef NPU_LLM_UNICODE_H
#define NPU_LLM_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* General categories, in groups. */
enum {
	UC_LU = 1 << 0,		/* letters: upper case */
	UC_LL = 1 << 1,		/* lower case */
	UC_LT = 1 << 2,		/* title case */
	UC_LM = 1 << 3,		/* modifiers */
	UC_LO = 1 << 4,		/* others */
	UC_MN = 1 << 5,		/* marks: non-spacing */
	UC_MC = 1 << 6,		/* spacing and enclosing */
	UC_N = 1 << 7,		/* numbers */
	UC_P = 1 << 8,		/* punctuation */
	UC_S = 1 << 9,		/* symbols */
	UC_Z = 1 << 10,		/* separators */
	UC_C = 1 << 11,		/* control characters, and what is not assigned */
	UC_SPACE = 1 << 12,	/* White_Space, beside one of the above */

	UC_L = UC_LU | UC_LL | UC_LT | UC_LM | UC_LO,
	UC_M = UC_MN | UC_MC,
};

/* What a byte that is no UTF-8 counts as. */
#define UNICODE_BAD	0xfffd

/* Groups of @c, any number. */
unsigned int unicode_class(uint32_t c);

/* Lower case of @c, or @c. */
uint32_t unicode_lower(uint32_t c);

/*
 * The canonical decomposition of @c without marks (Mn), at most three characters: how many, 0 for a
 * mark alone.
 */
unsigned int unicode_base(uint32_t c, uint32_t out[3]);

/*
 * The character at the beginning of @size bytes, at least 1, and how many of them it takes. A byte
 * that begins no character is one of its own, UNICODE_BAD.
 */
uint32_t unicode_decode(const char *text, size_t size, unsigned int *length);

/* @c as UTF-8: the number of bytes. */
unsigned int unicode_encode(uint32_t c, char out[4]);

/* Bytes of a character that begins with @byte, from the byte alone: 1 .. 4. */
unsigned int unicode_length(uint8_t byte);

/* The tables behind them, made by unicode_table.py. */
struct unicode_range {
	uint32_t first;
	uint16_t group;
};

struct unicode_base {
	uint32_t from, to[3];
};

struct unicode_pair {
	uint32_t from, to;
};

extern const struct unicode_range unicode_ranges[];
extern const struct unicode_base unicode_bases[];
extern const struct unicode_pair unicode_lowers[];
extern const unsigned int unicode_num_ranges, unicode_num_bases, unicode_num_lowers;

#endif
