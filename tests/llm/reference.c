// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "reference.h"
#include "reference_tensor.h"

#define MAX_TENSORS	256
#define REACH		0x1p-20		/* of f32 on the way: of the largest value beside it */

struct reference {
	const struct npu_gguf *g;
	struct reference_how how;
	/* matrices as floats, from malloc(), once they have been looked at */
	struct {
		const struct npu_gguf_tensor *t;
		float *v;
	} decoded[MAX_TENSORS];
	int num_decoded;
	const char *arch;
	int dim, layers, heads, kv_heads, hd, ff, vocab, rope_dims, window, original, train;
	double eps, base, factor, attn;
	const char *scaling, *head;
	const struct npu_gguf_tensor *embd;
	int pos, max;			/* tokens so far, and at most */
	double *k, *v;			/* [layers][max][kv_heads][hd] */
	/* of one token: the stream, a norm's result, queries, attention's result, gate, up */
	double *x, *n, *q, *o, *a, *b, *y, *w, *logits;
	double *in;			/* a product's input, rounded */
	struct reference_choice *choice;
	int num_choices, room;
	uint64_t chance;		/* state of the random numbers */
	bool bad;
};

static const struct npu_gguf_tensor *find(struct reference *r, int layer, const char *name,
					  bool must)
{
	const struct npu_gguf_tensor *t;
	char full[96];

	if (layer < 0)
		snprintf(full, sizeof(full), "%s", name);
	else
		snprintf(full, sizeof(full), "blk.%d.%s", layer, name);
	t = npu_gguf_find_tensor(r->g, full);
	if (!t && must) {
		printf("# reference: no tensor %s\n", full);
		r->bad = true;
	}
	return t;
}

/* All of a matrix, read once. */
static const float *matrix(struct reference *r, const struct npu_gguf_tensor *t)
{
	uint64_t i, count = t->dim[0] * t->dim[1];
	float *v;
	int m;

	for (m = 0; m < r->num_decoded; m++)
		if (r->decoded[m].t == t)
			return r->decoded[m].v;
	v = m < MAX_TENSORS ? malloc(count * sizeof(*v)) : NULL;
	if (!v) {
		r->bad = true;
		return NULL;
	}
	for (i = 0; i < count; i++)
		v[i] = (float)reference_element(t, i);
	r->decoded[m].t = t;
	r->decoded[m].v = v;
	r->num_decoded++;
	return v;
}

/* ---- what is rounded ---- */

static double even(struct reference *r)
{
	r->chance ^= r->chance << 13;
	r->chance ^= r->chance >> 7;
	r->chance ^= r->chance << 17;
	return (double)(r->chance >> 11) * 0x1p-53;
}

/* A result: as it is, or one of the two f32 beside it. */
static double result(struct reference *r, double v)
{
	float f = (float)v, other;

	if (!r->how.single || (double)f == v)
		return v;
	if (!r->how.chance)
		return (double)f;
	other = nextafterf(f, (double)f < v ? INFINITY : -INFINITY);
	if (fabs(v - (double)f) > even(r) * fabs((double)other - (double)f))
		f = other;
	return (double)f;
}

static void results(struct reference *r, double *v, int n)
{
	int i;

	for (i = 0; i < n; i++)
		v[i] = result(r, v[i]);
}

static void choose(struct reference *r, double value, double reach, bool both)
{
	struct reference_choice *c;

	if (r->num_choices == r->room) {
		r->room = r->room ? 2 * r->room : 1024;
		c = realloc(r->choice, (size_t)r->room * sizeof(*c));
		if (!c)
			abort();
		r->choice = c;
	}
	r->choice[r->num_choices++] = (struct reference_choice){ value, reach, both };
}

static double largest(const double *v, int n)
{
	double top = 0;
	int i;

	for (i = 0; i < n; i++)
		top = fabs(v[i]) > top ? fabs(v[i]) : top;
	return top;
}

static double to_half(struct reference *r, double v, double reach)
{
	choose(r, v, reach, reference_half(v - reach) != reference_half(v + reach));
	return reference_half(v);
}

static void to_halves(struct reference *r, double *v, int n)
{
	double reach = REACH * largest(v, n);
	int i;

	for (i = 0; i < n; i++)
		v[i] = to_half(r, v[i], reach);
}

/*
 * A group as codes, times their scale: scale = max(abs(x)) / 127, code = rne(x / scale), in f32;
 * beside blocks of 32 the scale is then rounded to f16.
 */
