/* SPDX-License-Identifier: MIT */
/*
 * One test of ONNX's conformance data: a folder with model.onnx and test_data_set_0 of input_*.pb
 * and output_*.pb, the values that the model must give.
 */
#ifndef ONNX_CASE_H
#define ONNX_CASE_H

#include "onnx.pb-c.h"
#include "run_job.h"

#define CASE_IO_MAX	16

struct onnx_case {
	Onnx__ModelProto *model;	/* NULL when it cannot be parsed */
	uint8_t *data;			/* the file */
	size_t size;
	struct named_array in[CASE_IO_MAX], want[CASE_IO_MAX];
	int num_in, num_want;
	char incomparable[200];		/* why values cannot be compared; "" when they can */
};

/* Read the folder; false when it has no model. Free it in either case. */
bool onnx_case_read(struct onnx_case *c, const char *dir);
void onnx_case_free(struct onnx_case *c);

/*
 * The model with every input but @keep (-1: every one) as an initializer with the test's value:
 * real models have weights, shapes and axes there. NULL when that changes nothing.
 */
uint8_t *onnx_case_constants(const struct onnx_case *c, int keep, size_t *size);

/*
 * Is @got what the test expects? Integers exactly, floats within @limit, of which @top (at least 1)
 * is the share that is absolute. @text: what differs.
 */
bool onnx_case_same(const struct npu_npy *got, const struct npu_npy *want, double limit,
		    bool relative_to_top, char *text, size_t size);

#endif
