// SPDX-License-Identifier: MIT
/* Where the time goes, what comes out of each layer, and how long a run takes. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "npu_isa_desc.h"
#include "run.h"

#define PROFILE_RUNS	5

/* All instructions of one tag, added up. */
struct layer {
	uint32_t tag;
	unsigned int order;		/* of its first instruction */
	unsigned int insns;
	bool host;			/* a step on the host */
	uint64_t ns, macs, bytes;
	const char *node, *op;
};

static struct layer *layer_of(struct layer *layers, size_t *count, uint32_t tag)
{
	size_t i;

	for (i = *count; i-- > 0; )
		if (layers[i].tag == tag)
			return &layers[i];
	layers[*count] = (struct layer){ .tag = tag, .order = *count, .node = "?", .op = "" };
	return &layers[(*count)++];
}

static uint64_t sort_key(const struct layer *l, enum sort sort)
{
	return sort == SORT_TIME ? l->ns : sort == SORT_MACS ? l->macs : l->bytes;
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct layer *la = a, *lb = b;
	enum sort sort = *(enum sort *)ctx;
	uint64_t ka = sort_key(la, sort), kb = sort_key(lb, sort);

	if (sort == SORT_ORDER || ka == kb)
		return la->order < lb->order ? -1 : 1;
	return ka > kb ? -1 : 1;
}

static size_t collect(struct session *s, const struct npu_insn_profile *rec, size_t n,
		      struct layer *layers)
{
	struct npu_debug_info debug = NPU_INIT(debug);
	unsigned int program = 0;
	size_t i, count = 0;

	npu_run_program(s->run, &program, NULL, &s->err);
	for (i = 0; i < n; i++) {
		struct layer *l;

		if (!rec[i].opcode)
			continue;	/* END */
		l = layer_of(layers, &count, rec[i].tag);
		l->insns++;
		l->ns += rec[i].ns;
		l->macs += rec[i].macs;
		l->bytes += rec[i].bytes;
		/* For streams without a debug map. */
		l->host |= rec[i].opcode == NPU_PROFILE_HOST;
		l->op = npu_op_desc(rec[i].opcode) ? npu_op_desc(rec[i].opcode)->mnemonic : "";
	}
	for (i = 0; i < count; i++) {
		if (npu_job_debug(s->job, program, layers[i].tag, &debug))
			continue;
		layers[i].node = debug.node;
		layers[i].op = debug.op;
	}
	return count;
}

/* Nothing takes no time at all; what is too short for the clock has no rate. */
static double rate(uint64_t work, uint64_t ns)
{
	return ns ? (double)work / (double)ns : 0;
}

static void print_table(const struct layer *layers, size_t n, double total)
{
	uint64_t macs = 0, bytes = 0;
	size_t i;

	say("%9s %6s %10s %8s %10s %8s  %s\n", "ms", "share", "MMACs", "GMACs/s", "MB", "GB/s",
	    "layer");
	for (i = 0; i < n; i++) {
		const struct layer *l = &layers[i];

		say("%9.4f %5.1f%% %10.3f %8.1f %10.3f %8.1f  %s (%s)%s\n", l->ns / 1e6,
		    100 * l->ns / total, l->macs / 1e6, rate(l->macs, l->ns), l->bytes / 1e6,
		    rate(l->bytes, l->ns), l->node, l->op,
		    l->host	   ? " on the host"
		    : l->insns > 1 ? " *"
				   : "");
		macs += l->macs;
		bytes += l->bytes;
	}
	say("%9.4f %5.1f%% %10.3f %8.1f %10.3f %8.1f  total of %zu layers (* several instructions)\n",
	    total / 1e6, 100.0, macs / 1e6, macs / total, bytes / 1e6, bytes / total, n);
}

static int print_json(const struct session *s, const struct layer *layers, size_t n, double total)
{
	cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "layers"), *l;
	size_t i;

	cJSON_AddStringToObject(root, "model", s->opt->model);
	cJSON_AddNumberToObject(root, "total_ns", total);
	for (i = 0; i < n; i++) {
		l = cJSON_CreateObject();
		cJSON_AddStringToObject(l, "node", layers[i].node);
		cJSON_AddStringToObject(l, "op", layers[i].op);
		cJSON_AddStringToObject(l, "where", layers[i].host ? "host" : "npu");
		cJSON_AddNumberToObject(l, "instructions", layers[i].insns);
		cJSON_AddNumberToObject(l, "ns", layers[i].ns);
		cJSON_AddNumberToObject(l, "macs", layers[i].macs);
		cJSON_AddNumberToObject(l, "bytes", layers[i].bytes);
		cJSON_AddNumberToObject(l, "share", layers[i].ns / total);
		cJSON_AddItemToArray(list, l);
	}
	return json_print(root);
}

