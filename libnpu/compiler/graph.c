// SPDX-License-Identifier: MIT
/* Tensors, nodes and the links between them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/dims.h"

/* ---- names ----------------------------------------------------------------------------------- */

struct npu_name_entry {
	const char *name;
	void *item;
};

struct npu_name_map {
	struct npu_name_entry *slot;
	size_t size, used;	/* size is a power of two */
	unsigned int next;	/* suffix for the next made-up name */
};

static size_t name_hash(const char *s)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3u;
	return (size_t)(h ^ h >> 29);
}

static struct npu_name_entry *name_slot(const struct npu_name_map *map, const char *name)
{
	size_t i = name_hash(name) & (map->size - 1);

	while (map->slot[i].name && strcmp(map->slot[i].name, name))
		i = (i + 1) & (map->size - 1);
	return &map->slot[i];
}

static int name_map_grow(struct npu_arena *arena, struct npu_name_map *map)
{
	struct npu_name_map bigger = *map;
	size_t i;

	bigger.size = map->size ? 2 * map->size : 256;
	bigger.slot = npu_arena_array(arena, bigger.size, sizeof(*bigger.slot));
	if (!bigger.slot)
		return -ENOMEM;
	for (i = 0; i < map->size; i++)
		if (map->slot[i].name)
			*name_slot(&bigger, map->slot[i].name) = map->slot[i];
	*map = bigger;
	return 0;
}

/* Returns the name as stored: @name itself, or with a suffix when it is taken or missing. */
static const char *name_claim(struct npu_graph *g, struct npu_name_map *map, const char *name,
			      const char *stem, void *item)
{
	struct npu_name_entry *e;
	const char *want = name && *name ? npu_arena_strdup(&g->arena, name) : NULL;

	if (2 * map->used >= map->size && name_map_grow(&g->arena, map))
		return NULL;
	if (name && *name && !want)
		return NULL;
	for (;;) {
		if (want) {
			e = name_slot(map, want);
			if (!e->name)
				break;
		}
		want = npu_arena_printf(&g->arena, "%s#%u", stem, map->next++);
		if (!want)
			return NULL;
	}
	e->name = want;
	e->item = item;
	map->used++;
	return want;
}

struct npu_gtensor *npu_graph_find_tensor(const struct npu_graph *g, const char *name)
{
	return g->tensor_names->size ? name_slot(g->tensor_names, name)->item : NULL;
}

/* ---- graph ----------------------------------------------------------------------------------- */

struct npu_graph *npu_graph_new(void)
{
	struct npu_graph *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->tensor_names = npu_arena_alloc(&g->arena, sizeof(*g->tensor_names));
	g->node_names = npu_arena_alloc(&g->arena, sizeof(*g->node_names));
	if (!g->tensor_names || !g->node_names) {
		npu_graph_free(g);
		return NULL;
	}
	g->name = g->producer = g->path = "";
	return g;
}

void npu_graph_free(struct npu_graph *g)
{
	unsigned int i;

	if (!g)
		return;
	if (g->release)
		g->release(g->priv);
	for (i = 0; i < g->num_tensors; i++)
		free(g->tensors[i]->consumer);
	free(g->tensors);
	free(g->nodes);
	npu_arena_fini(&g->arena);
	free(g);
}

/*
 * Pointer arrays that grow are malloc'ed: in an arena every growth would leave the old copy behind.
 */
