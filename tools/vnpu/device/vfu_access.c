// SPDX-License-Identifier: MIT
/* Guest memory: the core's accesses. */
#include <errno.h>
#include <string.h>
#include "vdev_priv.h"

static void pin_add(struct vdev_dma *dma, struct npu_vdev_pin *pin, npu_u64 first, npu_u64 last)
{
	pin->first = first;
	pin->last = last;
	pin->prev = NULL;
	pthread_mutex_lock(&dma->pin_lock);
	pin->next = dma->pins;
	if (pin->next)
		pin->next->prev = pin;
	dma->pins = pin;
	pthread_mutex_unlock(&dma->pin_lock);
}

bool vdev_dma_pinned(struct npu_vdev *dev, npu_u64 first, npu_u64 last)
{
	struct vdev_dma *dma = &dev->dma;
	const struct npu_vdev_pin *p;

	pthread_mutex_lock(&dma->pin_lock);
	for (p = dma->pins; p; p = p->next)
		if (p->first <= last && p->last >= first)
			break;
	pthread_mutex_unlock(&dma->pin_lock);
	return p != NULL;
}

void npu_vdev_dma_release(struct npu_vdev *dev, struct npu_vdev_pin *pin)
{
	struct vdev_dma *dma = &dev->dma;

	pthread_mutex_lock(&dma->pin_lock);
	if (pin->prev)
		pin->prev->next = pin->next;
	else
		dma->pins = pin->next;
	if (pin->next)
		pin->next->prev = pin->prev;
	pthread_mutex_unlock(&dma->pin_lock);
	if (atomic_load_explicit(&dev->barrier_waits, memory_order_acquire))
		vdev_kick(dev);
}

/* Whether @e lies behind @run in the host as well. */
static bool run_extends(const struct npu_vdev_run *run, const struct npu_vdev *dev,
			const struct dma_entry *e)
{
	return run->fd == dev->sh->files[e->file].fd && run->offset + run->size == e->offset &&
	       run->writable == !!(e->access & NPU_ACCESS_WRITE);
}

static int entry_check(const struct dma_entry *e, npu_u64 addr, npu_u32 access)
{
	if (!e || e->first > addr)
		return -EFAULT;
	if (!e->host)
		return -ENXIO;
	return (e->access & access) == access ? 0 : -EACCES;
}

/* Runs of [addr, last], as many as fit; their number, or an error and the address in *@bad. */
static int runs_find(struct npu_vdev *dev, npu_u64 addr, npu_u64 last, npu_u32 access,
		     struct npu_vdev_run *runs, unsigned int max, npu_u64 *bad)
{
	struct dma_pos pos;
	struct dma_entry *e = dma_index_find(&dev->dma.index, addr, &pos);
	unsigned int n = 0;
	npu_u64 end;
	int ret;

	for (;; e = dma_index_next(&dev->dma.index, &pos)) {
		ret = entry_check(e, addr, access);
		if (ret) {
			*bad = addr;
			return ret;
		}
		end = e->last < last ? e->last : last;
		if (n && addr == e->first && run_extends(&runs[n - 1], dev, e)) {
			runs[n - 1].size += end - addr + 1;
		} else {
			if (n == max)
				return n;
			runs[n++] = (struct npu_vdev_run){
				.host = e->host + (addr - e->first), .size = end - addr + 1,
				.fd = dev->sh->files[e->file].fd,
				.offset = e->offset + (addr - e->first),
				.writable = !!(e->access & NPU_ACCESS_WRITE) };
		}
		if (end == last)
			return n;
		addr = end + 1;
	}
}

static bool dma_allowed(struct npu_vdev *dev)
{
	if (vdev_removed(dev))
		return false;
	return dev->dma.bus_master || npu_vdev_fault_take(dev, NPU_VDEV_MUTANT_IGNORE_BME);
}

int npu_vdev_dma_acquire(struct npu_vdev *dev, npu_u64 iova, npu_u64 size, npu_u32 access,
			 struct npu_vdev_pin *pin, struct npu_vdev_run *runs,
			 unsigned int max_runs, npu_u64 *bad)
{
	npu_u64 where = iova, covered = 0;
	int ret, i;

	if (!size || size - 1 > UINT64_MAX - iova || !max_runs) {
		ret = -EINVAL;
		goto out;
	}
	pthread_rwlock_rdlock(&dev->dma.lock);
	ret = dma_allowed(dev) ? runs_find(dev, iova, iova + (size - 1), access, runs, max_runs,
					   &where) : -EPERM;
	for (i = 0; i < ret; i++)
		covered += runs[i].size;
	if (ret > 0)
		pin_add(&dev->dma, pin, iova, iova + (covered - 1));
	pthread_rwlock_unlock(&dev->dma.lock);
out:
	if (ret < 0)
		vdev_count(dev, VDEV_COUNT_DMA_FAULTS);
	if (ret < 0 && bad)
		*bad = where;
	return ret;
}

