// SPDX-License-Identifier: MIT
/*
 * What the compiler does with every operator: the table behind the lowering, the support query and
 * the generated list. An operator without a row here is refused by name.
 */
#include <string.h>

#include "compiler/lower.h"
#include "host/host.h"

#define IMAGE	NPU_OL_IMAGE
#define ANY	NPU_OL_ANY
#define NATURAL	NPU_OL_NATURAL
#define VIEW	NPU_OL_VIEW

/* ROW(op, lowering, memory order, retypes, stays f32, instructions, limits) */
#define ROW(name, fn, order, re, wd, text, lim)	\
	[NPU_GOP_##name] = { NPU_GOP_##name, fn, order, re, wd, text, lim }
/* Gone after optimization. */
#define GONE(name, text, lim)	ROW(name, NULL, ANY, false, false, text, lim)
#define REFUSED(name, why)	ROW(name, NULL, ANY, false, false, "", why)

#define FLOATS	"float types"
#define CODES	"i8 and u8"
#define WINDOW	"1-D, 2-D, and 3-D of known depth; " \
		"stride and dilation up to 4096, padding 0 to 65535"

static const struct npu_op_rule rules[NPU_GOP_COUNT] = {
	ROW(Conv, npu_lower_conv, IMAGE, true, false, "conv", FLOATS "; " WINDOW),
	ROW(ConvTranspose, npu_lower_conv_transpose, IMAGE, true, false, "conv_transpose",
	    FLOATS "; constant weight; " WINDOW),
	ROW(MaxPool, npu_lower_pool, IMAGE, true, false,
	    "pool; Indices: gather, arg_reduce, ewise2",
	    "Indices of 1-D and 2-D windows over known sizes, which see up to 2^30 elements; "
	    WINDOW),
	ROW(AveragePool, npu_lower_pool, IMAGE, true, false, "pool", WINDOW),
	GONE(LpPool, "gather, reduce",
	     FLOATS "; 1-D and 2-D over known sizes, windows that see up to 2^30 elements"),
	ROW(GlobalAveragePool, npu_lower_global_pool, IMAGE, true, false, "pool", ""),
	ROW(GlobalMaxPool, npu_lower_global_pool, IMAGE, true, false, "pool", ""),
	GONE(GlobalLpPool, "reduce", FLOATS),
	ROW(MatMul, npu_lower_matmul, NATURAL, true, false, "matmul",
	    FLOATS "; rank up to 5 after merging"),
	GONE(Gemm, "matmul", ""),
	GONE(Relu, "conv, matmul or ewise1", ""),
	GONE(Clip, "conv, matmul, ewise1 or ewise2", ""),
	GONE(LeakyRelu, "conv, matmul or ewise1", ""),
	GONE(PRelu, "conv, matmul or ewise1", ""),
	GONE(Sigmoid, "conv, matmul or ewise1", ""),
	GONE(Tanh, "conv, matmul or ewise1", ""),
	GONE(HardSigmoid, "conv, matmul or ewise1", ""),
	GONE(HardSwish, "conv, matmul or ewise1", ""),
	GONE(Gelu, "conv, matmul or ewise1", ""),
	GONE(Elu, "conv, matmul or ewise1", ""),
	GONE(Selu, "conv, matmul or ewise1", ""),
	GONE(Celu, "ewise1", ""),
	GONE(Softplus, "conv, matmul or ewise1", ""),
	GONE(Softsign, "ewise1", ""),
	GONE(Mish, "conv, matmul or ewise1", ""),
	GONE(Swish, "conv, matmul or ewise1", ""),
	GONE(ThresholdedRelu, "ewise2, select", ""),
	ROW(Activation, npu_lower_activation, ANY, true, false, "ewise1", ""),
	ROW(QuantizeLinear, npu_lower_quantize, ANY, false, false,
	    "copy or ewise2, or in the node before",
	    CODES "; one scale, or constant ones along an axis; no blocks"),
	ROW(DequantizeLinear, npu_lower_dequantize, ANY, true, false,
	    "view or ewise2, or in the nodes behind",
	    CODES ", i32; one scale, or constant ones along an axis; no blocks"),
	ROW(DynamicQuantizeLinear, npu_lower_dynamic_quantize, NATURAL, false, false, "dyn_quant",
	    FLOATS),
	ROW(ConvInteger, npu_lower_conv_integer, IMAGE, true, false, "conv",
	    CODES "; constant weight; " WINDOW),
	ROW(MatMulInteger, npu_lower_matmul_integer, NATURAL, true, false, "matmul",
	    CODES "; one zero point of A"),
	GONE(QLinearConv, "conv", ""),
	GONE(QLinearMatMul, "matmul", ""),
	GONE(QGemm, "matmul", ""),
	GONE(QLinearAdd, "ewise2", ""),
	GONE(QLinearMul, "ewise2", ""),
	GONE(QLinearConcat, "view or copy", ""),
	GONE(QLinearSoftmax, "softmax", ""),
	GONE(QLinearSigmoid, "ewise1", ""),
	GONE(QLinearLeakyRelu, "ewise1", ""),
	GONE(QLinearAveragePool, "pool", ""),
	GONE(QLinearGlobalAveragePool, "pool", ""),
	GONE(QLinearReduceMean, "reduce", ""),
	GONE(QLinearWhere, "select", ""),
	GONE(MatMulIntegerToFloat, "matmul", ""),
	GONE(DynamicQuantizeMatMul, "dyn_quant, matmul", ""),
	ROW(Host, npu_lower_host, NATURAL, false, false, "host", ""),
	ROW(Abs, npu_lower_unary, ANY, true, false, "ewise1", ""),
	ROW(Neg, npu_lower_unary, ANY, true, false, "ewise1", ""),
	ROW(Exp, npu_lower_unary, ANY, true, true, "ewise1", FLOATS),
	ROW(Log, npu_lower_unary, ANY, true, true, "ewise1", FLOATS),
	ROW(Sqrt, npu_lower_unary, ANY, true, true, "ewise1", FLOATS),
	ROW(Reciprocal, npu_lower_unary, ANY, true, true, "ewise1", FLOATS),
	ROW(Floor, npu_lower_unary, ANY, true, false, "ewise1", FLOATS),
	ROW(Ceil, npu_lower_unary, ANY, true, false, "ewise1", FLOATS),
	ROW(Round, npu_lower_unary, ANY, true, false, "ewise1", FLOATS),
	ROW(Sign, npu_lower_unary, ANY, true, false, "ewise1", ""),
	ROW(Erf, npu_lower_unary, ANY, true, false, "ewise1", FLOATS),
	ROW(Sin, npu_lower_unary, ANY, true, false, "ewise1", FLOATS),
	ROW(Cos, npu_lower_unary, ANY, true, false, "ewise1", FLOATS),
	ROW(Tan, npu_lower_unary, ANY, true, true, "ewise1", FLOATS),
	ROW(Asin, npu_lower_unary, ANY, true, false, "ewise1", FLOATS),
	ROW(Acos, npu_lower_unary, ANY, true, false, "ewise1", FLOATS),
	ROW(Atan, npu_lower_unary, ANY, true, false, "ewise1", FLOATS),
	ROW(Sinh, npu_lower_unary, ANY, true, true, "ewise1", FLOATS),
	ROW(Cosh, npu_lower_unary, ANY, true, true, "ewise1", FLOATS),
	ROW(Asinh, npu_lower_unary, ANY, true, false, "ewise1", FLOATS),
	ROW(Acosh, npu_lower_unary, ANY, true, false, "ewise1", FLOATS),
	ROW(Atanh, npu_lower_unary, ANY, true, false, "ewise1", FLOATS),
	ROW(Identity, npu_lower_unary, VIEW, false, false, "view", ""),
	ROW(Add, npu_lower_binary, ANY, true, false, "ewise2", ""),
	ROW(Sub, npu_lower_binary, ANY, true, false, "ewise2", ""),
	ROW(Mul, npu_lower_binary, ANY, true, false, "ewise2", ""),
	ROW(Div, npu_lower_binary, ANY, true, false, "ewise2", ""),
	ROW(Pow, npu_lower_binary, ANY, true, true, "ewise2", ""),
	ROW(Mod, npu_lower_binary, ANY, true, false, "ewise2", ""),
	ROW(Max, npu_lower_binary, ANY, true, false, "ewise2", ""),
	ROW(Min, npu_lower_binary, ANY, true, false, "ewise2", ""),
	GONE(Sum, "ewise2", ""),
	GONE(Mean, "ewise2", ""),
	ROW(Equal, npu_lower_binary, ANY, false, false, "ewise2", ""),
	ROW(Less, npu_lower_binary, ANY, false, false, "ewise2", ""),
	ROW(LessOrEqual, npu_lower_binary, ANY, false, false, "ewise2", ""),
	ROW(Greater, npu_lower_binary, ANY, false, false, "ewise2", ""),
	ROW(GreaterOrEqual, npu_lower_binary, ANY, false, false, "ewise2", ""),
	ROW(And, npu_lower_binary, ANY, false, false, "ewise2", ""),
	ROW(Or, npu_lower_binary, ANY, false, false, "ewise2", ""),
	ROW(Xor, npu_lower_binary, ANY, false, false, "ewise2", ""),
	ROW(BitwiseAnd, npu_lower_binary, ANY, false, false, "ewise2", ""),
	ROW(BitwiseOr, npu_lower_binary, ANY, false, false, "ewise2", ""),
	ROW(BitwiseXor, npu_lower_binary, ANY, false, false, "ewise2", ""),
	ROW(BitwiseNot, npu_lower_unary, ANY, false, false, "ewise1", ""),
	ROW(BitShift, npu_lower_binary, ANY, false, false, "ewise2", ""),
	ROW(Not, npu_lower_unary, ANY, false, false, "ewise1", ""),
	ROW(IsNaN, npu_lower_unary, ANY, false, false, "ewise1", ""),
	ROW(IsInf, npu_lower_unary, ANY, false, false, "ewise1 or ewise2", ""),
	ROW(Where, npu_lower_where, ANY, true, false, "select", ""),
	ROW(Cast, npu_lower_cast, ANY, true, false, "copy or view", "types of the device"),
	ROW(CastLike, npu_lower_cast, ANY, true, false, "copy or view", "types of the device"),
	ROW(ReduceMean, npu_lower_reduce, ANY, true, true, "reduce", ""),
	ROW(ReduceSum, npu_lower_reduce, ANY, true, true, "reduce", ""),
	ROW(ReduceMax, npu_lower_reduce, ANY, true, false, "reduce", ""),
	ROW(ReduceMin, npu_lower_reduce, ANY, true, false, "reduce", ""),
	ROW(ReduceProd, npu_lower_reduce, ANY, true, true, "reduce", ""),
	ROW(ReduceL1, npu_lower_reduce, ANY, true, true, "reduce", ""),
	ROW(ReduceL2, npu_lower_reduce, ANY, true, true, "reduce", FLOATS),
	ROW(ReduceSumSquare, npu_lower_reduce, ANY, true, true, "reduce", ""),
	ROW(ReduceLogSum, npu_lower_reduce, ANY, true, true, "reduce", FLOATS),
	ROW(ReduceLogSumExp, npu_lower_reduce, ANY, true, true, "reduce", FLOATS),
	ROW(ArgMax, npu_lower_arg, NATURAL, false, false, "arg_reduce", ""),
	ROW(ArgMin, npu_lower_arg, NATURAL, false, false, "arg_reduce", ""),
	ROW(TopK, npu_lower_topk, NATURAL, false, false, "topk", "constant k"),
	ROW(CumSum, npu_lower_cumsum, NATURAL, true, true, "cumsum", "constant axis"),
	ROW(Softmax, npu_lower_softmax, ANY, true, false, "softmax", FLOATS),
	ROW(LogSoftmax, npu_lower_softmax, ANY, true, false, "softmax", FLOATS),
	GONE(BatchNormalization, "conv, matmul, ewise1 or ewise2", ""),
	ROW(InstanceNormalization, npu_lower_instance_norm, ANY, true, false, "norm, ewise2",
	    FLOATS),
	ROW(LayerNormalization, npu_lower_norm, NATURAL, true, false, "norm", FLOATS),
	ROW(RMSNormalization, npu_lower_norm, NATURAL, true, false, "norm", FLOATS),
	ROW(GroupNormalization, npu_lower_instance_norm, NATURAL, true, false, "norm, ewise2",
	    FLOATS "; scale per channel (opset 21)"),
	ROW(LpNormalization, npu_lower_lp_norm, ANY, true, false, "reduce, ewise2",
	    FLOATS "; p 1 and 2"),
	ROW(LRN, npu_lower_lrn, NATURAL, true, false, "ewise1, pool, ewise2", FLOATS),
	ROW(Reshape, npu_lower_reshape, VIEW, false, false, "view or copy", ""),
	GONE(Flatten, "view or copy", ""),
	GONE(Squeeze, "view", ""),
	GONE(Unsqueeze, "view", ""),
	ROW(Transpose, npu_lower_transpose, VIEW, false, false, "view", ""),
	ROW(Concat, npu_lower_concat, ANY, true, false, "view or copy", ""),
	GONE(Split, "view", ""),
	ROW(Slice, npu_lower_slice, VIEW, false, false, "view or gather",
	    "negative steps along one dimension"),
	ROW(Pad, npu_lower_pad, ANY, false, false, "fill or pad",
	    "constant pads; constant, reflect, edge, wrap"),
	ROW(Expand, npu_lower_expand, VIEW, false, false, "view", ""),
	ROW(Tile, npu_lower_tile, ANY, true, false, "copy or view", "constant repeats"),
	ROW(DepthToSpace, npu_lower_depth_space, IMAGE, true, false, "copy", ""),
	ROW(SpaceToDepth, npu_lower_depth_space, IMAGE, true, false, "copy", ""),
	ROW(Resize, npu_lower_resize, IMAGE, true, false, "resize",
	    "nearest, linear, cubic; H and W, else (also antialias, tf_crop_and_resize) known sizes, "
	    "then by gather and matmul"),
	GONE(Upsample, "resize", ""),
	ROW(Camera, npu_lower_camera, NATURAL, true, true, "color", ""),
	ROW(Gather, npu_lower_gather, NATURAL, true, false, "gather or view", ""),
	ROW(GatherElements, npu_lower_gather_elements, NATURAL, false, false, "gather_elements",
	    ""),
	GONE(GatherND, "gather, ewise2", "indexed dimensions known"),
	GONE(ScatterND, "copy, gather, ewise2, scatter", "indexed dimensions known"),
	GONE(Scatter, "copy, scatter_elements or scatter", ""),
	ROW(ScatterElements, npu_lower_scatter_elements, NATURAL, false, false,
	    "copy, scatter_elements or scatter", ""),
	ROW(Trilu, npu_lower_trilu, NATURAL, true, false, "select",
	    "constant k; last two dimensions known"),
	ROW(OneHot, npu_lower_one_hot, NATURAL, true, false, "ewise2, select",
	    "constant depth and values"),
	ROW(Hardmax, npu_lower_hardmax, NATURAL, true, false, "arg_reduce, ewise2, copy", ""),
	GONE(Shape, "folded", ""),
	GONE(Size, "folded", ""),
	GONE(Constant, "folded", ""),
	GONE(Dropout, "view", ""),
	ROW(ConstantOfShape, npu_lower_constant_of_shape, ANY, true, false, "fill or folded", ""),
	ROW(Range, npu_lower_range, NATURAL, true, false, "iota or folded",
	    "constant start and delta"),
	ROW(Einsum, NULL, ANY, false, false, "matmul, reduce, view",
	    FLOATS "; one or two inputs, no letter twice in a term"),
	REFUSED(NonMaxSuppression,
		"its result has a length that depends on the data; run it on the host"),
	REFUSED(NonZero, "its result has a length that depends on the data; run it on the host"),
	REFUSED(LSTM, "recurrent operators have to be unrolled by the exporter"),
	REFUSED(GRU, "recurrent operators have to be unrolled by the exporter"),
};

const struct npu_op_rule *npu_op_rule(enum npu_gop op)
{
	if ((unsigned int)op >= NPU_GOP_COUNT || !rules[op].insns)
		return NULL;
	return &rules[op];
}

bool npu_compile_op_support(unsigned int i, struct npu_op_support *support)
{
	const struct npu_onnx_op *op = npu_onnx_op(i);
	const struct npu_host_op *host;
	const struct npu_op_rule *rule;

	if (!op)
		return false;
	rule = npu_op_rule(npu_gop_find(op->domain, op->name));
	if (rule && !*rule->insns)
		rule = NULL;
	host = npu_host_op_find(op->domain, op->name);
	*support = (struct npu_op_support){
		.op = op->name, .domain = op->domain, .since = op->since,
		.supported = rule != NULL,
		.insns = rule ? rule->insns : "", .limits = rule ? rule->limits : "",
		.host = host ? host->types : "", .host_since = host ? host->since : 0,
		.host_limits = host ? host->limits : "",
		.why_not = rule || host ? "" : op->why_not,
	};
	return true;
}
