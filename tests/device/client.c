// SPDX-License-Identifier: MIT
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "client.h"

void put16(uint8_t *p, uint16_t v)
{
	memcpy(p, &v, 2);
}

void put32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, 4);
}

void put64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, 8);
}

uint16_t get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, 2);
	return v;
}

uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

bool client_connect(struct client *c, const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int i;

	*c = (struct client){ .fd = -1, .timeout_ms = 5000 };
	strncpy(a.sun_path, path, sizeof(a.sun_path) - 1);
	for (i = 0; i < 200; i++) {
		c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (!connect(c->fd, (struct sockaddr *)&a, sizeof(a)))
			return true;
		close(c->fd);
		c->fd = -1;
		usleep(10000);
	}
	return false;
}

void client_close(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

bool client_send_raw(struct client *c, const void *buf, size_t n, const int *fds, int nfds)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(64 * sizeof(int))];
	} control;
	struct iovec iov = { (void *)buf, n };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t r;

	memset(&control, 0, sizeof(control));
	if (nfds) {
		m.msg_control = control.buf;
		m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fds, nfds * sizeof(int));
	}
	while (iov.iov_len) {
		r = sendmsg(c->fd, &m, MSG_NOSIGNAL);
		if (r < 0)
			return false;
		iov.iov_base = (char *)iov.iov_base + r;
		iov.iov_len -= r;
		m.msg_control = NULL;
		m.msg_controllen = 0;
	}
	return true;
}

bool client_send(struct client *c, uint16_t command, uint32_t flags, const void *payload, size_t n,
		 const int *fds, int nfds)
{
	static uint8_t buf[C_MAX + 16];

	if (n > C_MAX)
		return false;
	put16(buf, ++c->id);
	put16(buf + 2, command);
	put32(buf + 4, 16 + n);
	put32(buf + 8, flags);
	put32(buf + 12, 0);
	if (n)
		memcpy(buf + 16, payload, n);
	return client_send_raw(c, buf, 16 + n, fds, nfds);
}

/* Something to read. In slices: a virtual machine that was paused finds a whole timeout gone. */
static bool wait_readable(struct client *c)
{
	struct pollfd pf = { c->fd, POLLIN, 0 };
	int ms, ret = 0;

	for (ms = 0; ms < c->timeout_ms && !ret; ms += 100)
		ret = poll(&pf, 1, 100);
	return ret > 0;
}

/* @n bytes. 1, 0 when time is up, -1 when the other end is gone. */
static int receive_all(struct client *c, uint8_t *p, size_t n)
{
	ssize_t r;

	while (n) {
		if (!wait_readable(c))
			return 0;
		r = recv(c->fd, p, n, 0);
		if (r <= 0)
			return -1;
		p += r;
		n -= r;
	}
	return 1;
}

int client_receive(struct client *c, struct incoming *in)
{
	uint8_t h[16];
	int ret = receive_all(c, h, 16);

	if (ret <= 0)
		return ret;
	in->id = get16(h);
	in->command = get16(h + 2);
	in->size = get32(h + 4);
	in->flags = get32(h + 8);
	in->error = get32(h + 12);
	if (in->size < 16 || in->size - 16 > C_MAX)
		return -1;
	return receive_all(c, in->payload, in->size - 16);
}

int client_call(struct client *c, uint16_t command, const void *payload, size_t n, const int *fds,
		int nfds, struct incoming *in)
{
	static struct incoming scratch;

	if (!in)
		in = &scratch;
	if (!client_send(c, command, 0, payload, n, fds, nfds) || client_receive(c, in) != 1)
		return CLIENT_GONE;
	if (in->id != c->id || in->command != command || !(in->flags & C_REPLY))
		return CLIENT_GONE;
	if (in->flags & C_ERROR)
		return in->error && in->size == 16 ? (int)in->error : CLIENT_GONE;
	return 0;
}

