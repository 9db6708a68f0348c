// SPDX-License-Identifier: MIT
/*
 * Headers here were written by hand after NumPy's format description, not by the code under test.
 */
#include "common/tmp.h"
#include "tap.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/common/file.h"
#include "tools/common/npy.h"
#include "tools/common/npy_dir.h"

/* A file with this header and @bytes bytes 0, 1, 2, ... */
static size_t make(uint8_t *file, int version, const char *header, size_t bytes)
{
	size_t n = strlen(header), at = version == 1 ? 10 : 12, i;

	memcpy(file, "\x93NUMPY", 6);
	file[6] = (uint8_t)version;
	file[7] = 0;
	file[8] = (uint8_t)n;
	file[9] = (uint8_t)(n >> 8);
	if (version > 1)
		file[10] = file[11] = 0;
	memcpy(file + at, header, n);
	for (i = 0; i < bytes; i++)
		file[at + n + i] = (uint8_t)i;
	return at + n + bytes;
}

static void good(int version, const char *header, enum npu_npy_type type, int rank,
		 const int64_t *dims, size_t bytes)
{
	struct npu_error why = { 0 };
	uint8_t file[1024];
	struct npu_npy arr;
	size_t len = make(file, version, header, bytes);
	int err, i, ok;

	err = npu_npy_parse(file, len, "t.npy", &arr, &why);
	ok = !err && arr.type == type && arr.rank == rank &&
	     arr.count * npu_npy_type_size(type) == bytes;
	for (i = 0; ok && i < rank; i++)
		ok = arr.dims[i] == dims[i];
	ok = ok && !memcmp(arr.data, file + len - bytes, bytes);
	tap_ok(ok, "version %d %s %s", version, header, why.text);
	npu_npy_free(&arr);
}

static void bad(const char *header, size_t bytes, int expect, const char *words)
{
	struct npu_error why = { 0 };
	uint8_t file[1024];
	struct npu_npy arr;
	size_t len = make(file, 1, header, bytes);
	int err = npu_npy_parse(file, len, "t.npy", &arr, &why);

	tap_ok(err == expect && !arr.data && strstr(why.text, words) && strstr(why.text, "t.npy"),
	       "%s: %d %s", header, err, why.text);
}

static void test_good(void)
{
	const int64_t d23[] = { 2, 3 }, d0[] = { 0, 5 }, d4[] = { 4 };

	good(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", NPU_NPY_F32, 2,
	     d23, 24);
	good(2, "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }\n", NPU_NPY_F16, 2,
	     d23, 12);
	good(1, "{'shape': (2,3), 'fortran_order': False, 'descr': '<i8'}", NPU_NPY_I64, 2, d23,
	     48);
	good(1, "{'descr': '<i4', 'fortran_order': False, 'shape': (4,), }", NPU_NPY_I32, 1, d4,
	     16);
	good(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (4L,), }", NPU_NPY_U8, 1, d4, 4);
	good(1, "{'descr': '|i1', 'fortran_order': True, 'shape': (4,), }", NPU_NPY_I8, 1, d4, 4);
	good(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }", NPU_NPY_BOOL, 1, d4,
	     4);
	good(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }", NPU_NPY_F64, 0, NULL, 8);
	good(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 5), }", NPU_NPY_F32, 2, d0,
	     0);
}

static void test_bad(void)
{
	bad("{'descr': '>f4', 'fortran_order': False, 'shape': (4,), }", 16, -ENOTSUP, ">f4");
	bad("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }", 16, -ENOTSUP, "<c8");
	bad("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }", 16, -EBADMSG,
	    "descr");
	bad("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", 16, -ENOTSUP, "Fortran");
	bad("{'descr': '<f4', 'fortran_order': maybe, 'shape': (2, 2), }", 16, -EBADMSG,
	    "fortran_order");
	bad("{'descr': '<f4', 'fortran_order': False, }", 16, -EBADMSG, "shape");
	bad("{'descr': '<f4', 'fortran_order': False, 'shape': (2, -2), }", 16, -EBADMSG,
	    "dimension 1");
	bad("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2", 16, -EBADMSG, "dimension 2");
	bad("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", 15, -EBADMSG,
	    "15 bytes");
	bad("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", 17, -EBADMSG,
	    "17 bytes");
	bad("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 16,
	    -EOVERFLOW, "shape");
	bad("{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,), }", 16,
	    -EOVERFLOW, "shape");
	bad("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 16,
	    -EOVERFLOW, "dimension 0");
	bad("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), }",
	    4, -ENOTSUP, "dimensions");
	bad("", 0, -EBADMSG, "descr");
}

