// SPDX-License-Identifier: MIT
/* From the keys and tensors of a GGUF file to a model, by tables. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"
#include "llm/model.h"

#define MAX_LAYERS	1024u
#define MAX_SIZE	(1u << 20)	/* of a dimension other than the vocabulary */

#define ULL(v)		((unsigned long long)(v))

struct load {
	struct npu_llm_model *m;
	const struct npu_gguf *g;
	bool *used;			/* tensors of the file that have found their place */
	struct npu_error *err;
};

/* ---- hyperparameters ---- */

/*
 * Keys behind "<architecture>." that are known. One that is not may change what the model computes,
 * so it is refused and not passed over.
 */
static const char *const known_keys[] = {
	"context_length", "embedding_length", "block_count", "feed_forward_length", "vocab_size",
	"attention.head_count", "attention.head_count_kv", "attention.key_length",
	"attention.value_length", "attention.layer_norm_rms_epsilon", "attention.scale",
	"attention.sliding_window", "attention.causal", "attn_logit_softcapping",
	"final_logit_softcapping", "rope.dimension_count", "rope.freq_base", "rope.freq_base_swa",
	"rope.scale_linear", "rope.scaling.type", "rope.scaling.factor",
	"rope.scaling.original_context_length", "rope.scaling.finetuned",
	"rope.scaling.attn_factor", "rope.scaling.yarn_ext_factor",
	"rope.scaling.yarn_attn_factor", "rope.scaling.yarn_beta_fast",
	"rope.scaling.yarn_beta_slow", "expert_count", "expert_used_count", "tensor_data_layout",
};

static int check_keys(const struct load *l)
{
	const char *arch = l->m->arch->name;
	size_t len = strlen(arch), k;
	uint32_t i;

	for (i = 0; i < npu_gguf_num_keys(l->g); i++) {
		const char *key = npu_gguf_key(l->g, i);

		if (strncmp(key, arch, len) || key[len] != '.')
			continue;
		for (k = 0; k < sizeof(known_keys) / sizeof(known_keys[0]); k++)
			if (!strcmp(key + len + 1, known_keys[k]))
				break;
		if (k == sizeof(known_keys) / sizeof(known_keys[0]))
			return npu_error_set(l->err, -ENOTSUP,
					     "%s: hyperparameter '%s' is not known, and may change what the model computes",
					     npu_gguf_path(l->g), key);
	}
	return 0;
}

static void key_name(const struct load *l, const char *key, char name[128])
{
	snprintf(name, 128, "%s.%s", l->m->arch->name, key);
}

/* Some converters write a value per layer; layers that differ are not built here. */
static int get_per_layer(const struct load *l, const char *name, uint32_t *v)
{
	struct npu_gguf_array a;
	int64_t first;
	uint64_t i;
	int ret = npu_gguf_get_array(l->g, name, NPU_GGUF_I64, &a, l->err);

	if (ret)
		return ret;
	for (i = 0; i < a.count; i++)
		if (npu_gguf_array_i64(&a, i) != npu_gguf_array_i64(&a, 0))
			return npu_error_set(l->err, -ENOTSUP,
					     "%s: '%s' differs from layer to layer, which is not supported",
					     npu_gguf_path(l->g), name);
	first = a.count ? (int64_t)npu_gguf_array_i64(&a, 0) : 0;
	*v = first > 0 && first < (int64_t)MAX_SIZE ? (uint32_t)first : 0;
	return 0;
}

/* A length from 1 to @max; @must: the key has to be there, else @v stays. */
static int get_size(const struct load *l, const char *key, bool must, uint32_t max, uint32_t *v)
{
	char name[128];
	int ret, kind;

	key_name(l, key, name);
	kind = npu_gguf_kind(l->g, name);
	if (kind < 0 && !must)
		return 0;
	ret = kind == NPU_GGUF_ARRAY ? get_per_layer(l, name, v) :
				       npu_gguf_get_u32(l->g, name, v, l->err);
	if (!ret && (!*v || *v > max))
		return npu_error_set(l->err, -EINVAL, "%s: '%s' is %u, expected 1 to %u",
				     npu_gguf_path(l->g), name, *v, max);
	return ret;
}

