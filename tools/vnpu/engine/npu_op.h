/* SPDX-License-Identifier: MIT */
/*
 * Engine internal: what an opcode's implementation gets, and the services it may use.
 *
 * An implementation is one function npu_op_<mnemonic>() that is listed in npu_op_list.h. When it is
 * called the instruction has been copied, its terms applied, its shapes, types and parameters
 * checked (npu_insn_check), every operand resolved with its permission, and overlaps refused. It
 * must not look at anything else that can change under it: an index or a scalar in memory is read
 * once into a local variable and the copy is checked.
 *
 * Results must not depend on x->simd, on the number of workers or on how work is cut into chunks.
 */
#ifndef NPU_OP_H
#define NPU_OP_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include "npu_isa.h"
#include "npu_isa_desc.h"
#include "npu_engine.h"

/*
 * Paths that are counted (struct npu_engine_counters.path); names are given by
 * npu_engine_path_name().
 */
#define NPU_PATHS(X)				\
	X(CONV_POINTWISE)			\
	X(CONV_DENSE)				\
	X(CONV_STRIDED)				\
	X(CONV_DEPTHWISE)			\
	X(CONV_DEPTHWISE8)			\
	X(CONV_INT)				\
	X(CONV_INT_POINTWISE)			\
	X(DECONV_INT)				\
	X(CONV_GENERIC)				\
	X(DECONV_PHASE)				\
	X(DECONV_GENERIC)			\
	X(MATMUL_PANEL)				\
	X(MATMUL_STRIDED)			\
	X(MATMUL_GEMV)				\
	X(MATMUL_INT)				\
	X(MATMUL_GROUPED)			\
	X(MATMUL_GROUPED_FLOAT)			\
	X(MATMUL_GROUPED_GENERIC)		\
	X(GROUPED_PORTABLE)			\
	X(GROUPED_AVX2)				\
	X(GROUPED_AVXVNNI)			\
	X(GROUPED_AVX512)			\
	X(GROUPED_AVX512VNNI)			\
	X(GEMM_PORTABLE)			\
	X(GEMM_AVX2)				\
	X(GEMM_AVX512)				\
	X(IGEMM_PORTABLE)			\
	X(IGEMM_AVX2)				\
	X(IGEMM_AVXVNNI)			\
	X(IGEMM_AVX512)				\
	X(IGEMM_AVX512VNNI)			\
	X(IGEMM_WIDE)				\
	X(PARALLEL)				\
	X(SERIAL)				\
	X(EWISE_FAST)				\
	X(EWISE_GENERIC)			\
	X(CODES_TABLE)				\
	X(CODES_BINARY)				\
	X(REDUCE_FAST)				\
	X(REDUCE_GENERIC)			\
	X(SOFTMAX_FAST)				\
	X(SOFTMAX_GENERIC)			\
	X(NORM_FAST)				\
	X(NORM_GENERIC)				\
	X(POOL_FAST)				\
	X(POOL_CODES)				\
	X(POOL_GENERIC)				\
	X(RESIZE_FAST)				\
	X(RESIZE_GENERIC)			\
	X(COPY_ROWS)				\
	X(COPY_TRANSPOSE)			\
	X(COPY_CAST)				\
	X(COPY_GENERIC)				\
	X(GATHER_ROWS)				\
	X(GATHER_GENERIC)			\
	X(GATHER_GROUPED)			\
	X(ATTENTION_FEW)			\
	X(ATTENTION_FAST)			\
	X(ATTENTION_GENERIC)			\
	X(COLOR_NEAR)				\
	X(COLOR_GATHER)

enum npu_path {
#define X(name) NPU_PATH_##name,
	NPU_PATHS(X)
#undef X
	NPU_NUM_PATHS
};
_Static_assert(NPU_NUM_PATHS <= 64, "struct npu_engine_counters has 64 path counters");

struct npu_run;		/* one call of npu_engine_run() in progress: workers, scratch (run.h) */

/* One instruction in execution. */
struct npu_exec {
	struct npu_insn insn;			/* a private copy, terms applied */
	const struct npu_operand *operand;	/* insn.operand */
	const npu_u32 *param;			/* insn.param */
	/* host address of the element at index 0 of every operand; NULL: absent */
	void *ptr[NPU_MAX_OPERANDS];
	enum npu_simd simd;			/* PORTABLE, AVX2 or AVX512, never AUTO */
	bool vnni;				/* beside simd: dot products of 8-bit codes */
	/* workers of npu_exec_parallel() are 0 .. num_workers - 1 */
	unsigned int num_workers;
	struct npu_engine_state *state;
	struct npu_run *run;
};

