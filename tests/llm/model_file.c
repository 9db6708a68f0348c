// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gguf_make.h"
#include "model_file.h"
#include "npu_half.h"

struct writer {
	const struct model_spec *s;
	struct gguf_make *file;
	uint64_t state;			/* of the random numbers */
	uint8_t *data;			/* of the tensor in hand */
	size_t size;
};

static void add(struct writer *w, const void *data, size_t size)
{
	memcpy(w->data + w->size, data, size);
	w->size += size;
}

static const char *key_name(const struct writer *w, const char *key, char name[128])
{
	if (!strncmp(key, "general.", 8))
		snprintf(name, 128, "%s", key);
	else
		snprintf(name, 128, "%s.%s", w->s->arch, key);
	return name;
}

static void key_u32(struct writer *w, const char *key, uint32_t v)
{
	char name[128];

	gguf_make_u32(w->file, key_name(w, key, name), v);
}

static void key_f32(struct writer *w, const char *key, float v)
{
	char name[128];

	gguf_make_f32(w->file, key_name(w, key, name), v);
}

static void key_string(struct writer *w, const char *key, const char *v)
{
	char name[128];

	gguf_make_string(w->file, key_name(w, key, name), v);
}

static uint64_t next(struct writer *w)
{
	w->state ^= w->state << 13;
	w->state ^= w->state >> 7;
	w->state ^= w->state << 17;
	return w->state;
}

/* About normal: the sum of four even ones, of variance 1. */
static double normal(struct writer *w)
{
	double sum = 0;
	int i;

	for (i = 0; i < 4; i++)
		sum += (double)(next(w) >> 11) * 0x1p-53 - 0.5;
	return sum * sqrt(3);
}

static uint16_t to_half(float f)
{
	return npu_half_narrow(f);
}

static void put_floats(struct writer *w, uint32_t type, const float *v, size_t n)
{
	uint32_t u;
	uint16_t h;
	size_t i;

	if (type == FILE_F32)
		add(w, v, n * 4);
	for (i = 0; type != FILE_F32 && i < n; i++) {
		memcpy(&u, &v[i], 4);
		h = type == FILE_F16 ? to_half(v[i]) : (uint16_t)(u >> 16);
		add(w, &h, 2);
	}
}

/*
 * Blocks of 32: a scale in half, then codes of 8 bits, or of 4 with halves of the block together.
 */
static void put_blocks(struct writer *w, uint32_t type, const float *v, size_t n)
{
	int bits = type == FILE_Q8_0 ? 8 : 4, lim = (1 << (bits - 1)) - 1, k, q[32];
	uint16_t h;
	uint8_t c;
	size_t i;

	for (i = 0; i < n; i += 32) {
		float max = 0, scale;

		for (k = 0; k < 32; k++)
			max = fabsf(v[i + k]) > max ? fabsf(v[i + k]) : max;
		h = to_half(max / lim);
		scale = max / lim;
		for (k = 0; k < 32; k++)
			q[k] = scale > 0 ? (int)lrintf(v[i + k] / scale) : 0;
		add(w, &h, 2);
		for (k = 0; k < bits * 4; k++) {
			c = bits == 8 ? (uint8_t)q[k] :
					(uint8_t)((q[k] + 8) | (q[k + 16] + 8) << 4);
			add(w, &c, 1);
		}
	}
}

/*
 * Blocks of random bits, with scales that give them the deviation that is asked for. At @scale the
 * half is that lies there, at @second another one, @factor times it: it centres the codes.
 */
static const struct random_block {
	uint32_t type, elements, bytes, scale, second;	/* of bytes; second 0: none */
	double deviation, factor;		/* of codes times the factors in the block */
} random_blocks[] = {
	{ FILE_Q4_1, 32, 20, 0, 2, 4.6, -7.5 },
	{ FILE_Q5_0, 32, 22, 0, 0, 9.2, 0 },
	{ FILE_Q5_1, 32, 24, 0, 2, 9.2, -15.5 },
	{ FILE_IQ4_NL, 32, 18, 0, 0, 71, 0 },
	{ FILE_Q4_K, 256, 144, 0, 2, 168, 7.5 },
	{ FILE_Q5_K, 256, 176, 0, 2, 336, 15.5 },
	{ FILE_Q6_K, 256, 210, 208, 0, 1366, 0 },
};

static const struct random_block *random_block_of(uint32_t type)
{
	size_t i;

	for (i = 0; i < sizeof(random_blocks) / sizeof(random_blocks[0]); i++)
		if (random_blocks[i].type == type)
			return &random_blocks[i];
	return NULL;
}

/* The twelve bytes of eight factors and eight minimums of 6 bits: each minimum as its factor. */
static void pair_sixes(uint8_t *p)
{
	int i;

	for (i = 0; i < 4; i++) {
		p[4 + i] = p[i];
		p[8 + i] = (uint8_t)((p[8 + i] & 15) * 17);
	}
}

