// SPDX-License-Identifier: MIT
/* Queues, and bare streams on them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/object.h"
#include "npu_isa_desc.h"

int npu_queue_create(struct npu_device *dev, const struct npu_queue_options *options,
		     struct npu_queue **queue, struct npu_error *err)
{
	struct npu_queue_options opt = { .priority = NPU_PRIORITY_NORMAL };
	struct npu_queue *q;
	int ret;

	if (!queue)
		return npu_error_set(err, -EINVAL, "npu_queue_create: queue is NULL");
	*queue = NULL;
	ret = npu_device_check(dev, err);
	if (!ret && options)
		ret = npu_struct_read(&opt, sizeof(opt), options, options->size,
				      "npu_queue_options", err);
	if (ret)
		return ret;
	if (opt.priority >= dev->info.num_priorities)
		return npu_error_set(err, -EINVAL,
				     "npu_queue_options: priority %u, device '%s' has 0 .. %u",
				     opt.priority, dev->info.uri, dev->info.num_priorities - 1);
	q = calloc(1, sizeof(*q));
	if (!q)
		return npu_error_set(err, -ENOMEM, "no memory for a queue");
	atomic_init(&q->refs, 1);
	q->dev = npu_device_get(dev);
	q->priority = opt.priority;
	pthread_mutex_init(&q->lock, NULL);
	ret = dev->ops->queue_create(q, err);
	if (ret) {
		pthread_mutex_destroy(&q->lock);
		npu_device_put(dev);
		free(q);
		return ret;
	}
	*queue = q;
	return 0;
}

static void queue_drop(struct npu_queue *queue, bool wait)
{
	struct npu_device *dev;

	if (!queue || !npu_device_is_ours(queue->dev) || !npu_ref_drop(&queue->refs))
		return;
	dev = queue->dev;
	npu_chain_stop(queue->chain, wait);
	npu_stream_cache_free(queue->streams);
	dev->ops->queue_destroy(queue, wait);
	npu_fence_put(queue->last);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
	npu_device_put(dev);
}

void npu_queue_destroy(struct npu_queue *queue)
{
	queue_drop(queue, true);
}

void npu_queue_put(struct npu_queue *queue)
{
	queue_drop(queue, false);
}

int npu_queue_cancel(struct npu_queue *queue, struct npu_error *err)
{
	int ret = npu_device_check(queue->dev, err);

	if (ret)
		return ret;
	/* With the lock, so that nothing is on its way from the chain to the backend. */
	pthread_mutex_lock(&queue->lock);
	npu_chain_cancel_all(queue);
	queue->dev->ops->cancel_queue(queue);
	pthread_mutex_unlock(&queue->lock);
	return 0;
}

int npu_queue_wait(struct npu_queue *queue, uint64_t deadline, struct npu_error *err)
{
	struct npu_fence *last = NULL;
	int ret = npu_device_check(queue->dev, err);

	if (ret)
		return ret;
	pthread_mutex_lock(&queue->lock);
	if (queue->last)
		last = npu_fence_get(queue->last);
	pthread_mutex_unlock(&queue->lock);
	if (!last)
		return 0;
	/* Work ends in order, so the newest is the last; how it ended is its fence's to tell. */
	npu_fence_wait(last, deadline, NULL);
	if (npu_fence_status(last) == -EINPROGRESS)
		ret = npu_error_set(err, -ETIMEDOUT, "work of the queue has not ended yet");
	npu_fence_put(last);
	return ret;
}

static int check_stream_region(const struct npu_device *dev, const struct npu_stream_region *r,
			       uint32_t i, struct npu_error *err)
{
	const uint32_t known = NPU_ACCESS_READ | NPU_ACCESS_WRITE | NPU_ACCESS_SRAM;
	uint64_t limit = r->buf ? r->buf->size : dev->info.sram_size;

	if (r->reserved || r->access & ~known)
		return npu_error_set(err, -EINVAL,
				     "region %u: access 0x%x or reserved 0x%x are not known", i,
				     r->access, r->reserved);
	if (!r->buf && !r->bytes && !(r->access & NPU_ACCESS_SRAM))
		return 0;
	if (!r->buf != !!(r->access & NPU_ACCESS_SRAM))
		return npu_error_set(err, -EINVAL, "region %u: %s", i,
				     r->buf ? "on-chip memory has no buffer"
					    : "buf is NULL and access is not NPU_ACCESS_SRAM");
	if (r->buf && r->buf->dev != dev)
		return npu_error_set(err, -EINVAL, "region %u: its buffer is of another device", i);
	if (r->offset > limit || r->bytes > limit - r->offset)
		return npu_error_set(err, -EINVAL,
				     "region %u: bytes %llu + %llu of %s that has %llu", i,
				     (unsigned long long)r->offset, (unsigned long long)r->bytes,
				     r->buf ? "a buffer" : "on-chip memory",
				     (unsigned long long)limit);
	if (r->buf && r->access & NPU_ACCESS_WRITE && r->buf->flags & NPU_BUFFER_READ_ONLY)
		return npu_error_set(
			err, -EACCES,
			"region %u: write access to a buffer that was imported read only", i);
	return 0;
}

