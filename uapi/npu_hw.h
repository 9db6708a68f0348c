/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * NPU v1, the hardware as software sees it: the PCI function and its registers, the MMU, the memory
 * map of the management processor (MCU), and the memory structures ("firmware ABI") through which
 * driver and firmware talk. Shared by driver/, firmware/ and tools/vnpu/device/, single source for
 * the three. All structures are little-endian, naturally aligned and without implicit padding.
 *
 * Who may do what. Only the driver writes page-table roots, the table of queues and what is in
 * context 0. The MCU reaches its tightly coupled memory, its own registers and, through the MMU,
 * context 0 - the kernel's context, with rings, logs and save areas. It never touches a user's
 * context: an engine does, in the context that the table of queues names for the queue.
 *
 * Nothing that comes from the firmware is trusted by the driver: each length, index and id is
 * checked. Nothing in a user's context is trusted by the engine.
 */
#ifndef NPU_HW_H
#define NPU_HW_H

#include "npu_isa.h"

#define NPU_PCI_VENDOR_ID	0x1234u
#define NPU_PCI_DEVICE_ID	0x4e50u
#define NPU_PCI_REVISION	0x01u
#define NPU_PCI_CLASS		0x120000u	/* processing accelerator */
#define NPU_BAR0_SIZE		0x10000u

#define NPU_HW_ID		0x3155504eu	/* "NPU1" */
#define NPU_HW_VERSION		0x00010000u	/* major << 16 | minor */
#define NPU_HW_VERSION_MAJOR(v)	((v) >> 16)

#define NPU_HW_MAX_QUEUES	256u
#define NPU_HW_MAX_CONTEXTS	256u
#define NPU_HW_MAX_ENGINES	8u

/*
 * ---- BAR0: 32-bit little-endian registers; 64-bit values are two of them, low half first ----
 *
 * Reading the low half of a 64-bit value that moves (timestamp, counters) keeps its high half for
 * the next read. Offsets that are not named read as zero and ignore writes.
 */

/* Read only. */
#define NPU_REG_ID		0x0000u	/* NPU_HW_ID; all ones: the device is gone */
#define NPU_REG_VERSION		0x0004u	/* NPU_HW_VERSION */
#define NPU_REG_ISA		0x0008u	/* major << 16 | minor of the instruction set */
#define NPU_REG_CAP_MAC		0x0010u	/* rows << 16 | columns of the MAC array */
#define NPU_REG_CAP_SRAM	0x0014u	/* bytes of on-chip memory of an engine */
#define NPU_REG_CAP_ENGINES	0x0018u
#define NPU_REG_CAP_QUEUES	0x001cu
#define NPU_REG_CAP_CONTEXTS	0x0020u	/* context 0 among them */
#define NPU_REG_CAP_ADDR	0x0024u	/* bits of virtual addresses | bits of DMA addresses << 8 */
#define NPU_REG_CAP_DTYPES	0x0028u	/* bit (1 << enum npu_dtype) */
#define NPU_REG_CAP_TCM		0x002cu	/* bytes of the MCU's tightly coupled memory */
#define NPU_REG_CAP_SAVE	0x0030u	/* bytes of a save area, header included */
#define NPU_REG_CAP_CLOCK	0x0034u	/* Hz of the timestamp */
#define NPU_REG_CAP_OPCODES	0x0038u	/* 8 words: bit per opcode */

#define NPU_REG_STATUS		0x0060u	/* NPU_STATUS_* */
#define NPU_REG_EPOCH		0x0064u	/* grows with every reset of the device */
#define NPU_REG_TIMESTAMP	0x0068u	/* 64 bits; reading the low half latches the high one */

/*
 * Write only. Takes effect some time later: NPU_STATUS_READY is clear meanwhile, and while it is
 * the device that is reset, writes of other registers are lost.
 */
#define NPU_REG_RESET		0x0070u	/* NPU_RESET_* */

