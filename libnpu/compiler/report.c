// SPDX-License-Identifier: MIT
/* From model nodes to what became of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/emit.h"
#include "compiler/report.h"
#include "compiler/weights.h"

static const char *const place_names[NPU_NUM_PLACES] = {
	[NPU_PLACE_NPU] = "npu", [NPU_PLACE_FUSED] = "fused", [NPU_PLACE_FOLDED] = "folded",
	[NPU_PLACE_VIEW] = "view", [NPU_PLACE_REFUSED] = "refused",
	[NPU_PLACE_UNKNOWN] = "unknown", [NPU_PLACE_HOST] = "host",
};

const char *npu_place_name(enum npu_place place)
{
	return (unsigned int)place < NPU_NUM_PLACES ? place_names[place] : "?";
}

static int compare_names(const void *a, const void *b)
{
	const struct npu_report_name *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->node < y->node ? -1 : x->node > y->node;
}

static void index_sort(struct npu_report_index *index)
{
	qsort(index->entry, index->num, sizeof(*index->entry), compare_names);
}

/* The first entry of @name, or where it would be. */
static unsigned int index_find(const struct npu_report_index *index, const char *name)
{
	unsigned int lo = 0, hi = index->num, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (strcmp(index->entry[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

#define INDEX_EACH(i, index, wanted)								\
	for (i = index_find(index, wanted);							\
	     i < (index)->num && !strcmp((index)->entry[i].name, wanted); i++)

const struct npu_model_node *npu_report_model_node(const struct npu_report *r, const char *name)
{
	unsigned int k;

	INDEX_EACH(k, &r->by_name, name)
		return &r->model[r->by_name.entry[k].node];
	return NULL;
}

int npu_report_note_model(struct npu_report *r, const struct npu_graph *g)
{
	struct npu_model_node *m = npu_arena_array(r->arena, g->num_nodes + 1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	r->by_name.entry = npu_arena_array(r->arena, g->num_nodes + 1, sizeof(*r->by_name.entry));
	if (!r->by_name.entry)
		return -ENOMEM;
	for (unsigned int i = 0; i < g->num_nodes; i++) {
		const struct npu_gnode *n = g->nodes[i];

		m[i].name = npu_arena_strdup(r->arena, n->num_sources ? n->sources[0] : n->name);
		m[i].op = npu_gnode_op_name(n);
		m[i].domain = n->host ? n->host->domain : npu_gnode_info(n)->domain;
		if (n->host)	/* the application's table may be gone before the report */
			m[i].op = npu_arena_strdup(r->arena, m[i].op);
		if (!m[i].name || !m[i].op)
			return -ENOMEM;
		r->by_name.entry[i] = (struct npu_report_name){ m[i].name, i };
	}
	r->by_name.num = g->num_nodes;
	index_sort(&r->by_name);
	r->model = m;
	r->num_model = g->num_nodes;
	return 0;
}

/* The final nodes by the names of the model nodes that they come from. */
static int index_final(struct npu_report *r, const struct npu_lower *l,
		       struct npu_report_index *index)
{
	size_t count = 0;

	*index = (struct npu_report_index){ NULL, 0 };
	for (unsigned int i = 0; l && l->nodes && i < l->g->num_nodes; i++)
		count += l->nodes[i].node->num_sources + 1;
	index->entry = npu_arena_array(r->arena, count + 1, sizeof(*index->entry));
	if (!index->entry)
		return -ENOMEM;
	for (unsigned int i = 0; l && l->nodes && i < l->g->num_nodes; i++) {
		const struct npu_gnode *n = l->nodes[i].node;

		for (unsigned int k = 0; k < n->num_sources; k++)
			index->entry[index->num++] = (struct npu_report_name){ n->sources[k], i };
		if (!n->num_sources)
			index->entry[index->num++] = (struct npu_report_name){ n->name, i };
	}
	index_sort(index);
	return 0;
}

static bool only_quantizes(const char *op)
{
	return !strcmp(op, "QuantizeLinear") || !strcmp(op, "DequantizeLinear");
}

/*
 * Of several model nodes in one, the one whose operator it still is leads; else the first that
 * computes anything.
 */
static const char *leader(const struct npu_report *r, const struct npu_gnode *n)
{
	unsigned int k;

	for (unsigned int i = 0; i < n->num_sources; i++)
		INDEX_EACH(k, &r->by_name, n->sources[i])
			if (!strcmp(r->model[r->by_name.entry[k].node].op,
				    n->host ? n->host->name : npu_gnode_info(n)->name))
				return n->sources[i];
	for (unsigned int i = 0; i < n->num_sources; i++)
		INDEX_EACH(k, &r->by_name, n->sources[i])
			if (!only_quantizes(r->model[r->by_name.entry[k].node].op))
				return n->sources[i];
	return n->num_sources ? n->sources[0] : n->name;
}

static const char *append_name(struct npu_arena *a, const char *list, const char *name)
{
	const char *at = strstr(list, name);
	size_t len = strlen(name);

	if (!*list)
		return name;
	if (at && (at == list || at[-1] == ' ') && (!at[len] || at[len] == ','))
		return list;
	return npu_arena_printf(a, "%s, %s", list, name);
}

static int add_insns(struct npu_report *r, const struct npu_lower *l, const struct npu_lnode *ln,
		     struct npu_placement *p)
{
	int64_t high[NPU_GRAPH_MAX_SYMS] = { 0 };

	for (unsigned int i = 0; i < l->g->num_syms; i++)
		high[i] = l->g->syms[i].smax;
	for (unsigned int i = 0; i < ln->num_insns; i++) {
		const struct npu_linsn *insn = l->insns[ln->first_insn + i];
		uint64_t read, written;

		npu_emit_traffic(l, insn, &read, &written);
		p->bytes_read += read;
		p->bytes_written += written;
		p->num_insns++;
		p->insns = append_name(r->arena, p->insns, insn->desc->mnemonic);
		if (!p->insns)
			return -ENOMEM;
	}
	p->macs += (uint64_t)npu_gnode_macs(ln->node, high);
	return 0;
}

static const char *value_type(const struct npu_lower *l, const struct npu_gnode *n)
{
	const struct npu_gtensor *t = n->num_outputs ? n->outputs[0] : NULL;

	if (!t || !l->value || !l->value[t->id].ready)
		return "";
	return npu_dtype_name(l->value[t->id].view.dtype);
}

/* What one final node says about one of the model's nodes. */
static int note_node(struct npu_report *r, const struct npu_lower *l, const struct npu_lnode *ln,
		     bool first, struct npu_placement *p)
{
	const char *lead = leader(r, ln->node);

	if (first) {
		p->type = value_type(l, ln->node);
		p->reason = ln->reason;
	}
	if (ln->place == NPU_PLACE_REFUSED) {
		p->place = NPU_PLACE_REFUSED;
		p->reason = ln->reason;
		return 0;
	}
	if (p->place == NPU_PLACE_REFUSED)
		return 0;
	if (strcmp(lead, p->node)) {
		if (first) {
			p->place = ln->place == NPU_PLACE_NPU ? NPU_PLACE_FUSED : ln->place;
			p->into = ln->place == NPU_PLACE_NPU ? lead : "";
			p->reason = "";
		}
		return 0;
	}
	if (first || ln->place == NPU_PLACE_NPU || ln->place == NPU_PLACE_HOST) {
		p->place = ln->place;
		p->into = "";
	}
	return add_insns(r, l, ln, p);
}

static int fill_node(struct npu_report *r, const struct npu_lower *l,
		     const struct npu_report_index *final, const struct npu_diag *diag,
		     struct npu_placement *p)
{
	unsigned int k, last = ~0u;
	bool first = true;
	int err;

	INDEX_EACH(k, final, p->node) {
		unsigned int node = final->entry[k].node;

		if (node == last)	/* it has the name twice */
			continue;
		last = node;
		err = note_node(r, l, &l->nodes[node], first, p);
		if (err)
			return err;
		first = false;
	}
	for (unsigned int i = 0; i < diag->count; i++) {
		const struct npu_diag_entry *e = &diag->entry[i];

		if (e->level != NPU_DIAG_ERROR || !*e->node || strcmp(e->node, p->node) ||
		    p->place == NPU_PLACE_REFUSED)
			continue;
		p->place = NPU_PLACE_REFUSED;
		p->reason = *e->attr ? npu_arena_printf(r->arena, "%s: %s", e->attr, e->text) :
				       npu_arena_strdup(r->arena, e->text);
		if (!p->reason)
			return -ENOMEM;
	}
	if (p->place != NPU_PLACE_FOLDED)
		return 0;
	if (!l) {
		p->place = NPU_PLACE_UNKNOWN;
		p->reason = "compiling ended before it was looked at";
	} else if (first) {
		p->reason = "computed when compiling, or without effect";
	}
	return 0;
}

static void fill_copies(struct npu_compile_summary *s, const struct npu_lower *l)
{
	for (unsigned int i = 0; i < l->num_insns; i++) {
		uint64_t read, written;

		if (!l->insns[i]->is_copy)
			continue;
		npu_emit_traffic(l, l->insns[i], &read, &written);
		s->copies++;
		s->copy_bytes += written;
	}
}

static void fill_host(struct npu_compile_summary *s, const struct npu_lower *l)
{
	for (unsigned int i = 0; i < l->num_insns; i++) {
		uint64_t read, written;

		if (!l->insns[i]->host)
			continue;
		npu_emit_traffic(l, l->insns[i], &read, &written);
		s->host_bytes += read + written;
		s->insns--;
	}
}

/* Its type is the host's wish. */
static bool of_host(const struct npu_gtensor *t)
{
	bool host = t->producer && t->producer->host;

	for (unsigned int i = 0; i < t->num_consumers; i++)
		host |= t->consumer[i]->host != NULL;
	return host;
}

int npu_report_fill(struct npu_report *r, const struct npu_lower *l, const struct npu_plan *plan,
		    const struct npu_diag *diag)
{
	struct npu_compile_summary *s = &r->summary;
	struct npu_report_index final;
	int err;

	*s = (struct npu_compile_summary){ .programs = s->programs };
	r->placement = npu_arena_array(r->arena, r->num_model + 1, sizeof(*r->placement));
	err = index_final(r, l, &final);
	if (!r->placement || err)
		return -ENOMEM;
	s->nodes = r->num_model;
	for (unsigned int i = 0; i < r->num_model && !err; i++) {
		struct npu_placement *p = &r->placement[i];

		*p = (struct npu_placement){ .node = r->model[i].name, .op = r->model[i].op,
					   .into = "", .insns = "",
					     .type = "", .place = NPU_PLACE_FOLDED, .reason = "" };
		err = fill_node(r, l, &final, diag, p);
		s->count[p->place]++;
		s->macs += p->macs;
		s->npu_macs += p->place == NPU_PLACE_NPU ? p->macs : 0;
	}
	if (err || !l)
		return err;
	s->insns = l->num_insns;
	s->weight_bytes = l->weights ? l->weights->size : 0;
	s->f32_weights = l->weights ? l->weights->f32_kept : 0;
	for (unsigned int i = 0; i < l->num_tensors && l->keep_f32; i++)
		s->f32_steep += l->keep_f32[i] && !l->g->tensors[i]->data &&
				l->g->tensors[i]->type == NPU_GT_F32 && !of_host(l->g->tensors[i]);
	fill_copies(s, l);
	fill_host(s, l);
	if (plan) {
		s->scratch_bytes = plan->scratch;
		s->scratch_lower = plan->scratch_lower;
		s->sram_bytes = plan->sram;
	}
	return 0;
}

void npu_report_free(struct npu_report *r)
{
	free(r->text);
	free(r->json);
	r->text = r->json = NULL;
}
