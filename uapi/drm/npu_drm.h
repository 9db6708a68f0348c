/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * Interface of the npu accel driver. A program opens /dev/accel/accelN, makes an address space
 * (VM_CREATE) and memory (BO_CREATE, or PRIME), maps one into the other (VM_BIND), makes a queue
 * (QUEUE_CREATE) and gives it jobs (SUBMIT). Waiting is done with DRM syncobjs and nothing else.
 *
 * Rules for whoever extends this file:
 *
 * - Structures are multiples of 8 bytes, members are naturally aligned, padding is explicit and
 *   checked to be zero, pointers are __u64, there are no unions. The layout is the same for 32-bit
 *   and 64-bit programs.
 * - A new member goes to the end of a structure. Zero there means what was before it existed.
 * - Bits of flags that are not defined here are refused with -EINVAL, so that they may be given a
 *   meaning later.
 * - Arrays that a structure points to are described by struct drm_npu_obj_array and carry the size
 *   of their elements: the driver takes shorter ones (the rest is zero) and refuses longer ones
 *   with -E2BIG unless what it does not know is zero.
 * - Every addition raises the driver's minor version. Numbers of ioctls are never used again.
 *
 * Errors that every ioctl may return: -EINVAL (flag, padding, value), -EFAULT (pointer), -ENOENT
 * (this file has no object of that handle or id), -ENODEV (the device is gone), -ENOMEM, -EINTR
 * (make the same call again).
 */
#ifndef _UAPI_NPU_DRM_H_
#define _UAPI_NPU_DRM_H_

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Version of the interface that this file describes, as drmGetVersion() tells it. */
#define DRM_NPU_DRIVER_NAME	"npu"
#define DRM_NPU_DRIVER_MAJOR	1
#define DRM_NPU_DRIVER_MINOR	1	/* 1: JOB_CANCEL */

#define DRM_NPU_DEV_QUERY	0x00
#define DRM_NPU_VM_CREATE	0x01
#define DRM_NPU_VM_DESTROY	0x02
#define DRM_NPU_VM_BIND		0x03
#define DRM_NPU_VM_GET_STATE	0x04
#define DRM_NPU_BO_CREATE	0x05
#define DRM_NPU_BO_MMAP_OFFSET	0x06
#define DRM_NPU_BO_SYNC		0x07
#define DRM_NPU_BO_QUERY_INFO	0x08
#define DRM_NPU_BO_SET_LABEL	0x09
#define DRM_NPU_QUEUE_CREATE	0x0a
#define DRM_NPU_QUEUE_DESTROY	0x0b
#define DRM_NPU_QUEUE_GET_STATE	0x0c
#define DRM_NPU_SUBMIT		0x0d
#define DRM_NPU_JOB_GET_RESULT	0x0e
#define DRM_NPU_JOB_CANCEL	0x0f

/**
 * struct drm_npu_obj_array - array of objects in the program's memory
 * @stride: size of one object in bytes, a multiple of 8, at most 4096 (else -E2BIG)
 * @count: number of objects; 0: @array is not looked at
 * @array: pointer to the first one
 */
struct drm_npu_obj_array {
	__u32 stride;
	__u32 count;
	__u64 array;
};

/**
 * DRM_NPU_OBJ_ARRAY() - initializer of a struct drm_npu_obj_array
 * @cnt: number of objects
 * @ptr: the first one
 */
#define DRM_NPU_OBJ_ARRAY(cnt, ptr) \
	{ .stride = sizeof((ptr)[0]), .count = (cnt), .array = (__u64)(uintptr_t)(ptr) }

/* ---- device ---- */

