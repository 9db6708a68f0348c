// SPDX-License-Identifier: MIT
/* What a job's descriptor must be, as far as it is not the engine that looks at it anyway. */
#include "fw.h"

#define FIRST(member)	offsetof(struct npu_fw_job, member)

static bool all_zero(const npu_u32 *words, npu_u32 count)
{
	npu_u32 i;

	for (i = 0; i < count; i++) {
		if (words[i])
			return false;
	}
	return true;
}

/* A stream or trace lies in the queue's context, of 48-bit addresses. */
static bool user_range_ok(npu_u64 addr, npu_u32 size, npu_u32 align)
{
	return !(addr & (align - 1)) && addr < 1ull << NPU_MMU_VA_BITS &&
	       size <= (1ull << NPU_MMU_VA_BITS) - addr;
}

/* Offset of the first member that is wrong; the descriptor's size when none is. */
static npu_u32 first_wrong(const struct npu_fw_job *job, npu_u64 job_id, npu_u32 abi)
{
	if (job->job_id != job_id)
		return FIRST(job_id);
	if (job->stream_size < sizeof(struct npu_stream_header) ||
	    job->stream_size > NPU_MAX_STREAM_BYTES)
		return FIRST(stream_size);
	if (!user_range_ok(job->stream, job->stream_size, 8))
		return FIRST(stream);
	if (job->num_regions > NPU_MAX_REGIONS)
		return FIRST(num_regions);
	if (job->num_regions ?
	    !fw_range_ok(job->regions, job->num_regions * sizeof(struct npu_region), 8) :
	    job->regions)
		return FIRST(regions);
	if (job->flags & ~NPU_JOB_FLAGS)
		return FIRST(flags);
	if (job->flags && job->trace_size < sizeof(struct npu_hw_trace))
		return FIRST(trace_size);
	if (!user_range_ok(job->trace, job->trace_size, 8))
		return FIRST(trace);
	/* What came with a later ABI is reserved to a driver of an older one. */
	if (job->cancel > (abi >= NPU_FW_ABI_CANCEL))
		return FIRST(cancel);
	if (job->notify > (abi >= NPU_FW_ABI_QUIET))
		return FIRST(notify);
	if (!all_zero(job->reserved2, sizeof(job->reserved2) / 4))
		return FIRST(reserved2);
	return sizeof(*job);
}

enum npu_fw_status fw_job_check(const struct fw *fw, const struct npu_fw_job *job, npu_u64 job_id,
				npu_u32 *arg)
{
	*arg = first_wrong(job, job_id, fw->config.abi);
	if (*arg != sizeof(*job))
		return NPU_FW_BAD_JOB;
	*arg = 0;
	return NPU_FW_OK;
}
