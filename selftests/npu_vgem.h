/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fences of another device, that signal when a test wants it: vgem's. What is not signalled for ten
 * seconds vgem ends by itself.
 */
#ifndef NPU_VGEM_H
#define NPU_VGEM_H

#include <stdint.h>

/* A buffer of vgem, and the fence that it has. fd -1: none. */
struct npu_vgem {
	int fd;
	uint32_t handle;
	uint32_t fence;
};

/* 0 or a negative errno, -ENODEV when there is no vgem; then there is nothing to close. */
int npu_vgem_open(struct npu_vgem *vgem);
void npu_vgem_close(struct npu_vgem *vgem);

/* A new fence as a sync file in *@file, the caller's; a negative errno. */
int npu_vgem_fence(struct npu_vgem *vgem, int *file);
/* Signal it. */
int npu_vgem_signal(struct npu_vgem *vgem);

#endif
