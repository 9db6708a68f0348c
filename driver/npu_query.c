// SPDX-License-Identifier: GPL-2.0-only
/* DEV_QUERY: what programs want to know about the device. */
#include <linux/capability.h>
#include <linux/ktime.h>
#include <linux/pm_runtime.h>

#include <drm/drm_drv.h>

#include "../uapi/drm/npu_drm.h"

#include "npu_device.h"
#include "npu_hw.h"
#include "npu_job.h"
#include "npu_limits.h"
#include "npu_query.h"
#include "npu_queue.h"
#include "npu_submit.h"
#include "npu_uobj.h"

static int npu_query_npu_info(struct npu_device *npu, struct drm_npu_dev_query *args)
{
	const struct npu_caps *caps = &npu->caps;
	struct drm_npu_npu_info info = {
		.hw_version = caps->hw_version,
		.isa_version = caps->isa_version,
		.num_engines = caps->num_engines,
		.mac_rows = caps->mac_rows,
		.mac_columns = caps->mac_columns,
		.sram_size = caps->sram_size,
		.dtypes = caps->dtypes,
		.epoch = READ_ONCE(npu->reset.count),
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(info.opcodes); i++)
		info.opcodes[i] = (u64)caps->opcodes[2 * i + 1] << 32 | caps->opcodes[2 * i];

	return npu_uobj_put(args->pointer, &args->size, &info, sizeof(info));
}

static int npu_query_fw_info(struct npu_device *npu, struct drm_npu_dev_query *args)
{
	const struct npu_fw *fw = &npu->fw;
	struct drm_npu_fw_info info = {
		.abi = fw->abi,
		.abi_min = fw->header.abi_min,
		.abi_max = fw->header.abi_max,
	};

	static_assert(sizeof(info.version) == sizeof(fw->header.version));
	static_assert(sizeof(info.build_id) >= sizeof(fw->header.build_id));
	memcpy(info.version, fw->header.version, sizeof(info.version));
	memcpy(info.build_id, fw->header.build_id, sizeof(fw->header.build_id));

	return npu_uobj_put(args->pointer, &args->size, &info, sizeof(info));
}

/* First address behind those that a program may map. */
u64 npu_query_user_va_end(const struct npu_device *npu)
{
	return 1ull << npu->caps.va_bits;
}

static int npu_query_mmu_info(struct npu_device *npu, struct drm_npu_dev_query *args)
{
	const struct drm_npu_mmu_info info = {
		.va_bits = npu->caps.va_bits,
		.page_sizes = SZ_4K | SZ_2M,
		.user_va_end = npu_query_user_va_end(npu),
	};

	return npu_uobj_put(args->pointer, &args->size, &info, sizeof(info));
}

/* Whether the current process may have queues of this priority. */
bool npu_query_may_priority(u32 priority)
{
	return priority <= DRM_NPU_PRIORITY_NORMAL ||
	       ns_capable_noaudit(&init_user_ns, CAP_SYS_NICE);
}

static int npu_query_queue_info(struct npu_device *npu, struct drm_npu_dev_query *args)
{
	struct drm_npu_queue_info info = {
		.max_queues = npu->caps.num_queues,
		.max_queues_user = npu_limits_max(npu, NPU_LIMIT_QUEUES),
		.max_vms_user = npu_limits_max(npu, NPU_LIMIT_VMS),
		.max_depth = NPU_QUEUE_MAX_DEPTH,
		.priorities = BIT(DRM_NPU_PRIORITY_LOW) | BIT(DRM_NPU_PRIORITY_NORMAL),
		.max_regions = NPU_MAX_REGIONS,
		.max_scalars = NPU_MAX_SCALARS,
		.max_jobs = NPU_SUBMIT_MAX_JOBS,
		.timeout_ms = READ_ONCE(npu->reset.timeout_ms),
		.limit_ms = NPU_JOB_LIMIT_MS,
	};

	if (npu_query_may_priority(DRM_NPU_PRIORITY_REALTIME))
		info.priorities |= BIT(DRM_NPU_PRIORITY_HIGH) | BIT(DRM_NPU_PRIORITY_REALTIME);

	return npu_uobj_put(args->pointer, &args->size, &info, sizeof(info));
}

static int npu_query_read_clock(struct npu_device *npu, struct drm_npu_timestamp_info *info)
{
	int cookie, ret;

	if (!drm_dev_enter(&npu->base, &cookie))
		return -ENODEV;

	/* When it has been given up later calls have an error of runtime PM's own. */
	ret = -ENODEV;
	if (pm_runtime_resume_and_get(npu->base.dev))
		goto out_exit;

	down_read(&npu->hw.lock);
	if (npu->hw.online) {
		/* Two reads that latch must not mix. */
		scoped_guard(mutex, &npu->fw.ctl_lock)
			info->device = npu_hw_read64(npu, NPU_REG_TIMESTAMP);
		info->cpu_ns = ktime_get_ns();
		ret = 0;
	}
	up_read(&npu->hw.lock);
	pm_runtime_mark_last_busy(npu->base.dev);
	pm_runtime_put_autosuspend(npu->base.dev);

out_exit:
	drm_dev_exit(cookie);
	return ret;
}

static int npu_query_timestamp(struct npu_device *npu, struct drm_npu_dev_query *args)
{
	struct drm_npu_timestamp_info info = { .frequency = npu->caps.clock_hz };
	int ret;

	/* Nobody pays for the clocks who only asks for the size. */
	if (args->pointer) {
		ret = npu_query_read_clock(npu, &info);
		if (ret)
			return ret;
	}

	return npu_uobj_put(args->pointer, &args->size, &info, sizeof(info));
}

int npu_query(struct npu_device *npu, struct drm_npu_dev_query *args)
{
	switch (args->type) {
	case DRM_NPU_DEV_QUERY_NPU_INFO:
		return npu_query_npu_info(npu, args);
	case DRM_NPU_DEV_QUERY_FW_INFO:
		return npu_query_fw_info(npu, args);
	case DRM_NPU_DEV_QUERY_MMU_INFO:
		return npu_query_mmu_info(npu, args);
	case DRM_NPU_DEV_QUERY_QUEUE_INFO:
		return npu_query_queue_info(npu, args);
	case DRM_NPU_DEV_QUERY_TIMESTAMP:
		return npu_query_timestamp(npu, args);
	default:
		return -EINVAL;
	}
}
