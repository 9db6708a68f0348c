/* SPDX-License-Identifier: MIT */
/* Lines, boxes and small text on a picture. Everything is clipped to it; nothing here can fail. */
#ifndef TOOLS_DRAW_H
#define TOOLS_DRAW_H

#include "tools/common/image.h"

struct npu_colour {
	uint8_t r, g, b;
};

#define NPU_GLYPH_WIDTH		6	/* columns a character takes, the gap included */
#define NPU_GLYPH_HEIGHT	9	/* rows a line takes, the gap included */

/* Fill a rectangle. */
void npu_draw_rect(struct npu_image *img, int x, int y, int width, int height, struct npu_colour c);

/* A smooth line of @thick pixels between two points. */
void npu_draw_line(struct npu_image *img, struct npu_point a, struct npu_point b, double thick,
		   struct npu_colour c);

/* The closed outline of @n points. */
void npu_draw_polygon(struct npu_image *img, const struct npu_point *pts, int n, double thick,
		      struct npu_colour c);

/*
 * Write UTF-8 text with its top left corner at @x, @y, each dot of the 5x7 letters @scale pixels
 * wide. What the built-in font lacks (anything but ASCII) becomes a hollow box. Returns the x after
 * the last character.
 */
int npu_draw_text(struct npu_image *img, int x, int y, int scale, const char *utf8,
		  struct npu_colour c);

/* How many characters npu_draw_text() makes of @utf8. */
int npu_draw_text_length(const char *utf8);

/* Copy @src into @dst with its top left corner at @x, @y. */
void npu_draw_image(struct npu_image *dst, int x, int y, const struct npu_image *src);

/* Columns of a 5x7 letter, lowest bit on top; a hollow box for code points without one. */
const uint8_t *npu_font_glyph(uint32_t code);

#endif
