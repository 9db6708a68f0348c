// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "npu_engine.h"
#include "run_stream.h"

#define NUM_REGIONS	16
#define SRAM_BYTES	4096
#define MAX_MACS	2000000		/* of a whole stream */
#define MAX_BYTES	(4u << 20)

struct run_stream {
	struct npu_engine *engine;
	struct npu_region regions[NUM_REGIONS];
	void *memory[NUM_REGIONS];
	char text[512];
};

/* Sizes differ, two regions are on-chip memory, and one can not be written. */
static npu_u64 region_bytes(unsigned int i)
{
	return i == 13 || i == 14 ? SRAM_BYTES / 2 : 1000 * 64 * 2 + 8 * i;
}

struct run_stream *run_stream_create(void)
{
	struct npu_engine_config config = { .threads = 1, .sram_size = SRAM_BYTES };
	struct run_stream *r = calloc(1, sizeof(*r));
	unsigned int i;

	if (!r || npu_engine_create(&config, &r->engine))
		exit(2);
	for (i = 0; i < NUM_REGIONS; i++) {
		r->regions[i].size = region_bytes(i);
		r->regions[i].access = NPU_ACCESS_READ | (i == 15 ? 0 : NPU_ACCESS_WRITE);
		if (i == 13 || i == 14) {
			r->regions[i].access |= NPU_ACCESS_SRAM;
			r->regions[i].base = i == 13 ? 0 : SRAM_BYTES / 2;
			continue;
		}
		r->memory[i] = malloc(r->regions[i].size);
		if (!r->memory[i])
			exit(2);
		r->regions[i].base = (uintptr_t)r->memory[i];
	}
	return r;
}

void run_stream_destroy(struct run_stream *r)
{
	unsigned int i;

	for (i = 0; i < NUM_REGIONS; i++)
		free(r->memory[i]);
	npu_engine_destroy(r->engine);
	free(r);
}

const char *run_stream_text(const struct run_stream *r)
{
	return r->text;
}

/*
 * Small numbers in every type, so that indices are often good; the same for each run, so that
 * failures repeat.
 */
static void fill_memory(struct run_stream *r)
{
	unsigned int i;
	size_t at;

	for (i = 0; i < NUM_REGIONS; i++)
		for (at = 0; r->memory[i] && at < r->regions[i].size; at++)
			((npu_u8 *)r->memory[i])[at] = at % 8 ? 0 : at / 8 % 3 + i % 2;
}

/*
 * Work up to the first instruction that is not right; what an engine would do before it faults
 * there.
 */
static bool is_too_long(const npu_u8 *stream, const struct npu_stream_header *h,
			const npu_u32 *scalar)
{
	npu_u32 words[NPU_MAX_INSN_WORDS] __attribute__((aligned(8)));
	size_t at = sizeof(*h), left;
	npu_u64 macs = 0, bytes = 0;
	bool terms = false, load = false;
	struct npu_insn insn;

	while (at < h->size) {
		left = h->size - at;
		if (left > sizeof(words))
			left = sizeof(words);
		memcpy(words, stream + at, left);
		if (npu_insn_decode(words, left / 4, &insn, NULL) ||
		    npu_insn_apply_terms(words, scalar, NULL) || npu_insn_check(&insn, NULL))
			break;
		macs += npu_insn_macs(&insn);
		bytes += npu_insn_bytes(&insn);
		terms |= insn.header->num_terms > 0;
		load |= insn.desc->code == NPU_OP_LOAD_SCALAR;
		at += insn.header->words * 4;
		if (macs > MAX_MACS || bytes > MAX_BYTES)
			return true;
	}
	return load && terms;
}

static enum run_verdict judge(struct run_stream *r, const struct npu_engine_state *state,
			      enum npu_run_result result, bool accepted)
{
	if (result == NPU_RUN_FAULT)
		snprintf(r->text, sizeof(r->text), "engine: instruction %u, code %u: %s",
			 state->fault.insn, state->fault.code, state->fault_text);
	if (!accepted)
		return RUN_REFUSED;
	if (result == NPU_RUN_DONE)
		return RUN_DONE;
	if (result == NPU_RUN_FAULT && state->fault.code == NPU_FAULT_INDEX)
		return RUN_INDEX_FAULT;
	/* Some forms of an opcode may be missing; the text says so. */
	if (result == NPU_RUN_FAULT &&
	    (state->fault.code == NPU_FAULT_OPCODE || strstr(state->fault_text, "this engine")))
		return RUN_UNSUPPORTED;
	return RUN_DISAGREE;
}

static enum run_verdict run_engine(struct run_stream *r, const npu_u8 *stream, size_t size,
				   npu_u32 pick, bool accepted)
{
	struct npu_engine_state state = { .stream = stream,
					  .stream_size = size,
					  .regions = r->regions,
					  .num_regions = NUM_REGIONS };
	struct npu_stream_header h = { 0 };
	enum run_verdict verdict;
	atomic_bool stop = false;
	unsigned int i;

	memcpy(&h, stream, size < sizeof(h) ? size : sizeof(h));
	for (i = 0; i < NPU_MAX_SCALARS; i++)
		state.scalar[i] = pick >> i & 1 ? h.scalar[i].max : h.scalar[i].min;
	if (!npu_stream_check_header(&h, size, NULL) && is_too_long(stream, &h, state.scalar))
		return accepted ? RUN_TOO_LONG : RUN_REFUSED;
	if (npu_engine_state_init(r->engine, &state))
		return accepted ? RUN_DISAGREE : RUN_REFUSED;
	fill_memory(r);
	verdict = judge(r, &state, npu_engine_run(r->engine, &state, UINT64_MAX, &stop, NULL),
			accepted);
	npu_engine_state_fini(&state);
	return verdict;
}

enum run_verdict run_stream(struct run_stream *r, const void *stream, size_t size, npu_u32 pick)
{
	struct npu_isa_error err = { .text = "" };
	npu_u8 *copy = malloc(size ? size : 1);
	enum run_verdict verdict;
	bool accepted;

	if (!copy)
		exit(2);
	memcpy(copy, stream, size);
	accepted = !npu_stream_verify(copy, size, r->regions, NUM_REGIONS, SRAM_BYTES, &err);
	snprintf(r->text, sizeof(r->text), "verifier: instruction %u, code %u: %s", err.fault.insn,
		 err.fault.code, err.text);
	verdict = run_engine(r, copy, size, pick, accepted);
	free(copy);
	return verdict;
}
