// SPDX-License-Identifier: MIT
/*
 * Convolution of anything: any types, layouts and strides, one tap at a time, 16 outputs at a time.
 */
#include "conv.h"
#include "npu_math.h"

const char *npu_conv_weight_at(const struct npu_conv *c, npu_s64 o, npu_s64 kh, npu_s64 kw,
			       npu_s64 ch)
{
	const struct npu_operand *w = c->weight;
	npu_s64 k = (kh * c->kw + kw) * c->cg + ch, ksize = c->kh * c->kw * c->cg;
	npu_s64 bytes = npu_dtype_bits(w->dtype) / 8, in_group = o % c->og;
	npu_s64 panel = o / c->og * ((c->og + 15) / 16) + in_group / 16;

	switch (w->layout) {
	case NPU_LAYOUT_PANEL16:
		return c->w_ptr + ((panel * ksize + k) * 16 + in_group % 16) * bytes;
	case NPU_LAYOUT_PANEL16K4:
		ksize = (ksize + 3) / 4 * 4;
		return c->w_ptr + panel * ksize * 16 + k / 4 * 64 + in_group % 16 * 4 + k % 4;
	default:
		return c->w_ptr + o * w->stride[0] + kh * w->stride[1] + kw * w->stride[2] +
		       ch * w->stride[3];
	}
}

/*
 * The input position of output position @o and tap @k; false: the tap takes no part. *inside false:
 * padding.
 */
static bool tap_at(const struct npu_conv *c, npu_s64 o, npu_s64 k, npu_s64 stride, npu_s64 dil,
		   npu_s64 pad, npu_s64 size, npu_s64 *i, bool *inside)
{
	npu_s64 at;

	if (!c->transposed) {
		*i = o * stride - pad + k * dil;
		*inside = *i >= 0 && *i < size;
		return true;
	}
	at = o + pad - k * dil;
	*i = at / stride;
	*inside = true;
	return at >= 0 && at % stride == 0 && *i < size;
}

static void channels_add(struct npu_exec *x, const struct npu_conv *c, const char *in, npu_s64 o,
			 unsigned int n, npu_s64 kh, npu_s64 kw, float *acc, npu_u32 *iacc)
{
	npu_s64 ch;
	unsigned int j;

	for (ch = 0; ch < c->cg; ch++) {
		const char *p = in ? in + ch * c->in->stride[3] : NULL;
		npu_s32 xi = c->integer && p ?
				     (c->in->dtype == NPU_I8 ? *(const signed char *)p :
							       *(const unsigned char *)p) -
					     c->x_zero :
				     0;
		float xf = !c->integer && p ? npu_elem_load(c->in, p) : 0.0f;

		if (!(ch & 0x3ff) && npu_exec_stopped(x))
			return;
		for (j = 0; j < n; j++) {
			const char *w = npu_conv_weight_at(c, o + j, kh, kw, ch);

			if (c->integer)
				iacc[j] += (npu_u32)(xi * ((c->weight->dtype == NPU_I8 ?
								    *(const signed char *)w :
								    *(const unsigned char *)w) -
							   c->w_zero[o + j]));
			else
				acc[j] = npu_fma_f32(xf, npu_elem_load(c->weight, w), acc[j]);
		}
	}
}

/* @n outputs from @o on, all of one group, of one pixel. */
static void pixel(struct npu_exec *x, const struct npu_conv *c, npu_s64 in_n, npu_s64 oh,
		  npu_s64 ow, npu_s64 o, unsigned int n)
{
	struct npu_epi_place place;
	bool inside_h, inside_w;
	npu_s64 kh, kw, ih, iw;
	npu_u32 iacc[16] = { 0 };
	float acc[16] = { 0 };

	for (kh = 0; kh < c->kh; kh++) {
		/* taps that are skipped take time, too */
		if (!(kh & 0xfff) && npu_exec_stopped(x))
			return;
		if (!tap_at(c, oh, kh, c->stride_h, c->dil_h, c->pad_top, c->h, &ih, &inside_h))
			continue;
		for (kw = 0; kw < c->kw; kw++) {
			const char *in = NULL;

			if (!(kw & 0xfff) && npu_exec_stopped(x))
				return;
			if (!tap_at(c, ow, kw, c->stride_w, c->dil_w, c->pad_left, c->w, &iw,
				    &inside_w))
				continue;
			if (inside_h && inside_w)
				in = c->in_ptr + in_n * c->in->stride[0] + ih * c->in->stride[1] +
				     iw * c->in->stride[2] + o / c->og * c->cg * c->in->stride[3];
			channels_add(x, c, in, o, n, kh, kw, acc, iacc);
		}
	}
	if (c->integer)
		memcpy(acc, iacc, sizeof(acc));
	npu_conv_place(c, in_n, oh, ow, &place);
	c->epi_fn(&c->epi, acc, 16, 1, (npu_u32)o, n, &place);
}

/* Items are (pixel, block of up to 16 outputs of a group). */
static void chunk(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin, npu_u64 end)
{
	const struct npu_conv *c = arg;
	npu_s64 blocks = (c->og + 15) / 16, in_block, g, p;
	npu_u64 i;

	for (i = begin; i < end; i++) {
		p = (npu_s64)(i / (npu_u64)(blocks * c->groups));
		g = (npu_s64)(i / (npu_u64)blocks) % c->groups;
		in_block = (npu_s64)(i % (npu_u64)blocks) * 16;
		pixel(x, c, p / (c->oh * c->ow), p / c->ow % c->oh, p % c->ow, g * c->og + in_block,
		      (unsigned int)(c->og - in_block < 16 ? c->og - in_block : 16));
	}
}

int npu_conv_generic(struct npu_exec *x, struct npu_conv *c)
{
	npu_u64 items = (npu_u64)c->n * (npu_u64)c->oh * (npu_u64)c->ow *
			(npu_u64)((c->og + 15) / 16 * c->groups);
	double taps = (double)c->kh * (double)c->kw * (double)c->cg;

	npu_exec_path(x, NPU_PATH_CONV_GENERIC);
	return npu_exec_parallel(x, items, taps * 16 * 8, chunk, c);
}
