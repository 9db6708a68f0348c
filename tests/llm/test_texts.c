// SPDX-License-Identifier: MIT
/*
 * Texts that llama.cpp wrote, word for word: greedy, from files of llama-completion (Debian's
 * 0.7.0)
 *
 *	llama-completion -m FILE -p "Once upon a time" -n 200 --temp 0 -no-cnv --no-warmup -t 1
 *		--no-perf --simple-io
 *
 * in tests/data, without the space in front and the newline behind. The quantized files of kjv have
 * logits so close together that llama.cpp itself writes other texts with its flash attention on and
 * off; there every token of its texts must be the best one here too, or as good as the best.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/file.h"
#include "common/tmp.h"
#include "npu_llm.h"
#include "shared.h"
#include "tap.h"

#define CLOSE	0.1		/* of logits that may be taken for each other */

struct opened {
	struct npu_llm *llm;
	struct npu_tokenizer *tok;
	struct npu_llm_info info;
};

static bool open_model(struct opened *m, const char *gguf)
{
	struct npu_error err = { .text = "" };
	const char *npu = tmp_path("model.npu");
	const void *meta;
	size_t size;

	*m = (struct opened){ .info = NPU_INIT(m->info) };
	if (npu_llm_compile(gguf, npu, NULL, NULL, &err) || npu_llm_open(npu, NULL, &m->llm, &err)) {
		tap_diag("%s", err.text);
		return false;
	}
	meta = npu_llm_metadata(m->llm, &size);
	npu_llm_info(m->llm, &m->info);
	if (!npu_tokenizer_parse(meta, size, npu, &m->tok, &err))
		return true;
	tap_diag("%s", err.text);
	npu_llm_close(m->llm);
	return false;
}

static void close_model(struct opened *m)
{
	npu_tokenizer_close(m->tok);
	npu_llm_close(m->llm);
}

/* Prompt and @num greedy tokens as text, by the NPU's own arg-max. */
static char *write_text(const struct opened *m, const char *prompt, int num)
{
	int32_t *ids = calloc((size_t)num + 256, sizeof(*ids));
	struct npu_llm_session *s = NULL;
	struct npu_llm_batch *b = NULL;
	char *text = calloc(1, 65536);
	size_t n = 0, size = 0;
	uint32_t at = 0;
	bool ok = !npu_tokenizer_encode(m->tok, prompt, strlen(prompt), NPU_TOKENIZE_ADD, ids, 256,
					&n, NULL) &&
		  !npu_llm_session_create(m->llm, &s, NULL) && !npu_llm_batch_create(m->llm, &b, NULL);

	for (; ok && num; num--, at = (uint32_t)n++) {
		npu_llm_batch_clear(b);
		ok = npu_llm_batch_add(b, s, ids + at, (uint32_t)n - at, NPU_LLM_WANT_LAST, NULL) == 0 &&
		     !npu_llm_batch_run(b, NULL);
		ids[n] = npu_llm_batch_argmax(b, 0, 0);
	}
	ok = ok && !npu_tokenizer_decode(m->tok, ids, n, 0, text, 65535, &size, NULL);
	npu_llm_batch_destroy(b);
	npu_llm_session_destroy(s);
	free(ids);
	if (ok)
		return text;
	free(text);
	return NULL;
}

static void check_equal(const char *model, const char *golden)
{
	char path[512];
	const char *gguf;
	struct opened m;
	size_t size;
	char *want, *got;

	snprintf(path, sizeof(path), "tests/data/%s", golden);
	gguf = shared_path(model);
	if (access(gguf, R_OK)) {
		tap_skip(model, "the model is not there");
		return;
	}
	want = test_read_file(path, &size);
	if (!tap_ok(want && open_model(&m, gguf), "%s", model)) {
		free(want);
		return;
	}
	got = write_text(&m, "Once upon a time", 200);
	tap_ok(got && !strcmp(got, want), "200 tokens as llama.cpp writes them: ...%.60s",
	       got && strlen(got) > 60 ? got + strlen(got) - 60 : "nothing");
	if (got && strcmp(got, want))
		tap_diag("got:  %s\n# want: %s", got, want);
	free(got);
	free(want);
	close_model(&m);
}

