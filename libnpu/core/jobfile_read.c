// SPDX-License-Identifier: MIT
/*
 * Bytes to description. The file may be hostile: every offset, length, count and index is checked
 * before it is used, and what is kept is a private copy (but for the weights, which only the engine
 * reads, within the bounds of its regions).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "core/digest.h"
#include "core/error.h"
#include "core/jobfile_read.h"

#define BAD_SUM	"section %s: its check sum is wrong, the file is damaged"

static int too_new(struct reader *r, const char *what)
{
	unsigned int major, minor;

	npu_runtime_version(&major, &minor);
	return npu_error_set(r->err, -ENOTSUP, "%s; the file needs libnpu >= %u.%u, this is %s",
			     what, r->header.runtime_major, r->header.runtime_minor, NPU_VERSION);
}

static int check_versions(struct reader *r)
{
	const struct npu_jf_header *h = &r->header;
	unsigned int major, minor;
	char what[96];

	npu_runtime_version(&major, &minor);
	if (h->major != NPU_JOBFILE_MAJOR) {
		snprintf(what, sizeof(what), "job file format %u.%u, this libnpu reads %u.x",
			 h->major, h->minor, NPU_JOBFILE_MAJOR);
		return too_new(r, what);
	}
	if (h->runtime_major > major || (h->runtime_major == major && h->runtime_minor > minor))
		return too_new(r, "made for a newer libnpu");
	if (h->isa_major != NPU_ISA_MAJOR || h->isa_minor > NPU_ISA_MINOR) {
		snprintf(what, sizeof(what), "instruction set %u.%u, this libnpu has %u.%u",
			 h->isa_major, h->isa_minor, NPU_ISA_MAJOR, NPU_ISA_MINOR);
		return too_new(r, what);
	}
	if (h->features & ~NPU_JF_FEATURES) {
		snprintf(what, sizeof(what), "feature bits 0x%x are not known",
			 h->features & ~NPU_JF_FEATURES);
		return too_new(r, what);
	}
	return 0;
}

static int check_header(struct reader *r)
{
	struct npu_jf_header *h = &r->header;
	npu_u8 copy[512];
	npu_u32 zero = 0;
	int ret;

	if (r->size < 8 || memcmp(r->data, NPU_JF_MAGIC, 8))
		return BAD(r,
			   r->size < 8
				   ? "not a job file: %llu bytes, a header has more"
				   : "not a job file: the first 8 of %llu bytes are not the magic",
			   ULL(r->size));
	if (r->size < sizeof(*h))
		return BAD(r, "truncated: %llu bytes, the header has %zu", ULL(r->size),
			   sizeof(*h));
	memcpy(h, r->data, sizeof(*h));
	/*
	 * The place of the versions never changes, so that a newer file can be told from a damaged
	 * one.
	 */
	if (h->major > NPU_JOBFILE_MAJOR)
		return check_versions(r);
	if (h->header_size < sizeof(*h) || h->header_size > sizeof(copy) ||
	    h->header_size > r->size)
		return BAD(r, "header: its size is given as %u bytes, want %zu .. %zu",
			   h->header_size, sizeof(*h), sizeof(copy));
	memcpy(copy, r->data, h->header_size);
	memcpy(copy + offsetof(struct npu_jf_header, header_crc), &zero, 4);
	if (crc32_z(0, copy, h->header_size) != h->header_crc)
		return BAD(r, "header: its check sum is wrong, the file is damaged");
	ret = check_versions(r);
	if (ret)
		return ret;
	if (h->file_size != r->size)
		return BAD(r, "%s: %llu bytes, the header says %llu",
			   h->file_size > r->size ? "truncated" : "too long", ULL(r->size),
			   ULL(h->file_size));
	if (memchr(h->compiler, 0, sizeof(h->compiler)) == NULL)
		return REFUSE(r, "header: the compiler's name is not terminated");
	return 0;
}

static int check_table(struct reader *r, const struct npu_jf_section *s, const char *name)
{
	npu_u64 bytes;

	if (!npu_jf_record_size[s->type]) {
		if (s->count || s->record_size)
			return REFUSE(r, "section %s: has %u records, it is no table", name,
				      s->count);
		return 0;
	}
	if (s->record_size < npu_jf_record_size[s->type] || s->record_size % 8)
		return REFUSE(r,
			      "section %s: records of %u bytes, want %u or more, a multiple of 8",
			      name, s->record_size, npu_jf_record_size[s->type]);
	if (__builtin_mul_overflow((npu_u64)s->count, (npu_u64)s->record_size, &bytes) ||
	    bytes != s->size)
		return REFUSE(r, "section %s: %u records of %u bytes do not make its %llu bytes",
			      name, s->count, s->record_size, ULL(s->size));
	return 0;
}

