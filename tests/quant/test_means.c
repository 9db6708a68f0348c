// SPDX-License-Identifier: MIT
/*
 * The correction of biases. What the codes of weights and inputs do to the mean of a result is
 * found here by computing the layer over an input of one colour, once with floats and once with
 * codes: every place adds its products to the results that they belong to.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/onnx_lines.h"
#include "quant/means.h"
#include "tap.h"

#define MAX_OUT		48
#define SIDE		24

/* One layer with a weight of OUT x IN filters of kh x kw, or IN x OUT where it is transposed. */
struct layer {
	const char *what, *node;	/* the node reads x and w */
	enum npu_gop op;
	int64_t ins, outs, group, kh, kw, sh, sw, dil;
};

static const struct layer convs[] = {
	{ "convolution", "y = Conv(x, w)", NPU_GOP_Conv, 7, 9, 1, 3, 3, 1, 1, 1 },
	{ "with strides", "y = Conv(x, w) strides=[2,3]", NPU_GOP_Conv, 4, 5, 1, 3, 2, 2, 3, 1 },
	{ "dilated", "y = Conv(x, w) dilations=[2,2]", NPU_GOP_Conv, 3, 4, 1, 3, 3, 1, 1, 2 },
	{ "in groups", "y = Conv(x, w) group=3", NPU_GOP_Conv, 6, 9, 3, 2, 3, 1, 1, 1 },
	{ "depthwise", "y = Conv(x, w) group=8", NPU_GOP_Conv, 8, 8, 8, 3, 3, 1, 1, 1 },
	{ "depthwise, two outputs each", "y = Conv(x, w) group=5 strides=[2,2]", NPU_GOP_Conv,
	  5, 10, 5, 3, 3, 2, 2, 1 },
	{ "transposed", "y = ConvTranspose(x, w)", NPU_GOP_ConvTranspose, 6, 5, 1, 3, 3, 1, 1, 1 },
	{ "transposed, strides of the kernel", "y = ConvTranspose(x, w) strides=[2,2]",
	  NPU_GOP_ConvTranspose, 6, 5, 1, 2, 2, 2, 2, 1 },
	{ "transposed, uneven strides", "y = ConvTranspose(x, w) strides=[2,3]",
	  NPU_GOP_ConvTranspose, 4, 7, 1, 3, 4, 2, 3, 1 },
};

/* Codes of weights and means that somebody made up: nothing here needs them to be near. */
struct made {
	float *w;
	int8_t code[4096];
	float scale[MAX_OUT];
	double plain[64], coded[64];
};

static void make(struct made *m, size_t weights, size_t outs, size_t ins, uint32_t seed)
{
	for (size_t i = 0; i < weights; i++)
		m->code[i] = (int8_t)(127 * ob_noise(seed, (uint32_t)i));
	for (size_t i = 0; i < outs; i++)
		m->scale[i] = 0.01f + 0.005f * ob_noise(seed + 1, (uint32_t)i);
	for (size_t i = 0; i < ins; i++) {
		m->plain[i] = (double)ob_noise(seed + 2, (uint32_t)i);
		m->coded[i] = m->plain[i] + 0.1 * (double)ob_noise(seed + 3, (uint32_t)i);
	}
}

static struct npu_graph *import(struct ob *b, struct npu_diag *diag)
{
	const struct npu_pass_options options = { 0 };
	struct npu_graph *g;
	size_t size;
	uint8_t *data = ob_finish(b, &size);

	g = npu_onnx_import(data, size, "model.onnx", diag);
	free(data);
	if (g && npu_graph_optimize(g, &options, diag)) {
		npu_graph_free(g);
		g = NULL;
	}
	return g;
}

static const struct npu_gnode *only_node(const struct npu_graph *g, enum npu_gop op)
{
	for (unsigned int i = 0; g && i < g->num_nodes; i++)
		if (g->nodes[i]->op == op)
			return g->nodes[i];
	return NULL;
}

/* The weight between input @i and output @o at tap (y, x); inputs count inside of their group. */
static size_t weight_at(const struct layer *l, int64_t o, int64_t i, int64_t y, int64_t x)
{
	int64_t row = l->op == NPU_GOP_Conv ? o * (l->ins / l->group) + i : i * l->outs + o;

	return (size_t)((row * l->kh + y) * l->kw + x);
}

