// SPDX-License-Identifier: MIT
/*
 * Nodes on constants whose operator has no evaluator of the compiler's own are computed by the host
 * operator, which a job would run. Lengths that the data decide become known by that.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/fold.h"
#include "compiler/host_place.h"
#include "host/host.h"

#define STEPS_MAX	(1ll << 26)	/* of operators that look at every input for every output */

static void tensor_of(struct npu_host_tensor *h, const struct npu_gtensor *t)
{
	int d;

	*h = (struct npu_host_tensor){ .name = "" };
	if (!t)
		return;
	h->name = t->name;
	h->dtype = npu_host_dtype_of(t->type);
	h->rank = (uint32_t)t->rank;
	for (d = 0; d < t->rank; d++)
		h->dim[d] = t->dim[d].base;
	h->data = (void *)t->data;
	h->present = true;
}

/* Little enough work to be done while compiling? */
static bool is_quick(const struct npu_gnode *n, const struct npu_host_call *call)
{
	int64_t in = 1, out = 1, elems;
	uint32_t i;

	if (n->op == NPU_GOP_NonMaxSuppression)
		return npu_host_elems(&call->in[1]) <= 1 << 16;
	for (i = 0; i < call->num_out; i++)
		out += call->out[i].present ? npu_host_elems(&call->out[i]) : 0;
	for (i = 0; i < call->num_in; i++) {
		elems = call->in[i].present ? npu_host_elems(&call->in[i]) : 0;
		/* Einsum may combine every element with every other */
		in = n->op == NPU_GOP_Einsum ? in * (elems < STEPS_MAX ? elems + 1 : STEPS_MAX) :
					       in + elems;
		if (in > STEPS_MAX)
			return false;
	}
	if (n->op == NPU_GOP_DFT || n->op == NPU_GOP_STFT || n->op == NPU_GOP_Det ||
	    n->op == NPU_GOP_RoiAlign)
		return in <= STEPS_MAX / (out + 1);
	return in <= STEPS_MAX && out <= STEPS_MAX;
}

bool npu_fold_host(const struct npu_gnode *n, struct npu_gtensor **outs)
{
	const struct npu_gop_info *info = npu_gnode_info(n);
	struct npu_host_call call = { .op = npu_host_op_find(info->domain, info->name),
				      .node = n->name,
				      .opset = (uint32_t)n->opset,
				      .num_in = n->num_inputs,
				      .num_out = n->num_outputs };
	struct npu_host_tensor *in, *out;
	struct npu_host_attr *attr;
	struct npu_error err = { 0 };
	bool ok = call.op && n->opset >= (int)call.op->since;
	unsigned int i;
	uint32_t d;

	in = calloc(n->num_inputs + 1, sizeof(*in));
	out = calloc(n->num_outputs + 1, sizeof(*out));
	attr = calloc(n->num_attrs + 1, sizeof(*attr));
	ok = ok && in && out && attr;
	for (i = 0; ok && i < n->num_inputs; i++) {
		tensor_of(&in[i], n->inputs[i]);
		ok = !n->inputs[i] || !n->inputs[i]->quant;	/* codes are not the operator's */
	}
	for (i = 0; ok && i < n->num_outputs; i++)
		tensor_of(&out[i], outs[i]);
	for (i = 0; ok && i < n->num_attrs; i++)
		call.num_attr += npu_host_attr_of(&attr[call.num_attr], &n->attrs[i]);
	call.in = in;
	call.out = out;
	call.attr = attr;
	ok = ok && is_quick(n, &call) && !call.op->run(&call, &err);
	for (i = 0; ok && i < n->num_outputs; i++) {
		if (!outs[i])
			continue;
		for (d = 0; d < out[i].rank; d++)
			outs[i]->dim[d] = npu_dim_const(out[i].dim[d]);
		outs[i]->size = (size_t)npu_host_elems(&out[i]) * npu_gtype_size(outs[i]->type);
	}
	free(in);
	free(out);
	free(attr);
	return ok;
}
