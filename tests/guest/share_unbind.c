// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "npu_share.h"
#include "odd/npu_odd.h"
#include "share_sources.h"
#include "share_unbind.h"
#include "sum.h"
#include "tap.h"

#define SIZE	(64u * 4096)
#define DRIVER	"/sys/bus/pci/drivers/npu/"

static struct npu_error err;

/* The device's name on its bus. */
static bool pci_name(char *name, size_t size)
{
	char path[256];
	ssize_t n = readlink("/sys/class/accel/accel0/device", path, sizeof(path) - 1);

	if (n < 0)
		return false;
	path[n] = 0;
	snprintf(name, size, "%s", strrchr(path, '/') + 1);
	return true;
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

struct shared {
	int odd, fd, out;
	struct npu_buffer *in, *own;
	uint8_t *cpu;
	/* another NPU, which has imported @own */
	struct npu_device *other;
	struct npu_queue *theirs;
	struct npu_buffer *lent;
};

/* The first four rows of a page that the other NPU sees in what it was lent are of @value. */
static bool lent_is(struct shared *s, float value)
{
	float sums[4] = { 0 };

	return !sum_rows(s->other, s->theirs, s->lent, 0, 4, 4096, 4096, sums, &err) &&
	       sums[0] == value * 4096 && sums[3] == value * 4096;
}

static bool share(struct npu_device *dev, struct shared *s)
{
	s->odd = odd_open();
	s->fd = odd_alloc(NPU_ODD_NOTHING, SIZE / 4096, O_RDWR);
	if (s->odd < 0 || s->fd < 0 || npu_buffer_import_dmabuf(dev, s->fd, &s->in, &err) ||
	    npu_buffer_create(dev, SIZE, 0, &s->own, &err) ||
	    npu_buffer_export_dmabuf(s->own, &s->out, &err))
		return false;
	if (npu_device_open(OTHER_NPU, NULL, &s->other, &err) ||
	    npu_queue_create(s->other, NULL, &s->theirs, &err) ||
	    npu_buffer_import_dmabuf(s->other, s->out, &s->lent, &err))
		return false;
	s->cpu = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	return s->cpu != MAP_FAILED;
}

static void check_gone(struct npu_device *dev, struct npu_queue *queue, struct shared *s)
{
	struct npu_odd_count n = { 0 };
	struct npu_buffer *buf;

	tap_ok(!ioctl(s->odd, NPU_ODD_COUNT, &n) && n.bufs == 1 && !n.attachments && !n.mappings,
	       "it has given back what it had imported: %u importers, %u mappings", n.attachments,
	       n.mappings);
	tap_ok(fill_bytes(queue, s->in, 0, SIZE, 2, &err) == -ENODEV, "no more jobs: %s", err.text);
	tap_ok(npu_buffer_import_dmabuf(dev, s->fd, &buf, &err) == -ENODEV && strstr(err.text, "gone"),
	       "nor imports: %s", err.text);
	s->cpu[SIZE - 1] = 9;
	tap_ok(s->cpu[0] == 1 && s->cpu[SIZE - 1] == 9, "the exporter's memory is as it was");
	tap_ok(lent_is(s, 4), "another NPU still has what it was lent");
}

void test_unbind(const char *uri)
{
	struct npu_device_info info = NPU_INIT(info);
	struct npu_device *dev = NULL;
	struct npu_queue *queue;
	struct shared s = { 0 };
	char name[64];

	if (!pci_name(name, sizeof(name)) || npu_device_open(uri, NULL, &dev, &err) ||
	    npu_queue_create(dev, NULL, &queue, &err) || !share(dev, &s)) {
		tap_ok(0, "sharing: %s", err.text);
		return;
	}
	tap_ok(!fill_bytes(queue, s.in, 0, SIZE, 1, &err) && s.cpu[0] == 1 && s.cpu[SIZE - 1] == 1,
	       "the device writes to another's memory");
	tap_ok(!fill_bytes(queue, s.own, 0, SIZE, 4, &err) && lent_is(&s, 4),
	       "another NPU sees what it writes to its own");
	tap_ok(write_file(DRIVER "unbind", name), "the device is taken from its driver");
	check_gone(dev, queue, &s);
	npu_buffer_put(s.in);
	npu_buffer_put(s.own);
	tap_ok(lent_is(&s, 4), "and when the lender has put it, too");
	npu_buffer_put(s.lent);
	npu_queue_destroy(s.theirs);
	npu_device_close(s.other);
	npu_queue_destroy(queue);
	npu_device_close(dev);
	munmap(s.cpu, SIZE);
	close(s.fd);
	close(s.out);
	close(s.odd);
	tap_ok(write_file(DRIVER "bind", name), "and given back");
	/*
	 * The number of its node is free again when the last reference is dropped: it may be
	 * another.
	 */
	tap_ok(!npu_device_open(NULL, NULL, &dev, &err) && !npu_device_info(dev, &info, &err) &&
	       !strcmp(info.backend, "drm"), "where it works, as %s", info.uri);
	npu_device_close(dev);
}
