// SPDX-License-Identifier: MIT
/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/dense.h"

struct loss {
	const struct npu_host_call *call;
	const struct npu_host_tensor *target, *weight;
	const double *logp;		/* [N, C, inner] */
	int64_t n, classes, inner;
	bool has_ignored;
	int64_t ignored;
};

/* Loss of one target and the weight that it counts with. */
static int loss_one(const struct loss *l, int64_t i, double *value, double *weight,
		    struct npu_error *err)
{
	int64_t c = npu_host_get_int(l->target, i);

	*value = *weight = 0;
	if (l->has_ignored && c == l->ignored)
		return 0;
	if (c < 0 || c >= l->classes)
		return npu_host_fail(l->call, err, -EINVAL,
				     "target %lld is class %lld, expected 0 to %lld", (long long)i,
				     (long long)c, (long long)l->classes - 1);
	*weight = l->weight ? npu_host_get(l->weight, c) : 1;
	*value = -*weight * l->logp[(i / l->inner * l->classes + c) * l->inner + i % l->inner];
	return 0;
}

static int loss_all(const struct loss *l, struct npu_error *err)
{
	const char *reduction = npu_host_string(l->call, "reduction", "mean");
	bool none = !strcmp(reduction, "none");
	double value, weight, sum = 0, weights = 0;
	int64_t i;
	int ret = 0;

	for (i = 0; i < l->n * l->inner && !ret; i++) {
		ret = NPU_HOST_NOW_AND_THEN(i, l->call, err);
		if (!ret)
			ret = loss_one(l, i, &value, &weight, err);
		if (ret)
			break;
		if (none && !ret)
			npu_host_set(&l->call->out[0], i, value);
		sum += value;
		weights += weight;
	}
	if (!none && !ret)
		npu_host_set(&l->call->out[0], 0, !strcmp(reduction, "sum") ? sum : sum / weights);
	return ret;
}

static int loss_setup(const struct npu_host_call *call, struct loss *l, struct npu_error *err)
{
	const struct npu_host_tensor *x = &call->in[0];
	const struct npu_host_attr *ignored = npu_host_attr(call, "ignore_index", NPU_HOST_INT);
	bool none;

	if (x->rank < 2)
		return npu_host_fail(call, err, -EINVAL,
				     "expected scores of rank 2 or more, got %u", x->rank);
	*l = (struct loss){ .call = call, .target = &call->in[1], .weight = npu_host_in(call, 2) };
	l->n = x->dim[0];
	l->classes = x->dim[1];
	l->inner = npu_host_span(x, 2, x->rank);
	l->has_ignored = ignored != NULL;
	l->ignored = ignored ? ignored->i : 0;
	if (npu_host_elems(l->target) != l->n * l->inner ||
	    (l->weight && npu_host_elems(l->weight) != l->classes))
		return npu_host_fail(call, err, -EINVAL, "expected %lld targets and %lld weights",
				     (long long)(l->n * l->inner), (long long)l->classes);
	none = !strcmp(npu_host_string(call, "reduction", "mean"), "none");
	if (npu_host_elems(&call->out[0]) != (none ? l->n * l->inner : 1) ||
	    (npu_host_out(call, 1) && !npu_host_same_shape(npu_host_out(call, 1), x)))
		return npu_host_fail(call, err, -EINVAL, "the results have other sizes");
	return 0;
}

int npu_host_nll_loss(const struct npu_host_call *call, struct npu_error *err)
{
	struct loss l;
	double *logp;
	int ret = loss_setup(call, &l, err);

	if (ret)
		return ret;
	l.logp = logp = npu_host_doubles(call, &call->in[0], err);
	ret = logp ? loss_all(&l, err) : -ENOMEM;
	free(logp);
	return ret;
}

/* In place: v - log(sum(exp(v))) over the classes. */
static int log_softmax(const struct loss *l, double *v, struct npu_error *err)
{
	int64_t n, i, c;

	for (n = 0; n < l->n; n++)
		for (i = 0; i < l->inner; i++) {
			double *at = v + n * l->classes * l->inner + i, top = -INFINITY, sum = 0;

			if (npu_host_poll(l->call, err))
				return -ECANCELED;
			for (c = 0; c < l->classes; c++)
				top = fmax(top, at[c * l->inner]);
			for (c = 0; c < l->classes; c++)
				sum += exp(at[c * l->inner] - top);
			for (c = 0; c < l->classes; c++)
				at[c * l->inner] -= top + log(sum);
		}
	return 0;
}

int npu_host_softmax_cross_entropy(const struct npu_host_call *call, struct npu_error *err)
{
	struct npu_host_tensor *out = npu_host_out(call, 1);
	struct loss l;
	double *logp;
	int64_t i;
	int ret = loss_setup(call, &l, err);

	if (ret)
		return ret;
	l.logp = logp = npu_host_doubles(call, &call->in[0], err);
	if (!logp)
		return -ENOMEM;
	ret = log_softmax(&l, logp, err);
	for (i = 0; out && i < npu_host_elems(out) && !ret; i++)
		npu_host_set(out, i, logp[i]);
	if (!ret)
		ret = loss_all(&l, err);
	free(logp);
	return ret;
}
