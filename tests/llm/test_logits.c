// SPDX-License-Identifier: MIT
/*
 * Every architecture as a small model of random weights: logits of the compiled model against the
 * float64 reference. Prompt in uneven chunks, all rows looked at.
 *
 * Activations of eight bits are held against two references. One rounds nothing: what it is apart
 * is what eight bits cost. The other one has the codes that Documentation/language-models.md
 * promises, and then nothing is left but roundings to f32. These may take a value that lies at the
 * edge between two codes to either, both of them right, after which all that follows is another
 * computation; so that one's prompts are of tokens, the first in a fixed order, with which the
 * reference itself comes upon no such value.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/tmp.h"
#include "model_file.h"
#include "npu_llm.h"
#include "reference.h"
#include "tap.h"

#define NUM	41
#define CODED	24		/* tokens of prompts that are looked for; more than a window */
#define SAME	1e-6		/* of what does the same in f32 and in float64 */

/* The largest distance of a row's logits from the reference, relative to the row's size. */
static double distance(const float *got, const double *want, int vocab)
{
	double diff = 0, size = 0;
	int i;

	for (i = 0; i < vocab; i++) {
		diff += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
		size += want[i] * want[i];
	}
	return sqrt(diff / size);
}

static int argmax(const float *v, int n)
{
	int i, best = 0;

	for (i = 1; i < n; i++)
		if (v[i] > v[best])
			best = i;
	return best;
}

/* @num rows by batches of at most 17; returns the largest distance, or infinity. */
static double run_rows(struct npu_llm *llm, const int32_t *tokens, int num, const double *want,
		       int vocab)
{
	struct npu_error err = { .text = "" };
	struct npu_llm_session *s = NULL;
	struct npu_llm_batch *b = NULL;
	double worst = 0, d;
	int at, n, i;

	if (npu_llm_session_create(llm, &s, &err) || npu_llm_batch_create(llm, &b, &err))
		worst = INFINITY;
	for (at = 0; at < num && worst < INFINITY; at += n) {
		n = num - at < 17 ? num - at : 17;
		npu_llm_batch_clear(b);
		if (npu_llm_batch_add(b, s, tokens + at, (uint32_t)n, NPU_LLM_WANT_ALL, &err) < 0 ||
		    npu_llm_batch_run(b, &err)) {
			tap_diag("%s", err.text);
			worst = INFINITY;
			break;
		}
		for (i = 0; i < n; i++) {
			const float *row = npu_llm_batch_logits(b, 0, (unsigned int)i);

			d = distance(row, want + (at + i) * vocab, vocab);
			worst = !(d <= worst) ? d : worst;
			if (npu_llm_batch_argmax(b, 0, (unsigned int)i) != argmax(row, vocab))
				worst = INFINITY;
		}
	}
	npu_llm_batch_destroy(b);
	npu_llm_session_destroy(s);
	return worst;
}

/* A model of a file, and what it is compiled to. */
struct subject {
	struct npu_gguf *gguf;
	struct npu_llm *llm;
	struct npu_error err;
};

static void open_subject(struct subject *u, const struct model_spec *spec, enum npu_llm_kv kv,
			 enum npu_llm_activation activations)
{
	struct npu_llm_compile_options opt = NPU_INIT(opt);
	struct npu_llm_options how = NPU_INIT(how);
	char gguf[256], npu[256];

	*u = (struct subject){ .err.text = "" };
	snprintf(gguf, sizeof(gguf), "%s", tmp_path("model.gguf"));
	snprintf(npu, sizeof(npu), "%s", tmp_path("model.npu"));
	opt.kv = kv;
	opt.activations = activations;
	opt.context = 64;
	how.device = "sim:threads=2";
	if (model_write(spec, gguf) && !npu_gguf_open(gguf, &u->gguf, &u->err) &&
	    !npu_llm_compile(gguf, npu, &opt, NULL, &u->err))
		npu_llm_open(npu, &how, &u->llm, &u->err);
}

static void close_subject(struct subject *u)
{
	npu_llm_close(u->llm);
	npu_gguf_close(u->gguf);
}

static int32_t nth_token(int i, unsigned int vocab)
{
	return (int32_t)((unsigned int)(i * i * 7 + i * 31 + 5) % vocab);
}

static void check_as(const struct model_spec *spec, enum npu_llm_kv kv, enum npu_llm_activation act,
		     double bound, const char *what)
{
	const struct reference_how how = { .long_context = spec->original && 64 > spec->original };
	double *want = NULL, d = INFINITY;
	int32_t tokens[NUM];
	struct subject u;
	int i, vocab = 0;

	open_subject(&u, spec, kv, act);
	for (i = 0; i < NUM; i++)
		tokens[i] = nth_token(i, spec->vocab);
	if (u.llm)
		want = reference_logits(u.gguf, tokens, NUM, &how, &vocab);
	if (want)
		d = run_rows(u.llm, tokens, NUM, want, vocab);
	tap_ok(d < bound, "%s %s: relative error %.2e, bound %.0e%s%s", spec->arch, what, d, bound,
	       *u.err.text ? ": " : "", u.err.text);
	close_subject(&u);
	free(want);
}

