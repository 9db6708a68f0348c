/* SPDX-License-Identifier: MIT */
/*
 * The management firmware. It takes jobs from the rings of queues, gives engines to them by
 * priority and in slices, and tells the driver what became of each. Its view of the world is struct
 * fw; there is one, and one thread of control that goes round in fw_turn().
 *
 * The driver's memory may hold anything: what is read is copied once, then checked, and an address
 * that faults is an error like any other. The firmware can crash by its own mistakes only.
 */
#ifndef FW_H
#define FW_H

#include <stdarg.h>
#include "hw.h"

#define FW_NS_PER_US		1000u
/* How often an engine that clears its memory is looked at: that ends without an event. */
#define FW_POLL_NS		20000u
/* How often a full message ring is looked at. */
#define FW_FULL_POLL_NS		200000u
/* A round of the loop takes microseconds. */
#define FW_WATCHDOG_US		1000000u
/* How often firmware that is wrong on purpose looks at the clock, see queue.c. */
#define FW_DAWDLE		3000u
#define FW_MAX_ENTRIES		65536u
#define FW_NO_QUEUE		0xffffu
#define FW_NEVER		(~0ull)

/* A ring that the driver fills, or empties. Counts run freely. */
struct fw_ring {
	npu_u32 base;			/* addresses of entries and of struct npu_fw_index */
	npu_u32 index;
	npu_u32 entries;
	npu_u32 head, tail;		/* one is ours, the other a checked copy */
	bool broken;			/* the other side's count is impossible */
	bool said;			/* and the driver was told */
};

/*
 * A queue, from QUEUE_CREATE to QUEUE_DESTROY. "Begun" means that the job at the head is on an
 * engine or saved; it stays in the ring until it has ended, since the engine reads it there.
 */
struct fw_queue {
	npu_u32 state;			/* NPU_FW_QUEUE_* */
	npu_u32 priority;		/* enum npu_fw_priority */
	struct fw_ring ring;
	npu_u32 save;
	npu_u64 job_id;			/* of the entry at the head */
	npu_u64 waiting_since;
	npu_u32 slices;			/* of the job at the head */
	npu_u16 id;
	npu_u16 place;			/* in fw.waiting[], when it waits */
	bool waits;
	bool begun;
	bool aborting;			/* all up to abort_to, answer abort_seq then */
	bool cancelling;		/* the job at the head */
	npu_u8 engine;			/* while RUNNING */
	npu_u64 abort_to;
	npu_u32 abort_seq;
};

/* What the firmware has an engine do. */
enum fw_engine_use {
	FW_ENGINE_FREE,
	FW_ENGINE_RUNS,
	FW_ENGINE_SAVES,		/* then the queue waits with its job half done */
	FW_ENGINE_CLEARS		/* has let go of a job, and clears its memory */
};

struct fw_engine {
	enum fw_engine_use use;
	npu_u32 index;
	struct fw_queue *queue;		/* while RUNS or SAVES */
	bool stopped;			/* was told to stop */
};

struct fw {
	struct npu_fw_config config;	/* checked */
	npu_u32 num_engines;
	npu_u32 num_queues;
	/* words of doorbells, of queues that the driver does without too */
	npu_u32 num_bells;
	npu_u32 save_size;
	struct fw_ring ctl;
	struct fw_ring msg;
	bool awaited;			/* there is a message that the driver is to be told of */
	bool msg_full;			/* something waits for room in the message ring */
	npu_u32 num_unsaid;		/* queues whose ring is broken, and that was not said */
	bool suspending, suspended;
	npu_u32 suspend_seq;
	npu_u32 num_ending;		/* orders to end jobs that are not carried out yet */
	npu_u32 pending;		/* NPU_MCU_PENDING_*, when the round began */
	npu_u32 enabled;		/* what NPU_MCU_ENABLE and NPU_MCU_TIMER hold */
	npu_u64 timer;
	npu_u64 progress_at;		/* when running jobs are shown next */
	npu_u32 heartbeat;
	npu_u32 counter[NPU_NUM_FW_COUNTERS];
	bool log_ready;
	npu_u32 log_mask, log_head;
	npu_u32 num_waiting;
	npu_u16 waiting[NPU_HW_MAX_QUEUES];
	struct fw_engine engine[NPU_HW_MAX_ENGINES];
	struct fw_queue queue[NPU_HW_MAX_QUEUES];
};

/* main.c */
enum npu_fw_boot fw_boot(struct fw *fw);
/*
 * One round: all that there is to do. Returns whether another one has to follow at once; if not,
 * fw_wait() does, which comes back at once when something has happened meanwhile.
 */