static int take_section(struct reader *r, const struct npu_jf_section *s, npu_u64 *end)
{
	char buf[32];
	const char *name = npu_jf_section_name(s->type, buf);
	npu_u64 stop;

	if (s->offset < *end || __builtin_add_overflow(s->offset, s->size, &stop) || stop > r->size)
		return REFUSE(
			r,
			"section %s: bytes %llu + %llu overlap the one before or leave the file (%llu bytes)",
			name, ULL(s->offset), ULL(s->size), ULL(r->size));
	*end = stop;
	if (!s->align || s->align & (s->align - 1) || s->offset % s->align || s->offset % 8)
		return REFUSE(r, "section %s: offset %llu does not fit its alignment %u", name,
			      ULL(s->offset), s->align);
	if (s->type == NPU_JF_WEIGHTS && s->offset % NPU_JOBFILE_PAGE)
		return REFUSE(r, "section %s: offset %llu is not a multiple of %u", name,
			      ULL(s->offset), NPU_JOBFILE_PAGE);
	if (s->type == 0 || s->type >= NPU_JF_NUM_SECTIONS) {
		if (!(s->flags & NPU_JF_REQUIRED))
			return 0;	/* an addition that this version can do without */
		return npu_error_set(
			r->err, -ENOTSUP,
			"%s is required and not known; the file needs a newer libnpu than %s", name,
			NPU_VERSION);
	}
	if (r->seen[s->type])
		return REFUSE(r, "section %s is there twice", name);
	r->seen[s->type] = true;
	if (check_table(r, s, name))
		return -EINVAL;
	if (!(s->type == NPU_JF_WEIGHTS && r->flags & NPU_JOBFILE_SKIP_WEIGHTS_CRC) &&
	    crc32_z(0, r->data + s->offset, s->size) != s->crc)
		return BAD(r, BAD_SUM, name);
	r->table[s->type] =
		(struct table){ r->data + s->offset, s->size, s->count, s->record_size };
	if (s->type == NPU_JF_WEIGHTS && s->size) {
		r->out->job.weights = r->data + s->offset;
		r->out->job.weights_size = s->size;
		r->out->job.weights_offset = s->offset;
		r->out->job.weights_crc = s->crc;
	}
	return 0;
}

static int read_sections(struct reader *r)
{
	const struct npu_jf_header *h = &r->header;
	npu_u64 bytes, end;
	npu_u32 i;
	int ret;

	if (h->num_sections > NPU_JF_MAX_SECTIONS ||
	    h->section_size < sizeof(struct npu_jf_section) || h->section_size > 4096)
		return REFUSE(
			r, "section table: %u entries of %u bytes, want at most %u of %zu .. 4096",
			h->num_sections, h->section_size, NPU_JF_MAX_SECTIONS,
			sizeof(struct npu_jf_section));
	bytes = (npu_u64)h->num_sections * h->section_size;
	if (h->section_offset < h->header_size || h->section_offset > r->size ||
	    bytes > r->size - h->section_offset)
		return REFUSE(r, "section table: bytes %llu + %llu leave the file (%llu bytes)",
			      ULL(h->section_offset), ULL(bytes), ULL(r->size));
	if (crc32_z(0, r->data + h->section_offset, bytes) != h->section_crc)
		return BAD(r, "section table: its check sum is wrong, the file is damaged");
	end = h->section_offset + bytes;
	for (i = 0; i < h->num_sections; i++) {
		struct npu_jf_section s;

		memcpy(&s, r->data + h->section_offset + (npu_u64)i * h->section_size, sizeof(s));
		ret = take_section(r, &s, &end);
		if (ret)
			return ret;
	}
	return 0;
}

static int check_present(struct reader *r)
{
	static const npu_u8 needed[] = { NPU_JF_STRINGS,  NPU_JF_WEIGHTS, NPU_JF_SYMBOLS,
					 NPU_JF_REGIONS,  NPU_JF_TENSORS, NPU_JF_PROGRAMS,
					 NPU_JF_SCHEDULE, NPU_JF_STREAMS };
	const struct table *s = &r->table[NPU_JF_STRINGS];
	char buf[32];
	size_t i;

	for (i = 0; i < sizeof(needed); i++)
		if (!r->seen[needed[i]])
			return REFUSE(r, "section %s is missing",
				      npu_jf_section_name(needed[i], buf));
	if (!s->size || s->size > UINT32_MAX || s->data[0] || s->data[s->size - 1])
		return REFUSE(r, "section STRINGS: it must begin and end with a zero byte");
	return 0;
}

