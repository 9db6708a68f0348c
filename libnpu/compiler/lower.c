// SPDX-License-Identifier: MIT
/* Lowering: the walk over the graph, and what every operator's lowering uses. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "compiler/host_place.h"
#include "compiler/lower.h"

enum npu_dtype npu_lower_dtype(const struct npu_lower *l, const struct npu_gtensor *t)
{
	uint32_t dtype = npu_host_dtype_of(t->type);

	if (dtype == NPU_F32 && l->precision != NPU_PRECISION_F32 &&
	    (t->id >= l->num_tensors || !l->keep_f32[t->id]))
		return NPU_F16;
	return dtype < NPU_NUM_DTYPES ? (enum npu_dtype)dtype : NPU_NONE;
}

static int grow(struct npu_lower *l, void *array, unsigned int count, unsigned int *max,
		size_t size)
{
	void **p = array, *bigger;

	if (count < *max)
		return 0;
	bigger = npu_arena_array(l->arena, *max ? *max * 2 : 64, size);
	if (!bigger)
		return -ENOMEM;
	if (*p)
		memcpy(bigger, *p, count * size);
	*p = bigger;
	*max = *max ? *max * 2 : 64;
	return 0;
}

/* ---- messages -------------------------------------------------------------------------------- */

int npu_lower_refuse(struct npu_lower *l, const char *attr, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int err;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!l->cur)
		return npu_diag_add(l->diag, -EOPNOTSUPP, attr, "%s", text);
	err = npu_diag_node(l->diag, -EOPNOTSUPP, l->cur->node, attr, "%s", text);
	l->cur->place = NPU_PLACE_REFUSED;
	l->cur->reason = attr ? npu_arena_printf(l->arena, "%s: %s", attr, text) :
				npu_arena_strdup(l->arena, text);
	return l->cur->reason ? err : -ENOMEM;
}

void npu_lower_note(struct npu_lower *l, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	char *s;

	if (!l->cur)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (*l->cur->reason && strstr(l->cur->reason, text))
		return;
	s = *l->cur->reason ? npu_arena_printf(l->arena, "%s; %s", l->cur->reason, text) :
			      npu_arena_strdup(l->arena, text);
	if (s)
		l->cur->reason = s;
}

/* ---- buffers --------------------------------------------------------------------------------- */

struct npu_lbuf *npu_lower_buf(struct npu_lower *l, enum npu_lbuf_kind kind, uint64_t size,
			       const char *name)
{
	struct npu_lbuf *b = npu_arena_alloc(l->arena, sizeof(*b));

	if (!b || grow(l, &l->bufs, l->num_bufs, &l->max_bufs, sizeof(*l->bufs)))
		return NULL;
	b->id = l->num_bufs;
	b->kind = kind;
	b->size = size;
	b->name = name;
	b->first = INT32_MAX;
	b->last = -1;
	l->bufs[l->num_bufs++] = b;
	return b;
}

/* A dense buffer of its own for @v, whose dims and type are set. */
static int view_alloc(struct npu_lower *l, struct npu_lview *v, const int *order,
		      enum npu_lbuf_kind kind, const char *name)
{
	int64_t bytes = npu_lview_bytes(l, v);

	if (bytes > (int64_t)NPU_MAX_EXTENT)
		return npu_lower_refuse(l, name,
					"the tensor is larger than the device's address space");
	if (npu_lview_dense(l, v, order, kind != NPU_LBUF_INPUT))
		return npu_lower_refuse(
			l, name,
			"more than two run-time lengths multiply in its strides; fix one of them");
	v->offset = npu_poly_const(0);
	v->layout = NPU_LAYOUT_STRIDED;
	v->buf = npu_lower_buf(l, kind, (uint64_t)bytes, name);
	return v->buf ? 0 : -ENOMEM;
}

