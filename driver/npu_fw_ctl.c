// SPDX-License-Identifier: GPL-2.0-only
/*
 * The two rings. Control messages go one at a time and wait for their answer. Messages from the
 * firmware are copied once and checked: an index, queue or job that can not be is a protocol error,
 * and the device is reset.
 */
#include <drm/drm_print.h>

#include "npu_device.h"
#include "npu_fw.h"
#include "npu_hw.h"
#include "npu_job.h"
#include "npu_kbo.h"
#include "npu_reset.h"
#include "npu_trace.h"

/* In case the interrupt got lost. */
#define NPU_FW_CTL_POLL_MS	50

static struct npu_fw_index *npu_fw_ctl_index(struct npu_device *npu)
{
	return npu_kbo_at(npu->fw.ctl, NPU_FW_CTL_ENTRIES * sizeof(struct npu_fw_ctl));
}

static struct npu_fw_index *npu_fw_msg_index(struct npu_device *npu)
{
	return npu_kbo_at(npu->fw.msg, NPU_FW_MSG_ENTRIES * sizeof(struct npu_fw_msg));
}

/* Both rings are empty. Nothing is taken from them yet: npu_hw_events_start() comes later. */
void npu_fw_ctl_start(struct npu_device *npu)
{
	memset(npu_kbo_at(npu->fw.ctl, 0), 0, npu->fw.ctl->size);
	memset(npu_kbo_at(npu->fw.msg, 0), 0, npu->fw.msg->size);
	npu->fw.ctl_tail = 0;
	spin_lock_irq(&npu->irq.lock);
	npu->fw.msg_head = 0;
	spin_unlock_irq(&npu->irq.lock);
}

const char *npu_fw_status_text(u32 status)
{
	static const char * const text[] = {
#define X(name, code, text) \
	[code] = text,
		NPU_FW_STATUSES(X)
#undef X
	};

	return status < ARRAY_SIZE(text) && text[status] ? text[status] : "unknown";
}

static void npu_fw_ctl_expect(struct npu_device *npu, u32 seq)
{
	spin_lock_irq(&npu->irq.lock);
	npu->fw.ctl_wait = seq;
	reinit_completion(&npu->fw.ctl_done);
	spin_unlock_irq(&npu->irq.lock);
}

static void npu_fw_ctl_write(struct npu_device *npu, const struct npu_fw_ctl *cmd)
{
	struct npu_fw *fw = &npu->fw;
	u32 at = fw->ctl_tail % NPU_FW_CTL_ENTRIES;

	memcpy(npu_kbo_at(fw->ctl, at * sizeof(*cmd)), cmd, sizeof(*cmd));
	dma_wmb();
	WRITE_ONCE(npu_fw_ctl_index(npu)->tail, ++fw->ctl_tail);
	npu_hw_write(npu, NPU_REG_DOORBELL_CTL, 1);
}

/*
 * Looks are counted, not the time that has passed: a processor that stood still meanwhile, as that
 * of a guest may, has not waited.
 */
static int npu_fw_ctl_wait(struct npu_device *npu, unsigned int timeout_ms)
{
	unsigned int looks = DIV_ROUND_UP(timeout_ms, NPU_FW_CTL_POLL_MS);

	while (!wait_for_completion_timeout(&npu->fw.ctl_done,
					    msecs_to_jiffies(NPU_FW_CTL_POLL_MS))) {
		npu_hw_irq_process(npu);
		if (completion_done(&npu->fw.ctl_done))
			return 0;
		if (npu_reset_is_coming(npu))
			return -EAGAIN;
		if (!--looks)
			return -ETIMEDOUT;
	}

	return 0;
}

static int npu_fw_ctl_result(struct npu_device *npu, const struct npu_fw_ctl *cmd)
{
	const struct npu_fw_msg *answer = &npu->fw.ctl_answer;

	switch (answer->status) {
	case NPU_FW_OK:
		return 0;
	case NPU_FW_BUSY:
		return -EBUSY;
	default:
		drm_err_ratelimited(&npu->base, "firmware: command %u of queue %u: %s (%u)\n",
				    cmd->cmd, cmd->queue, npu_fw_status_text(answer->status),
				    answer->arg);
		return -EPROTO;
	}
}

/**
 * npu_fw_ctl() - tell the firmware something, and wait for its answer
 * @npu: device
 * @cmd: message; seq is filled in
 * @timeout_ms: how long to wait
 *
 * Allocates nothing: recovery comes this way.
 *
 * Return: 0, -ETIMEDOUT, -EAGAIN when a reset comes before the answer, -EBUSY, or -EPROTO when the
 * firmware refuses it.
 */