static void put_random(struct writer *w, const struct random_block *b, size_t n, double spread)
{
	uint16_t h = to_half((float)(spread / b->deviation)),
		 m = to_half((float)(b->factor * spread / b->deviation));
	uint8_t *p;
	size_t i;
	uint32_t k;

	for (i = 0; i < n; i += b->elements) {
		p = w->data + w->size;
		for (k = 0; k < b->bytes; k++)
			p[k] = (uint8_t)(next(w) >> 24);
		memcpy(p + b->scale, &h, 2);
		if (b->second)
			memcpy(p + b->second, &m, 2);
		if (b->second && b->elements == 256)
			pair_sixes(p + 4);
		w->size += b->bytes;
	}
}

static void tensor(struct writer *w, const char *name, uint32_t type, uint32_t cols, uint32_t rows,
		   double mean, double spread)
{
	const uint64_t dim[2] = { cols, rows };
	size_t n = (size_t)cols * (rows ? rows : 1), i;
	float *v = malloc(n * sizeof(*v));

	if (!v)
		abort();
	if (w->s->leave_out && !strcmp(w->s->leave_out, name)) {
		free(v);
		return;
	}
	for (i = 0; i < n; i++)
		v[i] = (float)(mean + spread * normal(w));
	w->data = malloc(n * 4);	/* no type takes more */
	w->size = 0;
	if (!w->data)
		abort();
	if (random_block_of(type))
		put_random(w, random_block_of(type), n, spread);
	else if (type == FILE_Q8_0 || type == FILE_Q4_0)
		put_blocks(w, type, v, n);
	else
		put_floats(w, type, v, n);
	gguf_make_tensor(w->file, name, type, rows ? 2 : 1, dim, w->data, w->size);
	free(w->data);
	free(v);
}

static void matrix(struct writer *w, const char *name, uint32_t cols, uint32_t rows)
{
	tensor(w, name, w->s->type, cols, rows, 0, 1 / sqrt(cols));
}

static void layer_matrix(struct writer *w, uint32_t i, const char *name, uint32_t cols,
			 uint32_t rows, bool bias)
{
	char full[64];

	snprintf(full, sizeof(full), "blk.%u.%s.weight", i, name);
	matrix(w, full, cols, rows);
	snprintf(full, sizeof(full), "blk.%u.%s.bias", i, name);
	if (bias)
		tensor(w, full, FILE_F32, rows, 0, 0, 0.2);
}

static void layer_norm(struct writer *w, uint32_t i, const char *name, uint32_t cols)
{
	char full[64];

	snprintf(full, sizeof(full), "blk.%u.%s.weight", i, name);
	tensor(w, full, FILE_F32, cols, 0, 1, 0.2);
}

static void layer(struct writer *w, uint32_t i)
{
	const struct model_spec *s = w->s;
	bool phi = !strcmp(s->arch, "phi3"), gemma = !strncmp(s->arch, "gemma", 5);
	uint32_t q = s->heads * s->head_dim, kv = s->kv_heads * s->head_dim;

	layer_norm(w, i, "attn_norm", s->dim);
	if (phi) {
		layer_matrix(w, i, "attn_qkv", s->dim, q + 2 * kv, s->bias);
	} else {
		layer_matrix(w, i, "attn_q", s->dim, q, s->bias);
		layer_matrix(w, i, "attn_k", s->dim, kv, s->bias);
		layer_matrix(w, i, "attn_v", s->dim, kv, s->bias);
	}
	if (!strcmp(s->arch, "qwen3") || !strcmp(s->arch, "gemma3")) {
		layer_norm(w, i, "attn_q_norm", s->head_dim);
		layer_norm(w, i, "attn_k_norm", s->head_dim);
	}
	layer_matrix(w, i, "attn_output", q, s->dim, false);
	if (gemma)
		layer_norm(w, i, "post_attention_norm", s->dim);
	layer_norm(w, i, "ffn_norm", s->dim);
	if (!phi)
		layer_matrix(w, i, "ffn_gate", s->dim, s->ff, false);
	layer_matrix(w, i, "ffn_up", s->dim, phi ? 2 * s->ff : s->ff, false);
	layer_matrix(w, i, "ffn_down", s->wrong_ff ? s->wrong_ff : s->ff, s->dim, false);
	if (gemma)
		layer_norm(w, i, "post_ffw_norm", s->dim);
}

static void all_tensors(struct writer *w)
{
	const struct model_spec *s = w->s;
	uint32_t i;

	tensor(w, "token_embd.weight", s->type, s->dim, s->vocab, 0, 1);
	tensor(w, "output_norm.weight", FILE_F32, s->dim, 0, 1, 0.2);
	if (s->untied)
		matrix(w, "output.weight", s->dim, s->vocab);
	if (s->rope_freqs)
		tensor(w, "rope_freqs.weight", FILE_F32, (s->rope_dims ? s->rope_dims : s->head_dim) / 2,
		       0, 3, 0.8);
	if (s->scaling && !strcmp(s->scaling, "longrope")) {
		tensor(w, "rope_factors_long.weight", FILE_F32, s->head_dim / 2, 0, 4, 0.8);
		tensor(w, "rope_factors_short.weight", FILE_F32, s->head_dim / 2, 0, 2, 0.2);
	}
	for (i = 0; i < s->layers; i++)
		layer(w, i);
	if (s->extra_tensor)
		tensor(w, s->extra_tensor, FILE_F32, s->dim, 0, 0, 1);
}

