// SPDX-License-Identifier: MIT
/*
 * Types, shapes and constants in one walk: a shape may depend on a folded constant and a fold on a
 * shape, so each node is inferred and, when everything it reads is known, evaluated before the next
 * one is looked at.
 */
#include <errno.h>
#include <string.h>

#include "compiler/fold.h"
#include "compiler/host_place.h"
#include "compiler/pass.h"
#include "compiler/shape.h"

static int check_inputs(struct npu_graph *g, struct npu_diag *diag)
{
	unsigned int i;
	int k, err = 0;
	double elems;

	for (i = 0; i < g->num_inputs; i++) {
		const struct npu_gtensor *t = g->inputs[i];

		for (elems = 1, k = 0; k < t->rank; k++)
			elems *= (double)npu_dim_high(g, t->dim[k]);
		if (elems > NPU_SHAPE_ELEMS_MAX)
			err = npu_diag_add(
				diag, -EOPNOTSUPP, t->name,
				"input of up to %.3g elements, at most %.3g are supported", elems,
				NPU_SHAPE_ELEMS_MAX);
		if (t->rank < 0)
			err = npu_diag_add(diag, -EINVAL, t->name,
					   "the model gives this input no shape: bind one");
		for (k = 0; k < t->rank; k++)
			if (t->dim[k].sym == NPU_DIM_UNKNOWN)
				err = npu_diag_add(
					diag, -EINVAL, t->name,
					"dimension %d is dynamic in the model: bind a size or a symbol with bounds",
					k);
	}
	return err;
}

/* Followed values that turned out constant become data. */
static int materialize(struct npu_graph *g, struct npu_gnode *n)
{
	struct npu_gtensor *t;
	unsigned int k, made = 0;
	size_t i;

	for (k = 0; k < n->num_outputs; k++) {
		t = n->outputs[k];
		if (!t)
			continue;
		for (i = 0; t->value && i < t->num_values && npu_dim_is_const(t->value[i]); i++)
			;
		if (!t->data && t->value && i == t->num_values && npu_gtype_size(t->type)) {
			t->size = i * npu_gtype_size(t->type);
			t->data = npu_arena_alloc(&g->arena, t->size ? t->size : 1);
			if (!t->data)
				return -ENOMEM;
			for (i = 0; i < t->num_values; i++)
				npu_fold_put_int(t, i, t->value[i].base);
		}
		made += t->data != NULL;
	}
	if (made == n->num_outputs)
		npu_graph_remove(g, n);
	return 0;
}

static bool inputs_known(const struct npu_gnode *n)
{
	unsigned int i;

	for (i = 0; i < n->num_inputs; i++)
		if (n->inputs[i] && (n->inputs[i]->rank < 0 || n->inputs[i]->type == NPU_GT_NONE))
			return false;
	return true;
}

static bool rescale_dims(struct npu_dim *d, size_t count, int sym, int64_t by)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (d[i].sym == sym && __builtin_mul_overflow(d[i].factor, by, &d[i].factor))
			return false;
	return true;
}

/*
 * Pretend that symbol @sym had been declared with a step @by times as large. The graph is of no
 * further use, but inference can go on and find the step that suits the whole model.
 */
static bool rescale(struct npu_graph *g, int sym, int64_t by)
{
	struct npu_symbol *s = &g->syms[sym];
	unsigned int i, k;
	int64_t step;

	if (__builtin_mul_overflow(s->step, by, &step) || s->max / step < 1)
		return false;
	s->step = step;
	s->smax = s->max / step;
	s->smin = s->min / step > 0 ? s->min / step : 1;
	for (i = 0; i < g->num_tensors; i++) {
		struct npu_gtensor *t = g->tensors[i];

		if (t->rank > 0 && !rescale_dims(t->dim, (size_t)t->rank, sym, by))
			return false;
		if (t->value && !rescale_dims(t->value, t->num_values, sym, by))
			return false;
	}
	for (i = 0; i < g->num_nodes; i++)
		for (k = 0; k < g->nodes[i]->num_attrs; k++)
			if (!rescale_dims((struct npu_dim *)g->nodes[i]->attrs[k].dims,
					  g->nodes[i]->attrs[k].dims ? g->nodes[i]->attrs[k].count :
								       0,
					  sym, by))
				return false;
	return true;
}

