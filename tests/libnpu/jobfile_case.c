// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <errno.h>
#include <string.h>
#include <zlib.h>
#include "jobfile_case.h"
#include "tap.h"

struct npu_jf_section *jobfile_section(unsigned char *file, npu_u32 type)
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
void jobfile_repair(unsigned char *file, size_t size)
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
int jobfile_run(struct jobfile_env *e, struct npu_job *job)
{
	struct npu_fence *fence;
	struct npu_run *run;
	int64_t dims[2] = { 3, 4 };
	int ret;

	if (npu_run_create(job, &run, &e->err))
		return -1;
	npu_run_set_shape(run, "x", 2, dims, &e->err);
	ret = npu_queue_submit(e->queue, run, NULL, &fence, &e->err);
	if (!ret) {
		ret = npu_fence_wait(fence, npu_deadline_after(20000000000u), &e->err);
		npu_fence_put(fence);
	}
	npu_run_destroy(run);
	return ret;
}

static unsigned int faults;	/* of files that were verified: there must be none */

int jobfile_try(struct jobfile_env *e, const void *data, size_t size)
{
	struct npu_job *job;
	int ret;

	memset(&e->err, 0, sizeof(e->err));
	ret = npu_job_load_memory(e->dev, data, size, "f.npu", 0, &job, &e->err);
	if (!ret) {
		if (jobfile_run(e, job) == -EIO && !faults++)
			tap_diag("fault of a verified stream: %s", e->err.text);
		npu_job_unload(job);
	}
	return ret;
}

void jobfile_truncated(struct jobfile_env *e)
{
	size_t n, clean = 0;

	for (n = 0; n < e->size; n++) {
		int ret = jobfile_try(e, e->good, n);

		clean += ret == -EBADMSG && *e->err.text;
	}
	tap_ok(clean == e->size, "%zu of %zu truncations are refused as damaged, with a reason",
	       clean, e->size);
}

static npu_u32 seed = 1;

npu_u32 jobfile_rnd(npu_u32 n)
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
	size_t k, n = 1 + jobfile_rnd(3);

	for (k = 0; k < n; k++) {
		/* The weights at the end may be anything. */
		size_t at = jobfile_rnd(8) ? jobfile_rnd(4096 < size ? 4096 : size) :
					     jobfile_rnd(size);
		npu_u64 v = nasty[jobfile_rnd(sizeof(nasty) / sizeof(nasty[0]))];
		size_t len = 1u << jobfile_rnd(4);

		switch (jobfile_rnd(3)) {
		case 0:
			file[at] ^= 1u << jobfile_rnd(8);
			break;
		case 1:
			at &= ~(len - 1);
			memcpy(file + at, &v, at + len <= size ? len : 1);
			break;
		default:
			file[at] = jobfile_rnd(256);
			break;
		}
	}
}

/* The weights shrink to one page, so that most of a file is structure. */
void jobfile_mutated(struct jobfile_env *e)
{
	unsigned int i, n = tap_long() ? 200000 : 10000, refused = 0, silent = 0, ran = 0;
	unsigned char *copy = malloc(e->size);

	for (i = 0; i < n; i++) {
		int ret;

		memcpy(copy, e->good, e->size);
		mutate(copy, e->size);
		if (i % 8)
			jobfile_repair(copy, e->size);
		ret = jobfile_try(e, copy, e->size);
		refused += ret != 0;
		ran += !ret;
		silent += ret && !*e->err.text;
	}
	tap_ok(!silent && refused + ran == n,
	       "%u mutations: %u refused, each with a reason, %u run", n, refused, ran);
	tap_ok(!faults, "%u faults of streams that the verifier had passed", faults);
	tap_ok(refused > n / 4 && ran > n / 100, "both are frequent");
	free(copy);
}

void jobfile_repeat(const struct fixture *f, struct jobfile_env *e)
{
	size_t size;
	void *again = fixture_encode(f, &size);

	tap_ok(size == e->size && !memcmp(again, e->good, size),
	       "the same description gives the same bytes");
	free(again);
}

void jobfile_changes(struct jobfile_env *e, const struct jobfile_change *c, size_t n)
{
	unsigned char *copy = malloc(e->size);
	size_t i;
	int ret;

	for (i = 0; i < n; i++) {
		memcpy(copy, e->good, e->size);
		c[i].fn(copy, e->size);
		jobfile_repair(copy, e->size);
		ret = jobfile_try(e, copy, e->size);
		tap_ok(ret == c[i].ret && e->err.code == ret && strstr(e->err.text, c[i].text),
		       "%s: %s", c[i].what, e->err.text);
	}
	free(copy);
}

/* The file of another fixture than the tiny one: its own checks, and what holds of any file. */
void jobfile_other(const struct jobfile_env *e, void (*make)(struct fixture *f),
		   void (*check)(struct jobfile_env *e, const struct fixture *f))
{
	struct jobfile_env other = *e;
	struct fixture f;

	make(&f);
	other.good = fixture_encode(&f, &other.size);
	check(&other, &f);
	jobfile_repeat(&f, &other);
	jobfile_truncated(&other);
	jobfile_mutated(&other);
	free(other.good);
	fixture_free(&f);
}