static int get_float(const struct load *l, const char *key, float *v)
{
	char name[128];

	key_name(l, key, name);
	return npu_gguf_opt_f32(l->g, name, v, l->err);
}

/* Keys that have to have one value, because another is another model. */
static int check_fixed(const struct load *l)
{
	uint32_t experts = 0;
	bool causal = true;
	char name[128];
	int ret;

	key_name(l, "expert_count", name);
	ret = npu_gguf_opt_u32(l->g, name, &experts, l->err);
	if (!ret && experts)
		return npu_error_set(l->err, -ENOTSUP,
				     "%s: '%s' is %u: mixtures of experts are not supported",
				     npu_gguf_path(l->g), name, experts);
	key_name(l, "attention.causal", name);
	if (!ret)
		ret = npu_gguf_opt_bool(l->g, name, &causal, l->err);
	if (!ret && !causal)
		return npu_error_set(l->err, -ENOTSUP,
				     "%s: '%s' is false: only causal attention is supported",
				     npu_gguf_path(l->g), name);
	return ret;
}

static int get_sizes(const struct load *l)
{
	struct npu_llm_model *m = l->m;
	uint32_t v_dim = 0;
	int ret = 0;

	ret = ret ?: get_size(l, "embedding_length", true, MAX_SIZE, &m->dim);
	ret = ret ?: get_size(l, "block_count", true, MAX_LAYERS, &m->num_layers);
	ret = ret ?: get_size(l, "feed_forward_length", true, MAX_SIZE, &m->ff);
	ret = ret ?: get_size(l, "context_length", true, 1u << 30, &m->trained_context);
	ret = ret ?: get_size(l, "attention.head_count", true, 4096, &m->heads);
	m->kv_heads = m->heads;
	ret = ret ?: get_size(l, "attention.head_count_kv", false, 4096, &m->kv_heads);
	if (ret)
		return ret;
	m->head_dim = m->dim / m->heads;
	ret = get_size(l, "attention.key_length", false, 65536, &m->head_dim);
	v_dim = m->head_dim;
	ret = ret ?: get_size(l, "attention.value_length", false, 65536, &v_dim);
	m->rope_dims = m->head_dim;
	ret = ret ?: get_size(l, "rope.dimension_count", false, 65536, &m->rope_dims);
	if (ret)
		return ret;
	if (m->heads % m->kv_heads || !m->head_dim || m->rope_dims > m->head_dim ||
	    m->rope_dims % 2)
		return npu_error_set(l->err, -EINVAL,
				     "%s: %u heads, %u of them with keys of %u elements, %u of those rotated: they do not fit",
				     npu_gguf_path(l->g), m->heads, m->kv_heads, m->head_dim,
				     m->rope_dims);
	if (v_dim != m->head_dim)
		return npu_error_set(l->err, -ENOTSUP,
				     "%s: values of %u elements beside keys of %u are not supported",
				     npu_gguf_path(l->g), v_dim, m->head_dim);
	return 0;
}

static int get_numbers(const struct load *l)
{
	struct npu_llm_model *m = l->m;
	unsigned int has = m->arch->has;
	uint32_t share = m->dim / m->heads;
	char name[128];
	int ret;

	key_name(l, "attention.layer_norm_rms_epsilon", name);
	ret = npu_gguf_get_f32(l->g, name, &m->eps, l->err);
	m->score_scale = 1.0f / sqrtf((float)m->head_dim);
	if (has & NPU_LLM_WIDE_SCALE && m->num_layers == m->arch->wide_layers)
		m->score_scale = 1.0f / sqrtf((float)share);
	ret = ret ?: get_float(l, "attention.scale", &m->score_scale);
	m->score_cap = m->arch->score_cap;
	m->logit_cap = m->arch->logit_cap;
	ret = ret ?: get_float(l, "attn_logit_softcapping", &m->score_cap);
	ret = ret ?: get_float(l, "final_logit_softcapping", &m->logit_cap);
	m->embed_scale = has & NPU_LLM_EMBED_SCALE ? sqrtf((float)m->dim) : 1.0f;
	if (ret)
		return ret;
	if (!(m->eps >= 0) || !(m->score_cap >= 0) || !(m->logit_cap >= 0))
		return npu_error_set(l->err, -EINVAL,
				     "%s: the norm's epsilon %g or a soft cap (%g, %g) is negative",
				     npu_gguf_path(l->g), (double)m->eps, (double)m->score_cap,
				     (double)m->logit_cap);
	return 0;
}

