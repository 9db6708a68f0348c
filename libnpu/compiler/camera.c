// SPDX-License-Identifier: MIT
/* Planes of a camera's frame in place of a model input, and the numbers of the conversion. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "compiler/camera.h"

void npu_camera_plane(const struct npu_camera *c, unsigned int k, uint32_t *row_bytes,
		      uint32_t *rows)
{
	*row_bytes = c->width * c->format->pixel_bytes;
	*rows = k ? c->height / 2 : c->height;
}

/* ---- where the picture goes ------------------------------------------------------------------ */

void npu_camera_fit(const struct npu_camera *c, int64_t height, int64_t width,
		    struct npu_camera_place *place)
{
	double x = c->crop[0], y = c->crop[1], w = c->crop[2], h = c->crop[3], part, ratio;

	*place = (struct npu_camera_place){ .height = height, .width = width };
	if (c->fit == NPU_FIT_LETTERBOX) {
		ratio = fmin((double)width / w, (double)height / h);
		place->width = (int64_t)fmax(1, fmin((double)width, round(w * ratio)));
		place->height = (int64_t)fmax(1, fmin((double)height, round(h * ratio)));
		place->x = (width - place->width) / 2;
		place->y = (height - place->height) / 2;
	} else if (c->fit == NPU_FIT_CROP && w * (double)height > h * (double)width) {
		part = h * (double)width / (double)height;
		x += (w - part) / 2;
		w = part;
	} else if (c->fit == NPU_FIT_CROP) {
		part = w * (double)height / (double)width;
		y += (h - part) / 2;
		h = part;
	}
	place->box[0] = (float)y;
	place->box[1] = (float)x;
	place->box[2] = (float)(y + h);
	place->box[3] = (float)(x + w);
}

/* ---- colours --------------------------------------------------------------------------------- */

/* Of red, green and blue in luma. */
static void luma_weights(const struct npu_camera *c, double k[3])
{
	static const double weights[NPU_NUM_MATRICES][2] = {
		[NPU_MATRIX_BT601] = { 0.299, 0.114 },
		[NPU_MATRIX_BT709] = { 0.2126, 0.0722 },
	};

	k[0] = weights[c->matrix][0];
	k[2] = weights[c->matrix][1];
	k[1] = 1 - k[0] - k[2];
}

/* Red, green and blue from (y, u, v) without offsets. */
static void yuv_matrix(const struct npu_camera *c, double m[3][3])
{
	double k[3], kr, kg, kb;
	double luma = c->range == NPU_RANGE_LIMITED ? 255.0 / 219 : 1;
	double chroma = c->range == NPU_RANGE_LIMITED ? 255.0 / 224 : 1;

	luma_weights(c, k);
	kr = k[0];
	kg = k[1];
	kb = k[2];
	for (int i = 0; i < 3; i++)
		m[i][0] = luma;
	m[0][1] = 0;
	m[0][2] = chroma * 2 * (1 - kr);
	m[1][1] = -chroma * 2 * (1 - kb) * kb / kg;
	m[1][2] = -chroma * 2 * (1 - kr) * kr / kg;
	m[2][1] = chroma * 2 * (1 - kb);
	m[2][2] = 0;
}

/* Grey is luma: what the camera has, or what it would make of red, green and blue. */
static void grey_matrix(const struct npu_camera *c, double m[3][3])
{
	double k[3];

	luma_weights(c, k);
	if (c->format->yuv) {
		k[0] = c->range == NPU_RANGE_LIMITED ? 255.0 / 219 : 1;
		k[1] = k[2] = 0;
	}
	for (int i = 0; i < 3; i++)
		memcpy(m[i], k, sizeof(k));
}

float npu_camera_padding(const struct npu_camera *c, bool grey, int k)
{
	double w[3];

	if (!grey)
		return (float)c->pad[c->bgr ? 2 - k : k];
	luma_weights(c, w);
	return (float)(w[0] * c->pad[0] + w[1] * c->pad[1] + w[2] * c->pad[2]);
}

