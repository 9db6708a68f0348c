// SPDX-License-Identifier: MIT
/*
 * Documentation/hardware/registers.md beside uapi/npu_hw.h and the device's table: same names, same
 * offsets, same access, none left out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../tap.h"
#include "common/file.h"
#include "regs.h"

#define MAX_REGS	64

struct reg {
	char name[32], access[4];
	unsigned long offset;
};

struct regs {
	struct reg reg[MAX_REGS];
	unsigned int num;
};

static void add(struct regs *r, const char *name, size_t len, unsigned long offset,
		const char *access)
{
	struct reg *reg = &r->reg[r->num];

	if (r->num == MAX_REGS || len >= sizeof(reg->name))
		exit(2);
	snprintf(reg->name, sizeof(reg->name), "%.*s", (int)len, name);
	snprintf(reg->access, sizeof(reg->access), "%s", access);
	reg->offset = offset;
	r->num++;
}

/* "#define NPU_REG_NAME 0x.." and "#define NPU_REG_NAME(q) (0x.. + ..)", from the text. */
static void header_regs(const char *text, const char *prefix, struct regs *r)
{
	const char *line, *name, *value;
	size_t len;

	for (line = strstr(text, "#define "); line; line = strstr(line + 1, "#define ")) {
		name = line + 8;
		if (strncmp(name, prefix, strlen(prefix)))
			continue;
		name += strlen(prefix);
		len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
		value = name + len;
		if (*value == '(')
			value = strchr(value, ')') + 1;
		value += strspn(value, "\t (");
		/* Offsets have four digits at most, addresses all eight. */
		if (strncmp(value, "0x", 2) || strspn(value + 2, "0123456789abcdef") > 4)
			continue;
		add(r, name, len, strtoul(value, NULL, 16), "");
	}
}

/* Rows "| 0x.. | NAME | RW | .." below the heading. */
static void doc_regs(const char *text, const char *heading, struct regs *r)
{
	const char *line = strstr(text, heading), *end, *name, *access;
	char how[4] = "";

	if (!line)
		return;
	end = strstr(line + 4, "\n## ");
	for (line = strstr(line, "\n| 0x"); line && (!end || line < end);
	     line = strstr(line + 1, "\n| 0x")) {
		name = strchr(line + 3, '|') + 2;
		access = strchr(name, '|') + 2;
		snprintf(how, sizeof(how), "%.*s", (int)strspn(access, "RW"), access);
		add(r, name, strcspn(name, " "), strtoul(line + 3, NULL, 16), how);
	}
}

static unsigned int missing(const struct regs *a, const struct regs *b, const char *what)
{
	unsigned int i, k, bad = 0;

	for (i = 0; i < a->num; i++) {
		for (k = 0; k < b->num; k++)
			if (!strcmp(a->reg[i].name, b->reg[k].name) &&
			    a->reg[i].offset == b->reg[k].offset)
				break;
		if (k < b->num)
			continue;
		tap_diag("%s lacks %s at 0x%lx", what, a->reg[i].name, a->reg[i].offset);
		bad++;
	}
	return bad;
}

static void compare(const char *header, const char *doc, const char *prefix, const char *heading,
		    unsigned long from, unsigned long to)
{
	static struct regs h, d, kept;
	unsigned int i;

	memset(&h, 0, sizeof(h));
	memset(&d, 0, sizeof(d));
	memset(&kept, 0, sizeof(kept));
	header_regs(header, prefix, &h);
	for (i = 0; i < h.num; i++)
		if (h.reg[i].offset >= from && h.reg[i].offset < to)
			kept.reg[kept.num++] = h.reg[i];
	doc_regs(doc, heading, &d);
	tap_ok(kept.num > 5 && kept.num == d.num && !missing(&kept, &d, "the page") &&
		       !missing(&d, &kept, "the header"),
	       "%s: %u in the header, %u on the page", heading + 3, kept.num, d.num);
}

static void compare_table(const char *doc)
{
	static struct regs d;
	const struct npu_reg_desc *desc;
	unsigned int i, k, bad = 0;
	char name[32], access[3];

	doc_regs(doc, "## BAR0", &d);
	for (i = 0; (desc = npu_reg_desc(i)); i++) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(desc->name, "("), desc->name);
		snprintf(access, sizeof(access), "%s%s", desc->readable ? "R" : "",
			 desc->writable ? "W" : "");
		for (k = 0; k < d.num && strcmp(d.reg[k].name, name); k++)
			;
		if (k == d.num || d.reg[k].offset != desc->offset ||
		    strcmp(d.reg[k].access, access)) {
			tap_diag("%s at 0x%x, %s is not so on the page", name, desc->offset,
				 access);
			bad++;
		}
	}
	tap_ok(i > 20 && !bad, "the device's table has %u rows, all as the page says", i);
}

int main(void)
{
	size_t size;
	char *header = test_read_file("uapi/npu_hw.h", &size);
	char *doc = test_read_file("Documentation/hardware/registers.md", &size);

	if (!tap_ok(header && doc, "header and page can be read"))
		return tap_done();
	compare(header, doc, "NPU_REG_", "## BAR0", 0, 0x10000);
	compare(header, doc, "NPU_MCU_", "## Registers of the MCU", 0, 0x1000);
	compare(header, doc, "NPU_ENGINE_", "## Registers of an engine", 0, 0x40);
	compare_table(doc);
	free(header);
	free(doc);
	return tap_done();
}
