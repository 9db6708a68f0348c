// SPDX-License-Identifier: MIT
/* One submit on its way through a device. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/object.h"
#include "npu_isa_desc.h"

int npu_code_create(struct npu_device *dev, const void *stream, npu_u32 size,
		    struct npu_code **code, struct npu_error *err)
{
	struct npu_code *c = malloc(sizeof(*c) + size);
	int ret = 0;

	if (!c)
		return npu_error_set(err, -ENOMEM, "no memory for a stream of %u bytes", size);
	*c = (struct npu_code){ .dev = npu_device_get(dev), .size = size };
	atomic_init(&c->refs, 1);
	memcpy(c->stream, stream, size);
	if (dev->ops->code_create)
		ret = dev->ops->code_create(c, err);
	if (ret) {
		npu_device_put(dev);
		free(c);
		return ret;
	}
	*code = c;
	return 0;
}

void npu_code_put(struct npu_code *code)
{
	struct npu_device *dev;

	if (!code || !npu_ref_drop(&code->refs))
		return;
	dev = code->dev;
	if (dev->ops->code_destroy)
		dev->ops->code_destroy(code);
	free(code);
	npu_device_put(dev);
}

int npu_submit_options_read(const struct npu_device *dev, const struct npu_submit_options *in,
			    struct npu_submit_options *out, struct npu_error *err)
{
	const uint32_t known = NPU_SUBMIT_PROFILE | NPU_SUBMIT_DIGEST | NPU_SUBMIT_NO_VERIFY;
	uint32_t i;
	int ret;

	*out = (struct npu_submit_options)NPU_INIT(*out);
	if (!in)
		return 0;
	ret = npu_struct_read(out, sizeof(*out), in, in->size, "npu_submit_options", err);
	if (ret)
		return ret;
	if (out->flags & ~known || out->reserved)
		return npu_error_set(
			err, -EINVAL,
			"npu_submit_options: flags 0x%x or reserved 0x%x are not known",
			out->flags & ~known, out->reserved);
	if (out->num_wait > 65536 || (out->num_wait && !out->wait))
		return npu_error_set(err, -EINVAL, "npu_submit_options: %u fences to wait for, %s",
				     out->num_wait,
				     out->wait ? "the limit is 65536" : "but wait is NULL");
	for (i = 0; i < out->num_wait; i++)
		if (!out->wait[i])
			return npu_error_set(err, -EINVAL, "npu_submit_options: wait[%u] is NULL",
					     i);
	return 0;
}

struct npu_work *npu_work_create(struct npu_queue *queue, const struct npu_submit_options *options,
				 uint32_t num_regions, uint32_t num_bufs, struct npu_error *err)
{
	struct npu_work *work = malloc(sizeof(*work) + num_regions * sizeof(*work->region) +
				       num_bufs * sizeof(*work->bufs) +
				       options->num_wait * sizeof(*work->wait));
	uint32_t i;

	if (!work)
		goto err_memory;
	memset(work, 0, sizeof(*work));
	atomic_init(&work->stop, false);
	atomic_init(&work->chained, false);
	work->num_regions = num_regions;
	work->region = (struct npu_region *)(work + 1);
	work->bufs = (struct npu_buffer **)(work->region + num_regions);
	work->wait = (struct npu_fence **)(work->bufs + num_bufs);
	work->fence = npu_fence_create(queue->dev);
	if (!work->fence)
		goto err_work;
	work->queue = queue;
	npu_ref_take(&queue->refs);
	work->flags = options->flags;
	work->num_wait = options->num_wait;
	for (i = 0; i < options->num_wait; i++)
		work->wait[i] = npu_fence_get(options->wait[i]);
	work->has_done = options->done != NULL;
	npu_fence_set_done(work->fence, options->done, options->done_ctx);
	return work;

err_work:
	free(work);
err_memory:
	npu_error_set(err, -ENOMEM, "no memory for a submit");
	return NULL;
}

static void drop_refs(struct npu_work *work)
{
	uint32_t i;

	for (i = 0; i < work->num_bufs; i++)
		npu_buffer_put(work->bufs[i]);
	for (i = 0; i < work->num_wait; i++)
		npu_fence_put(work->wait[i]);
	npu_fence_put(work->after);
	npu_code_put(work->code);
	npu_job_put(work->job);
	npu_queue_put(work->queue);
	free(work->host);
}

void npu_work_destroy(struct npu_work *work)
{
	struct npu_fence *fence = work->fence;

	drop_refs(work);
	npu_fence_put(fence);
	free(work);
}

int npu_work_submit(struct npu_work *work, struct npu_fence **fence, struct npu_error *err)
{
	struct npu_queue *queue = work->queue;
	struct npu_fence *f = npu_fence_get(work->fence), *before;
	int ret;

	/* The work may be over, and gone, before submit() returns. */
	npu_ref_take(&queue->refs);
	npu_fence_set_work(f, work);
	pthread_mutex_lock(&queue->lock);
	if (npu_chain_wants(queue, work))
		ret = npu_chain_add(queue, work, err);
	else
		ret = queue->dev->ops->submit(work, err);
	before = queue->last;
	if (!ret)
		queue->last = npu_fence_get(f);
	pthread_mutex_unlock(&queue->lock);
	npu_queue_put(queue);
	if (ret) {
		npu_fence_put(f);
		npu_work_destroy(work);
		return ret;
	}
	npu_fence_put(before);
	if (fence)
		*fence = f;
	else
		npu_fence_put(f);
	return 0;
}