/**
 * enum drm_npu_dev_query_type - what DRM_IOCTL_NPU_DEV_QUERY tells
 * @DRM_NPU_DEV_QUERY_NPU_INFO: struct drm_npu_npu_info
 * @DRM_NPU_DEV_QUERY_FW_INFO: struct drm_npu_fw_info
 * @DRM_NPU_DEV_QUERY_MMU_INFO: struct drm_npu_mmu_info
 * @DRM_NPU_DEV_QUERY_QUEUE_INFO: struct drm_npu_queue_info
 * @DRM_NPU_DEV_QUERY_TIMESTAMP: struct drm_npu_timestamp_info
 */
enum drm_npu_dev_query_type {
	DRM_NPU_DEV_QUERY_NPU_INFO = 0,
	DRM_NPU_DEV_QUERY_FW_INFO = 1,
	DRM_NPU_DEV_QUERY_MMU_INFO = 2,
	DRM_NPU_DEV_QUERY_QUEUE_INFO = 3,
	DRM_NPU_DEV_QUERY_TIMESTAMP = 4,
};

/**
 * struct drm_npu_dev_query - argument of DRM_IOCTL_NPU_DEV_QUERY
 * @type: enum drm_npu_dev_query_type
 * @size: in: bytes at @pointer, at most 4096 (else -E2BIG); out: bytes that the driver knows. Only
 *	the smaller of the two are written, and what is beyond is zeroed.
 * @pointer: where to; 0: only @size is written
 */
struct drm_npu_dev_query {
	__u32 type;
	__u32 size;
	__u64 pointer;
};

/**
 * struct drm_npu_npu_info - the accelerator
 * @hw_version: major << 16 | minor of the hardware
 * @isa_version: major << 16 | minor of the instruction set
 * @num_engines: jobs that can run at the same time
 * @mac_rows: rows of the MAC array
 * @mac_columns: columns of the MAC array
 * @sram_size: bytes of on-chip memory that a job may use
 * @dtypes: bit (1 << enum npu_dtype) of each element type
 * @pad: zero
 * @opcodes: bit per opcode, 256 of them
 * @epoch: grows with each reset of the device
 * @pad2: zero
 */
struct drm_npu_npu_info {
	__u32 hw_version;
	__u32 isa_version;
	__u32 num_engines;
	__u32 mac_rows;
	__u32 mac_columns;
	__u32 sram_size;
	__u32 dtypes;
	__u32 pad;
	__u64 opcodes[4];
	__u32 epoch;
	__u32 pad2;
};

/**
 * struct drm_npu_fw_info - the firmware that runs
 * @abi: of the interface between driver and firmware in use
 * @abi_min: lowest that the firmware speaks
 * @abi_max: highest that the firmware speaks
 * @pad: zero
 * @version: text, terminated
 * @build_id: of the image, 20 bytes and 4 of zero
 */
struct drm_npu_fw_info {
	__u32 abi;
	__u32 abi_min;
	__u32 abi_max;
	__u32 pad;
	__u8 version[32];
	__u8 build_id[24];
};

/**
 * struct drm_npu_mmu_info - address spaces
 * @va_bits: of the device's addresses
 * @pad: zero
 * @page_sizes: bit n: pages of 1 << n bytes
 * @user_va_end: first address behind those that a program may map
 */
struct drm_npu_mmu_info {
	__u32 va_bits;
	__u32 pad;
	__u64 page_sizes;
	__u64 user_va_end;
};

/**
 * struct drm_npu_queue_info - queues
 * @max_queues: of the device, all users together
 * @max_queues_user: that this user may have at a time
 * @max_vms_user: address spaces that this user may have at a time
 * @max_depth: most jobs of a queue that can be in flight
 * @priorities: bit (1 << enum drm_npu_priority) of those that the caller may ask for
 * @max_regions: of a job
 * @max_scalars: of a job
 * @max_jobs: in one submit
 * @timeout_ms: a job that makes no progress on an engine for so long is ended
 * @limit_ms: a job that has had an engine for so long is ended
 */
