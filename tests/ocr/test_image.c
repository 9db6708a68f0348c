// SPDX-License-Identifier: MIT
/*
 * The files are written here with libpng's and libjpeg's own encoders, of every kind that they
 * know.
 */
#include "common/tmp.h"
#include "tap.h"

#include <errno.h>
#include <jpeglib.h>
#include <png.h>
#include <unistd.h>

#include "pattern.h"
#include "tools/common/file.h"

struct buffer {
	uint8_t *data;
	size_t len;
};

static void buffer_put(png_structp png, png_bytep data, size_t n)
{
	struct buffer *b = png_get_io_ptr(png);

	b->data = realloc(b->data, b->len + n);
	memcpy(b->data + b->len, data, n);
	b->len += n;
}

static void buffer_flush(png_structp png)
{
}

struct png_kind {
	int type, depth, interlace;
	int trns;		/* has a tRNS chunk */
	const char *name;
};

#define PIC_W	13
#define PIC_H	9

/* Sample @c of pixel x, y: some value of @depth bits. */
static unsigned int sample(int x, int y, int c, int depth)
{
	unsigned int v = (unsigned int)(x * 31 + y * 17 + c * 71 + x * y * 3) * 2654435761u >> 16;

	return v & ((1u << depth) - 1);
}

static int channels(int type)
{
	return type == PNG_COLOR_TYPE_RGB	 ? 3 :
	       type == PNG_COLOR_TYPE_RGBA	 ? 4 :
	       type == PNG_COLOR_TYPE_GRAY_ALPHA ? 2 :
						   1;
}

static void pack_row(const struct png_kind *k, int y, uint8_t *row)
{
	int n = channels(k->type), x, c, bit = 0;

	memset(row, 0, PIC_W * 8);
	for (x = 0; x < PIC_W; x++)
		for (c = 0; c < n; c++, bit += k->depth) {
			unsigned int v = sample(x, y, c, k->depth);

			if (k->depth == 16) {
				row[bit / 8] = (uint8_t)(v >> 8);
				row[bit / 8 + 1] = (uint8_t)v;
			} else {
				row[bit / 8] |= (uint8_t)(v << (8 - k->depth - bit % 8));
			}
		}
}

static struct buffer png_make(const struct png_kind *k)
{
	uint8_t rows[PIC_H][PIC_W * 8], *ptr[PIC_H], trans[16];
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
	png_infop info = png_create_info_struct(png);
	png_color palette[256];
	struct buffer b = { 0 };
	png_color_16 key;
	int i;

	png_set_write_fn(png, &b, buffer_put, buffer_flush);
	png_set_IHDR(png, info, PIC_W, PIC_H, k->depth, k->type, k->interlace, 0, 0);
	for (i = 0; i < 256; i++)
		palette[i] = (png_color){ (png_byte)(i * 5), (png_byte)(255 - i),
					  (png_byte)(i * 3 + 7) };
	for (i = 0; i < 16; i++)
		trans[i] = (png_byte)(i * 16);
	if (k->type == PNG_COLOR_TYPE_PALETTE) {
		png_set_PLTE(png, info, palette, 1 << k->depth);
		if (k->trns)
			png_set_tRNS(png, info, trans, k->depth < 4 ? 1 << k->depth : 16, NULL);
	} else if (k->trns) {
		key = (png_color_16){ 0, (png_uint_16)sample(2, 1, 0, k->depth),
				      (png_uint_16)sample(2, 1, 1, k->depth),
				      (png_uint_16)sample(2, 1, 2, k->depth),
				      (png_uint_16)sample(2, 1, 0, k->depth) };
		png_set_tRNS(png, info, NULL, 0, &key);
	}
	png_write_info(png, info);
	for (i = 0; i < PIC_H; i++) {
		pack_row(k, i, rows[i]);
		ptr[i] = rows[i];
	}
	png_write_image(png, ptr);
	png_write_end(png, info);
	png_destroy_write_struct(&png, &info);
	return b;
}

