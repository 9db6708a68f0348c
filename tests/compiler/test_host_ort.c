// SPDX-License-Identifier: MIT
/*
 * Operators in the attributes that ONNX's own tests leave out, in one job with host steps, against
 * ONNX Runtime on the same model: pooling and convolution of rank 5, every way of Resize, sampling,
 * recurrent cells in both directions, selections whose length the data decide. What only the host
 * does is there anyway; nodes that are named host... have a type or a length that brings them
 * there.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/onnx_lines.h"
#include "common/tmp.h"
#include "ort_run.h"
#include "tap.h"
#include "tools/common/file.h"

#define MAX_OUT	80
#define MAX_IN	32

static const char *const lines[] = {
	"y_pool3 = MaxPool(z) kernel_shape=[2,3,2] strides=[1,2,2] pads=[0,1,1,1,1,0]",
	"y_max, i_max = MaxPool(x) kernel_shape=[3,2] strides=[2,2] dilations=[1,2]",
	"y_col, i_col = MaxPool(x) kernel_shape=[2,2] storage_order=1",
	"y_avg3 = AveragePool(z) kernel_shape=[2,2,2] pads=[1,1,1,1,1,1] count_include_pad=1",
	"y_lp = LpPool(x) kernel_shape=[3,3] p=3 strides=[2,2] pads=[1,1,1,1]",
	"y_lp3 = LpPool(z) kernel_shape=[2,2,2]",
	"y_glp = GlobalLpPool(x) p=3",
	"y_gap3 = GlobalAveragePool(z)",
	"y_gmp3 = GlobalMaxPool(z)",
	"y_conv3 = Conv(z, w3, b3) strides=[1,2,1] pads=[1,0,1,0,1,1] dilations=[1,1,2] group=2",
	"y_tr3 = ConvTranspose(z, t3) strides=[2,1,2] pads=[0,1,0,1,0,0] output_padding=[1,0,0] group=2",
	"y_aa = Resize(x, , small) mode='linear' antialias=1",
	"y_aac = Resize(x, , small) mode='cubic' antialias=1",
	"y_sym = Resize(x, , odd) mode='linear' coordinate_transformation_mode='half_pixel_symmetric'",
	"y_crop = Resize(x, roi, , size) mode='linear' coordinate_transformation_mode='tf_crop_and_resize' extrapolation_value=7.5",
	"y_nn = Resize(x, , , size) mode='nearest' coordinate_transformation_mode='tf_half_pixel_for_nn' nearest_mode='floor'",
	"y_ex = Resize(x, , odd) mode='cubic' cubic_coeff_a=-0.5 exclude_outside=1",
	"y_tril = Resize(z, , big3) mode='linear'",
	"y_grid = GridSample(x, grid) mode='bicubic' padding_mode='reflection' align_corners=1",
	"y_gridn = GridSample(x, grid) mode='nearest' padding_mode='border'",
	"y_gridl = GridSample(x, grid) mode='bilinear' padding_mode='zeros'",
	"y_roi = RoiAlign(x, rois, which) output_height=3 output_width=2 spatial_scale=0.5",
	("y_roi2 = RoiAlign(x, rois, which) output_height=2 output_width=2 sampling_ratio=3 "
	 "coordinate_transformation_mode='output_half_pixel'"),
	"y_lstm, h_lstm, c_lstm = LSTM(s, lw, lr, lb, , , , lp) hidden_size=4 direction='bidirectional' clip=0.9",
	"y_gru, h_gru = GRU(s, gw, gr, gb, lens) hidden_size=4 direction='bidirectional' linear_before_reset=1",
	"y_rnn = RNN(s, rw, rr) hidden_size=4 direction='reverse'",
	"y_and = BitwiseAnd(u, v)",
	"y_or = BitwiseOr(u, v)",
	"y_xor = BitwiseXor(u, v)",
	"y_not = BitwiseNot(u)",
	"y_nms = NonMaxSuppression(boxes, scores, most, iou, least)",
	"y_rev = ReverseSequence(s, lens64) time_axis=0 batch_axis=1",
	"y_eye = EyeLike(sq) k=-1 dtype=1",
	"y_det = Det(sq3)",
	"y_ein = Einsum(sq, sq, sq) equation='ij,jk,kl->il'",
	"y_dia = Einsum(sq) equation='ii->i'",
	"y_snd = ScatterND(sq, at, up)",
	"y_gnd = GatherND(sq, at)",
	"y_shr = Shrink(x) lambd=0.3 bias=0.1",
	/* parameters that are known at run time only */
	"y_topk, i_topk = TopK(x, kk) axis=2",
	"y_slice = Slice(x, from, to, axes, steps)",
	"y_cum = CumSum(x, axis1)",
	"y_tri = Trilu(x, kk)",
	/* how detectors end: nodes on what has an open length */
	"col = Slice(y_nms, two, three, one)",
	"flat = Squeeze(col, one)",
	"flatboxes = Squeeze(boxes, zero)",
	"y_sel = Gather(flatboxes, flat)",
	"y_scaled = Mul(y_sel, four)",
	"y_cat = Concat(y_sel, y_scaled) axis=1",
	"nz = NonZero(u)",
	"nzt = Transpose(nz)",
	"y_gnz = GatherND(u, nzt)",
	"y_cast = Cast(y_gnz) to=1",
	"y_sig = Sigmoid(y_cast)",
	"y_mvn = MeanVarianceNormalization(x) axes=[2,3]",
	/* in f64, and over run-time lengths */
	"host_max: y_maxd, i_maxd = MaxPool(xd) kernel_shape=[3,2] strides=[2,2] pads=[1,0,1,1]",
	"host_max3: y_maxd3, i_maxd3 = MaxPool(zd) kernel_shape=[2,3,2] strides=[1,2,2] storage_order=1",
	"host_snd: y_sndd = ScatterND(sqd, at, upd)",
	"host_gnd: y_gndd = GatherND(sqd, at)",
	"host_conv: y_convr = Conv(zr, w3, b3) strides=[1,2,1] pads=[1,0,1,0,1,1] dilations=[1,1,2] group=2",
	"host_tr: y_trr = ConvTranspose(zr, t3) strides=[2,1,2] pads=[0,1,0,1,0,0] group=2",
};

