// SPDX-License-Identifier: MIT
/* Activations: every one becomes NPU_GOP_Activation with its kind and numbers in the epilogue. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "compiler/pass_canon.h"

static int act_set(struct npu_gnode *n, enum npu_act_kind kind, float a, float b)
{
	n->op = NPU_GOP_Activation;
	n->num_attrs = 0;
	n->ep.act = (struct npu_gact){ kind, a, b, -1 };
	npu_gnode_trim_inputs(n, 1);
	return 0;
}

/* A bound that is not a constant number: Clip is then Max and Min. */
static int clip_dynamic(struct npu_graph *g, struct npu_gnode *n, struct npu_gtensor *lo,
			struct npu_gtensor *hi)
{
	struct npu_gtensor *pair[2] = { n->inputs[0], NULL };
	struct npu_gnode *step;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		pair[1] = i ? hi : lo;
		if (!pair[1])
			continue;
		step = npu_graph_insert(g, i ? NPU_GOP_Min : NPU_GOP_Max, n, pair, 2,
					n->outputs[0]);
		if (!step)
			return -ENOMEM;
		pair[0] = step->outputs[0];
	}
	if (npu_graph_replace(g, n->outputs[0], pair[0]))
		return -ENOMEM;
	npu_graph_remove(g, n);
	return 0;
}

static int act_clip(struct npu_graph *g, struct npu_gnode *n)
{
	struct npu_gtensor *lo = npu_gnode_in(n, 1), *hi = npu_gnode_in(n, 2);
	double low = (double)npu_gnode_float(n, "min", -INFINITY),
	       high = (double)npu_gnode_float(n, "max", INFINITY);
	enum npu_gtype type = n->outputs[0]->type;
	bool wide = type == NPU_GT_I64 || type == NPU_GT_I32;

	if (wide || (lo && !npu_gtensor_scalar(lo, &low)) || (hi && !npu_gtensor_scalar(hi, &high)))
		return clip_dynamic(g, n, lo, hi);
	/* the largest float is how files before operator set 11 say that there is no bound */
	low = low <= -(double)FLT_MAX ? -INFINITY : low;
	high = high >= (double)FLT_MAX ? INFINITY : high;
	if (low == 0 && high == INFINITY)
		return act_set(n, NPU_GA_RELU, 0, 0);
	return act_set(n, NPU_GA_CLIP, (float)low, (float)high);
}

static int act_prelu(struct npu_graph *g, struct npu_gnode *n)
{
	float slope;

	if (npu_gtensor_float_scalar(n->inputs[1], &slope))
		return act_set(n, NPU_GA_LEAKY, slope, 0);
	n->op = NPU_GOP_Activation;
	n->num_attrs = 0;
	n->ep.act = (struct npu_gact){ NPU_GA_PRELU, 0, 0, 1 };
	return 0;
}

/* Swish with a factor other than 1: x * sigmoid(alpha * x) */
static int act_swish(struct npu_graph *g, struct npu_gnode *n)
{
	float alpha = npu_gnode_float(n, "alpha", 1);
	struct npu_gtensor *pair[2] = { n->inputs[0], NULL };
	struct npu_gnode *scaled, *sig, *mul;

	if (alpha == 1)
		return act_set(n, NPU_GA_SILU, 0, 0);
	pair[1] = npu_canon_scalar(g, n, n->outputs[0]->type, alpha);
	scaled = pair[1] ? npu_graph_insert(g, NPU_GOP_Mul, n, pair, 2, n->outputs[0]) : NULL;
	sig = scaled ? npu_graph_insert(g, NPU_GOP_Activation, n, scaled->outputs, 1,
					n->outputs[0]) :
		       NULL;
	if (!sig)
		return -ENOMEM;
	sig->ep.act.kind = NPU_GA_SIGMOID;
	pair[1] = sig->outputs[0];
	mul = npu_graph_insert(g, NPU_GOP_Mul, n, pair, 2, n->outputs[0]);
	return mul ? npu_graph_substitute(g, n, mul) : -ENOMEM;
}

int npu_canon_act(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag)
{
	switch (n->op) {
	case NPU_GOP_Relu:
		return act_set(n, NPU_GA_RELU, 0, 0);
	case NPU_GOP_Clip:
		return act_clip(g, n);
	case NPU_GOP_LeakyRelu:
		return act_set(n, NPU_GA_LEAKY, npu_gnode_float(n, "alpha", 0.01f), 0);
	case NPU_GOP_PRelu:
		return act_prelu(g, n);
	case NPU_GOP_Sigmoid:
		return act_set(n, NPU_GA_SIGMOID, 0, 0);
	case NPU_GOP_Tanh:
		return act_set(n, NPU_GA_TANH, 0, 0);
	case NPU_GOP_HardSigmoid:
		return act_set(n, NPU_GA_HARDSIGMOID, npu_gnode_float(n, "alpha", 0.2f),
			       npu_gnode_float(n, "beta", 0.5f));
	case NPU_GOP_HardSwish:
		return act_set(n, NPU_GA_HARDSWISH, 1.0f / 6, 0.5f);
	case NPU_GOP_Gelu:
		return act_set(n,
			       strcmp(npu_gnode_string(n, "approximate", "none"), "tanh") ?
				       NPU_GA_GELU_ERF :
				       NPU_GA_GELU_TANH,
			       0, 0);
	case NPU_GOP_Elu:
		return act_set(n, NPU_GA_ELU, npu_gnode_float(n, "alpha", 1), 0);
	case NPU_GOP_Selu:
		return act_set(n, NPU_GA_SELU,
			       npu_gnode_float(n, "alpha", 1.67326319217681884765625f),
			       npu_gnode_float(n, "gamma", 1.05070102214813232421875f));
	case NPU_GOP_Celu:
		return act_set(n, NPU_GA_CELU, npu_gnode_float(n, "alpha", 1), 0);
	case NPU_GOP_Softplus:
		return act_set(n, NPU_GA_SOFTPLUS, 0, 0);
	case NPU_GOP_Softsign:
		return act_set(n, NPU_GA_SOFTSIGN, 0, 0);
	case NPU_GOP_Mish:
		return act_set(n, NPU_GA_MISH, 0, 0);
	case NPU_GOP_Swish:
		return act_swish(g, n);
	case NPU_GOP_ThresholdedRelu:
		return act_set(n, NPU_GA_THRESHOLD, npu_gnode_float(n, "alpha", 1), 0);
	default:
		return 0;
	}
}