/* Firmware load: with the MCU halted, copy SIZE bytes from DMA address SRC to DST of the TCM. */
#define NPU_REG_FW_SRC		0x0080u	/* 64 bits, a DMA address that bypasses the MMU */
#define NPU_REG_FW_DST		0x0088u
#define NPU_REG_FW_SIZE		0x008cu
#define NPU_REG_FW_COPY		0x0090u	/* write: start; read: NPU_FW_COPY_* */
#define NPU_REG_FW_CONFIG	0x0094u	/* address in context 0 of struct npu_fw_config */
#define NPU_REG_MCU_ENTRY	0x0098u
#define NPU_REG_MCU_CTRL	0x009cu	/* 1: run from ENTRY; 0: halt */
#define NPU_REG_BOOT_STATUS	0x00a0u	/* read only: what the firmware says, enum npu_fw_boot */

/*
 * DMA address of struct npu_hw_events, 0: none, then no interrupt is raised either. Counts from the
 * write of its high half on.
 */
#define NPU_REG_EVENTS		0x00b0u	/* 64 bits */

/*
 * Forget translations of CONTEXT that touch [VA, VA + SIZE) (SIZE 0: all of them). Writing SEQ
 * starts it; when no access by an old translation is left, the device stores the value in
 * npu_hw_events.inv_seq and raises the interrupt. One at a time. Pages and tables may be freed
 * then, or after a device reset. The device keeps no entry that is not valid: one that becomes
 * valid needs no invalidation.
 */
#define NPU_REG_INV_VA		0x00c0u	/* 64 bits */
#define NPU_REG_INV_SIZE	0x00c8u	/* 64 bits */
#define NPU_REG_INV_CONTEXT	0x00d0u
#define NPU_REG_INV_SEQ		0x00d4u

/* Doorbells: posted writes of any value. */
#define NPU_REG_DOORBELL_CTL	0x0800u	/* there is something in the control ring */
#define NPU_REG_DOORBELL(q)	(0x1000u + 4u * (q))	/* there is something in queue q's ring */

/* DMA address of a top table | NPU_ROOT_VALID, 64 bits; counts from the next invalidation on. */
#define NPU_REG_ROOT(c)		(0x2000u + 8u * (c))
#define NPU_ROOT_VALID		1u
/* Context of a queue | NPU_QUEUE_VALID. */
#define NPU_REG_QUEUE(q)	(0x3000u + 4u * (q))
#define NPU_QUEUE_VALID		0x80000000u

/* Counters, 64 bits each, free running. */
#define NPU_REG_COUNTER(n)	(0x5000u + 8u * (n))
#define NPU_HW_COUNTERS(X)							\
	X(MCU_INSNS,	0, "mcu-insns",		"instructions of the MCU")		\
	X(TLB_HITS,	1, "tlb-hits",		"translations found in the TLB")	\
	X(PAGE_WALKS,	2, "page-walks",	"translations by walking the tables")	\
	X(INVALIDATES,	3, "invalidates",	"invalidations carried out")		\
	X(MMU_FAULTS,	4, "mmu-faults",	"translations refused")			\
	X(DOORBELLS,	5, "doorbells",		"doorbell writes")			\
	X(IRQS,		6, "irqs",		"interrupts raised")			\
	X(ENGINE_INSNS,	7, "engine-insns",	"instructions of the engines")		\
	X(ENGINE_MACS,	8, "engine-macs",	"multiply-accumulates")			\
	X(ENGINE_NS,	9, "engine-ns",		"nanoseconds that engines were busy")	\
	X(SAVES,	10, "saves",		"states of jobs saved to memory")	\
	X(COPIED,	11, "bytes-copied",	"bytes copied for want of a contiguous view")

enum npu_hw_counter {
#define X(name, index, text, what) NPU_COUNTER_##name = index,
	NPU_HW_COUNTERS(X)
#undef X
	NPU_NUM_COUNTERS
};

#define NPU_STATUS_READY	1u	/* no reset is under way */
#define NPU_STATUS_MCU_RUN	2u
#define NPU_STATUS_FATAL	4u	/* npu_hw_events.fatal_code; only a device reset helps */

#define NPU_RESET_DEVICE	1u	/* all but the PCI configuration; clears roots and tables */
#define NPU_RESET_ENGINE(n)	(0x100u << (n))	/* its job ends as NPU_ENGINE_STOPPED */

