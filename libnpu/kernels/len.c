// SPDX-License-Identifier: MIT
/* Arithmetic on lengths that vary with scalars. */
#include <errno.h>
#include "npu_kernels.h"

bool npu_len_is_const(const struct npu_len *len)
{
	unsigned int i;

	for (i = 0; i < NPU_LEN_TERMS; i++)
		if (len->term[i].factor)
			return false;
	return true;
}

/*
 * Add factor * scalar, merging with a term of the same scalar; a term that becomes 0 is free again.
 */
static int len_add_term(struct npu_len *len, int64_t factor, uint32_t scalar)
{
	unsigned int i, at = NPU_LEN_TERMS;

	if (!factor)
		return 0;
	for (i = 0; i < NPU_LEN_TERMS; i++) {
		if (len->term[i].factor && len->term[i].scalar == scalar) {
			factor += len->term[i].factor;
			at = i;
			break;
		}
		if (!len->term[i].factor && at == NPU_LEN_TERMS)
			at = i;
	}
	if (at == NPU_LEN_TERMS || factor != (int32_t)factor)
		return -ERANGE;
	len->term[at].factor = factor;
	len->term[at].scalar = factor ? scalar : 0;
	return 0;
}

int npu_len_add(const struct npu_len *a, const struct npu_len *b, struct npu_len *sum)
{
	struct npu_len r = *a;
	unsigned int i;

	if (__builtin_add_overflow(a->base, b->base, &r.base))
		return -ERANGE;
	for (i = 0; i < NPU_LEN_TERMS; i++)
		if (len_add_term(&r, b->term[i].factor, b->term[i].scalar))
			return -ERANGE;
	*sum = r;
	return 0;
}

int npu_len_mul(const struct npu_len *a, int64_t k, struct npu_len *product)
{
	struct npu_len r = npu_len(0);
	int64_t factor;
	unsigned int i;

	if (__builtin_mul_overflow(a->base, k, &r.base))
		return -ERANGE;
	for (i = 0; i < NPU_LEN_TERMS; i++)
		if (__builtin_mul_overflow((int64_t)a->term[i].factor, k, &factor) ||
		    factor != (int32_t)factor || len_add_term(&r, factor, a->term[i].scalar))
			return -ERANGE;
	*product = r;
	return 0;
}

int npu_len_product(const struct npu_len *a, const struct npu_len *b, struct npu_len *product)
{
	if (npu_len_is_const(b))
		return npu_len_mul(a, b->base, product);
	if (npu_len_is_const(a))
		return npu_len_mul(b, a->base, product);
	return -EDOM;
}
