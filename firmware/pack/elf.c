// SPDX-License-Identifier: MIT
/* Reading the ELF file. Segments that are loaded become ranges; the build id is a note in one. */
#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "pack.h"

#define ID_SIZE	20u

__attribute__((format(printf, 3, 4)))
static int fail(char *why, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, size, fmt, ap);
	va_end(ap);
	return -1;
}

static int check_header(const Elf32_Ehdr *eh, size_t size, char *why, size_t why_size)
{
	if (size < sizeof(*eh) || memcmp(eh->e_ident, ELFMAG, SELFMAG))
		return fail(why, why_size, "not an ELF file");
	if (eh->e_ident[EI_CLASS] != ELFCLASS32 || eh->e_ident[EI_DATA] != ELFDATA2LSB)
		return fail(why, why_size, "class %u, data %u: expected 32 bits, little endian",
			    eh->e_ident[EI_CLASS], eh->e_ident[EI_DATA]);
	if (eh->e_machine != EM_RISCV || eh->e_type != ET_EXEC)
		return fail(why, why_size, "machine %u, type %u: expected a RISC-V program",
			    eh->e_machine, eh->e_type);
	if (eh->e_phentsize != sizeof(Elf32_Phdr) || eh->e_phoff > size ||
	    eh->e_phnum > (size - eh->e_phoff) / sizeof(Elf32_Phdr))
		return fail(why, why_size, "%u program headers of %u bytes at %#x: not in the file",
			    eh->e_phnum, eh->e_phentsize, eh->e_phoff);
	return 0;
}

static int add_range(struct fw_elf *elf, const Elf32_Phdr *ph, size_t size, char *why,
		     size_t why_size)
{
	if (ph->p_offset > size || ph->p_filesz > size - ph->p_offset ||
	    ph->p_filesz > ph->p_memsz || ph->p_memsz > UINT32_MAX - 3 - ph->p_paddr)
		return fail(why, why_size,
			    "segment at %#x: %u bytes at file offset %#x, %u in memory",
			    ph->p_paddr, ph->p_filesz, ph->p_offset, ph->p_memsz);
	if (ph->p_paddr & 3)
		return fail(why, why_size, "segment at %#x: not a multiple of 4", ph->p_paddr);
	if (elf->num_ranges == NPU_FW_MAX_RANGES)
		return fail(why, why_size, "more than %u segments", NPU_FW_MAX_RANGES);
	elf->range[elf->num_ranges++] = (struct npu_fw_range){ .file_offset = ph->p_offset,
							       .file_size = ph->p_filesz,
							       .load_address = ph->p_paddr,
							       .mem_size = ph->p_memsz };
	return 0;
}

/* A section's header, or NULL. */
static const Elf32_Shdr *section_at(const npu_u8 *file, size_t size, unsigned int index)
{
	const Elf32_Ehdr *eh = (const void *)file;

	if (eh->e_shentsize != sizeof(Elf32_Shdr) || eh->e_shoff & 3 || eh->e_shoff > size ||
	    index >= (size - eh->e_shoff) / sizeof(Elf32_Shdr) || index >= eh->e_shnum)
		return NULL;
	return (const Elf32_Shdr *)(const void *)(file + eh->e_shoff) + index;
}

/* A note: sizes of name and value, type, name, value. */
static int find_build_id(const npu_u8 *file, size_t size, struct fw_elf *elf, char *why,
			 size_t why_size)
{
	static const npu_u32 head[] = { 4, ID_SIZE, NT_GNU_BUILD_ID };
	const Elf32_Shdr *sh;
	const npu_u8 *note;
	unsigned int i;

	for (i = 0; (sh = section_at(file, size, i)); i++) {
		if (sh->sh_type != SHT_NOTE || sh->sh_offset > size ||
		    sh->sh_size > size - sh->sh_offset || sh->sh_size < sizeof(head) + 4 + ID_SIZE)
			continue;
		note = file + sh->sh_offset;
		if (memcmp(note, head, sizeof(head)) || memcmp(note + sizeof(head), "GNU", 4))
			continue;
		memcpy(elf->build_id, note + sizeof(head) + 4, ID_SIZE);
		return 0;
	}
	return fail(why, why_size, "no build id of %u bytes (linked with --build-id=sha1?)",
		    ID_SIZE);
}

static int check_entry(const struct fw_elf *elf, char *why, size_t why_size)
{
	npu_u32 i;

	for (i = 0; i < elf->num_ranges; i++) {
		if (elf->entry - elf->range[i].load_address < elf->range[i].file_size)
			return 0;
	}
	return fail(why, why_size, "entry %#x is in no segment", elf->entry);
}

int fw_elf_parse(const npu_u8 *file, size_t size, struct fw_elf *elf, char *why, size_t why_size)
{
	const Elf32_Ehdr *eh = (const void *)file;
	const Elf32_Phdr *ph;
	unsigned int i;

	if (check_header(eh, size, why, why_size))
		return -1;
	if (eh->e_phoff & 3)
		return fail(why, why_size, "program headers at %#x: not a multiple of 4",
			    eh->e_phoff);
	*elf = (struct fw_elf){ .entry = eh->e_entry };
	ph = (const void *)(file + eh->e_phoff);
	for (i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type == PT_LOAD && ph[i].p_memsz &&
		    add_range(elf, &ph[i], size, why, why_size))
			return -1;
	}
	if (check_entry(elf, why, why_size))
		return -1;
	return find_build_id(file, size, elf, why, why_size);
}