#define NPU_FW_COPY_IDLE	0u
#define NPU_FW_COPY_BUSY	1u
#define NPU_FW_COPY_DONE	2u
#define NPU_FW_COPY_ERROR	3u	/* not halted, out of range, or DMA failed */

/*
 * Written by the device, in 32-bit stores, before it raises the interrupt: the cause of an
 * interrupt is found here and never read from a register. A count that differs from the last one
 * seen means news.
 */
struct npu_hw_events {
	npu_u32 msg_count;	/* the firmware has put something into the message ring */
	npu_u32 inv_seq;	/* the last invalidation that is complete */
	npu_u32 fatal_count;
	npu_u32 fatal_code;	/* enum npu_hw_fatal */
	npu_u32 epoch;		/* as NPU_REG_EPOCH, when it was last written */
	npu_u32 fatal_info;	/* mcause, or another detail of the code */
	npu_u32 reserved[10];
};

#define NPU_HW_FATALS(X)								\
	X(NONE,		0, "no error")							\
	X(MCU_TRAP,	1, "the firmware took a trap that it did not handle")		\
	X(WATCHDOG,	2, "the firmware did not look after its watchdog")		\
	X(DMA,		3, "a DMA access to kernel memory failed")			\
	X(RESTART,	4, "the device restarted by itself")				\
	X(FIRMWARE,	5, "the firmware gave up")

enum npu_hw_fatal {
#define X(name, code, text) NPU_FATAL_##name = code,
	NPU_HW_FATALS(X)
#undef X
	NPU_NUM_FATALS
};

/* ---- MMU: 4 levels of 512 entries, 48-bit addresses, pages of 4 KiB and 2 MiB ---- */

#define NPU_MMU_LEVELS		4u
#define NPU_MMU_ENTRIES		512u
#define NPU_MMU_VA_BITS		48u
#define NPU_MMU_PAGE_SHIFT	12u
#define NPU_MMU_LARGE_SHIFT	21u
#define NPU_MMU_SHIFT(level)	(12u + 9u * (level))	/* level 0: 4 KiB pages, 3: the top */

#define NPU_PTE_VALID		0x1ull
#define NPU_PTE_READ		0x2ull	/* leaves only; a table has VALID alone */
#define NPU_PTE_WRITE		0x4ull
#define NPU_PTE_EXEC		0x8ull	/* a stream may be fetched from it */
#define NPU_PTE_LEAF		0x10ull	/* at level 0 and 1; at level 2 and 3 it is an error */
#define NPU_PTE_ADDR		0x000ffffffffff000ull	/* DMA address of page or table */
/* All other bits are zero; an entry with one of them set faults. */

/* Kernel context: what the MCU sees at the same address. */
#define NPU_KERNEL_CONTEXT	0u
#define NPU_KERNEL_VA_START	0x80000000ull
#define NPU_KERNEL_VA_END	0x100000000ull

/* ---- MCU: RV32IMC, machine mode ---- */

#define NPU_MCU_TCM		0x00000000u
#define NPU_MCU_MMIO		0x40000000u
#define NPU_MCU_KERNEL		0x80000000u	/* to the end: context 0, same addresses */

/*
 * Registers of the MCU, offsets from NPU_MCU_MMIO, 32-bit accesses only. The external interrupt
 * line is up while PENDING & ENABLE is not zero; WFI waits for it and for the timer.
 */
#define NPU_MCU_TIME		0x000u	/* ns, 64 bits; reading the low half latches the high one */
#define NPU_MCU_TIMER		0x008u	/* 64 bits; the timer line is up when TIME >= TIMER */
#define NPU_MCU_PENDING		0x010u	/* read only, NPU_MCU_PENDING_* */
#define NPU_MCU_ENABLE		0x014u
#define NPU_MCU_HOST_IRQ	0x018u	/* write: ++npu_hw_events.msg_count, interrupt */
#define NPU_MCU_BOOT_STATUS	0x01cu	/* shown to the driver */
#define NPU_MCU_FW_CONFIG	0x020u	/* read only, as the driver wrote it */
#define NPU_MCU_NUM_ENGINES	0x024u	/* read only */
#define NPU_MCU_NUM_QUEUES	0x028u	/* read only */
#define NPU_MCU_SAVE_SIZE	0x02cu	/* read only */
/*
 * Write microseconds: a fatal event unless written again within them; 0: off. Counts the time that
 * the MCU executes: it stands during WFI.
 */
