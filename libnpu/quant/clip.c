// SPDX-License-Identifier: MIT
/* How much the chosen job clips of the calibration set, counted by the job. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "quant/quant_priv.h"

static struct npu_quant_clip *clip_of(struct npu_quant *q, const char *name)
{
	for (unsigned int i = 0; i < q->num_clips; i++)
		if (!strcmp(q->clip[i].name, name))
			return &q->clip[i];
	if (q->num_clips == q->max_clips)
		return NULL;
	q->clip[q->num_clips].name = npu_arena_strdup(&q->calib.arena, name);
	return q->clip[q->num_clips].name ? &q->clip[q->num_clips++] : NULL;
}

/* As npu_run_clipped() does it. */
static int each_clips(void *arg, unsigned int k, const struct npu_trial *t)
{
	struct npu_quant *q = arg;
	const struct npu_lclip *clip;
	const int64_t *count;

	(void)k;
	for (unsigned int i = 0; (count = npu_trial_clip(t, i, &clip)); i++) {
		struct npu_quant_clip *sum = clip_of(q, clip->name);

		if (!sum)
			return -ENOMEM;
		sum->clipped += (uint64_t)(clip->t->quant->zero > 0 ? count[0] : 0) +
				(uint64_t)(clip->t->quant->zero < 255 ? count[1] : 0);
		sum->looked_at += (uint64_t)count[2];
	}
	return 0;
}

int npu_quant_count_clips(struct npu_quant *q)
{
	const struct npu_lower like = { .precision = q->setup.precision,
					.all_f16 = q->setup.all_f16,
					.count_clips = true,
					.count_all_clips = true };
	int err = 0, ret;

	q->max_clips = q->calib.instance[0].g->num_tensors + q->calib.layers.num;
	q->clip = npu_arena_array(&q->calib.arena, q->max_clips + 1, sizeof(*q->clip));
	if (!q->clip)
		return -ENOMEM;
	for (unsigned int i = 0; i < q->calib.num_instances && !err; i++) {
		struct npu_scheme *s = &q->calib.instance[i].scheme;

		err = npu_scheme_apply(s, &q->calib.layers, q->calib.diag);
		if (!err)
			err = npu_calib_run(&q->calib, &q->device, i, NULL, q->calib.num_samples,
					    &like, false, each_clips, q);
		ret = npu_scheme_restore(s, q->calib.diag);
		err = err ? err : ret;
	}
	return err;
}

const char *npu_quant_clipped(const struct npu_quant *q, unsigned int i, uint64_t *parts)
{
	const struct npu_quant_clip *c = i < q->num_clips ? &q->clip[i] : NULL;

	if (!c)
		return NULL;
	*parts = c->looked_at ? (uint64_t)(1e9 * (double)c->clipped / (double)c->looked_at + 0.5) :
				0;
	return c->name;
}