int npu_fw_ctl(struct npu_device *npu, struct npu_fw_ctl *cmd, unsigned int timeout_ms)
{
	struct npu_fw *fw = &npu->fw;
	int ret;

	lockdep_assert_held(&npu->hw.lock);

	guard(mutex)(&fw->ctl_lock);
	if (!++fw->ctl_seq)
		fw->ctl_seq = 1;
	cmd->seq = fw->ctl_seq;
	trace_npu_fw_ctl(npu, cmd);

	npu_fw_ctl_expect(npu, cmd->seq);
	npu_fw_ctl_write(npu, cmd);
	ret = npu_fw_ctl_wait(npu, timeout_ms);
	npu_fw_ctl_expect(npu, 0);
	if (ret == -EAGAIN)
		return ret;
	if (ret) {
		drm_err_ratelimited(&npu->base, "firmware: no answer to command %u of queue %u\n",
				    cmd->cmd, cmd->queue);
		return ret;
	}

	return npu_fw_ctl_result(npu, cmd);
}

static void npu_fw_protocol_error(struct npu_device *npu, const char *what, u64 value)
{
	drm_err_ratelimited(&npu->base, "firmware: %s %#llx can not be\n", what, value);
	npu_reset_request(npu, "firmware breaks the protocol");
}

static void npu_fw_handle_ctl(struct npu_device *npu, const struct npu_fw_msg *msg)
{
	struct npu_fw *fw = &npu->fw;

	/* An answer that nobody waits for any more is late, not wrong. */
	if (!fw->ctl_wait || msg->seq != fw->ctl_wait)
		return;

	fw->ctl_answer = *msg;
	fw->ctl_wait = 0;
	complete(&fw->ctl_done);
}

/* No job has ended. A reset makes all rings anew, and goes on with what is in them. */
static void npu_fw_handle_bad_index(struct npu_device *npu, const struct npu_fw_msg *msg)
{
	drm_err_ratelimited(&npu->base, "firmware: ring of queue %u: %s (%u)\n", msg->queue,
			    npu_fw_status_text(msg->status), msg->arg);
	npu_reset_request(npu, "a ring is damaged");
}

static void npu_fw_handle(struct npu_device *npu, const struct npu_fw_msg *msg)
{
	trace_npu_fw_msg(npu, msg);

	switch (msg->type) {
	case NPU_FW_MSG_CTL:
		npu_fw_handle_ctl(npu, msg);
		break;
	case NPU_FW_MSG_JOB:
		if (msg->queue >= npu->caps.num_queues)
			npu_fw_protocol_error(npu, "queue", msg->queue);
		else if (msg->status == NPU_FW_BAD_INDEX)
			npu_fw_handle_bad_index(npu, msg);
		else if (npu_job_complete(npu, msg))
			npu_fw_protocol_error(npu, "completed job", msg->job_id);
		break;
	default:
		npu_fw_protocol_error(npu, "message type", msg->type);
		break;
	}
}

/**
 * npu_fw_has_messages() - look whether there are messages that have not been taken
 * @npu: device whose memory has not been freed
 *
 * From any context, without a lock.
 *
 * Return: whether there are; those that another processor takes just now may count.
 */
bool npu_fw_has_messages(struct npu_device *npu)
{
	return READ_ONCE(npu_fw_msg_index(npu)->tail) != READ_ONCE(npu->fw.msg_head);
}

/**
 * npu_fw_process_messages() - take what the firmware has put into the message ring
 * @npu: device
 *
 * Called with npu_device.irq.lock held, in interrupt context.
 */
void npu_fw_process_messages(struct npu_device *npu)
{
	struct npu_fw_index *index = npu_fw_msg_index(npu);
	struct npu_fw *fw = &npu->fw;
	u32 tail = READ_ONCE(index->tail);

	lockdep_assert_held(&npu->irq.lock);

	if (tail - fw->msg_head > NPU_FW_MSG_ENTRIES) {
		npu_fw_protocol_error(npu, "tail of the message ring", tail);
		/* Once: what lies in the ring is not known any more. */
		npu->irq.enabled = false;
		return;
	}

	dma_rmb();
	while (fw->msg_head != tail) {
		u32 at = fw->msg_head % NPU_FW_MSG_ENTRIES;
		struct npu_fw_msg msg;

		/* One copy: the firmware could change it between check and use. */
		memcpy(&msg, npu_kbo_at(fw->msg, at * sizeof(msg)), sizeof(msg));
		WRITE_ONCE(fw->msg_head, fw->msg_head + 1);
		npu_fw_handle(npu, &msg);
	}
	/* Messages have been read before the firmware may write there again. */
	dma_mb();
	WRITE_ONCE(index->head, fw->msg_head);
}
