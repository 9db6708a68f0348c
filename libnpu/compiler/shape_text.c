// SPDX-License-Identifier: MIT
/* Input shapes from text. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/shape_text.h"

#define SIZE_LIMIT	0x7fffffff

static bool read_number(const char **p, int64_t *v)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	errno = 0;
	*v = strtoll(*p, &end, 10);
	*p = end;
	return !errno && *v > 0 && *v <= SIZE_LIMIT;
}

/* "{symbol=min..max:step}", from behind the brace. */
static const char *read_range(const char **p, struct npu_shape_dim *d)
{
	const char *eq = *p + strcspn(*p, "=}");
	size_t len = (size_t)(eq - *p);

	if (*eq == '=') {
		if (!len || len >= sizeof(d->symbol))
			return "the symbol in front of '=' must have 1 to 31 letters";
		memcpy(d->symbol, *p, len);
		*p = eq + 1;
	}
	if (!read_number(p, &d->min) || strncmp(*p, "..", 2))
		return "expected {symbol=min..max:step}";
	*p += 2;
	if (!read_number(p, &d->max))
		return "the upper bound behind '..' must be a number from 1";
	d->step = 1;
	if (**p == ':') {
		(*p)++;
		if (!read_number(p, &d->step))
			return "the step behind ':' must be a number from 1";
	}
	if (**p != '}')
		return "'}' is missing";
	(*p)++;
	if (d->min > d->max || d->min % d->step || d->max % d->step)
		return "bounds must be multiples of the step, the lower one first";
	return NULL;
}

static const char *read_dims(const char *p, struct npu_shape_text *s)
{
	if (!strcmp(p, "scalar"))
		return NULL;
	for (;;) {
		struct npu_shape_dim *d;
		const char *why = NULL;

		if (s->rank == NPU_GRAPH_MAX_RANK)
			return "more than 8 dimensions";
		d = &s->dim[s->rank++];
		if (*p == '{') {
			p++;
			why = read_range(&p, d);
		} else if (read_number(&p, &d->min)) {
			d->max = d->min;
			d->step = 1;
		} else {
			why = "a dimension must be a number from 1 or {symbol=min..max:step}";
		}
		if (why || !*p)
			return why;
		if (*p++ != 'x')
			return "dimensions are separated by 'x'";
	}
}

static bool named_in(const struct npu_shape_text *s, unsigned int count, const char *input,
		     unsigned int variant)
{
	for (unsigned int i = 0; i < count; i++)
		if (s[i].variant == variant && !strcmp(s[i].input, input))
			return true;
	return false;
}

int npu_shape_text_parse(const char *const *text, unsigned int count,
			 struct npu_shape_text **shapes, unsigned int *num_variants,
			 struct npu_diag *diag)
{
	struct npu_shape_text *s = calloc(count + 1, sizeof(*s));
	unsigned int variant = 0;
	int err = s ? 0 : -ENOMEM;

	*shapes = NULL;
	*num_variants = 1;
	for (unsigned int i = 0; i < count && !err; i++) {
		const char *eq = text[i] ? strchr(text[i], '=') : NULL, *why;

		if (!eq || eq == text[i]) {
			err = npu_diag_add(diag, -EINVAL, "shape",
					   "'%s': expected input=1x3x224x224",
					   text[i] ? text[i] : "");
			break;
		}
		s[i].input = strndup(text[i], (size_t)(eq - text[i]));
		why = read_dims(eq + 1, &s[i]);
		if (!s[i].input)
			err = -ENOMEM;
		else if (why)
			err = npu_diag_add(diag, -EINVAL, "shape", "'%s': %s", text[i], why);
		else if (named_in(s, i, s[i].input, variant))
			variant++;
		s[i].variant = variant;
	}
	if (err) {
		npu_shape_text_free(s, count);
		return err;
	}
	*num_variants = variant + 1;
	*shapes = s;
	return 0;
}

void npu_shape_text_free(struct npu_shape_text *shapes, unsigned int count)
{
	for (unsigned int i = 0; shapes && i < count; i++)
		free(shapes[i].input);
	free(shapes);
}

static int find_symbol(const struct npu_graph *g, const char *name)
{
	for (unsigned int i = 0; i < g->num_syms; i++)
		if (!strcmp(g->syms[i].name, name))
			return (int)i;
	return -1;
}

static int bind_dim(struct npu_graph *g, const struct npu_shape_text *s,
		    const struct npu_shape_dim *d, struct npu_dim *out, struct npu_diag *diag)
{
	char name[32];
	int sym = -1;

	if (d->min == d->max) {
		*out = npu_dim_const(d->min);
		return 0;
	}
	memcpy(name, d->symbol, sizeof(name));
	if (*name)
		sym = find_symbol(g, name);
	else	/* a length of its own */
		for (unsigned int i = g->num_syms; !*name || find_symbol(g, name) >= 0; i++)
			snprintf(name, sizeof(name), "d%u", i);
	if (sym >= 0 && (g->syms[sym].min != d->min || g->syms[sym].max != d->max ||
			 g->syms[sym].step != d->step))
		return npu_diag_add(diag, -EINVAL, "shape",
				    "input '%s': symbol %s has other bounds elsewhere", s->input,
				    name);
	if (sym < 0)
		sym = npu_graph_symbol_add(g, npu_arena_strdup(&g->arena, name), d->min, d->max,
					   d->step, diag);
	if (sym < 0)
		return sym;
	*out = npu_graph_symbol_dim(g, sym);
	return 0;
}

int npu_shape_text_bind(struct npu_graph *g, const struct npu_shape_text *shapes,
			unsigned int count, unsigned int variant, struct npu_diag *diag)
{
	for (unsigned int i = 0; i < count; i++) {
		const struct npu_shape_text *s = &shapes[i];
		struct npu_dim dim[NPU_GRAPH_MAX_RANK];
		bool later = false;
		int err = 0;

		if (s->variant > variant)
			break;
		for (unsigned int k = i + 1; k < count && shapes[k].variant <= variant; k++)
			later |= !strcmp(shapes[k].input, s->input);
		if (later)
			continue;
		for (int d = 0; d < s->rank && !err; d++)
			err = bind_dim(g, s, &s->dim[d], &dim[d], diag);
		if (!err)
			err = npu_graph_bind_shape(g, s->input, dim, s->rank, diag);
		if (err)
			return err == -ENOENT ? -EINVAL : err;
	}
	return 0;
}
