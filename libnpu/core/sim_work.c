// SPDX-License-Identifier: MIT
/* The sim backend: a slice of a job, and what is recorded of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/dmabuf.h"
#include "core/sim.h"
#include "trace.h"

static uint32_t access_of(const struct npu_buffer *buf)
{
	return buf->flags & NPU_BUFFER_READ_ONLY ? NPU_ACCESS_READ :
						   NPU_ACCESS_READ | NPU_ACCESS_WRITE;
}

/* To dma-bufs, the engine is the host: its access begins with the job and ends with it. */
static int begin_shared(struct sim_work *sw)
{
	const struct npu_work *work = sw->work;
	int ret = 0;

	for (; sw->shared < work->num_bufs && !ret; sw->shared += !ret)
		if (work->bufs[sw->shared]->dmabuf >= 0)
			ret = npu_dmabuf_begin(work->bufs[sw->shared],
					       access_of(work->bufs[sw->shared]), NULL);
	return ret;
}

void sim_work_close(struct sim_work *sw)
{
	struct npu_buffer *buf;

	if (sw->begun)
		npu_engine_state_fini(&sw->state);
	while (sw->shared) {
		buf = sw->work->bufs[--sw->shared];
		if (buf->dmabuf >= 0)
			npu_dmabuf_end(buf, access_of(buf), NULL);
	}
}

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
	if (work->flags & (NPU_SUBMIT_PROFILE | NPU_SUBMIT_DIGEST))
		state->observer = (struct npu_observer){ .insn = sim_record_insn, .ctx = sw };
	ret = begin_shared(sw);
	if (ret)
		return ret;
	ret = npu_engine_state_init(sw->sim->engine, state);
	if (ret)
		return ret == -EINVAL ? -EIO : ret;	/* state->fault says why */
	sw->begun = true;
	sw->started = npu_now();
	return 0;
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
		result = npu_engine_run(sw->sim->engine, &sw->state, SIM_SLICE_NS - used,
					&sw->work->stop, NULL);
		if (sw->record.failed)
			*status = -ENOMEM;
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

static int record_profile(struct sim_work *sw, const struct npu_insn *insn, uint64_t start,
			  uint64_t ns)
{
	struct sim_record *rec = &sw->record;
	void *p = grow(rec->profile, rec->num_profile, &rec->room_profile, sizeof(*rec->profile));

	if (!p)
		return -ENOMEM;
	rec->profile = p;
	if (!rec->num_profile)
		rec->first = start;
	rec->profile[rec->num_profile++] = (struct npu_insn_profile){
		.insn = sw->state.insn,
		.offset = sw->state.offset,
		.tag = insn->header->tag,
		.opcode = insn->header->opcode,
		.start = start - rec->first,
		.ns = ns,
		.macs = npu_insn_macs(insn),
		.bytes = npu_insn_bytes(insn),
	};
	return 0;
}

static int record_digests(struct sim_work *sw, const struct npu_insn *insn, void *const *ptr)
{
	struct npu_trace_digest digest[NPU_MAX_OPERANDS];
	struct sim_record *rec = &sw->record;
	unsigned int i, n = npu_trace_digests(insn, ptr, digest);
	void *p;

	for (i = 0; i < n; i++) {
		p = grow(rec->digests, rec->num_digests, &rec->room_digests, sizeof(*rec->digests));
		if (!p)
			return -ENOMEM;
		rec->digests = p;
		rec->digests[rec->num_digests++] = (struct npu_insn_digest){
			.insn = sw->state.insn,
			.tag = insn->header->tag,
			.opcode = insn->header->opcode,
			.slot = digest[i].slot,
			.digest = digest[i].digest,
		};
	}
	return 0;
}

void sim_record_insn(void *ctx, const struct npu_insn *insn, void *const *ptr, npu_u64 start,
		     npu_u64 ns)
{
	struct sim_work *sw = ctx;

	if (sw->work->flags & NPU_SUBMIT_PROFILE && record_profile(sw, insn, start, ns))
		sw->record.failed = true;
	if (sw->work->flags & NPU_SUBMIT_DIGEST && record_digests(sw, insn, ptr))
		sw->record.failed = true;
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
