// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "npu_census.h"
#include "npu_test.h"

/* Lines of a file of the device in debugfs that begin with @word; -1: there is none. */
static int64_t count_lines(const char *name, const char *file, const char *word)
{
	char path[PATH_MAX], line[256];
	int64_t count = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/accel/%s/%s", name, file);
	f = fopen(path, "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		count += !strncmp(line, word, strlen(word));
	fclose(f);
	return count;
}

static int64_t count_objects(const char *name)
{
	int64_t queues = count_lines(name, "queues", "queue "), vms, none;

	vms = count_lines(name, "vms", "context ");
	none = count_lines(name, "gems", "total: 0 bytes in 0 buffers");
	return queues < 0 || vms < 0 || none < 0 ? -1 : queues + vms + !none;
}

int64_t npu_census_vdev(const char *name)
{
	static char answer[4096];
	char key[64], *at;
	int ret;

	ret = npu_host("vdev 0 counters", answer, sizeof(answer));
	if (ret)
		return ret == -ENOTSUP ? -1 : NPU_CENSUS_UNKNOWN;
	snprintf(key, sizeof(key), "\"%s\":", name);
	at = strstr(answer, key);
	return at ? strtoll(at + strlen(key), NULL, 10) : NPU_CENSUS_UNKNOWN;
}

/* Sum of the values, as @format reads them, of the lines of a file that it fits. */
static int64_t sum_lines(const char *path, const char *format)
{
	long long value;
	int64_t sum = 0;
	char line[256];
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		sum += sscanf(line, format, &value) == 1 ? value : 0;
	if (f)
		fclose(f);
	return sum;
}

/* All of memory that is neither free, nor a program's, nor a copy of a file. */
static int64_t kernel_memory(void)
{
	static const char * const others[] = {
		"MemFree: %lld", "Buffers: %lld", "Cached: %lld", "SReclaimable: %lld",
		"AnonPages: %lld",
	};
	long page_kib = sysconf(_SC_PAGESIZE) / 1024;
	unsigned int i;
	int64_t kib;

	npu_write_file("/proc/sys/vm", "drop_caches", "3");
	kib = sum_lines("/proc/meminfo", "MemTotal: %lld");
	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		kib -= sum_lines("/proc/meminfo", others[i]);
	/* Free pages that processors keep at hand. */
	return kib - sum_lines("/proc/zoneinfo", " count: %lld") * page_kib;
}

void npu_census_take(const char *name, struct npu_census *census)
{
	int i;

	for (i = 0; i < 50; i++) {
		census->objects = count_objects(name);
		if (census->objects <= 0)
			break;
		usleep(100000);
	}
	census->mapped = npu_census_vdev("dma-live-bytes");
	census->memory = kernel_memory();
}
