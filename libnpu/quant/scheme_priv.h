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

struct npu_qcached {
	float in_scale;
	struct npu_gtensor *weight;
};

/* The dimension of a layer's weight along which outputs differ. */
int npu_scheme_weight_axis(const struct npu_gnode *n);

#endif
