// SPDX-License-Identifier: MIT
#include "ocr.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tools/common/file.h"
#include "tools/common/npy.h"

static int dump_path(const struct ocr *ocr, const char *name, long index, const char *tail,
		     char path[PATH_MAX], struct npu_error *why)
{
	int n;

	if (index < 0)
		n = snprintf(path, PATH_MAX, "%s/%s%s", ocr->opt.dump, name, tail);
	else
		n = snprintf(path, PATH_MAX, "%s/%s-%03ld%s", ocr->opt.dump, name, index, tail);
	return n < PATH_MAX ? 0 :
			      npu_error_set(why, -ENAMETOOLONG, "%s: the name is too long",
					    ocr->opt.dump);
}

/* The folder is named after the network: "rec-turned", a second try, is one more of rec's. */
static int dump_sample(const struct ocr *ocr, const char *net, long index,
		       const struct npu_npy *arr, struct npu_error *why)
{
	int len = (int)strcspn(net, "-"), err;
	char path[PATH_MAX], dir[PATH_MAX];

	if (snprintf(dir, sizeof(dir), "%s/%.*s", ocr->opt.calib_out, len, net) >= PATH_MAX ||
	    snprintf(path, sizeof(path), "%s/%s-%03ld%s.npy", dir, ocr->opt.picture, index,
		     net + len) >= PATH_MAX)
		return npu_error_set(why, -ENAMETOOLONG, "%s: the name is too long",
				     ocr->opt.calib_out);
	err = npu_file_mkdirs(dir, why);
	return err ? err : npu_npy_write(path, arr, why);
}

int ocr_dump_tensor(const struct ocr *ocr, const char *net, long index, const char *what,
		    const float *data, const int64_t *dims, int rank, struct npu_error *why)
{
	struct npu_npy arr = { .type = NPU_NPY_F32, .rank = rank, .data = (void *)data };
	char path[PATH_MAX], tail[32];
	int i, err;

	for (i = 0; i < rank; i++)
		arr.dims[i] = dims[i];
	if (ocr->opt.calib_out && !strcmp(what, "in")) {
		err = dump_sample(ocr, net, index, &arr, why);
		if (err)
			return err;
	}
	if (!ocr->opt.dump)
		return 0;
	snprintf(tail, sizeof(tail), ".%s.npy", what);
	err = dump_path(ocr, net, index, tail, path, why);
	return err ? err : npu_npy_write(path, &arr, why);
}

int ocr_dump_image(const struct ocr *ocr, const char *name, long index, const struct npu_image *img,
		   struct npu_error *why)
{
	char path[PATH_MAX];
	int err;

	if (!ocr->opt.dump)
		return 0;
	err = dump_path(ocr, name, index, ".png", path, why);
	return err ? err : npu_image_save_png(path, img, why);
}
