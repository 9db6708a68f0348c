// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/tmp.h"
#include "fixture.h"

struct probe probe;

struct npu_vdev_core {
	struct npu_vdev *dev;
};

static struct npu_vdev_core *probe_create(struct npu_vdev *dev,
					  const struct npu_vdev_config *config, char *why,
					  size_t size)
{
	static struct npu_vdev_core core;

	core.dev = dev;
	return &core;
}

static void probe_destroy(struct npu_vdev_core *core)
{
}

static void probe_reset(struct npu_vdev_core *core, enum npu_vdev_reset kind)
{
	unsigned int n = probe.num_resets;

	probe.reset[n % PROBE_LOG] = kind;
	probe.num_resets = n + 1;
	++*(npu_u32 *)npu_vdev_keep(core->dev);
}

static npu_u32 probe_reg_read(struct npu_vdev_core *core, npu_u32 offset)
{
	if (offset == NPU_REG_EPOCH)
		return *(npu_u32 *)npu_vdev_keep(core->dev);
	return probe.reg[offset / 4];
}

static void probe_reg_write(struct npu_vdev_core *core, npu_u32 offset, npu_u32 value)
{
	unsigned int n = probe.num_writes;

	probe.reg[offset / 4] = value;
	probe.write[n % PROBE_LOG].offset = offset;
	probe.write[n % PROBE_LOG].value = value;
	probe.num_writes = n + 1;
}

static void probe_bus_master(struct npu_vdev_core *core, bool on)
{
	probe.bus_master = on;
}

static int probe_dma_unmap(struct npu_vdev_core *core, npu_u64 first, npu_u64 last)
{
	probe.num_unmaps++;
	if (probe.busy <= 0)
		return 0;
	probe.busy--;
	return -EBUSY;
}

const struct npu_vdev_core_ops probe_core = { .create = probe_create,
					      .destroy = probe_destroy,
					      .reset = probe_reset,
					      .reg_read = probe_reg_read,
					      .reg_write = probe_reg_write,
					      .bus_master = probe_bus_master,
					      .dma_unmap = probe_dma_unmap };

static bool paths_make(struct fixture *f)
{
	static unsigned int count;

	memset(f, 0, sizeof(*f));
	snprintf(f->socket, sizeof(f->socket), "%.80s/s%u", tmp_folder(), count);
	snprintf(f->control, sizeof(f->control), "%.80s/c%u", tmp_folder(), count);
	snprintf(f->log_path, sizeof(f->log_path), "%.80s/log%u", tmp_folder(), count++);
	f->log_fd = open(f->log_path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	return f->log_fd >= 0;
}

static struct npu_vdev_options options_make(const struct fixture *f,
					    const struct npu_vdev_config *config)
{
	const struct npu_vdev_config standard = NPU_VDEV_CONFIG_DEFAULT;

	return (struct npu_vdev_options){ .config = config ? *config : standard,
					  .socket = f->socket, .control = f->control,
					  .log_fd = f->log_fd };
}

static void *serve(void *arg)
{
	struct fixture *f = arg;
	char why[256] = "";

	if (npu_vdev_run(f->dev, why, sizeof(why)))
		printf("# npu_vdev_run: %s\n", why);
	return NULL;
}

bool fixture_thread(struct fixture *f, const struct npu_vdev_config *config)
{
	struct npu_vdev_options opt;
	char why[256];

	memset(&probe, 0, sizeof(probe));
	if (!paths_make(f))
		return false;
	opt = options_make(f, config);
	if (npu_vdev_open(&opt, &probe_core, &f->dev, why, sizeof(why))) {
		printf("# npu_vdev_open: %s\n", why);
		return false;
	}
	return !pthread_create(&f->thread, NULL, serve, f);
}

static struct npu_vdev *served;

static void on_term(int n)
{
	npu_vdev_stop(served);
}

bool fixture_process(struct fixture *f, const struct npu_vdev_config *config,
		     const struct npu_vdev_core_ops *ops)
{
	struct sigaction sa = { .sa_handler = on_term };
	struct npu_vdev_options opt;
	char why[256];
	int ret;

	if (!paths_make(f))
		return false;
	fflush(stdout);
	f->pid = fork();
	if (f->pid)
		return f->pid > 0;
	opt = options_make(f, config);
	ret = npu_vdev_open(&opt, ops, &served, why, sizeof(why));
	if (!ret) {
		sigaction(SIGTERM, &sa, NULL);
		ret = npu_vdev_supervise(served, why, sizeof(why));
		npu_vdev_close(served);
	}
	if (ret)
		printf("# the device: %s\n", why);
	fflush(stdout);
	_exit(ret ? 1 : 0);
}

void fixture_end(struct fixture *f)
{
	int status = 0;

	if (f->dev) {
		npu_vdev_stop(f->dev);
		pthread_join(f->thread, NULL);
		npu_vdev_close(f->dev);
	} else if (f->pid > 0) {
		kill(f->pid, SIGTERM);
		waitpid(f->pid, &status, 0);
		if (status)
			printf("# the device ended with status %#x\n", status);
	}
	close(f->log_fd);
}

const char *fixture_control(struct fixture *f, const char *command)
{
	static char text[8192];
	FILE *out = fmemopen(text, sizeof(text), "w");
	char why[256];
	int ret;

	text[0] = 0;
	ret = npu_vdev_control(f->control, command, out, why, sizeof(why));
	fclose(out);
	return ret < 0 ? NULL : text;
}

long long fixture_number(struct fixture *f, const char *command, const char *name)
{
	const char *text = fixture_control(f, command), *at;
	char key[80];

	snprintf(key, sizeof(key), "\"%s\":", name);
	at = text ? strstr(text, key) : NULL;
	return at ? atoll(at + strlen(key)) : -1;
}

int memory_make(npu_u64 size, unsigned int seed)
{
	int fd = memfd_create("guest", MFD_CLOEXEC);
	npu_u8 page[4096];
	npu_u64 i;

	if (fd < 0 || ftruncate(fd, size))
		return -1;
	for (i = 0; i < size / 4096; i++) {
		memset(page, i + seed, sizeof(page));
		if (pwrite(fd, page, sizeof(page), i * 4096) != sizeof(page))
			return -1;
	}
	return fd;
}

void client_enable(struct client *c)
{
	uint16_t command = 6;

	client_write(c, 7, 4, &command, 2);
}
