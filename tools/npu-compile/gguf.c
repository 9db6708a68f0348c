// SPDX-License-Identifier: MIT
/* Language models: what npu-compile does when it is given a GGUF file. */
#include <errno.h>
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

/* The number of the name @s in a list of names, or -EINVAL with the list on stderr. */
static int pick(const char *option, const char *s, const char *(*name)(unsigned int))
{
	unsigned int i;

	for (i = 0; name(i); i++)
		if (!strcmp(s, name(i)))
			return (int)i;
	fprintf(stderr, "npu-compile: %s %s: expected", option, s);
	for (i = 0; name(i); i++)
		fprintf(stderr, "%s %s", i ? "," : "", name(i));
	fputc('\n', stderr);
	return -EINVAL;
}

static const char *quant_name(unsigned int i)
{
	return npu_llm_quant_name(i);
}

static const char *kv_name(unsigned int i)
{
	return npu_llm_kv_name(i);
}

static const char *act_name(unsigned int i)
{
	return npu_llm_activation_name(i);
}

static int number(const char *option, const char *s, uint32_t *v)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(s, &end, 10);
	if (errno || end == s || *end || *s == '-' || !n || n > UINT32_MAX) {
		fprintf(stderr, "npu-compile: %s %s: expected a number from 1 on\n", option, s);
		return -EINVAL;
	}
	*v = (uint32_t)n;
	return 0;
}

int gguf_take_option(struct npu_llm_compile_options *o, enum gguf_option option, const char *s)
{
	int i;

	switch (option) {
	case GGUF_QUANT:
		i = pick("--quant", s, quant_name);
		o->quant = i < 0 ? 0 : (uint32_t)i;
		return i < 0 ? i : 0;
	case GGUF_KV:
		i = pick("--kv", s, kv_name);
		o->kv = i < 0 ? 0 : (uint32_t)i;
		return i < 0 ? i : 0;
	case GGUF_ACT:
		i = pick("--activations", s, act_name);
		o->activations = i < 0 ? 0 : (uint32_t)i;
		return i < 0 ? i : 0;
	case GGUF_CONTEXT:
		return number("--context", s, &o->context);
	case GGUF_BATCH:
		return number("--batch", s, &o->batch);
	case GGUF_CHUNK:
		return number("--chunk", s, &o->chunk);
	default:
		return number("--pool", s, &o->pool);
	}
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
