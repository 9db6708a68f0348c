// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include "shared.h"

const char *shared_path(const char *name)
{
	static char path[4096];
	const char *dir = getenv("NPU_SHARED_MODELS");

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "../shared/models", name);
	return path;
}
