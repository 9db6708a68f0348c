// SPDX-License-Identifier: MIT
/*
 * picture_npy PICTURE OUT.npy [KEY=VALUE...]: a picture as a network's input, f32.
 *	cut=X,Y,WIDTH,HEIGHT	this part of it (all of it)
 *	size=WIDTHxHEIGHT	resized to this (as it is)
 *	scale=A/B mean=A/B	value * scale - mean, value 0 to 255 (1, 0)
 *	layout=nchw|nhwc|grey	[1, 3, H, W] (default), [1, H, W, 3] or [1, 1, H, W]
 *	mirror=1		left and right exchanged
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/image.h"
#include "tools/common/npy.h"

enum layout { NCHW, NHWC, GREY };

struct args {
	int cut[4], width, height, mirror;
	double scale, mean;
	enum layout layout;
};

/* "1", "127/128" */
static int arg_ratio(const char *text, double *value)
{
	double a, b = 1;
	char end;
	int n = sscanf(text, "%lf/%lf%c", &a, &b, &end);

	*value = a / b;
	return n < 1 || n > 2 || b == 0 ? -EINVAL : 0;
}

static int arg_set(struct args *a, const char *key, const char *value)
{
	static const char *const layouts[] = { "nchw", "nhwc", "grey" };
	char end;

	if (!strcmp(key, "cut"))
		return sscanf(value, "%d,%d,%d,%d%c", &a->cut[0], &a->cut[1], &a->cut[2],
			      &a->cut[3], &end) == 4 ? 0 : -EINVAL;
	if (!strcmp(key, "size"))
		return sscanf(value, "%dx%d%c", &a->width, &a->height, &end) == 2 ? 0 : -EINVAL;
	if (!strcmp(key, "mirror"))
		return sscanf(value, "%d%c", &a->mirror, &end) == 1 ? 0 : -EINVAL;
	if (!strcmp(key, "scale") || !strcmp(key, "mean"))
		return arg_ratio(value, *key == 's' ? &a->scale : &a->mean);
	if (strcmp(key, "layout"))
		return -EINVAL;
	for (a->layout = NCHW; a->layout <= GREY; a->layout++)
		if (!strcmp(value, layouts[a->layout]))
			return 0;
	return -EINVAL;
}

static int picture_load(const char *path, const struct args *a, struct npu_image *img,
			struct npu_error *why)
{
	struct npu_image whole = { 0 }, part = { 0 };
	int err = npu_image_load(path, &whole, why);

	if (!err)
		err = npu_image_cut(&whole, a->cut[0], a->cut[1],
				    a->cut[2] ? a->cut[2] : whole.width,
				    a->cut[3] ? a->cut[3] : whole.height, &part, why);
	if (!err)
		err = npu_image_resize(&part, a->width ? a->width : part.width,
				       a->height ? a->height : part.height, img, why);
	npu_image_free(&whole);
	npu_image_free(&part);
	return err;
}

/* ITU-R BT.601's luma. */
static double grey(const uint8_t *rgb)
{
	return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
}

static void picture_fill(const struct npu_image *img, const struct args *a, float *out)
{
	size_t w = (size_t)img->width, h = (size_t)img->height;
	size_t channels = a->layout == GREY ? 1 : 3;

	for (size_t i = 0; i < w * h; i++) {
		size_t x = a->mirror ? w - 1 - i % w : i % w;
		const uint8_t *rgb = img->rgb + (i / w * w + x) * 3;

		for (size_t c = 0; c < channels; c++) {
			double v = a->layout == GREY ? grey(rgb) : rgb[c];

			out[a->layout == NHWC ? i * channels + c : c * w * h + i] =
				(float)(v * a->scale - a->mean);
		}
	}
}

static int picture_write(const struct npu_image *img, const struct args *a, const char *path,
			 struct npu_error *why)
{
	struct npu_npy arr = { .type = NPU_NPY_F32, .rank = 4 };
	int64_t w = img->width, h = img->height;
	int err;

	memcpy(arr.dims, a->layout == NHWC ? (int64_t[]){ 1, h, w, 3 } :
					     (int64_t[]){ 1, a->layout == GREY ? 1 : 3, h, w },
	       4 * sizeof(int64_t));
	arr.data = malloc((size_t)(w * h) * 3 * sizeof(float));
	if (!arr.data)
		return npu_error_set(why, -ENOMEM, "no memory");
	picture_fill(img, a, arr.data);
	err = npu_npy_write(path, &arr, why);
	free(arr.data);
	return err;
}

int main(int argc, char **argv)
{
	struct args a = { .scale = 1 };
	struct npu_error why = { 0 };
	struct npu_image img = { 0 };
	int i, err;

	for (i = 3; i < argc; i++) {
		const char *eq = strchr(argv[i], '=');
		char key[16] = "";

		if (eq && eq - argv[i] < (int)sizeof(key))
			memcpy(key, argv[i], (size_t)(eq - argv[i]));
		if (!eq || arg_set(&a, key, eq + 1)) {
			fprintf(stderr, "picture_npy: '%s' is not understood\n", argv[i]);
			return 2;
		}
	}
	if (argc < 3) {
		fputs("usage: picture_npy PICTURE OUT.npy [KEY=VALUE...]\n", stderr);
		return 2;
	}
	err = picture_load(argv[1], &a, &img, &why);
	if (!err)
		err = picture_write(&img, &a, argv[2], &why);
	npu_image_free(&img);
	if (err)
		fprintf(stderr, "picture_npy: %s\n", why.text);
	return err ? 1 : 0;
}
