// SPDX-License-Identifier: MIT
#include "ocr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FLIP_SURE	0.9f	/* the classifier's word counts from here */
#define READ_SURE	0.8f	/* text that is the right way up is surer; else around 0.5 */

double ocr_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

void ocr_options_default(struct ocr_options *opt)
{
	*opt = (struct ocr_options){
		.det_limit = 960, .classify = 1, .rec_min_width = 320, .drop_score = 0.5f
	};
}

void ocr_lines_free(struct ocr_lines *lines)
{
	size_t i;

	for (i = 0; i < lines->count; i++)
		free(lines->line[i].text);
	free(lines->line);
	memset(lines, 0, sizeof(*lines));
}

static int crop_lines(struct ocr *ocr, const struct npu_image *img, struct ocr_lines *lines,
		      struct npu_image *crops, struct npu_error *why)
{
	double t0 = ocr_now();
	size_t i;
	int err = 0;

	for (i = 0; !err && i < lines->count; i++)
		err = ocr_crop(img, &lines->line[i].box.quad, &crops[i], &lines->line[i].turned,
			       why);
	ocr->times.crop += ocr_now() - t0;
	for (i = 0; !err && i < lines->count; i++)
		err = ocr_dump_image(ocr, "crop", (long)i, &crops[i], why);
	return err;
}

/*
 * Ask the classifier about every line. It errs on some, but a page is printed in one direction:
 * @flipped is what the lines say together.
 */
static int classify_lines(struct ocr *ocr, struct ocr_lines *lines, const struct npu_image *crops,
			  int *flipped, struct npu_error *why)
{
	double t0 = ocr_now(), votes = 0;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < lines->count; i++) {
		err = ocr_classify(ocr, &crops[i], i, &lines->line[i].flip_prob, why);
		votes += (double)lines->line[i].flip_prob - 0.5;
	}
	*flipped = votes > 0;
	ocr->times.classify += ocr_now() - t0;
	return err;
}

static int read_direction(struct ocr *ocr, const struct npu_image *crop, int flipped,
			  const char *name, size_t index, struct ocr_line *line,
			  struct npu_error *why)
{
	struct npu_image turned;
	int err;

	line->flipped = flipped;
	if (!flipped)
		return ocr_recognize(ocr, crop, line, name, index, why);
	err = npu_image_rotate(crop, 2, &turned, why);
	if (err)
		return err;
	err = ocr_recognize(ocr, &turned, line, name, index, why);
	npu_image_free(&turned);
	return err;
}

/*
 * Read a line in the page's direction. Where the classifier is sure of the other one, or little
 * sense comes out, the other direction is read as well, and the surer of the two stays.
 */
static int read_line(struct ocr *ocr, const struct npu_image *crop, int flipped, size_t index,
		     struct ocr_line *line, struct npu_error *why)
{
	float against = flipped ? 1 - line->flip_prob : line->flip_prob;
	struct ocr_line other = *line;
	int err;

	err = read_direction(ocr, crop, flipped, "rec", index, line, why);
	if (err || !ocr->opt.classify || (against < FLIP_SURE && line->confidence >= READ_SURE))
		return err;
	err = read_direction(ocr, crop, !flipped, "rec-turned", index, &other, why);
	if (err)
		return err;
	if (other.confidence > line->confidence) {
		free(line->text);
		*line = other;
	} else {
		free(other.text);
	}
	return 0;
}

static int read_lines(struct ocr *ocr, const struct npu_image *img, struct ocr_lines *lines,
		      struct npu_error *why)
{
	struct npu_image *crops;
	int flipped = 0, err;
	double t0;
	size_t i;

	crops = calloc(lines->count, sizeof(*crops));
	if (!crops)
		return npu_error_set(why, -ENOMEM, "no memory for %zu crops", lines->count);
	err = crop_lines(ocr, img, lines, crops, why);
	if (!err && ocr->opt.classify)
		err = classify_lines(ocr, lines, crops, &flipped, why);
	t0 = ocr_now();
	for (i = 0; !err && i < lines->count; i++)
		err = read_line(ocr, &crops[i], flipped, i, &lines->line[i], why);
	ocr->times.recognize += ocr_now() - t0;
	for (i = 0; i < lines->count; i++)
		npu_image_free(&crops[i]);
	free(crops);
	return err;
}

static void lines_drop(struct ocr_lines *lines, float score)
{
	size_t i, n = 0;

	for (i = 0; i < lines->count; i++) {
		if (lines->line[i].confidence >= score && *lines->line[i].text)
			lines->line[n++] = lines->line[i];
		else
			free(lines->line[i].text);
	}
	lines->count = n;
}

int ocr_read(struct ocr *ocr, const struct npu_image *img, struct ocr_lines *lines,
	     struct npu_error *why)
{
	struct ocr_boxes boxes = { 0 };
	size_t i;
	int err;

	memset(lines, 0, sizeof(*lines));
	err = ocr_detect(ocr, img, &boxes, why);
	if (err || !boxes.count)
		goto out;
	lines->line = calloc(boxes.count, sizeof(*lines->line));
	if (!lines->line) {
		err = npu_error_set(why, -ENOMEM, "no memory for %zu lines", boxes.count);
		goto out;
	}
	lines->count = boxes.count;
	for (i = 0; i < boxes.count; i++)
		lines->line[i].box = boxes.box[i];
	err = read_lines(ocr, img, lines, why);
	if (!err) {
		lines_drop(lines, ocr->opt.drop_score);
		err = ocr_lines_sort(lines, why);
	}
	if (err)
		ocr_lines_free(lines);
out:
	ocr_boxes_free(&boxes);
	return err;
}
