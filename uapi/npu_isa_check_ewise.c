// SPDX-License-Identifier: MIT
/* Static checks of element-wise functions, reductions, copies and fills. */
#include "npu_isa_limits.h"
#include "npu_isa_priv.h"

/* The tail that EWISE1 and EWISE2 share. Both have their parameters in this order. */
static int check_ewise_tail(struct npu_check *c, unsigned int act_param, unsigned int act,
			    bool real)
{
	const npu_u32 *p = c->param + act;

	if (!real && (p[0] || npu_param_f32(p[3]) != 1 || npu_param_f32(p[4]) != 0))
		return check_fail(
			c, PARAM, NPU_NO_FIELD, act, p[0],
			"an activation, post_mul other than 1 or post_add other than 0 on plain integers");
	if (p[0] != NPU_ACT_PRELU)
		return npu_want_absent(c, act_param, "without prelu");
	return npu_want_present(c, act_param, "by prelu") ?:
	       npu_want_dim(c, act_param, 0, npu_last_dim(&c->op[0]), "the last dim of out");
}

_Static_assert(NPU_EWISE1_P_POST_MUL == NPU_EWISE1_P_ACT + 3 &&
		       NPU_EWISE2_P_POST_MUL == NPU_EWISE2_P_ACT + 3,
	       "order of the parameters");

static bool unary_takes_integers(unsigned int func)
{
	switch (func) {
	case NPU_UNARY_ABS:
	case NPU_UNARY_NEG:
	case NPU_UNARY_SIGN:
	case NPU_UNARY_NOT:
	case NPU_UNARY_SQUARE:
	case NPU_UNARY_COPY:
	case NPU_UNARY_BITNOT:
		return true;
	default:
		return false;
	}
}

int npu_check_ewise1(struct npu_check *c)
{
	unsigned int func = c->param[NPU_EWISE1_P_FUNC];
	bool real = npu_is_real(&c->op[NPU_EWISE1_IN]);

	if (npu_want_broadcast(c, NPU_EWISE1_IN, NPU_EWISE1_OUT))
		return -EINVAL;
	if (!real && !unary_takes_integers(func))
		return check_fail(c, OPERAND, NPU_EWISE1_IN, NPU_NO_FIELD,
				  c->op[NPU_EWISE1_IN].dtype,
				  "in is plain %s, %s takes floats and quantized data",
				  npu_dtype_name(c->op[NPU_EWISE1_IN].dtype), npu_unary_name(func));
	if (real && func == NPU_UNARY_BITNOT)
		return check_fail(c, OPERAND, NPU_EWISE1_IN, NPU_NO_FIELD,
				  c->op[NPU_EWISE1_IN].dtype,
				  "in is %s as real numbers, bitnot takes plain integers",
				  npu_dtype_name(c->op[NPU_EWISE1_IN].dtype));
	return check_ewise_tail(c, NPU_EWISE1_ACT_PARAM, NPU_EWISE1_P_ACT, real);
}

int npu_check_ewise2(struct npu_check *c)
{
	unsigned int func = c->param[NPU_EWISE2_P_FUNC];
	bool real = npu_is_real(&c->op[NPU_EWISE2_A]) || npu_is_real(&c->op[NPU_EWISE2_B]);

	if (npu_want_broadcast(c, NPU_EWISE2_A, NPU_EWISE2_OUT) ||
	    npu_want_broadcast(c, NPU_EWISE2_B, NPU_EWISE2_OUT))
		return -EINVAL;
	if (real && func >= NPU_BINARY_BITAND && func <= NPU_BINARY_SHR)
		return check_fail(c, OPERAND,
				  npu_is_real(&c->op[NPU_EWISE2_A]) ? NPU_EWISE2_A : NPU_EWISE2_B,
				  NPU_NO_FIELD, func, "a real operand, %s takes plain integers",
				  npu_binary_name(func));
	return check_ewise_tail(c, NPU_EWISE2_ACT_PARAM, NPU_EWISE2_P_ACT, real);
}

