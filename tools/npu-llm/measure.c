// SPDX-License-Identifier: MIT
/* Measurements: perplexity of a text, and speed. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/error.h"
#include "llm.h"
#include "tools/common/file.h"

#define TEXT_LIMIT	(1u << 30)

/* ---- perplexity ---- */

/* -log of the probability that @logits give @token. */
static double surprise(const float *logits, uint32_t vocab, int32_t token)
{
	double max = -INFINITY, sum = 0;
	uint32_t i;

	for (i = 0; i < vocab; i++)
		max = (double)logits[i] > max ? (double)logits[i] : max;
	for (i = 0; i < vocab; i++)
		sum += exp((double)logits[i] - max);
	return max + log(sum) - (double)logits[token];
}

struct window {
	const struct model *m;
	struct npu_llm_session *s;
	struct npu_llm_batch *b;
	const int32_t *ids;		/* of the window */
	uint32_t size, first;		/* rows that are scored begin there */
	double *sum;
	uint64_t *count;
};

/* Rows [at, at + n) of the window. */
static int window_step(const struct window *w, uint32_t at, uint32_t n, struct npu_error *err)
{
	bool scored = at >= w->first;
	uint32_t i;
	int ret;

	npu_llm_batch_clear(w->b);
	ret = npu_llm_batch_add(w->b, w->s, w->ids + at, n,
				scored ? NPU_LLM_WANT_ALL : NPU_LLM_WANT_NONE, err);
	ret = ret < 0 ? ret : npu_llm_batch_run(w->b, err);
	for (i = at; !ret && scored && i < at + n && i + 1 < w->size; i++) {
		*w->sum += surprise(npu_llm_batch_logits(w->b, 0, i - at), w->m->info.vocab,
				    w->ids[i + 1]);
		++*w->count;
	}
	return ret;
}

static int window_run(const struct window *w, struct npu_error *err)
{
	uint32_t at, n, max;
	int ret = npu_llm_session_truncate(w->s, 0, err);

	for (at = 0; at < w->size && !ret; at += n) {
		max = at < w->first ? w->m->info.max_rows : w->m->info.max_logits;
		n = at < w->first ? w->first - at : w->size - at;
		n = n < max ? n : max;
		ret = window_step(w, at, n, err);
		if (interrupt_pending())
			return -ECANCELED;
	}
	return ret;
}

/* Windows one behind the other, each beginning with BOS; the second half of each is scored. */
static int windows(struct window *w, int32_t *ids, size_t num, bool quiet, struct npu_error *err)
{
	size_t n = num / w->size, i;
	int ret = 0;

	for (i = 0; i < n && !ret; i++) {
		w->ids = ids + i * w->size;
		if (w->m->vocab.add_bos && w->m->vocab.bos >= 0)
			ids[i * w->size] = w->m->vocab.bos;
		ret = window_run(w, err);
		if (!ret && !quiet)
			fprintf(stderr, "\r%zu of %zu windows: %.4f ", i + 1, n,
				exp(*w->sum / (double)*w->count));
	}
	if (!quiet)
		fputc('\n', stderr);
	return ret;
}

int run_perplexity(const struct model *m, const struct options *o, struct npu_error *err)
{
	uint32_t size = o->context && o->context < m->info.context ? o->context : m->info.context;
	double sum = 0;
	uint64_t count = 0;
	struct window w = { .m = m, .size = size, .first = size / 2, .sum = &sum, .count = &count };
	int32_t *ids = NULL;
	uint8_t *text = NULL;
	size_t bytes, num = 0;
	int ret;

	if (o->context > m->info.context)
		return npu_error_set(err, -EINVAL, "windows of %u tokens: the model was compiled for %u",
				     o->context, m->info.context);
	ret = npu_file_read(o->perplexity, TEXT_LIMIT, &text, &bytes, err);
	ret = ret ?: model_encode(m, (char *)text, bytes, NPU_TOKENIZE_ADD, &ids, &num, err);
	if (!ret && (size < 4 || num < size))
		ret = npu_error_set(err, -EINVAL, "%s: %zu tokens, a window has %u", o->perplexity, num,
				    size);
	ret = ret ?: npu_llm_session_create(m->llm, &w.s, err);
	ret = ret ?: npu_llm_batch_create(m->llm, &w.b, err);
	ret = ret ?: windows(&w, ids, num, o->quiet, err);
	if (!ret)
		printf("perplexity %.4f: %zu windows of %u tokens, %llu scored\n",
		       exp(sum / (double)count), num / size, size, (unsigned long long)count);
	npu_llm_batch_destroy(w.b);
	npu_llm_session_destroy(w.s);
	free(ids);
	free(text);
	return ret;
}

