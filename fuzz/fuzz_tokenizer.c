// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: texts of any bytes through a tokenizer of each kind, and back. The first byte
 * chooses; where the vocabulary has all bytes, the text must come back as it was.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "llm/bpe.h"
#include "llm/pretokenizer.h"
#include "llm/unicode.h"
#include "npu_llm.h"
#include "tests/llm/gguf_make.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char names[512][8];
static const char *tokens[512];
static int32_t types[512];
static float scores[512];

static struct npu_tokenizer *open_made(struct gguf_make *m)
{
	struct npu_tokenizer *t;
	struct npu_error err;
	size_t size;
	void *data = gguf_make_bytes(m, &size);

	if (npu_tokenizer_parse(data, size, "made", &t, &err)) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	free(data);
	gguf_make_free(m);
	return t;
}

/* Tokens, and behind the first 256 some that are longer. */
static unsigned int add_tokens(unsigned int n, const char *const *more)
{
	for (; *more; more++) {
		types[n] = **more == '<' ? 3 : **more == '[' ? 4 : 1;
		scores[n] = -(float)n;
		tokens[n++] = *more;
	}
	return n;
}

static struct npu_tokenizer *make_spm(void)
{
	static const char *const more[] = { "<unk>", "<s>", "</s>", "\xe2\x96\x81", "a", "b", "ab", "aa",
					    "\342\226\201ab", "aab", "[user]", "[us", NULL };
	struct gguf_make *m = gguf_make_new();
	unsigned int i, n;

	for (i = 0; i < 256; i++) {
		snprintf(names[i], sizeof(names[i]), "<0x%02X>", i);
		tokens[i] = names[i];
		types[i] = 6;
	}
	n = add_tokens(256, more);
	gguf_make_string(m, "tokenizer.ggml.model", "llama");
	gguf_make_strings(m, "tokenizer.ggml.tokens", n, tokens);
	gguf_make_array(m, "tokenizer.ggml.scores", NPU_GGUF_F32, n, scores);
	gguf_make_array(m, "tokenizer.ggml.token_type", NPU_GGUF_I32, n, types);
	gguf_make_u32(m, "tokenizer.ggml.bos_token_id", 257);
	gguf_make_u32(m, "tokenizer.ggml.eos_token_id", 258);
	gguf_make_u32(m, "tokenizer.ggml.unknown_token_id", 256);
	return open_made(m);
}

static struct npu_tokenizer *make_bpe(const char *pre)
{
	static const char *const more[] = { "ab", "aa", "aab", "\304\240ab", "<s>", "[user]", NULL };
	static const char *const merges[] = { "a b", "a a", "aa b", "\xc4\xa0 ab", "b a", "ba b" };
	struct gguf_make *m = gguf_make_new();
	unsigned int i, n;

	for (i = 0; i < 256; i++) {
		names[i][unicode_encode(bpe_char(i), names[i])] = 0;
		tokens[i] = names[i];
		types[i] = 1;
	}
	n = add_tokens(256, more);
	gguf_make_string(m, "tokenizer.ggml.model", "gpt2");
	gguf_make_string(m, "tokenizer.ggml.pre", pre);
	gguf_make_strings(m, "tokenizer.ggml.tokens", n, tokens);
	gguf_make_strings(m, "tokenizer.ggml.merges", 6, merges);
	gguf_make_array(m, "tokenizer.ggml.token_type", NPU_GGUF_I32, n, types);
	gguf_make_bool(m, "tokenizer.ggml.add_bos_token", false);
	return open_made(m);
}

static struct npu_tokenizer *make_wpm(void)
{
	static const char *const more[] = { "[UNK]", "\342\226\201a", "a", "\342\226\201ab", "b",
					    "\xe2\x96\x81", "\xe1\x84\x80", "\xe1\x85\xa1", NULL };
	struct gguf_make *m = gguf_make_new();
	unsigned int n = add_tokens(0, more);

	gguf_make_string(m, "tokenizer.ggml.model", "bert");
	gguf_make_strings(m, "tokenizer.ggml.tokens", n, tokens);
	gguf_make_u32(m, "tokenizer.ggml.unknown_token_id", 0);
	gguf_make_bool(m, "tokenizer.ggml.add_bos_token", false);
	gguf_make_bool(m, "tokenizer.ggml.add_sep_token", false);
	return open_made(m);
}

/* Made once; the fuzzer is one process with one thread. */
static const struct npu_tokenizer *choose(uint8_t kind)
{
	static struct npu_tokenizer *made[256];
	unsigned int num = 0;

	while (pretokenizer_at(num))
		num++;
	kind %= num + 2;
	if (!made[kind])
		made[kind] = kind == 0 ? make_spm() :
			     kind == 1 ? make_wpm() : make_bpe(pretokenizer_at(kind - 2)->name);
	return made[kind];
}

static void must(int ok)
{
	if (!ok)
		abort();
}

/*
 * U+2581 in a text comes back as the space that it stands for, and in SPM a space is added behind a
 * special token ("[us", "[user]").
 */
static int comes_back(const char *model, const char *text, size_t size)
{
	return !strcmp(model, "gpt2") || (!strcmp(model, "llama") && !memmem(text, size, "[us", 3) &&
					  !memmem(text, size, "\xe2\x96\x81", 3));
}

static void stream(const struct npu_tokenizer *t, const int32_t *ids, size_t num, unsigned int flags)
{
	struct npu_token_stream s = { 0 };
	struct npu_error err;
	char text[256];
	size_t size, i;

	for (i = 0; i < num; i++)
		must(!npu_token_stream_put(t, &s, ids[i], flags, text, sizeof(text), &size, &err) &&
		     size <= sizeof(text) && s.num_held <= sizeof(s.held));
	npu_token_stream_end(&s, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 2;
	const struct npu_tokenizer *t;
	struct npu_tokenizer_info info = NPU_INIT(info);
	unsigned int flags;
	struct npu_error err;
	size_t num, back_size;
	int32_t *ids;
	char *back;

	if (size < 2)
		return 0;
	t = choose(data[0]);
	flags = data[1] % 4;
	size -= 2;
	npu_tokenizer_info(t, &info);
	must(npu_tokenizer_encode(t, text, size, flags, NULL, 0, &num, &err) == (num ? -ENOSPC : 0));
	ids = malloc(num * sizeof(*ids) + 1);
	back = malloc(6 * num + 6 * size + 1);
	must(ids && back);
	must(!npu_tokenizer_encode(t, text, size, flags, ids, num, &num, &err));
	must(!npu_tokenizer_decode(t, ids, num, NPU_DETOKENIZE_SPECIAL, back, 6 * num + 6 * size,
				   &back_size, &err));
	stream(t, ids, num, flags & 1 ? NPU_DETOKENIZE_SPECIAL : 0);
	if (!flags && comes_back(info.model, text, size))
		must(back_size == size && !memcmp(back, text, size));
	free(ids);
	free(back);
	return 0;
}
