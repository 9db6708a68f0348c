// SPDX-License-Identifier: MIT
/*
 * Guest memory: what the client has mapped for us, and look-ups in it from many threads. Each file
 * is mapped here once, whole; a mapping by the guest's IOMMU is an entry in a sorted table.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "vdev_priv.h"

static int lock_init(struct vdev_dma *dma)
{
	pthread_rwlockattr_t attr;
	int ret;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	ret = pthread_rwlock_init(&dma->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	if (!ret)
		pthread_mutex_init(&dma->pin_lock, NULL);
	return -ret;
}

int vdev_dma_init(struct npu_vdev *dev)
{
	struct vdev_dma *dma = &dev->dma;

	memset(dma, 0, sizeof(*dma));
	dma_index_init(&dma->index);
	dma->free_slot = malloc(VDEV_MAX_MAPS * sizeof(*dma->free_slot));
	if (!dma->free_slot || lock_init(dma)) {
		free(dma->free_slot);
		dma->free_slot = NULL;
		return -ENOMEM;
	}
	return 0;
}

void vdev_dma_fini(struct npu_vdev *dev)
{
	struct vdev_dma *dma = &dev->dma;
	npu_u32 i;

	if (!dma->free_slot)
		return;
	for (i = 0; i < VDEV_MAX_FILES; i++)
		if (dma->base[i])
			munmap(dma->base[i], dev->sh->files[i].size);
	dma_index_fini(&dma->index);
	free(dma->free_slot);
	pthread_mutex_destroy(&dma->pin_lock);
	pthread_rwlock_destroy(&dma->lock);
	memset(dma, 0, sizeof(*dma));
}

/* ---- files ---- */

/* Map file @i here if it is not. 0 or an errno. */
static int file_attach(struct npu_vdev *dev, npu_u32 i)
{
	struct vdev_dma *dma = &dev->dma;
	struct vdev_file *f = &dev->sh->files[i];
	void *p;

	if (dma->base[i])
		return 0;
	p = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, f->fd, 0);
	dma->read_only[i] = p == MAP_FAILED;
	if (p == MAP_FAILED)
		p = mmap(NULL, f->size, PROT_READ, MAP_SHARED | MAP_NORESERVE, f->fd, 0);
	if (p == MAP_FAILED)
		return errno;
	dma->base[i] = p;
	return 0;
}

static void file_detach(struct npu_vdev *dev, npu_u32 i)
{
	struct vdev_file *f = &dev->sh->files[i];
	int fd = f->fd;

	if (dev->dma.base[i])
		munmap(dev->dma.base[i], f->size);
	dev->dma.base[i] = NULL;
	dev->dma.maps_of[i] = 0;
	f->fd = -1;
	if (fd >= 0)
		close(fd);
}

/* A place for one more file, one that nothing is mapped of any more if need be; -1: none. */
static int file_place(struct npu_vdev *dev)
{
	int i, unused = -1;

	for (i = 0; i < (int)VDEV_MAX_FILES; i++) {
		if (dev->sh->files[i].fd < 0)
			return i;
		if (!dev->dma.maps_of[i])
			unused = i;
	}
	if (unused >= 0)
		file_detach(dev, unused);
	return unused;
}

/* The file that @fd is, its number in *@index. Owns @fd in the end, whatever comes out. */
static int file_get(struct npu_vdev *dev, int fd, npu_s32 *index)
{
	struct vdev_file *files = dev->sh->files;
	struct stat st;
	int i, ret = EINVAL;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0)
		goto err_close;
	for (i = 0; i < (int)VDEV_MAX_FILES; i++) {
		if (files[i].fd < 0 || files[i].dev != st.st_dev || files[i].ino != st.st_ino)
			continue;
		/* Handled for the second time after a crash, it is the same number. */
		if (files[i].fd != fd)
			close(fd);
		*index = i;
		return file_attach(dev, i);
	}
	i = file_place(dev);
	ret = ENFILE;
	if (i < 0)
		goto err_close;
	files[i].dev = st.st_dev;
	files[i].ino = st.st_ino;
	files[i].size = st.st_size;
	files[i].fd = fd;
	*index = i;
	ret = file_attach(dev, i);
	if (ret)
		file_detach(dev, i);
	return ret;

err_close:
	close(fd);
	return ret;
}

/* ---- the table ---- */

