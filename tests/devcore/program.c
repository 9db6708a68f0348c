// SPDX-License-Identifier: MIT
#include <string.h>
#include <unistd.h>
#include "program.h"

struct program mcu;

void mcu_op(npu_u32 word)
{
	mcu.code[mcu.num++] = word;
}

void mcu_li(int rd, npu_u32 value)
{
	mcu_op(rv_lui(rv_hi(value), rd));
	mcu_op(rv_addi(rv_lo(value), rd, rd));
}

void mcu_begin(struct guest *g)
{
	guest_restart(g);
	mcu = (struct program){ .page = guest_alloc(g, 2) };
}

void mcu_restart(struct guest *g)
{
	npu_vdev_core.reset(g->core, NPU_VDEV_RESET_CONNECT);
	mcu_begin(g);
}

npu_u32 mcu_load(struct guest *g, npu_u32 dst, npu_u32 size)
{
	int i;

	memcpy(guest_page(g, mcu.page), mcu.code, sizeof(mcu.code));
	reg_write64(g, 0x80, page_iova(mcu.page));
	reg_write(g, 0x88, dst);
	reg_write(g, 0x8c, size);
	reg_write(g, 0x90, 1);
	for (i = 0; i < 100000 && reg_read(g, 0x90) == 1; i++)
		usleep(50);
	return reg_read(g, 0x90);
}

bool mcu_run(struct guest *g)
{
	if (mcu_load(g, 0x100, mcu.num * 4) != 2)
		return false;
	reg_write(g, 0x98, 0x100);
	reg_write(g, 0x9c, 1);
	return true;
}

bool mcu_wait_boot(struct guest *g, npu_u32 status)
{
	int i;

	for (i = 0; i < 100000 && reg_read(g, 0xa0) != status; i++)
		usleep(100);
	return reg_read(g, 0xa0) == status;
}

npu_u32 guest_event(struct guest *g, unsigned int offset)
{
	return __atomic_load_n((npu_u32 *)(g->dev->mem + (g->events - FAKE_IOVA_BASE) + offset),
			       __ATOMIC_ACQUIRE);
}

bool guest_wait_event(struct guest *g, unsigned int offset, npu_u32 seen)
{
	int i;

	for (i = 0; i < 100000 && guest_event(g, offset) == seen; i++)
		usleep(100);
	return guest_event(g, offset) != seen;
}
