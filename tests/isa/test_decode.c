// SPDX-License-Identifier: MIT
/*
 * Decoding of streams that are cut off, changed at random, or wrong on purpose; terms at their
 * limits.
 */
#include <stdlib.h>
#include <string.h>
#include "sample.h"
#include "tap.h"

static npu_u64 rng_state = 0x9e3779b97f4a7c15ull;

static npu_u32 rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return rng_state >> 16;
}

/* In an allocation of its own, so that AddressSanitizer sees the first byte too many. */
static int verify_copy(const void *stream, size_t size, struct npu_isa_error *err)
{
	void *copy = malloc(size ? size : 1);
	int ret;

	memcpy(copy, stream, size);
	memset(err, 0, sizeof(*err));
	ret = npu_stream_verify(copy, size, sample_regions, NPU_MAX_OPERANDS, 1 << 20, err);
	free(copy);
	return ret;
}

static void test_truncation(const npu_u8 *stream, size_t size)
{
	struct npu_isa_error err;
	struct npu_stream_header *h;
	unsigned int accepted = 0, wordless = 0, shortened = 0;
	size_t n, step = tap_long() ? 1 : 4;
	npu_u8 *copy = malloc(size);

	for (n = 0; n < size; n += step) {
		accepted += !verify_copy(stream, n, &err);
		wordless += !err.text[0] || err.fault.code == NPU_FAULT_NONE;
	}
	tap_ok(!accepted && !wordless, "every truncation is refused, with a reason (%zu of them)",
	       (size + step - 1) / step);

	/* The same with a header that says so. */
	memcpy(copy, stream, size);
	h = (struct npu_stream_header *)copy;
	for (n = sizeof(*h); n < size; n += 8) {
		h->size = n;
		accepted += !verify_copy(copy, n, &err);
		shortened++;
	}
	tap_ok(!accepted, "and so is every truncation whose header agrees (%u of them)", shortened);
	free(copy);
}

/* Mutants: what is accepted must also decode, disassemble and check again. */
static void test_mutations(const npu_u8 *stream, size_t size)
{
	unsigned int i, j, n = tap_long() ? 500000 : 20000, accepted = 0,
			   code[NPU_NUM_FAULTS] = { 0 }, wordless = 0;
	npu_u8 *copy = malloc(size);
	struct npu_isa_error err;

	for (i = 0; i < n; i++) {
		memcpy(copy, stream, size);
		for (j = 1 + rng() % 3; j--;) {
			size_t at = rng() % 4 ? sizeof(struct npu_stream_header) +
							rng() % (size -
								 sizeof(struct npu_stream_header)) :
						rng() % size;

			switch (rng() % 4) {
			case 0:
				copy[at] ^= 1u << rng() % 8;
				break;
			case 1:
				copy[at] = rng();
				break;
			case 2:
				memset(copy + (at & ~3ul), rng() % 2 ? 0xff : 0x7f, 4);
				break;
			default:
				memset(copy + (at & ~7ul), 0, 8);
			}
		}
		if (!verify_copy(copy, size, &err)) {
			accepted++;
			continue;
		}
		wordless += !err.text[0] || err.fault.code == NPU_FAULT_NONE ||
			    err.fault.code >= NPU_NUM_FAULTS;
		if (err.fault.code < NPU_NUM_FAULTS)
			code[err.fault.code]++;
	}
	tap_ok(!wordless, "%u mutants, every refusal with a reason", n);
	tap_ok(accepted > n / 1000 && accepted < n / 2, "some mutants are fine: %u", accepted);
	for (i = 0; i < NPU_NUM_FAULTS; i++)
		if (code[i])
			tap_diag("%6u %s", code[i], npu_fault_text(i));
	tap_ok(code[NPU_FAULT_STREAM] && code[NPU_FAULT_OPCODE] && code[NPU_FAULT_ENCODING] &&
		       code[NPU_FAULT_OPERAND] && code[NPU_FAULT_SHAPE] && code[NPU_FAULT_PARAM] &&
		       code[NPU_FAULT_REGION],
	       "mutants reach the kinds of faults");
	free(copy);
}