void npu_lview_of(const struct npu_gtensor *t, enum npu_dtype dtype, struct npu_lview *v)
{
	memset(v, 0, sizeof(*v));
	v->dtype = dtype;
	/* Quantized along an axis it is read as codes by convolutions and products only. */
	if (t->quant && t->quant->axis < 0 && !npu_dtype_is_float(dtype)) {
		v->scale = t->quant->scale;
		v->zero_point = t->quant->zero;
	}
	v->rank = t->rank;
	memcpy(v->dim, t->dim, sizeof(v->dim));
}

int npu_lower_temp_like(struct npu_lower *l, const struct npu_dim *dim, int rank,
			const struct npu_lview *like, struct npu_lview *out)
{
	/* the caller's dims and template may be those of @out */
	struct npu_lview v = { .dtype = like->dtype, .scale = like->scale,
			       .zero_point = like->zero_point, .rank = rank };
	int err;

	if (rank)
		memcpy(v.dim, dim, (size_t)rank * sizeof(*dim));
	err = view_alloc(l, &v, NULL, NPU_LBUF_SCRATCH, "");
	*out = v;
	return err;
}

int npu_lower_temp(struct npu_lower *l, const struct npu_dim *dim, int rank, enum npu_dtype dtype,
		   struct npu_lview *out)
{
	const struct npu_lview like = { .dtype = dtype };

	return npu_lower_temp_like(l, dim, rank, &like, out);
}

static enum npu_dtype program_float(const struct npu_lower *l)
{
	return l->precision == NPU_PRECISION_F32 ? NPU_F32 : NPU_F16;
}

int npu_lower_as_float(struct npu_lower *l, struct npu_lview *v)
{
	struct npu_lview f = { .dtype = program_float(l), .rank = v->rank };
	int order[NPU_GRAPH_MAX_RANK], err;

	if (npu_dtype_is_float(v->dtype) || v->scale == 0)
		return 0;
	memcpy(f.dim, v->dim, sizeof(f.dim));
	npu_lview_order(l, v, order);
	err = view_alloc(l, &f, order, NPU_LBUF_SCRATCH, "");
	if (!err)
		err = npu_lower_copy(l, &f, v, "the instruction takes floats");
	*v = f;
	return err;
}

/* Whether readers of @t may find it stored like @v: quantized tensors are what they are. */
static bool may_be(const struct npu_lower *l, const struct npu_gtensor *t,
		   const struct npu_lview *v)
{
	struct npu_lview own;

	npu_lview_of(t, npu_lower_dtype(l, t), &own);
	return npu_dtype_is_float(own.dtype) ? npu_lview_is_real(v) : npu_lview_same_elem(&own, v);
}

int npu_lower_out_like(struct npu_lower *l, struct npu_gtensor *t, const struct npu_lview *like,
		       struct npu_lview *out)
{
	struct npu_lvalue *val = &l->value[t->id];
	struct npu_lview v;
	const int *order = NULL;
	int err;

	if (val->placed && npu_lview_same_elem(&val->view, like)) {
		val->ready = true;
		*out = val->view;
		return 0;
	}
	npu_lview_of(t, like->dtype, &v);
	v.scale = like->scale;
	v.zero_point = like->zero_point;
	if (val->channels_last)
		order = npu_layout_channels_last(t->rank);
	err = view_alloc(l, &v, order, NPU_LBUF_SCRATCH, t->name);
	if (!err && !val->placed && may_be(l, t, &v)) {
		val->view = v;
		val->ready = true;
	}
	*out = v;
	return err;
}

/* The absolute error of what is put into an exponential is the relative error of what comes out. */
static bool feeds_exponent(const struct npu_gtensor *t)
{
	for (unsigned int i = 0; i < t->num_consumers; i++)
		switch (t->consumer[i]->op) {
		case NPU_GOP_Softmax:
		case NPU_GOP_LogSoftmax:
		case NPU_GOP_Exp:
		case NPU_GOP_ReduceLogSumExp:
			return true;
		default:
			break;
		}
	return false;
}

