// SPDX-License-Identifier: MIT
/*
 * What the driver could write wrongly: descriptors, control messages, counts of rings, the
 * configuration. Each is refused by the offset of the member that is wrong, and it goes on.
 */
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "fw.h"

enum { NORMAL = NPU_FW_PRIORITY_NORMAL };

static struct mock m;

struct change {
	const char *what;
	npu_u32 offset;
	npu_u32 size;
	npu_u64 value;
};

#define SIZE_OF(type, member)	(sizeof(((struct type *)0)->member) > 4 ? 8 : 4)
#define JOB(member, v)		{ #member " " #v, offsetof(struct npu_fw_job, member),	\
				  SIZE_OF(npu_fw_job, member), (npu_u64)(v) }
#define CTL(member, v)		{ #member " " #v, offsetof(struct npu_fw_ctl, member),	\
				  SIZE_OF(npu_fw_ctl, member), (npu_u64)(v) }
#define CONFIG(member, v)	{ #member " " #v, offsetof(struct npu_fw_config, member), 4, (v) }

static void apply(void *to, const struct change *c)
{
	memcpy((char *)to + c->offset, &c->value, c->size);
}

static void test_jobs(void)
{
	static const struct change bad[] = {
		JOB(job_id, 0),
		JOB(job_id, 2),
		JOB(job_id, 1ull << 32 | 1),
		JOB(stream, 4),
		JOB(stream, 1ull << 48),
		JOB(stream, ~7ull),
		JOB(stream, (1ull << 48) - 8),
		JOB(stream_size, 0),
		JOB(stream_size, 15),
		JOB(stream_size, NPU_MAX_STREAM_BYTES + 1),
		JOB(stream_size, ~0u),
		JOB(num_regions, 257),
		JOB(num_regions, ~0u),
		JOB(regions, NPU_MCU_KERNEL),
		JOB(regions, 1),
		JOB(flags, 4),
		JOB(flags, 1u << 31),
		JOB(cancel, 2),
		JOB(notify, 2),
		JOB(notify, ~0u),
		{ "reserved2[0] 1", offsetof(struct npu_fw_job, reserved2), 4, 1 },
		{ "reserved2[2] 1", offsetof(struct npu_fw_job, reserved2) + 8, 4, 1 },
		JOB(trace, 4),
		JOB(trace, 1ull << 48),
	};
	struct npu_fw_msg msg;
	struct npu_fw_job *job;
	npu_u32 i, arg;

	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		job = mock_job_write(&m, 1, 100, MOCK_DONE);
		if (bad[i].offset == offsetof(struct npu_fw_job, job_id))
			job->job_id += bad[i].value + 1;
		else
			apply(job, &bad[i]);
		/* The whole of the padding is one member. */
		arg = bad[i].offset > offsetof(struct npu_fw_job, reserved2) ?
		      offsetof(struct npu_fw_job, reserved2) : bad[i].offset;
		mock_submit(&m, 1, 100);
		mock_run(&m, 1000);
		if (!tap_ok(mock_message(&m, &msg) && msg.status == NPU_FW_BAD_JOB &&
				    msg.arg == arg && msg.job_id == 2 * i + 1 && !msg.started_ns,
			    "job: %s", bad[i].what))
			tap_diag("status %u arg %u", msg.status, msg.arg);
		if (!mock_message(&m, &msg) || msg.status != NPU_FW_OK)
			tap_ok(0, "and the job behind it is done");
	}
	tap_ok(mock_info(&m)->counter[NPU_FW_COUNTER_REFUSED] == i &&
	       mock_info(&m)->counter[NPU_FW_COUNTER_DONE] == i, "counter of refused jobs");
}

/* Members that depend on each other. */
static void test_job_pairs(void)
{
	struct npu_fw_job *job;
	struct npu_fw_msg msg;

	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	job = mock_job_write(&m, 1, 100, MOCK_DONE);
	job->num_regions = 2;
	job->regions = 0xfffffff8;
	job = mock_job_write(&m, 1, 100, MOCK_DONE);
	job->num_regions = 1;
	job->regions = NPU_MCU_KERNEL + 4;
	job = mock_job_write(&m, 1, 100, MOCK_DONE);
	job->num_regions = 1;
	job->regions = 0x40000000;
	job = mock_job_write(&m, 1, 100, MOCK_DONE);
	job->flags = NPU_JOB_TRACE_DIGEST;
	job->trace = 0x1000;
	job->trace_size = sizeof(struct npu_hw_trace) - 1;
	job = mock_job_write(&m, 1, 100, MOCK_DONE);
	job->flags = NPU_JOB_FLAGS;
	job->trace = 0x1000;
	job->trace_size = ~0u;
	job->num_regions = 256;
	job->regions = 0xffffe800;
	mock_ring(&m, 1);
	mock_run(&m, 1000);
	tap_ok(mock_message(&m, &msg) && msg.arg == offsetof(struct npu_fw_job, regions),
	       "regions that wrap around");
	tap_ok(mock_message(&m, &msg) && msg.arg == offsetof(struct npu_fw_job, regions),
	       "regions that are not aligned");
	tap_ok(mock_message(&m, &msg) && msg.arg == offsetof(struct npu_fw_job, regions),
	       "regions outside of the kernel context");
	tap_ok(mock_message(&m, &msg) && msg.arg == offsetof(struct npu_fw_job, trace_size),
	       "a trace without room for its head");
	expect_job(&m, 1, 5, NPU_FW_OK, "and what is just right");
}