static void entry_make(struct npu_vdev *dev, npu_u32 slot, struct dma_entry *e)
{
	const struct vdev_map *m = &dev->sh->maps[slot];

	*e = (struct dma_entry){ .first = m->first, .last = m->last, .offset = m->offset,
				 .slot = slot, .access = m->access };
	if (m->file >= 0) {
		e->file = m->file;
		e->host = dev->dma.base[m->file] + m->offset;
	}
}

static npu_u64 map_size(const struct vdev_map *m)
{
	return m->last - m->first + 1;
}

static void slot_free(struct npu_vdev *dev, npu_u32 slot)
{
	struct vdev_map *m = &dev->sh->maps[slot];

	dev->dma.bytes -= map_size(m);
	if (m->file >= 0)
		dev->dma.maps_of[m->file]--;
	m->valid = 0;
	dev->dma.free_slot[dev->dma.num_free++] = slot;
}

/* A new mapping, in memory that outlives us and in the index. 0 or an errno. */
static int slot_add(struct npu_vdev *dev, const struct vdev_map *map)
{
	struct vdev_dma *dma = &dev->dma;
	struct dma_entry e;
	struct vdev_map *m;
	npu_u32 slot;

	if (!dma->num_free)
		return ENOSPC;
	slot = dma->free_slot[dma->num_free - 1];
	m = &dev->sh->maps[slot];
	m->access = map->access;
	m->file = map->file;
	m->first = map->first;
	m->last = map->last;
	m->offset = map->offset;
	entry_make(dev, slot, &e);
	if (dma_index_insert(&dma->index, &e))
		return ENOMEM;
	dma->num_free--;
	dma->bytes += map_size(m);
	m->valid = 1;
	if (m->file >= 0)
		dma->maps_of[m->file]++;
	return 0;
}

static void live_count(struct npu_vdev *dev)
{
	dev->sh->counter[VDEV_COUNT_LIVE] = VDEV_MAX_MAPS - dev->dma.num_free;
	dev->sh->counter[VDEV_COUNT_LIVE_BYTES] = dev->dma.bytes;
}

/* The same range of the same file with the same rights: then it has been done already. */
static bool map_is(const struct vdev_map *a, const struct vdev_map *b)
{
	return a->first == b->first && a->last == b->last && a->file == b->file &&
	       a->offset == b->offset && a->access == b->access;
}

static int map_check(const struct vfu_dma_map *map)
{
	if (!map->size || map->size - 1 > UINT64_MAX - map->iova)
		return EINVAL;
	if ((map->iova | map->size | map->offset) & (VFU_PAGE_SIZE - 1))
		return EINVAL;
	if (!map->flags || map->flags & ~(VFU_MAP_READ | VFU_MAP_WRITE))
		return EINVAL;
	return 0;
}

/* The file that came with the message, if one did. 0 or an errno. */
static int map_file(struct npu_vdev *dev, const struct vfu_dma_map *map, struct vdev_map *m)
{
	struct vdev_shared *sh = dev->sh;
	npu_u64 size;
	int fd, ret;

	m->file = -1;
	if (!sh->num_fds)
		return 0;
	if (sh->num_fds > 1)
		return EINVAL;
	fd = sh->fds[0];
	ret = file_get(dev, fd, &m->file);
	sh->fds[0] = -1;
	if (ret)
		return ret;
	size = sh->files[m->file].size;
	if (map->offset > size || map->size > size - map->offset)
		return EINVAL;
	if (dev->dma.read_only[m->file] && (map->flags & VFU_MAP_WRITE))
		return EACCES;
	return 0;
}

int vdev_dma_map(struct npu_vdev *dev, const struct vfu_dma_map *map)
{
	struct vdev_dma *dma = &dev->dma;
	struct vdev_map m = { .first = map->iova, .offset = map->offset };
	struct dma_entry *e;
	struct dma_pos pos;
	int ret = map_check(map);

	if (ret)
		return ret;
	m.last = map->iova + (map->size - 1);
	m.access = (map->flags & VFU_MAP_READ ? NPU_ACCESS_READ : 0) |
		   (map->flags & VFU_MAP_WRITE ? NPU_ACCESS_WRITE : 0);
	pthread_rwlock_wrlock(&dma->lock);
	ret = map_file(dev, map, &m);
	e = ret ? NULL : dma_index_find(&dma->index, m.first, &pos);
	if (e && e->first <= m.last)
		ret = map_is(&dev->sh->maps[e->slot], &m) ? 0 : EEXIST;
	else if (!ret)
		ret = slot_add(dev, &m);
	live_count(dev);
	pthread_rwlock_unlock(&dma->lock);
	return ret;
}

