// SPDX-License-Identifier: MIT
/* What each request does. A message is as hostile as the client: sizes are checked here. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "vdev_priv.h"

/* A request and its answer on the way through a handler. */
struct message {
	struct npu_vdev *dev;
	const npu_u8 *in;
	npu_u32 in_size;
	npu_u8 *out;			/* VFU_MAX_MESSAGE - a header */
	npu_u32 out_size;
	bool posted;
};

/* The fixed part of the payload. False: it is shorter than that. */
static bool take(const struct message *m, void *to, npu_u32 size)
{
	if (m->in_size < size)
		return false;
	memcpy(to, m->in, size);
	return true;
}

static int answer(struct message *m, const void *from, npu_u32 size)
{
	memcpy(m->out, from, size);
	m->out_size = size;
	return 0;
}

/* ---- VERSION ---- */

/* Only what the client has named may be answered. */
static const struct capability {
	const char *name;
	bool truth;			/* true and no number */
	npu_u32 value;
} capabilities[] = {
	{ "max_msg_fds", false, VFU_MAX_FDS },
	{ "max_data_xfer_size", false, VFU_MAX_DATA },
	{ "max_dma_maps", false, VFU_MAX_DMA_MAPS },
	{ "pgsizes", false, VFU_PAGE_SIZE },
	{ "write_multiple", true, 1 },
};

/* The answer to the client's capabilities, as text. 0 or an errno. */
static int capabilities_answer(const char *json, char *text, size_t size)
{
	cJSON *root = cJSON_Parse(json),
	      *caps = cJSON_GetObjectItemCaseSensitive(root, "capabilities");
	size_t i, n = 0;

	if (!cJSON_IsObject(root) || (caps && !cJSON_IsObject(caps))) {
		cJSON_Delete(root);
		return EINVAL;
	}
	n += snprintf(text, size, "{\"capabilities\":{");
	for (i = 0; i < sizeof(capabilities) / sizeof(*capabilities); i++) {
		const struct capability *c = &capabilities[i];

		if (!cJSON_HasObjectItem(caps, c->name))
			continue;
		n += snprintf(text + n, size - n, "%s\"%s\":", text[n - 1] == '{' ? "" : ",",
			      c->name);
		n += c->truth ? snprintf(text + n, size - n, "true") :
				snprintf(text + n, size - n, "%u", c->value);
	}
	snprintf(text + n, size - n, "}}");
	cJSON_Delete(root);
	return 0;
}

static int version(struct message *m)
{
	const char *json = (const char *)m->in + sizeof(struct vfu_version);
	struct vfu_version v;
	char text[256] = "";
	npu_u32 left;
	int ret;

	if (m->dev->sh->negotiated || m->posted || !take(m, &v, sizeof(v)))
		return EINVAL;
	if (v.major != VFU_MAJOR) {
		npu_vdev_log(m->dev, "version: the client speaks %u.%u, we %u.%u", v.major, v.minor,
			     VFU_MAJOR, VFU_MINOR);
		return EINVAL;
	}
	left = m->in_size - sizeof(v);
	if (left && memchr(json, 0, left) != json + left - 1)
		return EINVAL;
	if (left) {
		ret = capabilities_answer(json, text, sizeof(text));
		if (ret)
			return ret;
	}
	v.minor = VFU_MINOR;
	answer(m, &v, sizeof(v));
	if (left) {
		memcpy(m->out + sizeof(v), text, strlen(text) + 1);
		m->out_size += strlen(text) + 1;
	}
	m->dev->sh->negotiated = true;
	npu_vdev_log(m->dev, "version %u.%u, the client has %.200s", v.major, v.minor,
		     left ? json : "no capabilities");
	return 0;
}

/* ---- guest memory ---- */

