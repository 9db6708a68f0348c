// SPDX-License-Identifier: MIT
/*
 * Who is next. A queue's level is its priority, and one more for each age_us that it has waited, up
 * to the highest: so none starves. The highest level is served first; among equals the one that has
 * waited longest, so that they take turns. What a queue gained by waiting is used up when it runs:
 * at the end of its slice it has its priority alone, and every queue whose level is at least that
 * goes before it.
 */
#include "fw.h"

#define HIGHEST	(NPU_NUM_FW_PRIORITIES - 1)

npu_u32 fw_sched_rank(const struct fw_queue *queue)
{
#ifdef NPU_FW_MUTANT_REVERSE_PRIORITY
	/* A firmware that is wrong on purpose, for the test that must notice. */
	return HIGHEST - queue->priority;
#else
	return queue->priority;
#endif
}

npu_u32 fw_sched_level(const struct fw *fw, const struct fw_queue *queue, npu_u64 now)
{
	npu_u64 age = (npu_u64)fw->config.age_us * FW_NS_PER_US,
		waited = now - queue->waiting_since;
	npu_u32 level = fw_sched_rank(queue);

	for (; age && level < HIGHEST && waited >= age; waited -= age)
		level++;
	return level;
}

/* Before a suspend jobs that have begun are finished, and no other begins. */
static bool may_run(const struct fw *fw, const struct fw_queue *queue)
{
	return !fw_queue_is_doomed(queue) && (queue->begun || !fw->suspending);
}

static bool before(const struct fw_queue *a, const struct fw_queue *b)
{
	if (a->waiting_since != b->waiting_since)
		return a->waiting_since < b->waiting_since;
	return a->id < b->id;
}

struct fw_queue *fw_sched_pick(struct fw *fw, npu_u64 now)
{
	struct fw_queue *best = NULL, *queue;
	npu_u32 best_level = 0, level, i;

	for (i = 0; i < fw->num_waiting; i++) {
		queue = &fw->queue[fw->waiting[i]];
		if (!may_run(fw, queue))
			continue;
		level = fw_sched_level(fw, queue, now);
		if (!best || level > best_level || (level == best_level && before(queue, best))) {
			best = queue;
			best_level = level;
		}
	}
	return best;
}

void fw_sched_turn(struct fw *fw)
{
	struct fw_queue *queue;
	npu_u64 now;
	npu_u32 i;

	for (i = 0; i < fw->num_engines && fw->num_waiting; i++) {
		/* A job that cannot be started ends with a message, and another takes its turn. */
		while (fw->engine[i].use == FW_ENGINE_FREE) {
			now = fw_now();
			queue = fw_sched_pick(fw, now);
			if (!queue || !fw_msg_room(fw, 1))
				return;
			if (fw_sched_level(fw, queue, now) > fw_sched_rank(queue))
				fw_count(fw, NPU_FW_COUNTER_AGED);
			fw_engine_start(fw, &fw->engine[i], queue);
		}
	}
}
