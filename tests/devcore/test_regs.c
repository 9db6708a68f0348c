// SPDX-License-Identifier: MIT
/*
 * BAR0 and the management processor's side of it: values and access of registers, resets of every
 * kind, firmware loaded and run, its doorbells, interrupts, timer and watchdog, and the ways in
 * which it fails. Programs are put together instruction by instruction.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "../tap.h"
#include "program.h"
#include "small.h"

#define PAGE	4096u

/* ---- registers ---- */

static void test_values(struct guest *g)
{
	static const struct {
		npu_u32 offset, value;
	} fixed[] = {
		{ 0x00, 0x3155504e }, { 0x04, 0x00010000 }, { 0x08, 0x00010004 },
		{ 0x10, 64u << 16 | 64 }, { 0x14, 131072 }, { 0x18, 1 }, { 0x1c, 64 },
		{ 0x20, 256 }, { 0x24, 48 | 52 << 8 }, { 0x28, 0xffe }, { 0x2c, 262144 },
		{ 0x30, 4096 + 131072 }, { 0x34, 1000000000 },
	};
	unsigned int i, bad = 0;
	npu_u64 a, b;

	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		bad += reg_read(g, fixed[i].offset) != fixed[i].value;
		reg_write(g, fixed[i].offset, ~fixed[i].value);
		bad += reg_read(g, fixed[i].offset) != fixed[i].value;
	}
	tap_ok(!bad, "identification and capabilities, which can not be written");
	tap_ok(reg_read(g, 0x38) & 1u << 0x01 && reg_read(g, 0x38 + 4) & 1u << 0 &&
		       !reg_read(g, 0x38 + 4 * 7),
	       "bits of opcodes: 0x%x 0x%x 0x%x", reg_read(g, 0x38), reg_read(g, 0x3c),
	       reg_read(g, 0x40));
	a = reg_read64(g, 0x68);
	b = reg_read64(g, 0x68);
	tap_ok(b > a && b - a < 1000000000ull, "the timestamp moves by %llu ns",
	       (unsigned long long)(b - a));
	for (i = 0x98; i < 0x10000; i += 4) {
		if (i == 0x98 || (i >= 0xc0 && i < 0xd4) || (i >= 0x2000 && i < 0x2800) ||
		    (i >= 0x3000 && i < 0x3400)) {
			reg_write(g, i, 0x5a5a0000 + i);
			bad += reg_read(g, i) != 0x5a5a0000 + i;
		}
		if ((i >= 0xd8 && i < 0x2000) || (i >= 0x2800 && i < 0x3000) || i >= 0x6000) {
			reg_write(g, i, ~0u);
			bad += reg_read(g, i) != 0;
		}
	}
	tap_ok(!bad, "what is stored is read back, the rest reads as zero");
}

static void test_resets(struct guest *g)
{
	static const struct {
		const char *what;
		enum npu_vdev_reset kind;
	} kinds[] = { { "function level reset", NPU_VDEV_RESET_FLR },
		      { "bus reset", NPU_VDEV_RESET_BUS },
		      { "power", NPU_VDEV_RESET_POWER },
		      { "disconnect", NPU_VDEV_RESET_DISCONNECT },
		      { "connect", NPU_VDEV_RESET_CONNECT } };
	npu_u32 epoch = reg_read(g, 0x64), before;
	unsigned int i;
	bool ok;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		reg_write(g, 0x98, 77);
		reg_write64(g, 0xb0, g->events);
		npu_vdev_core.reset(g->core, kinds[i].kind);
		ok = wait_ready(g);
		epoch++;
		tap_ok(ok && reg_read(g, 0x64) == epoch && !reg_read(g, 0x98) &&
			       !reg_read(g, 0xb0) && reg_read(g, 0x60) == 1,
		       "%s: epoch %u", kinds[i].what, epoch);
	}
	reg_write64(g, 0xb0, g->events);
	before = guest_event(g, 8);
	i = atomic_load(&g->dev->irqs);
	npu_vdev_core.reset(g->core, NPU_VDEV_RESET_RESTART);
	tap_ok(wait_ready(g) && guest_event(g, 8) == before + 1 && guest_event(g, 12) == 4 &&
		       guest_event(g, 16) == epoch + 1 && atomic_load(&g->dev->irqs) == i + 1 &&
		       reg_read(g, 0x60) == 5,
	       "a restart by itself: told in the events, status FATAL until a reset");
	reg_write(g, 0x9c, 1);
	tap_ok(!(reg_read(g, 0x60) & 2), "no start of the processor meanwhile");
	reg_write(g, 0x70, 1);
	tap_ok(wait_ready(g) && reg_read(g, 0x60) == 1, "then the device is well");
}

