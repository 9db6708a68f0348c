// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/npu_odd: dma-bufs with something odd about them, and fences that signal when they are told
 * to, to see what importers make of both.
 */
#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/sync_file.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include "npu_odd.h"

#define MAX_PAGES	1024

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
#define dma_buf_invalidate_mappings	dma_buf_move_notify
#endif

struct odd_buf {
	u32 kind;
	u32 count;
	u32 pins;	/* under the dma-buf's reservation, as @pages */
	struct page *pages[];
};

struct odd_fence {
	struct dma_fence base;
	spinlock_t lock;	/* of the fence */
};

struct odd_file {
	struct mutex lock;	/* protects fence */
	struct dma_fence *fence;
};

static atomic_t odd_bufs, odd_attachments, odd_mappings, odd_pins, odd_pinned, odd_fences;

/* ---- memory ---- */

static int odd_attach(struct dma_buf *dma_buf, struct dma_buf_attachment *attach)
{
	struct odd_buf *buf = dma_buf->priv;

	if (buf->kind == NPU_ODD_REFUSED)
		return -EPERM;
	/* As if something had been mapped that the device could not reach. */
	if (buf->kind == NPU_ODD_BOUNCED_ONCE)
		dma_reset_need_sync(attach->dev);
	atomic_inc(&odd_attachments);
	return 0;
}

static void odd_detach(struct dma_buf *dma_buf, struct dma_buf_attachment *attach)
{
	atomic_dec(&odd_attachments);
}

static int odd_pin(struct dma_buf_attachment *attach)
{
	struct odd_buf *buf = attach->dmabuf->priv;

	/* Importers without operations have none by which they could be told. */
	if (buf->kind == NPU_ODD_REVOCABLE && !attach->importer_ops)
		return -EOPNOTSUPP;
	buf->pins++;
	atomic_inc(&odd_pins);
	atomic_inc(&odd_pinned);
	return 0;
}

static void odd_unpin(struct dma_buf_attachment *attach)
{
	struct odd_buf *buf = attach->dmabuf->priv;

	buf->pins--;
	atomic_dec(&odd_pins);
}

static struct sg_table *odd_map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	struct odd_buf *buf = attach->dmabuf->priv;
	u32 count = buf->kind == NPU_ODD_SHORT ? buf->count - 1 : buf->count, i;
	u32 skip = buf->kind == NPU_ODD_PIECES ? 512 : 0;
	struct scatterlist *sg;
	struct sg_table *sgt;
	int ret;

	if (buf->kind == NPU_ODD_REVOKED)
		return ERR_PTR(-ENODEV);
	sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);
	if (!sgt)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table(sgt, count, GFP_KERNEL);
	if (ret)
		goto err_free;
	for_each_sgtable_sg(sgt, sg, i)
		sg_set_page(sg, buf->pages[i], PAGE_SIZE - skip, skip);
	ret = dma_map_sgtable(attach->dev, sgt, dir, 0);
	if (ret)
		goto err_table;
	atomic_inc(&odd_mappings);
	return sgt;

err_table:
	sg_free_table(sgt);
err_free:
	kfree(sgt);
	return ERR_PTR(ret);
}

static void odd_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
		      enum dma_data_direction dir)
{
	dma_unmap_sgtable(attach->dev, sgt, dir, 0);
	sg_free_table(sgt);
	kfree(sgt);
	atomic_dec(&odd_mappings);
}

static int odd_mmap(struct dma_buf *dma_buf, struct vm_area_struct *vma)
{
	struct odd_buf *buf = dma_buf->priv;

	if (buf->kind == NPU_ODD_NO_MMAP)
		return -EPERM;
	return vm_map_pages(vma, buf->pages, buf->count);
}

static void odd_free(struct odd_buf *buf)
{
	u32 i;

	for (i = 0; i < buf->count && buf->pages[i]; i++)
		__free_page(buf->pages[i]);
	kvfree(buf);
	atomic_dec(&odd_bufs);
}

