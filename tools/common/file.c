// SPDX-License-Identifier: MIT
#include "tools/common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_CHUNK	(64u << 10)

static int file_slurp(int fd, const char *path, size_t limit, uint8_t **data, size_t *len,
		      struct npu_reason *why)
{
	size_t room = FILE_CHUNK, used = 0;
	uint8_t *buf, *grown;
	struct stat st;
	ssize_t got;

	/* The size is a hint only: the file may grow, and a pipe has none. */
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    (uint64_t)st.st_size <= limit)
		room = (size_t)st.st_size + 1;
	buf = malloc(room + 1);
	if (!buf)
		return npu_reason_set(why, -ENOMEM, "%s: no memory for %zu bytes", path, room);
	for (;;) {
		got = read(fd, buf + used, room - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			int err = -errno;

			free(buf);
			return npu_reason_set(why, err, "%s: %s", path, strerror(-err));
		}
		if (!got)
			break;
		used += (size_t)got;
		if (used > limit) {
			free(buf);
			return npu_reason_set(why, -EFBIG, "%s: longer than the limit of %zu bytes",
					      path, limit);
		}
		if (used < room)
			continue;
		room *= 2;
		grown = realloc(buf, room + 1);
		if (!grown) {
			free(buf);
			return npu_reason_set(why, -ENOMEM, "%s: no memory for %zu bytes", path,
					      room);
		}
		buf = grown;
	}
	buf[used] = 0;
	*data = buf;
	*len = used;
	return 0;
}

int npu_file_read(const char *path, size_t limit, uint8_t **data, size_t *len,
		  struct npu_reason *why)
{
	int fd, err;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		return npu_reason_set(why, err, "%s: %s", path, strerror(-err));
	}
	err = file_slurp(fd, path, limit, data, len, why);
	close(fd);
	return err;
}

static int file_write_all(int fd, const uint8_t *data, size_t len)
{
	ssize_t put;

	while (len) {
		put = write(fd, data, len);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		data += put;
		len -= (size_t)put;
	}
	return 0;
}

/* A pipe or a device is written to; a rename would put a file in its place. */
static int file_write_special(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = file_write_all(fd, data, len);
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* Write beside @path and take its place. */
static int file_replace(const char *path, const void *data, size_t len)
{
	char tmp[PATH_MAX];
	mode_t mask;
	int fd, err;

	if (snprintf(tmp, sizeof(tmp), "%s.XXXXXX", path) >= (int)sizeof(tmp))
		return -ENAMETOOLONG;
	fd = mkostemp(tmp, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* mkostemp() makes 0600 and there is no way to read the umask without setting it. */
	mask = umask(0);
	umask(mask);
	err = file_write_all(fd, data, len);
	if (!err && fchmod(fd, 0644 & ~mask))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(tmp, path))
		err = -errno;
	if (err)
		unlink(tmp);
	return err;
}

int npu_file_write(const char *path, const void *data, size_t len, struct npu_reason *why)
{
	char real[PATH_MAX];
	struct stat st;
	int err;

	if (stat(path, &st))	/* nothing there yet, or it can not be seen: creating it will tell */
		err = file_replace(path, data, len);
	else if (!S_ISREG(st.st_mode))
		err = file_write_special(path, data, len);
	else if (realpath(path, real))	/* a link stays a link */
		err = file_replace(real, data, len);
	else
		err = -errno;
	return err ? npu_reason_set(why, err, "%s: %s", path, strerror(-err)) : 0;
}

int npu_file_mkdirs(const char *path, struct npu_reason *why)
{
	char part[PATH_MAX];
	size_t i, n = strlen(path);
	int err;

	if (!n || n >= sizeof(part))
		return npu_reason_set(why, -ENAMETOOLONG,
				      "directory '%s': empty or too long a name", path);
	memcpy(part, path, n + 1);
	for (i = 1; i <= n; i++) {
		if (part[i] != '/' && part[i])
			continue;
		part[i] = 0;
		if (mkdir(part, 0755) && errno != EEXIST) {
			err = -errno;
			return npu_reason_set(why, err, "directory '%s': %s", part, strerror(-err));
		}
		part[i] = path[i];
	}
	return 0;
}
