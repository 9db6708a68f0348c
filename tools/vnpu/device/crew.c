// SPDX-License-Identifier: MIT
#include <time.h>
#include "core.h"

void npu_crew_unlock(struct npu_vdev_core *core, bool call)
{
	pthread_mutex_unlock(&core->mcu.lock);
	if (call)
		pthread_cond_signal(&core->crew.wake);
}

/* Whoever has the hart takes the first one when the hart sleeps, see npu_mcu_turn(). */
void npu_crew_command(struct npu_vdev_core *core, unsigned int n)
{
	struct npu_crew *crew = &core->crew;
	bool call;

	pthread_mutex_lock(&core->mcu.lock);
	call = crew->commands || !npu_mcu_is_mine(&core->mcu);
	crew->commands |= 1u << n;
	npu_crew_unlock(core, call);
}

/* With the lock, dropped meanwhile. */
static void command_turn(struct npu_vdev_core *core)
{
	struct npu_crew *crew = &core->crew;
	unsigned int n = (unsigned int)__builtin_ctz(crew->commands);

	crew->commands &= ~(1u << n);
	/* Somebody has to mind the timer meanwhile. */
	npu_crew_unlock(core, crew->sleepers && npu_mcu_deadline(&core->mcu) < crew->alarm);
	npu_unit_work(&core->unit[n]);
	pthread_mutex_lock(&core->mcu.lock);
}

/* With the lock. One of those that sleep wakes in time for the MCU's timer. */
static void crew_sleep(struct npu_vdev_core *core)
{
	npu_u64 deadline = npu_mcu_deadline(&core->mcu);
	struct timespec ts = { .tv_sec = (time_t)(deadline / 1000000000u),
			       .tv_nsec = (long)(deadline % 1000000000u) };
	struct npu_crew *crew = &core->crew;

	crew->sleepers++;
	if (deadline < crew->alarm) {
		crew->alarm = deadline;
		pthread_cond_timedwait(&crew->wake, &core->mcu.lock, &ts);
		/* Unless another one has an earlier one to wake for. */
		if (crew->alarm == deadline)
			crew->alarm = UINT64_MAX;
	} else {
		pthread_cond_wait(&crew->wake, &core->mcu.lock);
	}
	crew->sleepers--;
}

static void *crew_run(void *arg)
{
	struct npu_vdev_core *core = arg;

	pthread_mutex_lock(&core->mcu.lock);
	while (!core->crew.quit) {
		if (npu_mcu_wants(&core->mcu))
			npu_mcu_turn(&core->mcu);
		else if (core->crew.commands)
			command_turn(core);
		else
			crew_sleep(core);
	}
	pthread_mutex_unlock(&core->mcu.lock);
	return NULL;
}

void npu_crew_init(struct npu_vdev_core *core)
{
	pthread_condattr_t attr;

	core->crew.alarm = UINT64_MAX;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&core->crew.wake, &attr);
	pthread_condattr_destroy(&attr);
}

void npu_crew_fini(struct npu_vdev_core *core)
{
	pthread_cond_destroy(&core->crew.wake);
}

int npu_crew_start(struct npu_vdev_core *core)
{
	struct npu_crew *crew = &core->crew;

	for (; crew->num_threads <= core->config.engines; crew->num_threads++)
		if (pthread_create(&crew->thread[crew->num_threads], NULL, crew_run, core))
			return -EAGAIN;
	return 0;
}

void npu_crew_stop(struct npu_vdev_core *core)
{
	struct npu_crew *crew = &core->crew;
	unsigned int i;

	npu_mcu_halt(&core->mcu);
	/* A debugger may have started one, too. */
	for (i = 0; i < core->config.engines; i++)
		npu_unit_stop(&core->unit[i], NPU_UNIT_STOP_DEVICE);
	pthread_mutex_lock(&core->mcu.lock);
	crew->quit = true;
	pthread_mutex_unlock(&core->mcu.lock);
	pthread_cond_broadcast(&crew->wake);
	npu_mcu_release(&core->mcu);
	while (crew->num_threads)
		pthread_join(crew->thread[--crew->num_threads], NULL);
}
