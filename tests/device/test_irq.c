// SPDX-License-Identifier: MIT
/* The interrupt: eventfd, masks, what is pending, the gap, the fault that loses one. */
#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include "fixture.h"
#include "tap.h"

#define NONE	0x01u
#define BOOL	0x02u
#define EVENTFD	0x04u
#define MASK	0x08u
#define UNMASK	0x10u
#define TRIGGER	0x20u

static struct fixture f;
static struct client c;
static int event;

/* How many interrupts came since the last time. */
static unsigned int irqs(void)
{
	uint64_t n = 0;

	return read(event, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

static uint32_t config(uint32_t offset)
{
	return client_read32(&c, 7, offset);
}

static void setup_test(void)
{
	npu_vdev_irq_raise(f.dev);
	tap_ok(config(0x64) == 1, "without an eventfd it is pending");
	tap_ok(!client_set_irqs(&c, EVENTFD | TRIGGER, 1, 0, 1, NULL, 0) && config(0x64) == 1,
	       "no file for the vector, as QEMU begins");
	tap_ok(!client_set_irqs(&c, EVENTFD | TRIGGER, 1, 0, 1, &event, 1) && irqs() == 1,
	       "with one it comes");
	npu_vdev_irq_raise(f.dev);
	tap_ok(irqs() == 1 && config(0x64) == 0, "the next one at once");
	tap_ok(!client_set_irqs(&c, NONE | TRIGGER, 1, 0, 1, NULL, 0) && irqs() == 1,
	       "the client triggers one");
	tap_ok(!client_set_irqs(&c, EVENTFD | TRIGGER, 3, 0, 1, &event, 1),
	       "a file for errors is accepted");
}

static void mask_test(void)
{
	client_write32(&c, 7, 0x60, 1);
	npu_vdev_irq_raise(f.dev);
	npu_vdev_irq_raise(f.dev);
	tap_ok(irqs() == 0 && config(0x64) == 1, "masked by the guest: pending");
	client_write32(&c, 7, 0x60, 0);
	tap_ok(irqs() == 1 && config(0x64) == 0, "unmasked: one comes");
	client_set_irqs(&c, NONE | MASK, 1, 0, 1, NULL, 0);
	npu_vdev_irq_raise(f.dev);
	tap_ok(irqs() == 0, "masked by the client");
	client_set_irqs(&c, NONE | UNMASK, 1, 0, 1, NULL, 0);
	tap_ok(irqs() == 1, "unmasked");
}

static int set_bool(uint8_t value)
{
	uint8_t p[21] = { 0 };

	put32(p, 21);
	put32(p + 4, BOOL | TRIGGER);
	put32(p + 8, 1);
	put32(p + 16, 1);
	p[20] = value;
	return client_call(&c, C_SET_IRQS, p, 21, NULL, 0, NULL);
}

static void bad_test(void)
{
	int two[2] = { event, event };

	tap_ok(!set_bool(0) && irqs() == 0 && !set_bool(1) && irqs() == 1, "by a byte per vector");
	tap_ok(client_set_irqs(&c, 0, 1, 0, 1, NULL, 0) == EINVAL &&
	       client_set_irqs(&c, NONE, 1, 0, 1, NULL, 0) == EINVAL &&
	       client_set_irqs(&c, NONE | BOOL | TRIGGER, 1, 0, 1, NULL, 0) == EINVAL &&
	       client_set_irqs(&c, NONE | MASK | UNMASK, 1, 0, 1, NULL, 0) == EINVAL &&
	       client_set_irqs(&c, NONE | TRIGGER | 0x40, 1, 0, 1, NULL, 0) == EINVAL, "flags");
	tap_ok(client_set_irqs(&c, NONE | TRIGGER, 5, 0, 1, NULL, 0) == EINVAL &&
	       client_set_irqs(&c, NONE | TRIGGER, 2, 0, 1, NULL, 0) == EINVAL &&
	       client_set_irqs(&c, NONE | TRIGGER, 1, 1, 1, NULL, 0) == EINVAL &&
	       client_set_irqs(&c, NONE | TRIGGER, 1, 0, 2, NULL, 0) == EINVAL &&
	       client_set_irqs(&c, NONE | TRIGGER, 1, UINT32_MAX, 2, NULL, 0) == EINVAL &&
	       client_set_irqs(&c, NONE | MASK, 1, 0, 0, NULL, 0) == EINVAL, "indices and counts");
	tap_ok(client_set_irqs(&c, EVENTFD | TRIGGER, 1, 0, 1, two, 2) == EINVAL &&
	       client_set_irqs(&c, NONE | TRIGGER, 1, 0, 1, two, 1) == EINVAL &&
	       client_set_irqs(&c, EVENTFD | MASK, 1, 0, 1, two, 1) == EINVAL, "files");
	npu_vdev_irq_raise(f.dev);
	tap_ok(irqs() == 1, "and all is as before");
}

static void fault_test(void)
{
	fixture_control(&f, "arm lost-interrupt 2");
	npu_vdev_irq_raise(f.dev);
	npu_vdev_irq_raise(f.dev);
	tap_ok(irqs() == 0, "two are lost");
	npu_vdev_irq_raise(f.dev);
	tap_ok(irqs() == 1, "the third comes");
	fixture_control(&f, "arm surprise-removal");
	npu_vdev_irq_raise(f.dev);
	tap_ok(irqs() == 0 && config(0) == 0xffffffff && client_read32(&c, 0, 0) == 0xffffffff,
	       "a removed device is silent, its registers are all ones");
	client_write32(&c, 7, 4, 0);
	fixture_control(&f, "disarm surprise-removal");
	tap_ok(config(0) == 0x4e501234 && (config(4) & 6) == 6, "it comes back as it was");
}

static void end_test(void)
{
	tap_ok(!client_set_irqs(&c, NONE | TRIGGER, 1, 0, 0, NULL, 0), "the index is switched off");
	npu_vdev_irq_raise(f.dev);
	tap_ok(irqs() == 0 && config(0x64) == 1, "it is pending again");
	client_close(&c);
	client_open(&c, f.socket);
	client_set_irqs(&c, EVENTFD | TRIGGER, 1, 0, 1, &event, 1);
	tap_ok(irqs() == 0, "the next client does not get it");
	client_close(&c);
	fixture_end(&f);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void gap_test(void)
{
	struct npu_vdev_config config = NPU_VDEV_CONFIG_DEFAULT;
	unsigned int n = 0, i;
	double t;

	config.irq_gap_us = 50000;
	fixture_thread(&f, &config);
	client_open(&c, f.socket);
	client_set_irqs(&c, EVENTFD | TRIGGER, 1, 0, 1, &event, 1);
	t = now();
	for (i = 0; i < 100; i++) {
		npu_vdev_irq_raise(f.dev);
		usleep(2000);
		n += irqs();
	}
	usleep(100000);
	n += irqs();
	t = now() - t;
	tap_ok(n >= 2 && n <= t / 0.05 + 1,
	       "with a gap of 50 ms %u interrupts of 100 come in %.2f s", n, t);
	client_close(&c);
	fixture_end(&f);
}

int main(void)
{
	event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (!tap_ok(fixture_thread(&f, NULL) && client_open(&c, f.socket), "a device and a client"))
		return tap_done();
	client_enable(&c);
	setup_test();
	mask_test();
	bad_test();
	fault_test();
	end_test();
	gap_test();
	return tap_done();
}
