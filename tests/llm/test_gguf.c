// SPDX-License-Identifier: MIT
/*
 * The GGUF reader: every kind of value and its getters, what each kind of damage is called, every
 * truncation and 10,000 changes of a file, and real files of llama.cpp's.
 */
#include <errno.h>
#include <math.h>
#include "../tap.h"
#include "common/file.h"
#include "common/tmp.h"
#include "gguf_make.h"
#include "shared.h"

static struct npu_error err;

static bool contains(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

/* ---- what is written is what is read ---- */

static struct gguf_make *make_all(void)
{
	struct gguf_make *m = gguf_make_new();
	static const char *const words[] = { "one", "", "three" };
	static const int16_t numbers[] = { -1, 0, 32767 };
	static const float scores[] = { 0.5f, -2.0f };
	static const uint8_t bools[] = { 1, 0 };
	float data[2 * 3 * 4];
	uint8_t block[34 * 2];
	unsigned int i;

	gguf_make_raw(m, "a.u8", NPU_GGUF_U8, "\xfe", 1);
	gguf_make_raw(m, "a.i8", NPU_GGUF_I8, "\xfe", 1);
	gguf_make_raw(m, "a.u16", NPU_GGUF_U16, "\xff\xff", 2);
	gguf_make_raw(m, "a.i16", NPU_GGUF_I16, "\xfe\xff", 2);
	gguf_make_u32(m, "a.u32", 4000000000u);
	gguf_make_raw(m, "a.i32", NPU_GGUF_I32, "\xfe\xff\xff\xff", 4);
	gguf_make_f32(m, "a.f32", 1.25f);
	gguf_make_f32(m, "a.inf", INFINITY);
	gguf_make_bool(m, "a.bool", true);
	gguf_make_string(m, "a.string", "text");
	gguf_make_raw(m, "a.zero", NPU_GGUF_STRING, "\3\0\0\0\0\0\0\0a\0b", 11);
	gguf_make_raw(m, "a.u64", NPU_GGUF_U64, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
	gguf_make_raw(m, "a.i64", NPU_GGUF_I64, "\xfe\xff\xff\xff\xff\xff\xff\xff", 8);
	gguf_make_raw(m, "a.f64", NPU_GGUF_F64, &(double){ 0.5 }, 8);
	gguf_make_raw(m, "a.huge", NPU_GGUF_F64, &(double){ 1e300 }, 8);
	gguf_make_strings(m, "b.words", 3, words);
	gguf_make_array(m, "b.numbers", NPU_GGUF_I16, 3, numbers);
	gguf_make_array(m, "b.scores", NPU_GGUF_F32, 2, scores);
	gguf_make_array(m, "b.bools", NPU_GGUF_BOOL, 2, bools);
	gguf_make_array(m, "b.empty", NPU_GGUF_I32, 0, NULL);
	for (i = 0; i < 24; i++)
		data[i] = i;
	memset(block, 7, sizeof(block));
	gguf_make_tensor(m, "t.f32", 0, 3, (uint64_t[]){ 4, 3, 2 }, data, sizeof(data));
	gguf_make_tensor(m, "t.q8", 8, 1, (uint64_t[]){ 64 }, block, sizeof(block));
	return m;
}

static void test_scalars(const struct npu_gguf *g)
{
	uint64_t u64 = 0;
	uint32_t u32 = 0;
	int64_t i64[4] = { 0 };
	float f[2] = { 0 };
	bool b = false;
	const char *s = "";

	tap_ok(!npu_gguf_get_u32(g, "a.u8", &u32, &err) && u32 == 254, "u8");
	tap_ok(!npu_gguf_get_i64(g, "a.i8", &i64[0], &err) &&
	       !npu_gguf_get_i64(g, "a.i16", &i64[1], &err) &&
	       !npu_gguf_get_i64(g, "a.i32", &i64[2], &err) &&
	       !npu_gguf_get_i64(g, "a.i64", &i64[3], &err) && i64[0] == -2 && i64[1] == -2 &&
	       i64[2] == -2 && i64[3] == -2, "signed integers of every size");
	tap_ok(!npu_gguf_get_u32(g, "a.u16", &u32, &err) && u32 == 65535, "u16");
	tap_ok(!npu_gguf_get_u32(g, "a.u32", &u32, &err) && u32 == 4000000000u, "u32");
	tap_ok(!npu_gguf_get_u64(g, "a.u64", &u64, &err) && u64 == UINT64_MAX, "u64");
	tap_ok(!npu_gguf_get_f32(g, "a.f32", &f[0], &err) &&
	       !npu_gguf_get_f32(g, "a.f64", &f[1], &err) && f[0] == 1.25f && f[1] == 0.5f,
	       "f32 and f64");
	tap_ok(!npu_gguf_get_bool(g, "a.bool", &b, &err) && b, "bool");
	tap_ok(!npu_gguf_get_string(g, "a.string", &s, &err) && !strcmp(s, "text"), "string");
	u32 = 5;
	tap_ok(!npu_gguf_opt_u32(g, "no.such", &u32, &err) && u32 == 5,
	       "an optional key that is missing leaves the value");
	tap_ok(!npu_gguf_opt_u32(g, "a.u8", &u32, &err) && u32 == 254, "one that is there sets it");
}

static void test_arrays(const struct npu_gguf *g)
{
	struct npu_gguf_string s[3];
	struct npu_gguf_array a;
	uint64_t at = 0;
	int i;

	tap_ok(!npu_gguf_get_array(g, "b.words", NPU_GGUF_STRING, &a, &err) && a.count == 3,
	       "array of strings");
	for (i = 0; i < 3; i++)
		s[i] = npu_gguf_array_next(&a, &at);
	tap_ok(at == a.size && s[0].size == 3 && !memcmp(s[0].data, "one", 3) && !s[1].size &&
	       s[2].size == 5 && !memcmp(s[2].data, "three", 5),
	       "and its strings, one of them empty");
	tap_ok(!npu_gguf_get_array(g, "b.numbers", NPU_GGUF_I64, &a, &err) && a.count == 3 &&
	       npu_gguf_array_i64(&a, 0) == -1 && npu_gguf_array_i64(&a, 2) == 32767,
	       "array of integers");
	tap_ok(!npu_gguf_get_array(g, "b.scores", NPU_GGUF_F32, &a, &err) && a.count == 2 &&
	       npu_gguf_array_f32(&a, 1) == -2.0f, "array of f32");
	tap_ok(!npu_gguf_get_array(g, "b.bools", NPU_GGUF_BOOL, &a, &err) && a.count == 2 &&
	       a.data[0] && !a.data[1], "array of bools");
	tap_ok(!npu_gguf_get_array(g, "b.empty", NPU_GGUF_I32, &a, &err) && !a.count,
	       "empty array");
	tap_ok(npu_gguf_num_keys(g) == 20 && !strcmp(npu_gguf_key(g, 15), "b.words") &&
	       npu_gguf_kind(g, "b.words") == NPU_GGUF_ARRAY && npu_gguf_kind(g, "x") == -ENOENT,
	       "keys in the file's order, and their kinds");
}

static void test_tensors(const struct npu_gguf *g)
{
	const struct npu_gguf_tensor *t = npu_gguf_find_tensor(g, "t.f32");

	tap_ok(npu_gguf_num_tensors(g) == 2 && t == npu_gguf_tensor(g, 0) && t->rank == 3 &&
	       t->dim[0] == 4 && t->dim[1] == 3 && t->dim[2] == 2 && t->dim[3] == 1 &&
	       t->size == 96 && !(t->offset % 32) && ((const float *)t->data)[23] == 23.0f,
	       "a tensor of f32");
	t = npu_gguf_find_tensor(g, "t.q8");
	tap_ok(t && t->size == 68 && !strcmp(npu_gguf_type_name(t->type), "Q8_0") &&
	       ((const uint8_t *)t->data)[67] == 7, "a tensor of blocks");
	tap_ok(!npu_gguf_find_tensor(g, "t.q"), "a tensor that is not there");
	tap_ok(!npu_gguf_type_name(4) && !npu_gguf_type_name(1000), "types that are not known");
}

/* The call failed so, and each of the words is in the reason. */
static void said(const char *call, int ret, int status, const char *const *want)
{
	bool ok = ret == status && err.code == ret;

	for (; *want; want++)
		ok = ok && contains(err.text, *want);
	tap_ok(ok, "%s: %s", call, err.text);
}

#define REFUSED(call, status, ...) \
	said(#call, call, status, (const char *const[]){ __VA_ARGS__, NULL })

static void test_getter_errors(const struct npu_gguf *g)
{
	struct npu_gguf_array a;
	uint32_t u32;
	int64_t i64;
	float f;
	bool b;
	const char *s;

	REFUSED(npu_gguf_get_u32(g, "no.such", &u32, &err), -ENOENT, "made.gguf", "'no.such'");
	REFUSED(npu_gguf_get_u32(g, "a.string", &u32, &err), -EINVAL, "made.gguf", "'a.string'",
		"kind string", "an integer");
	REFUSED(npu_gguf_get_u32(g, "b.words", &u32, &err), -EINVAL, "array of string");
	REFUSED(npu_gguf_get_u32(g, "a.i32", &u32, &err), -EINVAL, "is -2", "0 .. 4294967295");
	REFUSED(npu_gguf_get_u32(g, "a.u64", &u32, &err), -EINVAL, "is 18446744073709551615");
	REFUSED(npu_gguf_get_i64(g, "a.u64", &i64, &err), -EINVAL, "is 18446744073709551615");
	REFUSED(npu_gguf_get_i64(g, "a.f32", &i64, &err), -EINVAL, "kind f32", "an integer");
	REFUSED(npu_gguf_get_f32(g, "a.u8", &f, &err), -EINVAL, "kind u8", "want f32");
	REFUSED(npu_gguf_get_f32(g, "a.inf", &f, &err), -EINVAL, "'a.inf'", "inf", "finite");
	REFUSED(npu_gguf_get_f32(g, "a.huge", &f, &err), -EINVAL, "'a.huge'", "finite");
	REFUSED(npu_gguf_get_bool(g, "a.u8", &b, &err), -EINVAL, "kind u8", "want bool");
	REFUSED(npu_gguf_get_string(g, "a.zero", &s, &err), -EINVAL, "'a.zero'", "zero byte");
	REFUSED(npu_gguf_get_string(g, "a.bool", &s, &err), -EINVAL, "kind bool", "want string");
	REFUSED(npu_gguf_opt_u32(g, "a.bool", &u32, &err), -EINVAL, "kind bool", "an integer");
	REFUSED(npu_gguf_get_array(g, "a.u8", NPU_GGUF_F32, &a, &err), -EINVAL, "kind u8",
		"array of f32");
	REFUSED(npu_gguf_get_array(g, "b.scores", NPU_GGUF_I64, &a, &err), -EINVAL, "array of f32",
		"array of integers");
	REFUSED(npu_gguf_get_array(g, "b.numbers", NPU_GGUF_STRING, &a, &err), -EINVAL,
		"array of i16", "array of string");
}

static void test_all_kinds(void)
{
	struct gguf_make *m = make_all();
	struct npu_gguf *g = NULL;
	int version;

	for (version = 3; version >= 2; version--) {
		gguf_make_version(m, version);
		tap_ok(gguf_make_save(m, tmp_path("made.gguf")) &&
		       !npu_gguf_open(tmp_path("made.gguf"), &g, &err),
		       "a file of version %d with every kind of value", version);
		if (!g)
			continue;
		if (version == 3) {
			test_scalars(g);
			test_arrays(g);
			test_tensors(g);
			test_getter_errors(g);
		}
		npu_gguf_close(g);
		g = NULL;
	}
	gguf_make_free(m);
}

/* ---- what is refused ---- */

static void refused(struct gguf_make *m, int code, const char *want)
{
	struct npu_gguf *g = NULL;
	size_t size;
	void *data = gguf_make_bytes(m, &size);
	int ret;

	err.text[0] = 0;
	ret = npu_gguf_parse(data, size, "bad.gguf", &g, &err);
	tap_ok(ret == code && err.code == ret && contains(err.text, want) &&
	       !strncmp(err.text, "bad.gguf: ", 10), "%s", err.text);
	if (!ret)
		npu_gguf_close(g);
	free(data);
	gguf_make_free(m);
}

/* A file with one raw value. */
static struct gguf_make *with(uint32_t kind, const void *bytes, size_t size)
{
	struct gguf_make *m = gguf_make_new();

	gguf_make_raw(m, "x.key", kind, bytes, size);
	return m;
}

/* A file with one tensor of 64 bytes of data. */
static struct gguf_make *with_tensor(uint32_t type, uint32_t rank, const uint64_t *dim,
				     uint64_t offset)
{
	struct gguf_make *m = gguf_make_new();
	static const uint8_t data[64];

	gguf_make_tensor(m, "first", 24, 1, (uint64_t[]){ 64 }, data, 64);
	gguf_make_tensor_at(m, "second", type, rank, dim, offset);
	return m;
}

static void test_bad_headers(void)
{
	struct gguf_make *m = gguf_make_new();
	struct npu_gguf *g;

	gguf_make_version(m, 1);
	refused(m, -ENOTSUP, "version 1, want 2 or 3");
	m = gguf_make_new();
	gguf_make_version(m, 4);
	refused(m, -ENOTSUP, "version 4, want 2 or 3");
	m = gguf_make_new();
	gguf_make_version(m, 0x03000000);
	refused(m, -ENOTSUP, "big-endian file (version 3)");
	tap_ok(npu_gguf_parse("GGML", 4, "bad", &g, &err) == -EINVAL &&
	       contains(err.text, "bad: not a GGUF file"), "%s", err.text);
	tap_ok(npu_gguf_parse("GGUF\3\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 24,
			      "bad", &g, &err) == -EINVAL &&
	       contains(err.text, "18446744073709551615 keys"), "%s", err.text);
	tap_ok(npu_gguf_parse("GGUF\3\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0", 24, "bad", &g,
			      &err) == -EINVAL && contains(err.text, "65536 tensors do not fit"),
	       "%s", err.text);
	tap_ok(npu_gguf_open("/proc/nonexistent/model.gguf", &g, &err) == -ENOENT &&
	       contains(err.text, "/proc/nonexistent/model.gguf: No such file"), "%s", err.text);
	tap_ok(npu_gguf_open("/dev/null", &g, &err) == -EINVAL &&
	       contains(err.text, "not a regular file"), "%s", err.text);
	tap_ok(npu_gguf_open(tmp_folder(), &g, &err) < 0 && err.text[0], "%s", err.text);
}

static void test_bad_keys(void)
{
	struct gguf_make *m;

	refused(with(13, "", 0), -EINVAL, "key 'x.key': a value of kind 13, want 0 .. 12");
	refused(with(NPU_GGUF_BOOL, "\2", 1), -EINVAL, "key 'x.key': value: a bool of 2");
	refused(with(NPU_GGUF_STRING, "\xff\xff\xff\xff\xff\xff\xff\xff", 8), -EINVAL,
		"key 'x.key': value: 18446744073709551615 bytes");
	refused(with(NPU_GGUF_ARRAY, "\x9\0\0\0\1\0\0\0\0\0\0\0", 12), -ENOTSUP,
		"key 'x.key': an array of arrays");
	refused(with(NPU_GGUF_ARRAY, "\xd\0\0\0\1\0\0\0\0\0\0\0", 12), -EINVAL,
		"key 'x.key': elements of kind 13");
	refused(with(NPU_GGUF_ARRAY, "\4\0\0\0\0\0\0\0\0\0\0\x40", 12), -EINVAL,
		"key 'x.key': 4611686018427387904 elements of kind u32");
	refused(with(NPU_GGUF_ARRAY, "\x8\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 12), -EINVAL,
		"elements of kind string");
	refused(with(NPU_GGUF_ARRAY, "\x8\0\0\0\1\0\0\0\0\0\0\0\xff\0\0\0\0\0\0\0", 20), -EINVAL,
		"key 'x.key': element 0 of 1: string: 255 bytes");
	refused(with(NPU_GGUF_ARRAY, "\x7\0\0\0\2\0\0\0\0\0\0\0\1\xff", 14), -EINVAL,
		"key 'x.key': element 1 of 2: a bool of 255");
	m = with(NPU_GGUF_U8, "\1", 1);
	gguf_make_u32(m, "other", 1);
	gguf_make_u32(m, "x.key", 1);
	refused(m, -EINVAL, "key 'x.key' is there twice");
	m = gguf_make_new();
	gguf_make_u32(m, "", 1);
	refused(m, -EINVAL, "key 0 of 1: name: 0 bytes");
	m = gguf_make_new();
	gguf_make_align(m, 48);
	refused(m, -EINVAL, "'general.alignment' is 48, want a power of two");
	m = gguf_make_new();
	gguf_make_string(m, "general.alignment", "32");
	refused(m, -EINVAL, "bad.gguf: key 'general.alignment' is of kind string, want an integer");
	m = gguf_make_new();
	gguf_make_u32(m, "split.count", 3);
	refused(m, -ENOTSUP, "one of 3 files");
}

#define DIM(...)	(uint64_t[]){ __VA_ARGS__ }

static void test_bad_tensors(void)
{
	struct gguf_make *m;

	refused(with_tensor(24, 0, DIM(1), 0), -EINVAL, "tensor 'second': rank 0, want 1 .. 4");
	refused(with_tensor(24, 5, DIM(1, 1, 1, 1, 1), 0), -EINVAL, "rank 5, want 1 .. 4");
	refused(with_tensor(24, 2, DIM(8, 0), 0), -EINVAL, "tensor 'second': dimension 1 is 0");
	refused(with_tensor(24, 2, DIM(1ull << 32, 1ull << 32), 0), -EINVAL,
		"dimension 1 of 4294967296 makes more than 2^64 elements");
	refused(with_tensor(0, 1, DIM(1ull << 62), 0), -EINVAL, "of F32 make more than 2^64 bytes");
	refused(with_tensor(4, 1, DIM(32), 0), -ENOTSUP, "tensor 'second': type 4 is not known");
	refused(with_tensor(0xffffffff, 1, DIM(32), 0), -ENOTSUP, "type 4294967295 is not known");
	refused(with_tensor(8, 2, DIM(33, 32), 0), -EINVAL,
		"rows of 33 elements are no whole blocks of Q8_0 (32)");
	refused(with_tensor(12, 1, DIM(32), 0), -EINVAL, "no whole blocks of Q4_K (256)");
	refused(with_tensor(24, 1, DIM(8), 8), -EINVAL, "offset 8 is no multiple of 32");
	refused(with_tensor(24, 1, DIM(8), 64), -EINVAL, "8 bytes at byte 64 of the data leave");
	refused(with_tensor(24, 1, DIM(8), -32ull), -EINVAL, "of the data leave the file");
	refused(with_tensor(24, 1, DIM(8), 32), -EINVAL, "tensor 'second' overlaps tensor 'first'");
	m = with_tensor(24, 1, DIM(8), 0);
	gguf_make_tensor(m, "first", 24, 1, DIM(32), m, 32);
	refused(m, -EINVAL, "tensor 'first' is there twice");
	m = gguf_make_new();
	gguf_make_align(m, 64);
	gguf_make_tensor(m, "a", 24, 1, DIM(1), "1", 1);
	gguf_make_tensor_at(m, "b", 24, 1, DIM(1), 32);
	refused(m, -EINVAL, "tensor 'b': offset 32 is no multiple of 64");
}

/* ---- hostile files ---- */

static struct {
	unsigned int read, refused, silent;
} seen;

static uint64_t rng_state = 11;

static uint32_t rng_below(uint32_t n)
{
	rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((rng_state >> 33) % n);
}

/* Touch all that a file hands out, so that a sanitizer sees what lies outside. */
static unsigned int look_at(const struct npu_gguf *g)
{
	const struct npu_gguf_tensor *t;
	struct npu_gguf_array a;
	struct npu_gguf_string s;
	unsigned int sum = 0;
	uint64_t at, n;
	uint32_t i;
	int kind;

	for (i = 0; i < npu_gguf_num_keys(g); i++) {
		for (kind = 0; kind < NPU_GGUF_NUM_KINDS; kind++)
			if (!npu_gguf_get_array(g, npu_gguf_key(g, i), kind, &a, NULL))
				break;
		if (kind == NPU_GGUF_NUM_KINDS)
			continue;
		for (n = at = 0; kind == NPU_GGUF_STRING && n < a.count; n++) {
			s = npu_gguf_array_next(&a, &at);
			sum += s.size ? (uint8_t)s.data[s.size - 1] : 0;
		}
		sum += a.size ? a.data[a.size - 1] : 0;
	}
	for (i = 0; i < npu_gguf_num_tensors(g); i++) {
		t = npu_gguf_tensor(g, i);
		sum += ((const uint8_t *)t->data)[0] + ((const uint8_t *)t->data)[t->size - 1];
	}
	return sum;
}

static volatile unsigned int sink;

static int try(const void *data, size_t size)
{
	struct npu_gguf *g = NULL;
	int ret;

	err.text[0] = 0;
	ret = npu_gguf_parse(data, size, "x", &g, &err);
	if (!ret) {
		sink += look_at(g);
		npu_gguf_close(g);
		seen.read++;
		return 0;
	}
	seen.refused++;
	/* "x: " and what it is about. */
	seen.silent += strlen(err.text) < 10 || strncmp(err.text, "x: ", 3);
	return ret;
}

/* A copy of its own, so that nothing lies behind it. */
static int try_copy(const void *data, size_t size)
{
	void *copy = malloc(size ? size : 1);
	int ret;

	if (!copy)
		abort();
	memcpy(copy, data, size);
	ret = try(copy, size);
	free(copy);
	return ret;
}

static void truncate_all(const char *name, const uint8_t *data, size_t size, size_t head)
{
	size_t i, step = tap_short() ? 61 : 1;

	memset(&seen, 0, sizeof(seen));
	for (i = 0; i < size; i += i < head ? 1 : step) {
		if (i < head)
			try_copy(data, i);
		else
			try(data, i);
	}
	tap_ok(!seen.read && !seen.silent && seen.refused,
	       "%s: %u truncations, all refused with a reason", name, seen.refused);
}

/* A byte or a word anywhere in the first @head bytes, or bytes left out or put in. */
static void mutate(uint8_t *p, size_t *size, size_t head)
{
	static const uint64_t odd[] = { 0,	    1,	   0x7fffffff, 0xffffffff,
					1ull << 63, -1ull, -32ull,     9 };
	uint32_t at = rng_below(head - 8), n = 1 + rng_below(8);
	uint64_t v = odd[rng_below(sizeof(odd) / sizeof(*odd))];

	switch (rng_below(5)) {
	case 0:
		p[at] = rng_below(256);
		break;
	case 1:
		p[at] ^= 1 << rng_below(8);
		break;
	case 2:
		memcpy(p + at, &v, rng_below(2) ? 8 : 4);
		break;
	case 3:
		memmove(p + at, p + at + n, *size - at - n);
		*size -= n;
		break;
	default:
		memmove(p + at + n, p + at, *size - at - n);
		break;
	}
}

static void mutate_all(const char *name, const uint8_t *data, size_t size, size_t head)
{
	unsigned int i, k, n = tap_cases(10000);
	uint8_t *copy = size < 64 ? NULL : malloc(size);
	size_t left;

	if (!copy)
		abort();
	memset(&seen, 0, sizeof(seen));
	for (i = 0; i < n; i++) {
		memcpy(copy, data, size);
		left = size;
		for (k = 1 + rng_below(3); k; k--)
			mutate(copy, &left, head < left ? head : left);
		try_copy(copy, left);
	}
	free(copy);
	tap_ok(!seen.silent && seen.read && seen.refused,
	       "%s: %u mutations: %u read, %u refused, %u of them without a reason", name, n,
	       seen.read, seen.refused, seen.silent);
}

static void test_hostile_made(void)
{
	struct gguf_make *m = make_all();
	size_t size;
	uint8_t *data = gguf_make_bytes(m, &size);

	truncate_all("made", data, size, size);
	mutate_all("made", data, size, size);
	free(data);
	gguf_make_free(m);
}

/* ---- files of llama.cpp's ---- */

static void test_hostile_real(void)
{
	size_t size, head, end = 0;
	uint8_t *data = test_read_file(shared_path("stories260K-Q4_0.gguf"), &size);
	struct npu_gguf *g = NULL;
	const struct npu_gguf_tensor *t;
	uint32_t i;

	if (!data) {
		tap_skip("truncations and mutations of stories260K-Q4_0.gguf",
			 "NPU_SHARED_MODELS does not have it");
		return;
	}
	if (tap_ok(!npu_gguf_parse(data, size, "stories", &g, &err),
		   "stories260K-Q4_0.gguf is read")) {
		head = npu_gguf_tensor(g, 0)->offset;
		for (i = 0; i < npu_gguf_num_tensors(g); i++) {
			t = npu_gguf_tensor(g, i);
			end = t->offset + t->size > end ? t->offset + t->size : end;
		}
		npu_gguf_close(g);
		/* Behind the last tensor there is but padding. */
		truncate_all("stories260K-Q4_0.gguf", data, end, head);
		/* What follows the head is numbers. */
		mutate_all("stories260K-Q4_0.gguf", data, size, head);
	}
	free(data);
}

/* What llama.cpp's own tools say of these files. */
static const struct real {
	const char *name, *arch;
	uint32_t keys, tensors, tokens;
	const char *tensor, *type;
	uint64_t rows, row;
} reals[] = {
	{ "stories260K-f32.gguf", "llama", 26, 47, 512, "token_embd.weight", "F32", 512, 64 },
	{ "stories260K-Q4_K_M.gguf", "llama", 27, 47, 512, "blk.0.attn_q.weight", "Q5_0", 64, 64 },
	{ "kjv/kjv-Q4_0.gguf", "llama", 26, 56, 2048, "token_embd.weight", "Q6_K", 2048, 256 },
	{ "kjv/kjv-Q4_K_M.gguf", "llama", 26, 56, 2048, "blk.2.ffn_down.weight", "Q6_K", 256, 768 },
	{ "ggml-vocab-gpt-2.gguf", "gpt2", 16, 0, 50257, NULL, NULL, 0, 0 },
	{ "ggml-vocab-bert-bge.gguf", "bert", 20, 0, 30522, NULL, NULL, 0, 0 },
};

static void test_real(const struct real *r)
{
	const struct npu_gguf_tensor *t;
	struct npu_gguf_array a;
	struct npu_gguf *g = NULL;
	const char *arch = "";
	bool ok;

	if (npu_gguf_open(shared_path(r->name), &g, &err) == -ENOENT) {
		tap_skip(r->name, "NPU_SHARED_MODELS does not have it");
		return;
	}
	if (!tap_ok(g != NULL, "%s is read", r->name)) {
		tap_diag("%s", err.text);
		return;
	}
	tap_ok(npu_gguf_num_keys(g) == r->keys && npu_gguf_num_tensors(g) == r->tensors,
	       "%s: %u keys, %u tensors", r->name, npu_gguf_num_keys(g), npu_gguf_num_tensors(g));
	ok = !npu_gguf_get_string(g, "general.architecture", &arch, &err) &&
	     !strcmp(arch, r->arch) &&
	     !npu_gguf_get_array(g, "tokenizer.ggml.tokens", NPU_GGUF_STRING, &a, &err);
	tap_ok(ok && a.count == r->tokens, "%s: architecture %s, %u tokens", r->name, r->arch,
	       r->tokens);
	t = r->tensor ? npu_gguf_find_tensor(g, r->tensor) : NULL;
	if (r->tensor)
		tap_ok(t && !strcmp(npu_gguf_type_name(t->type), r->type) && t->dim[0] == r->row &&
		       t->dim[1] == r->rows, "%s: %s is %s", r->name, r->tensor, r->type);
	sink += look_at(g);
	npu_gguf_close(g);
}

int main(void)
{
	size_t i;

	test_all_kinds();
	test_bad_headers();
	test_bad_keys();
	test_bad_tensors();
	test_hostile_made();
	test_hostile_real();
	for (i = 0; i < sizeof(reals) / sizeof(*reals); i++)
		test_real(&reals[i]);
	return tap_done();
}
