// SPDX-License-Identifier: MIT
/* Verification of a whole stream before it runs. */
#include "npu_isa_priv.h"

/* One instruction at several values of the scalars. */
struct corners {
	const struct npu_stream_header *header;
	const struct npu_region *regions;	/* NULL: only what the instruction says by itself */
	unsigned int num_regions;
	npu_u64 sram_size;
	struct npu_isa_error *err;
	const npu_u32 *words;
	size_t num_words;
	/* The instruction with terms added. */
	npu_u32 bound[NPU_MAX_INSN_WORDS] __attribute__((aligned(8)));
};

#define stream_fail(err, value, ...) \
	npu_isa_fail(err, NULL, NPU_FAULT_STREAM, NPU_NO_FIELD, NPU_NO_FIELD, value, __VA_ARGS__)

int npu_stream_check_header(const struct npu_stream_header *h, size_t size,
			    struct npu_isa_error *err)
{
	unsigned int i;

	if (size < sizeof(*h))
		return stream_fail(err, size, "stream header: %zu bytes, expected %zu", size,
				   sizeof(*h));
	if (h->magic != NPU_STREAM_MAGIC)
		return stream_fail(err, h->magic, "stream header: magic is 0x%08x, expected 0x%08x",
				   h->magic, NPU_STREAM_MAGIC);
	if (h->isa_major != NPU_ISA_MAJOR || h->isa_minor > NPU_ISA_MINOR)
		return stream_fail(err, h->isa_major,
				   "stream header: version is %u.%u, expected %u.0 to %u.%u",
				   h->isa_major, h->isa_minor, NPU_ISA_MAJOR, NPU_ISA_MAJOR,
				   NPU_ISA_MINOR);
	if (h->size > size || h->size < sizeof(*h) || h->size % 8 || h->size > NPU_MAX_STREAM_BYTES)
		return stream_fail(
			err, h->size,
			"stream header: size is %u, expected a multiple of 8 from %zu up to the %zu bytes given",
			h->size, sizeof(*h),
			size < NPU_MAX_STREAM_BYTES ? size : NPU_MAX_STREAM_BYTES);
	if (h->num_regions > NPU_MAX_REGIONS || h->num_scalars > NPU_MAX_SCALARS || h->reserved)
		return stream_fail(
			err, h->num_regions,
			"stream header: %u regions and %u scalars, expected at most %u and %u",
			h->num_regions, h->num_scalars, NPU_MAX_REGIONS, NPU_MAX_SCALARS);
	for (i = 0; i < NPU_MAX_SCALARS; i++) {
		if (h->scalar[i].min > h->scalar[i].max)
			return stream_fail(err, h->scalar[i].min,
					   "stream header: scalar %u is bound by %u to %u", i,
					   h->scalar[i].min, h->scalar[i].max);
		if (i >= h->num_scalars && h->scalar[i].max)
			return stream_fail(err, h->scalar[i].max,
					   "stream header: scalar %u has a bound, there are %u", i,
					   h->num_scalars);
	}
	return 0;
}

static int verify_at(struct corners *v, const npu_u32 *scalar)
{
	struct npu_insn insn;

	memcpy(v->bound, v->words, v->num_words * 4);
	if (npu_insn_apply_terms(v->bound, scalar, v->err) ||
	    npu_insn_decode(v->bound, v->num_words, &insn, v->err) || npu_insn_check(&insn, v->err))
		return -EINVAL;
	if (!v->regions)
		return 0;
	return npu_insn_check_regions_mode(&insn, v->regions, v->num_regions, v->sram_size, true,
					   v->err);
}

/* Which scalars the instruction names; -EINVAL when one is not declared. */
static int named_scalars(const struct corners *v, const struct npu_insn *insn, npu_u32 *mask)
{
	unsigned int i, s;

	*mask = 0;
	for (i = 0; i < insn->header->num_terms; i++) {
		s = insn->term[i].scalar;
		if (s >= v->header->num_scalars)
			return npu_isa_fail(v->err, insn->header, NPU_FAULT_ENCODING, NPU_NO_FIELD,
					    i, s, "term %u names scalar %u, the stream declares %u",
					    i, s, v->header->num_scalars);
		if (v->header->scalar[s].min != v->header->scalar[s].max)
			*mask |= 1u << s;
	}
	return 0;
}

/*
 * Lengths are linear in each scalar, so equal ones are equal everywhere when they are so at the
 * corners, and spans are largest there when all factors are positive. Of more than four scalars
 * only all lowest, all highest and each alone are tried; the engine looks again at what it runs.
 */
#define MAX_CORNER_SCALARS	4

