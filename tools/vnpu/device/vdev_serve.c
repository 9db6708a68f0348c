// SPDX-License-Identifier: MIT
/* Making a device: its sockets and shared memory, and the worker's part of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "vdev_priv.h"

/* A socket file that nobody listens to is left over and goes. 0 or a negative errno. */
static int socket_remove(const struct sockaddr_un *addr, char *why, size_t size)
{
	struct stat st;
	int fd, ret;

	if (lstat(addr->sun_path, &st))
		return 0;
	if (!S_ISSOCK(st.st_mode)) {
		snprintf(why, size, "%s exists and is not a socket", addr->sun_path);
		return -EEXIST;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return 0;
	ret = connect(fd, (const struct sockaddr *)addr, sizeof(*addr));
	if (ret < 0 && errno == ECONNREFUSED)
		ret = unlink(addr->sun_path);
	else
		ret = -1;
	close(fd);
	if (!ret)
		return 0;
	snprintf(why, size, "%s is in use by another process", addr->sun_path);
	return -EADDRINUSE;
}

/* A listening socket, or a negative errno. */
static int socket_listen(const char *path, char *why, size_t size)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, ret;

	if (!*path || strlen(path) >= sizeof(addr.sun_path)) {
		snprintf(why, size, "socket path '%s' has %zu bytes, it must have 1 to %zu", path,
			 strlen(path), sizeof(addr.sun_path) - 1);
		return -ENAMETOOLONG;
	}
	memcpy(addr.sun_path, path, strlen(path) + 1);
	ret = socket_remove(&addr, why, size);
	if (ret)
		return ret;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && !bind(fd, (struct sockaddr *)&addr, sizeof(addr)) && !listen(fd, 8))
		return fd;
	ret = -errno;
	snprintf(why, size, "socket %s: %s", path, strerror(-ret));
	if (fd >= 0)
		close(fd);
	return ret;
}

static void shared_init(struct vdev_shared *sh)
{
	int i;

	sh->conn = -1;
	sh->irq_fd = -1;
	for (i = 0; i < (int)VDEV_MAX_FILES; i++)
		sh->files[i].fd = -1;
}

/* The two sockets and what stops the loop. 0 or a negative errno; npu_vdev_close() undoes it. */
static int device_open(struct npu_vdev *dev, char *why, size_t size)
{
	int ret;

	dev->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (dev->stop_fd < 0) {
		ret = -errno;
		snprintf(why, size, "eventfd: %s", strerror(-ret));
		return ret;
	}
	ret = socket_listen(dev->opt.socket, why, size);
	if (ret < 0)
		return ret;
	dev->listener = ret;
	if (!dev->opt.control)
		return 0;
	ret = socket_listen(dev->opt.control, why, size);
	if (ret < 0)
		return ret;
	dev->ctl_listener = ret;
	return 0;
}

int npu_vdev_open(const struct npu_vdev_options *opt, const struct npu_vdev_core_ops *ops,
		  struct npu_vdev **out, char *why, size_t size)
{
	struct npu_vdev *dev;
	int ret = npu_vdev_config_check(&opt->config, why, size);

	if (ret)
		return ret;
	if (!opt->socket) {
		snprintf(why, size, "a socket path is missing");
		return -EINVAL;
	}
	dev = calloc(1, sizeof(*dev));
	if (!dev) {
		snprintf(why, size, "no memory");
		return -ENOMEM;
	}
	dev->opt = *opt;
	dev->ops = ops ? ops : opt->config.echo ? &npu_vdev_echo_core : &npu_vdev_core;
	dev->listener = dev->ctl_listener = dev->stop_fd = dev->kick_fd = -1;
	pthread_mutex_init(&dev->log_lock, NULL);
	dev->sh = mmap(NULL, sizeof(*dev->sh), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (dev->sh == MAP_FAILED) {
		snprintf(why, size, "shared memory: %s", strerror(errno));
		free(dev);
		return -ENOMEM;
	}
	shared_init(dev->sh);
	ret = device_open(dev, why, size);
	if (ret)
		npu_vdev_close(dev);
	else
		*out = dev;
	return ret;
}

void npu_vdev_stop(struct npu_vdev *dev)
{
	npu_u64 one = 1;

	/* Full: then it is set. */
	if (write(dev->stop_fd, &one, sizeof(one)) < 0)
		return;
}

void npu_vdev_close(struct npu_vdev *dev)
{
	vdev_connection_end(dev->sh);
	if (dev->listener >= 0) {
		unlink(dev->opt.socket);
		close(dev->listener);
	}
	if (dev->ctl_listener >= 0) {
		unlink(dev->opt.control);
		close(dev->ctl_listener);
	}
	if (dev->stop_fd >= 0)
		close(dev->stop_fd);
	munmap(dev->sh, sizeof(*dev->sh));
	pthread_mutex_destroy(&dev->log_lock);
	free(dev);
}

int vdev_worker_start(struct npu_vdev *dev, char *why, size_t size)
{
	int ret = -ENOMEM;

	dev->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (dev->kick_fd < 0 || vdev_dma_init(dev)) {
		snprintf(why, size, "no memory for the worker");
		goto err_kick;
	}
	vdev_irq_init(dev);
	vdev_report_init(dev);
	vdev_ctl_init(dev);
	dev->core = dev->ops->create(dev, &dev->opt.config, why, size);
	if (!dev->core)
		goto err_dma;
	ret = vdev_dma_restore(dev);
	if (ret) {
		ret = -ret;
		snprintf(why, size, "guest memory can not be mapped again: %s", strerror(-ret));
		goto err_core;
	}
	if (dev->sh->restarted)
		vdev_resume(dev);
	dev->sh->restarted = false;
	return 0;

err_core:
	dev->ops->destroy(dev->core);
err_dma:
	vdev_dma_fini(dev);
err_kick:
	if (dev->kick_fd >= 0)
		close(dev->kick_fd);
	dev->kick_fd = -1;
	return ret;
}

void vdev_worker_end(struct npu_vdev *dev)
{
	int i;

	dev->ops->destroy(dev->core);
	vdev_dma_fini(dev);
	for (i = 0; i < (int)VDEV_MAX_CTL; i++)
		if (dev->ctl[i].fd >= 0)
			close(dev->ctl[i].fd);
	close(dev->kick_fd);
	dev->kick_fd = -1;
}

int npu_vdev_run(struct npu_vdev *dev, char *why, size_t size)
{
	int ret;

	dev->worker = getpid();
	ret = vdev_worker_start(dev, why, size);
	if (ret)
		return ret;
	vdev_loop(dev);
	vdev_worker_end(dev);
	return 0;
}
