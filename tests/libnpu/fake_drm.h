/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for the kernel driver, in process: an open "accel node" whose ioctls are answered by
 * the definition of drmIoctl() in fake_drm.c, which this program's libdrm calls, too. It keeps its
 * own page map, checks every member that npu_drm.h says is checked, and runs jobs on an engine, one
 * thread per queue. Only what the backend uses is there; the driver itself is tested in the guest.
 */
#ifndef TESTS_LIBNPU_FAKE_DRM_H
#define TESTS_LIBNPU_FAKE_DRM_H

#include <stdbool.h>
#include <stdint.h>

/* Returns a file descriptor; one at a time. */
int fake_drm_open(void);
void fake_drm_close(int fd);

/* Objects that are left: buffers, mappings, queues, syncobjs, VMs. */
unsigned int fake_drm_live(void);

/* How the fake misbehaves from now on. */
struct fake_drm_switches {
	bool gone;		/* every ioctl fails with ENODEV, waits too */
	bool hang;		/* jobs wait until this is false again */
	bool time_out;		/* jobs end as DRM_NPU_JOB_TIMEDOUT */
	bool lose;		/* jobs end as DRM_NPU_JOB_INNOCENT */
	bool no_nice;		/* high priority is refused */
	unsigned int fail_create;	/* so many buffers on, counted down, one has no memory */
	bool no_cancel;		/* JOB_CANCEL is not known: a driver of minor version 0 */
	int wait_error;		/* errno that every wait for a syncobj fails with, 0: none */
	bool no_result;		/* nor is there memory to tell how a job ended */
	unsigned int job_us;	/* what jobs take, beside their instructions */
	int major;		/* of the driver */
	unsigned int isa;	/* major of the instruction set */
	const char *name;	/* of the driver */
};

extern struct fake_drm_switches fake_drm;

/* Change a switch while jobs are under way. */
void fake_drm_set(bool *flag, bool value);
void fake_drm_set_job_us(unsigned int us);	/* of jobs that have not begun */

/*
 * A job that is traced leaves one record, of an instruction that took so many ns. Memory has it
 * when it was synced, as where the kernel copies between memory and what the device sees.
 */
#define FAKE_DRM_TRACE_NS	77u

/* Jobs so far, and those that had to wait for something when they were submitted. */
extern unsigned int fake_drm_jobs, fake_drm_waits;

/* The size of the largest buffer so far, in whole pages; and how many were made. */
uint64_t fake_drm_largest(void);
unsigned int fake_drm_buffers(void);

/* Waits for the end of a job in the kernel. */
unsigned int fake_drm_kernel_waits(void);

/* Questions how a job has ended that came before it had. */
unsigned int fake_drm_early_asks(void);

/* Calls so far, without those of which the time decides how many there are. */
unsigned int fake_drm_calls(void);

#endif
