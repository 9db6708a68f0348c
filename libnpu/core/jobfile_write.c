// SPDX-License-Identifier: MIT
/*
 * Description to bytes. The same description gives the same bytes: nothing here looks at the clock
 * or the host.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include "core/digest.h"
#include "core/error.h"
#include "core/jobfile_format.h"

/* A growing table or blob; @failed sticks, so that only the end has to look. */
struct blob {
	npu_u8 *data;
	size_t size, room;
	bool failed;
};

struct string_slot {
	npu_u32 hash, offset;
};

struct writer {
	const struct npu_jobfile *job;
	struct blob section[NPU_JF_NUM_SECTIONS];
	npu_u32 count[NPU_JF_NUM_SECTIONS];
	struct string_slot *slots; /* strings written so far; a power of two, at most half full */
	size_t num_slots, used_slots;
	bool failed;
};

static void blob_add(struct blob *b, const void *data, size_t size)
{
	size_t need, room;
	void *p;

	if (b->failed || !size)
		return;
	if (__builtin_add_overflow(b->size, size, &need) || need > UINT32_MAX) {
		b->failed = true;
		return;
	}
	if (need > b->room) {
		room = need * 2 > 256 ? need * 2 : 256;
		p = realloc(b->data, room);
		if (!p) {
			b->failed = true;
			return;
		}
		b->data = p;
		b->room = room;
	}
	memcpy(b->data + b->size, data, size);
	b->size = need;
}

static void blob_align(struct blob *b, size_t align)
{
	static const npu_u8 zero[64];

	blob_add(b, zero, (align - b->size % align) % align);
}

static void grow_slots(struct writer *w)
{
	size_t n = w->num_slots ? w->num_slots * 2 : 256, i, k;
	struct string_slot *slots = calloc(n, sizeof(*slots));

	if (!slots) {
		w->failed = true;
		return;
	}
	for (i = 0; i < w->num_slots; i++) {
		if (!w->slots[i].offset)
			continue;
		for (k = w->slots[i].hash & (n - 1); slots[k].offset; k = (k + 1) & (n - 1))
			;
		slots[k] = w->slots[i];
	}
	free(w->slots);
	w->slots = slots;
	w->num_slots = n;
}

static npu_u32 add_string(struct writer *w, const char *s)
{
	struct blob *b = &w->section[NPU_JF_STRINGS];
	npu_u32 hash = 2166136261u;
	const char *p;
	size_t k;

	if (!s || !*s)
		return 0;
	if (w->used_slots * 2 >= w->num_slots)
		grow_slots(w);
	if (w->failed || b->failed)
		return 0;
	for (p = s; *p; p++)
		hash = (hash ^ (npu_u8)*p) * 16777619u;
	for (k = hash & (w->num_slots - 1); w->slots[k].offset; k = (k + 1) & (w->num_slots - 1))
		if (w->slots[k].hash == hash && !strcmp((char *)b->data + w->slots[k].offset, s))
			return w->slots[k].offset;
	w->slots[k] = (struct string_slot){ hash, b->size };
	w->used_slots++;
	blob_add(b, s, strlen(s) + 1);
	return w->slots[k].offset;
}

static void add_record(struct writer *w, int type, const void *record, size_t size)
{
	blob_add(&w->section[type], record, size);
	w->count[type]++;
}

static struct npu_jf_expr expr_bytes(const struct npu_jobfile_expr *e)
{
	struct npu_jf_expr out = { .base = e->base };
	int i;

	for (i = 0; i < NPU_JOBFILE_TERMS; i++) {
		if (!e->factor[i])
			continue;
		out.factor[i] = e->factor[i];
		out.sym[i] = e->sym[i];
	}
	return out;
}