static int array_reserve(void *array, unsigned int count, unsigned int *max)
{
	void **p = *(void ***)array, **grown;
	unsigned int want;

	if (count < *max)
		return 0;
	if (*max > UINT32_MAX / 4)
		return -ENOMEM;
	want = *max ? 2 * *max : 4;
	grown = realloc(p, want * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	*(void ***)array = grown;
	*max = want;
	return 0;
}

int npu_graph_symbol_add(struct npu_graph *g, const char *name, int64_t min, int64_t max,
			 int64_t step, struct npu_diag *diag)
{
	struct npu_symbol *s = &g->syms[g->num_syms];
	unsigned int i;

	if (step < 1 || min < 1 || max < min || min % step || max % step)
		return npu_diag_add(
			diag, -EINVAL, name,
			"symbol bounds %lld..%lld step %lld: expected 1 <= min <= max, both multiples of "
			"the step",
			(long long)min, (long long)max, (long long)step);
	for (i = 0; i < g->num_syms; i++)
		if (!strcmp(g->syms[i].name, name))
			return npu_diag_add(diag, -EINVAL, name, "symbol declared twice");
	if (g->num_syms == NPU_GRAPH_MAX_SYMS)
		return npu_diag_add(diag, -ENOSPC, name, "more than %d symbols",
				    NPU_GRAPH_MAX_SYMS);
	s->name = npu_arena_strdup(&g->arena, name);
	if (!s->name)
		return -ENOMEM;
	s->min = min;
	s->max = max;
	s->step = step;
	s->smin = min / step;
	s->smax = max / step;
	return (int)g->num_syms++;
}

struct npu_dim npu_graph_symbol_dim(const struct npu_graph *g, int sym)
{
	return (struct npu_dim){ 0, g->syms[sym].step, sym };
}

static int bind_check(const struct npu_graph *g, const struct npu_gtensor *t,
		      const struct npu_dim *dims, int rank, struct npu_diag *diag)
{
	char text[64];
	int i;

	if (rank < 0 || rank > NPU_GRAPH_MAX_RANK || (t->rank >= 0 && t->rank != rank))
		return npu_diag_add(diag, -EINVAL, t->name,
				    "shape of rank %d given, but the model's input has rank %d",
				    rank, t->rank);
	for (i = 0; i < rank; i++) {
		if (dims[i].sym >= (int)g->num_syms || dims[i].sym < NPU_DIM_CONST ||
		    (dims[i].sym == NPU_DIM_CONST && dims[i].factor) ||
		    npu_dim_low(g, dims[i]) < 0 || npu_dim_high(g, dims[i]) > INT32_MAX)
			return npu_diag_add(
				diag, -EINVAL, t->name,
				"dimension %d: expected 0..2147483647 or a declared symbol", i);
		if (t->rank >= 0 && npu_dim_is_const(t->dim[i]) &&
		    !npu_dim_equal(t->dim[i], dims[i]))
			return npu_diag_add(diag, -EINVAL, t->name,
					    "dimension %d is %s, but the model fixes it to %lld", i,
					    npu_dim_text(g, dims[i], text, sizeof(text)),
					    (long long)t->dim[i].base);
	}
	return 0;
}

int npu_graph_bind_shape(struct npu_graph *g, const char *input, const struct npu_dim *dims,
			 int rank, struct npu_diag *diag)
{
	struct npu_gtensor *t = NULL;
	unsigned int i;
	int err;

	for (i = 0; i < g->num_inputs && !t; i++)
		if (!strcmp(g->inputs[i]->name, input))
			t = g->inputs[i];
	if (!t)
		return npu_diag_add(diag, -ENOENT, input,
				    "the model has no input of this name (its first is '%s')",
				    g->num_inputs ? g->inputs[0]->name : "");
	err = bind_check(g, t, dims, rank, diag);
	if (err)
		return err;
	t->rank = rank;
	if (rank)
		memcpy(t->dim, dims, (size_t)rank * sizeof(*dims));
	return 0;
}

/* ---- tensors --------------------------------------------------------------------------------- */

struct npu_gtensor *npu_graph_tensor(struct npu_graph *g, const char *name, const char *stem,
				     enum npu_gtype type)
{
	struct npu_gtensor *t;

	if (array_reserve(&g->tensors, g->num_tensors, &g->max_tensors))
		return NULL;
	t = npu_arena_alloc(&g->arena, sizeof(*t));
	if (!t)
		return NULL;
	t->name = name_claim(g, g->tensor_names, name, stem, t);
	if (!t->name)
		return NULL;
	t->type = type;
	t->rank = -1;
	t->id = g->num_tensors;
	g->tensors[g->num_tensors++] = t;
	return t;
}

struct npu_gtensor *npu_graph_const(struct npu_graph *g, const char *stem, enum npu_gtype type,
				    int rank, const int64_t *dims, const void *data)
{
	struct npu_gtensor *t;
	size_t bytes = npu_gtype_size(type);
	int i;

	if (rank > NPU_GRAPH_MAX_RANK || !bytes)
		return NULL;
	t = npu_graph_tensor(g, NULL, stem, type);
	if (!t)
		return NULL;
	for (i = 0; i < rank; i++) {
		if (dims[i] < 0 || __builtin_mul_overflow(bytes, (size_t)dims[i], &bytes))
			return NULL;
		t->dim[i] = npu_dim_const(dims[i]);
	}
	t->rank = rank;
	t->size = bytes;
	/* An empty constant still needs a non-NULL data pointer, which is what marks it as one. */
	t->data = npu_arena_alloc(&g->arena, bytes ? bytes : 1);
	if (!t->data)
		return NULL;
	if (data && bytes)
		memcpy((void *)t->data, data, bytes);
	return t;
}

bool npu_gtensor_is_static(const struct npu_gtensor *t)
{
	int i;

	if (!t || t->rank < 0)
		return false;
	for (i = 0; i < t->rank; i++)
		if (!npu_dim_is_const(t->dim[i]))
			return false;
	return true;
}

int64_t npu_gtensor_elems(const struct npu_gtensor *t, const int64_t *scalars)
{
	int64_t n = 1;
	int i;

	for (i = 0; i < t->rank; i++)
		if (__builtin_mul_overflow(n, npu_dim_eval(t->dim[i], scalars), &n))
			return INT64_MAX;
	return n;
}

int64_t npu_gtensor_const_elems(const struct npu_gtensor *t)
{
	return npu_gtensor_is_static(t) ? npu_gtensor_elems(t, NULL) : -1;
}

static int consumer_add(struct npu_gtensor *t, struct npu_gnode *n)
{
	if (!t)
		return 0;
	if (array_reserve(&t->consumer, t->num_consumers, &t->max_consumers))
		return -ENOMEM;
	t->consumer[t->num_consumers++] = n;
	return 0;
}

/* From the end: passes take away what was added last, and a constant may have a million readers. */
static void consumer_del(struct npu_gtensor *t, const struct npu_gnode *n)
{
	unsigned int i = t ? t->num_consumers : 0;

	while (i--) {
		if (t->consumer[i] != n)
			continue;
		memmove(&t->consumer[i], &t->consumer[i + 1],
			(t->num_consumers - i - 1) * sizeof(*t->consumer));
		t->num_consumers--;
		return;
	}
}

/* ---- nodes ----------------------------------------------------------------------------------- */

struct npu_gnode *npu_graph_node(struct npu_graph *g, enum npu_gop op, const char *name,
				 struct npu_gtensor *const *inputs, unsigned int num_inputs,
				 struct npu_gtensor *const *outputs, unsigned int num_outputs)
{
	struct npu_gnode *n;
	unsigned int i;

	if (array_reserve(&g->nodes, g->num_nodes, &g->max_nodes))
		return NULL;
	n = npu_arena_alloc(&g->arena, sizeof(*n));
	if (!n)
		return NULL;
	n->inputs = npu_arena_array(&g->arena, num_inputs, sizeof(*n->inputs));
	n->outputs = npu_arena_array(&g->arena, num_outputs, sizeof(*n->outputs));
	n->name = name_claim(g, g->node_names, name, npu_gop_info(op)->name, n);
	if (!n->inputs || !n->outputs || !n->name)
		return NULL;
	n->op = n->model_op = op;
	n->opset = g->opset;
	n->ep.act.slope = n->ep.act2.slope = n->ep.res = -1;
	n->ep.post_mul = 1;
	n->id = g->next_node_id++;
	g->nodes[g->num_nodes++] = n;
	n->num_inputs = num_inputs;
	for (i = 0; i < num_inputs; i++) {
		n->inputs[i] = inputs[i];
		if (consumer_add(inputs[i], n))
			return NULL;
	}
	n->num_outputs = num_outputs;
	for (i = 0; i < num_outputs; i++) {
		n->outputs[i] = outputs[i];
		if (outputs[i])
			outputs[i]->producer = n;
	}
	return n;
}

int npu_gnode_set_input(struct npu_graph *g, struct npu_gnode *n, unsigned int i,
			struct npu_gtensor *t)
{
	struct npu_gtensor **grown;

	if (i >= n->num_inputs) {
		grown = npu_arena_array(&g->arena, (size_t)i + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		if (n->num_inputs)
			memcpy(grown, n->inputs, n->num_inputs * sizeof(*grown));
		n->inputs = grown;
		n->num_inputs = i + 1;
	}
	if (consumer_add(t, n))
		return -ENOMEM;
	consumer_del(n->inputs[i], n);
	n->inputs[i] = t;
	return 0;
}

void npu_gnode_trim_inputs(struct npu_gnode *n, unsigned int count)
{
	while (n->num_inputs > count)
		consumer_del(n->inputs[--n->num_inputs], n);
}

static int replace_inputs(struct npu_graph *g, struct npu_gnode *n, struct npu_gtensor *from,
			  struct npu_gtensor *to)
{
	unsigned int i;
	int err;

	for (i = 0; i < n->num_inputs; i++) {
		if (n->inputs[i] != from)
			continue;
		err = npu_gnode_set_input(g, n, i, to);
		if (err)
			return err;
	}
	return 0;
}

int npu_graph_replace(struct npu_graph *g, struct npu_gtensor *from, struct npu_gtensor *to)
{
	unsigned int i;
	int err;

	if (from == to)
		return 0;
	while (from->num_consumers) {
		err = replace_inputs(g, from->consumer[from->num_consumers - 1], from, to);
		if (err)
			return err;
	}
	for (i = 0; i < g->num_outputs; i++) {
		if (g->outputs[i] != from)
			continue;
		g->outputs[i] = to;
		to->is_output = true;
	}
	from->is_output = false;
	return 0;
}

void npu_graph_remove(struct npu_graph *g, struct npu_gnode *n)
{
	unsigned int i;

	(void)g;
	npu_gnode_trim_inputs(n, 0);
	for (i = 0; i < n->num_outputs; i++)
		if (n->outputs[i] && n->outputs[i]->producer == n)
			n->outputs[i]->producer = NULL;
	n->dead = true;
}

int npu_graph_revive(struct npu_graph *g, struct npu_gnode *n, struct npu_gtensor *const *inputs,
		     unsigned int num_inputs)
{
	if (array_reserve(&g->nodes, g->num_nodes, &g->max_nodes))
		return -ENOMEM;
	for (unsigned int i = 0; i < num_inputs; i++)
		if (consumer_add(inputs[i], n))
			return -ENOMEM;
		else
			n->inputs[n->num_inputs++] = inputs[i];
	for (unsigned int i = 0; i < n->num_outputs; i++)
		if (n->outputs[i])
			n->outputs[i]->producer = n;
	n->dead = false;
	g->nodes[g->num_nodes++] = n;
	return 0;
}

int npu_gnode_take_sources(struct npu_graph *g, struct npu_gnode *to, const struct npu_gnode *from)
{
	const char **all = npu_arena_array(&g->arena, (size_t)to->num_sources + from->num_sources,
					   sizeof(*all));

	if (!all)
		return -ENOMEM;
	if (to->num_sources)
		memcpy(all, to->sources, to->num_sources * sizeof(*all));
	if (from->num_sources)
		memcpy(all + to->num_sources, from->sources, from->num_sources * sizeof(*all));
	to->sources = all;
	to->num_sources += from->num_sources;
	return 0;
}

/* ---- order ----------------------------------------------------------------------------------- */

enum { SORT_NEW, SORT_OPEN, SORT_DONE };

struct sort_frame {
	struct npu_gnode *node;
	unsigned int next;
};

/*
 * Depth first over producers, with its own stack: a model may be a chain of a hundred thousand
 * nodes.
 */
static int sort_visit(struct npu_gnode *root, struct sort_frame *stack, struct npu_gnode **order,
		      unsigned int *count, struct npu_diag *diag)
{
	unsigned int depth = 0;

	stack[depth++] = (struct sort_frame){ root, 0 };
	root->mark = SORT_OPEN;
	while (depth) {
		struct sort_frame *top = &stack[depth - 1];
		struct npu_gtensor *t;

		if (top->next == top->node->num_inputs) {
			top->node->mark = SORT_DONE;
			order[(*count)++] = top->node;
			depth--;
			continue;
		}
		t = top->node->inputs[top->next++];
		if (!t || !t->producer || t->producer->mark == SORT_DONE)
			continue;
		if (t->producer->mark == SORT_OPEN)
			return npu_diag_node(
				diag, -ELOOP, t->producer, NULL,
				"its output '%s' is needed to compute its own input (the graph has a cycle)",
				t->name);
		t->producer->mark = SORT_OPEN;
		stack[depth++] = (struct sort_frame){ t->producer, 0 };
	}
	return 0;
}

int npu_graph_sort(struct npu_graph *g, struct npu_diag *diag)
{
	struct sort_frame *stack;
	struct npu_gnode **order;
	unsigned int count = 0, i;
	int err = 0;

	if (!g->num_nodes)
		return 0;
	stack = calloc((size_t)g->num_nodes + 1, sizeof(*stack));
	order = calloc((size_t)g->num_nodes, sizeof(*order));
	if (!stack || !order)
		err = -ENOMEM;
	for (i = 0; i < g->num_nodes; i++)
		g->nodes[i]->mark = SORT_NEW;
	for (i = 0; i < g->num_nodes && !err; i++)
		if (!g->nodes[i]->dead && g->nodes[i]->mark == SORT_NEW)
			err = sort_visit(g->nodes[i], stack, order, &count, diag);
	if (!err) {
		memcpy(g->nodes, order, count * sizeof(*order));
		g->num_nodes = count;
	}
	free(order);
	free(stack);
	return err;
}