void npu_camera_coefficients(const struct npu_camera *c, bool grey, bool bytes, float m[18])
{
	double to_rgb[3][3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
	unsigned int u = c->format->v_first ? 2 : 1;

	if (grey)
		grey_matrix(c, to_rgb);
	else if (c->format->yuv)
		yuv_matrix(c, to_rgb);
	m[0] = c->format->yuv && c->range == NPU_RANGE_LIMITED ? 16 : 0;
	m[1] = m[2] = c->format->yuv ? 128 : 0;
	for (int i = 0; i < 3; i++) {
		const double *row = to_rgb[c->bgr ? 2 - i : i];

		m[3 + 3 * i] = (float)row[0];
		m[3 + 3 * i + 1] = (float)row[u];
		m[3 + 3 * i + 2] = (float)row[3 - u];
		m[12 + i] = bytes ? 1 : (float)(c->scale / c->std[i]);
		m[15 + i] = bytes ? 0.5f : (float)(-c->mean[i] / c->std[i]);
	}
}

/* ---- the graph ------------------------------------------------------------------------------- */

static const char *names_of_inputs(const struct npu_graph *g, struct npu_diag *diag)
{
	const char *s = "";

	for (unsigned int i = 0; i < g->num_inputs && s; i++)
		s = npu_arena_printf(&diag->arena, "%s%s'%s'", s, i ? ", " : "",
				     g->inputs[i]->name);
	return s ? s : "";
}

static int input_index(const struct npu_graph *g, const struct npu_camera *c,
		       struct npu_diag *diag)
{
	for (unsigned int i = 0; i < g->num_inputs; i++)
		if (*c->input ? !strcmp(g->inputs[i]->name, c->input) : g->num_inputs == 1)
			return (int)i;
	if (*c->input)
		return npu_diag_add(diag, -EINVAL, "input format",
				    "'%s': the model has no input '%s', expected %s", c->text,
				    c->input, names_of_inputs(g, diag));
	return npu_diag_add(diag, -EINVAL, "input format",
			    "'%s': the model has %u inputs, %s: say which, NAME=%s", c->text,
			    g->num_inputs, names_of_inputs(g, diag), c->spec);
}

int npu_camera_channel_axis(const struct npu_gtensor *t)
{
	static const int order[][2] = { { 1, 3 }, { 3, 3 }, { 1, 1 }, { 3, 1 } };

	if (!npu_gtensor_is_static(t) || t->rank != 4)
		return -1;
	for (int i = 0; i < 4; i++)
		if (t->dim[order[i][0]].base == order[i][1])
			return order[i][0];
	return -1;
}

/* What is said by channel, of an input that has one. */
static int check_grey(const struct npu_camera *c, const struct npu_gtensor *t,
		      struct npu_diag *diag)
{
	const char *key = c->bgr ? "order" : NULL;

	for (int i = 1; i < 3; i++)
		if (c->mean[i] != c->mean[0] || c->std[i] != c->std[0])
			key = c->mean[i] != c->mean[0] ? "mean" : "std";
	if (!key || t->dim[npu_camera_channel_axis(t)].base == 3)
		return 0;
	return npu_diag_add(diag, -EINVAL, "input format",
			    "'%s': %s: input '%s' has one channel, which is grey", c->text, key,
			    t->name);
}

/*
 * A float or u8 picture of known size with its channels first or last; one at a time, or with boxes
 * one for each.
 */
static int check_input(const struct npu_camera *c, const struct npu_gtensor *t,
		       struct npu_diag *diag)
{
	if (t->is_output)
		return npu_diag_add(diag, -EINVAL, "input format",
				    "'%s': input '%s' is an output of the model, too", c->text,
				    t->name);
	if (t->type != NPU_GT_F32 && t->type != NPU_GT_F16 && (t->type != NPU_GT_U8 || t->quant))
		return npu_diag_add(diag, -EINVAL, "input format",
				    "'%s': input '%s' is of type %s, expected f32, f16 or u8",
				    c->text, t->name, npu_gtype_name(t->type));
	if (npu_camera_channel_axis(t) < 0 || (t->dim[0].base != 1 && !c->boxed))
		return npu_diag_add(
			diag, -EINVAL, "input format",
			"'%s': input '%s' is no picture of a known size, %sx3xHxW or %sxHxWx3 (1: grey)%s",
			c->text, t->name, c->boxed ? "N" : "1", c->boxed ? "N" : "1",
			npu_gtensor_is_static(t) ? "" : ": fix it with --shape");
	if (check_grey(c, t, diag))
		return -EINVAL;
	if (t->type == NPU_GT_U8 && c->has_norm)
		return npu_diag_add(
			diag, -EINVAL, "input format",
			"'%s': input '%s' takes colours as they are, without scale, mean and std",
			c->text, t->name);
	return 0;
}

/* The input of plane @k of image @img. */
static struct npu_gtensor *add_plane(struct npu_graph *g, const struct npu_camera *c,
				     const char *name, unsigned int k, struct npu_diag *diag)
{
	const char *own = npu_arena_printf(&g->arena, "%s%s", name, k ? ".uv" : "");
	struct npu_gtensor *t = own ? npu_graph_tensor(g, own, "plane", NPU_GT_U8) : NULL;
	uint32_t row, rows;
	int sym;

	if (!t)
		return NULL;
	npu_camera_plane(c, k, &row, &rows);
	t->rank = 2;
	t->dim[0] = npu_dim_const(rows);
	t->dim[1] = npu_dim_const(row);
	t->is_input = true;
	t->pitch = npu_dim_const(c->stride);
	if (c->stride)
		return t;
	own = npu_arena_printf(&g->arena, "%s.stride", t->name);
	if (!own)
		return NULL;
	sym = npu_graph_symbol_add(g, own, row, (int64_t)row * NPU_CAMERA_MAX_APART, 1, diag);
	if (sym < 0)
		return NULL;
	g->syms[sym].stride = true;
	t->pitch = npu_graph_symbol_dim(g, sym);
	return t;
}

/* A box for each of the input's pictures. */
static struct npu_gtensor *add_box(struct npu_graph *g, const char *name, struct npu_dim count)
{
	const char *own = npu_arena_printf(&g->arena, "%s.box", name);
	struct npu_gtensor *t = own ? npu_graph_tensor(g, own, "box", NPU_GT_F32) : NULL;

	if (!t)
		return NULL;
	t->rank = 2;
	t->dim[0] = count;
	t->dim[1] = npu_dim_const(4);
	t->is_input = true;
	return t;
}

/* The input @index becomes @count others, at its place. */
static int replace_input(struct npu_graph *g, unsigned int index, struct npu_gtensor *const *planes,
			 unsigned int count)
{
	struct npu_gtensor **all = npu_arena_array(&g->arena, g->num_inputs + count, sizeof(*all));

	if (!all)
		return -ENOMEM;
	memcpy(all, g->inputs, index * sizeof(*all));
	memcpy(all + index, planes, count * sizeof(*all));
	memcpy(all + index + count, g->inputs + index + 1,
	       (g->num_inputs - index - 1) * sizeof(*all));
	g->inputs = all;
	g->num_inputs += count - 1;
	return 0;
}

/* The only reader of @t that is not an output; NULL: there are others. */
static struct npu_gnode *only_reader(const struct npu_gtensor *t)
{
	return t->num_consumers == 1 && !t->is_output ? t->consumer[0] : NULL;
}

/*
 * When all that reads @t, also through a Transpose or Reshape, is the Cast to a first layer's
 * codes, the node writes these: the Cast goes, and what is in front of it becomes codes.
 */
static int take_codes(struct npu_graph *g, struct npu_gtensor *t)
{
	struct npu_gnode *n = only_reader(t);
	struct npu_gtensor *codes, *last = t;

	while (n && (n->op == NPU_GOP_Transpose || n->op == NPU_GOP_Reshape)) {
		last = n->outputs[0];
		n = only_reader(last);
	}
	codes = n && n->op == NPU_GOP_Cast && !n->host ? n->outputs[0] : NULL;
	if (!codes || !codes->quant || codes->quant->axis >= 0 || codes->is_output ||
	    n->ep.act.kind != NPU_GA_NONE)
		return 0;
	for (struct npu_gtensor *v = last;; v = v->producer->inputs[0]) {
		v->type = codes->type;
		v->quant = codes->quant;
		if (v == t)
			break;
	}
	npu_graph_remove(g, n);
	return npu_graph_replace(g, codes, last);
}

/* The model's name belongs to the first plane from now on. */
static int rename_input(struct npu_graph *g, struct npu_gtensor *t)
{
	t->name = npu_arena_printf(&g->arena, "%s.pixels", t->name);
	return t->name ? 0 : -ENOMEM;
}

static int insert_one(struct npu_graph *g, const struct npu_camera *c, struct npu_gimage *img,
		      struct npu_diag *diag)
{
	int index = input_index(g, c, diag);
	struct npu_gtensor *t, *in[3];
	struct npu_gnode *n;
	unsigned int num_in;
	const char *name;

	if (index < 0)
		return index;
	t = g->inputs[index];
	name = t->name;
	if (check_input(c, t, diag))
		return -EINVAL;
	*img = (struct npu_gimage){ .name = name,
				    .camera = c,
				    .num_planes = c->format->num_planes };
	if (rename_input(g, t))
		return -ENOMEM;
	for (num_in = 0; num_in < img->num_planes; num_in++) {
		in[num_in] = img->plane[num_in] = add_plane(g, c, name, num_in, diag);
		if (!in[num_in])
			return diag->errors ? -EINVAL : -ENOMEM;
	}
	if (c->boxed) {
		in[num_in++] = img->box = add_box(g, name, t->dim[0]);
		if (!img->box)
			return -ENOMEM;
	}
	/* a name that was taken got a suffix; the first plane has the input's own */
	img->plane[0]->name = name;
	if (take_codes(g, t))
		return -ENOMEM;
	n = npu_graph_node(g, NPU_GOP_Camera, npu_arena_printf(&g->arena, "%s.camera", name),
			   in, num_in, &t, 1);
	if (!n || replace_input(g, (unsigned int)index, in, num_in))
		return -ENOMEM;
	n->image = img;
	t->is_input = false;
	return 0;
}

int npu_camera_insert(struct npu_graph *g, const struct npu_camera *cameras, unsigned int count,
		      struct npu_diag *diag)
{
	int err = 0;

	g->images = npu_arena_array(&g->arena, count + 1, sizeof(*g->images));
	if (!g->images)
		return -ENOMEM;
	for (unsigned int i = 0; i < count && !err; i++) {
		err = insert_one(g, &cameras[i], &g->images[i], diag);
		g->num_images += !err;
	}
	return err ? err : npu_graph_sort(g, diag);
}
