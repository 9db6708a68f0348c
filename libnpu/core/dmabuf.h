/* SPDX-License-Identifier: MIT */
/*
 * Descriptors of memory that is shared: what they are, the host's view of them, the fences on them.
 */
#ifndef NPU_CORE_DMABUF_H
#define NPU_CORE_DMABUF_H

#include "core/backend.h"
#include "npu_share.h"

/*
 * Check @from and fill in @buf->dmabuf, dmabuf_offset, dmabuf_size, size and flags; the descriptor
 * is a copy, closed by npu_dmabuf_close().
 */
int npu_dmabuf_open(struct npu_buffer *buf, const struct npu_dmabuf *from, struct npu_error *err);
void npu_dmabuf_close(struct npu_buffer *buf);

/* Set @buf->map, unless it is set; npu_dmabuf_close() undoes it. From many threads at once. */
int npu_dmabuf_map(struct npu_buffer *buf, struct npu_error *err);

/* DMA_BUF_IOCTL_SYNC. @access: NPU_ACCESS_*, not 0. */
int npu_dmabuf_begin(const struct npu_buffer *buf, uint32_t access, struct npu_error *err);
int npu_dmabuf_end(const struct npu_buffer *buf, uint32_t access, struct npu_error *err);

/*
 * What an access like @access waits for, as a sync_file of the caller's; and the other way round.
 */
int npu_dmabuf_get_sync_file(int dmabuf, uint32_t access, int *fd, struct npu_error *err);
int npu_dmabuf_add_sync_file(int dmabuf, uint32_t access, int fd, struct npu_error *err);

#endif
