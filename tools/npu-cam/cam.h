/* SPDX-License-Identifier: MIT */
/* npu-cam: what its files share. */
#ifndef NPU_CAM_H
#define NPU_CAM_H

#include <linux/videodev2.h>
#include <stdbool.h>
#include <stdint.h>
#include "npu_share.h"

#define MAX_BUFFERS	32
#define MAX_PLANES	2	/* memory planes of a frame: NV12M has two */

struct options {
	const char *camera;		/* /dev/videoN */
	const char *model;
	const char *device;		/* NULL: the first NPU */
	const char *heap;		/* NULL: the camera allocates */
	unsigned int buffers;
	unsigned int flight;		/* frames on the device at once */
	unsigned int frames;		/* 0: until interrupted */
	unsigned int fps;		/* asked for; 0: the camera's own */
	unsigned int stride;		/* bytes asked for; 0: the camera's own */
	unsigned int values;		/* of each output that are shown */
	const char *dump;		/* folder for frames and outputs, or NULL */
	bool copy;			/* one copy by the CPU for each frame */
	/* planes in memory of their own, where there is such a format */
	bool separate;
	bool json;			/* a line for each frame */
};

/* 0: go on; else the exit status, with -1 for success. */
int options_parse(struct options *opt, int argc, char **argv);

/* What the job wants of a camera. */
struct format {
	uint32_t fourcc;
	uint32_t width, height;
};

/* A frame's memory in one plane of the camera's. */
struct plane {
	int fd;				/* dma-buf, -1: none */
	uint64_t bytes;			/* of the dma-buf */
	void *map;			/* --copy only */
};

/* camera.c: a V4L2 device that captures. */
struct camera {
	int fd;
	bool mplane;			/* the API of several planes */
	uint32_t type, memory;
	char card[64];
	uint32_t fourcc;		/* as the camera has it: NV12M for NV12 */
	double fps;			/* that it says it does; 0: it does not say */
	unsigned int num_planes;	/* of memory */
	struct {
		uint32_t stride, bytes;
	} plane[MAX_PLANES];
	unsigned int num_buffers;
	struct plane frame[MAX_BUFFERS][MAX_PLANES];
};

/* What VIDIOC_DQBUF says. */
struct frame_info {
	unsigned int index;
	uint32_t sequence;
	bool broken;			/* the camera marked it so */
	uint32_t offset[MAX_PLANES];	/* of the picture in its plane */
};

/* Nothing is open: before all others, camera_close() among them. */
void camera_init(struct camera *cam);
/* All return 0, or a negative errno with the reason. */
int camera_open(struct camera *cam, const struct options *opt, const struct format *want,
		struct npu_error *err);
void camera_close(struct camera *cam);
/* Buffers with dma-bufs or, with opt->copy, mapped. */
int camera_allocate(struct camera *cam, const struct options *opt, struct npu_error *err);
int camera_queue(struct camera *cam, unsigned int index, struct npu_error *err);
/* -EAGAIN: there is none yet. */
int camera_dequeue(struct camera *cam, struct frame_info *info, struct npu_error *err);
int camera_start(struct camera *cam, struct npu_error *err);
void camera_stop(struct camera *cam);

/*
 * What a frame went through, CLOCK_MONOTONIC in ns: it was seen to be there, dequeued, given to the
 * NPU (behind its copy, with --copy), and done with.
 */
struct stamps {
	uint64_t there, dequeued, given, done;
};

/* A buffer of the camera's, its import, and the run that is bound to it. */
struct slot {
	struct npu_buffer *buf[MAX_PLANES];
	struct npu_run *run;
	struct npu_fence *fence;
	struct frame_info info;
	struct stamps at;
};

struct stream {
	const struct options *opt;
	struct camera cam;
	struct npu_device *dev;
	struct npu_job *job;
	struct npu_queue *queue;
	struct npu_image_info image;	/* of the job */
	struct slot slot[MAX_BUFFERS];
	unsigned int flight[MAX_BUFFERS];	/* slots on the device, oldest first */
	unsigned int num_flight;
	int done;			/* eventfd: a job has ended */
	unsigned int frames, broken, dropped;
	uint64_t copied;		/* bytes, by the CPU */
	uint32_t last_sequence;
	uint64_t started, ended, woken;
	struct stats *stats;
	struct npu_error err;
};

/* stream.c; exit status */
int stream_run(struct stream *s);

/* bind.c: imports, and runs that are bound to them. */
int stream_bind(struct stream *s);
/* A frame begins elsewhere in its plane than it did. */
int slot_rebind(struct stream *s, struct slot *slot, const struct frame_info *info);
/* --copy: the frame into memory of the NPU's. */
int slot_copy(struct stream *s, unsigned int index);

/* report.c: JSON lines. */
struct stats *stats_new(void);
void stats_free(struct stats *stats);
void stats_add(struct stats *stats, const struct stamps *at);
int report_frame(struct stream *s, struct slot *slot);
int report_summary(struct stream *s);

/* interrupt.c: Ctrl-C and SIGTERM end the stream. */
int interrupt_init(struct npu_error *err);
/* Becomes readable. */
int interrupt_fd(void);
bool interrupted(void);

int fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
