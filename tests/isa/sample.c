// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "sample.h"

const struct sample_good sample_good[] = {
	{ NPU_OP_MARKER, "value=7" },
	{ NPU_OP_TIMESTAMP, "out=i64[]" },
	{ NPU_OP_LOAD_SCALAR, "in=i32[1] index=2 min=1 max=8" },
	{ NPU_OP_CONV,
	  "out=f16[1,8,8,32] in=f16[1,8,8,16] weight=f16[32,3,3,16]/panel16 bias=f32[32] pad_top=1 "
	  "pad_left=1 groups=1 act=1" },
	{ NPU_OP_CONV,
	  "out=i8[2,4,4,12]*0.5:-3 in=u8[2,9,9,6]*0.25:128 weight=i8[12,3,3,3]*0.1:0/panel16k4 "
	  "bias=i32[12] scale=f32[12] residual=i8[2,1,1,12]*0.5:0 table=i8[256] w_zero=i8[12] "
	  "stride_h=2 stride_w=2 groups=2 join=1 act=1" },
	{ NPU_OP_CONV, "out=i32[1,8,8,4] in=u8[1,8,8,4] weight=u8[4,1,1,1] bias=i32[4] groups=4" },
	{ NPU_OP_CONV,
	  "out=f16[1,1,0,32]/(0,0,64,2) in=f16[1,1,0,16]/(0,0,32,2) weight=f32[32,1,1,16]/panel16 "
	  "act=5 act_param=f32[32] ~out.d2=8*s0 ~in.d2=8*s0 ~in.off=64*s1" },
	{ NPU_OP_CONV, "out=i32[1,8,8,4] in=u8[1,8,8,4] weight=u8[4,1,1,4] x_zero=u8[]" },
	{ NPU_OP_CONV_TRANSPOSE,
	  "out=f32[1,16,16,8] in=f32[1,8,8,4] weight=f32[8,2,2,4] stride_h=2 stride_w=2" },
	{ NPU_OP_MATMUL,
	  "out=f16[4,8,24] a=f16[4,8,40] b=f16[1,40,24]/panel16 bias=f32[24] residual=f16[4,8,24] "
	  "join=1" },
	{ NPU_OP_MATMUL, "out=i32[8,24] a=u8[8,40] b=i8[40,24]/panel16k4 b_zero=i8[24]" },
	{ NPU_OP_MATMUL,
	  "out=f16[8,24] a=i8[8,40] b=u4[40,24]/grouped16 group_scale=f16[2,24] a_scale=f32[8] "
	  "codebook=i8[16] group=32" },
	{ NPU_OP_MATMUL,
	  "out=f16[8,24] a=i8[8,512]*0.1:0 b=u6[512,24]*0:32/grouped16 "
	  "group_scale=i8[16,24]/panel16 group_min=u8[16,24] super_scale=f16[2,2,24]/panel16 "
	  "group=32 super=256" },
	{ NPU_OP_MATMUL, "out=f32[8,24] a=u8[8,40] b=u8[40,24] scale=f32[24] a_zero=u8[1]" },
	{ NPU_OP_MATMUL,
	  "out=f16[2,8,24] a=i8[2,8,100] b=u5[1,100,24]/grouped16 group_scale=f32[4,24] "
	  "a_scale=f32[2,8,2] group=32 a_group=64" },
	{ NPU_OP_MATMUL,
	  "out=f32[8,24] a=bf16[8,40] b=u8[40,24]*0:128/grouped16 group_scale=f16[1,24] group=40" },
	{ NPU_OP_EWISE1, "out=f16[2,3,4] in=f16[2,1,4] func=2 act=10" },
	{ NPU_OP_EWISE1, "out=i32[5] in=i32[5] func=0" },
	{ NPU_OP_EWISE2,
	  "out=f32[2,3,4] a=f32[2,1,4] b=f16[1,3,1] func=0 act=3 act_alpha=-inf act_beta=6" },
	{ NPU_OP_EWISE2, "out=bool[8] a=i64[8] b=i64[1] func=10" },
	{ NPU_OP_SELECT, "out=f32[4,4] cond=bool[4,1] a=f16[1,4] b=f16[1,1]" },
	{ NPU_OP_REDUCE, "out=f32[2,1,4] in=f32[2,3,4] func=1 axes=2" },
	{ NPU_OP_ARG_REDUCE, "out=i64[2,1] in=f16[2,300] axis=1" },
	{ NPU_OP_TOPK, "values=f32[2,5] indices=i64[2,5] in=f32[2,300] axis=1" },
	{ NPU_OP_CUMSUM, "out=f32[2,5] in=f32[2,5] axis=1 exclusive=1" },
	{ NPU_OP_SOFTMAX, "out=f16[2,5] in=f16[2,5] axis=1" },
	{ NPU_OP_SOFTMAX,
	  "out=f16[0,97]/(194,2) in=f32[0,97]/(388,4) axis=1 ~out.d0=4*s2 ~in.d0=4*s2" },
	{ NPU_OP_NORM,
	  "out=f16[3,64] in=f16[3,64] gamma=f16[64] beta=f32[64] addend=f16[3,64] sum=f16[3,64] "
	  "kind=1 eps=1e-5" },
	{ NPU_OP_POOL,
	  "out=f16[1,4,4,8] in=f16[1,8,8,8] kernel_h=2 kernel_w=2 stride_h=2 stride_w=2" },
	{ NPU_OP_POOL, "out=f16[1,1,1,8] in=f16[1,6,0,8]/(0,0,16,2) kind=1 kernel_h=6 kernel_w=0 "
		       "~in.d2=4*s0 ~in.s1=64*s0 ~kernel_w=4*s0" },
	{ NPU_OP_RESIZE, "out=f16[1,16,16,8] in=f16[1,8,8,8] mode=1 scale_h=2 scale_w=2" },
	{ NPU_OP_CROP_RESIZE, "out=f32[5,7,7,8] in=f32[2,32,32,8] boxes=f32[5,4] batch=i32[5]" },
	{ NPU_OP_COPY, "out=f16[1,4,4,3] in=f32[1,4,4,3]/(192,16,4,64)" },
	{ NPU_OP_FILL, "out=i64[4,4] value_lo=5" },
	{ NPU_OP_PAD, "out=f32[6,9] in=f32[4,5] mode=1 before0=1 before1=2" },
	{ NPU_OP_IOTA, "out=i32[10] step=1" },
	{ NPU_OP_GATHER, "out=f16[1,7,64] in=f16[1,1000,64] index=i64[7]" },
	{ NPU_OP_GATHER,
	  "out=f16[1,7,70] in=u5[1,100,70]/(4400,44,0) index=i32[7] group_scale=f16[100,3] "
	  "group=32" },
	{ NPU_OP_GATHER,
	  "out=f32[1,7,70] in=u6[1,100,70]*0:32/grouped16 index=i32[7] "
	  "group_scale=i8[100,5]/panel16 super_scale=f16[100,2]/panel16 group=16 super=64" },
	{ NPU_OP_GATHER_ELEMENTS, "out=f32[2,9] in=f32[3,4] index=i64[2,9] axis=1" },
	{ NPU_OP_SCATTER, "inout=f16[2,50,8] in=f16[2,3,8] index=i32[3] join=1 skip=1" },
	{ NPU_OP_SCATTER_ELEMENTS, "inout=f32[4,4] in=f32[2,4] index=i64[2,4] axis=0" },
	{ NPU_OP_ATTENTION,
	  "out=f16[6,8,32] q=f16[6,8,64] k=f16[2,128,2,64] v=f16[2,128,2,32] mask=f32[1,1,3,128] "
	  "kv_len=i32[2] batch=2 scale=0.125 causal=1" },
	{ NPU_OP_ATTENTION,
	  "out=f16[6,8,64] q=f16[6,8,64] k=i8[32,16,4,64] v=i8[32,16,4,64]*0.1:0 positions=i32[6] "
	  "q_start=i32[3] kv_len=i32[2] block_table=i32[2,9] sinks=f32[8] k_scale=f16[32,16,4] "
	  "batch=2 scale=0.125" },
	{ NPU_OP_ROPE,
	  "out=f16[6,8,64] in=f16[6,8,64] positions=i32[6] factors=f32[32] dims=64 base=10000 "
	  "mscale=1" },
	{ NPU_OP_ROPE,
	  "out=f16[6,8,64] in=f16[6,8,64] positions=i32[6] cos_table=f32[512,16] "
	  "sin_table=f32[512,16] dims=32" },
	{ NPU_OP_DYN_QUANT, "out=u8[4,70] scale=f32[] zero=u8[1] in=f32[4,70]" },
	{ NPU_OP_DYN_QUANT, "out=i8[4,70] scale=f32[4,3] in=f16[4,70] group=32" },
	{ NPU_OP_DYN_QUANT, "out=i8[4,70] scale=f16[4,3] in=f32[4,70] group=32" },
	{ NPU_OP_COLOR,
	  "out=f16[1,8,8,3] in=u8[1,8,8] chroma=u8[1,4,4,2] matrix=f32[18] format=0" },
	{ NPU_OP_COLOR, "out=u8[1,8,8,3] in=u8[1,8,8,3] matrix=f32[18] format=2" },
	{ NPU_OP_COLOR,
	  "out=i8[3,5,7,3]*0.1:3 in=u8[1,8,6] chroma=u8[1,4,3,2] matrix=f32[18] box=f32[3,4] "
	  "limit=255" },
	{ NPU_OP_COLOR, "out=f32[1,8,8,3] in=u8[1,8,8,2] matrix=f32[18] format=1 swap=1" },
	{ NPU_OP_COUNT, "inout=i64[2] in=u8[1,4,8,32]*0.1:3" },
	{ NPU_OP_COUNT, "inout=i64[3] in=i8[4,70]/(280,1)" },
	{ NPU_OP_END, "" },
};
const unsigned int sample_num_good = sizeof(sample_good) / sizeof(sample_good[0]);

