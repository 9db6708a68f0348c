// SPDX-License-Identifier: MIT
/* The driver's side of the rings. */
#include <stdlib.h>
#include <string.h>
#include "mock.h"

npu_u32 mock_alloc(struct mock *m, npu_u32 size, npu_u32 align)
{
	npu_u32 at = (m->next_free + align - 1) & ~(align - 1);

	m->next_free = at + size;
	if (m->next_free - NPU_MCU_KERNEL > MOCK_MEMORY)
		abort();
	return at;
}

struct npu_fw_config *mock_config(struct mock *m)
{
	return mock_at(m, m->config);
}

struct npu_fw_info *mock_info(struct mock *m)
{
	return mock_at(m, mock_config(m)->info);
}

struct npu_fw_queue_state *mock_queue_state(struct mock *m, npu_u32 queue)
{
	return (struct npu_fw_queue_state *)mock_at(m, mock_config(m)->queue_state) + queue;
}

npu_u32 mock_ctl_post(struct mock *m, struct npu_fw_ctl *ctl)
{
	struct npu_fw_index *index = mock_at(m, mock_config(m)->ctl_index);
	struct npu_fw_ctl *ring = mock_at(m, mock_config(m)->ctl_ring);

	ctl->seq = ++m->seq;
	ring[index->tail++ % MOCK_CTL] = *ctl;
	m->ctl = 1;
	return ctl->seq;
}

/* Messages in front of the answer are lost. */
npu_u32 mock_ctl(struct mock *m, struct npu_fw_ctl *ctl, npu_u32 *arg)
{
	npu_u32 seq = mock_ctl_post(m, ctl);
	struct npu_fw_msg msg;

	mock_run(m, 0);
	while (mock_message(m, &msg)) {
		if (msg.type == NPU_FW_MSG_CTL && msg.seq == seq) {
			if (arg)
				*arg = msg.arg;
			return msg.status;
		}
	}
	return ~0u;
}

npu_u32 mock_ctl_simple(struct mock *m, npu_u32 cmd, npu_u32 queue, npu_u64 arg)
{
	struct npu_fw_ctl ctl = { .cmd = cmd, .queue = queue, .arg = (npu_u32)arg, .job_id = arg };

	return mock_ctl(m, &ctl, NULL);
}

struct npu_fw_ctl mock_queue_message(struct mock *m, npu_u32 queue, npu_u32 priority)
{
	m->ring[queue] = mock_alloc(m, MOCK_ENTRIES * sizeof(struct npu_fw_job), 8);
	m->index[queue] = mock_alloc(m, sizeof(struct npu_fw_index), 8);
	m->job_id[queue] = 0;
	return (struct npu_fw_ctl){ .cmd = NPU_FW_CTL_QUEUE_CREATE, .queue = queue, .job_id = 1,
				    .priority = priority, .ring = m->ring[queue],
				    .entries = MOCK_ENTRIES, .index = m->index[queue],
				    .save = mock_alloc(m, MOCK_SAVE_SIZE, 4096) };
}

npu_u32 mock_queue_create(struct mock *m, npu_u32 queue, npu_u32 priority)
{
	struct npu_fw_ctl ctl = mock_queue_message(m, queue, priority);

	return mock_ctl(m, &ctl, NULL);
}

struct npu_fw_job *mock_job_write(struct mock *m, npu_u32 queue, npu_u32 us, enum mock_job_end end)
{
	struct npu_fw_index *index = mock_at(m, m->index[queue]);
	struct npu_fw_job *job = (struct npu_fw_job *)mock_at(m, m->ring[queue]) +
				 index->tail++ % MOCK_ENTRIES;

	*job = (struct npu_fw_job){ .job_id = ++m->job_id[queue], .stream = 0x10000,
				    .stream_size = sizeof(struct npu_stream_header),
				    .notify = mock_config(m)->abi >= NPU_FW_ABI_QUIET };
	job->scalar[MOCK_SCALAR_US] = us;
	job->scalar[MOCK_SCALAR_END] = end;
	return job;
}

void mock_ring(struct mock *m, npu_u32 queue)
{
	m->doorbell[queue / 32] |= 1u << queue % 32;
}

void mock_submit(struct mock *m, npu_u32 queue, npu_u32 us)
{
	mock_job_write(m, queue, us, MOCK_DONE);
	mock_ring(m, queue);
}

unsigned int mock_messages(struct mock *m)
{
	struct npu_fw_index *index = mock_at(m, mock_config(m)->msg_index);

	return index->tail - index->head;
}

bool mock_message(struct mock *m, struct npu_fw_msg *msg)
{
	struct npu_fw_index *index = mock_at(m, mock_config(m)->msg_index);
	struct npu_fw_msg *ring = mock_at(m, mock_config(m)->msg_ring);

	if (index->head == index->tail)
		return false;
	*msg = ring[index->head++ % mock_config(m)->msg_entries];
	return true;
}

const char *mock_log(struct mock *m, char *text, size_t size)
{
	const struct npu_fw_log *log = mock_at(m, mock_config(m)->log);
	npu_u32 count = log->head < log->size ? log->head : log->size, i, n = 0;

	for (i = log->head - count; i != log->head && n + 1 < size; i++)
		text[n++] = log->data[i & (log->size - 1)];
	text[n] = '\0';
	return text;
}
