// SPDX-License-Identifier: MIT
/*
 * Two models on one frame: a detector says where, a job picks the box, a second model is fed with
 * that part of the same frame. The box is handed over on the device: three jobs of three frames are
 * submitted on two queues before the first has begun, nobody waits in between, and what the second
 * model sees is the formula's cut of the frame at the box that the frame was made for.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/onnx_lines.h"
#include "frame_case.h"
#include "npu.h"
#include "npu_compiler.h"
#include "tap.h"

enum { DETECT, SELECT, REFINE, NUM_STAGES };

#define FRAME_W		320
#define FRAME_H		240
#define GRID		4		/* cells of a frame each way */
#define CELLS		(GRID * GRID)
#define OUT_W		20
#define OUT_H		24
#define FLIGHT		3

static struct npu_device *dev;
static struct npu_queue *queue[2];
static struct npu_job *job[NUM_STAGES];
static struct npu_error err;
static struct frame_spec spec;
static float table[CELLS][4];		/* a box for each cell */

/* ---- a pool of threads that does nothing while the gate is closed ---------------------------- */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;	/* gate_closed, gate_reached */
static pthread_cond_t gate_cond = PTHREAD_COND_INITIALIZER;
static bool gate_closed, gate_reached;

static void gated_for(void *ctx, unsigned int n, void (*fn)(void *arg, unsigned int i), void *arg)
{
	(void)ctx;
	pthread_mutex_lock(&gate);
	gate_reached = true;
	pthread_cond_broadcast(&gate_cond);
	while (gate_closed)
		pthread_cond_wait(&gate_cond, &gate);
	pthread_mutex_unlock(&gate);
	for (unsigned int i = 0; i < n; i++)
		fn(arg, i);
}

static void set_gate(bool closed)
{
	pthread_mutex_lock(&gate);
	gate_closed = closed;
	gate_reached = false;
	pthread_cond_broadcast(&gate_cond);
	pthread_mutex_unlock(&gate);
}

static void await_gate(void)
{
	pthread_mutex_lock(&gate);
	while (!gate_reached)
		pthread_cond_wait(&gate_cond, &gate);
	pthread_mutex_unlock(&gate);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* How bright each cell is. */
static uint8_t *detector(size_t *size)
{
	struct ob b;

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 4, OB_DIMS(1, 3, 128, 128));
	ob_node(&b, "p: p = AveragePool(x) kernel_shape=[32,32] strides=[32,32]");
	ob_node(&b, "m: scores = ReduceMean(p) axes=[1]");
	ob_output(&b, "scores");
	return ob_finish(&b, size);
}

/* The box of the brightest. */
static uint8_t *selector(size_t *size)
{
	struct ob b;

	ob_init(&b, 13);
	ob_input(&b, "scores", 1, 4, OB_DIMS(1, 1, GRID, GRID));
	ob_const(&b, "table", 1, 2, OB_DIMS(CELLS, 4), table, sizeof(table));
	ob_ints(&b, "flat", 2, OB_DIMS(1, CELLS));
	ob_node(&b, "r: f = Reshape(scores, flat)");
	ob_node(&b, "a: best = ArgMax(f) axis=1 keepdims=0");
	ob_node(&b, "g: box = Gather(table, best) axis=0");
	ob_output(&b, "box");
	return ob_finish(&b, size);
}

/* What it is given, negated. */
static uint8_t *refiner(size_t *size)
{
	struct ob b;

	ob_init(&b, 13);
	ob_input(&b, "x", 1, 4, OB_DIMS(1, 3, OUT_H, OUT_W));
	ob_node(&b, "n: y = Neg(x)");
	ob_output(&b, "y");
	return ob_finish(&b, size);
}

static bool load_job(int stage, uint8_t *(*make)(size_t *size))
{
	struct npu_compile_result *r = NULL;
	struct npu_compile_options o;
	char text[300];
	const char *format = text;
	size_t size;
	uint8_t *model = make(&size);
	const void *data;
	int ret = -EINVAL;

	spec.boxed = stage == REFINE;
	frame_text(&spec, text, sizeof(text));
	npu_compile_options_init(&o);
	o.precision = NPU_PRECISION_F32;
	o.fail_on_host = true;
	o.input_formats = &format;
	o.num_input_formats = stage == SELECT ? 0 : 1;
	npu_compile_onnx(model, size, "m.onnx", &o, &r);
	data = r ? npu_compile_job(r, &size) : NULL;
	if (data)
		ret = npu_job_load_memory(dev, data, size, "m.npu", 0, &job[stage], &err);
	else
		tap_diag("%s", r ? npu_compile_messages(r) : "no result");
	npu_compile_result_free(r);
	free(model);
	return !ret;
}

