// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gguf_make.h"

struct bytes {
	uint8_t *data;
	size_t size, room;
};

struct gguf_make {
	struct bytes keys, infos, data;
	uint64_t num_keys, num_tensors;
	uint32_t version, alignment;
};

static void put(struct bytes *b, const void *p, size_t n)
{
	if (n > b->room - b->size) {
		b->room = 2 * b->room + n;
		b->data = realloc(b->data, b->room);
		if (!b->data)
			abort();
	}
	if (n)
		memcpy(b->data + b->size, p, n);
	b->size += n;
}

static void put_u32(struct bytes *b, uint32_t v)
{
	put(b, &v, 4);
}

static void put_u64(struct bytes *b, uint64_t v)
{
	put(b, &v, 8);
}

static void put_string(struct bytes *b, const char *s)
{
	put_u64(b, strlen(s));
	put(b, s, strlen(s));
}

static void pad(struct bytes *b, size_t alignment)
{
	while (b->size % alignment)
		put(b, "", 1);
}

struct gguf_make *gguf_make_new(void)
{
	struct gguf_make *m = calloc(1, sizeof(*m));

	if (!m)
		abort();
	m->version = 3;
	m->alignment = 32;
	return m;
}

void gguf_make_free(struct gguf_make *m)
{
	free(m->keys.data);
	free(m->infos.data);
	free(m->data.data);
	free(m);
}

void gguf_make_raw(struct gguf_make *m, const char *key, uint32_t kind, const void *bytes,
		   size_t size)
{
	put_string(&m->keys, key);
	put_u32(&m->keys, kind);
	put(&m->keys, bytes, size);
	m->num_keys++;
}

void gguf_make_u32(struct gguf_make *m, const char *key, uint32_t value)
{
	gguf_make_raw(m, key, NPU_GGUF_U32, &value, 4);
}

void gguf_make_f32(struct gguf_make *m, const char *key, float value)
{
	gguf_make_raw(m, key, NPU_GGUF_F32, &value, 4);
}

void gguf_make_bool(struct gguf_make *m, const char *key, bool value)
{
	uint8_t byte = value;

	gguf_make_raw(m, key, NPU_GGUF_BOOL, &byte, 1);
}

void gguf_make_string(struct gguf_make *m, const char *key, const char *value)
{
	gguf_make_raw(m, key, NPU_GGUF_STRING, NULL, 0);
	put_string(&m->keys, value);
}

void gguf_make_strings(struct gguf_make *m, const char *key, uint64_t n, const char *const *values)
{
	uint64_t i;

	gguf_make_raw(m, key, NPU_GGUF_ARRAY, NULL, 0);
	put_u32(&m->keys, NPU_GGUF_STRING);
	put_u64(&m->keys, n);
	for (i = 0; i < n; i++)
		put_string(&m->keys, values[i]);
}

void gguf_make_raw_strings(struct gguf_make *m, const char *key,
			   const struct npu_gguf_array *array)
{
	gguf_make_raw(m, key, NPU_GGUF_ARRAY, NULL, 0);
	put_u32(&m->keys, NPU_GGUF_STRING);
	put_u64(&m->keys, array->count);
	put(&m->keys, array->data, array->size);
}

void gguf_make_array(struct gguf_make *m, const char *key, enum npu_gguf_kind kind, uint64_t n,
		     const void *values)
{
	static const uint8_t size[NPU_GGUF_NUM_KINDS] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

	gguf_make_raw(m, key, NPU_GGUF_ARRAY, NULL, 0);
	put_u32(&m->keys, kind);
	put_u64(&m->keys, n);
	put(&m->keys, values, n * size[kind]);
}

void gguf_make_tensor_at(struct gguf_make *m, const char *name, uint32_t type, uint32_t rank,
			 const uint64_t *dim, uint64_t offset)
{
	put_string(&m->infos, name);
	put_u32(&m->infos, rank);
	put(&m->infos, dim, rank * sizeof(*dim));
	put_u32(&m->infos, type);
	put_u64(&m->infos, offset);
	m->num_tensors++;
}

void gguf_make_tensor(struct gguf_make *m, const char *name, uint32_t type, uint32_t rank,
		      const uint64_t *dim, const void *data, size_t size)
{
	pad(&m->data, m->alignment);
	gguf_make_tensor_at(m, name, type, rank, dim, m->data.size);
	put(&m->data, data, size);
}

void gguf_make_align(struct gguf_make *m, uint32_t alignment)
{
	m->alignment = alignment;
	gguf_make_u32(m, "general.alignment", alignment);
}

void gguf_make_version(struct gguf_make *m, uint32_t version)
{
	m->version = version;
}

void *gguf_make_bytes(const struct gguf_make *m, size_t *size)
{
	struct bytes b = { 0 };

	put(&b, "GGUF", 4);
	put_u32(&b, m->version);
	put_u64(&b, m->num_tensors);
	put_u64(&b, m->num_keys);
	put(&b, m->keys.data, m->keys.size);
	put(&b, m->infos.data, m->infos.size);
	pad(&b, m->alignment);
	put(&b, m->data.data, m->data.size);
	*size = b.size;
	return b.data;
}

bool gguf_make_save(const struct gguf_make *m, const char *path)
{
	size_t size;
	void *data = gguf_make_bytes(m, &size);
	FILE *f = fopen(path, "wb");
	bool ok = f && fwrite(data, 1, size, f) == size;

	ok = !(f && fclose(f)) && ok;
	free(data);
	return ok;
}
