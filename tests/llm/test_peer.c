// SPDX-License-Identifier: MIT
/*
 * Every architecture as a small model of random weights beside llama.cpp itself: perplexity of a
 * text by llama-perplexity and by npu-llm. Such models are far from expecting any text, so all of a
 * logit's size goes into the figure, and a rotation, a norm or a window that is another one shows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "common/file.h"
#include "common/tmp.h"
#include "model_file.h"
#include "tap.h"

#define LLAMA	"scripts/llama-root.sh"
#define TRIES	8	/* llama-perplexity at times ends before its last line is written */

/* The first figure behind @before in what @command writes; NAN: none. */
static double figure(const char *command, const char *before)
{
	FILE *f = popen(command, "r");
	char out[65536];
	double v = NAN;
	size_t n;
	char *p;

	if (!f)
		return NAN;
	n = fread(out, 1, sizeof(out) - 1, f);
	out[n] = 0;
	pclose(f);
	p = strstr(out, before);
	if (p)
		v = strtod(p + strlen(before), NULL);
	return v;
}

static double llama_perplexity(const char *gguf, const char *text)
{
	char command[1024];
	double v = NAN;
	int i;

	snprintf(command, sizeof(command),
		 LLAMA " run llama-perplexity -m '%s' -f '%s' -c 128 -t 1 </dev/null 2>&1", gguf, text);
	for (i = 0; i < TRIES && isnan(v); i++)
		v = figure(command, "PPL = ");
	return v;
}

static double our_perplexity(const char *gguf, const char *text)
{
	const char *build = getenv("NPU_BUILD");
	char command[2048], npu[256];

	snprintf(npu, sizeof(npu), "%s", tmp_path("peer.npu"));
	snprintf(command, sizeof(command),
		 "%s/npu-compile -q '%s' -o '%s' --context 128 2>&1 && "
		 "%s/npu-llm -q '%s' --perplexity '%s' -c 128 2>&1",
		 build ? build : "build", gguf, npu, build ? build : "build", npu, text);
	return figure(command, "perplexity ");
}

static void check(struct model_spec s, const char *what)
{
	char gguf[256], text[256];
	double want, got, off;

	snprintf(gguf, sizeof(gguf), "%s", tmp_path("peer.gguf"));
	snprintf(text, sizeof(text), "%s", tmp_path("text.txt"));
	s.tokenizer = true;
	if (!tap_ok(model_write(&s, gguf), "%s %s", s.arch, what))
		return;
	want = llama_perplexity(gguf, text);
	got = our_perplexity(gguf, text);
	/* of the mean of -log p */
	off = fabs(log(got) - log(want)) / log(want);
	tap_ok(off < 2e-4, "log of the perplexity: %.6f, llama.cpp %.6f, apart by %.1e", log(got),
	       log(want), off);
}

/* Letters, spaces, points and commas of a real text. */
static bool write_text(void)
{
	size_t size = 0, i, n = 0;
	char *text = test_read_file("models/kjv/val.txt", &size), *out;
	FILE *f = fopen(tmp_path("text.txt"), "wb");
	bool ok;

	out = text ? malloc(size + 1) : NULL;
	for (i = 0; out && i < size && n < 2600; i++) {
		char c = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + 32) : text[i];

		if ((c >= 'a' && c <= 'z') || c == ' ' || c == '.' || c == ',')
			out[n++] = c;
	}
	ok = out && f && fwrite(out, 1, n, f) == n;
	ok = f && !fclose(f) && ok;
	free(text);
	free(out);
	return ok;
}

static void check_all(void)
{
	static const char *const archs[] = { "llama", "qwen2", "qwen3", "gemma2", "gemma3", "phi3" };
	struct model_spec s;
	unsigned int i;

	for (i = 0; i < sizeof(archs) / sizeof(archs[0]); i++)
		check(model_spec_of(archs[i]), "f32");
	s = model_spec_of("llama");
	s.type = FILE_F16;
	check(s, "f16");
	s = model_spec_of("llama");
	s.rope_freqs = true;
	check(s, "a tensor of frequency divisors");
	s = model_spec_of("llama");
	s.scaling = "linear";
	s.factor = 4;
	check(s, "linear scaling");
	s.scaling = "yarn";
	s.original = 64;
	check(s, "yarn");
	s = model_spec_of("phi3");
	s.scaling = "longrope";
	s.factor = 1;
	s.original = 32;
	check(s, "long factors");
}

int main(void)
{
	int status = system(LLAMA " >/dev/null 2>&1");

	if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
		tap_skip("beside llama.cpp", "its tools can not be had here");
		return tap_done();
	}
	if (tap_ok(!status && write_text(), "llama.cpp and a text"))
		check_all();
	return tap_done();
}
