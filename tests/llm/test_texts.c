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
 * With activations of eight bits a logit is not known better than some hundredths: a value that
 * lies between two codes goes to one or the other by the last bit of an f32, and a few layers later
 * all codes are other ones. So much lies between float64 with llama.cpp's codes and the same with
 * results rounded to f32, which is measured here for each text. Where its two best tokens are
 * closer than that llama.cpp itself writes several texts, by processor and with its flash attention
 * on and off (Documentation/language-models.md). A text that is another one here has to part at
 * such a place, and llama.cpp's arithmetic must not be sure of it either: with each result rounded
 * to one of the two f32 beside it, by chance, it must write another text, too, in some of RUNS runs
 * (in `make check-long` of LONG_RUNS, for all nine texts).
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
#define SAME	1e-5		/* of a row: no code is another one */
#define MAX_TEXT	256	/* tokens */
#define RUNS		8	/* by chance */
#define LONG_RUNS	40

struct opened {
	struct npu_gguf *gguf;
	struct reference *reference;
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
	if (npu_llm_compile(gguf, npu, NULL, NULL, &err) ||
	    npu_llm_open(npu, NULL, &m->llm, &err)) {
		tap_diag("%s", err.text);
		return false;
	}
	meta = npu_llm_metadata(m->llm, &size);
	npu_llm_info(m->llm, &m->info);
	if (!npu_tokenizer_parse(meta, size, npu, &m->tok, &err) &&
	    !npu_gguf_open(gguf, &m->gguf, &err)) {
		m->reference = reference_open(m->gguf, &(struct reference_how){ 0 }, MAX_TEXT);
		if (m->reference)
			return true;
	}
	tap_diag("%s", err.text);
	npu_gguf_close(m->gguf);
	npu_tokenizer_close(m->tok);
	npu_llm_close(m->llm);
	return false;
}

