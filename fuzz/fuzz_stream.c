// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: command streams into the verifier, the disassembler and the engine. The last
 * four bytes of the input choose the scalars. Ends the program when the engine meets a static fault
 * in a stream that the verifier accepted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "npu_isa_desc.h"
#include "tests/isa/run_stream.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const npu_u8 *data, size_t size);

static struct run_stream *runner;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	runner = run_stream_create();
	return 0;
}

/* Whatever decodes can be printed. */
static void disassemble_all(const npu_u8 *data, size_t size)
{
	npu_u32 words[NPU_MAX_INSN_WORDS] __attribute__((aligned(8)));
	size_t at = sizeof(struct npu_stream_header), left;
	struct npu_insn insn;
	char text[64];

	while (at < size) {
		left = size - at < sizeof(words) ? size - at : sizeof(words);
		memcpy(words, data + at, left);
		if (npu_insn_decode(words, left / 4, &insn, NULL))
			break;
		npu_insn_disassemble(&insn, text, sizeof(text));
		at += insn.header->words * 4;
	}
}

int LLVMFuzzerTestOneInput(const npu_u8 *data, size_t size)
{
	npu_u32 pick;

	if (size < sizeof(pick))
		return 0;
	size -= sizeof(pick);
	memcpy(&pick, data + size, sizeof(pick));
	disassemble_all(data, size);
	if (run_stream(runner, data, size, pick) == RUN_DISAGREE) {
		fprintf(stderr, "%s\n", run_stream_text(runner));
		abort();
	}
	return 0;
}
