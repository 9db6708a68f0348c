// SPDX-License-Identifier: MIT
#include "net_calib.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npu.h"

/* Shapes are the compiler's to judge. */
static int calib_sample(struct ocr_calib *calib, size_t i, uint64_t *digest)
{
	const struct npu_npy *arr = &calib->dir.arr[i];

	if (arr->type != NPU_NPY_F32)
		return -EINVAL;
	calib->tensors[i] = (struct npu_calib_tensor){
		.name = NULL,
		.dtype = NPU_F32,
		.rank = arr->rank,
		.dims = arr->dims,
		.data = arr->data,
		.source = calib->dir.name[i],
	};
	calib->samples[i].tensors = &calib->tensors[i];
	calib->samples[i].num_tensors = 1;
	*digest = npu_digest(&arr->rank, sizeof(arr->rank), *digest);
	*digest = npu_digest(arr->dims, (size_t)arr->rank * sizeof(*arr->dims), *digest);
	*digest = npu_digest(arr->data, arr->count * sizeof(float), *digest);
	return 0;
}

int ocr_calib_load(struct ocr_calib *calib, const char *path, const char *net,
		   struct npu_error *why)
{
	const double share = OCR_INT8_SHARE;
	uint64_t digest = npu_digest(&share, sizeof(share), 0);
	char folder[PATH_MAX];
	size_t i;
	int err;

	memset(calib, 0, sizeof(*calib));
	if (snprintf(folder, sizeof(folder), "%s/%s", path, net) >= PATH_MAX)
		return npu_error_set(why, -ENAMETOOLONG, "%s: the name is too long", path);
	err = npu_npy_dir_read(folder, &calib->dir, why);
	if (err)
		return npu_error_prefix(why, err, "samples (npu-ocr --dump-calib makes them)");
	calib->tensors = calloc(calib->dir.count, sizeof(*calib->tensors));
	calib->samples = calloc(calib->dir.count, sizeof(*calib->samples));
	if (!calib->tensors || !calib->samples)
		err = npu_error_set(why, -ENOMEM, "no memory for %zu samples", calib->dir.count);
	for (i = 0; !err && i < calib->dir.count; i++)
		if (calib_sample(calib, i, &digest))
			err = npu_error_set(why, -EINVAL, "%s/%s: f32 is expected, it is %s",
					    folder, calib->dir.name[i],
					    npu_npy_type_name(calib->dir.arr[i].type));
	snprintf(calib->variant, sizeof(calib->variant), "int8-%016llx",
		 (unsigned long long)digest);
	if (err)
		ocr_calib_free(calib);
	return err;
}

void ocr_calib_free(struct ocr_calib *calib)
{
	npu_npy_dir_free(&calib->dir);
	free(calib->tensors);
	free(calib->samples);
	memset(calib, 0, sizeof(*calib));
}
