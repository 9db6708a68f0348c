// SPDX-License-Identifier: MIT
/*
 * A vocabulary out of a GGUF file. What the file does not say is as llama.cpp takes it, whose files
 * these are: which tokens end a generation, for example, is known by their texts alone.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"
#include "llm/bpe.h"
#include "llm/pretokenizer.h"
#include "llm/vocab.h"

#define TOKENS_KEY	"tokenizer.ggml.tokens"
#define TYPES_KEY	"tokenizer.ggml.token_type"
#define SCORES_KEY	"tokenizer.ggml.scores"

/* "end of sentence" with full-width bars around and lower blocks for spaces */
#define DEEPSEEK_END	"<\357\275\234end\342\226\201of\342\226\201sentence\357\275\234>"

/* ---- tokens, scores, attributes ---- */

static int refuse(const struct npu_gguf *g, const char *key, struct npu_error *err)
{
	return npu_error_prefix(err, -EINVAL, "%s: key '%s'", npu_gguf_path(g), key);
}

static int add_token(struct npu_tokenizer *t, uint32_t id, const char *text, uint64_t size,
		     struct npu_error *err)
{
	uint32_t other;

	if (size > VOCAB_MAX_TOKEN)
		return npu_error_set(err, -EINVAL, "token %u has %llu bytes, want at most %u", id,
				     (unsigned long long)size, VOCAB_MAX_TOKEN);
	if (!size)
		return npu_error_set(err, -EINVAL, "token %u is empty", id);
	other = vocab_add(&t->map, text, size);
	if (other == VOCAB_NONE)
		return npu_error_set(err, -ENOMEM, "no memory for the vocabulary");
	if (other != id)
		return npu_error_set(err, -EINVAL, "tokens %u and %u are the same: '%.*s'", other,
				     id, (int)size, text);
	if (size > t->max_size)
		t->max_size = size;
	return 0;
}

static int read_tokens(struct npu_tokenizer *t, const struct npu_gguf *g, struct npu_error *err)
{
	struct npu_gguf_array a;
	struct npu_gguf_string s;
	uint64_t at = 0;
	int ret = npu_gguf_get_array(g, TOKENS_KEY, NPU_GGUF_STRING, &a, err);
	uint32_t i;

	if (ret)
		return ret;
	if (!a.count || a.count > VOCAB_MAX_TOKENS) {
		npu_error_set(err, -EINVAL, "%llu tokens, want 1 .. %u",
			      (unsigned long long)a.count, VOCAB_MAX_TOKENS);
		return refuse(g, TOKENS_KEY, err);
	}
	t->texts = malloc(a.size);
	if (!t->texts)
		return npu_error_set(err, -ENOMEM, "no memory for the vocabulary");
	memcpy(t->texts, a.data, a.size);
	for (i = 0; i < a.count && !ret; i++) {
		s = npu_gguf_array_next(&a, &at);
		ret = add_token(t, i, t->texts + (s.data - (const char *)a.data), s.size, err);
	}
	t->num_tokens = a.count;
	return ret ? npu_error_prefix(err, ret, "%s: key '%s'", npu_gguf_path(g), TOKENS_KEY) : 0;
}

static int check_count(const struct npu_tokenizer *t, const struct npu_gguf *g, const char *key,
		       uint64_t count, struct npu_error *err)
{
	if (count == t->num_tokens)
		return 0;
	npu_error_set(err, -EINVAL, "%llu elements for %u tokens", (unsigned long long)count,
		      t->num_tokens);
	return refuse(g, key, err);
}

static int read_scores(struct npu_tokenizer *t, const struct npu_gguf *g, struct npu_error *err)
{
	struct npu_gguf_array a;
	int ret = npu_gguf_get_array(g, SCORES_KEY, NPU_GGUF_F32, &a, err);
	uint32_t i;

	if (!ret)
		ret = check_count(t, g, SCORES_KEY, a.count, err);
	if (ret)
		return ret;
	t->scores = malloc(t->num_tokens * sizeof(*t->scores));
	if (!t->scores)
		return npu_error_set(err, -ENOMEM, "no memory for the vocabulary");
	for (i = 0; i < t->num_tokens; i++) {
		t->scores[i] = npu_gguf_array_f32(&a, i);
		if (!isnan(t->scores[i]))
			continue;
		npu_error_set(err, -EINVAL, "the score of token %u is not a number", i);
		return refuse(g, SCORES_KEY, err);
	}
	return 0;
}

