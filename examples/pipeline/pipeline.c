// SPDX-License-Identifier: MIT
/*
 * Three jobs for each frame, handed over at once. The second one waits for the first, the third, on
 * a queue of its own, for the second: fences say so, and the CPU waits for none of them. What a job
 * makes of a frame and the next one reads is one buffer that both are bound to.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "pipeline.h"

#define NO_EVENT_MS	20000

/* ---- jobs and what they are bound to --------------------------------------------------------- */

/* Frame and box of the last stage: the image, and NAME.box beside it. */
static int check_images(struct pipeline *p)
{
	struct npu_image_info *first = &p->image, other = NPU_INIT(other);
	const char *const *model = p->opt->model;

	*first = (struct npu_image_info)NPU_INIT(*first);
	if (npu_job_image(p->job[DETECT], 0, 0, first))
		return fail(&p->err, -EINVAL, "%s takes no frames: npu-compile --input-format",
			    model[DETECT]);
	if (npu_job_image(p->job[REFINE], 0, 0, &other))
		return fail(&p->err, -EINVAL,
			    "%s takes no frames: npu-compile --input-format ...,crop=box",
			    model[REFINE]);
	if (other.fourcc != first->fourcc || other.width != first->width ||
	    other.height != first->height)
		return fail(&p->err, -EINVAL, "%s is for frames %s, but %s for %s", model[DETECT],
			    first->spec, model[REFINE], other.spec);
	return 0;
}

static int open_jobs(struct pipeline *p)
{
	int i, ret = npu_device_open(p->opt->npu, NULL, &p->dev, &p->err);

	for (i = 0; i < NUM_STAGES && !ret; i++)
		ret = npu_job_load(p->dev, p->opt->model[i], 0, &p->job[i], &p->err);
	for (i = 0; i < 2 && !ret; i++)
		ret = npu_queue_create(p->dev, NULL, &p->queue[i], &p->err);
	return ret ? ret : check_images(p);
}

/* Input @to of @run is where @from has its output @name. */
static int link_tensor(struct pipeline *p, struct npu_run *from, const char *name,
		       struct npu_run *run, const char *to)
{
	struct npu_buffer *buf;
	uint64_t offset;
	int ret = npu_run_buffer(from, name, &buf, &offset, &p->err);

	return ret ? ret : npu_run_bind(run, to, buf, offset, &p->err);
}

/* The picking job reads what the detector says, by the same names. */
static int link_select(struct pipeline *p, struct slot *slot)
{
	struct npu_tensor_info t = NPU_INIT(t);
	int ret = 0;

	for (unsigned int i = 0; !ret && !npu_job_tensor(p->job[SELECT], 0, i, &t); i++)
		if (t.role == NPU_TENSOR_INPUT)
			ret = link_tensor(p, slot->run[DETECT], t.name, slot->run[SELECT], t.name);
	return ret;
}

