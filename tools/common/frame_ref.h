/* SPDX-License-Identifier: MIT */
/*
 * Camera frames to pictures, written from the formulas of Documentation/camera.md pixel by pixel,
 * for comparison with what the compiler makes of --input-format: by npu-run --check, and by the
 * tests. Slow.
 */
#ifndef TOOLS_COMMON_FRAME_REF_H
#define TOOLS_COMMON_FRAME_REF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame_spec {
	const char *format;		/* "nv12", ... */
	int width, height;
	int crop[4];			/* x, y, width, height */
	bool boxed;			/* crop=box instead: frame_cut() */
	const char *fit;		/* "stretch", "letterbox", "crop" */
	double pad[3];
	const char *matrix, *range;	/* of YUV formats */
	bool grey;			/* the model has one channel */
	bool bgr, norm;			/* norm: scale, mean and std are in the text */
	double scale, mean[3], std[3];
	int stride;			/* that it is compiled for; 0: any */
};

/* All of the frame, and what the compiler takes when nothing is said. */
void frame_default(struct frame_spec *s, const char *format, int width, int height);
int frame_planes(const struct frame_spec *s);
/* Bytes of a row and rows of plane @k. */
void frame_plane(const struct frame_spec *s, int k, size_t *row, size_t *rows);
/* Bytes of a frame without gaps. */
size_t frame_bytes(const struct frame_spec *s);
/*
 * A frame without gaps to @out, [height][width][3], or [1] with grey; @bytes: rounded colours for
 * an input of type u8.
 */
void frame_picture(const struct frame_spec *s, const uint8_t *frame, int height, int width,
		   bool bytes, float *out);
/* The same of a box, any four floats: y0, x0, y1, x1 in pixels. */
void frame_cut(const struct frame_spec *s, const uint8_t *frame, const float box[4], int height,
	       int width, bool bytes, float *out);

#endif
