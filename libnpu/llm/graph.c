// SPDX-License-Identifier: MIT
/*
 * The decoder, emitted from top to bottom. A step has T rows, one for each token of each sequence;
 * keys and values of all rows are stored before attention reads the cache, so rows of a prompt see
 * each other in it. From the last layer's attention on only the R rows go on whose logits are
 * wanted. The residual stream is f32, and each sum is made by the norm that follows it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"
#include "llm/graph.h"

/* The residual stream: x, and what is still to be added to it. */
struct stream {
	struct npu_llm_act x, pending;
};

/* @out = norm(in + addend); @sum gets in + addend when there is an addend. */
static int norm(struct npu_llm_graph *g, int layer, const char *part, const struct npu_tensor *in,
		const struct npu_tensor *addend, const struct npu_llm_matrix *gamma,
		const struct npu_tensor *sum, const struct npu_tensor *out)
{
	struct npu_norm_args a = { .out = out, .in = in, .addend = addend, .sum = sum,
				   .kind = NPU_NORM_RMS, .eps = g->m->eps };
	struct npu_tensor weight;
	int ret = npu_llm_weights_vector(g->w, gamma, &weight, g->err);

	if (ret)
		return ret;
	a.gamma = &weight;
	a.tag = npu_llm_graph_tag(g, layer, part, "RMSNorm", 0);
	return npu_llm_graph_check(g, a.tag ? npu_emit_norm(g->b, &a) : -ENOMEM);
}

/* The next part's input: the norm of the stream, which has nothing pending then. */
static int enter(struct npu_llm_graph *g, int layer, const char *part, struct stream *s,
		 const struct npu_llm_matrix *gamma, struct npu_llm_input *in)
{
	uint32_t dim = g->m->dim;
	struct npu_llm_act sum = { .rows = NULL };
	bool add = s->pending.rows;
	int ret = npu_llm_act_new(g, s->x.rows, NPU_F32, dim, &in->x);

	if (!ret && add)
		ret = npu_llm_act_new(g, s->x.rows, NPU_F32, dim, &sum);
	ret = ret ?: norm(g, layer, part, &s->x.t, add ? &s->pending.t : NULL, gamma,
			  add ? &sum.t : NULL, &in->x.t);
	if (add) {
		npu_llm_act_free(&s->x);
		npu_llm_act_free(&s->pending);
		s->x = sum;
	}
	return ret;
}

/* The norm behind a part, in place. */
static int leave(struct npu_llm_graph *g, int layer, const char *part, struct npu_llm_act *act,
		 const struct npu_llm_matrix *gamma)
{
	if (!(g->m->arch->has & NPU_LLM_POST_NORM))
		return 0;
	return norm(g, layer, part, &act->t, NULL, gamma, NULL, &act->t);
}

/* Rows of @from that have logits. */
static int pick_rows(struct npu_llm_graph *g, int layer, struct npu_llm_act *act)
{
	struct npu_llm_act picked;
	struct npu_tensor in = npu_llm_act_outer(act), out;
	struct npu_gather_args a = { .in = &in, .out = &out, .index = &g->in[NPU_LLM_IO_ROWS] };
	int ret = npu_llm_act_new(g, &g->outs, act->t.dtype, (uint32_t)act->t.dim[1].base, &picked);

	if (ret)
		return ret;
	out = npu_llm_act_outer(&picked);
	a.tag = npu_llm_graph_tag(g, layer, "rows", "Gather", 0);
	ret = npu_llm_graph_check(g, a.tag ? npu_emit_gather(g->b, &a) : -ENOMEM);
	npu_llm_act_free(act);
	*act = picked;
	return ret;
}

/* ---- attention ---- */

