/* SPDX-License-Identifier: MIT */
/* Samples that lie one behind the other in one tensor. */
#ifndef NPU_QUANT_STACK_H
#define NPU_QUANT_STACK_H

#include "quant/calibrate.h"

/*
 * npu_calib_unstack - make c->sample a list with one input of the model per tensor
 *
 * A tensor is one sample when its rank is the input's and its first dimension one that the input
 * can have as it is compiled; with one dimension more in front it is as many samples as that says,
 * and so it is with the first dimension where the input's is 1. The other dimensions are not looked
 * at. The tensors of a sample must hold equally many. Every input has its tensor
 * (npu_calib_find()). Returns 0, -EINVAL with a text in c->diag, or a negative errno as reading the
 * model.
 */
int npu_calib_unstack(struct npu_calib *c, const struct npu_calib_model *m);

#endif
