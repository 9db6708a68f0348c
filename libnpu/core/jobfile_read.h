/* SPDX-License-Identifier: MIT */
/* What the files that read job files share. */
#ifndef NPU_CORE_JOBFILE_READ_H
#define NPU_CORE_JOBFILE_READ_H

#include "core/error.h"
#include "core/jobfile_format.h"

/* What npu_jobfile_parse() returns a pointer into, and all that the description points to. */
struct parsed {
	struct npu_jobfile job;
	char compiler[64];
	char *strings;
	char *report;
	npu_u8 *metadata;
	npu_u8 *streams;
	struct npu_jobfile_program *programs;
	struct npu_jobfile_symbol *symbols;
	struct npu_jobfile_region *regions;
	struct npu_jobfile_tensor *tensors;
	struct npu_jobfile_debug *debug;
	struct npu_jobfile_record *records;
	struct npu_jobfile_image *images;
	/* of programs with host steps */
	struct npu_jobfile_step *steps;
	struct npu_host_attr *attrs;
	npu_u32 *args;
	npu_u8 *host_data;
	const char **host_strings;
};

struct table {
	const npu_u8 *data;
	npu_u64 size;
	npu_u32 count, stride;
};

struct reader {
	const npu_u8 *data;
	npu_u64 size;
	unsigned int flags;
	struct npu_jf_header header;
	struct table table[NPU_JF_NUM_SECTIONS];
	bool seen[NPU_JF_NUM_SECTIONS];
	npu_u64 owned[NPU_JF_NUM_SECTIONS];	/* records, bytes of streams, that programs took */
	struct parsed *out;
	struct npu_error *err;
};

#define BAD(r, ...)	npu_error_set((r)->err, -EBADMSG, __VA_ARGS__)
#define REFUSE(r, ...)	npu_error_set((r)->err, -EINVAL, __VA_ARGS__)
#define ULL(v)		((unsigned long long)(v))

/* An array of @count elements for a table; one more, so that none is NULL. */
void *npu_jf_array(struct reader *r, npu_u32 count, size_t size);
const void *npu_jf_record_at(const struct reader *r, int type, npu_u32 i);
/* The string at @offset, which record @i of section @type names. */
int npu_jf_string(struct reader *r, npu_u32 offset, int type, npu_u32 i, const char **s);
/*
 * Records @first .. @first + @num of section @type go to program @i: in range, and no other
 * program's.
 */
int npu_jf_take_range(struct reader *r, npu_u32 i, int type, npu_u32 first, npu_u32 num);

/* The images of all programs, which have been read (jobfile_image.c). */
int npu_jf_read_images(struct reader *r);
/* Attributes and arguments of all host steps. */
int npu_jf_read_host(struct reader *r);
/* Host step @index of the HOSTSTEPS section, of program @i. */
int npu_jf_read_host_step(struct reader *r, npu_u32 i, npu_u64 index,
			  struct npu_jobfile_step *step);

#endif