int npu_lower_out(struct npu_lower *l, struct npu_gtensor *t, struct npu_lview *out)
{
	enum npu_dtype dtype = npu_lower_dtype(l, t);
	const struct npu_op_rule *rule = t->producer ? npu_op_rule(t->producer->op) : NULL;
	struct npu_lview like;

	if (l->value[t->id].placed)
		return npu_lower_out_like(l, t, &l->value[t->id].view, out);
	if (dtype == NPU_F16 && t->type == NPU_GT_F32 &&
	    ((rule && rule->wide) || feeds_exponent(t)))
		dtype = NPU_F32;
	npu_lview_of(t, dtype, &like);
	return npu_lower_out_like(l, t, &like, out);
}

int npu_lower_out_float(struct npu_lower *l, struct npu_gtensor *t, struct npu_lview *out)
{
	/* the float is rounded again, to codes: when those are the model's, once is enough */
	const bool chosen = t->quant && t->quant->chosen;
	const struct npu_lview like = { .dtype = chosen ? program_float(l) : NPU_F32 };
	const struct npu_lvalue *val = &l->value[t->id];
	bool quantized = val->placed ? val->view.scale != 0 : t->quant != NULL;

	return quantized ? npu_lower_out_like(l, t, &like, out) : npu_lower_out(l, t, out);
}

int npu_lower_finish(struct npu_lower *l, struct npu_gtensor *t, const struct npu_lview *out)
{
	struct npu_lvalue *val = &l->value[t->id];
	struct npu_lview own;
	int err;

	if (val->ready && npu_lview_same_place(&val->view, out))
		return 0;
	err = npu_lower_out(l, t, &own);
	return err ? err :
		     npu_lower_copy(l, &own, out, "its type differs from the place it belongs to");
}

int npu_lower_alias(struct npu_lower *l, struct npu_gtensor *t, const struct npu_lview *view)
{
	struct npu_lvalue *val = &l->value[t->id];
	struct npu_lview own;
	int err;

	if (!val->placed && !may_be(l, t, view)) {
		err = npu_lower_out(l, t, &own);
		return err ? err : npu_lower_copy(l, &own, view, "it is quantized differently");
	}
	val->ready = true;
	if (!val->placed) {
		val->view = *view;
		return 0;
	}
	if (val->view.buf == view->buf)
		return 0;	/* the layout pass sent the producer here */
	return npu_lower_copy(l, &val->view, view, "the data lies elsewhere");
}

int npu_lower_in(struct npu_lower *l, struct npu_gtensor *t, struct npu_lview *out)
{
	enum npu_dtype dtype;

	/* Constants made while lowering have no entry in the table of values. */
	if (!npu_gtensor_is_const(t) && l->value[t->id].ready) {
		*out = l->value[t->id].view;
		return 0;
	}
	if (!npu_gtensor_is_const(t))
		return npu_lower_refuse(l, t->name, "nothing computes this tensor");
	dtype = npu_lower_const_dtype(l, t);
	if (dtype == NPU_NONE)
		return npu_lower_refuse(l, t->name, "the device has no type %s",
					npu_gtype_name(t->type));
	return npu_lower_const(l, t, dtype, out);
}

/* ---- instructions ---------------------------------------------------------------------------- */

struct npu_linsn *npu_lower_insn(struct npu_lower *l, enum npu_opcode op)
{
	struct npu_linsn *insn = npu_arena_alloc(l->arena, sizeof(*insn));

	if (!insn || grow(l, &l->insns, l->num_insns, &l->max_insns, sizeof(*l->insns)))
		return NULL;
	insn->desc = npu_op_desc(op);
	insn->node = l->cur ? l->cur->node : NULL;
	insn->tag = l->num_insns;
	for (unsigned int i = 0; i < NPU_MAX_PARAMS; i++)
		insn->len[i] = npu_dim_const(0);
	l->insns[l->num_insns++] = insn;
	if (l->cur)
		l->cur->num_insns++;
	return insn;
}