/*
 * Give @text token by token and look where another token is better: how often, and by how much at
 * most.
 */
static bool follow(const struct opened *m, const char *prompt, const char *text, int *parts,
		   double *gap)
{
	int32_t *ids = calloc(1024, sizeof(*ids));
	struct npu_llm_session *s = NULL;
	const float *logits;
	size_t begin = 0, n = 0, i;
	bool ok = !npu_tokenizer_encode(m->tok, prompt, strlen(prompt), NPU_TOKENIZE_ADD, ids, 1024,
					&begin, NULL) &&
		  !npu_tokenizer_encode(m->tok, text, strlen(text), NPU_TOKENIZE_ADD, ids, 1024, &n,
					NULL) && n > begin && !npu_llm_session_create(m->llm, &s, NULL);

	*parts = 0;
	*gap = 0;
	for (i = 0; ok && i + 1 < n; i++) {
		double best = -1e30;
		uint32_t k;

		ok = !npu_llm_decode(s, ids[i], &logits, NULL);
		for (k = 0; ok && k < m->info.vocab; k++)
			best = (double)logits[k] > best ? (double)logits[k] : best;
		if (!ok || i + 1 < begin || best == (double)logits[ids[i + 1]])
			continue;
		++*parts;
		best -= (double)logits[ids[i + 1]];
		*gap = best > *gap ? best : *gap;
	}
	npu_llm_session_destroy(s);
	free(ids);
	return ok;
}

/* The texts of one file in the README: a line with the prompt in backticks, then a block. */
static void check_section(const struct opened *m, const char *name, char *section, bool equal)
{
	char *p = section, *end, *prompt, *text;
	int parts = 0, texts = 0;
	double gap = 0;
	bool ok;

	for (; (p = strstr(p, "\nPrompt `")); texts++) {
		prompt = p + 9;
		p = strchr(prompt, '`');
		*p = 0;
		text = strstr(p + 1, "```\n") + 4;
		text += *text == ' ';
		end = strstr(text, "\n```");
		*end = 0;
		p = end + 1;
		ok = follow(m, prompt, text, &parts, &gap) &&
		     (equal ? !parts : gap < CLOSE && parts < 4);
		tap_ok(ok, "%s, \"%s\": %d tokens are not the best, by %.3f at most", name, prompt, parts,
		       gap);
	}
	tap_ok(texts == 3, "%s: %d texts", name, texts);
}

static void check_kjv(const char *name, const char *gguf, const char *readme_path, bool equal)
{
	size_t size;
	char *readme = test_read_file(readme_path, &size), *section, *next;
	char head[64];
	struct opened m;

	snprintf(head, sizeof(head), "### %s", name);
	section = readme ? strstr(readme, head) : NULL;
	if (access(gguf, R_OK) || !readme) {
		tap_skip(name, "the model is not there");
	} else if (tap_ok(section && open_model(&m, gguf), "%s", name)) {
		next = strstr(section + 4, "\n### ");
		if (next)
			*next = 0;
		check_section(&m, name, section, equal);
		close_model(&m);
	}
	free(readme);
}

/* The others are not in the tree. */
static void check_shared(const char *name, bool equal)
{
	char gguf[4200], readme[4200], path[64];

	snprintf(path, sizeof(path), "kjv/%s", name);
	snprintf(gguf, sizeof(gguf), "%s", shared_path(path));
	snprintf(readme, sizeof(readme), "%s", shared_path("kjv/README.md"));
	check_kjv(name, gguf, readme, equal);
}

int main(void)
{
	check_equal("stories260K-f32.gguf", "stories260K-f32.txt");
	check_equal("stories260K-Q8_0.gguf", "stories260K-Q8_0.txt");
	check_kjv("kjv-Q8_0.gguf", "models/kjv/kjv-Q8_0.gguf", "models/kjv/README.md", false);
	check_shared("kjv-f16.gguf", true);
	check_shared("kjv-Q4_0.gguf", false);
	check_shared("kjv-Q4_K_M.gguf", false);
	return tap_done();
}
