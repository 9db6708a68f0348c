// SPDX-License-Identifier: MIT
#include <stdio.h>
#include "llm/bpe.h"
#include "llm/pretokenizer.h"
#include "llm/unicode.h"
#include "made_vocab.h"
#include "tests/llm/gguf_make.h"

static char names[512][8];
static const char *tokens[512];
static int32_t types[512];
static float scores[512];

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

static struct gguf_make *make_spm(void)
{
	static const char *const more[] = { "<unk>", "<s>", "</s>", "\xe2\x96\x81", "a", "b",
					    "ab", "aa", "\342\226\201ab", "aab", "[user]",
					    "[us", NULL };
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
	return m;
}

static struct gguf_make *make_bpe(const char *pre)
{
	static const char *const more[] = {
		"ab", "aa", "aab", "\304\240ab", "<s>", "[user]", NULL
	};
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
	return m;
}

static struct gguf_make *make_wpm(void)
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
	return m;
}

unsigned int made_vocab_kinds(void)
{
	unsigned int num = 0;

	while (pretokenizer_at(num))
		num++;
	return num + 2;
}

void *made_vocab(unsigned int kind, size_t *size)
{
	struct gguf_make *m = kind == 0 ? make_spm() :
			      kind == 1 ? make_wpm() : make_bpe(pretokenizer_at(kind - 2)->name);
	static const uint64_t dim[] = { 4, 2 };
	void *data;

	gguf_make_tensor(m, "rows", 0, 2, dim, scores, 4 * 2 * sizeof(*scores));
	data = gguf_make_bytes(m, size);
	gguf_make_free(m);
	return data;
}
