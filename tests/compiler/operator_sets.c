// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operator_sets.h"

static const char *const sets[][2] = {
	{ "convolution networks", "Conv ConvTranspose BatchNormalization Relu PRelu LeakyRelu Clip "
				  "HardSigmoid HardSwish Sigmoid Tanh "
				  "Add Sub Mul Div Max Min MaxPool AveragePool GlobalAveragePool "
				  "GlobalMaxPool Resize Upsample Concat "
				  "Slice Split Pad Transpose Reshape Gemm Softmax" },
	{ "quantized networks", "QuantizeLinear DequantizeLinear QLinearConv QLinearMatMul "
				"DynamicQuantizeLinear ConvInteger "
				"MatMulInteger" },
	{ "transformers", "MatMul LayerNormalization RMSNormalization ReduceMean ReduceSum Pow "
			  "Sqrt Reciprocal Exp Erf Gelu "
			  "Gather Sin Cos Neg" },
	{ "shapes, indices and masks", "Shape Size Cast ConstantOfShape Range Expand Tile Squeeze "
				       "Unsqueeze Flatten Identity Where And Or Xor "
				       "Not Equal Less LessOrEqual Greater GreaterOrEqual Trilu "
				       "ArgMax ArgMin TopK GatherElements GatherND "
				       "Scatter ScatterElements ScatterND OneHot" },
};

#define NUM_SETS (sizeof(sets) / sizeof(sets[0]))
#define MAX_OPS 128

struct tally {
	char op[32];
	size_t set;
	int cases, npu;
};

static struct tally tally[MAX_OPS];
static size_t num_tallies;
static char elsewhere[16384], not_counted[16384];

/* The set that has @op, or NUM_SETS. */
static size_t set_of(const char *op)
{
	size_t len = strlen(op), s;

	for (s = 0; s < NUM_SETS; s++)
		for (const char *p = sets[s][1]; *p; p += strcspn(p, " "), p += strspn(p, " "))
			if (strcspn(p, " ") == len && !strncmp(p, op, len))
				return s;
	return s;
}

/* The one operator of the graph beside Constant; NULL: there are more, or none. */
static const Onnx__NodeProto *single_node(const Onnx__GraphProto *g)
{
	const Onnx__NodeProto *only = NULL;

	for (size_t i = 0; i < g->n_node; i++) {
		if (!strcmp(g->node[i]->op_type, "Constant"))
			continue;
		if (only || (g->node[i]->domain && *g->node[i]->domain))
			return NULL;
		only = g->node[i];
	}
	return only;
}

/* Element types that none of these networks computes with. */
static const char *foreign_type(Onnx__ValueInfoProto *const *v, size_t n)
{
	static const char *const names[17] = {
		[4] = "u16", [5] = "i16", [8] = "text", [11] = "f64", [12] = "u32", [13] = "u64"
	};

	for (size_t i = 0; i < n; i++) {
		const Onnx__TypeProto *t = v[i]->type;
		int type = t && t->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
				   ? (int)t->tensor_type->elem_type
				   : 0;

		if (!type)
			return "no tensor";
		if (type < 17 && names[type])
			return names[type];
	}
	return NULL;
}

/* No data, or no result. */
static bool is_empty(const struct onnx_case *c)
{
	bool empty = c->num_in && !c->in[0].arr.count;

	for (int i = 0; i < c->num_want; i++)
		empty |= !c->want[i].arr.count;
	return empty;
}

static bool trains(const Onnx__NodeProto *n)
{
	for (size_t i = 0; i < n->n_attribute; i++)
		if (!strcmp(n->attribute[i]->name, "training_mode") && n->attribute[i]->i)
			return true;
	return false;
}

/* Why a test is none of what the sets are about; NULL: it is. */
static const char *why_not(const struct onnx_case *c, const Onnx__NodeProto *n)
{
	const Onnx__GraphProto *g = c->model->graph;
	const char *type = foreign_type(g->input, g->n_input);

	type = type ? type : foreign_type(g->output, g->n_output);
	if (type)
		return type;
	if (trains(n))
		return "training";
	if (is_empty(c))
		return "empty tensors, nothing to compute";
	return *c->incomparable ? c->incomparable : NULL;
}

static struct tally *tally_of(const char *op, size_t set)
{
	for (size_t i = 0; i < num_tallies; i++)
		if (!strcmp(tally[i].op, op))
			return &tally[i];
	if (num_tallies == MAX_OPS)
		exit(1);
	snprintf(tally[num_tallies].op, sizeof(tally[0].op), "%s", op);
	tally[num_tallies].set = set;
	return &tally[num_tallies++];
}

static void append(char *text, size_t size, const char *name, const char *why)
{
	size_t at = strlen(text);

	snprintf(text + at, size - at, "%s: %s\n", name, why);
}

void operator_sets_reset(void)
{
	memset(tally, 0, sizeof(tally));
	num_tallies = 0;
	*elsewhere = *not_counted = 0;
}

void operator_sets_note(const char *name, const struct onnx_case *c, const char *place, bool npu)
{
	const Onnx__NodeProto *n = single_node(c->model->graph);
	size_t set = n ? set_of(n->op_type) : NUM_SETS;
	struct tally *t;
	const char *why;

	if (set == NUM_SETS)
		return;
	why = why_not(c, n);
	if (why) {
		append(not_counted, sizeof(not_counted), name, why);
		return;
	}
	t = tally_of(n->op_type, set);
	t->cases++;
	t->npu += npu;
	if (!npu)
		append(elsewhere, sizeof(elsewhere), name, place);
}

int operator_sets_cases(void)
{
	int n = 0;

	for (size_t i = 0; i < num_tallies; i++)
		n += tally[i].cases;
	return n;
}

int operator_sets_elsewhere(void)
{
	int n = 0;

	for (size_t i = 0; i < num_tallies; i++)
		n += tally[i].cases - tally[i].npu;
	return n;
}

static int by_name(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return x->set != y->set ? (x->set > y->set) - (x->set < y->set) : strcmp(x->op, y->op);
}

char *operator_sets_file(void)
{
	char *text = NULL;
	size_t size = 0, set = NUM_SETS;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		exit(1);
	fprintf(f,
		"# libonnx-testdata, all tests of one operator of the operator sets, compiled for "
		"f32. Written by "
		"`make conformance`.\n"
		"# in the operator sets: %d cases, %d on the NPU (computed when compiling, where "
		"all inputs are "
		"constant)\n",
		operator_sets_cases(), operator_sets_cases() - operator_sets_elsewhere());
	qsort(tally, num_tallies, sizeof(tally[0]), by_name);
	for (size_t i = 0; i < num_tallies; i++) {
		if (tally[i].set != set)
			fprintf(f, "\n# %s: %s\n", sets[tally[i].set][0], sets[tally[i].set][1]);
		set = tally[i].set;
		fprintf(f, "%s: %d cases, %d on the NPU\n", tally[i].op, tally[i].cases,
			tally[i].npu);
	}
	fprintf(f, "\n# elsewhere: %s\n%s", *elsewhere ? "" : "none", elsewhere);
	fprintf(f,
		"\n# of these operators, but not counted: types that none of these networks "
		"computes with, training, "
		"no data, wrong data\n%s",
		not_counted);
	if (fclose(f))
		exit(1);
	return text;
}