static int read_attrs(struct npu_tokenizer *t, const struct npu_gguf *g, struct npu_error *err)
{
	static const uint8_t attrs[] = {
		NPU_TOKEN_UNUSED, NPU_TOKEN_NORMAL, NPU_TOKEN_UNKNOWN, NPU_TOKEN_CONTROL,
		NPU_TOKEN_USER,	  NPU_TOKEN_UNUSED, NPU_TOKEN_BYTE,
	};
	struct npu_gguf_array a;
	int64_t type;
	uint32_t i;
	int ret;

	t->attrs = malloc(t->num_tokens);
	if (!t->attrs)
		return npu_error_set(err, -ENOMEM, "no memory for the vocabulary");
	memset(t->attrs, NPU_TOKEN_NORMAL, t->num_tokens);
	if (npu_gguf_kind(g, TYPES_KEY) == -ENOENT)
		return 0;
	ret = npu_gguf_get_array(g, TYPES_KEY, NPU_GGUF_I64, &a, err);
	if (!ret)
		ret = check_count(t, g, TYPES_KEY, a.count, err);
	for (i = 0; i < t->num_tokens && !ret; i++) {
		type = npu_gguf_array_i64(&a, i);
		if (type < 0 || type >= (int64_t)sizeof(attrs)) {
			npu_error_set(err, -EINVAL, "token %u is of type %lld, want 0 .. %zu", i,
				      (long long)type, sizeof(attrs) - 1);
			ret = refuse(g, TYPES_KEY, err);
		} else {
			t->attrs[i] = attrs[type];
		}
	}
	return ret;
}

/* ---- special tokens ---- */

/* The id that @key gives; the default when it is missing, none where that is no token. */
static int read_id(const struct npu_tokenizer *t, const struct npu_gguf *g, const char *key,
		   int32_t *id, struct npu_error *err)
{
	uint32_t value = *id;
	int ret = npu_gguf_opt_u32(g, key, &value, err);

	if (ret)
		return ret;
	if (value < t->num_tokens || npu_gguf_kind(g, key) == -ENOENT) {
		*id = value < t->num_tokens ? (int32_t)value : -1;
		return 0;
	}
	/* Converters write 2^32 - 1 for none. */
	if (value != UINT32_MAX)
		return npu_error_set(err, -EINVAL, "%s: key '%s' is %u, there are %u tokens",
				     npu_gguf_path(g), key, value, t->num_tokens);
	*id = -1;
	return 0;
}

static int read_ids(struct npu_tokenizer *t, const struct npu_gguf *g, struct npu_error *err)
{
	const struct {
		const char *key;
		int32_t *id;
	} ids[] = {
		{ "tokenizer.ggml.bos_token_id", &t->bos },
		{ "tokenizer.ggml.eos_token_id", &t->eos },
		{ "tokenizer.ggml.eot_token_id", &t->eot },
		{ "tokenizer.ggml.unknown_token_id", &t->unk },
		{ "tokenizer.ggml.seperator_token_id", &t->sep },	/* so spelt */
		{ "tokenizer.ggml.padding_token_id", &t->pad },
		{ "tokenizer.ggml.mask_token_id", &t->mask },
	};
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(ids) / sizeof(*ids) && !ret; i++)
		ret = read_id(t, g, ids[i].key, ids[i].id, err);
	return ret;
}

static void mark_end(struct npu_tokenizer *t, uint32_t id)
{
	if (id != VOCAB_NONE && id < t->num_tokens)
		t->attrs[id] |= NPU_TOKEN_END;
}

