// SPDX-License-Identifier: MIT
/* The architectures: a row for each, of what it has beside the plain decoder block. */
#include <string.h>
#include "llm/model.h"

static const struct npu_llm_arch archs[] = {
	{
		.name = "llama",	/* Mistral, SmolLM and TinyLlama are of this shape, too */
		.pairing = NPU_ROPE_ADJACENT,
		.act = NPU_ACT_SILU,
		.has = NPU_LLM_TIED,
	},
	{
		.name = "qwen2",
		.pairing = NPU_ROPE_HALVES,
		.act = NPU_ACT_SILU,
		.has = NPU_LLM_TIED,
	},
	{
		.name = "qwen3",
		.pairing = NPU_ROPE_HALVES,
		.act = NPU_ACT_SILU,
		.has = NPU_LLM_TIED | NPU_LLM_QK_NORM,
	},
	{
		.name = "gemma2",
		.pairing = NPU_ROPE_HALVES,
		.act = NPU_ACT_GELU_TANH,
		.has = NPU_LLM_TIED | NPU_LLM_POST_NORM | NPU_LLM_EMBED_SCALE | NPU_LLM_WIDE_SCALE,
		.window_period = 2,
		.wide_layers = 46,
		.score_cap = 50,
		.logit_cap = 30,
	},
	{
		.name = "gemma3",
		.pairing = NPU_ROPE_HALVES,
		.act = NPU_ACT_GELU_TANH,
		.has = NPU_LLM_TIED | NPU_LLM_POST_NORM | NPU_LLM_EMBED_SCALE | NPU_LLM_QK_NORM |
		       NPU_LLM_WIDE_SCALE,
		.window_period = 6,
		.wide_layers = 62,
		.local_base = 10000,
	},
	{
		.name = "phi3",
		.pairing = NPU_ROPE_HALVES,
		.act = NPU_ACT_SILU,
		.has = NPU_LLM_TIED | NPU_LLM_QKV_FUSED | NPU_LLM_GATE_FUSED,
	},
};

const struct npu_llm_arch *npu_llm_arch_at(unsigned int i)
{
	return i < sizeof(archs) / sizeof(archs[0]) ? &archs[i] : NULL;
}

const struct npu_llm_arch *npu_llm_arch_find(const char *name)
{
	const struct npu_llm_arch *a;
	unsigned int i;

	for (i = 0; (a = npu_llm_arch_at(i)); i++)
		if (!strcmp(a->name, name))
			return a;
	return NULL;
}
