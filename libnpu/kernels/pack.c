// SPDX-License-Identifier: MIT
/* Weights into the panel layouts and back. */
#include <errno.h>
#include <string.h>
#include "npu_grouped.h"
#include "npu_half.h"
#include "npu_kernels.h"

int npu_pack_size(enum npu_layout layout, enum npu_dtype dtype, const struct npu_pack_shape *s,
		  size_t *bytes)
{
	bool grouped = layout == NPU_LAYOUT_GROUPED16, k4 = layout == NPU_LAYOUT_PANEL16K4;
	npu_u64 k, n;

	*bytes = 0;
	if (!s->batch || !s->groups || !s->outputs || !s->kh || !s->kw || !s->channels ||
	    s->outputs % s->groups)
		return -EINVAL;
	if ((layout == NPU_LAYOUT_PANEL16 && !npu_dtype_is_float(dtype)) ||
	    (k4 && dtype != NPU_I8 && dtype != NPU_U8) || layout == NPU_LAYOUT_STRIDED ||
	    (grouped && dtype != NPU_U8 &&
	     (npu_dtype_bits(dtype) < 4 || npu_dtype_bits(dtype) > 6)) ||
	    (unsigned int)layout >= NPU_NUM_LAYOUTS || !npu_dtype_bits(dtype))
		return -EINVAL;
	if (__builtin_mul_overflow((npu_u64)s->kh * s->kw, s->channels, &k))
		return -EOVERFLOW;
	if (k4 || grouped)
		k = (k + 3) & ~3ull;
	n = (npu_u64)s->outputs / s->groups;
	n = (n + NPU_PANEL - 1) / NPU_PANEL;
	if (__builtin_mul_overflow(n, (npu_u64)NPU_PANEL / 8 * npu_dtype_bits(dtype), &n) ||
	    __builtin_mul_overflow(n, k, &n) || __builtin_mul_overflow(n, s->groups, &n) ||
	    __builtin_mul_overflow(n, s->batch, &n) || n > SIZE_MAX / 2)
		return -EOVERFLOW;
	*bytes = n;
	return 0;
}

