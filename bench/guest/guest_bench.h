/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the guest's benchmark share. Each prints lines of JSON and returns an exit
 * status.
 */
#ifndef GUEST_BENCH_H
#define GUEST_BENCH_H

#include <stdint.h>

/* Longest line that the host answers with. */
#define HOST_LINE	65536

/* CLOCK_MONOTONIC. */
uint64_t now_ns(void);

/* Print @values, microseconds with one decimal, as "name":[...], of nanoseconds. */
void print_us(const char *name, const uint64_t *values, unsigned int count);

/* Say what went wrong on standard error; returns 1. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Have the host do something (bench/guest.js lists what) and leave its answer in @answer, HOST_LINE
 * bytes. Returns 0, or -1: there is no host, or it could not.
 */
int host(const char *request, char *answer);

int bench_noop(unsigned int rounds, unsigned int count);
int bench_flight(unsigned int rounds, unsigned int count, unsigned int depth);
int bench_trace(unsigned int count);
int bench_recover(const char *fault, unsigned int rounds);
int bench_model(const char *uri, const char *path, unsigned int rounds, unsigned int count);
int bench_stream(const char *uri, unsigned int rounds, unsigned int count);

#endif
