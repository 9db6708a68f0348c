/* SPDX-License-Identifier: MIT */
/* The canon pass is in several files, one per kind of operator; each function rewrites one node. */
#ifndef NPU_COMPILER_PASS_CANON_H
#define NPU_COMPILER_PASS_CANON_H

#include "compiler/dims.h"
#include "compiler/pass.h"

int npu_canon_act(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);
int npu_canon_binary(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);
int npu_canon_variadic(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);
int npu_canon_softmax(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);
int npu_canon_reduce(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);
int npu_canon_batchnorm(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);
int npu_canon_gemm(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);
int npu_canon_quant(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);
int npu_canon_split(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);
int npu_canon_tile(struct npu_graph *g, struct npu_gnode *n);
int npu_canon_slice(struct npu_graph *g, struct npu_gnode *n);
int npu_canon_einsum(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);
/*
 * The same for nodes that the device does only in part; what they leave alone the lowering refuses,
 * so that it goes to the host.
 */
int npu_canon_volume(struct npu_graph *g, struct npu_gnode *n);
int npu_canon_pool(struct npu_graph *g, struct npu_gnode *n);
int npu_canon_index(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag);
int npu_canon_resize(struct npu_graph *g, struct npu_gnode *n);

/*
 * What a small file can ask for has a limit: elements of a constant that stands for an operator,
 * for larger ones would be a burden to the job, and of a tensor that is many times as large as what
 * it is made of. Beyond it a node is left alone.
 */
#define NPU_CANON_TABLE_MAX	(1ll << 22)
#define NPU_CANON_ELEMS_MAX	(1ll << 30)

/* A table of @a times @b elements. */
static inline bool npu_canon_table_fits(int64_t a, int64_t b)
{
	return b < 1 || a <= NPU_CANON_TABLE_MAX / b;
}

/* A tensor of these dims, whatever the symbols are, and @times as many elements. */
bool npu_canon_elems_fit(const struct npu_graph *g, const struct npu_dim *dim, int rank,
			 int64_t times);

/* f32 constant scalar. NULL: no memory. */
struct npu_gtensor *npu_canon_scalar(struct npu_graph *g, const struct npu_gnode *n,
				     enum npu_gtype type, float v);

/* ---- a model node written out as a chain of nodes (pass_canon_chain.c) ---- */

/*
 * struct npu_gchain - nodes in the place of @from, each on the result @t of the one before. NULL:
 * there was no memory; everything on such a chain does nothing, so that only its end is checked.
 */
struct npu_gchain {
	struct npu_graph *g;
	const struct npu_gnode *from;
	struct npu_gtensor *t;
};

/* Windows along one axis: @count of them, @taps positions each. */
struct npu_window_axis {
	int64_t count, taps, stride, dilation;
};

/*
 * A node on the result so far, and on @more unless it is NULL; its result has its type and these
 * dims.
 */
struct npu_gnode *npu_gchain_add(struct npu_gchain *c, enum npu_gop op, struct npu_gtensor *more,
				const struct npu_dim *dim, int rank);
void npu_gchain_reshape(struct npu_gchain *c, const struct npu_dim *dim, int rank);
void npu_gchain_transpose(struct npu_gchain *c, const int64_t *perm);
/* Constant @index picks along @axis, which becomes the dimensions of the index. */
void npu_gchain_gather(struct npu_gchain *c, int axis, struct npu_gtensor *index);
/* The same with what each window sees: @axis becomes [count, taps]. */
void npu_gchain_windows(struct npu_gchain *c, int axis, const struct npu_window_axis *a);
/* @value in front of and behind every dimension; nothing when there is nothing to add. */
void npu_gchain_pad(struct npu_gchain *c, const int64_t *begin, const int64_t *end, float value);
void npu_gchain_cast(struct npu_gchain *c, enum npu_gtype type);
/* With broadcasting; the result has the chain's type. */
void npu_gchain_binary(struct npu_gchain *c, enum npu_gop op, struct npu_gtensor *other);
/* Everybody who used @y uses the chain's result. 0 or -ENOMEM. */
int npu_gchain_replace(struct npu_gchain *c, struct npu_gtensor *y);

/* @n gets a result of its own with these dims instead of its first output. NULL: no memory. */
struct npu_gtensor *npu_canon_detach(struct npu_graph *g, struct npu_gnode *n,
				     const struct npu_dim *dim, int rank);
/* Static tensor @t with other dims: the same bytes, or a Reshape. NULL: no memory. */
struct npu_gtensor *npu_canon_reshaped(struct npu_graph *g, const struct npu_gnode *n,
				       struct npu_gtensor *t, const int64_t *dims, int rank);

#endif
