// SPDX-License-Identifier: MIT
/* A job's memory, and stepping through its stream. */
#include "tools/check/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "npu_host.h"

static int place_region(struct check_machine *m, unsigned int r, struct npu_error *err)
{
	const struct npu_jobfile_region *region = &m->program->regions[r];

	if (npu_jobfile_eval(&region->size, m->scalar, &m->size[r]))
		return npu_error_set(err, -EINVAL, "region %u has no valid size at these lengths",
				     r);
	m->table[r] = (struct npu_region){ .size = m->size[r], .access = region->access };
	if (region->role == NPU_REGION_SRAM) {
		m->table[r].base = region->offset;
		return 0;
	}
	if (region->role == NPU_REGION_WEIGHTS) {
		m->table[r].base = (npu_u64)(uintptr_t)m->job->weights + region->offset;
		return 0;
	}
	if (m->size[r] > SIZE_MAX - 8192)
		return npu_error_set(err, -ENOMEM, "region %u is too large for this machine", r);
	m->mem[r] = aligned_alloc(4096, (m->size[r] + 4096) & ~(npu_u64)4095);
	if (!m->mem[r])
		return npu_error_set(err, -ENOMEM, "no memory for the %llu bytes of region %u",
				     (unsigned long long)m->size[r], r);
	memset(m->mem[r], 0, m->size[r]);
	m->table[r].base = (npu_u64)(uintptr_t)m->mem[r];
	return 0;
}

/* What a host step has not found out is as the lengths say. */
static int init_dims(struct check_machine *m, struct npu_error *err)
{
	npu_u64 dim[NPU_TENSOR_MAX_RANK], stride[NPU_TENSOR_MAX_RANK], offset, extent;

	m->dims = calloc(m->program->num_tensors + 1, sizeof(*m->dims));
	if (!m->dims)
		return npu_error_set(err, -ENOMEM, "no memory for %u tensors",
				     m->program->num_tensors);
	for (unsigned int t = 0; t < m->program->num_tensors; t++) {
		const struct npu_jobfile_tensor *tensor = &m->program->tensors[t];

		if (npu_jobfile_layout(tensor, m->scalar, dim, stride, &offset, &extent) ||
		    extent > m->size[tensor->region] ||
		    offset > m->size[tensor->region] - extent)
			return npu_error_set(err, -EINVAL,
					     "'%s' has no valid shape and place at these lengths",
					     tensor->name);
		for (unsigned int d = 0; d < tensor->rank; d++)
			m->dims[t][d] = (int64_t)dim[d];
	}
	return 0;
}

int check_machine_init(struct check_machine *m, const struct npu_jobfile *job, unsigned int program,
		       const npu_u32 scalar[NPU_MAX_SCALARS], struct npu_engine *engine,
		       struct npu_error *err)
{
	int ret = 0;

	memset(m, 0, sizeof(*m));
	m->job = job;
	m->program = &job->programs[program];
	m->engine = engine;
	memcpy(m->scalar, scalar, sizeof(m->scalar));
	npu_jobfile_derive(m->program, m->scalar);
	for (unsigned int r = 0; r < m->program->num_regions && !ret; r++)
		ret = place_region(m, r, err);
	return ret ? ret : init_dims(m, err);
}

void check_machine_fini(struct check_machine *m)
{
	if (m->started)
		npu_engine_state_fini(&m->state);
	m->started = false;
	for (unsigned int r = 0; r < NPU_MAX_REGIONS; r++) {
		free(m->mem[r]);
		m->mem[r] = NULL;
	}
	free(m->dims);
	m->dims = NULL;
}

