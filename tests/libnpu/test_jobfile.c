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
#include "common/tmp.h"
#include "core/digest.h"
#include "jobfile_case.h"
#include "tap.h"

/* One bit of the file changes, sums untouched: always seen. */
static void test_bits(struct jobfile_env *e)
{
	unsigned int i, n = 3000, seen = 0;
	unsigned char *copy = malloc(e->size);

	memcpy(copy, e->good, e->size);
	for (i = 0; i < n; i++) {
		struct npu_jf_section *w = jobfile_section(copy, NPU_JF_WEIGHTS);
		/* The zeros between sections are no one's. */
		size_t at = i % 2 ? jobfile_rnd(sizeof(struct npu_jf_header)) :
				    w->offset + jobfile_rnd(w->size);

		copy[at] ^= 1u << i % 8;
		seen += jobfile_try(e, copy, e->size) != 0;
		copy[at] ^= 1u << i % 8;
	}
	tap_ok(seen == n, "%u of %u changed bits are seen", seen, n);
	free(copy);
}

static void c_magic(unsigned char *f, size_t n) { f[1] = 'X'; }
static void c_major(unsigned char *f, size_t n)
{
	JF_HEADER(f)->major = 2;
	JF_HEADER(f)->runtime_minor = 9;
}
static void c_runtime(unsigned char *f, size_t n)
{
	JF_HEADER(f)->runtime_major = 3;
	JF_HEADER(f)->runtime_minor = 7;
}
static void c_isa(unsigned char *f, size_t n) { JF_HEADER(f)->isa_minor = 40; }
static void c_feature(unsigned char *f, size_t n) { JF_HEADER(f)->features = 0x10; }
static void c_sram(unsigned char *f, size_t n) { JF_HEADER(f)->sram_size = 16; }
static void c_opcodes(unsigned char *f, size_t n) { memset(JF_HEADER(f)->opcodes, 0, 32); }
static void c_required(unsigned char *f, size_t n)
{
	jobfile_section(f, NPU_JF_REPORT)->flags = 1;
	jobfile_section(f, NPU_JF_REPORT)->type = 77;
}
static void c_twice(unsigned char *f, size_t n)
{
	jobfile_section(f, NPU_JF_REPORT)->type = NPU_JF_RECORD;
}
static void c_missing(unsigned char *f, size_t n)
{
	struct npu_jf_section *s = jobfile_section(f, NPU_JF_STREAMS);
	s->type = 78;
	s->flags = 0;
}
static void c_overlap(unsigned char *f, size_t n)
{
	jobfile_section(f, NPU_JF_REGIONS)->offset -= 64;
}
static void c_beyond(unsigned char *f, size_t n)
{
	jobfile_section(f, NPU_JF_WEIGHTS)->size += 4096;
}
static void c_align(unsigned char *f, size_t n) { jobfile_section(f, NPU_JF_TENSORS)->align = 3; }
static void c_records(unsigned char *f, size_t n) { jobfile_section(f, NPU_JF_TENSORS)->count++; }
static void c_string(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_TENSORS, 0, struct npu_jf_tensor)->name = 99999;
}
static void c_dtype(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_TENSORS, 0, struct npu_jf_tensor)->dtype = NPU_U4;
}
static void c_rank(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_TENSORS, 1, struct npu_jf_tensor)->rank = 9;
}
static void c_region(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_TENSORS, 1, struct npu_jf_tensor)->region = 5;
}
static void c_dim(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_TENSORS, 1, struct npu_jf_tensor)->dim[1].base = 5;
}
static void c_dim0(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_TENSORS, 1, struct npu_jf_tensor)->dim[1].base = 0;
}
static void c_factor(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_TENSORS, 0, struct npu_jf_tensor)->dim[0].factor[0] = -1;
}
static void c_symbol(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_TENSORS, 0, struct npu_jf_tensor)->dim[0].sym[0] = 3;
}
static void c_bounds(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_SYMBOLS, 0, struct npu_jf_symbol)->max = 17;
}
static void c_min(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_SYMBOLS, 0, struct npu_jf_symbol)->min = 0;
}
static void c_role(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_REGIONS, 3, struct npu_jf_region)->role = 9;
}
static void c_access(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_REGIONS, 0, struct npu_jf_region)->access = 3;
}
static void c_weights(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_REGIONS, 0, struct npu_jf_region)->offset = 16;
}
static void c_small(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_REGIONS, 2, struct npu_jf_region)->size.base = 100;
}
static void c_output(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_REGIONS, 4, struct npu_jf_region)->access = 1;
}
static void c_step(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_SCHEDULE, 0, struct npu_jf_step)->kind = 3;
}
static void c_no_step(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_PROGRAMS, 0, struct npu_jf_program)->num_steps = 0;
}
static void c_no_host(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_SCHEDULE, 0, struct npu_jf_step)->kind = 2;
}
static void c_stream(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_SCHEDULE, 0, struct npu_jf_step)->size += 64;
}
static void c_range(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_PROGRAMS, 0, struct npu_jf_program)->num_regions = 6;
}
static void c_tags(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_DEBUGMAP, 1, struct npu_jf_debug)->tag = 10;
}
static void c_code_scale(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_DEBUGMAP, 0, struct npu_jf_debug)->scale = -1;
}
static void c_key(unsigned char *f, size_t n)
{
	JF_RECORD(f, NPU_JF_RECORD, 0, struct npu_jf_record)->key = 0;
}
static void c_insn(unsigned char *f, size_t n)
{
	f[jobfile_section(f, NPU_JF_STREAMS)->offset + sizeof(struct npu_stream_header)] = 0xee;
}

