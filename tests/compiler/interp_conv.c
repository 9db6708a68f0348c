// SPDX-License-Identifier: MIT
/* Windows, matrix products and resampling of the test interpreter. */
#include <math.h>
#include <string.h>

#include "interp.h"

struct win {
	int n;	/* spatial dimensions, at most 3 */
	int64_t in[3], out[3], k[3], s[3], d[3], pad[3];
};

static bool win_of(const struct npu_gnode *n, const struct value *x, const struct value *y,
		   struct win *w)
{
	size_t c;
	const int64_t *k = npu_gnode_ints(n, "kernel_shape", &c),
		      *s = npu_gnode_ints(n, "strides", &c);
	const int64_t *d = npu_gnode_ints(n, "dilations", &c), *p = npu_gnode_ints(n, "pads", &c);
	int i;

	w->n = x->rank - 2;
	if (w->n > 3)
		return false;
	for (i = 0; i < 3; i++) {
		bool on = i < w->n;

		w->in[i] = on ? x->dim[i + 2] : 1;
		w->out[i] = on ? y->dim[i + 2] : 1;
		w->k[i] = on ? k[i] : 1;
		w->s[i] = on ? s[i] : 1;
		w->d[i] = on ? d[i] : 1;
		w->pad[i] = on ? p[i] : 0;
	}
	return true;
}

/* Input offset that window element @k of output position @o reads, -1 in the padding. */
static int64_t tap(const struct win *w, const int64_t *o, const int64_t *k)
{
	int64_t at = 0, p;
	int i;

	for (i = 0; i < 3; i++) {
		p = o[i] * w->s[i] - w->pad[i] + k[i] * w->d[i];
		if (p < 0 || p >= w->in[i])
			return -1;
		at = at * w->in[i] + p;
	}
	return at;
}

#define EACH3(v, lim)	for ((v)[0] = 0; (v)[0] < (lim)[0]; (v)[0]++) \
			for ((v)[1] = 0; (v)[1] < (lim)[1]; (v)[1]++) \
			for ((v)[2] = 0; (v)[2] < (lim)[2]; (v)[2]++)

bool interp_conv(struct interp *s, const struct npu_gnode *n, struct value *y)
{
	const struct value *x = interp_in(s, n, 0), *f = interp_in(s, n, 1),
			   *b = interp_in(s, n, 2);
	int64_t group = npu_gnode_int(n, "group", 1), cg = f->dim[1], mg = f->dim[0] / group;
	int64_t im, ks, o[3], k[3], at, m, c, img, pos;
	struct win w;

	if (!win_of(n, x, y, &w))
		return false;
	im = w.in[0] * w.in[1] * w.in[2];
	ks = w.k[0] * w.k[1] * w.k[2];
	for (img = 0; img < x->dim[0]; img++) {
		for (m = 0; m < f->dim[0]; m++) {
			double *row = y->v + (img * f->dim[0] + m) * w.out[0] * w.out[1] * w.out[2];

			pos = 0;
			EACH3(o, w.out) {
				const double *wt = f->v + m * cg * ks;
				const double *px = x->v + (img * x->dim[1] + m / mg * cg) * im;
				double sum = b ? b->v[m] : 0;
				int64_t kk = 0;

				EACH3(k, w.k) {
					at = tap(&w, o, k);
					for (c = 0; at >= 0 && c < cg; c++)
						sum += px[c * im + at] * wt[c * ks + kk];
					kk++;
				}
				row[pos++] = sum;
			}
		}
	}
	return true;
}

