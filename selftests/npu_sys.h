/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel tells of the device beside its ioctls: sysfs, debugfs and procfs; and what a test
 * has to know of the machine.
 */
#ifndef NPU_SYS_H
#define NPU_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NPU_SYS_NAME	64

/* All return 0, or a negative errno, unless they say otherwise. */

/* The address of the PCI device behind an open file, while the driver has it. */
int npu_sys_pci(int fd, char name[NPU_SYS_NAME]);

int npu_sys_write(const char *path, const char *text);

/* A file of the PCI device called @pci in sysfs, or of the device in debugfs. */
int npu_sys_pci_write(const char *pci, const char *file, const char *text);
int npu_sys_debugfs_write(const char *pci, const char *file, const char *text);

/*
 * The number in the line of a file that begins with @key, behind it and colons and blanks; a number
 * of kibibytes as such. -ENOENT when there is no such line.
 */
int64_t npu_sys_number(const char *path, const char *key);
/* The same of a file of the device in debugfs, and of what procfs says of an open file. */
int64_t npu_sys_debugfs_number(const char *pci, const char *file, const char *key);
int64_t npu_sys_fdinfo(int fd, const char *key);
/* What the driver has counted of the device behind an open file. */
int64_t npu_sys_counter(int fd, const char *name);

/* Lines of debugfs that tell of buffers, VMs and queues, and their headings. */
int npu_sys_debugfs_lines(const char *pci);

/* Bytes of memory in use that are neither a program's, nor a file's, nor given back on demand. */
int64_t npu_sys_kernel_memory(void);

/* The full counts were asked for: NPU_TEST_LONG, which make check-long sets. */
bool npu_sys_long(void);

#endif
