/* SPDX-License-Identifier: MIT */
/* Of the kernels of codes in groups what the compiler makes vectors of: included once a set. */

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

/*
 * Codes of @n values by the largest magnitude, as DYN_QUANT has them. Returns the scale; when it is
 * not finite no codes are written. Magnitudes are compared by their bits, where NaN comes last.
 */
static float quantize(npu_u8 *restrict dst, const float *restrict x, npu_s64 n)
{
	npu_u32 top = 0, bits;
	float scale, c;
	npu_s64 i;

	for (i = 0; i < n; i++) {
		memcpy(&bits, &x[i], sizeof(bits));
		bits &= 0x7fffffff;
		top = bits > top ? bits : top;
	}
	memcpy(&scale, &top, sizeof(scale));
	scale /= 127.0f;
	if (top >= 0x7f800000)
		return scale;
	if (scale == 0.0f) {
		memset(dst, 0, (size_t)n);
		return scale;
	}
	for (i = 0; i < n; i++) {
		c = __builtin_rintf(x[i] / scale);
		c = c > -128.0f ? c : -128.0f;
		c = c < 127.0f ? c : 127.0f;
		dst[i] = (npu_u8)(npu_s32)c;
	}
	return scale;
}

/* [k][16] weights of the quads of one group: f32(code - zero) * scale, or fma with @min. */
static void dequant(float *restrict dst, const npu_u8 *restrict codes, npu_s64 k, npu_s32 zero,
		    const float *restrict scale, const float *restrict min)
{
	unsigned int j;
	npu_s64 i;
	float v;

	for (i = 0; i < k; i++, dst += NPU_PANEL) {
		const npu_u8 *c = codes + i / 4 * GQ_QUAD + i % 4;

		for (j = 0; j < NPU_PANEL; j++) {
			v = (float)(c[4 * j] - zero);
			dst[j] = min ? __builtin_fmaf(v, scale[j], min[j]) : v * scale[j];
		}
	}
}
