/* SPDX-License-Identifier: MIT */
/* What the tests of the firmware ask of it, in one line each. */
#ifndef FW_CHECK_H
#define FW_CHECK_H

#include "mock.h"
#include "tap.h"

/* A machine that has booted, with the firmware built for the host. */
static inline void begin(struct mock *m)
{
	mock_fini(m);
	if (!mock_init(m, NULL) || mock_boot(m) != NPU_FW_BOOT_READY)
		abort();
}

/* What the engines were told since the last time. */
static inline void expect_trace(struct mock *m, const char *trace, const char *what)
{
	if (!tap_ok(!strcmp(m->trace, trace) && !m->bad_access, "%s", what))
		tap_diag("got '%s', expected '%s', %u bad accesses", m->trace, trace,
			 m->bad_access);
	m->trace[0] = '\0';
}

/* The next message is about this job. */
static inline void expect_job(struct mock *m, npu_u32 queue, npu_u64 job, npu_u32 status,
			      const char *what)
{
	struct npu_fw_msg msg = { .type = 0 };
	bool got = mock_message(m, &msg);

	if (!tap_ok(got && msg.type == NPU_FW_MSG_JOB && msg.queue == queue && msg.job_id == job &&
		    msg.status == status, "%s", what))
		tap_diag("got %d: type %u queue %u job %llu status %u arg %u", got, msg.type,
			 msg.queue, (unsigned long long)msg.job_id, msg.status, msg.arg);
}

static inline void expect_answer(struct mock *m, npu_u32 seq, npu_u32 status, const char *what)
{
	struct npu_fw_msg msg = { .type = 0 };
	bool got = mock_message(m, &msg);

	if (!tap_ok(got && msg.type == NPU_FW_MSG_CTL && msg.seq == seq && msg.status == status,
		    "%s", what))
		tap_diag("got %d: type %u seq %u status %u arg %u", got, msg.type, msg.seq,
			 msg.status, msg.arg);
}

#endif
