// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: the firmware, built for the host, under a driver that writes anything into its
 * structures and orders anything at any moment. It must use no register and give no command that
 * there is not, its own books must stay right, and put right again it answers.
 *
 * Input: a byte of SETUP_*, a byte that is slice and age, then records of 8 bytes, see do_record().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fw.h"
#include "mock.h"

int LLVMFuzzerTestOneInput(const npu_u8 *data, size_t size);

#define SETUP_ENGINES	3u	/* one less than there are */
#define SETUP_ABI_1	4u
#define SETUP_LOUD	8u	/* its log says all */
#define SETUP_FEW	16u	/* the driver has fewer queues than the device */
#define RECORD		8u
#define QUEUES		6u

static struct mock m;
static struct npu_fw_ctl create[QUEUES];
/* As it was: engines save where the driver tells them to, and that may be here. */
static struct npu_fw_config config_kept;

static void set_up(const npu_u8 *data)
{
	struct npu_fw_config *config;
	npu_u32 i;

	mock_fini(&m);
	if (!mock_init(&m, NULL))
		abort();
	m.num_engines = 1 + (data[0] & SETUP_ENGINES);
	config = mock_config(&m);
	config->abi = data[0] & SETUP_ABI_1 ? 1 : NPU_FW_ABI_MAX;
	config->log_level = data[0] & SETUP_LOUD ? NPU_FW_LOG_DEBUG : NPU_FW_LOG_ERROR;
	config->slice_us = (data[1] & 15) * 100;
	config->age_us = (data[1] >> 4) * 100;
	config->num_queues = data[0] & SETUP_FEW ? QUEUES : MOCK_QUEUES;
	config_kept = *config;
	if (mock_boot(&m) != NPU_FW_BOOT_READY)
		abort();
	for (i = 0; i < QUEUES; i++) {
		create[i] = mock_queue_message(&m, i, i % NPU_NUM_FW_PRIORITIES);
		mock_ctl(&m, &create[i], NULL);
	}
}

static struct npu_fw_index *index_at(npu_u32 address)
{
	return mock_at(&m, address);
}

/* An order that is right but for one word. */
static void order(npu_u32 cmd, npu_u32 queue, int job, npu_u32 word, npu_u32 value)
{
	struct npu_fw_ctl ctl = { .cmd = cmd, .queue = queue };

	if (cmd == NPU_FW_CTL_QUEUE_CREATE)
		ctl = create[queue % QUEUES];
	else
		ctl.job_id = m.fw->queue[queue % QUEUES].job_id + (npu_u64)(long long)job;
	if (word < sizeof(ctl) / 4)
		((npu_u32 *)(void *)&ctl)[word] = value;
	mock_ctl_post(&m, &ctl);
}

/* The job that the firmware expects, but for one word. */
static void submit(npu_u32 queue, npu_u32 end, npu_u32 word, npu_u32 value)
{
	struct npu_fw_index *index = index_at(m.index[queue]);
	const struct fw_queue *q = &m.fw->queue[queue];
	struct npu_fw_job *job;

	m.job_id[queue] = q->job_id - 1 + (index->tail - q->ring.head);
	job = mock_job_write(&m, queue, value % 5000, end);
	if (word < sizeof(*job) / 4)
		((npu_u32 *)(void *)job)[word] = value;
	/* What an engine does with it is the mock's, and has to be one of these. */
	job->scalar[MOCK_SCALAR_END] %= MOCK_ERROR + 1;
	mock_ring(&m, queue);
}

/* Some of the driver's counts, by a little or by anything. */
static void poke(npu_u32 which, npu_u32 queue, npu_u32 value)
{
	struct npu_fw_index *index = index_at(which & 1 ? m.index[queue] : which & 2 ?
					      mock_config(&m)->ctl_index :
					      mock_config(&m)->msg_index);

	*(which & 4 ? &index->head : &index->tail) += which & 8 ? value : value % 3;
}

static void cancel_mark(npu_u32 queue, npu_u32 entry, npu_u32 value)
{
	struct npu_fw_job *job = mock_at(&m, m.ring[queue]);

	job[entry % MOCK_ENTRIES].cancel = value;
}

static void messages_take(void)
{
	struct npu_fw_index *index = index_at(mock_config(&m)->msg_index);

	index->head = index->tail;
}