static void to_codes(struct reference *r, double *x, int n)
{
	float scale = (float)largest(x, n) / 127.0f;
	double wide = largest(x, n) / 127, as = (double)scale, v;
	int i;

	if (wide == 0)
		return;
	if (n == 32)
		as = to_half(r, wide, REACH * wide);
	for (i = 0; i < n; i++) {
		v = x[i] / wide;
		choose(r, v, REACH * 127, rint(v - REACH * 127) != rint(v + REACH * 127));
		x[i] = (double)rintf((float)x[i] / scale) * as;
	}
}

/* A row that is multiplied with @w. */
static void round_row(struct reference *r, const struct npu_gguf_tensor *w, double *x, int n)
{
	int block = reference_block(w), i;

	if (!r->how.codes || !block)
		return;
	if (block == 1)
		to_halves(r, x, n);
	for (i = 0; i < n && block > 1; i += block)
		to_codes(r, x + i, block);
}

/* ---- operators ---- */

static double dot(const float *a, const double *b, int n)
{
	double sum[4] = { 0 };
	int i, k;

	for (i = 0; i + 4 <= n; i += 4)
		for (k = 0; k < 4; k++)
			sum[k] += (double)a[i + k] * b[i + k];
	for (; i < n; i++)
		sum[0] += (double)a[i] * b[i];
	return sum[0] + sum[1] + sum[2] + sum[3];
}

/* y[rows] = rows [first, first + rows) of the matrix times x, plus the bias when there is one */
static void times(struct reference *r, int layer, const char *name, int first, int rows,
		  const double *x, int cols, double *y)
{
	char weight[64], bias[64];
	const struct npu_gguf_tensor *w, *b;
	const float *v;
	int i;

	snprintf(weight, sizeof(weight), "%s.weight", name);
	snprintf(bias, sizeof(bias), "%s.bias", name);
	w = find(r, layer, weight, true);
	b = find(r, layer, bias, false);
	v = w ? matrix(r, w) : NULL;
	if (!v)
		return;
	memcpy(r->in, x, (size_t)cols * sizeof(*x));
	round_row(r, w, r->in, cols);
	for (i = 0; i < rows; i++)
		y[i] = (b ? reference_element(b, (uint64_t)(first + i)) : 0) +
		       dot(v + (size_t)(first + i) * (size_t)cols, r->in, cols);
	results(r, y, rows);
}

static void rms(struct reference *r, int layer, const char *name, const double *x, int n, double *y)
{
	const struct npu_gguf_tensor *t = find(r, layer, name, true);
	double sum = 0, s;
	int i;

	for (i = 0; i < n; i++)
		sum += x[i] * x[i];
	s = 1 / sqrt(sum / n + r->eps);
	for (i = 0; i < n && t; i++)
		y[i] = result(r, x[i] * s * reference_element(t, (uint64_t)i));
}

static bool is(const struct reference *r, const char *arch)
{
	return !strcmp(r->arch, arch);
}

/* Layers of gemma that see everything. */
static bool global_layer(const struct reference *r, int layer)
{
	if (is(r, "gemma2"))
		return layer % 2 == 1;
	return is(r, "gemma3") && layer % 6 == 5;
}

static double yarn_edge(const struct reference *r, double turns)
{
	return r->rope_dims * log(r->original / (turns * 2 * M_PI)) / (2 * log(r->base));
}

/* Angle of pair @i at position @pos, and the factor on its result. */
static double angle(struct reference *r, int layer, int pos, int i, double *grow)
{
	bool local = is(r, "gemma3") && !global_layer(r, layer);
	double base = local ? 10000 : r->base, theta = pow(base, -2.0 * i / r->rope_dims), mix;
	const struct npu_gguf_tensor *f = NULL;

	*grow = r->attn;
	if (!strcmp(r->scaling, "longrope"))
		f = find(r, -1, r->how.long_context ? "rope_factors_long.weight" :
						  "rope_factors_short.weight", true);
	else
		f = find(r, -1, "rope_freqs.weight", false);
	if (f)
		theta /= reference_element(f, (uint64_t)i);
	if (!strcmp(r->scaling, "linear") && !local)
		theta /= r->factor;
	if (!strcmp(r->scaling, "yarn")) {
		double lo = floor(yarn_edge(r, 32)), hi = ceil(yarn_edge(r, 1));

		lo = lo < 0 ? 0 : lo;
		hi = hi > r->rope_dims - 1 ? r->rope_dims - 1 : hi;
		mix = (i - lo) / (hi - lo < 0.001 ? 0.001 : hi - lo);
		mix = 1 - (mix < 0 ? 0 : mix > 1 ? 1 : mix);
		theta = theta / r->factor * (1 - mix) + theta * mix;
		*grow *= 1 + 0.1 * log(r->factor);
	}
	return pos * theta;
}