/* READY means that what is written now stays, however close resets come behind each other. */
static void test_ready(struct guest *g)
{
	unsigned int i, lost = 0, n = tap_cases(2000);

	for (i = 0; i < n; i++) {
		reg_write(g, 0x70, 1);
		if (i % 3)
			usleep(i % 50);
		npu_vdev_core.reset(g->core, NPU_VDEV_RESET_FLR);
		lost += !wait_ready(g);
		reg_write(g, 0x98, i | 1);
		if (i % 2)
			usleep(20);
		lost += reg_read(g, 0x98) != (i | 1);
	}
	tap_ok(!lost, "%u resets, each in another one: %u writes behind READY were lost", n, lost);
}

/* ---- firmware ---- */

/* Says READY and sleeps; each doorbell is noted in kernel memory and told to the driver. */
static void put_doorbell_program(void)
{
	unsigned int loop;

	mcu_li(T0, 0x40000000);
	mcu_li(A2, GUEST_KERNEL);
	mcu_li(T1, 2);
	mcu_op(rv_sw(0x1c, T1, T0));
	mcu_li(T1, 7);
	mcu_op(rv_sw(0x14, T1, T0));
	mcu_li(T1, 0x880);
	mcu_op(rv_csr(1, 0x304, T1, ZERO));
	loop = mcu.num;
	mcu_op(0x10500073);				/* wfi */
	mcu_op(rv_lw(0x40, T0, A1));		/* doorbells of queues 0 to 31 */
	mcu_op(rv_sw(0x40, A1, T0));
	mcu_op(rv_lw(0x3c, T0, A3));
	mcu_op(rv_sw(0x3c, A3, T0));
	mcu_op(rv_sw(0, A1, A2));
	mcu_op(rv_sw(8, A3, A2));
	mcu_op(rv_lw(4, A2, A4));
	mcu_op(rv_addi(1, A4, A4));
	mcu_op(rv_sw(4, A4, A2));
	mcu_op(rv_sw(0x18, ZERO, T0));
	mcu_op(rv_jal(-(int)(mcu.num - loop) * 4, ZERO));
}

static void test_doorbells(struct guest *g)
{
	unsigned char *k;
	npu_u64 insns;
	npu_u32 irqs, seen;
	unsigned int i;
	bool ok;

	mcu_restart(g);
	put_doorbell_program();
	k = kernel_at(g, kernel_alloc(g, 4096));
	ok = mcu_run(g) && mcu_wait_boot(g, 2);
	tap_ok(ok && reg_read(g, 0x60) == 3, "firmware is loaded, runs, and says that it is ready");
	usleep(20000);
	insns = reg_read64(g, 0x5000);
	usleep(100000);
	tap_ok(insns && reg_read64(g, 0x5000) == insns,
	       "asleep it executes nothing: %llu instructions", (unsigned long long)insns);
	seen = guest_event(g, 0);
	reg_write(g, 0x1000, 1);
	guest_wait_event(g, 0, seen);
	seen = guest_event(g, 0);
	irqs = atomic_load(&g->dev->irqs);
	reg_write(g, 0x1000 + 4 * 17, 1);
	ok = guest_wait_event(g, 0, seen);
	tap_ok(ok && get32(k, 0) == 1u << 17 && get32(k, 4) == 2 &&
		       atomic_load(&g->dev->irqs) == irqs + 1,
	       "a doorbell wakes it, it writes kernel memory and tells the driver");
	reg_write(g, 0x800, 1);
	ok = guest_wait_event(g, 0, seen + 1);
	tap_ok(ok && get32(k, 0) == 0 && get32(k, 8) == 1, "so does the control doorbell");
	reg_write(g, 0x1000 + 4 * 100, 1);
	usleep(5000);
	tap_ok(guest_event(g, 0) == seen + 2, "a queue that there is not has none");
	for (i = 0; i < 500; i++)
		reg_write(g, 0x1000, 1);
	usleep(20000);
	tap_ok(guest_event(g, 0) > seen + 2, "500 doorbells: %u times awake",
	       guest_event(g, 0) - seen - 2);
	tap_ok(mcu_load(g, 0, 16) == 3, "nothing is loaded while it runs");
	reg_write(g, 0x9c, 0);
	usleep(5000);
	seen = guest_event(g, 0);
	reg_write(g, 0x1000, 1);
	usleep(5000);
	tap_ok(reg_read(g, 0x60) == 1 && guest_event(g, 0) == seen, "halted it does nothing");
	tap_ok(mcu_load(g, 0x40000 - 16, 16) == 2 && mcu_load(g, 0x40000 - 12, 16) == 3 &&
		       mcu_load(g, 0xfffffff0, 32) == 3 && mcu_load(g, 0x10, 0xfffffff0) == 3,
	       "what does not fit into its memory is refused");
	reg_write64(g, 0x80, 0x1000);
	reg_write(g, 0x88, 0);
	reg_write(g, 0x8c, 64);
	reg_write(g, 0x90, 1);
	for (i = 0; i < 1000 && reg_read(g, 0x90) == 1; i++)
		usleep(50);
	tap_ok(reg_read(g, 0x90) == 3, "so is a copy from where there is no memory");
}

