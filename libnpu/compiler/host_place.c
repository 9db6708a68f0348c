// SPDX-License-Identifier: MIT
/* Which nodes run on the host; see host_place.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/fold.h"
#include "compiler/host_place.h"
#include "compiler/lower.h"
#include "host/host.h"

static const uint32_t type_map[NPU_GT_COUNT] = {
	[NPU_GT_F32] = NPU_F32,	      [NPU_GT_F16] = NPU_F16,	    [NPU_GT_BF16] = NPU_BF16,
	[NPU_GT_I8] = NPU_I8,	      [NPU_GT_U8] = NPU_U8,	    [NPU_GT_I32] = NPU_I32,
	[NPU_GT_I64] = NPU_I64,	      [NPU_GT_BOOL] = NPU_BOOL,	    [NPU_GT_F64] = NPU_HOST_F64,
	[NPU_GT_I16] = NPU_HOST_I16,  [NPU_GT_U16] = NPU_HOST_U16,  [NPU_GT_U32] = NPU_HOST_U32,
	[NPU_GT_U64] = NPU_HOST_U64,
};

uint32_t npu_host_dtype_of(enum npu_gtype type)
{
	return (unsigned int)type < NPU_GT_COUNT ? type_map[type] : 0;
}

enum npu_gtype npu_host_gtype_of(uint32_t dtype)
{
	for (unsigned int i = 1; dtype && i < NPU_GT_COUNT; i++)
		if (type_map[i] == dtype)
			return (enum npu_gtype)i;
	return NPU_GT_NONE;
}

bool npu_host_attr_of(struct npu_host_attr *h, const struct npu_attr *a)
{
	double v;

	*h = (struct npu_host_attr){
		.name = a->name, .count = 1, .i = a->i, .f = (double)a->f, .s = a->s
	};
	switch (a->type) {
	case NPU_ATTR_INT: h->kind = NPU_HOST_INT; return true;
	case NPU_ATTR_FLOAT: h->kind = NPU_HOST_FLOAT; return true;
	case NPU_ATTR_STRING: h->kind = NPU_HOST_STRING; return true;
	case NPU_ATTR_INTS: h->kind = NPU_HOST_INTS; break;
	case NPU_ATTR_FLOATS: h->kind = NPU_HOST_FLOATS; break;
	case NPU_ATTR_STRINGS: h->kind = NPU_HOST_STRINGS; break;
	case NPU_ATTR_TENSOR:
		/* One number, like the value of ConstantOfShape. */
		if (!a->t || !npu_gtensor_scalar(a->t, &v))
			return false;
		h->kind = NPU_HOST_FLOAT;
		h->f = v;
		return true;
	default: return false;
	}
	h->count = (uint32_t)a->count;
	h->ints = a->ints;
	h->floats = a->floats;
	h->strings = a->strings;
	return true;
}

/* ---- which nodes ----------------------------------------------------------------------------- */

const struct npu_host_op *npu_host_place_op(const struct npu_graph *g, const struct npu_gnode *n)
{
	const struct npu_gop_info *info = npu_gnode_info(n);
	const struct npu_host_op *op;

	if (!g->host)
		return NULL;
	op = npu_host_op_find_in(g->host->ops, g->host->num_ops, info->domain, info->name);
	return op && (int)op->since <= n->opset ? op : NULL;
}

