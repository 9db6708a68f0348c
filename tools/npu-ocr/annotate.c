// SPDX-License-Identifier: MIT
#include "ocr.h"

#include <stdio.h>

#include "tools/common/draw.h"

/* Larger pictures are shrunk: this is for looking at, and the panel's letters have a fixed size. */
#define ANNOTATE_SIDE_MAX	2400
#define ANNOTATE_TEXT_MAX	100	/* characters of a line shown in the panel */
#define ANNOTATE_MARGIN		10

static const struct npu_colour white = { 255, 255, 255 }, black = { 30, 30, 30 },
			       grey = { 130, 130, 130 };

static struct npu_colour line_colour(size_t i)
{
	static const struct npu_colour palette[] = {
		{ 0, 114, 178 },  { 213, 94, 0 },  { 0, 138, 98 },
		{ 176, 58, 140 }, { 170, 120, 0 }, { 60, 60, 200 },
	};

	return palette[i % (sizeof(palette) / sizeof(palette[0]))];
}

static void line_head(const struct ocr_line *line, size_t index, char *text, size_t size)
{
	snprintf(text, size, "%2zu %.3f ", index + 1, (double)line->confidence);
}

/* The panel's text, cut to what is shown at a character's start. */
static void line_text(const struct ocr_line *line, char *text, size_t size)
{
	size_t n = (size_t)snprintf(text, size, "%s", line->text);

	if (n < size)
		return;
	n = size - 4;
	while (n && (text[n] & 0xc0) == 0x80)
		n--;
	snprintf(text + n, size - n, "...");
}

static int panel_width(const struct ocr_lines *lines, int scale)
{
	char text[ANNOTATE_TEXT_MAX * 3 + 1];
	int widest = 0, n;
	size_t i;

	for (i = 0; i < lines->count; i++) {
		line_text(&lines->line[i], text, sizeof(text));
		n = npu_draw_text_length(text);
		n = n > ANNOTATE_TEXT_MAX ? ANNOTATE_TEXT_MAX : n;
		widest = n > widest ? n : widest;
	}
	return (widest + 10) * NPU_GLYPH_WIDTH * scale + 2 * ANNOTATE_MARGIN;
}

static void draw_boxes(struct npu_image *canvas, const struct ocr_lines *lines, double ratio)
{
	size_t i;
	int k;

	for (i = 0; i < lines->count; i++) {
		struct npu_colour c = line_colour(i);
		struct npu_point q[4];
		char label[16];
		int x, y, w;

		for (k = 0; k < 4; k++) {
			q[k].x = lines->line[i].box.quad.p[k].x * ratio;
			q[k].y = lines->line[i].box.quad.p[k].y * ratio;
		}
		npu_draw_polygon(canvas, q, 4, 1.5, c);
		/* The number sits on the corner where reading starts. */
		k = lines->line[i].flipped ? 2 : 0;
		w = snprintf(label, sizeof(label), "%zu", i + 1) * NPU_GLYPH_WIDTH;
		x = (int)q[k].x - w - 1;
		x = x < 0 ? 0 : x;
		y = (int)q[k].y < 0 ? 0 : (int)q[k].y;
		npu_draw_rect(canvas, x, y, w + 1, NPU_GLYPH_HEIGHT, c);
		npu_draw_text(canvas, x + 1, y + 1, 1, label, white);
	}
}

static void draw_panel(struct npu_image *canvas, const struct ocr_lines *lines, int x, int scale)
{
	int y = ANNOTATE_MARGIN, step = (NPU_GLYPH_HEIGHT + 4) * scale, at;
	char text[ANNOTATE_TEXT_MAX * 3 + 1], head[32];
	size_t i;

	for (i = 0; i < lines->count; i++, y += step) {
		line_head(&lines->line[i], i, head, sizeof(head));
		line_text(&lines->line[i], text, sizeof(text));
		at = npu_draw_text(canvas, x, y, scale, head, line_colour(i));
		npu_draw_text(canvas, at, y, scale, text, black);
	}
	if (!lines->count)
		npu_draw_text(canvas, x, y, scale, "no text found", grey);
}

int ocr_annotate(const struct npu_image *img, const struct ocr_lines *lines, const char *path,
		 struct npu_error *why)
{
	int longest = img->width > img->height ? img->width : img->height, w, h, wide, tall,
	    scale = 2, err;
	double ratio = longest > ANNOTATE_SIDE_MAX ? (double)ANNOTATE_SIDE_MAX / longest : 1;
	struct npu_image view = { 0 }, canvas = { 0 };

	w = (int)(img->width * ratio) > 0 ? (int)(img->width * ratio) : 1;
	h = (int)(img->height * ratio) > 0 ? (int)(img->height * ratio) : 1;
	if (lines->count * (NPU_GLYPH_HEIGHT + 4) * 2 > (size_t)h)
		scale = 1;
	wide = w + panel_width(lines, scale);
	tall = (int)lines->count * (NPU_GLYPH_HEIGHT + 4) * scale + 2 * ANNOTATE_MARGIN;
	tall = tall < h ? h : tall;
	err = npu_image_resize(img, w, h, &view, why);
	if (!err)
		err = npu_image_alloc(&canvas, wide, tall, 255, why);
	if (!err) {
		npu_draw_image(&canvas, 0, 0, &view);
		draw_boxes(&canvas, lines, ratio);
		draw_panel(&canvas, lines, w + ANNOTATE_MARGIN, scale);
		err = npu_image_save_png(path, &canvas, why);
	}
	npu_image_free(&view);
	npu_image_free(&canvas);
	return err;
}
