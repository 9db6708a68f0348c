/* SPDX-License-Identifier: MIT */
/*
 * Writes GGUF files for tests: vocabularies, and models of every architecture. What is written is
 * what is asked for, right or wrong. Out of memory ends the program.
 */
#ifndef TEST_GGUF_MAKE_H
#define TEST_GGUF_MAKE_H

#include <stdint.h>
#include "llm/gguf.h"

struct gguf_make;

/* An empty file of version 3 with the default alignment. */
struct gguf_make *gguf_make_new(void);
void gguf_make_free(struct gguf_make *m);

void gguf_make_u32(struct gguf_make *m, const char *key, uint32_t value);
void gguf_make_f32(struct gguf_make *m, const char *key, float value);
void gguf_make_bool(struct gguf_make *m, const char *key, bool value);
void gguf_make_string(struct gguf_make *m, const char *key, const char *value);
/* @n strings that zeros end. */
void gguf_make_strings(struct gguf_make *m, const char *key, uint64_t n, const char *const *values);
/* An array of strings as another file has it. */
void gguf_make_raw_strings(struct gguf_make *m, const char *key,
			   const struct npu_gguf_array *array);
/* @n elements of @kind, which is none of strings and arrays, as they lie in memory. */
void gguf_make_array(struct gguf_make *m, const char *key, enum npu_gguf_kind kind, uint64_t n,
		     const void *values);
/* Any value: its bytes, as they follow the kind in the file. */
void gguf_make_raw(struct gguf_make *m, const char *key, uint32_t kind, const void *bytes,
		   size_t size);

/* A tensor with a copy of @size bytes of data, placed behind those before it. */
void gguf_make_tensor(struct gguf_make *m, const char *name, uint32_t type, uint32_t rank,
		      const uint64_t *dim, const void *data, size_t size);
/* The same at @offset of the data, without data of its own. */
void gguf_make_tensor_at(struct gguf_make *m, const char *name, uint32_t type, uint32_t rank,
			 const uint64_t *dim, uint64_t offset);
/* From here on tensors are placed, and the data is, at multiples of @alignment. */
void gguf_make_align(struct gguf_make *m, uint32_t alignment);
void gguf_make_version(struct gguf_make *m, uint32_t version);

/* The file, to be freed by the caller. */
void *gguf_make_bytes(const struct gguf_make *m, size_t *size);
/* The same into the file at @path; false with errno set when it can not be written. */
bool gguf_make_save(const struct gguf_make *m, const char *path);

#endif
