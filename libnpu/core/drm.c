// SPDX-License-Identifier: MIT
/* The drm backend: the device. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include "core/drm.h"
#include "core/probe.h"
#include "core/uri.h"

#define NODE		"/dev/accel/accel"
#define OPEN_URI	"drm:"	/* with the option fd: a node that is open */

/* What a URI says beside the node. */
struct uri_options {
	bool is_fd;
	uint64_t fd, max_object;
};

int drm_call(struct drm_device *drm, unsigned long request, void *arg, struct npu_error *err,
	     const char *what)
{
	if (!drmIoctl(drm->fd, request, arg))
		return 0;
	return npu_error_set(err, -errno, "device '%s': %s: %s", drm->dev->info.uri, what,
			     errno == ENODEV ? "the device is gone" : strerror(errno));
}

/* Nodes are found by the core, which asks drm_probe(). */
static int drm_candidate(unsigned int index, struct npu_device_candidate *out)
{
	return -ENOENT;
}

static bool drm_match(const char *uri)
{
	char driver[64];
	unsigned int n;
	int end = 0;

	if (!strncmp(uri, OPEN_URI, strlen(OPEN_URI)))
		return true;
	if (sscanf(uri, NODE "%u%n", &n, &end) != 1 || (uri[end] && uri[end] != ':') ||
	    !npu_probe_node_exists("", n))
		return false;
	npu_probe_driver("", n, driver, sizeof(driver));
	return !strcmp(driver, DRM_NPU_DRIVER_NAME);
}

static int take_option(void *ctx, const char *key, const char *value, struct npu_error *err)
{
	struct uri_options *o = ctx;

	if (!strcmp(key, "max-object"))
		return npu_uri_number(key, value, DRM_PAGE, 1ull << 40, &o->max_object, err);
	if (!strcmp(key, "fd")) {
		o->is_fd = true;
		return npu_uri_number(key, value, 0, INT32_MAX, &o->fd, err);
	}
	return npu_error_set(err, -EINVAL,
			     "device option '%s' is not known (fd and max-object are)", key);
}

static int parse_uri(const char *uri, struct uri_options *o, struct npu_error *err)
{
	const char *colon = strchr(uri, ':');
	bool open = !strncmp(uri, OPEN_URI, strlen(OPEN_URI));
	int ret = colon ? npu_uri_options(colon + 1, take_option, o, err) : 0;

	if (!ret && o->is_fd != open)
		ret = npu_error_set(err, -EINVAL, "device '%s': want " NODE "N, or " OPEN_URI
				    "fd=N with the number of an open file", uri);
	return ret;
}

static int open_node(const char *uri, const struct uri_options *o, struct npu_error *err)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%.*s", (int)strcspn(uri, ":"), uri);
	fd = o->is_fd ? fcntl((int)o->fd, F_DUPFD_CLOEXEC, 3) : open(path, O_RDWR | O_CLOEXEC);
	return fd >= 0 ? fd : npu_error_set(err, -errno, "device '%s': %s", uri, strerror(errno));
}

/* Is it our driver, and one that we know how to talk to? */
static int check_version(struct npu_device *dev, int fd, struct npu_error *err)
{
	drmVersionPtr v = drmGetVersion(fd);
	int ret = 0;

	if (!v)
		return npu_error_set(err, -ENODEV, "'%s' is not a DRM device", dev->info.uri);
	snprintf(dev->info.driver, sizeof(dev->info.driver), "%d.%d.%d", v->version_major,
		 v->version_minor, v->version_patchlevel);
	if (strcmp(v->name, DRM_NPU_DRIVER_NAME))
		ret = npu_error_set(err, -ENODEV, "device '%s' is driven by '%.32s', not by '%s'",
				    dev->info.uri, v->name, DRM_NPU_DRIVER_NAME);
	else if (v->version_major != DRM_NPU_DRIVER_MAJOR)
		ret = npu_error_set(err, -ENOTSUP,
				    "device '%s': the driver's interface is %d.%d, libnpu %s speaks %d.x; update the older one",
				    dev->info.uri, v->version_major, v->version_minor, NPU_VERSION,
				    DRM_NPU_DRIVER_MAJOR);
	drmFreeVersion(v);
	return ret;
}