bool check_machine_tensor(const struct check_machine *m, unsigned int index, struct npu_operand *op)
{
	const struct npu_jobfile_tensor *t = &m->program->tensors[index];
	npu_u64 dim[NPU_TENSOR_MAX_RANK], stride[NPU_TENSOR_MAX_RANK], extent;
	npu_s64 dense = (npu_s64)npu_host_dtype_size(t->dtype);

	*op = (struct npu_operand){ .region = (npu_u8)t->region, .dtype = (npu_u8)t->dtype,
				    .rank = (npu_u8)t->rank, .scale = t->scale,
				    .zero_point = t->zero_point };
	if (npu_jobfile_layout(t, m->scalar, dim, stride, &op->offset, &extent))
		return false;
	for (unsigned int d = t->rank; d-- > 0; dense *= m->dims[index][d]) {
		op->dim[d] = (npu_u32)m->dims[index][d];
		op->stride[d] = t->flags & NPU_JOBFILE_DENSE ? dense : (npu_s64)stride[d];
	}
	return true;
}

unsigned char *check_machine_region(const struct check_machine *m, unsigned int r)
{
	if (m->program->regions[r].role == NPU_REGION_SRAM)
		return (unsigned char *)m->state.sram + m->table[r].base;
	return (unsigned char *)(uintptr_t)m->table[r].base;
}

/* The instruction at @offset of the stream of @step, its terms applied, in m->insn. */
static int decode(struct check_machine *m, const struct npu_jobfile_step *step, npu_u32 offset,
		  struct npu_error *err)
{
	const char *stream = step->stream;
	struct npu_insn_header header;
	struct npu_isa_error isa = { 0 };

	if (offset > step->stream_size || step->stream_size - offset < sizeof(header))
		return npu_error_set(err, -EINVAL, "the stream ends without END");
	memcpy(&header, stream + offset, sizeof(header));
	if (header.words > NPU_MAX_INSN_WORDS || header.words * 4u > step->stream_size - offset)
		return npu_error_set(err, -EINVAL, "the instruction at byte %u is cut short",
				     offset);
	memcpy(m->words, stream + offset, header.words * 4u);
	if (npu_insn_decode(m->words, header.words, &m->insn, &isa) ||
	    npu_insn_apply_terms(m->words, m->scalar, &isa) || npu_insn_check(&m->insn, &isa))
		return npu_error_set(err, -EINVAL, "the instruction at byte %u: %s", offset,
				     isa.text);
	return 0;
}

npu_u64 check_machine_macs(const struct check_machine *m)
{
	struct check_machine copy = { .program = m->program };
	struct npu_jobfile_step step;
	npu_u64 macs = 0;

	memcpy(copy.scalar, m->scalar, sizeof(copy.scalar));
	for (npu_u32 i = 0; npu_jobfile_step_at(m->program, i, &step); i++) {
		npu_u32 offset = sizeof(struct npu_stream_header);

		while (step.kind == NPU_STEP_STREAM && !decode(&copy, &step, offset, NULL) &&
		       copy.insn.desc->code != NPU_OP_END) {
			macs += npu_insn_macs(&copy.insn);
			offset += copy.insn.header->words * 4u;
		}
	}
	return macs;
}

static int start_stream(struct check_machine *m, struct npu_error *err)
{
	int ret;

	m->state = (struct npu_engine_state){ .stream = m->current.stream,
					      .stream_size = m->current.stream_size,
					      .num_regions = m->program->num_regions,
					      .regions = m->table };
	memcpy(m->state.scalar, m->scalar, sizeof(m->scalar));
	ret = npu_engine_state_init(m->engine, &m->state);
	if (ret)
		return npu_error_set(err, ret, "the engine does not take the stream: %s",
				     m->state.fault_text);
	m->started = true;
	return 0;
}

int check_machine_next(struct check_machine *m, struct npu_error *err)
{
	int ret;

	for (;;) {
		if (!m->started) {
			if (!npu_jobfile_step_at(m->program, m->step, &m->current))
				return 0;
			if (m->current.kind == NPU_STEP_HOST)
				return 2;
			ret = start_stream(m, err);
			if (ret)
				return ret;
		}
		ret = decode(m, &m->current, m->state.offset, err);
		if (ret)
			return ret;
		if (m->insn.desc->code != NPU_OP_END)
			return 1;
		npu_engine_state_fini(&m->state);
		m->started = false;
		m->step++;
	}
}
