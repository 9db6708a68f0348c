// SPDX-License-Identifier: MIT
/* Lifetimes, and results that take the place of their inputs. */
#include "compiler/plan.h"

struct npu_lbuf *npu_plan_root(struct npu_lbuf *b)
{
	while (b->same)
		b = b->same;
	return b;
}

static void use(const struct npu_lower *l, unsigned int i, const struct npu_lview *v)
{
	if (!v || !v->buf)
		return;
	if ((int)i < v->buf->first)
		v->buf->first = (int)i;
	if ((int)i > v->buf->last)
		v->buf->last = (int)i;
	v->buf->traffic += (uint64_t)npu_lview_bytes(l, v);
}

void npu_plan_live(struct npu_lower *l)
{
	for (unsigned int i = 0; i < l->num_insns; i++) {
		const struct npu_linsn *insn = l->insns[i];
		const struct npu_lhost *h = insn->host;

		for (unsigned int s = 0; s < insn->desc->num_slots; s++)
			use(l, i, insn->operand[s]);
		for (unsigned int k = 0; h && k < h->num_in + h->num_out; k++)
			use(l, i, h->arg[k].present ? &h->arg[k].view : NULL);
	}
}

/* Same elements at the same addresses once the buffers are one; element sizes agree. */
static bool same_addresses(const struct npu_lview *a, const struct npu_lview *b)
{
	if (a->rank != b->rank || npu_dtype_bits(a->dtype) != npu_dtype_bits(b->dtype) ||
	    !npu_poly_equal(&a->offset, &b->offset))
		return false;
	for (int i = 0; i < a->rank; i++) {
		if (!npu_dim_equal(a->dim[i], b->dim[i]))
			return false;
		if (!(npu_dim_is_const(a->dim[i]) && a->dim[i].base == 1) &&
		    !npu_poly_equal(&a->stride[i], &b->stride[i]))
			return false;
	}
	return true;
}

/* Whether instruction @i may write its result over its first input. */
static bool take_place(struct npu_lower *l, unsigned int i)
{
	const struct npu_linsn *insn = l->insns[i];
	const struct npu_slot_desc *slots = insn->desc->slots;
	struct npu_lbuf *out, *in;
	unsigned int first = 0;

	if (!insn->desc->num_slots || !(slots[0].flags & NPU_SLOT_INPLACE))
		return false;
	while (first < insn->desc->num_slots && slots[first].dir != NPU_DIR_IN)
		first++;
	if (first == insn->desc->num_slots || !insn->operand[0] || !insn->operand[first])
		return false;
	out = insn->operand[0]->buf;
	in = npu_plan_root(insn->operand[first]->buf);
	if (out->kind != NPU_LBUF_SCRATCH || in->kind != NPU_LBUF_SCRATCH || out->same ||
	    out == in || out->first != (int)i || in->last != (int)i || out->size > in->size ||
	    !same_addresses(insn->operand[0], insn->operand[first]))
		return false;
	for (unsigned int s = first + 1; s < insn->desc->num_slots; s++)
		if (insn->operand[s] && npu_plan_root(insn->operand[s]->buf) == in)
			return false;	/* also read otherwise */
	out->same = in;
	in->last = out->last;
	in->traffic += out->traffic;
	return true;
}

unsigned int npu_plan_in_place(struct npu_lower *l)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < l->num_insns; i++)
		n += take_place(l, i);
	return n;
}