static void test_ctl(void)
{
	static const struct change bad[] = {
		CTL(job_id, 0),
		CTL(priority, 4),
		CTL(priority, ~0u),
		CTL(entries, 0),
		CTL(entries, 3),
		CTL(entries, 131072),
		CTL(entries, 1u << 31),
		CTL(ring, 0),
		CTL(ring, 0x80000004),
		CTL(ring, 0xfffffff8),
		CTL(index, 0x80000002),
		CTL(index, 0xffffffc0),
		CTL(save, 0),
		CTL(save, 0xfffff000),
		{ "reserved[4] 1", offsetof(struct npu_fw_ctl, reserved) + 16, 4, 1 },
	};
	struct npu_fw_ctl ctl;
	npu_u32 i, arg, status;

	begin(&m);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ctl = mock_queue_message(&m, 1, NORMAL);
		apply(&ctl, &bad[i]);
		status = mock_ctl(&m, &ctl, &arg);
		if (!tap_ok(status == NPU_FW_BAD_ARG && arg == bad[i].offset, "create: %s",
			    bad[i].what))
			tap_diag("status %u arg %u", status, arg);
	}
	ctl = mock_queue_message(&m, 1, NORMAL);
	ctl.queue = MOCK_QUEUES;
	tap_ok(mock_ctl(&m, &ctl, &arg) == NPU_FW_BAD_QUEUE &&
	       arg == offsetof(struct npu_fw_ctl, queue), "a queue that the device does not have");
	ctl.queue = ~0u;
	tap_ok(mock_ctl(&m, &ctl, &arg) == NPU_FW_BAD_QUEUE, "queue ~0");
	ctl.queue = 1;
	tap_ok(mock_ctl(&m, &ctl, &arg) == NPU_FW_OK, "the same, right");
	tap_ok(mock_ctl(&m, &ctl, &arg) == NPU_FW_BAD_QUEUE, "a queue that exists already");
	tap_ok(mock_ctl_simple(&m, NPU_FW_CTL_QUEUE_ABORT, 2, 1) == NPU_FW_BAD_QUEUE &&
	       mock_ctl_simple(&m, NPU_FW_CTL_QUEUE_ABORT, ~0u, 1) == NPU_FW_BAD_QUEUE &&
	       mock_ctl_simple(&m, NPU_FW_CTL_QUEUE_DESTROY, 2, 1) == NPU_FW_BAD_QUEUE,
	       "orders for queues that do not exist");
	tap_ok(mock_ctl_simple(&m, 0, 0, 0) == NPU_FW_BAD_CMD &&
	       mock_ctl_simple(&m, NPU_FW_CTL_JOB_CANCEL + 1, 0, 0) == NPU_FW_BAD_CMD &&
	       mock_ctl_simple(&m, ~0u, 0, 0) == NPU_FW_BAD_CMD, "commands that do not exist");
	tap_ok(mock_ctl_simple(&m, NPU_FW_CTL_LOG_LEVEL, 0, 4) == NPU_FW_BAD_ARG &&
	       mock_ctl_simple(&m, NPU_FW_CTL_LOG_LEVEL, 0, 3) == NPU_FW_OK, "levels of the log");
	tap_ok(mock_ctl_simple(&m, NPU_FW_CTL_PING, 0, 0) == NPU_FW_OK, "it still answers");
}

