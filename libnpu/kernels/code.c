// SPDX-License-Identifier: MIT
/* Encoding of one instruction from tensors and parameters. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "kernels/stream.h"

#define HEADER_WORDS	(sizeof(struct npu_insn_header) / 4)
#define OPERAND_WORDS	(sizeof(struct npu_operand) / 4)

static int code_fail(struct npu_code *c, unsigned int code, unsigned int slot, unsigned int field,
		     const char *fmt, ...) __attribute__((format(printf, 5, 6)));

static int code_fail(struct npu_code *c, unsigned int code, unsigned int slot, unsigned int field,
		     const char *fmt, ...)
{
	va_list ap;
	int n = 0;

	memset(&c->err->fault, 0, sizeof(c->err->fault));
	c->err->fault.code = code;
	c->err->fault.operand = slot;
	c->err->fault.field = field;
	if (c->desc) {
		c->err->fault.opcode = c->desc->code;
		n = snprintf(c->err->text, sizeof(c->err->text), "%s: ", c->desc->mnemonic);
	}
	va_start(ap, fmt);
	vsnprintf(c->err->text + n, sizeof(c->err->text) - n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int npu_code_open(struct npu_code *c, unsigned int opcode, npu_u32 tag, struct npu_isa_error *err)
{
	struct npu_insn_header *h = (struct npu_insn_header *)c->words;

	c->err = err;
	c->num_terms = 0;
	c->desc = npu_op_desc(opcode);
	if (!c->desc)
		return code_fail(c, NPU_FAULT_OPCODE, ~0u, ~0u, "opcode 0x%x is not known", opcode);
	memset(c->words, 0, sizeof(c->words));
	h->opcode = opcode;
	h->num_operands = c->desc->num_slots;
	h->num_params = c->desc->num_params;
	h->tag = tag;
	return 0;
}

struct npu_operand *npu_code_operand(struct npu_code *c, unsigned int slot)
{
	return (struct npu_operand *)(c->words + HEADER_WORDS) + slot;
}

npu_u32 *npu_code_params(struct npu_code *c)
{
	return c->words + HEADER_WORDS + OPERAND_WORDS * c->desc->num_slots;
}

static int code_terms(struct npu_code *c, const void *at, bool wide, const struct npu_len *len,
		      const char *what)
{
	unsigned int i;

	for (i = 0; i < NPU_LEN_TERMS; i++) {
		if (!len->term[i].factor)
			continue;
		if (c->num_terms == NPU_MAX_TERMS)
			return code_fail(c, NPU_FAULT_ENCODING, ~0u, ~0u, "more than %u terms",
					 NPU_MAX_TERMS);
		if (len->term[i].scalar >= NPU_MAX_SCALARS)
			return code_fail(c, NPU_FAULT_ENCODING, ~0u, ~0u,
					 "%s varies with scalar %u, there are at most %u", what,
					 len->term[i].scalar, NPU_MAX_SCALARS);
		c->term[c->num_terms++] = (struct npu_term){
			.word = (const npu_u32 *)at - c->words,
			.scalar = len->term[i].scalar,
			.wide = wide,
			.factor = len->term[i].factor,
		};
	}
	return 0;
}

static int code_narrow(struct npu_code *c, npu_u32 *at, const struct npu_len *len,
		       unsigned int slot, unsigned int field, const char *what)
{
	if (len->base != (int32_t)len->base)
		return code_fail(c, NPU_FAULT_SHAPE, slot, field,
				 "%s %u is %lld, expected a 32-bit number", what, field,
				 (long long)len->base);
	*at = (npu_u32)len->base;
	return code_terms(c, at, false, len, what);
}

static int code_operand(struct npu_code *c, unsigned int slot, const struct npu_tensor *t)
{
	struct npu_operand *op = npu_code_operand(c, slot);
	unsigned int i;

	op->region = t->region;
	op->dtype = t->dtype;
	op->layout = t->layout;
	op->rank = t->rank;
	op->offset = t->offset.base;
	op->scale = t->scale;
	op->zero_point = t->zero_point;
	if (code_terms(c, &op->offset, true, &t->offset, "offset"))
		return -EINVAL;
	for (i = 0; i < t->rank; i++)
		if (code_narrow(c, &op->dim[i], &t->dim[i], slot, i, "dim"))
			return -EINVAL;
	for (i = 0; i < t->rank && t->layout == NPU_LAYOUT_STRIDED; i++) {
		op->stride[i] = t->stride[i].base;
		if (code_terms(c, &op->stride[i], true, &t->stride[i], "stride"))
			return -EINVAL;
	}
	return 0;
}

int npu_code_tensor(struct npu_code *c, unsigned int slot, const struct npu_tensor *t)
{
	const char *name = c->desc->slots[slot].name;

	if (!t)
		return 0;
	if (t->region >= NPU_MAX_REGIONS)
		return code_fail(c, NPU_FAULT_REGION, slot, ~0u,
				 "%s is in region %u, there are at most %u", name, t->region,
				 NPU_MAX_REGIONS);
	if (t->rank > NPU_MAX_RANK)
		return code_fail(c, NPU_FAULT_OPERAND, slot, ~0u,
				 "rank of %s is %u, expected at most %u", name, t->rank,
				 NPU_MAX_RANK);
	if (t->dtype == NPU_NONE || (unsigned int)t->dtype >= NPU_NUM_DTYPES ||
	    (unsigned int)t->layout >= NPU_NUM_LAYOUTS)
		return code_fail(c, NPU_FAULT_OPERAND, slot, ~0u,
				 "%s has type %d and layout %d, which are not known", name,
				 t->dtype, t->layout);
	if (t->offset.base < 0 && npu_len_is_const(&t->offset))
		return code_fail(c, NPU_FAULT_OPERAND, slot, ~0u,
				 "offset of %s is %lld, expected >= 0", name,
				 (long long)t->offset.base);
	return code_operand(c, slot, t);
}

int npu_code_param_len(struct npu_code *c, unsigned int index, const struct npu_len *len)
{
	if (index >= c->desc->num_params || c->desc->params[index].kind != NPU_PARAM_LEN)
		return code_fail(c, NPU_FAULT_PARAM, ~0u, index,
				 "parameter %u can not vary with a scalar", index);
	return code_narrow(c, npu_code_params(c) + index, len, ~0u, index,
			   c->desc->params[index].name);
}

/* Whether version @desc of the opcode can say the same: what it lacks is absent or 0. */
static bool code_fits(struct npu_code *c, const struct npu_op_desc *desc)
{
	unsigned int i;

	for (i = desc->num_slots; i < c->desc->num_slots; i++)
		if (npu_code_operand(c, i)->dtype)
			return false;
	for (i = desc->num_params; i < c->desc->num_params; i++)
		if (npu_code_params(c)[i])
			return false;
	return true;
}

