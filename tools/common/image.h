/* SPDX-License-Identifier: MIT */
/*
 * Pictures for the tools: 8-bit RGB, packed rows, top row first. Functions do not keep global state
 * and are safe to call from several threads on different images. On error they return a negative
 * errno, write a reason and leave their output image empty.
 */
#ifndef TOOLS_IMAGE_H
#define TOOLS_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#define NPU_IMAGE_SIDE_MAX	65500u			/* what JPEG can say */
#define NPU_IMAGE_PIXELS_MAX	(128u << 20)		/* 384 MiB of RGB */
#define NPU_IMAGE_FILE_MAX	((size_t)512 << 20)

struct npu_image {
	int width, height;	/* pixels, at least 1 when rgb is set */
	uint8_t *rgb;		/* width * height * 3 bytes, from malloc() */
};

struct npu_point {
	double x, y;		/* pixels; pixel centres lie at whole numbers */
};

/*
 * Allocate a picture of @width x @height, all bytes @fill. -EINVAL when a side is < 1 or beyond the
 * limits.
 */
int npu_image_alloc(struct npu_image *img, int width, int height, uint8_t fill,
		    struct npu_error *why);

/* Free the pixels and clear the struct; an empty image is fine. */
void npu_image_free(struct npu_image *img);

/*
 * Load a PNG or a JPEG, told apart by content and not by name. Every kind is brought to 8-bit RGB:
 * palettes and grey are expanded, 16 bits are scaled, transparency is laid on white, CMYK is
 * converted, and the EXIF orientation is applied. Errors: -EINVAL (neither PNG nor JPEG), -EBADMSG
 * (corrupt or truncated), -EFBIG (sides, pixels or file beyond the limits above), -ENOMEM, or what
 * opening the file said.
 */
int npu_image_load(const char *path, struct npu_image *img, struct npu_error *why);

/* The same from memory; @name is used in messages only. */
int npu_image_decode(const uint8_t *data, size_t len, const char *name, struct npu_image *img,
		     struct npu_error *why);

/* Write an 8-bit RGB PNG through a temporary file and a rename. */
int npu_image_save_png(const char *path, const struct npu_image *img, struct npu_error *why);

/*
 * Resize to @width x @height with the rounding of OpenCV's resize(INTER_LINEAR) on 8 bits:
 * half-pixel centres, edge pixels repeated, 11-bit weights, and an exact halving of both sides
 * averages 2x2 pixels.
 */
int npu_image_resize(const struct npu_image *src, int width, int height, struct npu_image *dst,
		     struct npu_error *why);

/* Copy a rectangle that must lie inside @src (-EINVAL otherwise). */
int npu_image_cut(const struct npu_image *src, int x, int y, int width, int height,
		  struct npu_image *dst, struct npu_error *why);

/* Rotate counter-clockwise by @quarters * 90 degrees (any integer). */
int npu_image_rotate(const struct npu_image *src, int quarters, struct npu_image *dst,
		     struct npu_error *why);

/* Apply an EXIF orientation (1..8; others are ignored) in place. */
int npu_image_orient(struct npu_image *img, int orientation, struct npu_error *why);

/*
 * The 3x3 matrix @m (row major, m[8] == 1) that maps four points from[i] to to[i]. -EDOM when three
 * of @from lie on one line, so that there is no such map.
 */
int npu_homography(const struct npu_point *from, const struct npu_point *to, double *m);

/*
 * Perspective warp: dst(x, y) = src(m * (x, y, 1)), so @m maps destination to source. Bicubic (a =
 * -0.75) on a 1/32 pixel grid with 15-bit weights, pixels beyond the edge repeat it: OpenCV's
 * warpPerspective(INTER_CUBIC, BORDER_REPLICATE).
 */
int npu_image_warp(const struct npu_image *src, const double m[9], int width, int height,
		   struct npu_image *dst, struct npu_error *why);

/*
 * How a picture becomes a float tensor: out = (value / 255 - mean[c]) / std[c], c in the order of
 * the tensor.
 */
struct npu_image_norm {
	float mean[3], std[3];
	int bgr;		/* channel 0 of the tensor is blue */
};

/*
 * Write @img to @out as [3][@rows][@cols] floats, the picture in the top left corner and @pad
 * elsewhere.
 * @rows >= height and @cols >= width are the caller's duty (-EINVAL otherwise).
 */
int npu_image_to_nchw(const struct npu_image *img, const struct npu_image_norm *norm, int rows,
		      int cols, float pad, float *out);

/*
 * The decoders behind npu_image_decode(). @orientation gets the EXIF value, 1 when there is none.
 */
int npu_image_decode_png(const uint8_t *data, size_t len, struct npu_image *img, int *orientation,
			 struct npu_error *why);
int npu_image_decode_jpeg(const uint8_t *data, size_t len, struct npu_image *img, int *orientation,
			  struct npu_error *why);

/* The orientation tag of a TIFF block as EXIF carries it; 1 when it is missing or malformed. */
int npu_image_exif_orientation(const uint8_t *tiff, size_t len);

/* -EFBIG or -EINVAL with a reason when a picture of this size is refused. */
int npu_image_check_size(uint64_t width, uint64_t height, struct npu_error *why);

#endif
