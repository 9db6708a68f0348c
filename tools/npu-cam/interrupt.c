// SPDX-License-Identifier: MIT
/* Ctrl-C: the stream is ended, what is on the device comes to its end; the second time at once. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "cam.h"
#include "core/error.h"

static volatile sig_atomic_t pending;
static int event = -1;

static void handler(int sig)
{
	static const uint64_t one = 1;
	int saved = errno;

	if (pending)
		_exit(128 + sig);
	pending = 1;
	if (write(event, &one, sizeof(one)) < 0) {
		/* It is readable already. */
	}
	errno = saved;
}

int interrupt_init(struct npu_error *err)
{
	struct sigaction sa = { .sa_handler = handler };

	event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (event < 0 || sigaction(SIGINT, &sa, NULL) || sigaction(SIGTERM, &sa, NULL))
		return npu_error_set(err, -errno, "Ctrl-C can not be caught: %s", strerror(errno));
	return 0;
}

int interrupt_fd(void)
{
	return event;
}

bool interrupted(void)
{
	return pending;
}
