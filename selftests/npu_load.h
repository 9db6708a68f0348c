/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Load: processes that submit jobs, wait for each and compare what it wrote with what it should
 * have, while something happens to the device.
 */
#ifndef NPU_LOAD_H
#define NPU_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NPU_LOAD_MAX	8

/* What one process has seen so far. In memory that it shares with the one that started it. */
struct npu_load_count {
	uint64_t good;		/* jobs that ended well, with the right data */
	uint64_t innocent;	/* jobs lost to a reset that they did not cause */
	uint64_t gone;		/* times that a call or a fence said -ENODEV */
	uint64_t hung;		/* jobs ended as they made no progress */
	uint64_t opened;	/* times that the device was opened */
	uint64_t bad;		/* anything else; why says what came first */
	char why[128];
};

struct npu_load_shared;

/* What is not bad: that the device goes, and is opened again; that a job hangs. */
#define NPU_LOAD_MAY_GO		1u
#define NPU_LOAD_MAY_HANG	2u

/* Processes under load; npu_load_stop() releases what it holds. */
struct npu_load {
	unsigned int num;
	unsigned int may;
	pid_t pid[NPU_LOAD_MAX];
	uint64_t opened[NPU_LOAD_MAX];	/* how often, when progress was last waited for */
	struct npu_load_shared *shared;
};

/*
 * Start @num processes; @may: NPU_LOAD_MAY_*. 0 or a negative errno, and then there is none.
 */
int npu_load_start(struct npu_load *load, unsigned int num, unsigned int may);

/*
 * Wait until each process has had @jobs more good ones; and has opened the device again since the
 * last call, if @reopened. 0, -ETIMEDOUT after @seconds, -EIO when one has seen something bad.
 */
int npu_load_progress(struct npu_load *load, unsigned int jobs, bool reopened, double seconds);

/* End all; sum of what they saw. @sum->why is the first reason there is. */
void npu_load_stop(struct npu_load *load, struct npu_load_count *sum);

/* Data that goes with @seed; @size in bytes, a multiple of 4. */
void npu_load_fill(uint8_t *data, size_t size, uint32_t seed);
bool npu_load_same(const uint8_t *data, size_t size, uint32_t seed);

#endif