static void test_timer(struct guest *g)
{
	npu_u64 start;
	bool ok;

	mcu_restart(g);
	mcu_li(T0, 0x40000000);
	mcu_li(T1, 0x80);
	mcu_op(rv_csr(1, 0x304, T1, ZERO));
	mcu_op(rv_lw(0, T0, A0));			/* time */
	mcu_op(rv_lw(4, T0, A1));
	mcu_li(T1, 50000000);
	mcu_op(rv_r(0, T1, A0, 0, A2));
	mcu_op(rv_r(0, A0, A2, 3, A3));		/* sltu: carry */
	mcu_op(rv_r(0, A3, A1, 0, A1));
	mcu_op(rv_sw(8, A2, T0));
	mcu_op(rv_sw(12, A1, T0));
	mcu_op(0x10500073);
	mcu_li(T1, 3);
	mcu_op(rv_sw(0x1c, T1, T0));
	mcu_op(rv_jal(0, ZERO));
	start = npu_core_now();
	ok = mcu_run(g) && mcu_wait_boot(g, 3);
	start = npu_core_now() - start;
	tap_ok(ok && start >= 50000000, "a timer of 50 ms ends its sleep after %llu us",
	       (unsigned long long)start / 1000);
}

/* Firmware that never sleeps but asks the engine again and again: the job is run all the same. */
static void test_polling(struct guest *g)
{
	static struct small t;
	unsigned int loop;
	bool ok;

	mcu_restart(g);
	small_init(g, &t, 1, 5);
	small_spoil(g, &t);
	mcu_li(T0, 0x40000100);
	mcu_li(T1, t.queue);
	mcu_op(rv_sw(NPU_ENGINE_QUEUE, T1, T0));
	mcu_li(T1, t.job.desc);
	mcu_op(rv_sw(NPU_ENGINE_JOB, T1, T0));
	mcu_li(T1, t.job.result);
	mcu_op(rv_sw(NPU_ENGINE_RESULT, T1, T0));
	mcu_li(T1, ~0u);
	mcu_op(rv_sw(NPU_ENGINE_BUDGET, T1, T0));
	mcu_li(T1, NPU_ENGINE_CMD_START);
	mcu_op(rv_sw(NPU_ENGINE_CMD, T1, T0));
	mcu_li(A0, NPU_ENGINE_DONE);
	loop = mcu.num;
	mcu_op(rv_lw(NPU_ENGINE_STATE, T0, A1));
	mcu_op(rv_b(-(int)(mcu.num - loop) * 4, A0, A1, 1));	/* bne */
	mcu_li(T0, 0x40000000);
	mcu_li(T1, 2);
	mcu_op(rv_sw(0x1c, T1, T0));
	mcu_op(rv_jal(0, ZERO));
	ok = mcu_run(g) && mcu_wait_boot(g, 2);
	tap_ok(ok && small_right(g, &t), "firmware that polls has its job done");
}

