// SPDX-License-Identifier: MIT
/* vfio-user: what a client is told, how accesses travel, and what a bad message leads to. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "tap.h"

static struct incoming in;

static void version_test(struct fixture *f)
{
	struct client c;
	const char *text = (const char *)in.payload + 4;

	tap_ok(client_connect(&c, f->socket), "a client connects");
	tap_ok(client_read(&c, 7, 0, in.payload, 4) == EPROTO,
	       "a request before VERSION is refused");
	tap_ok(client_version(&c, 1, 0, NULL, NULL) == EINVAL, "major 1 is refused");
	tap_ok(client_version(&c, 0, 0, "{\"capabilities\":5}", NULL) == EINVAL,
	       "capabilities that are no object are refused");
	tap_ok(client_version(&c, 0, 0, "{\"capabilities\":", NULL) == EINVAL,
	       "half a JSON text is refused");
	tap_ok(!client_version(
		       &c, 0, 7,
		       "{\"capabilities\":{\"max_msg_fds\":8,\"max_data_xfer_size\":"
		       "1048576,\"pgsizes\":4096,\"max_dma_maps\":65535,\"write_multiple\":true}}",
		       &in),
	       "version 0.7 is agreed on");
	tap_ok(get16(in.payload) == 0 && get16(in.payload + 2) == 0, "as 0.0");
	tap_ok(in.payload[in.size - 17] == 0 && strlen(text) == in.size - 16 - 5,
	       "with a text that ends");
	tap_ok(strstr(text, "\"max_msg_fds\":16") && strstr(text, "\"max_dma_maps\":65535") &&
	       strstr(text, "\"max_data_xfer_size\":65536") && strstr(text, "\"pgsizes\":4096") &&
	       strstr(text, "\"write_multiple\":true"), "%s", text);
	tap_ok(client_version(&c, 0, 0, NULL, NULL) == EINVAL, "a second VERSION is refused");
	client_close(&c);
	tap_ok(client_connect(&c, f->socket) &&
		       !client_version(&c, 0, 0, "{\"capabilities\":{}}", &in),
	       "a client without capabilities");
	tap_ok(!strcmp(text, "{\"capabilities\":{}}"), "is offered none");
	client_close(&c);
	tap_ok(client_connect(&c, f->socket) && !client_version(&c, 0, 0, NULL, &in) &&
		       in.size == 20,
	       "a client without a text gets none");
	client_close(&c);
}

static void info_test(struct fixture *f)
{
	static const struct { uint32_t index, size; } regions[] = {
		{ 0, 65536 }, { 1, 0 }, { 2, 0 }, { 3, 0 }, { 4, 0 }, { 5, 0 }, { 6, 0 },
		{ 7, 4096 }, { 8, 0 } };
	struct client c;
	uint8_t p[32] = { 0 };
	unsigned int i, good = 0;

	tap_ok(client_open(&c, f->socket), "connected");
	put32(p, 16);
	tap_ok(!client_call(&c, C_GET_INFO, p, 16, NULL, 0, &in) && in.size == 32 &&
		       get32(in.payload) == 16 && get32(in.payload + 4) == 3 &&
		       get32(in.payload + 8) == 9 && get32(in.payload + 12) == 5,
	       "a PCI device that can be reset: 9 regions, 5 interrupts");
	put32(p, 8);
	tap_ok(client_call(&c, C_GET_INFO, p, 16, NULL, 0, &in) == EINVAL, "argsz 8 is refused");
	for (i = 0; i < 9; i++) {
		put32(p, 32);
		put32(p + 8, i);
		good += !client_call(&c, C_GET_REGION_INFO, p, 32, NULL, 0, &in) && in.size == 48 &&
			get32(in.payload) == 32 && get32(in.payload + 8) == i &&
			get32(in.payload + 4) == (regions[i].size ? 3 : 0) &&
			get32(in.payload + 12) == 0 && get64(in.payload + 16) == regions[i].size;
	}
	tap_ok(good == 9, "BAR0 of 64 KiB and 4 KiB of config space, nothing to be mapped");
	put32(p + 8, 9);
	tap_ok(client_call(&c, C_GET_REGION_INFO, p, 32, NULL, 0, &in) == EINVAL,
	       "region 9 is refused");
	for (i = good = 0; i < 5; i++) {
		put32(p, 16);
		put32(p + 8, i);
		good += !client_call(&c, C_GET_IRQ_INFO, p, 16, NULL, 0, &in) && in.size == 32 &&
			get32(in.payload + 12) == (i == 1 || i == 3);
	}
	tap_ok(good == 5, "one MSI vector, no MSI-X, no INTx");
	put32(p + 8, 5);
	tap_ok(client_call(&c, C_GET_IRQ_INFO, p, 16, NULL, 0, &in) == EINVAL,
	       "index 5 is refused");
	tap_ok(client_call(&c, C_GET_REGION_IO_FDS, p, 16, NULL, 0, &in) == ENOTSUP &&
		       client_call(&c, C_DIRTY, p, 16, NULL, 0, &in) == ENOTSUP &&
		       client_call(&c, C_DMA_READ, p, 16, NULL, 0, &in) == ENOTSUP &&
		       client_call(&c, 0, p, 16, NULL, 0, &in) == ENOTSUP &&
		       client_call(&c, 16, p, 16, NULL, 0, &in) == ENOTSUP &&
		       client_call(&c, 65535, p, 16, NULL, 0, &in) == ENOTSUP,
	       "other commands are not supported");
	client_close(&c);
}

/* Writes of every width, what the core saw of them. */
static void register_test(struct fixture *f)
{
	struct client c;
	uint64_t v = 0x1122334455667788;
	uint8_t buf[64];
	unsigned int n;

	client_open(&c, f->socket);
	tap_ok(client_read32(&c, 0, 0x100) == 0xffffffff,
	       "all ones before memory space is enabled");
	client_write32(&c, 0, 0x100, 1);
	tap_ok(!probe.num_writes, "and writes are lost");
	client_enable(&c);
	tap_ok(!client_write32(&c, 0, 0x100, 0xcafe) && client_read32(&c, 0, 0x100) == 0xcafe,
	       "a register is written and read");
	n = probe.num_writes;
	tap_ok(!client_write(&c, 0, 0x200, &v, 8) && probe.num_writes == n + 2 &&
	       probe.write[n].offset == 0x200 && probe.write[n].value == 0x55667788 &&
	       probe.write[n + 1].offset == 0x204 && probe.write[n + 1].value == 0x11223344,
	       "64 bits are two registers, the low half first");
	n = probe.num_writes;
	tap_ok(!client_write(&c, 0, 0x300, &v, 1) && !client_write(&c, 0, 0x300, &v, 2) &&
	       !client_write(&c, 0, 0x302, &v, 4) && probe.num_writes == n,
	       "narrow and unaligned writes do nothing");
	tap_ok(!client_read(&c, 0, 0x101, buf, 2) && buf[0] == 0xff && buf[1] == 0xff,
	       "such reads have all ones");
	tap_ok(!client_write32(&c, 0, 0xfffc, 5) && client_write32(&c, 0, 0x10000, 5) == EINVAL &&
		       client_write32(&c, 0, UINT64_MAX, 5) == EINVAL &&
		       client_write(&c, 0, 0xfffc, &v, 8) == EINVAL &&
		       client_write(&c, 0, 0, &v, 0) == EINVAL,
	       "the last register, and beyond");
	tap_ok(client_read(&c, 1, 0, buf, 4) == EINVAL && client_read(&c, 8, 0, buf, 4) == EINVAL &&
		       client_read(&c, 9, 0, buf, 4) == EINVAL &&
		       client_read(&c, UINT32_MAX, 0, buf, 4) == EINVAL,
	       "regions that are not there");
	client_close(&c);
}

