// SPDX-License-Identifier: MIT
/*
 * Faults that the guest's IOMMU is to see: a request to the client for the address, which the
 * client refuses and its IOMMU records. Sent when nothing else is to be answered, as the client may
 * be waiting for us.
 */
#include <string.h>
#include "vdev_priv.h"

void vdev_report_init(struct npu_vdev *dev)
{
	pthread_mutex_init(&dev->report_lock, NULL);
	memset(dev->report, 0, sizeof(dev->report));
}

void npu_vdev_dma_report(struct npu_vdev *dev, npu_u64 iova, npu_u32 access)
{
	struct vdev_report *r;

	pthread_mutex_lock(&dev->report_lock);
	for (r = dev->report; r < dev->report + VDEV_MAX_REPORTS && r->used; r++)
		;
	if (r < dev->report + VDEV_MAX_REPORTS)
		*r = (struct vdev_report){ .iova = iova, .access = access, .used = true };
	else
		vdev_count(dev, VDEV_COUNT_REPORTS_LOST);
	pthread_mutex_unlock(&dev->report_lock);
	vdev_kick(dev);
}

/*
 * Build the request in tx. False: the address is good by now, there is nothing to show. Where it
 * may be read but not written the request writes what stands there: should the client carry it out
 * after all, nothing changes. Everything else is read.
 */
static bool report_build(struct npu_vdev *dev, struct vdev_report *r)
{
	struct vdev_transfer *tx = &dev->sh->tx;
	struct vfu_header hdr = { .id = ++dev->report_id, .command = VFU_DMA_READ };
	struct vfu_dma_rw rw = { .iova = r->iova, .count = 1 };
	npu_u8 byte;
	npu_u32 rights = vdev_dma_rights(dev, r->iova, &byte);

	if ((rights & r->access) == r->access)
		return false;
	hdr.size = sizeof(hdr) + sizeof(rw);
	if (rights & NPU_ACCESS_READ) {
		hdr.command = VFU_DMA_WRITE;
		tx->buf[hdr.size++] = byte;
	}
	r->id = hdr.id;
	memcpy(tx->buf, &hdr, sizeof(hdr));
	memcpy(tx->buf + sizeof(hdr), &rw, sizeof(rw));
	tx->len = hdr.size;
	return true;
}

void vdev_report_next(struct npu_vdev *dev)
{
	struct vdev_report *r;

	if (!dev->sh->negotiated)
		return;
	pthread_mutex_lock(&dev->report_lock);
	for (r = dev->report; r < dev->report + VDEV_MAX_REPORTS; r++) {
		if (!r->used || r->sent)
			continue;
		r->sent = r->used = report_build(dev, r);
		if (r->sent) {
			vdev_count(dev, VDEV_COUNT_REPORTS);
			break;
		}
	}
	pthread_mutex_unlock(&dev->report_lock);
}

void vdev_report_reply(struct npu_vdev *dev, const struct vfu_header *hdr)
{
	struct vdev_report *r;

	pthread_mutex_lock(&dev->report_lock);
	for (r = dev->report; r < dev->report + VDEV_MAX_REPORTS; r++)
		if (r->used && r->sent && r->id == hdr->id)
			break;
	if (r < dev->report + VDEV_MAX_REPORTS) {
		r->used = r->sent = false;
		if (hdr->flags & VFU_FLAG_ERROR)
			vdev_count(dev, VDEV_COUNT_REPORTS_BAD);
	}
	pthread_mutex_unlock(&dev->report_lock);
}

void vdev_report_clear(struct npu_vdev *dev)
{
	pthread_mutex_lock(&dev->report_lock);
	memset(dev->report, 0, sizeof(dev->report));
	pthread_mutex_unlock(&dev->report_lock);
}
