// SPDX-License-Identifier: MIT
/*
 * Nodes that do more at once than one instruction can: Tile over many dimensions, Slice backwards
 * along several.
 */
#include <errno.h>
#include <string.h>

#include "compiler/pass_canon.h"
#include "npu_isa.h"

#define COPY_RANK	6	/* dims that a COPY takes */

static bool is_one(struct npu_dim d)
{
	return npu_dim_is_const(d) && d.base == 1;
}

/*
 * A node before @n that does a part of it; its result is like @n's input but for dims set by the
 * caller.
 */
static struct npu_gnode *insert_before(struct npu_graph *g, struct npu_gnode *n)
{
	struct npu_gnode *made = npu_graph_insert(g, n->op, n, n->inputs, 1, n->inputs[0]);

	/* one model node: it is counted with the last part */
	if (made)
		made->num_sources = 0;
	return made && !npu_gnode_set_input(g, n, 0, made->outputs[0]) ? made : NULL;
}

/*
 * A repeated dimension is two in the copy: as many per node, from the last on, as a copy has room
 * for.
 */
int npu_canon_tile(struct npu_graph *g, struct npu_gnode *n)
{
	size_t count;
	const int64_t *repeats = npu_gnode_ints(n, "repeats", &count);
	int64_t now[NPU_GRAPH_MAX_RANK], later[NPU_GRAPH_MAX_RANK];
	int rank = n->inputs[0]->rank, room = COPY_RANK - rank, used = 0, rest = 0, i;
	struct npu_gnode *made;

	if (!repeats || count != (size_t)rank || room < 1)
		return 0;
	for (i = rank - 1; i >= 0; i--) {
		bool doubles = repeats[i] != 1 && !is_one(n->inputs[0]->dim[i]);

		now[i] = !doubles || used < room ? repeats[i] : 1;
		later[i] = now[i] == repeats[i] ? 1 : repeats[i];
		used += doubles && used < room;
		rest += later[i] != 1;
	}
	if (!rest)
		return 0;
	made = insert_before(g, n);
	if (!made)
		return -ENOMEM;
	for (i = 0; i < rank; i++)
		if (now[i] != 1)
			made->outputs[0]->dim[i] = n->outputs[0]->dim[i];
	if (npu_gnode_set_ints(g, made, "repeats", now, count) ||
	    npu_gnode_set_ints(g, n, "repeats", later, count))
		return -ENOMEM;
	return npu_canon_tile(g, n);
}

/* Each node runs backwards along one dimension. */
int npu_canon_slice(struct npu_graph *g, struct npu_gnode *n)
{
	size_t rank, have;
	const struct npu_dim *start = npu_gnode_dims(n, "starts", &have);
	const int64_t *step = npu_gnode_ints(n, "steps", &rank);
	struct npu_dim first[NPU_GRAPH_MAX_RANK], rest[NPU_GRAPH_MAX_RANK];
	int64_t step_first[NPU_GRAPH_MAX_RANK], step_rest[NPU_GRAPH_MAX_RANK];
	struct npu_gnode *made;
	int axis = -1, backwards = 0;
	size_t i;

	if (!start || !step || have != rank || rank != (size_t)n->inputs[0]->rank)
		return 0;
	for (i = 0; i < rank; i++) {
		if (step[i] < 0 && !is_one(n->outputs[0]->dim[i])) {
			axis = axis < 0 ? (int)i : axis;
			backwards++;
		}
	}
	if (backwards < 2)
		return 0;
	for (i = 0; i < rank; i++) {
		bool here = (int)i == axis;

		first[i] = here ? start[i] : npu_dim_const(0);
		step_first[i] = here ? step[i] : 1;
		rest[i] = here ? npu_dim_const(0) : start[i];
		step_rest[i] = here ? 1 : step[i];
	}
	made = insert_before(g, n);
	if (!made)
		return -ENOMEM;
	made->outputs[0]->dim[axis] = n->outputs[0]->dim[axis];
	if (npu_gnode_set_dims(g, made, "starts", first, rank) ||
	    npu_gnode_set_ints(g, made, "steps", step_first, rank) ||
	    npu_gnode_set_dims(g, n, "starts", rest, rank) ||
	    npu_gnode_set_ints(g, n, "steps", step_rest, rank))
		return -ENOMEM;
	return npu_canon_slice(g, n);
}
