/* SPDX-License-Identifier: MIT */
/* Frames for tests: the option that asks for one, and bytes to be in it. */
#ifndef TESTS_FRAME_CASE_H
#define TESTS_FRAME_CASE_H

#include "tools/common/frame_ref.h"

/* The option's text. */
void frame_text(const struct frame_spec *s, char *text, size_t size);
/* Bytes from a fixed sequence, extremes among them. */
void frame_noise(uint8_t *frame, size_t size, uint32_t seed);

#endif
