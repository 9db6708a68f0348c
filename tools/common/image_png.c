// SPDX-License-Identifier: MIT
#include "tools/common/image.h"

#include <errno.h>
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/file.h"

struct png_in {
	const uint8_t *data;
	size_t len, at;
	char text[160];		/* libpng's own words */
	int truncated;
};

static void png_fail(png_structp png, png_const_charp text)
{
	struct png_in *in = png_get_error_ptr(png);

	strncpy(in->text, text, sizeof(in->text) - 1);
	png_longjmp(png, 1);
}

static void png_mute(png_structp png, png_const_charp text)
{
}

static void png_pull(png_structp png, png_bytep out, size_t n)
{
	struct png_in *in = png_get_io_ptr(png);

	if (n > in->len - in->at) {
		in->truncated = 1;
		png_error(png, "the file ends too early");
	}
	memcpy(out, in->data + in->at, n);
	in->at += n;
}

/* Bring every colour type and depth to 8-bit RGBA. */
static void png_set_rgba(png_structp png, png_infop info)
{
	png_byte type = png_get_color_type(png, info);

	if (png_get_bit_depth(png, info) == 16)
		png_set_scale_16(png);
	png_set_expand(png);
	if (!(type & PNG_COLOR_MASK_COLOR))
		png_set_gray_to_rgb(png);
	png_set_add_alpha(png, 0xff, PNG_FILLER_AFTER);
	png_set_interlace_handling(png);
}

/* RGBA over white, in place of libpng's own composition, which also applies gamma. */
static void png_flatten(const uint8_t *rgba, size_t pixels, uint8_t *rgb)
{
	size_t i;
	int c;

	for (i = 0; i < pixels; i++, rgba += 4, rgb += 3) {
		unsigned int a = rgba[3];

		for (c = 0; c < 3; c++)
			rgb[c] = (uint8_t)((rgba[c] * a + 255 * (255 - a) + 127) / 255);
	}
}

static int png_reason(const struct png_in *in, struct npu_error *why)
{
	return npu_error_set(why, -EBADMSG, "%s PNG: %s", in->truncated ? "truncated" : "corrupt",
			     in->text);
}

int npu_image_decode_png(const uint8_t *data, size_t len, struct npu_image *img, int *orientation,
			 struct npu_error *why)
{
	struct png_in in = { .data = data, .len = len };
	/* volatile: changed between setjmp() and a longjmp(). */
	uint8_t *volatile rgba = NULL;
	png_bytep *volatile rows = NULL;
	png_structp png;
	png_infop info;
	png_uint_32 w, h, y, n;
	png_bytep exif;
	int err;

	*orientation = 1;
	png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &in, png_fail, png_mute);
	info = png ? png_create_info_struct(png) : NULL;
	if (!info) {
		png_destroy_read_struct(&png, NULL, NULL);
		return npu_error_set(why, -ENOMEM, "no memory for the PNG decoder");
	}
	if (setjmp(png_jmpbuf(png))) {
		err = png_reason(&in, why);
		goto out;
	}
	/* The decoder's own limit would hide a too large picture behind "Invalid IHDR data". */
	png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
	png_set_read_fn(png, &in, png_pull);
	png_read_info(png, info);
	w = png_get_image_width(png, info);
	h = png_get_image_height(png, info);
	err = npu_image_check_size(w, h, why);
	if (err)
		goto out;
	png_set_rgba(png, info);
	png_read_update_info(png, info);
	if (png_get_rowbytes(png, info) != (size_t)w * 4)
		png_error(png, "a pixel layout that the decoder cannot bring to RGBA");
	err = npu_image_alloc(img, (int)w, (int)h, 0, why);
	if (err)
		goto out;
	rgba = malloc((size_t)w * h * 4);
	rows = malloc(h * sizeof(*rows));
	if (!rgba || !rows) {
		err = npu_error_set(why, -ENOMEM, "no memory for a picture of %u x %u pixels", w,
				    h);
		goto out;
	}
	for (y = 0; y < h; y++)
		rows[y] = rgba + (size_t)y * w * 4;
	png_read_image(png, rows);
	png_read_end(png, info);
	png_flatten(rgba, (size_t)w * h, img->rgb);
	if (png_get_eXIf_1(png, info, &n, &exif))
		*orientation = npu_image_exif_orientation(exif, n);
	err = 0;
out:
	free(rows);
	free(rgba);
	png_destroy_read_struct(&png, &info, NULL);
	if (err)
		npu_image_free(img);
	return err;
}

int npu_image_save_png(const char *path, const struct npu_image *img, struct npu_error *why)
{
	png_image out = { .version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB };
	png_alloc_size_t bytes = 0;
	void *data;
	int err;

	out.width = (png_uint_32)img->width;
	out.height = (png_uint_32)img->height;
	bytes = PNG_IMAGE_PNG_SIZE_MAX(out);
	data = malloc(bytes);
	if (!data)
		return npu_error_set(why, -ENOMEM, "%s: no memory to encode %d x %d pixels", path,
				     img->width, img->height);
	if (png_image_write_to_memory(&out, data, &bytes, 0, img->rgb, 0, NULL))
		err = npu_file_write(path, data, bytes, why);
	else
		err = npu_error_set(why, -EIO, "%s: %s", path, out.message);
	free(data);
	return err;
}