/* Posted writes, single and many in a message, in the order they were sent. */
static void posted_test(struct fixture *f)
{
	struct client c;
	uint8_t p[8 + 24 * 50];
	unsigned int n, i, bad = 0;
	uint32_t v;

	client_open(&c, f->socket);
	client_enable(&c);
	n = probe.num_writes;
	for (i = 0; i < 500; i++) {
		v = i;
		if (i % 10)
			client_post(&c, 0, 0x1000 + 4 * (i % 64), &v, 4);
		else
			client_write(&c, 0, 0x1000 + 4 * (i % 64), &v, 4);
	}
	client_read32(&c, 0, 0);
	for (i = 0; i < 500; i++)
		bad += probe.write[n + i].value != i ||
		       probe.write[n + i].offset != 0x1000 + 4 * (i % 64);
	tap_ok(probe.num_writes == n + 500 && !bad,
	       "500 writes, nine of ten posted, arrive in order");

	put64(p, 50);
	for (i = 0; i < 50; i++) {
		put64(p + 8 + 24 * i, 0x1000);
		put32(p + 16 + 24 * i, 0);
		put32(p + 20 + 24 * i, 4);
		put64(p + 24 + 24 * i, 1000 + i);
	}
	n = probe.num_writes;
	client_send(&c, C_WRITE_MULTI, C_NO_REPLY, p, sizeof(p), NULL, 0);
	tap_ok(!client_call(&c, C_WRITE_MULTI, p, sizeof(p), NULL, 0, &in) &&
		       get64(in.payload) == 50,
	       "50 writes in a message, posted and not");
	for (i = bad = 0; i < 100; i++)
		bad += probe.write[n + i].value != 1000 + i % 50;
	tap_ok(probe.num_writes == n + 100 && !bad, "arrive in order");
	put64(p, 51);
	tap_ok(client_call(&c, C_WRITE_MULTI, p, sizeof(p), NULL, 0, &in) == EINVAL &&
	       client_call(&c, C_WRITE_MULTI, p, sizeof(p) - 1, NULL, 0, &in) == EINVAL,
	       "a count that does not fit is refused");
	put64(p, UINT64_MAX / 24 + 2);
	tap_ok(client_call(&c, C_WRITE_MULTI, p, sizeof(p), NULL, 0, &in) == EINVAL,
	       "one that wraps, too");
	put64(p, 50);
	put32(p + 20 + 24 * 3, 9);
	n = probe.num_writes;
	tap_ok(client_call(&c, C_WRITE_MULTI, p, sizeof(p), NULL, 0, &in) == EINVAL &&
	       probe.num_writes == n + 49, "a write of 9 bytes in it fails alone");
	client_close(&c);
}

