// SPDX-License-Identifier: MIT
/* --input-format: tables of formats and keys, which its help is printed from, and the parser. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/camera.h"
#include "npu_compiler.h"

#define FOURCC(a, b, c, d) \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

static const struct npu_camera_format formats[] = {
	{ "nv12", "a plane of luma, a plane of u and v for four pixels each",
	  FOURCC('N', 'V', '1', '2'), NPU_COLOR_NV12, 2, 1, true, false, false, 2, 2 },
	{ "nv21", "the same, v and u", FOURCC('N', 'V', '2', '1'),
	  NPU_COLOR_NV12, 2, 1, true, false, true, 2, 2 },
	{ "yuyv", "y u y v for two pixels", FOURCC('Y', 'U', 'Y', 'V'),
	  NPU_COLOR_YUYV, 1, 2, true, false, false, 2, 1 },
	{ "yvyu", "y v y u", FOURCC('Y', 'V', 'Y', 'U'),
	  NPU_COLOR_YUYV, 1, 2, true, false, true, 2, 1 },
	{ "uyvy", "u y v y", FOURCC('U', 'Y', 'V', 'Y'),
	  NPU_COLOR_YUYV, 1, 2, true, true, false, 2, 1 },
	{ "vyuy", "v y u y", FOURCC('V', 'Y', 'U', 'Y'),
	  NPU_COLOR_YUYV, 1, 2, true, true, true, 2, 1 },
	{ "rgb24", "red green blue", FOURCC('R', 'G', 'B', '3'),
	  NPU_COLOR_RGB24, 1, 3, false, false, false, 1, 1 },
	{ "bgr24", "blue green red", FOURCC('B', 'G', 'R', '3'),
	  NPU_COLOR_BGR24, 1, 3, false, false, false, 1, 1 },
};

#define NUM_FORMATS (sizeof(formats) / sizeof(*formats))

/* Parsers of values: NULL, or what was expected. */
typedef const char *(*value_fn)(struct npu_camera *c, const char *v);

static const char *read_count(const char **p, uint32_t *v)
{
	char *end;
	unsigned long n;

	if (!isdigit((unsigned char)**p))
		return "a whole number";
	errno = 0;
	n = strtoul(*p, &end, 10);
	if (errno || n > INT32_MAX)
		return "a smaller number";
	*p = end;
	*v = (uint32_t)n;
	return NULL;
}

/* "0.5" or "1/255"; stops at ':'. */
static const char *read_real(const char **p, double *v)
{
	char *end;
	double by;

	*v = strtod(*p, &end);
	if (end == *p)
		return "a number";
	*p = end;
	if (*end == '/') {
		by = strtod(end + 1, &end);
		if (end == *p + 1 || by == 0)
			return "a number other than 0 behind '/'";
		*v /= by;
		*p = end;
	}
	return isfinite(*v) && fabs(*v) < 1e30 ? NULL : "a finite number";
}

/* One number for all channels, or three. */
static const char *read_three(const char *v, double out[3])
{
	const char *why = read_real(&v, &out[0]);

	if (why || !*v) {
		out[1] = out[2] = out[0];
		return why;
	}
	for (int i = 1; i < 3; i++) {
		if (*v++ != ':')
			return "one number, or three separated by ':'";
		why = read_real(&v, &out[i]);
		if (why)
			return why;
	}
	return *v ? "one number, or three separated by ':'" : NULL;
}

static const char *take_crop(struct npu_camera *c, const char *v)
{
	static const char *const want = "X:Y:WIDTH:HEIGHT, or box";

	c->boxed = !strcmp(v, "box");
	if (c->boxed)
		return NULL;
	for (int i = 0; i < 4; i++)
		if ((i && *v++ != ':') || read_count(&v, &c->crop[i]))
			return want;
	if (*v)
		return want;
	if (!c->crop[2] || !c->crop[3])
		return "a width and a height from 1";
	if (c->crop[0] >= c->width || c->crop[2] > c->width - c->crop[0] ||
	    c->crop[1] >= c->height || c->crop[3] > c->height - c->crop[1])
		return "a part of the frame";
	return NULL;
}

static int word(const char *v, const char *const *words, int count)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(v, words[i]))
			return i;
	return -1;
}

static const char *take_fit(struct npu_camera *c, const char *v)
{
	int i = word(v, (const char *const[]){ "stretch", "letterbox", "crop" }, NPU_NUM_FITS);

	c->fit = (enum npu_camera_fit)i;
	return i < 0 ? "stretch, letterbox or crop" : NULL;
}

static const char *take_pad(struct npu_camera *c, const char *v)
{
	const char *why = read_three(v, c->pad);

	for (int i = 0; i < 3 && !why; i++)
		if (c->pad[i] < 0 || c->pad[i] > 255)
			why = "colours from 0 to 255";
	return why;
}

