/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM npu

#if !defined(NPU_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define NPU_TRACE_H

#include <linux/tracepoint.h>

#include "npu_device.h"
#include "npu_job.h"
#include "npu_queue.h"

TRACE_EVENT(npu_job_run,
	TP_PROTO(const struct npu_job *job),
	TP_ARGS(job),
	TP_STRUCT__entry(
		__string(dev, dev_name(job->queue->npu->base.dev))
		__field(u32, queue)
		__field(u64, job)
		__field(u32, regions)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->queue = job->queue->id;
		__entry->job = job->id;
		__entry->regions = job->desc.num_regions;
	),
	TP_printk("%s queue=%u job=%llu regions=%u", __get_str(dev), __entry->queue, __entry->job,
		  __entry->regions)
);

TRACE_EVENT(npu_job_end,
	TP_PROTO(const struct npu_queue *npu_queue, const struct npu_result *result, int error),
	TP_ARGS(npu_queue, result, error),
	TP_STRUCT__entry(
		__string(dev, dev_name(npu_queue->npu->base.dev))
		__field(u32, queue)
		__field(u64, job)
		__field(u32, status)
		__field(int, error)
		__field(u64, busy_ns)
		__field(u32, slices)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->queue = npu_queue->id;
		__entry->job = result->id;
		__entry->status = result->status;
		__entry->error = error;
		__entry->busy_ns = result->busy_ns;
		__entry->slices = result->slices;
	),
	TP_printk("%s queue=%u job=%llu status=%u error=%d busy_ns=%llu slices=%u", __get_str(dev),
		  __entry->queue, __entry->job, __entry->status, __entry->error, __entry->busy_ns,
		  __entry->slices)
);

TRACE_EVENT(npu_fw_ctl,
	TP_PROTO(const struct npu_device *npu, const struct npu_fw_ctl *ctl),
	TP_ARGS(npu, ctl),
	TP_STRUCT__entry(
		__string(dev, dev_name(npu->base.dev))
		__field(u32, cmd)
		__field(u32, seq)
		__field(u32, queue)
		__field(u64, job)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->cmd = ctl->cmd;
		__entry->seq = ctl->seq;
		__entry->queue = ctl->queue;
		__entry->job = ctl->job_id;
	),
	TP_printk("%s cmd=%u seq=%u queue=%u job=%llu", __get_str(dev), __entry->cmd, __entry->seq,
		  __entry->queue, __entry->job)
);

TRACE_EVENT(npu_fw_msg,
	TP_PROTO(const struct npu_device *npu, const struct npu_fw_msg *msg),
	TP_ARGS(npu, msg),
	TP_STRUCT__entry(
		__string(dev, dev_name(npu->base.dev))
		__field(u32, type)
		__field(u32, seq)
		__field(u32, queue)
		__field(u32, status)
		__field(u64, job)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->type = msg->type;
		__entry->seq = msg->seq;
		__entry->queue = msg->queue;
		__entry->status = msg->status;
		__entry->job = msg->job_id;
	),
	TP_printk("%s type=%u seq=%u queue=%u status=%u job=%llu", __get_str(dev),
		  __entry->type, __entry->seq, __entry->queue, __entry->status, __entry->job)
);

TRACE_EVENT(npu_reset,
	TP_PROTO(const struct npu_device *npu, const char *what, int ret),
	TP_ARGS(npu, what, ret),
	TP_STRUCT__entry(
		__string(dev, dev_name(npu->base.dev))
		__string(what, what)
		__field(int, ret)
	),
	TP_fast_assign(
		__assign_str(dev);
		__assign_str(what);
		__entry->ret = ret;
	),
	TP_printk("%s %s ret=%d", __get_str(dev), __get_str(what), __entry->ret)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE npu_trace
#include <trace/define_trace.h>
