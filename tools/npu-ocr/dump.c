// SPDX-License-Identifier: MIT
#include "ocr.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "tools/common/npy.h"

static int dump_path(const struct ocr *ocr, const char *name, long index, const char *tail,
		     char path[PATH_MAX], struct npu_reason *why)
{
	int n;

	if (index < 0)
		n = snprintf(path, PATH_MAX, "%s/%s%s", ocr->opt.dump, name, tail);
	else
		n = snprintf(path, PATH_MAX, "%s/%s-%03ld%s", ocr->opt.dump, name, index, tail);
	return n < PATH_MAX ? 0 :
			      npu_reason_set(why, -ENAMETOOLONG, "%s: the name is too long",
					     ocr->opt.dump);
}

int ocr_dump_tensor(const struct ocr *ocr, const char *net, long index, const char *what,
		    const float *data, const int64_t *dims, int rank, struct npu_reason *why)
{
	struct npu_npy arr = { .type = NPU_NPY_F32, .rank = rank, .data = (void *)data };
	char path[PATH_MAX], tail[32];
	int i, err;

	if (!ocr->opt.dump)
		return 0;
	for (i = 0; i < rank; i++)
		arr.dims[i] = dims[i];
	snprintf(tail, sizeof(tail), ".%s.npy", what);
	err = dump_path(ocr, net, index, tail, path, why);
	return err ? err : npu_npy_write(path, &arr, why);
}

int ocr_dump_image(const struct ocr *ocr, const char *name, long index, const struct npu_image *img,
		   struct npu_reason *why)
{
	char path[PATH_MAX];
	int err;

	if (!ocr->opt.dump)
		return 0;
	err = dump_path(ocr, name, index, ".png", path, why);
	return err ? err : npu_image_save_png(path, img, why);
}
