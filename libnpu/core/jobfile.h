/* SPDX-License-Identifier: MIT */
/*
 * The job file (.npu): what is in one, how it is written and read. Documentation/job-file.md
 * describes the bytes.
 *
 * One description, struct npu_jobfile, serves both directions: the compiler fills one in and calls
 * npu_jobfile_encode() or npu_jobfile_save(); npu_jobfile_parse() gives one back, checked. Strings
 * are UTF-8 and NUL terminated; a NULL string is written as "".
 */
#ifndef NPU_JOBFILE_H
#define NPU_JOBFILE_H

#include <stdbool.h>
#include <stddef.h>
#include "npu_host.h"

#define NPU_JOBFILE_MAJOR	1
/*
 * What is read; a file says the lowest minor that has all it uses: 3 for images, 2 for metadata, 1
 * for host steps, else 0.
 */
#define NPU_JOBFILE_MINOR	3
#define NPU_JOBFILE_PAGE	4096u	/* alignment of the weights in the file */

#define NPU_JOBFILE_TERMS	3

/*
 * A size that may depend on the scalars: base + sum of factor[i] * scalar[sym[i]], terms with
 * factor 0 unused. sym is an index into the program's symbols, which is the index of the stream's
 * scalar too.
 */
struct npu_jobfile_expr {
	npu_s64 base;
	npu_s64 factor[NPU_JOBFILE_TERMS];
	npu_u8 sym[NPU_JOBFILE_TERMS];
};

#define NPU_JOBFILE_CONST(v)	((struct npu_jobfile_expr){ .base = (v) })

/*
 * Symbol i of a program is scalar i of its stream. FREE ones come from the shapes of the inputs:
 * value = step * scalar with min <= value <= max (multiples of step). A PRODUCT is scalar[a] *
 * scalar[b] of two earlier symbols (a plane's H * W, which no linear form can say); its min, max
 * and step are filled in by the writer. A STRIDE is bounded as a FREE one, and follows from no
 * shape: it is the bytes from row to row of one input of rank 2 and is its min until the user says
 * otherwise.
 */
enum npu_jobfile_symbol_kind {
	NPU_SYMBOL_FREE, NPU_SYMBOL_PRODUCT, NPU_SYMBOL_STRIDE, NPU_NUM_SYMBOL_KINDS
};

struct npu_jobfile_symbol {
	const char *name;		/* unique in its program, not empty */
	npu_u32 kind;			/* enum npu_jobfile_symbol_kind */
	npu_u32 min, max, step;
	npu_u8 a, b;			/* PRODUCT */
};

/* Whether its value is the user's to give, within min .. max. */
static inline bool npu_jobfile_is_given(const struct npu_jobfile_symbol *sym)
{
	return sym->kind != NPU_SYMBOL_PRODUCT;
}

/*
 * Region i of a program is region i of its stream. Roles are enum npu_region_role of npu.h.
 *
 * WEIGHTS	[offset, offset + size) of the weights section, read only
 * SCRATCH	memory of a run; its content does not survive a submit
 * SRAM		on-chip memory, zero at start
 * INPUT, OUTPUT, STATE	bound by the user, or allocated by the run; tensors of that role lie in it
 */
struct npu_jobfile_region {
	const char *name;		/* for people */
	npu_u32 role;
	npu_u32 access; /* NPU_ACCESS_* the stream needs; SRAM has NPU_ACCESS_SRAM too */
	npu_u64 offset;			/* WEIGHTS only */
	struct npu_jobfile_expr size;	/* bytes; largest with every scalar at its maximum */
	npu_u32 align;			/* power of two, 1 .. 4096, of the base address */
};

/*
 * A tensor that users see (inputs, outputs, state), or one in scratch that debuggers may show (role
 * NPU_TENSOR_INTERNAL). Element (i0, i1, ...) is at region + offset + sum(i * stride).
 */
struct npu_jobfile_tensor {
	const char *name; /* the model's; unique among inputs, outputs and state of a program */
	const char *node;		/* model node that makes or (inputs) first reads it */
	npu_u32 role;			/* enum npu_tensor_role */
	npu_u32 dtype;			/* enum npu_dtype; host steps: enum npu_host_dtype too */
	npu_u32 rank;			/* <= NPU_TENSOR_MAX_RANK */
	npu_u32 region;
	struct npu_jobfile_expr dim[NPU_TENSOR_MAX_RANK];	/* >= 1 within the bounds */
	struct npu_jobfile_expr stride[NPU_TENSOR_MAX_RANK];	/* bytes; see NPU_JOBFILE_DENSE */
	struct npu_jobfile_expr offset;
	npu_u32 flags;			/* NPU_JOBFILE_DENSE, NPU_JOBFILE_BOUNDED */
	float scale;			/* 0: not quantized */
	npu_s32 zero_point;
};

/*
 * Row major without gaps: strides follow from the dims at every length, stride[] is not used (and
 * may be zero).
 */
