// SPDX-License-Identifier: MIT
/*
 * In the guest: memory of other devices' and of heaps through libnpu. What the device adds up is
 * what the CPU sees there; mistakes and odd exporters have errors of their own and leave nothing
 * behind.
 *
 * share DEVICE: all but what follows. share DEVICE unbind: the device is taken from its driver.
 * share DEVICE bounced: on a kernel that copies all that devices read or write. share give:
 * share_give.h.
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
#include "share_fences.h"
#include "share_give.h"
#include "share_odd.h"
#include "share_sources.h"
#include "share_unbind.h"
#include "sum.h"
#include "tap.h"

#define PAGE	4096u

static struct npu_error err;

/* ---- sums ---- */

/*
 * Windows into a dma-buf: where the part begins, where rows begin in it, their bytes and distance.
 */
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

static const struct window npu_window = { 0, 4099, 29, 601, 4097 };

/* What either of two NPUs writes to the other's memory @buf, of @own, the other one reads. */
static unsigned int wrong_exchange(struct npu_queue *queue, struct npu_buffer *buf,
				   struct npu_queue *theirs, struct npu_buffer *own)
{
	uint8_t got[6] = { 0 };

	if (fill_bytes(queue, buf, 4095, 2, 0x31, &err) ||
	    fill_bytes(theirs, own, 4097, 2, 0x32, &err) ||
	    npu_buffer_read(own, 4094, got, 3, &err) ||
	    npu_buffer_read(buf, 4097, got + 3, 3, &err))
		return 1;
	return got[1] != 0x31 || got[2] != 0x31 || got[3] != 0x32 || got[4] != 0x32;
}

/* The memory of one open device by another, which goes first. */
static void test_npu(struct npu_device *dev, struct npu_queue *queue, const char *uri,
		     const char *what)
{
	const struct window *w = &npu_window;
	struct npu_device *other;
	struct npu_queue *theirs;
	struct npu_buffer *own, *buf;
	static uint8_t bytes[64 * PAGE];
	unsigned int i;
	int fd, again;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = i * 7 + i / 251;
	if (npu_device_open(uri, NULL, &other, &err) ||
	    npu_queue_create(other, NULL, &theirs, &err) ||
	    npu_buffer_create(other, sizeof(bytes), 0, &own, &err) ||
	    npu_buffer_write(own, 0, bytes, sizeof(bytes), &err) ||
	    npu_buffer_export_dmabuf(own, &fd, &err) ||
	    npu_buffer_import_dmabuf(dev, fd, &buf, &err)) {
		tap_ok(0, "%s: %s", what, err.text);
		return;
	}
	tap_ok(!wrong_rows(dev, queue, buf, w, bytes), "%s's memory: the sums", what);
	/* One byte further on there is something else: the sums are not those of anything. */
	tap_ok(wrong_rows(dev, queue, buf, w, bytes + 1), "and not those of other bytes");
	tap_ok(!npu_buffer_export_dmabuf(buf, &again, &err), "an import is exported again");
	close(again);
	close(fd);
	tap_ok(!wrong_exchange(queue, buf, theirs, own), "each sees what the other one writes");
	memset(bytes + 4095, 0x31, 2);
	memset(bytes + 4097, 0x32, 2);
	npu_buffer_put(own);
	npu_queue_destroy(theirs);
	npu_device_close(other);
	tap_ok(!wrong_rows(dev, queue, buf, w, bytes), "it stays when that one is closed");
	npu_buffer_put(buf);
}

/* Another's @own as *@buf of @dev. */
static int pass_on(struct npu_buffer *own, struct npu_device *dev, struct npu_buffer **buf)
{
	int fd, ret = npu_buffer_export_dmabuf(own, &fd, &err);

	if (ret)
		return ret;
	ret = npu_buffer_import_dmabuf(dev, fd, buf, &err);
	close(fd);
	return ret;
}

/* Ours by another, which goes before or after it. */
static void test_npu_imports(struct npu_device *dev, struct npu_queue *queue, const char *uri)
{
	static uint8_t bytes[64 * PAGE];
	struct npu_device *other = NULL;
	struct npu_queue *theirs = NULL;
	struct npu_buffer *own, *buf;
	unsigned int i, good = 0;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = i * 11 + i / 253;
	for (i = 0; i < 2; i++) {
		if (npu_device_open(uri, NULL, &other, &err) ||
		    npu_queue_create(other, NULL, &theirs, &err) ||
		    npu_buffer_create(dev, sizeof(bytes), 0, &own, &err) ||
		    npu_buffer_write(own, 0, bytes, sizeof(bytes), &err) ||
		    pass_on(own, other, &buf))
			break;
		good += !wrong_rows(other, theirs, buf, &npu_window, bytes);
		if (i)
			npu_buffer_put(own);
		good += !wrong_rows(other, theirs, buf, &npu_window, bytes);
		npu_buffer_put(buf);
		npu_queue_destroy(theirs);
		npu_device_close(other);
		if (i)
			continue;
		good += !wrong_rows(dev, queue, own, &npu_window, bytes);
		npu_buffer_put(own);
	}
	tap_ok(good == 5, "another NPU's sums of ours, which either of them puts first: %u of 5",
	       good);
}

/* ---- the host ---- */

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
	struct npu_dmabuf from = {
		.size = sizeof(from), .fd = fd, .offset = PAGE + 10, .bytes = 5000
	};
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

	if (argc > 2 && !strcmp(argv[1], "give"))
		return share_give(argv + 2);
	if (argc == 3 && !strcmp(argv[2], "unbind")) {
		test_unbind(argv[1]);
		return tap_done();
	}
	if (argc == 3 && !strcmp(argv[2], "bounced")) {
		test_bounced(argv[1]);
		return tap_done();
	}
	if (argc != 2 || npu_device_open(argv[1], NULL, &dev, &err) ||
	    npu_queue_create(dev, NULL, &queue, &err)) {
		printf("Bail out! usage: share DEVICE [unbind|bounced]; %s\n", err.text);
		return 1;
	}
	for (i = 0; sources[i].name; i++)
		test_source(dev, queue, &sources[i]);
	test_mistakes(dev);
	test_host_view(dev, in_process);
	if (!in_process) {
		test_npu(dev, queue, argv[1], "another user of the NPU");
		test_npu(dev, queue, OTHER_NPU, "another NPU");
		test_npu_imports(dev, queue, OTHER_NPU);
		test_odd(dev, queue);
	}
	test_fences(dev, in_process);
	npu_queue_destroy(queue);
	npu_device_close(dev);
	return tap_done();
}
