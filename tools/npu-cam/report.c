// SPDX-License-Identifier: MIT
/* Results and figures, as lines of JSON. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cam.h"
#include "core/error.h"
#include "npu_half.h"

/* From one moment to another. */
#define STAGES(X) X(dequeue, there, dequeued) X(submit, dequeued, given) X(done, given, done) \
		  X(total, there, done)

enum stage {
#define X(name, from, to) STAGE_##name,
	STAGES(X)
#undef X
	NUM_STAGES
};

static const char *const stage_names[NUM_STAGES] = {
#define X(name, from, to) #name,
	STAGES(X)
#undef X
};

#define SAMPLES		16384u	/* even */

/* Frame @every times n, however long the stream is; the largest are of all frames. */
struct stats {
	double us[NUM_STAGES][SAMPLES], max[NUM_STAGES];
	size_t count;
	uint64_t seen, every;
};

static void stage_times(const struct stamps *at, double us[NUM_STAGES])
{
#define X(name, from, to) us[STAGE_##name] = ((double)at->to - (double)at->from) / 1e3;
	STAGES(X)
#undef X
}

struct stats *stats_new(void)
{
	struct stats *stats = calloc(1, sizeof(*stats));

	if (stats)
		stats->every = 1;
	return stats;
}

void stats_free(struct stats *stats)
{
	free(stats);
}

/* Room for as many again: every second one goes. */
static void stats_thin(struct stats *stats)
{
	size_t k;
	unsigned int i;

	stats->count /= 2;
	for (i = 0; i < NUM_STAGES; i++)
		for (k = 0; k < stats->count; k++)
			stats->us[i][k] = stats->us[i][2 * k];
	stats->every *= 2;
}

void stats_add(struct stats *stats, const struct stamps *at)
{
	double us[NUM_STAGES];
	unsigned int i;

	stage_times(at, us);
	for (i = 0; i < NUM_STAGES; i++)
		stats->max[i] = !stats->seen || us[i] > stats->max[i] ? us[i] : stats->max[i];
	if (stats->count == SAMPLES)
		stats_thin(stats);
	if (stats->seen++ % stats->every)
		return;
	for (i = 0; i < NUM_STAGES; i++)
		stats->us[i][stats->count] = us[i];
	stats->count++;
}

/* ---- outputs --------------------------------------------------------------------------------- */

static double code_at(const void *data, uint32_t dtype, size_t i)
{
	switch (dtype) {
	case NPU_F32: return ((const float *)data)[i];
	case NPU_F16: return npu_half_widen(((const uint16_t *)data)[i]);
	case NPU_BF16: return npu_bfloat_widen(((const uint16_t *)data)[i]);
	case NPU_I32: return ((const int32_t *)data)[i];
	case NPU_I64: return (double)((const int64_t *)data)[i];
	case NPU_I8: return ((const int8_t *)data)[i];
	default: return ((const uint8_t *)data)[i];
	}
}

static double value_at(const struct npu_tensor_info *t, const void *data, size_t i)
{
	double code = code_at(data, t->dtype, i);

	return t->scale != 0 ? t->scale * (code - t->zero_point) : code;
}

static void add_values(const struct stream *s, cJSON *out, const struct npu_tensor_info *t,
		       const void *data, size_t count)
{
	cJSON *values = cJSON_AddArrayToObject(out, "values");
	size_t i, best = 0;

	for (i = 1; i < count; i++)
		if (value_at(t, data, i) > value_at(t, data, best))
			best = i;
	for (i = 0; i < count && i < s->opt->values; i++)
		cJSON_AddItemToArray(values, cJSON_CreateNumber(value_at(t, data, i)));
	if (!count)
		return;
	cJSON_AddNumberToObject(out, "max", value_at(t, data, best));
	cJSON_AddNumberToObject(out, "argmax", (double)best);
}

/* A name may be a path of the model's, which is none in the folder. */
static int dump(struct stream *s, const char *name, const void *data, size_t size)
{
	char *path, *p;
	int n = asprintf(&path, "%s/%u-%s", s->opt->dump, s->frames - 1, name), ret = 0;
	FILE *f;
	bool ok;

	if (n < 0)
		return npu_error_set(&s->err, -ENOMEM, "no memory for a path");
	for (p = path + n - strlen(name); *p; p++)
		*p = *p == '/' ? '_' : *p;
	f = fopen(path, "wbe");
	ok = f && fwrite(data, 1, size, f) == size;
	if ((f && fclose(f)) || !ok)
		ret = npu_error_set(&s->err, -EIO, "%s: %s", path, strerror(errno));
	free(path);
	return ret;
}

