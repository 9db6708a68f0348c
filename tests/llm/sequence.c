// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include "common/tmp.h"
#include "model_file.h"
#include "sequence.h"
#include "tap.h"

int32_t text[NUM];
uint32_t vocab;

static char npu_path[256];

bool write_job(const char *arch, enum npu_llm_kv kv, uint32_t type)
{
	struct npu_llm_compile_options opt = NPU_INIT(opt);
	struct model_spec spec = model_spec_of(arch);
	struct npu_error err = { .text = "" };
	char gguf[256];
	int i;

	snprintf(gguf, sizeof(gguf), "%s", tmp_path("model.gguf"));
	snprintf(npu_path, sizeof(npu_path), "%s", tmp_path("model.npu"));
	spec.type = type;
	vocab = spec.vocab;
	for (i = 0; i < NUM; i++)
		text[i] = (i * 37 + i * i * 11 + 3) % (int32_t)spec.vocab;
	opt.kv = kv;
	opt.context = 128;
	opt.batch = 6;
	opt.chunk = 64;
	opt.activations = NPU_LLM_ACT_I8;
	if (model_write(&spec, gguf) && !npu_llm_compile(gguf, npu_path, &opt, NULL, &err))
		return true;
	tap_diag("%s", err.text);
	return false;
}

struct npu_llm *open_llm(const char *device, uint32_t pool, uint64_t budget)
{
	struct npu_llm_options opt = NPU_INIT(opt);
	const char *other = getenv("NPU_TEST_DEVICE");	/* instead: the driver's, in a guest */
	struct npu_error err = { .text = "" };
	struct npu_llm *llm;

	opt.device = other ? other : device;
	opt.pool = pool;
	opt.kv_budget = budget;
	if (!npu_llm_open(npu_path, &opt, &llm, &err))
		return llm;
	tap_diag("%s", err.text);
	return NULL;
}

struct npu_llm_session *new_session(struct npu_llm *llm)
{
	struct npu_llm_session *s = NULL;

	npu_llm_session_create(llm, &s, NULL);
	return s;
}

bool feed(struct npu_llm_session *s, int from, int to, int piece, float *out)
{
	struct npu_error err = { .text = "" };
	const float *logits = NULL;
	int n;

	for (; from < to; from += n) {
		n = to - from < piece ? to - from : piece;
		if (npu_llm_prefill(s, text + from, (size_t)n, &logits, &err)) {
			tap_diag("%s", err.text);
			return false;
		}
	}
	memcpy(out, logits, vocab * sizeof(*out));
	return true;
}

bool same(const float *a, const float *b)
{
	return !memcmp(a, b, vocab * sizeof(*a));
}
