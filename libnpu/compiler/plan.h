/* SPDX-License-Identifier: MIT */
/*
 * The memory plan of a program: which buffers share memory because one is computed in the place of
 * the other, which live in on-chip memory, and where in its region each one lies. Deterministic:
 * ties are broken by order.
 */
#ifndef NPU_COMPILER_PLAN_H
#define NPU_COMPILER_PLAN_H

#include "compiler/lower.h"

#define NPU_PLAN_ALIGN	64u
#define NPU_PLAN_SRAM	(2u << 20)	/* on-chip memory that every device has */

/* ---- packing lifetimes into memory (plan_pack.c); pure --------------------------------------- */

/* Something that needs @size bytes from instruction @first to @last, both inclusive. */
struct npu_plan_item {
	uint64_t size;
	int first, last;
	uint64_t weight;	/* bytes moved over its life; for npu_plan_select() */
	bool chosen;		/* has an offset */
	uint64_t offset;	/* a multiple of NPU_PLAN_ALIGN */
	bool off_chip;		/* not for npu_plan_select() */
};

/*
 * Give every item that is not chosen yet an offset, so that items alive at the same time do not
 * overlap. Several orders are tried and the smallest result is kept. Returns 0 or -ENOMEM; *@total
 * is the bytes needed.
 */
int npu_plan_pack(struct npu_plan_item *item, unsigned int count, uint64_t *total);

/*
 * Choose items for a memory of @capacity bytes: those first that move most bytes for the room and
 * the time they take. They get an offset and become chosen. Returns 0 or -ENOMEM; *@used is the
 * highest byte in use.
 */
int npu_plan_select(struct npu_plan_item *item, unsigned int count, uint64_t capacity,
		    uint64_t *used);

/*
 * The most bytes alive at any one instruction, of items that are not chosen: no plan can do with
 * less.
 */
uint64_t npu_plan_lower_bound(const struct npu_plan_item *item, unsigned int count);

/* ---- the plan of a program (plan.c) ---------------------------------------------------------- */

struct npu_plan {
	uint64_t scratch, scratch_lower, sram;	/* bytes */
	unsigned int in_place;			/* buffers that took over another's memory */
};

/* First and last use of every buffer, and the bytes moved (plan_live.c). */
void npu_plan_live(struct npu_lower *l);
/* Let results take the place of inputs that die (plan_live.c). Returns how many did. */
unsigned int npu_plan_in_place(struct npu_lower *l);
/* The buffer whose memory @b uses. */
struct npu_lbuf *npu_plan_root(struct npu_lbuf *b);

/*
 * @sram: bytes of on-chip memory, 0: none. Sets offset and on_chip of every buffer. Returns 0 or
 * -ENOMEM.
 */
int npu_plan_memory(struct npu_lower *l, uint64_t sram, struct npu_plan *plan);

#endif
