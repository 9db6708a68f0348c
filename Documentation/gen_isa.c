// SPDX-License-Identifier: MIT
/*
 * Prints the instruction reference, Documentation/hardware/instructions.md, from the table that the
 * engine and the verifier use. `make docs` runs it; tests/isa/test_docs.c holds the committed page
 * against it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gen_isa.h"
#include "npu_isa_desc.h"
#include "npu_isa_limits.h"

/*
 * What the static check asks for beyond types, ranks and the sizes that stand beside the operands.
 */
static const struct rule {
	unsigned int opcode;
	const char *text;
} rules[] = {
	{ NPU_OP_CONV,
	  "in and weight are both float or both 8-bit; float data gives a float out, "
	  "with bias in f32 and without SCALE and TABLE" },
	{ NPU_OP_CONV,
	  "8-bit data with SCALE gives any out; an integer out has a scale then. "
	  "Without SCALE out is plain i32 and there is no epilogue but bias, which is i32" },
	{ NPU_OP_CONV,
	  "the weight is strided, or panel16 for floats and panel16k4 for 8-bit codes" },
	{ NPU_OP_CONV, "KH * KW * C/groups products of the largest |x - zx| and |w - zw| fit i32" },
	{ NPU_OP_CONV,
	  "C and O are multiples of GROUPS; out may be of any size, "
	  "also where it sees nothing but padding" },
	{ NPU_OP_CONV,
	  "JOIN goes with RESIDUAL, prelu with ACT_PARAM, "
	  "TABLE with an 8-bit out of its own type" },
	{ NPU_OP_CONV_TRANSPOSE, "as conv" },
	{ NPU_OP_MATMUL, "types and epilogue as conv, with a for in and b for weight" },
	{ NPU_OP_MATMUL,
	  "a grouped16 b needs GROUP and GROUP_SCALE, a float out, f32 bias, and a float a, "
	  "or i8 a with zero point 0 and with A_SCALE or a scale of its own" },
	{ NPU_OP_MATMUL,
	  "with A_GROUP, a multiple of GROUP, A_SCALE has the groups of a as its last dim" },
	{ NPU_OP_MATMUL,
	  "without SUPER group scales and minimums are f16 or f32; "
	  "with SUPER, a multiple of GROUP, they are plain i8 or u8 and SUPER_SCALE is there, "
	  "with a leading dim of 2 when there are minimums" },
	{ NPU_OP_EWISE1,
	  "plain integers: abs, neg, sign, not, square, copy and bitnot only, without ACT, "
	  "POST_MUL and POST_ADD" },
	{ NPU_OP_EWISE2,
	  "bit functions and shifts take plain integers; "
	  "these have no ACT, POST_MUL and POST_ADD" },
	{ NPU_OP_REDUCE, "plain integers: sum, mean, max, min, prod, l1 and sum_square only" },
	{ NPU_OP_TOPK, "values have the type and quantization of in" },
	{ NPU_OP_NORM, "EPS is not negative" },
	{ NPU_OP_POOL, "kernel positions count as multiply-accumulates for the bound of work" },
	{ NPU_OP_RESIZE, "SCALE_H and SCALE_W are positive in every mode" },
	{ NPU_OP_PAD,
	  "in and out have one quantization; reflect pads by less than the size of in; "
	  "BEFORE beyond the rank is 0" },
	{ NPU_OP_IOTA, "START and STEP are below 2^62 for an integer out" },
	{ NPU_OP_GATHER,
	  "with GROUP: u4, u5, u6 or u8 rows, strided or grouped16, outer 1, a float out; "
	  "scales as for matmul but [rows, groups]" },
	{ NPU_OP_GATHER_ELEMENTS, "dims of index other than AXIS are at most those of in" },
	{ NPU_OP_SCATTER, "in and inout have one type and quantization" },
	{ NPU_OP_SCATTER_ELEMENTS,
	  "dims of index other than AXIS are at most those of inout; one type and quantization" },
	{ NPU_OP_ATTENTION,
	  "heads is a multiple of kv_heads; without Q_START T is a multiple of BATCH and Tq is "
	  "T / BATCH, else Tq is T" },
	{ NPU_OP_ATTENTION,
	  "without BLOCK_TABLE blocks is BATCH and L the block size, "
	  "else L is max blocks * block size" },
	{ NPU_OP_ATTENTION,
	  "an 8-bit cache has K_SCALE (V_SCALE) or a scale of its own, a float cache has neither" },
	{ NPU_OP_ROPE,
	  "DIMS is even and at most D; COS_TABLE and SIN_TABLE come together, "
	  "without them BASE is positive" },
	{ NPU_OP_DYN_QUANT,
	  "without GROUP out is u8, SCALE f32 and ZERO is there; with GROUP out is i8 and ZERO is "
	  "not" },
	{ NPU_OP_COLOR, "CHROMA goes with nv12, for which H and W are even; W is even for yuyv" },
	{ NPU_OP_LOAD_SCALAR, "INDEX is a scalar that the stream declares, MIN is at most MAX" },
};

