/* SPDX-License-Identifier: MIT */
/*
 * A pipeline of two models on one frame: a detector, a small job that picks the surest of its
 * boxes, and a second model that is fed with that part of the same frame. See
 * Documentation/pipeline.md.
 */
#ifndef PIPELINE_H
#define PIPELINE_H

#include <npu_share.h>
#include <stdbool.h>
#include <stdint.h>

#define MAX_SLOTS	32

/* The jobs of a frame, in their order. */
enum { DETECT, SELECT, REFINE, NUM_STAGES };

struct options {
	const char *model[NUM_STAGES];	/* job files */
	const char *file;		/* raw frames, one behind the other; NULL: a camera */
	const char *camera;		/* /dev/videoN */
	const char *heap;		/* --file: frames of /dev/dma_heap/NAME; NULL: the NPU's */
	const char *npu;		/* NULL: the first one */
	const char *dump;		/* folder for what goes in and comes out, or NULL */
	unsigned int frames;		/* in all */
	unsigned int flight;		/* on the NPU at once */
	bool wait;			/* the CPU waits for each stage, to compare */
	bool json;			/* a line for each frame */
	bool points;			/* what the second model says are points in its input */
};

/* A frame's memory, and the runs that are bound to it for good. */
struct slot {
	struct npu_buffer *frame;
	struct npu_run *run[NUM_STAGES];
	struct npu_fence *fence[NUM_STAGES];
	uint64_t taken;			/* CLOCK_MONOTONIC, ns */
};

struct pipeline {
	const struct options *opt;
	const struct source *source;
	struct npu_device *dev;
	struct npu_job *job[NUM_STAGES];
	struct npu_queue *queue[2];	/* of the first two stages, and of the last */
	struct npu_image_info image;	/* what the models were compiled for */
	uint32_t stride;		/* from row to row of a frame */
	struct slot slot[MAX_SLOTS];
	unsigned int num_slots;
	unsigned int flight[MAX_SLOTS];	/* slots on the NPU, oldest first */
	unsigned int num_flight;
	unsigned int taken, frames;	/* so far */
	unsigned int most_in_flight;
	int done;			/* eventfd: a frame is done with */
	int video;			/* the camera's descriptor, -1: none */
	double *latency;		/* of each frame, us */
	uint64_t busy;			/* ns that its jobs had the NPU, of all frames */
	uint64_t started, ended;
	struct npu_error err;
};

/* Where frames come from: it fills in stride, num_slots and the frame of each slot. */
struct source {
	int (*open)(struct pipeline *p);
	/* The slot of the next frame; -EAGAIN: wait for fd(). */
	int (*take)(struct pipeline *p, unsigned int *slot);
	/* Nobody looks at the slot's frame any more. */
	int (*give)(struct pipeline *p, unsigned int slot);
	int (*fd)(const struct pipeline *p);	/* readable: there is a frame; -1: always */
	void (*close)(struct pipeline *p);
};

extern const struct source file_source, camera_source;

/* pipeline.c; 0 or a negative errno with the reason in p->err. */
int pipeline_run(struct pipeline *p);

/* report.c */
int report_frame(struct pipeline *p, struct slot *slot);
void report_summary(struct pipeline *p);

/* Returns @code, with the reason in @err. */
int fail(struct npu_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
