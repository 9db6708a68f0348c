// SPDX-License-Identifier: MIT
/*
 * llm_model FILE: a llama of 124.7 M random weights in f16, for comparisons of speed: 12 layers of
 * 768, 12 heads of 64 over 4 kv heads, 2048 in between, 32000 tokens.
 */
#include <stdio.h>
#include "llm/model_file.h"

int main(int argc, char **argv)
{
	const struct model_spec s = {
		.arch = "llama", .dim = 768, .layers = 12, .heads = 12, .kv_heads = 4,
		.head_dim = 64, .ff = 2048, .vocab = 32000, .context = 2048, .type = FILE_F16,
		.untied = true, .tokenizer = true, .seed = 88172645463325252ull,
	};

	if (argc == 2 && model_write(&s, argv[1]))
		return 0;
	fprintf(stderr, "usage: llm_model FILE.gguf\n");
	return 1;
}
