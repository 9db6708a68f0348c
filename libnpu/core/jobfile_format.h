/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a job file. Little-endian; what is reserved is written as zero. See
 * Documentation/job-file.md.
 */
#ifndef NPU_JOBFILE_FORMAT_H
#define NPU_JOBFILE_FORMAT_H

#include "core/jobfile.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "job files are read in place and are little-endian"
#endif

/* A transfer as text or with seven bits damages it in a way that shows. */
#define NPU_JF_MAGIC		"\x89NPU\r\n\x1a\n"

/* Features a reader has to know; version 1.0 has none. 1.3: there are symbols of kind STRIDE. */
#define NPU_JF_FEATURE_STRIDES	1u
#define NPU_JF_FEATURES		NPU_JF_FEATURE_STRIDES

enum npu_jf_section_type {
	NPU_JF_STRINGS = 1,
	NPU_JF_WEIGHTS,
	NPU_JF_SYMBOLS,
	NPU_JF_REGIONS,
	NPU_JF_TENSORS,
	NPU_JF_PROGRAMS,
	NPU_JF_SCHEDULE,
	NPU_JF_STREAMS,
	NPU_JF_DEBUGMAP,
	NPU_JF_REPORT,
	NPU_JF_RECORD,
	/* 1.1, in files with host steps */
	NPU_JF_HOSTSTEPS,
	NPU_JF_HOSTARGS,
	NPU_JF_HOSTATTRS,
	NPU_JF_HOSTDATA,
	/* 1.2, when there are any */
	NPU_JF_METADATA,
	/* 1.3, when there are any */
	NPU_JF_IMAGES,
	NPU_JF_NUM_SECTIONS
};

/* Section flag: a reader that does not know the type must refuse the file. */
#define NPU_JF_REQUIRED		1u

#define NPU_JF_MAX_SECTIONS	64u
#define NPU_JF_MAX_PROGRAMS	1024u
#define NPU_JF_MAX_RECORDS	4096u
#define NPU_JF_MAX_ARGS		65536u	/* inputs, outputs or attributes of a host step */

struct npu_jf_header {
	npu_u8 magic[8];
	npu_u16 major, minor;
	npu_u32 header_size;		/* of this struct; newer minors append */
	npu_u64 file_size;
	npu_u16 isa_major, isa_minor;
	npu_u16 runtime_major, runtime_minor;
	npu_u32 num_sections;
	npu_u32 section_size;		/* of one entry of the section table */
	npu_u64 section_offset;
	npu_u64 opcodes[4];
	npu_u64 sram_size;
	npu_u32 features;
	npu_u32 section_crc;		/* of the section table */
	char compiler[64];
	npu_u8 digest[32];
	npu_u32 reserved;
	npu_u32 header_crc;		/* of the header_size bytes with this field zero */
};

struct npu_jf_section {
	npu_u32 type;
	npu_u32 flags;
	npu_u64 offset;
	npu_u64 size;
	npu_u32 align;			/* power of two */
	npu_u32 crc;			/* zlib's crc32 of the section */
	npu_u32 count;			/* records of a table, else 0 */
	npu_u32 record_size;		/* bytes of one; newer minors append */
};

struct npu_jf_expr {
	npu_s64 base;
	npu_s64 factor[NPU_JOBFILE_TERMS];
	npu_u8 sym[NPU_JOBFILE_TERMS];
	npu_u8 reserved[5];
};

/* Strings are offsets into the STRINGS section; 0 is "". */
struct npu_jf_symbol {
	npu_u32 name;
	npu_u32 kind;
	npu_u32 min, max, step;
	npu_u8 a, b;
	npu_u16 reserved;
};

struct npu_jf_region {
	npu_u32 name;
	npu_u32 role;
	npu_u32 access;
	npu_u32 align;
	npu_u64 offset;
	struct npu_jf_expr size;
};

struct npu_jf_tensor {
	npu_u32 name, node;
	npu_u32 role;
	npu_u32 dtype;
	npu_u32 rank;
	npu_u32 region;
	npu_u32 flags;
	float scale;
	npu_s32 zero_point;
	npu_u32 reserved;
	struct npu_jf_expr offset;
	struct npu_jf_expr dim[NPU_TENSOR_MAX_RANK];
	struct npu_jf_expr stride[NPU_TENSOR_MAX_RANK];
};

