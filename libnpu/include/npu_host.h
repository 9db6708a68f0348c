/* SPDX-License-Identifier: MIT */
/*
 * Operators that run on the host, as steps of a job's schedule between command streams.
 *
 * libnpu has a table of its own (npu_host_op()); an application may add operators of any domain:
 * the same table is given to the compiler (npu_compile_options.host_ops) and to the device that
 * runs the job (npu_device_options.host_ops).
 *
 * An operator sees its node as the model has it: ONNX's inputs and attributes in the form of
 * operator set call->opset (nothing is resolved or left out by the compiler); parameters that are
 * inputs may be constants or computed.
 *
 * It is a function on dense tensors, row-major without gaps, aligned to 64 bytes. It reads
 * its inputs and attributes, writes all elements of all outputs that are present (they share no
 * memory with its inputs or each other), and keeps nothing: no pointer that it was given, no memory
 * that it allocated. It may be called from any thread, also several at once for different runs, and
 * must not call npu_* functions other than those below.
 */
#ifndef NPU_HOST_H
#define NPU_HOST_H

#include "npu.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/*
 * Element types that only host steps have, beside enum npu_dtype: what lies between host steps, and
 * inputs and outputs of a model that nothing else reads or makes.
 */
enum npu_host_dtype {
	NPU_HOST_F64 = 64,
	NPU_HOST_I16,
	NPU_HOST_U16,
	NPU_HOST_U32,
	NPU_HOST_U64,
	NPU_HOST_DTYPES_END
};

/* Bytes of an element of a type of either enum; 0: no such type, or one of less than a byte. */
size_t npu_host_dtype_size(uint32_t dtype);
/* "f32", "f64", ...; "?" */
const char *npu_host_dtype_name(uint32_t dtype);

struct npu_host_tensor {
	const char *name;		/* of the model, for messages */
	uint32_t dtype;			/* enum npu_dtype or enum npu_host_dtype */
	uint32_t rank;
	int64_t dim[NPU_TENSOR_MAX_RANK];	/* may be 0 */
	/*
	 * Elements; never NULL in run() when present. In infer(): those of constants, else NULL.
	 */
	void *data;
	bool present;			/* false: an optional one that the node leaves out */
};

enum npu_host_attr_kind {
	NPU_HOST_INT,
	NPU_HOST_FLOAT,
	NPU_HOST_STRING,
	NPU_HOST_INTS,
	NPU_HOST_FLOATS,
	NPU_HOST_STRINGS,
	NPU_NUM_HOST_ATTRS
};

struct npu_host_attr {
	const char *name;
	uint32_t kind;			/* enum npu_host_attr_kind */
	uint32_t count;			/* of the lists; 1 otherwise */
	int64_t i;
	double f;
	const char *s;
	const int64_t *ints;
	const float *floats;
	const char *const *strings;
};

struct npu_host_op;

struct npu_host_call {
	const struct npu_host_op *op;
	uint32_t opset;			/* version of the operator set that the node is of */
	uint32_t num_in, num_out, num_attr;
	const char *node;		/* of the model, for messages */
	const struct npu_host_tensor *in;
	struct npu_host_tensor *out;
	const struct npu_host_attr *attr;
	const void *stop;		/* for npu_host_stopped() */
};

/*
 * The lengths of an output depend on the data: its dims are upper bounds when run() is called,
 * which has that much room, and run() sets the real ones (no larger, 0 is allowed) and writes
 * densely for these.
 */
#define NPU_HOST_BOUNDED	1u
/*
 * An input may be such a tensor: run() takes the dims of its inputs as they come and sets those of
 * its outputs (no larger than given). Without the flag nothing with open lengths is read.
 */
#define NPU_HOST_FOLLOWS	2u

struct npu_host_op {
	const char *domain;		/* "" for ai.onnx */
	const char *name;
	uint32_t since;			/* first version of the operator set that it does */
	uint32_t flags;			/* NPU_HOST_* */
	const char *types;		/* element types in words, for documents and messages */
	const char *limits;		/* in words; "" */
	/*
	 * Compute. Returns 0 or a negative errno with the reason: input values that the operator
	 * does not take, -ENOTSUP for a type, -ENOMEM. -EINPROGRESS and -ETIMEDOUT, which fences
	 * have a meaning for, end the job as -EINVAL.
	 */
	int (*run)(const struct npu_host_call *call, struct npu_error *err);
	/*
	 * Operators of an application only (the compiler has its own rules for the others): set
	 * dtype, rank and dims of every output from the inputs' and the attributes. Called when
	 * compiling, several times with different lengths when these are chosen at run time; each
	 * dim must then be a linear function of one of them.
	 */
	int (*infer)(const struct npu_host_call *call, struct npu_error *err);
};

/* Row @i of libnpu's own table, NULL past the end. */
const struct npu_host_op *npu_host_op(unsigned int i);

/*
 * Has somebody cancelled the job? An operator whose work may take longer than some milliseconds
 * asks now and then, in a loop or so, and returns -ECANCELED. Cheap; from any thread.
 */
bool npu_host_stopped(const struct npu_host_call *call);

/* Attributes by name; the default when it is absent or of another kind. */
int64_t npu_host_int(const struct npu_host_call *call, const char *name, int64_t def);
double npu_host_float(const struct npu_host_call *call, const char *name, double def);
const char *npu_host_string(const struct npu_host_call *call, const char *name, const char *def);
/* Lists: NULL and 0 when absent. */
const int64_t *npu_host_ints(const struct npu_host_call *call, const char *name, uint32_t *count);
const float *npu_host_floats(const struct npu_host_call *call, const char *name, uint32_t *count);
const char *const *npu_host_strings(const struct npu_host_call *call, const char *name,
				    uint32_t *count);

/* Elements of a tensor: the product of its dims. */
int64_t npu_host_elems(const struct npu_host_tensor *t);

/* Leave a reason, "node 'name': ..." in front; returns @code. */
__attribute__((format(printf, 4, 5)))
int npu_host_fail(const struct npu_host_call *call, struct npu_error *err, int code,
		  const char *fmt, ...);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
