// SPDX-License-Identifier: MIT
/* What a job can tell of itself. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "core/digest.h"
#include "core/object.h"
#include "npu_isa_desc.h"

static const struct npu_jobfile_program *program_at(const struct npu_job *job, unsigned int program)
{
	return program < job->file->num_programs ? &job->file->programs[program] : NULL;
}

/* Bytes of all regions of one role at the largest lengths; strides are the job's own. */
static uint64_t role_bytes(const struct npu_jobfile_program *prog, uint32_t role)
{
	npu_u32 upper[NPU_MAX_SCALARS], i;
	uint64_t sum = 0;
	npu_u64 size;

	npu_jobfile_bounds(prog, true, upper);
	for (i = 0; i < prog->num_symbols; i++)
		if (prog->symbols[i].kind == NPU_SYMBOL_STRIDE)
			upper[i] = prog->symbols[i].min / prog->symbols[i].step;
	for (i = 0; i < prog->num_regions; i++)
		if (prog->regions[i].role == role &&
		    !npu_jobfile_eval(&prog->regions[i].size, upper, &size))
			sum += size;
	return sum;
}

/* Bytes and instructions of all streams of a program, and its host steps. */
static uint64_t stream_bytes(const struct npu_job *job, npu_u32 program)
{
	const struct npu_job_program *p = &job->programs[program];
	uint64_t sum = 0;
	npu_u32 i;

	for (i = 0; i < p->num_steps; i++)
		sum += p->steps[i].code ? p->steps[i].desc.stream_size : 0;
	return sum;
}

static void count_steps(const struct npu_job_program *p, struct npu_program_info *out)
{
	struct npu_stream_header header;
	npu_u32 i;

	for (i = 0; i < p->num_steps; i++) {
		if (!p->steps[i].code) {
			out->num_host_steps++;
			continue;
		}
		memcpy(&header, p->steps[i].desc.stream, sizeof(header));
		out->num_insns += header.num_insns;
	}
}

/* What the host steps of a program read and write, at the largest lengths. */
static uint64_t host_bytes(const struct npu_jobfile_program *prog)
{
	npu_u64 dim[NPU_TENSOR_MAX_RANK], stride[NPU_TENSOR_MAX_RANK], offset, extent;
	npu_u32 upper[NPU_MAX_SCALARS], i, k, t;
	uint64_t sum = 0;

	npu_jobfile_bounds(prog, true, upper);
	for (i = 0; i < prog->num_steps; i++) {
		const struct npu_jobfile_step *s = &prog->steps[i];

		for (k = 0; s->kind == NPU_STEP_HOST && k < s->num_in + s->num_out; k++) {
			t = k < s->num_in ? s->in[k] : s->out[k - s->num_in];
			if (t != NPU_JOBFILE_ABSENT &&
			    !npu_jobfile_layout(&prog->tensors[t], upper, dim, stride, &offset,
						&extent))
				sum += extent;
		}
	}
	return sum;
}

static void keep_larger(uint64_t *most, uint64_t v)
{
	if (v > *most)
		*most = v;
}

int npu_job_info(const struct npu_job *job, struct npu_job_info *info)
{
	const struct npu_jobfile *file = job->file;
	struct npu_job_info out = NPU_INIT(out);
	npu_u32 i;

	out.format_major = file->major;
	out.format_minor = file->minor;
	out.isa_major = file->isa_major;
	out.isa_minor = file->isa_minor;
	out.runtime_major = file->runtime_major;
	out.runtime_minor = file->runtime_minor;
	out.num_programs = file->num_programs;
	memcpy(out.opcodes, file->opcodes, sizeof(out.opcodes));
	out.file_size = file->file_size;
	out.weights = file->weights_size;
	out.sram = file->sram_size;
	for (i = 0; i < file->num_programs; i++) {
		const struct npu_jobfile_program *prog = &file->programs[i];

		keep_larger(&out.scratch, role_bytes(prog, NPU_REGION_SCRATCH));
		keep_larger(&out.input, role_bytes(prog, NPU_REGION_INPUT));
		keep_larger(&out.output, role_bytes(prog, NPU_REGION_OUTPUT));
		keep_larger(&out.state, role_bytes(prog, NPU_REGION_STATE));
		out.streams += stream_bytes(job, i);
	}
	out.name = job->path;
	out.compiler = file->compiler;
	out.report = file->report ? file->report : "";
	npu_sha256_hex(file->digest, out.digest);
	return info ? npu_struct_write(info, info->size, &out, sizeof(out)) : -EINVAL;
}

