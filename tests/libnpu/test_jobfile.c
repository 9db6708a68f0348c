// SPDX-License-Identifier: MIT
/*
 * Job files that are damaged, hostile, or of other versions: a clean error that names what is
 * wrong, or a right run. Files whose check sums are made good again reach the checks behind them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include "common/tmp.h"
#include "core/digest.h"
#include "core/jobfile_format.h"
#include "fixture.h"
#include "tap.h"

static struct npu_error err;

struct env {
	struct npu_device *dev;
	struct npu_queue *queue;
	unsigned char *good;
	size_t size;
};

static struct npu_jf_section *section(unsigned char *file, npu_u32 type)
{
	struct npu_jf_header *h = (struct npu_jf_header *)file;
	npu_u32 i;

	for (i = 0; i < h->num_sections; i++) {
		struct npu_jf_section *s = (struct npu_jf_section *)(file + h->section_offset) + i;

		if (s->type == type)
			return s;
	}
	abort();
}

/* Make all check sums right that lie within the file. */
static void repair(unsigned char *file, size_t size)
{
	struct npu_jf_header *h = (struct npu_jf_header *)file;
	struct npu_jf_section *s;
	npu_u32 i;

	if (h->section_offset % 8 || h->section_offset > size || h->num_sections > 64 ||
	    h->num_sections * sizeof(*s) > size - h->section_offset)
		return;
	s = (struct npu_jf_section *)(file + h->section_offset);
	for (i = 0; i < h->num_sections; i++)
		if (s[i].offset <= size && s[i].size <= size - s[i].offset)
			s[i].crc = crc32_z(0, file + s[i].offset, s[i].size);
	if (h->section_size == sizeof(*s))
		h->section_crc = crc32_z(0, (unsigned char *)s, h->num_sections * sizeof(*s));
	h->header_crc = 0;
	if (h->header_size <= size)
		h->header_crc = crc32_z(0, file, h->header_size);
}

/* Run whatever was loaded, bounded in time. Returns 0 when it ended well. */
static int run_it(struct env *e, struct npu_job *job)
{
	struct npu_fence *fence;
	struct npu_run *run;
	int64_t dims[2] = { 3, 4 };
	int ret;

	if (npu_run_create(job, &run, &err))
		return -1;
	npu_run_set_shape(run, "x", 2, dims, &err);
	ret = npu_queue_submit(e->queue, run, NULL, &fence, &err);
	if (!ret) {
		ret = npu_fence_wait(fence, npu_deadline_after(20000000000u), &err);
		npu_fence_put(fence);
	}
	npu_run_destroy(run);
	return ret;
}

static unsigned int faults;	/* of files that were verified: there must be none */

static int try_file(struct env *e, const void *data, size_t size)
{
	struct npu_job *job;
	int ret;

	memset(&err, 0, sizeof(err));
	ret = npu_job_load_memory(e->dev, data, size, "f.npu", 0, &job, &err);
	if (!ret) {
		if (run_it(e, job) == -EIO && !faults++)
			tap_diag("fault of a verified stream: %s", err.text);
		npu_job_unload(job);
	}
	return ret;
}

static void test_truncated(struct env *e)
{
	size_t n, clean = 0, errors[2] = { 0 };

	for (n = 0; n < e->size; n++) {
		int ret = try_file(e, e->good, n);

		errors[ret == -EBADMSG]++;
		clean += ret == -EBADMSG && *err.text;
	}
	tap_ok(clean == e->size, "%zu of %zu truncations are refused as damaged, with a reason",
	       clean, e->size);
}

static npu_u32 seed = 1;

static npu_u32 rnd(npu_u32 n)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed % n;
}

static const npu_u64 nasty[] = { 0,
				 1,
				 3,
				 7,
				 0x7f,
				 0x80,
				 0xff,
				 0x7fff,
				 0xffff,
				 0x7fffffff,
				 0x80000000,
				 0xffffffff,
				 0x7fffffffffffffff,
				 0x8000000000000000,
				 0xffffffffffffffff,
				 0x400000000000 };

static void mutate(unsigned char *file, size_t size)
{
	size_t k, n = 1 + rnd(3);

	for (k = 0; k < n; k++) {
		/* The weights at the end may be anything. */
		size_t at = rnd(8) ? rnd(4096 < size ? 4096 : size) : rnd(size);
		npu_u64 v = nasty[rnd(sizeof(nasty) / sizeof(nasty[0]))];
		size_t len = 1u << rnd(4);

		switch (rnd(3)) {
		case 0:
			file[at] ^= 1u << rnd(8);
			break;
		case 1:
			at &= ~(len - 1);
			memcpy(file + at, &v, at + len <= size ? len : 1);
			break;
		default:
			file[at] = rnd(256);
			break;
		}
	}
}

