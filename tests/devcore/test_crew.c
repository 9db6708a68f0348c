// SPDX-License-Identifier: MIT
/*
 * What the threads of the crew must not miss: firmware that gives up while the device is reset, and
 * a command that firmware has given when it gave up, with a debugger there. What comes in between
 * is done from inside of the log's line.
 */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>
#include "../tap.h"
#include "program.h"
#include "rv32_gdb.h"
#include "small.h"

static npu_u32 port;
static int debugger;

static void put_fatal(void)
{
	mcu_li(T0, 0x40000000);
	mcu_li(T1, 0x4711);
	mcu_op(rv_sw(0x34, T1, T0));
	mcu_op(rv_jal(0, ZERO));
}

/* Says that it is ready. */
static void put_ready(void)
{
	mcu_li(T0, 0x40000000);
	mcu_li(T1, 2);
	mcu_op(rv_sw(0x1c, T1, T0));
	mcu_op(rv_jal(0, ZERO));
}

static atomic_bool was_reset;

/* By the crew: the device's thread, which is the test's, must not look before it is over. */
static void reset_now(struct npu_vdev *dev, void *ctx)
{
	npu_vdev_core.reset(ctx, NPU_VDEV_RESET_FLR);
	atomic_store(&was_reset, true);
}

static void test_fatal_in_reset(struct guest *g)
{
	npu_u32 epoch, status;
	bool ok;

	mcu_restart(g);
	put_fatal();
	epoch = reg_read(g, 0x64);
	g->dev->on_log_ctx = g->core;
	atomic_store(&g->dev->on_log, reset_now);
	ok = mcu_run(g);
	while (!atomic_load(&was_reset))
		usleep(100);
	ok = ok && reg_read(g, 0x64) != epoch && wait_ready(g);
	status = reg_read(g, 0x60);
	tap_ok(ok && status == 1, "firmware gives up in a reset: status %u behind it", status);
	mcu_begin(g);
	put_ready();
	tap_ok(mcu_run(g) && mcu_wait_boot(g, 2), "and the next one starts");
}

/* Until the debugger wants the hart. */
static void debugger_come(struct npu_vdev *dev, void *ctx)
{
	const struct sockaddr_in addr = { .sin_family = AF_INET,
					  .sin_port = htons((uint16_t)port),
					  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct npu_vdev_core *core = ctx;

	debugger = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(debugger, (const struct sockaddr *)&addr, sizeof(addr)))
		return;
	while (!rv32_gdb_holds(core->mcu.gdb))
		usleep(100);
}

static void put_start(const struct small *t)
{
	const npu_u32 reg[][2] = {
		{ NPU_ENGINE_QUEUE, t->queue },
		{ NPU_ENGINE_JOB, t->job.desc },
		{ NPU_ENGINE_RESULT, t->job.result },
		{ NPU_ENGINE_BUDGET, ~0u },
		{ NPU_ENGINE_CMD, NPU_ENGINE_CMD_START },
	};
	unsigned int i;

	mcu_li(T0, 0x40000100);
	for (i = 0; i < sizeof(reg) / sizeof(reg[0]); i++) {
		mcu_li(T1, reg[i][1]);
		mcu_op(rv_sw((int)reg[i][0], T1, T0));
	}
}

static void test_command_and_debugger(struct guest *g)
{
	static struct small t;
	npu_u32 seen;
	unsigned int i;
	bool ok;

	mcu_restart(g);
	seen = guest_event(g, 8);
	small_init(g, &t, 1, 5);
	small_spoil(g, &t);
	put_start(&t);
	put_fatal();
	g->dev->on_log_ctx = g->core;
	atomic_store(&g->dev->on_log, debugger_come);
	ok = mcu_run(g) && guest_wait_event(g, 8, seen);
	for (i = 0; i < 50000 && unit_reg(g, 0, NPU_ENGINE_STATE) != DONE; i++)
		usleep(100);
	tap_ok(ok && rv32_gdb_holds(g->core->mcu.gdb) && small_right(g, &t),
	       "a job that was started is run, while a debugger holds the halted hart");
	close(debugger);
}

int main(void)
{
	struct npu_vdev_config config = NPU_VDEV_CONFIG_DEFAULT;
	struct guest g;

	port = 20000 + (npu_u32)getpid() % 20000;
	config.threads = 1;
	config.fw_gdb_port = port;
	guest_init(&g, &config);
	test_fatal_in_reset(&g);
	test_command_and_debugger(&g);
	guest_fini(&g);
	return tap_done();
}