static int verify_corners(struct corners *v, npu_u32 mask)
{
	npu_u32 scalar[NPU_MAX_SCALARS], combo, n = 0, moving[NPU_MAX_SCALARS];
	unsigned int i;

	for (i = 0; i < NPU_MAX_SCALARS; i++) {
		scalar[i] = v->header->scalar[i].min;
		if (mask >> i & 1)
			moving[n++] = i;
	}
	if (n <= MAX_CORNER_SCALARS) {
		for (combo = 0; combo < 1u << n; combo++) {
			for (i = 0; i < n; i++)
				scalar[moving[i]] = combo >> i & 1 ?
							    v->header->scalar[moving[i]].max :
							    v->header->scalar[moving[i]].min;
			if (verify_at(v, scalar))
				return -EINVAL;
		}
	} else {
		if (verify_at(v, scalar))
			return -EINVAL;
		for (i = 0; i < n; i++) {
			scalar[moving[i]] = v->header->scalar[moving[i]].max;
			if (verify_at(v, scalar))
				return -EINVAL;
			scalar[moving[i]] = v->header->scalar[moving[i]].min;
		}
		for (i = 0; i < n; i++)
			scalar[moving[i]] = v->header->scalar[moving[i]].max;
		if (verify_at(v, scalar))
			return -EINVAL;
	}
	/* One point inside: catches remainders (groups, halves) that fit at the ends only. */
	for (i = 0; i < n; i++)
		scalar[moving[i]] =
			v->header->scalar[moving[i]].min +
			(v->header->scalar[moving[i]].max - v->header->scalar[moving[i]].min) / 2;
	return n ? verify_at(v, scalar) : 0;
}

/*
 * What LOAD_SCALAR may load has to stay inside of the bound that everything else was verified with.
 */
static int verify_load_scalar(const struct corners *v, const struct npu_insn *insn)
{
	npu_u32 s = insn->param[NPU_LOAD_SCALAR_P_INDEX];

	if (s < v->header->num_scalars)
		return 0;
	return npu_isa_fail(v->err, insn->header, NPU_FAULT_PARAM, NPU_NO_FIELD,
			    NPU_LOAD_SCALAR_P_INDEX, s,
			    "parameter index is %u, the stream declares %u scalars", s,
			    v->header->num_scalars);
}

int npu_insn_verify(const npu_u32 *words, size_t avail, const struct npu_stream_header *header,
		    const struct npu_region *regions, unsigned int num_regions, npu_u64 sram_size,
		    struct npu_insn *insn, struct npu_isa_error *err)
{
	struct corners v;
	npu_u32 mask;

	if (npu_insn_decode(words, avail, insn, err))
		return -EINVAL;
	v.header = header;
	v.regions = regions;
	v.num_regions = num_regions;
	v.sram_size = sram_size;
	v.err = err;
	if (npu_insn_minor(insn) > header->isa_minor)
		return npu_isa_fail(err, insn->header, NPU_FAULT_ENCODING, NPU_NO_FIELD,
				    NPU_NO_FIELD, npu_insn_minor(insn),
				    "instruction of version %u.%u in a stream of version %u.%u",
				    NPU_ISA_MAJOR, npu_insn_minor(insn), header->isa_major,
				    header->isa_minor);
	v.words = words;
	v.num_words = insn->header->words;
	if (insn->desc->code == NPU_OP_LOAD_SCALAR && verify_load_scalar(&v, insn))
		return -EINVAL;
	return named_scalars(&v, insn, &mask) ?: verify_corners(&v, mask);
}

/* A stream, instruction by instruction. */
struct verify {
	struct npu_stream_header header;
	const npu_u8 *stream;
	const struct npu_region *regions;
	npu_u64 sram_size;
	npu_u32 offset, index;		/* of the instruction in hand */
	struct npu_isa_error *err;
	npu_u32 words[NPU_MAX_INSN_WORDS] __attribute__((aligned(8)));
};

static int verify_all(struct verify *v)
{
	unsigned int opcode = ~0u;
	struct npu_insn insn;
	size_t left;

	while (v->offset < v->header.size) {
		if (opcode == NPU_OP_END)
			return stream_fail(v->err, v->offset, "stream: instructions after end");
		left = v->header.size - v->offset;
		if (left > sizeof(v->words))
			left = sizeof(v->words);
		memcpy(v->words, v->stream + v->offset, left);
		if (npu_insn_verify(v->words, left / 4, &v->header, v->regions,
				    v->header.num_regions, v->sram_size, &insn, v->err))
			return -EINVAL;
		opcode = insn.desc->code;
		v->offset += insn.header->words * 4;
		v->index++;
	}
	if (opcode != NPU_OP_END)
		return stream_fail(v->err, v->index, "stream: the last instruction is not end");
	if (v->index != v->header.num_insns)
		return stream_fail(v->err, v->index, "stream: %u instructions, the header says %u",
				   v->index, v->header.num_insns);
	return 0;
}

int npu_stream_verify(const void *stream, size_t size, const struct npu_region *regions,
		      unsigned int num_regions, npu_u64 sram_size, struct npu_isa_error *err)
{
	static const struct npu_region none;
	struct verify v;
	int ret;

	memset(&v.header, 0, sizeof(v.header));
	if (size)
		memcpy(&v.header, stream, size < sizeof(v.header) ? size : sizeof(v.header));
	v.stream = stream;
	v.regions = regions ? regions : &none;
	v.sram_size = sram_size;
	v.offset = sizeof(v.header);
	v.index = 0;
	v.err = err;
	ret = npu_stream_check_header(&v.header, size, err);
	if (ret)
		return ret;
	if (v.header.num_regions > num_regions)
		return stream_fail(err, v.header.num_regions,
				   "stream header: names %u regions, the job has %u",
				   v.header.num_regions, num_regions);
	ret = verify_all(&v);
	if (ret && err) {
		err->fault.insn = v.index;
		err->fault.stream_offset = v.offset;
	}
	return ret;
}
