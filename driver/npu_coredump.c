// SPDX-License-Identifier: GPL-2.0-only
/*
 * DOC: devcoredump
 *
 * Recovery must not allocate memory, so it only copies what it finds into a snapshot that exists
 * from the beginning; a worker makes text of it and hands it to devcoredump. While that is under
 * way later failures are not dumped: the first one is what matters.
 *
 * The text is one "key: value" a line; lines that begin with two spaces belong to the one before.
 * It holds no data of programs.
 */
#include <linux/devcoredump.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include <drm/drm_print.h>

#include "npu_coredump.h"
#include "npu_device.h"
#include "npu_fw.h"
#include "npu_queue.h"
#include "npu_vm.h"

/**
 * struct npu_coredump_queue - one queue of a snapshot
 * @used: there is such a queue
 * @guilty: its job is why
 * @context: of its VM
 * @priority: enum drm_npu_priority
 * @submitted: newest job
 * @completed: newest job that has ended
 * @ringed: newest job in the ring
 * @fw: what the firmware says
 */
struct npu_coredump_queue {
	bool used;
	bool guilty;
	u32 context;
	u32 priority;
	u64 submitted;
	u64 completed;
	u64 ringed;
	struct npu_fw_queue_state fw;
};

/**
 * struct npu_coredump_snapshot - state of the device when something went wrong
 * @npu: device
 * @busy: it is filled, and not yet handed out
 * @work: hands it out
 * @why: what went wrong
 * @time: when
 * @resets: of the device before
 * @events: page of events
 * @info: firmware's
 * @queues: by hardware number
 * @log: firmware's, terminated
 */
struct npu_coredump_snapshot {
	struct npu_device *npu;
	atomic_t busy;
	struct work_struct work;
	char why[64];
	ktime_t time;
	u32 resets;
	struct npu_hw_events events;
	struct npu_fw_info info;
	struct npu_coredump_queue queues[NPU_HW_MAX_QUEUES];
	char log[NPU_FW_LOG_DATA + 1];
};

static void npu_coredump_print_queue(struct drm_printer *p, u32 id,
				     const struct npu_coredump_queue *queue)
{
	drm_printf(p, "queue: %u\n", id);
	drm_printf(p, "  guilty: %u\n", queue->guilty);
	drm_printf(p, "  context: %u\n", queue->context);
	drm_printf(p, "  priority: %u\n", queue->priority);
	drm_printf(p, "  submitted: %llu\n", queue->submitted);
	drm_printf(p, "  ringed: %llu\n", queue->ringed);
	drm_printf(p, "  completed: %llu\n", queue->completed);
	drm_printf(p, "  fw-state: %u\n", queue->fw.state);
	drm_printf(p, "  fw-engine: %u\n", queue->fw.engine);
	drm_printf(p, "  fw-job: %u\n", queue->fw.job_seq);
	drm_printf(p, "  fw-progress: %u\n", queue->fw.progress);
	drm_printf(p, "  fw-busy-us: %u\n", queue->fw.busy_us);
}

static void npu_coredump_print_fw(struct drm_printer *p, const struct npu_coredump_snapshot *snap)
{
	static const char * const names[] = {
#define X(name, index, text) \
	[index] = text,
		NPU_FW_COUNTERS(X)
#undef X
	};
	const struct npu_fw_image *header = &snap->npu->fw.header;
	int i;

	drm_printf(p, "fw-version: %s\n", header->version);
	drm_printf(p, "fw-build-id: %*phN\n", (int)sizeof(header->build_id), header->build_id);
	drm_printf(p, "fw-abi: %u\n", snap->npu->fw.abi);
	drm_printf(p, "fw-heartbeat: %u\n", snap->info.heartbeat);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		drm_printf(p, "fw-counter-%s: %u\n", names[i], snap->info.counter[i]);
	drm_printf(p, "fatal-count: %u\n", snap->events.fatal_count);
	drm_printf(p, "fatal-code: %u\n", snap->events.fatal_code);
	drm_printf(p, "fatal-info: %#x\n", snap->events.fatal_info);
	drm_printf(p, "epoch: %u\n", snap->events.epoch);
}

