// SPDX-License-Identifier: MIT
/*
 * Texts that llama.cpp wrote, word for word: greedy, from files of llama-completion (Debian's
 * 0.7.0)
 *
 *	llama-completion -m FILE -p "Once upon a time" -n 200 --temp 0 -no-cnv --no-warmup -t 1
 *		--no-perf --simple-io
 *
 * in tests/data, without the space in front and the newline behind, and in the README of kjv.
 *
 * With activations of eight bits a logit is not known better than some hundredths: a value that lies
 * between two codes goes to one or the other by the last bit of an f32, and a few layers later all
 * codes are other ones. So much lies between float64 with llama.cpp's codes and the same with results
 * rounded to f32, which is measured here for each text. Where its two best tokens are closer than that
 * llama.cpp itself writes several texts, by processor and with its flash attention on and off
 * (Documentation/language-models.md). A text that is another one here has to part at such a place.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/file.h"
#include "common/tmp.h"
#include "npu_llm.h"
#include "reference.h"
#include "shared.h"
#include "tap.h"

#define CLOSE	4		/* standard deviations */
#define MAX_TEXT	256	/* tokens */

struct opened {
	struct npu_gguf *gguf;
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
	if (!npu_tokenizer_parse(meta, size, npu, &m->tok, &err) &&
	    !npu_gguf_open(gguf, &m->gguf, &err))
		return true;
	tap_diag("%s", err.text);
	npu_tokenizer_close(m->tok);
	npu_llm_close(m->llm);
	return false;
}