struct drm_npu_queue_info {
	__u32 max_queues;
	__u32 max_queues_user;
	__u32 max_vms_user;
	__u32 max_depth;
	__u32 priorities;
	__u32 max_regions;
	__u32 max_scalars;
	__u32 max_jobs;
	__u32 timeout_ms;
	__u32 limit_ms;
};

/**
 * struct drm_npu_timestamp_info - clocks, read close together
 * @frequency: of the device's clock in Hz
 * @device: its count: the ns of struct drm_npu_job_get_result at the @frequency of today, 10^9
 * @cpu_ns: CLOCK_MONOTONIC
 */
struct drm_npu_timestamp_info {
	__u64 frequency;
	__u64 device;
	__u64 cpu_ns;
};

/* ---- address spaces ---- */

/**
 * struct drm_npu_vm_create - argument of DRM_IOCTL_NPU_VM_CREATE
 * @flags: zero
 * @id: out
 * @user_va_range: in: bytes from address 0 on that will be mapped at most, 0: all; out: what it is
 *
 * -ENOSPC: no context is free, or the user has as many as allowed.
 */
struct drm_npu_vm_create {
	__u32 flags;
	__u32 id;
	__u64 user_va_range;
};

/**
 * struct drm_npu_vm_destroy - argument of DRM_IOCTL_NPU_VM_DESTROY
 * @id: of the VM
 * @pad: zero
 *
 * Queues of the VM are ended as by DRM_IOCTL_NPU_QUEUE_DESTROY.
 */
struct drm_npu_vm_destroy {
	__u32 id;
	__u32 pad;
};

/**
 * enum drm_npu_vm_bind_op_flags - of struct drm_npu_vm_bind_op
 * @DRM_NPU_VM_BIND_OP_READONLY: jobs may only read (MAP)
 * @DRM_NPU_VM_BIND_OP_EXEC: command streams are fetched from here; jobs may neither read nor write
 *	it as data (MAP, without READONLY)
 * @DRM_NPU_VM_BIND_OP_TYPE_MASK: what is done:
 * @DRM_NPU_VM_BIND_OP_TYPE_MAP: map; what was mapped there before is replaced
 * @DRM_NPU_VM_BIND_OP_TYPE_UNMAP: unmap; parts that are not mapped are no error
 */
enum drm_npu_vm_bind_op_flags {
	DRM_NPU_VM_BIND_OP_READONLY = 1 << 0,
	DRM_NPU_VM_BIND_OP_EXEC = 1 << 1,
	DRM_NPU_VM_BIND_OP_TYPE_MASK = 0xf << 28,
	DRM_NPU_VM_BIND_OP_TYPE_MAP = 0 << 28,
	DRM_NPU_VM_BIND_OP_TYPE_UNMAP = 1 << 28,
};

/**
 * struct drm_npu_vm_bind_op - one change of an address space
 * @flags: enum drm_npu_vm_bind_op_flags
 * @bo_handle: MAP: what is mapped; UNMAP: zero
 * @bo_offset: MAP: from where on, a multiple of 4096; UNMAP: zero
 * @va: a multiple of 4096
 * @size: a multiple of 4096, not zero
 */
struct drm_npu_vm_bind_op {
	__u32 flags;
	__u32 bo_handle;
	__u64 bo_offset;
	__u64 va;
	__u64 size;
};

/**
 * enum drm_npu_vm_bind_flags - of struct drm_npu_vm_bind
 * @DRM_NPU_VM_BIND_ASYNC: not supported, -EINVAL
 */
enum drm_npu_vm_bind_flags {
	DRM_NPU_VM_BIND_ASYNC = 1 << 0,
};

/**
 * struct drm_npu_vm_bind - argument of DRM_IOCTL_NPU_VM_BIND
 * @vm_id: of the VM
 * @flags: zero
 * @ops: array of struct drm_npu_vm_bind_op, at most 4096
 * @done: out: number of operations carried out, also on error
 * @pad: zero
 *
 * Operations are carried out in order, one after the other, and are complete when the ioctl
 * returns: no access by what was unmapped is under way any more.
 */
