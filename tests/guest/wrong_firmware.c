// SPDX-License-Identifier: MIT
/*
 * wrong_firmware IMAGE FOLDER: for each field of a firmware file's header and ranges files in which
 * that field alone is wrong, the check sum being right; one in which it is as large as can be; one
 * that ends within it; and files of other sizes. Each becomes FOLDER/CASE/npu/npu_fw.bin;
 * FOLDER/cases has a line for each, CASE and what the driver has to say. FOLDER/good has more, with
 * which nothing is wrong, each with the ABI that it and the driver speak.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>
#include "npu_hw.h"

#define RANGE	sizeof(struct npu_fw_image)	/* the first one */

/* What a field with all bits set is, where the driver does not name it and its value. */
#define GOOD		"good"
#define OTHER_BUILD	"firmware is another build"
#define NO_TEXT		"npu/npu_fw.bin: version is 0x0, expected"

/* All of a file before its data, in order, without a gap. */
static const struct field {
	const char *name;
	size_t offset, size;
	const char *ones;
} fields[] = {
#define H(name, ones) { #name, offsetof(struct npu_fw_image, name), \
			sizeof(((struct npu_fw_image *)0)->name), ones }
#define R(name, ones) { "range." #name, RANGE + offsetof(struct npu_fw_range, name), \
			sizeof(((struct npu_fw_range *)0)->name), ones }
	H(magic, NULL), H(header_size, NULL), H(image_size, NULL), H(crc, NULL), H(abi_min, NULL),
	H(abi_max, GOOD), H(hw_version, NULL), H(entry, NULL), H(num_ranges, NULL),
	H(tcm_size, NULL), H(build_id, OTHER_BUILD), H(version, NO_TEXT), H(reserved, NULL),
	R(file_offset, NULL), R(file_size, NULL), R(load_address, NULL), R(mem_size, NULL),
#undef H
#undef R
};

#define NUM_FIELDS	(sizeof(fields) / sizeof(fields[0]))

/* The 32-bit word at @word of a field, or all of them: becomes @value, or that much more. */
struct edit {
	const char *field;
	bool add, all;
	npu_u32 word, value;
};

#define SET(name, v)		{ .field = name, .value = v }
#define SET_AT(name, w, v)	{ .field = name, .word = w, .value = v }
#define SET_ALL(name, v)	{ .field = name, .all = true, .value = v }
#define ADD(name, v)		{ .field = name, .add = true, .value = v }

#define WHOLE	~0u

