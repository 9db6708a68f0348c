// SPDX-License-Identifier: MIT
/*
 * What fuzzers start from: for "stream" one stream per good instruction of the tests, for "gguf" a
 * file of each kind of vocabulary.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "made_vocab.h"
#include "tests/isa/sample.h"

static int write_file(const char *path, const void *data, size_t size)
{
	FILE *f = fopen(path, "wb");

	if (!f)
		return -1;
	fwrite(data, 1, size, f);
	return fclose(f);
}

static int write_vocab(const char *dir, unsigned int kind)
{
	char path[4096];
	size_t size;
	void *data = made_vocab(kind, &size);
	int ret;

	snprintf(path, sizeof(path), "%s/%u.gguf", dir, kind);
	ret = write_file(path, data, size);
	free(data);
	return ret;
}

static int write_stream(const char *dir, unsigned int n)
{
	struct npu_stream_header h = {
		.magic = NPU_STREAM_MAGIC,
		.isa_major = NPU_ISA_MAJOR,
		.isa_minor = NPU_ISA_MINOR,
		.num_insns = 2,
		.num_regions = 16,
		.num_scalars = 4,
		.scalar = { { 1, 4 }, { 1, 4 }, { 1, 4 }, { 1, 4 } },
	};
	unsigned char file[sizeof(h) + 2 * NPU_MAX_INSN_WORDS * 4 + sizeof(n)];
	struct sample s, end;
	size_t at = sizeof(h);
	char path[4096];

	sample_parse(&s, sample_good[n].opcode, sample_good[n].text, NULL);
	sample_parse(&end, NPU_OP_END, "", NULL);
	h.size = sizeof(h) + (s.num_words + end.num_words) * 4;
	memcpy(file, &h, sizeof(h));
	memcpy(file + at, s.words, s.num_words * 4);
	at += s.num_words * 4;
	memcpy(file + at, end.words, end.num_words * 4);
	at += end.num_words * 4;
	memcpy(file + at, &n, sizeof(n));
	snprintf(path, sizeof(path), "%s/%s-%u", dir, npu_op_desc(sample_good[n].opcode)->mnemonic,
		 n);
	return write_file(path, file, at + sizeof(n));
}

int main(int argc, char **argv)
{
	bool gguf = argc == 3 && !strcmp(argv[1], "gguf");
	unsigned int i, num = gguf ? made_vocab_kinds() : sample_num_good - 1;

	if (argc != 3 || (!gguf && strcmp(argv[1], "stream"))) {
		fprintf(stderr, "usage: make-seeds stream|gguf DIRECTORY\n");
		return 2;
	}
	for (i = 0; i < num; i++) {
		if (gguf ? write_vocab(argv[2], i) : write_stream(argv[2], i)) {
			perror(argv[2]);
			return 1;
		}
	}
	return 0;
}
