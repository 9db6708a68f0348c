// SPDX-License-Identifier: MIT
/*
 * In the guest: memory of other devices' and of heaps through libnpu. What the device adds up is what
 * the CPU sees there; mistakes and odd exporters have errors of their own and leave nothing behind.
 *
 * share DEVICE: all but what follows. share DEVICE unbind: the device is taken from its driver.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "npu_kernels.h"
#include "npu_share.h"
#include "odd/npu_odd.h"
#include "share_fences.h"
#include "share_sources.h"
#include "share_unbind.h"
#include "sum.h"
#include "tap.h"

#define PAGE	4096u

static struct npu_error err;

/* ---- sums ---- */

/* Windows into a dma-buf: where the part begins, where rows begin in it, their bytes and distance. */
struct window {
	uint64_t part, offset;
	uint32_t rows, cols, stride;
};

static const struct window windows[] = {
	{ 0, 0, 1, PAGE, PAGE },
	{ 0, 1, 3, 997, 1021 },
	{ 4095, 3, 5, 13, 701 },
	{ 8191, 0, 17, 1283, 1283 },
	{ 12289, 4099, 29, 601, 4097 },
	{ 65537, 77, 97, 1920, 2111 },
};

static uint64_t window_end(const struct window *w)
{
	return w->offset + (uint64_t)(w->rows - 1) * w->stride + w->cols;
}

static uint8_t *map_shared(int fd, size_t size)
{
	uint8_t *cpu = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (cpu == MAP_FAILED)
		abort();
	return cpu;
}

static void bracket(int fd, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = flags | DMA_BUF_SYNC_RW };

	if (ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync))
		abort();
}

static void fill(int fd, uint8_t *cpu, size_t size, unsigned int seed)
{
	uint32_t x = seed * 2654435761u + 1;
	size_t i;

	bracket(fd, DMA_BUF_SYNC_START);
	for (i = 0; i < size; i++) {
		x = x * 1664525u + 1013904223u;
		cpu[i] = x >> 24;
	}
	bracket(fd, DMA_BUF_SYNC_END);
}

/* Rows whose sum by the device is not that of the CPU. */
static unsigned int wrong_rows(struct npu_device *dev, struct npu_queue *queue,
			       struct npu_buffer *buf, const struct window *w, const uint8_t *cpu)
{
	unsigned int r, c, bad = 0;
	float sums[128];

	if (sum_rows(dev, queue, buf, w->offset, w->rows, w->cols, w->stride, sums, &err))
		return w->rows;
	cpu += w->part + w->offset;
	for (r = 0; r < w->rows; r++, cpu += w->stride) {
		uint32_t sum = 0;

		for (c = 0; c < w->cols; c++)
			sum += cpu[c];
		bad += sums[r] != (float)sum;
	}
	return bad;
}

static void test_window(struct npu_device *dev, struct npu_queue *queue, int fd, uint64_t size,
			const uint8_t *cpu, const struct window *w, unsigned int *bad,
			unsigned int *count)
{
	struct npu_dmabuf part = NPU_INIT(part);
	struct npu_buffer *buf;

	part.fd = fd;
	part.offset = w->part;
	part.bytes = *count % 2 ? window_end(w) : 0;
	part.flags = *count % 3 ? NPU_BUFFER_READ_ONLY : 0;
	if (w->part + window_end(w) > size)
		return;
	++*count;
	if (npu_buffer_import(dev, &part, &buf, &err)) {
		++*bad;
		return;
	}
	*bad += npu_buffer_size(buf) != (part.bytes ? part.bytes : size - w->part);
	*bad += wrong_rows(dev, queue, buf, w, cpu) != 0;
	npu_buffer_put(buf);
}

