// SPDX-License-Identifier: GPL-2.0-only
/* Start of the firmware, and the memory that is shared with it. */
#include <linux/sizes.h>

#include <drm/drm_print.h>

#include "npu_device.h"
#include "npu_fw.h"
#include "npu_hw.h"
#include "npu_kbo.h"
#include "npu_mmu.h"

/* From MCU_CTRL to READY. */
#define NPU_FW_BOOT_MS		5000

/* Scheduling parameters: a slice, ageing, and how often progress is shown. */
#define NPU_FW_SLICE_US		10000
#define NPU_FW_AGE_US		200000
#define NPU_FW_HEARTBEAT_US	100000

static struct npu_kbo *npu_fw_alloc(struct npu_device *npu, u64 size)
{
	/* One piece each: structures must not be cut. */
	return npu_kbo_create(npu, size, roundup_pow_of_two(size));
}

static void npu_fw_free_shared(struct npu_device *npu)
{
	struct npu_fw *fw = &npu->fw;

	npu_kbo_destroy(npu, fw->config);
	npu_kbo_destroy(npu, fw->ctl);
	npu_kbo_destroy(npu, fw->msg);
	npu_kbo_destroy(npu, fw->log);
	npu_kbo_destroy(npu, fw->state);
	npu_kbo_destroy(npu, fw->info);
}

static int npu_fw_alloc_shared(struct npu_device *npu)
{
	const struct {
		struct npu_kbo **kbo;
		u64 size;
	} parts[] = {
		{ &npu->fw.config, sizeof(struct npu_fw_config) },
		{ &npu->fw.ctl, NPU_FW_CTL_ENTRIES * sizeof(struct npu_fw_ctl) +
				sizeof(struct npu_fw_index) },
		{ &npu->fw.msg, NPU_FW_MSG_ENTRIES * sizeof(struct npu_fw_msg) +
				sizeof(struct npu_fw_index) },
		{ &npu->fw.log, sizeof(struct npu_fw_log) + NPU_FW_LOG_DATA },
		{ &npu->fw.state, npu->caps.num_queues * sizeof(struct npu_fw_queue_state) },
		{ &npu->fw.info, sizeof(struct npu_fw_info) +
				 NPU_HW_MAX_ENGINES * sizeof(struct npu_hw_result) },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		*parts[i].kbo = npu_fw_alloc(npu, parts[i].size);
		if (IS_ERR(*parts[i].kbo)) {
			int ret = PTR_ERR(*parts[i].kbo);

			npu_fw_free_shared(npu);
			return ret;
		}
	}

	return 0;
}

int npu_fw_init(struct npu_device *npu)
{
	int ret;

	mutex_init(&npu->fw.ctl_lock);
	init_completion(&npu->fw.ctl_done);
	npu->fw.log_level = NPU_FW_LOG_INFO;

	ret = npu_fw_image_load(npu);
	if (ret)
		return ret;

	ret = npu_fw_alloc_shared(npu);
	if (ret)
		npu_fw_image_unload(npu);

	return ret;
}

void npu_fw_fini(struct npu_device *npu)
{
	npu_fw_free_shared(npu);
	npu_fw_image_unload(npu);
}

struct npu_fw_info *npu_fw_info(struct npu_device *npu)
{
	return npu_kbo_at(npu->fw.info, 0);
}

/* Of a queue number below npu_caps.num_queues. */
struct npu_fw_queue_state *npu_fw_queue_state(struct npu_device *npu, u32 queue)
{
	return npu_kbo_at(npu->fw.state, queue * sizeof(struct npu_fw_queue_state));
}

const char *npu_fw_boot_text(u32 status)
{
	static const char * const text[] = {
#define X(name, code, text) \
	[code] = text,
		NPU_FW_BOOTS(X)
#undef X
	};

	return status < ARRAY_SIZE(text) && text[status] ? text[status] : "says something unknown";
}

static void npu_fw_write_config(struct npu_device *npu)
{
	struct npu_fw_config *config = npu_kbo_at(npu->fw.config, 0);
	const u32 ctl = npu_kbo_va(npu->fw.ctl), msg = npu_kbo_va(npu->fw.msg);

	*config = (struct npu_fw_config) {
		.magic = NPU_FW_CONFIG_MAGIC,
		.size = sizeof(*config),
		.abi = npu->fw.abi,
		.num_queues = npu->caps.num_queues,
		.ctl_ring = ctl,
		.ctl_entries = NPU_FW_CTL_ENTRIES,
		.ctl_index = ctl + NPU_FW_CTL_ENTRIES * sizeof(struct npu_fw_ctl),
		.msg_ring = msg,
		.msg_entries = NPU_FW_MSG_ENTRIES,
		.msg_index = msg + NPU_FW_MSG_ENTRIES * sizeof(struct npu_fw_msg),
		.log = npu_kbo_va(npu->fw.log),
		.log_size = sizeof(struct npu_fw_log) + NPU_FW_LOG_DATA,
		.queue_state = npu_kbo_va(npu->fw.state),
		.info = npu_kbo_va(npu->fw.info),
		.results = npu_kbo_va(npu->fw.info) + sizeof(struct npu_fw_info),
		.slice_us = NPU_FW_SLICE_US,
		.age_us = NPU_FW_AGE_US,
		.heartbeat_us = NPU_FW_HEARTBEAT_US,
		.log_level = npu->fw.log_level,
	};
}