/* Every entry of the control ring at once, and its counts over their end. */
static void test_ctl_ring(void)
{
	struct npu_fw_index *index;
	struct npu_fw_ctl ctl = { .cmd = NPU_FW_CTL_PING };
	struct npu_fw_msg msg;
	npu_u32 i, bad = 0, first = 0, seq;

	mock_fini(&m);
	mock_init(&m, NULL);
	index = mock_at(&m, mock_config(&m)->ctl_index);
	index->head = index->tail = 0xfffffffe;
	mock_boot(&m);
	for (i = 0; i < MOCK_CTL; i++) {
		seq = mock_ctl_post(&m, &ctl);
		first = i ? first : seq;
	}
	mock_run(&m, 10);
	for (i = 0; i < MOCK_CTL; i++)
		bad += !mock_message(&m, &msg) || msg.seq != first + i || msg.status != NPU_FW_OK;
	tap_ok(!bad && index->head == 0xfffffffe + MOCK_CTL,
	       "a full control ring is answered in order");

	index->tail += MOCK_CTL + 1;
	m.ctl = 1;
	mock_run(&m, 10);
	m.ctl = 1;
	mock_run(&m, 10);
	tap_ok(mock_message(&m, &msg) && msg.type == NPU_FW_MSG_CTL &&
		       msg.status == NPU_FW_BAD_INDEX && msg.arg == 0 && !mock_messages(&m),
	       "a tail that runs ahead: said once");
	index->tail = index->head;
	tap_ok(mock_ctl_simple(&m, NPU_FW_CTL_PING, 0, 0) == NPU_FW_OK, "put right: it goes on");
}

static void test_queue_ring(void)
{
	struct npu_fw_index *index;
	struct npu_fw_msg msg;

	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	mock_queue_create(&m, 2, NORMAL);
	index = mock_at(&m, m.index[1]);
	index->tail = MOCK_ENTRIES + 1;
	mock_ring(&m, 1);
	mock_submit(&m, 2, 100);
	mock_run(&m, 1000);
	mock_ring(&m, 1);
	mock_run(&m, 1000);
	tap_ok(mock_message(&m, &msg) && msg.type == NPU_FW_MSG_JOB &&
		       msg.status == NPU_FW_BAD_INDEX && msg.queue == 1 && msg.job_id == 1 &&
		       msg.arg == offsetof(struct npu_fw_index, tail),
	       "a tail that runs ahead");
	expect_job(&m, 2, 1, NPU_FW_OK, "others are served");
	tap_ok(!mock_messages(&m) && mock_queue_state(&m, 1)->state == NPU_FW_QUEUE_IDLE,
	       "said once");
	index->tail = ~0u;
	mock_ring(&m, 1);
	mock_run(&m, 1000);
	tap_ok(!mock_messages(&m), "a tail that runs back: the same");
	index->tail = 0;
	mock_submit(&m, 1, 100);
	mock_run(&m, 1000);
	expect_job(&m, 1, 1, NPU_FW_OK, "put right: it goes on");
	index->tail += 100;
	mock_ring(&m, 1);
	mock_run(&m, 1000);
	tap_ok(mock_message(&m, &msg) && msg.status == NPU_FW_BAD_INDEX && msg.job_id == 2,
	       "wrong again: said again");
	tap_ok(mock_ctl_simple(&m, NPU_FW_CTL_QUEUE_DESTROY, 1, 0) == NPU_FW_OK,
	       "it can be destroyed");
}

/* While a job runs; and where the message about it has no room. */
static void test_queue_ring_late(void)
{
	struct npu_fw_index *index;
	struct npu_fw_msg msg;
	npu_u32 i, said = 0;

	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	mock_queue_create(&m, 2, NORMAL);
	index = mock_at(&m, m.index[1]);
	for (i = 0; i < 63; i++) {
		mock_submit(&m, 2, 10);
		mock_run(&m, 50);
	}
	mock_submit(&m, 1, 500);
	mock_submit(&m, 2, 10);
	mock_run(&m, 100);
	index->tail += 100;
	mock_run(&m, 1000);
	tap_ok(mock_messages(&m) == 64, "the ring is full");
	while (mock_message(&m, &msg))
		;
	mock_run(&m, 1000);
	while (mock_message(&m, &msg))
		said += msg.status == NPU_FW_BAD_INDEX;
	tap_ok(said == 1, "what had no room is said when there is");
}

/* The driver's own count of messages. */
static void test_msg_ring(void)
{
	struct npu_fw_index *index;
	npu_u32 i;

	begin(&m);
	mock_queue_create(&m, 1, NORMAL);
	index = mock_at(&m, mock_config(&m)->msg_index);
	index->head += 1000;
	for (i = 0; i < 80; i++) {
		if (m.job_id[1] - mock_queue_state(&m, 1)->job_seq < MOCK_ENTRIES - 1)
			mock_submit(&m, 1, 10);
		mock_run(&m, 300);
	}
	/* The answer about the queue and 63 jobs: what fits since the last head that could be. */
	tap_ok(index->tail == 64, "a head that is impossible frees no room");
	index->head = index->tail;
	mock_run(&m, 10000);
	tap_ok(mock_messages(&m) == m.job_id[1] - 63, "put right: it goes on");
}

