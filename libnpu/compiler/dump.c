// SPDX-License-Identifier: MIT
/* The graph as text: one node a line, stable from run to run. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compiler/dims.h"

static void dump_tensor(const struct npu_graph *g, const struct npu_gtensor *t, FILE *out)
{
	char shape[256];

	if (!t) {
		fputs("-", out);
		return;
	}
	fprintf(out, "%s%s:%s%s", t->data ? "@" : "%", t->name, npu_gtype_name(t->type),
		npu_shape_text(g, t, shape, sizeof(shape)));
	if (t->quant && t->quant->axis < 0)
		fprintf(out, "{%.9g,%d}", (double)t->quant->scale, t->quant->zero);
	else if (t->quant)
		fprintf(out, "{axis %d}", t->quant->axis);
	if (t->data && t->type != NPU_GT_STRING && npu_gtensor_const_elems(t) == 1)
		fprintf(out, "=%.9g", npu_gtensor_elem(t, 0));
}

static void dump_attr(const struct npu_graph *g, const struct npu_attr *a, FILE *out)
{
	char text[64];
	size_t i;

	fprintf(out, " %s=", a->name);
	switch (a->type) {
	case NPU_ATTR_INT:
		fprintf(out, "%" PRId64, a->i);
		return;
	case NPU_ATTR_FLOAT:
		fprintf(out, "%.9g", (double)a->f);
		return;
	case NPU_ATTR_STRING:
		fprintf(out, "'%.60s'", a->s);
		return;
	case NPU_ATTR_TENSOR:
		dump_tensor(g, a->t, out);
		return;
	default:
		break;
	}
	fputc('[', out);
	for (i = 0; i < a->count && i < 16; i++) {
		if (i)
			fputc(',', out);
		if (a->type == NPU_ATTR_INTS)
			fprintf(out, "%" PRId64, a->ints[i]);
		else if (a->type == NPU_ATTR_FLOATS)
			fprintf(out, "%.9g", (double)a->floats[i]);
		else if (a->type == NPU_ATTR_DIMS)
			fputs(npu_dim_text(g, a->dims[i], text, sizeof(text)), out);
		else
			fprintf(out, "'%.60s'", a->strings[i]);
	}
	fputs(a->count > 16 ? ",...]" : "]", out);
}

static void dump_act(const struct npu_gact *act, const char *label, FILE *out)
{
	if (act->kind == NPU_GA_NONE)
		return;
	fprintf(out, " %s=%s", label, npu_gact_name(act->kind));
	switch (act->kind) {
	case NPU_GA_CLIP: case NPU_GA_HARDSIGMOID: case NPU_GA_HARDSWISH: case NPU_GA_SELU:
		fprintf(out, "(%.9g,%.9g)", (double)act->a, (double)act->b);
		break;
	case NPU_GA_LEAKY: case NPU_GA_ELU: case NPU_GA_CELU: case NPU_GA_THRESHOLD:
		fprintf(out, "(%.9g)", (double)act->a);
		break;
	case NPU_GA_PRELU:
		fprintf(out, "(in%d)", act->slope);
		break;
	default:
		break;
	}
}

static void dump_node(const struct npu_graph *g, const struct npu_gnode *n, FILE *out)
{
	unsigned int i;

	for (i = 0; i < n->num_outputs; i++) {
		fputs(i ? ", " : "  ", out);
		dump_tensor(g, n->outputs[i], out);
	}
	fprintf(out, " = %s(", npu_gnode_info(n)->name);
	for (i = 0; i < n->num_inputs; i++) {
		if (i)
			fputs(", ", out);
		dump_tensor(g, n->inputs[i], out);
	}
	fputs(")", out);
	for (i = 0; i < n->num_attrs; i++)
		dump_attr(g, &n->attrs[i], out);
	dump_act(&n->ep.act, "act", out);
	if (n->ep.has_affine)
		fprintf(out, " post=fma(%.9g,%.9g)", (double)n->ep.post_mul,
			(double)n->ep.post_add);
	if (n->ep.res_op)
		fprintf(out, " res=%s(in%d)", n->ep.res_op == NPU_GR_ADD ? "add" : "mul",
			n->ep.res);
	dump_act(&n->ep.act2, "act2", out);
	fprintf(out, " <");
	for (i = 0; i < n->num_sources; i++)
		fprintf(out, "%s%s", i ? " " : "", n->sources[i]);
	fprintf(out, ">\n");
}

void npu_graph_dump(const struct npu_graph *g, FILE *out)
{
	unsigned int i;

	fprintf(out, "graph %s (opset %d, producer %s)\n", g->name, g->opset, g->producer);
	for (i = 0; i < g->num_syms; i++)
		fprintf(out, "  symbol %s = %" PRId64 "..%" PRId64 " step %" PRId64 "\n",
			g->syms[i].name, g->syms[i].min, g->syms[i].max, g->syms[i].step);
	for (i = 0; i < g->num_inputs; i++) {
		fputs("  input ", out);
		dump_tensor(g, g->inputs[i], out);
		fputc('\n', out);
	}
	for (i = 0; i < g->num_nodes; i++)
		if (!g->nodes[i]->dead)
			dump_node(g, g->nodes[i], out);
	for (i = 0; i < g->num_outputs; i++) {
		fprintf(out, "  output %s = ", g->output_names ? g->output_names[i] : "?");
		dump_tensor(g, g->outputs[i], out);
		fputc('\n', out);
	}
}
