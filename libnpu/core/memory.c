// SPDX-License-Identifier: MIT
#include "core/memory.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH	4096

/* Where control groups of a version are, and the files that tell of one. */
struct version {
	const char *mount, *limit, *usage;
	const char *caches[2];		/* keys of memory.stat: what can be taken back */
};

static const struct version unified = {
	"/sys/fs/cgroup", "memory.max", "memory.current", { "inactive_file", "active_file" },
}, legacy = {
	"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
	{ "total_inactive_file", "total_active_file" },
};

static void keep_least(struct npu_memory_room *out, uint64_t bytes, const char *what,
		       const char *where)
{
	if (bytes >= out->bytes)
		return;
	out->bytes = bytes;
	snprintf(out->limit, sizeof(out->limit), "%s%.100s", what, where);
}

/* The number behind @key in a file of lines "KEY NUMBER". */
static bool find_number(const char *path, const char *key, uint64_t *out)
{
	FILE *f = fopen(path, "re");
	size_t n = strlen(key);
	bool found = false;
	char line[256];

	while (f && !found && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, n) || !isspace((unsigned char)line[n]))
			continue;
		found = isdigit((unsigned char)line[n + strspn(line + n, " \t")]);
		*out = strtoull(line + n, NULL, 10);
	}
	if (f)
		fclose(f);
	return found;
}

/* A file that is one number, which "max" is not. */
static bool read_number(const char *dir, const char *name, uint64_t *out)
{
	char path[PATH + 64], line[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f))
		line[0] = 0;
	fclose(f);
	*out = strtoull(line, NULL, 10);
	return isdigit((unsigned char)line[0]);
}

static void group_room(const char *dir, const struct version *v, const char *group,
		       struct npu_memory_room *out)
{
	uint64_t limit, used, cache;
	char path[PATH + 64];
	int i;

	if (!read_number(dir, v->limit, &limit) || !read_number(dir, v->usage, &used))
		return;
	snprintf(path, sizeof(path), "%s/memory.stat", dir);
	for (i = 0; i < 2; i++)
		if (find_number(path, v->caches[i], &cache))
			used -= cache < used ? cache : used;
	keep_least(out, limit > used ? limit - used : 0, "control group ", group);
}

/*
 * A group has the limits of all above it, too. Of a path that is not seen from here the root's
 * count.
 */
static void groups_room(const char *root, const struct version *v, char *group,
			struct npu_memory_room *out)
{
	char dir[PATH], *slash;
	int n;

	for (;;) {
		n = snprintf(dir, sizeof(dir), "%s%s%s", root, v->mount, group);
		if (n > 0 && (size_t)n < sizeof(dir))
			group_room(dir, v, *group ? group : "/", out);
		slash = strrchr(group, '/');
		if (!slash)
			return;
		*slash = 0;
	}
}

/* Lines of /proc/self/cgroup are NUMBER:CONTROLLERS:PATH. */
static void cgroup_room(const char *root, struct npu_memory_room *out)
{
	char line[PATH], *controllers, *group;
	FILE *f;

	snprintf(line, sizeof(line), "%s/proc/self/cgroup", root);
	f = fopen(line, "re");
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		controllers = strchr(line, ':');
		group = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!group)
			continue;
		*group++ = 0;
		if (!strcmp(controllers, ":"))
			groups_room(root, &unified, group, out);
		else if (!strcmp(controllers, ":memory"))
			groups_room(root, &legacy, group, out);
	}
	if (f)
		fclose(f);
}

/* What "ulimit -v" leaves: addresses, whether there is memory at them or not. */
static void address_room(const char *root, struct npu_memory_room *out)
{
	uint64_t limit, pages, used;
	char path[PATH];

	snprintf(path, sizeof(path), "%s/proc/self/limits", root);
	if (!find_number(path, "Max address space", &limit))
		return;
	snprintf(path, sizeof(path), "%s/proc/self", root);
	if (!read_number(path, "statm", &pages) ||
	    __builtin_mul_overflow(pages, (uint64_t)sysconf(_SC_PAGESIZE), &used))
		return;
	keep_least(out, limit > used ? limit - used : 0, "ulimit -v", "");
}

uint64_t npu_memory_resident(void)
{
	uint64_t kib;

	/* to the page: the counters of status and statm are some pages off on each processor */
	if (find_number("/proc/self/smaps_rollup", "Rss:", &kib) ||
	    find_number("/proc/self/status", "VmRSS:", &kib))
		return kib <= UINT64_MAX >> 10 ? kib << 10 : 0;
	return 0;
}

void npu_memory_room(const char *root, struct npu_memory_room *out)
{
	char path[PATH];
	uint64_t kib;

	*out = (struct npu_memory_room){ .bytes = NPU_MEMORY_UNKNOWN };
	snprintf(path, sizeof(path), "%s/proc/meminfo", root);
	if (find_number(path, "MemAvailable:", &kib) && kib <= UINT64_MAX >> 10)
		keep_least(out, kib << 10, "the machine", "");
	cgroup_room(root, out);
	address_room(root, out);
}
