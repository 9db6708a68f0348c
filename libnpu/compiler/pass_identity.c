// SPDX-License-Identifier: MIT
/* Drops nodes that hand their input on unchanged. */
#include <errno.h>
#include <string.h>

#include "compiler/fold.h"
#include "compiler/pass.h"

#define MASK_MAX	(1 << 24)	/* elements of a Dropout's mask, which is a constant */

static bool all_ints(const struct npu_gnode *n, const char *name, int64_t want)
{
	size_t count, i;
	const int64_t *v = npu_gnode_ints(n, name, &count);

	for (i = 0; i < count; i++)
		if (v[i] != want)
			return false;
	return true;
}

static bool perm_identity(const struct npu_gnode *n)
{
	size_t count, i;
	const int64_t *v = npu_gnode_ints(n, "perm", &count);

	for (i = 0; i < count; i++)
		if (v[i] != (int64_t)i)
			return false;
	return true;
}

/* x + 0, x - 0, x * 1, x / 1, x ^ 1; a zero of the other sign is the same value */
static bool arithmetic_identity(const struct npu_gnode *n)
{
	unsigned int index;
	float v;

	if (!npu_gnode_scalar_operand(n, &v, &index))
		return false;
	switch (n->op) {
	case NPU_GOP_Add:
		return v == 0;
	case NPU_GOP_Mul:
		return v == 1;
	case NPU_GOP_Sub:
		return v == 0 && index == 0;
	case NPU_GOP_Div: case NPU_GOP_Pow:
		return v == 1 && index == 0;
	default:
		return false;
	}
}

/*
 * Which input the node hands on, -1 when it computes something. Shapes have been compared already.
 */
static int handed_on(const struct npu_gnode *n)
{
	switch (n->op) {
	case NPU_GOP_Identity:
	case NPU_GOP_Dropout:
	case NPU_GOP_Cast:
	case NPU_GOP_CastLike:
	case NPU_GOP_Reshape:
	case NPU_GOP_Flatten: case NPU_GOP_Squeeze: case NPU_GOP_Unsqueeze: case NPU_GOP_Expand:
		return 0;
	case NPU_GOP_Transpose:
		return perm_identity(n) ? 0 : -1;
	case NPU_GOP_Slice:
		return all_ints(n, "steps", 1) ? 0 : -1;
	case NPU_GOP_Pad:
		return all_ints(n, "pads", 0) ? 0 : -1;
	case NPU_GOP_Tile:
		return all_ints(n, "repeats", 1) ? 0 : -1;
	case NPU_GOP_Concat:
	case NPU_GOP_Sum:
	case NPU_GOP_Mean:
	case NPU_GOP_Max:
	case NPU_GOP_Min: return n->num_inputs == 1 ? 0 : -1;
	case NPU_GOP_Split:
		return n->num_outputs == 1 ? 0 : -1;
	case NPU_GOP_Resize: case NPU_GOP_Upsample:
		/* the same size means scale 1 but for crops */
		return strcmp(npu_gnode_string(n, "coordinate_transformation_mode", ""),
			      "tf_crop_and_resize") ?
			       0 :
			       -1;
	case NPU_GOP_Add: case NPU_GOP_Sub: case NPU_GOP_Mul: case NPU_GOP_Div: case NPU_GOP_Pow:
		return arithmetic_identity(n) ? (n->inputs[0]->data ? 1 : 0) : -1;
	default:
		return -1;
	}
}

static bool training(const struct npu_gnode *n)
{
	const struct npu_gtensor *t = npu_gnode_in(n, 2);
	double v;

	return n->op == NPU_GOP_Dropout && t && !(npu_gtensor_scalar(t, &v) && v == 0);
}

static bool mask_wanted(const struct npu_gnode *n)
{
	return n->op == NPU_GOP_Dropout && n->num_outputs > 1 && n->outputs[1] &&
	       (n->outputs[1]->num_consumers || n->outputs[1]->is_output);
}

/* Nothing is dropped in inference: a constant of true. */
static int mask_constant(struct npu_graph *g, struct npu_gnode *n, struct npu_diag *diag)
{
	struct npu_gtensor *mask = n->outputs[1], *ones;
	int64_t dims[NPU_GRAPH_MAX_RANK], count = npu_gtensor_const_elems(mask);
	int i;

	if (count < 0 || count > MASK_MAX)
		return npu_diag_node(
			diag, -EOPNOTSUPP, n, "mask",
			"the second output is supported for fixed sizes up to %d elements",
			MASK_MAX);
	for (i = 0; i < mask->rank; i++)
		dims[i] = mask->dim[i].base;
	ones = npu_graph_const(g, n->name, mask->type, mask->rank, dims, NULL);
	if (!ones)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		npu_fold_put_int(ones, (size_t)i, 1);
	return npu_graph_replace(g, mask, ones);
}

int npu_pass_identity(struct npu_graph *g, struct npu_diag *diag)
{
	unsigned int i;
	int from, err;

	for (i = 0; i < g->num_nodes; i++) {
		struct npu_gnode *n = g->nodes[i];

		if (n->dead || !n->num_outputs || !n->outputs[0] || !n->num_inputs ||
		    !npu_gnode_plain(n))
			continue;
		if (training(n))
			return npu_diag_node(diag, -EOPNOTSUPP, n, "training_mode",
					     "only inference is supported");
		err = mask_wanted(n) ? mask_constant(g, n, diag) : 0;
		if (err)
			return err;
		from = handed_on(n);
		if (from < 0 || n->inputs[from]->type != n->outputs[0]->type ||
		    !npu_gtensor_same_shape(n->inputs[from], n->outputs[0]))
			continue;
		err = npu_graph_replace(g, n->outputs[0], n->inputs[from]);
		if (err)
			return err;
		npu_graph_remove(g, n);
	}
	npu_graph_sweep(g);
	return 0;
}