/* State of the walk: which symbols were found to need a larger step, and where last. */
struct infer {
	struct npu_graph *g;
	struct npu_diag *diag;
	const struct npu_gnode *last[NPU_GRAPH_MAX_SYMS];
	unsigned int times[NPU_GRAPH_MAX_SYMS];
};

static int infer_shape(struct infer *in, struct npu_shape *s)
{
	int err = npu_shape_node(s), first = err;

	while (err == -EDOM && s->need > 1 && rescale(in->g, s->need_sym, s->need)) {
		in->last[s->need_sym] = s->n;
		in->times[s->need_sym]++;
		s->need = 0;
		s->told |= 1u << s->need_sym;
		err = npu_shape_node(s);
	}
	return err ? err : first;
}

/* One line that needs no second try, for a symbol that several nodes divide. */
static void report_steps(struct infer *in)
{
	unsigned int i;

	for (i = 0; i < in->g->num_syms; i++)
		if (in->times[i] > 1)
			npu_diag_add(
				in->diag, -EDOM, in->g->syms[i].name,
				"%u nodes divide it, the last is '%s'; a step that is a multiple of %lld suits all of them",
				in->times[i], in->last[i]->name, (long long)in->g->syms[i].step);
}

/* Only the host can read what has no length yet. */
static int check_bounded(const struct npu_shape *s)
{
	unsigned int i;

	for (i = 0; i < s->n->num_inputs && !s->host; i++)
		if (s->n->inputs[i] && s->n->inputs[i]->bounded)
			return npu_diag_node(s->diag, -EOPNOTSUPP, s->n, s->n->inputs[i]->name,
					     "the data decide its length, and no host operator does this node");
	return 0;
}

/* A node of the host's: constants are computed all the same. */
static int infer_host(struct infer *in, struct npu_shape *s, const struct npu_host_form *form,
		      const char *why)
{
	int err = s->n->op == NPU_GOP_Host ? npu_host_infer(s) : infer_shape(in, s);

	if (!err && s->n->op != NPU_GOP_Host)
		err = npu_fold_node(in->g, s->n);
	if (err < 0 || s->n->dead)
		return err;
	return npu_host_place(s, form, why);
}

static int infer_node(struct infer *in, struct npu_gnode *n)
{
	struct npu_graph *g = in->g;
	struct npu_shape s = { .g = g, .diag = in->diag, .n = n };
	struct npu_host_form form;
	const char *why = NULL;
	unsigned int i;
	int err, first;

	/* what follows from a refused node is no news */
	if (!inputs_known(n))
		return 0;
	s.host = g->host && (n->host || npu_host_place_op(g, n));
	if (s.host && npu_host_form_keep(g, n, &form))
		return -ENOMEM;
	if (s.host)
		why = n->host ? n->host->reason : npu_host_place_reason(g, n, false);
	err = check_bounded(&s);
	if (err)
		return err;
	if (why)
		return infer_host(in, &s, &form, why);
	for (i = 0; i < g->num_syms; i++)
		s.told |= (in->times[i] > 0 ? 1u : 0) << i;
	first = infer_shape(in, &s);
	if (first && (first != -EDOM || !n->num_outputs || n->outputs[0]->rank < 0))
		return first;
	err = npu_value_node(&s);
	if (!err)
		err = materialize(g, n);
	if (!err && !n->dead)
		err = npu_fold_node(g, n);
	if (err >= 0 && !first && !n->dead && s.host)
		why = s.host_reason ? s.host_reason : npu_host_place_reason(g, n, true);
	if (why)
		err = npu_host_place(&s, &form, why);
	return err < 0 ? err : first;
}

int npu_pass_infer(struct npu_graph *g, struct npu_diag *diag)
{
	struct infer in = { .g = g, .diag = diag };
	unsigned int i;
	int err, first;

	first = check_inputs(g, diag);
	for (i = 0; i < g->num_nodes && !first; i++)
		if (!g->nodes[i]->num_outputs)
			npu_graph_remove(g, g->nodes[i]);
	if (first)
		return first;
	for (i = 0; i < g->num_nodes; i++) {
		err = g->nodes[i]->dead ? 0 : infer_node(&in, g->nodes[i]);
		first = first ? first : err;
		if (err == -ENOMEM)
			break;
	}
	report_steps(&in);
	return first;
}
