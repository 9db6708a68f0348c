// SPDX-License-Identifier: MIT
/*
 * render_pages PAGES.txt FONTS DIR: make pictures of text that is known.
 *
 * PAGES.txt has blocks separated by empty lines; '#' in the first column is a comment. A block is
 *	page NAME font=FILE size=PIXELS fg=RRGGBB bg=RRGGBB [space=PERCENT] [blur=PASSES]
 *		[noise=AMPLITUDE]
 * (one line) and the lines of text below it, in UTF-8. FONTS is the folder of the font files. DIR
 * gets NAME.png and NAME.txt, the text. space widens the gaps between words, blur is a number of
 * 1-2-1 passes in both directions, noise is added to each byte: the sum of four uniform values, at
 * most that far from 0 in all.
 *
 * Glyphs are not hinted and stand at fractions of a pixel, so that a page depends on the font file
 * and not on how FreeType was built.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ft2build.h>
#include FT_FREETYPE_H
#include FT_OUTLINE_H

#include "tools/common/file.h"
#include "tools/common/image.h"

#define LINES_MAX	64

struct page {
	char name[64], font[128];
	int size, space, blur, noise;
	unsigned int fg, bg;		/* 0xRRGGBB */
	const char *line[LINES_MAX];
	int count;
};

struct pen {
	FT_Face face;
	struct npu_image *img;		/* NULL: only the width is asked for */
	unsigned int fg;
	int space;			/* width of a word space, per cent of the font's */
	long x, y;			/* of the baseline, 1/64 pixels */
};

static int page_field(struct page *p, const char *key, const char *value, struct npu_error *why)
{
	const struct {
		const char *key;
		int *value, lo, hi;
	} numbers[] = {
		{ "size", &p->size, 8, 200 },
		{ "space", &p->space, 50, 400 },
		{ "blur", &p->blur, 0, 20 },
		{ "noise", &p->noise, 0, 200 },
	};
	char *end;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		long v;

		if (strcmp(numbers[i].key, key))
			continue;
		v = strtol(value, &end, 10);
		if (*end || end == value || v < numbers[i].lo || v > numbers[i].hi)
			return npu_error_set(why, -EINVAL, "page %s: %s=%s: %d to %d is expected",
					     p->name, key, value, numbers[i].lo, numbers[i].hi);
		*numbers[i].value = (int)v;
		return 0;
	}
	if (!strcmp(key, "fg") || !strcmp(key, "bg")) {
		unsigned long v = strtoul(value, &end, 16);

		if (*end || strlen(value) != 6)
			return npu_error_set(why, -EINVAL, "page %s: %s=%s: RRGGBB is expected",
					     p->name, key, value);
		*(*key == 'f' ? &p->fg : &p->bg) = (unsigned int)v;
		return 0;
	}
	if (strcmp(key, "font") || strlen(value) >= sizeof(p->font) || strchr(value, '/'))
		return npu_error_set(why, -EINVAL, "page %s: %s=%s is not understood", p->name,
				     key, value);
	snprintf(p->font, sizeof(p->font), "%s", value);
	return 0;
}

/* "page NAME key=value..." */
static int page_head(struct page *p, char *text, struct npu_error *why)
{
	char *save = NULL, *word = strtok_r(text, " ", &save);
	int err = 0;

	*p = (struct page){ .space = 100, .bg = 0xffffff };
	word = word && !strcmp(word, "page") ? strtok_r(NULL, " ", &save) : NULL;
	if (!word || strlen(word) >= sizeof(p->name) || strchr(word, '/'))
		return npu_error_set(why, -EINVAL, "'%s': 'page NAME ...' is expected", text);
	snprintf(p->name, sizeof(p->name), "%s", word);
	while (!err && (word = strtok_r(NULL, " ", &save))) {
		char *value = strchr(word, '=');

		if (!value)
			return npu_error_set(why, -EINVAL, "page %s: %s: key=value is expected",
					     p->name, word);
		*value++ = 0;
		err = page_field(p, word, value, why);
	}
	if (!err && (!*p->font || !p->size))
		return npu_error_set(why, -EINVAL, "page %s: font= and size= are missing",
				     p->name);
	return err;
}