/* Scatters every input element through the weights: the definition, not the gradient trick. */
bool interp_conv_transpose(struct interp *s, const struct npu_gnode *n, struct value *y)
{
	const struct value *x = interp_in(s, n, 0), *f = interp_in(s, n, 1),
			   *b = interp_in(s, n, 2);
	int64_t group = npu_gnode_int(n, "group", 1), mg = f->dim[1], cg = f->dim[0] / group;
	int64_t om, ks, im, i[3], k[3], p[3], c, m, img, pos, kk;
	struct win w;
	int d;

	if (!win_of(n, x, y, &w))
		return false;
	im = w.in[0] * w.in[1] * w.in[2];
	om = w.out[0] * w.out[1] * w.out[2];
	ks = w.k[0] * w.k[1] * w.k[2];
	for (pos = 0; pos < value_count(y); pos++)
		y->v[pos] = b ? b->v[pos / om % y->dim[1]] : 0;
	for (img = 0; img < x->dim[0]; img++) {
		for (c = 0; c < x->dim[1]; c++) {
			pos = 0;
			EACH3(i, w.in) {
				double v = x->v[(img * x->dim[1] + c) * im + pos++];

				kk = 0;
				EACH3(k, w.k) {
					bool inside = true;

					for (d = 0; d < 3; d++) {
						p[d] = i[d] * w.s[d] - w.pad[d] + k[d] * w.d[d];
						inside &= p[d] >= 0 && p[d] < w.out[d];
					}
					for (m = 0; inside && m < mg; m++)
						y->v[(img * y->dim[1] + c / cg * mg + m) * om +
						     (p[0] * w.out[1] + p[1]) * w.out[2] + p[2]] +=
							v * f->v[(c * mg + m) * ks + kk];
					kk++;
				}
			}
		}
	}
	return true;
}

static void pool_global(const struct npu_gnode *n, const struct value *x, struct value *y)
{
	int64_t planes = x->dim[0] * x->dim[1], im = value_count(x) / planes, p, i;

	for (p = 0; p < planes; p++) {
		double acc = n->op == NPU_GOP_GlobalMaxPool ? -INFINITY : 0;

		for (i = 0; i < im; i++)
			acc = n->op == NPU_GOP_GlobalMaxPool ? fmax(acc, x->v[p * im + i]) :
							       acc + x->v[p * im + i];
		y->v[p] = n->op == NPU_GOP_GlobalMaxPool ? acc : acc / (double)im;
	}
}

/*
 * Divisor of an average that counts the padding: the window cut off at the end of the padded
 * picture.
 */
static int64_t padded_area(const struct npu_gnode *n, const struct win *w, const int64_t *o)
{
	size_t c;
	const int64_t *pads = npu_gnode_ints(n, "pads", &c);
	int64_t area = 1, k, in;
	int i;

	for (i = 0; i < w->n; i++) {
		for (in = 0, k = 0; k < w->k[i]; k++)
			in += o[i] * w->s[i] - w->pad[i] + k * w->d[i] < w->in[i] + pads[w->n + i];
		area *= in;
	}
	return area;
}

bool interp_pool(struct interp *s, const struct npu_gnode *n, struct value *y)
{
	const struct value *x = interp_in(s, n, 0);
	int64_t planes = x->dim[0] * x->dim[1], im, p, o[3], k[3], at, pos = 0;
	bool max = n->op == NPU_GOP_MaxPool, all = npu_gnode_int(n, "count_include_pad", 0) != 0;
	struct win w;

	if (n->op == NPU_GOP_GlobalAveragePool || n->op == NPU_GOP_GlobalMaxPool) {
		pool_global(n, x, y);
		return true;
	}
	if (n->op == NPU_GOP_LpPool || n->num_outputs > 1 || !win_of(n, x, y, &w))
		return false;
	im = w.in[0] * w.in[1] * w.in[2];
	for (p = 0; p < planes; p++) {
		EACH3(o, w.out) {
			double acc = max ? -INFINITY : 0;
			int64_t count = 0;

			EACH3(k, w.k) {
				at = tap(&w, o, k);
				if (at < 0)
					continue;
				count++;
				acc = max ? fmax(acc, x->v[p * im + at]) : acc + x->v[p * im + at];
			}
			y->v[pos++] = max ? acc :
					    acc / (double)(all ? padded_area(n, &w, o) : count);
		}
	}
	return true;
}

