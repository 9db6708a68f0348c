// SPDX-License-Identifier: MIT
/* Clipped values of a quantized job: does calibration fit the data? */
#include <stdlib.h>
#include <string.h>
#include "core/jobfile.h"
#include "run.h"

/* Tensors that are named; more of them are counted. */
#define MAX_WARNINGS	5

void clip_warn(struct session *s)
{
	struct npu_clip_info c = NPU_INIT(c);
	unsigned int found = 0;

	for (unsigned int i = 0; !npu_run_clipped(s->run, i, &c, NULL); i++) {
		if (!c.suspicious || ++found > MAX_WARNINGS)
			continue;
		fail("warning: tensor '%s': %.1f %% of values clipped, %.1f %% in calibration",
		     c.tensor, 100 * c.share, 100 * c.calibrated);
	}
	if (found > MAX_WARNINGS)
		fail("warning: and %u more tensors", found - MAX_WARNINGS);
	if (found)
		fail("warning: the calibration set does not represent this input: results may be "
		     "off");
}

bool clip_record(const char *key)
{
	return !strncmp(key, NPU_CLIP_RECORD, strlen(NPU_CLIP_RECORD));
}

void clip_info_print(struct session *s)
{
	const char *key, *value, *most = NULL;
	unsigned int count = 0;
	double share = -1, v;

	for (unsigned int i = 0; !npu_job_record(s->job, i, &key, &value); i++) {
		if (!clip_record(key))
			continue;
		v = (double)strtoull(value, NULL, 10) / 1e9;
		if (v > share) {
			share = v;
			most = key + strlen(NPU_CLIP_RECORD);
		}
		count++;
	}
	if (count)
		say("  %-24s %u tensors; most in calibration: %.2f %% of %s\n",
		    "clipped values counted", count, 100 * share, most);
}
