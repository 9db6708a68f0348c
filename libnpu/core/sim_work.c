// SPDX-License-Identifier: MIT
/* The sim backend: a slice of a job, and what is recorded of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/digest.h"
#include "core/sim.h"
#include "npu_isa_desc.h"

static int begin(struct sim_work *sw)
{
	struct npu_work *work = sw->work;
	struct npu_engine_state *state = &sw->state;
	int ret;

	state->stream = work->code->stream;
	state->stream_size = work->code->size;
	state->num_regions = work->num_regions;
	state->regions = work->region;
	memcpy(state->scalar, work->scalar, sizeof(state->scalar));
	ret = npu_engine_state_init(sw->sim->engine, state);
	if (ret)
		return ret == -EINVAL ? -EIO : ret;	/* state->fault says why */
	sw->begun = true;
	sw->started = npu_now();
	return 0;
}

/* One call of the engine; with records, one instruction. */
static enum npu_run_result step(struct sim_work *sw, uint64_t budget, int *status)
{
	bool record = sw->work->flags & (NPU_SUBMIT_PROFILE | NPU_SUBMIT_DIGEST);
	npu_u32 scalar[NPU_MAX_SCALARS], offset = sw->state.offset, insn = sw->state.insn;
	enum npu_run_result result;
	uint64_t start = npu_now();

	if (record)
		memcpy(scalar, sw->state.scalar, sizeof(scalar));
	result = npu_engine_run(sw->sim->engine, &sw->state, record ? 0 : budget, &sw->work->stop,
				NULL);
	if (record && (result == NPU_RUN_DONE || result == NPU_RUN_YIELD) &&
	    sim_record_insn(sw, offset, insn, scalar, start, npu_now() - start))
		*status = -ENOMEM;
	return result;
}

bool sim_work_slice(struct sim_work *sw, int *status, const char **text)
{
	enum npu_run_result result = NPU_RUN_YIELD;
	uint64_t start = npu_now(), used = 0;

	*status = 0;
	if (atomic_load(&sw->work->stop)) {
		*status = -ECANCELED;
		*text = "cancelled";
		return true;
	}
	if (!sw->begun)
		*status = begin(sw);
	sw->slices++;
	while (!*status && result == NPU_RUN_YIELD && used < SIM_SLICE_NS) {
		result = step(sw, SIM_SLICE_NS - used, status);
		used = npu_now() - start;
	}
	sw->busy += used;
	if (result == NPU_RUN_STOPPED) {
		*status = -ECANCELED;
		*text = "cancelled";
	} else if (result == NPU_RUN_FAULT) {
		*status = -EIO;
	}
	if (*status == -EIO)
		*text = sw->state.fault_text;
	return *status || result == NPU_RUN_DONE;
}

/*
 * The instruction at @offset as it ran: a private copy (freed by the caller) with its terms
 * applied.
 */
static npu_u32 *fetch_insn(const struct sim_work *sw, npu_u32 offset, const npu_u32 *scalar,
			   struct npu_insn *insn)
{
	const struct npu_code *code = sw->work->code;
	const char *at = (const char *)code->stream + offset;
	struct npu_insn_header header;
	npu_u32 *words;

	memcpy(&header, at, sizeof(header));
	words = malloc(header.words * 4u + 8);
	if (!words)
		return NULL;
	memcpy(words, at, header.words * 4u);
	if (npu_insn_decode(words, header.words, insn, NULL) ||
	    npu_insn_apply_terms(words, scalar, NULL)) {
		free(words);
		return NULL;
	}
	return words;
}

static void *grow(void *array, size_t count, size_t *room, size_t size)
{
	size_t want = *room ? *room * 2 : 256;
	void *p;

	if (count < *room)
		return array;
	p = realloc(array, want * size);
	if (p)
		*room = want;
	return p;
}