/*
 * Channel @c of what pixel x, y looks like on white, in 0..255; the formulas are the PNG
 * specification's.
 */
static double expected(const struct png_kind *k, int x, int y, int c)
{
	double max = (1u << k->depth) - 1, v, a = 1;
	unsigned int s = sample(x, y, 0, k->depth);
	int same = 1, i;

	if (k->type == PNG_COLOR_TYPE_PALETTE) {
		v = c == 0 ? (s * 5) & 255 : c == 1 ? 255 - s : (s * 3 + 7) & 255;
		a = k->trns && s < 16 ? s * 16 / 255.0 : 1;
		return v * a + 255 * (1 - a);
	}
	v = sample(x, y, k->type & PNG_COLOR_MASK_COLOR ? c : 0, k->depth) / max * 255;
	if (k->type & PNG_COLOR_MASK_ALPHA)
		a = sample(x, y, channels(k->type) - 1, k->depth) / max;
	for (i = 0; i < channels(k->type); i++)
		same &= sample(x, y, i, k->depth) == sample(2, 1, i, k->depth);
	if (k->trns && same)
		a = 0;
	return v * a + 255 * (1 - a);
}

static void test_png_kinds(void)
{
	static const struct png_kind kinds[] = {
		{ PNG_COLOR_TYPE_GRAY, 1, 0, 0, "grey 1 bit" },
		{ PNG_COLOR_TYPE_GRAY, 2, 0, 0, "grey 2 bits" },
		{ PNG_COLOR_TYPE_GRAY, 4, 1, 0, "grey 4 bits interlaced" },
		{ PNG_COLOR_TYPE_GRAY, 8, 0, 0, "grey" },
		{ PNG_COLOR_TYPE_GRAY, 8, 0, 1, "grey with a transparent value" },
		{ PNG_COLOR_TYPE_GRAY, 16, 0, 0, "grey 16 bits" },
		{ PNG_COLOR_TYPE_GRAY_ALPHA, 8, 0, 0, "grey and alpha" },
		{ PNG_COLOR_TYPE_GRAY_ALPHA, 16, 1, 0, "grey and alpha 16 bits interlaced" },
		{ PNG_COLOR_TYPE_RGB, 8, 0, 0, "RGB" },
		{ PNG_COLOR_TYPE_RGB, 8, 1, 0, "RGB interlaced" },
		{ PNG_COLOR_TYPE_RGB, 8, 0, 1, "RGB with a transparent colour" },
		{ PNG_COLOR_TYPE_RGB, 16, 0, 0, "RGB 16 bits" },
		{ PNG_COLOR_TYPE_RGBA, 8, 0, 0, "RGBA" },
		{ PNG_COLOR_TYPE_RGBA, 16, 0, 0, "RGBA 16 bits" },
		{ PNG_COLOR_TYPE_PALETTE, 1, 0, 0, "palette 1 bit" },
		{ PNG_COLOR_TYPE_PALETTE, 4, 0, 1, "palette 4 bits, alpha" },
		{ PNG_COLOR_TYPE_PALETTE, 8, 1, 1, "palette 8 bits, alpha, interlaced" },
	};
	size_t i;
	int x, y, c;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct buffer b = png_make(&kinds[i]);
		struct npu_error why = { 0 };
		struct npu_image img;
		double worst = 0;

		if (tap_ok(!npu_image_decode(b.data, b.len, "t.png", &img, &why) &&
				   img.width == PIC_W && img.height == PIC_H,
			   "PNG %s %s", kinds[i].name, why.text)) {
			for (y = 0; y < PIC_H; y++)
				for (x = 0; x < PIC_W; x++)
					for (c = 0; c < 3; c++) {
						double d = img.rgb[(y * PIC_W + x) * 3 + c] -
							   expected(&kinds[i], x, y, c);

						worst = d > worst ? d : -d > worst ? -d : worst;
					}
			/* 16 bits are cut to 8 before alpha is applied. */
			tap_ok(worst <= (kinds[i].depth == 16 ? 1.5 : 0.51),
			       "its pixels, worst %.2f", worst);
		}
		npu_image_free(&img);
		free(b.data);
	}
}