static int query(struct drm_device *drm, uint32_t type, void *out, uint32_t size,
		 struct npu_error *err, const char *what)
{
	struct drm_npu_dev_query q = {
		.type = type,
		.size = size,
		.pointer = (uintptr_t)out,
	};

	memset(out, 0, size);
	return drm_call(drm, DRM_IOCTL_NPU_DEV_QUERY, &q, err, what);
}

static int query_device(struct drm_device *drm, struct drm_npu_mmu_info *mmu, struct npu_error *err)
{
	struct npu_device_info *info = &drm->dev->info;
	struct drm_npu_queue_info queues;
	struct drm_npu_npu_info npu;
	struct drm_npu_fw_info fw;
	struct sysinfo mem;
	int ret;

	ret = query(drm, DRM_NPU_DEV_QUERY_NPU_INFO, &npu, sizeof(npu), err, "NPU_INFO");
	if (!ret)
		ret = query(drm, DRM_NPU_DEV_QUERY_FW_INFO, &fw, sizeof(fw), err, "FW_INFO");
	if (!ret)
		ret = query(drm, DRM_NPU_DEV_QUERY_MMU_INFO, mmu, sizeof(*mmu), err, "MMU_INFO");
	if (!ret)
		ret = query(drm, DRM_NPU_DEV_QUERY_QUEUE_INFO, &queues, sizeof(queues), err,
			    "QUEUE_INFO");
	if (ret)
		return ret;
	if (npu.isa_version >> 16 != NPU_ISA_MAJOR)
		return npu_error_set(err, -ENOTSUP,
				     "device '%s' has instruction set %u.%u, libnpu %s makes %u.%u",
				     info->uri, npu.isa_version >> 16, npu.isa_version & 0xffff,
				     NPU_VERSION, NPU_ISA_MAJOR, NPU_ISA_MINOR);
	snprintf(info->name, sizeof(info->name), "NPU v%u, %ux%u MACs, %u engine%s",
		 npu.hw_version >> 16, npu.mac_rows, npu.mac_columns, npu.num_engines,
		 npu.num_engines == 1 ? "" : "s");
	snprintf(info->firmware, sizeof(info->firmware), "%.31s", (const char *)fw.version);
	info->isa_major = npu.isa_version >> 16;
	info->isa_minor = npu.isa_version & 0xffff;
	info->dtypes = npu.dtypes;
	memcpy(info->opcodes, npu.opcodes, sizeof(info->opcodes));
	info->sram_size = npu.sram_size;
	info->max_buffer = sysinfo(&mem) ? mmu->user_va_end / 2 :
					   (uint64_t)mem.totalram * mem.mem_unit;
	info->buffer_align = DRM_PAGE;
	info->num_priorities = NPU_NUM_PRIORITIES;
	drm->timeout_ms = queues.timeout_ms;
	drm->limit_ms = queues.limit_ms;
	return 0;
}

static int create_vm(struct drm_device *drm, const struct drm_npu_mmu_info *mmu,
		     struct npu_error *err)
{
	struct drm_npu_vm_create vm = { 0 };
	int ret = drm_call(drm, DRM_IOCTL_NPU_VM_CREATE, &vm, err, "an address space");

	if (ret)
		return ret;
	drm->vm = vm.id;
	/* The first pages stay free, so that a small offset from nothing faults. */
	if (vm.user_va_range > mmu->user_va_end)
		vm.user_va_range = mmu->user_va_end;
	drm->free = malloc(sizeof(*drm->free));
	if (!drm->free || vm.user_va_range <= DRM_LARGE)
		return npu_error_set(err, -ENOMEM, "no memory for a device");
	*drm->free = (struct drm_range){ .start = DRM_LARGE,
					 .size = vm.user_va_range - DRM_LARGE };
	return 0;
}

