// SPDX-License-Identifier: MIT
/* DYN_QUANT, COLOR and COUNT. */
#include <math.h>
#include <string.h>
#include "oracle.h"

/*
 * ONNX DynamicQuantizeLinear: the range is widened to hold 0. A range that the division by 255
 * loses counts as none, and none has the scale 1.
 */
static void quantize_tensor(struct oracle_view out, struct oracle_view in, struct oracle_view scale,
			    struct oracle_view zero)
{
	npu_u32 index[NPU_MAX_RANK] = { 0 }, none[NPU_MAX_RANK] = { 0 };
	float lo = 0, hi = 0, s, z;

	do {
		float v = oracle_load_real(in, oracle_at(in, index));

		lo = v < lo ? v : lo;
		hi = v > hi ? v : hi;
	} while (oracle_next(index, in.op->dim, in.op->rank));
	s = (hi - lo) / 255;
	if (s == 0)
		s = 1;
	z = rintf(fminf(fmaxf(-lo / s, 0), 255));
	do {
		float v = oracle_load_real(in, oracle_at(in, index));
		float code = rintf(v / s) + z;

		*oracle_at(out, index) = (unsigned char)fminf(fmaxf(code, 0), 255);
	} while (oracle_next(index, in.op->dim, in.op->rank));
	oracle_store_real(scale, oracle_at(scale, none), s);
	if (oracle_present(zero))
		*oracle_at(zero, none) = (unsigned char)z;
}

static void quantize_groups(struct oracle_view out, struct oracle_view in, struct oracle_view scale,
			    npu_u32 group)
{
	npu_u32 index[NPU_MAX_RANK] = { 0 }, dim[NPU_MAX_RANK], last = in.op->rank - 1;

	for (unsigned int i = 0; i < in.op->rank; i++)
		dim[i] = in.op->dim[i];
	dim[last] = (in.op->dim[last] + group - 1) / group;
	do {
		npu_u32 at[NPU_MAX_RANK], from = index[last] * group;
		npu_u32 end = from + group < in.op->dim[last] ? from + group : in.op->dim[last];
		float max = 0, s;

		for (unsigned int i = 0; i < in.op->rank; i++)
			at[i] = index[i];
		for (at[last] = from; at[last] < end; at[last]++)
			max = oracle_max(max, fabsf(oracle_load_real(in, oracle_at(in, at))));
		s = max / 127;
		for (at[last] = from; at[last] < end; at[last]++) {
			float code = s == 0 ? 0 :
					      rintf(oracle_load_real(in, oracle_at(in, at)) / s);

			/* q() of NaN is q() of 0 */
			if (isnan(code))
				code = 0;
			*oracle_at(out, at) =
				(unsigned char)(signed char)fminf(fmaxf(code, -128), 127);
		}
		oracle_store_real(scale, oracle_at(scale, index), s);
	} while (oracle_next(index, dim, in.op->rank));
}

int oracle_dyn_quant(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_DYN_QUANT_OUT),
			   in = oracle_view(insn, mem, NPU_DYN_QUANT_IN);
	struct oracle_view scale = oracle_view(insn, mem, NPU_DYN_QUANT_SCALE),
			   zero = oracle_view(insn, mem, NPU_DYN_QUANT_ZERO);

	if (insn->param[NPU_DYN_QUANT_P_GROUP])
		quantize_groups(out, in, scale, insn->param[NPU_DYN_QUANT_P_GROUP]);
	else
		quantize_tensor(out, in, scale, zero);
	return 0;
}

/* Components of pixel (y, x) of image @n. */
static void pixel(const struct npu_insn *insn, struct oracle_view in, struct oracle_view chroma,
		  npu_u32 n, npu_u32 y, npu_u32 x, float v[3])
{
	npu_u32 half[4] = { n, y / 2, x / 2, 0 }, p[4] = { n, y, x, 0 };
	npu_u32 swap = npu_insn_param(insn, NPU_COLOR_P_SWAP);

	switch (insn->param[NPU_COLOR_P_FORMAT]) {
	case NPU_COLOR_NV12:
		v[0] = *oracle_at(in, p);
		v[1] = *oracle_at(chroma, half);
		half[3] = 1;
		v[2] = *oracle_at(chroma, half);
		return;
	case NPU_COLOR_YUYV:
		p[3] = swap;
		v[0] = *oracle_at(in, p);
		p[3] = 1 - swap;
		p[2] = x - x % 2;
		v[1] = *oracle_at(in, p);
		p[2]++;
		v[2] = *oracle_at(in, p);
		return;
	default:
		for (npu_u32 c = 0; c < 3; c++) {
			p[3] = insn->param[NPU_COLOR_P_FORMAT] == NPU_COLOR_BGR24 ? 2 - c : c;
			v[c] = *oracle_at(in, p);
		}
	}
}

