// SPDX-License-Identifier: MIT
/* Faults that the client's IOMMU is to see: when they are asked for, and what is asked. */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "fixture.h"
#include "tap.h"

#define PAGE	4096ull

static struct fixture f;
static struct client c;
static struct incoming in;

/* The next message is a request for @iova; its id. */
static int request(uint16_t command, uint64_t iova)
{
	if (client_receive(&c, &in) != 1 || (in.flags & C_REPLY) || in.command != command ||
	    get64(in.payload) != iova || get64(in.payload + 8) != 1)
		return -1;
	return in.size == 16 + 16 + (command == C_DMA_WRITE) ? in.id : -1;
}

static void reply(int id, uint16_t command, uint32_t error)
{
	uint8_t m[33] = { 0 };

	put16(m, id);
	put16(m + 2, command);
	put32(m + 4, error ? 16 : 33);
	put32(m + 8, C_REPLY | (error ? C_ERROR : 0));
	put32(m + 12, error);
	client_send_raw(&c, m, error ? 16 : 33, NULL, 0);
}

static bool silent(void)
{
	bool none;

	c.timeout_ms = 100;
	none = client_receive(&c, &in) == 0;
	c.timeout_ms = 5000;
	return none;
}

static void kind_test(int mem)
{
	int id;

	npu_vdev_dma_report(f.dev, 0xdead000, NPU_ACCESS_WRITE);
	id = request(C_DMA_READ, 0xdead000);
	tap_ok(id >= 0, "an address that is not mapped is read");
	reply(id, C_DMA_READ, ENODEV);
	client_map(&c, mem, 0, 0x10000, PAGE, 1);
	npu_vdev_dma_report(f.dev, 0x10007, NPU_ACCESS_WRITE);
	id = request(C_DMA_WRITE, 0x10007);
	tap_ok(id >= 0 && in.payload[16] == 5,
	       "one that is read-only is written, with what is there");
	reply(id, C_DMA_WRITE, EACCES);
	npu_vdev_dma_report(f.dev, 0x10007, NPU_ACCESS_READ);
	tap_ok(silent(), "an access that is allowed by now is not asked for");
	client_map(&c, -1, 0, 0x20000, PAGE, 3);
	npu_vdev_dma_report(f.dev, 0x20000, NPU_ACCESS_READ);
	tap_ok(silent(), "nor one of a peer's registers");
	tap_ok(fixture_number(&f, "counters", "iommu-reports") == 2 &&
	       fixture_number(&f, "counters", "iommu-reports-done") == 2, "both are counted");
}

static void many_test(void)
{
	unsigned int i, got = 0;
	uint32_t v;

	for (i = 0; i < 100; i++)
		npu_vdev_dma_report(f.dev, 0xdead000 + i * PAGE, NPU_ACCESS_READ);
	for (i = 0; i < 8; i++)
		got += request(C_DMA_READ, 0xdead000 + i * PAGE) >= 0;
	tap_ok(got == 8 && silent(), "eight at a time");
	tap_ok(fixture_number(&f, "counters", "iommu-reports-lost") == 92, "the rest is left out");
	tap_ok(!client_read(&c, 7, 0, &v, 4) && v == 0x4e501234,
	       "the client is answered though it does not answer");
	npu_vdev_dma_report(f.dev, 0x5000, NPU_ACCESS_READ);
	tap_ok(silent(), "no more until it does");
	reply(in.id, C_DMA_READ, 0);
	reply(9999, C_DMA_READ, ENODEV);
	client_close(&c);
	client_open(&c, f.socket);
	npu_vdev_dma_report(f.dev, 0x5000, NPU_ACCESS_READ);
	tap_ok(request(C_DMA_READ, 0x5000) >= 0, "the next client gets its own");
}

/* While an answer is due nothing is asked: QEMU can not take it then. */
static void order_test(int mem)
{
	struct npu_vdev_pin pin;
	struct npu_vdev_run run;
	uint8_t p[24] = { 0 };
	bool held;

	client_enable(&c);
	client_map(&c, mem, 0, 0x30000, PAGE, 3);
	held = npu_vdev_dma_acquire(f.dev, 0x30000, PAGE, 1, &pin, &run, 1, NULL) == 1;
	put32(p, 24);
	put64(p + 8, 0x30000);
	put64(p + 16, PAGE);
	client_send(&c, C_DMA_UNMAP, 0, p, 24, NULL, 0);
	usleep(20000);
	npu_vdev_dma_report(f.dev, 0x7000, NPU_ACCESS_READ);
	tap_ok(held && silent(), "nothing is asked while an unmapping waits");
	npu_vdev_dma_release(f.dev, &pin);
	tap_ok(client_receive(&c, &in) == 1 && (in.flags & C_REPLY) && in.command == C_DMA_UNMAP,
	       "first comes the answer");
	tap_ok(request(C_DMA_READ, 0x7000) >= 0, "then the request");
}

int main(void)
{
	int mem = memory_make(PAGE, 5);

	if (!tap_ok(fixture_thread(&f, NULL) && client_open(&c, f.socket), "a device and a client"))
		return tap_done();
	client_enable(&c);
	kind_test(mem);
	many_test();
	order_test(mem);
	client_close(&c);
	fixture_end(&f);
	return tap_done();
}
