// SPDX-License-Identifier: MIT
/* npu-llm: text from a language model that npu-compile made. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"
#include "llm.h"

int model_encode(const struct model *m, const char *text, size_t size, unsigned int flags,
		 int32_t **ids, size_t *num, struct npu_error *err)
{
	int ret = npu_tokenizer_encode(m->tok, text, size, flags, NULL, 0, num, err);

	if (ret && ret != -ENOSPC)
		return ret;
	*ids = malloc((*num + 1) * sizeof(**ids));
	if (!*ids)
		return npu_error_set(err, -ENOMEM, "no memory for %zu tokens", *num);
	return npu_tokenizer_encode(m->tok, text, size, flags, *ids, *num, num, err);
}

static int open_models(struct model *m, const struct options *o, struct npu_error *err)
{
	struct npu_device_options dev = NPU_INIT(dev);
	struct npu_llm_options opt = NPU_INIT(opt);
	int ret;

	dev.threads = o->threads;
	opt.pool = o->pool;
	opt.kv_budget = o->kv_budget;
	opt.device = o->device;
	opt.device_options = &dev;
	opt.flags = o->info ? NPU_LLM_LOOK : 0;
	ret = npu_llm_open(o->model, &opt, &m->llm, err);
	if (ret || !o->speculate_model)
		return ret;
	opt.pool = 0;
	opt.kv_budget = 0;
	return npu_llm_open(o->speculate_model, &opt, &m->small, err);
}

static int open_model(struct model *m, const struct options *o, struct npu_error *err)
{
	const void *meta;
	size_t size;
	int ret;

	interrupt_block(true);		/* the threads that are started here inherit it */
	ret = open_models(m, o, err);
	interrupt_block(false);
	if (ret)
		return ret;
	m->info = (struct npu_llm_info)NPU_INIT(m->info);
	m->vocab = (struct npu_tokenizer_info)NPU_INIT(m->vocab);
	npu_llm_info(m->llm, &m->info);
	if (o->bench || o->info)
		return 0;	/* random tokens will do, or none */
	meta = npu_llm_metadata(m->llm, &size);
	ret = npu_tokenizer_parse(meta, size, o->model, &m->tok, err);
	if (ret)
		return ret;
	npu_tokenizer_info(m->tok, &m->vocab);
	if (m->vocab.vocab == m->info.vocab)
		return 0;
	return npu_error_set(err, -EINVAL, "%s: its tokenizer has %u tokens, the model %u", o->model,
			     m->vocab.vocab, m->info.vocab);
}

static int run(const struct model *m, const struct options *o, struct npu_error *err)
{
	if (o->perplexity)
		return run_perplexity(m, o, err);
	if (o->bench)
		return run_bench(m, o, err);
	return o->chat ? run_chat(m, o, err) : run_text(m, o, err);
}

int main(int argc, char **argv)
{
	struct npu_error err = { .text = "" };
	struct model m = { .llm = NULL };
	struct options o;
	int ret = options_parse(&o, argc, argv);

	if (ret)
		return ret < 0 ? 2 : 0;
	ret = open_model(&m, &o, &err);
	if (!ret && o.info) {
		ret = run_info(&m, &err);
	} else if (!ret && o.serve) {	/* Ctrl-C means something else there */
		ret = run_serve(&m, &o, &err);
	} else if (!ret && !(ret = interrupt_begin(m.llm, &err))) {
		ret = run(&m, &o, &err);
		interrupt_end();
	}
	if (ret < 0)
		fprintf(stderr, "npu-llm: %s\n", *err.text ? err.text : strerror(-ret));
	npu_tokenizer_close(m.tok);
	npu_llm_close(m.small);
	npu_llm_close(m.llm);
	return ret < 0 || fflush(stdout) ? 1 : 0;
}
