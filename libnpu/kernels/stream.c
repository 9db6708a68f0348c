// SPDX-License-Identifier: MIT
/* The stream builder: a growing buffer of checked instructions. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/stream.h"

int npu_stream_refuse(struct npu_stream_builder *b, int err, const char *fmt, ...)
{
	va_list ap;

	memset(&b->err.fault, 0, sizeof(b->err.fault));
	b->err.fault.code = NPU_FAULT_STREAM;
	b->err.fault.operand = b->err.fault.field = ~0u;
	va_start(ap, fmt);
	vsnprintf(b->err.text, sizeof(b->err.text), fmt, ap);
	va_end(ap);
	return err;
}

int npu_stream_create(unsigned int num_regions, struct npu_stream_builder **builder)
{
	struct npu_stream_builder *b;

	*builder = NULL;
	if (num_regions > NPU_MAX_REGIONS)
		return -EINVAL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->room = 4096;
	b->data = malloc(b->room);
	if (!b->data) {
		free(b);
		return -ENOMEM;
	}
	b->header.magic = NPU_STREAM_MAGIC;
	b->header.isa_major = NPU_ISA_MAJOR;
	/* while building any; what the instructions need is written in the end */
	b->header.isa_minor = NPU_ISA_MINOR;
	b->header.num_regions = num_regions;
	b->size = sizeof(b->header);
	*builder = b;
	return 0;
}

void npu_stream_destroy(struct npu_stream_builder *b)
{
	if (!b)
		return;
	free(b->data);
	free(b);
}

int npu_stream_scalar(struct npu_stream_builder *b, uint32_t min, uint32_t max)
{
	unsigned int i = b->header.num_scalars;

	b->err.text[0] = '\0';
	if (b->finished)
		return npu_stream_refuse(b, -EINVAL, "the stream is finished");
	if (min > max)
		return npu_stream_refuse(b, -EINVAL,
					 "scalar %u: min is %u, expected at most max = %u", i, min,
					 max);
	if (i == NPU_MAX_SCALARS)
		return npu_stream_refuse(b, -ENOSPC, "more than %u scalars", NPU_MAX_SCALARS);
	b->header.scalar[i].min = min;
	b->header.scalar[i].max = max;
	b->header.num_scalars++;
	return i;
}

static int stream_reserve(struct npu_stream_builder *b, size_t bytes)
{
	size_t room = b->room;
	npu_u8 *data;

	if (b->size + bytes > NPU_MAX_STREAM_BYTES)
		return npu_stream_refuse(b, -ENOSPC, "the stream is longer than %u bytes",
					 NPU_MAX_STREAM_BYTES);
	while (room < b->size + bytes)
		room *= 2;
	if (room == b->room)
		return 0;
	data = realloc(b->data, room);
	if (!data)
		return npu_stream_refuse(b, -ENOMEM, "no memory for %zu bytes of stream", room);
	b->data = data;
	b->room = room;
	return 0;
}

/* Regions are not known here but for their number. */
static int check_region_numbers(struct npu_stream_builder *b, const struct npu_insn *insn)
{
	unsigned int i;

	for (i = 0; i < insn->desc->num_slots; i++) {
		if (!insn->operand[i].dtype || insn->operand[i].region < b->header.num_regions)
			continue;
		npu_stream_refuse(b, 0, "%s: %s is in region %u, the stream has %u",
				  insn->desc->mnemonic, insn->desc->slots[i].name,
				  insn->operand[i].region, b->header.num_regions);
		b->err.fault.code = NPU_FAULT_REGION;
		b->err.fault.opcode = insn->desc->code;
		b->err.fault.operand = i;
		b->err.fault.value = insn->operand[i].region;
		return -EINVAL;
	}
	return 0;
}

