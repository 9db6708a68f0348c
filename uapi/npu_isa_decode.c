// SPDX-License-Identifier: MIT
/*
 * Decode one instruction and add its run-time lengths. Input is untrusted: a guest, a file, a
 * fuzzer.
 */
#include "npu_isa_priv.h"

#define decode_fail(err, header, code, operand, field, value, ...) \
	npu_isa_fail(err, header, NPU_FAULT_##code, operand, field, value, __VA_ARGS__)

/* Bits rather than isfinite(): the answer may not depend on how a compiler treats floats. */
static bool f32_is_nan(npu_u32 bits)
{
	return (bits & 0x7fffffff) > 0x7f800000;
}

static bool f32_is_finite(npu_u32 bits)
{
	return (bits & 0x7f800000) != 0x7f800000;
}

static int decode_sizes(const npu_u32 *words, size_t avail, struct npu_insn *insn,
			struct npu_isa_error *err)
{
	const struct npu_insn_header *h = (const struct npu_insn_header *)words;
	size_t fixed, used;

	if ((uintptr_t)words & 7 || avail < NPU_HEADER_WORDS)
		return decode_fail(
			err, NULL, FETCH, NPU_NO_FIELD, NPU_NO_FIELD, avail,
			"%zu words left in the stream, an instruction has a header of %zu", avail,
			NPU_HEADER_WORDS);
	insn->header = h;
	insn->desc = npu_op_desc(h->opcode);
	if (!insn->desc)
		return decode_fail(err, h, OPCODE, NPU_NO_FIELD, NPU_NO_FIELD, h->opcode,
				   "opcode 0x%x is not known", h->opcode);
	if (h->reserved || h->reserved2)
		return decode_fail(err, h, ENCODING, NPU_NO_FIELD, NPU_NO_FIELD, h->reserved2,
				   "reserved header fields are not zero");
	if (!npu_op_desc_of(h->opcode, h->num_operands, h->num_params))
		return decode_fail(err, h, ENCODING, NPU_NO_FIELD, NPU_NO_FIELD, h->num_operands,
				   "%u operands and %u parameters, expected %u and %u",
				   h->num_operands, h->num_params, insn->desc->num_slots,
				   insn->desc->num_params);
	insn->desc = npu_op_desc_of(h->opcode, h->num_operands, h->num_params);
	if (h->num_terms > NPU_MAX_TERMS)
		return decode_fail(err, h, ENCODING, NPU_NO_FIELD, NPU_NO_FIELD, h->num_terms,
				   "%u terms, at most %u are allowed", h->num_terms, NPU_MAX_TERMS);
	fixed = NPU_HEADER_WORDS + NPU_OPERAND_WORDS * h->num_operands + h->num_params;
	used = fixed + NPU_TERM_WORDS * h->num_terms;
	if (h->words != ((used + 1) & ~(size_t)1))
		return decode_fail(err, h, ENCODING, NPU_NO_FIELD, NPU_NO_FIELD, h->words,
				   "length of %u words, its contents take %zu", h->words,
				   (used + 1) & ~(size_t)1);
	if (h->words > avail)
		return decode_fail(err, h, FETCH, NPU_NO_FIELD, NPU_NO_FIELD, h->words,
				   "instruction of %u words, %zu are left in the stream", h->words,
				   avail);
	if (used < h->words && words[used])
		return decode_fail(err, h, ENCODING, NPU_NO_FIELD, NPU_NO_FIELD, words[used],
				   "the word that fills up is not zero");
	insn->operand = (const struct npu_operand *)(words + NPU_HEADER_WORDS);
	insn->param = words + NPU_HEADER_WORDS + NPU_OPERAND_WORDS * h->num_operands;
	insn->term = (const struct npu_term *)(words + fixed);
	return 0;
}

static int decode_absent(const struct npu_insn *insn, unsigned int slot, struct npu_isa_error *err)
{
	const npu_u32 *words = (const npu_u32 *)&insn->operand[slot];
	const struct npu_slot_desc *d = &insn->desc->slots[slot];
	npu_u32 any = 0;
	unsigned int i;

	if (d->flags & NPU_SLOT_REQUIRED)
		return decode_fail(err, insn->header, OPERAND, slot, NPU_NO_FIELD, 0,
				   "%s is absent, it is required", d->name);
	for (i = 0; i < NPU_OPERAND_WORDS; i++)
		any |= words[i];
	if (any)
		return decode_fail(err, insn->header, ENCODING, slot, NPU_NO_FIELD, 0,
				   "%s has no type but other fields that are not zero", d->name);
	return 0;
}

/* Codes of less than 8 bits have a zero point, but no scale of their own. */
static int decode_sub8_quant(const struct npu_insn *insn, unsigned int slot,
			     struct npu_isa_error *err)
{
	const struct npu_operand *op = &insn->operand[slot];
	npu_s32 hi = (1 << npu_dtype_bits(op->dtype)) - 1;
	npu_u32 bits;

	memcpy(&bits, &op->scale, 4);
	if (!bits && op->zero_point >= 0 && op->zero_point <= hi)
		return 0;
	return decode_fail(err, insn->header, OPERAND, slot, NPU_NO_FIELD, op->zero_point,
			   "%s of type %s has scale 0x%08x and zero point %d, expected 0 and 0 to %d",
			   insn->desc->slots[slot].name, npu_dtype_name(op->dtype), bits,
			   op->zero_point, hi);
}

/* Quantization belongs to i8, u8 and i32 only; a zero point must be a code. */
static int decode_quant(const struct npu_insn *insn, unsigned int slot, struct npu_isa_error *err)
{
	const struct npu_operand *op = &insn->operand[slot];
	const char *name = insn->desc->slots[slot].name;
	npu_s32 lo = op->dtype == NPU_I8 ? -128 : 0, hi = op->dtype == NPU_I8 ? 127 : 255;
	npu_u32 bits;

	memcpy(&bits, &op->scale, 4);
	if (!bits && !op->zero_point)
		return 0;
	if (npu_type_bit(op) & T_SUB8)
		return decode_sub8_quant(insn, slot, err);
	if (op->dtype != NPU_I8 && op->dtype != NPU_U8 && op->dtype != NPU_I32)
		return decode_fail(
			err, insn->header, OPERAND, slot, NPU_NO_FIELD, op->zero_point,
			"%s of type %s has a scale or zero point, only i8, u8 and i32 may", name,
			npu_dtype_name(op->dtype));
	if (bits & 0x80000000 || !f32_is_finite(bits))
		return decode_fail(err, insn->header, OPERAND, slot, NPU_NO_FIELD, bits,
				   "scale of %s has the bits 0x%08x, expected a finite number >= 0",
				   name, bits);
	if (op->dtype != NPU_I32 && (op->zero_point < lo || op->zero_point > hi))
		return decode_fail(err, insn->header, OPERAND, slot, NPU_NO_FIELD, op->zero_point,
				   "zero point of %s is %d, expected %d to %d", name,
				   op->zero_point, lo, hi);
	return 0;
}

static int decode_layout(const struct npu_insn *insn, unsigned int slot, struct npu_isa_error *err)
{
	const struct npu_operand *op = &insn->operand[slot];
	const struct npu_slot_desc *d = &insn->desc->slots[slot];
	bool strided = op->layout == NPU_LAYOUT_STRIDED;
	unsigned int i;

	if (op->layout >= NPU_NUM_LAYOUTS || (!strided && !(d->flags & NPU_SLOT_PANEL)))
		return decode_fail(err, insn->header, OPERAND, slot, NPU_NO_FIELD, op->layout,
				   "layout of %s is %u (%s), expected strided%s", d->name,
				   op->layout, npu_layout_name(op->layout),
				   d->flags & NPU_SLOT_PANEL ? " or a panel layout" : "");
	for (i = 0; i < NPU_MAX_RANK; i++) {
		if (i >= op->rank && op->dim[i])
			return decode_fail(err, insn->header, ENCODING, slot, i, op->dim[i],
					   "dim %u of %s is not zero, its rank is %u", i, d->name,
					   op->rank);
		if ((i >= op->rank || !strided) && op->stride[i])
			return decode_fail(err, insn->header, ENCODING, slot, i, op->stride[i],
					   "stride %u of %s is not zero, it is not used", i,
					   d->name);
	}
	return 0;
}

static int decode_operand(const struct npu_insn *insn, unsigned int slot, struct npu_isa_error *err)
{
	const struct npu_operand *op = &insn->operand[slot];
	const struct npu_slot_desc *d = &insn->desc->slots[slot];
	int ret;

	if (op->dtype == NPU_NONE)
		return decode_absent(insn, slot, err);
	if (op->dtype >= NPU_NUM_DTYPES || !(d->types >> op->dtype & 1))
		return decode_fail(err, insn->header, OPERAND, slot, NPU_NO_FIELD, op->dtype,
				   "type of %s is %u (%s), which this operand can not have",
				   d->name, op->dtype, npu_dtype_name(op->dtype));
	if (op->rank < d->min_rank || op->rank > d->max_rank)
		return decode_fail(err, insn->header, OPERAND, slot, NPU_NO_FIELD, op->rank,
				   "rank of %s is %u, expected %u to %u", d->name, op->rank,
				   d->min_rank, d->max_rank);
	if (op->reserved || op->reserved2[0] || op->reserved2[1])
		return decode_fail(err, insn->header, ENCODING, slot, NPU_NO_FIELD, op->reserved,
				   "reserved fields of %s are not zero", d->name);
	ret = decode_layout(insn, slot, err);
	if (ret)
		return ret;
	return decode_quant(insn, slot, err);
}

static int decode_param(const struct npu_insn *insn, unsigned int i, struct npu_isa_error *err)
{
	const struct npu_param_desc *d = &insn->desc->params[i];
	npu_u32 v = insn->param[i];
	npu_s64 wide = d->kind == NPU_PARAM_I32 ? (npu_s32)v : (npu_s64)v;

	switch (d->kind) {
	case NPU_PARAM_LEN:
		return 0;
	case NPU_PARAM_F32:
		if (f32_is_nan(v) || (!d->max && !f32_is_finite(v)))
			return decode_fail(err, insn->header, PARAM, NPU_NO_FIELD, i, v,
					   "parameter %s has the bits 0x%08x, expected a %snumber",
					   d->name, v, d->max ? "" : "finite ");
		return 0;
	case NPU_PARAM_MASK:
		if (v & ~(npu_u32)d->max)
			return decode_fail(err, insn->header, PARAM, NPU_NO_FIELD, i, v,
					   "parameter %s is 0x%x, expected bits of 0x%x", d->name,
					   v, (npu_u32)d->max);
		return 0;
	default:
		if (wide < d->min || wide > d->max)
			return decode_fail(err, insn->header, PARAM, NPU_NO_FIELD, i, wide,
					   "parameter %s is %lld, expected %lld to %lld", d->name,
					   (long long)wide, (long long)d->min, (long long)d->max);
		return 0;
	}
}

/*
 * What the word that a term names holds. Every step of a stride or an offset must keep the
 * alignment to the element that npu_insn_check() looks at, so that a check at both ends of a
 * scalar's range holds for what lies between.
 */
static int decode_term_operand(const struct npu_insn *insn, const struct npu_term *t,
			       struct npu_isa_error *err)
{
	unsigned int rel = t->word - NPU_HEADER_WORDS, slot = rel / NPU_OPERAND_WORDS;
	unsigned int byte = rel % NPU_OPERAND_WORDS * 4, field = NPU_NO_FIELD;
	const struct npu_operand *op = &insn->operand[slot];
	bool wide, ok;

	if (byte >= offsetof(struct npu_operand, dim) &&
	    byte < offsetof(struct npu_operand, reserved2)) {
		field = (byte - offsetof(struct npu_operand, dim)) / 4;
		ok = field < op->rank;
		wide = false;
	} else if (byte >= offsetof(struct npu_operand, stride) &&
		   byte < offsetof(struct npu_operand, scale)) {
		field = (byte - offsetof(struct npu_operand, stride)) / 8;
		ok = byte % 8 == 0 && field < op->rank && op->layout == NPU_LAYOUT_STRIDED;
		wide = true;
	} else {
		ok = byte == offsetof(struct npu_operand, offset) && npu_is_present(op);
		wide = true;
	}
	if (!ok || t->wide != wide)
		return decode_fail(
			err, insn->header, ENCODING, slot, field, t->word,
			"a %s term names word %u, which is not a dimension, stride or offset in use of that width",
			t->wide ? "64-bit" : "32-bit", t->word);
	if (wide && t->factor % (npu_s32)npu_elem_bytes(op->dtype))
		return decode_fail(
			err, insn->header, ENCODING, slot, field, t->factor,
			"factor %d of the term at word %u of %s is not a multiple of the element's %u bytes",
			t->factor, t->word, insn->desc->slots[slot].name,
			npu_elem_bytes(op->dtype));
	return 0;
}

static int decode_term(const struct npu_insn *insn, unsigned int i, struct npu_isa_error *err)
{
	const struct npu_term *t = &insn->term[i];
	unsigned int first_param = NPU_HEADER_WORDS +
				   NPU_OPERAND_WORDS * insn->header->num_operands;
	unsigned int param = t->word - first_param;

	if (t->scalar >= NPU_MAX_SCALARS || t->wide > 1)
		return decode_fail(
			err, insn->header, ENCODING, NPU_NO_FIELD, i, t->scalar,
			"term %u names scalar %u and width %u, expected less than %u and 0 or 1", i,
			t->scalar, t->wide, NPU_MAX_SCALARS);
	if (i && t->word < t[-1].word)
		return decode_fail(err, insn->header, ENCODING, NPU_NO_FIELD, i, t->word,
				   "term %u names word %u after word %u, expected a rising order",
				   i, t->word, t[-1].word);
	if (t->word >= NPU_HEADER_WORDS && t->word < first_param)
		return decode_term_operand(insn, t, err);
	if (t->word >= first_param && param < insn->header->num_params && !t->wide &&
	    insn->desc->params[param].kind == NPU_PARAM_LEN)
		return 0;
	return decode_fail(err, insn->header, ENCODING, NPU_NO_FIELD, i, t->word,
			   "term %u names word %u, which is not a length", i, t->word);
}

int npu_insn_decode(const npu_u32 *words, size_t avail, struct npu_insn *insn,
		    struct npu_isa_error *err)
{
	unsigned int i;
	int ret;

	ret = decode_sizes(words, avail, insn, err);
	for (i = 0; !ret && i < insn->desc->num_slots; i++)
		ret = decode_operand(insn, i, err);
	for (i = 0; !ret && i < insn->desc->num_params; i++)
		ret = decode_param(insn, i, err);
	for (i = 0; !ret && i < insn->header->num_terms; i++)
		ret = decode_term(insn, i, err);
	return ret;
}

/* The slot that word belongs to and what it is called, for the error text. */
static int apply_fail(const npu_u32 *words, const struct npu_term *t, npu_s64 value,
		      struct npu_isa_error *err)
{
	const struct npu_insn_header *h = (const struct npu_insn_header *)words;
	const struct npu_op_desc *desc = npu_op_desc(h->opcode);
	unsigned int slot = (t->word - NPU_HEADER_WORDS) / NPU_OPERAND_WORDS;
	unsigned int byte = (t->word - NPU_HEADER_WORDS) % NPU_OPERAND_WORDS * 4;
	const char *what = "offset";

	if (slot >= h->num_operands) {
		slot = NPU_NO_FIELD;
		what = "parameter";
	} else if (byte >= offsetof(struct npu_operand, stride)) {
		what = "stride";
	} else if (byte >= offsetof(struct npu_operand, dim)) {
		what = "dimension";
	}
	npu_isa_fail(err, h, NPU_FAULT_SHAPE, slot, t->word, value,
		     "%s %s at word %u becomes %lld with scalar %u, which is out of range",
		     desc && slot < desc->num_slots ? desc->slots[slot].name : "", what, t->word,
		     (long long)value, t->scalar);
	return -ERANGE;
}

int npu_insn_apply_terms(npu_u32 *words, const npu_u32 scalar[NPU_MAX_SCALARS],
			 struct npu_isa_error *err)
{
	const struct npu_insn_header *h = (const struct npu_insn_header *)words;
	size_t fixed = NPU_HEADER_WORDS + NPU_OPERAND_WORDS * h->num_operands + h->num_params;
	const struct npu_term *t = (const struct npu_term *)(words + fixed),
			      *end = t + h->num_terms;

	while (t < end) {
		const struct npu_term *first = t;
		npu_s64 v, limit = first->wide ? INT64_MAX : NPU_MAX_DIM;

		if (first->wide)
			memcpy(&v, &words[first->word], 8);
		else
			v = (npu_s32)words[first->word];
		/*
		 * |factor * scalar| < 2^63; the sum is looked at once all terms of the word are in.
		 */
		for (; t < end && t->word == first->word; t++)
			if (__builtin_add_overflow(v,
						   (npu_s64)t->factor *
							   scalar[t->scalar % NPU_MAX_SCALARS],
						   &v))
				return apply_fail(words, t, v, err);
		if (v < 0 || v > limit)
			return apply_fail(words, first, v, err);
		if (first->wide)
			memcpy(&words[first->word], &v, 8);
		else
			words[first->word] = v;
	}
	return 0;
}