#define NPU_MCU_WATCHDOG	0x030u
#define NPU_MCU_FATAL		0x034u	/* write: NPU_FATAL_FIRMWARE with this information; halts */
#define NPU_MCU_CTL		0x03cu	/* 1: control doorbell rang; write 1 to clear */
#define NPU_MCU_DOORBELL(i)	(0x040u + 4u * (i))	/* bits of 32 queues; write 1 to clear */
/* Bit per engine that left RUNNING or SAVING; write 1 to clear. */
#define NPU_MCU_ENGINE_EVENT	0x060u
#define NPU_MCU_ENGINE(n)	(0x100u + 0x40u * (n))	/* + NPU_ENGINE_* */

#define NPU_MCU_PENDING_CTL	1u
#define NPU_MCU_PENDING_QUEUE	2u
#define NPU_MCU_PENDING_ENGINE	4u

/* Registers of an engine, offsets from NPU_MCU_ENGINE(n). */
#define NPU_ENGINE_CMD		0x00u	/* write only, enum npu_engine_cmd */
#define NPU_ENGINE_STATE	0x04u	/* read only, enum npu_engine_state_code */
#define NPU_ENGINE_QUEUE	0x08u	/* whose context the job runs in */
#define NPU_ENGINE_JOB		0x0cu	/* address in context 0 of struct npu_fw_job */
#define NPU_ENGINE_RESULT	0x10u	/* address in context 0 of struct npu_hw_result */
#define NPU_ENGINE_SAVE		0x14u	/* address in context 0 of the queue's save area */
#define NPU_ENGINE_BUDGET	0x18u	/* us until it yields behind an instruction; ~0: never */
#define NPU_ENGINE_PROGRESS	0x1cu	/* read only: moves while the job gets on */
#define NPU_ENGINE_BUSY		0x20u	/* read only: us that the job has run, in all slices */

/*
 * START and RESTORE take an IDLE engine to RUNNING, CONTINUE a YIELDED one. SAVE writes the state
 * of a YIELDED job to the save area and takes the engine to IDLE by way of SAVING, or to ERROR;
 * RELEASE drops a job in DONE, YIELDED, STOPPED, FAULT or ERROR (on-chip memory is cleared): IDLE.
 * STOP makes a RUNNING one STOPPED within a millisecond of work; it may be DONE before. A command
 * in another state is ignored.
 */
enum npu_engine_cmd {
	NPU_ENGINE_CMD_START = 1, NPU_ENGINE_CMD_CONTINUE, NPU_ENGINE_CMD_STOP, NPU_ENGINE_CMD_SAVE,
	NPU_ENGINE_CMD_RESTORE, NPU_ENGINE_CMD_RELEASE
};

/*
 * ERROR: a structure in context 0 could not be read or written or is not valid, or the queue has no
 * context but the kernel's.
 */
enum npu_engine_state_code {
	NPU_ENGINE_IDLE, NPU_ENGINE_RUNNING, NPU_ENGINE_DONE, NPU_ENGINE_YIELDED,
	NPU_ENGINE_STOPPED, NPU_ENGINE_FAULT, NPU_ENGINE_SAVING, NPU_ENGINE_ERROR
};

/* Written by an engine when it leaves RUNNING, before the event. */
struct npu_hw_result {
	npu_u32 state;			/* enum npu_engine_state_code */
	npu_u32 insns;			/* executed, slices before included */
	npu_u64 busy_ns;		/* the same for time */
	npu_u64 started_ns;		/* device time of START */
	npu_u64 ended_ns;
	struct npu_fault fault;		/* with NPU_ENGINE_FAULT */
	npu_u32 queue;
	npu_u32 context;
	npu_u32 reset;			/* STOPPED by NPU_RESET_ENGINE, not by the firmware */
	npu_u32 reserved;
};

/*
 * Head of a save area; the on-chip memory that the job has regions in follows, at
 * NPU_HW_SAVE_HEADER. Written and read by engines only; what is read back is checked like a stream.
 */
