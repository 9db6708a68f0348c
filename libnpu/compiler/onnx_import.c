// SPDX-License-Identifier: MIT
/*
 * ONNX model -> graph. Everything that is wrong with a model is reported before the import fails.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/host_place.h"
#include "compiler/onnx_import.h"
#include "host/host.h"

static const char *text(const char *s)
{
	return s ? s : "";
}

static void source_release(void *priv)
{
	struct npu_onnx_source *src = priv;

	if (src->model)
		onnx__model_proto__free_unpacked(src->model, NULL);
	npu_onnx_unmap(src);
	free(src->folder);
	free(src);
}

static int import_opsets(struct npu_onnx_ctx *ctx, const Onnx__ModelProto *model)
{
	struct npu_graph *g = ctx->g;
	size_t i;

	for (i = 0; i < model->n_opset_import; i++) {
		const char *domain = text(model->opset_import[i]->domain);
		int64_t version = model->opset_import[i]->version;

		if (version < 0 || version > 1000)
			return npu_diag_add(ctx->diag, -EINVAL, "opset_import",
					    "version %lld of domain '%s'", (long long)version,
					    domain);
		if (!*domain || !strcmp(domain, "ai.onnx"))
			g->opset = (int)version;
		else if (!strcmp(domain, "com.microsoft"))
			g->opset_ms = (int)version;
	}
	/* Before version 3 of the format there was nothing to import. */
	if (!model->n_opset_import && model->ir_version < 3)
		g->opset = 1;
	/* 0: a model of other domains only; a node of ai.onnx in it is refused by name. */
	if (g->opset && (g->opset < NPU_ONNX_OPSET_MIN || g->opset > NPU_ONNX_OPSET_MAX))
		return npu_diag_add(ctx->diag, -EOPNOTSUPP, "opset_import",
				    "operator set %d of ai.onnx; supported are %d to %d", g->opset,
				    NPU_ONNX_OPSET_MIN, NPU_ONNX_OPSET_MAX);
	return 0;
}

static int import_initializers(struct npu_onnx_ctx *ctx, const Onnx__GraphProto *graph)
{
	int err, first = 0;
	size_t i;

	if (graph->n_sparse_initializer)
		first = npu_diag_add(ctx->diag, -EOPNOTSUPP, "graph.sparse_initializer",
				     "sparse constants are not supported");
	for (i = 0; i < graph->n_initializer; i++) {
		const char *name = text(graph->initializer[i]->name);
		struct npu_gtensor *t;

		if (!*name || npu_graph_find_tensor(ctx->g, name)) {
			err = npu_diag_add(ctx->diag, -EINVAL, "graph.initializer",
					   "entry %zu: the name '%s' is %s", i, name,
					   *name ? "used twice" : "empty");
		} else {
			t = npu_graph_tensor(ctx->g, name, "const", NPU_GT_NONE);
			err = t ? npu_onnx_tensor(ctx, graph->initializer[i], t, name) : -ENOMEM;
		}
		first = first ? first : err;
	}
	return first;
}

static int import_input_shape(struct npu_onnx_ctx *ctx, const Onnx__TypeProto__Tensor *type,
			      struct npu_gtensor *t)
{
	const Onnx__TensorShapeProto *shape = type->shape;
	size_t i;

	t->type = npu_onnx_type(type->has_elem_type ? type->elem_type : 0);
	if (t->type == NPU_GT_NONE)
		return npu_diag_add(ctx->diag, -EOPNOTSUPP, t->name,
				    "input: element type %s is not supported",
				    npu_onnx_type_name(type->elem_type));
	if (!shape)
		return 0;
	if (shape->n_dim > NPU_GRAPH_MAX_RANK)
		return npu_diag_add(ctx->diag, -EINVAL, t->name,
				    "input: rank %zu, at most %d are supported", shape->n_dim,
				    NPU_GRAPH_MAX_RANK);
	t->rank = (int)shape->n_dim;
	for (i = 0; i < shape->n_dim; i++) {
		const Onnx__TensorShapeProto__Dimension *d = shape->dim[i];
		bool fixed = d->value_case ==
				     ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
			     d->dim_value > 0;

		if (fixed && d->dim_value > INT32_MAX)
			return npu_diag_add(ctx->diag, -EINVAL, t->name,
					    "input: dimension %zu is %lld", i,
					    (long long)d->dim_value);
		/* exporters write unknown sizes as a name, as -1 and as 0 */
		t->dim[i] = fixed ? npu_dim_const(d->dim_value) :
				    (struct npu_dim){ 0, 0, NPU_DIM_UNKNOWN };
	}
	return 0;
}

