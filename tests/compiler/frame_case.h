/* SPDX-License-Identifier: MIT */
/* Frames for tests: the option that asks for one, what is in it, and a model that gives it back. */
#ifndef TESTS_FRAME_CASE_H
#define TESTS_FRAME_CASE_H

#include "npu_compiler.h"
#include "tools/common/frame_ref.h"

#define FRAME_NUM_FORMATS	8

extern const char *const frame_formats[FRAME_NUM_FORMATS];

/* Where the sequence of below() and between() is; a test sets its own beginning. */
extern uint32_t frame_seed;
/* 0 .. @n - 1; and @lo .. @hi. */
int below(int n);
int between(int lo, int hi);

/* The option's text. */
void frame_text(const struct frame_spec *s, char *text, size_t size);
/* Bytes from a fixed sequence, extremes among them. */
void frame_noise(uint8_t *frame, size_t size, uint32_t seed);
/* Any matrix, range, order (unless it is grey) and padding; with @norm scale, mean and std, too. */
void frame_random_colours(struct frame_spec *s, bool norm);

/* The input of a model. @type: 1 f32, 10 f16, 2 u8. */
struct frame_input {
	int pictures, height, width, channels, type;
	bool nhwc;
};

/* An ONNX model y = -x in f32, of *@size bytes, to be freed: it tells exactly what it sees. */
uint8_t *frame_mirror(const struct frame_input *d, size_t *size);
/* Compile with all of it in f32, and --input-format @text (NULL: none). */
struct npu_compile_result *frame_compile(const uint8_t *model, size_t size, const char *text);
/* How many values of y's @picture are not those of @want, [height][width][channels]; NaN is NaN. */
size_t frame_differing(const struct frame_input *d, int picture, const float *y, const float *want);
/* A test line: with @text the model is refused, by a message that has it and @says. */
void frame_is_refused(const uint8_t *model, size_t size, const char *text, const char *says);

#endif
