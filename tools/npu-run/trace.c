// SPDX-License-Identifier: MIT
/*
 * --trace: a run as trace events (the JSON that Perfetto and chrome://tracing open). One track is
 * the program that submits and waits, one the queue's work on the device: the job, in it the layers
 * of the model, in these the instructions. Steps on the host have a track of their own. Two
 * counters show how fast MACs and bytes go.
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "npu_isa_desc.h"
#include "run.h"
#include "tools/common/file.h"

/* Tracks; the trace calls them threads. */
enum { TRACK_PROGRAM = 1, TRACK_QUEUE, TRACK_HOST };

static const char *const track_names[] = {
	[TRACK_PROGRAM] = "program: submit and wait",
	[TRACK_QUEUE] = "queue 0: jobs, layers, instructions",
	[TRACK_HOST] = "steps on the host",
};

struct trace {
	struct session *s;
	cJSON *events;
	uint64_t zero;			/* CLOCK_MONOTONIC at the first submit */
	unsigned int program;
	unsigned int run;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + ts.tv_nsec;
}

static cJSON *event(struct trace *t, const char *phase, const char *name, int track)
{
	cJSON *e = cJSON_CreateObject();

	cJSON_AddStringToObject(e, "name", name);
	cJSON_AddStringToObject(e, "ph", phase);
	cJSON_AddNumberToObject(e, "pid", 1);
	cJSON_AddNumberToObject(e, "tid", track);
	cJSON_AddItemToArray(t->events, e);
	return e;
}

/* Microseconds from the beginning of the trace. */
static double micros(const struct trace *t, uint64_t ns)
{
	return ns > t->zero ? (double)(ns - t->zero) / 1e3 : 0;
}

/* From @start on for @ns; returns the object for arguments. */
static cJSON *slice(struct trace *t, const char *name, const char *category, int track,
		    uint64_t start, uint64_t ns)
{
	cJSON *e = event(t, "X", name, track);

	cJSON_AddStringToObject(e, "cat", category);
	cJSON_AddNumberToObject(e, "ts", micros(t, start));
	cJSON_AddNumberToObject(e, "dur", (double)ns / 1e3);
	return cJSON_AddObjectToObject(e, "args");
}

static void counter(struct trace *t, const char *name, uint64_t at, double value)
{
	cJSON *e = event(t, "C", name, TRACK_QUEUE);

	cJSON_AddNumberToObject(e, "ts", micros(t, at));
	cJSON_AddNumberToObject(cJSON_AddObjectToObject(e, "args"), "value", value);
}

static void name_tracks(struct trace *t)
{
	cJSON *e = event(t, "M", "process_name", 0);
	char text[512];
	int track;

	snprintf(text, sizeof(text), "npu-run %.400s", t->s->opt->model);
	cJSON_AddStringToObject(cJSON_AddObjectToObject(e, "args"), "name", text);
	for (track = TRACK_PROGRAM; track <= TRACK_HOST; track++) {
		e = event(t, "M", "thread_name", track);
		cJSON_AddStringToObject(cJSON_AddObjectToObject(e, "args"), "name",
					track_names[track]);
		e = event(t, "M", "thread_sort_index", track);
		cJSON_AddNumberToObject(cJSON_AddObjectToObject(e, "args"), "sort_index", track);
	}
}

static void add_work(cJSON *args, uint64_t macs, uint64_t bytes, uint64_t ns)
{
	cJSON_AddNumberToObject(args, "macs", macs);
	cJSON_AddNumberToObject(args, "bytes", bytes);
	if (!ns)
		return;
	cJSON_AddNumberToObject(args, "gmacs_per_s", (double)macs / ns);
	cJSON_AddNumberToObject(args, "gbytes_per_s", (double)bytes / ns);
}

static void add_debug(const struct trace *t, cJSON *args, uint32_t tag)
{
	struct npu_debug_info debug = NPU_INIT(debug);

	if (npu_job_debug(t->s->job, t->program, tag, &debug))
		return;
	cJSON_AddStringToObject(args, "node", debug.node);
	cJSON_AddStringToObject(args, "op", debug.op);
	cJSON_AddStringToObject(args, "tensor", debug.tensor);
}

/* What is no opcode is a step on the host. */
static bool is_host(const struct npu_insn_profile *rec)
{
	return rec->opcode >= 256;
}

static void add_insn(struct trace *t, const struct npu_insn_profile *rec, uint64_t zero)
{
	const struct npu_op_desc *desc = is_host(rec) ? NULL : npu_op_desc(rec->opcode);
	uint64_t start = zero + rec->start;
	struct npu_debug_info debug = { .size = sizeof(debug), .op = "host" };
	cJSON *args;

	npu_job_debug(t->s->job, t->program, rec->tag, &debug);
	args = slice(t, desc ? desc->mnemonic : debug.op, desc ? "instruction" : "host",
		     is_host(rec) ? TRACK_HOST : TRACK_QUEUE, start, rec->ns);
	add_debug(t, args, rec->tag);
	if (desc)
		cJSON_AddStringToObject(args, "opcode", desc->mnemonic);
	cJSON_AddNumberToObject(args, "instruction", rec->insn);
	cJSON_AddNumberToObject(args, "offset", rec->offset);
	add_work(args, rec->macs, rec->bytes, rec->ns);
	if (!rec->ns)
		return;
	counter(t, "GMAC/s", start, (double)rec->macs / rec->ns);
	counter(t, "GB/s", start, (double)rec->bytes / rec->ns);
}

