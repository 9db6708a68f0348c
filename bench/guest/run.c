// SPDX-License-Identifier: MIT
/* Job files and a large copy by libnpu, on any device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "guest_bench.h"
#include "npu.h"
#include "npu_kernels.h"

#define STREAM_BYTES	(64u << 20)
#define STREAM_PARTS	16u	/* instructions */

struct bench {
	struct npu_device *dev;
	struct npu_queue *queue;
	struct npu_error err;
	/* ns, of each run of a round: all, until it began, on the engine, and after it had ended */
	uint64_t *total, *before, *busy, *after;
};

static void bench_close(struct bench *b)
{
	npu_queue_destroy(b->queue);
	npu_device_close(b->dev);
	free(b->total);
	free(b->before);
	free(b->busy);
	free(b->after);
}

static int bench_open(struct bench *b, const char *uri, unsigned int count)
{
	memset(b, 0, sizeof(*b));
	b->total = calloc(count, sizeof(*b->total));
	b->before = calloc(count, sizeof(*b->before));
	b->busy = calloc(count, sizeof(*b->busy));
	b->after = calloc(count, sizeof(*b->after));
	if (!b->total || !b->before || !b->busy || !b->after)
		return fail("no memory");
	if (npu_device_open(uri, NULL, &b->dev, &b->err) ||
	    npu_queue_create(b->dev, NULL, &b->queue, &b->err))
		return fail("%s", b->err.text);
	return 0;
}

/* Wait for @fence, which was submitted at @begin; @i is its place in the round. */
static int bench_wait(struct bench *b, struct npu_fence *fence, uint64_t begin, unsigned int i)
{
	struct npu_fence_times times = NPU_INIT(times);
	int ret = npu_fence_wait(fence, npu_deadline_after(60000000000ull), &b->err);

	b->total[i] = now_ns() - begin;
	if (!ret)
		ret = npu_fence_times(fence, &times);
	b->before[i] = times.started > begin ? times.started - begin : 0;
	b->busy[i] = times.busy;
	b->after[i] = begin + b->total[i] > times.finished ? begin + b->total[i] - times.finished :
							     0;
	npu_fence_put(fence);
	return ret ? fail("%s", b->err.text) : 0;
}

/* A line of what a round took, and one of the same in process. */
static int bench_print(struct bench *b, const char *what, const char *uri, unsigned int count)
{
	static char answer[HOST_LINE];
	char request[512];

	printf("{\"what\":\"%s\",\"where\":\"%s\",", what,
	       strncmp(uri, "sim", 3) ? "guest" : "process");
	print_us("total", b->total, count);
	printf(",");
	print_us("before", b->before, count);
	printf(",");
	print_us("busy", b->busy, count);
	printf(",");
	print_us("after", b->after, count);
	printf("}\n");
	if (!strncmp(uri, "sim", 3))
		return 0;
	snprintf(request, sizeof(request), "sim %s %u", what, count);
	if (host(request, answer))
		return 1;
	printf("%s\n", answer);
	return 0;
}

static int set_shapes(struct npu_job *job, struct npu_run *run, struct npu_error *err)
{
	struct npu_tensor_info t = NPU_INIT(t);
	unsigned int i;

	for (i = 0; !npu_job_tensor(job, 0, i, &t); i++)
		if (t.role == NPU_TENSOR_INPUT &&
		    npu_run_set_shape(run, t.name, t.rank, t.max_dim, err))
			return 1;
	return 0;
}

static int model_round(struct bench *b, struct npu_run *run, unsigned int count)
{
	struct npu_fence *fence;
	uint64_t begin;
	unsigned int i;

	for (i = 0; i < count; i++) {
		begin = now_ns();
		if (npu_queue_submit(b->queue, run, NULL, &fence, &b->err))
			return fail("%s", b->err.text);
		if (bench_wait(b, fence, begin, i))
			return 1;
	}
	return 0;
}

static int model_rounds(struct bench *b, struct npu_run *run, const char *uri, const char *path,
			unsigned int rounds, unsigned int count)
{
	const char *slash = strrchr(path, '/');
	char what[256];
	unsigned int i;

	snprintf(what, sizeof(what), "model %s", slash ? slash + 1 : path);
	/* The first one makes buffers. */
	if (model_round(b, run, 1))
		return 1;
	for (i = 0; i < rounds; i++)
		if (model_round(b, run, count) || bench_print(b, what, uri, count))
			return 1;
	return 0;
}

