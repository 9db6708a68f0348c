// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xf86drm.h>
#include "odd/npu_odd.h"
#include "share_sources.h"

#define PAGE	4096u
#define LARGE	(2u << 20)

static int heap_alloc(size_t size)
{
	struct dma_heap_allocation_data args = { .len = size, .fd_flags = O_RDWR | O_CLOEXEC };
	int heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC), ret;

	if (heap < 0)
		return -errno;
	ret = ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &args) ? -errno : (int)args.fd;
	close(heap);
	return ret;
}

/* @count pieces of @piece bytes of a memfd, the last one first: as scattered as can be. */
static int udmabuf_list(int memfd, unsigned int count, unsigned int piece)
{
	struct udmabuf_create_list *list;
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), ret;
	unsigned int i;

	if (dev < 0)
		return -errno;
	list = calloc(1, sizeof(*list) + count * sizeof(list->list[0]));
	if (!list)
		abort();
	list->flags = UDMABUF_FLAGS_CLOEXEC;
	list->count = count;
	for (i = 0; i < count; i++) {
		list->list[i].memfd = (uint32_t)memfd;
		list->list[i].offset = (uint64_t)(count - 1 - i) * piece;
		list->list[i].size = piece;
	}
	ret = ioctl(dev, UDMABUF_CREATE_LIST, list);
	if (ret < 0)
		ret = -errno;
	free(list);
	close(dev);
	return ret;
}

static int udmabuf_of(size_t size, unsigned int piece, unsigned int flags)
{
	int memfd = memfd_create("share", MFD_ALLOW_SEALING | MFD_CLOEXEC | flags), ret;

	if (memfd < 0)
		return -errno;
	if (ftruncate(memfd, (off_t)size) || fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		ret = -errno;
	else
		ret = udmabuf_list(memfd, size / piece, piece);
	close(memfd);
	return ret;
}

static int udmabuf_alloc(size_t size)
{
	return udmabuf_of(size, PAGE, 0);
}

static int hugetlb_alloc(size_t size)
{
	FILE *file = fopen("/proc/sys/vm/nr_hugepages", "w");

	if (!file || fprintf(file, "%u\n", 4) < 0 || fclose(file))
		return -errno;
	return udmabuf_of(size, LARGE, MFD_HUGETLB);
}

static int open_card(const char *driver)
{
	char path[32];
	drmVersionPtr v;
	int i, fd, found = 0;

	for (i = 0; i < 16 && !found; i++) {
		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		v = drmGetVersion(fd);
		found = v && !strcmp(v->name, driver);
		drmFreeVersion(v);
		if (found)
			return fd;
		close(fd);
	}
	return -ENODEV;
}

int vgem_alloc(size_t size, int *card, uint32_t *handle)
{
	struct drm_mode_create_dumb dumb = { .width = size / PAGE, .height = PAGE, .bpp = 8 };
	int fd;

	*card = open_card("vgem");
	if (*card < 0)
		return *card;
	if (drmIoctl(*card, DRM_IOCTL_MODE_CREATE_DUMB, &dumb) ||
	    drmPrimeHandleToFD(*card, dumb.handle, DRM_CLOEXEC | DRM_RDWR, &fd)) {
		fd = -errno;
		close(*card);
		return fd;
	}
	*handle = dumb.handle;
	return fd;
}

static int vgem_only(size_t size)
{
	uint32_t handle;
	int card, fd = vgem_alloc(size, &card, &handle);

	if (fd >= 0)
		close(card);
	return fd;
}

int odd_open(void)
{
	int fd = open("/dev/npu_odd", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int odd_alloc(unsigned int kind, unsigned int pages, unsigned int flags)
{
	struct npu_odd_export args = { .kind = kind, .pages = pages, .flags = flags | O_CLOEXEC };
	int odd = odd_open(), ret;

	if (odd < 0)
		return odd;
	ret = ioctl(odd, NPU_ODD_EXPORT, &args) ? -errno : args.fd;
	close(odd);
	return ret;
}

static int odd_plain(size_t size)
{
	return odd_alloc(NPU_ODD_NOTHING, size / PAGE, O_RDWR);
}

static int odd_pinned(size_t size)
{
	return odd_alloc(NPU_ODD_PINNED, size / PAGE, O_RDWR);
}

const struct source sources[] = {
	{ "system heap", heap_alloc, 1300 * PAGE },
	{ "system heap, one page", heap_alloc, PAGE },
	{ "udmabuf, scattered", udmabuf_alloc, 700 * PAGE },
	{ "udmabuf, hugetlb", hugetlb_alloc, 2 * LARGE },
	{ "vgem", vgem_only, 300 * PAGE },
	{ "pages", odd_plain, 37 * PAGE },
	{ "memory that moves", odd_pinned, 37 * PAGE },
	{ 0 }
};
