// SPDX-License-Identifier: MIT
/* CONV and CONV_TRANSPOSE: the seven loops as they are written down. */
#include <math.h>
#include "oracle.h"

struct conv {
	struct oracle_view out, in, weight, w_zero;
	npu_s64 x_zero;
	struct oracle_epilogue epilogue;
	npu_s64 stride_h, stride_w, dil_h, dil_w, pad_top, pad_left;
	npu_u32 groups, kh, kw, cg, og;
	bool integer, transposed;
};

static void conv_init(struct conv *c, const struct npu_insn *insn, const struct oracle_memory *mem,
		      bool transposed)
{
	c->transposed = transposed;
	c->out = oracle_view(insn, mem, NPU_CONV_OUT);
	c->in = oracle_view(insn, mem, NPU_CONV_IN);
	c->x_zero = oracle_zero(insn, mem, NPU_CONV_IN, transposed ? ~0u : NPU_CONV_X_ZERO);
	c->weight = oracle_view(insn, mem, NPU_CONV_WEIGHT);
	c->w_zero = (struct oracle_view){ NULL, NULL };
	if (!transposed)
		c->w_zero = oracle_view(insn, mem, NPU_CONV_W_ZERO);
	oracle_epilogue_init(&c->epilogue, insn, mem, NPU_CONV_BIAS, NPU_CONV_P_ACT);
	c->stride_h = insn->param[NPU_CONV_P_STRIDE_H];
	c->stride_w = insn->param[NPU_CONV_P_STRIDE_W];
	c->dil_h = insn->param[NPU_CONV_P_DIL_H];
	c->dil_w = insn->param[NPU_CONV_P_DIL_W];
	c->pad_top = insn->param[NPU_CONV_P_PAD_TOP];
	c->pad_left = insn->param[NPU_CONV_P_PAD_LEFT];
	c->groups = insn->param[NPU_CONV_P_GROUPS];
	c->kh = c->weight.op->dim[1];
	c->kw = c->weight.op->dim[2];
	c->cg = c->weight.op->dim[3];
	c->og = c->out.op->dim[3] / c->groups;
	c->integer = c->in.op->dtype == NPU_I8 || c->in.op->dtype == NPU_U8;
}

/*
 * Input row for output row @o and tap @k; false when none exists (transposed) . *outside: padding.
 */
static bool source(const struct conv *c, npu_s64 o, npu_s64 k, npu_s64 stride, npu_s64 dil,
		   npu_s64 pad, npu_s64 size, npu_s64 *i, bool *outside)
{
	npu_s64 at;

	if (!c->transposed) {
		*i = o * stride - pad + k * dil;
		if (*i < 0 || *i >= size)
			*outside = true;
		return true;
	}
	at = o + pad - k * dil;
	*i = at / stride;
	return at >= 0 && at % stride == 0 && *i < size;
}

static npu_s64 weight_zero(const struct conv *c, npu_u32 o)
{
	if (oracle_present(c->w_zero))
		return oracle_load_int(c->w_zero, oracle_at(c->w_zero, &o));
	return c->weight.op->zero_point;
}

static void tap(const struct conv *c, const npu_u32 *x, bool outside, npu_u32 o, npu_u32 kh,
		npu_u32 kw, npu_u32 ch, float *facc, npu_s64 *iacc)
{
	npu_u64 k = ((npu_u64)kh * c->kw + kw) * c->cg + ch;
	npu_u64 k_size = (npu_u64)c->kh * c->kw * c->cg;
	npu_u32 at[4] = { o, kh, kw, ch };
	bool strided = c->weight.op->layout == NPU_LAYOUT_STRIDED;

	if (c->integer) {
		npu_s64 w = strided ? oracle_load_int(c->weight, oracle_at(c->weight, at)) :
				      oracle_weight_int(c->weight, o, k, c->og, k_size);
		npu_s64 v = outside ? 0 :
				      oracle_load_int(c->in, oracle_at(c->in, x)) - c->x_zero;

		*iacc += v * (w - weight_zero(c, o));
	} else {
		float w = strided ? oracle_load_real(c->weight, oracle_at(c->weight, at)) :
				    oracle_weight_real(c->weight, o, k, c->og, k_size);
		float v = outside ? 0 : oracle_load_real(c->in, oracle_at(c->in, x));

		*facc = fmaf(v, w, *facc);
	}
}

static int conv_execute(const struct npu_insn *insn, const struct oracle_memory *mem,
			bool transposed)
{
	npu_u32 index[4] = { 0 };
	npu_u64 number = 0;
	struct conv c;

	conv_init(&c, insn, mem, transposed);
	do {
		npu_u32 n = index[0], o = index[3];
		npu_s64 iacc = 0, ih, iw;
		float facc = 0;

		if (!oracle_wanted(mem, number++))
			continue;
		for (npu_u32 kh = 0; kh < c.kh; kh++) {
			for (npu_u32 kw = 0; kw < c.kw; kw++) {
				bool outside = false;

				if (!source(&c, index[1], kh, c.stride_h, c.dil_h, c.pad_top,
					    c.in.op->dim[1], &ih, &outside) ||
				    !source(&c, index[2], kw, c.stride_w, c.dil_w, c.pad_left,
					    c.in.op->dim[2], &iw, &outside))
					continue;
				for (npu_u32 ch = 0; ch < c.cg; ch++) {
					npu_u32 x[4] = { n, (npu_u32)ih, (npu_u32)iw,
							 o / c.og * c.cg + ch };

					tap(&c, x, outside, o, kh, kw, ch, &facc, &iacc);
				}
			}
		}
		if (c.integer)
			oracle_epilogue_int(&c.epilogue, c.out, index, o, iacc);
		else
			oracle_epilogue_float(&c.epilogue, c.out, index, o, facc);
	} while (oracle_next(index, c.out.op->dim, 4));
	return 0;
}

int oracle_conv(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	return conv_execute(insn, mem, false);
}

int oracle_conv_transpose(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	return conv_execute(insn, mem, true);
}
