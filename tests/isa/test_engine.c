// SPDX-License-Identifier: MIT
/*
 * Verifier and engine agree: what the verifier accepts meets no static fault in the engine,
 * whatever else is in the stream's bytes, and no stream makes the engine touch a byte outside of
 * its regions (AddressSanitizer's build of this test sees that).
 */
#include <stdlib.h>
#include <string.h>
#include "run_stream.h"
#include "sample.h"
#include "tap.h"

static npu_u64 rng_state = 0x853c49e6748fea9bull;

static npu_u32 rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return rng_state >> 16;
}

/* A stream of one instruction and END, with room behind it. */
static size_t one_stream(npu_u8 *buf, const struct sample_good *good)
{
	struct npu_stream_header *h = (struct npu_stream_header *)buf;
	struct sample s, end;
	unsigned int i;

	sample_parse(&s, good->opcode, good->text, NULL);
	sample_parse(&end, NPU_OP_END, "", NULL);
	memset(h, 0, sizeof(*h));
	h->magic = NPU_STREAM_MAGIC;
	h->isa_major = NPU_ISA_MAJOR;
	h->isa_minor = NPU_ISA_MINOR;
	h->num_insns = 2;
	h->num_regions = 16;
	h->num_scalars = 4;
	for (i = 0; i < 4; i++) {
		h->scalar[i].min = 1;
		h->scalar[i].max = 4;
	}
	memcpy(h + 1, s.words, s.num_words * 4);
	memcpy((char *)(h + 1) + s.num_words * 4, end.words, end.num_words * 4);
	h->size = sizeof(*h) + (s.num_words + end.num_words) * 4;
	return h->size;
}

/* Changes that keep much of an instruction's meaning: other sizes, types, regions, functions. */
static void mutate(npu_u8 *buf, size_t size)
{
	size_t first = sizeof(struct npu_stream_header) + 16, at;
	npu_u32 v;

	if (size < first + 32)
		return;		/* END and nothing else */
	at = first + rng() % (size - first - 16);
	switch (rng() % 5) {
	case 0:
		buf[at] ^= 1u << rng() % 8;
		break;
	case 1:
		buf[at & ~3ul] = rng() % 10;
		break;
	case 2:
		at &= ~3ul;
		memcpy(&v, buf + at, 4);
		v = rng() % 2 ? v * 2 : v + rng() % 3 - 1;
		memcpy(buf + at, &v, 4);
		break;
	case 3:
		/* a field of one operand to another place */
		v = first + rng() % ((size - first) / 4) * 4;
		if (v + 4 <= size)
			memmove(buf + (at & ~3ul), buf + v, 4);
		break;
	default:
		/* types and regions stand in an operand's first word */
		at = first + rng() % 4 * 104;
		if (at + 4 < size)
			buf[at + rng() % 2] = rng() % 16;
	}
}

static void test_good(struct run_stream *r)
{
	npu_u8 buf[2 * sizeof(struct sample)] __attribute__((aligned(8)));
	unsigned int i, unsupported = 0;

	for (i = 0; i < sample_num_good; i++) {
		enum run_verdict v;
		size_t size = one_stream(buf, &sample_good[i]);

		if (sample_good[i].opcode == NPU_OP_END)
			continue;
		v = run_stream(r, buf, size, i);
		unsupported += v == RUN_UNSUPPORTED;
		if (!tap_ok(v == RUN_DONE || v == RUN_INDEX_FAULT || v == RUN_UNSUPPORTED ||
				    v == RUN_REFUSED,
			    "%s %.70s", npu_op_desc(sample_good[i].opcode)->mnemonic,
			    sample_good[i].text))
			tap_diag("verdict %d: %s", v, run_stream_text(r));
		if (v != RUN_DONE)
			tap_diag("verdict %d: %s", v, run_stream_text(r));
	}
	tap_diag("%u opcodes' instructions are not supported by this engine", unsupported);
}

static void test_mutants(struct run_stream *r)
{
	npu_u8 buf[2 * sizeof(struct sample)] __attribute__((aligned(8)));
	unsigned int i, j, n = tap_cases(100), verdicts[RUN_DISAGREE + 1] = { 0 }, shown = 0;

	for (i = 0; i < sample_num_good * n; i++) {
		const struct sample_good *good = &sample_good[i % sample_num_good];
		size_t size = one_stream(buf, good);
		enum run_verdict v;

		for (j = 1 + rng() % 3; j--;)
			mutate(buf, size);
		v = run_stream(r, buf, size, rng());
		verdicts[v]++;
		if (v == RUN_DISAGREE && shown++ < 5)
			tap_diag("%s: %s", npu_op_desc(good->opcode)->mnemonic, run_stream_text(r));
	}
	tap_diag(
		"of %u mutants %u refused, %u ran, %u met a bad index, %u lack an opcode, %u too long",
		sample_num_good * n, verdicts[RUN_REFUSED], verdicts[RUN_DONE],
		verdicts[RUN_INDEX_FAULT], verdicts[RUN_UNSUPPORTED], verdicts[RUN_TOO_LONG]);
	tap_ok(!verdicts[RUN_DISAGREE], "what is verified meets no static fault");
	tap_ok(verdicts[RUN_DONE] > sample_num_good && verdicts[RUN_REFUSED] > sample_num_good,
	       "many mutants run, and many are refused");
}

int main(void)
{
	struct run_stream *r = run_stream_create();

	test_good(r);
	test_mutants(r);
	run_stream_destroy(r);
	return tap_done();
}
