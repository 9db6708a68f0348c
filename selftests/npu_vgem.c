// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <drm/drm.h>
#include <drm/drm_mode.h>
#include <drm/vgem_drm.h>
#include <linux/dma-buf.h>
#include "npu_test.h"
#include "npu_vgem.h"

#define CARDS	8

static int open_card(int card)
{
	char path[32], name[16] = "";
	struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };
	int fd;

	snprintf(path, sizeof(path), "/dev/dri/card%d", card);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -ENODEV;
	if (!npu_ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, "vgem"))
		return fd;
	close(fd);
	return -ENODEV;
}

int npu_vgem_open(struct npu_vgem *vgem)
{
	struct drm_mode_create_dumb dumb = { .width = 64, .height = 16, .bpp = 32 };
	int card, ret;

	*vgem = (struct npu_vgem) { .fd = -ENODEV };
	if (system("modprobe vgem"))
		return -ENODEV;
	for (card = 0; card < CARDS && vgem->fd < 0; card++)
		vgem->fd = open_card(card);
	if (vgem->fd < 0)
		return vgem->fd;
	ret = npu_ioctl(vgem->fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb);
	if (ret) {
		close(vgem->fd);
		vgem->fd = -1;
	}
	vgem->handle = dumb.handle;
	return ret;
}

/* The buffer goes with the file, and what it has of fences is signalled. */
void npu_vgem_close(struct npu_vgem *vgem)
{
	if (vgem->fd >= 0)
		close(vgem->fd);
	vgem->fd = -1;
}

int npu_vgem_fence(struct npu_vgem *vgem, int *file)
{
	struct drm_vgem_fence_attach attach = {
		.handle = vgem->handle, .flags = VGEM_FENCE_WRITE,
	};
	struct drm_prime_handle prime = { .handle = vgem->handle, .flags = DRM_CLOEXEC };
	struct dma_buf_export_sync_file sync = { .flags = DMA_BUF_SYNC_READ, .fd = -1 };
	int ret;

	ret = npu_ioctl(vgem->fd, DRM_IOCTL_VGEM_FENCE_ATTACH, &attach);
	if (ret)
		return ret;
	vgem->fence = attach.out_fence;
	ret = npu_ioctl(vgem->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime);
	if (ret)
		return ret;
	ret = npu_ioctl(prime.fd, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &sync);
	close(prime.fd);
	*file = sync.fd;
	return ret;
}

int npu_vgem_signal(struct npu_vgem *vgem)
{
	struct drm_vgem_fence_signal args = { .fence = vgem->fence };

	return npu_ioctl(vgem->fd, DRM_IOCTL_VGEM_FENCE_SIGNAL, &args);
}
