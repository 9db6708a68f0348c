// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "npu_share.h"
#include "odd/npu_odd.h"
#include "share_odd.h"
#include "share_sources.h"
#include "sum.h"
#include "tap.h"

#define PAGE	4096u

static struct npu_error err;

/* ---- what is left ---- */

static struct npu_odd_count odd_counts(int odd)
{
	struct npu_odd_count n;

	if (ioctl(odd, NPU_ODD_COUNT, &n))
		abort();
	return n;
}

/* The driver's last word on each device's buffers. */
static void read_gems(char *text, size_t size)
{
	glob_t found = { 0 };
	char last[100] = "";
	size_t i, n = 0;
	FILE *file;

	*text = 0;
	if (glob("/sys/kernel/debug/accel/*/gems", 0, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc && n < size; i++) {
		file = fopen(found.gl_pathv[i], "r");
		while (file && fgets(last, sizeof(last), file))
			;
		if (file)
			fclose(file);
		last[strcspn(last, "\n")] = 0;
		n += snprintf(text + n, size - n, "%s%s", i ? ", " : "", last);
	}
	globfree(&found);
}

static unsigned int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* All that an import could leave: with the exporter, in the driver, and in this program. */
static void residue(char *text, size_t size)
{
	int odd = odd_open();
	struct npu_odd_count n = odd_counts(odd);
	char gems[200];

	close(odd);
	read_gems(gems, sizeof(gems));
	snprintf(text, size,
		 "%u dma-bufs, %u importers, %u mappings, %u pins; driver's %s; %u descriptors",
		 n.bufs, n.attachments, n.mappings, n.pins, gems, count_descriptors());
}

static void refused(struct npu_device *dev, const struct npu_dmabuf *from, int code,
		    const char *word, const char *what)
{
	struct npu_buffer *buf = (struct npu_buffer *)&err;
	char before[400], after[400];
	int ret;

	residue(before, sizeof(before));
	ret = npu_buffer_import(dev, from, &buf, &err);
	residue(after, sizeof(after));
	tap_ok(ret == code && err.code == code && !buf && strstr(err.text, word), "%s: %d %s", what,
	       ret, err.text);
	tap_ok(!strcmp(before, after) && strstr(after, "buffers"), "and leaves nothing: %s",
	       after);
	if (strcmp(before, after))
		tap_diag("before: %s", before);
}

/* ---- mistakes ---- */

/* Parts that are not in a dma-buf of 4 pages, and arguments that are none. */
static void test_parts(struct npu_device *dev, int fd)
{
	static const struct {
		uint64_t offset, bytes;
		uint32_t flags, reserved;
		const char *word, *what;
	} parts[] = {
		{ 4 * PAGE, 0, 0, 0, "16384", "an offset that is the size" },
		{ UINT64_MAX, 0, 0, 0, "16384", "an offset beyond everything" },
		{ 1, 4 * PAGE, 0, 0, "16384", "a byte too many" },
		{ 1, UINT64_MAX, 0, 0, "16384", "far too many" },
		{ 1, 0, 2, 0, "flags", "flags that are not known" },
		{ 1, 0, 0, 1, "reserved", "a reserved member" },
	};
	unsigned int i;

	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const struct npu_dmabuf from = {
			.size = sizeof(from), .fd = fd, .offset = parts[i].offset,
			.bytes = parts[i].bytes, .flags = parts[i].flags,
			.reserved = parts[i].reserved,
		};

		refused(dev, &from, -EINVAL, parts[i].word, parts[i].what);
	}
}

void test_mistakes(struct npu_device *dev)
{
	struct npu_dmabuf from = NPU_INIT(from);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), file = memfd_create("no", 0);
	int fd = odd_alloc(NPU_ODD_NOTHING, 4, O_RDWR);
	int ro = odd_alloc(NPU_ODD_NOTHING, 4, O_RDONLY);
	struct npu_buffer *buf;

	from.fd = -1;
	refused(dev, &from, -EBADF, "not open", "no descriptor");
	from.fd = null;
	refused(dev, &from, -EINVAL, "not a dma-buf", "a device");
	from.fd = file;
	refused(dev, &from, -EINVAL, "not a dma-buf", "a memfd");
	test_parts(dev, fd);
	from.fd = ro;
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

/* ---- odd exporters ---- */

static void test_kinds(struct npu_device *dev)
{
	static const struct {
		unsigned int kind;
		int code;
		const char *word, *what;
	} kinds[] = {
		{ NPU_ODD_EMPTY, -EINVAL, "0 bytes", "size zero" },
		{ NPU_ODD_UNALIGNED, -EINVAL, "whole pages", "a size that is not one of pages" },
		{ NPU_ODD_PIECES, -EADDRNOTAVAIL, "pieces", "pieces that are not pages" },
		{ NPU_ODD_SHORT, -EBADMSG, "less memory", "less mapped than there is" },
		{ NPU_ODD_REFUSED, -EPERM, "not permitted", "attaching is refused" },
		{ NPU_ODD_REVOKED, -ENODEV, "give the memory out", "mapping is refused" },
		{ NPU_ODD_REVOCABLE, -EOPNOTSUPP, "be taken back at any time", "only on recall" },
	};
	struct npu_dmabuf from = NPU_INIT(from);
	unsigned int i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		from.fd = odd_alloc(kinds[i].kind, 8, O_RDWR);
		refused(dev, &from, kinds[i].code, kinds[i].word, kinds[i].what);
		close(from.fd);
	}
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
	       !sum_rows(dev, queue, buf, 5, 4, 4000, 4000, sums, &err) && sums[0] == 12000 &&
	       sums[3] == 12000, "the device works on it");
	npu_buffer_put(buf);
	close(fd);
}

