// SPDX-License-Identifier: MIT
/* npu-fw-pack --version V FIRMWARE.ELF IMAGE.BIN */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pack.h"

#define MAX_ELF	(64u << 20)

static npu_u8 *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	npu_u8 *data = NULL;
	long end;

	if (!f)
		return NULL;
	if (!fseek(f, 0, SEEK_END) && (end = ftell(f)) >= 0 && end <= (long)MAX_ELF) {
		rewind(f);
		*size = (size_t)end;
		data = malloc(*size + 1);
		if (data && fread(data, 1, *size, f) != *size) {
			free(data);
			data = NULL;
		}
	}
	fclose(f);
	return data;
}

static int write_file(const char *path, const npu_u8 *data, size_t size)
{
	FILE *f = fopen(path, "wb");

	if (!f)
		return -1;
	if (fwrite(data, 1, size, f) != size) {
		fclose(f);
		return -1;
	}
	return fclose(f);
}

static int pack(const char *in, const char *out, const char *version)
{
	struct fw_elf elf;
	npu_u8 *file, *image = NULL;
	size_t size, image_size;
	char why[256];
	int ret = 1;

	file = read_file(in, &size);
	if (!file) {
		fprintf(stderr, "npu-fw-pack: %s: cannot be read: %s\n", in, strerror(errno));
		return 1;
	}
	if (!fw_elf_parse(file, size, &elf, why, sizeof(why)))
		image = fw_image_make(file, &elf, version, &image_size, why, sizeof(why));
	if (!image)
		fprintf(stderr, "npu-fw-pack: %s: %s\n", in, why);
	else if (write_file(out, image, image_size))
		fprintf(stderr, "npu-fw-pack: %s: cannot be written: %s\n", out, strerror(errno));
	else
		ret = 0;
	free(image);
	free(file);
	return ret;
}

int main(int argc, char **argv)
{
	if (argc != 5 || strcmp(argv[1], "--version")) {
		fprintf(stderr, "usage: npu-fw-pack --version V FIRMWARE.ELF IMAGE.BIN\n");
		return 2;
	}
	return pack(argv[3], argv[4], argv[2]);
}