static int fill_regions(struct npu_work *work, const struct npu_stream_submit *s,
			struct npu_error *err)
{
	const struct npu_device *dev = work->queue->dev;
	uint32_t i;
	int ret;

	for (i = 0; i < s->num_regions; i++) {
		const struct npu_stream_region *r = &s->regions[i];

		ret = check_stream_region(dev, r, i, err);
		if (ret)
			return ret;
		work->region[i] =
			(struct npu_region){ .base = (r->buf ? r->buf->va : 0) + r->offset,
					     .size = r->bytes,
					     .access = r->access };
		if (r->buf)
			work->bufs[work->num_bufs++] = npu_buffer_get(r->buf);
	}
	return 0;
}

/* The scalars are known here, so the stream is proven for just these. */
static int verify_stream(const struct npu_work *work, struct npu_error *err)
{
	struct npu_stream_header *header;
	struct npu_isa_error isa = { 0 };
	unsigned int i;
	void *copy;
	int ret = 0;

	copy = malloc(work->code->size);
	if (!copy)
		return npu_error_set(err, -ENOMEM, "no memory for a stream of %u bytes",
				     work->code->size);
	memcpy(copy, work->code->stream, work->code->size);
	header = copy;
	for (i = 0; i < header->num_scalars && i < NPU_MAX_SCALARS && !ret; i++) {
		if (work->scalar[i] < header->scalar[i].min ||
		    work->scalar[i] > header->scalar[i].max)
			ret = npu_error_set(err, -EINVAL,
					    "scalar %u is %u, the stream takes %u .. %u", i,
					    work->scalar[i], header->scalar[i].min,
					    header->scalar[i].max);
		header->scalar[i].min = header->scalar[i].max = work->scalar[i];
	}
	if (!ret && npu_stream_verify(copy, work->code->size, work->region, work->num_regions,
				      work->queue->dev->info.sram_size, &isa))
		ret = npu_error_set(err, -EINVAL, "instruction %u at byte %u of the stream: %s",
				    isa.fault.insn, isa.fault.stream_offset, isa.text);
	free(copy);
	return ret;
}

/* Take the stream into @work; what was verified is not verified again. */
static int place_stream(struct npu_work *work, const void *stream, npu_u32 size,
			struct npu_error *err)
{
	bool proven = npu_stream_cache_get(work, stream, size), known = work->code;
	bool verify = !proven && !(work->flags & NPU_SUBMIT_NO_VERIFY);
	int ret = 0;

	if (!known)
		ret = npu_code_create(work->queue->dev, stream, size, &work->code, err);
	if (!ret && verify)
		ret = verify_stream(work, err);
	if (!ret && (!known || verify))
		npu_stream_cache_put(work, verify);
	return ret;
}

int npu_queue_submit_stream(struct npu_queue *queue, const struct npu_stream_submit *submit,
			    const struct npu_submit_options *options, struct npu_fence **fence,
			    struct npu_error *err)
{
	struct npu_submit_options opt;
	struct npu_stream_submit s;
	struct npu_work *work;
	int ret;

	if (fence)
		*fence = NULL;
	ret = npu_device_check(queue->dev, err);
	if (!ret && !submit)
		ret = npu_error_set(err, -EINVAL, "npu_queue_submit_stream: submit is NULL");
	if (!ret)
		ret = npu_struct_read(&s, sizeof(s), submit, submit->size, "npu_stream_submit",
				      err);
	if (!ret)
		ret = npu_submit_options_read(queue->dev, options, &opt, err);
	if (ret)
		return ret;
	if (!s.stream || s.stream_size < sizeof(struct npu_stream_header) ||
	    s.stream_size > NPU_MAX_STREAM_BYTES)
		return npu_error_set(err, -EINVAL,
				     "npu_stream_submit: a stream of %zu bytes, want %zu .. %u",
				     s.stream_size, sizeof(struct npu_stream_header),
				     NPU_MAX_STREAM_BYTES);
	if (s.num_regions > NPU_MAX_REGIONS || (s.num_regions && !s.regions))
		return npu_error_set(err, -EINVAL,
				     "npu_stream_submit: %u regions, want 0 .. %u and an array",
				     s.num_regions, NPU_MAX_REGIONS);
	work = npu_work_create(queue, &opt, s.num_regions, s.num_regions, err);
	if (!work)
		return -ENOMEM;
	memcpy(work->scalar, s.scalar, sizeof(work->scalar));
	ret = fill_regions(work, &s, err);
	if (!ret)
		ret = place_stream(work, s.stream, (npu_u32)s.stream_size, err);
	if (ret) {
		npu_work_destroy(work);
		return ret;
	}
	return npu_work_submit(work, fence, err);
}