static void odd_release(struct dma_buf *dma_buf)
{
	odd_free(dma_buf->priv);
}

static const struct dma_buf_ops odd_ops = {
	.attach = odd_attach,
	.detach = odd_detach,
	.map_dma_buf = odd_map,
	.unmap_dma_buf = odd_unmap,
	.mmap = odd_mmap,
	.release = odd_release,
};

static const struct dma_buf_ops odd_pinned_ops = {
	.attach = odd_attach,
	.detach = odd_detach,
	.pin = odd_pin,
	.unpin = odd_unpin,
	.map_dma_buf = odd_map,
	.unmap_dma_buf = odd_unmap,
	.mmap = odd_mmap,
	.release = odd_release,
};

static struct odd_buf *odd_alloc(u32 kind, u32 pages)
{
	struct odd_buf *buf = kvzalloc(struct_size(buf, pages, pages), GFP_KERNEL);
	u32 i;

	if (!buf)
		return NULL;
	atomic_inc(&odd_bufs);
	buf->kind = kind;
	buf->count = pages;
	for (i = 0; i < pages; i++) {
		buf->pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!buf->pages[i]) {
			odd_free(buf);
			return NULL;
		}
	}
	return buf;
}

static int odd_export(struct npu_odd_export __user *user)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct npu_odd_export args;
	struct dma_buf *dma_buf;
	struct odd_buf *buf;

	if (copy_from_user(&args, user, sizeof(args)))
		return -EFAULT;
	if (args.kind >= NPU_ODD_KINDS || !args.pages || args.pages > MAX_PAGES)
		return -EINVAL;
	buf = odd_alloc(args.kind, args.pages);
	if (!buf)
		return -ENOMEM;

	info.ops = args.kind == NPU_ODD_PINNED || args.kind == NPU_ODD_REVOCABLE ?
		   &odd_pinned_ops : &odd_ops;
	info.size = args.pages * PAGE_SIZE;
	if (args.kind == NPU_ODD_EMPTY)
		info.size = 0;
	else if (args.kind == NPU_ODD_UNALIGNED)
		info.size -= 100;
	else if (args.kind == NPU_ODD_PIECES)
		info.size -= round_up(args.pages * 512, PAGE_SIZE);
	info.flags = args.flags & (O_ACCMODE | O_CLOEXEC);
	info.priv = buf;
	dma_buf = dma_buf_export(&info);
	if (IS_ERR(dma_buf)) {
		odd_free(buf);
		return PTR_ERR(dma_buf);
	}
	args.fd = dma_buf_fd(dma_buf, info.flags);
	if (args.fd < 0) {
		dma_buf_put(dma_buf);
		return args.fd;
	}
	return copy_to_user(user, &args, sizeof(args)) ? -EFAULT : 0;
}

static int odd_move_page(struct page **page)
{
	struct page *new = alloc_page(GFP_KERNEL);

	if (!new)
		return -ENOMEM;
	copy_page(page_address(new), page_address(*page));
	memset(page_address(*page), 0xdd, PAGE_SIZE);
	put_page(*page);
	*page = new;
	return 0;
}

static int odd_move(s32 fd)
{
	struct dma_buf *dma_buf = dma_buf_get(fd);
	struct odd_buf *buf;
	int ret = 0;
	u32 i;

	if (IS_ERR(dma_buf))
		return PTR_ERR(dma_buf);
	if (dma_buf->ops != &odd_pinned_ops) {
		dma_buf_put(dma_buf);
		return -EINVAL;
	}
	buf = dma_buf->priv;
	dma_resv_lock(dma_buf->resv, NULL);
	if (buf->pins)
		ret = -EBUSY;
	else
		dma_buf_invalidate_mappings(dma_buf);
	for (i = 0; i < buf->count && !ret; i++)
		ret = odd_move_page(&buf->pages[i]);
	dma_resv_unlock(dma_buf->resv);
	dma_buf_put(dma_buf);
	return ret;
}

/* ---- fences ---- */

static const char *odd_name(struct dma_fence *fence)
{
	return "npu_odd";
}

