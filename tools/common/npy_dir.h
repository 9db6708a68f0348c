/* SPDX-License-Identifier: MIT */
/* The .npy files of a folder: how samples for calibration are kept. */
#ifndef TOOLS_NPY_DIR_H
#define TOOLS_NPY_DIR_H

#include "tools/common/npy.h"

#define NPU_NPY_DIR_MAX	100000

struct npu_npy_dir {
	struct npu_npy *arr;		/* in the order of their names' bytes */
	char **name;			/* of the files, without the folder */
	size_t count;
};

/*
 * Read every file of the folder @path whose name ends in .npy; others are left alone. None at all
 * is -ENOENT. Other errors are those of npu_npy_read() and of reading a folder; @dir is empty then.
 */
int npu_npy_dir_read(const char *path, struct npu_npy_dir *dir, struct npu_error *why);
void npu_npy_dir_free(struct npu_npy_dir *dir);

#endif
