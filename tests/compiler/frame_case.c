// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "frame_case.h"

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
