/* SPDX-License-Identifier: MIT */
/* npu-run --doctor: what its files share. */
#ifndef NPU_RUN_DOCTOR_H
#define NPU_RUN_DOCTOR_H

#include "run.h"

/* NONE is no fault: it is not there and nothing needs it. */
enum state { STATE_GOOD, STATE_NONE, STATE_WRONG };

struct line {
	const char *topic;		/* a literal, or an argument of the program */
	enum state state;
	char text[768];
	char advice[512];		/* with STATE_WRONG: what to do */
};

struct doctor {
	const struct options *opt;
	const char *root;		/* "", or where another file system is looked at */
	struct npu_device *dev;		/* NULL: none could be opened */
	struct npu_device_info info;
	struct line *line;
	size_t num, room;
	bool no_memory;
};

/* Add a line. @advice is needed with STATE_WRONG and is NULL otherwise. */
__attribute__((format(printf, 5, 6)))
void doctor_say(struct doctor *d, enum state state, const char *topic, const char *advice,
		const char *fmt, ...);

/* One fact each, in the order of the table in doctor.c. */
void doctor_library(struct doctor *d);
void doctor_shared_library(struct doctor *d);
void doctor_compiler(struct doctor *d);
void doctor_instructions(struct doctor *d);
void doctor_formats(struct doctor *d);
void doctor_host_ops(struct doctor *d);
void doctor_driver(struct doctor *d);
void doctor_firmware(struct doctor *d);
void doctor_nodes(struct doctor *d);
void doctor_device(struct doctor *d);
void doctor_processor(struct doctor *d);
/* A job file against all of that. */
void doctor_file(struct doctor *d, const char *path);

#endif