static int dma_map(struct message *m)
{
	struct vfu_dma_map map;
	int ret;

	if (m->in_size != sizeof(map) || !take(m, &map, sizeof(map)))
		return EINVAL;
	ret = vdev_dma_map(m->dev, &map);
	vdev_count(m->dev, VDEV_COUNT_MAPS);
	if (ret)
		npu_vdev_log(m->dev, "dma-map: %#llx + %#llx at %#llx, flags %#x, %u files: %s",
			     (unsigned long long)map.iova, (unsigned long long)map.size,
			     (unsigned long long)map.offset, map.flags, m->dev->sh->num_fds,
			     strerror(ret));
	return ret;
}

static int dma_unmap(struct message *m)
{
	struct vfu_dma_unmap un;
	npu_u64 first, last;
	int ret;

	/* A bitmap of dirty pages may be asked for behind it: there is none. */
	if (!take(m, &un, sizeof(un)) || un.flags & ~VFU_UNMAP_ALL)
		return EINVAL;
	if (un.flags & VFU_UNMAP_ALL) {
		if (un.iova || un.size)
			return EINVAL;
		first = 0;
		last = UINT64_MAX;
	} else {
		if (!un.size || un.size - 1 > UINT64_MAX - un.iova ||
		    (un.iova | un.size) & (VFU_PAGE_SIZE - 1))
			return EINVAL;
		first = un.iova;
		last = un.iova + (un.size - 1);
	}
	vdev_count(m->dev, VDEV_COUNT_UNMAPS);
	ret = vdev_dma_unmap(m->dev, first, last);
	vdev_barrier_start(m->dev, first, last, NULL);
	return ret ? ret : answer(m, &un, sizeof(un));
}

/* ---- what the device has ---- */

static int get_info(struct message *m)
{
	struct vfu_device_info info;

	if (!take(m, &info, sizeof(info)) || info.argsz < sizeof(info))
		return EINVAL;
	info = (struct vfu_device_info){ .argsz = sizeof(info),
					 .flags = VFU_DEVICE_RESET | VFU_DEVICE_PCI,
					 .num_regions = VFU_NUM_REGIONS, .num_irqs = VFU_NUM_IRQS };
	return answer(m, &info, sizeof(info));
}

static int get_region_info(struct message *m)
{
	struct vfu_region_info r;

	if (!take(m, &r, sizeof(r)) || r.argsz < sizeof(r) || r.index >= VFU_NUM_REGIONS)
		return EINVAL;
	r = (struct vfu_region_info){ .argsz = sizeof(r), .index = r.index };
	if (r.index == VFU_REGION_BAR0)
		r.size = NPU_BAR0_SIZE;
	else if (r.index == VFU_REGION_CONFIG)
		r.size = VDEV_CONFIG_SIZE;
	/* None can be mapped: with one that can, QEMU posts no writes. */
	if (r.size)
		r.flags = VFU_REGION_CAN_READ | VFU_REGION_CAN_WRITE;
	return answer(m, &r, sizeof(r));
}

static int get_irq_info(struct message *m)
{
	struct vfu_irq_info irq;

	if (!take(m, &irq, sizeof(irq)) || irq.argsz < sizeof(irq) || irq.index >= VFU_NUM_IRQS)
		return EINVAL;
	irq = (struct vfu_irq_info){ .argsz = sizeof(irq), .index = irq.index };
	/* QEMU warns about a device without ERR; we never raise it. */
	if (irq.index == VFU_IRQ_MSI || irq.index == VFU_IRQ_ERR) {
		irq.count = 1;
		irq.flags = VFU_IRQ_EVENTFD | VFU_IRQ_MASKABLE;
	}
	return answer(m, &irq, sizeof(irq));
}

static int set_irqs(struct message *m)
{
	struct vfu_set_irqs set;

	if (!take(m, &set, sizeof(set)))
		return EINVAL;
	return vdev_irq_set(m->dev, &set, m->in + sizeof(set), m->in_size - sizeof(set));
}

/* ---- regions ---- */