static void expect_fatal(struct guest *g, const char *what, npu_u32 kind, npu_u32 info)
{
	npu_u32 count = guest_event(g, 8);
	bool ok = mcu_run(g) && guest_wait_event(g, 8, count);

	usleep(1000);
	tap_ok(ok && guest_event(g, 12) == kind && guest_event(g, 20) == info &&
		       reg_read(g, 0x60) == 5 && (kind == 5 || reg_read(g, 0xa0) == 18),
	       "%s: kind %u, information 0x%x, status %u", what, guest_event(g, 12),
	       guest_event(g, 20), reg_read(g, 0x60));
}

static void test_fatal(struct guest *g)
{
	npu_u32 count;
	bool ok;

	mcu_restart(g);
	mcu_op(0);
	expect_fatal(g, "an illegal instruction without a handler", 1, 2);
	mcu_restart(g);
	mcu_li(T0, 0x80000000 + GUEST_KERNEL_SIZE);
	mcu_op(rv_lw(0, T0, A0));
	expect_fatal(g, "a load where kernel memory ends", 1, 5);
	mcu_restart(g);
	mcu_li(T0, 0x40000ffc);
	mcu_op(rv_sw(0, ZERO, T0));
	expect_fatal(g, "a store to a register that there is not", 1, 7);
	mcu_restart(g);
	mcu_li(T0, 0x80000000);
	mcu_op(rv_jalr(0, T0, ZERO));
	expect_fatal(g, "code outside of its own memory", 1, 1);
	mcu_restart(g);
	mcu_li(T0, 0x40000000);
	mcu_li(T1, 0x4711);
	mcu_op(rv_sw(0x34, T1, T0));
	mcu_op(rv_jal(0, ZERO));
	expect_fatal(g, "it gives up", 5, 0x4711);
	mcu_restart(g);
	mcu_li(T0, 0x40000000);
	mcu_li(T1, 20000);
	mcu_op(rv_sw(0x30, T1, T0));
	mcu_op(rv_jal(0, ZERO));
	expect_fatal(g, "the watchdog of 20 ms", 2, 0x100 + 5 * 4);

	mcu_restart(g);
	put_doorbell_program();
	atomic_store(&g->dev->armed[NPU_VDEV_FAULT_BOOT_FAIL], 1);
	mcu_run(g);
	usleep(20000);
	tap_ok(!reg_read(g, 0xa0) && reg_read(g, 0x60) == 1, "a boot that fails: nothing happens");
	reg_write(g, 0x9c, 1);
	ok = mcu_wait_boot(g, 2);
	count = guest_event(g, 8);
	atomic_store(&g->dev->armed[NPU_VDEV_FAULT_FW_CRASH], 1);
	reg_write(g, 0x1000, 1);
	ok = ok && guest_wait_event(g, 8, count);
	tap_ok(ok && guest_event(g, 12) == 1 && reg_read(g, 0xa0) == 18,
	       "it crashes at the next doorbell");
	reg_write(g, 0x9c, 1);
	tap_ok(!(reg_read(g, 0x60) & 2), "and does not start again before a reset");
}

/* ---- a bad message ring ---- */

#define CONFIG	(GUEST_KERNEL + 0x100)
#define INDEX	(GUEST_KERNEL + 0x200)
#define RING	(GUEST_KERNEL + 0x1000)
#define ENTRIES	8u
#define MESSAGE	112u

/*
 * Posts a message for each doorbell: job ids 1, 2, ... of queue 5. It keeps the tail to itself, as
 * the real one does.
 */