/* The end of a turn has no key in most files. */
static void find_ends(struct npu_tokenizer *t)
{
	static const char *const turns[] = {
		"<|eot_id|>",	   "<|im_end|>",      "<|end|>", "<end_of_turn>",
		"<|endoftext|>",   "<|end_of_text|>", "<EOT>",	 "_<EOT>",
		"<end_of_utterance>",
		DEEPSEEK_END,
	};
	static const char *const others[] = { "<|eom_id|>", "<|return|>", "<|call|>", "</s>" };
	uint32_t id;
	size_t i;

	for (i = 0; i < sizeof(turns) / sizeof(*turns); i++) {
		id = vocab_find(&t->map, turns[i], strlen(turns[i]));
		if (id == VOCAB_NONE)
			continue;
		if (t->eot < 0)
			t->eot = id;
		t->attrs[id] |= NPU_TOKEN_END | NPU_TOKEN_CONTROL;
	}
	for (i = 0; i < sizeof(others) / sizeof(*others); i++) {
		id = vocab_find(&t->map, others[i], strlen(others[i]));
		if (id != VOCAB_NONE)
			t->attrs[id] |= NPU_TOKEN_END | NPU_TOKEN_CONTROL;
	}
	mark_end(t, t->eos);
	mark_end(t, t->eot);
	/* Harmony's answers have parts that end so; the last one ends with <|return|>. */
	id = vocab_find(&t->map, "<|end|>", 7);
	if (id != VOCAB_NONE && vocab_find(&t->map, "<|return|>", 10) != VOCAB_NONE &&
	    vocab_find(&t->map, "<|call|>", 8) != VOCAB_NONE)
		t->attrs[id] = NPU_TOKEN_USER;
}

static int compare_specials(const void *a, const void *b, void *ctx)
{
	const struct npu_tokenizer *t = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint32_t m = vocab_token(t, x)->size, n = vocab_token(t, y)->size;

	return m != n ? (m < n ? 1 : -1) : (x > y) - (x < y);
}

static int list_specials(struct npu_tokenizer *t, struct npu_error *err)
{
	uint32_t i, n = 0, size;

	for (i = 0; i < t->num_tokens; i++)
		n += !!(t->attrs[i] & (NPU_TOKEN_CONTROL | NPU_TOKEN_USER | NPU_TOKEN_UNKNOWN));
	t->specials = malloc((n + 1) * sizeof(*t->specials));
	t->special_sizes = malloc((n + 1) * sizeof(*t->special_sizes));
	if (!t->specials || !t->special_sizes)
		return npu_error_set(err, -ENOMEM, "no memory for the vocabulary");
	for (i = 0; i < t->num_tokens; i++) {
		if (!(t->attrs[i] & (NPU_TOKEN_CONTROL | NPU_TOKEN_USER | NPU_TOKEN_UNKNOWN)))
			continue;
		t->specials[t->num_specials++] = i;
		t->special_first[(uint8_t)vocab_token(t, i)->text[0]] = true;
	}
	qsort_r(t->specials, n, sizeof(*t->specials), compare_specials, t);
	for (i = 0; i < n; i++) {
		size = vocab_token(t, t->specials[i])->size;
		if (!t->num_special_sizes || t->special_sizes[t->num_special_sizes - 1] != size)
			t->special_sizes[t->num_special_sizes++] = size;
	}
	return 0;
}

/* Whether spaces beside a special token are part of it is not in the file; Phi-3's are known. */
static int find_strips(struct npu_tokenizer *t, const struct npu_gguf *g, struct npu_error *err)
{
	static const char *const keep[] = { "<unk>", "<s>", "<|endoftext|>" };
	const char *name = "";
	uint32_t i, id;
	int ret = npu_gguf_opt_string(g, "general.name", &name, err);

	if (ret)
		return ret;
	if (!strcasestr(name, "phi-3") && !strcasestr(name, "phi3"))
		return 0;
	t->strip = calloc(t->num_tokens, sizeof(*t->strip));
	if (!t->strip)
		return npu_error_set(err, -ENOMEM, "no memory for the vocabulary");
	for (i = 0; i < t->num_specials; i++)
		t->strip[t->specials[i]] = true;
	for (i = 0; i < sizeof(keep) / sizeof(*keep); i++) {
		id = vocab_find(&t->map, keep[i], strlen(keep[i]));
		if (id != VOCAB_NONE)
			t->strip[id] = false;
	}
	return 0;
}

