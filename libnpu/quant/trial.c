// SPDX-License-Identifier: MIT
/* Trials: compile and run in process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/host_step.h"
#include "host/host.h"
#include "quant/trial.h"

static int device_error(struct npu_diag *diag, int ret, const char *what,
			const struct npu_error *err)
{
	if (ret == -ENOMEM)
		return ret;
	return npu_diag_add(diag, ret, what, "%s", err->text);
}

int npu_trial_open(struct npu_trial_device *d, struct npu_diag *diag)
{
	struct npu_error err = { 0 };
	int ret;

	memset(d, 0, sizeof(*d));
	ret = npu_device_open("sim", NULL, &d->dev, &err);
	if (!ret)
		ret = npu_queue_create(d->dev, NULL, &d->queue, &err);
	return ret ? device_error(diag, ret, "device for calibration", &err) : 0;
}

void npu_trial_close(struct npu_trial_device *d)
{
	npu_buffer_put(d->scratch);
	npu_buffer_put(d->weights);
	npu_queue_destroy(d->queue);
	npu_device_close(d->dev);
	memset(d, 0, sizeof(*d));
}

/* At least @size bytes; what was in there before is of no use any more. */
static int room(struct npu_trial_device *d, struct npu_buffer **buf, uint64_t size,
		struct npu_error *err)
{
	if (*buf && npu_buffer_size(*buf) >= size)
		return 0;
	npu_buffer_put(*buf);
	*buf = NULL;
	return npu_buffer_create(d->dev, size ? size : 1, 0, buf, err);
}

static int make_buffers(struct npu_trial *t, struct npu_diag *diag)
{
	unsigned int in = t->g->num_inputs, count = in + t->g->num_outputs;
	bool clips = t->lower.clip_buf;
	struct npu_error err = { 0 };
	int ret;

	t->io = npu_arena_array(&t->arena, count + 2, sizeof(struct npu_buffer *));
	if (!t->io)
		return -ENOMEM;
	ret = room(t->d, &t->d->scratch, t->plan.scratch, &err);
	if (!ret)
		ret = room(t->d, &t->d->weights, t->weights.size, &err);
	if (!ret && t->weights.size)
		ret = npu_buffer_write(t->d->weights, 0, t->weights.data, t->weights.size, &err);
	for (unsigned int i = 0; i < count + clips && !ret; i++) {
		const struct npu_lbuf *b = i < in ? t->lower.input_buf[i] : i < count ?
						    t->lower.output_buf[i - in] : t->lower.clip_buf;

		ret = npu_buffer_create(t->d->dev, b->size ? b->size : 1, 0, &t->io[i], &err);
	}
	return ret ? device_error(diag, ret, "memory for calibration", &err) : 0;
}

int npu_trial_build(struct npu_trial *t, struct npu_trial_device *d, struct npu_graph *g,
		    const struct npu_lower *like, bool any_order, struct npu_diag *diag)
{
	int err;

	t->d = d;
	t->g = g;
	t->path = diag->path ? diag->path : "model";
	t->lower = (struct npu_lower){ .g = g,
				       .arena = &t->arena,
				       .diag = diag,
				       .weights = &t->weights,
				       .precision = like->precision,
				       .all_f16 = like->all_f16,
				       .count_clips = like->count_clips,
				       .count_all_clips = like->count_all_clips,
				       .any_order = any_order,
				       .output_name = g->output_names };
	err = npu_lower_graph(&t->lower);
	if (!err)
		err = npu_plan_memory(&t->lower, NPU_PLAN_SRAM, &t->plan);
	if (!err)
		err = npu_emit_program(&t->lower, &t->plan, t->weights.size, "", &t->emitted);
	return err ? err : make_buffers(t, diag);
}

/* ---- running --------------------------------------------------------------------------------- */

/* The memory of region @i of the program; NULL: on-chip memory, or nothing. */
static struct npu_buffer *region_buffer(const struct npu_trial *t, unsigned int i)
{
	if (i == NPU_REGION_ID_SRAM || !t->emitted.program.regions[i].size.base)
		return NULL;
	return i == NPU_REGION_ID_WEIGHTS ? t->d->weights :
	       i == NPU_REGION_ID_SCRATCH ? t->d->scratch :
					    t->io[i - NPU_REGION_ID_IO];
}

static int run_stream(struct npu_trial *t, const struct npu_jobfile_step *step,
		      struct npu_error *err)
{
	const struct npu_jobfile_program *p = &t->emitted.program;
	struct npu_stream_region region[NPU_MAX_REGIONS] = { 0 };
	struct npu_stream_submit s = { .size = sizeof(s), .num_regions = p->num_regions,
				       .stream = step->stream, .stream_size = step->stream_size,
				       .regions = region };
	/* each instruction was checked when it was emitted, and is again when it runs */
	struct npu_submit_options o = { .size = sizeof(o), .flags = NPU_SUBMIT_NO_VERIFY };
	struct npu_fence *fence = NULL;
	int ret;

