// SPDX-License-Identifier: MIT
/*
 * Vocabularies that contradict themselves, and what is said of them; and 10,000 damaged files of
 * each kind of tokenizer: a clean error, or a tokenizer that works. Meant for the AddressSanitizer
 * build.
 */
#include <errno.h>
#include <math.h>
#include "../tap.h"
#include "gguf_make.h"
#include "llm/unicode.h"
#include "npu_llm.h"

static struct npu_error err;

#define ARRAY(...)	(sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)), \
			(const char *const[]){ __VA_ARGS__ }

static struct gguf_make *model(const char *name, size_t num, const char *const *tokens)
{
	struct gguf_make *m = gguf_make_new();

	gguf_make_string(m, "tokenizer.ggml.model", name);
	gguf_make_strings(m, "tokenizer.ggml.tokens", num, tokens);
	return m;
}

static struct gguf_make *spm(size_t num, const char *const *tokens)
{
	struct gguf_make *m = model("llama", num, tokens);
	float *scores = calloc(num, sizeof(*scores));

	gguf_make_array(m, "tokenizer.ggml.scores", NPU_GGUF_F32, num, scores);
	free(scores);
	return m;
}

static struct gguf_make *bpe(size_t num, const char *const *tokens, size_t num_merges,
			     const char *const *merges)
{
	struct gguf_make *m = model("gpt2", num, tokens);

	gguf_make_strings(m, "tokenizer.ggml.merges", num_merges, merges);
	return m;
}

static void types(struct gguf_make *m, size_t num, const int32_t *list)
{
	gguf_make_array(m, "tokenizer.ggml.token_type", NPU_GGUF_I32, num, list);
}

static void refused(struct gguf_make *m, int status, const char *want)
{
	struct npu_tokenizer *t = NULL;
	size_t size;
	void *data = gguf_make_bytes(m, &size);
	int ret = npu_tokenizer_parse(data, size, "bad.gguf", &t, &err);

	tap_ok(ret == status && err.code == ret && strstr(err.text, want) &&
	       !strncmp(err.text, "bad.gguf: ", 10), "%s", ret ? err.text : "taken");
	npu_tokenizer_close(t);
	free(data);
	gguf_make_free(m);
}

static void test_bad_tokens(void)
{
	struct gguf_make *m = gguf_make_new();
	char *long_token = malloc(5000);

	refused(m, -ENOENT, "there is no key 'tokenizer.ggml.model'");
	m = gguf_make_new();
	gguf_make_string(m, "tokenizer.ggml.model", "llama");
	refused(m, -ENOENT, "there is no key 'tokenizer.ggml.tokens'");
	refused(model("t5", ARRAY("a")), -ENOTSUP, "is 't5', known are llama, gpt2 and bert");
	refused(model("llama", ARRAY("a", "b")), -ENOENT,
		"there is no key 'tokenizer.ggml.scores'");
	refused(spm(0, NULL), -EINVAL, "'tokenizer.ggml.tokens': 0 tokens");
	refused(spm(ARRAY("a", "", "b")), -EINVAL, "'tokenizer.ggml.tokens': token 1 is empty");
	refused(spm(ARRAY("a", "b", "a")), -EINVAL, "tokens 0 and 2 are the same: 'a'");
	memset(long_token, 'x', 5000);
	long_token[4999] = 0;
	refused(spm(ARRAY("a", long_token)), -EINVAL, "token 1 has 4999 bytes, want at most 4096");
	free(long_token);
	m = gguf_make_new();
	gguf_make_string(m, "tokenizer.ggml.model", "llama");
	gguf_make_u32(m, "tokenizer.ggml.tokens", 3);
	refused(m, -EINVAL, "'tokenizer.ggml.tokens' is of kind u32, want array of string");
}

