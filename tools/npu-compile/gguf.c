// SPDX-License-Identifier: MIT
/* Language models: what npu-compile does when it is given a GGUF file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gguf.h"

bool gguf_is_one(const char *path)
{
	char magic[4] = "";
	FILE *f = fopen(path, "rbe");
	size_t len = strlen(path);
	bool named = len > 5 && !strcmp(path + len - 5, ".gguf");
	bool is = f ? fread(magic, 1, 4, f) == 4 && !memcmp(magic, "GGUF", 4) : named;

	if (f)
		fclose(f);
	return is;
}

static double mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

int gguf_compile(const char *model, const char *output, const struct npu_llm_compile_options *o,
		 bool quiet)
{
	struct npu_llm_compile_summary s = NPU_INIT(s);
	struct npu_error err;
	int ret = npu_llm_compile(model, output, o, &s, &err);

	if (ret) {
		fprintf(stderr, "npu-compile: %s\n", err.text);
		return ret;
	}
	if (quiet)
		return 0;
	printf("%s: %.1f M parameters, %u instructions; weights %.1f MiB (%.2f bits a weight), "
	       "KV cache %.1f KiB a token, at most %.1f MiB; scratch up to %.1f MiB in steps of up to %u tokens\n",
	       output, (double)s.parameters / 1e6, s.insns, mib(s.weights),
	       8.0 * (double)s.weights / (double)s.parameters, (double)s.kv_per_token / 1024,
	       mib(s.pool), mib(s.scratch), s.chunk);
	return 0;
}