/*
 * Returns 0, or what npu_exec_parallel() or npu_exec_fault() returned: -EINTR (stopped), -EFAULT
 * (fault recorded),
 * -ENOMEM.
 */
typedef int (*npu_op_fn)(struct npu_exec *x);

#define X(name, fn) int fn(struct npu_exec *x);
#include "npu_op_list.h"
#undef X

/*
 * Run fn(x, arg, worker, begin, end) over all of [0, n) in chunks, on the workers that are free.
 * @worker names scratch that no other call uses at the same time. @item_ns is an estimate of the
 * time of one item on one thread: chunks are made of up to some 200 us, and work of less than about
 * 30 us in all stays on the calling thread. An item must take less than 500 us, since the stop flag
 * is looked at between chunks; a longer one polls npu_exec_stopped() and returns early. Returns 0;
 * -EINTR when stopped; -EFAULT when npu_exec_fault() was called.
 */
typedef void (*npu_chunk_fn)(struct npu_exec *x, void *arg, unsigned int worker, npu_u64 begin,
			     npu_u64 end);
int npu_exec_parallel(struct npu_exec *x, npu_u64 n, double item_ns, npu_chunk_fn fn, void *arg);

/* @ns of arithmetic with @bytes of weights, which a model reads out of memory: what is longer. */
static inline double npu_exec_weights_ns(double ns, double bytes)
{
	double read = bytes * 0.05;

	return ns < read ? read : ns;
}

/*
 * As above with the smallest chunk given: begin is a multiple of @align, so is end but at the end
 * of the range.
 */
int npu_exec_parallel_aligned(struct npu_exec *x, npu_u64 n, npu_u64 align, double item_ns,
			      npu_chunk_fn fn, void *arg);

/*
 * Make sure that every worker's scratch has @bytes (64-byte aligned; contents undefined). Called
 * before npu_exec_parallel() and not within; memory is kept, so it is allocated only when a size
 * was never seen before. Returns 0 or -ENOMEM. After success npu_exec_scratch() gives worker's
 * piece. There is one piece: a second reserve replaces the first. npu_exec_shared() is one piece
 * for the instruction, to be filled before or by the workers (reserved with
 * npu_exec_reserve_shared()).
 */
int npu_exec_reserve(struct npu_exec *x, size_t bytes);
void *npu_exec_scratch(struct npu_exec *x, unsigned int worker);
int npu_exec_reserve_shared(struct npu_exec *x, size_t bytes);
void *npu_exec_shared(struct npu_exec *x);

/*
 * Whether the job was asked to stop (or has faulted): then what is written no longer matters.
 * Cheap.
 */
bool npu_exec_stopped(const struct npu_exec *x);

/*
 * Record a fault found while running (INDEX, INTERNAL, ...). @order: position of the culprit in
 * program order (the row or element index); the lowest one wins, so that the record does not depend
 * on threads. May be called by workers. Chunks with a lower begin are still run to the end of their
 * search. Returns -EFAULT.
 */
int npu_exec_fault(struct npu_exec *x, npu_u64 order, enum npu_fault_code code, npu_u32 slot,
		   npu_u32 field, npu_s64 value, const char *fmt, ...)
	__attribute__((format(printf, 7, 8)));

/* Count that a kernel path ran. Once per instruction, from the op's own thread. */
void npu_exec_path(struct npu_exec *x, enum npu_path path);

static inline float npu_exec_param_f32(const struct npu_exec *x, unsigned int p)
{
	float f;

	memcpy(&f, &x->param[p], sizeof(f));
	return f;
}

static inline npu_s32 npu_exec_param_i32(const struct npu_exec *x, unsigned int p)
{
	return (npu_s32)x->param[p];
}

/*
 * @slot may be one that the instruction leaves off; then x->ptr of it is NULL, as for any absent
 * one.
 */
static inline bool npu_exec_present(const struct npu_exec *x, unsigned int slot)
{
	return npu_insn_slot(&x->insn, slot)->dtype != NPU_NONE;
}

/* The zero point of the 8-bit operand @data: the one in memory in @slot, or its own. */
static inline npu_s32 npu_exec_zero(const struct npu_exec *x, unsigned int data, unsigned int slot)
{
	if (!x->ptr[slot])
		return x->operand[data].zero_point;
	return x->operand[data].dtype == NPU_I8 ? *(const signed char *)x->ptr[slot] :
						  *(const unsigned char *)x->ptr[slot];
}

#endif