static void test_bad_keys(void)
{
	static const float nan_score[2] = { 0, NAN };
	struct gguf_make *m = model("llama", ARRAY("a", "b"));

	gguf_make_array(m, "tokenizer.ggml.scores", NPU_GGUF_F32, 2, nan_score);
	refused(m, -EINVAL, "'tokenizer.ggml.scores': the score of token 1 is not a number");
	m = model("llama", ARRAY("a", "b"));
	gguf_make_array(m, "tokenizer.ggml.scores", NPU_GGUF_F32, 1, nan_score);
	refused(m, -EINVAL, "'tokenizer.ggml.scores': 1 elements for 2 tokens");
	m = spm(ARRAY("a", "b"));
	types(m, 3, (const int32_t[]){ 1, 1, 1 });
	refused(m, -EINVAL, "'tokenizer.ggml.token_type': 3 elements for 2 tokens");
	m = spm(ARRAY("a", "b"));
	types(m, 2, (const int32_t[]){ 1, 7 });
	refused(m, -EINVAL, "token 1 is of type 7, want 0 .. 6");
	m = spm(ARRAY("a", "b"));
	types(m, 2, (const int32_t[]){ 1, 6 });
	refused(m, -EINVAL, "token 1 is of type byte, but its text is none: 'b'");
	m = spm(ARRAY("a", "b"));
	gguf_make_u32(m, "tokenizer.ggml.bos_token_id", 2);
	refused(m, -EINVAL, "'tokenizer.ggml.bos_token_id' is 2, there are 2 tokens");
	m = spm(ARRAY("a"));
	refused(m, -EINVAL, "BOS is to be added");
	m = spm(ARRAY("a", "b"));
	gguf_make_bool(m, "tokenizer.ggml.add_eos_token", true);
	refused(m, -EINVAL, "EOS is to be added");
	m = spm(ARRAY("a", "b"));
	gguf_make_string(m, "tokenizer.ggml.add_bos_token", "yes");
	refused(m, -EINVAL, "'tokenizer.ggml.add_bos_token' is of kind string, want bool");
	m = model("bert", ARRAY("a", "b"));
	refused(m, -EINVAL, "BOS is to be added");
}

static void test_bad_bpe(void)
{
	struct gguf_make *m = model("gpt2", ARRAY("a", "b"));

	refused(m, -ENOENT, "there is no key 'tokenizer.ggml.merges'");
	refused(bpe(ARRAY("a", "b"), ARRAY("ab")), -EINVAL,
		"'tokenizer.ggml.merges': merge 0 is not two texts with a space between: 'ab'");
	refused(bpe(ARRAY("a", "b"), ARRAY("a b", "ab ")), -EINVAL, "merge 1 is not two texts");
	refused(bpe(ARRAY("a", "b"), ARRAY(" b")), -EINVAL, "merge 0 is not two texts");
	refused(bpe(ARRAY("a", "b"), ARRAY("")), -EINVAL, "merge 0 is not two texts");
	m = bpe(ARRAY("a", "b"), ARRAY("a b"));
	gguf_make_string(m, "tokenizer.ggml.pre", "no-such-pre");
	refused(m, -ENOTSUP, "pre-tokenizer 'no-such-pre' is not known");
}

/* ---- what is odd but in order ---- */

static struct npu_tokenizer *open_made(struct gguf_make *m)
{
	struct npu_tokenizer *t = NULL;
	size_t size;
	void *data = gguf_make_bytes(m, &size);

	if (npu_tokenizer_parse(data, size, "made", &t, &err))
		tap_diag("%s", err.text);
	free(data);
	gguf_make_free(m);
	return t;
}

static void check(struct gguf_make *m, const char *text, size_t num, const int32_t *want)
{
	struct npu_tokenizer *t = open_made(m);
	int32_t ids[16];
	size_t got = 0;

	tap_ok(t && !npu_tokenizer_encode(t, text, strlen(text), 0, ids, 16, &got, &err) &&
	       got == num && !memcmp(ids, want, num * sizeof(*ids)), "'%s'", text);
	npu_tokenizer_close(t);
}

static struct gguf_make *make_wpm(void)
{
	struct gguf_make *m = model("bert", ARRAY("[UNK]", "[CLS]", "[SEP]", "\xe2\x96\x81the", "th",
						  "e", "\xe2\x96\x81", "\xe2\x96\x81."));

	gguf_make_u32(m, "tokenizer.ggml.unknown_token_id", 0);
	gguf_make_u32(m, "tokenizer.ggml.bos_token_id", 1);
	gguf_make_u32(m, "tokenizer.ggml.seperator_token_id", 2);
	return m;
}

/* The number of tokens, and the last of them. */
static void check_last(struct gguf_make *m, const char *text, size_t num, int32_t last)
{
	struct npu_tokenizer *t = open_made(m);
	int32_t ids[256];
	size_t got = 0;

	tap_ok(t && !npu_tokenizer_encode(t, text, strlen(text), 0, ids, 256, &got, &err) &&
	       got == num && ids[num - 1] == last, "%zu tokens, the last is %d", num, last);
	npu_tokenizer_close(t);
}