int npu_linsn_operand(struct npu_lower *l, struct npu_linsn *insn, unsigned int slot,
		      const struct npu_lview *view)
{
	const struct npu_slot_desc *desc = &insn->desc->slots[slot];
	struct npu_lview *v = npu_arena_alloc(l->arena, sizeof(*v));

	if (!v)
		return -ENOMEM;
	*v = *view;
	insn->operand[slot] = v;
	if (view->rank > NPU_MAX_RANK || view->rank > desc->max_rank || view->rank < desc->min_rank)
		return npu_lower_refuse(l, NULL,
					"operand '%s' of %s would have rank %d; it takes %d to %d",
					desc->name, insn->desc->mnemonic, view->rank,
					desc->min_rank, desc->max_rank);
	if (!(desc->types & (1u << view->dtype)))
		return npu_lower_refuse(l, NULL, "operand '%s' of %s cannot be %s", desc->name,
					insn->desc->mnemonic, npu_dtype_name(view->dtype));
	return 0;
}

void npu_linsn_float(struct npu_linsn *insn, unsigned int i, float v)
{
	memcpy(&insn->param[i], &v, sizeof(v));
}

int npu_lower_copy(struct npu_lower *l, const struct npu_lview *out, const struct npu_lview *in,
		   const char *why)
{
	struct npu_lview o = *out, i = *in;
	struct npu_lview *both[] = { &o, &i };
	struct npu_linsn *insn = npu_lower_insn(l, NPU_OP_COPY);
	int err;

	if (!insn)
		return -ENOMEM;
	npu_lview_canonical(l, both, 2, -1);
	insn->is_copy = true;
	err = npu_linsn_operand(l, insn, NPU_COPY_OUT, &o);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_COPY_IN, &i);
	if (why)
		npu_lower_note(l, "copy: %s", why);
	return err;
}

