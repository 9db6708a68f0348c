/* SPDX-License-Identifier: MIT */
/*
 * Instructions from text, for the tests: encoded straight from the descriptors and by other code
 * than libnpu's builder.
 *
 *	"out=f16[1,8,8,32] in=i8[1,10,10,16]*0.5:3/(1600,160,16,1)@2+64
 *	weight=f16[32,3,3,16]/panel16 stride_h=2 ~in.d1=8*s0"
 *
 * A slot: type[dims], then in any order *scale:zero point, /layout or /(strides), @region or
 * @region+offset; "-" is absent. Strides are dense, the region is the slot's number and the offset
 * 0 unless given. A parameter: a number. ~slot.dN, ~slot.sN, ~slot.off or ~parameter: a term. What
 * is not named is 0, or the lowest permitted, or 1 for post_mul. Later words replace earlier ones.
 */
#ifndef TEST_ISA_SAMPLE_H
#define TEST_ISA_SAMPLE_H

#include "npu_isa_desc.h"

struct sample {
	npu_u32 words[NPU_MAX_INSN_WORDS] __attribute__((aligned(8)));
	unsigned int num_words;
};

/*
 * Returns 0; exits the program with a message when the text is wrong, as that is a mistake in a
 * test.
 */
int sample_parse(struct sample *s, unsigned int opcode, const char *text, const char *more);

/* Good instructions, at least one of each opcode. */
struct sample_good {
	unsigned int opcode;
	const char *text;
};
extern const struct sample_good sample_good[];
extern const unsigned int sample_num_good;

/* A whole stream of all good instructions; the caller frees it. Scalars 0 to 3 go from 1 to 8. */
void *sample_stream(size_t *size);

/* Regions of sample_stream(): one per slot number, each large enough. */
extern const struct npu_region sample_regions[NPU_MAX_OPERANDS];

#endif