/* The weights shrink to one page, so that most of a file is structure. */
static void test_mutated(struct env *e)
{
	unsigned int i, n = tap_long() ? 200000 : 10000, refused = 0, silent = 0, ran = 0;
	unsigned char *copy = malloc(e->size);

	for (i = 0; i < n; i++) {
		int ret;

		memcpy(copy, e->good, e->size);
		mutate(copy, e->size);
		if (i % 8)
			repair(copy, e->size);
		ret = try_file(e, copy, e->size);
		refused += ret != 0;
		ran += !ret;
		silent += ret && !*err.text;
	}
	tap_ok(!silent && refused + ran == n,
	       "%u mutations: %u refused, each with a reason, %u run", n, refused, ran);
	tap_ok(!faults, "%u faults of streams that the verifier had passed", faults);
	tap_ok(refused > n / 4 && ran > n / 100, "both are frequent");
	free(copy);
}

/* One bit of the file changes, sums untouched: always seen. */
static void test_bits(struct env *e)
{
	unsigned int i, n = 3000, seen = 0;
	unsigned char *copy = malloc(e->size);

	memcpy(copy, e->good, e->size);
	for (i = 0; i < n; i++) {
		struct npu_jf_section *w = section(copy, NPU_JF_WEIGHTS);
		/* The zeros between sections are no one's. */
		size_t at = i % 2 ? rnd(sizeof(struct npu_jf_header)) : w->offset + rnd(w->size);

		copy[at] ^= 1u << i % 8;
		seen += try_file(e, copy, e->size) != 0;
		copy[at] ^= 1u << i % 8;
	}
	tap_ok(seen == n, "%u of %u changed bits are seen", seen, n);
	free(copy);
}

typedef void (*change)(unsigned char *file, size_t size);

struct change_case {
	const char *what;
	change fn;
	int ret;
	const char *text;
};

#define HEADER(f)	((struct npu_jf_header *)(f))
#define RECORD(f, t, i, type) ((type *)((f) + section(f, t)->offset) + (i))

static void c_magic(unsigned char *f, size_t n) { f[1] = 'X'; }
static void c_major(unsigned char *f, size_t n)
{
	HEADER(f)->major = 2;
	HEADER(f)->runtime_minor = 9;
}
static void c_runtime(unsigned char *f, size_t n)
{
	HEADER(f)->runtime_major = 3;
	HEADER(f)->runtime_minor = 7;
}
static void c_isa(unsigned char *f, size_t n) { HEADER(f)->isa_minor = 40; }
static void c_feature(unsigned char *f, size_t n) { HEADER(f)->features = 0x10; }
static void c_sram(unsigned char *f, size_t n) { HEADER(f)->sram_size = 16; }
static void c_opcodes(unsigned char *f, size_t n) { memset(HEADER(f)->opcodes, 0, 32); }
static void c_required(unsigned char *f, size_t n)
{
	section(f, NPU_JF_REPORT)->flags = 1;
	section(f, NPU_JF_REPORT)->type = 77;
}
static void c_twice(unsigned char *f, size_t n) { section(f, NPU_JF_REPORT)->type = NPU_JF_RECORD; }
static void c_missing(unsigned char *f, size_t n)
{
	struct npu_jf_section *s = section(f, NPU_JF_STREAMS);
	s->type = 78;
	s->flags = 0;
}
static void c_overlap(unsigned char *f, size_t n) { section(f, NPU_JF_REGIONS)->offset -= 64; }
static void c_beyond(unsigned char *f, size_t n) { section(f, NPU_JF_WEIGHTS)->size += 4096; }
static void c_align(unsigned char *f, size_t n) { section(f, NPU_JF_TENSORS)->align = 3; }
static void c_records(unsigned char *f, size_t n) { section(f, NPU_JF_TENSORS)->count++; }
static void c_string(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_TENSORS, 0, struct npu_jf_tensor)->name = 99999;
}
static void c_dtype(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_TENSORS, 0, struct npu_jf_tensor)->dtype = NPU_U4;
}
static void c_rank(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_TENSORS, 1, struct npu_jf_tensor)->rank = 9;
}
static void c_region(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_TENSORS, 1, struct npu_jf_tensor)->region = 5;
}
static void c_dim(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_TENSORS, 1, struct npu_jf_tensor)->dim[1].base = 5;
}
static void c_dim0(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_TENSORS, 1, struct npu_jf_tensor)->dim[1].base = 0;
}
static void c_factor(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_TENSORS, 0, struct npu_jf_tensor)->dim[0].factor[0] = -1;
}
static void c_symbol(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_TENSORS, 0, struct npu_jf_tensor)->dim[0].sym[0] = 3;
}
static void c_bounds(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_SYMBOLS, 0, struct npu_jf_symbol)->max = 17;
}
static void c_min(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_SYMBOLS, 0, struct npu_jf_symbol)->min = 0;
}
static void c_role(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_REGIONS, 3, struct npu_jf_region)->role = 9;
}
static void c_access(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_REGIONS, 0, struct npu_jf_region)->access = 3;
}
static void c_weights(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_REGIONS, 0, struct npu_jf_region)->offset = 16;
}
static void c_small(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_REGIONS, 2, struct npu_jf_region)->size.base = 100;
}
static void c_output(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_REGIONS, 4, struct npu_jf_region)->access = 1;
}
static void c_step(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_SCHEDULE, 0, struct npu_jf_step)->kind = 3;
}
static void c_no_step(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_PROGRAMS, 0, struct npu_jf_program)->num_steps = 0;
}
static void c_no_host(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_SCHEDULE, 0, struct npu_jf_step)->kind = 2;
}
static void c_stream(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_SCHEDULE, 0, struct npu_jf_step)->size += 64;
}
static void c_range(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_PROGRAMS, 0, struct npu_jf_program)->num_regions = 6;
}
static void c_tags(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_DEBUGMAP, 1, struct npu_jf_debug)->tag = 10;
}
static void c_code_scale(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_DEBUGMAP, 0, struct npu_jf_debug)->scale = -1;
}
static void c_key(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_RECORD, 0, struct npu_jf_record)->key = 0;
}
static void c_insn(unsigned char *f, size_t n)
{
	f[section(f, NPU_JF_STREAMS)->offset + sizeof(struct npu_stream_header)] = 0xee;
}