/* One instruction alone, at each length too short, aligned as the engine has it. */
static void test_short_instructions(void)
{
	unsigned int i, n, accepted = 0, count = 0;
	struct npu_isa_error err;
	struct npu_insn insn;
	struct sample s;
	npu_u32 *copy;

	for (i = 0; i < sample_num_good; i++) {
		sample_parse(&s, sample_good[i].opcode, sample_good[i].text, NULL);
		for (n = 0; n < s.num_words; n++, count++) {
			copy = malloc(n ? n * 4 : 1);
			memcpy(copy, s.words, n * 4);
			accepted += !npu_insn_decode(copy, n, &insn, &err);
			free(copy);
		}
	}
	tap_ok(!accepted, "%u instructions cut short", count);
}

struct field {
	const char *what;
	unsigned int offset, bytes;
	npu_u64 value;
	unsigned int code;
};

#define HEADER(field, value, code) { #field, offsetof(struct npu_insn_header, field), \
	sizeof(((struct npu_insn_header *)0)->field), value, NPU_FAULT_##code }
#define OPERAND(n, field, value, code) \
	{ "operand " #n "." #field, 16 + 104 * n + offsetof(struct npu_operand, field), \
	sizeof(((struct npu_operand *)0)->field), value, NPU_FAULT_##code }

static void test_fields(void)
{
	static const struct field fields[] = {
		HEADER(opcode, 0x04, OPCODE),
		HEADER(opcode, 0xffff, OPCODE),
		HEADER(words, 0, ENCODING),
		HEADER(words, 10, ENCODING),
		HEADER(words, 0xffff, ENCODING),
		HEADER(num_operands, 2, ENCODING),
		HEADER(num_operands, 255, ENCODING),
		HEADER(num_params, 0, ENCODING),
		HEADER(num_terms, 255, ENCODING),
		HEADER(num_terms, 1, ENCODING),
		HEADER(reserved, 1, ENCODING),
		HEADER(reserved2, 1, ENCODING),
		OPERAND(0, dtype, 0, OPERAND),
		OPERAND(0, dtype, 12, OPERAND),
		OPERAND(0, dtype, 255, OPERAND),
		OPERAND(0, rank, 3, OPERAND),
		OPERAND(0, rank, 255, OPERAND),
		OPERAND(0, layout, 1, OPERAND),
		OPERAND(0, layout, 4, OPERAND),
		OPERAND(0, reserved, 1, ENCODING),
		OPERAND(0, reserved2[1], 1, ENCODING),
		OPERAND(0, dim[4], 1, ENCODING),
		OPERAND(0, stride[5], 1, ENCODING),
		OPERAND(0, zero_point, 1, OPERAND),
		OPERAND(0, scale, 0x7fc00000, OPERAND),
		OPERAND(2, stride[0], 2, ENCODING),
		OPERAND(4, offset, 8, ENCODING),
		OPERAND(4, region, 1, ENCODING),
	};
	struct npu_isa_error err;
	struct npu_insn insn;
	struct sample s;
	unsigned int i;
	int ret;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		/*
		 * CONV: out and in plain, weight in panels, bias, scale absent; the last stands in
		 * the middle of its words
		 */
		sample_parse(
			&s, NPU_OP_CONV,
			"out=f16[1,8,8,32] in=f16[1,8,8,16] weight=f16[32,1,1,16]/panel16 "
			"bias=f32[32] groups=1",
			NULL);
		memcpy((char *)s.words + fields[i].offset, &fields[i].value, fields[i].bytes);
		memset(&err, 0, sizeof(err));
		ret = npu_insn_decode(s.words, s.num_words, &insn, &err);
		if (!tap_ok(ret == -22 && err.fault.code == fields[i].code, "%s = 0x%llx",
			    fields[i].what, (unsigned long long)fields[i].value))
			tap_diag("%d, code %u: %s", ret, err.fault.code, err.text);
	}
}

