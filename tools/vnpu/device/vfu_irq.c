// SPDX-License-Identifier: MIT
/* The one interrupt: an eventfd of the client, masks, and a gap between two of them. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "pci_config.h"
#include "vdev_priv.h"

void vdev_irq_init(struct npu_vdev *dev)
{
	pthread_mutex_init(&dev->irq_lock, NULL);
	dev->irq_last_us = 0;
	dev->irq_due_us = 0;
}

/* What is pending, if it may be sent now. Under irq_lock. */
static void irq_flush(struct npu_vdev *dev)
{
	struct vdev_shared *sh = dev->sh;
	npu_u64 one = 1, now, gap = dev->opt.config.irq_gap_us;

	dev->irq_due_us = 0;
	if (!sh->irq_pending || sh->irq_fd < 0 || sh->irq_masked ||
	    pci_config_msi_masked(sh->config))
		return;
	now = gap ? vdev_now_us() : 0;
	if (gap && now - dev->irq_last_us < gap) {
		dev->irq_due_us = dev->irq_last_us + gap;
		return;
	}
	dev->irq_last_us = now;
	sh->irq_pending = false;
	if (write(sh->irq_fd, &one, sizeof(one)) == sizeof(one))
		vdev_count(dev, VDEV_COUNT_IRQ_SENT);
}

void npu_vdev_irq_raise(struct npu_vdev *dev)
{
	bool held;

	vdev_count(dev, VDEV_COUNT_IRQ_RAISED);
	if (vdev_removed(dev))
		return;
	if (npu_vdev_fault_take(dev, NPU_VDEV_FAULT_LOST_INTERRUPT)) {
		vdev_count(dev, VDEV_COUNT_IRQ_LOST);
		return;
	}
	pthread_mutex_lock(&dev->irq_lock);
	dev->sh->irq_pending = true;
	irq_flush(dev);
	held = dev->irq_due_us != 0;
	pthread_mutex_unlock(&dev->irq_lock);
	if (held)
		vdev_kick(dev);
}

npu_s64 vdev_irq_update(struct npu_vdev *dev)
{
	npu_u64 due, now;

	pthread_mutex_lock(&dev->irq_lock);
	irq_flush(dev);
	due = dev->irq_due_us;
	pthread_mutex_unlock(&dev->irq_lock);
	if (!due)
		return -1;
	now = vdev_now_us();
	return due > now ? (npu_s64)(due - now) : 0;
}

/* Use @fd from now on, -1: none. */
static void irq_file(struct npu_vdev *dev, int fd)
{
	struct vdev_shared *sh = dev->sh;
	int old = sh->irq_fd;

	/* Whatever the client gave us, a write must not block. */
	if (fd >= 0)
		fcntl(fd, F_SETFL, O_NONBLOCK | O_RDWR);
	sh->irq_fd = fd;
	if (old >= 0 && old != fd)
		close(old);
}

static npu_u32 irq_count(npu_u32 index)
{
	return index == VFU_IRQ_MSI || index == VFU_IRQ_ERR;
}

static int set_check(const struct npu_vdev *dev, const struct vfu_set_irqs *set, npu_u32 num_bools)
{
	npu_u32 data = set->flags & VFU_SET_DATA, action = set->flags & VFU_SET_ACTION;

	if (set->flags & ~(VFU_SET_DATA | VFU_SET_ACTION) || !data || (data & (data - 1)) ||
	    !action || (action & (action - 1)))
		return EINVAL;
	if (set->index >= VFU_NUM_IRQS || set->start > irq_count(set->index) ||
	    set->count > irq_count(set->index) - set->start)
		return EINVAL;
	if (dev->sh->num_fds > set->count || (dev->sh->num_fds && data != VFU_SET_EVENTFD))
		return EINVAL;
	if (num_bools != (data == VFU_SET_BOOL ? set->count : 0))
		return EINVAL;
	/* An eventfd that masks is for level interrupts. */
	if (data == VFU_SET_EVENTFD && action != VFU_SET_TRIGGER)
		return EINVAL;
	/* Nothing at all ends the whole index; with an action other than that it says nothing. */
	return set->count || (data == VFU_SET_NONE && action == VFU_SET_TRIGGER) ? 0 : EINVAL;
}

int vdev_irq_set(struct npu_vdev *dev, const struct vfu_set_irqs *set, const npu_u8 *bools,
		 npu_u32 num_bools)
{
	npu_u32 data = set->flags & VFU_SET_DATA, action = set->flags & VFU_SET_ACTION;
	struct vdev_shared *sh = dev->sh;
	int ret = set_check(dev, set, num_bools);

	/* Errors of the bus are never signalled: the file of that index is closed again. */
	if (ret || set->index != VFU_IRQ_MSI)
		return ret;
	pthread_mutex_lock(&dev->irq_lock);
	if (!set->count) {
		irq_file(dev, -1);
	} else if (data == VFU_SET_EVENTFD) {
		irq_file(dev, sh->num_fds ? sh->fds[0] : -1);
		sh->fds[0] = -1;
	} else if (data == VFU_SET_NONE || bools[0]) {
		if (action == VFU_SET_TRIGGER)
			sh->irq_pending = true;
		else
			sh->irq_masked = action == VFU_SET_MASK;
	}
	irq_flush(dev);
	pthread_mutex_unlock(&dev->irq_lock);
	return 0;
}

void vdev_irq_disconnect(struct npu_vdev *dev)
{
	pthread_mutex_lock(&dev->irq_lock);
	irq_file(dev, -1);
	dev->sh->irq_pending = false;
	dev->sh->irq_masked = false;
	dev->irq_due_us = 0;
	pthread_mutex_unlock(&dev->irq_lock);
}
