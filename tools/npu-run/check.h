/* SPDX-License-Identifier: MIT */
/* npu-run --check: what its files share. */
#ifndef NPU_RUN_CHECK_H
#define NPU_RUN_CHECK_H

#include "run.h"
#include "tools/check/layers.h"

/* A model output in both jobs. */
struct check_output {
	const char *name;		/* the job's */
	struct check_difference fp32;
};

/* Everything that --check found out. */
struct check_report {
	const struct options *opt;
	const char *type;		/* "f16", "int8", ...: the coarsest type in the job */
	double max_error, min_cosine;	/* the limits in force */
	bool reference;			/* there is a job in f32 to compare with */
	struct check_layers job, ref;
	npu_u64 step;			/* of the oracle's sample */
	struct check_output *output;
	unsigned int num_outputs;
	double seconds;
	/* Verdict: layers, -1 when there is none. */
	long first_differs, first_bad, ref_differs;
	bool bad_output;
	bool ok;
};

/* Whether a difference is within the limits of the report. */
bool check_within(const struct check_report *r, const struct check_difference *d);

/* Fill in type, limits and verdict. */
void check_judge(struct check_report *r);

void check_print_text(const struct check_report *r);
int check_print_json(const struct check_report *r);
/* To stderr, why the exit status is 1. */
void check_print_reasons(const struct check_report *r);

#endif
