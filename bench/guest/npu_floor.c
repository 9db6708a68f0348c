// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a job costs at least: empty jobs of the DRM scheduler whose run_job rings a doorbell of a
 * virtual device in echo mode (npu-vdev --echo) and whose fence the interrupt signals. What the
 * driver needs beyond that is its own.
 *
 * In debugfs, npu_floor/jobs: write how many jobs to run one after the other, then read how many
 * nanoseconds each took, from before it was made until its fence was waited for.
 * npu_floor/doorbells is the same without the scheduler: from the doorbell's write to the
 * interrupt's handler.
 */
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/dma-fence.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include <drm/gpu_scheduler.h>

#include "npu_hw.h"

#define FLOOR_MAX_SAMPLES	4096
#define FLOOR_TIMEOUT		(10 * HZ)

/* Freed with the fence, which therefore is its first member. */
struct floor_job {
	struct dma_fence fence;
	struct drm_sched_job base;
	spinlock_t lock;	/* the fence's */
};

/**
 * struct floor - the device
 * @pdev: it
 * @regs: BAR0
 * @events: where it counts what has happened
 * @events_dma: the same, as it sees it
 * @sched: scheduler
 * @entity: the one that jobs are pushed to
 * @dir: in debugfs
 * @lock: one run at a time; protects @samples and @num_samples
 * @samples: ns each
 * @num_samples: of the last run
 * @irq_lock: protects @pending and @seen
 * @pending: fence of the job that the doorbell was rung for, NULL: none
 * @seen: count in @events at the last interrupt
 * @irq_ns: when the interrupt's handler began; written before @done is completed
 * @fence_context: of the jobs' fences
 * @seqno: of the last one
 * @done: the answer to a doorbell without a job
 */
struct floor {
	struct pci_dev *pdev;
	void __iomem *regs;
	struct npu_hw_events *events;
	dma_addr_t events_dma;
	struct drm_gpu_scheduler sched;
	struct drm_sched_entity entity;
	struct dentry *dir;
	struct mutex lock;
	u64 *samples;
	u32 num_samples;
	spinlock_t irq_lock;
	struct dma_fence *pending;
	u32 seen;
	u64 irq_ns;
	u64 fence_context;
	u64 seqno;
	struct completion done;
};

static const char *floor_fence_name(struct dma_fence *fence)
{
	return "npu_floor";
}

static const struct dma_fence_ops floor_fence_ops = {
	.get_driver_name = floor_fence_name,
	.get_timeline_name = floor_fence_name,
};

static void floor_ring(struct floor *floor)
{
	writel(1, floor->regs + NPU_REG_DOORBELL(0));
}

static irqreturn_t floor_irq(int irq, void *data)
{
	struct floor *floor = data;
	u64 now = ktime_get_ns();
	struct dma_fence *fence;
	unsigned long flags;
	u32 count;

	spin_lock_irqsave(&floor->irq_lock, flags);
	count = READ_ONCE(floor->events->msg_count);
	if (count == floor->seen) {
		spin_unlock_irqrestore(&floor->irq_lock, flags);
		return IRQ_NONE;
	}
	floor->seen = count;
	floor->irq_ns = now;
	fence = floor->pending;
	floor->pending = NULL;
	spin_unlock_irqrestore(&floor->irq_lock, flags);

	if (fence) {
		dma_fence_signal(fence);
		dma_fence_put(fence);
	} else {
		complete(&floor->done);
	}

	return IRQ_HANDLED;
}

static struct floor_job *to_floor_job(struct drm_sched_job *base)
{
	return container_of(base, struct floor_job, base);
}

static struct dma_fence *floor_run_job(struct drm_sched_job *base)
{
	struct floor *floor = container_of(base->sched, struct floor, sched);
	struct floor_job *job = to_floor_job(base);

	spin_lock_irq(&floor->irq_lock);
	floor->pending = dma_fence_get(&job->fence);
	spin_unlock_irq(&floor->irq_lock);
	floor_ring(floor);

	/* For the scheduler. */
	return dma_fence_get(&job->fence);
}

