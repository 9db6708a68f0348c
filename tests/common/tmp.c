// SPDX-License-Identifier: MIT
#include "common/tmp.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[960];
static pid_t owner;

static int drop(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

/* Not at the end of a child. */
static void drop_folder(void)
{
	if (getpid() == owner)
		nftw(folder, drop, 16, FTW_DEPTH | FTW_PHYS);
}

const char *tmp_path(const char *name)
{
	static char path[8][PATH_MAX + 256];
	static unsigned int next;
	char *p = path[next++ % 8];

	snprintf(p, sizeof(path[0]), "%s/%.250s", tmp_folder(), name);
	return p;
}

const char *tmp_folder(void)
{
	const char *in = getenv("TMPDIR");

	if (*folder)
		return folder;
	snprintf(folder, sizeof(folder), "%.900s/npu-test-XXXXXX", in && *in ? in : "/tmp");
	if (!mkdtemp(folder)) {
		perror(folder);
		exit(1);
	}
	owner = getpid();
	atexit(drop_folder);
	return folder;
}
