// SPDX-License-Identifier: MIT
/* What came out, as lines of JSON, and figures. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pipeline.h"

static const char *const stage_names[NUM_STAGES] = { "detect", "select", "refine" };

/* Output @t of a run in memory of its own; NULL with the reason in p->err. */
static float *read_output(struct pipeline *p, struct npu_run *run, const struct npu_tensor_info *t,
			  size_t *count)
{
	size_t n = 1;
	float *data;

	for (uint32_t d = 0; d < t->rank; d++)
		n *= (size_t)t->max_dim[d];
	if (t->dtype != NPU_F32) {
		fail(&p->err, -EINVAL, "output '%s' is not f32", t->name);
		return NULL;
	}
	data = malloc(n * sizeof(*data));
	if (!data)
		fail(&p->err, -ENOMEM, "no memory for output '%s'", t->name);
	else if (!npu_run_read(run, t->name, data, n * sizeof(*data), &p->err))
		*count = n;
	else
		*count = 0;
	if (data && !*count) {
		free(data);
		data = NULL;
	}
	return data;
}

static int dump(struct pipeline *p, const char *name, const void *data, size_t size)
{
	char path[1024];
	char *c;
	FILE *f;
	int n;

	n = snprintf(path, sizeof(path), "%s/%u-", p->opt->dump, p->frames);
	if (n < 0 || snprintf(path + n, sizeof(path) - (size_t)n, "%s", name) >=
	    (int)sizeof(path) - n)
		return fail(&p->err, -ENAMETOOLONG, "%s: too long", p->opt->dump);
	for (c = path + n; *c; c++)
		*c = *c == '/' ? '_' : *c;	/* a model's name is no path */
	f = fopen(path, "wb");
	n = f && fwrite(data, 1, size, f) == size;
	if ((f && fclose(f)) || !n)
		return fail(&p->err, -EIO, "%s: %s", path, strerror(errno));
	return 0;
}

static int dump_frame(struct pipeline *p, struct slot *slot)
{
	size_t size = (size_t)npu_buffer_size(slot->frame);
	void *data = malloc(size);
	int ret;

	if (!data)
		return fail(&p->err, -ENOMEM, "no memory for a frame");
	ret = npu_buffer_read(slot->frame, 0, data, size, &p->err);
	if (!ret)
		ret = dump(p, "frame", data, size);
	free(data);
	return ret;
}

/* Numbers that are none in JSON are null. */
static void print_number(double v)
{
	if (v - v == 0)
		printf("%.7g", v);
	else
		printf("null");
}

static void print_values(const char *name, const float *v, size_t count)
{
	printf(",\"%s\":[", name);
	for (size_t i = 0; i < count; i++) {
		if (i)
			putchar(',');
		print_number(v[i]);
	}
	putchar(']');
}

/* Pairs x, y as shares of the box, as pixels of the frame. */
static void print_points(const char *name, const float *v, size_t count, const float box[4])
{
	printf(",\"%s\":[", name);
	for (size_t i = 0; i + 1 < count; i += 2) {
		printf("%s[", i ? "," : "");
		print_number(box[1] + v[i] * (box[3] - box[1]));
		putchar(',');
		print_number(box[0] + v[i + 1] * (box[2] - box[0]));
		putchar(']');
	}
	putchar(']');
}

static int report_output(struct pipeline *p, int stage, const struct npu_tensor_info *t,
			 struct npu_run *run, float box[4])
{
	size_t count = 0;
	float *data = read_output(p, run, t, &count);
	int ret = 0;

	if (!data)
		return p->err.code;
	if (stage == SELECT && !strcmp(t->name, "box") && count == 4)
		memcpy(box, data, 4 * sizeof(*box));
	if (p->opt->json && stage == REFINE && p->opt->points)
		print_points(t->name, data, count, box);
	else if (p->opt->json && stage != DETECT)
		print_values(t->name, data, count);
	if (p->opt->dump)
		ret = dump(p, t->name, data, count * sizeof(*data));
	free(data);
	return ret;
}

/* When each job was handed over, begun and ended, in microseconds since the frame was there. */
static void print_times(const struct slot *slot)
{
	struct npu_fence_times t = NPU_INIT(t);

	printf(",\"us\":{");
	for (int i = 0; i < NUM_STAGES; i++) {
		npu_fence_times(slot->fence[i], &t);
		printf("%s\"%s\":[%.1f,%.1f,%.1f]", i ? "," : "", stage_names[i],
		       ((double)t.submitted - (double)slot->taken) / 1e3,
		       ((double)t.started - (double)slot->taken) / 1e3,
		       ((double)t.finished - (double)slot->taken) / 1e3);
	}
	printf("},\"taken\":%.1f", (double)slot->taken / 1e3);
}

int report_frame(struct pipeline *p, struct slot *slot)
{
	struct npu_tensor_info t = NPU_INIT(t);
	float box[4] = { 0 };
	int ret = 0;

	if (!p->opt->json && !p->opt->dump)
		return 0;
	if (p->opt->json)
		printf("{\"frame\":%u", p->frames);
	for (int s = 0; s < NUM_STAGES && !ret; s++)
		for (unsigned int i = 0; !ret && !npu_job_tensor(p->job[s], 0, i, &t); i++)
			if (t.role == NPU_TENSOR_OUTPUT)
				ret = report_output(p, s, &t, slot->run[s], box);
	if (!ret && p->opt->dump)
		ret = dump_frame(p, slot);
	if (!p->opt->json)
		return ret;
	print_times(slot);
	printf("}\n");
	return ret || !fflush(stdout) ? ret : fail(&p->err, -EIO, "standard output");
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void report_summary(struct pipeline *p)
{
	double *us = p->latency, seconds = ((double)p->ended - (double)p->started) / 1e9;
	unsigned int n = p->frames;

	qsort(us, n, sizeof(*us), compare);
	printf("{\"summary\":{\"frames\":%u,\"most_in_flight\":%u,\"cpu_waits\":%u,\"fps\":%.1f,"
	       "\"busy\":%.3f,\"latency_us\":{\"median\":%.1f,\"p90\":%.1f,\"max\":%.1f}}}\n",
	       n, p->most_in_flight, p->opt->wait ? NUM_STAGES * n : 0, n / seconds,
	       (double)p->busy / 1e9 / seconds, us[n / 2], us[n * 9 / 10], us[n - 1]);
}