#define NPU_HW_SAVE_HEADER	4096u
#define NPU_HW_SAVE_MAGIC	0x5653504eu	/* "NPSV" */
struct npu_hw_save {
	npu_u32 magic;
	npu_u32 sram_bytes;
	npu_u32 stream_offset;		/* of the next instruction */
	npu_u32 insn;			/* its index */
	npu_u64 job_id;
	npu_u64 busy_ns;
	npu_u64 started_ns;
	npu_u32 trace_count;
	npu_u32 trace_dropped;
	npu_u32 scalar[NPU_MAX_SCALARS];
	npu_u64 trace_start_ns;
};

/* ---- records of what a job did, written by the engine into the user's own memory ---- */

#define NPU_JOB_TRACE_PROFILE	1u	/* a record per instruction: when, how long */
#define NPU_JOB_TRACE_DIGEST	2u	/* a record per output: XXH64 of its elements, row major */
#define NPU_JOB_FLAGS		3u

struct npu_hw_trace {
	npu_u32 count;			/* of records that follow */
	npu_u32 dropped;		/* that had no room */
	npu_u64 start_ns;		/* device time of the first record */
};

enum npu_trace_kind { NPU_TRACE_PROFILE = 1, NPU_TRACE_DIGEST = 2 };

struct npu_hw_trace_record {
	npu_u16 kind;			/* enum npu_trace_kind */
	npu_u16 opcode;
	npu_u32 insn;
	npu_u32 offset;			/* of the instruction in the stream */
	npu_u32 tag;
	npu_u32 slot;			/* DIGEST: operand */
	npu_u32 reserved;
	npu_u64 value;			/* DIGEST: it; PROFILE: ns since start_ns */
	npu_u64 ns;			/* PROFILE: duration */
};

/* ---- firmware ABI ---- */

/* Numbers only grow, and each adds to the one before; both sides support a range of them. */
#define NPU_FW_ABI_MIN		1u
#define NPU_FW_ABI_MAX		3u
/* What came with which. */
#define NPU_FW_ABI_CANCEL	2u	/* NPU_FW_CTL_JOB_CANCEL, npu_fw_job.cancel */
#define NPU_FW_ABI_QUIET	3u	/* npu_fw_job.notify, and doorbells that need not be rung */

#define NPU_FW_IMAGE_MAGIC	0x4655504eu	/* "NPUF" */
#define NPU_FW_MAX_RANGES	16u
#define NPU_FW_MAX_IMAGE	(1u << 20)

/*
 * Firmware file: this header, header.num_ranges of struct npu_fw_range, data. The file is exactly
 * image_size bytes.
 */
struct npu_fw_image {
	npu_u32 magic;
	npu_u32 header_size;		/* of this struct; ranges follow behind it */
	npu_u32 image_size;
	npu_u32 crc;			/* CRC-32 (as zlib's) of the file with this field zero */
	npu_u32 abi_min;
	npu_u32 abi_max;
	npu_u32 hw_version;		/* NPU_HW_VERSION: same major, at most the device's minor */
	npu_u32 entry;
	npu_u32 num_ranges;
	npu_u32 tcm_size;		/* needed, stack included */
	npu_u8 build_id[20];
	char version[32];		/* "0.1.0", terminated */
	npu_u32 reserved[3];		/* zero */
};

struct npu_fw_range {
	npu_u32 file_offset;		/* multiple of 4 */
	npu_u32 file_size;		/* may be 0 */
	npu_u32 load_address;		/* in the TCM, multiple of 4 */
	npu_u32 mem_size;		/* >= file_size; the rest is zero */
};

/* What NPU_REG_BOOT_STATUS says. */
#define NPU_FW_BOOTS(X)								\
	X(NONE,		0, "has not started")					\
	X(STARTED,	1, "has started")					\
	X(READY,	2, "is ready")						\
	X(SUSPENDED,	3, "is suspended")					\
	X(BAD_CONFIG,	16, "refused its configuration")			\
	X(BAD_ABI,	17, "does not speak the ABI that the driver asks for")	\
	X(CRASHED,	18, "has crashed")

enum npu_fw_boot {
#define X(name, code, text) NPU_FW_BOOT_##name = code,
	NPU_FW_BOOTS(X)
#undef X
	NPU_NUM_FW_BOOTS
};

