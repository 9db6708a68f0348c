// SPDX-License-Identifier: MIT
/*
 * Tokenizers against what llama-tokenize gave: 46 texts each for GPT-2's and BERT's vocabularies,
 * and a longer text for every kind. Text back from tokens, whole and in a stream; any bytes there
 * and back; special tokens; wrong arguments.
 *
 * With arguments, for test_llama_tokenize.sh: --ids MODEL FILE FLAGS prints ids, --pre MODEL NAME
 * OUT writes the model's vocabulary with another pre-tokenizer, --names lists those.
 */
#include <errno.h>
#include <time.h>
#include <zlib.h>
#include "../tap.h"
#include "common/file.h"
#include "gguf_make.h"
#include "llm/pretokenizer.h"
#include "npu_llm.h"
#include "shared.h"

static struct npu_error err;

/* ---- the 46 cases ---- */

#define SEPARATOR	"\n__ggml_vocab_test__\n"

/* The ids of one line. */
static size_t read_ids(const char **line, int32_t *ids, size_t room)
{
	size_t n = 0;
	char *end;

	while (**line && **line != '\n') {
		long id = strtol(*line, &end, 10);

		if (end == *line) {
			(*line)++;
			continue;
		}
		if (n < room)
			ids[n++] = id;
		*line = end;
	}
	if (**line)
		(*line)++;
	return n;
}

static void show(const char *what, const int32_t *ids, size_t n)
{
	char text[1024];
	size_t at = 0, i;

	for (i = 0; i < n && at < sizeof(text) - 16; i++)
		at += snprintf(text + at, sizeof(text) - at, " %d", ids[i]);
	tap_diag("%s:%.*s", what, (int)at, text);
}

static bool same(const int32_t *got, size_t num, const int32_t *want, size_t num_want)
{
	if (num == num_want && (!num || !memcmp(got, want, num * sizeof(*got))))
		return true;
	show("got", got, num);
	show("expected", want, num_want);
	return false;
}

static void test_cases(const char *name)
{
	char inp[64], out[64], *texts, *lines, *text, *end;
	struct npu_tokenizer *t = NULL;
	int32_t ids[4096], want[4096];
	size_t size, num, num_want, count = 0, right = 0;
	const char *line;

	snprintf(inp, sizeof(inp), "%s.inp", name);
	snprintf(out, sizeof(out), "%s.out", name);
	texts = test_read_file(shared_path(inp), &size);
	line = lines = test_read_file(shared_path(out), &size);
	if (!texts || !lines) {
		tap_skip(name, "NPU_SHARED_MODELS does not have it");
		goto out;
	}
	if (npu_tokenizer_open(shared_path(name), &t, &err)) {
		tap_ok(0, "%s: %s", name, err.text);
		goto out;
	}
	for (text = texts; text; text = end ? end + strlen(SEPARATOR) : NULL) {
		end = strstr(text, SEPARATOR);
		size = end ? (size_t)(end - text) : strlen(text);
		/* The last one is ended by the file. */
		if (!end && !size)
			break;
		num_want = read_ids(&line, want, 4096);
		count++;
		if (npu_tokenizer_encode(t, text, size, 0, ids, 4096, &num, &err))
			tap_diag("%s: %.*s", err.text, (int)size, text);
		else if (same(ids, num, want, num_want))
			right++;
		else
			tap_diag("'%.*s'", (int)size, text);
	}
	tap_ok(right == count && count == 46, "%s: %zu of %zu texts as llama-tokenize has them",
	       name, right, count);
out:
	npu_tokenizer_close(t);
	free(texts);
	free(lines);
}

/* ---- a text, there and back ---- */

struct text_case {
	const char *path;
	bool shared;
	size_t count;
	unsigned long crc;		/* of llama-tokenize's ids, as i32 */
};

/* Streamed token by token into @text; its size. */
static size_t stream(const struct npu_tokenizer *t, const int32_t *ids, size_t num, char *text,
		     size_t room)
{
	struct npu_token_stream s = { 0 };
	size_t at = 0, size, i;

	for (i = 0; i < num; i++) {
		if (npu_token_stream_put(t, &s, ids[i], 0, text + at, room - at, &size, &err))
			return 0;
		at += size;
	}
	return at + npu_token_stream_end(&s, text + at);
}

