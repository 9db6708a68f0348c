/* SPDX-License-Identifier: MIT */
/* Running a virtual device: for npu-vdev and for tests. */
#ifndef NPU_VDEV_SERVE_H
#define NPU_VDEV_SERVE_H

#include <stdio.h>
#include "vdev.h"

struct npu_vdev_options {
	struct npu_vdev_config config;
	/* path for the client; what is there is replaced if a socket */
	const char *socket;
	const char *control;		/* path of the control socket, NULL: none */
	int log_fd;			/* -1: no log */
};

/*
 * Check @opt, make the sockets. @opt is copied, the strings are not. The core is npu_vdev_core or
 * with config.echo npu_vdev_echo_core; @ops not NULL: another one. 0, or a negative errno and in
 * @why what was wrong.
 */
int npu_vdev_open(const struct npu_vdev_options *opt, const struct npu_vdev_core_ops *ops,
		  struct npu_vdev **dev, char *why, size_t size);

/*
 * Serve clients, one at a time, until npu_vdev_stop(). npu_vdev_run() does it in the calling
 * thread: an abort ends the process. npu_vdev_supervise() does it in a worker process which is
 * replaced when it dies; the caller must have no other thread. 0, or a negative errno and @why.
 */
int npu_vdev_run(struct npu_vdev *dev, char *why, size_t size);
int npu_vdev_supervise(struct npu_vdev *dev, char *why, size_t size);

/* From any thread, or from a handler of signals. */
void npu_vdev_stop(struct npu_vdev *dev);

/* Removes the sockets. */
void npu_vdev_close(struct npu_vdev *dev);

/*
 * Send one line to the control socket at @path and print the answer to @out. 0, 1 when the device
 * refused the command, or a negative errno and @why.
 */
int npu_vdev_control(const char *path, const char *command, FILE *out, char *why, size_t size);

#endif
