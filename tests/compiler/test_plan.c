// SPDX-License-Identifier: MIT
/* The memory planner and the arithmetic on views, by themselves. */
#include <stdlib.h>
#include <string.h>

#include "compiler/half.h"
#include "compiler/plan.h"
#include "compiler/weights.h"
#include "tap.h"

static uint32_t seed = 1;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)(seed >> 8) * n) >> 24);
}

static bool overlap(const struct npu_plan_item *a, const struct npu_plan_item *b)
{
	return a->first <= b->last && b->first <= a->last && a->offset < b->offset + b->size &&
	       b->offset < a->offset + a->size;
}

static bool plan_is_sound(const struct npu_plan_item *it, unsigned int n, uint64_t total, bool part)
{
	for (unsigned int i = 0; i < n; i++) {
		if (part && !it[i].chosen)
			continue;
		if (it[i].offset % NPU_PLAN_ALIGN || it[i].offset + it[i].size > total)
			return false;
		for (unsigned int k = 0; k < i; k++)
			if ((!part || it[k].chosen) && overlap(&it[i], &it[k]))
				return false;
	}
	return true;
}

static unsigned int random_items(struct npu_plan_item *it, unsigned int max)
{
	unsigned int n = 1 + random_below(max);

	for (unsigned int i = 0; i < n; i++) {
		int first = (int)random_below(40);

		it[i] = (struct npu_plan_item){ .size = 1 + random_below(5000),
						.first = first,
						.last = first + (int)random_below(8),
						.weight = random_below(100000) };
	}
	return n;
}

static void test_pack(void)
{
	struct npu_plan_item it[60], again[60];
	unsigned int rounds = tap_long() ? 20000 : 1000, sound = 0, bounded = 0, same = 0,
		     tight = 0;
	double over = 0;

	for (unsigned int r = 0; r < rounds; r++) {
		unsigned int n = random_items(it, 60);
		uint64_t lower = npu_plan_lower_bound(it, n), total, total2;

		memcpy(again, it, sizeof(it));
		if (npu_plan_pack(it, n, &total) || npu_plan_pack(again, n, &total2))
			break;
		sound += plan_is_sound(it, n, total, false);
		bounded += total >= lower;
		same += total == total2 && !memcmp(it, again, n * sizeof(it[0]));
		tight += total < lower + (uint64_t)n * NPU_PLAN_ALIGN;
		over += (double)total / (double)lower - 1;
	}
	tap_ok(sound == rounds, "%u random plans: nothing alive at once overlaps", rounds);
	tap_ok(bounded == rounds, "none is below the bound");
	tap_ok(same == rounds, "the same items give the same plan");
	tap_ok(over / rounds < 0.1, "on average %.1f %% above the bound; %u of %u at it",
	       100 * over / rounds, tight, rounds);
}

static void test_select(void)
{
	struct npu_plan_item it[60];
	unsigned int rounds = tap_long() ? 20000 : 1000, sound = 0;

	for (unsigned int r = 0; r < rounds; r++) {
		unsigned int n = random_items(it, 60);
		uint64_t capacity = random_below(20000), used, total;
		bool ok;

		if (npu_plan_select(it, n, capacity, &used))
			break;
		ok = used <= capacity && plan_is_sound(it, n, used, true);
		/* those in the fast memory are out of the other plan's way */
		for (unsigned int i = 0; i < n; i++)
			if (it[i].chosen)
				it[i].first = it[i].last = 1000 + (int)i;
		sound += ok && !npu_plan_pack(it, n, &total);
	}
	tap_ok(sound == rounds, "%u random choices for on-chip memory fit and do not overlap",
	       rounds);
}

static void test_weights(void)
{
	struct npu_weights w = { 0 };
	uint64_t a, b, c, d;
	float x[20] = { 1, 2, 3 }, y[20] = { 1, 2, 4 };
	float *room;
	int err = npu_weights_add(&w, x, sizeof(x), &a);

	err |= npu_weights_add(&w, y, sizeof(y), &b);
	err |= npu_weights_add(&w, x, sizeof(x), &c);
	room = npu_weights_reserve(&w, sizeof(y));
	memcpy(room, y, sizeof(y));
	err |= npu_weights_add(&w, room, sizeof(y), &d);
	tap_ok(!err && a == c && b == d && a != b, "equal weights are stored once");
	tap_ok(!(a % NPU_WEIGHT_ALIGN) && !(b % NPU_WEIGHT_ALIGN) &&
		       !memcmp(w.data + b, y, sizeof(y)),
	       "aligned, and found where they were put");
	npu_weights_fini(&w);
}

static void test_half_fit(void)
{
	struct npu_half_fit fit = { 0 };

	npu_half_fit_add(&fit, 1000);
	npu_half_fit_add(&fit, 1e-6f);
	tap_ok(npu_half_fit_ok(&fit), "a tiny weight beside a large one may be lost");
	fit = (struct npu_half_fit){ 0 };
	npu_half_fit_add(&fit, 1e-6f);
	tap_ok(!npu_half_fit_ok(&fit), "tiny weights alone may not");
	npu_half_fit_add(&fit, 1e6f);
	tap_ok(!npu_half_fit_ok(&fit), "nor may one overflow");
}

/* ---- views ----------------------------------------------------------------------------------- */

static int64_t offset_of(const struct npu_lview *v, int64_t index, const int64_t *s)
{
	int64_t off = v->offset.base;

	for (int d = v->rank - 1; d >= 0; d--) {
		int64_t n = npu_dim_eval(v->dim[d], s), i = index % n, stride = v->stride[d].base;

		for (unsigned int t = 0; t < v->stride[d].num_terms; t++)
			stride += v->stride[d].term[t].factor * s[v->stride[d].term[t].a] *
				  (v->stride[d].term[t].b < 0 ? 1 : s[v->stride[d].term[t].b]);
		off += i * stride;
		index /= n;
	}
	return off;
}