/* A shape whose strides leave the range is refused when it is used; here they stay at the top. */
static int64_t times(int64_t a, int64_t b)
{
	int64_t r;

	return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

static int64_t per_group(uint32_t outputs, uint32_t groups)
{
	return groups ? outputs / groups : 0;
}

/* Strides: batch, group, output in group, kh, kw, channel. */
void npu_pack_oihw(struct npu_pack_shape *s, uint32_t groups, uint32_t outputs, uint32_t channels,
		   uint32_t kh, uint32_t kw)
{
	int64_t plane = times(kh, kw), filter = times(channels, plane);

	*s = (struct npu_pack_shape) { 1, groups, outputs, kh, kw, channels,
		{ 0, times(per_group(outputs, groups), filter), filter, kw, 1, plane } };
}

void npu_pack_ohwi(struct npu_pack_shape *s, uint32_t groups, uint32_t outputs, uint32_t kh,
		   uint32_t kw, uint32_t channels)
{
	int64_t row = times(kw, channels), filter = times(kh, row);

	*s = (struct npu_pack_shape) { 1, groups, outputs, kh, kw, channels,
		{ 0, times(per_group(outputs, groups), filter), filter, row, channels, 1 } };
}

void npu_pack_iohw(struct npu_pack_shape *s, uint32_t groups, uint32_t outputs, uint32_t channels,
		   uint32_t kh, uint32_t kw)
{
	int64_t plane = times(kh, kw), row = times(per_group(outputs, groups), plane);

	*s = (struct npu_pack_shape){
		1, groups, outputs, kh, kw, channels, { 0, times(channels, row), plane, kw, 1, row }
	};
}

void npu_pack_kn(struct npu_pack_shape *s, uint32_t batch, uint32_t k, uint32_t n)
{
	*s = (struct npu_pack_shape) { batch, 1, n, 1, 1, k, { times(k, n), 0, 1, 0, 0, n } };
}

void npu_pack_nk(struct npu_pack_shape *s, uint32_t batch, uint32_t n, uint32_t k)
{
	*s = (struct npu_pack_shape) { batch, 1, n, 1, 1, k, { times(k, n), 0, k, 0, 0, 1 } };
}

/* The plain side's last element has to lie inside of @size bytes, and all strides must be >= 0. */
static int check_plain(const struct npu_pack_shape *s, unsigned int elem, size_t size)
{
	const uint32_t count[6] = { s->batch, s->groups, s->outputs / s->groups,
				    s->kh,    s->kw,	 s->channels };
	npu_u64 last = 0, span;
	unsigned int i;

	for (i = 0; i < 6; i++) {
		if (s->stride[i] < 0 ||
		    __builtin_mul_overflow((npu_u64)s->stride[i], count[i] - 1, &span) ||
		    __builtin_add_overflow(last, span, &last))
			return -EINVAL;
	}
	return last >= size / elem ? -EINVAL : 0;
}

/* Both sides of a move. */
struct walk {
	const struct npu_pack_shape *s;
	npu_u8 *packed;
	npu_u8 *plain;
	unsigned int plain_bytes;
	enum npu_dtype plain_type, type;
};

static npu_u32 load_bits(const npu_u8 *p, enum npu_dtype type)
{
	npu_u16 h;
	npu_u32 u;

	if (type == NPU_F32) {
		memcpy(&u, p, 4);
		return u;
	}
	memcpy(&h, p, 2);
	return type == NPU_F16 ? npu_half_widen_bits(h) : npu_bfloat_widen_bits(h);
}

static void store_bits(npu_u8 *p, enum npu_dtype type, npu_u32 u)
{
	npu_u16 h;

	if (type == NPU_F32) {
		u = (u & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : u;
		memcpy(p, &u, 4);
		return;
	}
	h = type == NPU_F16 ? npu_half_narrow_bits(u) : npu_bfloat_narrow_bits(u);
	memcpy(p, &h, 2);
}

/* Floats of PANEL16, else quads of codes: those of PANEL16K4 lie as the grouped ones of 8 bits. */
static void move_element(const struct walk *w, npu_u8 *panel, npu_u64 k, unsigned int lane,
			 npu_u8 *plain, bool pack)
{
	unsigned int bits = npu_dtype_bits(w->type);
	npu_u8 *at = panel + (k * NPU_PANEL + lane) * (bits / 8);
	npu_u8 *quad = panel + k / 4 * npu_grouped_quad_bytes(bits);

	if (npu_dtype_is_float(w->type)) {
		if (pack)
			store_bits(at, w->type, load_bits(plain, w->plain_type));
		else
			store_bits(plain, w->plain_type, load_bits(at, w->type));
	} else if (pack) {
		npu_grouped_put(quad, bits, lane, k % 4, *plain);
	} else {
		*plain = npu_grouped_get(quad, bits, lane, k % 4);
	}
}

static void walk_panel(const struct walk *w, npu_u8 *panel, npu_u8 *plain, unsigned int lanes,
		       bool pack)
{
	const struct npu_pack_shape *s = w->s;
	unsigned int lane;
	npu_u64 k = 0;
	uint32_t h, x, c;

	for (h = 0; h < s->kh; h++)
		for (x = 0; x < s->kw; x++)
			for (c = 0; c < s->channels; c++, k++)
				for (lane = 0; lane < lanes; lane++)
					move_element(w, panel, k, lane,
						     plain + (lane * s->stride[2] +
							      h * s->stride[3] + x * s->stride[4] +
							      c * s->stride[5]) *
								     w->plain_bytes,
						     pack);
}

static void walk_all(const struct walk *w, size_t size, bool pack)
{
	const struct npu_pack_shape *s = w->s;
	uint32_t outs = s->outputs / s->groups, panels = outs / NPU_PANEL + (outs % NPU_PANEL != 0),
		 b, g, p;
	size_t panel_bytes = size / ((size_t)s->batch * s->groups * panels);
	npu_u8 *panel = w->packed;

	for (b = 0; b < s->batch; b++)
		for (g = 0; g < s->groups; g++)
			for (p = 0; p < panels; p++, panel += panel_bytes)
				walk_panel(w, panel,
					   w->plain + (b * s->stride[0] + g * s->stride[1] +
						       (int64_t)p * NPU_PANEL * s->stride[2]) *
							      w->plain_bytes,
					   outs - p * NPU_PANEL < NPU_PANEL ? outs - p * NPU_PANEL :
									      NPU_PANEL,
					   pack);
}

static int walk_init(struct walk *w, enum npu_layout layout, const struct npu_pack_shape *s,
		     enum npu_dtype plain_type, void *plain, size_t plain_size, enum npu_dtype type,
		     void *packed, size_t packed_size)
{
	size_t need;
	int ret = npu_pack_size(layout, type, s, &need);

	if (ret)
		return ret;
	if (packed_size != need)
		return -EINVAL;
	/* Codes are plain bytes before they are packed. */
	if (npu_dtype_is_float(type) != npu_dtype_is_float(plain_type) ||
	    (npu_dtype_bits(type) == 8 && plain_type != type) ||
	    (npu_dtype_bits(type) < 8 && plain_type != NPU_U8))
		return -EINVAL;
	w->s = s;
	w->packed = packed;
	w->plain = plain;
	w->plain_type = plain_type;
	w->plain_bytes = npu_dtype_bits(plain_type) / 8;
	w->type = type;
	return check_plain(s, w->plain_bytes, plain_size);
}

int npu_pack_weights(enum npu_layout layout, const struct npu_pack_shape *s,
		     enum npu_dtype src_type, const void *src, size_t src_size, enum npu_dtype type,
		     void *dst, size_t dst_size)
{
	struct walk w;
	int ret = walk_init(&w, layout, s, src_type, (void *)src, src_size, type, dst, dst_size);

	if (ret)
		return ret;
	memset(dst, 0, dst_size);
	walk_all(&w, dst_size, true);
	return 0;
}

int npu_unpack_weights(enum npu_layout layout, const struct npu_pack_shape *s, enum npu_dtype type,
		       const void *src, size_t src_size, enum npu_dtype dst_type, void *dst,
		       size_t dst_size)
{
	struct walk w;
	int ret = walk_init(&w, layout, s, dst_type, dst, dst_size, type, (void *)src, src_size);

	if (ret)
		return ret;
	walk_all(&w, src_size, false);
	return 0;
}
