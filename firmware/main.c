// SPDX-License-Identifier: MIT
/* Boot, and the loop's one round. */
#include "fw.h"
#include "build.h"

#define DEFAULT_HEARTBEAT_US	100000u

void fw_set_boot(struct fw *fw, enum npu_fw_boot status)
{
	if (fw->config.info)
		fw_store(fw->config.info + offsetof(struct npu_fw_info, boot_status), status);
	fw_reg_write(NPU_MCU_BOOT_STATUS, status);
}

void fw_count(struct fw *fw, enum npu_fw_counter counter)
{
	npu_u32 at = fw->config.info + offsetof(struct npu_fw_info, counter) + 4 * counter;

	fw_store(at, ++fw->counter[counter]);
}

static npu_u32 min(npu_u32 a, npu_u32 b)
{
	return a < b ? a : b;
}

static void introduce(struct fw *fw)
{
	struct npu_fw_info info = { .abi = fw->config.abi, .version = NPU_FW_VERSION };
	npu_u32 i;

	for (i = 0; i < sizeof(info.build_id); i++)
		info.build_id[i] = fw_build_id[i];
	fw_copy_to(fw->config.info, &info, sizeof(info) / 4);
	fw_log(fw, NPU_FW_LOG_INFO, "NPU firmware %s, ABI %u, %u engines, %u queues", info.version,
	       info.abi, fw->num_engines, fw->num_queues);
}

/* What the driver sees of queues that do not exist is what it cleared; rings go on as they are. */
enum npu_fw_boot fw_boot(struct fw *fw)
{
	const struct npu_fw_config *c = &fw->config;
	enum npu_fw_boot status;
	npu_u32 queues, i;

	fw_reg_write(NPU_MCU_BOOT_STATUS, NPU_FW_BOOT_STARTED);
	status = fw_config_load(fw);
	if (status != NPU_FW_BOOT_READY) {
		fw_reg_write(NPU_MCU_BOOT_STATUS, status);
		return status;
	}
	fw->num_engines = min(fw_reg_read(NPU_MCU_NUM_ENGINES), NPU_HW_MAX_ENGINES);
	queues = min(fw_reg_read(NPU_MCU_NUM_QUEUES), NPU_HW_MAX_QUEUES);
	fw->num_queues = min(queues, c->num_queues);
	fw->num_bells = (queues + 31) / 32;
	fw->save_size = fw_reg_read(NPU_MCU_SAVE_SIZE);
	if (!fw->config.heartbeat_us)
		fw->config.heartbeat_us = DEFAULT_HEARTBEAT_US;
	fw->timer = FW_NEVER;
	fw_timer_set(FW_NEVER);
	for (i = 0; i < NPU_HW_MAX_ENGINES; i++)
		fw->engine[i].index = i;
	fw_ring_init(&fw->ctl, c->ctl_ring, c->ctl_entries, c->ctl_index);
	fw_ring_init(&fw->msg, c->msg_ring, c->msg_entries, c->msg_index);
	introduce(fw);
	fw_set_boot(fw, NPU_FW_BOOT_READY);
	return status;
}

/* When to look again, if nothing else wakes the MCU. */
static npu_u64 next_look(const struct fw *fw, npu_u64 now)
{
	npu_u64 at = FW_NEVER, look;
	npu_u32 i;

	if (fw->msg_full)
		at = now + FW_FULL_POLL_NS;
	for (i = 0; i < fw->num_engines; i++) {
		look = FW_NEVER;
		if (fw->engine[i].use == FW_ENGINE_CLEARS)
			look = now + FW_POLL_NS;
		else if (fw->engine[i].use != FW_ENGINE_FREE)
			look = fw->progress_at;
		if (look < at)
			at = look;
	}
	return at;
}

/*
 * While messages have no room nothing is to be gained from interrupts, which would stay up: then
 * the timer alone wakes.
 */
static void prepare_wait(struct fw *fw)
{
	npu_u32 enable = fw->msg_full ? 0 : NPU_MCU_PENDING_CTL | NPU_MCU_PENDING_QUEUE |
					    NPU_MCU_PENDING_ENGINE;
	npu_u64 now = fw_now(), at;

	if (now >= fw->progress_at) {
		fw_engines_progress(fw);
		fw->progress_at = now + (npu_u64)fw->config.heartbeat_us * FW_NS_PER_US;
	}
	/* One that is too early is left: it costs a look, moving it would cost each job. */
	at = next_look(fw, now);
	if (at < fw->timer || (now >= fw->timer && at != fw->timer)) {
		fw_timer_set(at);
		fw->timer = at;
	}
	if (enable != fw->enabled)
		fw_reg_write(NPU_MCU_ENABLE, enable);
	fw->enabled = enable;
}

/*
 * In this order what one step makes possible is done by a later one. Rings that were found broken
 * in the last one are the exception.
 */
bool fw_turn(struct fw *fw)
{
	fw->msg_full = false;
	fw->pending = fw_reg_read(NPU_MCU_PENDING);
	fw_reg_write(NPU_MCU_WATCHDOG, FW_WATCHDOG_US);
	if (fw->pending & NPU_MCU_PENDING_CTL || fw->ctl.head != fw->ctl.tail)
		fw_ctl_turn(fw);
	fw_engines(fw);
	if (fw->pending & NPU_MCU_PENDING_QUEUE)
		fw_doorbells(fw);
	if (fw->num_ending || fw->num_unsaid)
		fw_queues(fw);
	if (fw->num_waiting)
		fw_sched_turn(fw);
	if (fw->suspending)
		fw_ctl_suspend(fw);
	fw_store(fw->config.info + offsetof(struct npu_fw_info, heartbeat), ++fw->heartbeat);
	fw_msg_tell(fw);
	prepare_wait(fw);
	return fw->num_unsaid && !fw->msg_full;
}
