// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-heap.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "core/error.h"
#include "tools/common/heap.h"

#define HEAPS	"/dev/dma_heap"

static int no_heap(const char *name, int error, struct npu_error *err)
{
	DIR *dir = opendir(HEAPS);
	struct dirent *e;
	char there[200] = "";
	size_t n = 0;

	while (dir && (e = readdir(dir)) && n < sizeof(there))
		if (e->d_name[0] != '.')
			n += snprintf(there + n, sizeof(there) - n, " %s", e->d_name);
	if (dir)
		closedir(dir);
	return npu_error_set(err, error, "heap '%s': %s; %s has:%s", name, strerror(-error), HEAPS,
			     n ? there : " none");
}

int npu_heap_alloc(const char *name, uint64_t bytes, int *fd, struct npu_error *err)
{
	struct dma_heap_allocation_data args = { .len = bytes, .fd_flags = O_RDWR | O_CLOEXEC };
	char path[64];
	int heap, ret;

	*fd = -1;
	if (strchr(name, '/') || snprintf(path, sizeof(path), HEAPS "/%s", name) >= (int)sizeof(path))
		return npu_error_set(err, -EINVAL, "heap '%.40s': not a name in " HEAPS, name);
	heap = open(path, O_RDWR | O_CLOEXEC);
	if (heap < 0)
		return no_heap(name, -errno, err);
	ret = ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &args) ? -errno : 0;
	close(heap);
	if (ret)
		return npu_error_set(err, ret, "heap '%s': %llu bytes: %s", name,
				     (unsigned long long)bytes, strerror(-ret));
	*fd = (int)args.fd;
	return 0;
}