#define NPU_JOBFILE_DENSE	1u
/*
 * The dims are upper bounds: a host step finds out the real ones, and the data is dense for these.
 * Read by host steps and users only.
 */
#define NPU_JOBFILE_BOUNDED	2u

/*
 * An input of the model that is a camera's frame: its planes are inputs of the job, u8 [rows][bytes
 * of a row] with stride [any, 1], each in a region of its own. In one buffer they lie one behind
 * the other.
 */
#define NPU_JOBFILE_PLANES	3

struct npu_jobfile_image {
	const char *name;		/* of the model's input; unique in a program */
	const char *spec;		/* what was made of it, in the words of --input-format */
	npu_u32 fourcc;			/* as in videodev2.h */
	npu_u32 width, height;		/* of the frame in pixels */
	npu_u32 num_planes;
	npu_u32 plane[NPU_JOBFILE_PLANES];	/* tensors of the program */
};

/*
 * Counters of clipped values: the state tensor of this name, i64 [n][3], and for each row that is
 * used an INTERNAL tensor in its region that has the name, the scale and the zero point of the
 * tensor that is counted (codes at the lowest end, at the highest, looked at). The record with the
 * prefix and that name as key is the share that was clipped in calibration, in parts per billion.
 */
#define NPU_CLIP_TENSOR		"npu.clipped"
#define NPU_CLIP_RECORD		"clipped:"

/* What an instruction's tag stands for. Several instructions may share a tag. */
struct npu_jobfile_debug {
	npu_u32 tag;  /* as in npu_insn_header.tag; unique and ascending in a program */
	npu_u32 slot; /* the operand that is @tensor (the node's output), ~0: none */
	const char *node;		/* names of model nodes, joined with " + " when fused */
	const char *op;			/* model operator types, likewise */
	const char *tensor;		/* model tensor that the instruction makes */
	/*
	 * What a step of its codes stands for when it is quantized, 0 when not. Operands may say
	 * less: where the compiler has divided by the scale of the result, theirs is 1.
	 */
	float scale;
	npu_u64 macs, bytes;		/* predicted, at the bound */
};

enum npu_jobfile_step_kind { NPU_STEP_STREAM = 1, NPU_STEP_HOST = 2 };

#define NPU_JOBFILE_ABSENT	(~0u)	/* an optional argument that is left out */

/*
 * A step of a program's schedule; steps run one after the other. On-chip memory is zero at the
 * start of each stream.
 */
struct npu_jobfile_step {
	npu_u32 kind;			/* enum npu_jobfile_step_kind */
	/* STREAM */
	npu_u32 stream_size;
	const void *stream;
	/* HOST: an operator on tensors of the program, which are dense, at multiples of 64 bytes */
	const char *domain, *op;
	const char *node;		/* of the model */
	npu_u32 opset;
	npu_u32 tag;			/* in the debug map; no instruction has it */
	npu_u32 num_in, num_out, num_attr;
	const npu_u32 *in, *out;	/* indices of tensors, or NPU_JOBFILE_ABSENT */
	const struct npu_host_attr *attr;
};

/*
 * A program: one set of exact shapes, or a range of them by symbols. Without host steps it is one
 * stream, and num_steps is 0; with them the streams are in the steps, and stream is NULL.
 */
struct npu_jobfile_program {
	const char *name;		/* for people, "" allowed */
	const struct npu_jobfile_symbol *symbols;
	const struct npu_jobfile_region *regions;
	const struct npu_jobfile_tensor *tensors;
	const struct npu_jobfile_debug *debug;
	const struct npu_jobfile_image *images;
	npu_u32 num_symbols, num_regions, num_tensors, num_debug, num_images;
	const void *stream;
	npu_u32 stream_size;
	npu_u32 num_steps;
	const struct npu_jobfile_step *steps;
};

/* Whether an expression has one value, its base, at all lengths. */
bool npu_jobfile_is_fixed(const struct npu_jobfile_expr *expr);

/* Step @i as if every program had steps; false past the end. */
bool npu_jobfile_step_at(const struct npu_jobfile_program *program, npu_u32 i,
			 struct npu_jobfile_step *step);
/*
 * Its place in the program as a whole, in bytes: streams one behind the other, a host step is
 * NPU_JOBFILE_HOST_SPAN. Offsets of profiles and disassemblies count this way.
 */
#define NPU_JOBFILE_HOST_SPAN	8u
npu_u32 npu_jobfile_step_span(const struct npu_jobfile_step *step);

struct npu_jobfile_record {
	const char *key, *value; /* keys are unique; no times, hosts or paths: bytes repeat */
};