/* Layers that see a window: by the architecture's period, or all of them. */
static int get_windows(const struct load *l)
{
	unsigned int period = l->m->arch->window_period;
	uint32_t window = 0, i;
	char name[128];
	int ret;

	key_name(l, "attention.sliding_window", name);
	ret = npu_gguf_opt_u32(l->g, name, &window, l->err);
	if (!ret && window > 1u << 30)
		ret = npu_error_set(l->err, -EINVAL, "%s: '%s' is %u", npu_gguf_path(l->g), name,
				    window);
	for (i = 0; i < l->m->num_layers && !ret; i++)
		l->m->layers[i].window = period && !((i + 1) % period) ? 0 : window;
	return ret;
}

/* ---- tensors ---- */

enum shape { DIM, Q_ROWS, KV_ROWS, QKV_ROWS, FF, GATE_UP_ROWS, HEAD, VOCAB };

static uint32_t shape_size(const struct npu_llm_model *m, enum shape s)
{
	switch (s) {
	case DIM:
		return m->dim;
	case Q_ROWS:
		return m->heads * m->head_dim;
	case KV_ROWS:
		return m->kv_heads * m->head_dim;
	case QKV_ROWS:
		return (m->heads + 2 * m->kv_heads) * m->head_dim;
	case FF:
		return m->ff;
	case GATE_UP_ROWS:
		return 2 * m->ff;
	case HEAD:
		return m->head_dim;
	default:
		return m->vocab;
	}
}

static int bad_shape(const struct load *l, const struct npu_gguf_tensor *t, uint32_t cols,
		     uint32_t rows)
{
	return npu_error_set(l->err, -EINVAL,
			     "%s: tensor '%s' is %llu x %llu, expected %u x %u from the hyperparameters",
			     npu_gguf_path(l->g), t->name, ULL(t->dim[0]), ULL(t->dim[1]), cols,
			     rows);
}

/* Tensor @name with @cols columns and @rows rows (1: a vector); absent is an error when @must. */
static int take(const struct load *l, const char *name, uint32_t cols, uint32_t rows, bool must,
		struct npu_llm_matrix *out)
{
	const struct npu_gguf_tensor *t = npu_gguf_find_tensor(l->g, name);
	uint32_t i;

	*out = (struct npu_llm_matrix){ .cols = cols, .rows = rows };
	if (!t && must)
		return npu_error_set(l->err, -EINVAL, "%s: tensor '%s' is missing, %s has it",
				     npu_gguf_path(l->g), name, l->m->arch->name);
	if (!t)
		return 0;
	if (t->dim[0] != cols || t->dim[1] != rows || t->dim[2] != 1 || t->dim[3] != 1)
		return bad_shape(l, t, cols, rows);
	for (i = 0; npu_gguf_tensor(l->g, i) != t; i++)
		;
	l->used[i] = true;
	out->tensor = t;
	return 0;
}

struct slot {
	const char *name;		/* blk.N.<name>.weight */
	size_t at;			/* of the matrix or linear in struct npu_llm_layer */
	enum shape cols, rows;		/* rows of vectors are not used */
	bool vector, optional;
	unsigned int with, without;	/* NPU_LLM_* bits that must be set, or clear */
};

#define AT(field)	offsetof(struct npu_llm_layer, field)

