// SPDX-License-Identifier: MIT
/* libFuzzer target: a GGUF file. What parses is looked at from all sides. */
#include <stdlib.h>
#include <string.h>
#include "llm/gguf.h"

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
	return 0;
}