/* ---- speed ---- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* What is measured: "pp512", a prompt; "tg128", tokens one by one; "tg128x8", of 8 sequences at once. */
struct bench {
	bool prompt;
	uint32_t num, width;
};

/* One token more for each sequence. */
static int bench_step(const struct bench *w, struct npu_llm_session *const *s,
		      struct npu_llm_batch *b, const int32_t *token, struct npu_error *err)
{
	uint32_t i;
	int ret = 0;

	npu_llm_batch_clear(b);
	for (i = 0; i < w->width && ret >= 0; i++)
		ret = npu_llm_batch_add(b, s[i], token, 1, NPU_LLM_WANT_LAST, err);
	return ret < 0 ? ret : npu_llm_batch_run(b, err);
}

/* Tokens a second in *@rate. */
static int bench_once(const struct model *m, const struct bench *w, const int32_t *ids,
		      double *rate, struct npu_error *err)
{
	struct npu_llm_session **s = calloc(w->width, sizeof(*s));
	struct npu_llm_batch *b = NULL;
	const float *logits;
	double start;
	uint32_t i;
	int ret = s ? 0 : npu_error_set(err, -ENOMEM, "no memory for %u sequences", w->width);

	for (i = 0; i < w->width && !ret; i++)
		ret = npu_llm_session_create(m->llm, &s[i], err);
	ret = ret ?: npu_llm_batch_create(m->llm, &b, err);
	start = seconds();
	if (!ret && w->prompt)
		ret = npu_llm_prefill(s[0], ids, w->num, &logits, err);
	for (i = 0; !w->prompt && i < w->num && !ret; i++)
		ret = bench_step(w, s, b, &ids[i], err);
	*rate = (double)w->num * w->width / (seconds() - start);
	npu_llm_batch_destroy(b);
	for (i = 0; s && i < w->width; i++)
		npu_llm_session_destroy(s[i]);
	free(s);
	return ret;
}

static int bench_one(const struct model *m, const struct bench *w, const char *name,
		     uint32_t repeat, struct npu_error *err)
{
	int32_t *ids = malloc(w->num * sizeof(*ids));
	double *rate = malloc(repeat * sizeof(*rate));
	uint64_t state = 1;
	uint32_t i;
	int ret = ids && rate ? 0 : npu_error_set(err, -ENOMEM, "no memory for %u tokens", w->num);

	for (i = 0; !ret && i < w->num; i++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		ids[i] = (int32_t)((state >> 33) % m->info.vocab);
	}
	/* one more before it, that does not count */
	for (i = 0; !ret && i <= repeat; i++)
		ret = bench_once(m, w, ids, &rate[i ? i - 1 : 0], err);
	if (!ret) {
		qsort(rate, repeat, sizeof(*rate), compare);
		printf("%s: %.2f tokens/s (median of %u, %.2f to %.2f)\n", name, rate[repeat / 2],
		       repeat, rate[0], rate[repeat - 1]);
		fflush(stdout);
	}
	free(ids);
	free(rate);
	return ret;
}

/* One item at *@p, which moves behind it; its name is what it says. */
static bool bench_parse(const char **p, struct bench *w, char *name, size_t size)
{
	char what[3] = "";
	int n = 0, more = 0;

	*w = (struct bench){ .width = 1 };
	if (sscanf(*p, "%2[pgt]%6u%n", what, &w->num, &n) != 2 || !w->num)
		return false;
	w->prompt = !strcmp(what, "pp");
	if (!w->prompt && strcmp(what, "tg"))
		return false;
	if ((*p)[n] == 'x' && !w->prompt && sscanf(*p + n, "x%6u%n", &w->width, &more) == 1)
		n += more;
	snprintf(name, size, "%.*s", n, *p);
	*p += n;
	if (**p && **p != ',')
		return false;
	*p += **p == ',';
	return w->width;
}

int run_bench(const struct model *m, const struct options *o, struct npu_error *err)
{
	const char *p = o->bench;
	struct bench w;
	char name[32];
	int ret = 0;

	while (*p && !ret) {
		if (!bench_parse(&p, &w, name, sizeof(name)))
			return npu_error_set(err, -EINVAL, "--bench %s: expected pp512, tg128, tg128x8, ...",
					     o->bench);
		if (w.num > m->info.context)
			return npu_error_set(err, -EINVAL,
					     "--bench %s: the model was compiled for a context of %u",
					     name, m->info.context);
		if (w.width > m->info.max_sequences)
			return npu_error_set(err, -EINVAL,
					     "--bench %s: the model was compiled for %u sequences of a step",
					     name, m->info.max_sequences);
		ret = bench_one(m, &w, name, o->repeat, err);
	}
	return ret;
}