/* What the device writes, the CPU reads. */
static unsigned int wrong_write(struct npu_device *dev, struct npu_queue *queue, int fd,
				uint64_t size, const uint8_t *cpu)
{
	struct npu_dmabuf part = { .size = sizeof(part), .fd = fd, .offset = 1000 };
	uint32_t n = size - 2000 > 60000 ? 60000 : size - 2000;
	unsigned int bad = 0, i;
	struct npu_buffer *buf;
	uint8_t before = cpu[999], after = cpu[1000 + n];

	if (npu_buffer_import(dev, &part, &buf, &err))
		return 1;
	bad += fill_bytes(queue, buf, 0, n, 0x5a, &err) != 0;
	bracket(fd, DMA_BUF_SYNC_START);
	for (i = 0; i < n; i++)
		bad += cpu[1000 + i] != 0x5a;
	bad += cpu[999] != before || cpu[1000 + n] != after;
	bracket(fd, DMA_BUF_SYNC_END);
	npu_buffer_put(buf);
	return bad;
}

static void test_source(struct npu_device *dev, struct npu_queue *queue, const struct source *s)
{
	int fd = s->alloc(s->size);
	unsigned int bad = 0, count = 0, i;
	struct npu_buffer *buf;
	uint8_t *cpu;

	if (fd < 0) {
		/* hugetlbfs needs contiguous memory that a guest may not have any more. */
		tap_skip(s->name, strerror(-fd));
		return;
	}
	cpu = map_shared(fd, s->size);
	fill(fd, cpu, s->size, 7);
	for (i = 0; i < sizeof(windows) / sizeof(*windows); i++)
		test_window(dev, queue, fd, s->size, cpu, &windows[i], &bad, &count);
	tap_ok(!bad && count, "%s: the device's sums of %u windows are the CPU's%s%s", s->name, count,
	       bad ? ": " : "", bad ? err.text : "");
	bad = wrong_write(dev, queue, fd, s->size, cpu);
	tap_ok(!bad, "%s: what the device writes is there, and nothing beside it: %u%s%s", s->name, bad,
	       bad ? ": " : "", bad ? err.text : "");

	/* The exporter's descriptor goes first; the memory stays. */
	fill(fd, cpu, s->size, 9);
	if (npu_buffer_import_dmabuf(dev, fd, &buf, &err)) {
		tap_ok(0, "%s: whole: %s", s->name, err.text);
		return;
	}
	close(fd);
	tap_ok(!wrong_rows(dev, queue, buf, &windows[0], cpu), "%s: and after its descriptor was closed",
	       s->name);
	npu_buffer_put(buf);
	munmap(cpu, s->size);
}

/* The memory of one open device by another; either goes first. */
static void test_npu(struct npu_device *dev, struct npu_queue *queue, const char *uri)
{
	const struct window w = { 0, 4099, 29, 601, 4097 };
	struct npu_device *other;
	struct npu_queue *theirs;
	struct npu_buffer *own, *buf;
	static uint8_t bytes[64 * PAGE];
	unsigned int i;
	int fd, again;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = i * 7 + i / 251;
	if (npu_device_open(uri, NULL, &other, &err) || npu_queue_create(other, NULL, &theirs, &err) ||
	    npu_buffer_create(other, sizeof(bytes), 0, &own, &err)) {
		tap_ok(0, "another NPU: %s", err.text);
		return;
	}
	npu_buffer_write(own, 0, bytes, sizeof(bytes), &err);
	if (npu_buffer_export_dmabuf(own, &fd, &err) || npu_buffer_import_dmabuf(dev, fd, &buf, &err)) {
		tap_ok(0, "another NPU's memory: %s", err.text);
		return;
	}
	tap_ok(!wrong_rows(dev, queue, buf, &w, bytes), "another NPU's memory: the sums");
	/* One byte further on there is something else: the sums are not those of anything. */
	tap_ok(wrong_rows(dev, queue, buf, &w, bytes + 1), "and not those of other bytes");
	tap_ok(!npu_buffer_export_dmabuf(buf, &again, &err), "an import is exported again");
	close(again);
	close(fd);
	npu_buffer_put(own);
	npu_queue_destroy(theirs);
	npu_device_close(other);
	tap_ok(!wrong_rows(dev, queue, buf, &w, bytes),
	       "which stays when that one is closed");
	npu_buffer_put(buf);
}