static const struct change_case changes[] = {
	{ "another magic", c_magic, -EBADMSG, "magic" },
	{ "format 2.0", c_major, -ENOTSUP, "needs libnpu >= 0.9" },
	{ "a newer runtime", c_runtime, -ENOTSUP, "needs libnpu >= 3.7" },
	{ "a newer instruction set", c_isa, -ENOTSUP, "instruction set 1.40" },
	{ "an unknown feature", c_feature, -ENOTSUP, "0x10" },
	{ "sram_size too small", c_sram, -EINVAL, "sram_size" },
	{ "opcodes not in the bitmap", c_opcodes, -EINVAL, "bitmap" },
	{ "an unknown required section", c_required, -ENOTSUP, "type 77" },
	{ "a section twice", c_twice, -EINVAL, "RECORD" },
	{ "a section missing", c_missing, -EINVAL, "STREAMS" },
	{ "sections overlap", c_overlap, -EINVAL, "REGIONS" },
	{ "a section leaves the file", c_beyond, -EINVAL, "WEIGHTS" },
	{ "an odd alignment", c_align, -EINVAL, "alignment 3" },
	{ "a wrong count of records", c_records, -EINVAL, "TENSORS" },
	{ "a string out of range", c_string, -EINVAL, "99999" },
	{ "a type that users can not have", c_dtype, -EINVAL, "'x'" },
	{ "rank 9", c_rank, -EINVAL, "rank 9" },
	{ "a region out of range", c_region, -EINVAL, "region 5" },
	{ "a tensor larger than its region", c_dim, -EINVAL, "'y'" },
	{ "a dim of 0", c_dim0, -EINVAL, "'y'" },
	{ "a negative factor", c_factor, -EINVAL, "factor" },
	{ "a symbol out of range", c_symbol, -EINVAL, "symbol 3" },
	{ "a bound beyond the stream's", c_bounds, -EINVAL, "'rows'" },
	{ "a lower bound of 0", c_min, -EINVAL, "'rows'" },
	{ "an unknown role", c_role, -EINVAL, "role 9" },
	{ "weights that are written", c_access, -EINVAL, "access" },
	{ "weights beyond their section", c_weights, -EINVAL, "weights" },
	{ "on-chip memory too small for the stream", c_small, -EINVAL, "instruction 0" },
	{ "an output that can not be written", c_output, -EINVAL, "instruction 1" },
	{ "a step of a later kind", c_step, -ENOTSUP, "kind 3" },
	{ "no step", c_no_step, -EINVAL, "no step" },
	{ "a host step that is not there", c_no_host, -EINVAL, "HOSTSTEPS, which has 0" },
	{ "a stream beyond its section", c_stream, -EINVAL, "STREAMS" },
	{ "regions beyond the table", c_range, -EINVAL, "REGIONS" },
	{ "tags not in order", c_tags, -EINVAL, "tag 10" },
	{ "a negative scale of codes", c_code_scale, -EINVAL, "scale -1" },
	{ "an empty key", c_key, -EINVAL, "key" },
	{ "an unknown opcode", c_insn, -EINVAL, "instruction 0" },
};

