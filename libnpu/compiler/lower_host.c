// SPDX-License-Identifier: MIT
/*
 * Nodes on the host: their arguments lie dense, in the model's order and types, outside of on-chip
 * memory. What is not so is copied by the NPU before or behind the step.
 */
#include <errno.h>
#include <string.h>

#include "compiler/host_place.h"
#include "compiler/lower.h"
#include "compiler/weights.h"

/* The step is an instruction to the plan and the report, without operands. */
static const struct npu_op_desc host_desc = { .mnemonic = "host", .summary = "", .formula = "" };

enum npu_dtype npu_lower_host_dtype(enum npu_gtype type)
{
	uint32_t dtype = npu_host_dtype_of(type);

	if (dtype && dtype < NPU_NUM_DTYPES)
		return (enum npu_dtype)dtype;
	/* Bits that only the host understands, as a type of the same size. */
	switch (npu_host_dtype_size(dtype)) {
	case 2:
		return NPU_F16;
	case 4:
		return NPU_I32;
	case 8:
		return NPU_I64;
	default:
		return NPU_NONE;
	}
}

/* Dense at every length, at a place that is aligned, plain elements of @dtype. */
static bool is_dense(const struct npu_lower *l, const struct npu_lview *v, enum npu_dtype dtype)
{
	struct npu_lview w = *v;

	if (v->dtype != dtype || v->scale != 0 || v->layout != NPU_LAYOUT_STRIDED ||
	    v->offset.num_terms || v->offset.base % NPU_WEIGHT_ALIGN ||
	    npu_lview_dense(l, &w, NULL, false))
		return false;
	for (int i = 0; i < v->rank; i++)
		if (!(npu_dim_is_const(v->dim[i]) && v->dim[i].base == 1) &&
		    !npu_poly_equal(&v->stride[i], &w.stride[i]))
			return false;
	return true;
}

/* Memory of the step's own for @t. */
static int own_memory(struct npu_lower *l, const struct npu_gtensor *t, enum npu_dtype dtype,
		      struct npu_lview *v)
{
	int err = npu_lower_temp(l, t->dim, t->rank, dtype, v);

	if (err)
		return err;
	v->buf->name = t->name;
	return is_dense(l, v, dtype) ?
		       0 :
		       npu_lower_refuse(
			       l, t->name,
			       "the host needs it dense, but two run-time lengths multiply in its strides; fix one of them");
}

static int constant_in(struct npu_lower *l, const struct npu_gtensor *t, struct npu_lharg *arg)
{
	uint64_t offset;
	int err;

	/* An empty list stands for an argument that is left out. */
	if (!t->size) {
		arg->present = false;
		return 0;
	}
	if (t->quant)
		return npu_lower_const(l, t, arg->view.dtype, &arg->view);
	err = npu_weights_add(l->weights, t->data, t->size, &offset);
	if (err)
		return err;
	arg->view.rank = t->rank;
	memcpy(arg->view.dim, t->dim, sizeof(arg->view.dim));
	arg->view.buf = l->weight_buf;
	arg->view.offset = npu_poly_const((int64_t)offset);
	return npu_lview_dense(l, &arg->view, NULL, true);
}

static int argument_in(struct npu_lower *l, struct npu_gtensor *t, struct npu_lharg *arg)
{
	enum npu_dtype dtype = arg->view.dtype;
	struct npu_lview have;
	int err;

	if (npu_gtensor_is_const(t))
		return constant_in(l, t, arg);
	err = npu_lower_in(l, t, &have);
	if (err)
		return err;
	if (is_dense(l, &have, dtype)) {
		arg->view = have;
		return 0;
	}
	if (t->bounded || (npu_host_dtype_of(t->type) >= NPU_NUM_DTYPES && dtype == NPU_F16))
		return npu_lower_refuse(
			l, t->name,
			"it would have to be copied for the host, which is not possible");
	err = own_memory(l, t, dtype, &arg->view);
	return err ? err : npu_lower_copy(l, &arg->view, &have, "the host reads dense data");
}

/* Where the step writes @t; *@copy: it goes on from there. */
static int argument_out(struct npu_lower *l, struct npu_gtensor *t, enum npu_gtype type,
			struct npu_lharg *arg, bool *copy)
{
	struct npu_lvalue *val = &l->value[t->id];
	int err;

	*copy = false;
	if (val->placed && is_dense(l, &val->view, arg->view.dtype)) {
		arg->view = val->view;
		val->ready = true;
		return 0;
	}
	*copy = val->placed || type != t->type || t->quant;
	if (*copy && t->bounded)
		return npu_lower_refuse(
			l, t->name, "the data decide its length, and it would have to be copied");
	err = own_memory(l, t, arg->view.dtype, &arg->view);
	if (err)
		return err;
	if (!*copy) {
		val->view = arg->view;
		val->ready = true;
	}
	return 0;
}

static int check_argument(struct npu_lower *l, const struct npu_gtensor *t, enum npu_gtype type)
{
	if (npu_lower_host_dtype(type) == NPU_NONE)
		return npu_lower_refuse(l, t->name, "the host has no type %s",
					npu_gtype_name(type));
	if (t->rank < 0)
		return npu_lower_refuse(l, t->name, "its shape is not known");
	for (int i = 0; i < t->rank && !npu_gtensor_is_const(t); i++)
		if (npu_dim_low(l->g, t->dim[i]) < 1)
			return npu_lower_refuse(l, t->name,
						"the tensor can be empty (dimension %d)", i);
	return 0;
}

static struct npu_linsn *step_create(struct npu_lower *l, struct npu_lhost *h)
{
	struct npu_linsn *insn = npu_lower_insn(l, NPU_OP_COPY);

	if (!insn)
		return NULL;
	insn->desc = &host_desc;
	insn->host = h;
	return insn;
}

int npu_lower_host(struct npu_lower *l, struct npu_gnode *n)
{
	unsigned int count = n->num_inputs + n->num_outputs, i;
	struct npu_lhost *h = npu_arena_alloc(l->arena, sizeof(*h));
	bool *copy = npu_arena_array(l->arena, n->num_outputs + 1, sizeof(*copy));
	int err = 0;

	if (!h || !copy)
		return -ENOMEM;
	*h = (struct npu_lhost){ .node = n, .num_in = n->num_inputs, .num_out = n->num_outputs };
	h->arg = npu_arena_array(l->arena, count + 1, sizeof(*h->arg));
	if (!h->arg)
		return -ENOMEM;
	for (i = 0; i < count && !err; i++) {
		struct npu_gtensor *t = i < h->num_in ? n->inputs[i] : n->outputs[i - h->num_in];
		enum npu_gtype type = n->host->types[i];

		if (!t)
			continue;
		h->arg[i].t = t;
		h->arg[i].present = true;
		h->arg[i].dtype = npu_host_dtype_of(type);
		h->arg[i].view.dtype = npu_lower_host_dtype(type);
		err = check_argument(l, t, type);
		if (!err && i < h->num_in)
			err = argument_in(l, t, &h->arg[i]);
	}
	if (!err && !step_create(l, h))
		return -ENOMEM;
	for (i = 0; i < h->num_out && !err; i++)
		if (n->outputs[i])
			err = argument_out(l, n->outputs[i], n->host->types[h->num_in + i],
					   &h->arg[h->num_in + i], &copy[i]);
	for (i = 0; i < h->num_out && !err; i++)
		if (n->outputs[i] && copy[i])
			err = npu_lower_finish(l, n->outputs[i], &h->arg[h->num_in + i].view);
	npu_lower_note(l, "%s", n->host->reason);
	return err;
}
