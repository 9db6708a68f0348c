// SPDX-License-Identifier: MIT
/* Attributes of nodes. */
#include <errno.h>
#include <string.h>

#include "compiler/graph.h"

const struct npu_attr *npu_gnode_attr(const struct npu_gnode *n, const char *name)
{
	unsigned int i;

	for (i = 0; i < n->num_attrs; i++)
		if (!strcmp(n->attrs[i].name, name))
			return &n->attrs[i];
	return NULL;
}

static const struct npu_attr *attr_typed(const struct npu_gnode *n, const char *name,
					 enum npu_attr_type type)
{
	const struct npu_attr *a = npu_gnode_attr(n, name);

	return a && a->type == type ? a : NULL;
}

int64_t npu_gnode_int(const struct npu_gnode *n, const char *name, int64_t def)
{
	const struct npu_attr *a = attr_typed(n, name, NPU_ATTR_INT);

	return a ? a->i : def;
}

float npu_gnode_float(const struct npu_gnode *n, const char *name, float def)
{
	const struct npu_attr *a = attr_typed(n, name, NPU_ATTR_FLOAT);

	return a ? a->f : def;
}

const char *npu_gnode_string(const struct npu_gnode *n, const char *name, const char *def)
{
	const struct npu_attr *a = attr_typed(n, name, NPU_ATTR_STRING);

	return a ? a->s : def;
}

const int64_t *npu_gnode_ints(const struct npu_gnode *n, const char *name, size_t *count)
{
	const struct npu_attr *a = attr_typed(n, name, NPU_ATTR_INTS);

	*count = a ? a->count : 0;
	return a ? a->ints : NULL;
}

const float *npu_gnode_floats(const struct npu_gnode *n, const char *name, size_t *count)
{
	const struct npu_attr *a = attr_typed(n, name, NPU_ATTR_FLOATS);

	*count = a ? a->count : 0;
	return a ? a->floats : NULL;
}

const struct npu_dim *npu_gnode_dims(const struct npu_gnode *n, const char *name, size_t *count)
{
	const struct npu_attr *a = attr_typed(n, name, NPU_ATTR_DIMS);

	*count = a ? a->count : 0;
	return a ? a->dims : NULL;
}

static struct npu_attr *attr_slot(struct npu_graph *g, struct npu_gnode *n, const char *name,
				  enum npu_attr_type type)
{
	struct npu_attr *a = (struct npu_attr *)npu_gnode_attr(n, name);
	struct npu_attr *grown;
	unsigned int max;

	if (a) {
		const char *kept = a->name;

		*a = (struct npu_attr){ .name = kept, .type = type };
		return a;
	}
	if (n->num_attrs == n->max_attrs) {
		max = n->max_attrs ? 2 * n->max_attrs : 8;
		grown = npu_arena_array(&g->arena, max, sizeof(*grown));
		if (!grown)
			return NULL;
		if (n->num_attrs)
			memcpy(grown, n->attrs, n->num_attrs * sizeof(*grown));
		n->attrs = grown;
		n->max_attrs = max;
	}
	a = &n->attrs[n->num_attrs];
	a->name = npu_arena_strdup(&g->arena, name);
	if (!a->name)
		return NULL;
	a->type = type;
	n->num_attrs++;
	return a;
}

int npu_gnode_set_int(struct npu_graph *g, struct npu_gnode *n, const char *name, int64_t v)
{
	struct npu_attr *a = attr_slot(g, n, name, NPU_ATTR_INT);

	if (!a)
		return -ENOMEM;
	a->i = v;
	return 0;
}

int npu_gnode_set_float(struct npu_graph *g, struct npu_gnode *n, const char *name, float v)
{
	struct npu_attr *a = attr_slot(g, n, name, NPU_ATTR_FLOAT);

	if (!a)
		return -ENOMEM;
	a->f = v;
	return 0;
}

int npu_gnode_set_string(struct npu_graph *g, struct npu_gnode *n, const char *name, const char *v)
{
	const char *copy = npu_arena_strdup(&g->arena, v);
	struct npu_attr *a = copy ? attr_slot(g, n, name, NPU_ATTR_STRING) : NULL;

	if (!a)
		return -ENOMEM;
	a->s = copy;
	a->count = strlen(copy);
	return 0;
}

/*
 * The copy is made before the slot is reset: @v may point into the attribute that is being
 * replaced.
 */
static int attr_set_array(struct npu_graph *g, struct npu_gnode *n, const char *name,
			  enum npu_attr_type type, const void *v, size_t count, size_t size)
{
	void *copy = npu_arena_array(&g->arena, count ? count : 1, size);
	struct npu_attr *a;

	if (!copy)
		return -ENOMEM;
	if (count)
		memcpy(copy, v, count * size);
	a = attr_slot(g, n, name, type);
	if (!a)
		return -ENOMEM;
	a->count = count;
	a->ints = type == NPU_ATTR_INTS ? copy : NULL;
	a->floats = type == NPU_ATTR_FLOATS ? copy : NULL;
	a->dims = type == NPU_ATTR_DIMS ? copy : NULL;
	a->strings = type == NPU_ATTR_STRINGS ? copy : NULL;
	return 0;
}

int npu_gnode_set_ints(struct npu_graph *g, struct npu_gnode *n, const char *name, const int64_t *v,
		       size_t count)
{
	return attr_set_array(g, n, name, NPU_ATTR_INTS, v, count, sizeof(*v));
}

int npu_gnode_set_floats(struct npu_graph *g, struct npu_gnode *n, const char *name, const float *v,
			 size_t count)
{
	return attr_set_array(g, n, name, NPU_ATTR_FLOATS, v, count, sizeof(*v));
}

int npu_gnode_set_dims(struct npu_graph *g, struct npu_gnode *n, const char *name,
		       const struct npu_dim *v, size_t count)
{
	return attr_set_array(g, n, name, NPU_ATTR_DIMS, v, count, sizeof(*v));
}

int npu_gnode_set_strings(struct npu_graph *g, struct npu_gnode *n, const char *name,
			  const char *const *v, size_t count)
{
	return attr_set_array(g, n, name, NPU_ATTR_STRINGS, v, count, sizeof(*v));
}

int npu_gnode_set_tensor(struct npu_graph *g, struct npu_gnode *n, const char *name,
			 struct npu_gtensor *t)
{
	struct npu_attr *a = attr_slot(g, n, name, NPU_ATTR_TENSOR);

	if (!a)
		return -ENOMEM;
	a->t = t;
	return 0;
}

void npu_gnode_del_attr(struct npu_gnode *n, const char *name)
{
	const struct npu_attr *a = npu_gnode_attr(n, name);
	size_t i;

	if (!a)
		return;
	i = (size_t)(a - n->attrs);
	memmove(&n->attrs[i], &n->attrs[i + 1], (n->num_attrs - i - 1) * sizeof(*n->attrs));
	n->num_attrs--;
}
