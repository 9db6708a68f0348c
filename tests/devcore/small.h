/* SPDX-License-Identifier: MIT */
/*
 * A small job: input to on-chip memory, from there to the output, and all of on-chip memory behind
 * it. Its contents tell contexts apart.
 */
#ifndef TESTS_DEVCORE_SMALL_H
#define TESTS_DEVCORE_SMALL_H

#include "guest.h"
#include "stream.h"

#define SMALL_BYTES	10000u
#define SMALL_IN	0x20000000ull
#define SMALL_OUT	0x30000000ull
#define SMALL_STREAM	0x10000000ull

enum { CMD_START = 1, CMD_CONTINUE, CMD_STOP, CMD_SAVE, CMD_RESTORE, CMD_RELEASE };
enum { IDLE, RUNNING, DONE, YIELDED, STOPPED, FAULT, SAVING, ERROR };

struct small {
	struct stream s;
	struct guest_job job;
	struct npu_region region[4];
	npu_u32 context, queue;
};

void small_init(struct guest *g, struct small *t, npu_u32 context, npu_u32 queue);
/* Output as the input, and on-chip memory as it must be: zero but for the copy. */
bool small_right(struct guest *g, struct small *t);
void small_spoil(struct guest *g, struct small *t);
/* The descriptor and the region table, from *@t. */
void small_fill(struct guest *g, struct small *t);
/* Run it on unit 0 and release it: the state it ended in. */
npu_u32 small_run(struct guest *g, struct small *t);

#endif
