// SPDX-License-Identifier: MIT
/*
 * Rotary embedding as the file wants it. All scalings come down to what the instruction has: a
 * base, a factor on positions, a divisor for each frequency, and a factor on the result.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"
#include "llm/model.h"

struct rope {
	struct npu_llm_model *m;
	const struct npu_gguf *g;
	struct npu_error *err;
	const char *type;		/* rope.scaling.type */
	float base, factor, attn;	/* attn: factor on the result that the file asks for */
	uint32_t original;		/* context before it was stretched */
};

static int opt_f32(const struct rope *r, const char *key, float *v)
{
	char name[128];

	snprintf(name, sizeof(name), "%s.%s", r->m->arch->name, key);
	return npu_gguf_opt_f32(r->g, name, v, r->err);
}

static int read_keys(struct rope *r)
{
	char name[128];
	int ret = opt_f32(r, "rope.freq_base", &r->base);

	ret = ret ?: opt_f32(r, "rope.scale_linear", &r->factor);
	ret = ret ?: opt_f32(r, "rope.scaling.factor", &r->factor);
	ret = ret ?: opt_f32(r, "rope.scaling.attn_factor", &r->attn);
	snprintf(name, sizeof(name), "%s.rope.scaling.type", r->m->arch->name);
	ret = ret ?: npu_gguf_opt_string(r->g, name, &r->type, r->err);
	snprintf(name, sizeof(name), "%s.rope.scaling.original_context_length", r->m->arch->name);
	ret = ret ?: npu_gguf_opt_u32(r->g, name, &r->original, r->err);
	if (ret)
		return ret;
	if (!(r->base > 0) || !(r->factor >= 0) || !(r->attn > 0) || !r->original)
		return npu_error_set(r->err, -EINVAL,
				     "%s: rope: base %g, scaling factor %g, attention factor %g, original context %u: expected more than 0",
				     npu_gguf_path(r->g), (double)r->base, (double)r->factor,
				     (double)r->attn, r->original);
	if (r->factor == 0)
		r->factor = 1;		/* as converters write "none" */
	return 0;
}

static int alloc_factors(struct rope *r)
{
	uint32_t i;

	r->m->rope_factors = malloc(r->m->rope_dims / 2 * sizeof(float));
	if (!r->m->rope_factors)
		return npu_error_set(r->err, -ENOMEM, "%s: no memory", npu_gguf_path(r->g));
	for (i = 0; i < r->m->rope_dims / 2; i++)
		r->m->rope_factors[i] = 1;
	return 0;
}

/* Divisors of the frequencies that the file has as a tensor; nothing when it has not. */
static int tensor_factors(struct rope *r, const char *name)
{
	const struct npu_gguf_tensor *t = npu_gguf_find_tensor(r->g, name);
	uint32_t i, n = r->m->rope_dims / 2;
	int ret;

	if (!t)
		return 0;
	if (t->type || t->dim[0] != n || t->dim[1] != 1 || t->dim[2] != 1 || t->dim[3] != 1)
		return npu_error_set(r->err, -EINVAL, "%s: tensor '%s' is not %u f32 values",
				     npu_gguf_path(r->g), name, n);
	ret = alloc_factors(r);
	if (ret)
		return ret;
	memcpy(r->m->rope_factors, t->data, n * sizeof(float));
	for (i = 0; i < n; i++)
		if (!(r->m->rope_factors[i] > 0) || isinf(r->m->rope_factors[i]))
			return npu_error_set(r->err, -EINVAL,
					     "%s: tensor '%s' has %g at %u, expected more than 0",
					     npu_gguf_path(r->g), name,
					     (double)r->m->rope_factors[i], i);
	return 0;
}

/* The dimension whose pair turns @rotations times over the original context. */
static double yarn_dim(const struct rope *r, float rotations)
{
	return r->m->rope_dims * log((double)r->original / ((double)rotations * 2 * M_PI)) /
	       (2 * log((double)r->base));
}

