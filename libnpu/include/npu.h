/* SPDX-License-Identifier: MIT */
/*
 * libnpu: run compiled models (.npu job files) and command streams on an NPU, or on the same engine
 * in process.
 *
 *	struct npu_error err;
 *	npu_device_open(NULL, NULL, &dev, &err);
 *	npu_job_load(dev, "model.npu", 0, &job, &err);
 *	npu_run_create(job, &run, &err);
 *	npu_run_write(run, "x", data, size, &err);
 *	npu_queue_create(dev, NULL, &queue, &err);
 *	npu_queue_submit(queue, run, NULL, &fence, &err);
 *	npu_fence_wait(fence, npu_deadline_after(1000000000), &err);
 *	npu_run_read(run, "y", out, out_size, &err);
 *
 * Errors. Functions return 0 or a negative errno. Those that take a struct npu_error * also write
 * the reason in words there: which file, field, tensor or argument, and what was expected. It may
 * be NULL; on success it is not touched. A job that fails on the device has its reason in its fence
 * (npu_fence_text(), npu_fence_fault()) and npu_fence_wait() returns it: no call reports success
 * for work that was not done. The library never aborts and prints nothing.
 *
 * Arguments. Object pointers must be valid and must not be NULL, except in the functions that drop
 * a reference, which ignore NULL. Where a NULL output pointer or name would be a plain mistake,
 * -EINVAL is returned.
 *
 * Threads. Functions on different objects may be called at the same time. On one object: devices,
 * buffers (but not their bytes), queues, jobs and fences are safe from many threads at once; a run
 * belongs to one thread at a time.
 *
 * Lifetime. Objects hold references on what they need: a device may be closed, a job unloaded and a
 * buffer dropped while work that uses them is under way; the memory goes when the last user is
 * done.
 *
 * fork(). A device belongs to the process that opened it. In a child, every call that needs the
 * device returns -ENODEV with a text that says so, and functions that drop references do nothing;
 * open a device in the child. exec() is fine.
 *
 * Versions. Structs that may grow begin with a size member: set it to sizeof (NPU_INIT() does). A
 * library that is newer fills in or reads only that much; one that is older refuses bytes that it
 * does not know unless they are zero.
 */
#ifndef NPU_H
#define NPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "npu_isa.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define NPU_ABI_MAJOR	0	/* another one is another library */
#define NPU_ABI_MINOR	2	/* grows when something is added */

#define NPU_TENSOR_MAX_RANK	8
#define NPU_ERROR_TEXT		508

/* Prepare a struct that begins with a size member: struct npu_device_info info = NPU_INIT(info); */
#define NPU_INIT(var)	{ .size = sizeof(var) }

/* Where a function leaves its reason. */
struct npu_error {
	int code;			/* the negative errno returned */
	char text[NPU_ERROR_TEXT];	/* one line, always terminated */
};

struct npu_device;
struct npu_host_op;
struct npu_buffer;
struct npu_queue;
struct npu_job;
struct npu_run;
struct npu_fence;

/* ---- versions ---- */

/* Version of the library as text, "0.1.0". */
const char *npu_version(void);

/*
 * Is the library that is loaded good for a program built with this header? Pass NPU_ABI_MAJOR and
 * NPU_ABI_MINOR. Returns 0 or -ENOTSUP (another major, or an older minor; the text has both
 * versions).
 */
int npu_abi_check(unsigned int major, unsigned int minor, struct npu_error *err);

/* ---- devices ---- */

struct npu_device_options {
	uint32_t size;			/* sizeof, see NPU_INIT() */
	/* sim: CPU threads for the work, at most 256; 0: one per CPU */
	uint32_t threads;
	uint64_t sram_size;		/* sim: bytes of on-chip memory, 0: 2 MiB */
	/*
	 * sim: the caller's thread pool instead of own threads. Run fn(arg, i) for every i < n, in
	 * any order, on any threads; return when all are done. Called from the device's worker
	 * thread.
	 */
	void (*parallel_for)(void *ctx, unsigned int n, void (*fn)(void *arg, unsigned int i),
			     void *arg);
	void *parallel_ctx;
	/*
	 * Host operators of the application, see npu_host.h; they must stay until the device is
	 * gone. The same names in libnpu's own table are hidden by them.
	 */
	const struct npu_host_op *host_ops;
	uint32_t num_host_ops;
	uint32_t reserved;
	/*
	 * Kernel driver: bytes of one of its objects at most, 0: 1 GiB. A larger buffer is made of
	 * several, and is one range for the device and for the host all the same.
	 */
	uint64_t max_object;
};

