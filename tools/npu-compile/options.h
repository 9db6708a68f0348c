/* SPDX-License-Identifier: MIT */
#ifndef NPU_COMPILE_OPTIONS_H
#define NPU_COMPILE_OPTIONS_H

#include "npu_compiler.h"
#include "npu_llm.h"

#define MAX_SHAPES	256
#define MAX_NODES	256
#define MAX_FORMATS	16
struct options {
	const char *model, *output;
	const char *shapes[MAX_SHAPES];
	const char *input_formats[MAX_FORMATS];
	struct npu_compile_options compile;
	bool report, quiet, int8;
	bool gguf;			/* the model is a language model */
	struct npu_llm_compile_options llm;
	struct npu_quant_options quant;
	const char **calib;		/* as many as there are arguments */
	unsigned int num_calib;
	const char *float_nodes[MAX_NODES];
	const char *report_file;
};

/*
 * Returns 0, 1 when all is done, or a negative errno after a message; calib is the caller's to free
 * in any case.
 */
int options_parse(struct options *o, int argc, char **argv);

#endif