static const char *pinned(const struct npu_graph *g, const struct npu_gnode *n)
{
	const char *name = n->num_sources ? n->sources[0] : n->name;
	unsigned int lo = 0, hi = g->host->num_pins, mid;

	/* Sorted by name. */
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (strcmp(g->host->pins[mid].node, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < g->host->num_pins && !strcmp(g->host->pins[lo].node, name) ?
		       g->host->pins[lo].reason :
		       NULL;
}

static bool all_constant(const struct npu_gnode *n)
{
	for (unsigned int i = 0; i < n->num_inputs; i++)
		if (n->inputs[i] && !n->inputs[i]->data)
			return false;
	return true;
}

/* The device has no such element type. */
static bool is_foreign(const struct npu_gtensor *t)
{
	return t && t->type > NPU_GT_BOOL && t->type != NPU_GT_STRING;
}

static const char *foreign_type(struct npu_graph *g, struct npu_gtensor **t, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (is_foreign(t[i]))
			return npu_arena_printf(&g->arena, "%s: type %s is not one of the device's",
						t[i]->name, npu_gtype_name(t[i]->type));
	return NULL;
}

const char *npu_host_place_reason(struct npu_graph *g, const struct npu_gnode *n, bool after)
{
	const struct npu_op_rule *rule = npu_op_rule(n->op);
	const char *why = pinned(g, n);

	if (why || after)
		return why ? why : foreign_type(g, n->outputs, n->num_outputs);
	for (unsigned int i = 0; i < n->num_inputs; i++)
		if (n->inputs[i] && n->inputs[i]->bounded)
			return npu_arena_printf(&g->arena, "%s: the data decide its length",
						n->inputs[i]->name);
	if (all_constant(n))
		return NULL;	/* rather computed now */
	why = foreign_type(g, n->inputs, n->num_inputs);
	if (why)
		return why;
	if (!rule || !*rule->insns)
		return rule && *rule->limits ? rule->limits : "the device has no such operator";
	return NULL;
}

int npu_host_form_keep(struct npu_graph *g, const struct npu_gnode *n, struct npu_host_form *form)
{
	form->num_attrs = n->num_attrs;
	form->attrs = npu_arena_array(&g->arena, n->num_attrs + 1, sizeof(*form->attrs));
	if (!form->attrs)
		return -ENOMEM;
	if (n->num_attrs)
		memcpy(form->attrs, n->attrs, n->num_attrs * sizeof(*form->attrs));
	return 0;
}

/*
 * What DequantizeLinear made of constants was left as codes for the NPU's sake: the host needs the
 * numbers, in the type of the first input, which is what operators that have weights ask for.
 */
static int dequantize_constants(struct npu_graph *g, struct npu_gnode *n)
{
	for (unsigned int i = 1; i < n->num_inputs; i++) {
		struct npu_gtensor *t = n->inputs[i];

		if (!t || !t->data || !t->quant)
			continue;
		t = npu_fold_dequantized(g, t, n->inputs[0]->type);
		if (!t || npu_gnode_set_input(g, n, i, t))
			return -ENOMEM;
	}
	return 0;
}

static int note_types(struct npu_graph *g, const struct npu_gnode *n, struct npu_ghost *h)
{
	enum npu_gtype *types =
		npu_arena_array(&g->arena, n->num_inputs + n->num_outputs + 1, sizeof(*types));

	if (!types)
		return -ENOMEM;
	for (unsigned int i = 0; i < n->num_inputs + n->num_outputs; i++) {
		const struct npu_gtensor *t =
			i < n->num_inputs ? n->inputs[i] : n->outputs[i - n->num_inputs];

		types[i] = t ? t->type : NPU_GT_NONE;
	}
	h->types = types;
	return 0;
}

/* ---- a trial, so that nonsense is refused when compiling ------------------------------------- */

static bool is_ours(const struct npu_host_op *op)
{
	return op == npu_host_op_find(op->domain, op->name);
}

/* of all arguments: it takes no time, and finds what attributes say */
#define TRIAL_BYTES	(1 << 18)

#define TRIAL_TAPS	4096		/* of a window: every output looks at all of them */

/*
 * Integers behind the first input may be parameters; zeros in their place would say nothing. A
 * window may reach far beyond a small input, and take hours.
 */
static bool can_try(const struct npu_gnode *n)
{
	size_t count = 0;
	const int64_t *kernel = npu_gnode_ints(n, "kernel_shape", &count);
	double taps = 1;

	for (size_t i = 0; kernel && i < count; i++)
		taps *= (double)kernel[i];
	if (!(taps <= TRIAL_TAPS))
		return false;
	for (unsigned int i = 0; i < n->num_inputs; i++) {
		const struct npu_gtensor *t = n->inputs[i];

		if (t && (t->bounded ||
			  (i && !t->data && t->type != NPU_GT_F32 && t->type != NPU_GT_F16 &&
			   t->type != NPU_GT_BF16 && t->type != NPU_GT_F64)))
			return false;
	}
	return true;
}

/* @t at the smallest lengths in memory from *@at on; false when there is no room. */
static bool trial_tensor(const struct npu_graph *g, const struct npu_gtensor *t,
			 unsigned char *memory, size_t *at, struct npu_host_tensor *h)
{
	double bytes = (double)npu_gtype_size(t ? t->type : NPU_GT_NONE);

	*h = (struct npu_host_tensor){ .name = "" };
	if (!t)
		return true;
	*h = (struct npu_host_tensor){ .name = t->name, .dtype = npu_host_dtype_of(t->type),
				       .rank = (uint32_t)t->rank, .present = !t->data || t->size };
	for (int d = 0; d < t->rank; d++) {
		h->dim[d] = npu_dim_low(g, t->dim[d]);
		bytes *= (double)h->dim[d];
	}
	if (bytes > (double)(TRIAL_BYTES - *at) || !h->dtype)
		return false;
	h->data = memory + *at;
	if (t->data && t->size)
		memcpy(h->data, t->data, t->size);
	*at += ((size_t)bytes + 63) / 64 * 64;
	return *at <= TRIAL_BYTES;
}

/*
 * Call libnpu's operator on zeros and the constants there are; what it refuses then it always will.
 */
static int try_call(struct npu_shape *s, const struct npu_host_op *op)
{
	const struct npu_gnode *n = s->n;
	unsigned int args = n->num_inputs + n->num_outputs, i;
	struct npu_host_attr *attr = calloc(n->num_attrs + 1, sizeof(*attr));
	struct npu_host_tensor *t = calloc(args + 1, sizeof(*t));
	struct npu_host_call call = { .op = op,
				      .opset = (uint32_t)n->opset,
				      .num_in = n->num_inputs,
				      .num_out = n->num_outputs,
				      .node = n->name,
				      .in = t,
				      .attr = attr };
	struct npu_error err = { 0 };
	void *memory = NULL;
	bool fits = true;
	size_t at = 0;
	int ret = 0;

	if (!attr || !t || posix_memalign(&memory, 64, TRIAL_BYTES)) {
		ret = -ENOMEM;
		goto out;
	}
	memset(memory, 0, TRIAL_BYTES);
	for (i = 0; i < args && fits; i++)
		fits = trial_tensor(
			s->g, i < n->num_inputs ? n->inputs[i] : n->outputs[i - n->num_inputs],
			memory, &at, &t[i]);
	for (i = 0; i < n->num_attrs; i++)
		call.num_attr += npu_host_attr_of(&attr[call.num_attr], &n->attrs[i]);
	call.out = t + n->num_inputs;
	ret = fits ? op->run(&call, &err) : 0;
	if (ret && ret != -ENOMEM)
		ret = npu_diag_node(s->diag, -EOPNOTSUPP, n, NULL, "%s", err.text);
out:
	free(memory);
	free(attr);
	free(t);
	return ret;
}

static uint32_t node_dtype(const void *ctx, uint32_t i)
{
	const struct npu_gnode *n = ctx;

	return n->inputs[i] ? npu_host_dtype_of(n->inputs[i]->type) : 0;
}

static int check_types(const struct npu_shape *s, const struct npu_host_op *op)
{
	const struct npu_gnode *n = s->n;
	uint32_t a, b;

	if (npu_host_same_types(op, n->num_inputs, node_dtype, n, &a, &b))
		return 0;
	return npu_diag_node(s->diag, -EINVAL, n, NULL,
			     "inputs '%.80s' (%s) and '%.80s' (%s) have to be of one type",
			     n->inputs[a]->name, npu_gtype_name(n->inputs[a]->type),
			     n->inputs[b]->name, npu_gtype_name(n->inputs[b]->type));
}

int npu_host_place(struct npu_shape *s, const struct npu_host_form *form, const char *reason)
{
	struct npu_gnode *n = s->n;
	struct npu_ghost *h = npu_arena_alloc(&s->g->arena, sizeof(*h));
	bool bounded = false;

	if (!h)
		return -ENOMEM;
	*h = (struct npu_ghost){ .op = npu_host_place_op(s->g, n),
				 .domain = npu_gnode_info(n)->domain,
				 .name = npu_gnode_info(n)->name,
				 .reason = reason };
	if (n->host) {	/* the application's */
		h->op = n->host->op;
		h->domain = n->host->domain;
		h->name = n->host->name;
	}
	for (unsigned int i = 0; i < n->num_inputs; i++)
		bounded |= n->inputs[i] && n->inputs[i]->bounded;
	if (bounded && !(h->op->flags & NPU_HOST_FOLLOWS))
		return npu_diag_node(s->diag, -EOPNOTSUPP, n, NULL,
				     "%s, and the host operator takes fixed lengths only", reason);
	bounded = h->op->flags & NPU_HOST_BOUNDED || bounded;
	for (unsigned int i = 0; i < n->num_outputs; i++)
		if (n->outputs[i])
			n->outputs[i]->bounded = bounded;
	if (dequantize_constants(s->g, n) || note_types(s->g, n, h))
		return -ENOMEM;
	if (check_types(s, h->op))
		return -EINVAL;
	n->attrs = form->attrs;
	n->num_attrs = n->max_attrs = form->num_attrs;
	n->op = NPU_GOP_Host;
	n->host = h;
	return is_ours(h->op) && can_try(n) ? try_call(s, h->op) : 0;
}

int npu_host_place_own(struct npu_graph *g, struct npu_gnode *n, const struct npu_host_op *op)
{
	struct npu_ghost *h = npu_arena_alloc(&g->arena, sizeof(*h));

	if (!h)
		return -ENOMEM;
	*h = (struct npu_ghost){ .op = op, .domain = op->domain, .name = op->name,
				 .reason = "an operator of the application's" };
	n->host = h;
	n->opset = 0;
	return 0;
}

/* ---- shapes of the application's operators --------------------------------------------------- */

struct call {
	struct npu_host_call call;
	struct npu_host_tensor *in, *out;
};

static void call_prepare(const struct npu_shape *s, struct npu_host_attr *attr, struct call *c)
{
	const struct npu_gnode *n = s->n;

	c->call = (struct npu_host_call){ .op = n->host->op, .opset = (uint32_t)n->opset,
					  .num_in = n->num_inputs, .num_out = n->num_outputs,
					  .node = n->name, .attr = attr };
	for (unsigned int i = 0; i < n->num_attrs; i++)
		c->call.num_attr += npu_host_attr_of(&attr[c->call.num_attr], &n->attrs[i]);
	c->call.in = c->in;
	c->call.out = c->out;
}

/* What infer() says is the application's. */
static int check_answer(const struct npu_shape *s, struct call *c)
{
	for (unsigned int i = 0; i < s->n->num_outputs; i++) {
		struct npu_host_tensor *t = &c->out[i];

		if (!s->n->outputs[i]) {
			t->rank = 0;
			continue;
		}
		if (t->rank > NPU_GRAPH_MAX_RANK || npu_host_gtype_of(t->dtype) == NPU_GT_NONE)
			return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
					     "infer: output %u has rank %u and type %u", i, t->rank,
					     t->dtype);
		for (uint32_t d = 0; d < t->rank; d++)
			if (t->dim[d] < 0 || t->dim[d] > INT32_MAX)
				return npu_diag_node(s->diag, -EINVAL, s->n, NULL,
						     "infer: dimension %u of output %u is %lld", d,
						     i, (long long)t->dim[d]);
	}
	return 0;
}

/* infer() at the lengths @scalars. */
static int call_at(const struct npu_shape *s, struct call *c, const int64_t *scalars)
{
	const struct npu_gnode *n = s->n;
	struct npu_error err = { 0 };
	int ret;

	for (unsigned int i = 0; i < n->num_inputs; i++) {
		const struct npu_gtensor *t = n->inputs[i];

		c->in[i] = (struct npu_host_tensor){ .name = "" };
		if (!t)
			continue;
		c->in[i] = (struct npu_host_tensor){ .name = t->name,
						     .dtype = npu_host_dtype_of(t->type),
						     .rank = (uint32_t)t->rank,
						     .present = true,
						     .data = (void *)(uintptr_t)t->data };
		for (int d = 0; d < t->rank; d++)
			c->in[i].dim[d] = npu_dim_eval(t->dim[d], scalars);
	}
	for (unsigned int i = 0; i < n->num_outputs; i++)
		c->out[i] =
			(struct npu_host_tensor){ .name = n->outputs[i] ? n->outputs[i]->name : "",
						  .present = n->outputs[i] != NULL };
	ret = n->host->op->infer(&c->call, &err);
	if (ret)
		return npu_diag_node(s->diag, ret < 0 ? ret : -EINVAL, n, NULL, "infer: %s",
				     *err.text ? err.text : "failed without a reason");
	return check_answer(s, c);
}

/* -1 behind the last one, which no dimension is: so ranks are compared, too. */
static int64_t out_dim(const struct call *c, unsigned int o, uint32_t d)
{
	return d < c->out[o].rank ? c->out[o].dim[d] : -1;
}

/* Dim @d of output @o as base + factor * s of one symbol, from calls at neighbouring lengths. */
static int fit_dims(const struct npu_shape *s, struct call *c,
		    struct npu_dim (*dim)[NPU_GRAPH_MAX_RANK], const int64_t *low)
{
	int64_t at[NPU_GRAPH_MAX_SYMS];
	int err;

	for (unsigned int k = 0; k < s->g->num_syms; k++) {
		if (s->g->syms[k].smax == s->g->syms[k].smin)
			continue;
		memcpy(at, low, sizeof(at));
		at[k]++;
		err = call_at(s, c, at);
		if (err)
			return err;
		for (unsigned int o = 0; o < s->n->num_outputs; o++)
			for (uint32_t d = 0; d < NPU_GRAPH_MAX_RANK; d++) {
				int64_t now = out_dim(c, o, d), was = npu_dim_eval(dim[o][d], low),
					base;

				if (now == was)
					continue;
				if (dim[o][d].sym >= 0 || now < 0 || was < 0 ||
				    __builtin_mul_overflow(was - now, low[k], &base) ||
				    __builtin_add_overflow(base, was, &base))
					return -EDOM;
				dim[o][d] = (struct npu_dim){ base, now - was, (int)k };
			}
	}
	return 0;
}

/* Do the fitted dims hold at @scalars as well? */
static int check_dims(const struct npu_shape *s, struct call *c,
		      struct npu_dim (*dim)[NPU_GRAPH_MAX_RANK], const int64_t *scalars)
{
	int err = call_at(s, c, scalars);

	for (unsigned int o = 0; o < s->n->num_outputs && !err; o++)
		for (uint32_t d = 0; d < NPU_GRAPH_MAX_RANK && !err; d++)
			if (npu_dim_eval(dim[o][d], scalars) != out_dim(c, o, d))
				err = -EDOM;
	return err;
}

static int infer_all(struct npu_shape *s, struct call *c, struct npu_dim (*dim)[NPU_GRAPH_MAX_RANK])
{
	int64_t low[NPU_GRAPH_MAX_SYMS] = { 0 }, high[NPU_GRAPH_MAX_SYMS] = { 0 },
		mid[NPU_GRAPH_MAX_SYMS] = { 0 };
	int err;

	for (unsigned int k = 0; k < s->g->num_syms; k++) {
		low[k] = s->g->syms[k].smin;
		high[k] = s->g->syms[k].smax;
		mid[k] = low[k] + (high[k] - low[k]) / 2;
	}
	err = call_at(s, c, low);
	for (unsigned int o = 0; o < s->n->num_outputs && !err; o++)
		for (uint32_t d = 0; d < NPU_GRAPH_MAX_RANK; d++)
			dim[o][d] = npu_dim_const(out_dim(c, o, d));
	if (!err)
		err = fit_dims(s, c, dim, low);
	if (!err)
		err = check_dims(s, c, dim, mid);
	if (!err)
		err = check_dims(s, c, dim, high);
	if (err == -EDOM)
		return npu_diag_node(
			s->diag, -EOPNOTSUPP, s->n, NULL,
			"infer: an output's dimension is not linear in one run-time length");
	for (unsigned int o = 0; o < s->n->num_outputs && !err; o++)
		err = npu_shape_out(s, o, npu_host_gtype_of(c->out[o].dtype), (int)c->out[o].rank,
				    dim[o]);
	return err;
}

int npu_host_infer(struct npu_shape *s)
{
	unsigned int args = s->n->num_inputs + s->n->num_outputs;
	struct npu_dim (*dim)[NPU_GRAPH_MAX_RANK] = calloc(s->n->num_outputs + 1, sizeof(*dim));
	struct npu_host_attr *attr = calloc(s->n->num_attrs + 1, sizeof(*attr));
	struct call c = { .in = calloc(args + 1, sizeof(*c.in)) };
	int err = -ENOMEM;

	if (!s->n->host->op->infer) {
		err = npu_diag_node(
			s->diag, -EINVAL, s->n, NULL,
			"the application's operator has no infer(): its shapes are not known");
	} else if (dim && attr && c.in) {
		c.out = c.in + s->n->num_inputs;
		call_prepare(s, attr, &c);
		err = infer_all(s, &c, dim);
	}
	free(dim);
	free(attr);
	free(c.in);
	return err;
}
