/* SPDX-License-Identifier: MIT */
/* Index operands: each entry is read once, and the copy is checked. */
#ifndef NPU_INDEX_H
#define NPU_INDEX_H

#include "npu_op.h"

/* Entry @i of a vector of i32 or i64. */
npu_s64 npu_index_read(const struct npu_operand *op, const char *base, npu_u64 i);

/*
 * Entries that are copied at once: a vector that repeats one entry can be longer than any memory.
 */
#define NPU_INDEX_PART	(1u << 20)

/*
 * Copy up to NPU_INDEX_PART entries from @first on of the vector in @slot into npu_exec_shared() as
 * s64, negative ones counted from the end of @rows; with @skip -1 stays. Returns 0, -ENOMEM,
 * -EINTR, or -EFAULT with an INDEX fault that has the first bad entry's value.
 */
int npu_index_copy(struct npu_exec *x, unsigned int slot, npu_u64 first, npu_u64 rows, bool skip);

#endif