static void add_input(struct ob *b, struct named_array *in, int *n, const char *name, int onnx,
		      int type, int rank, const int64_t *dims)
{
	struct named_array *a = &in[(*n)++];

	snprintf(a->name, sizeof(a->name), "%s", name);
	if (array_alloc(&a->arr, (enum npu_npy_type)type, rank, dims))
		exit(1);
	for (size_t i = 0; i < a->arr.count; i++) {
		float v = ob_noise((uint32_t)(*name * 31 + *n), (uint32_t)i);

		if (type == NPU_NPY_F32)
			((float *)a->arr.data)[i] = v;
		else if (type == NPU_NPY_F64)
			((double *)a->arr.data)[i] = (double)v;
		else
			((int32_t *)a->arr.data)[i] = (int32_t)lrintf(v * 9);
	}
	ob_input(b, name, onnx, rank, dims);
}

/* A picture whose depth the model leaves open. */
static void add_open_input(struct ob *b, struct named_array *in, int *n)
{
	struct ob unused;

	ob_init(&unused, 19);
	add_input(&unused, in, n, "zr", 1, NPU_NPY_F32, 5, OB_DIMS(1, 4, 5, 6, 7));
	free(unused.graph.data);
	ob_input(b, "zr", 1, 5, OB_DIMS(1, 4, -1, 6, 7));
}

/* Parameters as inputs of the model: 64-bit integers. */
static void add_numbers(struct ob *b, struct named_array *in, int *n)
{
	static const struct {
		const char *name;
		int count;
		int64_t v[2];
	} numbers[] = {
		{ "kk", 1, { 3 } }, { "from", 2, { -1, 2 } }, { "to", 2, { -99, 10 } },
		{ "axes", 2, { 2, 3 } }, { "steps", 2, { -2, 3 } }, { "axis1", 1, { -2 } },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct named_array *a = &in[(*n)++];
		int64_t dims[1] = { numbers[i].count };

		snprintf(a->name, sizeof(a->name), "%s", numbers[i].name);
		if (array_alloc(&a->arr, NPU_NPY_I64, 1, dims))
			exit(1);
		memcpy(a->arr.data, numbers[i].v, (size_t)dims[0] * sizeof(int64_t));
		ob_input(b, a->name, 7, 1, dims);
	}
}

