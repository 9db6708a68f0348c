// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "capture.h"
#include "common/file.h"
#include "core/backend.h"
#include "npu_compiler.h"
#include "../tap.h"

#define PAGE	4096u

static struct npu_backend_ops hooked;
static const struct npu_backend_ops *original;
static struct capture *catching;

static int submit_hook(struct npu_work *work, struct npu_error *err)
{
	struct capture *c = catching;
	npu_u32 i;

	if (c) {
		c->stream_size = work->code->size;
		c->stream = malloc(c->stream_size);
		memcpy(c->stream, work->code->stream, c->stream_size);
		c->num_regions = work->num_regions;
		memcpy(c->region, work->region, c->num_regions * sizeof(*c->region));
		memcpy(c->scalar, work->scalar, sizeof(c->scalar));
		for (i = 0; i < c->num_regions; i++) {
			if (c->region[i].access & NPU_ACCESS_SRAM || !c->region[i].size)
				continue;
			c->before[i] = malloc(c->region[i].size);
			memcpy(c->before[i], (void *)(uintptr_t)c->region[i].base,
			       c->region[i].size);
		}
		catching = NULL;
	}
	return original->submit(work, err);
}

static bool job_load(struct capture *c, const char *model, const char *shape, struct npu_error *err)
{
	struct npu_compile_options options;
	struct npu_compile_result *result = NULL;
	const char *dir = getenv("NPU_MODELS");
	const void *data;
	char path[512];
	size_t size;
	void *onnx;
	int ret;

	snprintf(path, sizeof(path), "%s/%s.onnx", dir ? dir : "build/models", model);
	onnx = test_read_file(path, &size);
	if (!onnx) {
		tap_diag("%s can not be read", path);
		return false;
	}
	npu_compile_options_init(&options);
	options.shapes = &shape;
	options.num_shapes = shape != NULL;
	ret = npu_compile_onnx(onnx, size, path, &options, &result);
	if (!ret) {
		data = npu_compile_job(result, &size);
		ret = npu_job_load_memory(c->dev, data, size, model, 0, &c->job, err);
	}
	npu_compile_result_free(result);
	free(onnx);
	return !ret;
}

static void inputs_fill(struct capture *c, struct npu_error *err)
{
	struct npu_tensor_info info = NPU_INIT(info);
	uint64_t bytes, k;
	unsigned int i;
	uint32_t seed = 99;
	float *data;

	for (i = 0; !npu_job_tensor(c->job, 0, i, &info); i++) {
		if (info.role != NPU_TENSOR_INPUT ||
		    npu_run_tensor_size(c->run, info.name, &bytes, err))
			continue;
		data = malloc(bytes);
		for (k = 0; k < bytes / 4; k++) {
			seed = seed * 1664525u + 1013904223u;
			data[k] = (float)(int32_t)seed / 2147483648.0f;
		}
		npu_run_write(c->run, info.name, data, bytes, err);
		free(data);
	}
}

static bool digests_take(struct capture *c, struct npu_fence *fence)
{
	const struct npu_insn_digest *d;

	if (npu_fence_digests(fence, &d, &c->num_digests))
		return false;
	c->digest = malloc(c->num_digests * sizeof(*d));
	memcpy(c->digest, d, c->num_digests * sizeof(*d));
	return true;
}

static bool run_once(struct capture *c, struct npu_error *err)
{
	struct npu_submit_options options = NPU_INIT(options);
	struct npu_fence *fence = NULL;
	npu_u32 i;
	bool ok;

	options.flags = NPU_SUBMIT_DIGEST;
	original = c->dev->ops;
	hooked = *original;
	hooked.submit = submit_hook;
	catching = c;
	c->dev->ops = &hooked;
	ok = !npu_queue_submit(c->queue, c->run, &options, &fence, err) &&
	     !npu_fence_wait(fence, NPU_FOREVER, err) && digests_take(c, fence);
	c->dev->ops = original;
	for (i = 0; ok && i < c->num_regions; i++) {
		if (!c->before[i])
			continue;
		c->after[i] = malloc(c->region[i].size);
		memcpy(c->after[i], (void *)(uintptr_t)c->region[i].base, c->region[i].size);
	}
	npu_fence_put(fence);
	return ok;
}

