// SPDX-License-Identifier: MIT
#include "tools/common/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/file.h"

int npu_image_check_size(uint64_t width, uint64_t height, struct npu_error *why)
{
	if (!width || !height)
		return npu_error_set(
			why, -EINVAL,
			"picture of %llu x %llu pixels: both sides must be at least 1",
			(unsigned long long)width, (unsigned long long)height);
	if (width > NPU_IMAGE_SIDE_MAX || height > NPU_IMAGE_SIDE_MAX ||
	    width * height > NPU_IMAGE_PIXELS_MAX)
		return npu_error_set(
			why, -EFBIG,
			"picture of %llu x %llu pixels: the limit is %u a side and %u in all",
			(unsigned long long)width, (unsigned long long)height, NPU_IMAGE_SIDE_MAX,
			NPU_IMAGE_PIXELS_MAX);
	return 0;
}

int npu_image_alloc(struct npu_image *img, int width, int height, uint8_t fill,
		    struct npu_error *why)
{
	size_t bytes;
	int err;

	memset(img, 0, sizeof(*img));
	if (width < 1 || height < 1)
		return npu_error_set(why, -EINVAL,
				     "picture of %d x %d pixels: both sides must be at least 1",
				     width, height);
	err = npu_image_check_size((uint64_t)width, (uint64_t)height, why);
	if (err)
		return err;
	bytes = (size_t)width * (size_t)height * 3;
	img->rgb = malloc(bytes);
	if (!img->rgb)
		return npu_error_set(why, -ENOMEM, "no memory for a picture of %d x %d pixels",
				     width, height);
	memset(img->rgb, fill, bytes);
	img->width = width;
	img->height = height;
	return 0;
}

void npu_image_free(struct npu_image *img)
{
	free(img->rgb);
	memset(img, 0, sizeof(*img));
}

int npu_image_decode(const uint8_t *data, size_t len, const char *name, struct npu_image *img,
		     struct npu_error *why)
{
	static const uint8_t png[8] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
	int orientation = 1, err;

	memset(img, 0, sizeof(*img));
	if (!len)
		return npu_error_set(why, -EBADMSG, "%s: the file is empty", name);
	if (len >= sizeof(png) && !memcmp(data, png, sizeof(png)))
		err = npu_image_decode_png(data, len, img, &orientation, why);
	else if (len >= 3 && data[0] == 0xff && data[1] == 0xd8 && data[2] == 0xff)
		err = npu_image_decode_jpeg(data, len, img, &orientation, why);
	else
		err = npu_error_set(why, -EINVAL, "neither a PNG nor a JPEG picture");
	if (!err)
		err = npu_image_orient(img, orientation, why);
	if (err) {
		npu_image_free(img);
		return npu_error_prefix(why, err, "%s", name);
	}
	return 0;
}

int npu_image_load(const char *path, struct npu_image *img, struct npu_error *why)
{
	uint8_t *data;
	size_t len;
	int err;

	memset(img, 0, sizeof(*img));
	err = npu_file_read(path, NPU_IMAGE_FILE_MAX, &data, &len, why);
	if (err)
		return err;
	err = npu_image_decode(data, len, path, img, why);
	free(data);
	return err;
}

static uint32_t exif_get(const uint8_t *p, int bytes, int big)
{
	uint32_t v = 0;
	int i;

	for (i = 0; i < bytes; i++)
		v |= (uint32_t)p[big ? bytes - 1 - i : i] << (8 * i);
	return v;
}

int npu_image_exif_orientation(const uint8_t *tiff, size_t len)
{
	uint32_t ifd, count, i, value;
	int big;

	if (len < 8)
		return 1;
	if (!memcmp(tiff, "II*\0", 4))
		big = 0;
	else if (!memcmp(tiff, "MM\0*", 4))
		big = 1;
	else
		return 1;
	ifd = exif_get(tiff + 4, 4, big);
	if (ifd > len - 2)
		return 1;
	count = exif_get(tiff + ifd, 2, big);
	for (i = 0; i < count && (size_t)ifd + 2 + 12 * ((size_t)i + 1) <= len; i++) {
		const uint8_t *tag = tiff + ifd + 2 + 12 * (size_t)i;

		/* Tag 0x112, type SHORT, one value. */
		if (exif_get(tag, 2, big) != 0x112)
			continue;
		if (exif_get(tag + 2, 2, big) != 3 || exif_get(tag + 4, 4, big) != 1)
			return 1;
		value = exif_get(tag + 8, 2, big);
		return value >= 1 && value <= 8 ? (int)value : 1;
	}
	return 1;
}