/* A place where a device may be, and why it can not be used. */
struct npu_device_candidate {
	uint32_t size;
	int32_t status;			/* 0: usable; else what opening would return */
	char uri[64];			/* for npu_device_open() */
	char name[64];
	char reason[256];		/* with a status other than 0: why, and what to do */
};

struct npu_device_info {
	uint32_t size;
	uint32_t threads;		/* CPU threads of the engine, 0: not known */
	char name[64];			/* "NPU v1 in process" */
	char backend[16];		/* "sim" */
	char uri[64];			/* what was opened */
	char simd[16];			/* sim: instruction set of the CPU in use */
	char driver[32];		/* version of the kernel driver, "" without one */
	char firmware[32];		/* version of the firmware, "" without one */
	uint16_t isa_major, isa_minor;	/* instruction set */
	uint32_t dtypes;		/* bit (1 << enum npu_dtype) */
	uint64_t opcodes[4];		/* bit per opcode */
	uint64_t sram_size;		/* bytes of on-chip memory */
	uint64_t max_buffer;		/* largest buffer in bytes */
	uint32_t buffer_align;		/* imported host memory must begin at a multiple of this */
	uint32_t num_priorities;	/* of queues */
	uint64_t max_object;		/* that of the options, rounded; 0: in process, none */
};

/*
 * Open a device.
 *
 * @uri: NULL: the first /dev/accel/accelN that can be used, else "sim". "/dev/accel/accel0": that
 *	node. "sim": in process; "sim:threads=2,simd=portable,sram=4194304": with options, which
 *	win over those in @options. simd is auto, portable, avx2, avx-vnni,
 *	avx512 or avx512-vnni; sram is in bytes. "drm:fd=5": an accel node
 *	that is open already; the descriptor stays the caller's. The kernel driver's take an
 *	option, too: "/dev/accel/accel0:max-object=1048576", "drm:fd=5,max-object=1048576".
 * @options: or NULL.
 *
 * Errors: -ENODEV (no such device, or no backend for it), -EINVAL (the URI or an option, by name),
 * -ENOTSUP (simd not on this CPU), -EACCES, -ENOMEM, -EAGAIN (no thread could be started).
 */
int npu_device_open(const char *uri, const struct npu_device_options *options,
		    struct npu_device **dev, struct npu_error *err);

/* Drop the caller's reference. Does not wait: what was submitted is run to its end first. */
void npu_device_close(struct npu_device *dev);

/*
 * Candidate number @index, counted from 0, in the order in which npu_device_open(NULL) tries them.
 * Scans the machine at every call. Returns 0, -ENOENT past the last one, -EINVAL (size).
 */
int npu_device_candidate(unsigned int index, struct npu_device_candidate *out);

/* Returns 0 or -EINVAL (size). */
int npu_device_info(const struct npu_device *dev, struct npu_device_info *info,
		    struct npu_error *err);

/*
 * Would the device run this instruction? @words: it, encoded, with its header (see npu_kernels.h);
 * terms are taken at 0. Pure and fast. Returns 0, -ENOTSUP (the opcode is not there), -EINVAL
 * (malformed, or shapes and types that the opcode does not take), each with its reason.
 */
int npu_device_supports(const struct npu_device *dev, const uint32_t *words, size_t num_words,
			struct npu_error *err);

/* ---- buffers ---- */

/*
 * Memory that the device can use, zero at first, page aligned. @size: bytes, 1 .. info.max_buffer.
 * @flags: 0. Errors: -EINVAL (size 0 or flags), -E2BIG (size), -ENOMEM, -ENODEV (after fork).
 */
int npu_buffer_create(struct npu_device *dev, uint64_t size, uint32_t flags,
		      struct npu_buffer **buf, struct npu_error *err);

/* The memory can not be written, by host or device: a mapped file. */
#define NPU_BUFFER_READ_ONLY	1u

/*
 * Use the caller's memory without a copy. It must stay until npu_buffer_put() and until the work
 * that uses the buffer is done (@release, when not NULL, is called with @ctx when the library is
 * finished with it, from any thread, also from within npu_fence_wait() or npu_fence_status(),
 * once).
 * @flags: 0 or NPU_BUFFER_READ_ONLY. Errors as above; -EINVAL also for NULL and for
 * info.buffer_align.
 */
