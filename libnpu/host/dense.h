/* SPDX-License-Identifier: MIT */
/*
 * Walking dense tensors: strides, broadcasting, indices. Element counts of tensors that reach an
 * operator fit 63 bits (the compiler bounds them), so products of their dims do.
 */
#ifndef NPU_HOST_DENSE_H
#define NPU_HOST_DENSE_H

#include "host/host.h"

#define NPU_HOST_RANK	NPU_TENSOR_MAX_RANK

/* Row-major strides in elements. */
void npu_host_strides(const struct npu_host_tensor *t, int64_t *stride);

/* Elements of the dims [from, to). */
int64_t npu_host_span(const struct npu_host_tensor *t, uint32_t from, uint32_t to);

/*
 * Strides that walk @t along the dims of @out with NumPy's broadcasting: 0 where @t has size 1.
 * -EINVAL (reported) when the shapes do not fit.
 */
int npu_host_broadcast(const struct npu_host_call *call, const struct npu_host_tensor *t,
		       const struct npu_host_tensor *out, int64_t *stride, struct npu_error *err);

/*
 * Set the dims of @out to what all inputs broadcast to: lengths may be open. -EINVAL (reported)
 * when there is no room for it; a misfit among the inputs is left to npu_host_broadcast().
 */
int npu_host_fit(const struct npu_host_call *call, struct npu_host_tensor *out,
		 struct npu_error *err);

/*
 * Set dim @d of @out; -EINVAL (reported) when there is no room for it.
 */
int npu_host_set_dim(const struct npu_host_call *call, struct npu_host_tensor *out, uint32_t d,
		     int64_t size, struct npu_error *err);

/*
 * What a job file says about the tensors of a step is not to be trusted. Each of these checks one
 * tensor and reports what is wrong (-EINVAL).
 */

/*
 * @out has @rank dims, room for these, and the element type @dtype (0: any); its dims are set to
 * them.
 */
int npu_host_want(const struct npu_host_call *call, struct npu_host_tensor *out, uint32_t dtype,
		  uint32_t rank, const int64_t *dim, struct npu_error *err);
/* The dims and type of @in. */
int npu_host_want_like(const struct npu_host_call *call, struct npu_host_tensor *out,
		       const struct npu_host_tensor *in, struct npu_error *err);
int npu_host_want_type(const struct npu_host_call *call, const struct npu_host_tensor *t,
		       uint32_t dtype, struct npu_error *err);
/* Input @i, when it is there, has an element to read as a parameter. */
int npu_host_want_number(const struct npu_host_call *call, uint32_t i, struct npu_error *err);

/* The next index in row-major order; false after the last. Not for empty dims. */
bool npu_host_next(uint32_t rank, const int64_t *dim, int64_t *index);

static inline int64_t npu_host_offset(uint32_t rank, const int64_t *index, const int64_t *stride)
{
	int64_t at = 0;
	uint32_t d;

	for (d = 0; d < rank; d++)
		at += index[d] * stride[d];
	return at;
}

/* Attribute @name as an axis of @rank dims, 0 <= axis < rank; -EINVAL (reported). */
int npu_host_axis(const struct npu_host_call *call, const char *name, int64_t def, uint32_t rank,
		  uint32_t *axis, struct npu_error *err);

/* Negative indices count from the end; false: outside of 0..size-1. */
static inline bool npu_host_index(int64_t *i, int64_t size)
{
	*i = *i < 0 ? *i + size : *i;
	return *i >= 0 && *i < size;
}

/* Are the two types the same, and all dims? For operators that take tensors alike. */
bool npu_host_same_shape(const struct npu_host_tensor *a, const struct npu_host_tensor *b);

/* Computed with as integers of 64 bits (u64: modulo 2^64), or as double. */
bool npu_host_is_float(uint32_t dtype);
bool npu_host_is_unsigned(uint32_t dtype);

/*
 * All elements as f64, in memory that the caller frees; NULL (reported): no memory, or the job was
 * cancelled, which the caller need not tell apart. A tensor that is
 * absent gives NULL without a report.
 */
double *npu_host_doubles(const struct npu_host_call *call, const struct npu_host_tensor *t,
			 struct npu_error *err);

/*
 * Zeroed memory for @count elements of @size; NULL (reported): no memory, or a size that does not
 * fit.
 */
void *npu_host_alloc(const struct npu_host_call *call, int64_t count, size_t size,
		     struct npu_error *err);

/*
 * -ECANCELED (reported) when the job was cancelled. What a job file asks for may take years: every
 * loop whose length is a product of sizes asks once in each outer round, loops over elements use
 * NPU_HOST_NOW_AND_THEN.
 */
int npu_host_poll(const struct npu_host_call *call, struct npu_error *err);
#define NPU_HOST_NOW_AND_THEN(i, call, err)	((i) & 4095 ? 0 : npu_host_poll(call, err))

/* Zero, whatever the type. */
void npu_host_clear(struct npu_host_tensor *t);

#endif
