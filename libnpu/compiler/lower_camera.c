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

/* What is made of the frame. */
struct picture {
	const struct npu_camera *c;
	struct npu_camera_place place;	/* with boxes, all of the input */
	bool grey;
	float m[18];
};

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

/* Rows and columns of the pictures, whose channels come last. */
static int part_of(const struct npu_lview *out, int64_t y, int64_t x, int64_t h, int64_t w,
		   struct npu_lview *part)
{
	const struct npu_dim start[4] = { npu_dim_const(0), npu_dim_const(y), npu_dim_const(x),
					  npu_dim_const(0) };
	const struct npu_dim dim[4] = { out->dim[0], npu_dim_const(h), npu_dim_const(w),
					npu_dim_const(3) };

	return npu_lview_slice(out, start, NULL, dim, part);
}

/* The value of channel @k in the padding's colour, as COLOR would make it. */
static float border_value(const struct picture *p, const struct npu_lview *out, int k)
{
	float v = fmaf(npu_camera_padding(p->c, p->grey, k), p->m[12 + k], p->m[15 + k]);

	return out->dtype == NPU_U8 && out->scale == 0 ? truncf(v) : v;
}

/* All channels at once when they have one value. */
static int fill_border(struct npu_lower *l, const struct picture *p,
		       const struct npu_lview *border)
{
	float v[3];
	struct npu_lview part;
	int err = 0;

	for (int k = 0; k < 3; k++)
		v[k] = border_value(p, border, k);
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
static int fill_borders(struct npu_lower *l, const struct picture *p, const struct npu_lview *out)
{
	const struct npu_camera_place *at = &p->place;
	int64_t h = out->dim[1].base, w = out->dim[2].base;
	const int64_t border[4][4] = {
		{ 0, 0, at->y, w },
		{ at->y + at->height, 0, h - at->y - at->height, w },
		{ at->y, 0, at->height, at->x },
		{ at->y, at->x + at->width, at->height, w - at->x - at->width },
	};
	struct npu_lview part;
	int err = 0;

	for (int i = 0; i < 4 && !err; i++) {
		if (!border[i][2] || !border[i][3])
			continue;
		err = part_of(out, border[i][0], border[i][1], border[i][2], border[i][3], &part);
		if (!err)
			err = fill_border(l, p, &part);
	}
	return err;
}

/* The frame as it is: no box is needed. */
static bool is_whole(const struct npu_camera *c, const struct npu_camera_place *p)
{
	return p->box[0] == 0 && p->box[1] == 0 && p->box[2] == (float)c->height &&
	       p->box[3] == (float)c->width && p->height == c->height && p->width == c->width;
}

/* The run's, or a constant. */
static int box_view(struct npu_lower *l, const struct npu_gimage *img, const struct picture *p,
		    struct npu_lview *v)
{
	int err;

	if (img->box)
		return npu_lower_in(l, img->box, v);
	err = npu_lower_vector(l, p->place.box, 4, v);
	npu_lview_insert(v, 0);
	return err;
}

static int color_insn(struct npu_lower *l, const struct npu_gimage *img, const struct picture *p,
		      const struct npu_lview *out)
{
	const struct npu_camera *c = p->c;
	bool yuyv = c->format->color == NPU_COLOR_YUYV, nv12 = c->format->color == NPU_COLOR_NV12;
	struct npu_linsn *insn = npu_lower_insn(l, NPU_OP_COLOR);
	struct npu_lview plane, v;
	int err = insn ? npu_linsn_operand(l, insn, NPU_COLOR_OUT, out) : -ENOMEM;

	for (unsigned int k = 0; k < img->num_planes && !err; k++) {
		err = npu_lower_in(l, img->plane[k], &plane);
		if (err)
			break;
		pixel_view(&plane, nv12 && !k ? 3 : 4, nv12 || yuyv ? 2 : 3, &v);
		err = npu_linsn_operand(l, insn, k ? NPU_COLOR_CHROMA : NPU_COLOR_IN, &v);
	}
	if (!err)
		err = npu_lower_vector(l, p->m, 18, &v);
	if (!err)
		err = npu_linsn_operand(l, insn, NPU_COLOR_MATRIX, &v);
	if (!err && (img->box || !is_whole(c, &p->place))) {
		err = box_view(l, img, p, &v);
		if (!err)
			err = npu_linsn_operand(l, insn, NPU_COLOR_BOX, &v);
	}
	if (err)
		return err;
	npu_linsn_param(insn, NPU_COLOR_P_FORMAT, c->format->color);
	/* colours of bytes are within it already; a sum of them may be rounded out of it */
	npu_linsn_float(insn, NPU_COLOR_P_LIMIT, c->format->yuv || p->grey ? 255 : 0);
	npu_linsn_param(insn, NPU_COLOR_P_SWAP, c->format->swap);
	return 0;
}

/* All of @out, whose channels come last, three of them. */
static int make_picture(struct npu_lower *l, const struct npu_gnode *n, struct picture *p,
			const struct npu_lview *out)
{
	const struct npu_camera_place *at = &p->place;
	struct npu_lview part;
	int err;

	npu_camera_fit(p->c, out->dim[1].base, out->dim[2].base, &p->place);
	npu_camera_coefficients(p->c, p->grey, out->dtype == NPU_U8 && out->scale == 0, p->m);
	err = fill_borders(l, p, out);
	if (!err)
		err = part_of(out, at->y, at->x, at->height, at->width, &part);
	return err ? err : color_insn(l, n->image, p, &part);
}

/* Of three channels that are all grey, the input is the first, where it lies. */
static int lower_grey(struct npu_lower *l, const struct npu_gnode *n, struct picture *p, int axis)
{
	static const int first[4] = { 0, 3, 1, 2 };
	struct npu_gtensor *t = n->outputs[0];
	struct npu_dim dim[4] = { t->dim[0], t->dim[axis == 1 ? 2 : 1], t->dim[axis == 1 ? 3 : 2],
				  npu_dim_const(3) };
	bool real = t->type == NPU_GT_F32 || t->type == NPU_GT_F16;
	struct npu_lview like, whole;
	int err;

	npu_lview_of(t, real ? NPU_F32 : npu_lower_dtype(l, t), &like);
	err = npu_lower_temp_like(l, dim, 4, &like, &whole);
	if (!err)
		err = make_picture(l, n, p, &whole);
	if (err)
		return err;
	whole.dim[3] = npu_dim_const(1);
	if (axis == 1)
		npu_lview_permute(&whole, first, &whole);
	return npu_lower_alias(l, t, &whole);
}

int npu_lower_camera(struct npu_lower *l, struct npu_gnode *n)
{
	static const int last[4] = { 0, 2, 3, 1 };
	struct npu_gtensor *t = n->outputs[0];
	int axis = npu_camera_channel_axis(t), err;
	struct picture p = { .c = n->image->camera, .grey = t->dim[axis].base == 1 };
	struct npu_lview out;

	if (p.grey)
		return lower_grey(l, n, &p, axis);
	err = npu_lower_out(l, t, &out);
	if (err)
		return err;
	if (axis == 1)
		npu_lview_permute(&out, last, &out);
	return make_picture(l, n, &p, &out);
}
