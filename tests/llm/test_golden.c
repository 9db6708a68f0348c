// SPDX-License-Identifier: MIT
/*
 * A job file of format 1.2 that stays as it is, a small model of random weights: later libraries
 * load it, and its logits keep their bits. Made by
 *
 *	model_write() of llama with weights Q8_0, then npu-compile --context 64 --batch 2 --chunk 32
 *		--activations int8 --kv int8
 *
 * What its logits should be comes from the float64 reference and the same model, written anew.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/tmp.h"
#include "model_file.h"
#include "npu_llm.h"
#include "reference.h"
#include "tap.h"

#define GOLDEN	"tests/data/golden-1.2-llm.npu"
#define NUM	40
#define DIGEST	0xf7e398de9c4fbdd8ull

/* Distance of the last logits from the reference's, relative to their size. */
static double distance(const int32_t *tokens, const float *logits)
{
	struct model_spec spec = model_spec_of("llama");
	double diff = 0, size = 0, *want = NULL;
	const char *path = tmp_path("golden.gguf");
	struct npu_gguf *g = NULL;
	int i, vocab = 0;

	spec.type = FILE_Q8_0;
	if (model_write(&spec, path) && !npu_gguf_open(path, &g, NULL))
		want = reference_logits(g, tokens, NUM, &(struct reference_how){ 0 }, &vocab);
	for (i = 0; want && i < vocab; i++) {
		double w = want[(NUM - 1) * vocab + i];

		diff += ((double)logits[i] - w) * ((double)logits[i] - w);
		size += w * w;
	}
	npu_gguf_close(g);
	free(want);
	return want ? sqrt(diff / size) : INFINITY;
}

int main(void)
{
	struct npu_llm_options opt = NPU_INIT(opt);
	struct npu_llm_info info = NPU_INIT(info);
	struct npu_error err = { .text = "" };
	struct npu_llm_session *s = NULL;
	const float *logits = NULL;
	struct npu_llm *llm = NULL;
	int32_t tokens[NUM];
	uint64_t digest = 0;
	size_t size = 0;
	int i, ret;

	opt.device = "sim:threads=2";
	ret = npu_llm_open(GOLDEN, &opt, &llm, &err);
	if (!tap_ok(!ret, "%s loads%s%s", GOLDEN, *err.text ? ": " : "", err.text))
		return tap_done();
	npu_llm_info(llm, &info);
	tap_ok(info.vocab == 160 && info.context == 64 && info.num_layers == 3 &&
		       info.head_dim == 16 && !strcmp(info.kv_type, "int8") &&
		       !strcmp(info.arch, "llama") && npu_llm_metadata(llm, &size) && size,
	       "what it says of itself");
	for (i = 0; i < NUM; i++)
		tokens[i] = i * 53 % 160;
	ret = npu_llm_session_create(llm, &s, &err) ?: npu_llm_prefill(s, tokens, 30, NULL, &err);
	for (i = 30; i < NUM && !ret; i++) {
		ret = npu_llm_decode(s, tokens[i], &logits, &err);
		digest = ret ? 0 : npu_digest(logits, info.vocab * sizeof(*logits), digest);
	}
	tap_ok(!ret && digest == DIGEST, "logits of ten steps after a prompt of thirty: 0x%llx%s%s",
	       (unsigned long long)digest, *err.text ? ": " : "", err.text);
	tap_ok(!ret && distance(tokens, logits) < 5e-2, "relative error %.1e",
	       ret ? INFINITY : distance(tokens, logits));
	npu_llm_session_destroy(s);
	npu_llm_close(llm);
	return tap_done();
}
