/* SPDX-License-Identifier: MIT */
/* The small kernels of codes in groups, which the compiler makes vectors of: included once a set. */

static void sums(npu_s32 *sum, const npu_u8 *a, npu_s64 n, npu_s64 group)
{
	const signed char *s = (const signed char *)a;
	npu_s64 i, end;
	npu_s32 v;

	for (i = 0; i < n; sum++) {
		end = n - i < group ? n : i + group;
		for (v = 0; i < end; i++)
			v += s[i];
		*sum = v;
	}
}

static void two_level(float *restrict dst, const npu_u8 *restrict src, bool is_signed,
		      const float *restrict super, npu_s64 groups, npu_s64 per)
{
	const float *f = super;
	npu_s64 g, left = per;
	unsigned int j;

	for (g = 0; g < groups; g++, dst += NPU_PANEL, src += NPU_PANEL, left--) {
		if (!left) {
			f += NPU_PANEL;
			left = per;
		}
		if (is_signed)
			for (j = 0; j < NPU_PANEL; j++)
				dst[j] = (float)(signed char)src[j] * f[j];
		else
			for (j = 0; j < NPU_PANEL; j++)
				dst[j] = (float)src[j] * f[j];
	}
}