/* Changes to the file of host_make(). */
#define HOST(f, i)	RECORD(f, NPU_JF_HOSTSTEPS, i, struct npu_jf_host)
#define ARG(f, i)	RECORD(f, NPU_JF_HOSTARGS, i, struct npu_jf_arg)
#define ATTR(f, i)	RECORD(f, NPU_JF_HOSTATTRS, i, struct npu_jf_attr)
#define TENSOR(f, i)	RECORD(f, NPU_JF_TENSORS, i, struct npu_jf_tensor)

static void h_op(unsigned char *f, size_t n) { HOST(f, 0)->op = HOST(f, 0)->node; }
static void h_domain(unsigned char *f, size_t n) { HOST(f, 0)->domain = HOST(f, 1)->domain; }
static void h_opset(unsigned char *f, size_t n) { HOST(f, 0)->opset = 8; }
static void h_no_op(unsigned char *f, size_t n) { HOST(f, 0)->op = 0; }
static void h_string(unsigned char *f, size_t n) { HOST(f, 1)->node = 1u << 30; }
static void h_arg(unsigned char *f, size_t n) { ARG(f, 0)->tensor = 5; }
static void h_args(unsigned char *f, size_t n) { HOST(f, 1)->first_arg = 3; }
static void h_args_many(unsigned char *f, size_t n) { HOST(f, 1)->num_in = 0xffffffff; }
static void h_args_shared(unsigned char *f, size_t n)
{
	HOST(f, 1)->num_in = 2;
	HOST(f, 1)->first_arg = 0;
}
static void h_no_out(unsigned char *f, size_t n)
{
	HOST(f, 0)->num_in = 2;
	HOST(f, 0)->num_out = 0;
}
static void h_attrs(unsigned char *f, size_t n) { HOST(f, 1)->num_attr = 7; }
static void h_kind(unsigned char *f, size_t n) { ATTR(f, 0)->kind = NPU_NUM_HOST_ATTRS; }
static void h_name(unsigned char *f, size_t n) { ATTR(f, 0)->name = 0; }
static void h_count(unsigned char *f, size_t n) { ATTR(f, 0)->count = 2; }
static void h_list(unsigned char *f, size_t n) { ATTR(f, 3)->count = 1u << 30; }
static void h_list_place(unsigned char *f, size_t n) { ATTR(f, 3)->value = 4; }
static void h_list_shared(unsigned char *f, size_t n)
{
	ATTR(f, 4)->count = 6;
	ATTR(f, 4)->value = 0;
}
static void h_strings(unsigned char *f, size_t n)
{
	*(npu_u32 *)(f + section(f, NPU_JF_HOSTDATA)->offset + ATTR(f, 5)->value) = 1u << 30;
}
static void h_dense(unsigned char *f, size_t n)
{
	struct npu_jf_tensor *t = TENSOR(f, 3);

	t->flags = 0;
	t->stride[0].base = 16;
	t->stride[1].base = 4;
}
static void h_align(unsigned char *f, size_t n) { TENSOR(f, 3)->offset.base = 72; }
static void h_read_only(unsigned char *f, size_t n) { ARG(f, 3)->tensor = 0; }
static void h_overlap(unsigned char *f, size_t n) { TENSOR(f, 4)->offset.base = 256; }
static void h_bounded_in(unsigned char *f, size_t n) { TENSOR(f, 0)->flags |= NPU_JOBFILE_BOUNDED; }
static void h_type(unsigned char *f, size_t n) { TENSOR(f, 4)->dtype = NPU_HOST_DTYPES_END; }
static void h_twice(unsigned char *f, size_t n)
{
	RECORD(f, NPU_JF_SCHEDULE, 2, struct npu_jf_step)->offset = 0;
	HOST(f, 0)->num_attr = 4;
}