#define REGION(n) \
	{ .base = (n) << 41, .size = 1ull << 40, .access = NPU_ACCESS_READ | NPU_ACCESS_WRITE }
const struct npu_region sample_regions[NPU_MAX_OPERANDS] = {
	REGION(0ull),  REGION(1ull),  REGION(2ull),  REGION(3ull),  REGION(4ull),  REGION(5ull),
	REGION(6ull),  REGION(7ull),  REGION(8ull),  REGION(9ull),  REGION(10ull), REGION(11ull),
	REGION(12ull), REGION(13ull), REGION(14ull), REGION(15ull),
};

static void bad(const char *word)
{
	fprintf(stderr, "sample: can not read '%s'\n", word);
	exit(2);
}

static int find_slot(const struct npu_op_desc *d, const char *name, size_t len)
{
	unsigned int i;

	for (i = 0; i < d->num_slots; i++)
		if (strlen(d->slots[i].name) == len && !memcmp(d->slots[i].name, name, len))
			return i;
	return -1;
}

static int find_param(const struct npu_op_desc *d, const char *name, size_t len)
{
	unsigned int i;

	for (i = 0; i < d->num_params; i++)
		if (strlen(d->params[i].name) == len && !memcmp(d->params[i].name, name, len))
			return i;
	return -1;
}