bool capture_init(struct capture *c, const char *model, const char *shape, unsigned int threads)
{
	struct npu_queue_options queue = NPU_INIT(queue);
	struct npu_error err = { .text = "" };
	char uri[64];
	bool ok;

	memset(c, 0, sizeof(*c));
	snprintf(uri, sizeof(uri), "sim:threads=%u", threads);
	ok = !npu_device_open(uri, NULL, &c->dev, &err) && job_load(c, model, shape, &err) &&
	     !npu_queue_create(c->dev, &queue, &c->queue, &err) &&
	     !npu_run_create(c->job, &c->run, &err);
	if (ok) {
		inputs_fill(c, &err);
		ok = run_once(c, &err);
	}
	if (!ok) {
		tap_diag("%s: %s", model, err.text);
		capture_fini(c);
	}
	return ok;
}

void capture_fini(struct capture *c)
{
	npu_u32 i;

	for (i = 0; i < c->num_regions; i++) {
		free(c->before[i]);
		free(c->after[i]);
	}
	free(c->stream);
	free(c->digest);
	npu_run_destroy(c->run);
	npu_queue_destroy(c->queue);
	npu_job_unload(c->job);
	npu_device_close(c->dev);
}

/* ---- in a guest ---- */

void replay_init(struct guest *g, struct replay *r, const struct capture *c, npu_u32 context,
		 npu_u32 queue, enum replay_pages pages)
{
	bool scatter = pages != PAGES_ROW, large;
	npu_u64 at = 0x100000000ull;
	npu_u32 i, perms;

	memset(r, 0, sizeof(*r));
	r->c = c;
	r->context = context;
	r->queue = queue;
	if (!g->root[context])
		guest_context(g, context);
	reg_write(g, 0x3000 + 4 * queue, context | 0x80000000u);
	r->stream = at;
	guest_map(g, context, at, c->stream_size, P_X, scatter);
	guest_copy(g, context, at, c->stream, c->stream_size, true);
	at += (c->stream_size + 2 * PAGE - 1) / PAGE * PAGE;
	for (i = 0; i < c->num_regions; i++) {
		r->region[i] = c->region[i];
		if (!c->before[i])
			continue;
		perms = (c->region[i].access & NPU_ACCESS_READ ? P_R : 0) |
			(c->region[i].access & NPU_ACCESS_WRITE ? P_W : 0);
		large = pages == PAGES_DRIVER && c->region[i].size >= 2u << 20;
		if (large)
			at = (at + (2u << 20) - 1) & ~((2ull << 20) - 1);
		r->region[i].base = at;
		if (large)
			guest_map_large(g, context, at, c->region[i].size, perms);
		else
			guest_map(g, context, at, c->region[i].size, perms, scatter);
		/* A page that is not mapped behind each. */
		at += (c->region[i].size + 2 * PAGE - 1) / PAGE * PAGE;
		if (large)
			at = (at + (2u << 20) - 1) & ~((2ull << 20) - 1);
	}
	r->end = at;
	job_alloc(g, &r->job);
	replay_reset(g, r, 1);
}

void replay_reset(struct guest *g, struct replay *r, npu_u64 job_id)
{
	const struct capture *c = r->c;
	npu_u32 i;

	for (i = 0; i < c->num_regions; i++)
		if (c->before[i])
			guest_copy(g, r->context, r->region[i].base, c->before[i],
				   c->region[i].size, true);
	job_fill(g, &r->job, job_id, r->stream, c->stream_size, r->region, c->num_regions);
	for (i = 0; i < NPU_MAX_SCALARS; i++)
		put32(kernel_at(g, r->job.desc), 48 + 4 * i, c->scalar[i]);
}

bool replay_same(struct guest *g, const struct replay *r)
{
	const struct capture *c = r->c;
	unsigned char *got;
	bool same = true;
	npu_u32 i;

	for (i = 0; i < c->num_regions && same; i++) {
		if (!c->after[i])
			continue;
		got = malloc(c->region[i].size);
		guest_copy(g, r->context, r->region[i].base, got, c->region[i].size, false);
		same = !memcmp(got, c->after[i], c->region[i].size);
		if (!same)
			tap_diag("region %u differs", i);
		free(got);
	}
	return same;
}