static int region_read(struct message *m)
{
	struct vfu_region_rw rw;
	int ret;

	if (m->in_size != sizeof(rw) || !take(m, &rw, sizeof(rw)) || rw.count > VFU_MAX_DATA)
		return EINVAL;
	ret = vdev_region_access(m->dev, rw.region, rw.offset, m->out + sizeof(rw), rw.count,
				 false);
	if (ret)
		return ret;
	answer(m, &rw, sizeof(rw));
	m->out_size += rw.count;
	return 0;
}

static int region_write(struct message *m)
{
	struct vfu_region_rw rw;
	int ret;

	if (!take(m, &rw, sizeof(rw)) || rw.count != m->in_size - sizeof(rw))
		return EINVAL;
	if (m->posted)
		vdev_count(m->dev, VDEV_COUNT_POSTED);
	ret = vdev_region_access(m->dev, rw.region, rw.offset, (npu_u8 *)m->in + sizeof(rw),
				 rw.count, true);
	return ret ? ret : answer(m, &rw, sizeof(rw));
}

static int write_multi(struct message *m)
{
	struct vfu_write_multi multi;
	struct vfu_write_one one;
	npu_u64 i;
	int ret = 0, first = 0;

	if (!take(m, &multi, sizeof(multi)) ||
	    multi.count != (m->in_size - sizeof(multi)) / sizeof(one) ||
	    (m->in_size - sizeof(multi)) % sizeof(one))
		return EINVAL;
	for (i = 0; i < multi.count; i++) {
		memcpy(&one, m->in + sizeof(multi) + i * sizeof(one), sizeof(one));
		if (m->posted)
			vdev_count(m->dev, VDEV_COUNT_POSTED);
		ret = one.count <= VFU_MULTI_BYTES
			      ? vdev_region_access(m->dev, one.region, one.offset, one.data,
						   one.count, true)
			      : EINVAL;
		if (ret && !first)
			first = ret;
	}
	return first ? first : answer(m, &multi, sizeof(multi));
}

static int reset(struct message *m)
{
	vdev_reset(m->dev, NPU_VDEV_RESET_BUS);
	return 0;
}

#define PLAIN(command, fn)	[VFU_##command] = { .name = #command, .handle = fn }
#define FILES(command, fn)	[VFU_##command] = { .name = #command, .handle = fn, .files = true }

static const struct handler {
	const char *name;
	int (*handle)(struct message *m);
	bool files;			/* may come with some */
} handlers[VFU_NUM_COMMANDS] = {
	PLAIN(VERSION, version),
	FILES(DMA_MAP, dma_map),
	PLAIN(DMA_UNMAP, dma_unmap),
	PLAIN(GET_INFO, get_info),
	PLAIN(GET_REGION_INFO, get_region_info),
	PLAIN(GET_IRQ_INFO, get_irq_info),
	FILES(SET_IRQS, set_irqs),
	PLAIN(REGION_READ, region_read),
	PLAIN(REGION_WRITE, region_write),
	PLAIN(RESET, reset),
	PLAIN(WRITE_MULTI, write_multi),
};

int vdev_message_handle(struct npu_vdev *dev, const struct vfu_header *hdr, const npu_u8 *payload,
			npu_u32 size, npu_u8 *reply, npu_u32 *reply_size)
{
	struct message m = { .dev = dev, .in = payload, .in_size = size, .out = reply,
			     .posted = hdr->flags & VFU_FLAG_NO_REPLY };
	const struct handler *h = hdr->command < VFU_NUM_COMMANDS ? &handlers[hdr->command] : NULL;
	int ret;

	*reply_size = 0;
	if (!h || !h->handle)
		ret = ENOTSUP;
	else if (!dev->sh->negotiated && h->handle != version)
		ret = EPROTO;
	else if (dev->sh->num_fds && !h->files)
		ret = EINVAL;
	else
		ret = h->handle(&m);
	if (ret) {
		vdev_count(dev, VDEV_COUNT_ERRORS);
		npu_vdev_log(dev, "%s (command %u) of %u bytes: %s",
			     h && h->name ? h->name : "unknown", hdr->command, size, strerror(ret));
		return ret;
	}
	*reply_size = m.out_size;
	return 0;
}
