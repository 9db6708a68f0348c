// SPDX-License-Identifier: MIT
/*
 * Tensors stored beside the model file. A model is untrusted, so a location is opened one component
 * at a time below the model's folder, without following symbolic links: no file elsewhere can be
 * read through it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/onnx_import.h"

static bool component_ok(const char *s, size_t len)
{
	return len && !(len == 1 && s[0] == '.') && !(len == 2 && s[0] == '.' && s[1] == '.');
}

static int open_beneath(const char *folder, const char *location)
{
	const char *p = location, *slash;
	int fd, next, flags;
	char *part;

	fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	while (fd >= 0) {
		slash = strchrnul(p, '/');
		if (!component_ok(p, (size_t)(slash - p))) {
			close(fd);
			errno = EPERM;
			return -1;
		}
		part = strndup(p, (size_t)(slash - p));
		/*
		 * O_NONBLOCK: a FIFO must not block the open; only regular files pass the check
		 * that follows
		 */
		flags = *slash ? O_PATH | O_DIRECTORY : O_RDONLY | O_NONBLOCK;
		next = part ? openat(fd, part, flags | O_NOFOLLOW | O_CLOEXEC) : -1;
		free(part);
		close(fd);
		fd = next;
		if (!*slash)
			break;
		p = slash + 1;
	}
	return fd;
}

static struct npu_onnx_map *map_file(struct npu_onnx_ctx *ctx, const char *location,
				     const char *where)
{
	struct npu_onnx_map *map = calloc(1, sizeof(*map));
	struct stat st;
	int fd;

	fd = open_beneath(ctx->src->folder, location);
	if (fd < 0) {
		npu_diag_add(ctx->diag, -errno, where, "external data file '%s': %s", location,
			     errno == EPERM ? "expected a path inside the model's folder" :
			     errno == ELOOP ? "symbolic links are not followed" : strerror(errno));
		free(map);
		return NULL;
	}
	if (!map || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		npu_diag_add(ctx->diag, -EINVAL, where,
			     "external data file '%s' is not a regular file", location);
		goto err_close;
	}
	map->size = (size_t)st.st_size;
	map->location = strdup(location);
	map->data = map->size ? mmap(NULL, map->size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	if (!map->location || map->data == MAP_FAILED) {
		npu_diag_add(ctx->diag, -ENOMEM, where, "external data file '%s' cannot be mapped",
			     location);
		goto err_close;
	}
	close(fd);
	map->next = ctx->src->maps;
	ctx->src->maps = map;
	return map;

err_close:
	close(fd);
	if (map)
		free(map->location);
	free(map);
	return NULL;
}

void npu_onnx_unmap(struct npu_onnx_source *src)
{
	struct npu_onnx_map *map = src->maps, *next;

	for (; map; map = next) {
		next = map->next;
		munmap(map->data, map->size);
		free(map->location);
		free(map);
	}
	src->maps = NULL;
}

static int parse_size(const char *s, size_t *out)
{
	unsigned long long v;
	char *end;

	if (!s || *s < '0' || *s > '9')
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &end, 10);
	if (errno || *end)
		return -EINVAL;
	*out = v;
	return 0;
}

const void *npu_onnx_external(struct npu_onnx_ctx *ctx, const Onnx__TensorProto *proto,
			      const char *where, size_t want)
{
	size_t offset = 0, length = want, i;
	const char *location = NULL;
	struct npu_onnx_map *map;
	int err = 0;

	for (i = 0; i < proto->n_external_data && !err; i++) {
		const char *key = proto->external_data[i]->key,
			   *value = proto->external_data[i]->value;

		if (key && value && !strcmp(key, "location"))
			location = value;
		else if (key && !strcmp(key, "offset"))
			err = parse_size(value, &offset);
		else if (key && !strcmp(key, "length"))
			err = parse_size(value, &length);
	}
	if (err || !location || length != want) {
		npu_diag_add(
			ctx->diag, -EINVAL, where,
			"external_data: expected a location, and offset and length as numbers with length %zu",
			want);
		return NULL;
	}
	if (!want)
		return "";
	if (!ctx->src->folder) {
		npu_diag_add(
			ctx->diag, -EINVAL, where,
			"external data '%s' cannot be found: the model was not read from a file",
			location);
		return NULL;
	}
	for (map = ctx->src->maps; map; map = map->next)
		if (!strcmp(map->location, location))
			break;
	if (!map)
		map = map_file(ctx, location, where);
	if (!map)
		return NULL;
	if (offset > map->size || want > map->size - offset) {
		npu_diag_add(
			ctx->diag, -EINVAL, where,
			"external data file '%s' has %zu bytes, the tensor needs %zu from offset %zu",
			location, map->size, want, offset);
		return NULL;
	}
	return (const unsigned char *)map->data + offset;
}
