/* SPDX-License-Identifier: MIT */
/*
 * Engine internal: operators whose operands are all 8-bit codes. What one code becomes is looked up
 * in a table of 256; sums and products of two are done without a stop in between.
 */
#ifndef NPU_CODES_H
#define NPU_CODES_H

#include "iter.h"

struct npu_codes_table {
	struct npu_iter *it;		/* finished; out and in, 1 byte each */
	const struct npu_vec *vec;
	npu_u8 out[256];		/* by the stored bits of the input */
};

/* The 256 values that codes of operand 1 stand for, as npu_codes_table.out is to be made of. */
void npu_codes_table_values(const struct npu_codes_table *t, float value[256]);

/* Store them as codes of operand 0. */
void npu_codes_table_set(struct npu_codes_table *t, const float value[256]);

/* out = table[in] everywhere; cuts the iterator anew. */
int npu_codes_table_run(struct npu_exec *x, struct npu_codes_table *t);

static inline bool npu_elem_is_code(const struct npu_elem *e)
{
	return e->dtype == NPU_I8 || e->dtype == NPU_U8;
}

#endif
