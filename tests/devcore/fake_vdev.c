// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fake_vdev.h"

#define PAGE	4096u

struct npu_vdev *fake_create(void)
{
	struct npu_vdev *dev = calloc(1, sizeof(*dev));
	npu_u64 size = (npu_u64)FAKE_PAGES * PAGE;

	if (!dev)
		exit(2);
	dev->fd = memfd_create("guest", MFD_CLOEXEC);
	if (dev->fd < 0 || ftruncate(dev->fd, (off_t)size))
		exit(2);
	dev->mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, dev->fd, 0);
	if (dev->mem == MAP_FAILED)
		exit(2);
	pthread_mutex_init(&dev->lock, NULL);
	atomic_store(&dev->bus_master, true);
	return dev;
}

void fake_destroy(struct npu_vdev *dev)
{
	munmap(dev->mem, (npu_u64)FAKE_PAGES * PAGE);
	close(dev->fd);
	pthread_mutex_destroy(&dev->lock);
	free(dev);
}

void fake_map(struct npu_vdev *dev, npu_u32 iova_page, npu_u32 page, bool writable)
{
	pthread_mutex_lock(&dev->lock);
	dev->map[iova_page] = page + 1;
	dev->writable[iova_page] = writable;
	pthread_mutex_unlock(&dev->lock);
}

void fake_unmap(struct npu_vdev *dev, struct npu_vdev_core *core, npu_u32 iova_page, npu_u32 n)
{
	npu_u64 first = FAKE_IOVA_BASE + (npu_u64)iova_page * PAGE;

	pthread_mutex_lock(&dev->lock);
	memset(dev->map + iova_page, 0, n * sizeof(dev->map[0]));
	pthread_mutex_unlock(&dev->lock);
	while (npu_vdev_core.dma_unmap(core, first, first + (npu_u64)n * PAGE - 1) ||
	       atomic_load(&dev->num_pins))
		usleep(50);
}

/* ---- vdev.h ---- */

static int page_at(struct npu_vdev *dev, npu_u64 iova, npu_u32 access, npu_u32 *index)
{
	npu_u64 i = (iova - FAKE_IOVA_BASE) / PAGE;

	if (iova < FAKE_IOVA_BASE || i >= FAKE_IOVA_PAGES || !dev->map[i])
		return -EFAULT;
	if (access & NPU_ACCESS_WRITE && !dev->writable[i])
		return -EACCES;
	*index = (npu_u32)i;
	return 0;
}

static int acquire(struct npu_vdev *dev, npu_u64 iova, npu_u64 size, npu_u32 access,
		   struct npu_vdev_run *run, unsigned int max, npu_u64 *bad)
{
	unsigned int n = 0;
	npu_u64 done, piece;
	npu_u32 i = 0;
	char *host;
	int ret;

	for (done = 0; done < size; done += piece) {
		ret = page_at(dev, iova + done, access, &i);
		if (ret) {
			*bad = iova + done;
			return ret;
		}
		piece = PAGE - (iova + done) % PAGE;
		if (piece > size - done)
			piece = size - done;
		host = (char *)dev->mem + (npu_u64)(dev->map[i] - 1) * PAGE + (iova + done) % PAGE;
		if (n && (char *)run[n - 1].host + run[n - 1].size == host &&
		    run[n - 1].writable == dev->writable[i]) {
			run[n - 1].size += piece;
			continue;
		}
		if (n == max)
			break;
		run[n++] = (struct npu_vdev_run){ .host = host, .size = piece,
						  .fd = atomic_load(&dev->no_fd) ? -1 : dev->fd,
						  .offset = (npu_u64)(host - (char *)dev->mem),
						  .writable = dev->writable[i] };
	}
	return (int)n;
}

int npu_vdev_dma_acquire(struct npu_vdev *dev, npu_u64 iova, npu_u64 size, npu_u32 access,
			 struct npu_vdev_pin *pin, struct npu_vdev_run *runs,
			 unsigned int max_runs, npu_u64 *bad)
{
	npu_u64 none;
	int ret;

	bad = bad ? bad : &none;
	*bad = iova;
	if (!atomic_load(&dev->bus_master) &&
	    !npu_vdev_fault_armed(dev, NPU_VDEV_MUTANT_IGNORE_BME))
		return -EPERM;
	if (!size || iova + (size - 1) < iova)
		return -EINVAL;
	pthread_mutex_lock(&dev->lock);
	ret = acquire(dev, iova, size, access, runs, max_runs, bad);
	if (ret > 0)
		atomic_fetch_add(&dev->num_pins, 1);
	pthread_mutex_unlock(&dev->lock);
	return ret;
}