static const struct change_case host_changes[] = {
	{ "an operator that nobody has", h_op, -ENOTSUP, "needs the host operator NonZero_1" },
	{ "a domain that nobody has", h_domain, -ENOTSUP, "needs the host operator test.NonZero" },
	{ "an operator set before the operator's", h_opset, -ENOTSUP, "operator set 8" },
	{ "no operator", h_no_op, -EINVAL, "no operator" },
	{ "a string out of range", h_string, -EINVAL, "HOSTSTEPS, record 1" },
	{ "a tensor out of range", h_arg, -EINVAL, "tensor 5" },
	{ "arguments out of range", h_args, -EINVAL, "HOSTARGS" },
	{ "more arguments than there may be", h_args_many, -EINVAL, "4294967295 inputs" },
	{ "another step's arguments", h_args_shared, -EINVAL, "HOSTARGS are another" },
	{ "a step without a result", h_no_out, -EINVAL, "no output" },
	{ "attributes out of range", h_attrs, -EINVAL, "HOSTATTRS" },
	{ "an unknown kind of attribute", h_kind, -EINVAL, "unknown kind 6" },
	{ "an attribute without a name", h_name, -EINVAL, "no name" },
	{ "two values of a number", h_count, -EINVAL, "2 values" },
	{ "a list beyond its section", h_list, -EINVAL, "HOSTDATA has" },
	{ "a list that is not aligned", h_list_place, -EINVAL, "HOSTDATA has" },
	{ "a list of two attributes", h_list_shared, -EINVAL, "another attribute" },
	{ "a string of a list out of range", h_strings, -EINVAL, "HOSTATTRS, record 5" },
	{ "a host tensor with gaps", h_dense, -EINVAL, "not dense" },
	{ "a host tensor at an odd place", h_align, -EINVAL, "multiple of 64" },
	{ "a result in an input", h_read_only, -EINVAL, "region 3 with access" },
	{ "a result over its argument", h_overlap, -EINVAL, "overlaps" },
	{ "an input whose dims the data give", h_bounded_in, -EINVAL, "not a result" },
	{ "a type that nobody has", h_type, -EINVAL, "type 69" },
	{ "one host step twice", h_twice, -EINVAL, "HOSTATTRS are another" },
};

static void try_changes(struct env *e, const struct change_case *c, size_t n)
{
	unsigned char *copy = malloc(e->size);
	size_t i;
	int ret;

	for (i = 0; i < n; i++) {
		memcpy(copy, e->good, e->size);
		c[i].fn(copy, e->size);
		repair(copy, e->size);
		ret = try_file(e, copy, e->size);
		tap_ok(ret == c[i].ret && err.code == ret && strstr(err.text, c[i].text), "%s: %s",
		       c[i].what, err.text);
	}
	free(copy);
}
#define TRY_CHANGES(e, list)	try_changes(e, list, sizeof(list) / sizeof((list)[0]))

/* Programs that stood for the same records would multiply the work of loading. */
static void test_shared(const struct fixture *f, struct env *e)
{
	struct npu_jobfile job = f->job;
	struct npu_jobfile_program two[2] = { f->programs[0], f->programs[0] };
	struct npu_jf_program *prog;
	struct npu_jf_step *step;
	unsigned char *file;
	void *data;
	size_t size;

	job.programs = two;
	job.num_programs = 2;
	if (!tap_ok(!npu_jobfile_encode(&job, &data, &size, &err), "two programs"))
		return;
	file = data;
	prog = RECORD(file, NPU_JF_PROGRAMS, 1, struct npu_jf_program);
	tap_ok(!try_file(e, file, size), "load");
	prog->first_tensor = 0;
	prog->num_tensors *= 2;
	repair(file, size);
	tap_ok(try_file(e, file, size) == -EINVAL && strstr(err.text, "section TENSORS"), "%s",
	       err.text);
	prog->num_tensors /= 2;
	prog->first_tensor = prog->num_tensors;
	step = RECORD(file, NPU_JF_SCHEDULE, 1, struct npu_jf_step);
	step->offset = 0;
	step->size *= 2;
	repair(file, size);
	tap_ok(try_file(e, file, size) == -EINVAL && strstr(err.text, "stream is another"), "%s",
	       err.text);
	free(data);
}

/* Bytes that come along: read back as they were, and guarded by their sum. */
static void test_metadata(const struct fixture *f, struct env *e)
{
	static const unsigned char bytes[] = { 0, 1, 2, 255, 0, 7, 'x' };
	struct npu_jobfile job = f->job, *back;
	const struct npu_jf_header *h;
	unsigned char *file;
	void *data;
	size_t size;

	job.metadata = bytes;
	job.metadata_size = sizeof(bytes);
	if (!tap_ok(!npu_jobfile_encode(&job, &data, &size, &err), "metadata"))
		return;
	file = data;
	h = data;
	tap_ok(h->major == 1 && h->minor == 2 && !try_file(e, file, size),
	       "format 1.2, and it loads");
	if (tap_ok(!npu_jobfile_parse(data, size, 0, &back, &err), "parse")) {
		tap_ok(back->metadata_size == sizeof(bytes) &&
		       !memcmp(back->metadata, bytes, sizeof(bytes)), "the bytes come back");
		npu_jobfile_free(back);
	}
	file[section(file, NPU_JF_METADATA)->offset + 3] ^= 1;
	tap_ok(try_file(e, file, size) == -EBADMSG && strstr(err.text, "section METADATA"), "%s",
	       err.text);
	free(data);
	job.metadata = NULL;
	tap_ok(npu_jobfile_encode(&job, &data, &size, &err) == -EINVAL &&
	       strstr(err.text, "metadata is NULL"), "%s", err.text);
}

