// SPDX-License-Identifier: MIT
/*
 * The process that does nothing but hold on to the connection: QEMU must not lose its device when
 * the worker, which runs what a guest made up, dies.
 *
 * Supervisor and worker share one table of files (CLONE_FILES), so that a file the worker received
 * is there for the next one without being handed over. A dead worker's other files are closed.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vdev_priv.h"

#define WATCH_MS	250
#define STOP_MS		(NPU_VDEV_STUCK_MS + 500)
/* Workers that die in a row without having handled a message, before the client is given up. */
#define MAX_IDLE_DEATHS	5u
#define MAX_FD		1024

struct supervisor {
	struct npu_vdev *dev;
	bool base[MAX_FD];		/* open before the first worker */
	npu_u64 messages;		/* handled when the last worker died */
	unsigned int idle_deaths;
	npu_u64 busy_since;		/* of the last look at it */
	unsigned int busy_looks;	/* since when it has not changed */
};

static void fds_walk(struct supervisor *s, void (*fn)(struct supervisor *s, int fd))
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int fd;

	while (d && (e = readdir(d))) {
		fd = e->d_name[0] == '.' ? -1 : atoi(e->d_name);
		if (fd >= 0 && fd != dirfd(d))
			fn(s, fd);
	}
	if (d)
		closedir(d);
}

static void fd_note(struct supervisor *s, int fd)
{
	if (fd < MAX_FD)
		s->base[fd] = true;
}

/* Close what belonged to the dead worker alone. */
static void fd_sweep(struct supervisor *s, int fd)
{
	const struct vdev_shared *sh = s->dev->sh;
	npu_u32 i;

	if ((fd < MAX_FD && s->base[fd]) || fd == sh->conn || fd == sh->irq_fd)
		return;
	for (i = 0; i < VDEV_MAX_FILES; i++)
		if (sh->files[i].fd == fd)
			return;
	for (i = 0; i < sh->num_fds; i++)
		if (sh->fds[i] == fd)
			return;
	close(fd);
}

static void worker_main(struct npu_vdev *dev, pid_t parent)
{
	/* Not to serve on alone when the supervisor is killed. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	dev->worker = getpid();
	if (vdev_worker_start(dev, dev->sh->why, sizeof(dev->sh->why)))
		_exit(VDEV_EXIT_START);
	vdev_loop(dev);
	vdev_worker_end(dev);
	_exit(0);
}

/*
 * Whether the worker has been in one call for too long. Looks are counted and not time: where the
 * whole machine was paused, the worker has not had it either.
 */
static bool is_stuck(struct supervisor *s)
{
	npu_u64 since = s->dev->sh->busy_since;

	s->busy_looks = since && since == s->busy_since ? s->busy_looks + 1 : 0;
	s->busy_since = since;
	return s->busy_looks > NPU_VDEV_STUCK_MS / WATCH_MS;
}

/* Wait for the worker's end, see to it that it comes when it must. Its status as of waitpid(). */
static int worker_watch(struct supervisor *s, pid_t pid)
{
	struct npu_vdev *dev = s->dev;
	struct pollfd p[2] = { { .fd = pidfd_open(pid, 0), .events = POLLIN },
			       { .fd = dev->stop_fd, .events = POLLIN } };
	npu_u64 stop_us = 0;
	int status = 0;

	while (p[0].fd >= 0 && (poll(p, 2, WATCH_MS) < 0 || !p[0].revents)) {
		if (p[1].revents && !stop_us) {
			stop_us = vdev_now_us();
			p[1].fd = -1;
		}
		if (is_stuck(s)) {
			npu_vdev_log(dev,
				     "the worker does not come back from a call, it is killed");
			kill(pid, SIGKILL);
		} else if (stop_us && vdev_now_us() - stop_us > STOP_MS * 1000) {
			kill(pid, SIGKILL);
		}
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (p[0].fd >= 0)
		close(p[0].fd);
	return status;
}

/* Make what is shared good for the next worker. False: there is no sense in another one. */
static bool worker_bury(struct supervisor *s, int status)
{
	struct npu_vdev *dev = s->dev;
	struct vdev_shared *sh = dev->sh;
	bool had_client = sh->conn >= 0;

	vdev_transfer_settle_in(sh);
	vdev_transfer_settle_out(sh);
	fds_walk(s, fd_sweep);
	vdev_count(dev, VDEV_COUNT_RESTARTS);
	sh->busy_since = 0;
	sh->restarted = true;
	npu_vdev_log(dev, "worker died (%s %d), %s",
		     WIFSIGNALED(status) ? "signal" : "exit status",
		     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
		     had_client ? "the connection goes on" : "no client");
	s->idle_deaths = sh->counter[VDEV_COUNT_MESSAGES] == s->messages ? s->idle_deaths + 1 : 0;
	s->messages = sh->counter[VDEV_COUNT_MESSAGES];
	if (s->idle_deaths < MAX_IDLE_DEATHS)
		return true;
	npu_vdev_log(dev, "%u workers in a row died, the client is given up", s->idle_deaths);
	s->idle_deaths = 0;
	vdev_connection_end(sh);
	return had_client;
}

int npu_vdev_supervise(struct npu_vdev *dev, char *why, size_t size)
{
	struct supervisor s = { .dev = dev };
	pid_t self = getpid(), pid;
	int status;

	fflush(NULL);
	fds_walk(&s, fd_note);
	for (;;) {
		/* glibc's fork() can not share the table of files. */
		pid = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
		if (pid < 0) {
			snprintf(why, size, "a worker process: %s", strerror(errno));
			return -EAGAIN;
		}
		if (!pid)
			worker_main(dev, self);
		status = worker_watch(&s, pid);
		if (WIFEXITED(status) && !WEXITSTATUS(status))
			return 0;
		if (WIFEXITED(status) && WEXITSTATUS(status) == VDEV_EXIT_START) {
			snprintf(why, size, "%s", dev->sh->why);
			return -EIO;
		}
		if (!worker_bury(&s, status)) {
			snprintf(why, size, "the worker dies as soon as it is started");
			return -EIO;
		}
	}
}
