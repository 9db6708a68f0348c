/* SPDX-License-Identifier: MIT */
/*
 * GGUF: the file format of llama.cpp's models, read only. Versions 2 and 3, little-endian.
 *
 * A file is mapped and checked as a whole when it is opened: every length, count, offset and type
 * code in it. What is handed out afterwards lies within the file. It must not be changed or cut
 * while it is open. Reading is safe from many threads.
 *
 * Functions return 0 or a negative errno; the reason in err names file, key or tensor, what was
 * found and what was expected: -EINVAL for what is damaged or of another kind, -ENOTSUP for what
 * is in order but not read here, -ENOENT for a key that is not there.
 */
#ifndef NPU_LLM_GGUF_H
#define NPU_LLM_GGUF_H

#include "npu.h"

#define NPU_GGUF_MAX_RANK	4
#define NPU_GGUF_MAX_KEYS	(1u << 16)
#define NPU_GGUF_MAX_TENSORS	(1u << 18)

/* Kinds of values, as the format numbers them. */
enum npu_gguf_kind {
	NPU_GGUF_U8,
	NPU_GGUF_I8,
	NPU_GGUF_U16,
	NPU_GGUF_I16,
	NPU_GGUF_U32,
	NPU_GGUF_I32,
	NPU_GGUF_F32,
	NPU_GGUF_BOOL,
	NPU_GGUF_STRING,
	NPU_GGUF_ARRAY,
	NPU_GGUF_U64,
	NPU_GGUF_I64,
	NPU_GGUF_F64,
	NPU_GGUF_NUM_KINDS
};

/* Bytes within the mapped file; nothing terminates them. */
struct npu_gguf_string {
	const char *data;
	uint64_t size;
};

/* An array of one kind. Its elements are not aligned: read them by the functions below. */
struct npu_gguf_array {
	enum npu_gguf_kind kind;
	uint64_t count;
	const uint8_t *data;
	uint64_t size;		/* of data in bytes */
};

struct npu_gguf_tensor {
	const char *name;
	uint32_t type;		/* ggml's number, known to npu_gguf_type_name() */
	uint32_t rank;
	/* The innermost first, as the file has them; 1 from rank on. */
	uint64_t dim[NPU_GGUF_MAX_RANK];
	uint64_t offset;	/* of the first byte in the file, a multiple of its alignment */
	uint64_t size;		/* bytes */
	const void *data;	/* size bytes in the mapped file */
};

struct npu_gguf;

/* Map and check the file at @path; npu_gguf_close() unmaps it. */
int npu_gguf_open(const char *path, struct npu_gguf **out, struct npu_error *err);

/*
 * The same for @size bytes at @data, which stay the caller's and must be there until the close.
 * @name stands for the path in errors.
 */
int npu_gguf_parse(const void *data, size_t size, const char *name, struct npu_gguf **out,
		   struct npu_error *err);

/* Ignores NULL. Strings, arrays and tensors of the file end with it. */
void npu_gguf_close(struct npu_gguf *g);

/* The path, as it was opened. */
const char *npu_gguf_path(const struct npu_gguf *g);
/* Bytes of the file. */
uint64_t npu_gguf_size(const struct npu_gguf *g);

/* ---- metadata ---- */

uint32_t npu_gguf_num_keys(const struct npu_gguf *g);
/* The name of key @i in the file's order, i below the number; it ends with the file. */
const char *npu_gguf_key(const struct npu_gguf *g, uint32_t i);
/* Its kind, or -ENOENT. */
int npu_gguf_kind(const struct npu_gguf *g, const char *key);
/* "u32", "string", "array" ...; "?" for no kind. */
const char *npu_gguf_kind_name(int kind);

/*
 * The value of @key. An integer of any kind is taken if its value fits, f32 also from f64; an f32
 * must be finite. A string is terminated and without a zero byte in it; it ends with the file.
 */
int npu_gguf_get_u32(const struct npu_gguf *g, const char *key, uint32_t *value,
		     struct npu_error *err);
int npu_gguf_get_u64(const struct npu_gguf *g, const char *key, uint64_t *value,
		     struct npu_error *err);
int npu_gguf_get_i64(const struct npu_gguf *g, const char *key, int64_t *value,
		     struct npu_error *err);
int npu_gguf_get_f32(const struct npu_gguf *g, const char *key, float *value,
		     struct npu_error *err);
int npu_gguf_get_bool(const struct npu_gguf *g, const char *key, bool *value,
		      struct npu_error *err);
int npu_gguf_get_string(const struct npu_gguf *g, const char *key, const char **value,
			struct npu_error *err);

/* The same where the key may be missing: then *value is left as it was and 0 is returned. */
int npu_gguf_opt_u32(const struct npu_gguf *g, const char *key, uint32_t *value,
		     struct npu_error *err);
int npu_gguf_opt_f32(const struct npu_gguf *g, const char *key, float *value,
		     struct npu_error *err);
int npu_gguf_opt_bool(const struct npu_gguf *g, const char *key, bool *value,
		      struct npu_error *err);
int npu_gguf_opt_string(const struct npu_gguf *g, const char *key, const char **value,
			struct npu_error *err);

/*
 * An array whose elements are of @kind. For NPU_GGUF_I64 any integers are taken, to be read by
 * npu_gguf_array_i64().
 */
int npu_gguf_get_array(const struct npu_gguf *g, const char *key, enum npu_gguf_kind kind,
		       struct npu_gguf_array *array, struct npu_error *err);
/*
 * Element @i, i below the count, of an array of integers (u64 above INT64_MAX is INT64_MAX) or of
 * f32.
 */
int64_t npu_gguf_array_i64(const struct npu_gguf_array *array, uint64_t i);
float npu_gguf_array_f32(const struct npu_gguf_array *array, uint64_t i);
/*
 * Walk an array of strings from its beginning: *@at is 0 before the first call, and there are as
 * many calls as elements.
 */
struct npu_gguf_string npu_gguf_array_next(const struct npu_gguf_array *array, uint64_t *at);

/* ---- tensors ---- */

uint32_t npu_gguf_num_tensors(const struct npu_gguf *g);
/* Tensor @i in the file's order, i below the number; it ends with the file. */
const struct npu_gguf_tensor *npu_gguf_tensor(const struct npu_gguf *g, uint32_t i);
/* The tensor of that name, or NULL. */
const struct npu_gguf_tensor *npu_gguf_find_tensor(const struct npu_gguf *g, const char *name);
/* "Q4_K" for 12 ..., NULL for a type that is not known. */
const char *npu_gguf_type_name(uint32_t type);

#endif