int npu_job_record(const struct npu_job *job, unsigned int index, const char **key,
		   const char **value)
{
	if (index >= job->file->num_records)
		return -ENOENT;
	*key = job->file->records[index].key;
	*value = job->file->records[index].value;
	return 0;
}

int npu_job_program(const struct npu_job *job, unsigned int program, struct npu_program_info *info)
{
	const struct npu_jobfile_program *prog = program_at(job, program);
	struct npu_program_info out = NPU_INIT(out);
	npu_u32 i;

	if (!prog)
		return -ENOENT;
	out.num_symbols = prog->num_symbols;
	out.num_regions = prog->num_regions;
	out.num_tensors = prog->num_tensors;
	count_steps(&job->programs[program], &out);
	out.stream_size = stream_bytes(job, program);
	for (i = 0; i < prog->num_debug; i++) {
		out.macs += prog->debug[i].macs;
		out.bytes += prog->debug[i].bytes;
	}
	out.scratch = role_bytes(prog, NPU_REGION_SCRATCH);
	out.sram = role_bytes(prog, NPU_REGION_SRAM);
	out.host_bytes = host_bytes(prog);
	out.name = prog->name;
	out.stream = prog->stream;
	return info ? npu_struct_write(info, info->size, &out, sizeof(out)) : -EINVAL;
}

int npu_job_symbol(const struct npu_job *job, unsigned int program, unsigned int index,
		   struct npu_symbol_info *info)
{
	const struct npu_jobfile_program *prog = program_at(job, program);
	struct npu_symbol_info out = NPU_INIT(out);

	if (!prog || index >= prog->num_symbols)
		return -ENOENT;
	out.min = prog->symbols[index].min;
	out.max = prog->symbols[index].max;
	out.step = prog->symbols[index].step;
	out.derived = prog->symbols[index].kind == NPU_SYMBOL_PRODUCT;
	out.stride = prog->symbols[index].kind == NPU_SYMBOL_STRIDE;
	out.name = prog->symbols[index].name;
	return info ? npu_struct_write(info, info->size, &out, sizeof(out)) : -EINVAL;
}

int npu_job_region(const struct npu_job *job, unsigned int program, unsigned int index,
		   struct npu_region_info *info)
{
	const struct npu_jobfile_program *prog = program_at(job, program);
	npu_u32 lower[NPU_MAX_SCALARS], upper[NPU_MAX_SCALARS];
	struct npu_region_info out = NPU_INIT(out);
	const struct npu_jobfile_region *r;
	npu_u64 bytes = 0;

	if (!prog || index >= prog->num_regions)
		return -ENOENT;
	r = &prog->regions[index];
	npu_jobfile_bounds(prog, false, lower);
	npu_jobfile_bounds(prog, true, upper);
	out.role = r->role;
	out.access = r->access;
	out.align = r->align;
	npu_jobfile_eval(&r->size, lower, &bytes);
	out.min_bytes = bytes;
	npu_jobfile_eval(&r->size, upper, &bytes);
	out.max_bytes = bytes;
	out.name = r->name;
	return info ? npu_struct_write(info, info->size, &out, sizeof(out)) : -EINVAL;
}

/* The symbol that a dim depends on most plainly: that of its first term. */
static int32_t symbol_of(const struct npu_jobfile_expr *dim)
{
	int i;

	for (i = 0; i < NPU_JOBFILE_TERMS; i++)
		if (dim->factor[i])
			return dim->sym[i];
	return -1;
}

int npu_job_tensor(const struct npu_job *job, unsigned int program, unsigned int index,
		   struct npu_tensor_info *info)
{
	const struct npu_jobfile_program *prog = program_at(job, program);
	npu_u32 lower[NPU_MAX_SCALARS], upper[NPU_MAX_SCALARS], d;
	struct npu_tensor_info out = NPU_INIT(out);
	const struct npu_jobfile_tensor *t;
	npu_u64 dim = 0;

