// SPDX-License-Identifier: MIT
#include "net_cache.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "core/digest.h"
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
				npu_xxh64_update(arg, desc, note->n_descsz);
		}
	}
	return 0;
}

int ocr_cache_path(const char *dir, const struct ocr_net_spec *spec, const char *shape,
		   const char *variant, const void *model, size_t len, char *path, size_t size,
		   struct npu_reason *why)
{
	const char *version = npu_version();
	struct npu_xxh64 xxh;
	int n;

	npu_xxh64_init(&xxh);
	npu_xxh64_update(&xxh, version, strlen(version) + 1);
	npu_xxh64_update(&xxh, shape, strlen(shape) + 1);
	npu_xxh64_update(&xxh, variant, strlen(variant) + 1);
	dl_iterate_phdr(add_build_id, &xxh);
	npu_xxh64_update(&xxh, model, len);
	n = snprintf(path, size, "%s/%s-%016llx.npu", dir, spec->name,
		     (unsigned long long)npu_xxh64_final(&xxh));
	if (n < 0 || (size_t)n >= size)
		return npu_reason_set(why, -ENAMETOOLONG,
				      "the name of the cache directory is too long");
	return 0;
}