void *npu_jf_array(struct reader *r, npu_u32 count, size_t size)
{
	void *p = calloc((size_t)count + 1, size);

	if (!p)
		npu_error_set(r->err, -ENOMEM, "no memory for the tables of the job file");
	r->out->job.table_bytes += (count + 1ull) * size;
	return p;
}

const void *npu_jf_record_at(const struct reader *r, int type, npu_u32 i)
{
	return r->table[type].data + (npu_u64)i * r->table[type].stride;
}

int npu_jf_string(struct reader *r, npu_u32 offset, int type, npu_u32 i, const char **s)
{
	char buf[32];

	if (offset >= r->table[NPU_JF_STRINGS].size)
		return REFUSE(r,
			      "section %s, record %u: string at byte %u, section STRINGS has %llu",
			      npu_jf_section_name(type, buf), i, offset,
			      ULL(r->table[NPU_JF_STRINGS].size));
	*s = r->out->strings + offset;
	return 0;
}

static struct npu_jobfile_expr get_expr(const struct npu_jf_expr *e)
{
	struct npu_jobfile_expr out = { .base = e->base };
	int i;

	for (i = 0; i < NPU_JOBFILE_TERMS; i++) {
		out.factor[i] = e->factor[i];
		out.sym[i] = e->sym[i];
	}
	return out;
}

static int read_symbols(struct reader *r)
{
	npu_u32 n = r->table[NPU_JF_SYMBOLS].count, i;

	r->out->symbols = npu_jf_array(r, n, sizeof(*r->out->symbols));
	if (!r->out->symbols)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		const struct npu_jf_symbol *in = npu_jf_record_at(r, NPU_JF_SYMBOLS, i);
		struct npu_jobfile_symbol *s = &r->out->symbols[i];

		*s = (struct npu_jobfile_symbol){
			.kind = in->kind,
			.min = in->min,
			.max = in->max,
			.step = in->step,
			.a = in->a,
			.b = in->b,
		};
		if (npu_jf_string(r, in->name, NPU_JF_SYMBOLS, i, &s->name))
			return -EINVAL;
	}
	return 0;
}

static int read_regions(struct reader *r)
{
	npu_u32 n = r->table[NPU_JF_REGIONS].count, i;

	r->out->regions = npu_jf_array(r, n, sizeof(*r->out->regions));
	if (!r->out->regions)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		const struct npu_jf_region *in = npu_jf_record_at(r, NPU_JF_REGIONS, i);
		struct npu_jobfile_region *g = &r->out->regions[i];

		*g = (struct npu_jobfile_region){
			.role = in->role,
			.access = in->access,
			.offset = in->offset,
			.size = get_expr(&in->size),
			.align = in->align,
		};
		if (npu_jf_string(r, in->name, NPU_JF_REGIONS, i, &g->name))
			return -EINVAL;
	}
	return 0;
}

static int read_tensors(struct reader *r)
{
	npu_u32 n = r->table[NPU_JF_TENSORS].count, i, d;

	r->out->tensors = npu_jf_array(r, n, sizeof(*r->out->tensors));
	if (!r->out->tensors)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		const struct npu_jf_tensor *in = npu_jf_record_at(r, NPU_JF_TENSORS, i);
		struct npu_jobfile_tensor *t = &r->out->tensors[i];

		*t = (struct npu_jobfile_tensor){
			.role = in->role,
			.dtype = in->dtype,
			.rank = in->rank,
			.region = in->region,
			.flags = in->flags,
			.scale = in->scale,
			.zero_point = in->zero_point,
			.offset = get_expr(&in->offset),
		};
		for (d = 0; d < NPU_TENSOR_MAX_RANK; d++) {
			t->dim[d] = get_expr(&in->dim[d]);
			t->stride[d] = get_expr(&in->stride[d]);
		}
		if (npu_jf_string(r, in->name, NPU_JF_TENSORS, i, &t->name) ||
		    npu_jf_string(r, in->node, NPU_JF_TENSORS, i, &t->node))
			return -EINVAL;
	}
	return 0;
}