static bool setup(void)
{
	struct npu_device_options opt = NPU_INIT(opt);

	opt.threads = 2;
	opt.parallel_for = gated_for;
	frame_default(&spec, "nv12", FRAME_W, FRAME_H);
	for (int i = 0; i < CELLS; i++) {
		const int top = i / GRID * FRAME_H / GRID, left = i % GRID * FRAME_W / GRID;
		float y = (float)top, x = (float)left;

		/* those of the last row and column reach out of the frame */
		table[i][0] = y + 0.25f * (float)i;
		table[i][1] = x - 3.5f;
		table[i][2] = y + 71;
		table[i][3] = x + 90.125f;
	}
	return !npu_device_open("sim", &opt, &dev, &err) &&
	       !npu_queue_create(dev, NULL, &queue[0], &err) &&
	       !npu_queue_create(dev, NULL, &queue[1], &err) && load_job(DETECT, detector) &&
	       load_job(SELECT, selector) && load_job(REFINE, refiner);
}

/* ---- frames ---------------------------------------------------------------------------------- */

struct slot {
	struct npu_buffer *frame;
	struct npu_run *run[NUM_STAGES];
	struct npu_fence *fence[NUM_STAGES];
	int cell;			/* that is bright */
};

static bool bind_output(struct slot *s, int from, const char *out, int to, const char *in)
{
	struct npu_buffer *buf;
	uint64_t offset;

	return !npu_run_buffer(s->run[from], out, &buf, &offset, &err) &&
	       !npu_run_bind(s->run[to], in, buf, offset, &err);
}

static bool open_slot(struct slot *s)
{
	memset(s, 0, sizeof(*s));
	if (npu_buffer_create(dev, frame_bytes(&spec), 0, &s->frame, &err))
		return false;
	for (int i = 0; i < NUM_STAGES; i++)
		if (npu_run_create(job[i], &s->run[i], &err))
			return false;
	return !npu_run_bind_image(s->run[DETECT], "x", s->frame, 0, FRAME_W, &err) &&
	       !npu_run_bind_image(s->run[REFINE], "x", s->frame, 0, FRAME_W, &err) &&
	       bind_output(s, DETECT, "scores", SELECT, "scores") &&
	       bind_output(s, SELECT, "box", REFINE, "x.box");
}

static void drop_fences(struct slot *s)
{
	for (int i = 0; i < NUM_STAGES; i++) {
		npu_fence_put(s->fence[i]);
		s->fence[i] = NULL;
	}
}

static void close_slot(struct slot *s)
{
	drop_fences(s);
	for (int i = 0; i < NUM_STAGES; i++)
		npu_run_destroy(s->run[i]);
	npu_buffer_put(s->frame);
}

/* Dark noise, and bright noise in one cell. */
static void draw_frame(struct slot *s, int cell, uint32_t seed)
{
	void *map;
	uint8_t *p;

	s->cell = cell;
	if (npu_buffer_map(s->frame, &map, &err))
		abort();
	p = map;
	frame_noise(p, frame_bytes(&spec), seed);
	for (int y = 0; y < FRAME_H; y++)
		for (int x = 0; x < FRAME_W; x++) {
			bool bright = y * GRID / FRAME_H * GRID + x * GRID / FRAME_W == cell;
			uint8_t *v = &p[y * FRAME_W + x];

			*v = (uint8_t)(16 + *v / 8 + (bright ? 180 : 0));
		}
}

static bool submit(struct slot *s)
{
	for (int i = 0; i < NUM_STAGES; i++) {
		struct npu_submit_options opt = NPU_INIT(opt);

		opt.wait = i ? &s->fence[i - 1] : NULL;
		opt.num_wait = i ? 1 : 0;
		if (npu_queue_submit(queue[i == REFINE], s->run[i], &opt, &s->fence[i], &err)) {
			tap_diag("%s", err.text);
			return false;
		}
	}
	return true;
}

/* The last fence only is waited for; then the bits are the formula's. */
static bool check_slot(struct slot *s)
{
	static float y[3 * OUT_H * OUT_W], want[OUT_H * OUT_W * 3];
	void *frame;

	if (npu_fence_wait(s->fence[REFINE], NPU_FOREVER, &err) ||
	    npu_run_read(s->run[REFINE], "y", y, sizeof(y), &err) ||
	    npu_buffer_map(s->frame, &frame, &err)) {
		tap_diag("%s", err.text);
		return false;
	}
	frame_cut(&spec, frame, table[s->cell], OUT_H, OUT_W, false, want);
	for (int i = 0; i < OUT_H * OUT_W * 3; i++)
		if (y[i % 3 * OUT_H * OUT_W + i / 3] != -want[i]) {
			tap_diag("cell %d, at %d: %g, expected %g", s->cell, i,
				 (double)y[i % 3 * OUT_H * OUT_W + i / 3], (double)-want[i]);
			return false;
		}
	return true;
}