static void test_config(void)
{
	static const struct change bad[] = {
		CONFIG(magic, 1),
		CONFIG(size, 0),
		CONFIG(size, 124),
		CONFIG(num_queues, 0),
		CONFIG(num_queues, 257),
		CONFIG(ctl_ring, 0),
		CONFIG(ctl_ring, 0x80000004),
		CONFIG(ctl_index, 0xffffff84),
		CONFIG(msg_ring, 0xffffff00),
		CONFIG(msg_index, 1),
		CONFIG(queue_state, 0xfffff800),
		CONFIG(info, 0),
		CONFIG(results, 0x7fffffff),
		CONFIG(log_level, 4),
		{ "reserved[12] 1", offsetof(struct npu_fw_config, reserved) + 48, 4, 1 },
		CONFIG(log, 0),
		CONFIG(log_size, 0),
		CONFIG(log_size, 16),
		CONFIG(log_size, 16 + 1000),
		CONFIG(log_size, ~0u),
	};
	char log[4096], want[64];
	npu_u32 i, status;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		mock_fini(&m);
		mock_init(&m, NULL);
		apply(mock_config(&m), &bad[i]);
		status = mock_boot(&m);
		snprintf(want, sizeof(want), "error: the configuration is wrong at offset %u\n",
			 bad[i].offset);
		if (!tap_ok(status == NPU_FW_BOOT_BAD_CONFIG, "configuration: %s", bad[i].what))
			tap_diag("status %u", status);
		/* Without a log there is nowhere to say why. */
		if (bad[i].offset && bad[i].offset != offsetof(struct npu_fw_config, log) &&
		    bad[i].offset != offsetof(struct npu_fw_config, log_size) &&
		    !strstr(mock_log(&m, log, sizeof(log)), want))
			tap_ok(0, "its log says which member: '%s'", log);
	}
	for (i = 0; i <= NPU_FW_ABI_MAX + 1; i += NPU_FW_ABI_MAX + 1) {
		mock_fini(&m);
		mock_init(&m, NULL);
		mock_config(&m)->abi = i;
		tap_ok(mock_boot(&m) == NPU_FW_BOOT_BAD_ABI, "ABI %u", i);
	}
	for (i = NPU_FW_ABI_MIN; i <= NPU_FW_ABI_MAX; i++) {
		mock_fini(&m);
		mock_init(&m, NULL);
		mock_config(&m)->abi = i;
		tap_ok(mock_boot(&m) == NPU_FW_BOOT_READY && mock_info(&m)->abi == i, "ABI %u", i);
	}
	mock_fini(&m);
	mock_init(&m, NULL);
	mock_config(&m)->ctl_entries = 12;
	tap_ok(mock_boot(&m) == NPU_FW_BOOT_BAD_CONFIG, "a ring of 12 entries");
}

/* A bell that the device has, and the configuration has no queue for. */
static void test_strange_bell(void)
{
	mock_fini(&m);
	mock_init(&m, NULL);
	mock_config(&m)->num_queues = 8;
	mock_boot(&m);
	mock_queue_create(&m, 1, NORMAL);
	mock_ring(&m, 40);
	mock_submit(&m, 1, 10);
	mock_run(&m, 1000);
	expect_job(&m, 1, 1, NPU_FW_OK, "the bell of a queue that is not used is heard, once");
	tap_ok(!m.bad_access && !mock_external(&m), "and it sleeps then");
}

static void test_log(void)
{
	static char log[8192];
	struct npu_fw_log *header;
	npu_u32 i, bad = 0;
	char *line, *next;

	mock_fini(&m);
	mock_init(&m, NULL);
	header = mock_at(&m, mock_config(&m)->log);
	header->head = 0xfffffff0;
	memset(header->data, 'x', 16);
	mock_config(&m)->log_level = NPU_FW_LOG_DEBUG;
	mock_boot(&m);
	mock_queue_create(&m, 1, NORMAL);
	for (i = 0; i < 500; i++) {
		mock_submit(&m, 1, 10);
		mock_run(&m, 100);
		while (mock_messages(&m))
			mock_message(&m, &(struct npu_fw_msg){ .type = 0 });
	}
	mock_log(&m, log, sizeof(log));
	tap_ok(strlen(log) == 4096 && header->magic == NPU_FW_LOG_MAGIC && header->size == 4096,
	       "the log is full, and its count has wrapped");
	/* The first line is cut; all others are whole. */
	for (line = strchr(log, '\n') + 1; *line; line = next + 1) {
		next = strchr(line, '\n');
		if (!next || *line != '[' || !memchr(line, ']', (size_t)(next - line))) {
			bad++;
			break;
		}
	}
	tap_ok(!bad, "lines that wrap around are whole");
	tap_ok(!!strstr(log, "debug: queue 1: job 500 ends with status 0, 1 slices\n"),
	       "the last job is in it");
	tap_ok(mock_ctl_simple(&m, NPU_FW_CTL_LOG_LEVEL, 0, NPU_FW_LOG_ERROR) == NPU_FW_OK,
	       "errors only");
	i = header->head;
	mock_submit(&m, 1, 10);
	mock_run(&m, 100);
	tap_ok(header->head == i, "then nothing is written about good jobs");
}

