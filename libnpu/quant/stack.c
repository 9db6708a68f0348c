// SPDX-License-Identifier: MIT
#include "quant/stack.h"

#include <errno.h>

#include "compiler/dims.h"
#include "compiler/host_place.h"

/* More than anybody calibrates with: a first dimension of millions is a mistake. */
#define MAX_SAMPLES	100000

struct stacks {
	struct npu_calib *c;
	struct npu_graph **program;	/* the model with the shapes of each */
	unsigned int num_programs;
};

/* The tensor of one input of a sample, as it was given. */
struct stack {
	const struct npu_calib_tensor *tensor;
	int64_t count;			/* samples in it */
	bool split;			/* they lie along its first dimension */
	bool batch;			/* ... which is 1 in each */
};

static int read_programs(struct stacks *s, const struct npu_calib_model *m)
{
	int err = 0;

	s->program = npu_arena_array(&s->c->arena, m->num_variants, sizeof(*s->program));
	if (!s->program)
		return -ENOMEM;
	for (unsigned int i = 0; i < m->num_variants && !err; i++) {
		struct npu_graph *g = npu_onnx_import_host(m->data, m->size, m->path, m->host,
							   s->c->diag);

		if (!g)
			return npu_onnx_import_error(s->c->diag);
		s->program[s->num_programs++] = g;
		err = npu_shape_text_bind(g, m->shapes, m->num_shapes, i, s->c->diag);
	}
	return err;
}

static void free_programs(struct stacks *s)
{
	for (unsigned int i = 0; i < s->num_programs; i++)
		npu_graph_free(s->program[i]);
}

static bool can_be(const struct npu_graph *g, struct npu_dim d, int64_t value)
{
	if (npu_dim_is_const(d))
		return d.base == value;
	return value >= npu_dim_low(g, d) && value <= npu_dim_high(g, d) &&
	       !((value - d.base) % d.factor);
}

static int no_samples(const struct stacks *s, const struct npu_gtensor *t,
		      const struct npu_calib_tensor *v, unsigned int k)
{
	char where[NPU_CALIB_WHERE];

	return npu_diag_add(s->c->diag, -EINVAL, "calib",
			    "%s: the first dimension is %lld, expected 1 to %d samples",
			    npu_calib_where(v, t, k, where), (long long)v->dims[0], MAX_SAMPLES);
}

/* A tensor of the input's rank. */
static int look_at_batch(const struct stacks *s, unsigned int input, unsigned int k,
			 struct stack *out)
{
	const struct npu_calib_tensor *v = out->tensor;
	const struct npu_gtensor *t = NULL;
	char text[64], where[NPU_CALIB_WHERE];
	bool one = false;

	for (unsigned int i = 0; i < s->num_programs; i++) {
		const struct npu_graph *g = s->program[i];

		t = g->inputs[input];
		if (can_be(g, t->dim[0], v->dims[0]))
			return 0;
		one |= npu_dim_is_const(t->dim[0]) && t->dim[0].base == 1;
	}
	for (unsigned int i = 0; i < s->num_programs; i++) {
		const struct npu_graph *g = s->program[i];

		t = g->inputs[input];
		if (npu_dim_is_const(t->dim[0]))
			continue;
		return npu_diag_add(
			s->c->diag, -EINVAL, "calib",
			"%s: the first dimension is %lld, and every run chooses that of the input (%s): it is "
			"not clear whether these are samples; stack them along one more dimension in front",
			npu_calib_where(v, t, k, where), (long long)v->dims[0],
			npu_dim_text(g, t->dim[0], text, sizeof(text)));
	}
	/* else the shape is wrong, which is said when it is checked */
	if (one) {
		out->count = v->dims[0];
		out->split = out->batch = true;
	}
	return 0;
}

static int look_at(const struct stacks *s, unsigned int input, unsigned int k, struct stack *out)
{
	const struct npu_gtensor *t = s->program[0]->inputs[input];
	const struct npu_calib_tensor *v = out->tensor;
	int err = 0;

	out->count = 1;
	if (v->rank < 1 || v->rank > NPU_GRAPH_MAX_RANK + 1 || !v->dims || t->rank < 0)
		return 0;
	if (v->rank == t->rank + 1) {
		out->count = v->dims[0];
		out->split = true;
	} else if (v->rank == t->rank) {
		err = look_at_batch(s, input, k, out);
	}
	return !err && (out->count < 1 || out->count > MAX_SAMPLES) ? no_samples(s, t, v, k) : err;
}