#define NPU_FW_CONFIG_MAGIC	0x4346504eu	/* "NPFC" */

/* Written by the driver before the MCU runs. Addresses are those of context 0. */
struct npu_fw_config {
	npu_u32 magic;
	npu_u32 size;
	npu_u32 abi;			/* both sides' highest common one */
	npu_u32 num_queues;		/* size of queue_state[] */
	npu_u32 ctl_ring;		/* struct npu_fw_ctl[ctl_entries] */
	npu_u32 ctl_entries;		/* power of two, as the others */
	npu_u32 ctl_index;		/* struct npu_fw_index: tail driver's, head firmware's */
	npu_u32 msg_ring;		/* struct npu_fw_msg[msg_entries] */
	npu_u32 msg_entries;
	npu_u32 msg_index;		/* struct npu_fw_index: tail firmware's, head driver's */
	npu_u32 log;			/* struct npu_fw_log */
	npu_u32 log_size;		/* bytes, struct included; data is a power of two */
	npu_u32 queue_state;		/* struct npu_fw_queue_state[num_queues] */
	npu_u32 info;			/* struct npu_fw_info */
	npu_u32 results;		/* struct npu_hw_result[NPU_HW_MAX_ENGINES] */
	/* Before another queue of the same priority gets its turn; 0: until the job ends. */
	npu_u32 slice_us;
	npu_u32 age_us;			/* a wait so long raises a queue by one level; 0: never */
	npu_u32 heartbeat_us;		/* how often progress is shown, at least; 0: 100 ms */
	npu_u32 log_level;		/* enum npu_fw_log_level */
	npu_u32 reserved[13];		/* zero */
};

/* Free running counts; entry i is at i % entries. Each is written by one side only. */
struct npu_fw_index {
	npu_u32 tail;			/* producer's */
	npu_u32 pad[15];
	npu_u32 head;			/* consumer's */
	npu_u32 pad2[15];
};

/* Written by the firmware at boot, counters always. */
#define NPU_FW_COUNTERS(X)								\
	X(DOORBELLS,	0, "doorbells")	X(CTL,		1, "control-messages")		\
	X(STARTED,	2, "jobs-started")	X(DONE,		3, "jobs-done")		\
	X(FAULTED,	4, "jobs-faulted")	X(ABORTED,	5, "jobs-aborted")	\
	X(REFUSED,	6, "jobs-refused")	X(SLICES,	7, "slices")		\
	X(PREEMPTED,	8, "preemptions")	X(AGED,		9, "aged")		\
	X(IDLE,		10, "idle-waits")	X(MSG_FULL,	11, "message-ring-full")

enum npu_fw_counter {
#define X(name, index, text) NPU_FW_COUNTER_##name = index,
	NPU_FW_COUNTERS(X)
#undef X
	NPU_NUM_FW_COUNTERS
};

struct npu_fw_info {
	npu_u32 abi;
	npu_u32 boot_status;		/* enum npu_fw_boot */
	char version[32];
	npu_u8 build_id[20];
	npu_u32 heartbeat;		/* moves while the firmware's loop turns */
	npu_u32 counter[32];		/* enum npu_fw_counter */
	npu_u32 reserved[16];
};

enum npu_fw_log_level { NPU_FW_LOG_ERROR, NPU_FW_LOG_WARN, NPU_FW_LOG_INFO, NPU_FW_LOG_DEBUG };

#define NPU_FW_LOG_MAGIC	0x474c504eu	/* "NPLG" */
struct npu_fw_log {
	npu_u32 magic;
	npu_u32 size;			/* of data[] */
	npu_u32 head;			/* bytes ever written; the newest stands in front of it */
	npu_u32 reserved;
	char data[];			/* lines of text, "[seconds.us] level: text\n" */
};

/*
 * Live view of a queue, written by the firmware in 32-bit stores. Since NPU_FW_ABI_QUIET the driver
 * need not ring for an entry when it finds READY, RUNNING or SAVED behind the store of the tail, a
 * full barrier in between: the firmware looks at the tail again when a job has ended, and once
 * more, behind a full barrier, when it has published IDLE.
 */
