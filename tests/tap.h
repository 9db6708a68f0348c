/* SPDX-License-Identifier: MIT */
/*
 * Test Anything Protocol in one header: a test program calls tap_ok() and friends and ends with
 * `return tap_done();`. Single-threaded use only, from any of the program's files; collect results
 * from threads before reporting.
 */
#ifndef TAP_H
#define TAP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Weak: one pair of counters for a program of several files. */
__attribute__((weak)) int tap_count, tap_failed;

static inline int tap_vok(int ok, const char *fmt, va_list ap)
{
	printf("%sok %d - ", ok ? "" : "not ", ++tap_count);
	vprintf(fmt, ap);
	putchar('\n');
	tap_failed += !ok;
	fflush(stdout);
	return ok;
}

/* Report one result; returns @ok so that a test can bail out. */
__attribute__((format(printf, 2, 3))) static inline int tap_ok(int ok, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_vok(ok, fmt, ap);
	va_end(ap);
	return ok;
}

/* A line of explanation, shown beside the results. */
__attribute__((format(printf, 1, 2))) static inline void tap_diag(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("# ");
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
}

static inline void tap_skip(const char *what, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_count, what, why);
}

/* True when the full counts of `make check-long` are asked for. */
static inline int tap_long(void)
{
	const char *s = getenv("NPU_TEST_LONG");

	return s && *s && strcmp(s, "0");
}

/*
 * True under a sanitizer, where tests/run.pl asks for less of what takes long and is tried
 * elsewhere in full.
 */
static inline int tap_short(void)
{
	const char *s = getenv("NPU_TEST_SHORT");

	return s && *s && strcmp(s, "0") && !tap_long();
}

/* How many random cases to try where a normal run tries @n. */
static inline unsigned int tap_cases(unsigned int n)
{
	if (tap_long())
		return 10 * n;
	return tap_short() ? (n + 9) / 10 : n;
}

static inline int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed || !tap_count;
}

#endif