static void constants(struct ob *b)
{
	static const float small[] = { 1, 1, 0.5f, 0.6f }, odd[] = { 1, 1, 1.7f, 0.7f };
	static const float big3[] = { 1, 1, 1.5f, 2, 0.8f },
			   roi[] = { 0, 0, -0.2f, 0.3f, 1, 1, 0.8f, 1.3f };
	static const float rois[] = { 2, 1, 14, 9, 0, 0, 21, 17, 5, 5, 6, 6 }, iou = 0.3f,
			   least = -0.5f;
	static const int64_t size[] = { 1, 4, 6, 7 }, which[] = { 0, 0, 0 }, most = 4,
			     lens64[] = { 2, 5 }, at[] = { 0, 2, 3, 1 };
	static const int32_t lens[] = { 5, 3 };

	ob_const(b, "small", 1, 1, OB_DIMS(4), small, sizeof(small));
	ob_const(b, "odd", 1, 1, OB_DIMS(4), odd, sizeof(odd));
	ob_const(b, "big3", 1, 1, OB_DIMS(5), big3, sizeof(big3));
	ob_const(b, "roi", 1, 1, OB_DIMS(8), roi, sizeof(roi));
	ob_const(b, "size", 7, 1, OB_DIMS(4), size, sizeof(size));
	ob_const(b, "rois", 1, 2, OB_DIMS(3, 4), rois, sizeof(rois));
	ob_const(b, "which", 7, 1, OB_DIMS(3), which, sizeof(which));
	ob_const(b, "most", 7, 1, OB_DIMS(1), &most, sizeof(most));
	ob_const(b, "iou", 1, 1, OB_DIMS(1), &iou, sizeof(iou));
	ob_const(b, "least", 1, 1, OB_DIMS(1), &least, sizeof(least));
	ob_ints(b, "zero", 1, OB_DIMS(0));
	ob_ints(b, "one", 1, OB_DIMS(1));
	ob_ints(b, "two", 1, OB_DIMS(2));
	ob_ints(b, "three", 1, OB_DIMS(3));
	ob_scalar(b, "four", 4);
	ob_const(b, "at", 7, 2, OB_DIMS(2, 2), at, sizeof(at));
	ob_const(b, "lens64", 7, 1, OB_DIMS(2), lens64, sizeof(lens64));
	ob_const(b, "lens", 6, 1, OB_DIMS(2), lens, sizeof(lens));
	free(ob_random(b, "up", 1, OB_DIMS(2)));
	free(ob_random(b, "w3", 5, OB_DIMS(6, 2, 2, 3, 2)));
	free(ob_random(b, "b3", 1, OB_DIMS(6)));
	free(ob_random(b, "t3", 5, OB_DIMS(4, 3, 2, 2, 3)));
	free(ob_random(b, "lw", 3, OB_DIMS(2, 16, 3)));
	free(ob_random(b, "lr", 3, OB_DIMS(2, 16, 4)));
	free(ob_random(b, "lb", 2, OB_DIMS(2, 32)));
	free(ob_random(b, "lp", 2, OB_DIMS(2, 12)));
	free(ob_random(b, "gw", 3, OB_DIMS(2, 12, 3)));
	free(ob_random(b, "gr", 3, OB_DIMS(2, 12, 4)));
	free(ob_random(b, "gb", 2, OB_DIMS(2, 24)));
	free(ob_random(b, "rw", 3, OB_DIMS(1, 4, 3)));
	free(ob_random(b, "rr", 3, OB_DIMS(1, 4, 4)));
}

static uint8_t *build(size_t *size, struct named_array *in, int *num_in)
{
	struct ob b;

	ob_init(&b, 19);
	add_input(&b, in, num_in, "x", 1, NPU_NPY_F32, 4, OB_DIMS(1, 4, 9, 11));
	add_input(&b, in, num_in, "z", 1, NPU_NPY_F32, 5, OB_DIMS(1, 4, 5, 6, 7));
	add_input(&b, in, num_in, "s", 1, NPU_NPY_F32, 3, OB_DIMS(5, 2, 3));
	add_input(&b, in, num_in, "grid", 1, NPU_NPY_F32, 4, OB_DIMS(1, 6, 5, 2));
	add_input(&b, in, num_in, "boxes", 1, NPU_NPY_F32, 3, OB_DIMS(1, 20, 4));
	add_input(&b, in, num_in, "scores", 1, NPU_NPY_F32, 3, OB_DIMS(1, 3, 20));
	add_input(&b, in, num_in, "sq", 1, NPU_NPY_F32, 2, OB_DIMS(4, 4));
	add_input(&b, in, num_in, "sq3", 1, NPU_NPY_F32, 3, OB_DIMS(3, 4, 4));
	add_input(&b, in, num_in, "u", 6, NPU_NPY_I32, 1, OB_DIMS(40));
	add_input(&b, in, num_in, "v", 6, NPU_NPY_I32, 1, OB_DIMS(40));
	add_input(&b, in, num_in, "xd", 11, NPU_NPY_F64, 4, OB_DIMS(1, 4, 9, 11));
	add_input(&b, in, num_in, "zd", 11, NPU_NPY_F64, 5, OB_DIMS(1, 4, 5, 6, 7));
	add_input(&b, in, num_in, "sqd", 11, NPU_NPY_F64, 2, OB_DIMS(4, 4));
	add_input(&b, in, num_in, "upd", 11, NPU_NPY_F64, 1, OB_DIMS(2));
	add_open_input(&b, in, num_in);
	/* beyond the picture as well */
	for (size_t i = 0; i < in[3].arr.count; i++)
		((float *)in[3].arr.data)[i] *= 1.6f;
	add_numbers(&b, in, num_in);
	constants(&b);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const char *p = lines[i];

		ob_node(&b, p);
		/* results whose second letter is a line are the model's */
		for (; *p != '='; p += strspn(p, ", ")) {
			size_t len = strcspn(p, ", =");
			char name[40];

			snprintf(name, sizeof(name), "%.*s", (int)len, p);
			if (name[1] == '_')
				ob_output(&b, name);
			p += len;
		}
	}
	return ob_finish(&b, size);
}