struct jpeg_kind {
	int space, components, progressive, orientation, big;
	const char *name;
};

static void jpeg_exif(j_compress_ptr c, int orientation, int big)
{
	uint8_t app[6 + 8 + 2 + 12 + 4] = "Exif\0", *t = app + 6;

	memcpy(t, big ? "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\0\0\0" :
	       "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\0\0\0\0", 22);
	t[big ? 19 : 18] = (uint8_t)orientation;
	jpeg_write_marker(c, JPEG_APP0 + 1, app, sizeof(app));
}

#define JPEG_W	48
#define JPEG_H	32

/*
 * Smooth colours, one for each quarter: top left red, top right green, bottom left blue, bottom
 * right grey.
 */
static void quarter_colour(int x, int y, uint8_t rgb[3])
{
	static const uint8_t colours[4][3] = {
		{ 200, 40, 30 }, { 30, 180, 50 }, { 40, 50, 210 }, { 128, 128, 128 }
	};

	memcpy(rgb, colours[(y >= JPEG_H / 2) * 2 + (x >= JPEG_W / 2)], 3);
}

static struct buffer jpeg_make(const struct jpeg_kind *k)
{
	struct jpeg_compress_struct c;
	struct jpeg_error_mgr err;
	uint8_t row[JPEG_W * 4], rgb[3];
	JSAMPROW p = row;
	struct buffer b = { 0 };
	unsigned long len = 0;
	int x, y, i;

	c.err = jpeg_std_error(&err);
	jpeg_create_compress(&c);
	jpeg_mem_dest(&c, &b.data, &len);
	c.image_width = JPEG_W;
	c.image_height = JPEG_H;
	c.input_components = k->components;
	c.in_color_space = (J_COLOR_SPACE)k->space;
	jpeg_set_defaults(&c);
	jpeg_set_quality(&c, 95, TRUE);
	if (k->progressive)
		jpeg_simple_progression(&c);
	jpeg_start_compress(&c, TRUE);
	if (k->orientation)
		jpeg_exif(&c, k->orientation, k->big);
	for (y = 0; y < JPEG_H; y++) {
		for (x = 0; x < JPEG_W; x++) {
			quarter_colour(x, y, rgb);
			if (k->components == 1)
				row[x] = (uint8_t)((rgb[0] * 299 + rgb[1] * 587 + rgb[2] * 114) /
						   1000);
			/* CMYK as Adobe has it: inverted */
			for (i = 0; k->components > 1 && i < 3; i++)
				row[x * k->components + i] = rgb[i];
			if (k->components == 4)
				row[x * 4 + 3] = 255;
		}
		jpeg_write_scanlines(&c, &p, 1);
	}
	jpeg_finish_compress(&c);
	jpeg_destroy_compress(&c);
	b.len = len;
	return b;
}

/*
 * Where pixel (x, y) of the upright picture lies in the stored one; EXIF 2.3, section 4.6.4 (table
 * 4).
 */
static void stored_at(int orientation, int x, int y, int *sx, int *sy)
{
	int w = JPEG_W - 1, h = JPEG_H - 1;
	int swap = orientation >= 5;
	int a = swap ? y : x, b = swap ? x : y;

	*sx = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8 ?
	      w - a : a;
	*sy = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7 ?
	      h - b : b;
}

