// SPDX-License-Identifier: MIT
/* The operators that there are, whether the stack does them or not. */
#include <string.h>

#include "compiler/graph.h"

#define PLAIN		""
#define CONTROL		"control flow: only models without branches and loops are supported"
#define SEQUENCE	"sequences of tensors are not supported"
#define OPTIONAL	"optional values are not supported"
#define STRING		"text is not supported"
#define RANDOM		"random numbers: a job gives the same result every time"
#define TRAINING	"training: only inference is supported"

static const struct npu_onnx_op table[] = {
#define ONNX_OP(domain, name, since, kind) { domain, #name, since, kind },
#include "compiler/onnx_ops.def"
#undef ONNX_OP
};

#define NUM_OPS	(sizeof(table) / sizeof(table[0]))

const struct npu_onnx_op *npu_onnx_op(unsigned int i)
{
	return i < NUM_OPS ? &table[i] : NULL;
}

const struct npu_onnx_op *npu_onnx_op_find(const char *domain, const char *name)
{
	size_t i;

	if (!strcmp(domain, "ai.onnx"))
		domain = "";
	for (i = 0; i < NUM_OPS; i++)
		if (!strcmp(table[i].name, name) && !strcmp(table[i].domain, domain))
			return &table[i];
	return NULL;
}
