/* SPDX-License-Identifier: MIT */
/* What scheme.c and apply.c share. */
#ifndef NPU_QUANT_SCHEME_PRIV_H
#define NPU_QUANT_SCHEME_PRIV_H

#include "compiler/pass.h"
#include "quant/scheme.h"

struct npu_qgroup {
	bool capable;		/* all members may be codes in memory */
	bool wanted;		/* a layer may read one */
	bool coded;		/* applied: they are */
	bool float_reader;	/* applied: a layer that stays float reads one */
	struct npu_qrange range;
	const struct npu_gquant *quant;	/* of the range; NULL: calibration saw nothing */
	/* by setting, so that trials take turns without new ones */
	const struct npu_gquant *made[NPU_NUM_CALIB_METHODS][NPU_NUM_LEFT_OUT];
};

struct npu_qundo_input {
	struct npu_gnode *node;
	unsigned int index;
	struct npu_gtensor *old;
};

struct npu_qundo {
	struct npu_qundo_input *input;
	struct npu_gtensor **retyped;
	struct npu_gnode **copy;	/* nodes that make an 8-bit copy */
	unsigned int num_inputs, num_retyped, num_copies;
};

/*
 * The constants of a layer as int8. They are written anew when the ranges are others, in place: no
 * trial looks at what an earlier one left.
 */
struct npu_qcached {
	const struct npu_gquant *in;	/* what they were made for */
	struct npu_gquant quant;	/* of weight */
	float *scale;			/* of quant */
	struct npu_gtensor *weight, *bias;	/* bias NULL: that of the model stays */
};

/* The dimension of a layer's weight along which outputs differ. */
int npu_scheme_weight_axis(const struct npu_gnode *n);

#endif