/*
 * YaRN: slow pairs are stretched by the factor, fast ones are left alone, with a ramp between; the
 * result grows with the logarithm of the factor.
 */
static int yarn(struct rope *r)
{
	float fast = 32, slow = 1, extra = 1, attn = 1;
	double lo, hi, mix, n = r->m->rope_dims;
	uint32_t i;
	int ret = opt_f32(r, "rope.scaling.yarn_beta_fast", &fast);

	ret = ret ?: opt_f32(r, "rope.scaling.yarn_beta_slow", &slow);
	ret = ret ?: opt_f32(r, "rope.scaling.yarn_ext_factor", &extra);
	ret = ret ?: opt_f32(r, "rope.scaling.yarn_attn_factor", &attn);
	if (!ret && (!(fast > 0) || !(slow > 0) || !(attn > 0)))
		ret = npu_error_set(r->err, -EINVAL,
				    "%s: rope: yarn with beta %g and %g, attention factor %g: expected more than 0",
				    npu_gguf_path(r->g), (double)fast, (double)slow, (double)attn);
	ret = ret ?: alloc_factors(r);
	if (ret)
		return ret;
	lo = fmax(0, floor(yarn_dim(r, fast)));
	hi = fmin(n - 1, ceil(yarn_dim(r, slow)));
	for (i = 0; i < r->m->rope_dims / 2; i++) {
		mix = (1 - fmin(1, fmax(0, (i - lo) / fmax(0.001, hi - lo)))) * (double)extra;
		r->m->rope_factors[i] = (float)(1 / ((1 - mix) / (double)r->factor + mix));
	}
	r->m->rope_mscale *= attn * (float)(1 + 0.1 * log((double)r->factor));
	return 0;
}

/* scaling of positions for layers that see everything */
static int scaling(struct rope *r, uint32_t context, float *scale)
{
	*scale = 1;
	if (!strcmp(r->type, "linear")) {
		*scale = 1 / r->factor;
		return tensor_factors(r, "rope_freqs.weight");
	}
	if (!strcmp(r->type, "none"))
		return tensor_factors(r, "rope_freqs.weight");
	if (!strcmp(r->type, "yarn"))
		return yarn(r);
	if (!strcmp(r->type, "longrope"))
		return tensor_factors(r, context > r->original ? "rope_factors_long.weight" :
								 "rope_factors_short.weight");
	return npu_error_set(r->err, -ENOTSUP,
			     "%s: rope scaling '%s' is not supported; there are none, linear, yarn and longrope",
			     npu_gguf_path(r->g), r->type);
}

int npu_llm_model_rope(struct npu_llm_model *m, const struct npu_gguf *g, uint32_t context,
		       struct npu_error *err)
{
	struct rope r = {
		.m = m, .g = g, .err = err, .type = NULL, .base = 10000, .factor = 1, .attn = 1,
		.original = m->trained_context,
	};
	bool local = m->arch->local_base > 0;
	float scale = 1, base_local = m->arch->local_base;
	uint32_t i;
	int ret = read_keys(&r);

	ret = ret ?: opt_f32(&r, "rope.freq_base_swa", &base_local);
	if (ret)
		return ret;
	if (!r.type)
		r.type = npu_gguf_find_tensor(g, "rope_factors_long.weight") ? "longrope" : "linear";
	m->rope_mscale = r.attn;
	ret = scaling(&r, context, &scale);
	for (i = 0; i < m->num_layers && !ret; i++) {
		bool own = local && m->layers[i].window;

		m->layers[i].rope_base = own ? base_local : r.base;
		m->layers[i].rope_scale = own ? 1 : scale;
	}
	if (!ret && local && m->rope_factors)
		return npu_error_set(err, -ENOTSUP,
				     "%s: rope scaling '%s' of some layers only is not supported",
				     npu_gguf_path(g), r.type);
	return ret;
}
