// SPDX-License-Identifier: MIT
/*
 * Bytes of a GGUF file to tables. The file may be hostile: a count is held against the bytes that
 * are left before anything of that size is asked for, and nothing is read by recursion.
 *
 *	magic, version, number of tensors, number of keys
 *	keys:    name, kind, value
 *	tensors: name, rank, dims, type, offset in the data
 *	padding to general.alignment, data
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"
#include "llm/gguf_priv.h"

#define DEFAULT_ALIGNMENT	32
#define MAX_ALIGNMENT		(1u << 20)
/* The least that a key and a tensor take in the file. */
#define MIN_KEY			(8 + 1 + 4 + 1)
#define MIN_TENSOR		(8 + 1 + 4 + 8 + 4 + 8)
#define MAX_NAME		65535

struct cursor {
	const uint8_t *data;
	uint64_t size, pos;
	struct npu_error *err;
};

/* @n bytes of @what, or NULL with the reason. */
static const uint8_t *take(struct cursor *c, uint64_t n, const char *what)
{
	const uint8_t *p = c->data + c->pos;

	if (n > c->size - c->pos) {
		npu_error_set(c->err, -EINVAL,
			      "%s: %llu bytes at byte %llu leave the file (%llu bytes)", what,
			      ULL(n), ULL(c->pos), ULL(c->size));
		return NULL;
	}
	c->pos += n;
	return p;
}

static int take_u32(struct cursor *c, uint32_t *v, const char *what)
{
	const uint8_t *p = take(c, 4, what);

	if (!p)
		return -EINVAL;
	memcpy(v, p, 4);
	return 0;
}

static int take_u64(struct cursor *c, uint64_t *v, const char *what)
{
	const uint8_t *p = take(c, 8, what);

	if (!p)
		return -EINVAL;
	memcpy(v, p, 8);
	return 0;
}

static int take_string(struct cursor *c, struct npu_gguf_string *s, const char *what)
{
	if (take_u64(c, &s->size, what))
		return -EINVAL;
	s->data = (const char *)take(c, s->size, what);
	return s->data ? 0 : -EINVAL;
}

static char *copy(struct cursor *c, struct npu_gguf_string s)
{
	char *p = malloc(s.size + 1);

	if (!p) {
		npu_error_set(c->err, -ENOMEM, "no memory for a string of %llu bytes", ULL(s.size));
		return NULL;
	}
	memcpy(p, s.data, s.size);
	p[s.size] = 0;
	return p;
}

/* The name of a key or a tensor: not empty, no zero byte, of bearable length. */
static int take_name(struct cursor *c, char **name)
{
	struct npu_gguf_string s;

	if (take_string(c, &s, "name"))
		return -EINVAL;
	if (!s.size || s.size > MAX_NAME)
		return npu_error_set(c->err, -EINVAL, "name: %llu bytes, want 1 .. %u",
				     ULL(s.size), MAX_NAME);
	if (memchr(s.data, 0, s.size))
		return npu_error_set(c->err, -EINVAL, "name: there is a zero byte in it");
	*name = copy(c, s);
	return *name ? 0 : -ENOMEM;
}

/* ---- values ---- */

static int set_scalar(struct cursor *c, struct gguf_key *key, const uint8_t *p)
{
	struct npu_gguf_array one = { key->kind, 1, p, npu_gguf_kind_size(key->kind) };

	switch (key->kind) {
	case NPU_GGUF_F32:
		key->f = npu_gguf_array_f32(&one, 0);
		return 0;
	case NPU_GGUF_F64:
		memcpy(&key->f, p, 8);
		return 0;
	case NPU_GGUF_U64:
		memcpy(&key->u, p, 8);
		return 0;
	case NPU_GGUF_BOOL:
		if (p[0] > 1)
			return npu_error_set(c->err, -EINVAL, "value: a bool of %u, want 0 or 1",
					     p[0]);
		key->i = p[0];
		return 0;
	default:
		key->i = npu_gguf_array_i64(&one, 0);
		return 0;
	}
}

static int take_array_strings(struct cursor *c, struct npu_gguf_array *a)
{
	struct npu_gguf_string s;
	uint64_t i;

	for (i = 0; i < a->count; i++) {
		if (take_string(c, &s, "string"))
			return npu_error_prefix(c->err, -EINVAL, "element %llu of %llu", ULL(i),
						ULL(a->count));
	}
	return 0;
}

static int check_bools(struct cursor *c, const struct npu_gguf_array *a)
{
	uint64_t i;

	for (i = 0; i < a->count; i++) {
		if (a->data[i] > 1)
			return npu_error_set(c->err, -EINVAL,
					     "element %llu of %llu: a bool of %u, want 0 or 1",
					     ULL(i), ULL(a->count), a->data[i]);
	}
	return 0;
}