/* ---- mistakes ---- */

static struct npu_odd_count odd_counts(int odd)
{
	struct npu_odd_count n;

	if (ioctl(odd, NPU_ODD_COUNT, &n))
		abort();
	return n;
}

static void refused(struct npu_device *dev, const struct npu_dmabuf *from, int code,
		    const char *word, const char *what)
{
	struct npu_buffer *buf = (struct npu_buffer *)&err;
	int ret = npu_buffer_import(dev, from, &buf, &err);

	tap_ok(ret == code && err.code == code && !buf && strstr(err.text, word), "%s: %d %s", what, ret,
	       err.text);
}

static void test_odd(struct npu_device *dev)
{
	static const struct {
		unsigned int kind;
		int code;
		const char *word, *what;
	} kinds[] = {
		{ NPU_ODD_EMPTY, -EINVAL, "0 bytes", "size zero" },
		{ NPU_ODD_UNALIGNED, -EINVAL, "whole pages", "a size that is not one of pages" },
		{ NPU_ODD_PIECES, -EOPNOTSUPP, "pieces", "pieces that are not pages" },
		{ NPU_ODD_SHORT, -EBADMSG, "less memory", "less mapped than there is" },
		{ NPU_ODD_REFUSED, -EPERM, "not permitted", "attaching is refused" },
		{ NPU_ODD_REVOKED, -ENODEV, "give the memory out", "mapping is refused" },
	};
	struct npu_dmabuf from = NPU_INIT(from);
	int odd = odd_open();
	struct npu_odd_count n;
	unsigned int i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		from.fd = odd_alloc(kinds[i].kind, 8, O_RDWR);
		refused(dev, &from, kinds[i].code, kinds[i].word, kinds[i].what);
		close(from.fd);
	}
	n = odd_counts(odd);
	tap_ok(!n.bufs && !n.attachments && !n.mappings && !n.pins,
	       "nothing is left of them: %u buffers, %u importers, %u mappings, %u pins", n.bufs,
	       n.attachments, n.mappings, n.pins);
	close(odd);
}

static void test_mistakes(struct npu_device *dev)
{
	struct npu_dmabuf from = NPU_INIT(from);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), file = memfd_create("no", 0);
	int fd = odd_alloc(NPU_ODD_NOTHING, 4, O_RDWR), ro = odd_alloc(NPU_ODD_NOTHING, 4, O_RDONLY);
	struct npu_buffer *buf;

	from.fd = -1;
	refused(dev, &from, -EBADF, "not open", "no descriptor");
	from.fd = null;
	refused(dev, &from, -EINVAL, "not a dma-buf", "a device");
	from.fd = file;
	refused(dev, &from, -EINVAL, "not a dma-buf", "a memfd");
	from.fd = fd;
	from.offset = 4 * PAGE;
	refused(dev, &from, -EINVAL, "16384", "an offset that is the size");
	from.offset = UINT64_MAX;
	refused(dev, &from, -EINVAL, "16384", "an offset beyond everything");
	from.offset = 1;
	from.bytes = 4 * PAGE;
	refused(dev, &from, -EINVAL, "16384", "a byte too many");
	from.bytes = UINT64_MAX;
	refused(dev, &from, -EINVAL, "16384", "far too many");
	from.bytes = 0;
	from.flags = 2;
	refused(dev, &from, -EINVAL, "flags", "flags that are not known");
	from.flags = 0;
	from.reserved = 1;
	refused(dev, &from, -EINVAL, "reserved", "a reserved member");
	from = (struct npu_dmabuf){ .size = sizeof(from), .fd = ro };
	refused(dev, &from, -EACCES, "NPU_BUFFER_READ_ONLY", "for reading only");
	from.flags = NPU_BUFFER_READ_ONLY;
	tap_ok(!npu_buffer_import(dev, &from, &buf, &err) &&
	       npu_buffer_write(buf, 0, "x", 1, &err) == -EACCES,
	       "which is taken as such, and not written to: %s", err.text);
	npu_buffer_put(buf);
	close(null);
	close(file);
	close(fd);
	close(ro);
}