int npu_check_select(struct npu_check *c)
{
	return npu_want_broadcast(c, NPU_SELECT_COND, NPU_SELECT_OUT) ?:
	       npu_want_broadcast(c, NPU_SELECT_A, NPU_SELECT_OUT) ?:
	       npu_want_broadcast(c, NPU_SELECT_B, NPU_SELECT_OUT) ?:
	       npu_want_type(c, NPU_SELECT_B, npu_type_bit(&c->op[NPU_SELECT_A]), "that of a");
}

static bool reduce_takes_integers(unsigned int func)
{
	return func <= NPU_REDUCE_L1 || func == NPU_REDUCE_SUM_SQUARE;
}

int npu_check_reduce(struct npu_check *c)
{
	const struct npu_operand *out = &c->op[NPU_REDUCE_OUT], *in = &c->op[NPU_REDUCE_IN];
	npu_u32 axes = c->param[NPU_REDUCE_P_AXES], func = c->param[NPU_REDUCE_P_FUNC];
	unsigned int i;

	if (npu_want_rank(c, NPU_REDUCE_OUT, in->rank, "that of in"))
		return -EINVAL;
	if (axes >> in->rank)
		return check_fail(
			c, PARAM, NPU_NO_FIELD, NPU_REDUCE_P_AXES, axes,
			"parameter axes is 0x%x, which names dims beyond the rank of in = %u", axes,
			in->rank);
	for (i = 0; i < out->rank; i++)
		if (npu_want_dim(c, NPU_REDUCE_OUT, i, axes >> i & 1 ? 1 : in->dim[i],
				 axes >> i & 1 ? "a reduced dim" : "that of in"))
			return -EINVAL;
	if (!npu_is_real(in) && !reduce_takes_integers(func))
		return check_fail(c, OPERAND, NPU_REDUCE_IN, NPU_NO_FIELD, in->dtype,
				  "in is plain %s, %s takes floats and quantized data",
				  npu_dtype_name(in->dtype), npu_reduce_name(func));
	return 0;
}

int npu_check_arg_reduce(struct npu_check *c)
{
	npu_u32 axis = c->param[NPU_ARG_REDUCE_P_AXIS];

	return npu_want_axis(c, NPU_ARG_REDUCE_P_AXIS, NPU_ARG_REDUCE_IN) ?:
	       npu_want_same_but(c, NPU_ARG_REDUCE_OUT, NPU_ARG_REDUCE_IN, axis) ?:
	       npu_want_dim(c, NPU_ARG_REDUCE_OUT, axis, 1, "a reduced dim");
}

int npu_check_topk(struct npu_check *c)
{
	npu_u32 axis = c->param[NPU_TOPK_P_AXIS], k;

	if (npu_want_axis(c, NPU_TOPK_P_AXIS, NPU_TOPK_IN) ||
	    npu_want_same_but(c, NPU_TOPK_VALUES, NPU_TOPK_IN, axis) ||
	    npu_want_same_dims(c, NPU_TOPK_INDICES, NPU_TOPK_VALUES) ||
	    npu_want_same_type(c, NPU_TOPK_VALUES, NPU_TOPK_IN))
		return -EINVAL;
	k = c->op[NPU_TOPK_VALUES].dim[axis];
	if (k > c->op[NPU_TOPK_IN].dim[axis])
		return check_fail(c, SHAPE, NPU_TOPK_VALUES, axis, k,
				  "values dim %u is %u, expected at most that of in = %u", axis, k,
				  c->op[NPU_TOPK_IN].dim[axis]);
	return npu_want_at_most(c, NPU_TOPK_VALUES, axis, NPU_MAX_TOPK);
}

int npu_check_cumsum(struct npu_check *c)
{
	return npu_want_axis(c, NPU_CUMSUM_P_AXIS, NPU_CUMSUM_IN) ?:
		       npu_want_same_dims(c, NPU_CUMSUM_OUT, NPU_CUMSUM_IN);
}

int npu_check_softmax(struct npu_check *c)
{
	return npu_want_axis(c, NPU_SOFTMAX_P_AXIS, NPU_SOFTMAX_IN) ?:
		       npu_want_same_dims(c, NPU_SOFTMAX_OUT, NPU_SOFTMAX_IN);
}

