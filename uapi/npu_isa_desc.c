// SPDX-License-Identifier: MIT
/* The instruction table as descriptors, and the names of enumerators. */
#include <stdarg.h>
#include <stdio.h>
#include "npu_isa_priv.h"

_Static_assert(sizeof(struct npu_stream_header) == 152, "stream header");
_Static_assert(sizeof(struct npu_insn_header) == 16, "instruction header");
_Static_assert(sizeof(struct npu_operand) == 104, "operand");
_Static_assert(sizeof(struct npu_term) == 8, "term");
_Static_assert(sizeof(struct npu_region) == 24, "region");

/*
 * A name in lower case as a constant initializer, so that the table is written once and stays
 * read-only.
 */
#define LOW1(s, i)	((s)[i] >= 'A' && (s)[i] <= 'Z' ? (s)[i] - 'A' + 'a' : (s)[i])
#define LOW(name)	LOWER(#name "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")
#define LOWER(s)	{ LOW1(s, 0), LOW1(s, 1), LOW1(s, 2), LOW1(s, 3), LOW1(s, 4), LOW1(s, 5), \
			  LOW1(s, 6), LOW1(s, 7), LOW1(s, 8), LOW1(s, 9), LOW1(s, 10), \
			  LOW1(s, 11), LOW1(s, 12), LOW1(s, 13), LOW1(s, 14), LOW1(s, 15), \
			  LOW1(s, 16), LOW1(s, 17), LOW1(s, 18), 0 }

#define S_REQ		NPU_SLOT_REQUIRED
#define S_PANEL		NPU_SLOT_PANEL
#define S_INPLACE	NPU_SLOT_INPLACE
#define S_SINCE(minor)	((minor) << NPU_SLOT_SINCE_SHIFT)

/* The entry at the end is never counted: an array of none is not C. */
#define OP(name, code, mnemonic, summary, formula) \
	static const struct npu_slot_desc slots_##name[] = {
