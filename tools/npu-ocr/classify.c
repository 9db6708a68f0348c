// SPDX-License-Identifier: MIT
#include "ocr.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define CLS_HEIGHT	48
#define CLS_WIDTH	192

static const struct npu_image_norm cls_norm = {
	.mean = { 0.5f, 0.5f, 0.5f }, .std = { 0.5f, 0.5f, 0.5f }, .bgr = 1,
};

static int classify_input(const struct npu_image *crop, float *in, struct npu_error *why)
{
	int w = (int)ceil(CLS_HEIGHT * ((double)crop->width / crop->height)), err;
	struct npu_image sized;

	err = npu_image_resize(crop, w > CLS_WIDTH ? CLS_WIDTH : w, CLS_HEIGHT, &sized, why);
	if (err)
		return err;
	npu_image_to_nchw(&sized, &cls_norm, CLS_HEIGHT, CLS_WIDTH, 0, in);
	npu_image_free(&sized);
	return 0;
}

int ocr_classify(struct ocr *ocr, const struct npu_image *crop, size_t index, float *prob,
		 struct npu_error *why)
{
	static const int64_t dims[4] = { 1, 3, CLS_HEIGHT, CLS_WIDTH };
	int64_t out_dims[OCR_NET_RANK_MAX];
	const float *out;
	int rank, err;
	float *in;

	in = malloc(sizeof(float) * 3 * CLS_HEIGHT * CLS_WIDTH);
	if (!in)
		return npu_error_set(why, -ENOMEM, "no memory for the classifier's input");
	err = classify_input(crop, in, why);
	if (!err)
		err = ocr_dump_tensor(ocr, "cls", (long)index, "in", in, dims, 4, why);
	if (!err)
		err = ocr_net_run(ocr->cls, in, dims, &out, out_dims, &rank, why);
	free(in);
	if (err)
		return err;
	if (rank != 2 || out_dims[0] != 1 || out_dims[1] != 2)
		return npu_error_set(why, -EINVAL, "cls: the output is not [1, 2]");
	*prob = out[1];
	return ocr_dump_tensor(ocr, "cls", (long)index, "out", out, out_dims, rank, why);
}
