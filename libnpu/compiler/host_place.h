/* SPDX-License-Identifier: MIT */
/*
 * Nodes that run on the host, as steps of the job's schedule.
 *
 * A node goes there when the graph allows it (g->host), a host operator of that name exists, and
 * the NPU can not do it: there is no lowering for its operator, a type is none of the device's, an
 * input has lengths that the data decide, or its lowering refused it in an earlier try (a pin). It
 * becomes NPU_GOP_Host while shapes are inferred, before any pass could change what it means, with
 * its inputs and attributes as the model has them; no pass touches such a node.
 */
#ifndef NPU_COMPILER_HOST_PLACE_H
#define NPU_COMPILER_HOST_PLACE_H

#include "compiler/shape.h"

/* The application's operators and libnpu's; NULL when there is none, or not at the node's opset. */
const struct npu_host_op *npu_host_place_op(const struct npu_graph *g, const struct npu_gnode *n);

/*
 * Why the node can not be on the NPU, as far as can be told before its shape is known, or NULL.
 * @after: its outputs have types and shapes.
 */
const char *npu_host_place_reason(struct npu_graph *g, const struct npu_gnode *n, bool after);

/* What shape inference may change of a node, kept so that the host gets the model's. */
struct npu_host_form {
	struct npu_attr *attrs;
	unsigned int num_attrs;
};

int npu_host_form_keep(struct npu_graph *g, const struct npu_gnode *n, struct npu_host_form *form);

/*
 * Make @s->n, whose outputs have their shapes, one of the host's. Marks outputs whose lengths the
 * data decide. Returns 0, -EOPNOTSUPP (reported: an input's length is open) or -ENOMEM.
 */
int npu_host_place(struct npu_shape *s, const struct npu_host_form *form, const char *reason);

/* Import: the node is of an operator of the application's that the graph does not know. */
int npu_host_place_own(struct npu_graph *g, struct npu_gnode *n, const struct npu_host_op *op);
/* Shapes of such a node, from the operator's infer(). */
int npu_host_infer(struct npu_shape *s);

/* ---- what a host operator is called with, in the graph's terms ---- */

/* enum npu_dtype or enum npu_host_dtype; 0: none (strings). */
uint32_t npu_host_dtype_of(enum npu_gtype type);
enum npu_gtype npu_host_gtype_of(uint32_t dtype);
/* False: a kind of attribute that host operators do not get. */
bool npu_host_attr_of(struct npu_host_attr *h, const struct npu_attr *a);

#endif