static const struct jobfile_change changes[] = {
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

/* Programs that stood for the same records would multiply the work of loading. */
static void test_shared(const struct fixture *f, struct jobfile_env *e)
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
	if (!tap_ok(!npu_jobfile_encode(&job, &data, &size, &e->err), "two programs"))
		return;
	file = data;
	prog = JF_RECORD(file, NPU_JF_PROGRAMS, 1, struct npu_jf_program);
	tap_ok(!jobfile_try(e, file, size), "load");
	prog->first_tensor = 0;
	prog->num_tensors *= 2;
	jobfile_repair(file, size);
	tap_ok(jobfile_try(e, file, size) == -EINVAL && strstr(e->err.text, "section TENSORS"),
	       "%s", e->err.text);
	prog->num_tensors /= 2;
	prog->first_tensor = prog->num_tensors;
	step = JF_RECORD(file, NPU_JF_SCHEDULE, 1, struct npu_jf_step);
	step->offset = 0;
	step->size *= 2;
	jobfile_repair(file, size);
	tap_ok(jobfile_try(e, file, size) == -EINVAL && strstr(e->err.text, "stream is another"),
	       "%s", e->err.text);
	free(data);
}

/* Bytes that come along: read back as they were, and guarded by their sum. */
static void test_metadata(const struct fixture *f, struct jobfile_env *e)
{
	static const unsigned char bytes[] = { 0, 1, 2, 255, 0, 7, 'x' };
	struct npu_jobfile job = f->job, *back;
	const struct npu_jf_header *h;
	unsigned char *file;
	void *data;
	size_t size;

	job.metadata = bytes;
	job.metadata_size = sizeof(bytes);
	if (!tap_ok(!npu_jobfile_encode(&job, &data, &size, &e->err), "metadata"))
		return;
	file = data;
	h = data;
	tap_ok(h->major == 1 && h->minor == 2 && !jobfile_try(e, file, size),
	       "format 1.2, and it loads");
	if (tap_ok(!npu_jobfile_parse(data, size, 0, &back, &e->err), "parse")) {
		tap_ok(back->metadata_size == sizeof(bytes) &&
		       !memcmp(back->metadata, bytes, sizeof(bytes)), "the bytes come back");
		npu_jobfile_free(back);
	}
	file[jobfile_section(file, NPU_JF_METADATA)->offset + 3] ^= 1;
	tap_ok(jobfile_try(e, file, size) == -EBADMSG && strstr(e->err.text, "section METADATA"),
	       "%s", e->err.text);
	free(data);
	job.metadata = NULL;
	tap_ok(npu_jobfile_encode(&job, &data, &size, &e->err) == -EINVAL &&
	       strstr(e->err.text, "metadata is NULL"), "%s", e->err.text);
}

/*
 * What a newer minor version may do: more fields at the end of records and header, sections that
 * can be skipped.
 */
