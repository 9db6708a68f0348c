// SPDX-License-Identifier: MIT
#include "tools/common/npy_dir.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_npy(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return *e->d_name != '.' && len > 4 && !strcmp(e->d_name + len - 4, ".npy");
}

/* By bytes: the same on every machine, whatever its locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int dir_add(const char *path, const char *name, struct npu_npy_dir *dir,
		   struct npu_error *why)
{
	char file[PATH_MAX];
	int err;

	if (snprintf(file, sizeof(file), "%s/%s", path, name) >= PATH_MAX)
		return npu_error_set(why, -ENAMETOOLONG, "%s: the name is too long", path);
	err = npu_npy_read(file, &dir->arr[dir->count], why);
	if (err)
		return err;
	dir->name[dir->count] = strdup(name);
	if (!dir->name[dir->count]) {
		npu_npy_free(&dir->arr[dir->count]);
		return npu_error_set(why, -ENOMEM, "%s: no memory", file);
	}
	dir->count++;
	return 0;
}

int npu_npy_dir_read(const char *path, struct npu_npy_dir *dir, struct npu_error *why)
{
	struct dirent **list;
	int n, i, err = 0;

	memset(dir, 0, sizeof(*dir));
	n = scandir(path, &list, is_npy, by_name);
	if (n < 0)
		return npu_error_set(why, -errno, "%s: %s", path, strerror(errno));
	if (!n)
		err = npu_error_set(why, -ENOENT, "%s: there is no .npy file in it", path);
	else if (n > NPU_NPY_DIR_MAX)
		err = npu_error_set(why, -E2BIG, "%s: more than %d .npy files", path,
				    NPU_NPY_DIR_MAX);
	if (!err) {
		dir->arr = calloc((size_t)n, sizeof(*dir->arr));
		dir->name = calloc((size_t)n, sizeof(*dir->name));
		if (!dir->arr || !dir->name)
			err = npu_error_set(why, -ENOMEM, "%s: no memory for %d names", path, n);
	}
	for (i = 0; !err && i < n; i++)
		err = dir_add(path, list[i]->d_name, dir, why);
	for (i = 0; i < n; i++)
		free(list[i]);
	free(list);
	if (err)
		npu_npy_dir_free(dir);
	return err;
}

void npu_npy_dir_free(struct npu_npy_dir *dir)
{
	size_t i;

	for (i = 0; i < dir->count; i++) {
		npu_npy_free(&dir->arr[i]);
		free(dir->name[i]);
	}
	free(dir->arr);
	free(dir->name);
	memset(dir, 0, sizeof(*dir));
}
