// SPDX-License-Identifier: MIT
/*
 * A job file may ask for a host operator that takes minutes or millennia. Each of these does, and
 * must end soon after the job is cancelled.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "host/dense.h"
#include "tap.h"

#define MAX_ARGS	6
#define D(...)		{ __VA_ARGS__ }

struct shape {
	uint32_t rank;
	int64_t dim[4];
};

struct slow {
	const char *op;
	struct shape in[MAX_ARGS], out;		/* rank 0: the end */
	uint32_t index;				/* input of i64 that are 0, 0: none */
	int64_t first;				/* ... but for its first one */
	bool sorts;				/* the other input is in no order */
	const char *equation;
	uint32_t num_ints;
	const char *ints_name;
	int64_t ints[2];
};

static const struct slow slow[] = {
	{ .op = "AveragePool", .in = { { 4, D(1, 1, 4, 4) } }, .out = { 4, D(1, 1, 1, 1) },
	  .num_ints = 2, .ints_name = "kernel_shape", .ints = { 1 << 24, 1 << 24 } },
	{ .op = "LpPool", .in = { { 4, D(1, 1, 4, 4) } }, .out = { 4, D(1, 1, 1, 1) },
	  .num_ints = 2, .ints_name = "kernel_shape", .ints = { 1 << 24, 1 << 24 } },
	{ .op = "Einsum", .in = { { 1, D(1000) }, { 1, D(1000) }, { 1, D(1000) }, { 1, D(1000) },
	  { 1, D(1000) } }, .out = { 1, D(1000) }, .equation = "a,b,c,d,e->e" },
	{ .op = "DFT", .in = { { 3, D(1, 1 << 20, 1) } }, .out = { 3, D(1, 1 << 20, 2) } },
	{ .op = "Det", .in = { { 3, D(20, 3000, 3000) } }, .out = { 1, D(20) } },
	{ .op = "RoiAlign", .in = { { 4, D(1, 8, 64, 64) }, { 2, D(4, 4) }, { 1, D(4) } },
	  .out = { 4, D(4, 8, 64, 64) },
	  .index = 2, .num_ints = 1, .ints_name = "sampling_ratio", .ints = { 4096 } },
	{ .op = "Conv", .in = { { 4, D(1, 256, 128, 128) }, { 4, D(256, 256, 15, 15) } },
	  .out = { 4, D(1, 256, 114, 114) } },
	{ .op = "ConvTranspose", .in = { { 4, D(1, 256, 114, 114) }, { 4, D(256, 256, 15, 15) } },
	  .out = { 4, D(1, 256, 128, 128) } },
	{ .op = "RNN",
	  .in = { { 3, D(512, 64, 1024) }, { 3, D(1, 1024, 1024) }, { 3, D(1, 1024, 1024) } },
	  .out = { 4, D(512, 1, 64, 1024) } },
	{ .op = "GRU",
	  .in = { { 3, D(512, 64, 512) }, { 3, D(1, 1536, 512) }, { 3, D(1, 1536, 512) } },
	  .out = { 4, D(512, 1, 64, 512) } },
	{ .op = "LSTM",
	  .in = { { 3, D(512, 64, 512) }, { 3, D(1, 2048, 512) }, { 3, D(1, 2048, 512) } },
	  .out = { 4, D(512, 1, 64, 512) } },
	{ .op = "NonMaxSuppression",
	  .in = { { 3, D(1, 50000, 4) }, { 3, D(1, 100, 50000) }, { 1, D(1) } },
	  .out = { 2, D(5000000, 3) }, .index = 2, .first = 50000 },
	{ .op = "TopK", .in = { { 1, D(1 << 24) }, { 1, D(1) } }, .out = { 1, D(5) }, .index = 1,
	  .first = 5, .sorts = true },
	{ .op = "Unique", .in = { { 1, D(1 << 24) } }, .out = { 1, D(1 << 24) }, .sorts = true },
};

struct work {
	struct npu_host_call call;
	struct npu_host_tensor in[MAX_ARGS], out[2];
	struct npu_host_attr attr[2];
	atomic_bool stop;
	struct npu_error err;
	int ret;
};

