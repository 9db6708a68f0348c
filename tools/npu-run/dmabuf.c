// SPDX-License-Identifier: MIT
/*
 * --input-dmabuf NAME=fd:N[,offset=..][,bytes=..][,stride=..] or
 * NAME=heap:HEAP,file=PATH[,stride=..]: an input, or a camera's frame, where it lies.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "npu_share.h"
#include "run.h"
#include "tools/common/file.h"
#include "tools/common/heap.h"

/* One --input-dmabuf, as it was read. The strings are pieces of its text. */
struct place {
	const char *heap, *file;	/* heap NULL: a descriptor */
	uint64_t fd, offset, bytes, stride;
};

static int wrong(const struct item *item, const char *what)
{
	return fail("--input-dmabuf %s=%s: %s", item->name, item->value, what);
}

static int read_number(const struct item *item, const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno || *text < '0' || *text > '9' || *end ?
	       wrong(item, "want numbers behind fd:, offset=, bytes= and stride=") : 0;
}

static int read_word(const struct item *item, char *word, struct place *p)
{
	if (!strncmp(word, "offset=", 7))
		return read_number(item, word + 7, &p->offset);
	if (!strncmp(word, "bytes=", 6))
		return read_number(item, word + 6, &p->bytes);
	if (!strncmp(word, "stride=", 7))
		return read_number(item, word + 7, &p->stride);
	if (strncmp(word, "file=", 5))
		return wrong(item, "what follows is offset=, bytes=, stride= or file=");
	p->file = word + 5;
	return 0;
}

static int parse_place(const struct item *item, char *text, struct place *p)
{
	char *save = NULL, *word = strtok_r(text, ",", &save);
	int ret = 0;

	if (!word || (strncmp(word, "fd:", 3) && strncmp(word, "heap:", 5)))
		return wrong(item, "want fd:N of an open dma-buf, or heap:NAME,file=PATH");
	if (*word == 'h')
		p->heap = word + 5;
	else
		ret = read_number(item, word + 3, &p->fd);
	while (!ret && (word = strtok_r(NULL, ",", &save)))
		ret = read_word(item, word, p);
	if (ret)
		return ret;
	if (p->fd > INT32_MAX)
		return wrong(item, "there is no such descriptor");
	if (!p->heap != !p->file)
		return wrong(item, "file= goes with heap:, and heap: needs one");
	if (p->heap && (p->offset || p->bytes))
		return wrong(item, "offset= and bytes= go with fd:");
	return 0;
}

/* Memory of the heap, with what is in the file. */
static int heap_buffer(struct session *s, const struct item *item, const struct place *p,
		       struct npu_buffer **buf)
{
	struct npu_error why;
	uint8_t *data;
	size_t size;
	int fd, ret;

	if (npu_file_read(p->file, input_extent(s, item->name) + FRAME_SLACK, &data, &size, &why))
		return wrong(item, why.text);
	if (!size) {
		free(data);
		return wrong(item, "the file is empty");
	}
	ret = npu_heap_alloc(p->heap, size, &fd, &s->err);
	if (!ret) {
		ret = npu_buffer_import_dmabuf(s->dev, fd, buf, &s->err);
		close(fd);
	}
	if (!ret)
		ret = npu_buffer_write(*buf, 0, data, size, &s->err);
	free(data);
	return ret ? wrong(item, s->err.text) : 0;
}

/*
 * Is it a plane by itself? Its name says so, but for a frame's first one, whose name is the
 * frame's: that it is when another plane of the frame has a place of its own.
 */
static bool is_lone_plane(struct session *s, const char *name)
{
	struct npu_plane_info plane = NPU_INIT(plane), other = NPU_INIT(other);
	unsigned int program, i, k;

	if (npu_run_program(s->run, &program, NULL, &s->err))
		return false;
	for (i = 0; !npu_job_plane(s->job, program, i, 0, &plane); i++) {
		if (!strcmp(plane.name, name)) {
			for (k = 1; !npu_job_plane(s->job, program, i, k, &other); k++)
				if (dmabuf_given(s, other.name))
					return true;
			return false;
		}
		for (k = 1; !npu_job_plane(s->job, program, i, k, &other); k++)
			if (!strcmp(other.name, name))
				return true;
	}
	return false;
}

/* A frame by the name of its input, or one plane of it, else a tensor. */
static int bind_place(struct session *s, const struct item *item, const struct place *p,
		      struct npu_buffer *buf)
{
	int ret;

	if (is_lone_plane(s, item->name)) {
		ret = npu_run_set_stride(s->run, item->name, p->stride, &s->err);
		if (!ret)
			ret = npu_run_bind(s->run, item->name, buf, 0, &s->err);
		return ret ? wrong(item, s->err.text) : 0;
	}
	ret = npu_run_bind_image(s->run, item->name, buf, 0, p->stride, &s->err);
	if (ret == -ENOENT && !p->stride)
		ret = npu_run_bind(s->run, item->name, buf, 0, &s->err);
	return ret ? wrong(item, s->err.text) : 0;
}

static int bind_one(struct session *s, const struct item *item)
{
	struct place p = { 0 };
	struct npu_buffer *buf = NULL;
	char *text = strdup(item->value);
	int ret;

	if (!text)
		return fail("no memory");
	ret = parse_place(item, text, &p);
	if (!ret && p.heap) {
		ret = heap_buffer(s, item, &p, &buf);
	} else if (!ret) {
		struct npu_dmabuf from = {
			.size = sizeof(from), .fd = (int32_t)p.fd, .offset = p.offset,
			.bytes = p.bytes, .flags = NPU_BUFFER_READ_ONLY,
		};

		if (npu_buffer_import(s->dev, &from, &buf, &s->err))
			ret = wrong(item, s->err.text);
	}
	if (!ret)
		ret = bind_place(s, item, &p, buf);
	npu_buffer_put(buf);
	free(text);
	return ret;
}

int dmabufs_bind(struct session *s)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < s->opt->num_dmabuf && !ret; i++)
		ret = bind_one(s, &s->opt->dmabuf[i]);
	return ret;
}

bool dmabuf_given(const struct session *s, const char *name)
{
	unsigned int i;

	for (i = 0; i < s->opt->num_dmabuf; i++)
		if (!strcmp(s->opt->dmabuf[i].name, name))
			return true;
	return false;
}
