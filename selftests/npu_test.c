// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "npu_test.h"

#define MAX_DEVICES	64

/* Does the npu driver stand behind @fd? */
static int is_npu(int fd)
{
	char name[16] = "";
	struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };

	return !npu_ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, DRM_NPU_DRIVER_NAME);
}

int npu_open(void)
{
	const char *wanted = getenv("NPU_DEVICE");
	char path[64];
	int i, fd;

	if (wanted) {
		fd = open(wanted, O_RDWR | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	for (i = 0; i < MAX_DEVICES; i++) {
		snprintf(path, sizeof(path), "/dev/accel/accel%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (is_npu(fd))
			return fd;
		close(fd);
	}
	return -ENODEV;
}

int npu_ioctl(int fd, unsigned long request, void *arg)
{
	int ret;

	do {
		ret = ioctl(fd, request, arg);
	} while (ret < 0 && (errno == EINTR || errno == EAGAIN));
	return ret < 0 ? -errno : 0;
}

int npu_ioctl_sized(int fd, unsigned long request, size_t size, void *arg)
{
	unsigned int dir = _IOC_DIR(request), type = _IOC_TYPE(request), nr = _IOC_NR(request);

	return npu_ioctl(fd, _IOC(dir, type, nr, size), arg);
}

int npu_write_file(const char *folder, const char *name, const char *text)
{
	char path[PATH_MAX];
	int fd, ret = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

bool npu_file_says(const char *folder, const char *name, const char *text)
{
	char path[PATH_MAX], got[64] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, got, sizeof(got) - 1) < 0)
		got[0] = 0;
	close(fd);
	return !strncmp(got, text, strlen(text));
}

int npu_pci_folder(int fd, char *path, size_t size)
{
	char link[64], folder[PATH_MAX];
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	snprintf(link, sizeof(link), "/sys/dev/char/%u:%u/device", major(st.st_rdev),
		 minor(st.st_rdev));
	if (!realpath(link, folder))
		return -errno;
	return snprintf(path, size, "%s", folder) < size ? 0 : -ENAMETOOLONG;
}

void npu_expect_log(const char *regex)
{
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	dprintf(fd, "npu-test: expect %s\n", regex);
	close(fd);
}

/* The serial port that QEMU calls npu.host. */
static int open_host(void)
{
	char path[64], name[32];
	FILE *file;
	int i;

	for (i = 0; i < MAX_DEVICES; i++) {
		snprintf(path, sizeof(path), "/sys/class/virtio-ports/vport%dp%d/name",
			 i / 16, i % 16);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (!fgets(name, sizeof(name), file))
			*name = 0;
		fclose(file);
		snprintf(path, sizeof(path), "/dev/vport%dp%d", i / 16, i % 16);
		if (!strcmp(name, "npu.host\n"))
			return open(path, O_RDWR | O_CLOEXEC);
	}
	return -1;
}

int npu_host(const char *command, char *answer, size_t size)
{
	char line[1024], *text;
	size_t len = 0;
	ssize_t got;
	int fd = open_host();

	if (fd < 0)
		return -ENOTSUP;
	dprintf(fd, "%s\n", command);
	do {
		got = read(fd, line + len, sizeof(line) - 1 - len);
		len += got > 0 ? got : 0;
	} while (got > 0 && len < sizeof(line) - 1 && line[len - 1] != '\n');
	close(fd);
	line[len] = 0;
	line[strcspn(line, "\n")] = 0;
	text = strchr(line, ' ');
	if (answer)
		snprintf(answer, size, "%s", text ? text + 1 : "");
	return line[0] == '0' ? 0 : -EIO;
}

int npu_fault(const char *command)
{
	char request[64];

	snprintf(request, sizeof(request), "vdev 0 %s", command);
	return npu_host(request, NULL, 0);
}