static void test_newer_minor(struct jobfile_env *e)
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
	jobfile_repair(big, at);
	tap_ok(!jobfile_try(e, big, at),
	       "a newer format 1.x with longer records and an unknown optional section loads: %s",
	       e->err.text);
	tap_ok(at < room, "(%zu bytes)", at);
	free(big);
}

static void test_digest(struct jobfile_env *e)
{
	struct npu_job *job;
	unsigned char *copy = malloc(e->size);

	tap_ok(!npu_job_load_memory(e->dev, e->good, e->size, "f", NPU_JOB_CHECK_DIGEST, &job,
				    &e->err),
	       "the digest is right");
	npu_job_unload(job);
	memcpy(copy, e->good, e->size);
	copy[jobfile_section(copy, NPU_JF_WEIGHTS)->offset]++;
	tap_ok(jobfile_try(e, copy, e->size) == -EBADMSG && strstr(e->err.text, "WEIGHTS"),
	       "changed weights: %s", e->err.text);
	tap_ok(!npu_job_load_memory(e->dev, copy, e->size, "f", NPU_JOB_SKIP_WEIGHTS_CRC, &job,
				    &e->err),
	       "loads unread");
	npu_job_unload(job);
	jobfile_repair(copy, e->size);
	tap_ok(npu_job_load_memory(e->dev, copy, e->size, "f", NPU_JOB_CHECK_DIGEST, &job,
				   &e->err) == -EBADMSG,
	       "with sums made good: %s", e->err.text);
	free(copy);
}

static void test_save(const struct fixture *f, struct jobfile_env *e)
{
	const char *path = tmp_path("job.npu"), *link = tmp_path("job.link");
	const char *none = tmp_path("none/x.npu");
	struct npu_job *job;
	struct stat st;

	close(creat(path, 0600));
	tap_ok(!npu_jobfile_save(&f->job, path, &e->err), "save over an old file");
	tap_ok(!npu_job_load(e->dev, path, NPU_JOB_CHECK_DIGEST, &job, &e->err) &&
		       !jobfile_run(e, job),
	       "load from a path and run");
	npu_job_unload(job);
	tap_ok(!symlink(path, link) && !npu_jobfile_save(&f->job, link, &e->err) &&
	       !lstat(link, &st) && S_ISLNK(st.st_mode), "save through a link, which stays one");
	tap_ok(!npu_jobfile_save(&f->job, "/dev/null", &e->err) && !stat("/dev/null", &st) &&
	       S_ISCHR(st.st_mode), "save to a device, which stays one");
	tap_ok(npu_jobfile_save(&f->job, none, &e->err) == -ENOENT && strstr(e->err.text, none),
	       "no directory: %s", e->err.text);
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

int main(void)
{
	struct npu_device_options opt = { .size = sizeof(opt), .host_ops = fixture_ops,
					  .num_host_ops = FIXTURE_OPS };
	struct fixture f;
	struct jobfile_env e = { .good = NULL };

	tiny_make(&f);
	/* A small file: its weights are what the model needs and no more. */
	f.job.weights_size = 272;
	f.regions[0].size = NPU_JOBFILE_CONST(272);
	e.good = fixture_encode(&f, &e.size);
	if (npu_device_open("sim:threads=1", &opt, &e.dev, &e.err) ||
	    npu_queue_create(e.dev, NULL, &e.queue, &e.err)) {
		tap_ok(0, "open: %s", e.err.text);
		return tap_done();
	}
	tap_ok(!jobfile_try(&e, e.good, e.size), "the good file loads");
	tap_ok(JF_HEADER(e.good)->minor == 0 && JF_HEADER(e.good)->num_sections == 11,
	       "a file without host steps is one of format 1.0");
	test_sums();
	jobfile_repeat(&f, &e);
	test_save(&f, &e);
	JOBFILE_CHANGES(&e, changes);
	test_shared(&f, &e);
	test_metadata(&f, &e);
	test_newer_minor(&e);
	test_digest(&e);
	jobfile_truncated(&e);
	test_bits(&e);
	jobfile_mutated(&e);
	jobfile_other(&e, host_make, jobfile_check_host);
	jobfile_other(&e, frame_make, jobfile_check_images);
	npu_queue_destroy(e.queue);
	npu_device_close(e.dev);
	free(e.good);
	fixture_free(&f);
	return tap_done();
}