	if (!prog || index >= prog->num_tensors)
		return -ENOENT;
	t = &prog->tensors[index];
	npu_jobfile_bounds(prog, false, lower);
	npu_jobfile_bounds(prog, true, upper);
	out.role = t->role;
	out.dtype = t->dtype;
	out.rank = t->rank;
	for (d = 0; d < t->rank; d++) {
		npu_jobfile_eval(&t->dim[d], lower, &dim);
		out.min_dim[d] = dim;
		npu_jobfile_eval(&t->dim[d], upper, &dim);
		out.max_dim[d] = dim;
		out.symbol[d] = symbol_of(&t->dim[d]);
	}
	out.region = t->region;
	out.dense = t->flags & NPU_JOBFILE_DENSE ? 1 : 0;
	out.bounded = t->flags & NPU_JOBFILE_BOUNDED ? 1 : 0;
	out.scale = t->scale;
	out.zero_point = t->zero_point;
	out.name = t->name;
	out.node = t->node;
	return info ? npu_struct_write(info, info->size, &out, sizeof(out)) : -EINVAL;
}

int npu_job_debug(const struct npu_job *job, unsigned int program, uint32_t tag,
		  struct npu_debug_info *info)
{
	const struct npu_jobfile_program *prog = program_at(job, program);
	const struct npu_jobfile_debug *d = prog ? npu_jobfile_debug_find(prog, tag) : NULL;
	struct npu_debug_info out = NPU_INIT(out);

	if (!d)
		return -ENOENT;
	out.tag = d->tag;
	out.slot = d->slot;
	out.macs = d->macs;
	out.bytes = d->bytes;
	out.node = d->node;
	out.op = d->op;
	out.tensor = d->tensor;
	out.scale = d->scale;
	return info ? npu_struct_write(info, info->size, &out, sizeof(out)) : -EINVAL;
}

/* "host NonZero(x) -> y" */
static void describe_host(const struct npu_jobfile_program *prog, const struct npu_jobfile_step *s,
			  char *buf, size_t size)
{
	size_t n = snprintf(buf, size, "host %s%s%s(", s->domain, *s->domain ? "." : "", s->op);
	npu_u32 i;

	for (i = 0; i < s->num_in + s->num_out && n < size; i++) {
		npu_u32 t = i < s->num_in ? s->in[i] : s->out[i - s->num_in];

		n += snprintf(buf + n, size - n, "%s%s",
			      i == s->num_in ? ") -> " : i ? ", " : "",
			      t == NPU_JOBFILE_ABSENT ? "-" : prog->tensors[t].name);
	}
}

static int disassemble_step(const struct npu_job *job, const struct npu_jobfile_program *prog,
			    const struct npu_job_step *step, uint32_t *offset, char *buf,
			    size_t size)
{
	uint32_t at = *offset - step->offset;
	struct npu_insn insn;
	const npu_u32 *words;

	if (!step->code) {
		if (at)
			return -EINVAL;
		describe_host(prog, &step->desc, buf, size);
		*offset += NPU_JOBFILE_HOST_SPAN;
		return 0;
	}
	if (at % 8)
		return -EINVAL;
	/* The job's own copy is aligned; the file's is, too, but for what the format promises. */
	words = (const npu_u32 *)((const char *)step->code->stream + at);
	if (npu_insn_decode(words, (step->desc.stream_size - at) / 4, &insn, NULL))
		return -EINVAL;
	npu_insn_disassemble(&insn, buf, size);
	*offset += insn.header->words * 4u;
	return 0;
}

/* Where a step begins stands for its first instruction. */
static void skip_header(const struct npu_job_step *step, uint32_t *offset)
{
	if (step->code && *offset == step->offset)
		*offset += sizeof(struct npu_stream_header);
}

int npu_job_disassemble(const struct npu_job *job, unsigned int program, uint32_t *offset,
			char *buf, size_t size)
{
	const struct npu_jobfile_program *prog = program_at(job, program);
	const struct npu_job_step *step;
	npu_u32 i, count;
	int ret;

	if (!prog || !offset || !buf || !size)
		return -EINVAL;
	count = job->programs[program].num_steps;
	for (i = 0; i < count; i++) {
		step = &job->programs[program].steps[i];
		if (*offset - step->offset >= npu_jobfile_step_span(&step->desc))
			continue;
		skip_header(step, offset);
		ret = disassemble_step(job, prog, step, offset, buf, size);
		if (!ret && i + 1 < count)
			skip_header(step + 1, offset);
		return ret;
	}
	return i && *offset == step->offset + npu_jobfile_step_span(&step->desc) ? -ENOENT :
										   -EINVAL;
}