/*
 * Of several runs the least time of each instruction: what disturbs a measurement only adds. *@out
 * is from malloc().
 */
static int measure(struct session *s, struct npu_insn_profile **out, size_t *count)
{
	const struct npu_insn_profile *rec;
	struct npu_fence *fence;
	size_t n, i;
	int k;

	*out = NULL;
	for (k = 0; k < PROFILE_RUNS; k++) {
		if (session_submit(s, NPU_SUBMIT_PROFILE, &fence))
			return 1;
		if (npu_fence_profile(fence, &rec, &n)) {
			npu_fence_put(fence);
			return fail("this device records no profile");
		}
		if (!k) {
			*count = n;
			*out = malloc((n + 1) * sizeof(**out));
			if (*out)
				memcpy(*out, rec, n * sizeof(**out));
		}
		for (i = 0; *out && i < n && i < *count; i++)
			if (rec[i].ns < (*out)[i].ns)
				(*out)[i].ns = rec[i].ns;
		npu_fence_put(fence);
		if (!*out)
			return fail("no memory for the profile");
	}
	return 0;
}

int profile_run(struct session *s)
{
	struct npu_insn_profile *rec;
	enum sort sort = s->opt->sort;
	struct layer *layers;
	double total = 0;
	size_t n = 0, i, count;
	int ret;

	ret = measure(s, &rec, &n);
	if (ret)
		goto out_rec;
	layers = calloc(n + 1, sizeof(*layers));
	if (!layers) {
		ret = fail("no memory for the profile");
		goto out_rec;
	}
	count = collect(s, rec, n, layers);
	for (i = 0; i < count; i++)
		total += layers[i].ns;
	if (total <= 0)
		total = 1;
	qsort_r(layers, count, sizeof(*layers), compare, &sort);
	if (s->opt->json)
		ret = print_json(s, layers, count, total);
	else
		print_table(layers, count, total);
	free(layers);
out_rec:
	free(rec);
	return ret;
}

int digest_run(struct session *s)
{
	struct npu_debug_info debug = NPU_INIT(debug);
	const struct npu_insn_digest *rec;
	struct npu_fence *fence;
	unsigned int program = 0;
	size_t n, i;

	if (session_submit(s, NPU_SUBMIT_DIGEST, &fence))
		return 1;
	npu_run_program(s->run, &program, NULL, &s->err);
	if (npu_fence_digests(fence, &rec, &n)) {
		npu_fence_put(fence);
		return fail("this device records no digests");
	}
	for (i = 0; i < n; i++) {
		if (npu_job_debug(s->job, program, rec[i].tag, &debug))
			debug.node = debug.tensor = "";
		say("%016llx %5u.%u %s%s%s\n", (unsigned long long)rec[i].digest, rec[i].insn,
		    rec[i].slot, debug.node, *debug.tensor ? " -> " : "", debug.tensor);
	}
	npu_fence_put(fence);
	return 0;
}

static int compare_double(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

int bench_run(struct session *s)
{
	struct npu_device_info dev = NPU_INIT(dev);
	unsigned int n = s->opt->bench, i;
	char engine[64];
	double *ms, start, first;
	int ret = 0;

	ms = calloc(n, sizeof(*ms));
	if (!ms)
		return fail("no memory");
	start = now_ms();
	ret = session_submit(s, 0, NULL);
	first = now_ms() - start;
	for (i = 0; i < 2 && !ret; i++)
		ret = session_submit(s, 0, NULL);
	for (i = 0; i < n && !ret; i++) {
		start = now_ms();
		ret = session_submit(s, 0, NULL);
		ms[i] = now_ms() - start;
	}
	if (!ret && !npu_device_info(s->dev, &dev, &s->err)) {
		qsort(ms, n, sizeof(*ms), compare_double);
		say("%s: median %.3f ms, min %.3f, p90 %.3f of %u runs; load %.3f ms, first run %.3f ms; %s%s\n",
		    s->opt->model, n % 2 ? ms[n / 2] : (ms[n / 2 - 1] + ms[n / 2]) / 2, ms[0],
		    ms[(n - 1) * 9 / 10], n, s->load_ms, first, dev.uri, engine_text(&dev, engine));
	}
	free(ms);
	return ret;
}
