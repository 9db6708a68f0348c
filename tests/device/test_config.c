// SPDX-License-Identifier: MIT
/* The config space as a guest finds it: identity, BARs, capabilities, what writes change. */
#include <string.h>
#include "fixture.h"
#include "tap.h"

#define CONFIG	7

static struct client c;
static uint8_t space[4096];

static uint32_t config(uint32_t offset, uint32_t n)
{
	uint32_t v = 0;

	client_read(&c, CONFIG, offset, &v, n);
	return v;
}

static void config_write(uint32_t offset, uint32_t v, uint32_t n)
{
	client_write(&c, CONFIG, offset, &v, n);
}

static void identity_test(void)
{
	tap_ok(!client_read(&c, CONFIG, 0, space, 4096), "all of it is read at once");
	tap_ok(get32(space) == 0x4e501234, "vendor 1234, device 4e50");
	tap_ok(get32(space + 8) == 0x12000001, "class 1200, a processing accelerator, revision 1");
	tap_ok(space[0x0e] == 0 && space[0x3d] == 0, "an endpoint of one function, without INTx");
	tap_ok(get16(space + 6) & 0x10, "there are capabilities");
	tap_ok(get16(space + 0x2c) == 0x1234, "subsystem vendor");
}

/* The list, as a driver walks it. */
static unsigned int capability(unsigned int id)
{
	unsigned int at = space[0x34], n;

	for (n = 0; at && n < 48; n++, at = space[at + 1])
		if (space[at] == id)
			return at;
	return 0;
}

static void capability_test(void)
{
	unsigned int at = space[0x34], n = 0, pm, msi, exp, aligned = 1;

	for (; at && n < 48; n++, at = space[at + 1])
		aligned &= at >= 0x40 && !(at & 3);
	tap_ok(n == 3 && aligned, "three capabilities in a list that ends");
	pm = capability(0x01);
	msi = capability(0x05);
	exp = capability(0x10);
	tap_ok(pm && msi && exp, "power management, MSI, PCI Express");
	tap_ok(!capability(0x11), "no MSI-X");
	tap_ok((get16(space + msi + 2) & 0x0e) == 0 && (get16(space + msi + 2) & 0x180) == 0x180,
	       "one vector, 64-bit address, maskable");
	tap_ok((get16(space + exp + 2) & 0xf) == 2 && (get16(space + exp + 2) >> 4 & 0xf) == 0,
	       "version 2, endpoint");
	tap_ok(get32(space + exp + 4) & 1u << 28, "function level reset");
	tap_ok((get32(space + exp + 0xc) & 0x3ff) == 0x11 &&
		       (get16(space + exp + 0x12) & 0x3ff) == 0x11,
	       "a link of one lane");
	tap_ok((get16(space + pm + 2) & 7) == 3 && !(get16(space + pm + 2) & 0x600),
	       "no D1, no D2");
	tap_ok(get32(space + 0x100) == 0, "no extended capabilities");
}

static void bar_test(void)
{
	unsigned int i;

	tap_ok((get32(space + 0x10) & 0xf) == 4, "BAR0: memory, 64 bits, not prefetchable");
	config_write(0x10, 0xffffffff, 4);
	config_write(0x14, 0xffffffff, 4);
	tap_ok(config(0x10, 4) == 0xffff0004 && config(0x14, 4) == 0xffffffff, "of 64 KiB");
	config_write(0x10, 0xfe5a1234, 4);
	config_write(0x14, 0x00000012, 4);
	tap_ok(config(0x10, 4) == 0xfe5a0004 && config(0x14, 4) == 0x12, "an address is kept");
	for (i = 0x18; i <= 0x30; i += i == 0x24 ? 0xc : 4) {
		config_write(i, 0xffffffff, 4);
		if (config(i, 4))
			break;
	}
	tap_ok(i > 0x30, "no other BAR and no ROM");
}

