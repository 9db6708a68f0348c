// SPDX-License-Identifier: MIT
/*
 * Tokenizers against what llama-tokenize gave: 46 texts each for GPT-2's and BERT's vocabularies.
 */
#include <errno.h>
#include "../tap.h"
#include "common/file.h"
#include "gguf_make.h"
#include "npu_llm.h"
#include "shared.h"

static struct npu_error err;

/* ---- the 46 cases ---- */

#define SEPARATOR	"\n__ggml_vocab_test__\n"

/* The ids of one line. */
static size_t read_ids(const char **line, int32_t *ids, size_t room)
{
	size_t n = 0;
	char *end;

	while (**line && **line != '\n') {
		long id = strtol(*line, &end, 10);

		if (end == *line) {
			(*line)++;
			continue;
		}
		if (n < room)
			ids[n++] = id;
		*line = end;
	}
	if (**line)
		(*line)++;
	return n;
}

static void show(const char *what, const int32_t *ids, size_t n)
{
	char text[1024];
	size_t at = 0, i;

	for (i = 0; i < n && at < sizeof(text) - 16; i++)
		at += snprintf(text + at, sizeof(text) - at, " %d", ids[i]);
	tap_diag("%s:%.*s", what, (int)at, text);
}

static bool same(const int32_t *got, size_t num, const int32_t *want, size_t num_want)
{
	if (num == num_want && !memcmp(got, want, num * sizeof(*got)))
		return true;
	show("got", got, num);
	show("expected", want, num_want);
	return false;
}

static void test_cases(const char *name)
{
	char inp[64], out[64], *texts, *lines, *text, *end;
	struct npu_tokenizer *t = NULL;
	int32_t ids[4096], want[4096];
	size_t size, num, num_want, count = 0, right = 0;
	const char *line;

	snprintf(inp, sizeof(inp), "%s.inp", name);
	snprintf(out, sizeof(out), "%s.out", name);
	texts = test_read_file(shared_path(inp), &size);
	line = lines = test_read_file(shared_path(out), &size);
	if (!texts || !lines) {
		tap_skip(name, "NPU_SHARED_MODELS does not have it");
		goto out;
	}
	if (npu_tokenizer_open(shared_path(name), &t, &err)) {
		tap_ok(0, "%s: %s", name, err.text);
		goto out;
	}
	for (text = texts; text; text = end ? end + strlen(SEPARATOR) : NULL) {
		end = strstr(text, SEPARATOR);
		size = end ? (size_t)(end - text) : strlen(text);
		/* The last one is ended by the file. */
		if (!end && !size)
			break;
		num_want = read_ids(&line, want, 4096);
		count++;
		if (npu_tokenizer_encode(t, text, size, 0, ids, 4096, &num, &err))
			tap_diag("%s: %.*s", err.text, (int)size, text);
		else if (same(ids, num, want, num_want))
			right++;
		else
			tap_diag("'%.*s'", (int)size, text);
	}
	tap_ok(right == count && count == 46, "%s: %zu of %zu texts as llama-tokenize has them",
	       name, right, count);
out:
	npu_tokenizer_close(t);
	free(texts);
	free(lines);
}

int main(void)
{
	test_cases("ggml-vocab-gpt-2.gguf");
	test_cases("ggml-vocab-bert-bge.gguf");
	return tap_done();
}
