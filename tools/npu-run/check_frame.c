// SPDX-License-Identifier: MIT
/*
 * --check of a job that takes a camera's frames: the model beside it gets the tensor that the
 * formulas of Documentation/camera.md make of the same frame, pixel by pixel, not what the compiler
 * makes of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "compiler/camera.h"
#include "tools/common/frame_ref.h"

static int read_spec(const struct npu_image_info *img, struct frame_spec *spec)
{
	static const char *const fits[] = { [NPU_FIT_STRETCH] = "stretch",
					    [NPU_FIT_LETTERBOX] = "letterbox",
					    [NPU_FIT_CROP] = "crop" };
	struct npu_diag diag = { 0 };
	struct npu_camera *cam = NULL;
	int i, ret = npu_camera_parse(&img->spec, 1, &cam, &diag);

	if (ret) {
		fail("frame '%s': %s", img->name, npu_diag_text(&diag));
	} else {
		frame_default(spec, cam->format->name, (int)cam->width, (int)cam->height);
		for (i = 0; i < 4; i++)
			spec->crop[i] = (int)cam->crop[i];
		spec->fit = fits[cam->fit];
		spec->matrix = cam->matrix == NPU_MATRIX_BT709 ? "bt709" : "bt601";
		spec->range = cam->range == NPU_RANGE_FULL ? "full" : "limited";
		spec->boxed = cam->boxed;
		spec->bgr = cam->bgr;
		spec->scale = cam->scale;
		memcpy(spec->pad, cam->pad, sizeof(spec->pad));
		memcpy(spec->mean, cam->mean, sizeof(spec->mean));
		memcpy(spec->std, cam->std, sizeof(spec->std));
	}
	npu_camera_free(cam, cam ? 1 : 0);
	npu_diag_fini(&diag);
	return ret ? 1 : 0;
}

/* The planes are tensors of the job, the format is a text beside them: do these belong together? */
static int check_planes(struct session *s, unsigned int program, unsigned int index,
			const struct npu_image_info *img, const struct frame_spec *spec)
{
	struct npu_plane_info plane = NPU_INIT(plane);
	int k, num = frame_planes(spec);
	size_t row, rows;

	for (k = 0; !npu_job_plane(s->job, program, index, (unsigned int)k, &plane); k++) {
		frame_plane(spec, k, &row, &rows);
		if (k >= num || plane.row_bytes != row || plane.rows != rows)
			return fail("frame '%s': plane %d, %u rows of %u bytes, is none of %s",
				    img->name, k, plane.rows, plane.row_bytes, img->spec);
	}
	return k == num ? 0 : fail("frame '%s': %d planes, but %s has %d", img->name, k, img->spec,
				   num);
}

/* The frame without gaps, from malloc(); NULL after a message. */
static uint8_t *read_planes(struct session *s, unsigned int program, unsigned int index,
			    const struct frame_spec *spec)
{
	struct npu_plane_info plane = NPU_INIT(plane);
	uint8_t *frame = malloc(frame_bytes(spec)), *at = frame;
	unsigned int k;
	size_t bytes;

	if (!frame) {
		fail("no memory for a frame");
		return NULL;
	}
	for (k = 0; !npu_job_plane(s->job, program, index, k, &plane); k++, at += bytes) {
		bytes = (size_t)plane.rows * plane.row_bytes;
		if (npu_run_read(s->run, plane.name, at, bytes, &s->err)) {
			free(frame);
			fail("%s", s->err.text);
			return NULL;
		}
	}
	return frame;
}

/* Of each picture the part that it shows: y0, x0, y1, x1; from malloc(). NULL after a message. */
static float *read_boxes(struct session *s, const struct check_frame *f)
{
	size_t bytes = (size_t)f->pictures * 4 * sizeof(float);
	float *boxes = malloc(bytes + 1);
	char name[300];

	if (!boxes) {
		fail("no memory for boxes");
		return NULL;
	}
	snprintf(name, sizeof(name), "%s.box", f->name);
	if (!npu_run_read(s->run, name, boxes, bytes, &s->err))
		return boxes;
	free(boxes);
	fail("%s", s->err.text);
	return NULL;
}

/* What the model's input is: f32, f16 or u8, [N, 3, H, W] or [N, H, W, 3], or of one channel. */
static int find_input(struct session *s, struct npu_run *ref, const struct npu_job *job,
		      struct check_frame *f, struct npu_tensor_info *t)
{
	int64_t dims[NPU_TENSOR_MAX_RANK];
	unsigned int program, rank, i;

	if (npu_run_program(ref, &program, NULL, &s->err) ||
	    npu_run_get_shape(ref, f->name, &rank, dims, &s->err))
		return fail("the model in f32: %s", s->err.text);
	for (i = 0; ; i++) {
		*t = (struct npu_tensor_info)NPU_INIT(*t);
		if (npu_job_tensor(job, program, i, t) ||
		    (t->role == NPU_TENSOR_INPUT && !strcmp(t->name, f->name)))
			break;
	}
	if (rank != 4 || (dims[1] != 3 && dims[3] != 3 && dims[1] != 1 && dims[3] != 1))
		return fail("the model in f32: input '%s' is no picture of three channels or one",
			    f->name);
	f->pictures = (uint32_t)dims[0];
	f->channels = dims[1] == 3 || dims[3] == 3 ? 3 : 1;
	f->channels_first = dims[1] == f->channels;
	f->height = (uint32_t)dims[f->channels_first ? 2 : 1];
	f->width = (uint32_t)dims[f->channels_first ? 3 : 2];
	return 0;
}

