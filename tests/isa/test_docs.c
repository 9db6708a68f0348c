// SPDX-License-Identifier: MIT
/*
 * The committed instruction reference is what the generator prints today. Runs in the top
 * directory, as all tests do.
 */
#include <stdlib.h>
#include <string.h>
#include "gen_isa.h"
#include "npu_isa_desc.h"
#include "tap.h"

static char *read_page(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	long size;

	if (!f)
		return NULL;
	if (!fseek(f, 0, SEEK_END) && (size = ftell(f)) >= 0 && !fseek(f, 0, SEEK_SET)) {
		text = calloc(1, size + 1);
		if (text && fread(text, 1, size, f) != (size_t)size)
			text[0] = '\0';
	}
	fclose(f);
	return text;
}

/* The first line in which two texts differ, for the diagnosis. */
static void show_difference(const char *page, const char *now)
{
	unsigned int line = 1, i, start = 0;

	for (i = 0; page[i] && page[i] == now[i]; i++) {
		if (page[i] != '\n')
			continue;
		line++;
		start = i + 1;
	}
	tap_diag("line %u: '%.*s', expected '%.*s'", line, (int)strcspn(page + start, "\n"),
		 page + start, (int)strcspn(now + start, "\n"), now + start);
}

int main(void)
{
	char *page = read_page("Documentation/hardware/instructions.md"), *now = NULL, heading[64];
	unsigned int op, missing = 0;
	size_t size;
	FILE *f = open_memstream(&now, &size);

	if (!f)
		return 1;
	npu_gen_isa(f);
	fclose(f);
	if (!tap_ok(page && !strcmp(page, now),
		    "instructions.md is up to date (else: make docs)") &&
	    page)
		show_difference(page, now);
	for (op = 0; op < NPU_NUM_OPCODES; op++) {
		if (!npu_op_desc(op))
			continue;
		snprintf(heading, sizeof(heading), "\n## %s (0x%02x)\n", npu_op_desc(op)->mnemonic,
			 op);
		missing += !strstr(now, heading);
	}
	tap_ok(!missing && strstr(now, "\n## conv (0x10)\n"), "every opcode has its section");
	free(page);
	free(now);
	return tap_done();
}
