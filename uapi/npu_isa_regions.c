// SPDX-License-Identifier: MIT
/*
 * The check of an instruction against a region table: operands lie inside of their regions with the
 * access they need, and nothing that is written is also read. The engine and the verifier share it.
 */
#include "npu_isa_priv.h"

/* Where one operand lies. */
struct place {
	const struct npu_operand *op;
	unsigned int slot;
	bool write;
	npu_u64 space;			/* operands of different spaces never meet */
	npu_u64 start, bytes;
};

struct regions {
	const struct npu_insn *insn;
	const struct npu_region *region;
	unsigned int num;
	npu_u64 sram_size;
	bool by_index;
	struct npu_isa_error *err;
};

#define region_fail(r, code, slot, value, ...) \
	npu_isa_fail((r)->err, (r)->insn->header, NPU_FAULT_##code, slot, NPU_NO_FIELD, value, \
		     __VA_ARGS__)

static int check_access(const struct regions *r, unsigned int slot, const struct npu_region *region,
			npu_u32 want)
{
	const struct npu_operand *op = &r->insn->operand[slot];
	int ret;

	if ((region->access & want) == want)
		return 0;
	ret = region_fail(r, ACCESS, slot, op->region,
			  "%s needs %s%s%s access, region %u has%s%s%s",
			  r->insn->desc->slots[slot].name, want & NPU_ACCESS_READ ? "read" : "",
			  want == (NPU_ACCESS_READ | NPU_ACCESS_WRITE) ? " and " : "",
			  want & NPU_ACCESS_WRITE ? "write" : "", op->region,
			  region->access & NPU_ACCESS_READ ? " read" : "",
			  region->access & NPU_ACCESS_WRITE ? " write" : "",
			  region->access & (NPU_ACCESS_READ | NPU_ACCESS_WRITE) ? "" : " none");
	if (r->err)
		r->err->fault.access = want & ~region->access;
	return ret;
}

static int place_operand(const struct regions *r, unsigned int slot, struct place *p)
{
	const struct npu_operand *op = &r->insn->operand[slot];
	const struct npu_slot_desc *d = &r->insn->desc->slots[slot];
	npu_u32 want = d->dir == NPU_DIR_IN  ? NPU_ACCESS_READ :
		       d->dir == NPU_DIR_OUT ? NPU_ACCESS_WRITE :
					       NPU_ACCESS_READ | NPU_ACCESS_WRITE;
	const struct npu_region *region;
	npu_u64 end;

	if (op->region >= r->num)
		return region_fail(r, REGION, slot, op->region,
				   "%s is in region %u, the job has %u", d->name, op->region,
				   r->num);
	region = &r->region[op->region];
	if (check_access(r, slot, region, want))
		return -EINVAL;
	if (npu_insn_operand_extent(r->insn, slot, &p->bytes) ||
	    __builtin_add_overflow(op->offset, p->bytes, &end) || end > region->size)
		return region_fail(r, REGION, slot, op->offset,
				   "%s spans %llu bytes from offset %llu, region %u has %llu",
				   d->name, (unsigned long long)p->bytes,
				   (unsigned long long)op->offset, op->region,
				   (unsigned long long)region->size);
	if (region->access & NPU_ACCESS_SRAM &&
	    (region->base > r->sram_size || end > r->sram_size - region->base))
		return region_fail(
			r, SRAM, slot, end,
			"%s ends at byte %llu of on-chip memory region %u at %llu, there are %llu bytes",
			d->name, (unsigned long long)end, op->region,
			(unsigned long long)region->base, (unsigned long long)r->sram_size);
	p->op = op;
	p->slot = slot;
	p->write = d->dir != NPU_DIR_IN;
	p->space = region->access & NPU_ACCESS_SRAM ? 1 : r->by_index ? op->region + 2u : 0;
	p->start = op->offset;
	/*
	 * Before binding, bases are not known; those of on-chip memory are, and belong to the job.
	 */
	if ((!r->by_index || region->access & NPU_ACCESS_SRAM) &&
	    (__builtin_add_overflow(region->base, op->offset, &p->start) ||
	     __builtin_add_overflow(region->base, end, &end)))
		return region_fail(r, REGION, slot, op->offset,
				   "%s at offset %llu of region %u wraps around", d->name,
				   (unsigned long long)op->offset, op->region);
	if (p->start & (npu_elem_bytes(op->dtype) - 1))
		return region_fail(
			r, REGION, slot, region->base,
			"region %u at 0x%llx is not aligned to the %u bytes of an element of %s",
			op->region, (unsigned long long)region->base, npu_elem_bytes(op->dtype),
			d->name);
	return 0;
}