static void check(const struct model_spec *spec, enum npu_llm_kv kv, double bound, const char *what)
{
	check_as(spec, kv, NPU_LLM_ACT_AUTO, bound, what);
}

/* ---- activations of eight bits ---- */

/* A prompt without values at an edge, logits of the reference, and what was found on the way. */
struct prompt {
	int32_t tokens[CODED];
	double *logits;		/* [CODED][vocab] */
	int num, tried;		/* tokens taken, and looked at */
	int choices, near;	/* values that become a code or an f16, and those at an edge */
	double moved;		/* the farthest that f32 takes one, in what a choice allows for */
};

/* How far the second reference's values are from the first one's. */
static double how_far(const struct reference *a, const struct reference *b)
{
	int i, n, same;
	const struct reference_choice *p = reference_choices(a, &n),
				      *q = reference_choices(b, &same);
	double worst = n == same ? 0 : INFINITY, d;

	for (i = 0; i < n && n == same; i++) {
		d = fabs(p[i].value - q[i].value);
		worst = d > worst * p[i].reach ? d / p[i].reach : worst;
	}
	return worst;
}

/* The first token from the given one on that brings no value at an edge; NULL: there is none. */
static const double *next_token(struct reference *r, struct prompt *p)
{
	unsigned int vocab = (unsigned int)reference_vocab(r), i;
	const double *row;
	int32_t token;
	int n;

	for (i = 0; i < vocab; i++) {
		token = (int32_t)(((unsigned int)nth_token(p->num, vocab) + i) % vocab);
		row = reference_step(r, token);
		reference_choices(r, &n);
		p->tried++;
		p->choices += n;
		p->near += reference_near(r);
		p->tokens[p->num] = token;
		if (!row || !reference_near(r))
			return row;
		reference_back(r);
	}
	return NULL;
}

/* From the reference alone; a second one, rounded to f32, says how far that moves values. */
static void find_prompt(const struct npu_gguf *g, bool half_cache, struct prompt *p)
{
	struct reference_how how = { .codes = true, .half_cache = half_cache };
	struct reference *r = reference_open(g, &how, CODED), *single;
	size_t vocab = r ? (size_t)reference_vocab(r) : 0;
	const double *row;
	double far;

	*p = (struct prompt){ .logits = calloc(CODED * vocab, sizeof(*p->logits)) };
	how.single = true;
	single = reference_open(g, &how, CODED);
	while (r && single && p->logits && p->num < CODED) {
		row = next_token(r, p);
		if (!row || !reference_step(single, p->tokens[p->num]))
			break;
		far = how_far(r, single);
		p->moved = far > p->moved ? far : p->moved;
		memcpy(p->logits + (size_t)p->num++ * vocab, row, vocab * sizeof(*row));
	}
	reference_close(r);
	reference_close(single);
}

/* The largest distances from float64 with the same codes, and from float64. */
static double same_worst, exact_worst;

static void check_codes(const struct model_spec *spec, enum npu_llm_kv kv, const char *what)
{
	/* what eight bits cost: more where more values share a scale */
	double bound = spec->dim < 256 ? 3e-2 : 4e-2;
	double *exact = NULL, same = INFINITY, far = INFINITY;
	struct prompt p = { .num = 0 };
	struct subject u;
	int vocab = 0;

	open_subject(&u, spec, kv, NPU_LLM_ACT_I8);
	if (u.llm)
		find_prompt(u.gguf, kv == NPU_LLM_KV_F16, &p);
	if (tap_ok(p.num == CODED && p.moved < 1,
		   "%s %s: %d of %d tokens, %d of %d values at an edge; f32 moves one by %.2f of what is an edge",
		   spec->arch, what, p.num, p.tried, p.near, p.choices, p.moved))
		exact = reference_logits(u.gguf, p.tokens, CODED, &(struct reference_how){ 0 },
					 &vocab);
	if (exact) {
		same = run_rows(u.llm, p.tokens, CODED, p.logits, vocab);
		far = run_rows(u.llm, p.tokens, CODED, exact, vocab);
	}
	tap_ok(same < SAME, "%s %s, float64 with the same codes: relative error %.2e, bound %.0e%s%s",
	       spec->arch, what, same, SAME, *u.err.text ? ": " : "", u.err.text);
	tap_ok(far < bound, "%s %s, float64: relative error %.2e, bound %.0e", spec->arch, what, far, bound);
	same_worst = same > same_worst ? same : same_worst;
	exact_worst = far > exact_worst ? far : exact_worst;
	close_subject(&u);
	free(p.logits);
	free(exact);
}