void npu_vdev_dma_release(struct npu_vdev *dev, struct npu_vdev_pin *pin)
{
	atomic_fetch_sub(&dev->num_pins, 1);
}

static int copy(struct npu_vdev *dev, npu_u64 iova, char *buf, npu_u64 size, bool write,
		npu_u64 *bad)
{
	npu_u32 access = write ? NPU_ACCESS_WRITE : NPU_ACCESS_READ;
	struct npu_vdev_run run;
	struct npu_vdev_pin pin;
	int ret;

	while (size) {
		ret = npu_vdev_dma_acquire(dev, iova, size, access, &pin, &run, 1, bad);
		if (ret < 0)
			return ret;
		if (write)
			memcpy(run.host, buf, run.size);
		else
			memcpy(buf, run.host, run.size);
		npu_vdev_dma_release(dev, &pin);
		iova += run.size;
		buf += run.size;
		size -= run.size;
	}
	return 0;
}

int npu_vdev_dma_read(struct npu_vdev *dev, npu_u64 iova, void *buf, npu_u64 size, npu_u64 *bad)
{
	return copy(dev, iova, buf, size, false, bad);
}

int npu_vdev_dma_write(struct npu_vdev *dev, npu_u64 iova, const void *buf, npu_u64 size,
		       npu_u64 *bad)
{
	return copy(dev, iova, (char *)(uintptr_t)buf, size, true, bad);
}

static int word(struct npu_vdev *dev, npu_u64 iova, unsigned int size, npu_u64 *value, bool write,
		npu_u64 *bad)
{
	npu_u32 access = write ? NPU_ACCESS_WRITE : NPU_ACCESS_READ;
	struct npu_vdev_run run;
	struct npu_vdev_pin pin;
	int ret = npu_vdev_dma_acquire(dev, iova, size, access, &pin, &run, 1, bad);

	if (ret < 0)
		return ret;
	if (write)
		__atomic_store_n((npu_u32 *)run.host, (npu_u32)*value, __ATOMIC_RELEASE);
	else if (size == 4)
		*value = __atomic_load_n((npu_u32 *)run.host, __ATOMIC_ACQUIRE);
	else
		*value = __atomic_load_n((npu_u64 *)run.host, __ATOMIC_ACQUIRE);
	npu_vdev_dma_release(dev, &pin);
	return 0;
}

int npu_vdev_dma_load32(struct npu_vdev *dev, npu_u64 iova, npu_u32 *value, npu_u64 *bad)
{
	npu_u64 v = 0;
	int ret = word(dev, iova, 4, &v, false, bad);

	*value = (npu_u32)v;
	return ret;
}

int npu_vdev_dma_load64(struct npu_vdev *dev, npu_u64 iova, npu_u64 *value, npu_u64 *bad)
{
	return word(dev, iova, 8, value, false, bad);
}

int npu_vdev_dma_store32(struct npu_vdev *dev, npu_u64 iova, npu_u32 value, npu_u64 *bad)
{
	npu_u64 v = value;

	return word(dev, iova, 4, &v, true, bad);
}

void npu_vdev_dma_kick(struct npu_vdev *dev)
{
	atomic_fetch_add(&dev->kicks, 1);
}

void npu_vdev_dma_report(struct npu_vdev *dev, npu_u64 iova, npu_u32 access)
{
	atomic_fetch_add(&dev->reports, 1);
}

void npu_vdev_irq_raise(struct npu_vdev *dev)
{
	atomic_fetch_add(&dev->irqs, 1);
}

void *npu_vdev_keep(struct npu_vdev *dev)
{
	return dev->keep;
}

void npu_vdev_log(struct npu_vdev *dev, const char *fmt, ...)
{
	fake_on_log on_log = atomic_exchange(&dev->on_log, NULL);
	va_list ap;

	atomic_fetch_add(&dev->logs, 1);
	if (on_log)
		on_log(dev, dev->on_log_ctx);
	if (!dev->loud)
		return;
	va_start(ap, fmt);
	printf("# log: ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
}

bool npu_vdev_fault_armed(struct npu_vdev *dev, enum npu_vdev_fault id)
{
	return atomic_load(&dev->armed[id]) != 0;
}

bool npu_vdev_fault_take(struct npu_vdev *dev, enum npu_vdev_fault id)
{
	int n = atomic_load(&dev->armed[id]);

	while (n > 0)
		if (atomic_compare_exchange_weak(&dev->armed[id], &n, n - 1))
			return true;
	return n < 0;
}