struct npu_jf_program {
	npu_u32 name;
	npu_u32 first_symbol, num_symbols;
	npu_u32 first_region, num_regions;
	npu_u32 first_tensor, num_tensors;
	npu_u32 first_debug, num_debug;
	npu_u32 first_step, num_steps;
	npu_u32 reserved;
};

struct npu_jf_step {
	npu_u32 kind;			/* enum npu_jobfile_step_kind */
	npu_u32 size;			/* STREAM: its bytes; HOST: 0 */
	/* STREAM: in the STREAMS section, a multiple of 8; HOST: record of the HOSTSTEPS section */
	npu_u64 offset;
};

struct npu_jf_host {
	npu_u32 domain, op, node;
	npu_u32 opset;
	npu_u32 tag;
	npu_u32 first_arg, num_in, num_out;	/* inputs, then outputs */
	npu_u32 first_attr, num_attr;
};

struct npu_jf_arg {
	npu_u32 tensor;			/* of the program, or NPU_JOBFILE_ABSENT */
	npu_u32 reserved;
};

/*
 * INT: value is it; FLOAT: the bits of a double; STRING: an offset in STRINGS; lists: an offset in
 * HOSTDATA, a multiple of 8, of count s64, f32 or u32 (offsets in STRINGS).
 */
struct npu_jf_attr {
	npu_u32 name;
	npu_u32 kind;			/* enum npu_host_attr_kind */
	npu_u32 count;
	npu_u32 reserved;
	npu_u64 value;
};

struct npu_jf_debug {
	npu_u32 tag;
	npu_u32 slot;
	npu_u32 node, op, tensor;
	float scale;			/* zero before 1.1; readers of 1.0 do not look at it */
	npu_u64 macs, bytes;
};

struct npu_jf_record {
	npu_u32 key, value;
};

struct npu_jf_image {
	npu_u32 program;		/* rising */
	npu_u32 name, spec;
	npu_u32 fourcc;
	npu_u32 width, height;
	npu_u32 num_planes;
	npu_u32 plane[NPU_JOBFILE_PLANES];	/* tensors of the program; unused ones 0 */
};

_Static_assert(sizeof(struct npu_jf_header) == 200, "header");
_Static_assert(sizeof(struct npu_jf_section) == 40, "section");
_Static_assert(sizeof(struct npu_jf_expr) == 40, "expr");
_Static_assert(sizeof(struct npu_jf_symbol) == 24, "symbol");
_Static_assert(sizeof(struct npu_jf_region) == 64, "region");
_Static_assert(sizeof(struct npu_jf_tensor) == 720, "tensor");
_Static_assert(sizeof(struct npu_jf_program) == 48, "program");
_Static_assert(sizeof(struct npu_jf_step) == 16, "step");
_Static_assert(sizeof(struct npu_jf_host) == 40, "host");
_Static_assert(sizeof(struct npu_jf_arg) == 8, "arg");
_Static_assert(sizeof(struct npu_jf_attr) == 24, "attr");
_Static_assert(sizeof(struct npu_jf_debug) == 40, "debug");
_Static_assert(sizeof(struct npu_jf_record) == 8, "record");
_Static_assert(sizeof(struct npu_jf_image) == 40, "image");

/* Bytes of a record of this version; 0: the section is no table. */
extern const npu_u32 npu_jf_record_size[NPU_JF_NUM_SECTIONS];

/* "WEIGHTS", or "section 17". */
const char *npu_jf_section_name(npu_u32 type, char buf[32]);

/* The version of this library as numbers. */
void npu_runtime_version(unsigned int *major, unsigned int *minor);

/*
 * What writer and reader both demand of a description: names, indices, sizes, streams against
 * regions; fills in the bitmap of opcodes and the size of on-chip memory. Returns 0, -EINVAL or
 * -ENOMEM.
 */
int npu_jobfile_check(const struct npu_jobfile *job, npu_u64 opcodes[4], npu_u64 *sram_size,
		      struct npu_error *err);

/* The rules for the images and the strides of program @index; its tensors have been checked. */
int npu_jobfile_check_images(const struct npu_jobfile_program *prog, npu_u32 index,
			     struct npu_error *err);

/* NPU_JF_FEATURE_*: what a reader of @job has to know. */
npu_u32 npu_jobfile_features(const struct npu_jobfile *job);

/* The minor version of the instruction set that the streams of a checked @job say they need. */
npu_u16 npu_jobfile_isa_minor(const struct npu_jobfile *job);

#endif
