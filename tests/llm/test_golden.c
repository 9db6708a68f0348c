// SPDX-License-Identifier: MIT
/*
 * Job files of language models that stay as they are, small ones of random weights: later libraries
 * load them, and their logits keep their bits. golden-1.2-llm has format and instructions of 1.2,
 * golden-1.4-llm the instructions of 1.4, whose scales of quantized rows are f16. Made from
 *
 *	test_golden --write model.gguf, which is llama of model_file.h with weights Q8_0
 *
 * by npu-compile --context 64 --batch 2 --chunk 32 --activations int8 with --kv int8, or f16.
 *
 * What the logits should be comes from the float64 reference and the same model, written anew.
 * Beside int8 keys and values that is a bound alone. For 1.4 the reference rounds rows and keys as
 * the formulas say, and is met to 4e-8; with scales that are not f16 it is 1e-2 off.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/tmp.h"
#include "model_file.h"
#include "npu_llm.h"
#include "reference.h"
#include "tap.h"

#define NUM	40
#define VOCAB	160

static const struct golden {
	const char *path, *kv;
	uint64_t digest;		/* of the logits of the last ten steps */
	struct reference_how how;
	double limit;			/* of the last logits, relative to their size */
} goldens[] = {
	{ "tests/data/golden-1.2-llm.npu", "int8", 0xf7e398de9c4fbdd8, { 0 }, 5e-2 },
	{ "tests/data/golden-1.4-llm.npu", "f16", 0x1b4d7027f0e77842,
	  { .codes = true, .half_cache = true }, 1e-6 },
};

static bool write_model(const char *path)
{
	struct model_spec spec = model_spec_of("llama");

	spec.type = FILE_Q8_0;
	return model_write(&spec, path);
}

/* Distance of the last logits from the reference's, relative to their size. */
static double distance(const int32_t *tokens, const float *logits, const struct reference_how *how)
{
	double diff = 0, size = 0, *want = NULL;
	const char *path = tmp_path("golden.gguf");
	struct npu_gguf *g = NULL;
	int i, vocab = 0;

	if (write_model(path) && !npu_gguf_open(path, &g, NULL))
		want = reference_logits(g, tokens, NUM, how, &vocab);
	for (i = 0; want && i < vocab; i++) {
		double w = want[(NUM - 1) * vocab + i];

		diff += ((double)logits[i] - w) * ((double)logits[i] - w);
		size += w * w;
	}
	npu_gguf_close(g);
	free(want);
	return want ? sqrt(diff / size) : INFINITY;
}

/* What it says of itself. */
static void check_info(const struct golden *golden, struct npu_llm *llm)
{
	struct npu_llm_info info = NPU_INIT(info);
	size_t size = 0;

	npu_llm_info(llm, &info);
	tap_ok(info.vocab == VOCAB && info.context == 64 && info.num_layers == 3 &&
	       info.head_dim == 16 && !strcmp(info.kv_type, golden->kv) &&
	       !strcmp(info.arch, "llama") && npu_llm_metadata(llm, &size) && size,
	       "what it says of itself");
}

static void check_logits(const struct golden *golden, struct npu_llm *llm)
{
	struct npu_llm_session *s = NULL;
	struct npu_error err = { .text = "" };
	const float *logits = NULL;
	int32_t tokens[NUM];
	uint64_t digest = 0;
	double off;
	int i, ret;

	for (i = 0; i < NUM; i++)
		tokens[i] = i * 53 % VOCAB;
	ret = npu_llm_session_create(llm, &s, &err) ?: npu_llm_prefill(s, tokens, 30, NULL, &err);
	for (i = 30; i < NUM && !ret; i++) {
		ret = npu_llm_decode(s, tokens[i], &logits, &err);
		digest = ret ? 0 : npu_digest(logits, VOCAB * sizeof(*logits), digest);
	}
	tap_ok(!ret && digest == golden->digest,
	       "logits of ten steps after a prompt of thirty: 0x%llx%s%s",
	       (unsigned long long)digest, *err.text ? ": " : "", err.text);
	off = ret ? INFINITY : distance(tokens, logits, &golden->how);
	tap_ok(off < golden->limit, "relative error %.1e, less than %.0e", off, golden->limit);
	npu_llm_session_destroy(s);
}

static void check(const struct golden *golden)
{
	struct npu_llm_options opt = NPU_INIT(opt);
	struct npu_error err = { .text = "" };
	struct npu_llm *llm = NULL;
	int ret;

	opt.device = "sim:threads=2";
	ret = npu_llm_open(golden->path, &opt, &llm, &err);
	if (!tap_ok(!ret, "%s loads%s%s", golden->path, *err.text ? ": " : "", err.text))
		return;
	check_info(golden, llm);
	check_logits(golden, llm);
	npu_llm_close(llm);
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc == 3 && !strcmp(argv[1], "--write"))
		return !write_model(argv[2]);
	for (i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++)
		check(&goldens[i]);
	return tap_done();
}