static int import_input(struct npu_onnx_ctx *ctx, const Onnx__ValueInfoProto *info, size_t i)
{
	const char *name = text(info->name);
	struct npu_gtensor *t = *name ? npu_graph_find_tensor(ctx->g, name) : NULL;

	if (t && t->data && !t->is_input)
		return 0;	/* IR versions before 4 list initializers as inputs too */
	if (t || !*name)
		return npu_diag_add(ctx->diag, -EINVAL, "graph.input",
				    "entry %zu: the name '%s' is %s", i, name,
				    *name ? "used twice" : "empty");
	/* the kinds of type share their memory, so the case must be looked at */
	if (!info->type || info->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
	    !info->type->tensor_type)
		return npu_diag_add(ctx->diag, -EOPNOTSUPP, name,
				    "input: a sequence, an optional value or something else that is no tensor");
	t = npu_graph_tensor(ctx->g, name, "input", NPU_GT_NONE);
	if (!t)
		return -ENOMEM;
	t->is_input = true;
	ctx->g->inputs[ctx->g->num_inputs++] = t;
	return import_input_shape(ctx, info->type->tensor_type, t);
}

static int import_inputs(struct npu_onnx_ctx *ctx, const Onnx__GraphProto *graph)
{
	int err, first = 0;
	size_t i;

	ctx->g->inputs = npu_arena_array(&ctx->g->arena, graph->n_input, sizeof(*ctx->g->inputs));
	if (!ctx->g->inputs)
		return -ENOMEM;
	for (i = 0; i < graph->n_input; i++) {
		err = import_input(ctx, graph->input[i], i);
		first = first ? first : err;
	}
	return first;
}

static const char *node_label(struct npu_onnx_ctx *ctx, const Onnx__NodeProto *p, size_t i)
{
	const char *label;

	if (*text(p->name))
		return p->name;
	/* nameless nodes are told apart by what they produce */
	label = p->n_output && *text(p->output[0]) ?
			npu_arena_printf(&ctx->g->arena, "->%s", p->output[0]) :
			npu_arena_printf(&ctx->g->arena, "#%zu", i);
	return label ? label : "?";
}

static int refuse_node(struct npu_onnx_ctx *ctx, const char *label, const char *domain,
		       const char *type)
{
	const struct npu_onnx_op *known = npu_onnx_op_find(domain, type);
	const char *why = known ? known->why_not : "there is none of this name";

	return npu_diag_named(ctx->diag, NPU_DIAG_ERROR, -EOPNOTSUPP, label, type,
			      "operator is not supported%s%s%s%s%s", *domain ? " (domain " : "",
			      domain, *domain ? ")" : "", *why ? ": " : "", why);
}

static int check_node(struct npu_onnx_ctx *ctx, const Onnx__NodeProto *p, const char *label,
		      enum npu_gop *op, const struct npu_host_op **own)
{
	const struct npu_gop_info *info;
	const char *domain = text(p->domain), *type = text(p->op_type);

	if (!strcmp(domain, "npu"))
		domain = "npu?";	/* internal operators cannot be written in a model */
	*op = npu_gop_find(domain, type);
	*own = *op == NPU_GOP_NONE && ctx->host ?
		       npu_host_op_find_in(ctx->host->ops, ctx->host->num_ops, domain, type) : NULL;
	if (*own) {
		*op = NPU_GOP_Host;
		return p->n_output ? 0 :
				     npu_diag_named(ctx->diag, NPU_DIAG_ERROR, -EINVAL, label, type,
						    "it has no output");
	}
	if (*op == NPU_GOP_NONE)
		return refuse_node(ctx, label, domain, type);
	info = npu_gop_info(*op);
	if ((!*domain || !strcmp(domain, "ai.onnx")) && !ctx->g->opset)
		return npu_diag_named(ctx->diag, NPU_DIAG_ERROR, -EINVAL, label, type,
				      "the model imports no operator set of ai.onnx");
	if ((!*domain || !strcmp(domain, "ai.onnx")) && info->since > ctx->g->opset)
		return npu_diag_named(ctx->diag, NPU_DIAG_ERROR, -EINVAL, label, type,
				      "operator exists since operator set %d, the model imports %d",
				      info->since, ctx->g->opset);
	if (p->n_input < (size_t)info->in_min ||
	    (info->in_max >= 0 && p->n_input > (size_t)info->in_max))
		return npu_diag_named(ctx->diag, NPU_DIAG_ERROR, -EINVAL, label, type,
				      "%zu inputs, expected %d to %d", p->n_input, info->in_min,
				      info->in_max);
	if (p->n_output < (size_t)info->out_min ||
	    (info->out_max >= 0 && p->n_output > (size_t)info->out_max))
		return npu_diag_named(ctx->diag, NPU_DIAG_ERROR, -EINVAL, label, type,
				      "%zu outputs, expected %d to %d", p->n_output, info->out_min,
				      info->out_max);
	return 0;
}

