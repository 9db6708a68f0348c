/* SPDX-License-Identifier: MIT */
/*
 * A driver of the device as a test needs it: guest memory, page tables, rings' structures. Written
 * from the comments of npu_hw.h with offsets as numbers, so that a wrong structure in the device is
 * not made right by the same mistake here.
 */
#ifndef TESTS_DEVICE_GUEST_H
#define TESTS_DEVICE_GUEST_H

#include "core.h"
#include "fake_vdev.h"

#define GUEST_KERNEL	0x80000000u	/* context 0: kernel memory */
#define GUEST_KERNEL_SIZE (64u << 20)

/* Permissions of a mapping. */
#define P_R		2u
#define P_W		4u
#define P_X		8u

struct guest {
	struct npu_vdev *dev;
	struct npu_vdev_core *core;
	npu_u32 next_page;		/* of guest memory that is not given out */
	npu_u64 root[NPU_HW_MAX_CONTEXTS];
	npu_u32 kernel_page;
	npu_u32 kernel_used;
	npu_u32 seq;
	npu_u64 events;			/* address */
	npu_u32 seed;
};

/*
 * The device is reset, events and context 0 are set up, DMA addresses lead to all of guest memory.
 */
void guest_init(struct guest *g, const struct npu_vdev_config *config);
void guest_fini(struct guest *g);
/* After a reset of the device: all of guest memory is free and zero again. */
void guest_restart(struct guest *g);

npu_u32 guest_random(struct guest *g);
npu_u32 reg_read(struct guest *g, npu_u32 offset);
void reg_write(struct guest *g, npu_u32 offset, npu_u32 value);
void reg_write64(struct guest *g, npu_u32 offset, npu_u64 value);
npu_u64 reg_read64(struct guest *g, npu_u32 offset);
bool wait_ready(struct guest *g);

/* Pages of guest memory; the first one's number. */
npu_u32 guest_alloc(struct guest *g, npu_u32 pages);
unsigned char *guest_page(struct guest *g, npu_u32 page);
npu_u64 page_iova(npu_u32 page);

/*
 * Put a page of @level (0: 4 KiB, 1: 2 MiB) at @va into the tables; @entry as it will stand there.
 */
void table_set(struct guest *g, npu_u32 context, npu_u64 va, unsigned int level, npu_u64 entry);
/* Where the entry of @level for @va stands, NULL if there is no table. */
npu_u64 *table_entry(struct guest *g, npu_u32 context, npu_u64 va, unsigned int level);
/* Write the context's root and have it taken over. */
void guest_context(struct guest *g, npu_u32 context);
/* Map @bytes at @va: pages in a row, or (@scatter) each somewhere; @perms P_*. */
void guest_map(struct guest *g, npu_u32 context, npu_u64 va, npu_u64 bytes, npu_u32 perms,
	       bool scatter);
/* The same by pages of 2 MiB, which @va is a multiple of. */
void guest_map_large(struct guest *g, npu_u32 context, npu_u64 va, npu_u64 bytes, npu_u32 perms);
/* Invalidate and wait; false when the device does not answer in @ms. */
bool guest_invalidate_ms(struct guest *g, npu_u32 context, npu_u64 va, npu_u64 size,
			 unsigned int ms);
bool guest_invalidate(struct guest *g, npu_u32 context, npu_u64 va, npu_u64 size);

/* By the tables, as the test reads them; false where nothing is mapped. */
bool guest_copy(struct guest *g, npu_u32 context, npu_u64 va, void *buf, npu_u64 size, bool write);

/* Kernel memory: an address in context 0, and where the test finds it. */
npu_u32 kernel_alloc(struct guest *g, npu_u32 bytes);
unsigned char *kernel_at(struct guest *g, npu_u32 va);
npu_u32 get32(const void *at, unsigned int offset);
npu_u64 get64(const void *at, unsigned int offset);
void put32(void *at, unsigned int offset, npu_u32 value);
void put64(void *at, unsigned int offset, npu_u64 value);

/* ---- jobs ---- */

struct guest_job {
	npu_u32 desc, regions, result, save;	/* in context 0 */
};

void job_alloc(struct guest *g, struct guest_job *j);
void job_fill(struct guest *g, const struct guest_job *j, npu_u64 id, npu_u64 stream,
	      npu_u32 stream_size, const struct npu_region *region, npu_u32 num_regions);
void unit_set(struct guest *g, unsigned int n, npu_u32 queue, const struct guest_job *j,
	      npu_u32 budget);
void unit_cmd(struct guest *g, unsigned int n, npu_u32 cmd);
npu_u32 unit_reg(struct guest *g, unsigned int n, npu_u32 offset);
/* Until it is neither RUNNING nor SAVING; the state. */
npu_u32 unit_wait(struct guest *g, unsigned int n);
/* START, wait; the state. */
npu_u32 job_run(struct guest *g, unsigned int n, npu_u32 queue, const struct guest_job *j);
/* Members of the result. */
npu_u32 result32(struct guest *g, const struct guest_job *j, unsigned int offset);
#define RESULT_STATE	0
#define RESULT_INSNS	4
#define RESULT_FAULT	32
#define RESULT_FAULT_OPERAND 52
#define RESULT_FAULT_ACCESS 56
#define RESULT_ADDRESS	64
#define RESULT_QUEUE	80
#define RESULT_CONTEXT	84
#define RESULT_RESET	88

#endif