static void compare(const struct named_array *out)
{
	struct npu_npy want = { 0 };
	struct npu_error why;
	struct difference d;

	if (ort_output(tmp_folder(), out->name, &want, &why)) {
		tap_ok(0, "%s: %s", out->name, why.text);
		return;
	}
	array_compare(&out->arr, &want, &d);
	tap_ok(out->arr.rank == want.rank && out->arr.type == want.type &&
		       !memcmp(out->arr.dims, want.dims,
			       (size_t)want.rank * sizeof(want.dims[0])) &&
		       d.max <= 2e-5 * (1 + d.top),
	       "%s is ONNX Runtime's: off by %.2g of %.3g", out->name, d.max, d.top);
	npu_npy_free(&want);
}

/* Nodes named so are there. */
static void check_places(const struct npu_compile_result *result)
{
	const struct npu_placement *p;
	unsigned int there = 0, elsewhere = 0;

	for (unsigned int i = 0; (p = npu_compile_placement(result, i)) != NULL; i++) {
		if (strncmp(p->node, "host", 4))
			continue;
		there += p->place == NPU_PLACE_HOST;
		elsewhere += p->place != NPU_PLACE_HOST;
	}
	tap_ok(there >= 6 && !elsewhere, "%u of %u nodes are on the host as meant", there,
	       there + elsewhere);
}

int main(void)
{
	static const char *const shape[] = { "zr=1x4x{D=4..6}x6x7" };

	struct named_array in[MAX_IN] = { 0 }, out[MAX_OUT];
	struct npu_compile_result *result = NULL;
	struct npu_compile_options options;
	size_t size, job_size;
	int num_in = 0, n = 0;
	struct runner r;
	uint8_t *model;
	char path[4096];
	FILE *f;

	if (!ort_is_there()) {
		tap_skip("host operators", "NPU_ORT does not say where ONNX Runtime is");
		return tap_done();
	}
	model = build(&size, in, &num_in);
	snprintf(path, sizeof(path), "%.3000s/model.onnx", tmp_folder());
	f = fopen(path, "wb");
	if (!f || fwrite(model, 1, size, f) != size || fclose(f))
		return 1;
	if (ort_run(path, in, num_in, tmp_folder())) {
		tap_ok(0, "ONNX Runtime runs the model");
		return tap_done();
	}
	npu_compile_options_init(&options);
	options.precision = NPU_PRECISION_F32;
	options.shapes = shape;
	options.num_shapes = 1;
	if (!tap_ok(!npu_compile_onnx(model, size, NULL, &options, &result),
		    "the model compiles")) {
		tap_diag("%s", npu_compile_messages(result));
	} else {
		const void *job = npu_compile_job(result, &job_size);

		check_places(result);
		n = runner_open(&r, job, job_size);
		n = n ? n : runner_run(&r, in, num_in, out, MAX_OUT);
		if (!tap_ok(n > 0, "it runs with its host steps"))
			tap_diag("%s", r.why);
		for (int i = 0; i < n; i++) {
			compare(&out[i]);
			npu_npy_free(&out[i].arr);
		}
		runner_close(&r);
	}
	npu_compile_result_free(result);
	for (int i = 0; i < num_in; i++)
		npu_npy_free(&in[i].arr);
	free(model);
	return tap_done();
}