/*
 * What a newer minor version may do: more fields at the end of records and header, sections that
 * can be skipped.
 */
static void test_newer_minor(struct env *e)
{
	struct npu_jf_header *h;
	struct npu_jf_section *s;
	size_t room = e->size + 65536, at, skip = 256;
	unsigned char *big = calloc(1, room);
	npu_u32 i, k, n;

	memcpy(big, e->good, sizeof(*h));
	h = (struct npu_jf_header *)big;
	h->minor = NPU_JOBFILE_MINOR + 1;
	h->header_size += 16;
	h->section_offset = h->header_size + 8;
	n = h->num_sections++;
	s = (struct npu_jf_section *)(big + h->section_offset);
	memcpy(s, e->good + ((struct npu_jf_header *)e->good)->section_offset, n * sizeof(*s));
	s[n] = s[n - 1];
	s[n - 1] = (struct npu_jf_section){ .type = 1234, .size = 100, .align = 8 };
	at = h->section_offset + (n + 1) * sizeof(*s) + skip;
	for (i = 0; i <= n; i++) {
		const unsigned char *from = e->good + s[i].offset;
		npu_u32 grow = s[i].record_size ? 8 : 0;

		if (i == n - 1)
			from = NULL;
		at = (at + s[i].align - 1) / s[i].align * s[i].align;
		s[i].offset = at;
		for (k = 0; k < s[i].count; k++)
			memcpy(big + at + k * (s[i].record_size + grow),
			       from + k * s[i].record_size, s[i].record_size);
		if (!s[i].count && from)
			memcpy(big + at, from, s[i].size);
		s[i].record_size += grow;
		if (s[i].record_size)
			s[i].size = (npu_u64)s[i].count * s[i].record_size;
		at += s[i].size;
	}
	h->file_size = at;
	repair(big, at);
	tap_ok(!try_file(e, big, at),
	       "a newer format 1.x with longer records and an unknown optional section loads: %s",
	       err.text);
	tap_ok(at < room, "(%zu bytes)", at);
	free(big);
}

static void test_digest(struct env *e)
{
	struct npu_job *job;
	unsigned char *copy = malloc(e->size);

	tap_ok(!npu_job_load_memory(e->dev, e->good, e->size, "f", NPU_JOB_CHECK_DIGEST, &job,
				    &err),
	       "the digest is right");
	npu_job_unload(job);
	memcpy(copy, e->good, e->size);
	copy[section(copy, NPU_JF_WEIGHTS)->offset]++;
	tap_ok(try_file(e, copy, e->size) == -EBADMSG && strstr(err.text, "WEIGHTS"),
	       "changed weights: %s", err.text);
	tap_ok(!npu_job_load_memory(e->dev, copy, e->size, "f", NPU_JOB_SKIP_WEIGHTS_CRC, &job,
				    &err),
	       "loads unread");
	npu_job_unload(job);
	repair(copy, e->size);
	tap_ok(npu_job_load_memory(e->dev, copy, e->size, "f", NPU_JOB_CHECK_DIGEST, &job, &err) ==
		       -EBADMSG,
	       "with sums made good: %s", err.text);
	free(copy);
}

static void test_repeat(const struct fixture *f, struct env *e)
{
	size_t size;
	void *again = fixture_encode(f, &size);

	tap_ok(size == e->size && !memcmp(again, e->good, size),
	       "the same description gives the same bytes");
	free(again);
}

static void test_save(const struct fixture *f, struct env *e)
{
	const char *path = tmp_path("job.npu"), *link = tmp_path("job.link");
	const char *none = tmp_path("none/x.npu");
	struct npu_job *job;
	struct stat st;

	close(creat(path, 0600));
	tap_ok(!npu_jobfile_save(&f->job, path, &err), "save over an old file");
	tap_ok(!npu_job_load(e->dev, path, NPU_JOB_CHECK_DIGEST, &job, &err) && !run_it(e, job),
	       "load from a path and run");
	npu_job_unload(job);
	tap_ok(!symlink(path, link) && !npu_jobfile_save(&f->job, link, &err) &&
	       !lstat(link, &st) && S_ISLNK(st.st_mode), "save through a link, which stays one");
	tap_ok(!npu_jobfile_save(&f->job, "/dev/null", &err) && !stat("/dev/null", &st) &&
	       S_ISCHR(st.st_mode), "save to a device, which stays one");
	tap_ok(npu_jobfile_save(&f->job, none, &err) == -ENOENT && strstr(err.text, none),
	       "no directory: %s", err.text);
}