/* Where input place @in goes by tap @tap, -1: nowhere. */
static int64_t goes_to(const struct layer *l, int64_t in, int64_t tap, int64_t stride)
{
	if (l->op == NPU_GOP_ConvTranspose)
		return in * stride + tap;
	in -= tap * l->dil;
	return in >= 0 && in % stride == 0 ? in / stride : -1;
}

/* The mean of output @o, where all taps are inside, of an input whose channels are @level. */
static double mean_of(const struct layer *l, int64_t o, const float *w, const double *level,
		      const struct made *codes)
{
	static double sum[SIDE * 4][SIDE * 4];
	const bool conv = l->op == NPU_GOP_Conv;
	const int64_t first = o / (l->outs / l->group) * (l->ins / l->group);
	int64_t h0 = conv ? 0 : 12, h1 = conv ? (SIDE - (l->kh - 1) * l->dil - 1) / l->sh + 1 : 24;
	int64_t w0 = conv ? 0 : 12, w1 = conv ? (SIDE - (l->kw - 1) * l->dil - 1) / l->sw + 1 : 24;
	double total = 0;

	memset(sum, 0, sizeof(sum));
	for (int64_t i = 0; i < l->ins / l->group; i++)
		for (int64_t at = 0; at < (int64_t)SIDE * SIDE * l->kh * l->kw; at++) {
			int64_t x = at % l->kw, y = at / l->kw % l->kh, place = at / l->kw / l->kh;
			int64_t oh = goes_to(l, place / SIDE, y, l->sh);
			int64_t ow = goes_to(l, place % SIDE, x, l->sw);
			size_t k = weight_at(l, o, i, y, x);

			if (oh >= 0 && ow >= 0)
				sum[oh][ow] += level[first + i] *
					       (codes ? codes->code[k] * (double)codes->scale[o] :
							(double)w[k]);
		}
	/* of a transposed convolution 12 by 12 places, whole periods of the strides */
	for (int64_t y = h0; y < h1; y++)
		for (int64_t x = w0; x < w1; x++)
			total += sum[y][x];
	return total / (double)((h1 - h0) * (w1 - w0));
}

static void test_conv(const struct layer *l, uint32_t seed)
{
	const bool conv = l->op == NPU_GOP_Conv;
	const int64_t rows = conv ? l->outs : l->ins, cols = conv ? l->ins / l->group : l->outs;
	double shift[MAX_OUT] = { 0 }, worst = 0, largest = 0;
	struct npu_diag diag = { 0 };
	const struct npu_gnode *n;
	struct npu_channel_means means;
	struct made m;
	struct npu_graph *g;
	struct ob b;
	bool said;

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 4, OB_DIMS(1, l->ins, SIDE, SIDE));
	m.w = ob_random(&b, "w", 4, OB_DIMS(rows, cols, l->kh, l->kw));
	ob_node(&b, l->node);
	ob_output(&b, "y");
	g = import(&b, &diag);
	n = only_node(g, l->op);
	make(&m, (size_t)(rows * cols * l->kh * l->kw), (size_t)l->outs, (size_t)l->ins, seed);
	means = (struct npu_channel_means){ (size_t)l->ins, m.plain, m.coded };
	said = n && npu_means_shift(n, m.code, m.scale, &means, shift);
	for (int64_t o = 0; said && o < l->outs; o++) {
		double want = mean_of(l, o, m.w, m.plain, NULL) - mean_of(l, o, m.w, m.coded, &m);

		worst = fmax(worst, fabs(shift[o] - want));
		largest = fmax(largest, fabs(want));
	}
	tap_ok(said && worst <= 1e-9 * (1 + largest),
	       "%s: the shift of every output, off by %.1e of %.3g", l->what, worst, largest);
	means.channels++;
	tap_ok(n && !npu_means_shift(n, m.code, m.scale, &means, shift),
	       "%s: not with means of other channels", l->what);
	npu_graph_free(g);
	npu_diag_fini(&diag);
	free(m.w);
}

/* ---- products -------------------------------------------------------------------------------- */

struct product {
	const char *what, *node;
	bool trans_b;
	int64_t x_dims[3], w_dims[2];
	int rank;
};

static const struct product products[] = {
	{ "product", "y = MatMul(x, w)", false, { 2, 5, 11 }, { 11, 6 }, 3 },
	{ "weight transposed", "y = Gemm(x, w) transB=1", true, { 5, 11 }, { 6, 11 }, 2 },
	{ "input transposed", "y = Gemm(x, w) transA=1", false, { 11, 5 }, { 11, 6 }, 2 },
	{ "both transposed", "y = Gemm(x, w) transA=1 transB=1", true, { 11, 5 }, { 6, 11 }, 2 },
};

