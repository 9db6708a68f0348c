// SPDX-License-Identifier: MIT
/*
 * The image that the driver loads, on the hart: boot, jobs, log, crashes. Whatever the hart does is
 * also done by the same sources built for the host, message by message; and the image with reversed
 * priorities, which guest tests use, does reverse them.
 */
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "tools/vnpu/device/rv32.h"

#define IMAGE	"npu_fw.bin"
#define MUTANT	"mutant-reverse_priority.bin"

enum { LOW = NPU_FW_PRIORITY_LOW, NORMAL, HIGH, REALTIME };

static struct mock m, other;

static bool begin_image(const char *image)
{
	mock_fini(&m);
	return mock_init(&m, image) && mock_boot(&m) == NPU_FW_BOOT_READY;
}

static void test_boot(void)
{
	char log[4096];
	struct npu_fw_msg msg;

	if (!tap_ok(begin_image(IMAGE), "boots"))
		return;
	tap_diag("%llu instructions until it waits", (unsigned long long)m.instructions);
	tap_ok(!strcmp(mock_info(&m)->version, NPU_VERSION) &&
		       mock_info(&m)->abi == NPU_FW_ABI_MAX &&
		       mock_info(&m)->boot_status == NPU_FW_BOOT_READY,
	       "says what it is");
	mock_log(&m, log, sizeof(log));
	tap_ok(!strcmp(log, "[1.000000] info: NPU firmware " NPU_VERSION
		       ", ABI 3, 1 engines, 48 queues\n"), "and so does the log");
	mock_queue_create(&m, 3, NORMAL);
	m.instructions = 0;
	mock_submit(&m, 3, 500);
	mock_run(&m, 2000);
	tap_ok(mock_message(&m, &msg) && msg.queue == 3 && msg.job_id == 1 &&
		       msg.status == NPU_FW_OK && msg.busy_ns == 500000,
	       "does a job");
	expect_trace(&m, "start 3, release 3", "by the right commands");
}

static npu_u64 instructions_of_one_job(void)
{
	npu_u64 before = rv32_instructions(m.core);

	mock_submit(&m, 3, 500);
	mock_run(&m, 700);
	return rv32_instructions(m.core) - before;
}

static void tell_cost(void)
{
	tap_diag("%llu instructions for a job, doorbell to message and clearing",
		 (unsigned long long)instructions_of_one_job());
}

/* The build id is what the file's header says. */
static void test_build_id(void)
{
	const char *build = getenv("NPU_BUILD");
	struct npu_fw_image header;
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/firmware/" IMAGE, build ? build : "build");
	f = fopen(path, "rb");
	tap_ok(f && fread(&header, sizeof(header), 1, f) == 1 &&
		       !memcmp(header.build_id, mock_info(&m)->build_id, 20) &&
		       header.build_id[0] | header.build_id[1],
	       "the build id it tells is the one of its file");
	if (f)
		fclose(f);
}

/* Trap with its registers in the log, and the status that says so. */
static void test_crash(void)
{
	char log[8192];
	unsigned int i;

	if (!tap_ok(begin_image(IMAGE), "boots"))
		return;
	for (i = 1; i < 32; i++) {
		if (i != 2)
			rv32_set_reg(m.core, i, 0x11110000 + i);
	}
	/* A call through a null pointer. */
	rv32_set_reg(m.core, RV32_REG_PC, 0);
	mock_ring(&m, 1);
	mock_run(&m, 1000);
	mock_log(&m, log, sizeof(log));
	tap_ok(strstr(log, "error: trap: mcause 2 mepc 00000000 mtval 00000000 mstatus 1800\n") &&
		       strstr(log, "error: x05: 11110005 11110006 11110007 11110008\n") &&
		       strstr(log, "error: x29: 1111001d 1111001e 1111001f 00000000\n"),
	       "a trap is in the log");
	tap_ok(m.boot_status == NPU_FW_BOOT_CRASHED && m.fatal == 2 &&
		       mock_info(&m)->boot_status == NPU_FW_BOOT_CRASHED,
	       "and in the boot status, and fatal");

	if (!tap_ok(begin_image(IMAGE), "boots"))
		return;
	rv32_set_reg(m.core, 2, 0xdeadbeef);
	rv32_set_reg(m.core, RV32_REG_PC, 0);
	mock_ring(&m, 1);
	mock_run(&m, 1000);
	tap_ok(m.fatal == 2 && m.boot_status == NPU_FW_BOOT_CRASHED,
	       "with a bad stack pointer, too");
}

/* Rings where nothing is mapped: errors, no crash. */
static void test_unmapped(void)
{
	struct npu_fw_ctl ctl;

	if (!tap_ok(begin_image(IMAGE), "boots"))
		return;
	ctl = mock_queue_message(&m, 1, NORMAL);
	ctl.index = 0xf0000000;
	tap_ok(mock_ctl(&m, &ctl, NULL) == NPU_FW_OK, "a queue whose index is not mapped");
	mock_ring(&m, 1);
	mock_run(&m, 1000);
	ctl = mock_queue_message(&m, 2, NORMAL);
	mock_job_write(&m, 2, 100, MOCK_DONE);
	ctl.ring = 0xf0000000;
	tap_ok(mock_ctl(&m, &ctl, NULL) == NPU_FW_OK, "a queue whose ring is not mapped");
	mock_ring(&m, 2);
	mock_run(&m, 1000);
	expect_job(&m, 2, 1, NPU_FW_ENGINE_ERROR, "its job ends with an error");
	tap_ok(m.boot_status == NPU_FW_BOOT_READY && !m.fatal &&
	       mock_ctl_simple(&m, NPU_FW_CTL_PING, 0, 0) == NPU_FW_OK, "and the firmware lives");

	mock_fini(&m);
	mock_init(&m, IMAGE);
	m.config = 0xfffffff0;
	tap_ok(mock_boot(&m) == NPU_FW_BOOT_BAD_CONFIG,
	       "a configuration at the end of the address space");
	mock_fini(&m);
	mock_init(&m, IMAGE);
	m.config = 0xf0000000;
	tap_ok(mock_boot(&m) == NPU_FW_BOOT_BAD_CONFIG && !m.fatal,
	       "a configuration that is not mapped");
}

