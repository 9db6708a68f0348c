// SPDX-License-Identifier: MIT
/* Writes the keys of a GGUF file as one of their own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"
#include "llm/gguf_priv.h"
#include "llm/metadata.h"

/* Counts when data is NULL: the same walk finds the size and writes. */
struct out {
	uint8_t *data;
	size_t size;
};

static void put(struct out *o, const void *data, size_t size)
{
	if (o->data && size)
		memcpy(o->data + o->size, data, size);
	o->size += size;
}

static void put_u32(struct out *o, uint32_t v)
{
	put(o, &v, sizeof(v));
}

static void put_u64(struct out *o, uint64_t v)
{
	put(o, &v, sizeof(v));
}

static void put_string(struct out *o, const char *s, uint64_t size)
{
	put_u64(o, size);
	put(o, s, size);
}

static void put_value(struct out *o, const struct gguf_key *k)
{
	float f = (float)k->f;

	switch (k->kind) {
	case NPU_GGUF_STRING:
		put_string(o, k->text, k->text_size);
		break;
	case NPU_GGUF_ARRAY:
		put_u32(o, k->array.kind);
		put_u64(o, k->array.count);
		put(o, k->array.data, k->array.size);
		break;
	case NPU_GGUF_F32:
		put(o, &f, sizeof(f));
		break;
	case NPU_GGUF_F64:
		put(o, &k->f, sizeof(k->f));
		break;
	default:	/* integers, little-endian: the low bytes */
		put(o, &k->u, npu_gguf_kind_size(k->kind));
	}
}

static void put_file(struct out *o, const struct npu_gguf *g)
{
	uint32_t i;

	put(o, "GGUF", 4);
	put_u32(o, 3);
	put_u64(o, 0);
	put_u64(o, g->num_keys);
	for (i = 0; i < g->num_keys; i++) {
		put_string(o, g->keys[i].name, strlen(g->keys[i].name));
		put_u32(o, g->keys[i].kind);
		put_value(o, &g->keys[i]);
	}
}

int npu_llm_metadata_write(const struct npu_gguf *g, void **data, size_t *size,
			   struct npu_error *err)
{
	struct out o = { .data = NULL };

	put_file(&o, g);
	*data = malloc(o.size);
	if (!*data)
		return npu_error_set(err, -ENOMEM, "%s: no memory for its metadata", g->path);
	o = (struct out){ .data = *data };
	put_file(&o, g);
	*size = o.size;
	return 0;
}
