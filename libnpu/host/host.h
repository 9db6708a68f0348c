/* SPDX-License-Identifier: MIT */
/*
 * What the files of libnpu/host share beside the public npu_host.h. Nothing here knows of the
 * compiler's graph or of job files; both use this table.
 *
 * To add an operator: a function in ops_<family>.c, its row in host_ops.def, and (for the compiler)
 * a row in compiler/ops.def with a shape rule.
 */
#ifndef NPU_HOST_HOST_H
#define NPU_HOST_HOST_H

#include "npu_host.h"

/* The operators of host_ops.def. */
#define NPU_HOST_OP(domain, name, since, in_min, in_max, out_min, out_max, same, flags, types,	\
		    limits, fn)								\
	int fn(const struct npu_host_call *call, struct npu_error *err);
#include "host/host_ops.def"
#undef NPU_HOST_OP

/*
 * The operator that does @name of @domain ("ai.onnx" is ""), or NULL. @own: @num_own operators of
 * an application, asked first; may be NULL.
 */
const struct npu_host_op *npu_host_op_find(const char *domain, const char *name);
const struct npu_host_op *npu_host_op_find_in(const struct npu_host_op *own, unsigned int num_own,
					      const char *domain, const char *name);

/*
 * Have the inputs of @op types that fit each other? False: those of inputs *@a and *@b differ, and
 * the standard wants one. @dtype: that of input @i, 0 when it is left out. Of an application's
 * operator only the application knows.
 */
bool npu_host_same_types(const struct npu_host_op *op, uint32_t count,
			 uint32_t (*dtype)(const void *ctx, uint32_t i), const void *ctx,
			 uint32_t *a, uint32_t *b);

/*
 * Input @i when it is there, else NULL; output @i when somebody wants it, else NULL. Operators with
 * optional ones ask this way.
 */
const struct npu_host_tensor *npu_host_in(const struct npu_host_call *call, uint32_t i);
struct npu_host_tensor *npu_host_out(const struct npu_host_call *call, uint32_t i);

/*
 * A job file may say anything: an operator checks all that it relies on (how many arguments there
 * are, types, ranks, dims against each other, attributes, indices in data) before it touches an
 * element. tests/host/test_hostile.c calls every row of the table with random arguments.
 *
 * npu_host_check(): @in_min .. @in_max inputs of which the first @in_min are present, 1 .. @out_max
 * outputs. -EINVAL with a reason.
 */
int npu_host_check(const struct npu_host_call *call, uint32_t in_min, uint32_t in_max,
		   uint32_t out_max, struct npu_error *err);
/*
 * Output @i, when it is present, has the type @dtype and the shape @dim. For operators with
 * NPU_HOST_BOUNDED or NPU_HOST_FOLLOWS: @dim is no larger than the output's, which becomes it. Call
 * before writing. -EINVAL with a reason.
 */
int npu_host_shape(const struct npu_host_call *call, uint32_t i, uint32_t dtype, uint32_t rank,
		   const int64_t *dim, struct npu_error *err);

/*
 * An output shares no byte with an input or another output: who runs a step asks before it calls
 * the operator. A job file is checked at its smallest and largest lengths only, and users bind what
 * they like. -EINVAL with a reason.
 */
int npu_host_check_places(const struct npu_host_call *call, struct npu_error *err);

/* The attribute, or NULL when it is absent or of another kind. */
const struct npu_host_attr *npu_host_attr(const struct npu_host_call *call, const char *name,
					  uint32_t kind);

/* "operator Det does not take f16 (f32, f64)": -ENOTSUP. */
int npu_host_bad_type(const struct npu_host_call *call, const struct npu_host_tensor *t,
		      struct npu_error *err);

/* Element @i as a number, whatever its type (f16, bf16, bool and host types too); 0 for others. */
double npu_host_get(const struct npu_host_tensor *t, int64_t i);
/* The same exactly for integers; floats are truncated, NaN is 0. */
int64_t npu_host_get_int(const struct npu_host_tensor *t, int64_t i);
/*
 * Store a number as the tensor's type: floats rounded to nearest even, integers truncated (out of
 * range: the nearest there is, NaN is 0).
 */
void npu_host_set(struct npu_host_tensor *t, int64_t i, double v);
void npu_host_set_int(struct npu_host_tensor *t, int64_t i, int64_t v);

#endif