int client_version(struct client *c, uint16_t major, uint16_t minor, const char *json,
		   struct incoming *in)
{
	uint8_t p[2048];
	size_t n = json ? strlen(json) + 1 : 0;

	put16(p, major);
	put16(p + 2, minor);
	if (json)
		memcpy(p + 4, json, n);
	return client_call(c, C_VERSION, p, 4 + n, NULL, 0, in);
}

bool client_open(struct client *c, const char *path)
{
	return client_connect(c, path) &&
	       !client_version(c, 0, 0,
			       "{\"capabilities\":{\"max_msg_fds\":8,\"write_multiple\":true}}",
			       NULL);
}

static size_t rw_put(uint8_t *p, uint32_t region, uint64_t offset, uint32_t n)
{
	put64(p, offset);
	put32(p + 8, region);
	put32(p + 12, n);
	return 16;
}

int client_read(struct client *c, uint32_t region, uint64_t offset, void *buf, uint32_t n)
{
	static struct incoming in;
	uint8_t p[16];
	int ret = client_call(c, C_REGION_READ, p, rw_put(p, region, offset, n), NULL, 0, &in);

	if (ret)
		return ret;
	if (in.size != 16 + 16 + n || get64(in.payload) != offset || get32(in.payload + 12) != n)
		return CLIENT_GONE;
	memcpy(buf, in.payload + 16, n);
	return 0;
}

static size_t write_put(uint8_t *p, uint32_t region, uint64_t offset, const void *buf, uint32_t n)
{
	rw_put(p, region, offset, n);
	memcpy(p + 16, buf, n);
	return 16 + n;
}

int client_write(struct client *c, uint32_t region, uint64_t offset, const void *buf, uint32_t n)
{
	uint8_t p[C_MAX];

	return client_call(c, C_REGION_WRITE, p, write_put(p, region, offset, buf, n), NULL, 0,
			   NULL);
}

bool client_post(struct client *c, uint32_t region, uint64_t offset, const void *buf, uint32_t n)
{
	uint8_t p[C_MAX];

	return client_send(c, C_REGION_WRITE, C_NO_REPLY, p, write_put(p, region, offset, buf, n),
			   NULL, 0);
}

uint32_t client_read32(struct client *c, uint32_t region, uint64_t offset)
{
	uint32_t v = 0xbad0bad0;

	client_read(c, region, offset, &v, 4);
	return v;
}

int client_write32(struct client *c, uint32_t region, uint64_t offset, uint32_t v)
{
	return client_write(c, region, offset, &v, 4);
}

int client_map(struct client *c, int fd, uint64_t offset, uint64_t iova, uint64_t size,
	       uint32_t flags)
{
	uint8_t p[32];

	put32(p, 32);
	put32(p + 4, flags);
	put64(p + 8, offset);
	put64(p + 16, iova);
	put64(p + 24, size);
	return client_call(c, C_DMA_MAP, p, 32, &fd, fd >= 0, NULL);
}

int client_unmap(struct client *c, uint64_t iova, uint64_t size, uint32_t flags)
{
	static struct incoming in;
	uint8_t p[24];
	int ret;

	put32(p, 24);
	put32(p + 4, flags);
	put64(p + 8, iova);
	put64(p + 16, size);
	ret = client_call(c, C_DMA_UNMAP, p, 24, NULL, 0, &in);
	if (!ret && (in.size != 16 + 24 || memcmp(in.payload, p, 24)))
		return CLIENT_GONE;
	return ret;
}

int client_set_irqs(struct client *c, uint32_t flags, uint32_t index, uint32_t start,
		    uint32_t count, const int *fds, int nfds)
{
	uint8_t p[20];

	put32(p, 20);
	put32(p + 4, flags);
	put32(p + 8, index);
	put32(p + 12, start);
	put32(p + 16, count);
	return client_call(c, C_SET_IRQS, p, 20, fds, nfds, NULL);
}