int npu_buffer_import_host(struct npu_device *dev, void *ptr, uint64_t size, uint32_t flags,
			   void (*release)(void *ctx), void *ctx, struct npu_buffer **buf,
			   struct npu_error *err);

/*
 * Share memory with other devices by dma-buf: all of one, for reading and writing, as
 * npu_buffer_import() of npu_share.h does, which has the errors; and a descriptor of a buffer, the
 * caller's. In process there is none for memory that is not imported: -ENOTSUP. @fd stays the
 * caller's.
 */
int npu_buffer_import_dmabuf(struct npu_device *dev, int fd, struct npu_buffer **buf,
			     struct npu_error *err);
/* -ENOTSUP also for a buffer that is larger than info.max_object. */
int npu_buffer_export_dmabuf(struct npu_buffer *buf, int *fd, struct npu_error *err);

/* Take another reference; returns @buf. */
struct npu_buffer *npu_buffer_get(struct npu_buffer *buf);
void npu_buffer_put(struct npu_buffer *buf);

uint64_t npu_buffer_size(const struct npu_buffer *buf);

/*
 * The bytes, for the host; valid as long as the buffer. A dma-buf is mapped when this, or a call
 * that copies, is first made; accesses to it belong between npu_buffer_begin_access() and
 * npu_buffer_end_access(). Errors: -ENOTSUP (memory that the host can not see), -ENODEV (after
 * fork).
 */
int npu_buffer_map(struct npu_buffer *buf, void **ptr, struct npu_error *err);

enum npu_sync { NPU_SYNC_TO_DEVICE, NPU_SYNC_FROM_DEVICE };

/*
 * Between writing through npu_buffer_map() and submitting (TO_DEVICE), and between a fence and
 * reading (FROM_DEVICE). Nothing to do on coherent machines, but portable programs call it. Errors:
 * -EINVAL (range or direction), and of a dma-buf what its exporter says.
 */
int npu_buffer_sync(struct npu_buffer *buf, uint64_t offset, uint64_t size, enum npu_sync direction,
		    struct npu_error *err);

/*
 * Copy to or from [offset, offset + size), syncs included. Errors: -EINVAL (range), -EACCES (write
 * to READ_ONLY), -ENOTSUP.
 */
int npu_buffer_write(struct npu_buffer *buf, uint64_t offset, const void *data, size_t size,
		     struct npu_error *err);
int npu_buffer_read(struct npu_buffer *buf, uint64_t offset, void *data, size_t size,
		    struct npu_error *err);

/* ---- jobs ---- */

/* npu_job_load_memory(): use the caller's bytes for the weights, do not copy (if page aligned). */
#define NPU_JOB_BORROW			1u
/* Do not read all weights at load to check their sum. */
#define NPU_JOB_SKIP_WEIGHTS_CRC	2u
/* Check the digest of the whole file as well. */
#define NPU_JOB_CHECK_DIGEST		4u

/*
 * Load a job file for @dev. It is verified: sums, every index and length, every instruction against
 * its regions at the smallest and the largest lengths. The weights stay in the file, which is
 * mapped: it must not be cut short while the job is loaded (replace files by rename).
 *
 * Errors: what opening the file said, -EBADMSG (not a job file, truncated, a sum is wrong), -EINVAL
 * (contradicts itself), -ENOTSUP (needs a newer libnpu, a host operator that neither it nor the
 * application has, an opcode or more on-chip memory than the device has), -ENOMEM, -ENODEV.
 */
int npu_job_load(struct npu_device *dev, const char *path, uint32_t flags, struct npu_job **job,
		 struct npu_error *err);

/*
 * The same from memory; @name stands for the path in texts. With NPU_JOB_BORROW, @data must outlive
 * the job and its work.
 */
int npu_job_load_memory(struct npu_device *dev, const void *data, size_t size, const char *name,
			uint32_t flags, struct npu_job **job, struct npu_error *err);

/*
 * Drop the caller's reference; runs and work under way keep the job alive. Strings from the queries
 * below go with it.
 */
void npu_job_unload(struct npu_job *job);

struct npu_job_info {
	uint32_t size;
	uint16_t format_major, format_minor;
	uint16_t isa_major, isa_minor;
	uint16_t runtime_major, runtime_minor;	/* lowest libnpu that runs it */
	uint32_t num_programs;
	uint64_t opcodes[4];		/* used */
	uint64_t file_size;
	/*
	 * Bytes of memory. scratch, sram, input, output and state: of the program that needs most,
	 * at its largest lengths.
	 */
	uint64_t weights, scratch, sram, input, output, state;
	uint64_t streams;		/* instructions of all programs */
	const char *name;		/* the path, as given */
	const char *compiler;
	const char *report;		/* JSON, "" when the file has none */
	char digest[65];		/* SHA-256, hex */
};

