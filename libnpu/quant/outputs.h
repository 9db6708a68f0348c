/* SPDX-License-Identifier: MIT */
/* What of a model is compared when its last steps are the host's. */
#ifndef NPU_QUANT_OUTPUTS_H
#define NPU_QUANT_OUTPUTS_H

#include "compiler/graph.h"

/*
 * npu_outputs_before_host - give outputs up that two runs can not be compared by
 *
 * An output whose length the data decide, or which the host makes of other than f32 (indices of
 * boxes), jumps at the least error: in its place come the f32 tensors that the host makes it of.
 * All others stay. Nodes that nothing needs any more are dropped. Returns 0, or a negative errno
 * with a text in @diag.
 */
int npu_outputs_before_host(struct npu_graph *g, struct npu_diag *diag);

#endif
