// SPDX-License-Identifier: MIT
/* The drm backend: records of a job that the device wrote, for profiles and digests. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/drm.h"
#include "npu_isa_desc.h"

/* Outputs of an instruction at most. */
#define MAX_OUTPUTS	3u

uint64_t drm_trace_size(const struct npu_work *work)
{
	const struct npu_stream_header *header = (const void *)work->code->stream;
	uint64_t per_insn = 0;

	if (work->flags & NPU_SUBMIT_PROFILE)
		per_insn++;
	if (work->flags & NPU_SUBMIT_DIGEST)
		per_insn += MAX_OUTPUTS;
	if (!per_insn)
		return 0;
	return sizeof(struct npu_hw_trace) +
	       per_insn * header->num_insns * sizeof(struct npu_hw_trace_record);
}

/* Work of the instruction at @offset at the lengths of the submit. */
static void count_work(const struct npu_work *work, struct npu_insn_profile *p)
{
	const char *at = (const char *)work->code->stream + p->offset;
	struct npu_insn_header header;
	struct npu_insn insn;
	npu_u32 *words;

	if (p->offset % 8 || p->offset >= work->code->size ||
	    work->code->size - p->offset < sizeof(header))
		return;
	memcpy(&header, at, sizeof(header));
	if (header.words * 4u > work->code->size - p->offset)
		return;
	words = malloc(header.words * 4u + 8);
	if (!words)
		return;
	memcpy(words, at, header.words * 4u);
	if (!npu_insn_decode(words, header.words, &insn, NULL) &&
	    !npu_insn_apply_terms(words, work->scalar, NULL)) {
		p->macs = npu_insn_macs(&insn);
		p->bytes = npu_insn_bytes(&insn);
	}
	free(words);
}

static void profile_add(const struct npu_work *work, struct npu_insn_profile *p,
			const struct npu_hw_trace_record *r)
{
	*p = (struct npu_insn_profile){
		.insn = r->insn,
		.offset = r->offset,
		.tag = r->tag,
		.opcode = r->opcode,
		.start = r->value,
		.ns = r->ns,
	};
	count_work(work, p);
}

void drm_trace_hand_over(struct npu_work *work, const void *memory, uint64_t size)
{
	const struct npu_hw_trace_record *rec =
		(const void *)((const struct npu_hw_trace *)memory + 1);
	uint64_t room = (size - sizeof(struct npu_hw_trace)) / sizeof(*rec), i;
	uint64_t count = ((const struct npu_hw_trace *)memory)->count;
	struct npu_insn_profile *profile;
	struct npu_insn_digest *digests;
	size_t num_profile = 0, num_digests = 0;

	if (count > room)
		count = room;
	profile = calloc(count + 1, sizeof(*profile));
	digests = calloc(count + 1, sizeof(*digests));
	for (i = 0; i < count && profile && digests; i++) {
		if (rec[i].kind == NPU_TRACE_PROFILE)
			profile_add(work, &profile[num_profile++], &rec[i]);
		else if (rec[i].kind == NPU_TRACE_DIGEST)
			digests[num_digests++] = (struct npu_insn_digest){
				.insn = rec[i].insn,
				.tag = rec[i].tag,
				.opcode = rec[i].opcode,
				.slot = rec[i].slot,
				.digest = rec[i].value,
			};
	}
	/* What was not asked for stays NULL; without memory there are no records. */
	if (work->flags & NPU_SUBMIT_PROFILE)
		npu_work_set_profile(work, profile, num_profile);
	else
		free(profile);
	if (work->flags & NPU_SUBMIT_DIGEST)
		npu_work_set_digests(work, digests, num_digests);
	else
		free(digests);
}