/* Where @at falls among the pixels that the box [lo, hi) of an axis of @size touches. */
static npu_u32 box_pixel(float at, float lo, float hi, npu_u32 size)
{
	float first = floorf(lo), last = ceilf(hi) - 1, end = (float)(size - 1);
	double most;

	first = first > 0 ? fminf(first, end) : 0;
	last = last > 0 ? fminf(last, end) : 0;
	/* the last index itself may have no float */
	most = last >= end ? size - 1 : last;
	if (!(at > first))
		return first >= end ? size - 1 : (npu_u32)first;
	return at >= last ? (npu_u32)most : (npu_u32)at;
}

/* The components at (@oh, @ow) of box @n. */
static void resampled(const struct npu_insn *insn, struct oracle_view in, struct oracle_view chroma,
		      const float box[4], const npu_u32 *index, float out[3])
{
	const npu_u32 *size = insn->operand[NPU_COLOR_OUT].dim;
	npu_u32 n = in.op->dim[0] == 1 ? 0 : index[0];
	float where[2], frac[2], v[2][2][3];

	for (int d = 0; d < 2; d++) {
		float step = (box[2 + d] - box[d]) / (float)size[1 + d];

		where[d] = fmaf((float)index[1 + d] + 0.5f, step, box[d]) - 0.5f;
		frac[d] = where[d] - floorf(where[d]);
	}
	for (int i = 0; i < 4; i++)
		pixel(insn, in, chroma, n,
		      box_pixel(floorf(where[0]) + (float)(i / 2), box[0], box[2], in.op->dim[1]),
		      box_pixel(floorf(where[1]) + (float)(i % 2), box[1], box[3], in.op->dim[2]),
		      v[i / 2][i % 2]);
	for (int c = 0; c < 3; c++) {
		float a = fmaf(v[0][1][c] - v[0][0][c], frac[1], v[0][0][c]);
		float b = fmaf(v[1][1][c] - v[1][0][c], frac[1], v[1][0][c]);

		out[c] = fmaf(b - a, frac[0], a);
	}
}

int oracle_color(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view out = oracle_view(insn, mem, NPU_COLOR_OUT),
			   in = oracle_view(insn, mem, NPU_COLOR_IN);
	struct oracle_view chroma = oracle_view(insn, mem, NPU_COLOR_CHROMA),
			   matrix = oracle_view(insn, mem, NPU_COLOR_MATRIX);
	bool boxed = npu_insn_slot(insn, NPU_COLOR_BOX)->dtype != NPU_NONE;
	npu_u32 limit = npu_insn_param(insn, NPU_COLOR_P_LIMIT);
	npu_u32 index[4] = { 0 };
	float m[18], most;

	memcpy(&most, &limit, sizeof(most));
	for (npu_u32 i = 0; i < 18; i++)
		m[i] = oracle_load_real(matrix, oracle_at(matrix, &i));
	do {
		float v[3], acc = 0, box[4];
		npu_u32 c = index[3];

		if (boxed) {
			struct oracle_view boxes = oracle_view(insn, mem, NPU_COLOR_BOX);

			for (npu_u32 i = 0; i < 4; i++)
				box[i] = oracle_load_real(boxes,
							  oracle_at(boxes,
								    (npu_u32[]){ index[0], i }));
			resampled(insn, in, chroma, box, index, v);
		} else {
			pixel(insn, in, chroma, index[0], index[1], index[2], v);
		}
		for (int i = 0; i < 3; i++)
			acc = fmaf(v[i] - m[i], m[3 + c * 3 + i], acc);
		if (most > 0)
			acc = acc < 0 ? 0 : acc > most ? most : acc;
		oracle_store_real(out, oracle_at(out, index), fmaf(acc, m[12 + c], m[15 + c]));
	} while (oracle_next(index, out.op->dim, 4));
	return 0;
}

int oracle_count(const struct npu_insn *insn, const struct oracle_memory *mem)
{
	struct oracle_view io = oracle_view(insn, mem, NPU_COUNT_INOUT),
			   in = oracle_view(insn, mem, NPU_COUNT_IN);
	int is_signed = in.op->dtype == NPU_I8;
	npu_u32 index[NPU_MAX_RANK] = { 0 };
	npu_u64 found[3] = { 0 };

	do {
		unsigned char bits = *oracle_at(in, index);
		int code = is_signed ? (signed char)bits : bits;

		found[0] += code == (is_signed ? -128 : 0);
		found[1] += code == (is_signed ? 127 : 255);
		found[2]++;
	} while (oracle_next(index, in.op->dim, in.op->rank));
	for (npu_u32 i = 0; i < io.op->dim[0]; i++) {
		unsigned char *at = oracle_at(io, &i);

		oracle_store_int(io, at,
				 (npu_s64)((npu_u64)oracle_load_int(io, at) + found[i]));
	}
	return 0;
}
