// SPDX-License-Identifier: MIT
/* MATMUL: which kernel does it. */
#include "matmul.h"

static void zeros_pack(const struct npu_exec *x, npu_s32 common, npu_u32 n, npu_s32 *zero)
{
	const struct npu_operand *op = &x->operand[NPU_MATMUL_B_ZERO];
	const char *src = x->ptr[NPU_MATMUL_B_ZERO];
	npu_u32 i;

	for (i = 0; i < n; i++) {
		zero[i] = common;
		if (src)
			zero[i] = op->dtype == NPU_I8 ?
					  *(const signed char *)(src + op->stride[0] * i) :
					  *(const unsigned char *)(src + op->stride[0] * i);
	}
}

static void matmul_sizes(struct npu_matmul *m, const struct npu_exec *x)
{
	unsigned int i;

	memset(m, 0, sizeof(*m));
	m->out = &x->operand[NPU_MATMUL_OUT];
	m->a = &x->operand[NPU_MATMUL_A];
	m->b = &x->operand[NPU_MATMUL_B];
	m->out_ptr = x->ptr[NPU_MATMUL_OUT];
	m->a_ptr = x->ptr[NPU_MATMUL_A];
	m->b_ptr = x->ptr[NPU_MATMUL_B];
	m->rank = m->out->rank;
	m->m = m->out->dim[m->rank - 2];
	m->n = m->out->dim[m->rank - 1];
	m->k = m->a->dim[m->rank - 1];
	m->batch = 1;
	for (i = 0; i + 2 < m->rank; i++)
		m->batch *= m->out->dim[i];
	m->grouped = m->b->layout == NPU_LAYOUT_GROUPED16;
	m->integer = !m->grouped && (m->a->dtype == NPU_I8 || m->a->dtype == NPU_U8);
}

static bool grouped_can(struct npu_exec *x, struct npu_matmul *m)
{
	return m->a->dtype == NPU_I8 ? npu_matmul_grouped_can(x, m) :
				       npu_matmul_grouped_float_can(m);
}

static size_t pack_bytes(struct npu_exec *x, struct npu_matmul *m)
{
	if (!m->grouped)
		return npu_matmul_int_can(m) ? npu_matmul_int_bytes(m) : npu_matmul_pack_bytes(m);
	if (!grouped_can(x, m))
		return 0;
	return m->a->dtype == NPU_I8 ? npu_matmul_grouped_bytes(x, m) :
				       npu_matmul_grouped_float_bytes(m);
}

/* Shared memory: the epilogue's vectors, zero points, b packed or the rows made ready. */
int npu_matmul_init(struct npu_matmul *m, struct npu_exec *x)
{
	size_t vectors, zeros, pack, bytes;
	npu_s32 *zero;

	matmul_sizes(m, x);
	vectors = (npu_epi_bytes((npu_u32)m->n) + 63) & ~(size_t)63;
	zeros = (((size_t)m->n + NPU_PANEL) * sizeof(npu_s32) + 63) & ~(size_t)63;
	pack = pack_bytes(x, m);
	if (__builtin_add_overflow(vectors + zeros, pack, &bytes) ||
	    npu_exec_reserve_shared(x, bytes))
		return -ENOMEM;
	npu_epi_init(&m->epi, x, NPU_MATMUL_BIAS, NPU_MATMUL_P_ACT, m->integer, npu_exec_shared(x));
	m->epi_fn = npu_epi_select(x->simd);
	if (m->epi.res)
		m->res_ptr = x->ptr[NPU_MATMUL_RESIDUAL];
	if (m->integer) {
		zero = (npu_s32 *)(void *)((char *)npu_exec_shared(x) + vectors);
		m->a_zero = npu_exec_zero(x, NPU_MATMUL_A, NPU_MATMUL_A_ZERO);
		memset(zero, 0, zeros);
		zeros_pack(x, m->b->zero_point, (npu_u32)m->n, zero);
		m->b_zero = zero;
	}
	m->pack_mem = (char *)npu_exec_shared(x) + vectors + zeros;
	return 0;
}

void npu_matmul_batch(const struct npu_matmul *m, npu_s64 batch, struct npu_matmul_batch *at)
{
	npu_s64 index[NPU_MAX_RANK] = { 0 }, i;

	for (i = (npu_s64)m->rank - 3; i >= 0; i--) {
		index[i] = batch % m->out->dim[i];
		batch /= m->out->dim[i];
	}
	at->a = m->a_ptr;
	at->b = m->b_ptr;
	at->out = m->out_ptr;
	at->res = m->res_ptr;
	at->b_index = 0;
	for (i = 0; i + 2 < (npu_s64)m->rank; i++) {
		at->out += index[i] * m->out->stride[i];
		if (at->res)
			at->res += index[i] * npu_epi_res_stride(&m->epi, (unsigned int)i);
		if (m->a->dim[i] > 1)
			at->a += index[i] * m->a->stride[i];
		if (m->b->layout == NPU_LAYOUT_STRIDED && m->b->dim[i] > 1)
			at->b += index[i] * m->b->stride[i];
		at->b_index = at->b_index * m->b->dim[i] + (m->b->dim[i] > 1 ? index[i] : 0);
	}
}

void npu_matmul_place(const struct npu_matmul *m, const struct npu_matmul_batch *at, npu_s64 row,
		      struct npu_epi_place *place)
{
	place->out_step = m->out->stride[m->rank - 2];
	place->out = at->out + row * place->out_step;
	place->res_step = npu_epi_res_stride(&m->epi, m->rank - 2);
	place->res = at->res ? at->res + row * place->res_step : NULL;
}

static int matmul_grouped(struct npu_exec *x, struct npu_matmul *m)
{
	if (!grouped_can(x, m))
		return npu_matmul_grouped_generic(x, m);
	return m->a->dtype == NPU_I8 ? npu_matmul_grouped(x, m) : npu_matmul_grouped_float(x, m);
}

int npu_op_matmul(struct npu_exec *x)
{
	struct npu_matmul m;
	int ret;

	ret = npu_matmul_init(&m, x);
	if (ret)
		return ret;
	if (m.grouped)
		return matmul_grouped(x, &m);
	if (npu_matmul_int_can(&m))
		return npu_matmul_int(x, &m);
	if (!npu_matmul_panel_can(&m))
		return npu_matmul_generic(x, &m);
	return m.b->layout == NPU_LAYOUT_STRIDED ? npu_matmul_strided(x, &m) :
						   npu_matmul_panel(x, &m);
}
