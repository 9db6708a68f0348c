// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: a GGUF file, as a model or as the metadata of a job file. What parses is looked
 * at from all sides, and its vocabulary is used.
 */
#include <stdlib.h>
#include <string.h>
#include "llm/gguf.h"
#include "npu_llm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned int sink;

static void look_at_key(const struct npu_gguf *g, const char *key)
{
	struct npu_error err = { 0 };
	struct npu_gguf_array a;
	struct npu_gguf_string s;
	uint64_t n, at = 0;
	const char *text;
	int64_t i;
	float f;

	if (npu_gguf_get_i64(g, key, &i, &err) && !err.text[0])
		abort();	/* a refusal has a reason */
	npu_gguf_get_f32(g, key, &f, &err);
	npu_gguf_get_string(g, key, &text, &err);
	if (!npu_gguf_get_array(g, key, NPU_GGUF_I64, &a, &err) && a.count)
		sink += (unsigned int)npu_gguf_array_i64(&a, a.count - 1);
	if (!npu_gguf_get_array(g, key, NPU_GGUF_F32, &a, &err) && a.count)
		sink += npu_gguf_array_f32(&a, a.count - 1) > 0;
	if (npu_gguf_get_array(g, key, NPU_GGUF_STRING, &a, &err))
		return;
	for (n = 0; n < a.count; n++) {
		s = npu_gguf_array_next(&a, &at);
		sink += s.size ? (uint8_t)s.data[s.size - 1] : 0;
	}
	if (at != a.size)
		abort();
}

/* What strangers say, in the form that the file's template has, or in one that there always is. */
static void talk(const struct npu_tokenizer *t)
{
	static const struct npu_chat_message says[] = {
		{ "system", "You say <s> and [user]." }, { "user", "ab  \xe2\x96\x81 12 \xff" },
	};
	struct npu_error err = { 0 };
	char text[4096], back[4096];
	int32_t ids[1024];
	size_t size, num;

	if (npu_tokenizer_chat(t, NPU_CHAT_AUTO, says, 2, true, text, sizeof(text), &size, &err) &&
	    !err.text[0])
		abort();
	if (npu_tokenizer_encode_chat(t, NPU_CHAT_CHATML, says, 2, true, ids, 1024, &num, &err))
		return;
	npu_tokenizer_decode(t, ids, num, NPU_DETOKENIZE_SPECIAL, back, sizeof(back), &size, &err);
}

static void look_at_vocabulary(const uint8_t *data, size_t size)
{
	struct npu_tokenizer_info info = NPU_INIT(info);
	struct npu_error err = { 0 };
	struct npu_tokenizer *t;

	if (npu_tokenizer_parse(data, size, "fuzz", &t, &err)) {
		if (strncmp(err.text, "fuzz: ", 6))
			abort();
		return;
	}
	npu_tokenizer_info(t, &info);
	talk(t);
	npu_tokenizer_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct npu_gguf_tensor *t;
	struct npu_error err = { 0 };
	struct npu_gguf *g;
	uint32_t i;

	if (npu_gguf_parse(data, size, "fuzz", &g, &err)) {
		if (strncmp(err.text, "fuzz: ", 6))
			abort();
		return 0;
	}
	for (i = 0; i < npu_gguf_num_keys(g); i++)
		look_at_key(g, npu_gguf_key(g, i));
	for (i = 0; i < npu_gguf_num_tensors(g); i++) {
		t = npu_gguf_tensor(g, i);
		if (npu_gguf_find_tensor(g, t->name) != t)
			abort();
		sink += ((const uint8_t *)t->data)[0] + ((const uint8_t *)t->data)[t->size - 1];
	}
	npu_gguf_close(g);
	look_at_vocabulary(data, size);
	return 0;
}
