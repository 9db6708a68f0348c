// SPDX-License-Identifier: MIT
/* The text of instructions, written here by hand, and the size contract of snprintf. */
#include <string.h>
#include "sample.h"
#include "tap.h"

static int decode(struct sample *s, unsigned int opcode, const char *text, struct npu_insn *insn)
{
	struct npu_isa_error err;

	sample_parse(s, opcode, text, NULL);
	return npu_insn_decode(s->words, s->num_words, insn, &err);
}

static void expect(unsigned int opcode, const char *text, const char *want)
{
	struct npu_insn insn;
	struct sample s;
	char buf[2048];
	int n;

	if (!tap_ok(!decode(&s, opcode, text, &insn), "decodes: %s", text))
		return;
	n = npu_insn_disassemble(&insn, buf, sizeof(buf));
	if (!tap_ok(!strcmp(buf, want) && n == (int)strlen(want), "%s", want))
		tap_diag("got: %s", buf);
}

static void test_text(void)
{
	expect(NPU_OP_END, "", "end");
	expect(NPU_OP_MARKER, "value=4294967295", "marker value=4294967295");
	expect(NPU_OP_TIMESTAMP, "out=i64[]@3+16", "timestamp out=i64[]@r3+16");
	expect(NPU_OP_REDUCE, "out=f32[2,1,4] in=i8[2,3,4]*0.5:-3@7 func=6 axes=2",
	       "reduce out=f32[2,1,4]@r0+0/(16,16,4) in=i8[2,3,4]@r7+0/(12,4,1)*0.5:-3 func=l2 "
	       "axes=0x2");
	expect(NPU_OP_EWISE2,
	       "out=f32[2] a=f32[2] b=f32[1] func=4 act=3 act_alpha=-inf act_beta=0.1",
	       "ewise2 out=f32[2]@r0+0/(4) a=f32[2]@r1+0/(4) b=f32[1]@r2+0/(4) func=max act=clip "
	       "act_alpha=-inf act_beta=0.100000001 post_mul=1 post_add=0");
	expect(NPU_OP_PAD, "out=f32[6] in=f32[7] before0=-1",
	       "pad out=f32[6]@r0+0/(4) in=f32[7]@r1+0/(4) mode=0 before0=-1 before1=0 before2=0 "
	       "before3=0 before4=0 before5=0 value_lo=0 value_hi=0");
	expect(NPU_OP_POOL,
	       "out=f16[1,1,1,8] in=f16[1,6,12,8]/(0,0,16,2)@1+64 kernel_h=6 kernel_w=0 "
	       "~in.d2=8*s0 ~in.s1=128*s0 ~in.s1=16*s1 ~in.off=-2*s3 ~kernel_w=4*s0",
	       "pool out=f16[1,1,1,8]@r0+0/(16,16,16,2) "
	       "in=f16[1,6,12+8*s0,8]@r1+64-2*s3/(0,128*s0+16*s1,16,2) kind=0 kernel_h=6 "
	       "kernel_w=4*s0 stride_h=1 stride_w=1 dil_h=1 dil_w=1 pad_top=0 pad_left=0 "
	       "pad_bottom=0 pad_right=0 include_pad=0");
	expect(NPU_OP_MATMUL, "out=f32[8,24] a=f32[8,40] b=f16[40,24]/panel16",
	       "matmul out=f32[8,24]@r0+0/(96,4) a=f32[8,40]@r1+0/(160,4) "
	       "b=f16[40,24]@r2+0/panel16 group=0 super=0 act=none act_alpha=0 act_beta=0 "
	       "post_mul=1 post_add=0 join=0 act2=none act2_alpha=0 act2_beta=0");
}

/* Every size of buffer: the length wanted is the same and nothing beyond is written. */
static void test_sizes(void)
{
	struct npu_insn insn;
	struct sample s;
	char full[2048], buf[2048];
	unsigned int i, n, wrong = 0;

	for (i = 0; i < sample_num_good; i++) {
		int len;

		if (decode(&s, sample_good[i].opcode, sample_good[i].text, &insn)) {
			wrong++;
			continue;
		}
		len = npu_insn_disassemble(&insn, full, sizeof(full));
		wrong += len >= (int)sizeof(full) || strlen(full) != (size_t)len;
		wrong += npu_insn_disassemble(&insn, NULL, 0) != len;
		for (n = 1; n <= (unsigned int)len + 1; n++) {
			memset(buf, '#', sizeof(buf));
			wrong += npu_insn_disassemble(&insn, buf, n) != len ||
				 strlen(buf) != n - 1 || memcmp(buf, full, n - 1) || buf[n] != '#';
		}
	}
	tap_ok(!wrong, "every buffer size behaves like snprintf");
}

static void test_names(void)
{
	tap_ok(!strcmp(npu_dtype_name(NPU_BF16), "bf16") && !strcmp(npu_dtype_name(99), "?") &&
		       npu_dtype_bits(NPU_U5) == 5 && npu_dtype_bits(99) == 0 &&
		       npu_dtype_is_float(NPU_F16) && !npu_dtype_is_float(NPU_I32),
	       "types");
	tap_ok(!strcmp(npu_layout_name(NPU_LAYOUT_PANEL16K4), "panel16k4") &&
		       !strcmp(npu_layout_name(4), "?"),
	       "layouts");
	tap_ok(!strcmp(npu_act_name(NPU_ACT_MISH), "mish") && !strcmp(npu_act_name(~0u), "?"),
	       "activations");
	tap_ok(!strcmp(npu_unary_name(NPU_UNARY_BITNOT), "bitnot") &&
		       !strcmp(npu_unary_name(30), "?"),
	       "unary functions");
	tap_ok(!strcmp(npu_binary_name(NPU_BINARY_SHR), "shr") && !strcmp(npu_binary_name(22), "?"),
	       "binary functions");
	tap_ok(!strcmp(npu_reduce_name(NPU_REDUCE_LOG_SUM_EXP), "log_sum_exp") &&
		       !strcmp(npu_reduce_name(10), "?"),
	       "reductions");
	tap_ok(!strcmp(npu_fault_text(NPU_FAULT_INDEX), "index in memory is out of range") &&
		       !strcmp(npu_fault_text(99), "?"),
	       "faults");
	tap_ok(!strcmp(npu_op_desc(NPU_OP_RESIZE)->params[NPU_RESIZE_P_EXCLUDE_OUTSIDE].name,
		       "exclude_outside") &&
		       !strcmp(npu_op_desc(NPU_OP_CONV)->slots[NPU_CONV_W_ZERO].name, "w_zero"),
	       "slots and parameters in lower case");
}

int main(void)
{
	test_text();
	test_sizes();
	test_names();
	return tap_done();
}