#define NPU_FW_QUEUE_NONE	0u
#define NPU_FW_QUEUE_IDLE	1u
#define NPU_FW_QUEUE_READY	2u	/* has work, waits for an engine */
#define NPU_FW_QUEUE_RUNNING	3u
#define NPU_FW_QUEUE_SAVED	4u	/* preempted half way */

struct npu_fw_queue_state {
	npu_u32 state;			/* NPU_FW_QUEUE_* */
	npu_u32 engine;			/* RUNNING: which one */
	npu_u32 job_seq;		/* low half of job_id of the job started last */
	npu_u32 progress;		/* moves while that job gets on */
	npu_u32 busy_us;		/* engine time of that job */
	npu_u32 slices;			/* of that job */
	npu_u32 reserved[10];
};

/*
 * Entry of a queue's ring, written by the driver only. Jobs of a queue run in order, one at a time.
 */
struct npu_fw_job {
	npu_u64 job_id;			/* rises by one with each job of the queue, from 1 */
	npu_u64 stream;			/* in the queue's context; pages with NPU_PTE_EXEC */
	npu_u32 stream_size;
	npu_u32 num_regions;
	npu_u32 regions;		/* context 0: struct npu_region[num_regions]; 0: none */
	npu_u32 flags;			/* NPU_JOB_TRACE_* */
	npu_u64 trace;			/* queue's context: struct npu_hw_trace and records */
	npu_u32 trace_size;		/* bytes */
	/*
	 * 1: when its turn comes it ends with NPU_FW_ABORTED, without having run. This and notify
	 * are the only members that the driver changes while the entry is the firmware's.
	 */
	npu_u32 cancel;
	npu_u32 scalar[NPU_MAX_SCALARS];
	/*
	 * Since NPU_FW_ABI_QUIET; reserved before, so that a job that has it is refused. 0: there
	 * need be no interrupt when it ends with NPU_FW_OK. The firmware looks behind a full
	 * barrier when the message is in the ring; the driver, having written 1, looks for the
	 * message behind one of its own.
	 */
	npu_u32 notify;
	npu_u32 reserved2[3];
};

/* Driver to firmware. Each is answered by NPU_FW_MSG_CTL with its seq. */
enum npu_fw_ctl_cmd {
	NPU_FW_CTL_PING = 1,
	NPU_FW_CTL_QUEUE_CREATE,	/* all members */
	/* queue; NPU_FW_BUSY while a job of it is on an engine or an abort is not over */
	NPU_FW_CTL_QUEUE_DESTROY,
	/*
	 * queue, job_id: end all its jobs up to this one with NPU_FW_ABORTED, the running one too.
	 * Their NPU_FW_MSG_JOB come before the answer. A second order takes the place of the first,
	 * which is answered NPU_FW_BUSY.
	 */
	NPU_FW_CTL_QUEUE_ABORT,
	/*
	 * Finish what has begun, start nothing more; answered when all engines are idle. A second
	 * one is answered NPU_FW_BUSY.
	 */
	NPU_FW_CTL_SUSPEND,
	NPU_FW_CTL_LOG_LEVEL,		/* arg */
	NPU_FW_CTL_SLICE,		/* arg: slice_us */
	/*
	 * queue, job_id: if this job is the queue's oldest, end it with NPU_FW_ABORTED, also on an
	 * engine; no other one is touched. The answer does not wait for that. npu_fw_job.cancel,
	 * set before, sees to it that a later one does not begin.
	 */
	NPU_FW_CTL_JOB_CANCEL
};

struct npu_fw_ctl {
	npu_u32 cmd;			/* enum npu_fw_ctl_cmd */
	npu_u32 seq;
	npu_u32 queue;
	npu_u32 arg;
	npu_u64 job_id;			/* CREATE: of the first job */
	npu_u32 priority;		/* enum npu_fw_priority */
	npu_u32 ring;			/* struct npu_fw_job[entries] */
	npu_u32 entries;		/* power of two */
	npu_u32 index;			/* struct npu_fw_index: tail driver's, head firmware's */
	npu_u32 save;			/* save area, NPU_REG_CAP_SAVE bytes */
	npu_u32 reserved[5];
};