static const char *role_name(npu_u32 role)
{
	static const char *const names[NPU_NUM_REGION_ROLES] = { "weights", "scratch", "sram",
								 "input",   "output",  "state" };

	return role < NPU_NUM_REGION_ROLES ? names[role] : "?";
}

/* The region that operand @slot of the instruction at @offset names, or -1. */
static int region_of(const struct npu_work *work, npu_u32 offset, npu_u32 slot)
{
	const npu_u32 *words = (const npu_u32 *)((const char *)work->code->stream + offset);
	struct npu_insn insn;

	if (offset >= work->code->size || offset % 8 ||
	    npu_insn_decode(words, (work->code->size - offset) / 4, &insn, NULL) ||
	    slot >= insn.desc->num_slots)
		return -1;
	return insn.operand[slot].region;
}

/* Where a fault happened, in the words of the model as far as the job file knows them. */
static void fault_place(const struct npu_work *work, const struct npu_fault *fault, char *out,
			size_t size)
{
	npu_u32 insn = work->first_insn + fault->insn, at = work->first_byte + fault->stream_offset;
	const struct npu_jobfile_program *prog =
		work->job ? &work->job->file->programs[work->program] : NULL;
	const struct npu_jobfile_debug *debug =
		prog ? npu_jobfile_debug_find(prog, fault->tag) : NULL;
	const struct npu_op_desc *desc = npu_op_desc(fault->opcode);
	int region = region_of(work, fault->stream_offset, fault->operand);
	size_t n;

	n = snprintf(out, size, "%s: ", work->job ? work->job->path : "stream");
	if (prog && *prog->name && n < size)
		n += snprintf(out + n, size - n, "program '%s', ", prog->name);
	if (debug && n < size)
		n += snprintf(out + n, size - n, "node '%.100s' (%.60s), ", debug->node, debug->op);
	if (n < size)
		n += snprintf(out + n, size - n, "instruction %u (%s) at byte %u", insn,
			      desc ? desc->mnemonic : "unknown opcode", at);
	if (desc && fault->operand < desc->num_slots && n < size)
		n += snprintf(out + n, size - n, ", operand '%s'",
			      desc->slots[fault->operand].name);
	if (region >= 0 && n < size)
		n += snprintf(out + n, size - n, " in region %d", region);
	if (region >= 0 && prog && (npu_u32)region < prog->num_regions && n < size)
		snprintf(out + n, size - n, " (%s%s%s)", role_name(prog->regions[region].role),
			 *prog->regions[region].name ? " " : "", prog->regions[region].name);
}

void npu_work_finish(struct npu_work *work, int status, const struct npu_fault *fault,
		     const char *text)
{
	char place[NPU_ERROR_TEXT], full[NPU_ERROR_TEXT + 300];

	if (!status) {
		npu_work_end(work, 0, NULL, NULL);
		return;
	}
	if (fault)
		fault_place(work, fault, place, sizeof(place));
	else
		snprintf(place, sizeof(place), "%s", work->job ? work->job->path : "stream");
	snprintf(full, sizeof(full), "%s: %s", place,
		 text && *text ? text
		 : fault       ? npu_fault_text(fault->code)
			       : strerror(-status));
	npu_work_end(work, status, fault, full);
}

void npu_work_end(struct npu_work *work, int status, const struct npu_fault *fault,
		  const char *full)
{
	struct npu_fence *fence = work->fence;

	npu_fence_set_work(fence, NULL);
	drop_refs(work);
	free(work);
	npu_fence_signal(fence, status, fault, status ? full : NULL);
	npu_fence_put(fence);
}