struct drm_npu_vm_bind {
	__u32 vm_id;
	__u32 flags;
	struct drm_npu_obj_array ops;
	__u32 done;
	__u32 pad;
};

/**
 * enum drm_npu_vm_state - of a VM
 * @DRM_NPU_VM_STATE_USABLE: all is well
 * @DRM_NPU_VM_STATE_UNUSABLE: an invalidation failed, and the reset after it; make another
 */
enum drm_npu_vm_state {
	DRM_NPU_VM_STATE_USABLE = 0,
	DRM_NPU_VM_STATE_UNUSABLE = 1,
};

/**
 * struct drm_npu_vm_get_state - argument of DRM_IOCTL_NPU_VM_GET_STATE
 * @vm_id: of the VM
 * @state: out: enum drm_npu_vm_state
 */
struct drm_npu_vm_get_state {
	__u32 vm_id;
	__u32 state;
};

/* ---- buffers ---- */

/**
 * enum drm_npu_bo_flags - of struct drm_npu_bo_create
 * @DRM_NPU_BO_NO_MMAP: the CPU will not map it
 */
enum drm_npu_bo_flags {
	DRM_NPU_BO_NO_MMAP = 1 << 0,
};

/**
 * struct drm_npu_bo_create - argument of DRM_IOCTL_NPU_BO_CREATE
 * @size: in: bytes, not zero; out: rounded up to pages
 * @flags: enum drm_npu_bo_flags
 * @exclusive_vm_id: the only VM that it will be mapped in, which makes submits cheaper; it can not
 *	be exported. 0: any
 * @handle: out: GEM handle
 * @pad: zero
 *
 * The memory is zero. Buffers of 2 MiB and more are made of large pages where there are any: map
 * them at multiples of 2 MiB.
 *
 * -ENOMEM: also more than the machine has, or 1 TiB and more. What is larger is made of several,
 * mapped side by side.
 */
struct drm_npu_bo_create {
	__u64 size;
	__u32 flags;
	__u32 exclusive_vm_id;
	__u32 handle;
	__u32 pad;
};

/**
 * struct drm_npu_bo_mmap_offset - argument of DRM_IOCTL_NPU_BO_MMAP_OFFSET
 * @handle: of the buffer
 * @pad: zero
 * @offset: out: for mmap() on the device's file
 *
 * -EINVAL: DRM_NPU_BO_NO_MMAP, or imported (map the dma-buf).
 */
struct drm_npu_bo_mmap_offset {
	__u32 handle;
	__u32 pad;
	__u64 offset;
};

/**
 * enum drm_npu_bo_sync_type - direction of struct drm_npu_bo_sync_op
 * @DRM_NPU_BO_SYNC_TO_DEVICE: the CPU has written, the device will read
 * @DRM_NPU_BO_SYNC_FROM_DEVICE: the device has written, the CPU will read
 */
enum drm_npu_bo_sync_type {
	DRM_NPU_BO_SYNC_TO_DEVICE = 0,
	DRM_NPU_BO_SYNC_FROM_DEVICE = 1,
};

/**
 * struct drm_npu_bo_sync_op - one range
 * @handle: of a buffer; imported ones are refused with -EINVAL, use DMA_BUF_IOCTL_SYNC there
 * @type: enum drm_npu_bo_sync_type
 * @offset: first byte
 * @size: bytes
 */
struct drm_npu_bo_sync_op {
	__u32 handle;
	__u32 type;
	__u64 offset;
	__u64 size;
};

/**
 * struct drm_npu_bo_sync - argument of DRM_IOCTL_NPU_BO_SYNC
 * @ops: array of struct drm_npu_bo_sync_op, at most 4096
 *
 * Makes caches and bounce buffers agree. On coherent machines there is nothing to do, but portable
 * programs call it.
 */
struct drm_npu_bo_sync {
	struct drm_npu_obj_array ops;
};

