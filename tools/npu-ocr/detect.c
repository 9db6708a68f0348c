// SPDX-License-Identifier: MIT
#include "ocr.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct npu_image_norm det_norm = {
	.mean = { 0.485f, 0.456f, 0.406f }, .std = { 0.229f, 0.224f, 0.225f }, .bgr = 1,
};

/* Long strips are looked at piece by piece; a piece shares this much with the next, net pixels. */
#define DETECT_OVERLAP	128
/* How much longer than wide a picture is before it is a strip. */
#define DETECT_STRIP	2.25

static int round32(double v)
{
	int r = (int)rint(v / 32) * 32;

	return r < 32 ? 32 : r;
}

static int min_int(int a, int b)
{
	return a < b ? a : b;
}

void ocr_detect_plan(int width, int height, int limit, struct ocr_detect_plan *plan)
{
	int longest = width > height ? width : height, shortest = min_int(width, height);
	int most = limit < 32 ? 32 : limit / 32 * 32;
	double seen = fmin(longest, DETECT_STRIP * shortest),
	       ratio = seen > limit ? limit / seen : 1;

	plan->width = round32((int)(width * ratio));
	plan->height = round32((int)(height * ratio));
	/* Rounding up may pass the limit by a little; that is no reason for a second piece. */
	if (longest <= DETECT_STRIP * shortest) {
		plan->width = min_int(plan->width, most);
		plan->height = min_int(plan->height, most);
	}
	plan->piece_width = min_int(plan->width, most);
	plan->piece_height = min_int(plan->height, most);
}

int ocr_detect_next(int at, int length, int piece)
{
	int step = piece - min_int(DETECT_OVERLAP, piece / 2 / 32 * 32);

	return at + piece >= length ? length : min_int(at + step, length - piece);
}

/*
 * Very small pictures get a black border up to 32 pixels instead of being blown up. A snippet that
 * rounding to 32 would squeeze or stretch by a tenth or more is extended to the next multiple by
 * repeating its edge.
 */
static int detect_pad(const struct npu_image *img, int width, int height, int repeat,
		      struct npu_image *padded, struct npu_error *why)
{
	size_t row = (size_t)img->width * 3;
	int x, y, err;

	err = npu_image_alloc(padded, width, height, 0, why);
	for (y = 0; !err && y < (repeat ? height : img->height); y++) {
		const uint8_t *in = img->rgb + (size_t)min_int(y, img->height - 1) * row;
		uint8_t *out = padded->rgb + (size_t)y * (size_t)width * 3;

		memcpy(out, in, row);
		for (x = img->width; repeat && x < width; x++)
			memcpy(out + (size_t)x * 3, in + row - 3, 3);
	}
	return err;
}

static int up32(int side)
{
	return (side + 31) / 32 * 32;
}

static int is_distorted(int side)
{
	return abs(round32(side) - side) * 10 > side;
}

/* How @img is padded before detection: 0 not at all, 1 with black, 2 with its edge. */
static int detect_padding(const struct npu_image *img, int limit, int *width, int *height)
{
	if (img->width + img->height < 64) {
		*width = img->width < 32 ? 32 : img->width;
		*height = img->height < 32 ? 32 : img->height;
		return 1;
	}
	*width = up32(img->width);
	*height = up32(img->height);
	return *width <= limit && *height <= limit &&
			       (is_distorted(img->width) || is_distorted(img->height)) ?
		       2 :
		       0;
}

/*
 * Copy a piece's probabilities to its place in the map. Of what it shares with the piece before,
 * the first half was seen better by that one.
 */
static void map_put(float *map, int map_width, const float *piece, int width, int height, int x,
		    int y, int skip_x, int skip_y)
{
	int row;

	for (row = skip_y; row < height; row++)
		memcpy(map + (size_t)(y + row) * (size_t)map_width + (size_t)(x + skip_x),
		       piece + (size_t)row * (size_t)width + (size_t)skip_x,
		       (size_t)(width - skip_x) * sizeof(float));
}

static int detect_piece(struct ocr *ocr, const struct npu_image *sized, int x, int y, int width,
			int height, float *in, const float **prob, size_t index,
			struct npu_error *why)
{
	int64_t dims[4] = { 1, 3, height, width }, out_dims[OCR_NET_RANK_MAX];
	struct npu_image piece;
	int rank, err;