/* Several that are wrong in the same way have the same edits, less or more bytes. */
static const struct wrong {
	const char *name;
	const char *says;		/* NULL: the field of the first edit, and its value */
	struct edit edit[2];
	npu_u32 size;			/* of the file, WHOLE: as it is */
	npu_u32 more;			/* bytes behind that */
} wrongs[] = {
	{ "magic", NULL, { SET("magic", 0x4655504f) }, WHOLE, 0 },
	{ "header-short", NULL, { ADD("header_size", -4u) }, WHOLE, 0 },
	{ "header-long", NULL, { ADD("header_size", 4) }, WHOLE, 0 },
	{ "image-short", NULL, { ADD("image_size", -1u) }, WHOLE, 0 },
	{ "image-long", NULL, { ADD("image_size", 1) }, WHOLE, 0 },
	{ "crc", NULL, { ADD("crc", 1) }, WHOLE, 0 },
	{ "abi-crossed", NULL, { SET("abi_min", NPU_FW_ABI_MAX + 1) }, WHOLE, 0 },
	{ "abi-new", NULL, { SET("abi_min", 1000), SET("abi_max", 1001) }, WHOLE, 0 },
	{ "abi-old", NULL, { SET("abi_max", 0), SET("abi_min", 0) }, WHOLE, 0 },
	{ "hw-major", NULL, { ADD("hw_version", 0x10000) }, WHOLE, 0 },
	{ "hw-minor", NULL, { ADD("hw_version", 1) }, WHOLE, 0 },
	{ "entry-odd", NULL, { ADD("entry", 1) }, WHOLE, 0 },
	{ "entry-outside", NULL, { SET("entry", ~1u) }, WHOLE, 0 },
	{ "ranges-none", NULL, { SET("num_ranges", 0) }, WHOLE, 0 },
	{ "ranges-many", NULL, { SET("num_ranges", NPU_FW_MAX_RANGES + 1) }, WHOLE, 0 },
	{ "tcm", NULL, { SET("tcm_size", 0x10000000) }, WHOLE, 0 },
	{ "build-id", OTHER_BUILD, { SET_AT("build_id", 4, 0) }, WHOLE, 0 },
	{ "version", NO_TEXT, { SET_ALL("version", 0x78787878) }, WHOLE, 0 },
	{ "reserved-0", NULL, { SET_AT("reserved", 0, 1) }, WHOLE, 0 },
	{ "reserved-1", NULL, { SET_AT("reserved", 1, 1) }, WHOLE, 0 },
	{ "reserved-2", NULL, { SET_AT("reserved", 2, 1) }, WHOLE, 0 },
	{ "offset-odd", NULL, { ADD("range.file_offset", 1) }, WHOLE, 0 },
	{ "offset-header", NULL, { SET("range.file_offset", 0) }, WHOLE, 0 },
	{ "offset-behind", NULL, { SET("range.file_offset", ~3u) }, WHOLE, 0 },
	{ "size-behind", NULL, { SET("range.file_size", NPU_FW_MAX_IMAGE) }, WHOLE, 0 },
	{ "load-odd", NULL, { ADD("range.load_address", 2) }, WHOLE, 0 },
	{ "load-behind", NULL, { SET("range.load_address", ~3u) }, WHOLE, 0 },
	{ "memory-short", NULL, { SET("range.mem_size", 0) }, WHOLE, 0 },
	{ "nothing", "npu/npu_fw.bin can not be read", { { 0 } }, 0, 0 },
	{ "a-byte", "npu/npu_fw.bin: file size is", { { 0 } }, 1, 0 },
	{ "less-than-a-header", "npu/npu_fw.bin: file size is", { { 0 } }, RANGE - 1, 0 },
	{ "only-a-header", "npu/npu_fw.bin: image_size is", { { 0 } }, RANGE, 0 },
	{ "header-alone-and-true", "npu/npu_fw.bin: num_ranges is", { SET("image_size", RANGE) }, RANGE,
	  0 },
	{ "cut", "npu/npu_fw.bin: image_size is", { { 0 } }, 4000, 0 },
	{ "cut-and-true", "npu/npu_fw.bin: range.file_size is", { SET("image_size", 4000) }, 4000, 0 },
	{ "a-byte-more", "npu/npu_fw.bin: image_size is", { { 0 } }, WHOLE, 1 },
	{ "oversized", "npu/npu_fw.bin: file size is", { { 0 } }, WHOLE, NPU_FW_MAX_IMAGE },
};

#define NUM_WRONGS	(sizeof(wrongs) / sizeof(wrongs[0]))

/* Of older firmware, by the ABI that it speaks. */
static const struct wrong olds[] = {
	{ "abi-1", NULL, { SET("abi_max", 1) }, WHOLE, 0 },
	{ "abi-2", NULL, { SET("abi_max", 2) }, WHOLE, 0 },
};

#define NUM_OLDS	(sizeof(olds) / sizeof(olds[0]))
_Static_assert(NUM_OLDS == NPU_FW_ABI_MAX - NPU_FW_ABI_MIN, "one for each ABI but the newest");

static int fail(const char *what, const char *name)
{
	fprintf(stderr, "wrong_firmware: %s: %s\n", name, what);
	return 1;
}

