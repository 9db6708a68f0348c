// SPDX-License-Identifier: MIT
/* The sim backend: device and memory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "core/dmabuf.h"
#include "core/mapping.h"
#include "core/sim.h"
#include "core/uri.h"
#include "npu_isa_desc.h"

#define SIM_NAME	"NPU v1 in process"

static int sim_candidate(unsigned int index, struct npu_device_candidate *out)
{
	if (index)
		return -ENOENT;
	out->status = 0;
	out->reason[0] = 0;
	snprintf(out->uri, sizeof(out->uri), "sim");
	snprintf(out->name, sizeof(out->name), SIM_NAME);
	return 0;
}

static bool sim_match(const char *uri)
{
	return !strncmp(uri, "sim", 3) && (!uri[3] || uri[3] == ':');
}

static int parse_simd(const char *value, enum npu_simd *simd, struct npu_error *err)
{
	unsigned int i;

	for (i = 0; npu_simd_name(i); i++) {
		if (strcmp(value, npu_simd_name(i)))
			continue;
		*simd = (enum npu_simd)i;
		return 0;
	}
	return npu_error_set(
		err, -EINVAL,
		"device option simd=%s: want auto, portable, avx2, avx-vnni, avx512 or avx512-vnni",
		value);
}

static int take_option(void *ctx, const char *key, const char *value, struct npu_error *err)
{
	struct npu_engine_config *config = ctx;
	uint64_t n;
	int ret;

	if (!strcmp(key, "threads")) {
		ret = npu_uri_number(key, value, 1, NPU_ENGINE_MAX_THREADS, &n, err);
		if (!ret)
			config->threads = n;
		return ret;
	}
	if (!strcmp(key, "sram"))
		return npu_uri_number(key, value, 4096, 1u << 30, (uint64_t *)&config->sram_size,
				      err);
	if (!strcmp(key, "simd"))
		return parse_simd(value, &config->simd, err);
	return npu_error_set(err, -EINVAL,
			     "device option '%s' is not known (threads, simd and sram are)", key);
}

static void fill_info(struct sim *sim, const struct npu_engine_config *config)
{
	struct npu_device_info *info = &sim->dev->info;
	unsigned int op;

	snprintf(info->name, sizeof(info->name), SIM_NAME);
	snprintf(info->simd, sizeof(info->simd), "%s", npu_engine_simd_name(sim->engine));
	info->threads = npu_engine_threads(sim->engine);
	info->isa_major = NPU_ISA_MAJOR;
	info->isa_minor = NPU_ISA_MINOR;
	for (op = 1; op < NPU_NUM_DTYPES; op++)
		info->dtypes |= 1u << op;
	for (op = 0; op < 256; op++)
		if (npu_op_desc(op) && npu_engine_supports(sim->engine, op))
			info->opcodes[op / 64] |= 1ull << op % 64;
	info->sram_size = config->sram_size;
	info->max_buffer = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	info->buffer_align = 16;
	info->num_priorities = NPU_NUM_PRIORITIES;
}

static int sim_open(struct npu_device *dev, const char *uri,
		    const struct npu_device_options *options, struct npu_error *err)
{
	struct npu_engine_config config = {
		.threads = options->threads,
		.sram_size = options->sram_size,
		.parallel_for = options->parallel_for,
		.parallel_ctx = options->parallel_ctx,
	};
	struct sim *sim;
	int ret;

	if (config.threads > NPU_ENGINE_MAX_THREADS)
		return npu_error_set(err, -EINVAL,
				     "npu_device_options: threads is %u, the limit is %u",
				     config.threads, NPU_ENGINE_MAX_THREADS);
	if (config.sram_size && (config.sram_size < 4096 || config.sram_size > 1u << 30))
		return npu_error_set(err, -EINVAL,
				     "npu_device_options: sram_size is %llu, want 4096 .. 2^30",
				     (unsigned long long)config.sram_size);
	ret = uri[3] ? npu_uri_options(uri + 4, take_option, &config, err) : 0;
	if (ret)
		return ret;
	if (!config.sram_size)
		config.sram_size = 2u << 20;
	sim = calloc(1, sizeof(*sim));
	if (!sim)
		return npu_error_set(err, -ENOMEM, "no memory for a device");
	ret = npu_engine_create(&config, &sim->engine);
	if (ret) {
		free(sim);
		return npu_error_set(
			err, ret, "device '%s': %s", uri,
			ret == -ENOTSUP
				? "this CPU does not have the instruction set asked for with simd="
				: strerror(-ret));
	}
	sim->dev = dev;
	pthread_mutex_init(&sim->lock, NULL);
	pthread_cond_init(&sim->wake, NULL);
	dev->backend = sim;
	fill_info(sim, &config);
	return 0;
}

void sim_free(struct sim *sim)
{
	struct npu_device *dev = sim->dev;

	npu_engine_destroy(sim->engine);
	pthread_cond_destroy(&sim->wake);
	pthread_mutex_destroy(&sim->lock);
	free(sim);
	npu_device_free(dev);
}

static void sim_close(struct npu_device *dev)
{
	sim_stop(dev->backend);
}

/*
 * Small ones come from the heap, where a memory checker sees their ends; large ones get large pages
 * where there are.
 */
static int sim_buffer_create(struct npu_buffer *buf, struct npu_error *err)
{
	void *map = NULL;

	if (buf->size >= NPU_HUGE_PAGE) {
		map = npu_mapping_new(buf->size, PROT_READ | PROT_WRITE);
		if (map)
			madvise(map, npu_mapping_size(buf->size), MADV_HUGEPAGE);
	} else if (posix_memalign(&map, 4096, buf->size)) {
		map = NULL;
	} else {
		memset(map, 0, buf->size);
	}
	buf->map = map;
	if (!buf->map)
		return npu_error_set(err, -ENOMEM, "no memory for a buffer of %llu bytes",
				     (unsigned long long)buf->size);
	buf->va = (uintptr_t)buf->map;
	buf->backend = buf->map;	/* not imported: ours to free */
	return 0;
}

static int sim_buffer_import_host(struct npu_buffer *buf, struct npu_error *err)
{
	buf->va = (uintptr_t)buf->map;
	return 0;
}

/* The engine is the host; sim_work.c brackets its accesses. */
static int sim_buffer_import_dmabuf(struct npu_buffer *buf, struct npu_error *err)
{
	int ret = npu_dmabuf_map(buf, err);

	buf->va = (uintptr_t)buf->map;
	return ret;
}

static void sim_buffer_destroy(struct npu_buffer *buf)
{
	if (!buf->backend)
		return;
	if (buf->size < NPU_HUGE_PAGE)
		free(buf->map);
	else
		munmap(buf->map, npu_mapping_size(buf->size));
}

const struct npu_backend_ops npu_backend_sim = {
	.name = "sim",
	.candidate = sim_candidate,
	.match = sim_match,
	.open = sim_open,
	.close = sim_close,
	.buffer_create = sim_buffer_create,
	.buffer_import_host = sim_buffer_import_host,
	.buffer_import_dmabuf = sim_buffer_import_dmabuf,
	.buffer_destroy = sim_buffer_destroy,
	.queue_create = sim_queue_create,
	.queue_destroy = sim_queue_destroy,
	.submit = sim_submit,
	.cancel = sim_cancel,
	.cancel_queue = sim_cancel_queue,
};