static int take_array(struct cursor *c, struct npu_gguf_array *a)
{
	uint32_t kind, each;
	uint64_t start;

	if (take_u32(c, &kind, "kind of the elements") ||
	    take_u64(c, &a->count, "number of elements"))
		return -EINVAL;
	if (kind == NPU_GGUF_ARRAY)
		return npu_error_set(c->err, -ENOTSUP,
				     "an array of arrays, which is not read here");
	if (kind >= NPU_GGUF_NUM_KINDS)
		return npu_error_set(c->err, -EINVAL, "elements of kind %u, want 0 .. %u", kind,
				     NPU_GGUF_NUM_KINDS - 1);
	a->kind = kind;
	each = kind == NPU_GGUF_STRING ? 8 : npu_gguf_kind_size(kind);
	if (a->count > (c->size - c->pos) / each)
		return npu_error_set(c->err, -EINVAL,
				     "%llu elements of kind %s at byte %llu leave the file (%llu bytes)",
				     ULL(a->count), npu_gguf_kind_name(kind), ULL(c->pos),
				     ULL(c->size));
	start = c->pos;
	a->data = c->data + start;
	if (kind == NPU_GGUF_STRING) {
		if (take_array_strings(c, a))
			return -EINVAL;
	} else {
		c->pos += a->count * each;
	}
	a->size = c->pos - start;
	return kind == NPU_GGUF_BOOL ? check_bools(c, a) : 0;
}

static int take_value(struct cursor *c, struct gguf_key *key)
{
	struct npu_gguf_string s;
	const uint8_t *p;
	uint32_t kind;

	if (take_u32(c, &kind, "kind"))
		return -EINVAL;
	if (kind >= NPU_GGUF_NUM_KINDS)
		return npu_error_set(c->err, -EINVAL, "a value of kind %u, want 0 .. %u", kind,
				     NPU_GGUF_NUM_KINDS - 1);
	key->kind = kind;
	if (kind == NPU_GGUF_ARRAY)
		return take_array(c, &key->array);
	if (kind == NPU_GGUF_STRING) {
		if (take_string(c, &s, "value"))
			return -EINVAL;
		key->text_size = s.size;
		key->text = copy(c, s);
		return key->text ? 0 : -ENOMEM;
	}
	p = take(c, npu_gguf_kind_size(kind), "value");
	return p ? set_scalar(c, key, p) : -EINVAL;
}

static int read_keys(struct npu_gguf *g, struct cursor *c, uint32_t count)
{
	struct gguf_key *key;
	int ret;

	g->keys = calloc((size_t)count + 1, sizeof(*g->keys));
	if (!g->keys)
		return npu_error_set(c->err, -ENOMEM, "no memory for %u keys", count);
	while (g->num_keys < count) {
		/* Counted at once: what it holds is freed with the others. */
		key = &g->keys[g->num_keys++];
		ret = take_name(c, &key->name);
		if (ret)
			return npu_error_prefix(c->err, ret, "key %u of %u", g->num_keys - 1,
						count);
		ret = take_value(c, key);
		if (ret)
			return npu_error_prefix(c->err, ret, "key '%s'", key->name);
	}
	return 0;
}

/* ---- tensors ---- */

static int check_size(struct cursor *c, struct npu_gguf_tensor *t)
{
	uint64_t elems = 1;
	uint32_t i;

	for (i = 0; i < t->rank; i++) {
		if (!t->dim[i])
			return npu_error_set(c->err, -EINVAL, "dimension %u is 0", i);
		if (__builtin_mul_overflow(elems, t->dim[i], &elems))
			return npu_error_set(c->err, -EINVAL,
					     "dimension %u of %llu makes more than 2^64 elements",
					     i, ULL(t->dim[i]));
	}
	switch (npu_gguf_type_bytes(t->type, t->dim[0], elems, &t->size)) {
	case 0:
		return 0;
	case -ENOENT:
		return npu_error_set(c->err, -ENOTSUP, "type %u is not known", t->type);
	case -EINVAL:
		return npu_error_set(c->err, -EINVAL,
				     "rows of %llu elements are no whole blocks of %s (%u)",
				     ULL(t->dim[0]), npu_gguf_type_name(t->type),
				     npu_gguf_type_block(t->type));
	default:
		return npu_error_set(c->err, -EINVAL,
				     "%llu elements of %s make more than 2^64 bytes", ULL(elems),
				     npu_gguf_type_name(t->type));
	}
}

static int take_tensor(struct cursor *c, struct npu_gguf_tensor *t)
{
	uint32_t i;

	if (take_u32(c, &t->rank, "rank"))
		return -EINVAL;
	if (!t->rank || t->rank > NPU_GGUF_MAX_RANK)
		return npu_error_set(c->err, -EINVAL, "rank %u, want 1 .. %u", t->rank,
				     NPU_GGUF_MAX_RANK);
	for (i = 0; i < NPU_GGUF_MAX_RANK; i++) {
		t->dim[i] = 1;
		if (i < t->rank && take_u64(c, &t->dim[i], "dimensions"))
			return -EINVAL;
	}
	if (take_u32(c, &t->type, "type") || take_u64(c, &t->offset, "offset"))
		return -EINVAL;
	return check_size(c, t);
}