/*
 * What an operand covers modulo @pitch, when all its larger strides are multiples of it: [start %
 * pitch, + this).
 */
static npu_u64 span_in_pitch(const struct npu_operand *op, npu_u64 pitch)
{
	npu_u64 span = npu_elem_bytes(op->dtype);
	unsigned int i;

	for (i = 0; i < op->rank; i++)
		if (op->dim[i] > 1 && op->stride[i] % pitch)
			span += ((npu_u64)op->dim[i] - 1) * op->stride[i];
	return span;
}

/* Two slices of the same rows, side by side: seen modulo the rows' pitch they share nothing. */
static bool apart_at_pitch(const struct place *a, const struct place *b, npu_u64 pitch)
{
	npu_u64 sa = span_in_pitch(a->op, pitch), sb = span_in_pitch(b->op, pitch);
	const struct place *low = a->start < b->start ? a : b;
	npu_u64 up = low == a ? b->start - a->start : a->start - b->start;
	npu_u64 gap = up % pitch, rest = pitch - gap;

	return (low == a ? sa : sb) <= gap && (low == a ? sb : sa) <= rest;
}

static bool apart(const struct place *a, const struct place *b)
{
	const struct place *both[2] = { a, b };
	unsigned int i, j;

	if (a->space != b->space || a->start + a->bytes <= b->start ||
	    b->start + b->bytes <= a->start)
		return true;
	if (a->op->layout != NPU_LAYOUT_STRIDED || b->op->layout != NPU_LAYOUT_STRIDED ||
	    (npu_type_bit(a->op) | npu_type_bit(b->op)) & T_SUB8)
		return false;
	for (i = 0; i < 2; i++)
		for (j = 0; j < both[i]->op->rank; j++)
			if (both[i]->op->dim[j] > 1 && both[i]->op->stride[j] > 0 &&
			    apart_at_pitch(a, b, both[i]->op->stride[j]))
				return true;
	return false;
}

/* The output that a slot allows to be exactly its first input. */
static bool exactly_in_place(const struct regions *r, const struct place *out,
			     const struct place *in)
{
	const struct npu_slot_desc *slots = r->insn->desc->slots;
	const struct npu_operand *a = out->op, *b = in->op;
	unsigned int first = 0, i;

	if (!(slots[out->slot].flags & NPU_SLOT_INPLACE))
		return false;
	while (slots[first].dir != NPU_DIR_IN)
		first++;
	if (in->slot != first || out->start != in->start || a->rank != b->rank ||
	    npu_elem_bytes(a->dtype) != npu_elem_bytes(b->dtype))
		return false;
	for (i = 0; i < a->rank; i++)
		if (a->dim[i] != b->dim[i] || (a->dim[i] > 1 && a->stride[i] != b->stride[i]))
			return false;
	return true;
}

int npu_insn_check_regions_mode(const struct npu_insn *insn, const struct npu_region *regions,
				unsigned int num_regions, npu_u64 sram_size, bool by_index,
				struct npu_isa_error *err)
{
	struct regions r = { insn, regions, num_regions, sram_size, by_index, err };
	struct place place[NPU_MAX_OPERANDS];
	unsigned int n = 0, i, j;

	for (i = 0; i < insn->desc->num_slots; i++)
		if (npu_is_present(&insn->operand[i]) && place_operand(&r, i, &place[n++]))
			return -EINVAL;
	for (i = 0; i < n; i++) {
		for (j = 0; j < n; j++) {
			if (i == j || !place[i].write || (place[j].write && j < i) ||
			    apart(&place[i], &place[j]))
				continue;
			if (!place[j].write && exactly_in_place(&r, &place[i], &place[j]))
				continue;
			return region_fail(&r, OVERLAP, place[i].slot, place[j].slot,
					   "output %s overlaps %s %s in region %u",
					   insn->desc->slots[place[i].slot].name,
					   place[j].write ? "output" : "input",
					   insn->desc->slots[place[j].slot].name,
					   place[j].op->region);
		}
	}
	return 0;
}

int npu_insn_check_regions(const struct npu_insn *insn, const struct npu_region *regions,
			   unsigned int num_regions, npu_u64 sram_size, struct npu_isa_error *err)
{
	return npu_insn_check_regions_mode(insn, regions, num_regions, sram_size, false, err);
}