static int write_input(struct session *s, struct npu_run *ref, const struct check_frame *f,
		       unsigned int dtype)
{
	size_t pixels = (size_t)f->height * f->width, k = f->channels, i, c;
	size_t count = f->pictures * pixels * k;
	uint8_t *data = malloc(count * dtype_size(dtype) + 1);
	int ret;

	if (!data)
		return fail("no memory for input '%s'", f->name);
	for (i = 0; i < f->pictures * pixels; i++)
		for (c = 0; c < k; c++)
			element_store(dtype, data, !f->channels_first ? k * i + c :
				      (i / pixels * k + c) * pixels + i % pixels,
				      f->picture[k * i + c]);
	ret = npu_run_write(ref, f->name, data, count * dtype_size(dtype), &s->err);
	free(data);
	return ret ? fail("the model in f32: %s", s->err.text) : 0;
}

/* From the frame, and the boxes if there are any. */
static int make_pictures(struct session *s, struct frame_spec *spec, const uint8_t *frame,
			 bool bytes, struct check_frame *f)
{
	int h = (int)f->height, w = (int)f->width;
	size_t size = (size_t)f->height * f->width * f->channels;
	float *boxes;
	uint32_t i;

	spec->grey = f->channels == 1;
	if (!spec->boxed) {
		frame_picture(spec, frame, h, w, bytes, f->picture);
		return 0;
	}
	boxes = read_boxes(s, f);
	for (i = 0; boxes && i < f->pictures; i++)
		frame_cut(spec, frame, boxes + 4 * (size_t)i, h, w, bytes, f->picture + i * size);
	free(boxes);
	return boxes ? 0 : 1;
}

static int convert(struct session *s, unsigned int program, unsigned int index,
		   const struct npu_image_info *img, struct npu_run *ref, const struct npu_job *job,
		   struct check_frame *f)
{
	struct npu_tensor_info t;
	struct frame_spec spec;
	uint8_t *frame;
	int ret;

	f->name = img->name;
	ret = find_input(s, ref, job, f, &t) || read_spec(img, &spec) ||
	      check_planes(s, program, index, img, &spec);
	if (ret)
		return ret;
	f->picture = calloc((size_t)f->pictures * f->height * f->width * f->channels + 1,
			    sizeof(*f->picture));
	if (!f->picture)
		return fail("no memory for input '%s'", f->name);
	frame = read_planes(s, program, index, &spec);
	if (!frame)
		return 1;
	ret = make_pictures(s, &spec, frame, t.dtype == NPU_U8, f);
	free(frame);
	return ret ? ret : write_input(s, ref, f, t.dtype);
}

int check_frames_convert(struct session *s, struct npu_run *ref, const struct npu_job *job,
			 struct check_report *r)
{
	struct npu_image_info img = NPU_INIT(img);
	unsigned int program, i;
	int ret = 0;

	if (npu_run_program(s->run, &program, NULL, &s->err))
		return fail("%s", s->err.text);
	for (i = 0; !ret && i < MAX_ITEMS && !npu_job_image(s->job, program, i, &img); i++)
		ret = convert(s, program, i, &img, ref, job, &r->frame[r->num_frames++]);
	return ret;
}

void check_frames_free(struct check_report *r)
{
	while (r->num_frames)
		free(r->frame[--r->num_frames].picture);
}

/*
 * A letterboxed picture lies in the middle of the input, rounded down. The instruction writes three
 * channels, all the same when the input has one.
 */
static void compare(const struct check_frame *f, struct check_layer *layer)
{
	const struct check_capture *c = &layer->capture[layer->num_captures - 1];
	struct check_difference *d = &layer->fp32;
	struct check_dot dot = { 0, 0, 0 };
	npu_u64 i, n, y, x, picture;

	*d = (struct check_difference){ .match = CHECK_RESHAPED };
	if (c->rank != 4 || c->dim[0] != f->pictures || c->dim[3] != 3 || c->dim[1] > f->height ||
	    c->dim[2] > f->width)
		return;
	d->match = CHECK_COMPARED;
	for (i = 0, n = 0; n < c->elements; i++, n += c->step) {
		picture = n / 3 / c->dim[2] / c->dim[1];
		y = n / 3 / c->dim[2] % c->dim[1] + (f->height - c->dim[1]) / 2;
		x = n / 3 % c->dim[2] + (f->width - c->dim[2]) / 2;
		check_difference_add(d, &dot, c->value[i],
				     f->picture[((picture * f->height + y) * f->width + x) *
							f->channels + n % f->channels]);
	}
	check_difference_end(d, &dot);
}

/* The compiler's node that makes the picture of input @name: its tensor is named after that. */
static bool makes_picture(const struct check_layer *layer, const char *name)
{
	size_t n = strlen(name);

	return !strcmp(layer->op, "Camera") && !strncmp(layer->tensor, name, n) &&
	       !strcmp(layer->tensor + n, ".pixels") && layer->num_captures;
}

void check_frames_compare(struct check_report *r)
{
	unsigned int i;
	size_t k;

	for (i = 0; i < r->num_frames; i++)
		for (k = 0; k < r->job.num; k++)
			if (makes_picture(&r->job.layer[k], r->frame[i].name))
				compare(&r->frame[i], &r->job.layer[k]);
}