	err = npu_image_cut(sized, x, y, width, height, &piece, why);
	if (err)
		return err;
	npu_image_to_nchw(&piece, &det_norm, height, width, 0, in);
	npu_image_free(&piece);
	err = ocr_dump_tensor(ocr, "det", (long)index, "in", in, dims, 4, why);
	if (!err)
		err = ocr_net_run(ocr->det, in, dims, prob, out_dims, &rank, why);
	if (err)
		return err;
	if (rank != 4 || out_dims[0] != 1 || out_dims[1] != 1 || out_dims[2] != height ||
	    out_dims[3] != width)
		return npu_error_set(why, -EINVAL, "det: the output is not [1, 1, %d, %d]", height,
				     width);
	return ocr_dump_tensor(ocr, "det", (long)index, "out", *prob, out_dims, rank, why);
}

static int detect_map(struct ocr *ocr, const struct npu_image *sized,
		      const struct ocr_detect_plan *plan, float *map, struct npu_error *why)
{
	int w = plan->piece_width, h = plan->piece_height, x, y, seen_x, seen_y = 0, err = 0;
	const float *prob;
	size_t index = 0;
	float *in;

	in = malloc((size_t)w * (size_t)h * 3 * sizeof(float));
	if (!in)
		return npu_error_set(why, -ENOMEM, "no memory for a detection input of %d x %d", w,
				     h);
	for (y = 0; !err && y < plan->height; y = ocr_detect_next(y, plan->height, h)) {
		seen_x = 0;
		for (x = 0; !err && x < plan->width; x = ocr_detect_next(x, plan->width, w)) {
			err = detect_piece(ocr, sized, x, y, w, h, in, &prob, index++, why);
			if (!err)
				map_put(map, plan->width, prob, w, h, x, y,
					(seen_x - x) * (x > 0) / 2, (seen_y - y) * (y > 0) / 2);
			seen_x = x + w;
		}
		seen_y = y + h;
	}
	free(in);
	return err;
}

static int detect_run(struct ocr *ocr, const struct npu_image *img, struct ocr_boxes *boxes,
		      struct npu_error *why)
{
	struct npu_image sized = { 0 };
	struct ocr_detect_plan plan;
	double t0 = ocr_now(), t1;
	float *map;
	int err;

	ocr_detect_plan(img->width, img->height, ocr->opt.det_limit, &plan);
	map = malloc((size_t)plan.width * (size_t)plan.height * sizeof(float));
	if (!map)
		return npu_error_set(why, -ENOMEM, "no memory for a text map of %d x %d",
				     plan.width, plan.height);
	err = npu_image_resize(img, plan.width, plan.height, &sized, why);
	if (!err)
		err = detect_map(ocr, &sized, &plan, map, why);
	npu_image_free(&sized);
	t1 = ocr_now();
	ocr->times.detect += t1 - t0;
	if (!err)
		err = ocr_db_boxes(map, plan.width, plan.height, img->width, img->height, NULL,
				   boxes, why);
	if (!err)
		err = ocr_boxes_sort(boxes, why);
	ocr->times.boxes += ocr_now() - t1;
	free(map);
	return err;
}

/* Boxes found on a padded view lose what lies on the border. */
static void boxes_clip(struct ocr_boxes *boxes, const struct npu_image *img)
{
	size_t i, n = 0;

	for (i = 0; i < boxes->count; i++)
		if (ocr_quad_clean(&boxes->box[i].quad, img->width, img->height))
			boxes->box[n++] = boxes->box[i];
	boxes->count = n;
}

int ocr_detect(struct ocr *ocr, const struct npu_image *img, struct ocr_boxes *boxes,
	       struct npu_error *why)
{
	struct npu_image padded;
	int w, h, how, err;

	how = detect_padding(img, ocr->opt.det_limit, &w, &h);
	if (!how)
		return detect_run(ocr, img, boxes, why);
	err = detect_pad(img, w, h, how == 2, &padded, why);
	if (err)
		return err;
	err = detect_run(ocr, &padded, boxes, why);
	boxes_clip(boxes, img);
	npu_image_free(&padded);
	return err;
}