static void print_types(FILE *out, npu_u32 types)
{
	static const struct {
		npu_u32 mask;
		const char *name;
	} sets[] = {
		{ 1u << NPU_F32 | 1u << NPU_F16 | 1u << NPU_BF16, "float" },
		{ 1u << NPU_U4 | 1u << NPU_U5 | 1u << NPU_U6, "u4 u5 u6" },
	};
	const char *space = "";
	unsigned int i;

	for (i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		if ((types & sets[i].mask) != sets[i].mask)
			continue;
		fprintf(out, "%s%s", space, sets[i].name);
		types &= ~sets[i].mask;
		space = " ";
	}
	for (i = 1; i < NPU_NUM_DTYPES; i++) {
		if (!(types >> i & 1))
			continue;
		fprintf(out, "%s%s", space, npu_dtype_name(i));
		space = " ";
	}
}

/* A cell of a table: a bar would end it. */
static void print_cell(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '|')
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void print_slots(FILE *out, const struct npu_op_desc *d)
{
	static const char *const dirs[] = { "in", "out", "in and out" };
	unsigned int i;

	if (!d->num_slots)
		return;
	fprintf(out, "\n| operand | | types | rank | |\n| --- | --- | --- | --- | --- |\n");
	for (i = 0; i < d->num_slots; i++) {
		const struct npu_slot_desc *s = &d->slots[i];

		fprintf(out, "| `%s` | %s%s | ", s->name, dirs[s->dir],
			s->flags & NPU_SLOT_REQUIRED ? "" : ", optional");
		print_types(out, s->types);
		if (s->min_rank == s->max_rank)
			fprintf(out, " | %u | ", s->min_rank);
		else
			fprintf(out, " | %u-%u | ", s->min_rank, s->max_rank);
		print_cell(out, s->doc);
		fprintf(out, "%s%s", s->flags & NPU_SLOT_PANEL ? "; panel layouts too" : "",
			s->flags & NPU_SLOT_INPLACE ? "may be exactly the first input" : "");
		if (NPU_SLOT_SINCE(s->flags))
			fprintf(out, "%ssince %u.%u", *s->doc ? "; " : "", NPU_ISA_MAJOR,
				NPU_SLOT_SINCE(s->flags));
		fprintf(out, " |\n");
	}
}

static void print_range(FILE *out, const struct npu_param_desc *p)
{
	static const char *const kinds[] = { "u32", "i32", "f32", "length", "mask" };

	fprintf(out, "%s | ", kinds[p->kind]);
	if (p->kind == NPU_PARAM_F32)
		fprintf(out, "%s", p->max ? "a number, also infinite" : "finite");
	else if (p->kind == NPU_PARAM_MASK)
		fprintf(out, "bits of 0x%" PRIx64, (uint64_t)p->max);
	else if (p->min == 0 && p->max == 0xffffffff)
		fprintf(out, "any");
	else
		fprintf(out, "%" PRId64 " to %" PRId64, p->min, p->max);
}

static void print_params(FILE *out, const struct npu_op_desc *d)
{
	unsigned int i;

	if (!d->num_params)
		return;
	fprintf(out, "\n| parameter | kind | range | |\n| --- | --- | --- | --- |\n");
	for (i = 0; i < d->num_params; i++) {
		fprintf(out, "| `%s` | ", d->params[i].name);
		print_range(out, &d->params[i]);
		fprintf(out, " | ");
		print_cell(out, d->params[i].doc);
		if (d->params[i].since)
			fprintf(out, "%ssince %u.%u", *d->params[i].doc ? "; " : "", NPU_ISA_MAJOR,
				d->params[i].since);
		fprintf(out, " |\n");
	}
}