static void test_product(const struct product *p, uint32_t seed)
{
	double shift[MAX_OUT] = { 0 }, worst = 0;
	struct npu_diag diag = { 0 };
	const struct npu_gnode *n;
	struct npu_channel_means means;
	struct npu_graph *g;
	struct made m;
	struct ob b;
	bool said;

	ob_init(&b, 13);
	ob_input(&b, "x", 1, p->rank, p->x_dims);
	m.w = ob_random(&b, "w", 2, p->w_dims);
	ob_node(&b, p->node);
	ob_output(&b, "y");
	g = import(&b, &diag);
	n = only_node(g, NPU_GOP_MatMul);
	make(&m, 66, 6, 11, seed);
	means = (struct npu_channel_means){ 11, m.plain, m.coded };
	/* the compiler may have turned the weight: it is what the node now says */
	said = n && npu_means_shift(n, m.code, m.scale, &means, shift);
	for (size_t o = 0; said && o < 6; o++) {
		const bool turned = n->inputs[1]->dim[0].base == 6;
		double want = 0;

		for (size_t k = 0; k < 11; k++)
			want += (double)m.w[p->trans_b ? o * 11 + k : k * 6 + o] * m.plain[k] -
				m.code[turned ? o * 11 + k : k * 6 + o] * (double)m.scale[o] *
					m.coded[k];
		worst = fmax(worst, fabs(shift[o] - want));
	}
	tap_ok(said && worst < 1e-9, "%s: the shift of every output, off by %.1e", p->what, worst);
	npu_graph_free(g);
	npu_diag_fini(&diag);
	free(m.w);
}

/* ---- means ----------------------------------------------------------------------------------- */

#define SAMPLES		6

/*
 * A model that shows its input to a layer as it is, and the dimension that the layer's sums run
 * over.
 */
struct shown {
	const char *what, *nodes[3];
	int rank, axis, w_rank;
	int64_t x_dims[4], w_dims[4];
};

static const struct shown shown[] = {
	{ "picture", { "t = Conv(x, eye)", "y = Conv(t, w)" }, 4, 1, 4,
	  { 1, 5, 9, 7 }, { 4, 5, 3, 3 } },
	{ "the model's input", { "y = Conv(x, w)" }, 4, 1, 4, { 1, 5, 9, 7 }, { 4, 5, 3, 3 } },
	{ "rows", { "y = MatMul(x, w)" }, 3, 2, 2, { 2, 7, 6 }, { 6, 3 } },
	{ "columns", { "y = Gemm(x, w) transA=1" }, 2, 0, 2, { 6, 300 }, { 6, 3 } },
	{ "rows of a picture", { "t = Conv(x, eye)", "y = MatMul(t, w)" }, 4, 3, 2,
	  { 1, 5, 9, 7 }, { 7, 3 } },
};

static int64_t count_of(const struct shown *s)
{
	int64_t n = 1;

	for (int i = 0; i < s->rank; i++)
		n *= s->x_dims[i];
	return n;
}

/* Mean of index @ch along the axis over all samples but those of the part that is left out. */
static double plain_mean(const struct shown *s, float *const *x, int64_t ch, unsigned int left_out,
			 const struct npu_gquant *q)
{
	int64_t inner = 1, num = 0;
	double sum = 0;

	for (int i = s->axis + 1; i < s->rank; i++)
		inner *= s->x_dims[i];
	for (unsigned int k = 0; k < SAMPLES; k++)
		for (int64_t e = 0; e < count_of(s) && k * NPU_CALIB_PARTS / SAMPLES != left_out;
		     e++) {
			double v = (double)x[k][e], code;

			if (e / inner % s->x_dims[s->axis] != ch)
				continue;
			code = q ? nearbyint(v / (double)q->scale) + q->zero : 0;
			code = code < 0 ? 0 : code > 255 ? 255 : code;
			sum += q ? (code - q->zero) * (double)q->scale : v;
			num++;
		}
	return sum / (double)num;
}

static uint8_t *shown_model(const struct shown *s, size_t *size)
{
	float eye[25] = { 0 };
	struct ob b;

	for (int i = 0; i < 5; i++)
		eye[i * 6] = 1;
	ob_init(&b, 13);
	ob_input(&b, "x", 1, s->rank, s->x_dims);
	ob_const(&b, "eye", 1, 4, OB_DIMS(5, 5, 1, 1), eye, sizeof(eye));
	free(ob_random(&b, "w", s->w_rank, s->w_dims));
	for (int i = 0; s->nodes[i]; i++)
		ob_node(&b, s->nodes[i]);
	ob_output(&b, "y");
	return ob_finish(&b, size);
}