static void floor_free_job(struct drm_sched_job *base)
{
	struct floor_job *job = to_floor_job(base);

	drm_sched_job_cleanup(base);
	dma_fence_put(&job->fence);
}

static const struct drm_sched_backend_ops floor_sched_ops = {
	.run_job = floor_run_job,
	.free_job = floor_free_job,
};

/* Run one job to its end. */
static int floor_one_job(struct floor *floor, u64 *ns)
{
	u64 begin = ktime_get_ns();
	struct floor_job *job;
	struct dma_fence *finished;
	long left;
	int ret;

	job = kzalloc(sizeof(*job), GFP_KERNEL);
	if (!job)
		return -ENOMEM;

	ret = drm_sched_job_init(&job->base, &floor->entity, 1, NULL, 0);
	if (ret) {
		kfree(job);
		return ret;
	}

	spin_lock_init(&job->lock);
	dma_fence_init(&job->fence, &floor_fence_ops, &job->lock, floor->fence_context,
		       ++floor->seqno);
	drm_sched_job_arm(&job->base);
	finished = dma_fence_get(&job->base.s_fence->finished);
	drm_sched_entity_push_job(&job->base);
	left = dma_fence_wait_timeout(finished, false, FLOOR_TIMEOUT);
	*ns = ktime_get_ns() - begin;
	dma_fence_put(finished);

	return left > 0 ? 0 : -ETIMEDOUT;
}

static int floor_one_doorbell(struct floor *floor, u64 *ns)
{
	u64 begin;

	reinit_completion(&floor->done);
	begin = ktime_get_ns();
	floor_ring(floor);
	if (!wait_for_completion_timeout(&floor->done, FLOOR_TIMEOUT))
		return -ETIMEDOUT;
	*ns = floor->irq_ns - begin;

	return 0;
}

/* Files of debugfs: what one sample is. */
static int floor_run(struct floor *floor, const char __user *buf, size_t count,
		     int (*one)(struct floor *floor, u64 *ns))
{
	u32 number, i;
	int ret;

	ret = kstrtou32_from_user(buf, count, 0, &number);
	if (ret)
		return ret;
	if (number > FLOOR_MAX_SAMPLES)
		return -EINVAL;

	guard(mutex)(&floor->lock);
	floor->num_samples = 0;
	for (i = 0; i < number && !ret; i++)
		ret = one(floor, &floor->samples[i]);
	if (!ret)
		floor->num_samples = number;

	return ret;
}

static int floor_samples_show(struct seq_file *s, void *unused)
{
	struct floor *floor = s->private;
	u32 i;

	guard(mutex)(&floor->lock);
	for (i = 0; i < floor->num_samples; i++)
		seq_printf(s, "%llu\n", floor->samples[i]);

	return 0;
}

static int floor_open(struct inode *inode, struct file *file)
{
	return single_open(file, floor_samples_show, inode->i_private);
}

static ssize_t floor_jobs_write(struct file *file, const char __user *buf, size_t count,
				loff_t *pos)
{
	struct seq_file *s = file->private_data;

	return floor_run(s->private, buf, count, floor_one_job) ?: count;
}

static ssize_t floor_doorbells_write(struct file *file, const char __user *buf, size_t count,
				     loff_t *pos)
{
	struct seq_file *s = file->private_data;

	return floor_run(s->private, buf, count, floor_one_doorbell) ?: count;
}