/* ---- bytes and spaces ---- */

static int digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int vocab_byte(const struct vocab_string *s)
{
	int hi, lo;

	if (s->size != 6 || memcmp(s->text, "<0x", 3) || s->text[5] != '>')
		return -1;
	hi = digit((uint8_t)s->text[3]);
	lo = digit((uint8_t)s->text[4]);
	return hi < 0 || lo < 0 ? -1 : 16 * hi + lo;
}

static int find_bytes(struct npu_tokenizer *t, const struct npu_gguf *g, struct npu_error *err)
{
	char one;
	uint32_t i;
	int byte;

	memset(t->bytes, 0xff, sizeof(t->bytes));
	for (i = 0; i < t->num_tokens; i++) {
		byte = vocab_byte(vocab_token(t, i));
		if (byte >= 0)
			t->bytes[byte] = i;
		else if (t->attrs[i] & NPU_TOKEN_BYTE)
			return npu_error_set(err, -EINVAL,
					     "%s: key '%s': token %u is of type byte, but its text is none: '%.*s'",
					     npu_gguf_path(g), TYPES_KEY, i,
					     (int)vocab_token(t, i)->size, vocab_token(t, i)->text);
	}
	for (i = 0; i < 256; i++) {
		one = (char)i;
		if (t->bytes[i] == VOCAB_NONE)
			t->bytes[i] = vocab_find(&t->map, &one, 1);
	}
	return 0;
}

/*
 * No token has a space behind something else: then no merge goes over the beginning of a word, and
 * each word can be looked at by itself.
 */
static bool cuts_words(const struct npu_tokenizer *t)
{
	const struct vocab_string *s;
	const char *p;
	uint32_t i;

	for (i = 0; i < t->num_tokens; i++) {
		s = vocab_token(t, i);
		if (t->attrs[i] & (NPU_TOKEN_CONTROL | NPU_TOKEN_UNKNOWN))
			continue;
		for (p = s->text; s->text + s->size - p >= VOCAB_SPACE_SIZE; p++)
			if (!memcmp(p, VOCAB_SPACE, VOCAB_SPACE_SIZE) && p > s->text &&
			    (p - s->text < VOCAB_SPACE_SIZE ||
			     memcmp(p - VOCAB_SPACE_SIZE, VOCAB_SPACE, VOCAB_SPACE_SIZE)))
				return false;
	}
	return true;
}

/* ---- the whole ---- */

static int read_model(struct npu_tokenizer *t, const struct npu_gguf *g, struct npu_error *err)
{
	static const struct {
		const char *name;
		enum vocab_model model;
		int32_t bos, eos, unk, sep, pad, mask;
		bool add_bos, add_sep, add_space;
	} models[] = {
		{ "llama", VOCAB_SPM, 1, 2, 0, -1, -1, -1, true, false, true },
		{ "gpt2", VOCAB_BPE, -1, -1, -1, -1, -1, -1, false, false, false },
		{ "bert", VOCAB_WPM, 101, -1, 100, 102, 0, 103, true, true, false },
	};
	const char *name = NULL;
	size_t i;
	int ret = npu_gguf_get_string(g, "tokenizer.ggml.model", &name, err);

	if (ret)
		return ret;
	for (i = 0; i < sizeof(models) / sizeof(*models); i++) {
		if (strcmp(name, models[i].name))
			continue;
		t->model = models[i].model;
		t->bos = models[i].bos;
		t->eos = models[i].eos;
		t->unk = models[i].unk;
		t->sep = models[i].sep;
		t->pad = models[i].pad;
		t->mask = models[i].mask;
		t->eot = -1;
		t->add_bos = models[i].add_bos;
		t->add_sep = models[i].add_sep;
		t->add_space = models[i].add_space;
		return 0;
	}
	return npu_error_set(err, -ENOTSUP,
			     "%s: key 'tokenizer.ggml.model' is '%s', known are llama, gpt2 and bert",
			     npu_gguf_path(g), name);
}

