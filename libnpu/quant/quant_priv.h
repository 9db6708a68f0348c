/* SPDX-License-Identifier: MIT */
/* What quant.c and table.c share. */
#ifndef NPU_QUANT_QUANT_PRIV_H
#define NPU_QUANT_QUANT_PRIV_H

#include "quant/quant.h"

/* Of one tensor, over all samples. */
struct npu_quant_clip {
	const char *name;
	uint64_t clipped, looked_at;
};

struct npu_quant {
	struct npu_quant_setup setup;
	struct npu_trial_device device;
	struct npu_calib calib;
	struct npu_measure measure;
	struct npu_search search;
	struct npu_scheme **scheme;	/* of the graphs it was applied to */
	unsigned int num_schemes;
	struct npu_quant_clip *clip;
	unsigned int num_clips, max_clips;
	const char *method_text, *budget_text, *result_text;
	bool chosen;			/* search is complete */
};

/* Run all samples through the chosen job and add its counters up. 0 or a negative errno. */
int npu_quant_count_clips(struct npu_quant *q);

#endif