/**
 * enum drm_npu_bo_extra - of struct drm_npu_bo_query_info
 * @DRM_NPU_BO_IS_IMPORTED: the memory is another driver's
 * @DRM_NPU_BO_IS_BOUNCED: the kernel copies between this memory and what the device sees
 */
enum drm_npu_bo_extra {
	DRM_NPU_BO_IS_IMPORTED = 1 << 0,
	DRM_NPU_BO_IS_BOUNCED = 1 << 1,
};

/**
 * struct drm_npu_bo_query_info - argument of DRM_IOCTL_NPU_BO_QUERY_INFO
 * @handle: of the buffer
 * @create_flags: out: enum drm_npu_bo_flags
 * @size: out: bytes
 * @extra: out: enum drm_npu_bo_extra
 * @pad: zero
 */
struct drm_npu_bo_query_info {
	__u32 handle;
	__u32 create_flags;
	__u64 size;
	__u32 extra;
	__u32 pad;
};

/** DRM_NPU_BO_LABEL_MAX - longest label, with its end */
#define DRM_NPU_BO_LABEL_MAX	128

/**
 * struct drm_npu_bo_set_label - argument of DRM_IOCTL_NPU_BO_SET_LABEL
 * @handle: of the buffer
 * @pad: zero
 * @label: pointer to terminated text, shown in debugfs and in dumps; 0: none any more
 *
 * -E2BIG: longer than DRM_NPU_BO_LABEL_MAX.
 */
struct drm_npu_bo_set_label {
	__u32 handle;
	__u32 pad;
	__u64 label;
};

/* ---- queues and jobs ---- */

/**
 * enum drm_npu_priority - of a queue
 * @DRM_NPU_PRIORITY_LOW: when nobody else wants the device
 * @DRM_NPU_PRIORITY_NORMAL: usual
 * @DRM_NPU_PRIORITY_HIGH: before the others; needs CAP_SYS_NICE
 * @DRM_NPU_PRIORITY_REALTIME: before all; needs CAP_SYS_NICE
 */
enum drm_npu_priority {
	DRM_NPU_PRIORITY_LOW = 0,
	DRM_NPU_PRIORITY_NORMAL = 1,
	DRM_NPU_PRIORITY_HIGH = 2,
	DRM_NPU_PRIORITY_REALTIME = 3,
};

/**
 * struct drm_npu_queue_create - argument of DRM_IOCTL_NPU_QUEUE_CREATE
 * @vm_id: where its jobs live
 * @priority: enum drm_npu_priority
 * @flags: zero
 * @depth: in: most jobs in flight, further ones wait in the kernel; 0: 64. Out: rounded up to a
 *	power of two
 * @id: out
 * @pad: zero
 *
 * -EACCES: the priority needs CAP_SYS_NICE. -ENOSPC: no queue is free, or the user has as many as
 * allowed.
 */
struct drm_npu_queue_create {
	__u32 vm_id;
	__u32 priority;
	__u32 flags;
	__u32 depth;
	__u32 id;
	__u32 pad;
};

/**
 * struct drm_npu_queue_destroy - argument of DRM_IOCTL_NPU_QUEUE_DESTROY
 * @id: of the queue
 * @pad: zero
 *
 * Jobs that have not ended are aborted: their fences signal with -ECANCELED.
 */
struct drm_npu_queue_destroy {
	__u32 id;
	__u32 pad;
};

/**
 * struct drm_npu_fault - why a job stopped, as the device says; the layout of struct npu_fault
 * @code: enum npu_fault_code of the instruction set
 * @insn: index of the instruction in the stream
 * @stream_offset: its first byte
 * @opcode: of it
 * @tag: of it
 * @operand: slot, or ~0
 * @access: NPU_ACCESS_* that was wanted
 * @field: index of a parameter or dimension, or ~0
 * @address: of the access, where known
 * @value: that is wrong: an index, a parameter, an extent
 */
