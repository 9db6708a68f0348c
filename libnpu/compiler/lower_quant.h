/* SPDX-License-Identifier: MIT */
/*
 * Convolutions and products in integers. With quantized operands the accumulator is exact; SCALE
 * turns it into the real result, (x scale * w scale[o]), or with an output that is quantized and an
 * epilogue that allows it straight into steps of the output, (x scale * w scale[o]) / y scale, the
 * output's own scale then being 1: ONNX's rule of requantizing.
 */
#ifndef NPU_COMPILER_LOWER_QUANT_H
#define NPU_COMPILER_LOWER_QUANT_H

#include <float.h>

#include "compiler/lower.h"
#include "compiler/weights.h"

/**
 * struct npu_lint_args - what is multiplied
 * @weight: a constant, or NULL with @computed
 * @outs: how many different scales and biases there may be: outputs, or 1
 * @axis: dimension of @weight that may have scales of its own: the outputs'; entries repeat over
 *	  the outputs when there are fewer (groups of a transposed convolution)
 * @depth: products per output, at the bound
 * @has_zero_slot: zero points per output are possible
 */
struct npu_lint_args {
	const struct npu_lview *x;
	const struct npu_gtensor *weight;
	const struct npu_lview *computed;
	const struct npu_gtensor *bias;
	int axis;
	int64_t outs, depth;
	bool has_zero_slot;
};

/**
 * struct npu_lint - the integer side of an instruction
 * @on: false: it cannot be used, compute with floats
 * @scale: [outs] accumulator to real number
 * @bias: [outs] in units of the accumulator, or NULL
 * @zeros: [outs] zero points of the weight as its codes, or NULL: @w_zero for all
 */
struct npu_lint {
	bool on;
	int64_t outs;
	float *scale;
	int32_t *bias;
	uint8_t *zeros;
	int32_t w_zero;
	/* of the operators on plain integers; each is there when its buffer is */
	bool plain;			/* without run_scale the accumulator is the result */
	struct npu_lview run_scale;	/* [outs] or [], computed by the program */
	struct npu_lview x_run, w_run;	/* zero points computed by the program */
};

/* Fill in @li. 0, -EOPNOTSUPP (refused, with the reason) or -ENOMEM. */
int npu_lower_integer(struct npu_lower *l, const struct npu_lint_args *args, struct npu_lint *li);

/*
 * The same for ConvInteger and MatMulInteger @n, with X and W (@computed, or NULL for a constant)
 * as the instruction sees them: zero points are its inputs 2 and 3, and pass qint may have made a
 * scale input 4. Refuses what integers cannot do. X gets its zero point.
 */
int npu_lower_plain_integer(struct npu_lower *l, const struct npu_gnode *n, struct npu_lview *x,
			    struct npu_lview *computed, struct npu_dim outs, int64_t depth,
			    struct npu_lint *li);

/* Zero points into the instruction, whose data operands are there; slots of CONV or MATMUL. */
int npu_lint_zeros(struct npu_lower *l, const struct npu_lint *li, struct npu_linsn *insn,
		   unsigned int weight_slot, unsigned int w_zero_slot, unsigned int x_zero_slot);

/*
 * Bring the scales, the residual (NULL: none; @product: it is multiplied) and both activations into
 * steps of @out, whose scale becomes 1. False, and nothing changed, when the epilogue does not
 * allow it; the division is then done when the result is stored.
 */
bool npu_lint_divide(const struct npu_lint *li, struct npu_lview *out, struct npu_lview *residual,
		     bool product, struct npu_lact *a, struct npu_lact *b);

/* SCALE and BIAS; slots from BIAS on. */
int npu_lint_operands(struct npu_lower *l, const struct npu_lint *li, struct npu_linsn *insn,
		      unsigned int bias_slot);

#endif