static const char *take_matrix(struct npu_camera *c, const char *v)
{
	int i = word(v, (const char *const[]){ "bt601", "bt709" }, NPU_NUM_MATRICES);

	if (!c->format->yuv)
		return "a format of luma and chroma";
	c->matrix = (enum npu_camera_matrix)i;
	return i < 0 ? "bt601 or bt709" : NULL;
}

static const char *take_range(struct npu_camera *c, const char *v)
{
	int i = word(v, (const char *const[]){ "limited", "full" }, NPU_NUM_RANGES);

	if (!c->format->yuv)
		return "a format of luma and chroma";
	c->range = (enum npu_camera_range)i;
	return i < 0 ? "limited or full" : NULL;
}

static const char *take_stride(struct npu_camera *c, const char *v)
{
	uint32_t row = c->width * c->format->pixel_bytes;
	const char *why;

	if (!strcmp(v, "any"))
		return NULL;
	why = read_count(&v, &c->stride);
	if (why || *v)
		return "bytes, or any";
	return c->stride < row || c->stride > 1 << 20 ?
		       "at least the bytes of a row, at most 1048576" :
		       NULL;
}

static const char *take_order(struct npu_camera *c, const char *v)
{
	int i = word(v, (const char *const[]){ "rgb", "bgr" }, 2);

	c->bgr = i == 1;
	return i < 0 ? "rgb or bgr" : NULL;
}

static const char *take_scale(struct npu_camera *c, const char *v)
{
	const char *why = read_real(&v, &c->scale);

	c->has_norm = true;
	return why ? why : *v ? "one number" : NULL;
}

static const char *take_mean(struct npu_camera *c, const char *v)
{
	c->has_norm = true;
	return read_three(v, c->mean);
}

static const char *take_std(struct npu_camera *c, const char *v)
{
	const char *why = read_three(v, c->std);

	c->has_norm = true;
	for (int i = 0; i < 3 && !why; i++)
		if (fabs(c->std[i]) < 1e-30)
			why = "numbers other than 0";
	return why;
}

static const struct key {
	const char *name, *value, *help;
	value_fn take;
} keys[] = {
	{ "crop", "X:Y:W:H|box",
	  "the part of the frame that is taken; box: what each run gives as input NAME.box, "
	  "y0 x0 y1 x1 in pixels; all of it",
	  take_crop },
	{ "fit", "stretch|letterbox|crop",
	  "how it gets the input's size: each side by itself (default), "
	  "whole with borders, or what fills it",
	  take_fit },
	{ "pad", "N|R:G:B", "colour of the borders, 0..255; 0", take_pad },
	{ "matrix", "bt601|bt709", "how the camera made luma and chroma; bt601", take_matrix },
	{ "range", "limited|full", "whether luma runs from 16 to 235 or from 0 to 255; limited",
	  take_range },
	{ "stride", "BYTES|any",
	  "from row to row, of every plane; any: given with each frame (default)", take_stride },
	{ "order", "rgb|bgr", "of the model's channels; rgb", take_order },
	{ "scale", "S", "value = (colour * S - mean) / std, colours from 0 to 255; 1/255",
	  take_scale },
	{ "mean", "M|M:M:M", "by the model's channels; 0", take_mean },
	{ "std", "D|D:D:D", "the same; 1", take_std },
};

#define NUM_KEYS (sizeof(keys) / sizeof(*keys))

bool npu_compile_input_format_help(unsigned int i, const char **name, const char **value,
				   const char **help)
{
	if (i < NUM_FORMATS) {
		*name = formats[i].name;
		*value = NULL;
		*help = formats[i].help;
		return true;
	}
	i -= (unsigned int)NUM_FORMATS;
	if (i >= NUM_KEYS)
		return false;
	*name = keys[i].name;
	*value = keys[i].value;
	*help = keys[i].help;
	return true;
}

/* ---- the text -------------------------------------------------------------------------------- */

static int refuse(struct npu_diag *diag, const char *text, const char *fmt, const char *what,
		  size_t len, const char *want)
{
	return npu_diag_add(diag, -EINVAL, "input format", fmt, text, (int)len, what, want);
}

static const char *names_of_formats(struct npu_diag *diag)
{
	const char *s = formats[0].name;

	for (size_t i = 1; i < NUM_FORMATS && s; i++)
		s = npu_arena_printf(&diag->arena, "%s%s%s", s,
				     i + 1 == NUM_FORMATS ? " or " : ", ", formats[i].name);
	return s ? s : "";
}

static const char *names_of_keys(struct npu_diag *diag)
{
	const char *s = keys[0].name;

	for (size_t i = 1; i < NUM_KEYS && s; i++)
		s = npu_arena_printf(&diag->arena, "%s%s%s", s, i + 1 == NUM_KEYS ? " or " : ", ",
				     keys[i].name);
	return s ? s : "";
}

