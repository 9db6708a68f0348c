// SPDX-License-Identifier: MIT
/* Float 1x1 convolution over pixels that lie at one distance: a matrix product. */
#include "conv.h"
#include "gemm_rows.h"

/* Whether dims 0 to 2 of a tensor can be seen as one, sizes being those of the output. */
static bool is_flat(const struct npu_conv *c, npu_s64 s0, npu_s64 s1, npu_s64 s2)
{
	return (c->oh == 1 || s1 == c->ow * s2) && (c->n == 1 || s0 == c->oh * c->ow * s2);
}

bool npu_conv_is_pointwise(const struct npu_conv *c)
{
	const npu_s64 *in = c->in->stride, *out = c->out->stride;

	/*
	 * With one row or column what lies along it never moves, so any stride and padding is
	 * covered by the rest.
	 */
	if (c->kh != 1 || c->kw != 1 || c->groups != 1 || c->stride_h != 1 || c->stride_w != 1 ||
	    c->pad_top || c->pad_left || c->h != c->oh || c->w != c->ow)
		return false;
	if (!is_flat(c, in[0], in[1], in[2]) || !is_flat(c, out[0], out[1], out[2]))
		return false;
	return !c->epi.res ||
	       is_flat(c, npu_epi_res_stride(&c->epi, 0), npu_epi_res_stride(&c->epi, 1),
		       npu_epi_res_stride(&c->epi, 2));
}

bool npu_conv_pointwise_can(const struct npu_conv *c)
{
	return !c->integer && c->weight->layout == NPU_LAYOUT_PANEL16 &&
	       npu_gemm_b_type(c->weight->dtype) >= 0 && npu_conv_is_pointwise(c);
}

static void at(const struct npu_gemm_rows *g, npu_s64 batch, struct npu_gemm_at *at)
{
	const struct npu_conv *c = g->arg;

	at->a = c->in_ptr;
	at->b = c->w_ptr;
	npu_conv_place(c, 0, 0, 0, &at->place);
}

int npu_conv_pointwise(struct npu_exec *x, struct npu_conv *c)
{
	const npu_s64 *in = c->in->stride;
	struct npu_gemm_rows g = {
		.m = c->n * c->oh * c->ow,
		.k = c->c,
		.n = c->o,
		.batch = 1,
		.a_type = c->in->dtype,
		.a_row = in[2],
		.a_k = in[3],
		.b_type = npu_gemm_b_type(c->weight->dtype),
		.epi = &c->epi,
		.epi_fn = c->epi_fn,
		.at = at,
		.arg = c,
	};

	npu_exec_path(x, NPU_PATH_CONV_POINTWISE);
	return npu_gemm_rows_run(x, &g);
}