/*
 * Three control tokens, letters, space, point and comma, pairs of letters, bytes if there is room,
 * then numbered ones.
 */
static void tokenizer_keys(struct writer *w)
{
	static const char singles[] = "abcdefghijklmnopqrstuvwxyz.,", pairs[] = "etaoinshrldu";
	uint32_t n = w->s->vocab, i, k, num = 0;
	bool with_bytes = n >= 1000;
	const char **text = calloc(n, sizeof(*text));
	char (*own)[12] = calloc(n, sizeof(*own));
	float *score = calloc(n, sizeof(*score));
	int32_t *type = calloc(n, sizeof(*type));

	if (!text || !own || !score || !type)
		abort();
	for (i = 0; i < n; i++) {
		score[i] = i < 3 ? 0 : -(float)i;
		type[i] = i == 0 ? 2 : i < 3 ? 3 : 1;
		text[i] = own[i];
	}
	text[num++] = "<unk>";
	text[num++] = "<s>";
	text[num++] = "</s>";
	text[num++] = "\xe2\x96\x81";
	for (i = 0; singles[i]; i++)
		own[num++][0] = singles[i];
	for (k = 0; num < n && k < 144; k++, num++) {
		own[num][0] = pairs[k / 12];
		own[num][1] = pairs[k % 12];
	}
	for (k = 0; k < 256 && with_bytes; k++, num++) {
		snprintf(own[num], sizeof(own[0]), "<0x%02X>", k);
		type[num] = 6;
	}
	for (; num < n; num++)
		snprintf(own[num], sizeof(own[0]), "z%u", num);
	gguf_make_string(w->file, "tokenizer.ggml.model", "llama");
	gguf_make_strings(w->file, "tokenizer.ggml.tokens", n, text);
	gguf_make_array(w->file, "tokenizer.ggml.scores", NPU_GGUF_F32, n, score);
	gguf_make_array(w->file, "tokenizer.ggml.token_type", NPU_GGUF_I32, n, type);
	gguf_make_u32(w->file, "tokenizer.ggml.bos_token_id", 1);
	gguf_make_u32(w->file, "tokenizer.ggml.eos_token_id", 2);
	gguf_make_u32(w->file, "tokenizer.ggml.unknown_token_id", 0);
	gguf_make_bool(w->file, "tokenizer.ggml.add_bos_token", true);
	free(text);
	free(own);
	free(score);
	free(type);
}

static void all_keys(struct writer *w)
{
	const struct model_spec *s = w->s;

	key_string(w, "general.architecture", s->arch);
	key_string(w, "general.name", "random");
	key_u32(w, "context_length", s->context);
	key_u32(w, "embedding_length", s->dim);
	key_u32(w, "block_count", s->layers);
	key_u32(w, "feed_forward_length", s->ff);
	key_u32(w, "attention.head_count", s->heads);
	key_u32(w, "attention.head_count_kv", s->kv_heads);
	key_u32(w, "attention.key_length", s->head_dim);
	key_u32(w, "attention.value_length", s->head_dim);
	key_f32(w, "attention.layer_norm_rms_epsilon", 1e-5f);
	if (s->rope_dims)
		key_u32(w, "rope.dimension_count", s->rope_dims);
	if (s->window)
		key_u32(w, "attention.sliding_window", s->window);
	if (!strcmp(s->arch, "gemma3"))
		key_f32(w, "rope.freq_base", 1000000);
	if (s->scaling) {
		key_string(w, "rope.scaling.type", s->scaling);
		key_f32(w, "rope.scaling.factor", s->factor);
	}
	if (s->scaling && !strcmp(s->scaling, "longrope"))
		key_f32(w, "rope.scaling.attn_factor", 1.19f);
	if (s->original)
		key_u32(w, "rope.scaling.original_context_length", s->original);
	if (s->tokenizer)
		tokenizer_keys(w);
	if (s->extra_key)
		key_u32(w, s->extra_key, 7);
}

struct model_spec model_spec_of(const char *arch)
{
	struct model_spec s = {
		.arch = arch, .dim = 64, .layers = 3, .heads = 4, .kv_heads = 2, .head_dim = 16,
		.ff = 96, .vocab = 160, .context = 256, .seed = 88172645463325252ull,
	};

	if (!strcmp(arch, "qwen2"))
		s.bias = s.untied = true;
	if (!strcmp(arch, "qwen3"))
		s.head_dim = 32;
	if (!strncmp(arch, "gemma", 5)) {
		s.layers = 7;
		s.window = 12;
		s.head_dim = 32;
	}
	if (!strcmp(arch, "phi3"))
		s.untied = true;
	return s;
}

bool model_write(const struct model_spec *s, const char *path)
{
	struct writer w = { .s = s, .file = gguf_make_new(), .state = s->seed | 1 };
	bool ok;

	all_keys(&w);
	all_tensors(&w);
	ok = gguf_make_save(w.file, path);
	gguf_make_free(w.file);
	return ok;
}