static const struct slot slots[] = {
	{ "attn_norm", AT(attn_norm), DIM, DIM, true, false, 0, 0 },
	{ "attn_q", AT(q), DIM, Q_ROWS, false, false, 0, NPU_LLM_QKV_FUSED },
	{ "attn_k", AT(k), DIM, KV_ROWS, false, false, 0, NPU_LLM_QKV_FUSED },
	{ "attn_v", AT(v), DIM, KV_ROWS, false, false, 0, NPU_LLM_QKV_FUSED },
	{ "attn_qkv", AT(q), DIM, QKV_ROWS, false, false, NPU_LLM_QKV_FUSED, 0 },
	{ "attn_output", AT(o), Q_ROWS, DIM, false, false, 0, 0 },
	{ "attn_q_norm", AT(q_norm), HEAD, DIM, true, false, NPU_LLM_QK_NORM, 0 },
	{ "attn_k_norm", AT(k_norm), HEAD, DIM, true, false, NPU_LLM_QK_NORM, 0 },
	{ "post_attention_norm", AT(post_attn_norm), DIM, DIM, true, false, NPU_LLM_POST_NORM, 0 },
	{ "ffn_norm", AT(ffn_norm), DIM, DIM, true, false, 0, 0 },
	{ "ffn_gate", AT(gate), DIM, FF, false, false, 0, NPU_LLM_GATE_FUSED },
	{ "ffn_up", AT(up), DIM, FF, false, false, 0, NPU_LLM_GATE_FUSED },
	{ "ffn_up", AT(gate), DIM, GATE_UP_ROWS, false, false, NPU_LLM_GATE_FUSED, 0 },
	{ "ffn_down", AT(down), FF, DIM, false, false, 0, 0 },
	{ "post_ffw_norm", AT(post_ffn_norm), DIM, DIM, true, false, NPU_LLM_POST_NORM, 0 },
};

static int take_slot(const struct load *l, const struct slot *s, uint32_t layer)
{
	void *at = (char *)&l->m->layers[layer] + s->at;
	uint32_t cols = shape_size(l->m, s->cols), rows = s->vector ? 1 : shape_size(l->m, s->rows);
	struct npu_llm_linear *lin = at;
	char name[96];
	int ret;

	snprintf(name, sizeof(name), "blk.%u.%s.weight", layer, s->name);
	if (s->vector)
		return take(l, name, cols, 1, true, at);
	ret = take(l, name, cols, rows, true, &lin->w);
	snprintf(name, sizeof(name), "blk.%u.%s.bias", layer, s->name);
	return ret ?: take(l, name, rows, 1, false, &lin->bias);
}

/* Rows [first, first + rows) of @from, the bias's elements likewise. */
static void cut(struct npu_llm_linear *to, const struct npu_llm_linear *from, uint32_t first,
		uint32_t rows)
{
	*to = *from;
	to->w.first += first;
	to->w.rows = rows;
	to->bias.first += first;
	to->bias.cols = rows;
}

static void split_fused(const struct npu_llm_model *m, struct npu_llm_layer *layer)
{
	uint32_t q = shape_size(m, Q_ROWS), kv = shape_size(m, KV_ROWS);
	struct npu_llm_linear all;

	if (m->arch->has & NPU_LLM_QKV_FUSED) {
		all = layer->q;
		cut(&layer->q, &all, 0, q);
		cut(&layer->k, &all, q, kv);
		cut(&layer->v, &all, q + kv, kv);
	}
	if (m->arch->has & NPU_LLM_GATE_FUSED) {
		all = layer->gate;
		cut(&layer->gate, &all, 0, m->ff);
		cut(&layer->up, &all, m->ff, m->ff);
	}
}

static int take_layer(const struct load *l, uint32_t layer)
{
	size_t i;
	int ret;

	for (i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		if ((l->m->arch->has & slots[i].with) != slots[i].with ||
		    l->m->arch->has & slots[i].without)
			continue;
		ret = take_slot(l, &slots[i], layer);
		if (ret)
			return ret;
	}
	split_fused(l->m, &l->m->layers[layer]);
	return 0;
}