/* Everything is written with ones and zeros, in pieces of every size: only what may changes. */
static void mask_test(void)
{
	uint8_t ones[4096], a[4096], b[4096];
	unsigned int i, changed = 0, sizes[] = { 1, 2, 4, 8 }, s, same = 1;

	client_read(&c, CONFIG, 0, a, 4096);
	memset(ones, 0xff, sizeof(ones));
	for (s = 0; s < 4; s++) {
		for (i = 0; i < 4096; i += sizes[s]) {
			/* The byte with FLR would reset. */
			memset(ones + i, 0xff, sizes[s]);
			if (i <= 0x79 && i + sizes[s] > 0x79)
				ones[0x79] = 0x7f;
			client_write(&c, CONFIG, i, ones + i, sizes[s]);
		}
		client_read(&c, CONFIG, 0, s ? b : space, 4096);
		same &= !s || !memcmp(b, space, 4096);
	}
	tap_ok(same, "writes of 1, 2, 4 and 8 bytes do the same");
	for (i = 0; i < 4096; i++)
		changed += (space[i] ^ a[i]) & ~(i < 0xac ? 0xff : 0) ? 1 : 0;
	tap_ok(!changed, "nothing behind the capabilities can be written");
	tap_ok(get32(space) == 0x4e501234 && get32(space + 8) == 0x12000001 &&
		       get16(space + 6) == 0x10 && space[0x34] == a[0x34],
	       "nor the identity, the status and the list");
	tap_ok(get16(space + 4) == 0x0546, "command: memory, master, parity, SERR, INTx disable");
	config_write(0x44, 0, 2);
}

static unsigned int resets(enum npu_vdev_reset kind)
{
	unsigned int i, n = 0;

	for (i = 0; i < probe.num_resets; i++)
		n += probe.reset[i] == kind;
	return n;
}

static void flr_test(void)
{
	unsigned int n;

	config_write(4, 6, 2);
	config_write(0x3c, 11, 1);
	n = resets(NPU_VDEV_RESET_FLR);
	tap_ok(probe.bus_master, "bus mastering is on");
	config_write(0x78, 0xa810, 2);
	tap_ok(resets(NPU_VDEV_RESET_FLR) == n + 1, "the core sees a function level reset");
	tap_ok(config(4, 2) == 0 && config(0x10, 4) == 4 && config(0x3c, 1) == 0 &&
	       config(0x78, 2) == 0x2810, "config space is as at power on");
	tap_ok(!probe.bus_master, "bus mastering is off");
	tap_ok(client_read32(&c, 0, 0x100) == 0xffffffff, "registers do not answer");
	config_write(0x79, 0x80, 1);
	tap_ok(resets(NPU_VDEV_RESET_FLR) == n + 2, "a write of the one byte does it, too");
}

static void power_test(void)
{
	unsigned int n = resets(NPU_VDEV_RESET_POWER);

	config_write(4, 6, 2);
	client_write32(&c, 0, 0x100, 77);
	config_write(0x44, 3, 2);
	tap_ok(config(0x44, 2) == 3 && !probe.bus_master, "D3hot, no bus mastering");
	tap_ok(client_read32(&c, 0, 0x100) == 0xffffffff, "registers do not answer");
	config_write(0x44, 1, 2);
	tap_ok(config(0x44, 2) == 3, "there is no D1");
	tap_ok(resets(NPU_VDEV_RESET_POWER) == n, "no reset yet");
	config_write(0x44, 0, 2);
	tap_ok(resets(NPU_VDEV_RESET_POWER) == n + 1 && config(0x44, 2) == 0,
	       "back in D0 by a reset");
	tap_ok(config(4, 2) == 0, "which config space has seen");
}

static void reset_test(void)
{
	unsigned int n = resets(NPU_VDEV_RESET_BUS);

	config_write(4, 6, 2);
	tap_ok(!client_call(&c, C_RESET, NULL, 0, NULL, 0, NULL) &&
	       resets(NPU_VDEV_RESET_BUS) == n + 1, "a reset of the bus");
	tap_ok(config(4, 2) == 0 && !probe.bus_master, "resets config space");
}

int main(void)
{
	struct fixture f;

	if (!tap_ok(fixture_thread(&f, NULL), "a device in a thread"))
		return tap_done();
	tap_ok(client_open(&c, f.socket), "a client");
	tap_ok(resets(NPU_VDEV_RESET_CONNECT) == 1, "powers it on");
	identity_test();
	capability_test();
	bar_test();
	mask_test();
	flr_test();
	power_test();
	reset_test();
	client_close(&c);
	tap_ok(client_open(&c, f.socket) && resets(NPU_VDEV_RESET_DISCONNECT) == 1 &&
	       resets(NPU_VDEV_RESET_CONNECT) == 2, "the next client has it powered off and on");
	client_close(&c);
	fixture_end(&f);
	return tap_done();
}