struct npu_jobfile {
	/* Given to the writer. */
	const char *compiler;		/* name and version of what made it; cut at 63 bytes */
	const void
		*weights; /* shared by all programs; referenced, not copied, by writer and reader */
	npu_u64 weights_size;
	const struct npu_jobfile_program *programs;
	npu_u32 num_programs;		/* >= 1 */
	const char *report;		/* placement report, JSON text; NULL: none */
	/*
	 * Bytes that whoever made the file left for whoever runs it (a language model: its
	 * tokenizer, as a GGUF file without tensors); NULL: none. The reader's copy is aligned as
	 * malloc() does.
	 */
	const void *metadata;
	npu_u64 metadata_size;
	const struct npu_jobfile_record *records;
	npu_u32 num_records;

	/* Worked out by the writer; given by the reader. */
	npu_u16 major, minor;		/* of the format */
	npu_u16 isa_major, isa_minor;
	npu_u16 runtime_major, runtime_minor;	/* lowest libnpu that can run it */
	npu_u64 opcodes[4];		/* bitmap of the opcodes used */
	npu_u64 sram_size; /* bytes of on-chip memory needed, the largest of all programs */
	npu_u64 file_size;
	npu_u64 weights_offset; /* in the file, a multiple of NPU_JOBFILE_PAGE; 0: no weights */
	npu_u32 weights_crc;		/* that the file says they have */
	npu_u64 table_bytes;		/* reader: memory of the description, without the weights */
	npu_u8 digest[32];		/* SHA-256 of the file with digest and header crc zero */
};

/*
 * Check @job as the reader would (names, indices, sizes, streams against regions) and write it. The
 * result is the same bytes for the same description. npu_jobfile_encode() allocates with malloc(),
 * the caller frees; npu_jobfile_save() writes beside @path and renames, so that a reader sees the
 * old file or the whole new one. Returns 0, -EINVAL (the text names what is wrong), -ENOMEM, or
 * what the file system said. Thread safe.
 */
int npu_jobfile_encode(const struct npu_jobfile *job, void **data, size_t *size,
		       struct npu_error *err);
int npu_jobfile_save(const struct npu_jobfile *job, const char *path, struct npu_error *err);

/*
 * Do not read the weights for their check sum (they are large; a mapped file is then read as used):
 * npu_jobfile_check_weights() does it, -EBADMSG.
 */
#define NPU_JOBFILE_SKIP_WEIGHTS_CRC	1u

/*
 * Parse and verify @size bytes at @data (8-byte aligned). Everything but the weights is copied, so
 * that only they need
 * @data later; job->weights points into it. Returns 0 with *@job, freed by npu_jobfile_free();
 * -EBADMSG (damaged: truncated, check sum), -EINVAL (contradicts itself or the instruction set),
 * -ENOTSUP (needs a newer libnpu), -ENOMEM. Thread safe.
 */
int npu_jobfile_parse(const void *data, size_t size, unsigned int flags, struct npu_jobfile **job,
		      struct npu_error *err);
void npu_jobfile_free(struct npu_jobfile *job);
int npu_jobfile_check_weights(const struct npu_jobfile *job, struct npu_error *err);

/* Recompute the digest of a file in memory: 0, or -EBADMSG when it differs from the header's. */
int npu_jobfile_check_digest(const void *data, size_t size, struct npu_error *err);

/* Evaluate at given scalars. -ERANGE when it overflows or is negative. */
int npu_jobfile_eval(const struct npu_jobfile_expr *expr, const npu_u32 scalar[NPU_MAX_SCALARS],
		     npu_u64 *value);
/* Scalars at the lower (@upper false) or upper bound of every symbol of @program. */
void npu_jobfile_bounds(const struct npu_jobfile_program *program, bool upper,
			npu_u32 scalar[NPU_MAX_SCALARS]);
/* Fill in the PRODUCT scalars from the FREE ones. */
void npu_jobfile_derive(const struct npu_jobfile_program *program, npu_u32 scalar[NPU_MAX_SCALARS]);
/*
 * Strides of @tensor in bytes at given scalars, dense ones worked out; dims too. -ERANGE as above.
 */
int npu_jobfile_layout(const struct npu_jobfile_tensor *tensor,
		       const npu_u32 scalar[NPU_MAX_SCALARS], npu_u64 dim[NPU_TENSOR_MAX_RANK],
		       npu_u64 stride[NPU_TENSOR_MAX_RANK], npu_u64 *offset, npu_u64 *extent);
/*
 * The symbol of kind STRIDE that is the bytes from row to row of @t, or -1: they are fixed, or
 * follow from its shape.
 */
int npu_jobfile_stride_symbol(const struct npu_jobfile_program *program,
			      const struct npu_jobfile_tensor *t);
/* What the bytes from row to row of a plane may be; @min is what they are when nobody says. */
void npu_jobfile_plane_bounds(const struct npu_jobfile_program *program,
			      const struct npu_jobfile_tensor *t, npu_u64 *min, npu_u64 *max);
/* First debug entry with @tag, or NULL. */
const struct npu_jobfile_debug *npu_jobfile_debug_find(const struct npu_jobfile_program *program,
						       npu_u32 tag);

#endif
