/* SPDX-License-Identifier: MIT */
/*
 * Which layers are int8: sensitivity of each, measured, and the choice that a budget asks for.
 */
#ifndef NPU_QUANT_SEARCH_H
#define NPU_QUANT_SEARCH_H

#include "quant/measure.h"

/* Of a budget that says nothing else: npu_compiler.h has it, too. */
#define NPU_QUANT_ACCURACY	0.99

/* What was measured of a layer; by layer. */
struct npu_sensitivity {
	double alone;		/* how far outputs are with only this layer in int8, see search.c */
	double spared;		/* how much less the error is with only this layer float */
	double inside;		/* 1 - cosine of the layer's own result in the job; NAN: not seen */
};

struct npu_search {
	struct npu_measure *m;
	struct npu_sensitivity *layer;
	unsigned int *order;		/* layers from the one that stays float first */
	unsigned int num_order;		/* those whose type is free */
	uint64_t macs;			/* of the model */
	enum npu_calib_method method;	/* chosen */
	double percentile;
	struct npu_closeness all_int8, chosen;
	uint64_t int8_macs;
	npu_calib_progress progress;
	void *progress_arg;
};

/*
 * npu_search_run - choose the method and the layers
 * @macs: of the whole model
 *
 * Sets ->int8 of every layer. Returns 0, -ECANCELED or a negative errno with a text.
 */
int npu_search_run(struct npu_search *s, const struct npu_quant_options *o, uint64_t macs);
void npu_search_fini(struct npu_search *s);

#endif