/* Returns 0 or -EINVAL (size). */
int npu_job_info(const struct npu_job *job, struct npu_job_info *info);

/* How the job was made: pair @index of key and value. Returns 0 or -ENOENT past the end. */
int npu_job_record(const struct npu_job *job, unsigned int index, const char **key,
		   const char **value);

/* A program is one set of exact shapes, or a range of them. */
struct npu_program_info {
	uint32_t size;
	uint32_t num_symbols, num_regions, num_tensors;
	uint32_t num_insns;
	uint32_t stream_size;		/* bytes */
	uint64_t macs, bytes;		/* predicted, at the largest lengths */
	uint64_t scratch, sram;		/* bytes, at the largest lengths */
	const char *name;
	/*
	 * as in uapi/npu_isa.h; NULL when there are host steps (then stream_size is of all streams)
	 */
	const void *stream;
	uint64_t host_bytes;		/* read and written by host steps, at the largest lengths */
	uint32_t num_host_steps;
	uint32_t reserved;
};

/* Returns 0, -ENOENT (no such program) or -EINVAL (size). */
int npu_job_program(const struct npu_job *job, unsigned int program, struct npu_program_info *info);

/* A length given at run time. */
struct npu_symbol_info {
	uint32_t size;
	uint32_t min, max, step;	/* value: min, min + step, .., max */
	uint32_t derived;		/* 1: follows from the others */
	uint32_t stride;		/* 1: of an input's rows, by npu_run_set_stride() */
	const char *name;
};

/* Returns 0, -ENOENT or -EINVAL. */
int npu_job_symbol(const struct npu_job *job, unsigned int program, unsigned int index,
		   struct npu_symbol_info *info);

enum npu_region_role {
	NPU_REGION_WEIGHTS,
	NPU_REGION_SCRATCH,
	NPU_REGION_SRAM,
	NPU_REGION_INPUT,
	NPU_REGION_OUTPUT,
	NPU_REGION_STATE,
	NPU_NUM_REGION_ROLES
};

struct npu_region_info {
	uint32_t size;
	uint32_t role;			/* enum npu_region_role */
	uint32_t access;		/* NPU_ACCESS_* */
	uint32_t align;			/* of the address */
	uint64_t min_bytes, max_bytes;	/* at the smallest and largest lengths */
	const char *name;
};

int npu_job_region(const struct npu_job *job, unsigned int program, unsigned int index,
		   struct npu_region_info *info);

enum npu_tensor_role {
	NPU_TENSOR_INPUT, NPU_TENSOR_OUTPUT, NPU_TENSOR_STATE, NPU_TENSOR_INTERNAL,
	NPU_NUM_TENSOR_ROLES
};

struct npu_tensor_info {
	uint32_t size;
	uint32_t role;			/* enum npu_tensor_role */
	uint32_t dtype;			/* enum npu_dtype; enum npu_host_dtype of npu_host.h */
	uint32_t rank;
	int64_t min_dim[NPU_TENSOR_MAX_RANK];	/* the same as max_dim where a dim is fixed */
	int64_t max_dim[NPU_TENSOR_MAX_RANK];
	/* index of the symbol that the dim depends on, -1: fixed */
	int32_t symbol[NPU_TENSOR_MAX_RANK];
	uint32_t region;
	uint32_t dense;			/* 1: row major without gaps */
	float scale;			/* quantized: value = scale * (code - zero_point); 0: not */
	int32_t zero_point;
	const char *name;
	const char *node;		/* of the model */
	/*
	 * 1: the dims are upper bounds, the data give the real ones: npu_run_get_shape() after a
	 * run
	 */
	uint32_t bounded;
	uint32_t reserved;
};

int npu_job_tensor(const struct npu_job *job, unsigned int program, unsigned int index,
		   struct npu_tensor_info *info);

/*
 * An input of the model that is fed with a camera's frame as it is (npu-compile --input-format).
 * Each of its planes is an input tensor of the job, u8 [rows][row_bytes]: bind or write these as
 * any input. With "crop=box" in its spec, input NAME.box says which part of the frame: f32 [N, 4],
 * y0, x0, y1, x1.
 */