static int take_ends(const struct load *l)
{
	const struct npu_gguf_tensor *t = npu_gguf_find_tensor(l->g, "token_embd.weight");
	struct npu_llm_model *m = l->m;
	int ret;

	if (t && (!t->dim[1] || t->dim[1] > 4194304))
		return npu_error_set(l->err, -EINVAL,
				     "%s: tensor 'token_embd.weight' has %llu rows, expected 1 to 4194304",
				     npu_gguf_path(l->g), ULL(t->dim[1]));
	m->vocab = t ? (uint32_t)t->dim[1] : 0;
	ret = take(l, "token_embd.weight", m->dim, m->vocab, true, &m->embed);
	ret = ret ?: take(l, "output_norm.weight", m->dim, 1, true, &m->out_norm);
	ret = ret ?: take(l, "output.weight", m->dim, m->vocab, !(m->arch->has & NPU_LLM_TIED),
			  &m->out.w);
	ret = ret ?: take(l, "output.bias", m->vocab, 1, false, &m->out.bias);
	m->embed.end = m->out.w.end = true;
	m->tied = !ret && !m->out.w.tensor;
	if (m->tied)
		m->out.w = m->embed;
	return ret;
}

/* Tensors of RoPE: npu_llm_model_rope() reads them. */
static bool is_rope_tensor(const char *name)
{
	return !strcmp(name, "rope_freqs.weight") || !strcmp(name, "rope_factors_long.weight") ||
	       !strcmp(name, "rope_factors_short.weight");
}

static int check_used(const struct load *l)
{
	uint32_t i;

	for (i = 0; i < npu_gguf_num_tensors(l->g); i++) {
		const char *name = npu_gguf_tensor(l->g, i)->name;

		if (!l->used[i] && !is_rope_tensor(name))
			return npu_error_set(l->err, -ENOTSUP,
					     "%s: tensor '%s' is not one that %s is known to have",
					     npu_gguf_path(l->g), name, l->m->arch->name);
	}
	return 0;
}

static int take_tensors(struct load *l)
{
	uint32_t i;
	int ret;

	l->used = calloc(npu_gguf_num_tensors(l->g) + 1, sizeof(*l->used));
	if (!l->used)
		return npu_error_set(l->err, -ENOMEM, "%s: no memory for its tensors",
				     npu_gguf_path(l->g));
	ret = take_ends(l);
	for (i = 0; i < l->m->num_layers && !ret; i++)
		ret = take_layer(l, i);
	ret = ret ?: check_used(l);
	free(l->used);
	return ret;
}

static int find_arch(const struct load *l)
{
	const struct npu_llm_arch *a;
	const char *name;
	char list[256] = "";
	size_t n = 0;
	unsigned int i;
	int ret = npu_gguf_get_string(l->g, "general.architecture", &name, l->err);

	if (ret)
		return ret;
	l->m->arch = npu_llm_arch_find(name);
	if (l->m->arch)
		return 0;
	for (i = 0; (a = npu_llm_arch_at(i)) && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", a->name);
	return npu_error_set(l->err, -ENOTSUP,
			     "%s: architecture '%s' is not supported; there are %s",
			     npu_gguf_path(l->g), name, list);
}

int npu_llm_model_init(struct npu_llm_model *m, const struct npu_gguf *g, uint32_t context,
		       struct npu_error *err)
{
	struct load l = { .m = m, .g = g, .err = err };
	int ret;

	*m = (struct npu_llm_model){ .name = "" };
	ret = find_arch(&l);
	ret = ret ?: check_keys(&l);
	ret = ret ?: check_fixed(&l);
	ret = ret ?: get_sizes(&l);
	ret = ret ?: get_numbers(&l);
	ret = ret ?: npu_gguf_opt_string(g, "general.name", &m->name, err);
	if (ret)
		return ret;
	m->layers = calloc(m->num_layers, sizeof(*m->layers));
	if (!m->layers)
		return npu_error_set(err, -ENOMEM, "%s: no memory for %u layers", npu_gguf_path(g),
				     m->num_layers);
	ret = get_windows(&l);
	ret = ret ?: take_tensors(&l);
	return ret ?: npu_llm_model_rope(m, g, context ? context : m->trained_context, err);
}

void npu_llm_model_fini(struct npu_llm_model *m)
{
	free(m->layers);
	free(m->rope_factors);
	m->layers = NULL;
	m->rope_factors = NULL;
}