static void add_symbols(struct writer *w, const struct npu_jobfile_program *p)
{
	npu_u32 lower[NPU_MAX_SCALARS], upper[NPU_MAX_SCALARS], i;

	npu_jobfile_bounds(p, false, lower);
	npu_jobfile_bounds(p, true, upper);
	for (i = 0; i < p->num_symbols; i++) {
		const struct npu_jobfile_symbol *s = &p->symbols[i];
		struct npu_jf_symbol out = { .name = add_string(w, s->name),
					     .kind = s->kind,
					     .min = s->min,
					     .max = s->max,
					     .step = s->step };

		if (s->kind == NPU_SYMBOL_PRODUCT) {
			out.a = s->a;
			out.b = s->b;
			out.min = lower[i];
			out.max = upper[i];
			out.step = 1;
		}
		add_record(w, NPU_JF_SYMBOLS, &out, sizeof(out));
	}
}

static void add_regions(struct writer *w, const struct npu_jobfile_program *p)
{
	npu_u32 i;

	for (i = 0; i < p->num_regions; i++) {
		const struct npu_jobfile_region *r = &p->regions[i];
		struct npu_jf_region out = { .name = add_string(w, r->name),
					     .role = r->role,
					     .access = r->access,
					     .align = r->align,
					     .offset = r->offset,
					     .size = expr_bytes(&r->size) };

		add_record(w, NPU_JF_REGIONS, &out, sizeof(out));
	}
}

static void add_tensors(struct writer *w, const struct npu_jobfile_program *p)
{
	npu_u32 i, d;

	for (i = 0; i < p->num_tensors; i++) {
		const struct npu_jobfile_tensor *t = &p->tensors[i];
		struct npu_jf_tensor out = {
			.name = add_string(w, t->name),
			.node = add_string(w, t->node),
			.role = t->role,
			.dtype = t->dtype,
			.rank = t->rank,
			.region = t->region,
			.flags = t->flags,
			.scale = t->scale,
			.zero_point = t->zero_point,
			.offset = expr_bytes(&t->offset),
		};

		for (d = 0; d < t->rank; d++) {
			out.dim[d] = expr_bytes(&t->dim[d]);
			if (!(t->flags & NPU_JOBFILE_DENSE))
				out.stride[d] = expr_bytes(&t->stride[d]);
		}
		add_record(w, NPU_JF_TENSORS, &out, sizeof(out));
	}
}

static void add_debug(struct writer *w, const struct npu_jobfile_program *p)
{
	npu_u32 i;

	for (i = 0; i < p->num_debug; i++) {
		const struct npu_jobfile_debug *d = &p->debug[i];
		struct npu_jf_debug out = { .tag = d->tag,
					    .slot = d->slot,
					    .node = add_string(w, d->node),
					    .op = add_string(w, d->op),
					    .tensor = add_string(w, d->tensor),
					    .scale = d->scale,
					    .macs = d->macs,
					    .bytes = d->bytes };

		add_record(w, NPU_JF_DEBUGMAP, &out, sizeof(out));
	}
}

static void add_images(struct writer *w, npu_u32 program)
{
	const struct npu_jobfile_program *p = &w->job->programs[program];
	npu_u32 i, k;

	for (i = 0; i < p->num_images; i++) {
		const struct npu_jobfile_image *img = &p->images[i];
		struct npu_jf_image out = { .program = program,
					    .name = add_string(w, img->name),
					    .spec = add_string(w, img->spec),
					    .fourcc = img->fourcc,
					    .width = img->width,
					    .height = img->height,
					    .num_planes = img->num_planes };

		for (k = 0; k < img->num_planes; k++)
			out.plane[k] = img->plane[k];
		add_record(w, NPU_JF_IMAGES, &out, sizeof(out));
	}
}

static bool has_images(const struct npu_jobfile *job)
{
	npu_u32 i;

	for (i = 0; i < job->num_programs; i++)
		if (job->programs[i].num_images)
			return true;
	return false;
}

static bool has_host_steps(const struct npu_jobfile *job)
{
	npu_u32 i;

	for (i = 0; i < job->num_programs; i++)
		if (job->programs[i].num_steps)
			return true;
	return false;
}