static void test_back(const struct npu_tokenizer *t, const char *name, const char *text,
		      size_t size, const int32_t *ids, size_t num, bool utf8)
{
	size_t room = 4 * size + 8192, got;
	char *back = malloc(room);

	if (!back)
		abort();
	tap_ok(!npu_tokenizer_decode(t, ids, num, 0, back, room, &got, &err) && got == size &&
	       !memcmp(back, text, size), "%s: and the text back", name);
	if (utf8) {
		got = stream(t, ids, num, back, room);
		tap_ok(got == size && !memcmp(back, text, size), "%s: the same token by token",
		       name);
	}
	free(back);
}

static void test_text(const struct text_case *c)
{
	const char *path = c->shared ? shared_path(c->path) : c->path;
	struct npu_tokenizer_info info = NPU_INIT(info);
	struct npu_tokenizer *t = NULL;
	size_t size, num = 0, room;
	int32_t *ids = NULL;
	char *text;
	int ret = npu_tokenizer_open(path, &t, &err);

	if (ret == -ENOENT && c->shared) {
		tap_skip(c->path, "NPU_SHARED_MODELS does not have it");
		return;
	}
	text = test_read_file("models/kjv/val.txt", &size);
	room = 2 * size;
	ids = malloc(room * sizeof(*ids));
	if (ret || !text || !ids) {
		tap_ok(0, "%s: %s", c->path, ret ? err.text : "models/kjv/val.txt can not be read");
		goto out;
	}
	ret = npu_tokenizer_encode(t, text, size, NPU_TOKENIZE_ADD, ids, room, &num, &err);
	tap_ok(!ret && num == c->count &&
	       crc32_z(0, (const void *)ids, num * sizeof(*ids)) == c->crc,
	       "%s: %zu ids as llama-tokenize has them", c->path, num);
	npu_tokenizer_info(t, &info);
	if (strcmp(info.model, "bert"))
		test_back(t, c->path, text, size, ids + info.add_bos, num - info.add_bos, true);
out:
	free(text);
	free(ids);
	npu_tokenizer_close(t);
}

static uint64_t rng_state = 5;

static uint32_t rng_below(uint32_t n)
{
	rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((rng_state >> 33) % n);
}

/* Bytes of every kind: text, spaces, and what is no UTF-8. */
static void fill(char *text, size_t size)
{
	static const char words[] = "the LORD  and\n\nhis 123 \xc3\xa9t\xc3\xa9 \xe4\xb8\xad\xe6\x96\x87, ";
	size_t i, n, from;

	for (i = 0; i < size;) {
		if (!rng_below(3)) {
			text[i++] = (char)rng_below(256);
			continue;
		}
		from = rng_below(sizeof(words) - 1);
		for (n = 1 + rng_below(12); n && i < size && from < sizeof(words) - 1; n--)
			text[i++] = words[from++];
	}
}

static double cpu_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Any bytes survive where the vocabulary has all bytes; and how fast text is. */
static void test_bytes(const char *path, bool shared)
{
	size_t size = tap_short() ? 100000 : 1000000, num, i;
	int32_t *ids = malloc((size + 4) * sizeof(*ids));
	char *text = malloc(size);
	struct npu_tokenizer *t = NULL;
	double took;

	if (!ids || !text)
		abort();
	if (npu_tokenizer_open(shared ? shared_path(path) : path, &t, &err)) {
		tap_skip(path, "NPU_SHARED_MODELS does not have it");
		goto out;
	}
	fill(text, size);
	if (tap_ok(!npu_tokenizer_encode(t, text, size, 0, ids, size + 4, &num, &err),
		   "%s: %zu bytes of any kind", path, size))
		test_back(t, path, text, size, ids, num, false);
	for (i = 0; i < size; i++)
		text[i] = "And God said, Let there be light: and there was light. "[i % 55];
	took = -cpu_seconds();
	npu_tokenizer_encode(t, text, size, 0, ids, size + 4, &num, &err);
	took += cpu_seconds();
	tap_diag("%s: %.1f MB/s", path, size / took / 1e6);
	if (!tap_short())
		tap_ok(took < size / 1e6, "%s: more than 1 MB/s", path);
out:
	npu_tokenizer_close(t);
	free(text);
	free(ids);
}

/* ---- special tokens ---- */

enum {
	UNK, BOS, EOS, A, B, AB, SPACE, NL, TURN, TURN_END, USER_AB, LONG, EURO1, EURO2, EURO3, NUM
};