static void do_record(const npu_u8 *r)
{
	npu_u32 queue = r[1] % QUEUES, value;

	memcpy(&value, r + 4, 4);
	switch (r[0] % 9) {
	case 0:
		order(r[2] % (NPU_FW_CTL_JOB_CANCEL + 2), r[1] % 64 ? queue : value,
		      (signed char)r[3], ~0u, 0);
		break;
	case 1:
		order(r[2] % (NPU_FW_CTL_JOB_CANCEL + 2), queue, 0, r[3], value);
		break;
	case 2:
		submit(queue, r[2], ~0u, value);
		break;
	case 3:
		submit(queue, r[2], r[3], value);
		break;
	case 4:
		mock_run(&m, value % 4000);
		break;
	case 5:
		poke(r[2], queue, value);
		/* A queue that the device has, and perhaps the driver does not. */
		mock_ring(&m, r[3] % MOCK_QUEUES);
		break;
	case 6:
		mock_engine_reset(&m, r[2] % m.num_engines);
		m.broken_save = r[3] & 1;
		m.stuck_stop = r[3] & 2;
		break;
	case 7:
		cancel_mark(queue, r[2], r[3] & 1 ? value : 1);
		break;
	case 8:
		messages_take();
		break;
	}
	m.trace[0] = '\0';
	*mock_config(&m) = config_kept;
}

__attribute__((noreturn)) static void die(const char *why, npu_u32 queue)
{
	fprintf(stderr, "%s: queue %u\n", why, queue);
	abort();
}

static void check_waiting(const struct fw *fw)
{
	npu_u32 i;

	for (i = 0; i < fw->num_waiting; i++) {
		const struct fw_queue *q = &fw->queue[fw->waiting[i]];

		if (!q->waits || q->place != i || q->state == NPU_FW_QUEUE_NONE)
			die("one that waits does not say so", fw->waiting[i]);
		if (q->state == NPU_FW_QUEUE_RUNNING)
			die("one that waits runs", fw->waiting[i]);
	}
}

/* Its counts of what is under way are those of what is under way. */
static void check_books(const struct fw *fw)
{
	npu_u32 ending = 0, unsaid = 0, waiting = 0, i;

	for (i = 0; i < NPU_HW_MAX_QUEUES; i++) {
		const struct fw_queue *q = &fw->queue[i];

		if (q->state == NPU_FW_QUEUE_NONE)
			continue;
		ending += q->aborting + q->cancelling;
		unsaid += q->ring.broken && !q->ring.said;
		waiting += q->waits;
		if (q->state == NPU_FW_QUEUE_RUNNING &&
		    (q->waits || !q->begun || fw->engine[q->engine].queue != q))
			die("one that runs is on no engine", i);
		if (q->cancelling && q->ring.head == q->ring.tail && !q->ring.broken)
			die("a cancel of no job", i);
	}
	if (ending != fw->num_ending || unsaid != fw->num_unsaid || waiting != fw->num_waiting)
		die("the books are wrong", ~0u);
	check_waiting(fw);
}

/* Both sides' counts meet again. */
static void put_right(void)
{
	struct npu_fw_index *ctl = index_at(mock_config(&m)->ctl_index);
	npu_u32 i;

	m.stuck_stop = false;
	ctl->head = ctl->tail = m.fw->ctl.head;
	index_at(mock_config(&m)->msg_index)->tail = m.fw->msg.tail;
	for (i = 0; i < 8; i++) {
		messages_take();
		mock_run(&m, 5000);
		m.trace[0] = '\0';
	}
	messages_take();
}

int LLVMFuzzerTestOneInput(const npu_u8 *data, size_t size)
{
	size_t at;

	if (size < 2)
		return 0;
	set_up(data);
	for (at = 2; at + RECORD <= size; at += RECORD) {
		do_record(data + at);
		check_books(m.fw);
	}
	put_right();
	if (m.bad_access || m.fatal)
		die("a register or command that there is not", ~0u);
	if (mock_ctl_simple(&m, NPU_FW_CTL_PING, 0, 0) != NPU_FW_OK)
		die("it does not answer", ~0u);
	check_books(m.fw);
	return 0;
}