/* What one term does to one field. */
static void test_term(const char *text, npu_u32 s0, int want, npu_s64 value, unsigned int word,
		      bool wide)
{
	npu_u32 scalar[NPU_MAX_SCALARS] = { s0, 1 };
	struct npu_isa_error err = { .text = "" };
	struct npu_insn insn;
	struct sample s;
	npu_s64 got = 0;
	int ret;

	sample_parse(&s, NPU_OP_COPY, "out=u8[8,8] in=u8[8,8]", text);
	ret = npu_insn_decode(s.words, s.num_words, &insn, &err);
	if (ret) {
		tap_ok(want == ret, "%s is refused: %s", text, err.text);
		return;
	}
	ret = npu_insn_apply_terms(s.words, scalar, &err);
	memcpy(&got, &s.words[word], wide ? 8 : 4);
	if (!tap_ok(ret == want && (want || got == value), "%s with %u gives %lld", text, s0,
		    (long long)value))
		tap_diag("%d, %lld, %s", ret, (long long)got, err.text);
}

static void test_terms(void)
{
	const unsigned int dim0 = 4 + 26 + 4, stride0 = 4 + 26 + 12, offset = 4 + 26 + 2;

	test_term("~in.d0=3*s0", 5, 0, 8 + 15, dim0, false);
	test_term("~in.d0=-8*s0", 1, 0, 0, dim0, false);
	test_term("~in.d0=-9*s0", 1, -34, 0, dim0, false);
	test_term("~in.d0=1*s0", 0x7fffffff - 8, 0, 0x7fffffff, dim0, false);
	test_term("~in.d0=1*s0", 0x7fffffff - 7, -34, 0, dim0, false);
	test_term("~in.d0=1*s0", 0xffffffff, -34, 0, dim0, false);
	test_term("~in.d0=2147483647*s0", 0xffffffff, -34, 0, dim0, false);
	test_term("~in.d0=-2147483648*s0", 0xffffffff, -34, 0, dim0, false);
	/* several terms of one word: only the sum counts */
	test_term("~in.d0=-2147483648*s0 ~in.d0=2147483647*s0", 7, 0, 1, dim0, false);
	test_term("in=u8[4294967295,8] ~in.d0=2*s0", 1, 0, 1, dim0, false);
	test_term("~in.s0=2147483647*s0", 0xffffffff, 0, 8 + 2147483647ll * 0xffffffffll, stride0,
		  true);
	test_term("in=u8[8,8]/(9223372036854775807,1) ~in.s0=1*s0", 1, -34, 0, stride0, true);
	test_term("in=u8[8,8]@1+18446744073709551615 ~in.off=1*s0", 1, 0, 0, offset, true);
	test_term("~in.off=-1*s0", 1, -34, 0, offset, true);
	/* what terms may not name */
	test_term("~in.d2=1*s0", 1, -22, 0, 0, false);
	test_term("~in.d0=1*s16", 1, -22, 0, 0, false);
	test_term("in=u8[8,8] ~in.d0=1*s255", 1, -22, 0, 0, false);
}

/* A term may name lengths only: try all words of an instruction. */
static void test_term_words(void)
{
	unsigned int w, wide, accepted = 0, wrong = 0;
	struct npu_isa_error err;
	struct npu_insn insn;
	struct npu_term *t;
	struct sample s;

	for (w = 0; w < 200; w++) {
		for (wide = 0; wide < 3; wide++) {
			unsigned int rel = w < 4 ? 99 : (w - 4) % 26,
				     op = w < 4 ? 99 : (w - 4) / 26;
			bool ok = op < 2 && ((wide == 1 && (rel == 2 || (rel >= 12 && rel < 20 &&
									 rel % 2 == 0))) ||
					     (!wide && rel >= 4 && rel < 8));

			sample_parse(&s, NPU_OP_POOL,
				     "out=u8[1,8,8,8] in=u8[1,8,8,8] kernel_h=1 kernel_w=1",
				     "~out.d0=1*s0");
			/* kernel_h, kernel_w */
			ok = ok || (!wide && (w == 4 + 52 + 1 || w == 4 + 52 + 2));
			t = (struct npu_term *)(s.words + 4 + 52 + 12);
			t->word = w;
			t->wide = wide;
			wrong += ok != !npu_insn_decode(s.words, s.num_words, &insn, &err);
			accepted += ok;
		}
	}
	tap_ok(!wrong && accepted == 2 * 9 + 2,
	       "terms name dims, strides, offsets and LEN parameters only");

	sample_parse(&s, NPU_OP_COPY, "out=u8[8,8] in=u8[8,8] ~in.d0=1*s0 ~in.d1=1*s1", NULL);
	t = (struct npu_term *)(s.words + 4 + 52);
	t[0].word = t[1].word + 1;
	tap_ok(npu_insn_decode(s.words, s.num_words, &insn, &err) && strstr(err.text, "width"),
	       "a word past the dims");
	t[0].word = 4 + 26 + 5;
	t[1].word = 4 + 26 + 4;
	tap_ok(npu_insn_decode(s.words, s.num_words, &insn, &err) &&
		       strstr(err.text, "rising order"),
	       "terms out of order");
}

