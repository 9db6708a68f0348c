/* SPDX-License-Identifier: MIT */
/* Pictures and digests that other programs can make as well, for expected values from elsewhere. */
#ifndef TESTS_PATTERN_H
#define TESTS_PATTERN_H

#include <stdint.h>
#include <stdlib.h>

#include "tools/common/image.h"

/* Every byte is the high byte of x = x * 1664525 + 1013904223 (32 bits), from x = @seed on. */
static inline struct npu_image pattern_image(int width, int height, uint32_t seed)
{
	struct npu_image img;
	int i;

	if (npu_image_alloc(&img, width, height, 0, NULL))
		abort();
	for (i = 0; i < width * height * 3; i++) {
		seed = seed * 1664525u + 1013904223u;
		img.rgb[i] = (uint8_t)(seed >> 24);
	}
	return img;
}

/* 64-bit FNV-1a. */
static inline uint64_t pattern_digest(const struct npu_image *img)
{
	uint64_t h = 0xcbf29ce484222325ull;
	int i;

	for (i = 0; i < img->width * img->height * 3; i++)
		h = (h ^ img->rgb[i]) * 0x100000001b3ull;
	return h;
}

#endif