static void test_jpeg_kinds(void)
{
	static const struct jpeg_kind kinds[] = {
		{ JCS_RGB, 3, 0, 0, 0, "RGB" },		  { JCS_RGB, 3, 1, 0, 0, "progressive" },
		{ JCS_GRAYSCALE, 1, 0, 0, 0, "grey" },	  { JCS_CMYK, 4, 0, 0, 0, "CMYK" },
		{ JCS_RGB, 3, 0, 1, 0, "EXIF 1" },	  { JCS_RGB, 3, 0, 2, 1, "EXIF 2" },
		{ JCS_RGB, 3, 0, 3, 0, "EXIF 3" },	  { JCS_RGB, 3, 0, 4, 1, "EXIF 4" },
		{ JCS_RGB, 3, 0, 5, 0, "EXIF 5" },	  { JCS_RGB, 3, 0, 6, 1, "EXIF 6" },
		{ JCS_RGB, 3, 0, 7, 0, "EXIF 7" },	  { JCS_RGB, 3, 0, 8, 1, "EXIF 8" },
		{ JCS_RGB, 3, 0, 9, 0, "EXIF 9 (none)" },
	};
	size_t i;
	int x, y, c, sx, sy;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int o = kinds[i].orientation, swap = o >= 5 && o <= 8, worst = 0;
		struct buffer b = jpeg_make(&kinds[i]);
		struct npu_error why = { 0 };
		struct npu_image img;
		int ok = !npu_image_decode(b.data, b.len, "t.jpg", &img, &why) &&
			 img.width == (swap ? JPEG_H : JPEG_W) &&
			 img.height == (swap ? JPEG_W : JPEG_H);

		for (y = 2; ok && y < img.height; y += 4)
			for (x = 2; x < img.width; x += 4) {
				uint8_t rgb[3];

				stored_at(o > 8 ? 1 : o, x, y, &sx, &sy);
				quarter_colour(sx, sy, rgb);
				if (kinds[i].components == 1)
					memset(rgb,
					       (rgb[0] * 299 + rgb[1] * 587 + rgb[2] * 114) / 1000,
					       3);
				for (c = 0; c < 3; c++) {
					int d = abs(img.rgb[(y * img.width + x) * 3 + c] - rgb[c]);

					worst = d > worst ? d : worst;
				}
			}
		tap_ok(ok && worst <= 12, "JPEG %s: colours within %d %s", kinds[i].name, worst,
		       why.text);
		npu_image_free(&img);
		free(b.data);
	}
}

/* Every prefix must be refused, every change of a byte must end in a picture or an error. */
static void mangle(const char *name, const struct buffer *b, const char *expect)
{
	int accepted = 0, unnamed = 0, silent = 0, tried = 0, pictures = 0,
	    step = tap_long() ? 1 : 37, v;
	struct npu_error why;
	struct npu_image img;
	size_t i;

	for (i = 0; i < b->len; i++) {
		/* so that reading past it shows under ASan */
		uint8_t *exact = malloc(i ? i : 1);

		memcpy(exact, b->data, i);
		accepted += !npu_image_decode(exact, i, name, &img, &why);
		unnamed += i > 8 && !strstr(why.text, expect);
		npu_image_free(&img);
		free(exact);
	}
	tap_ok(!accepted, "%s: all %zu truncations are refused (%d were not)", name, b->len,
	       accepted);
	tap_ok(!unnamed, "%s: and called %s", name, expect);
	for (i = 0; i < b->len; i++)
		for (v = 1; v < 256; v += step, tried++) {
			b->data[i] ^= (uint8_t)v;
			*why.text = 0;
			if (!npu_image_decode(b->data, b->len, name, &img, &why))
				pictures++;
			else
				silent += !*why.text;
			npu_image_free(&img);
			b->data[i] ^= (uint8_t)v;
		}
	tap_ok(!silent,
	       "%s: %d changed files, %d still pictures, the others are refused with a reason",
	       name, tried, pictures);
}