/* Higher is served first. */
enum npu_fw_priority {
	NPU_FW_PRIORITY_LOW, NPU_FW_PRIORITY_NORMAL, NPU_FW_PRIORITY_HIGH,
	NPU_FW_PRIORITY_REALTIME, NPU_NUM_FW_PRIORITIES
};

enum npu_fw_msg_type { NPU_FW_MSG_CTL = 1, NPU_FW_MSG_JOB };

#define NPU_FW_STATUSES(X)							\
	X(OK,		0, "done")						\
	X(FAULTED,	1, "the job faulted, see the fault record")		\
	X(ABORTED,	2, "aborted on the driver's order")			\
	X(ENGINE_RESET,	3, "the engine was reset under the job")		\
	X(BAD_JOB,	4, "the job's descriptor is not valid, see arg")	\
	X(BAD_QUEUE,	5, "no such queue, or it exists already")		\
	X(BAD_ARG,	6, "a member of the message is not valid, see arg")	\
	X(BUSY,		7, "a job is on an engine, or a later order came")	\
	X(BAD_CMD,	8, "command is not known")				\
	X(ENGINE_ERROR,	9, "the engine could not use kernel memory")		\
	X(BAD_INDEX,	10, "the driver's count of a ring is not valid, see arg")

enum npu_fw_status {
#define X(name, code, text) NPU_FW_##name = code,
	NPU_FW_STATUSES(X)
#undef X
	NPU_NUM_FW_STATUSES
};

/* Firmware to driver. */
struct npu_fw_msg {
	npu_u32 type;			/* enum npu_fw_msg_type */
	npu_u32 seq;			/* CTL: of the command */
	npu_u32 queue;
	npu_u32 status;			/* enum npu_fw_status */
	npu_u64 job_id;			/* JOB */
	npu_u64 started_ns;		/* JOB: device time; 0: it never ran */
	npu_u64 ended_ns;
	npu_u64 busy_ns;		/* on an engine */
	npu_u32 insns;
	npu_u32 slices;
	npu_u32 engine;
	npu_u32 arg;			/* BAD_*: byte offset of the member that is wrong */
	struct npu_fault fault;		/* FAULTED */
};

/* Sizes are part of the ABI. */
#ifdef __cplusplus
#define NPU_HW_ASSERT(cond, text)	static_assert(cond, text)
#else
#define NPU_HW_ASSERT(cond, text)	_Static_assert(cond, text)
#endif
NPU_HW_ASSERT(sizeof(struct npu_region) == 24, "npu_region");
NPU_HW_ASSERT(sizeof(struct npu_fault) == 48, "npu_fault");
NPU_HW_ASSERT(sizeof(struct npu_hw_events) == 64, "npu_hw_events");
NPU_HW_ASSERT(sizeof(struct npu_hw_result) == 96, "npu_hw_result");
NPU_HW_ASSERT(sizeof(struct npu_hw_save) == 120, "npu_hw_save");
NPU_HW_ASSERT(sizeof(struct npu_hw_trace) == 16, "npu_hw_trace");
NPU_HW_ASSERT(sizeof(struct npu_hw_trace_record) == 40, "npu_hw_trace_record");
NPU_HW_ASSERT(sizeof(struct npu_fw_image) == 104, "npu_fw_image");
NPU_HW_ASSERT(sizeof(struct npu_fw_range) == 16, "npu_fw_range");
NPU_HW_ASSERT(sizeof(struct npu_fw_config) == 128, "npu_fw_config");
NPU_HW_ASSERT(sizeof(struct npu_fw_index) == 128, "npu_fw_index");
NPU_HW_ASSERT(sizeof(struct npu_fw_info) == 256, "npu_fw_info");
NPU_HW_ASSERT(sizeof(struct npu_fw_queue_state) == 64, "npu_fw_queue_state");
NPU_HW_ASSERT(sizeof(struct npu_fw_job) == 128, "npu_fw_job");
NPU_HW_ASSERT(sizeof(struct npu_fw_ctl) == 64, "npu_fw_ctl");
NPU_HW_ASSERT(sizeof(struct npu_fw_msg) == 112, "npu_fw_msg");

#endif
