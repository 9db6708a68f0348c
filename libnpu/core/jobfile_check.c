// SPDX-License-Identifier: MIT
/*
 * The rules that a job file's description has to keep; the writer and the reader apply the same
 * ones.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"
#include "core/jobfile_format.h"
#include "npu_isa_desc.h"

struct check {
	const struct npu_jobfile *job;
	const struct npu_jobfile_program *prog;
	npu_u32 index;			/* of prog */
	npu_u32 lower[NPU_MAX_SCALARS], upper[NPU_MAX_SCALARS];
	struct npu_error *err;
};

static const char *safe(const char *s)
{
	return s ? s : "";
}

#define REFUSE(c, fmt, ...) \
	npu_error_set((c)->err, -EINVAL, "program %u: " fmt, (c)->index, ##__VA_ARGS__)

static int check_product(const struct check *c, npu_u32 i)
{
	const struct npu_jobfile_symbol *s = &c->prog->symbols[i];
	npu_u64 most;

	if (s->a >= i || s->b >= i)
		return REFUSE(
			c,
			"symbol %u '%s' is the product of symbols %u and %u, which must come before it",
			i, s->name, s->a, s->b);
	most = (npu_u64)c->upper[s->a] * c->upper[s->b];
	if (most > UINT32_MAX)
		return REFUSE(c, "symbol %u '%s' may reach %llu, the limit is 2^32 - 1", i, s->name,
			      (unsigned long long)most);
	return 0;
}

static int check_symbols(struct check *c)
{
	const struct npu_jobfile_symbol *sym = c->prog->symbols;
	npu_u32 i, k;

	if (c->prog->num_symbols > NPU_MAX_SCALARS)
		return REFUSE(c, "%u symbols, the limit is %u", c->prog->num_symbols,
			      NPU_MAX_SCALARS);
	for (i = 0; i < c->prog->num_symbols; i++) {
		if (!*safe(sym[i].name))
			return REFUSE(c, "symbol %u has no name", i);
		for (k = 0; k < i; k++)
			if (!strcmp(sym[i].name, sym[k].name))
				return REFUSE(c, "symbols %u and %u are both named '%s'", k, i,
					      sym[i].name);
		if (sym[i].kind == NPU_SYMBOL_PRODUCT) {
			if (check_product(c, i))
				return -EINVAL;
			c->lower[i] = c->lower[sym[i].a] * c->lower[sym[i].b];
			c->upper[i] = c->upper[sym[i].a] * c->upper[sym[i].b];
			continue;
		}
		if (sym[i].kind >= NPU_NUM_SYMBOL_KINDS)
			return REFUSE(c, "symbol '%s' is of unknown kind %u", sym[i].name,
				      sym[i].kind);
		if (!sym[i].step || !sym[i].min || sym[i].min > sym[i].max ||
		    sym[i].min % sym[i].step || sym[i].max % sym[i].step)
			return REFUSE(
				c,
				"symbol '%s': %u .. %u in steps of %u: want 1 <= min <= max, multiples of step",
				sym[i].name, sym[i].min, sym[i].max, sym[i].step);
		c->lower[i] = sym[i].min / sym[i].step;
		c->upper[i] = sym[i].max / sym[i].step;
	}
	return 0;
}

static int check_expr(const struct check *c, const struct npu_jobfile_expr *e, const char *what,
		      npu_u32 i, const char *field)
{
	npu_u64 v;
	int t;

	for (t = 0; t < NPU_JOBFILE_TERMS; t++) {
		if (!e->factor[t])
			continue;
		if (e->sym[t] >= c->prog->num_symbols)
			return REFUSE(c, "%s %u: %s names symbol %u, there are %u", what, i, field,
				      e->sym[t], c->prog->num_symbols);
		if (e->factor[t] < 0)
			return REFUSE(c, "%s %u: %s has the negative factor %lld", what, i, field,
				      (long long)e->factor[t]);
	}
	/* Factors are not negative, so what holds at both ends holds between them. */
	if (npu_jobfile_eval(e, c->lower, &v) || npu_jobfile_eval(e, c->upper, &v) ||
	    v > NPU_MAX_EXTENT)
		return REFUSE(c, "%s %u: %s is negative or beyond 2^46 within the symbols' bounds",
			      what, i, field);
	return 0;
}

static int check_region_place(const struct check *c, npu_u32 i, npu_u64 size)
{
	const struct npu_jobfile_region *r = &c->prog->regions[i];
	npu_u64 end;

	if (r->role == NPU_REGION_WEIGHTS) {
		if (__builtin_add_overflow(r->offset, size, &end) || end > c->job->weights_size)
			return REFUSE(
				c,
				"region %u (weights) ends at byte %llu + %llu of a section of %llu",
				i, (unsigned long long)r->offset, (unsigned long long)size,
				(unsigned long long)c->job->weights_size);
		if (r->offset % r->align)
			return REFUSE(
				c,
				"region %u (weights): offset %llu is not a multiple of its alignment %u",
				i, (unsigned long long)r->offset, r->align);
	} else if (r->role == NPU_REGION_SRAM) {
		if (__builtin_add_overflow(r->offset, size, &end) || end > NPU_MAX_EXTENT)
			return REFUSE(c, "region %u (sram): offset %llu is out of range", i,
				      (unsigned long long)r->offset);
	} else if (r->offset) {
		return REFUSE(c, "region %u: offset must be 0 unless it is weights or sram", i);
	}
	return 0;
}

static int check_regions(const struct check *c)
{
	static const npu_u32 most[NPU_NUM_REGION_ROLES] = {
		[NPU_REGION_WEIGHTS] = NPU_ACCESS_READ,
		[NPU_REGION_SCRATCH] = NPU_ACCESS_READ | NPU_ACCESS_WRITE,
		[NPU_REGION_SRAM] = NPU_ACCESS_READ | NPU_ACCESS_WRITE | NPU_ACCESS_SRAM,
		[NPU_REGION_INPUT] = NPU_ACCESS_READ,
		[NPU_REGION_OUTPUT] = NPU_ACCESS_READ | NPU_ACCESS_WRITE,
		[NPU_REGION_STATE] = NPU_ACCESS_READ | NPU_ACCESS_WRITE,
	};
	npu_u32 i;

	if (c->prog->num_regions > NPU_MAX_REGIONS)
		return REFUSE(c, "%u regions, the limit is %u", c->prog->num_regions,
			      NPU_MAX_REGIONS);
	for (i = 0; i < c->prog->num_regions; i++) {
		const struct npu_jobfile_region *r = &c->prog->regions[i];
		npu_u64 size;

		if (r->role >= NPU_NUM_REGION_ROLES)
			return REFUSE(c, "region %u has the unknown role %u", i, r->role);
		if (r->access & ~most[r->role] ||
		    (r->role == NPU_REGION_SRAM) != !!(r->access & NPU_ACCESS_SRAM))
			return REFUSE(c, "region %u: access 0x%x does not fit its role", i,
				      r->access);
		if (!r->align || r->align > NPU_JOBFILE_PAGE || r->align & (r->align - 1))
			return REFUSE(c, "region %u: alignment %u is not a power of two up to %u",
				      i, r->align, NPU_JOBFILE_PAGE);
		if (check_expr(c, &r->size, "region", i, "size"))
			return -EINVAL;
		npu_jobfile_eval(&r->size, c->upper, &size);
		if (check_region_place(c, i, size))
			return -EINVAL;
	}
	return 0;
}

static int check_tensor_at(const struct check *c, npu_u32 i, const npu_u32 *scalar,
			   const char *where)
{
	const struct npu_jobfile_tensor *t = &c->prog->tensors[i];
	npu_u64 dim[NPU_TENSOR_MAX_RANK], stride[NPU_TENSOR_MAX_RANK], offset, extent, size;

	if (npu_jobfile_layout(t, scalar, dim, stride, &offset, &extent))
		return REFUSE(c, "tensor '%s': a dim is 0 or its size overflows at the %s lengths",
			      t->name, where);
	npu_jobfile_eval(&c->prog->regions[t->region].size, scalar, &size);
	if (extent > size || offset > size - extent)
		return REFUSE(
			c,
			"tensor '%s' spans bytes %llu + %llu of region %u, which has %llu at the %s lengths",
			t->name, (unsigned long long)offset, (unsigned long long)extent, t->region,
			(unsigned long long)size, where);
	return 0;
}

static int check_tensor(const struct check *c, npu_u32 i)
{
	static const npu_u32 home[] = { NPU_REGION_INPUT, NPU_REGION_OUTPUT, NPU_REGION_STATE };
	const struct npu_jobfile_tensor *t = &c->prog->tensors[i];
	npu_u32 d;

	if (!*safe(t->name))
		return REFUSE(c, "tensor %u has no name", i);
	if (t->role >= NPU_NUM_TENSOR_ROLES)
		return REFUSE(c, "tensor '%s' has the unknown role %u", t->name, t->role);
	if (!npu_host_dtype_size(t->dtype))
		return REFUSE(c, "tensor '%s' has the type %u, which tensors of users can not have",
			      t->name, t->dtype);
	if (t->rank > NPU_TENSOR_MAX_RANK)
		return REFUSE(c, "tensor '%s' has rank %u, the limit is %u", t->name, t->rank,
			      NPU_TENSOR_MAX_RANK);
	if (t->region >= c->prog->num_regions)
		return REFUSE(c, "tensor '%s' lies in region %u, there are %u", t->name, t->region,
			      c->prog->num_regions);
	if (t->role != NPU_TENSOR_INTERNAL && c->prog->regions[t->region].role != home[t->role])
		return REFUSE(c, "tensor '%s' and its region %u have different roles", t->name,
			      t->region);
	if (t->flags & ~(NPU_JOBFILE_DENSE | NPU_JOBFILE_BOUNDED))
		return REFUSE(c, "tensor '%s' has unknown flags 0x%x", t->name, t->flags);
	if (t->flags & NPU_JOBFILE_BOUNDED &&
	    (!(t->flags & NPU_JOBFILE_DENSE) ||
	     (t->role != NPU_TENSOR_OUTPUT && t->role != NPU_TENSOR_INTERNAL)))
		return REFUSE(
			c,
			"tensor '%s' has dims that the data give, but it is not dense or not a result",
			t->name);
	if (!isfinite(t->scale) || t->scale < 0)
		return REFUSE(c, "tensor '%s': scale %g is not finite and >= 0", t->name, t->scale);
	if (check_expr(c, &t->offset, "tensor", i, "offset"))
		return -EINVAL;
	for (d = 0; d < t->rank; d++)
		if (check_expr(c, &t->dim[d], "tensor", i, "a dim") ||
		    (!(t->flags & NPU_JOBFILE_DENSE) &&
		     check_expr(c, &t->stride[d], "tensor", i, "a stride")))
			return -EINVAL;
	if (check_tensor_at(c, i, c->lower, "smallest") ||
	    check_tensor_at(c, i, c->upper, "largest"))
		return -EINVAL;
	return 0;
}

/*
 * A region that users bind is one tensor, and the other way round; so binding a tensor fills in its
 * region.
 */
static int check_visible(const struct check *c)
{
	const struct npu_jobfile_tensor *t = c->prog->tensors, *seen[NPU_MAX_REGIONS];
	npu_u32 i, k, n = 0, owner[NPU_MAX_REGIONS] = { 0 };

	for (i = 0; i < c->prog->num_tensors; i++) {
		if (t[i].role == NPU_TENSOR_INTERNAL)
			continue;
		for (k = 0; k < n; k++)
			if (!strcmp(seen[k]->name, t[i].name))
				return REFUSE(c, "two tensors are named '%s'", t[i].name);
		if (owner[t[i].region]++)
			return REFUSE(c, "region %u has a second tensor, '%s'", t[i].region,
				      t[i].name);
		seen[n++] = &t[i];	/* one per region at most */
	}
	for (i = 0; i < c->prog->num_regions; i++)
		if (c->prog->regions[i].role >= NPU_REGION_INPUT && !owner[i])
			return REFUSE(c, "region %u is for users but has no tensor", i);
	return 0;
}

static int check_tensors(const struct check *c)
{
	npu_u32 i;

	for (i = 0; i < c->prog->num_tensors; i++)
		if (check_tensor(c, i))
			return -EINVAL;
	return check_visible(c);
}

static int check_debug(const struct check *c)
{
	npu_u32 i;

	for (i = 1; i < c->prog->num_debug; i++)
		if (c->prog->debug[i].tag <= c->prog->debug[i - 1].tag)
			return REFUSE(c, "debug map: tag %u does not come after tag %u",
				      c->prog->debug[i].tag, c->prog->debug[i - 1].tag);
	for (i = 0; i < c->prog->num_debug; i++)
		if (!isfinite(c->prog->debug[i].scale) || c->prog->debug[i].scale < 0)
			return REFUSE(c,
				      "debug map: tag %u has scale %g, want a finite one from 0 on",
				      c->prog->debug[i].tag, (double)c->prog->debug[i].scale);
	return 0;
}

static int check_stream_header(const struct check *c, const struct npu_jobfile_step *step,
			       struct npu_stream_header *header)
{
	npu_u32 i;

	if (!step->stream || step->stream_size < sizeof(*header))
		return REFUSE(c, "its stream has %u bytes, less than a stream header",
			      step->stream_size);
	memcpy(header, step->stream, sizeof(*header));
	if (header->magic != NPU_STREAM_MAGIC)
		return REFUSE(c, "its stream does not begin with a stream header");
	if (header->num_scalars < c->prog->num_symbols || header->num_scalars > NPU_MAX_SCALARS)
		return REFUSE(c, "its stream has %u scalars for %u symbols", header->num_scalars,
			      c->prog->num_symbols);
	for (i = 0; i < c->prog->num_symbols; i++)
		if (c->lower[i] < header->scalar[i].min || c->upper[i] > header->scalar[i].max)
			return REFUSE(c,
				      "scalar %u ('%s') may be %u .. %u, its stream takes %u .. %u",
				      i, c->prog->symbols[i].name, c->lower[i], c->upper[i],
				      header->scalar[i].min, header->scalar[i].max);
	return 0;
}

static int verify_at(const struct check *c, void *stream, npu_u32 stream_size,
		     const npu_u32 *scalar, const char *where, npu_u64 sram)
{
	struct npu_stream_header *header = stream;
	struct npu_region region[NPU_MAX_REGIONS];
	struct npu_isa_error isa = { 0 };
	npu_u32 i;

	for (i = 0; i < c->prog->num_symbols; i++)
		header->scalar[i].min = header->scalar[i].max = scalar[i];
	for (i = 0; i < c->prog->num_regions; i++) {
		region[i] = (struct npu_region){ .base = c->prog->regions[i].offset,
						 .access = c->prog->regions[i].access };
		if (c->prog->regions[i].role != NPU_REGION_SRAM)
			region[i].base = 0;
		npu_jobfile_eval(&c->prog->regions[i].size, scalar, &region[i].size);
	}
	if (npu_stream_verify(stream, stream_size, region, c->prog->num_regions, sram,
			      &isa))
		return REFUSE(c, "instruction %u at byte %u of its stream, at the %s lengths: %s",
			      isa.fault.insn, isa.fault.stream_offset, where, isa.text);
	return 0;
}

/*
 * Every region has its size at the smallest and at the largest lengths, so the stream is proven at
 * both.
 */
static int check_stream(const struct check *c, const struct npu_jobfile_step *step, npu_u64 *sram)
{
	struct npu_stream_header header;
	npu_u64 size, end = 0;
	void *copy;
	npu_u32 i;
	int ret;

	if (check_stream_header(c, step, &header))
		return -EINVAL;
	for (i = 0; i < c->prog->num_regions; i++) {
		if (c->prog->regions[i].role != NPU_REGION_SRAM)
			continue;
		npu_jobfile_eval(&c->prog->regions[i].size, c->upper, &size);
		if (c->prog->regions[i].offset + size > end)
			end = c->prog->regions[i].offset + size;
	}
	copy = malloc(step->stream_size);
	if (!copy)
		return npu_error_set(c->err, -ENOMEM, "no memory for %u bytes of stream",
				     step->stream_size);
	memcpy(copy, step->stream, step->stream_size);
	ret = verify_at(c, copy, step->stream_size, c->upper, "largest", end);
	if (!ret && c->prog->num_symbols)
		ret = verify_at(c, copy, step->stream_size, c->lower, "smallest", end);
	free(copy);
	if (end > *sram)
		*sram = end;
	return ret;
}

/* The stream has been verified: its instructions can be walked by their lengths. */
static void note_opcodes(const struct npu_jobfile_step *step, npu_u64 opcodes[4])
{
	const char *p = step->stream;
	struct npu_insn_header insn;
	npu_u32 at = sizeof(struct npu_stream_header);

	for (; at + sizeof(insn) <= step->stream_size; at += (insn.words * 4u + 7) & ~7u) {
		memcpy(&insn, p + at, sizeof(insn));
		if (insn.opcode < 256)
			opcodes[insn.opcode / 64] |= 1ull << insn.opcode % 64;
		if (!insn.words)
			return;
	}
}

npu_u32 npu_jobfile_features(const struct npu_jobfile *job)
{
	npu_u32 i, k;

	for (i = 0; i < job->num_programs; i++)
		for (k = 0; k < job->programs[i].num_symbols; k++)
			if (job->programs[i].symbols[k].kind == NPU_SYMBOL_STRIDE)
				return NPU_JF_FEATURE_STRIDES;
	return 0;
}

npu_u16 npu_jobfile_isa_minor(const struct npu_jobfile *job)
{
	struct npu_stream_header header;
	struct npu_jobfile_step step;
	npu_u16 minor = 0;
	npu_u32 i, k;

	for (i = 0; i < job->num_programs; i++)
		for (k = 0; npu_jobfile_step_at(&job->programs[i], k, &step); k++) {
			if (step.kind != NPU_STEP_STREAM)
				continue;
			memcpy(&header, step.stream, sizeof(header));
			minor = header.isa_minor > minor ? header.isa_minor : minor;
		}
	return minor;
}

/* ---- host steps ------------------------------------------------------------------------------ */

#define HOST_ALIGN	64

static bool is_aligned(const struct npu_jobfile_expr *e)
{
	npu_s64 all = e->base;
	int i;

	for (i = 0; i < NPU_JOBFILE_TERMS; i++)
		all |= e->factor[i];
	return all % HOST_ALIGN == 0;
}

/* @step's argument @arg, which is tensor @index. */
static int check_arg(const struct check *c, const struct npu_jobfile_step *step, const char *what,
		     npu_u32 arg, npu_u32 index, npu_u32 access)
{
	const struct npu_jobfile_region *r;
	const struct npu_jobfile_tensor *t;

	if (index == NPU_JOBFILE_ABSENT)
		return 0;
	if (index >= c->prog->num_tensors)
		return REFUSE(c, "host step '%s': %s %u is tensor %u, there are %u", step->node,
			      what, arg, index, c->prog->num_tensors);
	t = &c->prog->tensors[index];
	r = &c->prog->regions[t->region];
	if (!(t->flags & NPU_JOBFILE_DENSE) || !is_aligned(&t->offset) || r->align < HOST_ALIGN ||
	    r->offset % HOST_ALIGN)
		return REFUSE(
			c,
			"host step '%s': %s %u, tensor '%s', is not dense or not at a multiple of %u bytes",
			step->node, what, arg, t->name, HOST_ALIGN);
	if (r->access & NPU_ACCESS_SRAM || (r->access & access) != access)
		return REFUSE(
			c, "host step '%s': %s %u, tensor '%s', lies in region %u with access 0x%x",
			step->node, what, arg, t->name, t->region, r->access);
	return 0;
}

/* Whether tensors @a and @b share bytes at the lengths @scalar; both have been checked. */
static bool overlap(const struct check *c, npu_u32 a, npu_u32 b, const npu_u32 *scalar)
{
	const struct npu_jobfile_tensor *ta = &c->prog->tensors[a], *tb = &c->prog->tensors[b];
	npu_u64 dim[NPU_TENSOR_MAX_RANK], stride[NPU_TENSOR_MAX_RANK], at_a, at_b, size_a, size_b;

	if (ta->region != tb->region ||
	    npu_jobfile_layout(ta, scalar, dim, stride, &at_a, &size_a) ||
	    npu_jobfile_layout(tb, scalar, dim, stride, &at_b, &size_b))
		return false;
	return at_a < at_b + size_b && at_b < at_a + size_a;
}

static int check_overlap(const struct check *c, const struct npu_jobfile_step *step, npu_u32 out)
{
	npu_u32 mine = step->out[out], i;

	for (i = 0; i < step->num_in + out; i++) {
		npu_u32 other = i < step->num_in ? step->in[i] : step->out[i - step->num_in];

		if (other != NPU_JOBFILE_ABSENT && mine != NPU_JOBFILE_ABSENT &&
		    (overlap(c, mine, other, c->lower) || overlap(c, mine, other, c->upper)))
			return REFUSE(c,
				      "host step '%s': output %u, tensor '%s', overlaps tensor '%s'",
				      step->node, out, c->prog->tensors[mine].name,
				      c->prog->tensors[other].name);
	}
	return 0;
}

static int check_attrs(const struct check *c, const struct npu_jobfile_step *step)
{
	npu_u32 i;

	for (i = 0; i < step->num_attr; i++)
		if (step->attr[i].kind >= NPU_NUM_HOST_ATTRS || !*safe(step->attr[i].name))
			return REFUSE(c,
				      "host step '%s': attribute %u has no name or an unknown kind",
				      step->node, i);
	return 0;
}

/* A pair of arguments is compared with every other: a limit on what that takes. */
#define MAX_HOST_PAIRS	(1u << 20)

static int check_host(const struct check *c, const struct npu_jobfile_step *step)
{
	npu_u32 i;

	if (!*safe(step->op) || !step->domain || !step->node)
		return REFUSE(c, "a host step has no operator, domain or node");
	if (!step->num_out || step->num_out > NPU_JF_MAX_ARGS || step->num_in > NPU_JF_MAX_ARGS ||
	    step->num_attr > NPU_JF_MAX_ARGS ||
	    (npu_u64)step->num_out * (step->num_in + step->num_out) > MAX_HOST_PAIRS)
		return REFUSE(
			c,
			"host step '%s': %u inputs, %u outputs and %u attributes are too many, or no output",
			step->node, step->num_in, step->num_out, step->num_attr);
	for (i = 0; i < step->num_in; i++)
		if (check_arg(c, step, "input", i, step->in[i], NPU_ACCESS_READ))
			return -EINVAL;
	for (i = 0; i < step->num_out; i++)
		if (check_arg(c, step, "output", i, step->out[i], NPU_ACCESS_WRITE) ||
		    check_overlap(c, step, i))
			return -EINVAL;
	return check_attrs(c, step);
}

static int check_steps(const struct check *c, npu_u64 opcodes[4], npu_u64 *sram_size)
{
	struct npu_jobfile_step step;
	npu_u64 span = 0;
	npu_u32 i;
	int ret = 0;

	for (i = 0; npu_jobfile_step_at(c->prog, i, &step) && !ret; i++) {
		if (step.kind == NPU_STEP_HOST)
			ret = check_host(c, &step);
		else if (step.kind == NPU_STEP_STREAM)
			ret = check_stream(c, &step, sram_size);
		else
			ret = REFUSE(c, "step %u is of unknown kind %u", i, step.kind);
		if (!ret && step.kind == NPU_STEP_STREAM)
			note_opcodes(&step, opcodes);
		span += npu_jobfile_step_span(&step);
		if (!ret && span > UINT32_MAX)
			ret = REFUSE(c, "its streams have more than 4 GiB");
	}
	return ret;
}

int npu_jobfile_check(const struct npu_jobfile *job, npu_u64 opcodes[4], npu_u64 *sram_size,
		      struct npu_error *err)
{
	struct check c = { .job = job, .err = err };
	npu_u32 i, k;
	int ret;

	memset(opcodes, 0, 4 * sizeof(*opcodes));
	*sram_size = 0;
	if (!job->num_programs || job->num_programs > NPU_JF_MAX_PROGRAMS)
		return npu_error_set(err, -EINVAL, "%u programs, want 1 .. %u", job->num_programs,
				     NPU_JF_MAX_PROGRAMS);
	if (job->num_records > NPU_JF_MAX_RECORDS)
		return npu_error_set(err, -EINVAL, "%u records, the limit is %u", job->num_records,
				     NPU_JF_MAX_RECORDS);
	for (i = 0; i < job->num_records; i++)
		for (k = 0; k <= i; k++)
			if (k == i ? !*safe(job->records[i].key)
				   : !strcmp(job->records[i].key, job->records[k].key))
				return npu_error_set(err, -EINVAL,
						     "record %u: key '%s' is empty or there twice",
						     i, safe(job->records[i].key));
	for (i = 0; i < job->num_programs; i++) {
		c.prog = &job->programs[i];
		c.index = i;
		if (check_symbols(&c) || check_regions(&c) || check_tensors(&c) ||
		    check_debug(&c) || npu_jobfile_check_images(c.prog, i, err))
			return -EINVAL;
		ret = check_steps(&c, opcodes, sram_size);
		if (ret)
			return ret;
	}
	return 0;
}