static npu_u32 random_word(void)
{
	return rand() % 3 ? (npu_u32)rand() % 8 : (npu_u32)rand() << 1;
}

/* A job with one word at random, or none; a tail that runs ahead now and then. */
static void random_job(npu_u32 queue)
{
	struct npu_fw_index *index = mock_at(&m, m.index[queue]);
	struct npu_fw_job *job;

	if (index->tail - index->head >= MOCK_ENTRIES)
		index->tail = index->head;
	m.job_id[queue] = m.fw->queue[queue].job_id - 1 + index->tail - index->head;
	job = mock_job_write(&m, queue, (npu_u32)rand() % 2000, MOCK_DONE);
	if (rand() % 3 == 0)
		((npu_u32 *)(void *)job)[rand() % 12] = random_word();
	if (rand() % 20 == 0)
		index->tail += (npu_u32)rand();
	mock_ring(&m, queue);
}

static void random_ctl(void)
{
	struct npu_fw_index *index = mock_at(&m, mock_config(&m)->ctl_index);
	struct npu_fw_ctl ctl = { .cmd = (npu_u32)rand() % 10, .queue = (npu_u32)rand() % 6,
				  .job_id = (npu_u32)rand() % 100, .arg = random_word() };

	/* The other queues are to live on, and not to be suspended. */
	if (ctl.cmd == NPU_FW_CTL_SUSPEND || ctl.cmd == NPU_FW_CTL_QUEUE_DESTROY)
		ctl.cmd = 0;
	((npu_u32 *)(void *)&ctl)[4 + rand() % 12] = random_word();
	mock_ctl_post(&m, &ctl);
	if (rand() % 20 == 0)
		index->tail += (npu_u32)rand();
}

/* Anything at all in the driver's structures: it neither crashes nor hangs. */
static void test_random(void)
{
	unsigned int i, rounds = tap_cases(20000);
	struct npu_fw_index *ctl, *msg;
	npu_u32 queue;

	begin(&m);
	srand(3);
	for (queue = 1; queue <= 4; queue++)
		mock_queue_create(&m, queue, queue % 4);
	ctl = mock_at(&m, mock_config(&m)->ctl_index);
	msg = mock_at(&m, mock_config(&m)->msg_index);
	for (i = 0; i < rounds; i++) {
		random_job(1 + (npu_u32)rand() % 4);
		if (rand() % 4 == 0)
			random_ctl();
		mock_run(&m, (npu_u64)rand() % 3000);
		m.trace[0] = '\0';
		if (ctl->tail - ctl->head > MOCK_CTL)
			ctl->tail = ctl->head;
		if (rand() % 10)
			msg->head = msg->tail;
	}
	tap_ok(!m.bad_access, "%u rounds of random structures: no command in a wrong state", i);
	tap_diag("%u refused, %u aborted, %u done, %u preempted",
		 mock_info(&m)->counter[NPU_FW_COUNTER_REFUSED],
		 mock_info(&m)->counter[NPU_FW_COUNTER_ABORTED],
		 mock_info(&m)->counter[NPU_FW_COUNTER_DONE],
		 mock_info(&m)->counter[NPU_FW_COUNTER_PREEMPTED]);
	msg->head = msg->tail;
	mock_run(&m, 100000);
	msg->head = msg->tail;
	tap_ok(mock_ctl_simple(&m, NPU_FW_CTL_PING, 0, 0) == NPU_FW_OK, "and it still answers");
}

int main(void)
{
	test_jobs();
	test_job_pairs();
	test_ctl();
	test_ctl_ring();
	test_queue_ring();
	test_queue_ring_late();
	test_msg_ring();
	test_config();
	test_strange_bell();
	test_log();
	test_random();
	mock_fini(&m);
	return tap_done();
}
