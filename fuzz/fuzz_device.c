// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: a hostile guest of the device's core - any register writes, page tables,
 * descriptors, streams, save areas and firmware, memory that comes and goes, resets at any moment.
 * Sanitizers tell when the device reaches for what is not mapped; a reset must end in time, and
 * behind it a good job has to run.
 *
 * Input: a byte of SETUP_*, then records of 8 bytes, see do_record().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/devcore/small.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const npu_u8 *data, size_t size);

#define SETUP_JOB	1u	/* tables, a stream and a descriptor that are right */
#define SETUP_START	2u	/* it is started before the first record */
#define RECORD		8u

static struct guest guest;
static struct small job;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct npu_vdev_config config = NPU_VDEV_CONFIG_DEFAULT;

	config.engines = 2;
	config.threads = 1;
	config.sram_size = 64 << 10;
	guest_init(&guest, &config);
	return 0;
}

/* Somewhere in what the guest has given out so far: tables, descriptors, streams, data. */
static void poke(npu_u32 page, npu_u32 word, npu_u32 value, bool wide)
{
	npu_u32 kernel = guest.kernel_page, used = guest.kernel_used / 4096 + 1, n;
	unsigned char *at;

	/* Most of kernel memory is empty. */
	n = guest.next_page - GUEST_KERNEL_SIZE / 4096 + used;
	page %= n;
	if (page >= kernel + used)
		page += GUEST_KERNEL_SIZE / 4096 - used;
	at = guest_page(&guest, page) + word % 1024 * 4;
	if (!wide)
		put32(at, 0, value);
	else if (word % 1024 < 1023)
		put64(at, 0, page_iova(value >> 12 & 0x3fff) | (value & 0xfff));
}

static void do_record(const npu_u8 *r)
{
	static const npu_u32 regs[] = {
		0x70, 0x80, 0x84, 0x88, 0x8c, 0x90, 0x94, 0x98, 0x9c, 0xb0, 0xb4, 0xc0, 0xc4, 0xc8,
		0xcc, 0xd0, 0xd4, 0x800, 0x1000, 0x1004, 0x2000, 0x2004, 0x2008, 0x200c, 0x3004,
		0x3008,
	};
	npu_u32 value = get32(r, 4), arg = r[2] | (npu_u32)r[3] << 8;

	switch (r[0] % 10) {
	case 0:
		reg_write(&guest, regs[r[1] % (sizeof(regs) / 4)], value);
		break;
	case 1:
		reg_write(&guest, arg & 0xfffc, value);
		reg_read(&guest, value & 0xfffc);
		break;
	case 2:
	case 3:
		poke(arg, r[1] | (npu_u32)(r[0] / 10) << 8, value, r[0] % 10 == 3);
		break;
	case 4:
		unit_cmd(&guest, r[1] % 2, value % 8);
		break;
	case 5:
		npu_unit_write(&guest.core->unit[r[1] % 2], arg % 10 * 4, value);
		break;
	case 6:
		fake_unmap(guest.dev, guest.core, value % guest.next_page, arg % 64 + 1);
		break;
	case 7:
		fake_map(guest.dev, value % guest.next_page, arg % guest.next_page, r[1] & 1);
		break;
	case 8:
		atomic_store(&guest.dev->bus_master, r[1] & 1);
		npu_vdev_core.bus_master(guest.core, r[1] & 1);
		if (r[1] & 2)
			npu_vdev_core.reset(guest.core, value % 6);
		break;
	case 9:
		usleep(arg % 300);
		break;
	}
}

__attribute__((noreturn)) static void die(const char *why)
{
	fprintf(stderr, "%s\n", why);
	abort();
}

static void start_over(void)
{
	npu_u32 i, end = guest.next_page;

	atomic_store(&guest.dev->bus_master, true);
	npu_vdev_core.reset(guest.core, NPU_VDEV_RESET_CONNECT);
	if (!wait_ready(&guest))
		die("a reset does not end");
	for (i = 0; i < end; i++)
		fake_map(guest.dev, i, i, true);
	guest_restart(&guest);
	small_init(&guest, &job, 1, 1);
}

int LLVMFuzzerTestOneInput(const npu_u8 *data, size_t size)
{
	static unsigned int runs;
	size_t at;

	if (!size)
		return 0;
	start_over();
	if (!(data[0] & SETUP_JOB))
		memset(kernel_at(&guest, job.job.desc), 0, 128);
	unit_set(&guest, 0, 1, &job.job, data[0] >> 4);
	unit_set(&guest, 1, 1, &job.job, ~0u);
	if (data[0] & SETUP_START)
		unit_cmd(&guest, 0, CMD_START);
	for (at = 1; at + RECORD <= size; at += RECORD)
		do_record(data + at);
	if (runs++ % 16)
		return 0;
	start_over();
	if (small_run(&guest, &job) != DONE || !small_right(&guest, &job))
		die("a good job does not run");
	return 0;
}
