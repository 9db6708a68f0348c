// SPDX-License-Identifier: MIT
/* Polynomials of degree two in the run-time symbols. */
#include <errno.h>
#include <string.h>

#include "compiler/poly.h"

struct npu_poly npu_poly_dim(struct npu_dim d)
{
	struct npu_poly p = { .base = d.base };

	if (d.sym >= 0 && d.factor) {
		p.num_terms = 1;
		p.term[0] = (struct npu_poly_term){ d.factor, (int16_t)d.sym, -1 };
	}
	return p;
}

static int term_order(const struct npu_poly_term *x, const struct npu_poly_term *y)
{
	return x->a != y->a ? x->a - y->a : x->b - y->b;
}

static int poly_add_term(struct npu_poly *p, struct npu_poly_term t)
{
	unsigned int i = 0;

	if (!t.factor)
		return 0;
	while (i < p->num_terms && term_order(&p->term[i], &t) < 0)
		i++;
	if (i < p->num_terms && !term_order(&p->term[i], &t)) {
		if (__builtin_add_overflow(p->term[i].factor, t.factor, &p->term[i].factor))
			return -ERANGE;
		if (!p->term[i].factor) {
			p->num_terms--;
			memmove(&p->term[i], &p->term[i + 1], (p->num_terms - i) * sizeof(t));
			memset(&p->term[p->num_terms], 0, sizeof(t));
		}
		return 0;
	}
	if (p->num_terms == NPU_POLY_TERMS)
		return -EDOM;
	memmove(&p->term[i + 1], &p->term[i], (p->num_terms - i) * sizeof(t));
	p->term[i] = t;
	p->num_terms++;
	return 0;
}

int npu_poly_add(const struct npu_poly *a, const struct npu_poly *b, struct npu_poly *out)
{
	struct npu_poly r = *a;
	int err = 0;

	if (__builtin_add_overflow(a->base, b->base, &r.base))
		return -ERANGE;
	for (unsigned int i = 0; i < b->num_terms && !err; i++)
		err = poly_add_term(&r, b->term[i]);
	if (!err)
		*out = r;
	return err;
}

int npu_poly_scale(const struct npu_poly *a, int64_t k, struct npu_poly *out)
{
	struct npu_poly r = { 0 };
	int err = 0;

	if (__builtin_mul_overflow(a->base, k, &r.base))
		return -ERANGE;
	for (unsigned int i = 0; i < a->num_terms && !err; i++) {
		struct npu_poly_term t = a->term[i];

		if (__builtin_mul_overflow(t.factor, k, &t.factor))
			return -ERANGE;
		err = poly_add_term(&r, t);
	}
	if (!err)
		*out = r;
	return err;
}

int npu_poly_mul_dim(const struct npu_poly *a, struct npu_dim d, struct npu_poly *out)
{
	struct npu_poly r;
	struct npu_poly_term t = { 0 };
	int err = npu_poly_scale(a, d.base, &r);

	if (err || d.sym < 0 || !d.factor) {
		if (!err)
			*out = r;
		return err;
	}
	t = (struct npu_poly_term){ 0, (int16_t)d.sym, -1 };
	if (__builtin_mul_overflow(a->base, d.factor, &t.factor))
		return -ERANGE;
	err = poly_add_term(&r, t);
	for (unsigned int i = 0; i < a->num_terms && !err; i++) {
		int16_t s = a->term[i].a;

		if (a->term[i].b >= 0)
			return -EDOM;
		t.a = s < d.sym ? s : (int16_t)d.sym;
		t.b = s < d.sym ? (int16_t)d.sym : s;
		if (__builtin_mul_overflow(a->term[i].factor, d.factor, &t.factor))
			return -ERANGE;
		err = poly_add_term(&r, t);
	}
	if (!err)
		*out = r;
	return err;
}

bool npu_poly_equal(const struct npu_poly *a, const struct npu_poly *b)
{
	if (a->base != b->base || a->num_terms != b->num_terms)
		return false;
	for (unsigned int i = 0; i < a->num_terms; i++)
		if (term_order(&a->term[i], &b->term[i]) || a->term[i].factor != b->term[i].factor)
			return false;
	return true;
}

int64_t npu_poly_high(const struct npu_graph *g, const struct npu_poly *p)
{
	int64_t v = p->base;

	for (unsigned int i = 0; i < p->num_terms; i++) {
		const struct npu_poly_term *t = &p->term[i];
		const struct npu_symbol *a = &g->syms[t->a], *b = t->b >= 0 ? &g->syms[t->b] : NULL;
		bool up = t->factor > 0;
		int64_t x = t->factor;

		if (__builtin_mul_overflow(x, up ? a->smax : a->smin, &x) ||
		    (b && __builtin_mul_overflow(x, up ? b->smax : b->smin, &x)) ||
		    __builtin_add_overflow(v, x, &v))
			return INT64_MAX;
	}
	return v;
}