static void put_ring_program(void)
{
	unsigned int loop;

	mcu_li(T0, 0x40000000);
	mcu_li(T1, 0x880);
	mcu_op(rv_csr(1, 0x304, T1, ZERO));
	mcu_li(T1, 7);
	mcu_op(rv_sw(0x14, T1, T0));
	mcu_li(A5, 0);				/* tail */
	mcu_li(T1, 2);
	mcu_op(rv_sw(0x1c, T1, T0));
	loop = mcu.num;
	mcu_op(0x10500073);
	mcu_op(rv_lw(0x40, T0, A1));
	mcu_op(rv_sw(0x40, A1, T0));
	mcu_op(rv_i(ENTRIES - 1, A5, 7, A0, 0x13));	/* andi */
	mcu_li(T1, MESSAGE);
	mcu_op(rv_r(1, T1, A0, 0, A0));		/* mul */
	mcu_li(T1, RING);
	mcu_op(rv_r(0, T1, A0, 0, A0));
	mcu_op(rv_addi(2, ZERO, T1));
	mcu_op(rv_sw(0, T1, A0));			/* type: job */
	mcu_op(rv_addi(5, ZERO, T1));
	mcu_op(rv_sw(8, T1, A0));			/* queue */
	mcu_op(rv_addi(1, A5, A5));
	mcu_op(rv_sw(16, A5, A0));			/* job id */
	mcu_op(rv_sw(20, ZERO, A0));
	mcu_li(T1, INDEX);
	mcu_op(rv_sw(0, A5, T1));
	mcu_op(rv_sw(0x18, ZERO, T0));
	mcu_op(rv_jal(-(int)(mcu.num - loop) * 4, ZERO));
}

static bool post(struct guest *g)
{
	npu_u32 seen = guest_event(g, 0);

	reg_write(g, 0x1000 + 4 * 5, 1);
	return guest_wait_event(g, 0, seen);
}

static void test_ring(struct guest *g)
{
	unsigned char *cfg, *index, *ring;
	unsigned int i, good = 0;

	mcu_restart(g);
	put_ring_program();
	cfg = kernel_at(g, CONFIG);
	index = kernel_at(g, INDEX);
	ring = kernel_at(g, RING);
	put32(cfg, 0, 0x4346504e);
	put32(cfg, 28, RING);
	put32(cfg, 32, ENTRIES);
	put32(cfg, 36, INDEX);
	reg_write(g, 0x94, CONFIG);
	mcu_run(g);
	mcu_wait_boot(g, 2);
	tap_ok(post(g) && get32(index, 0) == 1 && get32(ring, 8) == 5 && get64(ring, 16) == 1,
	       "a message");
	atomic_store(&g->dev->armed[NPU_VDEV_FAULT_BAD_ID], 1);
	tap_ok(post(g) && get32(index, 0) == 2 && get64(ring + MESSAGE, 16) > 1000,
	       "one with the id of a job that was never there");
	atomic_store(&g->dev->armed[NPU_VDEV_FAULT_BAD_INDEX], 1);
	tap_ok(post(g) && get32(index, 0) == 3 && get32(ring + 2 * MESSAGE, 8) >= 256 &&
		       get64(ring + 2 * MESSAGE, 16) == 3,
	       "one with a queue that there is not");
	atomic_store(&g->dev->armed[NPU_VDEV_FAULT_BAD_LENGTH], 1);
	tap_ok(post(g) && get32(index, 0) > 4 + ENTRIES, "a tail that runs ahead");
	atomic_store(&g->dev->armed[NPU_VDEV_FAULT_DUPLICATE], 1);
	tap_ok(post(g) && get32(index, 0) == 6 && get64(ring + 4 * MESSAGE, 16) == 5 &&
		       get64(ring + 5 * MESSAGE, 16) == 5,
	       "one that comes twice");
	atomic_store(&g->dev->armed[NPU_VDEV_FAULT_BAD_TAIL], 1);
	tap_ok(post(g) && get32(index, 0) == 8 && get64(ring + 6 * MESSAGE, 16) == 6 &&
		       get32(ring + 7 * MESSAGE, 12) == NPU_FW_BAD_INDEX &&
		       get64(ring + 7 * MESSAGE, 16) == 7,
	       "one behind which the ring is said to be damaged");
	for (i = 8; i < 30; i++)
		good += post(g) && get32(index, 0) == i + 1 &&
			get64(ring + i % ENTRIES * MESSAGE, 16) == i - 1;
	tap_ok(good == 22, "and the firmware goes on behind it: %u of 22 right", good);
}

int main(void)
{
	struct npu_vdev_config config = NPU_VDEV_CONFIG_DEFAULT;
	struct guest g;

	config.threads = 1;
	config.sram_size = 131072;
	guest_init(&g, &config);
	test_values(&g);
	test_resets(&g);
	test_ready(&g);
	test_doorbells(&g);
	test_timer(&g);
	test_polling(&g);
	test_fatal(&g);
	test_ring(&g);
	guest_fini(&g);
	return tap_done();
}