static void print_op(FILE *out, const struct npu_op_desc *d)
{
	const char *space = "\n";
	unsigned int i;

	fprintf(out, "\n## %s (0x%02x)\n\n%s.\n\n    ", d->mnemonic, d->code, d->summary);
	/* One clause of the formula a line. */
	for (i = 0; d->formula[i]; i++) {
		fputc(d->formula[i], out);
		if (d->formula[i] == ';' && d->formula[i + 1] == ' ') {
			fprintf(out, "\n    ");
			i++;
		}
	}
	fprintf(out, "\n");
	print_slots(out, d);
	print_params(out, d);
	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (rules[i].opcode != d->code)
			continue;
		fprintf(out, "%s- %s\n", space, rules[i].text);
		space = "";
	}
}

static void print_list(FILE *out, const char *title, const char *(*name)(unsigned int),
		       unsigned int num)
{
	unsigned int i;

	fprintf(out, "\n`%s`: ", title);
	for (i = 0; i < num; i++)
		fprintf(out, "%s%s %u", i ? ", " : "", name(i), i);
	fprintf(out, ".\n");
}

static void print_enums(FILE *out)
{
	static const struct {
		const char *title, *names;
	} lists[] = {
		{ "enum npu_join", "none 0, add 1, mul 2" },
		{ "enum npu_pool", "max 0, avg 1" },
		{ "enum npu_norm", "layer 0, rms 1" },
		{ "enum npu_pad", "constant 0, reflect 1, edge 2, wrap 3" },
		{ "enum npu_scatter", "none 0, add 1, mul 2, min 3, max 4" },
		{ "enum npu_resize", "nearest 0, linear 1, cubic 2" },
		{ "enum npu_coord",
		  "half_pixel 0, pytorch_half_pixel 1, align_corners 2, asymmetric 3" },
		{ "enum npu_nearest",
		  "round_prefer_floor 0, round_prefer_ceil 1, floor 2, ceil 3" },
		{ "enum npu_rope", "adjacent 0, halves 1" },
		{ "enum npu_color", "nv12 0, yuyv 1, rgb24 2, bgr24 3" },
	};
	unsigned int i;

	fprintf(out,
		"\n## Enumerations\n\n| `enum npu_act` | | v becomes |\n| --- | --- | --- |\n");
#define ACT(name, code, text, formula) fprintf(out, "| %d | %s | `%s` |\n", code, text, formula);
	NPU_ACTS(ACT)
#undef ACT
	print_list(out, "enum npu_unary", npu_unary_name, NPU_NUM_UNARIES);
	print_list(out, "enum npu_binary", npu_binary_name, NPU_NUM_BINARIES);
	print_list(out, "enum npu_reduce", npu_reduce_name, NPU_NUM_REDUCES);
	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		fprintf(out, "\n`%s`: %s.\n", lists[i].title, lists[i].names);
}

