/* SPDX-License-Identifier: MIT */
/* Engine internal: what the kernels of CONV and CONV_TRANSPOSE share. */
#ifndef NPU_CONV_H
#define NPU_CONV_H

#include "epilogue.h"

struct npu_conv {
	const struct npu_operand *out, *in, *weight;
	char *out_ptr;
	const char *in_ptr, *w_ptr, *res_ptr;
	struct npu_epi epi;
	npu_epi_fn epi_fn;
	npu_s64 n, oh, ow, o, h, w, c;		/* sizes; o and c of all groups */
	npu_s64 kh, kw, cg, og, groups;		/* cg, og: channels and outputs of one group */
	npu_s64 stride_h, stride_w, dil_h, dil_w, pad_top, pad_left;
	npu_s32 *w_zero;			/* per output, in whole panels; integer only */
	npu_s32 x_zero;
	bool transposed, integer;
};

/*
 * Fill in what the operands say; reserves and uses the instruction's shared memory. 0 or -ENOMEM.
 */
int npu_conv_init(struct npu_conv *c, struct npu_exec *x, bool transposed);

/*
 * @bytes of shared memory beside what npu_conv_init() uses, or NULL. What lies there may move: the
 *	vectors in c->epi are those of the new place. 64-byte aligned.
 */
void *npu_conv_extra(struct npu_exec *x, struct npu_conv *c, size_t bytes);

/* Where weight [o, kh, kw, c] lies. */
const char *npu_conv_weight_at(const struct npu_conv *c, npu_s64 o, npu_s64 kh, npu_s64 kw,
			       npu_s64 ch);

/* Output pixel (n, oh, ow) as an epilogue's place. */
void npu_conv_place(const struct npu_conv *c, npu_s64 n, npu_s64 oh, npu_s64 ow,
		    struct npu_epi_place *place);

/* The paths. All return what npu_exec_parallel() returned; npu_conv_generic() takes everything. */
int npu_conv_generic(struct npu_exec *x, struct npu_conv *c);
bool npu_conv_depthwise_can(const struct npu_conv *c);
int npu_conv_depthwise(struct npu_exec *x, struct npu_conv *c);
/* -ERANGE: not for it, and nothing has been done. */
int npu_conv_depthwise8(struct npu_exec *x, struct npu_conv *c);
bool npu_conv_pointwise_can(const struct npu_conv *c);
int npu_conv_pointwise(struct npu_exec *x, struct npu_conv *c);
bool npu_conv_slab_can(const struct npu_conv *c);
int npu_conv_slab(struct npu_exec *x, struct npu_conv *c);
/* Codes. */
int npu_conv_int(struct npu_exec *x, struct npu_conv *c);

/* Whether it is a matrix product of pixels that lie at one distance, on all sides. */
bool npu_conv_is_pointwise(const struct npu_conv *c);

#endif
