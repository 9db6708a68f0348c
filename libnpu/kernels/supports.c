// SPDX-License-Identifier: MIT
/* The support query: the emitters themselves, on a builder that only checks. */
#include <stdio.h>
#include <string.h>
#include "kernels/stream.h"

static int emit_any(struct npu_stream_builder *b, enum npu_opcode opcode, const void *args)
{
	switch (opcode) {
#define X(name, op)	case NPU_OP_##op: return npu_emit_##name(b, args);
	NPU_EMITTERS(X)
#undef X
	default:
		return npu_stream_refuse(b, -1, "opcode 0x%x has no operator", opcode);
	}
}

bool npu_supports(enum npu_opcode opcode, const void *args, char *why, size_t size)
{
	/* No data: a builder that only checks does not touch it. */
	struct npu_stream_builder b = {
		.header = { .isa_minor = NPU_ISA_MINOR,
			    .num_regions = NPU_MAX_REGIONS,
			    .num_scalars = opcode == NPU_OP_LOAD_SCALAR ? NPU_MAX_SCALARS : 0 },
		.size = sizeof(struct npu_stream_header),
		.dry_run = true,
	};
	int ret = emit_any(&b, opcode, args);

	if (why && size)
		snprintf(why, size, "%s", ret ? b.err.text : "");
	return !ret;
}