/* Each stage of a frame began when the one before had ended. */
static bool in_order(struct slot *s)
{
	struct npu_fence_times t[NUM_STAGES];
	bool good = true;

	for (int i = 0; i < NUM_STAGES; i++) {
		t[i] = (struct npu_fence_times)NPU_INIT(t[i]);
		good &= !npu_fence_times(s->fence[i], &t[i]);
		good &= !i || t[i].started >= t[i - 1].finished;
	}
	return good;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_gate(struct slot *slots)
{
	struct npu_fence_times first = NPU_INIT(first), t = NPU_INIT(t);
	int pending = 0, good = 0, ordered = 0, before = 0;

	set_gate(true);
	for (int i = 0; i < FLIGHT; i++) {
		draw_frame(&slots[i], (5 * i + 3) % CELLS, (uint32_t)i + 1);
		if (!tap_ok(submit(&slots[i]), "frame %d: three jobs are handed over", i))
			break;
		if (!i)
			await_gate();
	}
	for (int i = 0; i < FLIGHT; i++)
		for (int k = 0; k < NUM_STAGES; k++)
			pending += npu_fence_status(slots[i].fence[k]) == -EINPROGRESS;
	tap_ok(pending == FLIGHT * NUM_STAGES, "%d jobs are in flight while the first is held",
	       pending);
	set_gate(false);
	for (int i = 0; i < FLIGHT; i++) {
		good += check_slot(&slots[i]);
		ordered += in_order(&slots[i]);
	}
	tap_ok(good == FLIGHT, "%d of %d frames: the second model sees the detector's box", good,
	       FLIGHT);
	tap_ok(ordered == FLIGHT, "%d of %d frames: each stage began behind the one before",
	       ordered, FLIGHT);
	npu_fence_times(slots[0].fence[DETECT], &first);
	for (int i = 0; i < FLIGHT; i++)
		for (int k = 0; k < NUM_STAGES; k++)
			before += !npu_fence_times(slots[i].fence[k], &t) &&
				  t.submitted < first.finished;
	tap_ok(before == FLIGHT * NUM_STAGES, "%d jobs were submitted before the first was done",
	       before);
	for (int i = 0; i < FLIGHT; i++)
		drop_fences(&slots[i]);
}

/* A stream: each slot takes the next frame when its last one is done with. */
static void test_stream(struct slot *slots)
{
	int count = getenv("NPU_TEST_LONG") ? 3000 : 150, good = 0, ordered = 0;

	for (int i = 0; i < count + FLIGHT; i++) {
		struct slot *s = &slots[i % FLIGHT];

		if (i >= FLIGHT) {
			good += check_slot(s);
			ordered += in_order(s);
			drop_fences(s);
		}
		if (i < count) {
			draw_frame(s, (i * 7 + i / CELLS) % CELLS, (uint32_t)i + 9);
			submit(s);
		}
	}
	tap_ok(good == count && ordered == count, "%d of %d frames of a stream, %d in order", good,
	       count, ordered);
}

/* A detector that fails: nothing is made of an old box. */
static void test_failure(struct slot *s)
{
	set_gate(true);
	draw_frame(s, 1, 5);
	submit(s);
	await_gate();
	npu_fence_cancel(s->fence[DETECT]);
	set_gate(false);
	tap_ok(npu_fence_wait(s->fence[REFINE], NPU_FOREVER, &err) == -ECANCELED,
	       "with the detector the others are cancelled: %s", err.text);
	tap_ok(npu_fence_status(s->fence[SELECT]) == -ECANCELED, "the one between them, too");
	drop_fences(s);
	draw_frame(s, 2, 6);
	tap_ok(submit(s) && check_slot(s), "and the next frame is right again");
	drop_fences(s);
}

/* A box needs 16 bytes. */
static void test_binding(void)
{
	struct npu_buffer *small = NULL;
	struct slot s;

	tap_ok(open_slot(&s) && !npu_buffer_create(dev, 8, 0, &small, &err), "a slot");
	npu_run_bind(s.run[REFINE], "x.box", small, 0, &err);
	tap_ok(npu_queue_submit(queue[1], s.run[REFINE], NULL, NULL, &err) == -EINVAL &&
	       strstr(err.text, "x.box"), "a box's buffer that is too small: %s", err.text);
	npu_buffer_put(small);
	close_slot(&s);
}

int main(void)
{
	struct slot slots[FLIGHT];
	bool good = true;

	memset(slots, 0, sizeof(slots));
	if (!tap_ok(setup(), "three jobs, two queues %s", err.text))
		return tap_done();
	for (int i = 0; i < FLIGHT; i++)
		good &= open_slot(&slots[i]);
	if (tap_ok(good, "three slots %s", good ? "" : err.text)) {
		test_gate(slots);
		test_stream(slots);
		test_failure(&slots[0]);
		test_binding();
	}
	for (int i = 0; i < FLIGHT; i++)
		close_slot(&slots[i]);
	for (int i = 0; i < NUM_STAGES; i++)
		npu_job_unload(job[i]);
	npu_queue_destroy(queue[0]);
	npu_queue_destroy(queue[1]);
	npu_device_close(dev);
	return tap_done();
}
