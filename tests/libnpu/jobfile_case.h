/* SPDX-License-Identifier: MIT */
/*
 * Job files that something was done to: a clean error that names what is wrong, or a right run.
 * What begins with "tests" here reports TAP results.
 */
#ifndef TESTS_JOBFILE_CASE_H
#define TESTS_JOBFILE_CASE_H

#include "core/jobfile_format.h"
#include "fixture.h"

/* A good file, and what it is tried with; the last error. */
struct jobfile_env {
	struct npu_device *dev;
	struct npu_queue *queue;
	unsigned char *good;
	size_t size;
	struct npu_error err;
};

/* What is wrong with a file after @fn has changed it: the error, and a part of its text. */
struct jobfile_change {
	const char *what;
	void (*fn)(unsigned char *file, size_t size);
	int ret;
	const char *text;
};

#define JF_HEADER(f)	((struct npu_jf_header *)(f))
#define JF_RECORD(f, t, i, type) ((type *)((f) + jobfile_section(f, t)->offset) + (i))

/* Ends the test when there is none of that type. */
struct npu_jf_section *jobfile_section(unsigned char *file, npu_u32 type);
/* Make all check sums right that lie within the file. */
void jobfile_repair(unsigned char *file, size_t size);
/* Numbers of a fixed sequence, 0 .. @n - 1. */
npu_u32 jobfile_rnd(npu_u32 n);
/* Run whatever was loaded, bounded in time. Returns 0 when it ended well. */
int jobfile_run(struct jobfile_env *e, struct npu_job *job);
/* Load it, and run it if that went well; the error of loading. */
int jobfile_try(struct jobfile_env *e, const void *data, size_t size);

/* Tests the file at every length that is less than its own. */
void jobfile_truncated(struct jobfile_env *e);
/* Tests it with some bytes changed at random, check sums made good most of the time. */
void jobfile_mutated(struct jobfile_env *e);
/* Tests that encoding @f again gives the same bytes. */
void jobfile_repeat(const struct fixture *f, struct jobfile_env *e);
/* Tests each of @n changes. */
void jobfile_changes(struct jobfile_env *e, const struct jobfile_change *c, size_t n);
#define JOBFILE_CHANGES(e, list) jobfile_changes(e, list, sizeof(list) / sizeof((list)[0]))
/* Tests the file of another fixture: @check, and then all that holds of any file. */
void jobfile_other(const struct jobfile_env *e, void (*make)(struct fixture *f),
		   void (*check)(struct jobfile_env *e, const struct fixture *f));

/* test_jobfile's other fixtures, each with changes of its own: host steps; images. */
void jobfile_check_host(struct jobfile_env *e, const struct fixture *f);
void jobfile_check_images(struct jobfile_env *e, const struct fixture *f);

#endif