/* The name of the model node that records @i stands for, "" when there is none. */
static const char *node_of(const struct trace *t, const struct npu_insn_profile *rec)
{
	struct npu_debug_info debug = NPU_INIT(debug);

	return npu_job_debug(t->s->job, t->program, rec->tag, &debug) ? "" : debug.node;
}

/* Instructions in a row of one node: a layer. Returns where the next one begins. */
static size_t add_layer(struct trace *t, const struct npu_insn_profile *rec, size_t n, size_t i,
			uint64_t zero)
{
	uint64_t macs = 0, bytes = 0, from = rec[i].start, end = from;
	const char *node = node_of(t, &rec[i]);
	cJSON *args;
	size_t k;

	for (k = i; k < n && rec[k].opcode && !is_host(&rec[k]); k++) {
		if (strcmp(node_of(t, &rec[k]), node))
			break;
		macs += rec[k].macs;
		bytes += rec[k].bytes;
		end = rec[k].start + rec[k].ns;
	}
	if (k == i) {
		if (rec[i].opcode)
			add_insn(t, &rec[i], zero);
		return i + 1;
	}
	if (*node) {
		args = slice(t, node, "layer", TRACK_QUEUE, zero + from, end - from);
		cJSON_AddNumberToObject(args, "instructions", k - i);
		add_work(args, macs, bytes, end - from);
	}
	for (; i < k; i++)
		add_insn(t, &rec[i], zero);
	return k;
}

static void add_job(struct trace *t, const struct npu_fence_times *times,
		    const struct npu_insn_profile *rec, size_t n)
{
	uint64_t last = 0;
	cJSON *args;
	size_t i;

	for (i = 0; i < n; i++)
		if (rec[i].start + rec[i].ns > last)
			last = rec[i].start + rec[i].ns;
	/* The clock of the records begins with the first instruction, a little after the job. */
	if (times->finished - times->started > last)
		last = times->finished - times->started;
	args = slice(t, t->s->opt->model, "job", TRACK_QUEUE, times->started, last);
	cJSON_AddNumberToObject(args, "run", t->run);
	cJSON_AddNumberToObject(args, "slices", times->slices);
	cJSON_AddNumberToObject(args, "busy_us", (double)times->busy / 1e3);
	for (i = 0; i < n; )
		i = add_layer(t, rec, n, i, times->started);
	counter(t, "GMAC/s", times->started + last, 0);
	counter(t, "GB/s", times->started + last, 0);
}

static int trace_submit(struct trace *t)
{
	struct npu_submit_options opt = { .size = sizeof(opt), .flags = NPU_SUBMIT_PROFILE };
	struct npu_fence_times times = NPU_INIT(times);
	const struct npu_insn_profile *rec;
	struct session *s = t->s;
	struct npu_fence *fence;
	uint64_t start = now_ns(), submitted;
	size_t n;
	int ret;

	if (!t->run)
		t->zero = start;
	if (npu_queue_submit(s->queue, s->run, &opt, &fence, &s->err))
		return fail("%s", s->err.text);
	submitted = now_ns();
	ret = npu_fence_wait(fence, NPU_FOREVER, &s->err);
	slice(t, "submit", "program", TRACK_PROGRAM, start, submitted - start);
	slice(t, "wait", "program", TRACK_PROGRAM, submitted, now_ns() - submitted);
	if (ret)
		ret = fail("%s", s->err.text);
	else if (npu_fence_times(fence, &times) || npu_fence_profile(fence, &rec, &n))
		ret = fail("this device records no profile");
	else
		add_job(t, &times, rec, n);
	npu_fence_put(fence);
	return ret;
}

static int trace_write(const struct options *opt, const cJSON *root)
{
	char *text = cJSON_PrintUnformatted(root);
	struct npu_error err;
	int ret = 0;

	if (!text)
		return fail("no memory for the trace");
	if (npu_file_write(opt->trace, text, strlen(text), &err))
		ret = fail("--trace: %s", err.text);
	free(text);
	return ret;
}

int trace_run(struct session *s)
{
	struct trace t = { .s = s };
	cJSON *root = cJSON_CreateObject();
	int ret;

	cJSON_AddStringToObject(root, "displayTimeUnit", "ns");
	t.events = cJSON_AddArrayToObject(root, "traceEvents");
	if (!t.events) {
		cJSON_Delete(root);
		return fail("no memory for the trace");
	}
	/* The first run touches its memory for the first time, which is not what is looked for. */
	ret = session_submit(s, 0, NULL);
	npu_run_program(s->run, &t.program, NULL, &s->err);
	name_tracks(&t);
	for (t.run = 0; t.run < s->opt->trace_runs && !ret; t.run++)
		ret = trace_submit(&t);
	if (!ret)
		ret = trace_write(s->opt, root);
	if (!ret)
		fprintf(stderr,
			"npu-run: %u run%s in %s; open it in Perfetto (ui.perfetto.dev) or chrome://tracing\n",
			s->opt->trace_runs, s->opt->trace_runs == 1 ? "" : "s", s->opt->trace);
	cJSON_Delete(root);
	return ret;
}
