// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/onnx_lines.h"
#include "frame_case.h"
#include "npu_half.h"
#include "tap.h"

const char *const frame_formats[FRAME_NUM_FORMATS] = {
	"nv12", "nv21", "yuyv", "yvyu", "uyvy", "vyuy", "rgb24", "bgr24",
};

uint32_t frame_seed = 1;

int below(int n)
{
	frame_seed ^= frame_seed << 13;
	frame_seed ^= frame_seed >> 17;
	frame_seed ^= frame_seed << 5;
	return (int)(frame_seed % (uint32_t)n);
}

int between(int lo, int hi)
{
	return lo + below(hi - lo + 1);
}

void frame_text(const struct frame_spec *s, char *text, size_t size)
{
	int n = snprintf(text, size, "%s:%dx%d,fit=%s,order=%s", s->format, s->width, s->height,
			 s->fit, s->bgr ? "bgr" : "rgb");

	n += snprintf(text + n, size - (size_t)n, s->boxed ? ",crop=box" : ",crop=%d:%d:%d:%d",
		      s->crop[0], s->crop[1], s->crop[2], s->crop[3]);
	if (strncmp(s->format, "rgb", 3) && strncmp(s->format, "bgr", 3))
		n += snprintf(text + n, size - (size_t)n, ",matrix=%s,range=%s", s->matrix,
			      s->range);
	if (s->stride)
		n += snprintf(text + n, size - (size_t)n, ",stride=%d", s->stride);
	n += snprintf(text + n, size - (size_t)n, ",pad=%.17g:%.17g:%.17g", s->pad[0], s->pad[1],
		      s->pad[2]);
	if (s->norm)
		snprintf(text + n, size - (size_t)n,
			 ",scale=%.17g,mean=%.17g:%.17g:%.17g,std=%.17g:%.17g:%.17g", s->scale,
			 s->mean[0], s->mean[1], s->mean[2], s->std[0], s->std[1], s->std[2]);
}

void frame_noise(uint8_t *frame, size_t size, uint32_t seed)
{
	uint64_t v = seed * 0x9e3779b97f4a7c15ull + 1;

	for (size_t i = 0; i < size; i++) {
		v = v * 6364136223846793005ull + 1442695040888963407ull;
		frame[i] = v >> 61 == 0 ? 255 : v >> 61 == 1 ? 0 : (uint8_t)(v >> 40);
	}
}

void frame_random_colours(struct frame_spec *s, bool norm)
{
	s->matrix = below(2) ? "bt601" : "bt709";
	s->range = below(2) ? "limited" : "full";
	s->bgr = !s->grey && below(2);
	s->norm = norm;
	s->scale = norm ? 1.0 / between(1, 255) : s->scale;
	for (int i = 0; i < 3; i++) {
		s->pad[i] = below(256);
		if (!norm)
			continue;
		s->mean[i] = i && s->grey ? s->mean[0] : between(-9, 9) * 0.11;
		s->std[i] = i && s->grey ? s->std[0] : between(1, 9) * 0.13;
	}
}

uint8_t *frame_mirror(const struct frame_input *d, size_t *size)
{
	struct ob b;

	ob_init(&b, 13);
	ob_input(&b, "x", d->type, 4,
		 d->nhwc ? OB_DIMS(d->pictures, d->height, d->width, d->channels) :
			   OB_DIMS(d->pictures, d->channels, d->height, d->width));
	if (d->type == 1) {
		ob_node(&b, "n: y = Neg(x)");
	} else {
		ob_node(&b, "c: f = Cast(x) to=1");
		ob_node(&b, "n: y = Neg(f)");
	}
	ob_output(&b, "y");
	return ob_finish(&b, size);
}

struct npu_compile_result *frame_compile(const uint8_t *model, size_t size, const char *text)
{
	struct npu_compile_result *r = NULL;
	struct npu_compile_options o;

	npu_compile_options_init(&o);
	o.precision = NPU_PRECISION_F32;
	o.input_formats = &text;
	o.num_input_formats = text ? 1 : 0;
	npu_compile_onnx(model, size, "m.onnx", &o, &r);
	return r;
}

size_t frame_differing(const struct frame_input *d, int picture, const float *y, const float *want)
{
	size_t plane = (size_t)d->height * (size_t)d->width, c = (size_t)d->channels, bad = 0;

	y += (size_t)picture * plane * c;
	for (size_t i = 0; i < plane * c; i++) {
		float v = -y[d->nhwc ? i : i % c * plane + i / c], w = want[i];

		if (d->type == 10)
			w = npu_half_widen(npu_half_narrow(w));
		if (v == w || (isnan(v) && isnan(w)))
			continue;
		if (!bad)
			tap_diag("picture %d, at %zu of %d x %d, channel %zu: %.9g, expected %.9g",
				 picture, i / c, d->width, d->height, i % c, (double)v, (double)w);
		bad++;
	}
	return bad;
}

void frame_is_refused(const uint8_t *model, size_t size, const char *text, const char *says)
{
	struct npu_compile_result *r = frame_compile(model, size, text);
	const char *why = r ? npu_compile_messages(r) : "";

	tap_ok(r && !npu_compile_job(r, NULL) && strstr(why, says) && strstr(why, text),
	       "%s: %.*s", text, (int)strcspn(why, "\n"), why);
	npu_compile_result_free(r);
}