int npu_check_norm(struct npu_check *c)
{
	npu_u32 last = npu_last_dim(&c->op[NPU_NORM_IN]);
	float eps = npu_param_f32(c->param[NPU_NORM_P_EPS]);

	if (eps < 0)
		return check_fail(c, PARAM, NPU_NO_FIELD, NPU_NORM_P_EPS, c->param[NPU_NORM_P_EPS],
				  "parameter eps is %g, expected >= 0", (double)eps);
	return npu_want_same_dims(c, NPU_NORM_OUT, NPU_NORM_IN)			      ?:
		       npu_want_vector(c, NPU_NORM_GAMMA, last, "the last dim of in") ?:
		       npu_want_vector(c, NPU_NORM_BETA, last, "the last dim of in")  ?:
		       (npu_is_present(&c->op[NPU_NORM_ADDEND]) ?
			npu_want_same_dims(c, NPU_NORM_ADDEND, NPU_NORM_IN) : 0) ?:
		       (npu_is_present(&c->op[NPU_NORM_SUM]) ?
				npu_want_same_dims(c, NPU_NORM_SUM, NPU_NORM_IN) :
				0);
}

int npu_check_copy(struct npu_check *c)
{
	return npu_want_broadcast(c, NPU_COPY_IN, NPU_COPY_OUT);
}

/* Reflection goes once over each edge: there must be as many elements as are mirrored. */
static int check_reflect(struct npu_check *c, unsigned int i, npu_s64 before)
{
	npu_s64 in = c->op[NPU_PAD_IN].dim[i], after = c->op[NPU_PAD_OUT].dim[i] - in - before;

	if (before < in && after < in)
		return 0;
	return check_fail(
		c, SHAPE, NPU_PAD_OUT, i, before < in ? after : before,
		"dim %u is padded by %lld and %lld, reflect allows at most the size of in - 1 = %lld",
		i, (long long)before, (long long)after, (long long)in - 1);
}

int npu_check_pad(struct npu_check *c)
{
	unsigned int rank = c->op[NPU_PAD_OUT].rank, i;

	if (npu_want_rank(c, NPU_PAD_IN, rank, "that of out") ||
	    npu_want_same_type(c, NPU_PAD_IN, NPU_PAD_OUT))
		return -EINVAL;
	for (i = 0; i < NPU_MAX_RANK; i++) {
		npu_s32 before = c->param[NPU_PAD_P_BEFORE0 + i];

		if (i >= rank && before)
			return check_fail(c, PARAM, NPU_NO_FIELD, NPU_PAD_P_BEFORE0 + i, before,
					  "parameter before%u is %d, expected 0 beyond the rank", i,
					  before);
		if (i < rank && c->param[NPU_PAD_P_MODE] == NPU_PAD_REFLECT &&
		    check_reflect(c, i, before))
			return -EINVAL;
	}
	return 0;
}

/* Integers are counted in i64: start and step must fit there, whatever the position adds. */
static int check_iota_range(struct npu_check *c, unsigned int param, const char *name)
{
	float v = npu_param_f32(c->param[param]);

	if (v > -0x1p62f && v < 0x1p62f)
		return 0;
	return check_fail(c, PARAM, NPU_NO_FIELD, param, (npu_s64)(npu_s32)c->param[param],
			  "%s is %g, expected less than 2^62 for an integer output", name,
			  (double)v);
}

int npu_check_iota(struct npu_check *c)
{
	const struct npu_operand *out = &c->op[NPU_IOTA_OUT];

	if (npu_want_axis(c, NPU_IOTA_P_AXIS, NPU_IOTA_OUT))
		return -EINVAL;
	if (npu_dtype_is_float(out->dtype) || out->scale != 0)
		return 0;
	if (check_iota_range(c, NPU_IOTA_P_START, "start") ||
	    check_iota_range(c, NPU_IOTA_P_STEP, "step"))
		return -EINVAL;
	return 0;
}
