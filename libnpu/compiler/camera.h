/* SPDX-License-Identifier: MIT */
/*
 * Camera frames as model inputs: what --input-format says (camera_text.c), the planes that take the
 * input's place in a graph (camera.c), and the instructions (lower_camera.c).
 */
#ifndef NPU_COMPILER_CAMERA_H
#define NPU_COMPILER_CAMERA_H

#include "compiler/graph.h"
#include "npu_isa.h"

/* How the bytes of a pixel format lie. One row of the table in camera_text.c. */
struct npu_camera_format {
	const char *name;
	const char *help;
	uint32_t fourcc;
	enum npu_color color;		/* the layout */
	unsigned int num_planes;
	unsigned int pixel_bytes;	/* of the first plane */
	bool yuv;
	bool swap;			/* luma comes second in a pair */
	bool v_first;			/* what the layout calls u is v */
	unsigned int even_w, even_h;	/* the frame's size is a multiple of these */
};

enum npu_camera_fit { NPU_FIT_STRETCH, NPU_FIT_LETTERBOX, NPU_FIT_CROP, NPU_NUM_FITS };
enum npu_camera_matrix { NPU_MATRIX_BT601, NPU_MATRIX_BT709, NPU_NUM_MATRICES };
enum npu_camera_range { NPU_RANGE_LIMITED, NPU_RANGE_FULL, NPU_NUM_RANGES };

struct npu_camera {
	const char *text;		/* the option, as given */
	char *input;			/* malloc'ed; "": the model has one */
	const char *spec;		/* what comes behind the input's name, in @text */
	const struct npu_camera_format *format;
	uint32_t width, height;		/* of the frame */
	uint32_t crop[4];		/* x, y, width, height */
	bool boxed;			/* every run says which part: crop=box */
	enum npu_camera_fit fit;
	double pad[3];			/* red, green, blue, 0 .. 255 */
	enum npu_camera_matrix matrix;
	enum npu_camera_range range;
	uint32_t stride;		/* of the first plane; 0: given at run time */
	bool bgr;			/* the model's channels */
	bool has_norm;			/* one of the next three was given */
	double scale, mean[3], std[3];	/* value = (colour * scale - mean) / std, by channel */
};

/* Frames up to so many pixels wide and high, and rows up to how many times their bytes apart. */
#define NPU_CAMERA_MAX_SIZE	16384
#define NPU_CAMERA_MAX_APART	4

/*
 * Parse @count options. *@cameras is freed with npu_camera_free(); its strings point into @text.
 * Returns 0, -EINVAL (the option and what is wrong with it are in @diag) or -ENOMEM.
 */
int npu_camera_parse(const char *const *text, unsigned int count, struct npu_camera **cameras,
		     struct npu_diag *diag);
void npu_camera_free(struct npu_camera *cameras, unsigned int count);

/*
 * Put frames in place of the inputs of @g that @cameras name: plane inputs, and a node that
 * computes the input from them. After the graph passes and the choice of what becomes int8, which
 * see the model as it is. Returns 0, -EINVAL (reported) or -ENOMEM.
 */
int npu_camera_insert(struct npu_graph *g, const struct npu_camera *cameras, unsigned int count,
		      struct npu_diag *diag);

/* Bytes of a row and rows of plane @k. */
void npu_camera_plane(const struct npu_camera *c, unsigned int k, uint32_t *row_bytes,
		      uint32_t *rows);

/*
 * Which dimension of an input's shape has its channels, 1 or 3; -1: it is no picture of rank 4 and
 * known size with three channels (colours) or one (grey).
 */
int npu_camera_channel_axis(const struct npu_gtensor *t);

/* Where the picture lies in an input: the box of the frame, and the place in the input. */
struct npu_camera_place {
	float box[4];			/* y0, x0, y1, x1, in pixels of the frame */
	int64_t y, x, height, width;	/* of the input */
};
void npu_camera_fit(const struct npu_camera *c, int64_t height, int64_t width,
		    struct npu_camera_place *place);

/*
 * The 18 numbers of COLOR: offsets, matrix to red, green and blue in the model's order, or to
 * three times grey, and what makes the input's values of colours from 0 to 255; for an input of
 * type u8 (@bytes) the colours, rounded by the truncation of the store.
 */
void npu_camera_coefficients(const struct npu_camera *c, bool grey, bool bytes, float m[18]);
/* The colour of the padding in channel @k of the model's, from 0 to 255. */
float npu_camera_padding(const struct npu_camera *c, bool grey, int k);

#endif
