// SPDX-License-Identifier: MIT
/*
 * Ctrl-C. The handler may do next to nothing, so it writes a byte to a pipe, and a thread that
 * reads it cancels the run. The main thread has the signal delivered, so that its reads are
 * interrupted.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "core/error.h"
#include "llm.h"

static int pipe_fd[2] = { -1, -1 };
static volatile sig_atomic_t pending;
static pthread_t thread;

static void handler(int sig)
{
	int saved = errno;

	if (pending)
		_exit(128 + sig);
	pending = 1;
	if (write(pipe_fd[1], "c", 1) < 0) {
		/* the pipe is full: the thread has enough to read */
	}
	errno = saved;
}

static void *cancel_thread(void *llm)
{
	char c;
	ssize_t n;

	while ((n = read(pipe_fd[0], &c, 1)) == 1 || (n < 0 && errno == EINTR))
		if (n == 1 && c == 'c')
			npu_llm_cancel(llm);
		else if (n == 1)
			break;
	return NULL;
}

void interrupt_block(bool on)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	pthread_sigmask(on ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

int interrupt_begin(struct npu_llm *llm, struct npu_error *err)
{
	struct sigaction sa = { .sa_handler = handler };
	int ret = 0;

	interrupt_block(true);
	if (pipe(pipe_fd))
		ret = -errno;
	else
		ret = -pthread_create(&thread, NULL, cancel_thread, llm);
	interrupt_block(false);
	if (!ret && sigaction(SIGINT, &sa, NULL))
		ret = -errno;
	return ret ? npu_error_set(err, ret, "Ctrl-C can not be caught: %s", strerror(-ret)) : 0;
}

void interrupt_end(void)
{
	signal(SIGINT, SIG_DFL);
	if (write(pipe_fd[1], "q", 1) == 1)
		pthread_join(thread, NULL);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}

bool interrupt_pending(void)
{
	return pending;
}

void interrupt_clear(void)
{
	pending = 0;
}