struct npu_image_info {
	uint32_t size;
	uint32_t fourcc;		/* pixel format, as V4L2_PIX_FMT_* in videodev2.h */
	uint32_t width, height;		/* of the frame in pixels */
	uint32_t num_planes;
	uint32_t reserved;
	uint64_t bytes;			/* of a frame in one buffer, with the planes' own strides */
	const char *name;		/* of the model's input */
	const char *spec;		/* what is made of it, as given to --input-format */
};

/* Image number @index of a program. Returns 0, -ENOENT past the last one, -EINVAL (size). */
int npu_job_image(const struct npu_job *job, unsigned int program, unsigned int index,
		  struct npu_image_info *info);

struct npu_plane_info {
	uint32_t size;
	uint32_t tensor;		/* index for npu_job_tensor() */
	uint32_t rows, row_bytes;	/* that the device reads */
	/*
	 * Bytes from row to row: what they are when nobody says, and what npu_run_set_stride()
	 * takes; both the same: the job was compiled for this one.
	 */
	uint32_t stride, max_stride;
	uint64_t offset;		/* of it in one buffer, with the planes' own strides */
	const char *name;		/* of the tensor, for npu_run_bind() and others */
};

/* Plane @plane of image @index. Returns 0, -ENOENT or -EINVAL (size). */
int npu_job_plane(const struct npu_job *job, unsigned int program, unsigned int index,
		  unsigned int plane, struct npu_plane_info *info);

/* What the instructions with one tag stand for. */
struct npu_debug_info {
	uint32_t size;
	uint32_t tag;
	uint32_t slot;			/* operand that is @tensor, ~0: none */
	float scale;			/* of @tensor's codes when it is quantized, else 0 */
	uint64_t macs, bytes;		/* predicted, at the largest lengths */
	const char *node;		/* model nodes */
	const char *op;			/* model operators */
	const char *tensor;		/* that is made */
};

/* By @tag. Returns 0, -ENOENT or -EINVAL. */
int npu_job_debug(const struct npu_job *job, unsigned int program, uint32_t tag,
		  struct npu_debug_info *info);

/*
 * The instruction at *@offset as a line of text into @buf (cut to @size, always terminated);
 * *@offset moves to the next one. Start with 0, which stands for the first. Returns 0, -ENOENT past
 * END, -EINVAL (not an offset of an instruction). Offsets are those of profiles and faults: they
 * count through all steps of the program; a host step between streams is a line of its own,
 * "host NonZero(x) -> y".
 */
int npu_job_disassemble(const struct npu_job *job, unsigned int program, uint32_t *offset,
			char *buf, size_t size);

/* ---- runs ---- */

/*
 * A run is one binding of a job: the lengths, the memory of its tensors, and scratch. It can be
 * submitted again and again, one submit at a time; make several runs to have several in flight.
 * They share the weights. Errors: -ENOMEM, -ENODEV.
 */
int npu_run_create(struct npu_job *job, struct npu_run **run, struct npu_error *err);

/* Drops the caller's reference; a submit under way ends normally. */
void npu_run_destroy(struct npu_run *run);

/*
 * Give the shape of an input (or state). The program and the scalars follow from the shapes given;
 * those of inputs that have one fixed shape need not be given. Inputs that share a length are given
 * one after the other: that all shapes agree is checked by the calls that need the lengths
 * (npu_run_get_shape(), npu_run_program(), npu_run_write(), npu_queue_submit(), ...), which name
 * the two that do not. Buffers that the run allocated are resized when needed (their content is
 * lost then). Errors: -ENOENT (no such tensor; the text lists those there are), -EINVAL (no program
 * takes it, whatever the others are; the text says which shapes are taken), -EBUSY (the run is in
 * flight).
 */
int npu_run_set_shape(struct npu_run *run, const char *tensor, unsigned int rank,
		      const int64_t *dims, struct npu_error *err);

/*
 * Shape of any input, output or state at the lengths set. @dims has room for NPU_TENSOR_MAX_RANK.
 * Of an output whose dims the data give (npu_tensor_info.bounded): the real ones after a run that
 * worked, which may be 0; upper bounds before.
 * Errors: -ENOENT, -EINVAL (lengths are not known yet: the text names the input whose shape is
 * missing).
 */
int npu_run_get_shape(struct npu_run *run, const char *tensor, unsigned int *rank, int64_t *dims,
		      struct npu_error *err);

