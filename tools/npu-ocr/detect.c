// SPDX-License-Identifier: MIT
#include "ocr.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const struct npu_image_norm det_norm = {
	.mean = { 0.485f, 0.456f, 0.406f }, .std = { 0.229f, 0.224f, 0.225f }, .bgr = 1,
};

static int round32(double v, int limit)
{
	int r = (int)rint(v / 32) * 32, most = limit < 32 ? 32 : limit / 32 * 32;

	return r < 32 ? 32 : r > most ? most : r;
}

void ocr_detect_size(int width, int height, int limit, int *net_width, int *net_height)
{
	int longest = width > height ? width : height;
	double ratio = longest > limit ? (double)limit / longest : 1;

	*net_width = round32((int)(width * ratio), limit);
	*net_height = round32((int)(height * ratio), limit);
}

/* Very small pictures get a black border instead of being blown up out of shape. */
static int detect_pad(const struct npu_image *img, struct npu_image *padded, struct npu_reason *why)
{
	int w = img->width < 32 ? 32 : img->width, h = img->height < 32 ? 32 : img->height, x, y, err;

	err = npu_image_alloc(padded, w, h, 0, why);
	if (err)
		return err;
	for (y = 0; y < img->height; y++)
		for (x = 0; x < img->width * 3; x++)
			padded->rgb[(size_t)y * (size_t)w * 3 + (size_t)x] =
				img->rgb[(size_t)y * (size_t)img->width * 3 + (size_t)x];
	return 0;
}

static int detect_input(const struct npu_image *img, int limit, float **in, int64_t dims[4],
			struct npu_reason *why)
{
	struct npu_image sized;
	int w, h, err;

	ocr_detect_size(img->width, img->height, limit, &w, &h);
	err = npu_image_resize(img, w, h, &sized, why);
	if (err)
		return err;
	dims[0] = 1;
	dims[1] = 3;
	dims[2] = h;
	dims[3] = w;
	*in = malloc((size_t)w * (size_t)h * 3 * sizeof(float));
	if (*in)
		npu_image_to_nchw(&sized, &det_norm, h, w, 0, *in);
	else
		err = npu_reason_set(why, -ENOMEM, "no memory for a detection input of %d x %d", w, h);
	npu_image_free(&sized);
	return err;
}

static int detect_run(struct ocr *ocr, const struct npu_image *img, const struct npu_image *view,
		      struct ocr_boxes *boxes, struct npu_reason *why)
{
	int64_t dims[4], out_dims[OCR_NET_RANK_MAX];
	double t0 = ocr_now(), t1;
	const float *prob;
	float *in = NULL;
	int rank, err;

	err = detect_input(view, ocr->opt.det_limit, &in, dims, why);
	if (!err)
		err = ocr_dump_tensor(ocr, "det", -1, "in", in, dims, 4, why);
	if (!err)
		err = ocr_net_run(ocr->det, in, dims, &prob, out_dims, &rank, why);
	if (!err && (rank != 4 || out_dims[0] != 1 || out_dims[1] != 1 || out_dims[2] != dims[2] ||
		     out_dims[3] != dims[3]))
		err = npu_reason_set(why, -EINVAL, "det: the output is not [1, 1, %lld, %lld]", (long long)dims[2],
				     (long long)dims[3]);
	if (!err)
		err = ocr_dump_tensor(ocr, "det", -1, "out", prob, out_dims, rank, why);
	t1 = ocr_now();
	ocr->times.detect += t1 - t0;
	if (!err)
		err = ocr_db_boxes(prob, (int)dims[3], (int)dims[2], view->width, view->height, NULL, boxes, why);
	if (!err)
		err = ocr_boxes_sort(boxes, why);
	ocr->times.boxes += ocr_now() - t1;
	free(in);
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

int ocr_detect(struct ocr *ocr, const struct npu_image *img, struct ocr_boxes *boxes, struct npu_reason *why)
{
	struct npu_image padded;
	int err;

	if (img->width + img->height >= 64)
		return detect_run(ocr, img, img, boxes, why);
	err = detect_pad(img, &padded, why);
	if (err)
		return err;
	err = detect_run(ocr, img, &padded, boxes, why);
	boxes_clip(boxes, img);
	npu_image_free(&padded);
	return err;
}