static npu_u64 add_host_data(struct writer *w, const void *data, size_t size)
{
	struct blob *b = &w->section[NPU_JF_HOSTDATA];
	npu_u64 at;

	blob_align(b, 8);
	at = b->size;
	blob_add(b, data, size);
	return at;
}

static npu_u64 attr_value(struct writer *w, const struct npu_host_attr *a)
{
	npu_u64 value = 0;
	npu_u32 i, s;

	switch (a->kind) {
	case NPU_HOST_INT:
		return (npu_u64)a->i;
	case NPU_HOST_FLOAT:
		memcpy(&value, &a->f, sizeof(value));
		return value;
	case NPU_HOST_STRING:
		return add_string(w, a->s);
	case NPU_HOST_INTS:
		return add_host_data(w, a->ints, a->count * sizeof(*a->ints));
	case NPU_HOST_FLOATS:
		return add_host_data(w, a->floats, a->count * sizeof(*a->floats));
	default:
		value = add_host_data(w, NULL, 0);
		for (i = 0; i < a->count; i++) {
			s = add_string(w, a->strings[i]);
			blob_add(&w->section[NPU_JF_HOSTDATA], &s, sizeof(s));
		}
		return value;
	}
}

static void add_args(struct writer *w, const npu_u32 *tensor, npu_u32 count)
{
	npu_u32 i;

	for (i = 0; i < count; i++) {
		struct npu_jf_arg out = { .tensor = tensor[i] };

		add_record(w, NPU_JF_HOSTARGS, &out, sizeof(out));
	}
}

static void add_host_step(struct writer *w, const struct npu_jobfile_step *s)
{
	struct npu_jf_step step = { .kind = NPU_STEP_HOST, .offset = w->count[NPU_JF_HOSTSTEPS] };
	struct npu_jf_host out = {
		.domain = add_string(w, s->domain), .op = add_string(w, s->op),
		.node = add_string(w, s->node), .opset = s->opset, .tag = s->tag,
		.first_arg = w->count[NPU_JF_HOSTARGS], .num_in = s->num_in, .num_out = s->num_out,
		.first_attr = w->count[NPU_JF_HOSTATTRS], .num_attr = s->num_attr,
	};
	npu_u32 i;

	add_args(w, s->in, s->num_in);
	add_args(w, s->out, s->num_out);
	for (i = 0; i < s->num_attr; i++) {
		const struct npu_host_attr *a = &s->attr[i];
		struct npu_jf_attr attr = { .name = add_string(w, a->name), .kind = a->kind,
					    .count = a->count, .value = attr_value(w, a) };

		add_record(w, NPU_JF_HOSTATTRS, &attr, sizeof(attr));
	}
	add_record(w, NPU_JF_HOSTSTEPS, &out, sizeof(out));
	add_record(w, NPU_JF_SCHEDULE, &step, sizeof(step));
}

static void add_stream(struct writer *w, const struct npu_jobfile_step *s)
{
	struct npu_jf_step step = { .kind = NPU_STEP_STREAM, .size = s->stream_size };

	blob_align(&w->section[NPU_JF_STREAMS], 64);
	step.offset = w->section[NPU_JF_STREAMS].size;
	blob_add(&w->section[NPU_JF_STREAMS], s->stream, s->stream_size);
	add_record(w, NPU_JF_SCHEDULE, &step, sizeof(step));
}

static void add_program(struct writer *w, const struct npu_jobfile_program *p)
{
	struct npu_jobfile_step step;
	npu_u32 i;
	struct npu_jf_program out = {
		.name = add_string(w, p->name),
		.first_symbol = w->count[NPU_JF_SYMBOLS], .num_symbols = p->num_symbols,
		.first_region = w->count[NPU_JF_REGIONS], .num_regions = p->num_regions,
		.first_tensor = w->count[NPU_JF_TENSORS], .num_tensors = p->num_tensors,
		.first_debug = w->count[NPU_JF_DEBUGMAP], .num_debug = p->num_debug,
		.first_step = w->count[NPU_JF_SCHEDULE],
		.num_steps = p->num_steps ? p->num_steps : 1,
	};

	add_symbols(w, p);
	add_regions(w, p);
	add_tensors(w, p);
	add_debug(w, p);
	for (i = 0; npu_jobfile_step_at(p, i, &step); i++) {
		if (step.kind == NPU_STEP_HOST)
			add_host_step(w, &step);
		else
			add_stream(w, &step);
	}
	add_record(w, NPU_JF_PROGRAMS, &out, sizeof(out));
}