/* q or k by heads: their norm, and rotation into @out. */
static int rotate(struct npu_llm_graph *g, int layer, const char *part, struct npu_llm_act *act,
		  const struct npu_llm_matrix *gamma, struct npu_llm_act *out)
{
	const struct npu_llm_layer *l = &g->m->layers[layer];
	struct npu_tensor in = npu_llm_act_heads(act, g->m->head_dim),
			  to = npu_llm_act_heads(out, g->m->head_dim);
	struct npu_rope_args a = {
		.out = &to, .in = &in, .positions = &g->in[NPU_LLM_IO_POSITIONS],
		.factors = g->m->rope_factors ? &g->factors : NULL, .dims = g->m->rope_dims,
		.pairing = g->m->arch->pairing, .base = l->rope_base, .pos_scale = l->rope_scale,
		.mscale = g->m->rope_mscale,
	};
	int ret = g->m->arch->has & NPU_LLM_QK_NORM ?
			  norm(g, layer, part, &in, NULL, gamma, NULL, &in) : 0;

	if (ret)
		return ret;
	a.tag = npu_llm_graph_tag(g, layer, part, "RoPE", 0);
	return npu_llm_graph_check(g, a.tag ? npu_emit_rope(g->b, &a) : -ENOMEM);
}

/* Of plane @plane (2 * layer for keys, + 1 for values) of the cache: rows that slots count. */
static struct npu_tensor cache_rows(const struct npu_llm_graph *g, enum npu_llm_io io,
				    uint32_t plane, uint32_t cols)
{
	uint32_t slots = g->m->num_layers * 2 * g->plan->block;
	struct npu_tensor t = g->in[io];
	int64_t elem = npu_dtype_bits(t.dtype) / 8;

	t.rank = 3;
	t.offset = npu_len((int64_t)plane * g->plan->block * cols * elem);
	t.dim[0] = npu_len(1);
	t.dim[1] = npu_len_scalar(-(int64_t)plane * g->plan->block, (int32_t)slots,
				  NPU_LLM_LEN_BLOCKS);
	t.dim[2] = npu_len(cols);
	t.stride[0] = npu_len(0);
	t.stride[1] = npu_len(cols * elem);
	t.stride[2] = npu_len(elem);
	return t;
}

static int scatter(struct npu_llm_graph *g, int layer, enum npu_llm_io io, uint32_t plane,
		   const struct npu_llm_act *act)
{
	struct npu_tensor in = npu_llm_act_outer(act),
			  to = cache_rows(g, io, plane, (uint32_t)act->t.dim[1].base);
	struct npu_scatter_args a = { .inout = &to, .in = &in, .index = &g->in[NPU_LLM_IO_SLOTS] };

	a.tag = npu_llm_graph_tag(g, layer, plane & 1 ? "store_v" : "store_k", "Scatter", 0);
	return npu_llm_graph_check(g, a.tag ? npu_emit_scatter(g->b, &a) : -ENOMEM);
}

/*
 * Keys or values that are in the cache's type go there; as codes they are made first. Frees @act.
 */
static int store(struct npu_llm_graph *g, int layer, unsigned int which, struct npu_llm_act *act)
{
	uint32_t plane = 2 * (uint32_t)layer + which, heads = g->m->kv_heads;
	struct npu_llm_act codes, scales;
	struct npu_tensor in, code, scale;
	struct npu_dyn_quant_args a = { .in = &in, .out = &code, .scale = &scale,
					.group = g->m->head_dim };
	int ret;

	if (g->plan->kv != NPU_LLM_KV_I8) {
		ret = scatter(g, layer, NPU_LLM_IO_KV, plane, act);
		npu_llm_act_free(act);
		return ret;
	}
	ret = npu_llm_act_new(g, act->rows, NPU_I8, heads * g->m->head_dim, &codes);
	ret = ret ?: npu_llm_act_new(g, act->rows, NPU_F32, heads, &scales);
	if (ret)
		return ret;
	in = npu_llm_act_heads(act, g->m->head_dim);
	code = npu_llm_act_heads(&codes, g->m->head_dim);
	scale = npu_llm_act_heads(&scales, 1);
	a.tag = npu_llm_graph_tag(g, layer, which ? "quantize_v" : "quantize_k", "DynamicQuantize", 0);
	ret = npu_llm_graph_check(g, a.tag ? npu_emit_dyn_quant(g->b, &a) : -ENOMEM);
	ret = ret ?: scatter(g, layer, NPU_LLM_IO_KV, plane, &codes);
	ret = ret ?: scatter(g, layer, NPU_LLM_IO_KV_SCALE, plane, &scales);
	npu_llm_act_free(act);
	npu_llm_act_free(&codes);
	npu_llm_act_free(&scales);
	return ret;
}

