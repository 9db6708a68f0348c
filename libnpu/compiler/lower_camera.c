// SPDX-License-Identifier: MIT
/*
 * A camera's frame to a model input: one COLOR reads the pixels where the camera left them and
 * writes the input where the first layer reads it; a letterbox has its borders filled.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "compiler/camera.h"
#include "compiler/lower.h"

/* A plane [rows][bytes] as [1, H, W, ...] of @rank 3, or 4 with @last bytes of a pixel. */
static void pixel_view(const struct npu_lview *plane, int rank, int64_t last,
		       struct npu_lview *out)
{
	*out = *plane;
	npu_lview_insert(out, 0);
	if (rank == 3)
		return;
	out->rank = 4;
	out->dim[2] = npu_dim_const(plane->dim[1].base / last);
	out->dim[3] = npu_dim_const(last);
	out->stride[2] = npu_poly_const(last);
	out->stride[3] = npu_poly_const(1);
}

/* Rows and columns of the input, whose channels come last. */
static int part_of(const struct npu_lview *out, int64_t y, int64_t x, int64_t h, int64_t w,
		   struct npu_lview *part)
{
	const struct npu_dim start[4] = { npu_dim_const(0), npu_dim_const(y), npu_dim_const(x),
					  npu_dim_const(0) };
	const struct npu_dim dim[4] = { npu_dim_const(1), npu_dim_const(h), npu_dim_const(w),
					npu_dim_const(3) };

	return npu_lview_slice(out, start, NULL, dim, part);
}

/* The value of channel @k in the padding's colour, as COLOR would make it. */
static float border_value(const struct npu_camera *c, const float m[18],
			  const struct npu_lview *out, int k)
{
	float v = fmaf((float)c->pad[c->bgr ? 2 - k : k], m[12 + k], m[15 + k]);

	return out->dtype == NPU_U8 && out->scale == 0 ? truncf(v) : v;
}

/* All channels at once when they have one value. */
static int fill_border(struct npu_lower *l, const struct npu_camera *c, const float m[18],
		       const struct npu_lview *border)
{
	float v[3];
	struct npu_lview part;
	int err = 0;

	for (int k = 0; k < 3; k++)
		v[k] = border_value(c, m, border, k);
	if (v[0] == v[1] && v[0] == v[2])
		return npu_lower_fill(l, border, v[0]);
	for (int k = 0; k < 3 && !err; k++) {
		const struct npu_dim start[4] = { npu_dim_const(0), npu_dim_const(0),
						  npu_dim_const(0), npu_dim_const(k) };
		const struct npu_dim dim[4] = { border->dim[0], border->dim[1], border->dim[2],
						npu_dim_const(1) };

		err = npu_lview_slice(border, start, NULL, dim, &part);
		if (!err)
			err = npu_lower_fill(l, &part, v[k]);
	}
	return err;
}

/* What the picture leaves free: above and below it, or left and right. */
static int fill_borders(struct npu_lower *l, const struct npu_camera *c, const float m[18],
			const struct npu_lview *out, const struct npu_camera_place *p)
{
	int64_t h = out->dim[1].base, w = out->dim[2].base;
	const int64_t border[4][4] = {
		{ 0, 0, p->y, w },
		{ p->y + p->height, 0, h - p->y - p->height, w },
		{ p->y, 0, p->height, p->x },
		{ p->y, p->x + p->width, p->height, w - p->x - p->width },
	};
	struct npu_lview part;
	int err = 0;

	for (int i = 0; i < 4 && !err; i++) {
		if (!border[i][2] || !border[i][3])
			continue;
		err = part_of(out, border[i][0], border[i][1], border[i][2], border[i][3], &part);
		if (!err)
			err = fill_border(l, c, m, &part);
	}
	return err;
}

/* The frame as it is: no box is needed. */
static bool is_whole(const struct npu_camera *c, const struct npu_camera_place *p)
{
	return p->box[0] == 0 && p->box[1] == 0 && p->box[2] == (float)c->height &&
	       p->box[3] == (float)c->width && p->height == c->height && p->width == c->width;
}

static int box_view(struct npu_lower *l, const struct npu_camera_place *p, struct npu_lview *v)
{
	int err = npu_lower_vector(l, p->box, 4, v);

	npu_lview_insert(v, 0);
	return err;
}

static int color_insn(struct npu_lower *l, const struct npu_gnode *n, const float m[18],
		      const struct npu_camera_place *p, const struct npu_lview *out)
{
	const struct npu_camera *c = n->image->camera;
	bool yuyv = c->format->color == NPU_COLOR_YUYV, nv12 = c->format->color == NPU_COLOR_NV12;
	struct npu_linsn *insn = npu_lower_insn(l, NPU_OP_COLOR);
	struct npu_lview plane, v;
	int err = insn ? npu_linsn_operand(l, insn, NPU_COLOR_OUT, out) : -ENOMEM;

	for (unsigned int k = 0; k < n->num_inputs && !err; k++) {
		err = npu_lower_in(l, n->inputs[k], &plane);
		if (err)
			break;
		pixel_view(&plane, nv12 && !k ? 3 : 4, nv12 || yuyv ? 2 : 3, &v);
		err = npu_linsn_operand(l, insn, k ? NPU_COLOR_CHROMA : NPU_COLOR_IN, &v);
	}
	if (!err)
		err = npu_lower_vector(l, m, 18, &v);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_COLOR_MATRIX, &v);
	if (!err && !is_whole(c, p)) {
		err = box_view(l, p, &v);
		if (!err)
			err = npu_linsn_operand(l, insn, NPU_COLOR_BOX, &v);
	}
	if (err)
		return err;
	npu_linsn_param(insn, NPU_COLOR_P_FORMAT, c->format->color);
	/* colours of bytes are within it already */
	npu_linsn_float(insn, NPU_COLOR_P_LIMIT, c->format->yuv ? 255 : 0);
	npu_linsn_param(insn, NPU_COLOR_P_SWAP, c->format->swap);
	return 0;
}

int npu_lower_camera(struct npu_lower *l, struct npu_gnode *n)
{
	static const int last[4] = { 0, 2, 3, 1 };
	const struct npu_camera *c = n->image->camera;
	struct npu_gtensor *t = n->outputs[0];
	struct npu_camera_place place;
	struct npu_lview out, part;
	float m[18];
	int err = npu_lower_out(l, t, &out);

	if (err)
		return err;
	if (t->dim[1].base == 3)
		npu_lview_permute(&out, last, &out);
	npu_camera_fit(c, out.dim[1].base, out.dim[2].base, &place);
	npu_camera_coefficients(c, t->type == NPU_GT_U8 && !t->quant, m);
	err = fill_borders(l, c, m, &out, &place);
	if (!err)
		err = part_of(&out, place.y, place.x, place.height, place.width, &part);
	return err ? err : color_insn(l, n, m, &place, &part);
}