static unsigned int random_below(unsigned int n)
{
	return (unsigned int)rand() / 7 % n;
}

static void random_action(struct mock *x, unsigned int kind, unsigned int queue, unsigned int value)
{
	struct npu_fw_ctl ctl = { .cmd = NPU_FW_CTL_QUEUE_ABORT, .queue = queue };

	switch (kind) {
	case 0:
		ctl.job_id = x->job_id[queue];
		mock_ctl_post(x, &ctl);
		break;
	case 1:
		mock_job_write(x, queue, value, value % 3)->flags = value % 16 ? 0 : 0x80;
		mock_ring(x, queue);
		break;
	case 2:
		mock_engine_reset(x, value % 2);
		break;
	case 3:
		/* Of the last ones: at the head, behind it, over, or not there yet. */
		ctl.cmd = NPU_FW_CTL_JOB_CANCEL;
		ctl.job_id = x->job_id[queue] + 1 - value % 4;
		mock_ctl_post(x, &ctl);
		break;
	case 4:
		mock_job_write(x, queue, value, MOCK_DONE)->cancel = value % 16 ? 1 : 2;
		mock_ring(x, queue);
		break;
	default:
		mock_submit(x, queue, value);
	}
}

static bool ring_has_room(struct mock *x, unsigned int queue)
{
	struct npu_fw_index *index = mock_at(x, x->index[queue]);

	return index->tail - index->head < MOCK_ENTRIES;
}

static bool same_messages(unsigned int *count)
{
	struct npu_fw_msg a, b;
	bool got;

	for (;; (*count)++) {
		got = mock_message(&m, &a);
		if (mock_message(&other, &b) != got)
			return false;
		if (!got)
			return true;
		if (memcmp(&a, &b, sizeof(a)))
			return false;
	}
}

/* The same orders to both, at the same times. */
static void test_both(void)
{
	unsigned int i, kind, queue, value, us, count = 0, rounds = tap_cases(3000);
	bool same = true;

	mock_fini(&m);
	tap_ok(mock_init(&m, IMAGE) && mock_init(&other, NULL), "image and host's build");
	m.num_engines = other.num_engines = 2;
	mock_boot(&m);
	mock_boot(&other);
	for (i = 1; i <= 6; i++) {
		mock_queue_create(&m, i, i % 4);
		mock_queue_create(&other, i, i % 4);
	}
	srand(1);
	for (i = 0; i < rounds && same; i++) {
		kind = random_below(20);
		queue = 1 + random_below(6);
		value = 10 + random_below(3000);
		us = random_below(1500);
		if (!kind || kind == 3 || ring_has_room(&m, queue)) {
			random_action(&m, kind, queue, value);
			random_action(&other, kind, queue, value);
		}
		mock_run(&m, us);
		mock_run(&other, us);
		same = same_messages(&count) && !strcmp(m.trace, other.trace);
		m.trace[0] = other.trace[0] = '\0';
	}
	tap_ok(same && !m.bad_access,
	       "image and host's build do the same in %u rounds, %u messages", i, count);
	tap_diag("%u preemptions, %u aged, %u aborted, %u faulted, %u refused",
		 mock_info(&m)->counter[NPU_FW_COUNTER_PREEMPTED],
		 mock_info(&m)->counter[NPU_FW_COUNTER_AGED],
		 mock_info(&m)->counter[NPU_FW_COUNTER_ABORTED],
		 mock_info(&m)->counter[NPU_FW_COUNTER_FAULTED],
		 mock_info(&m)->counter[NPU_FW_COUNTER_REFUSED]);
	/* How often it sleeps is counted outside of what the host builds. */
	mock_info(&m)->counter[NPU_FW_COUNTER_IDLE] = 0;
	tap_ok(!memcmp(mock_info(&m)->counter, mock_info(&other)->counter,
		       sizeof(mock_info(&m)->counter)),
	       "and count the same");
	mock_fini(&other);
}

static void order_of(const char *image, const char *trace, const char *what)
{
	static const npu_u32 priority[] = { NORMAL, LOW, REALTIME, HIGH };
	npu_u32 i;

	if (!tap_ok(begin_image(image), "%s boots", image))
		return;
	for (i = 0; i < 4; i++)
		mock_queue_create(&m, 1 + i, priority[i]);
	mock_submit(&m, 1, 500);
	mock_run(&m, 100);
	for (i = 1; i < 4; i++)
		mock_submit(&m, 1 + i, 100);
	mock_run(&m, 3000);
	expect_trace(&m, trace, what);
}

int main(void)
{
	test_boot();
	tell_cost();
	test_build_id();
	test_crash();
	test_unmapped();
	test_both();
	order_of(IMAGE,
		 "start 1, release 1, start 3, release 3, start 4, release 4, start 2, release 2",
		 "higher priorities first");
	order_of(MUTANT,
		 "start 1, release 1, start 2, release 2, start 4, release 4, start 3, release 3",
		 "the mutant: lower ones first");
	mock_fini(&m);
	return tap_done();
}