static int read_tensors(struct npu_gguf *g, struct cursor *c, uint32_t count)
{
	struct npu_gguf_tensor *t;
	char *name = NULL;
	int ret;

	g->tensors = calloc((size_t)count + 1, sizeof(*g->tensors));
	if (!g->tensors)
		return npu_error_set(c->err, -ENOMEM, "no memory for %u tensors", count);
	while (g->num_tensors < count) {
		t = &g->tensors[g->num_tensors++];
		ret = take_name(c, &name);
		if (ret)
			return npu_error_prefix(c->err, ret, "tensor %u of %u", g->num_tensors - 1,
						count);
		t->name = name;
		ret = take_tensor(c, t);
		if (ret)
			return npu_error_prefix(c->err, ret, "tensor '%s'", t->name);
	}
	return 0;
}

/* From an offset in the data to one in the file. */
static int place_tensor(struct npu_gguf *g, struct cursor *c, struct npu_gguf_tensor *t)
{
	uint64_t room = g->size - g->data_start;

	if (t->offset % g->alignment)
		return npu_error_set(c->err, -EINVAL, "offset %llu is no multiple of %u",
				     ULL(t->offset), g->alignment);
	if (t->offset > room || t->size > room - t->offset)
		return npu_error_set(c->err, -EINVAL,
				     "%llu bytes at byte %llu of the data leave the file, which has %llu "
				     "bytes of data",
				     ULL(t->size), ULL(t->offset), ULL(room));
	t->offset += g->data_start;
	t->data = g->data + t->offset;
	return 0;
}

static int place_tensors(struct npu_gguf *g, struct cursor *c)
{
	uint64_t pad = -c->pos & (g->alignment - 1);
	uint32_t i;
	int ret;

	/* A file without tensors, a vocabulary, may end before the data would begin. */
	g->data_start = pad > g->size - c->pos ? g->size : c->pos + pad;
	for (i = 0; i < g->num_tensors; i++) {
		ret = place_tensor(g, c, &g->tensors[i]);
		if (ret)
			return npu_error_prefix(c->err, ret, "tensor '%s'", g->tensors[i].name);
	}
	return 0;
}

/* ---- order: look-ups, and what is there twice ---- */

static int compare_keys(const void *a, const void *b, void *ctx)
{
	const struct npu_gguf *g = ctx;

	return strcmp(g->keys[*(const uint32_t *)a].name, g->keys[*(const uint32_t *)b].name);
}

static int compare_tensors(const void *a, const void *b, void *ctx)
{
	const struct npu_gguf *g = ctx;

	return strcmp(g->tensors[*(const uint32_t *)a].name, g->tensors[*(const uint32_t *)b].name);
}

static int compare_offsets(const void *a, const void *b, void *ctx)
{
	const struct npu_gguf_tensor *t = ((struct npu_gguf *)ctx)->tensors;
	uint64_t x = t[*(const uint32_t *)a].offset, y = t[*(const uint32_t *)b].offset;

	return x < y ? -1 : x > y;
}

static uint32_t *make_order(struct npu_gguf *g, uint32_t count,
			    int (*compare)(const void *, const void *, void *),
			    struct npu_error *err)
{
	uint32_t *order = calloc((size_t)count + 1, sizeof(*order)), i;

	if (!order) {
		npu_error_set(err, -ENOMEM, "no memory for %u names", count);
		return NULL;
	}
	for (i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), compare, g);
	return order;
}

static int order_keys(struct npu_gguf *g, struct npu_error *err)
{
	uint32_t i;

	g->key_order = make_order(g, g->num_keys, compare_keys, err);
	if (!g->key_order)
		return -ENOMEM;
	for (i = 1; i < g->num_keys; i++)
		if (!compare_keys(&g->key_order[i - 1], &g->key_order[i], g))
			return npu_error_set(err, -EINVAL, "key '%s' is there twice",
					     g->keys[g->key_order[i]].name);
	return 0;
}

static int check_overlap(struct npu_gguf *g, struct npu_error *err)
{
	uint32_t *order = make_order(g, g->num_tensors, compare_offsets, err), i;
	const struct npu_gguf_tensor *a, *b;
	int ret = 0;

	if (!order)
		return -ENOMEM;
	for (i = 1; i < g->num_tensors && !ret; i++) {
		a = &g->tensors[order[i - 1]];
		b = &g->tensors[order[i]];
		if (a->size > b->offset - a->offset)
			ret = npu_error_set(err, -EINVAL, "tensor '%s' overlaps tensor '%s'",
					    b->name, a->name);
	}
	free(order);
	return ret;
}