static void image_mirror(struct npu_image *img)
{
	size_t row = (size_t)img->width * 3;
	uint8_t pixel[3];
	int x, y;

	for (y = 0; y < img->height; y++) {
		uint8_t *left = img->rgb + (size_t)y * row, *right = left + row - 3;

		for (x = 0; x < img->width / 2; x++, left += 3, right -= 3) {
			memcpy(pixel, left, 3);
			memcpy(left, right, 3);
			memcpy(right, pixel, 3);
		}
	}
}

int npu_image_cut(const struct npu_image *src, int x, int y, int width, int height,
		  struct npu_image *dst, struct npu_error *why)
{
	size_t row = (size_t)src->width * 3;
	int i, err;

	memset(dst, 0, sizeof(*dst));
	if (x < 0 || y < 0 || width < 1 || height < 1 || width > src->width - x ||
	    height > src->height - y)
		return npu_error_set(
			why, -EINVAL,
			"%d x %d pixels at %d, %d are not inside a picture of %d x %d", width,
			height, x, y, src->width, src->height);
	err = npu_image_alloc(dst, width, height, 0, why);
	for (i = 0; !err && i < height; i++)
		memcpy(dst->rgb + (size_t)i * (size_t)width * 3,
		       src->rgb + (size_t)(y + i) * row + (size_t)x * 3, (size_t)width * 3);
	return err;
}

int npu_image_rotate(const struct npu_image *src, int quarters, struct npu_image *dst,
		     struct npu_error *why)
{
	int q = quarters & 3, w = src->width, h = src->height, x, y, err;
	size_t row = (size_t)w * 3;

	err = npu_image_alloc(dst, q & 1 ? h : w, q & 1 ? w : h, 0, why);
	if (err)
		return err;
	for (y = 0; y < dst->height; y++) {
		uint8_t *out = dst->rgb + (size_t)y * (size_t)dst->width * 3;

		for (x = 0; x < dst->width; x++, out += 3) {
			int sx = q == 0 ? x : q == 1 ? w - 1 - y : q == 2 ? w - 1 - x : y;
			int sy = q == 0 ? y : q == 1 ? x : q == 2 ? h - 1 - y : h - 1 - x;

			memcpy(out, src->rgb + (size_t)sy * row + (size_t)sx * 3, 3);
		}
	}
	return 0;
}

int npu_image_orient(struct npu_image *img, int orientation, struct npu_error *why)
{
	/*
	 * Each orientation is a mirror about the vertical axis, then quarter turns
	 * counter-clockwise.
	 */
	static const struct { int mirror, quarters; } how[9] = {
		[2] = { 1, 0 }, [3] = { 0, 2 }, [4] = { 1, 2 }, [5] = { 1, 1 },
		[6] = { 0, 3 }, [7] = { 1, 3 }, [8] = { 0, 1 },
	};
	struct npu_image turned;
	int err;

	if (orientation < 2 || orientation > 8)
		return 0;
	if (how[orientation].mirror)
		image_mirror(img);
	if (!how[orientation].quarters)
		return 0;
	err = npu_image_rotate(img, how[orientation].quarters, &turned, why);
	if (err)
		return err;
	npu_image_free(img);
	*img = turned;
	return 0;
}

int npu_image_to_nchw(const struct npu_image *img, const struct npu_image_norm *norm, int rows,
		      int cols, float pad, float *out)
{
	size_t plane = (size_t)rows * (size_t)cols, i;
	float table[256];
	int c, x, y;

	if (rows < img->height || cols < img->width)
		return -EINVAL;
	for (c = 0; c < 3; c++) {
		const uint8_t *in = img->rgb + (norm->bgr ? 2 - c : c);
		float *dst = out + (size_t)c * plane;

		for (i = 0; i < 256; i++)
			table[i] = ((float)i / 255.0f - norm->mean[c]) / norm->std[c];
		for (y = 0; y < img->height; y++, dst += cols) {
			for (x = 0; x < img->width; x++, in += 3)
				dst[x] = table[*in];
			for (; x < cols; x++)
				dst[x] = pad;
		}
		for (i = 0; i < (size_t)(rows - img->height) * (size_t)cols; i++)
			dst[i] = pad;
	}
	return 0;
}
