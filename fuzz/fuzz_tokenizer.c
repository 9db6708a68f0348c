// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: texts of any bytes through a tokenizer of each kind, and back. The first byte
 * chooses; where the vocabulary has all bytes, the text must come back as it was.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "made_vocab.h"
#include "npu_llm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct npu_tokenizer *open_made(unsigned int kind)
{
	struct npu_tokenizer *t;
	struct npu_error err;
	size_t size;
	void *data = made_vocab(kind, &size);

	if (npu_tokenizer_parse(data, size, "made", &t, &err)) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	free(data);
	return t;
}

/* Made once; the fuzzer is one process with one thread. */
static const struct npu_tokenizer *choose(uint8_t kind)
{
	static struct npu_tokenizer *made[256];

	kind %= made_vocab_kinds();
	if (!made[kind])
		made[kind] = open_made(kind);
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
	return !strcmp(model, "gpt2") ||
	       (!strcmp(model, "llama") && !memmem(text, size, "[us", 3) &&
		!memmem(text, size, "\xe2\x96\x81", 3));
}

static void stream(const struct npu_tokenizer *t, const int32_t *ids, size_t num,
		   unsigned int flags)
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
	must(npu_tokenizer_encode(t, text, size, flags, NULL, 0, &num, &err) ==
	     (num ? -ENOSPC : 0));
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
