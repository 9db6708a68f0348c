// SPDX-License-Identifier: MIT
/*
 * Writes one stream per good instruction of the tests into a directory: what the fuzzer starts
 * from.
 */
#include <stdio.h>
#include <string.h>
#include "tests/isa/sample.h"

static int write_seed(const char *dir, unsigned int n)
{
	struct npu_stream_header h = {
		.magic = NPU_STREAM_MAGIC,
		.isa_major = NPU_ISA_MAJOR,
		.num_insns = 2,
		.num_regions = 16,
		.num_scalars = 4,
		.scalar = { { 1, 4 }, { 1, 4 }, { 1, 4 }, { 1, 4 } },
	};
	struct sample s, end;
	npu_u32 pick = n;
	char path[4096];
	FILE *f;

	sample_parse(&s, sample_good[n].opcode, sample_good[n].text, NULL);
	sample_parse(&end, NPU_OP_END, "", NULL);
	h.size = sizeof(h) + (s.num_words + end.num_words) * 4;
	snprintf(path, sizeof(path), "%s/%s-%u", dir, npu_op_desc(sample_good[n].opcode)->mnemonic,
		 n);
	f = fopen(path, "wb");
	if (!f)
		return -1;
	fwrite(&h, sizeof(h), 1, f);
	fwrite(s.words, 4, s.num_words, f);
	fwrite(end.words, 4, end.num_words, f);
	fwrite(&pick, sizeof(pick), 1, f);
	return fclose(f);
}

int main(int argc, char **argv)
{
	unsigned int i;

	if (argc != 2) {
		fprintf(stderr, "usage: make-seeds DIRECTORY\n");
		return 2;
	}
	for (i = 0; i + 1 < sample_num_good; i++) {
		if (write_seed(argv[1], i)) {
			perror(argv[1]);
			return 1;
		}
	}
	return 0;
}