static const struct field *field_find(const char *name)
{
	size_t i;

	for (i = 0; i < NUM_FIELDS; i++)
		if (!strcmp(fields[i].name, name))
			return &fields[i];
	return NULL;
}

/* No byte is in no field, and no field in no case. */
static int tables_check(void)
{
	size_t i, k, at = 0;
	bool found;

	for (i = 0; i < NUM_FIELDS; i++) {
		if (fields[i].offset != at)
			return fail("there is something in front of it", fields[i].name);
		at += fields[i].size;
		for (found = false, k = 0; k < NUM_WRONGS && !found; k++)
			found = wrongs[k].edit[0].field &&
				!strcmp(wrongs[k].edit[0].field, fields[i].name);
		if (!found)
			return fail("it is wrong in no file", fields[i].name);
	}
	return at == RANGE + sizeof(struct npu_fw_range) ? 0 : fail("not the last", fields[i - 1].name);
}

static void edit_apply(const struct edit *e, unsigned char *image)
{
	const struct field *field = field_find(e->field);
	npu_u32 i, word;

	for (i = e->all ? 0 : e->word; i <= (e->all ? field->size / 4 - 1 : e->word); i++) {
		memcpy(&word, image + field->offset + 4 * i, 4);
		word = e->add ? word + e->value : e->value;
		memcpy(image + field->offset + 4 * i, &word, 4);
	}
}

/* The check sum is over a file in which it is zero. */
static void crc_set(unsigned char *image, size_t size)
{
	const struct field *field = field_find("crc");
	npu_u32 crc = 0;

	memcpy(image + field->offset, &crc, 4);
	crc = (npu_u32)crc32(0, image, (uInt)size);
	memcpy(image + field->offset, &crc, 4);
}

static int image_write(const char *folder, const char *name, const unsigned char *image,
		       size_t size)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/npu", folder, name);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/npu/npu_fw.bin", folder, name);
	f = fopen(path, "wb");
	if (!f)
		return fail(strerror(errno), path);
	if (fwrite(image, 1, size, f) != size) {
		fclose(f);
		return fail("could not be written", path);
	}
	return fclose(f) ? fail(strerror(errno), path) : 0;
}

/* What the driver says of the field of the first edit: its name, and what stands there. */
static void says_print(FILE *list, const struct wrong *w, const unsigned char *image)
{
	const struct edit *e = &w->edit[0];
	npu_u32 value;

	if (w->says) {
		fprintf(list, "%s %s\n", w->name, w->says);
		return;
	}
	memcpy(&value, image + field_find(e->field)->offset + 4 * e->word, 4);
	fprintf(list, "%s npu/npu_fw.bin: %s is 0x%x, expected\n", w->name, e->field, value);
}

/* The file; and, with @list, its line there. */
static int wrong_write(const struct wrong *w, const unsigned char *good, size_t size,
		       const char *folder, FILE *list)
{
	size_t keep = w->size == WHOLE || w->size > size ? size : w->size, i;
	unsigned char *image = calloc(1, size + w->more + RANGE);
	int ret;

	if (!image)
		return fail("no memory", w->name);
	memcpy(image, good, keep);
	for (i = 0; i < 2 && w->edit[i].field; i++)
		edit_apply(&w->edit[i], image);
	if (keep >= RANGE)
		crc_set(image, keep + w->more);
	if (w->edit[0].field && !strcmp(w->edit[0].field, "crc"))
		edit_apply(&w->edit[0], image);
	if (list)
		says_print(list, w, image);
	ret = image_write(folder, w->name, image, keep + w->more);
	free(image);
	return ret;
}

/* All bits of a field are set. */
static int ones_make(const struct field *field, const unsigned char *good, size_t size,
		     const char *folder, FILE *list)
{
	char name[64];
	const struct wrong w = { name, field->ones, { SET_ALL(field->name, ~0u) }, WHOLE, 0 };

	snprintf(name, sizeof(name), "ones-%s", field->name);
	return wrong_write(&w, good, size, folder, list);
}