static void rotate(struct reference *r, int layer, int pos, double *x)
{
	bool adjacent = is(r, "llama");
	int i;

	for (i = 0; i < r->rope_dims / 2; i++) {
		double grow, a = angle(r, layer, pos, i, &grow);
		double *p = adjacent ? &x[2 * i] : &x[i], *q = adjacent ? &x[2 * i + 1] :
								  &x[i + r->rope_dims / 2];
		double s = *p * cos(a) - *q * sin(a), t = *p * sin(a) + *q * cos(a);

		*p = result(r, s * grow);
		*q = result(r, t * grow);
	}
}

/* Queries, keys and values of the token. */
static void project(struct reference *r, int layer, double *k, double *v)
{
	int nq = r->heads * r->hd, nk = r->kv_heads * r->hd;

	rms(r, layer, "attn_norm.weight", r->x, r->dim, r->n);
	if (is(r, "phi3")) {
		times(r, layer, "attn_qkv", 0, nq, r->n, r->dim, r->q);
		times(r, layer, "attn_qkv", nq, nk, r->n, r->dim, k);
		times(r, layer, "attn_qkv", nq + nk, nk, r->n, r->dim, v);
		return;
	}
	times(r, layer, "attn_q", 0, nq, r->n, r->dim, r->q);
	times(r, layer, "attn_k", 0, nk, r->n, r->dim, k);
	times(r, layer, "attn_v", 0, nk, r->n, r->dim, v);
}

/* Heads of the token, normed and rotated, and what is stored of them. */
static void turn(struct reference *r, int layer, double *k, double *v)
{
	bool normed = is(r, "qwen3") || is(r, "gemma3");
	int h;

	for (h = 0; h < r->heads + r->kv_heads; h++) {
		bool is_q = h < r->heads;
		double *p = is_q ? r->q + h * r->hd : k + (h - r->heads) * r->hd;

		if (normed)
			rms(r, layer, is_q ? "attn_q_norm.weight" : "attn_k_norm.weight", p, r->hd, p);
		rotate(r, layer, r->pos, p);
		if (is_q ? r->how.half_query : r->how.half_cache)
			to_halves(r, p, r->hd);
	}
	for (h = 0; h < r->kv_heads && r->how.half_cache; h++)
		to_halves(r, v + h * r->hd, r->hd);
}

static double cap(double x, double c)
{
	return c > 0 ? c * tanh(x / c) : x;
}

/*
 * Values @v of positions from @from on with scores w, the largest score so far taken off, in f16
 * at each step.
 */
static void sum_halves(const struct reference *r, const double *v, int from, double *out)
{
	double max = -INFINITY, sum = 0, w, shrink;
	int j, d;

	for (j = from; j <= r->pos; j++) {
		shrink = r->w[j] > max ? exp(max - r->w[j]) : 1;
		max = r->w[j] > max ? r->w[j] : max;
		w = exp(r->w[j] - max);
		sum = sum * shrink + w;
		for (d = 0; d < r->hd; d++) {
			out[d] = shrink < 1 ? reference_half(out[d] * shrink) : out[d];
			out[d] = reference_half(out[d] + w * v[j * r->kv_heads * r->hd + d]);
		}
	}
	for (d = 0; d < r->hd; d++)
		out[d] /= sum;
}

/* One query head against keys [0, pos] of its kv head. */
static void attend(struct reference *r, int layer, const double *q, const double *k,
		   const double *v, double *out)
{
	int stride = r->kv_heads * r->hd, from = 0, j, d;
	double *w = r->w, max = -INFINITY, sum = 0;

	if (r->window && !global_layer(r, layer) && r->pos - r->window + 1 > 0)
		from = r->pos - r->window + 1;
	for (j = from; j <= r->pos; j++) {
		double s = 0;

		for (d = 0; d < r->hd; d++)
			s += q[d] * k[j * stride + d];
		w[j] = cap(result(r, s / sqrt(r->hd)), is(r, "gemma2") ? 50 : 0);
		max = w[j] > max ? w[j] : max;
	}
	for (d = 0; d < r->hd; d++)
		out[d] = 0;
	if (r->how.half_sum) {
		sum_halves(r, v, from, out);
		return;
	}
	for (j = from; j <= r->pos; j++)
		sum += w[j] = exp(w[j] - max);
	for (d = 0; d < r->hd; d++)
		for (j = from; j <= r->pos; j++)
			out[d] += w[j] / sum * v[j * stride + d];
}