/* The mapping ends before @end from now on. */
static void map_cut(struct vdev_dma *dma, struct vdev_map *m, npu_u64 end)
{
	dma->bytes -= m->last - (end - 1);
	m->last = end - 1;
}

/*
 * Take [first, last] out of entry @e, which lies across an end of it. What is left above becomes an
 * entry of its own first: if we die here it overlaps, and vdev_dma_restore() drops it again.
 */
static int entry_trim(struct npu_vdev *dev, struct dma_entry *e, npu_u64 first, npu_u64 last)
{
	struct vdev_map *m = &dev->sh->maps[e->slot], upper;
	bool above = e->last > last, below = e->first < first;
	npu_u32 slot = e->slot;
	struct dma_pos pos;
	int ret;

	upper = (struct vdev_map){ .access = m->access, .file = m->file, .first = last + 1 };
	upper.last = m->last;
	upper.offset = m->offset + (upper.first - m->first);
	if (!above && below) {
		map_cut(&dev->dma, m, first);
		e->last = m->last;
		return 0;
	}
	if (below)
		e->last = first - 1;
	else if (dma_index_find(&dev->dma.index, e->first, &pos))
		dma_index_remove(&dev->dma.index, &pos);
	ret = slot_add(dev, &upper);
	if (below)
		map_cut(&dev->dma, m, first);
	else
		slot_free(dev, slot);
	return ret;
}

int vdev_dma_unmap(struct npu_vdev *dev, npu_u64 first, npu_u64 last)
{
	struct vdev_dma *dma = &dev->dma;
	struct dma_entry *e;
	struct dma_pos pos;
	int ret = 0;

	pthread_rwlock_wrlock(&dma->lock);
	while (!ret && (e = dma_index_find(&dma->index, first, &pos)) && e->first <= last) {
		if (e->first < first || e->last > last) {
			ret = entry_trim(dev, e, first, last);
			continue;
		}
		slot_free(dev, e->slot);
		dma_index_remove(&dma->index, &pos);
	}
	live_count(dev);
	pthread_rwlock_unlock(&dma->lock);
	return ret;
}

/*
 * Put slot @i into the index. Where two overlap, a trimming was cut short and is done again: the
 * one that lies in the other goes.
 */
static int slot_restore(struct npu_vdev *dev, npu_u32 i)
{
	struct vdev_dma *dma = &dev->dma;
	struct dma_entry e, *other;
	struct dma_pos pos;

	entry_make(dev, i, &e);
	dma->bytes += map_size(&dev->sh->maps[i]);
	if (dev->sh->maps[i].file >= 0)
		dma->maps_of[e.file]++;
	other = dma_index_find(&dma->index, e.first, &pos);
	if (other && other->first <= e.last) {
		if (other->first < e.first || other->last > e.last) {
			slot_free(dev, i);
			return 0;
		}
		slot_free(dev, other->slot);
		dma_index_remove(&dma->index, &pos);
	}
	return dma_index_insert(&dma->index, &e) ? ENOMEM : 0;
}

/* A worker has died: make the index anew from what is shared. 0 or an errno. */
int vdev_dma_restore(struct npu_vdev *dev)
{
	struct vdev_dma *dma = &dev->dma;
	struct vdev_shared *sh = dev->sh;
	npu_u32 i;
	int ret = 0;

	pthread_rwlock_wrlock(&dma->lock);
	for (i = 0; i < VDEV_MAX_FILES && !ret; i++)
		ret = sh->files[i].fd >= 0 ? file_attach(dev, i) : 0;
	for (i = VDEV_MAX_MAPS; i-- > 0 && !ret;) {
		if (sh->maps[i].valid)
			ret = slot_restore(dev, i);
		else
			dma->free_slot[dma->num_free++] = i;
	}
	live_count(dev);
	pthread_rwlock_unlock(&dma->lock);
	return ret;
}

void vdev_dma_clear(struct npu_vdev *dev)
{
	npu_u32 i;

	vdev_dma_unmap(dev, 0, UINT64_MAX);
	pthread_rwlock_wrlock(&dev->dma.lock);
	for (i = 0; i < VDEV_MAX_FILES; i++)
		file_detach(dev, i);
	pthread_rwlock_unlock(&dev->dma.lock);
}

void vdev_dma_bus_master(struct npu_vdev *dev, bool on)
{
	pthread_rwlock_wrlock(&dev->dma.lock);
	dev->dma.bus_master = on;
	pthread_rwlock_unlock(&dev->dma.lock);
}
