// SPDX-License-Identifier: MIT
/* Runs the table of passes. */
#include <errno.h>
#include <string.h>

#include "compiler/fold.h"
#include "compiler/pass.h"

static const struct npu_pass passes[] = {
#define NPU_PASS_ENTRY(name, optional, help) { #name, help, npu_pass_##name, optional },
	NPU_PASS_LIST(NPU_PASS_ENTRY)
#undef NPU_PASS_ENTRY
};

#define NUM_PASSES	(sizeof(passes) / sizeof(passes[0]))

const char *npu_pass_name(unsigned int i)
{
	return i < NUM_PASSES ? passes[i].name : NULL;
}

const char *npu_pass_help(unsigned int i)
{
	return i < NUM_PASSES ? passes[i].help : NULL;
}

static bool name_listed(const char *list, const char *name)
{
	size_t len = strlen(name);
	const char *p = list;

	while (p && *p) {
		if (!strncmp(p, name, len) && (p[len] == ',' || !p[len]))
			return true;
		p = strchr(p, ',');
		p = p ? p + 1 : NULL;
	}
	return false;
}

static const struct npu_pass *find_pass(const char *name, size_t len)
{
	unsigned int i;

	for (i = 0; i < NUM_PASSES; i++)
		if (!strncmp(passes[i].name, name, len) && !passes[i].name[len])
			return &passes[i];
	return NULL;
}

static int check_options(const struct npu_pass_options *options, struct npu_diag *diag)
{
	const struct npu_pass *pass;
	const char *p;
	size_t len;

	if (options->dump_pass && strcmp(options->dump_pass, "all") &&
	    !find_pass(options->dump_pass, strlen(options->dump_pass)))
		return npu_diag_add(diag, -EINVAL, "dump_pass", "there is no pass '%.40s'",
				    options->dump_pass);
	for (p = options->skip; p && *p; p += len + (p[len] == ',')) {
		len = strcspn(p, ",");
		pass = find_pass(p, len);
		if (!pass || !pass->optional)
			return npu_diag_add(diag, -EINVAL, "skip", "%s '%.*s'",
					    pass ? "the graph needs pass" : "there is no pass",
					    len < 40 ? (int)len : 40, p);
	}
	return 0;
}

void npu_graph_sweep(struct npu_graph *g)
{
	unsigned int i = g->num_nodes, k;
	struct npu_gnode *n;
	bool used;

	/* nodes are in topological order, so one walk from the end is enough */
	while (i--) {
		n = g->nodes[i];
		if (n->dead)
			continue;
		for (used = false, k = 0; k < n->num_outputs; k++)
			used |= n->outputs[k] &&
				(n->outputs[k]->num_consumers || n->outputs[k]->is_output);
		if (!used)
			npu_graph_remove(g, n);
	}
}

int npu_graph_optimize(struct npu_graph *g, const struct npu_pass_options *options,
		       struct npu_diag *diag)
{
	static const struct npu_pass_options none;
	unsigned int i;
	int err;

	if (!options)
		options = &none;
	err = check_options(options, diag);
	for (i = 0; i < NUM_PASSES && !err; i++) {
		if (passes[i].optional && name_listed(options->skip, passes[i].name))
			continue;
		err = passes[i].run(g, diag);
		if (!err)
			err = npu_graph_sort(g, diag);
		if (options->dump && options->dump_pass &&
		    (!strcmp(options->dump_pass, "all") ||
		     !strcmp(options->dump_pass, passes[i].name))) {
			fprintf(options->dump, "after %s:\n", passes[i].name);
			npu_graph_dump(g, options->dump);
		}
	}
	if (err && !diag->errors)
		npu_diag_add(diag, err, NULL, "out of memory");
	return err;
}

/* ---- helpers of the passes ------------------------------------------------------------------- */

struct npu_gnode *npu_gtensor_only_consumer(const struct npu_gtensor *t)
{
	return t && t->num_consumers == 1 && !t->is_output ? t->consumer[0] : NULL;
}

bool npu_gtensor_float_scalar(const struct npu_gtensor *t, float *value)
{
	double v;

	if (!t || !npu_fold_is_float(t->type) || !npu_gtensor_scalar(t, &v))
		return false;
	*value = (float)v;
	return true;
}

struct npu_gtensor *npu_gnode_scalar_operand(const struct npu_gnode *n, float *value,
					     unsigned int *index)
{
	unsigned int i;

	if (n->num_inputs != 2)
		return NULL;
	for (i = 0; i < 2; i++) {
		if (npu_gtensor_is_const(n->inputs[i]) ||
		    !npu_gtensor_float_scalar(n->inputs[1 - i], value) ||
		    n->inputs[1 - i]->rank > n->inputs[i]->rank)
			continue;
		*index = i;
		return n->inputs[i];
	}
	return NULL;
}

bool npu_gtensor_same_shape(const struct npu_gtensor *a, const struct npu_gtensor *b)
{
	int i;

	if (a->rank != b->rank || a->rank < 0)
		return false;
	for (i = 0; i < a->rank; i++)
		if (!npu_dim_equal(a->dim[i], b->dim[i]))
			return false;
	return true;
}

void npu_gtensor_copy_shape(struct npu_gtensor *to, const struct npu_gtensor *from)
{
	to->rank = from->rank;
	memcpy(to->dim, from->dim, sizeof(to->dim));
}

bool npu_gnode_plain(const struct npu_gnode *n)
{
	return !n->ep.act.kind && !n->ep.has_affine && !n->ep.res_op && !n->ep.act2.kind;
}

struct npu_gnode *npu_graph_insert(struct npu_graph *g, enum npu_gop op,
				   const struct npu_gnode *from, struct npu_gtensor *const *inputs,
				   unsigned int num_inputs, const struct npu_gtensor *like)
{
	struct npu_gtensor *out = npu_graph_tensor(g, NULL, like->name, like->type);
	struct npu_gnode *n;

	if (!out)
		return NULL;
	npu_gtensor_copy_shape(out, like);
	n = npu_graph_node(g, op, NULL, inputs, num_inputs, &out, 1);
	if (!n || npu_gnode_take_sources(g, n, from))
		return NULL;
	n->opset = from->opset;
	n->model_op = from->model_op;
	return n;
}

int npu_graph_substitute(struct npu_graph *g, struct npu_gnode *old, struct npu_gnode *by)
{
	int err = npu_graph_replace(g, old->outputs[0], by->outputs[0]);

	if (!err)
		npu_graph_remove(g, old);
	return err;
}
