// SPDX-License-Identifier: MIT
/* Opening a GGUF file, and looking things up in one. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/error.h"
#include "llm/gguf_priv.h"

static int parse(const void *data, uint64_t size, bool mapped, const char *path,
		 struct npu_gguf **out, struct npu_error *err)
{
	struct npu_gguf *g = calloc(1, sizeof(*g));
	int ret;

	if (g) {
		g->data = data;
		g->size = size;
		g->path = strdup(path);
	}
	if (!g || !g->path) {
		free(g);
		return npu_error_set(err, -ENOMEM, "%s: no memory", path);
	}
	ret = npu_gguf_read(g, err);
	if (ret) {
		npu_gguf_close(g);
		return ret;
	}
	/* Only now: until it is, the caller unmaps. */
	g->mapped = mapped;
	*out = g;
	return 0;
}

int npu_gguf_parse(const void *data, size_t size, const char *name, struct npu_gguf **out,
		   struct npu_error *err)
{
	return parse(data, size, false, name, out, err);
}

int npu_gguf_open(const char *path, struct npu_gguf **out, struct npu_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret;
	struct stat st;
	void *data;

	if (fd < 0 || fstat(fd, &st)) {
		ret = npu_error_set(err, -errno, "%s: %s", path, strerror(errno));
		goto err_close;
	}
	if (!S_ISREG(st.st_mode) || !st.st_size) {
		ret = npu_error_set(err, -EINVAL, "%s: not a GGUF file: %s", path,
				    S_ISREG(st.st_mode) ? "it is empty" : "not a regular file");
		goto err_close;
	}
	data = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED) {
		ret = npu_error_set(err, -errno, "%s: cannot be mapped: %s", path, strerror(errno));
		goto err_close;
	}
	ret = parse(data, st.st_size, true, path, out, err);
	if (ret)
		munmap(data, st.st_size);
err_close:
	if (fd >= 0)
		close(fd);
	return ret;
}

void npu_gguf_close(struct npu_gguf *g)
{
	uint32_t i;

	if (!g)
		return;
	for (i = 0; i < g->num_keys; i++) {
		free(g->keys[i].name);
		free(g->keys[i].text);
	}
	for (i = 0; i < g->num_tensors; i++)
		free((char *)g->tensors[i].name);
	free(g->keys);
	free(g->tensors);
	free(g->key_order);
	free(g->tensor_order);
	if (g->mapped)
		munmap((void *)g->data, g->size);
	free(g->path);
	free(g);
}

const char *npu_gguf_path(const struct npu_gguf *g)
{
	return g->path;
}

uint64_t npu_gguf_size(const struct npu_gguf *g)
{
	return g->size;
}

/* ---- metadata ---- */

uint32_t npu_gguf_num_keys(const struct npu_gguf *g)
{
	return g->num_keys;
}

const char *npu_gguf_key(const struct npu_gguf *g, uint32_t i)
{
	return g->keys[i].name;
}

