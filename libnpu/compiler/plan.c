// SPDX-License-Identifier: MIT
/* The memory plan of a program. */
#include <errno.h>

#include "compiler/plan.h"

/* How many host steps lie before each instruction, and before the end. */
static unsigned int *count_host(const struct npu_lower *l)
{
	unsigned int *before = npu_arena_array(l->arena, l->num_insns + 2, sizeof(*before));

	for (unsigned int i = 0; before && i < l->num_insns; i++)
		before[i + 1] = before[i] + (l->insns[i]->host != NULL);
	return before;
}

/* On-chip memory is empty after a host step, and out of its reach. */
static bool crosses_host(const unsigned int *before, const struct npu_lbuf *b)
{
	return before[b->last + 1] != before[b->first];
}

int npu_plan_memory(struct npu_lower *l, uint64_t sram, struct npu_plan *plan)
{
	struct npu_plan_item *item = npu_arena_array(l->arena, l->num_bufs + 1, sizeof(*item));
	struct npu_lbuf **buf = npu_arena_array(l->arena, l->num_bufs + 1, sizeof(*buf));
	unsigned int *host_before = count_host(l);
	unsigned int n = 0;
	int err;

	if (!item || !buf || !host_before)
		return -ENOMEM;
	npu_plan_live(l);
	plan->in_place = npu_plan_in_place(l);
	for (unsigned int i = 0; i < l->num_bufs; i++) {
		struct npu_lbuf *b = l->bufs[i];

		if (b->kind != NPU_LBUF_SCRATCH || b->same || b->first > b->last)
			continue;
		item[n] =
			(struct npu_plan_item){ b->size, b->first, b->last, b->traffic, false, 0,
						crosses_host(host_before, b) };
		buf[n++] = b;
	}
	err = npu_plan_select(item, n, sram, &plan->sram);
	for (unsigned int i = 0; i < n; i++)
		buf[i]->on_chip = item[i].chosen;
	plan->scratch_lower = npu_plan_lower_bound(item, n);
	if (!err)
		err = npu_plan_pack(item, n, &plan->scratch);
	for (unsigned int i = 0; i < n; i++)
		buf[i]->offset = item[i].offset;
	for (unsigned int i = 0; i < l->num_bufs; i++) {
		struct npu_lbuf *b = l->bufs[i], *root = npu_plan_root(b);

		b->offset = root->offset;
		b->on_chip = root->on_chip;
	}
	return err;
}
