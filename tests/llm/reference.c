// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "reference.h"

#define MAX_TENSORS	256

struct ref {
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
	const char *scaling;
	bool long_context, bad;
};

static double half(const uint8_t *p)
{
	int u = p[0] | p[1] << 8, exp = u >> 10 & 31, man = u & 1023;
	double v = exp ? ldexp(1024 + man, exp - 25) : ldexp(man, -24);

	return u & 0x8000 ? -v : v;
}

/* To the nearest f16, ties to even; what is too large stays as it is. */
static double to_half(double v)
{
	int exp;

	frexp(v, &exp);
	exp = exp < -13 ? -13 : exp;
	return ldexp(rint(ldexp(v, 11 - exp)), exp - 11);
}

/* Factor @j of a block of Q4_K, or with @min its minimum: of 6 bits each, eight of both. */
static int packed_six(const uint8_t *p, int j, bool min)
{
	p += min ? 4 : 0;
	if (j < 4)
		return p[j] & 63;
	return (min ? p[j] >> 4 : p[j + 4] & 15) | p[j - 4] >> 6 << 4;
}

static double q4_k(const uint8_t *p, int i)
{
	int part = i / 32, code = p[16 + 32 * (part / 2) + i % 32] >> 4 * (part % 2) & 15;

	return half(p) * packed_six(p + 4, part, false) * code -
	       half(p + 2) * packed_six(p + 4, part, true);
}

static double q6_k(const uint8_t *p, int i)
{
	const uint8_t *high = p + 128 + i / 128 * 32;
	int in = i % 128, code = p[i / 128 * 64 + in % 64] >> 4 * (in / 64) & 15;

	code |= (high[in % 32] >> 2 * (in / 32) & 3) << 4;
	return half(p + 208) * (int8_t)p[192 + i / 16] * (code - 32);
}

static double element(const struct npu_gguf_tensor *t, uint64_t i)
{
	const uint8_t *p = t->data;
	uint32_t u;
	float f;

	switch (t->type) {
	case 0:
		memcpy(&f, p + 4 * i, 4);
		return (double)f;
	case 1:
		return half(p + 2 * i);
	case 30:
		u = (uint32_t)(p[2 * i] | p[2 * i + 1] << 8) << 16;
		memcpy(&f, &u, 4);
		return (double)f;
	case 8:
		p += i / 32 * 34;
		return half(p) * (int8_t)p[2 + i % 32];
	case 2:
		p += i / 32 * 18;
		return half(p) * ((p[2 + i % 16] >> (i % 32 < 16 ? 0 : 4) & 15) - 8);
	case 12:
		return q4_k(p + i / 256 * 144, (int)(i % 256));
	case 14:
		return q6_k(p + i / 256 * 210, (int)(i % 256));
	default:
		return NAN;
	}
}

static const struct npu_gguf_tensor *find(struct ref *r, int layer, const char *name, bool must)
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
static const float *matrix(struct ref *r, const struct npu_gguf_tensor *t)
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
		v[i] = (float)element(t, i);
	r->decoded[m].t = t;
	r->decoded[m].v = v;
	r->num_decoded++;
	return v;
}

/*
 * A row as llama.cpp multiplies it with weights of @type: beside F16 in f16, beside blocks of 32 as
 * codes -127 to 127 with a scale in f16, beside those of 256 with one in f32.
 */
static void round_row(const struct ref *r, uint32_t type, double *x, int n)
{
	int block = type == 12 || type == 14 ? 256 : 32, i, j;
	double top, scale;

	if (!r->how.codes || type == 0 || type == 30)
		return;
	for (i = 0; i < n && type == 1; i++)
		x[i] = to_half(x[i]);
	for (i = 0; i < n && type != 1; i += block) {
		for (top = 0, j = i; j < i + block; j++)
			top = fabs(x[j]) > top ? fabs(x[j]) : top;
		scale = block == 32 ? to_half(top / 127) : top / 127;
		for (j = i; j < i + block; j++)
			x[j] = top > 0 ? rint(x[j] * 127 / top) * scale : 0;
	}
}