/* No prefix of a file is a file, and no byte of the header can break the reader. */
static void test_mangled(void)
{
	uint8_t file[256], copy[256];
	size_t len = make(file, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }\n",
			  24),
	       i;
	struct npu_npy arr;
	struct npu_error why;
	int accepted = 0, silent = 0, tried = 0, v;

	for (i = 0; i < len; i++) {
		/* so that reading past it shows under ASan */
		uint8_t *exact = malloc(i ? i : 1);

		memcpy(exact, file, i);
		accepted += !npu_npy_parse(exact, i, "t", &arr, NULL);
		npu_npy_free(&arr);
		free(exact);
	}
	tap_ok(!accepted, "every truncation of %zu bytes is refused", len);
	for (i = 0; i < len; i++)
		for (v = 0; v < 256; v += 5, tried++) {
			memcpy(copy, file, len);
			copy[i] = (uint8_t)v;
			*why.text = 0;
			silent += npu_npy_parse(copy, len, "t", &arr, &why) && !*why.text;
			npu_npy_free(&arr);
		}
	tap_ok(!silent, "%d one-byte changes end in an array or in an error with a reason", tried);
}

static void test_write(void)
{
	float data[6] = { 1, -2, 3.5f, 0, 1e30f, -0.0f };
	struct npu_npy out = { .type = NPU_NPY_F32, .rank = 3, .dims = { 1, 2, 3 }, .data = data },
		       in;
	struct npu_error why = { 0 };
	const char *path = tmp_path("a.npy");
	uint8_t *file;
	size_t len;

	tap_ok(!npu_npy_write(path, &out, &why), "write %s", why.text);
	if (!npu_file_read(path, 4096, &file, &len, &why)) {
		tap_ok(len == 128 + 24 &&
			       !memcmp(file,
				       "\x93NUMPY\x01\0\x76\0{'descr': '<f4', 'fortran_order': False, "
				       "'shape': (1, 2, 3), }",
				       67) &&
			       file[127] == '\n',
		       "the header is NumPy's, padded to 64");
		free(file);
	}
	tap_ok(!npu_npy_read(path, &in, &why) && in.count == 6 &&
		       !memcmp(in.data, data, sizeof(data)),
	       "read back");
	npu_npy_free(&in);
	out.rank = 1;
	out.dims[0] = -1;
	tap_ok(npu_npy_write(path, &out, &why) == -EINVAL, "negative dims are not written: %s",
	       why.text);
	unlink(path);
	tap_ok(npu_npy_read(path, &in, &why) == -ENOENT && strstr(why.text, path),
	       "a missing file is named: %s", why.text);
	tap_ok(npu_npy_read("/dev/null", &in, &why) == -EBADMSG, "an empty file: %s", why.text);
}

static void put(const char *name, const void *data, size_t len)
{
	if (npu_file_write(tmp_path(name), data, len, NULL))
		abort();
}

/* A folder: its .npy files by name, nothing else; the file that is wrong is named. */
static void test_dir(void)
{
	static const char header[] =
		"{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n";
	const char *dir = tmp_path("dir");
	struct npu_error why = { 0 };
	struct npu_npy_dir d;
	uint8_t file[256];
	size_t len;
	int err;

	if (mkdir(dir, 0700))
		abort();
	err = npu_npy_dir_read(dir, &d, &why);
	tap_ok(err == -ENOENT && strstr(why.text, dir), "an empty folder: %s", why.text);
	len = make(file, 1, header, 2);
	put("dir/b.npy", file, len);
	file[len - 1] = 77;
	put("dir/a10.npy", file, len);
	put("dir/a.txt", "text", 4);
	put("dir/.hidden.npy", "text", 4);
	err = npu_npy_dir_read(dir, &d, &why);
	tap_ok(!err && d.count == 2 && !strcmp(d.name[0], "a10.npy") &&
		       !strcmp(d.name[1], "b.npy") && ((uint8_t *)d.arr[0].data)[1] == 77 &&
		       ((uint8_t *)d.arr[1].data)[1] == 1,
	       "a folder's .npy files, in the order of their names %s", why.text);
	npu_npy_dir_free(&d);
	put("dir/bad.npy", file, len - 1);
	err = npu_npy_dir_read(dir, &d, &why);
	tap_ok(err == -EBADMSG && strstr(why.text, "bad.npy") && !d.count && !d.arr,
	       "one cut short is named: %s", why.text);
	err = npu_npy_dir_read("/proc/nonexistent", &d, &why);
	tap_ok(err == -ENOENT && strstr(why.text, "/proc/nonexistent"), "no folder: %s", why.text);
}

int main(void)
{
	test_good();
	test_bad();
	test_mangled();
	test_write();
	test_dir();
	return tap_done();
}