/* Outputs first, for all nodes: the order in the file need not be one of execution. */
static int import_node(struct npu_onnx_ctx *ctx, const Onnx__NodeProto *p, const char *label,
		       enum npu_gop op, const struct npu_host_op *own, struct npu_gnode **node)
{
	struct npu_gtensor **outputs = npu_arena_array(&ctx->g->arena, p->n_output,
						       sizeof(*outputs));
	struct npu_gtensor **inputs = npu_arena_array(&ctx->g->arena, p->n_input, sizeof(*inputs));
	size_t i;

	if (!outputs || !inputs)
		return -ENOMEM;
	for (i = 0; i < p->n_output; i++) {
		const char *name = text(p->output[i]);

		/*
		 * an output that nobody reads may be nameless, but only an optional one after the
		 * first may be absent
		 */
		if (!*name && i && i >= (size_t)npu_gop_info(op)->out_min &&
		    (own || npu_gop_info(op)->out_max >= 0))
			continue;
		if (*name && npu_graph_find_tensor(ctx->g, name))
			return npu_diag_named(ctx->diag, NPU_DIAG_ERROR, -EINVAL, label, p->op_type,
					      "output '%s' is already produced elsewhere", name);
		outputs[i] = npu_graph_tensor(ctx->g, name, "t", NPU_GT_NONE);
		if (!outputs[i])
			return -ENOMEM;
	}
	*node = npu_graph_node(ctx->g, op, label, inputs, (unsigned int)p->n_input, outputs,
			       (unsigned int)p->n_output);
	if (!*node)
		return -ENOMEM;
	if (!strcmp(text(p->domain), "com.microsoft"))
		(*node)->opset = NPU_ONNX_OPSET_MAX;
	if (own && npu_host_place_own(ctx->g, *node, own))
		return -ENOMEM;
	(*node)->sources = npu_arena_array(&ctx->g->arena, 1, sizeof(*(*node)->sources));
	if (!(*node)->sources)
		return -ENOMEM;
	(*node)->sources[0] = (*node)->name;
	(*node)->num_sources = 1;
	return npu_onnx_attrs(ctx, p, *node);
}

static int link_node(struct npu_onnx_ctx *ctx, const Onnx__NodeProto *p, struct npu_gnode *n)
{
	const struct npu_gop_info *info = npu_gnode_info(n);
	int first = 0, err;
	size_t i;

	for (i = 0; i < p->n_input; i++) {
		const char *name = text(p->input[i]);
		struct npu_gtensor *t = *name ? npu_graph_find_tensor(ctx->g, name) : NULL;

		err = 0;
		if (!*name && !n->host && (i < (size_t)info->in_min || info->in_max < 0))
			err = npu_diag_node(ctx->diag, -EINVAL, n, NULL,
					    "input %zu is required but absent", i);
		else if (*name && !t)
			err = npu_diag_node(
				ctx->diag, -EINVAL, n, NULL,
				"input %zu '%s' is neither produced by a node nor an input nor a constant",
				i, name);
		else if (t)
			err = npu_gnode_set_input(ctx->g, n, (unsigned int)i, t);
		first = first ? first : err;
	}
	return first;
}

static int import_nodes(struct npu_onnx_ctx *ctx, const Onnx__GraphProto *graph)
{
	struct npu_gnode **nodes = calloc(graph->n_node + 1, sizeof(*nodes));
	const struct npu_host_op *own;
	int err, first = 0;
	enum npu_gop op;
	size_t i;

	if (!nodes)
		return -ENOMEM;
	for (i = 0; i < graph->n_node; i++) {
		const char *label = node_label(ctx, graph->node[i], i);

		err = check_node(ctx, graph->node[i], label, &op, &own);
		if (!err)
			err = import_node(ctx, graph->node[i], label, op, own, &nodes[i]);
		first = first ? first : err;
	}
	/*
	 * An unsupported node leaves its outputs undefined, which is no news worth a message per
	 * consumer.
	 */
	for (i = 0; i < graph->n_node && !first; i++)
		first = link_node(ctx, graph->node[i], nodes[i]);
	free(nodes);
	return first;
}