static void close_model(struct opened *m)
{
	reference_close(m->reference);
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
		  !npu_llm_session_create(m->llm, &s, NULL) &&
		  !npu_llm_batch_create(m->llm, &b, NULL);

	for (; ok && num; num--, at = (uint32_t)n++) {
		npu_llm_batch_clear(b);
		ok = !npu_llm_batch_add(b, s, ids + at, (uint32_t)n - at, NPU_LLM_WANT_LAST,
					NULL) &&
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
	double *here;			/* [num][vocab], as those of float64 */
	double *codes, *single;		/* with llama.cpp's codes; rounded to f32, too */
	double *same, *exact;		/* with the NPU's codes; with no rounding at all */
};

static bool read_tokens(struct text *t, const char *prompt, const char *text)
{
	const struct npu_tokenizer *tok = t->m->tok;

	return !npu_tokenizer_encode(tok, prompt, strlen(prompt), NPU_TOKENIZE_ADD, t->ids,
				     MAX_TEXT, &t->begin, NULL) &&
	       !npu_tokenizer_encode(tok, text, strlen(text), NPU_TOKENIZE_ADD, t->ids, MAX_TEXT,
				     &t->num, NULL) &&
	       t->num > t->begin;
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

/* llama.cpp's arithmetic, and the NPU's beside codes. */
static const struct reference_how llama = { .codes = true, .half_cache = true, .half_query = true,
					    .half_sum = true },
				  npu = { .codes = true, .half_cache = true };

static double *float64_logits(const struct text *t, struct reference_how how, bool single)
{
	size_t vocab = t->m->info.vocab, i;
	double *out = calloc(t->num * vocab, sizeof(*out));
	const double *row;

	how.single = single;
	reference_restart(t->m->reference, &how);
	for (i = 0; out && i < t->num; i++) {
		row = reference_step(t->m->reference, t->ids[i]);
		if (!row) {
			free(out);
			return NULL;
		}
		memcpy(out + i * vocab, row, vocab * sizeof(*row));
	}
	return out;
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

/* By how much the text's token at @i is better than @other; negative: worse. */
static double lead(const struct text *t, const double *logits, size_t i, size_t other)
{
	const double *row = logits + i * t->m->info.vocab;

	return row[t->ids[i + 1]] - row[other];
}

/*
 * Every token of the text is the best one here too, or nearly; @noise: how far apart the logits of
 * two programs are that do the same. Returns how many are not the best.
 */
static int check_tokens(const struct text *t, const char *name, const char *prompt, double noise)
{
	size_t vocab = t->m->info.vocab, i, best;
	int parts = 0, bad = 0;

	for (i = t->begin - 1; i + 1 < t->num; i++) {
		double gap, far;

		best = best_of(t->here + i * vocab, vocab);
		if (best == (size_t)t->ids[i + 1])
			continue;
		gap = -lead(t, t->here, i, best);
		far = lead(t, t->codes, i, best);
		tap_diag("%s, \"%s\", token %zu: llama.cpp's %d leads %zu by %.4f here, by %.4f in float64 with its codes, by %.4f in float64 that rounds nothing",
			 name, prompt, i + 1 - t->begin, t->ids[i + 1], best, -gap, far,
			 lead(t, t->exact, i, best));
		parts++;
		bad += !(gap < CLOSE * noise && fabs(far) < CLOSE * noise);
	}
	tap_ok(!bad, "%s, \"%s\": %d of %zu tokens are not the best, none by more than %.3f", name, prompt,
	       parts, t->num - t->begin, CLOSE * noise);
	return parts;
}

/* Whether arithmetic @how writes the text. */
static bool is_written(const struct text *t, const struct reference_how *how)
{
	size_t vocab = t->m->info.vocab, i;
	const double *row;

	reference_restart(t->m->reference, how);
	for (i = 0; i + 1 < t->num; i++) {
		row = reference_step(t->m->reference, t->ids[i]);
		if (!row || (i + 1 >= t->begin && best_of(row, vocab) != (size_t)t->ids[i + 1]))
			return false;
	}
	return true;
}

/* In how many of @runs it does with other last bits. */
static int count_written(const struct text *t, struct reference_how how, int runs)
{
	int i, written = 0;

	how.single = true;
	for (i = 1; i <= runs; i++) {
		how.chance = (uint64_t)i * 0x9e3779b97f4a7c15ull;
		written += is_written(t, &how);
	}
	return written;
}

/* Of the texts of quantized files: how many float64 writes; all that were tried, by chance. */
static int num_texts, num_exact;
static double sure_llama = 1, sure_npu = 1, mean_llama, mean_npu;
/* Sums of how far this stack, and llama.cpp's arithmetic, are from float64 that rounds nothing. */
static double far_here, far_llama;

static void check_chance(const struct text *t, bool equal)
{
	bool all = getenv("NPU_TEST_LONG") != NULL, exact = is_written(t, &(struct reference_how){ 0 });
	int runs = all ? LONG_RUNS : RUNS, by_llama, by_npu;

	num_texts++;
	num_exact += exact;
	if (equal && !all)
		return;
	by_llama = count_written(t, llama, runs);
	by_npu = count_written(t, npu, runs);
	sure_llama *= (double)by_llama / runs;
	sure_npu *= (double)by_npu / runs;
	mean_llama += (double)by_llama / runs;
	mean_npu += (double)by_npu / runs;
	tap_ok(equal || by_llama < runs,
	       "of %d runs with results rounded to f32 by chance %d with llama.cpp's arithmetic write the text, %d with the NPU's; float64 that rounds nothing writes %s",
	       runs, by_llama, by_npu, exact ? "it" : "another one");
}

/*
 * Until a value between two codes goes to the other one, logits are those of float64 with the same
 * codes. In the small models of test_logits.c there are prompts where none does.
 */
static void check_rows(const struct text *t)
{
	size_t vocab = t->m->info.vocab, i, k;
	double diff = 0, size;

	for (i = 0; i < t->num; i++) {
		for (diff = size = k = 0; k < vocab; k++) {
			double want = t->same[i * vocab + k];

			diff += (t->here[i * vocab + k] - want) * (t->here[i * vocab + k] - want);
			size += want * want;
		}
		if (!(diff < SAME * SAME * size))
			break;
	}
	tap_ok(i > 0, "%zu of %zu rows are those of float64 with the same codes, before one has another code", i,
	       t->num);
}

static void check_text(const struct opened *m, const char *name, const char *prompt,
		       const char *text, bool equal)
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
		t.codes = float64_logits(&t, llama, false);
		t.single = float64_logits(&t, llama, true);
		t.same = float64_logits(&t, npu, false);
		t.exact = float64_logits(&t, (struct reference_how){ 0 }, false);
	}
	if (tap_ok(t.here && t.codes && t.single && t.same && t.exact, "its logits")) {
		noise = apart(&t, t.codes, t.single);
		off = apart(&t, t.here, t.codes);
		tap_ok(off < 2.5 * noise, "they are %.4f from float64 with llama.cpp's codes, rounding to f32 makes %.4f",
		       off, noise);
		noise = noise > off ? noise : off;
		tap_ok(check_tokens(&t, name, prompt, noise) ? !equal : equal,
		       "so the text is %s", equal ? "the same" : "another one");
		if (strcmp(name, "kjv-f16.gguf")) {
			far_here += apart(&t, t.here, t.exact);
			far_llama += apart(&t, t.codes, t.exact);
			check_rows(&t);
			check_chance(&t, equal);
		}
	}
	free(t.here);
	free(t.codes);
	free(t.single);
	free(t.same);
	free(t.exact);
}

/* The texts of one file in the README: a line with the prompt in backticks, then a block. */
static void check_section(const struct opened *m, const char *name, char *section,
			  unsigned int equal)
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
static void check_kjv(const char *name, const char *gguf, const char *readme_path,
		      unsigned int equal)
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
	if (num_texts)
		tap_ok(far_here < 1.1 * far_llama,
		       "from float64 that rounds nothing these logits are %.4f, llama.cpp's arithmetic is %.4f",
		       far_here / num_texts, far_llama / num_texts);
	tap_diag("float64 that rounds nothing writes %d of the %d texts of quantized files", num_exact,
		 num_texts);
	tap_diag("%s: by chance llama.cpp's arithmetic writes %.2f of them, all with probability %.4f; the NPU's %.2f, %.4f",
		 getenv("NPU_TEST_LONG") ? "all of them" : "those that part here", mean_llama, sure_llama,
		 mean_npu, sure_npu);
	return tap_done();
}
