/* SPDX-License-Identifier: MIT */
/*
 * What npu_isa_table.h says, as enums and as descriptors that code can walk; plus decode and static
 * check of one instruction. Used by the engine, libnpu, the tools and the reference generator.
 * Everything here is pure and thread safe.
 */
#ifndef NPU_ISA_DESC_H
#define NPU_ISA_DESC_H

#include <stddef.h>
#include <stdbool.h>
#include "npu_isa.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Opcodes: NPU_OP_CONV, ... */
enum npu_opcode {
#define OP(name, code, mnemonic, summary, formula) NPU_OP_##name = code,
#define SLOT(...)
#define PARAM(...)
#define END(op)
#include "npu_isa_table.h"
#undef OP
#undef SLOT
#undef PARAM
#undef END
	NPU_NUM_OPCODES = 0x53
};

/* Slots: NPU_CONV_OUT, ..., NPU_CONV_NUM_SLOTS. */
#define OP(name, code, mnemonic, summary, formula) enum {
#define SLOT(op, name, dir, types, rmin, rmax, flags, doc) NPU_##op##_##name,
#define PARAM(...)
#define END(op) NPU_##op##_NUM_SLOTS };
#include "npu_isa_table.h"
#undef OP
#undef SLOT
#undef PARAM
#undef END

/* Parameters: NPU_CONV_P_STRIDE_H, ..., NPU_CONV_NUM_PARAMS. */
#define OP(name, code, mnemonic, summary, formula) enum {
#define SLOT(...)
#define PARAM(op, name, kind, min, max, doc) NPU_##op##_P_##name,
#define END(op) NPU_##op##_NUM_PARAMS };
#include "npu_isa_table.h"
#undef OP
#undef SLOT
#undef PARAM
#undef END

enum npu_slot_dir { NPU_DIR_IN, NPU_DIR_OUT, NPU_DIR_INOUT };
enum npu_param_kind { NPU_PARAM_U32, NPU_PARAM_I32, NPU_PARAM_F32, NPU_PARAM_LEN, NPU_PARAM_MASK };

#define NPU_SLOT_REQUIRED	1u
#define NPU_SLOT_PANEL		2u
#define NPU_SLOT_INPLACE	4u
/* The minor version of the instruction set that a slot came with, in its flags. */
#define NPU_SLOT_SINCE_SHIFT	8
#define NPU_SLOT_SINCE(flags)	((flags) >> NPU_SLOT_SINCE_SHIFT)

struct npu_slot_desc {
	char name[20];			/* lower case */
	enum npu_slot_dir dir;
	npu_u32 types;			/* bit (1 << enum npu_dtype) */
	npu_u8 min_rank, max_rank;
	npu_u32 flags;
	const char *doc;
};

struct npu_param_desc {
	char name[20];			/* lower case */
	enum npu_param_kind kind;
	/* F32: any finite value, and with max 1 also infinities; MASK: max is the mask */
	npu_s64 min, max;
	const char *doc;
	npu_u8 since;			/* the instruction set's minor version that it came with */
};

struct npu_op_desc {
	const char *mnemonic;
	const char *summary;
	const char *formula;
	const struct npu_slot_desc *slots;
	const struct npu_param_desc *params;
	npu_u8 num_slots;
	npu_u8 num_params;
	npu_u16 code;
};

/* The descriptor of @opcode with all of its slots, or NULL. */
const struct npu_op_desc *npu_op_desc(unsigned int opcode);

/*
 * The same as minor version @minor of the instruction set has it: slots and parameters of later
 * ones are not there. NULL when the opcode is not, or when there is no such version.
 */
const struct npu_op_desc *npu_op_desc_at(unsigned int opcode, unsigned int minor);

/*
 * The newest one with this many operands and parameters: those of later minor versions may be left
 * off. NULL when the opcode never had as many.
 */
const struct npu_op_desc *npu_op_desc_of(unsigned int opcode, unsigned int num_operands,
					 unsigned int num_params);

/* One decoded instruction; the pointers look into the words given to npu_insn_decode(). */
struct npu_insn {
	/* of the operands and parameters that are there: npu_op_desc_of() */
	const struct npu_op_desc *desc;
	const struct npu_insn_header *header;
	const struct npu_operand *operand;	/* desc->num_slots of them */
	const npu_u32 *param;			/* desc->num_params of them */
	const struct npu_term *term;
};

/* Why a check failed: the fault record, and the same in words for people. */
struct npu_isa_error {
	/* code, opcode, tag, operand, field, value; the caller adds the place */
	struct npu_fault fault;
	char text[256];
};

/*
 * Decode the instruction that starts at @words (aligned to 8 bytes), of which @avail 32-bit words
 * may be read. Checks sizes, counts, reserved fields, slots (types, ranks, presence), parameters'
 * ranges (those of LEN parameters are left to npu_insn_check()) and what terms name, but no shapes.
 * An instruction may leave off the slots and parameters of later minor versions: then insn->desc
 * has fewer, and they are looked at through npu_insn_slot() and npu_insn_param(). Returns 0, or
 * -EINVAL with *@err filled in.
 */
int npu_insn_decode(const npu_u32 *words, size_t avail, struct npu_insn *insn,
		    struct npu_isa_error *err);