bool interp_matmul(struct interp *s, const struct npu_gnode *n, struct value *y)
{
	struct value a = *interp_in(s, n, 0), b = *interp_in(s, n, 1);
	const struct value *bias = interp_in(s, n, 2);
	bool ta = npu_gnode_int(n, "transA", 0) != 0, tb = npu_gnode_int(n, "transB", 0) != 0,
	     va = a.rank == 1, vb = b.rank == 1;
	int64_t m, k, cols, batch, at, i, j, q, ia, ib, step, rest;
	int d, lead;

	/* vectors as matrices of one row or column */
	if (va) {
		a.dim[1] = a.dim[0];
		a.dim[0] = 1;
		a.rank = 2;
	}
	if (vb) {
		b.dim[1] = 1;
		b.rank = 2;
	}
	m = a.dim[a.rank - (ta ? 1 : 2)];
	k = a.dim[a.rank - (ta ? 2 : 1)];
	cols = b.dim[b.rank - (tb ? 2 : 1)];
	batch = m && cols ? value_count(y) / (m * cols) : 0;
	lead = y->rank - !va - !vb;
	for (q = 0; q < batch; q++) {
		ia = ib = 0;
		rest = q;
		/* broadcast: index of the leading dimensions, last one first */
		int64_t sa = m * k, sb = k * cols;

		for (d = lead - 1; d >= 0; d--) {
			at = rest % y->dim[d];
			rest /= y->dim[d];
			step = a.rank - 2 - (lead - d);
			if (step >= 0) {
				ia += (a.dim[step] == 1 ? 0 : at) * sa;
				sa *= a.dim[step];
			}
			step = b.rank - 2 - (lead - d);
			if (step >= 0) {
				ib += (b.dim[step] == 1 ? 0 : at) * sb;
				sb *= b.dim[step];
			}
		}
		for (i = 0; i < m; i++) {
			for (j = 0; j < cols; j++) {
				double sum = bias ? bias->v[j] : 0;

				for (at = 0; at < k; at++)
					sum += a.v[ia + (ta ? at * m + i : i * k + at)] *
					       b.v[ib + (tb ? j * k + at : at * cols + j)];
				y->v[(q * m + i) * cols + j] = sum;
			}
		}
	}
	return true;
}

/* Position in the input that output index @o of a dimension looks at. */
static bool source(const char *mode, int64_t o, double scale, int64_t in, int64_t out, double *at)
{
	if (!strcmp(mode, "asymmetric"))
		*at = (double)o / scale;
	else if (!strcmp(mode, "half_pixel"))
		*at = ((double)o + 0.5) / scale - 0.5;
	else if (!strcmp(mode, "pytorch_half_pixel"))
		*at = out > 1 ? ((double)o + 0.5) / scale - 0.5 : 0;
	else if (!strcmp(mode, "align_corners"))
		*at = out > 1 ? (double)o * (double)(in - 1) / (double)(out - 1) : 0;
	else
		return false;
	return true;
}

static double nearest(const char *mode, double at)
{
	if (!strcmp(mode, "floor"))
		return floor(at);
	if (!strcmp(mode, "ceil"))
		return ceil(at);
	if (!strcmp(mode, "round_prefer_ceil"))
		return floor(at + 0.5);
	return ceil(at - 0.5);
}

static double resample(const struct npu_gnode *n, const struct value *x, const double *at, int d,
		       int64_t base)
{
	bool linear = !strcmp(npu_gnode_string(n, "mode", ""), "linear");
	int64_t in, i0, i1;
	double f;

	if (d == x->rank)
		return x->v[base];
	in = x->dim[d];
	if (!linear) {
		i0 = (int64_t)nearest(npu_gnode_string(n, "nearest_mode", ""), at[d]);
		i0 = i0 < 0 ? 0 : i0 >= in ? in - 1 : i0;
		return resample(n, x, at, d + 1, base * in + i0);
	}
	f = at[d] < 0 ? 0 : at[d] > (double)(in - 1) ? (double)(in - 1) : at[d];
	i0 = (int64_t)f;
	i1 = i0 + 1 < in ? i0 + 1 : i0;
	f -= (double)i0;
	return resample(n, x, at, d + 1, base * in + i0) * (1 - f) +
	       (f > 0 ? resample(n, x, at, d + 1, base * in + i1) * f : 0);
}

bool interp_resize(struct interp *s, const struct npu_gnode *n, struct value *y)
{
	const char *mode = npu_gnode_string(n, "coordinate_transformation_mode", "");
	const struct value *x = interp_in(s, n, 0);
	int64_t count = value_count(y), i, rest;
	double at[NPU_GRAPH_MAX_RANK];
	size_t c;
	const float *scales = npu_gnode_floats(n, "scales", &c);
	int d;

	if (!strcmp(npu_gnode_string(n, "mode", ""), "cubic") || npu_gnode_int(n, "antialias", 0))
		return false;
	for (i = 0; i < count; i++) {
		rest = i;
		for (d = y->rank - 1; d >= 0; d--) {
			if (!source(mode, rest % y->dim[d], (double)scales[d], x->dim[d], y->dim[d],
				    &at[d]))
				return false;
			rest /= y->dim[d];
		}
		y->v[i] = resample(n, x, at, 0, 0);
	}
	return true;
}
