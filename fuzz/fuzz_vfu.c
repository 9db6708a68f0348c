// SPDX-License-Identifier: MIT
/*
 * A hostile client of the virtual device: any messages with any files. Nothing may crash, leak or
 * reach memory that is not mapped, and whatever was sent, the device answers the next client.
 *
 * Input: a byte that says whether VERSION comes first, then records: command (bit 7: the bytes that
 * follow are sent as they are), flags, files (2 bits of kind each), length (2 bytes), payload.
 */
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

#define STALL_MS	5000

static struct npu_vdev *device;
static char path[64];
static int memory, event, odd[2];

static void *serve(void *arg)
{
	char why[256];

	if (npu_vdev_run(device, why, sizeof(why)))
		abort();
	return NULL;
}

static void device_start(void)
{
	struct npu_vdev_options opt = { .config = NPU_VDEV_CONFIG_DEFAULT, .socket = path,
					.log_fd = -1 };
	char why[256];
	pthread_t thread;

	snprintf(path, sizeof(path), "/tmp/npu-fuzz-vfu.%d", getpid());
	opt.config.echo = true;
	memory = memfd_create("guest", MFD_CLOEXEC);
	event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (ftruncate(memory, 64 * 4096) || pipe2(odd, O_CLOEXEC | O_NONBLOCK) ||
	    npu_vdev_open(&opt, NULL, &device, why, sizeof(why)) ||
	    pthread_create(&thread, NULL, serve, NULL))
		abort();
}

static int client_connect(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(a.sun_path, path);
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
			if (poll(&pf, 1, STALL_MS) <= 0)
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
	unsigned char m[16 + 65536] = { 0 };
	unsigned int size = 16 + n;

	memcpy(m, &(unsigned short){ id }, 2);
	memcpy(m + 2, &(unsigned short){ command }, 2);
	memcpy(m + 4, &size, 4);
	memcpy(m + 8, &flags, 4);
	memcpy(m + 16, p, n);
	return send_all(fd, m, size, kinds);
}

/* Each message in turn until the input or the connection ends. */
static void records_send(int fd, const unsigned char *data, size_t size)
{
	unsigned int id = 0;

	while (size >= 5) {
		size_t n = data[3] | data[4] << 8;

		n = n < size - 5 ? n : size - 5;
		if (!(data[0] & 0x80 ? send_all(fd, data + 5, n, data[2]) :
		      send_message(fd, ++id, data[0], data[1], data + 5, n, data[2])))
			return;
		drain(fd);
		data += 5 + n;
		size -= 5 + n;
	}
}

static const unsigned char version[] = "\0\0\0\0{\"capabilities\":{\"write_multiple\":true}}";

/* The device must still answer: it is not waiting for anything, nor out of step. */
static void alive(void)
{
	unsigned char reply[16];
	struct pollfd pf = { .events = POLLIN };

	pf.fd = client_connect();
	send_message(pf.fd, 1, 1, 0, version, sizeof(version), 0);
	if (poll(&pf, 1, STALL_MS) <= 0)
		bad("does not answer");
	if (recv(pf.fd, reply, 16, MSG_WAITALL) != 16)
		bad("sends the next client away");
	if (reply[8] != 1)
		bad("answers VERSION with an error");
	close(pf.fd);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	int fd;

	if (!device)
		device_start();
	if (!size)
		return 0;
	fd = client_connect();
	if (data[0] & 1)
		send_message(fd, 0, 1, 0, version, sizeof(version), 0);
	records_send(fd, data + 1, size - 1);
	close(fd);
	alive();
	return 0;
}
