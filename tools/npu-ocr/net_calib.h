/* SPDX-License-Identifier: MIT */
/* Samples that an int8 network is calibrated with, as `npu-ocr --dump-calib` leaves them. */
#ifndef OCR_NET_CALIB_H
#define OCR_NET_CALIB_H

#include "npu_compiler.h"
#include "tools/common/npy_dir.h"

/* Share of the arithmetic in int8: a tenth stays float for pages that no sample is like. */
#define OCR_INT8_SHARE	0.9

struct ocr_calib {
	struct npu_npy_dir dir;
	struct npu_calib_tensor *tensors;
	struct npu_calib_sample *samples;
	char variant[32];		/* "int8-" and a digest of all that is in the samples */
};

/*
 * Read the samples of network @net: the .npy files of @path/@net, f32. Errors name the folder or
 * the file; @calib is empty then.
 */
int ocr_calib_load(struct ocr_calib *calib, const char *path, const char *net,
		   struct npu_error *why);
void ocr_calib_free(struct ocr_calib *calib);

#endif