static void add(struct reference *r)
{
	int i;

	for (i = 0; i < r->dim; i++)
		r->x[i] = result(r, r->x[i] + r->y[i]);
}

static void attention(struct reference *r, int layer)
{
	int nk = r->kv_heads * r->hd, h;
	double *k = r->k + (size_t)layer * (size_t)r->max * (size_t)nk,
	       *v = r->v + (size_t)layer * (size_t)r->max * (size_t)nk;

	project(r, layer, k + r->pos * nk, v + r->pos * nk);
	turn(r, layer, k + r->pos * nk, v + r->pos * nk);
	for (h = 0; h < r->heads; h++) {
		int from = h / (r->heads / r->kv_heads) * r->hd;

		attend(r, layer, r->q + h * r->hd, k + from, v + from, r->o + h * r->hd);
	}
	results(r, r->o, r->heads * r->hd);
	times(r, layer, "attn_output", 0, r->dim, r->o, r->heads * r->hd, r->y);
	if (!strncmp(r->arch, "gemma", 5))
		rms(r, layer, "post_attention_norm.weight", r->y, r->dim, r->y);
	add(r);
}

static void feed_forward(struct reference *r, int layer)
{
	bool gemma = !strncmp(r->arch, "gemma", 5), phi = is(r, "phi3");
	double *a = r->a;
	int i;

	rms(r, layer, "ffn_norm.weight", r->x, r->dim, r->n);
	times(r, layer, phi ? "ffn_up" : "ffn_gate", 0, r->ff, r->n, r->dim, a);
	times(r, layer, "ffn_up", phi ? r->ff : 0, r->ff, r->n, r->dim, r->b);
	for (i = 0; i < r->ff; i++)
		a[i] = r->b[i] * (gemma ? 0.5 * a[i] * (1 + tanh(sqrt(2 / M_PI) *
						(a[i] + 0.044715 * a[i] * a[i] * a[i]))) :
					  a[i] / (1 + exp(-a[i])));
	results(r, a, r->ff);
	times(r, layer, "ffn_down", 0, r->dim, a, r->ff, r->y);
	if (gemma)
		rms(r, layer, "post_ffw_norm.weight", r->y, r->dim, r->y);
	add(r);
}

/* ---- a model ---- */

static int key(struct reference *r, const char *name, int dflt)
{
	char full[96];
	uint32_t v = (uint32_t)dflt;

	snprintf(full, sizeof(full), "%s.%s", r->arch, name);
	npu_gguf_opt_u32(r->g, full, &v, NULL);
	return (int)v;
}

static double fkey(struct reference *r, const char *name, double dflt)
{
	char full[96];
	float v = (float)dflt;

	snprintf(full, sizeof(full), "%s.%s", r->arch, name);
	npu_gguf_opt_f32(r->g, full, &v, NULL);
	return (double)v;
}

static void read_keys(struct reference *r)
{
	char full[96];

	npu_gguf_get_string(r->g, "general.architecture", &r->arch, NULL);
	r->dim = key(r, "embedding_length", 0);
	r->layers = key(r, "block_count", 0);
	r->heads = key(r, "attention.head_count", 0);
	r->kv_heads = key(r, "attention.head_count_kv", r->heads);
	r->hd = key(r, "attention.key_length", r->dim / r->heads);
	r->ff = key(r, "feed_forward_length", 0);
	r->rope_dims = key(r, "rope.dimension_count", r->hd);
	r->window = key(r, "attention.sliding_window", 0);
	r->train = key(r, "context_length", 0);
	r->original = key(r, "rope.scaling.original_context_length", r->train);
	r->eps = fkey(r, "attention.layer_norm_rms_epsilon", 0);
	r->base = fkey(r, "rope.freq_base", 10000);
	r->factor = fkey(r, "rope.scaling.factor", 1);
	r->attn = fkey(r, "rope.scaling.attn_factor", 1);
	r->scaling = "none";
	snprintf(full, sizeof(full), "%s.rope.scaling.type", r->arch);
	npu_gguf_opt_string(r->g, full, &r->scaling, NULL);
}

