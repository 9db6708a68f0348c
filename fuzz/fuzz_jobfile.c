// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: a job file. Its check sums are made good first, or nothing behind them would be
 * reached; what parses is looked at from all sides.
 */
#include <stdlib.h>
#include <string.h>
#include "repair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct npu_jobfile *job = NULL;
	struct npu_error err = { 0 };
	uint8_t *copy = malloc(size + 8);
	void *again = NULL;
	size_t again_size;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	fuzz_repair(copy, size);
	if (npu_jobfile_parse(copy, size, 0, &job, &err)) {
		if (!err.text[0])
			abort();	/* a refusal has a reason */
	} else {
		/* What was read can be written. */
		if (npu_jobfile_encode(job, &again, &again_size, &err) == -22)
			abort();
		free(again);
		npu_jobfile_free(job);
	}
	free(copy);
	return 0;
}
