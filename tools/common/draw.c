// SPDX-License-Identifier: MIT
#include "tools/common/draw.h"

#include <math.h>
#include <string.h>

static void blend(struct npu_image *img, int x, int y, double part, struct npu_colour c)
{
	uint8_t *p;

	if (x < 0 || y < 0 || x >= img->width || y >= img->height || part <= 0)
		return;
	p = img->rgb + ((size_t)y * (size_t)img->width + (size_t)x) * 3;
	part = part > 1 ? 1 : part;
	p[0] = (uint8_t)lrint(p[0] + (c.r - p[0]) * part);
	p[1] = (uint8_t)lrint(p[1] + (c.g - p[1]) * part);
	p[2] = (uint8_t)lrint(p[2] + (c.b - p[2]) * part);
}

void npu_draw_rect(struct npu_image *img, int x, int y, int width, int height, struct npu_colour c)
{
	int i, j;

	for (j = y < 0 ? 0 : y; j < img->height && j < y + height; j++)
		for (i = x < 0 ? 0 : x; i < img->width && i < x + width; i++)
			blend(img, i, j, 1, c);
}

static int clamp_side(double v, int n)
{
	return v < 0 ? 0 : v > n ? n : (int)v;
}

void npu_draw_line(struct npu_image *img, struct npu_point a, struct npu_point b, double thick,
		   struct npu_colour c)
{
	double dx = b.x - a.x, dy = b.y - a.y, len2 = dx * dx + dy * dy, reach = thick / 2 + 1;
	int y0 = clamp_side(fmin(a.y, b.y) - reach, img->height),
	    y1 = clamp_side(fmax(a.y, b.y) + reach, img->height);
	int x, y;

	for (y = y0; y <= y1 && y < img->height; y++) {
		double lo = fmin(a.x, b.x), hi = fmax(a.x, b.x);

		/*
		 * Only the columns near the line in this row; a long diagonal would touch the whole
		 * picture else.
		 */
		if (fabs(dy) > 1e-9) {
			double s = dx / dy, slack = fabs(s) * reach + reach;

			lo = fmax(lo, a.x + (y - a.y) * s - slack);
			hi = fmin(hi, a.x + (y - a.y) * s + slack);
		}
		for (x = clamp_side(lo - reach, img->width); x <= hi + reach && x < img->width;
		     x++) {
			double t = len2 > 0 ? ((x - a.x) * dx + (y - a.y) * dy) / len2 : 0;

			t = t < 0 ? 0 : t > 1 ? 1 : t;
			blend(img, x, y,
			      thick / 2 + 0.5 - hypot(a.x + t * dx - x, a.y + t * dy - y), c);
		}
	}
}

void npu_draw_polygon(struct npu_image *img, const struct npu_point *pts, int n, double thick,
		      struct npu_colour c)
{
	int i;

	for (i = 0; i < n; i++)
		npu_draw_line(img, pts[i], pts[(i + 1) % n], thick, c);
}

/* One code point; malformed bytes count as one character each. */
static const char *utf8_next(const char *s, uint32_t *code)
{
	const unsigned char *p = (const unsigned char *)s;
	int n = p[0] < 0x80 ? 0 : p[0] >= 0xf0 ? 3 : p[0] >= 0xe0 ? 2 : p[0] >= 0xc0 ? 1 : 0, i;

	*code = p[0];
	for (i = 1; i <= n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return s + 1;
	}
	if (n || p[0] >= 0x80)
		*code = 0xfffd;
	return s + n + 1;
}

int npu_draw_text_length(const char *utf8)
{
	uint32_t code;
	int n = 0;

	for (; *utf8; n++)
		utf8 = utf8_next(utf8, &code);
	return n;
}

int npu_draw_text(struct npu_image *img, int x, int y, int scale, const char *utf8,
		  struct npu_colour c)
{
	uint32_t code;
	int i, j;

	while (*utf8) {
		const uint8_t *glyph;

		utf8 = utf8_next(utf8, &code);
		glyph = npu_font_glyph(code);
		for (i = 0; i < 5; i++)
			for (j = 0; j < 8; j++)
				if (glyph[i] >> j & 1)
					npu_draw_rect(img, x + i * scale, y + j * scale, scale,
						      scale, c);
		x += NPU_GLYPH_WIDTH * scale;
	}
	return x;
}

void npu_draw_image(struct npu_image *dst, int x, int y, const struct npu_image *src)
{
	int x0 = x < 0 ? -x : 0, x1 = src->width, j;

	if (x1 > dst->width - x)
		x1 = dst->width - x;
	for (j = 0; x0 < x1 && j < src->height; j++) {
		if (y + j < 0 || y + j >= dst->height)
			continue;
		memcpy(dst->rgb + ((size_t)(y + j) * (size_t)dst->width + (size_t)(x + x0)) * 3,
		       src->rgb + ((size_t)j * (size_t)src->width + (size_t)x0) * 3,
		       (size_t)(x1 - x0) * 3);
	}
}
