// SPDX-License-Identifier: MIT
/*
 * How much memory there is, by what /proc and /sys/fs/cgroup say: the machine, control groups of
 * both versions, ulimit -v. Trees of files stand for machines.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/tmp.h"
#include "core/memory.h"
#include "tap.h"

#define MIB		(1ull << 20)
#define MEMINFO		"MemTotal:       24683840 kB\nMemFree:  100 kB\nMemAvailable:   2097152 kB\n"
#define LIMITS(v)	"Limit                     Soft Limit           Hard Limit           Units     \n" \
			"Max cpu time              unlimited            unlimited            seconds   \n" \
			"Max address space         " v "           unlimited            bytes     \n"

static char root[3000];

static void put(const char *name, const char *text)
{
	char path[4096], *p;
	FILE *f;

	snprintf(path, sizeof(path), "%.3000s%.1000s", root, name);
	for (p = path + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		mkdir(path, 0777);
		*p = '/';
	}
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

static void begin(const char *name)
{
	snprintf(root, sizeof(root), "%.2900s", tmp_path(name));
	mkdir(root, 0777);
}

static void room_is(uint64_t bytes, const char *limit, const char *what)
{
	struct npu_memory_room room;

	npu_memory_room(root, &room);
	if (!tap_ok(room.bytes == bytes && (!limit || strstr(room.limit, limit)), "%s", what))
		tap_diag("%llu bytes, '%s'", (unsigned long long)room.bytes, room.limit);
}

static void test_unified(void)
{
	begin("unified");
	put("/proc/meminfo", MEMINFO);
	put("/proc/self/cgroup", "0::/a/b\n");
	put("/sys/fs/cgroup/a/b/memory.max", "max\n");
	put("/sys/fs/cgroup/a/b/memory.current", "1000\n");
	room_is(2048 * MIB, "machine", "a group without a limit: what the machine has");
	put("/sys/fs/cgroup/a/memory.max", "1073741824\n");
	put("/sys/fs/cgroup/a/memory.current", "805306368\n");
	room_is(256 * MIB, "group /a", "the limit of the group above");
	put("/sys/fs/cgroup/a/memory.stat",
	    "anon 1\nfile 209715200\ninactive_file 104857600\nactive_file 52428800\n");
	room_is(406 * MIB, "group /a", "what its files have can be taken back");
	put("/sys/fs/cgroup/a/b/memory.max", "2000\n");
	room_is(1000, "group /a/b", "its own limit is less");
	put("/sys/fs/cgroup/a/b/memory.current", "3000\n");
	room_is(0, "group /a/b", "a limit that was set below what is used");
	put("/proc/self/cgroup", "0::/not/seen/from/here\n");
	put("/sys/fs/cgroup/memory.max", "700000\n");
	put("/sys/fs/cgroup/memory.current", "200000\n");
	room_is(500000, "group /", "in a container the root's files are the group's");
}

static void test_legacy(void)
{
	begin("legacy");
	put("/proc/meminfo", MEMINFO);
	put("/proc/self/cgroup",
	    "9:name=systemd:/x\n4:memory:/job/7\n3:cpu,cpuacct:/job/7\n0::/\n");
	put("/sys/fs/cgroup/memory/job/7/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/job/7/memory.usage_in_bytes", "5\n");
	room_is(2048 * MIB, "machine", "version 1, no limit");
	put("/sys/fs/cgroup/memory/job/7/memory.limit_in_bytes", "104857600\n");
	put("/sys/fs/cgroup/memory/job/7/memory.usage_in_bytes", "83886080\n");
	put("/sys/fs/cgroup/memory/job/7/memory.stat",
	    "inactive_file 1\ntotal_inactive_file 10485760\ntotal_active_file 0\n");
	room_is(30 * MIB, "group /job/7", "its limit");
	put("/proc/self/cgroup", "4:cpu:/job/7\n");
	room_is(2048 * MIB, "machine", "another controller's group");
}

static void test_rest(void)
{
	begin("rest");
	room_is(NPU_MEMORY_UNKNOWN, NULL, "nothing says anything");
	put("/proc/meminfo", "MemTotal: 5 kB\nMemAvailable: many kB\n");
	room_is(NPU_MEMORY_UNKNOWN, NULL, "no number");
	put("/proc/self/limits", LIMITS("104857600"));
	room_is(NPU_MEMORY_UNKNOWN, NULL, "a limit, but not what is used of it");
	put("/proc/self/statm", "1024 700 200 1 0 500 0\n");
	room_is(100 * MIB - 1024ull * (uint64_t)sysconf(_SC_PAGESIZE), "ulimit -v", "ulimit -v");
	put("/proc/self/limits", LIMITS("unlimited"));
	room_is(NPU_MEMORY_UNKNOWN, NULL, "ulimit -v unlimited");
	put("/proc/self/cgroup", "\n::\nnonsense\n0::\n1:memory\n");
	room_is(NPU_MEMORY_UNKNOWN, NULL, "groups that are none");
	root[0] = 0;
	if (!access("/proc/meminfo", R_OK)) {
		struct npu_memory_room room;

		npu_memory_room("", &room);
		tap_ok(room.bytes > MIB && room.bytes != NPU_MEMORY_UNKNOWN,
		       "this machine: %llu MiB, %s", (unsigned long long)(room.bytes / MIB),
		       room.limit);
	}
}

int main(void)
{
	test_unified();
	test_legacy();
	test_rest();
	return tap_done();
}