/* Each request with every length up to a bit more than it has: an answer always comes. */
static void truncated_test(struct fixture *f)
{
	static const uint16_t commands[] = { C_VERSION, C_DMA_MAP, C_DMA_UNMAP, C_GET_INFO,
					     C_GET_REGION_INFO, C_GET_REGION_IO_FDS, C_GET_IRQ_INFO,
					     C_SET_IRQS, C_REGION_READ, C_REGION_WRITE, C_RESET,
					     C_WRITE_MULTI };
	uint8_t p[48];
	unsigned int i, fill, n, answers = 0, asked = 0;
	struct client c;

	client_open(&c, f->socket);
	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		for (fill = 0; fill < 3; fill++)
			for (n = 0; n <= sizeof(p); n++) {
				memset(p, fill == 0 ? 0 : fill == 1 ? 0xff : 32, sizeof(p));
				asked++;
				answers += client_call(&c, commands[i], p, n, NULL, 0, &in) !=
					   CLIENT_GONE;
			}
	tap_ok(answers == asked, "%u requests of every length: %u answers", asked, answers);
	tap_ok(client_read32(&c, 7, 0) == 0x4e501234, "the device is still there");
	client_close(&c);
}

/* Sizes in the header that can not be, and a message in single bytes. */
static void framing_test(struct fixture *f)
{
	static const uint32_t sizes[] = { 0, 1, 15, 65569, 0x7fffffff, 0x80000000, 0xffffffff };
	uint8_t h[32] = { 0 };
	unsigned int i, closed = 0;
	struct client c;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		client_open(&c, f->socket);
		put16(h + 2, C_GET_INFO);
		put32(h + 4, sizes[i]);
		client_send_raw(&c, h, 16, NULL, 0);
		closed += client_receive(&c, &in) == -1;
		client_close(&c);
	}
	tap_ok(closed == i, "a size that can not be ends the connection, %u of %u", closed, i);

	client_open(&c, f->socket);
	put32(h + 4, 32);
	put32(h + 16, 16);
	for (i = 0; i < 32; i++) {
		client_send_raw(&c, h + i, 1, NULL, 0);
		usleep(300);
	}
	tap_ok(client_receive(&c, &in) == 1 && in.size == 32 && in.command == C_GET_INFO,
	       "a message byte by byte is answered");
	put32(h + 8, 2);
	client_send_raw(&c, h, 32, NULL, 0);
	tap_ok(client_receive(&c, &in) == 1 && in.error == EINVAL, "a type of 2 is refused");
	put32(h + 8, 1);
	client_send_raw(&c, h, 32, NULL, 0);
	tap_ok(client_read32(&c, 7, 0) == 0x4e501234, "a reply nobody waits for is passed over");
	client_close(&c);
}