static void add_all(struct writer *w)
{
	const struct npu_jobfile *job = w->job;
	npu_u32 i;

	blob_add(&w->section[NPU_JF_STRINGS], "", 1);
	for (i = 0; i < job->num_programs; i++) {
		add_program(w, &job->programs[i]);
		add_images(w, i);
	}
	for (i = 0; i < job->num_records; i++) {
		struct npu_jf_record out = { add_string(w, job->records[i].key),
					     add_string(w, job->records[i].value) };

		add_record(w, NPU_JF_RECORD, &out, sizeof(out));
	}
	if (job->report)
		blob_add(&w->section[NPU_JF_REPORT], job->report, strlen(job->report));
	for (i = 0; i < NPU_JF_NUM_SECTIONS; i++)
		w->failed |= w->section[i].failed;
}

/*
 * Sections in the order of the file: the weights last, so that what is parsed lies together. The
 * first four are for host steps, and a file without has none of them; one without metadata or
 * images has no section for these either: it is one of format 1.0.
 */
static const npu_u8 file_order[] = {
	NPU_JF_HOSTSTEPS, NPU_JF_HOSTARGS, NPU_JF_HOSTATTRS, NPU_JF_HOSTDATA,
	NPU_JF_STRINGS,	 NPU_JF_SYMBOLS,  NPU_JF_REGIONS, NPU_JF_TENSORS,
	NPU_JF_PROGRAMS, NPU_JF_SCHEDULE, NPU_JF_STREAMS, NPU_JF_DEBUGMAP,
	NPU_JF_REPORT,	 NPU_JF_RECORD,	  NPU_JF_IMAGES,  NPU_JF_METADATA,
	NPU_JF_WEIGHTS,
};

#define NUM_SECTIONS (sizeof(file_order) / sizeof(file_order[0]))

struct image {
	struct npu_jf_header header;
	struct npu_jf_section table[NUM_SECTIONS];
	size_t num_sections;		/* not in the file */
};

static size_t table_size(const struct image *img)
{
	return img->num_sections * sizeof(img->table[0]);
}

static npu_u32 crc_of(const void *data, npu_u64 size)
{
	return crc32_z(0, size ? data : (const void *)"", size);
}

static bool has_section(const struct npu_jobfile *job, npu_u32 type)
{
	switch (type) {
	case NPU_JF_HOSTSTEPS:
	case NPU_JF_HOSTARGS:
	case NPU_JF_HOSTATTRS:
	case NPU_JF_HOSTDATA:
		return has_host_steps(job);
	case NPU_JF_METADATA:
		return job->metadata_size;
	case NPU_JF_IMAGES:
		return has_images(job);
	default:
		return true;
	}
}

/* The sections whose bytes are the caller's; all others are made here. */
static const void *section_data(const struct writer *w, npu_u32 type, npu_u64 *size)
{
	switch (type) {
	case NPU_JF_WEIGHTS:
		*size = w->job->weights_size;
		return w->job->weights;
	case NPU_JF_METADATA:
		*size = w->job->metadata_size;
		return w->job->metadata;
	default:
		*size = w->section[type].size;
		return w->section[type].data;
	}
}

