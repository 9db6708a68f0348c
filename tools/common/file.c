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

/* How much may be read: @max, or what @by_head says once the first bytes are there. */
struct limit {
	size_t max;
	size_t (*by_head)(void *ctx, const uint8_t *head, size_t len);
	void *ctx;
};

struct reading {
	int fd;
	const char *path;
	uint8_t *buf;
	size_t room, used;
};

/* Read once, into what room there is. 1: more may come, 0: that was all. */
static int read_some(struct reading *r, struct npu_error *why)
{
	ssize_t got;

	do
		got = read(r->fd, r->buf + r->used, r->room - r->used);
	while (got < 0 && errno == EINTR);
	if (got < 0) {
		int err = -errno;

		return npu_error_set(why, err, "%s: %s", r->path, strerror(-err));
	}
	r->used += (size_t)got;
	return got > 0;
}

static int make_room(struct reading *r, size_t room, struct npu_error *why)
{
	uint8_t *grown = realloc(r->buf, room + 1);

	if (!grown)
		return npu_error_set(why, -ENOMEM, "%s: no memory for %zu bytes", r->path, room);
	r->buf = grown;
	r->room = room;
	return 0;
}

/* The size is a hint only: the file may grow, and a pipe has none. */
static size_t first_room(const struct reading *r, size_t max)
{
	struct stat st;

	if (fstat(r->fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    (uint64_t)st.st_size > max || (size_t)st.st_size < r->room)
		return r->room;
	return (size_t)st.st_size + 1;
}

static int file_slurp(struct reading *r, struct limit limit, struct npu_error *why)
{
	int ret = make_room(r, FILE_CHUNK, why), more = 1;

	while (!ret && limit.by_head && more && r->used < NPU_FILE_HEAD) {
		more = read_some(r, why);
		ret = more < 0 ? more : 0;
	}
	if (!ret && limit.by_head)
		limit.max = limit.by_head(limit.ctx, r->buf, r->used);
	if (!ret)
		ret = make_room(r, first_room(r, limit.max), why);
	while (!ret && more) {
		if (r->used > limit.max)
			return npu_error_set(why, -EFBIG, "%s: longer than the limit of %zu bytes",
					     r->path, limit.max);
		if (r->used == r->room)
			ret = make_room(r, 2 * r->room, why);
		more = ret ? ret : read_some(r, why);
		ret = more < 0 ? more : 0;
	}
	return ret;
}

static int file_read(const char *path, struct limit limit, uint8_t **data, size_t *len,
		     struct npu_error *why)
{
	struct reading r = { .path = path, .fd = open(path, O_RDONLY | O_CLOEXEC) };
	int err = -errno;

	if (r.fd < 0)
		return npu_error_set(why, err, "%s: %s", path, strerror(-err));
	err = file_slurp(&r, limit, why);
	close(r.fd);
	if (err) {
		free(r.buf);
		return err;
	}
	r.buf[r.used] = 0;
	*data = r.buf;
	*len = r.used;
	return 0;
}

int npu_file_read(const char *path, size_t limit, uint8_t **data, size_t *len,
		  struct npu_error *why)
{
	return file_read(path, (struct limit){ .max = limit }, data, len, why);
}

int npu_file_read_by_head(const char *path,
			  size_t (*limit)(void *ctx, const uint8_t *head, size_t len), void *ctx,
			  uint8_t **data, size_t *len, struct npu_error *why)
{
	return file_read(path, (struct limit){ .by_head = limit, .ctx = ctx }, data, len, why);
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

int npu_file_write(const char *path, const void *data, size_t len, struct npu_error *why)
{
	char real[PATH_MAX];
	struct stat st;
	int err;

	/* nothing there yet, or it can not be seen: creating it will tell */
	if (stat(path, &st))
		err = file_replace(path, data, len);
	else if (!S_ISREG(st.st_mode))
		err = file_write_special(path, data, len);
	else if (realpath(path, real))	/* a link stays a link */
		err = file_replace(real, data, len);
	else
		err = -errno;
	return err ? npu_error_set(why, err, "%s: %s", path, strerror(-err)) : 0;
}

int npu_file_mkdirs(const char *path, struct npu_error *why)
{
	char part[PATH_MAX];
	size_t i, n = strlen(path);
	int err;

	if (!n || n >= sizeof(part))
		return npu_error_set(why, -ENAMETOOLONG,
				     "directory '%s': empty or too long a name", path);
	memcpy(part, path, n + 1);
	for (i = 1; i <= n; i++) {
		if (part[i] != '/' && part[i])
			continue;
		part[i] = 0;
		if (mkdir(part, 0755) && errno != EEXIST) {
			err = -errno;
			return npu_error_set(why, err, "directory '%s': %s", part, strerror(-err));
		}
		part[i] = path[i];
	}
	return 0;
}
