// SPDX-License-Identifier: MIT
/*
 * Weight packing. The reference walks the packed bytes from front to back as the layout's
 * definition reads (group, panel, k, lane) and looks each element up in the plain weight by an
 * index of its own.
 */
#include <stdlib.h>
#include <string.h>
#include "npu_half.h"
#include "npu_kernels.h"
#include "tap.h"

/* A plain element by its logical indices, for the orders that the helpers name. */
enum order { OIHW, OHWI, IOHW, KN, NK };
static const char *const order_name[] = { "oihw", "ohwi", "iohw", "kn", "nk" };

struct shape {
	enum order order;
	unsigned int batch, g, o, kh, kw, c;	/* o: outputs of all groups */
};

static size_t plain_index(const struct shape *s, unsigned int b, unsigned int o, unsigned int h,
			  unsigned int w, unsigned int c)
{
	unsigned int og = s->o / s->g;

	switch (s->order) {
	case OIHW:
		return ((o * s->c + c) * s->kh + h) * s->kw + w;
	case OHWI:
		return ((o * s->kh + h) * s->kw + w) * s->c + c;
	case IOHW:	/* channel of all groups, then output within its group */
		return (((o / og * s->c + c) * og + o % og) * s->kh + h) * s->kw + w;
	case KN:
		return (b * s->c + c) * s->o + o;
	default:
		return (b * s->o + o) * s->c + c;
	}
}

static void make_shape(const struct shape *s, struct npu_pack_shape *p)
{
	switch (s->order) {
	case OIHW:
		npu_pack_oihw(p, s->g, s->o, s->c, s->kh, s->kw);
		break;
	case OHWI:
		npu_pack_ohwi(p, s->g, s->o, s->kh, s->kw, s->c);
		break;
	case IOHW:
		npu_pack_iohw(p, s->g, s->o, s->c, s->kh, s->kw);
		break;
	case KN:
		npu_pack_kn(p, s->batch, s->c, s->o);
		break;
	default:
		npu_pack_nk(p, s->batch, s->o, s->c);
	}
}

static const struct shape shapes[] = {
	{ OIHW, 1, 1, 24, 3, 3, 5 },  { OIHW, 1, 2, 36, 3, 2, 3 }, { OIHW, 1, 7, 7, 3, 3, 1 },
	{ OHWI, 1, 1, 16, 1, 1, 32 }, { OHWI, 1, 3, 51, 2, 5, 4 }, { IOHW, 1, 1, 20, 2, 2, 6 },
	{ IOHW, 1, 2, 34, 3, 2, 5 },  { KN, 1, 1, 33, 1, 1, 40 },  { KN, 3, 1, 17, 1, 1, 7 },
	{ NK, 2, 1, 1, 1, 1, 9 },     { NK, 1, 1, 48, 1, 1, 66 },
};

static npu_u64 rng_state = 0x2545f4914f6cdd1dull;

static npu_u8 rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return rng_state >> 24;
}

/* Element (panel-relative) k of a lane, read from the packed bytes. */
static npu_u32 packed_at(enum npu_layout layout, enum npu_dtype type, const npu_u8 *panel,
			 unsigned int k, unsigned int lane)
{
	unsigned int bits = npu_dtype_bits(type), i;
	npu_u32 v = 0;

	if (layout == NPU_LAYOUT_PANEL16K4)
		return panel[k / 4 * 64 + lane * 4 + k % 4];
	if (layout == NPU_LAYOUT_PANEL16) {
		memcpy(&v, panel + (k * 16 + lane) * (bits / 8), bits / 8);
		return v;
	}
	i = lane * 4 + k % 4;
	panel += (size_t)k / 4 * 8 * bits;
	if (bits == 8)
		return panel[i];
	/* halves of 32 bytes, then a plane of one or two bits of each code */
	v = i < 32 ? panel[i] & 15 : panel[i - 32] >> 4;
	panel += 32;
	if (bits == 5)
		return v + 16 * (panel[i / 8] >> (i & 7) & 1);
	return bits == 6 ? v + 16 * (panel[i & 15] >> 2 * (i >> 4) & 3) : v;
}

static npu_u32 convert(npu_u32 bits, enum npu_dtype from, enum npu_dtype to)
{
	float f = from == NPU_F16  ? npu_half_widen(bits) :
		  from == NPU_BF16 ? npu_bfloat_widen(bits) :
				     npu_half_f32(bits);

	if (from == to || !npu_dtype_is_float(to))
		return bits;
	return to == NPU_F16  ? npu_half_narrow(f) :
	       to == NPU_BF16 ? npu_bfloat_narrow(f) :
				npu_half_f32_bits(f);
}

