// SPDX-License-Identifier: MIT
#include "tools/common/npy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/file.h"

static const struct {
	const char *descr, *name;
	size_t size;
} npy_types[NPU_NPY_TYPES] = {
	[NPU_NPY_F32] = { "<f4", "f32", 4 },	[NPU_NPY_F16] = { "<f2", "f16", 2 },
	[NPU_NPY_F64] = { "<f8", "f64", 8 },	[NPU_NPY_I64] = { "<i8", "i64", 8 },
	[NPU_NPY_I32] = { "<i4", "i32", 4 },	[NPU_NPY_I16] = { "<i2", "i16", 2 },
	[NPU_NPY_I8] = { "|i1", "i8", 1 },	[NPU_NPY_U64] = { "<u8", "u64", 8 },
	[NPU_NPY_U32] = { "<u4", "u32", 4 },	[NPU_NPY_U16] = { "<u2", "u16", 2 },
	[NPU_NPY_U8] = { "|u1", "u8", 1 },	[NPU_NPY_BOOL] = { "|b1", "bool", 1 },
};

size_t npu_npy_type_size(enum npu_npy_type type)
{
	return npy_types[type].size;
}

const char *npu_npy_type_name(enum npu_npy_type type)
{
	return npy_types[type].name;
}

void npu_npy_free(struct npu_npy *arr)
{
	free(arr->data);
	memset(arr, 0, sizeof(*arr));
}

/* Elements and bytes of @arr; -EOVERFLOW when they do not fit. */
static int npy_extent(const struct npu_npy *arr, size_t *count, size_t *bytes)
{
	int i;

	*count = 1;
	for (i = 0; i < arr->rank; i++)
		if (arr->dims[i] < 0 ||
		    __builtin_mul_overflow(*count, (uint64_t)arr->dims[i], count))
			return -EOVERFLOW;
	if (__builtin_mul_overflow(*count, npy_types[arr->type].size, bytes) ||
	    *bytes > SIZE_MAX / 2)
		return -EOVERFLOW;
	return 0;
}

/* The header is a Python dict literal; find what follows 'key': in it. */
static const char *npy_value(const char *header, const char *key)
{
	char quoted[32];
	const char *p;

	snprintf(quoted, sizeof(quoted), "'%s':", key);
	p = strstr(header, quoted);
	if (!p)
		return NULL;
	p += strlen(quoted);
	while (*p == ' ')
		p++;
	return p;
}

static int npy_parse_type(const char *p, struct npu_npy *arr, struct npu_error *why)
{
	char descr[8] = "";
	size_t i, n;

	if (!p || *p != '\'')
		return npu_error_set(why, -EBADMSG, "header: 'descr' is missing or not a string");
	n = strcspn(p + 1, "'");
	if (n < sizeof(descr))
		memcpy(descr, p + 1, n);
	/* Byte order means nothing for single bytes, and NumPy writes '=' or '<' there at times. */
	for (i = 0; i < NPU_NPY_TYPES; i++)
		if (!strcmp(descr + !!*descr, npy_types[i].descr + 1) &&
		    (descr[0] == '<' || descr[0] == '=' || npy_types[i].size == 1)) {
			arr->type = (enum npu_npy_type)i;
			return 0;
		}
	return npu_error_set(
		why, -ENOTSUP,
		"header: type '%.*s' is not one of <f2 <f4 <f8 <i2 <i4 <i8 |i1 <u2 <u4 <u8 |u1 |b1",
		(int)(n < 40 ? n : 40), p + 1);
}

static int npy_parse_shape(const char *p, struct npu_npy *arr, struct npu_error *why)
{
	char *end;

	if (!p || *p++ != '(')
		return npu_error_set(why, -EBADMSG, "header: 'shape' is missing or not a tuple");
	arr->rank = 0;
	for (;;) {
		while (*p == ' ' || *p == ',')
			p++;
		if (*p == ')')
			return 0;
		if (arr->rank == NPU_NPY_RANK_MAX)
			return npu_error_set(why, -ENOTSUP, "header: more than %d dimensions",
					     NPU_NPY_RANK_MAX);
		if (*p < '0' || *p > '9')
			return npu_error_set(why, -EBADMSG,
					     "header: dimension %d of 'shape' is not a number",
					     arr->rank);
		errno = 0;
		arr->dims[arr->rank] = strtoll(p, &end, 10);
		if (errno)
			return npu_error_set(why, -EOVERFLOW,
					     "header: dimension %d of 'shape' does not fit",
					     arr->rank);
		arr->rank++;
		p = end;
		if (*p == 'L')		/* Python 2 wrote its long integers so */
			p++;
	}
}

static int npy_parse_header(const char *header, struct npu_npy *arr, struct npu_error *why)
{
	const char *order = npy_value(header, "fortran_order");
	int err;

	err = npy_parse_type(npy_value(header, "descr"), arr, why);
	if (!err)
		err = npy_parse_shape(npy_value(header, "shape"), arr, why);
	if (err)
		return err;
	if (order && !strncmp(order, "True", 4) && arr->rank > 1)
		return npu_error_set(why, -ENOTSUP, "header: Fortran order; C order is expected");
	if (!order || (strncmp(order, "False", 5) && strncmp(order, "True", 4)))
		return npu_error_set(why, -EBADMSG,
				     "header: 'fortran_order' is neither True nor False");
	return 0;
}