static void test_sums(void)
{
	static const struct { const char *text, *sha; npu_u64 xxh;
	} known[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		  0xef46db3751d8e999 },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		  0x44bc2cf5ad770999 },
		{ "Call me Ishmael. Some years ago--never mind how long precisely-",
		  "6a4df45be73aa91893507857618e993b8ce04447a141ef734d2ca8aae51046e1",
		  0x02a2e85470d6fd96 },
	};
	struct npu_sha256 sha;
	struct npu_xxh64 xxh;
	npu_u8 digest[32];
	char hex[65];
	size_t i, k;

	for (i = 0; i < 3; i++) {
		npu_sha256_init(&sha);
		npu_xxh64_init(&xxh, 0);
		for (k = 0; k < strlen(known[i].text); k++) {
			npu_sha256_update(&sha, known[i].text + k, 1);
			npu_xxh64_update(&xxh, known[i].text + k, 1);
		}
		npu_sha256_final(&sha, digest);
		npu_sha256_hex(digest, hex);
		tap_ok(!strcmp(hex, known[i].sha), "SHA-256 of '%s'", known[i].text);
		tap_ok(npu_xxh64_final(&xxh) == known[i].xxh &&
			       npu_digest(known[i].text, strlen(known[i].text), 0) == known[i].xxh,
		       "XXH64 of it");
	}
	/* With seed 2654435761, from the self-test of the reference implementation. */
	tap_ok(npu_digest("", 0, 2654435761u) == 0xac75fda2929b17ef &&
		       npu_digest("", 1, 2654435761u) == 0x5014607643a9b4c3,
	       "XXH64 with a seed");
}

/* The file of another fixture than the tiny one: its own checks, and what holds of any file. */
static void test_file(const struct env *e, void (*make)(struct fixture *f),
		      void (*check)(struct env *e, const struct fixture *f))
{
	struct env other = *e;
	struct fixture f;

	make(&f);
	other.good = fixture_encode(&f, &other.size);
	check(&other, &f);
	test_repeat(&f, &other);
	test_truncated(&other);
	test_mutated(&other);
	free(other.good);
	fixture_free(&f);
}

/* A file with host steps: format 1.1, and every check behind its sections. */
static void check_host(struct env *e, const struct fixture *f)
{
	tap_ok(HEADER(e->good)->minor == 1 && !try_file(e, e->good, e->size),
	       "a file with host steps is of format 1.1 and loads");
	TRY_CHANGES(e, host_changes);
}

/* Files with images: format 1.3. */
static void i_program(unsigned char *f, size_t size)
{
	RECORD(f, NPU_JF_IMAGES, 1, struct npu_jf_image)->program = 1;
}

static void i_name(unsigned char *f, size_t size)
{
	RECORD(f, NPU_JF_IMAGES, 1, struct npu_jf_image)->name = 0;
}

static void i_twice(unsigned char *f, size_t size)
{
	RECORD(f, NPU_JF_IMAGES, 1, struct npu_jf_image)->name =
		RECORD(f, NPU_JF_IMAGES, 0, struct npu_jf_image)->name;
}

static void i_spec(unsigned char *f, size_t size)
{
	RECORD(f, NPU_JF_IMAGES, 1, struct npu_jf_image)->spec = 1 << 30;
}

static void i_width(unsigned char *f, size_t size)
{
	RECORD(f, NPU_JF_IMAGES, 0, struct npu_jf_image)->width = 0;
}

static void i_planes(unsigned char *f, size_t size)
{
	RECORD(f, NPU_JF_IMAGES, 0, struct npu_jf_image)->num_planes = 4;
}

static void i_plane(unsigned char *f, size_t size)
{
	RECORD(f, NPU_JF_IMAGES, 0, struct npu_jf_image)->plane[1] = 6;
}

static void i_output(unsigned char *f, size_t size)
{
	RECORD(f, NPU_JF_IMAGES, 0, struct npu_jf_image)->plane[1] = 4;
}

static void i_shared(unsigned char *f, size_t size)
{
	RECORD(f, NPU_JF_IMAGES, 1, struct npu_jf_image)->plane[0] = 1;
}

static void i_stride(unsigned char *f, size_t size)
{
	RECORD(f, NPU_JF_TENSORS, 2, struct npu_jf_tensor)->stride[1].base = 0;
}

static void i_narrow(unsigned char *f, size_t size)
{
	RECORD(f, NPU_JF_TENSORS, 2, struct npu_jf_tensor)->stride[0].base = 11;
}

static void i_one_symbol(unsigned char *f, size_t size)
{
	RECORD(f, NPU_JF_TENSORS, 1, struct npu_jf_tensor)->stride[0].sym[0] = 0;
}