/* The log is kept over resets: what the firmware said last is what one wants to read. */
static void npu_fw_write_log(struct npu_device *npu)
{
	struct npu_fw_log *log = npu_kbo_at(npu->fw.log, 0);

	log->magic = NPU_FW_LOG_MAGIC;
	log->size = NPU_FW_LOG_DATA;
}

static void npu_fw_write_shared(struct npu_device *npu)
{
	npu_fw_write_config(npu);
	npu_fw_write_log(npu);
	npu_fw_ctl_start(npu);
	memset(npu_kbo_at(npu->fw.state, 0), 0, npu->fw.state->size);
	memset(npu_kbo_at(npu->fw.info, 0), 0, npu->fw.info->size);
	dma_wmb();
}

static bool npu_fw_boot_is_done(u32 status)
{
	return status == NPU_FW_BOOT_READY || status >= NPU_FW_BOOT_BAD_CONFIG;
}

static int npu_fw_wait_ready(struct npu_device *npu)
{
	u32 status;

	npu_hw_poll(npu, NPU_REG_BOOT_STATUS, npu_fw_boot_is_done, NPU_FW_BOOT_MS, &status);
	if (status == NPU_FW_BOOT_READY)
		return 0;

	drm_err(&npu->base, "firmware does not start: it %s (%u)\n", npu_fw_boot_text(status),
		status);

	return -EIO;
}

/* What the firmware says about itself must be what its file says. */
static int npu_fw_check_info(struct npu_device *npu)
{
	struct npu_fw_info *info = npu_fw_info(npu);
	u32 abi = READ_ONCE(info->abi);

	if (abi != npu->fw.abi) {
		drm_err(&npu->base, "firmware speaks ABI %u, it was asked for %u\n", abi,
			npu->fw.abi);
		return -EIO;
	}
	if (memcmp(info->build_id, npu->fw.header.build_id, sizeof(info->build_id))) {
		drm_err(&npu->base, "firmware is another build than its file\n");
		return -EIO;
	}

	return 0;
}

/**
 * npu_fw_boot() - load and start the firmware in a device that has just been reset
 * @npu: device
 *
 * Allocates nothing: recovery comes this way.
 *
 * Return: 0, or a negative errno with the reason in the log.
 */
int npu_fw_boot(struct npu_device *npu)
{
	struct npu_fw_ctl ping = { .cmd = NPU_FW_CTL_PING };
	int ret;

	lockdep_assert_held_write(&npu->hw.lock);

	npu_fw_write_shared(npu);
	npu_hw_events_start(npu);
	ret = npu_fw_image_copy(npu);
	if (!ret)
		ret = npu_mmu_start(npu);
	if (ret)
		return ret;

	npu_hw_write(npu, NPU_REG_FW_CONFIG, npu_kbo_va(npu->fw.config));
	npu_hw_write(npu, NPU_REG_MCU_ENTRY, npu->fw.header.entry);
	npu_hw_write(npu, NPU_REG_MCU_CTRL, 1);
	ret = npu_fw_wait_ready(npu);
	if (!ret)
		ret = npu_fw_check_info(npu);
	if (!ret)
		ret = npu_fw_ctl(npu, &ping, NPU_FW_CTL_MS);

	return ret;
}

/* The firmware does nothing more; engines may still run. */
void npu_fw_halt(struct npu_device *npu)
{
	npu_hw_write(npu, NPU_REG_MCU_CTRL, 0);
	/* The write is posted: until it has arrived the firmware may end a job and start one. */
	npu_hw_read(npu, NPU_REG_MCU_CTRL);
}

/**
 * npu_fw_log_read() - copy the newest part of the firmware's log
 * @npu: device
 * @buf: where to
 * @size: its bytes
 *
 * The log is the firmware's to write: nothing in it is trusted, control characters are replaced.
 *
 * Return: bytes written; the text is not terminated.
 */
size_t npu_fw_log_read(struct npu_device *npu, char *buf, size_t size)
{
	struct npu_fw_log *log = npu_kbo_at(npu->fw.log, 0);
	u32 head = READ_ONCE(log->head), count = min_t(size_t, size, NPU_FW_LOG_DATA), i;

	/* Before the ring is full for the first time there is less. */
	count = min(count, head);
	for (i = 0; i < count; i++) {
		char c = READ_ONCE(log->data[(head - count + i) % NPU_FW_LOG_DATA]);

		buf[i] = c == '\n' || (c >= ' ' && c < 127) ? c : '?';
	}

	return count;
}