static double *numbers(struct reference *r, size_t n)
{
	double *p = calloc(n, sizeof(*p));

	r->bad |= !p;
	return p;
}

static void take_room(struct reference *r)
{
	size_t dim = (size_t)r->dim, ff = (size_t)r->ff, heads = (size_t)(r->heads * r->hd),
	       cache = (size_t)r->layers * (size_t)r->max * (size_t)(r->kv_heads * r->hd);

	r->k = numbers(r, cache);
	r->v = numbers(r, cache);
	r->x = numbers(r, dim);
	r->n = numbers(r, dim);
	r->y = numbers(r, dim);
	r->q = numbers(r, heads);
	r->o = numbers(r, heads);
	r->a = numbers(r, ff);
	r->b = numbers(r, ff);
	r->w = numbers(r, (size_t)r->max);
	r->in = numbers(r, dim + ff + heads);
	r->logits = numbers(r, (size_t)r->vocab);
}

struct reference *reference_open(const struct npu_gguf *g, const struct reference_how *how,
				 int max)
{
	struct reference *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->g = g;
	r->max = max;
	reference_restart(r, how);
	read_keys(r);
	r->embd = find(r, -1, "token_embd.weight", true);
	r->head = find(r, -1, "output.weight", false) ? "output" : "token_embd";
	if (r->embd) {
		r->vocab = (int)r->embd->dim[1];
		take_room(r);
	}
	if (!r->bad)
		return r;
	reference_close(r);
	return NULL;
}

void reference_close(struct reference *r)
{
	double **room[] = { &r->k, &r->v, &r->x, &r->n, &r->y, &r->q, &r->o, &r->a, &r->b, &r->w,
			    &r->in, &r->logits };
	size_t i;

	if (!r)
		return;
	while (r->num_decoded)
		free(r->decoded[--r->num_decoded].v);
	for (i = 0; i < sizeof(room) / sizeof(room[0]); i++)
		free(*room[i]);
	free(r->choice);
	free(r);
}

void reference_restart(struct reference *r, const struct reference_how *how)
{
	r->how = *how;
	r->chance = how->chance;
	r->pos = 0;
}

int reference_vocab(const struct reference *r)
{
	return r->vocab;
}

const double *reference_step(struct reference *r, int32_t token)
{
	double grow = strncmp(r->arch, "gemma", 5) ? 1 : sqrt(r->dim);
	uint64_t row = (uint64_t)token * (uint64_t)r->dim;
	int i;

	if (r->pos == r->max)
		return NULL;
	r->num_choices = 0;
	for (i = 0; i < r->dim; i++)
		r->x[i] = result(r, reference_element(r->embd, row + (uint64_t)i) * grow);
	for (i = 0; i < r->layers; i++) {
		attention(r, i);
		feed_forward(r, i);
	}
	rms(r, -1, "output_norm.weight", r->x, r->dim, r->n);
	times(r, -1, r->head, 0, r->vocab, r->n, r->dim, r->logits);
	for (i = 0; i < r->vocab; i++)
		r->logits[i] = cap(r->logits[i], is(r, "gemma2") ? 30 : 0);
	r->pos++;
	return r->bad ? NULL : r->logits;
}

void reference_back(struct reference *r)
{
	r->pos -= r->pos > 0;
}

const struct reference_choice *reference_choices(const struct reference *r, int *num)
{
	*num = r->num_choices;
	return r->choice;
}

int reference_near(const struct reference *r)
{
	int near = 0, i;

	for (i = 0; i < r->num_choices; i++)
		near += r->choice[i].both;
	return near;
}

double *reference_logits(const struct npu_gguf *g, const int32_t *tokens, int num,
			 const struct reference_how *how, int *vocab)
{
	struct reference *r = reference_open(g, how, num);
	const double *row = NULL;
	double *out = NULL;
	int t;

	*vocab = r ? reference_vocab(r) : 0;
	out = r ? calloc((size_t)(num * *vocab), sizeof(*out)) : NULL;
	for (t = 0; t < num && out; t++) {
		row = reference_step(r, tokens[t]);
		if (!row) {
			free(out);
			out = NULL;
			break;
		}
		memcpy(out + t * *vocab, row, (size_t)*vocab * sizeof(*row));
	}
	reference_close(r);
	return out;
}
