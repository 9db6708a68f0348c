// SPDX-License-Identifier: MIT
/*
 * When a model ends before its nodes are lowered, because one has an operator that is not known or
 * a shape that can not be inferred, the others are still looked at: a user should learn of all of
 * them in one go.
 */
#include <errno.h>
#include <string.h>

#include "compiler/host_place.h"
#include "compiler/lower.h"

static bool is_reported(const struct npu_diag *diag, const struct npu_gnode *n)
{
	for (unsigned int i = 0; i < diag->count; i++)
		if (!strcmp(diag->entry[i].node, n->name))
			return true;
	return false;
}

/* A node on constants would have been computed by the compiler, whatever the device can do. */
static bool is_constant(const struct npu_gnode *n)
{
	unsigned int known = 0;

	for (unsigned int i = 0; i < n->num_inputs; i++) {
		if (n->inputs[i] && !n->inputs[i]->data)
			return false;
		known += n->inputs[i] != NULL;
	}
	return known > 0;
}

void npu_refuse_rest(const struct npu_graph *g, struct npu_diag *diag)
{
	unsigned int found = diag->errors;

	for (unsigned int i = 0; i < g->num_nodes; i++) {
		const struct npu_gnode *n = g->nodes[i];
		const struct npu_op_rule *rule = npu_op_rule(n->op);

		/*
		 * Those that the optimizer takes away have no lowering, but they say what becomes
		 * of them.
		 */
		if (n->dead || (rule && (rule->lower || rule->insns[0])) || is_constant(n))
			continue;
		if (g->host && npu_host_place_op(g, n))
			continue;
		/*
		 * Looking a name up in a long list of errors for every node would take the square
		 * of it.
		 */
		if (diag->count > 200 || is_reported(diag, n))
			continue;
		npu_diag_node(diag, -EOPNOTSUPP, n, NULL, "operator is not supported%s%s",
			      rule && *rule->limits ? ": " : "", rule ? rule->limits : "");
	}
	if (found && g->num_nodes > diag->errors)
		npu_diag_named(diag, NPU_DIAG_NOTE, 0, "", "",
			       "the attributes and shapes of the nodes behind these could not be looked at");
}