struct drm_npu_fault {
	__u32 code;
	__u32 insn;
	__u32 stream_offset;
	__u32 opcode;
	__u32 tag;
	__u32 operand;
	__u32 access;
	__u32 field;
	__u64 address;
	__s64 value;
};

/**
 * enum drm_npu_queue_state - flags of struct drm_npu_queue_get_state
 * @DRM_NPU_QUEUE_STATE_FATAL: a job ended badly; submits are refused with -EIO, make another queue
 * @DRM_NPU_QUEUE_STATE_TIMEDOUT: it hung, or took too long
 * @DRM_NPU_QUEUE_STATE_FAULTED: it faulted, see the record
 * @DRM_NPU_QUEUE_STATE_INNOCENT: a reset that another queue, or the device, was the cause of took
 *	a job that had started (-ECANCELED). The queue is usable unless FATAL is set, too
 */
enum drm_npu_queue_state {
	DRM_NPU_QUEUE_STATE_FATAL = 1 << 0,
	DRM_NPU_QUEUE_STATE_TIMEDOUT = 1 << 1,
	DRM_NPU_QUEUE_STATE_FAULTED = 1 << 2,
	DRM_NPU_QUEUE_STATE_INNOCENT = 1 << 3,
};

/**
 * struct drm_npu_queue_get_state - argument of DRM_IOCTL_NPU_QUEUE_GET_STATE
 * @id: of the queue
 * @state: out: enum drm_npu_queue_state
 * @job_id: out: first job that ended badly, 0: none
 * @submitted: out: newest job
 * @completed: out: newest job that has ended
 * @resets: out: of the device, that this queue has lived through; system sleep is one
 * @pad: zero
 * @fault: out: record of @job_id
 */
struct drm_npu_queue_get_state {
	__u32 id;
	__u32 state;
	__u64 job_id;
	__u64 submitted;
	__u64 completed;
	__u32 resets;
	__u32 pad;
	struct drm_npu_fault fault;
};

/**
 * enum drm_npu_sync_op_flags - of struct drm_npu_sync_op
 * @DRM_NPU_SYNC_OP_TIMELINE: the handle is a timeline syncobj
 * @DRM_NPU_SYNC_OP_WAIT: the job waits for it
 * @DRM_NPU_SYNC_OP_SIGNAL: it signals when the job has ended
 */
enum drm_npu_sync_op_flags {
	DRM_NPU_SYNC_OP_TIMELINE = 1 << 0,
	DRM_NPU_SYNC_OP_WAIT = 1 << 1,
	DRM_NPU_SYNC_OP_SIGNAL = 1 << 2,
};

/**
 * struct drm_npu_sync_op - one wait or one signal
 * @flags: enum drm_npu_sync_op_flags, exactly one of WAIT and SIGNAL
 * @handle: of the syncobj
 * @timeline_value: point, TIMELINE only, not zero there; else zero
 */
struct drm_npu_sync_op {
	__u32 flags;
	__u32 handle;
	__u64 timeline_value;
};

/** enum drm_npu_access - of struct drm_npu_region; as NPU_ACCESS_* of the instruction set
 * @DRM_NPU_ACCESS_READ: the job may read it
 * @DRM_NPU_ACCESS_WRITE: the job may write it
 * @DRM_NPU_ACCESS_SRAM: base is an offset into on-chip memory
 */
enum drm_npu_access {
	DRM_NPU_ACCESS_READ = 1 << 0,
	DRM_NPU_ACCESS_WRITE = 1 << 1,
	DRM_NPU_ACCESS_SRAM = 1 << 2,
};

/**
 * struct drm_npu_region - one entry of a job's region table; the layout of struct npu_region
 * @base: address in the VM, or offset with DRM_NPU_ACCESS_SRAM
 * @size: bytes
 * @access: enum drm_npu_access
 * @pad: zero
 */