static void odd_fence_release(struct dma_fence *fence)
{
	atomic_dec(&odd_fences);
	dma_fence_free(fence);
}

static const struct dma_fence_ops odd_fence_ops = {
	.get_driver_name = odd_name,
	.get_timeline_name = odd_name,
	.release = odd_fence_release,
};

static void odd_signal(struct odd_file *file, int error)
{
	struct dma_fence *fence;

	scoped_guard(mutex, &file->lock) {
		fence = file->fence;
		file->fence = NULL;
	}
	if (!fence)
		return;
	if (error)
		dma_fence_set_error(fence, error);
	dma_fence_signal(fence);
	dma_fence_put(fence);
}

static int odd_fence(struct odd_file *file, __s32 __user *user)
{
	int fd = get_unused_fd_flags(O_CLOEXEC);
	struct sync_file *sync_file;
	struct odd_fence *fence;

	if (fd < 0)
		return fd;
	fence = kzalloc(sizeof(*fence), GFP_KERNEL);
	if (!fence)
		goto err_fd;
	spin_lock_init(&fence->lock);
	dma_fence_init(&fence->base, &odd_fence_ops, &fence->lock, dma_fence_context_alloc(1), 1);
	atomic_inc(&odd_fences);
	sync_file = sync_file_create(&fence->base);
	if (!sync_file)
		goto err_fence;
	if (put_user(fd, user)) {
		fput(sync_file->file);
		goto err_fence;
	}
	odd_signal(file, 0);
	scoped_guard(mutex, &file->lock)
		file->fence = &fence->base;
	fd_install(fd, sync_file->file);
	return 0;

err_fence:
	dma_fence_put(&fence->base);
err_fd:
	put_unused_fd(fd);
	return -ENOMEM;
}

/* ---- the device ---- */

static int odd_open(struct inode *inode, struct file *file)
{
	struct odd_file *odd = kzalloc(sizeof(*odd), GFP_KERNEL);

	if (!odd)
		return -ENOMEM;
	mutex_init(&odd->lock);
	file->private_data = odd;
	return 0;
}

static int odd_close(struct inode *inode, struct file *file)
{
	odd_signal(file->private_data, 0);
	kfree(file->private_data);
	return 0;
}

static int odd_count(struct npu_odd_count __user *user)
{
	struct npu_odd_count count = {
		.bufs = atomic_read(&odd_bufs),
		.attachments = atomic_read(&odd_attachments),
		.mappings = atomic_read(&odd_mappings),
		.pins = atomic_read(&odd_pins),
		.pinned = atomic_read(&odd_pinned),
		.fences = atomic_read(&odd_fences),
	};

	return copy_to_user(user, &count, sizeof(count)) ? -EFAULT : 0;
}

static long odd_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;
	s32 value;

	switch (cmd) {
	case NPU_ODD_EXPORT:
		return odd_export(user);
	case NPU_ODD_COUNT:
		return odd_count(user);
	case NPU_ODD_FENCE:
		return odd_fence(file->private_data, user);
	case NPU_ODD_SIGNAL:
		if (get_user(value, (__s32 __user *)user))
			return -EFAULT;
		if (value > 0 || value < -MAX_ERRNO)
			return -EINVAL;
		odd_signal(file->private_data, value);
		return 0;
	case NPU_ODD_MOVE:
		return get_user(value, (__s32 __user *)user) ? -EFAULT : odd_move(value);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations odd_fops = {
	.owner = THIS_MODULE,
	.open = odd_open,
	.release = odd_close,
	.unlocked_ioctl = odd_ioctl,
};

static struct miscdevice odd_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "npu_odd",
	.fops = &odd_fops,
};
module_misc_device(odd_device);

MODULE_DESCRIPTION("Odd dma-bufs and fences, for tests of importers");
MODULE_LICENSE("GPL");
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
MODULE_IMPORT_NS(DMA_BUF);
#else
MODULE_IMPORT_NS("DMA_BUF");
#endif
