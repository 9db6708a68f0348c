// SPDX-License-Identifier: MIT
/*
 * A hostile client of the virtual device: any messages with any files, and behind it a hostile
 * guest: any registers, memory and firmware. Nothing may crash, leak or reach memory that is not
 * mapped, and whatever was sent, the device answers the next client.
 *
 * Input: a byte of INPUT_*, then records: command, flags, files (2 bits of kind each), length (2
 * bytes), payload. Command 0x7f: the payload goes to guest memory, at page @flags. With bit 7 the
 * payload is sent as it is, without a header.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "tools/vnpu/device/vdev_serve.h"
#include "tools/vnpu/device/vfu_proto.h"

#define STALL_MS	10000
#define PAGES		64
#define POKE		0x7f

#define INPUT_VERSION	1u	/* begins with it */
#define INPUT_CORE	2u	/* the device's own core, else the one behind --echo */
#define INPUT_SET_UP	4u	/* memory at DMA address 0, bus mastering, an interrupt */
#define INPUT_BOOT	8u	/* at the end what lies at 0 is loaded and run as firmware */

static struct npu_vdev *device[2];	/* echo, core */
static char path[2][64];
static int memory, event, odd[2];

static void *serve(void *arg)
{
	char why[256];

	if (npu_vdev_run(arg, why, sizeof(why)))
		abort();
	return NULL;
}

static void device_start(int core)
{
	struct npu_vdev_options opt = { .config = NPU_VDEV_CONFIG_DEFAULT, .socket = path[core],
					.log_fd = -1 };
	char why[256];
	pthread_t thread;

	snprintf(path[core], sizeof(path[core]), "/tmp/npu-fuzz-vfu.%d.%d", getpid(), core);
	opt.config.echo = !core;
	opt.config.threads = 1;
	opt.config.engines = 2;
	if (npu_vdev_open(&opt, NULL, &device[core], why, sizeof(why)) ||
	    pthread_create(&thread, NULL, serve, device[core]))
		abort();
}

static void devices_start(void)
{
	memory = memfd_create("guest", MFD_CLOEXEC);
	event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (ftruncate(memory, PAGES * 4096) || pipe2(odd, O_CLOEXEC | O_NONBLOCK))
		abort();
	device_start(0);
	device_start(1);
}

static int client_connect(int core)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path[core]);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)))
		abort();
	return fd;
}

/* Take answers away, so that the device does not wait for us. */
static void drain(int fd)
{
	char buf[65536];

	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
}

static void bad(const char *what)
{
	fprintf(stderr, "the device %s\n", what);
	abort();
}

/* As poll() of one file; libFuzzer's own timer interrupts it. */
static int wait_for(struct pollfd *p)
{
	int ret;

	do {
		ret = poll(p, 1, STALL_MS);
	} while (ret < 0 && errno == EINTR);
	return ret;
}