/* A plane of the cache as [blocks, block, heads (, head dim)]. */
static struct npu_tensor cache_plane(const struct npu_llm_graph *g, enum npu_llm_io io,
				     uint32_t plane)
{
	bool scales = io == NPU_LLM_IO_KV_SCALE;
	struct npu_tensor t = g->in[io];
	uint64_t row = scales ? g->scale_row : g->row_bytes;

	/* blocks, layers, two, block, heads, dim: without the second and the third */
	t.offset = npu_len((int64_t)(plane * g->plan->block * row));
	memmove(&t.dim[1], &t.dim[3], 3 * sizeof(t.dim[0]));
	memmove(&t.stride[1], &t.stride[3], 3 * sizeof(t.stride[0]));
	t.rank = scales ? 3 : 4;
	return t;
}

static int attend(struct npu_llm_graph *g, int layer, const struct npu_llm_act *q,
		  struct npu_llm_act *out)
{
	uint32_t plane = 2 * (uint32_t)layer, dim = g->m->head_dim;
	struct npu_tensor qt = npu_llm_act_heads(q, dim), to,
			  k = cache_plane(g, NPU_LLM_IO_KV, plane),
			  v = cache_plane(g, NPU_LLM_IO_KV, plane + 1), ks, vs;
	struct npu_attention_args a = {
		.out = &to, .q = &qt, .k = &k, .v = &v, .positions = &g->in[NPU_LLM_IO_POSITIONS],
		.q_start = &g->in[NPU_LLM_IO_Q_START], .kv_len = &g->in[NPU_LLM_IO_KV_LEN],
		.block_table = &g->in[NPU_LLM_IO_TABLE],
		.batch = npu_llm_len(NPU_LLM_LEN_SEQUENCES), .scale = g->m->score_scale,
		.causal = true, .window = g->m->layers[layer].window, .soft_cap = g->m->score_cap,
	};
	uint64_t macs = (uint64_t)g->plan->max[NPU_LLM_LEN_ROWS] * g->m->heads * dim * 2 *
			g->plan->table * g->plan->block;
	int ret = npu_llm_act_new(g, q->rows, NPU_F32, g->m->heads * dim, out);

	if (ret)
		return ret;
	to = npu_llm_act_heads(out, dim);
	if (g->scale_row) {
		ks = cache_plane(g, NPU_LLM_IO_KV_SCALE, plane);
		vs = cache_plane(g, NPU_LLM_IO_KV_SCALE, plane + 1);
		a.k_scale = &ks;
		a.v_scale = &vs;
	}
	a.tag = npu_llm_graph_tag(g, layer, "attn", "Attention", macs);
	return npu_llm_graph_check(g, a.tag ? npu_emit_attention(g->b, &a) : -ENOMEM);
}

/* q, k and v of @in; k and v end in the cache. Frees @in. */
static int project(struct npu_llm_graph *g, int layer, struct npu_llm_input *in,
		   struct npu_llm_act *q)
{
	const struct npu_llm_layer *l = &g->m->layers[layer];
	/* What is quantized on its way to the cache is so from f32. */
	enum npu_dtype kv = g->plan->kv == NPU_LLM_KV_F16 ? NPU_F16 : NPU_F32;
	struct npu_llm_linear_args aq = { layer, "attn_q", in, &l->q, NULL, NPU_F32, 0, NULL },
				   ak = { layer, "attn_k", in, &l->k, NULL, NPU_F32, 0, NULL },
				   av = { layer, "attn_v", in, &l->v, NULL, kv, 0, NULL };
	struct npu_llm_act k, k_out, v;
	int ret = npu_llm_graph_linear(g, &aq, q);