static int bind_slot(struct pipeline *p, struct slot *slot)
{
	struct npu_image_info second = NPU_INIT(second);
	char box[256];
	int i, ret = 0;

	npu_job_image(p->job[REFINE], 0, 0, &second);
	snprintf(box, sizeof(box), "%s.box", second.name);
	for (i = 0; i < NUM_STAGES && !ret; i++)
		ret = npu_run_create(p->job[i], &slot->run[i], &p->err);
	if (!ret)
		ret = npu_run_bind_image(slot->run[DETECT], p->image.name, slot->frame, 0,
					 p->stride, &p->err);
	if (!ret)
		ret = npu_run_bind_image(slot->run[REFINE], second.name, slot->frame, 0, p->stride,
					 &p->err);
	if (!ret)
		ret = link_select(p, slot);
	return ret ? ret : link_tensor(p, slot->run[SELECT], "box", slot->run[REFINE], box);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void frame_done(void *ctx, struct npu_fence *fence)
{
	(void)fence;
	eventfd_write(((struct pipeline *)ctx)->done, 1);
}

/* All that is done with a frame, at once; with --wait one after the other. */
static int submit_frame(struct pipeline *p, unsigned int index)
{
	struct slot *slot = &p->slot[index];
	int i, ret = 0;

	for (i = 0; i < NUM_STAGES && !ret; i++) {
		struct npu_submit_options opt = NPU_INIT(opt);

		/* Of a stage that failed nothing is made. */
		opt.wait = i ? &slot->fence[i - 1] : NULL;
		opt.num_wait = i ? 1 : 0;
		if (i == REFINE) {
			opt.done = frame_done;
			opt.done_ctx = p;
		}
		ret = npu_queue_submit(p->queue[i == REFINE], slot->run[i], &opt, &slot->fence[i],
				       &p->err);
		if (!ret && p->opt->wait)
			ret = npu_fence_wait(slot->fence[i], NPU_FOREVER, &p->err);
	}
	p->flight[p->num_flight++] = index;
	if (p->num_flight > p->most_in_flight)
		p->most_in_flight = p->num_flight;
	return ret;
}

static bool wants_more(const struct pipeline *p)
{
	return p->num_flight < p->opt->flight && p->taken < p->opt->frames;
}

static int take_frames(struct pipeline *p)
{
	unsigned int index;
	int ret = 0;

	while (!ret && wants_more(p)) {
		ret = p->source->take(p, &index);
		if (ret)
			return ret == -EAGAIN ? 0 : ret;
		p->slot[index].taken = npu_deadline_after(0);
		if (!p->taken++)
			p->started = p->slot[index].taken;
		ret = submit_frame(p, index);
	}
	return ret;
}

static void drop_fences(struct slot *slot)
{
	for (int i = 0; i < NUM_STAGES; i++) {
		npu_fence_put(slot->fence[i]);
		slot->fence[i] = NULL;
	}
}

/* The last queue's jobs end in their order: the oldest frames that are done with. */
static int end_frames(struct pipeline *p)
{
	struct npu_fence_times times = NPU_INIT(times);
	unsigned int index;
	struct slot *slot;
	int ret = 0;

	while (!ret && p->num_flight) {
		index = p->flight[0];
		slot = &p->slot[index];
		if (npu_fence_status(slot->fence[REFINE]) == -EINPROGRESS)
			return 0;
		ret = npu_fence_wait(slot->fence[REFINE], 0, &p->err);
		if (ret)
			return ret;
		for (int i = 0; i < NUM_STAGES; i++) {
			npu_fence_times(slot->fence[i], &times);
			p->busy += times.busy;
		}
		p->ended = times.finished;
		p->latency[p->frames] = ((double)times.finished - (double)slot->taken) / 1e3;
		ret = report_frame(p, slot);
		p->frames++;
		memmove(p->flight, p->flight + 1, --p->num_flight * sizeof(*p->flight));
		drop_fences(slot);
		if (!ret)
			ret = p->source->give(p, index);
	}
	return ret;
}

static int wait_events(struct pipeline *p)
{
	struct pollfd fds[2] = {
		{ .fd = p->done, .events = POLLIN },
		{ .fd = wants_more(p) ? p->source->fd(p) : -1, .events = POLLIN },
	};
	eventfd_t count;
	int n = poll(fds, 2, NO_EVENT_MS);

	if (n < 0 && errno != EINTR)
		return fail(&p->err, -errno, "poll: %s", strerror(errno));
	if (!n)
		return fail(&p->err, -ETIMEDOUT, "no %s for %d s",
			    p->num_flight ? "result" : "frame", NO_EVENT_MS / 1000);
	if (fds[0].revents & POLLIN)
		eventfd_read(p->done, &count);
	return 0;
}

static int loop(struct pipeline *p)
{
	int ret = 0;

	while (!ret && p->frames < p->opt->frames) {
		ret = take_frames(p);
		if (!ret)
			ret = wait_events(p);
		if (!ret)
			ret = end_frames(p);
	}
	return ret;
}

/* ---- from begin to end ----------------------------------------------------------------------- */

/* A frame's memory is not given back while the NPU may look at it. */
static void close_all(struct pipeline *p)
{
	for (unsigned int i = 0; i < p->num_flight; i++)
		for (int k = 0; k < NUM_STAGES; k++)
			if (p->slot[p->flight[i]].fence[k])
				npu_fence_wait(p->slot[p->flight[i]].fence[k], NPU_FOREVER, NULL);
	for (unsigned int i = 0; i < MAX_SLOTS; i++) {
		drop_fences(&p->slot[i]);
		for (int k = 0; k < NUM_STAGES; k++)
			npu_run_destroy(p->slot[i].run[k]);
		npu_buffer_put(p->slot[i].frame);
	}
	p->source->close(p);
	for (int i = 0; i < 2; i++)
		npu_queue_destroy(p->queue[i]);
	for (int i = 0; i < NUM_STAGES; i++)
		npu_job_unload(p->job[i]);
	npu_device_close(p->dev);
	if (p->done >= 0)
		close(p->done);
}

int pipeline_run(struct pipeline *p)
{
	int ret;

	p->video = -1;
	p->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->done < 0)
		ret = fail(&p->err, -errno, "eventfd: %s", strerror(errno));
	else
		ret = open_jobs(p);
	if (!ret)
		ret = p->source->open(p);
	for (unsigned int i = 0; i < p->num_slots && !ret; i++)
		ret = bind_slot(p, &p->slot[i]);
	if (!ret)
		ret = loop(p);
	if (!ret)
		report_summary(p);
	close_all(p);
	return ret;
}