/* The next code point of @text, which is moved behind it; 0 at the end and for what is no UTF-8. */
static unsigned int utf8_next(const char **text)
{
	const unsigned char *s = (const unsigned char *)*text;
	int more = *s >= 0xf0 ? 3 : *s >= 0xe0 ? 2 : *s >= 0xc0 ? 1 : 0;
	unsigned int c = more ? *s & (0x3f >> more) : *s;

	if (!*s || (*s & 0xc0) == 0x80)
		return 0;
	while (s++, more--) {
		if ((*s & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (*s & 0x3f);
	}
	*text = (const char *)s;
	return c;
}

static void blend(const struct pen *pen, const FT_Bitmap *map, long left, long top)
{
	for (unsigned int row = 0; row < map->rows; row++)
		for (unsigned int col = 0; col < map->width; col++) {
			long x = left + col, y = top + row;
			unsigned int a = map->buffer[(long)row * map->pitch + col];
			uint8_t *at;

			if (x < 0 || y < 0 || x >= pen->img->width || y >= pen->img->height)
				continue;
			at = pen->img->rgb + ((size_t)y * (size_t)pen->img->width + (size_t)x) * 3;
			for (int c = 0; c < 3; c++) {
				unsigned int ink = pen->fg >> (16 - 8 * c) & 0xff;

				at[c] = (uint8_t)((ink * a + at[c] * (255 - a) + 127) / 255);
			}
		}
}

/* Set one line; pen->x moves to its end. */
static int draw_line(struct pen *pen, const char *text, struct npu_error *why)
{
	FT_GlyphSlot slot = pen->face->glyph;
	FT_UInt last = 0, glyph;
	FT_Vector kern;
	unsigned int code;

	while ((code = utf8_next(&text))) {
		glyph = FT_Get_Char_Index(pen->face, code);
		if (!glyph)
			return npu_error_set(why, -EINVAL, "%s has no U+%04X",
					     pen->face->family_name, code);
		if (last && !FT_Get_Kerning(pen->face, last, glyph, FT_KERNING_UNFITTED, &kern))
			pen->x += kern.x;
		if (FT_Load_Glyph(pen->face, glyph, FT_LOAD_NO_HINTING | FT_LOAD_NO_BITMAP))
			return npu_error_set(why, -EBADMSG, "%s: U+%04X cannot be loaded",
					     pen->face->family_name, code);
		if (pen->img) {
			FT_Outline_Translate(&slot->outline, pen->x & 63, pen->y & 63);
			if (FT_Render_Glyph(slot, FT_RENDER_MODE_NORMAL))
				return npu_error_set(why, -EBADMSG, "U+%04X is not drawn", code);
			blend(pen, &slot->bitmap, (pen->x >> 6) + slot->bitmap_left,
			      (pen->y >> 6) - slot->bitmap_top);
		}
		/* Thousandths of a pixel do not add up: the unhinted advance in 16.16. */
		pen->x += (slot->linearHoriAdvance >> 10) * (code == ' ' ? pen->space : 100) / 100;
		last = glyph;
	}
	return *text ? npu_error_set(why, -EINVAL, "text that is not UTF-8") : 0;
}

/* One pass of 1-2-1 along rows (@step 3) or columns (@step a row), edges repeated. */
static void blur_pass(uint8_t *line, size_t n, size_t step)
{
	for (int c = 0; c < 3; c++) {
		unsigned int before = line[c], here = before, after;

		for (size_t i = 0; i < n; i++, before = here, here = after) {
			after = i + 1 < n ? line[(i + 1) * step + (size_t)c] : here;
			line[i * step + (size_t)c] = (uint8_t)((before + 2 * here + after + 2) / 4);
		}
	}
}

static void image_blur(struct npu_image *img)
{
	size_t w = (size_t)img->width, h = (size_t)img->height;

	for (size_t y = 0; y < h; y++)
		blur_pass(img->rgb + y * w * 3, w, 3);
	for (size_t x = 0; x < w; x++)
		blur_pass(img->rgb + x * 3, h, w * 3);
}

static void image_noise(struct npu_image *img, int amplitude)
{
	size_t n = (size_t)img->width * (size_t)img->height * 3;
	uint32_t state = 1;

	for (size_t i = 0; i < n; i++) {
		int sum = 0, v;

		for (int k = 0; k < 4; k++) {
			state = state * 1664525 + 1013904223;
			sum += (int)(state >> 24);
		}
		v = img->rgb[i] + (sum - 510) * amplitude / 510;
		img->rgb[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
	}
}

static int draw_page(const struct page *p, FT_Face face, struct npu_image *img,
		     struct npu_error *why)
{
	int margin = p->size * 3 / 2, leading = p->size * 8 / 5, err = 0;
	struct pen pen = { face, NULL, p->fg, p->space, 0, 0 };
	long widest = 0;

	for (int i = 0; !err && i < p->count; i++, pen.x = 0) {
		err = draw_line(&pen, p->line[i], why);
		widest = pen.x > widest ? pen.x : widest;
	}
	if (!err)
		err = npu_image_alloc(img, 2 * margin + (int)(widest >> 6) + 1,
				      2 * margin + p->count * leading, 0, why);
	for (size_t i = 0; !err && i < (size_t)img->width * (size_t)img->height * 3; i++)
		img->rgb[i] = (uint8_t)(p->bg >> (16 - 8 * (i % 3)));
	pen.img = img;
	for (int i = 0; !err && i < p->count; i++) {
		pen.x = margin * 64L;
		pen.y = (margin + i * leading + p->size) * 64L;
		err = draw_line(&pen, p->line[i], why);
	}
	for (int i = 0; !err && i < p->blur; i++)
		image_blur(img);
	if (!err && p->noise)
		image_noise(img, p->noise);
	return err;
}

static int write_text(const struct page *p, const char *path, struct npu_error *why)
{
	FILE *f = fopen(path, "w");
	int err;

	if (!f)
		return npu_error_set(why, -errno, "%s: %s", path, strerror(errno));
	for (int i = 0; i < p->count; i++)
		fprintf(f, "%s\n", p->line[i]);
	err = ferror(f) ? -EIO : 0;
	if (fclose(f) || err)
		return npu_error_set(why, -EIO, "%s: cannot be written", path);
	return 0;
}

static int make_page(const struct page *p, FT_Library library, const char *fonts, const char *dir,
		     struct npu_error *why)
{
	struct npu_image img = { 0 };
	char path[PATH_MAX];
	FT_Face face = NULL;
	int err = 0;

	if (snprintf(path, sizeof(path), "%s/%s", fonts, p->font) >= PATH_MAX ||
	    FT_New_Face(library, path, 0, &face) ||
	    FT_Set_Pixel_Sizes(face, 0, (FT_UInt)p->size))
		err = npu_error_set(why, -ENOENT, "%s: no font FreeType can read", path);
	if (!err)
		err = draw_page(p, face, &img, why);
	if (!err && snprintf(path, sizeof(path), "%s/%s.png", dir, p->name) >= PATH_MAX)
		err = npu_error_set(why, -ENAMETOOLONG, "%s: the name is too long", dir);
	if (!err)
		err = npu_image_save_png(path, &img, why);
	/* As long as the one before. */
	if (!err && snprintf(path, sizeof(path), "%s/%s.txt", dir, p->name) < PATH_MAX)
		err = write_text(p, path, why);
	npu_image_free(&img);
	FT_Done_Face(face);
	return err ? npu_error_prefix(why, err, "%s", p->name) : 0;
}

/* Every block of @text, which is cut into lines. */
static int make_pages(char *text, FT_Library library, const char *fonts, const char *dir,
		      struct npu_error *why)
{
	struct page page = { 0 };
	char *line;
	int err = 0;

	while (!err && (line = strsep(&text, "\n"))) {
		if (*line == '#')
			continue;
		if (*line && !*page.name)
			err = page_head(&page, line, why);
		else if (*line && page.count == LINES_MAX)
			err = npu_error_set(why, -E2BIG, "page %s has more than %d lines",
					    page.name, LINES_MAX);
		else if (*line)
			page.line[page.count++] = line;
		if (!err && *page.name && (!*line || !text)) {
			err = make_page(&page, library, fonts, dir, why);
			page = (struct page){ 0 };
		}
	}
	return err;
}

int main(int argc, char **argv)
{
	struct npu_error why = { 0 };
	FT_Library library;
	uint8_t *text;
	size_t len;
	int err;

	if (argc != 4) {
		fputs("usage: render_pages PAGES.txt FONTS DIR\n", stderr);
		return 2;
	}
	if (FT_Init_FreeType(&library))
		return 1;
	err = npu_file_read(argv[1], 1 << 20, &text, &len, &why);
	if (!err) {
		err = npu_file_mkdirs(argv[3], &why);
		if (!err)
			err = make_pages((char *)text, library, argv[2], argv[3], &why);
		free(text);
	}
	FT_Done_FreeType(library);
	if (err)
		fprintf(stderr, "render_pages: %s\n", why.text);
	return err ? 1 : 0;
}
