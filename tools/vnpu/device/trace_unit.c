// SPDX-License-Identifier: MIT
/*
 * NPU_JOB_TRACE_*: records of a job in the user's own memory. What could not be written there ends
 * the job with a fault behind the slice.
 */
#include <stddef.h>
#include "core.h"
#include "trace.h"

static bool trace_write(struct npu_unit *unit, npu_u64 va, void *buf, npu_u64 size)
{
	struct npu_unit_trace *t = &unit->job.trace;

	if (npu_mmu_copy(&unit->core->mmu, t->context, va, buf, size, NPU_ACCESS_WRITE, &t->bad))
		t->failed = true;
	return !t->failed;
}

static void record_add(struct npu_unit *unit, const struct npu_hw_trace_record *rec)
{
	struct npu_unit_trace *t = &unit->job.trace;
	npu_u64 va = t->va + sizeof(struct npu_hw_trace) + (npu_u64)t->count * sizeof(*rec);
	struct npu_hw_trace_record copy = *rec;

	if (t->failed)
		return;
	if (t->count >= t->room)
		t->dropped++;
	else if (trace_write(unit, va, &copy, sizeof(copy)))
		t->count++;
}

static void record_insn(void *ctx, const struct npu_insn *insn, void *const *ptr, npu_u64 start,
			npu_u64 ns)
{
	struct npu_unit *unit = ctx;
	struct npu_unit_trace *t = &unit->job.trace;
	struct npu_trace_digest digest[NPU_MAX_OPERANDS];
	struct npu_hw_trace_record rec = {
		.opcode = insn->header->opcode,
		.insn = unit->job.state.insn,
		.offset = unit->job.state.offset,
		.tag = insn->header->tag,
	};
	unsigned int i, n;

	if (!t->start_ns)
		t->start_ns = start;
	if (t->flags & NPU_JOB_TRACE_PROFILE) {
		rec.kind = NPU_TRACE_PROFILE;
		rec.value = start - t->start_ns;
		rec.ns = ns;
		record_add(unit, &rec);
	}
	if (!(t->flags & NPU_JOB_TRACE_DIGEST))
		return;
	rec.kind = NPU_TRACE_DIGEST;
	rec.ns = 0;
	n = npu_trace_digests(insn, ptr, digest);
	for (i = 0; i < n; i++) {
		rec.slot = digest[i].slot;
		rec.value = digest[i].digest;
		record_add(unit, &rec);
	}
}

bool npu_trace_open(struct npu_unit *unit, const struct npu_hw_save *save)
{
	const struct npu_fw_job *desc = &unit->job.desc;
	struct npu_unit_trace *t = &unit->job.trace;
	const npu_u32 head = sizeof(struct npu_hw_trace);

	if (!(desc->flags & NPU_JOB_FLAGS))
		return true;
	if (desc->trace_size < head)
		return false;
	*t = (struct npu_unit_trace){ .flags = desc->flags & NPU_JOB_FLAGS,
				      .context = unit->job.context,
				      .va = desc->trace,
				      .room = (desc->trace_size - head) /
					      (npu_u32)sizeof(struct npu_hw_trace_record) };
	unit->job.state.observer = (struct npu_observer){ .insn = record_insn, .ctx = unit };
	if (!save)
		return true;
	if (save->trace_count > t->room)
		return false;
	t->count = save->trace_count;
	t->dropped = save->trace_dropped;
	t->start_ns = save->trace_start_ns;
	return true;
}

void npu_trace_flush(struct npu_unit *unit)
{
	struct npu_unit_trace *t = &unit->job.trace;
	struct npu_hw_trace head = { .count = t->count, .dropped = t->dropped,
				     .start_ns = t->start_ns };

	if (!t->failed)
		trace_write(unit, t->va, &head, sizeof(head));
}