static void test_header(const npu_u8 *stream, size_t size)
{
	static const struct {
		unsigned int offset, bytes;
		npu_u32 value;
		const char *text;
	} cases[] = {
		{ 0, 4, 0, "magic" },
		{ 4, 2, 2, "version" },
		{ 4, 2, 0, "version" },
		{ 6, 2, NPU_ISA_MINOR + 1, "version" },
		{ 8, 4, 0, "size" },
		{ 8, 4, 151, "size" },
		{ 8, 4, 0xfffffff8, "size" },
		{ 12, 4, 0, "the header says 0" },
		{ 12, 4, 1000, "the header says 1000" },
		{ 16, 2, 257, "257 regions" },
		{ 16, 2, 17, "names 17 regions" },
		{ 16, 2, 1, "is in region" },
		{ 18, 2, 17, "17 scalars" },
		{ 18, 2, 0, "scalar 0 has a bound" },
		{ 20, 4, 1, "regions and" },
		{ 24, 4, 9, "bound by 9 to 8" },
		{ 24 + 32, 4, 1, "scalar 4" },
	};
	npu_u8 *copy = malloc(size + 16);
	struct npu_isa_error err;
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memcpy(copy, stream, size);
		memcpy(copy + cases[i].offset, &cases[i].value, cases[i].bytes);
		if (!tap_ok(verify_copy(copy, size, &err) == -22 && strstr(err.text, cases[i].text),
			    "header byte %u = %u: %s", cases[i].offset, cases[i].value,
			    cases[i].text))
			tap_diag("%s", err.text);
	}
	/* An instruction after END: END's own words once more. */
	memcpy(copy, stream, size);
	memcpy(copy + size, stream + size - 16, 16);
	((struct npu_stream_header *)copy)->size = size + 16;
	((struct npu_stream_header *)copy)->num_insns++;
	tap_ok(verify_copy(copy, size + 16, &err) == -22 && strstr(err.text, "after end"),
	       "an instruction after end");
	free(copy);
}

/* The place of a fault, and scalars that fit at one end only. */
static void test_verify(const npu_u8 *stream, size_t size)
{
	struct npu_stream_header *h = malloc(size);
	struct npu_isa_error err;

	if (!tap_ok(!verify_copy(stream, size, &err),
		    "the stream of all good instructions verifies"))
		tap_diag("%s", err.text);
	memcpy(h, stream, size);
	h->scalar[0].max = 400000000;
	tap_ok(verify_copy(h, size, &err) == -22 && err.fault.opcode == NPU_OP_CONV &&
		       err.fault.insn == 6 && err.fault.stream_offset > 152 && err.fault.tag == 42,
	       "a bound that makes a size too large: %s", err.text);
	h->scalar[0].max = 8;
	h->scalar[0].min = 0;
	tap_ok(verify_copy(h, size, &err) == -22 && strstr(err.text, "is 0"),
	       "a bound that makes a size zero: %s", err.text);
	free(h);
}

int main(void)
{
	npu_u8 *stream;
	size_t size;

	stream = sample_stream(&size);
	test_verify(stream, size);
	test_header(stream, size);
	test_truncation(stream, size);
	test_short_instructions();
	test_fields();
	test_terms();
	test_term_words();
	test_mutations(stream, size);
	free(stream);
	return tap_done();
}