/*
 * The oldest version of the opcode that has all that is given, so that a library of the version
 * that an instruction needs can read it.
 */
static void code_shorten(struct npu_code *c)
{
	struct npu_insn_header *h = (struct npu_insn_header *)c->words;
	const struct npu_op_desc *desc = c->desc;
	const struct npu_op_desc *older = NULL;
	unsigned int minor, cut, i;

	for (minor = 0; !older || !code_fits(c, older); minor++)
		older = npu_op_desc_at(desc->code, minor);
	cut = (desc->num_slots - older->num_slots) * OPERAND_WORDS;
	if (older->num_slots == desc->num_slots && older->num_params == desc->num_params)
		return;
	memmove(npu_code_operand(c, older->num_slots), npu_code_params(c),
		older->num_params * sizeof(npu_u32));
	for (i = 0; i < c->num_terms; i++)
		if (c->term[i].word >= HEADER_WORDS + OPERAND_WORDS * desc->num_slots)
			c->term[i].word -= cut;
	c->desc = older;
	h->num_operands = older->num_slots;
	h->num_params = older->num_params;
	memset(npu_code_params(c) + older->num_params, 0,
	       (cut + desc->num_params - older->num_params) * sizeof(npu_u32));
}

int npu_code_close(struct npu_code *c)
{
	struct npu_insn_header *h = (struct npu_insn_header *)c->words;
	struct npu_term *out;
	unsigned int i, j;

	code_shorten(c);
	out = (struct npu_term *)(npu_code_params(c) + c->desc->num_params);
	/* Sorted by word as the encoding wants it; insertion, as they mostly are already. */
	for (i = 0; i < c->num_terms; i++) {
		for (j = i; j && out[j - 1].word > c->term[i].word; j--)
			out[j] = out[j - 1];
		out[j] = c->term[i];
	}
	h->num_terms = c->num_terms;
	h->words = ((npu_u32 *)(out + c->num_terms) - c->words + 1) & ~1u;
	return 0;
}