	ret = ret ?: npu_llm_graph_linear(g, &ak, &k);
	ret = ret ?: npu_llm_graph_linear(g, &av, &v);
	npu_llm_input_free(in);
	ret = ret ?: rotate(g, layer, "attn_q", q, &l->q_norm, q);
	if (ret)
		return ret;
	k_out = k;
	if (kv != NPU_F32) {
		ret = npu_llm_act_new(g, k.rows, kv, g->m->kv_heads * g->m->head_dim, &k_out);
		ret = ret ?: rotate(g, layer, "attn_k", &k, &l->k_norm, &k_out);
		npu_llm_act_free(&k);
	} else {
		ret = rotate(g, layer, "attn_k", &k, &l->k_norm, &k);
	}
	ret = ret ?: store(g, layer, 0, &k_out);
	return ret ?: store(g, layer, 1, &v);
}

static int attention_part(struct npu_llm_graph *g, int layer, struct stream *s)
{
	const struct npu_llm_layer *l = &g->m->layers[layer];
	struct npu_llm_input in = { .num_q = 0 };
	struct npu_llm_linear_args ao = { layer, "attn_output", &in, &l->o, NULL, NPU_F32, 0, NULL };
	struct npu_llm_act q;
	int ret = enter(g, layer, "attn_norm", s, &l->attn_norm, &in);

	ret = ret ?: project(g, layer, &in, &q);
	if (ret)
		return ret;
	ret = attend(g, layer, &q, &in.x);
	npu_llm_act_free(&q);
	if (!ret && layer + 1 == (int)g->m->num_layers) {
		ret = pick_rows(g, layer, &in.x);
		ret = ret ?: pick_rows(g, layer, &s->x);
	}
	ret = ret ?: npu_llm_graph_linear(g, &ao, &s->pending);
	npu_llm_input_free(&in);
	return ret ?: leave(g, layer, "post_attention_norm", &s->pending, &l->post_attn_norm);
}

static int feed_forward_part(struct npu_llm_graph *g, int layer, struct stream *s)
{
	const struct npu_llm_layer *l = &g->m->layers[layer];
	struct npu_llm_input in = { .num_q = 0 }, mid = { .num_q = 0 };
	struct npu_llm_act gate;
	struct npu_llm_linear_args
		ag = { layer, "ffn_gate", &in, &l->gate, NULL, NPU_F32, g->m->arch->act, NULL },
		au = { layer, "ffn_up", &in, &l->up, NULL, NPU_F32, 0, &gate },
		ad = { layer, "ffn_down", &mid, &l->down, NULL, NPU_F32, 0, NULL };
	int ret = enter(g, layer, "ffn_norm", s, &l->ffn_norm, &in);

	ret = ret ?: npu_llm_graph_linear(g, &ag, &gate);
	ret = ret ?: npu_llm_graph_linear(g, &au, &mid.x);
	if (ret)
		return ret;
	npu_llm_act_free(&gate);
	npu_llm_input_free(&in);
	ret = npu_llm_graph_linear(g, &ad, &s->pending);
	npu_llm_input_free(&mid);
	return ret ?: leave(g, layer, "post_ffw_norm", &s->pending, &l->post_ffn_norm);
}

/* ---- both ends ---- */

static int scale_rows(struct npu_llm_graph *g, const struct npu_tensor *t, float factor,
		      const char *part)
{
	struct npu_unary_args a = { .out = t, .in = t, .func = NPU_UNARY_COPY, .post = true,
				    .post_mul = factor };

	a.tag = npu_llm_graph_tag(g, -1, part, "Mul", 0);
	return npu_llm_graph_check(g, a.tag ? npu_emit_unary(g->b, &a) : -ENOMEM);
}

static int embed(struct npu_llm_graph *g, const struct npu_llm_weight *placed, struct stream *s)
{
	struct npu_llm_weight w;
	struct npu_tensor out;
	struct npu_gather_args a = { .in = &w.t.b,
				     .out = &out,
				     .index = &g->in[NPU_LLM_IO_TOKENS] };
	int ret = npu_llm_weights_rows(g->w, &g->m->embed, placed, &w, g->err);

	ret = ret ?: npu_llm_act_new(g, &g->tokens, NPU_F32, g->m->dim, &s->x);
	if (ret)
		return ret;
	out = npu_llm_act_outer(&s->x);
	if (w.place.format.group)
		npu_weight_gather(&w.place, &w.t, &a);
	a.tag = npu_llm_graph_tag(g, -1, "token_embd", "Gather", 0);
	ret = npu_llm_graph_check(g, a.tag ? npu_emit_gather(g->b, &a) : -ENOMEM);
	if (!ret && g->m->embed_scale != 1)
		ret = scale_rows(g, &s->x.t, g->m->embed_scale, "embd_scale");
	return ret;
}

