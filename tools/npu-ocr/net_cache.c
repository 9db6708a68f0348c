// SPDX-License-Identifier: MIT
#include "net_cache.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "npu.h"

/*
 * Feed the linker's build ids of the program and its libraries to the digest: a compiler that was
 * built anew is a different one even when its version number is the same.
 */
static int add_build_id(struct dl_phdr_info *info, size_t size, void *arg)
{
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const char *at = (const char *)(info->dlpi_addr + ph->p_vaddr),
			   *end = at + ph->p_memsz;

		if (ph->p_type != PT_NOTE || ph->p_align > 4)
			continue;
		while (at + sizeof(ElfW(Nhdr)) <= end) {
			const ElfW(Nhdr) *note = (const void *)at;
			const char *name = at + sizeof(*note);
			const char *desc = name + ((note->n_namesz + 3) & ~3u);

			at = desc + ((note->n_descsz + 3) & ~3u);
			if (at <= end && note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
			    !memcmp(name, "GNU", 4))
				*(uint64_t *)arg = npu_digest(desc, note->n_descsz,
							      *(uint64_t *)arg);
		}
	}
	return 0;
}

int ocr_cache_path(const char *dir, const struct ocr_net_spec *spec, const char *shape,
		   const char *variant, const void *model, size_t len, char *path, size_t size,
		   struct npu_error *why)
{
	const char *version = npu_version();
	uint64_t key = npu_digest(version, strlen(version) + 1, 0);
	int n;

	key = npu_digest(shape, strlen(shape) + 1, key);
	key = npu_digest(variant, strlen(variant) + 1, key);
	dl_iterate_phdr(add_build_id, &key);
	key = npu_digest(model, len, key);
	n = snprintf(path, size, "%s/%s-%016llx.npu", dir, spec->name,
		     (unsigned long long)key);
	if (n < 0 || (size_t)n >= size)
		return npu_error_set(why, -ENAMETOOLONG,
				     "the name of the cache directory is too long");
	return 0;
}