static unsigned int find_name(const char *p, size_t len, const char *(*name)(unsigned int),
			      unsigned int n, const char *word)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (strlen(name(i)) == len && !memcmp(name(i), p, len))
			return i;
	bad(word);
	return 0;
}

static void parse_suffix(struct npu_operand *op, char *p, const char *word)
{
	unsigned int i;
	size_t len;

	while (*p) {
		if (*p == '*') {
			op->scale = strtof(p + 1, &p);
			op->zero_point = *p == ':' ? strtol(p + 1, &p, 0) : 0;
		} else if (*p == '@') {
			op->region = strtoul(p + 1, &p, 0);
			if (*p == '+')
				op->offset = strtoull(p + 1, &p, 0);
		} else if (*p == '/' && p[1] == '(') {
			for (i = 0, p++; *p != ')'; i++)
				op->stride[i] = strtoll(p + 1, &p, 0);
			p++;
		} else if (*p == '/') {
			len = strcspn(++p, "@*");
			op->layout = find_name(p, len, npu_layout_name, NPU_NUM_LAYOUTS, word);
			memset(op->stride, 0, sizeof(op->stride));
			p += len;
		} else {
			bad(word);
		}
	}
}

static void parse_operand(struct npu_operand *op, unsigned int slot, char *p, const char *word)
{
	size_t len = strcspn(p, "[");
	npu_u64 step;
	unsigned int i;

	memset(op, 0, sizeof(*op));
	if (*p == '-')
		return;
	op->region = slot;
	op->dtype = find_name(p, len, npu_dtype_name, NPU_NUM_DTYPES, word);
	p += len;
	while (*p == '[' || *p == ',') {
		if (p[1] == ']') {
			p++;
			break;
		}
		if (op->rank == NPU_MAX_RANK)
			bad(word);
		op->dim[op->rank++] = strtoul(p + 1, &p, 0);
	}
	if (*p != ']')
		bad(word);
	step = (npu_dtype_bits(op->dtype) + 7) / 8;
	for (i = op->rank; i--; step *= op->dim[i])
		op->stride[i] = step;
	parse_suffix(op, p + 1, word);
}