int bench_model(const char *uri, const char *path, unsigned int rounds, unsigned int count)
{
	struct npu_run *run = NULL;
	struct npu_job *job = NULL;
	struct bench b;
	int ret = bench_open(&b, uri, count);

	if (ret)
		goto out;
	ret = 1;
	if (npu_job_load(b.dev, path, 0, &job, &b.err) || npu_run_create(job, &run, &b.err) ||
	    set_shapes(job, run, &b.err))
		fail("%s", b.err.text);
	else
		ret = model_rounds(&b, run, uri, path, rounds, count);
	npu_run_destroy(run);
	npu_job_unload(job);
out:
	bench_close(&b);
	return ret;
}

/* A copy of one buffer to another, in parts as a compiler makes them. */
static int copy_stream(struct npu_stream_builder *s)
{
	const uint32_t bytes = STREAM_BYTES / STREAM_PARTS;
	const uint32_t dim[2] = { bytes / 4096, 4096 / sizeof(float) };
	struct npu_tensor out, in;
	struct npu_copy_args args = { .out = &out, .in = &in };
	unsigned int i;

	for (i = 0; i < STREAM_PARTS; i++) {
		npu_tensor_fixed(&out, 0, i * bytes, NPU_F32, 2, dim);
		npu_tensor_fixed(&in, 1, i * bytes, NPU_F32, 2, dim);
		if (npu_emit_copy(s, &args))
			return fail("%s", npu_stream_error(s));
	}
	return 0;
}

static int stream_round(struct bench *b, const struct npu_stream_submit *submit, unsigned int count)
{
	struct npu_fence *fence;
	uint64_t begin;
	unsigned int i;

	for (i = 0; i < count; i++) {
		begin = now_ns();
		if (npu_queue_submit_stream(b->queue, submit, NULL, &fence, &b->err))
			return fail("%s", b->err.text);
		if (bench_wait(b, fence, begin, i))
			return 1;
	}
	return 0;
}

/* The device's mappings of guest memory, for bench/guest.js to subtract. */
static int print_counters(const char *when, const char *uri)
{
	static char answer[HOST_LINE];

	if (!strncmp(uri, "sim", 3))
		return 0;
	if (host("counters", answer))
		return 1;
	printf("{\"what\":\"counters\",\"when\":\"%s\",\"counters\":%s}\n", when, answer);
	return 0;
}

static int stream_rounds(struct bench *b, struct npu_stream_submit *submit, const char *uri,
			 unsigned int rounds, unsigned int count)
{
	struct npu_stream_region regions[2] = {
		{ .bytes = STREAM_BYTES, .access = NPU_ACCESS_WRITE },
		{ .bytes = STREAM_BYTES, .access = NPU_ACCESS_READ },
	};
	unsigned int i;
	void *bytes;
	int ret = 1;

	if (print_counters("before", uri))
		return 1;
	if (npu_buffer_create(b->dev, STREAM_BYTES, 0, &regions[0].buf, &b->err))
		return fail("%s", b->err.text);
	if (print_counters("after", uri))
		goto out;
	if (npu_buffer_create(b->dev, STREAM_BYTES, 0, &regions[1].buf, &b->err)) {
		fail("%s", b->err.text);
		goto out;
	}
	/* Memory that nobody has written may be one page of zeros, which is read from a cache. */
	for (i = 0; i < 2; i++) {
		if (npu_buffer_map(regions[i].buf, &bytes, &b->err)) {
			fail("%s", b->err.text);
			goto out_second;
		}
		memset(bytes, 1 + i, STREAM_BYTES);
	}
	submit->regions = regions;
	submit->num_regions = 2;
	ret = stream_round(b, submit, 1);
	for (i = 0; !ret && i < rounds; i++)
		ret = stream_round(b, submit, count) || bench_print(b, "stream", uri, count);
out_second:
	npu_buffer_put(regions[1].buf);
out:
	npu_buffer_put(regions[0].buf);
	return ret;
}

int bench_stream(const char *uri, unsigned int rounds, unsigned int count)
{
	struct npu_stream_submit submit = NPU_INIT(submit);
	struct npu_stream_builder *s = NULL;
	struct bench b;
	int ret = bench_open(&b, uri, count);

	if (ret)
		goto out;
	ret = 1;
	if (npu_stream_create(2, &s))
		fail("no memory");
	else if (!copy_stream(s) && !npu_stream_finish(s, &submit.stream, &submit.stream_size))
		ret = stream_rounds(&b, &submit, uri, rounds, count);
	npu_stream_destroy(s);
out:
	bench_close(&b);
	return ret;
}