static const struct file_operations floor_jobs_fops = {
	.owner = THIS_MODULE,
	.open = floor_open,
	.read = seq_read,
	.write = floor_jobs_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static const struct file_operations floor_doorbells_fops = {
	.owner = THIS_MODULE,
	.open = floor_open,
	.read = seq_read,
	.write = floor_doorbells_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* The real device's driver has it already; what no driver has taken may be broken, too. */
static int floor_check(struct floor *floor)
{
	if (readl(floor->regs + NPU_REG_ID) != NPU_HW_ID ||
	    readl(floor->regs + NPU_REG_CAP_TCM))
		return -ENODEV;

	return 0;
}

static int floor_init_pci(struct floor *floor)
{
	struct pci_dev *pdev = floor->pdev;
	int ret;

	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	floor->regs = pcim_iomap(pdev, 0, NPU_BAR0_SIZE);
	if (!floor->regs)
		return -ENOMEM;
	ret = floor_check(floor);
	if (ret)
		return ret;

	pci_set_master(pdev);
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (ret)
		return ret;
	floor->events = dmam_alloc_coherent(&pdev->dev, PAGE_SIZE, &floor->events_dma, GFP_KERNEL);
	floor->samples = devm_kcalloc(&pdev->dev, FLOOR_MAX_SAMPLES, sizeof(*floor->samples),
				      GFP_KERNEL);
	if (!floor->events || !floor->samples)
		return -ENOMEM;

	ret = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSI);
	if (ret < 0)
		return ret;
	ret = request_irq(pci_irq_vector(pdev, 0), floor_irq, 0, "npu_floor", floor);
	if (ret) {
		pci_free_irq_vectors(pdev);
		return ret;
	}
	writel(lower_32_bits(floor->events_dma), floor->regs + NPU_REG_EVENTS);
	writel(upper_32_bits(floor->events_dma), floor->regs + NPU_REG_EVENTS + 4);

	return 0;
}

static void floor_fini_pci(struct floor *floor)
{
	writel(0, floor->regs + NPU_REG_EVENTS);
	writel(0, floor->regs + NPU_REG_EVENTS + 4);
	/* Read back: posted writes have arrived then. */
	readl(floor->regs + NPU_REG_EVENTS);
	free_irq(pci_irq_vector(floor->pdev, 0), floor);
	pci_free_irq_vectors(floor->pdev);
}

static int floor_init_sched(struct floor *floor)
{
	const struct drm_sched_init_args args = {
		.ops = &floor_sched_ops,
		.num_rqs = 1,
		.credit_limit = 64,
		.timeout = MAX_SCHEDULE_TIMEOUT,
		.name = "npu_floor",
		.dev = &floor->pdev->dev,
	};
	struct drm_gpu_scheduler *sched = &floor->sched;
	int ret;

	floor->fence_context = dma_fence_context_alloc(1);
	ret = drm_sched_init(sched, &args);
	if (ret)
		return ret;
	ret = drm_sched_entity_init(&floor->entity, 0, &sched, 1, NULL);
	if (ret)
		drm_sched_fini(sched);

	return ret;
}

static int floor_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct floor *floor;
	int ret;

	floor = devm_kzalloc(&pdev->dev, sizeof(*floor), GFP_KERNEL);
	if (!floor)
		return -ENOMEM;

	floor->pdev = pdev;
	mutex_init(&floor->lock);
	spin_lock_init(&floor->irq_lock);
	init_completion(&floor->done);
	pci_set_drvdata(pdev, floor);

	ret = floor_init_pci(floor);
	if (ret)
		return ret;
	ret = floor_init_sched(floor);
	if (ret) {
		floor_fini_pci(floor);
		return ret;
	}

	floor->dir = debugfs_create_dir("npu_floor", NULL);
	debugfs_create_file("jobs", 0600, floor->dir, floor, &floor_jobs_fops);
	debugfs_create_file("doorbells", 0600, floor->dir, floor, &floor_doorbells_fops);

	return 0;
}

static void floor_remove(struct pci_dev *pdev)
{
	struct floor *floor = pci_get_drvdata(pdev);

	debugfs_remove(floor->dir);
	drm_sched_entity_destroy(&floor->entity);
	drm_sched_fini(&floor->sched);
	floor_fini_pci(floor);
}

static const struct pci_device_id floor_ids[] = {
	{ PCI_DEVICE(NPU_PCI_VENDOR_ID, NPU_PCI_DEVICE_ID) },
	{ }
};

/* Without MODULE_DEVICE_TABLE: nothing but a benchmark loads it. */
static struct pci_driver floor_driver = {
	.name = "npu_floor",
	.id_table = floor_ids,
	.probe = floor_probe,
	.remove = floor_remove,
};
module_pci_driver(floor_driver);

MODULE_DESCRIPTION("Empty jobs on a virtual NPU in echo mode");
MODULE_AUTHOR("The NPU project");
MODULE_LICENSE("GPL");
