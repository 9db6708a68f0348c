// SPDX-License-Identifier: MIT
/*
 * The committed page of operators is what the generator prints today, every operator that a table
 * of the stack knows is in the list of those that exist, and each has one outcome. Runs in the top
 * directory, as all tests do.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/lower.h"
#include "gen_operators.h"
#include "host/host.h"
#include "tap.h"
#include "tools/common/file.h"

static void test_lists(void)
{
	unsigned int missing = 0, late = 0, i;
	const struct npu_onnx_op *known;
	const struct npu_gop_info *info;

	for (i = NPU_GOP_NONE + 1; i < NPU_GOP_COUNT; i++) {
		info = npu_gop_info((enum npu_gop)i);
		known = npu_onnx_op_find(info->domain, info->name);
		if (!strcmp(info->domain, "npu"))
			continue;
		missing += !known;
		if (!known)
			tap_diag("%s of ops.def is not in onnx_ops.def", info->name);
		else if (info->since > known->since && info->since > 12)
			tap_diag("%s exists since %d, ops.def says %d", info->name, known->since,
				 info->since);
		late += known && info->since > known->since && info->since > 12;
	}
	for (i = 0; npu_host_op(i); i++) {
		if (npu_onnx_op_find(npu_host_op(i)->domain, npu_host_op(i)->name) &&
		    npu_gop_find(npu_host_op(i)->domain, npu_host_op(i)->name) != NPU_GOP_NONE)
			continue;
		tap_diag("host operator %s is not known to the compiler", npu_host_op(i)->name);
		missing++;
	}
	tap_ok(!missing, "every operator of the compiler and of the host is one that exists");
	tap_ok(!late, "none is refused for a set that has it");
	for (missing = 0, i = 0; (known = npu_onnx_op(i)) != NULL; i++)
		for (unsigned int k = 0; k < i; k++)
			missing += !strcmp(npu_onnx_op(k)->name, known->name) &&
				   !strcmp(npu_onnx_op(k)->domain, known->domain);
	tap_ok(!missing, "none is listed twice");
}

int main(void)
{
	struct npu_error why = { 0 };
	uint8_t *page = NULL;
	char *now = NULL;
	size_t size, have = 0;
	FILE *f = open_memstream(&now, &size);

	if (!f)
		return 1;
	npu_gen_operators(f);
	fclose(f);
	npu_file_read("Documentation/operators.md", 1 << 24, &page, &have, &why);
	tap_ok(page && have == size && !memcmp(page, now, size),
	       "operators.md is up to date (else: make docs)%s", why.text);
	tap_ok(strstr(now, "\n| Conv | ") && strstr(now, "\n| NonMaxSuppression | ") &&
		       strstr(now, "**refused**"),
	       "it has rows of all kinds");
	test_lists();
	free(page);
	free(now);
	return tap_done();
}
