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

/* An input of the model that the job takes as a camera's frame. */
struct check_frame {
	const char *name;		/* the job's */
	uint32_t pictures, height, width;
	uint32_t channels;		/* 3, or 1: grey */
	bool channels_first;
	/* [pictures][height][width][channels], made by the formulas */
	float *picture;
};

/* Everything that --check found out. */
struct check_report {
	const struct options *opt;
	const char *type;		/* "f16", "int8", ...: the coarsest type in the job */
	double max_error, min_cosine;	/* the limits in force */
	bool reference;			/* there is a job in f32 to compare with */
	struct check_layers job, ref;
	npu_u64 step;			/* of the oracle's sample */
	struct check_frame frame[MAX_ITEMS];
	unsigned int num_frames;
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

/*
 * The frames that the job has got, as the formulas make pictures of them: to the inputs of the
 * model, @ref of @job, and to @r->frame. 0, or 1 after a message; check_frames_free() in either
 * case.
 */
int check_frames_convert(struct session *s, struct npu_run *ref, const struct npu_job *job,
			 struct check_report *r);
/* Fill in the fp32 of the job's layers that make pictures of frames. */
void check_frames_compare(struct check_report *r);
void check_frames_free(struct check_report *r);

/* Fill in type, limits and verdict. */
void check_judge(struct check_report *r);

void check_print_text(const struct check_report *r);
int check_print_json(const struct check_report *r);
/* To stderr, why the exit status is 1. */
void check_print_reasons(const struct check_report *r);

#endif