static const struct {
	uint32_t type;
	const char *name;
} types[] = {
	{ FILE_Q8_0, "Q8_0" }, { FILE_Q4_0, "Q4_0" }, { FILE_Q4_1, "Q4_1" }, { FILE_Q5_0, "Q5_0" },
	{ FILE_Q5_1, "Q5_1" }, { FILE_IQ4_NL, "IQ4_NL" }, { FILE_Q4_K, "Q4_K" }, { FILE_Q5_K, "Q5_K" },
	{ FILE_Q6_K, "Q6_K" },
};

/* All weight types, those of 256 a block in a model that is as wide. */
static void check_types(const char *arch)
{
	struct model_spec s;
	char what[64];
	unsigned int i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		s = model_spec_of(arch);
		s.type = types[i].type;
		if (s.type >= FILE_Q4_K && s.type <= FILE_Q6_K) {
			s.dim = s.ff = 256;
			s.heads = 256 / s.head_dim;
			s.vocab = 1024;
		}
		snprintf(what, sizeof(what), "%s, activations f32", types[i].name);
		check_as(&s, NPU_LLM_KV_F16, NPU_LLM_ACT_F32, 1e-3, what);
		snprintf(what, sizeof(what), "%s, activations int8", types[i].name);
		check_codes(&s, NPU_LLM_KV_F32, what);
	}
}

static void check_arch(const char *arch)
{
	struct model_spec s = model_spec_of(arch);

	check(&s, NPU_LLM_KV_F32, 1e-5, "f32, cache f32");
	check(&s, NPU_LLM_KV_F16, 1e-3, "f32, cache f16");
	check(&s, NPU_LLM_KV_I8, 2e-2, "f32, cache int8");
	s.type = FILE_F16;
	check(&s, NPU_LLM_KV_F16, 1e-3, "f16");
	s.type = FILE_BF16;
	check(&s, NPU_LLM_KV_F16, 1e-3, "bf16");
	check_types(arch);
	s.type = FILE_Q8_0;
	check_as(&s, NPU_LLM_KV_F32, NPU_LLM_ACT_F32, 1e-5, "Q8_0, activations and cache f32");
	/* few keys and values, as one in some 30 lies at an edge of f16 */
	s.kv_heads = 1;
	s.head_dim = s.layers > 3 ? 8 : 16;
	s.vocab = 1024;
	check_codes(&s, NPU_LLM_KV_F16, "Q8_0, activations int8, cache f16");
}

static void check_rope(void)
{
	struct model_spec s = model_spec_of("llama");

	s.rope_dims = 10;
	check(&s, NPU_LLM_KV_F32, 1e-5, "10 of 16 elements rotated");
	s.rope_dims = 0;
	s.rope_freqs = true;
	check(&s, NPU_LLM_KV_F32, 1e-5, "a tensor of frequency divisors");
	s.rope_freqs = false;
	s.scaling = "linear";
	s.factor = 4;
	check(&s, NPU_LLM_KV_F32, 1e-5, "linear scaling");
	s.scaling = "yarn";
	s.original = 64;
	check(&s, NPU_LLM_KV_F32, 1e-5, "yarn scaling");
	s = model_spec_of("gemma3");
	s.scaling = "linear";
	s.factor = 8;
	check(&s, NPU_LLM_KV_F32, 1e-5, "linear scaling of global layers");
	s = model_spec_of("phi3");
	s.scaling = "longrope";
	s.factor = 1;
	s.original = 32;
	check(&s, NPU_LLM_KV_F32, 1e-5, "long factors");
	s.original = 128;
	check(&s, NPU_LLM_KV_F32, 1e-5, "short factors");
	s.window = 20;
	check(&s, NPU_LLM_KV_F32, 1e-5, "a window");
}

int main(void)
{
	static const char *const archs[] = { "llama", "qwen2", "qwen3", "gemma2", "gemma3", "phi3" };
	struct model_spec s = model_spec_of("llama");
	unsigned int i;

	for (i = 0; i < sizeof(archs) / sizeof(archs[0]); i++)
		check_arch(archs[i]);
	tap_diag("int8 activations: at most %.2e from float64 with the same codes, %.2e from float64",
		 same_worst, exact_worst);
	check_rope();
	s.untied = s.bias = true;
	s.heads = 6;
	s.kv_heads = 3;
	s.ff = 100;
	s.vocab = 37;
	check(&s, NPU_LLM_KV_F32, 1e-5, "odd sizes, biases, untied");
	return tap_done();
}