static void drm_free(struct drm_device *drm)
{
	struct drm_npu_vm_destroy vm = { .id = drm->vm };

	if (drm->vm)
		drmIoctl(drm->fd, DRM_IOCTL_NPU_VM_DESTROY, &vm);
	close(drm->fd);
	drm_va_fini(drm);
	pthread_mutex_destroy(&drm->lock);
	free(drm->handle_refs);
	free(drm);
}

/* Objects that can have large pages are made of nothing else. */
static uint64_t round_object(uint64_t size)
{
	if (!size)
		return DRM_MAX_OBJECT;
	if (size >= DRM_LARGE)
		return size / DRM_LARGE * DRM_LARGE;
	return size < DRM_PAGE ? DRM_PAGE : size / DRM_PAGE * DRM_PAGE;
}

static int drm_open(struct npu_device *dev, const char *uri,
		    const struct npu_device_options *options, struct npu_error *err)
{
	struct uri_options uo = { .max_object = options->max_object };
	struct drm_npu_mmu_info mmu;
	struct drm_device *drm;
	int fd, ret;

	ret = parse_uri(uri, &uo, err);
	if (ret)
		return ret;
	fd = open_node(uri, &uo, err);
	if (fd < 0)
		return fd;
	ret = check_version(dev, fd, err);
	drm = ret ? NULL : calloc(1, sizeof(*drm));
	if (!drm) {
		close(fd);
		return ret ? ret : npu_error_set(err, -ENOMEM, "no memory for a device");
	}
	drm->dev = dev;
	drm->fd = fd;
	drm->max_object = round_object(uo.max_object);
	dev->info.max_object = drm->max_object;
	pthread_mutex_init(&drm->lock, NULL);
	ret = query_device(drm, &mmu, err);
	if (!ret)
		ret = create_vm(drm, &mmu, err);
	if (ret) {
		drm_free(drm);
		return ret;
	}
	dev->backend = drm;
	return 0;
}

/* All objects hold references on the device: there is none, and no thread of a queue looks here. */
static void drm_close(struct npu_device *dev)
{
	drm_free(dev->backend);
	npu_device_free(dev);
}

void npu_drm_probe(struct npu_device_candidate *c)
{
	struct npu_device dev = { .info = { .size = sizeof(dev.info) } };
	const struct uri_options none = { .is_fd = false };
	struct npu_error err = { .text = "" };
	int fd;

	snprintf(dev.info.uri, sizeof(dev.info.uri), "%s", c->uri);
	fd = open_node(c->uri, &none, &err);
	c->status = fd < 0 ? fd : check_version(&dev, fd, &err);
	if (c->status)
		snprintf(c->reason, sizeof(c->reason), "%.255s", err.text);
	if (fd >= 0)
		close(fd);
}

const struct npu_backend_ops npu_backend_drm = {
	.name = "drm",
	.own_fences_only = true,
	.candidate = drm_candidate,
	.match = drm_match,
	.open = drm_open,
	.close = drm_close,
	.buffer_create = drm_buffer_create,
	.buffer_import_host = drm_buffer_import_host,
	.buffer_import_dmabuf = drm_buffer_import_dmabuf,
	.buffer_export_dmabuf = drm_buffer_export_dmabuf,
	.buffer_sync = drm_buffer_sync,
	.buffer_is_bounced = drm_buffer_is_bounced,
	.buffer_destroy = drm_buffer_destroy,
	.code_create = drm_code_create,
	.code_destroy = drm_code_destroy,
	.queue_create = drm_queue_create,
	.queue_destroy = drm_queue_destroy,
	.submit = drm_submit,
	.cancel = drm_cancel,
	.cancel_queue = drm_cancel_queue,
	.fence_export = drm_fence_export,
	.wait = drm_wait,
	.attend = drm_attend,
};
