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
#define LOWER(s)	{ LOW1(s, 0), LOW1(s, 1), LOW1(s, 2), LOW1(s, 3), LOW1(s, 4), LOW1(s, 5), LOW1(s, 6), \
			  LOW1(s, 7), LOW1(s, 8), LOW1(s, 9), LOW1(s, 10), LOW1(s, 11), LOW1(s, 12), \
			  LOW1(s, 13), LOW1(s, 14), LOW1(s, 15), LOW1(s, 16), LOW1(s, 17), LOW1(s, 18), 0 }

#define S_REQ		NPU_SLOT_REQUIRED
#define S_PANEL		NPU_SLOT_PANEL
#define S_INPLACE	NPU_SLOT_INPLACE
#define S_SINCE(minor)	((minor) << NPU_SLOT_SINCE_SHIFT)

/* The entry at the end is never counted: an array of none is not C. */
#define OP(name, code, mnemonic, summary, formula)	static const struct npu_slot_desc slots_##name[] = {
#define SLOT(op, name, dir, types, rmin, rmax, flags, doc) { LOW(name), NPU_DIR_##dir, types, rmin, rmax, flags, doc },
#define PARAM(...)
#define END(op)		{ .doc = NULL } };
#include "npu_isa_table.h"
#undef OP
#undef SLOT
#undef PARAM
#undef END

#define OP(name, code, mnemonic, summary, formula)	static const struct npu_param_desc params_##name[] = {
#define SLOT(...)
#define PARAM(op, name, kind, min, max, doc)	{ LOW(name), NPU_PARAM_##kind, min, max, doc },
#define END(op)		{ .doc = NULL } };
#include "npu_isa_table.h"
#undef OP
#undef SLOT
#undef PARAM
#undef END

/* Slots that were there in version 1.0; 0 for an opcode that came later, whose slots all did. */
enum { SLOT_COUNTS_BEGIN = -1,
#define OP(name, code, mnemonic, summary, formula)	SLOTS_1_0_##name = 0
#define SLOT(op, name, dir, types, rmin, rmax, flags, doc) + (NPU_SLOT_SINCE(flags) == 0)
#define PARAM(...)
#define END(op)	,
#include "npu_isa_table.h"
#undef OP
#undef SLOT
#undef PARAM
#undef END
};

/* One row for each number of operands that an instruction can have: all, and those of version 1.0. */
static const struct npu_op_desc ops[][NPU_NUM_OPCODES] = { {
#define OP(name, op_code, op_mnemonic, op_summary, op_formula)					\
	[op_code] = {										\
		.mnemonic = op_mnemonic, .summary = op_summary, .formula = op_formula, .code = op_code, \
		.slots = slots_##name, .params = params_##name,					\
		.num_slots = OP_SLOTS(name), .num_params = NPU_##name##_NUM_PARAMS,
#define SLOT(...)
#define PARAM(...)
#define END(op)	},
#define OP_SLOTS(name) NPU_##name##_NUM_SLOTS
#include "npu_isa_table.h"
#undef OP_SLOTS
}, {
#define OP_SLOTS(name) SLOTS_1_0_##name
#include "npu_isa_table.h"
#undef OP
#undef SLOT
#undef PARAM
#undef END
#undef OP_SLOTS
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
	if (opcode >= NPU_NUM_OPCODES || !ops[0][opcode].mnemonic)
		return NULL;
	return &ops[0][opcode];
}

const struct npu_op_desc *npu_op_desc_of(unsigned int opcode, unsigned int num_operands)
{
	unsigned int i;

	if (!npu_op_desc(opcode))
		return NULL;
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (ops[i][opcode].num_slots == num_operands)
			return &ops[i][opcode];
	return NULL;
}

const struct npu_operand *npu_insn_slot(const struct npu_insn *insn, unsigned int slot)
{
	static const struct npu_operand absent;

	return slot < insn->desc->num_slots ? &insn->operand[slot] : &absent;
}

unsigned int npu_insn_minor(const struct npu_insn *insn)
{
	unsigned int i, minor = 0, since;

	for (i = 0; i < insn->desc->num_slots; i++) {
		since = NPU_SLOT_SINCE(insn->desc->slots[i].flags);
		minor = since > minor ? since : minor;
	}
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