static int record_profile(struct sim_record *rec, const struct npu_insn *insn, npu_u32 offset,
			  npu_u32 index, uint64_t start, uint64_t ns)
{
	void *p = grow(rec->profile, rec->num_profile, &rec->room_profile, sizeof(*rec->profile));

	if (!p)
		return -ENOMEM;
	rec->profile = p;
	if (!rec->num_profile)
		rec->first = start;
	rec->profile[rec->num_profile++] = (struct npu_insn_profile){
		.insn = index,
		.offset = offset,
		.tag = insn->header->tag,
		.opcode = insn->header->opcode,
		.start = start - rec->first,
		.ns = ns,
		.macs = npu_insn_macs(insn),
		.bytes = npu_insn_bytes(insn),
	};
	return 0;
}

/* Feed the elements of @op in row-major order; runs without gaps go in one piece. */
static void digest_dims(struct npu_xxh64 *xxh, const struct npu_operand *op, unsigned int d,
			const char *at)
{
	size_t elem = npu_dtype_bits(op->dtype) / 8, run = elem;
	unsigned int k = op->rank;
	npu_u32 i;

	while (k > d && (op->stride[k - 1] == (npu_s64)run || op->dim[k - 1] == 1))
		run *= op->dim[--k];
	if (k == d) {
		npu_xxh64_update(xxh, at, run);
		return;
	}
	for (i = 0; i < op->dim[d]; i++)
		digest_dims(xxh, op, d + 1, at + op->stride[d] * (npu_s64)i);
}

static int record_digest(struct sim_work *sw, const struct npu_insn *insn, npu_u32 index,
			 npu_u32 slot)
{
	const struct npu_operand *op = &insn->operand[slot];
	const struct npu_region *region = &sw->work->region[op->region];
	struct sim_record *rec = &sw->record;
	struct npu_xxh64 xxh;
	const char *at;
	void *p;

	p = grow(rec->digests, rec->num_digests, &rec->room_digests, sizeof(*rec->digests));
	if (!p)
		return -ENOMEM;
	rec->digests = p;
	at = region->access & NPU_ACCESS_SRAM ? (const char *)sw->state.sram + region->base :
						(const char *)(uintptr_t)region->base;
	npu_xxh64_init(&xxh);
	digest_dims(&xxh, op, 0, at + op->offset);
	rec->digests[rec->num_digests++] = (struct npu_insn_digest){
		.insn = index,
		.tag = insn->header->tag,
		.opcode = insn->header->opcode,
		.slot = slot,
		.digest = npu_xxh64_final(&xxh),
	};
	return 0;
}

/* The engine ran the instruction, so its operands are known to be good. */
int sim_record_insn(struct sim_work *sw, npu_u32 offset, npu_u32 index,
		    const npu_u32 scalar[NPU_MAX_SCALARS], uint64_t start, uint64_t ns)
{
	struct npu_insn insn;
	npu_u32 *words, slot;
	int ret = 0;

	words = fetch_insn(sw, offset, scalar, &insn);
	if (!words)
		return -ENOMEM;
	if (sw->work->flags & NPU_SUBMIT_PROFILE)
		ret = record_profile(&sw->record, &insn, offset, index, start, ns);
	/* A clock is not a result. */
	if (sw->work->flags & NPU_SUBMIT_DIGEST && insn.header->opcode != NPU_OP_TIMESTAMP)
		for (slot = 0; slot < insn.desc->num_slots && !ret; slot++)
			if (insn.desc->slots[slot].dir != NPU_DIR_IN &&
			    insn.operand[slot].dtype != NPU_NONE)
				ret = record_digest(sw, &insn, index, slot);
	free(words);
	return ret;
}

/* An array that was asked for and stayed empty is not the same as one that was not asked for. */
void sim_record_hand_over(struct sim_work *sw)
{
	struct sim_record *rec = &sw->record;

	if (sw->work->flags & NPU_SUBMIT_PROFILE) {
		if (!rec->profile)
			rec->profile = calloc(1, sizeof(*rec->profile));
		npu_work_set_profile(sw->work, rec->profile, rec->num_profile);
	}
	if (sw->work->flags & NPU_SUBMIT_DIGEST) {
		if (!rec->digests)
			rec->digests = calloc(1, sizeof(*rec->digests));
		npu_work_set_digests(sw->work, rec->digests, rec->num_digests);
	}
}
