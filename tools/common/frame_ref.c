// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "tools/common/frame_ref.h"

static bool is(const struct frame_spec *s, const char *name)
{
	return !strcmp(s->format, name);
}

static bool semi_planar(const struct frame_spec *s)
{
	return is(s, "nv12") || is(s, "nv21");
}

static bool rgb(const struct frame_spec *s)
{
	return is(s, "rgb24") || is(s, "bgr24");
}

void frame_default(struct frame_spec *s, const char *format, int width, int height)
{
	*s = (struct frame_spec){ .format = format, .width = width, .height = height,
				  .crop = { 0, 0, width, height }, .fit = "stretch",
				  .matrix = "bt601", .range = "limited", .scale = 1.0 / 255,
				  .std = { 1, 1, 1 } };
}

int frame_planes(const struct frame_spec *s)
{
	return semi_planar(s) ? 2 : 1;
}

void frame_plane(const struct frame_spec *s, int k, size_t *row, size_t *rows)
{
	*row = (size_t)s->width * (semi_planar(s) ? 1 : rgb(s) ? 3 : 2);
	*rows = (size_t)(k ? s->height / 2 : s->height);
}

size_t frame_bytes(const struct frame_spec *s)
{
	size_t row, rows, all = 0;

	for (int k = 0; k < frame_planes(s); k++) {
		frame_plane(s, k, &row, &rows);
		all += row * rows;
	}
	return all;
}

/* The components of the pixel in column @x of row @y: y, u, v or red, green, blue. */
static void components(const struct frame_spec *s, const uint8_t *frame, int y, int x, float c[3])
{
	size_t w = (size_t)s->width, row = (size_t)y;
	const uint8_t *p;

	if (semi_planar(s)) {
		p = frame + w * (size_t)s->height + row / 2 * w + (size_t)(x / 2 * 2);
		c[0] = frame[row * w + (size_t)x];
		c[1] = p[is(s, "nv21")];
		c[2] = p[is(s, "nv12")];
	} else if (rgb(s)) {
		p = frame + (row * w + (size_t)x) * 3;
		for (int i = 0; i < 3; i++)
			c[i] = p[is(s, "rgb24") ? i : 2 - i];
	} else {
		/* where in "yuyv" the letters stand */
		const char *order = s->format;
		int u = (int)(strchr(order, 'u') - order), v = (int)(strchr(order, 'v') - order);
		int luma = order[0] == 'y' ? 0 : 1;

		p = frame + (row * w + (size_t)(x / 2 * 2)) * 2;
		c[0] = p[x % 2 * 2 + luma];
		c[1] = p[u];
		c[2] = p[v];
	}
}

static void to_rgb(const struct frame_spec *s, const float c[3], float out[3])
{
	bool limited = !strcmp(s->range, "limited"), hd = !strcmp(s->matrix, "bt709");
	double kr = hd ? 0.2126 : 0.299, kb = hd ? 0.0722 : 0.114, kg = 1 - kr - kb;
	double yg = limited ? 255.0 / 219 : 1, cg = limited ? 255.0 / 224 : 1;
	const float m[3][3] = {
		{ (float)yg, 0, (float)(cg * 2 * (1 - kr)) },
		{ (float)yg, (float)(-cg * 2 * (1 - kb) * kb / kg),
		  (float)(-cg * 2 * (1 - kr) * kr / kg) },
		{ (float)yg, (float)(cg * 2 * (1 - kb)), 0 },
	};
	/* what the format has first of u and v is added first */
	bool v_first = is(s, "nv21") || is(s, "yvyu") || is(s, "vyuy");
	const int order[3] = { 0, v_first ? 2 : 1, v_first ? 1 : 2 };
	const float offset[3] = { limited ? 16 : 0, 128, 128 };

	for (int i = 0; i < 3; i++) {
		float acc = 0;

		for (int k = 0; k < 3; k++)
			acc = fmaf(c[order[k]] - offset[order[k]], m[i][order[k]], acc);
		out[i] = acc < 0 ? 0 : acc > 255 ? 255 : acc;
	}
}

/* Luma of a pixel's components. */
static float to_grey(const struct frame_spec *s, const float c[3])
{
	float acc = 0;

	if (!rgb(s)) {
		bool limited = !strcmp(s->range, "limited");

		acc = (c[0] - (limited ? 16.0f : 0.0f)) * (limited ? (float)(255.0 / 219) : 1.0f);
	} else {
		acc = fmaf(c[0], 0.299f, acc);
		acc = fmaf(c[1], (float)(1 - 0.299 - 0.114), acc);
		acc = fmaf(c[2], 0.114f, acc);
	}
	return acc < 0 ? 0 : acc > 255 ? 255 : acc;
}

