/* SPDX-License-Identifier: MIT */
/*
 * Runs a stream that may be anything, first through the verifier and then on an engine whose
 * regions are heap blocks of their exact size, so that AddressSanitizer sees every byte too far.
 * For tests and the fuzzer.
 */
#ifndef TEST_ISA_RUN_STREAM_H
#define TEST_ISA_RUN_STREAM_H

#include <stddef.h>
#include "npu_isa_desc.h"

struct run_stream;

enum run_verdict {
	RUN_REFUSED,		/* by the verifier; the engine was run all the same and ended */
	RUN_DONE,
	RUN_INDEX_FAULT,	/* accepted; an index in memory was out of range */
	RUN_UNSUPPORTED,	/* accepted; the engine lacks an opcode */
	RUN_TOO_LONG,		/* more work than a test has time for; the engine was not run */
	RUN_DISAGREE,		/* accepted, and the engine met a static fault: a bug, see text */
};

struct run_stream *run_stream_create(void);
void run_stream_destroy(struct run_stream *r);

/* @size bytes at @stream; @pick chooses the scalars' values within their bounds. */
enum run_verdict run_stream(struct run_stream *r, const void *stream, size_t size, npu_u32 pick);

/* In words, what came of the last one. */
const char *run_stream_text(const struct run_stream *r);

#endif