/* Two messages in one go; half a message, then the end. */
static void stream_test(struct fixture *f)
{
	uint8_t m[3 * 32] = { 0 };
	struct client c;
	unsigned int i, got = 0;

	for (i = 0; i < 3; i++) {
		put16(m + 32 * i, 100 + i);
		put16(m + 32 * i + 2, C_GET_INFO);
		put32(m + 32 * i + 4, 32);
		put32(m + 32 * i + 16, 16);
	}
	client_open(&c, f->socket);
	client_send_raw(&c, m, sizeof(m), NULL, 0);
	for (i = 0; i < 3; i++)
		got += client_receive(&c, &in) == 1 && in.id == 100 + i;
	tap_ok(got == 3, "three requests at once have three answers");
	client_send_raw(&c, m, 20, NULL, 0);
	client_close(&c);
	tap_ok(client_open(&c, f->socket) && client_read32(&c, 7, 0) == 0x4e501234,
	       "a client that ends in a message makes room for the next");
	client_close(&c);
}

/* A client that does not take its answers does not hold up the control socket or the next one. */
static void lazy_test(struct fixture *f)
{
	uint8_t p[16];
	struct client c;
	struct pollfd pf;
	unsigned int sent = 0;

	client_open(&c, f->socket);
	put64(p, 0);
	put32(p + 8, 7);
	put32(p + 12, 4096);
	pf = (struct pollfd){ c.fd, POLLOUT, 0 };
	while (sent < 100000 && poll(&pf, 1, 100) == 1 && pf.revents & POLLOUT)
		sent += client_send(&c, C_REGION_READ, 0, p, 16, NULL, 0);
	tap_ok(sent < 100000, "a client that takes no answers is not read from for ever (%u)",
	       sent);
	tap_ok(fixture_control(f, "status") != NULL, "the control socket answers meanwhile");
	client_close(&c);
	tap_ok(client_open(&c, f->socket), "and the next client is served");
	client_close(&c);
}

static void two_test(struct fixture *f)
{
	struct client a, b;
	struct incoming *i = &in;

	client_open(&a, f->socket);
	tap_ok(client_connect(&b, f->socket) && client_version(&b, 0, 0, NULL, i) == CLIENT_GONE,
	       "a second client is sent away");
	tap_ok(client_read32(&a, 7, 0) == 0x4e501234, "the first one goes on");
	client_close(&b);
	client_close(&a);
	tap_ok(client_open(&b, f->socket), "later there is room");
	client_close(&b);
}

int main(void)
{
	struct fixture f;

	if (!tap_ok(fixture_thread(&f, NULL), "a device in a thread"))
		return tap_done();
	version_test(&f);
	info_test(&f);
	register_test(&f);
	posted_test(&f);
	truncated_test(&f);
	framing_test(&f);
	stream_test(&f);
	lazy_test(&f);
	two_test(&f);
	fixture_end(&f);
	return tap_done();
}