/* WordPiece: what is normalized, what is a word, what is unknown as a whole. */
static void test_words(void)
{
	struct gguf_make *m = make_wpm();
	char words[300];

	check(m, "The  th\xc3\xa9.", 3, (const int32_t[]){ 3, 3, 7 });
	/* Accents of their own, characters to be left out. */
	check(make_wpm(), "the\xcc\x81 t\x01he", 2, (const int32_t[]){ 3, 3 });
	check(make_wpm(), "thee thex", 3, (const int32_t[]){ 3, 5, 0 });
	memset(words, 'e', sizeof(words));
	words[100] = ' ';
	words[202] = 0;		/* behind it a word of 101 */
	m = make_wpm();
	check_last(m, words, 102, 0);
	m = make_wpm();
	gguf_make_bool(m, "tokenizer.ggml.normalizer.lowercase", false);
	check(m, "The the th\xc3\xa9", 3, (const int32_t[]){ 0, 3, 0 });
}

static void test_odd(void)
{
	struct npu_tokenizer *t;
	int32_t ids[4];
	size_t num;

	/* Merges by way of texts that are no tokens, and a rank that is there twice. */
	check(bpe(ARRAY("a", "b", "c", "abc"), ARRAY("a b", "ab c", "a b")), "abc", 1,
	      (const int32_t[]){ 3 });
	check(bpe(ARRAY("a", "b", "c", "abc"), ARRAY("a b", "ab c")), "ab", 2,
	      (const int32_t[]){ 0, 1 });
	/* The first merge goes first, wherever it is; of equals the leftmost. */
	check(bpe(ARRAY("a", "b", "ab", "ba"), ARRAY("b a", "a b")), "aba", 2,
	      (const int32_t[]){ 0, 3 });
	check(bpe(ARRAY("a", "aa"), ARRAY("a a")), "aaa", 2, (const int32_t[]){ 1, 0 });
	test_words();
	t = open_made(bpe(ARRAY("a", "b"), ARRAY("a b")));
	tap_ok(t && npu_tokenizer_encode(t, "a c", 3, 0, ids, 4, &num, &err) == -EINVAL &&
	       strstr(err.text, "no token for byte 0x20"), "%s", err.text);
	npu_tokenizer_close(t);
}

/* ---- damaged files ---- */

static uint64_t rng_state = 3;

static uint32_t rng_below(uint32_t n)
{
	rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((rng_state >> 33) % n);
}

static struct gguf_make *make_spm(void)
{
	struct gguf_make *m = spm(ARRAY("<unk>", "<s>", "</s>", "\xe2\x96\x81", "t", "h", "e", "th",
					"the", "\xe2\x96\x81the", "<0x0A>", "<0x20>", "<|im_end|>"));

	types(m, 13, (const int32_t[]){ 2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 6, 6, 3 });
	gguf_make_bool(m, "tokenizer.ggml.add_bos_token", true);
	gguf_make_u32(m, "tokenizer.ggml.bos_token_id", 1);
	gguf_make_string(m, "general.name", "phi-3");
	gguf_make_string(m, "tokenizer.chat_template", "<|im_start|>");
	return m;
}

static struct gguf_make *make_bpe(void)
{
	struct gguf_make *m = bpe(ARRAY("t", "h", "e", "th", "the", "\xc4\xa0the", "\xc4\xa0",
					"<|endoftext|>", "<user>"),
				  ARRAY("t h", "th e", "\xc4\xa0 the"));

	types(m, 9, (const int32_t[]){ 1, 1, 1, 1, 1, 1, 1, 3, 4 });
	gguf_make_string(m, "tokenizer.ggml.pre", "llama-bpe");
	gguf_make_u32(m, "tokenizer.ggml.bos_token_id", 7);
	return m;
}

static struct {
	unsigned int opened, refused, silent, wrong;
} seen;

/* Every id in range, and the text back is no error; errors have a reason. */
static void use(const struct npu_tokenizer *t)
{
	static const char text[] = "the <user> he\n\n the</s><|im_end|>  \xff th\xc3\xa9 123.";
	struct npu_tokenizer_info info = NPU_INIT(info);
	int32_t ids[256];
	char back[8192];
	size_t num, size, i;

	npu_tokenizer_info(t, &info);
	err.text[0] = 0;
	if (npu_tokenizer_encode(t, text, sizeof(text) - 1,
				 NPU_TOKENIZE_ADD | NPU_TOKENIZE_SPECIAL, ids, 256, &num, &err)) {
		seen.silent += !err.text[0];
		return;
	}
	for (i = 0; i < num; i++)
		seen.wrong += ids[i] < 0 || (uint32_t)ids[i] >= info.vocab;
	seen.wrong += !!npu_tokenizer_decode(t, ids, num, NPU_DETOKENIZE_SPECIAL, back,
					     sizeof(back), &size, &err);
}