/* @kinds: two bits per file, 0 ends the list. False: the device has closed the connection. */
static int send_all(int fd, const unsigned char *p, size_t n, unsigned int kinds)
{
	const int files[] = { -1, memory, event, odd[1] };
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(4 * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { (void *)p, n };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fds[4], num = 0;
	ssize_t r;

	for (; kinds & 3; kinds >>= 2)
		fds[num++] = files[kinds & 3];
	if (num) {
		m.msg_control = control.buf;
		m.msg_controllen = CMSG_SPACE(num * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(num * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fds, num * sizeof(int));
	}
	while (iov.iov_len) {
		r = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (r <= 0) {
			struct pollfd pf = { fd, POLLOUT | POLLIN, 0 };

			drain(fd);
			if (wait_for(&pf) <= 0)
				bad("takes nothing more");
			if (pf.revents & (POLLHUP | POLLERR))
				return 0;
			continue;
		}
		iov.iov_base = (char *)iov.iov_base + r;
		iov.iov_len -= r;
		m.msg_control = NULL;
		m.msg_controllen = 0;
	}
	return 1;
}

static int send_message(int fd, unsigned int id, unsigned int command, unsigned int flags,
			const unsigned char *p, size_t n, unsigned int kinds)
{
	const struct vfu_header hdr = { .id = id, .command = command, .size = sizeof(hdr) + n,
					.flags = flags };
	unsigned char m[sizeof(hdr) + 65536];

	memcpy(m, &hdr, sizeof(hdr));
	memcpy(m + sizeof(hdr), p, n);
	return send_all(fd, m, hdr.size, kinds);
}

/* One record; false: the connection has ended. */
static int record_send(int fd, unsigned int id, const unsigned char *r, size_t n)
{
	if (r[0] & 0x80)
		return send_all(fd, r + 5, n, r[2]);
	if (r[0] != POKE)
		return send_message(fd, id, r[0], r[1], r + 5, n, r[2]);
	return pwrite(memory, r + 5, n < 4096 ? n : 4096, r[1] % PAGES * 4096) >= 0;
}

/* Each record in turn until the input or the connection ends. */
static void records_send(int fd, const unsigned char *data, size_t size)
{
	unsigned int id = 0;

	while (size >= 5) {
		size_t n = data[3] | data[4] << 8;

		n = n < size - 5 ? n : size - 5;
		if (!record_send(fd, ++id, data, n))
			return;
		drain(fd);
		data += 5 + n;
		size -= 5 + n;
	}
}

static const unsigned char version[] = "\0\0\0\0{\"capabilities\":{\"write_multiple\":true}}";

static void region_write(int fd, unsigned int region, unsigned long long offset, unsigned int v)
{
	unsigned char p[20];

	memcpy(p, &offset, 8);
	memcpy(p + 8, &region, 4);
	memcpy(p + 12, &(unsigned int){ 4 }, 4);
	memcpy(p + 16, &v, 4);
	send_message(fd, 7, VFU_REGION_WRITE, VFU_FLAG_NO_REPLY, p, sizeof(p), 0);
}

static void set_up(int fd)
{
	const struct vfu_dma_map map = { .argsz = sizeof(map), .flags = 3, .size = PAGES * 4096 };
	const struct vfu_set_irqs irq = { .argsz = sizeof(irq), .flags = 0x24, .index = 1,
					  .count = 1 };

	send_message(fd, 8, VFU_DMA_MAP, 0, (const void *)&map, sizeof(map), 1);
	send_message(fd, 9, VFU_SET_IRQS, 0, (const void *)&irq, sizeof(irq), 2);
	region_write(fd, 7, 4, 6);
	region_write(fd, 0, NPU_REG_EVENTS, 0x3f000);
	region_write(fd, 0, NPU_REG_EVENTS + 4, 0);
}

static void boot(int fd)
{
	region_write(fd, 0, NPU_REG_ROOT(0), 0x1000 | NPU_ROOT_VALID);
	region_write(fd, 0, NPU_REG_ROOT(1), 0x2000 | NPU_ROOT_VALID);
	region_write(fd, 0, NPU_REG_QUEUE(0), 1 | NPU_QUEUE_VALID);
	region_write(fd, 0, NPU_REG_FW_SIZE, 4096);
	region_write(fd, 0, NPU_REG_FW_COPY, 1);
	region_write(fd, 0, NPU_REG_MCU_CTRL, 1);
	region_write(fd, 0, NPU_REG_DOORBELL(0), 1);
	drain(fd);
	usleep(500);
}

/* The device must still answer: it is not waiting for anything, nor out of step. */
static void alive(int core)
{
	unsigned char reply[16];
	struct pollfd pf = { .events = POLLIN };
	ssize_t n;

	pf.fd = client_connect(core);
	send_message(pf.fd, 1, VFU_VERSION, 0, version, sizeof(version), 0);
	if (wait_for(&pf) <= 0)
		bad("does not answer");
	do {
		n = recv(pf.fd, reply, 16, MSG_WAITALL);
	} while (n < 0 && errno == EINTR);
	if (n != 16)
		bad("sends the next client away");
	if (reply[8] != VFU_FLAG_REPLY)
		bad("answers VERSION with an error");
	close(pf.fd);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	int fd, core;

	if (!device[0])
		devices_start();
	if (!size)
		return 0;
	core = !!(data[0] & INPUT_CORE);
	fd = client_connect(core);
	if (data[0] & (INPUT_VERSION | INPUT_SET_UP))
		send_message(fd, 0, VFU_VERSION, 0, version, sizeof(version), 0);
	if (data[0] & INPUT_SET_UP)
		set_up(fd);
	records_send(fd, data + 1, size - 1);
	if (data[0] & INPUT_BOOT)
		boot(fd);
	close(fd);
	alive(core);
	return 0;
}
