/* SPDX-License-Identifier: MIT */
/*
 * Stands in for the hardware around the firmware: registers, engines, kernel memory, a driver. Time
 * stands still while the firmware works and jumps to the next event when it waits, so what happens
 * when is exact. The firmware is either its own sources, built for the host, or the real image on
 * the hart; both see the same hardware.
 */
#ifndef FW_MOCK_H
#define FW_MOCK_H

#include <stdbool.h>
#include <stddef.h>
#include "npu_hw.h"

#define MOCK_QUEUES	48u
#define MOCK_MEMORY	(2u << 20)
#define MOCK_SAVE_SIZE	8192u
#define MOCK_ENTRIES	8u		/* of a queue's ring */
#define MOCK_CTL	8u
#define MOCK_HELD	64u
#define MOCK_SAVE_US	40u		/* an engine saves for so long */
#define MOCK_CLEAR_US	10u		/* and clears its memory for so long */

/* What a job does is in its scalars. */
enum mock_job_end { MOCK_DONE, MOCK_FAULT, MOCK_HANG, MOCK_ERROR };
#define MOCK_SCALAR_US	0		/* how long it takes */
#define MOCK_SCALAR_END	1		/* enum mock_job_end */

struct mock_engine {
	npu_u32 reg[16];		/* as the firmware wrote them */
	npu_u32 state;
	npu_u64 event_at;		/* when the state changes by itself; ~0: never */
	npu_u32 then;			/* to what */
	npu_u64 began;			/* of the slice */
	npu_u64 started_ns, busy_ns, left_ns;
	npu_u32 end;			/* enum mock_job_end */
	bool holds;			/* on-chip memory is in use */
};

struct mock {
	npu_u8 memory[MOCK_MEMORY] __attribute__((aligned(8)));
	npu_u64 now;
	npu_u64 timer, watchdog_at;
	npu_u32 num_engines;
	npu_u32 enable, boot_status, fatal, host_irqs, ctl, doorbell[8], engine_event;
	npu_u32 config;			/* address, as in NPU_MCU_FW_CONFIG */
	npu_u32 time_high;
	struct mock_engine engine[NPU_HW_MAX_ENGINES];
	bool broken_save;		/* engines fail to save */
	bool stuck_stop;		/* engines do not stop when told to */
	npu_u32 told_at_release;	/* host_irqs when an engine was released last */
	unsigned int bad_access;	/* registers that do not exist, commands in a wrong state */

	/* The driver's. */
	npu_u32 next_free;		/* address */
	npu_u32 seq;
	npu_u32 ring[NPU_HW_MAX_QUEUES], index[NPU_HW_MAX_QUEUES];
	npu_u64 job_id[NPU_HW_MAX_QUEUES];	/* of the last job written */

	/*
	 * Before each access of the firmware to memory or a register, the so many-th: what the
	 * driver does meanwhile.
	 */
	void (*meanwhile)(struct mock *m);
	npu_u32 accesses;
	/*
	 * The firmware's stores wait, as in a processor's store buffer, until a fence or an access
	 * to a register; no_fence: until the latter only. Of the firmware built for the host.
	 */
	bool hold_stores, no_fence;
	struct mock_store { npu_u32 addr, value; } held[MOCK_HELD];
	npu_u32 num_held;

	/* What engines did, as text: "start 3, save 3, ..." with queues. */
	char trace[4096];

	/* The firmware. */
	void (*run)(struct mock *m);	/* until it waits */
	struct fw *fw;
	struct rv32 *core;
	npu_u8 *tcm;
	npu_u64 instructions;
};

/*
 * Start over: memory with a good configuration, one engine. The firmware has not started. With
 * @image the file of that name in build/firmware runs on the hart; false: it cannot be loaded.
 */
bool mock_init(struct mock *m, const char *image);
void mock_fini(struct mock *m);
struct npu_fw_config *mock_config(struct mock *m);
/* Run the firmware's boot; returns the boot status. */
npu_u32 mock_boot(struct mock *m);

/* Let the firmware work until nothing happens before @us of time have passed. */
void mock_run(struct mock *m, npu_u64 us);

void *mock_at(struct mock *m, npu_u32 address);
npu_u32 mock_alloc(struct mock *m, npu_u32 size, npu_u32 align);

/* Control: post; post and wait for the answer, of which status is returned and arg is stored. */
npu_u32 mock_ctl_post(struct mock *m, struct npu_fw_ctl *ctl);
npu_u32 mock_ctl(struct mock *m, struct npu_fw_ctl *ctl, npu_u32 *arg);
npu_u32 mock_ctl_simple(struct mock *m, npu_u32 cmd, npu_u32 queue, npu_u64 arg);
/* A valid message that creates @queue; its ring is allocated. */
struct npu_fw_ctl mock_queue_message(struct mock *m, npu_u32 queue, npu_u32 priority);
npu_u32 mock_queue_create(struct mock *m, npu_u32 queue, npu_u32 priority);

/*
 * A valid job of @us whose end is waited for, where the ABI has that; without doorbell. Returns the
 * entry, to be changed before the bell rings.
 */
struct npu_fw_job *mock_job_write(struct mock *m, npu_u32 queue, npu_u32 us, enum mock_job_end end);
void mock_ring(struct mock *m, npu_u32 queue);
void mock_submit(struct mock *m, npu_u32 queue, npu_u32 us);

/* The oldest message, and take it; false: there is none. */
bool mock_message(struct mock *m, struct npu_fw_msg *msg);
unsigned int mock_messages(struct mock *m);

struct npu_fw_queue_state *mock_queue_state(struct mock *m, npu_u32 queue);
struct npu_fw_info *mock_info(struct mock *m);
/* Text of the log; the caller's buffer. */
const char *mock_log(struct mock *m, char *text, size_t size);

/* The next access of the firmware's, to memory or a register. */
void mock_access(struct mock *m);

/* Registers as the firmware sees them, for the hart's bus; false: access fault. */
bool mock_reg_read(struct mock *m, npu_u32 offset, npu_u32 *value);
bool mock_reg_write(struct mock *m, npu_u32 offset, npu_u32 value);
/* Is a line up? */
bool mock_external(const struct mock *m);
/* The reset that the driver orders for an engine. */
void mock_engine_reset(struct mock *m, npu_u32 engine);

/* mock_hart.c */
bool mock_hart_init(struct mock *m, const char *image);
void mock_hart_fini(struct mock *m);

#endif