	for (unsigned int i = 0; i < p->num_regions; i++) {
		if (!p->regions[i].size.base)
			continue;
		region[i].access = p->regions[i].access;
		region[i].bytes = (uint64_t)p->regions[i].size.base;
		region[i].buf = region_buffer(t, i);
	}
	ret = npu_queue_submit_stream(t->d->queue, &s, &o, &fence, err);
	if (!ret) {
		ret = npu_fence_wait(fence, NPU_FOREVER, err);
		npu_fence_put(fence);
	}
	return ret;
}

static int run_host(struct npu_trial *t, const struct npu_jobfile_step *step,
		    int64_t (*dims)[NPU_TENSOR_MAX_RANK], struct npu_error *err)
{
	static const npu_u32 scalar[NPU_MAX_SCALARS];
	static const npu_u64 offset[NPU_MAX_REGIONS];
	const struct npu_jobfile_program *p = &t->emitted.program;
	const struct npu_host_config *host = t->g->host;
	const struct npu_host_op *op =
		npu_host_op_find_in(host->ops, host->num_ops, step->domain, step->op);
	struct npu_region region[NPU_MAX_REGIONS] = { 0 };
	struct npu_buffer *buf[NPU_MAX_REGIONS] = { NULL };
	const struct npu_host_frame f = { .path = t->path, .program = p, .scalar = scalar,
					  .region = region, .buf = buf, .offset = offset,
					  .dims = dims };
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < p->num_regions; i++) {
		region[i].size = (npu_u64)p->regions[i].size.base;
		buf[i] = region_buffer(t, i);
	}
	return npu_host_frame_run(&f, step, op, &bytes, err);
}

static int run_steps(struct npu_trial *t, struct npu_error *err)
{
	const struct npu_jobfile_program *p = &t->emitted.program;
	int64_t (*dims)[NPU_TENSOR_MAX_RANK] = calloc(p->num_tensors + 1, sizeof(*dims));
	struct npu_jobfile_step step;
	int ret = dims ? 0 : -ENOMEM;

	/* Shapes are fixed: what is not known before is found out by the steps. */
	for (unsigned int i = 0; dims && i < p->num_tensors; i++)
		for (unsigned int d = 0; d < p->tensors[i].rank; d++)
			dims[i][d] = p->tensors[i].dim[d].base;
	for (unsigned int i = 0; !ret && npu_jobfile_step_at(p, i, &step); i++)
		ret = step.kind == NPU_STEP_HOST ? run_host(t, &step, dims, err) :
						   run_stream(t, &step, err);
	free(dims);
	return ret;
}

int npu_trial_run(struct npu_trial *t, const void *const *input, struct npu_diag *diag)
{
	struct npu_error err = { 0 };
	int ret = 0;

	for (unsigned int i = 0; i < t->g->num_inputs && !ret; i++)
		ret = npu_buffer_write(t->io[i], 0, input[i], t->lower.input_buf[i]->size, &err);
	if (!ret)
		ret = run_steps(t, &err);
	return ret ? device_error(diag, ret, "calibration run", &err) : 0;
}

const void *npu_trial_output(const struct npu_trial *t, unsigned int i)
{
	void *p = NULL;

	return npu_buffer_map(t->io[t->g->num_inputs + i], &p, NULL) ? NULL : p;
}

bool npu_trial_channels_last(const struct npu_trial *t, unsigned int i)
{
	const struct npu_gtensor *g = t->g->outputs[i];
	const struct npu_lvalue *v = &t->lower.value[g->id];

	return t->lower.any_order && v->channels_last && v->view.buf == t->lower.output_buf[i];
}

const int64_t *npu_trial_clip(const struct npu_trial *t, unsigned int i,
			      const struct npu_lclip **clip)
{
	void *p = NULL;

	if (i >= t->lower.num_clips ||
	    npu_buffer_map(t->io[t->g->num_inputs + t->g->num_outputs], &p, NULL))
		return NULL;
	*clip = &t->lower.clip[i];
	return (const int64_t *)p + 3 * (size_t)i;
}

void npu_trial_free(struct npu_trial *t)
{
	for (unsigned int i = 0; t->io && i <= t->g->num_inputs + t->g->num_outputs; i++)
		npu_buffer_put(t->io[i]);
	npu_emit_free(&t->emitted);
	npu_weights_fini(&t->weights);
	npu_arena_fini(&t->arena);
	memset(t, 0, sizeof(*t));
}
