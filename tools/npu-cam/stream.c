// SPDX-License-Identifier: MIT
/*
 * The loop: a frame is dequeued, submitted, and queued again when its job has ended. A camera knows
 * no fences, so that is where the CPU comes in; it looks at results, never at frames.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "cam.h"
#include "core/error.h"

#define NO_FRAME_MS	20000

static uint64_t now(void)
{
	return npu_deadline_after(0);
}

static void job_done(void *ctx, struct npu_fence *fence)
{
	eventfd_write(((struct stream *)ctx)->done, 1);
}

static int submit(struct stream *s, struct slot *slot, const struct frame_info *info)
{
	struct npu_submit_options opt = { .size = sizeof(opt), .done = job_done, .done_ctx = s };
	int ret = 0;

	if (memcmp(info->offset, slot->info.offset, sizeof(info->offset)))
		ret = slot_rebind(s, slot, info);
	slot->info = *info;
	if (!ret && s->opt->copy)
		ret = slot_copy(s, info->index);
	slot->at.given = now();
	if (!ret)
		ret = npu_queue_submit(s->queue, slot->run, &opt, &slot->fence, &s->err);
	if (ret)
		return ret;
	s->flight[s->num_flight++] = info->index;
	return 0;
}

static bool wants_more(const struct stream *s)
{
	return !interrupted() && s->num_flight < s->opt->flight &&
	       (!s->opt->frames || s->frames + s->num_flight < s->opt->frames);
}

/* Frames that the camera made since the last one that was taken. One that does not count says 0. */
static void count_dropped(struct stream *s, uint32_t sequence)
{
	uint32_t apart = sequence - s->last_sequence;

	if (s->frames + s->num_flight && apart && apart < 1u << 31)
		s->dropped += apart - 1;
	s->last_sequence = sequence;
}

/* What the camera has, as long as there is room on the device. */
static int take_frames(struct stream *s)
{
	struct frame_info info;
	struct slot *slot;
	int ret = 0;

	while (!ret && wants_more(s)) {
		ret = camera_dequeue(&s->cam, &info, &s->err);
		if (ret)
			return ret == -EAGAIN ? 0 : ret;
		slot = &s->slot[info.index];
		slot->at = (struct stamps){ .there = s->woken, .dequeued = now() };
		count_dropped(s, info.sequence);
		if (!s->started)
			s->started = slot->at.dequeued;
		if (!info.broken) {
			ret = submit(s, slot, &info);
			continue;
		}
		s->broken++;
		ret = camera_queue(&s->cam, info.index, &s->err);
	}
	return ret;
}

/* Jobs end in order: the oldest ones that have. */
static int end_jobs(struct stream *s)
{
	struct npu_fence_times times;
	struct slot *slot;
	int ret;

	while (s->num_flight) {
		slot = &s->slot[s->flight[0]];
		if (npu_fence_status(slot->fence) == -EINPROGRESS)
			return 0;
		ret = npu_fence_wait(slot->fence, 0, &s->err);
		if (ret)
			return ret;
		times = (struct npu_fence_times)NPU_INIT(times);
		npu_fence_times(slot->fence, &times);
		slot->at.done = times.finished;
		s->ended = times.finished;
		npu_fence_put(slot->fence);
		slot->fence = NULL;
		memmove(s->flight, s->flight + 1, --s->num_flight * sizeof(*s->flight));
		s->frames++;
		ret = report_frame(s, slot);
		if (!ret)
			ret = camera_queue(&s->cam, slot->info.index, &s->err);
		if (ret)
			return ret;
	}
	return 0;
}

static int wait_events(struct stream *s)
{
	struct pollfd p[3] = {
		{ .fd = s->done, .events = POLLIN },
		{ .fd = interrupt_fd(), .events = POLLIN },
		{ .fd = s->cam.fd, .events = POLLIN },
	};
	eventfd_t count;
	int n;

	/* Once interrupted, what is on the device comes to its end. */
	if (interrupted())
		p[1].fd = -1;
	n = poll(p, wants_more(s) ? 3 : 2, NO_FRAME_MS);
	s->woken = now();
	if (n < 0 && errno != EINTR)
		return npu_error_set(&s->err, -errno, "poll: %s", strerror(errno));
	if (!n)
		return npu_error_set(&s->err, -ETIMEDOUT, "%s: no %s for %d s", s->opt->camera,
				     s->num_flight ? "result" : "frame", NO_FRAME_MS / 1000);
	if (p[0].revents & POLLIN)
		eventfd_read(s->done, &count);
	return 0;
}

static int loop(struct stream *s)
{
	int ret = 0;

	s->woken = now();
	while (!ret) {
		ret = end_jobs(s);
		if (!ret)
			ret = take_frames(s);
		if (ret || (!s->num_flight && (interrupted() ||
					       (s->opt->frames && s->frames >= s->opt->frames))))
			return ret;
		ret = wait_events(s);
	}
	return ret;
}

static int open_job(struct stream *s)
{
	int ret = npu_device_open(s->opt->device, NULL, &s->dev, &s->err);

	if (!ret)
		ret = npu_job_load(s->dev, s->opt->model, 0, &s->job, &s->err);
	if (!ret)
		ret = npu_queue_create(s->dev, NULL, &s->queue, &s->err);
	if (ret)
		return ret;
	s->image = (struct npu_image_info)NPU_INIT(s->image);
	if (npu_job_image(s->job, 0, 0, &s->image))
		return npu_error_set(&s->err, -EINVAL,
				     "%s takes no camera's frame: compile it with npu-compile --input-format",
				     s->opt->model);
	return 0;
}

static int open_all(struct stream *s)
{
	struct format want;
	unsigned int i;
	int ret = open_job(s);

	want = (struct format){ s->image.fourcc, s->image.width, s->image.height };
	if (!ret)
		ret = camera_open(&s->cam, s->opt, &want, &s->err);
	if (!ret)
		ret = camera_allocate(&s->cam, s->opt, &s->err);
	if (!ret)
		ret = stream_bind(s);
	for (i = 0; i < s->cam.num_buffers && !ret; i++)
		ret = camera_queue(&s->cam, i, &s->err);
	return ret ? ret : camera_start(&s->cam, &s->err);
}

/* Nothing of a frame's memory is given back while the device may look at it. */
static void close_all(struct stream *s)
{
	unsigned int i, k;

	if (s->queue && s->num_flight)
		npu_queue_cancel(s->queue, NULL);
	for (i = 0; i < MAX_BUFFERS; i++) {
		struct slot *slot = &s->slot[i];

		if (slot->fence)
			npu_fence_wait(slot->fence, NPU_FOREVER, NULL);
		npu_fence_put(slot->fence);
		npu_run_destroy(slot->run);
		for (k = 0; k < MAX_PLANES; k++)
			npu_buffer_put(slot->buf[k]);
	}
	camera_close(&s->cam);
	npu_queue_destroy(s->queue);
	npu_job_unload(s->job);
	npu_device_close(s->dev);
}

int stream_run(struct stream *s)
{
	int ret;

	camera_init(&s->cam);
	s->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->stats = stats_new();
	if (s->done < 0 || !s->stats)
		ret = npu_error_set(&s->err, -ENOMEM, "no memory, or no descriptor");
	else
		ret = interrupt_init(&s->err);
	if (!ret)
		ret = open_all(s);
	if (!ret) {
		ret = loop(s);
		camera_stop(&s->cam);
	}
	if (!ret)
		ret = report_summary(s);
	close_all(s);
	stats_free(s->stats);
	if (s->done >= 0)
		close(s->done);
	return ret ? fail("%s", s->err.text) : 0;
}