bool fw_turn(struct fw *fw);
void fw_set_boot(struct fw *fw, enum npu_fw_boot status);
void fw_count(struct fw *fw, enum npu_fw_counter counter);

/* config.c: READY when fw->config can be worked with. */
enum npu_fw_boot fw_config_load(struct fw *fw);
/* Does [addr, addr + size) lie in the kernel context, and is addr a multiple of @align? */
bool fw_range_ok(npu_u32 addr, npu_u32 size, npu_u32 align);

/* log.c */
void fw_log_init(struct fw *fw);
__attribute__((format(printf, 3, 4)))
void fw_log(struct fw *fw, enum npu_fw_log_level level, const char *fmt, ...);
/* What is said of each job costs nothing where nobody listens. */
#define fw_debug(fw, ...)							\
	do {									\
		if ((fw)->config.log_level >= NPU_FW_LOG_DEBUG)			\
			fw_log(fw, NPU_FW_LOG_DEBUG, __VA_ARGS__);		\
	} while (0)

/* ring.c */
void fw_ring_init(struct fw_ring *ring, npu_u32 base, npu_u32 entries, npu_u32 index);
npu_u32 fw_ring_entry(const struct fw_ring *ring, npu_u32 count, npu_u32 size);
/* Look at the driver's tail. False: it is impossible or cannot be read; then the ring is empty. */
bool fw_ring_update(struct fw_ring *ring);
bool fw_ring_take(struct fw_ring *ring);
/* Is there room for @count messages? */
bool fw_msg_room(struct fw *fw, npu_u32 count);
/*
 * Needs room. The driver is told of it by fw_msg_tell(), unless it is the good end of a job: then
 * the driver's wish is the caller's to look for, behind this.
 */
void fw_msg_post(struct fw *fw, const struct npu_fw_msg *msg);
void fw_msg_answer(struct fw *fw, npu_u32 seq, npu_u32 queue, enum npu_fw_status status,
		   npu_u32 arg);
/* Let the driver know, if there is something new that it is to be told of. */
void fw_msg_tell(struct fw *fw);

/* ctl.c: commands; and what of a suspend comes last */
void fw_ctl_turn(struct fw *fw);
void fw_ctl_suspend(struct fw *fw);

/* queue.c */
void fw_queue_publish(struct fw *fw, struct fw_queue *queue);
void fw_queue_publish_progress(struct fw *fw, struct fw_queue *queue,
			       const struct fw_engine *engine);
/* New entries in its ring, if any, make an idle queue wait. */
void fw_queue_look(struct fw *fw, struct fw_queue *queue);
void fw_queue_wait(struct fw *fw, struct fw_queue *queue, npu_u32 state);
void fw_queue_unwait(struct fw *fw, struct fw_queue *queue);
/*
 * The job at the head has ended: tell the driver, go on to the next. @result: of the engine, NULL
 * when it never ran. Needs room for a message.
 */
void fw_queue_job_end(struct fw *fw, struct fw_queue *queue, enum npu_fw_status status, npu_u32 arg,
		      const struct npu_hw_result *result, npu_u32 engine);
bool fw_queue_is_doomed(const struct fw_queue *queue);
void fw_doorbells(struct fw *fw);
/* Go on with what waits for room in the message ring, or for an engine to stop. */
void fw_queues(struct fw *fw);
/* Nothing of it is left to be said. */
void fw_queue_forget(struct fw *fw, struct fw_queue *queue);

/* job.c: is the descriptor valid? Returns NPU_FW_OK, or BAD_JOB and in *@arg the member. */
enum npu_fw_status fw_job_check(const struct fw *fw, const struct npu_fw_job *job, npu_u64 job_id,
				npu_u32 *arg);

/* sched.c */
npu_u32 fw_sched_rank(const struct fw_queue *queue);
npu_u32 fw_sched_level(const struct fw *fw, const struct fw_queue *queue, npu_u64 now);
/* The waiting queue that is next, NULL: none. */
struct fw_queue *fw_sched_pick(struct fw *fw, npu_u64 now);
/* Give free engines to waiting queues. */
void fw_sched_turn(struct fw *fw);

/* engine.c */
void fw_engines(struct fw *fw);
void fw_engine_start(struct fw *fw, struct fw_engine *engine, struct fw_queue *queue);
void fw_engine_stop(struct fw *fw, struct fw_engine *engine);
void fw_engines_progress(struct fw *fw);
bool fw_engines_all_free(const struct fw *fw);

/* lib.c: quotient, and the remainder in *@rem. */
npu_u64 fw_div(npu_u64 n, npu_u32 d, npu_u32 *rem);

#endif
