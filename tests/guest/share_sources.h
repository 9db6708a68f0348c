/* SPDX-License-Identifier: MIT */
/* Memory of others, for tests/guest/share.c: where it comes from, and how it is made. */
#ifndef TESTS_GUEST_SHARE_SOURCES_H
#define TESTS_GUEST_SHARE_SOURCES_H

#include <stddef.h>
#include <stdint.h>

struct source {
	const char *name;
	/* A dma-buf of @size bytes (whole pages of the source's), or a negative errno. */
	int (*alloc)(size_t size);
	size_t size;
};

extern const struct source sources[];

/* The guest has two. */
#define OTHER_NPU	"/dev/accel/accel1"

/* /dev/npu_odd, see odd/npu_odd.h; a negative errno. */
int odd_open(void);
int odd_alloc(unsigned int kind, unsigned int pages, unsigned int flags);

/* A buffer of vgem's, and its handle in *@card, an open file of vgem's. */
int vgem_alloc(size_t size, int *card, uint32_t *handle);

#endif
