/* SPDX-License-Identifier: MIT */
/* Where a speculator's drafts come from, and how long they are. */
#ifndef NPU_LLM_SPECULATE_H
#define NPU_LLM_SPECULATE_H

#include "llm/runtime.h"

/* Longer matches are not told from each other. */
#define NPU_LLM_LOOKUP_MATCH	16

/*
 * What came after the last tokens the last time: of all places before the end, the one with the
 * most tokens in common before it (up to NPU_LLM_LOOKUP_MATCH, *@match of them), of equals the last
 * one. A repetition that reaches the end goes on as it began. Writes @max tokens to @draft and
 * returns @max, or 0 when fewer than @min_match tokens come again.
 */
uint32_t npu_llm_lookup(const int32_t *tokens, size_t num, uint32_t min_match, uint32_t max,
			int32_t *draft, uint32_t *match);

/* How drafts of one kind did lately, and what follows from that. */
struct npu_llm_pace {
	uint32_t length;		/* tokens of the next one at most */
	uint32_t wait;			/* steps still without one */
	uint32_t pause;			/* the last wait, 0 after a success */
	double purse;			/* plain steps' time that it may lose; below 0: no drafts */
};

void npu_llm_pace_init(struct npu_llm_pace *p);
/* A step begins: tokens of its draft, at most @max; 0: none. */
uint32_t npu_llm_pace_next(struct npu_llm_pace *p, uint32_t max);
/* @accepted of @drafted tokens were right; none is to be longer than @max. */
void npu_llm_pace_judge(struct npu_llm_pace *p, uint32_t drafted, uint32_t accepted, uint32_t max);
/* A draft saved the time of so many plain steps, or lost it (less than 0). */
void npu_llm_pace_earn(struct npu_llm_pace *p, double steps);

/* A small model that goes on greedily; its session has what it was last asked about. */
struct npu_llm_drafter;

/* Takes a reference to @small, whose vocabulary has to be that of @llm. -EINVAL, -ENOMEM. */
int npu_llm_drafter_create(struct npu_llm *llm, struct npu_llm *small,
			   struct npu_llm_drafter **drafter, struct npu_error *err);
void npu_llm_drafter_destroy(struct npu_llm_drafter *d);
/*
 * Up to @max tokens after @tokens; returns how many: fewer when its context or its cache is full.
 * Else what npu_llm_prefill() returns. *@fresh: it had nothing of this text before.
 */
int npu_llm_drafter_draft(struct npu_llm_drafter *d, const int32_t *tokens, size_t num,
			  uint32_t max, int32_t *draft, bool *fresh, struct npu_error *err);

#endif