/*
 * Bytes that a tensor spans at the lengths set, in the layout of the job. Errors as
 * npu_run_get_shape().
 */
int npu_run_tensor_size(struct npu_run *run, const char *tensor, uint64_t *bytes,
			struct npu_error *err);

/*
 * The program chosen by the shapes, and its scalars (16, may be NULL). Errors: -EINVAL as
 * npu_run_get_shape().
 */
int npu_run_program(struct npu_run *run, unsigned int *program, uint32_t *scalars,
		    struct npu_error *err);

/*
 * Let a tensor lie in @buf at @offset, without a copy. NULL takes the binding back. The run keeps a
 * reference. Errors: -ENOENT, -EBUSY, -EINVAL (device, offset), -EACCES (an output in a READ_ONLY
 * buffer). That it is large enough and aligned as the job wants is checked at submit, when all
 * lengths are known.
 */
int npu_run_bind(struct npu_run *run, const char *tensor, struct npu_buffer *buf, uint64_t offset,
		 struct npu_error *err);

/*
 * Bytes from row to row of an input that is a plane of a camera's frame; 0: the job's own again.
 * Like a shape it may be set at any time between submits, before or after binding. Errors: -ENOENT
 * (no such tensor), -EBUSY, -EINVAL (not a plane, or not a stride that the job takes: the text says
 * which).
 */
int npu_run_set_stride(struct npu_run *run, const char *tensor, uint64_t bytes,
		       struct npu_error *err);

/*
 * Let all planes of image @name lie in @buf from @offset on as V4L2's formats of one buffer have
 * them: one behind the other, each with rows of @stride bytes (0: the job's own). For other places
 * of the planes, or one buffer each: npu_run_set_stride() and npu_run_bind() of each plane. NULL
 * takes the bindings back. Errors: as npu_run_set_stride() and npu_run_bind(); -ENOENT (no such
 * image; the text lists those there are). On error all planes are where they were.
 */
int npu_run_bind_image(struct npu_run *run, const char *name, struct npu_buffer *buf,
		       uint64_t offset, uint64_t stride, struct npu_error *err);

/*
 * Copy a frame into the planes of image @name. @size: bytes of all planes without gaps between
 * rows, or npu_image_info.bytes. Errors: as npu_run_write(), and -ENOENT as above.
 */
int npu_run_write_image(struct npu_run *run, const char *name, const void *data, size_t size,
			struct npu_error *err);

/*
 * Where a tensor lies: the bound buffer, or the run's own, allocated now. The reference stays the
 * run's. Errors: -ENOENT, -EINVAL, -ENOMEM.
 */
int npu_run_buffer(struct npu_run *run, const char *tensor, struct npu_buffer **buf,
		   uint64_t *offset, struct npu_error *err);

/*
 * Copy a whole tensor, row major without gaps, in its own type. @size must be the elements times
 * the size of the type. Errors: -ENOENT, -EINVAL (size; the text has the shape, the type and the
 * bytes expected), -EBUSY (in flight), -EACCES, -ENOMEM; npu_run_read() returns the error of the
 * last submit when that failed, and -ENODATA for an output when nothing was submitted since it got
 * its shape.
 */
int npu_run_write(struct npu_run *run, const char *tensor, const void *data, size_t size,
		  struct npu_error *err);
int npu_run_read(struct npu_run *run, const char *tensor, void *data, size_t size,
		 struct npu_error *err);

/* How much of an 8-bit activation was clipped in a run, and in calibration. */
struct npu_clip_info {
	uint32_t size;
	uint32_t suspicious;		/* 1: clearly more than in calibration, on other data */
	uint64_t looked_at;		/* values that were looked at, a sample of the tensor's */
	double share;			/* of them at an end of the range, 0..1 */
	double calibrated;		/* the same over the calibration set; negative: not known */
	const char *tensor;		/* name in the model */
	const char *node;		/* that computes it; "" when there is none in the model */
};

/*
 * Counters of clipped values in the last submit, number @index from 0, in the order of computation.
 * Jobs that npu-compile quantized have them. Returns 0, -ENOENT past the last one, -ENODATA
 * (nothing was submitted at these lengths), -EBUSY (in flight), -EINVAL (size), or the error of the
 * last submit. The strings are the job's.
 */
int npu_run_clipped(struct npu_run *run, unsigned int index, struct npu_clip_info *info,
		    struct npu_error *err);

