/* SPDX-License-Identifier: MIT */
/* Elements of the cache as vectors of f32; included behind a vf_*.h. */
#include "attn.h"

#define KERNEL __attribute__((no_sanitize("undefined")))
#define INLINE static inline __attribute__((always_inline, unused, no_sanitize("undefined")))

INLINE unsigned int elem_size(enum npu_attn_type type)
{
	return type == ATTN_F32 ? 4 : type == ATTN_F16 ? 2 : 1;
}

/* VL elements; @scale is read with codes only. */
INLINE vf elem_load(const char *p, enum npu_attn_type type, npu_s32 zero, vf scale)
{
	if (type == ATTN_F32)
		return vf_load((const float *)p);
	if (type == ATTN_F16)
		return vf_f16((const npu_u16 *)p);
	return vf_mul(vf_codes((const unsigned char *)p, 1, zero, VL), scale);
}

INLINE vf elem_scale(const struct npu_attn_run *run, npu_u32 j, enum npu_attn_type type)
{
	return type == ATTN_I8 ? vf_bcast(run->scale + j) : vf_zero();
}