static struct gguf_make *small(void)
{
	static const char *const tokens[NUM] = {
		[UNK] = "<unk>",     [BOS] = "<s>",	[EOS] = "</s>",	   [A] = "a",
		[B] = "b",	     [AB] = "ab",	[SPACE] = "\xe2\x96\x81", [NL] = "<0x0A>",
		[TURN] = "<turn>",   [TURN_END] = "<|im_end|>", [USER_AB] = "abab",
		[LONG] = "<turn>a",  [EURO1] = "<0xE2>", [EURO2] = "<0x82>", [EURO3] = "<0xAC>",
	};
	static const int32_t types[NUM] = { 2, 3, 3, 1, 1, 1, 1, 6, 3, 1, 4, 3, 6, 6, 6 };
	static const float scores[NUM] = { [AB] = -1, [A] = -5, [B] = -5, [SPACE] = -5 };
	struct gguf_make *m = gguf_make_new();

	gguf_make_string(m, "tokenizer.ggml.model", "llama");
	gguf_make_strings(m, "tokenizer.ggml.tokens", NUM, tokens);
	gguf_make_array(m, "tokenizer.ggml.scores", NPU_GGUF_F32, NUM, scores);
	gguf_make_array(m, "tokenizer.ggml.token_type", NPU_GGUF_I32, NUM, types);
	return m;
}

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

static void check_ids(const struct npu_tokenizer *t, const char *text, unsigned int flags,
		      const int32_t *want, size_t num_want)
{
	int32_t ids[64];
	size_t num = 0;
	int ret = npu_tokenizer_encode(t, text, strlen(text), flags, ids, 64, &num, &err);

	tap_ok(!ret && same(ids, num, want, num_want), "flags %u: '%s'", flags, text);
}

#define IDS(...) \
	(const int32_t[]){ __VA_ARGS__ }, sizeof((const int32_t[]){ __VA_ARGS__ }) / 4

static void test_special(void)
{
	struct npu_tokenizer *t = open_made(small());
	size_t num;

	if (!tap_ok(t != NULL, "a small vocabulary"))
		return;
	check_ids(t, "ab", 0, IDS(SPACE, AB));
	check_ids(t, "ab", NPU_TOKENIZE_ADD, IDS(BOS, SPACE, AB));
	check_ids(t, "<s>", 0, IDS(SPACE, UNK, UNK, UNK));
	check_ids(t, "<s>", NPU_TOKENIZE_SPECIAL, IDS(BOS));
	/* The text after a special token begins with a space too, as llama.cpp has it. */
	check_ids(t, "b<turn>b", NPU_TOKENIZE_SPECIAL, IDS(SPACE, B, TURN, SPACE, B));
	check_ids(t, "<turn>a", NPU_TOKENIZE_SPECIAL, IDS(LONG));
	check_ids(t, "<turn><turn>ab", NPU_TOKENIZE_SPECIAL, IDS(TURN, LONG, SPACE, B));
	/* The text of another one goes on, word or space, up to the next special token. */
	check_ids(t, "ab", NPU_TOKENIZE_MORE, IDS(AB));
	check_ids(t, " ", NPU_TOKENIZE_MORE, IDS(SPACE));
	check_ids(t, " ab", NPU_TOKENIZE_MORE, IDS(SPACE, AB));
	check_ids(t, "<turn>b", NPU_TOKENIZE_MORE | NPU_TOKENIZE_SPECIAL, IDS(TURN, SPACE, B));
	check_ids(t, "", NPU_TOKENIZE_MORE, NULL, 0);
	tap_ok(npu_tokenizer_encode(t, "a", 1, NPU_TOKENIZE_MORE | NPU_TOKENIZE_ADD, NULL, 0, &num,
				    &err) == -EINVAL, "begins and goes on: %s", err.text);
	/* A user's token is found in any case, and the first of two that overlap. */
	check_ids(t, "ababab", 0, IDS(USER_AB, SPACE, AB));
	check_ids(t, "\n\n", 0, IDS(SPACE, NL, NL));
	check_ids(t, "", NPU_TOKENIZE_ADD, IDS(BOS));
	check_ids(t, "c", 0, IDS(SPACE, UNK));
	tap_ok(npu_tokenizer_attr(t, TURN_END) & NPU_TOKEN_END &&
	       npu_tokenizer_attr(t, TURN_END) & NPU_TOKEN_CONTROL &&
	       npu_tokenizer_attr(t, EOS) & NPU_TOKEN_END && !npu_tokenizer_attr(t, NUM) &&
	       !npu_tokenizer_attr(t, -1) && npu_tokenizer_attr(t, USER_AB) == NPU_TOKEN_USER,
	       "attributes: the end of a turn is known by its text");
	tap_ok(npu_tokenizer_find(t, "<turn>") == TURN && npu_tokenizer_find(t, "ba") == -ENOENT,
	       "tokens are found by their text");
	npu_tokenizer_close(t);
}

