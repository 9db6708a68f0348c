// SPDX-License-Identifier: MIT
/* The lowering's own steps as text, for --dump-pass layout, lower and plan. */
#include "compiler/lower_dump.h"

static void dump_view(FILE *f, const struct npu_lower *l, const struct npu_lview *v)
{
	static const char *const kind[] = {
		[NPU_LBUF_SCRATCH] = "scratch", [NPU_LBUF_WEIGHT] = "weights",
		[NPU_LBUF_INPUT] = "in", [NPU_LBUF_OUTPUT] = "out", [NPU_LBUF_STATE] = "state",
	};
	char buf[64];

	fprintf(f, "%s%u:%s[", kind[v->buf->kind], v->buf->id, npu_dtype_name(v->dtype));
	for (int i = 0; i < v->rank; i++)
		fprintf(f, "%s%s", i ? "," : "", npu_dim_text(l->g, v->dim[i], buf, sizeof(buf)));
	fputs("]", f);
	if (v->layout != NPU_LAYOUT_STRIDED) {
		fprintf(f, "%s", npu_layout_name(v->layout));
		return;
	}
	for (int i = 0; i < v->rank; i++)
		fprintf(f, "%c%lld%s", i ? ',' : '/', (long long)v->stride[i].base,
			v->stride[i].num_terms ? "+" : "");
	if (v->offset.base || v->offset.num_terms)
		fprintf(f, "@%lld", (long long)v->offset.base);
}

void npu_lower_dump_insns(FILE *f, const struct npu_lower *l)
{
	for (unsigned int i = 0; i < l->num_insns; i++) {
		const struct npu_linsn *insn = l->insns[i];

		fprintf(f, "%4u %-14s", i, insn->desc->mnemonic);
		for (unsigned int s = 0; s < insn->desc->num_slots; s++) {
			if (!insn->operand[s])
				continue;
			fprintf(f, " %s=", insn->desc->slots[s].name);
			dump_view(f, l, insn->operand[s]);
		}
		fprintf(f, "  ; %s\n", insn->node ? insn->node->name : "");
	}
}

void npu_lower_dump_layout(FILE *f, const struct npu_lower *l)
{
	for (unsigned int i = 0; i < l->num_tensors; i++) {
		const struct npu_lvalue *v = &l->value[i];
		const struct npu_gtensor *t = l->g->tensors[i];

		if (!t->producer && !t->is_input)
			continue;
		fprintf(f, "%-40s %s", t->name, v->channels_last ? "channels-last" : "natural");
		if (v->placed) {
			fputs(" in ", f);
			dump_view(f, l, &v->view);
		}
		fputc('\n', f);
	}
}

void npu_lower_dump_plan(FILE *f, const struct npu_lower *l, const struct npu_plan *p)
{
	for (unsigned int i = 0; i < l->num_bufs; i++) {
		struct npu_lbuf *b = l->bufs[i];

		if (b->kind != NPU_LBUF_SCRATCH || b->first > b->last)
			continue;
		fprintf(f, "%4u %10llu bytes at %10llu %-7s alive %d..%d", b->id,
			(unsigned long long)b->size, (unsigned long long)b->offset,
			b->on_chip ? "on-chip" : "scratch", b->first, b->last);
		if (b->same)
			fprintf(f, " in place of %u", npu_plan_root(b)->id);
		fprintf(f, "  ; %s\n", b->name);
	}
	fprintf(f, "scratch %llu (at least %llu), on-chip %llu, %u in place\n",
		(unsigned long long)p->scratch, (unsigned long long)p->scratch_lower,
		(unsigned long long)p->sram, p->in_place);
}