/* Set all state tensors to zero bytes. Errors: -EBUSY, -EINVAL (lengths are not known), -ENOMEM. */
int npu_run_reset_state(struct npu_run *run, struct npu_error *err);

/* ---- queues ---- */

/* Queues with work share the device in the ratio 1 : 4 : 16; none starves. */
enum npu_priority { NPU_PRIORITY_LOW, NPU_PRIORITY_NORMAL, NPU_PRIORITY_HIGH, NPU_NUM_PRIORITIES };

struct npu_queue_options {
	uint32_t size;
	uint32_t priority;		/* enum npu_priority */
};

/*
 * Jobs of one queue run in order. @options NULL: normal priority. Errors: -EINVAL, -ENOMEM,
 * -ENODEV, -EAGAIN.
 */
int npu_queue_create(struct npu_device *dev, const struct npu_queue_options *options,
		     struct npu_queue **queue, struct npu_error *err);

/*
 * Drop the caller's reference. What was submitted still runs and its fences signal;
 * npu_queue_cancel() first to stop it.
 */
void npu_queue_destroy(struct npu_queue *queue);

/* Record the time of each instruction, and of each host step (opcode NPU_PROFILE_HOST). */
#define NPU_SUBMIT_PROFILE	1u
#define NPU_PROFILE_HOST	0xffffffffu
/* Record a digest of each instruction's outputs. */
#define NPU_SUBMIT_DIGEST	2u
/* npu_queue_submit_stream(): the stream was verified before; the engine checks anyway. */
#define NPU_SUBMIT_NO_VERIFY	4u

struct npu_submit_options {
	uint32_t size;
	uint32_t flags;			/* NPU_SUBMIT_* */
	struct npu_fence *const *wait;	/* start after these; one that failed fails this job, too */
	uint32_t num_wait;
	uint32_t reserved;
	/*
	 * Called once when the job has ended, from the device's thread, without locks; must not
	 * block.
	 */
	void (*done)(void *ctx, struct npu_fence *fence);
	void *done_ctx;
};

/*
 * Submit a run. Returns at once with a fence (the caller's reference; @fence may be NULL). Tensors
 * that are not bound get buffers now. Errors: -EBUSY (this run is in flight), -EINVAL (lengths are
 * not known; a bound buffer is too small or not aligned: the text names the tensor; run and queue
 * are of different devices; options), -ENOMEM, -ENODEV.
 *
 * From within a done callback the run may be submitted again; nothing else of it may be used by
 * other threads then.
 *
 * Jobs with host steps (npu_program_info.num_host_steps) are submitted in the same way: a thread of
 * the queue runs the steps one after the other and waits for the device between them, so the fence
 * is one that no device and no other process can wait for. Work that must come after it, behind it
 * in the queue or with its fence in @wait, is held back by that thread until it is done. A cancel
 * works within streams, between steps and within libnpu's host operators; an application's own are
 * asked to look at npu_host_stopped(). An operator that fails ends the job with its error, e.g.
 * -EINVAL.
 */
int npu_queue_submit(struct npu_queue *queue, struct npu_run *run,
		     const struct npu_submit_options *options, struct npu_fence **fence,
		     struct npu_error *err);

struct npu_stream_region {
	struct npu_buffer *buf;		/* NULL: on-chip memory, or an entry not used (bytes 0) */
	uint64_t offset;		/* in @buf or on-chip memory */
	uint64_t bytes;
	uint32_t access;		/* NPU_ACCESS_* */
	uint32_t reserved;
};

struct npu_stream_submit {
	uint32_t size;
	uint32_t num_regions;		/* 0 .. NPU_MAX_REGIONS */
	const void *stream;		/* copied */
	size_t stream_size;
	const struct npu_stream_region *regions;
	uint32_t scalar[NPU_MAX_SCALARS];
};

/*
 * Submit a command stream that the caller built, for runtimes without job files. The stream is
 * verified against the regions (unless NPU_SUBMIT_NO_VERIFY). The queue keeps the last 8 streams,
 * up to 8 MiB: one that comes again with the same scalars and sizes of regions is not verified
 * again, nor copied to the device. Buffers are referenced until the job has ended. Errors: -EINVAL
 * (the text names the instruction, operand and reason, or the region),
 * -EACCES (write access to a READ_ONLY buffer), -ENOTSUP (opcode, on-chip memory), -ENOMEM,
 * -ENODEV.
 */
int npu_queue_submit_stream(struct npu_queue *queue, const struct npu_stream_submit *submit,
			    const struct npu_submit_options *options, struct npu_fence **fence,
			    struct npu_error *err);