/* A pixel that there is; 0 for what is no number. */
static float in_frame(float v, int size)
{
	return v > 0 ? fminf(v, (float)(size - 1)) : 0;
}

/* One side of the box: where output @o of @n looks, within the pixels that [lo, hi) touches. */
static float source(float lo, float hi, int o, int n, int size, int at[2])
{
	float v = fmaf((float)o + 0.5f, (hi - lo) / (float)n, lo) - 0.5f;
	float first = in_frame(floorf(lo), size), last = in_frame(ceilf(hi) - 1, size);

	for (int i = 0; i < 2; i++) {
		float t = floorf(v) + (float)i;

		at[i] = (int)(t > first ? t < last ? t : last : first);
	}
	return v - floorf(v);
}

static float blend(float a, float b, float f)
{
	return fmaf(b - a, f, a);
}

static void sample(const struct frame_spec *s, const uint8_t *frame, const float box[4], int oy,
		   int ox, int h, int w, float rgb_out[3])
{
	float c[2][2][3], v[3], fy, fx;
	int y[2], x[2];

	fy = source(box[0], box[2], oy, h, s->height, y);
	fx = source(box[1], box[3], ox, w, s->width, x);
	for (int i = 0; i < 4; i++)
		components(s, frame, y[i / 2], x[i % 2], c[i / 2][i % 2]);
	for (int i = 0; i < 3; i++)
		v[i] = blend(blend(c[0][0][i], c[0][1][i], fx), blend(c[1][0][i], c[1][1][i], fx),
			     fy);
	if (s->grey)
		rgb_out[0] = to_grey(s, v);
	else if (rgb(s))
		memcpy(rgb_out, v, sizeof(v));
	else
		to_rgb(s, v, rgb_out);
}

/* The box, and in @place (y, x, height, width) where it lands. */
static void fit(const struct frame_spec *s, int height, int width, float box[4], int place[4])
{
	double x = s->crop[0], y = s->crop[1], w = s->crop[2], h = s->crop[3];

	place[0] = place[1] = 0;
	place[2] = height;
	place[3] = width;
	if (!strcmp(s->fit, "letterbox")) {
		double ratio = fmin(width / w, height / h);

		place[3] = (int)fmax(1, fmin(width, round(w * ratio)));
		place[2] = (int)fmax(1, fmin(height, round(h * ratio)));
		place[1] = (width - place[3]) / 2;
		place[0] = (height - place[2]) / 2;
	} else if (!strcmp(s->fit, "crop")) {
		double new_w = w * height > h * width ? h * width / height : w;
		double new_h = w * height > h * width ? h : w * height / width;

		x += (w - new_w) / 2;
		y += (h - new_h) / 2;
		w = new_w;
		h = new_h;
	}
	box[0] = (float)y;
	box[1] = (float)x;
	box[2] = (float)(y + h);
	box[3] = (float)(x + w);
}

static float grey_pad(const struct frame_spec *s)
{
	bool hd = !rgb(s) && !strcmp(s->matrix, "bt709");
	double kr = hd ? 0.2126 : 0.299, kb = hd ? 0.0722 : 0.114;

	return (float)(kr * s->pad[0] + (1 - kr - kb) * s->pad[1] + kb * s->pad[2]);
}

/* @box to rows and columns @place (y, x, height, width) of a picture. */
static void make_picture(const struct frame_spec *s, const uint8_t *frame, const float box[4],
			 const int place[4], int height, int width, bool bytes, float *out)
{
	int channels = s->grey ? 1 : 3;
	float colour[3];

	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++, out += channels) {
			int py = y - place[0], px = x - place[1];
			bool inside = py >= 0 && px >= 0 && py < place[2] && px < place[3];

			if (inside)
				sample(s, frame, box, py, px, place[2], place[3], colour);
			for (int c = 0; c < channels; c++) {
				int k = s->bgr ? 2 - c : c;
				float v = inside  ? colour[k] :
					  s->grey ? grey_pad(s) :
						    (float)s->pad[k];

				out[c] = bytes ? isnan(v) ? 0 : floorf(v + 0.5f) :
					 fmaf(v, (float)(s->scale / s->std[c]),
					      (float)(-s->mean[c] / s->std[c]));
			}
		}
}

void frame_picture(const struct frame_spec *s, const uint8_t *frame, int height, int width,
		   bool bytes, float *out)
{
	float box[4];
	int place[4];

	fit(s, height, width, box, place);
	make_picture(s, frame, box, place, height, width, bytes, out);
}

void frame_cut(const struct frame_spec *s, const uint8_t *frame, const float box[4], int height,
	       int width, bool bytes, float *out)
{
	const int place[4] = { 0, 0, height, width };

	make_picture(s, frame, box, place, height, width, bytes, out);
}