/*
 * The file ends within a field: of the header, for which it is too short then, or of the ranges,
 * which it says that it has, being as long as it says.
 */
static int cut_make(const struct field *field, const unsigned char *good, size_t size,
		    const char *folder, FILE *list)
{
	npu_u32 at = (npu_u32)(field->offset + field->size / 2), ranges;
	char name[64], says[128];
	struct wrong w = { name, says, { { 0 } }, at, 0 };

	snprintf(name, sizeof(name), "cut-%s", field->name);
	memcpy(&ranges, good + field_find("num_ranges")->offset, 4);
	if (field->offset < RANGE) {
		snprintf(says, sizeof(says), "npu/npu_fw.bin: file size is %#x, expected at least %#x",
			 at, (npu_u32)RANGE);
	} else {
		w.edit[0] = (struct edit)SET("image_size", at);
		snprintf(says, sizeof(says),
			 "npu/npu_fw.bin: num_ranges is %#x, expected to fit in a file of %#x",
			 ranges, at);
	}
	return wrong_write(&w, good, size, folder, list);
}

static int wrongs_make(const unsigned char *good, size_t size, const char *folder, FILE *list)
{
	int ret = 0;
	size_t i;

	for (i = 0; i < NUM_WRONGS && !ret; i++)
		ret = wrong_write(&wrongs[i], good, size, folder, list);
	for (i = 0; i < NUM_FIELDS && !ret; i++) {
		ret = cut_make(&fields[i], good, size, folder, list);
		if (!ret && (!fields[i].ones || strcmp(fields[i].ones, GOOD)))
			ret = ones_make(&fields[i], good, size, folder, list);
	}
	return ret;
}

/* Older ABIs, and what is good with all bits set: ABIs that nobody knows yet. */
static int goods_make(const unsigned char *good, size_t size, const char *folder, FILE *list)
{
	int ret = 0;
	size_t i;

	for (i = 0; i < NUM_OLDS && !ret; i++) {
		ret = wrong_write(&olds[i], good, size, folder, NULL);
		fprintf(list, "%s %u\n", olds[i].name, olds[i].edit[0].value);
	}
	for (i = 0; i < NUM_FIELDS && !ret; i++) {
		if (!fields[i].ones || strcmp(fields[i].ones, GOOD))
			continue;
		ret = ones_make(&fields[i], good, size, folder, NULL);
		fprintf(list, "ones-%s %u\n", fields[i].name, NPU_FW_ABI_MAX);
	}
	return ret;
}

/* The files of @make, and their names in FOLDER/@name. */
static int list_make(const char *folder, const char *name, const unsigned char *good, size_t size,
		     int (*make)(const unsigned char *, size_t, const char *, FILE *))
{
	char path[4096];
	FILE *list;
	int ret;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	list = fopen(path, "w");
	if (!list)
		return fail(strerror(errno), path);
	ret = make(good, size, folder, list);
	return fclose(list) ? fail("could not be written", path) : ret;
}

static unsigned char *image_read(const char *path, size_t *size)
{
	unsigned char *image = malloc(NPU_FW_MAX_IMAGE);
	FILE *f = fopen(path, "rb");

	*size = f && image ? fread(image, 1, NPU_FW_MAX_IMAGE, f) : 0;
	if (f)
		fclose(f);
	return image;
}

int main(int argc, char **argv)
{
	unsigned char *good;
	size_t size;
	int ret;

	if (argc != 3) {
		fputs("usage: wrong_firmware IMAGE FOLDER\n", stderr);
		return 2;
	}
	good = image_read(argv[1], &size);
	ret = size < 4000 ? fail("has less than 4000 bytes", argv[1]) : tables_check();
	if (!ret)
		ret = list_make(argv[2], "cases", good, size, wrongs_make);
	if (!ret)
		ret = list_make(argv[2], "good", good, size, goods_make);
	free(good);
	return ret;
}
