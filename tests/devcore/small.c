// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include "small.h"

void small_init(struct guest *g, struct small *t, npu_u32 context, npu_u32 queue)
{
	npu_u32 sram = reg_read(g, 0x14), i;
	unsigned char byte;

	t->context = context;
	t->queue = queue;
	guest_context(g, context);
	reg_write(g, 0x3000 + 4 * queue, context | 0x80000000u);
	stream_begin(&t->s, 4);
	stream_copy(&t->s, 2, 4096, 0, 0, SMALL_BYTES);
	stream_copy(&t->s, 1, 0, 2, 4096, SMALL_BYTES);
	stream_copy(&t->s, 3, 0, 2, 0, sram);
	stream_end(&t->s);
	guest_map(g, context, SMALL_STREAM, stream_bytes(&t->s), P_X, true);
	guest_copy(g, context, SMALL_STREAM, t->s.words, stream_bytes(&t->s), true);
	guest_map(g, context, SMALL_IN, SMALL_BYTES, P_R, true);
	guest_map(g, context, SMALL_OUT, SMALL_BYTES + sram, P_R | P_W, true);
	for (i = 0; i < SMALL_BYTES; i++) {
		byte = (unsigned char)(i * 7 + context * 31 + 1);
		guest_copy(g, context, SMALL_IN + i, &byte, 1, true);
	}
	t->region[0] = (struct npu_region){ SMALL_IN, SMALL_BYTES, NPU_ACCESS_READ, 0 };
	t->region[1] = (struct npu_region){ SMALL_OUT, SMALL_BYTES, 3, 0 };
	t->region[2] = (struct npu_region){ 0, sram, 3 | NPU_ACCESS_SRAM, 0 };
	t->region[3] = (struct npu_region){ SMALL_OUT + SMALL_BYTES, sram, 3, 0 };
	job_alloc(g, &t->job);
	small_fill(g, t);
}

void small_fill(struct guest *g, struct small *t)
{
	job_fill(g, &t->job, 1, SMALL_STREAM, stream_bytes(&t->s), t->region, 4);
}

npu_u32 small_run(struct guest *g, struct small *t)
{
	npu_u32 state = job_run(g, 0, t->queue, &t->job);

	unit_cmd(g, 0, CMD_RELEASE);
	return state;
}

bool small_right(struct guest *g, struct small *t)
{
	npu_u32 sram = (npu_u32)t->region[2].size, i, bad = 0;
	unsigned char *out = malloc(SMALL_BYTES + sram), want;

	guest_copy(g, t->context, SMALL_OUT, out, SMALL_BYTES + sram, false);
	for (i = 0; i < SMALL_BYTES; i++) {
		want = (unsigned char)(i * 7 + t->context * 31 + 1);
		bad += out[i] != want || out[SMALL_BYTES + 4096 + i] != want;
	}
	for (i = 0; i < sram; i++)
		if (i < 4096 || i >= 4096 + SMALL_BYTES)
			bad += out[SMALL_BYTES + i] != 0;
	free(out);
	return !bad;
}

void small_spoil(struct guest *g, struct small *t)
{
	npu_u32 bytes = SMALL_BYTES + (npu_u32)t->region[2].size;
	unsigned char *junk = malloc(bytes);

	memset(junk, 0xee, bytes);
	guest_copy(g, t->context, SMALL_OUT, junk, bytes, true);
	free(junk);
}