struct drm_npu_region {
	__u64 base;
	__u64 size;
	__u32 access;
	__u32 pad;
};

/**
 * enum drm_npu_job_flags - of struct drm_npu_job
 * @DRM_NPU_JOB_TRACE_PROFILE: write a record of each instruction
 * @DRM_NPU_JOB_TRACE_DIGEST: write a digest of each output
 */
enum drm_npu_job_flags {
	DRM_NPU_JOB_TRACE_PROFILE = 1 << 0,
	DRM_NPU_JOB_TRACE_DIGEST = 1 << 1,
};

/**
 * struct drm_npu_job - one run of a command stream
 * @stream: address of its header in the VM, mapped with DRM_NPU_VM_BIND_OP_EXEC, multiple of 8
 * @stream_size: bytes
 * @flags: enum drm_npu_job_flags
 * @regions: array of struct drm_npu_region, at most max_regions
 * @scalars: array of __u64, at most max_scalars; each below 1 << 32
 * @syncs: array of struct drm_npu_sync_op, at most 256
 * @trace: with a TRACE flag: address in the VM of struct npu_hw_trace; else zero
 * @trace_size: bytes there
 * @pad: zero
 * @id: out: number of the job in its queue, from 1
 */
struct drm_npu_job {
	__u64 stream;
	__u32 stream_size;
	__u32 flags;
	struct drm_npu_obj_array regions;
	struct drm_npu_obj_array scalars;
	struct drm_npu_obj_array syncs;
	__u64 trace;
	__u32 trace_size;
	__u32 pad;
	__u64 id;
};

/**
 * struct drm_npu_submit - argument of DRM_IOCTL_NPU_SUBMIT
 * @queue_id: of the queue
 * @flags: zero
 * @jobs: array of struct drm_npu_job, 1 to max_jobs; ids are written back
 * @done: out: number of jobs that were taken, also on error: the one at this index was at fault
 * @pad: zero
 *
 * Jobs of a queue run in the order of submits. Syncobjs are changed only for jobs that were taken.
 * Ids go up by one, and are written when all jobs have been taken: a program that takes the memory
 * away meanwhile gets -EFAULT and @done. Before a job is taken its id is zeroed.
 * -EIO: the queue is dead. -ETIME is a fence's error of a job that hung, -EIO of one that faulted,
 * -ECANCELED of one that was aborted or lost to a reset, -ENODEV of one whose device went away.
 */
struct drm_npu_submit {
	__u32 queue_id;
	__u32 flags;
	struct drm_npu_obj_array jobs;
	__u32 done;
	__u32 pad;
};

/**
 * enum drm_npu_job_status - of struct drm_npu_job_get_result
 * @DRM_NPU_JOB_PENDING: has not ended
 * @DRM_NPU_JOB_DONE: ended well
 * @DRM_NPU_JOB_FAULTED: see the record
 * @DRM_NPU_JOB_TIMEDOUT: hung or took too long
 * @DRM_NPU_JOB_CANCELED: by JOB_CANCEL, with its queue, or behind a job that ended badly
 * @DRM_NPU_JOB_INNOCENT: lost to a reset that it did not cause
 */
enum drm_npu_job_status {
	DRM_NPU_JOB_PENDING = 0,
	DRM_NPU_JOB_DONE = 1,
	DRM_NPU_JOB_FAULTED = 2,
	DRM_NPU_JOB_TIMEDOUT = 3,
	DRM_NPU_JOB_CANCELED = 4,
	DRM_NPU_JOB_INNOCENT = 5,
};

/**
 * struct drm_npu_job_get_result - argument of DRM_IOCTL_NPU_JOB_GET_RESULT
 * @queue_id: of the queue
 * @status: out: enum drm_npu_job_status
 * @job_id: in
 * @started_ns: out: device time, 0: it never ran
 * @ended_ns: out
 * @busy_ns: out: time on an engine
 * @insns: out: instructions executed
 * @slices: out: times it was put on an engine
 * @fault: out: with DRM_NPU_JOB_FAULTED
 *
 * The queue remembers its last max(depth, 64) jobs. -ENOENT: older, or not submitted yet.
 */