static void npu_coredump_print(struct drm_printer *p, const struct npu_coredump_snapshot *snap)
{
	u32 id;

	drm_puts(p, "npu-coredump: 1\n");
	drm_printf(p, "reason: %s\n", snap->why);
	drm_printf(p, "time-ns: %lld\n", ktime_to_ns(snap->time));
	drm_printf(p, "hw-version: %#x\n", snap->npu->caps.hw_version);
	drm_printf(p, "resets: %u\n", snap->resets);
	npu_coredump_print_fw(p, snap);
	for (id = 0; id < NPU_HW_MAX_QUEUES; id++) {
		if (snap->queues[id].used)
			npu_coredump_print_queue(p, id, &snap->queues[id]);
	}
	drm_puts(p, "fw-log:\n");
	drm_puts(p, snap->log);
	drm_puts(p, "\n");
}

static void npu_coredump_work(struct work_struct *work)
{
	struct npu_coredump_snapshot *snap = container_of(work, struct npu_coredump_snapshot, work);
	struct drm_print_iterator iterator = { .remain = SSIZE_MAX };
	struct drm_printer p;
	size_t size;
	void *data;

	/* Once to count, once to write. */
	p = drm_coredump_printer(&iterator);
	npu_coredump_print(&p, snap);
	size = SSIZE_MAX - iterator.remain;

	data = vmalloc(size);
	if (data) {
		iterator = (struct drm_print_iterator) { .data = data, .remain = size };
		p = drm_coredump_printer(&iterator);
		npu_coredump_print(&p, snap);
		dev_coredumpv(snap->npu->base.dev, data, size, GFP_KERNEL);
	}
	atomic_set(&snap->busy, 0);
}

static void npu_coredump_copy_queue(struct npu_queue *queue, bool guilty,
				    struct npu_coredump_queue *copy)
{
	copy->used = true;
	copy->guilty = guilty;
	copy->context = queue->vm->context;
	copy->priority = queue->priority;
	spin_lock_irq(&queue->lock);
	copy->submitted = queue->submitted;
	copy->completed = queue->completed;
	copy->ringed = queue->ringed;
	spin_unlock_irq(&queue->lock);
	copy->fw = *npu_fw_queue_state(queue->npu, queue->id);
}

static void npu_coredump_copy_queues(struct npu_device *npu, struct npu_queue *guilty)
{
	struct npu_coredump_snapshot *snap = npu->coredump;
	struct npu_queue *queue;

	memset(snap->queues, 0, sizeof(snap->queues));
	npu_for_each_queue(queue, npu)
		npu_coredump_copy_queue(queue, queue == guilty, &snap->queues[queue->id]);
}

/**
 * npu_coredump_capture() - take a snapshot, to be dumped in a moment
 * @npu: device
 * @why: what went wrong
 * @queue: whose job is the reason, or NULL
 *
 * Allocates nothing and reads no register.
 */
void npu_coredump_capture(struct npu_device *npu, const char *why, struct npu_queue *queue)
{
	struct npu_coredump_snapshot *snap = npu->coredump;
	size_t size;

	if (atomic_cmpxchg(&snap->busy, 0, 1))
		return;

	strscpy(snap->why, why, sizeof(snap->why));
	snap->time = ktime_get();
	snap->resets = npu->reset.count;
	snap->events = *npu->hw.events;
	snap->info = *npu_fw_info(npu);
	npu_coredump_copy_queues(npu, queue);
	size = npu_fw_log_read(npu, snap->log, NPU_FW_LOG_DATA);
	snap->log[size] = '\0';
	queue_work(system_dfl_wq, &snap->work);
}

int npu_coredump_init(struct npu_device *npu)
{
	npu->coredump = kvzalloc_obj(*npu->coredump);
	if (!npu->coredump)
		return -ENOMEM;

	npu->coredump->npu = npu;
	INIT_WORK(&npu->coredump->work, npu_coredump_work);

	return 0;
}

/* Recovery is over. */
void npu_coredump_fini(struct npu_device *npu)
{
	flush_work(&npu->coredump->work);
	kvfree(npu->coredump);
	npu->coredump = NULL;
}
