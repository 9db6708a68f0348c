/* SPDX-License-Identifier: MIT */
/*
 * NumPy's .npy files, versions 1 and 2: what tests and tools exchange tensors in. Little-endian, C
 * order. No global state; safe from several threads on different structs.
 */
#ifndef TOOLS_NPY_H
#define TOOLS_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#define NPU_NPY_RANK_MAX	16
#define NPU_NPY_FILE_MAX	((size_t)8 << 30)

enum npu_npy_type {
	NPU_NPY_F32, NPU_NPY_F16, NPU_NPY_F64, NPU_NPY_I64, NPU_NPY_I32, NPU_NPY_I16, NPU_NPY_I8,
	NPU_NPY_U64, NPU_NPY_U32, NPU_NPY_U16, NPU_NPY_U8, NPU_NPY_BOOL,
	NPU_NPY_TYPES
};

struct npu_npy {
	enum npu_npy_type type;
	int rank;			/* 0 is a scalar with one element */
	int64_t dims[NPU_NPY_RANK_MAX];	/* outermost first; 0 is allowed */
	size_t count;			/* elements */
	void *data;			/* count * npu_npy_type_size(type) bytes, from malloc() */
};

/* Bytes of an element. */
size_t npu_npy_type_size(enum npu_npy_type type);

/* "f32", "i64", ... for messages. */
const char *npu_npy_type_name(enum npu_npy_type type);

/*
 * Parse a file held in memory into @arr (data is a copy, free with npu_npy_free). @name is for
 * messages. Errors: -EBADMSG (not a .npy, header malformed, data short or long), -ENOTSUP (a type,
 * byte order, order of axes, version or rank beyond the above), -EOVERFLOW (dims that do not fit),
 * -ENOMEM.
 */
int npu_npy_parse(const uint8_t *file, size_t len, const char *name, struct npu_npy *arr,
		  struct npu_error *why);

/* Read the file @path; errors as above and those of opening it. */
int npu_npy_read(const char *path, struct npu_npy *arr, struct npu_error *why);

/*
 * Write @arr as version 1 through a temporary file and a rename. @arr->count is ignored, dims
 * decide.
 */
int npu_npy_write(const char *path, const struct npu_npy *arr, struct npu_error *why);

void npu_npy_free(struct npu_npy *arr);

#endif