struct drm_npu_job_get_result {
	__u32 queue_id;
	__u32 status;
	__u64 job_id;
	__u64 started_ns;
	__u64 ended_ns;
	__u64 busy_ns;
	__u32 insns;
	__u32 slices;
	struct drm_npu_fault fault;
};

/**
 * struct drm_npu_job_cancel - argument of DRM_IOCTL_NPU_JOB_CANCEL
 * @queue_id: of the queue
 * @flags: zero
 * @job_id: of the job
 *
 * A job that has not begun will not; one that is on an engine is stopped within a millisecond of
 * work, and what it would have written is not defined. Either ends with -ECANCELED when its turn
 * has come: behind what it waits for and behind the jobs in front of it. Those, and the ones behind
 * it, are not touched, and the queue stays usable. The call does not wait for that end, and a job
 * that has ended or is about to ends as it does: both are success, and JOB_GET_RESULT tells.
 *
 * -ENOENT: no such job has been submitted. -EOPNOTSUPP: the firmware is too old. Since minor
 * version 1 of the driver.
 */
struct drm_npu_job_cancel {
	__u32 queue_id;
	__u32 flags;
	__u64 job_id;
};

#define DRM_IOCTL_NPU(nr, type) \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NPU_##nr, struct drm_npu_##type)

#define DRM_IOCTL_NPU_DEV_QUERY		DRM_IOCTL_NPU(DEV_QUERY, dev_query)
#define DRM_IOCTL_NPU_VM_CREATE		DRM_IOCTL_NPU(VM_CREATE, vm_create)
#define DRM_IOCTL_NPU_VM_DESTROY	DRM_IOCTL_NPU(VM_DESTROY, vm_destroy)
#define DRM_IOCTL_NPU_VM_BIND		DRM_IOCTL_NPU(VM_BIND, vm_bind)
#define DRM_IOCTL_NPU_VM_GET_STATE	DRM_IOCTL_NPU(VM_GET_STATE, vm_get_state)
#define DRM_IOCTL_NPU_BO_CREATE		DRM_IOCTL_NPU(BO_CREATE, bo_create)
#define DRM_IOCTL_NPU_BO_MMAP_OFFSET	DRM_IOCTL_NPU(BO_MMAP_OFFSET, bo_mmap_offset)
#define DRM_IOCTL_NPU_BO_SYNC		DRM_IOCTL_NPU(BO_SYNC, bo_sync)
#define DRM_IOCTL_NPU_BO_QUERY_INFO	DRM_IOCTL_NPU(BO_QUERY_INFO, bo_query_info)
#define DRM_IOCTL_NPU_BO_SET_LABEL	DRM_IOCTL_NPU(BO_SET_LABEL, bo_set_label)
#define DRM_IOCTL_NPU_QUEUE_CREATE	DRM_IOCTL_NPU(QUEUE_CREATE, queue_create)
#define DRM_IOCTL_NPU_QUEUE_DESTROY	DRM_IOCTL_NPU(QUEUE_DESTROY, queue_destroy)
#define DRM_IOCTL_NPU_QUEUE_GET_STATE	DRM_IOCTL_NPU(QUEUE_GET_STATE, queue_get_state)
#define DRM_IOCTL_NPU_SUBMIT		DRM_IOCTL_NPU(SUBMIT, submit)
#define DRM_IOCTL_NPU_JOB_GET_RESULT	DRM_IOCTL_NPU(JOB_GET_RESULT, job_get_result)
#define DRM_IOCTL_NPU_JOB_CANCEL	DRM_IOCTL_NPU(JOB_CANCEL, job_cancel)

#if defined(__cplusplus)
}
#endif

#endif