/* Where the header's text lies, by version. */
static int npy_header(const uint8_t *file, size_t len, size_t *at, size_t *bytes,
		      struct npu_error *why)
{
	if (len < 10 || memcmp(file, "\x93NUMPY", 6))
		return npu_error_set(why, -EBADMSG,
				     "not a .npy file (no magic, or shorter than 10 bytes)");
	if (file[6] == 1) {
		*at = 10;
		*bytes = file[8] | (size_t)file[9] << 8;
	} else if (file[6] == 2 || file[6] == 3) {
		if (len < 12)
			return npu_error_set(why, -EBADMSG, "header: ends after %zu bytes", len);
		*at = 12;
		*bytes = file[8] | (size_t)file[9] << 8 | (size_t)file[10] << 16 |
			 (size_t)file[11] << 24;
	} else {
		return npu_error_set(why, -ENOTSUP, "version %u.%u; 1, 2 and 3 are known", file[6],
				     file[7]);
	}
	if (*bytes > len - *at)
		return npu_error_set(why, -EBADMSG, "header: %zu bytes long, but only %zu follow",
				     *bytes, len - *at);
	if (*bytes > 65535)
		return npu_error_set(why, -ENOTSUP, "header: %zu bytes long; 65535 is the limit",
				     *bytes);
	return 0;
}

static int npy_parse(const uint8_t *file, size_t len, struct npu_npy *arr, struct npu_error *why)
{
	size_t at = 0, header_len = 0, bytes;
	char *header;
	int err;

	err = npy_header(file, len, &at, &header_len, why);
	if (err)
		return err;
	header = malloc(header_len + 1);
	if (!header)
		return npu_error_set(why, -ENOMEM, "no memory for a header of %zu bytes",
				     header_len);
	memcpy(header, file + at, header_len);
	header[header_len] = 0;
	err = npy_parse_header(header, arr, why);
	free(header);
	if (err)
		return err;
	if (npy_extent(arr, &arr->count, &bytes))
		return npu_error_set(why, -EOVERFLOW,
				     "header: the product of 'shape' does not fit");
	at += header_len;
	if (bytes != len - at)
		return npu_error_set(why, -EBADMSG,
				     "%zu bytes of data; type %s and 'shape' ask for %zu",
				     len - at, npy_types[arr->type].name, bytes);
	arr->data = malloc(bytes ? bytes : 1);
	if (!arr->data)
		return npu_error_set(why, -ENOMEM, "no memory for %zu bytes of data", bytes);
	memcpy(arr->data, file + at, bytes);
	return 0;
}

int npu_npy_parse(const uint8_t *file, size_t len, const char *name, struct npu_npy *arr,
		  struct npu_error *why)
{
	int err;

	memset(arr, 0, sizeof(*arr));
	err = npy_parse(file, len, arr, why);
	if (err) {
		npu_npy_free(arr);
		return npu_error_prefix(why, err, "%s", name);
	}
	return 0;
}

int npu_npy_read(const char *path, struct npu_npy *arr, struct npu_error *why)
{
	uint8_t *file;
	size_t len;
	int err;

	memset(arr, 0, sizeof(*arr));
	err = npu_file_read(path, NPU_NPY_FILE_MAX, &file, &len, why);
	if (err)
		return err;
	err = npu_npy_parse(file, len, path, arr, why);
	free(file);
	return err;
}

int npu_npy_write(const char *path, const struct npu_npy *arr, struct npu_error *why)
{
	char header[128 + 24 * NPU_NPY_RANK_MAX];
	size_t count, bytes, total, n;
	uint8_t *file;
	int i, err;

	if (arr->rank < 0 || arr->rank > NPU_NPY_RANK_MAX ||
	    (unsigned int)arr->type >= NPU_NPY_TYPES || npy_extent(arr, &count, &bytes))
		return npu_error_set(why, -EINVAL, "%s: rank %d, type %d or dims out of range",
				     path, arr->rank, (int)arr->type);
	n = (size_t)sprintf(header, "{'descr': '%s', 'fortran_order': False, 'shape': (",
			    npy_types[arr->type].descr);
	for (i = 0; i < arr->rank; i++)
		n += (size_t)sprintf(header + n, "%" PRId64 "%s", arr->dims[i],
				     arr->rank == 1 ? "," : i + 1 < arr->rank ? ", " : "");
	n += (size_t)sprintf(header + n, "), }");
	/* The data starts at a multiple of 64, and the header ends in a newline. */
	while ((10 + n + 1) % 64)
		header[n++] = ' ';
	header[n++] = '\n';
	total = 10 + n + bytes;
	file = malloc(total);
	if (!file)
		return npu_error_set(why, -ENOMEM, "%s: no memory for %zu bytes", path, total);
	memcpy(file, "\x93NUMPY\x01\x00", 8);
	file[8] = (uint8_t)n;
	file[9] = (uint8_t)(n >> 8);
	memcpy(file + 10, header, n);
	if (bytes)
		memcpy(file + 10 + n, arr->data, bytes);
	err = npu_file_write(path, file, total, why);
	free(file);
	return err;
}