static void close_model(struct opened *m)
{
	npu_gguf_close(m->gguf);
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

/* ---- texts of kjv ---- */

/* A text of llama.cpp's, and logits after each of its tokens: here, and in float64. */
struct text {
	const struct opened *m;
	int32_t ids[MAX_TEXT];
	size_t begin, num;		/* tokens of the prompt, and of all */
	double *here, *exact, *single;	/* [num][vocab]; single: rounded to f32 on the way */
};

static bool read_tokens(struct text *t, const char *prompt, const char *text)
{
	const struct npu_tokenizer *tok = t->m->tok;

	return !npu_tokenizer_encode(tok, prompt, strlen(prompt), NPU_TOKENIZE_ADD, t->ids, MAX_TEXT,
				     &t->begin, NULL) &&
	       !npu_tokenizer_encode(tok, text, strlen(text), NPU_TOKENIZE_ADD, t->ids, MAX_TEXT, &t->num,
				     NULL) && t->num > t->begin;
}

static double *our_logits(const struct text *t)
{
	size_t vocab = t->m->info.vocab, i, k;
	double *out = calloc(t->num * vocab, sizeof(*out));
	struct npu_llm_session *s = NULL;
	const float *logits;
	bool ok = !npu_llm_session_create(t->m->llm, &s, NULL);

	for (i = 0; ok && i < t->num; i++) {
		ok = !npu_llm_decode(s, t->ids[i], &logits, NULL);
		for (k = 0; ok && k < vocab; k++)
			out[i * vocab + k] = (double)logits[k];
	}
	npu_llm_session_destroy(s);
	if (ok)
		return out;
	free(out);
	return NULL;
}

/* llama.cpp's arithmetic. */
static double *float64_logits(const struct text *t, bool single)
{
	struct reference_how how = { .single = single, .codes = true, .half_cache = true,
				     .half_query = true, .half_sum = true };
	int vocab;

	return reference_logits(t->m->gguf, t->ids, (int)t->num, &how, &vocab);
}

/* Standard deviation of the logits of the text behind the prompt. */
static double apart(const struct text *t, const double *a, const double *b)
{
	size_t i, vocab = t->m->info.vocab;
	double sum = 0;

	for (i = t->begin * vocab; i < t->num * vocab; i++)
		sum += (a[i] - b[i]) * (a[i] - b[i]);
	return sqrt(sum / (double)((t->num - t->begin) * vocab));
}

static size_t best_of(const double *logits, size_t vocab)
{
	size_t best = 0, k;

	for (k = 1; k < vocab; k++)
		best = logits[k] > logits[best] ? k : best;
	return best;
}

/*
 * Every token of the text is the best one here too, or nearly; @noise: how far apart the logits of
 * two programs are that do the same. Returns how many are not the best.
 */
static int check_tokens(const struct text *t, const char *name, const char *prompt, double noise)
{
	size_t vocab = t->m->info.vocab, i, best, want;
	int parts = 0, bad = 0;

	for (i = t->begin - 1; i + 1 < t->num; i++) {
		const double *here = t->here + i * vocab, *exact = t->exact + i * vocab;
		double gap, far;

		best = best_of(here, vocab);
		want = (size_t)t->ids[i + 1];
		if (best == want)
			continue;
		gap = here[best] - here[want];
		far = exact[want] - exact[best];
		tap_diag("%s, \"%s\", token %zu: %zu is better than llama.cpp's %zu by %.4f, in float64 with its codes by %.4f",
			 name, prompt, i + 1 - t->begin, best, want, gap, -far);
		parts++;
		bad += !(gap < CLOSE * noise && fabs(far) < CLOSE * noise);
	}
	tap_ok(!bad, "%s, \"%s\": %d of %zu tokens are not the best, none by more than %.3f", name, prompt,
	       parts, t->num - t->begin, CLOSE * noise);
	return parts;
}

static void check_text(const struct opened *m, const char *name, const char *prompt, const char *text,
		       bool equal)
{
	struct text t = { .m = m };
	char *got = write_text(m, prompt, 100);
	double noise, off;

	tap_ok(got && !strcmp(got, text) == equal, "%s, \"%s\": %s", name, prompt,
	       equal ? "word for word" : "another text, as two tokens are as good as each other");
	if (equal && got && strcmp(got, text))
		tap_diag("got:  %s\n# want: %s", got, text);
	free(got);
	if (read_tokens(&t, prompt, text)) {
		t.here = our_logits(&t);
		t.exact = float64_logits(&t, false);
		t.single = float64_logits(&t, true);
	}
	if (tap_ok(t.here && t.exact && t.single, "its logits")) {
		noise = apart(&t, t.exact, t.single);
		off = apart(&t, t.here, t.exact);
		tap_ok(off < 2.5 * noise, "they are %.4f from float64 with llama.cpp's codes, rounding to f32 makes %.4f",
		       off, noise);
		noise = noise > off ? noise : off;
		tap_ok(check_tokens(&t, name, prompt, noise) ? !equal : equal,
		       "so the text is %s", equal ? "the same" : "another one");
	}
	free(t.here);
	free(t.exact);
	free(t.single);
}

/* The texts of one file in the README: a line with the prompt in backticks, then a block. */
static void check_section(const struct opened *m, const char *name, char *section, unsigned int equal)
{
	char *p = section, *end, *prompt, *text;
	int texts = 0;

	for (; (p = strstr(p, "\nPrompt `")); texts++, equal >>= 1) {
		prompt = p + 9;
		p = strchr(prompt, '`');
		*p = 0;
		text = strstr(p + 1, "```\n") + 4;
		text += *text == ' ';
		end = strstr(text, "\n```");
		*end = 0;
		p = end + 1;
		check_text(m, name, prompt, text, equal & 1);
	}
	tap_ok(texts == 3, "%s: %d texts", name, texts);
}

/* @equal: a bit for each text, the first lowest. */
static void check_kjv(const char *name, const char *gguf, const char *readme_path, unsigned int equal)
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
static void check_shared(const char *name, unsigned int equal)
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
	check_kjv("kjv-Q8_0.gguf", "models/kjv/kjv-Q8_0.gguf", "models/kjv/README.md", 6);
	check_shared("kjv-f16.gguf", 7);
	check_shared("kjv-Q4_0.gguf", 7);
	check_shared("kjv-Q4_K_M.gguf", 4);
	return tap_done();
}