static void print_encoding(FILE *out)
{
	fprintf(out,
		"# Instruction reference\n\n"
		"Generated from uapi/npu_isa_table.h by `make docs`; change it there. The\n"
		"encoding stands in uapi/npu_isa.h, what the parts of the architecture are for in\n"
		"[README.md](README.md).\n\n"
		"Version %u.%u. A stream has a header of %zu bytes. An instruction has a header\n"
		"of %zu bytes, an operand of %zu bytes for each row of its table of operands, a\n"
		"word for each parameter (those of later versions may be left off), and terms of\n"
		"%zu bytes in rising order of the word they name; a zero word fills it up to a\n"
		"multiple of 8 bytes.\n",
		NPU_ISA_MAJOR, NPU_ISA_MINOR, sizeof(struct npu_stream_header),
		sizeof(struct npu_insn_header), sizeof(struct npu_operand),
		sizeof(struct npu_term));
	fprintf(out,
		"\n## Limits\n\n| | |\n| --- | --- |\n| regions | %u |\n| scalars | %u |\n"
		"| rank | %u |\n| terms of an instruction | %u |\n| bytes of a stream | %u |\n"
		"| multiply-accumulates of an instruction | %llu |\n"
		"| bytes read and written by an instruction | %llu |\n| a dimension | %u |\n"
		"| bytes that an operand spans | %llu |\n"
		"| output channels of conv and conv_transpose, columns of matmul | %u |\n"
		"| last dimension of q, k, v and of rope's rows | %u |\n| k of topk | %u |\n",
		NPU_MAX_REGIONS, NPU_MAX_SCALARS, NPU_MAX_RANK, NPU_MAX_TERMS, NPU_MAX_STREAM_BYTES,
		(unsigned long long)NPU_MAX_INSN_MACS, (unsigned long long)NPU_MAX_INSN_BYTES,
		NPU_MAX_DIM, (unsigned long long)NPU_MAX_EXTENT, NPU_MAX_OUTPUTS, NPU_MAX_HEAD,
		NPU_MAX_TOPK);
	fprintf(out, "\n## Types and layouts\n\n| type | code | bits |\n| --- | --- | --- |\n");
#define TYPE(name, code, bits, text) if (bits) fprintf(out, "| %s | %d | %d |\n", text, code, bits);
	NPU_DTYPES(TYPE)
#undef TYPE
	fprintf(out, "\nLayouts: ");
#define LAYOUT(name, code, text) fprintf(out, "%s%s %d", code ? ", " : "", text, code);
	NPU_LAYOUTS(LAYOUT)
#undef LAYOUT
	fprintf(out, "; defined in uapi/npu_isa.h.\n");
}

static void print_faults(FILE *out)
{
	fprintf(out,
		"\n## Faults\n\n"
		"The same codes in the engine, the firmware, the driver's record and the\n"
		"library's texts.\n\n"
		"| fault | code | |\n| --- | --- | --- |\n");
#define FAULT(name, code, text) fprintf(out, "| %s | %d | %s |\n", #name, code, text);
	NPU_FAULTS(FAULT)
#undef FAULT
}

static void print_common(FILE *out)
{
	fprintf(out,
		"\n## What holds for every instruction\n\n"
		"- dimensions are 1 to %u; strides are in bytes, >= 0 where the dimension is not\n"
		"  1, and 0 repeats an input's data\n"
		"- offsets and strides are multiples of the element's size, and so is every\n"
		"  term's factor on them\n"
		"- two elements of an output never share a byte: sorted by stride, each dimension\n"
		"  steps over all that the inner ones span\n"
		"- scale and zero point belong to i8, u8 and i32; a scale of 0 means plain\n"
		"  integers; a zero point is a code of its type\n"
		"- an output shares no byte with an input or another output, except exactly in\n"
		"  place where its row says so\n"
		"- an operand lies in its region, which allows the access\n"
		"- a number of the formula that the table calls finite is no infinity; none is a\n"
		"  NaN\n",
		NPU_MAX_DIM);
}

static void print_formulas(FILE *out)
{
	fprintf(out,
		"\n## How formulas are read\n\n"
		"Every float operation is IEEE binary32, rounded to nearest even; operands are\n"
		"widened exactly when they are loaded and rounded once when they are stored; fma\n"
		"rounds once. A NaN is stored as the positive quiet NaN without payload;\n"
		"subnormals are kept. `sum16` is the fixed reduction: element i is added to lane\n"
		"i %% 16 in rising i, starting from +0, then lane l gets lane l + 8, l + 4,\n"
		"l + 2, l + 1. `q()` is the store: for an integer out with a scale\n"
		"clamp(rne(v / scale) + zero_point), else a cast. Integer data with a scale is\n"
		"loaded as (code - zero_point) * scale. exp, log, sigmoid, tanh, erf, sin, cos\n"
		"and what is made of them are the polynomials of tools/vnpu/engine/npu_math.h.\n\n"
		"The epilogue of conv, conv_transpose and matmul:\n\n"
		"    v = acc + bias;\n"
		"    v = act(v);\n"
		"    v = fma(v, post_mul, post_add), unless they are 1 and 0;\n"
		"    v = v join residual;\n"
		"    v = act2(v)\n");
}

void npu_gen_isa(FILE *out)
{
	unsigned int op;

	print_encoding(out);
	print_common(out);
	print_formulas(out);
	for (op = 0; op < NPU_NUM_OPCODES; op++)
		if (npu_op_desc(op))
			print_op(out, npu_op_desc(op));
	print_enums(out);
	print_faults(out);
}
