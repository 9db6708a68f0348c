/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of the npu driver share: the device, its ioctls, and the kernel's log. */
#ifndef NPU_TEST_H
#define NPU_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <drm/npu_drm.h>

/*
 * The reason of every skip for want of a device; the runner of the guest makes it a failure in CI.
 */
#define NPU_NO_DEVICE	"no NPU device"

/*
 * Open the first accel device that the npu driver made, or the one that the environment variable
 * NPU_DEVICE names. Returns a file descriptor, or a negative errno: -ENODEV when there is none.
 */
int npu_open(void);

/* 0 or a negative errno. Interrupted calls are made again, as drmIoctl() does. */
int npu_ioctl(int fd, unsigned long request, void *arg);

/* The same, with the size in @request replaced: what a program of another age would send. */
int npu_ioctl_sized(int fd, unsigned long request, size_t size, void *arg);

/* Write @text to a file of sysfs or debugfs; 0 or a negative errno. */
int npu_write_file(const char *folder, const char *name, const char *text);
/* Does it begin with @text? */
bool npu_file_says(const char *folder, const char *name, const char *text);
/* Folder in sysfs of the PCI device behind an open file; 0 or a negative errno. */
int npu_pci_folder(int fd, char *path, size_t size);

/* Tell the runner that the kernel is about to say something that matches @regex, and may. */
void npu_expect_log(const char *regex);

/*
 * Have the host do something, where the runner of the guest listens (tests/guest/agent.pl lists
 * what): "vdev 0 arm hang", "unplug 0". What it says is put in @answer (may be NULL). 0, -EIO when
 * it was not done, -ENOTSUP when there is no host that listens.
 */
int npu_host(const char *command, char *answer, size_t size);

/* A command of the virtual device's control socket: "arm hang". As npu_host(). */
int npu_fault(const char *command);

#endif
