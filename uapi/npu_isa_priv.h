/* SPDX-License-Identifier: MIT */
/*
 * Shared by the npu_isa_*.c files only: how a failed check is reported, and the words that the
 * checks of the operator families are made of.
 */
#ifndef NPU_ISA_PRIV_H
#define NPU_ISA_PRIV_H

#include <errno.h>
#include <string.h>
#include "npu_isa_desc.h"

#define T_F32	(1u << NPU_F32)
#define T_F16	(1u << NPU_F16)
#define T_BF16	(1u << NPU_BF16)
#define T_I8	(1u << NPU_I8)
#define T_U8	(1u << NPU_U8)
#define T_I32	(1u << NPU_I32)
#define T_I64	(1u << NPU_I64)
#define T_BOOL	(1u << NPU_BOOL)
#define T_SUB8	(1u << NPU_U4 | 1u << NPU_U5 | 1u << NPU_U6)
#define T_FLOAT	(T_F32 | T_F16 | T_BF16)
#define T_INT8	(T_I8 | T_U8)
#define T_DATA	(T_FLOAT | T_INT8)
#define T_ALL	(T_DATA | T_I32 | T_I64 | T_BOOL)

#define NPU_NO_FIELD	(~0u)

/* Words of the fixed parts of an instruction. */
#define NPU_HEADER_WORDS	(sizeof(struct npu_insn_header) / 4)
#define NPU_OPERAND_WORDS	(sizeof(struct npu_operand) / 4)
#define NPU_TERM_WORDS		(sizeof(struct npu_term) / 4)

struct npu_check {
	const struct npu_insn *insn;
	const struct npu_operand *op;	/* insn->operand */
	const npu_u32 *param;		/* insn->param */
	struct npu_isa_error *err;
};

/*
 * Fill *@err in (which may be NULL) and return -EINVAL. The text is put behind the opcode's name.
 */
int npu_isa_fail(struct npu_isa_error *err, const struct npu_insn_header *header, unsigned int code,
		 unsigned int operand, unsigned int field, npu_s64 value, const char *fmt, ...)
	__attribute__((format(printf, 7, 8)));

#define check_fail(c, code, operand, field, value, ...) \
	npu_isa_fail((c)->err, (c)->insn->header, NPU_FAULT_##code, operand, field, value, \
		     __VA_ARGS__)

static inline bool npu_is_present(const struct npu_operand *op)
{
	return op->dtype != NPU_NONE;
}

static inline unsigned int npu_type_bit(const struct npu_operand *op)
{
	return 1u << op->dtype;
}

/* Data that takes part as real numbers: floats, and codes with a scale. */
static inline bool npu_is_real(const struct npu_operand *op)
{
	return npu_type_bit(op) & T_FLOAT || op->scale != 0;
}

static inline npu_u32 npu_last_dim(const struct npu_operand *op)
{
	return op->rank ? op->dim[op->rank - 1] : 1;
}

static inline float npu_param_f32(npu_u32 bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static inline npu_u64 npu_div_up(npu_u64 a, npu_u64 b)
{
	return a / b + (a % b != 0);
}

/* Storage of one element in bytes; 1 for the sub-byte types. */
static inline unsigned int npu_elem_bytes(unsigned int dtype)
{
	unsigned int bits = npu_dtype_bits(dtype);

	return bits < 8 ? 1 : bits / 8;
}

/* Words for the checks of the families; all return 0 or -EINVAL with the error filled in. */
int npu_want_dim(struct npu_check *c, unsigned int slot, unsigned int dim, npu_u64 want,
		 const char *what);
int npu_want_rank(struct npu_check *c, unsigned int slot, unsigned int rank, const char *what);
int npu_want_same_dims(struct npu_check *c, unsigned int slot, unsigned int other);
int npu_want_same_but(struct npu_check *c, unsigned int slot, unsigned int other,
		      unsigned int axis);
int npu_want_broadcast(struct npu_check *c, unsigned int slot, unsigned int out);
int npu_want_same_type(struct npu_check *c, unsigned int slot, unsigned int other);
int npu_want_type(struct npu_check *c, unsigned int slot, npu_u32 types, const char *why);
int npu_want_axis(struct npu_check *c, unsigned int param, unsigned int slot);
int npu_want_absent(struct npu_check *c, unsigned int slot, const char *when);
int npu_want_present(struct npu_check *c, unsigned int slot, const char *when);
int npu_want_vector(struct npu_check *c, unsigned int slot, npu_u64 want, const char *what);
int npu_want_one(struct npu_check *c, unsigned int slot);
int npu_want_at_most(struct npu_check *c, unsigned int slot, unsigned int dim, npu_u32 most);

typedef int (*npu_check_fn)(struct npu_check *c);

int npu_check_conv(struct npu_check *c);
int npu_check_conv_transpose(struct npu_check *c);
int npu_check_matmul(struct npu_check *c);
int npu_check_ewise1(struct npu_check *c);
int npu_check_ewise2(struct npu_check *c);
int npu_check_select(struct npu_check *c);
int npu_check_reduce(struct npu_check *c);
int npu_check_arg_reduce(struct npu_check *c);
int npu_check_topk(struct npu_check *c);
int npu_check_cumsum(struct npu_check *c);
int npu_check_softmax(struct npu_check *c);
int npu_check_norm(struct npu_check *c);
int npu_check_pool(struct npu_check *c);
int npu_check_resize(struct npu_check *c);
int npu_check_crop_resize(struct npu_check *c);
int npu_check_copy(struct npu_check *c);
int npu_check_pad(struct npu_check *c);
int npu_check_iota(struct npu_check *c);
int npu_check_gather(struct npu_check *c);
int npu_check_gather_elements(struct npu_check *c);
int npu_check_scatter(struct npu_check *c);
int npu_check_scatter_elements(struct npu_check *c);
int npu_check_attention(struct npu_check *c);
int npu_check_rope(struct npu_check *c);
int npu_check_dyn_quant(struct npu_check *c);
int npu_check_color(struct npu_check *c);
int npu_check_count(struct npu_check *c);
int npu_check_load_scalar(struct npu_check *c);
int npu_check_timestamp(struct npu_check *c);

/*
 * Scales of group-quantized data: [rows of groups, columns], as MATMUL's b and, transposed,
 * GATHER's rows have them.
 */
struct npu_group_slots {
	unsigned int data, scale, min, super_scale, codebook;
	npu_u32 group, super;
	npu_u64 grouped, other;		/* elements along the grouped dim and along the other */
	bool transposed;		/* [other, groups] instead of [groups, other] */
};
int npu_check_groups(struct npu_check *c, const struct npu_group_slots *g);

/*
 * What npu_insn_check_regions() does, with @by_index: regions are told apart by their index and not
 * by address (before they are bound).
 */
int npu_insn_check_regions_mode(const struct npu_insn *insn, const struct npu_region *regions,
				unsigned int num_regions, npu_u64 sram_size, bool by_index,
				struct npu_isa_error *err);

#endif