npu_u32 vdev_dma_rights(struct npu_vdev *dev, npu_u64 iova, npu_u8 *byte)
{
	npu_u32 rights = 0;
	struct dma_pos pos;
	struct dma_entry *e;

	pthread_rwlock_rdlock(&dev->dma.lock);
	e = dma_index_find(&dev->dma.index, iova, &pos);
	if (e && e->first <= iova)
		rights = e->host ? e->access : NPU_ACCESS_READ | NPU_ACCESS_WRITE;
	if (rights && e->host && (rights & NPU_ACCESS_READ))
		*byte = e->host[iova - e->first];
	pthread_rwlock_unlock(&dev->dma.lock);
	return rights;
}

#define COPY_RUNS	16u

enum copy_mode { COPY_CHECK, COPY_READ, COPY_WRITE };

/* Go over [iova, iova + size) in pieces. */
static int range_copy(struct npu_vdev *dev, npu_u64 iova, npu_u8 *buf, npu_u64 size,
		      enum copy_mode mode, npu_u32 access, npu_u64 *bad)
{
	struct npu_vdev_run runs[COPY_RUNS];
	struct npu_vdev_pin pin;
	int n, i;

	while (size) {
		n = npu_vdev_dma_acquire(dev, iova, size, access, &pin, runs, COPY_RUNS, bad);
		if (n < 0)
			return n;
		for (i = 0; i < n; i++) {
			if (mode == COPY_READ)
				memcpy(buf, runs[i].host, runs[i].size);
			else if (mode == COPY_WRITE)
				memcpy(runs[i].host, buf, runs[i].size);
			buf += runs[i].size;
			iova += runs[i].size;
			size -= runs[i].size;
		}
		npu_vdev_dma_release(dev, &pin);
	}
	return 0;
}

int npu_vdev_dma_read(struct npu_vdev *dev, npu_u64 iova, void *buf, npu_u64 size, npu_u64 *bad)
{
	if (!size || size - 1 > UINT64_MAX - iova) {
		if (bad)
			*bad = iova;
		return -EINVAL;
	}
	return range_copy(dev, iova, buf, size, COPY_READ, NPU_ACCESS_READ, bad);
}

int npu_vdev_dma_write(struct npu_vdev *dev, npu_u64 iova, const void *buf, npu_u64 size,
		       npu_u64 *bad)
{
	npu_u8 *from = (npu_u8 *)buf;
	int ret = 0;

	if (!size || size - 1 > UINT64_MAX - iova) {
		if (bad)
			*bad = iova;
		return -EINVAL;
	}
	/* In pieces the first could be written before the last is found to be bad. */
	if (size > VFU_PAGE_SIZE)
		ret = range_copy(dev, iova, from, size, COPY_CHECK, NPU_ACCESS_WRITE, bad);
	return ret ? ret : range_copy(dev, iova, from, size, COPY_WRITE, NPU_ACCESS_WRITE, bad);
}

/* The word at @iova, pinned; NULL and the error in *@ret. */
static void *word_pin(struct npu_vdev *dev, npu_u64 iova, npu_u32 size, npu_u32 access,
		      struct npu_vdev_pin *pin, npu_u64 *bad, int *ret)
{
	struct npu_vdev_run run;

	if (iova & (size - 1)) {
		if (bad)
			*bad = iova;
		*ret = -EINVAL;
		return NULL;
	}
	*ret = npu_vdev_dma_acquire(dev, iova, size, access, pin, &run, 1, bad);
	if (*ret < 0)
		return NULL;
	*ret = 0;
	return run.host;
}

int npu_vdev_dma_load32(struct npu_vdev *dev, npu_u64 iova, npu_u32 *value, npu_u64 *bad)
{
	struct npu_vdev_pin pin;
	int ret;
	const npu_u32 *p = word_pin(dev, iova, 4, NPU_ACCESS_READ, &pin, bad, &ret);

	if (!p)
		return ret;
	*value = __atomic_load_n(p, __ATOMIC_ACQUIRE);
	npu_vdev_dma_release(dev, &pin);
	return 0;
}

int npu_vdev_dma_load64(struct npu_vdev *dev, npu_u64 iova, npu_u64 *value, npu_u64 *bad)
{
	struct npu_vdev_pin pin;
	int ret;
	const npu_u64 *p = word_pin(dev, iova, 8, NPU_ACCESS_READ, &pin, bad, &ret);

	if (!p)
		return ret;
	*value = __atomic_load_n(p, __ATOMIC_ACQUIRE);
	npu_vdev_dma_release(dev, &pin);
	return 0;
}

int npu_vdev_dma_store32(struct npu_vdev *dev, npu_u64 iova, npu_u32 value, npu_u64 *bad)
{
	struct npu_vdev_pin pin;
	int ret;
	npu_u32 *p = word_pin(dev, iova, 4, NPU_ACCESS_WRITE, &pin, bad, &ret);

	if (!p)
		return ret;
	__atomic_store_n(p, value, __ATOMIC_RELEASE);
	npu_vdev_dma_release(dev, &pin);
	return 0;
}
