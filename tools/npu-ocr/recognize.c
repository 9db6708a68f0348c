// SPDX-License-Identifier: MIT
#include "ocr.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define REC_HEIGHT	48
#define REC_STEP	8	/* the network's strides divide this */
#define REC_WIDTH_MAX	3200	/* longer lines are squeezed */

/*
 * Boxes are grown by more than the text's own margin, so that letters come out narrower than those
 * the network was trained on. This much wider is read best: of 130 lines at ten sizes and slants,
 * 116 have every letter right, 109 as is.
 */
#define REC_STRETCH	1.1

static const struct npu_image_norm rec_norm = {
	.mean = { 0.5f, 0.5f, 0.5f }, .std = { 0.5f, 0.5f, 0.5f }, .bgr = 1,
};

void ocr_recognize_width(int width, int height, int min_width, int *net_width, int *text_width)
{
	double want = ceil(REC_STRETCH * REC_HEIGHT * ((double)width / height));
	int text = want > REC_WIDTH_MAX ? REC_WIDTH_MAX : want < 1 ? 1 : (int)want;
	int room = text < min_width ? min_width : text;

	*net_width = (room + REC_STEP - 1) / REC_STEP * REC_STEP;
	*text_width = text;
}

static int recognize_input(const struct npu_image *crop, int min_width, float **in, int64_t dims[4],
			   struct npu_error *why)
{
	int net_width, text_width, err;
	struct npu_image sized;

	ocr_recognize_width(crop->width, crop->height, min_width, &net_width, &text_width);
	err = npu_image_resize(crop, text_width, REC_HEIGHT, &sized, why);
	if (err)
		return err;
	dims[0] = 1;
	dims[1] = 3;
	dims[2] = REC_HEIGHT;
	dims[3] = net_width;
	*in = malloc(sizeof(float) * 3 * REC_HEIGHT * (size_t)net_width);
	if (*in)
		npu_image_to_nchw(&sized, &rec_norm, REC_HEIGHT, net_width, 0, *in);
	else
		err = npu_error_set(why, -ENOMEM, "no memory for a recogniser input %d wide",
				    net_width);
	npu_image_free(&sized);
	return err;
}

int ocr_recognize(struct ocr *ocr, const struct npu_image *crop, struct ocr_line *line,
		  const char *name, size_t index, struct npu_error *why)
{
	int64_t dims[4], out_dims[OCR_NET_RANK_MAX];
	const float *out;
	float *in = NULL;
	int rank, err;

	err = recognize_input(crop, ocr->opt.rec_min_width, &in, dims, why);
	if (!err)
		err = ocr_dump_tensor(ocr, name, (long)index, "in", in, dims, 4, why);
	if (!err)
		err = ocr_net_run(ocr->rec, in, dims, &out, out_dims, &rank, why);
	free(in);
	if (err)
		return err;
	if (rank != 3 || out_dims[0] != 1 || out_dims[1] < 1 ||
	    out_dims[2] != (int64_t)ocr->dict.count)
		return npu_error_set(
			why, -EINVAL,
			"rec: the output is not [1, steps, %zu], one class a character",
			ocr->dict.count);
	err = ocr_dump_tensor(ocr, name, (long)index, "out", out, out_dims, rank, why);
	if (err)
		return err;
	return ocr_ctc_decode(&ocr->dict, out, (size_t)out_dims[1], (size_t)out_dims[2],
			      &line->text, &line->confidence, why);
}