static int read_debug(struct reader *r)
{
	npu_u32 n = r->table[NPU_JF_DEBUGMAP].count, i;

	r->out->debug = npu_jf_array(r, n, sizeof(*r->out->debug));
	if (!r->out->debug)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		const struct npu_jf_debug *in = npu_jf_record_at(r, NPU_JF_DEBUGMAP, i);
		struct npu_jobfile_debug *d = &r->out->debug[i];

		*d = (struct npu_jobfile_debug){
			.tag = in->tag,
			.slot = in->slot,
			.scale = in->scale,
			.macs = in->macs,
			.bytes = in->bytes,
		};
		if (npu_jf_string(r, in->node, NPU_JF_DEBUGMAP, i, &d->node) ||
		    npu_jf_string(r, in->op, NPU_JF_DEBUGMAP, i, &d->op) ||
		    npu_jf_string(r, in->tensor, NPU_JF_DEBUGMAP, i, &d->tensor))
			return -EINVAL;
	}
	return 0;
}

static int read_records(struct reader *r)
{
	npu_u32 n = r->table[NPU_JF_RECORD].count, i;

	r->out->records = npu_jf_array(r, n, sizeof(*r->out->records));
	if (!r->out->records)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		const struct npu_jf_record *in = npu_jf_record_at(r, NPU_JF_RECORD, i);

		if (npu_jf_string(r, in->key, NPU_JF_RECORD, i, &r->out->records[i].key) ||
		    npu_jf_string(r, in->value, NPU_JF_RECORD, i, &r->out->records[i].value))
			return -EINVAL;
	}
	return 0;
}

/*
 * Programs share no records: together they take no more than there are, so that the work of
 * checking a file is in proportion to its size.
 */
int npu_jf_take_range(struct reader *r, npu_u32 i, int type, npu_u32 first, npu_u32 num)
{
	npu_u32 count = r->table[type].count;
	char buf[32];

	if (first > count || num > count - first)
		return REFUSE(r, "program %u: records %u + %u of section %s, which has %u", i,
			      first, num, npu_jf_section_name(type, buf), count);
	r->owned[type] += num;
	if (r->owned[type] > count)
		return REFUSE(r, "program %u: its records of section %s are another program's, too",
			      i, npu_jf_section_name(type, buf));
	return 0;
}

static int read_stream(struct reader *r, npu_u32 i, const struct npu_jf_step *in,
		       struct npu_jobfile_step *step)
{
	const struct table *streams = &r->table[NPU_JF_STREAMS];

	if (in->offset % 8 || in->offset > streams->size || in->size > streams->size - in->offset)
		return REFUSE(
			r,
			"program %u: its stream, bytes %llu + %u, leaves section STREAMS (%llu bytes)",
			i, ULL(in->offset), in->size, ULL(streams->size));
	r->owned[NPU_JF_STREAMS] += in->size;
	if (r->owned[NPU_JF_STREAMS] > streams->size)
		return REFUSE(r, "program %u: its stream is another program's, too", i);
	step->stream = r->out->streams + in->offset;
	step->stream_size = in->size;
	return 0;
}

static int read_step(struct reader *r, npu_u32 i, npu_u32 record, struct npu_jobfile_step *step)
{
	const struct npu_jf_step *in = npu_jf_record_at(r, NPU_JF_SCHEDULE, record);

	*step = (struct npu_jobfile_step){ .kind = in->kind };
	if (in->kind == NPU_STEP_STREAM)
		return read_stream(r, i, in, step);
	if (in->kind == NPU_STEP_HOST)
		return npu_jf_read_host_step(r, i, in->offset, step);
	return npu_error_set(
		r->err, -ENOTSUP,
		"program %u: its schedule has a step of kind %u (1, a stream, and 2, a host operator, are known); the file needs a newer libnpu than %s",
		i, in->kind, NPU_VERSION);
}

/* A program that is one stream has it as such; the others have a list. */
static int read_schedule(struct reader *r, npu_u32 i, const struct npu_jf_program *in,
			 struct npu_jobfile_program *p)
{
	struct npu_jobfile_step *steps = r->out->steps + in->first_step;
	npu_u32 k;
	int ret;

	if (!in->num_steps)
		return REFUSE(r, "program %u: its schedule has no step", i);
	ret = npu_jf_take_range(r, i, NPU_JF_SCHEDULE, in->first_step, in->num_steps);
	for (k = 0; k < in->num_steps && !ret; k++)
		ret = read_step(r, i, in->first_step + k, &steps[k]);
	if (ret)
		return ret;
	if (in->num_steps == 1 && steps->kind == NPU_STEP_STREAM) {
		p->stream = steps->stream;
		p->stream_size = steps->stream_size;
	} else {
		p->steps = steps;
		p->num_steps = in->num_steps;
	}
	return 0;
}