/* An exporter that does not want to be looked at; the device may. */
static void test_unseen(struct npu_device *dev, struct npu_queue *queue)
{
	int fd = odd_alloc(NPU_ODD_NO_MMAP, 4, O_RDWR);
	struct npu_buffer *buf;
	float sums[4];
	void *map;

	tap_ok(!npu_buffer_import_dmabuf(dev, fd, &buf, &err), "memory that is not for the CPU");
	tap_ok(npu_buffer_map(buf, &map, &err) == -ENOTSUP && !map, "is not mapped: %s", err.text);
	tap_ok(npu_buffer_read(buf, 0, sums, 4, &err) == -ENOTSUP, "nor read: %s", err.text);
	tap_ok(!fill_bytes(queue, buf, 5, 16000, 3, &err) &&
	       !sum_rows(dev, queue, buf, 5, 4, 4000, 4000, sums, &err) && sums[0] == 12000 && sums[3] == 12000,
	       "the device works on it");
	npu_buffer_put(buf);
	close(fd);
}

static int count_maps(const char *what)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[512];
	int n = 0;

	while (file && fgets(line, sizeof(line), file))
		n += strstr(line, what) != NULL;
	fclose(file);
	return n;
}

static void test_host_view(struct npu_device *dev, bool in_process)
{
	int fd = sources[0].alloc(16 * PAGE), before = count_maps("dmabuf");
	struct npu_dmabuf from = { .size = sizeof(from), .fd = fd, .offset = PAGE + 10, .bytes = 5000 };
	uint8_t *cpu = map_shared(fd, 16 * PAGE), *map;
	struct npu_buffer *buf;

	before++;
	tap_ok(!npu_buffer_import(dev, &from, &buf, &err) &&
	       count_maps("dmabuf") == before + in_process, "%s",
	       in_process ? "in process an import is mapped" : "an import is not mapped for the host");
	tap_ok(!npu_buffer_map(buf, (void **)&map, &err) && count_maps("dmabuf") == before + 1,
	       "npu_buffer_map() maps it");
	tap_ok(!npu_buffer_begin_access(buf, NPU_ACCESS_READ | NPU_ACCESS_WRITE, &err), "access begins");
	memset(map, 0x77, 5000);
	tap_ok(!npu_buffer_end_access(buf, NPU_ACCESS_READ | NPU_ACCESS_WRITE, &err), "and ends");
	tap_ok(cpu[PAGE + 9] == 0 && cpu[PAGE + 10] == 0x77 && cpu[PAGE + 5009] == 0x77 &&
	       cpu[PAGE + 5010] == 0, "at the right place");
	tap_ok(npu_buffer_begin_access(buf, 0, &err) == -EINVAL, "no access at all: %s", err.text);
	npu_buffer_put(buf);
	tap_ok(count_maps("dmabuf") == before, "it is unmapped with the buffer");
	munmap(cpu, 16 * PAGE);
	close(fd);
}

int main(int argc, char **argv)
{
	bool in_process = argc > 1 && !strncmp(argv[1], "sim", 3);
	struct npu_device *dev;
	struct npu_queue *queue;
	unsigned int i;

	if (argc == 3 && !strcmp(argv[2], "unbind")) {
		test_unbind(argv[1]);
		return tap_done();
	}
	if (argc != 2 || npu_device_open(argv[1], NULL, &dev, &err) ||
	    npu_queue_create(dev, NULL, &queue, &err)) {
		printf("Bail out! usage: share DEVICE [unbind]; %s\n", err.text);
		return 1;
	}
	for (i = 0; sources[i].name; i++)
		test_source(dev, queue, &sources[i]);
	test_mistakes(dev);
	test_host_view(dev, in_process);
	if (!in_process) {
		test_npu(dev, queue, argv[1]);
		test_odd(dev);
		test_unseen(dev, queue);
	}
	test_fences(dev, in_process);
	npu_queue_destroy(queue);
	npu_device_close(dev);
	return tap_done();
}