/* Which of @num in the order of their names is @name, or ~0. */
static uint32_t find_name(const struct npu_gguf *g, const uint32_t *order, uint32_t num,
			  const char *(*name_of)(const struct npu_gguf *g, uint32_t i),
			  const char *name)
{
	uint32_t lo = 0, hi = num, mid;
	int diff;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		diff = strcmp(name, name_of(g, order[mid]));
		if (!diff)
			return order[mid];
		if (diff < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return ~0u;
}

static const struct gguf_key *find(const struct npu_gguf *g, const char *name)
{
	uint32_t i = find_name(g, g->key_order, g->num_keys, npu_gguf_key, name);

	return i == ~0u ? NULL : &g->keys[i];
}

static int find_key(const struct npu_gguf *g, const char *name, const struct gguf_key **key,
		    struct npu_error *err)
{
	*key = find(g, name);
	if (!*key)
		return npu_error_set(err, -ENOENT, "%s: there is no key '%s'", g->path, name);
	return 0;
}

int npu_gguf_kind(const struct npu_gguf *g, const char *name)
{
	const struct gguf_key *key = find(g, name);

	return key ? (int)key->kind : -ENOENT;
}

static int wrong_kind(const struct npu_gguf *g, const struct gguf_key *key, const char *want,
		      struct npu_error *err)
{
	bool array = key->kind == NPU_GGUF_ARRAY;

	return npu_error_set(err, -EINVAL, "%s: key '%s' is of kind %s%s, want %s", g->path,
			     key->name, array ? "array of " : "",
			     npu_gguf_kind_name(array ? key->array.kind : key->kind), want);
}

static bool is_integer(enum npu_gguf_kind kind)
{
	switch (kind) {
	case NPU_GGUF_U8:
	case NPU_GGUF_I8:
	case NPU_GGUF_U16:
	case NPU_GGUF_I16:
	case NPU_GGUF_U32:
	case NPU_GGUF_I32:
	case NPU_GGUF_U64:
	case NPU_GGUF_I64:
		return true;
	default:
		return false;
	}
}

/* The integer of @name, which must be in 0 .. @max. */
static int get_unsigned(const struct npu_gguf *g, const char *name, uint64_t max, uint64_t *value,
			struct npu_error *err)
{
	const struct gguf_key *key;
	int ret = find_key(g, name, &key, err);

	if (ret)
		return ret;
	if (!is_integer(key->kind))
		return wrong_kind(g, key, "an integer", err);
	if (key->kind != NPU_GGUF_U64 && key->i < 0)
		return npu_error_set(err, -EINVAL, "%s: key '%s' is %lld, want 0 .. %llu", g->path,
				     name, (long long)key->i, ULL(max));
	*value = key->kind == NPU_GGUF_U64 ? key->u : (uint64_t)key->i;
	if (*value > max)
		return npu_error_set(err, -EINVAL, "%s: key '%s' is %llu, want 0 .. %llu", g->path,
				     name, ULL(*value), ULL(max));
	return 0;
}

int npu_gguf_get_u64(const struct npu_gguf *g, const char *key, uint64_t *value,
		     struct npu_error *err)
{
	uint64_t v;
	int ret = get_unsigned(g, key, UINT64_MAX, &v, err);

	if (!ret)
		*value = v;
	return ret;
}

int npu_gguf_get_u32(const struct npu_gguf *g, const char *key, uint32_t *value,
		     struct npu_error *err)
{
	uint64_t v;
	int ret = get_unsigned(g, key, UINT32_MAX, &v, err);

	if (!ret)
		*value = v;
	return ret;
}

int npu_gguf_get_i64(const struct npu_gguf *g, const char *name, int64_t *value,
		     struct npu_error *err)
{
	const struct gguf_key *key;
	int ret = find_key(g, name, &key, err);

	if (ret)
		return ret;
	if (!is_integer(key->kind))
		return wrong_kind(g, key, "an integer", err);
	if (key->kind == NPU_GGUF_U64 && key->u > INT64_MAX)
		return npu_error_set(err, -EINVAL, "%s: key '%s' is %llu, want at most %lld",
				     g->path, name, ULL(key->u), (long long)INT64_MAX);
	*value = key->kind == NPU_GGUF_U64 ? (int64_t)key->u : key->i;
	return 0;
}

int npu_gguf_get_f32(const struct npu_gguf *g, const char *name, float *value,
		     struct npu_error *err)
{
	const struct gguf_key *key;
	int ret = find_key(g, name, &key, err);

	if (ret)
		return ret;
	if (key->kind != NPU_GGUF_F32 && key->kind != NPU_GGUF_F64)
		return wrong_kind(g, key, "f32", err);
	if (!isfinite((float)key->f))
		return npu_error_set(err, -EINVAL, "%s: key '%s' is %g, want a finite f32", g->path,
				     name, key->f);
	*value = key->f;
	return 0;
}

int npu_gguf_get_bool(const struct npu_gguf *g, const char *name, bool *value,
		      struct npu_error *err)
{
	const struct gguf_key *key;
	int ret = find_key(g, name, &key, err);

	if (ret)
		return ret;
	if (key->kind != NPU_GGUF_BOOL)
		return wrong_kind(g, key, "bool", err);
	*value = key->i;
	return 0;
}

int npu_gguf_get_string(const struct npu_gguf *g, const char *name, const char **value,
			struct npu_error *err)
{
	const struct gguf_key *key;
	int ret = find_key(g, name, &key, err);

	if (ret)
		return ret;
	if (key->kind != NPU_GGUF_STRING)
		return wrong_kind(g, key, "string", err);
	if (strlen(key->text) != key->text_size)
		return npu_error_set(err, -EINVAL,
				     "%s: key '%s': there is a zero byte in the string", g->path,
				     name);
	*value = key->text;
	return 0;
}

int npu_gguf_opt_u32(const struct npu_gguf *g, const char *key, uint32_t *value,
		     struct npu_error *err)
{
	return find(g, key) ? npu_gguf_get_u32(g, key, value, err) : 0;
}

int npu_gguf_opt_f32(const struct npu_gguf *g, const char *key, float *value,
		     struct npu_error *err)
{
	return find(g, key) ? npu_gguf_get_f32(g, key, value, err) : 0;
}

int npu_gguf_opt_bool(const struct npu_gguf *g, const char *key, bool *value,
		      struct npu_error *err)
{
	return find(g, key) ? npu_gguf_get_bool(g, key, value, err) : 0;
}

int npu_gguf_opt_string(const struct npu_gguf *g, const char *key, const char **value,
			struct npu_error *err)
{
	return find(g, key) ? npu_gguf_get_string(g, key, value, err) : 0;
}

/* ---- arrays ---- */

int npu_gguf_get_array(const struct npu_gguf *g, const char *name, enum npu_gguf_kind kind,
		       struct npu_gguf_array *array, struct npu_error *err)
{
	const struct gguf_key *key;
	char want[32];
	int ret = find_key(g, name, &key, err);

	if (ret)
		return ret;
	snprintf(want, sizeof(want), "array of %s",
		 kind == NPU_GGUF_I64 ? "integers" : npu_gguf_kind_name(kind));
	if (key->kind != NPU_GGUF_ARRAY ||
	    (kind == NPU_GGUF_I64 ? !is_integer(key->array.kind) : key->array.kind != kind))
		return wrong_kind(g, key, want, err);
	*array = key->array;
	return 0;
}

int64_t npu_gguf_array_i64(const struct npu_gguf_array *array, uint64_t i)
{
	const uint8_t *p = array->data + i * npu_gguf_kind_size(array->kind);
	union {
		uint8_t u8;
		int8_t i8;
		uint16_t u16;
		int16_t i16;
		uint32_t u32;
		int32_t i32;
		uint64_t u64;
		int64_t i64;
	} v;

	memcpy(&v, p, npu_gguf_kind_size(array->kind));
	switch (array->kind) {
	case NPU_GGUF_U8:
		return v.u8;
	case NPU_GGUF_I8:
		return v.i8;
	case NPU_GGUF_U16:
		return v.u16;
	case NPU_GGUF_I16:
		return v.i16;
	case NPU_GGUF_U32:
		return v.u32;
	case NPU_GGUF_I32:
		return v.i32;
	case NPU_GGUF_U64:
		return v.u64 > INT64_MAX ? INT64_MAX : (int64_t)v.u64;
	default:
		return v.i64;
	}
}

float npu_gguf_array_f32(const struct npu_gguf_array *array, uint64_t i)
{
	float v;

	memcpy(&v, array->data + i * 4, 4);
	return v;
}

struct npu_gguf_string npu_gguf_array_next(const struct npu_gguf_array *array, uint64_t *at)
{
	struct npu_gguf_string s;

	memcpy(&s.size, array->data + *at, 8);
	s.data = (const char *)array->data + *at + 8;
	*at += 8 + s.size;
	return s;
}

/* ---- tensors ---- */

uint32_t npu_gguf_num_tensors(const struct npu_gguf *g)
{
	return g->num_tensors;
}

const struct npu_gguf_tensor *npu_gguf_tensor(const struct npu_gguf *g, uint32_t i)
{
	return &g->tensors[i];
}

static const char *tensor_name(const struct npu_gguf *g, uint32_t i)
{
	return g->tensors[i].name;
}

const struct npu_gguf_tensor *npu_gguf_find_tensor(const struct npu_gguf *g, const char *name)
{
	uint32_t i = find_name(g, g->tensor_order, g->num_tensors, tensor_name, name);

	return i == ~0u ? NULL : &g->tensors[i];
}
