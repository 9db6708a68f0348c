/* SPDX-License-Identifier: MIT */
/* The equation of an Einsum; the compiler reads it for shapes, the host to compute. */
#ifndef NPU_HOST_EINSUM_H
#define NPU_HOST_EINSUM_H

#include <stdbool.h>
#include <stdint.h>

#define NPU_EINSUM_RANK		8
#define NPU_EINSUM_TERMS	8
#define NPU_EINSUM_RESULT	NPU_EINSUM_TERMS	/* index of the result among the terms */
/* labels of the dims of "...": from here on, aligned at the last */
#define NPU_EINSUM_DOTS		52
#define NPU_EINSUM_LABELS	(NPU_EINSUM_DOTS + NPU_EINSUM_RANK)

struct npu_einsum {
	int num_terms;
	int label[NPU_EINSUM_TERMS + 1][NPU_EINSUM_RANK];	/* of each dim */
	int rank[NPU_EINSUM_TERMS + 1];
	int dots;			/* dims behind "..." in the result */
};

/* false: the text is no equation of @num_terms tensors of these ranks. */
bool npu_einsum_parse(struct npu_einsum *e, const char *text, int num_terms, const int *rank);

#endif