static void parse_param(const struct npu_op_desc *d, npu_u32 *params, int i, const char *value,
			const char *word)
{
	float f;

	if (i < 0)
		bad(word);
	if (d->params[i].kind == NPU_PARAM_F32) {
		f = strtof(value, NULL);
		memcpy(&params[i], &f, 4);
	} else {
		params[i] = strtoll(value, NULL, 0);
	}
}

static void parse_term(const struct npu_op_desc *d, char *name, char *value, struct npu_term *t,
		       const char *word)
{
	char *dot = strchr(name, '.');
	int slot = dot ? find_slot(d, name, dot - name) : -1, param;
	unsigned int at;

	t->factor = strtol(value, &value, 0);
	if (value[0] != '*' || value[1] != 's')
		bad(word);
	t->scalar = strtoul(value + 2, NULL, 0);
	if (!dot) {
		param = find_param(d, name, strlen(name));
		t->word = 4 + 26 * d->num_slots + param;
		return;
	}
	if (slot < 0)
		bad(word);
	at = 4 + 26 * slot;
	t->wide = dot[1] != 'd';
	if (dot[1] == 'o')
		t->word = at + 2;
	else if (dot[1] == 'd')
		t->word = at + 4 + (dot[2] - '0');
	else
		t->word = at + 12 + 2 * (dot[2] - '0');
}

static int compare_terms(const void *a, const void *b)
{
	return (int)((const struct npu_term *)a)->word - (int)((const struct npu_term *)b)->word;
}

static void default_params(const struct npu_op_desc *d, npu_u32 *params)
{
	unsigned int i;

	for (i = 0; i < d->num_params; i++) {
		params[i] = d->params[i].min > 0 && d->params[i].kind != NPU_PARAM_F32 ?
				    d->params[i].min :
				    0;
		if (!strcmp(d->params[i].name, "post_mul"))
			params[i] = 0x3f800000;
	}
}

/*
 * What came later is left off when it is not used: CONV's tenth operand and MATMUL's fifteenth of
 * version 1, the last parameter of MATMUL of version 2, the fifth operand and the last two
 * parameters of COLOR of version 3. Parameters go for MATMUL even when the operand stays.
 */