static void place_sections(struct writer *w, struct image *img)
{
	npu_u32 types[NUM_SECTIONS];
	npu_u64 at, size;
	size_t i;

	for (i = 0; i < NUM_SECTIONS; i++)
		if (has_section(w->job, file_order[i]))
			types[img->num_sections++] = file_order[i];
	at = sizeof(img->header) + table_size(img);
	for (i = 0; i < img->num_sections; i++) {
		npu_u32 type = types[i];
		npu_u32 align = type == NPU_JF_WEIGHTS ? NPU_JOBFILE_PAGE : 64;
		const void *data = section_data(w, type, &size);

		at = (at + align - 1) / align * align;
		img->table[i] = (struct npu_jf_section){
			.type = type,
			.flags = type == NPU_JF_DEBUGMAP || type == NPU_JF_REPORT ||
						 type == NPU_JF_RECORD || type == NPU_JF_METADATA ||
						 type == NPU_JF_IMAGES
					 ? 0
					 : NPU_JF_REQUIRED,
			.offset = at,
			.size = size,
			.align = align,
			.crc = crc_of(data, size),
			.count = w->count[type],
			.record_size = npu_jf_record_size[type],
		};
		at += size;
	}
	img->header.file_size = at;
}

static void fill_header(struct writer *w, struct image *img, const npu_u64 opcodes[4],
			npu_u64 sram_size)
{
	struct npu_jf_header *h = &img->header;
	const char *compiler = w->job->compiler ? w->job->compiler : "";

	memcpy(h->magic, NPU_JF_MAGIC, 8);
	h->major = NPU_JOBFILE_MAJOR;
	h->features = npu_jobfile_features(w->job);
	h->minor = has_images(w->job) || h->features ? 3 :
		   w->job->metadata_size	     ? 2 :
		   has_host_steps(w->job)	     ? 1 :
						       0;
	h->header_size = sizeof(*h);
	h->isa_major = NPU_ISA_MAJOR;
	h->isa_minor = npu_jobfile_isa_minor(w->job);
	/* The first libnpu that reads format 1.0 with instruction set 1.0. */
	h->runtime_major = 0;
	h->runtime_minor = 1;
	h->num_sections = (npu_u32)img->num_sections;
	h->section_size = sizeof(struct npu_jf_section);
	h->section_offset = sizeof(*h);
	memcpy(h->opcodes, opcodes, sizeof(h->opcodes));
	h->sram_size = sram_size;
	strncpy(h->compiler, compiler, sizeof(h->compiler) - 1);
	h->section_crc = crc_of(img->table, table_size(img));
}

/*
 * A file is a list of pieces with gaps of zeros; the digest and both kinds of output walk it the
 * same way.
 */
typedef int (*piece_fn)(void *ctx, const void *data, size_t size);

static int walk_file(struct writer *w, const struct image *img, piece_fn fn, void *ctx)
{
	static const npu_u8 zero[NPU_JOBFILE_PAGE];
	npu_u64 at = sizeof(img->header) + table_size(img);
	size_t i;
	int ret;

	ret = fn(ctx, &img->header, sizeof(img->header));
	if (!ret)
		ret = fn(ctx, img->table, table_size(img));
	for (i = 0; i < img->num_sections && !ret; i++) {
		const struct npu_jf_section *s = &img->table[i];
		npu_u64 size;
		const void *data = section_data(w, s->type, &size);

		ret = fn(ctx, zero, s->offset - at);
		if (!ret && s->size)
			ret = fn(ctx, data, s->size);
		at = s->offset + s->size;
	}
	return ret;
}

static int piece_digest(void *ctx, const void *data, size_t size)
{
	npu_sha256_update(ctx, data, size);
	return 0;
}

static int piece_copy(void *ctx, const void *data, size_t size)
{
	npu_u8 **to = ctx;

	memcpy(*to, data, size);
	*to += size;
	return 0;
}

