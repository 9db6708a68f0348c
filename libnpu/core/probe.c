// SPDX-License-Identifier: MIT
#include "core/probe.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "drm/npu_drm.h"

static void node_path(const char *root, unsigned int n, char path[4096])
{
	snprintf(path, 4096, "%.3900s/dev/accel/accel%u", root, n);
}

bool npu_probe_node_exists(const char *root, unsigned int n)
{
	char path[4096];

	node_path(root, n, path);
	return !access(path, F_OK);
}

void npu_probe_driver(const char *root, unsigned int n, char *name, size_t size)
{
	char link[4096], path[256];
	const char *base;
	ssize_t len;

	snprintf(link, sizeof(link), "%.3900s/sys/class/accel/accel%u/device/driver", root, n);
	len = readlink(link, path, sizeof(path) - 1);
	path[len > 0 ? len : 0] = 0;
	base = strrchr(path, '/');
	snprintf(name, size, "%s", base ? base + 1 : "unknown");
}

/* The group that a node belongs to, by name. */
static void group_of(const char *path, char *name, size_t size)
{
	struct group group, *found = NULL;
	struct stat st;
	char buf[4096];

	snprintf(name, size, "render");
	if (stat(path, &st))
		return;
	if (!getgrgid_r(st.st_gid, &group, buf, sizeof(buf), &found) && found)
		snprintf(name, size, "%s", group.gr_name);
	else
		snprintf(name, size, "%lu", (unsigned long)st.st_gid);
}

void npu_probe_node(const char *root, unsigned int n, struct npu_device_candidate *out)
{
	char path[4096], driver[64], group[64];

	node_path(root, n, path);
	npu_probe_driver(root, n, driver, sizeof(driver));
	snprintf(out->uri, sizeof(out->uri), "/dev/accel/accel%u", n);
	snprintf(out->name, sizeof(out->name), "accelerator of driver '%.30s'", driver);
	if (access(path, R_OK | W_OK) && errno == EACCES) {
		group_of(path, group, sizeof(group));
		out->status = -EACCES;
		snprintf(out->reason, sizeof(out->reason),
			 "no permission to open %s: add the user to its group, '%s', and log in again",
			 out->uri, group);
		return;
	}
	if (!strcmp(driver, DRM_NPU_DRIVER_NAME)) {
		out->status = 0;
		out->reason[0] = 0;
		return;
	}
	out->status = -ENODEV;
	snprintf(out->reason, sizeof(out->reason),
		 "libnpu %s has no backend for the kernel driver '%s'", NPU_VERSION, driver);
}