/* "nv12:1280x720"; returns what follows, or NULL (reported). */
static const char *read_frame(struct npu_camera *c, struct npu_diag *diag)
{
	const char *p = c->spec;
	size_t len = strcspn(p, ":,");
	const char *why;

	for (size_t i = 0; i < NUM_FORMATS; i++)
		if (strlen(formats[i].name) == len && !memcmp(formats[i].name, p, len))
			c->format = &formats[i];
	if (!c->format) {
		refuse(diag, c->text, "'%s': there is no format '%.*s', expected %s", p, len,
		       names_of_formats(diag));
		return NULL;
	}
	p += len;
	why = *p++ == ':' ? read_count(&p, &c->width) : "";
	if (!why)
		why = *p++ == 'x' ? read_count(&p, &c->height) : "";
	if (why || (*p && *p != ',')) {
		refuse(diag, c->text, "'%s': behind '%.*s' comes %s", c->spec, len,
		       ":WIDTHxHEIGHT, the size of the frame");
		return NULL;
	}
	if (!c->width || !c->height || c->width > NPU_CAMERA_MAX_SIZE ||
	    c->height > NPU_CAMERA_MAX_SIZE) {
		npu_diag_add(diag, -EINVAL, "input format",
			     "'%s': a frame of %ux%u pixels, expected 1 to %d each", c->text,
			     c->width, c->height, NPU_CAMERA_MAX_SIZE);
		return NULL;
	}
	if (c->width % c->format->even_w || c->height % c->format->even_h) {
		npu_diag_add(diag, -EINVAL, "input format",
			     "'%s': %ux%u pixels, but pixels of %s share their chroma: an even width%s is needed",
			     c->text, c->width, c->height, c->format->name,
			     c->format->even_h > 1 ? " and height" : "");
		return NULL;
	}
	return p;
}

static int read_key(struct npu_camera *c, const char *p, size_t len, unsigned int *seen,
		    struct npu_diag *diag)
{
	size_t name = strcspn(p, "=,"), i = 0;
	char value[128];
	const char *why;

	while (i < NUM_KEYS && (strlen(keys[i].name) != name || memcmp(keys[i].name, p, name)))
		i++;
	if (i == NUM_KEYS)
		return refuse(diag, c->text, "'%s': there is no key '%.*s', expected %s", p, name,
			      names_of_keys(diag));
	if (name >= len || len - name - 1 >= sizeof(value))
		return refuse(diag, c->text, "'%s': expected %.*s=%s", p, name, keys[i].value);
	if (*seen & 1u << i)
		return refuse(diag, c->text, "'%s': %.*s is there twice%s", p, name, "");
	*seen |= 1u << i;
	memcpy(value, p + name + 1, len - name - 1);
	value[len - name - 1] = 0;
	why = keys[i].take(c, value);
	return why ? refuse(diag, c->text, "'%s': %.*s: expected %s", p, len, why) : 0;
}

/* The input's name ends at the first '=' unless that belongs to a key. */
static int read_input(struct npu_camera *c)
{
	const char *eq = strchr(c->text, '='), *comma = strchr(c->text, ',');

	if (eq && (!comma || eq < comma)) {
		c->input = strndup(c->text, (size_t)(eq - c->text));
		c->spec = eq + 1;
	} else {
		c->input = strdup("");
		c->spec = c->text;
	}
	return c->input ? 0 : -ENOMEM;
}

static int parse_one(struct npu_camera *c, const char *text, struct npu_diag *diag)
{
	unsigned int seen = 0;
	const char *p;
	int err;

	*c = (struct npu_camera){ .text = text, .scale = 1.0 / 255, .std = { 1, 1, 1 } };
	err = read_input(c);
	if (err)
		return err;
	p = read_frame(c, diag);
	if (!p)
		return -EINVAL;
	c->crop[2] = c->width;
	c->crop[3] = c->height;
	while (*p == ',' && !err) {
		size_t len = strcspn(++p, ",");

		err = read_key(c, p, len, &seen, diag);
		p += len;
	}
	if (!err && c->boxed && c->fit != NPU_FIT_STRETCH)
		err = npu_diag_add(diag, -EINVAL, "input format",
				   "'%s': crop=box: the box is stretched to the input, fit=stretch",
				   c->text);
	return err;
}

int npu_camera_parse(const char *const *text, unsigned int count, struct npu_camera **cameras,
		     struct npu_diag *diag)
{
	struct npu_camera *c = calloc((size_t)count + 1, sizeof(*c));
	int err = 0;

	*cameras = c;
	if (!c)
		return -ENOMEM;
	for (unsigned int i = 0; i < count && !err; i++) {
		err = text[i] ? parse_one(&c[i], text[i], diag) :
				npu_diag_add(diag, -EINVAL, "input format", "entry %u is NULL", i);
		for (unsigned int k = 0; k < i && !err; k++)
			if (!strcmp(c[i].input, c[k].input))
				err = npu_diag_add(diag, -EINVAL, "input format",
						   "'%s' and '%s' are of one input", c[k].text,
						   c[i].text);
	}
	return err;
}

void npu_camera_free(struct npu_camera *cameras, unsigned int count)
{
	for (unsigned int i = 0; cameras && i < count; i++)
		free(cameras[i].input);
	free(cameras);
}