static int read_programs(struct reader *r)
{
	npu_u32 n = r->table[NPU_JF_PROGRAMS].count, i;
	int ret;

	if (!n || n > NPU_JF_MAX_PROGRAMS)
		return REFUSE(r, "section PROGRAMS: %u programs, want 1 .. %u", n,
			      NPU_JF_MAX_PROGRAMS);
	r->out->programs = npu_jf_array(r, n, sizeof(*r->out->programs));
	r->out->steps = npu_jf_array(r, r->table[NPU_JF_SCHEDULE].count, sizeof(*r->out->steps));
	if (!r->out->programs || !r->out->steps)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		const struct npu_jf_program *in = npu_jf_record_at(r, NPU_JF_PROGRAMS, i);
		struct npu_jobfile_program *p = &r->out->programs[i];

		if (npu_jf_string(r, in->name, NPU_JF_PROGRAMS, i, &p->name) ||
		    npu_jf_take_range(r, i, NPU_JF_SYMBOLS, in->first_symbol, in->num_symbols) ||
		    npu_jf_take_range(r, i, NPU_JF_REGIONS, in->first_region, in->num_regions) ||
		    npu_jf_take_range(r, i, NPU_JF_TENSORS, in->first_tensor, in->num_tensors) ||
		    npu_jf_take_range(r, i, NPU_JF_DEBUGMAP, in->first_debug, in->num_debug))
			return -EINVAL;
		p->symbols = r->out->symbols + in->first_symbol;
		p->regions = r->out->regions + in->first_region;
		p->tensors = r->out->tensors + in->first_tensor;
		p->debug = r->out->debug + in->first_debug;
		p->num_symbols = in->num_symbols;
		p->num_regions = in->num_regions;
		p->num_tensors = in->num_tensors;
		p->num_debug = in->num_debug;
		ret = read_schedule(r, i, in, p);
		if (ret)
			return ret;
	}
	return 0;
}

static int copy_section(struct reader *r, int type, void *copy)
{
	const struct table *t = &r->table[type];
	npu_u8 *p = malloc(t->size + 1);

	if (!p)
		return npu_error_set(r->err, -ENOMEM, "no memory for %llu bytes of the job file",
				     ULL(t->size));
	if (t->size)
		memcpy(p, t->data, t->size);
	p[t->size] = 0;
	memcpy(copy, &p, sizeof(p));
	r->out->job.table_bytes += t->size + 1;
	return 0;
}

static int read_tables(struct reader *r)
{
	struct parsed *p = r->out;
	int ret;

	ret = copy_section(r, NPU_JF_STRINGS, &p->strings);
	if (!ret)
		ret = copy_section(r, NPU_JF_STREAMS, &p->streams);
	if (!ret)
		ret = copy_section(r, NPU_JF_REPORT, &p->report);
	if (!ret && r->seen[NPU_JF_METADATA])
		ret = copy_section(r, NPU_JF_METADATA, &p->metadata);
	if (!ret)
		ret = read_symbols(r);
	if (!ret)
		ret = read_regions(r);
	if (!ret)
		ret = read_tensors(r);
	if (!ret)
		ret = read_debug(r);
	if (!ret)
		ret = read_records(r);
	if (!ret)
		ret = npu_jf_read_host(r);
	if (!ret)
		ret = read_programs(r);
	if (!ret)
		ret = npu_jf_read_images(r);
	return ret;
}

/* What the header promises, against what the file has. */
static int check_promises(struct reader *r)
{
	npu_u64 opcodes[4], sram_size;
	int i, ret;

	ret = npu_jobfile_check(&r->out->job, opcodes, &sram_size, r->err);
	if (ret)
		return ret;
	for (i = 0; i < 4; i++)
		if (opcodes[i] & ~r->header.opcodes[i])
			return REFUSE(r, "header: opcode 0x%x is used but not in its bitmap",
				      64 * i + __builtin_ctzll(opcodes[i] & ~r->header.opcodes[i]));
	if (npu_jobfile_isa_minor(&r->out->job) > r->header.isa_minor)
		return REFUSE(r, "header: instruction set %u.%u, a program needs %u.%u",
			      NPU_ISA_MAJOR, r->header.isa_minor, NPU_ISA_MAJOR,
			      npu_jobfile_isa_minor(&r->out->job));
	if (npu_jobfile_features(&r->out->job) & ~r->header.features)
		return REFUSE(r, "header: features 0x%x, the programs use 0x%x", r->header.features,
			      npu_jobfile_features(&r->out->job));
	if (sram_size > r->header.sram_size)
		return REFUSE(r, "header: sram_size is %llu, a program needs %llu",
			      ULL(r->header.sram_size), ULL(sram_size));
	return 0;
}

