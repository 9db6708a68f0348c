// SPDX-License-Identifier: MIT
/* What a model must not have is refused by name, and what options must not say. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "common/file.h"
#include "common/tmp.h"
#include "core/jobfile.h"
#include "model_file.h"
#include "npu_llm.h"
#include "tap.h"

static void refused(const struct model_spec *s, const struct npu_llm_compile_options *o, int code,
		    const char *text, const char *what)
{
	struct npu_error err = { .text = "" };
	char gguf[256], npu[256];
	int ret;

	snprintf(gguf, sizeof(gguf), "%s", tmp_path("bad.gguf"));
	snprintf(npu, sizeof(npu), "%s", tmp_path("bad.npu"));
	ret = model_write(s, gguf) ? npu_llm_compile(gguf, npu, o, NULL, &err) : -EIO;
	tap_ok(ret == code && strstr(err.text, text) && access(npu, F_OK), "%s: %s", what, err.text);
}

static void check_models(void)
{
	struct model_spec s = model_spec_of("llama");

	s.arch = "mamba";
	refused(&s, NULL, -ENOTSUP, "architecture 'mamba'", "an unknown architecture");
	s = model_spec_of("llama");
	s.extra_tensor = "blk.1.ffn_gate_inp.weight";
	refused(&s, NULL, -ENOTSUP, "'blk.1.ffn_gate_inp.weight'", "an unknown tensor");
	s = model_spec_of("llama");
	s.extra_tensor = "blk.1.attn_q_norm.weight";
	refused(&s, NULL, -ENOTSUP, "'blk.1.attn_q_norm.weight'", "a tensor of another architecture");
	s = model_spec_of("qwen3");
	s.leave_out = "blk.2.attn_k_norm.weight";
	refused(&s, NULL, -EINVAL, "'blk.2.attn_k_norm.weight' is missing", "a missing tensor");
	s = model_spec_of("llama");
	s.wrong_ff = 64;
	refused(&s, NULL, -EINVAL, "'blk.0.ffn_down.weight' is 64 x 64, expected 96 x 64",
		"a shape that does not agree");
	s = model_spec_of("llama");
	s.extra_key = "attention.clamp_kqv";
	refused(&s, NULL, -ENOTSUP, "'llama.attention.clamp_kqv'", "an unknown hyperparameter");
	s.extra_key = "expert_count";
	refused(&s, NULL, -ENOTSUP, "experts", "a mixture of experts");
	s = model_spec_of("llama");
	s.scaling = "su";
	s.factor = 2;
	refused(&s, NULL, -ENOTSUP, "rope scaling 'su'", "an unknown scaling");
	s.scaling = "linear";
	s.factor = -2;
	refused(&s, NULL, -EINVAL, "scaling factor -2", "a negative scaling factor");
	s = model_spec_of("llama");
	s.kv_heads = 3;
	refused(&s, NULL, -EINVAL, "do not fit", "heads that kv heads do not divide");
	s = model_spec_of("llama");
	s.rope_dims = 18;
	refused(&s, NULL, -EINVAL, "do not fit", "more elements rotated than there are");
	s = model_spec_of("gemma3");
	s.rope_freqs = true;
	refused(&s, NULL, -ENOTSUP, "some layers only", "frequency divisors beside two bases");
}

static void check_options(void)
{
	struct npu_llm_compile_options o = NPU_INIT(o);
	struct model_spec s = model_spec_of("llama");

	o.quant = NPU_LLM_NUM_QUANTS;
	refused(&s, &o, -EINVAL, "quant is", "a quantization that is not there");
	o.quant = 0;
	o.context = 1u << 30;
	refused(&s, &o, -EINVAL, "context is", "a context without end");
	o.context = 0;
	o.batch = 100000;
	refused(&s, &o, -EINVAL, "batch is", "a batch without end");
	o.batch = 0;
	o.chunk = 100000;
	refused(&s, &o, -EINVAL, "chunk is", "a chunk without end");
}

static void check_files(void)
{
	struct npu_error err = { .text = "" };
	struct npu_llm *llm = (void *)1;
	struct model_spec s = model_spec_of("llama");
	const char *gguf = tmp_path("good.gguf"), *npu = tmp_path("good.npu");
	struct npu_llm_options o = NPU_INIT(o);

	tap_ok(npu_llm_compile(tmp_path("none"), npu, NULL, NULL, &err) == -ENOENT, "no file: %s",
	       err.text);
	tap_ok(npu_llm_compile(NULL, npu, NULL, NULL, &err) == -EINVAL, "NULL: %s", err.text);
	tap_ok(model_write(&s, gguf) && !npu_llm_compile(gguf, npu, NULL, NULL, &err),
	       "a good one%s", err.text);
	tap_ok(npu_llm_open(gguf, NULL, &llm, &err) == -EBADMSG && !llm, "open a GGUF file: %s",
	       err.text);
	o.pool = 1u << 30;
	tap_ok(npu_llm_open(npu, &o, &llm, &err) == -EINVAL && strstr(err.text, "pool"),
	       "a pool beyond the job's: %s", err.text);
	o.pool = 0;
	o.device = "sim:thread=1";
	tap_ok(npu_llm_open(npu, &o, &llm, &err) == -EINVAL, "a device option: %s", err.text);
}

/* A good job file in which one tensor after the other has another name: each is missed. */
static void check_jobs(void)
{
	struct npu_jobfile_tensor tensors[32];
	struct npu_jobfile_program program;
	struct npu_error err = { .text = "" };
	struct npu_jobfile *file, copy;
	size_t size = 0;
	void *data = test_read_file(tmp_path("good.npu"), &size);
	struct npu_llm *llm;
	uint32_t i;

	if (!tap_ok(data && !npu_jobfile_parse(data, size, 0, &file, &err), "parse%s", err.text))
		return;
	for (i = 0; i < file->programs[0].num_tensors; i++) {
		copy = *file;
		program = file->programs[0];
		memcpy(tensors, program.tensors, program.num_tensors * sizeof(*tensors));
		program.tensors = tensors;
		copy.programs = &program;
		tensors[i].name = "another";
		tap_ok(!npu_jobfile_save(&copy, tmp_path("other.npu"), &err) &&
		       npu_llm_open(tmp_path("other.npu"), NULL, &llm, &err) == -EINVAL &&
		       strstr(err.text, file->programs[0].tensors[i].name), "without '%s': %s",
		       file->programs[0].tensors[i].name, err.text);
	}
	npu_jobfile_free(file);
	free(data);
}

int main(void)
{
	check_models();
	check_options();
	check_files();
	check_jobs();
	return tap_done();
}