static unsigned int compare(const struct shape *s, enum npu_layout layout, enum npu_dtype from,
			    const npu_u8 *plain, enum npu_dtype to, const npu_u8 *packed,
			    size_t size)
{
	unsigned int og = s->o / s->g, panels = (og + 15) / 16, kn = s->kh * s->kw * s->c,
		     wrong = 0, b, g, p, k, lane;
	unsigned int kfull = layout == NPU_LAYOUT_PANEL16 ? kn : (kn + 3) / 4 * 4,
		     from_bytes = npu_dtype_bits(from) / 8;
	size_t panel_bytes = (size_t)kfull * 2 * npu_dtype_bits(to);
	const npu_u8 *panel = packed;

	for (b = 0; b < s->batch; b++)
		for (g = 0; g < s->g; g++)
			for (p = 0; p < panels; p++, panel += panel_bytes)
				for (k = 0; k < kfull; k++)
					for (lane = 0; lane < 16; lane++) {
						unsigned int o = g * og + p * 16 + lane,
							     c = k % s->c, w = k / s->c % s->kw;
						npu_u32 want = 0;

						if (p * 16 + lane < og && k < kn) {
							memcpy(&want,
							       plain + plain_index(s, b, o,
										   k / s->c / s->kw,
										   w, c) *
									       from_bytes,
							       from_bytes);
							want = convert(want, from, to);
						}
						wrong += want !=
							 packed_at(layout, to, panel, k, lane);
					}
	return wrong + (panel != packed + size);
}

static void test_one(const struct shape *s, enum npu_layout layout, enum npu_dtype from,
		     enum npu_dtype to)
{
	size_t count = (size_t)s->batch * s->o * s->kh * s->kw * s->c,
	       bytes = count * (npu_dtype_bits(from) / 8), size, i;
	npu_u8 *plain = malloc(bytes), *back = malloc(bytes), *packed;
	struct npu_pack_shape shape;
	bool exact;

	make_shape(s, &shape);
	for (i = 0; i < bytes; i++)
		plain[i] = rng();
	for (i = 0; i < bytes && npu_dtype_is_float(from); i++) {
		/* no NaN, which comes back as another; no bit that a narrower type lacks */
		if (from == NPU_F32 && i % 4 == 3)
			plain[i] = 0x3d + (plain[i] & 0x82);
		if (from != NPU_F32 && i % 2 == 1)
			plain[i] = 0x3c + (plain[i] & 0x83);
		if (from == NPU_F32 && i % 4 < 2)
			plain[i] = 0;
	}
	for (i = 0; i < bytes && npu_dtype_bits(to) < 8; i++)
		plain[i] &= (1 << npu_dtype_bits(to)) - 1;
	if (!tap_ok(!npu_pack_size(layout, to, &shape, &size), "size")) {
		free(plain);
		free(back);
		return;
	}
	packed = malloc(size);
	memset(packed, 0xaa, size);
	tap_ok(!npu_pack_weights(layout, &shape, from, plain, bytes, to, packed, size) &&
		       !compare(s, layout, from, plain, to, packed, size),
	       "%s %ux%ux%ux%ux%u in %u groups: %s to %s %s", order_name[s->order], s->batch, s->o,
	       s->kh, s->kw, s->c, s->g, npu_dtype_name(from), npu_dtype_name(to),
	       npu_layout_name(layout));
	/* bfloat16's range fits f16 only in part, and f32's bits only f32 and bf16 here. */
	exact = from == to || !npu_dtype_is_float(to) || (from == NPU_F32 && to == NPU_BF16) ||
		to == NPU_F32;
	memset(back, 0x55, bytes);
	if (exact)
		tap_ok(!npu_unpack_weights(layout, &shape, to, packed, size, from, back, bytes) &&
			       !memcmp(plain, back, bytes),
		       "and back");
	free(plain);
	free(back);
	free(packed);
}