/* All tensors of sample @k; @stack has room for them. */
static int look_at_sample(const struct stacks *s, unsigned int k, struct stack *stack)
{
	const struct npu_graph *g = s->program[0];

	for (unsigned int i = 0; i < g->num_inputs; i++) {
		int err;

		stack[i] = (struct stack){ .tensor = npu_calib_find(&s->c->sample[k], g, i) };
		err = look_at(s, i, k, &stack[i]);
		if (err)
			return err;
		if (stack[i].count != stack[0].count)
			return npu_diag_add(s->c->diag, -EINVAL, "calib",
					    "sample %u: %lld samples of input '%s' and %lld of '%s'",
					    k, (long long)stack[0].count, g->inputs[0]->name,
					    (long long)stack[i].count, g->inputs[i]->name);
	}
	return 0;
}

/* Sample @index of @from, for the input @name. */
static int take(struct npu_arena *arena, const struct stack *from, int64_t index, const char *name,
		struct npu_calib_tensor *to)
{
	const struct npu_calib_tensor *v = from->tensor;
	uint64_t bytes = npu_host_dtype_size((uint32_t)v->dtype);
	int64_t *dims;

	*to = *v;
	to->name = name;
	if (!from->split)
		return 0;
	dims = npu_arena_array(arena, (size_t)v->rank + 1, sizeof(*dims));
	if (!dims)
		return -ENOMEM;
	dims[0] = 1;
	for (int d = 1; d < v->rank; d++) {
		dims[d] = v->dims[d];
		if (dims[d] < 0 || __builtin_mul_overflow(bytes, (uint64_t)dims[d], &bytes))
			return -EOVERFLOW;
	}
	if (bytes > SIZE_MAX / 2 / MAX_SAMPLES)
		return -EOVERFLOW;
	to->rank = from->batch ? v->rank : v->rank - 1;
	to->dims = from->batch ? dims : dims + 1;
	to->data = v->data ? (const char *)v->data + (size_t)index * (size_t)bytes : NULL;
	return 0;
}

/* The samples of sample @k behind those there are at *@out, in its arena's memory. */
static int spread(struct stacks *s, unsigned int k, const struct stack *stack,
		  struct npu_calib_sample *out, unsigned int *num)
{
	const struct npu_graph *g = s->program[0];
	struct npu_calib *c = s->c;

	for (int64_t j = 0; j < (g->num_inputs ? stack[0].count : 1); j++) {
		struct npu_calib_tensor *t =
			npu_arena_array(&c->arena, g->num_inputs + 1, sizeof(*t));
		int err = t ? 0 : -ENOMEM;

		for (unsigned int i = 0; i < g->num_inputs && !err; i++)
			err = take(&c->arena, &stack[i], j, c->input_name[i], &t[i]);
		if (err == -EOVERFLOW)
			return npu_diag_add(c->diag, -EINVAL, "calib",
					    "sample %u: a shape does not fit", k);
		if (err)
			return err;
		out[(*num)++] = (struct npu_calib_sample){ t, g->num_inputs };
	}
	return 0;
}

/* All samples of @stack, [sample][input]. */
static int spread_all(struct stacks *s, const struct stack *stack, uint64_t total)
{
	const unsigned int inputs = s->program[0]->num_inputs;
	struct npu_calib *c = s->c;
	struct npu_calib_sample *out;
	unsigned int num = 0;
	int err = 0;

	if (total > MAX_SAMPLES)
		return npu_diag_add(c->diag, -EINVAL, "calib", "%llu samples, at most %d are taken",
				    (unsigned long long)total, MAX_SAMPLES);
	out = npu_arena_array(&c->arena, (size_t)total + 1, sizeof(*out));
	if (!out)
		return -ENOMEM;
	for (unsigned int k = 0; k < c->num_samples && !err; k++)
		err = spread(s, k, stack + (size_t)k * inputs, out, &num);
	c->sample = out;
	c->num_samples = num;
	return err;
}

int npu_calib_unstack(struct npu_calib *c, const struct npu_calib_model *m)
{
	struct stacks s = { .c = c };
	struct stack *stack = NULL;
	unsigned int inputs = 0;
	uint64_t total = 0;
	int err = read_programs(&s, m);

	if (!err) {
		inputs = s.program[0]->num_inputs;
		stack = npu_arena_array(&c->arena, (size_t)c->num_samples * inputs + 1,
					sizeof(*stack));
		err = stack ? 0 : -ENOMEM;
	}
	for (unsigned int k = 0; k < c->num_samples && !err; k++) {
		err = look_at_sample(&s, k, stack + (size_t)k * inputs);
		total += inputs ? (uint64_t)stack[(size_t)k * inputs].count : 1;
	}
	if (!err)
		err = spread_all(&s, stack, total);
	free_programs(&s);
	return err;
}
