/* SPDX-License-Identifier: MIT */
/* What npu-ocr prints. */
#ifndef OCR_OUTPUT_H
#define OCR_OUTPUT_H

#include <stdio.h>

#include "ocr.h"

struct ocr_summary {
	const char *picture;
	int width, height;
	const char *runtime;
	const struct ocr_lines *lines;
	const struct ocr_times *times;
	struct ocr_placement placement;		/* sum over the networks */
};

/* One line of text each: confidence, box, text. */
void ocr_output_lines(FILE *out, const struct ocr_lines *lines);
/* Time per stage, and what ran on the NPU. */
void ocr_output_summary(FILE *out, const struct ocr_summary *s);
/* All of it as one JSON object. -ENOMEM, or -EIO when @out fails. */
int ocr_output_json(FILE *out, const struct ocr_summary *s);

#endif