/* The worst difference of any channel's mean to the plain one, in setting @now; steps for codes. */
static void compare(const struct shown *s, struct npu_calib *c, float *const *x,
		    struct npu_qsetting now, double *plain, double *coded)
{
	const unsigned int last = c->layers.num - 1;
	struct npu_channel_means m = npu_means_of(&c->layers.layer[last], now);
	const struct npu_gquant *q;

	npu_calib_choose(c, now);
	q = npu_scheme_quant(&c->instance[0].scheme, c->instance[0].scheme.node[last]->inputs[0]);
	if (!m.plain || !q || m.channels != (size_t)s->x_dims[s->axis]) {
		*plain = *coded = INFINITY;
		return;
	}
	for (int64_t ch = 0; ch < s->x_dims[s->axis]; ch++) {
		*plain = fmax(*plain, fabs(m.plain[ch] - plain_mean(s, x, ch, now.left_out, NULL)));
		*coded = fmax(*coded, fabs(m.coded[ch] - plain_mean(s, x, ch, now.left_out, q)) /
					      (double)q->scale);
	}
}

static void test_shown(const struct shown *s, uint32_t seed)
{
	const struct npu_lower plain = { .precision = NPU_PRECISION_F32 };
	struct npu_calib_tensor tensor[SAMPLES];
	struct npu_calib_sample sample[SAMPLES];
	struct npu_trial_device d = { 0 };
	struct npu_calib_model model = { .path = "model.onnx", .num_variants = 1 };
	struct npu_diag diag = { 0 };
	struct npu_calib c;
	double off = 0, code_off = 0;
	float *x[SAMPLES];
	size_t size;
	uint8_t *data = shown_model(s, &size);
	int err;

	model.data = data;
	model.size = size;
	for (unsigned int k = 0; k < SAMPLES; k++) {
		x[k] = malloc((size_t)count_of(s) * sizeof(float));
		for (int64_t e = 0; e < count_of(s); e++)
			x[k][e] = ob_noise(seed + k, (uint32_t)e) * (k == 4 ? 3 : 1) + 0.2f;
		tensor[k] = (struct npu_calib_tensor){ .dtype = NPU_F32, .rank = s->rank,
						       .dims = s->x_dims, .data = x[k] };
		sample[k] = (struct npu_calib_sample){ &tensor[k], 1 };
	}
	err = npu_calib_init(&c, &model, sample, SAMPLES, &diag);
	if (!err)
		err = npu_trial_open(&d, &diag);
	if (!err)
		err = npu_calib_collect(&c, &d, &plain, NULL, NULL);
	for (enum npu_calib_method i = NPU_CALIB_MINMAX; i <= NPU_CALIB_PERCENTILE && !err; i++)
		err = npu_scheme_ranges(&c.instance[0].scheme, &c.stats, i, 99);
	if (!err)
		err = npu_means_collect(&c, &d, &plain,
					1u << NPU_CALIB_MINMAX | 1u << NPU_CALIB_PERCENTILE);
	for (unsigned int p = 0; p < NPU_NUM_LEFT_OUT && !err; p++)
		for (enum npu_calib_method i = NPU_CALIB_MINMAX; i <= NPU_CALIB_PERCENTILE; i++)
			compare(s, &c, x, (struct npu_qsetting){ i, p }, &off, &code_off);
	/* a code on the edge between two may be either: thousandths of a step in a mean */
	tap_ok(!err && off < 1e-6 && code_off < 0.02,
	       "%s: means off by %.1e, of codes by %.1e steps, whatever is left out", s->what, off,
	       code_off);
	if (err)
		tap_diag("%s", npu_diag_text(&diag));
	npu_trial_close(&d);
	npu_calib_fini(&c);
	npu_diag_fini(&diag);
	free(data);
	for (unsigned int k = 0; k < SAMPLES; k++)
		free(x[k]);
}

int main(void)
{
	for (unsigned int i = 0; i < sizeof(convs) / sizeof(convs[0]); i++)
		test_conv(&convs[i], 100 * i);
	for (unsigned int i = 0; i < sizeof(products) / sizeof(products[0]); i++)
		test_product(&products[i], 5000 + 100 * i);
	for (unsigned int i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		test_shown(&shown[i], 9000 + 100 * i);
	return tap_done();
}
