// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "npu_sys.h"

#define MAX_PATH	160

int npu_sys_pci(int fd, char name[NPU_SYS_NAME])
{
	char link[64], pci[PATH_MAX];
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	snprintf(link, sizeof(link), "/sys/dev/char/%u:%u/device", major(st.st_rdev),
		 minor(st.st_rdev));
	if (!realpath(link, pci))
		return -errno;
	snprintf(name, NPU_SYS_NAME, "%s", strrchr(pci, '/') + 1);
	return 0;
}

int npu_sys_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

int npu_sys_pci_write(const char *pci, const char *file, const char *text)
{
	char path[MAX_PATH];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", pci, file);
	return npu_sys_write(path, text);
}

static void debugfs_path(char path[MAX_PATH], const char *pci, const char *file)
{
	snprintf(path, MAX_PATH, "/sys/kernel/debug/accel/%s/%s", pci, file);
}

int npu_sys_debugfs_write(const char *pci, const char *file, const char *text)
{
	char path[MAX_PATH];

	debugfs_path(path, pci, file);
	return npu_sys_write(path, text);
}

int64_t npu_sys_number(const char *path, const char *key)
{
	FILE *file = fopen(path, "r");
	size_t len = strlen(key);
	int64_t number = -ENOENT;
	char line[256], *end;

	if (!file)
		return -errno;
	while (number == -ENOENT && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, len) || !strchr(": \t", line[len]))
			continue;
		number = strtoll(line + len + strspn(line + len, ": \t"), &end, 10);
		if (!strncmp(end, " kB", 3) || !strncmp(end, " KiB", 4))
			number *= 1024;
		else if (!strncmp(end, " MiB", 4))
			number *= 1024 * 1024;
	}
	fclose(file);
	return number;
}

int64_t npu_sys_debugfs_number(const char *pci, const char *file, const char *key)
{
	char path[MAX_PATH];

	debugfs_path(path, pci, file);
	return npu_sys_number(path, key);
}

int npu_sys_debugfs_lines(const char *pci)
{
	static const char * const names[] = { "gems", "vms", "queues" };
	char path[MAX_PATH], line[256];
	int count = 0, i;
	FILE *file;

	for (i = 0; i < 3; i++) {
		debugfs_path(path, pci, names[i]);
		file = fopen(path, "r");
		if (!file)
			return -errno;
		while (fgets(line, sizeof(line), file))
			count++;
		fclose(file);
	}
	return count;
}

int64_t npu_sys_fdinfo(int fd, const char *key)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	return npu_sys_number(path, key);
}

int64_t npu_sys_counter(int fd, const char *name)
{
	char pci[NPU_SYS_NAME];
	int ret = npu_sys_pci(fd, pci);

	return ret ? ret : npu_sys_debugfs_number(pci, "counters", name);
}

/* Pages that are free, but kept by a processor. */
static int64_t pages_of_processors(void)
{
	FILE *file = fopen("/proc/zoneinfo", "r");
	int64_t sum = 0;
	char line[256];
	long count;

	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, " count: %ld", &count) == 1)
			sum += count;
	fclose(file);
	return sum;
}

int64_t npu_sys_kernel_memory(void)
{
	static const struct {
		const char *key;
		int sign;
	} parts[] = {
		{ "MemTotal", 1 }, { "MemFree", -1 }, { "Cached", -1 }, { "Shmem", 1 },
		{ "Buffers", -1 }, { "AnonPages", -1 }, { "SReclaimable", -1 },
	};
	int64_t sum, part;
	unsigned int i;

	/* Else processors count for a second before they tell. */
	npu_sys_number("/proc/sys/vm/stat_refresh", "");
	sum = pages_of_processors();
	if (sum < 0)
		return sum;
	sum *= -4096;
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		part = npu_sys_number("/proc/meminfo", parts[i].key);
		if (part < 0)
			return part;
		sum += parts[i].sign * part;
	}
	return sum;
}

bool npu_sys_long(void)
{
	const char *text = getenv("NPU_TEST_LONG");

	return text && strcmp(text, "0");
}