int npu_lower_fill(struct npu_lower *l, const struct npu_lview *out, double value)
{
	struct npu_lview o = *out;
	struct npu_lview *one[] = { &o };
	struct npu_linsn *insn = npu_lower_insn(l, NPU_OP_FILL);

	if (!insn)
		return -ENOMEM;
	npu_lview_canonical(l, one, 1, -1);
	npu_linsn_bits(insn, NPU_FILL_P_VALUE_LO, &o, value);
	return npu_linsn_operand(l, insn, NPU_FILL_OUT, &o);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static int lower_setup(struct npu_lower *l)
{
	struct npu_graph *g = l->g;

	l->num_tensors = g->num_tensors;
	l->value = npu_arena_array(l->arena, g->num_tensors + 1, sizeof(*l->value));
	l->nodes = npu_arena_array(l->arena, g->num_nodes + 1, sizeof(*l->nodes));
	l->input_buf = npu_arena_array(l->arena, g->num_inputs + 1, sizeof(*l->input_buf));
	l->output_buf = npu_arena_array(l->arena, g->num_outputs + 1, sizeof(*l->output_buf));
	if (!l->value || !l->nodes || !l->input_buf || !l->output_buf || npu_precision_choose(l))
		return -ENOMEM;
	l->weight_buf = npu_lower_buf(l, NPU_LBUF_WEIGHT, 0, "weights");
	if (!l->weight_buf)
		return -ENOMEM;
	for (unsigned int i = 0; i < g->num_nodes; i++)
		l->nodes[i] = (struct npu_lnode){ .node = g->nodes[i], .reason = "" };
	return 0;
}

enum npu_dtype npu_lower_user_dtype(const struct npu_lower *l, const struct npu_gtensor *t)
{
	enum npu_dtype dtype = t->type == NPU_GT_F32 ? NPU_F32 : npu_lower_dtype(l, t);

	/* What only the host reads or writes may be of its types. */
	return dtype == NPU_NONE && l->g->host ? npu_lower_host_dtype(t->type) : dtype;
}

static int io_view(struct npu_lower *l, struct npu_gtensor *t, enum npu_lbuf_kind kind,
		   unsigned int index, struct npu_lview *v)
{
	enum npu_dtype dtype = npu_lower_user_dtype(l, t);
	const char *what = kind == NPU_LBUF_INPUT ? "input" : "output";
	int err;

	if (dtype == NPU_NONE)
		return npu_lower_refuse(l, t->name, "model %s has type %s, which the device lacks",
					what, npu_gtype_name(t->type));
	for (int i = 0; i < t->rank; i++)
		if (npu_dim_low(l->g, t->dim[i]) < 1)
			return npu_lower_refuse(l, t->name, "model %s can be empty (dimension %d)",
						what, i);
	npu_lview_of(t, dtype, v);
	err = view_alloc(l, v, NULL, kind, t->name);
	if (err)
		return err;
	v->buf->index = index;
	if (t->pitch.base || t->pitch.factor) {
		v->stride[0] = npu_poly_dim(t->pitch);
		v->buf->size = (uint64_t)npu_dim_high(l->g, t->pitch) *
				       (uint64_t)(t->dim[0].base - 1) + (uint64_t)t->dim[1].base;
	}
	return 0;
}

static int lower_io(struct npu_lower *l)
{
	struct npu_graph *g = l->g;
	int refused = 0, err;

	for (unsigned int i = 0; i < g->num_inputs; i++) {
		struct npu_lvalue *val = &l->value[g->inputs[i]->id];

		err = io_view(l, g->inputs[i], NPU_LBUF_INPUT, i, &val->view);
		if (err && err != -EOPNOTSUPP)
			return err;
		refused |= err;
		val->ready = true;
		l->input_buf[i] = val->view.buf;
	}
	for (unsigned int i = 0; i < g->num_outputs; i++) {
		struct npu_lview v;

		err = io_view(l, g->outputs[i], NPU_LBUF_OUTPUT, i, &v);
		if (err && err != -EOPNOTSUPP)
			return err;
		refused |= err;
		l->output_buf[i] = v.buf;
	}
	return refused;
}

/* What the importer or a pass may have got wrong about a quantized tensor. */
static int check_quant(struct npu_lower *l, const struct npu_gtensor *t)
{
	const struct npu_gquant *q = t->quant;
	bool narrow = t->type == NPU_GT_I8 || t->type == NPU_GT_U8;
	int32_t lo = t->type == NPU_GT_U8 ? 0 : -128;

	if (!q)
		return 0;
	if (!narrow && !(t->type == NPU_GT_I32 && npu_gtensor_is_const(t)))
		return npu_lower_refuse(l, t->name, "type %s cannot be quantized",
					npu_gtype_name(t->type));
	if (q->axis >= t->rank || (q->axis >= 0 && (!npu_gtensor_is_const(t) ||
						   q->count != t->dim[q->axis].base)))
		return npu_lower_refuse(l, t->name, "%u scales along dimension %d of this tensor",
					q->count, q->axis);
	for (unsigned int i = 0; i < q->count; i++) {
		float scale = npu_gquant_scale(q, i);
		int32_t zero = npu_gquant_zero(q, i);

		if (!(scale > 0) || !isfinite(scale))
			return npu_lower_refuse(l, t->name, "scale %g, expected a number above 0",
						(double)scale);
		if (narrow ? zero < lo || zero > lo + 255 : zero != 0)
			return npu_lower_refuse(l, t->name, "zero point %d of type %s", zero,
						npu_gtype_name(t->type));
	}
	return 0;
}

static int check_tensor(struct npu_lower *l, const struct npu_gtensor *t)
{
	if (!t)
		return 0;
	if (npu_lower_dtype(l, t) == NPU_NONE)
		return npu_lower_refuse(l, t->name, "type %s is not one of the device's",
					npu_gtype_name(t->type));
	if (t->rank < 0)
		return npu_lower_refuse(l, t->name, "its shape is not known");
	if (check_quant(l, t))
		return -EOPNOTSUPP;
	for (int i = 0; i < t->rank; i++) {
		if (t->dim[i].sym == NPU_DIM_UNKNOWN)
			return npu_lower_refuse(l, t->name, "dimension %d is not known", i);
		if (npu_dim_low(l->g, t->dim[i]) < 1 && !npu_gtensor_is_const(t))
			return npu_lower_refuse(l, t->name,
						"the tensor can be empty (dimension %d)", i);
		if (npu_dim_high(l->g, t->dim[i]) > (int64_t)NPU_MAX_DIM)
			return npu_lower_refuse(l, t->name, "dimension %d is too large", i);
	}
	return 0;
}

static int lower_node(struct npu_lower *l, struct npu_gnode *n)
{
	const struct npu_op_rule *rule = npu_op_rule(n->op);
	int err = 0;

	if (!rule || !rule->lower)
		return npu_lower_refuse(l, NULL, "%s", rule && *rule->limits ? rule->limits :
					"the device has no such operator");
	for (unsigned int i = 0; i < n->num_inputs && !n->host && !err; i++)
		err = check_tensor(l, n->inputs[i]);
	for (unsigned int i = 0; i < n->num_outputs && !n->host && !err; i++)
		err = check_tensor(l, n->outputs[i]);
	return err ? err : rule->lower(l, n);
}

/* Stand-ins, so that what follows a refused node is looked at as well. */
static int refused_outputs(struct npu_lower *l, struct npu_gnode *n)
{
	for (unsigned int i = 0; i < n->num_outputs; i++) {
		struct npu_gtensor *t = n->outputs[i];
		struct npu_lview v;
		enum npu_dtype dtype;

		if (!t || l->value[t->id].ready)
			continue;
		dtype = npu_lower_dtype(l, t);
		npu_lview_of(t, dtype == NPU_NONE ? NPU_F32 : dtype, &v);
		if (v.rank < 0)
			v.rank = 0;
		for (int d = 0; d < v.rank; d++)
			if (v.dim[d].sym == NPU_DIM_UNKNOWN)
				v.dim[d] = npu_dim_const(1);
		v.buf = npu_lower_buf(l, NPU_LBUF_SCRATCH, 0, t->name);
		if (!v.buf)
			return -ENOMEM;
		if (npu_lview_dense(l, &v, NULL, true))
			memset(v.stride, 0, sizeof(v.stride));
		l->value[t->id].view = v;
		l->value[t->id].ready = true;
	}
	return 0;
}

/*
 * Outputs that no instruction wrote in place: a model input or a constant handed through, or one
 * tensor twice.
 */
static int lower_outputs(struct npu_lower *l)
{
	for (unsigned int i = 0; i < l->g->num_outputs; i++) {
		struct npu_gtensor *t = l->g->outputs[i];
		struct npu_lview want, have;
		int err = npu_lower_in(l, t, &have);

		if (err)
			return err;
		if (have.buf == l->output_buf[i])
			continue;
		if (t->bounded)
			return npu_lower_refuse(l, l->output_name ? l->output_name[i] : t->name,
						"the data decide its length, and it is an output twice or a part of one");
		npu_lview_of(t, npu_lower_user_dtype(l, t), &want);
		want.buf = l->output_buf[i];
		err = npu_lview_dense(l, &want, NULL, true);
		if (!err)
			err = npu_lower_copy(l, &want, &have, NULL);
		if (err)
			return err;
	}
	return 0;
}

int npu_lower_graph(struct npu_lower *l)
{
	int err = lower_setup(l), refused = 0;

	if (err)
		return err;
	refused = lower_io(l);
	if (refused && refused != -EOPNOTSUPP)
		return refused;
	if (!refused)
		err = npu_layout_choose(l);
	if (!err && !refused)
		err = npu_lower_clip_begin(l);
	if (err)
		return err;
	for (unsigned int i = 0; i < l->g->num_nodes; i++) {
		struct npu_gnode *n = l->g->nodes[i];

		l->cur = &l->nodes[i];
		l->cur->first_insn = l->num_insns;
		err = lower_node(l, n);
		if (!err && l->clip_buf)
			err = npu_lower_clip(l, n);
		if (err && err != -EOPNOTSUPP)
			return err;
		if (err && refused_outputs(l, n))
			return -ENOMEM;
		if (err)
			refused = -EOPNOTSUPP;
		else
			l->cur->place = n->host ? NPU_PLACE_HOST :
					l->cur->num_insns ? NPU_PLACE_NPU : NPU_PLACE_VIEW;
	}
	l->cur = NULL;
	return refused ? refused : lower_outputs(l);
}
