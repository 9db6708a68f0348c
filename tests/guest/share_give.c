// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "share_give.h"
#include "share_sources.h"

#define DESCRIPTOR	9

static int give_up(const char *what)
{
	fprintf(stderr, "share give: ");
	perror(what);
	return 125;
}

static int fill(int fd, size_t size, size_t offset, const char *path)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_WRITE };
	uint8_t *cpu = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (cpu == MAP_FAILED || file < 0 || offset > size || ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync))
		return give_up(path);
	memset(cpu, 0xee, size);
	n = read(file, cpu + offset, size - offset);
	sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_WRITE;
	if (n <= 0 || ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync))
		return give_up(path);
	close(file);
	munmap(cpu, size);
	return 0;
}

int share_give(char **words)
{
	const struct source *s = sources;
	int fd, ret;

	if (!words[0] || !words[1] || !words[2] || !words[3])
		return give_up("usage: share give SOURCE OFFSET FILE PROGRAM...");
	while (s->name && strcmp(s->name, words[0]))
		s++;
	fd = s->name ? s->alloc(s->size) : -1;
	if (fd < 0)
		return give_up(words[0]);
	ret = fill(fd, s->size, strtoul(words[1], NULL, 0), words[2]);
	if (ret)
		return ret;
	if (dup2(fd, DESCRIPTOR) < 0)
		return give_up("dup2");
	execvp(words[3], words + 3);
	return give_up(words[3]);
}
