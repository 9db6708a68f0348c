// SPDX-License-Identifier: MIT
#include "output.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>

static const struct {
	const char *name;
	size_t offset;
} stages[] = {
	{ "start", offsetof(struct ocr_times, start) },
	{ "load", offsetof(struct ocr_times, load) },
	{ "detect", offsetof(struct ocr_times, detect) },
	{ "boxes", offsetof(struct ocr_times, boxes) },
	{ "crop", offsetof(struct ocr_times, crop) },
	{ "classify", offsetof(struct ocr_times, classify) },
	{ "recognize", offsetof(struct ocr_times, recognize) },
	{ "annotate", offsetof(struct ocr_times, annotate) },
};

#define STAGES	(sizeof(stages) / sizeof(stages[0]))

static double stage_seconds(const struct ocr_times *t, size_t i)
{
	return *(const double *)((const char *)t + stages[i].offset);
}

static double share(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

void ocr_output_lines(FILE *out, const struct ocr_lines *lines)
{
	size_t i;
	int k;

	for (i = 0; i < lines->count; i++) {
		const struct ocr_line *l = &lines->line[i];

		fprintf(out, "%.4f ", (double)l->confidence);
		for (k = 0; k < 4; k++)
			fprintf(out, " %d,%d", (int)l->box.quad.p[k].x, (int)l->box.quad.p[k].y);
		fprintf(out, "%s  %s\n", l->flipped ? " flipped" : "", l->text);
	}
}

void ocr_output_summary(FILE *out, const struct ocr_summary *s)
{
	double total = 0;
	size_t i;

	fprintf(out, "%zu line%s in %s (%d x %d), on %s\n", s->lines->count,
		s->lines->count == 1 ? "" : "s", s->picture, s->width, s->height, s->runtime);
	fprintf(out, "time:");
	for (i = 0; i < STAGES; i++) {
		double t = stage_seconds(s->times, i);

		total += t;
		fprintf(out, " %s %.1f ms,", stages[i].name, t * 1e3);
	}
	fprintf(out, " total %.1f ms\n", total * 1e3);
	fprintf(out, "%llu of %llu operators, %.2f %% of MACs on the NPU\n",
		(unsigned long long)s->placement.nodes_npu, (unsigned long long)s->placement.nodes,
		share(s->placement.macs_npu, s->placement.macs));
}

static cJSON *json_line(const struct ocr_line *l)
{
	cJSON *o = cJSON_CreateObject(), *box = cJSON_AddArrayToObject(o, "box");
	int k;

	for (k = 0; k < 4; k++) {
		int xy[2] = { (int)l->box.quad.p[k].x, (int)l->box.quad.p[k].y };

		cJSON_AddItemToArray(box, cJSON_CreateIntArray(xy, 2));
	}
	cJSON_AddStringToObject(o, "text", l->text);
	cJSON_AddNumberToObject(o, "confidence", (double)l->confidence);
	cJSON_AddNumberToObject(o, "box_score", (double)l->box.score);
	cJSON_AddBoolToObject(o, "turned", l->turned);
	cJSON_AddBoolToObject(o, "flipped", l->flipped);
	return o;
}

static cJSON *json_placement(const struct ocr_placement *p)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddNumberToObject(o, "operators", (double)p->nodes);
	cJSON_AddNumberToObject(o, "operators_on_npu", (double)p->nodes_npu);
	cJSON_AddNumberToObject(o, "macs", (double)p->macs);
	cJSON_AddNumberToObject(o, "macs_on_npu", (double)p->macs_npu);
	return o;
}

int ocr_output_json(FILE *out, const struct ocr_summary *s)
{
	cJSON *root = cJSON_CreateObject(), *lines, *times;
	char *text;
	size_t i;
	int err;

	cJSON_AddStringToObject(root, "picture", s->picture);
	cJSON_AddNumberToObject(root, "width", s->width);
	cJSON_AddNumberToObject(root, "height", s->height);
	cJSON_AddStringToObject(root, "device", s->runtime);
	lines = cJSON_AddArrayToObject(root, "lines");
	for (i = 0; i < s->lines->count; i++)
		cJSON_AddItemToArray(lines, json_line(&s->lines->line[i]));
	times = cJSON_AddObjectToObject(root, "milliseconds");
	for (i = 0; i < STAGES; i++)
		cJSON_AddNumberToObject(times, stages[i].name, stage_seconds(s->times, i) * 1e3);
	cJSON_AddItemToObject(root, "placement", json_placement(&s->placement));
	text = cJSON_Print(root);
	cJSON_Delete(root);
	if (!text)
		return -ENOMEM;
	err = fprintf(out, "%s\n", text) < 0 ? -EIO : 0;
	free(text);
	return err;
}