static void test_sizes(void)
{
	struct npu_pack_shape s;
	size_t n;

	npu_pack_oihw(&s, 1, 24, 16, 3, 3);
	tap_ok(!npu_pack_size(NPU_LAYOUT_PANEL16, NPU_F16, &s, &n) && n == 2 * 144 * 32,
	       "size of panel16");
	tap_ok(npu_pack_size(NPU_LAYOUT_PANEL16, NPU_I8, &s, &n) == -22 &&
		       npu_pack_size(NPU_LAYOUT_PANEL16K4, NPU_F16, &s, &n) == -22 &&
		       npu_pack_size(NPU_LAYOUT_STRIDED, NPU_F16, &s, &n) == -22 &&
		       npu_pack_size(NPU_LAYOUT_GROUPED16, NPU_I8, &s, &n) == -22 &&
		       npu_pack_size(NPU_LAYOUT_GROUPED16, NPU_F16, &s, &n) == -22 &&
		       npu_pack_size(9, NPU_F16, &s, &n) == -22,
	       "type and layout");
	npu_pack_oihw(&s, 5, 24, 16, 3, 3);
	tap_ok(npu_pack_size(NPU_LAYOUT_PANEL16, NPU_F16, &s, &n) == -22,
	       "groups that do not divide the outputs");
	npu_pack_oihw(&s, 0, 24, 16, 3, 3);
	tap_ok(npu_pack_size(NPU_LAYOUT_PANEL16, NPU_F16, &s, &n) == -22, "no groups");
	npu_pack_oihw(&s, 1, 0xfffffff0, 0xffffffff, 0xffff, 0xffff);
	tap_ok(npu_pack_size(NPU_LAYOUT_PANEL16, NPU_F16, &s, &n) == -75, "a size that overflows");
	npu_pack_kn(&s, 0xffffffff, 0xffffffff, 0xffffffff);
	tap_ok(npu_pack_size(NPU_LAYOUT_PANEL16, NPU_F32, &s, &n) == -75, "a batch that overflows");
}

static void test_refusals(void)
{
	float plain[40 * 24] = { 0 };
	npu_u8 packed[2 * 40 * 64];
	struct npu_pack_shape s;

	npu_pack_kn(&s, 1, 40, 24);
	tap_ok(!npu_pack_weights(NPU_LAYOUT_PANEL16, &s, NPU_F32, plain, sizeof(plain), NPU_F32,
				 packed, sizeof(packed)),
	       "fits");
	tap_ok(npu_pack_weights(NPU_LAYOUT_PANEL16, &s, NPU_F32, plain, sizeof(plain) - 1, NPU_F32,
				packed, sizeof(packed)) == -22,
	       "a source that is a byte too short");
	tap_ok(npu_pack_weights(NPU_LAYOUT_PANEL16, &s, NPU_F32, plain, sizeof(plain), NPU_F32,
				packed, sizeof(packed) - 1) == -22 &&
		       npu_pack_weights(NPU_LAYOUT_PANEL16, &s, NPU_F32, plain, sizeof(plain),
					NPU_F16, packed, sizeof(packed)) == -22,
	       "a destination of another size");
	tap_ok(npu_pack_weights(NPU_LAYOUT_PANEL16, &s, NPU_I8, plain, sizeof(plain), NPU_F16,
				packed, sizeof(packed) / 2) == -22,
	       "integers into a float panel");
	tap_ok(npu_pack_weights(NPU_LAYOUT_PANEL16K4, &s, NPU_U8, plain, sizeof(plain), NPU_I8,
				packed, 2 * 40 * 16) == -22,
	       "u8 into an i8 panel");
	s.stride[5] = -24;
	tap_ok(npu_pack_weights(NPU_LAYOUT_PANEL16, &s, NPU_F32, plain, sizeof(plain), NPU_F32,
				packed, sizeof(packed)) == -22,
	       "a negative stride");
	s.stride[5] = INT64_MAX;
	tap_ok(npu_pack_weights(NPU_LAYOUT_PANEL16, &s, NPU_F32, plain, sizeof(plain), NPU_F32,
				packed, sizeof(packed)) == -22,
	       "a stride that overflows");
}

int main(void)
{
	static const struct {
		enum npu_layout layout;
		enum npu_dtype from, to;
	} kinds[] = {
		{ NPU_LAYOUT_PANEL16, NPU_F32, NPU_F32 },
		{ NPU_LAYOUT_PANEL16, NPU_F32, NPU_F16 },
		{ NPU_LAYOUT_PANEL16, NPU_F16, NPU_F16 },
		{ NPU_LAYOUT_PANEL16, NPU_BF16, NPU_F16 },
		{ NPU_LAYOUT_PANEL16, NPU_BF16, NPU_F32 },
		{ NPU_LAYOUT_PANEL16, NPU_F32, NPU_BF16 },
		{ NPU_LAYOUT_PANEL16K4, NPU_I8, NPU_I8 },
		{ NPU_LAYOUT_PANEL16K4, NPU_U8, NPU_U8 },
		{ NPU_LAYOUT_GROUPED16, NPU_U8, NPU_U4 },
		{ NPU_LAYOUT_GROUPED16, NPU_U8, NPU_U5 },
		{ NPU_LAYOUT_GROUPED16, NPU_U8, NPU_U6 },
		{ NPU_LAYOUT_GROUPED16, NPU_U8, NPU_U8 },
	};
	unsigned int i, j;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		for (j = 0; j < sizeof(kinds) / sizeof(kinds[0]); j++)
			test_one(&shapes[i], kinds[j].layout, kinds[j].from, kinds[j].to);
	test_sizes();
	test_refusals();
	return tap_done();
}