/* Spaces behind Phi-3's special tokens go with them. */
static void test_strip(void)
{
	struct gguf_make *m = small();
	struct npu_tokenizer *t;

	gguf_make_string(m, "general.name", "Phi-3 mini");
	t = open_made(m);
	if (!tap_ok(t != NULL, "a vocabulary named Phi-3"))
		return;
	check_ids(t, "<turn>\n\n b", NPU_TOKENIZE_SPECIAL, IDS(TURN, SPACE, B));
	check_ids(t, "<s>\nb", NPU_TOKENIZE_SPECIAL, IDS(BOS, SPACE, NL, B));
	check_ids(t, "<turn>\n<turn>\n", NPU_TOKENIZE_SPECIAL, IDS(TURN, TURN));
	npu_tokenizer_close(t);
}

/* ---- streams ---- */

static bool put_is(const struct npu_tokenizer *t, struct npu_token_stream *s, int32_t id,
		   unsigned int flags, const char *want)
{
	char text[256];
	size_t size = 0;

	return !npu_token_stream_put(t, s, id, flags, text, sizeof(text), &size, &err) &&
	       size == strlen(want) && !memcmp(text, want, size);
}

static void test_stream(void)
{
	struct npu_tokenizer *t = open_made(small());
	struct npu_token_stream s = { 0 };
	char rest[3];
	size_t size;

	if (!t) {
		tap_ok(0, "a small vocabulary");
		return;
	}
	tap_ok(put_is(t, &s, BOS, 0, "") && put_is(t, &s, SPACE, 0, "") &&
		       put_is(t, &s, AB, 0, "ab") && put_is(t, &s, SPACE, 0, " "),
	       "stream: the added space is left out, the next is not");
	tap_ok(put_is(t, &s, BOS, NPU_DETOKENIZE_SPECIAL, "<s>"), "stream: a control token on request");
	tap_ok(put_is(t, &s, EURO1, 0, "") && put_is(t, &s, EURO2, 0, "") &&
	       put_is(t, &s, EURO3, 0, "\xe2\x82\xac"), "stream: a character comes when it is whole");
	tap_ok(put_is(t, &s, EURO1, 0, "") && put_is(t, &s, A, 0, "\xef\xbf\xbd" "a"),
	       "stream: one that never will be is replaced");
	tap_ok(put_is(t, &s, EURO2, 0, "\xef\xbf\xbd"), "stream: so is a byte that begins none");
	tap_ok(put_is(t, &s, EURO1, 0, "") && npu_token_stream_end(&s, rest) == 3 &&
	       !memcmp(rest, "\xef\xbf\xbd", 3) && !npu_token_stream_end(&s, rest),
	       "stream: and what is held at the end");
	s = (struct npu_token_stream){ .begun = true };
	tap_ok(put_is(t, &s, SPACE, 0, " "), "stream: behind other text a space is a space");
	tap_ok(npu_token_stream_put(t, &s, NUM, 0, rest, 3, &size, &err) == -EINVAL &&
	       npu_token_stream_put(t, &s, A, 0, rest, 3, &size, &err) == -ENOSPC,
	       "stream: a bad id, too little room: %s", err.text);
	npu_tokenizer_close(t);
}

static void test_arguments(void)
{
	struct npu_tokenizer *t = open_made(small());
	struct npu_tokenizer_info info = NPU_INIT(info);
	int32_t ids[4] = { A, -1, NUM, B };
	char text[2];
	size_t num = 0;

	if (!t) {
		tap_ok(0, "a small vocabulary");
		return;
	}
	tap_ok(!npu_tokenizer_info(t, &info) && info.vocab == NUM && info.bos == BOS &&
	       info.eos == EOS && info.unk == UNK && info.eot == TURN_END && info.pad == -1 &&
	       info.add_bos && !info.add_eos && info.add_space && !info.has_chat &&
	       !strcmp(info.model, "llama"), "what is in it");
	tap_ok(npu_tokenizer_encode(t, "b b b", 5, 0, ids, 2, &num, &err) == -ENOSPC && num == 6,
	       "too little room: how much is needed, %s", err.text);
	tap_ok(npu_tokenizer_encode(t, "b b b", 5, 0, NULL, 0, &num, &err) == -ENOSPC && num == 6,
	       "no room at all");
	tap_ok(npu_tokenizer_encode(t, "b", 1, 8, ids, 2, &num, &err) == -EINVAL &&
	       strstr(err.text, "0x8"), "flags: %s", err.text);
	tap_ok(npu_tokenizer_encode(t, NULL, 1, 0, ids, 2, &num, &err) == -EINVAL, "no text");
	ids[1] = -1;
	tap_ok(npu_tokenizer_decode(t, ids, 2, 0, text, 2, &num, &err) == -EINVAL &&
	       strstr(err.text, "token -1"), "a bad id: %s", err.text);
	ids[0] = AB;
	ids[1] = AB;
	tap_ok(npu_tokenizer_decode(t, ids, 2, 0, text, 2, &num, &err) == -ENOSPC && num == 4,
	       "decode: %s", err.text);
	tap_ok(npu_tokenizer_decode(t, ids, 1, 4, text, 2, &num, &err) == -EINVAL, "decode: %s",
	       err.text);
	npu_tokenizer_close(t);
}