/*
 * Stop everything submitted to the queue so far; the fences signal with -ECANCELED. Does not wait.
 */
int npu_queue_cancel(struct npu_queue *queue, struct npu_error *err);

/*
 * Wait until everything submitted so far has ended. @deadline as npu_fence_wait(). Returns 0,
 * -ETIMEDOUT, -ENODEV.
 */
int npu_queue_wait(struct npu_queue *queue, uint64_t deadline, struct npu_error *err);

/* ---- fences ---- */

#define NPU_FOREVER	UINT64_MAX

/* CLOCK_MONOTONIC now plus @ns, for deadlines. */
uint64_t npu_deadline_after(uint64_t ns);

/*
 * Wait for the end of the job. @deadline: CLOCK_MONOTONIC in nanoseconds; 0 polls, NPU_FOREVER
 * waits without bound. Returns 0 when the job did its work; -ETIMEDOUT when the deadline came
 * first; else the job's own error: -EIO (a fault: see npu_fence_fault()), -ECANCELED (cancelled, or
 * a fence it waited for failed), -ENODEV (device gone, or after fork()), -ENOMEM, or what a host
 * operator of the job returned.
 */
int npu_fence_wait(struct npu_fence *fence, uint64_t deadline, struct npu_error *err);

/* -EINPROGRESS, or what npu_fence_wait() would return. */
int npu_fence_status(struct npu_fence *fence);

/*
 * Why the job failed, in words: job file, model node, instruction, operand, region. "" when it did
 * not, or not yet.
 */
const char *npu_fence_text(struct npu_fence *fence);

/*
 * The fault of a job that ended with -EIO. insn and stream_offset count through all steps of the
 * program, as in npu_insn_profile. Returns 0, -EINPROGRESS, or -ENOENT (no fault).
 */
int npu_fence_fault(struct npu_fence *fence, struct npu_fault *fault);

struct npu_fence_times {
	uint32_t size;
	uint32_t slices;		/* how often the job had the device */
	uint64_t submitted, started, finished;	/* CLOCK_MONOTONIC, ns */
	uint64_t busy;			/* ns that it had the device */
};

/* Returns 0, -EINPROGRESS or -EINVAL (size). */
int npu_fence_times(struct npu_fence *fence, struct npu_fence_times *times);

struct npu_insn_profile {
	/*
	 * index and byte offset in the program: all its steps, one behind the other; a host step
	 * counts as one instruction and 8 bytes
	 */
	uint32_t insn;
	uint32_t offset;
	uint32_t tag;
	uint32_t opcode;		/* or NPU_PROFILE_HOST */
	uint64_t start;			/* ns after the first instruction */
	uint64_t ns;
	uint64_t macs, bytes;		/* at the lengths of this submit */
};

/*
 * With NPU_SUBMIT_PROFILE. The array is the fence's. Returns 0, -EINPROGRESS, -ENOENT (not asked
 * for).
 */
int npu_fence_profile(struct npu_fence *fence, const struct npu_insn_profile **records,
		      size_t *count);

struct npu_insn_digest {
	uint32_t insn;
	uint32_t tag;
	uint32_t opcode;
	uint32_t slot;			/* output operand, or output of a host step */
	uint64_t digest;		/* XXH64, seed 0, of its elements in row-major order */
};

/*
 * With NPU_SUBMIT_DIGEST: one record per output operand. The same on every host, backend and thread
 * count. Returns as npu_fence_profile().
 */
int npu_fence_digests(struct npu_fence *fence, const struct npu_insn_digest **records,
		      size_t *count);

/*
 * XXH64 of @size bytes: what a digest record has for a tensor without gaps, with @seed 0. To digest
 * several pieces, give the result for one as the seed of the next. Pure; thread safe.
 */
uint64_t npu_digest(const void *data, size_t size, uint64_t seed);

/*
 * Stop this job: it ends with -ECANCELED unless it was done already, and its outputs are not
 * defined. Other jobs are not touched, and nothing is lost of those behind it in its queue. One
 * that is on the device is stopped within a millisecond or so; one that is not signals in its turn,
 * on a kernel device behind the fences that it waits for. Does not wait.
 */
void npu_fence_cancel(struct npu_fence *fence);

/* Take another reference; returns @fence. */
struct npu_fence *npu_fence_get(struct npu_fence *fence);
void npu_fence_put(struct npu_fence *fence);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
