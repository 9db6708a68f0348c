/* SPDX-License-Identifier: MIT */
/* Inside of libnpu/kernels: the builder, and encoding of one instruction. */
#ifndef NPU_KERNELS_STREAM_H
#define NPU_KERNELS_STREAM_H

#include "npu_kernels.h"

struct npu_stream_builder {
	struct npu_stream_header header;	/* copied to the front by finish */
	npu_u8 *data;
	size_t size, room;			/* size counts the header */
	npu_u16 isa_minor;			/* the highest that an instruction needs */
	bool finished;
	bool dry_run;				/* check only; then data may be NULL */
	struct npu_isa_error err;
};

/* An instruction in the making; words are complete after npu_code_close(). */
struct npu_code {
	npu_u32 words[NPU_MAX_INSN_WORDS] __attribute__((aligned(8)));
	struct npu_term term[NPU_MAX_TERMS];
	unsigned int num_terms;
	const struct npu_op_desc *desc;
	struct npu_isa_error *err;
};

/* All return 0, or -EINVAL with the error filled in. */
int npu_code_open(struct npu_code *c, unsigned int opcode, npu_u32 tag, struct npu_isa_error *err);
int npu_code_tensor(struct npu_code *c, unsigned int slot, const struct npu_tensor *t);
int npu_code_param_len(struct npu_code *c, unsigned int index, const struct npu_len *len);
int npu_code_close(struct npu_code *c);

struct npu_operand *npu_code_operand(struct npu_code *c, unsigned int slot);
npu_u32 *npu_code_params(struct npu_code *c);

/* Error of a call that the builder refuses by itself. */
int npu_stream_refuse(struct npu_stream_builder *b, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