static const struct { unsigned int opcode, params; bool both; } late[] = {
	{ NPU_OP_CONV, 0, false }, { NPU_OP_MATMUL, 1, false }, { NPU_OP_COLOR, 2, true },
};

static void leave_off(struct sample *s, const struct npu_op_desc *d)
{
	struct npu_insn_header *h = (struct npu_insn_header *)s->words;
	npu_u32 *params = s->words + 4 + 26 * d->num_slots, *last = params - 26, i, k;
	struct npu_term *term;

	for (k = 0; k < sizeof(late) / sizeof(*late) && late[k].opcode != d->code; k++)
		;
	if (k == sizeof(late) / sizeof(*late))
		return;
	for (i = 0; i < late[k].params; i++)
		if (params[d->num_params - 1 - i])
			return;
	if (late[k].both && ((struct npu_operand *)last)->dtype)
		return;
	h->num_params -= late[k].params;
	memmove(params + h->num_params, params + d->num_params, h->num_terms * sizeof(*term));
	if (((struct npu_operand *)last)->dtype)
		return;
	h->num_operands--;
	memmove(last, params, (size_t)(s->words + NPU_MAX_INSN_WORDS - params) * 4);
	term = (struct npu_term *)(last + h->num_params);
	for (i = 0; i < h->num_terms; i++)
		if (term[i].word > last - s->words)
			term[i].word -= 26;
}

int sample_parse(struct sample *s, unsigned int opcode, const char *text, const char *more)
{
	const struct npu_op_desc *d = npu_op_desc(opcode);
	struct npu_insn_header *h = (struct npu_insn_header *)s->words;
	struct npu_operand *op = (struct npu_operand *)(s->words + 4);
	npu_u32 *params = s->words + 4 + 26 * d->num_slots;
	struct npu_term *term = (struct npu_term *)(params + d->num_params);
	char buf[1024], *word, *save, *value;
	int slot;

	memset(s, 0, sizeof(*s));
	h->opcode = opcode;
	h->num_operands = d->num_slots;
	h->num_params = d->num_params;
	h->tag = 42;
	default_params(d, params);
	snprintf(buf, sizeof(buf), "%s %s", text, more ? more : "");
	for (word = strtok_r(buf, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		value = strchr(word, '=');
		if (!value)
			bad(word);
		*value++ = '\0';
		slot = find_slot(d, word, strlen(word));
		if (*word == '~')
			parse_term(d, word + 1, value, &term[h->num_terms++], word);
		else if (slot >= 0)
			parse_operand(&op[slot], slot, value, word);
		else
			parse_param(d, params, find_param(d, word, strlen(word)), value, word);
	}
	qsort(term, h->num_terms, sizeof(*term), compare_terms);
	leave_off(s, d);
	s->num_words = h->words =
		(4 + 26 * h->num_operands + h->num_params + 2 * h->num_terms + 1) & ~1u;
	return 0;
}

void *sample_stream(size_t *size)
{
	struct npu_stream_header *h = calloc(1,
					     sizeof(*h) + sample_num_good * sizeof(struct sample));
	struct sample s;
	char *at = (char *)(h + 1);
	unsigned int i;

	h->magic = NPU_STREAM_MAGIC;
	h->isa_major = NPU_ISA_MAJOR;
	h->isa_minor = NPU_ISA_MINOR;
	h->num_insns = sample_num_good;
	h->num_regions = NPU_MAX_OPERANDS;
	h->num_scalars = 4;
	for (i = 0; i < 4; i++) {
		h->scalar[i].min = 1;
		h->scalar[i].max = 8;
	}
	for (i = 0; i < sample_num_good; i++) {
		sample_parse(&s, sample_good[i].opcode, sample_good[i].text, NULL);
		memcpy(at, s.words, s.num_words * 4);
		at += s.num_words * 4;
	}
	*size = h->size = at - (char *)h;
	return h;
}