static void try(const void *data, size_t size)
{
	struct npu_tokenizer *t = NULL;
	void *copy = malloc(size + 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	err.text[0] = 0;
	if (npu_tokenizer_parse(copy, size, "x", &t, &err)) {
		seen.refused++;
		seen.silent += strncmp(err.text, "x: ", 3) || strlen(err.text) < 10;
	} else {
		seen.opened++;
		free(copy);		/* it is not needed any longer */
		copy = NULL;
		use(t);
		npu_tokenizer_close(t);
	}
	free(copy);
}

static void test_damaged(const char *name, struct gguf_make *m)
{
	unsigned int i, k, n = tap_cases(10000);
	size_t size, at;
	uint8_t *data = gguf_make_bytes(m, &size), *copy = malloc(size);
	uint64_t odd[] = { 0, 1, -1ull, 1ull << 31, 0x7fc00000 };

	if (!copy)
		abort();
	memset(&seen, 0, sizeof(seen));
	for (i = 0; i < n; i++) {
		memcpy(copy, data, size);
		for (k = 1 + rng_below(3); k; k--) {
			at = rng_below(size - 8);
			if (rng_below(3))
				copy[at] = rng_below(3) ? data[rng_below(size)] : rng_below(256);
			else
				memcpy(copy + at, &odd[rng_below(5)], rng_below(2) ? 4 : 8);
		}
		try(copy, size);
	}
	tap_ok(seen.opened && seen.refused && !seen.silent && !seen.wrong,
	       "%s: %u changes: %u opened, %u refused, %u without a reason, %u wrong", name, n,
	       seen.opened, seen.refused, seen.silent, seen.wrong);
	free(copy);
	free(data);
	gguf_make_free(m);
}

/* ---- Unicode ---- */

/* Facts of the standard, each from its own part of the tables. */
static void test_unicode(void)
{
	uint32_t out[3];
	unsigned int length;
	char text[4];

	tap_ok(unicode_class('A') == UC_LU && unicode_class('z') == UC_LL &&
	       unicode_class(0x1c5) == UC_LT && unicode_class(0x2b0) == UC_LM &&
	       unicode_class(0x4e2d) == UC_LO && unicode_class(0x301) == UC_MN &&
	       unicode_class(0x903) == UC_MC && unicode_class(0x2167) == UC_N &&
	       unicode_class(0x3002) == UC_P && unicode_class(0x20ac) == UC_S &&
	       unicode_class(0x10ffff) == UC_C && unicode_class(0x378) == UC_C &&
	       unicode_class(0x3000) == (UC_Z | UC_SPACE) && unicode_class(0xd800) == UC_C &&
	       unicode_class(0xffffffff) == UC_C, "groups of characters");
	tap_ok(unicode_lower(0xc9) == 0xe9 && unicode_lower(0x42f) == 0x44f &&
	       unicode_lower(0x10400) == 0x10428 && unicode_lower(0xe9) == 0xe9 &&
	       unicode_lower('[') == '[', "lower case");
	tap_ok(unicode_base(0xe9, out) == 1 && out[0] == 'e' && unicode_base(0x1ed5, out) == 1 &&
	       out[0] == 'o' && !unicode_base(0x301, out) && unicode_base(0xd55c, out) == 3 &&
	       out[0] == 0x1112 && out[1] == 0x1161 && out[2] == 0x11ab &&
	       unicode_base(0xac00, out) == 2 && out[0] == 0x1100 && out[1] == 0x1161 &&
	       unicode_base(0x212b, out) == 1 && out[0] == 'A', "characters without their accents");
	tap_ok(unicode_decode("\xf0\x9f\x98\x80", 4, &length) == 0x1f600 && length == 4 &&
	       unicode_decode("\xed\xa0\x80", 3, &length) == UNICODE_BAD && length == 1 &&
	       unicode_decode("\xc0\x80", 2, &length) == UNICODE_BAD && length == 1 &&
	       unicode_decode("\xe2\x82", 2, &length) == UNICODE_BAD && length == 1 &&
	       unicode_decode("\xf4\x90\x80\x80", 4, &length) == UNICODE_BAD && length == 1,
	       "UTF-8, and what is none: surrogates, overlong, cut, too large");
	tap_ok(unicode_encode(0x1f600, text) == 4 && !memcmp(text, "\xf0\x9f\x98\x80", 4) &&
	       unicode_encode(0xe9, text) == 2 && !memcmp(text, "\xc3\xa9", 2), "to UTF-8");
}

int main(void)
{
	test_bad_tokens();
	test_bad_keys();
	test_bad_bpe();
	test_odd();
	test_damaged("SPM", make_spm());
	test_damaged("BPE", make_bpe());
	test_damaged("WordPiece", make_wpm());
	test_unicode();
	return tap_done();
}
