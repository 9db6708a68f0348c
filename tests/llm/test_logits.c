// SPDX-License-Identifier: MIT
/*
 * Every architecture as a small model of random weights: logits of the compiled model against the
 * float64 reference. Prompt in uneven chunks, all rows looked at.
 */
#include <math.h>
#include "common/tmp.h"
#include "model_file.h"
#include "npu_llm.h"
#include "reference.h"
#include "tap.h"

#define NUM	41

/* The largest distance of a row's logits from the reference, relative to the row's size. */
static double distance(const float *got, const double *want, int vocab)
{
	double diff = 0, size = 0;
	int i;

	for (i = 0; i < vocab; i++) {
		diff += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
		size += want[i] * want[i];
	}
	return sqrt(diff / size);
}

static int argmax(const float *v, int n)
{
	int i, best = 0;

	for (i = 1; i < n; i++)
		if (v[i] > v[best])
			best = i;
	return best;
}

/* All rows by batches of at most 17; returns the largest distance, or infinity. */
static double run_rows(struct npu_llm *llm, const int32_t *tokens, const double *want, int vocab)
{
	struct npu_error err = { .text = "" };
	struct npu_llm_session *s = NULL;
	struct npu_llm_batch *b = NULL;
	double worst = 0, d;
	int at, n, i;

	if (npu_llm_session_create(llm, &s, &err) || npu_llm_batch_create(llm, &b, &err))
		worst = INFINITY;
	for (at = 0; at < NUM && worst < INFINITY; at += n) {
		n = NUM - at < 17 ? NUM - at : 17;
		npu_llm_batch_clear(b);
		if (npu_llm_batch_add(b, s, tokens + at, (uint32_t)n, NPU_LLM_WANT_ALL, &err) < 0 ||
		    npu_llm_batch_run(b, &err)) {
			tap_diag("%s", err.text);
			worst = INFINITY;
			break;
		}
		for (i = 0; i < n; i++) {
			const float *row = npu_llm_batch_logits(b, 0, (unsigned int)i);

			d = distance(row, want + (at + i) * vocab, vocab);
			worst = !(d <= worst) ? d : worst;
			if (npu_llm_batch_argmax(b, 0, (unsigned int)i) != argmax(row, vocab))
				worst = INFINITY;
		}
	}
	npu_llm_batch_destroy(b);
	npu_llm_session_destroy(s);
	return worst;
}

static enum npu_llm_activation activations;	/* of what is compiled */
/*
 * Float64 has the same codes, and keys and values in f16. Then nothing is apart but roundings to f32,
 * unless these take a value that lies between two codes to the other one.
 */
static bool codes;
static int tried, exact;	/* models with codes, and those where no value was */

static void check(const struct model_spec *spec, enum npu_llm_kv kv, double bound, const char *what)
{
	struct npu_llm_compile_options opt = NPU_INIT(opt);
	struct npu_error err = { .text = "" };
	char gguf[256], npu[256];
	struct npu_gguf *g = NULL;
	struct npu_llm *llm = NULL;
	int32_t tokens[NUM];
	double *want = NULL, d = INFINITY;
	int i, vocab = 0;

	snprintf(gguf, sizeof(gguf), "%s", tmp_path("model.gguf"));
	snprintf(npu, sizeof(npu), "%s", tmp_path("model.npu"));
	for (i = 0; i < NUM; i++)
		tokens[i] = (int32_t)((unsigned int)(i * i * 7 + i * 31 + 5) % spec->vocab);
	opt.kv = kv;
	opt.activations = activations;
	opt.context = 64;
	if (model_write(spec, gguf) && !npu_gguf_open(gguf, &g, &err))
		want = reference_logits(g, tokens, NUM,
					&(struct reference_how){ .long_context = spec->original &&
										 64 > spec->original,
								 .codes = codes, .half_cache = codes },
					&vocab);
	if (want && !npu_llm_compile(gguf, npu, &opt, NULL, &err) &&
	    !npu_llm_open(npu, &(struct npu_llm_options){ .size = sizeof(struct npu_llm_options),
							  .device = "sim:threads=2" }, &llm, &err))
		d = run_rows(llm, tokens, want, vocab);
	tried += codes;
	exact += codes && d < 1e-6;
	tap_ok(d < bound, "%s %s: relative error %.2e, bound %.0e%s%s", spec->arch, what, d, bound,
	       *err.text ? ": " : "", err.text);
	npu_llm_close(llm);
	npu_gguf_close(g);
	free(want);
}

