/* SPDX-License-Identifier: MIT */
/* The quantizer as the compiler sees it: calibrate, choose, apply to each program's graph. */
#ifndef NPU_QUANT_QUANT_H
#define NPU_QUANT_QUANT_H

#include "quant/search.h"

struct npu_quant_setup {
	struct npu_quant_options options;
	struct npu_calib_model model;
	enum npu_precision precision;	/* of what is not int8 */
	bool all_f16;
	struct npu_diag *diag;
	/* as in struct npu_compile_options; may be NULL */
	int (*progress)(void *arg, const char *stage, double fraction);
	void *progress_arg;
};

struct npu_quant;

/* Fill in @out from what a caller gave (any size that was ever released). 0 or -EINVAL. */
int npu_quant_options_check(const struct npu_quant_options *in, struct npu_quant_options *out,
			    struct npu_diag *diag);

/*
 * npu_quant_create - calibrate, measure and choose
 *
 * What @setup points to must outlive the result. *@out is set also on failure (free it with
 * npu_quant_destroy()), NULL only with -ENOMEM. Errors as npu_compile_onnx(), with a text.
 */
int npu_quant_create(const struct npu_quant_setup *setup, struct npu_quant **out);
void npu_quant_destroy(struct npu_quant *q);

/* Make the chosen layers of @g int8. @g must outlive @q. 0 or a negative errno with a text. */
int npu_quant_apply(struct npu_quant *q, struct npu_graph *g);

/*
 * Tensor @i whose clipped values are counted, and the share of them over the calibration set in
 * parts per billion; NULL past the last.
 */
const char *npu_quant_clipped(const struct npu_quant *q, unsigned int i, uint64_t *parts);

/* The table of choices for people, and as the value of a JSON object's member. */
void npu_quant_write_text(const struct npu_quant *q, FILE *f);
void npu_quant_write_json(const struct npu_quant *q, FILE *f);

/*
 * A line each that says how and what: "percentile 99.99 over 16 samples"; "accuracy 0.99"; "95.2 %
 * of MACs, cosine of the outputs to float 0.99605 over 4 samples". Owned by @q.
 */
const char *npu_quant_method_text(const struct npu_quant *q);
const char *npu_quant_result_text(const struct npu_quant *q);
const char *npu_quant_budget_text(const struct npu_quant *q);

#endif