static int add_output(struct stream *s, struct slot *slot, const struct npu_tensor_info *t,
		      cJSON *outputs)
{
	int64_t dims[NPU_TENSOR_MAX_RANK];
	cJSON *out = cJSON_AddObjectToObject(outputs, t->name);
	cJSON *shape = cJSON_AddArrayToObject(out, "shape");
	size_t size = t->dtype == NPU_I64 ? 8 : t->dtype == NPU_F32 || t->dtype == NPU_I32 ? 4 :
		      t->dtype == NPU_F16 || t->dtype == NPU_BF16 ? 2 : 1, count = 1;
	unsigned int rank, d;
	char digest[24];
	void *data;
	int ret;

	ret = npu_run_get_shape(slot->run, t->name, &rank, dims, &s->err);
	for (d = 0; !ret && d < rank; d++) {
		count *= (size_t)dims[d];
		cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)dims[d]));
	}
	data = ret ? NULL : malloc(count * size + 1);
	if (!ret)
		ret = data ? npu_run_read(slot->run, t->name, data, count * size, &s->err) :
			     npu_error_set(&s->err, -ENOMEM, "no memory for a result");
	if (!ret) {
		snprintf(digest, sizeof(digest), "%016llx",
			 (unsigned long long)npu_digest(data, count * size, 0));
		cJSON_AddStringToObject(out, "digest", digest);
		add_values(s, out, t, data, count);
		if (s->opt->dump)
			ret = dump(s, t->name, data, count * size);
	}
	free(data);
	return ret;
}

/* The one thing here that looks at the frame's bytes, and has it mapped. */
static int dump_frame(struct stream *s, struct slot *slot)
{
	uint64_t bytes;
	unsigned int k;
	char name[16];
	void *data;
	int ret = 0;

	for (k = 0; k < s->cam.num_planes && !ret; k++) {
		bytes = npu_buffer_size(slot->buf[k]);
		data = malloc(bytes);
		if (!data)
			return npu_error_set(&s->err, -ENOMEM, "no memory for a frame");
		ret = npu_buffer_read(slot->buf[k], 0, data, bytes, &s->err);
		snprintf(name, sizeof(name), "plane%u", k);
		if (!ret)
			ret = dump(s, name, data, bytes);
		free(data);
	}
	return ret;
}

static int add_outputs(struct stream *s, struct slot *slot, cJSON *line)
{
	cJSON *outputs = cJSON_AddObjectToObject(line, "outputs");
	struct npu_tensor_info t;
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret; i++) {
		t = (struct npu_tensor_info)NPU_INIT(t);
		if (npu_job_tensor(s->job, 0, i, &t))
			break;
		if (t.role == NPU_TENSOR_OUTPUT)
			ret = add_output(s, slot, &t, outputs);
	}
	return ret;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int print_line(struct stream *s, cJSON *line)
{
	char *text = cJSON_PrintUnformatted(line);
	bool ok = text && puts(text) >= 0 && !fflush(stdout);

	free(text);
	cJSON_Delete(line);
	return ok ? 0 : npu_error_set(&s->err, -EIO, "standard output can not be written to");
}

int report_frame(struct stream *s, struct slot *slot)
{
	double us[NUM_STAGES];
	cJSON *line, *latency;
	unsigned int i;
	int ret;

	stats_add(s->stats, &slot->at);
	if (!s->opt->json)
		return 0;
	line = cJSON_CreateObject();
	cJSON_AddNumberToObject(line, "frame", s->frames - 1);
	cJSON_AddNumberToObject(line, "sequence", slot->info.sequence);
	cJSON_AddNumberToObject(line, "buffer", slot->info.index);
	latency = cJSON_AddObjectToObject(line, "latency_us");
	stage_times(&slot->at, us);
	for (i = 0; i < NUM_STAGES; i++)
		cJSON_AddNumberToObject(latency, stage_names[i], us[i]);
	ret = add_outputs(s, slot, line);
	if (!ret && s->opt->dump)
		ret = dump_frame(s, slot);
	if (!ret)
		return print_line(s, line);
	cJSON_Delete(line);
	return ret;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void add_stage(struct stats *stats, unsigned int i, cJSON *latency)
{
	cJSON *o = cJSON_AddObjectToObject(latency, stage_names[i]);
	size_t n = stats->count;

	if (!n)
		return;
	qsort(stats->us[i], n, sizeof(double), compare);
	cJSON_AddNumberToObject(o, "median", stats->us[i][n / 2]);
	cJSON_AddNumberToObject(o, "p90", stats->us[i][n * 9 / 10]);
	cJSON_AddNumberToObject(o, "max", stats->max[i]);
}

int report_summary(struct stream *s)
{
	cJSON *line = cJSON_CreateObject(), *o = cJSON_AddObjectToObject(line, "summary"), *latency;
	double seconds = s->ended > s->started ? (s->ended - s->started) / 1e9 : 0;
	unsigned int i;

	cJSON_AddStringToObject(o, "camera", s->cam.card);
	cJSON_AddStringToObject(o, "memory", s->opt->copy ? "copied" : s->opt->heap ? "heap" : "camera");
	cJSON_AddNumberToObject(o, "buffers", s->cam.num_buffers);
	cJSON_AddNumberToObject(o, "planes", s->cam.num_planes);
	cJSON_AddNumberToObject(o, "stride", s->cam.plane[0].stride);
	cJSON_AddNumberToObject(o, "camera_fps", s->cam.fps);
	cJSON_AddNumberToObject(o, "frames", s->frames);
	cJSON_AddNumberToObject(o, "broken", s->broken);
	cJSON_AddNumberToObject(o, "dropped", s->dropped);
	cJSON_AddNumberToObject(o, "copied_bytes", (double)s->copied);
	cJSON_AddNumberToObject(o, "fps", seconds ? s->frames / seconds : 0);
	latency = cJSON_AddObjectToObject(o, "latency_us");
	for (i = 0; i < NUM_STAGES; i++)
		add_stage(s->stats, i, latency);
	return print_line(s, line);
}
