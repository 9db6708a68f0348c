/* SPDX-License-Identifier: MIT */
/* What reading and looking up of a GGUF file share. */
#ifndef NPU_LLM_GGUF_PRIV_H
#define NPU_LLM_GGUF_PRIV_H

#include "llm/gguf.h"

#define ULL(v)		((unsigned long long)(v))

/* One key with its value. */
struct gguf_key {
	char *name;
	char *text;			/* strings: a terminated copy */
	uint64_t text_size;
	enum npu_gguf_kind kind;
	union {
		int64_t i;		/* integers but u64, bool */
		uint64_t u;		/* u64 */
		double f;		/* f32, f64 */
		struct npu_gguf_array array;
	};
};

struct npu_gguf {
	char *path;
	const uint8_t *data;
	uint64_t size;
	bool mapped;			/* data is ours to unmap */
	uint32_t num_keys, num_tensors;
	struct gguf_key *keys;
	struct npu_gguf_tensor *tensors;
	uint32_t *key_order, *tensor_order;	/* indices, sorted by name */
	uint64_t data_start;		/* where tensors begin */
	uint32_t alignment;
};

/* Check all of g->data and fill in the tables; what was filled is npu_gguf_close()'s to free. */
int npu_gguf_read(struct npu_gguf *g, struct npu_error *err);

/* Bytes of one element of @kind; 0 for strings and arrays. */
uint32_t npu_gguf_kind_size(uint32_t kind);

/*
 * Bytes of @elems elements of @type in rows of @row: -ENOENT for an unknown type, -EINVAL for rows
 * that are no whole blocks, -EOVERFLOW.
 */
int npu_gguf_type_bytes(uint32_t type, uint64_t row, uint64_t elems, uint64_t *bytes);
/* Elements of a block of @type, which must be known. */
uint32_t npu_gguf_type_block(uint32_t type);

#endif