/* y[rows] = rows [first, first + rows) of the matrix times x, plus the bias when there is one */
static void times(struct ref *r, int layer, const char *name, int first, int rows, const double *x,
		  int cols, double *y)
{
	char weight[64], bias[64];
	const struct npu_gguf_tensor *w, *b;
	double *in = malloc((size_t)cols * sizeof(*in));
	const float *v;
	int i, k;

	snprintf(weight, sizeof(weight), "%s.weight", name);
	snprintf(bias, sizeof(bias), "%s.bias", name);
	w = find(r, layer, weight, true);
	b = find(r, layer, bias, false);
	v = w ? matrix(r, w) : NULL;
	memcpy(in, x, (size_t)cols * sizeof(*in));
	if (w)
		round_row(r, w->type, in, cols);
	for (i = 0; i < rows && v; i++) {
		const float *row = v + (size_t)(first + i) * (size_t)cols;
		double sum = b ? element(b, (uint64_t)(first + i)) : 0;

		for (k = 0; k < cols; k++)
			sum += (double)row[k] * in[k];
		y[i] = r->how.single ? (double)(float)sum : sum;
	}
	free(in);
}

static void rms(struct ref *r, int layer, const char *name, const double *x, int n, double *y)
{
	const struct npu_gguf_tensor *t = find(r, layer, name, true);
	double sum = 0, s;
	int i;

	for (i = 0; i < n; i++)
		sum += x[i] * x[i];
	s = 1 / sqrt(sum / n + r->eps);
	for (i = 0; i < n && t; i++) {
		y[i] = x[i] * s * element(t, (uint64_t)i);
		y[i] = r->how.single ? (double)(float)y[i] : y[i];
	}
}

static bool is(const struct ref *r, const char *arch)
{
	return !strcmp(r->arch, arch);
}

/* Layers of gemma that see everything. */
static bool global_layer(const struct ref *r, int layer)
{
	if (is(r, "gemma2"))
		return layer % 2 == 1;
	return is(r, "gemma3") && layer % 6 == 5;
}

static double yarn_edge(const struct ref *r, double turns)
{
	return r->rope_dims * log(r->original / (turns * 2 * M_PI)) / (2 * log(r->base));
}