/* ---- for test_llama_tokenize.sh ---- */

static int print_ids(const char *model, const char *path, unsigned int flags)
{
	struct npu_tokenizer *t = NULL;
	size_t size = 0, num, i;
	char *text = test_read_file(path, &size);
	int ret = 0;
	int32_t *ids = malloc((2 * size + 8) * sizeof(*ids));

	if (!text || !ids || npu_tokenizer_open(model, &t, &err) ||
	    npu_tokenizer_encode(t, text, size, flags, ids, 2 * size + 8, &num, &err)) {
		fprintf(stderr, "%s\n", err.text);
		ret = 1;
	} else {
		printf("[");
		for (i = 0; i < num; i++)
			printf("%s%d", i ? ", " : "", ids[i]);
		printf("]\n");
	}
	npu_tokenizer_close(t);
	free(text);
	free(ids);
	return ret;
}

/* The BPE vocabulary of a file, with another pre-tokenizer's name. */
static int write_pre(const char *model, const char *pre, const char *out)
{
	static const char *const copied[] = { "tokenizer.ggml.tokens", "tokenizer.ggml.merges" };
	struct gguf_make *m = gguf_make_new();
	struct npu_gguf_array a;
	struct npu_gguf *g;
	size_t i;
	int ret = 0;

	if (npu_gguf_open(model, &g, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	gguf_make_string(m, "general.architecture", "gpt2");
	gguf_make_u32(m, "gpt2.context_length", 1024);
	gguf_make_u32(m, "gpt2.embedding_length", 64);
	gguf_make_u32(m, "gpt2.feed_forward_length", 64);
	gguf_make_u32(m, "gpt2.block_count", 1);
	gguf_make_u32(m, "gpt2.attention.head_count", 1);
	gguf_make_f32(m, "gpt2.attention.layer_norm_epsilon", 1e-5f);
	gguf_make_string(m, "tokenizer.ggml.model", "gpt2");
	gguf_make_string(m, "tokenizer.ggml.pre", pre);
	gguf_make_bool(m, "tokenizer.ggml.add_bos_token", false);
	for (i = 0; i < 2 && !ret; i++) {
		ret = npu_gguf_get_array(g, copied[i], NPU_GGUF_STRING, &a, &err);
		if (!ret)
			gguf_make_raw_strings(m, copied[i], &a);
	}
	if (ret || !gguf_make_save(m, out)) {
		fprintf(stderr, "%s\n", ret ? err.text : strerror(errno));
		ret = 1;
	}
	gguf_make_free(m);
	npu_gguf_close(g);
	return ret;
}

static int list_pre(void)
{
	const struct pretokenizer *pre;
	size_t i;

	for (i = 0; (pre = pretokenizer_at(i)); i++)
		printf("%s\n", pre->name);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct text_case cases[] = {
		{ "models/kjv/kjv-Q8_0.gguf", false, 23241, 0xf02e04d3 },
		{ "stories260K-f32.gguf", true, 46503, 0xcb52107f },
		{ "ggml-vocab-gpt-2.gguf", true, 20642, 0xadd15cb9 },
		{ "ggml-vocab-bert-bge.gguf", true, 20933, 0x2ae1f5cb },
	};
	size_t i;

	if (argc == 5 && !strcmp(argv[1], "--ids"))
		return print_ids(argv[2], argv[3], atoi(argv[4]));
	if (argc == 5 && !strcmp(argv[1], "--pre"))
		return write_pre(argv[2], argv[3], argv[4]);
	if (argc == 2 && !strcmp(argv[1], "--names"))
		return list_pre();
	test_cases("ggml-vocab-gpt-2.gguf");
	test_cases("ggml-vocab-bert-bge.gguf");
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		test_text(&cases[i]);
	test_bytes("models/kjv/kjv-Q8_0.gguf", false);
	test_bytes("ggml-vocab-gpt-2.gguf", true);
	test_special();
	test_strip();
	test_stream();
	test_arguments();
	return tap_done();
}