/* A reshape keeps every element of the row-major order where it is. */
static bool same_elements(const struct npu_lview *a, const struct npu_lview *b, const int64_t *s)
{
	int64_t n = 1;

	for (int i = 0; i < a->rank; i++)
		n *= npu_dim_eval(a->dim[i], s);
	for (int64_t i = 0; i < n; i++)
		if (offset_of(a, i, s) != offset_of(b, i, s))
			return false;
	return true;
}

static void set_dims(struct npu_lview *v, int rank, const int64_t *dims)
{
	memset(v, 0, sizeof(*v));
	v->dtype = NPU_F16;
	v->rank = rank;
	for (int i = 0; i < rank; i++)
		v->dim[i] = dims[i] < 0 ? (struct npu_dim){ 0, -dims[i], 0 } :
					  npu_dim_const(dims[i]);
}

static void check_reshape(const struct npu_lower *l, const char *what, const int64_t *from,
			  int rank, const int *order, const int64_t *to, int new_rank,
			  bool possible)
{
	static const int64_t scalars[3][2] = { { 2, 3 }, { 5, 1 }, { 8, 8 } };
	struct npu_lview a, shape, b;
	bool same = true;
	int err;

	set_dims(&a, rank, from);
	set_dims(&shape, new_rank, to);
	npu_lview_dense(l, &a, order, true);
	err = npu_lview_reshape(l, &a, shape.dim, new_rank, &b);
	for (int i = 0; i < 3 && !err; i++)
		same &= same_elements(&a, &b, scalars[i]);
	tap_ok(possible ? !err && same : err != 0, "reshape %s: %s", what,
	       possible ? "a view" : "refused");
}

#define D(...)	(const int64_t[]){ __VA_ARGS__ }

static void test_reshape(void)
{
	static const int cl[] = { 0, 2, 3, 1 };
	struct npu_graph *g = npu_graph_new();
	struct npu_lower l = { .g = g };

	npu_graph_symbol_add(g, "a", 2, 8, 1, NULL);
	npu_graph_symbol_add(g, "b", 1, 8, 1, NULL);
	check_reshape(&l, "of a dense tensor", D(2, 3, 4, 5), 4, NULL, D(6, 20), 2, true);
	check_reshape(&l, "into more dimensions", D(6, 20), 2, NULL, D(2, 3, 2, 2, 5), 5, true);
	check_reshape(&l, "with ones", D(1, 6, 1, 20), 4, NULL, D(6, 1, 20, 1), 4, true);
	check_reshape(&l, "of channels-last, H and W merged", D(1, 3, 4, 5), 4, cl, D(1, 3, 20), 3,
		      true);
	check_reshape(&l, "of channels-last, channels split", D(1, 6, 4, 5), 4, cl,
		      D(1, 2, 3, 4, 5), 5, true);
	check_reshape(&l, "of channels-last, all merged", D(1, 3, 4, 5), 4, cl, D(1, 60), 2, false);
	check_reshape(&l, "of channels-last with one position", D(1, 3, 1, 1), 4, cl, D(1, 3), 2,
		      true);
	check_reshape(&l, "with a run-time width", D(1, 3, 4, -2), 4, cl, D(1, 3, -8), 3, true);
	check_reshape(&l, "with a run-time width, dense", D(2, 3, -2), 3, NULL, D(6, -2), 2, true);
	check_reshape(&l, "across a run-time width", D(3, -2, 4), 3, NULL, D(-6, 4), 2, true);
	check_reshape(&l, "to another number of elements", D(2, 3), 2, NULL, D(7), 1, false);
	npu_graph_free(g);
}

static void test_canonical(void)
{
	static const int cl[] = { 0, 2, 3, 1 };
	struct npu_graph *g = npu_graph_new();
	struct npu_lower l = { .g = g };
	struct npu_lview a, b, *both[] = { &a, &b };

	set_dims(&a, 4, D(2, 3, 4, 5));
	b = a;
	npu_lview_dense(&l, &a, cl, true);
	npu_lview_dense(&l, &b, cl, true);
	npu_lview_canonical(&l, both, 2, -1);
	tap_ok(a.rank == 1 && a.dim[0].base == 120 && b.stride[0].base == 2,
	       "equal layouts become one dimension");
	set_dims(&a, 4, D(2, 3, 4, 5));
	set_dims(&b, 4, D(1, 3, 1, 1));
	npu_lview_dense(&l, &a, cl, true);
	npu_lview_dense(&l, &b, NULL, true);
	npu_lview_canonical(&l, both, 2, -1);
	tap_ok(a.rank == 2 && a.dim[0].base == 40 && a.dim[1].base == 3 && b.dim[0].base == 1 &&
		       b.dim[1].base == 3,
	       "a vector per channel leaves two");
	set_dims(&a, 4, D(2, 3, 4, 5));
	b = a;
	npu_lview_dense(&l, &a, cl, true);
	npu_lview_dense(&l, &b, NULL, true);
	npu_lview_canonical(&l, both, 2, -1);
	tap_ok(a.rank == 3 && a.dim[1].base == 20 && b.dim[2].base == 3 && b.stride[2].base == 40,
	       "another layout is read by strides");
	npu_graph_free(g);
}

int main(void)
{
	test_pack();
	test_select();
	test_weights();
	test_half_fit();
	test_reshape();
	test_canonical();
	return tap_done();
}