static int read_names(struct npu_tokenizer *t, const struct npu_gguf *g, struct npu_error *err)
{
	const char *model = "", *pre = "", *chat = "";
	int ret = npu_gguf_get_string(g, "tokenizer.ggml.model", &model, err);

	if (!ret)
		ret = npu_gguf_opt_string(g, "tokenizer.ggml.pre", &pre, err);
	if (!ret)
		ret = npu_gguf_opt_string(g, "tokenizer.chat_template", &chat, err);
	if (ret)
		return ret;
	t->model_name = strdup(model);
	t->pre_name = strdup(pre);
	t->chat_template = strdup(chat);
	if (!t->model_name || !t->pre_name || !t->chat_template)
		return npu_error_set(err, -ENOMEM, "no memory for the tokenizer");
	return 0;
}

static int read_pre(struct npu_tokenizer *t, const struct npu_gguf *g, struct npu_error *err)
{
	if (t->model != VOCAB_BPE)
		return 0;
	t->pre = pretokenizer_find(t->pre_name);
	if (!t->pre)
		return npu_error_set(err, -ENOTSUP,
				     "%s: key 'tokenizer.ggml.pre': pre-tokenizer '%s' is not known",
				     npu_gguf_path(g), t->pre_name);
	t->add_bos = t->pre->add_bos;
	return 0;
}

static int read_flags(struct npu_tokenizer *t, const struct npu_gguf *g, struct npu_error *err)
{
	int ret = npu_gguf_opt_bool(g, "tokenizer.ggml.add_bos_token", &t->add_bos, err);

	t->lowercase = true;
	if (!ret)
		ret = npu_gguf_opt_bool(g, "tokenizer.ggml.add_eos_token", &t->add_eos, err);
	if (!ret)
		ret = npu_gguf_opt_bool(g, "tokenizer.ggml.add_sep_token", &t->add_sep, err);
	if (!ret)
		ret = npu_gguf_opt_bool(g, "tokenizer.ggml.add_space_prefix", &t->add_space, err);
	if (!ret)
		ret = npu_gguf_opt_bool(g, "tokenizer.ggml.normalizer.lowercase", &t->lowercase,
					err);
	t->strip_accents = t->lowercase;
	if (!ret)
		ret = npu_gguf_opt_bool(g, "tokenizer.ggml.normalizer.strip_accents",
					&t->strip_accents, err);
	return ret;
}

/* A token that is to be added must be there. */
static int check_added(struct npu_tokenizer *t, const struct npu_gguf *g, struct npu_error *err)
{
	static const char text[] = "%s: %s is to be added to every text, and there is none";

	if (t->add_bos && t->bos < 0)
		return npu_error_set(err, -EINVAL, text, npu_gguf_path(g), "BOS");
	if (t->add_eos && t->eos < 0)
		return npu_error_set(err, -EINVAL, text, npu_gguf_path(g), "EOS");
	if (t->add_sep && t->sep < 0)
		return npu_error_set(err, -EINVAL, text, npu_gguf_path(g), "SEP");
	if (t->model == VOCAB_WPM && t->unk < 0)
		return npu_error_set(err, -EINVAL, "%s: a vocabulary of words without [UNK]",
				     npu_gguf_path(g));
	return 0;
}

typedef int (*read_fn)(struct npu_tokenizer *t, const struct npu_gguf *g, struct npu_error *err);

int vocab_read(struct npu_tokenizer *t, const struct npu_gguf *g, struct npu_error *err)
{
	static const read_fn steps[] = { read_model, read_names, read_pre, read_tokens, read_attrs,
					 read_ids, read_flags, check_added };
	size_t i;
	int ret = 0;

	for (i = 0; i < sizeof(steps) / sizeof(*steps) && !ret; i++)
		ret = steps[i](t, g, err);
	if (!ret && t->model == VOCAB_SPM)
		ret = read_scores(t, g, err);
	if (!ret && t->model == VOCAB_BPE)
		ret = bpe_read(t, g, err);
	if (!ret && t->model == VOCAB_SPM)
		ret = find_bytes(t, g, err);
	if (ret)
		return ret;
	t->cuts_words = cuts_words(t);
	find_ends(t);
	ret = list_specials(t, err);
	return ret ? ret : find_strips(t, g, err);
}
