// SPDX-License-Identifier: MIT
/* Job file descriptions: sizes that depend on scalars, look-ups. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "core/jobfile_format.h"
#include "npu_isa_desc.h"

void npu_runtime_version(unsigned int *major, unsigned int *minor)
{
	*major = *minor = 0;
	sscanf(NPU_VERSION, "%u.%u", major, minor);
}

const npu_u32 npu_jf_record_size[NPU_JF_NUM_SECTIONS] = {
	[NPU_JF_SYMBOLS] = sizeof(struct npu_jf_symbol),
	[NPU_JF_REGIONS] = sizeof(struct npu_jf_region),
	[NPU_JF_TENSORS] = sizeof(struct npu_jf_tensor),
	[NPU_JF_PROGRAMS] = sizeof(struct npu_jf_program),
	[NPU_JF_SCHEDULE] = sizeof(struct npu_jf_step),
	[NPU_JF_DEBUGMAP] = sizeof(struct npu_jf_debug),
	[NPU_JF_RECORD] = sizeof(struct npu_jf_record),
	[NPU_JF_HOSTSTEPS] = sizeof(struct npu_jf_host),
	[NPU_JF_HOSTARGS] = sizeof(struct npu_jf_arg),
	[NPU_JF_HOSTATTRS] = sizeof(struct npu_jf_attr),
	[NPU_JF_IMAGES] = sizeof(struct npu_jf_image),
};

const char *npu_jf_section_name(npu_u32 type, char buf[32])
{
	static const char *const names[NPU_JF_NUM_SECTIONS] = {
		[NPU_JF_STRINGS] = "STRINGS",	[NPU_JF_WEIGHTS] = "WEIGHTS",
		[NPU_JF_SYMBOLS] = "SYMBOLS",	[NPU_JF_REGIONS] = "REGIONS",
		[NPU_JF_TENSORS] = "TENSORS",	[NPU_JF_PROGRAMS] = "PROGRAMS",
		[NPU_JF_SCHEDULE] = "SCHEDULE", [NPU_JF_STREAMS] = "STREAMS",
		[NPU_JF_DEBUGMAP] = "DEBUGMAP", [NPU_JF_REPORT] = "REPORT",
		[NPU_JF_RECORD] = "RECORD",	[NPU_JF_HOSTSTEPS] = "HOSTSTEPS",
		[NPU_JF_HOSTARGS] = "HOSTARGS", [NPU_JF_HOSTATTRS] = "HOSTATTRS",
		[NPU_JF_HOSTDATA] = "HOSTDATA",	[NPU_JF_METADATA] = "METADATA",
		[NPU_JF_IMAGES] = "IMAGES",
	};

	if (type < NPU_JF_NUM_SECTIONS && names[type])
		return names[type];
	snprintf(buf, 32, "section of type %u", type);
	return buf;
}

static int eval_signed(const struct npu_jobfile_expr *expr, const npu_u32 scalar[NPU_MAX_SCALARS],
		       npu_s64 *value)
{
	npu_s64 v = expr->base, part;
	unsigned int i;

	for (i = 0; i < NPU_JOBFILE_TERMS; i++) {
		if (!expr->factor[i])
			continue;
		if (expr->sym[i] >= NPU_MAX_SCALARS ||
		    __builtin_mul_overflow(expr->factor[i], (npu_s64)scalar[expr->sym[i]], &part) ||
		    __builtin_add_overflow(v, part, &v))
			return -ERANGE;
	}
	*value = v;
	return 0;
}

int npu_jobfile_eval(const struct npu_jobfile_expr *expr, const npu_u32 scalar[NPU_MAX_SCALARS],
		     npu_u64 *value)
{
	npu_s64 v;

	if (eval_signed(expr, scalar, &v) || v < 0)
		return -ERANGE;
	*value = v;
	return 0;
}

bool npu_jobfile_is_fixed(const struct npu_jobfile_expr *expr)
{
	unsigned int i;

	for (i = 0; i < NPU_JOBFILE_TERMS; i++)
		if (expr->factor[i])
			return false;
	return true;
}

void npu_jobfile_derive(const struct npu_jobfile_program *program, npu_u32 scalar[NPU_MAX_SCALARS])
{
	const struct npu_jobfile_symbol *sym = program->symbols;
	npu_u32 i;

	for (i = 0; i < program->num_symbols; i++)
		if (sym[i].kind == NPU_SYMBOL_PRODUCT)
			scalar[i] = scalar[sym[i].a] * scalar[sym[i].b];
}

void npu_jobfile_bounds(const struct npu_jobfile_program *program, bool upper,
			npu_u32 scalar[NPU_MAX_SCALARS])
{
	const struct npu_jobfile_symbol *sym = program->symbols;
	npu_u32 i;

	memset(scalar, 0, NPU_MAX_SCALARS * sizeof(*scalar));
	for (i = 0; i < program->num_symbols; i++)
		if (npu_jobfile_is_given(&sym[i]))
			scalar[i] = (upper ? sym[i].max : sym[i].min) / sym[i].step;
	npu_jobfile_derive(program, scalar);
}

int npu_jobfile_layout(const struct npu_jobfile_tensor *tensor,
		       const npu_u32 scalar[NPU_MAX_SCALARS], npu_u64 dim[NPU_TENSOR_MAX_RANK],
		       npu_u64 stride[NPU_TENSOR_MAX_RANK], npu_u64 *offset, npu_u64 *extent)
{
	npu_u64 elem = npu_host_dtype_size(tensor->dtype), run = elem, span = elem, part;
	npu_u32 i;

	if (npu_jobfile_eval(&tensor->offset, scalar, offset))
		return -ERANGE;
	for (i = 0; i < tensor->rank; i++) {
		if (npu_jobfile_eval(&tensor->dim[i], scalar, &dim[i]) || !dim[i] ||
		    dim[i] > NPU_MAX_DIM)
			return -ERANGE;
		if (!(tensor->flags & NPU_JOBFILE_DENSE) &&
		    npu_jobfile_eval(&tensor->stride[i], scalar, &stride[i]))
			return -ERANGE;
	}
	for (i = tensor->rank; i-- > 0; ) {
		if (tensor->flags & NPU_JOBFILE_DENSE)
			stride[i] = run;
		if (__builtin_mul_overflow(run, dim[i], &run) ||
		    __builtin_mul_overflow(dim[i] - 1, stride[i], &part) ||
		    __builtin_add_overflow(span, part, &span) || span > NPU_MAX_EXTENT ||
		    run > NPU_MAX_EXTENT)
			return -ERANGE;
	}
	*extent = span;
	return 0;
}

bool npu_jobfile_step_at(const struct npu_jobfile_program *program, npu_u32 i,
			 struct npu_jobfile_step *step)
{
	if (!program->num_steps && !i) {
		*step = (struct npu_jobfile_step){ .kind = NPU_STEP_STREAM,
						   .stream = program->stream,
						   .stream_size = program->stream_size };
		return true;
	}
	if (i >= program->num_steps)
		return false;
	*step = program->steps[i];
	return true;
}

npu_u32 npu_jobfile_step_span(const struct npu_jobfile_step *step)
{
	return step->kind == NPU_STEP_HOST ? NPU_JOBFILE_HOST_SPAN : step->stream_size;
}

const struct npu_jobfile_debug *npu_jobfile_debug_find(const struct npu_jobfile_program *program,
						       npu_u32 tag)
{
	npu_u32 lo = 0, hi = program->num_debug;

	while (lo < hi) {
		npu_u32 mid = lo + (hi - lo) / 2;

		if (program->debug[mid].tag < tag)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < program->num_debug && program->debug[lo].tag == tag ? &program->debug[lo]
									: NULL;
}