static void check_arch(const char *arch)
{
	struct model_spec s = model_spec_of(arch);

	check(&s, NPU_LLM_KV_F32, 1e-5, "f32, cache f32");
	check(&s, NPU_LLM_KV_F16, 1e-3, "f32, cache f16");
	check(&s, NPU_LLM_KV_I8, 2e-2, "f32, cache int8");
	s.type = FILE_F16;
	check(&s, NPU_LLM_KV_F16, 1e-3, "f16");
	s.type = FILE_BF16;
	check(&s, NPU_LLM_KV_F16, 1e-3, "bf16");
	s.type = FILE_Q8_0;
	check(&s, NPU_LLM_KV_F16, 1e-3, "Q8_0, activations f32");
	s.type = FILE_Q4_0;
	check(&s, NPU_LLM_KV_F16, 1e-3, "Q4_0, activations f32");
	activations = NPU_LLM_ACT_I8;
	check(&s, NPU_LLM_KV_F16, 3e-2, "Q4_0, activations int8");
	s.type = FILE_Q8_0;
	check(&s, NPU_LLM_KV_F16, 3e-2, "Q8_0, activations int8");
	codes = true;
	check(&s, NPU_LLM_KV_F16, 2e-2, "Q8_0, activations int8, float64 with the same");
	s.type = FILE_Q4_0;
	check(&s, NPU_LLM_KV_F16, 2e-2, "Q4_0, activations int8, float64 with the same");
	codes = false;
	activations = NPU_LLM_ACT_AUTO;
}

static void check_rope(void)
{
	struct model_spec s = model_spec_of("llama");

	s.rope_dims = 10;
	check(&s, NPU_LLM_KV_F32, 1e-5, "10 of 16 elements rotated");
	s.rope_dims = 0;
	s.rope_freqs = true;
	check(&s, NPU_LLM_KV_F32, 1e-5, "a tensor of frequency divisors");
	s.rope_freqs = false;
	s.scaling = "linear";
	s.factor = 4;
	check(&s, NPU_LLM_KV_F32, 1e-5, "linear scaling");
	s.scaling = "yarn";
	s.original = 64;
	check(&s, NPU_LLM_KV_F32, 1e-5, "yarn scaling");
	s = model_spec_of("gemma3");
	s.scaling = "linear";
	s.factor = 8;
	check(&s, NPU_LLM_KV_F32, 1e-5, "linear scaling of global layers");
	s = model_spec_of("phi3");
	s.scaling = "longrope";
	s.factor = 1;
	s.original = 32;
	check(&s, NPU_LLM_KV_F32, 1e-5, "long factors");
	s.original = 128;
	check(&s, NPU_LLM_KV_F32, 1e-5, "short factors");
	s.window = 20;
	check(&s, NPU_LLM_KV_F32, 1e-5, "a window");
}

int main(void)
{
	static const char *const archs[] = { "llama", "qwen2", "qwen3", "gemma2", "gemma3", "phi3" };
	struct model_spec s = model_spec_of("llama");
	unsigned int i;

	for (i = 0; i < sizeof(archs) / sizeof(archs[0]); i++)
		check_arch(archs[i]);
	tap_ok(exact * 2 > tried, "%d of %d models are within 1e-6 of float64 with the same codes", exact,
	       tried);
	check_rope();
	s.untied = s.bias = true;
	s.heads = 6;
	s.kv_heads = 3;
	s.ff = 100;
	s.vocab = 37;
	check(&s, NPU_LLM_KV_F32, 1e-5, "odd sizes, biases, untied");
	return tap_done();
}