static int import_outputs(struct npu_onnx_ctx *ctx, const Onnx__GraphProto *graph)
{
	struct npu_graph *g = ctx->g;
	size_t i;

	g->outputs = npu_arena_array(&g->arena, graph->n_output, sizeof(*g->outputs));
	g->output_names = npu_arena_array(&g->arena, graph->n_output, sizeof(*g->output_names));
	if (!g->outputs || !g->output_names)
		return -ENOMEM;
	if (!graph->n_output)
		return npu_diag_add(ctx->diag, -EINVAL, "graph.output", "the model has no output");
	for (i = 0; i < graph->n_output; i++) {
		const char *name = text(graph->output[i]->name);
		struct npu_gtensor *t = npu_graph_find_tensor(g, name);

		if (!t)
			return npu_diag_add(ctx->diag, -EINVAL, "graph.output",
					    "'%s' is not produced by any node", name);
		t->is_output = true;
		g->outputs[i] = t;
		g->output_names[i] = t->name;
		g->num_outputs++;
	}
	return 0;
}

static int import_graph(struct npu_onnx_ctx *ctx, const Onnx__GraphProto *graph)
{
	int err, first;

	ctx->g->name = npu_arena_strdup(&ctx->g->arena, text(graph->name));
	if (!ctx->g->name)
		return -ENOMEM;
	if (graph->n_node > 1000000 || graph->n_initializer > 1000000 || graph->n_input > 100000)
		return npu_diag_add(ctx->diag, -EINVAL, "graph",
				    "more than a million nodes or constants");
	first = import_initializers(ctx, graph);
	err = import_inputs(ctx, graph);
	first = first ? first : err;
	err = import_nodes(ctx, graph);
	first = first ? first : err;
	if (!first)
		first = import_outputs(ctx, graph);
	return first ? first : npu_graph_sort(ctx->g, ctx->diag);
}

static int import_model(struct npu_onnx_ctx *ctx, const void *data, size_t size, const char *path)
{
	Onnx__ModelProto *model;
	const char *slash;
	int err;

	err = npu_onnx_check_wire(data, size, &onnx__model_proto__descriptor, ctx->diag);
	if (err)
		return err;
	if (path) {
		slash = strrchr(path, '/');
		ctx->src->folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
		ctx->g->path = npu_arena_strdup(&ctx->g->arena, path);
		if (!ctx->src->folder || !ctx->g->path)
			return -ENOMEM;
	}
	model = onnx__model_proto__unpack(NULL, size, data);
	ctx->src->model = model;
	if (!model)
		return npu_diag_add(ctx->diag, -EINVAL, NULL,
				    "not a valid ONNX file: a field has the wrong type");
	if (!model->graph)
		return npu_diag_add(ctx->diag, -EINVAL, "graph",
				    "not an ONNX model: there is no graph");
	ctx->g->ir_version = (int)model->ir_version;
	ctx->g->producer = npu_arena_printf(&ctx->g->arena, "%s %s", text(model->producer_name),
					    text(model->producer_version));
	if (!ctx->g->producer)
		return -ENOMEM;
	err = import_opsets(ctx, model);
	return err ? err : import_graph(ctx, model->graph);
}

int npu_onnx_import_error(const struct npu_diag *diag)
{
	for (unsigned int i = 0; i < diag->count; i++)
		if (diag->entry[i].level == NPU_DIAG_ERROR && diag->entry[i].err != -EOPNOTSUPP)
			return -EINVAL;
	return diag->count ? -EOPNOTSUPP : -EINVAL;
}

struct npu_graph *npu_onnx_import(const void *data, size_t size, const char *path,
				  struct npu_diag *diag)
{
	return npu_onnx_import_host(data, size, path, NULL, diag);
}

struct npu_graph *npu_onnx_import_host(const void *data, size_t size, const char *path,
				       const struct npu_host_config *host, struct npu_diag *diag)
{
	struct npu_onnx_ctx ctx = { .diag = diag, .host = host };
	int err = -ENOMEM;

	if (path && !diag->path)
		diag->path = npu_arena_strdup(&diag->arena, path);
	ctx.g = npu_graph_new();
	ctx.src = calloc(1, sizeof(*ctx.src));
	if (ctx.g && ctx.src) {
		ctx.g->host = host;
		ctx.g->release = source_release;
		ctx.g->priv = ctx.src;
		err = import_model(&ctx, data, size, path);
	} else {
		free(ctx.src);
	}
	if (!err)
		return ctx.g;
	if (!diag->errors)
		npu_diag_add(diag, err, NULL, "out of memory");
	if (err == -EOPNOTSUPP)
		npu_refuse_rest(ctx.g, diag);
	npu_graph_free(ctx.g);
	return NULL;
}
