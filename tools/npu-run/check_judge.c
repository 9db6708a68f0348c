// SPDX-License-Identifier: MIT
/* --check: what is good enough. */
#include "check.h"

#include <string.h>

/*
 * By the coarsest type that a job computes in. Real networks stay well inside (the accuracy
 * section of Documentation/npu-run.md has figures); a wrong scale, layout or weight does not.
 */
static const struct {
	const char *type;
	double max_error, min_cosine;
} limits[] = {
	{ "f32", 1e-3, 0.99999 },
	{ "f16", 0.1, 0.999 },
	{ "int8", 0.5, 0.95 },
};

static unsigned int coarseness(const struct check_layer *l)
{
	if (l->quantized && (l->dtype == NPU_I8 || l->dtype == NPU_U8))
		return 2;
	return l->dtype == NPU_F16 || l->dtype == NPU_BF16;
}

bool check_within(const struct check_report *r, const struct check_difference *d)
{
	if (d->match != CHECK_COMPARED)
		return true;
	if (d->invalid)
		return false;
	return d->worst <= r->max_error * d->largest && d->cosine >= r->min_cosine;
}

static long first_differs(const struct check_layers *l)
{
	for (size_t i = 0; i < l->num; i++)
		if (l->layer[i].differ)
			return (long)i;
	return -1;
}

void check_judge(struct check_report *r)
{
	unsigned int coarsest = 0, c;

	for (size_t i = 0; i < r->job.num; i++) {
		c = coarseness(&r->job.layer[i]);
		coarsest = c > coarsest ? c : coarsest;
	}
	r->type = limits[coarsest].type;
	r->max_error = r->opt->max_error >= 0 ? r->opt->max_error : limits[coarsest].max_error;
	r->min_cosine = r->opt->min_cosine >= 0 ? r->opt->min_cosine : limits[coarsest].min_cosine;
	r->first_differs = first_differs(&r->job);
	r->ref_differs = first_differs(&r->ref);
	r->first_bad = -1;
	for (size_t i = 0; i < r->job.num && r->first_bad < 0; i++)
		if (!check_within(r, &r->job.layer[i].fp32))
			r->first_bad = (long)i;
	for (unsigned int i = 0; i < r->num_outputs; i++)
		r->bad_output |= !check_within(r, &r->output[i].fp32) ||
				 r->output[i].fp32.match == CHECK_ABSENT ||
				 r->output[i].fp32.match == CHECK_RESHAPED;
	r->ok = r->first_differs < 0 && r->ref_differs < 0 && r->first_bad < 0 && !r->bad_output;
}
