// SPDX-License-Identifier: MIT
/* CONV and CONV_TRANSPOSE: which kernel does it. */
#include "conv.h"

/*
 * Zero points of the weight, one per output: those of W_ZERO, which CONV_TRANSPOSE does not have,
 * or the operand's.
 */
static npu_s32 *zeros_pack(const struct npu_exec *x, bool transposed, npu_s32 common,
				 npu_u32 outputs, npu_s32 *mem)
{
	const struct npu_operand *op = &x->operand[NPU_CONV_W_ZERO];
	const char *src = transposed ? NULL : x->ptr[NPU_CONV_W_ZERO];
	npu_u32 i;

	for (i = 0; i < outputs; i++) {
		mem[i] = common;
		if (src)
			mem[i] = op->dtype == NPU_I8 ?
					 *(const signed char *)(src + op->stride[0] * i) :
					 *(const unsigned char *)(src + op->stride[0] * i);
	}
	return mem;
}

static void conv_init_params(struct npu_conv *c, const npu_u32 *p)
{
	_Static_assert((int)NPU_CONV_P_GROUPS == (int)NPU_CONV_TRANSPOSE_P_GROUPS &&
			       (int)NPU_CONV_P_ACT == (int)NPU_CONV_TRANSPOSE_P_ACT &&
			       (int)NPU_CONV_TABLE == (int)NPU_CONV_TRANSPOSE_TABLE,
		       "CONV and CONV_TRANSPOSE are read alike");
	c->stride_h = p[NPU_CONV_P_STRIDE_H];
	c->stride_w = p[NPU_CONV_P_STRIDE_W];
	c->dil_h = p[NPU_CONV_P_DIL_H];
	c->dil_w = p[NPU_CONV_P_DIL_W];
	c->pad_top = p[NPU_CONV_P_PAD_TOP];
	c->pad_left = p[NPU_CONV_P_PAD_LEFT];
	c->groups = p[NPU_CONV_P_GROUPS];
}

/* Shared memory: the epilogue's vectors, then zero points, then @extra bytes. */
static int vectors_init(struct npu_conv *c, struct npu_exec *x, size_t extra, void **extra_mem)
{
	size_t vectors = (npu_epi_bytes((npu_u32)c->o) + 63) & ~(size_t)63;
	size_t zeros = (((size_t)c->o + NPU_PANEL) * sizeof(npu_s32) + 63) & ~(size_t)63, bytes;
	char *mem;

	if (__builtin_add_overflow(vectors + zeros, extra, &bytes) ||
	    npu_exec_reserve_shared(x, bytes))
		return -ENOMEM;
	mem = npu_exec_shared(x);
	npu_epi_init(&c->epi, x, NPU_CONV_BIAS, NPU_CONV_P_ACT, c->integer, mem);
	memset(mem + vectors, 0, zeros);
	if (c->integer)
		c->w_zero = zeros_pack(x, c->transposed, c->weight->zero_point, (npu_u32)c->o,
				       (npu_s32 *)(void *)(mem + vectors));
	if (extra_mem)
		*extra_mem = mem + vectors + zeros;
	return 0;
}

void *npu_conv_extra(struct npu_exec *x, struct npu_conv *c, size_t bytes)
{
	void *mem;

	return vectors_init(c, x, bytes, &mem) ? NULL : mem;
}

int npu_conv_init(struct npu_conv *c, struct npu_exec *x, bool transposed)
{
	memset(c, 0, sizeof(*c));
	c->out = &x->operand[NPU_CONV_OUT];
	c->in = &x->operand[NPU_CONV_IN];
	c->weight = &x->operand[NPU_CONV_WEIGHT];
	c->out_ptr = x->ptr[NPU_CONV_OUT];
	c->in_ptr = x->ptr[NPU_CONV_IN];
	c->w_ptr = x->ptr[NPU_CONV_WEIGHT];
	c->transposed = transposed;
	c->integer = c->in->dtype == NPU_I8 || c->in->dtype == NPU_U8;
	conv_init_params(c, x->param);
	c->n = c->out->dim[0];
	c->oh = c->out->dim[1];
	c->ow = c->out->dim[2];
	c->o = c->out->dim[3];
	c->h = c->in->dim[1];
	c->w = c->in->dim[2];
	c->c = c->in->dim[3];
	c->kh = c->weight->dim[1];
	c->kw = c->weight->dim[2];
	c->cg = c->weight->dim[3];
	c->og = c->o / c->groups;
	c->x_zero = transposed ? c->in->zero_point :
				 npu_exec_zero(x, NPU_CONV_IN, NPU_CONV_X_ZERO);
	if (vectors_init(c, x, 0, NULL))
		return -ENOMEM;
	c->epi_fn = npu_epi_select(x->simd);
	if (c->epi.res)
		c->res_ptr = x->ptr[NPU_CONV_RESIDUAL];
	return 0;
}

void npu_conv_place(const struct npu_conv *c, npu_s64 n, npu_s64 oh, npu_s64 ow,
		    struct npu_epi_place *place)
{
	place->out = c->out_ptr + n * c->out->stride[0] + oh * c->out->stride[1] +
		     ow * c->out->stride[2];
	place->out_step = c->out->stride[2];
	place->res = NULL;
	place->res_step = 0;
	if (!c->res_ptr)
		return;
	place->res_step = npu_epi_res_stride(&c->epi, 2);
	place->res = c->res_ptr + n * npu_epi_res_stride(&c->epi, 0) +
		     oh * npu_epi_res_stride(&c->epi, 1) + ow * place->res_step;
}

static int conv_run(struct npu_exec *x, bool transposed)
{
	struct npu_conv c;
	int ret;

	ret = npu_conv_init(&c, x, transposed);
	if (ret)
		return ret;
	ret = npu_conv_depthwise8(x, &c);
	if (ret != -ERANGE)
		return ret;
	if (npu_conv_depthwise_can(&c))
		return npu_conv_depthwise(x, &c);
	if (c.integer)
		return npu_conv_int(x, &c);
	if (npu_conv_pointwise_can(&c))
		return npu_conv_pointwise(x, &c);
	if (npu_conv_slab_can(&c))
		return npu_conv_slab(x, &c);
	return npu_conv_generic(x, &c);
}

int npu_op_conv(struct npu_exec *x)
{
	return conv_run(x, false);
}

int npu_op_conv_transpose(struct npu_exec *x)
{
	return conv_run(x, true);
}