static void test_mangled(void)
{
	static const struct png_kind png = { PNG_COLOR_TYPE_PALETTE, 4, 1, 1, "" };
	static const struct jpeg_kind jpeg = { JCS_RGB, 3, 1, 6, 0, "" },
				      baseline = { JCS_GRAYSCALE, 1, 0, 0, 0, "" };
	struct buffer b = png_make(&png);

	mangle("a.png", &b, "a.png: truncated PNG");
	free(b.data);
	b = jpeg_make(&jpeg);
	mangle("a.jpg", &b, "a.jpg: ");
	free(b.data);
	b = jpeg_make(&baseline);
	mangle("b.jpg", &b, "b.jpg: ");
	free(b.data);
}

static void test_limits(void)
{
	/* A header that claims 2^31 - 1 pixels a side, with a correct sum. */
	static const struct png_kind kind = { PNG_COLOR_TYPE_GRAY, 8, 0, 0, "" };
	struct buffer b = png_make(&kind);
	struct npu_error why = { 0 };
	struct npu_image img;
	uint32_t crc = 0xffffffff;
	int i, k;

	memcpy(b.data + 16, "\x7f\xff\xff\xff\x7f\xff\xff\xff", 8);
	for (i = 12; i < 29; i++)
		for (crc ^= b.data[i], k = 0; k < 8; k++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	crc = ~crc;
	for (i = 0; i < 4; i++)
		b.data[29 + i] = (uint8_t)(crc >> (24 - 8 * i));
	tap_ok(npu_image_decode(b.data, b.len, "big.png", &img, &why) == -EFBIG &&
		       strstr(why.text, "2147483647"),
	       "absurd sides are refused before memory is taken: %s", why.text);
	free(b.data);
	tap_ok(npu_image_alloc(&img, 0, 5, 0, &why) == -EINVAL, "no width: %s", why.text);
	tap_ok(npu_image_alloc(&img, 5, -1, 0, &why) == -EINVAL, "negative height: %s", why.text);
	tap_ok(npu_image_alloc(&img, 65000, 65000, 0, &why) == -EFBIG, "too many pixels: %s",
	       why.text);
	tap_ok(npu_image_decode((const uint8_t *)"GIF89a", 6, "a.gif", &img, &why) == -EINVAL &&
	       strstr(why.text, "a.gif: neither"), "another format: %s", why.text);
	tap_ok(npu_image_decode(NULL, 0, "empty", &img, &why) == -EBADMSG, "an empty file: %s",
	       why.text);
	tap_ok(npu_image_load("/proc/nonexistent.png", &img, &why) == -ENOENT, "a missing file: %s",
	       why.text);
	tap_ok(npu_image_load("/", &img, &why) == -EISDIR, "a directory: %s", why.text);
}

static void test_save(void)
{
	const char *path = tmp_path("image.png");
	struct npu_image img = pattern_image(37, 11, 4), back;
	struct npu_error why = { 0 };

	tap_ok(!npu_image_save_png(path, &img, &why), "save %s", why.text);
	tap_ok(!npu_image_load(path, &back, &why) && back.width == 37 && back.height == 11 &&
	       pattern_digest(&img) == pattern_digest(&back), "load what was saved %s", why.text);
	npu_image_free(&back);
	tap_ok(npu_image_cut(&img, 30, 0, 8, 1, &back, &why) == -EINVAL,
	       "no cut beyond the edge: %s", why.text);
	tap_ok(!npu_image_cut(&img, 30, 4, 7, 7, &back, &why) &&
	       !memcmp(back.rgb + 6 * 21, img.rgb + (10 * 37 + 30) * 3, 21), "a cut in the corner");
	npu_image_free(&back);
	tap_ok(npu_image_save_png("/proc/nonexistent/x.png", &img, &why) == -ENOENT &&
		       strstr(why.text, "/proc/nonexistent"),
	       "nowhere to save: %s", why.text);
	npu_image_free(&img);
}

int main(void)
{
	test_png_kinds();
	test_jpeg_kinds();
	test_mangled();
	test_limits();
	test_save();
	return tap_done();
}