static void fill_job(struct reader *r)
{
	const struct npu_jf_header *h = &r->header;
	struct npu_jobfile *job = &r->out->job;

	memcpy(r->out->compiler, h->compiler, sizeof(h->compiler));
	job->compiler = r->out->compiler;
	job->programs = r->out->programs;
	job->num_programs = r->table[NPU_JF_PROGRAMS].count;
	job->report = r->seen[NPU_JF_REPORT] ? r->out->report : NULL;
	job->metadata = r->out->metadata;
	job->metadata_size = r->table[NPU_JF_METADATA].size;
	job->records = r->out->records;
	job->num_records = r->table[NPU_JF_RECORD].count;
	job->major = h->major;
	job->minor = h->minor;
	job->isa_major = h->isa_major;
	job->isa_minor = h->isa_minor;
	job->runtime_major = h->runtime_major;
	job->runtime_minor = h->runtime_minor;
	memcpy(job->opcodes, h->opcodes, sizeof(job->opcodes));
	job->sram_size = h->sram_size;
	job->file_size = h->file_size;
	memcpy(job->digest, h->digest, sizeof(job->digest));
}

int npu_jobfile_parse(const void *data, size_t size, unsigned int flags, struct npu_jobfile **job,
		      struct npu_error *err)
{
	struct reader r = { .data = data, .size = size, .flags = flags, .err = err };
	int ret;

	if ((uintptr_t)data % 8)
		return npu_error_set(err, -EINVAL,
				     "a job file in memory must be aligned to 8 bytes");
	r.out = calloc(1, sizeof(*r.out));
	if (!r.out)
		return npu_error_set(err, -ENOMEM, "no memory for a job file");
	ret = check_header(&r);
	if (!ret)
		ret = read_sections(&r);
	if (!ret)
		ret = check_present(&r);
	if (!ret)
		ret = read_tables(&r);
	if (!ret) {
		fill_job(&r);
		ret = check_promises(&r);
	}
	if (ret) {
		npu_jobfile_free(&r.out->job);
		return ret;
	}
	*job = &r.out->job;
	return 0;
}

int npu_jobfile_check_weights(const struct npu_jobfile *job, struct npu_error *err)
{
	char buf[32];

	if (!job->weights_size || crc32_z(0, job->weights, job->weights_size) == job->weights_crc)
		return 0;
	return npu_error_set(err, -EBADMSG, BAD_SUM, npu_jf_section_name(NPU_JF_WEIGHTS, buf));
}

void npu_jobfile_free(struct npu_jobfile *job)
{
	struct parsed *p = (struct parsed *)job;

	if (!p)
		return;
	free(p->strings);
	free(p->report);
	free(p->metadata);
	free(p->streams);
	free(p->programs);
	free(p->symbols);
	free(p->regions);
	free(p->tensors);
	free(p->debug);
	free(p->records);
	free(p->images);
	free(p->steps);
	free(p->attrs);
	free(p->args);
	free(p->host_data);
	free(p->host_strings);
	free(p);
}

int npu_jobfile_check_digest(const void *data, size_t size, struct npu_error *err)
{
	struct npu_jf_header header;
	struct npu_sha256 sha;
	npu_u8 digest[32], want[32];

	if (size < sizeof(header))
		return npu_error_set(err, -EBADMSG, "truncated: %zu bytes, the header has %zu",
				     size, sizeof(header));
	memcpy(&header, data, sizeof(header));
	memcpy(want, header.digest, sizeof(want));
	memset(header.digest, 0, sizeof(header.digest));
	header.header_crc = 0;
	npu_sha256_init(&sha);
	npu_sha256_update(&sha, &header, sizeof(header));
	npu_sha256_update(&sha, (const char *)data + sizeof(header), size - sizeof(header));
	npu_sha256_final(&sha, digest);
	if (memcmp(digest, want, sizeof(digest)))
		return npu_error_set(err, -EBADMSG,
				     "the digest of the file is not the one in its header");
	return 0;
}