static int piece_write(void *ctx, const void *data, size_t size)
{
	const char *p = data;
	int fd = *(int *)ctx;
	ssize_t n;

	while (size) {
		n = write(fd, p, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		size -= n;
	}
	return 0;
}

static int build(struct writer *w, struct image *img, struct npu_error *err)
{
	npu_u64 opcodes[4], sram_size;
	struct npu_sha256 sha;
	int ret;

	if (w->job->weights_size && !w->job->weights)
		return npu_error_set(err, -EINVAL, "weights_size is %llu but weights is NULL",
				     (unsigned long long)w->job->weights_size);
	if (w->job->metadata_size && !w->job->metadata)
		return npu_error_set(err, -EINVAL, "metadata_size is %llu but metadata is NULL",
				     (unsigned long long)w->job->metadata_size);
	ret = npu_jobfile_check(w->job, opcodes, &sram_size, err);
	if (ret)
		return ret;
	add_all(w);
	if (w->failed)
		return npu_error_set(
			err, -ENOMEM,
			"no memory for the tables of the job file, or one beyond 4 GiB");
	place_sections(w, img);
	fill_header(w, img, opcodes, sram_size);
	npu_sha256_init(&sha);
	walk_file(w, img, piece_digest, &sha);
	npu_sha256_final(&sha, img->header.digest);
	img->header.header_crc = crc_of(&img->header, sizeof(img->header));
	return 0;
}

static void writer_fini(struct writer *w)
{
	int i;

	for (i = 0; i < NPU_JF_NUM_SECTIONS; i++)
		free(w->section[i].data);
	free(w->slots);
}

int npu_jobfile_encode(const struct npu_jobfile *job, void **data, size_t *size,
		       struct npu_error *err)
{
	struct writer w = { .job = job };
	struct image img = { 0 };
	npu_u8 *out, *at;
	int ret;

	ret = build(&w, &img, err);
	if (ret)
		goto out_writer;
	at = out = malloc(img.header.file_size);
	if (!out) {
		ret = npu_error_set(err, -ENOMEM, "no memory for a job file of %llu bytes",
				    (unsigned long long)img.header.file_size);
		goto out_writer;
	}
	walk_file(&w, &img, piece_copy, &at);
	*data = out;
	*size = img.header.file_size;
out_writer:
	writer_fini(&w);
	return ret;
}

/* A new file beside @path, with the mode that open() gives; *@name is freed by the caller. */
static int open_beside(const char *path, char **name)
{
	unsigned int i;
	int fd;

	for (i = 0; i < 100; i++) {
		if (asprintf(name, "%s.tmp%ld.%u", path, (long)getpid(), i) < 0) {
			*name = NULL;
			return -ENOMEM;
		}
		fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd >= 0 ? fd : -errno;
		free(*name);
	}
	*name = NULL;
	return -EEXIST;
}

static int write_fd(struct writer *w, const struct image *img, int fd)
{
	int ret = fd < 0 ? fd : walk_file(w, img, piece_write, &fd);

	if (fd >= 0 && close(fd) && !ret)
		ret = -errno;
	return ret;
}

/* Write beside @path and take its place. */
static int replace_file(struct writer *w, const struct image *img, const char *path)
{
	char *tmp = NULL;
	int fd = open_beside(path, &tmp), ret = write_fd(w, img, fd);

	if (!ret && rename(tmp, path))
		ret = -errno;
	if (ret && fd >= 0)
		unlink(tmp);
	free(tmp);
	return ret;
}

/* A link stays a link; a pipe or a device is written to, a rename would put a file in its place. */
static int save_file(struct writer *w, const struct image *img, const char *path,
		     struct npu_error *err)
{
	char *real = realpath(path, NULL);
	struct stat st;
	int fd, ret;

	if (real && !stat(real, &st) && !S_ISREG(st.st_mode)) {
		fd = open(real, O_WRONLY | O_CLOEXEC);
		ret = write_fd(w, img, fd < 0 ? -errno : fd);
	} else {
		ret = replace_file(w, img, real ? real : path);
	}
	if (ret)
		npu_error_set(err, ret, "'%s' can not be written: %s", path, strerror(-ret));
	free(real);
	return ret;
}

int npu_jobfile_save(const struct npu_jobfile *job, const char *path, struct npu_error *err)
{
	struct writer w = { .job = job };
	struct image img = { 0 };
	int ret;

	ret = build(&w, &img, err);
	if (!ret)
		ret = save_file(&w, &img, path, err);
	writer_fini(&w);
	return ret;
}
