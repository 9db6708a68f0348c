// SPDX-License-Identifier: MIT
#include "quant/channels.h"

#include "compiler/lower.h"

int npu_channels_axis(const struct npu_gnode *n)
{
	if (n->op != NPU_GOP_MatMul)
		return 1;
	return n->inputs[0]->rank - (npu_gnode_int(n, "transA", 0) ? 2 : 1);
}

struct npu_channels npu_channels_of(const struct npu_gtensor *t, int axis, bool channels_last)
{
	const int *order = channels_last ? npu_layout_channels_last(t->rank) : NULL;
	struct npu_channels c = { 1, (size_t)t->dim[axis].base, 1 };
	bool before = true;

	for (int i = 0; i < t->rank; i++) {
		int d = order ? order[i] : i;

		if (d == axis)
			before = false;
		else
			*(before ? &c.outer : &c.inner) *= (size_t)t->dim[d].base;
	}
	return c;
}