static int stream_append(struct npu_stream_builder *b, const struct npu_code *c)
{
	size_t words = ((const struct npu_insn_header *)c->words)->words;
	struct npu_insn insn;
	int ret;

	if (npu_insn_verify(c->words, words, &b->header, NULL, 0, 0, &insn, &b->err) ||
	    check_region_numbers(b, &insn))
		return -EINVAL;
	if (b->dry_run)
		return 0;
	ret = stream_reserve(b, words * 4);
	if (ret)
		return ret;
	if (npu_insn_minor(&insn) > b->isa_minor)
		b->isa_minor = npu_insn_minor(&insn);
	memcpy(b->data + b->size, c->words, words * 4);
	b->size += words * 4;
	b->header.num_insns++;
	return 0;
}

static int stream_open(struct npu_stream_builder *b, struct npu_code *c, enum npu_opcode opcode,
		       npu_u32 tag)
{
	b->err.text[0] = '\0';
	memset(&b->err.fault, 0, sizeof(b->err.fault));
	if (b->finished)
		return npu_stream_refuse(b, -EINVAL, "the stream is finished");
	if (opcode == NPU_OP_END)
		return npu_stream_refuse(b, -EINVAL, "end is appended by npu_stream_finish()");
	return npu_code_open(c, opcode, tag, &b->err);
}

int npu_stream_emit(struct npu_stream_builder *b, enum npu_opcode opcode,
		    const struct npu_operand *operands, const npu_u32 *params,
		    const struct npu_term *terms, unsigned int num_terms, npu_u32 tag)
{
	struct npu_code c;

	if (stream_open(b, &c, opcode, tag))
		return -EINVAL;
	if (num_terms > NPU_MAX_TERMS)
		return npu_stream_refuse(b, -EINVAL, "%s: %u terms, expected at most %u",
					 c.desc->mnemonic, num_terms, NPU_MAX_TERMS);
	if (c.desc->num_slots)
		memcpy(npu_code_operand(&c, 0), operands, sizeof(*operands) * c.desc->num_slots);
	if (c.desc->num_params)
		memcpy(npu_code_params(&c), params, sizeof(*params) * c.desc->num_params);
	if (num_terms)
		memcpy(c.term, terms, sizeof(*terms) * num_terms);
	c.num_terms = num_terms;
	npu_code_close(&c);
	return stream_append(b, &c);
}

int npu_stream_emit_tensors(struct npu_stream_builder *b, enum npu_opcode opcode,
			    const struct npu_tensor *const *operands, const npu_u32 *params,
			    const struct npu_param_len *lens, unsigned int num_lens, npu_u32 tag)
{
	struct npu_code c;
	unsigned int i;

	if (stream_open(b, &c, opcode, tag))
		return -EINVAL;
	for (i = 0; i < c.desc->num_slots; i++)
		if (npu_code_tensor(&c, i, operands[i]))
			return -EINVAL;
	if (c.desc->num_params)
		memcpy(npu_code_params(&c), params, sizeof(*params) * c.desc->num_params);
	for (i = 0; i < num_lens; i++)
		if (npu_code_param_len(&c, lens[i].index, &lens[i].len))
			return -EINVAL;
	npu_code_close(&c);
	return stream_append(b, &c);
}

void npu_stream_dry_run(struct npu_stream_builder *b, bool on)
{
	b->dry_run = on;
}

unsigned int npu_stream_num_insns(const struct npu_stream_builder *b)
{
	return b->header.num_insns;
}

size_t npu_stream_offset(const struct npu_stream_builder *b)
{
	return b->size;
}

int npu_stream_finish(struct npu_stream_builder *b, const void **data, size_t *size)
{
	struct npu_code c;
	int ret;

	b->dry_run = false;
	if (!b->finished) {
		b->err.text[0] = '\0';
		npu_code_open(&c, NPU_OP_END, 0, &b->err);
		npu_code_close(&c);
		ret = stream_append(b, &c);
		if (ret)
			return ret;
		b->header.size = b->size;
		b->header.isa_minor = b->isa_minor;
		memcpy(b->data, &b->header, sizeof(b->header));
		b->finished = true;
	}
	*data = b->data;
	*size = b->size;
	return 0;
}

const char *npu_stream_error(const struct npu_stream_builder *b)
{
	return b->err.text;
}

const struct npu_fault *npu_stream_fault(const struct npu_stream_builder *b)
{
	return &b->err.fault;
}