/* The operand in @slot, an absent one where the instruction leaves it off. */
const struct npu_operand *npu_insn_slot(const struct npu_insn *insn, unsigned int slot);

/* Parameter @param, 0 where the instruction leaves it off. */
npu_u32 npu_insn_param(const struct npu_insn *insn, unsigned int param);

/* The minor version of the instruction set that @insn needs. */
unsigned int npu_insn_minor(const struct npu_insn *insn);

/*
 * Add factor * scalar of every term to the instruction at @words (a private copy that
 * npu_insn_decode() has accepted). Dimensions, LEN parameters and, before terms are added, their
 * signed bases are 32-bit numbers; strides and offsets 64-bit ones. Returns 0, or -ERANGE with
 * *@err when a result leaves the range of its field.
 */
int npu_insn_apply_terms(npu_u32 *words, const npu_u32 scalar[NPU_MAX_SCALARS],
			 struct npu_isa_error *err);

/*
 * Check that shapes, types, layouts and parameters of a decoded instruction (terms applied) agree,
 * and that it stays within the bound of work. Together with npu_insn_check_regions() this is all
 * that the engine refuses without looking at memory. Returns 0, or -EINVAL with *@err.
 */
int npu_insn_check(const struct npu_insn *insn, struct npu_isa_error *err);

/*
 * The second half of the static check, against a job's regions: every operand lies inside its
 * region (or, in an SRAM region, inside of @sram_size bytes), the region allows the access, and no
 * output overlaps an input or another output by address, except exactly in place where the slot
 * says so. Operands that interleave without sharing a byte (a channel slice written beside one that
 * is read) pass. For an instruction that passed npu_insn_check(). Returns 0, or -EINVAL with *@err.
 */
int npu_insn_check_regions(const struct npu_insn *insn, const struct npu_region *regions,
			   unsigned int num_regions, npu_u64 sram_size, struct npu_isa_error *err);

/*
 * Bytes that a STRIDED operand spans from its offset. 0 for an absent one. Returns 0, -EOVERFLOW,
 * or -EINVAL for panels.
 */
int npu_operand_extent(const struct npu_operand *op, npu_u64 *bytes);

/*
 * The same for the operand in @slot of @insn, panel layouts too: how a panel lies depends on the
 * opcode (groups of CONV, which dims of MATMUL are K and N). This is what has to be resolved before
 * the instruction runs.
 */
int npu_insn_operand_extent(const struct npu_insn *insn, unsigned int slot, npu_u64 *bytes);

/* Check a stream's header, of which @size bytes may be read. Returns 0, or -EINVAL with *@err. */
int npu_stream_check_header(const struct npu_stream_header *header, size_t size,
			    struct npu_isa_error *err);

/* Words of the largest instruction there is: what a private copy needs. */
#define NPU_MAX_INSN_WORDS	(4 + 26 * NPU_MAX_OPERANDS + NPU_MAX_PARAMS + 2 * NPU_MAX_TERMS)

/* Multiply-accumulates and bytes read + written by a checked instruction. */
npu_u64 npu_insn_macs(const struct npu_insn *insn);
npu_u64 npu_insn_bytes(const struct npu_insn *insn);

/*
 * Write the instruction as one line of text into @buf like snprintf (returns the length wanted).
 * Terms are shown as "12+8*s0".
 */
int npu_insn_disassemble(const struct npu_insn *insn, char *buf, size_t size);

/* Names of enumerators, "?" when unknown; storage size in bits. */
const char *npu_dtype_name(unsigned int dtype);
unsigned int npu_dtype_bits(unsigned int dtype);
bool npu_dtype_is_float(unsigned int dtype);
const char *npu_layout_name(unsigned int layout);
const char *npu_act_name(unsigned int act);
const char *npu_unary_name(unsigned int func);
const char *npu_binary_name(unsigned int func);
const char *npu_reduce_name(unsigned int func);
const char *npu_fault_text(unsigned int code);

/*
 * Verify one instruction (terms not yet applied) at the bounds of the scalars that @header
 * declares; with @regions NULL only what the instruction says by itself, else
 * npu_insn_check_regions() too, regions told apart by index because their bases are not known
 * before binding. *@insn is the decoded instruction. Returns 0, or -EINVAL with *@err.
 */
int npu_insn_verify(const npu_u32 *words, size_t avail, const struct npu_stream_header *header,
		    const struct npu_region *regions, unsigned int num_regions, npu_u64 sram_size,
		    struct npu_insn *insn, struct npu_isa_error *err);

/*
 * Whole-stream verification: header, every instruction at the lowest and the highest value of each
 * scalar, extents against @regions (what the job file declares: size and access of each), overlap
 * of outputs with inputs, END at the end and only there. @sram_size: bytes of on-chip memory. Every
 * combination of bounds is tried for up to four scalars in an instruction, plus one point inside;
 * as sizes may have remainders in between (groups, halves), the engine checks each instruction
 * again at the values it runs with. Bases of SRAM regions are offsets into on-chip memory and
 * count; other bases are not looked at. Returns 0, or -EINVAL with *@err, whose fault has the
 * instruction's index and offset.
 */
int npu_stream_verify(const void *stream, size_t size, const struct npu_region *regions,
		      unsigned int num_regions, npu_u64 sram_size, struct npu_isa_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