/* Angle of pair @i at position @pos, and the factor on its result. */
static double angle(struct ref *r, int layer, int pos, int i, double *grow)
{
	bool local = is(r, "gemma3") && !global_layer(r, layer);
	double base = local ? 10000 : r->base, theta = pow(base, -2.0 * i / r->rope_dims), mix;
	const struct npu_gguf_tensor *f = NULL;

	*grow = r->attn;
	if (!strcmp(r->scaling, "longrope"))
		f = find(r, -1, r->long_context ? "rope_factors_long.weight" :
						  "rope_factors_short.weight", true);
	else
		f = find(r, -1, "rope_freqs.weight", false);
	if (f)
		theta /= element(f, (uint64_t)i);
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

static void rotate(struct ref *r, int layer, int pos, double *x)
{
	bool adjacent = is(r, "llama");
	int i;

	for (i = 0; i < r->rope_dims / 2; i++) {
		double grow, a = angle(r, layer, pos, i, &grow);
		double *p = adjacent ? &x[2 * i] : &x[i], *q = adjacent ? &x[2 * i + 1] :
								  &x[i + r->rope_dims / 2];
		double s = *p * cos(a) - *q * sin(a), t = *p * sin(a) + *q * cos(a);

		*p = s * grow;
		*q = t * grow;
	}
}

static void project(struct ref *r, int layer, const double *h, double *q, double *k, double *v)
{
	int nq = r->heads * r->hd, nk = r->kv_heads * r->hd;

	if (is(r, "phi3")) {
		times(r, layer, "attn_qkv", 0, nq, h, r->dim, q);
		times(r, layer, "attn_qkv", nq, nk, h, r->dim, k);
		times(r, layer, "attn_qkv", nq + nk, nk, h, r->dim, v);
		return;
	}
	times(r, layer, "attn_q", 0, nq, h, r->dim, q);
	times(r, layer, "attn_k", 0, nk, h, r->dim, k);
	times(r, layer, "attn_v", 0, nk, h, r->dim, v);
}

static double cap(double x, double c)
{
	return c > 0 ? c * tanh(x / c) : x;
}

/*
 * Values of positions [from, pos] with scores @score, the largest score so far taken off, in f16 at
 * each step.
 */
static void sum_halves(const struct ref *r, const double *score, const double *v, int from, int pos,
		       double *out)
{
	double max = -INFINITY, sum = 0, w, shrink;
	int j, d;

	for (j = from; j <= pos; j++) {
		shrink = score[j] > max ? exp(max - score[j]) : 1;
		max = score[j] > max ? score[j] : max;
		w = exp(score[j] - max);
		sum = sum * shrink + w;
		for (d = 0; d < r->hd; d++) {
			out[d] = shrink < 1 ? to_half(out[d] * shrink) : out[d];
			out[d] = to_half(out[d] + w * v[j * r->kv_heads * r->hd + d]);
		}
	}
	for (d = 0; d < r->hd; d++)
		out[d] /= sum;
}

/* One query head against keys [0, pos] of its kv head. */
static void attend(struct ref *r, int layer, int pos, const double *q, const double *k,
		   const double *v, int kv_head, double *out)
{
	int stride = r->kv_heads * r->hd, from = 0, j, d;
	double *w = malloc((size_t)(pos + 1) * sizeof(*w)), max = -INFINITY, sum = 0;

	if (r->window && !global_layer(r, layer) && pos - r->window + 1 > 0)
		from = pos - r->window + 1;
	for (j = from; j <= pos; j++) {
		double s = 0;

		for (d = 0; d < r->hd; d++)
			s += q[d] * k[j * stride + kv_head * r->hd + d];
		w[j] = cap(s / sqrt(r->hd), is(r, "gemma2") ? 50 : 0);
		max = w[j] > max ? w[j] : max;
	}
	for (d = 0; d < r->hd; d++)
		out[d] = 0;
	if (r->how.half_sum) {
		sum_halves(r, w, v + kv_head * r->hd, from, pos, out);
		free(w);
		return;
	}
	for (j = from; j <= pos; j++)
		sum += w[j] = exp(w[j] - max);
	for (d = 0; d < r->hd; d++)
		for (j = from; j <= pos; j++)
			out[d] += w[j] / sum * v[j * stride + kv_head * r->hd + d];
	free(w);
}

static void attention(struct ref *r, int layer, double *x, int num)
{
	int nq = r->heads * r->hd, nk = r->kv_heads * r->hd, t, h, i;
	double *q = calloc((size_t)(num * nq), 8), *k = calloc((size_t)(num * nk), 8),
	       *v = calloc((size_t)(num * nk), 8), *n = calloc((size_t)r->dim, 8),
	       *o = calloc((size_t)nq, 8), *y = calloc((size_t)r->dim, 8);
	bool normed = is(r, "qwen3") || is(r, "gemma3");

	for (t = 0; t < num; t++) {
		rms(r, layer, "attn_norm.weight", x + t * r->dim, r->dim, n);
		project(r, layer, n, q + t * nq, k + t * nk, v + t * nk);
		for (h = 0; h < r->heads + r->kv_heads; h++) {
			bool is_q = h < r->heads;
			double *p = is_q ? q + t * nq + h * r->hd : k + t * nk + (h - r->heads) * r->hd;

			if (normed)
				rms(r, layer, is_q ? "attn_q_norm.weight" : "attn_k_norm.weight", p,
				    r->hd, p);
			rotate(r, layer, t, p);
			for (i = 0; i < r->hd; i++)
				if (is_q ? r->how.half_query : r->how.half_cache)
					p[i] = to_half(p[i]);
		}
		for (i = 0; i < nk && r->how.half_cache; i++)
			v[t * nk + i] = to_half(v[t * nk + i]);
	}
	for (t = 0; t < num; t++) {
		for (h = 0; h < r->heads; h++)
			attend(r, layer, t, q + t * nq + h * r->hd, k, v,
			       h / (r->heads / r->kv_heads), o + h * r->hd);
		times(r, layer, "attn_output", 0, r->dim, o, nq, y);
		if (!strncmp(r->arch, "gemma", 5))
			rms(r, layer, "post_attention_norm.weight", y, r->dim, y);
		for (h = 0; h < r->dim; h++)
			x[t * r->dim + h] += y[h];
	}
	free(q);
	free(k);
	free(v);
	free(n);
	free(o);
	free(y);
}

static void feed_forward(struct ref *r, int layer, double *x, int num)
{
	bool gemma = !strncmp(r->arch, "gemma", 5), phi = is(r, "phi3");
	double *n = calloc((size_t)r->dim, 8), *a = calloc((size_t)r->ff, 8),
	       *b = calloc((size_t)r->ff, 8), *y = calloc((size_t)r->dim, 8);
	int t, i;

	for (t = 0; t < num; t++) {
		rms(r, layer, "ffn_norm.weight", x + t * r->dim, r->dim, n);
		times(r, layer, phi ? "ffn_up" : "ffn_gate", 0, r->ff, n, r->dim, a);
		times(r, layer, "ffn_up", phi ? r->ff : 0, r->ff, n, r->dim, b);
		for (i = 0; i < r->ff; i++)
			a[i] = b[i] * (gemma ? 0.5 * a[i] * (1 + tanh(sqrt(2 / M_PI) *
						(a[i] + 0.044715 * a[i] * a[i] * a[i]))) :
					       a[i] / (1 + exp(-a[i])));
		times(r, layer, "ffn_down", 0, r->dim, a, r->ff, y);
		if (gemma)
			rms(r, layer, "post_ffw_norm.weight", y, r->dim, y);
		for (i = 0; i < r->dim; i++)
			x[t * r->dim + i] += y[i];
	}
	free(n);
	free(a);
	free(b);
	free(y);
}

static int key(struct ref *r, const char *name, int dflt)
{
	char full[96];
	uint32_t v = (uint32_t)dflt;

	snprintf(full, sizeof(full), "%s.%s", r->arch, name);
	npu_gguf_opt_u32(r->g, full, &v, NULL);
	return (int)v;
}

static double fkey(struct ref *r, const char *name, double dflt)
{
	char full[96];
	float v = (float)dflt;

	snprintf(full, sizeof(full), "%s.%s", r->arch, name);
	npu_gguf_opt_f32(r->g, full, &v, NULL);
	return (double)v;
}

static void read_keys(struct ref *r)
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

double *reference_logits(const struct npu_gguf *g, const int32_t *tokens, int num,
			 const struct reference_how *how, int *vocab)
{
	struct ref r = { .g = g, .how = *how, .long_context = how->long_context };
	const struct npu_gguf_tensor *embd;
	double *x, *n, *out = NULL;
	const char *head;
	int t, i;

	read_keys(&r);
	embd = find(&r, -1, "token_embd.weight", true);
	if (!embd)
		return NULL;
	r.vocab = *vocab = (int)embd->dim[1];
	head = find(&r, -1, "output.weight", false) ? "output" : "token_embd";
	x = calloc((size_t)(num * r.dim), 8);
	n = calloc((size_t)r.dim, 8);
	out = calloc((size_t)(num * r.vocab), 8);
	for (t = 0; t < num; t++)
		for (i = 0; i < r.dim; i++)
			x[t * r.dim + i] = element(embd, (uint64_t)(tokens[t] * r.dim + i)) *
					   (strncmp(r.arch, "gemma", 5) ? 1 : sqrt(r.dim));
	for (i = 0; i < r.layers; i++) {
		attention(&r, i, x, num);
		feed_forward(&r, i, x, num);
	}
	for (t = 0; t < num; t++) {
		rms(&r, -1, "output_norm.weight", x + t * r.dim, r.dim, n);
		times(&r, -1, head, 0, r.vocab, n, r.dim, out + t * r.vocab);
		for (i = 0; i < r.vocab; i++)
			out[t * r.vocab + i] = cap(out[t * r.vocab + i], is(&r, "gemma2") ? 30 : 0);
	}
	free(x);
	free(n);
	while (r.num_decoded)
		free(r.decoded[--r.num_decoded].v);
	if (!r.bad)
		return out;
	free(out);
	return NULL;
}