static bool make_tensor(struct npu_host_tensor *t, const struct shape *s, uint32_t dtype)
{
	size_t size = npu_host_dtype_size(dtype);
	int64_t n;

	*t = (struct npu_host_tensor){
		.name = "t", .dtype = dtype, .rank = s->rank, .present = true
	};
	memcpy(t->dim, s->dim, sizeof(s->dim));
	n = npu_host_elems(t);
	return !posix_memalign(&t->data, 64, (size_t)n * size);
}

/* Boxes that do not touch; elsewhere any numbers will do. */
static void fill(struct npu_host_tensor *t, bool mixed)
{
	int64_t i, k, box;

	for (i = 0; i < npu_host_elems(t); i++) {
		k = mixed ? (int64_t)((uint32_t)i * 2654435761u >> 4) : i;
		box = k / 4 * 10 + k % 4 / 2;
		npu_host_set(t, i, (double)box / (1 << 22));
	}
}

static bool make_work(struct work *w, const struct slow *s)
{
	bool nms = !strcmp(s->op, "NonMaxSuppression"), topk = !strcmp(s->op, "TopK"), room = true;
	uint32_t i;

	memset(w, 0, sizeof(*w));
	w->call = (struct npu_host_call){ .op = npu_host_op_find("", s->op), .opset = 17,
					  .num_out = topk ? 2 : 1, .node = s->op, .in = w->in,
					  .out = w->out, .attr = w->attr,
					  .stop = &w->stop };
	for (i = 0; i < MAX_ARGS && s->in[i].rank && room; i++) {
		bool index = s->index && i == s->index;

		room = make_tensor(&w->in[i], &s->in[i], index ? NPU_I64 : NPU_F32);
		if (room && index) {
			npu_host_clear(&w->in[i]);
			npu_host_set_int(&w->in[i], 0, s->first);
		} else if (room) {
			fill(&w->in[i], s->sorts);
		}
	}
	w->call.num_in = i;
	room = room && make_tensor(&w->out[0], &s->out, nms ? NPU_I64 : NPU_F32);
	if (topk)
		room = room && make_tensor(&w->out[1], &s->out, NPU_I64);
	if (s->equation)
		w->attr[w->call.num_attr++] = (struct npu_host_attr){
			.name = "equation", .kind = NPU_HOST_STRING, .count = 1, .s = s->equation };
	if (s->num_ints)
		w->attr[w->call.num_attr++] = (struct npu_host_attr){
			.name = s->ints_name,
			.kind = s->num_ints == 1 ? NPU_HOST_INT : NPU_HOST_INTS,
			.count = s->num_ints, .i = s->ints[0], .ints = s->ints
		};
	return room;
}

static void *run(void *arg)
{
	struct work *w = arg;

	w->ret = w->call.op->run(&w->call, &w->err);
	return NULL;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void try_one(const struct slow *s)
{
	struct work w;
	pthread_t thread;
	double start;
	uint32_t i;

	if (!make_work(&w, s)) {
		tap_skip(s->op, "no memory");
	} else {
		if (pthread_create(&thread, NULL, run, &w))
			abort();
		usleep(300000);
		start = now();
		atomic_store(&w.stop, true);
		pthread_join(thread, NULL);
		tap_ok(w.ret == -ECANCELED && strstr(w.err.text, "cancelled"),
		       "%s ends when cancelled: %d, %s", s->op, w.ret, w.err.text);
		/*
		 * Much more than it takes: sanitizers and loaded machines are slow. Sorting to the
		 * end takes seconds, the others much longer.
		 */
		tap_ok(now() - start < (s->sorts ? 1 : 5), "%s: after %.3f s", s->op,
		       now() - start);
	}
	for (i = 0; i < w.call.num_in; i++)
		free(w.in[i].data);
	free(w.out[0].data);
	free(w.out[1].data);
}

int main(void)
{
	size_t i;

	/* What is not stopped would hang. */
	alarm(240);
	for (i = 0; i < sizeof(slow) / sizeof(slow[0]); i++)
		try_one(&slow[i]);
	return tap_done();
}