static void i_no_input(unsigned char *f, size_t size)
{
	RECORD(f, NPU_JF_TENSORS, 1, struct npu_jf_tensor)->stride[0] =
		(struct npu_jf_expr){ .base = 8 };
}

static void i_kind(unsigned char *f, size_t size)
{
	RECORD(f, NPU_JF_SYMBOLS, 0, struct npu_jf_symbol)->kind = 3;
}

static void i_features(unsigned char *f, size_t size)
{
	HEADER(f)->features = 0;
}

static const struct change_case image_changes[] = {
	{ "an image of no program", i_program, -EINVAL, "IMAGES, record 1: program 1" },
	{ "an image without a name", i_name, -EINVAL, "no name" },
	{ "two images of one name", i_twice, -EINVAL, "two images are named 'cam'" },
	{ "a string of an image out of range", i_spec, -EINVAL, "IMAGES, record 1" },
	{ "an image without pixels", i_width, -EINVAL, "0 x 4" },
	{ "too many planes", i_planes, -EINVAL, "4 planes, want 1 .. 3" },
	{ "a plane that is not there", i_plane, -EINVAL, "tensor 6, there are 6" },
	{ "a plane that is an output", i_output, -EINVAL, "plane 1, tensor 'uv', is not an input" },
	{ "a plane of two images", i_shared, -EINVAL, "another plane" },
	{ "bytes that are no row", i_stride, -EINVAL, "rows of bytes" },
	{ "rows that overlap", i_narrow, -EINVAL, "rows of bytes" },
	{ "a stride of two inputs", i_one_symbol, -EINVAL, "of another input" },
	{ "a stride of no input", i_no_input, -EINVAL, "of no input" },
	{ "an unknown kind of symbol", i_kind, -EINVAL, "unknown kind 3" },
	{ "strides that the header does not tell of", i_features, -EINVAL, "features" },
};

static void compare_images(const struct env *e, const struct fixture *f)
{
	const struct npu_jobfile_image *a = f->images, *b;
	struct npu_jobfile *back;
	int i;

	if (!tap_ok(!npu_jobfile_parse(e->good, e->size, 0, &back, &err), "parse"))
		return;
	b = back->programs[0].images;
	tap_ok(back->programs[0].num_images == 2, "two images come back");
	for (i = 0; i < 2; i++)
		tap_ok(!strcmp(a[i].name, b[i].name) && !strcmp(a[i].spec, b[i].spec) &&
		       a[i].fourcc == b[i].fourcc && a[i].width == b[i].width &&
		       a[i].height == b[i].height && a[i].num_planes == b[i].num_planes &&
		       !memcmp(a[i].plane, b[i].plane, a[i].num_planes * sizeof(*a[i].plane)),
		       "image %d is what it was", i);
	npu_jobfile_free(back);
}

static void check_images(struct env *e, const struct fixture *f)
{
	tap_ok(HEADER(e->good)->minor == 3 && HEADER(e->good)->features == NPU_JF_FEATURE_STRIDES &&
	       !try_file(e, e->good, e->size), "a file with images is of format 1.3 and loads %s",
	       err.text);
	compare_images(e, f);
	TRY_CHANGES(e, image_changes);
}

int main(void)
{
	struct npu_device_options opt = { .size = sizeof(opt), .host_ops = fixture_ops,
					  .num_host_ops = FIXTURE_OPS };
	struct fixture f;
	struct env e;

	tiny_make(&f);
	/* A small file: its weights are what the model needs and no more. */
	f.job.weights_size = 272;
	f.regions[0].size = NPU_JOBFILE_CONST(272);
	e.good = fixture_encode(&f, &e.size);
	if (npu_device_open("sim:threads=1", &opt, &e.dev, &err) ||
	    npu_queue_create(e.dev, NULL, &e.queue, &err)) {
		tap_ok(0, "open: %s", err.text);
		return tap_done();
	}
	tap_ok(!try_file(&e, e.good, e.size), "the good file loads");
	tap_ok(HEADER(e.good)->minor == 0 && HEADER(e.good)->num_sections == 11,
	       "a file without host steps is one of format 1.0");
	test_sums();
	test_repeat(&f, &e);
	test_save(&f, &e);
	TRY_CHANGES(&e, changes);
	test_shared(&f, &e);
	test_metadata(&f, &e);
	test_newer_minor(&e);
	test_digest(&e);
	test_truncated(&e);
	test_bits(&e);
	test_mutated(&e);
	test_file(&e, host_make, check_host);
	test_file(&e, frame_make, check_images);
	npu_queue_destroy(e.queue);
	npu_device_close(e.dev);
	free(e.good);
	fixture_free(&f);
	return tap_done();
}