#define SLOT(op, name, dir, types, rmin, rmax, flags, doc) \
	{ LOW(name), NPU_DIR_##dir, types, rmin, rmax, flags, doc },
#define PARAM(...)
#define END(op)		{ .doc = NULL } };
#include "npu_isa_table.h"
#undef OP
#undef SLOT
#undef PARAM
#undef END

#define OP(name, code, mnemonic, summary, formula) \
	static const struct npu_param_desc params_##name[] = {
#define SLOT(...)
#define PARAM_SINCE(minor, op, name, kind, min, max, doc) \
	{ LOW(name), NPU_PARAM_##kind, min, max, doc, minor },
#define PARAM(...)	PARAM_SINCE(0, __VA_ARGS__)
#define END(op)		{ .doc = NULL } };
#include "npu_isa_table.h"
#undef OP
#undef SLOT
#undef PARAM
#undef PARAM_SINCE
#undef END

/* How many slots and parameters each version has: six bits for each of them. */
_Static_assert(NPU_ISA_MINOR == 4,
	       "BY_VERSION() and the rows of ops[] are those of versions 0 to 4");
_Static_assert(NPU_MAX_OPERANDS < 64 && NPU_MAX_PARAMS < 64, "six bits");
#define BY_VERSION(since)									\
	(((since) <= 0) + ((since) <= 1) * 0x40 + ((since) <= 2) * 0x1000 +			\
	 ((since) <= 3) * 0x40000 + ((since) <= 4) * 0x1000000)

enum { SLOTS_BEGIN = -1,
#define OP(name, code, mnemonic, summary, formula)	SLOTS_##name = 0
#define SLOT(op, name, dir, types, rmin, rmax, flags, doc) + BY_VERSION(NPU_SLOT_SINCE(flags))
#define PARAM(...)
#define END(op)	,
#include "npu_isa_table.h"
#undef OP
#undef SLOT
#undef PARAM
#undef END
};

enum { PARAMS_BEGIN = -1,
#define OP(name, code, mnemonic, summary, formula)	PARAMS_##name = 0
#define SLOT(...)
#define PARAM(...)		+ BY_VERSION(0)
#define PARAM_SINCE(minor, ...)	+ BY_VERSION(minor)
#define END(op)	,
#include "npu_isa_table.h"
#undef OP
#undef SLOT
#undef PARAM
#undef PARAM_SINCE
#undef END
};

static const struct npu_op_desc ops[NPU_ISA_MINOR + 1][NPU_NUM_OPCODES] = { {
#define OP(name, op_code, op_mnemonic, op_summary, op_formula)					\
	[op_code] = {										\
		.mnemonic = op_mnemonic, .summary = op_summary, .formula = op_formula,		\
		.code = op_code,								\
		.slots = slots_##name, .params = params_##name,					\
		.num_slots = SLOTS_##name >> 6 * VERSION & 0x3f,				\
		.num_params = PARAMS_##name >> 6 * VERSION & 0x3f,
#define SLOT(...)
#define PARAM(...)
#define END(op)	},
#define VERSION 0
#include "npu_isa_table.h"
#undef VERSION
}, {
#define VERSION 1
#include "npu_isa_table.h"
#undef VERSION
}, {
#define VERSION 2
#include "npu_isa_table.h"
#undef VERSION
}, {
#define VERSION 3
#include "npu_isa_table.h"
#undef VERSION
}, {
#define VERSION 4
#include "npu_isa_table.h"
#undef VERSION
#undef OP
#undef SLOT
#undef PARAM
#undef END
} };

#define OP(name, code, mnemonic, summary, formula)						\
	_Static_assert(code < NPU_NUM_OPCODES, "opcode " #name);				\
	_Static_assert(NPU_##name##_NUM_SLOTS <= NPU_MAX_OPERANDS, "slots of " #name);		\
	_Static_assert(NPU_##name##_NUM_PARAMS <= NPU_MAX_PARAMS, "parameters of " #name);
#define SLOT(...)
#define PARAM(op, name, ...)	_Static_assert(sizeof(#name) <= 20, "name of a parameter: " #name);
#define END(op)
#include "npu_isa_table.h"
#undef OP
#undef SLOT
#undef PARAM
#undef END

const struct npu_op_desc *npu_op_desc(unsigned int opcode)
{
	return npu_op_desc_at(opcode, NPU_ISA_MINOR);
}

const struct npu_op_desc *npu_op_desc_at(unsigned int opcode, unsigned int minor)
{
	const struct npu_op_desc *newest;

	if (opcode >= NPU_NUM_OPCODES || minor > NPU_ISA_MINOR)
		return NULL;
	newest = &ops[NPU_ISA_MINOR][opcode];
	if (!newest->mnemonic ||
	    (newest->num_slots && NPU_SLOT_SINCE(newest->slots[0].flags) > minor))
		return NULL;
	return &ops[minor][opcode];
}

const struct npu_op_desc *npu_op_desc_of(unsigned int opcode, unsigned int num_operands,
					 unsigned int num_params)
{
	const struct npu_op_desc *desc;
	unsigned int minor = NPU_ISA_MINOR + 1;

	while (minor-- > 0) {
		desc = npu_op_desc_at(opcode, minor);
		if (desc && desc->num_slots == num_operands && desc->num_params == num_params)
			return desc;
	}
	return NULL;
}

const struct npu_operand *npu_insn_slot(const struct npu_insn *insn, unsigned int slot)
{
	static const struct npu_operand absent;

	return slot < insn->desc->num_slots ? &insn->operand[slot] : &absent;
}

npu_u32 npu_insn_param(const struct npu_insn *insn, unsigned int param)
{
	return param < insn->desc->num_params ? insn->param[param] : 0;
}

static bool is_half(const struct npu_insn *insn, unsigned int opcode, unsigned int slot)
{
	return insn->desc->code == opcode && insn->operand[slot].dtype == NPU_F16;
}

/*
 * What operands are, where that is of a version. Codes in groups have had their encoding, and an
 * engine that reads it, since 1.2; scales of rows may be f16 since 1.4.
 */
static unsigned int operand_minor(const struct npu_insn *insn)
{
	unsigned int i;

	if (is_half(insn, NPU_OP_MATMUL, NPU_MATMUL_A_SCALE) ||
	    is_half(insn, NPU_OP_DYN_QUANT, NPU_DYN_QUANT_SCALE))
		return 4;
	for (i = 0; i < insn->desc->num_slots; i++)
		if (insn->operand[i].layout == NPU_LAYOUT_GROUPED16)
			return 2;
	return insn->desc->code == NPU_OP_GATHER && insn->param[NPU_GATHER_P_GROUP] ? 2 : 0;
}

unsigned int npu_insn_minor(const struct npu_insn *insn)
{
	unsigned int i, minor = operand_minor(insn), since;

	for (i = 0; i < insn->desc->num_slots; i++) {
		since = NPU_SLOT_SINCE(insn->desc->slots[i].flags);
		minor = since > minor ? since : minor;
	}
	for (i = 0; i < insn->desc->num_params; i++)
		if (insn->desc->params[i].since > minor)
			minor = insn->desc->params[i].since;
	return minor;
}

struct dtype {
	const char *name;
	unsigned int bits;
};

static const struct dtype dtypes[NPU_NUM_DTYPES] = {
#define X(name, code, bits, text) [code] = { text, bits },
	NPU_DTYPES(X)
#undef X
};

const char *npu_dtype_name(unsigned int dtype)
{
	return dtype < NPU_NUM_DTYPES ? dtypes[dtype].name : "?";
}

unsigned int npu_dtype_bits(unsigned int dtype)
{
	return dtype < NPU_NUM_DTYPES ? dtypes[dtype].bits : 0;
}

bool npu_dtype_is_float(unsigned int dtype)
{
	return dtype == NPU_F32 || dtype == NPU_F16 || dtype == NPU_BF16;
}

#define NAMES(function, list, num)							\
const char *function(unsigned int code)							\
{											\
	static const char *const names[num] = { list(NAME) };				\
											\
	return code < num && names[code] ? names[code] : "?";				\
}

#define NAME(name, code, text) [code] = text,
NAMES(npu_layout_name, NPU_LAYOUTS, NPU_NUM_LAYOUTS)
NAMES(npu_unary_name, NPU_UNARIES, NPU_NUM_UNARIES)
NAMES(npu_binary_name, NPU_BINARIES, NPU_NUM_BINARIES)
NAMES(npu_reduce_name, NPU_REDUCES, NPU_NUM_REDUCES)
NAMES(npu_fault_text, NPU_FAULTS, NPU_NUM_FAULTS)
#undef NAME
#define NAME(name, code, text, formula) [code] = text,
NAMES(npu_act_name, NPU_ACTS, NPU_NUM_ACTS)
#undef NAME

int npu_isa_fail(struct npu_isa_error *err, const struct npu_insn_header *header, unsigned int code,
		 unsigned int operand, unsigned int field, npu_s64 value, const char *fmt, ...)
{
	const struct npu_op_desc *desc = header ? npu_op_desc(header->opcode) : NULL;
	va_list ap;
	int n = 0;

	if (!err)
		return -EINVAL;
	memset(&err->fault, 0, sizeof(err->fault));
	err->fault.code = code;
	err->fault.operand = operand;
	err->fault.field = field;
	err->fault.value = value;
	if (header) {
		err->fault.opcode = header->opcode;
		err->fault.tag = header->tag;
	}
	if (desc)
		n = snprintf(err->text, sizeof(err->text), "%s: ", desc->mnemonic);
	va_start(ap, fmt);
	vsnprintf(err->text + n, sizeof(err->text) - n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}