static bool sums_are(struct npu_device *dev, struct npu_queue *queue, struct npu_buffer *buf,
		     float value)
{
	float sums[8] = { 0 };
	unsigned int i;

	if (sum_rows(dev, queue, buf, 0, 8, PAGE, PAGE, sums, &err))
		return false;
	for (i = 0; i < 8 && sums[i] == value * PAGE; i++)
		;
	return i == 8;
}

static int move(int odd, int fd)
{
	return ioctl(odd, NPU_ODD_MOVE, &fd) ? -errno : 0;
}

/* Its exporter may move the memory, but not from under the device. */
static void test_moves(struct npu_device *dev, struct npu_queue *queue)
{
	int odd = odd_open(), fd = odd_alloc(NPU_ODD_PINNED, 8, O_RDWR);
	struct npu_buffer *buf = NULL, *again = NULL;

	if (!tap_ok(!npu_buffer_import_dmabuf(dev, fd, &buf, &err) &&
		    !fill_bytes(queue, buf, 0, 8 * PAGE, 5, &err), "memory that moves: %s",
		    buf ? "" : err.text))
		return;
	tap_ok(move(odd, fd) == -EBUSY && odd_counts(odd).pins == 1,
	       "does not, as long as the device has it");
	tap_ok(sums_are(dev, queue, buf, 5), "where its bytes are what they were");
	npu_buffer_put(buf);
	tap_ok(!odd_counts(odd).pins && !move(odd, fd), "behind the last importer it moves");
	tap_ok(!npu_buffer_import_dmabuf(dev, fd, &again, &err) && sums_are(dev, queue, again, 5),
	       "and is found at its new place: %s", again ? "" : err.text);
	npu_buffer_put(again);
	close(fd);
	close(odd);
}

/* A copy that the kernel has made for the device says nothing about other memory. */
static void test_bounced_once(struct npu_device *dev)
{
	struct npu_buffer_info info = NPU_INIT(info);
	int fd = odd_alloc(NPU_ODD_BOUNCED_ONCE, 8, O_RDWR);
	struct npu_buffer *buf = NULL;
	int ret = npu_buffer_import_dmabuf(dev, fd, &buf, &err);

	if (!ret)
		ret = npu_buffer_info(buf, &info, &err);
	tap_ok(!ret && info.imported && !info.bounced,
	       "what the kernel does not copy is not said to be copied: %d, bounced %u", ret,
	       info.bounced);
	npu_buffer_put(buf);
	close(fd);
}

void test_odd(struct npu_device *dev, struct npu_queue *queue)
{
	struct npu_odd_count n;
	int odd = odd_open();

	test_kinds(dev);
	test_unseen(dev, queue);
	test_moves(dev, queue);
	test_bounced_once(dev);
	n = odd_counts(odd);
	tap_ok(!n.bufs && !n.attachments && !n.mappings && !n.pins,
	       "nothing is left of them: %u buffers, %u importers, %u mappings, %u pins", n.bufs,
	       n.attachments, n.mappings, n.pins);
	close(odd);
}

/* ---- copies ---- */

void test_bounced(const char *uri)
{
	struct npu_buffer_info info = NPU_INIT(info);
	int fd = odd_alloc(NPU_ODD_NOTHING, 8, O_RDWR);
	struct npu_buffer *buf = NULL, *own = NULL;
	struct npu_device *dev = NULL;
	struct npu_queue *queue = NULL;

	if (!tap_ok(!npu_device_open(uri, NULL, &dev, &err) &&
		    !npu_queue_create(dev, NULL, &queue, &err) &&
		    !npu_buffer_import_dmabuf(dev, fd, &buf, &err) &&
		    !npu_buffer_create(dev, 8 * PAGE, 0, &own, &err), "an import%s",
		    own ? "" : err.text))
		return;
	tap_ok(!npu_buffer_info(buf, &info, &err) && info.imported && info.bounced,
	       "the kernel copies it, which is said");
	tap_ok(!fill_bytes(queue, own, 0, 8 * PAGE, 7, &err) && sums_are(dev, queue, own, 7) &&
	       !npu_buffer_info(own, &info, &err) && !info.imported && info.bounced,
	       "memory of the driver's own is right nevertheless");
	npu_buffer_put(buf);
	npu_buffer_put(own);
	npu_queue_destroy(queue);
	npu_device_close(dev);
	close(fd);
}