static int largest(struct npu_llm_graph *g)
{
	struct npu_tensor out = g->in[NPU_LLM_IO_ARGMAX];
	struct npu_arg_reduce_args a = { .out = &out, .in = &g->in[NPU_LLM_IO_LOGITS], .axis = 1 };
	int ret = npu_tensor_insert(&out, 1);

	a.tag = npu_llm_graph_tag(g, -1, "argmax", "ArgMax", 0);
	return ret ?: npu_llm_graph_check(g, a.tag ? npu_emit_arg_reduce(g->b, &a) : -ENOMEM);
}

/* A tensor of which dim @d is as long as @length says. */
static struct npu_tensor part_of(const struct npu_tensor *whole, unsigned int d,
				 enum npu_llm_length length)
{
	struct npu_tensor t = *whole;

	t.dim[d] = npu_llm_len(length);
	return t;
}

static int top(struct npu_llm_graph *g)
{
	struct npu_tensor in = part_of(&g->in[NPU_LLM_IO_LOGITS], 0, NPU_LLM_LEN_TOP_ROWS),
			  values = part_of(&g->in[NPU_LLM_IO_TOP_VALUES], 1, NPU_LLM_LEN_TOP),
			  tokens = part_of(&g->in[NPU_LLM_IO_TOP_TOKENS], 1, NPU_LLM_LEN_TOP);
	struct npu_topk_args a = { .values = &values, .indices = &tokens, .in = &in, .axis = 1 };

	a.tag = npu_llm_graph_tag(g, -1, "top", "TopK", 0);
	return npu_llm_graph_check(g, a.tag ? npu_emit_topk(g->b, &a) : -ENOMEM);
}

static int head(struct npu_llm_graph *g, const struct npu_llm_weight *placed, struct stream *s)
{
	const struct npu_tensor *logits = &g->in[NPU_LLM_IO_LOGITS];
	struct npu_llm_input in = { .num_q = 0 };
	struct npu_llm_linear_args a = { -1, "output", &in, &g->m->out, placed, NPU_F32, 0, NULL };
	float cap = g->m->logit_cap;
	int ret = enter(g, -1, "output_norm", s, &g->m->out_norm, &in);

	ret = ret ?: npu_llm_graph_linear_to(g, &a, cap > 0 ? 1 / cap : 0,
					     cap > 0 ? NPU_ACT_TANH : NPU_ACT_NONE, logits);
	if (!ret && cap > 0)
		ret = scale_rows(g, logits, cap, "logit_cap");
	npu_llm_input_free(&in);
	npu_llm_act_free(&s->x);
	ret = ret ?: largest(g);
	return ret ?: top(g);
}

static int build(struct npu_llm_graph *g)
{
	struct npu_llm_weight out;
	struct stream s = { .x.rows = NULL };
	int ret = npu_llm_weights_matrix(g->w, &g->m->out.w, &out, g->err), i;

	if (!ret && g->m->rope_factors)
		ret = npu_llm_weights_floats(g->w, g->m->rope_factors, g->m->rope_dims / 2,
					     &g->factors, g->err);
	ret = ret ?: embed(g, g->m->tied ? &out : NULL, &s);
	for (i = 0; i < (int)g->m->num_layers && !ret; i++) {
		ret = attention_part(g, i, &s);
		ret = ret ?: feed_forward_part(g, i, &s);
	}
	return ret ?: head(g, &out, &s);
}

int npu_llm_graph_build(struct npu_llm_graph *g, const struct npu_llm_model *m,
			const struct npu_llm_plan *plan, struct npu_llm_weights *w,
			struct npu_error *err)
{
	int ret;

	*g = (struct npu_llm_graph){ .m = m, .plan = plan, .w = w, .err = err };
	ret = npu_llm_graph_describe(g);
	ret = ret ?: build(g);
	return ret ?: npu_llm_graph_finish(g);
}