static int order_tensors(struct npu_gguf *g, struct npu_error *err)
{
	uint32_t i;

	g->tensor_order = make_order(g, g->num_tensors, compare_tensors, err);
	if (!g->tensor_order)
		return -ENOMEM;
	for (i = 1; i < g->num_tensors; i++)
		if (!compare_tensors(&g->tensor_order[i - 1], &g->tensor_order[i], g))
			return npu_error_set(err, -EINVAL, "tensor '%s' is there twice",
					     g->tensors[g->tensor_order[i]].name);
	return check_overlap(g, err);
}

/* ---- the file ---- */

static int read_version(struct cursor *c)
{
	const uint8_t *magic = take(c, 4, "header");
	uint32_t version;

	if (!magic)
		return -EINVAL;
	if (memcmp(magic, "GGUF", 4))
		return npu_error_set(c->err, -EINVAL,
				     "not a GGUF file: it does not begin with 'GGUF'");
	if (take_u32(c, &version, "header: version"))
		return -EINVAL;
	if (version == 2 || version == 3)
		return 0;
	if (!(version & 0xffff))
		return npu_error_set(c->err, -ENOTSUP,
				     "header: a big-endian file (version %u), want little-endian",
				     __builtin_bswap32(version));
	return npu_error_set(c->err, -ENOTSUP, "header: version %u, want 2 or 3", version);
}

static int check_count(struct cursor *c, const char *what, uint64_t count, uint32_t max,
		       uint32_t bytes)
{
	if (count > max)
		return npu_error_set(c->err, -EINVAL, "header: %llu %s, want at most %u",
				     ULL(count), what, max);
	if (count > (c->size - c->pos) / bytes)
		return npu_error_set(c->err, -EINVAL,
				     "header: %llu %s do not fit in a file of %llu bytes",
				     ULL(count), what, ULL(c->size));
	return 0;
}

static int read_alignment(struct npu_gguf *g, struct npu_error *err)
{
	int ret;

	g->alignment = DEFAULT_ALIGNMENT;
	ret = npu_gguf_opt_u32(g, "general.alignment", &g->alignment, err);
	if (ret)
		return ret;
	if (!g->alignment || g->alignment & (g->alignment - 1) || g->alignment > MAX_ALIGNMENT)
		return npu_error_set(err, -EINVAL,
				     "%s: key 'general.alignment' is %u, want a power of two up to %u",
				     g->path, g->alignment, MAX_ALIGNMENT);
	return 0;
}

static int refuse_split(struct npu_gguf *g, struct npu_error *err)
{
	uint32_t count = 1;
	int ret = npu_gguf_opt_u32(g, "split.count", &count, err);

	if (!ret && count > 1)
		ret = npu_error_set(err, -ENOTSUP,
				    "%s: key 'split.count' says one of %u files; join them first "
				    "(llama-gguf-split --merge)",
				    g->path, count);
	return ret;
}

static int read_counts(struct cursor *c, uint64_t *tensors, uint64_t *keys)
{
	int ret = read_version(c);

	if (ret)
		return ret;
	if (take_u64(c, tensors, "header: number of tensors") ||
	    take_u64(c, keys, "header: number of keys") ||
	    check_count(c, "tensors", *tensors, NPU_GGUF_MAX_TENSORS, MIN_TENSOR) ||
	    check_count(c, "keys", *keys, NPU_GGUF_MAX_KEYS, MIN_KEY))
		return -EINVAL;
	return 0;
}

/* What goes wrong here does not name the file yet. */
static int read_metadata(struct npu_gguf *g, struct cursor *c, uint64_t *tensors)
{
	uint64_t keys;
	int ret = read_counts(c, tensors, &keys);

	if (!ret)
		ret = read_keys(g, c, keys);
	if (!ret)
		ret = order_keys(g, c->err);
	return ret ? npu_error_prefix(c->err, ret, "%s", g->path) : 0;
}

static int read_data(struct npu_gguf *g, struct cursor *c, uint64_t tensors)
{
	int ret = read_tensors(g, c, tensors);

	if (!ret)
		ret = place_tensors(g, c);
	if (!ret)
		ret = order_tensors(g, c->err);
	return ret ? npu_error_prefix(c->err, ret, "%s", g->path) : 0;
}

int npu_gguf_read(struct npu_gguf *g, struct npu_error *err)
{
	struct cursor c = { .data = g->data, .size = g->size, .err = err };
	uint64_t tensors = 0;
	int ret = read_metadata(g, &c, &tensors);

	if (!ret)
		ret = read_alignment(g, err);
	if (!ret)
		ret = refuse_split(g, err);
	return ret ? ret : read_data(g, &c, tensors);
}
